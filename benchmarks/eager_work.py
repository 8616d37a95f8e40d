"""The work that benchmarks/eager.py times, written once and run in one process for each contender.

    python eager_work.py float|micrograd|peer      reads one task name a line, answers with one line of seconds

`float` runs the same expressions on plain Python floats, values only. `micrograd` and `peer` both import the package
that is called micrograd in their own environment: this one, and micrograd 0.1.0 from PyPI. Seconds are those of the
processor, not of the clock on the wall, so that other work on the machine disturbs less.
"""

from __future__ import annotations

import math
import random
import sys
import threading
from time import process_time
from typing import Any

STEPS = 20_000  # of the chain: 40,000 nodes


def clock(work: Any, *args: Any, least: float = 0.02) -> float:
    """Seconds for one call: the best of a few batches that take at least `least` seconds each."""
    count = 1
    while True:
        start = process_time()
        for _ in range(count):
            work(*args)
        took = process_time() - start
        if took >= least:
            break
        count = max(count + 1, math.ceil(count * 1.2 * least / max(took, 1e-9)))
    best = took
    for _ in range(2):
        start = process_time()
        for _ in range(count):
            work(*args)
        best = min(best, process_time() - start)
    return best / count


# ---- acc = acc*x + y


def chain(number: Any, steps: int = STEPS) -> Any:
    # x is so near to 1 that the gradient of 1.5 million steps stays a normal number: processors take 100 times as long for
    # a denormal one, and that is no property of the engine.
    acc, x, y = number(0.5), number(0.9999999), number(0.001)
    for _ in range(steps):
        acc = acc * x + y
    return acc


def chain_backward(number: Any) -> None:
    chain(number).backward()  # the graph is freed on return, inside the clock


# ---- the expression of micrograd's README


def readme_float() -> float:
    a, b = -4.0, 2.0
    c = a + b
    d = a * b + b**3
    c += c + 1
    c += 1 + c + (-a)
    d += d * 2 + max(b + a, 0.0)
    d += 3 * d + max(b - a, 0.0)
    e = c - d
    f = e**2
    g = f / 2.0
    g += 10.0 / f
    return g


def readme_backward(number: Any) -> Any:
    a, b = number(-4.0), number(2.0)
    c = a + b
    d = a * b + b**3
    c += c + 1
    c += 1 + c + (-a)
    d += d * 2 + (b + a).relu()
    d += 3 * d + (b - a).relu()
    e = c - d
    f = e**2
    g = f / 2.0
    g += 10.0 / f
    g.backward()
    return a, b, g


# ---- one training step of MLP(2, [16, 16, 1]) on 100 points


class Training:
    def __init__(self) -> None:
        from micrograd.nn import MLP

        random.seed(1337)
        self.model = MLP(2, [16, 16, 1])
        turns = [random.uniform(0, math.pi) for _ in range(100)]
        self.points = [
            [math.cos(t), math.sin(t)] if i % 2 else [1 - math.cos(t), 0.5 - math.sin(t)] for i, t in enumerate(turns)
        ]
        self.labels = [1 if i % 2 else -1 for i in range(100)]

    def step(self) -> float:
        """The step of micrograd's own demo: max-margin loss and an L2 term, the whole batch, plain descent."""
        model = self.model
        scores = [model(x) for x in self.points]
        losses = [(1 + -y * score).relu() for y, score in zip(self.labels, scores, strict=True)]
        loss = sum(losses) * (1.0 / len(losses)) + 1e-4 * sum(p * p for p in model.parameters())
        model.zero_grad()
        loss.backward()
        for p in model.parameters():
            p.data -= 0.1 * p.grad
        return float(loss.data)


# ---- memory and depth


def resident() -> int:
    """Bytes of this process that are in memory now."""
    try:
        with open("/proc/self/statm") as f:
            import resource

            return int(f.read().split()[1]) * resource.getpagesize()
    except OSError:
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024


def bytes_per_node(number: Any, nodes: int = 2_000_000) -> float:
    chain(number, 1000)
    before = resident()
    root = chain(number, nodes // 2)
    after = resident()
    del root
    return (after - before) / nodes


def seconds_per_node(number: Any, nodes: int) -> float:
    def work() -> None:
        chain(number, nodes // 2).backward()

    return clock(work, least=0.01) / nodes


def deep_chain(number: Any, nodes: int) -> float:
    start = process_time()
    leaf = number(1.0)
    acc = leaf
    for _ in range(nodes):
        acc = acc + leaf
    acc.backward()
    assert leaf.grad == acc.data == nodes + 1.0
    del acc
    return process_time() - start


def wide_sum(number: Any, terms: int) -> float:
    from micrograd import math as mg

    start = process_time()
    leaves = [number(1.0) for _ in range(terms)]
    total = mg.sum(leaves)
    total.backward()
    assert total.data == terms and all(v.grad == 1.0 for v in leaves)
    chained = sum(leaves)
    chained.backward()
    assert chained.data == terms and all(v.grad == 2.0 for v in leaves)
    del total, chained, leaves
    return process_time() - start


def answer(task: str, who: str) -> float:
    name, *sizes = task.split()
    sizes = [int(x) for x in sizes]
    if who == "float":
        return clock({"chain": lambda: chain(float), "readme": readme_float}[name])
    from micrograd.engine import Value

    if name == "chain":
        return clock(chain_backward, Value)
    if name == "readme":
        a, b, g = readme_backward(Value)
        assert (round(a.grad, 4), round(b.grad, 4), round(g.data, 4)) == (138.8338, 645.5773, 24.7041)
        return clock(readme_backward, Value)
    if name == "mlp":
        return clock(Training().step)
    if name == "memory":
        return bytes_per_node(Value, *sizes)
    if name == "flat":
        return seconds_per_node(Value, *sizes)
    if name == "deep":
        return deep_chain(Value, *sizes)
    if name == "wide":
        return wide_sum(Value, *sizes)
    raise SystemExit(f"no such task: {task}")


def serve(who: str) -> None:
    for line in sys.stdin:
        print(repr(answer(line.strip(), who)), flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "peer":  # its backward() recurses: give it the room that it needs
        sys.setrecursionlimit(10_000_000)
        threading.stack_size(1 << 30)
        thread = threading.Thread(target=serve, args=("peer",))
        thread.start()
        thread.join()
    else:
        serve(sys.argv[1])
