"""jit of jacobian, jacfwd, jacrev and hessian of functions with loops: one typed tape, and the results of eager code."""

from __future__ import annotations

import math as plain_math
import threading
from typing import NamedTuple

import pytest

from micrograd import grad, hessian, hvp, jacfwd, jacobian, jacrev, jit, math
from micrograd.ir.interpret import CheckFailed, run
from micrograd.ir.sweeps import Rows, by_columns, by_rows
from micrograd.tree import flatten
from random_programs import needs_llvm
from twins import MORE
from typed_tapes import random_arguments, random_tape

np = pytest.importorskip("numpy")
pytestmark = needs_llvm


def products(x):
    return [math.sin(x[i]) * x[(i * 7) % len(x)] for i in range(len(x))]


def rosenbrock(x):
    total = 0.0
    for i in range(len(x) - 1):
        total += (1.0 - x[i]) ** 2 + 100.0 * (x[i + 1] - x[i] ** 2) ** 2
    return total


def branches(x):
    found = []
    for v in x:
        if v > 0.5:
            found.append(math.log(v) * x[0])
        else:
            found.append(v * v)
    return found


def sums(x):
    return sum(v * v for v in x), [max(x), 3.0, {"least": min(x)}]


def steps(x):
    y = x[0]
    while abs(y) < 100.0:
        y = y * 1.7 + x[1]
    return [y, y * x[-1]]


class Pair(NamedTuple):
    first: float
    second: float


def pairs(x):
    return [Pair(v, v * x[0]) for v in x]


def table(x):
    return [[v, v * v, x[0] * v] for v in x]


def mixed(x):
    return [sum(v * v for v in x), 0 if x[0] > 2.0 else x[1], max(0, x[2])]


X = [0.1 + 0.07 * k for k in range(13)]
FUNCTIONS = [products, rosenbrock, branches, sums, steps, pairs, table, mixed]


def agree(found, wanted):
    """Whether results have one structure, and the same numbers up to rounding."""
    xs, ys = [], []
    assert flatten(found, xs) == flatten(wanted, ys)
    assert xs == pytest.approx(ys, rel=1e-9, abs=1e-12, nan_ok=True)


def variants(compiled):
    return compiled.typed.variants if compiled.typed else []


@pytest.mark.parametrize(
    "f, transform, given",
    [
        *((f, jacobian, list) for f in FUNCTIONS),
        *((f, transform, np.array) for f in (sums, pairs) for transform in (jacfwd, jacrev)),
        (products, jacobian, tuple),
        (table, jacrev, list),
        (rosenbrock, hessian, np.array),
    ],
)
def test_the_results_are_those_of_eager_code(f, transform, given):
    compiled = jit(transform(f), wait=True)
    for n in (13, 13, 9, 20):  # the second call is answered by C, where that is possible
        x = given([0.1 + 0.07 * k for k in range(n)])
        agree(compiled(x), transform(f)(x))
    assert len(variants(compiled)) == 1


@pytest.mark.parametrize("transform", [jacobian, hessian])
def test_the_size_of_the_tape_does_not_depend_on_the_number_of_numbers(transform):
    f = products if transform is jacobian else rosenbrock
    sizes = {len(jit(transform(f), wait=True).tape([0.5] * n)) for n in (20, 50)}
    assert len(sizes) == 1


def test_few_columns_take_forward_sweeps_and_few_rows_reverse_sweeps():
    def spread(a, b):
        return [a * math.exp(b * k) for k in range(40)]

    wide, tall = jit(jacobian(sums), wait=True), jit(jacobian(spread, argnums=(0, 1)), wait=True)
    agree(wide([0.5 + k for k in range(100)]), jacobian(sums)([0.5 + k for k in range(100)]))
    agree(tall(0.5, 0.1), jacobian(spread, argnums=(0, 1))(0.5, 0.1))
    assert [v.forward for v in variants(wide)] == [False]
    assert [v.forward for v in variants(tall)] == [True]


@pytest.mark.parametrize("argnums", [0, 1, (0, 1), (1, 0), (-1,)])
def test_several_arguments_have_the_structures_of_eager_code(argnums):
    def f(x, p):
        return [v * p["a"][0] + math.exp(v) * p["b"] for v in x], p["a"][1] * x[1]

    args = X, {"a": np.array([2.0, 0.3]), "b": 1.5}
    compiled = jit(jacobian(f, argnums=argnums), wait=True)
    for _ in range(2):
        agree(compiled(*args), jacobian(f, argnums=argnums)(*args))
    assert variants(compiled)


def test_an_infinite_slope_does_not_reach_the_columns_beside_it():
    def roots(x):
        return [math.sqrt(v) + x[1] for v in x]

    compiled = jit(jacfwd(roots), wait=True)
    for zero in (0.5, 0.0, 0.0, 0.25):
        x = [zero, *X]
        agree(compiled(x), jacfwd(roots)(x))
    assert len(variants(compiled)) == 1


def test_the_results_of_a_jacobian_belong_to_the_caller():
    compiled = jit(jacobian(products), wait=True)
    for x in (X, np.array(X)):
        for _ in range(3):
            first = compiled(x)
            first[0][:] = first[1]
        agree(compiled(x), jacobian(products)(x))


