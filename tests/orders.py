# ruff: noqa: E501, SIM905
"""Derivatives of orders 1 to 4 of every op, against mpmath: what the tests hold, and tools/orders.py writes down.

`true(name, args, by)` differentiates the oracle's value numerically at many digits, without a look at any rule.
`bounded(text, args)` runs the text of a tape at 60 digits beside a bound for what doubles may lose on the same way:
each instruction passes on the errors of its operands through its partials, and adds a rounding of its own.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import mpmath
from mpmath import mp, mpf

import oracle
from bounds import EXCEPTIONS, USUAL
from micrograd import engine, grad, jit
from micrograd.ops import OF_RULES, OPS

ORDERS = 4
EPSILON = mpf(2) ** -52
inf, nan = math.inf, math.nan
LEFT_OUT = {"philox", "normal"} | OF_RULES  # random bits have no derivative
STEPS = {"floordiv", "floor", "ceil", "round", "trunc", "sign", "lt", "le", "gt", "ge", "eq", "ne"}
Derivative = tuple[int, ...]  # the inputs by which to differentiate, in order


def function(name: str) -> Callable[..., Any]:
    """The op as a function of its inputs, one by one."""
    op = OPS[name]
    return lambda *xs: engine.apply(op, list(xs)) if op.arity < 0 else engine.apply(op, *xs)


def derivative(name: str, by: Derivative) -> Callable[..., Any]:
    """Nested gradients of the op."""
    f = function(name)
    for i in by:
        f = grad(f, i)
    return f


def derivatives(inputs: int, order: int) -> list[Derivative]:
    """Every partial derivative of an order, one for each set of inputs."""
    return list(itertools.combinations_with_replacement(range(inputs), order))


def digits(args: Sequence[float]) -> int:
    """How many digits differences need: as many more as the inputs are small or large, and for what exp makes of them."""
    size = max((abs(math.log10(abs(x))) for x in args if x), default=0.0)
    return int(60 + 3 * size + max((abs(x) for x in args if abs(x) < 1000), default=0.0))


def true(name: str, args: Sequence[float], by: Derivative) -> Any:
    """The derivative as mpmath finds it by differences of the value, to about 25 digits."""
    reference = oracle.REFERENCE[name]
    value = (lambda *xs: reference.value(list(xs))) if reference.takes_list else reference.value
    counts = tuple(by.count(i) for i in range(len(args)))
    with mp.workdps(digits(args)):
        return mpmath.diff(value, tuple(map(mpf, args)), counts)


def _room(name: str) -> float:
    bound = EXCEPTIONS.get((name, 0))
    return bound.ulps([1.0, 1.0]) if bound and name != "digamma" else USUAL


def bounded(text: str, args: Sequence[float]) -> tuple[Any, Any]:
    """What the tape of this text returns at 60 digits, and how far off a run of it in doubles may be."""
    values: list[Any] = []
    errors: list[Any] = []
    with mp.workdps(max(60, digits(args))):
        for line in text.splitlines():
            words = line.split()
            if words[0] == "return":
                place = int(words[1][1:])
                return values[place], errors[place]
            name, operands = words[2], words[3:]
            if name in ("input", "const"):
                values.append(mpf(args[int(operands[0])]) if name == "input" else mpf(float(operands[0])))
                errors.append(mpf(0))
                continue
            places = [int(w[1:]) for w in operands]
            xs, reference = [values[p] for p in places], oracle.REFERENCE[name]
            inputs = [xs] if reference.takes_list else xs
            y = reference.value(*inputs)
            slopes = [s if errors[p] else 0 for s, p in zip(_slopes(reference, inputs, places, errors), places)]
            passed = mp.fsum(abs(s) * errors[p] for s, p in zip(slopes, places))
            values.append(y)
            errors.append(passed + _room(name) * EPSILON * abs(y) + mpf(5e-324))
    raise AssertionError("a tape ends in a return")


def _slopes(reference: Any, inputs: list[Any], places: list[int], errors: list[Any]) -> Sequence[Any]:
    if not any(errors[p] for p in places):
        return [0] * len(places)
    return list(reference.partials(*inputs))


def text_of(name: str, args: Sequence[float], by: Derivative) -> str:
    """The tape of a derivative."""
    return str(jit(derivative(name, by)).tape(*args))


# ---- where to look


def ordinary(name: str) -> list[list[float]]:
    """Points at which the op is smooth, near 0 and of plain size."""
    if name == "where":
        return [[1.0, 2.0, 3.0], [-2.0, 2.0, 3.0]]
    if oracle.REFERENCE[name].takes_list:
        return [[0.3, -1.2, 2.5, 0.7], [1.0, 1.0, 1.0, 1.0], [0.0, 2.0, 0.0, 3.0]]
    low: dict[str, list[float]] = {"above 1": [1.25, 3.0], "within 1": [-0.5, 0.8, 1e-3], "order": [2.0, 3.0],
                                   "within 1/2": [-0.3, 0.2, 0.45]}  # fmt: skip
    usual = [0.3, 1.7, 1e-3, 4.5]
    signed = [0.3, -1.7, 2.5, -0.6, 1e-3, -4.5]
    columns = []
    for domain in oracle.REFERENCE[name].domains:
        column = low.get(domain) or (
            signed if domain in ("any", "nonzero", "small", "small nonzero", "gamma") else usual
        )
        columns.append(column if domain != "above 0.5" else [0.75, 1.5, 4.0])
    if len(columns) == 1:
        return [[x] for x in columns[0]]
    return [[column[(i + shift) % len(column)] for column, shift in zip(columns, (0, 1, 3))] for i in range(4)]


SMOOTH_AT_ZERO = ("exp exp2 expm1 log1p sin cos tan asin atan sinh cosh tanh asinh atanh erf erfc sigmoid sigmoid_slope "
                  "softplus silu gelu").split()  # fmt: skip


def smooth_special(name: str) -> list[list[float]]:
    """0, tiny and large inputs at which the op is smooth: their exact derivatives are known."""
    op = OPS[name]
    if name in SMOOTH_AT_ZERO:
        points = [[0.0], [1e-9], [-1e-9], [1e-300], [-1e-300], [5e-324]]
        if name not in ("asin", "atanh", "sin", "cos", "tan"):
            points += [[30.0], [700.0]] + ([[-30.0], [-700.0]] if name != "log1p" else [])
        return points
    more: dict[str, list[list[float]]] = {
        "log": [[1e-9], [1e9]], "log2": [[1e-9], [1e9]], "log10": [[1e-9], [1e9]], "sqrt": [[1e-9], [1e9], [1e30]],
        "cbrt": [[1e-9], [-1e9]], "acosh": [[1e9], [1e30]], "asinh": [[1e9], [-1e30]], "atan": [[1e9], [-1e30]],
        "hypot": [[1e30, 1.0], [1.0, 1e-9], [0.0, 2.0], [-3.0, 0.0]], "atan2": [[0.0, 2.0], [1e-9, -1.0], [3.0, 0.0]],
        "pow": [[2.0, 0.0], [3.0, 1.0], [2.0, 2.0], [1.0, 0.0], [1e-9, 2.0], [0.5, 30.0]],
        "elu": [[2.0, 0.5], [800.0, 0.5], [1e30, 2.0], [-30.0, 0.5]], "div": [[0.0, 3.0], [1e9, 1e-9]],
        "max": [[800.0, 1.0]], "relu": [[800.0], [-5.0]], "leaky_relu": [[800.0, 0.1]], "lgamma": [[1e9], [50.0]],
        "digamma": [[1e9], [50.0]], "mul": [[0.0, 0.0]], "fma": [[0.0, 0.0, 0.0]],
        "logsumexp": [[1000.0, 1000.0], [0.0, 0.0, 0.0], [-30.0, 0.0, -30.0]], "prod": [[0.0, 0.0, 5.0]],
    }  # fmt: skip
    return more.get(name, []) if op else []


# What the conventions and the limits say where there is no derivative in the usual sense: (op, inputs, by, expected).
CONVENTIONS: list[tuple[str, tuple[float, ...], Derivative, float]] = [
    ("relu", (0.0,), (0,), 0.0), ("relu", (0.0,), (0, 0), 0.0), ("abs", (0.0,), (0,), 0.0), ("abs", (0.0,), (0, 0), 0.0),
    ("leaky_relu", (0.0, 0.1), (0,), 0.1), ("leaky_relu", (0.0, 0.1), (0, 1), 1.0), ("leaky_relu", (0.0, 0.1), (1, 0), 1.0),
    ("elu", (0.0, 2.0), (0,), 2.0), ("elu", (0.0, 2.0), (0, 0), 2.0), ("elu", (0.0, 2.0), (0, 1), 1.0),
    ("elu", (0.0, 2.0), (1, 0), 1.0), ("elu", (0.0, 2.0), (0, 0, 0), 2.0), ("elu", (2.0, inf), (0, 0), 0.0),
    ("max", (2.0, 2.0), (0,), 0.5), ("max", (2.0, 2.0), (0, 1), 0.0), ("min", (2.0, 2.0), (1,), 0.5),
    ("min", (2.0, 2.0), (1, 0), 0.0), ("hypot", (0.0, 0.0), (0,), 0.0), ("hypot", (0.0, 0.0), (0, 1), 0.0),
    ("hypot", (0.0, 0.0), (0, 0), 0.0), ("copysign", (0.0, 1.0), (0,), 0.0), ("copysign", (-2.0, 1.0), (0,), -1.0),
    ("copysign", (-2.0, 1.0), (0, 0), 0.0), ("pow", (0.0, 2.0), (0, 0), 2.0), ("pow", (0.0, 2.0), (0, 0, 0), 0.0),
    ("pow", (0.0, 3.0), (0, 0, 0), 6.0), ("pow", (0.0, 2.0), (1,), 0.0), ("pow", (0.0, 2.0), (1, 0), 0.0),
    ("pow", (0.0, 2.0), (0, 1), 0.0), ("pow", (0.0, 2.0), (1, 1), 0.0), ("pow", (0.0, 2.0), (1, 1, 1), 0.0),
    ("pow", (0.0, 0.0), (0,), 0.0), ("pow", (0.0, 0.0), (0, 0), 0.0), ("pow", (0.0, 0.0), (1,), 0.0),
    ("pow", (2.0, 0.0), (0, 1), 0.5), ("pow", (2.0, 0.0), (1, 0), 0.5), ("pow", (-2.0, 3.0), (0, 0), -12.0),
    ("pow", (inf, -1.0), (1,), 0.0), ("pow", (inf, -1.0), (1, 0), 0.0), ("pow", (nan, 0.0), (0,), 0.0),
    ("sqrt", (0.0,), (0,), inf), ("sqrt", (0.0,), (0, 0), -inf), ("sqrt", (0.0,), (0, 0, 0), inf),
    ("cbrt", (0.0,), (0,), inf), ("cbrt", (0.0,), (0, 0), -inf), ("log", (0.0,), (0,), inf), ("log", (0.0,), (0, 0), -inf),
    ("log", (0.0,), (0, 0, 0), inf), ("asin", (1.0,), (0,), inf), ("asin", (1.0,), (0, 0), inf), ("asin", (-1.0,), (0, 0), -inf),
    ("asin", (1.0,), (0, 0, 0), inf), ("acos", (1.0,), (0,), -inf), ("acos", (1.0,), (0, 0), -inf), ("atanh", (1.0,), (0, 0), inf),
    ("atanh", (-1.0,), (0, 0), -inf), ("atanh", (1.0,), (0, 0, 0), inf), ("acosh", (1.0,), (0,), inf), ("acosh", (1.0,), (0, 0), -inf),
    ("log1p", (-1.0,), (0, 0), -inf), ("div", (1.0, 0.0), (1,), -inf), ("div", (1.0, 0.0), (1, 1), inf),
    ("atan2", (inf, 1.0), (0,), 0.0), ("atan2", (inf, 1.0), (0, 0), 0.0), ("hypot", (inf, 1.0), (0,), 1.0), ("hypot", (inf, 1.0), (1,), 0.0),
    ("hypot", (inf, 1.0), (0, 0), 0.0), ("hypot", (-inf, 1.0), (0,), -1.0), ("hypot", (1.0, inf), (0, 1), 0.0),
    ("logsumexp", (inf, 0.0), (0,), 1.0), ("logsumexp", (inf, 0.0), (0, 0), 0.0), ("logsumexp", (-inf, 0.0), (0, 1), 0.0),
    ("mod", (7.0, 2.0), (1, 1), 0.0), ("fmod", (7.0, 2.0), (1, 1), 0.0), ("where", (1.0, 2.0, 3.0), (1, 2), 0.0),
]  # fmt: skip
CONVENTIONS += [(name, (x, 2.0)[: OPS[name].arity], (0,) * n, 0.0) for name in sorted(STEPS) for x in (0.0, 2.5, inf, -inf)
                for n in (1, 2)]  # fmt: skip

_FLAT = {"atan": (0, 0), "tanh": (0, 0), "asinh": (0, 0), "erf": (0, 0), "erfc": (0, 0), "sigmoid": (0, 0), "sigmoid_slope": (0, 0),
         "softplus": (0, 1), "silu": (0, 1), "gelu": (0, 1), "relu": (0, 1), "exp": (0, inf), "exp2": (0, inf), "expm1": (0, inf)}  # fmt: skip
_END = {"acosh": 0.0, "log": 0.0, "log2": 0.0, "log10": 0.0, "log1p": 0.0, "sqrt": 0.0, "cbrt": 0.0}


def at_infinity() -> list[tuple[str, tuple[float, ...], Derivative, float]]:
    """The limits at ±inf, and far out, where they are the same to the last digit."""
    found = []
    for name, (left, right) in _FLAT.items():
        for x, first in ((-inf, left), (-1e300, left), (inf, right), (1e300, right)):
            if name == "asinh" and math.isfinite(x):
                continue
            for n in range(1, ORDERS + 1):
                grows = name.startswith("exp") and x > 0
                found.append((name, (x,), (0,) * n, float(first) if n == 1 or grows else 0.0))
    found += [(name, (inf,), (0,) * n, y) for name, y in _END.items() for n in range(1, ORDERS + 1)]
    for a in (710.0, 1e300, inf):
        found += [("elu", (a, 0.5), by, 0.0) for by in ((0, 0), (0, 1), (1,), (1, 1), (0, 0, 0), (0, 0, 0, 0))]
    return found


class Checked(NamedTuple):
    """One derivative: what it is, what came out, and how far off doubles may be."""

    by: Derivative
    args: Sequence[float]
    got: float
    want: Any
    room: Any

    @property
    def error(self) -> float:
        """The error as a part of what is allowed; 1 is the limit."""
        if not mpmath.isfinite(mpf(self.got)):
            return inf
        off = abs(mpf(self.got) - self.want)
        return float(off / self.room) if off > self.room / 2**20 else 0.0


def check(name: str, args: Sequence[float], by: Derivative, got: float) -> Checked:
    """Compare one derivative with mpmath's; the tape of it, at 60 digits, has to be the true derivative too."""
    want = true(name, args, by)
    exact, error = bounded(text_of(name, args, by), args)
    noise = mpf(10) ** (20 - digits(args))  # of the differences
    assert abs(exact - want) <= abs(want) * mpf(10) ** -9 + noise, (
        f"the rule of {name} is wrong: {name}{tuple(args)} by {by}, {exact} not {want}"
    )
    return Checked(by, args, got, want, 2 * error + abs(want) * EPSILON + noise + mpf(10) ** -320)


def known(name: str) -> bool:
    """Whether mpmath can say what the derivatives are."""
    return name not in STEPS | LEFT_OUT


def wanted(name: str, by: Derivative) -> bool:
    """Whether the derivative is defined: the one of zeta by its order is not known."""
    return not (name == "zeta" and 0 in by)
