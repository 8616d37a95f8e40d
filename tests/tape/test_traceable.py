"""Models and losses are plain scalar operations: no number leaves the graph, so all of them can be compiled."""

import pytest

from micrograd import Value, losses, nn
from micrograd.engine import set_watch
from micrograd.tape.arithmetic import RAISING


def values(*numbers):
    return [Value(x) for x in numbers]


ROW = (0.3, -0.2, 0.9, 0.1)
FORWARDS = {
    **{f"MLP-{a}": lambda a=a: nn.MLP(4, [3, 1], activation=a, rng=0)(values(*ROW)) for a in nn.ACTIVATIONS},
    "Linear": lambda: nn.Linear(4, 2, rng=0)(values(*ROW)),
    "RMSNorm": lambda: nn.RMSNorm(4)(values(*ROW)),
    "LayerNorm": lambda: nn.LayerNorm(4)(values(*ROW)),
    "Attention": lambda: nn.Attention(4, 2, rng=0)([values(*ROW), values(*ROW)]),
    "Embedding": lambda: nn.Embedding(3, 4, rng=0)(Value(2)),
    "GPT": lambda: nn.GPT(3, 4, 4, 2, rng=0)(values(0, 2)),
    "mse": lambda: losses.mse(values(*ROW), values(*ROW)),
    "mae": lambda: losses.mae(values(*ROW), values(*ROW)),
    "huber": lambda: losses.huber(values(*ROW), values(*ROW), delta=0.1),
    "binary_cross_entropy": lambda: losses.binary_cross_entropy(values(*ROW), values(0, 1, 0, 1)),
    "cross_entropy": lambda: losses.cross_entropy([values(*ROW)], values(3)),
    "max_margin": lambda: losses.max_margin(values(*ROW), values(1, -1, 1, -1)),
    "l2": lambda: losses.l2(values(*ROW)),
}


def leaks(function):
    """How numbers left the graph while a function ran."""
    seen = []
    before = set_watch(lambda how, *_: seen.append(how), None)
    try:
        function()
    finally:
        set_watch(*before)
    return [how for how in seen if how not in RAISING]  # of these operators it is only told


@pytest.mark.parametrize("name", list(FORWARDS))
def test_no_number_leaves_the_graph(name):
    assert leaks(FORWARDS[name]) == []


def test_the_watch_would_see_one():
    x = Value(1.0)
    assert leaks(lambda: x > 0.0)
    assert leaks(lambda: float(x))
    assert leaks(lambda: x.data)
