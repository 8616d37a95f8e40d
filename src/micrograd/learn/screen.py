"""A run in the terminal: boundary, loss curve and gradient histogram, drawn with Unicode blocks as it trains.

A callback for `fit`. Where the output is not a terminal, or one that cannot move its cursor, nothing is drawn on the way and
the last picture is printed plainly.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from math import floor, isfinite, log10, tanh
from typing import Any, TextIO

from micrograd.engine import no_grad
from micrograd.learn import texts

SECONDS = 8.0  # that a run takes at least, so that one can watch it
FRAMES = 12.0  # a second, at most
BLOCKS = " ▁▂▃▄▅▆▇█"
LEAST = (40, 14)  # columns and lines below which there is no room for a picture
_BUCKETS = ("0", "<1e-6", "1e-6", "1e-5", "1e-4", "1e-3", "0.01", "0.1", "≥1")
_SHADES = "\N{SPACE}░▒▓"  # of the classes, without colour
_MARKS = "o+x*#@%&"  # of the points
_TONES = ((24, 25, 26), (94, 130, 166), (23, 30, 37), (53, 54, 55), (58, 100, 142))  # of the classes, in 256 colours
_ASCII = str.maketrans({"░": ".", "▒": ":", "▓": "-", "≥": ">", "▀": "^", "│": "|", "·": "-",
                        **dict(zip(BLOCKS[1:], "._-=+*##"))})  # fmt: skip


class Screen:
    """Draw a run as it trains; `close` leaves the last picture and puts the terminal in order.

    >>> import io
    >>> from micrograd import data, losses, nn, optim, train
    >>> from micrograd.learn.screen import Screen
    >>> X, y = data.moons(20)
    >>> model = nn.MLP(2, [4, 2], rng=0)
    >>> out = io.StringIO()
    >>> screen = Screen(model, (X, y), 5, out)
    >>> optimizer = optim.SGD(model.parameters(), lr=0.5)
    >>> history = train.fit(model, (X, y), losses.cross_entropy, optimizer, 5, callbacks=[screen], quiet=True)
    >>> "step 5 of 5" in out.getvalue() and chr(27) not in out.getvalue()
    True
    """

    def __init__(
        self,
        model: Any,
        data: tuple[Sequence[Any], Sequence[Any]],
        steps: int,
        out: TextIO | None = None,
        *,
        seconds: float = SECONDS,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.model, self.steps = model, steps
        self.X, self.y = data
        self.out = sys.stdout if out is None else out
        self.parameters = list(model.parameters())
        self.classes = sorted(set(self.y)) if all(isinstance(t, (int, float)) for t in self.y) else []
        self.plane = bool(self.classes) and len(self.X[0]) == 2
        self.live = moves(self.out) and _fits(_size())
        self.colour = self.live and not os.environ.get("NO_COLOR")
        self._plain = not _can(self.out, BLOCKS + _SHADES)
        self._pace, self._clock, self._sleep = seconds / max(1, steps), clock, sleep
        self._began = self._next = clock()
        self._lines = 0  # of the picture that is on the screen
        self._history: Any = None
        self._hidden = False

    def __call__(self, history: Any) -> None:
        """Draw the newest step, if a picture is due, and wait so that one can see it."""
        self._history = history
        if not self.live:
            return
        now = self._clock()
        if now >= self._next:
            self._show()
            self._next = max(now + 1.0 / FRAMES, self._clock() + 2.0 * (self._clock() - now))
        ahead = self._began + self._pace * len(history) - self._clock()
        if ahead > 0:
            self._sleep(ahead)

    def close(self) -> None:
        """Draw the last step and give the cursor back."""
        history, self._history = self._history, None
        if history is None:
            return
        try:
            if self.live:
                self._history = history
                self._show()
                self._history = None
            else:
                self._write("\n".join(self.picture(history, (80, 24))) + "\n")
        finally:
            if self._hidden:
                self._write("\x1b[?25h")
                self._hidden = False

    def _show(self) -> None:
        rows = self.picture(self._history, _size())
        head = "" if self._hidden else "\x1b[?25l"
        self._hidden = True
        up = f"\x1b[{self._lines}A\r" if self._lines else ""
        rest = "\x1b[J"  # a smaller window than before leaves nothing behind
        self._write(head + up + "".join(f"{row}\x1b[0m\x1b[K\n" for row in rows) + rest)
        self._lines = len(rows)

    def _write(self, text: str) -> None:
        self.out.write(text.translate(_ASCII) if self._plain else text)
        self.out.flush()

    # ---- the picture

    def picture(self, history: Any, size: tuple[int, int]) -> list[str]:
        """The lines of the picture in a window of so many columns and lines."""
        width, tall = size[0] - 1, max(size[1] - 3, LEAST[1] - 3)
        row = history.rows[-1]
        facts = {"k": int(row["step"]), "n": self.steps, "loss": f"{row['loss']:.4g}"}
        told = texts.say("theatre.terminal.step", **facts)
        if "accuracy" in row:
            told += texts.say("theatre.terminal.accuracy", share=f"{row['accuracy']:.1%}")
        told = told[:width]
        beside = width >= 76
        left = min(width, 2 * (tall - 1), width - 34 if beside else width) if self.plane else 0
        right = width - left - 3 if beside and left else width
        side = [*self._curve(history.loss, right, max(3, tall - 13)), "", *self._histogram(right)]
        if not left:
            return [told, "", *side[:tall]]
        if not beside:
            side = side[: max(0, tall // 3)]
            return [told, "", *self._map(left, tall - len(side) - 1), *side]
        drawn = self._map(left, tall - 1)
        side += [""] * (len(drawn) - len(side))
        return [told, "", *(f"{a}{self._off()} │ {b}" for a, b in zip(drawn, side))]

    def _off(self) -> str:
        return "\x1b[0m" if self.colour else ""

    def _tinted(self, bars: str) -> str:
        return f"\x1b[38;5;208m{bars}\x1b[0m" if self.colour and bars else bars

    def _map(self, width: int, height: int) -> list[str]:
        """What the model decides where, two cells above each other in every character, and the points."""
        low, high = ([pick(float(x[axis]) for x in self.X) for axis in (0, 1)] for pick in (min, max))
        room = [(b - a) * 0.06 or 0.5 for a, b in zip(low, high)]
        low, high = [a - r for a, r in zip(low, room)], [b + r for b, r in zip(high, room)]
        fine = 2 if self.colour else 1

        def at(column: int, row: int) -> list[float]:
            return [low[0] + (high[0] - low[0]) * (column + 0.5) / width,
                    high[1] - (high[1] - low[1]) * (row + 0.5) / (height * fine)]  # fmt: skip

        with no_grad():
            cells = [[self._decide(at(c, r)) for c in range(width)] for r in range(height * fine)]
        marks: dict[tuple[int, int], str] = {}
        for x, t in zip(self.X, self.y):
            column = min(width - 1, int(width * (x[0] - low[0]) / (high[0] - low[0])))
            row = min(height - 1, int(height * (high[1] - x[1]) / (high[1] - low[1])))
            marks[row, column] = _MARKS[self.classes.index(t) % len(_MARKS)]
        return [self._row(cells, marks, r) for r in range(height)]

    def _row(self, cells: list[list[tuple[int, float]]], marks: dict[tuple[int, int], str], r: int) -> str:
        if not self.colour:
            shades = [_SHADES[kind % len(_SHADES)] for kind, _ in cells[r]]
            return "".join(marks.get((r, c), shade) for c, shade in enumerate(shades))
        out, before = [], ""
        for c, (upper, lower) in enumerate(zip(cells[2 * r], cells[2 * r + 1])):
            mark = marks.get((r, c))
            code = (
                f"\x1b[1;38;5;231;48;5;{_tone(upper)}m" if mark else f"\x1b[0;38;5;{_tone(upper)};48;5;{_tone(lower)}m"
            )
            out.append((code if code != before else "") + (mark or "▀"))
            before = code
        return "".join(out)

    def _decide(self, x: list[float]) -> tuple[int, float]:
        """The class at a point, and how surely, from 0 to 1."""
        found = self.model(x)
        if isinstance(found, (list, tuple)):
            scores = [float(score) for score in found]
            best = scores.index(max(scores))
            rest = [score for k, score in enumerate(scores) if k != best]
            return best, abs(tanh((scores[best] - max(rest, default=0.0)) / 2))
        return int(float(found) > 0), abs(tanh(float(found)))

    def _curve(self, losses: Sequence[float], width: int, height: int) -> list[str]:
        """The loss over the run so far, as columns of eighths."""
        wide = max(8, width - 9)
        n = min(len(losses), wide)
        known = [losses[(k * len(losses)) // n] for k in range(n - 1)] + [losses[-1]]
        most = max((x for x in losses if isfinite(x)), default=1.0) or 1.0
        eighths = [round(8 * height * min(max(x / most, 0.0), 1.0)) if isfinite(x) else 8 * height for x in known]
        rows = []
        for r in range(height):
            filled = height - 1 - r
            label = f"{most:8.3g}" if r == 0 else f"{0:8g}" if r == height - 1 else " " * 8
            bars = "".join(BLOCKS[max(0, min(8, e - 8 * filled))] for e in eighths).rstrip()
            rows.append(f"{label} {self._tinted(bars)}")
        return [texts.say("theatre.terminal.loss")[:width], *rows]

    def _histogram(self, width: int) -> list[str]:
        """How many gradients there are of each size."""
        counts = [0] * len(_BUCKETS)
        for p in self.parameters:
            g = abs(p.grad)
            counts[0 if g == 0 else 8 if not isfinite(g) else max(1, min(8, 8 + floor(log10(g))))] += 1
        most = max(counts) or 1
        wide = max(4, width - 16)
        bars = []
        for name, count in zip(_BUCKETS, counts):
            full, part = divmod(round(8 * wide * count / most), 8)
            bar = "█" * full + (" ▏▎▍▌▋▊▉"[part] if part and not self._plain else "")
            bars.append(f"{name:>7} {self._tinted(bar)} {count or ''}".rstrip())
        return [texts.say("theatre.terminal.gradients", n=f"{len(self.parameters):,}")[:width], *bars]


def _tone(cell: tuple[int, float]) -> int:
    kind, sure = cell
    tones = _TONES[kind % len(_TONES)]
    return tones[min(2, int(3 * sure))] if sure == sure else 240


def moves(out: TextIO) -> bool:
    """Whether a stream is a terminal that can move its cursor."""
    return out.isatty() and os.environ.get("TERM", "") != "dumb"


def _size() -> tuple[int, int]:
    return tuple(shutil.get_terminal_size())  # type: ignore[return-value]


def _fits(size: tuple[int, int]) -> bool:
    return size[0] >= LEAST[0] and size[1] >= LEAST[1]


def _can(out: TextIO, letters: str) -> bool:
    try:
        letters.encode(getattr(out, "encoding", None) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
