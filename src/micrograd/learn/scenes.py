"""The scenes of the theatre: moons, which works, and six runs that fail on purpose, each with its question and its cure."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from micrograd import data, losses, nn, optim
from micrograd.learn.scene import scene

Signs = tuple[list[list[float]], list[int]]


def _signs(points: Signs) -> Signs:
    """Targets −1 and 1 in place of 0 and 1."""
    X, y = points
    return X, [2 * c - 1 for c in y]


def _start(model: Any) -> list[float]:
    return [p.data for p in model.parameters()]


def _moons() -> dict[str, Any]:
    return scene(nn.MLP(2, [16, 1], rng=3), _signs(data.moons(80, seed=1)), lr=0.5, key="moons")


def _dead() -> dict[str, Any]:
    model = nn.MLP(2, [8, 1], rng=3)
    sound = _start(model)
    for neuron in model.layers[0].neurons:
        neuron.b.data = -10.0
    X, y = _signs(data.moons(60, seed=1))
    made = scene(model, (X[:45], y[:45]), lr=0.5, key="dead")  # not as many of each class: the last bias has a gradient
    return made | {"ask": {"right": 1, "cure": {"start": sound}}}


def _rate() -> dict[str, Any]:
    made = scene(nn.MLP(2, [16, 1], rng=3), _signs(data.moons(60, seed=1)), lr=40.0, key="rate")
    return made | {"ask": {"right": 1, "cure": {"rate": 0.5}}}


def _zero() -> dict[str, Any]:
    sound = _start(nn.MLP(2, [4, 1], activation="tanh", rng=4))
    model = nn.MLP(2, [4, 1], activation="tanh", init="zeros")
    made = scene(model, data.xor(61, noise=0.12, seed=2), lr=1.0, key="zero")
    return made | {"ask": {"right": 2, "cure": {"start": sound}}}


def _saturated() -> dict[str, Any]:
    model = nn.MLP(2, [6, 1], activation="tanh", rng=5)
    sound = _start(model)
    for p in model.layers[0].parameters():
        p.data *= 20.0
    made = scene(model, data.circles(60, seed=1), lr=0.5, key="saturated")
    return made | {"ask": {"right": 0, "cure": {"start": sound}}}


def _forgotten() -> dict[str, Any]:
    model = nn.MLP(2, [8, 1], activation="tanh", rng=3)
    made = scene(model, _signs(data.moons(60, seed=1)), losses.mse, lr=0.01, zeroes=False, key="forgotten")
    return made | {"ask": {"right": 1, "cure": {"zeroes": True, "rate": 0.1}}}


def _few() -> dict[str, Any]:
    model = nn.MLP(2, [3, 3], activation="tanh", init="xavier", rng=1)
    made = scene(model, data.spirals(90, seed=0), optimizer=optim.Adam(model.parameters(), lr=0.05), key="few")
    return made | {"ask": {"right": 2, "cure": {"scene": "enough"}}}


def _enough() -> dict[str, Any]:
    model = nn.MLP(2, [12, 12, 3], activation="tanh", init="xavier", rng=1)
    return scene(model, data.spirals(90, seed=0), optimizer=optim.Adam(model.parameters(), lr=0.05), key="enough")


SCENES: dict[str, Callable[[], dict[str, Any]]] = {
    "moons": _moons,
    "dead": _dead,
    "rate": _rate,
    "zero": _zero,
    "saturated": _saturated,
    "forgotten": _forgotten,
    "few": _few,
    "enough": _enough,
}


@cache
def _made(key: str) -> dict[str, Any]:
    return SCENES[key]()


def presets() -> list[dict[str, Any]]:
    """Every scene, packed for the page.

    >>> from micrograd.learn.scenes import presets
    >>> [one["key"] for one in presets()]
    ['moons', 'dead', 'rate', 'zero', 'saturated', 'forgotten', 'few', 'enough']
    """
    return [_made(key) for key in SCENES]
