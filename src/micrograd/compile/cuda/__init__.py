"""The CUDA backend: LLVM text from a tape, PTX from the text by llvmlite, run by NVIDIA's driver. No toolkit is needed."""

from __future__ import annotations

from typing import Any

from micrograd.compile import backend as backends
from micrograd.compile.backend import KernelSource
from micrograd.compile.cuda import device_array as device_array
from micrograd.compile.cuda import driver as driver
from micrograd.compile.cuda import ptx
from micrograd.compile.device import kernels
from micrograd.compile.device.offload import DeviceBackend


class Cuda(DeviceBackend):
    """The backend of vmap(f, device="cuda")."""

    name = "cuda"
    dialect = kernels.PTX

    def translated(self, source: str) -> str:
        """The PTX of LLVM text."""
        return ptx.from_llvm(source)

    def shown(self, source: str) -> str:
        """PTX."""
        return ptx.from_llvm(source)

    def _code(self, text: KernelSource) -> str:
        return text.source

    def device(self, number: int) -> Any:
        """A GPU by its number."""
        return driver.device(number)


CUDA = Cuda()
number_of = CUDA.number_of
backends.register(CUDA)
