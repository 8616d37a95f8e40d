"""Run the kernels of a tape on a device of OpenCL, over the rows of arrays; see RowsCode in compile/backend.py."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Any
from weakref import WeakValueDictionary

from micrograd import install
from micrograd.compile.backend import BLOCK, SEGMENT
from micrograd.compile.cuda.kernels import THREADS, Layout, lanes
from micrograd.engine import Value
from micrograd.errors import CompileError

MOST_SCRATCH = 1 << 29  # bytes for what rows leave before it is summed; more rows are done in slices


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

    def filled(self, array: Any) -> Any:
        """Memory with a copy of an array."""
        flags = self.cl.mem_flags.READ_ONLY | self.cl.mem_flags.COPY_HOST_PTR
        return self.cl.Buffer(self.context, flags, hostbuf=array)

    def room(self, size: int) -> Any:
        """Memory of so many bytes."""
        return self.cl.Buffer(self.context, self.cl.mem_flags.READ_WRITE, max(8, size))

    def launch(self, kernel: Any, count: int, *arguments: Any) -> None:
        """Run a kernel in so many threads at least."""
        kernel(self.queue, (-(-count // THREADS) * THREADS,), (THREADS,), *arguments)

    def read(self, array: Any, memory: Any, offset: int = 0) -> None:
        """Wait for what was begun, and copy memory into an array."""
        self.cl.enqueue_copy(self.queue, array, memory, src_offset=offset)


_lock = threading.Lock()
_devices: dict[int, OpenCLDevice] = {}


def device(number: int) -> OpenCLDevice:
    """A device by its number."""
    with _lock:
        found = _devices.get(number)
        if found is None:
            found = _devices[number] = OpenCLDevice(number)
        return found


class OpenCLRows:
    """The kernels of a tape, which a device gets when they are run for the first time."""

    def __init__(self, code: bytes, plan: Layout, guarded: bool, reduced: bool, number: int) -> None:
        self.code, self.plan, self.guarded, self.reduced, self.number = code, plan, guarded, reduced, number
        self._program: Any = None
        self._lock = threading.Lock()

    def run(
        self, arrays: tuple[Any, ...], axes: tuple[int, ...], uniform: Any, rows: int, outs: list[Any], threads: int,
        blocks: Any = None,
    ) -> tuple[Any, list[float]]:  # fmt: skip
        """Run rows; see backend.RowsCode. A batch that is too large for the device is run slice by slice."""
        import numpy as np

        with self._lock:  # one call at a time
            here = device(self.number)
            if self._program is None:
                self._program = here.load(self.code)
            sums = np.zeros((-(-rows // BLOCK), len(self.plan.left) if self.reduced else 0))
            bad = np.zeros(rows, np.uint8) if self.guarded else None
            start, most = 0, self._rows_at_once(here, arrays, axes, rows)
            while start < rows:
                stop = min(rows, start + most)
                part = [a[(slice(None),) * axis + (slice(start, stop),)] for a, axis in zip(arrays, axes)]
                to = [out[start:stop] for out in outs]
                of_blocks = sums[start // BLOCK : -(-stop // BLOCK)]
                try:
                    self._slice(
                        here, part, axes, uniform, stop - start, to, of_blocks, None if bad is None else bad[start:stop]
                    )
                except here.cl.MemoryError:
                    if most <= BLOCK:
                        raise MemoryError(
                            f"{stop - start:,} rows do not fit into the device's memory, although the batch was cut into slices"
                        ) from None
                    most = max(BLOCK, most // 2 // BLOCK * BLOCK)
                    continue
                start = stop
        if blocks is not None:
            blocks[:] = sums
        failed = None if bad is None or not bad.any() else np.flatnonzero(bad)
        total = np.add.accumulate(np.concatenate([np.zeros((1, sums.shape[1])), sums]), axis=0)[-1]  # in their order
        return failed, total.tolist()

    def _kernel(self, name: str) -> Any:
        return _opencl().Kernel(self._program, name)

    def _rows_at_once(self, here: OpenCLDevice, arrays: Sequence[Any], axes: Sequence[int], rows: int) -> int:
        """How many rows to run at once, a multiple of a block."""
        kept = len(self.plan.tape.outputs) * self.plan.item + 1
        inputs: int = sum(a.size // a.shape[axis] for a, axis in zip(arrays, axes)) * self.plan.item
        most = min(rows, MOST_SCRATCH // kept, here.device.max_mem_alloc_size // max(kept, inputs))
        return int(max(BLOCK, most if most == rows else most // BLOCK * BLOCK))

    def _slice(
        self, here: OpenCLDevice, arrays: Sequence[Any], axes: Sequence[int], uniform: Any, rows: int, outs: list[Any],
        sums: Any, bad: Any,
    ) -> None:  # fmt: skip
        """Run some rows, from the first one of a block on."""
        import numpy as np

        plan, kind, call = self.plan, np.dtype("f4" if self.plan.item == 4 else "f8"), np.int64
        numbers = [x.data if isinstance(x, Value) else float(x) for x in uniform]
        params = here.filled(np.array(numbers or [0.0], kind))
        pieces, tables, begin = [], [], 0
        for array, axis in zip(arrays, axes):
            host = np.ascontiguousarray(array, kind)
            offsets = np.zeros((), np.int64)
            shape, strides = host.shape, host.strides
            for n, stride in zip(shape[:axis] + shape[axis + 1 :], strides[:axis] + strides[axis + 1 :]):
                offsets = offsets[..., None] + np.arange(n, dtype=np.int64) * stride
            table = np.empty((offsets.size, 2), np.int64)
            table[:, 0], table[:, 1] = begin + offsets.ravel(), strides[axis]
            begin += host.nbytes
            tables.append(table)
            pieces.append(host.ravel())
        columns = here.filled(np.concatenate(tables) if tables else np.zeros((1, 2), np.int64))
        data = here.filled(np.concatenate(pieces) if begin else np.zeros(1, kind))
        out, flags = here.room(len(plan.tape.outputs) * rows * plan.item), here.room(rows)
        here.launch(self._kernel("rows"), rows, params, columns, call(rows), out, call(rows), flags, data)
        if bad is not None:
            here.read(bad, flags)
        if not self.reduced:
            for k, array in enumerate(outs):
                here.read(array, out, k * rows * plan.item)
            here.queue.finish()
            return
        segments = -(-rows // SEGMENT)
        in_lanes = segments * sums.shape[1] * lanes(plan)
        parts, to = here.room(in_lanes * plan.item), here.room(sums.nbytes)
        here.launch(
            self._kernel("lanes"), in_lanes, out, call(rows), flags, call(rows), call(in_lanes), parts
        )  # fmt: skip
        here.launch(self._kernel("halves"), sums.size, parts, call(segments), call(sums.size), to)
        here.read(sums, to)
