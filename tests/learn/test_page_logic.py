"""The page's logic in node against Python: the same frames, the same gradients, the same orders, the same verdicts."""

from __future__ import annotations

import math
import random
from itertools import pairwise
from typing import Any

import pytest

from learn.in_node import needs_node, run_in_node
from micrograd.learn import frames, page, texts
from micrograd.learn.expression import parse
from micrograd.learn.lesson import PRESETS, judge, near
from micrograd.learn.orders import ORDERS
from micrograd.learn.orders import run as run_order
from micrograd.learn.sentences import show

pytestmark = needs_node
MODULES = ("graph", "orders", "judge", "numbers", "texts", "bugs", "groups", "link")

MORE = {
    "abs and relu": ("relu(a - b) * abs(c) + max(a, c)", {"a": -1.0, "b": 2.0, "c": 0.5}),
    "lists": ("sum([a, b, a]) * mean([a, b]) + dot([a, b], [b, c]) + prod([a, b, c]) + logsumexp([a, c])",
              {"a": 0.3, "b": -1.2, "c": 2.0}),
    "a quotient and powers": ("(a / b) ** 3 - 2 ** a + sqrt(b) + log(b) - a % b", {"a": 1.5, "b": 4.0}),
    "special numbers": ("log(a) * b + exp(c)", {"a": 0.0, "b": -1.0, "c": 800.0}),
    "a step behind a pole": ("sign(log(a)) * b + floor(sqrt(exp(log(a)))) + a * b", {"a": 0.0, "b": 2.0}),
    "one leaf": ("a", {"a": 5.0}),
    "a negation": ("-a * -b", {"a": 2.0, "b": -7.0}),
    "activations": ("gelu(a) + silu(b) + softplus(a*b) + elu(b) + leaky_relu(a)", {"a": 0.7, "b": -0.4}),
    "large and small": ("a * b * 1e-7 + a / 1e9", {"a": 1234567.0, "b": 0.03125}),
}  # fmt: skip
GRAPHS = {preset.key: (preset.expression, preset.values) for preset in PRESETS.values()} | MORE


def node(script: str, data: Any) -> Any:
    """What a script returns, in which the page's modules stand."""
    script = f"texts.useTexts(data.words, data.ideas);\ndata = data.given;\n{script}"
    data = {"given": data, "words": texts.current(), "ideas": texts.lesson()["ideas"]}
    return run_in_node(script, data, *(f"{name}.js" for name in MODULES))


def packed(line: Any) -> dict[str, Any]:
    return page.pack(line.nodes, line.frames if page.frozen(line.nodes) else None)


def timeline(key: str) -> Any:
    expression, values = GRAPHS[key]
    return frames(parse(expression).build(values), names={})


@pytest.mark.parametrize("key", GRAPHS)
def test_the_page_makes_the_frames_of_python_to_the_bit(key: str) -> None:
    line = timeline(key)
    got = node(
        """const g = graph.readGraph(data), n = graph.evaluate(g, {});
        return (graph.framesOf(g, n).map((f) => ({ ...f, ...graph.tell(g, n, f) })));""",
        packed(line),
    )
    wanted = [frame.as_dict() for frame in line]
    assert len(got) == len(wanted)
    for mine, theirs in zip(got, wanted):
        assert {name: mine.get(name) for name in theirs} == theirs


@pytest.mark.parametrize("key", [key for key in GRAPHS if key not in ("special numbers", "a step behind a pole")])
def test_moved_leaves_give_the_numbers_of_python(key: str) -> None:
    expression, values = GRAPHS[key]
    dice = random.Random(key)
    moved = {name: abs(x) + dice.uniform(0.1, 1.0) for name, x in values.items()}
    line = timeline(key)
    ids = {n.name: n.id for n in line.nodes}
    got = node(
        """const g = graph.readGraph(data.timeline), n = graph.evaluate(g, data.values);
        const f = graph.framesOf(g, n);
        const told = f.map((x) => graph.tell(g, n, x)), shown = graph.snapshots(g, f)(f.length).grads;
        const sentences = told.map((x) => x.sentence + " | " + x.spoken);
        const grads = orders.rightGradients(g, n.partials);
        const code = g.nodes.filter((x) => !x.constant).map((x) => graph.codeLine(g, n, x));
        return ({ data: n.data, grads, sentences, code, shown });""",
        {"timeline": packed(line), "values": {ids[name]: x for name, x in moved.items()}},
    )
    fresh = frames(parse(expression).build(moved), names={})
    assert got["data"] == pytest.approx([n.data for n in fresh.nodes], rel=1e-12)
    wanted = fresh.gradients()
    assert [g for g, w in zip(got["grads"], wanted) if w is not None] == pytest.approx(
        [w for w in wanted if w is not None], rel=1e-11, abs=1e-300
    )
    assert [g is None for g in got["shown"]] == [w is None for w in wanted]
    assert got["sentences"] == [f"{frame.sentence} | {frame.spoken}" for frame in fresh]
    assert got["code"] == fresh.code


