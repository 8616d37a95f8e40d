"""A small language in which the elementary functions of a device are written: arithmetic on names, which becomes LLVM text."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

DOUBLE, WHOLE, FLAG = "double", "i64", "i1"


def bits_of(x: float) -> int:
    """Return the 64 bits of a double."""
    return int(struct.unpack("<Q", struct.pack("<d", x))[0])


def hexadecimal(x: float) -> str:
    """Return a double as LLVM writes it, to the bit."""
    return f"0x{bits_of(x):016X}"


class Name:
    """A number, a whole number of 64 bits or a flag in a formula. Operators write instructions; whole numbers wrap around."""

    __slots__ = ("formula", "kind", "text")

    def __init__(self, formula: Formula, text: str, kind: str) -> None:
        self.formula, self.text, self.kind = formula, text, kind

    def _with(self, real: str, whole: str, other: Any, turned: bool = False) -> Name:
        a, b = self, self.formula.as_name(other, self.kind)
        if turned:
            a, b = b, a
        how = real if self.kind == DOUBLE else whole
        return self.formula.do(f"{how} {self.kind} {a.text}, {b.text}", self.kind)

    def __add__(self, other: Any) -> Name:
        return self._with("fadd", "add", other)

    def __radd__(self, other: Any) -> Name:
        return self._with("fadd", "add", other, True)

    def __sub__(self, other: Any) -> Name:
        return self._with("fsub", "sub", other)

    def __rsub__(self, other: Any) -> Name:
        return self._with("fsub", "sub", other, True)

    def __mul__(self, other: Any) -> Name:
        return self._with("fmul", "mul", other)

    def __rmul__(self, other: Any) -> Name:
        return self._with("fmul", "mul", other, True)

    def __truediv__(self, other: Any) -> Name:
        return self._with("fdiv", "", other)

    def __rtruediv__(self, other: Any) -> Name:
        return self._with("fdiv", "", other, True)

    def __neg__(self) -> Name:
        return self.formula.do(f"fneg double {self.text}", DOUBLE)

    def __and__(self, other: Any) -> Name:
        return self._with("", "and", other)

    def __or__(self, other: Any) -> Name:
        return self._with("", "or", other)

    def __xor__(self, other: Any) -> Name:
        return self._with("", "xor", other)

    def __invert__(self) -> Name:
        return self.formula.do(f"xor i1 {self.text}, true", FLAG)

    def __lshift__(self, other: Any) -> Name:
        return self._with("", "shl", other)

    def __rshift__(self, other: Any) -> Name:
        """Shift without a sign; `ashr` keeps it."""
        return self._with("", "lshr", other)

    def ashr(self, other: Any) -> Name:
        """Shift, with copies of the sign."""
        return self._with("", "ashr", other)

    def _compared(self, real: str, whole: str, other: Any) -> Name:
        b = self.formula.as_name(other, self.kind)
        how = f"fcmp {real}" if self.kind == DOUBLE else f"icmp {whole}"
        return self.formula.do(f"{how} {self.kind} {self.text}, {b.text}", FLAG)

    def __lt__(self, other: Any) -> Name:
        """Whether it is smaller. Whole numbers are compared without a sign, and nan is neither smaller nor greater."""
        return self._compared("olt", "ult", other)

    def __le__(self, other: Any) -> Name:
        return self._compared("ole", "ule", other)

    def __gt__(self, other: Any) -> Name:
        return self._compared("ogt", "ugt", other)

    def __ge__(self, other: Any) -> Name:
        return self._compared("oge", "uge", other)

    def same(self, other: Any) -> Name:
        """Whether two are equal; `==` compares names."""
        return self._compared("oeq", "eq", other)

    def is_nan(self) -> Name:
        """Whether it is not a number."""
        return self._compared("uno", "", self)

    def bits(self) -> Name:
        """The bits of a number."""
        return self.formula.do(f"bitcast double {self.text} to i64", WHOLE)

    def real(self) -> Name:
        """The number that has these bits."""
        return self.formula.do(f"bitcast i64 {self.text} to double", DOUBLE)

    def as_real(self) -> Name:
        """A whole number with a sign as a number."""
        return self.formula.do(f"sitofp i64 {self.text} to double", DOUBLE)


class Formula:
    """One function of doubles, being written."""

    def __init__(self, name: str, arguments: int) -> None:
        self.name, self.lines, self.count = name, list[str](), 0
        self.arguments = [Name(self, f"%x{k}", DOUBLE) for k in range(arguments)]
        self.block = "entry"
        self.tables: dict[str, str] = {}
        self.uses: dict[str, None] = {}  # other functions of this kind

    def do(self, instruction: str, kind: str) -> Name:
        """Write an instruction."""
        self.count += 1
        self.lines.append(f"  %t{self.count} = {instruction}")
        return Name(self, f"%t{self.count}", kind)

    def as_name(self, x: Any, kind: str = DOUBLE) -> Name:
        """A constant as a name."""
        if isinstance(x, Name):
            return x
        if kind == DOUBLE:
            return Name(self, hexadecimal(float(x)), DOUBLE)
        x = int(x) & (2**64 - 1)
        return Name(self, str(x - (x >> 63 << 64)), kind)

    def _call(self, name: str, *operands: Any) -> Name:
        given = ", ".join(f"double {self.as_name(x).text}" for x in operands)
        return self.do(f"call double {name}({given})", DOUBLE)

    def fma(self, a: Any, b: Any, c: Any) -> Name:
        """a·b + c, rounded once."""
        return self._call("@llvm.fma.f64", a, b, c)

    def abs(self, x: Name) -> Name:
        """The number without its sign."""
        return self._call("@llvm.fabs.f64", x)

    def sqrt(self, x: Name) -> Name:
        """The square root, correctly rounded."""
        return self._call("@llvm.sqrt.f64", x)

    def floor(self, x: Name) -> Name:
        """The largest whole number that is not above."""
        return self._call("@llvm.floor.f64", x)

    def rint(self, x: Name) -> Name:
        """The nearest whole number, in doubt the even one."""
        return self._call("@llvm.rint.f64", x)

    def trunc(self, x: Name) -> Name:
        """The number without what is behind the point."""
        return self._call("@llvm.trunc.f64", x)

    def own(self, function: str, *operands: Any) -> Name:
        """Another function that is written in this language."""
        self.uses[function] = None
        return self._call(f"@mg_{function}", *operands)

    def select(self, flag: Name, a: Any, b: Any) -> Name:
        """One of two, both of which are computed."""
        kind = a.kind if isinstance(a, Name) else b.kind if isinstance(b, Name) else DOUBLE
        a, b = self.as_name(a, kind), self.as_name(b, kind)
        return self.do(f"select i1 {flag.text}, {kind} {a.text}, {kind} {b.text}", kind)

    def choose(self, flag: Name, yes: Callable[[], Any], no: Callable[[], Any]) -> Any:
        """One of two numbers (or tuples of them), of which only that one is computed."""
        self.count += 1
        n = self.count
        self.lines.append(f"  br i1 {flag.text}, label %yes{n}, label %no{n}")
        found = []
        for label, arm in ((f"yes{n}", yes), (f"no{n}", no)):
            self.lines.append(f"{label}:")
            self.block = label
            result = arm()
            several = result if isinstance(result, tuple) else (result,)
            found.append(([self.as_name(x) for x in several], self.block))
            self.lines.append(f"  br label %join{n}")
        self.lines.append(f"join{n}:")
        self.block = f"join{n}"
        (a, from_a), (b, from_b) = found
        results = tuple(
            self.do(f"phi {x.kind} [ {x.text}, %{from_a} ], [ {y.text}, %{from_b} ]", x.kind) for x, y in zip(a, b)
        )
        return results if isinstance(result, tuple) else results[0]

    def repeat(self, flag: Callable[[Name], Name], step: Callable[[Name], Name], x: Name) -> Name:
        """The number after as many steps as it takes until the flag does not hold."""
        self.count += 1
        n, before = self.count, self.block
        self.lines += [f"  br label %test{n}", f"test{n}:"]
        self.lines.append("")  # the number of an iteration, of which one way in is known later
        place, self.block = len(self.lines) - 1, f"test{n}"
        now = Name(self, f"%now{n}", DOUBLE)
        go_on = flag(now)
        self.lines += [f"  br i1 {go_on.text}, label %step{n}, label %end{n}", f"step{n}:"]
        self.block = f"step{n}"
        new = step(now)
        self.lines[place] = f"  %now{n} = phi double [ {x.text}, %{before} ], [ {new.text}, %{self.block} ]"
        self.lines += [f"  br label %test{n}", f"end{n}:"]
        self.block = f"end{n}"
        return now

    def table(self, name: str, numbers: Any, kind: str = DOUBLE) -> str:
        """A table of constants; its name."""
        cells = [f"{kind} {self.as_name(x, kind).text}" for x in numbers]
        self.tables[name] = f"@{name} = internal constant [{len(cells)} x {kind}] [{', '.join(cells)}], align 16"
        return f"@{name}"

    def load(self, table: str, place: Name, kind: str = DOUBLE) -> Name:
        """An entry of a table."""
        p = self.do(f"getelementptr {kind}, ptr {table}, i64 {place.text}", "ptr")
        return self.do(f"load {kind}, ptr {p.text}, align 8", kind)

    def text(self, result: Name) -> str:
        """Return the whole function, with this result."""
        given = ", ".join(f"double {x.text}" for x in self.arguments)
        head = f"define internal double @mg_{self.name}({given}) alwaysinline nounwind {{\nentry:"
        return "\n".join([head, *self.lines, f"  ret double {result.text}", "}"])


SIGN = 1 << 63  # of a double's bits


def polynomial(f: Formula, x: Name, coefficients: tuple[float, ...]) -> Name:
    """c0 + c1·x + c2·x² + ..."""
    total = f.as_name(coefficients[-1])
    for c in reversed(coefficients[:-1]):
        total = f.fma(total, x, c)
    return total


def with_sign(f: Formula, size: Name, sign: Name) -> Name:
    """A number that is not negative, with the sign of another one."""
    return (size.bits() | (sign.bits() & SIGN)).real()


def exact_product(f: Formula, a: Name, b: Name | float) -> tuple[Name, Name]:
    """A product, and what its rounding left out."""
    p = a * b
    return p, f.fma(a, b, -p)


def exact_sum(a: Name, b: Name | float) -> tuple[Name, Name]:
    """A sum, and what its rounding left out."""
    s = a + b
    other = s - a
    return s, (a - (s - other)) + (b - other)
