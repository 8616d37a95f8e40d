"""Whether a trace of many paths gives for a row what a plain run of the function gives, on rows from every arm that occurs.

It is compared before it is first used, on rows that are chosen by the arms they take (arms.py). How many of them, is counted in
instructions, so that what is found does not depend on how fast a machine is. Other arms may occur in the calls that follow. So
these are looked at too, for some time (compared.py); after that, machine code answers without a look.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from micrograd.evidence.arms import ROW, SHORT, Others, rare, various
from micrograd.evidence.compared import LOOKING, OF_ROWS, Arms, Budget
from micrograd.evidence.plain_runs import Arrange, compare_row
from micrograd.evidence.rounding import close, rounding, same_bits
from micrograd.tape import interpret
from micrograd.tape.trace import Trace, peek, trace, user_depth
from micrograd.tree import NUMBER, alike, name_of, without_bools, written

WORK = 400_000  # instructions of the merged tape that are interpreted to compare rows; a plain run takes five times as long
BUDGET = 1_000_000  # operations of a survey of the rows of a later call: some 5 ms

DEFECT = "This is a defect of micrograd: please report it, with the function."
LATE = (
    "If the function reads something that has changed since its first call, pass that in as an argument.\n"
    "  Otherwise this is a defect of micrograd: please report it, with the function."
)


def verified(user: Callable[..., Any], arrange: Arrange, found: Trace, row: list[float], others: Others) -> bool:
    """Whether a staged trace gives what plain runs give, on this row and on others that take other arms.

    It counts as checked as soon as it holds for one of them, or if every one of them takes too long to be interpreted.
    """
    evidence, making = found.evidence, Budget(0.0)
    evidence.arms = Arms(OF_ROWS if found.of_rows else LOOKING) if found.merged else None
    with making.spending():
        right = _compared(user, arrange, found, row, others)
    if evidence.arms is not None:  # later looks may take as long as this one
        evidence.arms.budget.left = max(evidence.arms.budget.left, -making.left)
    return right


def _compared(user: Callable[..., Any], arrange: Arrange, found: Trace, row: list[float], others: Others) -> bool:
    left = in_vain = max(WORK, 4 * len(found.tape))
    agree: list[bool | None] = []
    long = 0
    rows = [row, *rare(found, others)]
    rows += [r for r in various(found.tape, found.captured, others.rows()) if r not in rows]
    for numbers in rows:
        most = min(left, max(ROW, 2 * len(found.tape)) if in_vain > 0 else SHORT)
        try:
            answer, took = agrees(user, arrange, found, numbers, most)
        except interpret.TooLong:
            answer, took = None, 0
            in_vain -= most
            long += 1
            if not agree:
                found.evidence.sampled = False
        left -= took
        agree.append(answer)
    found.evidence.compared = any(agree) or long > 0
    if long and not any(agree):
        found.notes[""] = f"not compared with plain Python: a row takes more than {ROW:,} instructions"
    found.evidence.holds = agree[0] is not None
    return all(one is not False for one in agree)


def outcomes(found: Trace, row: list[float]) -> tuple[list[float] | None, set[Any]]:
    """What a trace gives for a row, None where it does not hold for it; and how its choices come out."""
    return interpret.outcomes(lambda: results(found, row))


def results(found: Trace, row: list[float]) -> list[float] | None:
    """What a trace gives for a row; None where it does not hold for it."""
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
    if found.evidence.arms is not None:
        found.evidence.arms.seen |= taken

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


# ---- later calls


def holds_at(user: Any, arrange: Arrange, found: Trace, arms: Arms, row: list[float]) -> bool:
    """Whether a merged trace gives what a plain run of the function gives, if this row takes an arm that was not compared."""
    with arms.budget.spending():
        right = _holds(user, arrange, found, arms, row)
    _end(found, arms)
    return right


def holds_for(user: Any, arrange: Arrange, found: Trace, arms: Arms, columns: Callable[[int], list[Any]]) -> bool:
    """The same for the rows of a batch. At most one row is compared for each outcome of a choice."""
    with arms.budget.spending():
        right = all(_holds(user, arrange, found, arms, row) for row in rare(found, Others(columns=columns), BUDGET))
    _end(found, arms)
    return right


def takes_another(found: Trace, arms: Arms, row: list[float]) -> set[Any] | None:
    """How the choices of a merged trace come out for a row, if one of them has not come out so before; else None.

    It is a look at the row. Where that takes too long, there is no other one, and the answer is that it is new.
    """
    try:
        with arms.budget.spending():
            (_, taken), _took = interpret.counted(lambda: outcomes(found, row), ROW)
    except interpret.TooLong:
        arms.budget.left = 0.0
        return set()
    return taken if not taken <= arms.seen or not arms.seen else None


def _holds(user: Any, arrange: Arrange, found: Trace, arms: Arms, row: list[float]) -> bool:
    if arms.budget.left <= 0:
        return True
    way = _way(found, arms, row)
    if way is not None and way in arms.ways:
        return True
    right = _looked_at(user, arrange, found, arms, row)
    if right and way is not None:
        arms.ways.add(way)
    return right


def _way(found: Trace, arms: Arms, row: list[float]) -> bytes | None:
    """How the choices come out for a row, found out by C; None where that is not possible, or a guard fails."""
    if arms.program is None:
        arms.program = interpret.program(found.tape) or False
    got, way = arms.program(row, found.captured, True) if arms.program else (None, b"")
    return None if got is None else way


def _looked_at(user: Any, arrange: Arrange, found: Trace, arms: Arms, row: list[float]) -> bool:
    try:
        (got, taken), _took = interpret.counted(lambda: outcomes(found, row), ROW)
        if got is None or taken <= arms.seen:
            return True
        answer, _took = agrees(user, arrange, found, row, ROW, late=True)
    except interpret.TooLong:
        arms.budget.left = 0.0
        return True
    return answer is not False


def _end(found: Trace, arms: Arms) -> None:
    if arms.budget.left <= 0:
        found.evidence.arms = None
