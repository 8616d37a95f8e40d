"""What the user of the demo asked for, and how its run is shown and kept."""

from __future__ import annotations

import sys
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from micrograd import nn
from micrograd.train import History


class Request(NamedTuple):
    """What the user asked for."""

    steps: int | None
    seed: int
    quiet: bool
    jit: bool
    watch: bool

    def callbacks(self, model: nn.Module, points: tuple[Any, Any], steps: int) -> list[Any]:
        """The picture in the terminal, if it was asked for."""
        if not self.watch:
            return []
        from micrograd.learn import texts
        from micrograd.learn.screen import Screen

        screen = Screen(model, points, steps)
        if not screen.live:
            print(texts.say("theatre.terminal.pipe") + "\n")
        return [screen]

    @property
    def hushed(self) -> bool:
        """Whether fit itself shows nothing: the picture has all of it."""
        return self.quiet or self.watch


def offer(page: Path, wanted: bool | None) -> None:
    """Open the page of a run in the browser: where it was asked for, or where somebody at the terminal says yes."""
    if wanted is None and sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty():
        try:
            wanted = input("\nWatch this run in the browser now, step by step? [y/N] ").strip().lower() in ("y", "yes")
        except (EOFError, KeyboardInterrupt):
            print()
    if not wanted:
        return
    import webbrowser

    if not webbrowser.open(page.resolve().as_uri()):
        print(f"no browser was found here; the page is {page.resolve().as_uri()}")


class KeptRun:
    """A run kept for its page, without counting the time that keeping it takes."""

    def __init__(self, theatre: Any) -> None:
        self.theatre, self.seconds = theatre, 0.0

    def __call__(self, history: History) -> None:
        began = perf_counter()
        self.theatre(history)
        self.seconds += perf_counter() - began
