"""Numbers that NumPy would take out of Values unasked: refused by both twins; what asks for the number gets it."""

from __future__ import annotations

import array
import io

import pytest

from micrograd import TraceError, grad, jit

np = pytest.importorskip("numpy")


def element(a, v):
    a[0] = v


def part(a, v):
    a[1:2] = v


def everything(a, v):
    a[...] = v


def by_mask(a, v):
    a[a == 0.0] = v


def a_list(a, v):
    a[:] = [v, v, v]


def an_array_of_values(a, v):
    a[:] = np.array([v, v, v], dtype=object)


def standard_library(a, v):
    array.array("d", [0.0])[0] = v


def in_comprehension(a, v):
    [a.__class__ for a[0] in [v]]


STORES = [element, part, everything, by_mask, a_list, an_array_of_values, standard_library, in_comprehension]
TAKERS = {
    "np.gradient": lambda v: np.gradient([v, v * v, v]),
    "np.interp": lambda v: np.interp([v], [0.0, 1.0], [0.0, 2.0]),
    "np.i0": lambda v: np.i0([v]),
    "np.full_like": lambda v: np.full_like([0.0, 1.0], [v, v]),
}
ASKED = {
    "float": float,
    "store its float": lambda v: element(np.zeros(2), float(v)),
    "store its data": lambda v: element(np.zeros(2), v.data),
    "in an index": lambda v: element({}, float(v)),
    "array of objects": lambda v: element(np.zeros(2, dtype=object), v),
    "list": lambda v: element([0.0], v),
    "dict": lambda v: element({}, v),
    "asarray": lambda v: np.asarray([v, v], dtype=float),
    "astype": lambda v: np.array([v]).astype(float),
    "vectorize": lambda v: np.vectorize(lambda x: x * v, otypes=[float])(np.ones(2)),
    "savetxt": lambda v: np.savetxt(io.StringIO(), np.array([v])),
    "format": lambda v: f"{v:.2f}" + "%.1f" % v,  # noqa: UP031
}


@pytest.mark.parametrize("store", STORES, ids=lambda f: f.__name__)
class TestStoring:
    def test_in_an_array_of_numbers_is_refused(self, Value, store):
        v = Value(3.0)
        a = np.zeros(3)
        with pytest.raises(TypeError, match=r"stored in an array of numbers(.|\n)*a\[i\] = v\.data"):
            store(a, v * v)
        assert a.tolist() == [0.0] * 3

    def test_in_an_array_of_numbers_made_in_the_function_is_differentiated(self, store):
        def f(x):
            a = np.zeros(3)
            store(a, x * x)
            return x + a[0]

        if store is standard_library:  # compiled code of somebody else takes the number
            with pytest.raises(TraceError, match="compiled code takes the number of a Value"):
                grad(f)(3.0)
            with pytest.raises(TraceError):
                jit(f, wait=True)(3.0)
        else:
            taken = store is not part  # which does not set the element that is read
            assert grad(f)(3.0) == (7.0 if taken else 1.0)
            assert jit(f, wait=True)(3.0) == (12.0 if taken else 3.0)

    def test_in_an_array_of_numbers_from_outside_is_refused(self, store):
        a = np.zeros(3)

        def f(x):
            store(a, x * x)
            return x + a[0]

        with pytest.raises(TraceError, match="compiled code takes the number of a Value"):
            grad(f)(3.0)
        with pytest.raises(TraceError):
            jit(f, wait=True)(3.0)
        assert a.tolist() == [0.0] * 3


@pytest.mark.parametrize("name", TAKERS)
def test_functions_of_numpy_that_convert_are_refused(Value, name):
    with pytest.raises(TypeError, match=f"{name} would take the number"):
        TAKERS[name](Value(0.5))


@pytest.mark.parametrize("fill", [lambda v: np.full_like([0.0], v), lambda v: np.full(2, v, dtype=float)])
def test_arrays_of_numbers_are_not_filled_with_values(Value, fill):
    with pytest.raises(TypeError, match="an array of float64 cannot hold Values"):
        fill(Value(0.5))


def test_arrays_of_objects_are_filled_with_them_in_compiled_functions_too():
    assert grad(lambda x: np.full(3, x * x).sum() + np.full_like(np.empty(2, dtype=object), x).sum())(3.0) == 20.0
    assert jit(lambda x: np.full(3, x * x).sum(), wait=True)(2.0) == 12.0


@pytest.mark.parametrize("name", ASKED)
def test_who_asks_for_the_number_gets_it(Value, name):
    ASKED[name](Value(0.5) * 2.0)


def test_without_gradients_there_is_none_to_lose(twin):
    a = np.zeros(2)
    with twin.engine.no_grad():
        a[0] = twin.engine.Value(3.0) * 2.0
    assert a.tolist() == [6.0, 0.0]


def test_scipy_may_store_what_a_function_returns(Value):
    optimize = pytest.importorskip("scipy.optimize")
    slope = optimize.approx_fprime(np.array([3.0]), lambda x: Value(float(x[0])) * 2.0)
    assert abs(slope[0] - 2.0) < 1e-6
