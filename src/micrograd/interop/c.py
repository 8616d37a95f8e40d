"""export_c: a function and its gradient as one C99 file that needs nothing but libm.

    >>> from micrograd import export_c, math
    >>> text = export_c(lambda x, y: math.sin(x) * y, 1.0, 2.0, name="wave")
    >>> "int wave(const double *in, double *out)" in text
    True

Loops and choices that are regions of the tape stay loops and choices in C, also those whose number of iterations depends on the
numbers: what their gradient needs lies in memory that a call takes and gives back. With `-std=c99`, which forbids contraction
of a*b + c, the arithmetic is that of `jit(f, exact=True)`. The functions of libm are those of the platform; with `libm=False`
they are part of the file (compile/elementary).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from micrograd import c_text
from micrograd.compile.derivative_tapes import KINDS, ArrayTape, program, wanted
from micrograd.compile.elementary import as_c, functions
from micrograd.interop.c_writer import Writer, memory
from micrograd.interop.traced import Traced
from micrograd.tape import passes
from micrograd.tape.check import NUMBER
from micrograd.tape.tape import Tape
from micrograd.tree import written
from micrograd.typed import P

# What the exported function may not be called: keywords up to C23, and the names of the library, which the standard reserves.
KEYWORDS = """alignas alignof asm auto bool break case char const constexpr continue default do double else enum extern
    false float for goto if inline int long main nullptr register restrict return short signed sizeof static
    static_assert struct switch thread_local true typedef typeof typeof_unqual union unsigned void volatile while"""
OF_MATH = """acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs fdim floor
    fma fmax fmin fmod frexp hypot ilogb ldexp lgamma llrint llround log log10 log1p log2 logb lrint lround modf nan
    nearbyint nextafter nexttoward pow remainder remquo rint round scalbln scalbn sin sinh sqrt tan tanh tgamma trunc"""
OF_LIBRARY = """HUGE_VAL INFINITY NAN NULL double_t float_t fpclassify isfinite isgreater isgreaterequal isinf isless
    islessequal islessgreater isnan isnormal isunordered math_errhandling signbit memchr memcmp memcpy memmove memset
    strcat strchr strcmp strcoll strcpy strcspn strerror strlen strncat strncmp strncpy strpbrk strrchr strspn strstr
    strtod strtof strtok strtol strtold strtoll strtoul strtoull strxfrm abort abs atexit atof atoi atol atoll bsearch
    calloc div exit free getenv labs ldiv llabs lldiv malloc mblen mbstowcs mbtowc qsort rand realloc srand system
    wcstombs wctomb errno fclose feof ferror fflush fgetc fgets fopen fprintf fputc fputs fread fscanf fseek ftell
    fwrite getc getchar gets perror printf putc putchar puts remove rename rewind scanf snprintf sprintf sscanf tmpfile
    tmpnam ungetc vfprintf vprintf vsnprintf vsprintf isalnum isalpha isblank iscntrl isdigit isgraph islower isprint
    ispunct isspace isupper isxdigit tolower toupper size_t wchar_t ptrdiff_t div_t ldiv_t lldiv_t"""
TAKEN = {*KEYWORDS.split(), *OF_LIBRARY.split(), *[name + end for name in OF_MATH.split() for end in ("", "f", "l")]}
RESERVED = re.compile(r"_[A-Z_]\w*|mg_\w*|u?int\w*_t|U?INT\w*_(MAX|MIN|C)|(M|FP|MATH|EXIT|RAND)_[A-Z0-9_]+")
# Functions of libm that a file can have of its own. fmod and remainder are exact in every libm.
OWN = {name: f"mg_{name}" for name in functions.WRITERS if name not in functions.EXACT}
COMPARE = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}


def export_c(
    f: Callable[P, Any], *args: Any, name: str = "f", gradient: bool = True, hessian: bool = False, hvp: bool = False,
    argnums: int | tuple[int, ...] | None = None, libm: bool = True,
) -> str:  # fmt: skip
    """Return one self-contained C99 file that computes f and its gradient.

    With `hessian`, there is also a function for the second derivatives, and with `hvp`, one for their product with a vector.
    Derivatives are those with respect to all numbers in the arguments, or in the arguments argnums. With `libm=False`, the file
    has its own exp, sin and so on, from the definitions that `vmap` and GPUs use: its results are then the same to the bit with
    every C library.

    The arguments say how many numbers there are and which path through the branches is taken. Captured Values are written as
    the numbers that they are now. The comment at the top of the file shows the call.

    >>> from micrograd import export_c
    >>> print(export_c(lambda x: x * x, 3.0, name="square", gradient=False).split("*/")[1].strip())
    #include <math.h>
    #include <string.h>
    <BLANKLINE>
    int square(const double *in, double *out);
    <BLANKLINE>
    int square(const double *in, double *out) {
        const double v0 = in[0];
        const double v1 = v0 * v0;
        out[0] = v1;
        return 0;
    }
    """
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise ValueError(f"name={name!r}: it must be a name that C allows")
    if name in TAKEN or RESERVED.fullmatch(name):
        raise ValueError(f"name={name!r} is a keyword of C, or a name of its library or of this file: give another one")
    traced = Traced(f, args)
    wrt = wanted(traced.arguments, argnums, f)
    asked = {"value": True, "gradient": gradient and bool(wrt), "hessian": hessian, "hvp": hvp}
    programs = [program(traced.tape, kind, wrt, f) for kind in KINDS if asked[kind]]
    bodies = [_function(_name(name, p), traced, p, libm) for p in programs]
    heads = [f"{_head(_name(name, p), p)};" for p in programs]
    text = "\n".join(bodies)
    helpers = c_text.helpers(text)
    own = [] if libm else sorted({n for n in re.findall(r"\bmg_(\w+)(?=\()", text) if n in OWN})
    helpers += as_c.definitions(own)
    taking = memory(text)
    top = [*(["#include <stdint.h>"] if "uint64_t" in helpers else []), *(["#include <stdlib.h>"] if taking else [])]
    top += ["#include <string.h>", "", *heads, "", *([taking] if taking else []), *([helpers] if helpers else [])]
    parts = [_comment(name, traced, programs), "#include <math.h>", *top, text]
    return "\n".join(parts)


def lower(tape: Tape) -> Tape:
    """The tape in ops that C can spell, without what is not needed."""
    return passes.prune(passes.expand(tape, c_text.spells, False, powers=False))


def _name(name: str, what: ArrayTape) -> str:
    return name if what.kind == "value" else f"{name}_{what.kind}"


def _head(name: str, what: ArrayTape, more: str = "") -> str:
    reads = [f"const double *{part.name}" for part in what.reads]
    return f"int {name}({', '.join([*reads, *[f'double *{part.name}' for part in what.writes]])}{more})"


def _comment(name: str, traced: Traced, programs: list[ArrayTape]) -> str:
    sizes = {part.name: part.length for p in programs for part in (*p.reads, *p.writes)}
    arrays = [f"{array}[{max(length, 1)}]" for array, length in sizes.items()]
    n = sizes.get("gradient", 0) // traced.outputs
    said = {
        "gradient": f"  gradient[{n}*i + k] is d out[i] / d {_numbered(programs, traced)}",
        "hessian": "  hessian[n*j + k], for n numbers to differentiate by",
        "hvp": "  product is the Hessian times v",
    }
    lines = [
        f"/* {_in_a_comment(traced.name)}, written by micrograd.export_c. Compile with: cc -std=c99 -O2 {name}.c -lm",
        "",
        f"   Arguments, in this order: {_in_a_comment(written(traced.arguments))}",
        "",
        f"       double {', '.join(arrays)};",
    ]
    for p in programs:
        call = ", ".join(part.name for part in (*p.reads, *p.writes))
        lines.append(f"       {_name(name, p)}({call});{said.get(p.kind, '')}")
    lines += [
        "",
        "   Each returns 0; or 1 where the numbers take another path through a branch than the one written here, or 2 where",
        "   there is not enough memory for the iterations of a loop. */",
    ]
    return "\n".join(lines) + "\n"


def _numbered(programs: list[ArrayTape], traced: Traced) -> str:
    """What the k-th number to differentiate by is called."""
    width = next((p.writes[1].length // traced.outputs for p in programs if p.kind == "gradient"), 0)
    return "in[k]" if width == traced.tape.inputs else "the k-th number of argnums"


def _in_a_comment(text: str) -> str:
    """A text without what begins, ends or continues a comment of C: names and keys may have any characters."""
    plain = re.sub(r"\*(?=/)|/(?=\*)", r"\g<0> ", text.replace("??/", "?? /"))
    return plain.encode("ascii", "backslashreplace").decode() if plain.isprintable() else ascii(plain)


def _function(name: str, traced: Traced, what: ArrayTape, libm: bool = True) -> str:
    """The text of one function; one that takes memory is called by another one, which gives it back."""
    tape = lower(what.tape)
    writer = Writer(traced.params, {} if libm else OWN)
    inputs = [f"{part.name}[{k}]" for part in what.reads for k in range(part.length)]
    names = writer.tape(tape, inputs, [NUMBER] * tape.inputs, "v", 1)
    lines = [*writer.top, *writer.lines]
    for how, a, b, went in tape.guards:
        test = f"{names[a]} {COMPARE[how]} {names[b]}"
        lines.append(f"    if ({'!' if went else ''}({test})) return 1;")
    results = iter([names[o] for o in tape.outputs])
    for part in what.writes:
        texts = [next(results) for _ in range(part.length)]
        skipped = ZERO if part.name != "out" and texts.count(ZERO) else None  # derivatives that are zero, all at once
        if skipped:
            lines.append(f"    memset({part.name}, 0, {part.length} * sizeof *{part.name});")
        lines += [f"    {part.name}[{k}] = {x};" for k, x in enumerate(texts) if x != skipped]
    for part in what.reads:
        if not re.search(rf"\b{part.name}\[", "\n".join(lines)):
            lines.insert(0, f"    (void){part.name};")
    if not writer.memory:
        return "\n".join([f"{_head(name, what)} {{", *lines, "    return 0;", "}", ""])
    call = ", ".join(part.name for part in (*what.reads, *what.writes))
    inner = f"static {_head(f'{name}_within', what, ', mg_block **all')} {{"
    outer = [f"{_head(name, what)} {{", "    mg_block *all = NULL;"]
    outer += [f"    const int code = {name}_within({call}, &all);", "    return mg_release(all, code);", "}", ""]
    return "\n".join([inner, *lines, "    return 0;", "}", "", *outer])


ZERO = c_text.literal(0.0)
