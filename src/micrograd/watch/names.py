"""What a compiled function reads from outside of it: globals, variables of functions around it, defaults, and what is in them.

In a trace they are constants, or captured Values. So the names are watched like the modules of nn (modules.py), and the
function is traced again where a name stands for something else, or where a list, a dict, an array or an object that it stands
for has changed. Long lists and large arrays of plain numbers are data: only the name is watched. What belongs to an installed
package is not watched.
"""

from __future__ import annotations

from typing import Any

from micrograd.watch.code import content
from micrograd.watch.guards import parts_of, read
from micrograd.watch.owners import Owner
from micrograd.watch.reach import Reach


class Names:
    """The names that a function reads from outside, and those that the functions which it calls read, with what they are.

    `selected` has pairs: a namespace or a class, and the names there that count. `owners` are what the names stand for, where
    there is something in it that can change.
    """

    def __init__(self, f: Any) -> None:
        found = Reach(f)
        self.x = f
        self.selected = [(holder, tuple(names)) for holder, names in found.names.values() if names]
        self.cells = found.cells
        self.functions, self.classes = found.functions, found.classes
        self.owners = [Owner(x, found.words, name=name) for x, name in found.held]

    def things(self) -> list[Any]:
        """What is to be watched: these names, and what is in the things that they stand for."""
        return [*([self] if self.selected or self.cells or self.functions else []), *self.owners]

    def parts(self) -> tuple[list[Any], list[Any], bool]:
        """What the names stand for now, where they are, and that identities tell it."""
        state: list[Any] = [read(holder, name) for holder, names in self.selected for name in names]
        cells = [cell for cell, _ in self.cells]
        state += [*map(content, cells), *(x for f in self.functions for x in parts_of(f))]
        state += [cls.__mro__ for cls in self.classes]
        return state, [*self.selected, *cells, *self.functions, *self.classes], False

    def name_of(self, place: int) -> str:
        """Which name it is whose meaning stands at a place of the parts."""
        names = [*(name for _, names in self.selected for name in names), *(name for _, name in self.cells)]
        names += [f.__name__ for f in self.functions for _ in range(3)]
        return [*names, *(cls.__name__ for cls in self.classes)][place]
