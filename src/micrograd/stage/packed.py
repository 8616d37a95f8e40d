"""Lists that are arrays of the tape while a loop is rolled: each iteration creates such a list in a loop of its own.

Such a list stays a list of the program's. What it holds is one Packed: an array, and how many of its elements the list has,
which may change from one iteration to the next. Who reads an item by an index, or a slice, or iterates in a loop that is
rolled, reads the array. Anybody else unpacks it first (`settle` in ragged.py, `touch` in machine.py): the items are then loaded
one by one.
"""

from __future__ import annotations

import operator
import struct
from typing import TYPE_CHECKING, Any

from micrograd import observed
from micrograd.engine import Value
from micrograd.ops import OPS
from micrograd.stage import bounds
from micrograd.stage.errors import Unsupported
from micrograd.stage.join import join_values
from micrograd.stage.lanes import EXACT, Lane, affine, binary, least, less, plain
from micrograd.stage.mixed import mark, may_be_int, refuse_plain
from micrograd.stage.nodes import node_of, result_of
from micrograd.stage.summary import Summary, is_number
from micrograd.tape.builder import Builder
from micrograd.tape.tape import LOAD, PICK, STACK, STORE, Loop, Tape

if TYPE_CHECKING:
    from micrograd.stage.machine import Machine

VALUES, FLOATS, MIXED, ANY = "values", "floats", "mixed", "any"
MANY_ALIKE, FEW_OTHERS = 256, 64  # so many equal constants a loop writes into an array, with at most so many others
LONG = 24  # items from which on a list that is carried from one iteration to the next is an array


class Packed(Summary):
    """Items of an array of the tape: `length` of them (an int, or an affine Lane), from `start` on, in steps of `step`.

    The array has room for `room` elements. Those that a list does not have are zeros. Of which kind the items are in the
    program itself: VALUES, or plain FLOATS, or MIXED of both, or ANY with ints among them. Of the last two, what raises an
    exception for plain numbers is not computed.
    """

    __slots__ = ("array", "length", "of", "room", "start", "step")

    def __init__(self, array: Value, length: Any, room: int, of: str, start: Any = 0, step: int = 1) -> None:
        super().__init__([])
        self.array, self.length, self.room, self.of, self.start, self.step = array, length, room, of, start, step


class Window(Summary):
    """A row of a table: `length` items, from `start` on, of the list that has the numbers of all rows (see tables.py)."""

    __slots__ = ("flat", "length", "seen", "start")

    def __init__(self, flat: list[Any], start: Any, length: int) -> None:
        super().__init__([])
        self.flat, self.start, self.length = flat, start, length
        self.seen: tuple[Any, Any] = None, None

    def items(self, held: list[Any] | None = None) -> Packed:
        """The items as they are now, or where the list of all numbers holds something else."""
        whole = packed(self.flat if held is None else held)
        if whole is None:
            raise Unsupported("a row of a table, of which another row has changed its length or its order")
        if self.seen[0] is not whole:
            self.seen = whole, Packed(whole.array, self.length, whole.room, whole.of, self.start)
        found: Packed = self.seen[1]
        return found


class Span(Summary):
    """A range whose ends change from one iteration to the next: `length` numbers from `start` on."""

    __slots__ = ("length", "start", "step")

    def __init__(self, start: Any, length: Any, step: int) -> None:
        super().__init__([])
        self.start, self.length, self.step = start, length, step


class Forgotten(Summary):
    """What a variable holds behind a loop that is not carried out of it, such as a row of a table. Who reads it is refused."""

    __slots__ = ("loop",)
    kind = None

    def __init__(self, loop: Any) -> None:
        super().__init__([])
        self.loop = loop


def packed(x: Any) -> Packed | None:
    """The array of a list that is one."""
    if type(x) is list and len(x) == 1:
        if type(x[0]) is Packed:
            found: Packed = x[0]
            return found
        if type(x[0]) is Window:
            return x[0].items()
    return None


def window(x: Any) -> Window | None:
    """The window of a list that is a row of a table."""
    return x[0] if type(x) is list and len(x) == 1 and type(x[0]) is Window else None


