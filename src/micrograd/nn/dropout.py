"""Dropout: a random part of a vector is set to zero in training, from a generator whose draws depend on nothing but numbers.

The draws are a pure function of the module's seed, the number of the training step, the number of the row in its batch and
the place in the row (`micrograd.random`), so that eager and compiled training drop the same, and a resumed run goes on alike.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from micrograd import random as draws
from micrograd.errors import TraceError
from micrograd.math import ge, where
from micrograd.nn.elementwise import Elementwise
from micrograd.nn.initial import Generator, generator
from micrograd.nn.parameters import parts
from micrograd.tape.trace import is_tracing
from micrograd.watch.reach import modules_called


class _Here(threading.local):
    """Which step and row a training loop is at, in this thread, and how many draws of the row each module has taken."""

    step: Any = None
    row: Any = 0
    taken: dict[int, int]


_here = _Here()


@contextmanager
def at(step: Any, row: Any) -> Iterator[None]:
    """Say which training step and row is computed; both may be Values, in compiled code."""
    before = _here.step, _here.row, getattr(_here, "taken", {})
    _here.step, _here.row, _here.taken = step, row, {}
    try:
        yield
    finally:
        _here.step, _here.row, _here.taken = before


def dropouts(model: Any) -> list[Dropout]:
    """Return every Dropout that a model has or calls, once, in order."""
    found = {id(part): part for module in modules_called(model) for part in parts(module) if isinstance(part, Dropout)}
    return list(found.values())


def is_random(model: Any) -> bool:
    """Whether a model has a Dropout in training mode, or calls one."""
    return any(part.training and part.p for part in dropouts(model))


def each(
    model: Any, xs: Sequence[Any], step: int, failed: Callable[[Exception, int], None], first: int = 0
) -> list[Any]:
    """Return the outputs of a model for each row of a batch, in a training step; `failed` is told where it raises.

    `first` is the number of the first row, where the batch is a part of the rows of a step.
    """
    random, out = is_random(model), []
    try:
        for row, x in enumerate(xs):
            with at(step, first + row) if random else nullcontext():
                out.append(model(x))
    except Exception as error:
        failed(error, len(out))
        raise
    return out


class Dropout(Elementwise):
    """Set each number of a vector to zero with probability p in training, and divide the others by 1 - p.

    In evaluation mode (`model.eval()`) the vector passes unchanged. `rng` seeds the draws.

    >>> from micrograd import nn
    >>> layer = nn.Dropout(0.5, rng=1)
    >>> layer([1.0, 1.0, 1.0, 1.0])
    [2.0, 0.0, 2.0, 0.0]
    >>> layer.eval()([1.0, 1.0, 1.0, 1.0])
    [1.0, 1.0, 1.0, 1.0]
    """

    def __init__(self, p: float = 0.5, rng: Generator | int | None = None) -> None:
        if isinstance(p, bool) or not isinstance(p, (int, float)) or not 0.0 <= p < 1.0:
            raise ValueError(f"p is the probability of a zero, at least 0 and below 1, not {p!r}")
        self.p = float(p)
        self._key = float(generator(rng).getrandbits(52))
        self._calls = 0

    def forward(self, x: Any) -> Any:
        """Drop some numbers of a vector, or a single number."""
        if not self.training or not self.p:
            return x
        single = not hasattr(x, "__len__")
        vector = [x] if single else list(x)
        if _here.step is not None:
            key, row = draws.fold_in(self._key, _here.step), _here.row
            first = _here.taken.get(id(self), 0)
            _here.taken[id(self)] = first + len(vector)
        elif is_tracing():
            raise TraceError(
                "a Dropout in training mode inside a compiled function, which would drop the same numbers in every call\n"
                "  Train with fit(compile=True), or with train.step and a loss of the whole batch that vmap has not compiled:\n"
                "  they count steps and rows. Or call model.eval() first."
            )
        else:
            key, row, first = draws.fold_in(self._key, self._calls), 0, 0
            self._calls += 1
        scale = 1.0 / (1.0 - self.p)
        out = [
            where(ge(draws.uniform(key, draw=first + i, row=row), self.p), v * scale, 0.0) for i, v in enumerate(vector)
        ]
        return out[0] if single else out

    def __repr__(self) -> str:
        return f"Dropout({self.p:g})"
