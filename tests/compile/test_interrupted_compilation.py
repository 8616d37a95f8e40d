"""Ctrl-C, the end of the process and forks while LLVM compiles: nothing is lost, left behind or waited for."""

from __future__ import annotations

import _thread
import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from background import settle
from micrograd import Value, grad, jit, math, vmap
from micrograd.compile import worker
from micrograd.compile.llvm import build
from random_programs import needs_llvm

pytestmark = needs_llvm

posix = pytest.mark.skipif(os.name != "posix", reason="elsewhere a thread that waits for a lock sees no signal")


def run(program: str, *, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a program in a Python of its own; one that does not end is stopped, and the test fails."""
    environment = {**os.environ, "MICROGRAD_CACHE": "off"}
    if path is not None:
        environment["PYTHONPATH"] = os.pathsep.join([str(path), environment.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=60, env=environment
    )


@pytest.fixture
def no_cache(monkeypatch):
    monkeypatch.setenv("MICROGRAD_CACHE", "off")


def test_the_main_thread_never_calls_llvm(no_cache):
    import llvmlite.binding.ffi as ffi

    seen = set()

    def look():
        seen.add(_thread.get_ident())

    def nothing():
        pass

    ffi.register_lock_callback(look, nothing)
    try:
        for wait in (True, False):
            f = jit(lambda x: x * 3.0 + 1.5, wait=wait)
            assert f(2.0) == 7.5
            settle()
            assert f(2.0) == 7.5
        assert vmap(lambda x: math.exp(x * 1.5))([0.0, 0.0])[1] == 1.0
        assert jit(grad(lambda x: x * x * 0.25), wait=True)(8.0) == 4.0
        v = Value(2.0)
        jit(lambda x: x * v, wait=True)(3.0).backward()
        assert v.grad == 3.0
        f.source(2.0)
        del f
        gc.collect()
        worker.in_llvm(lambda: None)  # what was dropped is freed before that
    finally:
        ffi.unregister_lock_callback(look, nothing)
    assert seen
    assert _thread.get_ident() not in seen


@posix
def test_an_interrupt_ends_the_waiting_and_the_next_call_compiles(no_cache, monkeypatch):
    plain = build._object_file

    def interrupted(*args):
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        return plain(*args)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        monkeypatch.setattr(build, "_object_file", interrupted)
        f = jit(lambda x: x * 3.0 + 1.0, wait=True)
        with pytest.raises(KeyboardInterrupt):
            f(2.0)
        monkeypatch.undo()
        assert f(2.0) == 7.0
    finally:
        signal.signal(signal.SIGINT, before)


@posix
def test_an_interrupt_does_not_wait_for_the_compilation(no_cache, monkeypatch):
    """A second call waits for the first compilation, and Ctrl-C ends that waiting, too."""
    begun, go_on = threading.Event(), threading.Event()

    def never(*args):
        begun.set()
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        assert go_on.wait(60)
        raise RuntimeError("nobody waits for this")

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        monkeypatch.setattr(build, "_object_file", never)
        with pytest.raises(KeyboardInterrupt):
            jit(lambda x: x * 3.0 + 1.0, wait=True)(2.0)
        assert begun.is_set()
    finally:
        go_on.set()
        signal.signal(signal.SIGINT, before)
    monkeypatch.undo()
    assert jit(lambda x: x * 3.0 + 2.0, wait=True)(2.0) == 8.0


def test_a_job_that_is_waited_for_no_longer_is_not_begun():
    ran, hold = [], threading.Event()
    busy = threading.Thread(target=lambda: worker.in_llvm(lambda: hold.wait(60)))
    busy.start()

    def give_up(*_):
        raise KeyboardInterrupt

    if os.name == "posix":
        before = signal.signal(signal.SIGALRM, give_up)
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        try:
            with pytest.raises(KeyboardInterrupt):
                worker.in_llvm(lambda: ran.append(1))
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
    hold.set()
    busy.join()
    worker.in_llvm(lambda: None)
    assert ran == []


def test_another_thread_compiles():
    found = []
    thread = threading.Thread(target=lambda: found.append(jit(lambda x: x * 5.0, wait=True)(2.0)))
    thread.start()
    thread.join()
    assert found == [10.0]


def test_without_threads_the_main_thread_compiles(no_cache, monkeypatch):
    def refused(*_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(worker._llvm, "ident", None)
    monkeypatch.setattr(worker._background, "ident", None)
    monkeypatch.setattr(_thread, "start_new_thread", refused)
    assert jit(lambda x: x * 7.0, wait=True)(2.0) == 14.0
    assert jit(lambda x: x * 8.0)(2.0) == 16.0


PROGRAM = """
    import sys, threading
    from micrograd import jit
    from micrograd.compile.llvm import build
    begun = threading.Event()
    def endless(*_):
        begun.set()
        threading.Event().wait()
    build._object_file = endless
    f = jit(lambda x: x * 3.0)
    assert f(2.0) == 6.0
    assert begun.wait(60)
    for k in range(5):
        assert jit(lambda x: x + k)(2.0) == 2.0 + k
    print("the end")
    sys.exit(7)
"""


def test_the_end_of_the_process_waits_for_no_compilation():
    done = run(PROGRAM)
    assert (done.returncode, done.stdout, done.stderr) == (7, "the end\n", "")


def test_the_end_of_the_process_waits_for_no_idle_thread():
    done = run("""
        import queue
        from micrograd import jit
        from micrograd.compile import worker
        assert jit(lambda x: x * 3.0, wait=True)(2.0) == 6.0
        assert jit(lambda x: x * 4.0)(2.0) == 8.0
        for thread in (worker._background, worker._llvm):  # nothing wakes them any longer
            thread._lock.acquire()
            thread.jobs = queue.SimpleQueue()
    """)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere the end of a process waits for LLVM")
def test_a_process_that_ends_while_llvm_runs_keeps_its_status_and_its_output():
    """The functions take LLVM a while. Its globals are not destroyed under it: that was a crash."""
    done = run("""
        import atexit, ctypes, sys, time
        from micrograd import jit, math
        from micrograd.compile import worker
        lines = [f"    x = x * y + math.sin(x + {k})" for k in range(2000)]
        exec("\\n".join(["def long(x, y):", *lines, "    return x"]))
        kept = []
        for n in range(8):
            kept.append(jit(lambda x, y: long(x + n, y)))
            kept[-1](0.5, 0.25)
        while worker._under_way.acquire(blocking=False):
            worker._under_way.release()
            time.sleep(0.001)
        atexit.register(print, "at exit")
        ctypes.CDLL(None).printf(b"from C\\n")
        sys.exit(7)
    """)
    assert (done.returncode, sorted(done.stdout.split("\n")), done.stderr) == (7, ["", "at exit", "from C"], "")


def test_a_function_that_is_called_at_exit_is_compiled():
    done = run("""
        import atexit
        from micrograd import jit
        f = jit(lambda x: x * 3.0, wait=True)
        atexit.register(lambda: print(f(2.0)))
    """)
    assert (done.returncode, done.stdout, done.stderr) == (0, "6.0\n", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_process_that_is_forked_while_llvm_runs_compiles():
    done = run("""
        import os, sys, threading, warnings
        warnings.simplefilter("ignore")
        from micrograd import jit, math
        def other(stop):
            k = 0.0
            while not stop:
                k += 1.0
                jit(lambda x: math.exp(x) * k, wait=True)(2.0)
        jit(lambda x: x * 2.0)(2.0), jit(lambda x: x * 3.0, wait=True)(2.0)  # imported before the threads start
        stop = []
        threads = [threading.Thread(target=other, args=(stop,), daemon=True) for _ in range(2)]
        for t in threads: t.start()
        for k in range(10):
            child = os.fork()
            if child == 0:
                status = 3
                try:
                    f = jit(lambda x: x * k + 1.5, wait=True)
                    g = jit(lambda x: x * k + 2.5)
                    status = 0 if (f(2.0), g(2.0)) == (2.0 * k + 1.5, 2.0 * k + 2.5) else 4
                finally:
                    os._exit(status)
            assert os.waitpid(child, 0)[1] == 0, k
        stop.append(1)
        for t in threads: t.join()
    """)
    assert (done.returncode, done.stderr) == (0, "")


def test_an_import_that_was_interrupted_does_not_look_like_a_package_that_is_missing(tmp_path):
    (tmp_path / "llvmlite").mkdir()
    (tmp_path / "llvmlite" / "__init__.py").write_text(
        "raise ImportError('cannot import name `ffi`, partially initialized')"
    )
    done = run("from micrograd import jit; jit(lambda x: x * 2.0, wait=True)(1.0)", path=tmp_path)
    assert "llvmlite, which is installed but cannot be imported: cannot import name" in done.stderr
    assert "not installed" not in done.stderr


def test_numpy_whose_import_was_interrupted_does_not_look_missing(tmp_path):
    (tmp_path / "numpy").mkdir()
    (tmp_path / "numpy" / "__init__.py").write_text(
        "raise ImportError('cannot load module more than once per process')"
    )
    done = run("from micrograd import vmap; vmap(lambda x: x * 2.0)([1.0])", path=tmp_path)
    assert "NumPy, which is installed but cannot be imported: cannot load module" in done.stderr


@posix
def test_an_interrupt_during_the_import_of_numpy_comes_after_it():
    done = run("""
        import os, signal, sys
        from micrograd import vmap
        class Finder:  # a Ctrl-C in the middle of the import
            def find_spec(self, name, *_):
                if name == "numpy.linalg":
                    os.kill(os.getpid(), signal.SIGINT)
        sys.meta_path.insert(0, Finder())
        try:
            vmap(lambda x: x * 2.0)([1.0])
        except KeyboardInterrupt:
            print("interrupted")
        print(vmap(lambda x: x * 2.0)([1.0]))
    """)
    assert (done.returncode, done.stdout, done.stderr) == (0, "interrupted\n[2.]\n", "")


@pytest.mark.parametrize("wait", [True, False])
def test_a_lock_of_imports_that_an_interrupt_has_left_held_stops_no_thread(wait):
    """An interrupt can strike in importlib after it has taken the lock, and before the `try` that releases it."""
    found = run(
        f"""
        import _imp
        from micrograd import jit
        _imp.acquire_lock()
        f = jit(lambda x: x * 3.0 + 1.5, wait={wait})
        print(f(2.0), _imp.lock_held())
        """
    )
    assert found.stdout == "7.5 False\n" and found.returncode == 0, found.stderr


@posix
def test_an_interrupt_waits_until_a_lazy_import_has_ended():
    """Python makes a RuntimeError of one that comes in __set_name__, and a module may not be imported again after one."""
    ended = run("""
        import os, signal, sys
        import micrograd
        class Finder:
            came = False
            def find_spec(self, name, path, target=None):
                if name == "micrograd.compile.variants":
                    Finder.came = True
                    class Named:
                        def __set_name__(self, owner, name):
                            os.kill(os.getpid(), signal.SIGINT)
                            for _ in range(1000): pass
                    type("Owner", (), {"named": Named()})
        sys.meta_path.insert(0, Finder())
        try:
            micrograd.jit
        except KeyboardInterrupt:
            print("interrupted")
        assert Finder.came
        print(micrograd.jit(lambda x: x * 2.0 + 1.0)(2.0))
    """)
    assert ended.stdout.split() == ["interrupted", "5.0"], ended.stderr
