"""`micrograd step`: frames by keys in a terminal, all of them in a pipe."""

import argparse
import io
import os
import subprocess
import sys
import time

import pytest

from micrograd.learn import frames, parse, terminal
from micrograd.learn.lesson import PRESETS
from micrograd.learn.terminal import Stepper
from micrograd.learn.text_graph import draw_graph

COMMAND = (
    "import argparse, sys; from micrograd.learn import terminal; p = argparse.ArgumentParser(); "
    "terminal.add_arguments(p); sys.exit(terminal.run(p.parse_args()))"
)
LECTURE = ["(a+b)*c", "a=2", "b=-3", "c=10"]


def piped(*words, **env):
    command = [sys.executable, "-c", COMMAND, *words]
    env = {**os.environ, **env}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=env, encoding="utf-8", timeout=60)


def test_without_a_terminal_all_frames_are_printed():
    done = piped(*LECTURE)
    lines = done.stdout.splitlines()
    assert (done.returncode, done.stderr, len(lines)) == (0, "", 10)
    assert lines[2].split(None, 2) == ["3", "forward", "v1 = a + b → 2 + (−3) = −1"]
    assert "c.grad += v1.data * out.grad → 0 + (−1)(1) = −1" in lines[7]
    assert "\x1b" not in done.stdout


def test_a_bad_expression_is_pointed_at():
    done = piped("(a+b)*", "a=1")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-2:] == ["  (a+b)*", "        ^"]
    assert piped("a", "a=x").returncode == 2


def test_a_preset_with_a_number_of_ones_own():
    assert "(3)(13) = 39" in piped("--preset", "order").stdout
    assert "a = 5" in piped("--preset", "order", "a=5").stdout
    assert "d.grad" in piped().stdout


