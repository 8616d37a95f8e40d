"""Rows along other axes, structures of axes and kinds of numbers on a cluster: the same result as on one machine."""

from __future__ import annotations

import collections

import pytest

pytest.importorskip(
    "distributed", reason="the cluster needs dask and distributed: pip install 'micrograd-next[cluster]'"
)
pytest.importorskip("llvmlite", reason="workers compile")

import dask.array as da
import numpy as np

from cluster.local import MARKS, in_process
from micrograd import Value, jit, math, value_and_grad, vmap

pytestmark = MARKS
ROWS = 70_001  # three chunks
Y = np.random.default_rng(0).normal(size=ROWS)
X = np.random.default_rng(1).normal(size=(3, ROWS))
W = np.array([0.1, 0.2, 0.3])
Pair = collections.namedtuple("Pair", "x k")


@pytest.fixture(scope="module")
def client():
    """A worker in this process, since these tests are about how rows are cut and put together."""
    with in_process() as one:
        yield one


def leaves(result):
    if isinstance(result, (dict, list, tuple)):
        return [x for item in (result.values() if isinstance(result, dict) else result) for x in leaves(item)]
    return [result]


def fetched(result):
    return [x.compute() if hasattr(x, "compute") else x for x in leaves(result)]


def assert_same(here, there):
    assert type(here) is type(there) or hasattr(there, "compute")
    for a, b in zip(leaves(here), fetched(there), strict=True):
        assert np.shape(a) == np.shape(b) and np.array_equal(a, b)


ARGUMENTS = {
    "dict": (lambda d, s: math.sin(d["x"]) * d["w"][1] + s, ({"x": 0, "w": None}, 0), ({"x": Y, "w": W}, Y)),
    "list": (lambda t: t[0] * t[1][2] + t[2], ([0, None, None],), ([Y, W, 2.0],)),
    "tuple": (lambda t: t[0] * t[1][2], ((0, 1),), ((Y, X),)),
    "named tuple": (lambda p: p.x * p.k, ((0, None),), (Pair(Y, 3.0),)),
    "deep": (
        lambda d: d["a"][0]["b"][1] * d["a"][1] + d["c"],
        ({"a": [{"b": 1}, None], "c": 0},),
        ({"a": [{"b": X}, 2.0], "c": Y},),
    ),
    "dict alone": (lambda d: d["x"] * d["k"], {"x": 0, "k": None}, ({"x": Y, "k": 2.0},)),
}


@pytest.mark.parametrize("reduce", [None, "sum", "mean"])
@pytest.mark.parametrize("f, in_axes, args", ARGUMENTS.values(), ids=ARGUMENTS.keys())
def test_a_structure_of_axes(client, f, in_axes, args, reduce):
    how = {"in_axes": in_axes, "reduce": reduce}
    assert_same(vmap(f, **how)(*args), vmap(f, **how, client=client)(*args))


RESULTS = {
    "last": (lambda x: np.array([x, 2 * x, x + 1]), 1),
    "negative": (lambda x: np.array([[x, 2 * x], [x + 1, x]]), -1),
    "dict": (lambda x: {"a": np.array([x, 2 * x, x + 1]), "b": (x, x * x)}, {"a": 1, "b": 0}),
    "same in all rows": (lambda x: (x * 2.0, 3.0), (0, None)),
}


@pytest.mark.parametrize("argument", [Y, da.from_array(Y, chunks=7_000)], ids=["array", "Dask array"])
@pytest.mark.parametrize("f, out_axes", RESULTS.values(), ids=RESULTS.keys())
def test_where_the_rows_of_a_result_run(client, f, out_axes, argument):
    assert_same(vmap(f, out_axes=out_axes)(Y), vmap(f, out_axes=out_axes, client=client)(argument))


def test_dask_arrays_in_a_structure(client):
    f = lambda d, s: d["x"][0] * d["w"][1] + s  # noqa: E731
    how = {"in_axes": ({"x": 1, "w": None}, 0), "out_axes": 0}
    there = {"x": da.from_array(X, chunks=(2, 9_000)), "w": W}, da.from_array(Y, chunks=7_000)
    assert_same(vmap(f, **how)({"x": X, "w": W}, Y).tolist(), vmap(f, **how, client=client)(*there).compute().tolist())


def test_gradients_of_a_value_in_a_structure(client):
    f = lambda d: (d["w"] * d["x"]).tanh()  # noqa: E731
    found = []
    for more in ({}, {"client": client}):
        w = Value(0.7)
        result = vmap(f, in_axes=({"x": 0, "w": None},), reduce="mean", **more)({"x": Y, "w": w})
        result.backward()
        found.append((result.data, w.grad))
    assert found[0] == found[1]


def test_through_jit_and_derivatives(client):
    f = value_and_grad(lambda x, k: x**2 * k["k"])
    how = {"in_axes": (0, {"k": None}), "out_axes": (0, 0)}
    assert_same(vmap(f, **how)(Y, {"k": 3.0}), jit(vmap(f, **how, client=client), wait=True)(Y, {"k": 3.0}))


@pytest.mark.parametrize("beside", [(), (Y[:3],)], ids=["alone", "beside numbers"])
def test_an_array_of_values_is_run_here(client, beside):
    f = lambda *xs: xs[0] * 2.0 + sum(xs[1:])  # noqa: E731
    rows = np.array([Value(1.0), Value(2.0), Value(3.0)], dtype=object)
    here, there = vmap(f)(rows, *beside), vmap(f, client=client)(rows, *beside)
    assert [x.data for x in here] == [x.data for x in there]


@pytest.mark.parametrize("how, told", [
    ({"in_axes": ({"x": 0},)}, r"argument 0 is a dict of the keys \['w', 'x'\], and its axes are \{'x': 0\}"),
    ({"in_axes": ([0, 0],)}, "and its axes are"),
    ({"in_axes": ({"x": 0, "w": None},), "out_axes": None}, "which is not the same in all rows"),
])  # fmt: skip
def test_axes_that_do_not_fit_are_the_same_error(client, how, told):
    for more in ({}, {"client": client}):
        with pytest.raises((TypeError, ValueError), match=told):
            vmap(lambda d: d["x"] * 2.0, **how, **more)({"x": Y, "w": W})


@pytest.mark.parametrize("kind", ["f2", ">f8", "longdouble", "i2", "u1", "?", "f4"])
def test_every_kind_of_numbers(client, kind):
    """Numbers that kernels do not read are turned into floats; of some kinds the first row alone came back."""
    column = (np.abs(Y) * 10).astype(kind)
    f = lambda x: x * 2.0 + 1.0  # noqa: E731
    here = vmap(f)(column)
    assert here.shape == (ROWS,)
    assert_same(here, vmap(f, client=client)(column))
    assert_same(here.tolist(), vmap(f, client=client)(da.from_array(column, chunks=7_000)).compute().tolist())
    assert vmap(f, reduce="sum")(column) == vmap(f, reduce="sum", client=client)(column)
