"""The tapes of the body and of the condition of a loop that is rolled."""

from __future__ import annotations

from typing import Any

from micrograd import graph
from micrograd.engine import Value
from micrograd.stage.errors import Unsupported
from micrograd.tape import trace as tracing
from micrograd.tape.builder import Builder
from micrograd.tape.passes import prune
from micrograd.tape.tape import SOURCES, Tape

linearize: Any = getattr(tracing, "linearize", graph.linearize)


def write(
    serial: int, carried: list[Any], inputs: list[Value], last: list[Value], tests: list[Any]
) -> tuple[Tape, Tape | None, list[Value]]:
    """The tapes of body and condition, and the Values from outside that they read.

    An iteration makes `carried` (and of a loop with a condition `tests`) from `inputs`, the carried values before it, and
    from `last`, the elements of arrays and the iteration number.
    """
    found: Any = linearize([*carried, *tests], [*inputs, *last], serial, SOURCES)
    if len(found) == 1:
        raise Unsupported("a hand-written _backward inside a loop")
    ops, args, captured, places = found
    whole = Tape(len(inputs) + len(last), len(captured), tuple(ops), tuple(args), tuple(places))
    total = len(inputs) + len(captured) + len(last)

    def part(outputs: Any) -> Tape:
        b = Builder(total)
        given = [b.input(k) for k in range(total)]
        first, behind = len(inputs), len(inputs) + len(captured)
        return prune(
            b.finish(b.inline(whole.copy(outputs=tuple(outputs)), given[:first] + given[behind:], given[first:behind]))
        )

    condition = part(places[len(carried) :]) if tests else None
    return part(places[: len(carried)]), condition, list(captured)


__all__ = ["write"]
