"""`micrograd step "(a+b)*c" a=2 b=-3 c=10`: the frames in a terminal, one key at a time.

Plain text of the standard library; rich adds colour where it is installed. When the output is no terminal, all frames
are printed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from collections.abc import Callable
from typing import Any, TextIO

from micrograd.learn import orders, texts
from micrograd.learn.expression import ExpressionError, parse, read_values
from micrograd.learn.frames import Frame, Timeline, frames
from micrograd.learn.lesson import PRESETS, judge, judge_sign
from micrograd.learn.sentences import ROLES, show
from micrograd.learn.text_graph import draw_graph

_NEXT, _BACK, _RESET, _QUIZ, _GRAPH, _QUIT = "next", "back", "reset", "quiz", "graph", "quit"
ACTIONS = {
    "n": _NEXT, " ": _NEXT, "\r": _NEXT, "\n": _NEXT, "right": _NEXT,
    "b": _BACK, "p": _BACK, "left": _BACK, "\x7f": _BACK,
    "r": _RESET, "z": _QUIZ, "?": _QUIZ, "g": _GRAPH,
    "q": _QUIT, "\x03": _QUIT, "\x04": _QUIT, "": _QUIT,
}  # fmt: skip
_ARROWS = {"[C": "right", "[D": "left", "OC": "right", "OD": "left"}
# The palette of the drawings: data blue, grad orange, local derivative teal, active yellow.
_STYLES = {
    "data": "dodger_blue1",
    "grad": "dark_orange",
    "local": "dark_cyan",
    "active": "bold yellow",
    "quiet": "dim",
    "title": "bold",
}

# For a terminal that has ASCII alone.
_ASCII = str.maketrans({"−": "-", "→": "->", "∂": "d", "·": "*", "²": "^2", "▸": ">", "◂": "<", "✓": "ok:", "✗": "no:",
                        "—": "-", "∞": "inf", "√": "sqrt", "×": "x", "½": "1/2", "Φ": "Phi", "φ": "phi", "≤": "<=",
                        "╭": "+", "╮": "+", "╰": "+", "╯": "+", "│": "|", "─": "-", "┤": "+", "├": "+", "┬": "+", "┴": "+",
                        "┼": "+",                        "π": "pi", "ⁿ": "^n", "⁻": "-", "¹": "1"})  # fmt: skip

Line = list[tuple[str, str]]  # pieces of text, each with the name of its style ("" for none)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what `micrograd step` takes."""
    parser.add_argument("expression", nargs="?", default="", help='such as "(a+b)*c", or "b=a*3; c=b+1; d=b*c"')
    parser.add_argument("values", nargs="*", metavar="name=number", help="the numbers to start with: a=2 b=-3 c=10")
    parser.add_argument("--preset", choices=list(PRESETS), help="a graph of the lesson in place of an expression")
    parser.add_argument(
        "--order",
        metavar="ORDER",
        help=f"print a backward pass in another visit order beside the right one: {', '.join(orders.ORDERS)}, "
        "or names such as d,b,c",
    )
    parser.add_argument("--lang", default="en", choices=texts.languages(), help="the language of the texts")


