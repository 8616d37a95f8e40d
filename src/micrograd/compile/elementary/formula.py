"""A small language in which the elementary functions are written: arithmetic on names, which becomes LLVM text.

A formula is written for one number (`width` is None), as a GPU runs it, or for all lanes of a vector, as a CPU does. In a
vector, `choose` computes each arm that a lane needs, and every lane takes its own.
"""

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
        return self.formula.binary(real if self.kind == DOUBLE else whole, a, b)

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
        return self.formula.negative(self)

    def __and__(self, other: Any) -> Name:
        return self._with("", "and", other)

    def __or__(self, other: Any) -> Name:
        return self._with("", "or", other)

    def __xor__(self, other: Any) -> Name:
        return self._with("", "xor", other)

    def __invert__(self) -> Name:
        return self.formula.inverted(self)

    def __lshift__(self, other: Any) -> Name:
        return self._with("", "shl", other)

    def __rshift__(self, other: Any) -> Name:
        """Shift without a sign; `ashr` keeps it."""
        return self._with("", "lshr", other)

    def ashr(self, other: Any) -> Name:
        """Shift, with copies of the sign."""
        return self._with("", "ashr", other)

    def _compared(self, real: str, whole: str, other: Any) -> Name:
        return self.formula.compared(
            real if self.kind == DOUBLE else whole, self, self.formula.as_name(other, self.kind)
        )

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
        return self.to("bitcast", WHOLE)

    def real(self) -> Name:
        """The number that has these bits."""
        return self.to("bitcast", DOUBLE)

    def as_real(self) -> Name:
        """A whole number with a sign as a number."""
        return self.to("sitofp", DOUBLE)

    def third(self) -> Name:
        """A whole number divided by three."""
        return self._with("", "udiv", 3)

    def to(self, how: str, kind: str) -> Name:
        """Convert it, by an instruction of LLVM."""
        return self.formula.converted(how, self, kind)


