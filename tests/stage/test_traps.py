"""What merging must not get wrong, and what is kept apart instead; what merged traces compose with."""

import pickle
import warnings

import numpy as np
import pytest

from micrograd import Value, check_grad, detect_anomaly, grad, jit, math, value_and_grad, vmap
from micrograd.engine import apply
from micrograd.ops import OF_RULES, OPS
from micrograd.stage import attempt

XS = np.array([-2.0, -1.0, -0.5, 0.0, 0.25, 1.0, 3.0])


def merged(f):
    return all(v.trace.merged for v in f.variants)


def rows(f, *columns):
    return np.array([float(getattr(v, "data", v)) for v in (f(*row) for row in zip(*[c.tolist() for c in columns]))])


POLES = {
    "log": math.log, "sqrt": math.sqrt, "log1p": math.log1p, "log2": math.log2, "log10": math.log10, "acosh": math.acosh,
    "asin": math.asin, "acos": math.acos, "atanh": math.atanh, "cbrt": math.cbrt, "reciprocal": lambda x: 1.0 / x,
    "power": lambda x: x**-1.5, "exp": lambda x: math.exp(1000.0 * x), "tan": math.tan, "hypot": lambda x: math.hypot(x, x),
    "atan2": lambda x: math.atan2(x, x), "mod": lambda x: 1.0 % x,
}  # fmt: skip


POLES |= {
    name: lambda x, op=OPS[name]: apply(op, x) for name in ("gamma", "lgamma", "digamma", "probit") if name in OPS
}


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("name", POLES)
def test_no_nan_of_the_arm_that_was_not_taken_reaches_a_gradient(name, order):
    op = POLES[name]

    def inside(x):
        return op(x) if x > 100 else x * x

    def before(x):
        y = op(x)
        return y * x if x > 100 else x * x

    for f in (inside, before):
        g = grad(f) if order == 1 else grad(grad(f))
        h = vmap(g)
        assert h(XS).tolist() == (2 * XS if order == 1 else np.full(7, 2.0)).tolist()
        assert merged(h)


def test_every_op_with_a_pole_is_in_the_list():
    inf = float("inf")
    found = set()
    for op in OPS.values():
        if op.arity == 1 and len(op.partials) == 1 and op.name not in OF_RULES:
            slopes = [op.partials[0](x, op.value(x)) for x in (0.0, 1.0, -1.0, -2.0)]
            if any(s != s or abs(s) == inf for s in slopes):
                found.add(op.name)
    assert found <= set(POLES)


def test_a_counter_changed_in_an_arm_is_a_constant_of_a_later_one():
    def f(x, y):
        n = 2
        if x > 0:
            n = 3
        if y > 0:
            return y**n
        return x * n

    h = vmap(f)
    ys = XS[::-1].copy()
    np.testing.assert_array_equal(h(XS, ys), rows(f, XS, ys))
    assert merged(h)


def test_a_list_that_grows_in_an_arm_is_kept_apart():
    def f(x):
        items = [x]
        if x > 0:
            items.append(2.0 * x)
        return sum(items) * len(items)

    np.testing.assert_array_equal(vmap(f)(XS), rows(f, XS))


def test_an_object_from_outside_is_not_changed_in_an_arm_that_was_not_taken():
    seen = [0]

    def f(x):
        if x > 100:
            seen[0] += 1
        return x * 2.0

    assert vmap(f)(XS).tolist() == (2 * XS).tolist()
    assert seen == [0]


def test_code_with_an_effect_runs_in_no_arm_that_was_not_taken(capsys):
    def f(x):
        if x > 100:
            print("taken")
        return x + 1.0

    assert vmap(f)(XS).tolist() == (XS + 1).tolist()
    assert capsys.readouterr().out == ""


def test_the_first_row_that_raises_is_named():
    def f(x):
        if x > 2:
            raise ValueError("too large")
        return x if x > 0 else -x

    assert vmap(f)(XS[:-1]).tolist() == np.abs(XS[:-1]).tolist()
    with pytest.raises(ValueError, match="too large") as caught:
        vmap(f)(XS)
    assert "row 6" in " ".join(caught.value.__notes__)


def test_division_by_a_plain_zero_raises_as_in_eager_code():
    def f(x):
        d = 0.0
        if x > -10:
            d = 2.0
        return 1.0 / d + x

    np.testing.assert_array_equal(vmap(f)(XS), rows(f, XS))
    with pytest.raises(ZeroDivisionError):
        vmap(f)(np.array([1.0, -20.0]))


def falls_to_zero(x):
    k, total = 4.0, x
    for _ in range(40):
        total = total + 1.0 / k
        k = k - 0.25 if x > 0 else k + 0.25
    return total


def grows_too_large(x):
    k, total = 1.0, x
    for _ in range(40):
        total = total + 1.0 / k**90
        k = k * 2.0 if x > 0 else k * 1.0625
    return total


@pytest.mark.parametrize(("f", "error"), [(falls_to_zero, ZeroDivisionError), (grows_too_large, OverflowError)])
def test_plain_numbers_that_raise_in_some_iteration_of_a_rolled_loop_raise_as_in_eager_code(f, error):
    g, fine = vmap(f), np.array([-1.0, -2.0])
    np.testing.assert_allclose(g(fine), rows(f, fine), rtol=1e-13)
    assert [v.trace.merged for v in g.variants] == [True]
    for xs in ([-1.0, 1.0], [1.0, -1.0]):
        with pytest.raises(error):
            g(np.array(xs))
    point = jit(f, wait=True)
    assert point(-1.0) == pytest.approx(f(-1.0), rel=1e-13)
    with pytest.raises(error):
        point(1.0)


