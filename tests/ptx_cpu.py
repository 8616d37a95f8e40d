"""Run PTX on the CPU: each kernel becomes a function of C, which runs one thread after the other.

What our kernels do in double and single precision (add.rn, mul.rn, fma.rn, div.rn, sqrt.rn, ...) has one result on every
machine by IEEE 754, so what comes out here is what a GPU gives. An instruction that is not known is refused: among them are
the approximations of a GPU (ex2.approx, rsqrt.approx, ...), and barriers and atomic operations, which our kernels do not need.
Each thread writes what no other thread reads, so the order of the threads does not matter; a Module can check that.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")

HEAD = r"""
#include <math.h>
#include <stdint.h>
#include <string.h>
typedef uint64_t u64; typedef uint32_t u32; typedef uint16_t u16; typedef uint8_t u8;
typedef int64_t s64; typedef int32_t s32; typedef int16_t s16; typedef int8_t s8;
static inline double D(u64 x) { double y; memcpy(&y, &x, 8); return y; }
static inline u64 UD(double x) { u64 y; memcpy(&y, &x, 8); return y; }
static inline float F(u32 x) { float y; memcpy(&y, &x, 4); return y; }
static inline u32 UF(float x) { u32 y; memcpy(&y, &x, 4); return y; }
static inline double largest(double a, double b) {
    return a != a ? b : b != b ? a : a == b ? (signbit(a) ? b : a) : a > b ? a : b;
}
static inline double smallest(double a, double b) {
    return a != a ? b : b != b ? a : a == b ? (signbit(a) ? a : b) : a < b ? a : b;
}
static inline u64 L8(u64 p) { u64 x; memcpy(&x, (void *)p, 8); return x; }
static inline u32 L4(u64 p) { u32 x; memcpy(&x, (void *)p, 4); return x; }
static inline u16 L2(u64 p) { u16 x; memcpy(&x, (void *)p, 2); return x; }
static inline u8 L1(u64 p) { return *(u8 *)p; }
static inline void S8(u64 p, u64 x) { memcpy((void *)p, &x, 8); }
static inline void S4(u64 p, u32 x) { memcpy((void *)p, &x, 4); }
static inline void S2(u64 p, u16 x) { memcpy((void *)p, &x, 2); }
static inline void S1(u64 p, u8 x) { *(u8 *)p = x; }
static inline u32 permuted(u32 a, u32 b, u32 how) { /* four bytes out of eight, or copies of their signs */
    u64 both = (u64)b << 32 | a;
    u32 found = 0;
    for (int k = 0; k < 4; k++, how >>= 4) {
        u32 byte = (u32)(both >> 8 * (how & 7)) & 255;
        if (how & 8) byte = byte & 128 ? 255 : 0;
        found |= byte << 8 * k;
    }
    return found;
}
#ifdef RACES
#define ROOM (1u << 22)  /* bytes of memory that a launch may touch */
#define MANY (~(u64)0)
typedef struct { u64 at, writer, reader; } touched;
static touched cells[ROOM];
u64 race[3]; /* the address, and two threads; threads count from 1 */
static void note(u64 p, int size, int writes, u64 thread) {
    for (u64 at = p; at < p + size; at++) {
        u64 k = at * 0x9E3779B97F4A7C15ull >> 42;
        while (cells[k].at != 0 && cells[k].at != at) k = (k + 1) % ROOM;
        touched *c = &cells[k];
        c->at = at;
        u64 other = c->writer != 0 && c->writer != thread ? c->writer : 0;
        if (writes && other == 0 && c->reader != 0 && c->reader != thread) other = c->reader;
        if (other != 0 && race[0] == 0) race[0] = at, race[1] = thread, race[2] = other;
        if (writes) c->writer = thread;
        else c->reader = c->reader == 0 || c->reader == thread ? thread : MANY;
    }
}
#define NOTE(p, size, writes) \
    if ((p) - (u64)local >= LOCAL) note(p, size, writes, ((u64)ctaid_x << 16 | tid_x) + 1)
