"""Typed tapes as functions: LLVM makes machine code of their text, and a Kernel calls it with numbers and arrays."""

from __future__ import annotations

import ctypes
import struct
import weakref
from array import array
from functools import cache
from typing import Any

from micrograd.compile import worker
from micrograd.compile.elementary import functions
from micrograd.compile.elementary.formula import symbol
from micrograd.compile.llvm import build, vector_math
from micrograd.compile.typed import memory
from micrograd.compile.typed.emit import SIZE, Text, write
from micrograd.errors import CompileError
from micrograd.ir.forms import BOOL, F64, Tape, is_array
from micrograd.ir.interpret import CheckFailed

# Lines of text. Joining instructions of a block to vectors takes LLVM 0.4 s for 3,000 of them and 5 s for 20,000; machine code
# at its lowest level takes 30 µs a line, else 70.
LONG, HUGE = 5_000, 200_000
_ITEMS = {"f64[]": "d", "i64[]": "q", "bool[]": "b"}
_NUMPY = {"f64[]": "float64", "i64[]": "int64", "bool[]": "bool"}


@cache
def _address(name: str) -> int:
    """Return where a function of the C library is."""
    if name.startswith("mg_"):
        from micrograd import _engine

        return int(getattr(_engine, f"{name[3:]}_address"))
    import sys

    library = ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None)
    address = ctypes.cast(getattr(library, name), ctypes.c_void_p).value
    assert address is not None
    return address


def _variants(name: str) -> tuple[str, list[str]] | None:
    """Return the vector functions that have the bits of a function of the library on this machine, with their text."""
    if name not in functions.OF_THE_LIBRARY or not vector_math.of_the_library(name):
        return None
    width = build.vector_bits() // 64
    return symbol(name, width), functions.needed(name, width)


def text(tape: Tape) -> Text:
    """Return the LLVM text of a tape for this processor."""
    bits = build.vector_bits()
    return write(tape, f'"min-legal-vector-width"="{bits}" "prefer-vector-width"="{bits}"', _variants)


@cache
def _ordered_sums() -> None:
    """Let LLVM compute the terms of a sum in lanes and add them up in the order of the program: the same bits, sooner."""
    build.llvm().set_option("micrograd", "--force-ordered-reductions=true")


ENTRIES = ("kernel", "after", "end", "borrow", "give_back", "end_all")
# Names the options below that a text does not show: code in the cache on disk was made with those of the same name.
_MADE = "typed 1"


# At one point all of LLVM's pipeline runs. O1, O2 and O3 give the same bits for the gradients of benchmarks/gradbench; O2 runs
# lse in half of the time of O1, ode in 0.4, kmeans in 0.7; O3 runs within 7 % of O2, and compiles 5 to 30 % more slowly.
def optimized(source: Text, level: int = 3) -> tuple[Any, dict[str, int]]:
    """Return what holds the machine code of a text, and the addresses of its functions.

    The code comes out of the cache on disk where it was made before.
    """
    binding = build.llvm()

    def job() -> tuple[Any, dict[str, int]]:
        for ours, (name, _) in source.library.items():
            binding.add_symbol(ours, _address(name))
        how = str(level), str(build.vector_bits()), _MADE
        return build.loaded(build.kept_code(source.source, lambda: _object_file(source, level), *how), ENTRIES)

    return worker.in_llvm(job)


def _object_file(source: Text, level: int) -> bytes:
    """Return the object file of a text."""
    binding = build.llvm()
    worker.note_text(len(source.source))
    _ordered_sums()
    try:
        module = binding.parse_assembly(source.source)
        module.verify()
    except RuntimeError as reason:
        raise CompileError(
            f"LLVM rejected the generated code: {reason}\n  This is a bug in micrograd; please report it."
        ) from None
    lines = source.source.count("\n")
    machine = build.target_machine(0 if lines > HUGE else level, build.vector_bits())
    options = binding.create_pipeline_tuning_options(speed_level=level)
    options.loop_vectorization = options.loop_interleaving = level > 1
    options.slp_vectorization = level > 1 and lines < LONG
    passes = binding.create_pass_builder(machine, options)
    with module:
        passes.getModulePassManager().run(module, passes)
        code: bytes = machine.emit_object(module)
    return code


class _Memory:
    """What one call at a time works with: the context of memory.py, and the slots of arguments and results."""

    def __init__(self, slots_in: int, slots_out: int) -> None:
        self.context = (ctypes.c_int64 * memory.WORDS)()
        self.given = (ctypes.c_int64 * max(slots_in, 1))()
        self.found = (ctypes.c_int64 * max(slots_out, 1))()
        self.addresses = tuple(map(ctypes.addressof, (self.context, self.given, self.found)))


