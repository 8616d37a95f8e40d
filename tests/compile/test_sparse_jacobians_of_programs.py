"""jit of sparse Jacobians and Hessians of functions with loops: pattern and entries by typed tapes."""

from __future__ import annotations

from itertools import pairwise

import pytest

from micrograd import hessian, jacobian, jit, math, sparse_hessian, sparse_jacobian
from random_programs import needs_llvm

np = pytest.importorskip("numpy")
pytest.importorskip("scipy.sparse")
pytestmark = needs_llvm


def second_difference(x):
    return [x[i - 1] - 2.0 * x[i] * x[i - 1] + math.exp(x[i + 1]) for i in range(1, len(x) - 1)]


def rosenbrock(x):
    total = 0.0
    for i in range(len(x) - 1):
        total += (1.0 - x[i]) ** 2 + 100.0 * (x[i + 1] - x[i] ** 2) ** 2
    return total


def arrow(x):
    return [x[0] * v for v in x] + [sum(v * v for v in x)]


def pairs(x):
    """Tuples in a list: the rows of eager code alternate between their parts."""
    return [(v * v, v * x[0]) for v in x], 1.0, [x[2]]


def nothing(x):
    return [1.0 * len(x) for _ in x]


FUNCTIONS = [second_difference, arrow, pairs, nothing]


def same(found, wanted):
    assert found.shape == wanted.shape
    assert found.indptr.tolist() == wanted.indptr.tolist() and found.indices.tolist() == wanted.indices.tolist()
    assert found.data.tolist() == pytest.approx(wanted.data.tolist(), rel=1e-9, abs=1e-12)


def variants(compiled):
    return compiled.typed.variants if compiled.typed else []


@pytest.mark.parametrize("given", [list, np.array])
@pytest.mark.parametrize("f", FUNCTIONS)
def test_pattern_and_entries_are_those_of_eager_code(f, given):
    compiled, eager = jit(jacobian(f, sparse=True), wait=True), sparse_jacobian(f)
    for n in (12, 12, 9, 70):
        x = given([0.1 + 0.03 * k for k in range(n)])
        same(compiled(x), eager(x))
        assert (compiled.pattern != eager.pattern).nnz == 0
        assert compiled.sweeps == eager.sweeps
    assert len(variants(compiled)) == 1


def test_hessians():
    compiled, eager = jit(hessian(rosenbrock, sparse=True), wait=True), sparse_hessian(rosenbrock)
    for n in (10, 30):
        x = np.linspace(0.1, 1.0, n)
        same(compiled(x), eager(x))
        assert compiled(x).toarray() == pytest.approx(np.array(hessian(rosenbrock)(x)), rel=1e-9)
    assert len(variants(compiled)) == 1


def test_a_hundred_thousand_columns_take_as_many_sweeps_as_ten():
    compiled = jit(jacobian(second_difference, sparse=True), wait=True)
    x = np.linspace(0.0, 1.0, 100_000)
    found = compiled(x)
    assert compiled.sweeps == 3 and found.nnz == 3 * 99_998
    at = 54_321
    expected = {at - 1: 1.0 - 2.0 * x[at], at: -2.0 * x[at - 1], at + 1: np.exp(x[at + 1])}
    row = found[[at - 1]]
    assert dict(zip(row.indices.tolist(), row.data.tolist())) == pytest.approx(expected, rel=1e-12)


def test_a_comparison_does_not_decide_the_pattern():
    def branches(x):
        return [x[i] * x[i - 1] if x[i] > 0.5 else x[0] for i in range(len(x))]

    compiled = jit(sparse_jacobian(branches), wait=True)
    for shift in (0.0, 0.3, -0.2):
        x = [0.1 * k + shift for k in range(9)]
        found = compiled(x)
        assert found.toarray() == pytest.approx(np.array(jacobian(branches)(x)))
        assert set(found.indices[found.indptr[4] : found.indptr[5]].tolist()) == {0, 3, 4}
    (variant,) = variants(compiled)
    assert not variant.by_numbers


def test_a_pattern_that_numbers_decide_is_found_in_each_call():
    def gathered(x):
        return [x[int(v)] * v for v in x]

    compiled = jit(sparse_jacobian(gathered), wait=True)
    for top in (3.0, 5.0, 9.0):
        x = [top, *[0.5 + k for k in range(9)]]
        assert compiled(x).toarray() == pytest.approx(np.array(jacobian(gathered)(x)))
    assert variants(compiled)[0].by_numbers


def test_the_pattern_follows_ints():
    def chosen(x, columns):
        return [x[c] * x[c] for c in columns]

    compiled = jit(sparse_jacobian(chosen), wait=True)
    x = np.linspace(0.1, 1.0, 12)
    for columns in ([0, 1, 2, 3, 4, 5, 6, 7, 8], [8, 8, 8, 0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 5, 6, 7, 8]):
        same(compiled(x, np.array(columns)), sparse_jacobian(chosen)(x, np.array(columns)))
    assert len(variants(compiled)) == 1


def test_an_infinite_slope_does_not_reach_the_entries_beside_it():
    def roots(x):
        return [math.sqrt(x[i]) + x[i + 1] for i in range(len(x) - 1)]

    compiled = jit(sparse_jacobian(roots), wait=True)
    for zero in (0.5, 0.0):
        x = [zero, *[0.1 * k for k in range(1, 12)]]
        assert compiled(x).toarray().tolist() == [pytest.approx(row) for row in jacobian(roots)(x)]


def test_errors_are_those_of_plain_python():
    def checked(x):
        if x[0] < 0.0:
            raise ValueError("negative")
        return [v * v for v in x]

    compiled = jit(sparse_jacobian(checked), wait=True)
    assert compiled([0.5] * 10).nnz == 10
    with pytest.raises(ValueError, match="negative"):
        compiled([-0.5] * 10)


def test_the_results_belong_to_the_caller():
    compiled = jit(sparse_jacobian(arrow), wait=True)
    x = np.linspace(0.1, 1.0, 12)
    first = compiled(x)
    first.data[:] = 0.0
    first.indices[:] = 0
    same(compiled(x), sparse_jacobian(arrow)(x))


def test_random_patterns_are_found_by_few_runs():
    from micrograd.compile.typed.colouring import pattern
    from micrograd.sparse import colour

    random = np.random.default_rng(3)
    for height, columns, share in (
        (5, 7, 0.3),
        (200, 170, 0.02),
        (90, 700, 0.01),
        (0, 5, 0.1),
        (4, 0, 0.1),
        (20, 130, 1.0),
    ):
        full = random.random((height, columns)) < share
        runs = []

        def words(bits, full=full, runs=runs):
            runs.append(bits)
            return np.bitwise_or.reduce(np.where(full, bits[None, :], 0), axis=1, initial=0).astype(np.int64)

        index, ends, colours = pattern(words, columns)
        rows = [index[a:b].tolist() for a, b in pairwise(ends)]
        assert rows == [np.flatnonzero(line).tolist() for line in full]
        assert colours.tolist() == colour(rows, columns)
        assert len(runs) <= 12
