"""The layout: nothing overlaps, nothing flows backward, and the same graph is always drawn the same."""

import itertools
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from micrograd import Value
from micrograd.learn import frames
from micrograd.learn.layout import MAX_NODES, Box, GraphTooLarge, place
from micrograd.learn.lesson import PRESETS


@st.composite
def boxes(draw):
    """A random graph of boxes in which every box is behind the last."""
    count = draw(st.integers(1, 24))
    inputs = []
    for i in range(count):
        inputs.append([] if i == 0 else draw(st.lists(st.integers(0, i - 1), max_size=4)))
    used = {j for ids in inputs for j in ids}
    inputs[-1] += [i for i in range(count - 1) if i not in used]
    sizes = [Box(draw(st.integers(30, 200)), draw(st.integers(20, 90)), 32.0 if ids else 0.0) for ids in inputs]
    return sizes, inputs


def overlap(a, b, gap=20):
    """Whether two boxes overlap or stand nearer than the gap."""
    a = {"x": a["x"] - gap / 2, "y": a["y"] - gap / 2, "w": a["w"] + gap, "h": a["h"] + gap}
    b = {"x": b["x"] - gap / 2, "y": b["y"] - gap / 2, "w": b["w"] + gap, "h": b["h"] + gap}
    return (
        a["x"] < b["x"] + b["w"] and b["x"] < a["x"] + a["w"] and a["y"] < b["y"] + b["h"] and b["y"] < a["y"] + a["h"]
    )


def inside(point, box):
    x, y = point[0] - box["x"], point[1] - box["y"]
    return 0.02 < x < box["w"] - 0.02 and 0.02 < y < box["h"] - 0.02  # coordinates are rounded to 0.01


def along_the_path(points, along):
    """Points of the curve that `path` draws: the cubic with level ends between each pair."""
    for (x0, y0), (x1, y1) in itertools.pairwise(points):
        for t in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0):
            ease, even = t * t * (3 - 2 * t), 1.5 * t - 1.5 * t * t + t**3
            s, r = (even, ease) if along == 0 else (ease, even)
            yield x0 + (x1 - x0) * s, y0 + (y1 - y0) * r


def check(picture, inputs):
    nodes, down = picture["nodes"], picture["rankdir"] == "TB"
    along, across = (1, 0) if down else (0, 1)
    for a, b in itertools.combinations(nodes.values(), 2):
        assert not overlap(a, b)
    for box in nodes.values():
        assert box["x"] >= 0 and box["x"] + box["w"] <= picture["width"] + 0.01
        assert box["y"] >= 0 and box["y"] + box["h"] <= picture["height"] + 0.01
        for part in ("card", "op"):
            if part in box:
                assert (
                    box["x"] - 0.01 <= box[part]["x"] and box[part]["x"] + box[part]["w"] <= box["x"] + box["w"] + 0.01
                )
                assert (
                    box["y"] - 0.01 <= box[part]["y"] and box[part]["y"] + box[part]["h"] <= box["y"] + box["h"] + 0.01
                )
    edges = {(e["to"], e["slot"]): e for e in picture["edges"]}
    assert {key: e["from"] for key, e in edges.items()} == {
        (i, k): j for i, ids in enumerate(inputs) for k, j in enumerate(ids)
    }
    for edge in picture["edges"]:
        places = [p[along] for p in edge["points"]]
        assert places == sorted(places) and places[0] < places[-1]  # never backward
        for point in along_the_path(edge["points"], along):
            assert not any(inside(point, box) for box in nodes.values())
    for i, ids in enumerate(inputs):  # operands arrive in their order
        ends = [edges[i, k]["points"][-1][across] for k in range(len(ids))]
        assert ends == sorted(set(ends))
    paths = [e["path"] for e in picture["edges"]]
    assert len(set(paths)) == len(paths)  # parallel edges can be told apart


@pytest.mark.parametrize("rankdir", ["LR", "TB"])
@settings(max_examples=60, deadline=None)
@given(boxes())
def test_random_graphs_have_no_overlaps_and_no_backward_edges(rankdir, graph):
    sizes, inputs = graph
    check(place(sizes, inputs, rankdir), inputs)


@pytest.mark.parametrize("rankdir", ["LR", "TB"])
@pytest.mark.parametrize("key", PRESETS)
def test_presets_are_laid_out_well(key, rankdir):
    timeline = PRESETS[key].timeline()
    timeline.rankdir = rankdir
    check(timeline.layout(), [node.inputs for node in timeline.nodes])


def test_the_same_graph_is_drawn_the_same():
    rng = random.Random(0)
    inputs = [[rng.randrange(i) for _ in range(2)] if i else [] for i in range(60)]
    sizes = [Box(100, 60, 32.0 if ids else 0.0) for ids in inputs]
    assert place(sizes, inputs) == place(sizes, inputs)


def test_a_tree_has_no_crossings_and_operands_stand_in_their_order():
    a, b, c, d = (Value(x, label=n) for x, n in ((1.0, "a"), (2.0, "b"), (3.0, "c"), (4.0, "d")))
    timeline = frames((a + b) * (c + d))
    top = {node.name: timeline.layout()["nodes"][str(node.id)]["y"] for node in timeline.nodes}
    assert top["a"] < top["b"] < top["c"] < top["d"]


def test_two_edges_of_a_square_run_side_by_side():
    a = Value(3.0)
    first, second = frames(a * a).layout()["edges"]
    assert [first["from"], first["to"]] == [second["from"], second["to"]]
    gaps = [q[1] - p[1] for p, q in zip(first["points"], second["points"])]
    assert min(gaps) >= 8


def test_leaves_stand_next_to_their_use():
    a, b, c = Value(1.0), Value(2.0), Value(3.0)
    late = ((a * b).tanh().exp() + 1).tanh() * c
    timeline = frames(late)
    boxes = timeline.layout()["nodes"]
    place_of = {node.name: boxes[str(node.id)]["x"] for node in timeline.nodes}
    assert place_of["c"] > place_of["a"] + 300


def test_too_large_a_graph_is_refused_with_the_way_out():
    with pytest.raises(GraphTooLarge, match="collapsed"):
        place([Box(10, 10)] * (MAX_NODES + 1), [[i - 1] if i else [] for i in range(MAX_NODES + 1)])
    star = [[]] + [[i - 1, 0] if i > 1 else [0] for i in range(1, 400)]
    with pytest.raises(GraphTooLarge, match="span too many layers"):
        place([Box(10, 10)] * len(star), star)


def test_an_unknown_direction_is_refused():
    with pytest.raises(ValueError, match="rankdir"):
        place([Box(10, 10)], [[]], "BT")
