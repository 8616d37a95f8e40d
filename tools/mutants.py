"""Break the package in small ways, one at a time, and see whether its tests notice: the share of mutants that die.

    python tools/mutants.py                     a sample of every file, about a dozen mutants each
    python tools/mutants.py --each 40 ops.py    more of one file

A mutant exchanges an operator or a comparison, changes a number, negates a condition, drops a statement or returns None.
Each runs in a process of its own, forked with everything but micrograd imported; its module is compiled from the changed
tree, and the tests of that file are run until one fails. Survivors are printed; known ones, with a reason, are in SURVIVORS.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import importlib.abc
import importlib.util
import json
import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "micrograd"
RESULTS = ROOT / "build" / "mutants.json"
LIMIT = 1200  # seconds for tests without any change; a mutant gets ten times as long as they took: one that loops is dead too

PURE = [
    "-k",
    "not C- and not [C",
]  # the C engine has values and rules of its own, made from the table before it was changed
PASSES = [
    "tests/tape/test_passes.py",
    "tests/tape/test_transforms.py",
    "tests/tape/test_composition.py",
    "tests/tape/test_region_derivatives.py",
]
MORE_PASSES = ["tests/tape/test_regions.py", "tests/tape/test_derivative_orders.py", "tests/tape/test_tape.py",
               "tests/contract/test_fuzz.py", "tests/compile/test_compiled_regions.py"]  # fmt: skip
MERGER = (["tests/stage/test_broken_merger.py", "-k", "nothing_is_broken"], ["tests/stage/test_traps.py"])
HISTORY = ["tests/stage/test_history.py", "tests/stage/test_which_variant_takes_a_row.py", "-k", "not random"]
# For each file the tests that find most, and those for the mutants that survive them.
TARGETS: dict[str, tuple[list[str], list[str]]] = {
    "ops.py": (["tests/engine/test_table.py", "tests/engine/test_ops.py", *PURE],
               ["tests/engine/test_random.py", "tests/engine/test_math.py", "tests/tape/test_derivative_orders.py"]),
    "engine.py": (["tests/engine/test_engine.py", "tests/engine/test_backward.py", "tests/engine/test_tiny.py", *PURE],
                  ["tests/engine/test_copies.py", "tests/engine/test_primitive.py", "tests/engine/test_by_hand.py",
                   "tests/engine/test_random.py", "tests/engine/test_hostile.py"]),
    "tape/passes/reverse.py": (PASSES, MORE_PASSES),
    "tape/passes/reverse_loop.py": (PASSES, MORE_PASSES),
    "tape/passes/forward.py": (PASSES, MORE_PASSES),
    "tape/passes/derivatives.py": (PASSES, MORE_PASSES),
    "tape/passes/prune.py": (PASSES, MORE_PASSES),
    "tape/passes/rewriting.py": (PASSES, MORE_PASSES),
    "tape/passes/motion.py": (PASSES, MORE_PASSES),
    "tape/builder.py": (PASSES, MORE_PASSES),
    "tape/interpret.py": (PASSES, MORE_PASSES),
    "tape/decisions.py": (["tests/compile/test_decisions.py"], ["tests/contract/test_fuzz.py", "tests/compile/test_jit.py"]),
    "tape/kinds.py": (["tests/trust/test_isinstance_under_a_trace.py"], []),
    "compile/chain.py": (HISTORY, ["tests/stage/test_which_variant_takes_a_row.py", "tests/compile/test_jit_calls.py",
                                   "tests/compile/test_paths.py", "tests/stage/test_rolled.py", "tests/stage/test_explain.py",
                                   "tests/compile/test_changed_modules.py"]),
    "compile/rows_tracing.py": (HISTORY, ["tests/compile/test_vmap.py", "tests/compile/test_paths.py",
                                          "tests/compile/test_captured.py", "tests/compile/test_vmap_values.py"]),
    "compile/variants.py": (["tests/compile/test_paths.py", "tests/compile/test_jit.py"],
                            ["tests/compile/test_vmap.py", "tests/trust", "tests/compile/test_jit_calls.py",
                             "tests/stage/test_which_variant_takes_a_row.py", "tests/compile/test_changed_modules.py"]),
    "compile/signature.py": (["tests/compile/test_jit_calls.py", "tests/compile/test_jit.py"],
                             ["tests/compile/test_calls.py", "tests/compile/test_objects.py", "tests/compile/test_pickle.py"]),
    "stage/masks.py": (["tests/stage/test_masks.py"], MERGER[1]),
    "stage/machine.py": MERGER,
    "stage/summary.py": MERGER,
    "stage/ragged.py": MERGER,
    "stage/outcomes.py": MERGER,
    "optim/rules.py": (["tests/train/test_optim.py"], ["tests/train/test_optim_more.py", "tests/train/test_step.py"]),
    "optim/optimizer.py": (["tests/train/test_optim.py"], ["tests/train/test_optim_more.py", "tests/train/test_checkpoints.py",
                           "tests/train/test_train.py"]),
    "losses.py": (["tests/train/test_losses.py"], ["tests/train/test_losses_accuracy.py", "tests/train/test_train.py"]),
    "math.py": (["tests/engine/test_math.py", "tests/engine/test_math_stdlib.py"], ["tests/engine/test_ops.py"]),
}  # fmt: skip

# Mutants that no test can see, and why: "file:line text of the mutation" -> reason.
SURVIVORS: dict[str, str] = {
    "stage/masks.py:106 Lt -> GtE": "the two operands of a key in the other order: any order that is always the same will do",
    "stage/masks.py:124 Lt -> GtE": "the same",
    "compile/chain.py:143 And -> Or": "it saves time alone: a tape without guards or with a long loop is not interpreted",
    "engine.py:165 0 -> 1": "no op has no inputs, so none has the arity 0",
    "tape/passes/reverse.py:283 1 -> 2": "a default that is not used: the line above returns where there is nothing to add up",
}

EXCHANGE: dict[type, type] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Div, ast.Mod: ast.Mult,
    ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
NAMES = {"lt": "le", "le": "lt", "gt": "ge", "ge": "gt", "sin": "cos", "cos": "sin", "sinh": "cosh", "cosh": "sinh",
         "log": "exp", "exp": "expm1", "sqrt": "cbrt", "min": "max", "max": "min"}  # fmt: skip


def mutations(tree: ast.Module) -> list[tuple[str, int, int]]:
    """Every mutation of a file: its line and what is done, the node, and which of its changes."""
    places = enumerate(_places(tree))
    return [(f"{getattr(n, 'lineno', 0)} {text}", i, k) for i, n in places for k, (text, _) in enumerate(_changes(n))]


def mutant(tree: ast.Module, node: int, change: int) -> ast.Module:
    """The tree with one change made."""
    changed = copy.deepcopy(tree)
    target = _places(changed)[node]
    _changes(target)[change][1](target)
    return ast.fix_missing_locations(changed)


def _places(tree: ast.Module) -> list[ast.AST]:
    """The nodes worth changing: not annotations, messages, docstrings, nor what only a type checker or a reader sees."""
    found: list[ast.AST] = []

    def visit(node: ast.AST) -> None:
        if isinstance(node, (ast.Raise, ast.Import, ast.ImportFrom, ast.JoinedStr, ast.Global, ast.Assert)):
            return
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return
        if isinstance(node, ast.FunctionDef) and node.name in ("__repr__", "__format__"):
            return
        found.append(node)
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list", "type_comment", "args") and not isinstance(
                node, (ast.Call, ast.Lambda)
            ):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    visit(child)

    visit(tree)
    return found


def _changes(node: ast.AST) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    if isinstance(node, (ast.BinOp, ast.AugAssign, ast.BoolOp)) and type(node.op) in EXCHANGE:
        to = EXCHANGE[type(node.op)]
        found.append((f"{type(node.op).__name__} -> {to.__name__}", lambda n: setattr(n, "op", to())))
    if isinstance(node, ast.Compare) and type(node.ops[0]) in EXCHANGE:
        other = EXCHANGE[type(node.ops[0])]
        found.append((f"{type(node.ops[0]).__name__} -> {other.__name__}", lambda n: n.ops.__setitem__(0, other())))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Not)):
        found.append((f"drop {type(node.op).__name__}", lambda n: setattr(n, "op", ast.UAdd()) if isinstance(n.op, ast.USub)
                      else setattr(n, "operand", ast.UnaryOp(ast.Not(), n.operand))))  # fmt: skip
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        found.append((f"{node.value!r} -> {node.value + 1!r}", lambda n: setattr(n, "value", n.value + 1)))
    if isinstance(node, ast.Constant) and type(node.value) is bool:
        found.append((f"{node.value} -> {not node.value}", lambda n: setattr(n, "value", not n.value)))
    if isinstance(node, (ast.If, ast.While, ast.IfExp)):
        found.append(("negate the condition", lambda n: setattr(n, "test", ast.UnaryOp(ast.Not(), n.test))))
    if isinstance(node, ast.Return) and node.value is not None and not isinstance(node.value, ast.Constant):
        found.append(("return None", lambda n: setattr(n, "value", ast.Constant(None))))
    if (
        isinstance(node, ast.Attribute)
        and node.attr in NAMES
        and isinstance(node.value, ast.Name)
        and node.value.id == "f"
    ):
        found.append((f"f.{node.attr} -> f.{NAMES[node.attr]}", lambda n: setattr(n, "attr", NAMES[n.attr])))
    if isinstance(node, (ast.FunctionDef, ast.For, ast.If, ast.While, ast.With)):
        for i, s in enumerate(node.body):
            last = len(node.body) == 1
            if isinstance(s, (ast.Assign, ast.AugAssign)) or (
                isinstance(s, ast.Expr) and isinstance(s.value, ast.Call)
            ):
                found.append((f"drop line {s.lineno}", lambda n, i=i, last=last: n.body.__setitem__(i, ast.Pass())))
    return found


class _Changed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module from a changed tree."""

    def __init__(self, module: str, path: Path, tree: ast.Module) -> None:
        self.module, self.path, self.code = module, path, compile(tree, str(path), "exec")

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        return importlib.util.spec_from_loader(name, self, origin=str(self.path)) if name == self.module else None

    def create_module(self, spec: Any) -> None:
        return None

    def exec_module(self, module: Any) -> None:
        module.__file__ = str(self.path)
        exec(self.code, module.__dict__)


