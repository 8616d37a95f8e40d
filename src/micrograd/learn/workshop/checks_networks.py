"""The checks of exercises 13 to 20 and the milestones: networks, training, softmax, attention."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from micrograd import Value, losses, optim
from micrograd.learn.workshop.boundary import boundary
from micrograd.learn.workshop.messages import say
from micrograd.learn.workshop.programs import Fault, Idea, compare, difference, number, require, show

Load = Callable[[str], Any]


def e13_neuron(load: Load) -> None:
    """n weights and one bias, all of them in use."""
    module, rng = load("e13_neuron"), random.Random(13)
    for n in (3, 5, 1):
        neuron = module.Neuron(n)
        count = len(neuron.parameters())
        if count == n:
            raise Fault(
                say("Neuron({n}) has {n} parameters: the bias is not in parameters(), so it never learns.", n=n)
            )
        message = say(
            "Neuron({n}) has {count} parameters, should have {more}: {n} weights and one bias for the whole neuron.",
            n=n,
            count=count,
            more=n + 1,
        )
        require(count == n + 1, message)
        twins = say("the weights are all equal, so neurons stay equal for ever: draw each one at random.")
        require(n == 1 or len({w.data for w in neuron.w}) == n, twins)
        xs = [number(rng) / 4 for _ in range(n)]
        for active in (True, False):
            neuron = module.Neuron(n, active)
            neuron.b.data = 0.3
            total = sum(w.data * x for w, x in zip(neuron.w, xs)) + 0.3
            ideas: list[Idea] = [
                (math.tanh(total - 0.3) if active else total - 0.3, say("the bias is not added.")),
                (total if active else math.tanh(total), say("tanh belongs there when active is True, and only then.")),
                (
                    math.tanh(total + 0.3 * (n - 1)) if active else total + 0.3 * (n - 1),
                    say("the bias is added once per input."),
                ),
            ]
            out = neuron(xs)
            graph = {**{f"w{k}": w for k, w in enumerate(neuron.w)}, "b": neuron.b, "out": out}
            want = math.tanh(total) if active else total
            compare(say("Neuron({n}, {active}) at {xs}", n=n, active=active, xs=xs), out.data, want, ideas, graph=graph)
        try:
            neuron(xs + [1.0])
        except ValueError:
            continue
        raise Fault(
            say(
                "a neuron with {n} weights was called with {more} inputs, and zip raised no error. "
                "Compare the lengths and raise ValueError.",
                n=n,
                more=n + 1,
            )
        )


def e14_mlp(load: Load) -> None:
    """Sizes, parameters, the last layer, and a gradient for every parameter."""
    module = load("e14_mlp")
    layer = module.Layer(3, 4)
    require(len(layer([1.0, 2.0, 3.0])) == 4, say("Layer(3, 4) must give a list of four Values."))
    net = module.MLP(3, [4, 4, 1])
    count = len(net.parameters())
    if count != 41:
        why = {
            5: say("those of the last layer only"),
            3: say("one entry per layer: make one flat list"),
            9: say("one entry per neuron: make one flat list"),
        }.get(count, say("count (inputs + 1) * neurons for each layer"))
        raise Fault(
            say("MLP(3, [4, 4, 1]) has {count} parameters, should have 16 + 20 + 5 = 41 ({why}).", count=count, why=why)
        )
    random.seed(14)
    net = module.MLP(2, [3, 1])
    out = net([0.5, -1.5])
    message = say("a network with one output gave {out}: return the Value itself, not a list of one.", out=show(out))
    require(hasattr(out, "backward"), message)
    require(len(module.MLP(2, [3, 2])([0.5, 1.0])) == 2, say("MLP(2, [3, 2]) must give a list of two Values."))
    for p in net.layers[-1].parameters():
        p.data = 3.0
    require(abs(net([2.0, 2.0]).data) > 1 or abs(net([-2.0, 1.0]).data) > 1, say("The last layer must not be active."))
    net = module.MLP(2, [3, 1])
    for p in net.parameters():
        p.data = p.data + 0.1
    hidden = [math.tanh(sum(w.data * x for w, x in zip(n.w, [0.5, -1.5])) + n.b.data) for n in net.layers[0].neurons]
    last = net.layers[-1].neurons[0]
    want = sum(w.data * h for w, h in zip(last.w, hidden)) + last.b.data
    plain = math.tanh(want)
    out = net([0.5, -1.5])
    compare("MLP(2, [3, 1])", out.data, want, [(plain, say("the last layer must not be active."))], graph={"out": out})
    out.backward()
    for n, p in enumerate(net.parameters()):
        if p.grad == 0:
            graph = {**{f"p{m}": one for m, one in enumerate(net.parameters())}, "out": out}
            raise Fault(say("A parameter gets no gradient: is every layer used?"), (), graph, f"p{n}")


def e15_loss(load: Load) -> None:
    """The mean of the squares, written once."""
    mse, make, rng = load("e15_loss").mse, load("e11_tanh_relu").Value, random.Random(15)
    for n in (3, 4, 7):
        xs, ys = [number(rng) for _ in range(n)], [number(rng) for _ in range(n)]
        outs = [make(x) for x in xs]
        total = sum((x - y) ** 2 for x, y in zip(xs, ys))
        loss = mse(outs, ys)
        require(
            isinstance(loss, make),
            say("mse gave {loss}. Compute with Values, so that gradients can flow.", loss=show(loss)),
        )
        ideas: list[Idea] = [
            (total, say("that is the sum. The mean divides by the number of targets.")),
            (total / n / n, say("it is divided by the number of targets twice.")),
            (sum(x - y for x, y in zip(xs, ys)) / n, say("the differences are not squared, so they cancel.")),
            (
                sum(abs(x - y) for x, y in zip(xs, ys)) / n,
                say("that is the mean of absolute differences: square them."),
            ),
        ]
        graph = {**{f"out{k}": one for k, one in enumerate(outs)}, "L": loss}
        compare(say("mse of {n} outputs", n=n), loss.data, total / n, ideas, graph=graph)
        loss.backward()
        for i, out in enumerate(outs):
            compare(say("the gradient of an output"), out.grad, 2 * (xs[i] - ys[i]) / n, [], 1e-6, graph, f"out{i}")


def e16_step(load: Load) -> None:
    """Step for step the same as gradient descent."""
    step, make = load("e16_step").step, load("e11_tanh_relu").Value
    lr, target = 0.1, 3.0
    w, v = make(0.0), make(1.0)
    expect, grad = [0.0, 1.0], [0.0, 0.0]
    lines: list[str] = []
    for turn in range(1, 6):
        was = w.data
        fresh = [2 * (expect[0] - target), 4 * (expect[1] + 1)]
        before = list(expect)
        loss = step([w, v], lambda: (w - target) ** 2 + (v + 1) ** 2 * 2, lr)
        cleared = say("The gradients were cleared between backward and the update: clear at the start.")
        still = (
            cleared
            if w.grad == 0.0
            else say("p = p - ... makes a new Value, and the network keeps the old one: change p.data.")
        )
        summed = [g + f for g, f in zip(grad, fresh)]
        ideas: list[Idea] = [
            (
                before[0] - lr * summed[0],
                say("old gradients were added to new ones. Clear them at the start of each step."),
            ),
            (before[0], say("the parameter has not moved. {still}", still=still)),
            (before[0] + lr * fresh[0], say("the step went uphill. The gradient says where the loss rises: subtract.")),
        ]
        expect, grad = [p - lr * f for p, f in zip(before, fresh)], summed
        lines.append(
            say(
                "step {turn}: w went from {was} to {data}; its gradient is {grad} now",
                turn=turn,
                was=show(was),
                data=show(w.data),
                grad=show(w.grad),
            )
        )
        compare(say("after step {turn} on (w - 3)², w", turn=turn), w.data, expect[0], ideas, lines=lines)
        compare(say("after step {turn}, the second parameter", turn=turn), v.data, expect[1])
        height = (before[0] - target) ** 2 + 2 * (before[1] + 1) ** 2
        compare(say("the returned loss of step {turn}", turn=turn), loss, height)


def e17_adam(load: Load) -> None:
    """The same path as the real Adam."""
    module, make = load("e17_adam"), load("e11_tanh_relu").Value
    start, rng = [2.0, -1.0, 0.5], random.Random(17)
    mine, real = [make(x) for x in start], [Value(x) for x in start]
    adam, true = module.Adam(mine, 0.05), optim.Adam(real, lr=0.05)
    lines: list[str] = []
    for turn in range(1, 5):
        grads = [number(rng), number(rng) * 100, number(rng) / 100]
        for p, q, g in zip(mine, real, grads):
            p.grad = q.grad = g
        before = mine[0].data
        adam.step()
        true.step()
        lines.append(
            say(
                "step {turn}: gradient {grad}, parameter 0 went from {before} to {data}",
                turn=turn,
                grad=show(grads[0]),
                before=show(before),
                data=show(mine[0].data),
            )
        )
        sign, small = math.copysign(1.0, grads[0]), math.sqrt(0.001)
        missing = say("m and v start at 0, and a correction by 1 - beta ** t is missing.")
        uncorrected = [before - 0.05 * sign * factor for factor in (0.1 / small, 0.1, 1 / small)]  # of both, of m, of v
        squared = before - 0.05 * grads[0] / (grads[0] ** 2 + 1e-8)
        ideas: list[Idea] = [
            *[(place, missing) for place in uncorrected],
            (squared, say("the square root of v is missing.")),
            (before - 0.05 * grads[0], say("that is plain gradient descent.")),
            (before + (before - real[0].data), say("the step went uphill: subtract.")),
            (before, say("the parameter has not moved: change p.data in place.")),
        ]
        compare(say("after step {turn}, parameter 0", turn=turn), mine[0].data, real[0].data, ideas, lines=lines)
        for k in (1, 2):
            shared = say("does each parameter have its own m and v, and is t counted per step?")
            compare(
                say("after step {turn}, parameter {k}", turn=turn, k=k),
                mine[k].data,
                real[k].data,
                lines=lines,
                hint=shared,
            )


def e18_softmax(load: Load) -> None:
    """Probabilities with the right gradients, at any size of the logits."""
    softmax, make, rng = load("e18_softmax").softmax, load("e11_tanh_relu").Value, random.Random(18)
    for _ in range(4):
        zs = [number(rng) for _ in range(3)]
        powers = [math.exp(z) for z in zs]
        true = [p / sum(powers) for p in powers]
        logits = [make(z) for z in zs]
        got = softmax(logits)
        for i in range(3):
            ideas: list[Idea] = [
                (powers[i], say("that is exp alone: divide by the sum over all.")),
                (math.exp(zs[i] - max(zs)), say("that is exp alone: divide by the sum over all.")),
                (zs[i] / sum(zs), say("exp is missing.")),
                (1.0, say("each exp is divided by itself. The denominator is the sum over all.")),
            ]
            graph = (
                {**{f"z{k}": one for k, one in enumerate(logits)}, "p": got[i]} if isinstance(got[i], make) else None
            )
            told = say("probability {i} of logits {zs}", i=i, zs=zs)
            compare(told, getattr(got[i], "data", got[i]), true[i], ideas, graph=graph)
        require(isinstance(got[0], make), say("softmax gave plain numbers. Use the exp of your Value, not math.exp."))
        got[0].backward()
        for i in range(3):
            want = true[0] * ((i == 0) - true[i])
            lost = say("no gradient arrives: use the exp and the division of your Value, not of plain numbers.")
            alone = say("the denominator was taken as a constant. Raise one logit, and the other probabilities fall.")
            ideas = [(0.0, lost if i == 0 else alone), (true[0], alone)]
            graph = {**{f"z{k}": one for k, one in enumerate(logits)}, "p0": got[0]}
            compare(
                say("the gradient of probability 0 for logit {i}", i=i),
                logits[i].grad,
                want,
                ideas,
                1e-6,
                graph,
                f"z{i}",
            )
    try:
        large = softmax([make(1000.0), make(0.0)])
    except OverflowError:
        raise Fault(
            say("logits of 1000 overflow. Subtract the largest logit from all: no probability changes.")
        ) from None
    compare(say("the first probability of logits 1000 and 0"), large[0].data, 1.0)


def e19_cross_entropy(load: Load) -> None:
    """The real engine's loss and gradients, from raw scores."""
    cross, make, rng = load("e19_cross_entropy").cross_entropy, load("e11_tanh_relu").Value, random.Random(19)
    for target in (0, 1, 2):
        zs = [number(rng) for _ in range(3)]
        real = [Value(z) for z in zs]
        true = losses.cross_entropy(real, target)
        true.backward()
        p = [math.exp(z - max(zs)) for z in zs]
        p = [x / sum(p) for x in p]
        twice = math.log(sum(math.exp(x) for x in p)) - p[target]
        ideas: list[Idea] = [
            (-true.data, say("the minus is missing: a likely answer should cost little, and no loss is below 0.")),
            (twice, say("softmax was applied twice. Cross-entropy takes raw scores.")),
            (1 - p[target], say("that is one minus the probability. Take the logarithm.")),
        ]
        logits = [make(z) for z in zs]
        loss = cross(logits, target)
        graph = {**{f"z{k}": one for k, one in enumerate(logits)}, "L": loss}
        compare(
            say("the loss of logits {zs}, target {target},", zs=zs, target=target),
            loss.data,
            true.data,
            ideas,
            graph=graph,
        )
        loss.backward()
        for i in range(3):
            told = say("the gradient of logit {i} (probability, minus 1 at the target)", i=i)
            compare(told, logits[i].grad, real[i].grad, [], 1e-6, graph, f"z{i}")
    try:
        big = cross([make(1000.0), make(-1000.0)], 1)
    except (OverflowError, ValueError, ZeroDivisionError) as reason:
        raise Fault(
            say(
                "logits 1000 and -1000 fail ({reason}). Compute log(sum of exp) with the largest subtracted.",
                reason=reason,
            )
        ) from None
    compare(say("the loss of logits 1000 and -1000, target 1,"), big.data, 2000.0)


