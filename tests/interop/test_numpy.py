"""Values among NumPy's arrays, PyTorch's and JAX's scalars: the same on both twins, by the op table, and never a lost graph."""

from __future__ import annotations

import operator
from fractions import Fraction

import pytest

np = pytest.importorskip("numpy")

BINARY = [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.floordiv, operator.mod]
UNARY = ["exp", "exp2", "expm1", "log", "log1p", "log2", "log10", "sqrt", "cbrt", "sin", "cos", "tan", "arcsin", "arccos",
         "arctan", "sinh", "cosh", "tanh", "arcsinh", "arctanh", "absolute", "fabs", "negative", "positive", "square",
         "reciprocal", "sign", "floor", "ceil", "rint", "trunc", "degrees", "radians", "deg2rad", "rad2deg"]  # fmt: skip
TWO = ["add", "subtract", "multiply", "divide", "power", "floor_divide", "remainder", "fmod", "maximum", "minimum", "hypot",
       "arctan2", "copysign", "logaddexp"]  # fmt: skip


def data(x):
    return np.vectorize(lambda v: v.data, otypes=[float])(x)


class TestArraysBesideAValue:
    @pytest.mark.parametrize("f", BINARY)
    @pytest.mark.parametrize("shape", [(3,), (1,), (2, 2), (0,)])
    def test_operators_go_element_by_element_on_either_side(self, Value, f, shape):
        array, v = np.linspace(0.5, 2.0, int(np.prod(shape))).reshape(shape), Value(3.0)
        for result, expected in ((f(v, array), f(3.0, array)), (f(array, v), f(array, 3.0))):
            assert result.shape == shape and result.dtype == object
            assert data(result).tolist() == np.asarray(expected).tolist()
            assert all(type(x) is Value for x in result.ravel())

    def test_gradients_reach_the_value(self, Value):
        v = Value(3.0)
        y = (np.array([1.0, 2.0]) * v + v / np.array([2.0, 4.0])) @ np.array([1.0, 10.0])
        y.backward()
        assert v.grad == (1 + 0.5) + 10 * (2 + 0.25)

    @pytest.mark.parametrize("kind", ["float32", "int64", "uint8", "bool"])
    def test_arrays_of_other_numbers(self, Value, kind):
        assert data(np.array([1, 0], dtype=kind) * Value(3.0)).tolist() == [3.0, 0.0]

    @pytest.mark.parametrize("f", [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne])
    def test_comparisons_give_truth_values(self, Value, f):
        array = np.array([1.0, 3.0, 5.0])
        for result, expected in ((f(Value(3.0), array), f(3.0, array)), (f(array, Value(3.0)), f(array, 3.0))):
            assert result.dtype == bool and result.tolist() == expected.tolist()

    def test_arrays_of_values(self, Value):
        x = np.array([Value(1.0), Value(2.0)])
        a = np.array([[1.0, 2.0], [3.0, 4.0]])
        y = np.sum(a @ x) + np.mean(x) + np.dot(x, x) + x.max() + np.var(x)
        y.backward()
        assert y.data == (5.0 + 11.0) + 1.5 + 5.0 + 2.0 + 0.25
        assert [v.grad for v in x] == [4.0 + 0.5 + 2.0 - 0.5, 6.0 + 0.5 + 4.0 + 1.0 + 0.5]

    @pytest.mark.parametrize("name", ["stack", "hstack", "vstack", "dstack", "column_stack"])
    @pytest.mark.parametrize("shape", [(3,), (2, 2)])
    def test_arrays_of_values_are_stacked(self, Value, name, shape):
        # NumPy asks the items of such an array, which are Values, and hands over the array itself
        numbers = np.arange(float(np.prod(shape))).reshape(shape)
        values = np.array([Value(x) for x in numbers.ravel()]).reshape(shape)
        result = getattr(np, name)(values)
        assert data(result).tolist() == getattr(np, name)(numbers).tolist()
        assert all(type(x) is Value for x in result.ravel())

    @pytest.mark.filterwarnings("ignore:The 'generic' unit:DeprecationWarning")
    def test_durations_are_refused(self, Value):
        for unit in ((), ("s",)):
            with pytest.raises(TypeError, match="timedelta"):
                np.timedelta64(3, *unit) * Value(2.0)

    def test_division_by_zero_is_ieee(self, Value):
        with np.errstate(all="ignore"):
            assert data(Value(1.0) / np.array([0.0, -0.0])).tolist() == [np.inf, -np.inf]
            assert np.divide(np.array([Value(1.0), 2.0]), Value(0.0))[1].data == np.inf

    def test_in_place(self, Value):
        a, v = np.ones(2), Value(2.0)
        with pytest.raises(TypeError, match=r"an array of float64 cannot hold Values\n  Write a = a \* v in place of"):
            a *= v
        b = a.astype(object)
        b *= v
        assert data(b).tolist() == [2.0, 2.0]

    def test_outer_and_where(self, Value):
        v = Value(2.0)
        assert data(np.multiply.outer([1.0, 2.0], v)).tolist() == [2.0, 4.0]
        assert data(np.multiply([1.0, 2.0], v)).tolist() == [2.0, 4.0]
        assert np.where([True, False], v, 0.0)[0] is v
        assert data(np.stack([v, v])).tolist() == [2.0, 2.0] and np.shape(v) == () and np.ndim(v) == 0

    def test_masked_arrays_are_refused(self, Value):
        masked, v = np.ma.array([1.0, 2.0], mask=[0, 1]), Value(3.0)
        for f in BINARY[:4]:
            for a, b in ((masked, v), (v, masked)):
                with pytest.raises(TypeError, match=r"a masked array beside a Value"):
                    f(a, b)
        assert not hasattr(v, "_mask")

    def test_a_subclass_of_ndarray_with_rules_of_its_own_is_asked(self, Value):
        class Own(np.ndarray):
            def __array_ufunc__(self, *_, **__):
                return "own"

        assert np.multiply(Value(2.0), np.ones(2).view(Own)) == "own"
        assert Value(2.0) * np.ones(2).view(Own) == "own"


