"""The variables of a call, what an arm has changed, and where rows wait that have left it."""

from __future__ import annotations

from typing import Any

from micrograd.stage.attributes import attributes, replace
from micrograd.stage.masks import Mask
from micrograd.stage.summary import UNBOUND

Key = tuple[int, Any]
Journal = dict[Key, tuple[Any, Any, Any]]  # (id of the object, variable) → (object, variable, what it held)


class Frame:
    """The variables of one call."""

    __slots__ = ("birth", "captured", "code", "exits", "level", "lookup", "parent", "variables")

    def __init__(self, code: Any, parent: Any, lookup: Any, birth: Mask, level: int) -> None:
        self.code, self.parent, self.lookup = code, parent, lookup
        self.variables: dict[str, Any] = {}
        self.birth, self.level = birth, level
        self.captured = False  # whether a function was made here that may read the variables later
        self.exits: Exits | None = None


class Exits:
    """The states that wait at the end of a function, a loop or an iteration of one."""

    __slots__ = ("alive", "arithmetic", "index", "level", "states", "whole")

    def __init__(self, index: int, alive: Mask, level: int = -1) -> None:
        self.index, self.alive = index, alive  # the first journal of this part, and the rows that have not left it
        self.level = level  # of a `try`: the differentiated function that it is in
        self.arithmetic = False, False  # of a `try`: whether it may catch errors of operators, and of math's functions
        self.whole = False  # whether the variables of a function that ends are kept for what runs behind it
        self.states: list[State] = []


class State:
    """Where some rows are: what differs from the state at the fork, and a result."""

    __slots__ = ("changes", "mask", "result", "selector")

    def __init__(self, mask: Mask, selector: Mask | None, changes: Journal, result: Any = None) -> None:
        self.mask, self.selector, self.changes, self.result = mask, selector, changes, result


def contents(x: Any, name: Any = None) -> Any:
    """What a variable or an object holds, as a copy."""
    if isinstance(x, Frame):
        return x.variables.get(name, UNBOUND)
    if isinstance(x, (list, dict, set)):
        return x.copy()
    return attributes(x)


def restore(x: Any, name: Any, what: Any) -> None:
    """Put back what `contents` gave."""
    if isinstance(x, Frame):
        if what is UNBOUND:
            x.variables.pop(name, None)
        else:
            x.variables[name] = what
    elif isinstance(x, list):
        x[:] = what
    elif isinstance(x, (dict, set)):
        x.clear()
        x.update(what)
    else:
        replace(x, what)


def changes(journals: list[Journal], without: Frame | None = None) -> Journal:
    """What was changed according to journals, as it is now."""
    found: Journal = {}
    for journal in journals:
        for key, (x, name, _) in journal.items():
            if key not in found and x is not without:
                found[key] = (x, name, contents(x, name))
    return found


def undo(journal: Journal) -> None:
    """Put back what everything held when the journal began."""
    for x, name, what in journal.values():
        restore(x, name, what)
