"""PTX, the assembly language of NVIDIA's GPUs, from LLVM text: by llvmlite alone, on any machine."""

from __future__ import annotations

from functools import cache
from typing import Any

from micrograd.compile import cache as cache_file
from micrograd.compile import worker
from micrograd.compile.llvm import build
from micrograd.errors import CompileError

PROCESSOR, FEATURES = "sm_70", "+ptx70"  # what the driver translates for every GPU since Volta; drivers since CUDA 11.0


@cache
def _target() -> Any:
    """LLVM's description of NVIDIA's GPUs."""
    binding = build.llvm()
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    try:
        return binding.Target.from_triple("nvptx64-nvidia-cuda")
    except RuntimeError as reason:
        raise CompileError(
            f"this llvmlite was built without NVIDIA's GPUs: {reason}\n"
            "  The wheels on the Python Package Index have them: install llvmlite with pip."
        ) from None


def from_llvm(source: str) -> str:
    """Return the PTX of a module: out of the cache on disk where it was made before."""
    binding = build.llvm()
    version = ".".join(map(str, binding.llvm_version_info))
    key = cache_file.name(source, version, PROCESSOR, FEATURES, "3", "ptx")
    kept = cache_file.load(key)
    if kept is not None:
        return kept.decode()

    def job() -> str:
        text = _text(binding, source)
        cache_file.save(key, text.encode())
        return text

    return worker.in_llvm(job)


def _text(binding: Any, source: str) -> str:
    """The PTX of a module, made on the thread that calls LLVM."""
    worker.note_text(len(source))
    target = _target()
    try:
        module = binding.parse_assembly(source)
        module.verify()
    except RuntimeError as reason:
        raise CompileError(
            f"LLVM rejected the generated code: {reason}\n  This is a bug in micrograd; please report it."
        ) from None
    machine = target.create_target_machine(cpu=PROCESSOR, features=FEATURES, opt=3)
    options = binding.create_pipeline_tuning_options(speed_level=3)
    options.loop_unrolling = False  # a loop stays a loop: unrolled, it takes registers that a GPU does not have
    builder = binding.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    text: str = machine.emit_assembly(module)
    return text
