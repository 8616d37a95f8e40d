"""What it would cost the C engine to keep its state in the module object: python benchmarks/module_state.py

The state belongs to the process (native/module.c). If each interpreter had a state of its own, every operator, and every node
that is freed, would have to find it from the type of an operand. This program adds that lookup, and nothing else, to a copy of
the sources, builds the copy and the original, and times both in turns. Reading the state through the pointer would
come on top.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOOKUP = """
extern struct PyModuleDef module_def;
static inline void find_state(PyObject *o) {
    PyObject *module = PyType_GetModuleByDef(Py_TYPE(o), &module_def);
    void *state = module != NULL ? PyModule_GetState(module) : NULL;
    if (module == NULL) PyErr_Clear();
    __asm__ volatile("" : : "r"(state) : "memory"); /* as if it were used */
}

/* ---- make.c */
"""
CHANGES = [  # file, text, what takes its place
    ("module.c", "PyType_FromSpec(spec)", "PyType_FromModuleAndSpec(module, spec, NULL)"),
    ("module.c", "static struct PyModuleDef", "struct PyModuleDef"),
    ("module.c", ".m_size = 0", ".m_size = 64"),
    ("engine.h", "\n/* ---- make.c */\n", LOOKUP),
    ("make.c", "    Operand a, b;\n", "    Operand a, b;\n    find_state(PyFloat_CheckExact(left) ? right : left);\n"),
    ("make.c", "    Node *out = node_alloc(y);\n", "    find_state((PyObject *)a);\n    Node *out = node_alloc(y);\n"),
    ("node.c", "void value_dealloc(Node *n) {\n", "void value_dealloc(Node *n) {\n    find_state((PyObject *)n);\n"),
]
WORK = """if True:
    import gc, json, sys, time
    sys.path.insert(0, sys.argv[1])
    from micrograd import Value, engine
    assert engine.NATIVE
    gc.disable()
    x = [Value(0.1 * i) for i in range(64)]

    def forward():
        y = x[0]
        for a in x:
            y = y * a + a
        return y

    def best(f):
        times = []
        for _ in range(40):
            start = time.process_time()
            for _ in range(200):
                f()
            times.append(time.process_time() - start)
        return min(times) / 200 * 1e6

    print(json.dumps([best(forward), best(lambda: forward().backward())]))
"""


def build(place: Path, changes: list[tuple[str, str, str]]) -> Path:
    for name in ("src", "tools"):
        shutil.copytree(ROOT / name, place / name, ignore=shutil.ignore_patterns("*.so", "__pycache__", "*.egg-info"))
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, place)
    for name, old, new in changes:
        path = place / "src/micrograd/native" / name
        text = path.read_text()
        assert old in text, f"{name} has changed: {old!r} is not in it"
        path.write_text(text.replace(old, new, 1))
    subprocess.run([sys.executable, "-W", "ignore", "setup.py", "-q", "build_ext", "--inplace"], cwd=place, check=True)
    return place / "src"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        plain = build(Path(folder, "plain"), [])
        lookup = build(Path(folder, "lookup"), CHANGES)
        best = {plain: [float("inf")] * 2, lookup: [float("inf")] * 2}
        for _ in range(7):  # in turns, so that both meet the same machine
            for place in best:
                done = subprocess.run(
                    [sys.executable, "-c", WORK, str(place)], check=True, capture_output=True, text=True
                )
                best[place] = [min(a, b) for a, b in zip(best[place], json.loads(done.stdout))]
    print(
        f"Python {sys.version.split()[0]}: a graph of 128 ops, microseconds of processor time, minimum of 280 repeats"
    )
    for what, a, b in zip(("built and freed", "with backward()"), best[plain], best[lookup]):
        print(f"  {what}: {a:.2f} as it is, {b:.2f} with a lookup of the state in each op: {b / a:.2f}x")


if __name__ == "__main__":
    main()
