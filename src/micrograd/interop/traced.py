"""One trace of a function for an exporter: the tape, the numbers that it captured, and how arguments and results look."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from micrograd.compile.jit import Jit
from micrograd.compile.options import Options
from micrograd.errors import CompileError
from micrograd.tape.tape import Tape
from micrograd.tree import NUMBER, Shape, name_of


class Traced:
    """A function along the path that these arguments take."""

    def __init__(self, f: Callable[..., Any], args: tuple[Any, ...]) -> None:
        f = getattr(f, "f", f) if getattr(f, "kernel", None) is f else f  # jit(f): what it was made from
        _one_by_one(f, args)
        owner = Jit(f, Options())
        shape, leaves = owner._flat(args, {})
        self.name, self.leaves = name_of(f), leaves
        found = owner._trace(shape, leaves)
        self.tape: Tape = found.tape
        self.merged = found.merged  # whether the guards leave out only what could not be merged
        self.params = [float(v.data) for v in found.captured]
        self.arguments: Shape = shape[1][0]
        self.result: Shape = found.shape
        if not self.tape.outputs:
            raise CompileError(f"{self.name} returns no numbers, so there is nothing to export")

    @property
    def outputs(self) -> int:
        """How many numbers it returns."""
        return len(self.tape.outputs)

    @property
    def scalar(self) -> bool:
        """Whether the result is one number."""
        return self.result == NUMBER


def _one_by_one(f: Callable[..., Any], args: tuple[Any, ...]) -> None:
    """Raise an error if the arguments are in one tuple, as exporters of other packages take them."""
    if len(args) != 1 or not isinstance(args[0], tuple):
        return
    try:
        takes = inspect.signature(f).bind
    except (TypeError, ValueError):  # something compiled
        return
    try:
        takes(*args)
    except TypeError:
        try:
            takes(*args[0])
        except TypeError:
            return
        raise TypeError(
            f"{name_of(f)} takes {len(args[0])} arguments: give them one by one, export(f, *args)"
        ) from None
