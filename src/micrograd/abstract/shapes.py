"""Shapes: what values have in common, and how they are taken apart into places and made again.

A shape says what values have in common. `Shapes.pack` takes a value apart into places, and `unpack` makes it from them: so
values are joined after a branch, carried by a loop, and stored in columns.

    shape = Fixed value | Number kind | Pointer location indexed | Items cls shape* | Layout key shape*
          | Parts key shape* | Either shape* | Invariant value | Induction first step
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from micrograd.abstract.errors import Refused, Unrollable
from micrograd.abstract.values import (
    ABSENT,
    LARGE,
    LOST,
    MOST_ALTERNATIVES,
    UNDEF,
    Cell,
    Closure,
    Const,
    Mark,
    Method,
    Num,
    Ref,
    Tuple,
    Union,
    Value,
    function_of,
    function_parts,
    is_mark,
    is_number,
    joins,
    kind_of,
    parts,
    same,
)
from micrograd.ir.builder import Builder
from micrograd.ir.forms import BOOL, F64, I64, ZERO, Place, array_of, is_array


def locations(value: Value) -> Iterator[int]:
    """Yield the locations that a value refers to."""
    if isinstance(value, Ref):
        yield value.location
        return
    if isinstance(value, Closure) and value.frame is not None:
        yield value.frame
    if isinstance(value, Cell):
        if value.key[0] in COLUMNS:
            yield from pointers(value.key[1])
        elif value.key[0] == "frame" and value.key[2] is not None:
            yield value.key[2]
    for part in parts(value):
        yield from locations(part)


class Fixed(NamedTuple):
    value: Value


class Number(NamedTuple):
    """A number. A mixed one is an f64 that is an int in Python where a bool, its second place, is true."""

    kind: str
    mixed: bool = False


class Pointer(NamedTuple):
    location: int
    indexed: bool


class Items(NamedTuple):
    cls: type
    shapes: tuple[Any, ...]


class Parts(NamedTuple):
    """A function of the program or a bound method: what is fixed of it, and the shapes of its default arguments or `self`."""

    key: tuple[Any, ...]
    shapes: tuple[Any, ...]


class Layout(NamedTuple):
    key: tuple[Any, ...]
    shapes: tuple[Any, ...]


class Either(NamedTuple):
    shapes: tuple[Any, ...]


class Invariant(NamedTuple):
    """What a loop does not change."""

    value: Value


class Induction(NamedTuple):
    """A whole number that changes by the same step in each iteration."""

    first: Value
    step: int


Shape = Any
COLUMNS = ("columns", "rows", "pool")  # cells whose key has the shape of an item


def pointers(shape: Shape) -> Iterator[int]:
    """Yield the locations that a shape refers to."""
    if isinstance(shape, Pointer):
        yield shape.location
    elif isinstance(shape, Items | Layout | Either | Parts):
        for s in shape.shapes:
            yield from pointers(s)
        if isinstance(shape, Parts) and shape.key[0] == "closure" and shape.key[2] is not None:
            yield shape.key[2]
        if isinstance(shape, Layout) and shape.key[0] in COLUMNS:
            yield from pointers(shape.key[1])
    elif isinstance(shape, Fixed | Invariant):
        yield from locations(shape.value)


def shape_of(value: Value) -> Shape:
    """Return the shape of a value."""
    if isinstance(value, Num):
        return Number(value.kind, value.is_int is not None)
    if isinstance(value, Ref):
        return Pointer(value.location, value.index is not None)
    if isinstance(value, Tuple):
        return Items(value.cls, tuple(map(shape_of, value.items)))
    if isinstance(value, Cell):
        return Layout(value.key, tuple(map(shape_of, value.values)))
    if isinstance(value, Union):
        found = None
        for _, x in value.alternatives:
            found = shape_of(x) if found is None else lub(found, shape_of(x))
        return found
    if isinstance(value, Closure):
        key = "closure", value.function, value.frame, value.globals, value.object, tuple(value.defaults)
        return Parts(key, tuple(map(shape_of, value.defaults.values())))
    if isinstance(value, Method):
        if isinstance(value.function, Value):
            return Parts(("bound",), (shape_of(value.function), shape_of(value.self)))
        return Parts(("method", value.function), (shape_of(value.self),))
    return Fixed(value)


def is_numeric(shape: Shape) -> bool:
    return (isinstance(shape, Number) and not is_array(shape.kind)) or (
        isinstance(shape, Fixed) and is_number(shape.value)
    )


def kind_of_shape(shape: Shape) -> str:
    return shape.kind if isinstance(shape, Number) else kind_of(shape.value)  # type: ignore[no-any-return]


def _is_mixed(shape: Shape) -> bool:
    return isinstance(shape, Number) and shape.mixed


def unmixed(shape: Shape) -> Shape:
    """Return the shape that values have in arrays, where an int that was joined with floats is a float if none are kept."""
    if joins.kept:
        return shape
    if isinstance(shape, Number):
        joins.lost |= shape.mixed
        return Number(shape.kind)
    if isinstance(shape, Items | Parts | Layout):
        return shape._replace(shapes=tuple(map(unmixed, shape.shapes)))
    return Either(tuple(map(unmixed, shape.shapes))) if isinstance(shape, Either) else shape


def is_fixed(shape: Shape, mark: Mark) -> bool:
    return isinstance(shape, Fixed) and is_mark(shape.value, mark)


def equal(a: Shape, b: Shape) -> bool:
    """Return whether two shapes are equal."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, Fixed | Invariant):
        return same(a.value, b.value)
    if isinstance(a, Induction):
        return a.step == b.step and same(a.first, b.first)
    if isinstance(a, Items):
        return a.cls is b.cls and len(a.shapes) == len(b.shapes) and all(map(equal, a.shapes, b.shapes))
    if isinstance(a, Layout | Parts):
        return a.key == b.key and len(a.shapes) == len(b.shapes) and all(map(equal, a.shapes, b.shapes))
    if isinstance(a, Either):
        return len(a.shapes) == len(b.shapes) and all(map(equal, a.shapes, b.shapes))
    return bool(a == b)


