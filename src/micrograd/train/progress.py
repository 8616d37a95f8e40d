"""How training looks while it runs: a bar in a terminal that has rich, plain lines elsewhere, nothing when asked."""

from __future__ import annotations

import sys
from typing import Any

Row = dict[str, float]


def describe(row: Row) -> str:
    """The numbers of a step in words: loss 0.0123  accuracy 98.0%  lr 0.1."""
    parts = []
    for name, x in row.items():
        if name in ("epoch", "step"):
            continue
        parts.append(f"{name.replace('_', ' ')} {f'{x:.1%}' if 'accuracy' in name else f'{x:.4g}'}")
    return "  ".join(parts)


class Silent:
    """Shows nothing."""

    def __init__(self, total: int, done: int = 0) -> None:
        self.total, self.done = total, done

    def step(self, row: Row) -> None:
        """Show one more step."""

    def say(self, text: str) -> None:
        """Show a line."""

    def close(self) -> None:
        """Put the terminal in order."""


class Lines(Silent):
    """A plain line for the first step, for each tenth of the way, and for the last step."""

    shown = 0

    def step(self, row: Row) -> None:
        """Show the step, if it is due."""
        k = int(row["step"])
        self.row = row
        if k == self.done + 1 or k == self.total or k * 10 // self.total > (k - 1) * 10 // self.total:
            self._print(row)

    def _print(self, row: Row) -> None:
        self.shown = k = int(row["step"])
        print(f"step {k:>{len(str(self.total))}}/{self.total}  {describe(row)}", flush=True)

    def say(self, text: str) -> None:
        """Print a line."""
        print(text, flush=True)

    def close(self) -> None:
        """Show where it ended, where that was not on the way."""
        if hasattr(self, "row") and self.shown != int(self.row["step"]):
            self._print(self.row)


class Bar(Silent):
    """rich's bar."""

    def __init__(self, total: int, done: int = 0) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        super().__init__(total, done)
        self.bar: Any = Progress(
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("[bold]{task.fields[numbers]}"),
            TimeRemainingColumn(compact=True),
        )
        self.task = self.bar.add_task("training", total=total, completed=done, numbers="")
        self.bar.start()

    def step(self, row: Row) -> None:
        """Move the bar."""
        self.bar.update(
            self.task, completed=int(row["step"]), numbers=describe({k: x for k, x in row.items() if k != "lr"})
        )

    def say(self, text: str) -> None:
        """Print a line above the bar."""
        self.bar.console.print(text, markup=False, highlight=False)

    def close(self) -> None:
        """Leave the bar as it is."""
        self.bar.stop()


def show(total: int, done: int, quiet: bool) -> Silent:
    """What suits where the output goes."""
    if quiet:
        return Silent(total, done)
    if sys.stdout.isatty():
        try:
            return Bar(total, done)
        except ImportError:
            pass
    return Lines(total, done)
