"""Passes that move instructions and leave each as it is: join, gather."""

from __future__ import annotations

from typing import Any

from micrograd.ops import OPS
from micrograd.tape.builder import Builder
from micrograd.tape.tape import CONST, SOURCES, Tape

FEW = 2  # readers that are the last ones (see gather)


def join(tape: Tape) -> Tape:
    """The tape with one guard in place of all: how many comparisons are true that should be, less those that should not.

    A guard becomes two instructions, behind those that it compares: code is cut between instructions.
    """
    due: dict[int, list[Any]] = {}
    for how, a, b, went in tape.guards:
        due.setdefault(max(a, b), []).append((OPS[how], a, b, went))
    new = Builder(tape.inputs, tape.params)
    total = new.append(CONST, 0.0)
    all_true = new.append(CONST, float(sum([went for *_, went in tape.guards])))
    at: list[int] = []
    for i, (op, args) in enumerate(zip(tape.ops, tape.args)):
        at.append(new.append(op, *(args if op in SOURCES else [at[a] for a in args])))
        for compare, a, b, went in due.get(i, ()):
            total = new.append(OPS["add" if went else "sub"], total, new.append(compare, at[a], at[b]))
    return tape.remap(at, new.ops, new.args).copy(guards=(("eq", total, all_true, True),))


def gather(tape: Tape) -> Tape:
    """The tape in an order that keeps fewer values in use: the last to read a value do so as soon as they can.

    A graph is written down result by result, so that the sums of a reverse sweep, one for each input, come one after the
    other and each reads values of all the sweep. Here they grow together, while those values are at hand.
    """
    different = dict.fromkeys  # a set would be in another order for each iteration of a loop
    count = len(tape)
    readers: list[list[int]] = [[] for _ in range(count)]
    missing = [0] * count  # operands that are not there yet
    for i, (op, args) in enumerate(zip(tape.ops, tape.args)):
        if op not in SOURCES:
            for a in different(args):
                readers[a].append(i)
                missing[i] += 1
    left = [len(r) for r in readers]  # readers to come
    waiting = list(left)  # those of them that miss an operand
    for i in tape.roots():
        left[i] += count  # is never let go of
    order: list[int] = []
    done = [False] * count
    ready: list[int] = []  # the newest first, and of those the readers of the value just made

    def let_go(a: int) -> None:
        if left[a] <= FEW and not waiting[a] and tape.ops[a] not in SOURCES:
            ready.extend([r for r in readers[a] if not done[r]])

    for first in range(count):
        ready.append(first)
        while ready:
            i = ready.pop()
            if done[i] or missing[i]:
                continue
            done[i] = True
            order.append(i)
            for a in () if tape.ops[i] in SOURCES else different(tape.args[i]):
                left[a] -= 1
                let_go(a)
            for r in readers[i]:
                missing[r] -= 1
                if not missing[r]:
                    for a in different(tape.args[r]):
                        waiting[a] -= 1
                        let_go(a)
    at = dict(zip(order, range(count)))
    rows = [tape.args[i] if tape.ops[i] in SOURCES else tuple([at[a] for a in tape.args[i]]) for i in order]
    return tape.remap(at, [tape.ops[i] for i in order], rows)
