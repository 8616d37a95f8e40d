"""A typed tape as a tape of floats (tape/), for rows: each row takes both arms of a branch, and picks the numbers of one.

A row is a lane of a vector, so branches become `pick`, and a loop goes on as long as one row needs it. Ints and bools become
floats, which is exact: a typed tape has a `check` where an int may pass 2**53. The lengths of the arguments are those of one
row, hence known. A short loop is written out, as are arrays whose items are known one by one; a long loop stays a loop. The
conditions of all checks are collected in one guard: the rows that it rejects are for the caller to run in another way.

An index that differs by row becomes a choice among all items. What cannot be written down in this way is Refused: an array that
grows in a loop whose iterations are not counted, or a size that differs by row where the array is handed out.
"""

from __future__ import annotations

from collections.abc import Callable
from math import frexp, inf
from typing import Any, NamedTuple

from micrograd.abstract.calls import DEEP
from micrograd.abstract.errors import Refused
from micrograd.ir import forms
from micrograd.ir.dataflow import counted
from micrograd.ir.forms import TABLE
from micrograd.stage.conditions import asked_first, condition_of
from micrograd.stage.floats import ITERATION, Array, Frame, Number, added, appended_alone
from micrograd.stage.lanes_of_floats import FEW, ITEMS, SPECULATED, Lanes
from micrograd.tape import passes
from micrograd.tape.tape import INPUT, PICK, Loop, Tape

SHORT = 12  # iterations from which on a loop stays one; choices between so many numbers cost less than a loop over them
FLOATS = {"iadd": "add", "isub": "sub", "imul": "mul", "ilt": "lt", "ile": "le", "ieq": "eq"}
SIGNED = ("imul",)  # operations whose result may be -0.0 where that of ints is 0
DRAWN = ("philox", "normal", "probit")


class Growing(Exception):
    """A list becomes longer in a loop whose iterations are not counted."""


class Lowered(NamedTuple):
    """The tape, whose outputs are the numbers that were asked for, and whether it has paths of more than one row."""

    tape: Tape
    chooses: bool
    rolled: bool  # whether there is a loop that stays one
    notes: dict[str, str]  # what became of each loop: file:line → words
    bounded: bool  # whether the rows that it rejects do no more than repeat something more often than is written out


