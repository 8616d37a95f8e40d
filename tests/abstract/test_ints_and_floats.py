"""Numbers that are ints on some paths and floats on others: compiled functions return what plain Python does, in any order."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from micrograd import Value, grad, jit, value_and_grad
from random_programs import needs_llvm

pytestmark = needs_llvm


def either_of_two(x):
    if x > 0.0:
        return x
    return 1


def an_int_or_its_float(x):
    for _ in range(2):
        if x > 0.0:
            return 1
    return 1.0


def in_a_list(x, y):
    n = 0
    for k in range(3):
        n += k
    return [n, x] if x > y else [y, 2]


def in_a_dict(x):
    total = 0
    for k in range(3):
        total += k * x
    if total > 9.0:
        return (1, {"a": x})
    return (x, {"a": 3}) if total > 3.0 else (0, {"a": 0})


def largest(xs):
    found = 0
    for x in xs:
        if x > found:
            found = x
    return found


def sum_of_squares(xs):
    total = 0
    for x in xs:
        total += x * x
    return total


def stays_an_int(x):
    s = 0
    if x > 0.0:
        s = x
    for _ in range(3):
        s = -(s * 1) + 0
    return s, abs(1.0 / (s + 1))


def loops_in_loops(x, n):
    s = 0
    while n > 0:
        n -= 1
        t = 0
        for _ in range(n):
            t += x
        if t > 3:
            s = t
    return s, n


def number_of_times(x, n):
    s = 0
    for k in range(n):
        s += x * k
    return s


def grows(x, y):
    found = [0.0]
    while x > 0 and len(found) < 4:
        found.append(x)
        x = x - 1
    return found


def filtered(x, y):
    return [a for a in [x, 1, 2.5, y, 3] if a > y]


def sum_of_some(x, y):
    return sum([a for a in (x, y, 1) if a > 0])


def last_sums(x, y):
    found = [x, y]
    while len(found) < 5:
        found.append(found[-1] + found[-2])
    return found.pop(), found


def stored(x, y):
    found = [0] * 3
    for k in range(3):
        if x > k:
            found[k] = y
    return found, sum(found)


def greatest(x, y):
    s = 0
    for _ in range(2):
        s += max(x, y)
    return s, min(x, y, 2)


NUMBERS = [(1, 2), (1.0, 2), (1, 2.0), (3.0, 1.0), (0.0, 0), (2, 3), (2.5, -1), (5, 1.5)]
TYPED = [grows, filtered, sum_of_some, last_sums, stored, greatest]
TWENTY = [1.0] * 20
CALLS = {
    either_of_two: [(2.0,), (-1.0,)],
    an_int_or_its_float: [(2.0,), (-1.0,)],
    in_a_list: [(1.0, 2.0), (2.0, 1.0)],
    in_a_dict: [(0.5,), (1.5,), (9.5,)],
    largest: [(TWENTY,), ([-1.0] * 20,), ([-1.0, 3.0],)],
    sum_of_squares: [(TWENTY,), ([],), ([2.0],)],
    stays_an_int: [(2.0,), (-1.0,)],
    loops_in_loops: [(1.0, 3), (1.0, 9), (1.0, 0)],
    number_of_times: [(1.5, 4), (1.5, 0), (1.5, 1)],
}


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("f", CALLS, ids=lambda f: f.__name__)
def test_the_type_of_a_number_is_that_of_plain_python_whatever_was_called_before(f, exact):
    for order in itertools.permutations(CALLS[f]):
        compiled = jit(f, exact=exact)
        for args in order:
            assert {repr(compiled(*args)) for _ in range(20)} == {repr(f(*args))}, order


@pytest.mark.parametrize("f", TYPED, ids=lambda f: f.__name__)
def test_ints_and_floats_among_the_arguments_and_in_lists(f):
    for order in (NUMBERS, NUMBERS[::-1], NUMBERS[3:] + NUMBERS[:3]):
        compiled = jit(f)
        for args in order:
            assert {repr(compiled(*args)) for _ in range(3)} == {repr(f(*args))}, (args, order)


def test_values_beside_gradients_are_floats():
    for order in ((2.0, -1.0), (-1.0, 2.0)):
        compiled = jit(value_and_grad(either_of_two))
        for x in order:
            assert {repr(compiled(x)) for _ in range(20)} == {repr(value_and_grad(either_of_two)(x))}


P = [Value(0.5), Value(-2.0)]


def test_an_object_from_outside_that_cannot_be_read_is_not_taken_for_an_empty_one():
    """A list of Values is refused. The loop that read it was written out then, and found a list without items."""

    def f(x):
        try:
            if all(0.1 * k > P[0] for k in reversed(range(24))):
                return 3.0
            if x > -9.0:
                return (False, {"a": 1.0})
        except LookupError:
            return (False, {"a": x})
        return 2.0

    for order in itertools.permutations([-2.0, 2.0, 1.0]):
        compiled = jit(f)
        assert [compiled(x) for x in order] == [(False, {"a": 1.0})] * 3


def test_a_tape_whose_first_call_ends_in_a_check_is_compared_in_the_next_one(monkeypatch):
    from micrograd.compile.typed import call

    def f(xs, k):
        total = 0.0
        for x in xs:
            total += x
        return total + xs[k]  # raises where k is large: the call is left to Python

    compared = []
    equal = call.equal
    monkeypatch.setattr(call, "equal", lambda a, b: (compared.append(a), equal(a, b))[1])
    compiled = jit(f)
    with pytest.raises(IndexError):
        compiled([1.0] * 9, 9)
    assert not compared
    assert compiled([1.0] * 9, 1) == 10.0
    assert compared


def test_the_code_of_a_function_that_is_called_may_be_replaced():
    """As tools do that load a module again."""

    def helper(x):
        return x + 1.0

    def f(xs):
        total = 0.0
        for x in xs:
            total += helper(x)
        return total

    ways = [jit(f), jit(value_and_grad(f))]
    for _ in range(40):
        assert [way([1.0, 2.0]) for way in ways] == [5.0, (5.0, [1.0, 1.0])]
    helper.__code__ = (lambda x: x * 7.0).__code__
    for _ in range(40):
        assert [way([1.0, 2.0]) for way in ways] == [21.0, (21.0, [7.0, 7.0])]


def test_what_takes_too_long_to_be_interpreted_is_refused_for_all_attempts_together(monkeypatch):
    from micrograd import abstract
    from micrograd.abstract import machine

    machines = []
    begin = machine.Machine.__init__
    monkeypatch.setattr(machine.Machine, "__init__", lambda self, *args: (machines.append(self), begin(self, *args))[1])
    monkeypatch.setattr(machine, "BUDGET", 50)
    with pytest.raises(abstract.Refused, match="more than 50 steps"):
        abstract.stage(loops_in_loops, [1.0, 3])
    assert len(machines) > 1 and machines[-1].steps <= 50 + len(machines)


def windows(x, k):
    weights = [1.0 / (i + 1) for i in range(k)]
    out = [0.0] * (len(x) - k + 1)
    for i in range(len(out)):
        for j in range(k):
            out[i] += x[i + j] * weights[j]
    return sum(o * o for o in out)


def asks_for_ints(x, k):
    total = 0.0
    for i in range(k):
        total += x[i] * x[i] * (3.0 if isinstance(x[i], int) else 1.0)
    return total


FORMS = {
    "floats": [0.5 * k for k in range(12)],
    "ints": list(range(12)),
    "both": [k if k % 3 else k + 0.5 for k in range(12)],
    "few ints": [3, 1, 4, 1, 5],
    "few of both": [3, 1.5, 4, 1.5, 5],
    "few floats": [3.0, 1.5, 4.0, 1.5, 5.0],
}


@pytest.mark.parametrize("order", list(itertools.permutations(["floats", "ints", "both"])) + [tuple(FORMS)[3:]])
@pytest.mark.parametrize("f", [windows, asks_for_ints])
def test_lists_of_ints_and_of_floats_take_turns(f, order):
    """What is made, or refused, for one of them is not held against the other."""
    value, slope = jit(f), jit(grad(f))
    for name in order * 2:
        x = FORMS[name]
        assert value(x, 3) == f(x, 3)
        if f is windows or name.endswith("floats"):  # a Value is an int and a float, so what asks is refused
            assert slope(x, 3) == pytest.approx(grad(f)(x, 3), rel=1e-12)


@pytest.mark.parametrize("dtype", ["i1", "i4", "i8", "f4"])
def test_gradients_by_arrays_of_ints_are_those_by_floats(dtype):
    x = np.arange(12).astype(dtype)
    found = jit(grad(windows))(x, 3)
    assert found.dtype == np.float64
    assert found == pytest.approx(np.array(grad(windows)([float(v) for v in x], 3)), rel=1e-12)


def test_gradients_by_ints_in_a_gradient_are_those_by_floats():
    def f(x, k):
        slope = grad(windows)(x, k)
        return sum(s * s for s in slope)

    for name in ("ints", "floats", "few ints", "both"):
        assert jit(f)(FORMS[name], 3) == pytest.approx(f(FORMS[name], 3), rel=1e-12)


def test_an_error_of_the_users_own_is_not_explained_by_values():
    def f(rows, k):
        return sum(rows[i, i] for i in range(k))

    with pytest.raises(TypeError, match=r"not tuple$"):
        jit(f)([[1.0] * 9] * 9, 3)
