"""Plain loops stay loops: a `for` without a choice becomes a loop of the tape, with eager code's results."""

import numpy as np
import pytest

from micrograd import Value, grad, jit, math, value_and_grad, vmap
from micrograd.compile.tuning import TUNING
from random_programs import needs_llvm
from stage.rolled import PROGRAMS, loops, number, only_values

pytestmark = pytest.mark.usefixtures("short_loops_are_rolled")

ROWS = [(0.5, 2.0, -1.0), (-0.5, 1.5, 1.0), (1.3, 1.0, 0.25), (0.1, -0.3, 0.5), (1.0, 1.0, 1.0), (0.2, 0.7, -0.6)]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_a_loop_is_rolled_and_gives_what_eager_code_gives(f):
    columns = [np.array(c) for c in zip(*ROWS)]
    assert loops(jit(f).tape(*ROWS[0])) >= 1
    batch = vmap(value_and_grad(f, (0, 1, 2)))
    second = vmap(grad(grad(f, 0), 1))
    order = np.random.default_rng(0).permutation(len(ROWS))
    values, gradients = batch(*columns)
    twice = second(*columns)
    shuffled, _ = batch(*[c[order] for c in columns])
    np.testing.assert_array_equal(np.array(shuffled, float), np.array(values, float)[order])
    point = jit(value_and_grad(f, (0, 1, 2)), wait=True)
    for k, row in enumerate(ROWS):
        want, slopes = value_and_grad(f, (0, 1, 2))(*row)
        mixed = number(grad(grad(f, 0), 1)(*row))
        value, found = point(*row)
        np.testing.assert_allclose(number(values[k]), number(want), rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(number(value), number(want), rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(
            [number(g[k]) for g in gradients], [number(s) for s in slopes], rtol=1e-11, atol=1e-12
        )
        np.testing.assert_allclose([number(g) for g in found], [number(s) for s in slopes], rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(number(twice[k]), mixed, rtol=1e-10, atol=1e-11)


def euler(x, rate, steps):
    h = 1.0 / steps
    for _ in range(steps):
        x = x + h * rate * x * (1.0 - x)
    return x


def test_a_tape_does_not_grow_with_the_number_of_iterations():
    few = jit(value_and_grad(lambda x, r: euler(x, r, 1_000), (0, 1))).tape(0.2, 1.5)
    many = jit(value_and_grad(lambda x, r: euler(x, r, 1_000_000), (0, 1))).tape(0.2, 1.5)
    assert many.size() < few.size() + 20 < 200


def test_a_million_iterations_are_answered_by_machine_code():
    value, (by_x, by_rate) = jit(value_and_grad(lambda x, r: euler(x, r, 1_000_000), (0, 1)))(0.2, 1.5)
    e = math.exp(1.5)
    exact = 0.2 * e / (0.8 + 0.2 * e)
    assert value == pytest.approx(exact, rel=1e-5)
    assert by_x == pytest.approx(e / (0.8 + 0.2 * e) ** 2, rel=1e-5)
    assert by_rate == pytest.approx(exact * (1.0 - exact), rel=1e-5)


def test_values_as_arguments_get_their_gradients():
    x, r = Value(0.2), Value(1.5)
    y = jit(lambda x, r: euler(x, r, 500), wait=True)(x, r)
    y.backward()
    u, s = Value(0.2), Value(1.5)
    euler(u, s, 500).backward()
    assert (x.grad, r.grad) == pytest.approx((u.grad, s.grad), rel=1e-12)


def by_position(s, z):
    total = 0.0
    for i in range(len(z)):
        s = s + z[i] * math.tanh(s)
        total = total + s * z[i - 1]
    return total


def in_two_dimensions(s, z):
    for i in range(len(z)):
        s = s * 0.9 + z[i, 0] * z[i, 1]
    return s


@pytest.mark.parametrize("shape", [(30,), (30, 2)])
def test_arrays_are_indexed_by_the_number_of_the_iteration(shape):
    f = by_position if len(shape) == 1 else in_two_dimensions
    rows = np.random.default_rng(1).standard_normal((5, *shape)) * 0.3
    start = np.linspace(0.1, 1.0, 5)
    batch = vmap(value_and_grad(f, (0, 1)))
    values, (by_start, by_rows) = batch(start, rows)
    assert all(loops(v.trace.tape) for v in batch.variants)
    assert len(list(batch.variants)) == 1
    for k in range(5):
        want, (a, b) = value_and_grad(f, (0, 1))(float(start[k]), rows[k])
        assert float(values[k]) == pytest.approx(want, rel=1e-12)
        np.testing.assert_allclose(by_start[k], a, rtol=1e-11)
        np.testing.assert_allclose(np.asarray(by_rows[k], float), np.asarray(b, float), rtol=1e-11, atol=1e-13)
    point = jit(value_and_grad(f, (0, 1)), wait=True)(float(start[0]), rows[0])
    assert point[0] == pytest.approx(float(values[0]), rel=1e-12)


def test_a_short_loop_is_written_out(monkeypatch):
    monkeypatch.setattr(TUNING, "rolled_work", default_work())
    assert loops(jit(only_values).tape(0.5, 2.0, -1.0)) == 0


def default_work() -> int:
    return type(TUNING)().rolled_work


def appends(x, y, z):
    path = []
    for _ in range(30):
        x = x * 0.9 + y
        path.append(x)
    return sum(path) * z


def test_a_body_that_appends_gives_what_eager_code_gives():
    for row in ROWS:
        assert jit(appends, wait=True)(*row) == pytest.approx(appends(*row), rel=1e-12)


def test_an_effect_inside_a_long_loop_is_still_refused():
    from micrograd.errors import TraceError

    seen = []

    def keeps(x):
        for _ in range(400):
            x = x * 0.5
            seen.append(1)
        return x

    with pytest.raises(TraceError, match="seen"):
        jit(keeps)(1.0)


def fibonacci(x, y, z):
    a, b = 1, 1
    for _ in range(90):
        a, b = b, a + b
        x = x * 0.5 + y / b
    return x * z + (a % 1000)


def doubles(x, y, z):
    n = 1
    for _ in range(70):
        n = n * 3 + 1
        x = x * 0.5 + y * (n % 7)
    return x * z


def one_list_with_two_names(x, y, z):
    a = b = [x, y]
    for _ in range(30):
        c = [a[0] * 0.9, a[1] + z * 0.1]
        a = b = c
    b[0] = y
    return a[0] * a[1]


def list_of_the_iteration_before(x, y, z):
    a = [x, y]
    for _ in range(30):
        b = a
        a = [b[0] * 0.9, b[1] + z * 0.1]
    b[0] = z
    return a[0] * b[0] + b[1]


@pytest.mark.parametrize(
    "f", [fibonacci, doubles, one_list_with_two_names, list_of_the_iteration_before], ids=lambda f: f.__name__
)
def test_what_cannot_be_rolled_gives_what_plain_python_gives(f):
    for row in ROWS:
        assert jit(f, wait=True)(*row) == pytest.approx(f(*row), rel=1e-12)


def asks_for_the_class(x, y, z):
    for _ in range(30):
        x = x * 0.9 + (y if isinstance(x, float) else z)
    return x


def test_a_body_that_asks_for_a_class_gives_what_plain_python_gives():
    for row in ROWS:
        assert jit(asks_for_the_class, wait=True)(*row) == pytest.approx(asks_for_the_class(*row), rel=1e-12)


def test_what_differs_from_run_to_run_is_refused():
    from micrograd.errors import TraceError

    state = {"n": 0.0}

    class Clock:
        def __call__(self):
            state["n"] += 1.0
            return state["n"]

    clock = Clock()

    def f(x):
        c = clock()
        for _ in range(400):
            x = x * 0.5 + c
        return x

    with pytest.raises(TraceError):
        jit(f)(1.0)


MEMORY = """
import resource
from micrograd import jit, value_and_grad

def chain(x, rate):
    state = [x * (k + 1) for k in range(16)]
    for _ in range(1_000_000):
        state = [a + 1e-6 * rate * (b - a) for a, b in zip(state, [*state[1:], state[0]])]
    return state[0] * state[8]

f = jit(value_and_grad(chain, (0, 1)), wait=True)
jit(value_and_grad(lambda x: x * x), wait=True)(1.0)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
f(0.5, 1.5)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


@needs_llvm
def test_the_gradient_of_a_million_iterations_keeps_the_states_of_some_of_them(tmp_path, run_python):
    """All states would be 128 MB: sixteen numbers in each of a million iterations."""
    path = tmp_path / "chain.py"
    path.write_text(MEMORY)
    assert float(run_python(f"import runpy; runpy.run_path({str(path)!r})").stdout) < 80.0


def test_whole_numbers_that_may_become_too_large_are_not_carried_out_of_a_loop():
    def f(x):
        for i in range(20):
            large = i * 2**47  # below 2**53, and past what a number is known to be that a loop has left
            x = x * 0.5
        return x * (large * 8 + 1 - large * 8)

    for point in (1.0, -3.0):
        assert jit(f, wait=True)(point) == f(point)


@pytest.mark.parametrize("change", ["pop", "append"])
@needs_llvm
def test_a_list_that_is_changed_between_reversed_and_its_loop(change, recwarn):
    def f(x, y):
        items = [x * k * 0.1 for k in range(40)]
        backwards = reversed(items)
        next(backwards)
        items.pop() if change == "pop" else items.append(y)
        for item in backwards:
            y = y * 0.9 + item
        return y

    x, y = np.array([0.5, -1.0]), np.array([1.0, 2.0])
    values, (by_x, by_y) = vmap(value_and_grad(f, (0, 1)))(x, y)
    for k in range(2):
        want, slopes = value_and_grad(f, (0, 1))(float(x[k]), float(y[k]))
        np.testing.assert_allclose([values[k], by_x[k], by_y[k]], [want, *slopes], rtol=1e-13)
    assert not [w for w in recwarn if "please report" in str(w.message)]
