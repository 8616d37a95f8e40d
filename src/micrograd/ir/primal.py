"""The program that an adjoint begins with: the run forward, and what the sweep back needs of it.

The sweep asks for numbers of the run forward one after the other. Those at the top of the tape can simply be read. A number
in a body is computed again where that is cheap. Otherwise an arm of an `if` yields it, and a body of a loop stores it in its
record: one array for each number that is kept, with one item for each iteration, so that nested loops have one flat array.
What is needed is not known before the sweep was made, so it is made twice: the first time for its questions alone.

Records of a loop inside of another one have an item for each iteration of both. Where the inner one is made of cheap
operations, and of nothing that the outer one changes from iteration to iteration, the sweep runs it forward again in each
iteration of the outer one instead: then its records are as long as the inner loop, and stay in the caches.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from micrograd.ir.builder import Builder
from micrograd.ir.dataflow import captured, counted, useful, varied
from micrograd.ir.forms import BOOL, F64, I64, TABLE, ZERO, Body, Place, Tape, is_array, walk
from micrograd.ir.loops import choice

Record = tuple[Body, Place]
CHEAP = {
    *(
        "add",
        "sub",
        "mul",
        "neg",
        "abs",
        "lt",
        "le",
        "gt",
        "ge",
        "eq",
        "ne",
        "ilt",
        "ile",
        "ieq",
        "iadd",
        "isub",
        "imul",
    ),
    *("imin", "imax", "and", "or", "not", "float", "count", "select", "load", "reached"),
}
INSTRUCTIONS = {"div", "sqrt", "floor", "ceil", "imod", "ifloordiv", "int"}  # that the processor has
MOST = 6  # instructions that computing a number again may take: storing and loading it takes about as long
NUMBERS = (F64, I64, BOOL)


class Nest:
    """Where each place of a tape is defined, and which region each body belongs to."""

    def __init__(self, tape: Tape, rerun: Collection[Place] = ()) -> None:
        self.tape = tape
        self.rerun = {p for place in rerun for p in (place, *place.results)}  # what the sweep runs forward again
        self.home: dict[Place, Body] = dict.fromkeys(tape.params, tape)
        self.region: dict[Body, Place] = {}
        self.changed: set[Place] = set()  # arrays that an instruction changes, or a region may
        self._visit(tape)

    def _visit(self, body: Body) -> None:
        for place in body.code:
            self.home[place] = body
            self.home.update(dict.fromkeys(place.results, body))
            if place.op not in ("load", "size", "slice"):
                self.changed.update(a for a in place.args if is_array(a.kind))
            for inner in place.bodies:
                self.region[inner] = place
                self.home.update(dict.fromkeys(inner.params, inner))
                self.changed.update(y for y in inner.yields if is_array(y.kind))
                self._visit(inner)

    def carried(self, array: Place) -> Place | None:
        """Return the array that a loop begins with, for a carried array whose size it does not change; None for others."""
        if array.op == "result":
            loop, k = array.args[0], array.attr
        elif array.op == "param" and self.home[array] is not self.tape:
            loop, k = self.region[self.home[array]], self.home[array].params.index(array)
        else:
            return None
        if loop.op != "loop" or not loop.bodies[0].params[k].attr:
            return None
        begins: Place = loop.args[1 + k] if loop.attr else loop.args[k]
        return begins

    def readable(self, place: Place) -> bool:
        """Return whether the sweep finds a place where it is: it was defined outside of all loops, or just now again."""
        return place in self.rerun or self.home[place] is self.tape

    def kept(self, array: Place) -> bool:
        """Return whether reading an array later costs nothing: nobody changes it in place."""
        return array.op == "const" or (
            self.readable(array) and (array in self.tape.params or array not in self.changed)
        )

    def top(self, body: Body) -> Body:
        """Return the body whose run begins the records of a body: the tape, or one that runs something again."""
        while body is not self.tape:
            region = self.region[body]
            body = self.home[region]
            if region in self.rerun:
                break
        return body

    def around(self, place: Place) -> Body | None:
        """Return the innermost body of a loop that contains a place; None at the top."""
        return None if place in self.rerun else self.loop_around(self.home[place])

    def loop_around(self, body: Body) -> Body | None:
        """Return the innermost body of a loop that is, or contains, a body."""
        while body is not self.tape:
            if self.region[body].op == "loop":
                return body
            if self.region[body] in self.rerun:
                return None
            body = self.home[self.region[body]]
        return None

    def rectangular(self, body: Body) -> bool:
        """Return whether the iterations of a loop, and of those around it, can be counted before they begin."""
        place = self.region[body]
        if not counted(place):
            return False
        times = place.args[0]
        early = times.op == "const" or self.home[times] is self.tape
        if not early and (times not in self.rerun or self.home[times] is not self.top(body)):
            return False
        if place in self.rerun:
            return True
        outside = self.home[place]
        return outside is self.tape or (self.region[outside].op == "loop" and self.rectangular(outside))


class Needs:
    """The numbers of the run forward that the sweep asks for."""

    def __init__(
        self, tape: Tape, rerun: Collection[Place] = (), at_once: dict[Place, dict[int, float]] | None = None
    ) -> None:
        self.at_once = at_once or {}  # loops whose iterations are swept back as soon as they have run: see reverse.py
        now = [p for loop in self.at_once for p in (*loop.bodies[0].params, *loop.bodies[0].code)]
        rerun = {*rerun, *now}
        self.nest = Nest(tape, rerun)
        self.records: dict[Body, dict[Place, None]] = {}  # for the body of a loop: what is stored in each iteration
        self.arms: dict[
            Body, dict[Place, Place]
        ] = {}  # for an arm: what it yields in addition, and the result that has it
        self.slots: dict[Place, dict[tuple[str, int], Place]] = {}  # for an `if`: its results in addition
        self.sizes: dict[Place, Place] = {}  # the size of an array, as a place beside it
        self.bases: dict[Body, Place] = {}  # where the items of one run of a loop begin in its record
        self.chosen: dict[Place, dict[Place, Place]] = {}  # for a loop that chooses: what it yields of that iteration
        self.again: set[Place] = set()  # what is computed again from what is kept
        self.unsure: set[tuple[Place, Any]] = set()  # see reverse.py
        self.asked = False  # whether something new was asked for
        self.sums: dict[
            Place, dict[int, float]
        ] = {}  # loops that only add up, and the cotangents of the sums: constants
        self._cost: dict[Place, int] = {}

    def _beside(self, op: str, place: Place, kind: str, home: Body) -> Place:
        self.asked = True
        found = Place(op, (place,), kind)
        self.nest.home[found] = home
        if place in self.nest.rerun:
            self.nest.rerun.add(found)
        return found

    def size(self, array: Place) -> Place:
        """Return a place that stands for the size of an array."""
        if array not in self.sizes:
            self.sizes[array] = self._beside("size of", array, I64, self.nest.home[array])
        return self.sizes[array]

    def base(self, body: Body) -> Place:
        """Return a place that stands for the beginning of the items of one run of a loop."""
        if body not in self.bases:
            place = self.nest.region[body]
            self.bases[body] = self._beside("base of", place, I64, self.nest.home[place])
        return self.bases[body]

    def choice(self, loop: Place, place: Place) -> Place:
        """Return the place of a number in the last iteration that chose."""
        chosen = self.chosen.setdefault(loop, {})
        if place not in chosen:
            chosen[place] = self._beside("choice of", loop, place.kind, self.nest.home[loop])
        return chosen[place]

    def slot(self, arm: Body, place: Place) -> Place:
        """Return the result of an `if` that has a number of one of its arms."""
        yielded = self.arms.setdefault(arm, {})
        if place not in yielded:
            region = self.nest.region[arm]
            slots = self.slots.setdefault(region, {})
            taken = set(yielded.values())
            number = 0  # both arms share the results: the first one of this kind that this arm does not use
            while slots.get((place.kind, number)) in taken:
                number += 1
            key = place.kind, number
            if key not in slots:
                slots[key] = self._beside("slot of", region, place.kind, self.nest.home[region])
            self.asked = True
            yielded[place] = slots[key]
        return yielded[place]

    def record(self, body: Body, place: Place) -> None:
        """Ask for a number of each iteration of a loop."""
        kept = self.records.setdefault(body, {})
        if place not in kept:
            self.asked = True
            kept[place] = None

    def cost(self, place: Place) -> int:
        """Return how many instructions it takes to compute a place again from what can be read; many if it cannot."""
        if place.op == "const":
            return 0
        if place not in self._cost:
            self._cost[place] = self._find_cost(place)
        return self._cost[place]

    def _find_cost(self, place: Place) -> int:
        body = self.nest.home[place]
        if self.nest.readable(place):
            return 0 if place.kind in NUMBERS or self.nest.kept(place) else MOST + 1
        if place.op == "param":
            loop = self.nest.region[body].op == "loop"
            return 0 if loop and place is body.params[-1] else MOST + 1
        if place.op not in CHEAP:
            return MOST + 1
        # Indices are made of the numbers of iterations, by additions that a loop has anyway.
        return min((place.kind != I64) + sum(self._cost_in(a, place) for a in place.args), MOST + 1)

    def _cost_in(self, operand: Place, place: Place) -> int:
        """Return what an operand costs: nothing where a loop around that of the place keeps it, once for many iterations."""
        if operand.op != "const" and operand.kind in NUMBERS:
            loops = [self.nest.around(p) for p in (operand, place)]
            if loops[0] is not loops[1]:
                return 0
        return self.cost(operand)

    def cheap(self, place: Place) -> bool:
        """Return whether a place is computed again."""
        return place in self.again or self.cost(place) <= MOST

    def thin_out(self) -> None:
        """Leave out of the records, and of the arms, what can be computed from the rest of them."""
        order = {place: k for k, place in enumerate(walk(self.nest.tape))}
        bodies: list[dict[Place, Any]] = [*self.records.values(), *self.arms.values()]
        kept = {p for places in bodies for p in places}
        cost: dict[Place, int] = {}
        for place in sorted((p for p in kept if p in order), key=order.__getitem__):
            if place.op in CHEAP and place.op != "load":
                total = 1
                for a in place.args:
                    total += cost[a] if a in cost else 0 if a in kept else self._cost_in(a, place)
                if total <= MOST:
                    cost[place] = total
        for places in bodies:
            for place in cost:
                places.pop(place, None)
        self.again.update(cost)

    # ---- what is run again in place of records

    def better_run_again(self) -> set[Place]:
        """Return instructions of loops that the sweep may run again, in each iteration, so that they need no records."""
        found: set[Place] = set()
        for body in sorted((b for b, places in self.records.items() if places), key=self._depth, reverse=True):
            if self.nest.top(body) is not self.nest.tape:
                continue
            place = self.nest.region[body]
            while self.nest.home[place] is not self.nest.tape and self.nest.region[self.nest.home[place]].op != "loop":
                place = self.nest.region[self.nest.home[place]]
            if self.nest.home[place] is not self.nest.tape and not any(p in found for p in _inside(place)):
                found |= self._closure(place, self.nest.home[place]) or set()
        return found

    def _depth(self, body: Body) -> int:
        depth = 0
        while body is not self.nest.tape:
            body, depth = self.nest.home[self.nest.region[body]], depth + 1
        return depth

    def _closure(self, place: Place, body: Body) -> set[Place] | None:
        """Return an instruction of the body of a loop with all that has to be run before it; None where it cannot be."""
        if not all(_is_cheap(p) for p in (place, *_inside(place))):
            return None
        found = {place}
        for q in (*place.args, *captured(place.bodies)):
            if q.op == "const" or (q.kind in NUMBERS and self.nest.home[q] is not body):
                continue
            made = q.args[0] if q.op == "result" else q
            if self.nest.home[q] is not body or q.op == "param":
                if q.kind not in NUMBERS and not self.nest.kept(q):
                    return None
            elif made not in found:
                more = self._closure(made, body)
                if more is None and q.kind not in NUMBERS:
                    return None
                found |= more or set()
        return found


def _inside(place: Place) -> list[Place]:
    return [p for body in place.bodies for p in walk(body)]


def _is_cheap(place: Place) -> bool:
    return place.op not in TABLE or place.op in CHEAP or place.op in INSTRUCTIONS


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
