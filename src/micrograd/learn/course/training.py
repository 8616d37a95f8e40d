"""What the theatre shows in a step of a lesson: a run of its own presets, or a network on a data set; from `train` blocks."""

from __future__ import annotations

from typing import Any

from micrograd import data, nn
from micrograd.learn import scenes
from micrograd.learn.course.asks import number
from micrograd.learn.course.lessons import Block, Problem
from micrograd.learn.scene import scene

DATA = ("moons", "circles", "xor", "spirals")
ACTIVATIONS = ("relu", "tanh", "sigmoid")
MOST = {"points": 300, "neurons": 64}  # what a page trains at some sixty steps a second


def training(block: Block, problems: list[Problem]) -> dict[str, Any] | None:
    """The scene of a `train` block, packed for the page; problems are added to the list."""

    def wrong(name: str, text: str) -> None:
        problems.append(Problem(block.line_of(name), text))

    if block.get("preset"):
        if block.get("preset") not in scenes.SCENES:
            wrong("preset", f"there is no preset {block.get('preset')!r}; there are: {', '.join(scenes.SCENES)}")
            return None
        found = next(one for one in scenes.presets() if one["key"] == block.get("preset"))
        return {key: x for key, x in found.items() if key != "ask"}  # a lesson asks its own questions
    name, activation = block.get("data") or "moons", block.get("activation") or "relu"
    layers, points = block.get("layers").split(), block.get("points") or "60"
    if name not in DATA:
        wrong("data", f"there is no data set {name!r}; there are: {', '.join(DATA)}")
    if activation not in ACTIVATIONS:
        wrong("activation", f"there is no activation {activation!r}; there are: {', '.join(ACTIVATIONS)}")
    if not layers or not all(n.isdigit() and 0 < int(n) <= MOST["neurons"] for n in layers):
        wrong(
            "layers", f"layers are numbers of neurons up to {MOST['neurons']}, the last one the outputs: `layers: 8 1`"
        )
    if not points.isdigit() or not 4 <= int(points) <= MOST["points"]:
        wrong("points", f"points is a whole number from 4 to {MOST['points']}, not {points!r}")
    try:
        rate = number(block.get("rate") or "0.5")
    except ValueError:
        wrong("rate", f"rate is a number, not {block.get('rate')!r}")
    if problems:
        return None
    model = nn.MLP(2, [int(n) for n in layers], activation=activation, rng=3)
    X, y = getattr(data, name)(int(points), seed=1)
    if int(layers[-1]) == 1 and name == "moons":
        y = [2 * c - 1 for c in y]
    return scene(model, (X, y), lr=rate, key=f"line-{block.line}")


def moons() -> list[list[float]]:
    """The points on which the learner's own engine trains: two numbers and the class, -1 or 1."""
    X, y = data.moons(60, noise=0.1, seed=1)
    return [[round(float(a), 3), round(float(b), 3), float(2 * c - 1)] for (a, b), c in zip(X, y)]
