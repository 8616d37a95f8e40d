"""What a learner's network decides where, as a picture: the plane in two colours, and the points that it learned from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import tanh
from typing import Any

from micrograd.learn.look import LIGHT

CELLS = 36  # in each direction
SIZE = 360  # px


def boundary(network: Callable[[list[float]], Any], points: Sequence[Sequence[float]], targets: Sequence[float]) -> str:
    """Draw the sign of a network's output over the plane, stronger where it is larger, and points with targets -1 and 1."""
    low = [min(point[k] for point in points) for k in (0, 1)]
    high = [max(point[k] for point in points) for k in (0, 1)]
    wide = max(b - a for a, b in zip(low, high)) * 1.2
    left, bottom = ((a + b - wide) / 2 for a, b in zip(low, high))
    step = SIZE / CELLS
    rows = []
    for r in range(CELLS):
        for c in range(CELLS):
            x = [left + wide * (c + 0.5) / CELLS, bottom + wide * (1 - (r + 0.5) / CELLS)]
            y = network(x).data
            colour = _mixed(LIGHT["grad" if y > 0 else "data"], 0.1 + 0.5 * abs(tanh(y)))
            rows.append(
                f'<path fill="{colour}" d="M{c * step:g},{r * step:g}h{step + 0.5:g}v{step + 0.5:g}h-{step + 0.5:g}z"/>'
            )
    for point, target in zip(points, targets):
        x0, x1 = SIZE * (point[0] - left) / wide, SIZE * (1 - (point[1] - bottom) / wide)
        right = (network(list(point)).data > 0) == (target > 0)
        rows.append(
            f'<circle cx="{x0:.1f}" cy="{x1:.1f}" r="6" fill="{LIGHT["grad" if target > 0 else "data"]}" '
            f'stroke="{LIGHT["card" if right else "ink"]}" stroke-width="{1.5 if right else 3}"/>'
        )
    body = "".join(rows)
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SIZE} {SIZE}" width="{SIZE}" height="{SIZE}">{body}</svg>\n'


def _mixed(colour: str, share: float) -> str:
    """A colour on white, with so much of its own."""
    parts = [int(colour[k : k + 2], 16) for k in (1, 3, 5)]
    return "#" + "".join(f"{round(255 + share * (part - 255)):02x}" for part in parts)