def focus(relative: str, tree: ast.Module, node: int) -> list[str]:
    """Of a change to the op table, the tests that name the rows it belongs to; nothing for another file."""
    if relative != "ops.py":
        return []
    line = getattr(_places(tree)[node], "lineno", 0)
    rows = {call.args[0].value: call for call in ast.walk(tree) if isinstance(call, ast.Call)
            and getattr(call.func, "id", "") == "Op" and isinstance(call.args[0], ast.Constant)}  # fmt: skip
    functions = [f for f in tree.body if isinstance(f, ast.FunctionDef)]
    names = {f.name for f in functions if f.lineno <= line <= (f.end_lineno or 0)}
    for _ in range(2):  # helpers of helpers
        names |= {f.name for f in functions if names & {n.id for n in ast.walk(f) if isinstance(n, ast.Name)}}
    found = [str(name) for name, call in rows.items() if call.lineno <= line <= (call.end_lineno or 0)
             or names & {n.id for n in ast.walk(call) if isinstance(n, ast.Name)}]  # fmt: skip
    which = f"({' or '.join(found)}) and not C- and not [C"
    return (
        ["tests/engine/test_ops.py", "tests/tape/test_derivative_orders.py", "-k", which] if 0 < len(found) <= 8 else []
    )


def survives(relative: str, tree: ast.Module, tests: list[str], limit: float = LIMIT) -> bool:
    """Whether all of these tests pass with this tree in the file's place; there may be none."""
    if not tests:
        return True
    child = os.fork()
    if child == 0:
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for k in (0, 1, 2):
            os.dup2(null, k)
        signal.alarm(int(limit))
        try:
            import pytest

            module = "micrograd." + relative.removesuffix(".py").replace("/", ".")
            sys.meta_path.insert(0, _Changed(module, SOURCE / relative, tree))
            options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", "not slow"]
            os._exit(0 if pytest.main([*options, *tests]) in (0, 5) else 1)  # 5: no test has such a name
        except BaseException:
            os._exit(1)
    return os.waitpid(child, 0)[1] == 0


