"""Names that micrograd.math shares with the standard library: its results on plain numbers, over CPython's test vectors.

Where the standard library raises, micrograd gives the IEEE result: that is the one difference.
"""

from __future__ import annotations

import math
import random
import sys
import sysconfig
from pathlib import Path

import pytest

from evaluate import bits
from micrograd import Value, grad
from micrograd import math as ours

inf, nan = math.inf, math.nan
SHARED = sorted(n for n in ours.__all__ if hasattr(math, n) and callable(getattr(math, n)))
WHOLE = {"comb", "factorial", "gcd", "isqrt", "lcm", "perm"}
LISTS = {"dist", "fsum", "prod", "sumprod", "hypot"}
PAIRS = {"atan2", "copysign", "fmod", "remainder", "pow", "nextafter", "isclose", "fmax", "fmin"}
UNARY = [n for n in SHARED if n not in WHOLE | LISTS | PAIRS | {"fma", "ldexp", "log"}]
# Python computes these three its own way. CPython's own tests allow gamma 20 ulp, lgamma 1e-15 and hypot 1 ulp.
ULPS = {"gamma": 20, "lgamma": 20, "hypot": 1}
NUMBERS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.0, -2.5, 3.5, 1e-300, -5e-324, 1e-9, 0.1, 10.0, 30.0, 700.0, -700.0]
NUMBERS += [1e16, -1e16, 1e308, -1e308, 2.0**53, inf, -inf, nan, 709.9, 171.5, -170.5, 1023.5, math.pi]


def vectors():
    """(function, input, expected) of the file that CPython's own tests read; none where that is not installed."""
    tests = Path(sysconfig.get_paths()["stdlib"]) / "test"
    for path in (tests / "mathdata" / "math_testcases.txt", tests / "math_testcases.txt"):
        if path.exists():
            for line in path.read_text().splitlines():
                line = line.split("--")[0].replace("->", " ").split()
                if line:
                    yield line[1], float(line[2]), float(line[3])
            return


def same(name, got, want) -> bool:
    if isinstance(want, tuple):
        return len(got) == len(want) and all(same(name, a, b) for a, b in zip(got, want))
    if type(want) is bool or type(want) is int:
        return got == want and type(got) is type(want)
    if bits(got) == bits(want) or (name in ("fmax", "fmin") and got == want == 0.0):  # of two zeros, C may take either
        return True
    room = ULPS.get(name, 0) * math.ulp(want) if math.isfinite(want) else 0.0
    return abs(got - want) <= max(room, 5e-15 if name == "lgamma" else 0.0)


def agree(name, *args):
    try:
        want = getattr(math, name)(*args)
    except (ValueError, OverflowError):
        got = getattr(ours, name)(*args)
        assert type(got) is tuple or not math.isfinite(got), (name, args, got)
        return
    got = getattr(ours, name)(*args)
    assert same(name, got, want), (name, args, got, want)


def test_every_name_of_the_standard_library_is_here():
    found = {n for n in dir(math) if not n.startswith("_")} - {
        "integer"
    }  # a module, of functions that are here themselves
    assert found <= set(ours.__all__)


@pytest.mark.parametrize(
    ("x", "least", "greatest"), [(2.0, 1.0, 2.0), (0.5, 0.5, 1.0), (nan, 1.0, 1.0), (-inf, -inf, 1.0)]
)
def test_fmin_and_fmax_leave_nan_out(x, least, greatest):
    assert (ours.fmin(x, 1.0), ours.fmax(x, 1.0)) == (least, greatest)
    assert (ours.fmin(1.0, x), ours.fmax(1.0, x)) == (least, greatest)
    for f, want in ((ours.fmin, least), (ours.fmax, greatest)):
        a, b = Value(x), Value(1.0)
        y = f(a, b)
        y.backward()
        assert y.data == want and (a.grad, b.grad) == ((1.0, 0.0) if want == x else (0.0, 1.0))
    assert math.isnan(ours.fmax(nan, nan)) and math.isnan(ours.fmin(nan, nan))
    assert grad(lambda x: ours.fmax(x, 2.0))(2.0) == 0.5  # a tie


