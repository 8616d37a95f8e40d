"""Small-array NumPy code that was written for floats, as it is: buffers, slices, products, np.linalg, in all transforms."""

from __future__ import annotations

import math

import pytest

from micrograd import TraceError, Value, check_grad, engine, grad, jacobian, jit, value_and_grad, vmap

np = pytest.importorskip("numpy")
pytestmark = pytest.mark.skipif(not engine.NATIVE, reason="the Python engine cannot reach into compiled functions")


def written(x):
    a = np.zeros(3)
    a[0] = x
    a[1] = x * x
    a[2] += math.sin(x)
    return a.sum() + a[1]


def matrix(x):
    a = np.zeros((2, 2))
    a[0, 0] = x
    a[1, 1] = 2.0
    a[0, 1] += x * x
    b = a @ np.array([1.0, x])
    return b[0] * b[1]


def slices(x):
    a = np.empty(4)
    a[:] = 1.0
    a[1:3] = x
    a[1:] *= 2.0
    return float(np.sum(a * a))


def made(x):
    a = np.array([x, 2.0, x * x])
    return np.dot(a, a) + a.max()


def unit(x):
    m = np.eye(2)
    m[0, 1] = x
    return (m @ m)[0, 1] + np.identity(2)[0, 0] * x


def likes(x):
    p = np.array([1.0, 2.0, 3.0])
    q, r = np.zeros_like(p), np.ones_like(p)
    for i in range(3):
        q[i] = p[i] * x
    r[0] = x
    return np.cumsum(q)[-1] + np.full_like(p, 2.0) @ r


def ones(x):
    v = np.ones(3)
    v[1] = x
    return v.dot(v) + np.full(3, x).prod()


def solved(x):
    a = np.array([[2.0, x, 0.0], [1.0, 3.0, x], [x, 0.5, 1.0]])
    return np.linalg.solve(a, np.array([1.0, 2.0, x]))[0] + np.linalg.inv(a)[1, 1]


def determinants(x):
    return np.linalg.det(np.array([[0.0, 1.0], [x, 3.0]])) + np.linalg.norm(np.array([x, 3.0]))


def triangle(x):
    return np.linalg.cholesky(np.array([[x, 0.5], [0.5, 2.0]])).sum()


def between(x):
    k = np.searchsorted(np.array([0.0, 1.0, 3.0]), x)
    return (
        np.interp(x, [0.0, 1.0, 4.0], [0.0, 1.0, 2.0])
        + np.interp(np.array([0.5, x]), [0.0, x, 4.0], [0.0, 1.0, x]).sum()
        + k * x
    )


def elementwise(x):
    a = np.array([x, 1.0])
    return np.exp(a).sum() + np.sqrt(x) + np.log1p(a)[1] + np.sin(np.linspace(0.0, x, 5)).sum() + np.arctan2(a, 2.0)[0]


def chosen(x):
    a = np.array([x, 1.0, 3.0])
    b = np.where(a > 1.2, a * a, 0.5 * a)
    return b.sum() + np.clip(a, 1.1, 2.0).sum() + a[np.argmax(a)] * x + a[a > 1.5].sum() + np.maximum(a, 1.1)[0]


def arranged(x):
    a = np.diff(np.array([x, x * x, 3.0]))
    b = np.outer([x, 1.0], [2.0, x]).sum(axis=0)
    return a[1] + b[0] + np.concatenate([a, b]).mean() + np.polyval([1.0, 2.0, 3.0], x) + (a.reshape(1, 2) * b).T.sum()


def as_floats(x):
    a = np.array([x, 2.0 * x], dtype=float)
    b = np.asarray([x, x], dtype=np.float64).astype(float)
    return a[0] * a[1] + b.copy()[0] * b.tolist()[1]


def divided(x):
    a = np.zeros(2)
    a[0] = x
    with np.errstate(all="ignore"):
        b = 1.0 / a  # inf where plain Python raises
    return b[0] + (0.0 if np.isinf(b[1]) else x)


def statistics_of(x):
    a, b = np.array([x, 2.0, 0.5, x * x]), np.array([1.0, x, 3.0, 0.2])
    some = np.median(a) + np.percentile(a, 30) + np.quantile(b, 0.7) + np.ptp(a) + np.std(a) + np.cov(a, b)[0, 1]
    return (
        some + np.corrcoef(a, b)[0, 1] + np.gradient(a)[1] + np.gradient(a, [0.0, 1.0, 3.0, 4.0])[2] + np.ediff1d(b)[0]
    )


