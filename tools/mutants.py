"""Break the package in small ways, one at a time, and see whether its tests notice: the share of mutants that die.

    python tools/mutants.py                     a sample of every file, about a dozen mutants each
    python tools/mutants.py --each 40 ops.py    more of one file; --each 0: all of its mutants
    python tools/mutants.py --each 40 --at 80 ops.py    numbers 80 to 119 of its mutants, beside those that were tried before
    python tools/mutants.py --again ops.py      only those that survived the last time, after tests were added
    python tools/mutants.py --inside ops.py     only changes inside of functions; --outside: only those of what runs at import,
                                                beside those that were tried before
    python tools/mutants.py --reasons ops.py    also those for which mutants_survivors.json has a reason to survive

A mutant exchanges an operator or a comparison, changes a number, negates a condition, drops a statement or returns None
(mutations.py). First, every test of the file's list runs once, and the lines that it runs are kept in build/mutants-lines. A
mutant then runs the tests that run its lines, one of each test function first and the fastest first, until one fails, in a
process forked from one that has collected them all (mutants_plugin.py). A change of what runs at import gets a process that
imports the package again. Survivors are printed; known ones, with a reason, are in mutants_survivors.json.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from mutations import Mutation, mutant, mutations

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "micrograd"
RESULTS = ROOT / "build" / "mutants.json"
LINES = ROOT / "build" / "mutants-lines"
REASONS: dict[str, str] = json.loads((Path(__file__).parent / "mutants_survivors.json").read_text())
OPTIONS = ["-x", "-q", "-s", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", "not slow", "--tb=no", "--no-header"]

TABLE = ["tests/engine/test_table.py", "tests/engine/test_ops.py", "tests/engine/test_random.py", "tests/engine/test_math.py",
         "tests/engine/test_math_stdlib.py", "tests/tape/test_derivative_orders.py",
         "tests/engine/test_table_edges.py", "tests/engine/test_random_numbers.py"]  # fmt: skip
ENGINE = ["tests/engine/test_engine.py", "tests/engine/test_backward.py", "tests/engine/test_tiny.py",
          "tests/engine/test_copies.py", "tests/engine/test_primitive.py", "tests/engine/test_by_hand.py",
          "tests/engine/test_safety.py", "tests/engine/test_engine_alone.py", "tests/engine/test_random.py",
          "tests/engine/test_behind_steps.py"]  # fmt: skip
TAPE = ("passes", "rewriting", "ordering", "fuse", "active", "motion", "arrays", "checkpoint", "transforms", "composition",
        "region_derivatives", "regions", "tape", "indexed", "reach", "kept", "kept_inside", "adjoint")  # fmt: skip
DERIVATIVES = ("reverse", "reverse_loop", "states", "primal", "forward", "derivatives", "prune", "motion", "fuse", "arrays",
               "checkpoint", "ordering")  # fmt: skip
KEPT = [
    f"tests/tape/test_{name}.py"
    for name in ("kept", "kept_inside", "indexed", "region_derivatives", "adjoint", "reach")
]
PASSES = [*(f"tests/tape/test_{name}.py" for name in TAPE), "tests/contract/test_fuzz.py"]
REWRITES = ["tests/compile/test_patterns.py", "tests/compile/test_jit.py", "tests/compile/test_same_functions.py",
            "tests/engine/test_primitive.py", "tests/compile/test_jumps.py", "tests/tape/test_checks.py"]  # fmt: skip
CALLS = ["tests/compile/test_chain.py", "tests/compile/test_jit.py", "tests/compile/test_jit_calls.py",
         "tests/compile/test_paths.py", "tests/compile/test_vmap.py", "tests/compile/test_decisions.py",
         "tests/compile/test_changed_modules.py",
         "tests/compile/test_captured.py", "tests/compile/test_calls.py", "tests/compile/test_objects.py",
         "tests/trust/test_wrong_results_that_were_silent.py", "tests/stage/test_history.py",
         "tests/stage/test_which_variant_takes_a_row.py", "tests/compile/test_tapes_of_points.py",
         "tests/stage/test_explain.py"]  # fmt: skip
COMPARED = ["tests/evidence/test_classes_in_later_calls.py", "tests/evidence/test_plain_runs.py",
            "tests/stage/test_values_told_from_numbers.py", "tests/stage/test_classes_of_numbers.py"]  # fmt: skip
# For each file of the stage, the tests of what it does.
STAGE = {
    "masks": ["masks", "traps"],
    "join": ["joins_in_loops", "outcomes", "mixed", "traps", "lists", "constructs", "leave", "renamed"],
    "summary": ["outcomes"],
    "outcomes": ["outcomes", "traps"], "changed": ["changed_lists"], "stored": ["changed_lists"],
    "tables": ["tables"], "folds": ["folds"], "ragged": ["lists"], "staged": ["traps", "explain"], "mixed": ["mixed"],
    "renamed": ["renamed"], "arranged": ["arranged"], "machine": ["traps", "lists"], "roll": ["rolled"], "loops": ["rolled"],
    "packed": ["rolled", "lists"], "expressions": ["constructs"], "statements": ["constructs"], "calls": ["constructs"],
    "questions": ["values_told_from_numbers", "classes_of_numbers", "plain_classes", "questions_about_objects"],
    "whole": ["whole_by_row", "items_by_row"],
    "bounds": ["facts_about_indices", "derived_indices"],
    "counters": ["derived_indices", "changed_lists", "rolled"],
    "instances": ["made_objects", "objects_made_anew", "changed_objects"],
}  # fmt: skip
TRAIN = ["tests/train/test_optim.py", "tests/train/test_optim_more.py", "tests/train/test_step.py",
         "tests/train/test_settings.py", "tests/train/test_settled_steps.py", "tests/train/test_freeze.py",
         "tests/train/test_checkpoints.py"]  # fmt: skip
OPTIM = ("rules", "optimizer", "optimizers", "groups", "slots", "state", "schedules", "clip")
LOSSES = ["tests/train/test_losses.py", "tests/train/test_losses_accuracy.py", "tests/train/test_losses_beside_torch.py",
          "tests/train/test_losses_at_their_edges.py"]  # fmt: skip

# For each file the tests among which the killers of its mutants are looked for.
TARGETS: dict[str, list[str]] = {
    "ops.py": TABLE,
    "engine.py": ENGINE,
    "math.py": TABLE,
    **{f"tape/passes/{name}.py": PASSES for name in DERIVATIVES},
    "tape/passes/reverse_loop.py": [*PASSES, "tests/stage/test_tables.py"],
    **{f"tape/passes/{name}.py": [*KEPT, "tests/stage/test_tables.py", "tests/stage/test_windows_of_lists.py"]
       for name in ("states", "primal")},
    "tape/passes/rewriting.py": [*PASSES, *REWRITES],
    "tape/builder.py": PASSES,
    "tape/interpret.py": PASSES,
    "tape/decisions.py": ["tests/compile/test_decisions.py", "tests/compile/test_jumps.py"],
    "tape/kinds.py": ["tests/trust/test_isinstance_under_a_trace.py", *COMPARED],
    "tape/passes/arm.py": ["tests/tape/test_reach.py", "tests/tape/test_region_derivatives.py"],
    "tape/truths.py": ["tests/tape/test_truths.py", "tests/compile/test_array_windows.py",
                       "tests/compile/test_compiled_regions.py"],
    **{f"compile/{name}.py": CALLS for name in ("chain", "variants", "signature")},
    "compile/rows_tracing.py": ["tests/stage/test_variants_of_rows.py", "tests/compile/test_paths.py",
                                "tests/compile/test_vmap_rows.py", "tests/compile/test_vmap.py",
                                "tests/compile/test_vmap_values.py", "tests/evidence/test_later_calls.py",
                                "tests/stage/test_which_variant_takes_a_row.py", "tests/stage/test_history.py",
                                "tests/evidence/test_classes_in_later_calls.py", "tests/compile/test_captured.py"],
    "evidence/compared.py": ["tests/evidence/test_compared.py", *COMPARED],
    "watch/owners.py": ["tests/compile/test_owners.py", "tests/compile/test_owners_of_each_kind.py",
                  "tests/compile/test_reached_modules.py"],
    "watch/guards.py": ["tests/compile/test_owners.py", "tests/compile/test_reached_modules.py",
                     "tests/compile/test_changed_modules.py", "tests/train/test_mode.py"],
    **{f"stage/{name}.py": [f"tests/stage/test_{t}.py" for t in tests] for name, tests in STAGE.items()},
    "evidence/plain_runs.py": COMPARED,
    "evidence/rounding.py": ["tests/evidence/test_rounding.py", "tests/stage/test_traps.py"],
    "evidence/arms.py": ["tests/evidence/test_arms_to_compare.py"],
    "evidence/merged.py": ["tests/evidence/test_later_calls.py", "tests/stage/test_which_variant_takes_a_row.py"],
    **{f"optim/{name}.py": TRAIN for name in OPTIM},
    **{f"optim/{name}.py": [f"tests/train/test_{name}.py", *TRAIN] for name in ("slots", "schedules")},
    "optim/lbfgs.py": ["tests/train/test_lbfgs_search.py", "tests/train/test_lbfgs.py"],
    "losses.py": LOSSES,
}  # fmt: skip


def change(relative: str, mutation: Mutation) -> None:
    """Let whatever loads this file from now on in this process get the changed one."""
    from mutants_plugin import replace_code

    path = str(SOURCE / relative)
    replace_code(path, compile(mutant(Path(path).read_text(), mutation), path, "exec"))


def forked(work: Any, limit: float = 0.0, silent: bool = False) -> bool:
    """Do some work in a process of its own; whether it ends well and in time."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        try:
            os.setsid()
            if silent:
                null = os.open(os.devnull, os.O_RDWR)
                for k in (0, 1, 2):
                    os.dup2(null, k)
            signal.alarm(int(limit))
            os._exit(0 if work() else 1)
        except BaseException as e:
            if not silent:
                print(f"{type(e).__name__}: {e}", flush=True)
            os._exit(1)
    return os.waitpid(child, 0)[1] == 0


