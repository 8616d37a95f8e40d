"""Python's own math takes Values, in whatever name or container its functions stand, and is for numbers what it was."""

from __future__ import annotations

import inspect
import math
import pickle
import statistics
import subprocess
import sys
import threading
from decimal import Decimal
from fractions import Fraction
from functools import partial
from math import exp as renamed

import pytest

from micrograd import Value, engine, grad
from micrograd import math as ours

needs_c = pytest.mark.skipif(not engine.NATIVE, reason="the Python engine cannot reach into compiled functions")
# At these points all are defined, and their gradients, computed by hand.
GRADIENTS = {
    "acos": (0.3, -1 / math.sqrt(1 - 0.09)), "acosh": (1.5, 1 / math.sqrt(1.25)), "asin": (0.3, 1 / math.sqrt(1 - 0.09)),
    "asinh": (0.3, 1 / math.sqrt(1.09)), "atan": (0.3, 1 / 1.09), "atanh": (0.3, 1 / 0.91), "cos": (0.3, -math.sin(0.3)),
    "cosh": (0.3, math.sinh(0.3)), "degrees": (0.3, 180 / math.pi), "erf": (0.3, 2 / math.sqrt(math.pi) * math.exp(-0.09)),
    "erfc": (0.3, -2 / math.sqrt(math.pi) * math.exp(-0.09)), "exp": (0.3, math.exp(0.3)), "expm1": (0.3, math.exp(0.3)),
    "fabs": (-0.3, -1.0), "gamma": (2.0, 1 - 0.5772156649015329), "lgamma": (2.0, 1 - 0.5772156649015329),
    "log10": (0.3, 1 / (0.3 * math.log(10))), "log1p": (0.3, 1 / 1.3), "log2": (0.3, 1 / (0.3 * math.log(2))),
    "radians": (0.3, math.pi / 180), "sin": (0.3, math.cos(0.3)), "sinh": (0.3, math.cosh(0.3)),
    "sqrt": (0.3, 0.5 / math.sqrt(0.3)), "tan": (0.3, 1 / math.cos(0.3) ** 2), "tanh": (0.3, 1 - math.tanh(0.3) ** 2),
    "log": (0.3, 1 / 0.3), "cbrt": (8.0, 1 / 12), "exp2": (3.0, 8 * math.log(2)),
}  # fmt: skip
SEVERAL = {
    "atan2": ((3.0, 4.0), (0.16, -0.12)), "copysign": ((3.0, -4.0), (-1.0, 0.0)), "fmod": ((7.5, 2.0), (1.0, -3.0)),
    "hypot": ((3.0, 4.0), (0.6, 0.8)), "log": ((8.0, 2.0), (1 / (8 * math.log(2)), -3 / (2 * math.log(2)))),
    "pow": ((2.0, 3.0), (12.0, 8 * math.log(2))), "remainder": ((7.5, 2.0), (1.0, -4.0)),
    "fma": ((2.0, 3.0, 4.0), (3.0, 2.0, 1.0)), "fmax": ((2.0, 3.0), (0.0, 1.0)), "fmin": ((2.0, 3.0), (1.0, 0.0)),
}  # fmt: skip


def slope(f, *args):
    values = [Value(x) for x in args]
    f(*values).backward()
    return tuple(v.grad for v in values)


@needs_c
@pytest.mark.parametrize("name", GRADIENTS)
def test_a_function_of_one_number(name):
    f = getattr(math, name, None)
    if f is None:
        pytest.skip(f"math.{name} came with a later Python")
    at, expected = GRADIENTS[name]
    y = f(Value(at))
    assert type(y) is Value
    assert y.data == pytest.approx(f(at), rel=1e-14)
    assert slope(f, at)[0] == pytest.approx(expected, rel=1e-12)
    assert grad(lambda x: f(x))(at) == pytest.approx(expected, rel=1e-12)


@needs_c
@pytest.mark.parametrize("name", SEVERAL)
def test_a_function_of_several(name):
    f = getattr(math, name, None)
    if f is None:
        pytest.skip(f"math.{name} came with a later Python")
    at, expected = SEVERAL[name]
    assert slope(f, *at) == pytest.approx(expected, rel=1e-12, abs=1e-15)
    for k, number in enumerate(at):  # and with one Value among numbers
        v = Value(number)
        f(*at[:k], v, *at[k + 1 :]).backward()
        assert v.grad == pytest.approx(expected[k], rel=1e-12, abs=1e-15)


