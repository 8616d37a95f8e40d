"""Plain numbers that change from one iteration of a rolled loop to the next: the type is known, the value is not."""

from __future__ import annotations

import operator
from collections.abc import Callable
from math import inf
from typing import TYPE_CHECKING, Any

from micrograd import engine
from micrograd.engine import Value
from micrograd.ops import OPS
from micrograd.stage.errors import Unsupported
from micrograd.stage.limits import MANY
from micrograd.stage.masks import FALSE, Mask
from micrograd.stage.summary import Summary

if TYPE_CHECKING:
    from micrograd.stage.machine import Machine

SIMPLE = (operator.add, operator.sub, operator.mul)
DIVISIONS = {operator.truediv: "div", operator.floordiv: "floordiv", operator.mod: "mod"}
BITS = (operator.and_, operator.lshift, operator.rshift)
EXACT = 2**53  # whole numbers below are floats
LARGE = 1e290  # below, a bound of a float is one in spite of rounding
BOUNDED = ("sin", "cos", "atan", "atan2", "tanh", "erf")  # functions with a result for all finite numbers
CARRIED = 2**45  # what a whole number that is carried from one iteration to the next is never more than


class Lane(Summary):
    """An int or a float of the program that is a number on the tape. Only what cannot raise is computed with it.

    An int may be an index if it is affine: `terms` then has by what the iteration number is multiplied, for each loop (a
    Roll) that is being rolled, and `offset` is added. An int is never more than `most`, since floats hold whole numbers up to
    2**53 only; of a float, `most` is infinite where no bound is known. `more` says by how much it is more than an int that the
    iteration was given, if it was made from one by sums with constants alone: so much it grows in an iteration. An int that
    is not affine may be known to be `within` two others, such as i % n, if it is made from affine ones and constants alone: an
    index must be the same in all rows.
    """

    __slots__ = ("counted", "kind", "more", "most", "offset", "terms", "value", "within")

    def __init__(
        self,
        kind: type,
        value: Any,
        terms: dict[Any, int] | None = None,
        offset: int = 0,
        most: float | None = None,
        more: int | None = None,
        within: tuple[int, int] | None = None,
        counted: bool = False,
    ) -> None:
        super().__init__([])
        self.counted = counted  # whether the number on the tape is one that the loop carries (see counters.py)
        self.kind, self.value, self.terms, self.offset, self.within = kind, value, terms, offset, within
        ends = self.ends()
        if terms is not None and ends is None:  # of a loop with a condition
            most = sum([abs(n) * MANY for n in terms.values()]) + abs(offset)
        most = (CARRIED if kind is int else inf) if most is None else most
        self.most, self.more = most if ends is None else max(map(abs, ends)), more
        if kind is int and self.most >= EXACT:
            raise Unsupported(
                "a whole number that changes from one iteration to the next may become too large for a float"
            )

    @property
    def loop(self) -> Any:
        """The only loop by whose iterations it changes; None where there is none, or several."""
        return next(iter(self.terms)) if self.terms is not None and len(self.terms) == 1 else None

    @property
    def whole(self) -> Any:
        """The number on the tape, made from constants and from the numbers of iterations alone, as an index must be."""
        if not self.counted or self.terms is None:
            return self.value
        parts = [loop.iteration * float(n) for loop, n in self.terms.items()]
        return sum(parts[1:], parts[0]) + float(self.offset)

    def at(self, iteration: int) -> int:
        """The number in an iteration of its only loop."""
        assert self.terms is not None
        return self.terms[self.loop] * iteration + self.offset

    def ends(self) -> tuple[int, int] | None:
        """Numbers that it is never below and never above, where they are known."""
        if self.terms is None:
            return self.within
        ends = least(self), -least(less(0, self))
        return None if -inf in (ends[0], -ends[1]) else ends  # type: ignore[return-value]


Affine = tuple[dict[Any, int], int]


def affine(x: Any) -> Affine | None:
    """What a whole number is made from: by what the number of each loop's iteration is multiplied, and what is added."""
    if type(x) is int:
        return {}, x
    return None if type(x) is not Lane or x.terms is None else (x.terms, x.offset)


