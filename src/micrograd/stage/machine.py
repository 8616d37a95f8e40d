"""The state of an interpreted program: which rows are here, what was changed since each fork, and how states are joined.

The program's own objects (frames, lists, dicts, instances, iterators) are changed in place. A journal remembers what each
place held before, so that an arm can be undone, the other one run from the same state, and both joined place by place. What
leaves an arm early (return, break, continue) waits, with its changes, at the end of the function or loop that it leaves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from micrograd.engine import Value
from micrograd.stage import bounds, instances, lanes, packed, ragged, special
from micrograd.stage.errors import Bound, Copied, Lost, Outside, StaleRead, TooManyWays, Unsupported
from micrograd.stage.join import Entry, join
from micrograd.stage.limits import Limits
from micrograd.stage.masks import FALSE, TRUE, Mask, Masks
from micrograd.stage.state import Exits, Frame, Journal, Key, State, changes, contents, restore, undo
from micrograd.stage.summary import STALE, UNBOUND, Summary, is_own
from micrograd.stage.tables import Tables, apart

MAX_STATEMENTS = 400_000
OWN = "micrograd/"  # how the place of a line of this package begins, of which users are not told
MAX_COMBINATIONS = 4_096


class Machine:
    """Runs one function for all rows at once."""

    def __init__(self, keep_types: bool = False, limits: Limits | None = None) -> None:
        self.keep_types = keep_types  # whether an int that is a result must stay one
        self.limits = limits or Limits()
        self.masks = Masks()
        self.here: Mask = TRUE  # the rows that the code runs for
        self.bystanders: Mask = FALSE  # rows that rely on the state as it is, and do not run this code
        self.lost: list[Mask] = []  # rows for which the tape does not hold: its guard
        self.lost_at: list[str] = []  # `file:line` of each of them
        self.bounds: set[Mask] = set()  # those of them for which a tape of the next level may hold
        self.reasons: dict[str, str] = {}  # place in the source → why rows were lost there
        self.journals: list[Journal] = []
        self.births: dict[int, tuple[Any, Mask, int]] = {}  # objects that the program made
        self.differentiated = 0
        self.depth = 0
        self.calls: dict[Any, tuple[int, Mask]] = {}  # calls inside of each other, and the rows of the first
        self.rolling: Any = None  # the loop whose body is interpreted on placeholders
        self.called: Any = None  # the function whose call was evaluated last
        self.handlers: list[Exits] = []  # the `try` statements that are running
        self.unrolled: dict[int, str] = {}  # loops that cannot be rolled, and why
        self.stand_ins: dict[int, tuple[Any, Any, int, bool]] = {}  # objects that stand for others, and by which loop
        self.copied: dict[int, tuple[Any, Any, int]] = {}  # objects for which others stand
        self.not_rolled: dict[str, str] = {}  # place of a loop in the source → why it is not rolled
        self.by_iteration = 0  # comparisons of plain numbers that change from one iteration to the next
        self.rolled = 0  # how many loops are in the tape
        self.sampled = True  # whether Values have the numbers of the row at hand, or zeros since a long loop
        self.stacks: dict[Any, Any] = {}  # lists that were packed, and their arrays (see packed.py)
        self.tables = Tables()
        self.facts: dict[int, Any] = {}  # masks, and what they say of whole numbers (see bounds.py)
        self.unpacked: dict[Any, Any] = {}  # arrays whose items were loaded one by one, and those items
        self.mixed: dict[int, Any] = {}  # Values that may be plain numbers in the program itself (see mixed.py)
        self.never_plain: dict[int, Any] = {}  # Values that are known to be none of those
        self.renamed = False  # whether a choice has left one of several lists somewhere (see renamed.py)
        self.lent: list[Any] = []  # lists of whose items those of a loop that is running were made ahead of time
        self.statements = self.nodes = 0  # that were interpreted; instructions that were written
        self.costs: dict[str, int] = {}  # place in the source → instructions of the choices there, in all their arms
        self.derivatives: dict[int, Any] = {}  # Values that are derivatives, by id
        self.derived_in_a_loop = False
        self.line = ""  # where the program is
        self.users_line = ""  # the same, outside of this package
        self.notes: dict[str, str] = {}  # place in the source → what became of an `if` or a loop there

    def begin_again(self, unrolled: dict[int, str]) -> None:
        """Forget everything but the loops that must be unrolled."""
        vars(self).update(vars(Machine(self.keep_types, self.limits)))
        self.unrolled.update(unrolled)

    @property
    def level(self) -> int:
        """Which of the functions that are being differentiated runs."""
        return self.masks.stack[-1]

    # ---- objects and their changes

    def made(self, x: Any) -> Any:
        """Remember that the program made this object, so that it may change it."""
        self.births[id(x)] = (x, self.here, self.level)
        return x

    def touch(self, x: Any, unpack: bool = True) -> None:
        """Say that an object is about to be changed. A list that is an array is unpacked first, unless told otherwise."""
        instances.refuse_change(self, x)
        born = self.births.get(id(x))
        if born is None:
            self.tables.refuse(self, x)
            raise Unsupported(f"a {type(x).__name__} that was made outside is changed")
        self._private(born[1], born[2], x)
        self.tables.check(self, x)
        if any(y is x for y in self.lent):
            raise Unsupported("a list is changed while a loop runs over an iterator that was made of it")
        self._remember(x, None)
        row = packed.window(x) if unpack else None
        if row is not None:
            self.tables.dissolve(self, row.flat)
        several = packed.packed(x) if unpack else None
        if several is not None:
            x[:] = packed.unpacked(self, several)

    def _private(self, birth: Mask, level: int, x: Any = None) -> None:
        if level != self.level:
            if self.rolling is None:
                raise Unsupported("something outside of a differentiated function is changed inside of it")
            raise Outside(f"a {type(x).__name__} that was made before the loop is changed in it", x)
        if self.bystanders is not FALSE and self.masks.both_of(birth, self.bystanders) is not FALSE:
            raise Unsupported("something is changed while a choice is being evaluated")

    def _remember(self, x: Any, name: Any) -> None:
        if self.journals:
            key = (id(x), name)
            journal = self.journals[-1]
            if key not in journal:
                journal[key] = (x, name, contents(x, name))

    def assign(self, frame: Frame, name: str, value: Any) -> None:
        """Assign a variable."""
        if self.bystanders is not FALSE or frame.level != self.level:
            self._private(frame.birth, frame.level)
        if self.journals:
            key = (id(frame), name)
            journal = self.journals[-1]
            if key not in journal:
                journal[key] = (frame, name, frame.variables.get(name, UNBOUND))
        frame.variables[name] = value

    # ---- rows

    def now(self, x: Any) -> Any:
        """An object as the rows here see it: a Summary without the alternatives of other rows."""
        if type(x) is not Summary:
            return x
        here, both_of = self.here, self.masks.both_of
        found = [(mask, y) for mask, y in x.alternatives if both_of(mask, here) is not FALSE]
        for mask, y in found:
            if y is STALE:
                raise StaleRead
            if type(y) is packed.Forgotten:
                raise Copied("a variable is read behind a loop that does not carry it", y.loop)
            if y is UNBOUND:
                if len(found) == 1:
                    raise NameError("a variable is used before it is assigned")
                self.lose(both_of(mask, here), "a variable is used that this path does not assign")
        found = [(mask, y) for mask, y in found if y is not UNBOUND]
        if not found:
            raise Lost
        if len(found) == 1:
            return found[0][1]
        return x if len(found) == len(x.alternatives) else Summary(found)

    def lose(self, mask: Mask, why: Any) -> None:
        """Leave rows to a tape of their own. What they compute from here on does not matter."""
        self.reasons.setdefault(self.line, str(why) or type(why).__name__)
        self.masks.crowded |= isinstance(why, TooManyWays)
        (self.bounds.add if isinstance(why, Bound) else self.bounds.discard)(mask)
        self.lost.append(mask)
        self.lost_at.append(self.line)

    def fail(self, mask: Mask, why: BaseException) -> None:
        """Some rows raise an exception, or do what is not merged."""
        if isinstance(why, Copied) or (isinstance(why, Outside) and self.rolling is not None):
            raise why
        handler = self.handler()
        if handler is not None and isinstance(why, Exception) and not is_own(why):
            here, self.here = self.here, mask
            self.leave(handler, why)
            self.here = self.masks.without(here, mask)
            return
        if handler is not None and isinstance(why, Lost):
            mask = self.uncaught(mask)
            if mask is FALSE:
                return
        self.lose(mask, why)

    def handler(self) -> Exits | None:
        """Where rows wait that raise an exception; None where no `try` of this differentiated function is around."""
        found = self.handlers[-1] if self.handlers else None
        return found if found is not None and found.level == self.level else None

    def uncaught(self, mask: Mask) -> Mask:
        """Rows without those that wait at a `try`."""
        for exits in self.handlers:
            for state in exits.states:
                mask = self.masks.without(mask, state.mask)
        return mask

    def interrupted(self, rows: Mask, why: BaseException, journals: int) -> None:
        """A statement raised an exception inside of a `try`, or no row is left of those that it ran for."""
        if isinstance(why, Exception) and self.here is rows:
            handler = self.handler()
            assert handler is not None
            self.leave(handler, why)
        else:
            rows = self.uncaught(rows)
            if rows is not FALSE:
                self.lose(rows, why)
        while len(self.journals) > journals:
            undo(self.journals.pop())
        self.here = FALSE

    def lift(self, function: Callable[..., Any], *args: Any) -> Any:
        """Apply a function that changes nothing to each combination of alternatives, and join the results."""
        if not any(type(a) is Summary for a in args):
            return function(*args)
        combinations: list[tuple[Mask, list[Any]]] = [(self.here, [])]
        for a in args:
            a = self.now(a)
            if type(a) is Summary:
                combinations = [
                    (both, [*row, y])
                    for mask, row in combinations
                    for part, y in a.alternatives
                    if (both := self.masks.both_of(mask, part)) is not FALSE
                ]
                if len(combinations) > MAX_COMBINATIONS:
                    raise TooManyWays(f"more than {MAX_COMBINATIONS} combinations of values that are not Values")
            else:
                for _, row in combinations:
                    row.append(a)
        here, around = self.here, self.bystanders
        entries: list[Entry] = []
        error: BaseException | None = None
        lost, handler = len(self.lost), self.handler()
        for mask, row in combinations:
            self.here, self.bystanders = mask, self.masks.either(around, self.masks.without(here, mask))
            try:
                result = function(*row)
            except (Exception, Unsupported) as reason:
                error = reason
                self.fail(mask, reason)
                continue
            entries.append((mask, None, result))
        self.here, self.bystanders = here, around
        if handler is not None:
            self.here = self.uncaught(here)
        if not entries:
            if handler is not None:
                raise Lost
            del self.lost[lost:], self.lost_at[lost:]
            raise error or Lost()
        return join(self, entries)

    def truth(self, x: Any) -> Mask:
        """The rows here in which an object counts as true."""
        x = special.judged(self, ragged.settle(self, self.now(x)))
        if type(x) is lanes.Lane:
            return bounds.truth(self, x)
        if isinstance(x, Value):
            return self.masks.both_of(self.here, self.masks.compare("ne", x, 0.0))
        if type(x) is not Summary:
            return self.here if bool(x) else FALSE
        total = FALSE
        for mask, y in x.alternatives:
            rows, y = mask, lanes.plain(y)
            if isinstance(y, Value):
                rows = self.masks.both_of(rows, self.masks.compare("ne", y, 0.0))
            elif not y:
                continue
            total = self.masks.either(total, rows)
        return self.masks.both_of(total, self.here)

    def count(self, _: Any) -> None:
        """Count a node that was made."""
        self.nodes += 1

    def merged(self) -> None:
        """Note that the choice at this line was merged."""
        self.notes.setdefault(self.line, "merged: all arms are computed, and each row picks its own (masked)")

    def answer(self, mask: Mask) -> Any:
        """A bool that is True in these rows, of those that are here."""
        yes = self.masks.both_of(mask, self.here)
        no = self.masks.without(self.here, mask)
        if no is FALSE:
            return True
        if yes is FALSE:
            return False
        holds = self.masks.restrict(yes, self.here)
        return Summary([(holds, True), (self.masks.negate(holds), False)])

    # ---- forks and joins

    def fork(self, arms: list[tuple[Mask, Callable[[], Any]]]) -> Any:
        """Run each arm from the same state, for its rows; go on with the joined state. Returns the joined results."""
        states: list[State] = []
        line, nodes = self.line, self.nodes
        for mask, run in arms:
            depth, around, count = self.depth, self.bystanders, len(self.journals)
            self.journals.append({})
            self.here = mask
            try:
                result = run()
            except (Exception, Unsupported, Lost) as reason:
                self.depth, self.bystanders = depth, around
                while len(self.journals) > count:
                    undo(self.journals.pop())
                self.fail(mask, reason)
                continue
            journal = self.journals.pop()
            if self.handlers:
                self.here = self.uncaught(self.here)
            if self.here is not FALSE:
                states.append(State(self.here, None, changes([journal]), result))
            undo(journal)
        if not states:
            self.here = FALSE
            return None
        self._join_states(states)
        self.here = states[0].mask
        for state in states[1:]:
            self.here = self.masks.either(self.here, state.mask)
        result = join(self, [(s.mask, None, s.result) for s in states])
        self.costs[line] = self.costs.get(line, 0) + self.nodes - nodes
        return result

    def leave(self, exits: Exits, result: Any = None, without: Frame | None = None) -> None:
        """Let the rows that are here wait, as they are, at the end of a part of the program."""
        if self.handlers:  # rows that wait at a `try` have left already
            self.here = self.uncaught(self.here)
            if self.here is FALSE:
                return
        made = changes(self.journals[exits.index :], None if exits.whole else without)
        exits.states.append(State(self.here, self.masks.restrict(self.here, exits.alive), made, result))
        exits.alive = self.masks.without(exits.alive, self.here)
        self.here = FALSE

    def enter(self) -> Exits:
        """Begin a part of the program that rows may leave early."""
        self.journals.append({})
        return Exits(len(self.journals) - 1, self.here)

    def meet(self, exits: Exits, result: Any = None, without: Frame | None = None) -> Any:
        """End a part of the program: join the rows that wait with those that are here."""
        journal = self.journals.pop()
        if without is not None:
            journal = {key: entry for key, entry in journal.items() if entry[0] is not without}
        if not exits.states:
            self._fold(journal)
            return result
        states = exits.states
        if self.here is not FALSE:
            states = [*states, State(self.here, None, changes([journal]), result)]
        undo(journal)
        return self._go_on_with(states)

    def rejoin(self, exits: Exits) -> Any:
        """Go on with the rows that wait, joined with those that are here, inside the same part of the program."""
        if exits.states:
            journal = self.journals[-1]
            states = exits.states
            if self.here is not FALSE:
                states = [*states, State(self.here, None, changes([journal]))]
            undo(journal)
            return self._go_on_with(states)
        return None

    def _go_on_with(self, states: list[State]) -> Any:
        self._join_states(states)
        total = states[-1].mask
        for state in reversed(states[:-1]):
            total = self.masks.either(state.mask, total)
        self.here = total
        return join(self, [(s.mask, s.selector, s.result) for s in states])

    def _fold(self, journal: Journal) -> None:
        """Hand what was changed on to the part around."""
        if self.journals:
            around = self.journals[-1]
            for key, entry in journal.items():
                around.setdefault(key, entry)

    def _join_states(self, states: list[State]) -> None:
        """Change the state at the fork into the join of these."""
        places: dict[Key, tuple[Any, Any]] = {}
        for state in states:
            for key, (x, name, _) in state.changes.items():
                places[key] = (x, name)
        for key, (x, name) in places.items():
            entries = [
                (s.mask, s.selector, s.changes[key][2] if key in s.changes else contents(x, name)) for s in states
            ]
            if isinstance(x, Frame):
                value = join(self, entries)
                if value is not x.variables.get(name, UNBOUND):
                    self._remember(x, name)
                    restore(x, name, value)
                continue
            born, entries = self.births[id(x)][1], apart(states, entries)
            entries = [e for e in entries if self.masks.both_of(e[0], born) is not FALSE]
            if not entries:
                continue
            joined = self.tables.join(self, x, entries)
            self._remember(x, None)
            restore(x, None, joined)