def e20_attention(load: Load) -> None:
    """Weights that sum to 1, nothing from the future, scores scaled by the square root of the length."""
    attention, make, rng = load("e20_attention").attention, load("e11_tanh_relu").Value, random.Random(20)
    size, places = 4, 3
    q, k, v = ([[number(rng) / 2 for _ in range(size)] for _ in range(places)] for _ in range(3))

    def expected(t: int, *, scale: float = 2.0, seen: int | None = None, hidden: str = "out") -> list[float]:
        count = t + 1 if seen is None else seen
        scores = [sum(a * b for a, b in zip(q[t], k[s])) / scale for s in range(places if hidden != "out" else count)]
        if hidden == "zero":
            scores = [x if s < count else 0.0 for s, x in enumerate(scores)]
        powers = [math.exp(x) for x in scores]
        use = range(len(powers)) if hidden == "zero" else range(count)
        return [sum(powers[s] / sum(powers) * v[s][i] for s in use) for i in range(size)]

    parts = [[[make(x) for x in row] for row in part] for part in (q, k, v)]
    known = {
        f"{name}{t}{i}": x for name, part in zip("qkv", parts) for t, row in enumerate(part) for i, x in enumerate(row)
    }
    out = attention(*parts)
    require(
        len(out) == places,
        say(
            "{places} positions went in and {count} outputs came out: one vector per position.",
            places=places,
            count=len(out),
        ),
    )
    for t in range(places):
        for i in range(size):
            ideas: list[Idea] = [
                (
                    expected(t, scale=1.0)[i],
                    say("the scores are not divided by the square root of the vectors' length."),
                ),
                (expected(t, scale=4.0)[i], say("the scores are divided by the length, not by its square root.")),
                (expected(t, seen=places)[i], say("position t sees the future. Only positions 0 to t are visible.")),
                (
                    expected(t, hidden="after")[i],
                    say("hidden positions were removed after softmax: the weights do not sum to 1."),
                ),
                (
                    expected(t, hidden="zero")[i],
                    say("hidden positions got the score 0, which still has a weight. Leave them out."),
                ),
                (expected(t, seen=max(t, 1))[i], say("position t must see itself too.")),
            ]
            graph = {**known, "out": out[t][i]}
            compare(say("component {i} of position {t}", i=i, t=t), out[t][i].data, expected(t)[i], ideas, graph=graph)
    values = [[make(x) for x in row] for row in v]
    queries = [[make(x) for x in row] for row in q]
    second = attention(queries, [[make(x) for x in row] for row in k], values)[1][0]
    second.backward()
    require(
        all(x.grad == 0.0 for x in values[2]),
        say("Position 1 has a gradient for a value of position 2: it sees the future."),
    )
    q0 = list(q[1])

    def moved(*xs: float) -> float:
        q[1] = list(xs)
        result = expected(1)[0]
        q[1] = q0
        return result

    for i in range(size):
        graph = {**{f"q{n}": one for n, one in enumerate(queries[1])}, "out": second}
        compare(say("the gradient of a query"), queries[1][i].grad, difference(moved, q0, i), [], 1e-5, graph, f"q{i}")


