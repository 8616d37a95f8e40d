"""Numbers and arrays on a tape of floats, for rows: what differs by row, and what does not."""

from __future__ import annotations

from typing import Any

from micrograd.abstract.errors import Refused
from micrograd.ops import OPS
from micrograd.stage.floats import Array, Frame, Number, depth
from micrograd.tape.builder import Builder
from micrograd.tape.tape import INPUT, LOAD, PARAM, PICK, STACK, STORE, Loop, Region, Tape

WHERE = OPS["where"]
FEW = 8  # items of an array that a loop carries as so many numbers
WRITTEN_OUT = 64  # items of an array that are chosen from, or merged, one by one
ITEMS = 4096  # items of an array that is filled with one number, up to which they are known one by one
SPECULATED = 2.0**40  # room of an array while it is not known how much of it a loop needs


class Lanes:
    """Writes numbers and arrays. A number that is known to be the same in all rows may be an index."""

    def __init__(self, inputs: int, params: int) -> None:
        self.root = self.frame = Frame(None)
        self.root.builder = Builder(inputs, params)
        self.chooses = False  # whether a row picks one of several numbers

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
        uniform = all(map(self._uniform, places[1:] if op is PICK else places))
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

    def array(self, items: list[Number]) -> Array:
        """An array of these numbers."""
        return Array(items, None, self.const(len(items)), len(items))

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
        if room >= SPECULATED:  # what is in it does not matter
            return Array(None, self.place(a if a.room == room else b), size, most, room)
        if a.room != b.room and room > ITEMS:
            raise Refused("a long list has two lengths")
        x, y = self.place(a, room), self.place(b, room)
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
        if a.linear is not None:
            first, step = a.linear
            return self.emit("add", first, self.emit("mul", i, self.const(step)))
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
        if first.constant == 0.0:
            return Array(a.items, a.place, count, min(a.most, room), a.room)
        if room > WRITTEN_OUT and self.uniform(first):
            body = Builder(3)  # the array, the first item, the iteration
            array, start, k = (body.source(INPUT, n) for n in range(3))
            out = body.append(LOAD, array, body.emit(OPS["add"], (start, k)))
            return Array(
                None, self._over(room, body.finish([out]), [self.place(a), first], []), count, min(a.most, room)
            )
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
