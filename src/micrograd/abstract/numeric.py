"""Operators and functions of numbers: which operations of the tape they are."""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable
from typing import Any

from micrograd import math as micrograd_math
from micrograd.abstract.errors import Refused, Restart, Unrollable
from micrograd.abstract.outcomes import Result
from micrograd.abstract.shapes import Number, joined_kind, shape_of
from micrograd.abstract.state import State
from micrograd.abstract.values import LARGE, Const, Mark, Num, Union, Value, is_number, joins, kind_of
from micrograd.core.operations import OPERATIONS
from micrograd.ir.forms import BOOL, F64, I64, TABLE, Place

ARITHMETIC = {"+": "add", "-": "sub", "*": "mul", "/": "div", "//": "floordiv", "%": "mod", "**": "pow"}
NEVER_RAISES = {"+", "-", "*"}
WHOLE = {"+": "iadd", "-": "isub", "*": "imul"}
COMPARISONS = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}
MOST_FACTORS = 64  # the largest power of an int that is multiplied out


def _rows() -> dict[Any, str]:
    """Return the operation of the table that each function of a number, or of some, is."""
    found: dict[Any, str] = {}
    for name in ("exp", "expm1", "exp2", "log1p", "log2", "log10", "sqrt", "cbrt", "sin", "cos", "tan", "asin", "acos", "atan",
                 "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "gamma", "lgamma", "fmod",
                 "remainder", "copysign", "pow", "fma"):  # fmt: skip
        if hasattr(math, name):
            found[getattr(math, name)] = name
    found[math.fabs] = "abs"
    for name, row in TABLE.items():
        function = getattr(micrograd_math, name, None)
        if function is not None and row.op is not None and name not in ("min", "max", "where"):
            found[function] = name
    for name in COMPARISONS.values():
        found[getattr(micrograd_math, name)] = name
    return found


ROWS = _rows()
ROUNDED = {math.floor: "floor", math.ceil: "ceil", math.trunc: "trunc"}  # ints, where micrograd.math gives floats
_OPERATORS: dict[Any, str] = {
    operator.add: "+", operator.sub: "-", operator.mul: "*", operator.truediv: "/", operator.floordiv: "//",
    operator.mod: "%", operator.pow: "**", operator.neg: "neg", operator.pos: "pos", operator.lt: "<", operator.le: "<=",
    operator.gt: ">", operator.ge: ">=", operator.eq: "==", operator.ne: "!=", operator.not_: "not",
    operator.matmul: "@", operator.and_: "&", operator.or_: "|", operator.xor: "^",
}  # fmt: skip


UNKNOWN = "a text with numbers that are not known is used"


class UnknownText:
    """A text that contains what is not known, for the message of an exception."""


