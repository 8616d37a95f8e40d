"""`explore`: the stepper for one graph, in a notebook, as a file, or as a widget that Python reads and drives."""

from __future__ import annotations

import os
import sys
from html import escape
from pathlib import Path
from typing import Any

from micrograd.engine import Value, topological
from micrograd.errors import MicrogradError
from micrograd.learn import page, texts
from micrograd.learn.expression import parse
from micrograd.learn.frames import play
from micrograd.learn.nodes import read
from micrograd.learn.saved import SavedPage

MAX_NODES = 100_000  # about 12 MB of page; a graph is walked box by box from 600 nodes on
_FRAME = (
    '<iframe title="{title}" srcdoc="{page}" sandbox="allow-scripts allow-downloads" loading="lazy" {size}></iframe>'
)
_SIZE = 'style="width:100%;height:{height}px;border:1px solid #8884;border-radius:12px"'


def explore(graph: Value | str | None = None, /, **values: float) -> Explorer:
    """Open the stepper on a Value, or on an expression and its numbers; with neither, on the lesson's presets.

    >>> from micrograd.learn import explore
    >>> explore("(a+b)*c", a=2, b=-3, c=10)
    <explore (a+b)*c: 5 nodes>
    """
    if graph is None:
        return Explorer([])
    if isinstance(graph, str):
        root = parse(graph).build(values)
        return Explorer([preset("own", graph.strip(), root, names={})], root)
    if values:
        raise TypeError("numbers by name go with an expression: explore('(a+b)*c', a=2, b=-3, c=10)")
    return Explorer([preset("own", "", graph)], graph)


def preset(key: str, title: str, root: Value, names: dict[str, Value] | None = None) -> dict[str, Any]:
    """A graph as an entry of the page's list."""
    count = len(topological(root)) if isinstance(root, Value) else 0
    if count > MAX_NODES:
        raise MicrogradError(
            f"this graph has {count:,} nodes, and a page holds at most {MAX_NODES:,}.\n"
            "  draw_dot(root) draws it collapsed; any node in it can be explored by itself."
        )
    nodes = read(root, names)
    steps = play(nodes).frames if page.frozen(nodes) else None
    title = title or texts.say("page.your_graph", name=nodes[-1].name)
    return {"key": key, "title": title, "about": "", "timeline": page.pack(nodes, steps)}


def lesson_presets() -> list[dict[str, Any]]:
    """The graphs of the lesson."""
    from micrograd.learn.lesson import PRESETS

    return [
        {"key": one.key, "title": one.title, "about": one.about, "timeline": page.pack(one.timeline().nodes)}
        for one in PRESETS.values()
    ]


class Explorer(SavedPage):
    """The stepper over graphs: shows itself in a notebook, and has `.save(path)`, `.html`, `.show()`, `.widget()`."""

    def __init__(self, graphs: list[dict[str, Any]], root: Value | None = None) -> None:
        from micrograd.learn.lesson import QUIZZES

        self.root = root
        presets = [*graphs, *lesson_presets()]
        self.lesson: dict[str, Any] = {
            "presets": presets,
            "first": presets[0]["key"],
            "quizzes": [quiz.as_dict() for quiz in QUIZZES],
            "texts": {
                key: words
                for key, words in texts.current().items()
                if key not in ("terminal", "theatre", "course", "bench", "home", "console", "class", "glossary")
            },
            "ideas": texts.lesson()["ideas"],
        }

    @property
    def title(self) -> str:
        title: str = self.lesson["presets"][0]["title"]
        return title

    def page(self, post: str = "") -> str:
        """The whole page; `post` is where the local server takes expressions."""
        lesson = {**self.lesson, "post": post} if post else self.lesson
        return page.html(lesson, f"micrograd explore · {self.title}")

    @property
    def svg(self) -> str:
        """The graph as it stands, for a reader that shows no page."""
        from micrograd.learn.draw import draw_dot
        from micrograd.learn.lesson import PRESETS

        root = self.root if self.root is not None else next(iter(PRESETS.values())).build()
        return draw_dot(root).svg

    def show(self) -> None:
        """Show the page: below the cell in a notebook, in the browser elsewhere."""
        shell = sys.modules.get("IPython")
        if shell is not None and getattr(shell.get_ipython(), "kernel", None) is not None:
            shell.display.display(self)
            return
        import tempfile
        import webbrowser

        handle, name = tempfile.mkstemp(".html", "micrograd-")
        os.close(handle)
        webbrowser.open(Path(self.save(name)).as_uri())

    def widget(self) -> Any:
        """A widget whose `step`, `values`, `preset` and `answers` Python can read and set (needs anywidget)."""
        from micrograd.learn.widget import make

        return make(self.lesson)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        frame = _FRAME.format(
            title=escape(self.title, quote=True), page=escape(self.html, quote=True), size=_SIZE.format(height=720)
        )
        return {"text/html": frame, "image/svg+xml": self.svg, "text/plain": repr(self)}

    def __repr__(self) -> str:
        return f"<explore {self.title}: {len(self.lesson['presets'][0]['timeline']['nodes']):,} nodes>"
