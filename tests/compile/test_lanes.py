"""Instructions of one point side by side: found where the tape repeats itself, and never another bit in the result."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from micrograd import Value, jit, nn, vmap
from micrograd.compile import pipeline
from micrograd.compile.llvm import LLVM, module
from micrograd.compile.llvm import build as llvm
from micrograd.compile.llvm import packed as packing
from micrograd.compile.llvm.machine_code import Point
from micrograd.compile.llvm.vector import PackedText
from micrograd.compile.options import Options
from micrograd.compile.pipeline import Goal
from micrograd.compile.schedule import pack
from micrograd.compile.tuning import TUNING
from micrograd.ops import OPS
from micrograd.tape import interpret as python
from micrograd.tape.builder import Builder
from micrograd.tape.tape import CONST, INPUT, PARAM, Tape
from micrograd.tape.trace import trace
from random_programs import Package, close, needs_llvm, numbers, programs, same

pytestmark = needs_llvm

PACKAGE = Package()
BITS = [128, 256, 512]
EXACT = Options(exact=True)


def row(n: int):
    return ("tuple", (("*",),) * n)


def by_machine(tape: Tape, xs, params, bits: int, exact: bool, packed: bool = True):
    """The outputs of a tape of spelled ops as machine code with vectors of so many bits; None where a guard failed."""
    options = llvm.Target(1, False, exact, False, bits)
    plan = pack.plan(tape, bits // 64, TUNING.pack_strip[bits])
    source, scratch = packing.text(tape, options, plan) if packed else module.text(tape, Goal(), options)[:2]
    inside(tape, source, bits // 64)
    return Point(llvm.compile_text(source, scratch, options, 1), tape).values(list(xs), list(params))


def inside(tape: Tape, source: str, width: int) -> None:
    """No vector is read past the end of the arguments or the params."""
    for at, base, offset in re.findall(r"(%t\d+) = getelementptr i8, ptr %(in|params), i64 (\d+)\n", source):
        if f"load <{width} x double>, ptr {at}," in source:
            assert int(offset) // 8 + width <= (tape.inputs if base == "in" else tape.params)


def usable(bits: int) -> None:
    if bits > llvm.vector_bits():
        pytest.skip(f"this processor has no vectors of {bits} bits")


def compare(f, xs, params, bits: int, exact: bool, gradients: bool) -> None:
    found = trace(f, row(len(xs)), list(xs), frozen=True)
    by = (tuple(range(len(xs))), tuple(range(found.tape.params))) if gradients else ((), ())
    tape = pipeline.lower(found.tape, Goal(EXACT if exact else Options(), *by), LLVM())
    captured = [p.data for p in found.captured]
    want = python.run(tape, list(xs), captured)
    got = by_machine(tape, xs, captured, bits, exact)
    for a, b in zip(got, want, strict=True):
        assert same(a, b) if exact else close(a, b, 1e-9, 1e-12), (a, b)


@pytest.mark.parametrize("bits", BITS)
@given(data=st.data())
@settings(max_examples=12)
def test_any_program_keeps_its_bits(bits, data):
    usable(bits)
    program = data.draw(programs(tame=False))
    xs = [data.draw(numbers(False)) for _ in range(program.inputs)]
    params = [Value(data.draw(numbers(False))) for _ in range(program.params)]
    compare(lambda *xs: tuple(program.run(PACKAGE, xs, params)), xs, params, bits, True, True)


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("bits", BITS)
@given(data=st.data())
@settings(max_examples=12)
def test_a_program_over_many_rows_keeps_its_bits(bits, exact, data):
    """The same body on several rows with shared parameters, then what mixes the rows: sums, neighbours, products."""
    usable(bits)
    body = data.draw(programs(tame=not exact))
    rows = data.draw(st.integers(2, 19))
    numbers_of = numbers(not exact)
    xs = [data.draw(numbers_of) for _ in range(rows * body.inputs)]
    params = [Value(data.draw(numbers_of)) for _ in range(body.params)]
    order = data.draw(st.permutations(range(rows)))

    def f(*xs):
        results = [body.run(PACKAGE, xs[i * body.inputs : (i + 1) * body.inputs], params) for i in order]
        columns = list(zip(*results))
        sums = [PACKAGE.math.sum(column) for column in columns]
        dots = [PACKAGE.math.dot(columns[0], column) for column in columns]
        neighbours = [a * b + c for a, b, c in zip(columns[0], columns[0][1:], columns[-1][::-1])]
        return (*sums, *dots, *neighbours, xs[0], 2.0)

    compare(f, xs, params, bits, exact, True)


@pytest.mark.parametrize("bits", [256, 512])
def test_a_column_that_is_read_before_its_square_is_transposed(bits):
    """The later square keeps all its columns; the earlier reader of one of them cannot take it from there."""
    usable(bits)
    n = 8

    def f(*xs):
        rows = [[a * b for b in xs[n:]] for a in xs[:n]]
        early = [row[3] * x for row, x in zip(rows, xs)]
        product = early[0] * early[1] + early[2] * early[3] + early[4] * early[5] + early[6] * early[7]
        root = (product * product + 1.0) ** 0.5
        late = []
        for c in (0, 0, 1, 2, 4, 5, 6, 7):
            late += [row[c] / root for row in rows]
            root = (root + 1.0) ** 0.5
        return (*early, *late)

    xs = [1.0 + 0.25 * k for k in range(2 * n)]
    seen = []
    transposed = PackedText.transposed
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PackedText, "transposed", lambda text, o: seen.append(transposed(text, o)) or seen[-1])
        compare(f, xs, [], bits, True, False)
    assert any(seen), "no square was transposed, so that this shows nothing"


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("shape", [(3, 5, 2), (16, 16, 1), (7, 9, 27)])
def test_a_network_keeps_its_bits(bits, shape):
    usable(bits)
    nin, hidden, nout = shape
    model = nn.MLP(nin, [hidden, nout])
    xs = [0.1 * i - 0.3 for i in range(nin)]
    compare(lambda *xs: PACKAGE.math.sum([y * y for y in _list(model(list(xs)))]), xs, [], bits, True, True)


def _list(x):
    return x if isinstance(x, list) else [x]


@pytest.mark.parametrize("bits", BITS)
def test_operands_of_fewer_lanes_do_not_stand_in_for_those_of_more(bits):
    """The same weights for three neurons, and for nine: what was collected for three is not enough for nine."""
    usable(bits)
    weights = [[Value(0.1 * i - 0.03 * o * o + 0.5) for i in range(4)] for o in range(9)]

    def f(*xs):
        rows = [xs[4 * r : 4 * r + 4] for r in range(6)]
        sums = [PACKAGE.math.dot(w, row) for r, row in enumerate(rows) for w in (weights if r % 2 else weights[:3])]
        return tuple(PACKAGE.math.tanh(x) for x in sums)

    compare(f, [0.01 * k * k - 0.4 for k in range(24)], [], bits, True, True)


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("order", list(itertools.permutations([0, 1, 2])))
def test_an_operand_may_be_a_constant_an_argument_and_a_param_in_turn(bits, order):
    """In three units side by side: places in a row, in three memories that lie equally far from each other."""
    usable(bits)
    tape = Builder(3, 6)
    first = [tape.append(PARAM, 3 + k) for k in range(3)]
    second = [tape.append(CONST, 0.5), tape.append(INPUT, 0), tape.append(PARAM, 0)]
    tape = tape.finish([tape.append(OPS["sub"], first[k], second[j]) for k, j in enumerate(order)])
    xs, params = [0.25, 7.0, 8.0], [1.5, 0.0, 0.0, 10.0, 20.0, 30.0]
    assert by_machine(tape, xs, params, bits, True) == python.run(tape, xs, params)


def test_many_results_that_need_no_work_are_cut_into_functions_too():
    """A Hessian is mostly zeros. LLVM takes more than linear time in the length of a function."""
    tape = layer(5, 8)
    more = [len(tape), *range(5)] * 400
    tape = tape.copy(ops=(*tape.ops, CONST), args=(*tape.args, (0.0,)), outputs=(*tape.outputs, *more))
    bits = llvm.vector_bits()
    source, _ = packing.text(tape, llvm.Target(1, bits=bits), pack.plan(tape, bits // 64, 8))
    assert max(len(function.splitlines()) for function in source.split("\n}\n")) < 1.1 * TUNING.pack_lines
    xs, params = [0.1 * k for k in range(tape.inputs)], [0.3 - 0.01 * k for k in range(tape.params)]
    assert by_machine(tape, xs, params, bits, True) == python.run(tape, xs, params)


def test_guards_hold_or_fail_as_they_should():
    def f(*xs):
        total = 0.0
        for x in xs:
            total = total + (x * 2.0 if x > 0.5 else x - 1.0)
        return total

    xs = [0.1 * i for i in range(12)]
    tape = pipeline.lower(trace(f, row(12), xs, frozen=True).tape, Goal(EXACT), LLVM())
    bits = llvm.vector_bits()
    assert by_machine(tape, xs, [], bits, True) == [f(*xs)]
    for k in range(12):
        other = [*xs]
        other[k] = 1.0 - other[k]
        goes = [x > 0.5 for x in other] == [x > 0.5 for x in xs]
        assert (by_machine(tape, other, [], bits, True) is not None) == goes


def layer(nin: int, nout: int, rows: int = 4) -> Tape:
    """nout neurons of nin inputs, tanh(Σ w·x + b), for several rows of inputs."""
    tape, outputs = Builder(nin * rows, nout * (nin + 1)), []
    params = [tape.append(PARAM, k) for k in range(tape.params)]
    for r in range(rows):
        xs = [tape.append(INPUT, r * nin + i) for i in range(nin)]
        for o in range(nout):
            *weights, total = params[o * (nin + 1) : (o + 1) * (nin + 1)]
            for w, x in zip(weights, xs):
                total = tape.append(OPS["add"], total, tape.append(OPS["mul"], w, x))
            outputs.append(tape.append(OPS["tanh"], total))
    return tape.finish(outputs)


def test_the_neurons_of_a_layer_are_found_again():
    plan = pack.plan(layer(5, 8), 8, 8)
    sums, tanhs = plan.strips
    assert [len(p.roots) for p in sums + tanhs] == [8] * 8  # four rows of eight neurons
    assert {p.how for p in sums} == {b"\1\2\2\2\2\2"} and {p.how.name for p in tanhs} == {"tanh"}
    bias, *terms = sums[0].operands
    assert bias == (pack.PARAMS + 5, 6)  # the next neuron's is six params on
    assert terms[:2] == [(pack.PARAMS, 6), (pack.INPUTS, 0)]  # a weight of each, the same input for all
    assert tanhs[0].operands == [(sums[0].to, 1)]


def test_what_does_not_repeat_stays_as_it_is():
    tape = Builder(2)
    x, y = tape.append(INPUT, 0), tape.append(INPUT, 1)
    for name in ("sin", "exp", "tanh", "atan"):
        x = tape.append(OPS["mul"], tape.append(OPS[name], x), y)
    plan = pack.plan(tape.finish([x]), 8, 8)
    assert plan.cost == plan.scalar_cost
    assert all(len(p.roots) == 1 for strip in plan.strips for p in strip)


def test_a_chain_of_additions_is_cut_where_somebody_else_needs_a_part():
    tape = Builder(4)
    a, b, c, d = (tape.append(INPUT, i) for i in range(4))
    ab = tape.append(OPS["mul"], a, b)
    first = tape.append(OPS["add"], ab, c)
    second = tape.append(OPS["add"], first, d)
    assert pack.units(tape.finish([second])) == {second: (b"\1\2\1", (c, a, b, d))}
    assert pack.units(tape.finish([second, first])) == {first: (b"\1\2", (c, a, b)), second: (b"\1\1", (d, first))}
    assert pack.units(tape.finish([second, ab]))[second] == (b"\1\1\1", (c, ab, d))


def test_a_vector_is_stored_where_nobody_else_lies():
    """Runs that do not fill a vector are followed by room for the rest of it."""
    tape = layer(3, 5)
    plan = pack.plan(tape, 8, 8)
    taken: set[int] = set()
    for p in (p for strip in plan.strips for p in strip):
        room = set(range(p.to, p.to + (8 if len(p.roots) > 1 else 1)))
        assert not room & taken
        assert max(room) < plan.slots
        taken |= room


@pytest.mark.parametrize("tape", [layer(5, 8), layer(3, 5), layer(16, 40, rows=2), layer(1, 3)])
@pytest.mark.parametrize("width", [2, 4, 8])
def test_a_plan_is_given_up_where_it_costs_more_and_not_before(tape, width):
    whole = pack.plan(tape, width, 8)
    share = whole.cost / whole.scalar_cost
    assert pack.plan(tape, width, 8, share * 1.0001) == whole
    assert pack.plan(tape, width, 8, share * 0.9999) is None
    assert pack.plan(tape, width, 8, 0.01) is None


def test_work_grows_with_the_tape_and_no_faster():
    def packs(n: int) -> int:
        return sum(map(len, pack.plan(layer(16, n), 8, 8).strips))

    assert packs(64) == 4 * packs(16)
    long = Builder(1)
    x = long.append(INPUT, 0)
    total = x
    for _ in range(5 * TUNING.longest_chain):
        total = long.append(OPS["add"], total, x)
    assert max(len(how) for how, _ in pack.units(long.finish([total])).values()) <= TUNING.longest_chain + 2


def test_a_long_repeating_tape_is_compiled_side_by_side_and_a_short_one_is_not():
    model = nn.MLP(8, [16, 1])

    def loss(rows):
        return sum(model(xs).tanh() for xs in rows)

    rows = [[0.1 * i - 0.2 * r for i in range(8)] for r in range(6)]
    assert f"<{llvm.vector_bits() // 64} x double>" in jit(loss).source(rows)
    assert "x double>" not in jit(lambda x: x * x + 1.0).source(2.0)


@pytest.fixture
def row_after_row(monkeypatch):
    monkeypatch.setattr(TUNING, "pack_rows", 1)
    monkeypatch.setattr(TUNING, "pack_rows_cost", 10.0)


class TestRows:
    """The same for the rows of a batch, one after the other."""

    @given(data=st.data())
    @settings(max_examples=15)
    def test_any_program_has_the_bits_of_eager_code_in_every_row(self, data):
        np = pytest.importorskip("numpy", reason="batches need NumPy")
        program = data.draw(programs(tame=False))
        rows = data.draw(st.sampled_from([1, 2, 7, 8, 9, 17]))
        columns = [np.array([data.draw(numbers(False)) for _ in range(rows)]) for _ in range(program.inputs)]
        params = [data.draw(numbers(False)) for _ in range(program.params)]

        def f(*xs):
            return tuple(program.run(PACKAGE, xs, params))

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(TUNING, "pack_rows", 1)
            patch.setattr(TUNING, "pack_rows_cost", 10.0)
            results = vmap(f, exact=True)(*columns)
        for r in range(rows):
            for got, want in zip(results, f(*(Value(float(c[r])) for c in columns)), strict=True):
                want = want.data if isinstance(want, Value) else want
                assert same(float(got[r]), float(want)), (r, got[r], want)

    @pytest.mark.parametrize("rows", [1, 3, 8, 31, 4100])
    @pytest.mark.parametrize("width", [1, 2, 4, 8, 16, 32])
    def test_rows_that_take_another_way_are_found(self, row_after_row, rows, width):
        np = pytest.importorskip("numpy", reason="batches need NumPy")
        x = np.linspace(-1.0, 1.0, rows) ** 3

        def f(x):
            return x * x if x > 0.1 else x - 1.0

        want = np.where(x > 0.1, x * x, x - 1.0)
        assert vmap(f, width=width)(x).tolist() == want.tolist()
        assert vmap(f, width=width, reduce="sum")(x) == pytest.approx(want.sum(), rel=1e-13)

    @pytest.mark.parametrize("rows", [1, 5, 100, 4100])
    def test_gradients_of_parameters_are_those_of_rows_in_lanes(self, monkeypatch, rows):
        np = pytest.importorskip("numpy", reason="batches need NumPy")
        model = nn.MLP(3, [9, 2])
        X = np.random.default_rng(0).normal(size=(rows, 3))

        def loss(x):
            return model(x)[0] * model(x)[1]

        found = []
        for shortest in (10**9, 1):
            monkeypatch.setattr(TUNING, "pack_rows", shortest)
            monkeypatch.setattr(TUNING, "pack_rows_cost", 10.0)
            for threads in (1, 2):
                total = vmap(loss, reduce="mean", threads=threads)(X)
                model.zero_grad()
                total.backward()
                found.append([total.data, *(p.grad for p in model.parameters())])
        in_lanes, _, by_rows, by_rows_in_two_threads = found
        assert by_rows == by_rows_in_two_threads
        assert by_rows == pytest.approx(in_lanes, rel=1e-12, abs=1e-13)
        assert any(by_rows[1:])

    def test_results_and_sums_go_where_they_belong(self, row_after_row):
        np = pytest.importorskip("numpy", reason="batches need NumPy")
        x, y = np.arange(11.0), np.arange(11.0) ** 2

        def f(x, y, a):
            return {"out": x * a + y, "same": x, "three": 3.0}, y - a

        results, last = vmap(f, in_axes=(0, 0, None))(x, y, 2.0)
        assert results["out"].tolist() == (x * 2 + y).tolist() and results["same"].tolist() == x.tolist()
        assert np.asarray(results["three"]).tolist() in (3.0, [3.0] * 11) and last.tolist() == (y - 2).tolist()

    def test_float32_goes_by_rows_in_lanes(self, row_after_row):
        tape = layer(3, 8)
        options = llvm.Target(8, True, False, False, 256)
        assert packing.attempt(tape, options, [False] * len(tape.outputs)) is None


@pytest.mark.parametrize("bits", BITS)
def test_calls_share_vectors_wherever_their_operands_lie(bits: int) -> None:
    """A vector of exponentials costs as much as a few calls, so its operands are gathered from anywhere."""
    usable(bits)
    count, width = 37, bits // 64
    builder = Builder(count, 0)
    places = [builder.source(INPUT, k) for k in range(count)]
    results = [builder.append(OPS["exp"], places[k * k % count]) for k in range(count)]  # a square jumps about
    tape = builder.finish(results)
    plan = pack.plan(tape, width, TUNING.pack_strip[bits])
    assert plan is not None
    assert max(len(p.roots) for strip in plan.strips for p in strip) == width
    xs = [0.1 * k - 2.0 for k in range(count)]
    assert by_machine(tape, xs, [], bits, True) == python.run(tape, xs, [])
