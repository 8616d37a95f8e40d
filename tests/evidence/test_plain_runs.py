"""Programs that can tell a Value from a number: what a trace would get wrong is an error, and never another number."""

import contextlib
import fractions
import math
import statistics
import struct

import numpy as np
import pytest

import micrograd
from micrograd import TraceError, Value, grad, jit, observed, value_and_grad, vmap
from micrograd.tape.trace import run_on_numbers


def taken(x):
    """Return x as code takes it that knows floats alone."""
    return struct.unpack("d", struct.pack("d", x))[0]


class Swallows:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return True


def bare_except(x, n):
    try:
        return taken(x) * x
    except:  # noqa: E722
        return x


def except_exception(x, n):
    try:
        return taken(x) * x
    except Exception:
        return x


def manager(x, n):
    y = x
    with Swallows():
        y = taken(x) * x
    return y


def suppressed(x, n):
    y = x
    with contextlib.suppress(Exception):
        y = taken(x) * x
    return y


def raised_again(x, n):
    try:
        return taken(x) * x
    except Exception as error:
        raise ValueError("no exponential") from error


def hashed(x, n):
    try:
        return {1.5: 2.0}[x] * x
    except Exception:
        return x


def rounded(x, n):
    try:
        return round(x, 30) * x
    except Exception:
        return x


def text(x, n):
    try:
        return len(f"{x:.3f}") * x
    except Exception:
        return x


def count(x, n):
    try:
        return sum(range(n)) * x
    except TypeError:
        return x


def index(x, n):
    try:
        return [1.0, 2.0, 3.0, 4.0][n] * x
    except TypeError:
        return x


def binomial(x, n):
    try:
        return math.comb(5, n) * x
    except TypeError:
        return x


def repeated(x, n):
    try:
        return len("abc" * n) * x
    except TypeError:
        return x


def bits(x, n):
    try:
        return (n & 2) * x
    except TypeError:
        return -x


def method_of_int(x, n):
    return n.bit_length() * x if hasattr(n, "bit_length") else -x


def exact_type(x, n):
    return x * 2.0 if type(x) is float else x


def unbound_method(x, n):
    try:
        return len(float.hex(x)) * x
    except TypeError:
        return x


PROGRAMS = [
    bare_except, except_exception, manager, suppressed, raised_again, hashed, rounded, text, count, index, binomial,
    repeated, bits, method_of_int, exact_type, unbound_method,
]  # fmt: skip

