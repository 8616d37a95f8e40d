"""What a loop does with the numbers that it carries: it chooses one of many, or it adds up. Their sweep back is a short one."""

from __future__ import annotations

from typing import NamedTuple

from micrograd.ir.forms import F64, Body, Place, walk


class Choice(NamedTuple):
    """The iterations in which a loop replaces the numbers that it keeps: those where a condition holds, or does not."""

    condition: Place
    holds: bool


def choice(loop: Place, active: set[Place]) -> Choice | None:
    """Return when a loop replaces what it carries; None where it does anything else with an active carried value."""
    (inner,) = loop.bodies
    carried = {p: y for p, y in zip(inner.params, inner.yields[1:]) if p in active}
    found = {_replaced(p, y, inner) for p, y in carried.items()}
    if len(found) != 1 or None in found:
        return None
    for place in walk(inner):
        for p, y in carried.items():
            if p in place.args and place is not y and any(q in active for q in place.results or (place,)):
                return None
            own = y.attr if y.op == "result" and y.args[0] is place else None
            if any(z is p and n != own for body in place.bodies for n, z in enumerate(body.yields)):
                return None
    return found.pop()


def _replaced(p: Place, y: Place, inner: Body) -> Choice | None:
    """Return when an iteration replaces a number, which it keeps otherwise."""
    if p.kind != F64 or inner.yields.count(p):
        return None
    if y.op == "select" and (y.args[1] is p) != (y.args[2] is p):
        return Choice(y.args[0], y.args[2] is p)
    if y.op == "result" and y.args[0].op == "if" and y.args[0] in inner.code:
        kept = [body.yields[y.attr] is p for body in y.args[0].bodies]
        if kept[0] != kept[1]:
            return Choice(y.args[0].args[0], kept[1])
    return None


def adds_up(p: Place, y: Place, inner: Body, active: set[Place]) -> bool:
    """Return whether all that an iteration does with a carried value is to add something to it.

    A sum that may be an int is one that has no sign where it is 0: `select` gives it, or the same with 0.0 added.
    """
    ends = {y, *y.args[1:]} if y.op == "select" else {y}
    sums = {_without_zero(a) for a in ends if a.op == "add"}
    if len(sums) != 1:
        return False
    (total,) = sums
    if (total.args[0] is p) == (total.args[1] is p) or not ends <= {y, total, *_zeros(y, total)}:
        return False
    own = {p, total, *ends}
    if [x for x in inner.yields if x in own] != [y]:
        return False
    for place in walk(inner):
        known = place in own or not any(q in active for q in place.results or (place,))
        if (not known and own.intersection(place.args)) or (place is not total and place in own and p in place.args):
            return False
        if any(own.intersection(body.yields) for body in place.bodies):
            return False
    return True


def _zeros(y: Place, total: Place) -> list[Place]:
    return [a for a in y.args if a.op == "add" and a.args[0] is total and _without_zero(a) is total]


def _without_zero(place: Place) -> Place:
    """Return what 0.0 is added to."""
    x, zero = place.args
    return x if zero.op == "const" and repr(zero.attr) == "0.0" and x.op == "add" else place
