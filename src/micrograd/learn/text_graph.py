"""The graph of a timeline drawn with characters, for a terminal: boxes with data and gradient, and lines between them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from micrograd.learn.frames import Frame, Timeline
from micrograd.learn.layout import layout
from micrograd.learn.sentences import show

Line = list[tuple[str, str]]  # pieces of text, each with the name of its style
MOST = 60  # nodes that are drawn
GAP = 7  # columns between two layers
ROW = 22.0  # px of a drawing in one row of text
UP, DOWN, LEFT, RIGHT = 1, 2, 4, 8
STROKES = {3: "│", 12: "─", 5: "╯", 9: "╰", 6: "╮", 10: "╭", 7: "┤", 11: "├", 13: "┴", 14: "┬", 15: "┼",
           1: "│", 2: "│", 4: "─", 8: "─"}  # fmt: skip


class _Sheet:
    """Characters with styles, and strokes that join where they meet."""

    def __init__(self, rows: int, columns: int) -> None:
        self.cells = [[(" ", "")] * columns for _ in range(rows)]
        self.strokes: dict[tuple[int, int], tuple[int, str]] = {}

    def write(self, row: int, column: int, text: str, style: str) -> None:
        for k, sign in enumerate(text):
            self.cells[row][column + k] = (sign, style)

    def stroke(self, row: int, column: int, ways: int, style: str) -> None:
        before, kept = self.strokes.get((row, column), (0, ""))
        self.strokes[row, column] = (before | ways, style or kept)

    def line(self, route: Sequence[tuple[int, int]], style: str) -> None:
        """Draw along corners (row, column) that lie in one row or one column with the next."""
        for (r0, c0), (r1, c1) in pairwise(route):
            for c in range(min(c0, c1), max(c0, c1)):
                self.stroke(r0, c, RIGHT, style)
                self.stroke(r0, c + 1, LEFT, style)
            for r in range(min(r0, r1), max(r0, r1)):
                self.stroke(r, c1, DOWN, style)
                self.stroke(r + 1, c1, UP, style)

    def lines(self) -> list[Line]:
        for (row, column), (ways, style) in self.strokes.items():
            if self.cells[row][column][0] == " ":
                self.cells[row][column] = (STROKES[ways], style or "quiet")
        found: list[Line] = []
        for cells in self.cells:
            line: Line = []
            for sign, style in cells:
                if line and line[-1][1] == style:
                    line[-1] = (line[-1][0] + sign, style)
                else:
                    line.append((sign, style))
            found.append(line)
        return found


def _box(name: str, symbol: str, data: str, grad: str) -> list[str]:
    head = f"{name} {symbol}".strip()
    inside = f"{data}  ∂ {grad}"
    wide = max(len(inside), len(head) + 2)
    return [f"╭ {head} {'─' * (wide - len(head))}╮", f"│ {inside:<{wide}} │", f"╰{'─' * (wide + 2)}╯"]


def draw_graph(timeline: Timeline, step: int, columns: int, rows: int) -> list[Line] | None:
    """Draw the graph after some frames; None where it needs more room than there is."""
    nodes = timeline.nodes
    if len(nodes) > MOST:
        return None
    data, grad = timeline.state(step)
    frame: Frame | None = timeline[step - 1] if step else None
    touched = {} if frame is None else {frame.node: "active"}
    if frame is not None and frame.kind == "backward" and frame.input is not None:
        touched = {frame.node: "grad", frame.input: "active"}
    place = layout(nodes, "LR")
    boxes: dict[int, list[str]] = {}
    for node in nodes:
        x, g = data[node.id], grad[node.id]
        if node.constant:
            boxes[node.id] = [node.name]
        else:
            shown = ["—" if y is None else show(y) for y in (x, g)]
            boxes[node.id] = _box(node.name, node.symbol, *shown)
    rects: dict[int, dict[str, float]] = {int(i): one for i, one in place["nodes"].items()}
    ends = sorted({round(one["x"] + one["w"]) for one in rects.values()})
    layer = {i: ends.index(round(one["x"] + one["w"])) for i, one in rects.items()}
    widths = [max(len(boxes[i][0]) for i in boxes if layer[i] == k) for k in range(len(ends))]
    lefts = [sum(widths[:k]) + k * GAP + 1 for k in range(len(ends))]
    middle: dict[int, int] = {}
    for k in range(len(ends)):
        free = 0
        for i in sorted((i for i in boxes if layer[i] == k), key=lambda i: _centre(rects, i)):
            half = len(boxes[i]) // 2
            middle[i] = max(free + half, round((_centre(rects, i) - 47.0) / ROW) + 1)
            free = middle[i] + half + 1
    height = 1 + max(middle[i] + len(boxes[i]) // 2 for i in boxes)
    if lefts[-1] + widths[-1] > columns or height > rows:
        return None
    sheet = _Sheet(height, columns)
    for i, box in boxes.items():
        for k, text in enumerate(box):
            left = lefts[layer[i]] + widths[layer[i]] - len(text)
            sheet.write(middle[i] - len(box) // 2 + k, left, text, touched.get(i, "quiet" if nodes[i].constant else ""))
    for edge in place["edges"]:
        source, target = edge["from"], edge["to"]
        live = frame is not None and (
            (frame.kind == "backward" and frame.node == target and frame.input == source and frame.slot == edge["slot"])
            or (frame.kind == "forward" and frame.node == target)
        )
        _connect(sheet, edge, lefts, widths, layer, middle, height, len(boxes[target][0]), "active" if live else "")
        if sum(other["from"] == source and other["to"] == target for other in place["edges"]) > 1:
            sheet.cells[middle[source]][lefts[layer[source]] + widths[layer[source]]] = (
                "2",
                "quiet",
            )  # a * a has two edges
    return sheet.lines()


def _connect(
    sheet: _Sheet,
    edge: dict[str, Any],
    lefts: list[int],
    widths: list[int],
    layer: dict[int, int],
    middle: dict[int, int],
    height: int,
    wide: int,
    style: str,
) -> None:
    """Draw one edge: through the layers between at the rows that the layout gave it, with one bend in each gap."""
    source, target = edge["from"], edge["to"]
    passing = edge["points"][1:-2]
    row = middle[source]
    column = lefts[layer[source]] + widths[layer[source]]
    for k in range(layer[source] + 1, layer[target] + 1):
        goal = middle[target]
        if k < layer[target]:
            at = min(len(passing) - 1, 2 * (k - layer[source]) - 1)
            y = passing[at][1] if passing else 47.0
            goal = max(0, min(height - 1, round((y - 47.0) / ROW) + 1))
        bend = lefts[k] - GAP + 2 + source % 3
        sheet.line([(row, column), (row, bend), (goal, bend)], style)
        last = k == layer[target]
        end = lefts[k] + widths[k] - wide - 2 if last else lefts[k] + widths[k]
        sheet.line([(goal, bend), (goal, end)], style)
        row, column = goal, end
    sheet.cells[row][column + 1] = ("▸", style or "quiet")


def _centre(rects: dict[int, dict[str, float]], i: int) -> float:
    one = rects[i]
    return one["y"] + one["h"] / 2
