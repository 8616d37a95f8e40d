"""The way in from jit and vmap: a merged trace in place of the trace of one path, checked on rows before it is used."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from micrograd.engine import Value
from micrograd.stage.agree import close, rounding, same_bits
from micrograd.stage.errors import NoSource, Unsupported
from micrograd.stage.limits import Limits
from micrograd.stage.staged import Arrange, stage
from micrograd.tape import interpret
from micrograd.tape.tape import PICK, Tape
from micrograd.tape.trace import Trace, peek, trace, user_depth
from micrograd.tree import NUMBER, name_of

CANDIDATES = 64  # rows that are looked at, of which those are checked that take an arm that none before them took
CHECKED = 12
WORK = 1_000_000  # instructions to interpret at most: 0.3 s


def merged(
    user: Callable[..., Any],
    arrange: Arrange,
    values: Sequence[float],
    origins: Sequence[Any] | None,
    plain: Trace | None,
    why: dict[str, str],
    others: Callable[[], list[list[float]]] = list,
    keep_types: bool = False,
    level: int = 0,
) -> Trace | None:
    """One trace for all paths of a function; None where they are kept apart, with the reason in `why`.

    `arrange` makes the arguments, by position and by name, from a flat list of numbers. `plain` is the trace of one path, where
    there is one. `others` gives more rows to check on. With `keep_types`, paths stay apart where a result may be a whole
    number, a float or a Value, depending on the path. How far loops are written out depends on the `level`.
    """
    row = [float(x) for x in values]
    try:
        found = stage(user, arrange, row, keep_types, origins, Limits(level=level))
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
    found.origins = origins
    if plain is not None:
        found.asked = found.asked or plain.asked
        if found.shape != plain.shape and (not keep_types or _accepts(found, row) is not None):
            why[""] = "not merged: this row arranges its results in another way"
            return None
    if not verified(user, arrange, found, row, others):
        why[""] = "not merged: the merged tape gave other results, which is a defect"
        return None
    return found


def verified(
    user: Callable[..., Any], arrange: Arrange, found: Trace, row: list[float], others: Callable[[], list[list[float]]]
) -> bool:
    """Whether a staged trace gives what plain runs give, on this row and on others that take other arms.

    It counts as checked as soon as it holds for one of them. It has no results (`numbers`) of a row that it does not hold for.
    """
    rows = [row, *_chosen(found.tape, found.captured, others())]
    agree = [_agrees(user, arrange, found, numbers) for numbers in rows]
    found.checked = any(agree)
    if agree[0] is None:
        found.numbers = []
    return all(one is not False for one in agree)


def _warn_of_source(user: Any, reason: NoSource) -> None:
    warnings.warn(
        f"{name_of(user)} is compiled once for each path through its branches, since {reason}\n"
        "  Paths are merged by reading the source, which code from exec(), python -c or an interpreter's prompt may lack.\n"
        "  Define the function in a file or a notebook, or write the choice as micrograd.math.where(condition, a, b).",
        RuntimeWarning,
        stacklevel=user_depth(),
    )


def _accepts(found: Trace, row: list[float]) -> list[float] | None:
    try:
        return [float(x) for x in interpret.run(found.tape, row, peek(found.captured))]
    except interpret.GuardFailed:
        return None


def _agrees(user: Any, arrange: Arrange, found: Trace, row: list[float]) -> bool | None:
    """Whether the merged tape gives for a row what a plain run gives: to the bit, but for the grouping of derivatives.

    None where it does not hold for the row, which gets a tape of its own.
    """
    got = _accepts(found, row)
    if got is None:
        return None

    def run(*inputs: Any) -> Any:
        args, kwargs = arrange(list(inputs))
        return user(*args, **kwargs)

    try:
        plain = trace(run, ("tuple", (NUMBER,) * len(row)), row, frozen=True, origins=found.origins)
    except Exception as error:
        what = f"raises {type(error).__name__}"
    else:
        want = plain.numbers
        differ = [k for k, (a, b) in enumerate(zip(got, want)) if not same_bits(a, b)]
        if not differ:
            return True
        if set(differ) <= found.derivatives:
            bounds = [rounding(t.tape, row, peek(t.captured)) for t in (found, plain)]
            if all(close(got[k], want[k], bounds[0][k] + bounds[1][k]) for k in differ):
                return True
        what = f"gives {want}"
    warnings.warn(
        f"the merged paths of {name_of(user)} give {got} for the numbers {row}, where plain Python {what}\n"
        "  Its paths are compiled one by one instead, so the results are right.\n"
        "  This is a defect of micrograd: please report it, with the function.",
        RuntimeWarning,
        stacklevel=user_depth(),
    )
    return False


def _chosen(tape: Tape, captured: list[Value], rows: list[list[float]]) -> list[list[float]]:
    """Some rows, and those that take arms that none before them took."""
    conditions = sorted({args[0] for op, args in zip(tape.ops, tape.args) if op is PICK})
    looking = tape.copy(outputs=conditions, guards=())
    params = peek(captured)
    count = max(2, min(CANDIDATES, WORK // max(1, len(tape))))
    step = max(1, len(rows) // count)
    seen: set[tuple[int, bool]] = set()
    chosen: list[list[float]] = []
    for number, row in enumerate(rows[::step][:count]):
        taken = {(k, bool(c)) for k, c in enumerate(interpret.run(looking, row, params))}
        if not taken <= seen or number < CHECKED // 2:  # loops may differ where no choice does
            seen |= taken
            chosen.append(row)
            if len(chosen) == CHECKED:
                break
    return chosen
