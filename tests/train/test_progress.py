"""fit in a terminal: Ctrl-C, other threads, and what is shown."""

import signal

import pytest

from micrograd import losses
from micrograd.train import fit
from training_runs import line_problem, recipe

# ---- Ctrl-C


def test_ctrl_c_finishes_the_step_and_keeps_the_history():
    model, points, optimizer = line_problem()
    before = signal.getsignal(signal.SIGINT)

    def press(history):
        if len(history) == 7:
            signal.raise_signal(signal.SIGINT)

    history = fit(model, points, losses.mse, optimizer, epochs=100, callbacks=[press], quiet=True)
    assert len(history) == 7 and history.stopped == "interrupted"
    assert signal.getsignal(signal.SIGINT) is before
    other, points, optimizer = line_problem()
    fit(other, points, losses.mse, optimizer, epochs=7, quiet=True)
    assert other.state_dict() == model.state_dict()


def test_a_second_ctrl_c_ends_at_once():
    model, points, optimizer = line_problem()

    def press(history):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        raise AssertionError("not reached")

    history = fit(model, points, losses.mse, optimizer, epochs=100, callbacks=[press], quiet=True)
    assert len(history) == 1 and history.stopped == "interrupted"


def test_fit_in_another_thread_leaves_signals_alone():
    import threading

    model, points, optimizer = line_problem()
    done = []
    thread = threading.Thread(
        target=lambda: done.append(fit(model, points, losses.mse, optimizer, epochs=2, quiet=True))
    )
    thread.start()
    thread.join()
    assert len(done[0]) == 2


# ---- progress


def test_output_that_is_no_terminal_gets_plain_lines(capsys):
    model, points, optimizer = line_problem()
    fit(model, points, losses.mse, optimizer, epochs=20, metrics={"accuracy": lambda p, t: 0.5})
    out = capsys.readouterr().out
    lines = out.splitlines()
    assert [line.split()[1] for line in lines] == [f"{k}/20" for k in (1, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20)]
    assert lines[0].startswith("step  1/20  loss ") and "accuracy 50.0%" in lines[0]
    assert "\r" not in out and "\x1b" not in out


def test_quiet_is_silent(capfd):
    recipe([4, 1], 0, steps=5)
    assert capfd.readouterr() == ("", "")


def test_an_early_end_is_shown(capsys):
    model, points, optimizer = line_problem(lr=0.0)
    fit(model, points, losses.mse, optimizer, epochs=30, patience=3)
    lines = capsys.readouterr().out.splitlines()
    assert lines[-2].startswith("step  4/30") and lines[-1] == "stopped early: no lower loss in 3 epochs"


@pytest.mark.parametrize("rich", [True, False])
def test_a_terminal_gets_a_bar_where_rich_is_installed(monkeypatch, capsys, rich):
    import sys

    if rich:
        pytest.importorskip("rich", reason="for the bar")
        monkeypatch.setenv("TERM", "xterm")
    else:
        monkeypatch.setitem(sys.modules, "rich.progress", None)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    model, points, optimizer = line_problem()
    fit(model, points, losses.mse, optimizer, epochs=20)
    out = capsys.readouterr().out
    assert ("20/20" in out) and ("step 20/20" in out) is (not rich)
