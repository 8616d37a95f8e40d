"""A Value that a result does not read gets no gradient from it: a slope of its own may be infinite, and 0 times inf is nan."""

from __future__ import annotations

import pytest

from micrograd import Value, jit, math, no_grad, vmap
from micrograd.compile.tuning import TUNING
from random_programs import needs_llvm

np = pytest.importorskip("numpy", reason="vmap needs NumPy")
c_backend = pytest.importorskip("c_backend")
pytestmark = needs_llvm

IN_C = pytest.param(
    {"backend": "c"}, marks=pytest.mark.skipif(c_backend.COMPILER is None, reason="there is no C compiler")
)
ROWS = np.array([1.0, 2.0, 3.0])


def branch(r, c, w):
    return c * r if r > 100.0 else r * w


def loop(r, c, w):
    total = r * w
    k = 0
    while k < r:
        total = total + (c if k > 100 else w)
        k = k + 1
    return total


def step(r, c, w):
    return r * w + math.floor(c)


def unread(r, c, w):
    return r * w


FUNCTIONS = [branch, loop, step, unread]


def gradients(f, summed, rows=ROWS):
    """What c, w and the x behind c get from f(rows, c, w), where c has an infinite slope."""
    x, w = Value(0.0), Value(2.0)
    c = math.sqrt(x)
    summed(f, rows, c, w).backward()
    return x.grad, c.grad, w.grad


def in_a_loop(f, rows, c, w):
    return math.sum([f(float(r), c, w) for r in rows])


@pytest.mark.parametrize("f", FUNCTIONS)
@pytest.mark.parametrize("options", [{}, {"exact": True}, {"batch_size": 2048}, {"float32": True}, IN_C])
def test_rows_that_are_summed(f, options):
    plain = gradients(f, in_a_loop)
    assert (
        gradients(f, lambda f, rows, c, w: vmap(f, in_axes=(0, None, None), reduce="sum", **options)(rows, c, w))
        == plain
    )
    assert gradients(f, lambda f, rows, c, w: vmap(lambda r: f(r, c, w), reduce="sum", **options)(rows)) == plain
    mean = gradients(
        f, lambda f, rows, c, w: vmap(f, in_axes=(0, None, None), reduce="mean", **options)(rows, c, w) * 3.0
    )
    assert mean == pytest.approx(plain)


@pytest.mark.parametrize("f", FUNCTIONS)
def test_rows_with_a_result_each(f):
    mapped = vmap(f, in_axes=(0, None, None))
    assert gradients(f, lambda f, rows, c, w: mapped(rows, c, w)[1]) == gradients(f, lambda f, rows, c, w: f(2.0, c, w))


def test_a_value_that_one_row_reads_has_its_gradient():
    rows = np.array([1.0, 200.0, 3.0])
    plain = gradients(branch, in_a_loop, rows)
    assert plain == (float("inf"), 200.0, 4.0)
    mapped = vmap(branch, in_axes=(0, None, None), reduce="sum")
    assert gradients(branch, lambda f, *args: mapped(*args), rows) == plain
    each = vmap(branch, in_axes=(0, None, None))
    for k in range(3):
        expected = gradients(branch, lambda f, rows, c, w, k=k: f(rows[k], c, w), rows)
        assert gradients(branch, lambda f, *args, k=k: each(*args)[k], rows) == expected


def test_a_leaf_and_a_node_in_turn():
    mapped = vmap(branch, in_axes=(0, None, None), reduce="sum")
    w = Value(2.0)
    for _ in range(2):
        leaf = Value(5.0)
        mapped(np.array([1.0, 200.0]), leaf, w).backward()
        assert leaf.grad == 200.0
        assert gradients(branch, lambda f, *args: mapped(*args)) == (0.0, 0.0, 6.0)
        with no_grad():
            assert mapped(ROWS, math.sqrt(leaf), w).data == 12.0


def test_many_nodes():
    leaves = [Value(0.0) for _ in range(200)]
    nodes = [math.sqrt(x) + k for k, x in enumerate(leaves)]

    def f(r):
        total = r * 2.0
        for k, c in enumerate(nodes):
            total = total + (c * r if r > k else 0.0)
        return total

    vmap(f, reduce="sum")(np.array([0.5, 3.5])).backward()
    assert [x.grad for x in leaves] == [float("inf")] * 4 + [0.0] * 196
    assert [c.grad for c in nodes[:5]] == [4.0, 3.5, 3.5, 3.5, 0.0]


def results(v, c):
    return v * c, v * 2.0, math.floor(c) * v, math.floor(v)


@pytest.mark.parametrize("options", [{}, {"wait": True}, {"exact": True}, IN_C])
def test_each_of_several_results_at_one_point(options):
    def swept(f, k):
        x, v = Value(0.0), Value(3.0)
        c = math.sqrt(x)
        f(v, c)[k].backward()
        return x.grad, c.grad, v.grad

    options = {"wait": True, **options} if options else {}
    argument, captured = jit(results, **options), []
    for _ in range(3):
        for k in range(4):
            assert swept(argument, k) == swept(results, k)
            captured.append(swept(lambda v, c: jit(lambda a: results(a, c), **options)(v), k))
    assert captured == [swept(results, k) for k in range(4)] * 3


@pytest.mark.parametrize("f", [lambda r: r * 2.0 + math.floor(STEP), lambda r: math.floor(STEP) * r])
def test_a_captured_value_behind_a_step(f):
    compiled = jit(f, wait=True)
    for _ in range(3):  # the second call is answered by the C engine alone, where it can be
        ROOT.grad = 0.0
        result = compiled(1.0)
        result.backward()
        assert result.data == f(1.0).data and ROOT.grad == 0.0


ROOT = Value(0.0)
STEP = math.sqrt(ROOT)


def test_rows_of_several_results():
    x = Value(0.0)
    first, second = vmap(lambda r, c: (r * c, r * 2.0), in_axes=(0, None), reduce="sum")(ROWS, math.sqrt(x))
    second.backward()
    assert x.grad == 0.0
    first.backward()
    assert x.grad == float("inf")


@pytest.mark.parametrize("reduce", [None, "sum"])
def test_each_of_several_results_has_its_own_flags(reduce):
    x = Value(0.0)
    mapped = vmap(lambda r, c: (c * r if r > 100.0 else r, c * r, r + 1.0), in_axes=(0, None), reduce=reduce)
    results = mapped(ROWS, math.sqrt(x))
    for k, expected in enumerate((0.0, float("inf"), 0.0)):
        x.grad = 0.0
        (results[k] if reduce else results[k][0]).backward()
        assert x.grad == expected


def test_rows_of_more_paths_than_are_compiled(monkeypatch):
    def f(r, c, w):
        if r > 100.0:
            return c * r
        if r > 2.5:
            return r * w
        return w if r > 1.5 else w * 3.0

    monkeypatch.setattr(TUNING, "max_variants", 1)
    mapped = vmap(f, in_axes=(0, None, None), reduce="sum", exact=True)
    with pytest.warns(RuntimeWarning, match="more than 1 different paths"):
        assert gradients(f, lambda f, *args: mapped(*args)) == gradients(f, in_a_loop)