WAYS = {
    "jit": lambda f: jit(f, wait=True)(1.5, 3),
    "jit, exact": lambda f: jit(f, exact=True, wait=True)(1.5, 3),
    "jit of grad": lambda f: jit(grad(f), wait=True)(1.5, 3),
    "vmap": lambda f: vmap(f, in_axes=(0, None))(np.array([1.5, 2.5]), 3),
    "vmap of grad": lambda f: vmap(value_and_grad(f), in_axes=(0, None))(np.array([1.5, 2.5]), 3),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore:.*type\\(:RuntimeWarning")
def test_a_trace_that_computes_something_else_is_refused(f, way):
    assert isinstance(f(1.5, 3), float)
    with pytest.raises(TraceError) as caught:
        WAYS[way](f)
    assert len(str(caught.value).splitlines()) >= 3


@pytest.mark.parametrize("how", [jit, vmap])
def test_a_refusal_that_is_caught_counts_also_where_the_numbers_agree(how):
    def f(x):
        try:
            y = taken(x) + 1.0
        except Exception:
            y = 1.0
        return y * x

    with pytest.raises(TraceError, match=r"the number of a Value|float\(\) of a Value"):
        how(f)(0.0 if how is jit else np.zeros(2))


def test_the_message_has_both_results_and_the_way_out():
    def count(x, n):
        return x if hasattr(n, "zero_grad") else n * x

    with pytest.raises(
        TraceError, match=r"count gives 1.5 when it is traced, and 4.5 for the numbers themselves"
    ) as caught:
        jit(count)(1.5, 3)
    assert "static_argnums" in str(caught.value)
    assert jit(count, static_argnums=1, wait=True)(1.5, 3) == 4.5


@pytest.mark.parametrize("x", [1.5, 2.0, -3.0, 0.0, 1e300, math.inf, -math.inf, math.nan])
def test_what_floats_have_beside_their_operators(x, mg):
    v = mg.Value(x)
    assert v.real is v and v.imag == 0.0
    assert v.is_integer() is x.is_integer()


def test_statistics_and_fractions_do_not_take_the_number_out_of_a_value(mg):
    for f in (statistics.pvariance, lambda numbers: fractions.Fraction(numbers[0])):
        with pytest.raises(TypeError, match=r"Value|Rational"):
            f([mg.Value(1.0), mg.Value(2.0)])


def test_is_integer_is_a_branch():
    def f(x):
        return x.real * 3.0 + x.imag if x.is_integer() else -x.conjugate()

    xs = np.array([1.0, 1.5, -2.0, 0.25])
    assert vmap(value_and_grad(f))(xs)[0].tolist() == [f(x) for x in xs.tolist()]
    assert vmap(grad(f))(xs).tolist() == [3.0, -1.0, 3.0, -1.0]


def test_sums_that_round_differently_are_no_difference():
    numbers = [0.1] * 10 + [1e16, 1.0, -1e16]  # Python 3.12 and newer compensate the rounding of a sum of floats

    def f(x):
        return sum(x * c for c in numbers) - micrograd.math.fsum([x, -x])

    assert jit(f, wait=True)(1.0) == pytest.approx(f(Value(1.0)).data, abs=4.0)


def test_a_function_for_values_alone_is_compiled():
    def f(x):
        return (x * 2.0).relu() + x.data_is_not_read if hasattr(x, "data_is_not_read") else x.tanh()

    assert jit(f, wait=True)(0.5) == pytest.approx(math.tanh(0.5))


def test_a_complex_number_of_plain_python_is_a_nan():
    power = lambda x, y: (x**y, x)  # noqa: E731
    assert str(jit(power)(-8.0, 0.5)) == "(nan, -8.0)"
    assert np.isnan(vmap(power)(np.array([-8.0, 4.0]), np.array([0.5, 0.5]))[0]).tolist() == [True, False]
    assert jit(lambda x: (x, 2j))(1.0) == (1.0, 2j)


def by_method(yes, no):
    """A function that gives something else for a number than for a Value, which has other methods."""

    def f(x):
        return no(x) if hasattr(x, "zero_grad") else yes(x)

    return f


@pytest.mark.parametrize(
    ("yes", "no"),
    [
        (lambda x: float("nan"), lambda x: x * 2.0),
        (lambda x: x * 2.0, lambda x: x * float("nan")),
        (lambda x: (x, x), lambda x: x),
        (lambda x: x, lambda x: (x, x * 2.0)),
        (lambda x: True, lambda x: False),
    ],
    ids=["a nan for the number", "a nan for the Value", "two numbers", "two Values", "bools"],
)
def test_other_results_of_each_kind_are_told(yes, no):
    f = by_method(yes, no)
    rows = vmap(lambda x, n: f(n), in_axes=(0, None))
    if yes(1) is True:  # of rows, bools are numbers
        with pytest.raises(TraceError, match="for the numbers themselves"):
            rows(np.array([1.0, 2.0]), 1)
        return
    for g in (jit(f), lambda n: rows(np.array([1.0, 2.0]), n)):
        with pytest.raises(TraceError, match="for the numbers themselves"):
            g(1)


def test_results_that_are_nan_for_both_are_the_same():
    nan = float("nan")
    assert math.isnan(jit(lambda x: x * nan)(1.5)) and np.isnan(vmap(lambda x: x * nan)(np.array([1.5]))).all()


def test_a_gradient_sees_the_class_of_its_argument():
    def f(x):
        return x * 2.0 if isinstance(x, int) else x * 3.0

    g = jit(value_and_grad(f))
    assert (g(2), g(2.0), g(2)) == ((4.0, 2.0), (6.0, 3.0), (4.0, 2.0))


def test_a_watcher_is_there_again_after_a_run_on_numbers():
    def made(*args):
        return None

    def backward(*args):
        return None

    before = observed.set_watch(made, backward)
    try:
        assert run_on_numbers(lambda x: x, [2.5]) == 2.5
    finally:
        now = observed.set_watch(*before)
    assert now == (made, backward, False)


def test_a_truth_is_a_number_in_a_column_and_itself_at_a_point():
    def f(x):
        return x * 2.0, x > 1.5, True

    assert jit(f)(3.0) == f(3.0) and jit(f)(3.0)[1] is True
    columns = vmap(f)(np.array([1.0, 2.0]))
    assert [column.tolist() for column in columns] == [[2.0, 4.0], [0.0, 1.0], [1.0, 1.0]]
