"""Rows and points that take many paths: each is what eager code gives, whatever was called before."""

from __future__ import annotations

import importlib
import inspect
import itertools
import traceback

import pytest

from micrograd import Value, jit, math, vmap
from micrograd.compile.tuning import TUNING
from random_programs import needs_llvm, number

np = pytest.importorskip("numpy", reason="vmap needs NumPy")
pytestmark = needs_llvm

MODES = [{}, {"exact": True}, {"fastmath": True}, {"float32": True}]


def larger_root(a, b, c):
    """The larger root of a quadratic; 0 where it has none. Guard and square root must see the same number."""
    d = b * b - 4 * a * c
    if d < 0:
        return 0.0 * a
    return (-b + math.sqrt(d)) / (2 * a)


def inverse_determinant(ax, ay, bx, by):
    det = ax * by - ay * bx
    if det == 0:
        return 0.0 * ax
    return 1.0 / det


DOUBLE_ROOTS = [(1.0, -2 * r, r * r) for r in (1 / 7, 3 / 7, 5 / 7, 2 / 3, 0.1, 0.3)]
SINGULAR = [
    (0.1, 0.3, 0.1, 0.3),
    (0.7, 0.1, 2.1, 0.3),
    (1.0, 0.0, 0.0, 1.0),
    (0.2, 0.3, 0.4, 0.9),
    (3.1, 0.1, 3.1, 0.1),
]


class TestCancellation:
    """Operands of a guard that cancel: a fused multiply-add would decide otherwise than eager code."""

    @pytest.mark.parametrize("mode", MODES)
    @pytest.mark.parametrize(("f", "rows"), [(larger_root, DOUBLE_ROOTS), (inverse_determinant, SINGULAR)])
    def test_rows_in_every_order(self, f, rows, mode):
        if mode.get("float32"):
            rows = [tuple(float(np.float32(x)) for x in row) for row in rows]
        want = {row: f(*row) for row in rows}
        for order in itertools.islice(itertools.permutations(rows), 0, 720, 31):
            columns = [np.array(c) for c in zip(*order)]
            got = vmap(f, **mode)(*columns)
            assert got.tolist() == pytest.approx(
                [want[row] for row in order], rel=1e-5 if mode.get("float32") else 1e-12
            )

    @pytest.mark.parametrize("mode", MODES[:3])
    @pytest.mark.parametrize(("f", "rows"), [(larger_root, DOUBLE_ROOTS), (inverse_determinant, SINGULAR)])
    def test_points_after_every_history(self, f, rows, mode):
        for order in itertools.islice(itertools.permutations(rows), 0, 720, 97):
            g = jit(f, wait=True, **mode)
            for row in order * 2:
                assert g(*row) == pytest.approx(f(*row), rel=1e-12)

    def test_gradients(self):
        columns = [np.array(c) for c in zip(*SINGULAR)]
        for order in itertools.permutations(range(len(SINGULAR))):
            w = Value(2.0)
            rows = vmap(lambda *xs, w=w: w * inverse_determinant(*xs), reduce="sum")(*[c[list(order)] for c in columns])
            rows.backward()
            assert w.grad == pytest.approx(sum(inverse_determinant(*row) for row in SINGULAR), rel=1e-12)

    @pytest.mark.parametrize("mode", MODES)
    def test_rows_are_not_traced_again_in_each_call(self, mode):
        runs = itertools.count()

        def counted(*args):
            next(runs)
            return larger_root(*args)

        f = vmap(counted, **mode)
        columns = [np.array(c) for c in zip(*DOUBLE_ROOTS)]
        f(*columns)
        before = next(runs)
        for _ in range(3):
            f(*columns)
        assert next(runs) == before + 1


def steps(x):
    """One path for each whole number below x."""
    n = 0
    while x > n:
        n += 1
    return x * n + 0.25 * n


@pytest.fixture
def apart(monkeypatch):
    """Paths are not merged into one kernel, as where the source of a function cannot be found."""
    monkeypatch.setattr(importlib.import_module("micrograd.stage.attempt"), "merged", lambda *_, **__: None)
    monkeypatch.setattr(importlib.import_module("micrograd.stage.ahead"), "rolled", lambda *_, **__: None)


