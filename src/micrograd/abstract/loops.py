"""Loops: what they carry is found as a fixed point.

The body of a loop is interpreted with nothing carried. The heaps before and after it are compared by walking through both at
once, where the objects of one are matched with those of the other; so `u, v = v, u` carries two objects that change places.
What differs is carried: numbers, and ints with a constant difference as `first + step·k`. The body is interpreted again with
these, until nothing else differs. What cannot be carried is LOST, which is an error only where it is read.

A loop over a range or a sequence whose length does not change is counted: the tape says how often it runs. So is a `while`
whose test compares such an int with one that the loop does not change. All other loops end with a flag.
"""

from __future__ import annotations

from typing import Any

from micrograd.abstract.errors import Copied, Refused, Restart, Unrollable
from micrograd.abstract.exits import Attempt, Exits
from micrograd.abstract.matching import Matching
from micrograd.abstract.objects import Objects
from micrograd.abstract.outcomes import NORMAL, Heap, Label, Result, Way, reachable
from micrograd.abstract.shapes import (
    COLUMNS,
    Fixed,
    Induction,
    Invariant,
    Items,
    Layout,
    Number,
    Pointer,
    Shape,
    equal,
    get_named,
    is_fixed,
    kinds_of,
    locations,
    lub,
    named,
    names_of,
    pointers,
    shape_of,
)
from micrograd.abstract.values import (
    LOST,
    NONE,
    UNDEF,
    Cell,
    Const,
    Num,
    Ref,
    Tuple,
    Union,
    Value,
    is_mark,
    is_number,
    kind_of,
    mapped,
)
from micrograd.core import forms
from micrograd.core.forms import Node
from micrograd.ir.affine import Affine
from micrograd.ir.forms import BOOL, I64, Place

FEW = 4  # iterations that are always unrolled
MOST = 600  # iterations that may be unrolled where a loop cannot stay one
UNDECIDED = 8  # of them, those after which it is not known whether another one follows
UNDECIDED_WITH_DERIVATIVES = 1  # the same in a function that takes derivatives, each of which takes longer to interpret
ATTEMPTS = 24
COUNTER = 2.0**48  # no loop has more iterations
Carried = dict[int, Shape]


class Loops(Objects):
    """Interprets loops."""

    def loop(self, node: forms.Loop, frame: int) -> Result:
        head = _first_next(node.body)
        if head is None or not isinstance(head.iterator, forms.Var):
            return self._iterate(node, frame, None, 0, 0)
        iterator = self.evaluate(head.iterator, frame)
        if not isinstance(iterator, Value):
            return self.bind(iterator, lambda it: self._over(node, frame, head, it))
        return self._over(node, frame, head, iterator)

    def _over(self, node: forms.Loop, frame: int, head: forms.Next, iterator: Value) -> Result:
        def one(it: Value) -> Result:
            assert isinstance(head.iterator, forms.Var)
            if isinstance(iterator, Union):
                self.put(self.out(frame, head.iterator.up), head.iterator.name, it)
            if not self.is_generator(it):
                return self._iterate(node, frame, head, 0, 0)
            if not self.steps_alone(it):
                return self.consume(it, node, frame, head)
            return self.bind(self.start_generator(it), lambda _: self._iterate(node, frame, head, 0, 0))

        return self.split(iterator, one)

    def _iterate(self, node: forms.Loop, frame: int, head: forms.Next | None, done: int, undecided: int) -> Result:
        """Do the iterations of a loop that are left: as a loop, or one by one."""
        while True:
            count = self._count(head, frame)
            known = count.value if isinstance(count, Const) else None
            if known is None or known > FEW:
                try:
                    if done < 2:
                        found = self._roll(node, frame, head, count)
                        self.kept_loops[f"{self.running[-1].function.file}:{node.at.line}"] = None
                        return found
                except Copied:
                    raise  # it is a loop around that has the copy
                except Unrollable as reason:
                    self._note_unrolled(node, reason, known)
            most = UNDECIDED_WITH_DERIVATIVES if self.differentiated else UNDECIDED
            if (known is not None and known > MOST) or done > MOST or undecided > most:
                raise Unrollable(f"a loop that cannot stay a loop: {self.why}")
            if known is None and isinstance(count, Num) and done >= 2:
                raise Unrollable(f"a loop over a length that is not known: {self.why}")
            result = self.evaluate(node.body, frame)
            done += 1
            if isinstance(result, Value):
                continue
            more = undecided + (known is None)
            return self.bind(result, lambda _: self._iterate(node, frame, head, done, more))  # noqa: B023

    def _note_unrolled(self, node: forms.Loop, reason: Unrollable, known: int | None) -> None:
        self.why = str(reason)
        if self.why == "it runs once":
            return
        times = "" if known is None else f" {known} times"
        self.note(node, f"unrolled{times}: {reason}")

    def _count(self, head: forms.Next | None, frame: int) -> Value | None:
        """Return how many items the iterator of a loop still has; None where that is not known."""
        if head is None:
            return None
        assert isinstance(head.iterator, forms.Var)
        value = get_named(self.cell(Ref(self.out(frame, head.iterator.up))), head.iterator.name)
        return self.remaining(value)

    # ---- a loop on the tape

    def _roll(self, node: forms.Loop, frame: int, head: forms.Next | None, count: Value | None) -> Result:
        original, first_location = self.heap, self.next_location
        state = self.saved_state()
        try:
            if count is not None:
                try:
                    return _Roll(self, node, frame, head, count).run()
                except _NotCounted:
                    self.restore_state(state)
                    self.heap, self.next_location = original, first_location
            return _Roll(self, node, frame, head, None).run()
        except (Unrollable, Refused) as reason:
            if isinstance(reason, Refused) and not (isinstance(count, Const) and count.value <= MOST):
                raise
            self.restore_state(state)
            self.heap, self.next_location = original, first_location
            if isinstance(reason, Refused):  # of what may be known in a single iteration: a key, an attribute, a class
                raise Unrollable(reason.fact) from reason
            raise
        finally:
            del self.rolls[state.rolls :]


