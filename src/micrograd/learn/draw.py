"""draw_dot: a graph as a picture, with no graphviz on the machine. DOT text is there for those who have it."""

from __future__ import annotations

import os
from typing import Any

from micrograd.engine import Value
from micrograd.learn import names as naming
from micrograd.learn.collapse import GroupBox, Overview, collapse
from micrograd.learn.layout import CHARACTER, LEAST_CARD, MAX_NODES, Box, GraphTooLarge, layout, measure, place
from micrograd.learn.nodes import Node, code_line, read
from micrograd.learn.sentences import clean, show
from micrograd.learn.svg import Shape, svg

FORMATS = ("svg", "html", "dot", "png")
SHOWN = 60  # nodes drawn one by one unless asked for: an MLP(3, [4, 4, 1]) has 70, and is clearer collapsed
LABELLED = 30  # nodes up to which edges carry their partials
UNKNOWN = "—"  # a gradient that no backward pass has brought yet


class Drawing:
    """A picture of a graph: shows itself in a notebook; `.svg`, `.source` (DOT), `.save(path)`, `.render()`."""

    def __init__(self, svg: str, source: str, format: str = "svg", caption: str = "") -> None:
        self.svg, self.source, self.format, self.caption = svg, source, format, caption

    def __repr__(self) -> str:
        return f"<drawing of {self.caption}>"

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return {"text/html": image(self.svg, self.caption), "image/svg+xml": self.svg, "text/plain": repr(self)}

    @property
    def html(self) -> str:
        """The picture as a page of its own: no script, no network."""
        from html import escape

        return (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            '<meta name="color-scheme" content="light dark">'
            f"<title>{escape(clean(self.caption))}</title><style>body{{margin:24px}}svg{{max-width:100%;height:auto}}</style>"
            f"</head><body>\n{self.svg}\n</body></html>\n"
        )

    def save(self, path: str | os.PathLike[str]) -> str:
        """Write the picture; the ending of the name says how: .svg, .html, .dot (or .gv) or .png."""
        path = os.fspath(path)
        ending = os.path.splitext(path)[1].lower().lstrip(".").replace("gv", "dot")
        if ending == "png":
            from micrograd.learn.png import convert

            convert(self.svg, path)
            return path
        if ending not in FORMATS:
            raise ValueError(f"a drawing is saved as {', '.join('.' + f for f in FORMATS)}, not {path!r}")
        text = {"svg": self.svg + "\n", "html": self.html, "dot": self.source}[ending]
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def render(self, filename: str | os.PathLike[str] = "graph", format: str | None = None, **_: Any) -> str:
        """Save under a name to which the format is appended, as graphviz's `render` does; returns the path."""
        return self.save(f"{os.fspath(filename)}.{_known(format or self.format)}")


def draw_dot(
    root: Value,
    format: str = "svg",
    rankdir: str = "LR",
    *,
    collapse: bool | None = None,
    depth: int | None = None,
    names: dict[str, Value] | None = None,
) -> Drawing:
    """Draw the graph behind a Value: left to right, or top to bottom with rankdir="TB".

    A large graph is collapsed by neuron and layer; `collapse=True` or `False` decides it, `depth` says how many
    levels of modules are shown separately. A gradient is shown as — until a backward pass has reached the node.

    >>> from micrograd import Value
    >>> from micrograd.learn import draw_dot
    >>> a = Value(3.0)
    >>> draw_dot(a * a)
    <drawing of 2 nodes>
    """
    _known(format)
    if not isinstance(root, Value):
        raise TypeError(f"draw_dot draws a Value, the root of a graph; got {type(root).__name__}: {str(root)[:60]}")
    if collapse is None:
        collapse = depth is not None or count(root, SHOWN) > SHOWN
    if not collapse:
        return _draw_nodes(root, format, rankdir, names)
    return _draw_groups(root, format, rankdir, names, depth)