class Lines:
    """Which test runs which lines of the targets, how long it takes, and the lines that run at import."""

    def __init__(self) -> None:
        self.tests: dict[str, list[dict[str, Any]]] = {}  # by file of tests
        self.at_import: dict[str, set[int]] = {}

    def learn(self, file: str) -> None:
        """Read what is known of a file of tests, or run it to know it."""
        if file in self.tests:
            return
        targets = [t for t, files in TARGETS.items() if file in files]
        texts = [Path(file).read_text(), *((SOURCE / t).read_text() for t in targets)]
        kept = LINES / f"{Path(file).stem}-{hashlib.sha256(''.join(texts).encode()).hexdigest()[:16]}.jsonl"
        if not kept.exists():
            LINES.mkdir(parents=True, exist_ok=True)
            for old in LINES.glob(f"{Path(file).stem}-????????????????.jsonl"):
                old.unlink()
            began, part = time.monotonic(), kept.with_suffix(".part")
            part.unlink(missing_ok=True)
            if not forked(lambda: _record(file, targets, part)) or not part.exists():
                sys.exit(f"{file} could not be run")
            part.rename(kept)
            print(f"{file}: lines recorded in {time.monotonic() - began:.0f} s", flush=True)
        rows = [json.loads(line) for line in kept.read_text().splitlines()]
        self.tests[file] = [row for row in rows if "test" in row and not row.get("failed")]
        for row in rows:
            for name, lines in row.get("import", {}).items():
                self.at_import.setdefault(name, set()).update(lines)

    def choose(self, relative: str, mutation: Mutation, budget: float) -> list[tuple[float, str]]:
        """The tests that run a mutation's lines, with their seconds: one of each function first, the fastest first."""
        rows = [row for file in TARGETS[relative] for row in self.tests[file]]
        for span in (mutation.lines, mutation.statement):
            touching = [row for row in rows if not set(span).isdisjoint(row["lines"].get(relative, ()))]
            if touching:
                break
        return self._in_turn(touching, budget)

    def some(self, relative: str, budget: float) -> list[tuple[float, str]]:
        """Tests for a change of what runs at import: also those that read its results and run no line of the file."""
        return self._in_turn([row for file in TARGETS[relative] for row in self.tests[file]], budget)

    @staticmethod
    def _in_turn(rows: list[dict[str, Any]], budget: float) -> list[tuple[float, str]]:
        rows = sorted(rows, key=lambda row: row["seconds"])
        turns, found, spent = Counter[str](), [], 0.0
        for row in rows:
            function = row["test"].split("[")[0]
            turns[function] += 1
            found.append((min(turns[function] - 1, 3), row["seconds"], row["test"]))
        chosen: list[tuple[float, str]] = []
        for _, seconds, name in sorted(found):
            if chosen and spent + seconds > budget:
                continue
            spent += seconds
            chosen.append((seconds, name))
        return chosen