@pytest.mark.parametrize("rule", ORDERS)
@pytest.mark.parametrize("key", [key for key in GRAPHS if key != "special numbers"])
def test_every_order_gives_the_gradients_faults_and_reasons_of_python(key: str, rule: str) -> None:
    line = timeline(key)
    wanted = run_order(line, rule)
    got = node(
        """const g = graph.readGraph(data.timeline), n = graph.evaluate(g, {});
        return (orders.runOrder(g, n.partials, orders.ORDERS[data.rule](g)));""",
        {"timeline": packed(line), "rule": rule},
    )
    assert got["visits"] == wanted.visits
    assert got["grads"] == pytest.approx(wanted.grads)
    assert (got["first"], got["reason"]) == (wanted.first, wanted.reason)
    assert [push["after"] for push in got["pushes"]] == pytest.approx([push.after for push in wanted.pushes])
    assert [(f["to"], f["slot"], f["fault"], f["reason"]) for f in got["flows"]] == [
        (f.node, f.slot, f.fault, f.reason) for f in wanted.flows
    ]


def test_the_order_lab_graph_gives_39_60_21_and_0() -> None:
    got = node(
        """const g = graph.readGraph(data), n = graph.evaluate(g, {});
        return (Object.values(orders.ORDERS).map((order) => orders.runOrder(g, n.partials, order(g)).grads[0]));""",
        packed(timeline("order")),
    )
    assert got == [39, 60, 21, 0]


def test_orders_of_the_learner_are_judged_as_python_judges_them() -> None:
    dice = random.Random(7)
    asked, wanted = [], []
    for key in ("order", "diamond", "neuron", "network", "softmax"):
        line = timeline(key)
        ids = [n.id for n in line.nodes]
        for _ in range(12):
            order = [dice.choice(ids) for _ in range(dice.randint(0, len(ids) + 3))]
            asked.append({"timeline": packed(line), "order": order})
            wanted.append([(f.fault, f.reason) for f in run_order(line, order).flows])
    got = node(
        """return (data.map(({ timeline, order }) => {
          const g = graph.readGraph(timeline);
          return orders.runOrder(g, graph.evaluate(g, {}).partials, order).flows.map((f) => [f.fault, f.reason]);
        }));""",
        asked,
    )
    assert [[tuple(f) for f in flows] for flows in got] == wanted


@pytest.mark.parametrize("key", [key for key in GRAPHS if key not in ("special numbers", "a step behind a pole")])
def test_answers_are_met_by_the_same_misconception_as_in_python(key: str) -> None:
    line = timeline(key)
    asked, wanted = [], []
    for k, frame in enumerate(line):
        if frame.kind != "backward":
            continue
        node_, target = line.nodes[frame.node], line.nodes[frame.input or 0]
        assert frame.product is not None and frame.before is not None and frame.local is not None
        up, x = frame.upstream or 0.0, target.data
        said = {frame.after, frame.product, frame.local, up, frame.before + frame.local, x, node_.data, 1234.5, 0.0}
        said |= {frame.before + x * up, (1 - x**2) * up, -(frame.after or 0.0)}
        for x in sorted(said):
            asked.append([k, x])
            verdict = judge(line, frame, x)
            wanted.append([verdict.right, verdict.key, verdict.text])
    got = node(
        """const g = graph.readGraph(data.timeline), n = graph.evaluate(g, {}), f = graph.framesOf(g, n);
        const judged = data.asked.map(([k, x]) => judge.judge(g, n, f[k], x));
        return (judged.map((v) => [v.right, v.key, v.text]));""",
        {"timeline": packed(line), "asked": asked},
    )
    assert got == wanted


