"""Both twins of the engine in one process: every engine test runs on each.

The C twin is the package as it is imported. The Python twin is the same package imported a second time, under
MICROGRAD_PURE=1, and kept aside; for a test that asks for it, it takes the first one's place in `sys.modules`, so that
`import micrograd.nn`, pickle and copy see the twin under test.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
MORE = int(os.environ.get("MICROGRAD_EXAMPLES", "1"))


def pytest_configure(config: pytest.Config) -> None:
    try:
        from hypothesis import settings
    except ImportError:
        return
    # The same examples each time, so that a red build is red again on the next machine; and no wall-clock deadlines.
    # MICROGRAD_EXAMPLES=50 looks at 50 times as many, and at others each time.
    same = MORE == 1
    settings.register_profile("micrograd", deadline=None, derandomize=same, database=None, print_blob=True)
    settings.load_profile("micrograd")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say what this run could not look at."""
    for missing, what in (
        (not NATIVE, "the C engine: it is not built (install a C compiler)"),
        (not importlib.util.find_spec("torch"), "comparisons with PyTorch: it is not installed (torch==2.13.0)"),
        (
            not importlib.util.find_spec("playwright") or not shutil.which("chromium"),
            "tests in a browser: they need playwright and chromium",
        ),
    ):
        if missing:
            terminalreporter.write_line(f"left out: {what}", yellow=True)


class Twin:
    """One load of the package."""

    def __init__(self, name: str, modules: dict[str, ModuleType]) -> None:
        self.name = name
        self.modules = modules
        self.package: Any = modules["micrograd"]
        self.engine: Any = modules["micrograd.engine"]
        self.math: Any = modules["micrograd.math"]
        self.ops: Any = modules["micrograd.ops"]
        self.Value: Any = self.engine.Value

    def __repr__(self) -> str:
        return f"<{self.name} twin>"


def _loaded() -> dict[str, ModuleType]:
    return {name: m for name, m in sys.modules.items() if name == "micrograd" or name.startswith("micrograd.")}


def _load(name: str, pure: str) -> Twin:
    """Import the package anew, with MICROGRAD_PURE set to `pure`."""
    before, variable = _loaded(), os.environ.get("MICROGRAD_PURE")
    for module in before:
        del sys.modules[module]
    os.environ["MICROGRAD_PURE"] = pure
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a machine without a C compiler
            importlib.import_module("micrograd.graph")
        return Twin(name, _loaded())
    finally:
        if variable is None:
            del os.environ["MICROGRAD_PURE"]
        else:
            os.environ["MICROGRAD_PURE"] = variable
        for module in _loaded():
            del sys.modules[module]
        sys.modules.update(before)


PYTHON = _load("Python", "1")
C = _load("C", os.environ.get("MICROGRAD_PURE", "0"))
NATIVE = bool(C.engine.NATIVE)
sys.modules.update(C.modules)  # what test modules get when they import micrograd at their top


@contextmanager
def in_place(twin: Twin) -> Iterator[Twin]:
    """Let `import micrograd...` find this twin for a while."""
    before = _loaded()
    try:
        for name in before:
            del sys.modules[name]
        sys.modules.update(twin.modules)
        yield twin
    finally:
        twin.modules = _loaded()  # modules that were imported meanwhile belong to this twin
        for name in twin.modules:
            del sys.modules[name]
        sys.modules.update(before)


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


@pytest.fixture(autouse=True, scope="session")
def _kernels_apart(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Machine code of the tests is kept in a directory of their own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MICROGRAD_CACHE", str(tmp_path_factory.mktemp("kernels")))
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
        env.setdefault("PYTHONPATH", str(ROOT / "src"))
        done = subprocess.run(
            [sys.executable, *arguments, "-c", program], env=env, capture_output=True, text=True, timeout=300
        )
        if check:
            assert done.returncode == 0, done.stderr
        return done

    return run
