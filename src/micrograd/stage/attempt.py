"""The way in from jit and vmap: a merged trace in place of the trace of one path, checked on rows before it is used."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from micrograd.abstract import Refused, errors
from micrograd.evidence.arms import NONE, Others
from micrograd.evidence.merged import results, verified
from micrograd.stage import budget, staged
from micrograd.stage import limits as limits_of_rows
from micrograd.stage.errors import NoSource, Unsupported
from micrograd.stage.limits import Limits
from micrograd.stage.staged import Arrange
from micrograd.stage.typed_rows import trace_rows
from micrograd.tape.trace import Trace, user_depth
from micrograd.tree import name_of


def merged(
    user: Callable[..., Any],
    arrange: Arrange,
    values: Sequence[float],
    origins: Sequence[Any] | None,
    plain: Trace | None,
    why: dict[str, str],
    others: Others = NONE,
    keep_types: bool = False,
    level: int = 0,
    given: Sequence[Any] | None = None,
) -> Trace | None:
    """One trace for all paths of a function; None where they are kept apart, with the reason in `why`.

    `arrange` makes the arguments, by position and by name, from a flat list of numbers. `plain` is the trace of one path, where
    there is one. `others` gives more rows to check on. With `keep_types`, paths stay apart where a result may be a whole
    number, a float or a Value, depending on the path. How far loops are written out depends on the `level`. For runs on plain
    numbers, `given` are the arguments as they were given.
    """
    row = [float(x) for x in values]
    try:
        found = stage(user, arrange, row, keep_types, origins, Limits(level=level))
    except budget.OutOfTime as late:
        why[""] = f"not merged: following all paths took more than {budget.SEARCH:g} s, and had come to {late.line}"
        budget.warn_of_search(name_of(user), late.line)
        return None
    except Unsupported as reason:
        why[""] = f"not merged: {reason}"
        if isinstance(reason, NoSource):
            _warn_of_source(user, reason)
        return None
    except Exception as error:  # of an arm that this row does not take, outside of any choice
        why[""] = f"not merged: {type(error).__name__}: {error}"
        return None
    if keep_types and found.captured:
        why[""] = "not merged: whether a result is a Value or a number may depend on the path"
        return None
    found.origins, found.given = origins, given
    if plain is not None:
        found.asked = found.asked or plain.asked
        if found.shape != plain.shape and (not keep_types or results(found, row) is not None):
            why[""] = "not merged: this row arranges its results in another way"
            return None
    if not verified(user, arrange, found, row, others):
        why[""] = "not merged: the merged tape gave other results, which is a defect"
        return None
    return found


def stage(
    user: Callable[..., Any],
    arrange: Arrange,
    row: list[float],
    keep_types: bool = False,
    origins: Sequence[Any] | None = None,
    limits: Limits | None = None,
) -> Trace:
    """The trace of a function for all rows: by the stage, and by the abstract interpreter for what the stage does not merge."""
    limits = limits or Limits()
    if limits_of_rows.ABSTRACT_FIRST:
        found = _abstract(user, arrange, row, keep_types, origins, limits)
        if found is not None:
            return found
    try:
        return staged.stage(user, arrange, row, keep_types, origins, limits)
    except NoSource:
        raise
    except Unsupported:
        if limits.work:  # it has no long loop: the merged tape is asked for next
            raise
        for leaves_arms in (False, True):
            found = _abstract(user, arrange, row, keep_types, origins, limits, leaves_arms)
            if found is not None:
                return found
        raise


def _abstract(
    user: Callable[..., Any],
    arrange: Arrange,
    row: list[float],
    keep_types: bool,
    origins: Sequence[Any] | None,
    limits: Limits,
    leaves_arms: bool = False,
) -> Trace | None:
    """The same by the abstract interpreter; None where it does not follow the function, or not for rows.

    With `leaves_arms`, rows that take an arm which it does not follow are rejected.
    """
    given = _as_given(row, origins if keep_types else None)
    try:
        return trace_rows(user, arrange, given, not keep_types, limits.work, limits.kept, limits.level, leaves_arms)
    except Exception as reason:
        if errors.strict and not isinstance(reason, Refused):
            raise
        return None


def _as_given(row: list[float], origins: Sequence[Any] | None) -> list[Any]:
    """The numbers of a row, with the classes that they were given in."""
    return row if origins is None else [x if type(x) in (int, bool) else y for x, y in zip(origins, row)]


def _warn_of_source(user: Any, reason: NoSource) -> None:
    warnings.warn(
        f"{name_of(user)} is compiled once for each path through its branches, since {reason}\n"
        "  Paths are merged by reading the source, which code from exec(), python -c or an interpreter's prompt may lack.\n"
        "  Define that function in a file or a notebook, or write the choice as micrograd.math.where(condition, a, b).",
        RuntimeWarning,
        stacklevel=user_depth(),
    )
