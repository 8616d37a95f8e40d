"""The forms that the variables of a rolled loop take: Values, a few constants, or plain numbers that change."""

from __future__ import annotations

from typing import Any

from micrograd.engine import Value
from micrograd.stage.errors import StaleRead, Unsupported
from micrograd.stage.lanes import Lane
from micrograd.stage.machine import Machine
from micrograd.stage.masks import TRUE
from micrograd.stage.summary import STALE, Summary, _constant_key, join, number

FEW = {int: 3}  # numbers that a variable may take as constants, by their type
OTHERS = 9


class Form:
    """What a variable may hold at the beginning of a turn."""

    def __init__(self, fresh: bool = False) -> None:
        self.fresh = fresh  # whether each turn assigns it before it reads it: then this is what it holds at the end
        self.constants: list[Any] = []
        self.value = False  # a Value
        self.lane: type | None = None  # a plain number that changes

    def admit(self, x: Any) -> bool:
        """Let a variable hold x too; whether that is new."""
        if type(x) is Summary:
            news = [self.admit(y) for _, y in x.alternatives]  # all of them
            return any(news)
        if x is STALE:
            raise StaleRead
        if isinstance(x, Value):
            new, self.value = not self.value, True
        elif type(x) is Lane:
            new = self.lane is not x.kind
            if new and self.lane is not None:
                raise Unsupported("a variable is an int in one turn and a float in another")
            self.lane = x.kind
        else:
            if self.lane is type(x):
                return False
            keys = [_constant_key(c) for c in self.constants]
            new = _constant_key(x) not in keys
            if new:
                self.constants.append(x)
                if len(self.constants) > FEW.get(type(x), OTHERS):
                    self._widen()
        if self.lane is not None and (self.value or any(type(c) is not self.lane for c in self.constants)):
            raise Unsupported("a variable holds a plain number in one turn and something else in another")
        if self.lane is not None:
            self.constants = []
        return new

    def _widen(self) -> None:
        kinds = {type(c) for c in self.constants}
        if kinds not in ({int}, {float}) or self.value:
            raise Unsupported("a variable holds too many different things from turn to turn")
        self.lane = kinds.pop()

    @property
    def fixed(self) -> bool:
        return not self.value and self.lane is None and len(self.constants) == 1

    @property
    def count(self) -> int:
        """How many numbers are carried for the variable."""
        return 0 if self.fixed else 1 if self.lane is not None else self.value + self.coded

    @property
    def coded(self) -> bool:
        return len(self.constants) + self.value > 1 if self.lane is None else False

    def carried(self, m: Machine, x: Any) -> list[Any]:
        """What is carried for a variable that holds x: its number, and which of the alternatives it is."""
        if self.fixed:
            return []
        if self.lane is not None:
            if type(x) is Summary:
                x = Lane(self.lane, number(m, _without_lanes(x)))
            return [x.value if type(x) is Lane else float(x)]
        parts = x.alternatives if type(x) is Summary else [(TRUE, x)]
        found: list[Any] = []
        if self.value:
            values = [(mask, None, y) for mask, y in parts if isinstance(y, Value)]
            found.append(join(m, values) if values else 0.0)  # type: ignore[arg-type]
        if self.coded:
            keys = [_constant_key(c) for c in self.constants]
            codes = [
                (mask, None, -1.0 if isinstance(y, Value) else float(keys.index(_constant_key(y)))) for mask, y in parts
            ]
            code = join(m, codes)  # type: ignore[arg-type]
            found.append(number(m, code))
        return found

    def rebuilt(self, m: Machine, carried: list[Any]) -> Any:
        """What a variable holds, from what is carried for it."""
        if self.fixed:
            return self.constants[0]
        if self.lane is not None:
            return Lane(self.lane, carried[0])
        if not self.coded:
            return carried[0]
        code, alternatives, rest = carried[-1], [], TRUE
        for k, c in enumerate(self.constants):
            mask = m.masks.compare("eq", code, float(k))
            alternatives.append((mask, c))
            rest = m.masks.without(rest, mask)
        if self.value:
            alternatives.append((rest, carried[0]))
        return Summary(alternatives)


def _without_lanes(x: Summary) -> Summary:
    return Summary([(mask, y.value if type(y) is Lane else y) for mask, y in x.alternatives])
