"""Eager derivatives of second order keep the tapes of their sweeps, and never take one for another."""

from __future__ import annotations

import importlib
import math

import pytest


def swept(mg, monkeypatch):
    """The tapes that are swept from now on."""
    mg.grad(lambda x: x)(1.0)  # which imports the tapes
    passes, found = mg.tape.passes, []
    adjoint = passes.adjoint

    def counted(tape, *args, **kwargs):
        found.append(tape)
        return adjoint(tape, *args, **kwargs)

    monkeypatch.setattr(passes, "adjoint", counted)
    return found


def test_a_tape_is_swept_once(mg, monkeypatch):
    found = swept(mg, monkeypatch)
    h = mg.hessian(lambda v: v[0] ** 3 * v[1] + mg.math.sin(v[1]))
    for k in range(5):
        x, y = 1.0 + k, 0.5 * k
        want = [[6.0 * x * y, 3.0 * x * x], [3.0 * x * x, -math.sin(y)]]
        assert [v for row in h([x, y]) for v in row] == pytest.approx([v for row in want for v in row])
    assert len(found) == 1


def test_paths_and_constants_are_told_apart(mg):
    def branches(x):
        return x**3 if x > 0.0 else x * x

    h = mg.grad(mg.grad(branches))
    assert [h(x) for x in (1.0, -1.0, 2.0, -2.0, 3.0)] == [6.0, 2.0, 12.0, 2.0, 18.0]
    for c in (0.0, -0.0, 1.0, 2.0, 1, True, math.nan, math.inf, -1.0, 0.0, -0.0):

        def f(x, c=c):
            return math.copysign(1.0, c * mg.grad(lambda y: y * c)(x)) * x * x

        def plain(c=c):
            return math.copysign(1.0, c * c)

        second = mg.grad(mg.grad(f))(3.0)
        assert second == 2.0 * plain() or c != c, c

    def sign_of_zero(x, zero):
        return mg.math.copysign(x * x, zero + 0.0 * x if math.copysign(1.0, zero) > 0 else zero - 0.0 * x)

    for zero in (0.0, -0.0, 0.0, -0.0):
        want = math.copysign(2.0, zero)
        assert mg.grad(mg.grad(lambda x, zero=zero: sign_of_zero(x, zero)))(3.0) == want
        assert mg.grad(lambda x, zero=zero: mg.math.copysign(x * x, zero))(3.0) == math.copysign(6.0, zero)
        w = mg.Value(2.0)
        assert mg.grad(lambda x, zero=zero, w=w: mg.math.copysign(x * w, zero))(3.0).data == math.copysign(2.0, zero)


def test_captured_values_are_those_of_the_call(mg, monkeypatch):
    found = swept(mg, monkeypatch)
    for k in range(4):
        w = mg.Value(1.0 + k)
        g = mg.grad(lambda x, w=w: x * w * w)(3.0)
        g.backward()
        assert (g.data, w.grad) == ((1.0 + k) ** 2, 2.0 * (1.0 + k))
    assert len(found) == 1


def test_old_tapes_go(mg):
    kept = mg.tape.swept._kept
    for n in range(1, 40):
        mg.hessian(lambda v: sum(x**3 for x in v))([1.0] * n)
    assert len(kept.tapes) <= kept.MOST
    before = kept.INSTRUCTIONS
    try:
        kept.INSTRUCTIONS = 100
        mg.hessian(lambda v: sum(x**4 for x in v))([1.0] * 50)
        assert not kept.tapes
    finally:
        kept.INSTRUCTIONS = before


def test_runs_that_share_sweeps_nest_and_may_fail(mg):
    mg.grad(lambda x: x)(1.0)  # which imports the tapes
    swept, adjoint = importlib.import_module(f"{mg.__name__}.tape.swept"), mg.tape.passes.adjoint
    shape = ("tuple", (importlib.import_module(f"{mg.__name__}.tree").NUMBER,))

    def tape_of(f):
        return mg.tape.trace.trace(f, shape, [1.5], frozen=False).tape

    tapes = [tape_of(lambda x, k=k: x * k + x) for k in (2.0, 3.0, 4.0)]

    def fails(tape, *wrt):
        raise ValueError("no sweep")

    with swept.shared() as begin:
        for _ in range(2):
            begin()
            with pytest.raises(ValueError, match="no sweep"):
                swept.derived(tapes[0], fails, [0])
            found = [swept.derived(tape, adjoint, [0]) for tape in tapes[:2]]
            with swept.shared() as inner:
                inner()
                pruned = mg.tape.passes.prune(adjoint(tapes[2], [0]))
                assert swept.derived(tapes[2], adjoint, [0]).ops == pruned.ops
            assert swept.derived(tapes[2], adjoint, [0]) is not found[0]
            assert len({id(t) for t in found}) == 2
