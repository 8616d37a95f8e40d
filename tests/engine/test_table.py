"""What the rows of the op table say about their ops is true."""

from __future__ import annotations

import math
import random
import struct

import pytest

from micrograd.ops import OPS

POINTS = [0.0, -0.0, 1.0, -1.0, 0.3, -2.5, 7.0, math.inf, -math.inf, math.nan]
BINARY = [name for name, op in OPS.items() if op.arity == 2]


def same(a, b):
    """To the bit, and all nan alike."""
    return struct.pack("d", a) == struct.pack("d", b) or (a != a and b != b)


@pytest.mark.parametrize("name", BINARY)
def test_a_commutative_op_is_one_whose_operands_may_change_places(name):
    op, rng = OPS[name], random.Random(name)
    points = [(a, b) for a in POINTS for b in POINTS] + [(rng.gauss(0, 3), rng.gauss(0, 3)) for _ in range(50)]
    assert op.commutative == all(same(op.value(a, b), op.value(b, a)) for a, b in points)


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("arithmetic", ["add", "sub", "mul", "div", "neg"]),
        ("compare", ["lt", "le", "gt", "ge", "eq", "ne"]),
        ("select", ["where"]),
        ("call", ["exp", "log", "sin", "pow", "hypot", "atan2", "erf"]),
        ("composite", ["sigmoid", "relu", "softplus", "silu", "gelu", "elu"]),
        ("list", ["sum", "prod", "mean", "dot", "logsumexp"]),
    ],
)
def test_the_kinds_of_ops(kind, names):
    assert {name: OPS[name].kind for name in names} == dict.fromkeys(names, kind)


@pytest.mark.parametrize("name", [name for name, op in OPS.items() if op.identity is not None])
def test_an_identity_changes_no_bit(name):
    op = OPS[name]
    assert op.arity == 2 and all(same(op.value(x, op.identity), x) for x in POINTS)