@pytest.mark.parametrize("x", NUMBERS)
def test_classes_of_numbers(x):
    normal = x == x and abs(x) != inf and abs(x) >= sys.float_info.min
    for given in (x, Value(x)):
        assert ours.isnormal(given) is normal
        assert ours.issubnormal(given) is (0.0 < abs(x) < sys.float_info.min)
        assert ours.signbit(given) is (math.copysign(1.0, x) < 0.0)


def test_the_vectors_are_found():
    if not (Path(sysconfig.get_paths()["stdlib"]) / "test" / "test_math.py").exists():
        pytest.skip("this Python comes without its own tests")
    assert len(list(vectors())) > 400


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_number(name):
    rng = random.Random(name)
    for x in (
        NUMBERS
        + [rng.uniform(-3, 3) for _ in range(200)]
        + [math.ldexp(rng.random(), rng.randint(-99, 99)) for _ in range(99)]
    ):
        agree(name, x)
    for n in (0, 1, 2, 3, 7, -1):
        agree(name, n)


@pytest.mark.parametrize("name", sorted(PAIRS & set(SHARED)))
def test_functions_of_two_numbers(name):
    rng = random.Random(name)
    for a in NUMBERS:
        for b in NUMBERS:
            agree(name, a, b)
    for _ in range(300):
        agree(name, rng.uniform(-4, 4), rng.uniform(-4, 4))


def test_cpython_s_vectors():
    for name, x, want in vectors():
        if name not in SHARED:
            continue
        agree(name, x)
        got = getattr(ours, name)(x)
        if math.isnan(want):
            assert not math.isfinite(got)
        elif name == "erfc" and x > 1:
            assert got == pytest.approx(want, rel=1e-13)
        elif name != "lgamma":
            assert got == want or abs(got - want) <= 20 * math.ulp(want), (name, x, got, want)


FSUM = [
    [], [0.0], [1e16, 1.0, -1e16], [1e100, 1.0, -1e100, 1e-100, 1e50, -1.0, -1e50], [2.0**53, -0.5, -(2.0**-54)],
    [2.0**53, 1.0, 2.0**-100], [2.0**53 + 10.0, 1.0, 2.0**-100], [1.0 / n for n in range(1, 1001)],
    [(-1.0) ** n / n for n in range(1, 1001)], [1e16, 1.0, 1e-16], [inf, 1.0], [-inf, nan], [1, 2, 3],
    [2.0**n - 2.0 ** (n + 50) + 2.0 ** (n + 52) for n in range(-1074, 972, 2)] + [-(2.0**1022)],
    [inf, -inf], [1e308, 1e308], [-1e308, -1e308, 1.0],
    [2.0**53, 1.0, 1.5 * 2.0**-110, 2.0**-54 + 2.0**-105, -(2.0**-54) - 2.0**-105],  # a tie that the third part decides
    [-(2.0**148) * (1 + 2.0**-51), 2.0**95, 2.0**41 + 2.0**-11, 2.0**-118, -(2.0**41) - 2.0**-11],
]  # fmt: skip


@pytest.mark.parametrize("xs", FSUM, ids=range(len(FSUM)))
def test_fsum_of_numbers(xs):
    agree("fsum", xs)
    agree("fsum", tuple(xs))
    if xs:
        assert bits(ours.fsum(iter(xs))) == bits(ours.fsum(xs))


@pytest.mark.parametrize("xs", [FSUM[i] for i in (1, 2, 3, 4, 5, 6, 8, 9, 10, -2, -1)], ids=str)
def test_fsum_of_values(Value, mgmath, xs):
    """The same sum, with a slope of 1 for each term."""
    values = [Value(x) for x in xs]
    total = mgmath.fsum(values)
    total.backward()
    assert same("fsum", total.data, math.fsum(xs))
    assert [v.grad for v in values] == [1.0] * len(xs)


def test_sumprod_of_whole_numbers_and_of_iterators(Value, mgmath):
    assert mgmath.sumprod([2, 3], [5, 7]) == 31 and mgmath.sumprod([10**20], iter([10**20])) == 10**40
    assert mgmath.sumprod(iter([1.0, 2.0]), (3.0, 4.0)) == 11.0 and mgmath.sumprod([Value(2.0)], iter([3])).data == 6.0
    with pytest.raises(ValueError, match="2 and 1"):
        mgmath.sumprod([1.0, 2.0], [1.0])


