"""Each pass keeps the meaning of a tape, and its size in proportion."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from micrograd import Value, grad, math, vmap
from micrograd.compile.llvm.emit import spelled
from micrograd.compile.schedule.interleave import interleave
from micrograd.ops import OPS, Op, call, f
from micrograd.tape import interpret as python
from micrograd.tape import passes
from micrograd.tape.builder import Builder
from micrograd.tape.check import check
from micrograd.tape.tape import CONST, INPUT, PARAM
from micrograd.tape.text import parse
from micrograd.tape.trace import trace
from random_programs import Package, close, number, numbers, programs, same

EXACT = {
    "simplify": passes.simplify,
    "prune": passes.prune,
    "gather": passes.gather,
    "join": passes.join,
    "interleave": lambda tape: interleave(passes.expand(tape, spelled), 4),
    "expand": lambda tape: passes.expand(tape, spelled),
    "all": lambda tape: passes.prune(passes.simplify(passes.expand(tape, spelled))),
}


def a_tape(data, tame=False, **options):
    program = data.draw(programs(tame=tame, **options))
    xs = [data.draw(numbers(tame)) for _ in range(program.inputs)]
    params = [Value(data.draw(numbers(tame))) for _ in range(program.params)]
    found = trace(lambda *a: program.run(Package(), a, params), ("tuple", (("*",),) * len(xs)), xs, frozen=True)
    return found.tape, xs, [p.data for p in found.captured]


def run(tape, xs, params):
    return [number(y) for y in python.run(tape, xs, params)]


@pytest.mark.parametrize("name", EXACT)
@given(data=st.data())
@settings(max_examples=40)
def test_a_pass_keeps_every_bit(name, data):
    tape, xs, params = a_tape(data)
    before = str(tape)
    new = EXACT[name](tape)
    check(new)
    assert str(tape) == before  # a pass makes a new tape
    for numbers_in in (xs, [-x for x in xs]):
        try:
            want = run(tape, numbers_in, params)
        except python.GuardFailed:
            with pytest.raises(python.GuardFailed):
                run(new, numbers_in, params)
        else:
            assert all(map(same, run(new, numbers_in, params), want))


@pytest.mark.parametrize("name", [n for n, op in OPS.items() if op.arity > 0 and not spelled(op)])
def test_expand_goes_into_what_a_primitive_makes_of_its_inputs(name):
    """A composite op of the results of spelled ones: exp is written as it is, and what is made of it is expanded too."""
    op = OPS[name]
    inside = Op("inside", lambda *xs: call(op, *[f.exp(x) for x in xs]), [lambda *_: 0.0] * op.arity)
    builder = Builder(op.arity)
    tape = builder.finish([builder.emit(inside, tuple([builder.input(k) for k in range(op.arity)]))])
    new = passes.expand(tape, spelled)
    assert all(o in (INPUT, CONST) or spelled(o) for o in new.ops)
    numbers_in = [-0.7, 0.3, -1.1][: op.arity]
    assert same(run(new, numbers_in, [])[0], run(tape, numbers_in, [])[0])


def gradients_of_backward(tape, xs, params):
    """The gradients of each output by each input, as backward() gives them."""
    values, found = [Value(x) for x in xs], []
    for y in python.run(tape, values, params):
        for v in values:
            v.grad = 0.0
        if isinstance(y, Value):
            y.backward()
        found += [v.grad for v in values]
    return found


@given(data=st.data())
@settings(max_examples=40)
def test_adjoint_gives_the_gradients_of_backward(data):
    tape, xs, params = a_tape(data, tame=True)
    wrt = passes.sources(tape, INPUT, tape.inputs)
    swept = passes.adjoint(tape, wrt)
    check(swept)
    flat = run(swept, xs, params)
    assert flat[: len(tape.outputs)] == run(tape, xs, params)
    for mine, theirs in zip(flat[len(tape.outputs) :], gradients_of_backward(tape, xs, params), strict=True):
        assert close(mine, theirs, 1e-9, 1e-12)


@given(data=st.data())
@settings(max_examples=40)
def test_exact_adjoint_gives_the_bits_of_backward(data):
    tape, xs, params = a_tape(data)
    wrt = passes.sources(tape, INPUT, tape.inputs)
    flat = run(passes.prune(passes.adjoint(tape, wrt, exact=True)), xs, params)
    for mine, theirs in zip(flat[len(tape.outputs) :], gradients_of_backward(tape, xs, params), strict=True):
        assert same(mine, theirs)


@given(data=st.data())
@settings(max_examples=30)
def test_tangent_and_adjoint_agree(data):
    tape, xs, params = a_tape(data, tame=True)
    wrt = passes.sources(tape, INPUT, tape.inputs)
    gradients = run(passes.adjoint(tape, wrt), xs, params)[len(tape.outputs) :]
    for k in range(len(xs)):
        seeds = [len(tape) + j for j in range(len(xs))]
        rows = tuple((1.0 if j == k else 0.0,) for j in range(len(xs)))
        forward = tape.copy(ops=tape.ops + (CONST,) * len(xs), args=tape.args + rows)
        moved = passes.tangent(forward, wrt, seeds)
        check(moved)
        for o, slope in enumerate(run(moved, xs, params)[len(tape.outputs) :]):
            assert close(slope, gradients[o * len(xs) + k], 1e-9, 1e-11)


def chain(n):
    lines = ["%0 = input 0", "%1 = param 0"]
    names = ["mul", "add", "sin", "tanh", "sub", "exp", "sigmoid", "div"]
    for i in range(2, n):
        op = OPS[names[i % len(names)]]
        lines.append(f"%{i} = {op.name} " + " ".join([f"%{i - 1}", f"%{i - 2}"][: op.arity]))
    return parse("\n".join([*lines, f"return %{n - 1}"]))


@pytest.mark.parametrize("name", [*EXACT, "adjoint", "tangent"])
def test_sizes_grow_with_the_tape_and_no_faster(name):
    def size(n):
        tape = chain(n)
        if name == "adjoint":
            return len(passes.adjoint(tape, [0, 1]))
        if name == "tangent":
            return len(passes.tangent(tape, [0], [1]))
        return len(EXACT[name](tape))

    small, large = size(500), size(5000)
    assert large <= 11 * small
    assert small <= 20 * 500


SAFE = {
    "x * 1": ("%1 = const 1.0\n%2 = mul %0 %1", "return %0"),
    "1 * x": ("%1 = const 1.0\n%2 = mul %1 %0", "return %0"),
    "x / 1": ("%1 = const 1.0\n%2 = div %0 %1", "return %0"),
    "x - 0": ("%1 = const 0.0\n%2 = sub %0 %1", "return %0"),
    "x + -0": ("%1 = const -0.0\n%2 = add %0 %1", "return %0"),
    "x ** 1": ("%1 = const 1.0\n%2 = pow %0 %1", "return %0"),
    "-(-x)": ("%1 = neg %0\n%2 = neg %1", "return %0"),
    "where(1, x, y)": ("%1 = const 1.0\n%2 = where %1 %0 %1", "return %0"),
}
ONLY_FAST = {
    "x * 0": ("%1 = const 0.0\n%2 = mul %0 %1", "return %0"),  # nan and inf times 0 are nan, and -1 times 0 is -0
    "x + 0": ("%1 = const 0.0\n%2 = add %0 %1", "return %0"),  # -0 + 0 is 0
    "x - x": ("%1 = const 0.0\n%2 = sub %0 %0", "return %0"),  # inf - inf is nan
}


@pytest.mark.parametrize("name", SAFE)
def test_a_rewrite_that_keeps_bits_is_made(name):
    tape = passes.prune(passes.simplify(parse(f"%0 = input 0\n{SAFE[name][0]}\nreturn %2")))
    assert str(tape) == "%0 = input 0\nreturn %0"


@pytest.mark.parametrize("name", ONLY_FAST)
def test_a_rewrite_that_holds_for_real_numbers_only_needs_fastmath(name):
    tape = parse(f"%0 = input 0\n{ONLY_FAST[name][0]}\nreturn %2")
    plain = passes.prune(passes.simplify(tape))
    fast = passes.prune(passes.simplify(tape, fast=True))
    assert any(op not in (INPUT, PARAM, CONST) for op in plain.ops)
    assert not any(op not in (INPUT, PARAM, CONST) for op in fast.ops)


def test_what_is_written_twice_is_computed_once():
    tape = parse(
        "%0 = input 0\n%1 = input 1\n%2 = mul %0 %1\n%3 = mul %1 %0\n"
        "%4 = exp %2\n%5 = exp %3\n%6 = add %4 %5\nreturn %6"
    )
    assert [op.name for op in passes.prune(passes.simplify(tape)).ops] == ["input", "input", "mul", "exp", "add"]


def test_min_and_max_keep_their_operands_in_order():
    """max(0, -0) is 0 and max(-0, 0) is -0, as `where(a >= b, a, b)` says: an exchange would be seen in the sign."""
    for name in ("min", "max"):
        tape = parse(f"%0 = input 0\n%1 = input 1\n%2 = {name} %1 %0\n%3 = {name} %0 %1\nreturn %2 %3")
        assert all(map(same, run(passes.simplify(tape), [0.0, -0.0], []), run(tape, [0.0, -0.0], [])))


def test_constants_are_folded_as_eager_code_computes_them():
    tape = passes.prune(
        passes.simplify(parse("%0 = const 0.0\n%1 = log %0\n%2 = const 2.0\n%3 = pow %2 %2\n%4 = add %1 %3\nreturn %4"))
    )
    assert str(tape) == "%0 = const -inf\nreturn %0"


def test_zeros_of_two_signs_are_two_constants():
    b = Builder(0, 0)
    assert b.const(0.0) != b.const(-0.0)
    assert b.const(float("nan")) == b.const(float("nan"))


def test_what_no_output_and_no_guard_needs_is_dropped():
    tape = parse("%0 = input 0\n%1 = exp %0\n%2 = log %0\n%3 = sin %0\nguard lt %1 %0 is true\nreturn %3")
    assert str(passes.prune(tape)) == "%0 = input 0\n%1 = exp %0\n%2 = sin %0\nguard lt %1 %0 is true\nreturn %2"


def test_columns_give_what_adjoint_gives():
    lines = ["%0 = input 0", "%1 = input 1", "%2 = mul %0 %1", "%3 = sin %2", "%4 = div %3 %1", "%5 = floor %0"]
    tape = parse("\n".join([*lines, "%6 = mul %5 %4", "return %2 %3 %4 %6 %1"]))
    by_rows, by_columns = passes.adjoint(tape, [0, 1]), passes.columns(tape, [0, 1])
    check(by_columns)
    for point in ([0.7, -1.3], [2.5, 0.4]):
        assert python.run(by_columns, point, []) == pytest.approx(python.run(by_rows, point, []), rel=1e-15)


KEPT_WHERE = """%0 = input 0
%1 = const 1.0
%2 = sin %0
%3 = floor %0
%4 = where %1 %3 %2
%5 = loop 2 carry %4 with %1 do {
%0 = input 0
%1 = input 1
%2 = sin %0
%3 = floor %0
%4 = where %1 %3 %2
return %4
}
%6 = result %5 0
%7 = where %0 %6 %6
%8 = exp %7
return %8"""


@pytest.mark.parametrize("name", ["simplify", "hoist", "fuse", "prune", "checkpoint"])
def test_a_pass_before_the_adjoint_keeps_what_a_where_of_a_constant_passes_on(name):
    """The arm that is not chosen is given 0.0 * g, which is nan if g is: folding the `where` would give another number."""
    change = (lambda tape: passes.checkpoint(tape, 1)) if name == "checkpoint" else getattr(passes, name)
    tape = parse(KEPT_WHERE)
    changed = change(change(tape))
    check(changed)
    for x in (0.5, float("inf"), float("nan")):
        want, got = (python.run(passes.adjoint(t, [t.ops.index(INPUT)]), [x]) for t in (tape, changed))
        assert all(map(same, want, got))


def test_a_where_of_a_constant_in_a_function_with_a_loop_has_the_gradient_of_eager_code(recwarn):
    np = pytest.importorskip("numpy")

    def f(x):
        x = math.where(math.lt(0.5, 1.0), math.ceil(x), math.sin(x))
        x, n = abs(x) * x, 0
        while n < 3 and x > 2.0:
            n += 1
            x = x + math.sin(x)
        return x + x * x

    rows = np.array([1.5, 0.7, float("nan"), float("inf")])
    want = [grad(f)(float(x)) for x in rows]
    assert all(map(same, vmap(grad(f))(rows).tolist(), want))
    assert not [w for w in recwarn if issubclass(w.category, RuntimeWarning)]
