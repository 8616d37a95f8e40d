"""The adjoint: gradients by one sweep from the end of a tape to its beginning, as a tape again.

The sweep keeps a cotangent for each place that has a derivative. That of an array is an array, at least as long, which `bump`
changes in place. The adjoint of a loop is a loop that runs the other way: it carries the cotangents of the carried values, and
those of what its body reads from outside. The adjoint of an `if` is an `if`. Numbers of the run forward come from records.py.

**Reach.** What an arm that was not taken would have used, or a loop without iterations, or an item that nobody loads, gets no
gradient: not even a zero, because a zero times an infinite slope is nan. A cotangent that was never given is -0.0, which
changes no sum that it is added to, and a cotangent that was given is never stored as -0.0: it is added to 0.0 first. So
`reached` tells them apart wherever that is not known when the tape is made.

**Choices.** A loop that keeps one number out of many, as `min` and `max` do, hands its cotangent to one iteration: the last one
in which the number was replaced. The run forward keeps the number of that iteration, and the sweep makes no other.

**Sums.** A loop that does nothing but add up, as a loss over data does, gives all its iterations the same cotangents. Where
these are constants, each iteration is swept back as soon as it has run: nothing of it needs to be kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from micrograd.ir.builder import Builder
from micrograd.ir.dataflow import captured, counted
from micrograd.ir.forms import F64, TABLE, Body, Place, Tape, is_array
from micrograd.ir.loops import Choice, adds_up
from micrograd.ir.partials import partial as slope_of
from micrograd.ir.primal import Needs, Primal
from micrograd.ir.prune import prune

CODED = None  # the flag of a cotangent that tells by itself whether it was given
LATELY = 100  # instructions


class Cotangent(NamedTuple):
    """The cotangent of a place, and whether it was given: the place of a bool, or CODED.

    Where the bool does not hold, the cotangent has no meaning.
    """

    place: Place
    flag: Place | None


def adjoint(tape: Tape, wrt: Sequence[int], of: Sequence[int] = (0,), seeded: bool = False) -> Tape:
    """Return the tape with the gradient by these params after its results, of Σ seed · result over the results `of`.

    With `seeded` the seeds are params after those of the tape: numbers, and for arrays arrays of the same length. Without,
    there is one result, a number, and its seed is 1.
    """
    for k in wrt:
        if tape.params[k].kind not in (F64, "f64[]"):
            raise ValueError(f"param {k} is {tape.params[k].kind}; there are gradients by f64 and f64[]")
    for k in of:
        if tape.yields[k].kind not in (F64, "f64[]"):
            raise ValueError(f"result {k} is {tape.yields[k].kind}; there are gradients of f64 and f64[]")
    if not seeded and [tape.yields[k].kind for k in of] != [F64]:
        raise ValueError(
            "the gradient of several results, or of an array, needs seeds: seeded=True adds params for them"
        )
    return settled(tape, lambda needs, asking: Adjoint(tape, needs, wrt, of, seeded, asking))


def settled(tape: Tape, attempt: Callable[[Needs, bool], Adjoint]) -> Tape:
    """Return the tape of an attempt at the adjoint that asks for nothing new."""

    def asked(needs: Needs) -> Needs:
        attempt(needs, True)
        needs.thin_out()
        return needs

    needs = asked(Needs(tape))
    if needs.sums:
        needs = asked(Needs(tape, at_once=needs.sums))
    again = needs.better_run_again()
    if again:
        needs = asked(Needs(tape, again, needs.at_once))
    while True:
        needs.asked = False
        made = attempt(needs, False)
        if not needs.asked:
            return prune(made.tape)


class Adjoint(Primal):
    """One attempt at the adjoint of a tape: the run forward, then the sweep back."""

    single = True  # whether there is one sweep, so that parts of it may be made with the run forward

    def __init__(
        self, tape: Tape, needs: Needs, wrt: Sequence[int], of: Sequence[int], seeded: bool, asking: bool
    ) -> None:
        b = Builder([p.kind for p in tape.params] + [tape.yields[k].kind for k in of if seeded])
        sources, targets = [tape.params[k] for k in wrt], [tape.yields[k] for k in of]
        super().__init__(tape, needs, b, sources, targets, asking)
        self.yes, self.no = b.const(True), b.const(False)
        self.grads: dict[Place, Cotangent] = {}
        self.sums: set[Place] = set()  # what the loop that the sweep is in sums up
        yields = self._forward(tape)
        self.tape = b.finish([*yields, *self._derivatives(sources, targets, yields, seeded)])

    def _derivatives(
        self, sources: list[Place], targets: list[Place], yields: list[Place], seeded: bool
    ) -> list[Place]:
        """Add the sweep back; return what the tape yields after its results."""
        b, count = self.builder, len(self.source.params)
        for k, y in enumerate(targets):
            if is_array(y.kind):
                self._give_array(y, self._normal(b.params[count + k], self._size(y)))
            else:
                self._give(y, b.params[count + k] if seeded else b.const(1.0), self.yes)
        self._backward(self.source)
        return [self._gradient(p) for p in sources]

    # ---- cotangents

    def _give(self, place: Place, part: Place, flag: Place | None) -> None:
        """Add a part to the cotangent of a number."""
        if place not in self.active or flag is self.no or (part.op == "const" and repr(part.attr) == "-0.0"):
            return
        b, old = self.builder, self.grads.get(place)
        if place in self.source.params:
            # The end of the sweep: nobody asks whether it was given.
            part, flag = self._masked(Cotangent(part, flag)), self.yes
        if old is None:
            self.grads[place] = Cotangent(part, flag)
            return
        sure = self.yes in (old.flag, flag) and not (old.flag is CODED and place in self.sums)
        if not sure and CODED in (old.flag, flag):
            one, two, both = self._coded(old), self._coded(Cotangent(part, flag)), CODED
        else:
            one, two = self._masked(old), self._masked(Cotangent(part, flag))
            both = self.yes if sure else b.emit("or", self._flag(old), self._flag(Cotangent(part, flag)))
        self.grads[place] = Cotangent(b.emit("add", one, two), both)

    def _masked(self, found: Cotangent) -> Place:
        """Return a cotangent that changes no sum where it was not given."""
        return found.place if found.flag is CODED else self._where(found.flag, found.place)

    def _where(self, flag: Place, x: Place) -> Place:
        return self.builder.emit("select", flag, x, self.builder.const(-0.0))

    def _flag(self, found: Cotangent) -> Place:
        """Return whether a cotangent was given."""
        flag = self.builder.emit("reached", found.place) if found.flag is CODED else found.flag
        truth = self.builder.decided(flag)
        return flag if truth is None else self.builder.const(truth)

    def _coded(self, found: Cotangent | None) -> Place:
        """Return a cotangent that is -0.0 where it was not given, and nowhere else."""
        b = self.builder
        if found is None:
            return b.const(-0.0)
        if found.flag is CODED:
            return found.place
        return self._where(found.flag, b.emit("add", found.place, b.const(0.0)))

    def _through(self, place: Place, which: object, found: Cotangent | None) -> Place:
        """Return a cotangent as a region takes it in or yields it: coded, unless it is known to be given each time.

        That is assumed until one case is found in which it does not hold; then the sweep is made anew.
        """
        if found is not None and found.flag is self.yes:
            return found.place if self._sure(place, which) else self._coded(found)
        if self._sure(place, which):
            self.needs.unsure.add((place, which))
            self.needs.asked = True
        return self._coded(found)

    def _sure(self, place: Place, which: object) -> bool:
        """Return whether a cotangent that goes through a region is assumed to be given."""
        return (place, which) not in self.needs.unsure

    def _went(self, place: Place, which: object) -> Place | None:
        """Return the flag of a cotangent that went through a region."""
        return self.yes if self._sure(place, which) else CODED

    def _array(self, array: Place) -> Place:
        """Return the cotangent of an array, a new one if there is none yet."""
        found = self.grads.get(array)
        if found is None:
            # Nobody asks which items of an argument were given a cotangent.
            end = array in self.source.params
            zeros = self.builder.emit("fill", self._size(array), self.builder.const(0.0 if end else -0.0))
            found = self.grads[array] = Cotangent(zeros, self.yes if end else CODED)
        return found.place

    def _give_array(self, array: Place, part: Place) -> None:
        """Add a part to the cotangent of an array. It may be longer than the array, and tells which items were given."""
        if array not in self.active:
            return
        b, old = self.builder, self.grads.get(array)
        if old is None:
            self.grads[array] = Cotangent(part, CODED)
            return
        total = self._each(
            self._size(array), old.place, lambda total, j: b.emit("bump", total, j, b.emit("load", part, j))
        )
        self.grads[array] = Cotangent(total, old.flag)

    def _bump(self, array: Place, i: Place, x: Place) -> Place:
        """Return a cotangent of an array with more for one item: a store, where a store has just taken everything from it."""
        b = self.builder
        last = array.args[0] if array.op == "bump" else array
        cleared = last.op == "store" and last.args[2].op == "const" and repr(last.args[2].attr) == "-0.0"
        if cleared and last.args[1] is i and self._read_by_nobody_else(last, array):
            stored = b.emit("store", last.args[0], i, x)
            return stored if array is last else b.emit("bump", stored, *array.args[1:])
        return b.emit("bump", array, i, x)

    def _read_by_nobody_else(self, first: Place, last: Place) -> bool:
        """Return whether the open body has made an array lately, and nobody reads it but what made the last one of it."""
        for place in reversed(self.builder.open[-1].code[-LATELY:]):
            if place is first:
                return True
            if place.bodies or (place is not last and (first in place.args or last in place.args)):
                return False
        return False

    def _each(self, times: Place, x: Place, step: Callable[[Place, Place], Place]) -> Place:
        """Return x after one step for each j below `times`."""
        b = self.builder
        return b.loop(times, [x], lambda params, j: (b.const(True), [step(params[0], j)]))[0]

    def _normal(self, array: Place, size: Place) -> Place:
        """Return an array with 0.0 in place of -0.0."""
        b = self.builder
        return self._each(
            size, array, lambda x, j: b.emit("store", x, j, b.emit("add", b.emit("load", x, j), b.const(0.0)))
        )

    def _gradient(self, param: Place) -> Place:
        b, found = self.builder, self.grads.get(param)
        if not is_array(param.kind):
            return b.const(0.0) if found is None else b.emit("add", found.place, b.const(0.0))
        size = b.emit("size", self._of(param))
        if found is None:
            return b.emit("fill", size, b.const(0.0))
        if found.flag is self.yes:
            return found.place
        # It came back through stores: it may be too long, and has -0.0 where it was not given.
        return self._normal(b.emit("slice", found.place, b.const(0), size), size)

    # ---- the sweep

    def _backward(self, body: Body) -> None:
        for place in reversed(body.code):
            if place.op == "if":
                self._backward_if(place)
            elif place.op == "loop":
                self._backward_loop(place)
            elif place in self.grads and place in self.active:
                if place.op in TABLE:
                    self._backward_number(place, self.grads.pop(place))
                else:
                    self._backward_array(place, self.grads.pop(place))

    def _backward_number(self, place: Place, found: Cotangent) -> None:
        b, flag, g = self.builder, self._flag(found), found.place
        if flag is self.no:
            return
        if place.op == "select":
            condition = self._primal(place.args[0])
            for here, a in zip((condition, b.emit("not", condition)), place.args[1:]):
                self._give(a, g, b.emit("and", here, flag))
            return
        op = TABLE[place.op].op
        assert op is not None
        finders: list[Callable[[], Place]] = [partial(self._primal, a) for a in place.args]
        for k, a in enumerate(place.args):
            if a not in self.active or k in op.steps:
                continue
            slope = slope_of(b, op, k, finders, partial(self._primal, place))
            if slope.op == "const" and slope.attr == 1.0:
                self._give(a, g, found.flag)
                continue
            part = b.emit("neg", g) if slope.op == "const" and slope.attr == -1.0 else b.emit("mul", slope, g)
            self._give(a, part, flag)

    def _backward_array(self, place: Place, found: Cotangent) -> None:
        b, op, args = self.builder, place.op, place.args
        if op == "load":
            array, i = args
            if array not in self.active:
                return
            total = self._array(array)
            g = self._masked(found) if self.grads[array].flag is self.yes else self._coded(found)
            self.grads[array] = Cotangent(self._bump(total, self._primal(i), g), self.grads[array].flag)
            return
        bar = found.place
        if op in ("store", "bump", "append"):
            x = args[-1]
            if x in self.active:
                i = self._size(args[0]) if op == "append" else self._primal(args[1])
                self._give(x, b.emit("load", bar, i), CODED)
            if op == "store" and args[0] in self.active:
                bar = b.emit("store", bar, self._primal(args[1]), b.const(-0.0))
            self._give_array(args[0], bar)
        elif op == "grow":
            self._give_array(args[0], bar)
        elif op == "array":
            for k, x in enumerate(args):
                if x in self.active:
                    self._give(x, b.emit("load", bar, b.const(k)), CODED)
        elif op == "fill":
            total = self._each(
                self._primal(args[0]), b.const(-0.0), lambda t, j: b.emit("add", t, b.emit("load", bar, j))
            )
            self._give(args[1], total, CODED)
        elif op == "slice":
            array, i, n = args
            if array in self.active:
                first = self._primal(i)

                def step(total: Place, j: Place) -> Place:
                    return b.emit("bump", total, b.sum(first, j), b.emit("load", bar, j))

                total = self._each(self._primal(n), self._array(array), step)
                self.grads[array] = Cotangent(total, self.grads[array].flag)

    def _outside(self, place: Place) -> list[Place]:
        """Return the active places that the bodies of a region read from outside. Arrays have a cotangent from now on."""
        found = [q for q in captured(place.bodies) if q in self.active]
        for q in found:
            if is_array(q.kind):
                self._array(q)
        return found

    def _backward_if(self, place: Place) -> None:
        results = [(k, self.grads.pop(r)) for k, r in enumerate(place.results) if r in self.grads and r in self.active]
        if not results:
            return

        def arm(inner: Body) -> None:
            for k, g in results:
                if is_array(g.place.kind):
                    self._give_array(inner.yields[k], g.place)
                else:
                    self._give(inner.yields[k], g.place, g.flag)
            self._backward(inner)

        then, otherwise = place.bodies
        outside = [q for q in captured(place.bodies) if q in self.active]
        self._either(place, self._primal(place.args[0]), outside, partial(arm, then), partial(arm, otherwise))

    def _either(
        self,
        place: Place,
        condition: Place,
        outside: list[Place],
        then: Callable[[], None],
        otherwise: Callable[[], None],
    ) -> None:
        """Sweep back one of two ways, which give cotangents to places outside."""
        for q in outside:
            if is_array(q.kind):
                self._array(q)
        before = self.grads
        given = {q: before[q] for q in outside if q in before}
        # A number that has a cotangent already keeps it in both arms.
        kept = {q for q, g in given.items() if g.flag is self.yes}

        def total(q: Place) -> Place:
            if is_array(q.kind):
                return self._array(q)
            return self.grads[q].place if q in kept else self._through(place, q, self.grads.get(q))

        def arm(sweep: Callable[[], None]) -> list[Place]:
            self.grads = dict(given)
            sweep()
            return [total(q) for q in outside]

        found = self.builder.choose(condition, lambda: arm(then), lambda: arm(otherwise))
        self.grads = before
        for q, g in zip(outside, found):
            if g.op == "const" and repr(g.attr) == "-0.0":
                self.grads.pop(q, None)
            else:
                coded = is_array(q.kind) or not self._sure(place, q)
                self.grads[q] = Cotangent(g, CODED if coded and q not in kept else self.yes)

    def _backward_loop(self, place: Place) -> None:
        b, (inner,) = self.builder, place.bodies
        if not any(r in self.grads and r in self.active for r in place.results):
            return
        if place in self.choices:
            self._backward_choice(place, self.choices[place])
            return
        if self.nest.home[place] is self.source:
            seeds = self._seeds(place)
            if place in self.needs.at_once:
                assert seeds == self.needs.at_once[place], "the cotangents of a sum have changed"
                init = place.args[1:] if place.attr else place.args
                for k in seeds or ():
                    g = self.grads.pop(place.results[k])
                    self._give(init[k], g.place, g.flag)
                return
            if seeds is not None and self.asking and self.single:
                self.needs.sums[place] = seeds
        # The cotangents of carried values go from iteration to iteration; those of outside places are sums.
        carried = [k for k, p in enumerate(inner.params[:-1]) if p in self.active]
        start = []
        for k in carried:
            r = place.results[k]
            start.append(self._array(r) if is_array(r.kind) else self._through(place, k, self.grads.get(r)))
            self.grads.pop(r, None)
        outside = self._outside(place)
        totals, flags = self._totals(outside)
        start += totals
        times = self._primal(place.args[0] if counted(place) else place.results[-1])
        times = b.emit("imax", times, b.const(0))
        before, sums = self.grads, self.sums

        def make(params: list[Place], r: Place) -> tuple[Place, list[Place]]:
            self.index[inner] = b.sum(b.sum(times, -1), r, -1)
            held = self.at, self.state
            self._run_again(inner)
            own, rest = params[: len(carried)], params[len(carried) :]
            self.grads, self.sums = {q: Cotangent(p, flags[q]) for q, p in zip(outside, rest)}, set(outside)
            for k, p in zip(carried, own):
                if is_array(p.kind):
                    self._give_array(inner.yields[1 + k], p)
                else:
                    self._give(inner.yields[1 + k], p, self._went(place, k))
            self._backward(inner)
            following = []
            for k in carried:
                p = inner.params[k]
                following.append(self._array(p) if is_array(p.kind) else self._through(place, k, self.grads.get(p)))
            following += self._after_iteration(flags)
            self.at, self.state = held
            return self.yes, following

        found = b.loop(times, start, make)
        self.grads, self.sums = before, sums
        for q, total in zip(outside, found[len(carried) :]):
            self.grads[q] = Cotangent(total, flags[q])
        init = place.args[1:] if place.attr else place.args
        for k, total in zip(carried, found):
            if is_array(total.kind):
                self._give_array(init[k], total)
            else:
                self._give(init[k], total, self._went(place, k))

    def _totals(self, outside: list[Place]) -> tuple[list[Place], dict[Place, Place | None]]:
        """Return the sums of cotangents that a loop begins with, and their flags."""
        start, flags = [], {}
        for q in outside:
            g = self.grads.get(q)
            end = q in self.source.params and not is_array(q.kind)  # nobody asks whether it was given
            flags[q] = self.yes if end else g.flag if g is not None and g.flag is self.yes else CODED
            start.append(self._coded(g) if g is None or flags[q] is CODED else g.place)
        return start, flags

    def _after_iteration(self, flags: dict[Place, Place | None]) -> list[Place]:
        """Return these sums after an iteration."""
        coded = {q for q, flag in flags.items() if flag is CODED and not is_array(q.kind)}
        return [self._coded(self.grads[q]) if q in coded else self.grads[q].place for q in flags]

    def _seeds(self, place: Place) -> dict[int, float] | None:
        """Return the constant cotangents of the sums that a loop makes; None where it does more, or they are not known."""
        (inner,) = place.bodies
        found = {}
        for k, (p, y) in enumerate(zip(inner.params, inner.yields[1:])):
            if p in self.active:
                g = self.grads.get(place.results[k])
                if g is None or g.flag is not self.yes or g.place.op != "const" or repr(g.place.attr) == "-0.0":
                    return None
                if not adds_up(p, y, inner, self.active):
                    return None
                found[k] = g.place.attr
        return found

    def _at_once(self, place: Place, args: list[Place]) -> None:
        """Add a loop that only adds up; each iteration is swept back as soon as it has run."""
        b, (inner,) = self.builder, place.bodies
        times = args.pop(0) if place.attr else None
        count, seeds = len(args), self.needs.at_once[place]
        start, flags = self._totals(self._outside(place))
        before, sums = self.grads, self.sums

        def make(params: list[Place], k: Place) -> tuple[Place, list[Place]]:
            self.at.update(zip(inner.params, [*params[:count], k]))
            held = self.state
            self.state = {**held, **self._records_of(inner)}
            again, *following = self._forward(inner)
            self.index[inner] = k
            self.grads, self.sums = {q: Cotangent(p, flags[q]) for q, p in zip(flags, params[count:])}, set(flags)
            for n, seed in seeds.items():
                self._give(inner.yields[1 + n], b.const(seed), self.yes)
            self._backward(inner)
            following += self._after_iteration(flags)
            self.state = held
            return again, following

        steady = [k for k in range(count) if inner.params[k].attr]
        found = b.loop(times, [*args, *start], make, steady)
        self.at.update(zip(place.results, [*found[:count], found[-1]]))
        self.grads, self.sums = before, sums
        self.grads.update((q, Cotangent(total, flags[q])) for q, total in zip(flags, found[count:-1]))

    def _backward_choice(self, place: Place, choice: Choice) -> None:
        """Sweep back the one iteration that a loop chose its numbers in, or what it began with if it chose nothing."""
        b, (inner,) = self.builder, place.bodies
        init = place.args[1:] if place.attr else place.args
        results = [(k, self.grads.pop(r)) for k, r in enumerate(place.results) if r in self.grads and r in self.active]
        at = self._primal(self.needs.choice(place, inner.params[-1]))
        outside = dict.fromkeys(
            q for q in (*captured(place.bodies), *(init[k] for k, _ in results)) if q in self.active
        )

        def never() -> None:
            for k, g in results:
                self._give(init[k], g.place, g.flag)

        def chosen() -> None:
            self.index[inner], self.given[choice.condition] = at, b.const(choice.holds)
            held = self.at, self.state
            self._run_again(inner)
            for k, g in results:
                self._give(inner.yields[1 + k], g.place, g.flag)
            self._backward(inner)
            self.at, self.state = held
            del self.given[choice.condition]

        self._either(place, b.emit("ilt", at, b.const(0)), list(outside), never, chosen)
