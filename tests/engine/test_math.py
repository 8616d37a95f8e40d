"""micrograd.math: numbers in, numbers out; Values in, Values out; the same functions as methods."""

from __future__ import annotations

import math

import mpmath
import pytest

from evaluate import bits, run
from micrograd.ops import OF_RULES, OPS

inf, nan = math.inf, math.nan
FIXED = [name for name, op in OPS.items() if op.arity > 0]
LISTS = [name for name, op in OPS.items() if op.arity < 0]


@pytest.mark.parametrize(
    "name", [n for n in FIXED if n not in ("add", "sub", "mul", "div", "philox", "normal", "probit", *OF_RULES)]
)
def test_a_number_in_gives_a_number_out(twin, name):
    args = [0.5, 0.75, 2.0][: OPS[name].arity]
    if name == "acosh":
        args = [1.5]
    function = getattr(twin.math, name)
    y = function(*args)
    kind = int if name in ("floor", "ceil", "trunc") else float  # as the standard library has it
    assert type(y) is kind
    node = function(*map(twin.Value, args))
    assert type(node) is twin.Value and bits(node.data) == bits(y)
    assert len(node._prev) == len(args) and node._op == OPS[name].symbol
    assert type(function(*[int(x) + 1 for x in args])) is kind


@pytest.mark.parametrize("name", [n for n in FIXED if OPS[n].arity <= 2 and OPS[n].symbol == n])
def test_functions_are_methods_too(twin, name):
    args = [1.5, 0.75][: OPS[name].arity]
    args = [0.5] if name in ("asin", "acos", "atanh") else args
    x, *rest = map(twin.Value, args)
    y = getattr(x, name)(*rest)
    y.backward()
    value, grads = run(twin, name, args)
    assert [*map(bits, (y.data, x.grad, *(v.grad for v in rest)))] == [*map(bits, (value, *grads))]


@pytest.mark.parametrize("name", LISTS)
def test_lists_of_numbers_give_a_number(twin, name):
    function = getattr(twin.math, name)
    lists = ([1.0, 2.0], [3, 4.0]) if name == "dot" else ([1.0, 2, 3.0],)
    y = function(*lists)
    assert type(y) is float
    mixed = function(*([twin.Value(xs[0]), *xs[1:]] for xs in lists))
    assert type(mixed) is twin.Value and mixed.data == y
    assert function(*(tuple(xs) for xs in lists)) == y
    assert function(*(iter(xs) for xs in lists)) == y


def test_defaults_of_the_activations(Value, mgmath):
    assert mgmath.leaky_relu(-2.0) == -0.02 and Value(-2.0).leaky_relu().data == -0.02
    assert mgmath.elu(-1.0) == math.expm1(-1.0) and Value(-1.0).elu(2.0).data == 2.0 * math.expm1(-1.0)


@pytest.mark.parametrize(
    ("function", "args"), [("exp", ()), ("exp", (1.0, 2.0)), ("atan2", (1.0,)), ("where", (1.0, 2.0))]
)
def test_a_wrong_count_of_inputs_is_refused(mgmath, function, args):
    with pytest.raises(TypeError, match=f"{function}\\(\\) takes [1-3] inputs?, got {len(args)}"):
        getattr(mgmath, function)(*args)


@pytest.mark.parametrize("bad", ["1", None, [1.0], 1j, b"1"])
def test_what_is_not_a_number_is_refused(mgmath, bad):
    with pytest.raises(TypeError, match=f"one real number .* not {type(bad).__name__}"):
        mgmath.exp(bad)
    with pytest.raises(TypeError, match=f"one real number .* not {type(bad).__name__}"):
        mgmath.sum([1.0, bad])


@pytest.mark.parametrize("function", ["mean", "logsumexp", "min", "max"])
def test_an_empty_list_has_none_of_these(mgmath, function):
    with pytest.raises(ValueError, match=f"{function} of an empty list has no value"):
        getattr(mgmath, function)([])


def test_an_empty_list_has_a_sum_a_product_and_a_dot(mgmath):
    assert (mgmath.sum([]), mgmath.prod([]), mgmath.dot([], [])) == (0.0, 1.0, 0.0)


