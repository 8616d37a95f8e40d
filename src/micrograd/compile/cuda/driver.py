"""NVIDIA's driver, by ctypes: memory of a device, modules of PTX, launches. No toolkit is needed, and no other package.

The context is the primary one of the device, which PyTorch, CuPy and JAX use too, so that their arrays can be read in place.
All work goes to the default stream, in the order in which it is asked for.
"""

from __future__ import annotations

import ctypes
import sys
import threading
import weakref
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from micrograd.compile.device.kernels import THREADS
from micrograd.compile.device.rows import OutOfDeviceMemory
from micrograd.errors import CompileError

OLDEST = 11000  # the driver's CUDA version from which it reads our PTX
OUT_OF_MEMORY, UNSUPPORTED_PTX, INVALID_PTX, NO_BINARY = 2, 222, 218, 209
ERROR_LOG, ERROR_LOG_SIZE = 5, 6  # options of cuModuleLoadDataEx
SHARE = 0.8  # of the device's free memory that one slice of rows may take
# Bytes of freed memory that are kept for later, since asking the driver for memory waits for the device; a large device keeps a
# thirty-second of its memory.
KEPT = 1 << 28

Pointer = ctypes.c_uint64


def _library() -> Any:
    """The driver's library."""
    names = ("nvcuda.dll",) if sys.platform == "win32" else ("libcuda.so.1", "libcuda.so")
    for name in names:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise CompileError(
        'device="cuda" needs the driver of an NVIDIA GPU, and there is none on this machine\n'
        "  Install NVIDIA's driver (nvidia-smi then shows the GPU), or run it on the CPU, without device=."
    )


class Driver:
    """The driver, ready for use. Every method raises an error that says what failed."""

    def __init__(self, library: Any) -> None:
        self.library = library
        status = library.cuInit(0)
        if status == 100:
            raise CompileError(
                'device="cuda": NVIDIA\'s driver is installed, but it finds no GPU\n'
                "  Is one built in, and not hidden by CUDA_VISIBLE_DEVICES? Else run it on the CPU, without device=."
            )
        self.check(status, "the driver does not start")
        version = ctypes.c_int()
        self.check(library.cuDriverGetVersion(ctypes.byref(version)), "the driver does not tell its version")
        self.version = version.value
        if self.version < OLDEST:
            raise CompileError(
                f'device="cuda" needs a driver for CUDA {OLDEST // 1000} or newer, and this one is for '
                f"{self.version // 1000}.{self.version % 1000 // 10}\n  Install a newer driver of NVIDIA's."
            )
        count = ctypes.c_int()
        self.check(library.cuDeviceGetCount(ctypes.byref(count)), "the driver does not count its devices")
        self.count = count.value

    def check(self, status: int, what: str) -> None:
        """Raise an error where a function of the driver failed."""
        if status == 0:
            return
        name = ctypes.c_char_p()
        self.library.cuGetErrorName(status, ctypes.byref(name))
        text = (name.value or b"an unknown error").decode()
        if status == OUT_OF_MEMORY:
            raise OutOfDeviceMemory(f"{what}: the device is out of memory ({text})")
        raise CompileError(f"{what}: NVIDIA's driver says {text} ({status})")


class DeviceMemory:
    """Some memory of a device, which is given back when this object is gone."""

    def __init__(self, device: CudaDevice, address: int, size: int) -> None:
        self.device, self.address, self.size = device, address, size
        self._end = weakref.finalize(self, device.release, address, size)
        self._end.atexit = False  # at exit, the driver may be gone before

    def free(self) -> None:
        """Give the memory back now."""
        self._end()


class Module:
    """A loaded module of PTX."""

    def __init__(self, device: CudaDevice, handle: Any) -> None:
        self.device, self.handle = device, handle
        self._functions: dict[str, Any] = {}
        self._end = weakref.finalize(self, device.unload, handle)
        self._end.atexit = False

    def function(self, name: str) -> Any:
        """A kernel of it."""
        found = self._functions.get(name)
        if found is None:
            found = ctypes.c_void_p()
            library = self.device.driver.library
            status = library.cuModuleGetFunction(ctypes.byref(found), self.handle, name.encode())
            self.device.driver.check(status, f"the module has no kernel {name}")
            self._functions[name] = found
        return found


