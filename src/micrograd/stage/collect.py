"""Comprehensions as loops in the tape that stack what each iteration gives: inside of loops that are rolled, and long ones."""

from __future__ import annotations

from typing import Any

from micrograd.stage.errors import Unsupported
from micrograd.stage.items import Items
from micrograd.stage.machine import Machine
from micrograd.stage.nodes import node_of, number_of, result_of
from micrograd.stage.packed import FLOATS, Packed, array_of
from micrograd.stage.roll import PASSES, Roll
from micrograd.stage.sample import sampled
from micrograd.stage.state import Frame
from micrograd.tape import trace as tracing
from micrograd.tape.interpret import work
from micrograd.tape.tape import Loop as Region
from micrograd.tape.tape import pad


class Collect(Roll):
    """One attempt to make a list by a loop in the tape."""

    collects = True

    def __init__(self, m: Machine, frame: Frame, items: Items) -> None:
        super().__init__(m, frame, [], items, set(), True)

    def collect(self, store: Any, element: Any) -> Packed:
        """The list of what an expression gives in each iteration."""
        m, items = self.m, self.items
        assert items is not None
        rolls, room = [self.outer], items.iterations
        while rolls[-1] is not None:
            room = max(room, rolls[-1].hint)
            rolls.append(rolls[-1].outer)
        self.loads |= room > items.iterations

        def body(m: Machine, frame: Frame) -> None:
            self.item_made = element(m, frame)

        for _ in range(PASSES):
            if self._once(None, body, store, {}):
                break
        else:
            raise Unsupported("a list in a loop takes too many forms")
        op = Region(self.body, 0, len(self.invariants), room, self.condition)
        stacks = [array_of(found) for found, _ in self.arrays]
        if self.outer is None and self.of == FLOATS:
            raise Unsupported("a list of plain numbers")
        region = node_of(op, [*self.invariants, *stacks], 0.0)
        numbers = None
        if self.outer is None:
            arrays = [tracing.peek(found) for found, _ in self.arrays]
            numbers = sampled(m, op, [*map(number_of, self.invariants), *arrays])
            m.rolled += items.iterations * work(self.body) >= m.limits.work
            each = f"{len(self.body)} instructions an iteration"
            m.notes.setdefault(self.line, f"a list that a loop in the tape makes, {each}, {room} iterations")
        region.__dict__["_numbers"] = [[0.0] * room] if numbers is None else numbers
        array = result_of(region, 0, 0.0 if numbers is None else numbers[0])
        if self.condition is not None:
            array = node_of(pad(room), [array], 0.0)
        return Packed(array, items.length, room, self.of)


__all__ = ["Collect"]
