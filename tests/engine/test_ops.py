"""Every op of the table, on both engines: values and partials against mpmath, special values, kinks, PyTorch."""
# ruff: noqa: E501, SIM905

from __future__ import annotations

import functools
import math

import mpmath
import pytest

import oracle
from bounds import EXCEPTIONS, allowed
from evaluate import bits, run
from micrograd.ops import OF_RULES, OPS

inf, nan = math.inf, math.nan
FIXED = [name for name, op in OPS.items() if op.arity > 0]
LISTS = [name for name, op in OPS.items() if op.arity < 0]


def test_the_table_has_every_op_that_was_promised():
    promised = """add sub mul div floordiv mod pow neg abs min max exp expm1 log log1p log2 log10 sqrt cbrt sin cos tan
    asin acos atan atan2 sinh cosh tanh asinh acosh atanh hypot erf erfc sigmoid relu leaky_relu elu softplus silu gelu
    floor ceil round sign where lt le gt ge eq ne sum prod dot mean logsumexp philox normal probit
    fmod remainder fma copysign exp2
    sigmoid_slope gamma lgamma digamma zeta trunc""".split()
    assert list(OPS) and set(promised) | OF_RULES == set(OPS)
    assert set(oracle.REFERENCE) == set(OPS)
    assert {name for name, _ in EXCEPTIONS} <= set(OPS)


@pytest.mark.parametrize("name", OPS)
def test_each_row_says_what_its_partials_are(name):
    op = OPS[name]
    assert len(op.rule) == len(op.partials) and all(op.rule)
    assert op.arity == -1 or op.arity == len(op.partials)


@pytest.mark.parametrize("name", OPS)
def test_value_and_partials_are_right_to_the_last_digits(twin, name):
    for args in oracle.points(name, count=15):
        y, partials = run(twin, name, args)
        value, slopes = oracle.exact(name, args)
        for slot, got, want in [(0, y, value), *((i + 1, g, w) for i, (g, w) in enumerate(zip(partials, slopes)))]:
            slot = min(slot, 1) if OPS[name].arity < 0 else slot
            error = oracle.ulps(got, want)
            assert error <= allowed(name, slot, args), f"{name}{tuple(args)}, slot {slot}: {got!r}, {error:.2f} ulp off"


@pytest.mark.parametrize("name", [n for n in OPS if "any" in oracle.REFERENCE[n].domains or n == "pow"])
def test_the_oracle_s_own_partials_are_the_derivatives_of_its_values(name):
    """The formulas above are written by hand too: here mpmath differentiates the values numerically."""
    steps = {"floordiv", "mod", "floor", "ceil", "round", "sign", "where", "lt", "le", "gt", "ge", "eq", "ne"}
    args = [mpmath.mpf(x) for x in (0.7, 1.3, 2.9)[: len(oracle.REFERENCE[name].domains)]]
    if name in steps:
        args[0] = mpmath.mpf("0.3")
    value, partials = oracle.REFERENCE[name].value, oracle.REFERENCE[name].partials(*args)
    for i, partial in enumerate(partials):
        slope = mpmath.diff(lambda x, i=i: value(*args[:i], x, *args[i + 1 :]), args[i])
        assert mpmath.almosteq(slope, partial, 1e-12, 1e-12)


SPECIAL = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    2.0,
    -3.0,
    1e-300,
    -1e-300,
    5e-324,
    1000.0,
    -1000.0,
    1e308,
    -1e308,
    inf,
    -inf,
    nan,
]


@pytest.mark.parametrize("name", FIXED)
def test_both_engines_give_the_same_bits_at_special_values(twins, name):
    arity = OPS[name].arity
    grid = [[x] for x in SPECIAL] if arity == 1 else [[x, y] for x in SPECIAL for y in SPECIAL]
    if arity == 3:
        grid = [[x, y, -2.0] for x, y in grid]
    for args in grid:
        (y, grads), (y_pure, grads_pure) = (run(twin, name, args) for twin in twins)
        assert bits(y) == bits(y_pure), f"{name}{tuple(args)}: C {y!r}, Python {y_pure!r}"
        assert [*map(bits, grads)] == [*map(bits, grads_pure)], f"{name}{tuple(args)}: C {grads}, Python {grads_pure}"


@pytest.mark.parametrize("name", LISTS)
def test_both_engines_give_the_same_bits_for_lists_of_special_values(twins, name):
    lists = [[x, y] for x in SPECIAL for y in SPECIAL] + [[x, 2.0, x, -0.0] for x in SPECIAL]
    for args in lists:
        (y, grads), (y_pure, grads_pure) = (run(twin, name, args) for twin in twins)
        assert bits(y) == bits(y_pure), f"{name}({args}): C {y!r}, Python {y_pure!r}"
        assert [*map(bits, grads)] == [*map(bits, grads_pure)], f"{name}({args}): C {grads}, Python {grads_pure}"


