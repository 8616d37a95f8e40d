"""The passes in their order, from a tape to the tape that is compiled."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from micrograd.ir.forms import Tape
from micrograd.ir.forward import tangents
from micrograd.ir.hoist import hoist
from micrograd.ir.pattern import pattern
from micrograd.ir.prune import prune
from micrograd.ir.reserve import reserve
from micrograd.ir.reverse import adjoint
from micrograd.ir.sweeps import Rows, by_columns, by_rows

# Making a tape anew merges duplicates and folds constants; what does not change in a loop is computed before it, and arrays
# get the room that they need there.
SIMPLIFY: list[Callable[[Tape], Tape]] = [hoist, prune, reserve, hoist, prune]


def simplified(tape: Tape) -> Tape:
    """Return a tape with the same results and less to do."""
    for step in SIMPLIFY:
        tape = step(tape)
    return tape


def gradient(tape: Tape, wrt: Sequence[int], of: Sequence[int] = (0,), seeded: bool = False) -> Tape:
    """Return the adjoint of a tape, simplified before and after."""
    return simplified(adjoint(simplified(tape), wrt, of, seeded))


def derivative(tape: Tape, wrt: Sequence[int], of: Sequence[int] = (0,), directions: int = 1) -> Tape:
    """Return a tape with tangents, simplified before and after."""
    return simplified(tangents(simplified(tape), wrt, of, directions))


def jacobian_by_columns(
    tape: Tape, wrt: Sequence[int], of: Sequence[Rows], kept: Sequence[int], at_once: int, coloured: bool = False
) -> Tape:
    """Return a tape of some results and of the Jacobian by forward sweeps, simplified before and after."""
    return _with(kept, by_columns(simplified(tape), wrt, of, at_once, coloured))


def jacobian_by_rows(
    tape: Tape, wrt: Sequence[int], of: Sequence[Rows], kept: Sequence[int], chosen: bool = False
) -> Tape:
    """Return a tape of some results and of the Jacobian by reverse sweeps, simplified before and after."""
    return _with(kept, by_rows(simplified(tape), wrt, of, chosen))


def words_of(tape: Tape, wrt: Sequence[int], of: Sequence[Rows], both: bool = True) -> Tape:
    """Return the tape of the pattern of a Jacobian, simplified before and after."""
    return simplified(pattern(simplified(tape), wrt, of, both))


def _with(kept: Sequence[int], tape: Tape) -> Tape:
    """Return a tape of some of the results and the last one, simplified."""
    tape.yields = [*(tape.yields[k] for k in kept), tape.yields[-1]]
    return simplified(prune(tape))
