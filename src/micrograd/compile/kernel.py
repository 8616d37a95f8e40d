"""From a trace to something that runs: which passes, which code, how results are handed back."""

from __future__ import annotations

import atexit
import copy
import os
import queue
import sys
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from micrograd import engine
from micrograd.compile.llvm import build as llvm
from micrograd.compile.llvm import emit as ir
from micrograd.compile.llvm import module as pieces
from micrograd.engine import Value
from micrograd.errors import CompileError
from micrograd.ops import Op
from micrograd.tape import passes
from micrograd.tape.tape import INPUT, PARAM, Tape

if TYPE_CHECKING:
    from typing_extensions import Self

BYTES = 1500  # of memory that LLVM was seen to take an instruction


def memory() -> int:
    """The bytes of memory that this machine has; 12 GB where it does not tell."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 12_000_000_000


MAX_INSTRUCTIONS = min(4_000_000, memory() // 2 // BYTES)  # 6 GB at most, and half of what there is

WIDTHS = (1, 2, 4, 8, 16, 32, 64)  # rows at a time

LONG_TEXT = 30_000  # lines of IR: a longer text is compiled quickly first, and better in the background

RESULT = Op("jit", lambda *_: 0.0, [], symbol="jit")  # what a compiled function's result says it was made by


class Settings:
    """The options of jit and vmap."""

    def __init__(
        self,
        exact: bool = False,
        fastmath: bool = False,
        float32: bool = False,
        width: int | None = None,
        wait: bool = False,
    ) -> None:
        if exact and (fastmath or float32):
            raise ValueError("exact=True gives the bits of eager code: it goes with neither fastmath nor float32")
        if width is not None and (type(width) is not int or width not in WIDTHS):
            raise ValueError(f"width={width!r}: rows are taken 1, 2, 4, 8, 16, 32 or 64 at a time")
        self.exact, self.fast, self.single, self.width, self.wait = exact, fastmath, float32, width, wait

    def point(self) -> llvm.Options:
        return llvm.Options(1, False, self.exact, self.fast)

    def batch(self) -> llvm.Options:
        bits = llvm.vector_bits()
        width = self.width or bits // (32 if self.single else 64)
        wanted = width * (32 if self.single else 64)
        return llvm.Options(width, self.single, self.exact, self.fast, min(bits, max(wanted, 128)))


def prepare(tape: Tape, wrt: Sequence[int | None], settings: Settings) -> Tape:
    """The passes before machine code: gradients with respect to wrt (if any), spelled ops, nothing twice, nothing unused."""
    if wrt:
        tape = passes.adjoint(tape, wrt, exact=settings.exact)
    tape = passes.prune(passes.expand(tape, ir.spelled, settings.fast, powers=not settings.exact))
    if len(tape) > MAX_INSTRUCTIONS:
        raise CompileError(
            f"the tape has {len(tape):,} instructions\n"
            f"  Compiling it would take about {len(tape) * BYTES / 1e9:.0f} GB of memory; the limit is {MAX_INSTRUCTIONS:,}.\n"
            "  Compile a part of the work: one row with vmap, one step of a loop."
        )
    return tape


def wrt_places(tape: Tape, inputs: list[int]) -> list[int | None]:
    """The places of the inputs with these numbers, then of all params; None for those that are not used."""
    where = passes.sources(tape, INPUT, tape.inputs)
    return [*(where[k] for k in inputs), *passes.sources(tape, PARAM, tape.params)]


def levels(source: str, wait: bool) -> tuple[int, int]:
    """How hard to optimise at first, and in the end.

    A short text is compiled well at once. A long one (188,000 instructions of a transformer) took 2 s at level 0 and 13 s at
    level 1, which ran 5 % faster; level 2 took 40 s and ran no faster.
    """
    if source.count("\n") <= LONG_TEXT:
        return 2, 2
    return (1, 1) if wait else (0, 1)


class _Compiled:
    """Machine code, made quickly at first if its text is long."""

    def __init__(self, source: str, scratch: int, options: llvm.Options, wait: bool) -> None:
        self.source, self.options = source, options
        self.level, self.final = levels(source, wait)
        self.code = llvm.compile_text(source, scratch, options, self.level)

    def optimised(self) -> Self:
        """The same, made as well as it will be."""
        better = copy.copy(self)
        better.code = llvm.compile_text(self.source, self.code.scratch, self.options, self.final)
        better.level = self.final
        return better


class PointCode(_Compiled):
    """A tape as machine code for one point."""

    def __init__(self, tape: Tape, settings: Settings) -> None:
        self.outputs = len(tape.outputs)
        options = settings.point()
        super().__init__(*pieces.text(tape, options), options, settings.wait)
        self.scratch = self.code.scratch // 8

    def run(self, numbers: list[Any], params: Any) -> list[float] | None:
        """The outputs, or None where a guard failed. params: a list of Values, or what _engine.captured makes of it."""
        from micrograd import _engine

        result: list[float] | None = _engine.point(
            self.code.address, numbers, params, self.outputs, self.scratch, None, []
        )
        return result

    def nodes(self, numbers: list[Any], params: Any, inputs: list[Value], count: int) -> list[Value] | None:
        """`count` outputs as nodes over the inputs and the params, or None where a guard failed."""
        from micrograd import _engine

        result: list[Value] | None = _engine.point(
            self.code.address, numbers, params, count, self.scratch, RESULT, inputs
        )
        return result


class BatchCode(_Compiled):
    """A tape as machine code for rows; each output is stored by row, or summed over them (reduced)."""

    def __init__(self, tape: Tape, reduced: list[bool], settings: Settings) -> None:
        self.reduced, self.guarded = reduced, bool(tape.guards)
        options = settings.batch()
        super().__init__(*pieces.text(tape, options, reduced), options, False)
        self.scratch = self.code.scratch
        self.item, self.sums, self.no_bad = 4 if options.single else 8, sum(reduced), bytearray(1)

    def run(
        self,
        arrays: tuple[Any, ...],
        axes: tuple[int, ...],
        uniform: list[Any],
        rows: int,
        outs: list[Any],
        threads: int,
        node: bool,
        scale: float,
    ) -> Any:
        """(a bit for each row that took another way or None, the sums or a node)."""
        from micrograd import _engine

        width = self.options.width
        cells = (rows + width - 1) // width
        bad = bytearray(cells * ((width + 7) // 8)) if self.guarded else self.no_bad
        any_bad, result = _engine.batch(
            self.code.address, width, self.item, arrays, axes, uniform, rows, outs, self.sums, self.scratch, bad,
            threads, RESULT if node else None, scale)  # fmt: skip
        return (self.bad_rows(bad, rows) if any_bad else None), result

    def bad_rows(self, bad: bytearray, rows: int) -> Any:
        import numpy as np

        bits = np.unpackbits(np.frombuffer(bytes(bad), np.uint8), bitorder="little")
        per_cell = 8 * ((self.options.width + 7) // 8)
        return np.flatnonzero(bits.reshape(-1, per_cell)[:, : self.options.width].reshape(-1)[:rows])


# ---- compiling in the background

_jobs: queue.Queue[Callable[[], None] | None] = queue.Queue()
_worker: threading.Thread | None = None
_worker_lock = threading.Lock()


def in_background(job: Callable[[], None]) -> None:
    """Run a job on the compiling thread, after those that wait already."""
    global _worker
    with _worker_lock:
        if _worker is None:
            _worker = threading.Thread(target=_work, name="micrograd-compile", daemon=True)
            _worker.start()
            atexit.register(_stop)
    _jobs.put(job)


def _work() -> None:
    while (job := _jobs.get()) is not None:
        try:
            job()
        except Exception:  # told as any thread's is; the jobs behind it are done all the same
            threading.excepthook(threading.ExceptHookArgs((*sys.exc_info(), threading.current_thread())))


def _stop() -> None:
    """At exit: forget what waits, let the job in hand end (LLVM must not be torn down under it)."""
    try:
        while True:
            _jobs.get_nowait()
    except queue.Empty:
        pass
    _jobs.put(None)
    if _worker is not None:
        _worker.join()


def _after_fork() -> None:
    """In a forked process: the compiling thread is gone, and whatever it held is held by nobody."""
    global _jobs, _worker, _worker_lock
    _jobs, _worker, _worker_lock = queue.Queue(), None, threading.Lock()
    llvm.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def is_recording() -> bool:
    """Whether this thread records nodes."""
    before = engine.set_recording(True)
    engine.set_recording(before)
    return before
