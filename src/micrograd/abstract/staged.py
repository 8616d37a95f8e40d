"""The tape of a function, for arguments like some examples."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from micrograd.abstract import errors
from micrograd.abstract.errors import Refused, Restart, Unrollable
from micrograd.abstract.machine import Machine
from micrograd.abstract.outcomes import NORMAL, Way
from micrograd.abstract.outside import Guard
from micrograd.abstract.shapes import COUNTING, Items, Number, Pointer, kinds_of, shape_of
from micrograd.abstract.values import LARGE, Cell, Const, Num, Ref, Tuple, Union, Value, is_mark, is_number, joins
from micrograd.ir.builder import Builder
from micrograd.ir.errors import with_errors
from micrograd.ir.forms import BOOL, F64, I64, Place, Tape, array_of
from micrograd.ir.prune import prune
from micrograd.tree import is_float64

HANDFUL = 8  # numbers in a list or a tuple that are params by themselves; more of them are one array
NO_LENGTH = float("inf")
UNROLLED = 1024  # items of an array of a fixed length that are loaded one by one
Path = tuple[tuple[str, Any], ...]  # ("argument", 0), ("item", key), ("attribute", name)


class Param(NamedTuple):
    """Where a param of the tape comes from.

    what: "number", "array" (all numbers of an array or of nested lists, in row-major order) or "length" (of an axis).
    """

    path: Path
    kind: str
    what: str
    axis: int = 0


class Leaf(NamedTuple):
    """A number of the result: which of the tape's yields it is."""

    number: int
    kind: str


class Mixed(NamedTuple):
    """A number of the result that is an int where another yield is 1.0, and a float where that is 0.0."""

    number: int
    is_int: int


class Constant(NamedTuple):
    """A part of the result that is the same in all calls."""

    value: Any


class Sequence_(NamedTuple):
    """A list or a tuple of parts."""

    cls: type
    items: tuple[Any, ...]


class Mapping_(NamedTuple):
    """A dict of parts."""

    cls: type
    keys: tuple[Any, ...]
    items: tuple[Any, ...]


class Array(NamedTuple):
    """A list, or a list of lists, of numbers: one of the yields, in row-major order, and a length for each axis.

    A length is an int, or a Leaf.
    """

    cls: type
    number: int
    kind: str
    shape: tuple[Any, ...]


class Records(NamedTuple):
    """A list whose items have parts that are arrays: item i of each of them belongs to item i of the list."""

    cls: type
    item: Any
    length: Any


@dataclass
class Staged:
    """A tape, where its params come from, what its yields mean, and what must hold outside."""

    tape: Tape
    params: list[Param]
    result: Any
    guards: list[Guard]
    notes: list[tuple[str, str]] = field(default_factory=list)
    captured: list[Any] = field(default_factory=list)  # Values from outside: the params of the tape behind the others
    mixes: bool = False  # whether a number may be an int or a float, and is a float on the tape that does not say which
    asks: bool = False  # whether the function does something else with an int than with a float
    loops: list[str] = field(default_factory=list)  # the lines of loops that are loops on the tape
    choices: list[str] = field(default_factory=list)  # the lines of branches that numbers decide
    passes: int = 0  # how often the bodies of loops were interpreted
    derivatives: bool = False  # whether the function takes derivatives itself, whose sums may be in another order


def stage(
    function: Callable[..., Any],
    arguments: Sequence[Any],
    *,
    names: Sequence[str] | None = None,
    captures: bool = False,
    apart: int = 0,
    leaves_arms: bool = False,
    keep_ints: bool = False,
) -> Staged:
    """Return the tape of a function, for arguments like these; the last ones are given by keyword if they have names.

    Lengths of arrays and ints are params of the tape, as long as the structure of the program does not depend on them. Values
    from outside are its last params with `captures`; otherwise they are refused. With `apart`, calls inside of more than so
    many others are left to Python by a check; with `leaves_arms`, so is an arm of a branch that is not followed. With
    `keep_ints`, an item of a list that was an int in Python is one in the result.
    """
    reasons: list[Refused] = []
    spent = [0]
    variables = VARIABLE if _has_structure(arguments) else VARIABLE[:1]
    for variable in variables[-2:] if leaves_arms else variables:
        needed: set[str] = set()
        for _ in range(6):
            try:
                attempt = partial(_attempt, function, arguments, names, variable, needed, captures, apart, leaves_arms)
                staged = attempt(spent)
                if keep_ints and joins.lost:
                    staged = _with_ints(staged, partial(attempt, [0]))
            except Unrollable as reason:
                if reason.needed is not None and reason.needed not in needed:
                    needed.add(reason.needed)
                    continue
                reasons.append(Refused(str(reason), where=reason.where))
                break
            except Refused as reason:
                reasons.append(reason)
                break
            if reasons and not leaves_arms:
                staged.notes.append((reasons[0].where, f"{variable.fixed()} fixed: {reasons[0].fact}"))
            return staged
    raise reasons[-1]


