"""Lists from outside that the body of a rolled loop changes: what they hold is carried from iteration to iteration.

The list stays the object that it is, so that all its names, inside and outside of the loop, see the changes. While the body is
interpreted it holds placeholders; behind the loop it holds the results. A list of 24 or more numbers, or one whose length
changes, or whose items are assigned by an index that changes, is one array; of a shorter list, each item is carried.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from micrograd.stage import tables
from micrograd.stage.errors import Outside, Unsupported
from micrograd.stage.forms import Form
from micrograd.stage.instances import alternatives, is_named, is_plain_class
from micrograd.stage.join import Entry
from micrograd.stage.masks import FALSE, TRUE
from micrograd.stage.packed import LONG, packed, window
from micrograd.stage.ragged import join_contents, ragged
from micrograd.stage.records import ChangedObject, FromOutside, is_record
from micrograd.stage.renamed import referrers
from micrograd.stage.row import Row
from micrograd.stage.state import contents
from micrograd.stage.summary import Summary, is_number

if TYPE_CHECKING:
    from micrograd.stage.machine import Machine
    from micrograd.stage.roll import Roll
    from micrograd.stage.state import Exits, Frame, State


def is_row_of(row: Any, flat: list[Any]) -> bool:
    """Whether a list is a row of the table that has its numbers in `flat`."""
    found = window(row)
    return found is not None and found.flat is flat


class Changed(FromOutside):
    """One list that the body of a loop changes."""

    def __init__(self, roll: Roll, x: list[Any]) -> None:
        m = roll.m
        if window(x) is not None:
            raise Unsupported("a row of a table becomes longer, or is changed as a whole")
        if ragged(x) is not None or not (packed(x) is not None or all(_is_item(item) for item in x)):
            raise Unsupported("a list of other things than numbers and objects is changed")
        if roll.items is not None and any(x is y or is_row_of(y, x) for y in roll.items.lists):
            raise Unsupported("the list that the loop runs over is changed")
        super().__init__(roll, x)
        m.touch(x, unpack=False)
        self.is_array = not x or packed(x) is not None or (len(x) >= LONG and all(map(_is_number, x)))
        self.entry = list(x)
        self.room = 0  # so many elements more than the list has at its longest between two iterations
        self._begin_form()

    def _begin_form(self) -> None:
        self.form = Form(self.roll, arrays=True)
        if self.is_array:
            self.form.row = Row(self.roll, False, self.room)
            self.form.row.admit(self.x)
        else:
            self.form.admit_items(self.x, entry=True)

    def widen(self) -> None:
        """Let the list be an array; an array have more room."""
        self.room += self.is_array
        self.is_array = True
        self._begin_form()

    def begin(self, m: Machine, carried: list[Any]) -> None:
        """Let the list hold what it holds at the beginning of an iteration."""
        m.births[id(self.x)] = self.x, TRUE, m.level
        m.touch(self.x, unpack=False)
        self.x[:] = self.form.rebuilt(m, carried, inside=True)
        self.begun = list(self.x)

    def admit(self, m: Machine, exits: list[Exits]) -> bool:
        """See what the list holds at the end of an iteration; whether that is new."""
        entries: list[Entry] = [(mask, None, items) for mask, items in self.at_end(m, exits, list(self.x))]
        self.final = join_contents(m, self.x, entries) if len(entries) > 1 else entries[0][2] if entries else self.begun
        if ragged(self.final) is not None:
            raise Unsupported("the length of a list differs by row")
        if not self.is_array and (packed(self.final) is not None or len(self.final) != len(self.begun)):
            self.widen()
            return True
        return self.form.admit(self.final) if self.is_array else self.form.admit_items(self.final)

    def forms(self) -> list[Form]:
        """The form of the list."""
        return [self.form]

    def entries(self) -> list[tuple[Form, Any]]:
        """What the list holds before the loop, item by item, and the forms of the items."""
        return [] if self.form.parts is None else list(zip(self.form.parts, self.entry))

    def held(self) -> list[tuple[Form, Any]]:
        """What the list holds at the end of an iteration, item by item, and the forms of the items."""
        return [] if self.form.parts is None else list(zip(self.form.parts, self.final))

    def finish(self, m: Machine, results: list[Any]) -> None:
        """Let the list hold what it holds behind the loop."""
        m.touch(self.x, unpack=False)
        self.x[:] = self.form.rebuilt(m, results)


def carry(roll: Roll, found: Outside) -> None:
    """Carry a list or an object from outside that the body changes; let a known list be an array, or have more room."""
    x, m = found.changed, roll.m
    roll.guesses = False
    known = [c for c in roll.lists if c.x is x]
    here = id(x) in m.births and m.births[id(x)][2] == m.level and not roll.collects
    if known and isinstance(known[0], Changed):
        known[0].widen()
    elif is_record(x) and not known and here:
        roll.lists.append(ChangedObject(roll, x))
    elif type(x) is list and roll.pack and here:
        if x and all(type(row) is list for row in x):
            x = tables.begin(m, x, roll.in_vain)
        roll.lists.append(Changed(roll, x))
    else:
        raise found


def check_changed(roll: Roll, begun: dict[str, Any], finals: dict[str, Any], left: Sequence[State]) -> None:
    """Refuse a variable that holds such a list behind an iteration and another one before it; and see _refuse_left."""
    _refuse_left(roll, left)
    for name, x in finals.items():
        if x is not begun[name] and any(c.x is y for c in roll.lists for y in alternatives(x) if type(y) is list):
            raise Unsupported("a list that is changed is given another name")


def _refuse_left(roll: Roll, states: Sequence[State]) -> None:
    """Refuse an object of an iteration that is changed where some rows have left the loop: these have another one."""
    carried = {id(c.x) for c in roll.lists}
    for state in states if roll.m.here is not FALSE or len(states) > 1 else ():
        for x, _, held in state.changes.values():
            now = contents(x, None) if is_record(x) and id(x) not in carried else {}
            if now and any(now.get(name) is not v for name, v in held.items()):
                raise Unsupported("an object that an iteration makes is changed where some rows have left the loop")


def refuse_growth(forms: Sequence[Any]) -> None:
    """Refuse a list whose length changes in a loop that rows leave in different iterations."""
    if any(form.row is not None and form.row.by for form in forms):
        raise Unsupported("the length of a list changes in a loop that ends in different iterations for different rows")


def _is_number(x: Any) -> bool:
    if type(x) is Summary:
        return all(_is_number(y) for _, y in x.alternatives)
    return isinstance(x, Summary) or is_number(x)


def _is_item(x: Any) -> bool:
    """Whether a list that is changed may hold x: a number, an object, or something like a text."""
    if isinstance(x, Summary):
        return all(_is_item(y) for y in alternatives(x) if not isinstance(y, Summary))
    return _is_number(x) or is_plain_class(type(x)) or is_named(x) or isinstance(x, (str, bool, type(None)))


def owned(m: Machine, frame: Frame, names: list[str]) -> set[str]:
    """Those variables whose list has no other name and is in no other object, so that a loop may change it under this name."""
    lists: dict[int, Any] = {}
    held: dict[int, list[str]] = {}
    for name in frame.variables:
        key = id(frame.variables[name])
        if type(frame.variables[name]) is list:
            lists[key] = frame.variables[name]
            held.setdefault(key, []).append(name)
    if m.bystanders is not FALSE or frame.level != m.level:
        return set()
    free = referrers(m, frame, lists)
    return {only[0] for key, only in held.items() if key in free and len(only) == 1 and only[0] in names}


__all__ = ["Changed", "carry", "check_changed", "owned", "refuse_growth"]
