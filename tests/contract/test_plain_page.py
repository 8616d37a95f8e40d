"""docs/plain.md: each line of its tables is what happens, in grad, jit and vmap."""

from __future__ import annotations

import math
import numbers
import statistics
import struct
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

from micrograd import TraceError, engine, grad, hessian, jit, vmap

np = pytest.importorskip("numpy")
pytestmark = pytest.mark.skipif(not engine.NATIVE, reason="the Python engine cannot reach into compiled functions")
PAGE = Path(__file__).resolve().parents[2] / "docs" / "plain.md"
TABLE = [1.5, 2.5, 4.0, 0.5]
DATA = np.arange(3.0)


class Thing:
    scale = 2.0


THING = Thing()


def buffers(x):
    a, m = np.zeros(4), np.eye(2)
    a[0] = x
    a[1:3] = x * x
    m[0, 1] += x
    rest = np.empty(2), np.ones(2), np.full(2, 1.5), np.zeros_like(DATA)
    for k, b in enumerate(rest):
        b[:] = x * k
    return a.sum() * m[0, 1] + sum(b.sum() for b in rest)


def numpy_own(x):
    a = np.array([[x, 2.0], [1.0, x * x]])
    b = a @ np.array([x, 1.0]) + np.dot(a, a)[0] * 2.0
    c = np.cumsum(b) + np.outer(b, b).sum(axis=0)
    return (
        np.sum(c)
        + np.diff(c)[0]
        + np.where(c > 1.0, c, 0.0).sum()
        + np.clip(c, 0.0, 3.0)[0]
        + np.polyval([1.0, 2.0], x)
    )


def linear(x):
    a = np.array([[x, 0.5], [0.5, 2.0]])
    some = np.linalg.solve(a, np.ones(2))[0] + np.linalg.inv(a)[0, 1] + np.linalg.det(a) + np.linalg.norm(a[0])
    k = np.searchsorted([0.0, 1.0, 2.0], x)
    some += np.linalg.slogdet(a)[1] + x * np.digitize(x, [0.0, 1.5])
    return some + np.linalg.cholesky(a)[1, 1] + np.interp(x, [0.0, 1.0, 4.0], [0.0, 2.0, 3.0]) * k


def for_both(x):
    x = np.asarray(x)
    a = np.hypot(x, 1.0)
    found = np.empty_like(a)
    found[a > 1.0] = np.log(a[a > 1.0])
    return (found.squeeze()[()] + np.exp(x)).sum()


def of_statistics(x):
    a, b = np.array([x, 2.0, 0.5]), np.array([1.0, x, 3.0])
    some = np.median(a) + np.quantile(a, 0.3) + np.percentile(b, 60) + np.cov(a, b)[0, 1] + np.corrcoef(a, b)[0, 1]
    return some + np.gradient(a)[1] + x * np.round(x, 1) + np.isclose(x, 9.0) + np.nan_to_num(x) + np.sinc(x)


def of_scipy(x):
    from scipy import special

    some = special.ndtr(x) + special.log_ndtr(x) + special.ndtri(x / 9.0) + special.erfinv(x / 9.0) + special.expit(x)
    other = special.logit(x / 9.0) + special.gammaln(x) + special.beta(x, 2.0) + special.polygamma(1, x)
    return (
        some
        + other
        + special.xlogy(x, x)
        + special.rel_entr(x, 2.0)
        + special.softmax([x, 1.0])[0]
        + special.lambertw(x).real
        + special.k0(x)
        + special.iv(0.5, x)
        + special.jv(2, x)
    )


def of_norm(x):
    from scipy.stats import norm

    return norm.cdf(x, loc=0.5, scale=2.0) + norm.pdf(0.3, x) + norm.logpdf(x, 0.2, x) + norm.sf(x) + norm.ppf(x / 9.0)


def splines(x):
    from scipy import interpolate

    knots, numbers = np.linspace(0.0, 4.0, 9), np.sin(np.linspace(0.0, 4.0, 9))
    surface = np.outer(numbers, numbers)
    some = float(interpolate.splev(x, interpolate.splrep(knots, numbers))) + interpolate.CubicSpline(knots, numbers)(x)
    more = interpolate.PchipInterpolator(knots, numbers)(x) + interpolate.interp1d(knots, numbers)(x)
    tck = interpolate.bisplrep(np.repeat(knots, 9), np.tile(knots, 9), surface.ravel(), s=0.01)
    grid = interpolate.RegularGridInterpolator((knots, knots), surface)([x, 1.1])[0]
    smooth = interpolate.UnivariateSpline(knots, numbers, s=0.0)(x) + interpolate.bisplev(x, 1.5, tck)
    return some + more + grid + smooth + interpolate.RectBivariateSpline(knots, knots, surface).ev(x, 0.7)


