"""Random programs whose loops compute their indices, ask about them and count, against eager code: values and gradients."""

from __future__ import annotations

import linecache
import os
import random
from math import inf

import numpy as np
import pytest

from micrograd import math, value_and_grad, vmap
from micrograd.compile.tuning import TUNING
from micrograd.stage.limits import Limits
from random_programs import needs_llvm
from stage.test_changed_lists import ROWS, compare, plain

COUNT = 8 * int(os.environ.get("MICROGRAD_EXAMPLES", "1"))  # programs of an ordinary run
ROLLED = []  # of the programs that have run, those with a loop in the tape
N = 7


class Writer:
    """Writes one program."""

    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)
        self.lines: list[str] = []
        self.names = ["i"]  # the whole numbers that there are

    def index(self) -> str:
        r, i = self.r, self.r.choice(self.names)
        k, n = r.randint(0, 3), r.choice([N, 3, 4])
        return r.choice([i, i, f"{i} - 1", f"{i} + 1", f"{i} - 2", f"{N - 1} - {i}", f"({i} + {k}) % {N}", f"({i} - {k}) % {n}",
                         f"{i} // 2", f"-1 - {i}", f"({k} * {i} + 1) % {n}", f"max({i} - {k}, 0)", f"min({i} + {k}, {N - 1})",
                         f"{i} - 1 if {i} > 0 else {k}", f"-({i} % {n})", f"({i} - 3) // 2", f"2 * {i} - 3"])  # fmt: skip

    def condition(self) -> str:
        r, i, k = self.r, self.r.choice(self.names), self.r.randint(0, N)
        plain = r.choice([f"{i} > {k}", f"{i} < {N - 1}", f"{i} >= 1", f"{i} == {k}", f"{i} != 0", f"0 < {i} < {N - 1}", i,
                          f"{i} % 2 == 0", f"not {i}", f"{i} + 1 < {N}", f"2 * {i} >= {k}",
                          f"{i} == 0 or {i} == {N - 1}"])  # fmt: skip
        return r.choice(
            [plain, plain, plain, f"{plain} and s < {self.read()}", f"{plain} or x > y", f"{self.read()} > y"]
        )

    def read(self) -> str:
        return self.r.choice([f"u[{self.index()}]", f"v[{self.index()}]", f"u[{self.index()}]", "x", "y", "s"])

    def number(self) -> str:
        a, b = self.read(), self.read()
        return self.r.choice([a, f"({a} + 0.3 * {b})", f"0.4 * {a} * {b}", f"math.sin({a} - {b})", f"max({a}, {b})"])

    def statement(self, indent: str) -> None:
        r = self.r
        if r.random() < 0.45:
            self.lines += [f"{indent}if {self.condition()}:", f"{indent}    {self.change()}"]
            if r.random() < 0.4:
                self.lines += [f"{indent}else:", f"{indent}    {self.change()}"]
        else:
            self.lines.append(f"{indent}{self.change()}")

    def change(self) -> str:
        place = self.r.choice(["s", f"u[{self.index()}]", f"v[{self.index()}]"])
        return f"{place} {self.r.choice(['=', '=', '+='])} {self.number()}"

    def loop(self) -> None:
        r = self.r
        kind = r.random()
        if kind < 0.35:
            first, step = r.choice([(0, 1), (1, 1), (0, 2), (N - 1, -1)])
            test = f"j < {N}" if step > 0 else "j >= 0"
            self.names = ["j"]
            self.lines += [f"    j = {first}", f"    while {test}{r.choice(['', '', ' and s < 4.0'])}:"]
            begun = len(self.lines)
            for _ in range(r.randint(1, 3)):
                self.statement("        ")
            self.lines.insert(r.choice([begun, len(self.lines)]), f"        j += {step}")
            self.lines.append("    s = s + 0.1 * j")
            return
        self.names = ["i"]
        if kind < 0.6:
            self.lines.append(f"    k = {r.choice([0, 2, 5])}")
            self.names.append("k")
        self.lines.append(
            f"    for i in {r.choice([f'range({N})', f'range({N})', f'range(1, {N})', f'range({N - 1}, -1, -1)'])}:"
        )
        for _ in range(r.randint(1, 2)):
            self.statement("        ")
        if "k" in self.names:
            self.lines.append(
                f"        {r.choice(['k += 1', 'k = k - 1', 'k += 1 if s > 0.5 else 0', 'k = (k + 1) % 3'])}"
            )
        if r.random() < 0.4:
            self.lines.append(
                f"        for j in {r.choice(['range(i)', f'range(i, {N})', f'range({N - 1})', 'range(i + 1)'])}:"
            )
            self.names.append("j")
            self.statement("            ")

    def program(self) -> str:
        r = self.r
        self.lines += ["def f(x, y):", "    s = x"]
        self.lines.append(f"    u = [x * i - 0.2 * i for i in range({N})]")
        self.lines.append(f"    v = {r.choice([f'[0.0] * {N}', f'[y] * {N}', 'u', 'list(u)'])}")
        for _ in range(r.randint(1, 2)):
            self.loop()
        self.lines.append("    return s + u[0] * u[2] - v[1] + 0.5 * v[-1]")
        return "\n".join(self.lines) + "\n"


def made(seed: int):
    """The function of a program, whose source can be read."""
    text = Writer(seed).program()
    name = f"<indices {seed}>"
    linecache.cache[name] = len(text), None, text.splitlines(True), name
    names = {"math": math}
    exec(compile(text, name, "exec"), names)
    return names["f"], text


@pytest.mark.parametrize("seed", range(COUNT))
def test_a_random_program_with_computed_indices_gives_what_eager_code_gives(seed):
    f = made(seed)[0]
    for g, exact in ((f, True), (value_and_grad(f, (0, 1)), False)):
        # Terms of a derivative may be added in another grouping, which at infinity is nan instead of inf, or the reverse.
        found = compare(g, exact, ROWS if exact else [row for row in ROWS if inf not in row], Limits(iterations=3))
        if found is not None and any("a loop in the tape" in note for note in found.notes.values()):
            ROLLED.append(seed)


@needs_llvm
@pytest.mark.parametrize("seed", range(100, 100 + COUNT // 2))
def test_machine_code_of_a_random_program_with_computed_indices(seed, monkeypatch):
    monkeypatch.setattr(TUNING, "rolled_work", 20)
    g = value_and_grad(made(seed)[0], (0, 1))
    rows = [row for row in ROWS if np.isfinite(row).all() and not isinstance(plain(g, row), type)]
    if rows:
        value, (a, b) = vmap(g)(*np.array(rows).T)
        for k, row in enumerate(rows):
            np.testing.assert_allclose([value[k], a[k], b[k]], plain(g, row), rtol=1e-8, atol=1e-8)


def test_some_random_programs_with_computed_indices_have_loops_in_their_tapes():
    assert len(ROLLED) >= COUNT // 4
