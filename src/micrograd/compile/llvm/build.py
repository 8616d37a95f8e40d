"""LLVM: IR text to machine code, in this process, by llvmlite; and what is known of this processor."""

from __future__ import annotations

import ctypes
import functools
import os
import platform
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from micrograd import install
from micrograd.compile import cache as cache_file
from micrograd.compile import worker
from micrograd.compile.elementary import functions
from micrograd.compile.elementary.formula import symbol
from micrograd.compile.pipeline import Goal, many_sums
from micrograd.compile.tuning import TUNING
from micrograd.errors import CompileError
from micrograd.tape.tape import SOURCES, Loop, Structural, Tape


@cache
def vector_functions() -> Any:
    """glibc's vector math library, or None."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return None
    try:
        return ctypes.CDLL("libmvec.so.1")
    except OSError:
        return None


def vector_name(function: str, operands: int, bits: int, float32: bool) -> str | None:
    """Return libmvec's name of this function for vectors of that many bits, or None."""
    library = vector_functions()
    letter = {512: "e", 256: "d", 128: "b"}.get(bits)
    if library is None or letter is None:
        return None
    name = f"_ZGV{letter}N{bits // (32 if float32 else 64)}{'v' * operands}_{function}{'f' if float32 else ''}"
    return name if hasattr(library, name) else None


LANES_BYTES = 64  # of a sum over rows (native/code.h): eight lanes of doubles, or sixteen of floats


