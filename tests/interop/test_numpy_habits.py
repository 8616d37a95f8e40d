"""What users of NumPy and pandas write: Values in arrays without axes, ufuncs of their own, statistics of a Series."""

from __future__ import annotations

import operator

import pytest

from micrograd import grad, jit, vmap
from micrograd.engine import Value as Used

np = pytest.importorskip("numpy")


class TestAValueInAnArrayWithoutAxes:
    """np.asarray(v) of a Value."""

    @pytest.mark.parametrize("f", [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.mod,
                                   operator.floordiv, operator.lt, operator.le, operator.eq, operator.ne])  # fmt: skip
    def test_is_an_operand_on_either_side(self, Value, f):
        a, b = Value(3.0), Value(2.0)
        for x, y in ((a, np.array(b)), (np.array(a), b), (np.array(a), np.array(b)), (a, np.array(2.0, dtype=object))):
            result = f(x, y)
            assert (result.data if isinstance(result, Value) else bool(result)) == f(3.0, 2.0)

    def test_gets_its_gradient(self, Value):
        a, b = Value(3.0), Value(2.0)
        (a * np.array(b)).backward()
        assert (a.grad, b.grad) == (2.0, 3.0)

    def test_in_compiled_functions(self):
        assert jit(grad(lambda x: x * np.array(x) + np.asarray(x) ** 2), wait=True)(3.0) == 12.0

    def test_is_taken_out_for_functions_of_numbers(self, twin):
        with pytest.raises(TypeError, match=r"Take the Value out of the array: x\[\(\)\]"):
            twin.math.exp(np.array(twin.engine.Value(2.0)))


class TestFunctionsOfNumPy:
    CASES = {
        "einsum": (lambda v, a: np.einsum("i,->i", a, v), [1.0, 2.0, 3.0]),
        "linspace to": (lambda v, a: np.linspace(0.0, v, 5), [0.0, 0.25, 0.5, 0.75, 1.0]),
        "linspace from": (lambda v, a: np.linspace(v, 2.0, 4, endpoint=False), [1.0, 0.75, 0.5, 0.25]),
        "polyval": (lambda v, a: np.polyval(a, v), [2.0 * 3.0 + 2.0]),
        "poly1d": (lambda v, a: np.poly1d(a)(v), [8.0]),
        "zeros_like": (lambda v, a: np.zeros_like(v) + v, [1.0]),
        "ones_like": (lambda v, a: np.ones_like(v, shape=(2,)) * v, [1.0, 1.0]),
        "frompyfunc": (lambda v, a: np.frompyfunc(lambda x: x * x, 1, 1)(v), [6.0]),
        "frompyfunc of two": (lambda v, a: np.frompyfunc(lambda x, y: x * y, 2, 1).outer(a, v), [1.0, 2.0, 3.0]),
        "vectorize with a signature": (lambda v, a: np.vectorize(lambda r: r.sum(), signature="(n)->()")(a * v), [6.0]),
    }

    @pytest.mark.parametrize("name", CASES)
    def test_slopes_of_each_element(self, Value, name):
        if name == "einsum" and np.lib.NumpyVersion(np.__version__) < "1.25.0":
            pytest.skip("np.einsum before NumPy 1.25 takes no objects")
        f, slopes = self.CASES[name]
        found = []
        for k in range(len(slopes)):
            v = Value(3.0)
            result = np.ravel(np.asarray(f(v, np.array([1.0, 2.0, 3.0])), dtype=object))
            assert result[k].data == np.ravel(f(3.0, np.array([1.0, 2.0, 3.0])))[k]
            result[k].backward()
            found.append(v.grad)
        assert found == slopes

    def test_a_function_of_ones_own_is_not_taken_for_a_row_of_the_table(self, Value):
        def sin(x):
            return x * 3.0

        assert np.frompyfunc(sin, 1, 1)(Value(2.0)).data == 6.0

    @pytest.mark.parametrize("f", [lambda v: np.logaddexp2(v, 1.0), lambda v: np.unique(v), lambda v: np.histogram(v)])
    def test_the_way_out_is_a_call_that_works(self, Value, f):
        with pytest.raises(TypeError, match=r"np\.\w+ of float\(v\)|float\(v\) in place of v"):
            f(Value(0.5))
        f(float(Value(0.5)))


class TestPandas:
    @pytest.fixture
    def pd(self):
        return pytest.importorskip("pandas")

    STATISTICS = {
        "mean": lambda s: s.mean(),
        "median": lambda s: s.median(),
        "std": lambda s: s.std(),
        "rolling": lambda s: s.rolling(2).mean(),
        "ewm": lambda s: s.ewm(1.0).mean(),
        "corr": lambda s: s.corr(s),
        "cov": lambda s: s.cov(s),
        "frame": lambda s: s.to_frame("a").mean(),
        "groupby": lambda s: s.groupby([0, 0, 1]).std(),
        "np.mean": np.mean,
    }
    KEPT = {
        "sum": lambda s: s.sum(),
        "prod": lambda s: s.prod(),
        "cumsum": lambda s: s.cumsum().iloc[-1],
        "product": lambda s: (s * s).sum(),
        "dot": lambda s: s.dot(s),
        "as an array": lambda s: s.to_numpy().mean(),
    }

    @pytest.mark.parametrize("name", STATISTICS)
    def test_statistics_that_would_lose_gradients_are_refused(self, pd, Value, name):
        with pytest.raises(Exception) as caught:
            self.STATISTICS[name](pd.Series([Value(1.0), Value(2.0), Value(4.0)]))
        errors = []
        error = caught.value
        while error is not None:
            errors.append(str(error))
            error = error.__cause__ or error.__context__
        told = any("pandas takes the numbers out of the Values in" in text for text in errors)
        assert told or pd.__version__ < "3", errors  # pandas 2 refuses some of them by itself

    @pytest.mark.parametrize("name", KEPT)
    def test_the_others_keep_them(self, pd, Value, name):
        x = [Value(1.0), Value(2.0), Value(4.0)]
        self.KEPT[name](pd.Series(x)).backward()
        assert all(v.grad > 0.0 for v in x)

    def test_who_asks_for_the_numbers_gets_them(self, pd, Value):
        s = pd.Series([Value(1.0), Value(2.0)])
        assert s.astype(float).mean() == 1.5
        assert (
            s.to_numpy(dtype=float).tolist()
            == pd.Series(s, dtype=float).tolist()
            == s.map(float).tolist()
            == [1.0, 2.0]
        )

    def test_statistics_of_numbers_are_as_before(self, pd):
        assert grad(lambda x: x * pd.Series([1.0, 2.0]).mean())(3.0) == 1.5
        assert (pd.Series([1.0, 3.0]) * Used(2.0)).sum().data == 8.0


class TestRowsOfObjects:
    def test_say_what_was_given(self):
        class Point:
            x = 1.0

        with pytest.raises(TypeError, match=r"argument 0 is a Point, which has no rows\n(.|\n)*in_axes=None"):
            vmap(lambda p: p.x)(Point())
        with pytest.raises(TypeError, match="argument 0 is a list with a Point in it, which has no rows"):
            vmap(lambda p: p.x)([Point(), Point()])
        with pytest.raises(TypeError, match="argument 0 is a NoneType, which has no rows"):
            vmap(lambda p: p["a"])({"a": np.ones(2), "b": None})