def test_a_list_op_is_one_node(Value, mgmath):
    xs = [Value(float(i)) for i in range(1, 101)]
    for y in (mgmath.sum(xs), mgmath.prod(xs), mgmath.mean(xs), mgmath.logsumexp(xs)):
        assert y._prev == tuple(xs)
    assert mgmath.dot(xs, xs)._prev == tuple(xs + xs)


def test_dot_of_lists_of_different_lengths(mgmath):
    with pytest.raises(ValueError, match="2 and 1"):
        mgmath.dot([1.0, 2.0], [1.0])


def test_min_and_max_of_many(Value, mgmath):
    xs = [Value(3.0), 1.0, Value(2.0)]
    assert mgmath.min(xs) == 1.0 and mgmath.max(*xs) is not None and mgmath.max(*xs) == 3.0
    mgmath.max(xs).backward()
    assert (xs[0].grad, xs[2].grad) == (1.0, 0.0)
    assert mgmath.max([5]) == 5


def test_lists_may_be_iterators(Value, mgmath):
    xs = [Value(1.0), 2.0, 4.0]
    for name in ("sum", "prod", "mean", "logsumexp", "fsum"):
        function = getattr(mgmath, name)
        assert function(iter(xs)).data == function(xs).data and function(iter(xs[1:])) == function(xs[1:])
    for name in ("dot", "dist", "sumprod"):
        function = getattr(mgmath, name)
        assert function(iter(xs), iter(xs[::-1])).data == function(xs, xs[::-1]).data
    assert [y.data for y in mgmath.softmax(iter(xs))] == [y.data for y in mgmath.softmax(xs)]
    assert mgmath.max(iter(xs)) == 4.0 and mgmath.min(iter(xs)).data == 1.0


def test_no_gradient_passes_stop_gradient(Value, mgmath):
    x = Value(3.0)
    y = mgmath.stop_gradient(x) * x
    y.backward()
    assert (y.data, x.grad) == (9.0, 3.0) and mgmath.stop_gradient(2) == 2.0


def test_softmax(Value, mgmath):
    xs = [Value(1000.0), Value(1001.0), Value(999.0)]
    p = mgmath.softmax(xs)
    want = [float(mpmath.exp(x) / sum(map(mpmath.exp, (0, 1, -1)))) for x in (0, 1, -1)]
    assert all(math.isclose(a.data, b, rel_tol=1e-12) for a, b in zip(p, want))
    p[0].backward()
    grads = [want[0] * ((i == 0) - want[i]) for i in range(3)]
    assert all(math.isclose(x.grad, g, rel_tol=1e-9) for x, g in zip(xs, grads))
    assert mgmath.softmax([0.0, 0.0]) == [0.5, 0.5]
    assert math.isclose(mgmath.log_softmax([1.0, 2.0])[0], -math.log1p(math.e))


def test_the_rest_of_the_standard_library_s_math(Value, mgmath):
    assert mgmath.log(8.0, 2) == math.log(8.0) / math.log(2)
    assert mgmath.log(Value(8.0), 2.0).data == math.log(8.0) / math.log(2.0)
    assert (mgmath.trunc(-2.7), mgmath.trunc(2.7), mgmath.trunc(Value(-2.7)).data) == (-2.0, 2.0, -2.0)
    assert mgmath.fabs(-2.0) == 2.0 and mgmath.fsum([1.0, 2.0]) == 3.0
    assert mgmath.isnan(Value(nan)) and not mgmath.isnan(1.0)
    assert mgmath.isinf(Value(-inf)) and not mgmath.isinf(nan)
    assert mgmath.isfinite(Value(1.0)) and not mgmath.isfinite(inf) and not mgmath.isfinite(Value(nan))
    assert (mgmath.pi, mgmath.e, mgmath.tau, mgmath.inf) == (
        math.pi,
        math.e,
        math.tau,
        inf,
    ) and mgmath.nan != mgmath.nan
    assert all(hasattr(mgmath, name) for name in mgmath.__all__)
