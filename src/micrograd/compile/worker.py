"""The threads that compile: one that works in the background, and one that makes all calls into LLVM.

Python runs the handlers of signals in the main thread, between any two instructions there. An exception that a handler raises,
as KeyboardInterrupt at Ctrl-C, can therefore strike after a lock was taken and before a `try` is reached that would release it:
in llvmlite, in queue, in threading and in the import of a module. So whatever takes such a lock runs on a thread of its own,
and the main thread does nothing but wait for it at a plain lock, where an exception does no harm.
"""

from __future__ import annotations

import _imp
import _thread
import atexit
import contextlib
import ctypes
import os
import queue
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, TypeVar

from micrograd.engine import NATIVE
from micrograd.signals import interrupted_later
from micrograd.watch.code import is_installed

T = TypeVar("T")

IDLE = 1.0  # seconds without work after which memory is given back
MUCH = 32e6  # bytes that LLVM has left free, from which on they are given back
LEFT, FREED = (
    100,
    45_000,
)  # bytes for each character of text, and for each kernel that is dropped (tools/kernel_memory.py)

_local = threading.local()  # .waiting: how many compile_first() blocks this thread is in


@contextlib.contextmanager
def compile_first() -> Iterator[None]:
    """Make every compiled function that this thread calls inside wait for its machine code.

    Eager code and machine code may round differently, so a loop that promises the same bits in every run must not be answered
    by one in its first calls and by the other later. `train.fit` runs its steps inside this block.
    """
    _local.waiting = getattr(_local, "waiting", 0) + 1
    try:
        yield
    finally:
        _local.waiting -= 1


def must_wait() -> bool:
    """Whether this thread is inside compile_first()."""
    return getattr(_local, "waiting", 0) > 0


class Worker:
    """A thread that runs jobs in order. It is started with the first job, and never waited for when the process ends.

    It is a thread of _thread: starting one of threading takes locks that an interrupt may leave locked.
    """

    def __init__(self, idle: Callable[[], None]) -> None:
        self.idle = idle
        self.process = os.getpid()
        self.jobs: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self.ident: int | None = None
        self._lock = _thread.allocate_lock()

    def runs(self) -> bool:
        """Whether the thread runs, after starting it where it does not."""
        if self.process != os.getpid():  # forked: the thread does not exist, and what it held is held by nobody
            self.__init__(self.idle)  # type: ignore[misc]
        if self.ident is None:
            with self._lock:
                if self.ident is None:
                    try:
                        self.ident = _thread.start_new_thread(self._work, (self.jobs,))
                    except (
                        RuntimeError
                    ):  # a limit of the system, an interpreter that is ending, an isolated subinterpreter
                        return False
        return True

    def is_here(self) -> bool:
        """Whether this is the thread."""
        return self.ident == _thread.get_ident()

    def put(self, job: Callable[[], None]) -> None:
        """Let the thread run a job after those that are already waiting; run it at once where no thread can be started."""
        if self.runs():
            self.jobs.put(job)
        else:
            _run(job)

    def _work(self, jobs: queue.SimpleQueue[Callable[[], None]]) -> None:
        sys.settrace(threading.gettrace())  # as threading does for its threads
        sys.setprofile(threading.getprofile())
        while True:
            with contextlib.suppress(Exception):  # queue.Empty, or a MemoryError: the thread goes on in any case
                try:
                    job = jobs.get(timeout=IDLE)
                except queue.Empty:
                    self.idle()
                    job = jobs.get()
                _run(job)
                del job  # and with it what the job holds, before the next one comes


def _run(job: Callable[[], None]) -> None:
    try:
        job()
    except Exception:  # reported as for any thread; the jobs behind it are still done
        threading.excepthook(threading.ExceptHookArgs((*sys.exc_info(), None)))


# ---- in the background


def in_background(job: Callable[[], None]) -> None:
    """Run a job on the compiling thread, after the jobs that are already waiting; at once where no thread can be started."""
    _free_import_lock()
    _background.put(job)


# ---- LLVM


_under_way = threading.RLock()  # held during each call into LLVM; reentrant, as the collector of garbage runs anything


class _Calls:
    """What is known of the calls into LLVM."""

    def __init__(self) -> None:
        self.deep = 0  # how many there are in one another
        self.can_end = True  # whether the process may end during a call
        self.left = 0.0  # how many bytes LLVM has freed since memory was given back, roughly
        self.unused: queue.SimpleQueue[Any] = queue.SimpleQueue()  # what is to be freed


