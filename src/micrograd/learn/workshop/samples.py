"""A small graph for each exercise that passed: computed by the learner's own code, with the gradients of their own rules.

A sample gives the learner's nodes by name, the root last.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Load = Callable[[str], Any]
Nodes = dict[str, Any]


def _expression(module: str, f: Callable[..., Any], **leaves: float) -> Callable[[Load], Nodes]:
    """A sample that applies f to Values of the learner's class; f may return several nodes by name, the root last."""

    def sample(load: Load) -> Nodes:
        make = load(module).Value
        given = {name: make(x) for name, x in leaves.items()}
        found = f(**given)
        return {**given, **(found if isinstance(found, dict) else {"L": found})}

    return sample


def _neuron(load: Load) -> Nodes:
    make, neuron = load("e11_tanh_relu").Value, load("e13_neuron").Neuron(2)
    x0, x1 = make(1.5), make(-0.5)
    for p, x in zip(neuron.w, (0.8, -1.2)):
        p.data = x
    neuron.b.data = 0.3
    return {"x0": x0, "x1": x1, "w0": neuron.w[0], "w1": neuron.w[1], "b": neuron.b, "out": neuron([x0, x1])}


def _network(load: Load) -> Nodes:
    net = load("e14_mlp").MLP(2, [2, 1])
    parameters = net.parameters()
    for k, p in enumerate(parameters):
        p.data = (-1.0) ** k * (0.4 + 0.1 * k)
    return {**{f"p{k}": p for k, p in enumerate(parameters)}, "out": net([1.0, -2.0])}


def _mse(load: Load) -> Nodes:
    make = load("e11_tanh_relu").Value
    outs = [make(x) for x in (0.5, 2.0)]
    return {"y0": outs[0], "y1": outs[1], "L": load("e15_loss").mse(outs, [1.0, 1.5])}


def _softmax(load: Load) -> Nodes:
    make = load("e11_tanh_relu").Value
    logits = [make(z) for z in (2.0, 1.0, 0.1)]
    return {**{f"z{k}": z for k, z in enumerate(logits)}, "p0": load("e18_softmax").softmax(logits)[0]}


def _cross_entropy(load: Load) -> Nodes:
    make = load("e11_tanh_relu").Value
    logits = [make(z) for z in (2.0, 1.0, 0.1)]
    return {**{f"z{k}": z for k, z in enumerate(logits)}, "L": load("e19_cross_entropy").cross_entropy(logits, 0)}


def _attention(load: Load) -> Nodes:
    make = load("e11_tanh_relu").Value
    numbers = {"q": ((0.5, 0.0), (1.0, 0.5)), "k": ((1.0, 0.0), (0.0, 1.0)), "v": ((10.0, 1.0), (20.0, 2.0))}
    parts = {name: [[make(x) for x in row] for row in rows] for name, rows in numbers.items()}
    names = {
        f"{name}{t}{i}": x for name, rows in parts.items() for t, row in enumerate(rows) for i, x in enumerate(row)
    }
    return {**names, "out": load("e20_attention").attention(*parts.values())[1][0]}


def _diamond(a: Any, b: Any) -> Nodes:
    c = a * b
    return {"c": c, "L": c * (c + b)}


SAMPLES: dict[str, Callable[[Load], Nodes]] = {
    "e04_rules": _expression("e04_rules", _diamond, a=2.0, b=-3.0),
    "e06_backward": _expression("e06_backward", _diamond, a=2.0, b=-3.0),
    "e07_again": _expression("e07_again", _diamond, a=2.0, b=-3.0),
    "e08_numbers": _expression("e08_numbers", lambda a, b: 2 - a * b - a, a=2.0, b=-3.0),
    "e09_power": _expression("e09_power", lambda a, b: a**2 / b, a=3.0, b=2.0),
    "e10_exp_log": _expression("e10_exp_log", lambda a, b: (a.exp() + b).log(), a=0.5, b=1.5),
    "e11_tanh_relu": _expression("e11_tanh_relu", lambda x, w, b: (x * w + b).tanh() + x.relu(), x=0.5, w=-1.5, b=1.0),
    "e13_neuron": _neuron,
    "e14_mlp": _network,
    "e15_loss": _mse,
    "e18_softmax": _softmax,
    "e19_cross_entropy": _cross_entropy,
    "e20_attention": _attention,
}
