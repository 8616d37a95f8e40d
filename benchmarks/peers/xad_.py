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
    "readme": lambda: swept(works.readme_with(xad.math.max), (-4.0, 2.0)),
    "lotka": lambda: swept(works.lotka, works.RATES),
})  # fmt: skip