def count(root: Value, most: int) -> int:
    """How many nodes that are not plain numbers are behind root; stops counting beyond `most`."""
    seen, stack, found = {id(root)}, [root], 0
    while stack and found <= most:
        v = stack.pop()
        found += 1
        slopes = v._partials
        for k, u in enumerate(v._prev):
            if id(u) not in seen and not (k < len(slopes) and slopes[k] is None):
                seen.add(id(u))
                stack.append(u)
    return found


def notebook(root: Value) -> dict[str, Any] | None:
    """What a notebook shows for a Value: its text, and for a small graph its picture; a large one is never walked."""
    if not root._prev or count(root, SHOWN) > SHOWN:
        return None
    from html import escape

    picture = draw_dot(root, collapse=False, names=naming.of_the_notebook())
    text = escape(clean(repr(root)))
    shown = image(picture.svg, f"the graph of {clean(repr(root))}")
    return {"text/plain": repr(root), "text/html": f"<div><code>{text}</code></div>{shown}"}


def image(svg: str, alt: str) -> str:
    """A picture as HTML that is never wider than the cell of a notebook."""
    from base64 import b64encode
    from html import escape

    data = b64encode(svg.encode()).decode()
    return f'<img alt="{escape(alt)}" style="max-width:100%;height:auto" src="data:image/svg+xml;base64,{data}">'


def _known(format: str) -> str:
    if format not in FORMATS:
        raise ValueError(f"a drawing has the format {', '.join(FORMATS)}, not {format!r}")
    return format


# ---- node by node


def _draw_nodes(root: Value, format: str, rankdir: str, names: dict[str, Value] | None) -> Drawing:
    if (size := count(root, MAX_NODES)) > MAX_NODES:
        raise GraphTooLarge(
            f"this graph has more than {size - 1:,} nodes, too many to be drawn one by one.\n"
            "  Leave out collapse=False to see it by layers, or draw a part of it: any node can be the root."
        )
    nodes = read(root, names)
    picture = layout(nodes, rankdir)
    labels: dict[tuple[int, int], str] = {}
    if len(nodes) <= LABELLED:
        labels = {(node.id, slot): show(p) for node in nodes for slot, p in enumerate(node.partials) if p is not None}
    shown = sum(not node.constant for node in nodes)
    caption = f"{shown} node{'s'[: shown != 1]}"
    title = f"Graph of {nodes[-1].name}: {caption}"
    shapes = [_shape(node, nodes) for node in nodes]
    return Drawing(svg(shapes, picture, labels, title), _dot_nodes(nodes, rankdir), format, caption)


def _shape(node: Node, nodes: list[Node]) -> Shape:
    if node.constant:
        return Shape(show(node.data), kind="constant", tip=f"the number {node.data!r}")
    rows = [("data", show(node.data), "mg-data"), ("grad", _grad(node.grad), "mg-grad")]
    tip = f"{code_line(node, nodes)}\ndata {node.data!r}\ngrad {UNKNOWN if node.grad is None else repr(node.grad)}"
    if node.source:
        tip += f"\n{node.source['file']}:{node.source['line']}: {node.source['text']}"
    kind = "node" if node.inputs else "leaf"
    return Shape(node.label, node.symbol, rows, kind, root=node.id == len(nodes) - 1, tip=tip)


def _grad(grad: float | None) -> str:
    return UNKNOWN if grad is None else show(grad)


def _dot_nodes(nodes: list[Node], rankdir: str) -> str:
    lines = [f"digraph {{\n  rankdir={rankdir}"]
    for node in nodes:
        if node.constant:
            lines.append(f'  n{node.id} [label="{_quoted(show(node.data))}", shape=plaintext]')
            continue
        fields = " | ".join(_field(x) for x in (node.label, f"data {show(node.data)}", f"grad {_grad(node.grad)}"))
        lines.append(f'  n{node.id} [label="{{ {fields} }}", shape=record]')
        if node.inputs:
            lines.append(f'  n{node.id}op [label="{_quoted(node.symbol)}"]\n  n{node.id}op -> n{node.id}')
    lines += [f"  n{j} -> n{node.id}op" for node in nodes for j in node.inputs]
    return "\n".join([*lines, "}\n"])


