"""sum(), min(), max(), any() and all() of long generator expressions are loops of the tape, with eager code's results."""

import numpy as np
import pytest

from micrograd import Value, grad, jit, math, value_and_grad, vmap
from micrograd.compile.tuning import TUNING
from micrograd.tape.tape import Loop
from random_programs import needs_llvm

pytestmark = needs_llvm
N = 240
SHIFT = Value(0.25)


@pytest.fixture(autouse=True)
def short_loops_are_rolled(monkeypatch):
    monkeypatch.setattr(TUNING, "rolled_work", 20)


def total(x, y):
    return sum(math.sin(x * k) / (k + y * y) for k in range(1, N))


def total_with_start(x, y):
    return sum((x * k * 0.001 for k in range(N)), y * 2.0)


def filtered(x, y):
    return sum(x * k * 0.001 if k % 2 else y for k in range(N) if k % 3)


def filtered_by_values(x, y):
    return sum(x * k * 0.01 for k in range(N) if x * k < 30.0 * y) + y


def pairs(x, y):
    return sum(math.exp(-x * x * abs(i - j)) * y for i in range(16) for j in range(15) if i != j)


def nested(x, y):
    return sum(max(x * i - y * j for j in range(150)) for i in range(5))


def least(x, y):
    return min(abs(x - k / 100) for k in range(-300, 300)) * y


def largest(x, y):
    return max((x - k * 0.01) * (y + k * 0.01) for k in range(N))


def any_of(x, y):
    return x if any(x * k > 5.0 for k in range(N)) else y


def all_of(x, y):
    return x * y if all(y * k < 200.0 for k in range(N)) else x + y


def short_circuit(x, y):
    # An item behind the one that decides is never computed: the logarithm of a negative number would be nan.
    return y if any(math.log(1.5 - 0.01 * k) * 0.0 + x > 0.5 - 0.01 * k for k in range(N)) else x


def closure_and_method(x, y):
    def damped(k):
        return x * 0.99**k + SHIFT

    return sum(damped(k) for k in range(N)) * y


def over_a_made_list(x, y):
    path = [x * k * 0.01 for k in range(N)]
    return sum(p * q for p, q in zip(path, path[2:])) + max(abs(p - y) for p in path)


def inside_a_branch(x, y):
    if x > y:
        return sum(x / (k + 1.0) for k in range(N))
    return min(y * k for k in range(1, N))


def uses_names_like_those_of_a_fold(x, y):
    items, start, total, best, empty = 1.0, 2.0, x, y, 3.0
    return sum(total * k * 0.01 + items for k in range(N)) + max(best * k + start for k in range(N)) + empty


ROLLED = [
    total,
    total_with_start,
    filtered,
    filtered_by_values,
    pairs,
    nested,
    least,
    largest,
    any_of,
    all_of,
    short_circuit,
    closure_and_method,
    over_a_made_list,
    inside_a_branch,
    uses_names_like_those_of_a_fold,
]
ROWS = [(0.5, 2.0), (2.5, 0.3), (-0.4, 1.1), (1.0, 1.0), (0.001, 0.5), (0.7, -1.25)]


def plain(x):
    return x.data if isinstance(x, Value) else x


@pytest.mark.parametrize("f", ROLLED, ids=lambda f: f.__name__)
def test_a_fold_is_a_loop_and_gives_what_eager_code_gives(f):
    columns = [np.array(c) for c in zip(*ROWS)]
    batch = vmap(value_and_grad(f, (0, 1)))
    values, gradients = batch(*columns)
    assert len(list(batch.variants)) == 1
    tape = next(iter(batch.variants)).trace.tape
    assert any(isinstance(op, Loop) for op in tape.ops) and tape.size() < 600
    second = vmap(grad(grad(f, 0), 1))(*columns)
    backwards, _ = batch(*[c[::-1] for c in columns])
    np.testing.assert_array_equal(backwards[::-1], values)
    point = jit(value_and_grad(f, (0, 1)), wait=True)
    for k, row in enumerate(ROWS):
        want, slopes = value_and_grad(f, (0, 1))(*row)
        np.testing.assert_allclose(plain(values[k]), plain(want), rtol=1e-12)
        np.testing.assert_allclose([plain(g[k]) for g in gradients], [plain(s) for s in slopes], rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(plain(second[k]), plain(grad(grad(f, 0), 1)(*row)), rtol=1e-9, atol=1e-10)
        value, found = point(*row)
        np.testing.assert_allclose(plain(value), plain(want), rtol=1e-12)
        np.testing.assert_allclose([plain(g) for g in found], [plain(s) for s in slopes], rtol=1e-10, atol=1e-12)


def assigns(x, y):
    last = y
    found = sum((last := x * k * 0.01) for k in range(N))
    return found + last


def used_twice(x, y):
    items = (x * k * 0.01 for k in range(N))
    return sum(items) + sum(items) + y


def begun_elsewhere(x, y):
    items = (x * k * 0.01 for k in range(N))
    first = next(items) + next(items)
    return sum(items) * first + y


def raises_in_some_rows(x, y):
    return sum(1.0 / (3 - k if x > y else k + 1) * x for k in range(N))


def late_binding(x, y):
    scale = x
    items = (scale * k for k in range(N))
    scale = y
    return sum(items)


@pytest.mark.parametrize("f", [assigns, used_twice, begun_elsewhere, late_binding], ids=lambda f: f.__name__)
def test_what_a_generator_expression_does_besides_is_kept(f):
    columns = [np.array(c) for c in zip(*ROWS)]
    values, (by_x, by_y) = vmap(value_and_grad(f, (0, 1)))(*columns)
    for k, row in enumerate(ROWS):
        want, slopes = value_and_grad(f, (0, 1))(*row)
        np.testing.assert_allclose([values[k], by_x[k], by_y[k]], [want, *slopes], rtol=1e-11)


def test_an_item_that_raises_raises_for_its_row():
    batch = vmap(raises_in_some_rows)
    assert batch(np.array([0.5, 0.25]), np.array([1.0, 2.0]))[1] == pytest.approx(raises_in_some_rows(0.25, 2.0))
    with pytest.raises(ZeroDivisionError):
        batch(np.array([0.5, 3.0]), np.array([1.0, 2.0]))


def test_an_empty_minimum_raises_as_in_eager_code():
    def f(x):
        return min(x * k for k in range(N) if x > 1.0)

    batch = vmap(f)
    np.testing.assert_array_equal(batch(np.array([2.0, 3.0])), [0.0, 0.0])
    with pytest.raises(ValueError):
        batch(np.array([2.0, 0.5]))


def test_conditions_inside_of_each_other_are_combined_by_and_and_or():
    # LLVM's combiner took minutes for a thousand selects of flags inside of each other.
    def f(x):
        return x if any(x * k > 5.0 for k in range(90)) else -x

    text = vmap(f).source(np.array([0.1, 2.0]))
    flags = [line for line in text.splitlines() if "i1>" in line and " select " in line and "double> splat" in line]
    assert text.count(" or <") >= 80 and len(flags) < 5
