"""What loops and choices share: the body of a region in the text around it, and conditions that hold in some lanes."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any

from micrograd.compile.llvm.arrays import Array
from micrograd.compile.llvm.nested import Mask, Nested
from micrograd.tape.decisions import Decisions
from micrograd.tape.tape import INPUT, SOURCES, Tape
from micrograd.tape.truths import Truths


def value(t: Nested, place: int) -> Any:
    """The array at a place, or the name of the number."""
    return t.arrays[place] if place in t.arrays else t.get(place)


def lent(x: Any) -> Any:
    """What the body of a region reads, and does not overwrite."""
    return x._replace(own=None) if isinstance(x, Array) else x


def keep(t: Nested, place: int, x: Any) -> None:
    """Note what is at a place: an array, or the name of a number, or of flags."""
    if isinstance(x, Array):
        t.arrays[place] = x
    elif isinstance(x, Mask):
        t.masks[place] = x
    else:
        t.names[place] = x


def body(
    t: Nested, tape: Tape, inputs: Sequence[Any], decided: Decisions, used: Truths, inside: tuple[int, ...],
    destinations: dict[int, tuple[str, bool]] | None = None, flags: Container[int] = (),
) -> list[Any]:  # fmt: skip
    """Write a body of the region at `inside`; returns its outputs, of which `flags` are wanted as flags.

    `destinations` says where arrays are wanted, by their place.
    """
    around = t.enter(tape, decided, used, inside)
    t.destinations = destinations or {}
    for place, (op, args) in enumerate(zip(tape.ops, tape.args)):
        if op is INPUT:
            keep(t, place, inputs[args[0]])
        elif op not in SOURCES:
            t.instruction(place)
    found = [
        Mask(t.condition(o)) if k in flags and o not in t.arrays else value(t, o) for k, o in enumerate(tape.outputs)
    ]
    t.leave(around)
    return found


def truth(t: Nested, x: str) -> str:
    """A number as a condition."""
    r = t.fresh()
    t.line(f"{r} = fcmp une {t.T} {x}, {t.splat(0.0)}")
    return r


def both(t: Nested, a: str, b: str) -> str:
    """The lanes in which two conditions hold."""
    if not a or not b:
        return a or b
    r = t.fresh()
    t.line(f"{r} = and {t.B} {a}, {b}")
    return r


def any_lane(t: Nested, mask: str) -> str:
    """Whether a condition holds in a lane, as an i1."""
    if t.point:
        return mask
    bits, r = t.fresh(), t.fresh()
    t.line(f"{bits} = bitcast {t.B} {mask} to i{t.width}")
    t.line(f"{r} = icmp ne i{t.width} {bits}, 0")
    return r


def no_lane(t: Nested, mask: str) -> str:
    """The lanes in which a condition does not hold."""
    r = t.fresh()
    t.line(f"{r} = xor {t.B} {mask}, {'true' if t.point else 'splat (i1 true)'}")
    return r


def select(t: Nested, mask: str, a: str, b: str) -> str:
    """One number (or flag) or the other, lane by lane."""
    if a == b:
        return a
    r = t.fresh()
    kind = t.B if isinstance(a, Mask) else t.T
    t.line(f"{r} = select {t.B} {mask}, {kind} {a}, {kind} {b}")
    return Mask(r) if isinstance(a, Mask) else r


def within(t: Nested, i: str, lanes: str) -> str:
    """The lanes that have an element i."""
    whole = f"<{t.width} x i64>"
    first, all_lanes, r = t.fresh(), t.fresh(), t.fresh()
    t.line(f"{first} = insertelement {whole} poison, i64 {i}, i64 0")
    t.line(f"{all_lanes} = shufflevector {whole} {first}, {whole} poison, <{t.width} x i32> zeroinitializer")
    t.line(f"{r} = icmp ult {whole} {all_lanes}, {lanes}")
    return r
