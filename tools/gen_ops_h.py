"""Write src/micrograd/native/ops.h, the C twin's op switch, from the table in ops.py.

    python tools/gen_ops_h.py           write it
    python tools/gen_ops_h.py --check   fail if the file that is there is stale (a test does this)

Values and partials are run on text: each operation that a rule performs becomes one line of C.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from micrograd.c_text import HELPERS, literal  # noqa: E402
from micrograd.ops import OPS, Op, partials  # noqa: E402
from micrograd.spelling import Listing, LoopListing, SpelledList  # noqa: E402

HEADER = """\
/* Made by tools/gen_ops_h.py from ops.py: change the table there and run `make ops`. */
#define OP_COUNT {count}

/* For each op, the inputs in which it is a step (a bit for each): its partial is 0 everywhere. */
#define OP_STEPS_ROWS {{{steps}}}
"""


def function(name: str, parameters: tuple[str, ...], rule: Any) -> str:
    """One C function of doubles, as the rule computes it."""
    page = Listing("c", literal)
    result = rule(*(page.text(p) for p in parameters))
    body = [f"    double {t} = {spelled};" for spelled, t in page.lines.items()]
    body.append(f"    return {page.spell(result)};")
    unused = "".join(f"    (void){p};\n" for p in parameters if not any(p in line for line in body))
    signature = ", ".join(f"double {p}" for p in parameters)
    return f"static inline double {name}({signature}) {{\n{unused}" + "\n".join(body) + "\n}\n"


def list_value(op: Op) -> str:
    """The value of an n-ary op, as a C function over an array."""
    program = LoopListing("c", literal, "double", "double", "Py_ssize_t", "(double)n")
    result = op.value(SpelledList.of(program, "x"))
    lines = "\n".join([*program.body, f"    return {program.spell(result)};"])
    return f"static inline double value_{op.name}(const double *x, Py_ssize_t n) {{\n{lines}\n}}\n"


def list_partials(op: Op) -> str:
    """The partials of an n-ary op, written to an array."""
    program = LoopListing("c", literal, "double", "double", "Py_ssize_t", "(double)n")
    program.stored = "partial"
    partials(op, SpelledList.of(program, "x"), program.text("y"))
    unused = "".join(
        f"    (void){p};\n" for p in ("x", "y") if not any(re.search(rf"\b{p}\b", line) for line in program.body)
    )
    head = f"void partials_{op.name}(const double *x, Py_ssize_t n, double y, double *partial)"
    return f"static inline {head} {{\n{unused}" + "\n".join(program.body) + "\n}\n"


def text() -> str:
    ops = list(OPS.values())
    fixed = [op for op in ops if op.arity > 0]
    lists = [op for op in ops if op.arity < 0]
    steps = ", ".join([str(sum(1 << k for k in op.steps)) for op in ops])
    out = [HEADER.format(count=len(ops), steps=steps), *(f"static inline {helper}" for helper in HELPERS.values())]
    out.append("enum {\n" + "".join(f"    OP_{op.name.upper()},\n" for op in ops) + "};\n")
    for op in fixed:
        inputs = ("a", "b", "c")[: op.arity]
        rule = (lambda *xs, op=op: xs[0]._apply(op, xs)) if op.c else op.value
        out.append(function(f"value_{op.name}", inputs, rule))
        for i, partial in enumerate(op.partials):
            out.append(function(f"partial{i}_{op.name}", (*inputs, "y"), partial))
    for op in lists:
        out += [list_value(op), list_partials(op)]
    for head, call in (
        ("double list_value(int op, const double *x, Py_ssize_t n)", "return value_{}(x, n);"),
        (
            "void list_partials(int op, const double *x, Py_ssize_t n, double y, double *partial)",
            "partials_{}(x, n, y, partial); return;",
        ),
    ):
        out.append(f"static inline {head} {{\n    switch (op) {{")
        out += [f"    case OP_{op.name.upper()}: {call.format(op.name)}" for op in lists]
        out.append(f"    default: return{' NAN' if head.startswith('double') else ''};\n    }}\n}}\n")
    for arity in (1, 2, 3):
        names = ("a", "b", "c")[:arity]
        rows = [op for op in fixed if op.arity == arity]
        doubles, values = ", ".join(f"double {n}" for n in names), ", ".join(names)
        out.append(f"static inline double value{arity}(int op, {doubles}) {{\n    switch (op) {{")
        out += [f"    case OP_{op.name.upper()}: return value_{op.name}({values});" for op in rows]
        out.append("    default: return NAN;\n    }\n}\n")
        for i in range(arity):
            out.append(f"static inline double partial{arity}{i}(int op, {doubles}, double y) {{\n    switch (op) {{")
            out += [f"    case OP_{op.name.upper()}: return partial{i}_{op.name}({values}, y);" for op in rows]
            out.append("    default: return NAN;\n    }\n}\n")
    named = [op for op in fixed if op.arity <= 2 and op.symbol == op.name]
    rows = [f"METHOD{op.arity}({op.name}, OP_{op.name.upper()})" for op in named]
    out.append("/* The ops that are methods of Value. */\n#define METHODS \\\n    " + " \\\n    ".join(rows) + "\n")
    second = [f", other={op.defaults[0]}" if op.defaults else ", other" for op in named]
    rows = [f'METHOD{op.arity}_ROW({op.name}, "{x if op.arity == 2 else ""}")' for op, x in zip(named, second)]
    out.append("#define METHOD_ROWS \\\n    " + " \\\n    ".join(rows) + "\n")
    return "\n".join(out)


def main() -> int:
    path = ROOT / "src" / "micrograd" / "native" / "ops.h"
    if "--check" in sys.argv:
        if not path.exists() or path.read_text() != text():
            print(f"{path.name} is stale: run `make ops` (ops.py changed since it was made)", file=sys.stderr)
            return 1
        return 0
    path.write_text(text())
    return 0


if __name__ == "__main__":
    sys.exit(main())
