"""Whether modules have the parts that they had: compiled training replays a trace, which does not know of later layers."""

from __future__ import annotations

import functools
from typing import Any

from micrograd.nn.module import Module


class Watch:
    """The parts of some modules, as they are now. `changed()` says cheaply whether there are others by now."""

    def __init__(self, modules: list[Module]) -> None:
        self.modules = modules
        self._look()

    def _look(self) -> None:
        self._version = Module.assignments
        self._parts = [id(part) for module in self.modules for _, part in module.modules()]
        holders = [c for m in self.modules for _, part in m.modules() for c in vars(part).values()]
        lists = [c for c in holders if isinstance(c, (list, dict)) and any(isinstance(x, Module) for x in c)]
        self._lengths = [(part, len(part)) for part in lists]

    def changed(self) -> bool:
        """Whether a module was added, removed or exchanged."""
        for part, length in self._lengths:
            if len(part) != length:
                return True
        if Module.assignments != self._version:  # an attribute of some module was assigned: look closely, once
            before = self._parts
            self._look()
            return self._parts != before
        return False


def modules_of(f: Any) -> list[Module]:
    """Return the modules that a function refers to: itself, its arguments by partial, its closure and its globals."""
    found: dict[int, Module] = {}
    stack, seen = [f], set()
    while stack:
        x = stack.pop()
        if id(x) in seen:
            continue
        seen.add(id(x))
        if isinstance(x, Module):
            found[id(x)] = x
        elif isinstance(x, functools.partial):
            stack += [x.func, *x.args, *x.keywords.values()]
        elif hasattr(x, "__code__"):
            cells = [cell.cell_contents for cell in x.__closure__ or () if _is_filled(cell)]
            names = [x.__globals__[name] for name in x.__code__.co_names if name in x.__globals__]
            stack += [c for c in [*cells, *names, *(x.__defaults__ or ())] if isinstance(c, Module) or callable(c)]
        elif hasattr(x, "__self__") and isinstance(x.__self__, Module):
            stack.append(x.__self__)
        elif hasattr(x, "__wrapped__"):
            stack.append(x.__wrapped__)
    return list(found.values())


def _is_filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True
