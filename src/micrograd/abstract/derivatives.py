"""grad, value_and_grad, jvp and hvp in the function that is interpreted: the adjoint, or tangents, of a part of its tape.

The function to differentiate is interpreted in a body of its own, whose params are the numbers and the arrays in the arguments.
What the body reads from around it is constant to the derivative. The derivative of that body is a tape again, which is copied
to where the call is, so derivatives of derivatives need nothing more. Arguments are copied first, as a transform hands copies
with Values to its function; results are copies, too, with gradients or tangents in place of the numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from micrograd.abstract.calls import Calls
from micrograd.abstract.errors import Refused
from micrograd.abstract.outcomes import NORMAL, Result, reachable
from micrograd.abstract.shapes import COUNTING, Items, Number, Pointer, kinds_of, shape_of
from micrograd.abstract.values import (
    Cell,
    Const,
    Method,
    Num,
    Ref,
    Tuple,
    Value,
    is_mark,
    is_number,
    joins,
    kind_of,
    same,
)
from micrograd.ir.dataflow import captured, copy
from micrograd.ir.forms import F64, I64, Body, Place, Tape, array_of, is_array, walk
from micrograd.ir.passes import derivative, gradient

Change = Callable[[Place], Place]


class Derivation(NamedTuple):
    """What stands for grad(f, argnums) or value_and_grad(f, argnums), as the function of a Method whose `self` is f."""

    with_value: bool
    argnums: Any


class Part(NamedTuple):
    """A call that was interpreted in a body of its own: the body, what the call returns, and what its params are now."""

    body: Body
    result: Value
    given: list[Place]
    args: list[Value]  # as they were when the call began, each list with rows of its own

    def tape(self, yields: list[Place]) -> tuple[Tape, list[Place]]:
        """Return the body as a tape that yields some places, and what the params of that tape are."""
        self.body.yields = yields
        around = captured([self.body])
        tape = Body([*self.body.params, *around])
        tape.code, tape.yields = self.body.code, yields
        return tape, [*self.given, *around]


class Derivatives(Calls):
    """Interprets calls of transforms."""

    def transform(self, function: Any, args: list[Value], keywords: dict[str, Value]) -> Result | None:
        """Return the result of a call of a transform; None where the function is no transform that is followed."""
        if hasattr(function, "made_of"):
            how, inner, options = function.made_of
            name = _name(how)
            if name in ("grad", "value_and_grad") and not options[1]:
                made = Method(Derivation(name == "value_and_grad", options[0]), self.constant(inner))
                return self.call(made, args, keywords)
            return None
        name = _name(function)
        if name in ("grad", "value_and_grad"):
            given = dict(zip(("f", "argnums"), args)) | keywords
            numbers = self._argnums(given.pop("argnums", Const(0)))
            f = given.pop("f", None)
            if given or f is None or numbers is None or len(args) > 2:
                return None
            return Method(Derivation(name == "value_and_grad", numbers), f)
        if name in ("jvp", "hvp"):
            given = dict(zip(("f", "primals", "tangents"), args)) | keywords
            if set(given) != {"f", "primals", "tangents"} or len(args) > 3:
                return None
            primals, tangents = given["primals"], given["tangents"]
            if isinstance(primals, Tuple) and isinstance(tangents, Tuple) and len(primals.items) == len(tangents.items):
                f, count = given["f"], len(primals.items)
                if name == "hvp":  # the derivative of the gradient
                    f = Method(Derivation(False, 0 if count == 1 else tuple(range(count))), f)
                both = self._jvp(f, list(primals.items), list(tangents.items))
                return both if name == "jvp" else both.items[1]
        return None

    @staticmethod
    def _argnums(argnums: Value) -> Any:
        if isinstance(argnums, Const) and type(argnums.value) is int:
            return argnums.value
        if isinstance(argnums, Const) and type(argnums.value) is tuple:
            return argnums.value
        if isinstance(argnums, Tuple) and argnums.cls is tuple:
            found = [x.value for x in argnums.items if isinstance(x, Const) and type(x.value) is int]
            return tuple(found) if len(found) == len(argnums.items) else None
        return None

    def derived(self, how: Derivation, f: Value, args: list[Value], keywords: dict[str, Value]) -> Result:
        """Return the gradient of a function by some arguments."""
        wanted = how.argnums if isinstance(how.argnums, tuple) else (how.argnums,)
        if keywords or not all(-len(args) <= n < len(args) for n in wanted):
            raise Refused("a gradient with arguments by keyword is not followed")
        numbers = [n % len(args) for n in wanted]
        part = self._differentiable_part(f, args, sorted(set(numbers)))
        place = self._as_float(part.result) if self._is_f64(part.result) else None
        if place is None:
            raise Refused("a gradient of something that is not one number")
        tape, given = part.tape([place])
        if self.captures is None:
            value, *slopes = self._inserted(gradient(tape, range(len(part.given))), given)
        else:  # for a tape of floats, whose passes differentiate it
            value, *slopes = self.b.slopes(given, lambda params: copy(self.b, tape, dict(zip(tape.params, params)))[0])
        by_place = iter(slopes)
        found = {n: self.changed(part.args[n], lambda _: next(by_place)) for n in sorted(set(numbers))}
        parts = [found[n] for n in numbers]
        slope = Tuple(parts) if isinstance(how.argnums, tuple) else parts[0]
        return Tuple([Num(value) if value.op != "const" else Const(value.attr), slope]) if how.with_value else slope

    def _jvp(self, f: Value, primals: list[Value], tangents: list[Value]) -> Tuple:
        part = self._differentiable_part(f, primals, list(range(len(primals))))
        moves: list[Place] = []
        for x in tangents:
            self.changed(x, _noted(moves))
        if [p.kind for p in moves] != [p.kind for p in part.given]:
            raise Refused("tangents of another structure than the arguments")
        numbers: list[Place] = []
        others: list[Place] = []
        self.changed(part.result, _noted(numbers), _noted(others))
        yields = list(dict.fromkeys([*numbers, *others]))
        tape, given = part.tape(yields)
        if any(place.op == "slopes" for place in walk(tape)):
            raise Refused("a tangent of a gradient, for rows")
        of = [yields.index(y) for y in dict.fromkeys(numbers)]
        made = self._inserted(derivative(tape, range(len(part.given)), of), [*given, *moves])
        values = dict(zip(yields, made))
        dots = dict(zip(dict.fromkeys(numbers), made[len(yields) :]))
        return Tuple([self.changed(part.result, there.__getitem__, values.__getitem__) for there in (values, dots)])

    def _is_f64(self, value: Value) -> bool:
        if isinstance(value, Const):
            return type(value.value) is float
        shape = shape_of(value)
        return isinstance(shape, Number) and shape.kind == F64

    def _differentiable_part(self, f: Value, args: list[Value], active: list[int]) -> Part:
        """Interpret a call in a body of its own, whose params are the numbers in some of the arguments."""
        b = self.b
        self.differentiated = True
        plain = list(args)
        for n in active:
            plain[n] = self.changed(args[n], _kept, ints=True)
        before, locations = self.heap, self.next_location
        self.heap = dict(before)
        scope = b.enter()
        leaves: list[Place] = []

        def param(place: Place) -> Place:
            leaves.append(place)
            new = b.param(place.kind)
            if is_array(place.kind):
                b.sizes[new] = b.emit("size", place)
            return new

        given = list(plain)
        for n in active:
            given[n] = self.changed(plain[n], param)
        result = self.call(f, given, {})
        ways = self.ways(result)
        normal = ways.get(NORMAL)
        if normal is None:
            raise Refused("the function to differentiate always raises")
        if len(ways) > 1:
            text = next(self.describe_error(w.value) for k, w in ways.items() if k != NORMAL)
            b.check(normal.flag, text)
        self.heap = normal.heap
        value = self.resolved(normal.value)
        value = self.changed(value, _kept)
        b.leave()
        for at, cell in before.items():
            if at < locations and not (at in self.heap and same(self.heap[at], cell)):
                raise Refused("a function to differentiate that changes an object from outside of it")
        self.heap = {
            at: self.heap[at] for at in reachable(self.heap, before, value)
        }  # the others have places of the body
        return Part(scope.body, value, leaves, plain)

    def _inserted(self, tape: Tape, given: list[Place]) -> list[Place]:
        return copy(self.b, tape, dict(zip(tape.params, given, strict=True)))

    def _as_float(self, value: Value) -> Place:
        """Return a number that is differentiated: a float, also where it would be an int in a plain run."""
        lost = joins.lost
        place = self.pack(value, Number(F64))[0]
        joins.lost = lost
        return place

    def changed(self, value: Value, leaf: Change, other: Change | None = None, ints: bool = False) -> Value:
        """Return a copy of numbers in lists, tuples and dicts, with other places for its floats, and for its ints.

        Lengths stay ints. Other ints are refused; with `ints` they become floats, as eager transforms make floats of the ints
        in arguments.
        """
        value, other = self.resolved(value), other or _kept
        if self._is_f64(value) or (ints and self._is_int(value)):
            return Num(leaf(self._as_float(value)))
        if isinstance(value, Tuple) and (value.cls is tuple or hasattr(value.cls, "_fields")):
            return Tuple([self.changed(x, leaf, other, ints) for x in value.items], value.cls)
        if isinstance(value, Ref):
            if value.index is not None:
                row = self.copied(value, list)
                if isinstance(row, Ref) and row.index is None:
                    return self.changed(row, leaf, other, ints)
                raise Refused("a derivative by an object in a list is not followed")
            cell = self.heap[value.location]
            if isinstance(cell, Cell):
                return self._changed_cell(cell, leaf, other, ints)
        raise Refused("a derivative of, or by, something else than floats in lists, tuples and dicts is not followed")

    def _is_int(self, value: Value) -> bool:
        """Return whether a value is an int; it will be a float, and whoever asks which gets no answer."""
        found = is_number(value) and kind_of(value) == I64
        joins.ints |= found
        return found

    def _changed_cell(self, cell: Cell, leaf: Change, other: Change, ints: bool) -> Value:
        how, key = cell.key[0], cell.key
        if how == "list" or (how == "dict" and key[2] is dict):
            return self.new(Cell(key, [self.changed(x, leaf, other, ints) for x in cell.values]))
        if how == "columns":
            shape, (*arrays, length) = key[1], cell.values
            size = _length(length, other)
            if ints and isinstance(shape, Number) and shape.kind == I64:
                floats = Num(self.converted(self.place(arrays[0], array_of(I64)), array_of(F64)))
                joins.ints = True
                return self._changed_cell(Cell((how, Number(F64), key[2]), [floats, length]), leaf, other, False)
            if isinstance(shape, Pointer) and shape.indexed:
                pool = self.cell(Ref(shape.location))
                if (
                    pool.key[0] == "rows"
                    and isinstance(pool.key[1], Number)
                    and pool.key[1].kind in (F64, I64)[: 1 + ints]
                ):
                    data, stride = self._own_rows(pool, arrays[0], length), _length(pool.values[1], other)
                    joins.ints |= pool.key[1].kind == I64
                    floats = Num(leaf(self.converted(data, array_of(F64))))
                    rows = self.new(Cell(("rows", Number(F64), *pool.key[2:]), [floats, stride, size]))
                    return self.new(Cell(("columns", Pointer(rows.location, True), key[2]), [Const(COUNTING), size]))
            flat = isinstance(shape, Items) and all(isinstance(s, Number) for s in shape.shapes)
            if (isinstance(shape, Number) or flat) and set(kinds_of(shape)) == {F64}:
                return self.new(Cell(key, [*(Num(leaf(a.place)) for a in arrays if isinstance(a, Num)), size]))
        raise Refused("a derivative of, or by, a list of objects is not followed")

    def _own_rows(self, pool: Cell, handles: Value, length: Value) -> Place:
        """Return the numbers of the rows that a list refers to, each as often as it is referred to."""
        b, (data, stride, count) = self.b, pool.values
        assert isinstance(data, Num)
        width, times = self.place(stride, I64), self.place(length, I64)
        if is_mark(handles, COUNTING) and b.known.of(self.place(count, I64)) == b.known.of(times):
            return data.place
        source = data.place

        def row(carried: list[Place], k: Place) -> tuple[Place, list[Place]]:
            handle = k if is_mark(handles, COUNTING) else b.emit("load", handles.place, k)  # type: ignore[attr-defined]
            here, there = self.product(k, width), self.product(handle, width)

            def item(inner: list[Place], j: Place) -> tuple[Place, list[Place]]:
                x = b.emit("load", source, b.sum(there, j))
                return self.true, [b.emit("store", inner[0], b.sum(here, j), x)]

            return self.true, [b.loop(width, carried, item)[0]]

        room = b.emit("fill", self.product(times, width), self.zero(pool.key[1].kind))
        return b.loop(times, [room], row)[0]


def _name(function: Any) -> str:
    """Return the name of a transform; nothing for other functions."""
    inside = getattr(function, "__module__", None) == "micrograd.transforms"
    return getattr(function, "__name__", "") if inside else ""


def _kept(place: Place) -> Place:
    return place


def _length(value: Value, other: Change) -> Value:
    """Return a length, with another place."""
    return Num(other(value.place)) if isinstance(value, Num) else value


def _noted(places: list[Place]) -> Change:
    """Return what writes down places, and leaves them as they are."""

    def note(place: Place) -> Place:
        places.append(place)
        return place

    return note
