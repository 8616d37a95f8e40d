"""vmap where Values take part: a result of each row is a Value then, with the gradient of that row."""

from __future__ import annotations

import importlib
import importlib.util
import threading

import pytest

from threads import together

np = pytest.importorskip("numpy")

X = np.array([0.5, -1.0, 2.0, 3.5, -0.25])


COMPILES = True  # read by the fixture mg


def gradients(result, values):
    for v in values:
        v.grad = 0.0
    result.backward()
    return [v.grad for v in values]


class TestEachRow:
    """Without reduce: what is computed further from the results must reach the Values, as in a plain loop."""

    @pytest.mark.parametrize("options", [{}, {"exact": True}, {"batch_size": 2}, {"width": 2}, {"float32": True}])
    @pytest.mark.parametrize("rows", [1, 5, 300])
    def test_a_penalty_beside_the_mean_of_the_rows(self, mg, options, rows):
        w, b = mg.Value(2.0), mg.Value(-1.0)
        x = np.resize(X, rows)

        def row(x):
            return (w * x + b) ** 2

        penalty = 0.1 * w * w
        got = mg.vmap(row, **options)(x).mean() + penalty
        want = sum(row(a) for a in x.tolist()) / rows + penalty
        close = pytest.approx if options != {"float32": True} else lambda want: pytest.approx(want, rel=1e-5)
        assert got.data == close(want.data)
        assert gradients(got, (w, b)) == close(gradients(want, (w, b)))

    def test_each_result_has_its_own_gradient(self, mg):
        w, u = mg.Value(2.0), mg.Value(3.0)
        out = mg.vmap(lambda x, u: {"a": w * x, "b": (u * u * x, w * u)}, in_axes=(0, None))(X, u)
        for k, x in enumerate(X.tolist()):
            assert gradients(out["a"][k], (w, u)) == pytest.approx([x, 0.0])
            assert gradients(out["b"][0][k], (w, u)) == pytest.approx([0.0, 6.0 * x])
            assert gradients(out["b"][1][k], (w, u)) == pytest.approx([3.0, 2.0])

    def test_an_array_of_each_row(self, mg):
        w = mg.Value(2.0)
        out = mg.vmap(lambda x: np.array([[w * x, x]]))(X)
        assert out.shape == (5, 1, 2)
        assert gradients(out.sum(), (w,)) == pytest.approx([X.sum()])

    def test_derivatives_of_rows_go_on(self, mg):
        w = mg.Value(2.0)
        slopes = mg.vmap(mg.grad(lambda x: w * x**3))(X)
        assert [s.data for s in slopes] == pytest.approx(6.0 * X**2)
        assert gradients(slopes.sum(), (w,)) == pytest.approx([3.0 * (X**2).sum()])

    def test_ways_that_meet_different_values(self, mg):
        a, b = mg.Value(2.0), mg.Value(3.0)
        g = mg.vmap(lambda x: a * x if x > 0 else b * x * x)
        for _ in range(2):
            out = g(X)
            assert [y.data for y in out] == pytest.approx(np.where(X > 0, 2 * X, 3 * X**2))
            assert gradients(out.sum(), (a, b)) == pytest.approx([X[X > 0].sum(), (X[X <= 0] ** 2).sum()])

    def test_without_recording_they_are_numbers(self, mg):
        w = mg.Value(2.0)
        g = mg.vmap(lambda x: w * x)
        with mg.no_grad():
            out = g(X)
        assert out.dtype == np.float64
        assert out == pytest.approx(2 * X)
        assert g(X).dtype == object

    def test_numbers_alone_give_numbers(self, mg):
        assert mg.vmap(lambda x: x * 2)(X).dtype == np.float64


def test_more_values_than_memory_holds_are_refused(monkeypatch):
    pytest.importorskip("llvmlite")
    from micrograd import Value, no_grad, vmap

    monkeypatch.setattr(importlib.import_module("micrograd.compile.tuning").TUNING, "max_partials", 20)
    a, b = Value(2.0), Value(3.0)
    g = vmap(lambda x: a * x + b)
    assert g(np.ones(6))[5].data == 5.0
    with pytest.raises(ValueError, match=r"(?s)7 rows of .*with 3 numbers each.*GB.*reduce=.*no_grad\(\)"):
        g(np.ones(7))
    with no_grad():
        assert g(np.ones(7))[6] == 5.0


class TestAWayThatMeetsMoreValues:
    """It renumbers what all ways read; whoever runs or compiles an old one must not see half of that."""

    def a_function(self, reduce):
        from micrograd import Value, vmap

        a, b = Value(2.0), Value(3.0)
        return vmap(lambda x, u: u * a * x if x > 0 else u * b, in_axes=(0, None), reduce=reduce)

    @pytest.fixture(autouse=True)
    def machine_code(self):
        pytest.importorskip("llvmlite")

    @pytest.mark.parametrize("reduce", [None, "sum"])
    def test_code_made_in_the_background_is_that_of_its_own_numbering(self, reduce, monkeypatch):
        from micrograd import no_grad

        later = []
        monkeypatch.setattr(importlib.import_module("micrograd.compile.llvm").LLVM, "levels", lambda *_: (0, 1))
        monkeypatch.setattr(importlib.import_module("micrograd.compile.worker"), "in_background", later.append)
        g = self.a_function(reduce)

        def total(x):
            out = g(x, 10.0)
            return out if reduce is None else out.data

        with no_grad():
            total(np.array([1.0]))
            old = later.copy()
            total(np.array([1.0, -1.0]))
            assert old
            for job in old:
                job()
            assert np.sum(total(np.array([1.0, -1.0]))) == 50.0

    def test_threads_that_find_it_at_once(self, monkeypatch):
        """The first way is held up, by each thread, between choosing it and running it."""
        from micrograd.compile.batch import RowsVariant

        g = self.a_function("sum")
        g(np.array([1.0]), 10.0)
        code, meet = RowsVariant.compile, threading.Barrier(2)
        met = threading.local()

        def held(self, *args, **options):
            if not getattr(met, "once", False):
                met.once = True
                meet.wait(60)
            return code(self, *args, **options)

        monkeypatch.setattr(RowsVariant, "compile", held)
        assert together(lambda _: g(np.array([1.0, -1.0, 2.0]), 10.0).data, 2) == [90.0, 90.0]
