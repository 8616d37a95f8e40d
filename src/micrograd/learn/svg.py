"""A drawing as SVG text, with its own colours for light and dark: data blue, grad orange, partials teal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from xml.sax.saxutils import escape, quoteattr

_STYLE = """
.mg-page{fill:#fff}.mg-card{fill:#fff;stroke:#c9ced6}.mg-leaf{fill:#f6f8fb}.mg-root{stroke:#5b6472;stroke-width:1.6}
.mg-stack{fill:#eef1f5;stroke:#c9ced6}.mg-op{fill:#eef1f5;stroke:#aeb6c2}.mg-edge{fill:none;stroke:#97a1ae;stroke-width:1.4}
.mg-tip{fill:#97a1ae}.mg-rule{stroke:#e6e9ee}.mg-name{fill:#1c2430;font-weight:600}.mg-sign{fill:#1c2430;font-weight:600}
.mg-word{fill:#6b7583}.mg-data{fill:#1a5fb4}.mg-grad{fill:#b45309}.mg-local{fill:#0b7a75}
.mg-drawing text{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;font-size:12.5px}
.mg-drawing .mg-word{font-size:11px}.mg-drawing .mg-local,.mg-drawing .mg-halo{font-size:10.5px}
.mg-halo{fill:none;stroke:#fff;stroke-width:4px;stroke-linejoin:round}
@media (prefers-color-scheme:dark){
.mg-page{fill:#14181f}.mg-card{fill:#1d232d;stroke:#3d4653}.mg-leaf{fill:#202835}.mg-root{stroke:#a7b1bf}
.mg-stack{fill:#262e3a;stroke:#3d4653}.mg-op{fill:#2a3341;stroke:#566172}.mg-edge{stroke:#6d7887}.mg-tip{fill:#6d7887}
.mg-rule{stroke:#2f3845}.mg-name,.mg-sign{fill:#eef2f7}.mg-word{fill:#98a3b3}.mg-data{fill:#7db4ff}.mg-grad{fill:#ffb067}
.mg-local{fill:#5fd3c4}.mg-halo{stroke:#14181f}}
"""
_SIGNS = {"*": "×", "-": "−", "neg": "−", "/": "÷"}


@dataclass(slots=True)
class Shape:
    """What a drawing shows at one place: `rows` are (word, text, class), below the name."""

    name: str
    symbol: str = ""
    rows: list[tuple[str, str, str]] = field(default_factory=list)
    kind: str = "node"  # node, leaf, constant or group
    root: bool = False
    tip: str = ""


def clipped(text: str, most: int) -> str:
    """A text that fits, with … for the rest."""
    return text if len(text) <= most else text[: most - 1] + "…"


def svg(shapes: Sequence[Shape], layout: dict[str, Any], labels: dict[tuple[int, int], str], title: str) -> str:
    """The picture as one SVG text that needs nothing else. `labels` are written at the ends of edges (target, slot)."""
    w, h = layout["width"], layout["height"]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="mg-drawing" role="img" aria-label={quoteattr(title)} '
        f'width="{w:g}" height="{h:g}" viewBox="0 0 {w:g} {h:g}">',
        f"<title>{escape(title)}</title><style>{_STYLE}</style>",
        f'<rect class="mg-page" width="{w:g}" height="{h:g}" rx="10"/>',
    ]
    counts: dict[int, int] = {}
    for edge in layout["edges"]:
        counts[edge["to"]] = counts.get(edge["to"], 0) + 1
    for edge in layout["edges"]:
        parts.append(_edge(edge, layout["rankdir"], labels.get((edge["to"], edge["slot"]), ""), counts[edge["to"]]))
    for i, shape in enumerate(shapes):
        parts.append(_shape(shape, layout["nodes"][str(i)], layout["rankdir"]))
    return "\n".join([*parts, "</svg>"])


def _edge(edge: dict[str, Any], rankdir: str, label: str, count: int) -> str:
    x, y = edge["points"][-1]
    tip = f"M{x:g},{y:g}l-4,-7h8z" if rankdir == "TB" else f"M{x:g},{y:g}l-7,-4v8z"
    text = f'<g class="mg-arrow" data-from="{edge["from"]}" data-to="{edge["to"]}" data-slot="{edge["slot"]}">'
    text += f'<path class="mg-edge" d="{edge["path"]}"/><path class="mg-tip" d="{tip}"/>'
    if label:
        upper = edge["slot"] < count / 2
        if rankdir == "TB":
            place = f'x="{x - 7 if upper else x + 7:g}" y="{y - 9:g}" text-anchor="{"end" if upper else "start"}"'
        else:
            place = f'x="{x - 9:g}" y="{y - 6 if upper else y + 13:g}" text-anchor="end"'
        halo = f'<text class="mg-halo" aria-hidden="true" {place}>{escape(label)}</text>'  # other edges pass behind it
        text += halo + f'<text class="mg-local" {place}>{escape(label)}</text>'
    return text + "</g>"


def _shape(shape: Shape, box: dict[str, Any], rankdir: str) -> str:
    card = box["card"]
    x, y, w, h = card["x"], card["y"], card["w"], card["h"]
    out = [f"<g><title>{escape(shape.tip or shape.name)}</title>"]
    if shape.kind == "constant":
        out.append(f'<rect class="mg-op" x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" rx="{h / 2:g}"/>')
        out.append(_text(x + w / 2, y + h / 2 + 4.5, shape.name, "mg-data", "middle"))
        return "".join(out) + "</g>"
    if "op" in box:
        out.append(_pill(shape, box["op"], card, rankdir))
    if shape.kind == "group":
        for shift in (6, 3):
            corner = f'x="{x + shift:g}" y="{y + shift:g}"'
            out.append(f'<rect class="mg-stack" {corner} width="{w - 6:g}" height="{h - 6:g}" rx="8"/>')
        w, h = w - 6, h - 6
    look = "mg-card" + (" mg-leaf" if shape.kind == "leaf" else "") + (" mg-root" if shape.root else "")
    out.append(f'<rect class="{look}" x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" rx="8"/>')
    out.append(_text(x + 10, y + 17, clipped(shape.name, int((w - 16) / 7.5)), "mg-name"))
    out.append(f'<path class="mg-rule" d="M{x + 1:g},{y + 24:g}h{w - 2:g}"/>')
    for k, (word, text, look) in enumerate(shape.rows):
        line = y + 39 + 16 * k
        out.append(_text(x + 10, line, word, "mg-word"))
        out.append(_text(x + w - 10, line, text, look, "end"))
    return "".join(out) + "</g>"


def _pill(shape: Shape, op: dict[str, float], card: dict[str, float], rankdir: str) -> str:
    x, y, w, h = op["x"], op["y"], op["w"], op["h"]
    if rankdir == "TB":
        link = f"M{x + w / 2:g},{y + h:g}V{card['y']:g}"
    else:
        link = f"M{x + w:g},{y + h / 2:g}H{card['x']:g}"
    sign = _SIGNS.get(shape.symbol, shape.symbol)
    return (
        f'<path class="mg-edge" d="{link}"/><rect class="mg-op" x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" '
        f'rx="{min(w, h) / 2:g}"/>' + _text(x + w / 2, y + h / 2 + 4.5, sign, "mg-sign", "middle")
    )


def _text(x: float, y: float, text: str, look: str, anchor: str = "") -> str:
    place = f' text-anchor="{anchor}"' if anchor else ""
    return f'<text class="{look}" x="{x:g}" y="{y:g}"{place}>{escape(text)}</text>'
