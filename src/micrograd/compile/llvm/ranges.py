"""What is known of whole numbers while code is written: how large they can be, from the loops around them.

Such a number (an i64 that is the same in all rows) is often a sum of multiples of the iteration numbers: the index
`2*k - n + 200` in a loop over k in a loop over n. An iteration number is at least 0, and at most one less than the number of
iterations, which is such a sum again: in `for k in range(200 - n)`, k is at most 199 - n. So 2*k - n + 200 is at most 598 -
3*n, which is at most 598. What must lie within an array is then known to do so, and needs no comparison when the code runs.
"""

from __future__ import annotations

from typing import NamedTuple


class LinearForm(NamedTuple):
    """A constant, and multiples of variables: i64 names, none of which is negative."""

    constant: int
    terms: tuple[tuple[str, int], ...] = ()

    def plus(self, other: LinearForm, times: int = 1) -> LinearForm:
        """This number and so many times the other one."""
        found = dict(self.terms)
        for name, multiple in other.terms:
            found[name] = found.get(name, 0) + times * multiple
        terms = sorted((name, multiple) for name, multiple in found.items() if multiple)
        return LinearForm(self.constant + times * other.constant, tuple(terms))

    def of(self, name: str) -> int:
        """The multiple of one variable."""
        return dict(self.terms).get(name, 0)


class Ranges:
    """The i64 names of a function: which are sums of others, and the upper limits of those that are variables."""

    def __init__(self) -> None:
        self.sums: dict[str, LinearForm] = {}
        self.limits: dict[
            str, list[LinearForm]
        ] = {}  # in the order of definition: limits are made from earlier variables

    def linear(self, name: str) -> LinearForm:
        """An i64, which is a name or a literal, as a sum of multiples of variables."""
        if name.lstrip("-").isdigit():
            return LinearForm(int(name))
        return self.sums.get(name, LinearForm(0, ((name, 1),)))

    def variable(self, name: str, limits: list[LinearForm]) -> None:
        """Note that a name is at least 0 and at most each of these limits."""
        self.limits[name] = limits

    def highest(self, x: LinearForm) -> int | None:
        """A number that x does not pass, or None where there is none: the limits of inner loops are put in first."""
        if not x.terms:
            return x.constant
        names = dict(x.terms)
        inner = next((name for name in reversed(self.limits) if name in names), None)
        if inner is None:
            return None
        rest = x.plus(LinearForm(0, ((inner, 1),)), -names[inner])
        if names[inner] < 0:
            return self.highest(rest)
        found = [self.highest(rest.plus(limit, names[inner])) for limit in self.limits[inner]]
        return min([h for h in found if h is not None], default=None)

    def lowest(self, x: LinearForm) -> int | None:
        """A number that x is never below, or None."""
        found = self.highest(LinearForm(0).plus(x, -1))
        return None if found is None else -found
