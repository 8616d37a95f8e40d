"""vmap: rows of arrays in, results out, whatever the arrays are like."""

from __future__ import annotations

from collections import namedtuple

import pytest

from micrograd import AnomalyError, Value, detect_anomaly, grad, install, jit, math, vmap
from random_programs import needs_llvm

np = pytest.importorskip("numpy", reason="vmap needs NumPy")
from two_columns import X, Y, f, want  # noqa: E402

pytestmark = needs_llvm


class TestArrays:
    def test_columns(self):
        assert vmap(f)(X, Y) == pytest.approx(want(X, Y))

    def test_rows(self):
        table = np.stack([X, Y], axis=1)
        assert vmap(lambda row: f(row[0], row[1]))(table) == pytest.approx(want(X, Y))

    def test_several_numbers_a_row_and_an_array_back(self):
        m = np.arange(24.0).reshape(4, 2, 3)
        out = vmap(lambda a: a * 2 + 1)(m)
        assert out.shape == (4, 2, 3)
        assert (out == m * 2 + 1).all()

    def test_nested_arguments(self):
        out = vmap(lambda p, q: {"s": p["a"] * q[0], "t": (q[1], p["a"])})({"a": X}, [Y, X])
        assert out["s"] == pytest.approx(X * Y)
        assert (out["t"][0] == X).all()
        assert (out["t"][1] == X).all()

    def test_lists_of_numbers_are_columns_too(self):
        assert vmap(f)([0.0, 1.0], [1.0, 2.0]) == pytest.approx(want([0.0, 1.0], [1.0, 2.0]))

    @pytest.mark.parametrize(
        "dtype",
        [
            "f8",
            "f4",
            "f2",
            "i1",
            "i2",
            "i4",
            "i8",
            "u1",
            "u2",
            "u4",
            "u8",
            "bool",
            ">f8",
            ">i4",
            "<f4",
            ">f4",
            "longdouble",
        ],
    )
    @pytest.mark.parametrize("reduced", [False, True])
    def test_number_types(self, dtype, reduced):
        x = np.array([0, 1, 1, 0, 1, 1, 0, 0, 1]).astype(dtype)
        w = Value(2.0)
        g = vmap(lambda a: w * a + 1, reduce="sum" if reduced else None)
        for _ in range(2):  # the second call may go another way
            out = g(x)
            assert (out.data == 19.0) if reduced else (out == 2 * x.astype(float) + 1).all()

    @pytest.mark.parametrize("reduced", [False, True])
    def test_memory_layouts(self, reduced):
        table = np.arange(60.0).reshape(6, 10) / 60
        layouts = [table[:, ::2], table[::-1], table.T[:6].copy().T[:6, :6], np.asfortranarray(table), table[:, 3:5]]
        layouts.append(np.broadcast_to(np.arange(3.0), (6, 3)))
        w = Value(1.5)
        for t in layouts:
            g = vmap(lambda row: math.sum([w * x for x in row]), reduce="sum" if reduced else None)
            out = g(t)
            if reduced:
                out.backward()
                assert out.data == pytest.approx(1.5 * t.sum())
                assert w.grad == pytest.approx(t.sum())
                w.grad = 0.0
            else:
                assert [y.data for y in out] == pytest.approx(1.5 * t.sum(axis=1))

    @pytest.mark.parametrize("rows", [1, 7, 8, 9, 16, 65, 300])
    @pytest.mark.parametrize("columns", [1, 2, 8, 13])
    def test_every_number_of_rows_side_by_side(self, rows, columns):
        """Rows are turned into columns eight at a time, with all that lie side by side at once."""
        table = np.random.default_rng(rows).standard_normal((2 * rows, 3 * columns))
        alone = np.arange(float(rows))
        whole = table[:rows, :columns].copy()
        for t in (
            whole,
            table[::2, :columns],
            table[:rows][::-1, columns : 2 * columns],
            table[::2, ::3],
            whole[:, ::-1],
        ):
            g = vmap(lambda row, x: [v * 2.0 + x for v in row])
            for some in (t, t.astype(np.float32), np.round(t).astype(np.int16)):
                assert (np.column_stack(g(some, alone)) == some * 2.0 + alone[:, None]).all()

    def test_read_only_arrays(self):
        x = X.copy()
        x.flags.writeable = False
        assert vmap(f)(x, Y) == pytest.approx(want(X, Y))

    def test_inputs_are_left_alone(self):
        x = X.copy()
        vmap(f)(x, Y)
        assert (x == X).all()