def span(m: Machine, *ends: Any) -> Any:
    """range() of ends that change from one iteration to the next."""
    start, stop, step = (0, ends[0], 1) if len(ends) == 1 else (*ends, 1)[:3]
    if type(step) is not int or abs(step) != 1 or affine(start) is None or affine(stop) is None:
        raise Unsupported("a range whose ends change from one iteration to the next")
    length = binary_int(m, "sub", stop, start) if step == 1 else binary_int(m, "sub", start, stop)
    if least(length) < 0:
        raise Unsupported("a range that may be empty in some iterations, and end before it begins")
    return Span(start, length, step)


def binary_int(m: Machine, how: str, a: Any, b: Any) -> Any:
    """a + b, a - b or a * b, of whole numbers that may change from one iteration to the next."""
    op = getattr(operator, how)
    if type(b) is int and b == (how == "mul"):
        return a
    if type(a) is int and a == (how == "mul") and how != "sub":
        return b
    found = op(a, b) if type(a) is int and type(b) is int else binary(m, op, a, b)
    # What does not change any more is a constant.
    return found.offset if type(found) is Lane and found.terms == {} else found


# ---- arrays


def pack(m: Machine, x: list[Any], room: int = 0) -> Packed:
    """A list of numbers as an array, made where its items were made."""
    items = [m.now(item) for item in x]
    trace = trace_of(m, items)
    key = id(x), trace, room
    known = m.stacks.get(key)
    if known is not None and len(known[1]) == len(items) and all(a is b for a, b in zip(known[1], items)):
        made: Packed = known[2]
        return made
    before = observed.set_trace(trace)
    try:
        numbers = [one(m, item) for item in items] + [0.0] * (room - len(items))
        array = array_of(numbers)
        array.__dict__["_numbers"] = [v._data if isinstance(v, Value) else v for v in numbers]
    finally:
        observed.set_trace(before)
    found = Packed(array, len(items), len(numbers), of_all([sort_of(m, item) for item in items]))
    m.stacks[key] = x, items, found
    return found


def array_of(numbers: list[Any]) -> Value:
    """An array of numbers; of one number that is repeated, made by a loop, so that its derivative is a loop as well."""
    first = numbers[0]
    if len(numbers) >= LONG and isinstance(first, Value) and all(x is first for x in numbers):
        b = Builder(2)
        return result_of(node_of(Loop(b.finish([b.input(0)]), 0, 1, len(numbers)), [first]), 0, [])
    usual = numbers[-1]
    if len(numbers) >= MANY_ALIKE and type(usual) is float:
        others = [k for k, x in enumerate(numbers) if x is not usual and not _is_same(x, usual)]
        if len(others) <= FEW_OTHERS:
            b = Builder(1)
            array = result_of(node_of(Loop(b.finish([b.const(usual)]), 0, 0, len(numbers)), []), 0, [])
            for k in others:
                array = node_of(STORE, [array, float(k), numbers[k]])
            return array
    return node_of(STACK, numbers)


def _is_same(x: Any, y: float) -> bool:
    """Whether x is a plain number with the same bits as y."""
    return type(x) is float and struct.pack("d", x) == struct.pack("d", y)


def trace_of(m: Machine, items: list[Any]) -> int:
    """The innermost trace in which one of these items was made."""
    chain = chain_of(m)
    return chain[max([chain.index(v._trace) for v in _values(items) if v._trace in chain], default=0)]


def chain_of(m: Machine) -> list[int]:
    """The traces that are being written: that of the function, and of each loop that is being rolled, from the outermost on."""
    chain = []
    roll = m.rolling
    while roll is not None:
        chain.append(roll.serial)
        last, roll = roll, roll.outer
    return [last.around, *reversed(chain)] if chain else [_trace()]


def _trace() -> int:
    """The trace that is being written."""
    found = observed.set_trace(0)
    observed.set_trace(found)
    return found


