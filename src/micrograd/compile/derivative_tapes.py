"""The tapes behind exported functions: values, gradient, Hessian and Hessian-vector product, each as one flat list of numbers.

value       in -> out
gradient    in -> out, gradient             gradient[n*i + k] is d out[i] / d in[wrt[k]], for n numbers to differentiate by
hessian     in -> out, gradient, hessian    hessian[n*j + k], of a function that returns one number
hvp         in, v -> product                the Hessian times v, without the Hessian
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from micrograd.tape import passes
from micrograd.tape.tape import INPUT, Tape
from micrograd.tree import Shape, name_of, size

KINDS = ("value", "gradient", "hessian", "hvp")


class NamedArray(NamedTuple):
    """An array that a function reads or writes."""

    name: str
    length: int


class ArrayTape(NamedTuple):
    """A tape whose inputs are the arrays in `reads`, one after the other, and whose outputs are those in `writes`."""

    kind: str
    tape: Tape
    reads: tuple[NamedArray, ...]
    writes: tuple[NamedArray, ...]


def wanted(arguments: Shape, argnums: int | Sequence[int] | None, f: object) -> list[int]:
    """The numbers of the inputs that the arguments argnums hold; None: all."""
    parts = arguments[1]
    starts = [sum(size(part) for part in parts[:i]) for i in range(len(parts) + 1)]
    if argnums is None:
        return list(range(starts[-1]))
    found: list[int] = []
    for n in [argnums] if isinstance(argnums, int) else argnums:
        if not isinstance(n, int) or isinstance(n, bool):
            raise TypeError(f"argnums={argnums!r}: the number of an argument, counted from 0, or several of them")
        if not -len(parts) <= n < len(parts):
            raise ValueError(f"argnums={argnums!r} asks for argument {n} of {name_of(f)}, and {len(parts)} were given")
        at = n % len(parts)
        found += range(starts[at], starts[at + 1])
    if not found:
        raise ValueError(f"argnums={argnums!r}: these arguments hold no numbers")
    if len(set(found)) < len(found):
        raise ValueError(f"argnums={argnums!r} names an argument twice")
    return found


def program(tape: Tape, kind: str, wrt: Sequence[int], f: object, exact: bool = False) -> ArrayTape:
    """The tape that computes what `kind` says, with respect to the inputs wrt."""
    n, m, width = tape.inputs, len(tape.outputs), len(wrt)
    reads, out = (NamedArray("in", n),), NamedArray("out", m)
    if kind == "value":
        return ArrayTape(kind, tape, reads, (out,))
    if kind != "gradient" and m != 1:
        raise TypeError(f"a {kind} needs a function that returns one number, and {name_of(f)} returns {m:,}")
    if not width:
        raise ValueError(f"{name_of(f)} gets no numbers, so there is nothing to differentiate by")
    first = passes.adjoint(tape, _places(tape, wrt), exact=exact)
    gradient = NamedArray("gradient", m * width)
    if kind == "gradient":
        return ArrayTape(kind, first, reads, (out, gradient))
    slopes = first.copy(outputs=first.outputs[1:])
    if kind == "hessian":
        second = passes.adjoint(first, _places(first, wrt), exact=exact)
        outputs = (*second.outputs[: 1 + width], *second.outputs[1 + 2 * width :])
        return ArrayTape(
            kind, second.copy(outputs=outputs), reads, (out, gradient, NamedArray("hessian", width * width))
        )
    wider, seeds = slopes.with_inputs(width)
    pairs = [(place, seed) for place, seed in zip(_places(wider, wrt), seeds) if place is not None]
    pushed = passes.tangent(wider, [place for place, _ in pairs], [seed for _, seed in pairs])
    product = pushed.copy(outputs=pushed.outputs[width:])
    return ArrayTape(kind, product, (*reads, NamedArray("v", width)), (NamedArray("product", width),))


def _places(tape: Tape, wrt: Sequence[int]) -> list[int | None]:
    where = passes.sources(tape, INPUT, tape.inputs)
    return [where[k] for k in wrt]