def _must_pass(relative: str, tree: ast.Module, tests: list[str]) -> float:
    """How long a mutant may take for these tests, which pass without any change."""
    began = time.monotonic()
    if not survives(relative, tree, tests):
        sys.exit(f"the tests of {relative} fail without any change: {' '.join(tests)}")
    return min(LIMIT, 30.0 + 10.0 * (time.monotonic() - began))


def _kept() -> dict[str, Any]:
    """The results of files that earlier runs have looked at."""
    return dict(json.loads(RESULTS.read_text())) if RESULTS.exists() else {}


def _write(results: dict[str, Any]) -> None:
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps({**_kept(), **results}, indent=1))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", help="files of src/micrograd; all targets where none is named")
    parser.add_argument("--each", type=int, default=12, help="mutants of each file, chosen at random")
    parser.add_argument("--seconds", type=float, default=0.0, help="try no more mutants after so long")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--least", type=float, default=0.95, help="fail where a smaller share dies")
    given = parser.parse_args()
    os.chdir(ROOT)
    sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]
    os.environ["MICROGRAD_CACHE"] = tempfile.mkdtemp(prefix="mutants-")
    for heavy in ("pytest", "mpmath", "numpy", "ctypes", "torch", "llvmlite.binding"):
        with contextlib.suppress(ImportError):
            importlib.import_module(heavy)
    began, lived = time.monotonic(), []
    results: dict[str, dict[str, Any]] = {}
    for relative in given.files or [t for t in TARGETS if (SOURCE / t).exists()]:
        quick, slower = TARGETS[relative]
        tree = ast.parse((SOURCE / relative).read_text())
        limit, slower_limit = _must_pass(relative, tree, quick), 0.0
        every = mutations(tree)
        chosen = random.Random(given.seed).sample(every, min(given.each, len(every)))
        left: list[str] = []
        results[relative] = {"mutants": 0, "of": len(every), "survivors": left}
        for text, node, change in chosen:  # in random order, so that a run that is stopped leaves a random sample
            if given.seconds and time.monotonic() - began > given.seconds:
                break
            _write(results)
            results[relative]["mutants"] += 1
            changed = mutant(tree, node, change)
            if not survives(relative, changed, focus(relative, tree, node)):
                continue
            if not survives(relative, changed, quick, limit):
                continue
            slower_limit = slower_limit or _must_pass(relative, tree, slower)
            if survives(relative, changed, slower, slower_limit):
                name = f"{relative}:{text}"
                left.append(name)
                print(f"survived: {name}  {SURVIVORS.get(name, '')}", flush=True)
        lived += [name for name in left if name not in SURVIVORS]
        _write(results)
        tried = results[relative]["mutants"]
        print(f"{relative}: {tried - len(left)} of {tried} died", flush=True)
    total = sum(r["mutants"] for r in results.values())
    dead = total - len(lived)
    if not total:
        return 0
    print(f"{dead} of {total} mutants died ({100 * dead / total:.1f} %) in {time.monotonic() - began:.0f} s")
    return 0 if dead >= given.least * total else 1


if __name__ == "__main__":
    sys.exit(main())