def m1_draw(load: Load) -> str:
    """The learner's graph as our drawing."""
    from micrograd.learn import draw_dot
    from micrograd.learn.workshop.mirror import mirror

    make = load("e11_tanh_relu").Value
    x, w, b = make(0.5), make(-1.5), make(2.0)
    out = (x * w + b).tanh() + x * x
    out.backward()
    compare(say("x.grad of tanh(x w + b) + x x"), x.grad, (1 - math.tanh(1.25) ** 2) * -1.5 + 1.0)
    copies = mirror(out)
    names = {name: copies[id(v)] for name, v in {"x": x, "w": w, "b": b, "out": out}.items()}
    path = Path(load("e11_tanh_relu").__file__).parent / "my_graph.svg"
    path.write_text(draw_dot(copies[id(out)], names=names).svg, encoding="utf-8")
    return say("Your graph is drawn in {name}: {count} nodes, with their gradients.", name=path.name, count=len(copies))


def m2_moons(load: Load) -> str:
    """The learner's network, loss and Adam learn the moons to 95 %, from one of three starts."""
    from micrograd.data import moons

    points, labels = moons(40, noise=0.1, seed=0)
    xs, ys = [[float(c) for c in point] for point in points], [1.0 if label > 0 else -1.0 for label in labels]
    best = 0
    for seed in (2, 3, 4):
        random.seed(seed)
        net = load("e14_mlp").MLP(2, [8, 1])
        adam, mse = load("e17_adam").Adam(net.parameters(), 0.3), load("e15_loss").mse
        first = math.nan
        for turn in range(80):
            outs = [net(x) for x in xs]
            right = sum((out.data > 0) == (y > 0) for out, y in zip(outs, ys))
            loss = mse(outs, ys)
            first, best = (loss.data if turn == 0 else first), max(best, right)
            if right >= 0.95 * len(ys) and turn > 0:
                sunk = say("loss {first} -> {last}", first=f"{first:.3f}", last=f"{loss.data:.3f}")
                drawn = Path(load("e14_mlp").__file__).parent / "my_moons.svg"
                drawn.write_text(boundary(net, xs, ys), encoding="utf-8")
                told = say(
                    "Moons: {right} of {count} points after {turn} steps, {sunk}, all by your code.",
                    right=right,
                    count=len(ys),
                    turn=turn,
                    sunk=sunk,
                )
                return say("{told} {name} shows what your network decides where.", told=told, name=drawn.name)
            if turn == 4 and loss.data == first:
                raise Fault(say("The loss has not moved in four steps: do the parameters of the network reach Adam?"))
            for p in net.parameters():
                p.grad = 0.0
            loss.backward()
            adam.step()
    raise Fault(
        say(
            "Your network is right on {best} of {count} points after 80 steps, from three starts; 95 % are needed.",
            best=best,
            count=len(ys),
        )
    )
