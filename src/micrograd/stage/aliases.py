"""Variables for which a rolled loop carries nothing: another one holds the same list, or it is a row of a table."""

from __future__ import annotations

from typing import Any

from micrograd.stage.errors import Unsupported
from micrograd.stage.forms import Form, holds_numbers, lists_in
from micrograd.stage.machine import Machine
from micrograd.stage.packed import packed


class Aliases:
    """What is known of such variables at the end of an iteration."""

    def __init__(self) -> None:
        self.owners: dict[str, str] = {}  # a variable -> the one that holds the same list, and is carried
        self.forgotten: set[str] = set()  # variables that hold a row of a table, which nobody may read behind the loop

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
            if forms[name].fresh and packed(x) is not None and id(x) not in m.births:
                new |= name not in self.forgotten
                self.forgotten.add(name)
            elif name in self.forgotten:
                raise Unsupported("a variable holds a row of a table in some iterations")
        held: dict[int, str] = {}
        for name in sorted(finals, key=lambda n: forms[n].fresh):  # one that an iteration reads is carried
            x = finals[name]
            if name in self.forgotten:
                continue
            if type(x) is not list or not holds_numbers(x):
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


def check_lists(m: Machine, finals: dict[str, Any]) -> None:
    """Refuse lists that have another name, or may be those of the iteration before: a change to one would not be seen."""
    found = [x for value in finals.values() for x in lists_in(value)]
    if len({id(x) for x in found}) < len(found):
        raise Unsupported("a list has two names")
    for x in found:
        born = m.births.get(id(x))
        if born is None or born[2] != m.level:
            raise Unsupported("a list of an earlier iteration, or from outside, is given another name")


__all__ = ["Aliases", "check_lists"]