def integrals(x):
    from scipy.integrate import dblquad, quad

    return quad(lambda t: math.exp(-x * t), 0.0, x)[0] + dblquad(lambda u, t: x * u * t, 0.0, 1.0, 0.0, 1.0)[0]


def roots(x):
    from scipy import optimize

    some = optimize.brentq(lambda t: t * t - x, 0.0, 9.0) + optimize.brenth(lambda t: t**3 - x, 0.0, 9.0)
    more = optimize.bisect(lambda t: math.cos(t) - t / x, 0.0, 3.0) + optimize.newton(lambda t: t * t - x, 1.0)
    return some + more + optimize.root_scalar(lambda t: t * math.exp(t) - x, bracket=(0.0, 9.0)).root


def equations(x):
    from scipy import optimize

    return optimize.fsolve(lambda t: t * t - x, [1.0])[0] + optimize.root(lambda t: [t[0] ** 3 - x], [1.0]).x[0]


def objects(x):
    thing, items, d = Thing(), [x], {}
    thing.scale = x * 2.0
    items.append(thing.scale)
    items[0] *= x
    d["a"] = sum(items)
    return d["a"]


def catching(x):
    try:
        y = math.log(x - 1.5)
    except ValueError:
        y = x * x
    return y


def assigns(x):
    THING.scale = x
    return THING.scale * x


def stores(x):
    DATA[0] = x
    return DATA.sum()


def of_lists(x):
    some = statistics.fmean([x, 1.0]) + statistics.median([x, 9.0, 0.0]) + statistics.NormalDist(x, 2.0).pdf(1.0)
    other = statistics.correlation([x, 1.0, 4.0], [1.0, 2.0, x * x])
    return some + other + statistics.linear_regression([x, 9.0], [1.0, x]).slope


RUNS = {
    "`math.sqrt(x)`": lambda x: math.sqrt(x) + math.log(x, 10) + math.hypot(x, 2.0, 3.0) + math.fsum([x, 1.0, x]),
    "`math.isnan(x)`": lambda x: x if math.isnan(x) or math.isclose(x, 0.7) else x * x,
    "`math.floor(x)`": lambda x: x * (math.floor(x) + math.ceil(x) + math.trunc(x) + int(x) + round(x)),
    "`table[math.floor(x)]`": lambda x: x * TABLE[math.floor(x)] + x * (math.floor(x) & 255),
    "`math.frexp(x)`": lambda x: math.frexp(x)[0] * math.frexp(x)[1] + math.ulp(x) + math.nextafter(x, 9.0),
    "`float(x)`": lambda x: float(x) * x,
    "`isinstance(x, float)`": lambda x: x * x if isinstance(x, float) and isinstance(x * 2.0, numbers.Real) else x,
    "`x.is_integer()`": lambda x: x if x.is_integer() else x * x.conjugate() + x.real,
    "`sum(xs)`": lambda x: (
        sum([x, x * x]) + max(x, 1.0) + sorted([x, 9.0])[0] + abs(-x) + pow(x, 2) + divmod(x, 1.0)[1]
    ),
    "`statistics.fmean`": of_lists,
    "`a = np.zeros(n); a[i] = x`": buffers,
    "`np.array([x, 1.0], dtype=float)`": lambda x: np.array([x, 2.0], dtype=float).astype(float) @ np.array([x, 1.0]),
    "`a @ b`": numpy_own,
    "`np.exp(a)`": lambda x: (np.exp(np.array([x, 1.0])) + np.sqrt(x) + np.arctan2(np.array([2.0, x]), x)).sum(),
    "`np.linalg.solve`": linear,
    "`np.asarray(x)`": for_both,
    "`np.select(conditions, choices)`": lambda x: np.select([x > 2.0, x > 1.5], [x * x, 3.0 * x], np.sin(x)),
    "`np.median`": of_statistics,
    "`scipy.special.ndtr`": of_scipy,
    "`scipy.stats.norm.cdf(x)`": of_norm,
    "`scipy.interpolate.splev`": splines,
    "`scipy.integrate.quad(f, a, b)`": integrals,
    "`scipy.optimize.brentq`": roots,
    "`scipy.optimize.fsolve(f, x0)`": equations,
    "objects": objects,
    "`try: y = math.log(x)`": catching,
    "`vmap(f)` of no rows": lambda x: x * x,
}

