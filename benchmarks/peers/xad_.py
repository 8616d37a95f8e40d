"""XAD: scalar reverse mode in C++ under Python, a tape that is recorded and swept at each call."""

from __future__ import annotations

from typing import Any

from talk import Timer, missing, serve

try:
    import xad.adj_1st as xadj
    import xad.math
except ImportError:
    missing("xad")

import importlib.metadata

import works
from clocks import clock


def readme(a: Any, b: Any) -> Any:
    c = a + b
    d = a * b + b**3
    c = c + c + 1
    c = c + 1 + c - a
    d = d + d * 2 + xad.math.max(b + a, 0.0)
    d = d + 3 * d + xad.math.max(b - a, 0.0)
    f = (c - d) ** 2
    return f / 2.0 + 10.0 / f


def swept(f: Any, numbers: Any) -> Timer:
    def call() -> None:
        with xadj.Tape() as tape:
            inputs = [xadj.Real(x) for x in numbers]
            for x in inputs:
                tape.registerInput(x)
            tape.newRecording()
            y = f(*inputs)
            tape.registerOutput(y)
            y.setDerivative(1.0)
            tape.computeAdjoints()
            for x in inputs:
                x.getDerivative()

    return clock(call)


serve(importlib.metadata.version("xad"), {
    "tiny": lambda: swept(works.tiny, (-41.0, 2.0)),
    "readme": lambda: swept(readme, (-4.0, 2.0)),
    "lotka": lambda: swept(works.lotka, works.RATES),
})  # fmt: skip
