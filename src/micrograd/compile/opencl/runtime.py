"""Devices of OpenCL, by pyopencl: memory, programs of SPIR-V, launches."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import Any
from weakref import WeakValueDictionary

from micrograd import install
from micrograd.compile.device.kernels import THREADS
from micrograd.compile.device.rows import OutOfDeviceMemory
from micrograd.errors import CompileError


@cache
def _opencl() -> Any:
    try:
        return import_module("pyopencl")
    except ImportError:
        raise CompileError(
            'device="opencl" needs pyopencl, which is not installed\n'
            f"  {install.command_for('pyopencl')}\n"
            "  and a runtime of OpenCL: that of your GPU's driver, intel-opencl-rt (pip) or pocl-opencl-icd (apt)."
        ) from None


@cache
def devices() -> list[Any]:
    """All devices of this machine that compute in double precision, those of GPUs first."""
    cl = _opencl()
    try:
        found = [device for platform in cl.get_platforms() for device in platform.get_devices()]
    except cl.Error as reason:
        raise CompileError(
            f'device="opencl": no runtime of OpenCL was found ({reason})\n'
            "  Install that of your GPU's driver, or one for CPUs: intel-opencl-rt (pip) or pocl-opencl-icd (apt)."
        ) from None
    able = [device for device in found if device.double_fp_config and "SPIR-V" in getattr(device, "il_version", "")]
    if not able:
        names = ", ".join(device.name.strip() for device in found) or "there are none"
        raise CompileError(
            f'device="opencl": no device computes in double precision and reads SPIR-V ({names})\n'
            "  Install another runtime, such as intel-opencl-rt (pip), or run it on the CPU, without device=."
        )
    return sorted(able, key=lambda device: not device.type & cl.device_type.GPU)


class OpenCLMemory:
    """Some memory of a device."""

    def __init__(self, buffer: Any) -> None:
        self.buffer = buffer

    def free(self) -> None:
        """Give it back, as soon as the kernels that use it are done."""
        self.buffer.release()


class OpenCLDevice:
    """One device, with a context and a queue in which everything is done in order."""

    def __init__(self, number: int) -> None:
        self.cl, able = _opencl(), devices()
        if number >= len(able):
            raise CompileError(
                f'device="opencl:{number}": this machine has {len(able)} such device{"s" if len(able) != 1 else ""}, '
                "numbered from 0"
            )
        self.device = able[number]
        self.context = self.cl.Context([self.device])
        self.queue = self.cl.CommandQueue(self.context)
        self._building = threading.Lock()
        self._programs: WeakValueDictionary[bytes, Any] = WeakValueDictionary()  # by their code

    def name(self) -> str:
        """What the runtime calls it."""
        return str(self.device.name).strip()

    def load(self, code: bytes) -> Any:
        """Build a module of SPIR-V, one at a time: compilers of runtimes are not all made for several threads."""
        with self._building:
            found = self._programs.get(code)
            if found is not None:
                return found
            try:
                with warnings.catch_warnings():  # runtimes print that they have compiled something
                    warnings.simplefilter("ignore", self.cl.CompilerWarning)
                    found = self.cl.Program(self.context, code).build()
            except self.cl.Error as reason:
                raise CompileError(f"the device's compiler refused a kernel: {reason}") from None
            self._programs[code] = found
            return found

    def allocate(self, size: int) -> OpenCLMemory:
        """Take so many bytes of memory."""
        with self._telling(f"{size:,} bytes of device memory were asked for"):
            return OpenCLMemory(self.cl.Buffer(self.context, self.cl.mem_flags.READ_WRITE, max(8, size)))

    def origin(self, memory: OpenCLMemory) -> int:
        """Kernels are given memory itself, so that columns count from its beginning."""
        return 0

    def write(self, memory: OpenCLMemory, array: Any, offset: int = 0) -> None:
        """Copy a contiguous array into memory."""
        if array.nbytes:
            with self._telling("numbers could not be copied to the device"):
                self.cl.enqueue_copy(self.queue, memory.buffer, array, dst_offset=offset)

    def read(self, array: Any, memory: OpenCLMemory, offset: int = 0) -> None:
        """Wait for what was begun, and copy memory into a contiguous array."""
        with self._telling("numbers could not be copied from the device"):
            self.cl.enqueue_copy(self.queue, array, memory.buffer, src_offset=offset)

    def prepare(self, module: Any, kernel: str, count: int, arguments: Sequence[Any]) -> Callable[..., None]:
        """What starts a kernel in at least so many threads, with a tuple of floats in place of the last arguments."""
        import numpy as np

        made, first = self.cl.Kernel(module, kernel), len(arguments)
        for place, x in enumerate(arguments):
            given = np.int64(x) if isinstance(x, int) else np.float64(x) if isinstance(x, float) else x and x.buffer
            made.set_arg(place, given)
        threads, group = (-(-count // THREADS) * THREADS,), (THREADS,)

        def launch(last: tuple[float, ...] = ()) -> None:
            with self._telling("a kernel could not be started"):
                for place, number in enumerate(last, first - len(last)):
                    made.set_arg(place, np.float64(number))
                self.cl.enqueue_nd_range_kernel(self.queue, made, threads, group)

        return launch

    def wait(self) -> None:
        """Wait until all that was asked for is done."""
        self.queue.finish()

    def trim(self) -> None:
        """There is no memory that is kept for later."""

    def most_rows(self, kept: int, inputs: int) -> int:
        """How many rows there is room for, if each leaves `kept` bytes and `inputs` bytes of it are copied."""
        return int(self.device.max_mem_alloc_size // max(kept, inputs))

    @contextmanager
    def _telling(self, what: str) -> Iterator[None]:
        try:
            yield
        except self.cl.MemoryError as reason:
            raise OutOfDeviceMemory(f"{what}: the device is out of memory ({reason})") from None
        except self.cl.Error as reason:
            raise CompileError(f"{what}: the runtime of OpenCL says {reason}") from None


_lock = threading.Lock()
_devices: dict[int, OpenCLDevice] = {}


def device(number: int) -> OpenCLDevice:
    """A device by its number."""
    with _lock:
        found = _devices.get(number)
        if found is None:
            found = _devices[number] = OpenCLDevice(number)
        return found
