"""Functions with long loops: staged before they are traced, so that the iterations of those loops are never run one by one.

A trace writes down every iteration of a loop. For a loop of a million iterations that takes minutes and gigabytes, to find out
what the source says: that its body does the same in each iteration. So a function in whose source there is a loop is staged
first. If a loop is found that is long enough to pay, what was staged is the trace; else the function is traced as any other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from micrograd.evidence.arms import NONE, Others
from micrograd.evidence.merged import verified
from micrograd.evidence.twice import twice
from micrograd.stage import budget
from micrograd.stage.attempt import stage
from micrograd.stage.errors import Unsupported
from micrograd.stage.jumps import has_loops
from micrograd.stage.limits import Limits
from micrograd.stage.staged import Arrange
from micrograd.tape.trace import Trace
from micrograd.tree import name_of


def rolled(
    user: Callable[..., Any],
    arrange: Arrange,
    values: list[float],
    origins: Sequence[Any] | None,
    limits: Limits,
    others: Others = NONE,
    keep_types: bool = False,
    given: Sequence[Any] | None = None,
) -> Trace | None:
    """The trace of a function with a long loop, in which that is a loop; None for any other function.

    The arguments are those of `merged`; `limits` say which loops are long.
    """
    if not has_loops(user):
        return None
    row = [float(x) for x in values]
    try:
        found = twice(partial(stage, user, arrange, row, keep_types, origins, limits), user, user)
    except budget.OutOfTime as why:
        budget.warn_of_search(name_of(user), why.line)
        return None
    except (Unsupported, Exception):  # the trace finds out what there is to be said about it
        return None
    found.origins, found.given = origins, given
    if found.merged:
        if keep_types and found.captured:
            return None
        if not verified(user, arrange, found, row, others):
            return None
    return found


__all__ = ["Limits", "has_loops", "rolled"]