class TestFunctions:
    @pytest.mark.parametrize("name", UNARY)
    def test_of_one_value_and_of_arrays_of_values(self, twin, name):
        f, x = getattr(np, name), 0.6
        v = twin.Value(x)
        if name in ("floor", "ceil", "trunc", "sign"):  # in arrays of objects NumPy has a way of its own
            found = [f(v)]
        else:
            found = [f(v), f(np.array([v]))[0], f(np.array([[v]]))[0, 0]]
        for y in found:
            y = y if isinstance(y, twin.Value) else twin.Value(y)
            assert y.data == pytest.approx(float(f(x)), rel=1e-15), y
        g = twin.Value(x)
        y = f(g)
        y.backward()
        h = 1e-6
        assert g.grad == pytest.approx(float((f(x + h) - f(x - h)) / (2 * h)), rel=1e-6, abs=1e-9)

    @pytest.mark.parametrize("name", TWO)
    def test_of_two(self, Value, name):
        f = getattr(np, name)
        for a, b in ((Value(1.7), 0.6), (1.7, Value(0.6)), (Value(1.7), Value(0.6)), (np.float32(1.5), Value(0.6))):
            numbers = [x.data if isinstance(x, Value) else float(x) for x in (a, b)]
            assert f(a, b).data == pytest.approx(float(f(*numbers)), rel=1e-15)
        assert data(f(Value(1.7), np.array([0.6, 0.3]))).tolist() == pytest.approx(
            f(1.7, np.array([0.6, 0.3])).tolist()
        )

    def test_divmod(self, Value):
        for a, b in ((Value(7.0), np.float64(2)), (np.float64(7), Value(2.0)), (np.int32(7), Value(2.0))):
            quotient, rest = divmod(a, b)
            assert (quotient.data, rest.data) == (3.0, 1.0)
        quotients, rests = divmod(np.array([7.0, 9.0]), Value(2.0))
        assert data(quotients).tolist() == [3.0, 4.0] and data(rests).tolist() == [1.0, 1.0]

    def test_truths(self, Value):
        v = Value(1.0)
        assert (bool(np.isnan(v)), bool(np.isinf(v)), bool(np.isfinite(v))) == (False, False, True)

    def test_clip(self, Value):
        v = Value(3.0)
        assert (
            np.clip(v, 0.0, 1.0).data == 1.0 and np.clip(v, None, 9.0).data == 3.0 and np.clip(v, 4.0, None).data == 4.0
        )
        assert data(np.clip(np.array([1.0, 5.0]), 0.0, v)).tolist() == [1.0, 3.0]

    def test_of_scipy(self, Value):
        special = pytest.importorskip("scipy.special")
        for name in ("erf", "erfc", "expit", "gammaln", "gamma", "psi"):
            f = getattr(special, name)
            assert f(Value(0.7)).data == pytest.approx(float(f(0.7)), rel=1e-14)

    @pytest.mark.parametrize("name", ["logaddexp2", "nextafter", "logical_and", "ldexp"])
    def test_without_a_row_of_the_table_they_are_refused(self, Value, name):
        with pytest.raises(TypeError, match=rf"np.{name} has no row in the op table.*\n.*micrograd.primitive"):
            getattr(np, name)(Value(1.0), 2)

    def test_that_would_lose_the_gradient_are_refused(self, Value):
        for f in (lambda v: np.unique(v), lambda v: np.linalg.norm(v), lambda v: np.histogram(v)):
            with pytest.raises(TypeError, match="would take the number out of a Value and lose its gradient"):
                f(Value(1.0))

    def test_that_write_into_an_array_keep_the_gradient_or_refuse(self, Value):
        v, numbers, values = Value(2.0), np.zeros(2), np.array([Value(1.0), Value(1.0)])
        with pytest.raises(TypeError, match="an array of float64 cannot hold Values"):
            np.add.at(numbers, [0], v)
        np.add.at(values, [0, 0], v)
        values.sum().backward()
        assert (v.grad, list(numbers)) == (2.0, [0.0, 0.0])
        assert np.insert(numbers, 1, v)[1] is v and np.append(numbers, v)[2] is v

    def test_matmul_of_a_scalar(self, Value):
        with pytest.raises(TypeError, match="it has no axes"):
            np.ones((2, 2)) @ Value(1.0)


