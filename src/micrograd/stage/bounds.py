"""What is known of whole numbers that change from one iteration to the next, where the program has asked about them.

`if i > 0: g[i] += u[i - 1]` reads an item that is there because of the condition. A comparison of affine numbers is a fact: in
the rows of one outcome, a certain affine number is not negative. An index is inside of a list if that follows from the ranges
of the loop counters and from the facts that hold here. All arms of a choice are computed in all iterations: where the fact does
not hold, `load` and `store` take the first or the last element for one that is not there, and what they give is not used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from micrograd import engine
from micrograd.ops import OPS
from micrograd.stage.errors import Unsupported
from micrograd.stage.lanes import Affine, Lane, affine, interval, least, less
from micrograd.stage.masks import FALSE, TRUE, Mask

if TYPE_CHECKING:
    from micrograd.stage.machine import Machine

MAX_FACTS = 8  # that are tried together, of those that hold at a place


def decided(how: str, a: Any, b: Any) -> bool | None:
    """The outcome of a comparison of whole numbers that is the same in all iterations; None where it may differ."""
    ends = [interval(x) for x in (a, b)]
    if affine(a) is not None and affine(b) is not None:
        low, high = least(less(a, b)), -least(less(b, a))
    elif ends[0] is not None and ends[1] is not None:
        low, high = ends[0][0] - ends[1][1], ends[0][1] - ends[1][0]
    else:
        return None
    if how in ("lt", "ge"):
        found = True if high < 0 else False if low >= 0 else None
    elif how in ("le", "gt"):
        found = True if high <= 0 else False if low > 0 else None
    else:
        found = True if low == high == 0 else False if low > 0 or high < 0 else None
    return found if found is None or how in ("lt", "le", "eq") else not found


def truth(m: Machine, x: Lane) -> Mask:
    """The rows here in which a number that changes from one iteration to the next is not 0."""
    known = decided("ne", x, 0)
    if known is not None:
        return m.here if known else FALSE
    m.by_iteration += 1
    mask = m.masks.compare("ne", x.value, 0.0)
    remember(m, mask, "ne", x, 0)
    return m.masks.both_of(m.here, mask)


def remember(m: Machine, mask: Mask, how: str, a: Any, b: Any) -> None:
    """Remember what a comparison of affine numbers says where it holds and where it does not."""
    if affine(a) is None or affine(b) is None or (type(a) is not Lane and type(b) is not Lane):
        return
    a_b, b_a = less(a, b), less(b, a)  # a - b, and b - a
    facts = {
        "lt": ([_less_one(b_a)], [a_b]), "le": ([b_a], [_less_one(a_b)]), "gt": ([_less_one(a_b)], [b_a]),
        "ge": ([a_b], [_less_one(b_a)]), "eq": ([a_b, b_a], _apart(a_b, b_a)), "ne": (_apart(a_b, b_a), [a_b, b_a]),
    }  # fmt: skip
    yes, no = facts[how]
    m.facts[id(mask)] = mask, yes
    other = m.masks.negate(mask)
    m.facts[id(other)] = other, no


def _less_one(x: Affine) -> Affine:
    return x[0], x[1] - 1


def _apart(a_b: Affine, b_a: Affine) -> list[Affine]:
    """What follows from a != b, where one of them is known to be at least the other."""
    return [_less_one(x) for x in (a_b, b_a) if least(x) >= 0]


def _facts(m: Machine) -> list[Affine]:
    """Affine numbers that are not negative in the rows that are here, in all loops that are being rolled."""
    places, roll, loops = [m.here], m.rolling, set()
    while roll is not None:
        places += [roll.going, roll.context]
        loops.add(roll)
        roll = roll.outer
    places = [mask for mask in places if mask is not TRUE]
    found: list[Affine] = []
    for mask, facts in m.facts.values():
        of_these = [fact for fact in facts if loops.issuperset(fact[0]) and fact not in found]
        if of_these and any(m.masks.without(place, mask) is FALSE for place in places):
            found += of_these
    return found


def holds(m: Machine, x: Affine) -> bool:
    """Whether an affine number is known not to be negative in the rows that are here."""
    return least(x) >= 0 or _follows(x, _facts(m)[:MAX_FACTS], 2)


def _follows(x: Affine, facts: list[Affine], steps: int) -> bool:
    """Whether an affine number is a sum of multiples of numbers that are not negative, and of one that is never negative."""
    for fact in facts if steps else ():
        for times in {1, *(n // fact[0][loop] for loop, n in x[0].items() if fact[0].get(loop))}:
            if times > 0:
                rest = less(x, ({loop: n * times for loop, n in fact[0].items()}, fact[1] * times))
                if least(rest) >= 0 or _follows(rest, facts, steps - 1):
                    return True
    return False


def inside(m: Machine, index: Any, length: Any) -> Any:
    """An index that may change from one iteration to the next, counted from the first item; None where it may be outside."""
    ends = interval(index)
    if type(index) is int and type(length) is int:
        return index + length * (index < 0) if -length <= index < length else None
    if affine(index) is not None:
        if holds(m, less(index, 0)) and holds(m, _less_one(less(length, index))):
            return index
    elif type(index) is not Lane or ends is None:
        raise Unsupported("an index that changes from one iteration to the next")
    if ends is None or type(length) is not int or ends[0] < -length or ends[1] >= length or type(index) is int:
        return None
    value = index.whole
    if ends[0] >= 0:
        return index
    if ends[1] < 0:
        from_start = {} if index.terms is None else {"terms": index.terms, "offset": index.offset + length}
        return Lane(int, value + float(length), **from_start, within=(ends[0] + length, ends[1] + length))
    wraps = engine.apply(OPS["where"], engine.apply(OPS["lt"], value, 0.0), value + float(length), value)
    return Lane(int, wraps, within=(0, length - 1))


__all__ = ["decided", "holds", "inside", "remember", "truth"]
