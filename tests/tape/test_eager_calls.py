"""grad and its relatives at one point, which C runs where it can: results, errors and side effects are those of Python."""

from __future__ import annotations

import gc
import math
import threading
import warnings
import weakref

import pytest

numpy = pytest.importorskip("numpy")


def same(a, b):
    """Whether two results are alike: structure, classes and bits."""
    if type(a) is not type(b):
        return False
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, numpy.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and all(map(same, a.ravel().tolist(), b.ravel().tolist()))
    if isinstance(a, float):
        return a.hex() == b.hex()
    if hasattr(a, "_data"):
        return same(a._data, b._data)
    return bool(a == b)


def outcome(f, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return f(*args, **kwargs)
        except Exception as error:
            return type(error), str(error)


def alike(derived, *args, **kwargs):
    """Call it as users do, and through Python."""
    fast, slow = outcome(derived, *args, **kwargs), outcome(derived.run, *args, **kwargs)
    assert same(fast, slow), (fast, slow)
    return fast


def branches(x):
    return x * x if isinstance(x, float) else x * 3.0 if isinstance(x, int) else x * 0.0


def divides(x):
    try:
        return 1.0 / (x - 2.0)
    except ZeroDivisionError:
        return x * 7.0


def roots(x):
    try:
        return math.sqrt(x)
    except ValueError:
        return -x


def hides(x):
    try:
        return x * float(numpy.float64(x))
    except Exception:
        return x


def adds_up(xs):
    total = 0.0
    for x in xs:
        total = total + x * x * x
    return total


def of_a_dict(p):
    return p["a"] * p["b"][0] - p["b"][1] / p["a"]


ONE = [
    (lambda x: x * x + 1.0, 3.0),
    (lambda x: x * x, 3),
    (lambda x: x, 2.0),
    (lambda x: 5.0, 2.0),
    (lambda x: 5, 2.0),
    (lambda x: True, 2.0),
    (lambda x: None, 2.0),
    (lambda x: "a", 2.0),
    (lambda x: [x], 2.0),
    (lambda x: x**2, True),
    (lambda x: x * 1.0, 10**400),
    (lambda x: x * 1.0, float("nan")),
    (lambda x: math.exp(x) * math.sin(x), 0.5),
    (branches, 2.0),
    (branches, 2),
    (branches, numpy.float64(2.0)),
    (branches, numpy.float32(2.0)),
    (branches, numpy.int64(2)),
    (divides, 2.0),
    (divides, 3.0),
    (roots, -1.0),
    (roots, 4.0),
    (hides, 2.0),
    (lambda x: 1.0 / x, 0.0),
    (lambda x: math.log(x), 0.0),
    (lambda x: x + int(x), 2.5),
    (lambda x: f"{x:.2f}" and x, 2.5),
    (lambda x: x * float(x), 2.0),
    (lambda x: x * round(x), 2.4),
    (lambda x: x.nothing, 2.0),
    (lambda x: x + "a", 2.0),
    (lambda x: x(), 2.0),
    (adds_up, [1.0, 2.0]),
    (adds_up, (1, 2.0)),
    (adds_up, []),
    (adds_up, [numpy.float64(1.5), 2.0]),
    (adds_up, [[1.0]]),
    (adds_up, {1.0}),
    (adds_up, numpy.array([1.0, 2.0])),
    (adds_up, numpy.array([1, 2])),
    (adds_up, numpy.array([1.5], dtype="f4")),
    (adds_up, numpy.array([])),
    (adds_up, numpy.arange(6.0)[::2]),
    (adds_up, numpy.ma.masked_array([1.0, 2.0], [True, False])),
    (adds_up, numpy.array([True, False])),
    (adds_up, numpy.array([1.0, 2.0], dtype=object)),
    (adds_up, numpy.array([1.0], dtype=">f8")),
    (adds_up, numpy.array([1.0], dtype="g")),
    (lambda a: a[0, 1] * a[1, 0] + a.sum(), numpy.array([[1.0, 2.0], [3.0, 4.0]])),
    (lambda a: a @ a, numpy.array([1.0, 2.0, 3.0])),
    (lambda a: numpy.zeros(2)[0] + a[0] * len(a), numpy.array([1.0, 2.0])),
    (of_a_dict, {"a": 2.0, "b": [3.0, 4]}),
    (of_a_dict, {"a": 2.0, "b": "no"}),
    (lambda p: p[0][0] * p[1][1], [[1.0, 2.0], (3.0, 4.0)]),
    (lambda xs: xs.pop() * xs[0], [2.0, 3.0]),
    (lambda xs: xs.append(xs[0]) or xs[-1] ** 2, [2.0]),
    (lambda xs: numpy.float64(3.0), [1.0]),
    (lambda x: numpy.array(x), 2.0),
    (lambda x: numpy.linalg.det([[x, 1.0], [2.0, 3.0]]), 2.0),
]
MANY = [
    (lambda x: [x * x, 3.0, 2 * x], 3.0),
    (lambda x: {"a": x, "b": (x * x, 1)}, 2.0),
    (lambda xs: [xs[0] * xs[1], xs[1]], [2.0, 3.0]),
    (lambda a: a * a, numpy.array([1.0, 2.0])),
    (lambda a: [a[0] * a[1], a[1]], numpy.array([1.0, 2.0])),
    (lambda x: [], 1.0),
    (lambda x: [x, "a"], 1.0),
    (lambda xs: sum(xs), [1.0, 2.0, 3.0]),
    (lambda p: [p["a"] * p["b"]], {"a": 2.0, "b": 3.0}),
]


@pytest.mark.parametrize("case", range(len(ONE)))
@pytest.mark.parametrize("transform", ["grad", "value_and_grad", "jacobian"])
def test_of_one_argument(mg, transform, case):
    f, x = ONE[case]
    alike(getattr(mg, transform)(f), x)


@pytest.mark.parametrize("case", range(len(MANY)))
@pytest.mark.parametrize("transform", ["jacobian", "jacfwd", "jacrev"])
def test_of_many_results(mg, transform, case):
    f, x = MANY[case]
    alike(getattr(mg, transform)(f), x)


@pytest.mark.parametrize(
    "argnums", [0, 1, -1, 2, -4, (0, 1), (1, 0), (2, 0), (0, 0), (), (0, "a"), [0, 2], 1.0, True, 10**30, (5,)]
)
def test_argnums(mg, argnums):
    def f(x, y, z=2.0):
        return x * y[0] + y[1] * z

    alike(mg.grad(f, argnums), 2.0, [3.0, 4.0], 5.0)
    alike(mg.value_and_grad(f, argnums), 2.0, [3.0, 4.0])
    alike(mg.grad(f, argnums), 2.0, y=[3.0, 4.0], z=1.5)
    alike(mg.grad(f, argnums), 2.0, [3.0, 4.0], w=1.0)


def test_many_arguments(mg):
    alike(mg.grad(lambda *xs: xs[0] * xs[-1], tuple(range(8))), *map(float, range(1, 9)))
    alike(mg.grad(lambda *xs: xs[0] * xs[-1], 39), *map(float, range(40)))
    alike(mg.grad(lambda xs: sum(x * x for x in xs)), [float(k) for k in range(1000)])


@pytest.mark.parametrize("transform", ["grad", "value_and_grad", "jacobian"])
def test_what_comes_beside(mg, transform):
    for f in (
        lambda x: (x * x, {"kept": x, "also": [1, "a"]}),
        lambda x: (x * x, None),
        lambda x: x,
        lambda x: (x, x, x),
    ):
        alike(getattr(mg, transform)(f, has_aux=True), 3.0)


def test_values_from_outside(mg):
    w = mg.Value(3.0)
    g = mg.grad(lambda x: x * w * w)
    found = alike(g, 2.0)
    found.backward()
    assert w.grad == 6.0
    (y, aux), slope = mg.value_and_grad(lambda x: (x * w, [x, w]), has_aux=True)(2.0)
    slope.backward()
    assert (y.data, float(aux[0]), aux[1].data, w.grad) == (6.0, 2.0, 3.0, 7.0)
    x = mg.Value(2.0)
    g(x).backward()
    assert x.grad == 0.0 and w.grad == 13.0  # 7 + 6


def test_higher_orders(mg):
    f = lambda x: x**4  # noqa: E731
    assert mg.grad(mg.grad(mg.grad(f)))(2.0) == 48.0
    alike(mg.grad(mg.grad(f)), 2.0)
    assert mg.grad(lambda x: x * mg.grad(f)(3.0) + mg.grad(lambda y: y * x)(1.0))(2.0) == 109.0
    assert mg.hessian(lambda v: v[0] ** 2 * v[1])([2.0, 3.0]) == [[6.0, 4.0], [4.0, 0.0]]


def test_as_it_is_used_elsewhere(mg):
    g = mg.grad(lambda x: x**3)
    with mg.no_grad():
        alike(g, 2.0)
        assert g(2.0) == 12.0
    assert mg.jit(g)(2.0) == 12.0
    assert mg.vmap(g)(numpy.array([1.0, 2.0])).tolist() == [3.0, 12.0]
    with mg.detect_anomaly(), pytest.raises(mg.AnomalyError):
        mg.grad(lambda x: math.log(x))(0.0)

    class Model:
        scale = 2.0

        @mg.grad
        def plain(x):
            return x * x

        def method(self, x):
            return self.scale * x * x

        def __call__(self, x):
            return self.method(x)

    model = Model()
    assert mg.grad(model.method)(3.0) == mg.grad(model)(3.0) == 12.0
    model.scale = 5.0
    assert mg.grad(model.method)(3.0) == 30.0


def test_the_function_runs_once(mg):
    calls = []
    mg.grad(lambda x: calls.append(x) or x)(1.0)
    mg.grad(lambda x: calls.append(x) or numpy.float64(1.0))(1.0)
    w = mg.Value(1.0)
    mg.grad(lambda x: calls.append(x) or x * w)(1.0)
    assert len(calls) == 3


def test_exceptions_pass_through(mg):
    class Own(Exception):
        pass

    def fails(x):
        raise Own(x)

    for error in (KeyboardInterrupt, GeneratorExit, StopIteration):

        def stops(x, error=error):
            raise error("now")

        with pytest.raises(error, match="now"):
            mg.grad(stops)(1.0)
    with pytest.raises(Own) as caught:
        mg.grad(fails)(1.0)
    assert caught.traceback[-1].name == "fails"
    assert mg.grad(lambda x: x * x)(2.0) == 4.0  # nothing is left behind
    assert not mg.tape.trace.is_tracing() and mg.observed.is_recording()


def test_an_except_of_the_caller_is_not_one_of_the_function(mg):
    try:
        slope = mg.grad(lambda x: 1.0 / x)(0.0)
    except ZeroDivisionError:
        slope = None
    assert slope == -math.inf


def test_another_code_is_looked_at(mg):
    def f(x):
        return x * x

    def compares(x):
        return x * 5.0 if type(x) is float else x * 2.0

    g = mg.grad(f)
    assert g(3.0) == 6.0
    f.__code__ = compares.__code__
    with pytest.warns(RuntimeWarning, match="type"), pytest.raises(mg.TraceError):
        g(3.0)


def test_a_value_that_was_kept_is_refused_outside(mg):
    kept = []
    mg.grad(lambda x: kept.append(x * 2.0) or x)(1.0)
    assert kept[0].data == 2.0

    def outer(y):
        mg.grad(lambda x: kept.append(x * y) or x)(1.0)
        return kept[-1] * y

    with pytest.raises(mg.TraceError, match="was kept by a function"):
        mg.grad(outer)(2.0)


def test_classes_are_forgotten(mg):
    before = len(mg.tape.kinds._here.traces)
    for _ in range(5):
        mg.grad(branches)(2.0)
        with pytest.raises(TypeError):
            mg.grad(lambda x: isinstance(x, float) and x + "a")(2.0)
    assert len(mg.tape.kinds._here.traces) == before


def test_nothing_is_kept(mg):
    class Held(list):
        pass

    def use():
        held = Held([1.0])
        g = mg.grad(lambda x: x * held[0])
        for _ in range(3):
            g(2.0)
        outcome(g, "a")
        return weakref.ref(held)

    gone = use()
    gc.collect()
    assert gone() is None


def test_refused_runs_are_freed(mg):
    gone = []

    def refused(x):
        held = Held()
        gone.append(weakref.ref(held))
        return x * float(numpy.float32(x))

    class Held:
        pass

    for _ in range(5):
        with pytest.raises(mg.TraceError):
            mg.grad(refused)(2.0)
    gc.collect()
    assert not any(r() for r in gone)


def test_threads_do_not_see_each_other(mg):
    f = mg.grad(lambda xs: sum(x * x * k for k, x in enumerate(xs)))
    wrong = []

    def work(start):
        for k in range(200):
            xs = [start + k + j for j in range((5.0).__int__())]
            if f(xs) != [2.0 * x * j for j, x in enumerate(xs)]:
                wrong.append(xs)

    threads = [threading.Thread(target=work, args=(float(n),)) for n in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
