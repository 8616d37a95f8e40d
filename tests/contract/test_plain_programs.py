"""Programs that were written for floats, with `import math`, run as they are: in grad, jit, vmap and check_grad.

Each of PROGRAMS is compared with itself on plain floats, to the bit where it is compiled exactly, and its derivative with that
of complex steps or a hand derivation.
"""

from __future__ import annotations

import cmath
import math
import numbers
import statistics
from math import exp, hypot, log
from math import sqrt as root
from typing import Any

import pytest

import micrograd
from micrograd import TraceError, Value, check_grad, engine, grad, jit, value_and_grad, vmap

np = pytest.importorskip("numpy")
pytestmark = pytest.mark.skipif(not engine.NATIVE, reason="the Python engine cannot reach into compiled functions")

TABLE = [0.5, 1.5, 4.5, 13.5]


def alias(x):
    return root(x) + exp(-x) * log(x)


def default(x, f=math.atan):
    return f(x) * x


class Gas:
    def __init__(self, k):
        self.k = k

    def pressure(self, t):
        return self.k * math.exp(-1.0 / t) + math.cosh(t)


def method(x):
    return Gas(2.0).pressure(x)


def mapped(x):
    return sum(map(math.exp, [x, 2.0 * x])) + max(map(math.sin, (x, x * x)))


def branches(x):
    if math.isnan(x) or math.isinf(x):
        return 0.0
    if x < 1.0:
        return math.sin(x) ** 2
    return math.log10(x) + math.pow(x, 1.5)


def iterates(x):
    y = x
    for _ in range(20):
        y = math.sqrt(1.0 + y) + math.atan2(y, 2.0)
    return y


def until(x):
    y, n = x, 0
    while math.fabs(y * y - x) > 1e-12 and n < 100:
        y, n = 0.5 * (y + x / y), n + 1
    return y


def floats(x):
    y = float(x)
    z = float(y * 2.0) + float("1.5") + float(3)
    return y * z


def looked_up(x):
    k = math.floor(x)
    return TABLE[k] * (x - k) + TABLE[int(x) & 1]


def classes(x):
    if not isinstance(x, float) or not isinstance(x, numbers.Real):
        raise TypeError(f"not a number: {x}")
    return x * x if float(x).is_integer() or x > 0.0 else -x


def whole(x):
    return x * round(x) + x.is_integer() + math.trunc(x) * x + math.ceil(x)


def texts(x):
    name = "%.3f" % x + f"{x:.3f}"  # noqa: UP031
    return x * 2.0 if name else x


def caught(x):
    try:
        return math.log(x - 1.0) + math.sqrt(x)
    except ValueError:
        return x * x


def overflown(x):
    try:
        return math.exp(x * 300.0)
    except OverflowError:
        return x


def angles(x):
    return hypot(x, 2.0, x * x) + math.degrees(math.asin(x / 10.0)) + math.dist([x, 1.0], [0.0, x])


def summed(x):
    return math.fsum([x, 0.1, x * x]) + math.prod([x, 2.0, x]) + statistics.fmean([x, 1.0, x * x])


def special(x):
    return math.erf(x) + math.lgamma(x + 1.0) + math.gamma(x + 1.0) + math.expm1(x) + math.log1p(x) + math.fmod(x, 0.7)


def normal(x):
    return statistics.NormalDist(1.0, 2.0).pdf(x) + statistics.NormalDist(x, 2.0).cdf(0.5)


def bits(x):
    m, e = math.frexp(x)
    return math.ldexp(m, 2) * e + math.ulp(x)


PROGRAMS = [alias, default, method, mapped, branches, iterates, until, floats, looked_up, classes, whole, caught, overflown,
            angles, summed, special, normal, bits]  # fmt: skip
ROWS = [0.6, 1.3, 2.45, 2.6, 3.3]
# A sum of floats alone is more exact than that with Values in some versions of Python; gamma and hypot are the C library's.
ROUNDED = {"summed", "special", "angles", "normal", "mapped"}


