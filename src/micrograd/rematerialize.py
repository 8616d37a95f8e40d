"""remat: forget what a function computed on the way, and compute it again in the backward pass."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any, ParamSpec, TypeVar

from micrograd.engine import Value
from micrograd.observed import is_recording
from micrograd.tape import interpret, passes
from micrograd.tape.swept import derived
from micrograd.tape.tape import INPUT, PARAM, Tape
from micrograd.tape.trace import Trace, is_tracing, peek, trace
from micrograd.tree import Shape, as_floats, flatten, name_of, unflatten, wants_function

P = ParamSpec("P")
R = TypeVar("R")


class _Segment:
    """One call: its arguments, and how to run it once more."""

    def __init__(self, f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.leaves: list[Any] = []
        shape = flatten((list(args), kwargs), self.leaves)
        self.shape: Shape = ("tuple", (shape,))
        self.leaves = as_floats(self.leaves)

        def run(given: Any) -> Any:
            return f(*given[0], **given[1])

        run.__qualname__ = name_of(f)
        self.run = run

    def trace(self) -> Trace:
        return trace(self.run, self.shape, peek(self.leaves), frozen=False)

    def sources(self, found: Trace, k: int) -> list[tuple[int, Value]]:
        """The Values that a gradient of result k reaches, each with its place on the tape; not those that steps alone read."""
        reached = passes.reached(found.tape, found.tape.outputs[k : k + 1])
        inputs = passes.sources(found.tape, INPUT, len(self.leaves))
        params = passes.sources(found.tape, PARAM, len(found.captured))
        pairs = [*zip(inputs, self.leaves), *zip(params, found.captured)]
        return [(p, x) for p, x in pairs if p is not None and reached[p] and isinstance(x, Value)]

    def push(self, k: int, nodes: list[Value], before: list[float], cotangent: float) -> None:
        """Add the gradients of result k to the nodes that they reach, by running the function again."""
        if any(x != y and x == x for x, y in zip(before, peek(nodes))):
            raise ValueError(
                "the data of a Value has changed since remat ran its function, which is now to be run again\n"
                "  Call backward() before the numbers change."
            )
        found = self.trace()
        at: dict[int, Value] = {id(v): v for v in nodes}
        wanted = [(p, x) for p, x in self.sources(found, k) if id(x) in at]
        tape: Tape = found.tape.copy(outputs=found.tape.outputs[k : k + 1])
        swept = derived(tape, passes.adjoint, [p for p, _ in wanted])
        slopes = interpret.run(swept, peek(self.leaves), peek(found.captured))[1:]
        for (_, v), slope in zip(wanted, slopes):
            v.grad += slope * cotangent


def remat(f: Callable[P, R]) -> Callable[P, R]:
    """Run f without keeping its intermediate results; `backward()` runs it a second time to get them back.

    A graph then holds one node for each result of f in place of all its steps. Inside a transform or a compiled function
    remat changes nothing: compiled code decides by itself what to keep.

    >>> from micrograd import Value, remat
    >>> def long(x):
    ...     for _ in range(1000):
    ...         x = x * 0.999
    ...     return x
    >>> x = Value(2.0)
    >>> y = remat(long)(x)
    >>> len(y._prev)
    1
    >>> y.backward()
    >>> x.grad == 0.999**1000 or abs(x.grad - 0.999**1000) < 1e-15
    True
    """
    wants_function(f, "run again")

    def again(*args: Any, **kwargs: Any) -> Any:
        if is_tracing() or not is_recording():
            return f(*args, **kwargs)  # type: ignore[arg-type]
        segment = _Segment(f, args, kwargs)
        found = segment.trace()
        nodes = list({id(v): v for v in [*segment.leaves, *found.captured] if isinstance(v, Value)}.values())
        constants = dict(found.constants)
        numbers = interpret.run(found.tape, peek(segment.leaves), peek(found.captured))
        if not nodes:
            return unflatten(found.shape, iter(numbers))
        before = peek(nodes)
        outputs = []
        for k, y in enumerate(numbers):
            inputs = tuple({id(v): v for _, v in segment.sources(found, k)}.values())
            out: Any = constants[k] if k in constants else Value(y, inputs, "remat")
            if k not in constants and inputs:
                out._backward = _backward(segment, k, nodes, before, out)
            outputs.append(out)
        return unflatten(found.shape, iter(outputs))

    update_wrapper(again, f)
    return again  # type: ignore[return-value]


def _backward(segment: _Segment, k: int, nodes: list[Value], before: list[float], out: Any) -> Callable[[], None]:
    def backward() -> None:
        segment.push(k, nodes, before, out.grad)

    return backward
