"""The page's op table, made from ops.py, run in node: the same values and partials as Python's and PyTorch's."""

from __future__ import annotations

import math
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from learn.in_node import needs_node, run_in_node
from micrograd.ops import OPS, partials

ROOT = Path(__file__).parents[2]

# Python's functions are glibc's, the browser's are V8's fdlibm: each is within an ulp or so of the truth, and a rule of
# several steps adds its own. Measured over the cases below: at most 5 (the partial of cbrt), most ops 2.
ULPS = 8
# The page has a gamma function of its own: Stirling's series, within 40 ulp of the C library's here.
ULPS_OF = {"gamma": 64, "lgamma": 64, "digamma": 64, "zeta": 64}

POINTS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -3.0, 1e-8, -1e-8, 0.1, 3.7, -2.2, 10.0, 30.0, -30.0, 710.0, -745.0]
POINTS += [1e300, -1e300, 5e-324, math.inf, -math.inf, math.nan, 2.5, -2.5, 3.5, 1e16, 26.5]

RUN = """
const plain = (x) => (Object.is(x, -0) ? "-0" : x);
return data.map(([name, args]) => {
  const xs = args.map(Number), y = ops.valueOf(name, xs);
  return [y, ...ops.partialsOf(name, xs, y)].map(plain);
});
"""


def plain(x: float) -> Any:
    if x == 0 and math.copysign(1.0, x) < 0:
        return "-0"
    return x if math.isfinite(x) else {math.inf: "Infinity", -math.inf: "-Infinity"}.get(x, "NaN")


def in_node(cases: list[tuple[str, list[float]]]) -> list[list[float]]:
    asked = [[name, [plain(x) for x in args]] for name, args in cases]
    return [[float(x) for x in row] for row in run_in_node(RUN, asked, "ops.js")]


def cases(name: str) -> list[list[float]]:
    op, dice = OPS[name], random.Random(name)
    if op.arity == 1:
        return [[x] for x in POINTS] + [[dice.uniform(-4, 4)] for _ in range(300)]
    if op.arity == 2:
        pairs = [[x, z] for x in POINTS for z in POINTS]
        return pairs + [[dice.uniform(-4, 4), dice.uniform(-4, 4)] for _ in range(300)]
    if name in ("philox", "normal"):  # of counts
        counts = [0.0, -0.0, 1.0, 6.0, 7.0, 2.0**35 + 3, 2.0**53 - 1, -1.0, -2.0, 2.0**53, 0.5, math.nan, -math.inf]
        return [[k, r, d] for k in counts for r in counts[::3] for d in counts]
    if op.arity == 3:
        return [[x, z, 0.25] for x in (0.0, 1.0, math.nan, -2.0) for z in POINTS]
    return [[dice.uniform(-3, 3) for _ in range(2 * dice.randint(1, 5))] for _ in range(50)] + [
        [0.0, 2.0, 3.0, 0.0], [math.inf, 1.0], [-math.inf, -math.inf], [1000.0, 999.0], [math.nan, 1.0]]  # fmt: skip


def ulps(got: float, wanted: float, scale: float) -> float:
    """How far apart two results are, in the spacing of doubles at `scale` or at the wanted one, whichever is wider."""
    if got == wanted or (got != got and wanted != wanted):
        return 0.0
    if not (math.isfinite(got) and math.isfinite(wanted)):
        return math.inf
    return abs(got - wanted) / max(math.ulp(wanted), math.ulp(scale), 5e-324)


def test_the_generated_file_is_not_stale() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "gen_ops_js.py"), "--check"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@needs_node
def test_every_row_of_the_table_is_in_the_page() -> None:
    assert run_in_node("return Object.keys(ops.OPS);", None, "ops.js") == list(OPS)


@needs_node
@pytest.mark.parametrize("name", OPS)
def test_values_and_partials_are_those_of_python(name: str) -> None:
    op, asked = OPS[name], cases(name)
    for args, got in zip(asked, in_node([(name, args) for args in asked]), strict=True):
        y = op.value(args) if op.arity < 0 else op.value(*args)
        wanted = [y, *partials(op, args, y)]
        for k, (g, w) in enumerate(zip(got, wanted, strict=True)):
            # gelu', silu' and logsumexp add terms of opposite sign: their last bits are those of the terms
            scale = (
                max(1.0, *map(abs, args))
                if name in ("gelu", "silu", "logsumexp", "lgamma", "digamma") and math.isfinite(w)
                else 0.0
            )
            scale = scale if math.isfinite(scale) else 0.0
            assert ulps(g, w, scale) <= ULPS_OF.get(name, ULPS), (
                f"{name}{args} {'value' if k == 0 else f'partial {k - 1}'}: {g} != {w}"
            )


TORCH = {
    "abs": "abs", "exp": "exp", "expm1": "expm1", "log": "log", "log1p": "log1p", "log2": "log2", "log10": "log10",
    "sqrt": "sqrt", "sin": "sin", "cos": "cos", "tan": "tan", "asin": "asin", "acos": "acos", "atan": "atan",
    "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "asinh": "asinh", "acosh": "acosh", "atanh": "atanh", "erf": "erf",
    "erfc": "erfc", "sigmoid": "sigmoid", "relu": "relu", "softplus": "nn.functional.softplus",
    "silu": "nn.functional.silu", "gelu": "nn.functional.gelu", "elu": "nn.functional.elu",
    "leaky_relu": "nn.functional.leaky_relu", "add": "add", "sub": "sub", "mul": "mul", "div": "div", "pow": "pow",
    "min": "minimum", "max": "maximum", "atan2": "atan2", "hypot": "hypot", "where": "", "logsumexp": "", "prod": "",
    "sum": "", "mean": "", "dot": "",
}  # fmt: skip


@needs_node
@pytest.mark.parametrize("name", TORCH)
def test_values_and_partials_are_those_of_torch(name: str) -> None:
    torch = pytest.importorskip("torch")
    op, dice = OPS[name], random.Random(name)
    arity = {"elu": 1, "leaky_relu": 1}.get(name, op.arity)
    low, high = {
        "log": (0.1, 4),
        "log2": (0.1, 4),
        "log10": (0.1, 4),
        "sqrt": (0.1, 4),
        "acosh": (1.1, 4),
        "pow": (0.1, 3),
    }.get(name, (-0.9, 0.9))
    points = [[dice.uniform(low, high) for _ in range(arity if arity > 0 else 6)] for _ in range(25)]
    whole = [[*args, *op.defaults] if name in ("elu", "leaky_relu") else args for args in points]
    for args, got in zip(points, in_node([(name, args) for args in whole]), strict=True):
        xs = [torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in args]
        if op.arity < 0:
            row = torch.stack(xs)
            y = row[:3] @ row[3:] if name == "dot" else getattr(torch, name)(row, 0)
        elif name == "where":
            y = torch.where(xs[0] != 0, xs[1], xs[2])
        else:
            function: Any = torch
            for part in TORCH[name].split("."):
                function = getattr(function, part)
            y = function(*xs)
        y.backward()
        assert got[0] == pytest.approx(y.item(), rel=1e-13, abs=1e-15)
        for slope, x in zip(got[1:], xs, strict=False):
            assert slope == pytest.approx(0.0 if x.grad is None else x.grad.item(), rel=1e-12, abs=1e-15)
