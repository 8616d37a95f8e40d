"""Which elements of arrays nobody reads, so that they need not be written.

A list that becomes shorter from one iteration to the next is an array of one length, with zeros behind its elements (`pad`);
the cotangent of such a list has zeros behind the elements that an iteration has added to. Writing them takes as long as writing
the others. Where all indices are sums of multiples of the iteration numbers, the highest index that is read can be compared
with the number of elements that are there, both of which depend on the iteration.

An array is known here by how many of its first elements are there at least, and by its gaps: what would have to be filled up if
any other were read. Whatever is read otherwise than by indices that are known to be below closes the gaps: they are written.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from micrograd.compile.llvm.indices import ITERATION, is_whole_constant, linear_op
from micrograd.compile.llvm.ranges import LinearForm, Ranges
from micrograd.compile.llvm.windows import bumps
from micrograd.compile.tuning import TUNING
from micrograd.ops import Op
from micrograd.tape.tape import (
    BUMP,
    CONST,
    INPUT,
    LOAD,
    SOURCES,
    STACK,
    STORE,
    Choose,
    Loop,
    Projection,
    Region,
    Structural,
    Tape,
)

Gap = tuple[
    int, ...
]  # the places of the regions around, the place of a loop or a pad, and the loop's result (-1 of a pad)
ITERATION_NUMBER = LinearForm(0, ((ITERATION, 1),))


@dataclass(frozen=True)
class KnownArray:
    """What is known of an array: how many of its first elements are there (None: all of them), and its gaps."""

    length: int | None = None  # of all elements
    there: LinearForm | None = None
    gaps: frozenset[Gap] = frozenset()
    count: LinearForm | None = None  # of an array of unknown length: its length
    iteration: str = ""  # of the arrays that a loop has stacked: what the iteration number is called in `there`


def unread(tape: Tape) -> set[Gap]:
    """The gaps of a tape that need not be filled."""
    if not _has_gaps(tape):
        return set()
    search = _Search()
    search.visit(tape, (), [None] * tape.inputs)
    return search.gaps - search.closed


def _has_gaps(tape: Tape) -> bool:
    for op in tape.ops:
        if op is BUMP or op is STORE or (isinstance(op, Projection) and op.name == "pad"):
            return True
        if isinstance(op, Region) and any(map(_has_gaps, op.bodies())):
            return True
    return False


class _Search:
    """One walk over a tape and the bodies in it."""

    def __init__(self) -> None:
        self.ranges = Ranges()
        self.gaps: set[Gap] = set()
        self.closed: set[Gap] = set()

    def visit(self, tape: Tape, path: tuple[int, ...], inputs: Sequence[Any]) -> list[Any]:
        """What is known of the outputs: a Known of an array, a LinearForm of a whole number. None: no gaps."""
        at: list[Any] = []
        for i, (op, args) in enumerate(zip(tape.ops, tape.args)):
            if op is INPUT:
                at.append(inputs[args[0]])
            elif op in SOURCES:
                at.append(number(tape, i, ()))
            else:
                at.append(self._place(op, (*path, i), [at[a] for a in args]))
        return [at[o] for o in tape.outputs]

    def _place(self, op: Op, path: tuple[int, ...], given: list[Any]) -> Any:
        if isinstance(op, Loop):
            return self._loop(op, path, given)
        if isinstance(op, Choose):
            self._close(given)
            found = [self.visit(body, (*path, n), _without_gaps(given[1:])) for n, body in enumerate(op.bodies())]
            self._close(found[0] + found[1])
            return _without_gaps(found[0])
        if isinstance(op, Projection):
            return self._projection(op, (*path, -1), given[0])
        if op is LOAD:
            array, index = given
            self._read(array, index, index.plus(LinearForm(1)) if isinstance(index, LinearForm) else None)
            return None
        if op is BUMP or op is STORE or op is STACK:
            self._close(given)
            return KnownArray(len(given)) if op is STACK else _without_gaps(given)[0]
        if all(isinstance(x, LinearForm) for x in given):
            return linear_op(op.name, given[0], given[-1])
        return None

    def _projection(self, op: Projection, gap: Gap, given: Any) -> Any:
        if op.name == "result":
            return given[op.number]
        if op.name == "element":
            self._read(given, LinearForm(op.number), LinearForm(op.number + 1))
            return None
        self._close([given])
        if not isinstance(given, KnownArray) or given.count is None:
            return KnownArray(op.number)
        self.gaps.add(gap)
        return KnownArray(op.number, given.count, frozenset([gap]))

    def _close(self, arrays: Iterable[Any]) -> None:
        """Something is read of these arrays, and it is not known what."""
        for array in arrays:
            if isinstance(array, KnownArray):
                self.closed |= array.gaps

    def _read(self, array: Any, first: LinearForm | None, end: LinearForm | None) -> None:
        """Elements from `first` up to `end` are read."""
        if not isinstance(array, KnownArray) or not array.gaps:
            return
        if isinstance(first, LinearForm) and end is not None and array.there is not None and not array.iteration:
            lowest, behind = self.ranges.lowest(first), self.ranges.highest(end.plus(array.there, -1))
            if lowest is not None and lowest >= 0 and behind is not None and behind <= 0:
                return
        self._close([array])

    # ---- loops

    def _count(self, op: Loop, given: Sequence[Any]) -> LinearForm | None:
        """The number of iterations, where it is known exactly."""
        if op.condition is None:
            if op.iterations is not None:
                return LinearForm(op.iterations)
            first = given[op.carried + op.invariants]
            return first.count if isinstance(first, KnownArray) else None
        (out,) = op.condition.outputs
        if op.condition.ops[out].name != "lt":
            return None
        a, b = (number(op.condition, place, _inputs(op, given)) for place in op.condition.args[out])
        if a != ITERATION_NUMBER or b is None or b.of(ITERATION):
            return None
        lowest, highest = self.ranges.lowest(b), self.ranges.highest(b)
        within = op.iterations is None or (highest is not None and highest <= op.iterations)
        return b if lowest is not None and lowest >= 0 and within else None

    def _loop(self, op: Loop, path: tuple[int, ...], given: list[Any]) -> list[Any]:
        """What is known of the results; `path` ends with the place of the loop."""
        count = self._count(op, given)
        name = "%iteration" + "_".join(map(str, path))
        iteration = LinearForm(0, ((name, 1),))
        limits = [] if op.iterations is None else [LinearForm(op.iterations - 1)]
        self.ranges.limits.pop(name, None)  # those of inner loops come later
        self.ranges.variable(name, [*limits, *([] if count is None else [count.plus(LinearForm(-1))])])
        carried, invariants, over = (list(group) for group in op.groups(given))
        rest = [*invariants, *(self._element(x, iteration, count) for x in over), iteration]
        least = None if count is None else self.ranges.lowest(count)
        asks = op.condition is not None and any(isinstance(o, Structural) for o in op.condition.ops)
        if count is None or least is None or least < 1 or asks:  # perhaps there is no iteration at all
            self._close([*carried, *rest])
            made = self.visit(op.body, path, [*_without_gaps(carried), *_without_gaps(rest)])
            self._close(made)
            return [*_without_gaps(made[: op.carried]), *(_stacked(op, None, "", count) for _ in made[op.carried :])]
        first, last = LinearForm(0), count.plus(LinearForm(-1))
        if op.reverse:
            first, last = last, first
        # What an iteration makes of the carried arrays; then the same, with what the iteration before has made of them.
        made = self.visit(op.body, path, [*_without_gaps(carried), *rest])
        step = iteration.plus(LinearForm(1 if op.reverse else -1))
        before = [self._before(x, y, name, step, first) for x, y in zip(carried, made)]
        again = self.visit(op.body, path, [*before, *rest])
        results: list[Any] = []
        for j, (x, y, z) in enumerate(zip(carried, made, again)):
            added = self._added(op, j, x, path, count, given)
            if added is not None:
                results.append(added)
            elif isinstance(x, KnownArray) and isinstance(y, KnownArray) and y == z and not y.iteration:
                results.append(y if y.there is None else replace(y, there=_with(y.there, name, last)))
            else:
                self._close([x, y, z])
                results.extend(_without_gaps([x]))
        return [*results, *(_stacked(op, x, name, count) for x in again[op.carried :])]

    def _element(self, array: Any, iteration: LinearForm, count: LinearForm | None) -> Any:
        """What an iteration sees of an array that a loop runs over."""
        if not isinstance(array, KnownArray) or not array.iteration:
            self._read(array, LinearForm(0), count)
            return None
        if array.there is None:
            return KnownArray(array.length)
        return KnownArray(array.length, _with(array.there, array.iteration, iteration), array.gaps)

    def _before(self, x: Any, y: Any, name: str, step: LinearForm, first: LinearForm) -> Any:
        """What an iteration sees of a carried array: what the one before has made of it, or (in the first one) what it was."""
        if (
            isinstance(x, KnownArray)
            and not x.gaps
            and x.length is not None
            and isinstance(y, KnownArray)
            and y.there is not None
        ):
            there = _with(y.there, name, step)
            most = self.ranges.highest(_with(there, name, first))
            if most is not None and most <= x.length and not y.iteration:
                return KnownArray(x.length, there, y.gaps)
        self._close([x, y])
        return _without_gaps([x])[0]

    def _added(
        self, op: Loop, j: int, x: Any, path: tuple[int, ...], count: LinearForm, given: list[Any]
    ) -> KnownArray | None:
        """A carried array to whose elements, from the first one on, the iterations add: the others may be left out."""
        found = [number(op.body, place, _inputs(op, given)) for place in bumps(op.body, j)]
        offsets = [f.plus(ITERATION_NUMBER, -1) for f in found if f is not None]
        if not found or len(offsets) < len(found) or any(o.terms for o in offsets) or not isinstance(x, KnownArray):
            return None
        low, high = min(o.constant for o in offsets), max(o.constant for o in offsets)
        if low != 0 or high >= TUNING.widest_window or x.gaps or x.length is None:
            return None
        gap = (*path, j)
        self.gaps.add(gap)
        return KnownArray(x.length, count.plus(LinearForm(high)), frozenset([gap]))


def _inputs(op: Loop, given: Sequence[Any]) -> list[Any]:
    """The inputs of a loop's body, where only invariants and the iteration number are known."""
    invariants = given[op.carried : op.carried + op.invariants]
    return [*[None] * op.carried, *invariants, *[None] * op.elements, ITERATION_NUMBER]


