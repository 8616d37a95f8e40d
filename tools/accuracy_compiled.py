"""Measure every op as machine code over rows against mpmath at 50 digits, and write docs/accuracy-compiled.md.

python tools/accuracy_compiled.py            about 300 points an op
"""

from __future__ import annotations

import platform
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

from compiled_accuracy import BOUND, BOUND_SINGLE, measure, vector_function  # noqa: E402
from micrograd.compile.llvm import build as llvm  # noqa: E402
from micrograd.ops import OPS  # noqa: E402

HEAD = f"""# How exact compiled ops are

`exact=True` gives the same bits as eager code, so [the bounds of eager code](accuracy.md) hold. Without it, rows are
computed with micrograd's own functions (with `float32=True` with the platform's vector library, glibc's libmvec), and a
product and a sum are rounded once instead of twice. The value of a library function is then within **{BOUND:g} ulp** of the
exact result, and with `float32=True` within **{BOUND_SINGLE:g} ulp** of float32; digamma loses digits near its zeros, gelu
in its tail, and sums and products of lists add one rounding error for each item, as in eager code. At a single
point (`jit`) the functions of the C library are used, unless repeated parts of a long function share a vector.

Special values are the same as in eager code: nan, inf, the sign of zero where IEEE 754 defines it, and subnormal results.
`tests/compile/test_backends.py` checks this, and `make accuracy` measures and writes this page.

## Measured

The largest error of a value that was found, in ulp of the number type ({{where}}).

| op | vector function | float64 | float32 |
| --- | --- | --- | --- |
"""


def shown(x: float) -> str:
    return "exact" if x == 0 else f"{x:.2f}" if x < 10 else f"{x:.0f}"


def main() -> int:
    library = " ".join(filter(None, platform.libc_ver())) or platform.system()
    lines = [
        HEAD.format(where=f"{library}, vectors of {llvm.vector_bits()} bits, LLVM {llvm.llvm().llvm_version_info[0]}")
    ]
    for name in OPS:
        function = vector_function(name)
        row = [
            name,
            (f"`{function}`" if "_" in function else function) if function else "",
            shown(measure(name)),
            shown(measure(name, single=True)),
        ]
        lines.append(f"| {' | '.join(row)} |\n")
    path = ROOT / "docs" / "accuracy-compiled.md"
    path.write_text("".join(lines))
    print(f"wrote {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