class TestArraysOfOneElement:
    @pytest.mark.parametrize(
        "x", [np.array(2.0), np.array([2.0]), np.array([[2]]), np.bool_(True) + 1, np.longdouble(2)]
    )
    def test_are_numbers(self, Value, x):
        v = Value(x)
        assert v.data == 2.0 and type(v.data) is float
        v.data = np.array([5.0])
        assert v.data == 5.0

    def test_without_axes_are_operands(self, Value):
        for f in BINARY:
            assert f(Value(3.0), np.array(2.0)).data == f(3.0, 2.0) and f(np.array(2.0), Value(3.0)).data == f(2.0, 3.0)
        assert Value(3.0) > np.array(2.0) and (Value(3.0) == np.array(3.0))

    @pytest.mark.parametrize("x", [np.ones(2), np.ones(0), np.array("a"), np.datetime64("2020"), np.array(None)])
    def test_others_are_refused_with_the_way_out(self, Value, x):
        with pytest.raises(TypeError, match=r"(?s)a Value holds one real number.*\n  Make a list"):
            Value(x)

    @pytest.mark.parametrize("x", [1j, np.complex128(1j), np.complex64(1j), np.array(1j)])
    def test_complex_numbers_are_refused_with_the_way_out(self, Value, x):
        match = r"(?s)a Value holds one real number.*\n  Compute with its real and its imaginary part"
        with pytest.raises(TypeError, match=match):
            Value(x)
        for f in BINARY:
            for a, b in ((Value(2.0), x), (x, Value(2.0))):
                with pytest.raises(TypeError, match=match):
                    f(a, b)

    def test_complex_numbers_in_transforms(self):
        from micrograd import grad, jit, math, vmap

        with pytest.raises(TypeError, match=r"complex|real"):
            grad(lambda z: z * z)(1j)
        with pytest.raises(TypeError, match="real number"):
            jit(lambda x: x * 1j, wait=True)(1.0)
        with pytest.raises(TypeError, match="real number"):
            vmap(lambda x: x * x)(np.array([1j]))
        with pytest.raises(TypeError, match="real number"):
            math.exp(1j)

    def test_rows_of_a_model(self, twin):
        import importlib

        nn = importlib.import_module("micrograd.nn")
        model = nn.MLP(2, [3, 1], rng=1)
        expected = model([1.0, -2.0]).data
        for row in (np.array([1.0, -2.0]), [np.array(1.0), np.array([-2.0])], np.array([[1.0], [-2.0]])):
            assert model(row).data == expected


