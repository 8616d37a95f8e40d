"""The text of a whole tape as an LLVM module: packed, tiled, in one function or in chunks.

A batch has its rows in the lanes of SIMD vectors, several rows an instruction. A long tape is split into functions of bounded
size that pass values on through scratch memory, since some of LLVM's passes take more than linear time in the length of a
function.
"""

from __future__ import annotations

from micrograd.compile import pipeline
from micrograd.compile.backend import KernelSource
from micrograd.compile.llvm import arrays, build, chunk, packed, regions, tiled
from micrograd.compile.llvm.build import LANES_BYTES, Target
from micrograd.compile.llvm.chunk import Passed
from micrograd.compile.llvm.emit import IRText, attributes, spelled
from micrograd.compile.llvm.nested import Memory, Nested
from micrograd.compile.llvm.unread import unread
from micrograd.compile.pipeline import Goal
from micrograd.compile.schedule import outline, split, tiles
from micrograd.compile.schedule.split import GUARD, Step
from micrograd.compile.tuning import TUNING
from micrograd.ops import Op
from micrograd.tape.tape import Structural, Tape


class _Machine:
    """What the schedules need to know of a target."""

    def __init__(self, target: Target) -> None:
        self.target = target

    def spells(self, op: Op) -> bool:
        return spelled(op)

    def registers(self, goal: Goal) -> int:
        return tiled.registers(self.target)

    def fuses(self) -> bool:
        return build.fuses()


def text(tape: Tape, goal: Goal, target: Target | None = None) -> KernelSource:
    """The LLVM text of a tape of spelled ops, and how many bytes of scratch memory it needs.

    At one point the entry is `int kernel(in, params, out, scratch)`. Over rows it is `int kernel(columns, params, outs, n, acc,
    bad, scratch)`: each output is stored by row, or (where the goal is reduced) summed into acc.
    """
    target = target or Target.of(goal, tape)
    reduced = [goal.reduced] * len(tape.outputs) if goal.rows else []
    if tape.has_regions():
        return _with_regions(_Regions(tape, target, reduced, not goal.rows))
    if (found := packed.attempt(tape, target, reduced if goal.rows else None)) is not None:
        return KernelSource(*found)
    tape = pipeline.run(pipeline.ORDERING, tape, goal, _Machine(target))
    t = IRText(tape, target, reduced, not goal.rows)
    schedule = split.steps(tape)
    if len(schedule) > TUNING.chunk:
        functions, scratch = _chunks(t, schedule)
    elif pipeline.many_sums(tape, goal) and target.width * t.item <= LANES_BYTES:
        functions, scratch = _tiles(t, schedule)
    else:
        functions, scratch = _one_chunk(t, schedule), 0
    return KernelSource("\n".join([*functions, *t.declared, attributes(target)]), scratch, notes(t))


def notes(t: IRText) -> tuple[str, ...]:
    """Say which elementary functions have other last bits than eager code, and which are called lane by lane."""
    found = []
    if t.own:
        found.append(f"the last bits of {', '.join(sorted(t.own))} may differ from those of the C library")
    if t.lane_by_lane:
        found.append(f"called lane by lane, since the bits are the C library's: {', '.join(sorted(t.lane_by_lane))}")
    return tuple(found)


class _Regions(Nested):
    """The IR of a tape with loops and choices: one function, whose arrays lie in scratch memory."""

    scratch = 0

    def __init__(self, tape: Tape, target: Target, reduced: list[bool], point: bool) -> None:
        super().__init__(tape, target, reduced, point)
        self.unread = unread(tape)

    def instruction(self, place: int) -> None:
        """Write one instruction."""
        op = self.tape.ops[place]
        if isinstance(op, Structural):
            regions.write(self, place, op)
        else:
            super().instruction(place)

    def begin(self) -> None:
        """Begin a function."""
        super().begin()
        self.arrays, self.results, self.memory = {}, {}, Memory()
        self.live = "" if self.point else "%mask"

    def end(self, result: str) -> None:
        """End a function, and free its buffers."""
        self.lines = arrays.prologue(self.memory) + self.lines + arrays.epilogue(self.memory)
        super().end(result)
        self.scratch = max(self.scratch, self.memory.used)