def joined_kind(a: str, b: str) -> str | None:
    """Return the kind that numbers of two kinds have in common: ints become floats, bools stay by themselves."""
    if a == b:
        return a
    if {a, b} != {F64, I64}:
        return None
    joins.ints = True
    return F64


def alike(a: Shape, b: Shape) -> bool:
    """Return whether values of two shapes have one shape that is not an Either."""
    if equal(a, b):
        return True
    if is_fixed(a, LOST) or is_fixed(b, LOST):
        return True
    if is_numeric(a) and is_numeric(b):
        return joined_kind(kind_of_shape(a), kind_of_shape(b)) is not None
    if isinstance(a, Pointer) and isinstance(b, Pointer):
        return a.location == b.location
    if isinstance(a, Items) and isinstance(b, Items):
        return a.cls is b.cls and len(a.shapes) == len(b.shapes)
    if isinstance(a, Parts) and isinstance(b, Parts):
        return a.key == b.key and len(a.shapes) == len(b.shapes) and all(map(alike, a.shapes, b.shapes))
    if isinstance(a, Layout) and isinstance(b, Layout):
        return _layouts_alike(a, b) or _layouts_alike(b, a)
    return bool(_is_counting(a) or _is_counting(b))


def _is_counting(shape: Shape) -> bool:
    return isinstance(shape, Fixed) and is_mark(shape.value, COUNTING)


COUNTING = Mark("COUNTING")  # the handles 0, 1, 2 ...