def test_ints_beside_the_numbers_may_differ_from_call_to_call():
    def powers(x, n):
        found = []
        for k in range(n):
            found.append(sum(v**k for v in x))
        return found

    compiled = jit(jacobian(powers), wait=True)
    for n in (3, 3, 5, 0, 2):
        agree(compiled(X, n), jacobian(powers)(X, n))


def test_errors_are_those_of_plain_python():
    def inverse(x):
        if x[0] > 5.0:
            raise ValueError("too large")
        return [1.0 / v for v in x]

    compiled = jit(jacobian(inverse), wait=True)
    agree(compiled(X), jacobian(inverse)(X))
    with pytest.raises(ValueError, match="too large"):
        compiled([6.0, *X])


def test_the_third_order_agrees_with_differences():
    third = jit(jacobian(lambda x: grad(lambda y: sum(grad(rosenbrock)(y)))(x)), wait=True)
    inner = lambda x: grad(lambda y: sum(grad(rosenbrock)(y)))(x)  # noqa: E731
    x, h = X[:9], 1e-6
    found = third(x)
    assert variants(third)
    for c in (0, 4, 8):
        up, down = ([v + s * h * (k == c) for k, v in enumerate(x)] for s in (1, -1))
        slopes = [(a - b) / (2 * h) for a, b in zip(inner(up), inner(down))]
        assert [row[c] for row in found] == pytest.approx(slopes, rel=1e-4, abs=1e-3)


@pytest.mark.parametrize("given", [list, np.array])
def test_hessians_times_vectors_are_typed_too(given):
    product = lambda x, v: hvp(rosenbrock, (x,), (v,))  # noqa: E731
    compiled = jit(product, wait=True)
    for n in (10, 10, 25):
        x, v = given([0.1 + 0.07 * k for k in range(n)]), given([1.0 - 0.1 * k for k in range(n)])
        agree(compiled(x, v), product(x, v))
        dense = np.array(hessian(rosenbrock)(x)) @ np.array(v)
        assert np.array(compiled(x, v)) == pytest.approx(dense, rel=1e-9)
    assert len(variants(compiled)) == 1


def test_hessians_times_vectors_of_several_arguments():
    def energy(x, y):
        return sum(a * a * b for a, b in zip(x, y)) + y[0] ** 3

    product = lambda x, y: hvp(energy, (x, y), (y, x))  # noqa: E731
    compiled = jit(product, wait=True)
    x, y = X[:10], X[3:13]
    agree(compiled(x, y), product(x, y))
    assert variants(compiled)


def test_threads_may_call_with_other_lengths_at_once():
    compiled = jit(jacobian(table), wait=True)
    given = [[0.1 + 0.07 * k for k in range(n)] for n in (9, 15, 22, 30)]
    wanted = [jacobian(table)(x) for x in given]
    compiled(given[0])
    wrong = []

    def call(k):
        for _ in range(60):
            if compiled(given[k])[-1][-1] != pytest.approx(wanted[k][-1][-1]):
                wrong.append(k)

    workers = [threading.Thread(target=call, args=(k,)) for k in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


def test_explain_shows_the_tape_of_the_jacobian():
    compiled = jit(jacobian(products), wait=True)
    text = str(compiled.explain(X))
    assert "the function and its Jacobian" in text and "any length" in text


@pytest.mark.parametrize("forward", [True, False])
@pytest.mark.parametrize("seed", range(10 * MORE))
def test_random_jacobians_have_the_bits_of_the_interpreter(seed, forward):
    from micrograd.compile.typed.kernel import Kernel

    tape = random_tape(seed)
    of = [Rows(0), Rows(1)]
    tape = by_columns(tape, [0, 1, 2, 3], of, 3) if forward else by_rows(tape, [0, 1, 2, 3], of)
    kernel = Kernel(tape)
    for k in range(3):
        arguments = random_arguments(1000 * seed + k)
        assert _outcome(lambda a: kernel(*a), arguments) == _outcome(lambda a: run(tape, a), arguments)


def _outcome(function, arguments):
    try:
        found = function(arguments)
    except CheckFailed as failed:
        return str(failed)
    return [_text(x) for x in found]


def _text(x):
    return repr(x.tolist() if hasattr(x, "tolist") else x).replace("-nan", "nan")


def test_numbers_are_floats():
    (row, *_), _ = jit(jacobian(lambda x: ([v * v for v in x], x[0])), wait=True)(X)
    assert {type(v) for v in row} == {float}
    assert not plain_math.isnan(row[0])


def area(points):
    total = 0.0
    for i in range(len(points)):
        (a, b), (c, d) = points[i], points[(i + 1) % len(points)]
        total += a * d - c * b
    return total * total


def twisted(x):
    a, b, c = x.shape
    total = 0.0
    for i in range(a):
        for j in range(b):
            for k in range(c):
                total += x[i, j, k] * x[a - 1 - i][j][k] * (i + 2 * j - k)
    return total * total


@pytest.mark.parametrize(("f", "shape"), [(area, (4, 2)), (twisted, (2, 3, 2))])
def test_hessians_by_arrays_of_several_axes_are_arrays(f, shape):
    x = np.random.default_rng(0).normal(size=shape)
    by_hand = jacobian(grad(f))(x)
    for found in (jit(hessian(f))(x), jit(jacobian(lambda a: grad(f)(a)))(x)):
        assert found.shape == shape * 2
        assert found == pytest.approx(by_hand, rel=1e-9, abs=1e-9)
