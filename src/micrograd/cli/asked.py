"""What the user of the demo asked for, and how its run is shown and kept."""

from __future__ import annotations

from time import perf_counter
from typing import Any, NamedTuple

from micrograd import nn
from micrograd.train import History


class Asked(NamedTuple):
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


class Kept:
    """A run kept for its page, without counting the time that keeping it takes."""

    def __init__(self, theatre: Any) -> None:
        self.theatre, self.seconds = theatre, 0.0

    def __call__(self, history: History) -> None:
        began = perf_counter()
        self.theatre(history)
        self.seconds += perf_counter() - began
