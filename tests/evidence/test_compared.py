"""What is known of the classes of numbers, and which of them go to machine code without a look."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from micrograd.evidence import compared as module
from micrograd.evidence.compared import EXACT_INT, FEW, Arms, Budget, Classes, Evidence, classes_of

LOOKED_AT = Arms()  # those of a merged trace
MANY = 64


def of(*calls):
    """What is known after calls with these numbers."""
    found = Classes()
    for numbers in calls:
        found.note(list(numbers), True)
    return found


def spent(*calls):
    """The same where the time for comparisons is over."""
    found = of(*calls)
    found.budget.left = 0.0
    return found


def marks(found, count):
    return b"".join(itertools.islice(found.marks(), count))


def test_an_arrangement_of_classes_is_known_when_it_was_compared():
    found = of((1.5, 2), (1, 2.5))
    assert found.knows([0.5, 7]) and found.knows([3, 0.5])
    assert not found.knows([1, 2]) and not found.knows([1.5, 2.5]) and not found.knows([True, 2.5])
    assert not found.knows([np.float64(1.5), 2])
    assert not Classes().knows([1.5]) and not Classes().knows([])


@pytest.mark.parametrize("count", [2, FEW + 1])
def test_an_int_that_no_float_holds_is_never_known(count):
    rest = [0.5] * (count - 1)
    found = of((1, *rest))
    for x, known in ((EXACT_INT, True), (-EXACT_INT, True), (EXACT_INT + 1, False), (-EXACT_INT - 1, False)):
        assert found.knows([x, *rest]) is known
    assert of((1.0, *rest)).knows([1e300, *rest])


@pytest.fixture
def clock(monkeypatch):
    """A clock that goes on by hand."""
    now = [0.0]
    monkeypatch.setattr(module, "clock", lambda: now[0])
    return now


def test_exceptions_leave_the_question_open_for_some_time(clock):
    found = Classes()
    for _ in range(100):
        found.note([1], False)
        assert not found.knows([1])
    found.note([1.0], True)
    assert found.knows([1.0]) and not found.knows([1])
    with found.undecided.spending():
        clock[0] += 2 * module.UNDECIDED
    found.note([1], False)
    assert found.knows([1])


def test_a_budget_is_spent_by_what_raises_an_exception_too(clock):
    budget = Budget(1.0)
    with pytest.raises(KeyError), budget.spending():
        clock[0] += 0.75
        raise KeyError
    assert budget.left == 0.25


def test_a_copy_of_a_trace_is_compared_anew_for_the_time_that_is_left():
    found = Evidence()
    assert found.settled and found.again().arms is None
    found.arms = Arms(0.5)
    found.arms.seen.add(1)
    again = found.again()
    assert not again.settled and not again.arms.seen and again.arms.budget.left == 0.5
    assert again.classes is found.classes and found.arms.seen == {1}


def test_an_arm_of_a_merged_trace_is_looked_at_until_it_is_known():
    found = Classes()
    found.note([1, 2.0], True, LOOKED_AT)
    assert found.arms([3, 4.0]) is LOOKED_AT and found.arms([1.0, 2.0]) is None
    assert not found.knows([1, 2.0]) and marks(found, 2) == b""
    found.note([1, 2.0], True)
    assert found.knows([1, 2.0]) and found.arms([1, 2.0]) is None and marks(found, 2) == b"if"


def test_what_another_trace_of_the_path_has_seen_is_known():
    found, other = of((1, 2.0)), of((1.0, 2), (1, 2.0))
    other.note([1, 2], True, LOOKED_AT)
    other.together[int, float] = LOOKED_AT
    found.learn(other)
    assert found.knows([1.0, 2]) and found.knows([1, 2.0]) and not found.knows([1, 2]) and not found.knows([1.0, 2.0])
    assert found.arms([1, 2]) is LOOKED_AT


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ([], b""), ([(1.0, 2.0)], b"ff"), ([(1, 2.0)], b"if"), ([(1, 2)], b"ii"), ([(1.0, 2), (1, 2)], b"*i"),
        ([(1.0, 2), (1.0, 2.0)], b"f*"), ([(1, 2.0), (1.0, 2), (1.0, 2.0), (1, 2)], b"**"),
        ([(1, 2.0), (1.0, 2)], b"fi"), ([(1.0, 2), (1, 2.0)], b"if"), ([(1, 2.0), (1.0, 2), (1.0, 2.0)], b"ff"),
        ([(np.int64(1), 2.0)], b""), ([(np.int64(1), 2.0), (1, 2.0)], b"if"), ([(1.0, 2), (1.0, np.float64(2.0))], b"fi"),
        ([(True, 2.0)], b""),
    ],
)  # fmt: skip
def test_machine_code_takes_no_other_arrangement_than_those_that_are_known(calls, expected):
    """Where not all arrangements of these classes are known, it takes those of the last one."""
    assert marks(of(*calls), 2) == expected


def test_marks_of_one_number_and_of_none():
    assert [marks(of((x,)), 9) for x in (1, 1.0)] == [b"i", b"f"] and marks(of((1,), (1.0,)), 9) == b"*"
    assert marks(of(()), 9) == b"" and of(()).knows([])


@pytest.mark.parametrize("count", [7, FEW, FEW + 1])
def test_after_some_time_each_number_may_be_of_any_class_that_it_had(count):
    """Of more numbers than FEW, of any class that one of them had. Six numbers vary, others are floats."""
    calls = [[1 if k >> i & 1 else 1.0 for i in range(count)] for k in range(MANY)]
    found, one_less = spent(*calls), of(*calls[:-1])
    new, last = [*[1] * 6, *[1.0] * (count - 6)], [1.0] * (count - 1) + [1]
    assert new == calls[-1] and not one_less.knows(new) and found.knows(new)
    assert found.knows(last) == (count > FEW) and not one_less.knows(last)
    turned = spent(*calls[1:], last)
    assert turned.knows(calls[0]) and turned.knows([1, *calls[0][1:-1], 1])  # neither of these was compared
    assert marks(found, count) == (b"*" * count if count > FEW else b"*" * 6 + b"f" * (count - 6))
    assert marks(one_less, count) == b"".join(b"i" if type(x) is int else b"f" for x in calls[-2])
    found.note(last, True)
    assert len(found.together) == MANY  # no more are kept
    assert found.knows(last)


def test_an_arm_that_is_looked_at_keeps_other_arrangements_from_machine_code():
    found = Classes()
    for k in range(MANY):
        found.note([1 if k >> i & 1 else 1.0 for i in range(8)], True, LOOKED_AT if k == 5 else None)
    found.budget.left = 0.0
    assert b"*" not in marks(found, 8)
    found.note([1 if 5 >> i & 1 else 1.0 for i in range(8)], True)
    assert marks(found, 8) == b"*" * 6 + b"ff"


def test_few_arrangements_of_very_many_numbers_are_kept(monkeypatch):
    monkeypatch.setattr(module, "ROOM", 300)
    found = of(*[[1 if i == k else 1.0 for i in range(100)] for k in range(9)])
    assert len(found.together) == 3
    monkeypatch.setattr(module, "ROOM", 99)
    assert len(of([1.0] * 100, [1] * 100).together) == 1


def test_the_classes_of_numbers_that_are_the_same_in_all_rows():
    assert classes_of([1, 2.0]) == (int, float) != classes_of([1.0, 2.0])
    assert classes_of([EXACT_INT, -EXACT_INT]) == (int, int)
    assert classes_of([EXACT_INT + 1, 1.0]) == (EXACT_INT + 1, float) and classes_of([-EXACT_INT - 1]) == (
        -EXACT_INT - 1,
    )
    assert classes_of([1, *[1.0] * FEW]) == {int, float} and classes_of([1] * FEW) == (int,) * FEW
    assert classes_of([]) == ()