class TestOtherLibraries:
    def test_torch(self, Value):
        torch = pytest.importorskip("torch")
        two = torch.tensor(2.0)
        assert Value(two).data == 2.0 and (Value(3.0) * two).data == 6.0 and (two * Value(3.0)).data == 6.0
        for f in (Value, lambda t: Value(1.0) * t):
            with pytest.raises(TypeError, match=r"requires a gradient.*\n.*to_torch"):
                f(torch.tensor(2.0, requires_grad=True))
        with pytest.raises(TypeError, match="not Tensor"):
            Value(1.0) * torch.ones(2)

    def test_jax(self, Value):
        jax = pytest.importorskip("jax")
        two = jax.numpy.array(2.0)
        assert Value(two).data == 2.0 and (Value(3.0) * two).data == 6.0 and (two * Value(3.0)).data == 6.0
        with pytest.raises(TypeError, match=r"that JAX is tracing.*\n.*to_jax"):
            jax.grad(lambda x: Value(x).data)(2.0)

    @pytest.mark.parametrize("library", ["torch", "jax.numpy"])
    def test_models_and_transforms(self, library):
        import importlib

        lib = pytest.importorskip(library.split(".")[0]) and importlib.import_module(library)
        from micrograd import grad, jit, nn

        make = lib.tensor if library == "torch" else lib.array
        row, model = make([1.0, -2.0]), nn.MLP(2, [3, 1], rng=1)
        expected = model([1.0, -2.0]).data
        assert model(row).data == jit(model, wait=True)(row).data == expected
        assert grad(lambda x: x * x)(make(3.0)) == 6.0
        assert grad(lambda x: x[0] * x[1])(make([2.0, 3.0])).tolist() == [3.0, 2.0]
        assert jit(lambda x: x * x, wait=True)(make(3.0)) == 9.0


class TestWhatNumPyHasForNumbersOnly:
    """In an array NumPy asks none of its elements: its own words, which are about dtypes, are explained inside transforms."""

    @pytest.mark.parametrize(
        "name, f",
        [
            ("np.linalg.eigvals", lambda x: np.linalg.eigvals(np.array([[x, 1.0], [0.5, x]]))[0]),
            ("np.linalg.svd", lambda x: np.linalg.svd(np.array([[x, 1.0], [0.5, x]]))[1][0]),
            ("np.linalg.eigvalsh", lambda x: np.linalg.eigvalsh(np.array([[x, 1.0], [1.0, x]]))[0]),
            ("np.spacing", lambda x: np.spacing(np.array([x, x]))[0]),
            pytest.param(
                "np.fft",
                lambda x: np.fft.fft(np.array([x, x]))[0].real,
                marks=pytest.mark.skipif(np.__version__ < "2", reason="NumPy 1 converts, which the next test has"),
            ),
        ],
    )
    def test_is_refused_with_a_way_out(self, name, f, mg):
        for transform in (mg.grad, mg.jit):
            with pytest.raises(
                TypeError, match=rf"{name}(\.fft)? of an array of Values, at test_numpy.py:\d+: (?s:.*)custom_vjp"
            ):
                transform(f)(1.5)

    @pytest.mark.skipif(np.__version__ >= "2", reason="NumPy 2 refuses")
    @pytest.mark.filterwarnings("ignore:float")
    def test_what_an_old_numpy_converts_is_refused(self, mg):
        with pytest.raises(TypeError, match=r"np\.fft would take the numbers out of Values and lose their gradients"):
            mg.grad(lambda x: np.fft.fft(np.array([x, x]))[0].real)(1.5)

    def test_what_some_versions_of_numpy_can_do_is_right_or_refused(self, mg):
        try:
            slope = mg.grad(lambda x: np.percentile(np.array([x, 2.0 * x]), 50))(1.5)
        except TypeError as refusal:
            assert "np.percentile of an array of Values" in str(refusal)
        else:
            assert slope == 1.5

    def test_other_errors_stay_as_they_are(self, mg):
        with pytest.raises(AttributeError, match="'nothing'"):
            mg.grad(lambda x: np.array([x]).nothing)(1.5)
        with pytest.raises(TypeError, match="'str' object cannot be interpreted as an integer"):
            mg.jit(lambda x: np.array([x]).reshape("x")[0])(1.5)

    def test_long_complex_numbers_are_refused(self, Value):
        with pytest.raises(TypeError, match="its real and its imaginary part"):
            np.clongdouble(1) * Value(1.0)