def test_numbers_read_as_in_python() -> None:
    dice = random.Random(3)
    numbers = [
        0.0,
        -0.0,
        1.0,
        -3.0,
        0.5,
        1 / 32,
        3 / 32,
        5 / 32,
        0.7071067811865476,
        12345.678,
        1e6,
        999999.99999,
        1.7976931348623157e308,  # four digits of it, rounded up, are beyond the largest double
        -1.7976931348623157e308,
        1e-4,
        0.00999999,
        123456789.0,
        1000.125,
        1000.375,
        1234500.0,
        2**-20,
    ]
    numbers += [dice.uniform(-1, 1) * 10 ** dice.randint(-8, 9) for _ in range(3000)] + [
        k / 64 for k in range(-400, 400)
    ]
    assert node("return (data.map(numbers.show));", numbers) == [show(x) for x in numbers]


def test_answers_are_near_as_in_python() -> None:
    rng = random.Random(7)
    wanted = [rng.choice([1, -1]) * rng.uniform(1, 10) * 10 ** rng.randint(-6, 6) for _ in range(200)]
    wanted += [1 / 3, -2 / 3, 0.009866, 39.0, 176.0, 1.88, 1e-300, 5e-324, 1.7e307, 0.30333]
    pairs = [(float(f"{x:.{k}g}") * f, x) for x in wanted for k in (1, 2, 3, 4, 9) for f in (1, -1, 1.01, 0.99)]
    assert node("return data.map(([a, b]) => judge.near(a, b));", pairs) == [near(a, b) for a, b in pairs]
    assert len({near(a, b) for a, b in pairs}) == 2


def test_a_nudge_agrees_with_the_gradient() -> None:
    got = node(
        """const g = graph.readGraph(data), n = graph.evaluate(g, {}), right = orders.rightGradients(g, n.partials);
        return (graph.leavesOf(g).map((leaf) => [graph.nudge(g, {}, leaf.id, 1e-4).slope, right[leaf.id]]));""",
        packed(timeline("network")),
    )
    assert len(got) == 12
    for slope, grad in got:
        assert slope == pytest.approx(grad, abs=1e-6)


def test_each_bug_does_what_it_says() -> None:
    got = node(
        """const found = {};
        for (const [key, name] of [["square", "assign"], ["square", "zero"], ["product", "own"], ["product", "upstream"],
            ["neuron", "tanh"], ["product", "assign"], ["softmax", "log"], ["softmax", "neg"]]) {
          const g = graph.readGraph(data[key]), n = graph.evaluate(g, {});
          const idea = texts.ideas().find((one) => one.key === name), { right, wrong } = bugs.runBug(g, n, idea);
          const told = wrong.pushes.map((push) => graph.tell(g, n, { ...push, kind: "backward" }).sentence);
          found[`${key} ${name}`] = { grads: wrong.grads, right: right.grads, first: wrong.first, reason: wrong.reason, told,
            shows: bugs.showsOn(g, n, idea) };
        }
        return (found);""",
        {key: packed(timeline(key)) for key in ("square", "product", "neuron", "softmax")},
    )
    names = {n.name: n.id for n in timeline("product").nodes}
    assert got["square assign"]["grads"][0] == 3 and got["square assign"]["right"][0] == 6
    assert got["square assign"]["first"] == 1 and "held 3 already" in got["square assign"]["reason"]
    assert got["square assign"]["told"][1] == "a.grad = a.data * b.grad → (3)(1) = 3"
    assert got["square zero"]["grads"][0] == 12 and got["square zero"]["right"][0] == 6
    assert got["product own"]["grads"][names["c"]] == 10 and got["product own"]["grads"][names["a"]] == -1
    assert got["product upstream"]["grads"][names["a"]] == 1
    assert got["product upstream"]["told"][-1] == "b.grad += 1 → 0 + 1 = 1"
    assert (
        not got["product assign"]["shows"]["shows"] and "No node is used twice" in got["product assign"]["shows"]["why"]
    )
    n = next(n for n in timeline("neuron").nodes if n.name == "n")
    assert got["neuron tanh"]["grads"][n.id] == pytest.approx(1 - n.data**2)
    assert got["softmax log"]["shows"]["shows"] and got["softmax neg"]["shows"]["shows"]


def test_every_bug_of_the_lesson_shows_on_some_preset() -> None:
    presets = {key: packed(timeline(key)) for key in PRESETS}
    got = node(
        """const all = Object.values(data).map(graph.readGraph);
        const shows = (g, idea) => bugs.showsOn(g, graph.evaluate(g, {}), idea).shows;
        return (bugs.bugsFor(all).map((idea) => [idea.key, all.some((g) => shows(g, idea))]));""",
        presets,
    )
    assert all(shows for _, shows in got), got
    assert {"assign", "zero", "upstream", "own", "tanh"} <= {key for key, _ in got}


