"""The text of a tape with regions: what is known where, while the body of a region is written into the text around it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from micrograd.compile.llvm import nearly
from micrograd.compile.llvm.build import Target
from micrograd.compile.llvm.emit import IRText
from micrograd.compile.llvm.ranges import Ranges
from micrograd.ops import Op
from micrograd.tape.check import NUMBER, shapes
from micrograd.tape.decisions import Decisions
from micrograd.tape.tape import BUMP, INPUT, LOAD, SOURCES, STORE, Loop, Projection, Tape
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
    """Who reads the arrays of a tape."""

    def __init__(self, tape: Tape, is_array: Callable[[int], bool]) -> None:
        """`is_array` says whether an array was loaded at a place, or a number."""
        self.tape, self.is_array = tape, is_array
        self.places: dict[Any, list[int]] | None = None  # an array -> the places that read it; behind the last: the end

    def _of(self, place: int) -> list[int]:
        if self.places is None:
            self.places = {}
            for i, (op, args) in enumerate(zip(self.tape.ops, self.tape.args)):
                for a in args if op not in SOURCES else ():
                    self.places.setdefault(self._key(a), []).append(i)
            for a in self.tape.roots():
                self.places.setdefault(self._key(a), []).append(len(self.tape))
        return self.places.get(self._key(place), [])

    def alone(self, place: int) -> bool:
        """Whether one instruction reads an array, and nobody else."""
        return len(self._of(place)) == 1

    def is_last(self, place: int, reader: int) -> bool:
        """Whether this instruction is the last to read an array, and those before have taken nothing but numbers out of it.

        Instructions are written in their order, so the last one may overwrite the array. (The reader behind the last
        instruction is the end of the tape, which returns the array.)
        """
        found = self._of(place)
        return found.count(reader) == 1 and all(r == reader or (r < reader and self._takes(r, place)) for r in found)

    def _takes(self, reader: int, place: int) -> bool:
        """Whether an instruction makes nothing of an array that refers to its memory."""
        op, args = self.tape.ops[reader], self.tape.args[reader]
        if isinstance(op, Loop):  # a loop copies what it carries, and changes no invariant
            key = self._key(place)
            return all(self._key(a) != key for a in op.groups(args)[2])
        return op is LOAD and not self.is_array(reader)

    def _key(self, place: int) -> Any:
        op = self.tape.ops[place]
        return (self.tape.args[place], op.number) if isinstance(op, Projection) and op.name == "result" else place


def stays(tape: Tape, j: int, found: Sequence[Any]) -> bool:
    """Whether a body changes elements of its carried array j, and reads numbers of it: that is done in place.

    `found` has the shapes of its places.
    """
    readers, place, reader = Readers(tape, lambda p: bool(found[p])), tape.outputs[j], len(tape)
    while readers.is_last(place, reader):
        op, args = tape.ops[place], tape.args[place]
        if op is BUMP or op is STORE:
            place, reader = args[0], place
        elif isinstance(op, Projection) and op.name == "result":
            loop = tape.ops[args[0]]
            if not isinstance(loop, Loop) or op.number >= loop.carried:
                return False
            carried, invariants, over = loop.groups([found[a] for a in tape.args[args[0]]])
            inside = shapes(loop.body, [*carried, *invariants, *(shape[1:] for shape in over), NUMBER])
            if not stays(loop.body, op.number, inside):
                return False
            place, reader = tape.args[args[0]][op.number], args[0]
        else:
            return op is INPUT and args[0] == j
    return False


class Nested(IRText):
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
        self.readers = Readers(tape, self._is_array)
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
        self.readers, self.destinations, self.truths = Readers(tape, self._is_array), {}, used
        self.path = (*self.path, *inside)
        self.tape, self.decided, self.depth = tape, decided, self.depth + 1
        self.names, self.masks, self.arrays, self.results, self.columns = {}, {}, {}, {}, {}
        self.compared = nearly.compared(self)
        return around

    def _is_array(self, place: int) -> bool:
        return place in self.arrays

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
