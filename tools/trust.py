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
    ("A program's result does not depend on what was called before, nor on the order of rows, on batches or on the row that came first: not even in the last bit, by default too.", "tests/stage/test_which_variant_takes_a_row.py::test_random_programs_in_random_histories"),
    ("The fuzzer sees rows that history gives to one variant or another.", "tests/stage/test_which_variant_takes_a_row.py::test_the_fuzzer_sees_rows_that_history_gives_to_one_variant_or_another"),
    ("The fuzzer sees a partial that is off by a millionth, and shortens the program to it.", "tests/contract/test_fuzz.py::test_a_wrong_partial_is_found_and_its_program_shrunk"),
    ("Damaged tapes, expressions, weights, checkpoints, kernels and requests are refused as promised.", "tests/contract/test_fuzz.py::test_damaged_input_is_refused_as_promised"),
    ("Programs that were silently wrong once are right, as they were found: guards, kinks, powers, `where`, changed arguments, copies, sums.", "tests/trust/test_wrong_results_that_were_silent.py::test_"),
    ("`isinstance`, `match` and `singledispatch` take the branch inside a trace that they take for plain numbers; `type(x)` is told at its line.", "tests/trust/test_isinstance_under_a_trace.py::test_the_branch_is_that_of_plain_numbers"),
    ("A Value that a differentiated function keeps of its arguments loses no gradient silently.", "tests/trust/test_a_value_kept_by_a_differentiated_function.py::test_backward_refuses_to_end"),
    ("`exact=True` gives the bits of eager code on Values for mixed derivatives up to order 4.", "tests/trust/test_exact_orders_of_hypot.py::test_exact_code_has_the_bits"),
    ("Merged branches give the results of eager code, row by row, whichever row they were staged on.", "tests/stage/test_stage_fuzz.py::test_random_programs_give_the_results_of_eager_code"),
    ("The fuzzer sees a slope that is wrong in the table itself: mpmath is an oracle that knows nothing of it.", "tests/contract/test_fuzz.py::test_a_slope_that_is_wrong_everywhere_is_found_by_mpmath"),
    ("Programs that corrupted memory, leaked or left a wrong state once do not any more, as they were found.", "tests/trust/test_memory_and_state.py::test_"),
    ("Every allocation of the C engine may fail: a MemoryError, and Values are as before.", "tests/engine/test_faults.py::test_every_allocation_fails_once"),
    ("The same for compiled calls at points and over rows, traces and optimizers; what failed leaves nothing behind.", "tests/engine/test_faults_compiled.py::test_"),
    ("Operands that grow, clear, re-enter or raise do no harm, nor does a thread that looks at all objects.", "tests/engine/test_hostile.py::test_"),
    ("Every system call of weights, checkpoints and cached kernels may fail, or be the last one: the file is the old one or the new one.", "tests/train/test_system_calls.py::test_every_call_fails_once_and_is_killed_once"),
    ("A `backward()` that is interrupted puts all gradients back.", "tests/engine/test_by_hand.py::test_a_signal_ends_a_long_sweep"),
    ("Resident memory after a graph was freed is within 15 % of what is in use.", "tests/trust/test_memory_comes_back.py::test_resident_memory_is_what_is_in_use"),
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
A program of the fuzzer is a Python function with loops, branches, early returns, lists, helpers, captured Values, inner derivatives
and every op. It runs at three to six points (plain numbers, numbers that tie, inputs that are moved onto the edge of a branch):

- on the C engine beside dual numbers with random rounding noise: what the noise does to a result is what any other order of
  rounding may do, and bounds the comparison; and on the Python engine, to the bit;
- a sample of them also as a traced tape with its adjoint after all passes (to the bit), as one tape of all paths, beside mpmath at
  30 digits with slopes that were written without a look at the op table, beside PyTorch where that is installed, and in derivatives
  up to order 4 on both engines;
- one in 20 (`--compiled`) as machine code in every mode: `jit` exact, by default, with `wait=False` before and after the code is
  ready and with `fastmath`; afresh and after other calls; `vmap` with each row as the first one, with one, two and seven threads,
  in single precision; and orders 2 to 4;
- one in 20 (`--histories`), if it has a choice, in several histories: shuffled rows in batches of random sizes and as points, with
  calls on Values in between, compiled and interpreted, summed; the results of a row must be the same to the bit, without
  `exact=True`. It is also staged on several rows, which must give the same tape.

## What was found

Two defects by the fuzzer of programs, both mended: a value that a function given to `grad` keeps, and that is used outside, lost
its gradient silently; an object with a strange `__getattr__` beside a function broke the trace. A third one is mended too: the last bit
of a row depended on the order of rows where two variants held for it. While that was mended, three siblings were found by hand:
calls on Values decided which variant later calls on numbers used; how long a `while` was in the first row decided what became of a
`for` beside it; and a row that a function with a long loop rejects, since it raises, got 0.0 instead of its exception. One by failing system calls, mended: a run that started anew
over an older checkpoint could lose both in a crash. Guided fuzzing reported one input, for which it had forged the checksum of a
cached kernel: a checksum is no signature, and the check of the fuzzer was mended. Another 212,000 programs found that lists whose
length and items both differ by row could not be handed to functions over lists (staging gave up), and an oracle that took functions
of constants for exact; both mended. A tester found that compiled code could be off by a whole jump of `floor` and its like.

## What is known and stays

