"""Where the labels of edges stand: beside the arrowhead, and never over a card, an op or another label."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

WIDTH, HEIGHT = 63.0, 14.0  # px: nine characters at 11.5 px, the longest number that a drawing shows
MOST = 80  # nodes up to which labels are placed; a larger drawing shows none
_TOUCH = 1.0  # px that two rectangles may share

Rectangle = tuple[float, float, float, float]  # left, top, right, bottom


def place_labels(edges: Sequence[dict[str, Any]], nodes: Sequence[dict[str, Any]], rankdir: str) -> None:
    """Give every edge its `label`: where a text is anchored, by its end or its start, or None where there is no room."""
    taken: list[Rectangle] = []
    for node in nodes:
        for part in ("card", "op"):
            if part in node:
                box = node[part]
                taken.append((box["x"], box["y"], box["x"] + box["w"], box["y"] + box["h"]))
    slots: dict[int, int] = {}
    for edge in edges:
        slots[edge["to"]] = slots.get(edge["to"], 0) + 1
    for edge in edges:
        edge["label"] = None
        if len(nodes) > MOST:
            continue
        upper = edge["slot"] < slots[edge["to"]] / 2
        for x, y, anchor in _candidates(edge["points"], rankdir, upper):
            left = x - WIDTH if anchor == "end" else x
            box = (left, y - 10, left + WIDTH, y - 10 + HEIGHT)
            if not any(_overlap(box, other) for other in taken):
                taken.append(box)
                edge["label"] = [round(x, 1), round(y, 1), anchor]
                break


def _candidates(points: Sequence[Sequence[float]], rankdir: str, upper: bool) -> Iterator[tuple[float, float, str]]:
    """Places from the arrowhead back along the last turn of the edge, on its own side first."""
    (x0, y0), (x1, y1), (x2, y2) = (points[-3:] if len(points) > 2 else [points[0], *points])[-3:]
    for k in range(7):
        f = k / 6  # how far back: at 0 beside the head, at 1 where the edge leaves
        if rankdir == "TB":
            x, y = _turn(f, x1, x0), y2 - 9 - f * max(0.0, y1 - y0)
            left, right = (x - 7, y, "end"), (x + 7, y, "start")
            yield from ((left, right) if upper else (right, left))
        else:
            x, y = x2 - 9 - f * max(0.0, x1 - x0 - WIDTH), _turn(f, y1, y0)
            above, below = (x, y - 6, "end"), (x, y + 13, "end")
            yield from ((above, below) if upper else (below, above))


def _turn(f: float, end: float, start: float) -> float:
    """The smooth turn of an edge, across the flow."""
    return end + (start - end) * f * f * (3 - 2 * f)


def _overlap(a: Rectangle, b: Rectangle) -> bool:
    return a[0] < b[2] - _TOUCH and b[0] < a[2] - _TOUCH and a[1] < b[3] - _TOUCH and b[1] < a[3] - _TOUCH
