"""A typed tape, run on eager Values: what its gradients are by definition."""

from __future__ import annotations

from typing import Any

from micrograd import Value
from micrograd.ir.forms import F64, TABLE, Place, Tape
from micrograd.ir.interpret import _array, _Run
from micrograd.ops import call


def data(x: Any) -> Any:
    return x.data if isinstance(x, Value) else x


class Eager(_Run):
    """The interpreter over Values in place of floats."""

    def instruction(self, place: Place) -> None:
        args = [self.of(a) for a in place.args]
        if place.op not in TABLE:
            if place.op not in ("if", "loop", "check"):
                self.values[place] = (
                    [] if place.op == "grow" and not args[1] and not args[0] else _array(place.op, args)
                )
                return
            super().instruction(place)
            return
        rule = TABLE[place.op]
        if place.op == "select":
            self.values[place] = args[1] if args[0] else args[2]
        elif rule.op is not None:
            self.values[place] = call(rule.op, *args)
        else:
            self.values[place] = rule.value(*map(data, args))


def gradient(
    tape: Tape, arguments: list[Any], of: int, wrt: list[int], item: int | None = None
) -> tuple[list[Any], list[Any]]:
    """Return what the tape yields, and the gradient of a result, or of an item of it, by the arguments `wrt`."""
    given: list[Any] = []
    for param, x in zip(tape.params, arguments):
        if param.kind == F64:
            x = Value(x)
        elif param.kind == "f64[]":
            x = [Value(item) for item in x]
        given.append(x)
    leaves = list(given)
    values = {param: list(x) if isinstance(x, list) else x for param, x in zip(tape.params, given)}
    yields = Eager(values, None).body(tape)
    y = yields[of] if item is None else yields[of][item]
    if isinstance(y, Value):
        y.backward()
    found = [[v.grad for v in leaves[k]] if isinstance(leaves[k], list) else leaves[k].grad for k in wrt]
    return [[data(item) for item in y] if isinstance(y, (list, tuple)) else data(y) for y in yields], found
