"""The elementary functions against mpmath, in the form for one number, which a GPU runs, and in that for vectors.

All their text is compiled for this machine: a GPU rounds alike.
"""

from __future__ import annotations

import ctypes
import functools
import math
from pathlib import Path

import numpy as np
import pytest

from micrograd import math as micrograd_math
from micrograd import vmap
from micrograd.compile.elementary import functions
from micrograd.compile.elementary.formula import symbol
from micrograd.compile.llvm import build
from micrograd.ops import OPS
from random_programs import needs_llvm

mp = pytest.importorskip("mpmath", reason="the reference is mpmath")
pytestmark = needs_llvm

COUNT = 250
OP_OF = {"mg_mod": "mod", "mg_floordiv": "floordiv"}
EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 5e-324, -5e-324, 1e-310, -1e-310, 1e30, -1e30, 1e308,
         -1e308, 709.7, 709.8, 710.4, 711.0, -745.0, -746.0, 1023.0, 1024.0, -1074.0, -1075.0, 1e22, 2.0**53 + 1,
         math.inf, -math.inf, math.nan]  # fmt: skip


@functools.cache
def compiled(name, width=None):
    """A function over arrays."""
    places, T = range(functions.WRITERS[name][0]), "double" if width is None else f"<{width} x double>"
    loads = "\n".join(
        f"  %p{k} = getelementptr double, ptr %a{k}, i64 %i\n  %v{k} = load {T}, ptr %p{k}, align 8" for k in places
    )
    text = f"""define void @kernel({", ".join(f"ptr %a{k}" for k in places)}, ptr %y, i64 %n) {{
  br label %head
head:
  %i = phi i64 [ 0, %0 ], [ %next, %head ]
{loads}
  %b = call {T} @{symbol(name, width)}({", ".join(f"{T} %v{k}" for k in places)})
  %to = getelementptr double, ptr %y, i64 %i
  store {T} %b, ptr %to, align 8
  %next = add i64 %i, {width or 1}
  %more = icmp ult i64 %next, %n
  br i1 %more, label %head, label %done
done:
  ret void
}}
"""
    source = "\n".join([text, *functions.needed(name, width)])
    code = build.compile_text(source, 0, build.Target(1, False, True, False, build.vector_bits()))
    kernel = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (len(places) + 1), ctypes.c_int64)(code.address)

    def run(*columns):
        count = len(columns[0])
        columns = [np.resize(np.asarray(c, float), -(-count // 16) * 16) for c in columns]
        y = np.empty_like(columns[0])
        kernel(*[c.ctypes.data for c in columns], y.ctypes.data, len(y))
        return y[:count]

    run.code = code  # it must not die before
    return run


def between(a, b):
    return np.random.default_rng(1).uniform(a, b, COUNT)


def sizes(low, high, sign=True):
    rng = np.random.default_rng(2)
    found = 10.0 ** rng.uniform(low, high, COUNT)
    return found * np.where(rng.integers(0, 2, COUNT), 1, -1) if sign else found


def join(*parts):
    return np.concatenate(parts)


NEAR_1 = 1.0 + sizes(-16, -1)
TURNS = np.arange(-COUNT, COUNT) * (math.pi / 2)
LOGS = [join(between(0.5, 2), sizes(-300, 300, False), NEAR_1, 1e-320 * between(0.1, 9))]
ANGLES = [join(between(-10, 10), sizes(-18, 308), between(-1e6, 1e6), TURNS, TURNS * 2.0**40)]
# What is measured where, and by how many units in the last place a function may be off.
CASES = {
    "exp": (mp.exp, [join(between(-745, 709), between(-1, 1), sizes(-18, 2))], 0.52),
    "exp2": (lambda x: mp.mpf(2) ** x, [join(between(-1074, 1023), between(-1, 1), sizes(-18, 3))], 0.52),
    "expm1": (mp.expm1, [join(between(-50, 709), between(-1, 1), sizes(-18, 2))], 1.5),
    "sinh": (mp.sinh, [join(between(-710, 710), between(-3, 3), sizes(-18, 2))], 2.5),
    "cosh": (mp.cosh, [join(between(-710, 710), between(-3, 3), sizes(-18, 2))], 1.5),
    "tanh": (mp.tanh, [join(between(-20, 20), between(-3, 3), sizes(-18, 2))], 2.5),
    "log": (mp.log, LOGS, 0.53),
    "log2": (lambda x: mp.log(x, 2), LOGS, 0.51),
    "log10": (mp.log10, LOGS, 0.51),
    "log1p": (mp.log1p, [join(between(-0.999, 2), sizes(-18, 300, False), -sizes(-18, -0.0001, False))], 0.75),
    "asinh": (mp.asinh, [join(between(-5, 5), sizes(-18, 300))], 1.5),
    "acosh": (mp.acosh, [join(between(1, 5), 1 + sizes(-15, 0, False), sizes(0.01, 300, False))], 1.7),
    "atanh": (mp.atanh, [join(between(-1, 1), sizes(-18, -0.001))], 1.6),
    "pow": (mp.power, [join(between(0, 10), sizes(-100, 100, False), NEAR_1),
                       join(between(-20, 20), between(-2.9, 2.9), sizes(-10, 3))], 0.53),
    "cbrt": (lambda x: mp.sign(x) * mp.cbrt(abs(x)), [join(between(-10, 10), sizes(-320, 308))], 0.51),
    "hypot": (mp.hypot, [join(between(-10, 10), sizes(-300, 300)), join(between(-3, 10), sizes(-300, 300)[::-1])], 0.75),
    "sin": (mp.sin, ANGLES, 0.75),
    "cos": (mp.cos, ANGLES, 0.75),
    "tan": (mp.tan, ANGLES, 2.0),
    "atan": (mp.atan, [join(between(-5, 5), sizes(-18, 300))], 1.7),
    "atan2": (mp.atan2, [join(between(-5, 5), sizes(-30, 30)), join(between(-4, 4)[::-1], sizes(-30, 30)[::-1])], 1.9),
    "asin": (mp.asin, [join(between(-1, 1), sizes(-18, 0), 1 - sizes(-16, -1, False))], 0.75),
    "acos": (mp.acos, [join(between(-1, 1), sizes(-18, 0), 1 - sizes(-16, -1, False), sizes(-16, -1, False) - 1)], 0.9),
    "erf": (mp.erf, [join(between(-7, 7), sizes(-18, 1))], 1.0),
    "erfc": (mp.erfc, [join(between(-7, 26), sizes(-18, 1))], 2.5),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_functions_are_near_the_true_values(name):
    reference, columns, bound = CASES[name]
    with mp.workdps(45):
        for y, *row in zip(compiled(name)(*columns), *columns):
            want = reference(*[mp.mpf(float(x)) for x in row])
            if isinstance(want, mp.mpc) or not mp.isfinite(want) or not 0.0 < abs(float(want)) < math.inf:
                continue
            off = abs(mp.mpf(float(y)) - want) / math.ulp(float(want))
            assert off <= bound, f"{name}{tuple(row)} is off by {float(off):.2f} units"


@pytest.mark.parametrize("name", functions.WRITERS)
def test_edges_are_those_of_python(name):
    value = (lambda x: OPS["pow"].value(x, 2.0)) if name == "square" else OPS[OP_OF.get(name, name)].value
    rows = [(a,) for a in EDGES] if functions.WRITERS[name][0] == 1 else [(a, b) for a in EDGES for b in EDGES]
    for row, y in zip(rows, compiled(name)(*zip(*rows)).tolist()):
        want = float(value(*row))
        if math.isnan(want) or not math.isfinite(y) or want == 0.0:
            assert (math.isnan(want) and math.isnan(y)) or (
                y == want and math.copysign(1, y) == math.copysign(1, want)
            ), row
        else:
            assert abs(y - want) <= 3 * math.ulp(want), row


@pytest.mark.parametrize("name", sorted(functions.EXACT))
def test_remainders_are_exact(name):
    value = OPS[OP_OF.get(name, name)].value
    xs = join(sizes(-300, 300), between(-50, 50), np.round(between(-50, 50)))
    ys = join(sizes(-300, 300)[::-1], between(-5, 5)[::-1], np.round(between(-5, 5)[::-1]))
    for x, y, z in zip(xs.tolist(), ys.tolist(), compiled(name)(xs, ys).tolist()):
        want = value(x, y)
        assert z == want or (math.isnan(z) and math.isnan(want)), (x, y)


@pytest.mark.parametrize("name", functions.WRITERS)
def test_vectors_have_the_same_bits(name):
    """Each lane takes its own way, whatever its neighbours are: ordinary numbers, huge ones, tiny ones, nan."""
    count = functions.WRITERS[name][0]
    columns = CASES[name][1] if name in CASES else [join(between(-50, 50), sizes(-300, 300))] * count
    rng = np.random.default_rng(5)
    edges = [rng.choice(EDGES, 2 * len(columns[0])) for _ in range(count)]
    columns = [np.where(rng.integers(0, 5, 2 * len(c)), np.tile(c, 2), e) for c, e in zip(columns, edges)]
    columns = [np.concatenate([np.tile(c, 2)[: len(m)], m]) for c, m in zip(columns, columns)]
    want = compiled(name)(*columns)
    for width in (1, 2, 4, 8, 16):
        np.testing.assert_array_equal(compiled(name, width)(*columns).view(np.int64) * ~np.isnan(want),
                                      want.view(np.int64) * ~np.isnan(want))  # fmt: skip


def test_the_tables_are_those_that_mpmath_computes():
    from runpy import run_path

    tool = run_path(str(Path(__file__).parents[2] / "tools" / "elementary.py"))
    assert tool["FILE"].read_text(encoding="utf-8") == tool["text"]()


def test_what_is_subtracted_is_a_multiple_of_log_2():
    with mp.workprec(300):
        step = mp.log(2) / functions.SIZE
        assert float(-step - functions.STEP_HIGH) == functions.STEP_LOW
        assert pytest.approx(float(mp.log(2) - functions.LN2_HIGH), rel=2e-13) == functions.LN2_LOW
        assert float(1 / step) == functions.SCALE


@pytest.mark.parametrize("width", [2, 8, 16])
def test_exp_falls_gradually_to_zero(width):
    xs = np.linspace(-745.1, -708.0, 500)
    ys = vmap(lambda x: micrograd_math.exp(x), width=width)(xs)
    assert np.all(np.diff(ys) >= 0.0) and ys[0] == 5e-324
    assert ys == pytest.approx(np.exp(xs), rel=1e-12, abs=1e-323)


@pytest.mark.parametrize("name", ["exp2", "expm1", "log1p", "log2", "log10"])
def test_a_function_whose_name_ends_in_a_digit_is_found_by_kernels(name):
    """The width of vectors was taken for a part of the name: rows with expm1 ended in a KeyError."""
    x = np.array([0.3, 0.5, 0.75])
    function = getattr(micrograd_math, name)
    np.testing.assert_allclose(vmap(lambda x: function(x))(x), getattr(np, name)(x), rtol=1e-14)


@pytest.mark.parametrize("name", sorted(set(CASES) & set(vars(micrograd_math))))
def test_rows_have_the_bits_of_the_definition_at_every_width(name):
    function, columns = getattr(micrograd_math, name), CASES[name][1]
    call = (lambda x: function(x)) if len(columns) == 1 else (lambda x, y: function(x, y))
    want = compiled(name)(*columns)
    for width in (None, 1, 4, 16):
        np.testing.assert_array_equal(vmap(call, width=width)(*columns), want)
