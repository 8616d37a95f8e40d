"""The page as a Jupyter widget whose state Python reads and drives: `pip install "micrograd-next[notebook]"`."""

from __future__ import annotations

from functools import cache
from typing import Any

from micrograd.learn import page


def _libraries(instead: str) -> tuple[Any, Any]:
    """anywidget and traitlets; asked for late, because they are an extra."""
    try:
        import anywidget
        import traitlets
    except ImportError as reason:
        from micrograd import install

        raise ImportError(
            f"the widget needs anywidget ({reason}).\n  {install.command('notebook')}, or show the {instead} "
            "itself: it needs nothing more, but Python cannot read its state."
        ) from None
    return anywidget, traitlets


@cache
def _kind() -> Any:
    """The widget's class; made when it is first asked for, because anywidget is an extra."""
    anywidget, traitlets = _libraries("Explorer")

    class ExploreWidget(anywidget.AnyWidget):  # type: ignore[misc, name-defined, unused-ignore]
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


@cache
def _theatre_kind() -> Any:
    anywidget, traitlets = _libraries("Theatre")

    class WatchWidget(anywidget.AnyWidget):  # type: ignore[misc, name-defined, unused-ignore]
        """The theatre: `step`, `rate`, `zeroes`, `playing`, `points` and `scene` can be read and set, the others read."""

        _esm = page.module(None, page.WATCH)
        _css = page.style("page", "theatre")
        play = traitlets.Dict().tag(sync=True)
        fed = traitlets.Bool(False).tag(sync=True)
        scene = traitlets.Unicode("").tag(sync=True)
        step = traitlets.Int(0).tag(sync=True)
        steps = traitlets.Int(0).tag(sync=True)
        rate = traitlets.Float(0.0).tag(sync=True)
        zeroes = traitlets.Bool(True).tag(sync=True)
        playing = traitlets.Bool(False).tag(sync=True)
        points: Any = traitlets.List().tag(sync=True)
        loss = traitlets.Float(None, allow_none=True).tag(sync=True)
        accuracy = traitlets.Float(0.0).tag(sync=True)
        parameters: Any = traitlets.List().tag(sync=True)

    return WatchWidget


def make_theatre(play: dict[str, Any], fed: bool) -> Any:
    """A widget over the scenes of a play; one that is fed asks for the steps that Python makes."""
    first = play["scenes"][0]
    rate = first["rate"][0] if isinstance(first["rate"], list) else first["rate"]
    step = len(first["record"]["loss"]) if "record" in first else 0
    return _theatre_kind()(
        play=play, fed=fed, scene=first["key"], rate=rate, zeroes=first["zeroes"], points=first["points"], step=step,
        steps=step, parameters=first["start"],
    )  # fmt: skip