class Formula:
    """One function of doubles, being written."""

    def __init__(self, name: str, arguments: int, width: int | None = None, space: str = "") -> None:
        self.name, self.lines, self.count, self.width = name, list[str](), 0, width
        self.pointer, self.space = f"ptr{space}", space.lstrip()  # where tables lie
        self.arguments = [Name(self, f"%x{k}", DOUBLE) for k in range(arguments)]
        self.block = "entry"
        self.tables: dict[str, str] = {}
        self.uses: dict[str, None] = {}  # other functions of this kind

    def type(self, kind: str) -> str:
        """A kind as LLVM's type: of a number, or of a vector of them."""
        return kind if self.width is None else f"<{self.width} x {kind}>"

    def literal(self, kind: str, text: str) -> str:
        """A constant, in all lanes."""
        return text if self.width is None else f"splat ({kind} {text})"

    def symbol(self, function: str) -> str:
        """The name of a function that is written in this language."""
        return f"@{symbol(function, self.width)}"

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
            return Name(self, self.literal(kind, hexadecimal(float(x))), DOUBLE)
        x = int(x) & (2**64 - 1)
        return Name(self, self.literal(kind, str(x - (x >> 63 << 64))), kind)

    def binary(self, how: str, a: Name, b: Name) -> Name:
        """An instruction with two operands of one kind, which is that of its result."""
        return self.do(f"{how} {self.type(a.kind)} {a.text}, {b.text}", a.kind)

    def negative(self, x: Name) -> Name:
        """A number with the other sign."""
        return self.do(f"fneg {self.type(DOUBLE)} {x.text}", DOUBLE)

    def inverted(self, x: Name) -> Name:
        """Whether a flag does not hold."""
        return self.do(f"xor {self.type(FLAG)} {x.text}, {self.literal(FLAG, 'true')}", FLAG)

    def compared(self, how: str, a: Name, b: Name) -> Name:
        """Whether two of a kind compare so, by LLVM's names of comparisons."""
        return self.do(f"{'fcmp' if a.kind == DOUBLE else 'icmp'} {how} {self.type(a.kind)} {a.text}, {b.text}", FLAG)

    def converted(self, how: str, x: Name, kind: str) -> Name:
        """The same in another kind, by an instruction of LLVM."""
        return self.do(f"{how} {self.type(x.kind)} {x.text} to {self.type(kind)}", kind)

    def _call(self, name: str, *operands: Any) -> Name:
        given = ", ".join(f"{self.type(DOUBLE)} {self.as_name(x).text}" for x in operands)
        return self.do(f"call {self.type(DOUBLE)} {name}({given})", DOUBLE)

    def _intrinsic(self, name: str, *operands: Any) -> Name:
        return self._call(f"@llvm.{name}.{'' if self.width is None else f'v{self.width}'}f64", *operands)

    def fma(self, a: Any, b: Any, c: Any) -> Name:
        """a·b + c, rounded once."""
        return self._intrinsic("fma", a, b, c)

    def abs(self, x: Name) -> Name:
        """The number without its sign."""
        return self._intrinsic("fabs", x)

    def sqrt(self, x: Name) -> Name:
        """The square root, correctly rounded."""
        return self._intrinsic("sqrt", x)

    def floor(self, x: Name) -> Name:
        """The largest whole number that is not above."""
        return self._intrinsic("floor", x)

    def rint(self, x: Name) -> Name:
        """The nearest whole number, in doubt the even one."""
        return self._intrinsic("rint", x)

    def trunc(self, x: Name) -> Name:
        """The number without what is behind the point."""
        return self._intrinsic("trunc", x)

    def own(self, function: str, *operands: Any) -> Name:
        """Another function that is written in this language."""
        self.uses[function] = None
        return self._call(self.symbol(function), *operands)

    def select(self, flag: Name, a: Any, b: Any) -> Name:
        """One of two, both of which are computed."""
        kind = a.kind if isinstance(a, Name) else b.kind if isinstance(b, Name) else DOUBLE
        a, b = self.as_name(a, kind), self.as_name(b, kind)
        T = self.type(kind)
        return self.do(f"select {self.type(FLAG)} {flag.text}, {T} {a.text}, {T} {b.text}", kind)

    def any(self, flag: Name) -> str:
        """Whether a flag holds in a lane, as an i1."""
        if self.width is None:
            return flag.text
        mask = self.do(f"bitcast {self.type(FLAG)} {flag.text} to i{self.width}", "")
        return self.do(f"icmp ne i{self.width} {mask.text}, 0", FLAG).text

    def begin(self, label: str) -> None:
        """Begin a basic block."""
        self.lines.append(f"{label}:")
        self.block = label

    def choose(self, flag: Name, yes: Callable[[], Any], no: Callable[[], Any]) -> Any:
        """One of two numbers (or tuples of them), of which only that one is computed."""
        if self.width is not None:
            return self._choose_in_lanes(flag, yes, no)
        self.count += 1
        n = self.count
        self.lines.append(f"  br i1 {flag.text}, label %yes{n}, label %no{n}")
        found = []
        for label, arm in ((f"yes{n}", yes), (f"no{n}", no)):
            self.begin(label)
            result = arm()
            several = result if isinstance(result, tuple) else (result,)
            found.append(([self.as_name(x) for x in several], self.block))
            self.lines.append(f"  br label %join{n}")
        self.begin(f"join{n}")
        (a, from_a), (b, from_b) = found
        results = tuple(
            self.do(f"phi {x.kind} [ {x.text}, %{from_a} ], [ {y.text}, %{from_b} ]", x.kind) for x, y in zip(a, b)
        )
        return results if isinstance(result, tuple) else results[0]

    def _choose_in_lanes(self, flag: Name, yes: Callable[[], Any], no: Callable[[], Any]) -> Any:
        """Each arm where a lane needs it, and then each lane's own."""
        arms: list[list[Name]] = []
        for arm, wanted in ((yes, flag), (no, ~flag)):
            some, before = self.any(wanted), self.block
            self.count += 1
            n = self.count
            self.lines.append(f"  br i1 {some}, label %arm{n}, label %past{n}")
            self.begin(f"arm{n}")
            result = arm()
            given = [self.as_name(x) for x in (result if isinstance(result, tuple) else (result,))]
            self.lines.append(f"  br label %past{n}")
            after = self.block
            self.begin(f"past{n}")
            arms.append(
                [
                    self.do(f"phi {self.type(x.kind)} [ {x.text}, %{after} ], [ zeroinitializer, %{before} ]", x.kind)
                    for x in given
                ]
            )
        found = tuple(self.select(flag, a, b) for a, b in zip(*arms))
        return found if isinstance(result, tuple) else found[0]

    def repeat(self, flag: Callable[[Name], Name], step: Callable[[Name], Name], x: Name) -> Name:
        """The number after as many steps as it takes until the flag does not hold."""
        self.count += 1
        n, before = self.count, self.block
        self.lines += [f"  br label %test{n}", f"test{n}:"]
        self.lines.append("")  # the number of an iteration, of which one way in is known later
        place, self.block = len(self.lines) - 1, f"test{n}"
        now = Name(self, f"%now{n}", DOUBLE)
        go_on = flag(now)
        self.lines += [f"  br i1 {self.any(go_on)}, label %step{n}, label %end{n}", f"step{n}:"]
        self.block = f"step{n}"
        new = step(now)
        if self.width is not None:
            new = self.select(go_on, new, now)
        T = self.type(DOUBLE)
        self.lines[place] = f"  %now{n} = phi {T} [ {x.text}, %{before} ], [ {new.text}, %{self.block} ]"
        self.lines += [f"  br label %test{n}", f"end{n}:"]
        self.block = f"end{n}"
        return now

    def table(self, name: str, numbers: Any, kind: str = DOUBLE) -> str:
        """A table of constants; its name."""
        scalar = Formula(name, 0)
        cells = [f"{kind} {scalar.as_name(x, kind).text}" for x in numbers]
        self.tables[name] = (
            f"@{name} = internal {self.space} constant [{len(cells)} x {kind}] [{', '.join(cells)}], align 16"
        )
        return f"@{name}"

    def load(self, table: str, place: Name, kind: str = DOUBLE) -> Name:
        """An entry of a table."""
        if self.width is None:
            p = self.do(f"getelementptr {kind}, {self.pointer} {table}, i64 {place.text}", "ptr")
            return self.do(f"load {kind}, {self.pointer} {p.text}, align 8", kind)
        result = "poison"
        for k in range(self.width):
            at = self.do(f"extractelement {self.type(WHOLE)} {place.text}, i64 {k}", WHOLE)
            p = self.do(f"getelementptr {kind}, {self.pointer} {table}, i64 {at.text}", "ptr")
            x = self.do(f"load {kind}, {self.pointer} {p.text}, align 8", kind)
            result = self.do(f"insertelement {self.type(kind)} {result}, {kind} {x.text}, i64 {k}", kind).text
        return Name(self, result, kind)

    def entries(self, table: str, place: Name, size: int, kind: str = DOUBLE) -> list[Name]:
        """Two or four neighbouring entries of a table of doubles, from a place on that is a multiple of so many.

        Each lane loads its entries at once, in 3/4 of the time of a gather; the lanes are then put together by shuffles.
        """
        W = self.width
        if W is None or size > W:
            found = [self.load(table, place + k, kind) for k in range(size)]
            return found if kind == DOUBLE else [x.real() for x in found]
        rows = []
        for k in range(W):
            at = self.do(f"extractelement {self.type(WHOLE)} {place.text}, i64 {k}", WHOLE)
            p = self.do(f"getelementptr double, ptr {table}, i64 {at.text}", "ptr")
            rows.append(self.do(f"load <{size} x double>, ptr {p.text}, align 8", "").text)
        # Every size-th lane, one behind the other: their entries are interleaved without crossing 256 bits.
        parts = [self._joined(rows[first::size], size) for first in range(size)]
        if size == 2:
            return [self._shuffled(parts[0], parts[1], self._order(1, which, W)) for which in (0, 1)]
        pairs = [[self._shuffled(parts[n], parts[n + 1], self._order(1, odd, W)) for odd in (0, 1)] for n in (0, 2)]
        return [self._shuffled(pairs[0][k % 2], pairs[1][k % 2], self._order(2, k // 2 * 2, W)) for k in range(4)]

    def _joined(self, parts: list[str], size: int) -> str:
        """Short vectors one behind the other."""
        while len(parts) > 1:
            order = ", ".join(f"i32 {i}" for i in range(2 * size))
            T = f"<{size} x double>"
            pairs = zip(parts[::2], parts[1::2])
            parts = [
                self.do(f"shufflevector {T} {a}, {T} {b}, <{2 * size} x i32> <{order}>", "").text for a, b in pairs
            ]
            size *= 2
        return parts[0]

    def _order(self, run: int, first: int, width: int) -> list[int]:
        """Runs of so many entries out of two vectors in turn."""
        return [side + i + first + j for i in range(0, width, 2 * run) for side in (0, width) for j in range(run)]

    def _shuffled(self, a: str | Name, b: str | Name, order: list[int]) -> Name:
        T = self.type(DOUBLE)
        x, y = (part.text if isinstance(part, Name) else part for part in (a, b))
        lanes = ", ".join(f"i32 {i}" for i in order)
        return self.do(f"shufflevector {T} {x}, {T} {y}, <{self.width} x i32> <{lanes}>", DOUBLE)

    def text(self, result: Name) -> str:
        """Return the whole function, with this result."""
        T, how = self.type(DOUBLE), "alwaysinline nounwind" if self.width is None else "noinline nounwind"
        given = ", ".join(f"{T} {x.text}" for x in self.arguments)
        head = f"define internal {T} {self.symbol(self.name)}({given}) {how} {{\nentry:"
        return "\n".join([head, *self.lines, f"  ret {T} {result.text}", "}"])


def symbol(function: str, width: int | None) -> str:
    """Return the name of a function in LLVM text."""
    return f"mg_{function}" if width is None else f"mg_{function}_{width}"


def intrinsics(width: int | None) -> list[str]:
    """Declare the functions of LLVM that formulas call."""
    f = Formula("", 0, width)
    T, S = f.type(DOUBLE), ("" if width is None else f"v{width}") + "f64"
    one = [f"declare {T} @llvm.{name}.{S}({T})" for name in ("fabs", "sqrt", "floor", "rint", "trunc")]
    return [f"declare {T} @llvm.fma.{S}({T}, {T}, {T})", *one]


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
