"""Drawings of ideas, which move with the graph of a step: `picture` blocks."""

from __future__ import annotations

from typing import Any

from micrograd.learn.course.asks import number
from micrograd.learn.course.lessons import Block, Problem
from micrograd.learn.course.scenes import Scene

KINDS = ("knob", "gears", "tap", "landscape", "bars", "heat")


def picture(block: Block, scene: Scene | None, problems: list[Problem]) -> dict[str, Any]:
    """What the page draws: the kind of picture, and the nodes of the graph whose numbers it shows."""

    def wrong(name: str, text: str) -> None:
        problems.append(Problem(block.line_of(name), text))

    kind, names = block.get("of"), block.get("show").replace(",", " ").split()
    if kind not in KINDS:
        wrong("of", f"there is no picture of {kind!r}; there are: {', '.join(KINDS)}")
    known = [node.name for node in scene.timeline().nodes] if scene else []
    for name in (*names, *block.get("target").split()):
        if name not in known:
            wrong("show", f"{name!r} is not a node of this graph: {', '.join(known)}")
    if not names:
        wrong("show", "a picture shows nodes of the graph: `show: x u y`")
    row: dict[str, Any] = {"of": kind, "show": names}
    for name in ("from", "to"):
        if block.get(name):
            try:
                row[name] = number(block.get(name))
            except ValueError:
                wrong(name, f"{name} is a number, not {block.get(name)!r}")
    return row | ({"target": block.get("target")} if block.get("target") else {})
