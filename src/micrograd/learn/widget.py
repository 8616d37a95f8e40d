"""The page as a Jupyter widget whose state Python reads and drives: `pip install "micrograd-next[notebook]"`."""

from __future__ import annotations

from functools import cache
from typing import Any

from micrograd.learn import page


@cache
def _kind() -> Any:
    """The widget's class; made when it is first asked for, because anywidget is an extra."""
    try:
        import anywidget
        import traitlets
    except ImportError as reason:
        from micrograd import install

        raise ImportError(
            f"the widget needs anywidget ({reason}).\n  {install.command('notebook')}, or show the Explorer "
            "itself: it needs nothing more, but Python cannot read its state."
        ) from None

    class ExploreWidget(anywidget.AnyWidget):  # type: ignore[misc, unused-ignore]
        """The stepper: `step` counts the frames shown, `values` has the leaves by name, `answers` the predictions."""

        _esm = page.module()
        _css = page.style()
        lesson = traitlets.Dict().tag(sync=True)
        preset = traitlets.Unicode("").tag(sync=True)
        step = traitlets.Int(0).tag(sync=True)
        values = traitlets.Dict().tag(sync=True)
        answers: Any = traitlets.List().tag(sync=True)
        sentence = traitlets.Unicode("").tag(sync=True)

    return ExploreWidget


def make(lesson: dict[str, Any]) -> Any:
    """A widget over the graphs of a lesson."""
    first = lesson["presets"][0]["timeline"]["nodes"]
    leaves = {node["name"]: node["data"] for node in first if "inputs" not in node and not node.get("constant")}
    return _kind()(lesson=lesson, preset=lesson["first"], values=leaves)