# ---- IEEE results: nothing raises, nothing becomes complex


@pytest.mark.parametrize(
    ("name", "args", "value"),
    [
        ("div", (1.0, 0.0), inf), ("div", (-1.0, 0.0), -inf), ("div", (1.0, -0.0), -inf), ("div", (0.0, 0.0), nan),
        ("div", (inf, inf), nan), ("div", (nan, 0.0), nan), ("floordiv", (1.0, 0.0), inf), ("floordiv", (-1.0, 0.0), -inf),
        ("floordiv", (0.0, 0.0), nan), ("mod", (1.0, 0.0), nan), ("mod", (inf, 2.0), nan), ("mod", (-1.0, 3.0), 2.0),
        ("mod", (1.0, -3.0), -2.0), ("floordiv", (-7.0, 2.0), -4.0), ("mul", (inf, 0.0), nan), ("sub", (inf, inf), nan),
        ("pow", (-8.0, 1 / 3), nan), ("pow", (0.0, -1.0), inf), ("pow", (-0.0, -1.0), -inf), ("pow", (0.0, -2.0), inf),
        ("pow", (10.0, 400.0), inf), ("pow", (-10.0, 401.0), -inf), ("pow", (nan, 0.0), 1.0), ("pow", (0.0, 0.0), 1.0),
        ("exp", (1000.0,), inf), ("exp", (-1000.0,), 0.0), ("exp", (-inf,), 0.0), ("expm1", (1000.0,), inf),
        ("expm1", (-1000.0,), -1.0), ("log", (0.0,), -inf), ("log", (-1.0,), nan), ("log", (inf,), inf), ("log2", (0.0,), -inf),
        ("log10", (-0.0,), -inf), ("log1p", (-1.0,), -inf), ("log1p", (-2.0,), nan), ("sqrt", (-1.0,), nan),
        ("cbrt", (-8.0,), -2.0), ("sin", (inf,), nan), ("tan", (-inf,), nan), ("asin", (2.0,), nan), ("acos", (-2.0,), nan),
        ("acosh", (0.5,), nan), ("atanh", (1.0,), inf), ("atanh", (-1.0,), -inf), ("atanh", (2.0,), nan), ("sinh", (-1000.0,), -inf),
        ("cosh", (-1000.0,), inf), ("tanh", (1000.0,), 1.0), ("tanh", (-1000.0,), -1.0), ("hypot", (inf, nan), inf),
        ("hypot", (1e308, 1e308), math.hypot(1e308, 1e308)), ("atan2", (0.0, -1.0), math.pi), ("atan2", (-0.0, -1.0), -math.pi),
        ("sigmoid", (1000.0,), 1.0), ("sigmoid", (-1000.0,), 0.0), ("softplus", (1000.0,), 1000.0), ("softplus", (-1000.0,), 0.0),
        ("silu", (1000.0,), 1000.0), ("silu", (-inf,), -0.0), ("gelu", (1000.0,), 1000.0), ("gelu", (-1000.0,), -0.0),
        ("gelu", (-inf,), -0.0), ("relu", (nan,), nan), ("max", (nan, 1.0), nan), ("max", (1.0, nan), nan), ("min", (nan, 1.0), nan),
        ("floor", (inf,), inf), ("ceil", (nan,), nan), ("round", (2.5,), 2.0), ("round", (-0.4,), -0.0), ("sign", (nan,), nan),
        ("sign", (-0.0,), -0.0), ("where", (nan, 1.0, 2.0), 1.0), ("lt", (nan, 1.0), 0.0), ("ne", (nan, nan), 1.0),
    ],
)  # fmt: skip
def test_ieee_results(twin, name, args, value):
    op = twin.ops.OPS[name]
    assert bits(twin.engine.apply(op, *args)) == bits(value)  # a number in, a number out
    assert bits(run(twin, name, args)[0]) == bits(value)  # and the same of Values


@pytest.mark.parametrize(
    ("xs", "value", "shares"),
    [
        ([1000.0, 1000.0], 1000.0 + math.log(2.0), [0.5, 0.5]),
        ([-1000.0, -1000.0], -1000.0 + math.log(2.0), [0.5, 0.5]),
        ([1000.0, -1000.0], 1000.0, [1.0, 0.0]),
        ([-inf, 0.0], 0.0, [0.0, 1.0]),
        ([inf, 0.0], inf, [1.0, 0.0]),
        ([-inf, -inf], -inf, [0.5, 0.5]),
    ],
)
def test_logsumexp_does_not_overflow(twin, xs, value, shares):
    assert run(twin, "logsumexp", xs) == (value, shares)


# ---- conventions at kinks, and how PyTorch sees them