class Lowering(Lanes):
    """Writes a typed tape as a tape of floats."""

    def __init__(self, inputs: int, params: int, work: int = 0, kept: int = 0, most: int = 8) -> None:
        """`work`: from so many instructions of all iterations on, a loop without choices stays a loop.

        `kept`: how many carried numbers of all iterations a derivative keeps; 0 for all of them. `most`: how many iterations
        are written out of a loop in which a list becomes longer until rows leave it.
        """
        super().__init__(inputs, params)
        self.kept, self.most = kept, most
        self.notes: dict[str, str] = {}  # what became of each loop: file:line → words
        self.bounds = self.checks = 0  # guards because of what is written out only so often, and other ones
        self.at: dict[forms.Place, Any] = {}
        self.work = work
        self.used: set[forms.Place] = set()  # the places of the typed tape that are read
        self.rolled = False

    # ---- instructions

    def body(self, body: forms.Body) -> list[Any]:
        """Write a body; returns what it yields."""
        for place in body.code:
            self.instruction(place)
        return [self.of(y) for y in body.yields]

    def of(self, place: forms.Place) -> Any:
        """What is at a place of the typed tape."""
        if place.op == "const" and place not in self.at:
            if isinstance(place.attr, tuple):
                self.at[place] = self.array([self.const(x) for x in place.attr])
            else:
                self.at[place] = self.const(place.attr)
        return self.at[place]

    def instruction(self, place: forms.Place) -> None:
        """Write one instruction."""
        if place.op == "if":
            self._if(place)
        elif place.op == "loop":
            found = self._loop(place)
            self.at.update(zip(place.results, found, strict=True))
        elif place.op == "slopes":
            self.at.update(zip(place.results, self._slopes(place), strict=True))
        elif place.op == "check":
            fails = self.both(self.frame.mask, self.negated(self.of(place.args[0])))
            assert fails is not None
            if fails.constant != 0.0:
                self.frame.rejected.append(fails)
                if place.attr.endswith(DEEP):
                    self.bounds += 1
                else:
                    self.checks += 1
        else:
            args = [self.of(a) for a in place.args]
            self.at[place] = self._number(place.op, args) if place.op in TABLE else self._array(place.op, args)

    def _number(self, op: str, args: list[Any]) -> Any:
        if op in DRAWN:
            raise Refused("random numbers are drawn")
        if op == "select":
            return self.merged(*args)
        if op == "and":
            return self.both(*args)
        if op == "or":
            return self.either(*args)
        if op == "not":
            return self.negated(*args)
        if op in ("float", "count"):
            return args[0]
        if op == "int":
            return self.emit("add", self.emit("trunc", *args), self.const(0.0))
        if op in ("imin", "imax"):
            a, b = args if op == "imin" else args[::-1]
            c = self.emit("lt", a, b)
            if self.uniform(a) and self.uniform(b):
                self.frame.uniform.add(self.frame.of(c))
            return self.emit(PICK, c, args[0], args[1])
        if op in ("ifloordiv", "imod"):
            a, b = args
            by = b.constant
            if (
                by is not None and by > 0 and (self.uniform(a) or frexp(by)[0] == 0.5)
            ):  # the quotient is exact, or small
                quotient = self.emit("floor", self.emit("div", a, b))
                if self.uniform(a):
                    self.frame.uniform.add(self.frame.of(quotient))
                return quotient if op == "ifloordiv" else self.emit("sub", a, self.emit("mul", b, quotient))
            return self.emit("add", self.emit("floordiv" if op == "ifloordiv" else "mod", a, b), self.const(0.0))
        if op == "reached":
            (a,) = args
            zero = self.const(0.0)
            return self.either(
                self.emit("ne", a, zero), self.emit("gt", self.emit("copysign", self.const(1.0), a), zero)
            )
        found = self.emit(FLOATS.get(op, op), *args)
        if op in SIGNED and not (self.uniform(found) or any((a.constant or -1.0) > 0.0 for a in args)):
            found = self.emit("add", found, self.const(0.0))
        return found

    # ---- branches

    def _if(self, place: forms.Place) -> None:
        c = self.of(place.args[0])
        if c.constant is not None:
            found = self.body(place.bodies[0 if c.constant else 1])
        else:
            frame, arms = self.frame, []
            before = frame.mask
            refused: Refused | None = None
            for body, mask in zip(place.bodies, (c, self.negated(c))):
                frame.mask = self.both(before, mask)
                rejected = list(frame.rejected)
                try:
                    arms.append(self.body(body))
                except Refused as reason:
                    if refused is not None:
                        raise
                    refused = reason
                    assert frame.mask is not None
                    frame.rejected = [*rejected, frame.mask]
                    self.checks += 1
            frame.mask = before
            found = arms[0] if refused is not None else [self.merged(c, a, b) for a, b in zip(*arms)]
        self.at.update(zip(place.results, found, strict=True))

    # ---- derivatives

    def _slopes(self, place: forms.Place) -> list[Any]:
        """The number that a body yields, and its derivatives by the params that are floats, by the passes of these tapes."""
        (body,), frame = place.bodies, self.frame
        args = [self.of(a) for a in place.args]
        given: list[int] = []  # the places of the numbers that the body is given
        inner = Lowering(1 << 20, 0, self.work, self.kept, self.most)
        inner.used = self.used
        wrt: list[int] = []

        def taken(x: Number, varies: bool) -> Number:
            if x.constant is not None and not varies:
                return inner.const(x.constant)
            made = inner.input(len(given))
            given.append(frame.of(x))
            if self.uniform(x):
                inner.root.uniform.add(made.place)
            if varies:
                wrt.append(len(given) - 1)
            return made

        for param, x in zip(body.params, args):
            varies = param.kind in ("f64", "f64[]")
            if isinstance(x, Number):
                inner.at[param] = taken(x, varies)
            else:
                size = self.whole(x.size)
                inner.at[param] = inner.array([taken(y, varies) for y in self.items(x)[:size]])
        (value,) = inner.body(body)
        found = _finished(inner, [value]).copy(inputs=len(given))
        self.chooses |= inner.chooses
        self.rolled |= inner.rolled
        self.notes |= inner.notes
        self.bounds, self.checks = self.bounds + inner.bounds, self.checks + inner.checks
        found = passes.fuse(passes.prune(passes.hoist(passes.simplify(found))))
        found = passes.checkpoint(found, self.kept) if self.kept else found
        places = passes.sources(found, INPUT, len(given))
        derived = passes.adjoint(found, [places[k] for k in wrt])
        checked = [a for _, a, _, _ in derived.guards]
        derived = derived.copy(outputs=(*derived.outputs, *checked), guards=())
        results = [Number(frame, p) for p in frame.builder.inline(derived, given)]
        for fails in results[1 + len(wrt) :]:
            rejected = self.both(frame.mask, fails)
            assert rejected is not None
            frame.rejected.append(rejected)
        slopes = iter(results[1:])
        parts: list[Any] = []
        for param, x in zip(body.params, args):
            if param.kind == "f64":
                parts.append(next(slopes))
            elif param.kind == "f64[]":
                parts.append(self.array([next(slopes) for _ in range(self.whole(x.size))]))
        return [results[0], *parts]

    # ---- loops

    def _loop(self, place: forms.Place) -> list[Any]:
        args = [self.of(a) for a in place.args]
        times, carried = (args[0], args[1:]) if place.attr else (None, args)
        count = None if times is None or times.constant is None else max(0, int(times.constant))
        if count is not None and self._is_written_out(place, count):
            return self._written_out(place, count, carried)
        try:
            return self._rolled(place, times, count, carried)
        except Growing:
            return self._written_out(place, self.most, carried, times)

    def _is_written_out(self, place: forms.Place, count: int) -> bool:
        (body,) = place.bodies
        if count < SHORT:
            return True
        chooses = not counted(place) or any(p.bodies or p.op == "select" for p in body.code)
        return not chooses and count * len(body) < self.work

    def _written_out(
        self, place: forms.Place, count: int, carried: list[Any], times: Number | None = None
    ) -> list[Any]:
        """Write so many iterations. Rows that make more of them are rejected; `times` is how many a row makes at most."""
        (body,), frame = place.bodies, self.frame
        before, going, trips = frame.mask, self.const(1.0), self.const(0.0)
        for k in range(count + 1):
            if times is not None:
                more = self.both(going, self.emit("lt", self.const(k), times))
                assert more is not None
                going = more
            if going.constant == 0.0 or k == count:
                break
            frame.mask = self.both(before, going)
            self.at.update(zip(body.params, [*carried, self.const(k)], strict=True))
            again, *following = self.body(body)
            carried = [self.merged(going, y, x) for x, y in zip(carried, following)]
            trips = self.emit("add", trips, going)
            found = self.both(going, again)
            assert found is not None
            going = found
        frame.mask = before
        ends = "the same in all rows" if going.constant is not None else "rows that are done are masked"
        self._note(place, f"a loop of {count} iterations, unrolled, {ends}")
        if going.constant != 0.0 and not self._ends(place, count):
            late = self.both(before, going)
            assert late is not None
            frame.rejected.append(late)
            self.bounds += 1
        return [*carried, trips]

    def _note(self, place: forms.Place, what: str) -> None:
        if place.line:
            self.notes[place.line] = what

    def _ends(self, place: forms.Place, count: int) -> bool:
        """Whether a loop makes so many iterations at most."""
        times = self.of(place.args[0]) if place.attr else None
        return times is not None and times.constant is not None and times.constant <= count

    def _rolled(self, place: forms.Place, times: Number | None, count: int | None, carried: list[Any]) -> list[Any]:
        (body,), outer = place.bodies, self.frame
        rooms = [x.room if isinstance(x, Array) else 0.0 for x in carried]
        mosts = [x.most if isinstance(x, Array) else 0.0 for x in carried]
        steps: list[float | None] = [None] * len(carried)
        counts = [self._may_count(param, x) for param, x in zip(body.params, carried)]
        if any(counts) or any(isinstance(x, Array) and not body.params[k].attr for k, x in enumerate(carried)):
            rooms, mosts, steps = self._rooms(place, count, carried)
        always = counted(place) and count is not None
        slots: list[Number] = []  # what is carried, as it is before the loop
        zero, one = self.const(0.0), self.const(1.0)
        if not always:
            begins = one if times is None else self.emit("lt", zero, times)
            slots.append(self.both(outer.mask, begins) or one)
        started: list[Any] = []  # the carried values as the body has them: the numbers of their slots
        counters = {k: steps[k] for k, x in enumerate(carried) if counts[k] and steps[k] is not None}
        frame = Frame(outer, outer.mask if always else None)
        frame.last = (count if count is not None else outer.bounds(times)[1] if times is not None else inf) - 1
        for k, x in enumerate(carried):
            if isinstance(x, Number):
                if k in counters and always:
                    started.append(x)
                    continue
                started.append(Number(frame, frame.builder.source(INPUT, len(slots))))
                slots.append(x)
                continue
            size, few = x.size, rooms[k] <= FEW
            data = [*self.items(x), *[zero] * int(rooms[k] - x.room)] if few else [self.place(x, rooms[k])]
            there = [Number(frame, frame.builder.source(INPUT, len(slots) + j)) for j in range(len(data))]
            slots += data
            if not body.params[k].attr:
                slots.append(x.size)
                size = Number(frame, frame.builder.source(INPUT, len(slots) - 1))
            made = Array(there, None, size, x.most) if few else Array(None, there[0], size, x.most, rooms[k])
            started.append(made)
        trips = len(slots)
        slots += [zero, zero]  # iterations, rejected rows
        frame.carried = len(slots)
        number = Number(frame, frame.builder.source(INPUT, ITERATION))
        frame.uniform.add(number.place)
        self.frame = frame
        try:
            for n, by in counters.items():
                started[n] = self.emit("add", carried[n], self.emit("mul", number, self.const(by or 0.0)))
            for n, step in enumerate(steps):
                x = carried[n]
                if step is not None and isinstance(x, Array) and self.uniform(x.size):  # it follows from the iteration
                    started[n].size = self.emit("add", x.size, self.emit("mul", number, self.const(step)))
            self.at.update(zip(body.params, [*started, number], strict=True))
            again, *following = self.body(body)
            outputs: list[Number] = []
            lines: dict[int, tuple[Number, float]] = {}
            stacked: dict[int, Number] = {}  # what iterations add to a list that is empty before them
            if not always:
                goes_on = again
                if times is not None and count is None:
                    goes_on = self.both(again, self.emit("lt", self.emit("add", number, one), times))
                outputs.append(goes_on)
            for n, x in enumerate(following):
                if isinstance(x, Number):
                    if n not in counters or not always:
                        outputs.append(x)
                    continue
                if rooms[n] <= FEW:
                    outputs += self.items(x)[: int(rooms[n])]
                else:
                    added = appended_alone(frame, started[n], x) if always and steps[n] == 1.0 else None
                    if added is not None and carried[n].size.constant == 0.0:
                        stacked[n] = added
                        line = frame.linear(added) if self.uniform(added) else None
                        if line is not None and line[0].constant is not None:
                            lines[n] = Number(outer, outer.builder.const(line[0].constant)), line[1]
                        x = started[n]
                    outputs.append(self.place(x, rooms[n]))
                if not body.params[n].attr:
                    outputs.append(x.size)
            rejected = Number(frame, frame.builder.source(INPUT, trips + 1))
            for x in frame.rejected:
                rejected = self.either(rejected, x)
            outputs += [self.emit("add", Number(frame, frame.builder.source(INPUT, trips)), one), rejected]
            tape = frame.body([frame.of(x) for x in (*outputs, *stacked.values())])
        finally:
            self.frame = outer
        condition, late = None, 0.0
        if not always:
            self.chooses = True
            asked = asked_first(tape, trips)
            if asked is not None and (times is None or place.results[-1] not in self.used):
                tape, condition = asked
                late = 1.0  # the iteration that is not made counts in the typed tape
            else:
                condition = condition_of(tape, [outer.of(x) for x in slots], list(frame.read), outer.builder)
        region = Loop(tape, len(slots), len(frame.read), count, condition)
        self.rolled = True
        often = f"{count} iterations" if count is not None else "as many iterations as each row needs"
        done = "" if always else ", rows that are done are masked"
        self._note(place, f"a loop in the tape, {len(tape)} instructions per iteration, {often}{done}")
        places = self._region(region, [*(outer.of(x) for x in slots), *frame.read])
        results = [Number(outer, p) for p in places]
        if frame.rejected:
            outer.rejected.append(results[trips + 1])
        found: list[Any] = []
        arrays = dict(zip(stacked, results[len(slots) :]))
        left = iter(results[0 if always else 1 :])
        for n, x in enumerate(carried):
            if isinstance(x, Number) and n in counters and always:
                found.append(self.emit("add", x, self.const((counters[n] or 0.0) * (count or 0))))
            elif isinstance(x, Number):
                found.append(next(left))
            else:
                few = rooms[n] <= FEW
                data = [next(left) for _ in range(int(rooms[n]) if few else 1)]
                size = x.size if body.params[n].attr else next(left)
                step = steps[n]
                if always and step is not None and self.uniform(x.size):
                    size = self.emit("add", x.size, self.const(step * (count or 0)))
                if n in arrays:
                    found.append(Array(None, arrays[n], size, mosts[n], count))
                    found[-1].linear = lines.get(n)
                    continue
                found.append(
                    Array(data, None, size, mosts[n]) if few else Array(None, data[0], size, mosts[n], rooms[n])
                )
        return [*found, self.const(count or 0) if always else self.emit("add", results[trips], self.const(late))]

    def _may_count(self, param: forms.Place, x: Any) -> bool:
        """Whether a carried value is an int that is the same in all rows before the loop, and may be so in its iterations."""
        return param.kind == "i64" and isinstance(x, Number) and self.uniform(x)

    def _rooms(self, place: forms.Place, count: int | None, carried: list[Any]) -> tuple[Any, Any, Any]:
        """How much room the carried arrays need, how long they may be, and what each iteration adds, if that is always so."""
        (body,), outer = place.bodies, self.frame
        most = count if count is not None else outer.bounds(self.of(place.args[0]))[1] if place.attr else inf
        kept = dict(self.at), self.chooses, self.rolled
        frame = self.frame = Frame(outer, outer.mask)
        frame.last = most - 1
        try:
            started: list[Any] = []
            for x in carried:
                there = Number(frame, frame.builder.source(INPUT, len(started)))
                if isinstance(x, Array):
                    size = Number(frame, frame.builder.source(INPUT, ITERATION - 1 - len(started)))
                    started.append(Array(None, there, size, x.most, SPECULATED))
                    if self.uniform(x.size):
                        frame.uniform.add(size.place)
                    continue
                if self._may_count(body.params[len(started)], x):
                    frame.uniform.add(there.place)
                started.append(there)
            k = Number(frame, frame.builder.source(INPUT, ITERATION))
            self.at.update(zip(body.params, [*started, k], strict=True))
            frame.uniform.add(k.place)
            _, *following = self.body(body)
        finally:
            self.frame = outer
            self.at, self.chooses, self.rolled = kept
        rooms, mosts, steps = [], [], []
        for x, y, z in zip(carried, following, started):
            more = y.most - x.most if isinstance(x, Array) else 0.0
            if more > 0 and most > ITEMS:
                raise Growing
            mosts.append(x.most + max(more, 0.0) * most if more > 0 else x.most if isinstance(x, Array) else 0.0)
            rooms.append(max(x.room, mosts[-1]) if isinstance(x, Array) else 0.0)
            steps.append(added(frame, y.size, z.size) if isinstance(x, Array) else added(frame, y, z))
        return rooms, mosts, steps


