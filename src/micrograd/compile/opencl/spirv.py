"""SPIR-V, the language of OpenCL's devices, from LLVM text: by llvmlite alone, on any machine."""

from __future__ import annotations

import subprocess
import sys

from micrograd.compile import cache as cache_file
from micrograd.compile.llvm import build
from micrograd.errors import CompileError

TRIPLE = "spirv64v1.2-unknown-unknown"  # which runtimes of OpenCL 2.2 and newer read

# What a process of its own runs. A process that has written one module of SPIR-V writes some of the next ones wrong (LLVM 22: a
# module in fifteen lacks types that an earlier one had). And of the level 0: at higher ones, (i << 3) & 24 became i << 3.
WRITER = """
import sys
sys.path[:] = {path}
from llvmlite import binding
binding.initialize_all_targets()
binding.initialize_all_asmprinters()
module = binding.parse_assembly(sys.stdin.read())
module.verify()
machine = binding.Target.from_triple({triple!r}).create_target_machine(opt=0)
options = binding.create_pipeline_tuning_options(speed_level=2)
options.loop_unrolling = options.loop_vectorization = options.slp_vectorization = False
builder = binding.create_pass_builder(machine, options)
builder.getModulePassManager().run(module, builder)
sys.stdout.buffer.write(machine.emit_object(module))
"""


def from_llvm(source: str) -> bytes:
    """Return the SPIR-V of a module: out of the cache on disk where it was made before."""
    version = ".".join(map(str, build.llvm().llvm_version_info))
    key = cache_file.name(source, version, TRIPLE, "0", "spirv in a process")
    kept = cache_file.load(key)
    if kept is not None:
        return kept
    writer = WRITER.format(path=sys.path, triple=TRIPLE)
    done = subprocess.run([sys.executable, "-c", writer], input=source.encode(), capture_output=True)
    if done.returncode or not done.stdout:
        said = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
        raise CompileError(
            f"LLVM wrote no SPIR-V: {' '.join(said) or f'its process ended with {done.returncode}'}\n"
            "  It needs an llvmlite with SPIR-V, such as the wheels since 0.45 on the Python Package Index. With one of these, "
            "this is a bug in micrograd; please report it."
        )
    cache_file.save(key, done.stdout)
    return done.stdout
