"""One page for a notebook, a file and a browser: the front-end in static/ put together, with the timelines inside.

The page is self-contained: one style sheet, one script, one block of data. Its Content-Security-Policy allows that
script and that style by their hashes, and no network at all.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import Any

from micrograd.learn import look, squeeze, texts
from micrograd.learn.frames import Frame, number
from micrograd.learn.layout import GraphTooLarge, layout
from micrograd.learn.nodes import Node
from micrograd.learn.sentences import clean
from micrograd.ops import OPS

STATIC = Path(__file__).parent / "static"
MAX_FLAT = 600  # nodes up to which all are drawn at once; larger graphs are walked box by box
# Each file needs only those before it: joined in this order they are one module, which a notebook widget has to be.
STAGE = ("special", "ops", "numbers", "texts", "dom", "graph", "orders", "judge", "bugs", "session", "groups",
         "compact", "panzoom", "beside", "picture", "minimap", "transport", "question", "sentence", "stage")  # fmt: skip
THEATRE = (
    "draws",
    "rules",
    "program",
    "training",
    "plane",
    "curve",
    "network",
    "riddle",
    "conductor",
    "opened",
    "theatre",
)  # after STAGE
PLAYGROUND = ("formula", "datasets", "blueprint", "playground", "gpt", "transformer")
WATCH = (*STAGE, *THEATRE, *PLAYGROUND, "help", "watch")
RUN = (*STAGE, *THEATRE, "help", "watch")  # a run of one's own, without what the learner can set up
EDITOR = ("codemirror", "editor")  # codemirror.js is bundled by `make editor`, and small already
BENCH = (*EDITOR, *STAGE, "progress", "python", "bench-file", "bench")
CLASS = ("special", "ops", "numbers", "texts", "dom", "bench-file", "classroom")
CONSOLE = (*EDITOR, "special", "ops", "numbers", "texts", "dom", "python", "console")
HOME = (*STAGE, "draws", "rules", "program", "training", "plane", "home")
PYTHON = ("pyparse", "pyvalues", "pybuiltins", "pyrun")
COURSE = (*EDITOR, *STAGE, *THEATRE, "picks", "leaves", "diagnose", "slope", "ideas", "progress", *PYTHON, "python", "writing",
          "moons", "terms", "tasks", "milestones", "drill", "help", "course")  # fmt: skip
MODULES = (*STAGE, "code", "leaves", "labs", "lesson", "expression", "link", "help", "app")

_ROW = re.compile(r"^  (\w+): \{ symbol: .*\},\n", re.M)
_IMPORT = re.compile(r'^import [^;]*? from "\./[\w-]+\.js";\n', re.M)
_HEAD = """<!doctype html>
<html lang="{language}" dir="{direction}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<div id="micrograd">{body}</div>
<noscript>This page steps through a graph with a script of its own, and fetches nothing. Allow its script.</noscript>
<script type="application/json" id="lesson">{data}</script>
<script type="module">{script}</script>
</body>
</html>
"""
_START = 'start(JSON.parse(document.getElementById("lesson").textContent));\n'


@cache
def module(ops: frozenset[str] | None = None, names: tuple[str, ...] = MODULES) -> str:
    """A front-end as one ES module, with the rows of the op table that are named, or with all of them."""
    parts: list[str] = []
    bundled = ""
    for name in names:
        text = (STATIC / f"{name}.js").read_text(encoding="utf-8")
        if name == "codemirror":
            bundled = text.replace("export const", "const", 1)
            continue
        text = _IMPORT.sub("", text)
        if name == "ops" and ops is not None:
            text = _ROW.sub(lambda row: row[0] if row[1] in ops else "", text)
            parts[-1] = _needed(parts[-1], text)
        parts.append(re.sub(r"^export (?!default)", "", text, flags=re.M))
    return bundled + squeeze.script("\n".join(parts))


def _needed(functions: str, text: str) -> str:
    """The top-level declarations of a file that a text uses, directly or through each other."""
    pieces = re.split(r"^(?=(?:/\*\*|//|function|const))", functions, flags=re.M)
    named: list[tuple[str, str]] = []
    note = ""
    for piece in pieces:
        found = re.match(r"(?:function|const) (\w+)", piece)
        if found is None:
            note += piece
            continue
        named.append((found[1], note + piece))
        note = ""
    kept: set[str] = set()
    while True:
        more = {name for name, _ in named if name not in kept and re.search(rf"\b{name}\b", text)}
        if not more:
            return "".join(piece for name, piece in named if name in kept)
        kept |= more
        text += "".join(piece for name, piece in named if name in more)


@cache
def style(*names: str) -> str:
    """The style sheet; everything in it stands under the class `mg`, so that a notebook keeps its own look."""
    sheet = "\n".join((STATIC / f"{name}.css").read_text(encoding="utf-8") for name in names or ("page",))
    return squeeze.style(f"{look.variables()}\n{look.graph()}\n{sheet}")


def html(lesson: dict[str, Any], title: str = "micrograd explore") -> str:
    """The whole page as text."""
    used = frozenset(node["op"] for graph in lesson["presets"] for node in graph["timeline"]["nodes"] if "op" in node)
    script = module(None if lesson.get("post") else used).replace("export default{render};\n", _START)
    return document(lesson, script, style(), title, "'self'" if lesson.get("post") else "'none'")


def document(
    data: dict[str, Any],
    script: str,
    sheet: str,
    title: str,
    reach: str = "'none'",
    more: tuple[str, ...] = (),
    body: str = "",
) -> str:
    """A page with one script, one style sheet and one block of data; `reach` is where the script may connect to.

    `more` are further directives of its Content-Security-Policy, `body` is what it shows without its script.
    """
    words = texts.current()
    sheet = "body { margin: 0; }\n.mg { min-height: 100vh; }\n" + sheet
    policy = [
        "default-src 'none'",
        f"script-src '{_hash(script)}'",
        f"style-src '{_hash(sheet)}'",
        f"connect-src {reach}",
        "base-uri 'none'",
        "form-action 'none'",
        *more,
    ]
    return _HEAD.format(
        policy="; ".join(policy),
        title=escape(clean(title)),
        language=words["language"],
        direction=words["direction"],
        style=sheet,
        data=_data(data),
        script=script,
        body=body,
    )


def frozen(nodes: Sequence[Node]) -> str:
    """The op that the page cannot run again: a hand-written `_backward`, or an op that is not in the table."""
    stranger = next((node for node in nodes if node.by_hand or (node.inputs and node.op not in OPS)), None)
    return "" if stranger is None else stranger.symbol or stranger.name


def pack(nodes: Sequence[Node], steps: Sequence[Frame] | None = None, flat: int = MAX_FLAT) -> dict[str, Any]:
    """A graph as the page has it: its nodes, the modules that made them, and up to `flat` nodes both layouts.

    The page computes frames and their words itself, by the rules of frames.py. `steps` are Python's frames, for a graph
    that the page cannot run again.
    """
    scopes: dict[tuple[str, ...], int] = {(): 0}
    small = len(nodes) <= flat
    sources = [node.source for node in nodes if not node.constant]
    sources = sources if any(sources) else []
    index: dict[Any, int] = {}
    for source in sources:
        index.setdefault(_line(source), len(index))
    texts_of_lines = [dict(line) if line else None for line in index]
    graph = {
        "nodes": [_node(node, scopes, small) for node in nodes],
        "scopes": [list(path) for path in scopes] if len(scopes) > 1 else None,
        "source": texts_of_lines if sources else None,
        "lines": [index[_line(source)] for source in sources] if sources else None,
        "frozen": frozen(nodes),
        "words": [step.as_dict() for step in steps] if steps is not None else None,
        "layouts": _layouts(nodes) if small else None,
    }
    return {key: x for key, x in graph.items() if x}


def _layouts(nodes: Sequence[Node]) -> list[dict[str, Any]] | None:
    """Place the nodes one by one in both directions; None where a node is used over too many layers, as in a long loop."""
    try:
        return [_layout(layout(nodes, way)) for way in ("LR", "TB")]
    except GraphTooLarge:
        return None


def _line(source: dict[str, Any] | None) -> Any:
    return tuple(source.items()) if source else None


def _node(node: Node, scopes: dict[tuple[str, ...], int], whole: bool) -> dict[str, Any]:
    """A node without what the page knows anyway."""
    row: dict[str, Any] = {"name": node.name, "data": number(node.data)}
    if node.inputs:
        row |= {"op": node.op, "inputs": node.inputs}
        if (whole and node.op not in ("add", "sub", "mul", "neg")) or node.op not in OPS or node.by_hand:
            row["partials"] = [number(p) for p in node.partials]
        if node.op not in OPS:
            row["symbol"] = node.symbol
    if node.label != node.name:
        row["label"] = node.label
    if node.scope:
        row["scope"] = scopes.setdefault(node.scope, len(scopes))
    return row | ({"constant": True} if node.constant else {})


def _layout(place: dict[str, Any]) -> dict[str, Any]:
    def short(numbers: list[float]) -> list[float]:
        return [int(x) if x == int(x) else x for x in numbers]

    def corners(box: dict[str, Any]) -> list[float]:
        """The card without its height, and the width of the op that stands before it."""
        card = box["card"]
        return short([card["x"], card["y"], card["w"], *([box["op"]["w"]] if "op" in box else [])])

    def label(at: list[Any] | None) -> list[float] | None:
        """Where a label is anchored: by its end, or with a third entry by its start."""
        return None if at is None else short([at[0], at[1], *([1] if at[2] == "start" else [])])

    boxes = [corners(box) for box in place["nodes"].values()]
    edges = [
        [
            edge["from"],
            edge["to"],
            edge["slot"],
            short([x for point in edge["points"] for x in point]),
            label(edge["label"]),
        ]
        for edge in place["edges"]
    ]
    return {**{key: place[key] for key in ("rankdir", "width", "height")}, "boxes": boxes, "edges": edges}


def _hash(text: str) -> str:
    return "sha256-" + b64encode(sha256(text.encode()).digest()).decode()


def _cleaned(x: Any) -> Any:
    """The same data with every text as UTF-8 and HTML can hold it."""
    if isinstance(x, str):
        return clean(x)
    if isinstance(x, dict):
        return {clean(key): _cleaned(entry) for key, entry in x.items()}
    return [_cleaned(entry) for entry in x] if isinstance(x, (list, tuple)) else x


def _data(lesson: dict[str, Any]) -> str:
    """JSON that no `</script>` can end."""
    text = json.dumps(_cleaned(lesson), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text
