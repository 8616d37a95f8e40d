"""The ways out of a loop that is rolled: `break`, `return`, and rows that are left to a tape of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from micrograd import engine
from micrograd.engine import Value
from micrograd.ops import OPS
from micrograd.stage.errors import Bound, Unsupported
from micrograd.stage.forms import Form, holds_numbers
from micrograd.stage.instances import made_here
from micrograd.stage.join import join_values
from micrograd.stage.lanes import Lane
from micrograd.stage.machine import Machine
from micrograd.stage.masks import TRUE, Mask
from micrograd.stage.packed import packed
from micrograd.stage.state import Exits
from micrograd.stage.summary import Summary

if TYPE_CHECKING:
    from micrograd.stage.roll import Roll

WHERE = OPS["where"]

Way = tuple[str, Any]  # break, return or lost; what is returned (see below), or whether rows need more iterations
VALUE, CARRIED = (
    None,
    (),
)  # what is returned is a Value, or numbers and objects of some form; else it is a constant in a tuple


def ways_out(m: Machine, form: Form, breaks: Exits, returns: Exits) -> list[tuple[str, Any, Mask, Any]]:
    """The ways that rows take out of an iteration: the way, the rows, and what they return, of that form."""
    ways: list[tuple[str, Any, Mask, Any]] = [("break", None, s.mask, None) for s in breaks.states]
    for s in returns.states:
        for mask, x in s.result.alternatives if type(s.result) is Summary else [(TRUE, s.result)]:
            rows = m.masks.both_of(s.mask, mask)
            if isinstance(x, Value):
                ways.append(("return", VALUE, rows, x))
            elif form.roll.changes(x):  # it holds by row what it holds when the row leaves
                ways.append(("return", (x,), rows, None))
            elif type(x) is Lane or holds_numbers(x) or made_here(m, x):
                form.admit(x)
                ways.append(("return", CARRIED, rows, x))
            elif packed(x) is not None or isinstance(x, set):
                raise Unsupported("a loop returns what changes from one iteration to the next")
            else:
                ways.append(("return", (x,), rows, None))
    return ways + [("lost", mask in m.bounds, mask, None) for mask in m.lost]


def numbers_of(m: Machine, roll: Roll, ways: list[tuple[str, Any, Mask, Any]], before: list[Value]) -> list[Any]:
    """The number of the way that each row takes, 0 where it stays in the loop, and what it returns; `before`: the latter."""
    found: list[Any] = list(before)
    code: Any = 0.0
    for kind, what, mask, _ in reversed(ways):
        code = engine.apply(WHERE, m.masks.value(mask), 1.0 + roll.exits.index((kind, what)), code)
    for kind, what, mask, x in reversed(ways):
        if kind == "return" and (what is VALUE or what == CARRIED):
            numbers = [x] if what is VALUE else [None, *roll.returned.carried(m, x)]
            for k, number in enumerate(numbers):
                if number is not None:
                    found[k] = join_values(m, [(mask, None, number), (m.masks.negate(mask), None, found[k])])
    return [code, *found]


def leave(m: Machine, roll: Roll, how: Value, returned: list[Value]) -> None:
    """Let the rows wait where they have left the loop to: `how` has the number of the way, `returned` what is returned."""
    here, frame = m.here, roll.frame
    for k, (kind, what) in enumerate(roll.exits):
        mask = m.masks.both_of(here, m.masks.compare("eq", how, 1.0 + k))
        m.here = mask
        if kind == "break":
            m.leave(frame.variables[".break"])
        elif kind == "return":
            assert frame.exits is not None
            if what is VALUE:
                result: Any = returned[0]
            else:
                result = roll.returned.rebuilt(m, returned[1:]) if what == CARRIED else what[0]
            m.leave(frame.exits, result, None if frame.captured else frame)
        else:
            why = "an exception is raised, or something is done that is not merged"
            m.lose(mask, Bound("more iterations of this loop than are unrolled") if what else why)
        here = m.masks.without(here, mask)
    m.here = here


__all__ = ["Way", "leave", "numbers_of", "ways_out"]
