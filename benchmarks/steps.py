"""Whole training steps with Adam: forward, backward and update, by this package and by hand in C."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

import works
from clocks import clock

Int = ctypes.c_int
BETAS, STEPS = (0.85, 0.99), 1_000_000_000  # the learning rate falls to zero over so many steps: the model stays put


class _array:
    """Numbers that C can read; keeps them alive."""

    def __init__(self, numbers: Any, dtype: Any = np.float64) -> None:
        self.kept = np.ascontiguousarray(numbers, dtype=dtype)
        self._as_parameter_ = self.kept.ctypes.data_as(ctypes.c_void_p)


class OurSteps:
    """This package, called as a user calls it."""

    def microgpt(self, option: str) -> Callable[[], float]:
        from micrograd import losses, nn, optim, train

        model = nn.GPT(works.VOCABULARY, 16, works.WIDTH, 4, 1)
        for p, x in zip(model.parameters(), works.gpt_start(), strict=True):
            p.data = x
        optimizer = optim.Adam(model.parameters(), lr=optim.linear(1e-9, 0.0, STEPS), betas=BETAS)
        step = train.step(lambda tokens, following: losses.cross_entropy(model(tokens), following), optimizer)
        tokens, following = works.one_name()
        return clock(lambda: step(tokens, following))

    def adamoons(self, option: str) -> Callable[[], float]:
        from micrograd import jit, nn, optim, train, vmap

        X, y = works.moons_rows(100)
        model = nn.MLP(2, [16, 16, 1])
        for p, x in zip(model.parameters(), works.moons_start(), strict=True):
            p.data = x
        loss = jit(vmap(lambda x, y: (1 - y * model(x)).relu(), reduce="mean", threads=1), wait=True)
        step = train.step(loss, optim.Adam(model.parameters(), lr=optim.linear(1e-9, 0.0, STEPS), betas=BETAS))
        return clock(lambda: step(X, y))


class HandSteps:
    """The same in C, timed by a loop in C."""

    library: Any
    looped: Any

    def microgpt(self, option: str) -> Callable[[], float]:
        tokens, following = works.one_name()
        args = [_array(tokens, np.int32), _array(following, np.int32), Int(len(tokens)), _array(works.gpt_start())]
        return self.looped(self.library("gpt").time_gpt_step, *args, *[_array(np.zeros(4192)) for _ in range(3)])  # type: ignore[no-any-return]

    def adamoons(self, option: str) -> Callable[[], float]:
        X, y = works.moons_rows(100)
        columns = [_array(X[:, 0]), _array(X[:, 1]), _array(y), ctypes.c_long(100), _array(works.moons_start())]
        return self.looped(self.library("moons").time_adam, *columns, *[_array(np.zeros(337)) for _ in range(3)])  # type: ignore[no-any-return]
