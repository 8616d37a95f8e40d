"""micrograd.special beside mpmath: values, derivatives of three orders, edges; compiled and over rows."""

from __future__ import annotations

import math as plain

import pytest

from micrograd import grad, jit, math, special, value_and_grad, vmap
from random_programs import needs_llvm

mpmath = pytest.importorskip("mpmath")
np = pytest.importorskip("numpy")


def lower(a, x):
    return mpmath.gammainc(a, 0, x, regularized=True)


def upper(a, x):
    return mpmath.gammainc(a, x, mpmath.inf, regularized=True)


def betainc(a, b, x):
    return mpmath.betainc(a, b, 0, x, regularized=True)


def scaled(order):
    return lambda x: mpmath.besseli(order, x) * mpmath.exp(-abs(x))


X = [(1e-3,), (1.0,), (-2.3,), (7.0,), (24.9,), (25.1,), (600.0,)]
POSITIVE = [(1e-3,), (1.0,), (2.0,), (2.1,), (7.0,), (24.9,), (25.1,), (50.0,)]
# function, points, and the largest relative errors of the value and of derivatives of orders 1 and 2
CASES = {
    "gammainc": (
        lower,
        [(0.5, 0.2), (2.0, 1.5), (2.0, 9.0), (30.0, 25.0), (0.01, 1e-5), (200.0, 230.0), (5.0, 40.0)],
        1e-13,
    ),
    "gammaincc": (
        upper,
        [(0.5, 0.2), (2.0, 1.5), (2.0, 3.0), (2.0, 9.0), (30.0, 25.0), (5.0, 40.0), (0.3, 30.0)],
        1e-13,
    ),
    "betainc": (
        betainc,
        [(0.5, 0.5, 0.3), (2.0, 3.0, 0.9), (10.0, 20.0, 0.3), (0.1, 5.0, 0.01), (50.0, 2.0, 0.99)],
        3e-13,
    ),
    "j0": (mpmath.j0, X, 2e-14),
    "j1": (mpmath.j1, X, 2e-14),
    "i0": (lambda x: mpmath.besseli(0, x), X, 2e-13),
    "i1": (lambda x: mpmath.besseli(1, x), X, 2e-13),
    "i0e": (scaled(0), [*X, (6000.0,)], 1e-14),
    "i1e": (scaled(1), [*X, (6000.0,)], 1e-14),
    "k0": (lambda x: mpmath.besselk(0, x), POSITIVE, 1e-14),
    "k1": (lambda x: mpmath.besselk(1, x), POSITIVE, 1e-14),
    "k0e": (lambda x: mpmath.besselk(0, x) * mpmath.exp(x), POSITIVE, 1e-13),
    "k1e": (lambda x: mpmath.besselk(1, x) * mpmath.exp(x), POSITIVE, 1e-13),
    "iv": (mpmath.besseli, [(0.5, 0.2), (2.3, 7.0), (1.7, 40.0), (3.2, 1e-3)], 3e-13),
    "ellipk": (mpmath.ellipk, [(0.0,), (0.5,), (0.99,), (-3.0,), (-1000.0,), (1.0 - 1e-12,)], 1e-14),
    "ellipe": (mpmath.ellipe, [(0.0,), (0.5,), (0.51,), (0.99,), (-3.0,), (-1000.0,), (1.0 - 1e-12,)], 1e-14),
    "ndtr": (mpmath.ncdf, [(0.5,), (-10.0,), (3.0,)], 2e-14),
    "log_ndtr": (lambda x: mpmath.log(mpmath.ncdf(x)), [(0.5,), (-10.0,), (3.0,), (-30.0,)], 1e-10),
    "erfinv": (mpmath.erfinv, [(0.5,), (-0.99,), (1e-5,)], 1e-14),
    "lambertw": (mpmath.lambertw, [(0.5,), (10.0,), (-0.3,)], 1e-14),
    "logaddexp": (
        lambda a, b: mpmath.log(mpmath.exp(a) + mpmath.exp(b)),
        [(1.0, 2.0), (700.0, -3.0), (-1.0, -1.0)],
        1e-14,
    ),
    "xlogy": (lambda x, y: x * mpmath.log(y), [(2.0, 3.0), (0.5, 1e-10)], 1e-14),
    "betaln": (lambda a, b: mpmath.log(mpmath.beta(a, b)), [(2.0, 3.0), (0.5, 0.1)], 1e-13),
}


def near(found, wanted, tolerance):
    return abs(found - wanted) <= tolerance * (abs(wanted) + 1e-3)


@pytest.mark.parametrize("name", CASES)
def test_values_are_mpmaths(name):
    exact, points, tolerance = CASES[name]
    with mpmath.workdps(40):
        for point in points:
            wanted = float(exact(*map(mpmath.mpf, point)))
            assert near(getattr(special, name)(*point), wanted, tolerance), point


@pytest.mark.parametrize("name", CASES)
def test_derivatives_of_two_orders_are_mpmaths(name):
    exact, points, tolerance = CASES[name]
    with mpmath.workdps(40):
        for point in points:
            for k in range(len(point)):
                f = getattr(special, name)
                for order in (1, 2):
                    f = grad(f, k)
                    orders = tuple(order * (i == k) for i in range(len(point)))
                    at = [mpmath.mpf(x) for x in point]
                    wanted = mpmath.diff(exact, at, orders) if len(at) > 1 else mpmath.diff(exact, at[0], order)
                    assert near(f(*point), float(mpmath.re(wanted)), tolerance), (point, k, order)


