"""The passes in their order, from a tape to the tape that is compiled."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from micrograd.ir.forms import Tape
from micrograd.ir.forward import tangents
from micrograd.ir.hoist import hoist
from micrograd.ir.prune import prune
from micrograd.ir.reserve import reserve
from micrograd.ir.reverse import adjoint

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
