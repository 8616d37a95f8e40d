"""What a forward loop keeps for the reverse one, beside the carried values at the beginning of each iteration.

Of carried arrays that the iterations change element by element, the elements that an iteration reads are kept, and not the
array: to keep an array of n elements for each of n iterations would take n² numbers. Where a loop inside changes or reads such
an array, the elements that it reads are kept for each iteration of both loops, and in the reverse sweep that loop inside is
not computed again. Where that would take more numbers than the array has, the array is kept whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

from micrograd.tape.builder import Builder
from micrograd.tape.check import NUMBER, Shape, shapes
from micrograd.tape.passes.arrays import inputs_at, single_inputs
from micrograd.tape.tape import BUMP, CONST, INPUT, LOAD, SOURCES, STORE, Loop, Projection, Tape, pad, result

KEPT = 4096  # iterations: of a loop with more, only the carried values are kept


class Inner(NamedTuple):
    """A loop inside that is not computed again: which of its arrays from outside it reads element by element, what is kept."""

    also: frozenset[int]
    numbers: list[int]  # of its results, with those that it has in addition as a loop that keeps its states


class KeptState(NamedTuple):
    """What is kept of each iteration."""

    places: list[int]  # of the body
    loops: dict[int, Inner]  # by the place of a loop in the body
    whole: set[int]  # the inputs of the body that are arrays which are read otherwise than element by element

    def results(self) -> int:
        """How many results a loop has in addition."""
        return len(self.places) + sum([len(inner.numbers) for inner in self.loops.values()])


def inside(op: Loop, given: Sequence[Shape]) -> list[Shape]:
    """The shapes of the inputs of the body of a loop over operands of these shapes."""
    carried, invariants, arrays = op.groups(given)
    return [*carried, *invariants, *(shape[1:] for shape in arrays), NUMBER]


def with_states(op: Loop, given: Sequence[Shape], also: frozenset[int] = frozenset()) -> Loop:
    """The loop with more results: the carried values at the beginning of each iteration, its number, and what is kept."""
    body = single_inputs(op.body)
    keeps = kept(op, given, also)
    found = shapes(body, inside(op, given)) if keeps.loops else []
    builder = Builder(body.inputs)
    at: list[int] = []
    for i, (o, args) in enumerate(zip(body.ops, body.args)):
        if o in SOURCES:
            at.append(builder.const(args[0]) if o is CONST else builder.source(o, args[0]))
            continue
        if i in keeps.loops and isinstance(o, Loop):
            o = with_states(o, [found[a] for a in args], keeps.loops[i].also)
        row = tuple([at[a] for a in args])
        at.append(builder.append(o, *row))
        builder.known.setdefault((o, row), at[-1])
    more = [builder.input(k) for k in [*range(op.carried), body.inputs - 1]] + [at[i] for i in keeps.places]
    for i, inner in keeps.loops.items():
        loop = body.ops[i]
        assert isinstance(loop, Loop)
        for n in inner.numbers:
            place = builder.emit(result(n), (at[i],))
            dynamic = loop.condition is not None and n >= loop.carried
            more.append(builder.emit(pad(loop.iterations or 0), (place,)) if dynamic else place)
    return op.with_bodies([builder.finish([*(at[o] for o in body.outputs), *more]), *op.bodies()[1:]])


def kept(op: Loop, given: Sequence[Shape], also: frozenset[int] = frozenset()) -> KeptState:
    """What is kept of a loop over operands of these shapes; of the inputs in `also`, every element that is read."""
    body = single_inputs(op.body)
    reads, loops, whole = _elements(op, body, list(given), also)
    places = _calls(op, body)
    return KeptState(sorted({*places, *reads}), loops, whole)


def _calls(op: Loop, body: Tape) -> list[int]:
    """The places of a body that are kept rather than computed once more: calls of functions, where the iterations are few.

    Of a loop whose number of iterations is not known they are kept where that takes no more memory than the carried values do.
    Of a call that is only compared, the outcome is kept, so that the reverse loop decides as the forward one did.
    """
    if op.iterations is not None and op.iterations > KEPT:
        return []
    calls = {i for i, o in enumerate(body.ops) if o.llvm.startswith("@") and not o.llvm.startswith("@llvm.")}
    others = set(body.outputs)  # what is used otherwise than in a comparison
    for o, args in zip(body.ops, body.args):
        if o not in SOURCES and not o.llvm.startswith("fcmp"):
            others.update(args)
    outcomes = {
        i
        for i, (o, args) in enumerate(zip(body.ops, body.args))
        if o not in SOURCES and o.llvm.startswith("fcmp") and any(a in calls and a not in others for a in args)
    }
    found = sorted((calls & others) | outcomes)
    return found if op.iterations is not None or len(found) <= op.carried else []


def _elements(
    op: Loop, body: Tape, given: list[Shape], also: frozenset[int]
) -> tuple[list[int], dict[int, Inner], set[int]]:
    """The loads of elements that are kept, the loops inside that are not computed again, and the arrays that are kept whole."""
    if STORE not in body.ops and not also and not any(isinstance(o, Loop) and _stores(o) for o in body.ops):
        return [], {}, set()
    found: list[Any] = shapes(body, inside(op, given))
    at = inputs_at(body)
    arrays = {k: at[k] for k in [*range(op.carried), *also] if k in at and found[at[k]]}
    sizes = {k: prod([n or 1 for n in found[place]]) for k, place in arrays.items()}
    skipped = {i for i, o in enumerate(body.ops) if isinstance(o, Loop)}
    whole: set[int] = set()
    while True:
        versions: dict[int, set[int]] = {place: {k} for k, place in arrays.items()}
        loops: dict[int, Inner] = {}
        for i, (o, args) in enumerate(zip(body.ops, body.args)):
            if o in SOURCES or not any(a in versions for a in args):
                continue
            of = set().union(*(versions.get(a, set()) for a in args))
            if o in (LOAD, STORE, BUMP) and not any(a in versions for a in args[1:]):
                if o is not LOAD:
                    versions[i] = of
            elif isinstance(o, Projection) and args[0] in loops:
                if o.number < _loop(body, args[0]).carried and found[i]:
                    versions[i] = of
            elif i in skipped and isinstance(o, Loop) and not of & whole:
                inner = _inner(o, body, i, [found[a] for a in args], [a in versions for a in args])
                if inner is None or inner[1] >= sum([sizes[k] for k in of]):
                    skipped.discard(i)
                    whole |= of
                else:
                    loops[i], versions[i] = inner[0], of
            else:
                whole |= of
        if all(not versions[i] & whole for i in loops):
            break
        skipped -= {i for i in loops if versions[i] & whole}
    if STORE not in body.ops and not loops and not also:
        return [], {}, whole
    reads = [
        i
        for i, (o, args) in enumerate(zip(body.ops, body.args))
        if o is LOAD and args[0] in versions and not versions[args[0]] & whole
    ]
    return reads, loops, whole


def _loop(tape: Tape, place: int) -> Loop:
    op = tape.ops[place]
    assert isinstance(op, Loop)
    return op


def _inner(op: Loop, body: Tape, place: int, given: list[Shape], array: list[bool]) -> tuple[Inner, int] | None:
    """What is kept of a loop inside, and how many numbers that is; None where it must be computed again."""
    if op.iterations is None:
        return None
    first = op.carried + op.invariants
    if any(array[first:]) or any(bool(given[k]) != array[k] for k in range(op.carried)):
        return None
    also = frozenset([k for k in range(op.carried, first) if array[k]])
    keeps = kept(op, given, also)
    if keeps.whole & {*range(op.carried), *also}:
        return None
    dynamic = op.condition is not None
    if dynamic and (keeps.loops or op.results > op.carried or not _counts(op)):
        return None
    used = sorted({o.number for o, args in zip(body.ops, body.args) if isinstance(o, Projection) and args == (place,)})
    numbers = [n for n in used if n >= op.carried or not given[n]]
    numbers += [op.results + k for k in range(op.carried) if not given[k]]
    last = op.results + op.carried + 1
    numbers += range(last, last + keeps.results())
    with_all = with_states(op, given, also)
    found = shapes(with_all.body, inside(op, given))
    sizes = [prod([n or 1 for n in found[o]]) for o in with_all.body.outputs]
    size = sum([op.iterations * sizes[n] if n >= op.carried else 1 for n in numbers])
    return Inner(also, numbers), size


def _stores(op: Loop) -> bool:
    """Whether there is a `store` in a loop."""
    return any(o is STORE or (isinstance(o, Loop) and _stores(o)) for body in op.bodies() for o in body.ops)


def _counts(op: Loop) -> bool:
    """Whether the condition of a loop depends on nothing but invariants and the number of the iteration."""
    assert op.condition is not None
    last, first = op.condition.inputs - 1, op.carried + op.invariants
    read = [a[0] for o, a in zip(op.condition.ops, op.condition.args) if o is INPUT]
    return all(k == last or op.carried <= k < first for k in read)


def numbers_of(builder: Builder, op: Loop, invariants: Sequence[int]) -> int:
    """The numbers of the iterations that a loop takes, whose condition depends on invariants alone."""
    assert op.condition is not None
    count = op.invariants + 1
    places = {op.carried + k: k for k in range(op.invariants)} | {op.body.inputs - 1: op.invariants}
    condition = Builder(count)
    given = [condition.input(places[k]) if k in places else -1 for k in range(op.condition.inputs)]
    asked = condition.finish(condition.inline(op.condition, given))
    body = Builder(count)
    return builder.loop(body.finish([body.input(op.invariants)]), (), invariants, (), op.iterations, asked)[0]


__all__ = ["KeptState", "inside", "kept", "numbers_of", "with_states"]