class _NotCounted(Exception):
    """The iterator of a loop that seemed to be counted is changed in its body."""


class _Roll:
    """The search for the fixed point of one loop, and the loop that comes of it."""

    def __init__(
        self, machine: Loops, node: forms.Loop, frame: int, head: forms.Next | None, count: Value | None
    ) -> None:
        self.m, self.b = machine, machine.b
        self.node, self.frame, self.head = node, frame, head
        self.count = count  # how many iterations there are, if that is known; may be negative
        self.before, self.base = machine.heap, machine.next_location
        self.state = machine.saved_state()
        self.template: tuple[Label, Way, Attempt] | None = None  # how a counted `while` ends
        self.limit: Affine | None = None  # the last iteration of such a `while`
        self.tried: set[int] = set()
        self.stale = False

    def run(self) -> Result:
        m = self.m
        hint = id(self.node), self.frame, self.count is not None
        carried: Carried = dict(m.hints.get(hint, {}))
        first, first_location, first_state, copied = self.before, self.base, self.state, set(m.has_copy)
        for _ in range(ATTEMPTS):
            try:
                attempt = self._attempt(carried)
                new, matched = self._compared(attempt, carried)
            except Restart as restart:
                self._clean()
                if restart.location not in self.before:
                    raise
                m.heap = dict(self.before)
                m.next_location = self.base
                restart.change()  # type: ignore[operator]
                self.before, self.base = m.heap, m.next_location
                self.state = m.saved_state()
                continue
            except Copied as reason:
                if reason.location in copied or reason.needed is None:
                    raise
                m.uncopied.add(reason.needed)
                self.before, self.base, self.state = first, first_location, first_state
                self._clean()
                m.heap, m.next_location, carried = dict(first), first_location, {}
                continue
            if new is not None:
                self._clean()
                carried = {} if self.stale else new
                self.stale = False
                continue
            if self._becomes_counted(attempt, carried):
                self._clean()
                continue
            m.hints[hint] = dict(carried)
            return self._finish(attempt, carried, matched)
        raise Unrollable("what it carries cannot be found")

    def _clean(self) -> None:
        self.m.restore_state(self.state)

    # ---- one attempt

    def _attempt(self, carried: Carried) -> Attempt:
        m, b = self.m, self.b
        m.heap, m.next_location = dict(self.before), self.base
        for at, shape in list(carried.items()):
            fresh = self._refreshed(shape, self.before[at]) if at in self.before else None
            if fresh is None:
                del carried[at]
            else:
                carried[at] = fresh
        self.times = self._times()
        scope = b.enter()
        k = Place("param", (), I64)
        b.home[k] = scope.body
        b.known.at_least(k, 0)
        m.bounds[k] = COUNTER
        if self.times is not None:
            b.known.assume(b.known.of(self.times).plus(b.known.of(k), -1).plus(Affine((), -1)))
        if self.count is not None:
            raw = b.known.of(m.place(self.count, I64))
            b.known.assume(raw.plus(b.known.of(k), -1).plus(Affine((), -1)))
        if self.limit is not None:
            b.known.assume(self.limit.plus(b.known.of(k), -1))
        for at, shape in carried.items():
            params = [b.param(kind) for kind in kinds_of(shape)]
            for p in params:
                if p.kind == I64:
                    m.bounds[p] = 2.0**61
            m.heap[at] = m.unpack(shape, iter(params), k)
        attempt = Attempt(scope, k, list(scope.body.params), dict(m.heap))
        m.rolls.append(self.before)
        m.passes += 1
        attempt.ways = dict(m.ways(m.evaluate(self.node.body, self.frame)))
        m.rolls.pop()
        if NORMAL not in attempt.ways:
            raise Unrollable("it runs once")
        return attempt

    def _times(self) -> Place | None:
        m, b = self.m, self.b
        if self.count is not None:
            count = m.place(self.count, I64)
        elif self.limit is not None:
            count = b.const(self.limit.constant + 1)
            for number, factor in self.limit.terms:
                count = b.sum(count, b.known.places[number], factor)
        else:
            return None
        if b.known.positive(b.known.of(count)):
            return count
        found = b.emit("imax", count, b.const(0))
        m.bounds[found] = COUNTER
        b.known.at_least(found, 0)
        return found

    def _refreshed(self, shape: Shape, value: Value) -> Shape | None:
        """Return the shape of an earlier attempt for the values of now; None where it does not fit them."""
        if isinstance(shape, Invariant):
            return Invariant(value)
        if isinstance(shape, Induction):
            return Induction(value, shape.step) if is_number(value) and kind_of(value) == I64 else None
        if isinstance(shape, Items):
            if not isinstance(value, Tuple) or value.cls is not shape.cls or len(value.items) != len(shape.shapes):
                return None
            items = [self._refreshed(s, x) for s, x in zip(shape.shapes, value.items)]
            return None if None in items else Items(shape.cls, tuple(items))
        if isinstance(shape, Layout):
            if not isinstance(value, Cell) or not self._has_pools(shape):
                return None
            if value.key != shape.key:
                if shape.key[0] == "columns":
                    return self._refreshed_columns(shape, value)
                if value.key[0] != shape.key[0] or shape.key[0] not in ("object", "frame"):
                    return None
                if value.key[0] == "object" and value.key[1] is not shape.key[1]:
                    return None
                missing = Const(UNDEF)
                known = dict(zip(names_of(Cell(shape.key, ())), shape.shapes))
                names = (*known, *(n for n in names_of(value) if n not in known))
                cells = [self._refreshed(known.get(n, Invariant(missing)), get_named(value, n)) for n in names]
                return None if None in cells else Layout(named(value, names, ()).key, tuple(cells))
            cells = [self._refreshed(s, x) for s, x in zip(shape.shapes, value.values)]
            return None if None in cells else Layout(shape.key, tuple(cells))
        if isinstance(shape, Fixed):
            return shape if is_mark(shape.value, LOST) else None
        if isinstance(shape, Pointer):
            return shape if isinstance(value, Ref) and value.location == shape.location else None
        if any(at not in self.before for at in pointers(shape)) or any(
            at not in self.before for at in locations(value)
        ):
            return None
        return lub(shape, shape_of(value))

    def _has_pools(self, shape: Layout) -> bool:
        """Return whether the pools that the items of a list are in exist in front of the loop."""
        return shape.key[0] not in COLUMNS or all(at in self.before for at in pointers(shape.key[1]))

    def _refreshed_columns(self, shape: Layout, value: Cell) -> Shape | None:
        """Return the shape of a list that has become columns, for what the list is in front of the loop."""
        found = lub(shape_of(value), Layout(shape.key, (*shape.shapes[:-1], Number(I64))))
        if not isinstance(found, Layout) or value.key[0] not in ("list", "columns"):
            return None
        length = Const(len(value.values)) if value.key[0] == "list" else value.values[-1]
        refreshed = self._refreshed(shape.shapes[-1], length)
        return None if refreshed is None else Layout(found.key, (*found.shapes[:-1], refreshed))

    # ---- the comparison

    def _compared(self, attempt: Attempt, carried: Carried) -> tuple[Carried | None, Matching]:
        """Return what must be carried besides; None where that is nothing."""
        after = attempt.ways[NORMAL].heap
        matching = Matching(self.m, self.before, attempt.head, after)
        new: Carried = {}
        for at in matching.pairs():
            if at not in self.before:
                continue
            shape = carried.get(at) or Invariant(attempt.head[at])
            grown = matching.grown(shape, attempt.head[at], after[matching.to[at]], at)
            if not equal(shape, grown):
                self._refuse_lost(grown)
                new[at] = grown
        self.stale = matching.stale
        if not new and not self.stale:
            matching.hold_sources()
            if self.count is not None:
                self._check_count(attempt, after)
            return None, matching
        return {**carried, **new}, matching

    def _refuse_lost(self, shape: Shape) -> None:
        """Keep the loop from losing an object that is read after it."""
        if isinstance(shape, Layout) and shape.key[0] == "frame":
            for name, s in zip(shape.key[1], shape.shapes):
                if name in self.m.needed and is_fixed(s, LOST):
                    raise Unrollable(f"{name} is read after the loop")

    def _check_count(self, attempt: Attempt, after: Heap) -> None:
        """Make sure that each iteration takes one item of the iterator, and that no item is added."""
        m, b = self.m, self.b
        assert self.head is not None and isinstance(self.head.iterator, forms.Var) and self.count is not None
        now, m.heap = m.heap, after
        left = m.remaining(get_named(m.cell(Ref(m.out(self.frame, self.head.iterator.up))), self.head.iterator.name))
        m.heap = now
        if left is None:
            raise _NotCounted
        form = b.known.of(m.place(left, I64)).plus(b.known.of(m.place(self.count, I64)), -1)
        if form.plus(b.known.of(attempt.k)) != Affine((), -1):
            raise _NotCounted

    # ---- a while that counts

    def _becomes_counted(self, attempt: Attempt, carried: Carried) -> bool:
        """Find out whether the only way out is that an int passes a limit; then the loop is interpreted once more."""
        if self.count is not None or self.limit is not None or len(attempt.ways) != 2:
            return False
        flag = attempt.ways[NORMAL].flag
        negated = flag.op == "not"
        test = flag.args[0] if negated else flag
        if test.op not in ("ilt", "ile"):
            return False
        b, known = self.b, self.b.known
        low, high = (known.of(a) for a in test.args)
        if negated:  # not low < high: high <= low
            low, high = high, low
        limit = high.plus(low, -1).plus(Affine((), -1 if (test.op == "ilt") != negated else 0))
        form = limit.plus(known.of(attempt.k))  # it goes on while k <= form
        if dict(form.terms).get(id(attempt.k)):
            return False
        ((label, way),) = [(x, w) for x, w in attempt.ways.items() if x != NORMAL]
        kept = [*(way.heap[at] for at in reachable(way.heap, self.before, way.value)), way.value]
        b.leave()
        fits = all(number in known.places and b.visible(known.places[number]) for number, _ in form.terms)
        outside = all(self._survives(p, attempt) for p in _places(kept))
        b.enter(attempt.scope)
        if not fits or not outside:
            return False
        self.limit = form
        self.template = label, way, attempt
        return True

    def _survives(self, place: Place, attempt: Attempt) -> bool:
        return (
            self.b.visible(place)
            or place in attempt.params
            or self.m.hoisted(place, attempt.k, self.m.true if place.kind == BOOL else self.b.const(0)) is not None
        )

    # ---- the loop itself

    def _finish(self, attempt: Attempt, carried: Carried, matching: Matching) -> Result:
        m, b, times = self.m, self.b, self.times
        ways = dict(attempt.ways)
        normal = ways.pop(NORMAL)
        if self.template is not None and ways:
            raise Unrollable("a while that seems to count ends in another way")
        if times is None and not ways:
            raise Unrollable("it never ends")
        following: list[Place] = []
        for at, shape in carried.items():
            after = mapped(normal.heap[matching.to[at]], lambda p: p, matching.back)
            following += m.pack(after, shape)
        again = normal.flag if ways else m.true
        self._keep_small(attempt, following)
        body = attempt.scope.body
        exits = Exits(m, attempt, following)
        flags: dict[Label, Place] = {}
        for label, way in ways.items():
            if len(ways) > 1 or times is not None:
                flags[label] = exits.flag(way.flag)
        heaps = {
            label: {
                at: exits.noted(way.heap[at], way.flag, label) for at in reachable(way.heap, self.before, way.value)
            }
            for label, way in ways.items()
        }
        results = {label: exits.noted(way.value, way.flag, label) for label, way in ways.items()}
        b.leave()
        first = [p for at, shape in carried.items() for p in m.pack(self.before[at], shape)]
        assert len(first) == len(following) == len(attempt.params)
        first += [m.zero(slot.kind) for slot in exits.extra]
        body.params = [*attempt.params, *(Place("param", (), p.kind) for p in exits.extra), attempt.k]
        for p in body.params:
            b.home[p] = body
        body.yields = [again, *exits.following, *exits.extra]
        place = Place("loop", (*([] if times is None else [times]), *first), "", times is not None)
        place.bodies, place.line = (body,), m.where()
        found = b.region(place, [*(x.kind for x in first), I64])
        b.known.at_least(found[-1], 0)
        m.bounds[found[-1]] = COUNTER
        exits.results = found
        for number, result in enumerate(found[:-1]):
            if result.kind == I64:
                m.bounds[result] = 2.0**61 if number < len(following) else m.bound(exits.extra[number - len(following)])
        ended: dict[Label, Way] = {}
        for label, cells in heaps.items():
            heap = {at: exits.outside(cell, label) for at, cell in cells.items()}
            flag = exits.place(flags[label], label) if label in flags else m.true
            ended[label] = Way(flag, heap, exits.outside(results[label], label))
        if times is None:
            return m._finish(ended)
        return self._after_counted(ended, carried, first, found, times, exits)

    def _after_counted(
        self,
        ended: dict[Label, Way],
        carried: Carried,
        first: list[Place],
        found: list[Place],
        times: Place,
        exits: Exits,
    ) -> Result:
        """Return how a loop ends whose count may run out: the heap is that in front of an iteration `times`."""
        m, b = self.m, self.b
        flag = m.true
        for way in ended.values():
            flag = b.emit("and", flag, b.emit("not", way.flag))
        if self.template is not None:
            label, way, attempt = self.template
            slots = dict(zip(attempt.params, found))

            def at_end(p: Place) -> Place:
                if b.visible(p):
                    return p
                if p in slots:
                    return slots[p]
                hoisted = m.hoisted(p, attempt.k, times)
                assert hoisted is not None
                return hoisted

            kept = reachable(way.heap, self.before, way.value)
            heap = {at: mapped(way.heap[at], at_end) for at in kept}
            ended[label] = Way(flag, heap, mapped(way.value, at_end))
            return m._finish(ended)
        assert self.head is not None
        heap = dict(self.before)

        def result(number: int) -> Place:
            """Return a carried place; a flag that is False after each iteration is what it was where there is none."""
            if exits.following[number] is not m.false:
                return found[number]
            return b.emit("and", first[number], b.emit("ieq", times, b.const(0)))

        results = map(result, range(len(exits.following)))
        for at, shape in carried.items():
            own = [next(results) for _ in kinds_of(shape)]
            heap[at] = m.unpack(shape, iter(own), times)
        label = self.head.label, self.frame
        if label in ended:
            raise _NotCounted
        ended[label] = Way(flag, heap, NONE)
        return m._finish(ended)

    def _keep_small(self, attempt: Attempt, following: list[Place]) -> None:
        """Check that the carried ints stay within 2**53, but for those that grow by a small step in each iteration."""
        m, b = self.m, self.b
        for param, place in zip(attempt.params, following):
            if place.kind == I64 and not _grows_slowly(b, m, param, place):
                m.keep_within(place)


