"""An independent run of a program: dual numbers (value and derivative, forward) from the rules of the table, on floats.

With noise, every step is off by a few units in the last place: what that does to the result is what any other order of
rounding may do, so it bounds how far two right ways of running a program may be apart. A comparison whose operands are as
close as the noise makes the path uncertain, and is noted; so is what each comparison is away from a tie.
"""

from __future__ import annotations

import math
import random
from typing import Any

from micrograd import engine
from micrograd.ops import OPS, call, partials


class Run:
    """One run: where its noise comes from, and what it saw on its way."""

    def __init__(self, seed: int | None, ulps: float) -> None:
        self.rng, self.ulps = random.Random(seed), ulps
        self.path: list[bool] = []
        self.margins: list[tuple[float, float]] = []  # of each comparison: the difference, and its derivative
        self.jumps: list[float] = []  # what the steps of the program came to
        self.depth = 0  # of nested transforms
        self.largest = 0.0  # in size, of all values and derivatives on the way

    def noisy(self, x: Any) -> Any:
        if isinstance(x, Dual):
            return x
        self.largest = max(self.largest, abs(x)) if math.isfinite(x) else math.inf
        return x + self.rng.uniform(-self.ulps, self.ulps) * math.ulp(x) if self.ulps and math.isfinite(x) else x


STEPS = {"floor", "ceil", "round", "trunc", "sign", "floordiv", "mod", "fmod", "remainder", "copysign", "lt", "le", "gt",
         "ge", "eq", "ne", "min", "max", "relu", "leaky_relu", "elu", "abs"}  # fmt: skip
EXACT = {"neg", "where", *STEPS}


class Dual:
    """A value and its derivative in one direction; both are numbers, or Duals of a lower level where transforms nest."""

    def __init__(self, x: Any, t: Any, run: Run, level: int = 1) -> None:
        self.x, self.t, self.run, self.level = x, t, run, level

    def _apply(self, op: Any, args: Any) -> Any:
        items = list(args[0]) if op.arity < 0 else list(args)
        level = max(a.level for a in items if isinstance(a, Dual))
        ours = [isinstance(a, Dual) and a.level == level for a in items]
        xs = [a.x if mine else a for a, mine in zip(items, ours)]
        y = call(op, xs) if op.arity < 0 else call(op, *xs)
        self._note(op, xs, y)
        t: Any = 0.0
        for a, p, mine in zip(items, partials(op, xs, y), ours, strict=True):
            if not mine:
                continue
            if isinstance(a.t, float) and a.t == 0.0:  # 0 * inf is nan in a reverse sweep, and here it is 0: noted
                self.run.largest = self.run.largest if isinstance(p, Dual) or math.isfinite(p) else math.inf
            else:
                t = t + self.run.noisy(p) * a.t
        return Dual(y if op.name in EXACT else self.run.noisy(y), self.run.noisy(t), self.run, level)

    def _note(self, op: Any, xs: list[Any], y: Any) -> None:
        """Which side of a jump or a kink this is, for comparisons of runs."""
        if op.name not in STEPS or any(isinstance(x, Dual) for x in xs):
            return
        if op.name in ("floordiv", "mod", "fmod", "remainder"):
            quotient = 2 * xs[0] / xs[1] if xs[1] else 0.0
            self.run.jumps.append(math.floor(quotient) if math.isfinite(quotient) else 0.0)
        elif op.name in ("floor", "ceil", "round", "trunc"):
            self.run.jumps.append(y)
        else:
            other = xs[1] if op.arity == 2 and op.name not in ("leaky_relu", "elu", "copysign") else 0.0
            self.run.jumps.append(float((xs[0] > other) - (xs[0] < other)))

    def _compare(self, other: Any, test: Any) -> bool:
        (x, t), (a, b) = number(self), number(other)
        self.run.margins.append((x - a, t - b))
        self.run.path.append(bool(test(x, a)))
        return self.run.path[-1]

    def __lt__(self, o: Any) -> bool:
        return self._compare(o, lambda a, b: a < b)

    def __le__(self, o: Any) -> bool:
        return self._compare(o, lambda a, b: a <= b)

    def __gt__(self, o: Any) -> bool:
        return self._compare(o, lambda a, b: a > b)

    def __ge__(self, o: Any) -> bool:
        return self._compare(o, lambda a, b: a >= b)

    def __eq__(self, o: object) -> bool:
        return self._compare(o, lambda a, b: a == b)

    def __ne__(self, o: object) -> bool:
        return self._compare(o, lambda a, b: a != b)

    def _whole(self, how: Any, *digits: Any) -> Any:
        found = how(number(self)[0], *digits)
        self.run.jumps.append(float(found))
        return found

    def __int__(self) -> int:
        return int(self._whole(int))

    def __round__(self, *digits: Any) -> Any:
        return self._whole(round, *digits)

    def __floor__(self) -> int:
        return int(self._whole(math.floor))

    __hash__ = None  # type: ignore[assignment]


def _operator(name: str, turned: bool) -> Any:
    op = OPS[name]
    return lambda self, *o: self._apply(op, (*o, self) if turned else (self, *o))


for _name, _method in (("add", "add"), ("sub", "sub"), ("mul", "mul"), ("div", "truediv"), ("pow", "pow")):
    setattr(Dual, f"__{_method}__", _operator(_name, False))
    setattr(Dual, f"__r{_method}__", _operator(_name, True))
for _name in ("neg", "abs"):
    setattr(Dual, f"__{_name}__", _operator(_name, False))


def number(y: Any) -> tuple[float, float]:
    """The value and the derivative of a result, as numbers."""
    if not isinstance(y, Dual):
        return float(y), 0.0
    return number(y.x)[0], number(y.t)[0]


def grad_of(run: Run) -> Any:
    """grad for Duals: the derivative of a function of one, by another level of them."""

    def grad(f: Any) -> Any:
        def derivative(x: Any) -> Any:
            run.depth += 1
            level = 1 + run.depth  # the arguments of the program have level 1
            y = f(Dual(x, 1.0, run, level))
            run.depth -= 1
            return y.t if isinstance(y, Dual) and y.level == level else 0.0

        return derivative

    return grad


class Math:
    """The functions of micrograd.math for Duals (and for anything else that knows `_apply`).

    A function of constants is rounded too, so that it gets the noise of a run.
    """

    def __init__(self, run: Run | None = None) -> None:
        self.run = run

    def __getattr__(self, name: str) -> Any:
        op = OPS[name.removeprefix("whole_")]

        def function(*args: Any) -> Any:
            items = [*args[0], *args[1]] if op.name == "dot" else args[0] if op.arity < 0 else args
            for a in items:
                if isinstance(a, Dual):
                    return a._apply(op, (list(items),) if op.arity < 0 else tuple(items))
            y = engine.apply(op, *args)
            return y if self.run is None or op.name in EXACT or not isinstance(y, float) else self.run.noisy(y)

        return function