class TestAxes:
    def test_none_is_the_same_in_all_rows(self):
        assert vmap(f, in_axes=(0, None))(X, 2.0) == pytest.approx(want(X, 2.0))
        assert vmap(lambda p, x: p["w"] * x + p["b"][0], in_axes=(None, 0))({"w": 2.0, "b": [1.0]}, X) == pytest.approx(
            2 * X + 1
        )

    def test_a_uniform_number_may_change_from_call_to_call(self):
        g = vmap(f, in_axes=(0, None))
        for y in (1.0, 2.0, 3.0):
            assert g(X, y) == pytest.approx(want(X, y))

    @pytest.mark.parametrize("axis", [1, -1])
    def test_rows_along_another_axis(self, axis):
        table = np.stack([X, Y])
        assert vmap(lambda c: f(c[0], c[1]), in_axes=axis)(table) == pytest.approx(want(X, Y))
        assert vmap(lambda c, y: c[0] * y, in_axes=(axis, 0))(table, Y) == pytest.approx(X * Y)

    def test_the_middle_axis(self):
        m = np.arange(24.0).reshape(2, 3, 4)
        out = vmap(lambda a: a * 1, in_axes=-2)(m)
        assert out.shape == (3, 2, 4)
        assert (out == np.moveaxis(m, 1, 0)).all()

    def test_arguments_by_name_have_their_rows_along_axis_0(self):
        def f(x, y=1.0, *, z=2.0):
            return x * y[0] + z["a"] if not isinstance(y, float) else x * y + z

        x, y, z = np.arange(3.0), np.arange(6.0).reshape(3, 2), {"a": np.arange(3.0) + 7.0}
        for g in (vmap(f), jit(vmap(f))):
            assert g(x).tolist() == (x + 2.0).tolist()
            assert g(x, z=z, y=y).tolist() == g(x, y=y, z=z).tolist() == (x * y[:, 0] + z["a"]).tolist()
            assert g(x).tolist() == (x + 2.0).tolist()
        assert vmap(lambda x, z: x[0] + z, in_axes=1)(np.ones((1, 3)), z=x).tolist() == [1.0, 2.0, 3.0]
        w = Value(2.0)
        total = vmap(lambda x, y: x * y * w, reduce="sum")
        for _ in range(3):
            assert total(x, y=x + 1.0).data == total(x, x + 1.0).data == 16.0
        assert grad(lambda v: vmap(lambda x, y: x * y * v, reduce="sum")(x, y=x))(1.0) == 5.0
        with pytest.raises(AnomalyError, match="in row 0: log gives -inf"), detect_anomaly():
            vmap(lambda x, y: x + math.log(y))(x, y=x)
        with pytest.raises(TypeError, match=r"argument 'y' is one number and has no rows.*by its position"):
            vmap(f)(x, y=2.0)
        with pytest.raises(TypeError, match="unexpected keyword argument 'u'"):
            vmap(f)(x, u=x)

    def test_a_static_argument_of_a_jitted_function_stays_one(self):
        f = jit(lambda n, x: sum(x * k for k in range(n)), static_argnums=0)
        for g in (
            vmap(f, in_axes=(None, 0)),
            jit(vmap(f, in_axes=(None, 0))),
            vmap(f, in_axes=(None, 0), reduce="sum"),
        ):
            for n in (3, 4, 3):
                got = g(n, X)
                assert (got if isinstance(got, float) else got.sum()) == pytest.approx(
                    sum(range(n)) * X.sum(), abs=1e-12
                )
        with pytest.raises(TypeError, match="argument 0 is static, so it is the same in all rows: give in_axes=None"):
            vmap(f)(3, X)

    def test_wrong_axes_are_named(self):
        with pytest.raises(ValueError, match="argument 0 has 1 axes, so its rows cannot lie along axis 3"):
            vmap(lambda x: x, in_axes=3)(X)
        with pytest.raises(TypeError, match="is for 1 arguments, but 2 were given"):
            vmap(f, in_axes=(0,))(X, Y)

    def test_rows_of_rows(self):
        inner = vmap(lambda x, y: x * y, in_axes=(0, None))
        out = vmap(inner, in_axes=(None, 0))(X, Y)
        assert np.array(out) == pytest.approx(np.outer(Y, X))