def in_llvm(job: Callable[[], T]) -> T:
    """What a job gives that calls LLVM. An interrupt of this thread ends the waiting, and leaves the job to itself.

    If the job has not begun by then, it is not run.
    """
    runs = _llvm.runs()
    if _llvm.is_here():
        return job()
    if not runs:
        with interrupted_later():
            return _counted(job)
    answer: list[Any] = []  # (True, the result) or (False, an exception)
    waiting, done = [True], _thread.allocate_lock()
    done.acquire()

    def run() -> None:
        try:
            if waiting:
                answer.append((True, _counted(job)))
        except BaseException as error:
            answer.append((False, error))
        done.release()

    _free_import_lock()
    _llvm.jobs.put(run)
    try:
        done.acquire()
    except BaseException:
        waiting.clear()
        raise
    good, result = answer.pop()
    if good:
        return result  # type: ignore[no-any-return]
    try:
        raise result
    finally:
        del result  # its traceback holds this frame


def _free_import_lock() -> None:
    """Release importlib's lock where an interrupt has left it with this thread.

    importlib holds it for a few instructions. An interrupt right after it was taken leaves it held for good, and the first
    import that another thread makes would wait for ever.
    """
    with contextlib.suppress(RuntimeError):  # another thread has it
        while _imp.lock_held():
            _imp.release_lock()


def _counted(job: Callable[[], T]) -> T:
    """What a job gives, noted as a call into LLVM: no process is forked meanwhile, and its end does not wait for it."""
    with _under_way:
        _calls.deep += 1
        _calls.can_end = _set_compiling(True)
        try:
            return job()
        finally:
            _calls.deep -= 1
            _set_compiling(_calls.deep > 0)


def _set_compiling(on: bool) -> bool:
    """Note that a thread is inside of LLVM; whether the process may end meanwhile."""
    if not NATIVE:
        return False
    from micrograd import _engine

    return _engine.compiling(on)


def keep(held: Any) -> None:
    """Let an object live to the end of the process, where Python would finalize it when half of its modules are gone."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(held))


class Freed:
    """An object of LLVM's that is freed by the thread that calls LLVM, whichever thread drops this one, and when."""

    def __init__(self, held: Any) -> None:
        keep(held)
        self.held, self._unused, self._jobs = held, _calls.unused, _llvm.jobs

    def __del__(self) -> None:
        self._unused.put(self.held)
        self._jobs.put(_free)


def _free() -> None:
    try:
        while not _calls.unused.empty():
            unused = _calls.unused.get_nowait()
            _counted(unused.close)
            ctypes.pythonapi.Py_DecRef(ctypes.py_object(unused))
            _calls.left += FREED
    except MemoryError:  # the rest comes with the next one
        pass


def note_text(length: int) -> None:
    """Count the characters that were compiled."""
    _calls.left += length * LEFT


def _give_back() -> None:
    """Give memory back to the system that LLVM has used and freed: by itself, glibc keeps it."""
    if _calls.left >= MUCH:
        _calls.left = 0
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if os.name == "posix" else None
        if trim is not None:
            trim(0)


_background = Worker(lambda: None)
_llvm = Worker(_give_back)
_calls = _Calls()
WORKERS = _background, _llvm


# ---- the end of the process, and forks of it


def _stop() -> None:
    """At exit: drop the jobs that are waiting. The current one is waited for only where the process cannot end beside it."""
    with contextlib.suppress(queue.Empty):
        while True:
            _background.jobs.get_nowait()
    if not _calls.can_end:
        with _under_way:
            pass


atexit.register(_stop)


if hasattr(os, "register_at_fork"):  # a call that is under way would stay so for ever in a copy of the process
    # Functions of C, between whose steps no interrupt can strike; one that strikes while it waits leaves the lock to its owner.
    os.register_at_fork(
        before=_under_way.acquire,
        after_in_parent=_under_way.release,
        after_in_child=_under_way._at_fork_reinit,  # type: ignore[attr-defined]
    )


# ---- what other threads did while a function was traced, such as to change what it reads


def other_threads() -> dict[int, FrameType]:
    """Return what other threads than this one run at the moment; those that compile are none of them."""
    here = {threading.get_ident(), *(worker.ident for worker in WORKERS)}
    return {ident: frame for ident, frame in sys._current_frames().items() if ident not in here}


class Threads:
    """Where the other threads stood when this was made."""

    def __init__(self) -> None:
        self._places = self._now()

    def rested(self) -> bool:
        """Whether all of them stand where they stood, in code that is none of the user's: they wait for something."""
        return self._now() == self._places and all(is_installed(module) for *_, module in self._places)

    @staticmethod
    def _now() -> list[tuple[int, int, int, str]]:
        found = other_threads().items()
        return sorted([(ident, id(f), f.f_lasti, str(f.f_globals.get("__name__"))) for ident, f in found])
