"""The way in from jit and vmap: a merged trace in place of the trace of one path, checked on rows before it is used."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from micrograd.abstract import Refused, errors
from micrograd.engine import Value
from micrograd.stage import budget, staged
from micrograd.stage import limits as limits_of_rows
from micrograd.stage.agree import close, rounding, same_bits
from micrograd.stage.errors import NoSource, Unsupported
from micrograd.stage.limits import NONE, Limits, Others
from micrograd.stage.on_numbers import compare_row
from micrograd.stage.staged import Arrange
from micrograd.stage.survey import rare
from micrograd.stage.typed_rows import trace_rows
from micrograd.tape import interpret
from micrograd.tape.passes import prune
from micrograd.tape.tape import PICK, Tape
from micrograd.tape.trace import Trace, peek, trace, user_depth
from micrograd.tree import NUMBER, alike, name_of, without_bools, written

CANDIDATES = 64  # rows that are looked at, of which those are checked that take an arm that none before them took
CHECKED = 12
# How many instructions of the merged tape are interpreted to look at rows (a million take 0.4 s), and to check them (a plain
# run of the function takes five times as long); how many a row may take, and up to how many it is looked at before others.
LOOKED, WORK, ROW, SHORT = 1_000_000, 400_000, 200_000, 10_000

DEFECT = "This is a defect of micrograd: please report it, with the function."
LATE = (
    "If the function reads something that has changed since its first call, pass that in as an argument.\n"
    "  Otherwise this is a defect of micrograd: please report it, with the function."
)


class Arms:
    """The outcomes of choices on which a merged trace was checked, and how long later calls are looked at: see later.py."""

    def __init__(self) -> None:
        self.seen: set[Any] = set()
        self.looks, self.work = 64, LOOKED


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
        if found.shape != plain.shape and (not keep_types or _result(found, row) is not None):
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
        found = _abstract(user, arrange, row, keep_types, origins, limits)
        if found is None:
            raise
        return found


def _abstract(
    user: Callable[..., Any],
    arrange: Arrange,
    row: list[float],
    keep_types: bool,
    origins: Sequence[Any] | None,
    limits: Limits,
) -> Trace | None:
    """The same by the abstract interpreter; None where it does not follow the function, or not for rows."""
    given = _as_given(row, origins if keep_types else None)
    try:
        return trace_rows(user, arrange, given, not keep_types, limits.work, limits.kept)
    except Exception as reason:
        if errors.strict and not isinstance(reason, Refused):
            raise
        return None


def _as_given(row: list[float], origins: Sequence[Any] | None) -> list[Any]:
    """The numbers of a row, with the classes that they were given in."""
    return row if origins is None else [x if type(x) in (int, bool) else y for x, y in zip(origins, row)]


def verified(user: Callable[..., Any], arrange: Arrange, found: Trace, row: list[float], others: Others) -> bool:
    """Whether a staged trace gives what plain runs give, on this row and on others that take other arms.

    It counts as checked as soon as it holds for one of them, or if every one of them takes too long to be interpreted.
    """
    found.arms = Arms() if found.merged else None
    left = in_vain = max(WORK, 4 * len(found.tape))
    agree: list[bool | None] = []
    long = 0
    chosen = [row, *rare(found, others)]
    chosen += [r for r in _chosen(found.tape, found.captured, others.rows()) if r not in chosen]
    for numbers in chosen:
        most = min(left, max(ROW, 2 * len(found.tape)) if in_vain > 0 else SHORT)
        try:
            answer, took = agrees(user, arrange, found, numbers, most)
        except interpret.TooLong:
            answer, took = None, 0
            in_vain -= most
            long += 1
            if not agree:
                found.sampled = False
        left -= took
        agree.append(answer)
    found.checked = any(agree) or long > 0
    if long and not any(agree):
        found.notes[""] = f"not compared with plain Python: a row takes more than {ROW:,} instructions"
    found.holds = agree[0] is not None
    return all(one is not False for one in agree)


def _warn_of_source(user: Any, reason: NoSource) -> None:
    warnings.warn(
        f"{name_of(user)} is compiled once for each path through its branches, since {reason}\n"
        "  Paths are merged by reading the source, which code from exec(), python -c or an interpreter's prompt may lack.\n"
        "  Define that function in a file or a notebook, or write the choice as micrograd.math.where(condition, a, b).",
        RuntimeWarning,
        stacklevel=user_depth(),
    )


def outcomes(found: Trace, row: list[float]) -> tuple[list[float] | None, set[Any]]:
    """What a trace gives for a row, None where it does not hold for it; and how its choices come out."""
    return interpret.outcomes(lambda: _result(found, row))


def _result(found: Trace, row: list[float]) -> list[float] | None:
    try:
        return [float(x) for x in interpret.run(found.tape, row, peek(found.captured))]
    except interpret.GuardFailed:
        return None


def agrees(
    user: Any, arrange: Arrange, found: Trace, row: list[float], most: int, late: bool = False
) -> tuple[bool | None, int]:
    """Whether the merged tape gives for a row what a plain run gives, and how many instructions that took.

    It must be the same to the bit, but for the grouping of derivatives. None where the tape does not hold for the row, which
    gets one of its own. TooLong is raised where the tape takes more than `most` instructions. `late` says that the tape has
    been in use, so that the function may have changed meanwhile.
    """
    (got, taken), took = interpret.counted(lambda: outcomes(found, row), most - len(found.tape))
    took += len(found.tape)
    if got is None:
        return None, took
    if found.arms is not None:
        found.arms.seen |= taken

    def run(*inputs: Any) -> Any:
        args, kwargs = arrange(list(inputs))
        result = user(*args, **kwargs)
        return without_bools(result) if found.of_rows else result

    try:
        plain = trace(run, ("tuple", (NUMBER,) * len(row)), row, frozen=True, origins=found.origins)
    except Exception as error:
        what = f"raises {type(error).__name__}"
    else:
        want = plain.numbers
        same = alike(found.shape, plain.shape) and (found.of_rows or _counts(found) == _counts(plain))
        differ = [k for k, (a, b) in enumerate(zip(got, want)) if not same_bits(a, b)]
        right = same and not differ
        if same and differ and set(differ) <= found.derivatives:
            right = all(close(got[k], want[k], 0.0) for k in differ)  # no need for bounds, which take long
            if not right:
                bounds = [rounding(t.tape, row, peek(t.captured)) for t in (found, plain)]
                right = all(close(got[k], want[k], bounds[0][k] + bounds[1][k]) for k in differ)
        if right:
            compare_row(user, arrange, plain, row, found.given, bool(found.of_rows))
            return True, took
        what = f"gives {want}" if same else f"gives {written(plain.shape)} in place of {written(found.shape)}"
    warnings.warn(
        f"the merged paths of {name_of(user)} give {got} for the numbers {row}, where plain Python {what}\n"
        "  Its paths are compiled one by one instead, so the results are right.\n"
        f"  {LATE if late else DEFECT}",
        RuntimeWarning,
        stacklevel=user_depth(),
    )
    return False, took


def _counts(found: Trace) -> list[tuple[int, Any]]:
    """The results that are whole numbers in every call, which stay ints."""
    return [(k, x) for k, x in found.constants if type(x) is int]


def _chosen(tape: Tape, captured: list[Value], rows: list[list[float]]) -> list[list[float]]:
    """Some rows, and those that take arms that none before them took. Rows that take long come last, if at all."""
    conditions = sorted({args[0] for op, args in zip(tape.ops, tape.args) if op is PICK})
    looking = prune(tape.copy(outputs=conditions, guards=()))
    params = peek(captured)
    count = max(2, min(CANDIDATES, LOOKED // max(1, len(looking))))
    step = max(1, len(rows) // count)
    waiting = rows[::step][:count]
    seen: set[tuple[int, bool]] = set()
    chosen: list[list[float]] = []
    left = LOOKED
    for most in (SHORT, ROW):
        long = []
        for row in waiting:
            if len(chosen) == CHECKED or left <= 0:
                return chosen
            try:
                found, took = interpret.counted(partial(interpret.run, looking, row, params), most)
            except interpret.TooLong:
                left -= most
                long.append(row)
                continue
            left -= took
            taken = {(k, bool(c)) for k, c in enumerate(found)}
            if not taken <= seen or (most == SHORT and len(chosen) < CHECKED // 2):  # loops differ where no choice does
                seen |= taken
                chosen.append(row)
        waiting = long
    return chosen
