"""How weights begin: a row for each initialiser, and the generator that they draw from."""

from __future__ import annotations

import random
from collections.abc import Callable
from math import sqrt

Generator = random.Random
Initialiser = Callable[[int, int, Generator], float]  # (inputs, outputs, generator) -> one weight

INITIALISERS: dict[str, Initialiser] = {
    "uniform": lambda nin, nout, rng: rng.uniform(-1, 1),  # micrograd's own
    "kaiming": lambda nin, nout, rng: rng.gauss(0.0, sqrt(2.0 / nin)),  # keeps the variance through relu
    "kaiming_uniform": lambda nin, nout, rng: rng.uniform(-1, 1) * sqrt(6.0 / nin),
    "xavier": lambda nin, nout, rng: rng.uniform(-1, 1) * sqrt(6.0 / (nin + nout)),  # the same for tanh and linear
    "xavier_normal": lambda nin, nout, rng: rng.gauss(0.0, sqrt(2.0 / (nin + nout))),
    "small": lambda nin, nout, rng: rng.gauss(0.0, 0.08),  # a transformer of a few thousand parameters begins well here
    "zeros": lambda nin, nout, rng: 0.0,
}


def initialiser(init: str | Initialiser) -> Initialiser:
    """The row of that name; a function of (inputs, outputs, generator) is taken as it is."""
    if callable(init):
        return init
    if init not in INITIALISERS:
        raise ValueError(
            f"no initialiser is called {init!r}: choose one of {', '.join(INITIALISERS)}, or pass a function"
        )
    return INITIALISERS[init]


def generator(rng: Generator | int | None) -> Generator:
    """A generator: the one given, one made from a seed, or the `random` module's, which `random.seed` sets."""
    if rng is None:
        return random._inst  # type: ignore[attr-defined,no-any-return]
    return random.Random(rng) if isinstance(rng, int) else rng