def _values(items: list[Any]) -> list[Value]:
    found = []
    for item in items:
        if type(item) is Summary:
            found += _values([y for _, y in item.alternatives])
        elif isinstance(plain(item), Value):
            found.append(plain(item))
    return found


def one(m: Machine, x: Any) -> Any:
    """An item as a number of the tape."""
    x = m.now(x)
    parts = x.alternatives if type(x) is Summary else [(None, x)]
    for _, y in parts:
        refuse_plain(m, y)
        if not is_number(plain(y)) or (type(y) is Lane and y.kind is int):
            raise Unsupported("a list of other things than numbers, in a loop that is rolled")
        if type(y) is int and (m.keep_types or abs(y) >= EXACT):
            raise Unsupported("a list with whole numbers in it, in a loop that is rolled")
    if type(x) is not Summary:
        found = plain(x)
        return float(found) if type(found) is int else found
    return join_values(m, [(mask, None, plain(y)) for mask, y in x.alternatives])


def sort_of(m: Machine | None, x: Any) -> str:
    """Of which kind an item is."""
    if type(x) is Summary:
        return of_all([sort_of(m, y) for _, y in x.alternatives])
    if isinstance(x, Value):
        return ANY if m is not None and may_be_int(m, x) else VALUES
    return FLOATS if type(x) is float or type(x) is Lane else ANY


def of_all(kinds: list[str]) -> str:
    """The kind of a list of items of these kinds."""
    kinds = [kind for kind in kinds if kind] or [""]
    return kinds[0] if len(set(kinds)) == 1 else ANY if ANY in kinds else MIXED


# ---- items


def load(m: Machine, p: Packed, i: Any) -> Any:
    """Item i, which is known to be there."""
    at = position(m, p, i)
    numbers = getattr(p.array, "_numbers", None)
    known = numbers[at] if numbers is not None and type(at) is int else 0.0
    # A differentiated function sees an array from outside of it element by element, as it sees any number from outside.
    outside = type(at) is int and p.array._trace not in chain_of(m)
    before = observed.set_trace(p.array._trace) if outside else 0
    try:
        found = node_of(LOAD, [p.array, float(at) if type(at) is int else at.whole], known)
    finally:
        if outside:
            observed.set_trace(before)
    if p.of in (MIXED, ANY):
        mark(m, found, ints=p.of is ANY)
    return Lane(float, found) if p.of is FLOATS else found


def position(m: Machine, p: Packed, i: Any) -> Any:
    """Which element of the array item i is."""
    return binary_int(m, "add", p.start, i if p.step == 1 else binary_int(m, "mul", i, p.step))


def item(m: Machine, x: list[Any], p: Packed, index: Any) -> Any:
    """x[index]"""
    if isinstance(index, slice):
        return m.made([_part(m, p, index)])
    return load(m, p, at_index(m, p, index, "list index out of range"))


def at_index(m: Machine, p: Packed, index: Any, error: str) -> Any:
    """The number of an item, counted from the first one, that is known to be there in all iterations."""
    if type(index) is int and index < 0:
        index = binary_int(m, "add", p.length, index)
    found = bounds.inside(m, index, p.length)
    if found is not None:
        return found
    if _guesses(m):
        return index
    if type(index) is int and type(p.length) is int:
        raise IndexError(error)
    raise Unsupported("an index that may be outside of a list in some iterations")


def _guesses(m: Machine) -> bool:
    """Whether a body is interpreted to find out how the lengths of lists change. It is interpreted once more afterwards."""
    roll = m.rolling
    while roll is not None:
        if roll.guesses is not None:
            roll.guesses = True
            return True
        roll = roll.outer
    return False


