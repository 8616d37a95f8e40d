"""Random typed tapes: numbers, whole numbers, bools and arrays, with branches and loops inside each other.

Every index is in range, and every array has an item at least. Poles may lie in arms that are not taken.
"""

from __future__ import annotations

from random import Random
from typing import Any

from micrograd.ir.builder import Builder
from micrograd.ir.forms import ARRAYS, BOOL, F64, I64, Place, Tape, array_of

UNARY = ["sin", "cos", "tanh", "exp", "log", "sqrt", "neg", "abs", "relu", "atan", "sigmoid", "cbrt"]
BINARY = ["add", "sub", "mul", "div", "add", "mul", "max", "min", "hypot"]
COMPARE = ["lt", "le", "gt", "ge", "eq", "ne"]
NUMBERS = [0.0, 1.0, 0.5, -1.0, 2.0, 0.25]
ITEMS = {F64: lambda r: r.choice(NUMBERS), I64: lambda r: r.randint(-3, 3), BOOL: lambda r: r.random() < 0.5}
KINDS = [F64, F64, F64, I64, BOOL, "f64[]", "f64[]", "i64[]"]


class Program:
    """A tape that grows at random, out of a seed."""

    def __init__(self, random: Random, kinds: list[str], depth: int = 2, steps: int = 8, poles: bool = True) -> None:
        self.random, self.b, self.steps, self.poles = random, Builder(kinds), steps, poles
        self.depth, self.checks = depth, False
        self.totals: list[Place] = []  # sums outside of loops
        self.scope: dict[str, list[Place]] = {kind: [] for kind in (F64, I64, BOOL, *ARRAYS)}
        for param in self.b.params:
            self.scope[param.kind].append(param)
        for kind, item in ITEMS.items():
            self.scope[kind].append(self.b.const(item(random)))
            self.scope[array_of(kind)].append(
                self.b.const([item(random) for _ in range(random.randint(1, 3))], array_of(kind))
            )

    def pick(self, kind: str = F64) -> Place:
        """A place; newer ones more often, so that most are used."""
        places = self.scope[kind]
        return self.random.choice(places[-4:] if self.random.random() < 0.6 else places)

    def add(self, place: Place) -> None:
        self.scope[place.kind].append(place)

    def grow(self) -> None:
        for _ in range(self.random.randint(1, self.steps)):
            self.step()

    def step(self) -> None:
        random, b = self.random, self.b
        kind = random.random()
        if self.depth and kind < 0.15:
            self.choose()
        elif self.depth and kind < 0.19:
            self.comprehension()
        elif self.depth and kind < 0.32:
            random.choice([self.loop, self.loop, self.loop, self.choice, self.sum])()
        elif kind < 0.58:
            self.array()
        elif kind < 0.66:
            self.whole()
        elif kind < 0.73:
            chosen = random.choice([F64, F64, I64, BOOL])
            x = self.pick(chosen)
            if chosen == F64 and random.random() < 0.5:
                a = random.choice(self.scope["f64[]"])
                x = b.emit("load", a, self.index(a))
            self.add(b.emit("select", self.condition(), x, self.pick(chosen)))
        elif kind < 0.75 and self.checks:
            b.check(self.condition(), "a check")
        elif kind < 0.86:
            name = random.choice(UNARY)
            x = self.pick()
            if name in ("log", "sqrt", "cbrt") and not (self.poles and random.random() < 0.4):
                x = b.emit("add", b.emit("mul", x, x), b.const(0.5))
            if name == "exp":
                x = b.emit("tanh", x)
            self.add(b.emit(name, x))
        else:
            name = random.choice(BINARY)
            x, y = self.pick(), self.pick()
            if name in ("div", "hypot") and not (self.poles and random.random() < 0.4):
                y = b.emit("add", b.emit("mul", y, y), b.const(0.75))
            if name == "mul":
                y = b.emit("sin", y)
            self.add(b.emit(name, x, y))

    def condition(self) -> Place:
        kind = self.random.random()
        if kind < 0.2:
            return self.pick(BOOL)
        if kind < 0.4:
            return self.b.emit(self.random.choice(["ilt", "ile", "ieq"]), self.pick(I64), self.pick(I64))
        if kind < 0.5:
            name = self.random.choice(["and", "or"])
            return self.b.emit("not", self.b.emit(name, self.pick(BOOL), self.pick(BOOL)))
        return self.b.emit(self.random.choice(COMPARE), self.pick(), self.pick())

    def whole(self) -> None:
        name = self.random.choice(["iadd", "isub", "imul", "imin", "imax", "ifloordiv", "imod", "count", "int"])
        if name == "count":
            found = self.b.emit(name, self.pick(BOOL))
        elif name == "int":
            found = self.b.emit(name, self.b.emit("tanh", self.pick()))
        else:
            found = self.b.emit(name, self.pick(I64), self.pick(I64))
        self.add(self.b.emit("imod", found, self.b.const(7)) if name == "imul" else found)  # not too large
        if self.random.random() < 0.3:
            self.add(self.b.emit("float", self.pick(I64)))

    def index(self, array: Place) -> Place:
        return self.b.emit("imod", self.pick(I64), self.b.emit("size", array))

    def array(self) -> None:
        random, b = self.random, self.b
        kind = random.choice([F64, F64, F64, I64, BOOL])
        a = self.pick(array_of(kind))
        op = random.choice(
            ["load", "load", "load", "store", "store", "bump", "append", "slice", "array", "fill", "grow"]
        )
        if op == "load":
            self.add(b.emit("load", a, self.index(a)))
        elif op == "store" or (op == "bump" and kind == BOOL):
            self.add(b.emit("store", a, self.index(a), self.pick(kind)))
        elif op == "bump":
            self.add(b.emit("bump", a, self.index(a), self.pick(kind)))
        elif op == "append":
            self.add(b.emit("append", a, self.pick(kind)))
        elif op == "slice":
            i = self.index(a)
            rest = b.emit("isub", b.emit("size", a), i)
            self.add(b.emit("slice", a, i, b.emit("imin", rest, b.const(random.randint(1, 3)))))
        elif op == "array":
            self.add(b.array([self.pick(kind) for _ in range(random.randint(1, 3))], kind))
        elif op == "fill":
            n = b.const(random.randint(1, 3))
            if random.random() < 0.3:
                n = self.b.sum(self.b.emit("imod", self.pick(I64), n), 1)
            self.add(b.emit("fill", n, self.pick(kind)))
        else:
            grown = b.emit("grow", a, b.const(1))
            self.add(b.emit("store", grown, b.emit("size", a), self.pick(kind)))

    def inside(self, kinds: list[str], params: list[Place]) -> list[Place]:
        """Grow a body, and return places of these kinds for it to yield."""
        before = {kind: list(places) for kind, places in self.scope.items()}
        for param in params:
            self.add(param)
        self.depth -= 1
        self.grow()
        found = [self.pick(kind) for kind in kinds]
        self.depth += 1
        self.scope = before
        return found

    def choose(self) -> None:
        kinds = [self.random.choice(KINDS) for _ in range(self.random.randint(1, 3))]
        results = self.b.choose(self.condition(), lambda: self.inside(kinds, []), lambda: self.inside(kinds, []))
        for r in results:
            self.add(r)

    def loop(self) -> None:
        random, b = self.random, self.b
        kinds = [random.choice(KINDS) for _ in range(random.randint(1, 4))]
        times = None
        if random.random() < 0.7:
            most = b.const(random.randint(0, 4))
            times = b.emit("imod", self.pick(I64), b.const(4)) if random.random() < 0.4 else most
        ends = times is None or random.random() < 0.2

        def make(params: list[Place], k: Place) -> tuple[Place, list[Place]]:
            if self.checks and random.random() < 0.5:
                at = b.sum(self.pick(I64), k, random.choice([1, -1, 2, -3]))
                low, high = b.emit("ile", b.const(-4), at), b.emit("ilt", at, b.sum(self.pick(I64), 8))
                b.check(random.choice([low, high, b.emit("and", low, high)]), "a check")
            condition, *following = self.inside([BOOL, *kinds], [*params, k])
            again = b.emit("ilt", k, b.const(random.randint(0, 3)))
            if random.random() < 0.5:
                again = b.emit("and", again, condition)
            return again if ends else b.const(True), following

        for r in b.loop(times, [self.pick(kind) for kind in kinds], make):
            self.add(r)

    def sum(self) -> None:
        """Grow a loop that does nothing but add up, or hardly more, whose sums may be added to the result."""
        random, b = self.random, self.b
        times = b.emit("imod", self.pick(I64), b.const(5))
        exits = random.random() < 0.2

        def make(params: list[Place], k: Place) -> tuple[Place, list[Place]]:
            terms = self.inside([F64] * (len(params) + 1), [k])
            if random.random() < 0.15:
                terms[0] = b.emit("mul", terms[0], params[-1])
            again = b.emit("lt", terms[-1], b.const(0.5)) if exits else b.const(True)
            pairs = [(p, x) if random.random() < 0.5 else (x, p) for p, x in zip(params, terms)]
            sums = [b.emit("add", *pair) for pair in pairs]
            if random.random() < 0.3:  # an int has no sign where it is 0
                sums[0] = b.emit("select", self.condition(), b.emit("add", sums[0], b.const(0.0)), sums[0])
            return again, sums

        for r in b.loop(times, [self.pick() for _ in range(random.randint(1, 2))], make)[:-1]:
            self.add(r)
            if len(b.open) == 1:
                self.totals.append(r)

    def choice(self) -> None:
        """Grow a loop that keeps one number out of many, or two of them, as `max` does and loops much like it."""
        random, b = self.random, self.b
        items = random.choice(self.scope["f64[]"])
        compare, branches, least = random.choice(COMPARE), random.random() < 0.5, random.random() < 0.5
        start = [self.pick() for _ in range(random.randint(1, 2))]

        def make(params: list[Place], k: Place) -> tuple[Place, list[Place]]:
            own = [k] if random.random() < 0.6 else [*params[:-1], k]
            (x,) = self.inside([F64], own)
            if random.random() < 0.5:
                x = b.emit("load", items, b.emit("imod", k, b.emit("size", items)))
            other = random.choice([x, self.pick(), params[0]])
            condition = b.emit(compare, x, random.choice([params[0], params[0], self.pick()]))
            best, old = [x, other][: len(start)], params[: len(start)]
            if branches:
                found = b.choose(condition, lambda: best, lambda: old)
            else:
                found = [b.emit("select", condition, *((new, p) if least else (p, new))) for new, p in zip(best, old)]
            return b.const(True), found

        for r in b.loop(b.emit("imod", self.pick(I64), b.const(5)), start, make)[:-1]:
            self.add(r)

    def comprehension(self) -> None:
        """Grow a loop that appends to an array, or two of them around each other."""
        random, b = self.random, self.b
        kind = random.choice([F64, F64, I64, BOOL])
        times = [b.emit("imin", self.pick(I64), b.emit("size", self.pick("f64[]"))) for _ in range(2)]
        start = random.choice([b.const([], array_of(kind)), self.pick(array_of(kind))])
        nested, again = random.random() < 0.4, b.const(random.random() < 0.9)

        def add(params: list[Place], k: Place) -> tuple[Place, list[Place]]:
            (item,) = self.inside([kind], [k])
            array = b.emit("append", params[0], item)
            return b.const(True), [b.emit("append", array, item) if random.random() < 0.2 else array]

        def step(params: list[Place], k: Place) -> tuple[Place, list[Place]]:
            array = params[0]
            if random.random() < 0.3:
                array = b.emit("grow", array, b.const(1))
                array = b.emit("store", array, b.sum(b.emit("size", array), -1), self.pick(kind))
            if not nested:
                return again, [b.emit("append", array, self.inside([kind], [k])[0])]
            return again, [b.loop(times[1], [array], add)[0]]

        made, trips = b.loop(times[0], [start], step)
        self.add(trips)
        size = b.emit("size", made)
        self.add(size)
        self.add(b.emit("load", b.emit("append", made, self.pick(kind)), b.emit("imin", size, b.const(3))))
        if random.random() < 0.5:
            self.add(b.emit("append", made, self.pick(kind)))

    def finish(self, kinds: list[str]) -> Tape:
        found = [self.pick(kind) for kind in kinds]
        for k, total in enumerate(self.totals[:2]):
            found[k] = self.b.emit("add", found[k], total)
        return self.b.finish(found)


PARAMS = [F64, F64, "f64[]", "f64[]", I64, BOOL]
YIELDS = [F64, F64, "f64[]", I64, BOOL, "i64[]", "bool[]"]


def random_tape(seed: int, poles: bool = True, checks: bool = False) -> Tape:
    """A random tape over PARAMS, which yields YIELDS."""
    program = Program(Random(seed), PARAMS, poles=poles)
    program.checks = checks
    for _ in range(3):
        program.grow()
    return program.finish(YIELDS)


def random_arguments(seed: int) -> list[Any]:
    """Arguments for such a tape."""
    random = Random(seed)

    def number() -> float:
        return random.choice(NUMBERS) if random.random() < 0.2 else random.uniform(-2.0, 2.0)

    first, second = ([number() for _ in range(random.randint(1, 4))] for _ in range(2))
    return [number(), number(), first, second, random.randint(-3, 5), random.random() < 0.5]
