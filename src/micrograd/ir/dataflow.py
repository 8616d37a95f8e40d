"""Walks over tapes that the passes share: copies, what depends on what, what a body reads from outside."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from micrograd.ir.builder import Builder
from micrograd.ir.forms import F64, Body, Place, Tape, is_array, walk


class Copy:
    """Adds the instructions of bodies to the open body of a builder. A pass overrides what it does in another way."""

    def __init__(self, builder: Builder, at: dict[Place, Place]) -> None:
        self.builder = builder
        self.at = at  # the new place of each place

    def of(self, place: Place) -> Place:
        """Return the new place of a place."""
        return self.builder.const(place.attr, place.kind) if place.op == "const" else self.at[place]

    def body(self, body: Body) -> list[Place]:
        """Add the instructions of a body; return what it yields there."""
        for place in body.code:
            self.instruction(place)
        return [self.of(y) for y in body.yields]

    def instruction(self, place: Place) -> None:
        """Add an instruction."""
        builder, args = self.builder, [self.of(a) for a in place.args]
        if place.op == "check":
            builder.check(args[0], place.attr)
        elif place.op == "if":
            found = builder.choose(args[0], partial(self.body, place.bodies[0]), partial(self.body, place.bodies[1]))
            self.at.update(zip(place.results, found))
        elif place.op == "loop":
            times = args.pop(0) if place.attr else None
            self.at.update(zip(place.results, self.loop(place, times, args)))
        elif place.op == "slopes":
            found = builder.slopes(args, lambda params: self.apart(place.bodies[0], params))
            self.at.update(zip(place.results, found))
        elif place.op == "array":
            self.at[place] = builder.array(args, args[0].kind)
        else:
            self.at[place] = builder.emit(place.op, *args)

    def apart(self, body: Body, params: list[Place]) -> Place:
        """Add a body that reads nothing from around it; return the only number that it yields."""
        self.at.update(zip(body.params, params))
        (found,) = self.body(body)
        return found

    def loop(self, place: Place, times: Place | None, carried: list[Place]) -> list[Place]:
        """Add a loop; return its results."""
        (inner,), at = place.bodies, self.at
        # What is carried and never changes is read from outside.
        changing = [k for k, p in enumerate(inner.params[:-1]) if inner.yields[1 + k] is not p]
        at.update(zip(inner.params, carried))

        def make(params: list[Place], k: Place) -> tuple[Place, list[Place]]:
            at.update(zip([inner.params[k] for k in changing], params))
            at[inner.params[-1]] = k
            return self.round(place, [0, *(1 + k for k in changing)])

        steady = [n for n, k in enumerate(changing) if self.steady(place, k)]
        *found, trips = self.builder.loop(times, [carried[k] for k in changing], make, steady)
        if trips.op == "result":
            trips.args[0].line = place.line
        results = dict(zip(changing, found))
        return [*(results.get(k, x) for k, x in enumerate(carried)), trips]

    def round(self, place: Place, numbers: list[int]) -> tuple[Place, list[Place]]:
        """Add the body of a loop; return those of its yields that have these numbers."""
        yields = self.body(place.bodies[0])
        again, *following = [yields[n] for n in numbers]
        return again, following

    def steady(self, place: Place, k: int) -> bool:
        """Return whether no iteration of a loop changes the size of what it carries."""
        return bool(place.bodies[0].params[k].attr)


def copy(builder: Builder, body: Body, at: dict[Place, Place]) -> list[Place]:
    """Add the instructions of a body to the open body of a builder; return what it yields there.

    `at` has the new place of each param, and gets that of each instruction.
    """
    return Copy(builder, at).body(body)


def counted(place: Place) -> bool:
    """Return whether a loop makes as many iterations as it says before it begins."""
    again = place.bodies[0].yields[0]
    return bool(place.attr) and again.op == "const" and bool(again.attr)


def rebuilt(tape: Tape) -> tuple[Builder, list[Place]]:
    """Return a builder with the same program, and what it yields."""
    builder = Builder([p.kind for p in tape.params])
    return builder, copy(builder, tape, dict(zip(tape.params, builder.params)))


def differentiable(place: Place) -> bool:
    """Return whether a place is a number, or an array of numbers, that is not constant."""
    return place.op != "const" and place.kind in (F64, "f64[]")


def around(loop: Place, found: set[Place], visit: Callable[[Body], None]) -> Body:
    """Visit the body of a loop until nothing is found in an iteration that was not found before it; return the body."""
    (inner,) = loop.bodies
    carried = loop.args[1:] if loop.attr else loop.args
    found.update(p for p, x in zip(inner.params, carried) if x in found)
    before = -1
    while before != len(found):
        before = len(found)
        visit(inner)
        found.update(p for p, y in zip(inner.params, inner.yields[1:]) if y in found)
    return inner


def varied(tape: Tape, sources: Sequence[Place]) -> set[Place]:
    """Return the places that have a derivative with respect to the sources, as far as kinds tell."""
    found = set(sources)

    def visit(body: Body) -> None:
        for place in body.code:
            if place.op == "if":
                for inner in place.bodies:
                    visit(inner)
                    found.update(r for r, y in zip(place.results, inner.yields) if y in found)
            elif place.op == "loop":
                inner = around(place, found, visit)
                found.update(r for r, p in zip(place.results, inner.params) if p in found)
            elif place.op == "slopes":
                (inner,) = place.bodies
                found.update(p for p, x in zip(inner.params, place.args) if x in found or differentiable(p))
                visit(inner)
                found.update(place.results)
            elif differentiable(place) and any(a in found for a in place.args):
                found.add(place)

    visit(tape)
    return found


def useful(tape: Tape, targets: Sequence[Place]) -> set[Place]:
    """Return the places that have a part in the targets, as far as numbers and arrays of numbers hand it on."""
    found = set(targets)

    def visit(body: Body) -> None:
        for place in reversed(body.code):
            if place.op == "if":
                for inner in place.bodies:
                    found.update(y for r, y in zip(place.results, inner.yields) if r in found)
                    visit(inner)
            elif place.op == "loop":
                (inner,) = place.bodies
                carried = place.args[1:] if place.attr else place.args
                before = -1
                while before != len(found):
                    before = len(found)
                    pairs = zip(place.results, inner.params, inner.yields[1:])
                    found.update(y for r, p, y in pairs if r in found or p in found)
                    visit(inner)
                for r, p, x in zip(place.results, inner.params, carried):
                    if r in found or p in found:
                        found.update((r, p, x))
            elif place in found and differentiable(place):
                found.update(a for a in place.args if differentiable(a))

    visit(tape)
    return found


def defined(body: Body) -> set[Place]:
    """Return the places that a body defines, its params and those of bodies inside included."""
    found = set(body.params)
    for place in walk(body):
        found.update(place.results if place.bodies else (place,))
        for inner in place.bodies:
            found.update(inner.params)
    return found


def captured(bodies: Sequence[Body]) -> list[Place]:
    """Return the places from outside that some bodies read, in the order of their first use; constants are not among them."""
    found: dict[Place, None] = {}
    for body in bodies:
        own = defined(body)
        reads = [a for place in walk(body) for a in place.args]
        reads += [y for inner in (body, *(b for place in walk(body) for b in place.bodies)) for y in inner.yields]
        found.update((a, None) for a in reads if a.op != "const" and a not in own)
    return list(found)


__all__ = [
    "Copy",
    "captured",
    "copy",
    "counted",
    "defined",
    "differentiable",
    "is_array",
    "rebuilt",
    "useful",
    "varied",
]
