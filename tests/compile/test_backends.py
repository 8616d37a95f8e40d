"""One program, many ways to run it: eager, the tape interpreter, machine code at every width and number type."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import compiled_accuracy
from micrograd import Value, grad, jit, value_and_grad, vmap
from micrograd.ops import OPS
from micrograd.tape import interpret as python
from micrograd.tape.trace import trace
from random_programs import SPECIAL, Package, close, needs_llvm, number, numbers, programs, same
from random_programs import column as a_column

np = pytest.importorskip("numpy", reason="batches need NumPy")
pytestmark = needs_llvm

PACKAGE = Package()
TUPLE = lambda n: ("tuple", (("*",),) * n)  # noqa: E731


def widths(single: bool = False) -> list[int]:
    return [1, 2, 4, 8, 16] if single else [1, 2, 4, 8]


def all_ops(a, b, c):
    """Every row of the table over three inputs."""
    results = []
    for name, op in OPS.items():
        args = [a, b, c, a][: 4 if op.arity < 0 else op.arity]
        results.append(PACKAGE.engine.apply(op, args) if op.arity < 0 else PACKAGE.engine.apply(op, *args))
        assert name
    return results


def eager(f, *xs):
    """Results and, for each, the gradients of the inputs, by backward()."""
    values = [Value(x) for x in xs]
    results = f(*values)
    rows = []
    for y in results:
        for v in values:
            v.grad = 0.0
        if isinstance(y, Value):
            y.backward()
        rows.append([v.grad for v in values])
    return [number(y) for y in results], rows


def triples() -> list[tuple[float, float, float]]:
    plain = [(0.3, 0.7, -1.1), (2.0, -0.4, 0.9), (-1.5, 2.5, 0.1), (0.5, 0.5, 0.5), (1e-5, 3.0, 20.0)]
    n = len(SPECIAL)
    return plain + [
        (SPECIAL[i], SPECIAL[(i + k) % n], SPECIAL[(i * 7 + k) % n]) for i in range(n) for k in (0, 1, 4, 9)
    ]


class TestEveryRow:
    """Each op of the table, with special values, against eager code."""

    def test_a_point_with_exact_has_the_bits_of_eager_code(self):
        f = jit(all_ops, exact=True, wait=True)
        for xs in triples():
            want, slopes = eager(all_ops, *xs)
            values = [Value(x) for x in xs]
            for name, y, expected, row in zip(OPS, f(*values), want, slopes, strict=True):
                assert same(y.data, expected), (name, xs, y.data, expected)
                for v in values:
                    v.grad = 0.0
                y.backward()
                for k, (v, g) in enumerate(zip(values, row)):
                    assert same(v.grad, g), (name, xs, k, v.grad, g)

    @pytest.mark.parametrize("width", widths())
    def test_a_batch_with_exact_has_the_bits_of_eager_code(self, width):
        columns = list(zip(*triples()))
        results = vmap(all_ops, exact=True, width=width)(*map(np.array, columns))
        for r, xs in enumerate(zip(*columns)):
            for name, column, y in zip(OPS, results, all_ops(*map(Value, xs)), strict=True):
                assert same(float(column[r]), y.data), (name, xs, column[r], y.data)

    @pytest.mark.parametrize("width", widths())
    def test_a_batch_is_close_to_eager_code(self, width):
        columns = [np.array(c) for c in zip(*triples())]
        results = vmap(all_ops, width=width)(*columns)
        for r, xs in enumerate(zip(*columns)):
            for name, column, y in zip(OPS, results, all_ops(*map(Value, map(float, xs))), strict=True):
                got, want = float(column[r]), y.data
                assert close(got, want, 1e-14, 4 * 5e-324), (name, xs, got, want)

    @pytest.mark.parametrize("width", widths(True))
    def test_float32_is_close_to_eager_code(self, width):
        columns = [np.array(c, "f4") for c in zip(*triples()[:5])]
        results = vmap(all_ops, width=width, float32=True)(*columns)
        for r, xs in enumerate(zip(*columns)):
            for name, column, y in zip(OPS, results, all_ops(*map(Value, map(float, xs))), strict=True):
                assert column.dtype == np.float32
                assert close(float(column[r]), y.data, 4e-6, 1e-6), (name, xs, column[r], y.data)


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("name", sorted(compiled_accuracy.ir.LIBRARY))
def test_library_functions_are_as_exact_as_documented(name, single):
    """docs/accuracy-compiled.md: what tools/accuracy_compiled.py measures stays within the bound that it states."""
    bound = compiled_accuracy.BOUND_SINGLE if single else compiled_accuracy.BOUND
    assert compiled_accuracy.measure(name, single) <= bound


def program_function(program, params):
    return lambda *xs: tuple(program.run(PACKAGE, xs, params))


@given(data=st.data())
@settings(max_examples=60)
def test_a_tape_gives_the_bits_of_eager_code(data):
    program = data.draw(programs(tame=False))
    xs = [data.draw(numbers(False)) for _ in range(program.inputs)]
    params = [Value(data.draw(numbers(False))) for _ in range(program.params)]
    f = program_function(program, params)
    want, slopes = eager(f, *xs)
    found = trace(f, TUPLE(len(xs)), xs, frozen=True)
    got = python.run(found.tape, xs, [p.data for p in found.captured])
    assert all(map(same, got, want))
    values = [Value(x) for x in xs]
    for y, row in zip(python.run(found.tape, values, found.captured), slopes):
        for v in values:
            v.grad = 0.0
        if isinstance(y, Value):
            y.backward()
        assert all(same(v.grad, g) for v, g in zip(values, row))


@given(data=st.data())
@settings(max_examples=25)
def test_exact_machine_code_of_a_point_gives_the_bits_of_eager_code_gradients_included(data):
    program = data.draw(programs(tame=False))
    params = [Value(data.draw(numbers(False))) for _ in range(program.params)]
    f = program_function(program, params)
    compiled = jit(f, exact=True, wait=True)
    for _ in range(3):
        xs = [data.draw(numbers(False)) for _ in range(program.inputs)]
        want, slopes = eager(f, *xs)
        assert all(same(number(y), w) for y, w in zip(compiled(*xs), want))
        got, own = eager(compiled, *xs)
        assert all(map(same, got, want)), (xs, got, want)
        for row, own_row in zip(slopes, own):
            assert all(map(same, row, own_row)), (xs, row, own_row)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_gradients_of_several_results_are_each_added_in_the_order_of_its_own_graph(order):
    """(0.1 + 0.2) + 0.3 and (0.3 + 0.2) + 0.1 differ, and the result that was visited first must not decide for the other."""

    def f(x):
        a, b, c = x * 0.1, x * 0.2, x * 0.3
        both = (c + b, (a + b) + c)
        return tuple(both[k] for k in order)

    want, slopes = eager(f, 1.5)
    got, own = eager(jit(f, exact=True, wait=True), 1.5)
    assert (got, own) == (want, slopes)


@given(data=st.data())
@settings(max_examples=16)
def test_exact_machine_code_of_rows_gives_the_bits_of_eager_code(data):
    program = data.draw(programs(tame=False))
    params = [Value(data.draw(numbers(False))) for _ in range(program.params)]
    width = data.draw(st.sampled_from(widths()))
    rows = data.draw(st.integers(1, 2 * width + 1))
    columns = [np.array(a_column(data, rows, False)) for _ in range(program.inputs)]
    f = program_function(program, params)
    results = vmap(f, exact=True, width=width)(*columns)
    for r in range(rows):
        for column, y in zip(results, f(*[Value(float(c[r])) for c in columns])):
            assert same(float(column[r]), number(y))


@given(data=st.data())
@settings(max_examples=16)
def test_machine_code_is_close_to_eager_code_at_every_width(data):
    program = data.draw(programs(tame=True))
    params = [Value(data.draw(numbers(True))) for _ in range(program.params)]
    width = data.draw(st.sampled_from(widths()))
    f = lambda *xs: program.run(PACKAGE, xs, params)[-1]  # noqa: E731
    rows = data.draw(st.integers(1, 2 * width + 1))
    columns = [np.array(a_column(data, rows, True)) for _ in range(program.inputs)]
    argnums = tuple(range(program.inputs))
    ys, gradients = vmap(value_and_grad(f, argnums), width=width)(*columns)
    for r in range(rows):
        want, own = value_and_grad(f, argnums)(*[float(c[r]) for c in columns])
        assert close(float(ys[r]), number(want), 1e-10, 1e-12)
        for column, g in zip(gradients, own):
            assert close(float(column[r]), number(g), 1e-8, 1e-10)


@given(data=st.data())
@settings(max_examples=10)
def test_float32_machine_code_is_close_to_eager_code(data):
    program = data.draw(programs(tame=True, length=5, branches=False))
    params = [Value(data.draw(numbers(True))) for _ in range(program.params)]
    width = data.draw(st.sampled_from(widths(True)))
    f = lambda *xs: program.run(PACKAGE, xs, params)[-1]  # noqa: E731
    columns = [np.array(a_column(data, 19, True), "f4") for _ in range(program.inputs)]
    ys = vmap(f, width=width, float32=True)(*columns)
    for r in range(19):
        assert close(float(ys[r]), number(f(*[Value(float(c[r])) for c in columns])), 2e-3, 2e-4)


@given(data=st.data())
@settings(max_examples=10)
def test_parameters_get_the_gradients_of_the_eager_loop(data):
    program = data.draw(programs(tame=True))
    params = [Value(data.draw(numbers(True))) for _ in range(2)]
    program.params = 2
    f = lambda *xs: math_sum(program.run(PACKAGE, xs, params)) + params[0] * params[1]  # noqa: E731
    rows = data.draw(st.integers(1, 11))
    columns = [np.array(a_column(data, rows, True)) for _ in range(program.inputs)]
    vmap(f, reduce="sum")(*columns).backward()
    got = [p.grad for p in params]
    for p in params:
        p.grad = 0.0
    math_sum([f(*[Value(float(c[r])) for c in columns]) for r in range(rows)]).backward()
    for g, p in zip(got, params):
        assert close(g, p.grad, 1e-8, 1e-9)


@given(data=st.data())
@settings(max_examples=12)
def test_transforms_nest_in_compiled_code_as_in_eager_code(data):
    program = data.draw(programs(tame=True, length=5, most_inputs=1, branches=False))
    program.params = 0
    f = lambda x: program.run(PACKAGE, [x])[-1]  # noqa: E731
    second = grad(grad(f))
    compiled = jit(second, wait=True)
    for x in (data.draw(numbers(True)), data.draw(numbers(True))):
        want = second(x)
        assert close(number(compiled(x)), number(want), 1e-8, 1e-8)
        assert close(float(vmap(second)(np.array([x, x, x]))[2]), number(want), 1e-8, 1e-8)


def math_sum(xs):
    return PACKAGE.math.sum(xs)


def test_fastmath_is_close_on_ordinary_numbers():
    f = jit(lambda x, y: math_sum([x * 0.0, y + 0.0, x - x, x / y, (x + y) * (x - y)]), fastmath=True, wait=True)
    f(1.0, 2.0)
    assert math.isclose(f(3.0, 4.0), 4.0 + 0.75 - 7.0, rel_tol=1e-14)


def test_an_unknown_width_is_refused():
    with pytest.raises(ValueError, match="width=3"):
        vmap(lambda x: x, width=3)(np.zeros(4))


def test_exact_goes_with_neither_fastmath_nor_float32():
    for option in ({"fastmath": True}, {"float32": True}):
        with pytest.raises(ValueError, match="cannot be combined with fastmath or float32"):
            vmap(lambda x: x, exact=True, **option)


@pytest.mark.parametrize("reduce", [None, "sum"])
@pytest.mark.parametrize("float32, lanes", [(False, "2d"), (True, "4s")])
def test_the_same_text_is_neon_on_arm(reduce, float32, lanes):
    """Rows in vectors of 128 bits: what a processor without AVX gets, here for one that this machine is not."""
    binding = pytest.importorskip("llvmlite.binding")
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    try:
        target = binding.Target.from_triple("aarch64-unknown-linux-gnu")
    except RuntimeError:
        pytest.skip("this LLVM makes no code for ARM")
    options = {"float32": True} if float32 else {"exact": True}
    rows = vmap(lambda x, y: x * y + x / (y * y), reduce=reduce, width=4 if float32 else 2, **options)
    columns = [np.linspace(1.0, 2.0, 9)] * 2
    module = binding.parse_assembly(rows.source(*columns))
    module.triple = target.triple
    assembly = target.create_target_machine(opt=2).emit_assembly(module)
    assert re.search(rf"f(mul|mla)\s+v\d+\.{lanes}", assembly) and re.search(rf"fdiv\s+v\d+\.{lanes}", assembly)
