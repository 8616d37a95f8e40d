"""Objects of the user's classes whose attributes the body of a rolled loop assigns, `self.x += self.v * dt`, and dicts.

The object stays the one that it is, so that all its names see the changes. Attributes that hold numbers are carried from one
iteration to the next, and so are those that hold objects which each iteration makes anew (see instances.py). Any other
attribute must hold the same object all the time; a list that it holds, or another object, may be changed itself, and is carried
on its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from micrograd.engine import Value
from micrograd.stage.attributes import attributes, put
from micrograd.stage.errors import Unsupported
from micrograd.stage.forms import Form
from micrograd.stage.instances import is_plain_class, structure
from micrograd.stage.join import join
from micrograd.stage.lanes import Lane
from micrograd.stage.masks import FALSE, TRUE, Mask
from micrograd.stage.mixed import refuse_inside
from micrograd.stage.summary import Summary, held

if TYPE_CHECKING:
    from micrograd.stage.machine import Machine
    from micrograd.stage.roll import Roll
    from micrograd.stage.state import Exits

PLAIN = (Value, Lane, int, float, str, type(None))


def is_record(x: Any) -> bool:
    """Whether x is an object whose attributes may be assigned, of a class that makes no own rules; or a dict of such items."""
    plain: Any = object
    if type(x) is dict:
        return structure(x) is not None
    return is_plain_class(type(x)) and type(x).__setattr__ is plain.__setattr__


def items_of(x: Any) -> dict[Any, Any]:
    """The attributes of an object, or the items of a dict."""
    return dict(x) if type(x) is dict else attributes(x)


class Attributes:
    """The forms of the attributes of one object."""

    row = None

    def __init__(self, roll: Roll, x: Any) -> None:
        self.roll, self.entry = roll, items_of(x)
        self.keys = list(self.entry)
        self.forms: dict[str, Form] = {}
        for key, value in self.entry.items():
            if _is_carried(value):
                self.open(key)

    def open(self, key: str) -> Form:
        """Carry what an attribute holds."""
        form = self.forms[key] = Form(self.roll, inside=1)
        form.admit(held(self.roll.m, self.entry[key]), entry=True)
        return form

    @property
    def count(self) -> int:
        """How many numbers are carried for the object."""
        return sum([form.count for form in self.forms.values()])

    def carried(self, m: Machine, x: Any) -> list[Any]:
        """What is carried for an object, or for its attributes in a dict."""
        found = {key: held(m, value) for key, value in items_of(x).items()}
        return [number for key, form in self.forms.items() for number in form.carried(m, found[key])]

    def rebuilt(self, m: Machine, carried: list[Any], inside: bool = False) -> dict[str, Any]:
        """The attributes that are carried, from what is carried for them."""
        found, at = {}, 0
        for key, form in self.forms.items():
            found[key] = form.rebuilt(m, carried[at : at + form.count], inside)
            at += form.count
        return found


class FromOutside:
    """A list or an object from outside of a loop, which the body of the loop changes."""

    begun: Any  # what it holds at the beginning of an iteration

    def __init__(self, roll: Roll, x: Any) -> None:
        self.roll, self.x, self.born = roll, x, roll.m.births[id(x)]

    def undo(self, m: Machine) -> None:
        """Let it belong to the program around the loop again."""
        m.births[id(self.x)] = self.born

    def at_end(self, m: Machine, exits: list[Exits], now: Any) -> list[tuple[Mask, Any]]:
        """What it holds at the end of an iteration: for rows that have left the iteration early, and `now` for the others."""
        changes = [(s.mask, s.changes.get((id(self.x), None))) for e in exits for s in e.states]
        found = [(mask, self.begun if change is None else change[2]) for mask, change in changes]
        return found + ([(m.here, now)] if m.here is not FALSE else [])


class ChangedObject(FromOutside):
    """One object that the body of a loop changes."""

    def __init__(self, roll: Roll, x: Any) -> None:
        super().__init__(roll, x)
        roll.m.touch(x)
        self.form = Attributes(roll, x)

    def begin(self, m: Machine, carried: list[Any]) -> None:
        """Let the object hold what it holds at the beginning of an iteration."""
        m.births[id(self.x)] = self.x, TRUE, m.level
        m.touch(self.x)
        self._put(self.form.rebuilt(m, carried, inside=True))
        self.begun = items_of(self.x)

    def admit(self, m: Machine, exits: list[Exits]) -> bool:
        """See what the object holds at the end of an iteration; whether that is new."""
        entries = self.at_end(m, exits, items_of(self.x)) or [(TRUE, self.begun)]
        if any(list(attributes) != self.form.keys for _, attributes in entries):
            raise Unsupported("an object gets or loses an attribute in a loop")
        self.final, new = {}, False
        for key in self.form.keys:
            found = self.final[key] = join(m, [(mask, None, attributes[key]) for mask, attributes in entries])
            refuse_inside(m, found)
            form = self.form.forms.get(key)
            if form is not None:
                new |= form.admit(found)
            elif found is not self.begun[key]:  # another list or object than before the loop
                self.form.open(key).admit(found)
                new = True
        return new

    def forms(self) -> list[Form]:
        """The forms of the attributes that are carried."""
        return list(self.form.forms.values())

    def entries(self) -> list[tuple[Form, Any]]:
        """What the attributes hold before the loop, and their forms."""
        return [(form, self.form.entry[key]) for key, form in self.form.forms.items()]

    def held(self) -> list[tuple[Form, Any]]:
        """What the attributes hold at the end of an iteration, and their forms."""
        return [(form, self.final[key]) for key, form in self.form.forms.items()]

    def finish(self, m: Machine, results: list[Any]) -> None:
        """Let the object hold what it holds behind the loop."""
        m.touch(self.x)
        self._put(self.form.rebuilt(m, results))

    def _put(self, held: dict[str, Any]) -> None:
        for key, value in held.items():
            if type(self.x) is dict:
                self.x[key] = value
            else:
                put(self.x, key, value)


def _is_carried(x: Any) -> bool:
    """Whether an attribute is carried by its value: that nobody can change, and who asks for its identity is refused."""
    if type(x) is Summary:
        return all(_is_carried(y) for _, y in x.alternatives)
    return all(map(_is_carried, x)) if type(x) is tuple else isinstance(x, PLAIN)


__all__ = ["ChangedObject", "FromOutside", "is_record"]