def _layouts_alike(a: Layout, b: Layout) -> bool:
    how = a.key[0]
    if a.key == b.key and (how != "list" or len(a.shapes) == len(b.shapes)):
        return len(a.shapes) == len(b.shapes)
    if a.key == b.key:
        return _common_item(a, b) is not None
    if how == b.key[0] == "object":
        return a.key[1] is b.key[1]
    if how == b.key[0] == "frame":
        return bool(a.key[2:] == b.key[2:])
    if how == b.key[0] == "dict":
        return a.key[2] is b.key[2]
    if how == b.key[0] == "set":
        return True
    if b.key[0] != "columns" or how not in ("list", "columns") or a.key[-1] is not b.key[-1]:
        return False
    if how == "columns":
        return joined_items(a.key[1], b.key[1]) is not None
    return _items_in_column(a.shapes, b.key[1]) is not None


def _common_item(a: Layout, b: Layout) -> Shape | None:
    """Return the shape of all items of two lists of different lengths, if they are numbers or tuples of numbers."""
    found = None
    for s in (*a.shapes, *b.shapes):
        if not _of_numbers(s) or (found is not None and not alike(s, found)):
            return None
        found = with_numbers(s) if found is None else with_numbers(lub(found, s))
    return found


def _of_numbers(shape: Shape) -> bool:
    return is_numeric(shape) or (isinstance(shape, Items) and all(map(_of_numbers, shape.shapes)))


def with_numbers(shape: Shape) -> Shape:
    """Return a shape in which numbers that are known now are numbers of the tape."""
    if isinstance(shape, Fixed) and is_number(shape.value):
        return Number(kind_of(shape.value))
    if isinstance(shape, Items):
        return Items(shape.cls, tuple(map(with_numbers, shape.shapes)))
    return unmixed(shape)


def joined_items(a: Shape, b: Shape) -> Shape | None:
    """Return the shape that the items of two lists of columns have; None where columns cannot be converted."""
    if equal(a, b):
        return a
    if isinstance(a, Number) and isinstance(b, Number) and alike(a, b):
        return unmixed(lub(a, b))
    return None


def _items_in_column(shapes: tuple[Shape, ...], column: Shape) -> Shape | None:
    """Return the shape of items when some with known shapes join a column; None where there is none."""
    found = column
    for s in shapes:
        if not alike(s, found) and not isinstance(found, Either):
            return None
        found = lub(found, s)
    return found if equal(found, column) or joined_items(found, column) is not None else None


def lub(a: Shape, b: Shape) -> Shape:
    """Return the shape that values of two shapes have in common."""
    if equal(a, b):
        return a
    if isinstance(a, Either) or isinstance(b, Either) or not alike(a, b):
        alternatives = list(a.shapes) if isinstance(a, Either) else [a]
        for x in b.shapes if isinstance(b, Either) else (b,):
            for i, y in enumerate(alternatives):
                if alike(x, y):
                    alternatives[i] = lub(y, x)
                    break
            else:
                alternatives.append(x)
        if len(alternatives) > MOST_ALTERNATIVES:
            raise Refused(f"a value may be one of more than {MOST_ALTERNATIVES} things")
        return Either(tuple(alternatives)) if len(alternatives) > 1 else alternatives[0]
    if is_fixed(a, LOST) or is_fixed(b, LOST):
        return Fixed(Const(LOST))
    if is_numeric(a):
        kinds = kind_of_shape(a), kind_of_shape(b)
        kind = joined_kind(*kinds)
        assert kind is not None
        return Number(kind, (I64 in kinds and kind == F64) or _is_mixed(a) or _is_mixed(b))
    if _is_counting(a) or _is_counting(b):
        return Number("i64[]")
    if isinstance(a, Pointer):
        return Pointer(a.location, True)
    if isinstance(a, Items):
        return Items(a.cls, tuple(map(lub, a.shapes, b.shapes)))
    if isinstance(a, Parts):
        return Parts(a.key, tuple(map(lub, a.shapes, b.shapes)))
    assert isinstance(a, Layout)
    return _lub_of_layouts(a, b) if _layouts_alike(a, b) else _lub_of_layouts(b, a)


