"""Programs that have every op of the table in them, in random order over shared nodes, branches and captured Values:
eager code = the tape = machine code, at every tier, width, number of threads and number type, derivatives included."""

from __future__ import annotations

import random
from itertools import islice
from math import isfinite

import pytest

from micrograd import Value, grad, hvp, jacobian, jit, math, no_grad, vmap
from micrograd.compile.llvm import LLVM
from micrograd.ops import OPS
from micrograd.tape import interpret as python
from micrograd.tape.trace import trace
from random_programs import JUMPS, Package, Program, close, needs_llvm, number, same

np = pytest.importorskip("numpy", reason="rows need NumPy")
pytestmark = needs_llvm

PACKAGE = Package()
INPUTS, PARAMS = 2, 2
PAIR = ("tuple", (("*",), ("*",)))


def everything(seed: int, jumps: bool = True) -> Program:
    """Each op once and some branches, each step a result; without jumps, small differences stay small."""
    rng = random.Random(seed)
    names = [name for name in OPS if jumps or name not in JUMPS] + ["branch"] * 4
    rng.shuffle(names)
    steps = [(name, tuple(rng.randrange(200) for _ in range(4))) for name in names]
    return Program(INPUTS, PARAMS, steps, len(steps), tame=True)


def points(seed: int, count: int) -> list[list[float]]:
    rng = random.Random(1000 + seed)
    return [[rng.uniform(-2, 2) for _ in range(INPUTS)] for _ in range(count)]


def params(seed: int) -> list[Value]:
    rng = random.Random(2000 + seed)
    return [Value(rng.uniform(-2, 2)) for _ in range(PARAMS)]


def results(program, captured):
    return lambda *xs: tuple(program.run(PACKAGE, xs, captured))


def total(program, captured):
    return lambda *xs: math.sum(program.run(PACKAGE, xs, captured))


def gradients(y, values):
    for v in values:
        v.grad = 0.0
    if isinstance(y, Value):
        y.backward()
    return [v.grad for v in values]


def by_backward(f, xs, captured):
    """f at xs, and its gradient by the arguments and the captured Values."""
    values = [Value(x) for x in xs]
    y = f(*values)
    return [y.data, *gradients(y, [*values, *captured])]


def shows_something(seed, jumps):
    """Whether gradients reach everything, and the points take different ways."""
    program, captured = everything(seed, jumps), params(seed)
    if not all(isfinite(y) and y for y in by_backward(total(program, captured), points(seed, 1)[0], captured)):
        return False
    traces = [trace(results(program, captured), PAIR, xs, frozen=True) for xs in points(seed, 12)]
    return len({str(t.tape.guards) for t in traces}) > 1


# The first two: another op in the table makes other programs of all seeds.
SEEDS = list(islice((s for s in range(2, 200) if shows_something(s, False) and shows_something(s, True)), 2))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("jumps", [False, True])
def test_every_op_is_in_the_programs(seed, jumps):
    assert {name for name, _ in everything(seed, jumps).steps} == {*OPS, "branch"} - (set() if jumps else JUMPS)


def test_there_is_something_to_see():
    assert len(SEEDS) == 2


@pytest.mark.parametrize("seed", SEEDS)
class TestExact:
    def test_the_tape(self, seed):
        program, captured = everything(seed), params(seed)
        f = total(program, captured)
        for xs in points(seed, 6):
            found = trace(f, PAIR, xs, frozen=True)
            got = by_backward(lambda *v, t=found: python.run(t.tape, list(v), t.captured)[0], xs, captured)
            assert all(map(same, got, by_backward(f, xs, captured)))

    @pytest.mark.parametrize("level", [0, 1, 2])
    def test_a_point_at_every_tier(self, seed, level, monkeypatch):
        monkeypatch.setattr(LLVM, "levels", lambda *_: (level, level))
        program, captured = everything(seed), params(seed)
        f, each = total(program, captured), results(program, captured)
        compiled, compiled_each = jit(f, exact=True, wait=True), no_grad()(jit(each, exact=True, wait=True))
        for xs in points(seed, 6):
            for (name, _), a, b in zip(program.steps, compiled_each(*xs), each(*xs), strict=True):
                assert same(number(a), number(b)), (name, xs)
            assert all(map(same, by_backward(compiled, xs, captured), by_backward(f, xs, captured))), xs

    @pytest.mark.parametrize("width", [1, 2, 4, 8])
    def test_rows_at_every_width(self, seed, width):
        program, captured = everything(seed), params(seed)
        f, each = total(program, captured), results(program, captured)
        rows = points(seed, width + 1)
        with no_grad():
            numbers = vmap(each, exact=True, width=width)(*np.array(rows).T)
        values = vmap(f, exact=True, width=width)(*np.array(rows).T)
        for r, xs in enumerate(rows):
            for (name, _), column, b in zip(program.steps, numbers, each(*xs), strict=True):
                assert same(float(column[r]), number(b)), (name, xs)
            value, *slopes = by_backward(f, xs, captured)
            assert same(values[r].data, value), xs
            assert all(map(same, gradients(values[r], captured), slopes[INPUTS:])), xs


