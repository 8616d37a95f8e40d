"""From when on a loop is worth a loop in the tape, and how much is done to find out."""

from __future__ import annotations

from dataclasses import dataclass

MANY = 2**32  # iterations that a loop with a condition does not take


# Whether the abstract interpreter is asked before the stage, and not only for what the stage does not merge. It follows nine of
# ten programs of the tests, with the same results (tests/abstract/test_typed_tapes_for_rows.py says which it does not follow).
ABSTRACT_FIRST = False


@dataclass(frozen=True)
class Limits:
    """From when on a loop is rolled, and how long the search for such a loop may take."""

    iterations: int = 12  # of a loop
    work: int = 0  # instructions of all iterations of a `for` loop together
    statements: int = 400_000  # that are interpreted before the first loop is rolled; after it, MAX_STATEMENTS
    kept: int = 0  # carried numbers of all iterations, past which an adjoint keeps those of some iterations (0: never)
    sample: int = 1_000_000  # instructions of a loop that are run for the numbers of the row at hand
    level: int = 0  # loops and recursion that are written out are followed four times as far with each level
    coarse: bool = False  # whether plain numbers become Values where they meet behind a choice (see mixed.py)

    def far(self, least: int) -> int:
        """How many iterations or calls are written out, where that is decided by numbers: `least` of them at level 0."""
        return least << (2 * self.level)