def _with_ints(found: Staged, attempt: Callable[[], Staged]) -> Staged:
    """Return the tape whose arrays tell ints from floats, where that shows in the result, or the one that was found."""
    joins.kept = True
    try:
        other = attempt()
    except Exception as reason:
        if errors.strict and not isinstance(reason, Refused | Unrollable):
            raise
        return found
    finally:
        joins.kept = False
    known = [_ints_in(x.result, x.tape) for x in (found, other)]
    return found if known[0] == known[1] and None not in known[1] else other


def _ints_in(part: Any, tape: Tape) -> list[bool | None]:
    """Return for each number of a result that may be an int whether it is one, None where that is not known."""
    if isinstance(part, Sequence_ | Mapping_):
        return [x for item in part.items for x in _ints_in(item, tape)]
    if isinstance(part, Mixed):
        place = tape.yields[part.is_int]
        return [bool(place.attr) if place.op == "const" else None]
    return _ints_in(part.item, tape) if isinstance(part, Records) else []


class Variable(NamedTuple):
    """What may differ from call to call, besides numbers: lengths above a limit, and ints."""

    lengths: float
    ints: bool

    def fixed(self) -> str:
        """Return what is the same in all calls, as a sentence begins."""
        if self.lengths == NO_LENGTH:
            return "all lengths and ints are"
        return f"lengths up to {HANDFUL}{'' if self.ints else ', and ints,'} are"


VARIABLE = [Variable(0, True), Variable(HANDFUL, True), Variable(HANDFUL, False), Variable(NO_LENGTH, False)]


def _has_structure(arguments: Sequence[Any]) -> bool:
    return any(not isinstance(x, float) for x in arguments)


def _attempt(
    function: Any,
    arguments: Sequence[Any],
    names: Any,
    variable: Variable,
    needed: set[str],
    captures: bool,
    apart: int,
    leaves_arms: bool,
    spent: list[int],
) -> Staged:
    machine = Machine(Builder())
    machine.steps = spent[0]
    joins.ints = joins.lost = False
    machine.captures = [] if captures else None
    machine.apart, machine.leaves_arms = apart, leaves_arms
    machine.needed = needed
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, 60_000))
    try:
        reader = _Arguments(machine, variable)
        values = [reader.read(x, (("argument", i),)) for i, x in enumerate(arguments)]
        count = len(values) - len(names or ())
        return _finished(
            machine, reader, _called(machine, function, values[:count], dict(zip(names or (), values[count:])))
        )
    except (Refused, Unrollable) as reason:
        reason.where = reason.where or machine.where()
        raise
    except Restart:
        raise Refused("a list would have to be an array before it is made", where=machine.where()) from None
    except RecursionError:
        raise Refused("the function is nested too deeply", where=machine.where()) from None
    finally:
        spent[0] = machine.steps
        sys.setrecursionlimit(limit)


def _called(machine: Machine, function: Any, values: list[Value], keywords: dict[str, Value]) -> Value:
    """Return what a function returns; where it raises, the call is left to Python."""
    if isinstance(function, types.FunctionType):
        result = machine.call(machine.closure(function), values, keywords)
    else:
        result = machine.call(machine.constant(function), values, keywords)
    ways = machine.ways(result)
    normal: Way | None = ways.get(NORMAL)
    if normal is None:
        raise Refused("it always raises: " + ", ".join(machine.describe_error(w.value) for w in ways.values()))
    if len(ways) > 1:
        machine.b.check(normal.flag, next(machine.describe_error(w.value) for k, w in ways.items() if k != NORMAL))
    machine.heap = normal.heap
    return normal.value


