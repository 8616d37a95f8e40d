"""Whole numbers that are made from others: factors, indices, and what decides."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fuzz.generate import Writer


def number(w: Writer, deep: int) -> str:
    """A number that depends on a whole one, or is rounded to digits."""
    r, x = w.r, f"(0.3 + 1.7 * {w.number(deep + 1)})"
    n = f"{r.choice(('int', 'round'))}({x})"
    kind = r.random()
    if kind < 0.2:
        return f"round({x}, {r.choice((0, 1, 2, 3))})"
    if kind < 0.45:
        return f"({w.number(deep + 1)} * {n})"
    if kind < 0.6:
        return f"({w.number(deep + 1)} if {n} % 2 == 0 else {w.number(deep + 1)})"
    items = [w.number(2) for _ in range(r.choice((3, 5, 12)))]
    return f"[{', '.join(items)}][{r.choice(('', '-'))}({n} % {len(items)})]"