def _stacked(op: Loop, x: Any, name: str, count: LinearForm | None) -> KnownArray:
    """What is known of an array of what each iteration has made."""
    if isinstance(x, KnownArray):
        return replace(x, iteration=name, count=None)
    dynamic = op.condition is not None or op.iterations is None
    return KnownArray(None if dynamic else op.iterations, count=count if dynamic else None)


def _without_gaps(arrays: Iterable[Any]) -> list[Any]:
    """What is known of arrays that are filled up."""
    return [KnownArray(x.length) if isinstance(x, KnownArray) and not x.iteration else None for x in arrays]


def _with(x: LinearForm, name: str, value: LinearForm) -> LinearForm:
    """The sum with something else in place of a variable."""
    multiple = x.of(name)
    return x.plus(LinearForm(0, ((name, 1),)), -multiple).plus(value, multiple)


def number(tape: Tape, place: int, inputs: Sequence[Any]) -> LinearForm | None:
    """A place of a body as a sum of multiples, for inputs that are such sums or something else."""
    op, args = tape.ops[place], tape.args[place]
    if op is CONST:
        return LinearForm(int(args[0])) if is_whole_constant(args[0]) else None
    if op is INPUT:
        return inputs[args[0]] if isinstance(inputs[args[0]], LinearForm) else None
    if op in SOURCES or isinstance(op, Structural):
        return None
    parts = [number(tape, a, inputs) for a in args]
    known = [x for x in parts if x is not None]
    return linear_op(op.name, known[0], known[-1]) if known and len(known) == len(parts) else None