class TestCompiled:
    def test_arrays_inside_compiled_functions(self):
        from micrograd import grad, jit, vmap

        a = np.array([[1.0, 2.0], [3.0, 4.0]])

        def f(x, y):
            z = a @ np.array([x, y])
            return np.sum(np.exp(z / 10.0) * x) + np.arctan(z[0])

        expected = float(np.sum(np.exp(a @ [0.5, 1.5] / 10.0) * 0.5) + np.arctan(3.5))
        assert jit(f, wait=True)(0.5, 1.5) == pytest.approx(expected, rel=1e-14)
        assert vmap(f)(np.array([0.5]), np.array([1.5])).tolist() == pytest.approx([expected], rel=1e-14)
        h = 1e-6
        slope = (f(0.5 + h, 1.5) - f(0.5 - h, 1.5)) / (2 * h)
        assert grad(f)(0.5, 1.5) == pytest.approx(slope, rel=1e-7)
        assert grad(grad(f))(0.5, 1.5) == pytest.approx(
            (grad(f)(0.5 + h, 1.5) - grad(f)(0.5 - h, 1.5)) / (2 * h), rel=1e-6
        )


def test_other_numbers_stay_as_they_were(Value):
    assert (Value(2.0) * Fraction(1, 2)).data == 1.0
    with pytest.raises(TypeError, match=r"\n  Take its items one by one"):
        Value(1.0) * [1.0]
    with pytest.raises(TypeError, match=r"\n  Convert it with float"):
        Value("2")


class TestSubclasses:
    @pytest.fixture
    def Own(self, Value):
        class Own(Value):
            def __add__(self, other):
                return Own(self.data + (other.data if isinstance(other, Value) else other), (self,), "+")

            def __mul__(self, other):
                return Own(self.data * (other.data if isinstance(other, Value) else other), (self,), "*")

        return Own

    def test_stay_themselves(self, Value, Own):
        v = Own(4.0)
        for result, expected in ((-v, -4.0), (v - 1, 3.0), (v / 2, 2.0), (3 * v, 12.0), (1 + v, 5.0), (1 - v, -3.0),
                                 (v - Value(1.0), 3.0), (v / Value(2.0), 2.0), (Value(2.0) * v, 8.0), (sum([v, v]), 8.0),
                                 (v / 0, float("inf"))):  # fmt: skip
            assert type(result) is Own and result.data == expected

    def test_have_the_last_word(self, Value, Own):
        class More(Own):
            def __neg__(self):
                return "mine"

        assert -More(1.0) == "mine" and type(More(1.0) - 1) is Own

    def test_without_operators_of_their_own_are_as_before(self, Value):
        class Named(Value):
            pass

        assert type(-Named(1.0)) is Value and type(Named(1.0) - 1) is Value
        assert Named.__neg__ is Value.__neg__ and Named.__rmul__ is Value.__rmul__
