"""Where the nodes and edges of a drawing go: a layered layout in pure Python, the same for the same graph every time.

Four steps, after Sugiyama: (1) each node gets a layer, as near to the root as its users allow; (2) an edge that
crosses layers gets a stand-in in each; (3) sweeps order every layer by the average place of its neighbours, and the
order with the fewest crossings is kept; (4) coordinates pull nodes towards their neighbours, under the condition
that nothing overlaps (isotonic regression, exact for one layer at a time).

All is computed for left-to-right; top-to-bottom is the same picture with the axes swapped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from micrograd.errors import MicrogradError
from micrograd.learn.labels import place_labels
from micrograd.learn.nodes import Node
from micrograd.learn.sentences import show

MAX_NODES, MAX_STAND_INS = 2000, 20_000  # about a second of work, and more than anybody can look at
CHARACTER = 8.5  # px of a monospaced letter at 14 px
CARD_HEIGHT, LEAST_CARD, CONSTANT_HEIGHT, PILL, LINK = 62.0, 136.0, 30.0, 32.0, 12.0
GAP, STAND_IN, LEAD, MARGIN = 26.0, 8.0, 18.0, 16.0
# Between two layers: a label lies along the edge from left to right, and beside it from top to bottom.
LAYER_GAP, LAYER_GAP_DOWN = 84.0, 48.0
ORDER_SWEEPS, PLACE_SWEEPS = 12, 16
_WAY_OUT = (
    "  Draw it collapsed (draw_dot(root) does, without collapse=False), or draw a part: any node can be the root."
)


class GraphTooLarge(MicrogradError, ValueError):
    """A graph with more nodes than a drawing can show one by one."""


@dataclass(slots=True)
class Box:
    """The size of one node as drawn: a card, and before it the pill of the op that made it."""

    w: float
    h: float
    pill: float = 0.0  # the width of the op's pill; 0 for a leaf


@dataclass(slots=True)
class _Cell:
    """One place in a layer: a node, or the stand-in of an edge that passes by."""

    size: float
    node: int  # -1 for a stand-in
    y: float = 0.0


def measure(node: Node) -> Box:
    """How large a node is drawn. The least card has room for any number, so that a changed value moves nothing."""
    if node.constant:
        return Box(max(36.0, 18 + CHARACTER * len(show(node.data))), CONSTANT_HEIGHT)
    pill = max(PILL, 14 + CHARACTER * len(node.symbol)) if node.inputs else 0.0
    return Box(max(LEAST_CARD, 28 + CHARACTER * min(len(node.label), 28)), CARD_HEIGHT, pill)


def layout(nodes: Sequence[Node], rankdir: str = "LR") -> dict[str, Any]:
    """Place a graph. Every x, y is the top left corner of its rectangle; `card` and `op` are the parts of a node."""
    return place([measure(node) for node in nodes], [node.inputs for node in nodes], rankdir)


def place(boxes: Sequence[Box], inputs: Sequence[Sequence[int]], rankdir: str = "LR") -> dict[str, Any]:
    """Place boxes of which each names its inputs, all earlier in the list; the last one is the root."""
    if rankdir not in ("LR", "TB"):
        raise ValueError(f"rankdir is 'LR' (left to right) or 'TB' (top to bottom), not {rankdir!r}")
    if len(boxes) > MAX_NODES:
        raise GraphTooLarge(
            f"this graph has {len(boxes):,} nodes, and a drawing shows at most {MAX_NODES:,} one by one.\n" + _WAY_OUT
        )
    across = rankdir == "TB"
    extents = [_extent(box, across) for box in boxes]
    layer = _layers(inputs)
    cells, layers, chains = _stand_ins(extents, inputs, layer)
    _order(layers, chains, cells, inputs)
    ports = _ports(boxes, inputs, across)
    _coordinates(layers, chains, cells, ports)
    return _picture(boxes, extents, layer, cells, layers, chains, ports, rankdir)


def _extent(box: Box, across: bool) -> tuple[float, float]:
    """The size of a box along the flow and across it, pill included."""
    if across:
        return box.h + (PILL + LINK if box.pill else 0.0), max(box.w, box.pill)
    return box.w + (box.pill + LINK if box.pill else 0.0), max(box.h, PILL) if box.pill else box.h


def _layers(inputs: Sequence[Sequence[int]]) -> list[int]:
    """The longest way from each node to the root, turned round: layer 0 is at the left."""
    to_root = [0] * len(inputs)
    for i in range(len(inputs) - 1, -1, -1):
        for j in inputs[i]:
            to_root[j] = max(to_root[j], to_root[i] + 1)
    last = max(to_root, default=0)
    return [last - distance for distance in to_root]


_Ports = dict[tuple[int, int], tuple[float, float]]  # (target, slot) -> where that edge leaves and arrives
_Chains = dict[tuple[int, int], list[int]]  # (target, slot) -> the cells of that edge, source first, target last


def _stand_ins(
    extents: list[tuple[float, float]], inputs: Sequence[Sequence[int]], layer: list[int]
) -> tuple[list[_Cell], list[list[int]], _Chains]:
    count = sum(layer[i] - layer[j] - 1 for i, ids in enumerate(inputs) for j in ids)
    if count > MAX_STAND_INS:
        raise GraphTooLarge(
            f"the edges of this graph span too many layers to be drawn one by one ({count:,} crossings of a layer).\n"
            + _WAY_OUT
        )
    cells = [_Cell(extent[1], i) for i, extent in enumerate(extents)]
    layers: list[list[int]] = [[] for _ in range(max(layer, default=0) + 1)]
    chains: _Chains = {}
    seen = [False] * len(inputs)
    stack: list[tuple[int, int]] = [(len(inputs) - 1, -1)] if inputs else []
    # The first order is that of a walk from the root which takes operands in turn: the first input stands highest.
    while stack:
        i, slot = stack.pop()
        if slot < 0:
            if seen[i]:
                continue
            seen[i] = True
            layers[layer[i]].append(i)
            stack.extend((i, k) for k in range(len(inputs[i]) - 1, -1, -1))
            continue
        j = inputs[i][slot]
        chain = [i]
        for between in range(layer[i] - 1, layer[j], -1):
            layers[between].append(len(cells))
            chain.append(len(cells))
            cells.append(_Cell(STAND_IN, -1))
        chains[i, slot] = [j, *reversed(chain)]
        stack.append((j, -1))
    return cells, layers, chains


def _neighbours(
    chains: _Chains, count: int, inputs: Sequence[Sequence[int]]
) -> tuple[list[list[tuple[int, float]]], list[list[tuple[int, float]]]]:
    """For each cell the cells before and after it; with the latter, a fraction that keeps operands in their order."""
    before: list[list[tuple[int, float]]] = [[] for _ in range(count)]
    after: list[list[tuple[int, float]]] = [[] for _ in range(count)]
    for (i, slot), chain in chains.items():
        for u, v in pairwise(chain):
            fraction = (slot + 0.5) / len(inputs[i]) - 0.5 if v == i else 0.0
            after[u].append((v, fraction * 0.8))
            before[v].append((u, 0.0))
    return before, after


def _order(layers: list[list[int]], chains: _Chains, cells: list[_Cell], inputs: Sequence[Sequence[int]]) -> None:
    before, after = _neighbours(chains, len(cells), inputs)
    at = [0.0] * len(cells)

    def number_layers() -> None:
        for row in layers:
            for k, c in enumerate(row):
                at[c] = float(k)

    def sort(row: list[int], sides: list[list[tuple[int, float]]]) -> None:
        def key(c: int) -> float:
            near = sides[c]
            return sum(at[n] + fraction for n, fraction in near) / len(near) if near else at[c]

        row.sort(key=key)
        for k, c in enumerate(row):
            at[c] = float(k)

    number_layers()
    best, fewest = [list(row) for row in layers], _crossings(layers, after, at)
    for sweep in range(ORDER_SWEEPS):
        if fewest == 0:
            break
        if sweep % 2 == 0:
            for row in reversed(layers):
                sort(row, after)
        else:
            for row in layers:
                sort(row, before)
        crossings = _crossings(layers, after, at)
        if crossings < fewest:
            best, fewest = [list(row) for row in layers], crossings
    for row, kept in zip(layers, best):
        row[:] = kept


def _crossings(layers: list[list[int]], after: list[list[tuple[int, float]]], at: list[float]) -> int:
    """How many pairs of edges between neighbouring layers cross, by a tree of sums."""
    total = 0
    for k, row in enumerate(layers[:-1]):
        size = len(layers[k + 1])
        ends = [sorted(at[v] + fraction for v, fraction in after[c]) for c in row]
        ranks = {x: r + 1 for r, x in enumerate(sorted({x for group in ends for x in group}))}
        tree = [0] * (max(len(ranks), size) + 2)
        placed = 0
        for group in ends:
            for x in group:
                i, below = ranks[x], 0
                while i:
                    below += tree[i]
                    i -= i & -i
                total += placed - below
            for x in group:
                placed += 1
                i = ranks[x]
                while i < len(tree):
                    tree[i] += 1
                    i += i & -i
    return total


def _ports(boxes: Sequence[Box], inputs: Sequence[Sequence[int]], across: bool) -> _Ports:
    """Where edges leave and arrive, as distances from the middle of their nodes, by (target, slot).

    Operands arrive in their order from top to bottom. Edges between the same two nodes leave side by side as well, so
    that a * a shows two.
    """
    ports: _Ports = {}
    for i, ids in enumerate(inputs):
        if not ids:
            continue
        room = (max(boxes[i].pill, PILL) if across else PILL) * 0.7
        step = min(13.0, room / max(1, len(ids) - 1))
        twins: dict[int, list[int]] = {}
        for slot, j in enumerate(ids):
            twins.setdefault(j, []).append(slot)
        for j, slots in twins.items():
            side = boxes[j].w if across else boxes[j].h
            spread = min(13.0, min(26.0, side * 0.8) / max(1, len(slots) - 1))
            for k, slot in enumerate(slots):
                leave = (k - (len(slots) - 1) / 2) * spread
                ports[i, slot] = (leave, (slot - (len(ids) - 1) / 2) * step)
    return ports


def _coordinates(layers: list[list[int]], chains: _Chains, cells: list[_Cell], ports: _Ports) -> None:
    """Give every cell its place across the flow."""
    pulls: list[tuple[list[tuple[int, float, float]], list[tuple[int, float, float]]]] = [([], []) for _ in cells]
    uses = Counter(chain[0] for chain in chains.values())
    for edge, chain in chains.items():
        leave, arrive = ports[edge]
        for k, (u, v) in enumerate(pairwise(chain)):
            start = leave if k == 0 else 0.0
            end = arrive if k == len(chain) - 2 else 0.0
            if (edge[0], 1) not in chains and uses[chain[0]] == 1:
                weight = 40.0  # the one way into an op of one input is kept level first of all
            elif cells[u].node < 0 and cells[v].node < 0:
                weight = 8.0  # then long edges
            else:
                weight = 2.0 if len(chain) > 2 else 1.0
            pulls[u][1].append((v, end - start, weight))
            pulls[v][0].append((u, start - end, weight))
    for row in layers:
        y = 0.0
        for c in row:
            cells[c].y = y + cells[c].size / 2
            y += cells[c].size + GAP
    for sweep in range(PLACE_SWEEPS):
        last = sweep >= PLACE_SWEEPS - 2
        for row in reversed(layers) if sweep % 2 == 0 else layers:
            wishes = []
            for c in row:
                near = pulls[c][0] + pulls[c][1] if last else pulls[c][1 if sweep % 2 == 0 else 0]
                total = sum(weight for _, _, weight in near)
                if total:
                    wishes.append((sum((cells[n].y + shift) * w for n, shift, w in near) / total, total))
                else:
                    wishes.append((cells[c].y, 0.1))
            _settle(row, wishes, cells)


def _settle(row: list[int], wishes: list[tuple[float, float]], cells: list[_Cell]) -> None:
    """Move the cells of a layer as near to their wishes as their order and sizes allow: the least sum of squares."""
    offsets = [0.0]
    for u, v in pairwise(row):
        gap = STAND_IN if cells[u].node < 0 and cells[v].node < 0 else GAP
        offsets.append(offsets[-1] + (cells[u].size + cells[v].size) / 2 + gap)
    blocks: list[list[float]] = []  # [weighted sum, weight, count]; a block is a run of cells that touch
    for (wish, weight), offset in zip(wishes, offsets):
        blocks.append([(wish - offset) * weight, weight, 1])
        while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] >= blocks[-1][0] / blocks[-1][1]:
            top = blocks.pop()
            for k in range(3):
                blocks[-1][k] += top[k]
    k = 0
    for total, weight, count in blocks:
        for _ in range(int(count)):
            cells[row[k]].y = total / weight + offsets[k]
            k += 1


def _picture(
    boxes: Sequence[Box],
    extents: list[tuple[float, float]],
    layer: list[int],
    cells: list[_Cell],
    layers: list[list[int]],
    chains: _Chains,
    ports: _Ports,
    rankdir: str,
) -> dict[str, Any]:
    across = rankdir == "TB"
    top = min((cell.y - cell.size / 2 for cell in cells), default=0.0)
    for cell in cells:
        cell.y += MARGIN - top
    starts, widths = _columns(layers, cells, extents, chains, LAYER_GAP_DOWN if across else LAYER_GAP)
    xs = [starts[layer[i]] + widths[layer[i]] - extents[i][0] for i in range(len(boxes))]  # cards end on one line

    def point(x: float, y: float) -> list[float]:
        return [round(y, 1), round(x, 1)] if across else [round(x, 1), round(y, 1)]

    column = {c: k for k, row in enumerate(layers) for c in row}
    edges = []
    for (target, slot), chain in sorted(chains.items()):
        source, (leave, arrive) = chain[0], ports[target, slot]
        points = [point(xs[source] + extents[source][0], cells[source].y + leave)]
        for c in chain[1:-1]:
            left = starts[column[c]]
            points += [point(left, cells[c].y), point(left + widths[column[c]], cells[c].y)]
        end = cells[target].y + arrive  # a straight end: past wider neighbours, and with room for a label
        points += [point(starts[layer[target]] - LEAD, end), point(xs[target], end)]
        edges.append({"from": source, "to": target, "slot": slot, "points": points, "path": path(points, rankdir)})
    nodes = {str(i): _parts(box, xs[i], cells[i].y, extents[i], across) for i, box in enumerate(boxes)}
    place_labels(edges, list(nodes.values()), rankdir)
    width = starts[-1] + widths[-1] + MARGIN if layers else 2 * MARGIN
    height = max((cell.y + cell.size / 2 for cell in cells), default=0.0) + MARGIN
    return {
        "rankdir": rankdir,
        "width": round(height if across else width, 2),
        "height": round(width if across else height, 2),
        "nodes": nodes,
        "edges": edges,
    }


def _columns(
    layers: list[list[int]], cells: list[_Cell], extents: list[tuple[float, float]], chains: _Chains, gap: float
) -> tuple[list[float], list[float]]:
    """Start and width of each layer; steep edges get more room to turn in."""
    widths = [max((extents[cells[c].node][0] for c in row if cells[c].node >= 0), default=0.0) for row in layers]
    column = {c: k for k, row in enumerate(layers) for c in row}
    steepest = [0.0] * len(layers)
    for chain in chains.values():
        for u, v in pairwise(chain):
            steepest[column[v]] = max(steepest[column[v]], abs(cells[u].y - cells[v].y))
    starts, x = [], MARGIN
    for k, w in enumerate(widths):
        x += (gap + min(90.0, steepest[k] * 0.16)) if k else 0.0
        starts.append(x)
        x += w
    return starts, widths


def _parts(box: Box, x: float, y: float, extent: tuple[float, float], across: bool) -> dict[str, Any]:
    """The rectangle of a node, and in it those of its card and its op."""

    def rectangle(x: float, y: float, w: float, h: float) -> dict[str, Any]:
        return {"x": round(x, 1), "y": round(y, 1), "w": round(w, 1), "h": round(h, 1)}

    along, side = extent
    if across:
        whole = rectangle(y - side / 2, x, side, along)
        whole["card"] = rectangle(y - box.w / 2, x + along - box.h, box.w, box.h)
        if box.pill:
            whole["op"] = rectangle(y - box.pill / 2, x, box.pill, PILL)
    else:
        whole = rectangle(x, y - side / 2, along, side)
        whole["card"] = rectangle(x + along - box.w, y - box.h / 2, box.w, box.h)
        if box.pill:
            whole["op"] = rectangle(x, y - PILL / 2, box.pill, PILL)
    return whole


def path(points: Sequence[Sequence[float]], rankdir: str = "LR") -> str:
    """The points of an edge as an SVG path: straight along a layer, a smooth turn between two."""
    text = f"M{points[0][0]:g},{points[0][1]:g}"
    for (x0, y0), (x1, y1) in pairwise(points):
        if rankdir == "TB":
            middle = (y0 + y1) / 2
            turn, straight = f"C{x0:g},{middle:g} {x1:g},{middle:g} {x1:g},{y1:g}", x0 == x1
        else:
            middle = (x0 + x1) / 2
            turn, straight = f"C{middle:g},{y0:g} {middle:g},{y1:g} {x1:g},{y1:g}", y0 == y1
        text += f"L{x1:g},{y1:g}" if straight else turn
    return text