@needs_c
def test_functions_of_lists():
    assert slope(lambda a, b: math.fsum([a, 2.0, b]), 1.0, 3.0) == (1.0, 1.0)
    assert slope(lambda a, b: math.fsum(x * x for x in (a, b)), 1.0, 3.0) == (2.0, 6.0)
    assert slope(lambda a, b: math.dist((a, 0.0), [0.0, b]), 3.0, 4.0) == pytest.approx((0.6, 0.8))
    assert slope(lambda a, b: math.prod([a, b, 2.0]), 3.0, 4.0) == (8.0, 6.0)
    if sys.version_info >= (3, 12):
        assert slope(lambda a, b: math.sumprod([a, 2.0], [3.0, b]), 1.0, 3.0) == (3.0, 2.0)


@needs_c
def test_pairs_and_truths():
    fraction, whole = math.modf(Value(2.5))
    assert (fraction.data, whole.data) == (0.5, 2.0)
    mantissa, exponent = math.frexp(Value(12.0))
    assert (mantissa.data, exponent) == (0.75, 4)
    assert math.isnan(Value(math.nan)) is True
    assert math.isfinite(Value(1.0)) is True
    assert math.isclose(Value(1.0), 1.0 + 1e-12) is True
    assert math.isclose(1.0, Value(1.1), rel_tol=0.2) is True
    assert math.ulp(Value(1.0)) == 2.0**-52
    assert math.nextafter(Value(1.0), 2.0).data == 1.0 + 2.0**-52
    assert math.floor(Value(2.5)) == 2
    assert type(math.ceil(Value(2.5))) is int


@needs_c
def test_every_name_of_a_function():
    class Holder:
        f = math.exp

        def method(self, x, inner=math.exp):
            return inner(x)

    expected = math.exp(0.5)
    places = [renamed, partial(math.exp), Holder.f, Holder().f, Holder().method, lambda x: next(map(math.exp, [x])),
              lambda x: {"e": math.exp}["e"](x), lambda x, f=math.exp: f(x), vars(math)["exp"]]  # fmt: skip
    for f in places:
        assert slope(f, 0.5) == (expected,)


def test_nothing_else_changes():
    f = math.exp
    assert f is sys.modules["math"].exp is renamed
    assert (f.__name__, f.__qualname__, f.__module__, type(f).__name__) == (
        "exp", "exp", "math", "builtin_function_or_method")  # fmt: skip
    assert f.__self__ is math
    assert pickle.loads(pickle.dumps(f)) is f
    assert str(inspect.signature(f)) == "(x, /)"
    assert "e raised to the power" in f.__doc__
    assert repr(f) == "<built-in function exp>"
    assert not any(type(x).__module__.startswith("micrograd") for x in vars(math).values())


@pytest.mark.parametrize("x", [2, True, Fraction(9, 4), Decimal("2.25"), 2**70, 0.25])
def test_other_numbers(x):
    assert math.sqrt(x) == float(x) ** 0.5
    assert type(math.sqrt(x)) is float


def test_errors_are_those_of_python():
    for call, kind, text in [
        (lambda: math.sqrt(-1.0), ValueError, "."), (lambda: math.exp(1000.0), OverflowError, "math range error"),
        (lambda: math.exp("1"), TypeError, "must be real number, not str"), (lambda: math.log(0.0), ValueError, "."),
        (lambda: math.exp(), TypeError, "exactly one argument"), (lambda: math.exp(1.0, 2.0), TypeError, "exactly one"),
        (lambda: math.exp(x=1.0), TypeError, "no keyword arguments"), (lambda: math.fsum(3), TypeError, "not iterable"),
        (lambda: math.fsum([1.0, "2"]), TypeError, "must be real number"), (lambda: math.atan2(1.0), TypeError, "expected 2"),
        (lambda: math.hypot("a"), TypeError, "must be real number"), (lambda: math.dist([1], [1, 2]), ValueError, "."),
        (lambda: math.sqrt(10**400), OverflowError, "too large"), (lambda: math.dist([1]), TypeError, "expected 2"),
    ]:  # fmt: skip
        with pytest.raises(kind, match=text):
            call()


