"""Operators, truth, identity, and the operations of the core."""

from __future__ import annotations

import contextlib
import dataclasses
import types
from collections.abc import Callable
from typing import Any

from micrograd import engine
from micrograd.abstract.errors import Refused
from micrograd.abstract.iterators import Iterators
from micrograd.abstract.numeric import UNKNOWN, UnknownText
from micrograd.abstract.outcomes import Result
from micrograd.abstract.shapes import get_named, put_named, shape_of, with_numbers
from micrograd.abstract.values import (
    ABSENT,
    NONE,
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
    is_mark,
    is_number,
    kind_of,
    same,
)
from micrograd.core.forms import COMPARISONS as COMPARISON_OPS
from micrograd.core.operations import OPERATIONS
from micrograd.core.prelude import sequences
from micrograd.ir.forms import BOOL, F64, I64, Place

DUNDER = {"+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod", "**": "pow", "@": "matmul",
          "&": "and", "|": "or", "^": "xor", "<<": "lshift", ">>": "rshift", "<": "lt", "<=": "le", ">": "gt", ">=": "ge",
          "==": "eq", "!=": "ne", "neg": "neg", "pos": "pos", "~": "invert"}  # fmt: skip
SWAPPED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "==": "==", "!=": "!="}
PRELUDE = "micrograd/core/prelude"
TYPES = {F64: float, I64: int, BOOL: bool}
_SAFE_SETATTR = (object.__setattr__, BaseException.__setattr__)


