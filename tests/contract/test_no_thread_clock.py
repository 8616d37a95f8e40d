"""The package is imported where the interpreter lacks what WebAssembly lacks: the workshop in the browser needs it."""

from __future__ import annotations

from collections.abc import Callable
from subprocess import CompletedProcess

PROGRAM = """
import time
del time.thread_time
from micrograd.learn.workshop.browser import check
from micrograd.stage import budget
from micrograd import Value, losses, jit
x = Value(2.0)
(x * x).backward()
print(x.grad, budget.busy() >= 0)
"""


def test_an_interpreter_without_a_clock_for_threads(run_python: Callable[..., CompletedProcess[str]]) -> None:
    assert run_python(PROGRAM, MICROGRAD_PURE="1").stdout.split() == ["4.0", "True"]