def _record(file: str, targets: list[str], to: Path) -> bool:
    import pytest

    from mutants_plugin import Plugin, record

    plugin = Plugin(SOURCE, targets, lambda p: record(p, to))
    return pytest.main([*OPTIONS, file], plugins=[plugin]) in (0, 5)


def _serve(relative: str, chosen: list[Mutation], lines: Lines, budget: float, to: Path, part: str) -> bool:
    """Run the mutants of a file that can be altered in place, and write how each ended; the others are named."""
    import pytest

    from mutants_plugin import Plugin, Server

    def work(plugin: Plugin) -> None:
        importlib.import_module("micrograd." + relative.removesuffix(".py").replace("/", "."))  # some are imported late
        server = Server(plugin, relative, SOURCE / relative)
        at_import = plugin.at_import[relative] | lines.at_import.get(relative, set())
        void: set[str] = set()

        def run(mutation: Mutation) -> dict[str, Any]:
            swaps = server.swaps(mutation)
            if swaps is None or not at_import.isdisjoint(mutation.lines):
                return {"import": True}
            if part == "outside":
                return {"inside": True}
            tests = [t for t in lines.choose(relative, mutation, budget) if t[1] in plugin.items and t[1] not in void]
            return {"tests": len(tests), "killer": server.killer(swaps, tests) if tests else ""}

        killers: dict[str, list[Mutation]] = {}
        with to.open("a") as out:

            def note(mutation: Mutation) -> None:
                row = run(mutation)
                killers.setdefault(row.get("killer", "").rsplit(" (", 1)[0], []).append(mutation)
                out.write(json.dumps({"name": mutation.name, **row}) + "\n")
                out.flush()
                if row.get("killer") == "":
                    print(f"lives: {mutation.name}", flush=True)

            for mutation in chosen:
                note(mutation)
            killers.pop("", None)
            # A test that fails without any change in such a process kills nothing: its mutants are tried without it.
            asked: set[str] = set()
            while names := [name for name in killers if name not in asked]:
                asked.update(names)
                while bad := server.killer([], [(30.0, name) for name in names]) if names else "":
                    print(f"not a killer, for it fails without any change: {bad}", flush=True)
                    name = bad.rsplit(" (", 1)[0]
                    void.add(name)
                    names = names[names.index(name) + 1 :]  # those before it have passed
                for mutation in [m for name in void for m in killers.pop(name, [])]:
                    note(mutation)
                killers.pop("", None)

    plugin = Plugin(SOURCE, [relative], work)
    return pytest.main([*OPTIONS, *TARGETS[relative]], plugins=[plugin]) in (0, 5)