class Operators(Iterators):
    """Operations on whatever there is."""

    # ---- classes

    def class_of(self, value: Value) -> type:
        """Return the type of a value."""
        value = self.resolved(value)
        if isinstance(value, Const):
            return type(value.value)
        if isinstance(value, Num):
            if value.is_int is not None and self.b.decided(value.is_int) is None:
                raise Refused("the type of a number that is an int or a float")
            return TYPES[value.kind]
        if isinstance(value, Tuple):
            return value.cls
        if isinstance(value, Closure):
            return types.FunctionType
        if isinstance(value, Method):
            return types.MethodType
        if isinstance(value, Ref):
            cell = self.cell(value)
            key = cell.key[1].key if cell.key[0] == "pool" else cell.key
            if key[0] == "object":
                return key[1]  # type: ignore[no-any-return]
            if key[0] in ("columns", "rows", "dict"):
                return key[2]  # type: ignore[no-any-return]
            if key[0] == "list":
                return key[1]  # type: ignore[no-any-return]
            if key[0] == "view":
                return type(getattr({}, key[1])())
            return {"set": set, "generator": types.GeneratorType}.get(key[0], type(iter([])))
        raise Refused("the type of one of several things")

    def is_instance(self, value: Value, kinds: Value) -> Result:
        def one(value: Value) -> Result:
            if isinstance(kinds, Tuple):
                return Const(any(isinstance(k, Const) and self._has_class(value, k.value) for k in kinds.items))
            if not isinstance(kinds, Const):
                raise Refused("isinstance() of a class that is not known")
            return Const(self._has_class(value, kinds.value))

        return self.split(value, one)

    def _has_class(self, value: Value, kind: Any) -> bool:
        if isinstance(kind, types.UnionType):
            return any(self._has_class(value, k) for k in kind.__args__)
        if isinstance(kind, tuple):
            return any(self._has_class(value, k) for k in kind)
        if kind is engine.Value:
            raise Refused("isinstance() tells Values from numbers")
        try:
            if isinstance(value, Num) and issubclass(float, kind) is not issubclass(int, kind):
                self.asks_for_classes = True
            return issubclass(self.class_of(value), kind)
        except TypeError:
            raise Refused("isinstance() of something that is not a class") from None

    # ---- truth

    def truth(self, value: Value, then: Callable[[Place], Result]) -> Result:
        """Go on with whether an object counts as true."""
        if isinstance(value, Union) and all(_has_plain_truth(x) for _, x in value.alternatives):
            found = self.false
            for mask, x in reversed(value.alternatives):
                found = self.select(mask, self._truth_of_number(x), found)
            return then(found)
        return self.split(value, lambda x: self._truth(x, then))

    def _truth_of_number(self, value: Value) -> Place:
        if isinstance(value, Const):
            return self.b.const(bool(value.value))
        assert isinstance(value, Num)
        if value.kind == BOOL:
            return value.place
        if value.kind == I64:
            return self.b.emit("not", self.b.emit("ieq", value.place, self.b.const(0)))
        return self.b.emit("ne", value.place, self.b.const(0.0))

    def _truth(self, value: Value, then: Callable[[Place], Result]) -> Result:
        if isinstance(value, Const):
            if isinstance(value.value, UnknownText):
                raise Refused(UNKNOWN)
            try:
                holds = bool(value.value)
            except Exception as error:
                return self.raised(error)
            return then(self.b.const(holds))
        if isinstance(value, Num):
            return then(self._truth_of_number(value))
        count = self.count(value)
        if isinstance(value, Ref) and self._is_array(self.cell(value)):
            raise Refused("the truth of a NumPy array")
        if count is not None:
            return then(self.b.emit("ilt", self.b.const(0), self.place(count, I64)))
        if isinstance(value, Ref):
            cls = self.class_of(value)
            for name in ("__bool__", "__len__"):
                if hasattr(cls, name):
                    found = self.bind(self.special(value, name), lambda f: self.call(f, [], {}))
                    return self.bind(found, lambda x: self.truth(x, then))
        return then(self.true)

    # ---- operations of the core

    def operation(self, op: str, values: list[Value]) -> Result:
        special = _OPERATIONS.get(op)
        if special is not None:
            return special(self, values)
        if len(values) == 1:
            return self.split(values[0], lambda a: self._unary(op, a))
        a, b = values
        if self._numeric(a) and self._numeric(b) and (isinstance(a, Union) or isinstance(b, Union)):
            with contextlib.suppress(Refused):  # one of several numbers is a number, if they are of kinds that mix
                a, b = self.number_or_refuse(a, "an operand"), self.number_or_refuse(b, "an operand")
        return self.each([a, b], lambda both: self._binary(op, *both))

    def _unary(self, op: str, a: Value) -> Result:
        if is_number(a):
            return self.unary_number(op, a)
        if isinstance(a, Const):
            return self.run(OPERATIONS[op], a.value)
        if isinstance(a, Ref) and hasattr(self.class_of(a), f"__{DUNDER[op]}__"):
            return self.bind(self.special(a, f"__{DUNDER[op]}__"), lambda f: self.call(f, [], {}))
        return self.raised(TypeError(f"bad operand type for unary {op}: {self.class_of(a).__name__!r}"))

    def _binary(self, op: str, a: Value, b: Value) -> Result:
        in_place = op.endswith("=") and op not in COMPARISON_OPS
        base = op[:-1] if in_place else op
        if is_number(a) and is_number(b):
            return self.binary_number(base, a, b)
        if isinstance(a, Const) and isinstance(b, Const):
            return self.run(OPERATIONS[base], a.value, b.value)
        for x in (a, b):
            if isinstance(x, Ref) and self._is_array(self.cell(x)):
                raise Refused("arithmetic on a whole NumPy array", "Write a loop over its items, or a comprehension.")
        names = (f"__i{DUNDER[base]}__",) if in_place else ()
        return self._by_method(
            base, a, b, (*names, f"__{DUNDER[base]}__"), lambda: self._reflected(base, a, b, in_place)
        )

    def _by_method(
        self, op: str, a: Value, b: Value, names: tuple[str, ...], otherwise: Callable[[], Result]
    ) -> Result:
        """Call the first method that there is; where it returns NotImplemented, go on."""
        method = next((m for m in (self._method(a, name) for name in names) if m is not None), None)
        if method is None:
            return otherwise()

        def found(value: Value) -> Result:
            return otherwise() if isinstance(value, Const) and value.value is NotImplemented else value

        return self.bind(self.bind(method, lambda f: self.call(f, [b], {})), found)

    def _method(self, value: Value, name: str) -> Result | None:
        """Return a method that the class of the program has under a name; None where it has none."""
        if isinstance(value, Tuple) and isinstance(lookup(value.cls, name), types.FunctionType):
            return self.special(value, name)
        if not isinstance(value, Ref):
            return None
        cell = self.cell(value)
        if cell.key[0] not in ("object", "pool") or self.is_sequence(value):
            return None
        cls = self.class_of(value)
        found = lookup(cls, name)
        if found is None or found is getattr(object, name, None):
            return None
        if name == "__eq__" and dataclasses.is_dataclass(cls) and not has_source(found):
            return Method("%dataclass_eq", value)
        return self.special(value, name)

    def _reflected(self, op: str, a: Value, b: Value, in_place: bool) -> Result:
        name = f"__{DUNDER[SWAPPED[op]]}__" if op in SWAPPED else f"__r{DUNDER[op]}__"
        return self._by_method(op, b, a, (name,), lambda: self._builtin_operator(op, a, b, in_place))

    def _builtin_operator(self, op: str, a: Value, b: Value, in_place: bool) -> Result:
        """Return what an operator makes of Python's own containers."""
        both = self.is_sequence(a) and self.is_sequence(b)
        if in_place and isinstance(a, Ref) and self.is_sequence(a) and self.class_of(a) is list:
            if op == "+":
                return self.bind(self.call_method(list, "extend", a, [b]), lambda _: a)
            if op == "*":
                return self.call_method(list, "__imul__", a, [b])
        if both and op == "+":
            if self.class_of(a) is not self.class_of(b) and not (isinstance(a, Tuple) and isinstance(b, Tuple)):
                return self.raised(TypeError("can only concatenate lists with lists"))
            return self._concatenated(a, b)
        if op == "*":
            for x, y in ((a, b), (b, a)):
                if self.is_sequence(x) and is_number(y) and kind_of(y) != F64:
                    return self._repeated(x, y)
        if both and op in ("==", "!=", "<", "<=", ">", ">="):
            return self._sequences_compared(op, a, b)
        if isinstance(a, Ref) and isinstance(b, Ref):
            ca, cb = self.cell(a), self.cell(b)
            if ca.key[0] == cb.key[0] == "set":
                return self._sets(op, ca, cb)
            if ca.key[0] == cb.key[0] == "dict" and op in ("==", "!=", "|"):
                return self._dicts(op, a, b)
        if op == "!=":  # as object.__ne__ does
            return self.negated(self._by_method("==", a, b, ("__eq__",), lambda: self.identical(a, b)))
        if op == "==":
            return self.identical(a, b) if op == "==" else self.negated(self.identical(a, b))
        names = self.class_of(a).__name__, self.class_of(b).__name__
        return self.raised(TypeError(f"unsupported operand type(s) for {op}: {names[0]!r} and {names[1]!r}"))

    def negated(self, result: Result) -> Result:
        return self.bind(result, lambda v: self.truth(v, lambda p: self.value(self.b.emit("not", p))))

    def _concatenated(self, a: Value, b: Value) -> Result:
        if isinstance(a, Tuple) and isinstance(b, Tuple) and range not in (a.cls, b.cls):
            return Tuple([*a.items, *b.items])
        cells = [self.cell(x) if isinstance(x, Ref) else None for x in (a, b)]
        if all(c is not None and c.key[0] == "list" for c in cells):
            return self.new(Cell(("list", self.class_of(a)), [x for c in cells if c is not None for x in c.values]))
        return self.call_python(sequences.concatenate, [a, b])

    def _repeated(self, a: Value, times: Value) -> Result:
        if isinstance(times, Const) and (isinstance(a, Tuple) or self.cell(a).key[0] == "list"):
            n = int(times.value)
            if isinstance(a, Tuple):
                return Tuple(a.items * n)
            cell = self.cell(a)
            if len(cell.values) * n <= 64 or not all(self._numeric(x) for x in cell.values):
                return self.new(Cell(cell.key, cell.values * n))
        items: tuple[Value, ...] = a.items if isinstance(a, Tuple) else ()
        if isinstance(a, Ref) and self.cell(a).key[0] == "list":
            items = self.cell(a).values
        if len(items) == 1 and not isinstance(items[0], Ref | Tuple | Union | Closure | Method):
            return self._filled(items[0], times, self.class_of(a))
        return self.call_python(sequences.repeated, [a, times])

    def _filled(self, item: Value, times: Value, cls: type) -> Result:
        """Return the list of an item so many times."""

        shape = with_numbers(shape_of(item))
        n = self.place(times, I64)
        if not self.b.known.positive(self.b.known.of(n)):
            n = self.whole_least("imax", times, Const(0))
        arrays = [Num(self.b.emit("fill", n, p)) for p in self.pack(item, shape)]
        return self.new(Cell(("columns", shape, cls), (*arrays, self.value(n))))

    def _sequences_compared(self, op: str, a: Value, b: Value) -> Result:
        if self.class_of(a) is not self.class_of(b):
            if op in ("==", "!="):
                return Const(op == "!=")
            return self.raised(TypeError("lists and tuples are not ordered"))
        if op in ("==", "!="):
            result = self.call_python(sequences.equal, [a, b])
            return result if op == "==" else self.negated(result)
        function = {
            "<": sequences.less,
            "<=": sequences.less_or_equal,
            ">": sequences.greater,
            ">=": sequences.greater_or_equal,
        }
        return self.call_python(function[op], [a, b])

    def _sets(self, op: str, a: Cell, b: Cell) -> Result:
        if any(not isinstance(x, Const) for x in (*a.values, *b.values)):
            raise Refused("an operator of sets whose items differ")
        left, right = ({k for k, _ in self.present_items(c)} for c in (a, b))
        found = OPERATIONS[op](left, right)
        if isinstance(found, bool):
            return Const(found)
        return self.new_set([self.key_value(k) for k in found])

    def _dicts(self, op: str, a: Ref, b: Ref) -> Result:
        if op == "|":
            return self.call_method(dict, "__or__", a, [b])
        result = self.call_method(dict, "__eq__", a, [b])
        return result if op == "==" else self.negated(result)

    # ---- identity

    def _identical_numbers(self, a: Value, b: Value) -> Result:
        """`a is b` in `a is b or a == b`, where it matters only for a nan: that call is left to Python."""
        if kind_of(b) == F64:
            place = self.place(b, F64)
            self.b.check(self.b.emit("eq", place, place), "a nan is looked for")
        return Const(False)

    def identical(self, a: Value, b: Value) -> Result:
        return self.each([a, b], lambda both: self._identical(*both))

    def _identical(self, a: Value, b: Value) -> Result:
        if isinstance(a, Ref) and isinstance(b, Ref):
            if a.location != b.location:
                if b.location in self.has_copy:
                    self.refuse_copied(a)
                return Const(self._same_argument(a.location, b.location))
            if a.index is None or b.index is None:
                return Const(True)
            return self.value(self.b.emit("ieq", a.index, b.index))
        if isinstance(a, Const) and isinstance(b, Const):
            return Const(a.value is b.value or (type(a.value) in (bool, str) and a.value == b.value))
        for x, y in ((a, b), (b, a)):
            if isinstance(x, Num) and isinstance(y, Const) and isinstance(y.value, bool) and x.kind == BOOL:
                return self.value(x.place if y.value else self.b.emit("not", x.place))
        if is_number(a) and is_number(b):
            if kind_of(a) != kind_of(b):
                return Const(False)
            if self.running and PRELUDE in self.running[-1].function.file.replace("\\", "/"):
                return self._identical_numbers(a, b)
            raise Refused("`is` between two numbers", "Whether they are one object has no meaning on a tape: use ==.")
        if type(a) is not type(b):
            return Const(False)
        if isinstance(a, Tuple) and a.cls is tuple and not same(a, b):
            raise Refused("`is` between two tuples")
        return Const(same(a, b))

    def _same_argument(self, a: int, b: int) -> bool:
        """Return whether two places are one object, as lists that are passed twice are, and write down what was found."""
        if a not in self.given:
            a, b = b, a
        if a not in self.given:
            return False
        path, x = self.given[a]
        if b in self.given:
            other, y = self.given[b]
            self.guard("argument", None, (*path, ("same" if x is y else "other", b)), other)
            return x is y
        for ref, y in self.imported.values():
            if isinstance(ref, Ref) and ref.location == b:
                self.guard("argument", None, (*path, ("no", b)), y)
        return False

    # ---- the operations that are not operators

    def _not(self, values: list[Value]) -> Result:
        return self.truth(values[0], lambda p: self.value(self.b.emit("not", p)))

    def _iter(self, values: list[Value]) -> Result:
        return self.iterate(values[0])

    def _is(self, values: list[Value]) -> Result:
        return self.identical(*values)

    def _is_not(self, values: list[Value]) -> Result:
        return self.negated(self.identical(*values))

    def _in(self, values: list[Value]) -> Result:
        return self.split(values[1], lambda c: self.contains(c, values[0]))

    def _not_in(self, values: list[Value]) -> Result:
        return self.negated(self._in(values))

    def _unpack(self, values: list[Value]) -> Result:
        source, before, after = values[0], values[1], values[2] if len(values) > 2 else NONE
        assert isinstance(before, Const) and isinstance(after, Const)

        def one(source: Value) -> Result:
            count = self.count(source) if self.is_sequence(source) else None
            if isinstance(count, Num) and after.value is None:
                wrong = self.b.emit("not", self.b.emit("ieq", count.place, self.b.const(before.value)))
                error = ValueError(f"not {before.value} values to unpack")
                items = lambda: self._items_of(source, before.value, lambda x: Tuple(x))  # noqa: E731
                return self.unless(wrong, error, items)
            if self.is_generator(source) and after.value is None and not self.catching:
                # All of its items are taken here; Python stops after one too many, and raises.
                return self.bind(self.call_python(sequences.new_list, [source]), lambda x: self.split(x, one))
            return self.listed(source, unpacked)

        def unpacked(items: list[Value]) -> Result:
            n = before.value
            if after.value is None:
                if len(items) != n:
                    which = "too many values to unpack" if len(items) > n else "not enough values to unpack"
                    return self.raised(ValueError(which))
                return Tuple(items)
            if len(items) < n + after.value:
                return self.raised(ValueError("not enough values to unpack"))
            end = len(items) - after.value
            middle = self.new(Cell(("list", list), items[n:end]))
            return Tuple([*items[:n], middle, *items[end:]])

        return self.split(source, one)

    def _append(self, values: list[Value]) -> Result:
        return self.split(values[0], lambda x: self.append(x, values[1]))  # type: ignore[arg-type]

    def _extend(self, values: list[Value]) -> Result:
        def known(items: list[Value]) -> Result:
            target = self.resolved(values[0])
            assert isinstance(target, Ref)
            if self.cell(target).key[0] == "list":
                self.heap[target.location] = Cell(self.cell(target).key, (*self.cell(target).values, *items))
                return NONE
            return self.call_method(list, "extend", target, [self.new(Cell(("list", list), items))])

        source = self.resolved(values[1])
        if isinstance(source, Tuple) and source.cls is not range:
            return known(list(source.items))
        if (
            isinstance(source, Ref)
            and isinstance(self.heap[source.location], Cell)
            and self.cell(source).key[0] == "list"
        ):
            return known(list(self.cell(source).values))
        return self.call_method(list, "extend", values[0], [values[1]])

    def _add(self, values: list[Value]) -> Result:
        def go(both: list[Value]) -> Result:
            target, key = both
            assert isinstance(target, Ref)
            self.refuse_change(target)
            self.heap[target.location] = put_named(self.cell(target), self.known_key(key), Const(True))
            return NONE

        return self.each(values, go)

    def _update(self, values: list[Value]) -> Result:
        def each(items: list[Value]) -> Result:
            result: Result = NONE
            for x in items:
                result = self.bind(result, lambda _, x=x: self._add([values[0], x]))  # type: ignore[misc]
            return result

        return self.listed(values[1], each)

    def _insert(self, values: list[Value]) -> Result:
        return self.set_item(values[0], values[1], values[2])

    def _merge(self, values: list[Value]) -> Result:
        return self.call_method(dict, "update", values[0], [values[1]])

    def _tuple(self, values: list[Value]) -> Result:
        return self.listed(values[0], lambda items: Tuple(items))

    def _text(self, values: list[Value]) -> Result:
        (x,) = values
        if isinstance(x, Tuple) and x.cls.__module__ == "builtins" and issubclass(x.cls, BaseException):
            return self.known_text(list(x.items), lambda *xs: str(x.cls(*xs)))
        return self.known_text(values, lambda *xs: str(xs[0]))

    def _repr(self, values: list[Value]) -> Result:
        return self.known_text(values, lambda *xs: repr(xs[0]))

    def _format(self, values: list[Value]) -> Result:
        return self.known_text(values, format)

    def _join(self, values: list[Value]) -> Result:
        return self.known_text(values, lambda *xs: "".join(xs))

    def known_text(self, values: list[Value], make: Callable[..., str]) -> Result:
        """Return a text; of what is not known it is UNKNOWN_TEXT, which can be raised and not be compared."""
        if all(isinstance(x, Const) and not isinstance(x.value, UnknownText) for x in values):
            return self.run(make, *[x.value for x in values])  # type: ignore[attr-defined]
        return Const(UnknownText())

    def _exception(self, values: list[Value]) -> Result:
        value = values[0]

        def one(value: Value) -> Result:
            if isinstance(value, Const) and isinstance(value.value, type) and issubclass(value.value, BaseException):
                return self.call(value, [], {})
            if not issubclass(self.class_of(value), BaseException):
                return self.raised(TypeError("exceptions must derive from BaseException"))
            return value

        return self.split(value, one)

    def _handled(self, values: list[Value]) -> Result:
        raise Refused("`raise` of an exception that is handled in a function around")

    def _catches(self, values: list[Value]) -> Result:
        return self.is_instance(values[0], values[1])

    def _is_sequence_pattern(self, values: list[Value]) -> Result:
        return self.split(values[0], lambda x: Const(self.is_sequence(x)))

    def _is_mapping(self, values: list[Value]) -> Result:
        return self.split(values[0], lambda x: Const(isinstance(x, Ref) and self.cell(x).key[0] == "dict"))

    def _match_keys(self, values: list[Value]) -> Result:
        mapping, keys = values

        def rest(i: int, found: list[Value]) -> Result:
            assert isinstance(keys, Tuple | Const)
            names = list(keys.items) if isinstance(keys, Tuple) else [Const(k) for k in keys.value]
            if i == len(names):
                return Tuple(found)
            assert isinstance(mapping, Ref)
            value = get_named(self.cell(mapping), self.known_key(names[i]))
            return self.split(value, lambda v: NONE if is_mark(v, ABSENT) else rest(i + 1, [*found, v]))

        return rest(0, [])

    def _match_class(self, values: list[Value]) -> Result:
        subject, cls, count, names = values
        assert isinstance(cls, Const) and isinstance(count, Const) and isinstance(names, Tuple)

        def one(subject: Value) -> Result:
            if not self._has_class(subject, cls.value):
                return NONE
            attributes = [x.value for x in names.items if isinstance(x, Const)]
            if count.value:
                if cls.value in (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple):
                    return Tuple([subject])
                attributes = [*cls.value.__match_args__[: count.value], *attributes]
            return rest(subject, attributes, [])

        def rest(subject: Value, attributes: list[str], found: list[Value]) -> Result:
            if not attributes:
                return Tuple(found)
            if not self.has_attribute(subject, attributes[0]):
                return NONE
            return self.bind(
                self.attribute(subject, attributes[0]), lambda v: rest(subject, attributes[1:], [*found, v])
            )

        return self.split(subject, one)

    def _import(self, values: list[Value]) -> Result:
        if not all(isinstance(x, Const) for x in values):
            raise Refused("an import that is not known")
        name, names, level = (x.value for x in values)  # type: ignore[attr-defined]
        if level:
            raise Refused("a relative import inside of the function", "Import at the head of the module.")
        return self.run(lambda: __import__(name, fromlist=names or ()))

    def _import_from(self, values: list[Value]) -> Result:
        assert isinstance(values[1], Const)
        return self.attribute(values[0], values[1].value)


