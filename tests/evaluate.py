"""Run one op of the table on one twin."""

from __future__ import annotations

import math
import struct

from micrograd.ops import OPS


def bits(x: float) -> int:
    """The double as an integer; every nan is the same nan."""
    return struct.unpack("<q", struct.pack("<d", math.nan if x != x else x))[0]


def run(twin, name, args):
    """Value and gradients of one op, by making a node and calling backward()."""
    xs = [twin.Value(x) for x in args]
    if name == "dot":
        y = twin.math.dot(xs[: len(xs) // 2], xs[len(xs) // 2 :])
    elif OPS[name].arity < 0:
        y = getattr(twin.math, name)(xs)
    else:
        y = twin.engine.apply(twin.ops.OPS[name], *xs)
    y.backward()
    return y.data, [x.grad for x in xs]
