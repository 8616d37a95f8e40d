"""What a worker of the cluster does: compile a program once, run chunks of rows with it.

Everything here is imported by the worker's own copy of this package. A task is a pure function of its arguments, so it may be
run again on another worker, or on two at once, and gives the same result.
"""

from __future__ import annotations

import functools
import hashlib
import pickle
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from micrograd.compile import backend
from micrograd.compile.backend import BLOCK
from micrograd.compile.batch import ByVariant, RowsVariant
from micrograd.compile.pipeline import Goal
from micrograd.compile.variants import Variant
from micrograd.errors import ClusterError
from micrograd.tape.tape import Tape
from micrograd.tape.trace import Trace
from micrograd.tree import NUMBER, refuse_masked

PIECE = 128 * BLOCK  # rows of a range that are made at a time: two megabytes a column
KEPT = 32  # programs that a worker keeps compiled; the least recently used one is dropped


@functools.cache
def version() -> str:
    """The version of this package and of its table of ops: programs of another one are refused."""
    from micrograd import __version__
    from micrograd.ops import OPS

    table = ",".join(f"{op.name}/{op.arity}" for op in OPS.values())
    return f"{__version__} ({hashlib.sha256(table.encode()).hexdigest()[:8]})"


def describe(name: str = "llvm") -> dict[str, Any]:
    """What decides about the bits of a result on this machine."""
    import platform

    import micrograd.compile.vmap  # noqa: F401  (it registers the backends)

    found = backend.find(name).processor()
    return {"version": version(), "processor": platform.machine(), **found}


@dataclass(frozen=True)
class PathTapes:
    """The tapes of a function, one for each path that was traced, and what is to be computed from them."""

    tapes: tuple[Tape, ...]
    goal: Goal
    version: str
    digest: str = field(default="", compare=False)

    @classmethod
    def of(cls, tapes: tuple[Tape, ...], goal: Goal) -> PathTapes:
        """The program of these tapes, named by a hash of all that decides what it computes."""
        found = version()
        text = "\n".join([found, repr(goal), *(f"{tape.inputs} {tape.params}\n{tape}" for tape in tapes)])
        return cls(tapes, goal, found, hashlib.sha256(text.encode()).hexdigest()[:32])


class _WorkerVariant(RowsVariant):
    """A traced path as it came over the network: all that does not vary by row is a parameter."""

    def __init__(self, tape: Tape) -> None:
        Variant.__init__(self, Trace(tape, [], NUMBER), tape)
        self._interpreted = {}


