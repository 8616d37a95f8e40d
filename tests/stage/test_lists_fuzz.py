"""Random programs over lists that are created in each iteration of a loop, against eager code: values and gradients."""

from __future__ import annotations

import linecache
import random
from typing import Any

import numpy as np
import pytest

from micrograd import math, value_and_grad, vmap
from micrograd.compile.tuning import TUNING
from micrograd.tape.tape import Loop
from random_programs import needs_llvm

pytestmark = needs_llvm

COUNT = 8  # programs of an ordinary run
ROWS = [(0.5, 2.0, -1.0), (-0.5, 1.5, 1.0), (1.3, 1.0, 0.25), (0.0, -0.3, 0.5), (1.0, 1.0, 1.0), (-2.0, 0.0, 0.0)]
ROLLED = []  # of the programs that have run, those with a loop in the tape


@pytest.fixture(autouse=True)
def short_loops_are_rolled(monkeypatch):
    monkeypatch.setattr(TUNING, "rolled_work", 20)


class Writer:
    """Writes one program."""

    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)
        self.counter = "k"
        self.iterations = self.r.randint(4, 14)
        self.width = self.r.randint(26, 34) + self.iterations
        self.by = self.r.choice([0, 0, 1])  # how many items shorter the lists become in each iteration
        self.length = f"{self.width} - t" if self.by else str(self.width)

    def number(self, items: list[str], depth: int = 2) -> str:
        """An expression over items, arguments and counters."""
        r = self.r
        if depth == 0 or r.random() < 0.2:
            return r.choice([*items, *items, "x", "y", "z", "s", f"{r.uniform(-1, 1):.2f}"])
        a, b = self.number(items, depth - 1), self.number(items, depth - 1)
        return r.choice(
            [f"({a} + {b})", f"({a} - {b})", f"0.5 * {a} * {b}", f"math.sin({a})", f"math.tanh({a} + {b})", f"max({a}, {b})",
             f"min({a}, 0.3 * {b})", f"({a} if {b} > 0.1 else {self.number(items, depth - 1)})", f"math.exp(-({a}) * ({a}))",
             f"{a} / (1.0 + x * x + {b} * {b})", f"math.sqrt({a})", f"math.log({b})", f"({a}) * 0.1 * {self.counter}"]
        )  # fmt: skip

    def items(self, shorter: int) -> str:
        """A list of `shorter` items less than u and v have."""
        r, n = self.r, self.length
        count = f"{n} - {shorter}" if shorter else n
        kind = r.random()
        if kind < 0.55:
            reads = [f"u[k + {r.randint(0, shorter)}]", f"v[k + {r.randint(0, shorter)}]", f"u[{n} - 1 - k]", "v[3]"]
            return f"[{self.number(r.sample(reads, 2))} for k in range({count})]"
        start, stop = (0, shorter) if r.random() < 0.5 else (shorter, 0)
        part = f"[{start or ''}:{f'-{stop}' if stop else ''}]" if shorter else ""
        if kind < 0.75:
            return f"[{self.number(['a', 'b'])} for k, (a, b) in enumerate(zip(u{part}, v{part}))]"
        if kind < 0.85 and not part:
            return f"[{self.number(['a', 'b'])} for k, (a, b) in enumerate(zip(u, reversed(v)))]"
        return f"[{self.number(['a'])} for k, a in enumerate(v{part})]"

    def statement(self, indent: str) -> list[str]:
        r = self.r
        kind = r.random()
        if kind < 0.25:
            fold = r.choice(
                ["u[2]", "v[-1]", "sum(u)", "max(v)", "min(u)", "sum(a * b for a, b in zip(u, v))", "len(u)"]
            )
            return [f"{indent}s = 0.5 * s + 0.01 * {fold}"]
        if kind < 0.4:
            return [
                f"{indent}for k in range({self.length}):",
                f"{indent}    s = 0.9 * s + 0.01 * {self.number(['u[k]', 'v[k]'])}",
            ]
        if kind < 0.55:
            self.counter = "t"
            test = f"{indent}if {self.number(['u[1]', 'v[0]'])} > 0.2 * t:"
            self.counter = "k"
            return [test, f"{indent}    u = {self.items(0)}", f"{indent}else:", f"{indent}    u = {self.items(0)}"]
        if kind < 0.65:
            return [f"{indent}u, v = v, u"]
        if kind < 0.72:
            return [f"{indent}w = u", f"{indent}u = {self.items(0)}", f"{indent}s = s + 0.01 * w[4]"]
        return [f"{indent}{r.choice('uv')} = {self.items(0)}"]

    def source(self) -> str:
        lines = ["def f(x, y, z):", "    s = x", "    t = 0"]
        for name in "uv":
            lines.append(f"    {name} = [{self.number(['y'], 2)} + 0.01 * x * k for k in range({self.width})]")
        lines.append(f"    for t in range({self.iterations}):")
        for _ in range(self.r.randint(1, 3)):
            lines += self.statement("        ")
        if self.by:
            lines += [f"        new = {self.items(1)}", "        v = " + self.items(1), "        u = new"]
        elif self.r.random() < 0.3:
            lines += ["        if s > 3.0:", "            break"]
        lines.append("    return s + u[0] + 0.1 * v[-1] * u[len(u) - 2]")
        return "\n".join(lines) + "\n"


def build(seed: int) -> Any:
    """The function of a seed."""
    text, name = Writer(seed).source(), f"<lists {seed}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    scope: dict[str, Any] = {"math": math}
    exec(compile(text, name, "exec"), scope)
    return scope["f"]


def number(x: Any) -> float:
    return float(getattr(x, "data", x))


def run(seed: int) -> bool:
    """Compare one program with eager code; whether a loop of it is in the tape."""
    f = value_and_grad(build(seed), (0, 1, 2))
    g = vmap(f)
    value, slopes = g(*np.array(ROWS).T)
    for k, row in enumerate(ROWS):
        want, partials = f(*row)
        got = np.array([value[k], *(s[k] for s in slopes)])
        wanted = np.array([number(want), *map(number, partials)])
        finite = np.isfinite(
            wanted
        )  # where a slope is infinite, whether it is inf or nan depends on how sums are grouped
        message = f"row {row}: {got}, not {wanted}\n{Writer(seed).source()}"
        np.testing.assert_allclose(got[finite], wanted[finite], rtol=1e-7, atol=1e-9, err_msg=message)
        assert not np.isfinite(got[~finite]).any(), message
    return any(isinstance(op, Loop) for variant in g.variants for op in variant.tape.ops)


@pytest.mark.parametrize("seed", range(COUNT))
def test_random_lists_give_what_eager_code_gives(seed):
    ROLLED.append(run(seed))


def test_most_of_them_are_rolled():
    found = ROLLED if len(ROLLED) == COUNT else [run(seed) for seed in range(6)]
    assert sum(found) >= len(found) // 2


if __name__ == "__main__":
    import sys
    import time

    TUNING.rolled_work = 20
    begin, first = time.time(), int(sys.argv[1])
    done = rolled = 0
    while time.time() - begin < float(sys.argv[2]):
        rolled += run(first + done)
        done += 1
    print(f"{done} programs, {rolled} of them rolled, none wrong")
