"""The initial weights: one row for each initialiser, and the generator that they draw from."""

from __future__ import annotations

import random
from collections.abc import Callable
from math import sqrt
from operator import index
from typing import Any

Generator = random.Random
Initialiser = Callable[[int, int, Generator], float]  # (inputs, outputs, generator) -> one weight

INITIALISERS: dict[str, Initialiser] = {
    "uniform": lambda nin, nout, rng: rng.uniform(-1, 1),  # micrograd's own
    "kaiming": lambda nin, nout, rng: rng.gauss(0.0, sqrt(2.0 / nin)),  # keeps the variance through relu
    "kaiming_uniform": lambda nin, nout, rng: rng.uniform(-1, 1) * sqrt(6.0 / nin),
    "xavier": lambda nin, nout, rng: rng.uniform(-1, 1) * sqrt(6.0 / (nin + nout)),  # the same for tanh and linear
    "xavier_normal": lambda nin, nout, rng: rng.gauss(0.0, sqrt(2.0 / (nin + nout))),
    "small": lambda nin, nout, rng: rng.gauss(0.0, 0.08),  # suits a transformer of a few thousand parameters
    "zeros": lambda nin, nout, rng: 0.0,
}


def initialiser(init: str | Initialiser) -> Initialiser:
    """Return the initialiser of that name; a function of (inputs, outputs, generator) is returned as it is."""
    if callable(init):
        return init
    if init not in INITIALISERS:
        raise ValueError(
            f"no initialiser is called {init!r}: choose one of {', '.join(INITIALISERS)}, or pass a function"
        )
    return INITIALISERS[init]


def generator(rng: Generator | int | None) -> Generator:
    """Return a generator: the one given, one made from a seed, or for None the `random` module's own."""
    if rng is None:
        return random._inst  # type: ignore[attr-defined,no-any-return]
    if isinstance(rng, Generator):
        return rng
    try:
        return random.Random(index(rng))
    except TypeError:
        raise TypeError(
            f"rng is a whole number, a random.Random, or None for the generator of the random module, "
            f"not {type(rng).__name__}: {rng!r}"
        ) from None


def count(what: str, n: Any) -> int:
    """Return a number of things, 1 or more, as an int; anything else is refused."""
    try:
        size = index(n)
    except TypeError:
        raise TypeError(f"{what} is a whole number, 1 or more, not {type(n).__name__}: {n!r}") from None
    if size < 1 or isinstance(n, bool):
        raise ValueError(f"{what} is a whole number, 1 or more, not {n!r}")
    return size
