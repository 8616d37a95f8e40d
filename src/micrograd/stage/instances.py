"""Objects that each iteration of a loop makes anew, `v = v + a * dt` with a class of the user's, or a dict with the same keys.

A rolled loop carries the numbers in such an object. At the beginning of an iteration, and behind the loop, an object with the
same class and attributes stands for the one that eager code has there. No code of the class is run to make it.

Reading it is right in any case. It is not known whether eager code has another name for the object: it may be an object of the
loop before, or one that two variables hold. So a stand-in is not changed, and nobody is told whether it is the same as another
object: `Copied` is raised, and the loop that has made it is unrolled. The same holds for an object from outside for which a
copy may stand. Only where each iteration makes the objects for certain, and holds each once, they are like any other behind the
loop.
"""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from micrograd.engine import Value
from micrograd.stage.attributes import attributes, is_generated, replace
from micrograd.stage.errors import Copied
from micrograd.stage.summary import Summary

if TYPE_CHECKING:
    from micrograd.stage.machine import Machine

DEEP = 8  # objects inside of each other that are carried


class Shape(NamedTuple):
    """What objects have in common that are carried in the same way: their class, and their attributes, keys or length."""

    kind: type
    keys: Any

    def make(self, items: list[Any]) -> Any:
        """A new object with these items."""
        if self.kind in (list, tuple):
            return self.kind(items)
        if issubclass(self.kind, tuple):
            return tuple.__new__(self.kind, items)
        if self.kind is dict:
            return dict(zip(self.keys, items))
        made = object.__new__(self.kind)
        replace(made, dict(zip(self.keys, items)))
        return made


def is_plain_class(kind: Any) -> bool:
    """Whether objects of a class are their attributes and nothing else: it is written in Python, and makes no own rules."""
    plain: Any = object
    return (
        type(kind) in (type, ABCMeta)
        and kind is not object
        and kind.__new__ is plain.__new__
        and kind.__getattribute__ is plain.__getattribute__
        and (kind.__setattr__ is plain.__setattr__ or is_generated(kind.__setattr__))  # of a frozen dataclass
        and not hasattr(kind, "__del__")
        and not issubclass(kind, Value)
        and bool(kind.__flags__ & 1 << 9)  # made by a `class` statement
        and str(kind.__module__).split(".")[0] != "micrograd"
    )


def is_named(x: Any) -> bool:
    """Whether x is a named tuple and nothing beside."""
    return isinstance(x, tuple) and hasattr(type(x), "_fields") and not getattr(x, "__dict__", None)


def structure(x: Any) -> tuple[Shape, list[Any]] | None:
    """What an object is made of; None where that is not known."""
    kind = type(x)
    if kind in (list, tuple) or is_named(x):
        return Shape(kind, len(x)), list(x)
    if kind is dict:
        return (Shape(kind, tuple(x)), list(x.values())) if all(type(key) in (str, int) for key in x) else None
    if not is_plain_class(kind):
        return None
    held = attributes(x)
    return Shape(kind, tuple(held)), list(held.values())


def made_here(m: Machine, x: Any) -> bool:
    """Whether this iteration has made an object, or was given it; of a tuple, which cannot be changed, one of its items."""
    if isinstance(x, tuple):
        return any(made_here(m, item) for item in x)
    if type(x) is Summary:
        return any(made_here(m, y) for _, y in x.alternatives)
    born = m.births.get(id(x)) or m.stand_ins.get(id(x))
    if born is None or born[2] != m.level:
        return False
    return m.rolling is None or not m.rolling.changes(x)  # an object from outside belongs to the loop that changes it


def stand_in(m: Machine, x: Any, loop: Any, begun: bool) -> Any:
    """Remember that an object stands for one that may have other names; `begun`: at the beginning of an iteration."""
    m.stand_ins[id(x)] = (x, loop, m.level, begun)
    return x


def identical(m: Machine, a: Any, b: Any) -> bool:
    """Whether two objects are the same in eager code.

    Two that stand for what an iteration was given are not, if no two places hold one object between the iterations: the loop
    checks that as soon as it was asked. What the iteration has made is none of those.
    """
    if a is b or type(a) is not type(b):
        return a is b
    for x, y in ((a, b), (b, a)):
        if not _is_given(m, x):
            continue
        born = m.births.get(id(y))
        if born is not None and born[2] == m.level and not m.rolling.changes(y):
            return False
        if _is_given(m, y):
            m.rolling.asked = True
            return False
    refuse(m, a, b)
    return False


def _is_given(m: Machine, x: Any) -> bool:
    """Whether an object stands for one that this iteration was given."""
    known = m.stand_ins.get(id(x))
    return known is not None and known[3] and known[2] == m.level


def refuse(m: Machine, *things: Any) -> None:
    """Refuse to say whether such an object is the same as another one."""
    for x in things:
        if id(x) in m.stand_ins:
            raise Copied(
                f"whether a {type(x).__name__} that a loop has made is the same as another one", m.stand_ins[id(x)][1]
            )


def refuse_change(m: Machine, x: Any) -> None:
    """Refuse to change an object that may have other names, or of which there may be copies."""
    known = m.stand_ins.get(id(x)) or m.copied.get(id(x))
    if known is not None:
        raise Copied(f"a {type(x).__name__} is changed that a loop has made, or carried on", known[1])


def alternatives(x: Any) -> Iterator[Any]:
    """What a variable holds in some rows or others."""
    if type(x) is Summary:
        for _, y in x.alternatives:
            yield from alternatives(y)
    else:
        yield x


__all__ = [
    "Shape", "alternatives", "identical", "is_plain_class", "made_here", "refuse", "refuse_change", "stand_in", "structure",
]  # fmt: skip
