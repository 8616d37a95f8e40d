"""Compiling in the background, on one thread; and asking that nothing be compiled in the background."""

from __future__ import annotations

import atexit
import contextlib
import os
import queue
import sys
import threading
from collections.abc import Callable, Iterator

_jobs: queue.Queue[Callable[[], None] | None] = queue.Queue()
_worker: threading.Thread | None = None
_worker_lock = threading.Lock()
_local = threading.local()  # .waiting: how many compile_first() blocks this thread is in
_after_fork_hooks: list[Callable[[], None]] = []


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


def in_background(job: Callable[[], None]) -> None:
    """Run a job on the compiling thread, after the jobs that are already waiting; at once where no thread can be started."""
    if _has_worker():
        _jobs.put(job)
    else:
        _run(job)


def _has_worker() -> bool:
    """Whether the compiling thread runs, after starting it where it does not."""
    global _worker
    with _worker_lock:
        if _worker is None:
            thread = threading.Thread(target=_work, name="micrograd-compile", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # a limit of the system, an interpreter that is ending, an isolated subinterpreter
                return False
            _worker = thread
            atexit.register(_stop)
    return True


def _work() -> None:
    while (job := _jobs.get()) is not None:
        _run(job)


def _run(job: Callable[[], None]) -> None:
    try:
        job()
    except Exception:  # reported as for any thread; the jobs behind it are still done
        threading.excepthook(threading.ExceptHookArgs((*sys.exc_info(), threading.current_thread())))


def _stop() -> None:
    """At exit: drop the jobs that are waiting, and let the current one end, since LLVM must not be torn down under it."""
    try:
        while True:
            _jobs.get_nowait()
    except queue.Empty:
        pass
    _jobs.put(None)
    if _worker is not None:
        _worker.join()


def after_fork(hook: Callable[[], None]) -> None:
    """Register a function that makes a module's locks usable again in a forked process."""
    _after_fork_hooks.append(hook)


def _after_fork() -> None:
    """In a forked process the compiling thread does not exist, and the locks that it held are held by nobody."""
    global _jobs, _worker, _worker_lock
    _jobs, _worker, _worker_lock = queue.Queue(), None, threading.Lock()
    for hook in _after_fork_hooks:
        hook()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
