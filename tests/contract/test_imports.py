"""The import graph: data flows one way through the package, and nothing imports upward."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import micrograd
from twins import ROOT as PROJECT

ROOT = Path(micrograd.__file__).resolve().parent

# From the table down to the commands. A module may import what stands on its own line or above it. A package stands for
# those of its modules that have no line of their own.
LAYERS = [
    ["ops", "errors", "philox", "partials", "install", "operand", "conversion", "signals", "core", "ir", "lecture"],
    ["_engine", "observed", "values", "values.callsite", "values.module_scopes", "graph", "engine", "importable"],
    [
        "math",
        "primitive",
        "spelling",
        "c_text",
        "random",
        "anomaly",
        "tree",
        "values.ufuncs",
        "values.buffers",
        "values.decimals",
        "values.linear",
        "values.number_lists",
        "values.protocols",
        "watch",
        "objects",
        "special",
        "typed",
    ],
    ["abstract"],
    ["tape", "evidence.compared"],
    ["transforms", "jacobians", "custom", "rematerialize", "evidence", "stage"],
    ["compile"],
    ["sparse", "solvers"],
    ["stats"],
    ["checks", "testing", "cluster"],
    ["nn", "losses", "optim", "data", "plots", "interop"],
    ["train"],
    ["learn"],
    ["cli"],
]

# Imports against the order of the layers or in a cycle, each with the reason. CONTRIBUTING.md lists them too.
ALLOWED: dict[tuple[str, str], str] = {
    (
        "engine",
        "observed",
    ): "the last lines of engine.py put the observed class, or the C one, in place of the plain one",
    ("observed", "graph"): "pickling and copying a graph is called by Value, and makes Values",
    ("jacobians", "sparse"): "jacobian(f, sparse=True) is compiled by jit, which compiles what the transforms make",
    (
        "compile.vmap",
        "cluster.vmap",
    ): "vmap(f, client=...) hands over to the cluster, which runs the kernels of compile",
}
LONG = ("ops",)  # the table is one list
GENERATED = ("ops.h", "optim_rules.h")


def modules() -> dict[str, Path]:
    """Each module by its name below micrograd; a package by the name of its folder."""
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(name: str, path: Path, known: set[str]) -> set[str]:
    """What a module imports from this package, anywhere in it; what only a type checker imports is left out."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            node.body = []
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            wanted = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            wanted = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for target in wanted:
            parts = target.split(".")
            if parts[0] != "micrograd":
                continue
            while len(parts) > 1 and ".".join(parts[1:]) not in known:
                parts.pop()
            found.add(".".join(parts[1:]))
    return found - {name, ""}


@pytest.fixture(scope="module")
def graph() -> dict[str, set[str]]:
    found = modules()
    known = {*found, "_engine"}
    return {name: imports(name, path, known) for name, path in found.items()}


def layer(name: str) -> int:
    top = name.split(".")[0]
    for known in (name, top):
        for number, names in enumerate(LAYERS):
            if known in names:
                return number
    return len(LAYERS) if top in ("", "__main__") else -1


def test_every_module_has_a_layer(graph):
    assert not [name for name in graph if layer(name) < 0]


def test_nothing_imports_upward(graph):
    wrong = {(a, b) for a, found in graph.items() for b in found if layer(b) > layer(a)}
    assert wrong - set(ALLOWED) == set()


def test_there_is_no_cycle_not_even_a_lazy_one(graph):
    state: dict[str, int] = {}
    cycles: list[list[str]] = []

    def visit(name: str, above: list[str]) -> None:
        state[name] = 1
        for other in sorted(graph.get(name, ())):
            if (name, other) in ALLOWED:
                continue
            if state.get(other) == 1:
                cycles.append([*above[above.index(other) :], name, other] if other in above else [name, other])
            elif other not in state:
                visit(other, [*above, name])
        state[name] = 2

    for name in graph:
        if name not in state:
            visit(name, [])
    assert not cycles


def test_transforms_know_nothing_of_the_compiler(graph):
    for name in graph:
        if name.split(".")[0] in ("tape", "transforms"):
            assert not [other for other in graph[name] if other.startswith("compile")]


def test_schedules_know_nothing_of_a_backend(graph):
    for name, path in modules().items():
        if name.startswith("compile.schedule"):
            assert "llvm" not in path.read_text(encoding="utf-8").lower().replace("llvm's time", ""), name
            assert not [other for other in graph[name] if other.startswith("compile.llvm")]


