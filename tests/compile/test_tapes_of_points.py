"""jit(f).tape(...) is the tape that the call with these arguments runs: it holds for them, and gives what eager code gives."""

from __future__ import annotations

import pytest

from micrograd import Value, grad, jit, math
from micrograd.tape import interpret
from random_programs import needs_llvm

pytestmark = [needs_llvm, pytest.mark.usefixtures("traced_at_points")]


def branches(x, y):
    if x > y:
        return x * y
    return math.sin(x) if x > 0.0 else y - x


def raises(x, y):
    """Rows with y = 0 are kept apart: they raise, or divide plain numbers."""
    if y == 0.0:
        return 2.0 * x
    if x < -5.0:
        raise ValueError("too small")
    return x / y


def iterations(x, y):
    while x < 20.0:
        x = x * 2.0 + y
    return x


POINTS = [(2.0, 1.0), (0.5, 1.0), (-1.0, 1.0), (3.0, 0.0), (19.0, 3.0), (0.25, 0.5)]


@pytest.mark.parametrize("f", [branches, raises], ids=lambda f: f.__name__)
@pytest.mark.parametrize("options", [{}, {"exact": True}], ids=["default", "exact"])
def test_the_tape_of_a_point_holds_there_and_gives_the_result_of_eager_code(f, options):
    for point in POINTS:
        tape = jit(f, **options).tape(*point)
        assert interpret.run(tape, list(point)) == pytest.approx([f(*point)], rel=1e-15)


@pytest.mark.parametrize("f", [branches, raises], ids=lambda f: f.__name__)
def test_it_does_not_depend_on_earlier_calls(f):
    g = jit(f, wait=True)
    before = {point: str(g.tape(*point)) for point in POINTS}
    for point in reversed(POINTS):
        g(*point)
    assert {point: str(g.tape(*point)) for point in POINTS} == before


def test_a_long_loop_has_one_tape_that_holds_for_all():
    found = {str(jit(iterations).tape(*point)) for point in [(1.0, 1.0), (0.5, 3.0), (15.0, 2.0)]}
    assert len(found) == 1
    for point in [(1.0, 1.0), (0.5, 3.0), (15.0, 2.0), (50.0, 1.0)]:
        assert interpret.run(jit(iterations).tape(*point), list(point)) == [iterations(*point)]


def test_with_values_among_the_arguments_it_is_the_tape_of_their_path():
    for point in POINTS[:3]:
        tape = jit(branches).tape(Value(point[0]), point[1])
        assert interpret.run(tape, list(point)) == pytest.approx([branches(*point)], rel=1e-15)
        assert not tape.has_regions()


@pytest.mark.parametrize("options", [{}, {"exact": True}], ids=["default", "exact"])
def test_no_infinite_slope_behind_a_detached_value_reaches_a_gradient(options):
    """sqrt has an infinite slope at 0: nothing goes through the detached value, not even 0 times infinity."""

    def f(x):
        y = x.detach() if isinstance(x, Value) else x
        return math.sqrt(y) * x + 3.0 * x

    x = Value(0.0)
    f(x).backward()
    assert x.grad == 3.0
    slope = jit(grad(f), wait=True, **options)
    assert [slope(0.0), slope(4.0)] == [3.0, 5.0]
