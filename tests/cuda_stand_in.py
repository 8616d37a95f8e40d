"""A stand-in for NVIDIA's driver: the functions that micrograd calls, with memory of this machine and launches on its CPU.

It checks what the real driver would check or punish: each address that is copied to or from lies in memory that was asked for
and not given back, kernels have the arguments that their text declares, and a thread works in a context.
"""

from __future__ import annotations

import ctypes
import threading
from typing import Any

import ptx_cpu

OUT_OF_MEMORY, INVALID_VALUE, NO_DEVICE, INVALID_CONTEXT, INVALID_PTX = 2, 1, 100, 201, 218
NAMES = {0: "CUDA_SUCCESS", 1: "CUDA_ERROR_INVALID_VALUE", 2: "CUDA_ERROR_OUT_OF_MEMORY", 100: "CUDA_ERROR_NO_DEVICE",
         201: "CUDA_ERROR_INVALID_CONTEXT", 218: "CUDA_ERROR_INVALID_PTX", 222: "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
         700: "CUDA_ERROR_ILLEGAL_ADDRESS"}  # fmt: skip


class StandIn:
    """The library: an object with the functions of libcuda."""

    def __init__(self, memory: int = 1 << 30, version: int = 12040, devices: int = 1, races: bool = False) -> None:
        self.races = races  # whether launches are searched for them
        self.memory, self.version, self.devices = memory, version, devices
        self.blocks: dict[int, Any] = {}  # address -> the memory there
        self.used = self.most_used = 0
        self.launches: list[str] = []
        self.modules: dict[int, Any] = {}
        self.functions: dict[int, tuple[Any, str]] = {}
        self.copied = self.fetched = 0  # bytes to the device, and from it
        self.fail: dict[str, int] = {}  # function -> the error that it gives
        self._here = threading.local()
        self._next = 1

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("cu") and name not in ("cuInit", "cuGetErrorName"):
            status = object.__getattribute__(self, "fail").get(name)
            if status is not None:
                return lambda *_: status
        return object.__getattribute__(self, name)

    def _number(self) -> int:
        self._next += 1
        return self._next

    def _lies_in_memory(self, address: int, size: int) -> bool:
        return any(a <= address and address + size <= a + len(block) for a, block in self.blocks.items())

    def cuInit(self, flags: int) -> int:
        return self.fail.get("cuInit", 0)

    def cuGetErrorName(self, status: int, to: Any) -> int:
        to._obj.value = NAMES.get(status, "CUDA_ERROR_UNKNOWN").encode()
        return 0

    def cuDriverGetVersion(self, to: Any) -> int:
        to._obj.value = self.version
        return 0

    def cuDeviceGetCount(self, to: Any) -> int:
        to._obj.value = self.devices
        return 0

    def cuDeviceGet(self, to: Any, number: int) -> int:
        to._obj.value = number
        return 0

    def cuDeviceGetName(self, to: Any, size: int, device: Any) -> int:
        to.value = b"a stand-in"
        return 0

    def cuDevicePrimaryCtxRetain(self, to: Any, device: Any) -> int:
        to._obj.value = 77
        return 0

    def cuCtxSetCurrent(self, context: Any) -> int:
        assert context.value == 77
        self._here.context = True
        return 0

    def _outside(self) -> bool:
        return not getattr(self._here, "context", False)

    def cuCtxSynchronize(self) -> int:
        return INVALID_CONTEXT if self._outside() else 0

    def cuMemGetInfo_v2(self, free: Any, total: Any) -> int:
        free._obj.value, total._obj.value = self.memory - self.used, self.memory
        return 0

    def cuMemAlloc_v2(self, to: Any, size: Any) -> int:
        if self._outside():
            return INVALID_CONTEXT
        if size.value == 0:
            return INVALID_VALUE
        if self.used + size.value > self.memory:
            return OUT_OF_MEMORY
        block = (ctypes.c_char * (size.value)).from_buffer(bytearray(b"\xa5" * size.value))
        address = ctypes.addressof(block)
        self.blocks[address] = block
        self.used += size.value
        self.most_used = max(self.most_used, self.used)
        to._obj.value = address
        return 0

    def cuMemFree_v2(self, address: Any) -> int:
        if self._outside():
            return INVALID_CONTEXT
        self.used -= len(self.blocks.pop(address.value))
        return 0

    def cuMemcpyHtoD_v2(self, to: Any, at: Any, size: Any) -> int:
        if self._outside():
            return INVALID_CONTEXT
        if not self._lies_in_memory(to.value, size.value):
            return INVALID_VALUE
        ctypes.memmove(to.value, at.value, size.value)
        self.copied += size.value
        return 0

    def cuMemcpyDtoH_v2(self, to: Any, at: Any, size: Any) -> int:
        if self._outside():
            return INVALID_CONTEXT
        if not self._lies_in_memory(at.value, size.value):
            return INVALID_VALUE
        ctypes.memmove(to.value, at.value, size.value)
        self.fetched += size.value
        return 0

    def cuModuleLoadDataEx(self, to: Any, text: Any, count: int, options: Any, values: Any) -> int:
        if self._outside():
            return INVALID_CONTEXT
        number = self._number()
        try:
            self.modules[number] = ptx_cpu.Module(text.value.decode(), self.races)
        except ptx_cpu.UnknownInstruction as reason:
            message = f"unknown instruction: {reason}".encode()[:8000]
            ctypes.memmove(values[0], message, len(message))
            return INVALID_PTX
        to._obj.value = number
        return 0

    def cuModuleUnload(self, module: Any) -> int:
        del self.modules[module.value]
        return 0

    def cuModuleGetFunction(self, to: Any, module: Any, name: bytes) -> int:
        number = self._number()
        self.functions[number] = self.modules[module.value], name.decode()
        to._obj.value = number
        return 0

    def cuLaunchKernel(
        self, function: Any, x: int, y: int, z: int, threads: int, ty: int, tz: int, shared: int, stream: Any,
        arguments: Any, extra: Any,
    ) -> int:  # fmt: skip
        if self._outside():
            return INVALID_CONTEXT
        assert (y, z, ty, tz, shared) == (1, 1, 1, 1, 0)
        if not 0 < x < 2**31:
            return INVALID_VALUE
        module, name = self.functions[function.value]
        sizes = module.kernels[name].sizes
        assert len(arguments) == len(sizes)
        module.launch(name, x, threads, [ctypes.string_at(a, size) for a, size in zip(arguments, sizes)])
        self.launches.append(name)
        return 0
