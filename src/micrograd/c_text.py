"""What C text needs beside the spellings of the table: how a number is written, and the functions that spellings call.

The C engine (tools/gen_ops_h.py), export_c and any backend that writes C take them from here.
"""

from __future__ import annotations

import re
from math import isinf, isnan

from micrograd.ops import Op
from micrograd.philox import INCREMENTS, MULTIPLIERS, ROUNDS


def literal(x: float) -> str:
    """Return a number as C writes it.

    >>> literal(0.1), literal(float("-inf"))
    ('0.1', '-INFINITY')
    """
    if isnan(x):
        return "NAN"
    if isinf(x):
        return "INFINITY" if x > 0 else "-INFINITY"
    return repr(float(x))


HELPERS = {  # name -> its definition in C99, without `static`
    # Python's // and %: the sign of the divisor; IEEE results where Python raises.
    "mg_mod": """\
double mg_mod(double a, double b) {
    double mod = fmod(a, b);
    if (b == 0.0) return NAN;
    if (mod == 0.0) return copysign(0.0, b);
    return (b < 0.0) != (mod < 0.0) ? mod + b : mod;
}
""",
    "mg_floordiv": """\
double mg_floordiv(double a, double b) {
    double mod = fmod(a, b), div = (a - mod) / b, whole;
    if (b == 0.0) return floor(a / b);
    if (mod != 0.0 && (b < 0.0) != (mod < 0.0)) div -= 1.0;
    if (div == 0.0) return copysign(0.0, a / b);
    whole = floor(div);
    return div - whole > 0.5 ? whole + 1.0 : whole;
}
""",
    # Philox 4x32-10: see philox.py. The words are counted in 64 bits, which C99 has as uint64_t.
    "mg_philox": f"""\
double mg_philox(double key, double row, double draw) {{
    const double all[3] = {{key, row, draw}}, least[3] = {{0.0, 0.0, -1.0}};
    for (int i = 0; i < 3; i++)
        if (!(all[i] >= least[i] && all[i] < 9007199254740992.0) || all[i] != floor(all[i])) return NAN;
    int64_t number = (int64_t)draw;
    uint64_t k = (uint64_t)(int64_t)key, r = (uint64_t)(int64_t)row;
    uint64_t pair = ((uint64_t)number & ~(uint64_t)1) >> 1 | ((uint64_t)number & (uint64_t)1 << 63);
    uint32_t c[4] = {{(uint32_t)pair, (uint32_t)(pair >> 32), (uint32_t)r, (uint32_t)(r >> 32)}};
    uint32_t k0 = (uint32_t)k, k1 = (uint32_t)(k >> 32);
    for (int round = 0; round < {ROUNDS}; round++) {{
        uint64_t left = (uint64_t)0x{MULTIPLIERS[0]:X}u * c[0], right = (uint64_t)0x{MULTIPLIERS[1]:X}u * c[2];
        c[0] = (uint32_t)(right >> 32) ^ c[1] ^ k0;
        c[1] = (uint32_t)right;
        c[2] = (uint32_t)(left >> 32) ^ c[3] ^ k1;
        c[3] = (uint32_t)left;
        k0 += 0x{INCREMENTS[0]:X}u;
        k1 += 0x{INCREMENTS[1]:X}u;
    }}
    int odd = (int)(number & 1);
    uint64_t word = (uint64_t)c[odd * 2] << 32 | c[odd * 2 + 1];
    return (double)(word >> 11) * 0x1p-53;
}}
""",
}
HEADERS = "#include <math.h>\n#include <stdint.h>\n"  # what HELPERS and the spellings need


def spells(op: Op) -> bool:
    """Whether the table has a spelling of an op in C, for which nothing but libm and HELPERS is needed."""
    return bool(op.c)


def helpers(text: str) -> str:
    """Return the definitions of the helpers that a text calls."""
    called = set(re.findall(r"\bmg_\w+(?=\()", text))
    return "\n".join(f"static {HELPERS[name]}" for name in HELPERS if name in called)