def test_a_large_graph_is_a_tree_of_boxes_in_which_every_node_is_reached() -> None:
    from micrograd import Value, nn

    model = nn.MLP(2, [8, 8, 1])
    loss = sum((model([Value(float(k)), Value(1.0)]) - 1.0) ** 2 for k in range(60))
    line = frames(loss, names={})
    assert len(line.nodes) > 2000
    got = node(
        """const g = graph.readGraph(data), tree = groups.buildTree(g);
        const widest = (item) => Math.max(item.children.length, ...item.children.map(widest), 0);
        const nodes = (item) => item.node >= 0 ? [item.node] : item.children.flatMap(nodes);
        const all = [];
        const keys = (item) => {
          if (item.key) all.push(item.key);
          item.children.filter((c) => c.node < 0).forEach(keys);
        };
        keys(tree);
        const closed = groups.placeGroups(g, tree, new Set()), open = groups.placeGroups(g, tree, new Set(all));
        const path = groups.boxesOf(tree, g.root - 5);
        const there = groups.placeGroups(g, tree, new Set(path));
        return ({ widest: widest(tree), nodes: nodes(tree).sort((a, b) => a - b),
          closed: closed.groups.length + closed.boxes.length,
          shown: open.boxes.length, rects: open.boxes.map((b) => b.card), titles: closed.groups.map((b) => b.item.title),
          unique: new Set(all).size === all.length, seen: there.boxes.some((b) => b.id === g.root - 5) });""",
        page.pack(line.nodes),
    )
    assert got["nodes"] == list(range(len(line.nodes))) and got["shown"] == len(line.nodes)
    assert got["widest"] <= 24 and got["closed"] <= 24 and got["unique"] and got["seen"]
    assert {"layer 0", "layer 1", "layer 2"} <= set(got["titles"])
    cards = sorted(got["rects"], key=lambda r: (r["x"], r["y"]))
    by_column: dict[float, list[Any]] = {}
    for card in cards:
        by_column.setdefault(card["x"] + card["w"], []).append(card)
    for column in by_column.values():
        column.sort(key=lambda r: r["y"])
        assert all(a["y"] + a["h"] <= b["y"] for a, b in pairwise(column))


def test_a_link_comes_back_to_its_state() -> None:
    states: list[dict[str, Any]] = [
        {"graph": "order", "values": {"a": -2.5}, "step": 7, "predict": True, "lab": None, "tab": "bugs", "boxes": []},
        {
            "graph": "own",
            "values": {},
            "step": 3,
            "predict": False,
            "lab": {"order": "naive"},
            "tab": "order",
            "boxes": [],
        },
        {
            "graph": "x",
            "values": {},
            "step": 1,
            "predict": False,
            "lab": {"order": ["d", "x[0]"]},
            "boxes": ["/MLP/a&b"],
        },
        {
            "graph": "square",
            "values": {"w_1": 1e-9},
            "step": 0,
            "predict": False,
            "lab": {"bug": "assign"},
            "boxes": [],
        },
    ]
    got = node("return (data.map((state) => link.decode(link.encode(state))));", states)
    for mine, state in zip(got, states):
        assert {key: mine.get(key) for key in state} == state
    broken = node("return (data.map(link.decode));", ["#step=-3", "#open={", "#v.a=zz&step=1e999", "#&&&", ""])
    assert [state["step"] for state in broken] == [0, 0, 1e9, 0, 0]
    assert all(state["values"] == {} for state in broken)


def test_what_only_python_can_run_keeps_its_numbers() -> None:
    from micrograd import Value

    a, b = Value(2.0, label="a"), Value(-3.0, label="b")
    out = Value(a.data * b.data, (a, b), "*", label="out")

    def backward() -> None:
        a.grad += b.data * out.grad
        b.grad += a.data * out.grad

    out._backward = backward  # type: ignore[method-assign]
    line = frames(out)
    row = packed(line)
    assert row["frozen"] == "*"
    got = node(
        """const g = graph.readGraph(data), f = graph.framesOf(g, graph.evaluate(g, {}));
        return (f.map((x) => [graph.tell(g, {}, x).sentence, x.after]));""",
        row,
    )
    assert [sentence for sentence, _ in got] == [frame.sentence for frame in line]
    assert math.isclose(got[-1][1], 2.0)
