"""Objects and exceptions in random programs: attributes that loops change, objects made anew, errors raised and caught."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fuzz.generate import Writer

CLASSES = {
    "Point": """
class Point:
    def __init__(self, x, y):
        self.x, self.y, self.steps = x, y, 0

    def step(self, d):
        self.y = self.y - 0.1 * self.x
        self.x += d * self.y
        self.steps += 1

    def __add__(self, other):
        return Point(self.x + other.x, self.y - other.y)

    def __mul__(self, k):
        return Point(self.x * k, self.y + 0.1)

    def __lt__(self, other):
        return self.x < other.x

    @property
    def size(self):
        return self.x * self.x + self.y * self.y if self.steps < 3 else self.x
""",
    "Box": """
from dataclasses import dataclass, replace

@dataclass
class Box:
    x: object
    y: object = 0.5

    def step(self, d):
        self.x, self.y = self.y + 0.1 * d, self.x

    def __add__(self, other):
        return replace(self, x=self.x + other.x)

    def __mul__(self, k):
        return Box(self.x * k, k)

    @property
    def size(self):
        return self.x - self.y
""",
    "Pair": """
from typing import NamedTuple

class Pair(NamedTuple):
    x: float
    y: float

    def __add__(self, other):
        return Pair(self.x + other.y, self.y)

    def __mul__(self, k):
        return self._replace(y=self.y * k)

    @property
    def size(self):
        return max(self.x, self.y)
""",
}
ERRORS = ("ValueError", "KeyError", "StopIteration")


def statement(w: Writer) -> None:
    """A new object, another name for one, or a change."""
    r, objects = w.r, w.scope.objects
    if not objects or r.random() < 0.35:
        kind = r.choice(list(CLASSES))
        name = w.new("q" if kind == "Pair" else "o")
        w.kinds[name] = kind
        w.write(f"{name} = {_made(w, kind)}")
        if r.random() < 0.2:
            objects.append(w.new(name[0]))
            w.kinds[objects[-1]] = kind
            w.write(f"{objects[-1]} = {name}")
        objects.append(name)
        w.scope.numbers.extend((f"{name}.x", f"{name}.y"))
    else:
        w.write(change(w))


def _made(w: Writer, kind: str) -> str:
    w.classes.add(kind)
    return f"{kind}({w.number(2)}, {w.number(2)})"


def change(w: Writer) -> str:
    """A line that changes an object, or replaces it; many times in a row it stays of ordinary size."""
    r, name = w.r, w.r.choice(w.scope.objects)
    kind, a, b = w.kinds[name], w.number(2), w.number(2)
    others = [n for n in w.scope.objects if w.kinds[n] == kind]
    lines = [f"{name} = {name} + {kind}(0.1 * {a}, {b})", f"{name} = {name} * m.sin({a})",
             f"{name} = {kind}(m.sin({name}.y + {a}), {name}.x)", f"{name}, {others[0]} = {others[0]}, {name}",
             f"{name} = {r.choice(others)} + {r.choice(others)} * 0.5"]  # fmt: skip
    if kind == "Pair":
        lines += [f"{name} = {name}._replace(x=m.tanh({a}))"]
    else:
        lines += [
            f"{name}.step(m.cos({a}))",
            f"{name}.x = m.sin({name}.x + 0.1 * {a})",
            f"{name}.y += 0.1 * m.tanh({b})",
        ] * 2
    return r.choice(lines)


def number(w: Writer) -> str:
    """A number of an object, or of a comprehension that makes objects."""
    r, k = w.r, w.new("k")
    if w.scope.objects and r.random() < 0.7:
        return f"{r.choice(w.scope.objects)}.{r.choice(('x', 'y', 'size'))}"
    kind = r.choice(list(CLASSES))
    w.classes.add(kind)
    made = f"{kind}({w.number(2)} * {k}, {w.number(2)}) for {k} in range({r.choice((2, 3, 24) if not w.loops else (2, 3))})"
    return r.choice((f"(0.1 * sum([{k}.size for {k} in [{made}]]))", f"max([{made}], key=lambda {k}: {k}.y - {k}.x).x"))


# ---- exceptions


def caught(w: Writer, in_loop: bool) -> None:
    """try, except and perhaps else and finally; some statements of the body may raise what is caught."""
    r = w.r
    outer, w.raised = w.raised, r.choice(ERRORS)
    w.write("try:")
    if r.random() < 0.3:
        w.depth += 1
        w.write(lookup(w))
        w.depth -= 1
    w.block(r.randint(1, 3), in_loop)
    w.depth += 1
    raises(w)
    w.depth -= 1
    error, w.raised = w.raised, outer
    w.write(
        f"except {r.choice((error, f'({error}, TypeError)', 'Exception')) if error != 'KeyError' else 'LookupError'}:"
    )
    w.block(r.randint(1, 2), in_loop)
    if r.random() < 0.3:
        w.write("else:")
        w.block(1, in_loop)
    if r.random() < 0.3:
        w.write("finally:")
        w.write(f"    {w.assignable()} += {w.number(2)}")


def raises(w: Writer) -> None:
    """An exception where a test is true."""
    w.write(f"if {w.test()}:")
    w.write(f"    raise {w.raised}")


def lookup(w: Writer) -> str:
    """A number by an index or a key that may be missing."""
    r = w.r
    if w.scope.texts and w.raised == "KeyError":
        return f"{w.assignable()} = {{'a': {w.number(2)}, 'b': {w.number(2)}}}[{r.choice(w.scope.texts)}]"
    if w.scope.lists and w.raised == "KeyError":
        return f"{w.assignable()} = {r.choice(w.scope.lists)}[{r.randint(1, 3)}]"
    return f"{w.assignable()} = {w.number(2)}"