def test_isclose_refuses_negative_tolerances(mgmath):
    assert mgmath.isclose(1.0, 1.1, rel_tol=0.0, abs_tol=0.2) and not mgmath.isclose(1.0, 1.1, rel_tol=0.0, abs_tol=0.0)
    for bad in ({"rel_tol": -1e-9}, {"abs_tol": -1e-9}):
        with pytest.raises(ValueError, match="non-negative"):
            mgmath.isclose(1.0, 1.0, **bad)


def test_hypot_and_dist_of_many():
    for n in range(6):
        rng = random.Random(n)
        for _ in range(50):
            p, q = [rng.uniform(-9, 9) for _ in range(n)], [rng.uniform(-9, 9) for _ in range(n)]
            assert ours.hypot(*p) == pytest.approx(math.hypot(*p), rel=4e-16 * max(n, 1))
            assert ours.dist(p, q) == pytest.approx(math.dist(p, q), rel=4e-16 * max(n, 1))
    assert ours.hypot(1e200, 1e200, 1e200) == pytest.approx(math.hypot(1e200, 1e200, 1e200))
    with pytest.raises(ValueError, match="2 and 1"):
        ours.dist([1.0, 2.0], [1.0])


def test_whole_numbers_stay_whole():
    assert (
        ours.comb(5, 2) == 10
        and ours.perm(5, 2) == 20
        and ours.gcd(12, 18) == 6
        and ours.factorial(20) == math.factorial(20)
    )
    assert ours.prod([2] * 100) == 2**100 and ours.prod([2, 3], start=4) == 24 and ours.prod([0.5, 3], start=2) == 3.0
    assert ours.floor(2.5) == 2 and type(ours.floor(2.5)) is int and ours.ceil(10**30) == 10**30
    assert ours.log(10**400) == math.log(10**400) and ours.log(8, 2) == 3.0
    assert ours.ldexp(0.5, 4) == 8.0 and ours.ldexp(1.0, 5000) == inf and ours.isqrt(17) == 4


@pytest.mark.skipif(sys.version_info < (3, 13), reason="math.fma came with Python 3.13")
def test_fma_is_that_of_python():
    rng = random.Random(1)
    for _ in range(500):
        a, b, c = (math.ldexp(rng.uniform(-1, 1), rng.randint(-60, 60)) for _ in range(3))
        assert ours.fma(a, b, c) == math.fma(a, b, c)


def test_fma_rounds_once():
    from fractions import Fraction

    rng = random.Random(2)
    for _ in range(500):
        a, b = (rng.uniform(-1, 1) for _ in range(2))
        c = -a * b
        assert ours.fma(a, b, c) == float(Fraction(a) * Fraction(b) + Fraction(c))


@pytest.mark.parametrize(
    ("function", "at", "slope"),
    [
        (lambda m, x: m.degrees(x), 0.3, 180 / math.pi),
        (lambda m, x: m.radians(x), 30.0, math.pi / 180),
        (lambda m, x: m.hypot(x, 3.0, 12.0), 4.0, 4 / 13),
        (lambda m, x: m.dist([x, 1.0], [0.0, 5.0]), 3.0, 0.6),
        (lambda m, x: m.ldexp(x, 5), 0.3, 32.0),
        (lambda m, x: m.frexp(x)[0], 12.0, 1 / 16),
        (lambda m, x: m.modf(x)[0], -2.75, 1.0),
        (lambda m, x: m.nextafter(x, inf), 1.0, 1.0),
        (lambda m, x: m.sumprod([x, 2.0], [x, 3.0]), 5.0, 10.0),
        (lambda m, x: m.copysign(x, -1.0), 2.0, -1.0),
        (lambda m, x: m.fmod(7.0, x), 2.0, -3.0),
        (lambda m, x: m.remainder(7.0, x), 2.5, -3.0),
    ],
)
def test_gradients(Value, mgmath, function, at, slope):
    x = Value(at)
    y = function(mgmath, x)
    assert bits(y.data) == bits(float(function(mgmath, at)))
    y.backward()
    assert x.grad == pytest.approx(slope, rel=1e-15)