def _grows_slowly(b: Any, m: Any, param: Place, place: Place) -> bool:
    """Return whether an int is small, or its value before the iteration plus something small."""
    if m.bound(place) <= 2.0**53:
        return True
    difference = b.known.of(place).plus(b.known.of(param), -1)
    if not difference.terms and abs(difference.constant) < 2**10:
        return True
    if place.op == "result" and place.args[0].op == "if":
        arms = [arm.yields[place.attr] for arm in place.args[0].bodies]
        return all(p in m.fillers or _grows_slowly(b, m, param, p) for p in arms)
    if place.op == "select":
        return all(_grows_slowly(b, m, param, p) for p in place.args[1:])
    if place.op == "iadd":  # a count of truths
        return any(p is param and m.bound(q) <= 2**10 for p, q in (place.args, place.args[::-1]))
    return False


def _places(values: list[Value]) -> list[Place]:
    found: dict[Place, None] = {}

    def note(p: Place) -> Place:
        found[p] = None
        return p

    for value in values:
        mapped(value, note)
    return list(found)


def _first_next(node: Node) -> forms.Next | None:
    """Return the `next` that each iteration begins with."""
    while True:
        if isinstance(node, forms.Next):
            return node
        if isinstance(node, forms.Seq) and node.items:
            node = node.items[0]
        elif isinstance(node, forms.SetVar | forms.Set | forms.Yield | forms.Let):
            if node.value is None:
                return None
            node = node.value
        elif isinstance(node, forms.Prim) and node.op == "unpack":
            node = node.args[0]
        else:
            return None
