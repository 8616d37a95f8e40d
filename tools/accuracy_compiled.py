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

`exact=True` gives the bits of eager code, so [the bounds of eager code](accuracy.md) hold. Without it, rows of a batch
go through the platform's vector library where it has a function (glibc's libmvec, which promises 4 ulp), and a product
and a sum may be rounded once instead of twice. A value of a library function is then within **{BOUND:g} ulp** of the
exact result, and with `float32=True` within **{BOUND_SINGLE:g} ulp** of float32; gelu loses digits in its tail, and
sums and products of lists one rounding an item, as in eager code. A single point (`jit`) goes
through the C library, except where a long function repeats itself and its repetitions share a vector.

Special values are those of eager code: nan, inf, the sign of zero where IEEE 754 defines it, and subnormal results.
`tests/test_backends.py` holds the compiler to this, and `make accuracy` measures and writes this page.

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
