"""What a typed tape is made of while it becomes a tape of floats: numbers, arrays, and the bodies that they are in."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, inf, isfinite

from micrograd.tape.builder import Builder
from micrograd.tape.tape import INPUT, PICK, SOURCES, STORE, Tape

ITERATION, INVARIANT = 1 << 20, 1 << 21  # where the inputs of a body are counted from while it is made


class Number:
    """A number on the tape that is made, in one of its bodies."""

    __slots__ = ("home", "place")

    def __init__(self, home: Frame, place: int) -> None:
        self.home, self.place = home, place

    @property
    def constant(self) -> float | None:
        """The number, if it is a constant."""
        return self.home.builder.number(self.place)


class Array:
    """An array: its items one by one, or a place with room for `room` items; its size, and a bound for that, `most`.

    Of an array such as 0, 1, 2 ..., `linear` is its first item, and by how much each is more than the one before.
    """

    __slots__ = ("items", "place", "size", "most", "room", "linear")

    def __init__(
        self, items: list[Number] | None, place: Number | None, size: Number, most: float, room: float | None = None
    ) -> None:
        self.items, self.place, self.size, self.most = items, place, size, most
        self.room: float = len(items) if items is not None else most if room is None else room
        self.linear: tuple[Number, float] | None = None


class Frame:
    """A body that is made: its instructions, what it reads from around it, and the rows that run it."""

    def __init__(self, outer: Frame | None, mask: Number | None = None, carried: int = 0) -> None:
        self.outer, self.mask, self.carried = outer, mask, carried
        self.builder = Builder()
        self.read: dict[int, int] = {}  # the places of the body around that are invariants here
        self.rejected: list[Number] = []  # where a check fails
        self.last = inf  # the number of the last iteration, at most
        self.uniform: set[int] = set()  # places that are the same whole numbers in all rows

    def of(self, x: Number) -> int:
        """The place of a number, or of an array, in this body."""
        if x.home is self:
            return x.place
        constant = x.constant
        if constant is not None:
            return self.builder.const(constant)
        assert self.outer is not None, "a number of an inner body is read"
        there = self.outer.of(x)
        if there not in self.read:
            self.read[there] = self.builder.source(INPUT, INVARIANT + len(self.read))
            if there in self.outer.uniform:
                self.uniform.add(self.read[there])
        return self.read[there]

    def bounds(self, x: Number) -> tuple[float, float]:
        """Two numbers that a whole number is never outside of."""
        if x.home is not self:
            return x.home.bounds(x)
        return self._bounds(x.place, {})

    def _bounds(self, place: int, found: dict[int, tuple[float, float]]) -> tuple[float, float]:
        if place not in found:
            found[place] = -inf, inf
            found[place] = self._bounds_of(place, found)
        return found[place]

    def _bounds_of(self, place: int, found: dict[int, tuple[float, float]]) -> tuple[float, float]:
        op, args = self.builder.ops[place], self.builder.args[place]
        known = self.builder.number(place)
        if known is not None:
            return known, known
        if op is INPUT and args[0] == ITERATION:
            return 0.0, self.last
        if op is INPUT and args[0] >= INVARIANT:
            assert self.outer is not None
            there = next(p for p, q in self.read.items() if q == place)
            return self.outer._bounds(there, {})
        if op.name in ("lt", "le", "eq", "gt", "ge", "ne"):
            return 0.0, 1.0
        if op.name == "neg":
            low, high = self._bounds(args[0], found)
            return -high, -low
        if op.name == "mul":
            ends = [x * y for x in self._bounds(args[0], found) for y in self._bounds(args[1], found)]
            return (-inf, inf) if any(x != x for x in ends) else (min(ends), max(ends))
        if op.name in ("add", "sub", "where", "pick", "floor"):
            (a, b), *others = (self._bounds(p, found) for p in (args[1:] if op.arity == 3 or op is PICK else args))
            if op.name == "floor":
                return floor(a) if isfinite(a) else a, floor(b) if isfinite(b) else b
            c, d = others[0]
            if op.name == "add":
                return a + c, b + d
            return (a - d, b - c) if op.name == "sub" else (min(a, c), max(b, d))
        return -inf, inf

    def linear(self, x: Number) -> tuple[Number, float] | None:
        """A whole number by the number of the iteration: what it is in the first one, and what each adds."""
        if x.home is not self:
            return (x, 0.0) if depth(x.home) < depth(self) else None
        op, args = self.builder.ops[x.place], self.builder.args[x.place]
        if op is INPUT:
            if args[0] == ITERATION:
                return Number(self, self.builder.const(0.0)), 1.0
            there = next((p for p, q in self.read.items() if q == x.place), None)
            assert self.outer is not None
            return None if there is None else (Number(self.outer, there), 0.0)
        if x.constant is not None:
            return x, 0.0
        if op.name not in ("add", "mul"):
            return None
        one, two = (self.linear(Number(self, a)) for a in args)
        if one is None or two is None:
            return None
        (x, p), (y, q) = one, two
        a, b = x.constant, y.constant
        if a is None or b is None or (op.name == "mul" and p and q):
            return None
        if op.name == "add":
            return Number(self, self.builder.const(a + b)), p + q
        return Number(self, self.builder.const(a * b)), a * q + b * p

    def body(self, outputs: Sequence[int]) -> Tape:
        """The body, with its inputs in the order that a loop has them: carried, invariants, the number of the iteration."""
        last = self.carried + len(self.read)
        b = self.builder

        def place(k: int) -> int:
            if k >= INVARIANT:
                return self.carried + k - INVARIANT
            return last if k == ITERATION else k

        args = [(place(a[0]),) if op is INPUT else a for op, a in zip(b.ops, b.args)]
        return Tape(last + 1, 0, tuple(b.ops), tuple(args), tuple(outputs))


def depth(frame: Frame) -> int:
    return 0 if frame.outer is None else 1 + depth(frame.outer)


def appended_alone(frame: Frame, before: Array, after: Array) -> Number | None:
    """What an iteration adds to a list, if it does nothing else with it."""
    if before.place is None or after.place is None or after.place.home is not frame:
        return None
    op, args = frame.builder.ops[after.place.place], frame.builder.args[after.place.place]
    there = before.place.place
    readers = [
        k for k, (o, a) in enumerate(zip(frame.builder.ops, frame.builder.args)) if o not in SOURCES and there in a
    ]
    return Number(frame, args[2]) if op is STORE and args[0] == there and readers == [after.place.place] else None


def added(frame: Frame, after: Number, before: Number) -> float | None:
    """What is added to a size, if that is a constant."""
    if after.home is not frame:
        return None
    place, total = after.place, 0.0
    while place != before.place:
        op, args = frame.builder.ops[place], frame.builder.args[place]
        if op.name != "add":
            return None
        known = [frame.builder.number(a) for a in args]
        if (known[0] is None) == (known[1] is None):
            return None
        total += known[0] if known[0] is not None else known[1] or 0.0
        place = args[1] if known[0] is not None else args[0]
    return total