- A slope of 0 times an infinite one is nan, as IEEE 754 has it and as PyTorch and JAX have it: `acos(where(x > 0.3, x, -1.0))` at
  x = 0 has the gradient nan, since acos has an infinite slope at -1.
- `type(x) is float` inside a traced function is false; it gets a warning at its line, and `isinstance(x, float)` is right.
- Eager Values are Values to `isinstance`: `isinstance(Value(1.0), float)` is false, and so is `numbers.Real`, whose contract has
  equal numbers with equal hashes, where a Value is a key by its identity.
- Without `exact=True` and `wait=True`, the calls of `jit` before the machine code is ready are interpreted, with the roundings of
  eager code, so the last bit of a result may change when it is. `wait=True` compiles in the first call, and `vmap` always does.
- The rows of a batch that takes more than 4,096 paths are run in Python from there on, with a warning and with the roundings of
  eager code: their last bits may depend on the rows beside them.
- Without `exact=True`, products and sums may be fused, so a number that is exactly zero in eager code by cancellation may be about
  1e-17 in compiled code. What decides an `if`, or is read by a function with jumps (`floor`, `//`, `sign` ...), is not fused. A kink
  (`abs`, `relu`) or a pole (`sqrt`, `log`, `1/x`) of such a number is: its slope there may be that of one side.
- Higher derivatives on plain numbers may differ in the last bits from those on Values and from `jit(..., exact=True)`
  ([compile.md](compile.md)).
- Memory (`python benchmarks/memory.py`): after 10,000,000 nodes are freed, resident memory is that of before (ratio 1.00); after
  several such graphs, `gc.collect()` gives the memory back that is kept for the next one. One kept node in a thousand keeps all of
  it, since nodes lie in slabs of 2 MB, about 20,000 each, which go back when they are empty. Nodes do not move, so the least that
  is possible is one page of 4 kB for each kept node, by calculation 4 % in that case, if slabs gave single pages back; they do
  not.
- CPython itself loses a few bytes where its own frames find no memory (3.11, seen in programs without micrograd), so leaks are
  looked for at the C entry points, and not through Python code.
- ThreadSanitizer looks at the C engine alone (`make sanitize`): CPython is not instrumented, so its locks are seen and its own
  memory is not, and the machine code of kernels is not instrumented either.
- A million programs were not run, and far from all mutants: the counts above are all there is. The programs are the sum of
  several runs, between which the fuzzer was still being changed, with one program in 400 compiled; the time was that of a busy
  machine. Those in several histories and the points beside PyTorch are of runs of their own, after the last change. PyTorch's slope
  of `digamma` has 9 to 10 digits, so that one is left to mpmath.
- A mutant runs the tests of its file until one fails, which takes minutes for each that survives, so the share that dies is known
  for samples only. Survivors that change nothing are in `SURVIVORS` of `tools/mutants.py`, with the reason.
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
    for name in ("fuzz", "fuzz-loaders", "guided", "mutants", "faults"):
        path = ROOT / "build" / f"{name}.json"
        if not path.exists():
            continue
        new = json.loads(path.read_text())
        if name == "mutants":
            kept[name] = {**kept.get(name, {}), **new}
        elif name != "fuzz" or new["programs"] >= 1000:  # a few programs are a look at one of them, and no run
            kept[name] = new
    return kept


def rows(kept: dict[str, dict[str, object]]) -> list[tuple[str, str, str]]:
    found = []
    if "fuzz" in kept:
        f = kept["fuzz"]
        text = (
            f"{f['programs']:,} programs at {f['points']:,} points in {f['seconds']:,} s; {f['compiled']:,} of them compiled in "
            f"every mode, {f.get('histories', 0):,} in several histories, {f['merged']:,} merged, {f['oracle']:,} points beside "
            f"mpmath and {f.get('torch', 0):,} beside PyTorch, {f.get('orders', 0):,} to order 4: "
            f"{f['failures']} failures that are open"
        )
        found.append(("random programs in every way", "`make fuzz`", text))
    if "fuzz-loaders" in kept:
        inputs = kept["fuzz-loaders"]["inputs"]
        assert isinstance(inputs, dict)
        text = ", ".join(f"{name} {n:,}" for name, n in inputs.items())
        found.append(("damaged inputs", "`make fuzz-loaders`", f"{text}: {kept['fuzz-loaders']['failures']} failures"))
    if "guided" in kept:
        text = ", ".join(f"{name} {n:,}" for name, n in kept["guided"]["inputs"].items())  # type: ignore[attr-defined]
        found.append(("the same, guided by coverage", "`python -m fuzz.loaders NAME --guided` (Atheris)",
                      f"{text}, in {kept['guided']['seconds']:,} s: {kept['guided']['failures']} failures"))  # fmt: skip
    if "faults" in kept:
        found.append(("failing allocations and system calls", "`make faults`", str(kept["faults"]["text"])))
    if "mutants" in kept:
        all_of_them = sum(r["mutants"] for r in kept["mutants"].values())  # type: ignore[index]
        lived = [name for r in kept["mutants"].values() for name in r["survivors"]]  # type: ignore[index]
        every = sum(r["of"] for r in kept["mutants"].values())  # type: ignore[index]
        text = (
            f"{all_of_them - len(lived)} of {all_of_them} died: a small random sample of the {every:,} mutants of "
            f"{len(kept['mutants'])} files ({', '.join(kept['mutants'])})"
        )
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
