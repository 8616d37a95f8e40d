"""A drawing as SVG text in the one look of this package: data blue, gradients orange, partials teal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from xml.sax import saxutils

from micrograd.learn import look
from micrograd.learn.layout import CHARACTER
from micrograd.learn.sentences import clean

SIGNS = {"*": "×", "-": "−", "neg": "−", "/": "÷"}


@dataclass(slots=True)
class Shape:
    """What a drawing shows at one place: `rows` are (word, text, class), below the name."""

    name: str
    symbol: str = ""
    rows: list[tuple[str, str, str]] = field(default_factory=list)
    kind: str = "node"  # node, leaf, constant or group
    root: bool = False
    tip: str = ""


def escape(text: str) -> str:
    """A text as XML can hold it, whatever characters a label has."""
    return saxutils.escape(clean(text))


def clipped(text: str, most: int) -> str:
    """A text that fits, with … for the rest."""
    return text if len(text) <= most else text[: most - 1] + "…"


def svg(shapes: Sequence[Shape], layout: dict[str, Any], labels: dict[tuple[int, int], str], title: str) -> str:
    """The picture as one SVG text that needs nothing else. `labels` are written at the ends of edges (target, slot)."""
    w, h = layout["width"], layout["height"]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="mg-drawing" role="img" aria-label={saxutils.quoteattr(clean(title))} '
        f'width="{w:g}" height="{h:g}" viewBox="0 0 {w:g} {h:g}" style="max-width:100%;height:auto">',
        f"<title>{escape(title)}</title><style>{look.drawing()}</style>",
        f'<rect class="mg-page" width="{w:g}" height="{h:g}" rx="10"/>',
    ]
    for edge in layout["edges"]:
        parts.append(_edge(edge, layout["rankdir"], labels.get((edge["to"], edge["slot"]), "")))
    for i, shape in enumerate(shapes):
        parts.append(_shape(shape, layout["nodes"][str(i)], layout["rankdir"]))
    return "\n".join([*parts, "</svg>"])


def _edge(edge: dict[str, Any], rankdir: str, label: str) -> str:
    x, y = edge["points"][-1]
    tip = f"M{x:g},{y:g}l-4,-7h8z" if rankdir == "TB" else f"M{x:g},{y:g}l-7,-4v8z"
    text = f'<g class="mg-arrow" data-from="{edge["from"]}" data-to="{edge["to"]}" data-slot="{edge["slot"]}">'
    text += f'<path class="mg-edge" d="{edge["path"]}"/><path class="mg-tip" d="{tip}"/>'
    if label and edge["label"]:
        lx, ly, anchor = edge["label"]
        place = f'x="{lx:g}" y="{ly:g}" text-anchor="{anchor}"'
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
    out.append(_text(x + 10, y + 17, clipped(shape.name, int((w - 16) / CHARACTER)), "mg-name"))
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
    sign = SIGNS.get(shape.symbol, shape.symbol)
    return (
        f'<path class="mg-edge" d="{link}"/><rect class="mg-op" x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" '
        f'rx="{min(w, h) / 2:g}"/>' + _text(x + w / 2, y + h / 2 + 4.5, sign, "mg-sign", "middle")
    )


def _text(x: float, y: float, text: str, look: str, anchor: str = "") -> str:
    place = f' text-anchor="{anchor}"' if anchor else ""
    return f'<text class="{look}" x="{x:g}" y="{y:g}"{place}>{escape(text)}</text>'