# ---- arguments


class _Arguments:
    """Makes params of arguments."""

    def __init__(self, machine: Machine, variable: Variable) -> None:
        self.m, self.b, self.variable = machine, machine.b, variable
        self.params: list[Param] = []
        self.guards: list[Guard] = []

    def param(self, path: Path, kind: str, what: str, axis: int = 0) -> Place:
        self.params.append(Param(path, kind, what, axis))
        place = self.b.param(kind)
        self.b.params.append(place)
        if kind == I64:
            self.m.bounds[place] = LARGE if what == "number" else 2.0**40
            if what == "length":
                self.b.known.at_least(place, 0)
        return place

    def constant(self, path: Path, x: Any) -> Value:
        self.guards.append(Guard("argument", None, path, x))
        return Const(x)

    def read(self, x: Any, path: Path) -> Value:
        """Return an argument as a value."""
        cls = type(x)
        if cls.__module__ == "numpy":
            return self._numpy(x, path)
        if isinstance(x, bool):
            return Num(self.param(path, BOOL, "number"))
        if isinstance(x, int):
            if self.variable.ints and abs(x) < 2**53 and cls is int:
                place = self.param(path, I64, "number")
                low, high = self.b.const(-(2**53)), self.b.const(2**53)
                self.b.check(
                    self.b.emit("and", self.b.emit("ile", low, place), self.b.emit("ile", place, high)), "a large int"
                )
                return Num(place)
            return self.constant(path, x)
        if isinstance(x, float):
            return Num(self.param(path, F64, "number"))
        if isinstance(x, tuple | list):
            return self._sequence(x, path)
        if isinstance(x, dict):
            if cls is not dict:
                raise Refused(f"an argument of type {cls.__name__}")
            self.guards.append(Guard("argument", None, (*path, ("keys", None)), tuple(x)))
            values = [self.read(y, (*path, ("item", k))) for k, y in x.items()]
            return self._outside(x, Cell(("dict", tuple(x), dict), values), path)
        if cls.__name__ == "Value" and cls.__module__.startswith("micrograd"):
            raise Refused("an argument is a Value")
        if isinstance(x, types.FunctionType | type | str | bytes | type(None)) or not hasattr(x, "__dict__"):
            return self.constant(path, x)
        if cls.__module__.split(".")[0] in sys.stdlib_module_names:
            return self.constant(path, x)
        self.guards.append(Guard("argument", None, (*path, ("class", None)), (cls, tuple(vars(x)))))
        values = [self.read(y, (*path, ("attribute", name))) for name, y in vars(x).items()]
        return self._outside(x, Cell(("object", cls, tuple(vars(x))), values), path)

    def _outside(self, x: Any, cell: Cell, path: Path) -> Value:
        """Return where an argument is. A list that is passed twice has two places: each is differentiated by itself."""
        known = self.m.imported.get(id(x)) if cell.key[0] == "object" else None
        if known is not None and isinstance(known[0], Ref):
            self.guards.append(Guard("argument", None, (*path, ("same", None)), self.m.given[known[0].location][0]))
            return known[0]
        ref = self.m.place_outside(x)
        self.m.given[ref.location] = path, x
        self.m.show_everywhere(ref.location, cell)
        return ref

    def _sequence(self, x: Any, path: Path) -> Value:
        shape = _shape(x)
        kind = _kind(x) if shape is not None else None
        cls = list if isinstance(x, list) else type(x)
        if (
            shape is not None
            and kind is not None
            and cls in (list, tuple)
            and _size(shape) > HANDFUL
            and len(shape) <= 3
        ):
            self.guards.append(Guard("argument", None, (*path, ("depth", None)), _classes(x)))
            return self._array(x, path, kind, shape, _classes(x))
        self.guards.append(Guard("argument", None, (*path, ("length", None)), (type(x), len(x))))
        items = [self.read(y, (*path, ("item", i))) for i, y in enumerate(x)]
        if isinstance(x, tuple):
            return Tuple(items, type(x))
        return self._outside(x, Cell(("list", list), items), path)

    def _numpy(self, x: Any, path: Path) -> Value:
        if x.dtype.kind not in "fiub":
            raise Refused(f"an argument is a NumPy array of {x.dtype}")
        if getattr(x, "shape", ()) == ():
            self.guards.append(Guard("argument", None, (*path, ("class", None)), (type(x), ())))
            return self.read(x.item(), path)
        kind = {"f": F64, "b": BOOL}.get(x.dtype.kind, I64)
        if x.ndim > 3:
            raise Refused("an argument is a NumPy array of more than three axes")
        self.guards.append(Guard("argument", None, (*path, ("array", None)), (type(x), str(x.dtype), x.ndim)))
        return self._array(x, path, kind, x.shape, (type(x),) * x.ndim)

    def _array(self, x: Any, path: Path, kind: str, shape: tuple[int, ...], classes: tuple[type, ...]) -> Value:
        m = self.m
        data = self.param(path, array_of(kind), "array")
        if self.variable.lengths == NO_LENGTH and _size(shape) <= UNROLLED:
            self.guards.append(Guard("argument", None, (*path, ("shape", None)), tuple(shape)))
            numbers = iter([m.value(self.b.emit("load", data, self.b.const(i))) for i in range(_size(shape))])
            return self._nested(x, path, shape, classes, numbers)
        lengths: list[Value] = []
        for axis, n in enumerate(shape):
            if n > self.variable.lengths:
                lengths.append(Num(self.param(path, I64, "length", axis)))
            else:
                self.guards.append(Guard("argument", None, (*path, ("axis", axis)), n))
                lengths.append(Const(n))
        cell = Cell(("columns", Number(kind), classes[-1]), (Num(data), lengths[0]))
        if len(shape) == 2:
            cell = self._rows(Num(data), Number(kind), lengths[1], lengths[0], classes)
        elif len(shape) == 3:
            total = m.value(m.product(m.place(lengths[0], I64), m.place(lengths[1], I64)))
            inner = m.new(Cell(("rows", Number(kind), classes[2]), (Num(data), lengths[2], total)))
            self._freeze(inner)
            cell = self._rows(Const(COUNTING), Pointer(inner.location, True), lengths[1], lengths[0], classes)
        return self._outside(x, cell, path)

    def _rows(self, data: Value, shape: Any, stride: Value, count: Value, classes: tuple[type, ...]) -> Cell:
        pool = self.m.new(Cell(("rows", shape, classes[1]), (data, stride, count)))
        self._freeze(pool)
        return Cell(("columns", Pointer(pool.location, True), classes[0]), (Const(COUNTING), count))

    def _freeze(self, ref: Ref) -> None:
        self.m.frozen.add(ref.location)

    def _nested(self, x: Any, path: Path, shape: tuple[int, ...], classes: tuple[type, ...], numbers: Any) -> Value:
        if len(shape) == 1:
            items = [next(numbers) for _ in range(shape[0])]
        else:
            items = [self._nested(x[i], (*path, ("item", i)), shape[1:], classes[1:], numbers) for i in range(shape[0])]
        return Tuple(items) if classes[0] is tuple else self._outside(x, Cell(("list", classes[0]), items), path)