@pytest.mark.parametrize("seed", SEEDS)
class TestClose:
    @pytest.mark.parametrize("level", [0, 1, 2])
    def test_a_point_at_every_tier(self, seed, level, monkeypatch):
        monkeypatch.setattr(LLVM, "levels", lambda *_: (level, level))
        program, captured = everything(seed, jumps=False), params(seed)
        f, each = total(program, captured), results(program, captured)
        compiled, compiled_each = jit(f, wait=True), no_grad()(jit(each, wait=True))
        for xs in points(seed, 4):
            for (name, _), a, b in zip(program.steps, compiled_each(*xs), each(*xs), strict=True):
                assert close(number(a), number(b), 1e-9, 1e-11), (name, xs)
            for a, b in zip(by_backward(compiled, xs, captured), by_backward(f, xs, captured)):
                assert close(a, b, 1e-7, 1e-9), xs

    @pytest.mark.parametrize(
        ("options", "rtol"),
        [
            ({"width": 1}, 1e-9),
            ({"width": 4}, 1e-9),
            ({}, 1e-9),
            ({"batch_size": 3}, 1e-9),
            ({"float32": True}, 2e-3),
            ({"float32": True, "width": 4}, 2e-3),
        ],
        ids=str,
    )
    def test_rows_and_sums_over_them(self, seed, options, rtol):
        program, captured = everything(seed, jumps=False), params(seed)
        f = results(program, captured)
        rows = points(seed, 13)
        columns = np.array(rows).T
        eager = [f(*xs) for xs in rows]
        with no_grad():
            got = vmap(f, **options)(*columns)
        for k, (name, _) in enumerate(program.steps):
            for r, ys in enumerate(eager):
                assert close(float(got[k][r]), number(ys[k]), rtol, 10 * rtol), (name, rows[r])
        mean = vmap(total(program, captured), reduce="mean", **options)(*columns)
        want = math.mean([total(program, captured)(*xs) for xs in rows])
        assert close(mean.data, want.data, rtol, rtol)
        for a, b in zip(gradients(mean, captured), gradients(want, captured)):
            assert close(a, b, 100 * rtol, 10 * rtol)

    def test_the_number_of_threads_changes_no_bit(self, seed):
        program, captured = everything(seed, jumps=False), params(seed)
        columns = np.array(points(seed, 6000)).T
        found = set()
        for threads in (1, 2, 5):
            out = vmap(total(program, captured), reduce="sum", threads=threads)(*columns)
            found.add((out.data, *gradients(out, captured)))
        assert len(found) == 1

    def test_transforms_nest(self, seed):
        """Second derivatives, with branches and captured Values, in one order and the other."""
        program, captured = everything(seed, jumps=False), params(seed)
        f = total(program, captured)
        rows = points(seed, 3)
        nested = {
            "grad of grad": grad(grad(f)),
            "jacobian of grad": jacobian(grad(f, (0, 1)), (0, 1)),
            "hvp": lambda *xs: hvp(f, xs, (1.0, -0.5)),
        }
        for name, g in nested.items():
            compiled, with_no_grad = jit(g, wait=True), vmap(g)
            with no_grad():
                columns = _flat(with_no_grad(*np.array(rows).T))
            for r, xs in enumerate(rows):
                want = _flat(g(*xs))
                for a, b, c in zip(want, _flat(compiled(*xs)), columns, strict=True):
                    scale = 1e-9 * max(abs(number(w)) for w in want)
                    assert close(number(b), number(a), 1e-6, scale), (name, xs)
                    assert close(float(c[r]), number(a), 1e-6, scale), (name, xs)


def _flat(x):
    return [y for part in x for y in _flat(part)] if isinstance(x, tuple) else [x]