REFUSED = {
    "`Decimal(x)`": [lambda x: float(Decimal(x)) * x, lambda x: struct.unpack("d", struct.pack("d", x))[0] * x,
                     lambda x: np.float64(x) * x, lambda x: complex(x).real * x],
    "`Fraction(x)`": [lambda x: float(Fraction(x)) * x, lambda x: statistics.mean([x, 1.0])],
    "`int(x)` of 2⁵² or more": [
        lambda x: int(math.frexp(x)[0] * 2.0**53) * x, lambda x: math.floor(x * 1e16) * x, lambda x: math.ceil(x * 1e16) * x,
        lambda x: math.trunc(x * 1e16) * x, lambda x: round(x * 1e16) * x],
    '`f"{x:.17f}"`': [lambda x: float(f"{x:.17f}") * x, lambda x: float(format(x, ".16g")) * x],
    "`type(x) is float`": [lambda x: x * x if type(x) is float else x],
    '`f"{x:.3f}"`': [lambda x: x * len(f"{x:.3f}"), lambda x: x * len("%g" % x), lambda x: x * len(x.hex())],  # noqa: UP031
    "functions of NumPy and SciPy that are not listed above": [
        lambda x: np.fft.fft(np.array([x, 1.0]))[0].real, lambda x: np.linalg.eigvals(np.array([[x, 1.0], [1.0, 2.0]]))[0]],
    "a Value in an array that was made outside": [stores],
    "attributes of objects from outside": [assigns],
    "`math.factorial(x)`": [lambda x: math.factorial(x) * x, lambda x: math.gcd(x, 2) * x, lambda x: sum(range(x)) * x],
}  # fmt: skip
OF_DERIVATIVES = "`int(x)` of 2⁵² or more"  # the number alone is what it is without one
ONLY_COMPILED = ('`f"{x:.3f}"`', "attributes of objects from outside")  # grad runs these once, as they are


def lines():
    """The first cells of the two tables."""
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    return [row.split(" | ")[0].removeprefix("| ") for row in rows if not row.startswith(("| written", "| ---"))]


def test_each_line_of_the_tables_has_a_test():
    known = [*RUNS, *REFUSED]
    assert not [line for line in lines() if not any(line.startswith(key) for key in known)]
    assert len(lines()) == len(known)


@pytest.mark.parametrize("line", RUNS)
def test_what_runs_as_it_is(line):
    if "scipy" in line:
        pytest.importorskip("scipy")
    f = RUNS[line]
    rows = [1.3, 1.7, 2.6]
    for x in rows:
        h = 1e-5
        slope = (float(f(x + h)) - float(f(x - h))) / (2.0 * h)
        assert grad(f)(x) == pytest.approx(slope, rel=1e-6, abs=1e-8)
        if f is equations:
            with pytest.raises(TraceError, match=r"micrograd\.solvers\.root"):
                jit(f)(x)
            continue
        assert jit(grad(f), wait=True)(x) == pytest.approx(slope, rel=1e-6, abs=1e-8)
        assert jit(f, wait=True)(x) == pytest.approx(float(f(x)), rel=1e-13)
    if f is equations:
        return
    assert list(vmap(f)(np.array(rows))) == pytest.approx([float(f(x)) for x in rows], rel=1e-13)
    assert vmap(grad(f))(np.zeros(0)).shape == (0,)


@pytest.mark.parametrize("line", REFUSED)
@pytest.mark.filterwarnings("ignore:type.. of a number is compared")
def test_what_is_refused(line):
    ways = [lambda f, x: jit(f)(x), lambda f, x: jit(grad(f))(x), lambda f, x: vmap(f)(np.array([x]))]
    if line == OF_DERIVATIVES:
        ways = [ways[1], lambda f, x: vmap(grad(f))(np.array([x])), lambda f, x: hessian(f)(x)]
        assert [jit(f, wait=True)(2.0) == f(2.0) for f in REFUSED[line]] == [True] * 5
    for f in REFUSED[line]:
        for way in ways if line in ONLY_COMPILED else [lambda f, x: grad(f)(x), *ways]:
            with pytest.raises((TraceError, TypeError), match=r"Value|assigned|numbers themselves|index"):
                way(f, 2.0)
            THING.scale = 2.0
        if line in ONLY_COMPILED:
            assert grad(f)(2.0) is not None
            THING.scale = 2.0
