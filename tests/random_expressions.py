"""Random expressions over the whole table, as data: written once, run on a twin, on PyTorch and on mpmath."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from hypothesis import strategies as st
from mpmath import mp, mpf

import oracle
from micrograd.ops import OPS

# An operand is the place of an earlier result (int), or a plain number (float).
Step = tuple[str, tuple[Any, ...]]


class Program(NamedTuple):
    leaves: tuple[float, ...]
    steps: tuple[Step, ...]


def programs(names: list[str], numbers: st.SearchStrategy[float], most: int = 20) -> st.SearchStrategy[Program]:
    """Programs of up to `most` steps; each step takes any earlier results, so nodes are shared and reused."""

    @st.composite
    def build(draw: Callable[..., Any]) -> Program:
        leaves = tuple(draw(st.lists(numbers, min_size=1, max_size=4)))
        steps: list[Step] = []
        for _ in range(draw(st.integers(1, most))):
            name = draw(st.sampled_from(names))
            known = len(leaves) + len(steps)
            place = st.integers(0, known - 1)
            operand = st.one_of(place, place, place, numbers)  # one operand in four is a plain number
            count = OPS[name].arity if OPS[name].arity > 0 else draw(st.integers(1, 4)) * (2 if name == "dot" else 1)
            steps.append((name, (draw(place), *(draw(operand) for _ in range(count - 1)))))
        return Program(leaves, tuple(steps))

    return build()


def run(program: Program, leaf: Callable[[float], Any], step: Callable[[str, list[Any]], Any]) -> list[Any]:
    """All results of a program: the leaves, then one for each step."""
    results = [leaf(x) for x in program.leaves]
    for name, operands in program.steps:
        results.append(step(name, [results[i] if isinstance(i, int) else i for i in operands]))
    return results


def on_twin(program: Program, twin: Any) -> list[Any]:
    def step(name: str, xs: list[Any]) -> Any:
        if name == "dot":
            return twin.math.dot(xs[: len(xs) // 2], xs[len(xs) // 2 :])
        return twin.engine.apply(twin.ops.OPS[name], *([xs] if OPS[name].arity < 0 else xs))

    return run(program, twin.Value, step)


class Exact(NamedTuple):
    """A program in mpmath: all results, the root's derivative by each leaf, the size of the terms that it adds up."""

    values: list[Any]
    gradients: list[Any]
    sizes: list[Any]
    largest: Any


def on_mpmath(program: Program, digits: int = oracle.DIGITS) -> Exact:
    """Forward through the oracle's values, back through its partials."""
    with mp.workdps(digits):
        values: list[Any] = [mpf(x) for x in program.leaves]
        partials: list[list[Any]] = [[] for _ in values]
        largest = max(map(abs, values))
        for name, operands in program.steps:
            reference = oracle.REFERENCE[name]
            xs = [values[i] if isinstance(i, int) else mpf(i) for i in operands]
            inputs = (xs,) if reference.takes_list else xs
            values.append(mpf(reference.value(*inputs)))
            partials.append([mpf(p) for p in reference.partials(*inputs)])
            largest = max([largest, abs(values[-1]), *map(abs, partials[-1])])
        gradients = [mpf(0)] * (len(values) - 1) + [mpf(1)]
        sizes = list(gradients)
        first = len(program.leaves)
        for place in range(len(values) - 1, first - 1, -1):
            for i, p in zip(program.steps[place - first][1], partials[place], strict=True):
                if isinstance(i, int):
                    gradients[i] += p * gradients[place]
                    sizes[i] += abs(p) * sizes[place]
        return Exact(values, gradients[:first], sizes[:first], largest)
