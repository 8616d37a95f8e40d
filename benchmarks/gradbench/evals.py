"""The twelve evals: their functions, the names of what makes their size, and the sizes that are timed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from . import inputs

Size = tuple[int, ...]


@dataclass(frozen=True)
class Eval:
    """An eval. `sizes` are a small one, a middle one, and the largest that GradBench sends by default."""

    name: str
    value: str  # the function that computes the value; none where there are only derivatives
    derivatives: tuple[str, ...]
    parameters: tuple[str, ...]
    sizes: tuple[Size, ...]
    smallest: Size  # for tests

    @property
    def functions(self) -> tuple[str, ...]:
        return (self.value, *self.derivatives) if self.value else self.derivatives

    def make(self, size: Size) -> Any:
        """Return the input of a size, as the suite sends it."""
        generator: Callable[..., Any] = getattr(inputs, self.name)
        return generator(*size)

    def title(self, size: Size) -> str:
        """Return the name with the size: "gmm d=64, k=100"."""
        return " ".join([self.name, ", ".join(f"{p}={n:,}" for p, n in zip(self.parameters, size))]).strip()


MODES = ("ff", "fr", "rf", "rr")

EVALS = {
    e.name: e
    for e in (
        Eval("hello", "square", ("double",), (), ((),), ()),
        Eval("llsq", "primal", ("gradient",), ("n",), ((16,), (1_024,), (16_392,)), (16,)),
        Eval("lse", "primal", ("gradient",), ("n",), ((2_500,), (80_000,), (1_280_000,)), (40,)),
        Eval("det", "primal", ("gradient",), ("l",), ((5,), (8,), (11,)), (4,)),
        Eval("ode", "primal", ("gradient",), ("n", "s"), ((1_000, 10), (10_000, 10), (100_000, 100)), (5, 3)),
        Eval("kmeans", "cost", ("dir",), ("k", "n", "d"), ((10, 1_000, 8), (100, 10_000, 8), (1_000, 10_000, 16)), (2, 6, 2)),
        Eval("gmm", "objective", ("jacobian",), ("d", "k"), ((2, 5), (20, 50), (64, 100)), (3, 2, 4)),
        Eval(
            "ba", "objective", ("jacobian",), ("n", "m", "p"),
            ((49, 7_776, 31_843), (1_197, 126_327, 563_734), (356, 226_730, 1_255_268)), (3, 4, 7),
        ),
        Eval("ht", "objective", ("jacobian",), ("points",), ((100,), (3_200,), (100_000,)), (2, 5, 4)),
        Eval("lstm", "objective", ("jacobian",), ("l", "c"), ((2, 1_024), (4, 4_096), (6, 8_192)), (2, 4, 3)),
        Eval("particle", "", MODES, (), ((),), ()),
        Eval("saddle", "", MODES, (), ((),), ()),
    )
}  # fmt: skip
