"""Random tapes with loops and choices inside each other: poles in arms that are not taken, values made before an `if` and used
in one arm only, loops that end early or never begin, arrays, nested regions."""

from __future__ import annotations

from random import Random

from micrograd.ops import OPS
from micrograd.tape.builder import Builder
from micrograd.tape.tape import PICK, STACK, Tape, element

UNARY = ["sin", "cos", "tanh", "exp", "log", "sqrt", "neg", "abs", "relu", "atan", "sigmoid", "cbrt"]
BINARY = ["add", "sub", "mul", "div", "add", "mul", "max", "hypot"]
COMPARE = ["lt", "le", "gt", "ge", "eq", "ne"]
NUMBERS = [0.0, 1.0, 0.5, -1.0, 2.0, 0.25]


class Program:
    """A tape that grows at random, out of a seed."""

    def __init__(self, random: Random, inputs: int, depth: int, steps: int, poles: bool = True) -> None:
        self.random, self.depth, self.steps, self.poles = random, depth, steps, poles
        self.b = Builder(inputs)
        self.values = [self.b.input(k) for k in range(inputs)] + [self.b.const(random.choice(NUMBERS))]
        self.arrays: list[tuple[int, int]] = []  # place, length

    def pick(self) -> int:
        """A value; newer ones more often, so that most are used."""
        near = self.values[-4:] if self.random.random() < 0.6 else self.values
        return self.random.choice(near)

    def grow(self) -> None:
        for _ in range(self.random.randint(1, self.steps)):
            self.step()

    def step(self) -> None:
        random, b = self.random, self.b
        kind = random.random()
        if self.depth and kind < 0.18:
            self.choose()
        elif self.depth and kind < 0.36:
            self.loop()
        elif kind < 0.42:
            self.values.append(b.append(PICK, self.condition(), self.pick(), self.pick()))
        elif kind < 0.47:
            length = random.randint(1, 4)
            place = b.append(STACK, *[self.pick() for _ in range(length)])
            self.arrays.append((place, length))
        elif kind < 0.52 and self.arrays:
            place, length = random.choice(self.arrays)
            self.values.append(b.append(element(random.randrange(length)), place))
        elif kind < 0.75:
            name = random.choice(UNARY)
            x = self.pick()
            if name in ("log", "sqrt", "cbrt") and not (self.poles and random.random() < 0.5):
                x = b.append(OPS["add"], b.append(OPS["mul"], x, x), b.const(0.5))
            if name == "exp":
                x = b.append(OPS["tanh"], x)
            self.values.append(b.append(OPS[name], x))
        else:
            name = random.choice(BINARY)
            x, y = self.pick(), self.pick()
            if name in ("div", "hypot") and not (self.poles and random.random() < 0.5):
                y = b.append(OPS["add"], b.append(OPS["mul"], y, y), b.const(0.75))
            if name == "mul":
                y = b.append(OPS["sin"], y)
            self.values.append(b.append(OPS[name], x, y))

    def condition(self) -> int:
        return self.b.append(OPS[self.random.choice(COMPARE)], self.pick(), self.pick())

    def inner(self, inputs: int, returned: int) -> Tape:
        """A body with numbers as inputs, that returns so many values."""
        p = Program(self.random, inputs, self.depth - 1, self.steps, self.poles)
        p.grow()
        return p.b.finish([p.pick() for _ in range(returned)])

    def choose(self) -> None:
        operands = [self.pick() for _ in range(self.random.randint(0, 3))]
        returned = self.random.randint(1, 2)
        then, otherwise = self.inner(len(operands), returned), self.inner(len(operands), returned)
        self.values += self.b.choose(self.condition(), operands, then, otherwise)

    def loop(self) -> None:
        random, b = self.random, self.b
        carry = [self.pick() for _ in range(random.randint(0, 2))]
        invariants = [self.pick() for _ in range(random.randint(0, 2))]
        kind = random.choice(["static", "static", "over", "over", "bounded", "while"])
        iterations: int | None = random.choice([0, 1, 2, 3, 5])
        over: list[int] = []
        if kind in ("over", "bounded") and self.arrays:
            place, iterations = random.choice(self.arrays)
            over = [place, *(p for p, n in self.arrays if n == iterations and random.random() < 0.5 and p != place)]
        if kind == "while":
            iterations = None
        if kind in ("bounded", "while"):
            carry = [*carry, b.const(0.0)]  # a counter, so that every loop ends
        stacked = random.randint(0, 2)
        count = len(carry) + len(invariants) + len(over) + 1
        p = Program(random, count, self.depth - 1, self.steps, self.poles)
        p.grow()
        returned = [p.pick() for _ in range(len(carry) + stacked)]
        condition = None
        if kind in ("bounded", "while"):
            counter = len(carry) - 1
            returned[counter] = p.b.append(OPS["add"], p.b.input(counter), p.b.const(1.0))
            test = Builder(count)
            few = test.append(OPS["lt"], test.input(counter), test.const(float(random.choice([0, 1, 3, 6]))))
            also = test.append(OPS["lt"], test.input(random.randrange(count)), test.const(1.5))
            condition = test.finish([test.append(OPS["mul"], few, also)])
        body = p.b.finish(returned)
        reverse = condition is None and random.random() < 0.3
        results = b.loop(body, carry, invariants, over, iterations, condition, reverse)
        self.values += results[: len(carry)]
        if condition is None and iterations:
            self.arrays += [(place, iterations) for place in results[len(carry) :]]
        elif condition is not None and stacked:  # an array of unknown length: another loop adds it up
            inner = Builder(3)
            total = inner.append(OPS["add"], inner.input(0), inner.append(OPS["sin"], inner.input(1)))
            self.values += b.loop(inner.finish([total]), [b.const(0.0)], [], [results[len(carry)]])
        if condition is not None and iterations is not None:
            self.values.append(results[len(carry) - 1])


def region_tape(seed: int, depth: int = 2, steps: int = 6, inputs: int = 3, poles: bool = True) -> Tape:
    """A random tape with one to three outputs."""
    random = Random(seed)
    p = Program(random, inputs, depth, steps, poles)
    while len(p.b.ops) < 6:
        p.grow()
    if depth and not any(op.name in ("loop", "choose") for op in p.b.ops):
        p.loop() if random.random() < 0.5 else p.choose()
    p.grow()
    return p.b.finish([p.values[-1 - k] for k in range(random.randint(1, 3))])