def less(a: Any, b: Any) -> Affine:
    """a - b, of two affine numbers."""
    (p, q), (r, s) = (x if type(x) is tuple else affine(x) for x in (a, b))  # type: ignore[misc]
    found = {loop: n for loop in {**p, **r} if (n := p.get(loop, 0) - r.get(loop, 0))}
    return found, q - s


def interval(x: Any) -> tuple[int, int] | None:
    """Numbers that a whole number is never below and never above, where they are known."""
    if type(x) is int:
        return x, x
    return x.ends() if type(x) is Lane and x.kind is int else None


def least(x: Any) -> float:
    """A lower bound of an affine number over all iterations of its loops. An inner loop may be shorter in some of them.

    It is a whole number, or -inf where a loop with a condition counts down.
    """
    found = x if type(x) is tuple else affine(x)
    assert found is not None
    terms: dict[Any, int] = dict(found[0])
    offset: int = found[1]
    while terms:
        loop = max(terms, key=lambda r: r.depth)
        by = terms.pop(loop)
        if by > 0:
            continue
        if loop.items is None:
            return -inf
        last = affine(loop.items.iterations if loop.items.limit is None else loop.items.limit)
        assert last is not None
        for outer, n in last[0].items():
            terms[outer] = terms.get(outer, 0) + by * n
        terms = {r: n for r, n in terms.items() if n}
        offset += by * (last[1] - 1)
    return offset


