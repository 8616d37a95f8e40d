"""What NVIDIA's assembler makes of our PTX, on a machine without a GPU: registers, stack, spills, and no instruction fused.

    make ptxas

The kernels are those of benchmarks/gpu.py, for each generation of GPUs that the assembler knows. ptxas and nvdisasm come from
the wheels nvidia-cuda-nvcc and nvidia-cuda-nvdisasm. It fails where a kernel is refused, where one spills or takes more of its
stack than the numbers below, measured with ptxas 13.5, and where a product and a sum are fused that are not on the tape.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

import numpy as np

import gpu
from micrograd import vmap

GENERATIONS = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")
# The most bytes of stack and of spilled registers that the rows of a workload may take, in any generation. The loop of lorenz
# stores three numbers in each of 1,000 iterations; those of the others carry their tangents.
MOST = {
    "asian": (0, 0),
    "asian, forward by hand": (0, 0),
    "barrier": (8, 4),
    "lorenz": (24000, 0),
    "network": (0, 0),
}


def tool(name: str) -> str:
    """Return the path of a tool of the wheels, or of one that is installed."""
    folders = [*Path(sysconfig.get_paths()["purelib"]).glob("nvidia/*/bin")]
    found = next((str(f / name) for f in folders if (f / name).exists()), None) or shutil.which(name)
    if found is None:
        raise SystemExit(f"{name} was not found: `make ptxas` installs it")
    return found


def assembled(text: str, generation: str, folder: str) -> tuple[str, Path]:
    """Assemble PTX; return what ptxas says of it, and the machine code."""
    source, code = Path(folder) / "kernel.ptx", Path(folder) / "kernel.cubin"
    source.write_text(text)
    how = [tool("ptxas"), "-v", f"-arch={generation}", str(source), "-o", str(code)]
    done = subprocess.run(how, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"ptxas refused a kernel for {generation}:\n{done.stderr}")
    return done.stderr, code


def numbers_of(said: str) -> tuple[int, int, int]:
    """Return the registers of the rows' kernel, the bytes of its stack, and those it spills."""
    part = next(part for part in said.split("Compiling entry function") if part.startswith(" 'rows'"))
    patterns = (r"Used (\d+) registers", r"(\d+) bytes stack", r"(\d+) bytes spill stores")
    registers, stack, spilled = (int(m[1]) if (m := re.search(p, part)) else 0 for p in patterns)
    return registers, stack, spilled


def fused(f: Callable[..., Any], generation: str, folder: str) -> tuple[int, int]:
    """Count the products, and the fused instructions, in the machine code of a function of three numbers, with exact=True."""
    columns = [np.linspace(0.0, 1.0, 99)] * 3
    text = vmap(f, exact=True, device="cuda").source(*columns)
    _, code = assembled(text, generation, folder)
    done = subprocess.run([tool("nvdisasm"), "-c", str(code)], capture_output=True, text=True, check=True)
    return len(re.findall(r"\bDMUL\b", done.stdout)), len(re.findall(r"\bDFMA\b", done.stdout))


def main() -> int:
    """Print a line for each workload and generation; return 1 where a number is too high."""
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, (f, args, how) in gpu.workloads(3000).items():
            text = vmap(f, device="cuda", **how).source(*args)
            for generation in GENERATIONS:
                registers, stack, spilled = numbers_of(assembled(text, generation, folder)[0])
                bad = stack > MOST[name][0] or spilled > MOST[name][1]
                wrong += bad
                print(
                    f"{name:24} {generation:7} registers {registers:4} stack {stack:6} spilled {spilled:6}"
                    f"{'   too many' if bad else ''}",
                    flush=True,
                )
        for generation in GENERATIONS:
            products, joined = fused(lambda x, y, z: (x * y + z) * y - x * z, generation, folder)
            wrong += products != 3 or joined != 0
            print(f"{'x*y + z, exact':24} {generation:7} products {products} fused {joined}", flush=True)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