def nothing(*args: Any, **keywords: Any) -> None:
    """Do what `object.__init__` does."""


def _has_plain_truth(value: Value) -> bool:
    return is_number(value) or (isinstance(value, Const) and not isinstance(value.value, Mark))


def asks_for_room(cls: type) -> bool:
    """Return whether list() calls a method of the program, to make room for the items."""
    return any(isinstance(lookup(cls, name), types.FunctionType) for name in ("__len__", "__length_hint__"))


def lookup(cls: type, name: str) -> Any:
    """Return what a class has under a name, as it stands in the class; None where there is nothing."""
    for owner in cls.__mro__:
        if name in vars(owner):
            return vars(owner)[name]
    return None


def _owner(cls: type, name: str) -> type:
    return next(owner for owner in cls.__mro__ if name in vars(owner))


def is_data_descriptor(found: Any) -> bool:
    return found is not None and hasattr(type(found), "__set__") and not isinstance(found, types.FunctionType)


def has_source(function: Any) -> bool:
    return isinstance(function, types.FunctionType) and not function.__code__.co_filename.startswith("<string>")


def plain_layout(cls: type) -> bool:
    import abc
    import typing

    plain = (object, abc.ABC, typing.Generic, typing.Protocol)
    builtin = [c for c in cls.__mro__ if c.__module__ in ("builtins", "collections")]
    return all(c in plain for c in builtin)


def is_generic(cls: type, new: Any) -> bool:
    return getattr(new, "__module__", "") == "typing"


_OPERATIONS: dict[str, Callable[[Any, list[Value]], Result]] = {
    "not": Operators._not,
    "iter": Operators._iter,
    "is": Operators._is,
    "is not": Operators._is_not,
    "in": Operators._in,
    "not in": Operators._not_in,
    "unpack": Operators._unpack,
    "append": Operators._append,
    "extend": Operators._extend,
    "add": Operators._add,
    "update": Operators._update,
    "insert": Operators._insert,
    "merge": Operators._merge,
    "tuple": Operators._tuple,
    "str": Operators._text,
    "repr": Operators._repr,
    "ascii": Operators._repr,
    "format": Operators._format,
    "join": Operators._join,
    "exception": Operators._exception,
    "handled": Operators._handled,
    "catches": Operators._catches,
    "is sequence": Operators._is_sequence_pattern,
    "is mapping": Operators._is_mapping,
    "match keys": Operators._match_keys,
    "match class": Operators._match_class,
    "import": Operators._import,
    "import from": Operators._import_from,
}
