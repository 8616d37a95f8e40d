"""The program that an adjoint begins with: the run forward, with records, and what the sweep back reads of it.

The questions of the sweep are answered by records.py: what is read where it is, computed again, run again, or recorded.
"""

from __future__ import annotations

from collections.abc import Sequence

from micrograd.ir.builder import Builder
from micrograd.ir.dataflow import captured, counted, useful, varied
from micrograd.ir.forms import ZERO, Body, Place, Tape, walk
from micrograd.ir.loops import choice
from micrograd.ir.records import Needs

Record = tuple[Body, Place]


class Primal:
    """The run forward of a tape."""

    def __init__(
        self, tape: Tape, needs: Needs, builder: Builder, sources: list[Place], targets: list[Place], asking: bool
    ) -> None:
        self.source, self.needs, self.nest, self.builder, self.asking = tape, needs, needs.nest, builder, asking
        self.at: dict[Place, Place] = dict(zip(tape.params, builder.params))
        self.index: dict[Body, Place] = {}  # in the sweep: the number of the iteration that it is at
        self.given: dict[Place, Place] = {}  # in the sweep: conditions whose outcome is known
        self.again = False  # whether something is run forward again, in the sweep
        self.active = varied(tape, sources) & useful(tape, targets)
        self.choices = {p: c for p in walk(tape) if p.op == "loop" and (c := choice(p, self.active)) is not None}
        self.state = self._records_of(tape)  # the records, as they are at this point of the run forward

    def _at_once(self, place: Place, args: list[Place]) -> None:
        """Add a loop that only adds up; each iteration is swept back as soon as it has run."""
        raise NotImplementedError

    def _records_of(self, top: Body) -> dict[Record, Place]:
        """Return the records that begin with a run of a body, as they are then."""
        return {
            (body, p): self.builder.const([], p.kind + "[]")
            for body, places in self.needs.records.items()
            if self.nest.top(body) is top
            for p in places
        }

    def _of(self, place: Place) -> Place:
        return self.builder.const(place.attr, place.kind) if place.op == "const" else self.at[place]

    def _reserve(self, record: Record) -> None:
        """Give the record of a rectangular loop an item for each iteration."""
        b = self.builder
        total = b.const(1)
        inside: Body | None = record[0]
        while inside is not None:
            place = self.nest.region[inside]
            total = b.emit("imul", b.emit("imax", self._of(place.args[0]), b.const(0)), total)
            inside = self.nest.around(place)
        empty = self.state[record]
        self.state[record] = b.append(Place("grow", (empty, total), empty.kind))

    def _defined(self, place: Place) -> None:
        """Write down what is asked for of an array as soon as it is there."""
        if place in self.needs.sizes:
            self.at[self.needs.sizes[place]] = self.builder.emit("size", self._of(place))

    def _forward(self, body: Body) -> list[Place]:
        for p in body.params:
            self._defined(p)
        self._run(body.code)
        return [self._of(y) for y in body.yields]

    def _run(self, code: Sequence[Place]) -> None:
        b = self.builder
        for place in code:
            args = [self._of(a) for a in place.args]
            if place.op == "check":
                b.assume(args[0], True) if self.again else b.check(args[0], place.attr)
            elif place.op == "if":
                self._forward_if(place, args[0])
            elif place.op == "loop":
                self._forward_loop(place, args)
            elif place.op == "array":
                self.at[place] = b.array(args, args[0].kind)
            else:
                self.at[place] = b.emit(place.op, *args)
            for p in place.results if place.bodies else (place,):
                self._defined(p)

    def _run_again(self, body: Body) -> None:
        """Run the cheap part of an iteration forward again; what it reads from before is as that iteration had it."""
        part = Body()
        part.code = [place for place in body.code if place in self.nest.rerun]
        reads = [q for q in captured([part]) if self.nest.home[q] is not self.source]
        self.at = {**self.at, **{q: self._primal(q) for q in reads}}
        self.state = {**self.state, **self._records_of(body)}
        outside, self.again = self.again, True
        self._run(part.code)
        self.again = outside

    def _records_in(self, place: Place) -> list[Record]:
        """Return the records of a region: of its bodies, and of the loops inside."""
        found: list[Record] = []
        for record in self.state:
            body = record[0]
            while body is not self.source:
                region = self.nest.region[body]
                if region is place:
                    found.append(record)
                    break
                body = self.nest.home[region]
        return found

    def _forward_if(self, place: Place, condition: Place) -> None:
        b = self.builder
        records = self._records_in(place)
        slots = self.needs.slots.get(place, {})

        def arm(inner: Body) -> list[Place]:
            before = dict(self.state)
            yields = self._forward(inner)
            given = {slot: self.at[p] for p, slot in self.needs.arms.get(inner, {}).items()}
            yields += [given.get(slot) or b.const(ZERO[slot.kind], slot.kind) for slot in slots.values()]
            yields += [self.state[r] for r in records]
            self.state = before
            return yields

        then, otherwise = place.bodies
        found = iter(b.choose(condition, lambda: arm(then), lambda: arm(otherwise)))
        for r in (*place.results, *slots.values()):
            self.at[r] = next(found)
        for record in records:
            self.state[record] = next(found)

    def _forward_loop(self, place: Place, args: list[Place]) -> None:
        if place in self.needs.at_once:
            self._at_once(place, args)
            return
        b, (inner,) = self.builder, place.bodies
        times = args.pop(0) if place.attr else None
        records = self._records_in(place)
        own = [r for r in records if r[0] is inner]
        all_counted = counted(place)
        base: Place | None = None
        if self.nest.readable(place):
            for r in records:
                if self.nest.rectangular(r[0]):
                    self._reserve(r)
        if inner in self.needs.bases:
            self.at[self.needs.bases[inner]] = b.const(0)
        if own and not self.asking:
            if self.nest.rectangular(inner):
                around = self.nest.around(place)
                assert times is not None
                base = b.const(0) if around is None else b.emit("imul", self._forward_flat(around), times)
            else:
                base = self.at[self.needs.base(inner)] = b.emit("size", self.state[own[0]])
                if times is not None and all_counted:
                    more = b.emit("imax", times, b.const(0))
                    for r in own:
                        self.state[r] = b.emit("grow", self.state[r], more)
        count, stored = len(args), len(args) + len(records)
        choice = self.choices.get(place)
        chosen = self.needs.chosen.get(place, {})

        def make(params: list[Place], k: Place) -> tuple[Place, list[Place]]:
            self.at.update(zip(inner.params, [*params[:count], k]))
            self.state.update(zip(records, params[count:stored]))
            again, *following = self._forward(inner)
            kept = []
            if choice is not None:
                here = self._of(choice.condition)
                now = [(self._of(p), old) for p, old in zip(chosen, params[stored:])]
                kept = [b.emit("select", here, *(pair if choice.holds else pair[::-1])) for pair in now]
            if base is not None:
                at = b.sum(base, k)
                for r in own:
                    array = self.state[r]
                    if not all_counted:
                        array = b.emit("grow", array, b.const(1))
                    self.state[r] = b.emit("store", array, at, self.at[r[1]])
            return again, [*following, *(self.state[r] for r in records), *kept]

        steady = [k for k in range(count) if inner.params[k].attr]
        steady += [count + n for n, r in enumerate(records) if self.nest.rectangular(r[0])]
        nothing = [b.const(-1) if p is inner.params[-1] else b.const(ZERO[p.kind], p.kind) for p in chosen]
        found = b.loop(times, [*args, *(self.state[r] for r in records), *nothing], make, steady)
        self.state.update(zip(records, found[count:stored]))
        self.at.update(zip(chosen.values(), found[stored:-1]))
        self.at.update(zip(place.results, [*found[:count], found[-1]]))

    def _forward_flat(self, body: Body) -> Place:
        """Return which iteration this is, counted over all runs of a rectangular loop."""
        place, b = self.nest.region[body], self.builder
        k = self.at[body.params[-1]]
        around = self.nest.around(place)
        if around is None:
            return k
        return b.sum(b.emit("imul", self._forward_flat(around), self._of(place.args[0])), k)

    # ---- what the sweep asks of the run forward

    def _primal(self, place: Place) -> Place:
        """Return a number of the run forward, as the iteration had it that the sweep is at."""
        b = self.builder
        if place.op == "const":
            return b.const(place.attr, place.kind)
        body = self.nest.home[place]
        if self.nest.readable(place):
            return self.at[place] if place in self.at else self._asked(place.kind)
        if place in self.given:
            return self.given[place]
        if self.needs.cheap(place):
            if place.op == "param":
                return self.index[body]
            args = [self._primal(a) for a in place.args]
            return b.emit(place.op, *args)
        if self.nest.region[body].op == "if":
            return self._primal(self.needs.slot(body, place))
        if self.nest.region[body] in self.choices:
            return self._primal(self.needs.choice(self.nest.region[body], place))
        self.needs.record(body, place)
        at = self._flat(body)
        if (body, place) not in self.state:
            return self._asked(place.kind)
        return b.emit("load", self.state[body, place], at)

    def _asked(self, kind: str) -> Place:
        """Return a place for a number that the sweep asks for the first time: the sweep is made again."""
        place = Place("param", (), kind)
        self.builder.home[place] = self.builder.tape
        return place

    def _flat(self, body: Body) -> Place:
        """Return where the record of a loop has the iteration that the sweep is at."""
        place, b, k = self.nest.region[body], self.builder, self.index[body]
        if not self.nest.rectangular(body):
            return b.sum(self._primal(self.needs.base(body)), k)
        around = self.nest.around(place)
        if around is None:
            return k
        return b.sum(b.emit("imul", self._flat(around), self._primal(place.args[0])), k)

    def _size(self, array: Place) -> Place:
        """Return the size of an array of the run forward: of what it was made from, as far as that is known."""
        b, op = self.builder, array.op
        if op in ("const", "array"):
            return b.const(len(array.attr if op == "const" else array.args))
        if op == "fill":
            return self._primal(array.args[0])
        if op == "slice":
            return self._primal(array.args[2])
        if op in ("store", "bump"):
            return self._size(array.args[0])
        if op == "grow":
            return b.sum(self._size(array.args[0]), self._primal(array.args[1]))
        made = self.nest.carried(array)
        return self._primal(self.needs.size(array)) if made is None else self._size(made)
