"""Values of the tape that may be plain numbers in the program itself, of which nothing is done that plain numbers do otherwise.

Behind a choice, a variable may hold a plain 0.0 in some rows and a Value in the others. That is a Summary as a rule, so that
what is done with the 0.0 is known. In a table that is filled by comparisons (a longest common subsequence) the rows of such
a 0.0 depend on everything that was compared before, in more ways than masks can hold. Then the function is staged once more,
with `Limits.coarse`: floats and small whole numbers that meet a Value or each other behind a choice become one Value, which
is remembered here.

Sums, differences, products and comparisons of such a number are those of plain numbers, to the bit. A division by zero or a
power without a finite result raises an exception for plain numbers only: rows in which that happens are lost. Whole numbers
are exact below 2**53, so a bound on each of them is kept. Whatever else tells a plain number from a Value is refused.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from micrograd import engine, math
from micrograd.engine import Value
from micrograd.ops import OPS
from micrograd.stage.errors import Lost, Unsupported
from micrograd.stage.lanes import EXACT, Lane, lose
from micrograd.stage.masks import FALSE, TRUE
from micrograd.stage.summary import Summary
from micrograd.tape import arithmetic
from micrograd.tape.tape import LOAD, PICK, SOURCES, STACK

if TYPE_CHECKING:
    from micrograd.stage.machine import Machine

SMALL = 2**31  # whole numbers up to here may become Values
RAISING = (operator.truediv, operator.floordiv, operator.mod, operator.pow)  # for some plain numbers
SUMS = (operator.add, operator.sub)
EXACT_OPS = ("add", "sub", "mul", "neg", "abs", "pick")  # of ints, these give ints


def mark(m: Machine, x: Any, bound: int = 0, ints: bool = False) -> Any:
    """Remember that a Value may be a plain number, and if it may be a whole one (bound > 0, or `ints`), of what size."""
    if bound >= EXACT:
        raise Unsupported("a whole number may become too large for a float")
    m.mixed[id(x)] = x, bound, ints or bound > 0
    return x


def may_be_plain(m: Machine, x: Any, depth: int = 12) -> bool:
    """Whether an operand may be a plain number in the program itself: one of those, or what is made of them alone."""
    if not isinstance(x, Value) or not m.mixed:
        return not isinstance(x, Value)
    if id(x) in m.mixed:
        return True
    if id(x) in m.never_plain:
        return False
    found = _made_of_plain(m, x, depth)
    if not found:
        m.never_plain[id(x)] = x
    return found


def _made_of_plain(m: Machine, x: Any, depth: int) -> bool:
    if x._rule in (*SOURCES, LOAD, STACK) or not x._prev or getattr(x._rule, "number", None) is not None:
        return False
    if depth == 0:
        return True
    inputs = [c for c, slope in zip(x._prev, x._partials or ()) if slope is not None]
    if x._rule is PICK:
        arms = list(zip(x._prev, x._partials or ()))[1:]
        return any(slope is None or may_be_plain(m, c, depth - 1) for c, slope in arms)
    return bool(inputs) and all(may_be_plain(m, c, depth - 1) for c in inputs)


def is_mixed(m: Machine, x: Any) -> bool:
    """Whether x is a Value that may be a plain number."""
    return bool(m.mixed) and isinstance(x, Value) and may_be_plain(m, x)


def refuse(m: Machine, *every: Any) -> None:
    """Refuse what a plain number and a Value do in different ways, or an int and a float."""
    if any(is_mixed(m, x) if m.limits.coarse else may_be_int(m, x) for x in every):
        raise Unsupported("something is asked of a number that may be a plain one or a Value")


def refuse_plain(m: Machine, *every: Any) -> None:
    """Refuse what a plain number and a Value do in different ways."""
    if m.limits.coarse and any(is_mixed(m, x) for x in every):
        raise Unsupported("something is done with a number that may be a plain one or a Value")


def refuse_inside(m: Machine, x: Any) -> None:
    """Refuse such a number in what a variable holds, where it could not be told any longer that it is one."""
    if not m.limits.coarse or not m.mixed:
        return
    if type(x) in (list, tuple):
        for item in x:
            refuse_inside(m, item)
    elif type(x) is Summary:
        for _, y in x.alternatives:
            refuse_inside(m, y)
    else:
        refuse(m, x)


def may_be_int(m: Machine, x: Any, depth: int = 12) -> bool:
    """Whether a Value may be an int in the program itself."""
    if not m.mixed or not isinstance(x, Value) or depth == 0:
        return False
    if id(x) in m.mixed:
        return bool(m.mixed[id(x)][2])
    if x._op not in EXACT_OPS:
        return False
    inputs = [c for c, slope in zip(x._prev, x._partials or ()) if slope is not None]
    of_all = any if x._op == "pick" else all
    return bool(inputs) and of_all(may_be_int(m, c, depth - 1) for c in inputs)


def negated(m: Machine, x: Any) -> None:
    """See to it that the sign of x may be changed: that of an int 0 has no effect, and 0.0 becomes -0.0."""
    if not may_be_int(m, x):
        return
    if m.rolling is not None:
        raise Unsupported("a number that may be the int 0 is negated, which has no sign")
    lose(m, m.masks.compare("eq", x, 0.0), "a number that may be the int 0 is negated, which has no sign")


def joins(m: Machine, x: Any) -> bool:
    """Whether a plain number becomes a Value when it meets another one behind a choice."""
    if not m.limits.coarse:
        return False
    return type(x) is float or (type(x) is int and not m.keep_types and abs(x) <= SMALL)


def bound_of(m: Machine, x: Any) -> int:
    """How large a whole number may be (at least 1), if x may be one; else 0."""
    if type(x) is Lane:
        return max(1, int(x.most)) if x.kind is int else 0
    if isinstance(x, int):
        return max(1, abs(x))
    if not isinstance(x, Value):
        return 0
    if id(x) in m.mixed:
        found: int = m.mixed[id(x)][1]
        return found
    if x._op in ("neg", "abs"):
        return bound_of(m, x._prev[0])
    return 0


def binary(m: Machine, op: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """a op b, where both may be plain numbers and one of them is a Value."""
    first, second = bound_of(m, a), bound_of(m, b)
    a, b = (x.value if type(x) is Lane else x for x in (a, b))
    if not all(isinstance(x, (Value, float, int)) for x in (a, b)):
        raise Unsupported("an operation on a number that may be a plain one or a Value")
    if op in RAISING:
        if op is not operator.truediv and first and second:
            raise Unsupported("an operation on whole numbers that may be Values")
        y = op(a, b)
        _lose_failing(m, y if op is operator.pow else None, b)
        return mark(m, y)
    y = op(a, b)
    if not first or not second:
        return mark(m, y)
    return mark(m, y, first + second if op in SUMS else first * second if op is operator.mul else EXACT)


def raise_errors(m: Machine, how: str, a: Any, b: Any) -> None:
    """Let rows raise the error that plain numbers raise, if the function catches it (tape/arithmetic.py)."""
    of_math = how in arithmetic.FUNCTIONS
    levels = [h.level for h in m.handlers if h.arithmetic[of_math]]
    if not levels:
        return
    if of_math:
        _lose_undefined(m, how, [a] if b is None else [a, b])
        return
    near = m.rolling is None and m.level in levels
    if near and not all(map(arithmetic.raises, (a, b))):
        return
    if not near or how == "**" or not isinstance(b, Value):  # in a loop, nothing is known of the classes of numbers
        _lose_failing(m, engine.apply(OPS["pow"], a, b) if how == "**" else None, b)
        return
    rows = m.masks.both_of(m.here, m.masks.compare("eq", b, 0.0))
    if rows is not FALSE:
        try:
            arithmetic.RAISING[how](1.0, 0.0)
        except ZeroDivisionError as error:
            if rows is m.here:
                raise
            m.merged()
            m.fail(rows, error)


def _lose_failing(m: Machine, power: Any, b: Any) -> None:
    if power is not None:
        fails = m.masks.negate(m.masks.compare("lt", abs(power), float("inf")))
    elif isinstance(b, Value):
        fails = m.masks.compare("eq", b, 0.0)
    else:
        fails = FALSE if b else TRUE
    _lose(m, fails, "an exception of plain numbers: a division by zero, or a power without a finite result")


def _lose(m: Machine, fails: Any, why: str) -> None:
    rows = m.masks.both_of(m.here, fails)
    if rows is m.here:
        raise Lost
    if rows is not FALSE:
        m.lose(rows, why)


def _lose_undefined(m: Machine, how: str, args: list[Any]) -> None:
    """Lose the rows for which a function of math has no finite result for finite numbers: a plain number raises there."""
    y = getattr(math, arithmetic.FUNCTIONS[how])(*args)
    fails = m.masks.negate(m.masks.compare("lt", abs(y), float("inf")))
    _lose(m, fails, f"an exception of plain numbers: {how}() without a finite result")


__all__ = [
    "RAISING",
    "bound_of",
    "is_mixed",
    "joins",
    "raise_errors",
    "mark",
    "may_be_int",
    "may_be_plain",
    "negated",
    "refuse",
    "refuse_inside",
    "refuse_plain",
]
