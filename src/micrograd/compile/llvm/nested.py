"""The text of a tape with regions: what is known where, while the body of a region is written into the text around it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from micrograd.compile.llvm import nearly
from micrograd.compile.llvm.build import Target
from micrograd.compile.llvm.emit import Text
from micrograd.compile.llvm.ranges import Ranges
from micrograd.ops import Op
from micrograd.tape.check import shapes
from micrograd.tape.decisions import Decisions
from micrograd.tape.tape import BUMP, INPUT, SOURCES, Loop, Projection, Tape
from micrograd.tape.truths import Truths, truths


class Mask(str):
    """The name of flags: one i1 a lane, and not a number."""

    __slots__ = ()


class Memory:
    """The memory for the arrays of one function: parts of its scratch, and buffers that grow."""

    def __init__(self) -> None:
        self.used = 0
        self.buffers: list[tuple[str, int, int]] = []  # name, where it begins in scratch, how many bytes it has there

    def take(self, size: int) -> int:
        """Where so many bytes of scratch begin."""
        at, self.used = self.used, self.used + -(-size // 64) * 64
        return at


class Readers:
    """How often the arrays of a tape are read."""

    def __init__(self, tape: Tape) -> None:
        self.tape = tape
        self.counts: dict[Any, int] | None = None

    def alone(self, place: int) -> bool:
        """Whether one instruction reads an array, and nobody else."""
        if self.counts is None:
            self.counts = {}
            rows = [args for op, args in zip(self.tape.ops, self.tape.args) if op not in SOURCES]
            for a in [a for args in [*rows, self.tape.roots()] for a in args]:
                key = self._key(a)
                self.counts[key] = self.counts.get(key, 0) + 1
        return self.counts.get(self._key(place)) == 1

    def _key(self, place: int) -> Any:
        op = self.tape.ops[place]
        return (self.tape.args[place], op.number) if isinstance(op, Projection) and op.name == "result" else place


def stays(tape: Tape, j: int) -> bool:
    """Whether a body adds to elements of its carried array j, and does nothing else with it: that is done in place."""
    readers, place = Readers(tape), tape.outputs[j]
    while readers.alone(place):
        op, args = tape.ops[place], tape.args[place]
        if op is BUMP:
            place = args[0]
        elif isinstance(op, Projection) and op.name == "result":
            loop = tape.ops[args[0]]
            if not isinstance(loop, Loop) or op.number >= loop.carried or not stays(loop.body, op.number):
                return False
            place = tape.args[args[0]][op.number]
        else:
            return op is INPUT and args[0] == j
    return False


class Nested(Text):
    """The IR of one tape, and of the bodies inside of it, being written."""

    has_blocks = True

    def __init__(self, tape: Tape, target: Target, reduced: list[bool], point: bool) -> None:
        super().__init__(tape, target, reduced, point)
        self.arrays: dict[int, Any] = {}  # place -> what is known of an array (see arrays.py)
        self.results: dict[int, list[Any]] = {}  # place of a region -> names of numbers, or arrays
        self.depth = 0  # how many regions enclose the current instruction
        self.live = (
            ""  # the lanes (for a point: the condition) that reach the current instruction; empty for all of them
        )
        self.memory = Memory()
        self.integers: dict[
            str, str
        ] = {}  # names of numbers that are whole and the same in all rows -> an i64 (indices.py)
        self.windows: dict[str, Any] = {}  # by their names: parts of arrays that are in registers (windows.py)
        self.ranges = Ranges()  # what is known of those
        self.readers = Readers(tape)
        self.destinations: dict[
            int, tuple[str, bool]
        ] = {}  # place of an array -> a pointer to memory where it is wanted, if it can be made there; whether as flags
        self.path: tuple[int, ...] = ()  # the places of the regions around
        self.unread: set[tuple[int, ...]] = set()  # gaps in arrays that need not be filled (unread.py)
        self.truths: Truths = truths(tape)  # the places of which only the truth is used
        self.tables: list[str] = []  # arrays of constants
        self.compared = nearly.compared(self)  # calls of functions that are compared, and decide nothing else

    def label(self) -> int:
        """A number for names of blocks."""
        self.count += 1
        return self.count

    def enter(self, tape: Tape, decided: Decisions, used: Truths, inside: tuple[int, ...]) -> tuple[Any, ...]:
        """Write into the body of the region at `inside` from now on; returns what `leave` takes to undo it."""
        parts = self.tape, self.names, self.masks, self.arrays, self.results, self.columns, self.decided
        around = *parts, self.compared, self.readers, self.destinations, self.truths, self.path
        self.readers, self.destinations, self.truths = Readers(tape), {}, used
        self.path = (*self.path, *inside)
        self.tape, self.decided, self.depth = tape, decided, self.depth + 1
        self.names, self.masks, self.arrays, self.results, self.columns = {}, {}, {}, {}, {}
        self.compared = nearly.compared(self)
        return around

    def leave(self, around: tuple[Any, ...]) -> None:
        """Write into the tape around it again."""
        *parts, self.compared, self.readers, self.destinations, self.truths, self.path = around
        self.tape, self.names, self.masks, self.arrays, self.results, self.columns, self.decided = parts
        self.depth -= 1

    def decides(self, place: int) -> bool:
        """Whether a place must be rounded as eager code rounds it: not if it is only compared."""
        return super().decides(place) and place not in self.compared

    def operate(self, place: Any, op: Op, args: Sequence[Any]) -> None:
        """Write an op; the comparison of a call has the outcome of eager code."""
        called = op.llvm.startswith("fcmp") and not self.compared.isdisjoint(args)
        if called and place in self.decided.places:
            self.masks[place] = nearly.compare(self, op, (args[0], args[1]))
        else:
            super().operate(place, op, args)

    def is_outermost(self) -> bool:
        """Whether this is the tape itself, and not a body in it."""
        return self.depth == 0

    def is_known(self, place: int) -> bool:
        """Whether a value can be had by now."""
        return self.tape.ops[place] in SOURCES or place in self.names or place in self.masks

    def shapes_of(self, tape: Tape, inputs: Sequence[Any]) -> list[Any]:
        """The shapes of a body's places, for arrays and names of numbers as inputs."""
        return shapes(tape, [() if isinstance(x, str) else x.shape for x in inputs])

    def load_column(self, number: str) -> str:
        """The input with this number, an i64 that is known when the code runs."""
        column, p, r = self.fresh(), self.fresh(), self.fresh()
        if self.point:
            self.line(f"{p} = getelementptr {self.scalar}, ptr %in, i64 {number}")
            self.line(f"{r} = load {self.T}, ptr {p}, align {self.item}")
            return r
        self.line(f"{p} = getelementptr ptr, ptr %columns, i64 {number}")
        self.line(f"{column} = load ptr, ptr {p}, align 8")
        return self.load_rows(column, r)