def _part(m: Machine, p: Packed, index: slice) -> Packed:
    """A slice of items one behind the other, or of all in reverse."""
    if index.step == -1 and index.start is None and index.stop is None:
        last = binary_int(m, "sub", p.length, 1)
        start = binary_int(m, "add", p.start, last if p.step == 1 else binary_int(m, "mul", last, p.step))
        return Packed(p.array, p.length, p.room, p.of, start, -p.step)
    ends = [0 if index.start is None else index.start, p.length if index.stop is None else index.stop]
    if index.step not in (None, 1) or any(affine(e) is None for e in ends):
        raise Unsupported("a slice that changes from one iteration to the next")
    first, stop = (binary_int(m, "add", p.length, e) if type(e) is int and e < 0 else e for e in ends)
    length = binary_int(m, "sub", stop, first)
    if least(first) < 0 or least(length) < 0 or least(less(p.length, stop)) < 0:
        raise Unsupported("a slice that may be outside of a list in some iterations")
    start = binary_int(m, "add", p.start, first if p.step == 1 else binary_int(m, "mul", first, p.step))
    return Packed(p.array, length, p.room, p.of, start, p.step)


def unpacked(m: Machine, p: Packed) -> list[Any]:
    """The items one by one."""
    if type(p.length) is not int:
        raise Unsupported("a list whose length changes from one iteration to the next is read as a whole")
    key = id(p), _trace()
    known = m.unpacked.get(key)
    if known is None:
        known = m.unpacked[key] = p, [load(m, p, k) for k in range(p.length)]
    return list(known[1])


def resized(m: Machine, p: Packed, room: int) -> Packed:
    """The same items in an array of their own, with room for so many."""
    b = Builder(4)
    array, begin, length, number = (b.input(k) for k in range(4))
    step = number if p.step == 1 else b.emit(OPS["mul"], (number, b.const(float(p.step))))
    x = b.emit(LOAD, (array, b.emit(OPS["add"], (begin, step))))
    op = Loop(b.finish([b.emit(PICK, (b.emit(OPS["lt"], (number, length)), x, b.const(0.0)))]), 0, 3, room)
    region = node_of(op, [p.array, *(float(n) if type(n) is int else n.whole for n in (p.start, p.length))])
    numbers = getattr(p.array, "_numbers", None)
    held = [0.0] * room
    if numbers is not None and type(p.start) is int and type(p.length) is int:
        for k in range(min(p.length, room)):
            held[k] = numbers[p.start + p.step * k]
    region.__dict__["_numbers"] = [held]
    return Packed(result_of(region, 0, held), p.length, room, p.of)


def fold(m: Machine, p: Packed, how: str, start: Any) -> Any:
    """sum(), min() or max() of a list, in the order of its items; None where it is short, or some items are plain numbers."""
    if p.of is not VALUES or (type(p.length) is int and p.length < LONG) or (how != "add" and least(p.length) < 1):
        return None
    b = Builder(5)
    total, array, begin, iteration = (b.input(k) for k in (0, 1, 2, 4))
    at = iteration if p.step == 1 else b.emit(OPS["neg"], (iteration,))
    x = b.emit(LOAD, (array, b.emit(OPS["add"], (begin, at))))
    new = b.emit(OPS["add"], (total, x)) if how == "add" else b.emit(PICK, (b.emit(OPS[how], (x, total)), x, total))
    fixed = type(p.length) is int
    test: Tape | None = None
    if not fixed:
        asks = Builder(5)
        test = asks.finish([asks.emit(OPS["lt"], (asks.input(4), asks.input(3)))])
    most = p.length if fixed else int(-least(less(0, p.length)))
    op = Loop(b.finish([new]), 1, 3, most, test)
    first = start if how == "add" else load(m, p, 0)
    region = node_of(op, [first, p.array, *(float(n) if type(n) is int else n.whole for n in (p.start, p.length))])
    y = 0.0
    numbers = getattr(p.array, "_numbers", None)
    if numbers is not None and fixed and type(p.start) is int:
        held = [numbers[p.start + p.step * k] for k in range(p.length)]
        y = float(getattr(start, "_data", start)) + sum(held) if how == "add" else (max if how == "gt" else min)(held)
    region.__dict__["_numbers"] = [y]
    return result_of(region, 0, y)


__all__ = [
    "ANY",
    "FLOATS",
    "LONG",
    "MIXED",
    "VALUES",
    "Packed",
    "Span",
    "Window",
    "item",
    "load",
    "one",
    "pack",
    "packed",
    "span",
    "unpacked",
    "window",
]
