"""Write src/micrograd/learn/static/rules.js: the update rules of SGD and Adam in JavaScript, from optim/rules.py.

    python tools/gen_optim_js.py            write the file
    python tools/gen_optim_js.py --check    say whether the file is what would be written (a test does this)

A rule is run once on names in place of numbers, as gen_optim_h.py does for C, so that page and engine round alike.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "src"), str(HERE)]

from gen_optim_h import Name  # noqa: E402
from micrograd.optim.rules import RULES, Rule  # noqa: E402

TARGET = HERE.parent / "src/micrograd/learn/static/rules.js"
FAMILIES = ("sgd", "adam")
HEAD = """\
// Made by tools/gen_optim_js.py from optim/rules.py: change the rules there and run it again.

/**
 * A rule moves the parameters p by their gradients g; `kept` holds what it keeps for each parameter, c the constants
 * of the step.
 * @typedef {{kept: number, move: (p: Float64Array, g: Float64Array, kept: Float64Array[], c: any) => void}} Rule
 */

/** @type {Record<string, Rule>} */
export const RULES = {
"""


def function(rule: Rule) -> str:
    """Return the row of a rule."""
    lines: list[str] = []
    constants = SimpleNamespace(**{name: Name(f"c.{name}", lines) for name in rule.constants})
    kept = tuple(Name(f"kept[{k}][i]", lines) for k in range(len(rule.kept)))
    p, *new = rule.update(Name("p[i]", lines), Name("g[i]", lines), constants, kept)
    body = [line.replace("const double ", "const ").replace("sqrt(", "Math.sqrt(") for line in lines]
    body += [f"p[i] = {p.text};", *(f"kept[{k}][i] = {name.text};" for k, name in enumerate(new))]
    inner = "\n".join(f"        {line}" for line in body)
    head = f"  {rule.name}: {{\n    kept: {len(rule.kept)},\n    move(p, g, kept, c) {{\n"
    return f"{head}      for (let i = 0; i < p.length; i++) {{\n{inner}\n      }}\n    }},\n  }},\n"


def text() -> str:
    """Return the whole file."""
    return HEAD + "".join(function(rule) for rule in RULES.values() if rule.name.split("_")[0] in FAMILIES) + "};\n"


def main() -> int:
    if "--check" in sys.argv:
        same = TARGET.exists() and TARGET.read_text(encoding="utf-8") == text()
        print(f"{TARGET.name} is {'up to date' if same else 'out of date: run `make ops`'}")
        return 0 if same else 1
    TARGET.write_text(text(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
