"""Random programs with branches and loops, what eager code says of them, and a reducer for those that go wrong.

python tests/stage/programs.py --seconds 300        # run programs until time is up; print each wrong one, reduced
"""

from __future__ import annotations

import ast
import linecache
import math as standard
import random
import struct
import sys
import time
import warnings
from typing import Any

from micrograd import Value, grad, value_and_grad
from micrograd.stage.errors import Unsupported
from micrograd.stage.staged import flat, stage
from micrograd.tape import interpret
from micrograd.tree import NUMBER, flatten

INPUTS = 3
NUMBERS = [0.0, 1.0, -1.0, 2.0, 0.5, -0.5, 3.0, 1e-3, -2.0, 7.5]


class Writer:
    """Writes one random program."""

    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)
        self.lines: list[str] = []
        self.depth = 1
        self.numbers = ["x", "y", "z"]  # variables that hold Values (or floats)
        self.counters: list[str] = []
        self.lists: list[str] = []
        self.loops = 0
        self.names = 0
        self.texts: list[str] = []
        self.iterators: list[str] = []
        self.helpers: list[str] = []
        self.size = self.r.randint(6, 22)

    def write(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    def new(self, kind: str) -> str:
        self.names += 1
        return f"{kind}{self.names}"

    def number(self, deep: int = 0) -> str:
        r = self.r
        kind = r.random()
        if deep > 2 or kind < 0.35:
            return r.choice(self.numbers)
        if kind < 0.45:
            return repr(r.choice(NUMBERS))
        if kind < 0.7:
            return f"({self.number(deep + 1)} {r.choice(['+', '-', '*', '*', '/'])} {self.number(deep + 1)})"
        if kind < 0.82:
            f = r.choice(
                ["math.exp", "math.sin", "math.tanh", "math.log", "math.sqrt", "abs", "math.atan", "math.relu"]
            )
            return f"{f}({self.number(deep + 1)})"
        if kind < 0.87:
            return f"{r.choice(['min', 'max'])}({self.number(deep + 1)}, {self.number(deep + 1)})"
        if kind < 0.91:
            return f"({self.number(deep + 1)} if {self.test(deep + 1)} else {self.number(deep + 1)})"
        if kind < 0.93 and self.lists:
            name = r.choice(self.lists)
            return f"{name}[{r.choice(['0', '-1'])}]"
        if kind < 0.95 and self.counters:
            return f"({self.number(deep + 1)} * {r.choice(self.counters)})"
        if kind < 0.97 and self.helpers:
            return f"{r.choice(self.helpers)}({self.number(deep + 1)}, {self.number(deep + 1)})"
        if kind < 0.98 and deep < 1:
            return f"sorted([{self.number(2)}, {self.number(2)}, {self.number(2)}])[{r.randint(0, 2)}]"
        return f"sum([{self.number(2)}, {self.number(2)}])"

    def test(self, deep: int = 0) -> str:
        r = self.r
        kind = r.random()
        if kind < 0.5 or deep > 2:
            return f"{self.number(2)} {r.choice(['<', '<=', '>', '>=', '<', '>', '==', '!='])} {self.number(2)}"
        if kind < 0.6:
            return f"{self.number(2)} < {self.number(2)} <= {self.number(2)}"
        if kind < 0.7:
            return f"({self.test(deep + 1)} {r.choice(['and', 'or'])} {self.test(deep + 1)})"
        if kind < 0.75:
            return f"not {self.test(deep + 1)}"
        if kind < 0.8 and self.counters:
            return f"{r.choice(self.counters)} {r.choice(['<', '>', '=='])} {r.randint(0, 4)}"
        if kind < 0.83 and self.texts:
            return f"{r.choice(self.texts)} == {r.choice(['a', 'ab', 'b'])!r}"
        if kind < 0.86 and len(self.lists) > 1:
            return f"{r.choice(self.lists)} is {r.choice(self.lists)}"
        if kind < 0.9:
            return f"{r.choice(['any', 'all'])}(v > {self.number(2)} for v in [{self.number(2)}, {self.number(2)}])"
        if kind < 0.93:
            return f"{r.choice(self.numbers)} in ({self.number(2)}, {self.number(2)})"
        if kind < 0.96 and self.lists:
            return f"len({r.choice(self.lists)}) > {r.randint(1, 3)}"
        return f"{r.choice(self.numbers)} > 0"

    def block(self, count: int, in_loop: bool) -> None:
        """An indented block; variables that are first assigned in it are not used behind it."""
        kept = [list(x) for x in (self.numbers, self.counters, self.lists, self.texts, self.iterators, self.helpers)]
        self.depth += 1
        for _ in range(max(count, 1)):
            self.statement(in_loop)
        self.depth -= 1
        self.numbers, self.counters, self.lists, self.texts, self.iterators, self.helpers = kept

    def statement(self, in_loop: bool) -> None:
        r = self.r
        self.size -= 1
        kind = r.random()
        if self.size <= 0 or self.depth > 4:
            kind *= 0.45
        if kind < 0.16:
            self.write(f"{r.choice(self.numbers)} = {self.number()}")
        elif kind < 0.22:
            name, value = self.new("v"), self.number()
            self.write(f"{name} = {value}")
            self.numbers.append(name)
        elif kind < 0.27:
            self.write(f"{r.choice(self.numbers)} {r.choice(['+=', '-=', '*='])} {self.number(2)}")
        elif kind < 0.31:
            self._counter()
        elif kind < 0.37:
            self._list()
        elif kind < 0.40:
            if self.texts and r.random() < 0.6:
                self.write(f"{r.choice(self.texts)} {r.choice(['=', '+='])} {r.choice(['a', 'b'])!r}")
            else:
                self.texts.append(self.new("t"))
                self.write(f"{self.texts[-1]} = 'a'")
        elif kind < 0.43:
            a, b = r.choice(self.numbers), r.choice(self.numbers)
            self.write(f"{a}, {b} = {b}, {a}")
        elif kind < 0.45:
            self._iterator()
        elif kind < 0.72:
            self.write(f"if {self.test()}:")
            self.block(r.randint(1, 3), in_loop)
            if r.random() < 0.3:
                self.write(f"elif {self.test()}:")
                self.block(r.randint(1, 2), in_loop)
            if r.random() < 0.5:
                self.write("else:")
                self.block(r.randint(1, 3), in_loop)
        elif kind < 0.84 and self.loops < 2:
            self._loop()
        elif kind < 0.90 and in_loop:
            self.write(f"if {self.test()}:")
            self.depth += 1
            self.write(r.choice(["break", "continue"]))
            self.depth -= 1
        elif kind < 0.95:
            self.write(f"if {self.test()}:")
            self.depth += 1
            self.write(f"return {self.number()}")
            self.depth -= 1
        else:
            self._function()

    def _counter(self) -> None:
        if self.counters and self.r.random() < 0.7:
            self.write(f"{self.r.choice(self.counters)} += {self.r.randint(1, 2)}")
        else:
            name = self.new("n")
            self.write(f"{name} = {self.r.randint(0, 2)}")
            self.counters.append(name)

    def _list(self) -> None:
        r = self.r
        kind = r.random()
        if not self.lists or kind < 0.3:
            name = self.new("L")
            self.write(f"{name} = [{self.number(2)}, {self.number(2)}]")
            self.lists.append(name)
        elif kind < 0.5:
            self.write(f"{r.choice(self.lists)}.append({self.number(2)})")
        elif kind < 0.75:
            self.write(f"{r.choice(self.lists)}[{r.choice(['0', '-1'])}] = {self.number(2)}")
        elif kind < 0.9:
            name = self.new("L")
            self.write(f"{name} = {r.choice(self.lists)}")
            self.lists.append(name)
        else:
            self.write(f"{r.choice(self.numbers)} = sum({r.choice(self.lists)})")

    def _iterator(self) -> None:
        r = self.r
        if self.iterators and r.random() < 0.7:
            self.write(f"{r.choice(self.numbers)} = next({r.choice(self.iterators)}, {self.number(2)})")
        else:
            name = self.new("it")
            self.write(f"{name} = iter([{self.number(2)}, {self.number(2)}, {self.number(2)}])")
            self.iterators.append(name)

    def _loop(self) -> None:
        r = self.r
        self.loops += 1
        kind = r.random()
        if kind < 0.4:
            name = self.new("i")
            self.write(f"for {name} in range({r.randint(1, 4)}):")
            self.counters.append(name)
            self.block(r.randint(1, 3), True)
            self.counters.remove(name)
        elif kind < 0.6:
            name = self.new("v")
            self.write(f"for {name} in [{self.number(2)}, {self.number(2)}, {self.number(2)}]:")
            self.numbers.append(name)
            self.block(r.randint(1, 3), True)
            self.numbers.remove(name)
        else:
            name = self.new("n")
            self.write(f"{name} = 0")
            self.write(f"while {name} < {r.randint(2, 5)} and {self.test()}:")
            self.depth += 1
            self.write(f"{name} += 1")
            self.depth -= 1
            self.block(r.randint(1, 3), True)
        if r.random() < 0.15:
            self.write("else:")
            self.block(1, False)
        self.loops -= 1

    def _function(self) -> None:
        r = self.r
        name = self.new("h")
        self.write(f"def {name}(a, b):")
        saved = self.numbers, self.lists, self.counters, self.iterators
        shared = [n for n in self.numbers if n in ("x", "y", "z")] if r.random() < 0.4 else []
        self.depth += 1
        if shared:
            self.write(f"nonlocal {', '.join(shared)}" if name and r.random() < 0 else "pass")
        owner = r.choice(saved[0])
        if r.random() < 0.3:
            self.write(f"nonlocal {owner}")
            self.write(f"{owner} = {owner} + a" if r.random() < 0.5 else f"{owner} = b")
        self.numbers = ["a", "b"]
        self.lists, self.counters, self.iterators = [], [], []
        self.write(f"if {self.test(2)}:")
        self.depth += 1
        self.write(f"return {self.number(1)}")
        self.depth -= 1
        self.write(f"return {self.number(1)}")
        self.depth -= 1
        self.numbers, self.lists, self.counters, self.iterators = saved
        self.helpers.append(name)

    def program(self) -> str:
        """The whole text."""
        self.lines = ["from micrograd import math", "", "def outer(x, y, z):", "    return inner(x, y, z)", ""]
        self.lines.append("def inner(x, y, z):")
        while self.size > 0:
            self.statement(False)
        parts = [self.number(1), self.number(1), *self.counters[:1]]
        self.write(f"return {' + '.join(parts)}")
        return "\n".join(self.lines) + "\n"


_count = 0


def load(text: str) -> Any:
    """The function of a program, with a source that can be found."""
    global _count
    _count += 1
    name = f"<program {_count}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    found: dict[str, Any] = {"__name__": "program"}
    exec(compile(text, name, "exec"), found)
    return found["outer"]


def inputs(seed: int, count: int) -> list[list[float]]:
    """Rows: random numbers, ties, zeros and now and then a nan or an infinity."""
    r = random.Random(seed + 1)
    rows = []
    for _ in range(count):
        row = [r.choice([r.gauss(0, 2), r.gauss(0, 2), r.choice(NUMBERS)]) for _ in range(INPUTS)]
        if r.random() < 0.1:
            row[r.randrange(INPUTS)] = r.choice([standard.nan, standard.inf, -standard.inf])
        rows.append(row)
    return rows


def both(f: Any) -> dict[str, Any]:
    """What is compared: the value, the gradient, and the gradient of a sum of gradients."""

    def slope(*args: Any) -> Any:
        gx, gy, gz = grad(f, (0, 1, 2))(*args)
        return gx + 2.0 * gy - gz

    return {
        "value": f,
        "gradient": value_and_grad(f, (0, 1, 2)),
        "second": grad(slope, (0, 1, 2)),
    }


def eager(f: Any, row: list[float]) -> list[float] | str:
    """The results of plain Python for one row, or the name of what it raises."""
    try:
        found: list[Any] = []
        flatten(f(*[Value(x) for x in row]), found)
        return [float(x.data if isinstance(x, Value) else x) for x in found]
    except Exception as error:
        return type(error).__name__


def staged(found: Any, row: list[float]) -> list[float] | None:
    """The results of the tape; None where its guard fails."""
    try:
        return [float(x) for x in interpret.run(found.tape, row, [v.data for v in found.captured])]
    except interpret.GuardFailed:
        return None


def equal(a: float, b: float, exact: bool) -> bool:
    """Whether two numbers are the same: to the bit, or but for rounding."""
    if a != a or b != b:
        return a != a and b != b
    if exact:
        return struct.pack("d", a) == struct.pack("d", b)
    return a == b or abs(a - b) <= 1e-9 * max(abs(a), abs(b)) + 1e-11


def wrong(text: str, rows: list[list[float]], orders: Any = ("value", "gradient", "second")) -> tuple[str, int, int]:
    """What is wrong with the merged tapes of a program (nothing: ""), rows compared, and rows with a tape of their own."""
    f = load(text)
    compared = own = 0
    functions = both(f)
    for order in orders:
        g = functions[order]
        for first in range(0, len(rows), max(1, len(rows) // 2)):
            try:
                found = stage(g, flat(("tuple", (NUMBER,) * INPUTS)), rows[first])
            except Unsupported:
                own += 1
                continue
            except Exception as error:
                if isinstance(eager(g, rows[first]), str):  # the row itself raises
                    continue
                return f"{order}: {type(error).__name__}: {error}", compared, own
            for row in rows:
                want, got = eager(g, row), staged(found, row)
                compared += 1
                if got is None:
                    own += 1
                elif isinstance(want, str):
                    return f"{order} of {row}: {got}, but eager code raises {want}", compared, own
                elif len(want) != len(got) or not all(equal(a, b, order == "value") for a, b in zip(want, got)):
                    return f"{order} of {row}: {got}, but eager code gives {want}", compared, own
    return "", compared, own


def reduce(text: str, rows: list[list[float]], orders: Any) -> str:
    """A shorter program that is wrong too: statements are left out, one after the other, as long as it stays wrong."""
    tree = ast.parse(text)
    again = True
    while again:
        again = False
        for node in ast.walk(tree):
            for field in ("body", "orelse"):
                body = getattr(node, field, None)
                if not isinstance(body, list):
                    continue
                for k in range(len(body) - 1, -1, -1):
                    for other in ([], getattr(body[k], "body", None), getattr(body[k], "orelse", None)):
                        if not isinstance(other, list) or (other and isinstance(body[k], ast.FunctionDef)):
                            continue
                        kept = body[:]
                        body[k : k + 1] = other
                        if not body and field == "body":
                            body.append(ast.Pass())
                        try:
                            shorter = ast.unparse(ast.fix_missing_locations(tree))
                            good = len(shorter) < len(text) and wrong(shorter, rows, orders)[0]
                        except Exception:
                            good = ""
                        if good:
                            text, again = shorter, True
                            break
                        body[:] = kept
                    if again:
                        break
                if again:
                    break
            if again:
                break
    return text


def main() -> None:
    """Run programs until time is up."""
    seconds = float(sys.argv[sys.argv.index("--seconds") + 1]) if "--seconds" in sys.argv else 60.0
    seed = int(sys.argv[sys.argv.index("--seed") + 1]) if "--seed" in sys.argv else random.randrange(10**9)
    warnings.simplefilter("ignore")
    end = time.time() + seconds
    programs = compared = own = bad = 0
    while time.time() < end and bad < 5:
        seed += 1
        text, rows = Writer(seed).program(), inputs(seed, 8)
        try:
            what, c, o = wrong(text, rows)
        except RecursionError:
            continue
        programs, compared, own = programs + 1, compared + c, own + o
        if what:
            bad += 1
            order = what.split(":")[0].split(" ")[0]
            shorter = reduce(text, rows, (order,))
            print(f"--- seed {seed}: {wrong(shorter, rows, (order,))[0]}\n{shorter}\n", flush=True)
    print(f"{programs} programs, {compared} rows compared, {own} rows or tapes on their own, {bad} wrong")
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
