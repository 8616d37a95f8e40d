"""Calls of functions that are not interpreted: known builtins, functions of micrograd, and at the outermost level anything."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from micrograd.engine import Value
from micrograd.stage import iterate, iterators, mixed, ragged, special
from micrograd.stage.errors import Unsupported
from micrograd.stage.join import number
from micrograd.stage.lanes import Lane, standard
from micrograd.stage.pure import OF_LISTS, STANDARD, WHOLE, total
from micrograd.stage.summary import Summary

if TYPE_CHECKING:
    from micrograd.stage.machine import Machine


def once(m: Machine, f: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Call something that may have an effect, and so not for one alternative after the other."""
    if any(type(plainly(m, a)) is Summary for a in [*args, *kwargs.values()]):
        raise Unsupported(f"a call of {getattr(f, '__qualname__', type(f).__name__)} with what differs by row")
    return native(m, f, args, kwargs)


def native(m: Machine, f: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Call something as it is."""
    plain = [plainly(m, a) for a in args]
    special.refuse_inside(m, *plain, *kwargs.values())
    if m.mixed and m.limits.coarse and not (total(f) and f not in WHOLE):
        mixed.refuse(m, *[x for a in [*plain, *kwargs.values()] for x in (a if type(a) in (list, tuple) else [a])])
    named = {name: plainly(m, a) for name, a in kwargs.items()}
    if any(map(_has_lane, [*plain, *named.values()])):
        plain = _on_tape(f, plain, named)
    if any(type(a) is Lane for a in [*plain, *named.values()]):
        if f in STANDARD and not named and all(type(a) in (Lane, int, float) for a in plain) and len(plain) <= 2:
            if f is math.log and len(plain) > 1:
                raise Unsupported(
                    "a logarithm to a base, of a plain number that changes from one iteration to the next"
                )
            return standard(m, f, STANDARD[f], plain)
        on_tape = any(isinstance(a, Value) for a in plain)
        if not total(f) or (f in WHOLE and not on_tape) or named or any(type(a) is Summary for a in plain):
            raise Unsupported(
                "a number that changes from one iteration to the next is handed to code that is not interpreted"
            )
        y = f(*[a.value if type(a) is Lane else a for a in plain])
        return y if on_tape else Lane(float, y)
    if not any(type(a) is Summary for a in [*plain, *named.values()]):
        return new(m, f(*plain, **named))
    names = list(named)

    def apply(*every: Any) -> Any:
        inside = [plainly(m, a) for a in every]  # lists that differ by row may have elements that do, too
        given, by_name = inside[: len(plain)], dict(zip(names, inside[len(plain) :]))
        return native(m, f, given, by_name) if Lane in map(type, inside) else new(m, f(*given, **by_name))

    return m.lift(apply, *plain, *named.values())


def _has_lane(x: Any) -> bool:
    """Whether a container has a plain number in it that differs by row, or changes from one iteration to the next."""
    items = x.values() if type(x) is dict else x if type(x) in (list, tuple) else ()
    return any(type(i) is Lane or _has_lane(i) for i in items)


def _on_tape(f: Any, args: list[Any], named: dict[str, Any]) -> list[Any]:
    """The same with the numbers of the tape in place of those, where a function of micrograd has a Value as its result."""
    several = [i for a in args if type(a) in (list, tuple) for i in a]
    known = getattr(f, "__hash__", None) is not None and f in OF_LISTS
    if not known or named or any(map(_has_lane, several)) or not any(isinstance(i, Value) for i in several):
        raise Unsupported("a list with plain numbers that change is handed to code that is not interpreted")
    return [type(a)([i.value if type(i) is Lane else i for i in a]) if type(a) in (list, tuple) else a for a in args]


def new(m: Machine, result: Any) -> Any:
    """What such code gives: a container that it has made is one of the program's."""
    return m.made(result) if type(result) in (list, dict, set) and id(result) not in m.births else result


def plainly(m: Machine, x: Any) -> Any:
    """An argument for code that is not interpreted: containers without Summaries in them."""
    x = ragged.settle(m, x)
    if type(x) in (list, tuple):
        if any(type(i) in (Summary, list, tuple, dict) for i in x):
            parts = [number(m, plainly(m, i)) for i in x]
            if any(type(i) is Summary for i in parts):
                raise Unsupported("a list of what differs by row is handed to code that is not interpreted")
            return x if all(a is b for a, b in zip(parts, x)) else type(x)(parts)
        return x
    if type(x) is dict and any(type(i) is Summary for i in x.values()):
        raise Unsupported("a dict of what differs by row is handed to code that is not interpreted")
    if isinstance(x, iterate.Comprehension):
        return plainly(m, x.items(m))
    if isinstance(x, iterators.Iterator):
        return plainly(m, iterate.items(m, x))
    return x


__all__ = ["native", "new", "once", "plainly"]