def _quoted(text: str) -> str:
    return clean(text).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _field(text: str) -> str:
    """A text inside a record label, where { } | < > and spaces have a meaning."""
    return "".join(f"\\{c}" if c in "{}|<>" else c for c in _quoted(text))


# ---- group by group


def _draw_groups(root: Value, format: str, rankdir: str, names: dict[str, Value] | None, depth: int | None) -> Drawing:
    overview = collapse(root, depth)
    variables = {id(v): name for name, v in names.items()} if names is not None else naming.variables(naming.caller())
    shapes = [_group_shape(group, overview, variables) for group in overview.groups]
    shapes[-1].root = True
    boxes = [_group_box(group, shape, overview) for group, shape in zip(overview.groups, shapes)]
    inputs = [sorted(group.inputs, key=lambda g: overview.groups[g].exits[0]) for group in overview.groups]
    picture = place(boxes, inputs, rankdir)
    labels = {
        (i, slot): f"×{group.inputs[j]}"
        for i, (group, ids) in enumerate(zip(overview.groups, inputs))
        for slot, j in enumerate(ids)
        if group.inputs[j] > 1
    }
    caption = f"{len(overview.order):,} nodes in {len(shapes)} boxes"
    return Drawing(
        svg(shapes, picture, labels, f"Graph of {caption}"), _dot_groups(shapes, inputs, rankdir), format, caption
    )


def _alone(group: GroupBox) -> bool:
    return len(group.members) == 1


def _group_shape(group: GroupBox, overview: Overview, variables: dict[int, str]) -> Shape:
    last = overview.order[group.exits[-1]]
    seen = overview.seen[group.exits[-1]]
    rows = [("data", show(last.data), "mg-data"), ("grad", _grad(last.grad if seen else None), "mg-grad")]
    if _alone(group):
        name = (
            last.label or variables.get(id(last), "") or ("out" if last is overview.order[-1] else last._op or "leaf")
        )
        return Shape(name, last._op if last._prev else "", rows, "node" if last._prev else "leaf")
    size = len(group.members)
    made = ", ".join(f"{n}× {op or 'op'}" if n > 1 else op or "op" for op, n in group.ops.most_common(3))
    if len(group.ops) > 3:
        made += " …"
    told = [("holds", f"{size:,} nodes", "mg-name")]
    if made:
        told.append(("ops", made, "mg-word"))
    if group.leaves:
        told.append(("leaves", f"{group.leaves:,}", "mg-word"))
    rows = rows if len(group.exits) == 1 else [("gives", f"{len(group.exits):,} values", "mg-data")]
    tip = f"{group.title}: {size:,} nodes ({', '.join(f'{n} {op}' for op, n in group.ops.most_common())})"
    return Shape(group.title, "", told + rows, "group", tip=tip)


def _group_box(group: GroupBox, shape: Shape, overview: Overview) -> Box:
    if _alone(group):
        last = overview.order[group.exits[-1]]
        symbol = shape.symbol
        return measure(Node(0, last, label=shape.name, symbol=symbol, inputs=[0] if symbol else []))
    widest = max([len(shape.name) + 1, *(len(word) + len(text) + 2 for word, text, _ in shape.rows)])
    return Box(max(LEAST_CARD, 30 + CHARACTER * widest), 38 + 16.0 * len(shape.rows))


def _dot_groups(shapes: list[Shape], inputs: list[list[int]], rankdir: str) -> str:
    lines = [f"digraph {{\n  rankdir={rankdir}"]
    for i, shape in enumerate(shapes):
        fields = " | ".join(_field(x) for x in (shape.name, *(f"{word} {text}" for word, text, _ in shape.rows)))
        lines.append(f'  n{i} [label="{{ {fields} }}", shape=record]')
    lines += [f"  n{j} -> n{i}" for i, ids in enumerate(inputs) for j in ids]
    return "\n".join([*lines, "}\n"])