class _Part:
    """The rows of one chunk, as ByVariant reads them."""

    def __init__(self, arrays: list[Any], axes: list[int], params: list[float]) -> None:
        import numpy as np

        self.np, self.arrays, self.axes, self.uniform = np, arrays, axes, params
        self.rows = arrays[0].shape[axes[0]]

    def row(self, r: int) -> list[Any]:
        numbers: list[Any] = []
        for a, axis in zip(self.arrays, self.axes):
            numbers += self.np.ravel(self.np.take(a, r, axis)).tolist()
        return numbers

    def varying(self) -> int:
        return sum(a.size // self.rows for a in self.arrays)

    def select(self, index: Any) -> tuple[Any, ...]:
        return tuple(self.np.take(a, index, axis) for a, axis in zip(self.arrays, self.axes))

    def slice(self, start: int, stop: int) -> tuple[Any, ...]:
        return tuple(a[(slice(None),) * axis + (slice(start, stop),)] for a, axis in zip(self.arrays, self.axes))


_programs: OrderedDict[str, list[_WorkerVariant]] = OrderedDict()
_lock = threading.Lock()


def _variants(program: PathTapes) -> list[_WorkerVariant]:
    """The variants of a program, whose kernels are compiled when they are first used and then kept."""
    if program.version != version():
        raise ClusterError(
            f"a worker has micrograd {version()}, and the caller has {program.version}\n"
            "  The same tape may compute something else there.\n"
            "  Install the same version of micrograd on all machines of the cluster."
        )
    with _lock:
        found = _programs.get(program.digest)
        if found is None:
            found = _programs[program.digest] = [_WorkerVariant(tape) for tape in program.tapes]
            while len(_programs) > KEPT:
                _programs.popitem(last=False)
        _programs.move_to_end(program.digest)
    return found


@dataclass
class Done:
    """The result of one chunk."""

    number: int
    sums: Any  # the sums of each block of rows, an array of (blocks, sums), where results are added up
    outs: list[Any]  # the results by row, where they are not
    missed: list[int]  # rows of the chunk that follow none of the traced paths, the first ones
    seconds: float  # that the rows took
    worker: str
    counts: tuple[int, int]  # how many rows it had, and how many bytes the result has


def run_chunk(
    program: PathTapes, params: list[float], number: int, axes: list[int], eagerly: dict[int, int], *columns: Any
) -> Done:
    """Run the rows of a chunk, one thread: a worker has as many tasks at a time as it has threads.

    `eagerly` are rows whose path is known although its machine code does not accept them, with the number of the path.
    """
    import numpy as np

    start = perf_counter()
    rows = len(columns[0]) if isinstance(columns[0], range) else columns[0].shape[axes[0]]
    at_once = rows
    if program.goal.reduced and all(isinstance(column, range) for column in columns):
        at_once = PIECE
    sums: list[Any] = []
    outs: list[Any] = []
    missed: list[int] = []
    numbers = [_RowNumbers(column, at_once) if isinstance(column, range) else None for column in columns]
    for first in range(0, rows, at_once):
        part = [
            _array(column) if made is None else made.rows(first, min(rows, first + at_once))
            for column, made in zip(columns, numbers)
        ]
        here = {row - first: variant for row, variant in eagerly.items() if first <= row < first + at_once}
        more, outs, missed = _run_rows(program, params, axes, here, part)
        if missed:
            missed, sums, outs = [first + row for row in missed], [], []
            break
        sums.append(more)
    total = np.concatenate(sums) if program.goal.reduced and sums else None
    size = total.nbytes if total is not None else sum(o.nbytes for o in outs)
    return Done(number, total, outs, missed, perf_counter() - start, _address(), (rows, size))


def _run_rows(
    program: PathTapes, params: list[float], axes: list[int], eagerly: dict[int, int], columns: Sequence[Any]
) -> tuple[Any, list[Any], list[int]]:
    """The sums of the blocks of these rows or their results by row; and the first rows that follow none of the paths."""
    part: Any = _Part(list(columns), axes, params)
    work = ByVariant(part, program.goal, 1, None)
    variants = _variants(program)
    if not program.goal.reduced:
        kind = "f4" if program.goal.options.float32 else "f8"
        count = program.goal.numbers(len(program.tapes[0].outputs))
        work.outs = [part.np.empty(part.rows, dtype=kind) for _ in range(count)]
    for variant in variants:
        if work.done():
            break
        work.run(variant)
    while not work.done():
        row = work.first()
        if row not in eagerly:
            return None, [], [r for r in work.remaining.tolist() if r not in eagerly][:64] or [row]
        work.run_eagerly(variants[eagerly[row]], row)
    return work.block_sums() if program.goal.reduced else None, work.outs, []


class _RowNumbers:
    """The numbers of a range, a piece at a time, in one array that is filled again for each piece.

    A new array for each piece would cost as much as 6 % of a simulation: Dask sets MALLOC_TRIM_THRESHOLD_ for its workers, so
    the memory of each array is returned to the system at once, and asked for again page by page.
    """

    def __init__(self, numbers: range, at_once: int) -> None:
        import numpy as np

        self.numbers = numbers
        self.steps = np.arange(min(at_once, len(numbers))) * numbers.step  # of 64 bits, as on one machine
        self.made = np.empty_like(self.steps)

    def rows(self, start: int, stop: int) -> Any:
        import numpy as np

        return np.add(self.steps[: stop - start], self.numbers[start], out=self.made[: stop - start])


def _array(column: Any) -> Any:
    """A column that came as an array, as kernels read it."""
    import numpy as np

    refuse_masked(column)
    array = np.asarray(column)
    return (
        array
        if array.dtype.kind in "fiub" and array.dtype.itemsize <= 8 and array.dtype != np.float16
        else array.astype(float)
    )


def _address() -> str:
    from distributed import get_worker

    try:
        return str(get_worker().address)
    except ValueError:
        return "this process"


def unpack(content: bytes) -> Any:
    """A task that makes what all chunks share, from bytes in the task itself: it can be run again if its worker is lost."""
    return pickle.loads(content)


def output(done: Done, k: int) -> Any:
    """One result column of a chunk."""
    return done.outs[k]
