"""The trace of a function for all rows: its typed tape as a tape of floats, with what the pipeline for rows asks of a trace."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from math import prod
from pathlib import Path
from typing import Any

from micrograd.abstract import staged
from micrograd.abstract.errors import Refused
from micrograd.engine import Value
from micrograd.ir.forms import F64, I64, walk
from micrograd.stage.lowered import Array, Lowered, Lowering, Number, lowered
from micrograd.tape import interpret, passes
from micrograd.tape.tape import Tape
from micrograd.tape.trace import Trace, peek
from micrograd.tree import flatten, is_array, without_bools

Arrange = Callable[[list[Any]], tuple[Sequence[Any], dict[str, Any]]]
PACKAGE = str(Path(__file__).resolve().parents[1])
MERGED = "merged: all arms are computed, and each row picks its own (masked)"
WHOLE = ("floor", "ceil", "round", "trunc")
RECURSION, ITERATIONS = 12, 8  # calls inside of each other, and iterations, that are written out at level 0
SAMPLED = 100_000  # instructions that are interpreted for the numbers of the row at hand


def trace_rows(
    f: Any,
    arrange: Arrange,
    given: Sequence[Any],
    rows: bool,
    work: int = 0,
    kept: int = 0,
    level: int = 0,
    leaves_arms: bool = False,
) -> Trace:
    """Return the trace of f for all rows; Refused where it cannot be followed, or not in lanes.

    `arrange` makes the arguments of f, by position and by name, from a flat list of numbers, of which `given` is one. For
    `rows`, ints and bools among the results are numbers of a column. With `work`, there has to be a loop with so many
    instructions in all of its iterations, or with a condition. `kept`: how many carried numbers of all iterations a derivative
    inside of f keeps, 0 for all of them. With each `level`, recursion and lists that become longer are written out four times
    as far, where numbers decide how far. With `leaves_arms`,
    rows that take an arm which is not followed are rejected.
    """
    args, named = arrange(list(given))
    found = staged.stage(
        f,
        [*args, *named.values()],
        names=list(named),
        captures=True,
        apart=RECURSION << 2 * level,
        leaves_arms=leaves_arms,
    )
    if found.mixes and any(place.op == "neg" for place in walk(found.tape)):  # -0 is 0, and -0.0 is not
        raise Refused("a number may be an int or a float, and its sign is changed")
    if found.asks and any(place.op in WHOLE for place in walk(found.tape)):
        raise Refused(
            "a function asks for classes of numbers, which rounding makes ints of where no argument has a part in them"
        )
    places = _Places(arrange, len(given))
    arrangement: dict[str, Any] = {}

    def param(low: Lowering, k: int) -> Number | Array:
        if k >= len(found.params):
            return low.param(k - len(found.params))
        path, _, what, axis = found.params[k]
        return places.param(low, path, what, axis)

    def outputs(low: Lowering, yields: list[Any]) -> list[Number]:
        made: dict[int, Number] = {}
        arrangement["made"] = result = _Result(low, yields, made, rows).arranged(found.result)
        leaves: list[Any] = []
        arrangement["shape"] = flatten(without_bools(result) if rows else result, leaves)
        arrangement["constants"] = [(k, x) for k, x in enumerate(leaves) if not isinstance(x, Value)]
        return [made[id(x)] if isinstance(x, Value) else low.const(x) for x in leaves]

    lower = lowered(found.tape, len(given), len(found.captured), param, outputs, work, kept, ITERATIONS << 2 * level)
    if work and not lower.rolled:
        raise Refused("there is no long loop in it")
    made = Trace(_tidy(lower.tape), found.captured, arrangement["shape"])
    made.constants, made.staged, made.of_rows = arrangement["constants"], True, rows
    made.merged, made.bounded = lower.chooses, lower.bounded
    made.notes = _notes(found, lower)
    if any(type(x) is not float for x in given):
        made.asked = {tuple(map(type, given))}
    if found.derivatives:
        made.derivatives = frozenset(range(len(made.tape.outputs)))
    _sample(made, [float(x) for x in given])
    return made


def _notes(found: staged.Staged, lower: Lowered) -> dict[str, str]:
    """What became of each branch and each loop of the program: file:line → words."""
    notes = dict.fromkeys(found.choices, MERGED) | lower.notes
    for where, what in found.notes:
        notes[where] = f"{notes[where]}; {what}" if where in notes and "their own" in what else what
    return {where: what for where, what in notes.items() if where and not where.startswith(PACKAGE)}


def _tidy(tape: Tape) -> Tape:
    return passes.prune(passes.fuse(passes.simplify(tape)))


def _sample(made: Trace, numbers: list[float]) -> None:
    """Compute the results for the row at hand, where that takes little time."""
    try:
        made.numbers, _ = interpret.counted(lambda: interpret.run(made.tape, numbers, peek(made.captured)), SAMPLED)
    except interpret.TooLong:
        made.evidence.sampled = False
    except interpret.GuardFailed:
        made.numbers = [0.0] * len(made.tape.outputs)


class _Places:
    """Where the numbers of the arguments are in the flat list."""

    def __init__(self, arrange: Arrange, count: int) -> None:
        args, named = arrange([float(k) for k in range(count)])
        self.args = (*args, *named.values())

    def param(self, low: Lowering, path: staged.Path, what: str, axis: int) -> Number | Array:
        """What a param of the typed tape is for a row."""
        x: Any = self.args
        for how, name in path:
            x = getattr(x, name) if how == "attribute" else x[name]
        if what == "number":
            return low.input(int(x))
        if what == "length":
            for _ in range(0 if is_array(x) else axis):
                x = x[0]
            return low.const(x.shape[axis] if is_array(x) else len(x))
        return low.array([low.input(int(k)) for k in (x.ravel().tolist() if is_array(x) else _flat(x))])


def _flat(x: Any) -> list[Any]:
    while x and type(x[0]) in (list, tuple):
        x = list(chain.from_iterable(x))
    return list(x)


def _listed(items: list[Any], cls: type) -> Any:
    if cls.__module__ != "numpy":
        return items if cls is list else cls(items)
    import numpy as np

    if items and is_array(items[0]):
        return np.stack(items)
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array


class _Result:
    """Makes what the function returns, with a Value in place of each number."""

    def __init__(self, low: Lowering, yields: list[Any], made: dict[int, Number], rows: bool) -> None:
        self.low, self.yields, self.made, self.rows = low, yields, made, rows
        self.kept: list[Value] = []

    def number(self, x: Number, kind: str) -> Any:
        if kind != F64 and not self.rows:
            raise Refused("a result is an int or a bool, which depends on the path")
        value = Value(0.0)
        self.kept.append(value)
        self.made[id(value)] = x
        return value

    def arranged(self, part: Any) -> Any:
        if isinstance(part, staged.Leaf):
            return self.number(self.yields[part.number], part.kind)
        if isinstance(part, staged.Constant):
            return part.value
        if isinstance(part, staged.Mixed):  # an int in some rows, which is a number of the column as any other
            return self.number(self.yields[part.number], F64 if self.rows else I64)
        if isinstance(part, staged.Sequence_):
            items = [self.arranged(p) for p in part.items]
            return part.cls(*items) if hasattr(part.cls, "_fields") else part.cls(items)
        if isinstance(part, staged.Mapping_):
            return part.cls(zip(part.keys, [self.arranged(p) for p in part.items]))
        if isinstance(part, staged.Array):
            shape = tuple(map(self.length, part.shape))
            numbers = iter(self.items(part.number, part.kind))
            if part.cls.__module__ == "numpy":
                return self.numpy(shape, part.cls, numbers)
            return self.nested(shape, part.cls, numbers)
        assert isinstance(part, staged.Records), part
        return _listed([self.item(part.item, i) for i in range(self.length(part.length))], part.cls)

    def length(self, n: Any) -> int:
        return self.low.whole(self.yields[n.number]) if isinstance(n, staged.Leaf) else int(n)

    def items(self, number: int, kind: str) -> list[Any]:
        return [self.number(x, kind.removesuffix("[]")) for x in self.low.items(self.yields[number])]

    def nested(self, shape: tuple[int, ...], cls: type, numbers: Iterator[Any]) -> Any:
        items = [next(numbers) if len(shape) == 1 else self.nested(shape[1:], cls, numbers) for _ in range(shape[0])]
        return items if cls is list else cls(items)

    def numpy(self, shape: tuple[int, ...], cls: type, numbers: Iterator[Any]) -> Any:
        return _listed([next(numbers) for _ in range(prod(shape))], cls).reshape(shape)

    def item(self, part: Any, i: int) -> Any:
        """Item i of a list whose numbers are in arrays, one for all items each."""
        if isinstance(part, staged.Leaf):
            kind = part.kind.removesuffix("[]")
            return self.number(self.low.load(self.yields[part.number], self.low.const(i)), kind)
        if isinstance(part, staged.Array):
            width = self.length(part.shape[1])
            flat = self.yields[part.number]
            numbers = [self.low.load(flat, self.low.const(i * width + j)) for j in range(width)]
            items = [self.number(x, part.kind) for x in numbers]
            return _listed(items, part.cls)
        if isinstance(part, staged.Sequence_):
            parts = [self.item(p, i) for p in part.items]
            return part.cls(*parts) if hasattr(part.cls, "_fields") else part.cls(parts)
        return self.arranged(part)


__all__ = ["Arrange", "trace_rows"]
