"""fuse: two loops, of which the second reads item by item what the first one stacks, as one loop without the array."""

from __future__ import annotations

from collections.abc import Sequence

from micrograd.tape.builder import Builder
from micrograd.tape.passes.prune import prune
from micrograd.tape.tape import CONST, INPUT, LOAD, SOURCES, Loop, Region, Tape


def fuse(tape: Tape) -> Tape:
    """The tape with such loops as one, in the bodies of regions too. All results keep their bits."""
    if not tape.has_regions():
        return tape
    ops = [op.with_bodies([fuse(body) for body in op.bodies()]) if isinstance(op, Region) else op for op in tape.ops]
    tape = tape.copy(ops=tuple(ops))
    while True:
        found = _fused_once(tape)
        if found is None:
            return tape
        tape = found


def _fused_once(tape: Tape) -> Tape | None:
    readers: dict[int, list[int]] = {}
    for i, (op, args) in enumerate(zip(tape.ops, tape.args)):
        for a in () if op in SOURCES else args:
            readers.setdefault(a, []).append(i)
    for o in tape.roots():
        readers.setdefault(o, []).append(len(tape))
    for i, op in enumerate(tape.ops):
        if not isinstance(op, Loop) or op.reverse:
            continue
        for k, a in enumerate(tape.args[i][op.carried : op.carried + op.invariants], op.carried):
            first = _made_by(tape, a, i, readers)
            if first is not None and _fits(tape, first, i, k):
                return _joined(tape, first, i, k)
    return None


def _made_by(tape: Tape, place: int, reader: int, readers: dict[int, list[int]]) -> int | None:
    """The loop whose only result is read by this reader alone, at this place."""
    while tape.ops[place].name in ("pad", "result"):
        if readers[place] != [reader]:
            return None
        place, reader = tape.args[place][0], place
    op = tape.ops[place]
    if readers.get(place) != [reader] or not isinstance(op, Loop):
        return None
    return place if op.carried == 0 and op.results == 1 and not op.reverse else None


def _fits(tape: Tape, first: int, second: int, k: int) -> bool:
    """Whether both loops take the same iterations, and the second one reads of input k only the item of its own iteration."""
    one, two = tape.ops[first], tape.ops[second]
    assert isinstance(one, Loop) and isinstance(two, Loop)
    if one.iterations is None or one.iterations != two.iterations:
        return False
    body = two.body
    given = {p: args[0] for p, (op, args) in enumerate(zip(body.ops, body.args)) if op is INPUT}
    wanted = {p for p, n in given.items() if n == k}
    for op, args in zip(body.ops, body.args):
        if op in SOURCES or wanted.isdisjoint(args):
            continue
        if op is not LOAD or args[0] not in wanted or given.get(args[1]) != body.inputs - 1:
            return False
    if not wanted.isdisjoint(body.outputs):
        return False
    if one.condition is None or two.condition is None:
        return one.condition is two.condition
    if any(op is INPUT and args[0] == k for op, args in zip(two.condition.ops, two.condition.args)):
        return False
    if any(op is INPUT and args[0] < two.carried for op, args in zip(two.condition.ops, two.condition.args)):
        return False
    # Written over the same inputs, equal conditions are one place.
    places = sorted({*tape.args[first], *tape.args[second]})
    b = Builder()
    at = {p: b.input(n) for n, p in enumerate(places)}
    iteration = b.input(len(places))
    tests = [
        b.inline(condition, [*(at[a] for a in tape.args[i]), iteration])[0]
        for i, condition in ((first, one.condition), (second, two.condition))
    ]
    return tests[0] == tests[1]


def _joined(tape: Tape, first: int, second: int, k: int) -> Tape:
    """The tape with the second loop doing what both did; the first one, which nobody reads any more, is left out."""
    one, two = tape.ops[first], tape.ops[second]
    assert isinstance(one, Loop) and isinstance(two, Loop)
    carried, invariants, over = (list(g) for g in two.groups(range(two.body.inputs - 1)))
    invariants.remove(k)
    more, elements = one.invariants, one.elements
    count = two.body.inputs - 1 + more + elements
    # The inputs: carried and invariants of the second, invariants of the first, arrays of both, the iteration.
    order = [*carried, *invariants]
    number = {n: j for j, n in enumerate(order)}
    begin = len(order)
    number.update({n: begin + more + j for j, n in enumerate(over)})
    of_first = [*range(begin, begin + more), *range(begin + more + len(over), count)]

    def moved(inner: Tape) -> Tape:
        b = Builder(count)
        item = b.inline(one.body, [b.input(n) for n in of_first])[0]
        at: list[int] = []
        for op, args in zip(inner.ops, inner.args):
            if op is CONST:
                at.append(b.const(args[0]))
            elif op is INPUT:
                last = args[0] == inner.inputs - 1
                at.append(-1 if args[0] == k else b.input(count - 1 if last else number[args[0]]))
            elif op is LOAD and at[args[0]] == -1:
                at.append(item)
            else:
                at.append(b.again(op, tuple([at[a] for a in args])))
        return b.finish([at[o] for o in inner.outputs])

    condition = None if two.condition is None else moved(two.condition)
    op = Loop(moved(two.body), two.carried, two.invariants - 1 + more, two.iterations, condition)
    places, firsts = tape.args[second], tape.args[first]
    operands = [places[n] for n in order] + list(firsts[:more]) + [places[n] for n in over] + list(firsts[more:])
    ops, rows = list(tape.ops), list(tape.args)
    ops[second], rows[second] = op, tuple(operands)
    return prune(tape.copy(ops=tuple(ops), args=tuple(rows)))


__all__: Sequence[str] = ["fuse"]
