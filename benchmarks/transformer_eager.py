"""One training step of a character transformer, eager: the package's Value against a Value in plain Python.

The model has 4,192 parameters (16 wide, 4 heads, 1 layer, block 16) and reads one name of 7 letters. It is written
below as people write it with scalars, `sum(w * x ...)`, over any Value: about 60,000 nodes a step. The reference Value
has what makes one fast in plain Python: slots, stored partials, an iterative sweep. `nn.GPT` is the same model out of
the package's modules, where a dot product is one node. All three have the same weights and must agree on the gradients.

Run it: python benchmarks/transformer_eager.py
"""

from __future__ import annotations

import math
import random
import time

from micrograd import Value, losses, nn
from micrograd.data import Alphabet, names

NAME = "marcela"
ROUNDS = 5


class Reference:
    """A Value in plain Python, as fast as one gets it: slots, partials stored at the forward pass, no closures."""

    __slots__ = ("data", "grad", "inputs", "partials")

    def __init__(self, data, inputs=(), partials=()):
        self.data = data
        self.grad = 0.0
        self.inputs = inputs
        self.partials = partials

    def __add__(self, other):
        if isinstance(other, Reference):
            return Reference(self.data + other.data, (self, other), (1.0, 1.0))
        return Reference(self.data + other, (self,), (1.0,))

    def __mul__(self, other):
        if isinstance(other, Reference):
            return Reference(self.data * other.data, (self, other), (other.data, self.data))
        return Reference(self.data * other, (self,), (other,))

    def __pow__(self, power):
        return Reference(self.data**power, (self,), (power * self.data ** (power - 1),))

    def __sub__(self, other):
        return self + other * -1.0

    def __truediv__(self, other):
        return self * other**-1

    __radd__ = __add__
    __rmul__ = __mul__

    def exp(self):
        y = math.exp(self.data)
        return Reference(y, (self,), (y,))

    def log(self):
        return Reference(math.log(self.data), (self,), (1.0 / self.data,))

    def relu(self):
        return Reference(max(self.data, 0.0), (self,), (float(self.data > 0.0),))

    def backward(self):
        order, seen, stack = [], set(), [(self, False)]
        while stack:
            v, ready = stack.pop()
            if ready:
                order.append(v)
            elif v not in seen:
                seen.add(v)
                stack.append((v, True))
                for child in v.inputs:
                    if child not in seen:
                        stack.append((child, False))
        self.grad = 1.0
        for v in reversed(order):
            grad = v.grad
            for child, partial in zip(v.inputs, v.partials):
                child.grad += partial * grad


# ---- the model, over any Value


def matvec(rows, x):
    return [sum((w * v for w, v in zip(row[1:], x[1:])), row[0] * x[0]) for row in rows]


def normalise(x):
    scale = (sum(v * v for v in x) / len(x) + 1e-5) ** -0.5
    return [v * scale for v in x]


def softmax(xs):
    top = max(x.data for x in xs)
    powers = [(x - top).exp() for x in xs]
    total = sum(powers)
    return [p / total for p in powers]


def loss_of(p, tokens, targets, heads=4):
    """The mean cross-entropy of the next token, for parameters p (name -> rows of Values)."""
    keys, values, losses = [], [], []
    for position, (token, target) in enumerate(zip(tokens, targets)):
        x = normalise([a + b for a, b in zip(p["tokens.weight"][token], p["positions.weight"][position])])
        within = normalise(x)
        query = matvec(p["blocks.0.attention.query.weight"], within)
        keys.append(matvec(p["blocks.0.attention.key.weight"], within))
        values.append(matvec(p["blocks.0.attention.value.weight"], within))
        width, mixed = len(x) // heads, []
        for start in range(0, len(x), width):
            span = range(start, start + width)
            weights = softmax([sum(query[i] * key[i] for i in span) * width**-0.5 for key in keys])
            mixed += [sum(w * value[i] for w, value in zip(weights, values)) for i in span]
        x = [a + b for a, b in zip(x, matvec(p["blocks.0.attention.out.weight"], mixed))]
        hidden = [h.relu() for h in matvec(p["blocks.0.up.weight"], normalise(x))]
        x = [a + b for a, b in zip(x, matvec(p["blocks.0.down.weight"], hidden))]
        losses.append(softmax(matvec(p["head.weight"], x))[target].log() * -1.0)
    return sum(losses) * (1.0 / len(losses))


def count(root, inputs):
    """Nodes behind a root."""
    seen, stack = {id(root)}, [root]
    while stack:
        for child in getattr(stack.pop(), inputs):
            if id(child) not in seen:
                seen.add(id(child))
                stack.append(child)
    return len(seen)


def best(step):
    """The least time of a few rounds, in milliseconds."""
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    return min(times) * 1e3


def run():
    """Rows of (what, measured, relation, target); relation and target are None for what is only told."""
    letters = Alphabet(names())
    tokens = letters.encode(NAME)
    model = nn.GPT(len(letters), rng=random.Random(1))
    state = model.state_dict()

    def build(kind):
        return {name: [[kind(x) for x in row] for row in rows] for name, rows in state.items()}

    ours, plain = build(Value), build(Reference)

    def step(p):
        for rows in p.values():
            for row in rows:
                for v in row:
                    v.grad = 0.0
        loss = loss_of(p, tokens[:-1], tokens[1:])
        loss.backward()
        return loss

    def module_step():
        model.zero_grad()
        loss = losses.cross_entropy(model(tokens[:-1]), tokens[1:])
        loss.backward()
        return loss

    results = [step(plain), step(ours), module_step()]
    gradients = [
        [v.grad for rows in plain.values() for row in rows for v in row],
        [v.grad for rows in ours.values() for row in rows for v in row],
        [v.grad for v in model.parameters()],
    ]
    for loss, grads in zip(results[1:], gradients[1:]):
        assert math.isclose(loss.data, results[0].data, rel_tol=1e-12), (loss.data, results[0].data)
        assert all(math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12) for a, b in zip(grads, gradients[0]))
    nodes = count(results[0], "inputs"), count(results[2], "_prev")
    del results, loss
    t_plain, t_ours, t_module = best(lambda: step(plain)), best(lambda: step(ours)), best(module_step)
    return [
        (f"transformer step, plain Python Value, ms ({nodes[0]:,} nodes)", t_plain, None, None),
        ("transformer step, same scalar code on Value, ms", t_ours, None, None),
        (f"transformer step, nn.GPT, ms ({nodes[1]:,} nodes)", t_module, None, None),
        ("transformer: same scalar code, plain Python / Value", t_plain / t_ours, None, None),
        ("transformer: same model, plain Python / nn.GPT", t_plain / t_module, ">=", 20.0),
    ]


if __name__ == "__main__":
    missed = 0
    for name, measured, relation, target in run():
        verdict = ""
        if relation is not None:
            held = measured >= target if relation == ">=" else measured <= target
            missed += not held
            verdict = f"  target {relation} {target:g}  {'ok' if held else 'MISSED'}"
        print(f"{name:<62} {measured:10.2f}{verdict}")
    raise SystemExit(1 if missed else 0)
