"""Random programs over lists of lists that loops change, against eager code: values and gradients."""

from __future__ import annotations

import linecache
import os
import random
from math import inf

import pytest

from micrograd import math, value_and_grad
from micrograd.stage.limits import Limits
from stage.test_changed_lists import ROWS, compare

COUNT = 6 * int(os.environ.get("MICROGRAD_EXAMPLES", "1"))  # programs of an ordinary run
ROLLED = []  # of the programs that have run, those with a loop in the tape


class Writer:
    """Writes one program."""

    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)
        self.rows, self.columns = self.r.randint(3, 6), self.r.randint(3, 6)
        self.lines: list[str] = []

    def read(self) -> str:
        r = self.r
        i = r.choice(["i", "i - 1", "i + 1", f"{self.rows - 1} - i", "2", "-1", "0"])
        j = r.choice(["j", "j - 1", "j + 1", f"{self.columns - 1} - j", "1", "-2", "0"])
        return r.choice([f"g[{i}][{j}]", f"g[{i}][{j}]", f"h[{i}][{j}]", f"row[{j}]", f"kept[{j}]", "x", "y", "s"])

    def number(self, depth: int = 2) -> str:
        r = self.r
        if depth == 0 or r.random() < 0.3:
            return self.read()
        a, b = self.number(depth - 1), self.number(depth - 1)
        return r.choice(
            [f"({a} + {b})", f"({a} - 0.5 * {b})", f"0.3 * {a} * {b}", f"math.sin({a})", f"max({a}, {b})", f"min({a}, {b})",
             f"({a} if {b} > 0.2 else y)", f"math.tanh({a} + {b})", f"{a} / (2.0 + abs({b}))", f"({a} + 0.1 * i - 0.2 * j)"]
        )  # fmt: skip

    def change(self, indent: str) -> None:
        r, place = self.r, self.read()
        while "[" not in place:
            place = self.read()
        kind = r.random()
        if kind < 0.2:
            self.lines += [f"{indent}if {self.number(1)} > {self.number(1)}:", f"{indent}    {place} = {self.number()}"]
            if r.random() < 0.4:
                self.lines += [f"{indent}else:", f"{indent}    s = s + {place}"]
        elif kind < 0.3:
            self.lines.append(f"{indent}{place} += {self.number(1)}")
        elif kind < 0.4:
            self.lines.append(f"{indent}s = s + {self.number()}")
        elif kind < 0.45 and "g[" in place:
            self.lines.append(f"{indent}{place.rsplit('[', 1)[0]}[:] = {r.choice(['row', 'kept', 'h[1]'])}")
        else:
            self.lines.append(f"{indent}{place} = {self.number()}")

    def loops(self) -> None:
        r, low = self.r, self.r.choice([0, 1, 1])
        over = f"for i in range({low}, {self.rows - r.choice([0, 1])}):"
        self.lines.append(r.choice([f"    {over}", f"    {over}", f"    for i, row in enumerate({r.choice('gh')}):"]))
        if "row" not in self.lines[-1]:
            self.lines.append(f"        row = {r.choice(['g[i]', 'h[i]', 'g[i - 1]', 'kept'])}")
        ends = r.choice([f"range({r.choice([0, 1])}, {self.columns})", f"range({self.columns - 1})", "range(1, i + 1)"])
        self.lines.append(f"        for j in {ends}:")
        for _ in range(r.randint(1, 3)):
            self.change("            ")
        if r.random() < 0.2:
            self.lines += [
                f"            if {self.number(1)} > 1.5:",
                f"                {r.choice(['break', 'continue'])}",
            ]
            self.change("            ")

    def wrap(self, begun: int) -> None:
        """Put the lines from here on into an arm of a choice, or before an exception, now and then."""
        r = self.r
        inner = ["    " + line for line in self.lines[begun:]]
        test = r.choice(["x > y", "s < 0.5", "y > 0.2"])
        kind = r.random()
        if kind < 0.2:
            self.lines[begun:] = [f"    if {test}:", *inner]
        elif kind < 0.3:
            self.lines[begun:] = [f"    if {test}:", "        kept[2] = y", "        g[1][1] = x", "    else:", *inner]
        elif kind < 0.4:
            raising = [f"        if {test}:", "            raise ValueError", "        g[2][0] = s"]
            handling = ["    except ValueError:", "        s = s + g[1][1] - kept[0]"]
            self.lines[begun:] = ["    try:", *inner, *raising, *handling]

    def program(self) -> str:
        r = self.r

        def table() -> str:
            n = r.choice([f"[{r.choice(['x', 'y', '0.0', '0.3'])}] * {self.columns}", "ROW", "ROW"])
            n = n.replace("ROW", f"[x * i + 0.1 * j - y for j in range({self.columns})]")
            return f"[{n} for i in range({self.rows})]"

        self.lines += ["def f(x, y):", f"    g = {table()}"]
        self.lines.append(f"    h = {r.choice([table(), table(), table(), 'g', 'list(g)', '[list(r) for r in g]'])}")
        self.lines += [f"    kept = {r.choice(['g[0]', 'g[1]', 'h[2]', 'list(g[1])'])}", "    s = 0.0"]
        for _ in range(r.randint(1, 3)):
            begun = len(self.lines)
            self.loops()
            self.wrap(begun)
            self.lines += r.choice(
                [[], [], ["    kept[1] = s"], ["    h[0] = g[1]"], ["    g[0].append(x)", "    g[0].pop(0)"]]
            )
        self.lines.append("    return s + g[0][1] * h[2][0] + kept[1] + total([total(r) for r in g]) - h[1][-1]")
        return "\n".join(self.lines) + "\n"


def total(numbers):
    """sum(numbers), which corrects its rounding since Python 3.12, so that the paths of a program stay apart there."""
    result = 0.0
    for x in numbers:
        result = result + x
    return result


def made(seed: int):
    """The function of a program, whose source can be read."""
    text = Writer(seed).program()
    name = f"<tables {seed}>"
    linecache.cache[name] = len(text), None, text.splitlines(True), name
    names = {"math": math, "total": total}
    exec(compile(text, name, "exec"), names)
    return names["f"], text


@pytest.mark.parametrize("seed", range(COUNT))
def test_a_random_program_over_tables_gives_what_eager_code_gives(seed):
    f = made(seed)[0]
    for g, exact in ((f, True), (value_and_grad(f, (0, 1)), False)):
        # Terms of a derivative may be added in another grouping, which at infinity is nan instead of inf, or the reverse.
        found = compare(g, exact, ROWS if exact else [row for row in ROWS if inf not in row], Limits(iterations=3))
        if found is not None and any("a loop in the tape" in note for note in found.notes.values()):
            ROLLED.append(seed)


def test_some_random_programs_over_tables_have_loops_in_their_tapes():
    assert len(ROLLED) >= COUNT // 3
