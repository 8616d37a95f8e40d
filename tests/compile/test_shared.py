"""Pieces that do the same with other operands: written once, called with a row of a table."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from micrograd import Value, jit, math, no_grad, value_and_grad, vmap
from micrograd.compile.llvm.emit import spelled
from micrograd.compile.schedule import outline, split
from micrograd.compile.tuning import TUNING
from micrograd.tape import passes
from micrograd.tape.text import parse
from micrograd.tape.trace import trace
from random_programs import Package, column, needs_llvm, number, programs, same

np = pytest.importorskip("numpy", reason="batches need NumPy")
pytestmark = needs_llvm

SMALL = {"chunk": 40, "point_chunk": 30, "rows_chunk": 30, "shortest_span": 4, "longest_span": 16, "far_chunks": 1}


def make_small(monkeypatch):
    for name, x in SMALL.items():
        monkeypatch.setattr(TUNING, name, x)
    monkeypatch.setattr(TUNING, "pack_point", 10**9)


@pytest.fixture
def small(monkeypatch):
    """A few dozen instructions are a long tape."""
    make_small(monkeypatch)


def text(a_tape):
    return parse(a_tape)


LINES = """
    %0 = input 0
    %1 = input 1
    %2 = param 0
    %3 = const 2.0
    %4 = const 3.0