KINKS = [
    ("relu", (0.0,), [0.0]), ("relu", (-0.0,), [0.0]), ("abs", (0.0,), [0.0]), ("sign", (0.0,), [0.0]),
    ("max", (2.0, 2.0), [0.5, 0.5]), ("min", (2.0, 2.0), [0.5, 0.5]), ("max", (1.0, 2.0), [0.0, 1.0]), ("min", (1.0, 2.0), [1.0, 0.0]),
    ("leaky_relu", (0.0, 0.01), [0.01, 0.0]), ("elu", (0.0, 1.0), [1.0, 0.0]), ("elu", (0.0, 0.5), [0.5, 0.0]),
    ("floor", (2.0,), [0.0]), ("ceil", (2.0,), [0.0]), ("round", (2.5,), [0.0]), ("floordiv", (4.0, 2.0), [0.0, 0.0]),
    ("pow", (3.0, 0.0), [0.0, math.log(3.0)]), ("pow", (0.0, 0.0), [0.0, 0.0]), ("pow", (0.0, 2.0), [0.0, 0.0]), ("pow", (0.0, 1.0), [1.0, 0.0]),
    ("pow", (-2.0, 3.0), [12.0, nan]), ("pow", (-2.0, 2.0), [-4.0, nan]), ("sqrt", (0.0,), [inf]), ("mod", (4.0, 2.0), [1.0, -2.0]),
    ("where", (0.0, 1.0, 2.0), [0.0, 0.0, 1.0]), ("where", (-3.0, 1.0, 2.0), [0.0, 1.0, 0.0]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "args", "partials"), KINKS)
def test_conventions_at_kinks(twin, name, args, partials):
    assert [*map(bits, run(twin, name, args)[1])] == [*map(bits, partials)]


@functools.cache
def torch_functions():
    """The ops in PyTorch, by name."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    names = """add sub mul div pow neg abs exp expm1 log log1p log2 log10 sqrt sin cos tan asin acos atan atan2 sinh cosh
    tanh asinh acosh atanh hypot erf erfc sigmoid relu floor ceil round sign exp2 fmod copysign lgamma digamma trunc""".split()
    functional = torch.nn.functional
    return {name: getattr(torch, name) for name in names} | {
        "max": torch.maximum, "min": torch.minimum, "mod": torch.remainder,
        "softplus": lambda x: torch.logaddexp(x, torch.zeros_like(x)), "silu": functional.silu, "gelu": functional.gelu,
        "leaky_relu": lambda a, b: functional.leaky_relu(a, b.item()), "elu": lambda a, b: functional.elu(a, b.item()),
        "where": lambda a, b, c: torch.where(a != 0, b, c), "sum": lambda *xs: torch.stack(xs).sum(),
        "mean": lambda *xs: torch.stack(xs).mean(), "prod": lambda *xs: torch.stack(xs).prod(),
        "logsumexp": lambda *xs: torch.stack(xs).logsumexp(0),
        "dot": lambda *xs: torch.dot(torch.stack(xs[: len(xs) // 2]), torch.stack(xs[len(xs) // 2 :])),
    }  # fmt: skip


TORCH_LACKS = {"floordiv", "cbrt", "lt", "le", "gt", "ge", "eq", "ne", "fma", "remainder", "sigmoid_slope", "gamma", "zeta",
               "fmod", "digamma", "philox", "normal", "probit"} | OF_RULES  # no such op, or no derivative of it, or a rough one  # fmt: skip
PARAMETERS = {"leaky_relu", "elu"}  # their second input is a plain number in PyTorch


def in_torch(name, args):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    xs = [torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in args]
    y = torch_functions()[name](*xs)
    if y.requires_grad:
        y.backward()
    grads = [x.grad.item() if x.grad is not None else 0.0 for x in xs]
    return y.item(), grads[:1] if name in PARAMETERS else grads


@pytest.mark.parametrize(("name", "args"), [(n, a) for n, a, _ in KINKS if n not in TORCH_LACKS])
def test_conventions_at_kinks_are_pytorch_s(twin, name, args):
    y_torch, partials_torch = in_torch(name, args)
    y, partials = run(twin, name, args)
    assert y == y_torch
    for a, b in zip(partials, partials_torch, strict=name not in PARAMETERS):
        assert a == b or (math.isnan(a) and math.isnan(b)), (partials, partials_torch)


@pytest.mark.parametrize("name", [name for name in OPS if name not in TORCH_LACKS])
def test_ops_agree_with_pytorch(twin, name):
    for args in oracle.points(name, count=6):
        if any(abs(x) > 30 or 0 < abs(x) < 1e-6 for x in args):
            continue  # PyTorch takes cruder formulas there; mpmath is the judge of those points
        y_torch, partials_torch = in_torch(name, args)
        y, partials = run(twin, name, args)
        assert math.isclose(y, y_torch, rel_tol=1e-10, abs_tol=1e-14), (args, y, y_torch)
        for a, b in zip(partials, partials_torch, strict=name not in PARAMETERS):
            assert math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-13), (args, partials, partials_torch)
