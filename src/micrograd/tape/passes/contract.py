"""contract: write a·b + c as one fma, which is rounded once, where nothing is decided by it.

What is fused is decided here, and by no compiler, so that vectors of any width and a GPU round alike. A product is fused into
the first sum or difference that reads it, if nobody else does, and if neither of the two decides anything (tape/decisions.py).
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from micrograd.ops import OPS, Op
from micrograd.tape.decisions import Decisions, decisions
from micrograd.tape.passes.prune import prune
from micrograd.tape.tape import SOURCES, Region, Tape

ADD, SUB, MUL, NEG, FMA = (OPS[name] for name in ("add", "sub", "mul", "neg", "fma"))


def contract(tape: Tape) -> Tape:
    """Return the tape with fused products, in the bodies of regions too. Results differ by a rounding here and there."""
    return prune(_contracted(tape, decisions(tape)))


def _contracted(tape: Tape, decided: Decisions) -> Tape:
    fixed = decided.places | set(decided.unfused)
    uses = Counter(a for op, args in zip(tape.ops, tape.args) if op not in SOURCES for a in args)
    uses.update(tape.roots())
    ops: list[Op] = []
    rows: list[tuple[Any, ...]] = []
    at: list[int] = []

    def put(op: Op, args: tuple[Any, ...]) -> int:
        ops.append(op)
        rows.append(args)
        return len(ops) - 1

    for i, (op, args) in enumerate(zip(tape.ops, tape.args)):
        if op in SOURCES:
            at.append(put(op, args))
            continue
        if isinstance(op, Region):
            known = decided.bodies.get(i)
            inside = known if known is not None else [decisions(body) for body in op.bodies()]
            op = op.with_bodies([_contracted(body, d) for body, d in zip(op.bodies(), inside)])
        elif (op is ADD or op is SUB) and i not in fixed:
            product = next((k for k in (0, 1) if tape.ops[args[k]] is MUL and uses[args[k]] == 1), None)
            if product is not None and args[product] not in fixed:
                x, y = (at[a] for a in tape.args[args[product]])
                z = at[args[1 - product]]
                if op is SUB and product == 0:
                    z = put(NEG, (z,))
                elif op is SUB:
                    x = put(NEG, (x,))
                at.append(put(FMA, (x, y, z)))
                continue
        at.append(put(op, tuple([at[a] for a in args])))
    return tape.remap(at, ops, rows)
