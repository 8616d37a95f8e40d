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
from math import frexp
from typing import Any, NamedTuple

from micrograd.abstract.errors import Refused
from micrograd.ir import forms
from micrograd.ir.dataflow import counted
from micrograd.ir.forms import TABLE
from micrograd.ops import OPS
from micrograd.stage.conditions import asked_first, condition_of
from micrograd.stage.floats import ITERATION, Array, Frame, Number, added, appended_alone, depth
from micrograd.tape import passes
from micrograd.tape.builder import Builder
from micrograd.tape.tape import INPUT, LOAD, PARAM, PICK, STACK, STORE, Loop, Region, Tape

WHERE = OPS["where"]
SHORT = 12  # iterations from which on a loop stays one; choices between so many numbers cost less than a loop over them
FEW = 8  # items of an array that a loop carries as so many numbers
WRITTEN_OUT = 64  # items of an array that are chosen from, or merged, one by one
ITEMS = 4096  # items of an array that is filled with one number, up to which they are known one by one
SPECULATED = 2.0**40  # room of an array while it is not known how much of it a loop needs
FLOATS = {"iadd": "add", "isub": "sub", "imul": "mul", "ilt": "lt", "ile": "le", "ieq": "eq"}
SIGNED = ("imul",)  # operations whose result may be -0.0 where that of ints is 0
DRAWN = ("philox", "normal", "probit")


class Lowered(NamedTuple):
    """The tape, whose outputs are the numbers that were asked for, and whether it has paths of more than one row."""

    tape: Tape
    chooses: bool
    rolled: bool  # whether there is a loop that stays one


