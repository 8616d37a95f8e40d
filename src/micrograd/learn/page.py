"""One page for a notebook, a file and a browser: the front-end in static/ put together, with the timelines inside.

The page is self-contained: one style sheet, one script, one block of data. Its Content-Security-Policy allows that
script and that style by their hashes, and no network at all.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from functools import cache
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import Any

from micrograd.learn.frames import Timeline, number
from micrograd.learn.layout import layout
from micrograd.learn.nodes import Node
from micrograd.ops import OPS

STATIC = Path(__file__).parent / "static"
# Each file needs only those before it: joined in this order they are one module, which a notebook widget has to be.
MODULES = ("special", "ops", "numbers", "dom", "graph", "orders", "bugs", "session", "picture", "stepper", "leaves",
           "orderlab", "buglab", "predict", "lesson", "expression", "help", "app")  # fmt: skip

_IMPORT = re.compile(r'^import [^;]*? from "\./\w+\.js";\n', re.M)
_NOTE = re.compile(r"^\s*(?:/\*\*.*?\*/|//[^\n]*)\n", re.M | re.S)
_HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<div id="micrograd"></div>
<noscript>This page steps through a graph with a script of its own, and fetches nothing. Allow its script.</noscript>
<script type="application/json" id="lesson">{data}</script>
<script type="module">{script}</script>
</body>
</html>
"""
_PUSH = re.compile(r"^[^→]*?\.grad \+= (.*) \* \S+\.grad → ")
_START = 'start(JSON.parse(document.getElementById("lesson").textContent));\n'


@cache
def module() -> str:
    """The front-end as one ES module: imports between its files and notes to the reader are left out."""
    parts = []
    for name in MODULES:
        text = _IMPORT.sub("", (STATIC / f"{name}.js").read_text(encoding="utf-8"))
        text = re.sub(r"^export (?!default)", "", text, flags=re.M)
        parts.append(re.sub(r"\n\s*", "\n", _NOTE.sub("", text)).strip())
    return "\n".join(parts) + "\n"


@cache
def style() -> str:
    """The style sheet; everything in it stands under the class `mg`, so that a notebook keeps its own look."""
    text = re.sub(r"/\*.*?\*/", "", (STATIC / "page.css").read_text(encoding="utf-8"), flags=re.S)
    return re.sub(r"\n\s*", "\n", text).strip()


def html(lesson: dict[str, Any], title: str = "micrograd explore") -> str:
    """The whole page as text."""
    script = module().replace("export default { render };\n", _START)
    sheet = "body { margin: 0; }\n.mg { min-height: 100vh; }\n" + style()
    reach = "'self'" if lesson.get("post") else "'none'"
    policy = [
        "default-src 'none'",
        f"script-src '{_hash(script)}'",
        f"style-src '{_hash(sheet)}'",
        f"connect-src {reach}",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    return _HEAD.format(policy="; ".join(policy), title=escape(title), style=sheet, data=_data(lesson), script=script)


def pack(timeline: Timeline) -> dict[str, Any]:
    """A timeline as the page has it: both layouts, and the words of each frame; the page works out the numbers.

    A graph with a `_backward` that somebody wrote, or an op that is not in the table, keeps the numbers of Python:
    the page cannot run it again.
    """
    nodes, steps = timeline.nodes, [frame.as_dict() for frame in timeline]
    stranger = next((node for node in nodes if node.by_hand or (node.inputs and node.op not in OPS)), None)
    return {
        "nodes": [_node(node) for node in nodes],
        "root": timeline.root,
        "code": timeline.code,
        "source": timeline.sources if any(timeline.sources) else [],
        "words": steps if stranger else [_words(step) for step in steps if step["kind"] == "backward"],
        "frozen": "" if stranger is None else stranger.symbol or stranger.name,
        "layouts": [_layout(layout(nodes, way)) for way in ("LR", "TB")],
    }


def _node(node: Node) -> dict[str, Any]:
    """A node without what the page knows anyway."""
    row: dict[str, Any] = {"name": node.name, "data": number(node.data)}
    if node.inputs:
        row |= {"op": node.op, "inputs": node.inputs, "partials": [number(p) for p in node.partials]}
        if node.op not in OPS:
            row["symbol"] = node.symbol
    if node.line is not None:
        row["line"] = node.line
    if node.label != node.name:
        row["label"] = node.label
    return row | ({"constant": True} if node.constant else {})


def _words(frame: dict[str, Any]) -> list[Any]:
    """The words of a backward frame; those of a forward one are its line of code."""
    factor = _PUSH.match(frame["sentence"])
    return [frame["node"], frame["slot"], frame["rule"], factor.group(1) if factor else ""]


def _layout(place: dict[str, Any]) -> dict[str, Any]:
    def corners(box: dict[str, float]) -> list[float]:
        return [box["x"], box["y"], box["w"], box["h"]]

    boxes = [[corners(box[part]) for part in ("card", "op") if part in box] for box in place["nodes"].values()]
    edges = [[edge["to"], edge["slot"], edge["path"]] for edge in place["edges"]]
    return {**{key: place[key] for key in ("rankdir", "width", "height")}, "boxes": boxes, "edges": edges}


def _hash(text: str) -> str:
    return "sha256-" + b64encode(sha256(text.encode()).digest()).decode()


def _data(lesson: dict[str, Any]) -> str:
    """JSON that no `</script>` can end."""
    text = json.dumps(lesson, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text