def test_only_jit_and_vmap_know_of_llvm(graph):
    backends = ("compile.llvm", "compile.typed")  # of tapes of numbers, and of typed tapes
    users = {name for name, found in graph.items() for other in found if other.startswith(backends)}
    others = {
        name for name in users if not name.startswith((*backends, "compile.device", "compile.cuda", "compile.opencl"))
    }  # kernels for a GPU are LLVM text too
    assert others <= {"compile.jit", "compile.vmap", "cli.info"}  # which says whose elementary functions there are


def test_no_c_file_is_longer_than_400_lines_and_no_function_than_80():
    for path in sorted(ROOT.glob("native/*.[ch]")):
        if path.name in GENERATED:
            continue
        lines = path.read_text(encoding="utf-8").splitlines()
        assert len(lines) <= 400, path.name
        starts = [i for i, line in enumerate(lines) if line.endswith("{") and line[:1].isidentifier() and ")" in line]
        for start in starts:
            length = lines[start:].index("}") + 1
            assert length <= 80, f"{path.name}:{start + 1} has {length} lines"


def test_no_file_is_longer_than_700_lines():
    """One idea, one file; but a file of more lines has more than one idea."""
    lengths = {name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in modules().items()}
    assert not {name: n for name, n in lengths.items() if n > 700 and name not in LONG}


@pytest.mark.parametrize("folder", ["src", "tests", "tools", "benchmarks", "fuzz", "examples"])
def test_no_other_code_is_longer_either(folder):
    """Tests, tools and the scripts and styles of the pages; what is generated or is data has no limit."""
    top = PROJECT / folder
    if not top.is_dir():
        pytest.skip("the tests run without the rest of the project")
    for path in [p for kind in ("py", "js", "mjs", "css", "html", "sh") for p in top.rglob(f"*.{kind}")]:
        name = path.relative_to(PROJECT).as_posix()
        if name != "src/micrograd/ops.py" and not {"build", ".venv", "node_modules"} & set(path.parts):
            assert len(path.read_text(encoding="utf-8").splitlines()) <= 700, name


def test_no_two_files_of_tests_have_one_name():
    """pytest imports them by their names alone, and would leave one of the two out."""
    names = [path.name for path in Path(__file__).parent.parent.rglob("test_*.py")]
    assert len(names) > 100 and sorted(names) == sorted(set(names))


# Packages of which one takes the place of the other: what stands in both has one meaning, until the older one is gone.
TAKES_THE_PLACE_OF = {"stage": "abstract", "tape": "ir"}
# Names that still mean two things. This list only becomes shorter.
MODULES_TWICE = {
    "arrays", "check", "columns", "derivatives", "emit", "errors", "expressions", "folds", "forms", "functions",
    "kernel", "lanes", "loops", "module", "nodes", "objects", "packed", "page", "rows", "scenes", "source", "special",
    "state", "statements", "tables", "tape", "text", "typed", "values", "vmap", "worker",
}  # fmt: skip
CLASSES_TWICE = {
    "Arm", "Array", "Block", "Body", "Call", "Calls", "Const", "Fit", "Fixed", "Frame", "Function", "Kernel",
    "Layout", "Loop", "Mask", "Method", "Module", "NoSource", "Node", "Record", "Ref", "Rows", "Rule", "Scope",
    "Shape", "Unsupported", "Value", "Variant", "Window",
}  # fmt: skip


def _twice(found: list[tuple[str, str]]) -> set[str]:
    """The names that stand in two places: pairs of a name and its place."""
    where: dict[str, set[str]] = {}
    for name, place in found:
        where.setdefault(name, set()).add(place)
    return {name for name, places in where.items() if len(places) > 1}


def test_no_module_has_the_name_of_another_one():
    """A name that means two things has to be looked up each time that it is read."""
    found = []
    for name in modules():
        package, _, leaf = name.rpartition(".")
        top = package.split(".")[0]
        if leaf and leaf != "__main__" and top != "cli":  # a command has the name of what it starts
            found.append((leaf, TAKES_THE_PLACE_OF.get(top, top if top in TAKES_THE_PLACE_OF.values() else package)))
    assert _twice(found) == MODULES_TWICE


def test_no_class_has_the_name_of_another_one():
    """Those that begin with an underscore are known in one module alone, and lecture.py has the names of the lectures."""
    found = []
    for name, path in modules().items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and node.name[0] != "_" and name not in ("lecture", "observed"):
                top = name.split(".")[0]
                found.append(
                    (node.name, TAKES_THE_PLACE_OF.get(top, top if top in TAKES_THE_PLACE_OF.values() else name))
                )
    assert _twice(found) == CLASSES_TWICE


def test_the_function_watch_is_not_the_package_of_that_name():
    code = "import micrograd; micrograd.jit(lambda x: x)(1.0); from micrograd import watch; print(callable(watch))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "True\n"
