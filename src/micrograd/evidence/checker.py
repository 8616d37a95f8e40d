"""The one checker of traces: a new one is compared before it answers a call, and one in use where a call does something new.

A trace of one path is made twice, and compared with a run on plain numbers. A staged trace, which no run of the function has
left, is compared with plain runs on rows from all arms (merged.py). In later calls, numbers of other classes are compared, and
arms that no row has taken before. What was found stands in the Evidence of the trace.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from micrograd.engine import Value
from micrograd.evidence import plain_runs
from micrograd.evidence.arms import NONE, Others
from micrograd.evidence.compared import Arms, Classes
from micrograd.evidence.plain_runs import Arrange
from micrograd.evidence.twice import trace_twice
from micrograd.tape.trace import Trace, peek
from micrograd.tree import Shape


class Checker:
    """How the traces of one function are compared with the function, at one point or in one row."""

    def __init__(
        self, code: Any, arrange: Arrange, given: Sequence[Any], others: Others = NONE, rows: bool = False
    ) -> None:
        """`arrange` makes the arguments of `code`, the function as it was written, from a flat list of numbers as `given`.

        `others` gives more rows to compare. At a point, the function sees the classes of the numbers as they were given; for
        `rows`, those of floats.
        """
        self.code, self.arrange, self.given, self.others, self.rows = code, arrange, list(given), others, rows
        self.values = peek(self.given)
        self.origins = None if rows else self.given

    def traced(self, f: Callable[..., Any], user: Any, shape: Shape) -> Trace:
        """The trace of the path that these numbers take, compared with a second one; `f` takes the arguments as `shape`."""
        return trace_twice(f, user, shape, self.values, self.origins)

    def compare(self, found: Trace) -> None:
        """Raise a TraceError where a trace has computed something else than the function does with plain numbers."""
        compares = found.evidence.sampled and found.evidence.holds
        decided = not compares or plain_runs.compare(self.code, self.arrange, found, self.given, self.rows)
        self.note(found, decided)

    def note(self, found: Trace, decided: bool) -> None:
        """Note the classes of these numbers. Other arms of a merged trace are compared when they are taken."""
        found.evidence.classes = Classes()
        if not found.merged or {int, float}.issuperset(map(type, self.given)):  # see plain_runs.compare_row
            found.evidence.classes.note(self.given, decided)

    def holds(self, found: Trace) -> bool:
        """Whether a staged trace gives what plain runs of the function give, at these numbers and at others."""
        from micrograd.evidence import merged

        return merged.verified(self.code, self.arrange, found, self.values, self.others)

    def agrees(self, found: Trace) -> bool:
        """Whether a trace that takes these numbers gives what a plain run gives now; True where that cannot be told."""
        if not found.evidence.sampled or any(isinstance(x, Value) for x in self.given):
            return True
        return plain_runs.agrees(self.code, self.arrange, found, self.given)

    def right(self, found: Trace) -> bool:
        """Whether a trace that has answered a call gives what a plain run gives, where it is to be compared with one.

        Raises a TraceError where the function tells numbers of these classes from others.
        """
        evidence = found.evidence
        if not evidence.classes.knows(self.given):
            self._compare_classes(found)
        if not evidence.compared:
            return self.holds(found)
        return evidence.arms is None or self.look(found, evidence.arms)

    def look(self, found: Trace, arms: Arms) -> bool:
        """The same for a merged trace, if these numbers or others take an arm that was not yet compared."""
        from micrograd.evidence import merged

        if self.others.columns is not None:
            return merged.holds_for(self.code, self.arrange, found, arms, self.others.columns)
        return merged.holds_at(self.code, self.arrange, found, arms, self.values)

    def _compare_classes(self, found: Trace) -> None:
        """Compare a trace that has been in use, where numbers of these classes have not been, or not in this arm."""
        from micrograd.evidence import merged

        evidence = found.evidence
        classes = evidence.classes
        arms = (classes.arms(self.given) or Arms()) if found.merged and evidence.sampled else None
        taken = set() if arms is None else merged.takes_another(found, arms, self.values)
        decided = True
        if taken is not None and evidence.sampled:
            with classes.budget.spending(), classes.undecided.spending():
                decided = plain_runs.compare(self.code, self.arrange, None, self.given, self.rows)
        if arms is not None and taken is not None and decided:
            arms.seen |= taken
        classes.note(self.given, decided, arms if arms is not None and arms.budget.left > 0 else None)
