"""The elementary functions as C99: the same formulas, for exported files. Nothing is fused that is not written as `fma`."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from math import isinf, isnan
from typing import Any

from micrograd.compile.elementary import functions
from micrograd.compile.elementary.formula import DOUBLE, FLAG, WHOLE, Formula, Name, symbol

TYPES = {DOUBLE: "double", WHOLE: "uint64_t", FLAG: "int"}
SIGNS = {
    "fadd": "+", "fsub": "-", "fmul": "*", "fdiv": "/", "add": "+", "sub": "-", "mul": "*", "udiv": "/", "and": "&",
    "or": "|", "xor": "^", "shl": "<<", "lshr": ">>", "olt": "<", "ole": "<=", "ogt": ">", "oge": ">=", "oeq": "==",
    "ult": "<", "ule": "<=", "ugt": ">", "uge": ">=", "eq": "==",
}  # fmt: skip
CONVERSIONS = {
    ("bitcast", WHOLE): "mg_bits({0})", ("bitcast", DOUBLE): "mg_real({0})", ("sitofp", DOUBLE): "(double)mg_signed({0})",
    ("uitofp", DOUBLE): "(double){0}", ("zext", WHOLE): "(uint64_t){0}",
}  # fmt: skip
HELPERS = """\
static inline uint64_t mg_bits(double x) {
    uint64_t bits;
    memcpy(&bits, &x, 8);
    return bits;
}
static inline double mg_real(uint64_t bits) {
    double x;
    memcpy(&x, &bits, 8);
    return x;
}
static inline int64_t mg_signed(uint64_t bits) {
    int64_t x;
    memcpy(&x, &bits, 8);
    return x;
}
static inline uint64_t mg_ashr(uint64_t x, uint64_t by) { /* with copies of the sign */
    return x >> 63 ? ~(~x >> by) : x >> by;
}
"""


class CFormula(Formula):
    """One function, being written as C."""

    def __init__(self, name: str, arguments: int) -> None:
        super().__init__(name, arguments)
        self.arguments = [Name(self, f"x{k}", DOUBLE) for k in range(arguments)]
        self.depth = 1

    def put(self, text: str) -> None:
        """Write a line."""
        self.lines.append("    " * self.depth + text)

    def do(self, instruction: str, kind: str) -> Name:
        """Give an expression a name."""
        self.count += 1
        self.put(f"const {TYPES[kind]} t{self.count} = {instruction};")
        return Name(self, f"t{self.count}", kind)

    def as_name(self, x: Any, kind: str = DOUBLE) -> Name:
        """A constant, as C writes it to the bit."""
        return x if isinstance(x, Name) else Name(self, _literal(x, kind), kind)

    def symbol(self, function: str) -> str:
        """The name of a function that is written in this language."""
        return symbol(function, None)

    def binary(self, how: str, a: Name, b: Name) -> Name:
        """An operator between two operands of one kind."""
        text = f"mg_ashr({a.text}, {b.text})" if how == "ashr" else f"{a.text} {SIGNS[how]} {b.text}"
        return self.do(text, a.kind)

    def negative(self, x: Name) -> Name:
        """A number with the other sign."""
        return self.do(f"-({x.text})" if x.text.startswith("-") else f"-{x.text}", DOUBLE)

    def inverted(self, x: Name) -> Name:
        """Whether a flag does not hold."""
        return self.do(f"!{x.text}", FLAG)

    def compared(self, how: str, a: Name, b: Name) -> Name:
        """Whether two of a kind compare so."""
        return self.do(f"{a.text} != {a.text}" if how == "uno" else f"{a.text} {SIGNS[how]} {b.text}", FLAG)

    def converted(self, how: str, x: Name, kind: str) -> Name:
        """The same in another kind."""
        return self.do(CONVERSIONS[how, kind].format(x.text), kind)

    def _call(self, name: str, *operands: Any) -> Name:
        return self.do(f"{name}({', '.join(self.as_name(x).text for x in operands)})", DOUBLE)

    def _intrinsic(self, name: str, *operands: Any) -> Name:
        return self._call(name, *operands)

    def select(self, flag: Name, a: Any, b: Any) -> Name:
        """One of two."""
        kind = a.kind if isinstance(a, Name) else b.kind if isinstance(b, Name) else DOUBLE
        return self.do(f"{flag.text} ? {self.as_name(a, kind).text} : {self.as_name(b, kind).text}", kind)

    def choose(self, flag: Name, yes: Callable[[], Any], no: Callable[[], Any]) -> Any:
        """One of two numbers (or tuples of them), of which only that one is computed."""
        self.count += 1
        n, start, arms = self.count, len(self.lines), []
        self.depth += 1
        for arm in (yes, no):
            result = arm()
            arms.append([self.as_name(x) for x in (result if isinstance(result, tuple) else (result,))])
            for k, x in enumerate(arms[-1]):
                self.put(f"r{n}_{k} = {x.text};")
            if arm is yes:
                middle = len(self.lines)
        self.depth -= 1
        indent = "    " * self.depth
        declared = [f"{indent}{TYPES[x.kind]} r{n}_{k};" for k, x in enumerate(arms[0])]
        first, second = self.lines[start:middle], self.lines[middle:]
        self.lines[start:] = [
            *declared,
            f"{indent}if ({flag.text}) {{",
            *first,
            f"{indent}}} else {{",
            *second,
            f"{indent}}}",
        ]
        found = tuple(Name(self, f"r{n}_{k}", x.kind) for k, x in enumerate(arms[0]))
        return found if isinstance(result, tuple) else found[0]

    def repeat(self, flag: Callable[[Name], Name], step: Callable[[Name], Name], x: Name) -> Name:
        """The number after as many steps as it takes until the flag does not hold."""
        self.count += 1
        now = Name(self, f"r{self.count}", DOUBLE)
        self.put(f"double {now.text} = {x.text};")
        self.put("for (;;) {")
        self.depth += 1
        self.put(f"if (!{flag(now).text}) break;")
        self.put(f"{now.text} = {step(now).text};")
        self.depth -= 1
        self.put("}")
        return now

    def table(self, name: str, numbers: Any, kind: str = DOUBLE) -> str:
        """A table of constants; its name."""
        cells = [_literal(x, kind) for x in numbers]
        rows = [f"    {', '.join(cells[i : i + 4])}," for i in range(0, len(cells), 4)]
        self.tables[name] = "\n".join([f"static const {TYPES[kind]} {name}[{len(cells)}] = {{", *rows, "};", ""])
        return name

    def load(self, table: str, place: Name, kind: str = DOUBLE) -> Name:
        """An entry of a table."""
        return self.do(f"{table}[{place.text}]", kind)

    def text(self, result: Name) -> str:
        """Return the whole function, with this result."""
        given = ", ".join(f"double {x.text}" for x in self.arguments)
        head = f"static double {self.symbol(self.name)}({given}) {{"
        return "\n".join([head, *_read(self.lines, result.text), f"    return {result.text};", "}", ""])


def _read(lines: list[str], result: str) -> list[str]:
    """Return the lines without those that write what is not read, about which compilers warn."""
    used, kept = {result}, []
    for line in reversed(lines):
        written = re.match(r"\s*(?:(?:const )?(?:double|uint64_t|int) )?([tr]\d+\w*)(?: =|;)", line)
        if written is None or written[1] in used:
            used.update(re.findall(r"\b[tr]\d+\w*", line.partition(" = ")[2] or line))
            kept.append(line)
    return kept[::-1]


def _literal(x: Any, kind: str) -> str:
    if kind == FLAG:
        return str(int(x))
    if kind == WHOLE:
        return f"UINT64_C(0x{int(x) & (2**64 - 1):X})"
    if isnan(x):
        return "NAN"
    return ("-" if x < 0 else "") + "INFINITY" if isinf(x) else float(x).hex()


@cache
def _written(function: str) -> tuple[str, dict[str, str], tuple[str, ...]]:
    arguments, write = functions.WRITERS[function]
    f = CFormula(function, arguments)
    text = f.text(write(f, *f.arguments))
    return text, f.tables, tuple(f.uses)


def definitions(names: list[str]) -> str:
    """Return what C needs to call these functions as mg_exp and so on: tables, and each function after those that it calls."""
    tables: dict[str, str] = {}
    done: dict[str, str] = {}

    def add(function: str) -> None:
        if function not in done:
            text, own, uses = _written(function)
            for other in uses:
                add(other)
            tables.update(own)
            done[function] = text

    for name in names:
        add(name)
    return "\n".join([HELPERS, *tables.values(), *done.values()]) if done else ""