class TestRefusals:
    def test_different_lengths(self):
        with pytest.raises(ValueError, match="different numbers of rows: 13 and 12"):
            vmap(f)(X, Y[:12])

    def test_an_empty_batch(self):
        assert vmap(f)(X[:0], Y[:0]).shape == (0,)
        pair, point = vmap(lambda x, p: ([x, x * p[1]], {"p": p}))(X[:0], np.zeros((0, 2)))
        assert [y.shape for y in (*pair, point["p"])] == [(0,), (0,), (0, 2)]
        assert vmap(grad(f))(X[:0], Y[:0]).shape == (0,)
        assert vmap(f, reduce="sum")(X[:0], Y[:0]) == 0.0
        assert math.isnan(vmap(f, reduce="mean")(X[:0], Y[:0]))
        with pytest.raises(ValueError, match=r"(?s)the batch is empty.*ZeroDivisionError"):
            vmap(lambda x: 1 // 0 + x)(X[:0])

    def test_objects_and_texts(self):
        with pytest.raises(TypeError, match="array of objects, not of numbers"):
            vmap(lambda x: x)(np.array([1.0, "a", None], dtype=object))
        with pytest.raises(TypeError, match="not a real number type"):
            vmap(lambda x: x)(np.array(["a", "b"]))
        with pytest.raises(TypeError, match="not a real number type"):
            vmap(lambda x: x)(np.array([1j]))

    def test_a_number_has_no_rows(self):
        with pytest.raises(TypeError, match="argument 1 is one number and has no rows: give in_axes=None"):
            vmap(f)(X, 2.0)
        with pytest.raises(TypeError, match="needs an argument with rows"):
            vmap(f, in_axes=None)(1.0, 2.0)

    def test_options(self):
        with pytest.raises(ValueError, match="reduce='max'"):
            vmap(f, reduce="max")
        with pytest.raises(ValueError, match="batch_size=0"):
            vmap(f, batch_size=0)

    def test_wrong_lengths_after_right_ones(self):
        w = Value(1.0)
        g = vmap(lambda x, y: w * x * y, reduce="mean")
        for _ in range(2):
            assert g(X, Y).data == pytest.approx((X * Y).mean())
        with pytest.raises(ValueError, match="different numbers of rows"):
            g(X, Y[:5])
        nothing = g(X[:0], Y[:0])
        assert isinstance(nothing, Value)
        assert math.isnan(nothing.data)
        assert g(X[:5], Y[:5]).data == pytest.approx((X * Y)[:5].mean())


class TestArguments:
    def test_named_tuples_come_as_they_are(self):
        Point = namedtuple("Point", "x y")
        assert vmap(lambda p: f(p.x, p.y))(Point(X, Y)) == pytest.approx(want(X, Y))

    def test_what_is_neither_number_nor_hashable_is_refused(self):
        with pytest.raises(TypeError, match="neither a number nor hashable"):
            vmap(lambda x, s: x * len(s), in_axes=(0, None))(X, {1, 2})


class TestOptions:
    def test_rows_of_a_jitted_function_are_compiled_as_it_was_to_be(self):
        assert vmap(jit(f, exact=True)).options.exact
        assert vmap(jit(f, fastmath=True)).options.fastmath
        assert not vmap(jit(f, exact=True), float32=True).options.exact
        assert not vmap(jit(f, fastmath=True), exact=True).options.fastmath

    @pytest.mark.parametrize(
        "options", [{"threads": 0}, {"threads": -1}, {"threads": 1.5}, {"batch_size": 0}], ids=repr
    )
    def test_counts_are_at_least_one(self, options):
        with pytest.raises(ValueError, match=r"(threads|batch_size)=.*a whole number, at least 1"):
            vmap(f, **options)

    def test_axes_may_come_in_a_list(self):
        assert vmap(f, in_axes=[0, None])(X, 2.0) == pytest.approx(want(X, 2.0))


def test_without_numpy_it_says_what_to_install(run_python):
    program = (
        "import sys; sys.modules['numpy'] = None\n"
        "from micrograd import vmap, CompileError\n"
        "try: vmap(lambda x: x)([1.0])\n"
        "except CompileError as error: print(error)"
    )
    assert install.command("jit") in run_python(program).stdout


def test_a_list_of_as_many_arrays_as_each_has_rows_is_refused():
    rows = [np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0]), np.array([7.0, 8.0, 9.0])]
    f = vmap(lambda x, y: x[0] + 2.0 * x[1] * y)
    with pytest.raises(
        TypeError, match="a list of 3 arrays with 3 rows each, which may be meant as rows or as columns"
    ):
        f(rows, np.ones(3))
    with pytest.raises(TypeError, match="a tuple of 3 arrays with 3 rows each"):
        f(tuple(rows), np.ones(3))
    assert f(np.stack(rows), np.ones(3)).tolist() == [5.0, 14.0, 23.0]
    assert f(rows[:2], np.ones(3)).tolist() == [9.0, 12.0, 15.0]  # two columns of three rows: only one reading fits
