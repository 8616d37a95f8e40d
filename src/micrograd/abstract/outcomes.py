"""How the evaluation of a form may end, and how the ends of two arms of a branch become one.

An evaluation ends normally with a value, or it leaves a label with one: return, break, continue or raise. Of the ends that are
possible, one happens; each has a flag that says whether it does, and a heap.

`fork` evaluates two things under a condition. Where only one of them goes on normally, what follows belongs inside of that
arm: the fork stays Pending, and `bind` goes on in the arm. Otherwise `join` makes one heap of two: what differs becomes a
result of the `if`, or a select.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

from micrograd.abstract.errors import Refused
from micrograd.abstract.shapes import Shapes, locations, lub, shape_of
from micrograd.abstract.values import Value, mapped, same
from micrograd.core.forms import RAISE
from micrograd.ir.builder import Builder, Scope
from micrograd.ir.forms import I64, Body, Place, is_array, walk

NORMAL = "normal"
LEFT = "an arm that is not followed"
Label = Hashable
Heap = dict[int, Value]


@dataclass(slots=True)
class Way:
    """One way to end: whether it is taken, the heap that it leaves, and the value."""

    flag: Place
    heap: Heap
    value: Value


@dataclass(slots=True)
class Ways:
    """Several ways to end, or one that is not normal."""

    by_label: dict[Label, Way]


@dataclass(slots=True)
class Arm:
    """One arm of a branch: its body, how it ends, and the heap if it ends with a plain value."""

    scope: Scope
    result: Result
    heap: Heap


@dataclass(slots=True)
class Pending:
    """A branch whose arms have not been joined."""

    condition: Place
    arms: list[Arm]
    before: Heap


Result = Value | Ways | Pending
Then = Callable[[Value], Result]


class Outcomes(Shapes):
    """Forks, joins, and what comes after them."""

    def __init__(self, builder: Builder) -> None:
        super().__init__(builder)
        self.heap: Heap = {}
        self.catching = 0  # how many handlers are around
        self.leaves_arms = False  # whether an arm that is not followed is left to Python, by a check
        self.fillers: set[Place] = set()  # constants that stand where a value does not matter

    # ---- one arm or the other

    def fork(self, condition: Place, then: Callable[[], Result], orelse: Callable[[], Result]) -> Result:
        """Do one of two things."""
        truth = self.b.decided(condition)
        if truth is not None:
            return then() if truth else orelse()
        if condition.op == "not":
            return self.fork(condition.args[0], orelse, then)
        before = self.heap
        arms: list[Arm] = []
        left: list[Refused] = []
        for make, holds in ((then, True), (orelse, False)):
            self.heap = dict(before)
            saved = self.saved_state() if self.leaves_arms else None
            scope = self.b.enter()
            self.b.assume(condition, holds)
            try:
                result = make()
            except Refused as reason:
                if saved is None or left:
                    raise
                self.restore_state(saved)
                left.append(reason)
                continue
            self.b.leave()
            arms.append(Arm(scope, result, self.heap))
            held = holds
        if left:
            return self._left_to_python(condition if held else self.b.emit("not", condition), arms[0], left[0])
        return self._settle(Pending(condition, arms, before))

    def _left_to_python(self, condition: Place, other: Arm, reason: Refused) -> Result:
        """Go on with the other arm alone: where this condition does not hold, the call is left to Python."""
        self.note_left(reason)
        self.b.check(condition, LEFT)
        self.b.splice(other.scope)
        self.heap = other.heap
        return other.result

    def _settle(self, fork: Pending) -> Result:
        """Join the arms of a branch if both go on; an exception that nothing catches is a check."""
        first, second = fork.arms
        if not self.catching:
            for arm, other, holds in ((first, second, False), (second, first, True)):
                if self._only_raises(arm.result):
                    condition = fork.condition if holds else self.b.emit("not", fork.condition)
                    self.b.check(condition, self._error_text(arm.result))
                    self.b.splice(other.scope)
                    self.heap = other.heap
                    return other.result
        if self._goes_on(first.result) and self._goes_on(second.result):
            return self._finish(self.joined_ways(fork))
        return fork

    def _only_raises(self, result: Result) -> bool:
        if isinstance(result, Pending):
            return all(self._only_raises(arm.result) for arm in result.arms)
        return isinstance(result, Ways) and list(result.by_label) == [RAISE]

    def _goes_on(self, result: Result) -> bool:
        if isinstance(result, Pending):
            return any(self._goes_on(arm.result) for arm in result.arms)
        return not isinstance(result, Ways) or NORMAL in result.by_label

    def _error_text(self, result: Result) -> str:
        if isinstance(result, Pending):
            return self._error_text(result.arms[0].result)
        assert isinstance(result, Ways)
        return self.describe_error(result.by_label[RAISE].value)

    def saved_state(self) -> Any:
        """Return how deep the interpreter is in what."""
        raise NotImplementedError

    def restore_state(self, saved: Any) -> None:
        """Go back to how deep the interpreter was."""
        raise NotImplementedError

    def note_left(self, reason: Refused) -> None:
        """Write down why an arm is left to Python."""
        raise NotImplementedError

    def describe_error(self, value: Value) -> str:
        """Return the name of an exception."""
        raise NotImplementedError

    def ways(self, result: Result) -> dict[Label, Way]:
        """Return how an evaluation may end, its branches joined."""
        if isinstance(result, Ways):
            return result.by_label
        if isinstance(result, Pending):
            return self.joined_ways(result)
        return {NORMAL: Way(self.true, self.heap, result)}

    def _finish(self, ways: dict[Label, Way]) -> Result:
        if len(ways) == 1 and NORMAL in ways:
            self.heap = ways[NORMAL].heap
            return ways[NORMAL].value
        return Ways(ways)

    def _inside(self, arm: Arm, run: Callable[[Result], Result]) -> None:
        """Go on inside of an arm."""
        self.b.enter(arm.scope)
        self.heap = arm.heap
        arm.result = run(arm.result)
        arm.heap = self.heap
        self.b.leave()

    def bind(self, result: Result, then: Then) -> Result:
        """Go on after an evaluation, where it ends normally."""
        if isinstance(result, Value):
            return then(result)
        if isinstance(result, Pending):
            going = [arm for arm in result.arms if self._goes_on(arm.result)]
            if not going:
                return result
            assert len(going) == 1, "a branch whose arms both go on is joined"
            self._inside(going[0], lambda r: self.bind(r, then))
            return self._settle(result)
        normal = result.by_label.get(NORMAL)
        if normal is None:
            return result
        rest = {label: way for label, way in result.by_label.items() if label != NORMAL}
        if not rest:
            self.heap = normal.heap
            return then(normal.value)
        if len(rest) == 1:
            for way in rest.values():
                way.flag = self.true

        def go() -> Result:
            self.heap = dict(normal.heap)
            return then(normal.value)

        return self.fork(normal.flag, go, lambda: Ways(rest))

    def relabel(self, result: Result, names: dict[Label, Label]) -> Result:
        """Return a result that leaves other labels."""
        if isinstance(result, Value):
            return result
        if isinstance(result, Pending):
            for arm in result.arms:
                self._inside(arm, lambda r: self.relabel(r, names))
            return self._settle(result)
        groups: dict[Label, list[Way]] = {}
        for label, way in result.by_label.items():
            groups.setdefault(names.get(label, label), []).append(way)
        return self._finish({label: self._any_of(label, ways) for label, ways in groups.items()})

    def _any_of(self, label: Label, ways: list[Way]) -> Way:
        first, *others = ways
        for other in others:
            flag = self.b.emit("or", first.flag, other.flag)
            x, y = first, other

            def one(way: Way) -> Callable[[], Result]:
                return lambda: Ways({"%one": Way(self.true, way.heap, way.value)})

            joined = self.ways(self.fork(x.flag, one(x), one(y)))["%one"]
            first = Way(flag, joined.heap, joined.value)
        return first

    def leave(self, label: Label, value: Value) -> Ways:
        """Leave a label with a value."""
        return Ways({label: Way(self.true, self.heap, value)})

    # ---- joins

    def joined_ways(self, fork: Pending) -> dict[Label, Way]:
        """Return how a branch may end: of each end that both arms have, the two heaps and values become one."""
        ends = []
        for arm in fork.arms:
            self.b.enter(arm.scope)
            self.heap = arm.heap
            ends.append(self.ways(arm.result))
            self.b.leave()
        join = _Join(self, fork)
        made: dict[Label, tuple[Callable[[], Place], dict[int, Callable[[], Value]], Callable[[], Value]]] = {}
        for label in dict.fromkeys([*ends[0], *ends[1]]):
            x, y = ends[0].get(label), ends[1].get(label)
            if x is not None and y is not None:
                cells = self._joined_heap(join, fork.before, x, y)
                made[label] = join.place(x.flag, y.flag), cells, join.value(x.value, y.value)
                continue
            way, side = (x, 0) if x is not None else (y, 1)
            assert way is not None
            flags = (way.flag, self.false) if side == 0 else (self.false, way.flag)
            kept = reachable(way.heap, fork.before, way.value)
            cells = {at: join.exported(way.heap[at], side) for at in kept}
            made[label] = join.place(*flags), cells, join.exported(way.value, side)
        join.close()
        found = {}
        for label, (flag, cells, value) in made.items():
            found[label] = Way(flag(), {at: cell() for at, cell in cells.items()}, value())
        if len(found) == 1:
            for way in found.values():
                way.flag = self.true
        return found

    def _joined_heap(self, join: _Join, before: Heap, x: Way, y: Way) -> dict[int, Callable[[], Value]]:
        cells = {}
        for at in {
            **dict.fromkeys(reachable(x.heap, before, x.value)),
            **dict.fromkeys(reachable(y.heap, before, y.value)),
        }:
            if at in x.heap and at in y.heap:
                cells[at] = join.value(x.heap[at], y.heap[at])
            else:
                side = 0 if at in x.heap else 1
                cells[at] = join.exported((x, y)[side].heap[at], side)
        return cells

    def hoisted(self, place: Place, k: Place | None = None, count: Place | None = None) -> Place | None:
        """Return a whole number that is affine in what the open body can read, made there; `count` stands for k."""
        if place.kind != I64 or place.op == "const":
            return None
        form = self.b.known.of(place)
        terms: list[tuple[Place, int]] = []
        for number, factor in form.terms:
            term = self.b.known.places.get(number)
            if term is None:
                return None
            if term is k:
                assert count is not None
                term = count
            elif term is place or not self.b.visible(term):
                return None
            terms.append((term, factor))
        found = self.b.const(form.constant)
        for term, factor in terms:
            found = self.b.sum(found, term, factor) if found.op != "const" or found.attr else self._times(term, factor)
        if found.op != "const":
            self.bounds.setdefault(found, self.bound(place))
        return found

    def _times(self, place: Place, factor: int) -> Place:
        return place if factor == 1 else self.b.emit("imul", place, self.b.const(factor))

    def filler(self, kind: str) -> Place:
        """Return a constant that stands where a value does not matter."""
        zero = self.zero(kind)
        found = Place("const", (), kind, zero.attr)
        self.fillers.add(found)
        return found


class _Join:
    """The `if` that two arms become. Values are asked for first, and can be had once it is closed."""

    def __init__(self, machine: Outcomes, fork: Pending) -> None:
        self.m, self.b = machine, machine.b
        self.condition, self.scopes = fork.condition, [arm.scope for arm in fork.arms]
        self.pairs: dict[tuple[Place, Place], int] = {}
        self.alone: dict[tuple[Place, int], Callable[[], Place]] = {}  # what only one arm has
        self.results: list[Place] = []
        self.whole: dict[int, bool] = {}

    def place(self, x: Place, y: Place) -> Callable[[], Place]:
        """Return what gives the place that is x after the first arm, and y after the second one."""
        m, b = self.m, self.b
        if x is y:
            return lambda: x
        free_x, free_y = x in m.fillers, y in m.fillers
        for p, free in ((x, free_y), (y, free_x)):
            if free and b.visible(p):
                return lambda: p
        if x.kind == I64 and (free_x or free_y or b.known.of(x) == b.known.of(y)):
            hoisted = m.hoisted(y if free_x else x)
            if hoisted is not None:
                return lambda: hoisted
        if b.visible(x) and b.visible(y) and not is_array(x.kind) and not free_x and not free_y:
            return lambda: m.select(self.condition, x, y)
        if (x, y) not in self.pairs:
            self.pairs[x, y] = len(self.pairs)
            if x.kind == I64:
                self.whole[self.pairs[x, y]] = all(self._is_positive(i, p) for i, p in enumerate((x, y)))
        number = self.pairs[x, y]
        return lambda: self.results[number]

    def _is_positive(self, side: int, place: Place) -> bool:
        if place in self.m.fillers:
            return True
        self.b.enter(self.scopes[side])
        found = self.b.known.positive(self.b.known.of(place))
        self.b.leave()
        return found

    def value(self, x: Value, y: Value) -> Callable[[], Value]:
        """Return what gives the value that is x after the first arm, and y after the second one."""
        if same(x, y):
            return lambda: x
        m, shape = self.m, lub(shape_of(x), shape_of(y))
        packed = []
        for scope, v in zip(self.scopes, (x, y)):
            self.b.enter(scope)
            packed.append(m.pack(v, shape))
            self.b.leave()
        places = [self.place(p, q) for p, q in zip(*packed)]
        return lambda: m.unpack(shape, iter([p() for p in places]))

    def exported(self, x: Value, side: int) -> Callable[[], Value]:
        """Return what gives a value that only one arm has."""

        def note(p: Place) -> Place:
            if (p, side) not in self.alone:
                filler = self.m.filler(p.kind)
                self.alone[p, side] = self.place(p, filler) if side == 0 else self.place(filler, p)
            return p

        mapped(x, note)
        return lambda: mapped(x, lambda p: self.alone[p, side]())

    def close(self) -> None:
        """Add the `if` to the tape."""
        pairs = list(self.pairs)
        bodies = tuple(scope.body for scope in self.scopes)
        if not pairs and not any(_has_checks(body) for body in bodies):
            return
        for side, body in enumerate(bodies):
            body.yields = [pair[side] for pair in pairs]
        place = Place("if", (self.condition,), "")
        place.bodies = bodies
        self.results = self.b.region(place, [x.kind for x, _ in pairs])
        for number, (x, y) in enumerate(pairs):
            if x.kind == I64:
                self.m.bounds[self.results[number]] = max(self.m.bound(x), self.m.bound(y))
                if self.whole[number]:
                    self.b.known.at_least(self.results[number], 0)


def _has_checks(body: Body) -> bool:
    return any(place.op == "check" for place in walk(body))


def reachable(heap: Heap, before: Heap, value: Value) -> list[int]:
    """Return the locations that were there before, and the new ones that they, or a value, lead to."""
    found = dict.fromkeys(at for at in heap if at in before)
    waiting = [at for at in found if heap[at] is not before[at]]
    for start in locations(value):
        if start in heap and start not in found:
            found[start] = None
            waiting.append(start)
    while waiting:
        for at in locations(heap[waiting.pop()]):
            if at in heap and at not in found:
                found[at] = None
                waiting.append(at)
    return list(found)
