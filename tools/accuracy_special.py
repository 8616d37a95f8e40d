"""Measure micrograd.special against mpmath, with derivatives of two orders, and write the table of docs/special.md.

    python tools/accuracy_special.py

The points and the bounds that the tests hold to are those of tests/solvers/test_special_functions.py.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests"), str(ROOT / "tests" / "solvers")]

import mpmath  # noqa: E402
from test_special_functions import CASES  # type: ignore[import-not-found]  # noqa: E402

from micrograd import grad, special  # noqa: E402

PLACE = re.compile(r"(?<=\| --- \| --- \| --- \| --- \|\n)(\| [^\n]*\n)+")


def measure(name: str) -> list[float]:
    """The largest relative error of the value, and of first and second derivatives by any one argument."""
    exact, points, _ = CASES[name]
    worst = [0.0, 0.0, 0.0]
    for point in points:
        at = [mpmath.mpf(x) for x in point]
        for k in range(len(point)):
            f = getattr(special, name)
            for order in range(3):
                orders = tuple(order * (i == k) for i in range(len(point)))
                wanted = mpmath.re(mpmath.diff(exact, at, orders) if len(at) > 1 else mpmath.diff(exact, at[0], order))
                error = abs(f(*point) - wanted)
                if error:
                    worst[order] = max(worst[order], float(error / max(abs(wanted), mpmath.mpf("1e-3"))))
                f = grad(f, k)
    return worst


def main() -> int:
    mpmath.mp.dps = 40
    lines = []
    for name in CASES:
        lines.append(f"| `{name}` | " + " | ".join("0" if e == 0 else f"{e:.0e}" for e in measure(name)) + " |\n")
    path = ROOT / "docs" / "special.md"
    path.write_text(PLACE.sub("".join(lines), path.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"wrote {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