def rounded(x):
    a = np.array([x, 1.2345])
    parts = np.modf(x)[0] + np.sinc(x) + np.fmax(x, 1.0) + np.fmin(a, 1.1).sum() + np.heaviside(x, 0.5) * x + np.real(x)
    return parts + x * np.round(x, 1) + a.round(2)[1] * x + x * np.digitize(x, [0.0, 1.0, 1.5]) + np.nan_to_num(a)[0]


def scalars(x):
    chosen = np.where(x > 1.2, x * x, 2.0 * x)  # an array without axes, for numbers
    return chosen + np.nansum([x, x]) + np.isclose(x, 5.0) + np.logspace(0.0, x, 3)[1] + np.squeeze(np.array([[x]]))


def without_axes(x):
    return np.tensordot(np.array([x, 1.0]), np.array([2.0, x]), 1)


def signs(x):
    sign, size = np.linalg.slogdet(np.array([[x, 3.0], [1.0, x]]))
    return sign * size + np.linalg.multi_dot([np.eye(2) * x, np.array([[1.0, x], [x, 2.0]]), np.array([x, 1.0])])[0]


def selected(x):
    a = np.array([x, 1.0, 3.0])
    b = np.select([a > 2.0, a > 1.2], [a * a, a], 0.5 * a) + np.piecewise(a, [a > 1.2], [lambda t: t * t, lambda t: t])
    return b.sum() + np.compress(a > 1.1, a)[0] + np.unique(a)[0]


def numbers_or_arrays(x):
    """How packages write functions for both."""
    x = np.asarray(x)
    a = np.hypot(x, 1.0)
    found = np.empty_like(a)
    near = np.isclose(a, 0.0)
    found[~near] = np.arctan(a[~near] * x[~near])
    found[near] = 0.0
    below = math.pi / 2 - np.finfo(found.dtype).eps
    found = np.where(found >= below, below, found)
    total = (np.radians(x) + a.squeeze()[()].squeeze()).sum() + np.sin(x).mean() * math.exp(-a)
    return found.squeeze()[()] * total


def as_in_place(x):
    a = np.sin(np.asarray(x))
    b = a
    b += 1.0  # a number of NumPy's does not change
    c = np.zeros(1)
    c[:] = x
    d = c.squeeze()  # and an array does
    d += 1.0
    return a * b + c[0] + round(float(a), 1) * hash(a * 0.0 == 0.0)


def kinds(x):
    a = np.exp(np.asarray(x))
    if isinstance(a, float) and isinstance(a, np.float64) and np.zeros(2).dtype == np.array([x]).dtype == float:
        return a * x
    return x


def of_one_axis(x):
    a, b = np.atleast_1d(x), np.array([1.0, 2.0]) * x
    found = np.log(np.column_stack((a, b[:1]))) + (x * np.ones(1))
    found[np.isnan(found) | (b[0] > 9.0)] = 0.0
    return np.isnan(a).any() * x + found.astype(object).sum()


def cases(x):
    a = np.array([x, 1.0])
    return np.select([x < 1.2, True], [x + 3.0, x * x]) * np.select([a < 1.1], [a * a], x).sum()


PROGRAMS = [
    numbers_or_arrays, as_in_place, kinds, of_one_axis, cases,
    statistics_of, rounded, scalars, without_axes, signs, selected, written, matrix, slices, made, unit, likes, ones, solved,
    determinants, triangle, between, elementwise, chosen, arranged, as_floats, divided,
]  # fmt: skip
ROWS = [0.9, 1.3, 1.7]


def slope(f, x):
    found = [(f(x + h) - f(x - h)) / (2.0 * h) for h in (1e-3, 5e-4)]
    return float(found[1] + (found[1] - found[0]) / 3.0)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_a_program_runs_as_it_is(f):
    numbers, slopes = [float(f(x)) for x in ROWS], [slope(f, x) for x in ROWS]
    for x, y, dy in zip(ROWS, numbers, slopes):
        assert value_and_grad(f)(x) == pytest.approx((y, dy), rel=1e-6)
    assert check_grad(f, ROWS[1])
    both = jit(value_and_grad(f), wait=True)
    for x, y, dy in zip(ROWS, numbers, slopes):
        assert both(x) == pytest.approx((y, dy), rel=1e-6)
    assert list(vmap(f)(np.array(ROWS))) == pytest.approx(numbers, rel=1e-12)
    assert list(vmap(grad(f))(np.array(ROWS))) == pytest.approx(slopes, rel=1e-6)