def test_isclose_is_a_branch_that_a_compiled_function_follows():
    from micrograd import jit

    f = jit(lambda x: x * 2.0 if ours.isclose(x, 1.0) else x * 3.0, wait=True)
    assert [f(1.0), f(1.0 + 1e-12), f(1.1)] == [2.0, 2.0 * (1.0 + 1e-12), 3.0 * 1.1]


def test_the_logarithm_of_whole_numbers_outside_of_its_domain():
    assert ours.log(0) == -inf and math.isnan(ours.log(-1)) and ours.log(1) == 0.0


@pytest.mark.parametrize("n", [2**1023, 2**1023 + 1, 2**1024 - 1, 2**1024, 2**2000, 10**400, 3**900])
def test_logarithms_of_whole_numbers_past_the_range_of_floats(mgmath, n):
    for name in ("log", "log2", "log10"):
        assert getattr(mgmath, name)(n) == getattr(math, name)(n)
    assert mgmath.log(n, 10) == math.log(n, 10) and mgmath.log(7, n) == math.log(7, n) and mgmath.log(n, n) == 1.0


@pytest.mark.parametrize(
    ("p", "q", "expected"),
    [([inf, 1.0], [1.0, 1.0], inf), ([1e200], [1e200], inf), ([1e200, 1.0], [-1e200, 2.0], -inf), ([1.0, 2.0], [3, -inf], -inf),
     ([inf], [0.0], nan), ([inf, -inf], [1.0, 1.0], nan), ([nan], [1.0], nan)],
)  # fmt: skip
def test_sumprod_with_infinite_products(Value, mgmath, p, q, expected):
    """What rounding takes from an infinite product is no number, and does not spoil the sum."""
    for found in (mgmath.sumprod(p, q), mgmath.sumprod([Value(a) for a in p], q).data):
        assert bits(abs(found)) == bits(abs(expected)) and (found < 0.0) == (expected < 0.0)


@pytest.mark.parametrize(
    "x", [1.0, -1.5, 5e-324, -3e-320, 1.7e308, 1.2345e-302, 2.0**-1000 * (1 + 3 * 2.0**-52), 0.0, -0.0, inf]
)
def test_ldexp_of_values_is_that_of_numbers(Value, mgmath, x):
    """For all powers, 2**i past the range of floats included, with one rounding."""
    for i in [
        *range(-120, 120, 7),
        *range(-1080, -1020),
        1023,
        1024,
        1030,
        2046,
        2047,
        2097,
        2098,
        3000,
        -2098,
        -2099,
        -5000,
        10**9,
    ]:
        assert bits(mgmath.ldexp(Value(x), i).data) == bits(mgmath.ldexp(x, i)), i
    y = Value(0.5)
    mgmath.ldexp(y, 1030).backward()
    assert y.grad == inf


@pytest.mark.parametrize("x", NUMBERS)
def test_modf_of_values_has_the_signs_of_zero(Value, mgmath, x):
    v = Value(x)
    fraction, whole = mgmath.modf(v)
    assert (bits(fraction.data), bits(whole.data)) == tuple(map(bits, math.modf(x)))
    fraction.backward()
    assert v.grad == (0.0 if math.isinf(x) else 1.0)


@pytest.mark.parametrize(
    ("x", "y"), [(inf, 0.0), (-inf, 0.0), (inf, inf), (1.7976931348623157e308, inf), (0.0, -1.0), (nan, 1.0)]
)
def test_nextafter_of_values(Value, mgmath, x, y):
    assert bits(mgmath.nextafter(Value(x), y).data) == bits(math.nextafter(x, y))


def test_compiled_modf_and_sumprod_are_those_of_numbers():
    from micrograd import jit

    modf, sumprod = (
        jit(lambda x: ours.modf(x)[0], wait=True),
        jit(lambda x: ours.sumprod([x, 2.0], [x, 3.0]), wait=True),
    )
    assert [bits(modf(x)) for x in (-2.0, -0.0, 2.5, -2.5)] == [bits(math.modf(x)[0]) for x in (-2.0, -0.0, 2.5, -2.5)]
    assert [sumprod(x) for x in (3.0, 1e200, 0.0)] == [15.0, inf, 6.0]