def test_third_derivatives():
    with mpmath.workdps(40):
        for name, point, k in [
            ("gammainc", (2.0, 3.5), 0),
            ("betainc", (2.0, 3.0, 0.4), 1),
            ("j1", (0.0,), 0),
            ("ellipe", (0.7,), 0),
        ]:
            f = getattr(special, name)
            for _ in range(3):
                f = grad(f, k)
            at = [mpmath.mpf(x) for x in point]
            orders = tuple(3 * (i == k) for i in range(len(point)))
            exact = CASES[name][0]
            wanted = mpmath.diff(exact, at, orders) if len(at) > 1 else mpmath.diff(exact, at[0], 3)
            assert near(f(*point), float(wanted), 1e-11)


def test_mixed_derivatives_do_not_depend_on_their_order():
    for name, point in (("gammainc", (2.0, 5.0)), ("gammaincc", (2.5, 1.0)), ("betainc", (2.0, 3.0, 0.4))):
        f, last = getattr(special, name), len(point) - 1
        assert grad(grad(f, 0), last)(*point) == pytest.approx(grad(grad(f, last), 0)(*point), rel=1e-12)


def test_edges():
    assert (special.gammainc(2.0, 0.0), special.gammaincc(2.0, 0.0)) == (0.0, 1.0)
    assert (special.gammainc(2.0, plain.inf), special.gammaincc(2.0, plain.inf)) == (1.0, 0.0)
    assert (special.betainc(2.0, 3.0, 0.0), special.betainc(2.0, 3.0, 1.0)) == (0.0, 1.0)
    for found in (
        special.gammainc(-1.0, 1.0),
        special.gammainc(1.0, -1.0),
        special.betainc(1.0, 1.0, 1.5),
        special.ellipk(1.5),
    ):
        assert plain.isnan(found)
    assert plain.isnan(special.gammainc(plain.nan, 1.0)) and plain.isnan(special.betainc(1.0, 1.0, plain.nan))
    assert (special.ellipk(1.0), special.ellipe(1.0)) == (plain.inf, 1.0)
    assert (special.j0(0.0), special.j1(0.0), special.i0(0.0), special.i1(0.0)) == (1.0, 0.0, 1.0, 0.0)
    assert (grad(special.j1)(0.0), grad(special.i1)(0.0)) == pytest.approx((0.5, 0.5))
    assert (special.xlogy(0.0, 0.0), special.logaddexp(-plain.inf, 1.0)) == (0.0, 1.0)


ORDERS = {"kv": mpmath.besselk, "jv": mpmath.besselj, "iv": mpmath.besseli}


@pytest.mark.parametrize("name", ORDERS)
@pytest.mark.parametrize("order", [0, 1, 2, 5, -3])
def test_bessel_functions_of_whole_orders(name, order):
    f = getattr(special, name)
    with mpmath.workdps(40):
        for x in (1e-2, 1.0, 1.9, 7.0, 24.9, 25.1, 60.0, *(() if name == "kv" else (-2.5, -30.0))):
            found = lambda x: f(order, x)  # noqa: E731
            for n in range(3):
                wanted = mpmath.diff(lambda t: ORDERS[name](order, t), mpmath.mpf(x), n)
                assert near(found(x), float(mpmath.re(wanted)), 5e-13), (x, n)
                found = grad(found)


def test_bessel_functions_of_other_orders_are_refused():
    for f in (special.jv, special.kv):
        with pytest.raises(TypeError, match="whole orders"):
            f(0.5, 1.0)
        with pytest.raises(TypeError, match="whole orders"):
            f(21, 1.0)
        with pytest.raises(TypeError, match="whole orders"):
            grad(f)(2.0, 1.0)
    assert plain.isnan(special.k0(-1.0)) and special.k0(0.0) == plain.inf == special.k1(0.0)


@needs_llvm
@pytest.mark.parametrize("name", ["gammainc", "betainc", "j0", "i1e", "ellipe", "k1"])
def test_compiled_and_over_rows(name):
    f, points = getattr(special, name), CASES[name][1][:5]
    every = tuple(range(len(points[0])))
    mapped = vmap(value_and_grad(f, every))
    values, slopes = mapped(*np.array(points).T)
    for r, point in enumerate(points):
        value, slope = value_and_grad(f, every)(*point)
        assert values[r] == pytest.approx(value, rel=1e-11)
        assert [s[r] for s in slopes] == pytest.approx(list(slope), rel=1e-11)
    assert len(list(mapped.variants)) == 1
    assert jit(grad(grad(f)))(*points[1]) == pytest.approx(grad(grad(f))(*points[1]), rel=1e-11)


def test_values_of_both_engines(twin):
    x = twin.Value(1.5)
    special.gammainc(2.0, x).backward()
    assert x.grad == pytest.approx(1.5 * plain.exp(-1.5))
    x.grad = 0.0
    special.j0(x).backward()
    assert x.grad == pytest.approx(-special.j1(1.5), rel=1e-13)
    assert math.isfinite(special.ellipk(twin.Value(0.5)))