def slope(f: Any, x: float) -> float:
    """The derivative by differences of plain floats, to about nine digits (Ridders)."""
    h, table = 0.02, []
    for k in range(8):
        row = [(f(x + h) - f(x - h)) / (2.0 * h)]
        for j in range(k):
            row.append(row[j] + (row[j] - table[-1][j]) / (4.0 ** (j + 1) - 1.0))
        table.append(row)
        h /= 2.0
    return min(zip(table[1:], table), key=lambda p: abs(p[0][-1] - p[1][-1]))[0][-1]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_a_program_runs_as_it_is(f):
    same = (lambda y: pytest.approx(y, rel=1e-13)) if f.__name__ in ROUNDED else lambda y: y
    numbers_ = [f(x) for x in ROWS]
    slopes = [slope(f, x) for x in ROWS]
    for x, y, dy in zip(ROWS, numbers_, slopes):
        value, g = value_and_grad(f)(x)
        assert value == same(y)
        assert g == pytest.approx(dy, rel=1e-6, abs=1e-7)
        assert check_grad(f, x)
    compiled, both = jit(f, exact=True, wait=True), jit(value_and_grad(f), wait=True)
    for x, y, dy in zip(ROWS, numbers_, slopes):
        assert compiled(x) == same(y)
        assert both(x)[1] == pytest.approx(dy, rel=1e-6, abs=1e-7)
    rows = np.array(ROWS)
    assert list(vmap(f, exact=True)(rows)) == [same(y) for y in numbers_]
    assert list(vmap(grad(f))(rows)) == pytest.approx(slopes, rel=1e-6, abs=1e-7)


def test_text_is_made_in_grad_and_refused_where_it_would_be_frozen():
    assert grad(texts)(2.0) == 2.0
    assert check_grad(texts, 2.0)
    for run in (lambda: jit(texts)(2.0), lambda: vmap(texts)(np.array(ROWS)), lambda: jit(grad(texts))(2.0)):
        with pytest.raises(TraceError, match=r"(float|format)\(\) of a Value .*test_plain_programs"):
            run()


def test_float_outside_of_a_transform_is_a_number():
    assert type(float(Value(2.0))) is float
    assert float(Value(2.0)) == 2.0


def test_float_of_an_int_is_a_float():
    def f(n):
        return float(n) * 2.0, isinstance(n, float), isinstance(float(n), float), isinstance(float(n), int)

    assert grad(lambda n: f(n)[0])(3) == 2.0
    assert jit(f)(3) == (6.0, False, True, False)


def test_stop_gradient_and_data_mean_a_constant():
    assert grad(lambda x: x * x.data)(3.0) == 3.0
    assert grad(lambda x: x * float(micrograd.math.stop_gradient(x)))(3.0) == 3.0
    assert grad(lambda x: x * complex(micrograd.math.stop_gradient(x)).real)(3.0) == 3.0
    assert jit(grad(lambda x: x * float(micrograd.math.stop_gradient(x))))(3.0) == 3.0


def test_compiled_code_that_takes_the_number_is_an_error():
    from decimal import Decimal

    for f in (lambda x: cmath.exp(x).real, lambda x: float(Decimal(x)) * x, lambda x: x * float.__new__(float, x)):
        for wrap in (grad, jit, lambda g: jit(grad(g))):
            with pytest.raises((TraceError, TypeError)):
                wrap(f)(2.0)


def test_the_user_s_line_comes_first():
    optimize = pytest.importorskip("scipy.optimize")

    def f(x):
        return optimize.ridder(lambda t: t * t - x, 0.0, 10.0)

    with pytest.raises(TraceError, match=r"takes the number of a Value, at test_plain_programs.py:\d+"):
        grad(f)(2.0)


WITHOUT_SOURCE: dict[str, object] = {}
exec("def told_apart(x):\n    return x * x * 2.0 if type(x) is float else x * x * 7.0", WITHOUT_SOURCE)


@pytest.mark.filterwarnings("ignore:type.. of a number is compared", "ignore:told_apart is compiled once")
@pytest.mark.parametrize("x", [0.0, 2.5])
def test_a_comparison_of_types_is_refused_to_every_order_and_where_branches_meet(x):
    def told_apart(x):
        return x * x * 2.0 if type(x) is float else x * x * 7.0

    for f in (told_apart, WITHOUT_SOURCE["told_apart"]):
        for way in (grad(f), grad(grad(f)), jit(grad(f)), jit(grad(grad(f)))):
            with pytest.raises(TraceError, match="numbers themselves"):
                way(x)
    assert grad(grad(lambda x: x * x if type(x) is float or x > 0.0 else x))(3.0) == 2.0
