"""Write src/micrograd/native/optim_rules.h: the update rules of optim/rules.py in C, one function for each.

    python tools/gen_optim_h.py            write the file
    python tools/gen_optim_h.py --check    say whether the file is what would be written

A rule is run once on names in place of numbers. Each operation becomes one line of C, in the order in which Python does
it, so that both round alike.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from micrograd.optim.rules import RULES, Rule

TARGET = Path(__file__).resolve().parent.parent / "src/micrograd/native/optim_rules.h"

HEAD = """/* Made by tools/gen_optim_h.py from optim/rules.py: do not edit. Included by optim.c alone.

   A rule moves n parameters p by their gradients g; kept[k] holds the k-th number that it keeps for each parameter, c the
   constants of the step. */
"""


class Name:
    """A number of a rule, by the C expression for it; an operation writes a line and returns a new name."""

    def __init__(self, text: str, lines: list[str]) -> None:
        self.text, self.lines = text, lines

    def _new(self, expression: str) -> Name:
        name = f"t{len(self.lines)}"
        self.lines.append(f"const double {name} = {expression};")
        return Name(name, self.lines)

    def __add__(self, other: Any) -> Name:
        return self._new(f"{self.text} + {_text(other)}")

    def __sub__(self, other: Any) -> Name:
        return self._new(f"{self.text} - {_text(other)}")

    def __mul__(self, other: Any) -> Name:
        return self._new(f"{self.text} * {_text(other)}")

    def __truediv__(self, other: Any) -> Name:
        return self._new(f"{self.text} / {_text(other)}")

    def root(self) -> Name:
        return self._new(f"sqrt({self.text})")

    def larger(self, other: Any) -> Name:
        return self._new(f"{self.text} > {_text(other)} ? {self.text} : {_text(other)}")

    def sign(self) -> Name:
        return self._new(f"{self.text} > 0.0 ? 1.0 : {self.text} < 0.0 ? -1.0 : {self.text}")


def _text(x: Any) -> str:
    return x.text if isinstance(x, Name) else repr(float(x))


def function(rule: Rule) -> str:
    """Return the C function of a rule."""
    lines: list[str] = []
    constants = SimpleNamespace(**{name: Name(f"c_{name}", lines) for name in rule.constants})
    kept = tuple(Name(f"k{k}[i]", lines) for k in range(len(rule.kept)))
    p, *new = rule.update(Name("p[i]", lines), Name("g[i]", lines), constants, kept)
    assert len(new) == len(rule.kept), rule.name
    text = [
        "CLONES",
        f"static void rule_{rule.name}(Py_ssize_t n, double *restrict p, const double *restrict g, double *const *kept, "
        "const double *c) {",
        *(f"    double *restrict k{k} = kept[{k}]; /* {name} */" for k, name in enumerate(rule.kept)),
        *(f"    const double c_{name} = c[{k}];" for k, name in enumerate(rule.constants)),
        *([] if rule.kept else ["    (void)kept;"]),
        "    for (Py_ssize_t i = 0; i < n; i++) {",
        *(f"        {line}" for line in lines),
        f"        p[i] = {p.text};",
        *(f"        k{k}[i] = {name.text};" for k, name in enumerate(new)),
        "    }",
        "}",
    ]
    return "\n".join(text)


def header() -> str:
    """Return the whole file."""
    rows = ",\n".join(
        f'    {{"{rule.name}", rule_{rule.name}, {len(rule.kept)}, {len(rule.constants)}}}' for rule in RULES.values()
    )
    table = f"static const RuleRow RULES[] = {{\n{rows},\n}};"
    return "\n\n".join([HEAD.rstrip(), *map(function, RULES.values()), table]) + "\n"


def main() -> int:
    if "--check" in sys.argv:
        same = TARGET.exists() and TARGET.read_text() == header()
        print(f"{TARGET.name} is {'up to date' if same else 'out of date: run `make ops`'}")
        return 0 if same else 1
    TARGET.write_text(header())
    return 0


if __name__ == "__main__":
    sys.exit(main())
