"""What the theatre plays: a model, its data, its loss and its optimizer, as plain data that the page can train.

The graph of the loss of one data point is packed once for each class of targets. The page runs that graph over all points,
so it trains with the same operations in the same order as the engine, and any point's graph can be opened on the stage.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite
from typing import Any

from micrograd import losses, optim
from micrograd.engine import Value
from micrograd.errors import MicrogradError
from micrograd.learn import page
from micrograd.learn.frames import number
from micrograd.learn.nodes import Node, read
from micrograd.nn import MLP, Sequential
from micrograd.nn.mlp import Layer
from micrograd.ops import OPS

MAX_NODES = 4000  # of the graph of one point: some 50 ms for a step over 100 points in a browser
MAX_POINTS = 2000
MAX_CLASSES = 10
FLAT = 60  # nodes up to which the graph of a point is drawn whole; a larger one opens as boxes
OPTIMIZERS = (optim.SGD, optim.Adam, optim.AdamW)  # whose rules the page has


def scene(
    model: Any,
    data: tuple[Sequence[Any], Sequence[Any]],
    loss: Callable[[Any, Any], Any] | None = None,
    optimizer: optim.Optimizer | None = None,
    *,
    penalty: Callable[[], Any] | None = None,
    lr: float = 0.1,
    steps: int = 0,
    zeroes: bool = True,
    key: str = "own",
    title: str = "",
) -> dict[str, Any]:
    """Pack a run so that the page can train it.

    >>> from micrograd import data, nn
    >>> from micrograd.learn.scene import scene
    >>> one = scene(nn.MLP(2, [4, 1], rng=0), data.moons(20), lr=0.5)
    >>> one["shape"], len(one["start"]), one["rate"]
    ([2, 4, 1], 17, 0.5)
    """
    X, y = _points(data)
    loss = _loss(model, X, y) if loss is None else loss
    parameters = list(model.parameters()) if hasattr(model, "parameters") else []
    if not parameters:
        raise MicrogradError("watch needs a model with parameters(), such as nn.MLP; this one has none to train.")
    network, values = _network(model, parameters)
    targets = sorted(set(y))
    classes = targets if len(targets) <= MAX_CLASSES else None
    wanted: list[float | None] = [*classes] if classes else [None]
    graphs = [_graph(model, X, y, loss, parameters, values, target) for target in wanted]
    outputs = len(graphs[0]["outputs"])
    made = {
        "key": key,
        "title": title,
        "graphs": graphs,
        "network": network,
        "shape": None if network is None else [len(X[0]), *(len(layer) for layer in network)],
        "start": [number(p.data) for p in parameters],
        "points": [[xs, t] for xs, t in zip(X, y)],
        "classes": _classes(classes, outputs),
        "reduction": "mean",
        "penalty": None if penalty is None else _penalty(penalty(), parameters),
        "optimizer": _optimizer(optimizer, parameters),
        "rate": _rates(optimizer, lr, steps),
        "zeroes": zeroes,
    }
    made["reduction"] = _reduction(model, X, y, loss, penalty, made, parameters)
    return made


def rules() -> dict[str, dict[str, Any]]:
    """The optimizers of the playground, packed as those of a scene."""
    one = [Value(0.0)]
    return {
        "sgd": _optimizer(optim.SGD(one, lr=0.1), one),
        "momentum": _optimizer(optim.SGD(one, lr=0.1, momentum=0.9), one),
        "adam": _optimizer(optim.Adam(one, lr=0.1), one),
    }


# Every op of which the playground makes a graph.
PLAYGROUND = frozenset({"abs", "add", "dot", "gelu", "logsumexp", "mean", "mul", "neg", "relu", "sigmoid", "silu", "sin",
                        "softplus", "sub", "sum", "tanh"})  # fmt: skip


def used(scenes: list[dict[str, Any]]) -> frozenset[str]:
    """The ops that the page needs for these scenes."""
    graphs = [graph for one in scenes for graph in (*one["graphs"], one["penalty"]) if graph]
    return frozenset(
        {"mean", "sum", *(node["op"] for graph in graphs for node in graph["timeline"]["nodes"] if "op" in node)}
    )


def _points(data: Any) -> tuple[list[list[float]], list[float]]:
    try:
        X, y = data
        inputs = [[float(x) for x in xs] for xs in X]
        targets = [float(t) for t in y]
    except (TypeError, ValueError):
        raise MicrogradError(
            "watch takes data as (inputs, targets): a list of points, such as [[0.5, 1.0], ...], and as many numbers."
        ) from None
    if len(inputs) != len(targets) or not inputs:
        raise MicrogradError(f"watch was given {len(inputs)} points and {len(targets)} targets: each point has one.")
    if len(inputs) > MAX_POINTS:
        raise MicrogradError(
            f"the theatre shows at most {MAX_POINTS:,} points, and these are {len(inputs):,}: pass it a part of them."
        )
    if any(not isfinite(x) for xs in inputs for x in xs) or any(not isfinite(t) for t in targets):
        raise MicrogradError("the data hold a number that is not finite, which cannot be drawn.")
    if len({len(xs) for xs in inputs}) != 1:
        raise MicrogradError("the points have different numbers of coordinates.")
    return inputs, [int(t) if t == int(t) else t for t in targets]


def _loss(model: Any, X: list[list[float]], y: list[float]) -> Callable[[Any, Any], Any]:
    """The loss that suits the outputs and the targets."""
    out = model(X[0])
    if isinstance(out, (list, tuple)) and len(out) > 1:
        return losses.cross_entropy
    if set(y) <= {-1, 1}:
        return losses.max_margin
    return losses.binary_cross_entropy if set(y) <= {0, 1} else losses.mse


def _classes(targets: list[float] | None, outputs: int) -> list[float]:
    """The classes in the order of the outputs; for one output, what it stands for at or below 0, and above."""
    if outputs > 1:
        return list(range(outputs))
    if targets is None or len(targets) > 2:
        return [-1, 1]
    low = min(targets)
    return [low, max(targets)] if len(targets) == 2 else [low, low + 1] if low <= 0 else [low - 1, low]


def _network(model: Any, parameters: list[Value]) -> tuple[list[list[dict[str, Any]]] | None, dict[str, Value]]:
    """Layers of neurons, each with the places of its weights and its bias; and a name for every parameter."""
    parts = model.layers if isinstance(model, MLP) else list(model) if isinstance(model, Sequential) else []
    place = {id(p): k for k, p in enumerate(parameters)}
    names: dict[str, Value] = {}
    layers: list[list[dict[str, Any]]] = []
    for part in parts:
        if not isinstance(part, Layer):
            layers = []
            break
        rows = []
        for j, neuron in enumerate(part.neurons):
            weights = [place.get(id(w), -1) for w in neuron.w]
            for i, w in enumerate(neuron.w):
                names[f"w{len(layers)}_{j}_{i}"] = w
            names[f"b{len(layers)}_{j}"] = neuron.b
            rows.append({"weights": weights, "bias": place.get(id(neuron.b), -1), "activation": neuron.activation})
        layers.append(rows)
    if not layers:
        names = {f"p{k}": p for k, p in enumerate(parameters)}
    return layers or None, names


def _graph(
    model: Any,
    X: list[list[float]],
    y: list[float],
    loss: Any,
    parameters: list[Value],
    names: dict[str, Value],
    target: float | None,
) -> dict[str, Any]:
    """The graph of the loss of one point, and which of its nodes are what."""
    row = next((k for k, t in enumerate(y) if t == target), 0)
    x = [Value(value) for value in X[row]]
    wanted = Value(float(y[row])) if target is None else target
    scores = model(x)
    with losses.one_formula():  # the page runs this graph at every step
        root = loss([scores], [wanted])
    if not isinstance(root, Value):
        raise MicrogradError(
            f"the loss of a point is not a Value but {type(root).__name__}, so it has no graph to show."
        )
    if root._op in ("mean", "sum") and len(root._prev) == 1:
        root = root._prev[0]
    outputs = list(scores) if isinstance(scores, (list, tuple)) else [scores]
    given = {f"x{k}": v for k, v in enumerate(x)} | dict(names)
    given |= {"y": wanted} if isinstance(wanted, Value) else {}
    given |= {"s" if len(outputs) == 1 else f"s{k}": v for k, v in enumerate(outputs)} | {"L": root}
    nodes = read(root, given)
    if len(nodes) > MAX_NODES:
        raise MicrogradError(
            f"the graph of one point has {len(nodes):,} nodes, and the theatre runs at most {MAX_NODES:,}: "
            "watch a smaller model."
        )
    if stranger := page.frozen(nodes):
        raise MicrogradError(f"the page has no rule for {stranger!r}, so it cannot run this model.")
    place = {id(node.value): node.id for node in nodes}
    return {
        "timeline": page.pack(nodes, flat=FLAT),
        "target": target,
        "x": [place.get(id(v), -1) for v in x],
        "y": place.get(id(wanted), -1) if isinstance(wanted, Value) else -1,
        "parameters": [place.get(id(p), -1) for p in parameters],
        "outputs": [place.get(id(v), -1) for v in outputs],
        "neurons": _neurons(nodes),
    }


def _neurons(nodes: list[Node]) -> list[int]:
    """The node that each neuron of the hidden layers hands on: the last one that it made. In the order of the layers."""
    last: dict[tuple[str, ...], int] = {}
    for node in nodes:
        if node.inputs and node.scope and node.scope[-1].startswith("neuron "):
            last[node.scope] = node.id
    return [
        last[scope]
        for scope in sorted(
            last, key=lambda scope: [int(part.split()[-1]) if part.split()[-1].isdigit() else 0 for part in scope]
        )
    ]


def _penalty(root: Any, parameters: list[Value]) -> dict[str, Any]:
    nodes = read(root, {})
    if stranger := page.frozen(nodes):
        raise MicrogradError(f"the page has no rule for {stranger!r}, so it cannot run this penalty.")
    place = {id(node.value): node.id for node in nodes}
    ids = [place.get(id(p), -1) for p in parameters]
    packed = page.pack(nodes, flat=0)
    return {"timeline": packed, "target": None, "x": [], "y": -1, "parameters": ids, "outputs": [], "neurons": []}


def _optimizer(optimizer: optim.Optimizer | None, parameters: list[Value]) -> dict[str, Any]:
    """The rule that the page goes on with, and its settings; plain SGD for an optimizer that it does not have."""
    groups = optimizer.groups if optimizer is not None and type(optimizer) in OPTIMIZERS else []
    known = len(groups) == 1 and [*map(id, groups[0].parameters)] == [*map(id, parameters)]
    one: Any = optimizer if known else optim.SGD(parameters, lr=0.1)
    settings = one.groups[0].settings
    return {
        "rule": one._rule(settings).name,
        "settings": one._fixed(dict(settings)),
        "name": type(one).__name__,
        "own": known,
    }


def _rates(optimizer: optim.Optimizer | None, lr: float, steps: int) -> float | list[float]:
    """The learning rate; where a schedule moves it, that of every step."""
    if optimizer is None:
        return lr
    schedule = optimizer._schedule
    rates = [float(schedule(k)) for k in range(max(steps, 1))]
    return rates[0] if len(set(rates)) == 1 else rates


def _run(packed: dict[str, Any], parameters: list[float], xs: list[float], y: float) -> float:
    """Run a packed graph for one point, by the op table."""
    data: list[float] = []
    special = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}
    given = dict(zip(packed["parameters"], parameters)) | dict(zip(packed["x"], xs)) | {packed["y"]: float(y)}
    for k, node in enumerate(packed["timeline"]["nodes"]):
        if "inputs" not in node:
            held = given.get(k, node["data"])
            data.append(special[held] if isinstance(held, str) else float(held))
            continue
        op = OPS[node["op"]]
        args = [data[i] for i in node["inputs"]]
        data.append(float(op.value(args) if op.arity < 0 else op.value(*args)))
    return data[-1]


def _reduction(
    model: Any, X: Any, y: Any, loss: Any, penalty: Any, made: dict[str, Any], parameters: list[Value]
) -> str:
    """How the losses of the points make up the loss of all: measured, with the model's parameters and with others.

    The other parameters find a number that was read from a parameter and is not part of the graph, such as `w.detach()`.
    """
    some = list(range(0, len(X), max(1, len(X) // 24)))
    xs, ys = [X[k] for k in some], [y[k] for k in some]
    held = [p.data for p in parameters]
    ways = {"mean", "sum"}
    try:
        for shift in (0.0, 0.01):
            for k, p in enumerate(parameters):
                p.data = held[k] + shift * (k % 7 - 3.5)
            ways &= _ways(model, xs, ys, loss, made, parameters)
            if penalty is not None and not _near(
                _run(made["penalty"], [p.data for p in parameters], [], 0.0), penalty()
            ):
                raise MicrogradError(
                    "the penalty reads numbers that are not part of its graph: use the parameters themselves."
                )
    finally:
        for p, x in zip(parameters, held):
            p.data = x
    for way in ("mean", "sum"):
        if way in ways:
            return way
    raise MicrogradError(
        "the loss of these points is neither the mean nor the sum of the losses of single points, or the model takes "
        "another path for other points, so the page cannot train it.\n  Use a loss of micrograd.losses, and keep random "
        "choices, branches on numbers and detach() out of the model."
    )


def _ways(model: Any, xs: Any, ys: Any, loss: Any, made: dict[str, Any], parameters: list[Value]) -> set[str]:
    """Whether the mean or the sum of the packed graphs gives the loss of the model, with its present parameters."""
    whole = loss([model(x) for x in xs], ys)
    held = [p.data for p in parameters]
    graphs = {graph["target"]: graph for graph in made["graphs"]}
    each = [_run(graphs[t if t in graphs else None], held, x, t) for x, t in zip(xs, ys)]
    found = {"mean": sum(each) / len(each), "sum": sum(each)}
    return {way for way, got in found.items() if _near(got, whole)}


def _near(got: float, found: Any) -> bool:
    """Whether a number is that of a Value, but for rounding."""
    wanted = float(found)
    same = got == wanted or (got != got and wanted != wanted)
    return same or abs(got - wanted) <= 1e-9 * max(1.0, abs(wanted))