@pytest.mark.usefixtures("apart")
class TestManyPaths:
    def test_seven_ifs(self):
        def f(x, w):
            for k in range(7):
                x = x + w if math.sin(x * (k + 1)) > 0 else x * w
            return x

        x = np.linspace(-3.0, 3.0, 400)
        assert vmap(f, in_axes=(0, None), exact=True)(x, 0.9).tolist() == [f(a, 0.9) for a in x.tolist()]
        w = Value(0.9)
        result = vmap(f, in_axes=(0, None), reduce="sum")(x, w)
        result.backward()
        v = Value(0.9)
        eager = math.sum([f(a, v) for a in x.tolist()])
        eager.backward()
        assert (result.data, w.grad) == pytest.approx((eager.data, v.grad), rel=1e-9)

    @pytest.mark.parametrize("reduce", [None, "sum", "mean"])
    def test_more_paths_than_are_kept_run_eagerly_with_a_warning_that_names_the_line(self, reduce, monkeypatch):
        monkeypatch.setattr(TUNING, "max_variants", 4)
        line = inspect.getsourcelines(steps)[1] + 3
        x = np.array([0.5, 8.5, 1.5, 2.5, 9.5, 3.5, 4.5, 5.5, 0.25, 6.5])
        w, v = Value(2.0), Value(2.0)
        f = vmap(lambda x: w * steps(x), reduce=reduce)
        want = [v * steps(a) for a in x.tolist()]
        for _ in range(2):
            with pytest.warns(
                RuntimeWarning, match=rf"(?s)more than 4 different paths.*test_paths.py:{line}\n.*where"
            ) as told:
                got = f(x)
            assert told[0].filename == __file__
            if reduce is None:
                assert [y.data for y in got] == pytest.approx([y.data for y in want])
            else:
                mean = math.sum(want) * (0.1 if reduce == "mean" else 1.0)
                w.grad = v.grad = 0.0
                got.backward()
                mean.backward()
                assert (got.data, w.grad) == pytest.approx((mean.data, v.grad))
        assert len(list(f.variants)) <= 4

    def test_a_point_too(self, monkeypatch, traced_at_points):
        monkeypatch.setattr(TUNING, "max_variants", 4)
        f = jit(steps, wait=True)
        with pytest.warns(RuntimeWarning, match="more than 4 different paths"):
            assert [f(k + 0.5) for k in range(12)] == [steps(k + 0.5) for k in range(12)]
        assert [f(k + 0.5) for k in range(12)] == [steps(k + 0.5) for k in range(12)]
        assert len(list(f.variants)) == 4

    def test_the_most_recently_used_paths_are_kept(self, monkeypatch, traced_at_points):
        monkeypatch.setattr(TUNING, "max_variants", 3)
        runs = itertools.count()

        class Number(float):
            pass

        def counted(x):
            next(runs)
            return steps(x)

        compiled = jit(counted, wait=True)

        def f(x):
            return compiled(Number(x))  # which C does not answer

        for x in (0.5, 1.5, 2.5, 0.5):
            f(x)
        with pytest.warns(RuntimeWarning):
            f(3.5)  # drops the path of 1.5
        before = next(runs)
        f(0.5), f(2.5), f(3.5)
        assert next(runs) == before + 1
        f(1.5)
        assert next(runs) > before + 2


class TestAnArmThatRaises:
    @pytest.mark.parametrize("reduce", [None, "sum"])
    @pytest.mark.parametrize("known", [False, True])
    def test_the_exception_of_the_first_such_row_with_its_number(self, reduce, known):
        def f(x):
            if x > 5:
                raise OverflowError(f"too large: {int(x > 7)}")
            return x * 2 if x > 2 else x

        rows = vmap(f, reduce=reduce)
        if known:
            rows(np.array([1.0, 3.0]))
        with pytest.raises(OverflowError, match="too large: 1") as caught:
            rows(np.array([1.0, 3.0, 2.0, 8.0, 1.0, 6.0, 8.0]))
        assert "in row 3 of <vmap of" in "".join(traceback.format_exception(caught.value))
        assert (
            rows(np.array([1.0, 3.0])).tolist() == [1.0, 6.0] if reduce is None else rows(np.array([1.0, 3.0])) == 7.0
        )


def _edge(name, x):
    """A function with a kink at x that is decided by a function of the table: a vector function may be off by a bit."""
    limit = getattr(math, name)(x)
    return lambda a: a * 2.0 if getattr(math, name)(a) > limit else -a


@pytest.mark.parametrize("name", ["exp", "log", "sin", "cos", "tanh", "log1p", "sigmoid", "cbrt", "erf"])
def test_a_function_that_decides_is_that_of_eager_code(name):
    for x in (0.3, 0.7, 0.1234567, 1.1, 2.5):
        f = _edge(name, x)
        near = [x]
        for _ in range(3):
            near = [np.nextafter(near[0], -9.0), *near, np.nextafter(near[-1], 9.0)]
        xs = np.array([*near, 0.5, 3.0] * 3)
        assert vmap(f)(xs).tolist() == [f(a) for a in xs.tolist()]


@pytest.mark.parametrize("power", [2, 3, 4, -1])
def test_a_power_that_decides_is_that_of_eager_code(power):
    rng = np.random.default_rng(0)
    for x in rng.uniform(0.5, 2.0, 40).tolist():
        limit = x**power if power > 0 else 1.0 / x
        g = lambda a, limit=limit: a * 2.0 if a**power > limit else -a  # noqa: E731
        xs = np.array([x, np.nextafter(x, 9.0), np.nextafter(x, 0.0), 0.1, 3.0])
        want = [number(g(Value(a))) for a in xs.tolist()]
        assert vmap(g)(xs).tolist() == want
        assert [jit(g, wait=True)(a) for a in xs.tolist()[:2]] == want[:2]


@pytest.mark.parametrize("order", [1, -1])
def test_paths_that_read_other_parameters_number_them_alike(order):
    """One path reads b, then a, and another one a alone, in rows of one batch."""
    a, b, c = Value(2.0), Value(3.0), Value(5.0)

    def f(x):
        if x > 1.0:
            return a * x
        return b * x * a if x > 0.0 else c * x + a

    xs = np.array([0.5, 2.0, -1.0, 0.25, 3.0, -2.0][::order])
    for exact in (True, False):
        a.grad = b.grad = c.grad = 0.0
        ys = vmap(f, exact=exact)(xs)
        assert [y.data for y in ys] == pytest.approx([f(x).data for x in xs.tolist()], rel=1e-15)
        sum(ys[1:], ys[0]).backward()
        assert (a.grad, b.grad, c.grad) == pytest.approx((5.0 + 0.75 * 3.0 + 2.0, 0.75 * 2.0, -3.0), rel=1e-15)
