"""Random programs over the whole op table: branches, shared nodes, captured parameters.

A program is a list of steps, each made from earlier values; `run` computes it with plain Python operators and the
engine's ops, on numbers or Values alike. Two kinds: `wild` ones meet every special value on their way (for comparisons
to the bit), `tame` ones keep each input of an op inside its domain and away from jumps (for those within a tolerance).
"""

from __future__ import annotations

import math
import random
import struct
from typing import Any

import pytest
from hypothesis import strategies as st

from micrograd.ops import OPS

SPECIAL = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    2.0,
    -2.0,
    3.0,
    1e-300,
    5e-324,
    1e300,
    -1e300,
    709.5,
    -745.0,
    math.inf,
    -math.inf,
    math.nan,
]
JUMPS = {"floor", "ceil", "round", "sign", "floordiv", "mod", "lt", "le", "gt", "ge", "eq", "ne", "where", "min", "max",
         "philox", "normal", "fmod", "remainder", "trunc", "copysign"}  # fmt: skip
POSITIVE = {"log", "log1p", "log2", "log10", "sqrt", "cbrt", "div", "pow", "atan2", "hypot", "prod", "gamma", "lgamma",
            "digamma", "zeta"}  # fmt: skip
INSIDE_1 = {"asin", "acos", "atanh"}


class Program:
    """Steps (op name, operand picks); picks count backwards from the newest value, so that most values are used."""

    def __init__(self, inputs: int, params: int, steps: list[Any], outputs: int, tame: bool) -> None:
        self.inputs, self.params, self.steps, self.outputs, self.tame = inputs, params, steps, outputs, tame

    def __repr__(self) -> str:
        lines = [
            f"{self.inputs} inputs, {self.params} params, {self.outputs} outputs, {'tame' if self.tame else 'wild'}"
        ]
        return "\n".join([*lines, *(f"  {name} {picks}" for name, picks in self.steps)])

    def run(self, package: Any, xs: Any, params: Any = ()) -> list[Any]:
        """The last values, as many as there are outputs."""
        apply, m = package.engine.apply, package.math
        values = [*xs, *params]
        for name, picks in self.steps:
            args = [values[-1 - p % len(values)] for p in picks]
            if name == "branch":
                a, b, c = args[:3]
                values.append(a * 1.5 if b < c else a - 0.25)
                continue
            if self.tame:
                args = [self._inside(name, m, a) for a in args]
                if name == "zeta":
                    args[0] = 3.0  # its slope by the order is not known
            op = package.ops.OPS[name]
            if op.arity < 0:
                values.append(apply(op, args[:-1] if name == "dot" and len(args) % 2 else args))
            else:
                values.append(apply(op, *args[: op.arity]))
        return values[-self.outputs :]

    def _inside(self, name: str, m: Any, a: Any) -> Any:
        if name in POSITIVE:
            return 1.5 + 0.5 * m.sin(a)
        if name == "acosh":
            return 2.5 + m.cos(a)
        if name in ("philox", "normal"):  # of whole numbers
            return m.floor(20.0 + 20.0 * m.sin(a))
        if name == "probit":
            return 0.49 * m.sin(a)
        return 0.75 * m.sin(a) if name in INSIDE_1 else 1.25 * m.sin(a)


def programs(tame: bool, length: int = 12, most_inputs: int = 3, branches: bool = True) -> Any:
    """A strategy of programs."""
    names = sorted(name for name in OPS if not (tame and name in JUMPS))
    names += ["branch"] * 4 if branches else []
    step = st.tuples(st.sampled_from(names), st.lists(st.integers(0, 20), min_size=4, max_size=4).map(tuple))
    return st.builds(
        Program, st.integers(1, most_inputs), st.integers(0, 2), st.lists(step, min_size=1, max_size=length),
        st.integers(1, 3), st.just(tame),
    )  # fmt: skip


def numbers(tame: bool) -> Any:
    """A strategy of inputs, with the special ones for wild programs."""
    plain = st.floats(-3, 3, allow_subnormal=False).filter(lambda x: abs(x) > 1e-3)
    return plain if tame else st.one_of(st.sampled_from(SPECIAL), plain, st.floats())


def column(data: Any, rows: int, tame: bool) -> list[float]:
    """Many inputs from one drawn seed: drawing them one by one is what takes the time."""
    rng = random.Random(data.draw(st.integers(0, 10**6)))
    plain = [rng.choice((-1, 1)) * rng.uniform(1e-3, 3) for _ in range(rows)]
    return plain if tame else [rng.choice(SPECIAL) if rng.random() < 0.4 else x for x in plain]


class Package:
    """engine, math and ops of the package as it is imported."""

    def __init__(self) -> None:
        from micrograd import engine, math, ops

        self.engine, self.math, self.ops = engine, math, ops


def same(x: float, y: float) -> bool:
    """Equal to the bit; every nan is the same nan."""
    return (x != x and y != y) or struct.pack("<d", x) == struct.pack("<d", y)


def close(x: float, y: float, rtol: float, atol: float) -> bool:
    """Equal within a tolerance; nan equals nan, inf equals inf."""
    if x != x or y != y or math.isinf(x) or math.isinf(y):
        return (x != x and y != y) or x == y
    return abs(x - y) <= atol + rtol * max(abs(x), abs(y))


def number(x: Any) -> float:
    """The float of a number or a Value."""
    return x.data if hasattr(x, "data") else float(x)


needs_llvm = pytest.mark.skipif(
    __import__("importlib.util").util.find_spec("llvmlite") is None
    or __import__("importlib.util").util.find_spec("numpy") is None
    or not __import__("micrograd.engine").engine.NATIVE,
    reason="machine code needs llvmlite, NumPy and the C twin",
)
