"""What every backend promises, multiplied by the backends: LLVM, and a toy in C."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from micrograd import CompileError, Value, grad, jit, math, no_grad, random, value_and_grad, vmap
from micrograd.compile import backend as backends
from micrograd.compile.llvm import LLVM
from micrograd.compile.pipeline import Goal, lower
from micrograd.ops import OPS
from micrograd.tape.text import parse
from random_programs import needs_llvm, same

np = pytest.importorskip("numpy", reason="vmap needs NumPy")
c_backend = pytest.importorskip("c_backend")
pytestmark = needs_llvm

BACKENDS = [
    "llvm",
    pytest.param("c", marks=pytest.mark.skipif(c_backend.COMPILER is None, reason="there is no C compiler")),
]


@pytest.fixture(params=BACKENDS)
def how(request):
    return {"backend": request.param}


def energy(x, v, k):
    a = -k * x + 0.1 * math.tanh(v * x)
    for _ in range(4):
        v = v + 0.1 * a
        x = x + 0.1 * v
        a = -k * x if x > 0.2 else -k * x * math.exp(-x)
    return x * x / 2 + v * v / 2 + (math.sqrt(x) if x > 0 else 0.0)


POINTS = [(0.3, -0.2, 1.5), (-0.4, 0.9, 0.5), (0.25, 0.0, 2.0), (1.5, -3.0, 0.1)]
COLUMNS = [np.array(c) for c in zip(*POINTS)]


class TestPoint:
    def test_values_with_the_bits_of_eager_code(self, how):
        f = jit(energy, exact=True, wait=True, **how)
        for p in POINTS * 2:
            assert f(*p) == energy(*p)

    def test_gradients(self, how):
        f, want = jit(value_and_grad(energy, (0, 1, 2)), wait=True, **how), value_and_grad(energy, (0, 1, 2))
        for p in POINTS:
            (y, g), (z, h) = f(*p), want(*p)
            assert (y, *g) == pytest.approx((z, *h), rel=1e-12)

    def test_nodes_over_arguments_and_parameters(self, how):
        k = Value(1.5)
        f = jit(lambda x, v: energy(x, v, k), wait=True, **how)
        x = Value(0.3)
        y = f(x, -0.2)
        y.backward()
        want = grad(energy, (0, 2))(0.3, -0.2, 1.5)
        assert (y.data, x.grad, k.grad) == pytest.approx((energy(0.3, -0.2, 1.5), *want), rel=1e-12)
        k.data = 2.0
        assert f(0.3, -0.2).data == pytest.approx(energy(0.3, -0.2, 2.0), rel=1e-12)
        with no_grad():
            assert f(0.3, -0.2).data == pytest.approx(energy(0.3, -0.2, 2.0), rel=1e-12)

    def test_second_order_and_several_results(self, how):
        f = jit(lambda x, y: (grad(grad(lambda a: math.sin(a) * y))(x), [x, 2, y * x]), wait=True, **how)
        for _ in range(2):
            assert f(0.5, 2.0) == (pytest.approx(-2.0 * math.sin(0.5)), [0.5, 2, 1.0])


class TestRows:
    def test_rows_with_the_bits_of_eager_code(self, how):
        assert vmap(energy, exact=True, **how)(*COLUMNS).tolist() == [energy(*p) for p in POINTS]

    def test_rows_along_any_axis_and_in_any_type(self, how):
        a = np.arange(12.0).reshape(3, 4)
        assert vmap(lambda r: r[0] * r[1] + r[2], in_axes=1, **how)(a).tolist() == (a[0] * a[1] + a[2]).tolist()
        assert vmap(lambda x: x * 2, **how)(np.array([1, 2, 3], dtype="i4")).tolist() == [2.0, 4.0, 6.0]
        assert vmap(lambda x: x * 2, **how)(np.arange(10.0)[::3]).tolist() == [0.0, 6.0, 12.0, 18.0]

    def test_single_precision(self, how):
        got = vmap(lambda x, y: x * y + math.exp(x), float32=True, **how)(*COLUMNS[:2])
        assert got.dtype == np.float32
        assert got == pytest.approx(COLUMNS[0] * COLUMNS[1] + np.exp(COLUMNS[0]), rel=1e-5, abs=1e-6)

    @pytest.mark.parametrize("reduce", ["sum", "mean"])
    def test_sums_and_their_gradients(self, how, reduce):
        k = Value(1.2)
        result = vmap(lambda x, v: energy(x, v, k), reduce=reduce, **how)(*COLUMNS[:2])
        result.backward()
        scale = 0.25 if reduce == "mean" else 1.0
        assert result.data == pytest.approx(scale * sum(energy(x, v, 1.2) for x, v, _ in POINTS), rel=1e-12)
        assert k.grad == pytest.approx(scale * sum(grad(energy, 2)(x, v, 1.2) for x, v, _ in POINTS), rel=1e-12)

    def test_batch_size_and_threads_change_no_bit(self, how):
        x = np.random.default_rng(0).normal(size=4500)
        for f in (lambda x: x * math.sin(x), lambda x: x * 3 if x > 0 else x * x):
            found = {vmap(f, reduce="sum", batch_size=b, threads=t, **how)(x) for b in (None, 1, 2048) for t in (1, 2)}
            assert len(found) == 1

    def test_each_row_gives_a_value(self, how):
        k = Value(1.2)
        rows = vmap(lambda x, v: energy(x, v, k), **how)(*COLUMNS[:2])
        rows[1].backward()
        assert k.grad == pytest.approx(grad(energy, 2)(*POINTS[1][:2], 1.2), rel=1e-12)

    def test_random_numbers_are_those_of_eager_code(self, how):
        def f(x, row):
            return x * random.normal(random.key(7), draw=3, row=row) + random.uniform(random.key(8), row=row)

        rows = np.arange(40.0)
        assert vmap(f, exact=True, **how)(np.ones(40), rows).tolist() == [f(1.0, r) for r in rows]


SPELLED = [name for name, op in OPS.items() if 0 < op.arity <= 3 and op.llvm and op.c]


@pytest.mark.parametrize("name", SPELLED)
def test_every_op_with_the_bits_of_the_table(how, name):
    """Also at its special points: zeros of both signs, infinities, nan, kinks."""
    op = OPS[name]
    tape = parse("\n".join([*(f"%{k} = input {k}" for k in range(op.arity)),
                            f"%{op.arity} = {name} " + " ".join(f"%{k}" for k in range(op.arity)),
                            f"return %{op.arity}"]))  # fmt: skip
    backend = backends.find(how["backend"])
    goal = Goal(jit(lambda x: x, exact=True, **how).options)
    if not backend.spells(op):
        pytest.skip("it is expanded into others")
    tape = lower(tape, goal, backend)
    code = backend.compile(backend.text(tape, goal), tape, goal, 1)
    numbers = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 1e-310, 1e300, -1e300, float("inf"), -float("inf"), float("nan")]
    for x in numbers:
        for y in numbers if op.arity > 1 else numbers[:1]:
            xs = [x, y, 0.25][: op.arity]
            assert same(code.values(xs, [])[0], op.value(*xs)), xs


def test_pickled_with_its_backend(how):
    import compiled_module

    f = pickle.loads(pickle.dumps(jit(compiled_module.plain, wait=True, **how)))
    assert f.options.backend == how["backend"]


def test_source_and_explain(how):
    f = jit(energy, wait=True, **how)
    assert ("define" if how["backend"] == "llvm" else "int kernel") in f.source(*POINTS[0])
    assert ("a typed tape" if how["backend"] == "llvm" else "kernel for values at one point") in f.explain(*POINTS[0])


def test_an_unknown_backend_is_refused():
    with pytest.raises(CompileError, match=r"backend='metal': there is no such backend; known backends: .*llvm"):
        jit(lambda x: x * 2, backend="metal", wait=True)(1.0)


def test_the_toy_is_small_and_is_a_backend():
    lines = Path(c_backend.__file__).read_text().splitlines()
    assert len(lines) < 150
    protocol = {name for name in dir(backends.Backend) if not name.startswith("_")}
    for backend in (c_backend.C(), LLVM()):
        assert protocol <= {name for name in dir(backend) if not name.startswith("_")}