#define BEGIN memset(cells, 0, sizeof cells), memset(race, 0, sizeof race)
#else
#define NOTE(p, size, writes) (void)0
#define BEGIN (void)0
#endif
"""
REGISTER = {
    "b64": "u64",
    "b32": "u32",
    "b16": "u16",
    "pred": "u8",
    "f64": "u64",
    "f32": "u32",
    "u64": "u64",
    "u32": "u32",
}
BITS = {"b": "u", "u": "u", "s": "s", "f": "u"}
SIGNS = {
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "lo": "<",
    "ls": "<=",
    "hi": ">",
    "hs": ">=",
}
ROUND = {"rmi": "floor", "rpi": "ceil", "rzi": "trunc", "rni": "rint"}


class UnknownInstruction(Exception):
    """PTX that this translator does not know."""


class Race(Exception):
    """Two threads of a kernel touch a number, and one of them writes it."""


def kind_of(name: str) -> str:
    """The C type of the bits of a PTX type."""
    return BITS[name[0]] + name[1:]


class Kernel:
    """One kernel of a PTX text, as C."""

    def __init__(self, name: str, parameters: str, body: str, tables: dict[str, str]) -> None:
        self.name, self.tables = name, tables
        self.offsets: dict[str, int] = {}
        self.sizes: list[int] = []
        at = 0
        for text in re.findall(r"\.param\s+([^,]+)", parameters):
            words = text.split()
            array = re.fullmatch(r"(\w+)\[(\d+)\]", words[-1])
            size = int(array[2]) if array else {"64": 8, "32": 4}[words[0][-2:]]
            parameter = array[1] if array else words[-1]
            at = -(-at // 8) * 8
            self.offsets[parameter] = at
            self.sizes.append(size)
            at += size
        self.bytes = at
        self.local = 0
        self.lines: list[str] = []
        self.declared: list[str] = []
        self.body = re.sub(r"//[^\n]*", "", body)
        self._translate()

    def _translate(self) -> None:
        for line in self.body.splitlines():
            line = line.strip()
            if not line or line in "{}":
                continue
            if found := re.fullmatch(r"\.local\s+\.align \d+ \.b8\s+(\w+)\[(\d+)\];", line):
                self.local += -(-int(found[2]) // 16) * 16
                self.tables = {**self.tables, found[1]: f"(u64)local + {self.local - -(-int(found[2]) // 16) * 16}"}
            elif found := re.fullmatch(r"\.reg\s+\.(\w+)\s+%(\w+)(?:<(\d+)>)?;", line):
                kind, name, count = REGISTER[found[1]], found[2], found[3]
                names = [name] if count is None else [f"{name}{k}" for k in range(int(count))]
                self.declared.append(f"    {kind} {', '.join(f'{n} = 0' for n in names)};")
            elif found := re.fullmatch(r"(\$\w+):", line):
                self.lines.append(f"{found[1].replace('$', '')}:;")
            else:
                for part in line.split(";"):
                    if part.strip():
                        self.lines.append("    " + self._guarded(part.strip()))

    def _guarded(self, text: str) -> str:
        found = re.fullmatch(r"@(!?)%(\w+)\s+(.*)", text)
        if found is None:
            return self._instruction(text)
        return f"if ({found[1]}{found[2]}) {{ {self._instruction(found[3])} }}"

    def _operand(self, text: str) -> str:
        text = text.strip()
        if text.startswith("0d"):
            return f"0x{text[2:]}ULL"
        if text.startswith("0f"):
            return f"0x{text[2:]}U"
        if text in ("%tid.x", "%ctaid.x"):
            return text[1:].replace(".", "_")
        if text.startswith("%"):
            return text[1:]
        if re.fullmatch(r"0x[0-9A-Fa-f]+U?", text):
            return text
        if re.fullmatch(r"-?\d+", text):
            return f"((s64)({text}LL))" if text != str(-(2**63)) else "(-9223372036854775807LL - 1)"
        if text in self.offsets:
            return f"((u64)parameters + {self.offsets[text]})"
        if text in self.tables:
            return f"({self.tables[text]})"
        raise UnknownInstruction(f"the operand {text}")

    def _address(self, text: str, space: str) -> str:
        found = re.fullmatch(r"\[(%?\w+)(?:\+(-?\d+))?\]", text.strip())
        if found is None:
            raise UnknownInstruction(f"the address {text}")
        if space == "param" and found[1] in self.offsets:
            return f"(u64)parameters + {self.offsets[found[1]]} + ({found[2] or 0})"
        return f"{self._operand(found[1])} + ({found[2] or 0})"

    def _instruction(self, text: str) -> str:
        name, *operands = re.split(r"\s+", text, maxsplit=1)
        rest = operands[0] if operands else ""
        parts = name.split(".")
        args = [a.strip() for a in re.findall(r"\s*(\{[^}]*\}|\[[^\]]*\]|[^,]+)", rest) if a.strip()]
        try:
            return self._write(parts, args)
        except (KeyError, IndexError, ValueError):
            raise UnknownInstruction(text) from None

    def _write(self, parts: list[str], args: list[str]) -> str:
        what, kind, o = parts[0], parts[-1], self._operand
        if what == "bra":
            return f"goto {args[0].replace('$', '')};"
        if what == "ret":
            return "return;"
        if what in ("ld", "st"):
            return self._memory(parts, args)
        to, given = args[0].lstrip("%"), args[1:]
        if what == "mov" and args[0].startswith("{"):  # the halves of 64 bits
            low, high = (name.strip().lstrip("%") for name in args[0].strip("{}").split(","))
            x = o(args[1])
            first = "" if low == "_" else f"{low} = (u32){x}; "
            return first if high == "_" else f"{first}{high} = (u32)({x} >> 32);"
        if what == "mov" and given[0].startswith("{"):
            low, high = (o(name) for name in given[0].strip("{}").split(","))
            return f"{to} = (u64)(u32){high} << 32 | (u32){low};"
        if what == "mov":
            return f"{to} = {o(given[0])};"
        if what == "cvta":
            return f"{to} = {o(given[0])};"
        if what == "selp":
            return f"{to} = {o(given[2])} ? {o(given[0])} : {o(given[1])};"
        if what == "cvt":
            return self._converted(parts, to, o(given[0]))
        if kind in ("f64", "f32"):
            return self._real(parts, to, [o(x) for x in given])
        return self._whole(parts, to, [o(x) for x in given])

    def _memory(self, parts: list[str], args: list[str]) -> str:
        space = parts[1]
        if space not in ("param", "global", "local", "b64", "b32", "b8"):
            raise UnknownInstruction(".".join(parts))
        size = int(parts[-1][1:]) // 8
        at = self._address(args[1 if parts[0] == "ld" else 0], space)
        value = args[0 if parts[0] == "ld" else 1]
        values = value.strip("{}").split(",")
        wide = {"v2": 2, "v4": 4}.get(parts[-2], 1)
        if len(values) != wide or not set(parts[1:-1]) <= {"param", "global", "local", "nc", "v2", "v4"}:
            raise UnknownInstruction(".".join(parts))
        note = f"NOTE(at, {wide * size}, {int(parts[0] == 'st')});" if space != "param" else ""
        if parts[0] == "ld":
            found = [f"{v.strip().lstrip('%')} = L{size}(at + {k * size});" for k, v in enumerate(values)]
        else:
            found = [f"S{size}(at + {k * size}, {self._operand(v)});" for k, v in enumerate(values)]
        return f"{{ const u64 at = {at}; {note} {' '.join(found)} }}"

    def _converted(self, parts: list[str], to: str, x: str) -> str:
        how, into, of = parts[1] if len(parts) == 4 else "", parts[-2], parts[-1]
        real = {"f64": "D", "f32": "F"}
        if of in real and into == of and how in ROUND:
            suffix = "f" if of == "f32" else ""
            return f"{to} = U{real[of]}({ROUND[how]}{suffix}({real[of]}({x})));"
        if of in real and into in real and how in ("", "rn"):
            return f"{to} = U{real[into]}({'(float)' if into == 'f32' else '(double)'}{real[of]}({x}));"
        if into in real and how == "rn":
            return f"{to} = U{real[into]}(({'double' if into == 'f64' else 'float'})({kind_of(of)}){x});"
        if of in real or into in real or how:
            raise UnknownInstruction(".".join(parts))
        return f"{to} = ({kind_of(into)})({kind_of(of)}){x};"

    def _real(self, parts: list[str], to: str, x: list[str]) -> str:
        what, kind = parts[0], parts[-1]
        R, suffix = ("D", "") if kind == "f64" else ("F", "f")
        real = [f"{R}({a})" for a in x]
        if what == "setp":
            return self._compared(parts[1], to, real)
        if what in ("add", "sub", "mul", "div") and parts[1] == "rn" and len(parts) == 3:
            sign = {"add": "+", "sub": "-", "mul": "*", "div": "/"}[what]
            return f"{to} = U{R}({real[0]} {sign} {real[1]});"
        if what == "fma" and parts[1] == "rn" and len(parts) == 3:
            return f"{to} = U{R}(fma{suffix}({', '.join(real)}));"
        if what in ("rcp", "sqrt") and parts[1] == "rn" and len(parts) == 3:
            return f"{to} = U{R}({f'1 / {real[0]}' if what == 'rcp' else f'sqrt{suffix}({real[0]})'});"
        sign = "0x8000000000000000ULL" if kind == "f64" else "0x80000000U"
        if len(parts) == 2:
            if what in ("max", "min"):
                return f"{to} = U{R}({'largest' if what == 'max' else 'smallest'}({real[0]}, {real[1]}));"
            if what == "neg":
                return f"{to} = {x[0]} ^ {sign};"
            if what == "abs":
                return f"{to} = {x[0]} & ~{sign};"
            if what == "copysign":  # of the first operand
                return f"{to} = ({x[1]} & ~{sign}) | ({x[0]} & {sign});"
        raise UnknownInstruction(".".join(parts))

    def _compared(self, how: str, to: str, real: list[str]) -> str:
        a, b = real
        ordered = f"({a} == {a} && {b} == {b})"
        if how == "nan":
            return f"{to} = !{ordered};"
        if how == "num":
            return f"{to} = {ordered};"
        if how in SIGNS:
            return f"{to} = {ordered} && {a} {SIGNS[how]} {b};"
        return f"{to} = !{ordered} || {a} {SIGNS[how.removesuffix('u')]} {b};"

    def _whole(self, parts: list[str], to: str, x: list[str]) -> str:
        what, kind = parts[0], parts[-1]
        if kind == "pred":
            if what == "not":
                return f"{to} = !{x[0]};"
            return f"{to} = {x[0]} {dict(zip(('and', 'or', 'xor'), '&|^'))[what]} {x[1]};"
        T, bits = kind_of(kind), int(kind[1:])
        c = [f"(({T}){a})" for a in x]
        if what in ("add", "sub") and len(parts) == 2:
            return f"{to} = (u{bits}){c[0]} {'+' if what == 'add' else '-'} (u{bits}){c[1]};"
        if what in ("mul", "mad"):
            if parts[1] == "lo":
                found = f"(u{bits}){c[0]} * (u{bits}){c[1]}"
            elif parts[1] == "wide":
                found = f"({T[0]}{2 * bits}){c[0]} * ({T[0]}{2 * bits}){c[1]}"
            elif parts[1] == "hi" and kind == "u64":
                found = f"(u64)(((unsigned __int128){c[0]} * {c[1]}) >> 64)"
            else:
                raise UnknownInstruction(".".join(parts))
            return f"{to} = {found}{f' + {x[2]}' if what == 'mad' else ''};"
        if what in ("and", "or", "xor"):
            return f"{to} = {x[0]} {dict(zip(('and', 'or', 'xor'), '&|^'))[what]} {x[1]};"
        if what == "not":
            return f"{to} = ~{x[0]};"
        if what == "neg":
            return f"{to} = -(u{bits}){c[0]};"
        if what in ("shl", "shr"):
            sign = "<<" if what == "shl" else ">>"
            beyond = f"({c[0]} < 0 ? -1 : 0)" if kind[0] == "s" else "0"
            return f"{to} = (u32){x[1]} < {bits} ? {c[0]} {sign} (u32){x[1]} : {beyond};"
        if what == "prmt" and parts == ["prmt", "b32"]:
            return f"{to} = permuted({x[0]}, {x[1]}, {x[2]});"
        if what == "bfe" and kind[0] == "u":
            return f"{to} = ({c[0]} >> {x[1]}) & (((u{bits})1 << {x[2]}) - 1);"
        if what == "shf" and parts[1:3] in (["l", "wrap"], ["r", "wrap"]):
            shift = f"((u32){x[2]} & 31)"
            whole = f"((u64)(u32){x[1]} << 32 | (u32){x[0]})"
            return (
                f"{to} = (u32)({whole} >> (32 - {shift}));" if parts[1] == "l" else f"{to} = (u32)({whole} >> {shift});"
            )
        if what in ("min", "max"):
            return f"{to} = {c[0]} {'<' if what == 'min' else '>'} {c[1]} ? {c[0]} : {c[1]};"
        if what in ("div", "rem"):
            return f"{to} = {c[0]} {'/' if what == 'div' else '%'} {c[1]};"
        if what == "setp":
            return f"{to} = {c[0]} {SIGNS[parts[1]]} {c[1]};"
        raise UnknownInstruction(".".join(parts))

    def c(self) -> str:
        """The C of the kernel: a function of one thread, and one that runs all of them."""
        return "\n".join([
            f"#undef LOCAL\n#define LOCAL {self.local + 16}",
            f"static void thread_{self.name}(const char *parameters, char *local, u32 tid_x, u32 ctaid_x) {{",
            *self.declared, *self.lines, "}",
            f"void {self.name}(const char *parameters, u32 blocks, u32 threads) {{",
            f"    static char local[{self.local + 16}] __attribute__((aligned(64)));",
            "    BEGIN;",
            "    for (u32 b = 0; b < blocks; b++)",
            "        for (u32 t = 0; t < threads; t++) {",
            "            memset(local, 0x7B, sizeof local);  /* what is read there was written before */",
            f"            thread_{self.name}(parameters, local, t, b);",
            "        }",
            "}",
        ])  # fmt: skip


class Module:
    """The kernels of a PTX text, compiled for this machine.

    With `races`, a launch fails in which a number is written by one thread and read or written by another: threads run one
    after the other here, but in any order on a GPU.
    """

    def __init__(self, ptx: str, races: bool = False) -> None:
        self.races = races
        ptx = re.sub(r"//[^\n]*", "", ptx)
        tables, texts = {}, [HEAD]
        for align, name, size, cells in re.findall(
            r"^\.global \.align (\d+) \.b8 (\w+)\[(\d+)\] = \{([^}]*)\};", ptx, re.M
        ):
            texts.append(f"static const u8 {name}[{size}] __attribute__((aligned({align}))) = {{{cells}}};")
            tables[name] = f"(u64){name}"
        for text in re.findall(r"^\.global [^\n]*", ptx, re.M):
            if not re.match(r"\.global \.align \d+ \.b8 \w+\[\d+\] = \{", text):
                raise UnknownInstruction(text)
        found = re.findall(r"\.visible \.entry (\w+)\((.*?)\)\s*(?:\.\w+ [^\n]*\s*)*\{(.*?)^\}", ptx, re.S | re.M)
        self.kernels = {name: Kernel(name, parameters, body, tables) for name, parameters, body in found}
        texts += [kernel.c() for kernel in self.kernels.values()]
        self.library = _compiled("\n".join(["#define RACES" if races else "", *texts]))

    def launch(self, name: str, blocks: int, threads: int, arguments: list[bytes]) -> None:
        """Run a kernel with the bytes of its arguments."""
        kernel = self.kernels[name]
        buffer = bytearray(kernel.bytes + 8)
        for at, size, x in zip(kernel.offsets.values(), kernel.sizes, arguments):
            assert len(x) == size
            buffer[at : at + size] = x
        given = (ctypes.c_char * len(buffer)).from_buffer(buffer)
        getattr(self.library, name)(given, ctypes.c_uint32(blocks), ctypes.c_uint32(threads))
        if self.races:
            address, *between = (ctypes.c_uint64 * 3).in_dll(self.library, "race")
            if address:
                raise Race(
                    f"threads {between[0] - 1:#x} and {between[1] - 1:#x} of {name}, at the address {address:#x}"
                )


@functools.cache
def _compiled(source: str) -> ctypes.CDLL:
    folder = Path(tempfile.mkdtemp(prefix="micrograd-ptx-"))
    name = folder / hashlib.sha256(source.encode()).hexdigest()[:16]
    name.with_suffix(".c").write_text(source)
    flags = ["-w", "-O1", "-mfma", "-ffp-contract=off", "-fno-strict-aliasing", "-shared", "-fPIC"]
    subprocess.run([COMPILER, *flags, f"{name}.c", "-o", f"{name}.so", "-lm"], check=True)
    library = ctypes.CDLL(f"{name}.so")
    shutil.rmtree(folder, ignore_errors=True)
    return library
