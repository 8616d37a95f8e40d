"""Which params each result of a tape depends on: 64 groups of them in one run, as a tape of whole numbers.

Each number with a derivative has a word beside it, with a bit for each group of params that it depends on. Words go through
the tape as tangents do: an operation joins those of its operands, except where its derivative is zero everywhere. What a
comparison of numbers decides does not decide the pattern: both sides of a selection, and both arms of an `if`, are followed
wherever that can be done without harm. Where all of them are, the tape reads no f64 any more, and one pattern holds for all
numbers; else it is that of the path which the numbers take.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from micrograd.ir.builder import Builder
from micrograd.ir.dataflow import around, counted, varied
from micrograd.ir.forms import F64, I64, TABLE, Body, Place, Tape, is_array, walk
from micrograd.ir.prune import prune
from micrograd.ir.sweeps import Rows, each, height, offsets, put

EMPTY = "an array is empty"
NO_PARTIALS = ("reached", "float", "stop")


def pattern(tape: Tape, wrt: Sequence[int], of: Sequence[Rows], both: bool = True) -> Tape:
    """Return a tape of one result: a word for each row of the Jacobian.

    Its params are those of the tape, then the words of the params `wrt`, each a number or an array. Without `both`, only the
    arms are followed that the numbers take.
    """
    return prune(_Words(tape, wrt, of, both).tape)


def reads_numbers(tape: Tape, count: int) -> bool:
    """Return whether the pattern depends on numbers: on more of the first `count` params than ints, bools and sizes."""
    numbers = {p for p in tape.params[:count] if p.kind in (F64, "f64[]")}
    read = {a for place in walk(tape) if place.op != "size" for a in place.args}
    yielded = {y for place in walk(tape) for body in place.bodies for y in body.yields}
    return not numbers.isdisjoint(read | yielded | set(tape.yields))


def uncertain(tape: Tape) -> set[Place]:
    """Return the places whose value depends on numbers of the arguments, or may not be computed because of them."""
    found = {p for p in tape.params if p.kind in (F64, "f64[]")}

    def visit(body: Body) -> None:
        for place in body.code:
            if place.op == "if":
                for inner in place.bodies:
                    visit(inner)
                either = zip(place.results, *(inner.yields for inner in place.bodies))
                found.update(r for r, x, y in either if place.args[0] in found or x in found or y in found)
            elif place.op == "loop":
                inner = around(place, found, visit)
                if inner.yields[0] in found or (place.attr and place.args[0] in found):
                    found.update(place.results)
                found.update(r for r, p in zip(place.results, inner.params[:-1]) if p in found)
            elif place.op == "size":
                if place.args[0] in found and place.args[0] not in tape.params:
                    found.add(place)
            elif any(a in found for a in place.args):
                found.add(place)

    visit(tape)
    return found


class _Words:
    """Copies a tape with the words of its numbers."""

    def __init__(self, tape: Tape, wrt: Sequence[int], of: Sequence[Rows], both: bool) -> None:
        self.both = both
        # Arrays that are more than read: the words of others may be more than the array has items.
        self.used = {a for place in walk(tape) if place.op not in ("load", "size", "slice") for a in place.args}
        self.used.update(y for body in [tape, *(i for place in walk(tape) for i in place.bodies)] for y in body.yields)
        kinds = [p.kind for p in tape.params]
        self.builder = b = Builder([*kinds, *("i64[]" if is_array(kinds[k]) else I64 for k in wrt)])
        self.at: dict[Place, Place] = dict(zip(tape.params, b.params))
        self.words: dict[Place, Place] = {tape.params[k]: b.params[len(kinds) + n] for n, k in enumerate(wrt)}
        self.active = varied(tape, [tape.params[k] for k in wrt])
        self.uncertain = uncertain(tape)
        yields = self._body(tape)
        starts, rows = offsets(b, [height(b, part, yields) for part in of])
        found = b.emit("fill", rows, b.const(0))
        for part, start in zip(of, starts):
            found = put(b, found, start, self._word(tape.yields[part.number]), height(b, part, yields))
        self.tape = b.finish([found])

    def _of(self, place: Place) -> Place:
        return self.builder.const(place.attr, place.kind) if place.op == "const" else self.at[place]

    def _word(self, place: Place) -> Place:
        """Return the word of a number, or the words of an array: zeros if nothing is known of it."""
        found = self.words.get(place)
        if found is None:
            b, none = self.builder, self.builder.const(0)
            found = b.emit("fill", b.emit("size", self._of(place)), none) if is_array(place.kind) else none
        return found

    def _join(self, words: Sequence[Place]) -> Place:
        b, total = self.builder, self.builder.const(0)
        for word in dict.fromkeys(words):
            total = b.emit("ior", total, word)
        return total

    def _within(self, array: Place, i: Place) -> Place:
        """Return an index that is in range, also where nobody looked whether it is."""
        b = self.builder
        size = b.emit("size", array)
        last = b.sum(size, -1)
        if b.decided(b.emit("ile", b.const(0), i)) and b.decided(b.emit("ile", i, last)):
            return i
        b.check(b.emit("ilt", b.const(0), size), EMPTY)
        return b.emit("imax", b.emit("imin", i, last), b.const(0))

    def _body(self, body: Body) -> list[Place]:
        for place in body.code:
            self._instruction(place)
        return [self._of(y) for y in body.yields]

    def _instruction(self, place: Place) -> None:
        b = self.builder
        if place.op == "check":
            if place.args[0] not in self.uncertain:
                b.check(self._of(place.args[0]), place.attr)
        elif place.op == "if":
            self._choose(place)
        elif place.op == "loop":
            self._loop(place)
        else:
            args = [self._of(a) for a in place.args]
            if place.op in ("load", "store", "bump"):
                args[1] = self._within(args[0], args[1])
            elif place.op == "slice":
                args[1], args[2] = self._part(*args)
            self.at[place] = b.array(args, args[0].kind) if place.op == "array" else b.emit(place.op, *args)
            if place in self.active:
                self.words[place] = self._joined(place)

    def _part(self, array: Place, i: Place, n: Place) -> tuple[Place, Place]:
        """Return the beginning and the length of a slice that is in range."""
        b = self.builder
        size, zero = b.emit("size", array), b.const(0)
        i = b.emit("imax", b.emit("imin", i, size), zero)
        return i, b.emit("imax", b.emit("imin", n, b.sum(size, i, -1)), zero)

    def _joined(self, place: Place) -> Place:
        """Return the word of an instruction, of those of its operands."""
        b, op, args = self.builder, place.op, place.args
        if op == "select":
            c, x, y = (self._of(args[0]), self._word(args[1]), self._word(args[2]))
            return self._join([x, y]) if args[0] in self.uncertain else b.emit("select", c, x, y)
        if op in TABLE:
            rule = TABLE[op].op
            if rule is None or op in NO_PARTIALS:
                return b.const(0)
            return self._join([self._word(a) for k, a in enumerate(args) if k not in rule.steps and a in self.active])
        words = [self._word(a) if a.kind in (F64, "f64[]") else self._of(a) for a in args]
        if op == "array":
            return b.array(words, I64)
        if op in ("load", "store", "bump"):
            words[1] = self._within(words[0], words[1])
        if op == "slice":
            words[1], words[2] = self._part(*words)
        if op == "bump":
            return b.emit("store", words[0], words[1], b.emit("ior", b.emit("load", *words[:2]), words[2]))
        return b.emit(op, *words)

    # ---- regions

    def _choose(self, place: Place) -> None:
        b = self.builder
        active = [k for k, r in enumerate(place.results) if r in self.active]
        if place.args[0] in self.uncertain and self._harmless(place):
            then, otherwise = place.bodies
            one, two = self._body(then), self._body(otherwise)
            self.at.update(zip(place.results, b.choose(self._of(place.args[0]), lambda: one, lambda: two)))
            for k in active:
                self.words[place.results[k]] = self._either(self._word(then.yields[k]), self._word(otherwise.yields[k]))
            return

        def arm(inner: Body) -> list[Place]:
            yields = self._body(inner)
            return [*yields, *(self._word(inner.yields[k]) for k in active)]

        found = b.choose(self._of(place.args[0]), *(partial(arm, inner) for inner in place.bodies))
        self.at.update(zip(place.results, found))
        self.words.update(zip([place.results[k] for k in active], found[len(place.results) :]))

    def _either(self, x: Place, y: Place) -> Place:
        """Return the words of what one of two arms yields."""
        b = self.builder
        if not is_array(x.kind) or x is y:
            return x if x is y else self._join([x, y])
        sizes = [b.emit("size", words) for words in (x, y)]
        found = b.emit("fill", b.emit("imax", *sizes), b.const(0))
        for words, size in zip((x, y), sizes):

            def step(found: Place, j: Place, words: Place = words) -> Place:
                return b.emit("store", found, j, b.emit("ior", b.emit("load", found, j), b.emit("load", words, j)))

            found = each(b, size, found, step)
        return found

    def _harmless(self, place: Place) -> bool:
        """Return whether both arms of an `if` can be run: their loops end, and their arrays have one size or are only read."""
        if not self.both:
            return False
        for inner in place.bodies:
            if any(p.op == "loop" and not (counted(p) and p.args[0] not in self.uncertain) for p in walk(inner)):
                return False
        pairs = zip(place.results, *(inner.yields for inner in place.bodies))
        return all(_origin(x) is _origin(y) or r not in self.used for r, x, y in pairs if is_array(r.kind))

    def _loop(self, place: Place) -> None:
        b, (inner,) = self.builder, place.bodies
        times, carried = (place.args[0], place.args[1:]) if place.attr else (None, place.args)
        active = [k for k, p in enumerate(inner.params[:-1]) if p in self.active]
        count = len(carried)

        def make(params: list[Place], k: Place) -> tuple[Place, list[Place]]:
            self.at.update(zip(inner.params, [*params[:count], k]))
            self.words.update(zip([inner.params[k] for k in active], params[count:]))
            again, *following = self._body(inner)
            return again, [*following, *(self._word(inner.yields[1 + k]) for k in active)]

        steady = [k for k in range(count) if inner.params[k].attr]
        steady += [count + j for j, k in enumerate(active) if k in steady]
        start = [*map(self._of, carried), *(self._word(carried[k]) for k in active)]
        *found, trips = b.loop(None if times is None else self._of(times), start, make, steady)
        self.at.update(zip(place.results, [*found[:count], trips]))
        self.words.update(zip([place.results[k] for k in active], found[count:]))


def _origin(array: Place) -> Place:
    """Return what an array was made of by changes that leave its size as it is."""
    while array.op in ("store", "bump"):
        array = array.args[0]
    return array
