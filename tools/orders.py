"""Compare derivatives of orders 1 to 4 of every op with mpmath's, and write docs/orders.md.

python tools/orders.py            about 4,000 derivatives, 2 minutes
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

import orders  # noqa: E402
from micrograd.ops import OPS  # noqa: E402

HEAD = f"""# Derivatives of higher order

Derivatives of every order come from differentiating the rules of the table, so a rule has to be smooth wherever its
function is. This page compares nested `grad` calls, up to order {orders.ORDERS} and with all mixed derivatives, with what
mpmath finds by differences of the *value* at 60 digits or more, independently of the rules.
`tests/tape/test_derivative_orders.py` checks both engines and compiled code; `make orders` measures and writes this page.

Two things are compared. First, the tape of the derivative, run at 60 digits, has to equal mpmath's derivative to nine
digits or more (a rule's constants are doubles): that shows that the rule is right. Second, the double that `grad` returns
has to lie within a bound that is computed for the same tape: each instruction passes on the errors of its operands through
its partials, and adds its own rounding. The table gives the largest error as a fraction of that bound, so 1.00 is the limit.

| op | points | derivatives | order 1 | order 2 | order 3 | order 4 |
| --- | --- | --- | --- | --- | --- | --- |
"""

MIDDLE = """
{count} derivatives in all. The points include 0, ±1e-300, 5e-324, ±1e9, ±1e30 and ±700 where the op is smooth there.
`philox` and `normal` have no derivative; that of `zeta` with respect to its order is not implemented (nan).

## Kinks, ties, ends of domains and infinities

At these points there is no derivative in the usual sense; micrograd returns a value by convention, or the limit. The
conventions are those of PyTorch, except for hypot at the origin (0, as for abs), x**y (both mixed derivatives at y = 0 are
1/x; at x = 0 the derivatives with respect to y are 0) and the limits at infinity, where PyTorch returns nan.

| op | at | with respect to | derivative |
| --- | --- | --- | --- |
"""


def shown(error: float) -> str:
    return "exact" if error == 0 else f"{error:.2f}"


def main() -> int:
    lines, count = [HEAD], 0
    for name in OPS:
        if not orders.known(name):
            continue
        points = orders.ordinary(name) + orders.smooth_special(name)
        worst, checked = [0.0] * orders.ORDERS, 0
        for args in points:
            for order in range(1, orders.ORDERS + 1):
                for by in orders.derivatives(len(args), order):
                    if orders.wanted(name, by):
                        found = orders.check(name, args, by, orders.derivative(name, by)(*args))
                        assert found.error <= 1, (name, found)
                        worst[order - 1] = max(worst[order - 1], found.error)
                        checked += 1
        count += checked
        lines.append(f"| {name} | {len(points)} | {checked} | {' | '.join(map(shown, worst))} |\n")
    lines.append(MIDDLE.format(count=f"{count:,}"))
    for name, args, by, want in orders.CONVENTIONS + orders.at_infinity():
        got = orders.derivative(name, by)(*args)
        assert got == want, (name, args, by, got)
        at = ", ".join(f"{x:g}" for x in args)
        lines.append(f"| {name} | {at} | {', '.join('abc'[i] for i in by)} | {want:g} |\n")
    path = ROOT / "docs" / "orders.md"
    path.write_text("".join(lines))
    print(f"wrote {path.relative_to(ROOT)}: {count} derivatives")
    return 0


if __name__ == "__main__":
    sys.exit(main())