class Numeric(State):
    """Numbers."""

    # ---- operators

    def unary_number(self, op: str, a: Value) -> Result:
        if isinstance(a, Const):
            return self.run(OPERATIONS[op], a.value)
        assert isinstance(a, Num)
        if a.kind == F64:
            if op == "~":
                return self.raised(TypeError("bad operand type for unary ~: 'float'"))
            return a if op == "pos" else self._int_or_float(self.b.emit("neg", a.place), self.is_int(a))
        place = self.place(a, I64)
        if op == "pos":
            return self.value(place)
        place = self.whole("isub", self.b.const(0), place)
        return self.value(place if op == "neg" else self.whole("iadd", place, self.b.const(-1)))

    def run(self, function: Callable[..., Any], *args: Any) -> Result:
        """Let Python compute with objects that are known."""
        if any(isinstance(x, UnknownText) for x in args):
            raise Refused(UNKNOWN)
        if any(isinstance(x, Mark) for x in args):
            raise Unrollable("an object that is another one in each iteration is used")
        try:
            found = function(*args)
        except (Refused, Unrollable, Restart):
            raise
        except Exception as error:
            return self.raised(error)
        return self.constant(found)

    def binary_number(self, op: str, a: Value, b: Value) -> Result:
        """Return what an operator makes of two numbers."""
        if isinstance(a, Const) and isinstance(b, Const):
            return self.run(OPERATIONS[op], a.value, b.value)
        kinds = kind_of(a), kind_of(b)
        if op in COMPARISONS:
            return self.value(self._compared(op, a, b, kinds))
        if op in ("&", "|", "^") and kinds == (BOOL, BOOL):
            return self.value(self._logic(op, self.place(a, BOOL), self.place(b, BOOL)))
        if F64 in kinds:
            if op not in ARITHMETIC:
                return self.raised(TypeError(f"unsupported operand type(s) for {op}"))
            found = self.b.emit(ARITHMETIC[op], self.place(a, F64), self.place(b, F64))
            found = found if op in NEVER_RAISES else self.without_error(found)
            is_int = self.false if op == "/" else self.b.emit("and", self.is_int(a), self.is_int(b))
            if is_int is not self.false and op == "**":
                raise Refused("a power of numbers that are ints or floats")
            return self._int_or_float(found, is_int)
        return self._of_ints(op, self.place(a, I64), self.place(b, I64))

    def _int_or_float(self, x: Place, is_int: Place) -> Value:
        """Return a number that is an int of Python where a bool is true: it has no -0.0 there, and all its digits."""
        if self.b.decided(is_int) is False:
            return self.value(x)
        x = self.select(is_int, self.b.emit("add", x, self.b.const(0.0)), x)
        small = self.b.emit("le", self.b.emit("abs", x), self.b.const(LARGE))
        self.b.check(self.b.emit("or", small, self.b.emit("not", is_int)), "a large int")
        return Num(x, is_int)

    def without_error(self, x: Place) -> Place:
        """Return a result; where Python may raise an error instead, and a handler may catch it, the call is left to Python."""
        if self.catching:
            finite = self.b.emit("lt", self.b.emit("abs", x), self.b.const(math.inf))
            if self.b.decided(finite) is not True:
                self.b.check(finite, "an error of arithmetic that may be caught")
        return x

    def _compared(self, op: str, a: Value, b: Value, kinds: tuple[str, str]) -> Place:
        if F64 in kinds:
            for x in (a, b):
                if isinstance(x, Const) and isinstance(x.value, int) and abs(x.value) > 2**53:
                    raise Refused("an int of more than 53 bits is compared with a float")
            return self.b.emit(COMPARISONS[op], self.place(a, F64), self.place(b, F64))
        p, q = self.place(a, I64), self.place(b, I64)
        if op in (">", ">="):
            p, q, op = q, p, "<" if op == ">" else "<="
        if op in ("<", "<="):
            return self.b.emit("ilt" if op == "<" else "ile", p, q)
        equal = self.b.emit("ieq", p, q)
        return equal if op == "==" else self.b.emit("not", equal)

    def _logic(self, op: str, a: Place, b: Place) -> Place:
        if op != "^":
            return self.b.emit("and" if op == "&" else "or", a, b)
        emit = self.b.emit
        return emit("or", emit("and", a, emit("not", b)), emit("and", emit("not", a), b))

    def _of_ints(self, op: str, x: Place, y: Place) -> Result:
        emit, const = self.b.emit, self.b.const
        if op in WHOLE:
            return self.value(self.whole(WHOLE[op], x, y))
        zero = emit("ieq", y, const(0))
        if op == "/":
            divide = lambda: self.value(emit("div", self.b.number(x), self.b.number(y)))  # noqa: E731
            return self.unless(zero, ZeroDivisionError("division by zero"), divide)
        if op in ("//", "%"):
            text = "integer division or modulo by zero"
            return self.unless(zero, ZeroDivisionError(text), lambda: self.value(self.divided(op, x, y)))
        if y.op == "const":
            n = y.attr
            if op == "**" and 0 <= n <= MOST_FACTORS:
                return self.value(self._power(x, n))
            if op == "**" and n < 0:
                return self.value(self.without_error(emit("pow", self.b.number(x), const(float(n)))))
            if op == "<<" and 0 <= n < 53:
                return self.value(self.whole("imul", x, const(1 << n)))
            if op == ">>" and 0 <= n < 63:
                return self.value(self.divided("//", x, const(1 << n)))
            if op == "&" and n >= 0 and n & (n + 1) == 0 and n < 1 << 53:
                return self.value(self.divided("%", x, const(n + 1)))
        raise Refused(f"the operator {op} of ints that are not known")

    def divided(self, op: str, x: Place, y: Place) -> Place:
        """Return the quotient or the remainder of two whole numbers, of which the second one is not 0."""
        found = self.b.emit("ifloordiv" if op == "//" else "imod", x, y)
        if found.op == "const":
            return found
        known = self.b.known
        self.bounds[found] = self.bound(x) if op == "//" else self.bound(y)
        of_x, of_y = known.of(x), known.of(y)
        if known.positive(of_y.plus(known.of(self.b.const(1)), -1)):
            if op == "%":
                known.at_least(found, 0)
                known.assume(of_y.plus(known.of(found), -1).plus(known.of(self.b.const(1)), -1))
            elif known.positive(of_x):
                known.at_least(found, 0)
        if op == "//" and y.op == "const" and y.attr > 0:
            rest = of_x.plus(known.of(found), -y.attr)
            known.assume(rest)
            known.assume(rest.negated().plus(known.of(self.b.const(y.attr - 1))))
        return found

    def _power(self, x: Place, n: int) -> Place:
        if n == 0:
            return self.b.const(1)
        half = self._power(x, n // 2)
        square = self.whole("imul", half, half) if n > 1 else None
        if square is None:
            return x
        return self.whole("imul", square, x) if n % 2 else square

    # ---- functions

    def number_function(self, function: Any, args: list[Value]) -> Result | None:
        """Return what a function of numbers makes of its arguments; None where it is not one that is known here."""
        if not args or not all(self._numeric(x) for x in args):
            return None
        if function in _OPERATORS:
            return self.operation(_OPERATORS[function], args)
        if function in ROWS or function in ROUNDED or function in _SPECIAL:
            if all(isinstance(x, Const) for x in args) and function not in _ON_TAPE:
                return self.run(function, *[x.value for x in args])  # type: ignore[attr-defined]
            if any(isinstance(x, Union) for x in args):
                return self.each(args, lambda each: self._function(function, each))
            return self._function(function, args)
        return None

    def _numeric(self, value: Value) -> bool:
        if isinstance(value, Union):
            return all(is_number(x) for _, x in value.alternatives)
        return is_number(value)

    def _function(self, function: Any, args: list[Value]) -> Result:
        found = self._value_of(function, args)
        if isinstance(found, Num) and found.kind == F64:
            self.without_error(found.place)
        return found

    def _value_of(self, function: Any, args: list[Value]) -> Result:
        if function in _SPECIAL:
            return _SPECIAL[function](self, args)
        if function in ROUNDED:
            if kind_of(args[0]) != F64:
                return self.value(self.place(args[0], I64))
            return self.value(self.truncated(self.b.emit(ROUNDED[function], self.place(args[0], F64))))
        name = ROWS[function]
        rule = TABLE[name]
        if len(args) != len(rule.takes):
            defaults = rule.op.defaults if rule.op is not None else ()
            missing = len(rule.takes) - len(args)
            if missing < 0 or missing > len(defaults):
                return self.raised(TypeError(f"{name} takes {len(rule.takes)} arguments"))
            args = [*args, *map(Const, defaults[len(defaults) - missing :])]
        return self.value(self.b.emit(name, *[self.place(x, F64) for x in args]))

    def truncated(self, x: Place) -> Place:
        """Return int(x): where a number is not finite or beyond 2**53, the call is left to Python."""
        if x.op == "float":
            return x.args[0]
        fits = self.b.emit("le", self.b.emit("abs", x), self.b.const(2.0**53))
        if self.b.decided(fits) is not True:
            self.b.check(fits, "OverflowError: a number that is not finite, or beyond 2**53, becomes an int")
        found = self.b.emit("int", x)
        if found.op != "const":
            self.bounds[found] = 2.0**53
        return found

    def least(self, args: list[Value], sign: str) -> Value:
        """Return what `min` (sign "<") or `max` of numbers returns: the first one of those that are equal."""
        best = args[0]
        for x in args[1:]:
            test = self.binary_number(sign, x, best)
            assert isinstance(test, Value)
            condition = self.place(test, BOOL)
            kind = joined_kind(kind_of(x), kind_of(best))
            if kind is None:
                raise Refused("the least of numbers and bools")
            if kind == I64:
                best = self.value(self.whole_least("imin" if sign == "<" else "imax", x, best))
            else:
                is_int = self.select(condition, self.is_int(x), self.is_int(best))
                place = self.select(condition, self.place(x, kind), self.place(best, kind))
                best = self.value(place) if self.b.decided(is_int) is False else Num(place, is_int)
        return best

    def whole_least(self, op: str, a: Value, b: Value) -> Place:
        x, y = self.place(a, I64), self.place(b, I64)
        found = self.b.emit(op, x, y)
        if found.op != "const" and found not in (x, y):
            self.bounds[found] = max(self.bound(x), self.bound(y))
            known = self.b.known
            for p in (x, y):  # facts: the least is not above any of them
                difference = known.of(p).plus(known.of(found), -1)
                known.assume(difference if op == "imin" else difference.negated())
            if all(known.positive(known.of(p)) for p in (x, y)):
                known.at_least(found, 0)
        return found

    # ---- the functions that are not rows

    def _index(self, args: list[Value]) -> Result:
        if kind_of(args[0]) == F64:
            return self.raised(TypeError("'float' object cannot be interpreted as an integer"))
        return self.value(self.place(args[0], I64))

    def _log(self, args: list[Value]) -> Result:
        natural = self.value(self.b.emit("log", self.place(args[0], F64)))
        if len(args) == 1:
            return natural
        base = self.value(self.b.emit("log", self.place(args[1], F64)))
        return self.binary_number("/", natural, base)

    def _abs(self, args: list[Value]) -> Result:
        (x,) = args
        if kind_of(x) == F64:
            return self.value(self.b.emit("abs", self.place(x, F64)))
        p = self.place(x, I64)
        found = self.b.emit("imax", p, self.whole("isub", self.b.const(0), p))
        if found.op != "const":
            self.bounds[found] = self.bound(p)
            self.b.known.at_least(found, 0)
        return self.value(found)

    def _float(self, args: list[Value]) -> Result:
        return self.value(self.place(args[0], F64))

    def _int(self, args: list[Value]) -> Result:
        (x,) = args
        return self.value(self.truncated(self.place(x, F64)) if kind_of(x) == F64 else self.place(x, I64))

    def _round(self, args: list[Value]) -> Result:
        if len(args) > 1:
            raise Refused("round() to digits")
        if kind_of(args[0]) != F64:
            return self._int(args)
        return self.value(self.truncated(self.b.emit("round", self.place(args[0], F64))))

    def _is_nan(self, args: list[Value]) -> Result:
        x = self.place(args[0], F64)
        return self.value(self.b.emit("ne", x, x))

    def _is_inf(self, args: list[Value]) -> Result:
        return self.value(self.b.emit("eq", self.b.emit("abs", self.place(args[0], F64)), self.b.const(math.inf)))

    def _is_finite(self, args: list[Value]) -> Result:
        return self.value(self.b.emit("lt", self.b.emit("abs", self.place(args[0], F64)), self.b.const(math.inf)))

    def _hypot(self, args: list[Value]) -> Result:
        found = self.place(args[0], F64) if len(args) > 1 else self.b.emit("abs", self.place(args[0], F64))
        for x in args[1:]:
            found = self.b.emit("hypot", found, self.place(x, F64))
        return self.value(found)

    def _scaled(factor: float) -> Callable[[Numeric, list[Value]], Result]:  # type: ignore[misc]
        def function(self: Numeric, args: list[Value]) -> Result:
            return self.value(self.b.emit("mul", self.place(args[0], F64), self.b.const(factor)))

        return function

    _degrees, _radians = _scaled(180.0 / math.pi), _scaled(math.pi / 180.0)

    def _where(self, args: list[Value]) -> Result:
        def chosen(condition: Place) -> Result:
            return self.value(self.select(condition, self.place(args[1], F64), self.place(args[2], F64)))

        return self.truth(args[0], chosen)

    def _among(name: str) -> Callable[[Numeric, list[Value]], Result]:  # type: ignore[misc]
        def function(self: Numeric, args: list[Value]) -> Result:
            found = self.place(args[0], F64)
            for x in args[1:]:
                found = self.b.emit(name, found, self.place(x, F64))
            return self.value(found)

        return function

    _least, _greatest = _among("min"), _among("max")

    def _to_whole(name: str) -> Callable[[Numeric, list[Value]], Result]:  # type: ignore[misc]
        def function(self: Numeric, args: list[Value]) -> Result:
            return self.value(self.b.emit(name, self.place(args[0], F64)))

        return function

    _floor, _ceil, _trunc = _to_whole("floor"), _to_whole("ceil"), _to_whole("trunc")

    def _power_of(self, args: list[Value]) -> Result:
        if len(args) != 2:
            raise Refused("pow() with a modulus")
        return self.binary_number("**", args[0], args[1])

    def _builtin_least(self, args: list[Value]) -> Result:
        return self.least(args, "<")

    def _builtin_greatest(self, args: list[Value]) -> Result:
        return self.least(args, ">")

    def number_or_refuse(self, value: Value, what: str) -> Num | Const:
        """Return a number that stands for one of several."""
        if isinstance(value, Union):
            shape = shape_of(value)
            if isinstance(shape, Number):
                joins.lost |= shape.mixed
                return Num(self.pack(value, shape)[0])
        if isinstance(value, Num) or (isinstance(value, Const) and is_number(value)):
            return value
        raise Refused(f"{what} is not always a number")


_SPECIAL: dict[Any, Callable[[Any, list[Value]], Result]] = {
    math.log: Numeric._log,
    micrograd_math.log: Numeric._log,
    builtins.abs: Numeric._abs,
    operator.index: Numeric._index,
    builtins.float: Numeric._float,
    builtins.int: Numeric._int,
    builtins.round: Numeric._round,
    builtins.pow: Numeric._power_of,
    math.isnan: Numeric._is_nan,
    math.isinf: Numeric._is_inf,
    math.isfinite: Numeric._is_finite,
    micrograd_math.isnan: Numeric._is_nan,
    micrograd_math.isinf: Numeric._is_inf,
    micrograd_math.isfinite: Numeric._is_finite,
    math.hypot: Numeric._hypot,
    micrograd_math.hypot: Numeric._hypot,
    math.degrees: Numeric._degrees,
    math.radians: Numeric._radians,
    micrograd_math.degrees: Numeric._degrees,
    micrograd_math.radians: Numeric._radians,
    micrograd_math.where: Numeric._where,
    micrograd_math.floor: Numeric._floor,
    micrograd_math.ceil: Numeric._ceil,
    micrograd_math.trunc: Numeric._trunc,
}
_ON_TAPE: tuple[Any, ...] = ()
