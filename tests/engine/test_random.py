"""Random expressions: the twins agree to the bit, and with PyTorch, with mpmath at 50 digits and with differences."""

from __future__ import annotations

import math
import struct

import mpmath
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import oracle
from bounds import allowed
from micrograd.ops import OF_RULES, OPS
from random_expressions import on_mpmath, on_twin, programs, run
from twins import MORE, NATIVE, PYTHON, C

inf, nan = math.inf, math.nan
STEPPED = {
    "philox",
    "normal",
    "probit",
    "fmod",
    "remainder",
    "trunc",
    "copysign",
    "zeta",
    "floordiv",
    "mod",
    "floor",
    "ceil",
    "round",
    "sign",
    "where",
    "lt",
    "le",
    "gt",
    "ge",
    "eq",
    "ne",
}
KINKED = {"abs", "min", "max", "relu", "leaky_relu", "elu"}
SMOOTH = [name for name in OPS if name not in STEPPED | KINKED | OF_RULES]

special = st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 1e-300, 5e-324, -1e308, 1000.0, -1000.0, inf, -inf, nan])
anything = st.one_of(st.floats(-3, 3), st.floats(), special)
moderate = st.one_of(st.floats(0.2, 2.5), st.floats(-2.5, -0.2), st.integers(-2, 3).filter(bool).map(float))

twin_params = [
    pytest.param(C, id="C", marks=pytest.mark.skipif(not NATIVE, reason="not built")),
    pytest.param(PYTHON, id="Python"),
]


def bits(x: float) -> bytes:
    return struct.pack("<d", nan if x != x else x)


def number(v) -> float:
    return v if isinstance(v, float) else v.data


@pytest.mark.skipif(not NATIVE, reason="the C twin is not built")
@settings(max_examples=400 * MORE)
@given(programs(list(OPS), anything, most=30), st.sampled_from([1.0, -0.5, 1e-300, inf]))
def test_both_twins_give_the_same_bits(program, gradient):
    """Any op on anything: nan, infinities and subnormals included."""
    results = []
    for twin in (C, PYTHON):
        nodes = on_twin(program, twin)
        values = [v for v in nodes if isinstance(v, twin.Value)]
        root = twin.math.sum(values)
        for _ in range(2):
            root.backward(gradient)
        shape = [(v._op, len(v._prev), tuple(p is None for p in v._partials)) for v in values]
        results.append((shape, [bits(number(v)) for v in nodes], [bits(v.grad) for v in values],
                        [[bits(p) for p in v._partials if p is not None] for v in values]))  # fmt: skip
    for native, pure in zip(*results, strict=True):
        assert native == pure


@pytest.mark.parametrize("twin", twin_params)
@settings(max_examples=120 * MORE)
@given(programs(list(OPS), moderate))
def test_each_step_is_right_to_the_last_digits(twin, program):
    """Node by node, from the doubles that it was given: value and partials within the bounds of docs/accuracy.md."""
    nodes = on_twin(program, twin)
    for (name, operands), node in zip(program.steps, nodes[len(program.leaves) :], strict=True):
        args = [number(nodes[i]) if isinstance(i, int) else i for i in operands]
        if not all(map(math.isfinite, args)):
            continue
        try:
            value, partials = oracle.exact(name, args)
        except (ZeroDivisionError, ValueError, TypeError, OverflowError):
            continue  # a pole or outside of the domain; test_ops.py has those
        if any(isinstance(x, mpmath.mpc) or not mpmath.isfinite(x) for x in (value, *partials)):
            continue
        if name in ("mod", "floordiv") and abs(args[0]) > 1e6 * abs(args[1]):
            continue  # Python's own // and % round the quotient there, and so do we
        if name in ("sum", "mean", "dot") and min(args) < 0:
            continue  # terms that cancel: the sum's error is relative to them
        if name in ("pow", "power") and args[0] <= 0:
            continue
        for slot, got, want in [
            (0, number(node), value),
            *((i + 1, p, w) for i, (p, w) in enumerate(zip(node._partials, partials))),
        ]:
            if got is not None:
                place = min(slot, 1) if OPS[name].arity < 0 else slot
                assert oracle.ulps(got, want) <= allowed(name, place, args), (name, args, place, got)