def test_a_pipe_that_has_ascii_alone_gets_ascii():
    done = piped(*LECTURE, PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert "c.grad += v1.data * out.grad -> 0 + (-1)(1) = -1" in done.stdout


class Screen(io.StringIO):
    """What the last screen shows, as plain lines."""

    encoding = "utf-8"

    def last(self):
        return self.getvalue().split("\x1b[H\x1b[2J")[-1]


def stepped(keys, preset="product"):
    screen, pressed = Screen(), iter([*keys, "q"])
    stepper = Stepper(PRESETS[preset].timeline(), lambda: next(pressed), screen)
    stepper.loop()
    return stepper, screen.last()


@pytest.mark.parametrize(
    ("keys", "at"),
    [
        ([], 0),
        (["n", " ", "right", "\n"], 4),
        (["n", "n", "b", "left", "b"], 0),
        (["n"] * 99, 10),
        (["n", "n", "r"], 0),
        (["x", "escape", "n"], 1),
    ],
)
def test_keys_move_through_the_frames(keys, at):
    stepper, screen = stepped(keys)
    assert stepper.at == at
    assert f"frame {at} of 10" in screen


def test_a_screen_shows_code_numbers_and_the_sentence():
    _, screen = stepped(["g", *["n"] * 8])
    lines = screen.splitlines()
    assert " ▸ c = 10.0    data         10   grad         −1" in lines
    assert " ◂ L = d * c   data        −10   grad          1" in lines
    assert "   a = 2.0     data          2   grad          —" in lines
    assert " c.grad += d.data * L.grad → 0 + (−1)(1) = −1" in lines
    assert " ∂L/∂c = d" in lines


GRAPH = """
 ╭ a ──────╮
 │ 2  ∂ 10 │──╮
 ╰─────────╯  │    ╭ d + ─────╮
              ╰┬──▸│ −1  ∂ 10 │────╮
 ╭ b ──────╮   │   ╰──────────╯    │  ╭ L * ─────╮
 │ −3  ∂ — │───╯                 ╭─┴─▸│ −10  ∂ 1 │
 ╰─────────╯       ╭ c ───────╮  │    ╰──────────╯
                   │ 10  ∂ −1 │──╯
                   ╰──────────╯
"""


def test_the_graph_is_drawn_with_its_numbers(monkeypatch):
    monkeypatch.setattr(terminal.shutil, "get_terminal_size", lambda *_, **__: os.terminal_size((80, 24)))
    _, screen = stepped(["n"] * 9)
    assert GRAPH in "\n".join(line.rstrip() for line in screen.splitlines())
    assert "╭" not in stepped(["n", "g"])[1] and "╭" in stepped(["g", "n", "g"])[1]
    assert "data" in stepped(["n"], "softmax")[1]  # it needs more room than there is


@pytest.mark.parametrize("preset", list(PRESETS))
def test_every_preset_is_drawn_where_there_is_room(preset):
    timeline = PRESETS[preset].timeline()
    for step in (0, len(timeline) // 2, len(timeline)):
        lines = draw_graph(timeline, step, 400, 200)
        assert lines is not None
        text = "\n".join("".join(piece for piece, _ in line) for line in lines)
        assert all(f"╭ {node.name} " in text for node in timeline.nodes if not node.constant)
        edges = {(i, node.id) for node in timeline.nodes for i in node.inputs}
        targets = {target for _, target in edges}
        assert text.count("▸") == len(targets)
        if step:
            styles = {style for line in lines for _, style in line}
            assert "active" in styles
    assert draw_graph(timeline, 0, 20, 200) is None and draw_graph(timeline, 0, 400, 2) is None


def test_a_graph_of_ones_own_is_drawn_or_listed():
    for text in ("a*a", "a", "-a", "sum([a, a, a, 2])", "a**2 + 3*a", " + ".join(["a"] * 80)):
        timeline = frames(parse(text).build({"a": 2.0}), names={})
        lines = draw_graph(timeline, len(timeline), 500, 500)
        assert (lines is None) == (len(timeline.nodes) > 60)


def test_a_quiz_asks_sign_then_value_and_names_the_idea():
    stepper, screen = stepped(["z", "+", "1", "0", "\r"])
    assert stepper.at == 7
    assert "✓ the sign is right" in screen and "✓ d.grad is 10" in screen
    stepper, screen = stepped(["?", "-", "-", "1", "\r"])
    assert "✗ The sign of a contribution is the sign of the local derivative times the sign of L.grad." in screen
    assert "own data" in screen and "the other factor, 10" in screen


def test_a_quiz_can_be_left_and_ends():
    assert stepped(["z", "q", "n"])[0].at == 7
    assert stepped(["z", "+", "\r"])[0].at == 7  # no number: revealed without a verdict
    assert "no step left" in stepped([*["n"] * 10, "z"])[1]


def test_a_long_listing_is_cut_to_the_terminal(monkeypatch):
    monkeypatch.setattr(terminal.shutil, "get_terminal_size", lambda *_, **__: os.terminal_size((80, 24)))
    _, screen = stepped(["n"] * 20, "network")
    assert len(screen.splitlines()) <= 24
    assert "▸" in screen


def test_arguments():
    parser = argparse.ArgumentParser()
    terminal.add_arguments(parser)
    args = parser.parse_args(LECTURE)
    assert (args.expression, args.values, args.preset) == ("(a+b)*c", ["a=2", "b=-3", "c=10"], None)


@pytest.mark.skipif(sys.platform == "win32", reason="a pseudo-terminal needs POSIX")
@pytest.mark.parametrize("colour", [True, False], ids=["colour", "NO_COLOR"])
def test_in_a_real_terminal(colour):
    import pty
    import select
    import termios

    if colour:
        pytest.importorskip("rich")
    ours, theirs = pty.openpty()
    before = termios.tcgetattr(theirs)
    env = {name: x for name, x in os.environ.items() if name != "NO_COLOR"} | {
        "TERM": "xterm-256color",
        "COLUMNS": "100",
    }
    env |= {} if colour else {"NO_COLOR": "1"}
    command = [sys.executable, "-c", COMMAND, *LECTURE]
    child = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=env, close_fds=True)
    seen = ""

    def until(text):
        nonlocal seen
        deadline = time.monotonic() + 60
        while text not in seen:
            assert time.monotonic() < deadline and select.select([ours], [], [], 60)[0], (
                f"no {text!r} in {seen[-500:]!r}"
            )
            seen += os.read(ours, 65536).decode(errors="replace")
        cut = seen.index(text) + len(text)
        found, seen = seen[:cut], seen[cut:]
        return found

    try:
        until("frame 0 of 10")
        os.write(ours, b"\x1b[C")
        until("frame 1 of 10")
        assert ("\x1b[1m" in until("q quit")) is colour
        os.write(ours, b"n")
        until("frame 2 of 10")
        os.write(ours, b"\x1b[D")
        until("frame 1 of 10")
        os.write(ours, b"z+")
        until("Enter")
        os.write(ours, b"10\n")
        until("grad is 10.")
        os.write(ours, b"q")
        until("\n")
        assert child.wait(timeout=60) == 0
        assert termios.tcgetattr(theirs) == before  # the terminal is as it was
    finally:
        child.kill()
        child.wait()
        os.close(ours)
        os.close(theirs)


def test_an_order_is_printed_beside_the_right_one(capsys):
    args = argparse.Namespace(expression="", values=[], preset="order", order="preorder", lang="en")
    assert terminal.run(args) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Backward in this order: d, b, c"
    assert lines[4] == "  3 b.grad: 7 + (1)(6) = 13    ✗ a.grad: 0 + (3)(7) = 21"
    assert "    a.grad: 39   ✗ 21" in lines
    assert lines[-1] == "The first wrong contribution is number 3: b fired before c had delivered 6: a lost 18."
    assert terminal.run(argparse.Namespace(**{**vars(args), "order": "reverse"})) == 0
    assert "Every gradient is right" in capsys.readouterr().out
    assert terminal.run(argparse.Namespace(**{**vars(args), "order": "d"})) == 0
    assert "some never came" in capsys.readouterr().out
    assert terminal.run(argparse.Namespace(**{**vars(args), "order": "d,zz"})) == 2
    assert "there is no node 'zz'" in capsys.readouterr().err
