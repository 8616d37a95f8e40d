"""Lists and arrays of every kind of number go to machine code without a Python frame, and give what plain Python gives."""

from __future__ import annotations

import struct
import sys

import pytest

from micrograd import grad, jit

np = pytest.importorskip("numpy")
pytest.importorskip("llvmlite")

NUMBERS = [1.5, -2.0, 3.0, 0.25]
FORMS = {
    "floats": NUMBERS,
    "tuple": tuple(NUMBERS),
    "float64s": [np.float64(x) for x in NUMBERS],
    "floats and float64s": [1.5, np.float64(-2.0), 3.0, np.float64(0.25)],
    "an int among floats": [2, -2.0, np.float64(3.0), 0.25],
    "float32s": [np.float32(x) for x in NUMBERS],
    "array": np.array(NUMBERS),
    "float32 array": np.array(NUMBERS, dtype=np.float32),
    "int array": np.array([1, -2, 3, 4]),
    "int32 array": np.array([1, -2, 3, 4], dtype=np.int32),
    "every second": np.arange(8.0)[::2],
    "backwards": np.arange(4.0)[::-1],
    "a column": np.arange(8.0).reshape(4, 2)[:, 1],
    "ints": [1, 2, 3, 4],
}


def sum_of_squares(xs):
    total = 0.0
    for x in xs:
        total = total + x * x
    return total


def weighted(xs):
    total = 1.0
    for k in range(len(xs)):
        total = total * 0.5 + xs[k] / (k + 1.0)
    return total


def python_calls(f, *args):
    """The names of the Python functions that run in a call of f."""
    seen = []
    before = sys.getprofile()
    sys.setprofile(lambda frame, event, _: seen.append(frame.f_code.co_name) if event == "call" else None)
    try:
        f(*args)
    finally:
        sys.setprofile(before)
    return set(seen) - {"array_of_bytes", "python_calls"}


def bits(x):
    return [struct.pack("<d", float(v)) for v in np.asarray(x, dtype=float).ravel()]


@pytest.mark.skipif("micrograd._engine" not in sys.modules, reason="without the C engine")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("f", [sum_of_squares, weighted])
def test_values(f, form):
    compiled, x = jit(f, wait=True), FORMS[form]
    for _ in range(300):
        compiled(x)
    assert not python_calls(compiled, x)
    assert bits(compiled(x)) == bits(f(np.asarray(x, dtype=float).tolist()))
    twice = [2.0 * v for v in x] if isinstance(x, (list, tuple)) else 2 * x
    twice = type(x)(twice) if isinstance(x, tuple) else twice
    assert bits(compiled(twice)) == bits(f(np.asarray(twice, dtype=float).tolist()))


@pytest.mark.skipif("micrograd._engine" not in sys.modules, reason="without the C engine")
@pytest.mark.parametrize("form", FORMS)
def test_gradients(form):
    compiled, x = jit(grad(weighted), wait=True), FORMS[form]
    for _ in range(300):
        compiled(x)
    assert not python_calls(compiled, x)
    want = [0.5 ** (3 - k) / (k + 1.0) for k in range(4)]
    assert np.asarray(compiled(x), dtype=float).tolist() == pytest.approx(want, rel=1e-12)


def test_other_numbers_in_the_same_list():
    compiled = jit(sum_of_squares, wait=True)
    xs = [np.float64(x) for x in NUMBERS]
    for _ in range(40):
        compiled(xs)
    assert compiled([1.0, 2.0, 3.0, 4.0]) == 30.0
    assert compiled([1, 2, 3, 4]) == 30
    assert compiled([True, True, False, False]) == 2.0
    with pytest.raises((TypeError, ValueError)):
        compiled(["a", 1.0, 2.0, 3.0])
    assert compiled([*xs, np.float64(1.0)]) == sum_of_squares([*NUMBERS, 1.0])


def test_whole_numbers_that_no_double_holds_are_not_rounded():
    def total(xs):
        found = 0
        for x in xs:
            found = found + x
        return found

    compiled, xs = jit(total, wait=True), np.array([1, 2, 3, 4])
    for _ in range(40):
        compiled(xs)
    large = np.array([2**53 + 1, 0, 0, 0])
    assert float(compiled(large)) == float(2**53 + 1)


def test_long_lists_of_float64_are_one_array():
    xs = list(np.linspace(0.0, 1.0, 5000))
    compiled = jit(sum_of_squares, wait=True)
    assert compiled(xs) == sum_of_squares([float(x) for x in xs])
    assert len(str(compiled.explain(xs)).splitlines()) < 60