def _lub_of_layouts(a: Layout, b: Layout) -> Layout:
    how = a.key[0]
    if how == b.key[0] == "list" and len(a.shapes) != len(b.shapes):
        lengths = [Fixed(Const(len(x.shapes))) for x in (a, b)]
        return columns_of(_common_item(a, b), a.key[1], lub(*lengths))
    if a.key == b.key:
        return Layout(a.key, tuple(map(lub, a.shapes, b.shapes)))
    if how in NAMED:
        missing = Fixed(Const(NAMED[how]))
        names = a.key[_NAMES[how]]
        names = names + tuple(n for n in b.key[_NAMES[how]] if n not in names)
        ours, theirs = dict(zip(a.key[_NAMES[how]], a.shapes)), dict(zip(b.key[_NAMES[how]], b.shapes))
        shapes = tuple(lub(ours.get(n, missing), theirs.get(n, missing)) for n in names)
        return Layout(_with_names(a.key, names), shapes)
    if how == "columns":
        length, item = lub(a.shapes[-1], b.shapes[-1]), joined_items(a.key[1], b.key[1])
    else:
        length, item = lub(b.shapes[-1], Fixed(Const(len(a.shapes)))), _items_in_column(a.shapes, b.key[1])
    return columns_of(item, b.key[2], length)


def columns_of(item: Shape, cls: type, length: Shape) -> Layout:
    """Return the layout of a list of columns."""
    item = unmixed(item)
    return Layout(("columns", item, cls), (*(Number(array_of(kind)) for kind in kinds_of(item)), length))


NAMED = {"object": UNDEF, "frame": UNDEF, "dict": ABSENT, "set": ABSENT}
_NAMES = {"object": 2, "frame": 1, "dict": 1, "set": 1}


def names_of(cell: Cell) -> tuple[Any, ...]:
    """Return the names, or keys, that the values of a cell have."""
    return cell.key[_NAMES[cell.key[0]]]  # type: ignore[no-any-return]


def _with_names(key: tuple[Any, ...], names: tuple[Any, ...]) -> tuple[Any, ...]:
    at = _NAMES[key[0]]
    return (*key[:at], names, *key[at + 1 :])


def named(cell: Cell, names: tuple[Any, ...], values: Any) -> Cell:
    """Return a cell with other names and values."""
    return Cell(_with_names(cell.key, names), values)


def get_named(cell: Cell, name: Any) -> Value:
    """Return the value that a cell has for a name."""
    for n, value in zip(names_of(cell), cell.values):
        if n is name or n == name:
            return value
    return Const(NAMED[cell.key[0]])


def put_named(cell: Cell, name: Any, value: Value) -> Cell:
    """Return a cell with another value for a name."""
    names = names_of(cell)
    for i, n in enumerate(names):
        if n is name or n == name:
            return Cell(cell.key, (*cell.values[:i], value, *cell.values[i + 1 :]))
    return named(cell, (*names, name), (*cell.values, value))


