"""Variables for which a rolled loop carries nothing: another one holds the same list, or it is a row of a table."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from micrograd.stage.errors import Unsupported
from micrograd.stage.forms import Form, holds_numbers
from micrograd.stage.functions import Function
from micrograd.stage.instances import made_here
from micrograd.stage.iterators import Iterator
from micrograd.stage.machine import Machine
from micrograd.stage.packed import packed

if TYPE_CHECKING:
    from micrograd.stage.roll import Roll


class Aliases:
    """What is known of such variables at the end of an iteration."""

    def __init__(self) -> None:
        self.owners: dict[str, str] = {}  # a variable -> the one that holds the same list, and is carried
        self.forgotten: set[str] = (
            set()
        )  # those that hold a row of a table or a function: nobody may read them behind the loop

    def __contains__(self, name: str) -> bool:
        return name in self.owners or name in self.forgotten

    def discard(self, name: str) -> None:
        """Carry a variable, since an iteration reads what the iteration before has left."""
        self.owners.pop(name, None)
        self.forgotten.discard(name)

    def find(self, m: Machine, forms: dict[str, Form], finals: dict[str, Any]) -> bool:
        """Find them; whether one is new, so that the body must be interpreted again."""
        new = False
        for name, x in finals.items():
            is_row = packed(x) is not None and id(x) not in m.births
            if forms[name].fresh and (is_row or _is_code(x)):
                new |= name not in self.forgotten
                self.forgotten.add(name)
            elif name in self.forgotten:
                raise Unsupported("a variable holds a row of a table, or a function, in some iterations")
        held: dict[int, str] = {}
        for name in sorted(finals, key=lambda n: forms[n].fresh):  # one that an iteration reads is carried
            x = finals[name]
            if name in self.forgotten:
                continue
            if type(x) is not list or not (holds_numbers(x) or made_here(m, x)):
                if name in self.owners:
                    raise Unsupported("a list has two names in some iterations")
                continue
            owner = held.setdefault(id(x), name)
            if owner != name and forms[name].fresh and self.owners.get(name) != owner:
                if name in self.owners or forms[name].count:
                    raise Unsupported("a list has two names in some iterations")
                self.owners[name] = owner
                new = True
            elif owner == name and name in self.owners:
                raise Unsupported("a list has two names in some iterations")
        return new


def _is_code(x: Any) -> bool:
    """Whether x is a function or an iterator that interpreted code has made."""
    return isinstance(x, (Iterator, Function)) or hasattr(type(x), "walk")  # a generator expression


def check_names(roll: Roll, held: list[tuple[Form, Any]], returned: list[tuple[Form, Any]]) -> bool:
    """Whether the iteration made each object in what is held at its end, and each of them has one name.

    Lists are refused that have another name, or may be those of the iteration before: a change to one would not be seen.
    """
    m, own = roll.m, True
    found = [part for form, x in held for part in form.containers(x)]
    names = Counter([id(x) for _, x in found])
    copied = [x for form, _ in [*held, *returned] for part in form.all() for x in part.taken]
    copied += [part for form, x in [*held, *returned] for _, part in form.containers(x)]
    if any(c.x is x for c in roll.lists for x in copied):
        raise Unsupported("a list or an object that is changed is given another name")
    for form, x in found:
        born = m.births.get(id(x))
        is_new = born is not None and born[2] == m.level
        own = own and is_new and names[id(x)] == 1
        if not form.is_copied and not is_new:
            raise Unsupported("a list of an earlier iteration, or from outside, is given another name")
        if not form.is_copied and names[id(x)] > 1:
            raise Unsupported("a list has two names")
    if roll.asked:
        entry = [part for c in roll.lists for part in c.entries()]
        entry += [(form, roll.entry[name]) for name, form in roll.forms.items() if not form.fresh]
        begun = Counter([id(x) for form, held in entry for _, x in form.containers(held)])
        kept = Counter([id(x) for form, held in held if not form.fresh for _, x in form.containers(held)])
        if any(count > 1 for count in [*begun.values(), *kept.values()]):
            raise Unsupported("objects are compared that may be the same in some iterations")
    return own


def keep_apart(roll: Roll) -> None:
    """Let no object be changed from now on of which there may be a copy behind the loop."""
    for form in (
        [] if roll.owns else [*roll.forms.values(), roll.returned, *(form for c in roll.lists for form in c.forms())]
    ):
        for x in [x for part in form.all() for x in part.taken]:
            roll.m.copied[id(x)] = x, roll.key, roll.m.level


__all__ = ["Aliases", "check_names", "keep_apart"]
