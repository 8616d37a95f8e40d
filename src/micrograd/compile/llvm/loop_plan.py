"""What is known of a loop before its text is written: its number of iterations, where its arrays are, what is kept as flags."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from micrograd.compile.llvm import arrays, cells, indices, lanes
from micrograd.compile.llvm.arrays import Array
from micrograd.compile.llvm.nested import Mask, Nested, stays
from micrograd.compile.llvm.ranges import LinearForm
from micrograd.compile.llvm.windows import Window, span
from micrograd.compile.tuning import TUNING
from micrograd.tape.decisions import Decisions
from micrograd.tape.tape import BUMP, INPUT, LOAD, STORE, Loop, Projection, pad, result
from micrograd.tape.truths import Truths


class LoopPlan:
    """One loop before it is written: its iterations, its memory, and what is kept as flags."""

    def __init__(self, t: Nested, op: Loop, place: int, decided: list[Decisions], used: list[Truths]) -> None:
        self.t, self.op, self.place, self.used = t, op, place, used
        places = t.tape.args[place]
        carried, invariants, over = op.groups([lanes.value(t, a) for a in places])
        self.invariants = [lanes.lent(x) for x in invariants]
        self.over = [lanes.lent(x) for x in over]
        self._name_whole_numbers(places[op.carried : op.carried + op.invariants], invariants)
        self.n = t.label()
        self.ask = op.condition is not None
        self.dynamic = self.ask or op.iterations is None
        self.uniform = op.condition is not None and indices.is_uniform(
            op.condition,
            [*["" for _ in carried], *self.invariants, *["" for _ in over], ""],
            op.body.inputs - 1,
            t.integers,
        )
        self.masked = (
            self.dynamic
            and not t.point
            and not self.uniform
            and not (op.condition is None and over and not over[0].lanes)
        )
        self.body_decided, *rest = decided
        self.condition_decided = rest[0] if rest else None
        self.taken: LinearForm | None = None  # how many iterations are taken, where that is known before the first one
        if self.uniform and op.condition is not None:
            given = [*carried, *self.invariants, *self.over, ""]
            self.taken = indices.iterations(t, op.condition, given)
            self.ask = self.taken is None
        self.count, self.lanes = "", ""
        if self.taken is not None:
            self.count = indices.count(t, self.taken, op.iterations)
        elif op.iterations is not None:
            self.count = str(op.iterations)
        elif not self.ask:
            self.count, self.lanes = self.over[0].length, self.over[0].lanes
        self.shapes = t.shapes_of(op.body, [*carried, *self.invariants, *(self._inner(a) for a in self.over), "index"])
        self.stacked = [self.shapes[o] for o in op.body.outputs[op.carried :]]
        last = op.body.inputs - 1  # of the iteration numbers, nothing is kept
        self.iterations_stacked = [
            op.body.ops[o] is INPUT and op.body.args[o][0] == last for o in op.body.outputs[op.carried :]
        ]
        self._plan_flags()
        self._plan_memory(carried)
        self.init: list[Any] = [
            self._begin(x, j, a) if isinstance(x, Array) else self._flagged(x, j)
            for j, (x, a) in enumerate(zip(carried, places))
        ]
        self.buffers: list[tuple[str, str]] = []  # of each stacked array: its buffer, if it grows; its pointer, if not

    def _inner(self, array: Array) -> Any:
        return array._replace(shape=array.shape[1:]) if array.shape[1:] else "number"

    def _limits(self) -> list[LinearForm]:
        """The highest number that an iteration can have, in as many ways as are known."""
        found = [] if self.op.iterations is None else [LinearForm(self.op.iterations - 1)]
        room = self._room_of_arrays()
        found += [LinearForm(room - 1)] if room else []
        for count in (self.taken, self.t.ranges.linear(self.count) if self.count else None):
            if count is not None:
                found.append(count.plus(LinearForm(-1)))
        return list(dict.fromkeys(found))

    def _room_of_arrays(self) -> int:
        """The most iterations of a loop that has as many as its first array has elements; 0 where that is not known."""
        counts = self.op.iterations is None and self.op.condition is None
        return self.over[0].room if counts else 0

    def _is_short(self) -> bool:
        """Whether it surely takes fewer iterations than are taken between two checks for an interruption."""
        found = [self.t.ranges.highest(limit) for limit in self._limits()]
        return any(highest is not None and highest < TUNING.checked_iterations for highest in found)

    def _name_whole_numbers(self, places: Sequence[int], names: Sequence[Any]) -> None:
        """Write down which invariants are the same in all rows, and whole."""
        t = self.t
        if not _counts(self.op):
            return

        def known(k: int) -> bool:
            at = next((p for p, (o, a) in enumerate(zip(t.tape.ops, t.tape.args)) if o is INPUT and a[0] == k), None)
            return at is not None and t.names.get(at) in t.integers

        for place, name in zip(places, names):
            if isinstance(name, str) and indices.is_whole(t.tape, place, known):
                t.integers[name] = indices.whole(t, place)

    def _plan_flags(self) -> None:
        """Say which results are kept as flags: those of which only the truth is used, outside and in the next iteration.

        Flags in registers are fast where the processor has registers for masks; those of an array are bits in memory.
        """
        op, used, t = self.op, self.used[0].places, self.t
        masks = t.point or t.target.bits >= 512
        self.flags: set[int] = set(
            range(op.carried)
        )  # what is used in the next iteration alone is not asked for outside
        for place, (result_op, args) in enumerate(zip(t.tape.ops, t.tape.args)):
            if args == (self.place,) and isinstance(result_op, Projection):
                if place in t.truths.places:
                    self.flags.add(result_op.number)
                else:
                    self.flags.discard(result_op.number)
        for k, o in enumerate(op.body.outputs):
            s, dimensions = k - op.carried, len(self.shapes[o])
            as_bits = dimensions == 0 and not self.iterations_stacked[s] if s >= 0 else dimensions == 1
            if o not in used or not (as_bits or (s < 0 and dimensions == 0 and masks)):
                self.flags.discard(k)
        for place, (made_by, a) in enumerate(zip(op.body.ops, op.body.args)):
            if made_by is INPUT and a[0] < op.carried and place not in used:
                self.flags.discard(a[0])

    def _flagged(self, x: str, j: int) -> str:
        """Return a carried number before the first iteration, as flags where it is kept so."""
        if j not in self.flags:
            return x
        place = self.t.tape.args[self.place][j]
        return Mask(self.t.condition(place))

    def _plan_memory(self, carried: Sequence[Any]) -> None:
        """Say how each carried array is kept from one iteration to the next.

        history    the array of each iteration is kept anyway: an iteration reads one of them, and makes the next
        two        an iteration reads one array and makes another one, in memory that they exchange
        windows    the elements that an iteration changes are in registers
        neither    it is changed in place, or (with lanes that are done) copied
        """
        t, op = self.t, self.op
        self.history: dict[int, int] = {}
        self.two: dict[int, str] = {}
        self.others: dict[int, str] = {}  # where an iteration makes the next array
        self.windows: dict[int, Window] = {}
        for j, x in enumerate(carried):
            if not isinstance(x, Array) or self.masked:
                continue
            if stays(op.body, j, self.shapes):
                self._plan_window(x, j)
                continue
            outputs = op.body.outputs[op.carried :]
            kept = [s for s, o in enumerate(outputs) if op.body.ops[o] is INPUT and op.body.args[o][0] == j]
            if len(kept) == 1 and op.iterations is not None and not self.dynamic and not op.reverse:
                self.flags.discard(j)
                self.history[j] = kept[0]
            else:
                self.two[j] = arrays.room(t, t.memory, arrays.size_of(x.shape) * cells.cell(t, j in self.flags))

    def _plan_window(self, x: Array, j: int) -> None:
        t, op = self.t, self.op
        (length, *inner) = x.shape
        if inner or length is None or not self._surely_begins():
            return
        inputs = [*("" for _ in range(op.carried)), *self.invariants, *("" for _ in self.over), ""]
        found = span(t, op, j, inputs, self._limits(), length)
        if found is None:
            return
        to, flags = x, j in self.flags
        if not self._overwrites(x, j, t.tape.args[self.place][j]):
            p = self._wanted(j) or arrays.room(t, t.memory, length * cells.cell(t, flags))
            to = Array("memory", p, (), x.shape, own=t.live, flags=flags)
        self.windows[j] = Window(t, f"{self.n}_{j}", found, x, to, op.reverse, self.count)

    def _overwrites(self, array: Array, j: int, place: int) -> bool:
        """Whether the loop may change an operand where it lies: nobody else reads it, and it is of the same kind."""
        t = self.t
        return (
            t.readers.is_last(place, self.place) and arrays.overwritable(t, array) and array.flags == (j in self.flags)
        )

    def _wanted(self, k: int) -> str:
        """Where result k is wanted; empty where that is not said."""
        tape = self.t.tape
        found = [
            p for p, (op, args) in enumerate(zip(tape.ops, tape.args)) if args == (self.place,) and op is result(k)
        ]
        if len(found) != 1:
            return ""
        (place,) = found
        padded = [
            p
            for p, (op, args) in enumerate(zip(tape.ops, tape.args))
            if args == (place,) and op is pad(self.op.iterations or 0)
        ]
        if len(padded) == 1 and self.t.readers.alone(place):
            place = padded[0]
        pointer, flags = self.t.destinations.get(place, ("", False))
        return pointer if flags == (k in self.flags) else ""

    def _begin(self, array: Array, j: int, place: int) -> Array:
        """The memory of a carried array, which each iteration overwrites: that of the operand, if nobody else reads it."""
        if j in self.history or j in self.windows or self._overwrites(array, j, place):
            return array
        return self._own(array, j in self.flags, "" if j in self.two else self._wanted(j))

    def _own(self, array: Array, flags: bool, p: str = "") -> Array:
        t = self.t
        p = p or arrays.room(t, t.memory, arrays.size_of(array.shape) * cells.cell(t, flags))
        arrays.copy(t, array, p, flags=flags)
        return Array("memory", p, (), array.shape, own=t.live, flags=flags)

    def _surely_begins(self) -> bool:
        """Whether all rows are known to take the first iteration, and as many iterations as each other."""
        if self.ask or self.masked:
            return False
        least = self.t.ranges.lowest(self.t.ranges.linear(self.count))
        return least is not None and least >= 1


def _counts(op: Loop) -> bool:
    """Whether a whole number that is the same in all rows is of use in a loop."""
    if op.condition is not None:
        return True
    for body in op.bodies():
        for inner in body.ops:
            if inner in (LOAD, BUMP, STORE) or (isinstance(inner, Loop) and _counts(inner)):
                return True
    return False
