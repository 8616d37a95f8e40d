"""The modules of nn, as far as compiled functions watch them: which ones a trace reads, and the counter of their changes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import micrograd.observed  # first: it says so where the original micrograd has overwritten engine.py  # noqa: F401
from micrograd.engine import Value

CHANGES = [0]  # counts assignments to attributes of modules, in the whole process; C compares the number by identity
reading: list[dict[int, Any]] = []  # the modules that were called, for each trace that is under way in any thread

asked: set[int] = set()  # ids of modules whose mode a trace has asked for; one that is reused means a needless look


class Structured:
    """What Module is made from: an object whose public attributes are its structure."""

    _training = True

    def modules(self) -> Iterator[tuple[str, Any]]:
        """Give this module and every module inside it once, with its path."""
        raise NotImplementedError


@contextmanager
def noting() -> Iterator[dict[int, Any]]:
    """Collect the modules that are called in the block, by their ids."""
    found: dict[int, Any] = {}
    reading.append(found)
    try:
        yield found
    finally:
        reading[:] = [other for other in reading if other is not found]


def note(module: Structured) -> None:
    """Note that a module is read by whatever is traced now."""
    for found in reading:
        found[id(module)] = module


def set_mode(module: Structured, training: bool) -> None:
    """Put one module, without those inside it, into training or evaluation mode."""
    if id(module) in asked and module._training != training:
        CHANGES[0] += 1
    object.__setattr__(module, "_training", training)


class SameParameters:
    """Whether modules still have the parameters that an optimizer was made for, asked after each call of compiled functions.

    Those functions look at their modules themselves, and are traced again where one has changed. So this one looks only where
    that has happened.
    """

    def __init__(self, modules: list[Any], *functions: Any) -> None:
        self.modules = modules
        self._owners = [getattr(getattr(f, "call", f), "__self__", f) for f in functions]  # of jit, or vmap itself
        self._seen: list[Any] = [None] * len(functions)
        self._only = self._owners[0] if len(functions) == 1 else None
        self._parameters = self._now()

    def _now(self) -> list[Value]:
        return [p for module in self.modules for p in module.parameters()]

    def lost(self) -> bool:
        """Whether there are other parameters than in the beginning."""
        if self._only is not None and self._only.variants is self._seen[0]:  # the usual case, asked in each step
            return False
        for k, owner in enumerate(self._owners):
            if owner.variants is not self._seen[k]:
                self._seen[k] = owner.variants
                now = self._now()
                if len(now) != len(self._parameters) or any(a is not b for a, b in zip(now, self._parameters)):
                    self._seen[k] = None  # it is said again at the next call
                    return True
        return False
