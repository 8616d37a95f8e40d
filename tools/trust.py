# ruff: noqa: E501
"""Write docs/trust.md: every promise, the test that holds it, and the last counts of the fuzzers and mutants.

python tools/trust.py            write it, with the counts that build/*.json have since the last time
python tools/trust.py --check    fail where a promise names a test that is not there (a test does this)
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COUNTS = ROOT / "tools" / "trust_counts.json"
PAGE = ROOT / "docs" / "trust.md"

PROMISES: list[tuple[str, str]] = [  # the promise, and "file::part of a test's name" of what holds it
    ("Values and partials of every op are within the bounds of [accuracy.md](accuracy.md) of mpmath at 50 digits, on both engines.", "tests/engine/test_ops.py::test_value_and_partials_are_right_to_the_last_digits"),
    ("Derivatives of orders 1 to 4 of every op are those of mpmath, at ordinary and special points ([orders.md](orders.md)).", "tests/tape/test_derivative_orders.py::test_derivatives_are_those_of_mpmath"),
    ("A smooth function has all its derivatives at 0, at seams of a formula and far out.", "tests/tape/test_derivative_orders.py::test_a_smooth_function_has_its_derivatives_where_a_formula_has_a_seam"),
    ("Kinks, ties, ends of domains and infinities follow the stated conventions and limits.", "tests/tape/test_derivative_orders.py::test_conventions_and_limits"),
    ("Names that `micrograd.math` shares with the standard library give its results on plain numbers.", "tests/engine/test_math_stdlib.py::test_cpython_s_vectors"),
    ("The Python engine and the C engine give the same bits, nan and infinities included.", "tests/engine/test_random.py::test_both_twins_give_the_same_bits"),
    ("Gradients agree with PyTorch, with mpmath and with finite differences on random expressions.", "tests/engine/test_random.py::test_gradients_agree_with_mpmath"),
    ("Nothing raises on log(0) and nothing becomes complex: results are those of IEEE 754.", "tests/engine/test_ops.py::test_ieee_results"),
    ("`exact=True` gives the bits of eager code, for values and gradients, at every tier and width.", "tests/compile/test_whole_table.py::test_a_point_at_every_tier"),
    ("The number of threads changes no bit of a result.", "tests/compile/test_whole_table.py::test_the_number_of_threads_changes_no_bit"),
    ("Whole programs with loops, branches, early returns and captured state agree in every way of running them.", "tests/contract/test_fuzz.py::test_programs_in_every_way"),
    ("A program's result does not depend on what was called before, nor on the order of rows.", "tests/contract/test_fuzz.py::test_programs_in_every_way"),
    ("The fuzzer sees a partial that is off by a millionth, and shortens the program to it.", "tests/contract/test_fuzz.py::test_a_wrong_partial_is_found_and_its_program_shrunk"),
    ("Damaged tapes, expressions, weights, checkpoints, kernels and requests are refused as promised.", "tests/contract/test_fuzz.py::test_damaged_input_is_refused_as_promised"),
    ("The C and JavaScript texts of the ops are made from the table and are not stale.", "tests/engine/test_generated.py::test_"),
    ("The page's ops give the values and partials of Python's.", "tests/learn/test_ops_js.py::test_values_and_partials_are_those_of_python"),
]  # fmt: skip

HEAD = """# Why trust a gradient

Each promise of micrograd has a test beside it that would fail if the promise were broken. This page lists them, and the last
counts of the machinery that looks for what nobody thought of. `make trust` writes it; a test checks that every test named
here is there.

## Promises

| promise | held by |
| --- | --- |
"""

MIDDLE = """
## Counts

| what | command | last run |
| --- | --- | --- |
"""

FOOT = """
A program of the fuzzer runs on both engines at six points (plain numbers, numbers that tie, inputs that are moved onto the edge
of a branch), beside dual numbers with random rounding noise: what the noise does to a result is what any other order of
rounding may do, and bounds the comparison. One program in five is also compiled: `jit` with and without `exact`, afresh and after
other calls, `vmap` with rows in another order, one, two and seven threads and float32, and derivatives up to order 4.
"""


def missing() -> list[str]:
    """The promises whose test is not there."""
    found = []
    for promise, test in PROMISES:
        path, name = test.split("::")
        file = ROOT / path
        if not file.exists() or not re.search(rf"def {re.escape(name)}", file.read_text(encoding="utf-8")):
            found.append(f"{test}: {promise}")
    return found


def counts() -> dict[str, dict[str, object]]:
    """The last counts: those that are kept, and over them what was run since."""
    kept: dict[str, dict[str, object]] = json.loads(COUNTS.read_text()) if COUNTS.exists() else {}
    for name in ("fuzz", "fuzz-loaders", "mutants"):
        path = ROOT / "build" / f"{name}.json"
        if path.exists():
            kept[name] = json.loads(path.read_text())
    return kept


def rows(kept: dict[str, dict[str, object]]) -> list[tuple[str, str, str]]:
    found = []
    if "fuzz" in kept:
        f = kept["fuzz"]
        text = f"{f['programs']:,} programs in {f['seconds']:,} s, {f['compiled']:,} of them compiled: {f['failures']} failures"
        found.append(("random programs in every way", "`make fuzz`", text))
    if "fuzz-loaders" in kept:
        inputs = kept["fuzz-loaders"]["inputs"]
        assert isinstance(inputs, dict)
        text = ", ".join(f"{name} {n:,}" for name, n in inputs.items())
        found.append(("damaged inputs", "`make fuzz-loaders`", f"{text}: {kept['fuzz-loaders']['failures']} failures"))
    if "mutants" in kept:
        all_of_them = sum(r["mutants"] for r in kept["mutants"].values())  # type: ignore[index]
        lived = [name for r in kept["mutants"].values() for name in r["survivors"]]  # type: ignore[index]
        text = f"{all_of_them - len(lived)} of {all_of_them} died in a sample of {len(kept['mutants'])} files"
        found.append(
            (
                "mutants",
                "`make mutants`",
                text + (f"; survivors: {', '.join(f'`{x}`' for x in lived)}" if lived else ""),
            )
        )
    return found


def main() -> int:
    if missing():
        print("promises without their test:\n  " + "\n  ".join(missing()), file=sys.stderr)
        return 1
    if "--check" in sys.argv:
        return 0
    kept = counts()
    COUNTS.write_text(json.dumps(kept, indent=1) + "\n")
    lines = [HEAD, *(f"| {p} | `{t.split('::')[0]}` ({t.split('::')[1]}) |\n" for p, t in PROMISES), MIDDLE]
    lines += [f"| {' | '.join(row)} |\n" for row in rows(kept)]
    PAGE.write_text("".join([*lines, FOOT]), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
