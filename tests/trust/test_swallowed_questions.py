"""What a Value cannot answer is asked inside of a `try` of the user's: its error may not lead to the handler's result.

Where plain Python has an answer, such as an item for an index, a trace without one must refuse, whatever the function catches.
Where plain Python raises the same error, the handler is right.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import operator
import types

import pytest

from micrograd import TraceError, Value, grad, hessian, jacobian, jit, no_grad, value_and_grad, vmap
from random_programs import needs_llvm


class Swallow:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return True


def item(x, k):
    try:
        t = x[k] * x[0]
    except Exception:
        t = 7.0 * x[0]
    return t


def item_or_index_error(x, k):
    try:
        t = x[k] * x[0]
    except IndexError:
        t = x[0]
    return t


def item_or_type_error(x, k):
    try:
        t = x[k] * x[0]
    except TypeError:
        t = 7.0 * x[0]
    return t


def suppressed(x, k):
    t = 7.0 * x[0]
    with contextlib.suppress(Exception):
        t = x[k] * x[0]
    return t


def own_exit(x, k):
    t = 7.0 * x[0]
    with Swallow():
        t = x[k] * x[0]
    return t


def part(x, k):
    try:
        t = 2.0 * sum(x[:k])
    except Exception:
        t = 7.0 * x[0]
    return t


def in_a_loop(x, k):
    t = 0.0
    for i in range(2):
        try:
            t += x[k - i] * x[0]
        except Exception:
            t += 7.0 * x[0]
    return t


def counted(x, k):
    t = 0.0
    try:
        for i in range(k):
            t = t + x[i]
    except Exception:
        t = 7.0 * x[0]
    return t


def index(x, k):
    try:
        t = x[operator.index(k)] * 2.0
    except Exception:
        t = 7.0 * x[0]
    return t


def position(x, k):
    try:
        t = x["abc".index("c", k)] * 2.0
    except Exception:
        t = 7.0 * x[0]
    return t


def repeated(x, k):
    try:
        t = sum([x[1]] * k)
    except Exception:
        t = 7.0 * x[0]
    return t


def bits(x, k):
    try:
        t = x[1] * ((k & 3) + (k << 1))
    except Exception:
        t = 7.0 * x[0]
    return t


def inverted(x, k):
    try:
        t = x[1] * ~k
    except Exception:
        t = 7.0 * x[0]
    return t


def digits(x, k):
    try:
        t = x[1] * k.bit_length()
    except Exception:
        t = 7.0 * x[0]
    return t


def modulus(x, k):
    try:
        t = x[1] * pow(k, 2, 5)
    except Exception:
        t = 7.0 * x[0]
    return t


def factorial(x, k):
    try:
        t = x[1] * math.factorial(k)
    except Exception:
        t = 7.0 * x[0]
    return t


def sliced(x, k):
    try:
        t = sum(itertools.islice(x, k))
    except Exception:
        t = 7.0 * x[0]
    return t


def popped(x, k):
    y = list(x)
    try:
        t = x[1] * y.pop(k)
    except Exception:
        t = 7.0 * x[0]
    return t


PROGRAMS = [item, item_or_index_error, item_or_type_error, suppressed, own_exit, part, in_a_loop, counted, index, position,
            repeated, bits, inverted, digits, modulus, factorial, sliced, popped]  # fmt: skip
NUMBERS = [3.0, 2.0, 1.0]


def without_source(f):
    return types.FunctionType(f.__code__.replace(co_filename="<nowhere>"), f.__globals__, f.__name__)


def slopes(f, x, k):
    h = 1e-6
    found = []
    for j in range(len(x)):
        up, down = x.copy(), x.copy()
        up[j] += h
        down[j] -= h
        found.append((f(up, k) - f(down, k)) / (2.0 * h))
    return found


def outcome(f, *args):
    """What a call gives, as numbers; None for a refusal."""
    try:
        return f(*args)
    except TraceError:
        return None


def same(got, want):
    return got is None or got == pytest.approx(want, rel=1e-6)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("keep_source", [True, False])
@pytest.mark.parametrize("f", PROGRAMS)
def test_a_derivative_with_respect_to_the_whole_number(f, keep_source):
    g = f if keep_source else without_source(f)
    for k in (2, 1):
        for transform in (value_and_grad, lambda f, n: jit(value_and_grad(f, n))):
            found = outcome(transform(g, (0, 1)), NUMBERS, k)
            assert found is None or found[0] == pytest.approx(f(NUMBERS, k))
            assert found is None or found[1][0] == pytest.approx(slopes(f, NUMBERS, k), rel=1e-6)
    for transform in (jacobian, hessian):
        with contextlib.suppress(TraceError, IndexError):
            transform(g, (0, 1))(NUMBERS, 2)
            raise AssertionError("no refusal")


@needs_llvm
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("keep_source", [True, False])
@pytest.mark.parametrize("f", PROGRAMS)
def test_results_do_not_depend_on_the_calls_before(f, keep_source):
    np = pytest.importorskip("numpy")
    g = f if keep_source else without_source(f)
    for x in (NUMBERS, np.array(NUMBERS)):
        for order in ([7, 1, 2], [2, 1, 7], [1.0, 1, 2]):
            plain, derived = jit(g), jit(grad(g))
            for k in order:
                try:
                    want = float(f(x, k))
                except Exception:
                    continue
                assert same(outcome(plain, x, k), want)
                found = outcome(derived, x, k)
                assert found is None or list(found) == pytest.approx(slopes(f, x, k), rel=1e-6)


@needs_llvm
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("f", PROGRAMS)
def test_rows(f):
    for rows in ([1, 2], [2, 0, 1]):
        found = outcome(vmap(f, in_axes=(None, 0)), NUMBERS, rows)
        assert found is None or list(found) == pytest.approx([f(NUMBERS, k) for k in rows])


def test_a_float_as_an_index_raises_as_in_plain_python():
    assert item_or_type_error(NUMBERS, 1.0) == 21.0
    assert value_and_grad(item_or_type_error, (0, 1))(NUMBERS, 1.0) == (21.0, ([7.0, 0.0, 0.0], 0.0))
    assert jit(item_or_type_error)(NUMBERS, 1.0) == 21.0


def test_a_value_outside_of_a_trace_is_no_index():
    for use in (lambda v: NUMBERS[v], lambda v: v & 1, lambda v: 1 << v, lambda v: ~v, operator.index, range):
        with pytest.raises(TypeError):
            use(Value(1.0))
    with pytest.raises(AttributeError):
        Value(1.0).bit_length()
    with pytest.raises(TraceError, match="a whole number wanted, and a Value found"):
        grad(lambda x, k: x[k], (0, 1))(NUMBERS, 1)


def length(x):
    return x * len(repr(x)) * (2.0 if "." in str(x) else 1.0)


@pytest.mark.parametrize("x", [2.5, 3, -0.125])
def test_the_text_of_a_number_answers_while_a_derivative_is_taken(x):
    want = length(x) / x
    assert grad(length)(x) == value_and_grad(length)(x)[1] == want
    assert f"{Value(2.5)}" == str(Value(2.5)) == "Value(data=2.5, grad=0.0)"


def test_a_text_that_was_kept_is_that_of_a_value():
    kept = []

    def square(x):
        kept.append(repr(x))
        return x * x

    assert grad(square)(2.5) == 5.0
    assert kept[0] == "Value(data=2.5, grad=0.0)" and len(kept[0]) == 25


def stopped(x):
    with no_grad():
        y = x * 2.0 + max(x, 1.0)
    return y * x if isinstance(y, float) else -1.0


def test_no_grad_inside_of_a_function_gives_numbers():
    assert value_and_grad(stopped)(3.0) == (27.0, 9.0)
    assert grad(stopped)(3.0) == jacobian(stopped)(3.0) == 9.0
    assert hessian(stopped)(3.0) == 0.0
    x = Value(3.0)
    y, slope = value_and_grad(lambda x: stopped_value(x) * x)(x)
    y.backward()
    assert (y.data, slope, x.grad) == (18.0, 6.0, 6.0)


def stopped_value(x):
    with no_grad():
        return x * 2.0
