"""Measure every op of the table against mpmath at 50 digits, and write docs/accuracy.md.

    python tools/accuracy.py            about 1,500 points an op

The bounds that it prints are those of tests/bounds.py, which the tests hold the engines to.
"""

from __future__ import annotations

import platform
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

import oracle  # noqa: E402
from bounds import EXCEPTIONS, USUAL, results  # noqa: E402
from micrograd.ops import OPS, partials  # noqa: E402

HEAD = f"""# How exact the ops are

Each op of the table and each of its partial derivatives is compared with mpmath at {oracle.DIGITS} digits: near 0, at ordinary
numbers, at large ones (±1000) and at random points. An error is counted in units in the last place (ulp) of the exact result; a
correctly rounded result is within 0.5. The bound is **{USUAL:g} ulp**, except for the results in the second table.
`tests/engine/test_ops.py` checks both engines against these bounds, and `make accuracy` measures and writes this page.

Arithmetic follows IEEE 754 throughout: no operation raises an exception, and no result is complex. log(0) is -inf,
1/0 is inf, 0/0 and √-1 are nan, and an overflow is inf.
"""

MIDDLE = """
## Measured

The largest error that was found, in ulp ({where}).

| op | value | partials |
| --- | --- | --- |
"""

EXCEPT = """
## Exceptions

| result | bound in ulp | why |
| --- | --- | --- |
"""


def measure(name: str) -> dict[int, float]:
    """The largest error of each result of an op: 0 is the value, then its partials."""
    worst: dict[int, float] = {}
    for args in oracle.points(name, count=600):
        value, slopes = oracle.exact(name, args)
        for (slot, got), want in zip(results(OPS[name], partials, args), [value, *slopes], strict=True):
            worst[slot] = max(worst.get(slot, 0.0), oracle.ulps(got, want))
    return worst


def shown(x: float) -> str:
    return "exact" if x == 0 else f"{x:.2f}" if x < 10 else f"{x:.0f}"


def main() -> int:
    library = " ".join(filter(None, platform.libc_ver())) or platform.system()
    lines = [HEAD, MIDDLE.format(where=f"{library}, Python {platform.python_version()}")]
    for name in OPS:
        worst = measure(name)
        slopes = ", ".join(shown(worst[slot]) for slot in sorted(worst) if slot)
        lines.append(f"| {name} | {shown(worst[0])} | {slopes} |\n")
    lines.append(EXCEPT)
    for (name, slot), bound in EXCEPTIONS.items():
        what = "value" if slot == 0 else "partials" if OPS[name].arity < 0 else f"partial in {'abc'[slot - 1]}"
        lines.append(f"| {name}, {what} | {bound.text.replace('|', chr(92) + '|')} | {bound.reason} |\n")
    path = ROOT / "docs" / "accuracy.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(lines))
    print(f"wrote {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
