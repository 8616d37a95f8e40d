"""What all tests share: every engine test runs on both twins (twins.py)."""

from __future__ import annotations

import gc
import importlib
import importlib.util
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from twins import FREE_THREADED, MORE, NATIVE, PACKAGE, PYTHON, C, Twin, in_place

_approx = pytest.approx
NO_LLVM = "compiling needs llvmlite, which is not installed"  # of the error, and of the warning


def _relative(expected: Any, rel: float | None = None, abs: float | None = None, nan_ok: bool = False) -> Any:
    """pytest.approx, but an absolute tolerance has to be given: the usual 1e-12 would let a wrong small gradient pass."""
    return _approx(expected, 1e-6 if rel is abs is None else rel, 0.0 if abs is None else abs, nan_ok)


pytest.approx = _relative


@pytest.fixture
def by_the_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the stage alone interpret sources, as it does where the abstract interpreter does not follow them."""
    refused = importlib.import_module("micrograd.abstract").Refused

    def refuse(*_: object, **__: object) -> None:
        raise refused("not here")

    monkeypatch.setattr(importlib.import_module("micrograd.stage.attempt"), "trace_rows", refuse)


@pytest.fixture
def traced_at_points(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls at one point are traced, as they are where no typed tape can be made: for tests of that."""
    tuning = importlib.import_module("micrograd.compile.tuning").TUNING
    for name in ("many_numbers", "looping_numbers"):
        monkeypatch.setattr(tuning, name, float("inf"))


def pytest_configure(config: pytest.Config) -> None:
    chosen = FREE_THREADED or os.environ.get("MICROGRAD_PURE", "0") not in ("", "0")
    if not NATIVE and not chosen and (shutil.which("cc") or shutil.which("cl")):
        raise pytest.UsageError(
            f"the C engine of {PACKAGE} is not built, and the tests of half of the package would be skipped\n"
            f"  Build it with: {C.install.native_command()}\n  or test the Python engine alone with MICROGRAD_PURE=1."
        )
    try:
        from hypothesis import HealthCheck, settings
    except ImportError:
        return
    # The same examples each time, so that a red build is red again on the next machine; and no wall-clock deadlines.
    # MICROGRAD_EXAMPLES=50 looks at 50 times as many, and at others each time.
    same = MORE == 1
    # Health checks that depend on the speed of the machine, or on how a version of hypothesis draws, are left out.
    unsteady = [HealthCheck.too_slow, HealthCheck.filter_too_much]
    settings.register_profile(
        "micrograd", deadline=None, derandomize=same, database=None, print_blob=True, suppress_health_check=unsteady
    )
    settings.load_profile("micrograd")


def pytest_collection_finish() -> None:
    """Leave what the test files have imported out of every later garbage collection: it is half a million objects."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _no_threads_of_other_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the threads that earlier tests have left: beside threads that do something, functions are traced more often."""
    frames, left = sys._current_frames, set(sys._current_frames()) - {threading.get_ident()}
    if left:
        monkeypatch.setattr(sys, "_current_frames", lambda: {k: f for k, f in frames().items() if k not in left})


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[Any]:
    """Skip a test that gets as far as machine code where llvmlite is not installed: the core is tested without it."""
    try:
        return (yield)
    except Exception as error:
        if importlib.util.find_spec("llvmlite") is None and NO_LLVM in str(error):
            pytest.skip("machine code needs llvmlite")
        raise


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say what this run could not look at."""
    for missing, what in (
        (
            not NATIVE,
            f"the C engine: it is not built ({'not for a free-threaded Python' if FREE_THREADED else 'install a C compiler'})",
        ),
        (not importlib.util.find_spec("llvmlite"), "machine code: llvmlite is not installed"),
        (
            not importlib.util.find_spec("pyopencl"),
            "rows by OpenCL: they need pyopencl and a runtime (intel-opencl-rt, intel-cmplr-lib-rt)",
        ),
        (not importlib.util.find_spec("torch"), "comparisons with PyTorch: it is not installed (torch==2.13.0)"),
        (
            not importlib.util.find_spec("playwright") or not shutil.which("chromium"),
            "tests in a browser: they need playwright and chromium",
        ),
    ):
        if missing:
            terminalreporter.write_line(f"left out: {what}", yellow=True)


@pytest.fixture(params=["C", "Python"])
def twin(request: pytest.FixtureRequest) -> Iterator[Twin]:
    """The package with one engine, then with the other."""
    if request.param == "C":
        if not NATIVE:
            pytest.skip("the C twin is not built")
        yield C
    else:
        with in_place(PYTHON):
            yield PYTHON


@pytest.fixture
def mg(twin: Twin, request: pytest.FixtureRequest) -> Any:
    """The package with one engine, then with the other; a module that compiles says so by `COMPILES = True`."""
    if twin.name == "C" and getattr(request.module, "COMPILES", False) and importlib.util.find_spec("llvmlite") is None:
        pytest.skip("machine code needs llvmlite")
    return twin.package


@pytest.fixture(autouse=True, scope="session")
def _kernels_apart(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Machine code of the tests is kept in a directory of their own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MICROGRAD_CACHE", str(tmp_path_factory.mktemp("kernels")))
        yield


@pytest.fixture(autouse=True, scope="session")
def _defects_are_raised() -> Iterator[None]:
    """A defect of the abstract interpreter is not taken for a function that it does not follow."""
    from micrograd.abstract import errors

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(errors, "strict", True)
        yield


@pytest.fixture
def engine(twin: Twin) -> Any:
    """micrograd.engine of the twin under test."""
    return twin.engine


@pytest.fixture
def Value(twin: Twin) -> Any:
    """The class Value of the twin under test."""
    return twin.Value


@pytest.fixture
def mgmath(twin: Twin) -> Any:
    """micrograd.math of the twin under test."""
    return twin.math


@pytest.fixture(autouse=True, scope="session")
def _no_first_call_is_late() -> Iterator[None]:
    """No test depends on how busy the machine is: first calls have no end here. Tests of the budget bring clocks."""
    from micrograd.stage import budget

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(budget, "clock", lambda: 0.0)
        patch.setattr(budget, "busy", lambda: 0.0)
        yield


@pytest.fixture(autouse=True)
def recording_stays_on() -> Iterator[None]:
    """A test that leaves this thread without recording fails, and not the hundred tests behind it."""
    yield
    off = [twin for twin in (C, PYTHON) if not twin.engine.set_recording(True)]
    assert not off, f"recording was left off: {off}"


@pytest.fixture
def twins() -> tuple[Twin, Twin]:
    """Both at once, for comparisons to the bit."""
    if not NATIVE:
        pytest.skip("the C twin is not built")
    return C, PYTHON


@pytest.fixture
def run_python() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run a program in a fresh interpreter that can import the package."""

    def run(program: str, *arguments: str, check: bool = True, **environment: str) -> subprocess.CompletedProcess[str]:
        env = {k: v for k, v in os.environ.items() if not k.startswith("MICROGRAD")} | environment
        env.setdefault("PYTHONPATH", str(PACKAGE.parent))
        done = subprocess.run(
            [sys.executable, *arguments, "-c", program], env=env, capture_output=True, text=True, timeout=300
        )
        if check:
            assert done.returncode == 0, done.stderr
        return done

    return run


@pytest.fixture
def small_heap() -> None:
    """Leave what is there already out of collections and of gc.get_objects(): other packages have millions of objects."""
    gc.collect()
    gc.freeze()
