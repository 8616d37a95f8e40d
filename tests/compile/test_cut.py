"""Long tapes of rows: cut where few values are in use, cheap values computed again, a piece run for several vectors."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from micrograd import Value, math, value_and_grad, vmap
from micrograd.compile.llvm import module
from micrograd.compile.llvm.emit import spelled
from micrograd.compile.pipeline import Goal
from micrograd.compile.schedule import split
from micrograd.compile.tuning import TUNING
from micrograd.ops import OPS
from micrograd.tape import interpret as python
from micrograd.tape import passes
from micrograd.tape.builder import Builder
from micrograd.tape.tape import CONST, INPUT, SOURCES
from micrograd.tape.text import parse
from micrograd.tape.trace import trace
from random_programs import Package, column, needs_llvm, number, programs, same

np = pytest.importorskip("numpy", reason="batches need NumPy")

SMALL = {
    "chunk": 24,
    "point_chunk": 24,
    "rows_chunk": 24,
    "long_schedule": 0,
    "cached_steps": 0,
    "vectors_per_chunk": 3,
}
SMALL |= {"shortest_span": 4, "longest_span": 16, "far_chunks": 1, "outline_calls": 10**9}


@pytest.fixture
def small(monkeypatch):
    """A few dozen instructions are a long tape, and each piece has a function of its own."""
    for name, x in SMALL.items():
        monkeypatch.setattr(TUNING, name, x)


ROWS = Goal(rows=True)


def pendulum(x, v, drag):
    """Twelve steps of a simulation: sums and products, a quotient, a kink and a branch."""
    for k in range(12):
        a = x * x * x - x - drag * v * math.relu(v)
        half = v + 0.05 * a
        x = x + 0.1 * half / (1.0 + half * half)
        v = half * 0.999 + (0.01 * a if k == 5 and v > 0.1 else -0.01 * a)
    return x * x + v


def simulation(steps):
    """x and y of a thing that is all sums and products; and the tape of their gradients."""

    def f(x, y):
        for _ in range(steps):
            x, y = x + 0.1 * (y - x * x * y), y - 0.1 * (x * y + 0.5 * y * y)
        return x * y

    shape = ("tuple", (("*",), ("*",)))
    tape = trace(f, shape, [0.3, 0.7], frozen=True).tape
    tape = passes.prune(passes.adjoint(tape, [0, 1], exact=True))
    return passes.gather(passes.prune(passes.expand(tape, spelled)))


def plan_of(tape):
    plan = split.steps(tape)
    spans = split.spans(tape, plan, TUNING.rows_chunk)
    return plan, spans, split.chunks(tape, spans, TUNING.rows_chunk)


def run_by_chunks(tape, found, xs):
    """What the chunks compute: a piece knows what it computed itself and what earlier chunks kept; and how much was kept."""
    sources = {
        i: a[0] if op is CONST else xs[a[0]] for i, (op, a) in enumerate(zip(tape.ops, tape.args)) if op in SOURCES
    }
    first: dict[int, float] = {}
    loaded, outs = set(), {}
    for piece in found:
        here: dict[int, float] = dict(sources)

        def get(place, here=here):
            if place not in here:
                loaded.add(place)
                here[place] = first[place]
            return here[place]

        for step in piece:
            if step[0] in ("compute", "rematerialize"):
                assert step[1] not in here, "computed twice in one piece"
                here[step[1]] = tape.ops[step[1]].value(*[get(a) for a in tape.args[step[1]]])
                if step[0] == "compute":
                    first[step[1]] = here[step[1]]
                else:
                    assert same(here[step[1]], first[step[1]])
            elif step[0] == "out":
                assert step[2] not in here or step[2] in sources or same(here[step[2]], first[step[2]])
                outs[step[1]] = get(step[2])
    return [outs[k] for k in range(len(tape.outputs))], loaded


class TestCuts:
    def test_spans_and_chunks_are_the_plan(self, small):
        tape = simulation(10)
        plan, spans, found = plan_of(tape)
        assert [s for part in spans for s in part] == plan == [s for piece in found for s in piece]
        assert all(len(part) <= TUNING.longest_span + TUNING.shortest_span for part in spans)
        assert all(len(piece) <= TUNING.rows_chunk for piece in found)

    def test_spans_end_where_few_values_are_in_use(self, small, monkeypatch):
        monkeypatch.setattr(TUNING, "longest_span", 10)
        # three blocks, each many values wide inside, that hand on a single one
        lines = ["%0 = input 0"]
        for _ in range(3):
            start = len(lines) - 1
            lines += [f"%{start + 1 + k} = mul %{start} %{start + k}" for k in range(4)]
            lines += [f"%{start + 5} = add %{start + 1} %{start + 2}", f"%{start + 6} = add %{start + 3} %{start + 4}"]
            lines += [f"%{start + 7} = add %{start + 5} %{start + 6}"]
        tape = parse("\n".join([*lines, f"return %{len(lines) - 1}"]))
        assert [part[-1][1] for part in split.spans(tape, split.steps(tape)[:-1], 24)] == [7, 14, 21]


class TestAgain:
    def test_values_of_a_far_span_are_computed_again_from_what_was_kept(self, small):
        tape = simulation(40)
        _, spans, found = plan_of(tape)
        chosen = split.rematerialize(tape, spans, found)
        xs = [0.3, 0.7]
        want = python.run(tape, xs, [])
        got, loaded = run_by_chunks(tape, chosen, xs)
        before, loaded_before = run_by_chunks(tape, found, xs)
        assert all(map(same, got, want)) and all(map(same, before, want))
        assert sum(step[0] == "rematerialize" for piece in chosen for step in piece) > 50
        assert len(loaded) < 0.75 * len(loaded_before)
        assert [[s for s in piece if s[0] != "rematerialize"] for piece in chosen] == found

    def test_nothing_is_computed_again_where_that_saves_nothing(self, small, monkeypatch):
        monkeypatch.setattr(TUNING, "rematerialize_price", 0)
        tape = simulation(40)
        _, spans, found = plan_of(tape)
        assert split.rematerialize(tape, spans, found) == found

    @given(data=st.data())
    @settings(max_examples=60)
    def test_only_what_sums_and_products_alone_read_is_computed_again(self, data):
        with pytest.MonkeyPatch.context() as patch:
            for name, x in {"shortest_span": 2, "longest_span": 8, "far_chunks": 1, "rematerialize_price": 50}.items():
                patch.setattr(TUNING, name, x)
            program = data.draw(programs(tame=False, length=30, branches=False))
            xs = [0.4 + 0.1 * k for k in range(program.inputs)]
            found = trace(lambda *a: program.run(Package(), a, ()), ("tuple", (("*",),) * len(xs)), xs, frozen=True)
            wrt = [i for i, op in enumerate(found.tape.ops) if op.name == "input"]
            tape = passes.gather(passes.prune(passes.expand(passes.adjoint(found.tape, wrt), spelled)))
            spans = split.spans(tape, split.steps(tape), 12)
            chosen = split.rematerialize(tape, spans, split.chunks(tape, spans, 12))
        again = {step[1] for piece in chosen for step in piece if step[0] == "rematerialize"}
        cheap = {"add", "sub", "mul", "neg"}
        assert {tape.ops[i].name for i in again} <= cheap
        readers = {
            a: op.name
            for op, args in zip(tape.ops, tape.args)
            if op not in SOURCES and op.name not in cheap
            for a in args
        }
        assert not again & readers.keys()
        got, _ = run_by_chunks(tape, chosen, xs)
        assert all(map(same, map(number, got), map(number, python.run(tape, xs, []))))

    @needs_llvm
    def test_each_value_is_stored_once(self, small):
        from micrograd.compile.llvm.build import Target

        text = module.text(simulation(40), ROWS, Target(4, exact=True, bits=256))[0]
        functions = re.findall(r"define internal i32 @chunk\d+.*?\n}", text, re.S)
        assert len(functions) > 10
        tape = passes.gather(simulation(40))
        _, spans, found = plan_of(tape)
        _, loaded = run_by_chunks(tape, split.rematerialize(tape, spans, found), [0.3, 0.7])
        stores = sum(len(re.findall(r"^  store <4 x double>", f, re.M)) for f in functions)
        assert stores == len(loaded)


def bits_of_rows(f, columns, count):
    """Value and gradients of each row, by eager code."""
    rows = []
    for xs in zip(*columns):
        values = [Value(float(x)) for x in xs]
        y = f(*values)
        y.backward()
        rows.append([y.data, *(v.grad for v in values)])
    return list(zip(*rows))[:count]


@needs_llvm
class TestMachineCode:
    @pytest.mark.parametrize("width", [1, 2, 4, 8])
    @pytest.mark.parametrize("rows", [1, 5, 8, 23, 24, 25, 50])
    def test_exact_rows_have_the_bits_of_eager_code(self, small, width, rows):
        columns = [np.linspace(-1, 1, rows), np.linspace(0.4, -0.2, rows), np.linspace(0.1, 0.5, rows)]
        y, slopes = vmap(value_and_grad(pendulum, (0, 1, 2)), exact=True, width=width, threads=1)(*columns)
        for got, want in zip([y, *slopes], bits_of_rows(pendulum, columns, 4), strict=True):
            assert all(map(same, got.tolist(), want))

    @pytest.mark.parametrize("single", [False, True])
    def test_rows_are_close_to_eager_code(self, small, single):
        columns = [np.linspace(-1, 1, 37), np.linspace(0.4, -0.2, 37), np.linspace(0.1, 0.5, 37)]
        columns = [c.astype("f4") for c in columns] if single else columns
        y, slopes = vmap(value_and_grad(pendulum, (0, 1, 2)), float32=single)(*columns)
        for got, want in zip([y, *slopes], bits_of_rows(pendulum, columns, 4), strict=True):
            assert got == pytest.approx(np.array(want), rel=1e-4 if single else 1e-12, abs=1e-4 if single else 1e-12)

    @pytest.mark.parametrize("reduce", ["sum", "mean"])
    @pytest.mark.parametrize("rows", [1, 9, 100, 5000])
    def test_sums_do_not_depend_on_vectors_or_threads(self, small, monkeypatch, reduce, rows):
        x, v = np.linspace(-1, 1, rows), np.linspace(0.4, -0.2, rows)
        results = []
        for vectors, threads in ((1, 1), (1, 2), (3, 1), (3, 2), (8, 1)):
            monkeypatch.setattr(TUNING, "vectors_per_chunk", vectors)
            drag = Value(0.3)
            y = vmap(lambda x, v, d=drag: pendulum(x, v, d), reduce=reduce, threads=threads)(x, v)
            y.backward()
            results.append((y.data, drag.grad))
        assert all(r == results[0] for r in results)
        by_row = [pendulum(float(a), float(b), 0.3) for a, b in zip(x, v)]
        assert results[0][0] == pytest.approx(sum(by_row) / (rows if reduce == "mean" else 1), rel=1e-9)

    def test_the_scratch_of_vectors_is_bounded(self, small, monkeypatch):
        from micrograd.compile.llvm.build import Target

        tape, options = simulation(40), Target(4, bits=256)
        one = module.text(tape, ROWS, options)[1] // 3
        assert module.text(tape, ROWS, options)[1] == 3 * one
        monkeypatch.setattr(TUNING, "cached_scratch", 2 * one + 1)
        assert module.text(tape, ROWS, options)[1] == 2 * one
        monkeypatch.setattr(TUNING, "cached_scratch", 1)
        assert module.text(tape, ROWS, options)[1] == one
        monkeypatch.setattr(TUNING, "cached_steps", 10**6)
        monkeypatch.setattr(TUNING, "cached_scratch", 1 << 30)
        assert module.text(tape, ROWS, options)[1] == one

    @pytest.mark.parametrize("reduce", [None, "sum"])
    @pytest.mark.parametrize("width", [1, 4, 16])
    def test_many_guards_are_checked_in_many_chunks(self, small, monkeypatch, width, reduce):
        monkeypatch.setattr(TUNING, "guards_at_once", 5)

        def f(x):
            for k in range(40):
                x = x * 0.9 + 0.1 if x < 0.03 * k else x * 0.95
            return x

        x = np.array([1.0, 2.0, 0.1, 1.5, 0.1] * 8 + [3.0])
        rows = vmap(f, exact=True, width=width, reduce=reduce)
        want = [f(float(a)) for a in x]
        assert rows(x) == pytest.approx(sum(want), rel=1e-13) if reduce else rows(x).tolist() == want
        functions = rows.source(x).split("\n}\n")
        assert max(function.count("fcmp") for function in functions) < 20

    @given(data=st.data())
    @settings(max_examples=15)
    def test_random_programs_in_small_chunks_have_the_bits_of_eager_code(self, data):
        program = data.draw(programs(tame=False, length=25))
        columns = [np.array(column(data, 11, False)) for _ in range(program.inputs)]

        def f(*xs):
            return tuple(program.run(Package(), xs, ()))

        with pytest.MonkeyPatch.context() as patch:
            tiny = {"chunk": 10, "rows_chunk": 10, "shortest_span": 2, "longest_span": 6, "rematerialize_price": 50}
            for name, x in {**SMALL, **tiny}.items():
                patch.setattr(TUNING, name, x)
            got = vmap(f, exact=True, width=4, threads=1)(*columns)
        for r, xs in enumerate(zip(*columns)):
            for out, y in zip(got, f(*[Value(float(x)) for x in xs]), strict=True):
                assert same(float(out[r]), number(y))


def test_gather_lets_sums_grow_together():
    """Two sums over the same values, one after the other, become one walk over them."""
    tape = Builder(1)
    x = tape.append(INPUT, 0)
    mul, add, neg = OPS["mul"], OPS["add"], OPS["neg"]
    values = [x]
    for _ in range(50):
        values.append(tape.append(mul, values[-1], x))
    one, two = values[1], values[1]
    for v in values[2:]:
        one = tape.append(add, one, v)
    for v in values[2:]:
        two = tape.append(add, two, tape.append(neg, v))
    tape = tape.finish([one, two])

    def most_in_use(tape):
        last = {a: i for i, (op, args) in enumerate(zip(tape.ops, tape.args)) if op not in SOURCES for a in args}
        return max(sum(made < i <= last.get(made, -1) for made in range(i)) for i in range(len(tape)))

    new = passes.gather(tape)
    assert python.run(new, [0.9], []) == python.run(tape, [0.9], [])
    assert most_in_use(tape) > 45
    assert most_in_use(new) < 8