def _shape(x: Any) -> tuple[int, ...] | None:
    """Return the shape of nested lists or tuples of numbers; None where they are ragged, or hold other things."""
    if type(x) not in (list, tuple):
        return None
    if not x:
        return None
    if all(type(y) in (float, int, bool) or is_float64(y) for y in x):
        return (len(x),)
    shapes = {_shape(y) for y in x}
    if len(shapes) != 1 or None in shapes or len({type(y) for y in x}) != 1:
        return None
    (inner,) = shapes
    assert inner is not None
    return (len(x), *inner)


def _kind(x: Any) -> str | None:
    """Return the kind of all numbers in nested lists; None where there are several."""
    kinds = set()
    waiting = [x]
    while waiting:
        y = waiting.pop()
        if type(y) in (list, tuple):
            waiting += y
        else:
            kinds.add(F64 if is_float64(y) else {float: F64, int: I64, bool: BOOL}[type(y)])
            if type(y) is int and abs(y) > 2**53:
                return None
    return kinds.pop() if len(kinds) == 1 else None


def _classes(x: Any) -> tuple[type, ...]:
    return (type(x), *_classes(x[0])) if type(x) in (list, tuple) and x else ()


def _size(shape: tuple[int, ...]) -> int:
    size = 1
    for n in shape:
        size *= n
    return size


