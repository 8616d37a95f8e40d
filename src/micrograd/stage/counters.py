"""Whole numbers that a loop counts itself: `j += 1` in a `for` or a `while`.

Such a variable has the value first + by * iteration in each iteration, so it may be an index as the counter of a `for` is. It
is carried all the same, for what it holds behind the loop depends on how many iterations a row takes. That a variable is one is
guessed from the first iteration, and looked at when the body has been interpreted with it. If it is none, the variable takes
the form that it takes otherwise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from micrograd.stage.lanes import Lane, affine, less
from micrograd.stage.masks import FALSE
from micrograd.stage.packed import binary_int

if TYPE_CHECKING:
    from micrograd.stage.forms import Form
    from micrograd.stage.machine import Machine
    from micrograd.stage.roll import Roll

FAST = 4096  # a number that grows by more in each iteration might become too large for a float


class Counter:
    """What is known of a variable that may be such a number."""

    def __init__(self, first: Any, by: int) -> None:
        self.first, self.by = first, by
        self.counts = 0 < abs(by) <= FAST and affine(first) is not None
        self.sure = False  # whether an iteration was seen that begins with it

    def now(self, m: Machine, roll: Roll, carried: Any) -> Any:
        """The variable at the beginning of an iteration, which was given its number; None where it does not count."""
        if not self.counts:
            return None
        found = binary_int(m, "add", roll.index(self.by, 0), self.first)
        return Lane(int, carried, found.terms, found.offset, counted=True)

    def behind(self, m: Machine, roll: Roll) -> Any:
        """The variable behind the loop; None where that is not the same in all rows."""
        if not self.counts or roll.items is None or roll.items.limit is not None or roll.flagged:
            return None
        return binary_int(m, "add", self.first, roll.items.iterations * self.by)


def find(roll: Roll) -> bool:
    """Look at what an iteration has left in its variables for the next one; whether something new is known of one of them."""
    new = False
    for name, form in roll.forms.items() if roll.m.here is not FALSE else ():
        if form.fresh:
            continue
        x, counter = roll.frame.variables.get(name), form.counter
        if counter is None:
            by = x - form.constants[0] if type(x) is int and _is_one_int(form) else 0
            form.counter = Counter(form.constants[0] if by else None, by)
            if form.counter.counts:
                form.constants, form.lane, new = [], int, True
        elif counter.counts:
            counter.sure = affine(x) is not None and less(x, roll.begun[name]) == ({}, counter.by)
            if not counter.sure:
                _forget(form)
                new = True
    return new


def _is_one_int(form: Form) -> bool:
    only = form.constants[0] if len(form.constants) == 1 else None
    return type(only) is int and form.count == 0


def _forget(form: Form) -> None:
    assert form.counter is not None
    form.constants, form.lane, form.counter.counts = [form.counter.first], None, False


def forget(roll: Roll) -> bool:
    """Take back what was guessed and not seen to be right yet; whether there was such a guess."""
    guessed = [f for f in roll.forms.values() if f.counter is not None and f.counter.counts and not f.counter.sure]
    for form in guessed:
        _forget(form)
    return bool(guessed)


__all__ = ["Counter", "find", "forget"]