def test_nan_goes_the_way_that_eager_code_goes():
    def f(x):
        if not x < 0:
            return 1.0 if x >= 0 else 2.0
        return 3.0

    xs = np.array([1.0, np.nan, -1.0, np.nan])
    assert vmap(f)(xs).tolist() == [1.0, 2.0, 3.0, 2.0]


def test_decisions_are_those_of_eager_code_to_the_last_bit():
    xs = np.linspace(0.5, 3.0, 200)
    ys = np.array([math.exp(x) * x - 1.0 for x in xs.tolist()])
    for options in ({}, {"float32": True}, {"fastmath": True}):
        assert (vmap(lambda x, y: 1.0 if math.exp(x) * x - 1.0 > y else 2.0, **options)(xs, ys) == 2.0).all()


def test_a_wrong_merge_is_found_before_it_is_used(monkeypatch):
    real = attempt.stage

    def broken(*args):
        found = real(*args)
        found.tape = found.tape.copy(outputs=[found.tape.ops.index(OPS["mul"])])
        return found

    def f(x):
        return x * x if x > 0 else -x

    monkeypatch.setattr(attempt, "stage", broken)
    h = vmap(f)
    with pytest.warns(RuntimeWarning, match="please report it"):
        np.testing.assert_array_equal(h(XS), rows(f, XS))
    assert not merged(h)


def test_parameters_and_sums():
    w, v = Value(1.5), Value(-0.5)

    def f(x):
        if x > 0:
            return w * x
        return v * v * x

    h = vmap(f, reduce="sum")
    total = h(XS)
    total.backward()
    plain = [Value(1.5), Value(-0.5)]
    wanted = sum((plain[0] * x if x > 0 else plain[1] * plain[1] * x) for x in XS.tolist())
    wanted.backward()
    assert total.data == pytest.approx(wanted.data, rel=1e-14)
    assert (w.grad, v.grad) == pytest.approx((plain[0].grad, plain[1].grad), rel=1e-14)
    assert merged(h)


def barrier(x):
    total = x
    for _ in range(40):
        total = total * 1.05
        if total > 4:
            return total * 0.5
    return total


def test_threads_batches_pickles_and_points():
    xs = np.linspace(-1.0, 5.0, 5000)
    g = value_and_grad(barrier)
    one = vmap(g, threads=1)
    value, slope = one(xs)
    for other in (vmap(g, threads=2), vmap(g, batch_size=100), pickle.loads(pickle.dumps(one))):
        again = other(xs)
        assert (again[0] == value).all() and (again[1] == slope).all()
    point = jit(g, wait=True)
    for i in range(0, 5000, 500):
        assert point(float(xs[i])) == g(float(xs[i]))
    assert check_grad(barrier, 2.0) is None or check_grad(barrier, 2.0)
    with detect_anomaly():
        assert (vmap(g)(xs)[0] == value).all()


def test_the_order_of_rows_does_not_matter_to_a_bit():
    xs = np.random.default_rng(0).uniform(-1, 6, 300)
    g = value_and_grad(barrier)
    value, slope = vmap(g)(xs)
    order = np.random.default_rng(1).permutation(300)
    again = vmap(g)(xs[order])
    assert (again[0] == value[order]).all() and (again[1] == slope[order]).all()


def test_a_loop_stays_a_loop():
    def f(x, iterations):
        for _ in range(iterations):
            x = x * 0.999 + 0.001
            if x > 5:
                break
        return x

    sizes = []
    for iterations in (50, 5000):
        h = jit(value_and_grad(lambda x, iterations=iterations: f(x, iterations)), wait=True)
        assert h(2.0) == pytest.approx(
            value_and_grad(lambda x, iterations=iterations: f(x, iterations))(2.0), rel=1e-12
        )
        sizes.append(len(next(iter(h.variants)).tape))
    assert sizes[0] == sizes[1] < 100


def test_functions_without_branches_are_not_staged():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        h = vmap(lambda x: x * 2.0)
        h(XS)
    assert not any(v.trace.merged for v in h.variants)


def test_a_condition_that_changes_something_is_evaluated_once_more_than_the_body():
    def walrus(x):
        d = x
        while (d := d * 0.5 + 0.1) > 0.25:
            x = x + d
        return x * d

    def counted(x):
        n = 0

        def tick():
            nonlocal n
            n += 1
            return n

        while tick() < 20 and x < 5:
            x = x + 0.3
        return x * n

    for f in (walrus, counted):
        np.testing.assert_allclose(vmap(f)(XS), rows(f, XS), rtol=1e-14)
        assert jit(f, wait=True)(0.25) == pytest.approx(f(0.25), rel=1e-14)


def test_a_counter_of_a_row_that_breaks_out_of_a_long_loop():
    def f(x):
        n, step = 0, 1.0
        for _ in range(40):
            x = x + 0.25
            if x > 4:
                break
            n += 1
            step *= 0.5
        else:
            return x * step
        return x + n + step

    h = vmap(value_and_grad(f))
    xs = np.array([-20.0, -2.0, 0.0, 3.9, 5.0])
    value, slope = h(xs)
    assert [(v, s) for v, s in zip(value.tolist(), slope.tolist())] == [value_and_grad(f)(x) for x in xs.tolist()]
    assert merged(h)


def test_a_function_inside_counts_the_iterations_of_a_loop():
    def f(x):
        n = 0

        def tick():
            nonlocal n
            n += 1

        for _ in range(30):
            tick()
            if x < 3:
                x = x + 0.25
                tick()
        return x * n

    h = vmap(f)
    np.testing.assert_array_equal(h(XS), rows(f, XS))
    assert merged(h)