class Target:
    """What the text is written for: the number of rows at a time, the precision, and the width of vectors in bits."""

    def __init__(
        self, width: int = 1, float32: bool = False, exact: bool = False, fastmath: bool = False, bits: int = 0
    ) -> None:
        self.width, self.float32, self.exact, self.fastmath = width, float32, exact, fastmath
        self.bits = bits or vector_bits()

    @classmethod
    def of(cls, goal: Goal, tape: Tape | None = None) -> Target:
        """The target for a goal on this processor. A tape whose loops wait for their own results gets two vectors at a time."""
        options = goal.options
        if not goal.rows:
            return cls(1, False, options.exact, options.fastmath)
        bits, item = vector_bits(), 32 if options.float32 else 64
        vectors = 2 if tape is not None and waits(tape) else 1
        width = options.width or vectors * bits // item
        if tape is not None and many_sums(tape, goal):  # in tiles, which have as many lanes as a sum has (tiled.py)
            width = min(width, LANES_BYTES * 8 // item)
        return cls(width, options.float32, options.exact, options.fastmath, min(bits, max(width * item, 128)))


def waits(tape: Tape) -> bool:
    """Whether the tape has a short `while` loop over numbers, whose iterations wait for each other's results."""
    loops = [op for op in tape.ops if isinstance(op, Loop)]
    return any(op.condition is not None for op in loops) and all(_is_short(op) for op in loops)


def _is_short(loop: Loop) -> bool:
    """Whether a loop has few instructions, and neither arrays nor loops inside; an adjoint may have some more."""
    most = TUNING.waiting_loop if loop.condition is not None else TUNING.waiting_adjoint
    bodies = [[op for op in body.ops if op not in SOURCES] for body in loop.bodies()]
    return all(len(ops) <= most and not any(isinstance(op, Structural) for op in ops) for ops in bodies)


@cache
def vector_bits() -> int:
    """The width of this processor's vectors."""
    features = host_features()
    if features.get("avx512f"):
        return 512
    if features.get("avx2"):
        return 256
    return 128


@cache
def host_features() -> dict[str, bool]:
    """What this processor can do, by LLVM's names."""
    binding = llvm()
    return worker.in_llvm(lambda: dict(binding.get_host_cpu_features()))


@cache
def host_name() -> str:
    """The name of this processor, in LLVM."""
    binding = llvm()
    return worker.in_llvm(lambda: str(binding.get_host_cpu_name()))


@cache
def llvm() -> Any:
    """llvmlite's binding, ready for this machine; a clear error where it is missing.

    Its functions are called by worker.in_llvm alone, and it is imported there too: see worker.py.
    """
    return worker.in_llvm(_import)


def _import() -> Any:
    try:
        from micrograd import _engine
    except ImportError:
        raise CompileError(f"compiling needs the C engine, which was not built\n  {install.native_way_out()}") from None
    try:
        import llvmlite
        import llvmlite.binding as binding
    except (ImportError, OSError) as reason:
        raise CompileError(install.why_not("compiling", "llvmlite", reason, "jit")) from None
    if binding.llvm_version_info[0] < 20:  # LLVM 15 reads neither `ptr` nor `memory(none)` nor `splat`
        raise CompileError(
            f"compiling needs llvmlite 0.45 or newer, and this is {llvmlite.__version__}, which has an older LLVM\n"
            f"  Upgrade it with: {install.command('jit')} (with numba, that needs numba 0.62 or newer)"
        )
    if hasattr(os, "register_at_fork"):  # what it holds where another thread, as one of numba, is inside of it
        lock: Any = getattr(getattr(binding.ffi.lib, "_lock", None), "_lock", None)
        if hasattr(lock, "_at_fork_reinit"):
            os.register_at_fork(after_in_child=lock._at_fork_reinit)
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    if vector_functions() is not None:
        binding.load_library_permanently("libmvec.so.1")
    for name in ("mod", "floordiv", "pause", "alloc", "free", "enter"):
        binding.add_symbol(f"mg_{name}", getattr(_engine, f"{name}_address"))
    return binding


@cache
def fuses() -> bool:
    """Whether this processor has an instruction for a·b + c, rounded once."""
    return platform.machine() in ("arm64", "aarch64") or bool(host_features().get("fma"))


@cache
def host_features_text() -> str:
    """The same, as a text."""
    return ",".join(name for name, there in sorted(host_features().items()) if there)


@dataclass(frozen=True)
class LoadedCode:
    """Machine code of one kernel, which is in memory as long as LLVM's engine is."""

    engine: Any
    address: int
    scratch: int  # how many bytes of memory it needs
    left: bool  # whether it may be left in the middle of a run


def target_machine(level: int, bits: int) -> Any:
    """LLVM's model of this processor, with vectors of so many bits."""
    binding = llvm()
    features = binding.get_host_cpu_features()
    if bits < 512:
        for name in list(features):
            if name.startswith("avx512") or name == "evex512":
                features[name] = False
    if bits < 256:  # fused multiply-adds stay: what is fused does not depend on the width of vectors
        features["avx2"] = False
    return binding.Target.from_default_triple().create_target_machine(
        cpu=binding.get_host_cpu_name(), features=features.flatten(), opt=level, jit=True
    )


@cache
def _compiler(level: int, bits: int) -> tuple[Any, Any, Any]:
    """What makes machine code: the model of the processor, and the passes before it. It is kept, for llvmlite never frees
    all of a pass manager, and a model that has compiled holds 0.7 MB.

    All of LLVM's O2 gives the same bits and takes as long to run, for loops over rows and their gradients (Newton's method,
    a logistic map, a `while`: within what the measurement varies by), and compiles them 10 to 30 % more slowly.
    """
    binding = llvm()
    machine = target_machine(level, bits)
    builder = binding.create_pass_builder(machine, binding.create_pipeline_tuning_options(speed_level=0))
    manager = binding.create_new_module_pass_manager()
    manager.add_instruction_combine_pass()
    worker.keep((machine, manager, builder))
    return machine, manager, builder


def compile_text(source: str, scratch: int, target: Target, level: int = 2, entry: str = "kernel") -> LoadedCode:
    """Machine code from IR: out of the cache on disk where it was made before."""
    llvm()
    _provide(source)
    bits = target.bits

    def job() -> tuple[worker.Freed, dict[str, int]]:
        return loaded(kept_code(source, lambda: _object_file(source, bits, level), str(level), str(bits)), (entry,))

    engine, addresses = worker.in_llvm(job)
    left = "@mg_pause" in source or "@mg_alloc" in source
    return LoadedCode(engine, addresses[entry], scratch, left)


def kept_code(source: str, make: Callable[[], bytes], *how: str) -> bytes:
    """The object file of a text: out of the cache on disk where it was made before in the same way on this processor."""
    version = ".".join(map(str, llvm().llvm_version_info))
    key = cache_file.name(source, version, host_name(), host_features_text(), *how)
    code = cache_file.load(key)
    if code is None:
        code = make()
        cache_file.save(key, code)
    return code


def compile_glue(source: str, entry: str, words: dict[str, int] | None = None) -> tuple[int, worker.Freed]:
    """The address of the function in a short text that calls other code, and what holds it; from the disk where it is there.

    `words` are 64-bit variables of the text, as the addresses of what it calls, which are other ones in each process.
    """
    words = words or {}

    def made() -> bytes:
        with llvm().parse_assembly(source) as module:
            module.verify()
            code: bytes = target_machine(1, vector_bits()).emit_object(module)
        return code

    def job() -> tuple[int, worker.Freed]:
        engine, addresses = loaded(kept_code(source, made, "glue", str(vector_bits())), (entry,), tuple(words))
        for name, value in words.items():
            ctypes.c_int64.from_address(addresses[name]).value = value
        return addresses[entry], engine

    return worker.in_llvm(job)


_PROVIDED = re.compile(r"^declare .* @(mg_(\w+)_(\d+)_(\d+))\(", re.MULTILINE)
_functions: dict[str, LoadedCode] = {}  # elementary functions over vectors that texts have asked for; they stay


def provided(function: str, width: int, bits: int) -> str:
    """Return the name under which a text declares an elementary function over vectors, and compile_text provides it."""
    return f"mg_{function}_{width}_{bits}"


def _provide(source: str) -> None:
    """Compile the elementary functions that a text declares, each of them once: most kernels are shorter than these."""
    for name, function, width, bits in _PROVIDED.findall(source):
        if name not in _functions:
            texts = functions.needed(function, int(width))
            head = f"define internal <{width} x double> @{symbol(function, int(width))}("
            text = "\n".join(texts).replace(head, f"define <{width} x double> @kernel(")
            code = compile_text(text, 0, Target(int(width), bits=int(bits)))
            worker.in_llvm(functools.partial(llvm().add_symbol, name, code.address))
            _functions[name] = code


def _object_file(source: str, bits: int, level: int) -> bytes:
    """An object file from IR."""
    worker.note_text(len(source))
    machine, manager, builder = _compiler(level, bits)
    try:
        module = llvm().parse_assembly(source)
        module.verify()
    except RuntimeError as reason:
        raise CompileError(
            f"LLVM rejected the generated code: {reason}\n  This is a bug in micrograd; please report it."
        ) from None
    with module:
        if level > 0:
            manager.run(module, builder)
        code: bytes = machine.emit_object(module)
    return code


def loaded(
    code: bytes, entries: tuple[str, ...], variables: tuple[str, ...] = ()
) -> tuple[worker.Freed, dict[str, int]]:
    """Return what holds an object file in memory, and the addresses of its functions and variables.

    The engine has a model of its own, of which it takes possession, and which compiles nothing.
    """
    binding = llvm()
    machine = binding.Target.from_default_triple().create_target_machine(jit=True)
    engine = binding.create_mcjit_compiler(binding.parse_assembly(""), machine)
    engine.add_object_file(binding.ObjectFileRef.from_data(code))
    engine.finalize_object()
    addresses = {name: engine.get_function_address(name) for name in entries}
    return worker.Freed(engine), addresses | {name: engine.get_global_value_address(name) for name in variables}