class Lowering:
    """Writes a typed tape as a tape of floats."""

    def __init__(self, inputs: int, params: int, work: int = 0, kept: int = 0) -> None:
        """`work`: from so many instructions of all iterations on, a loop without choices stays a loop.

        `kept`: how many carried numbers of all iterations a derivative keeps; 0 for all of them.
        """
        self.kept = kept
        self.root = self.frame = Frame(None)
        self.root.builder = Builder(inputs, params)
        self.at: dict[forms.Place, Any] = {}
        self.work = work
        self.used: set[forms.Place] = set()  # the places of the typed tape that are read
        self.chooses = False
        self.rolled = False

    # ---- numbers

    def input(self, k: int) -> Number:
        """A number of the arguments."""
        return Number(self.root, self.root.builder.source(INPUT, k))

    def param(self, k: int) -> Number:
        """A captured Value."""
        return Number(self.root, self.root.builder.source(PARAM, k))

    def const(self, x: float) -> Number:
        """A constant."""
        return Number(self.root, self.root.builder.const(float(x)))

    def emit(self, name: str | Any, *args: Number) -> Number:
        """The result of an operation of the table."""
        frame = self.frame
        op = OPS[name] if isinstance(name, str) else name
        places = tuple([frame.of(a) for a in args])
        uniform = all(map(self._uniform, places))
        place = frame.builder.emit(op, places)
        if uniform and (op.name in ("add", "sub", "mul", "neg") or (op is PICK and self._compares(places[0]))):
            frame.uniform.add(place)
        return Number(frame, place)

    def _uniform(self, place: int) -> bool:
        known = self.frame.builder.number(place)
        return place in self.frame.uniform if known is None else abs(known) < 2.0**53 and known == int(known)

    def _compares(self, place: int) -> bool:
        """Whether a condition compares whole numbers that are the same in all rows."""
        b = self.frame.builder
        return b.ops[place].name in ("lt", "le", "eq") and all(map(self._uniform, b.args[place]))

    def uniform(self, x: Number) -> bool:
        """Whether a whole number is the same in all rows."""
        return self._uniform(self.frame.of(x))

    def pick(self, c: Number, a: Number, b: Number) -> Number:
        """One of two numbers, without a derivative by the other one."""
        known = c.constant
        if known is not None:
            return a if known else b
        if a.constant == 1.0 and b.constant == 0.0:
            return c
        if self.frame.of(a) == self.frame.of(b):
            return a
        self.chooses = True
        return self.emit(PICK, c, a, b)

    def both(self, a: Number | None, b: Number | None) -> Number | None:
        """Where both hold; None stands for all rows."""
        if a is None or b is None:
            return b if a is None else a
        if a.constant is not None:
            return b if a.constant else a
        if b.constant is not None:
            return a if b.constant else b
        return a if self.frame.of(a) == self.frame.of(b) else self.emit(WHERE, a, b, self.const(0.0))

    def either(self, a: Number, b: Number) -> Number:
        """Where one of them holds."""
        if a.constant is not None:
            return a if a.constant else b
        if b.constant is not None:
            return b if b.constant else a
        return a if self.frame.of(a) == self.frame.of(b) else self.emit(WHERE, a, self.const(1.0), b)

    def negated(self, a: Number) -> Number:
        """Where a does not hold."""
        return self.emit(WHERE, a, self.const(0.0), self.const(1.0))

    def whole(self, x: Number) -> int:
        """A size or an index that has to be known."""
        if x.constant is None:
            raise Refused("the size of a list differs by row")
        return int(x.constant)

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

    def array(self, items: list[Number]) -> Array:
        """An array of these numbers."""
        return Array(items, None, self.const(len(items)), len(items))

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

    def merged(self, c: Number, a: Any, b: Any) -> Any:
        """What holds where c does, and what holds elsewhere."""
        if isinstance(a, Number):
            return self.pick(c, a, b)
        if a is b:
            return a
        if c.constant is not None:
            return a if c.constant else b
        size, most = self.pick(c, a.size, b.size), max(a.most, b.most)
        room = max(a.room, b.room)
        if room <= WRITTEN_OUT:
            zero = self.const(0.0)
            one, two = ([*self.items(x), *[zero] * (int(room) - int(x.room))] for x in (a, b))
            return Array([self.pick(c, x, y) for x, y in zip(one, two)], None, size, most)
        if a.room != b.room:
            raise Refused("a list has two lengths")
        x, y = self.place(a), self.place(b)
        self.chooses = True
        body = Builder(4)
        out = body.append(PICK, *[body.source(INPUT, k) for k in range(3)])
        return Array(None, self._over(int(room), body.finish([out]), [c], [x, y]), size, most, room)

    def _over(self, count: int, body: Tape, invariants: list[Number], over: list[Number]) -> Number:
        """The array that a loop over arrays stacks."""
        frame = self.frame
        places = [frame.of(x) for x in (*invariants, *over)]
        return Number(frame, self._region(Loop(body, 0, len(invariants), count), places)[0])

    def _region(self, op: Region, args: list[int]) -> list[int]:
        return self.frame.builder.region(op, args)

    def _if(self, place: forms.Place) -> None:
        c = self.of(place.args[0])
        if c.constant is not None:
            found = self.body(place.bodies[0 if c.constant else 1])
        else:
            frame, arms = self.frame, []
            before = frame.mask
            for body, mask in zip(place.bodies, (c, self.negated(c))):
                frame.mask = self.both(before, mask)
                arms.append(self.body(body))
            frame.mask = before
            found = [self.merged(c, a, b) for a, b in zip(*arms)]
        self.at.update(zip(place.results, found, strict=True))

    # ---- derivatives

    def _slopes(self, place: forms.Place) -> list[Any]:
        """The number that a body yields, and its derivatives by the params that are floats, by the passes of these tapes."""
        (body,), frame = place.bodies, self.frame
        args = [self.of(a) for a in place.args]
        given: list[int] = []  # the places of the numbers that the body is given
        inner = Lowering(1 << 20, 0, self.work)
        inner.used, inner.kept = self.used, self.kept
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
        return self._rolled(place, times, count, carried)

    def _is_written_out(self, place: forms.Place, count: int) -> bool:
        (body,) = place.bodies
        if count < SHORT:
            return True
        chooses = not counted(place) or any(p.bodies or p.op == "select" for p in body.code)
        return not chooses and count * len(body) < self.work

    def _written_out(self, place: forms.Place, count: int, carried: list[Any]) -> list[Any]:
        (body,), frame = place.bodies, self.frame
        before, going, trips = frame.mask, self.const(1.0), self.const(0.0)
        for k in range(count):
            if going.constant == 0.0:
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
        return [*carried, trips]

    def _rolled(self, place: forms.Place, times: Number | None, count: int | None, carried: list[Any]) -> list[Any]:
        (body,), outer = place.bodies, self.frame
        rooms = [x.room if isinstance(x, Array) else 0.0 for x in carried]
        mosts = [x.most if isinstance(x, Array) else 0.0 for x in carried]
        steps: list[float | None] = [None] * len(carried)
        if any(isinstance(x, Array) and not body.params[k].attr for k, x in enumerate(carried)):
            rooms, mosts, steps = self._rooms(place, count, carried)
        always = counted(place) and count is not None
        slots: list[Number] = []  # what is carried, as it is before the loop
        zero, one = self.const(0.0), self.const(1.0)
        if not always:
            begins = one if times is None else self.emit("lt", zero, times)
            slots.append(self.both(outer.mask, begins) or one)
        started: list[Any] = []  # the carried values as the body has them: the numbers of their slots
        frame = Frame(outer, outer.mask if always else None)
        for k, x in enumerate(carried):
            if isinstance(x, Number):
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
            for n, step in enumerate(steps):
                if step is not None and carried[n].size.constant is not None:  # how many items there are is no news
                    started[n].size = self.emit("add", carried[n].size, self.emit("mul", number, self.const(step)))
            self.at.update(zip(body.params, [*started, number], strict=True))
            again, *following = self.body(body)
            outputs: list[Number] = []
            stacked: dict[int, Number] = {}  # what iterations add to a list that is empty before them
            if not always:
                goes_on = again
                if times is not None and count is None:
                    goes_on = self.both(again, self.emit("lt", self.emit("add", number, one), times))
                outputs.append(goes_on)
            for n, x in enumerate(following):
                if isinstance(x, Number):
                    outputs.append(x)
                    continue
                if rooms[n] <= FEW:
                    outputs += self.items(x)[: int(rooms[n])]
                else:
                    added = appended_alone(frame, started[n], x) if always and steps[n] == 1.0 else None
                    if added is not None and carried[n].size.constant == 0.0:
                        stacked[n] = added
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
        places = self._region(region, [*(outer.of(x) for x in slots), *frame.read])
        results = [Number(outer, p) for p in places]
        if frame.rejected:
            outer.rejected.append(results[trips + 1])
        found: list[Any] = []
        arrays = dict(zip(stacked, results[len(slots) :]))
        left = iter(results[0 if always else 1 :])
        for n, x in enumerate(carried):
            if isinstance(x, Number):
                found.append(next(left))
            else:
                few = rooms[n] <= FEW
                data = [next(left) for _ in range(int(rooms[n]) if few else 1)]
                size = x.size if body.params[n].attr else next(left)
                step = steps[n]
                if always and step is not None and x.size.constant is not None:
                    size = self.const(x.size.constant + step * (count or 0))
                if n in arrays:
                    found.append(Array(None, arrays[n], size, mosts[n], count))
                    continue
                found.append(
                    Array(data, None, size, mosts[n]) if few else Array(None, data[0], size, mosts[n], rooms[n])
                )
        return [*found, self.const(count or 0) if always else self.emit("add", results[trips], self.const(late))]

    def _rooms(self, place: forms.Place, count: int | None, carried: list[Any]) -> tuple[Any, Any, Any]:
        """How much room the carried arrays need, how long they may be, and what each iteration adds, if that is always so."""
        (body,), outer = place.bodies, self.frame
        kept = dict(self.at), self.chooses, self.rolled
        frame = self.frame = Frame(outer, outer.mask)
        try:
            started: list[Any] = []
            for x in carried:
                there = Number(frame, frame.builder.source(INPUT, len(started)))
                if isinstance(x, Array):
                    size = Number(frame, frame.builder.source(INPUT, ITERATION - 1 - len(started)))
                    started.append(Array(None, there, size, x.most, SPECULATED))
                else:
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
            if more > 0 and count is None:
                raise Refused("a list becomes longer in a loop whose iterations are not counted")
            mosts.append(x.most + max(more, 0.0) * (count or 0) if isinstance(x, Array) else 0.0)
            rooms.append(max(x.room, mosts[-1]) if isinstance(x, Array) else 0.0)
            steps.append(added(frame, y.size, z.size) if isinstance(x, Array) else None)
        return rooms, mosts, steps

    # ---- arrays

    def items(self, a: Array) -> list[Number]:
        """The items, as many as there is room for."""
        if a.items is not None:
            return a.items
        if a.room > ITEMS:
            raise Refused("the items of a long list are taken one by one")
        return [self.load(a, self.const(k)) for k in range(int(a.room))]

    def place(self, a: Array, room: float = 1) -> Number:
        """The place of an array, with so much room."""
        if room > a.room:
            more = int(room - a.room)
            return self.place(self.array([*self.items(a), *[self.const(0.0)] * more]))
        if a.place is None:
            assert a.items is not None
            home = self.root
            for x in a.items:
                if x.constant is None and depth(x.home) > depth(home):
                    home = x.home
            a.place = Number(home, home.builder.emit(STACK, tuple([home.of(x) for x in a.items])))
        return a.place

    def load(self, a: Array, i: Number) -> Number:
        """An item."""
        known = i.constant
        if known is not None and a.items is not None:
            if not a.items:
                return self.const(0.0)
            return a.items[min(max(int(known), 0), len(a.items) - 1)]
        if a.room == 0:
            return self.const(0.0)
        if self.uniform(i) and not self._is_few(a):
            return self.emit(LOAD, self.place(a), i)
        self.chooses = True
        if a.room <= WRITTEN_OUT:
            return self._chosen(self.items(a), i, 0)
        body = Builder(4)  # what was found, the index, an item, the iteration
        found, index, item, k = (body.source(INPUT, n) for n in range(4))
        out = body.append(PICK, body.emit(OPS["eq"], (k, index)), item, found)
        frame = self.frame
        args = [frame.of(self.const(0.0)), frame.of(i), frame.of(self.place(a))]
        return Number(frame, self._region(Loop(body.finish([out]), 1, 1, int(a.room)), args)[0])

    def _is_few(self, a: Array) -> bool:
        """Whether an array is a few numbers of this iteration."""
        return (
            a.items is not None
            and a.room <= FEW
            and any(x.home is self.frame for x in a.items)
            and bool(self.frame.outer)
        )

    def _chosen(self, items: list[Number], i: Number, first: int) -> Number:
        if len(items) == 1:
            return items[0]
        half = len(items) // 2
        low, high = self._chosen(items[:half], i, first), self._chosen(items[half:], i, first + half)
        if self.frame.of(low) == self.frame.of(high):
            return low
        return self.pick(self.emit("lt", i, self.const(first + half)), low, high)

    def store(self, a: Array, i: Number, x: Number) -> Array:
        """An array with another item."""
        known = i.constant
        if known is not None and a.items is not None:
            k = int(known)
            return Array([*a.items[:k], x, *a.items[k + 1 :]], None, a.size, a.most) if 0 <= k < len(a.items) else a
        if self.uniform(i) and not self._is_few(a):
            return Array(None, self.emit(STORE, self.place(a), i, x), a.size, a.most, a.room)
        self.chooses = True
        if a.room <= WRITTEN_OUT:
            items = [self.pick(self.emit("eq", i, self.const(k)), x, y) for k, y in enumerate(self.items(a))]
            return Array(items, None, a.size, a.most, a.room)
        body = Builder(4)  # the index, the number, an item, the iteration
        index, new, item, k = (body.source(INPUT, n) for n in range(4))
        out = body.append(PICK, body.emit(OPS["eq"], (k, index)), new, item)
        return Array(None, self._over(int(a.room), body.finish([out]), [i, x], [self.place(a)]), a.size, a.most, a.room)

    def _array(self, op: str, args: list[Any]) -> Any:
        if op == "array":
            return self.array(list(args))
        if op == "fill":
            return self._filled(self.whole(args[0]), args[1])
        a: Array = args[0]
        if op == "size":
            return a.size
        if op == "load":
            return self.load(a, args[1])
        if op in ("store", "bump"):
            x = args[2] if op == "store" else self.emit("add", self.load(a, args[1]), args[2])
            return self.store(a, args[1], x)
        if op == "append":
            return self._appended(a, args[1])
        if op == "grow":
            return self._grown(a, self.whole(args[1]))
        assert op == "slice", op
        return self._sliced(a, args[1], args[2])

    def _sliced(self, a: Array, first: Number, count: Number) -> Array:
        """A part of an array; where its size differs by row, with room for all of it."""
        room = int(a.room) if count.constant is None else int(count.constant)
        if count.constant is not None and first.constant is not None and a.items is not None:
            return self.array(a.items[int(first.constant) : int(first.constant) + room])
        if room > WRITTEN_OUT:
            raise Refused("a long part of a list is taken")
        items = [self.load(a, self.emit("add", first, self.const(j))) for j in range(room)]
        return Array(items, None, count, min(a.most, room))

    def _filled(self, count: int, x: Number) -> Array:
        if count < 0:
            count = 0
        if count <= ITEMS:
            return self.array([x] * count)
        body = Builder(2)
        tape = body.finish([body.source(INPUT, 0)])
        return Array(None, self._over(count, tape, [x], []), self.const(count), count)

    def _grown(self, a: Array, more: int) -> Array:
        """An array with room for more items behind the others."""
        size, most = self.emit("add", a.size, self.const(more)), a.most + more
        if most <= a.room:
            return Array(a.items, a.place, size, most, a.room)
        if a.place is not None and a.items is None and a.room > ITEMS:
            raise Refused("a long list becomes longer")
        return Array([*self.items(a), *[self.const(0.0)] * int(most - a.room)], None, size, most)

    def _appended(self, a: Array, x: Number) -> Array:
        wider = self._grown(a, 1)
        stored = self.store(wider, a.size, x)
        return Array(stored.items, stored.place, wider.size, wider.most, wider.room)


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
) -> Lowered:
    """Return the tape of floats that does what a typed tape does, for rows of one layout.

    `given` says what a param of the typed tape is: a Number or an Array. `outputs` gets what it yields, and gives the numbers
    to return.
    """
    low = Lowering(inputs, params, work, kept)
    low.used = {a for place in forms.walk(tape) for a in _read(place)} | set(tape.yields)
    for k, param in enumerate(tape.params):
        low.at[param] = given(low, k)
    numbers = outputs(low, low.body(tape))
    found = _finished(low, numbers)
    return Lowered(found, low.chooses or bool(found.guards), low.rolled)


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
