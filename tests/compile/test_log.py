"""The logger `micrograd`, the line on a terminal, and the number of threads."""

from __future__ import annotations

import io
import logging
import os
import subprocess
import sys
import time

import pytest

from micrograd import grad, jit, vmap
from micrograd.compile import log

np = pytest.importorskip("numpy")
pytest.importorskip("llvmlite")


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_what_is_traced_and_compiled_is_logged(caplog):
    def slope(x):
        return x * x if x > 0 else -x

    with caplog.at_level(logging.INFO, logger="micrograd"):
        f = jit(grad(slope), wait=True)
        assert f(2.0) == 4.0
        told = [record.getMessage() for record in caplog.records]
        assert any("traced" in text and "slope" in text and "no variant holds" in text for text in told)
        assert any("compiled" in text and "slope" in text and "because it was called" in text for text in told)
        caplog.clear()
        assert f(3.0) == 6.0
        assert caplog.records == []
        assert vmap(slope)(np.ones(3)).tolist() == [1.0] * 3
        assert any("rows" in record.getMessage() for record in caplog.records)


def test_nothing_is_logged_without_being_asked_for(caplog):
    with caplog.at_level(logging.WARNING, logger="micrograd"):
        jit(lambda x: x + 1.0, wait=True)(2.0)
    assert caplog.records == []


class TestALineOnTheTerminal:
    def test_after_some_time(self, monkeypatch):
        screen = Terminal()
        monkeypatch.setattr(sys, "stderr", screen)
        monkeypatch.setattr(log, "PATIENCE", 0.01)
        with log.step("tracing f"), log.step("compiling f"):
            deadline = time.monotonic() + 30.0
            while "compiling f" not in screen.getvalue() and time.monotonic() < deadline:
                time.sleep(0.01)
        assert "\r\x1b[Kmicrograd: compiling f ... 0 s" in screen.getvalue()
        assert screen.getvalue().endswith("\r\x1b[K")  # and it is gone
        assert "\n" not in screen.getvalue()

    def test_none_for_what_is_fast_or_compiled_in_the_background(self, monkeypatch):
        screen = Terminal()
        monkeypatch.setattr(sys, "stderr", screen)
        with log.step("tracing f"):
            pass
        monkeypatch.setattr(log, "PATIENCE", 0.0)
        with log.step("compiling f", waited_for=False):
            time.sleep(0.02)
        assert screen.getvalue() == ""

    def test_none_where_stderr_is_no_terminal(self, monkeypatch):
        for screen in (io.StringIO(), None):
            monkeypatch.setattr(sys, "stderr", screen)
            monkeypatch.setattr(log, "PATIENCE", 0.0)
            with log.step("tracing f"):
                time.sleep(0.02)
            assert screen is None or screen.getvalue() == ""

    def test_an_exception_ends_it(self, monkeypatch):
        monkeypatch.setattr(sys, "stderr", Terminal())
        with pytest.raises(KeyError), log.step("tracing f"):
            raise KeyError
        assert log._here.steps == []


@pytest.mark.parametrize(("given", "want"), [("1", "1"), ("3", "3"), ("", str(os.cpu_count() or 1))])
def test_the_number_of_threads(given, want):
    program = "from micrograd.compile import vmap; print(vmap.CORES)"
    ran = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, "MICROGRAD_THREADS": given}, capture_output=True, text=True
    )
    assert ran.stdout.strip() == want


def test_a_number_of_threads_that_is_none():
    program = "from micrograd import vmap"
    ran = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, "MICROGRAD_THREADS": "0"}, capture_output=True, text=True
    )
    assert "MICROGRAD_THREADS='0': it must be a number of threads" in ran.stderr


def test_axes_by_position():
    assert vmap(lambda x, y: x * y, (0, None))(np.arange(3.0), 2.0).tolist() == [0.0, 2.0, 4.0]
    assert vmap(lambda x: np.array([x, -x]), 0, 1)(np.arange(3.0)).tolist() == [[0.0, 1.0, 2.0], [0.0, -1.0, -2.0]]