def test_arrays_of_arguments():
    def f(p):
        q = np.zeros_like(p)
        q[1:] = p[:-1]
        p = p.copy()
        p[0] = 1.0
        return np.exp(p) @ q

    at = np.array([0.1, 0.2, 0.3])
    expected = [np.exp(0.2), 0.1 * np.exp(0.2) + np.exp(0.3), 0.2 * np.exp(0.3)]
    assert list(grad(f)(at)) == pytest.approx(expected)
    assert list(jit(grad(f))(at)) == pytest.approx(expected)
    assert jacobian(lambda p: np.linalg.solve(np.diag(p), np.ones(3)))(at) == pytest.approx(
        np.diag(-1.0 / at**2), abs=1e-12
    )


def test_outside_of_a_transform_numpy_is_what_it_was():
    assert type(np.zeros(3)) is np.ndarray
    assert np.zeros(3).dtype == float
    with pytest.raises(TypeError, match="stored in an array of numbers"):
        np.zeros(3)[0] = Value(1.0)
    assert np.zeros.__name__ == "zeros"
    assert type(np.array([Value(1.0)])) is np.ndarray
    with pytest.raises(TypeError):
        np.zeros("a")
    assert np.array([1.0], dtype=int).dtype == int


def test_arrays_of_numbers_stay_arrays_of_numbers_inside():
    seen = []

    def f(x):
        seen.append(
            (np.zeros(3, dtype=int).dtype, np.array([1.0, 2.0]).dtype, np.zeros(200_000).dtype, np.arange(3.0).dtype)
        )
        return x * np.zeros(3, dtype=int)[0] + np.array([1.0, 2.0])[1]

    assert grad(f)(1.0) == 0.0
    assert seen[0] == (np.dtype(int), np.dtype(float), np.dtype(float), np.dtype(float))


def test_a_buffer_without_values_is_one_of_floats_for_numpy():
    def f(x):
        a = np.zeros((2, 2))
        a[0, 0] = a[1, 1] = 3.0
        return x * np.linalg.eigvals(a).sum() * np.fft.rfft(a[0])[0].real

    assert grad(f)(1.0) == pytest.approx(18.0)


@pytest.mark.parametrize("f", [
    lambda x: np.linalg.eigvals(np.array([[x, 1.0], [1.0, 2.0]]))[0],
    lambda x: np.fft.fft(np.array([x, 1.0]))[0],
    lambda x: np.linalg.svd(np.array([[x, 1.0], [1.0, 2.0]]))[1][0],
    lambda x: np.linalg.lstsq(np.array([[x], [1.0]]), np.array([1.0, 2.0]), rcond=None)[0][0],
    lambda x: np.frombuffer(bytes(8))[0] * np.float64(x),
])  # fmt: skip
def test_what_is_not_covered_is_refused_by_name(f):
    for wrap in (grad, jit, lambda g: vmap(g)):
        with pytest.raises((TraceError, TypeError), match=r"np\.|a Value"):
            wrap(f)(np.array([2.0]) if wrap not in (grad, jit) else 2.0)


def test_a_store_into_an_array_from_outside_names_the_line():
    data = np.arange(3.0)

    def f(x):
        p = data * 1.0
        p[0] = x
        return p.sum()

    for wrap in (grad, jit):
        with pytest.raises((TraceError, TypeError), match=r"test_plain_arrays\.py"):
            wrap(f)(2.0)


def test_an_array_of_several_numbers_is_no_float():
    with pytest.raises(TypeError, match="only length-1 arrays"):
        grad(lambda x: float(np.array([x, 1.0])))(1.0)


def test_a_number_of_numpys_cannot_be_changed():
    def f(x):
        a = np.sin(np.asarray(x))
        a[()] = 2.0
        return a

    with pytest.raises(TypeError, match="item assignment"):
        grad(f)(1.0)


def test_digitize_takes_the_side_that_numpy_takes():
    for bins in ([1.0, 2.0, 3.0], [3.0, 2.0, 1.0]):
        for right in (False, True):
            for x in (0.5, 1.0, 1.5, 2.0, 3.0, 4.0):
                assert grad(lambda v, b=bins, r=right: v * np.digitize(v, b, r))(x) == np.digitize(x, bins, right)


def test_the_level_of_a_quantile_may_vary():
    slope = grad(lambda q: np.quantile(np.array([1.0, 2.0, 4.0]), q))
    assert (slope(0.3), slope(0.7)) == (pytest.approx(2.0), pytest.approx(4.0))


def test_a_singular_matrix_has_no_slope_of_its_logarithm():
    assert math.isnan(grad(lambda x: np.linalg.slogdet(np.array([[x, x], [x, x]]))[1])(1.0))
