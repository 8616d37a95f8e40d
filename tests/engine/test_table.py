"""What the rows of the op table say about their ops is true."""

from __future__ import annotations

import math
import random
import struct

import pytest

from micrograd.ops import OF_RULES, OPS, Op, _split, partials

POINTS = [0.0, -0.0, 1.0, -1.0, 0.3, -2.5, 7.0, math.inf, -math.inf, math.nan]
BINARY = [name for name, op in OPS.items() if op.arity == 2 and name not in OF_RULES]


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


@pytest.mark.parametrize("name", [name for name, op in OPS.items() if op.absorbing is not None])
def test_what_absorbs_every_finite_number(name):
    op = OPS[name]
    assert op.arity == 2 and all(op.value(x, op.absorbing) == op.absorbing for x in POINTS if math.isfinite(x))


@pytest.mark.parametrize(
    ("partial", "expected"),
    [
        (lambda x: 10.0 * x, [10.0, 20.0, 30.0, 40.0]),
        (lambda y: y + 0.5, [7.5] * 4),
        (lambda n, y: n + 10.0 * y, [74.0] * 4),
        (lambda x, y: x + 10.0 * y, [71.0, 72.0, 73.0, 74.0]),
        (lambda y, x: 10.0 * x - y, [3.0, 13.0, 23.0, 33.0]),
        (lambda other, n, x: 100.0 * other + 10.0 * n + x, [341.0, 442.0, 143.0, 244.0]),
        (lambda x, rest: 100.0 * x + rest, [124.0, 212.0, 308.0, 406.0]),
    ],
)
def test_the_partial_of_a_list_op_is_given_what_it_names(partial, expected):
    """Of each input, of all of them, or of both kinds in any order; for the inputs 1, 2, 3, 4 and the result 7."""
    op = Op("named", lambda xs: 7.0, [partial], nary=True)
    assert list(partials(op, [1.0, 2.0, 3.0, 4.0], 7.0)) == expected


@pytest.mark.parametrize("exponent", range(64))
def test_a_number_below_one_is_split_into_mantissa_and_exponent(exponent):
    for mantissa in (math.sqrt(0.5) * (1 + 1e-15), 0.75, 0.99, 1.0, 1.25, 1.41421):
        x = mantissa * 2.0**-exponent
        if x < 1.0:
            assert _split(x) == (mantissa, float(exponent))


def test_a_row_without_a_spelling_of_its_own_is_spelled_as_in_c():
    assert (OPS["add"].js, OPS["add"].cuda) == (OPS["add"].c, OPS["add"].c)
    own = Op("own", lambda a: a, [lambda a, y: 1.0], c="{0}", llvm="fneg {0}", js="({0})", cuda="+{0}")
    assert (own.c, own.js, own.cuda) == ("{0}", "({0})", "+{0}")


def test_a_function_of_the_c_library_has_one_name_in_every_language_but_where_its_row_says_otherwise():
    assert (OPS["exp"].c, OPS["exp"].llvm, OPS["exp"].js) == ("exp({0})", "@exp", "Math.exp({0})")
    assert (OPS["atan2"].c, OPS["atan2"].llvm, OPS["atan2"].js) == ("atan2({0}, {1})", "@atan2", "Math.atan2({0}, {1})")
    own = Op("own", abs, [lambda a, y: 1.0], kind="call", c="mine({0})", llvm="@mine", js="Mine({0})")
    assert (own.c, own.llvm, own.js) == ("mine({0})", "@mine", "Mine({0})")