def _anew(relative: str, mutation: Mutation, tests: list[tuple[float, str]]) -> bool:
    """Whether tests pass with a change that takes effect at import."""

    def work() -> bool:
        import pytest

        change(relative, mutation)
        return pytest.main([*OPTIONS, *(name for _, name in tests)]) in (0, 5)

    return forked(work, limit=60.0 + 20.0 * sum(seconds for seconds, _ in tests), silent=True)


def _try(
    relative: str, chosen: list[Mutation], lines: Lines, budget: float, part: str
) -> tuple[int, list[tuple[str, int]]]:
    """How many mutants were run, and the names of those that survive, with the number of tests that they survived."""
    with tempfile.TemporaryDirectory() as folder:
        ended = Path(folder) / "ended"
        if not forked(lambda: _serve(relative, chosen, lines, budget, ended, part)):
            sys.exit(f"the tests of {relative} could not be run")
        rows = {row["name"]: row for row in map(json.loads, ended.read_text().splitlines())}
    lived = []
    left_out = {"inside": "import", "outside": "inside"}.get(part, "")
    chosen = [m for m in chosen if left_out not in rows[m.name]]
    for mutation in chosen:
        row = rows[mutation.name]
        if "import" in row:
            tests = list(dict.fromkeys(lines.choose(relative, mutation, budget / 4) + lines.some(relative, budget / 2)))
            if _anew(relative, mutation, tests):
                lived.append((mutation.name, len(tests)))
        elif not row["killer"]:
            lived.append((mutation.name, row["tests"]))
    return len(chosen), lived


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", help="files of src/micrograd; all targets where none is named")
    parser.add_argument("--each", type=int, default=12, help="mutants of each file, chosen at random; 0: all")
    parser.add_argument("--at", type=int, help="take mutants in order from this number on, and add them to the results")
    parser.add_argument("--again", action="store_true", help="only the survivors of the last run that have no reason")
    parser.add_argument("--reasons", action="store_true", help="run those that have a reason to survive, too")
    part = parser.add_mutually_exclusive_group()
    part.add_argument("--inside", dest="part", action="store_const", const="inside", default="",
                      help="leave out what runs at import: each takes long")  # fmt: skip
    part.add_argument("--outside", dest="part", action="store_const", const="outside",
                      help="only what runs at import; added to the results")  # fmt: skip
    parser.add_argument("--seconds", type=float, default=0.0, help="begin with no other file after so long")
    parser.add_argument(
        "--budget", type=float, default=40.0, help="seconds of tests that a mutant has to survive at most"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--least", type=float, default=0.95, help="fail where a smaller share dies")
    given = parser.parse_args()
    os.chdir(ROOT)
    sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]
    os.environ["MUTANTS_CACHE"] = os.environ["MICROGRAD_CACHE"] = tempfile.mkdtemp(prefix="mutants-")
    for heavy in ("pytest", "mpmath", "numpy", "ctypes", "torch", "llvmlite.binding"):
        with contextlib.suppress(ImportError):
            importlib.import_module(heavy)
    began, total, dead, lines = time.monotonic(), 0, 0, Lines()
    for relative in given.files or list(TARGETS):
        if given.seconds and time.monotonic() - began > given.seconds:
            break
        results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        every, known = mutations((SOURCE / relative).read_text()), list[tuple[str, int]]()
        chosen = random.Random(given.seed).sample(every, min(given.each or len(every), len(every)))
        if given.at is not None:
            chosen = every[given.at : given.at + given.each]
        if given.again:
            chosen = [m for m in every if m.name in results[relative]["survivors"]]
        if given.part == "outside" and relative in results:
            chosen = [m for m in every if m.name not in results[relative]["survivors"]]
        count = results[relative]["mutants"] if given.again else len(chosen)
        if not given.reasons:
            known = [(m.name, 0) for m in chosen if f"{relative}: {m.name}" in REASONS]
            chosen = [m for m in chosen if (m.name, 0) not in known]
        for file in TARGETS[relative]:
            lines.learn(file)
        tried, lived = _try(relative, chosen, lines, given.budget, given.part)
        lived, count = known + lived, count - len(chosen) + tried
        for name, tests in lived:
            why = REASONS.get(f"{relative}: {name}", f"passed {tests} tests" if tests else "no test runs it")
            print(f"survived: {relative}: {name}   [{why}]", flush=True)
        unknown = [name for name, _ in lived if f"{relative}: {name}" not in REASONS]
        adds = given.at or given.part == "outside"
        earlier: dict[str, Any] = results[relative] if adds and relative in results else {"mutants": 0, "survivors": []}
        results[relative] = {
            "mutants": earlier["mutants"] + count, "of": len(every),
            "survivors": earlier["survivors"] + [name for name, _ in lived],
        }  # fmt: skip
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(json.dumps(results, indent=1))
        print(f"{relative}: {count - len(lived)} of {count} died, {len(lived) - len(unknown)} survived with a reason, "
              f"{len(unknown)} without ({time.monotonic() - began:.0f} s)", flush=True)  # fmt: skip
        total, dead = total + count, dead + count - len(unknown)
    if not total:
        return 0
    print(f"{dead} of {total} mutants died or have a reason to live ({100 * dead / total:.1f} %)")
    return 0 if dead >= given.least * total else 1


if __name__ == "__main__":
    sys.exit(main())