class Shapes:
    """Values taken apart into places, and made from places again."""

    def __init__(self, builder: Builder) -> None:
        self.b = builder
        self.true, self.false = builder.const(True), builder.const(False)
        self.bounds: dict[Place, float] = {}  # the most that a whole number, positive or negative, can be
        self.kept: set[tuple[int, Place]] = set()  # bodies, and the whole numbers that are checked to be small there

    def zero(self, kind: str) -> Place:
        """Return a constant that stands where a value is never read."""
        return self.b.const((), kind) if is_array(kind) else self.b.const(ZERO[kind], kind)

    def value(self, place: Place) -> Value:
        """Return the value at a place."""
        return Const(place.attr) if place.op == "const" and not is_array(place.kind) else Num(place)

    def place(self, value: Value, kind: str) -> Place:
        """Return the place of a number, as one of some kind."""
        if isinstance(value, Const):
            x = value.value
            if isinstance(x, Mark):
                return self.zero(kind)
            if kind == F64:
                try:
                    return self.b.const(float(x), F64)
                except OverflowError:
                    raise Refused("an int is too large for a float") from None
            if kind == I64:
                if not -(2**63) <= int(x) < 2**63:
                    raise Refused("an int of more than 64 bits meets numbers of the tape")
                return self.b.const(int(x), I64)
            return self.b.const(bool(x), BOOL)
        if isinstance(value, Union):
            return self.pack(value, Number(kind))[0]
        assert isinstance(value, Num)
        if value.kind == kind:
            return value.place
        if kind == F64:
            return self.b.number(value.place)
        if kind == I64 and value.kind == BOOL:
            return self.b.emit("count", value.place)
        if is_array(kind) and is_array(value.kind):
            return self.converted(value.place, kind)
        raise Refused(f"a number of kind {value.kind} where one of kind {kind} is needed")

    def converted(self, array: Place, kind: str) -> Place:
        """Return an array of ints as one of floats."""
        if array.kind == kind:
            return array
        if array.op == "const":
            return self.b.const([float(x) for x in array.attr], kind)
        size = self.b.emit("size", array)
        empty = self.b.emit("fill", size, self.b.const(0.0))

        def body(params: list[Place], k: Place) -> tuple[Place, list[Place]]:
            item = self.b.number(self.b.emit("load", array, k))
            return self.true, [self.b.emit("store", params[0], k, item)]

        return self.b.loop(size, [empty], body)[0]

    def select(self, mask: Place, a: Place, b: Place) -> Place:
        """Return one of two places."""
        if a is b:
            return a
        if is_array(a.kind):
            return self.b.choose(mask, lambda: [a], lambda: [b])[0]
        found = self.b.emit("select", mask, a, b)
        if a.kind == I64:
            self.bounds[found] = max(self.bound(a), self.bound(b))
        return found

    def bound(self, place: Place) -> float:
        """Return how large a whole number can be."""
        if place.op == "const":
            return abs(float(place.attr))
        if any((id(body), place) in self.kept for body in self.b.open):
            return LARGE
        return self.bounds.get(place, 2.0**63)

    def keep_within(self, place: Place) -> None:
        """Leave the call to Python where a whole number is beyond 2**53: Python's ints have no limit."""
        if self.bound(place) > LARGE:
            low, high = self.b.const(-(2**53)), self.b.const(2**53)
            small = self.b.emit("and", self.b.emit("ile", low, place), self.b.emit("ile", place, high))
            self.b.check(small, "OverflowError: an int of more than 53 bits")
            self.kept.add((id(self.b.open[-1]), place))

    def whole(self, op: str, a: Place, b: Place) -> Place:
        """Return the sum, the difference or the product of two whole numbers that does not wrap."""
        for _ in range(2):
            x, y = self.bound(a), self.bound(b)
            bound = x * y if op == "imul" else x + y
            if bound <= 2.0**62:
                break
            for p in sorted({a, b}, key=self.bound, reverse=True):
                if self.bound(p) > LARGE:
                    self.keep_within(p)
                    break
            else:
                product = self.b.emit("abs", self.b.emit("mul", self.b.number(a), self.b.number(b)))
                self.b.check(
                    self.b.emit("le", product, self.b.const(LARGE)), "OverflowError: an int of more than 53 bits"
                )
                bound = LARGE
                break
        found = self.b.emit(op, a, b)
        if found.op != "const":
            self.bounds[found] = min(bound, self.bounds.get(found, 2.0**63))
        return found

    def array(self, items: Any, kind: str) -> Place:
        """Return the array of some numbers."""
        return self.array_of_places([self.place(x, kind) for x in items], kind)

    def array_of_places(self, places: list[Place], kind: str) -> Place:
        """Return the array of some places."""
        if len(places) > 3 and all(p is places[0] for p in places) and places[0].op != "const":
            return self.b.emit("fill", self.b.const(len(places)), places[0])
        return self.b.array(places, kind)

    # ---- taking apart

    def is_int(self, value: Value) -> Place:
        """Return whether a number is an int of Python."""
        if isinstance(value, Num) and value.kind == F64:
            return self.false if value.is_int is None else value.is_int
        return self.b.const(not isinstance(value, Const) or type(value.value) is int)

    def pack(self, value: Value, shape: Shape) -> list[Place]:
        """Return the places of a value of some shape."""
        if isinstance(shape, Fixed | Invariant | Induction):
            return []
        if isinstance(value, Union) and not isinstance(shape, Either):
            return self._pack_alternatives([(m, x) for m, x in value.alternatives], shape)
        if isinstance(shape, Number):
            joins.lost |= shape.kind == F64 and not shape.mixed and self.is_int(value) is not self.false
            return [self.place(value, shape.kind), *([self.is_int(value)] if shape.mixed else [])]
        if isinstance(shape, Pointer):
            if not shape.indexed:
                return []
            index = None
            if isinstance(value, Ref):
                if value.location != shape.location:
                    raise Unrollable("a reference to another object in each iteration")
                index = value.index
            return [self.b.const(0) if index is None else index]
        if isinstance(shape, Items):
            items = value.items if isinstance(value, Tuple) else [Const(UNDEF)] * len(shape.shapes)
            return [p for x, s in zip(items, shape.shapes) for p in self.pack(x, s)]
        if isinstance(shape, Parts):
            inner = [Const(UNDEF)] * len(shape.shapes) if isinstance(value, Const) else function_parts(value)
            return [p for x, s in zip(inner, shape.shapes) for p in self.pack(x, s)]
        if isinstance(shape, Layout):
            return [p for x, s in zip(self._cell(value, shape), shape.shapes) for p in self.pack(x, s)]
        return self._pack_either(value, shape)

    def _pack_alternatives(self, alternatives: list[tuple[Place, Value]], shape: Shape) -> list[Place]:
        found: list[Place] | None = None
        for mask, x in reversed(alternatives):
            places = self.pack(x, shape)
            found = places if found is None else [self.select(mask, a, b) for a, b in zip(places, found)]
        assert found is not None
        return found

    def _pack_either(self, value: Value, shape: Either) -> list[Place]:
        alternatives = value.alternatives if isinstance(value, Union) else [(self.true, value)]
        found: list[Place] = []
        for number, s in enumerate(shape.shapes):
            mask = self.false
            fitting = []
            for m, x in alternatives:
                if self._fits(shape_of(x), number, shape):
                    fitting.append((m, x))
                    mask = self.b.emit("or", mask, m)
            if number < len(shape.shapes) - 1:
                found.append(mask)
            found += self._pack_alternatives(fitting, s) if fitting else self.pack(Const(UNDEF), s)
        return found

    def _fits(self, shape: Shape, number: int, either: Either) -> bool:
        """Return whether the alternative of a number is the first one that a shape fits."""
        return next((i for i, s in enumerate(either.shapes) if alike(shape, s)), -1) == number

    def _cell(self, value: Value, shape: Layout) -> Any:
        """Return the values of a cell, as another layout has them."""
        if not isinstance(value, Cell):
            return [Const(UNDEF)] * len(shape.shapes)
        if value.key == shape.key:
            return self._listed(value, shape)
        how = shape.key[0]
        if how in NAMED:
            return [get_named(value, name) for name in shape.key[_NAMES[how]]]
        if how == "columns" and value.key[0] == "columns":
            return self.with_marks(value, shape.key[1])
        if how == "columns" and value.key[0] == "list":
            return (*map(Num, self.column_arrays(value.values, shape.key[1])), Const(len(value.values)))
        raise Unrollable("an object has another form in each iteration")

    def with_marks(self, cell: Cell, shape: Shape) -> tuple[Value, ...]:
        """Return the values of columns, with an array that tells which are ints where the shape has one."""
        old, length = cell.key[1], cell.values[-1]
        if not _is_mixed(shape) or _is_mixed(old):
            return tuple(cell.values)
        whole = self.b.const(kind_of_shape(old) == I64)
        return cell.values[0], Num(self.b.emit("fill", self.place(length, I64), whole)), length

    def column_arrays(self, items: Any, shape: Shape) -> list[Place]:
        """Return the arrays of columns with some items."""
        rows = [self.pack(x, shape) for x in items]
        return [self.array_of_places([row[i] for row in rows], kind) for i, kind in enumerate(kinds_of(shape))]

    def _listed(self, value: Cell, shape: Layout) -> Any:
        values = value.values
        if values and is_mark(values[0], COUNTING) and isinstance(shape.shapes[0], Number):
            return (Num(self.counting(self.size_of_columns(value))), *values[1:])
        return values

    def size_of_columns(self, cell: Cell) -> Place:
        """Return how many items the arrays of a cell have."""
        if cell.key[0] == "rows":
            return self.product(self.place(cell.values[-2], I64), self.place(cell.values[-1], I64))
        return self.place(cell.values[-1], I64)

    def product(self, a: Place, b: Place) -> Place:
        """Return the product of two sizes."""
        found = self.b.emit("imul", a, b)
        self.bounds.setdefault(found, 2.0**48)
        return found

    def counting(self, count: Place) -> Place:
        """Return the array 0, 1, 2 ... of some length."""
        if count.op == "const":
            return self.b.const(tuple(range(count.attr)), "i64[]")
        empty = self.b.emit("fill", count, self.b.const(0))
        return self.b.loop(count, [empty], lambda p, k: (self.true, [self.b.emit("store", p[0], k, k)]))[0]

    # ---- and making from places

    def unpack(self, shape: Shape, places: Iterator[Place], k: Place | None = None) -> Value:
        """Return the value of a shape that has these places; k is the number of the iteration."""
        if isinstance(shape, Fixed | Invariant):
            return shape.value
        if isinstance(shape, Induction):
            assert k is not None
            found = self.b.sum(self.place(shape.first, I64), k, shape.step)
            self.bounds.setdefault(found, self.bound(self.place(shape.first, I64)) + abs(shape.step) * 2.0**48)
            return self.value(found)
        if isinstance(shape, Number):
            place = next(places)
            is_int = next(places) if shape.mixed else self.false
            return self.value(place) if self.b.decided(is_int) is False else Num(place, is_int)
        if isinstance(shape, Pointer):
            return Ref(shape.location, next(places) if shape.indexed else None)
        if isinstance(shape, Items):
            return Tuple([self.unpack(s, places, k) for s in shape.shapes], shape.cls)
        if isinstance(shape, Parts):
            return function_of(shape.key, [self.unpack(s, places, k) for s in shape.shapes])
        if isinstance(shape, Layout):
            return Cell(shape.key, [self.unpack(s, places, k) for s in shape.shapes])
        return self._unpack_either(shape, places, k)

    def _unpack_either(self, shape: Either, places: Iterator[Place], k: Place | None) -> Value:
        alternatives: list[tuple[Place, Value]] = []
        rest: Place = self.true
        for number, s in enumerate(shape.shapes):
            mask = rest
            if number < len(shape.shapes) - 1:
                own = next(places)
                mask, rest = own, self.b.emit("and", rest, self.b.emit("not", own))
            alternatives.append((mask, self.unpack(s, places, k)))
        return self.union(alternatives)

    def union(self, alternatives: list[tuple[Place, Value]]) -> Value:
        """Return one of several values, without those that are known not to be meant."""
        possible = [(m, x) for m, x in alternatives if self.b.decided(m) is not False]
        for m, x in possible:
            if self.b.decided(m) is True:
                return x
        return possible[0][1] if len(possible) == 1 else Union(possible)


def kinds_of(shape: Shape) -> list[str]:
    """Return the kinds of the places that values of a shape have."""
    if isinstance(shape, Number):
        return [shape.kind, BOOL] if shape.mixed else [shape.kind]
    if isinstance(shape, Pointer):
        return [I64] if shape.indexed else []
    if isinstance(shape, Items | Layout | Parts):
        return [kind for s in shape.shapes for kind in kinds_of(s)]
    if isinstance(shape, Either):
        found = []
        for number, s in enumerate(shape.shapes):
            found += [BOOL] if number < len(shape.shapes) - 1 else []
            found += kinds_of(s)
        return found
    return []