def _with_regions(t: _Regions) -> KernelSource:
    """Guards are checked one by one, so that a loop that might not end is not begun after a guard before it has failed."""
    functions = _one_chunk(t, split.steps(t.tape))
    return KernelSource("\n".join([*functions, *t.tables, *t.declared, attributes(t.target)]), t.scratch, notes(t))


def _one_chunk(t: IRText, schedule: list[Step]) -> list[str]:
    """A tape as one function; for the last rows of a batch, which do not fill a vector, a second one with masks."""
    passed = Passed(guarded_in=0 if t.tape.guards else None)
    if t.point:
        return [chunk.function(t, "kernel", 0, schedule, passed)]
    functions = []
    for t.masked, name in ((False, "chunk0"), (True, "last0")):
        functions.append(chunk.function(t, name, 0, schedule, passed))
    return [*functions, chunk.rows_of_one_chunk(t)]


def _tiles(t: IRText, schedule: list[Step]) -> tuple[list[str], int]:
    """A batch whose sums of products are added tile by tile."""
    found, products = tiles.find(t.tape, t.reduced, t.kinds, tiled.registers(t.target))
    read = tiles.places(found)
    t.slots = {place: slot for slot, place in enumerate(read)}
    stride = len(read) * t.bytes
    rest = tiles.steps(t.tape, schedule, found, t.reduced, products)
    pieces = tiles.pieces(t.tape, rest, set(read))
    vectors = max(8, min(TUNING.tiled_vectors, TUNING.cached_scratch // stride))
    functions = []
    for number, steps in enumerate(pieces):
        # The first piece prefetches the rows of the next block: 100,000 rows of a small network took 2 % less.
        passed = Passed(set(read), ahead=0 if number else vectors)
        for t.masked, name in ((False, f"chunk{number}"), (True, f"last{number}")):
            functions.append(chunk.function(t, name, 0, steps, passed))
    functions += [tiled.text(t, found, stride), tiled.kernel(t, len(pieces), vectors, stride)]
    return functions, stride * vectors


def _chunks(t: IRText, schedule: list[Step]) -> tuple[list[str], int]:
    """A long tape as functions that are called in turn."""
    small = TUNING.point_chunk if t.point else TUNING.rows_chunk
    sizes = (small,) if len(schedule) > TUNING.long_schedule else (small, TUNING.chunk)
    for size in sizes:  # large chunks, unless small ones share functions
        spans = split.spans(t.tape, schedule, size)
        chunks = split.chunks(t.tape, spans, size)
        if not t.point:
            chunks = split.rematerialize(t.tape, spans, chunks)
        made_in, last_in = split.live_out(t.tape, chunks)
        guarded_in = next((n for n, steps in enumerate(chunks) if GUARD in steps), None)
        calls = outline.functions(t.tape, t.reduced, chunks, set(last_in), guarded_in)
        different = list(dict.fromkeys(calls))
        if len(different) < len(chunks):
            break
    t.slots = split.slots(made_in, last_in, len(chunks))
    keep_slot = 1 + max(t.slots.values(), default=-1)
    stride = (keep_slot + 1) * t.bytes
    t.masked = not t.point
    functions = []
    for function in different:
        t.columns = function.columns
        passed = Passed(set(last_in), False, keep_slot, guarded_in)
        first = function.first
        functions.append(chunk.function(t, f"chunk{first}", first, chunks[first], passed))
    functions += chunk.tables(t, calls)
    if t.point:
        return [*functions, chunk.point(t, len(chunks))], stride
    apart = len(different) == len(chunks) and len(schedule) > TUNING.cached_steps
    vectors = max(1, min(TUNING.vectors_per_chunk, TUNING.cached_scratch // stride)) if apart else 1
    return [*functions, chunk.rows(t, len(chunks), vectors, stride)], stride * vectors
