"""Slots: the parameters of an optimizer as one object, on which gradients are cleared, measured and clipped, and updates run.

This is the definition in Python. Beside the C engine the `Slots` of `native/optim.c` takes its place, with the same bits.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from math import inf, isnan, sqrt
from types import SimpleNamespace
from typing import Any

from micrograd.engine import NATIVE, Value
from micrograd.optim.rules import RULES

Update = tuple[Any, int, tuple[float, ...], tuple[Any, ...]]  # slots, rule, constants, kept numbers
_NAMES = list(RULES)


class PythonSlots:
    """Values as an optimizer sees them."""

    def __init__(self, values: Iterable[Value]) -> None:
        self.values = tuple(values)
        self.frozen = bytes(len(self.values))

    def __len__(self) -> int:
        return len(self.values)

    @staticmethod
    def rule(name: str) -> int:
        """Return the number of an update rule."""
        return _NAMES.index(name)

    def freeze(self, frozen: bytes) -> None:
        """Say which parameters no update moves, with a byte for each."""
        self.frozen = frozen

    def zero(self) -> None:
        """Set all gradients to zero."""
        for p in self.values:
            p.grad = 0.0

    def _squares(self, scale: float) -> float:
        lanes = [0.0, 0.0, 0.0, 0.0]
        for i, p in enumerate(self.values):
            if not self.frozen[i]:
                g = p.grad / scale
                lanes[i & 3] += g * g
        return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3])

    def norm(self) -> float:
        """Return the norm of the gradients, also where their squares overflow or vanish."""
        total = self._squares(1.0)
        if 1e-200 < total < inf:
            return sqrt(total)
        sizes = [abs(p.grad) for p, frozen in zip(self.values, self.frozen) if not frozen]
        if any(isnan(size) for size in sizes):
            return sum(sizes)
        most = max(sizes, default=0.0)
        return most if most in (0.0, inf) else most * sqrt(self._squares(most))

    def clip_norm(self, limit: float) -> float:
        """Scale all gradients by one factor so that their norm is at most limit; return the norm that they had."""
        norm = self.norm()
        factor = limit / (norm + 1e-6)  # the 1e-6 is PyTorch's
        if factor < 1.0 or factor != factor:  # a nan makes all of them nan, so that it is noticed
            for p in self.values:
                p.grad *= factor
        return norm

    def clip_value(self, limit: float) -> None:
        """Move each gradient into [-limit, limit]."""
        for p in self.values:
            g = p.grad
            p.grad = limit if g > limit else -limit if g < -limit else g

    def update(self, rule: int, constants: tuple[float, ...], kept: tuple[array[float], ...]) -> None:
        """Move all parameters by a rule."""
        chosen = RULES[_NAMES[rule]]
        c = SimpleNamespace(**dict(zip(chosen.constants, constants, strict=True)))
        for i, p in enumerate(self.values):
            if not self.frozen[i]:
                p.data, *new = chosen.update(p.data, p.grad, c, tuple(k[i] for k in kept))
                for k, x in zip(kept, new, strict=True):
                    k[i] = x

    def copy(self, what: str, buffer: array[float]) -> None:
        """Copy the data ("read") or the "gradients" into a buffer, or the buffer into the data ("write").

        Frozen parameters have a gradient of 0 and are not written to.
        """
        for i, p in enumerate(self.values):
            if what == "write":
                if not self.frozen[i]:
                    p.data = buffer[i]
            else:
                buffer[i] = p.data if what == "read" else 0.0 if self.frozen[i] else p.grad

    @staticmethod
    def dot(a: array[float], b: array[float]) -> float:
        """Return Σ a·b."""
        lanes = [0.0, 0.0, 0.0, 0.0]
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            lanes[i & 3] += x * y
        return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3])

    @staticmethod
    def add(factor: float, x: array[float], y: array[float]) -> None:
        """Add factor · x to y."""
        for i, step in enumerate(x):
            y[i] += factor * step

    def descend(self, root: Value, limit: float, updates: tuple[Update, ...]) -> bool:
        """Clear the gradients, sweep backward from the root, clip, update; return whether the gradients were finite.

        If they were not, no parameter has moved.
        """
        self.zero()
        root.backward()
        norm = self.clip_norm(limit) if limit < inf else self.norm()
        if not norm < inf:
            return False
        for slots, rule, constants, kept in updates:
            slots.update(rule, constants, kept)
        return True


if NATIVE:
    from micrograd._engine import Slots as Slots
else:
    Slots = PythonSlots  # type: ignore[misc,assignment]