def binary(m: Machine, op: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """a op b, where one is a Lane. Rows in which Python would raise are lost."""
    if op in BITS and type(a) is Lane and a.kind is int and type(b) is int:
        op, b = _as_arithmetic(op, b)
    x, y = plain(a), plain(b)
    if isinstance(a, Value) or isinstance(b, Value):
        return op(x, y)
    kinds = {x.kind if type(x) is Lane else type(x) for x in (a, b)}
    if op is operator.pow and type(b) is Lane and _finite_power(a, b):
        return Lane(float, engine.apply(OPS["pow"], x, y))
    if not kinds <= {int, float}:
        raise Unsupported("an operation on a plain number that changes from one iteration to the next")
    if op is operator.pow and float in kinds:
        y = engine.apply(OPS["pow"], x, y)
        finite = m.masks.compare("lt", abs(y), inf)
        lose(m, m.masks.negate(finite), "a power of plain numbers without a finite result")
        return Lane(float, y)
    if op in DIVISIONS:
        return _division(m, op, a, b, kinds)
    if op not in SIMPLE:
        raise Unsupported("an operation on a plain number that changes from one iteration to the next")
    sizes = [n.most if type(n) is Lane else abs(n) for n in (a, b)]
    most = sizes[0] * sizes[1] if op is operator.mul else sum(sizes)
    if float in kinds:
        return Lane(float, op(x, y), most=most if most < LARGE else inf)
    terms, offset = _affine(op, a, b)
    within = None if terms is not None else _within(op, interval(a), interval(b))
    if within is not None:
        x, y = (n.whole if type(n) is Lane else n for n in (a, b))
    more = None
    if op is not operator.mul and type(b) is int and a.more is not None:
        more = a.more + (b if op is operator.add else -b)
    elif op is operator.add and type(a) is int and b.more is not None:
        more = b.more + a
    counted = terms is not None and any(type(n) is Lane and n.counted for n in (a, b))
    found = _without_sign_of_zero(op(x, y), a, b) if op is operator.mul else op(x, y)
    return Lane(int, found, terms, offset, most, more, within, counted)


def _without_sign_of_zero(found: Any, a: Any, b: Any) -> Any:
    """A product or a quotient of whole numbers: the float is -0.0 where 0 meets a negative number, and the int is 0."""
    ends = [interval(x) for x in (a, b)]
    signed = any(of is None or of[0] < 0 for of in ends)
    return engine.apply(OPS["add"], found, 0.0) if signed else found


def _within(op: Callable[[Any, Any], Any], a: tuple[int, int] | None, b: tuple[int, int] | None) -> Any:
    """Where a sum, a difference or a product lies, of numbers that lie between these."""
    ends = [op(p, q) for p in a or () for q in b or ()]
    return (min(ends), max(ends)) if ends else None


def _as_arithmetic(op: Callable[[Any, Any], Any], b: int) -> tuple[Callable[[Any, Any], Any], int]:
    """x << b, x >> b and x & b of whole numbers as x * c, x // c and x % c."""
    if op is operator.and_ and b >= 0 and b & (b + 1) == 0:  # the last bits
        return operator.mod, b + 1
    if op is not operator.and_ and 0 <= b < 53:
        return (operator.mul if op is operator.lshift else operator.floordiv), 2**b
    raise Unsupported("an operation on the bits of a plain number that changes")


def _finite_power(base: Any, exponent: Lane) -> bool:
    """Whether a power of a plain number raises in no iteration: between its ends, a power of a positive number is between."""
    ends = exponent.ends()
    if type(base) is not float or not base > 0.0 or ends is None:
        return False
    try:
        return all(base**n < inf for n in ends)
    except OverflowError:
        return False


def _division(m: Machine, op: Callable[[Any, Any], Any], a: Any, b: Any, kinds: set[type]) -> Any:
    """a / b, a // b or a % b. Of whole numbers below 2**53, the rounded quotient is on the right side of each whole number."""
    x, y = plain(a), plain(b)
    if type(b) is Lane:
        lose(m, m.masks.compare("eq", y, 0.0), "a division of plain numbers by zero")
    elif not 0 < abs(b) < EXACT:
        raise Unsupported("a division of plain numbers by zero, or by a very large one")
    if op is operator.truediv:
        return Lane(float, engine.apply(OPS["div"], x, y))
    if float in kinds:
        return Lane(float, engine.apply(OPS[DIVISIONS[op]], x, y))
    x = a.whole if type(a) is Lane else x
    whole = engine.apply(OPS["floor"], engine.apply(OPS["div"], x, y))
    sizes = [n.most if type(n) is Lane else abs(n) for n in (a, b)]
    if op is operator.floordiv:
        whole = _without_sign_of_zero(whole, 1, b)
        within = _within(op, interval(a), (b, b)) if type(b) is int else None
        return Lane(int, whole, most=sizes[0], within=within)
    counted = type(b) is int and (affine(a) is not None or a.within is not None)
    within = None if not counted else (0, b - 1) if b > 0 else (b + 1, 0)
    return Lane(int, x - whole * y, most=sizes[1], within=within)


def standard(m: Machine, f: Callable[..., Any], same: Callable[..., Any], args: list[Any]) -> Any:
    """f(*args) of plain numbers. A function of Python's `math` raises an exception where `same` has no finite result."""
    y = same(*[plain(x) for x in args])
    if f.__name__ not in BOUNDED or not all((x.most if type(x) is Lane else abs(x)) < inf for x in args):
        finite = m.masks.compare("lt", abs(y), inf)
        lose(m, m.masks.negate(finite), "a function of plain numbers without a finite result")
    return Lane(float, y)


def lose(m: Machine, rows: Mask, why: str) -> None:
    """Let these rows run on their own. Where no others are here, the function is not merged."""
    rows = m.masks.both_of(m.here, rows)
    if rows is m.here:
        raise Unsupported(why)
    if rows is not FALSE:
        m.lose(rows, why)


def _affine(op: Callable[[Any, Any], Any], a: Any, b: Any) -> tuple[dict[Any, int] | None, int]:
    first, second = affine(a), affine(b)
    if first is None or second is None:
        return None, 0
    (p, q), (r, s) = first, second
    if op is operator.mul:
        if p and r:
            return None, 0
        by, (terms, offset) = (q, second) if not p else (s, first)
        return {loop: n * by for loop, n in terms.items() if n * by}, offset * by
    if op is operator.add:
        r, s = {loop: -n for loop, n in r.items()}, -s
    return less((p, q), (r, s))


def unary(m: Machine, op: Callable[[Any], Any], a: Lane) -> Any:
    """op a"""
    if op is operator.pos:
        return a
    if op is operator.neg:
        return binary(m, operator.mul, a, -1)
    raise Unsupported("an operation on a plain number that changes from one iteration to the next")


def plain(x: Any) -> Any:
    """The number of a Lane on the tape; anything else as it is."""
    return x.value if type(x) is Lane else x