# ---- the result


def _finished(machine: Machine, reader: _Arguments, value: Value) -> Staged:
    yields: list[Place] = []
    result = _Results(machine, yields).described(value)
    tape = prune(with_errors(machine.b.finish(yields)))
    guards = [*machine.guards.values(), *reader.guards]
    found = Staged(tape, reader.params, result, guards, machine.notes)
    found.captured, found.passes = machine.captures or [], machine.passes
    found.derivatives = machine.differentiated
    found.loops, found.choices = list(machine.kept_loops), list(machine.choices)
    found.mixes, found.asks = joins.ints and joins.lost, machine.asks_for_classes
    if joins.ints and machine.asks_for_classes:
        raise Refused("a number may be an int or a float, and the function asks which")
    return found


class _Results:
    """Describes what a function returns."""

    def __init__(self, machine: Machine, yields: list[Place]) -> None:
        self.m, self.b, self.yields = machine, machine.b, yields
        self.inside: list[int] = []

    def add(self, place: Place) -> int:
        self.yields.append(place)
        return len(self.yields) - 1

    def described(self, value: Value) -> Any:
        """Return the structure of a value, and yield the numbers in it."""
        m = self.m
        value = m.resolved(value)
        if isinstance(value, Union):
            shape = shape_of(value)
            if isinstance(shape, Number | Items):
                inner = m.unpack(shape, iter(m.pack(value, shape)))
                return self.described(inner)
            return self._main_alternative(value)
        if isinstance(value, Num):
            if value.is_int is not None:
                return Mixed(self.add(value.place), self.add(self.b.number(value.is_int)))
            if value.kind == I64:  # a float on the way out, as all results of a kernel that C calls
                m.keep_within(value.place)
                return Mixed(self.add(self.b.number(value.place)), self.add(self.b.const(1.0)))
            return Leaf(self.add(value.place), value.kind)
        if isinstance(value, Const):
            return Constant(value.value)
        if isinstance(value, Tuple):
            if value.cls is range or value.cls is slice or issubclass(value.cls, BaseException | super):
                raise Refused(f"it returns a {value.cls.__name__}")
            return Sequence_(value.cls, tuple(map(self.described, value.items)))
        if isinstance(value, Ref):
            return self._object(value)
        raise Refused("it returns a function")

    def _main_alternative(self, value: Union) -> Any:
        """Return the structure of the numbers that a function returns; where it returns something else, that is Python's."""
        m, b = self.m, self.b
        numbers = [(mask, x) for mask, x in value.alternatives if is_number(x)]
        if not numbers or not isinstance(shape_of(Union(numbers)), Number):
            raise Refused("what it returns is not always of one kind")
        holds = m.false
        for mask, _ in numbers:
            holds = b.emit("or", holds, mask)
        b.check(holds, "it returns something that is not a number")
        return self.described(m.union(numbers))

    def _object(self, ref: Ref) -> Any:
        m = self.m
        cell = m.heap[ref.location]
        if isinstance(cell, Union):
            raise Refused("what it returns is one of several lists or objects")
        assert isinstance(cell, Cell)
        if ref.location in m.outer:
            raise Refused("it returns an argument, or another object from outside", "Return a copy.")
        if ref.location in self.inside:
            raise Refused("what it returns contains itself")
        self.inside.append(ref.location)
        try:
            return self._described_cell(ref, cell)
        finally:
            self.inside.pop()

    def _described_cell(self, ref: Ref, cell: Cell) -> Any:
        how = cell.key[0]
        if how == "list" and cell.key[1].__module__ == "numpy":
            raise Refused("it returns an array whose numbers have become variables of their own")
        if how == "list":
            return Sequence_(cell.key[1], tuple(map(self.described, cell.values)))
        if how == "dict" and cell.key[2] is dict:
            if ref.location in self.m.unordered or any(isinstance(x, Union) and _may_be_absent(x) for x in cell.values):
                raise Refused("it returns a dict whose keys differ")
            items = self.m.present_items(cell)
            return Mapping_(dict, tuple(k for k, _ in items), tuple(self.described(x) for _, x in items))
        if how == "columns":
            return self._columns(cell)
        if how == "rows" and isinstance(cell.key[1], Number):
            part = self.m.copied(ref, cell.key[2])
            assert isinstance(part, Ref)
            return self._columns(self.m.cell(part))
        raise Refused(
            f"it returns an object of {self.m.class_of(ref).__name__}", "Return numbers, lists, tuples or dicts."
        )

    def length(self, value: Value) -> Any:
        if isinstance(value, Const):
            return value.value
        assert isinstance(value, Num)
        return Leaf(self.add(value.place), I64)

    def _columns(self, cell: Cell) -> Any:
        shape, length = cell.key[1], cell.values[-1]
        if isinstance(shape, Number) and not shape.mixed:
            array = cell.values[0]
            assert isinstance(array, Num)
            return Array(cell.key[2], self.add(array.place), shape.kind, (self.length(length),))
        item = self._column(shape, list(cell.values[:-1]), length)
        if cell.key[2].__module__ == "numpy":  # an array of rows is one array of two axes
            if isinstance(item, Array):
                return item._replace(cls=cell.key[2])
            raise Refused("it returns an array of something else than rows of numbers", "Return lists.")
        return Records(cell.key[2], item, self.length(length))

    def _column(self, shape: Any, arrays: list[Value], length: Value) -> Any:
        """Return the structure of the items of a list of columns, in which numbers are arrays."""
        m = self.m
        if isinstance(shape, Number):
            number, *marks = [self.add(array.place) for array in arrays if isinstance(array, Num)]
            return Mixed(number, marks[0]) if marks else Leaf(number, array_of(shape.kind))
        if isinstance(shape, Items):
            items, at = [], 0
            for s in shape.shapes:
                n = len(kinds_of(s))
                items.append(self._column(s, arrays[at : at + n], length))
                at += n
            return Sequence_(shape.cls, tuple(items))
        if isinstance(shape, Pointer) and shape.indexed:
            pool = m.cell(Ref(shape.location))
            if pool.key[0] == "rows" and isinstance(pool.key[1], Number) and not pool.key[1].mixed:
                return self._gathered(pool, arrays[0], length)
        raise Refused("it returns a list of objects", "Return numbers, lists, tuples or dicts.")

    def _gathered(self, pool: Cell, handles: Value, length: Value) -> Any:
        """Return the rows that a list refers to, as one array."""
        m, b = self.m, self.b
        data, stride, count = pool.values
        assert isinstance(data, Num)
        width = m.place(stride, I64)
        flat = data.place
        whole = is_mark(handles, COUNTING) and b.known.of(m.place(count, I64)) == b.known.of(m.place(length, I64))
        if not whole:
            total = m.product(m.place(length, I64), width)
            empty = b.emit("fill", total, m.zero(pool.key[1].kind))

            def row(params: list[Place], k: Place) -> tuple[Place, list[Place]]:
                handle = k if is_mark(handles, COUNTING) else b.emit("load", handles.place, k)  # type: ignore[attr-defined]
                here, there = m.product(k, width), m.product(handle, width)

                def item(inner: list[Place], j: Place) -> tuple[Place, list[Place]]:
                    x = b.emit("load", data.place, b.sum(there, j))
                    return m.true, [b.emit("store", inner[0], b.sum(here, j), x)]

                return m.true, [b.loop(width, params, item)[0]]

            flat = b.loop(m.place(length, I64), [empty], row)[0]
        shape = (self.length(length), self.length(stride))
        return Array(pool.key[2], self.add(flat), pool.key[1].kind, shape)


def _may_be_absent(value: Union) -> bool:
    from micrograd.abstract.values import ABSENT

    return any(is_mark(x, ABSENT) for _, x in value.alternatives)
