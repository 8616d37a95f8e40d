"""The order in which the variants of a function are asked, so that the one that takes a row depends on the row alone.

A function is staged where that is possible: interpreted for all rows at once (stage/), which gives one tape for many paths. A
row that the staged tape rejects gets the tape of its own path. That tape may also hold for rows that the staged one takes, and
two tapes of one function round differently. So there is one order, the same in every history of calls:

1. the staged tape of level 0; then, while only the length of loops that are written out is the reason to reject rows, those of
   levels 1, 2, ...: each takes the rows that all before it reject;
2. the tapes of single paths, for the rows that no staged tape takes. No row follows two of them.

Staging does not look at the numbers of a row, so the tapes of step 1 are the same whichever row comes first. They are made
before any tape of step 2 is asked, and they are never dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from micrograd.compile.log import step, told
from micrograd.compile.tuning import TUNING
from micrograd.evidence.arms import NONE, Others
from micrograd.evidence.checker import Checker
from micrograd.evidence.twice import same_way
from micrograd.stage import budget
from micrograd.stage.jumps import has_loops
from micrograd.tape import interpret, kinds
from micrograd.tape.trace import Trace, peek
from micrograd.tree import Shape, name_of
from micrograd.watch.modules import noting
from micrograd.watch.owners import owners_of
from micrograd.watch.reach import modules_of


class Chain:
    """How far the staged traces of one signature have been made."""

    def __init__(self, types: tuple[type, ...] = ()) -> None:
        self.level = 0  # of the next one
        self.last: Trace | None = None
        self.long = True  # whether they are those of a function with a long loop, until that has been tried
        self.closed = False  # whether there is no next one
        self.types, self.asks = types, False  # the classes of the numbers, and whether the function asks for them
        self.why: dict[str, str] = {}  # why there are paths on their own, for `explain`

    def settled(self, one_path: bool) -> bool:
        """Whether all staged traces have been made that a call needs before it asks single paths."""
        return self.closed or (one_path and (self.level > 0 or not self.long))


class Tracer:
    """How one function is traced at one point: for all paths, or along the path that these numbers take."""

    def __init__(
        self, f: Callable[..., Any], user: Any, shape: Shape, leaves: Sequence[Any], *, code: Any, arrange: Any, apart: bool,
        others: Others = NONE, rows: bool = False, one_path: bool = False,
    ) -> None:  # fmt: skip
        """`f` takes the arguments arranged as `shape`; the surroundings of `user`, the function as it was written, are watched.

        For staging, `code` is the function that is interpreted, `arrange` makes its arguments, by position and by name, from a
        flat list of numbers, and `others` gives more rows to check on. With `apart`, there is a tape for each path. With
        `one_path`, tapes with choices are of no use for this call. At a point, the function sees the classes of the numbers
        as they were given; for `rows`, those of floats.
        """
        self.f, self.user, self.shape, self.code = f, user, shape, code
        self.apart, self.one_path = apart, one_path
        self.checker = Checker(code, arrange, leaves, others, rows)
        self._plain: Trace | None = None
        self.search = budget.Search()
        self._read: dict[int, Any] = {}
        kinds.look_for_types(user)

    def plain(self, chain: Chain) -> Trace:
        """The trace of the path that these numbers take."""
        found = self._plain
        if found is None:
            found = self._noting(lambda: self.checker.traced(self.f, self.user, self.shape))
            self.checker.compare(found)
            self._plain = found
        if found.tape.guards:
            found.notes = dict(chain.why)
        return found

    def next(self, chain: Chain) -> Trace | None:
        """The next staged trace; None where there is none that this call could use."""
        chain.closed |= self.apart
        if chain.settled(self.one_path):
            return None
        with budget.searching(self.search):
            return self._search(chain)

    def _search(self, chain: Chain) -> Trace | None:
        found: Trace | None = None
        by = self.checker
        how: dict[str, Any] = {"others": by.others, "keep_types": not by.rows, "level": chain.level}
        what = by.code, by.arrange, by.values, by.origins
        chain.long = chain.long and has_loops(by.code)
        if chain.long:
            # These are imported here, for a function of one path needs none of them in its first call.
            from micrograd.stage import ahead
            from micrograd.stage.limits import Limits

            kept = TUNING.kept_states // (8 if by.rows else 1)
            limits = Limits(
                2, TUNING.rolled_work, TUNING.searched_statements, kept, TUNING.interpreted_loop, chain.level
            )
            found = self._noting(lambda: ahead.rolled(*what, limits, by.others, not by.rows, by.given))
            if found is not None:
                by.compare(found)
            if found is None and chain.level:
                chain.closed = True
                return None
            chain.long = found is not None
        if not chain.long:
            if self.one_path:
                return None
            plain = self.plain(chain) if chain.level == 0 else None
            if plain is None or plain.tape.guards:
                from micrograd.stage import attempt

                found = self._noting(lambda: attempt.merged(*what, plain, chain.why, **how, given=by.given))
                if found is not None:
                    by.note(found, True)
            chain.closed = found is None
        if found is not None and chain.last is not None and same_way(chain.last, found):
            found, chain.closed = None, True  # another level changes nothing
        if found is not None:
            chain.closed, chain.last = not found.bounded, found
            chain.why = {**found.notes, "": "not merged: this row does what is kept apart"}
            chain.asks |= bool(found.asked)
        return found

    def taken(self) -> Trace:
        """The trace that takes these numbers, found afresh."""
        chain = Chain()
        while (found := self.next(chain)) is not None:
            chain.level += 1
            if self.one_path and found.merged:
                break
            if accepts(found, self.checker.values):
                return found
        return self.plain(chain)

    def agrees(self, found: Trace) -> bool:
        """Whether a trace gives what a plain run gives now, at these numbers; True where that cannot be told."""
        return not accepts(found, self.checker.values) or self.checker.agrees(found)

    def _noting(self, run: Callable[[], Any]) -> Any:
        """What `run` gives, with the modules that it and earlier runs have read."""
        name = name_of(self.user)
        with step(f"tracing {name}") as seconds, noting() as read:
            found = run()
            took = seconds()
        self._read |= read
        if found is not None:
            found.name = name
            told(
                lambda: (
                    f"traced {name} in {took:.3f} s, because no variant holds for its arguments: "
                    f"{len(found.tape):,} instructions{', of many paths' if found.merged else ''}"
                )
            )
            modules = list(({id(m): m for m in modules_of(self.user)} | self._read).values())
            found.modules = [*modules, *owners_of(self.code, modules)]
        return found


def accepts(found: Trace, values: list[float]) -> bool:
    """Whether a trace holds for these numbers; taken for granted where a loop is too long to be interpreted."""
    try:
        if found.tape.guards and found.evidence.sampled:
            params = peek(found.captured)
            interpret.counted(lambda: interpret.run(found.tape, values, params), TUNING.interpreted_loop * 100)
    except interpret.GuardFailed:
        return False
    except interpret.TooLong:
        return True
    return True
