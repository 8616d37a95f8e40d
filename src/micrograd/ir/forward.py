"""Tangents: directional derivatives along with the values, several directions in one run, as a tape again.

Each place that has a derivative has one tangent for each direction. The tangent of an array is an array of the same length,
which goes through the same instructions. Bodies carry, take and yield the tangents beside the values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from micrograd.ir.builder import Builder
from micrograd.ir.dataflow import varied
from micrograd.ir.forms import F64, TABLE, Body, Place, Tape, is_array
from micrograd.ir.partials import partial as slope_of
from micrograd.ir.prune import prune


def tangents(tape: Tape, wrt: Sequence[int], of: Sequence[int] = (0,), directions: int = 1) -> Tape:
    """Return the tape with the tangents of the results `of` after its results, for each direction in turn.

    The tangents of the params `wrt` are params after those of the tape, for each direction in turn.
    """
    for k in wrt:
        if tape.params[k].kind not in (F64, "f64[]"):
            raise ValueError(f"param {k} is {tape.params[k].kind}; only f64 and f64[] have a tangent")
    for k in of:
        if tape.yields[k].kind not in (F64, "f64[]"):
            raise ValueError(f"result {k} is {tape.yields[k].kind}; only f64 and f64[] have a tangent")
    return prune(Tangents(tape, wrt, of, directions).tape)


class Tangents:
    """Copies a tape with the tangents of its places."""

    def __init__(self, tape: Tape, wrt: Sequence[int], of: Sequence[int], directions: int) -> None:
        self.directions = range(directions)
        self.builder = b = Builder([*(p.kind for p in tape.params), *self._seeds([tape.params[k].kind for k in wrt])])
        self.at: dict[Place, Place] = dict(zip(tape.params, b.params))
        self.dot: dict[Place, list[Place]] = {}
        self._begin(tape, [tape.params[k] for k in wrt], b.params[len(tape.params) :])
        self.active = varied(tape, [tape.params[k] for k in wrt])
        yields = self._body(tape)
        dots = [self._dot(tape.yields[k]) for k in of]
        self.tape = b.finish([*yields, *(dot[d] for d in self.directions for dot in dots)])

    def _seeds(self, kinds: list[str]) -> list[str]:
        """Return the kinds of the params after those of the tape."""
        return kinds * len(self.directions)

    def _begin(self, tape: Tape, sources: list[Place], seeds: list[Place]) -> None:
        """Write down the tangents of the params to differentiate by."""
        for n, param in enumerate(sources):
            self.dot[param] = [seeds[d * len(sources) + n] for d in self.directions]

    def _of(self, place: Place) -> Place:
        return self.builder.const(place.attr, place.kind) if place.op == "const" else self.at[place]

    def _dot(self, place: Place) -> list[Place]:
        """Return the tangents of a place: zeros if it has none."""
        found = self.dot.get(place)
        if found is None:
            b, zero = self.builder, self.builder.const(0.0)
            one = b.emit("fill", b.emit("size", self._of(place)), zero) if is_array(place.kind) else zero
            found = [one for _ in self.directions]
        return found

    def _body(self, body: Body) -> list[Place]:
        b = self.builder
        for place in body.code:
            if place.op == "check":
                b.check(self._of(place.args[0]), place.attr)
            elif place.op == "if":
                self._choose(place)
            elif place.op == "loop":
                self._loop(place)
            else:
                args = [self._of(a) for a in place.args]
                made = b.array(args, args[0].kind) if place.op == "array" else b.emit(place.op, *args)
                self.at[place] = made
                if place in self.active:
                    self.dot[place] = [self._tangent(place, d) for d in self.directions]
        return [self._of(y) for y in body.yields]

    def _tangent(self, place: Place, d: int) -> Place:
        """Return the tangent of an instruction in direction d."""
        b, op = self.builder, place.op
        if op == "load":
            return self._item(place, d)
        if op not in TABLE:
            dots = [self._dot(a)[d] if a.kind in (F64, "f64[]") else self._of(a) for a in place.args]
            return b.array(dots, F64) if op == "array" else b.emit(op, *dots)
        if op == "select":
            c, x, y = place.args
            return b.emit("select", self._of(c), self._dot(x)[d], self._dot(y)[d])
        rule = TABLE[op].op
        assert rule is not None
        finders: list[Callable[[], Place]] = [partial(self._of, a) for a in place.args]
        total: Place | None = None
        for k, a in enumerate(place.args):
            if a not in self.active or k in rule.steps:
                continue
            slope, dot = slope_of(b, rule, k, finders, partial(self._of, place)), self.dot[a][d]
            if slope.op == "const" and abs(slope.attr) == 1.0:
                part = dot if slope.attr > 0 else b.emit("neg", dot)
            else:
                part = b.emit("mul", slope, dot)
            total = part if total is None else b.emit("add", total, part)
        return b.const(0.0) if total is None else total

    def _item(self, place: Place, d: int) -> Place:
        """Return the tangent of an item of an array."""
        array, i = place.args
        return self.builder.emit("load", self._dot(array)[d], self._of(i))

    def _choose(self, place: Place) -> None:
        b = self.builder
        active = [k for k, r in enumerate(place.results) if r in self.active]

        def arm(inner: Body) -> list[Place]:
            yields = self._body(inner)
            return [*yields, *(dot for k in active for dot in self._dot(inner.yields[k]))]

        then, otherwise = place.bodies
        found = b.choose(self._of(place.args[0]), lambda: arm(then), lambda: arm(otherwise))
        self._give(place.results, active, found[: len(place.results)], found[len(place.results) :])

    def _give(self, places: Sequence[Place], active: list[int], values: list[Place], dots: list[Place]) -> None:
        self.at.update(zip(places, values))
        n = len(self.directions)
        for j, k in enumerate(active):
            self.dot[places[k]] = dots[j * n : (j + 1) * n]

    def _loop(self, place: Place) -> None:
        b, (inner,) = self.builder, place.bodies
        times, carried = (place.args[0], place.args[1:]) if place.attr else (None, place.args)
        active = [k for k, p in enumerate(inner.params[:-1]) if p in self.active]
        count = len(carried)
        start = [*map(self._of, carried), *(dot for k in active for dot in self._dot(carried[k]))]

        def make(params: list[Place], k: Place) -> tuple[Place, list[Place]]:
            self._give(inner.params, active, [*params[:count], k], params[count:])
            again, *following = self._body(inner)
            return again, [*following, *(dot for k in active for dot in self._dot(inner.yields[1 + k]))]

        steady = [k for k in range(count) if inner.params[k].attr]
        steady += [
            count + j * len(self.directions) + d for j, k in enumerate(active) for d in self.directions if k in steady
        ]
        *found, trips = b.loop(None if times is None else self._of(times), start, make, steady)
        self._give(place.results, active, [*found[:count], trips], found[count:])
