"""LLVM: IR text to machine code, in this process, by llvmlite; and what is known of this processor."""

from __future__ import annotations

import ctypes
import platform
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

from micrograd import install
from micrograd.compile import cache as cache_file
from micrograd.compile import worker
from micrograd.compile.pipeline import Goal
from micrograd.compile.tuning import TUNING
from micrograd.errors import CompileError
from micrograd.tape.tape import SOURCES, Loop, Structural, Tape

_lock = threading.Lock()


def _after_fork() -> None:
    """Make a new lock after a fork: a thread of the parent process may have held the old one."""
    global _lock
    _lock = threading.Lock()


worker.after_fork(_after_fork)


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
    return dict(llvm().get_host_cpu_features())


@cache
def llvm() -> Any:
    """llvmlite's binding, ready for this machine; a clear error where it is missing."""
    try:
        from micrograd import _engine
    except ImportError:
        raise CompileError(f"compiling needs the C engine, which was not built\n  {install.native_way_out()}") from None
    try:
        import llvmlite
        import llvmlite.binding as binding
    except ImportError:
        raise CompileError(
            f"compiling needs llvmlite, which is not installed\n  Install it with: {install.command('jit')}"
        ) from None
    if binding.llvm_version_info[0] < 20:  # LLVM 15 reads neither `ptr` nor `memory(none)` nor `splat`
        raise CompileError(
            f"compiling needs llvmlite 0.45 or newer, and this is {llvmlite.__version__}, which has an older LLVM\n"
            f"  Upgrade it with: {install.command('jit')} (with numba, that needs numba 0.62 or newer)"
        )
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    if vector_functions() is not None:
        binding.load_library_permanently("libmvec.so.1")
    for name in ("mod", "floordiv", "pause", "alloc", "free"):
        binding.add_symbol(f"mg_{name}", getattr(_engine, f"{name}_address"))
    return binding


@cache
def host_features_text() -> str:
    """The same, as a text."""
    return ",".join(name for name, there in sorted(host_features().items()) if there)


@dataclass(frozen=True)
class Code:
    """Machine code of one kernel, which is in memory as long as LLVM's engine is."""

    engine: Any
    address: int
    scratch: int  # how many bytes of memory it needs
    left: bool  # whether it may be left in the middle of a run


def target_machine(level: int, bits: int) -> Any:
    """LLVM's model of this processor, with vectors of so many bits; a new one, since MCJIT takes possession of it."""
    binding = llvm()
    target = binding.Target.from_default_triple()
    features = binding.get_host_cpu_features()
    if bits < 512:
        for name in list(features):
            if name.startswith("avx512") or name == "evex512":
                features[name] = False
    if bits < 256:
        for name in ("avx", "avx2", "fma"):
            features[name] = False
    return target.create_target_machine(
        cpu=binding.get_host_cpu_name(), features=features.flatten(), opt=level, jit=True
    )


@contextmanager
def interrupted_later() -> Iterator[None]:
    """Keep a Ctrl-C until the end: an exception that is raised inside a callback of LLVM's would be printed and lost."""
    before = signal.getsignal(signal.SIGINT)
    came: list[Any] = []
    mine = threading.current_thread() is threading.main_thread() and callable(before)
    try:
        if mine:
            signal.signal(signal.SIGINT, lambda _, frame: came.append(frame))
    except ValueError:  # another interpreter than the main one
        mine = False
    try:
        yield
    finally:
        if mine:
            signal.signal(signal.SIGINT, before)
    if came and callable(before):
        before(signal.SIGINT, came[0])


def compile_text(source: str, scratch: int, target: Target, level: int = 2) -> Code:
    """Machine code from IR: out of the cache on disk where it was made before."""
    binding = llvm()
    version = ".".join(map(str, binding.llvm_version_info))
    key = cache_file.name(
        source, version, binding.get_host_cpu_name(), host_features_text(), str(level), str(target.bits)
    )
    kept = cache_file.load(key)
    try:
        with _lock:
            module = binding.parse_assembly(source)
            module.verify()
    except RuntimeError as reason:
        raise CompileError(
            f"LLVM rejected the generated code: {reason}\n  This is a bug in micrograd; please report it."
        ) from None
    machine = target_machine(level, target.bits)
    if kept is None and level > 0:
        builder = binding.create_pass_builder(machine, binding.create_pipeline_tuning_options(speed_level=0))
        manager = binding.create_new_module_pass_manager()
        manager.add_instruction_combine_pass()
        manager.run(module, builder)
    engine = binding.create_mcjit_compiler(module, machine)
    fresh: list[bytes] = []
    engine.set_object_cache(lambda _, code: fresh.append(code), lambda _: kept)
    with interrupted_later():
        engine.finalize_object()
    if kept is None and fresh:
        cache_file.save(key, fresh[0])
    left = "@mg_pause" in source or "@mg_alloc" in source
    return Code(engine, engine.get_function_address("kernel"), scratch, left)
