"""What PyTorch gives for a program, in double precision: an oracle that shares neither values nor slopes with this package."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from fuzz.exact import NoValue
from fuzz.generate import Program, build
from micrograd.ops import OPS

try:
    import torch
except ImportError:
    torch = None  # type: ignore[assignment]
MISSING = "comparisons with PyTorch are left out: it is not installed (pip install torch==2.13.0)"

# The ops that PyTorch has under the same name. Not digamma: its slope there has 9 to 10 digits (mpmath has the others).
SAME = ["abs", "acos", "acosh", "add", "asin", "asinh", "atan", "atan2", "atanh", "ceil", "copysign", "cos", "cosh",
        "div", "eq", "erf", "erfc", "exp", "exp2", "floor", "fmod", "ge", "gt", "hypot", "le", "lgamma",
        "log", "log10", "log1p", "log2", "lt", "mul", "ne", "neg", "pow", "round", "sign", "sin", "sinh", "sqrt", "sub",
        "tan", "trunc"]  # fmt: skip


def _with_slope(value: Any, slope: Any) -> Any:
    """A function with a slope of its own. PyTorch computes some from the result, 1 - y² of tanh: near 1 that has few digits."""
    return lambda a: value(a).detach() + slope(a).detach() * (a - a.detach())


def _functions() -> dict[str, Any]:
    """PyTorch's function for each op that it has."""
    f = torch.nn.functional
    expm1 = _with_slope(torch.expm1, torch.exp)
    zero = torch.tensor(0.0, dtype=torch.float64)
    others: dict[str, Any] = {
        "min": torch.minimum, "max": torch.maximum, "floordiv": lambda a, b: torch.floor(a / b), "mod": torch.remainder,
        "fma": lambda a, b, c: a * b + c, "relu": f.relu, "leaky_relu": lambda a, s: torch.where(a > 0, a, s * a),
        "elu": lambda a, s: torch.where(a > 0, a, s * expm1(torch.minimum(a, zero))), "gelu": f.gelu, "silu": f.silu,
        "expm1": expm1, "tanh": _with_slope(torch.tanh, lambda a: torch.cosh(a) ** -2),
        "sigmoid": _with_slope(torch.sigmoid, lambda a: torch.sigmoid(a) * torch.sigmoid(-a)),
        "softplus": lambda a: torch.logaddexp(a, zero), "sigmoid_slope": lambda a: torch.sigmoid(a) * torch.sigmoid(-a),
        "where": lambda c, a, b: torch.where(c != 0, a, b), "sum": lambda *a: torch.stack(a).sum(),
        "mean": lambda *a: torch.stack(a).mean(), "prod": lambda *a: torch.stack(a).prod(),
        "logsumexp": lambda *a: torch.logsumexp(torch.stack(a), 0), "probit": torch.special.ndtri,
        "dot": lambda *a: (torch.stack(a[: len(a) // 2]) * torch.stack(a[len(a) // 2 :])).sum(),
    }  # fmt: skip
    return {name: getattr(torch, name) for name in SAME} | others


FUNCTIONS: dict[str, Any] = {} if torch is None else _functions()


class Torched:
    """A number of PyTorch with the operators of a Value."""

    def __init__(self, x: Any) -> None:
        self.x = x

    @classmethod
    def apply(cls, name: str, items: Sequence[Any]) -> Torched:
        """One op."""
        function = FUNCTIONS.get(name)
        if function is None:
            raise NoValue(name)
        given = [a.x if isinstance(a, Torched) else torch.tensor(float(a), dtype=torch.float64) for a in items]
        return cls(function(*given).to(torch.float64))

    def __bool__(self) -> bool:
        return bool(self.x != 0)

    def __int__(self) -> int:
        return int(self.x.item())

    def __round__(self, *digits: Any) -> Any:
        return round(self.x.item(), *digits)

    def __floor__(self) -> int:
        return math.floor(self.x.item())

    __hash__ = None  # type: ignore[assignment]


def _other(o: Any) -> Any:
    return o.x.item() if isinstance(o, Torched) else o


def _operator(name: str, turned: bool) -> Any:
    return lambda self, *o: Torched.apply(name, (*o, self) if turned else (self, *o))


def _comparison(name: str) -> Any:
    return lambda self, o: getattr(float, name)(self.x.item(), float(_other(o)))


for _name, _method in (("add", "add"), ("sub", "sub"), ("mul", "mul"), ("div", "truediv"), ("pow", "pow")):
    setattr(Torched, f"__{_method}__", _operator(_name, False))
    setattr(Torched, f"__r{_method}__", _operator(_name, True))
for _name in ("neg", "abs"):
    setattr(Torched, f"__{_name}__", _operator(_name, False))
for _name in ("__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__"):
    setattr(Torched, _name, _comparison(_name))


class _Math:
    def __getattr__(self, name: str) -> Any:
        op = OPS[name.removeprefix("whole_")]

        def function(*args: Any) -> Torched:
            items = [*args[0], *args[1]] if op.name == "dot" else list(args[0]) if op.arity < 0 else [*args]
            if 0 <= op.arity != len(items):
                items += op.defaults[len(items) - op.arity :]
            return Torched.apply(op.name, items)

        return function


def _no_transforms(f: Any) -> Any:
    raise NoValue("a transform inside")


def run(program: Program, xs: Sequence[float], direction: Sequence[float]) -> tuple[float, float] | None:
    """The value at a point and the derivative in a direction; None where PyTorch has not got all of it, or it is not finite."""
    if torch is None or not all(math.isfinite(x) and abs(x) < 1e10 for x in xs):
        return None
    leaves = [torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in xs]
    captured = [Torched(torch.tensor(x, dtype=torch.float64)) for x in program.captured]
    try:
        y = build(program, _Math(), captured, _no_transforms)(*map(Torched, leaves))
    except (NoValue, ArithmeticError, ValueError):
        return None
    if not isinstance(y, Torched):
        return float(y), 0.0
    if y.x.requires_grad:
        y.x.backward()
    slopes = [0.0 if v.grad is None else v.grad.item() for v in leaves]
    found = (
        y.x.item(),
        math.fsum(s * d for s, d in zip(slopes, direction)) if all(map(math.isfinite, slopes)) else math.nan,
    )
    return found if all(map(math.isfinite, found)) else None