"""


class TestForm:
    """What makes two pieces the same function."""

    def form(self, *lines, kept=()):
        t = text(LINES + "\n".join(lines) + f"\nreturn %{4 + len(lines)}")
        steps = [("compute", place) for place in range(5, 5 + len(lines))]
        return outline.form(t, (), steps, set(kept))

    @pytest.mark.parametrize(
        "one, other",
        [
            ("%5 = mul %0 %1", "%5 = mul %1 %0"),  # other inputs
            ("%5 = mul %0 %3", "%5 = mul %1 %4"),  # another constant
            ("%5 = neg %0", "%5 = neg %1"),
        ],
    )
    def test_operands_of_the_same_kind(self, one, other):
        (what, operands), (what_else, others) = self.form(one), self.form(other)
        assert what == what_else
        assert operands != others

    @pytest.mark.parametrize(
        "one, other",
        [
            ("%5 = mul %0 %1", "%5 = add %0 %1"),
            ("%5 = mul %0 %1", "%5 = mul %0 %0"),  # one value twice
            ("%5 = mul %0 %1", "%5 = mul %0 %2"),  # a param, not an input
            ("%5 = mul %0 %3", "%5 = mul %0 %2"),  # a param, not a constant
        ],
    )
    def test_another_function(self, one, other):
        assert self.form(one)[0] != self.form(other)[0]

    def test_what_is_kept_for_others_is_part_of_it(self):
        lines = ("%5 = mul %0 %1", "%6 = sin %5")
        forms = [self.form(*lines, kept=kept) for kept in ((), (5,), (6,), (5, 6))]
        assert len({what for what, _ in forms}) == 4
        assert forms[3][1] == [0, 1, 5, 6]

    def test_which_earlier_result_is_used_is_part_of_it(self):
        lines = ("%5 = sin %0", "%6 = cos %0")
        assert self.form(*lines, "%7 = mul %5 %6")[0] != self.form(*lines, "%7 = mul %6 %5")[0]

    def test_guards_are_like_nothing_else(self):
        t = text(LINES + "%5 = neg %0\nguard lt %0 %1 is true\nreturn %5")
        assert outline.form(t, (), [("guard",)], set())[0] != outline.form(t, (), [("guard",)], set())[0]

    def test_results_differ_in_their_number_alone(self):
        t = text(LINES + "%5 = neg %0\nreturn %5 %5")
        (what, operands), (what_else, others) = [
            outline.form(t, (), [("compute", 5), ("out", k, 5)], set()) for k in (0, 1)
        ]
        assert what == what_else
        assert operands == [0, ~0] and others == [0, ~1]


def orbit(*xs, iterations=60):
    """A loop whose iterations differ in an input, a constant, a captured Value, a result, and in one of them a branch."""
    x, v, *pushes = xs
    results = []
    for k, push in zip(range(iterations), pushes):
        a = math.tanh(x * push) * WEIGHTS[k % 7] - (0.1 + 0.01 * k) * v
        x, v = x + 0.1 * v, v + 0.1 * a
        if k == iterations // 2 and x > 0.2:
            v = v * 0.5
        results.append(x * v)
    return (*results, x, v)


def few(*xs):
    """Some of the results, since each has a gradient of its own."""
    return orbit(*xs)[::20]


WEIGHTS = [Value(0.3 + 0.1 * k) for k in range(7)]


def rows_of(count, iterations=60):
    rng = np.random.default_rng(count)
    return [rng.uniform(0.1, 1.0, count) for _ in range(iterations + 2)]


def tables(source):
    return source.count("@table") > 0 and source.count("define internal") * 2 <= source.count("{ptr, ptr} {ptr @chunk")


class TestPoint:
    def test_one_function_for_all_iterations(self, small):
        xs = [0.5 + 0.01 * k for k in range(62)]
        source = jit(orbit).source(*xs)
        assert tables(source) and "@numbers" in source

    def test_the_bits_of_eager_code(self, small):
        for start in (0.5, -0.5):  # two ways
            xs = [start + 0.01 * k for k in range(62)]
            f = jit(orbit, exact=True, wait=True)
            assert tables(f.source(*xs))
            with no_grad():
                assert [y.data for y in f(*xs)] == [y.data for y in orbit(*xs)]

    def test_few_that_are_alike_stay_apart(self, small, monkeypatch):
        monkeypatch.setattr(TUNING, "outline_calls", 10**9)
        assert not tables(jit(orbit).source(*[0.5 + 0.01 * k for k in range(62)]))

    def test_gradients(self, small):
        xs = [0.5 + 0.01 * k for k in range(62)]
        total = lambda *xs: math.sum(few(*xs))  # noqa: E731
        y, slopes = jit(value_and_grad(total, tuple(range(62))), exact=True, wait=True)(*xs)
        values = [Value(x) for x in xs]
        want = total(*values)
        for w in WEIGHTS:
            w.zero_grad()
        want.backward()
        assert float(y) == want.data
        assert [float(s) for s in slopes] == [v.grad for v in values]

    def test_text_does_not_grow_with_the_iterations(self):
        def lines(iterations):
            source = jit(lambda x, y: simulation(x, y, iterations)).source(0.3, 0.7)
            return source.count("define "), len(source)

        functions, size = lines(1000)
        more_functions, more_size = lines(4000)
        assert functions < 10 and abs(more_functions - functions) <= 4
        assert more_size < 2 * size + 200 * 4000 / 5


def simulation(x, y, iterations):
    for _ in range(iterations):
        x, y = x + 0.1 * (y - x * x * y), y - 0.1 * (x * y + 0.5 * y * y)
    return x * y


class TestRows:
    @pytest.mark.parametrize("width", [1, 2, 4, 8])
    def test_the_bits_of_eager_code(self, small, width):
        by_rows = vmap(orbit, exact=True, width=width)
        for rows in (1, 7, 8, 33):
            columns = rows_of(rows)
            columns[0][::2] -= 1.0  # every other row goes the other way
            got = by_rows(*columns)
            for r, xs in enumerate(zip(*columns)):
                assert [float(y[r]) for y in got] == [y.data for y in orbit(*[Value(float(x)) for x in xs])]

    @pytest.mark.parametrize("float32", [False, True])
    @pytest.mark.parametrize("threads", [1, 2])
    def test_sums_and_gradients_of_weights(self, small, float32, threads):
        columns = rows_of(200)
        tolerance = 2e-4 if float32 else 1e-11
        got = vmap(few, reduce="sum", threads=threads, float32=float32)(*columns)
        chosen = range(len(got))
        grads = []
        for k in chosen:
            for w in WEIGHTS:
                w.zero_grad()
            got[k].backward()
            grads.append([w.grad for w in WEIGHTS])
        by_row = [few(*[float(x) for x in xs]) for xs in zip(*columns)]
        want = [sum(map(number, ys)) for ys in zip(*by_row)]
        assert [y.data for y in got] == pytest.approx(want, rel=tolerance, abs=tolerance)
        for k, mine in zip(chosen, grads):
            for w in WEIGHTS:
                w.zero_grad()
            math.sum([ys[k] for ys in by_row]).backward()
            assert mine == pytest.approx([w.grad for w in WEIGHTS], rel=tolerance, abs=tolerance * 100)

    def test_threads_give_the_same_bits(self, small):
        columns = rows_of(1000)
        one, two, three = (vmap(few, reduce="mean", threads=n)(*columns) for n in (1, 2, 3))
        assert [y.data for y in one] == [y.data for y in two] == [y.data for y in three]


@given(data=st.data(), tame=st.booleans())
@settings(max_examples=20)
def test_random_loops_have_the_bits_of_eager_code(data, tame):
    program = data.draw(programs(tame=tame, length=10, branches=False))
    n, iterations = program.inputs, data.draw(st.sampled_from([5, 12, 30]))
    weights = [Value(x) for x in column(data, iterations, True)]
    scales = column(data, iterations, True)

    def f(*xs):
        state, pushes, results = list(xs[:n]), xs[n:], []
        for k in range(iterations):
            made = program.run(Package(), state, [pushes[k], scales[k], weights[k]])
            state = [*made, *state][:n]
            if k % 3 == 1:
                results.append(made[-1])
        return (*results, *state)

    columns = [np.array(column(data, 5, tame)) for _ in range(n + iterations)]
    with pytest.MonkeyPatch.context() as patch:
        make_small(patch)
        by_rows = vmap(f, exact=True, width=4, threads=1)(*columns)
        f_point = jit(f, exact=True, wait=True)
        for r, xs in enumerate(zip(*columns)):
            want = [number(y) for y in f(*[Value(float(x)) for x in xs])]
            for _ in range(2):
                assert all(map(same, [number(y) for y in f_point(*[float(x) for x in xs])], want))
            assert all(map(same, [float(y[r]) for y in by_rows], want))


@given(data=st.data())
@settings(max_examples=12)
def test_gradients_of_random_loops(data):
    """Each piece of a tape of gradients, shared or by itself: the same bits."""
    program = data.draw(programs(tame=True, length=6, branches=False))
    n = program.inputs

    def f(*xs):
        state = list(xs)
        for k in range(12):
            state = [*program.run(Package(), state, [0.1 * k + 0.5]), *state][:n]
        return sum(state[1:], state[0])

    xs = column(data, n, True)
    values = [Value(x) for x in xs]
    y = f(*values)
    if not isinstance(y, Value):
        return
    y.backward()
    with pytest.MonkeyPatch.context() as patch:
        make_small(patch)
        got, slopes = jit(value_and_grad(f, tuple(range(n))), exact=True, wait=True)(*xs)
        by_rows, by_row_slopes = vmap(value_and_grad(f, tuple(range(n))), exact=True, width=2)(
            *[np.array([x] * 3) for x in xs]
        )
    for r in range(3):
        assert same(float(by_rows[r]), y.data)
        assert all(same(float(s[r]), v.grad) for s, v in zip(by_row_slopes, values))
    assert same(float(got), y.data) and all(same(float(s), v.grad) for s, v in zip(slopes, values))


def test_pieces_are_whole_iterations_of_a_loop():
    found = trace(lambda x, y: simulation(x, y, 300), ("tuple", (("*",), ("*",))), [0.3, 0.7], frozen=True).tape
    tape = passes.gather(passes.prune(passes.expand(found, spelled)))
    plan = split.steps(tape)
    cut_into = split.chunks(tape, split.spans(tape, plan, 250), 250)
    assert [step for piece in cut_into for step in piece] == plan
    ops = [tuple(tape.ops[step[1]].name for step in piece if step[0] == "do") for piece in cut_into]
    assert len(set(ops[1:-1])) == 1 and all(len(piece) <= 250 for piece in cut_into)
