"""The OpenCL backend: the LLVM text of the CUDA backend as SPIR-V, by llvmlite, run by any runtime of OpenCL (pyopencl)."""

from __future__ import annotations

from typing import Any

from micrograd.compile import backend as backends
from micrograd.compile.device import kernels
from micrograd.compile.device.offload import DeviceBackend
from micrograd.compile.opencl import runtime, spirv


class OpenCL(DeviceBackend):
    """The backend of vmap(f, device="opencl")."""

    name = "opencl"
    dialect = kernels.SPIRV

    def translated(self, source: str) -> bytes:
        """The SPIR-V of LLVM text."""
        return spirv.from_llvm(source)

    def device(self, number: int) -> Any:
        """A device by its number."""
        return runtime.device(number)


OPENCL = OpenCL()
number_of = OPENCL.number_of
backends.register(OPENCL)
