"""What a program gives to 30 digits: mpmath, and slopes written without a look at the table (tests/oracle.py)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from mpmath import mp, mpf

from fuzz.generate import Program, build
from micrograd.ops import OPS
from oracle import REFERENCE

DIGITS = 30


class NoValue(BaseException):
    """The program leaves the domain of one of its ops, or uses what mpmath has not got. No `except Exception` catches it."""


class Exact:
    """A number and its derivative in one direction."""

    def __init__(self, x: Any, t: Any) -> None:
        self.x, self.t = x, t

    @classmethod
    def apply(cls, name: str, items: Sequence[Any]) -> Exact:
        """One op."""
        reference = REFERENCE.get(name)
        if reference is None:
            raise NoValue(name)
        duals = [a if isinstance(a, Exact) else Exact(mpf(a), mpf(0)) for a in items]
        xs = [a.x for a in duals]
        try:
            inputs = (xs,) if reference.takes_list else tuple(xs)
            y, slopes = reference.value(*inputs), list(reference.partials(*inputs))
        except (ArithmeticError, ValueError, mp.NoConvergence) as error:
            raise NoValue(f"{name}: {error}") from error
        if any(isinstance(z, mp.mpc) or not mp.isfinite(z) or abs(z) > 1e100 for z in (y, *slopes)):
            raise NoValue(f"{name} at {xs}")
        return cls(mpf(y), mp.fsum(p * a.t for p, a in zip(slopes, duals)))

    def _other(self, other: Any) -> Any:
        return other.x if isinstance(other, Exact) else other

    def __lt__(self, o: Any) -> bool:
        return bool(self.x < self._other(o))

    def __le__(self, o: Any) -> bool:
        return bool(self.x <= self._other(o))

    def __gt__(self, o: Any) -> bool:
        return bool(self.x > self._other(o))

    def __ge__(self, o: Any) -> bool:
        return bool(self.x >= self._other(o))

    def __eq__(self, o: object) -> bool:
        return bool(self.x == self._other(o))

    def __ne__(self, o: object) -> bool:
        return bool(self.x != self._other(o))

    def __int__(self) -> int:
        return int(self.x)

    def __round__(self, *digits: Any) -> Any:
        return round(float(self.x), *digits)

    def __floor__(self) -> int:
        return int(mp.floor(self.x))

    __hash__ = None  # type: ignore[assignment]


def _operator(name: str, turned: bool) -> Any:
    return lambda self, *o: Exact.apply(name, (*o, self) if turned else (self, *o))


for _name, _method in (("add", "add"), ("sub", "sub"), ("mul", "mul"), ("div", "truediv"), ("pow", "pow")):
    setattr(Exact, f"__{_method}__", _operator(_name, False))
    setattr(Exact, f"__r{_method}__", _operator(_name, True))
for _name in ("neg", "abs"):
    setattr(Exact, f"__{_name}__", _operator(_name, False))


class _Math:
    def __getattr__(self, name: str) -> Any:
        op = OPS[name.removeprefix("whole_")]

        def function(*args: Any) -> Exact:
            items = [*args[0], *args[1]] if op.name == "dot" else list(args[0]) if op.arity < 0 else [*args]
            if 0 <= op.arity != len(items):
                items += op.defaults[len(items) - op.arity :]
            return Exact.apply(op.name, items)

        return function


def _no_transforms(f: Any) -> Any:
    raise NoValue("a transform inside")


def run(program: Program, xs: Sequence[float], direction: Sequence[float]) -> tuple[float, float] | None:
    """The value at a point and the derivative in a direction; None where the program has none to 30 digits."""
    if not all(math.isfinite(x) and abs(x) < 1e10 for x in xs):
        return None
    with mp.workdps(DIGITS):
        try:
            captured = [Exact(mpf(x), mpf(0)) for x in program.captured]
            y = build(program, _Math(), captured, _no_transforms)(
                *(Exact(mpf(x), mpf(d)) for x, d in zip(xs, direction))
            )
        except (NoValue, ArithmeticError, ValueError):
            return None
        return (float(y.x), float(y.t)) if isinstance(y, Exact) else (float(y), 0.0)