def test_iterators_of_numbers_are_walked_once():
    assert math.fsum(iter([0.1] * 10)) == 1.0
    assert math.fsum(0.1 for _ in range(100_000)) == 10_000.0
    assert math.fsum({1.0: 2.0, 3.0: 4.0}) == 4.0
    assert math.dist(iter([1.0, 2.0]), (1.0, 0.0)) == 2.0 if sys.version_info >= (3, 14) else True

    def breaks():
        yield 1.0
        raise KeyError("in the middle")

    with pytest.raises(KeyError, match="in the middle"):
        math.fsum(breaks())


@needs_c
def test_a_value_late_in_an_iterator():
    x = Value(2.0)
    y = math.fsum(x if k == 100 else 0.5 for k in range(200))
    y.backward()
    assert (y.data, x.grad) == (101.5, 1.0)


@needs_c
def test_values_follow_ieee_as_in_micrograd_math():
    assert math.isnan(math.sqrt(Value(-1.0)).data)
    assert math.log(Value(0.0)).data == -math.inf
    assert math.exp(Value(1000.0)).data == math.inf
    assert ours.exp(Value(1000.0)).data == math.inf


@needs_c
def test_subclasses_and_primitives_with_python_s_math():
    from micrograd import primitive

    class Own(Value):
        pass

    assert math.exp(Own(0.0)).data == 1.0

    @primitive(lambda x, y: -math.sin(x) * 2.0)
    def twice_cos(x):
        return 2.0 * math.cos(x)

    assert grad(twice_cos)(0.3) == pytest.approx(-2.0 * math.sin(0.3))
    assert grad(grad(twice_cos))(0.3) == pytest.approx(-2.0 * math.cos(0.3))


@needs_c
def test_functions_of_whole_numbers_refuse_values():
    for call in (lambda x: math.factorial(x), lambda x: math.gcd(x, 2), lambda x: math.isqrt(x), lambda x: math.comb(x, 1),
                 lambda x: math.ldexp(1.0, x)):  # fmt: skip
        with pytest.raises(TypeError):
            call(Value(4.0))


@needs_c
def test_packages_of_the_standard_library():
    assert slope(lambda a, b: statistics.fmean([a, b]), 1.0, 3.0) == (0.5, 0.5)
    g = grad(lambda mu: statistics.NormalDist(mu, 2.0).pdf(1.0))(0.5)
    assert g == pytest.approx(statistics.NormalDist(0.5, 2.0).pdf(1.0) * 0.5 / 4.0)


@needs_c
def test_threads():
    found = []

    def work():
        for k in range(200):
            x = Value(0.5 + k)
            math.log(x).backward()
            found.append(x.grad == 1.0 / (0.5 + k) and math.log(2.0) == 0.6931471805599453)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(found) == 800
    assert all(found)


IN_A_PROCESS = """
import math
before = math.exp
{first}
import micrograd
assert math.exp is before
print(before(micrograd.Value(0.0)))
"""


@needs_c
@pytest.mark.parametrize("first", ["", "import statistics, random"])
def test_functions_that_were_imported_before(first):
    done = subprocess.run(
        [sys.executable, "-c", IN_A_PROCESS.format(first=first)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "Value(data=1.0, grad=0.0)"


PURE = """
import math, os
os.environ["MICROGRAD_PURE"] = "1"
from math import exp as e
from micrograd import Value, grad
v = Value(0.0)
print(float(v), [float(x) for x in (v, v)])
for f in (lambda: math.exp(v), lambda: e(v), lambda: grad(lambda x: math.exp(x))(0.0), lambda: grad(lambda x: float(x))(0.0),
          lambda: grad(lambda x: sum(map(e, [x])))(0.0)):
    try:
        print("silent", f())
    except Exception as error:
        print(type(error).__name__, "micrograd.math" in str(error) or "micrograd import math" in str(error))
"""


def test_the_python_engine_refuses_and_says_why():
    done = subprocess.run([sys.executable, "-c", PURE], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["0.0 [0.0, 0.0]", *["TypeError True"] * 2, *["TraceError True"] * 3]