def _read(place: forms.Place) -> list[forms.Place]:
    return [*place.args, *(y for body in place.bodies for y in body.yields)]


def lowered(
    tape: forms.Tape,
    inputs: int,
    params: int,
    given: Callable[[Lowering, int], Any],
    outputs: Any,
    work: int = 0,
    kept: int = 0,
    most: int = 8,
) -> Lowered:
    """Return the tape of floats that does what a typed tape does, for rows of one layout.

    `given` says what a param of the typed tape is: a Number or an Array. `outputs` gets what it yields, and gives the numbers
    to return.
    """
    low = Lowering(inputs, params, work, kept, most)
    low.used = {a for place in forms.walk(tape) for a in _read(place)} | set(tape.yields)
    for k, param in enumerate(tape.params):
        low.at[param] = given(low, k)
    numbers = outputs(low, low.body(tape))
    found = _finished(low, numbers)
    bounded = low.bounds > 0 and not low.checks
    return Lowered(found, low.chooses or bool(found.guards), low.rolled, low.notes, bounded)


def _finished(low: Lowering, numbers: list[Number]) -> Tape:
    """The tape that returns these numbers, with a guard where checks may fail."""
    root, guards = low.root, []
    if root.rejected:
        fails = root.rejected[0]
        for x in root.rejected[1:]:
            fails = low.either(fails, x)
        guards = [("eq", root.of(fails), root.builder.const(0.0), True)]
    return root.builder.finish([root.of(x) for x in numbers]).copy(guards=tuple(guards))


__all__ = ["Array", "Lowered", "Lowering", "Number", "lowered"]
