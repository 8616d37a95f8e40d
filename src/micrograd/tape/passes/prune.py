"""prune: drop what no output and no guard needs, in the bodies of regions too."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from micrograd.ops import Op
from micrograd.tape.tape import INPUT, SOURCES, Choose, Loop, Projection, Region, Tape, result


def prune(tape: Tape) -> Tape:
    """The tape without what no output and no guard needs."""
    needed = [False] * len(tape)
    for i in tape.roots():
        needed[i] = True
    used: dict[int, set[int]] = {}  # place of a region -> which of its results are used
    slim: dict[int, _Slim] = {}
    for i in range(len(tape) - 1, -1, -1):
        op, args = tape.ops[i], tape.args[i]
        if not needed[i] or op in SOURCES:
            continue
        if isinstance(op, Projection) and op.name == "result":
            used.setdefault(args[0], set()).add(op.number)
        elif isinstance(op, Region):
            slim[i] = _Slim(op, used.get(i, set()), [_region_of(tape, a) for a in args])
            args = slim[i].operands(args)
        for a in args:
            needed[a] = True
    ops: list[Op] = []
    rows: list[tuple[int, ...]] = []
    at = [-1] * len(tape)
    for i, (op, args) in enumerate(zip(tape.ops, tape.args)):
        if not needed[i]:
            continue
        if i in slim:
            op, args = slim[i].op, slim[i].operands(args)
        elif isinstance(op, Projection) and args[0] in slim:
            op = result(slim[args[0]].results.index(op.number))
        at[i] = len(ops)
        ops.append(op)
        rows.append(args if op in SOURCES else tuple([at[a] for a in args]))
    return tape.remap(at, ops, rows)


def _region_of(tape: Tape, place: int) -> int | None:
    """The place of the region that this is a result of."""
    op = tape.ops[place]
    return tape.args[place][0] if isinstance(op, Projection) and op.name == "result" else None


class _Slim:
    """A region reduced to the results that are used and the operands for them, which the regions in `made_by` made."""

    def __init__(self, op: Region, used: set[int], made_by: Sequence[int | None]) -> None:
        if isinstance(op, Choose):
            self.results = sorted(used)
            kept = sorted(set().union(*(_inputs_of(body, self.results) for body in op.bodies())))
            self.op: Region = Choose(*(part(body, kept, self.results) for body in op.bodies()))
            self.kept = [0, *(k + 1 for k in kept)]
            return
        assert isinstance(op, Loop)
        self.results = sorted(used)
        while True:  # a carried value is needed if the next iteration's needed ones are made from it
            inputs = _inputs_of(op.body, self.results)
            if op.condition is not None:
                inputs |= _inputs_of(op.condition, [0])
            more = sorted({*self.results, *(k for k in inputs if k < op.carried)})
            if more == self.results:
                break
            self.results = more
        last = op.body.inputs - 1
        self.kept = sorted(inputs - {last})
        if op.iterations is None and op.condition is None:  # the length of its first array is the number of iterations
            first = op.carried + op.invariants
            other = next((k for k in self.kept if k > first), None)
            if other is None or made_by[other] is None or made_by[other] != made_by[first]:
                self.kept.append(first)  # arrays that one loop has made have one length, others need not
        self.kept = sorted({*self.kept, *(k for k in self.results if k < op.carried)})
        carried = sum(k < op.carried for k in self.kept)
        invariants = sum(op.carried <= k < op.carried + op.invariants for k in self.kept)
        inside = [*self.kept, last]
        body = part(op.body, inside, self.results)
        condition = None if op.condition is None else part(op.condition, inside, [0])
        self.op = Loop(body, carried, invariants, op.iterations, condition, op.reverse)

    def operands(self, args: Sequence[int]) -> tuple[int, ...]:
        return tuple([args[k] for k in self.kept])


def _inputs_of(body: Tape, outputs: Iterable[int]) -> set[int]:
    """The inputs of a body that these of its outputs depend on."""
    kept = prune(body.copy(outputs=tuple([body.outputs[k] for k in outputs])))
    return {args[0] for op, args in zip(kept.ops, kept.args) if op is INPUT}


def part(body: Tape, inputs: Sequence[int], outputs: Iterable[int]) -> Tape:
    """A body that takes some of its inputs, in this order, and returns some of its outputs."""
    new = prune(body.copy(outputs=tuple([body.outputs[k] for k in outputs])))
    number = {k: n for n, k in enumerate(inputs)}
    args = [(number[a[0]],) if op is INPUT else a for op, a in zip(new.ops, new.args)]
    return new.copy(inputs=len(inputs), args=tuple(args))
