"""A run in the terminal: live with a cursor, plain in a pipe, and the terminal in order whatever happens."""

from __future__ import annotations

import io
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from micrograd import data, losses, nn, optim, train
from micrograd.learn.screen import BLOCKS, Screen

pty = pytest.importorskip("pty", reason="there are no pseudo-terminals on this system")


class Tty(io.StringIO):
    """A terminal that writes down what it is told."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


class Ascii(Tty):
    encoding = "ascii"


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("LINES", "30")


def run(
    out: Any, steps: int = 6, shape: tuple[int, ...] = (4, 2), points: Any = None, **more: Any
) -> tuple[Any, Screen]:
    X, y = points or data.moons(30, seed=0)
    model = nn.MLP(len(X[0]), list(shape), rng=0)
    ticks = iter(range(10**6))
    screen = Screen(model, (X, y), steps, out, clock=lambda: float(next(ticks)), sleep=lambda s: None, **more)
    history = train.fit(
        model, (X, y), losses.cross_entropy, optim.SGD(model.parameters(), lr=0.5), steps, callbacks=[screen], quiet=True,
        metrics={"accuracy": train.accuracy},
    )  # fmt: skip
    return history, screen


def last(text: str) -> str:
    """What the last drawing wrote, without its escape sequences."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text.rsplit("A\r", 1)[-1])


def test_it_draws_in_place_and_gives_the_cursor_back(terminal: None) -> None:
    out = Tty()
    history, screen = run(out)
    text = out.getvalue()
    assert text.startswith("\x1b[?25l") and text.count("\x1b[?25l") == 1 and text.endswith("\x1b[?25h")
    assert len(re.findall(r"\x1b\[\d+A\r", text)) >= 3 and screen.colour
    shown = last(text)
    assert f"step 6 of 6   loss {history.loss[-1]:.4g}" in shown and "accuracy" in shown
    assert "▀" in shown and "o" in shown and "+" in shown and any(block in shown for block in BLOCKS[1:])
    rows = shown.splitlines()
    up = {int(n) for n in re.findall(r"\x1b\[(\d+)A\r", text)}
    assert up == {len(rows)} and len(rows) < 30 and max(map(len, rows)) < 100


def test_without_colour_shades_tell_the_classes_apart(terminal: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    out = Tty()
    run(out)
    assert "38;5" not in out.getvalue() and "░" in last(out.getvalue())


def test_a_terminal_of_ascii_gets_ascii(terminal: None) -> None:
    out = Ascii()
    run(out)
    assert out.getvalue().isascii() and "gradients of" in last(out.getvalue())


@pytest.mark.parametrize("kind", ["pipe", "dumb", "small"])
def test_where_nothing_can_be_drawn_the_last_picture_is_printed(
    terminal: None, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    out: Any = io.StringIO() if kind == "pipe" else Tty()
    if kind == "dumb":
        monkeypatch.setenv("TERM", "dumb")
    if kind == "small":
        monkeypatch.setenv("COLUMNS", "30")
    _, screen = run(out)
    assert not screen.live and "\x1b" not in out.getvalue() and out.getvalue().count("step 6 of 6") == 1


def test_the_histogram_counts_every_gradient(terminal: None) -> None:
    out = Tty()
    _, screen = run(out)
    rows = last(out.getvalue()).splitlines()
    start = next(k for k, row in enumerate(rows) if "gradients of" in row)
    found = [
        int(n) for row in rows[start + 1 : start + 10] if (n := (row.split("│")[-1].split() or [""])[-1]).isdigit()
    ]
    assert "≥1" in rows[start + 9] and sum(found[1 if found[0] == 0 else 0 :]) == len(screen.parameters)
    for p in screen.parameters:
        p.grad = 0.0
    bars = screen._histogram(40)
    assert bars[1].split() == ["0", bars[1].split()[1], str(len(screen.parameters))] and all(
        "█" not in bar for bar in bars[2:]
    )


@pytest.mark.parametrize("size", [(76, 24), (60, 20), (40, 14), (200, 60)])
def test_it_fits_the_window(terminal: None, monkeypatch: pytest.MonkeyPatch, size: tuple[int, int]) -> None:
    monkeypatch.setenv("COLUMNS", str(size[0]))
    monkeypatch.setenv("LINES", str(size[1]))
    out = Tty()
    run(out)
    rows = last(out.getvalue()).splitlines()
    assert len(rows) < size[1] and max(map(len, rows)) < size[0]


def test_data_that_are_not_in_the_plane_have_no_map(terminal: None) -> None:
    out = Tty()
    run(out, points=([[0.0, 1.0, 2.0], [1.0, 0.0, 0.5]] * 5, [0, 1] * 5))
    assert "▀" not in last(out.getvalue()) and "loss so far" in last(out.getvalue())


def test_a_loss_that_is_not_finite_is_drawn_too(terminal: None) -> None:
    screen = run(Tty())[1]
    history = train.History([{"step": k + 1, "loss": x} for k, x in enumerate([1.0, float("inf"), float("nan")])])
    assert any("█" in row for row in screen.picture(history, (100, 30)))


def demo(*words: str, **more: Any) -> list[str]:
    return [sys.executable, "-m", "micrograd", "demo", "--watch", *words]


def test_the_demo_in_a_pipe_prints_plainly(tmp_path: Path) -> None:
    done = subprocess.run(
        demo("--steps", "3", "--out", str(tmp_path)), capture_output=True, text=True, encoding="utf-8", timeout=120,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "not a terminal" in done.stdout and "\x1b" not in done.stdout and "step 3 of 3" in done.stdout
    assert (tmp_path / "moons-watch.html").stat().st_size > 100_000 and "moons-watch.html" in done.stdout


def test_jit_and_watch_do_not_go_together(tmp_path: Path) -> None:
    done = subprocess.run(demo("--jit", "--out", str(tmp_path)), capture_output=True, text=True, timeout=120)
    assert done.returncode == 2 and "--watch" in done.stderr


@pytest.mark.parametrize("presses", [1, 2])
def test_ctrl_c_puts_the_terminal_in_order(tmp_path: Path, presses: int) -> None:
    if shutil.which("true") is None or signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        pytest.skip("SIGINT is ignored here")
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        demo("--steps", "2000", "--out", str(tmp_path)), stdin=theirs, stdout=theirs, stderr=theirs, close_fds=True,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "90", "LINES": "26", "PYTHONIOENCODING": "utf-8"},
    )  # fmt: skip
    os.close(theirs)
    text = b""
    sent = 0
    end = time.monotonic() + 100
    while time.monotonic() < end:
        try:
            part = os.read(ours, 65536)
        except OSError:
            break
        if not part:
            break
        text += part
        if b"step 1" in text and text.count(b"A\r") > 2 + 2 * sent and sent < presses:
            child.send_signal(signal.SIGINT)
            sent += 1
    assert child.wait(timeout=60) == 130
    os.close(ours)
    assert text.count(b"\x1b[?25l") == 1 and text.rindex(b"\x1b[?25h") > text.rindex(b"\x1b[?25l")
    assert b"Traceback" not in text
