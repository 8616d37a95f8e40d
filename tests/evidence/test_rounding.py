"""The check of a merged tape: to the bit, and for derivatives within what rounding can do."""

import math

import numpy as np
import pytest

from micrograd import Value, grad, no_grad, value_and_grad, vmap
from micrograd.evidence.rounding import close, rounding, same_bits
from micrograd.stage import attempt
from micrograd.stage.staged import flat, stage
from micrograd.tape import interpret
from micrograd.tape.text import parse
from micrograd.tree import NUMBER


def test_bits_tell_zeros_apart_and_no_nans():
    assert same_bits(0.1, 0.1) and same_bits(float("nan"), -float("nan"))
    assert not same_bits(0.0, -0.0) and not same_bits(1.0, 1.0 + 2**-52) and not same_bits(float("nan"), 1.0)


def regrouped(x, y, z):
    p = x if z > 0 else y
    return p * 0.1 + p * 0.2 + x * 0.3 + y


def staged(f, row):
    return stage(f, flat(("tuple", (NUMBER,) * len(row))), row)


def test_derivatives_may_be_grouped_otherwise_and_values_not():
    """0.1 + 0.2 + 0.3 in another order: the proof that the bits of a derivative cannot be those of eager code."""
    row = [1.25, 2.0, 1.0]
    g = value_and_grad(regrouped)
    found = staged(g, row)
    value, slope = interpret.run(found.tape, row, [])
    assert (value, slope) != g(*row)
    assert value == g(*row)[0]
    assert found.derivatives == {1}
    bound = rounding(found.tape, row, [])[1]
    assert 0.0 < bound < 1e-14 and close(slope, g(*row)[1], 2 * bound)


def test_the_bound_of_rounding_by_hand():
    """Eight units in the last place for each instruction, through the slopes of those behind it; none for what is given."""
    tape = parse(
        "%0 = input 0\n%1 = input 1\n%2 = mul %0 %1\n%3 = param 0\n%4 = const 0.5\n%5 = mul %3 %4\n%6 = sub %2 %5\n"
        "%7 = exp %6\n"
        "%8 = loop 2 do {\n%0 = const 2.0\n%1 = exp %0\nreturn %1\n}\n%9 = result %8 0\n%10 = element %9 0\n"
        "return %7 %2 %4 %0 %10"
    )
    unit = 8.0 * 2.0**-53
    product, half, e = unit * 10.0, unit * 1.5, math.exp(8.5)
    with no_grad():
        found = rounding(tape, [2.0, 5.0], [3.0])
        assert not (Value(1.0) * 2.0)._prev  # as it was before
    assert found == pytest.approx([unit * e + e * (unit * 8.5 + product + half), product, 0.0, 0.0, 0.0], rel=1e-14)


def test_numbers_are_close_within_twice_the_bound_and_the_last_bits():
    nan, inf, big = math.nan, math.inf, 1e308
    assert close(1.0, 1.0015, 1e-3) and not close(1.0, 1.0025, 1e-3)
    assert close(1.0, 1.0 + 4e-15, 0.0) and not close(1.0, 1.0 + 8e-15, 0.0)
    assert close(-100.0, -100.0 - 4e-13, 0.0) and not close(0.0, 2e-300, 0.0) and close(0.0, 5e-301, 0.0)
    assert close(nan, nan, 0.0) and not close(nan, 1.0, inf) and not close(1.0, nan, inf)
    assert close(inf, inf, 0.0) and not close(inf, -inf, inf) and not close(1.0, inf, inf) and not close(-inf, big, inf)
    assert close(1.0, 2.0, inf)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_what_depends_on_a_derivative_is_known(order):
    def cube(x):
        return x * x * x * (2.0 if x > 0 else 3.0)

    g = cube
    for _ in range(order):
        g = grad(g)

    def mixed(x):
        return cube(x), x + g(x), x * 2.0

    assert staged(mixed, [1.5]).derivatives == {1}


@pytest.mark.parametrize("relative", [1e-15, 1e-12, 1e-6])
def test_a_value_that_is_wrong_in_the_last_bit_is_not_used(monkeypatch, relative):
    real = attempt.stage

    def slightly_wrong(*args):
        found = real(*args)
        builder = found.tape
        ops = list(builder.ops)
        args = [
            (a[0] * (1.0 + relative),) if op.name == "const" and a[0] == 3.0 else a for op, a in zip(ops, builder.args)
        ]
        found.tape = builder.copy(args=args)
        return found

    def f(x):
        return x * 3.0 if x > 0 else -x

    monkeypatch.setattr(attempt, "stage", slightly_wrong)
    xs = np.array([-1.0, 2.0, 0.3])
    with pytest.warns(RuntimeWarning, match="please report it"):
        assert vmap(f)(xs).tolist() == [f(x) for x in xs.tolist()]
    if relative < 1e-13:
        return  # that is rounding, for a derivative
    with pytest.warns(RuntimeWarning, match="please report it"):
        assert vmap(grad(f))(xs).tolist() == [-1.0, 3.0, 3.0]


def test_the_bound_grows_with_cancellation():
    def f(x, y):
        return (x + y) - x if x > 0 else y

    found = staged(f, [1e8, 1.0])
    bound = rounding(found.tape, [1e8, 1.0], [])[0]
    assert 1e-9 < bound < 1e-6