def run(args: argparse.Namespace) -> int:
    """Step through an expression; returns the exit status."""
    try:
        texts.use(args.lang)
        timeline = _timeline(args)
        if args.order:
            print_order(timeline, args.order, sys.stdout)
            return 0
    except (ExpressionError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    if not (sys.stdout.isatty() and sys.stdin.isatty()):
        print_all(timeline, sys.stdout)
        return 0
    with Keyboard() as keyboard:
        Stepper(timeline, keyboard.key, sys.stdout).loop()
    return 0


def _timeline(args: argparse.Namespace) -> Timeline:
    if args.preset or not args.expression:
        preset = PRESETS[args.preset or "product"]
        words = ([args.expression] if args.expression else []) + list(args.values)
        values = {**preset.values, **read_values(words)}
        return frames(parse(preset.expression).build(values), names={})
    return frames(parse(args.expression).build(read_values(args.values)), names={})


def print_all(timeline: Timeline, out: TextIO) -> None:
    """Print every frame on a line, for a file or a pipe."""
    writer = _Writer(out)
    wide = max(map(len, texts.get("terminal.kinds").values()))
    for i, frame in enumerate(timeline, 1):
        rule: Line = [("   ", ""), (f"[{frame.rule}]", "quiet")] if frame.kind == "backward" else []
        writer.line(
            [
                (f"{i:>3} ", "quiet"),
                (f"{texts.get(f'terminal.kinds.{frame.kind}'):<{wide}} ", "quiet"),
                *_sentence(frame),
                *rule,
            ]
        )


def print_order(timeline: Timeline, order: str, out: TextIO) -> None:
    """Print a backward pass in some order beside the right one, and where they first differ."""
    visits = order if order in orders.ORDERS else [name.strip() for name in order.split(",")]
    right, done = orders.run(timeline, "reverse"), orders.run(timeline, visits)
    names = [node.name for node in timeline.nodes]
    writer = _Writer(out)

    def said(push: orders.Contribution | None) -> str:
        if push is None:
            return ""
        product = f"({show(push.local)})({show(push.upstream)})"
        return f"{names[push.input]}.grad: {show(push.before)} + {product} = {show(push.after)}"

    rows = [texts.get("terminal.order_columns")]
    count = max(len(right.pushes), len(done.pushes))
    for k in range(count):
        rows.append([said(run.pushes[k] if k < len(run.pushes) else None) for run in (right, done)])
    width = max(len(row[0]) for row in rows)
    fired = [names[i] for i in done.visits if timeline.nodes[i].inputs]
    writer.line([(texts.say("terminal.order_head", order=", ".join(fired)), "title")])
    for k, (mine, other) in enumerate(rows):
        wrong = k > 0 and k - 1 == done.first
        number = f"{k:>3} " if k else "    "
        writer.line(
            [(number, "quiet"), (f"{mine:<{width}}   ", ""), ("✗ " if wrong else "  ", "active"), (other, "grad")]
        )
    for i, (got, wanted) in enumerate(zip(done.grads, done.right)):
        if not timeline.nodes[i].constant and not orders.same(got, wanted):
            writer.line([(f"    {names[i]}.grad: {show(wanted)}", ""), (f"   ✗ {show(got)}", "active")])
    if done.first < 0:
        writer.line([(texts.get("terminal.order_right"), "title")])
    else:
        missing = done.first == len(done.pushes)
        key = "terminal.order_missing" if missing else "terminal.order_first"
        writer.line([(texts.say(key, k=done.first + 1, reason=done.reason), "title")])


def _sentence(frame: Frame) -> Line:
    """A frame's sentence, its numbers in the colours of the drawings."""
    return [(text, ROLES.get(slot, "title" if k == 0 else "")) for k, (slot, text) in enumerate(frame.pieces)]


class Stepper:
    """The timeline on a screen: `key` gives the next key pressed ("right", "n", … or "" at the end of input)."""

    def __init__(self, timeline: Timeline, key: Callable[[], str], out: TextIO) -> None:
        self.timeline, self.key, self.out = timeline, key, out
        self.writer = _Writer(out)
        self.at = 0  # so many frames are shown
        self.drawn = True  # whether the graph is drawn, where there is room for it
        self.note: list[Line] = []

    def loop(self) -> None:
        """Show frames until the learner quits."""
        while True:
            self.draw()
            action = ACTIONS.get(self.key())
            self.note = []
            if action == _NEXT:
                self.at = min(self.at + 1, len(self.timeline))
            elif action == _BACK:
                self.at = max(self.at - 1, 0)
            elif action == _RESET:
                self.at = 0
            elif action == _QUIZ:
                self.quiz()
            elif action == _GRAPH:
                self.drawn = not self.drawn
            elif action == _QUIT:
                self.out.write("\n")
                self.out.flush()
                return

    def draw(self) -> None:
        """Redraw the whole screen."""
        self.out.write("\x1b[H\x1b[2J")
        for line in self.screen():
            self.writer.line(line)
        self.out.flush()

    def screen(self) -> list[Line]:
        """The screen as lines of styled text."""
        frame = self.timeline[self.at - 1] if self.at else None
        kind = frame.kind if frame else "start"
        kind = texts.get(f"terminal.kinds.{kind}")
        head = texts.say("terminal.frame", k=self.at, n=len(self.timeline), kind=kind)
        lines: list[Line] = [[(f" {head}", "title")], []]
        size = shutil.get_terminal_size()
        graph = draw_graph(self.timeline, self.at, size.columns, size.lines - 12) if self.drawn else None
        lines += self._window(self._listing(frame)) if graph is None else graph
        lines.append([])
        if frame is None:
            lines.append([(f" {texts.get('terminal.start')}", "")])
        else:
            lines.append([(" ", ""), *_sentence(frame)])
            lines.append([(f" {frame.rule}", "quiet")])
        if self.at == len(self.timeline):
            lines.append([(f" {texts.get('terminal.last')}", "quiet")])
        return [*lines, *self.note, [], [(f" {texts.get('terminal.keys')}", "quiet")]]

    def _listing(self, frame: Frame | None) -> list[Line]:
        """One line of code a node, with data and gradient as far as they are known; a mark shows what is touched."""
        timeline = self.timeline
        data, grad = timeline.state(self.at)
        width = max(len(text) for text in timeline.code)
        lines: list[Line] = []
        for node in timeline.nodes:
            if node.line is None:
                continue
            target = frame is not None and node.id == (frame.input if frame.kind == "backward" else frame.node)
            source = frame is not None and frame.kind == "backward" and node.id == frame.node
            mark = "▸" if target else "◂" if source else " "
            x, g = data[node.id], grad[node.id]
            lines.append([
                (f" {mark} {timeline.code[node.line]:<{width}}", "active" if target or source else ""),
                ("   data ", "quiet"), (f"{'—' if x is None else show(x):>10}", "data"),
                ("   grad ", "quiet"), (f"{'—' if g is None else show(g):>10}", "grad"),
            ])  # fmt: skip
        return lines

    def _window(self, lines: list[Line]) -> list[Line]:
        """As many lines as the terminal has room for, around the one that is touched."""
        room = max(3, shutil.get_terminal_size().lines - 10 - len(self.note))
        if len(lines) <= room:
            return lines
        touched = next((k for k, line in enumerate(lines) if line[0][0].startswith(" ▸")), 0)
        first = max(0, min(touched - room // 2, len(lines) - room))
        return lines[first : first + room]

    def quiz(self) -> None:
        """Ask for the sign and the value of the next contribution, then reveal it."""
        ahead = [i for i in range(self.at, len(self.timeline)) if self.timeline[i].kind == "backward"]
        if not ahead:
            self.note = [[(f" {texts.get('terminal.nothing_left')}", "")]]
            return
        self.at = ahead[0]
        frame = self.timeline[self.at]
        node, target = self.timeline.nodes[frame.node].name, self.timeline.nodes[frame.input or 0].name
        words = {"out": node, "name": target, "target": f"{target}.grad", "after": show(frame.after or 0.0)}
        self.note = [[], [(f" {texts.say('terminal.ask_sign', **words)}", "active")]]
        self.draw()
        sign = self.key()
        if sign in ("", "q", "\x03", "\x04"):
            self.note = []
            return
        verdict = judge_sign(self.timeline, frame, sign)
        reply = f"✓ {texts.get('terminal.sign_right')}" if verdict.right else f"✗ {verdict.text}"
        told: list[Line] = [[(f" {reply}", "title")]]
        self.note = [[], *told, [(f" {texts.say('terminal.ask_value', **words)}", "active")]]
        self.draw()
        said = self._number()
        self.at += 1
        if said is None:
            self.note = [[], *told]
            return
        verdict = judge(self.timeline, frame, said)
        right = f" ✓ {texts.say('terminal.is', **words)}"
        told.append([(right if verdict.right else f" ✗ {show(said)}: {verdict.text}", "title")])
        self.note = [[], *told]

    def _number(self) -> float | None:
        """Read a number key by key, with the rub-out key; None where there is none."""
        text = ""
        while True:
            key = self.key()
            if key in ("\r", "\n", "", "\x03", "\x04"):
                break
            if key in ("\x7f", "\b"):
                text = text[:-1]
            elif len(key) == 1 and key.isprintable():
                text += key
            self.out.write(f"\r\x1b[K > {text}")
            self.out.flush()
        try:
            return float(text.replace("−", "-"))
        except ValueError:
            return None


class _Writer:
    """Lines of styled text, in colour where rich is installed and NO_COLOR is not set."""

    def __init__(self, out: TextIO) -> None:
        self.out = out
        try:
            "−→∂·▸◂✓✗—∞╭".encode(out.encoding or "utf-8")
            self.plain = False
        except UnicodeEncodeError:
            self.plain = True
        self.console: Any = None
        if out.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb":
            try:
                from rich.console import Console
            except ImportError:
                return
            self.console = Console(file=out, highlight=False, soft_wrap=True)

    def line(self, pieces: Line) -> None:
        """Write one line."""
        if self.plain:
            pieces = [(text.translate(_ASCII), style) for text, style in pieces]
        if self.console is None:
            self.out.write("".join(text for text, _ in pieces).rstrip() + "\n")
            return
        from rich.text import Text

        line = Text()
        for text, style in pieces:
            line.append(text, style=_STYLES.get(style, ""))
        self.console.print(line)


class Keyboard:
    """Single keys from the terminal, without Enter; the terminal is put back as it was."""

    def __enter__(self) -> Keyboard:
        self.restore: Callable[[], None] = lambda: None
        try:
            import termios
            import tty
        except ImportError:  # Windows
            return self
        fd = sys.stdin.fileno()
        before = termios.tcgetattr(fd)
        tty.setcbreak(fd)
        self.restore = lambda: termios.tcsetattr(fd, termios.TCSADRAIN, before)
        return self

    def __exit__(self, *_: object) -> None:
        self.restore()

    def key_within(self, seconds: float) -> str:
        """The next key, or "" where none is pressed in that time."""
        if sys.platform == "win32":
            import msvcrt

            end = time.monotonic() + seconds
            while not msvcrt.kbhit():  # type: ignore[attr-defined, unused-ignore]
                if time.monotonic() > end:
                    return ""
                time.sleep(0.02)
            return self._windows_key()
        import select

        return self._posix_key() if select.select([sys.stdin.fileno()], [], [], seconds)[0] else ""

    def key(self) -> str:
        """The next key; arrows have names; "" at the end of input or on an interrupt."""
        try:
            return self._windows_key() if sys.platform == "win32" else self._posix_key()
        except KeyboardInterrupt:
            return ""

    def _posix_key(self) -> str:
        import select

        fd = sys.stdin.fileno()
        first = os.read(fd, 1)
        if first != b"\x1b":
            more = 0 if not first or first[0] < 0xC0 else 1 if first[0] < 0xE0 else 2 if first[0] < 0xF0 else 3
            return (first + (os.read(fd, more) if more else b"")).decode(errors="replace")
        if not select.select([fd], [], [], 0.05)[0]:
            return "escape"
        return _ARROWS.get(os.read(fd, 8).decode(errors="replace"), "escape")

    def _windows_key(self) -> str:
        import msvcrt

        first: str = msvcrt.getwch()  # type: ignore[attr-defined, unused-ignore]
        if first not in ("\x00", "\xe0"):
            return first
        second: str = msvcrt.getwch()  # type: ignore[attr-defined, unused-ignore]
        return {"M": "right", "K": "left"}.get(second, "escape")