class CudaDevice:
    """One GPU."""

    def __init__(self, driver: Driver, number: int) -> None:
        self.driver, self.number = driver, number
        self._kept: dict[int, list[int]] = {}  # size -> addresses of memory that is free
        self._kept_bytes = 0
        self._lock = threading.Lock()
        handle, context = ctypes.c_int(), ctypes.c_void_p()
        driver.check(driver.library.cuDeviceGet(ctypes.byref(handle), number), f"device {number} cannot be used")
        status = driver.library.cuDevicePrimaryCtxRetain(ctypes.byref(context), handle)
        driver.check(status, f"device {number} cannot be used")
        self.handle, self.context = handle, context
        self._keeps = KEPT

    def enter(self) -> None:
        """Make this thread work on this device."""
        self.driver.check(self.driver.library.cuCtxSetCurrent(self.context), "the device's context cannot be entered")

    def name(self) -> str:
        """What the driver calls it."""
        text = ctypes.create_string_buffer(256)
        self.driver.check(self.driver.library.cuDeviceGetName(text, 256, self.handle), "the device has no name")
        return text.value.decode()

    def free_bytes(self) -> int:
        """How much memory it has left, with what is kept for later."""
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        status = self.driver.library.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total))
        self.driver.check(status, "the device does not tell how much memory it has")
        self._keeps = max(KEPT, total.value // 32)
        return free.value + self._kept_bytes

    def allocate(self, size: int) -> DeviceMemory:
        """Take so many bytes of memory."""
        size = max(256, 1 << (size - 1).bit_length()) if size <= 1 << 20 else -(-size // (1 << 20)) * (1 << 20)
        with self._lock:
            free = self._kept.get(size)
            if free:
                self._kept_bytes -= size
                return DeviceMemory(self, free.pop(), size)
        try:
            return DeviceMemory(self, self._take(size), size)
        except OutOfDeviceMemory:
            if not self._kept_bytes:
                raise
        self.trim()
        return DeviceMemory(self, self._take(size), size)

    def _take(self, size: int) -> int:
        address = Pointer()
        status = self.driver.library.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size))
        self.driver.check(status, f"{size:,} bytes of device memory were asked for")
        return address.value

    def release(self, address: int, size: int) -> None:
        """Keep memory for later, or give it back to the driver."""
        with self._lock:
            if self._kept_bytes + size <= self._keeps:
                self._kept.setdefault(size, []).append(address)
                self._kept_bytes += size
                return
        self.enter()
        self.driver.library.cuMemFree_v2(Pointer(address))

    def trim(self) -> None:
        """Give back to the driver what is kept for later."""
        with self._lock:
            kept, self._kept, self._kept_bytes = self._kept, {}, 0
        for addresses in kept.values():
            for address in addresses:
                self.driver.library.cuMemFree_v2(Pointer(address))

    def unload(self, handle: Any) -> None:
        """Forget a module."""
        self.enter()
        self.driver.library.cuModuleUnload(handle)

    def upload(self, to: int, array: Any) -> None:
        """Copy a contiguous NumPy array to the device."""
        status = self.driver.library.cuMemcpyHtoD_v2(
            Pointer(to), ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes)
        )
        self.driver.check(status, "numbers could not be copied to the device")

    def download(self, array: Any, at: int) -> None:
        """Copy memory of the device into a contiguous NumPy array; waits for the kernels before."""
        status = self.driver.library.cuMemcpyDtoH_v2(
            ctypes.c_void_p(array.ctypes.data), Pointer(at), ctypes.c_size_t(array.nbytes)
        )
        self.driver.check(status, "numbers could not be copied from the device")

    def load(self, ptx: str) -> Module:
        """Translate PTX for this device, and load it."""
        handle, log = ctypes.c_void_p(), ctypes.create_string_buffer(8192)
        options = (ctypes.c_int * 2)(ERROR_LOG, ERROR_LOG_SIZE)
        values = (ctypes.c_void_p * 2)(ctypes.addressof(log), len(log))
        text = ctypes.create_string_buffer(ptx.encode())
        status = self.driver.library.cuModuleLoadDataEx(ctypes.byref(handle), text, 2, options, values)
        if status in (UNSUPPORTED_PTX, NO_BINARY):
            raise CompileError(
                f"the driver of {self.name()} cannot translate this code: the GPU is older than Volta (2017), or the driver "
                "is too old\n  Install a newer driver of NVIDIA's, or run it on the CPU, without device=."
            )
        if status == INVALID_PTX:
            raise CompileError(
                f"NVIDIA's driver rejected the generated code: {log.value.decode(errors='replace').strip()}\n"
                "  This is a bug in micrograd; please report it."
            )
        self.driver.check(status, "the code could not be loaded on the device")
        return Module(self, handle)

    def prepare(
        self, module: Module, kernel: str, count: int, arguments: Sequence[Any]
    ) -> Callable[..., None]:  # fmt: skip
        """What starts a kernel in at least so many threads, with a tuple of floats in place of the last arguments."""
        held = [_argument(x) for x in arguments]
        pointers = (ctypes.c_void_p * len(held))(*[ctypes.addressof(a) for a in held])
        function, blocks, start = module.function(kernel), -(-count // THREADS), self.driver.library.cuLaunchKernel
        check = self.driver.check

        def launch(last: tuple[float, ...] = ()) -> None:
            for place, x in zip(held[len(held) - len(last) :], last):
                place.value = x
            status = start(function, blocks, 1, 1, THREADS, 1, 1, 0, None, pointers, None)
            if status:
                check(status, "a kernel could not be started")

        return launch

    def origin(self, memory: DeviceMemory) -> int:
        """The address of memory."""
        return memory.address

    def write(self, memory: DeviceMemory, array: Any, offset: int = 0) -> None:
        """Copy a contiguous NumPy array into memory."""
        if array.nbytes:
            self.upload(memory.address + offset, array)

    def read(self, array: Any, memory: DeviceMemory, offset: int = 0) -> None:
        """Copy memory into a contiguous NumPy array; waits for the kernels before."""
        self.download(array, memory.address + offset)

    def most_rows(self, kept: int, inputs: int) -> int:
        """How many rows there is room for, if each leaves `kept` bytes and `inputs` bytes of it are copied."""
        return int(self.free_bytes() * SHARE) // (kept + inputs)

    def wait(self) -> None:
        """Wait until all that was asked for is done."""
        self.driver.check(self.driver.library.cuCtxSynchronize(), "a kernel failed on the device")


def _argument(x: Any) -> Any:
    """An argument of a kernel, as ctypes has it: memory, None for none, an int, a float, or bytes that are handed over."""
    if isinstance(x, bytes):
        return (ctypes.c_char * len(x)).from_buffer_copy(x)
    if isinstance(x, float):
        return ctypes.c_double(x)
    return ctypes.c_int64(x) if isinstance(x, int) else Pointer(0 if x is None else x.address)


_lock = threading.Lock()
_devices: dict[int, CudaDevice] = {}


@cache
def driver() -> Driver:
    """The driver of this machine; an error that says what is missing where there is none."""
    return Driver(_library())


def device(number: int) -> CudaDevice:
    """A GPU by its number, ready for this thread."""
    with _lock:
        found = _devices.get(number)
        if found is None:
            here = driver()
            if number >= here.count:
                raise CompileError(
                    f'device="cuda:{number}": this machine has {here.count} GPU{"s" if here.count != 1 else ""}, '
                    f"numbered from 0"
                )
            found = _devices[number] = CudaDevice(here, number)
    found.enter()
    return found