def _end(engine: Any, end: Any, end_all: Any, idle: list[_Memory]) -> None:
    """Give the memory of a kernel that is gone back to the system."""
    assert engine is not None  # the machine code of `end` lives as long as its engine
    end_all()
    for one in idle:
        end(one.addresses[0])


class Kernel:
    """A typed tape as machine code. Several threads may call it at once."""

    def __init__(self, tape: Tape, level: int = 3) -> None:
        source = text(tape)
        self.checks = source.checks
        self.kinds, self.gives = [p.kind for p in tape.params], [y.kind for y in tape.yields]
        engine, at = optimized(source, level)
        function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
        clean = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
        self.address = at["kernel"], at["borrow"], at["give_back"]  # of the code, and of what lends it a context
        self._run = function(at["kernel"])
        self._after = clean(at["after"])
        self._in = struct.Struct("".join("qq" if is_array(k) else "d" if k == F64 else "q" for k in self.kinds))
        self._out = struct.Struct("".join("qq" if is_array(k) else "d" if k == F64 else "q" for k in self.gives))
        self._idle: list[_Memory] = []
        self._arrays = any(map(is_array, self.gives))
        weakref.finalize(self, _end, engine, clean(at["end"]), ctypes.CFUNCTYPE(None)(at["end_all"]), self._idle)

    def __call__(self, *arguments: Any) -> list[Any]:
        """Return what the tape yields. Raises CheckFailed where a check of the tape does not hold.

        Arrays are NumPy's, `array`'s or lists; those that come back are NumPy's where NumPy is installed, else `array`'s.
        """
        if len(arguments) != len(self.kinds):
            raise TypeError(f"the kernel takes {len(self.kinds)} arguments, not {len(arguments)}")
        slots: list[Any] = []
        alive = []  # converted arguments, which have to be there until the end of the run
        for kind, x in zip(self.kinds, arguments):
            if is_array(kind):
                at, size, owner = _where(x, kind)
                slots += (at, size)
                alive.append(owner)
            else:
                slots.append(x)
        one = self._idle.pop() if self._idle else _Memory(self._in.size // 8, self._out.size // 8)
        try:
            self._in.pack_into(one.given, 0, *slots)
            status = self._run(*one.addresses)
            if status:
                self._after(one.addresses[0])
                raise self._error(status)
            found = self._out.unpack_from(one.found)
            if not self._arrays:
                return [x != 0 if kind == BOOL else x for kind, x in zip(self.gives, found)]
            rest = iter(found)
            results = []
            for kind in self.gives:
                if is_array(kind):
                    results.append(_copied(next(rest), next(rest), kind))
                else:
                    x = next(rest)
                    results.append(x != 0 if kind == BOOL else x)
            self._after(one.addresses[0])
            return results
        except ctypes.ArgumentError:  # the addresses are ints, so that it found no memory for one of them
            raise MemoryError("there is no memory for a call of machine code") from None
        finally:
            self._idle.append(one)

    def _error(self, status: int) -> Exception:
        if status < 0:
            return MemoryError("a compiled function ran out of memory")
        return CheckFailed(self.checks[status - 1])


def _where(x: Any, kind: str) -> tuple[int, int, Any]:
    """Return the address of an array, how many items it has, and the object that they belong to."""
    numpy = _numpy()
    if numpy is not None and isinstance(x, numpy.ndarray):
        if x.dtype != _dtype(kind) or not x.flags.c_contiguous:
            x = numpy.ascontiguousarray(x, dtype=_NUMPY[kind])
        return x.ctypes.data, x.size, x
    if not isinstance(x, array) or x.typecode != _ITEMS[kind]:
        x = array(_ITEMS[kind], x)
    return (*x.buffer_info(), x)


@cache
def _numpy() -> Any:
    try:
        import numpy
    except ImportError:
        return None
    return numpy


@cache
def _dtype(kind: str) -> Any:
    return _numpy().dtype(_NUMPY[kind])


def _copied(at: int, size: int, kind: str) -> Any:
    """Return the items at an address as an array of their own."""
    numpy = _numpy()
    if numpy is not None:
        made = numpy.empty(size, _dtype(kind))
        ctypes.memmove(made.ctypes.data, at, size * SIZE[kind])
        return made
    found = array(_ITEMS[kind])
    found.frombytes(ctypes.string_at(at, size * SIZE[kind]))
    return found
