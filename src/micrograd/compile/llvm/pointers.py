"""C function pointers to compiled functions: for SciPy's LowLevelCallable, Numba, samplers, and programs in C.

    signature           C type
    "value"             int (const double *in, double *out)
    "gradient"          int (const double *in, double *out, double *gradient)
    "hessian"           int (const double *in, double *out, double *gradient, double *hessian)
    "hvp"               int (const double *in, const double *v, double *product)
    "batch"             int (const double *in, double *out, int64_t rows)
    "gradient_batch"    int (const double *in, double *out, double *gradient, int64_t rows)
    "scalar"            double (double, ..., double)
    "array"             double (int n, double *in)
    "array_user"        double (int n, double *in, void *user)
    "filter"            int (double *in, intptr_t n, double *out, void *user)
    "logp"              int64_t (size_t n, const double *in, double *gradient, double *out, void *user)
    "expand"            int64_t (size_t n, size_t results, const double *in, double *out, void *user)

The first six return 0; 1 where the numbers take a path through a branch that the code does not have; 2 without memory. Of a
batch, such a row is nan, and so is what a function of "scalar" or "array" returns. "filter" returns 1 for success and 0 for
failure, as SciPy wants it; "logp" and "expand" return -1 and -2, and -3 where n is not the number of numbers. Arrays of results
may be NULL. The pointer is a small function of LLVM, which says where the arrays lie and calls mg_enter (native/pointer.c).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from struct import pack, unpack
from typing import Any, NamedTuple

from micrograd.compile import backend as backends
from micrograd.compile import pipeline
from micrograd.compile.derivative_tapes import ArrayTape, NamedArray, program, wanted
from micrograd.compile.llvm import build, module
from micrograd.compile.llvm.build import Target
from micrograd.compile.pipeline import Goal
from micrograd.errors import CompileError
from micrograd.tape.trace import Trace
from micrograd.tree import Shape, name_of, size

ARRAY, INTEGER, NOTHING = ctypes.POINTER(ctypes.c_double), ctypes.c_int64, ctypes.c_void_p
DECLARED = "declare i32 @mg_enter(ptr, ptr, i64, ptr, i64, ptr, i64)"


class Signature(NamedTuple):
    """A C type: the program behind it, its text in LLVM, and its type in ctypes."""

    kind: str
    text: Callable[[ArrayTape, int, int], str]
    type: Callable[[ArrayTape], tuple[Any, ...]]
    number: bool = False  # whether the function has to return one number


class CPointer:
    """What is mixed into a function of ctypes: its address, and the machine code, which lives as long."""

    address: int
    code: Any
    signature: str

    def __repr__(self) -> str:
        return f"<C function with the signature {self.signature!r} at {self.address:#x}>"


def pointer(owner: Any, args: tuple[Any, ...], signature: str, argnums: int | Sequence[int] | None) -> Any:
    """The C function pointer to a compiled function, along the path that these arguments take."""
    if signature not in SIGNATURES:
        raise ValueError(f"signature={signature!r}: it is one of {', '.join(map(repr, SIGNATURES))}")
    options = owner.options
    if options.backend != "llvm":
        raise CompileError(f"a C function pointer needs backend='llvm', not {options.backend!r}")
    shape, leaves = owner._flat(args, {})
    return of_trace(owner, shape, owner._trace(shape, leaves), signature, argnums)


def of_trace(
    owner: Any, shape: Shape, found: Trace, signature: str, argnums: int | Sequence[int] | None = None, order: int = 0
) -> Any:
    """The C function pointer to one trace of a compiled function, or to its derivatives of an order by all numbers alone."""
    options = owner.options
    if not found.tape.outputs:
        raise CompileError(f"{name_of(owner.f)} returns no numbers, so there is nothing to compute")
    how = SIGNATURES[signature]
    wrt = wanted(shape[1][0], argnums, owner.f)
    if how.number and len(found.tape.outputs) != 1:
        raise TypeError(
            f"signature={signature!r} needs a function that returns one number, and {name_of(owner.f)} returns "
            f"{len(found.tape.outputs):,}"
        )
    goal = Goal(options.for_guards(bool(found.tape.guards) or found.merged))
    tape = found.tape
    if how.kind != "value" or order:  # as in the pipeline, before the adjoint
        differentiated = Goal(goal.options, inputs=tuple(wrt))
        tape = pipeline.run(pipeline.PASSES[:2], tape, differentiated, backends.find(options.backend))
    for _ in range(order):
        slopes = program(tape, "gradient", wrt, owner.f, options.exact).tape
        tape = slopes.copy(outputs=slopes.outputs[len(tape.outputs) :])
    what = program(tape, how.kind, wrt, owner.f, options.exact)
    lowered = pipeline.lower(what.tape, goal, backends.find(options.backend))
    kernel = module.text(lowered, goal)
    numbers = [float(v.data) for v in found.captured]
    source = "\n".join([kernel.source, _constants(numbers), DECLARED, how.text(what, kernel.scratch, size(shape))])
    known = owner.pointers.get((signature, source))
    if known is None:
        code = build.compile_text(source, kernel.scratch, Target.of(goal), entry="entry")
        result, *takes = how.type(what)
        plain: Any = ctypes.CFUNCTYPE(result, *takes)
        kind = {"_flags_": plain._flags_, "_restype_": result, "_argtypes_": tuple(takes)}
        made: Any = type("Pointer", (CPointer, plain.__base__), kind)
        known = made(code.address)
        known.address, known.code, known.signature = code.address, code, signature
        owner.pointers[signature, source] = known
    return known


# ---- the text


def _constants(numbers: list[float]) -> str:
    """The captured Values, with the numbers that they have now."""
    items = ", ".join([f"double 0x{unpack('<Q', pack('<d', x))[0]:016X}" for x in numbers])
    return f"@numbers = private constant [{len(numbers)} x double] {f'[{items}]' if numbers else 'zeroinitializer'}, align 64"


def _parts(name: str, parts: Sequence[NamedArray], at: Sequence[str]) -> list[str]:
    """A table of arrays: where each begins, and how many numbers it has."""
    lines = [f"  %{name} = alloca [{len(parts)} x {{ptr, i64}}], align 8"]
    for i, (part, pointer) in enumerate(zip(parts, at)):
        lines += [
            f"  %{name}{i} = getelementptr [{len(parts)} x {{ptr, i64}}], ptr %{name}, i64 0, i64 {i}",
            f"  store ptr {pointer}, ptr %{name}{i}, align 8",
            f"  %{name}{i}n = getelementptr {{ptr, i64}}, ptr %{name}{i}, i64 0, i32 1",
            f"  store i64 {part.length}, ptr %{name}{i}n, align 8",
        ]
    return lines


def _enter(what: ArrayTape, scratch: int, reads: Sequence[str], writes: Sequence[str]) -> list[str]:
    """The call of mg_enter, whose result is %code."""
    arrays = f"ptr %from, i64 {len(reads)}, ptr %to, i64 {len(writes)}"
    call = f"  %code = call i32 @mg_enter(ptr @kernel, ptr @numbers, i64 {scratch}, {arrays})"
    return [*_parts("from", what.reads, reads), *_parts("to", what.writes, writes), call]


def _arrays(what: ArrayTape, scratch: int, _: int, name: str = "entry") -> str:
    """A function of arrays: those that are read, then those that are written."""
    reads, writes = [f"%{part.name}" for part in what.reads], [f"%{part.name}" for part in what.writes]
    head = f"define i32 @{name}({', '.join(f'ptr {x}' for x in [*reads, *writes])}) {{"
    return "\n".join([head, "entry:", *_enter(what, scratch, reads, writes), "  ret i32 %code", "}", ""])


def _batch(what: ArrayTape, scratch: int, given: int) -> str:
    """A loop over rows, which lie one after the other. A row that fails becomes nan."""
    parts = [*what.reads, *what.writes]
    names = ", ".join(f"ptr %{part.name}" for part in parts)
    begin = [f"  %{p.name}_row = phi ptr [ %{p.name}, %entry ], [ %{p.name}_next, %next ]" for p in parts]
    step = [f"  %{p.name}_next = getelementptr double, ptr %{p.name}_row, i64 %{p.name}_step" for p in parts]
    width: list[str] = []  # an array that is not wanted stays NULL in each row
    for p in parts:
        width += [f"  %{p.name}_null = icmp eq ptr %{p.name}, null",
                  f"  %{p.name}_step = select i1 %{p.name}_null, i64 0, i64 {p.length}"]  # fmt: skip
    call = f"call i32 @one({', '.join(f'ptr %{p.name}_row' for p in parts)})"
    fill: list[str] = []
    for p in what.writes:
        fill += [f"  call void @fill(ptr %{p.name}_row, i64 %{p.name}_step)"]
    return "\n".join([
        _arrays(what, scratch, given, "one"), FILL,
        f"define i32 @entry({names}, i64 %rows) {{", "entry:", *width, "  %some = icmp sgt i64 %rows, 0",
        "  br i1 %some, label %row, label %none", "none:", "  ret i32 0", "row:",
        "  %i = phi i64 [ 0, %entry ], [ %more, %next ]", "  %seen = phi i32 [ 0, %entry ], [ %worst, %next ]", *begin,
        f"  %failed = {call}", "  %bad = icmp ne i32 %failed, 0", "  br i1 %bad, label %nan, label %next", "nan:", *fill,
        "  br label %next", "next:", *step, "  %more = add i64 %i, 1", "  %higher = icmp ugt i32 %failed, %seen",
        "  %worst = select i1 %higher, i32 %failed, i32 %seen", "  %again = icmp slt i64 %more, %rows",
        "  br i1 %again, label %row, label %done", "done:", "  ret i32 %worst", "}", ""])  # fmt: skip


FILL = """define private void @fill(ptr %to, i64 %n) {
entry:
  %some = icmp sgt i64 %n, 0
  br i1 %some, label %each, label %done
each:
  %k = phi i64 [ 0, %entry ], [ %more, %each ]
  %at = getelementptr double, ptr %to, i64 %k
  store double 0x7FF8000000000000, ptr %at, align 8
  %more = add i64 %k, 1
  %again = icmp slt i64 %more, %n
  br i1 %again, label %each, label %done
done:
  ret void
}
"""

# The number of a function that returns it, or nan.
RETURNED = [
    "  %found = load double, ptr %result, align 8",
    "  %good = icmp eq i32 %code, 0",
    "  %value = select i1 %good, double %found, double 0x7FF8000000000000",
    "  ret double %value",
    "}",
    "",
]


def _scalars(what: ArrayTape, scratch: int, given: int) -> str:
    """A function of numbers."""
    lines = [f"define double @entry({', '.join(f'double %a{k}' for k in range(given))}) {{", "entry:"]
    lines += ["  %result = alloca double, align 8", f"  %in = alloca [{max(given, 1)} x double], align 8"]
    for k in range(given):
        lines += [f"  %p{k} = getelementptr double, ptr %in, i64 {k}", f"  store double %a{k}, ptr %p{k}, align 8"]
    return "\n".join([*lines, *_enter(what, scratch, ["%in"], ["%result"]), *RETURNED])


def _counted(more: str) -> Callable[[ArrayTape, int, int], str]:
    """A function of a number of numbers, and an array of them; nan where there are not as many."""

    def text(what: ArrayTape, scratch: int, given: int) -> str:
        lines = [
            f"define double @entry(i32 %n, ptr %in{more}) {{",
            "entry:",
            "  %result = alloca double, align 8",
            f"  %right = icmp eq i32 %n, {given}",
            "  br i1 %right, label %go, label %wrong",
            "wrong:",
            "  ret double 0x7FF8000000000000",
            "go:",
        ]
        return "\n".join([*lines, *_enter(what, scratch, ["%in"], ["%result"]), *RETURNED])

    return text


def _filter(what: ArrayTape, scratch: int, given: int) -> str:
    """A function for scipy.ndimage, which wants 1 for success."""
    lines = [
        "define i32 @entry(ptr %in, i64 %n, ptr %out, ptr %user) {",
        "entry:",
        f"  %right = icmp eq i64 %n, {given}",
        "  br i1 %right, label %go, label %wrong",
        "wrong:",
        "  ret i32 0",
        "go:",
        *_enter(what, scratch, ["%in"], ["%out"]),
        "  %good = icmp eq i32 %code, 0",
        "  %status = zext i1 %good to i32",
        "  ret i32 %status",
        "}",
        "",
    ]
    return "\n".join(lines)


def _sampler(
    head: str, counts: Callable[[ArrayTape], list[int]], writes: list[str]
) -> Callable[[ArrayTape, int, int], str]:
    """A function for samplers, which take an error below 0 for one that ends the run."""

    def text(what: ArrayTape, scratch: int, given: int) -> str:
        lines = [f"define i64 @entry({head}, ptr %user) {{", "entry:"]
        names = ["true"]
        for k, number in enumerate(counts(what)):
            lines += [f"  %is{k} = icmp eq i64 %n{k}, {number}", f"  %right{k} = and i1 {names[-1]}, %is{k}"]
            names.append(f"%right{k}")
        lines += [f"  br i1 {names[-1]}, label %go, label %wrong", "wrong:", "  ret i64 -3", "go:"]
        lines += [*_enter(what, scratch, ["%in"], writes), "  %minus = sub i32 0, %code"]
        return "\n".join([*lines, "  %status = sext i32 %minus to i64", "  ret i64 %status", "}", ""])

    return text


_logp = _sampler(
    "i64 %n0, ptr %in, ptr %gradient, ptr %out", lambda what: [what.reads[0].length], ["%out", "%gradient"]
)
_expand = _sampler(
    "i64 %n0, i64 %n1, ptr %in, ptr %out", lambda what: [what.reads[0].length, what.writes[0].length], ["%out"]
)


def _of_arrays(what: ArrayTape) -> tuple[Any, ...]:
    return ctypes.c_int, *[ARRAY] * (len(what.reads) + len(what.writes))


SIGNATURES = {
    "value": Signature("value", _arrays, _of_arrays),
    "gradient": Signature("gradient", _arrays, _of_arrays),
    "hessian": Signature("hessian", _arrays, _of_arrays),
    "hvp": Signature("hvp", _arrays, _of_arrays),
    "batch": Signature("value", _batch, lambda what: (*_of_arrays(what), INTEGER)),
    "gradient_batch": Signature("gradient", _batch, lambda what: (*_of_arrays(what), INTEGER)),
    "scalar": Signature(
        "value", _scalars, lambda what: (ctypes.c_double, *[ctypes.c_double] * what.reads[0].length), True
    ),
    "array": Signature("value", _counted(""), lambda what: (ctypes.c_double, ctypes.c_int, ARRAY), True),
    "array_user": Signature(
        "value", _counted(", ptr %user"), lambda what: (ctypes.c_double, ctypes.c_int, ARRAY, NOTHING), True
    ),
    "filter": Signature("value", _filter, lambda what: (ctypes.c_int, ARRAY, ctypes.c_ssize_t, ARRAY, NOTHING), True),
    "logp": Signature("gradient", _logp, lambda what: (INTEGER, ctypes.c_size_t, ARRAY, ARRAY, ARRAY, NOTHING), True),
    "expand": Signature(
        "value", _expand, lambda what: (INTEGER, ctypes.c_size_t, ctypes.c_size_t, ARRAY, ARRAY, NOTHING)
    ),
}