def well_conditioned(program):
    """The exact program, where no step is extreme and no kink is near; None elsewhere."""
    try:
        exact, rough = on_mpmath(program), on_mpmath(program, digits=16)
    except (ZeroDivisionError, ValueError, TypeError, OverflowError):
        return None
    numbers = [*exact.values, *exact.gradients, exact.largest, *rough.values, *rough.gradients]
    if any(isinstance(x, mpmath.mpc) or not mpmath.isfinite(x) for x in numbers) or exact.largest > 1e3:
        return None
    for v in (exact, rough):
        values = v.values
        for name, operands in program.steps:
            xs = [values[i] if isinstance(i, int) else mpmath.mpf(i) for i in operands]
            near = xs[0] - xs[1] if name in ("min", "max") else xs[0]
            if name in KINKED and abs(near) < 1e-6:
                return None
            if name in ("asin", "acos", "atanh") and abs(xs[0]) > 0.999:
                return None
            if name in ("log", "log2", "log10", "sqrt", "cbrt", "pow", "acosh") and xs[0] < 1e-3:
                return None
    # What 16 digits lose on the way to 50 is what any program of doubles may lose.
    slack = [100 * abs(a - b) + 1e-11 * (1 + s) for a, b, s in zip(exact.gradients, rough.gradients, exact.sizes)]
    return exact, slack


@pytest.mark.parametrize("twin", twin_params)
@settings(max_examples=150 * MORE)
@given(programs(SMOOTH + sorted(KINKED), moderate, most=10))
def test_gradients_agree_with_mpmath(twin, program):
    found = well_conditioned(program)
    assume(found)
    exact, slack = found
    nodes = on_twin(program, twin)
    nodes[-1].backward()
    for leaf, want, room in zip(nodes, exact.gradients, slack):
        assert abs(leaf.grad - want) <= room, (leaf.grad, float(want), float(room))


@pytest.mark.parametrize("twin", twin_params)
@settings(max_examples=100 * MORE)
@given(programs(SMOOTH, moderate, most=6))
def test_gradients_agree_with_finite_differences(twin, program):
    found = well_conditioned(program)
    assume(found and found[0].largest < 50)
    nodes = on_twin(program, twin)
    nodes[-1].backward()
    h = 1e-5

    def f(i, step):
        moved = program._replace(leaves=tuple(x + step * (i == k) for k, x in enumerate(program.leaves)))
        return on_twin(moved, twin)[-1].data

    for i, leaf in enumerate(nodes[: len(program.leaves)]):
        near, far = (f(i, h) - f(i, -h)) / (2 * h), (f(i, 2 * h) - f(i, -2 * h)) / (4 * h)
        size = abs(found[0].sizes[i])
        assert abs(leaf.grad - near) <= 10 * abs(far - near) + 1e-5 * (1 + size)


@pytest.mark.parametrize("twin", twin_params)
@settings(max_examples=100 * MORE)
@given(data=st.data())
def test_gradients_agree_with_pytorch(twin, data):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    from test_ops import PARAMETERS, TORCH_LACKS, torch_functions

    names = [name for name in SMOOTH + sorted(KINKED) if name not in TORCH_LACKS | PARAMETERS]
    program = data.draw(programs(names, moderate, most=10))
    found = well_conditioned(program)
    assume(found)

    def tensor(x, grad=False):
        return torch.tensor(x, dtype=torch.float64, requires_grad=grad)

    def step(name, xs):
        return torch_functions()[name](*(tensor(x) if isinstance(x, float) else x for x in xs))

    theirs = run(program, lambda x: tensor(x, True), step)
    theirs[-1].backward()
    nodes = on_twin(program, twin)
    nodes[-1].backward()
    for leaf, other, room in zip(nodes, theirs[: len(program.leaves)], found[1]):
        assert abs(leaf.grad - (other.grad.item() if other.grad is not None else 0.0)) <= 10 * room
