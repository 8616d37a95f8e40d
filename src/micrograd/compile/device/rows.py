"""Run the kernels of a tape on a device, over the rows of arrays; see compile/backend.py for what a RowsCode promises.

What a device can do is the Protocol `Device`: memory, copies, code, launches. NVIDIA's driver (cuda/driver.py) and OpenCL
(opencl/runtime.py) give that; all that is asked of a device happens in the order in which it is asked for.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from micrograd.compile.backend import BLOCK, SEGMENT
from micrograd.compile.device.kernels import Layout, lanes
from micrograd.engine import Value

MOST_SCRATCH = 1 << 29  # bytes for what rows leave before it is summed; more rows are done in slices


class OutOfDeviceMemory(MemoryError):
    """The device has not as much memory left as was asked for."""


class Room(Protocol):
    """Some memory of a device, which is given back when this object is gone, or before."""

    def free(self) -> None:
        """Give it back."""


class Device(Protocol):
    """A device, ready for this thread."""

    def allocate(self, size: int) -> Any:
        """Take so many bytes of memory."""

    def origin(self, memory: Any) -> int:
        """What columns in this memory count from: its address, or 0 where a kernel is given the memory itself."""

    def write(self, memory: Any, array: Any, offset: int = 0) -> None:
        """Copy a contiguous array into memory."""

    def read(self, array: Any, memory: Any, offset: int = 0) -> None:
        """Wait for what was begun, and copy memory into a contiguous array."""

    def load(self, code: Any) -> Any:
        """Make code ready to be launched."""

    def prepare(self, module: Any, kernel: str, count: int, arguments: Sequence[Any]) -> Callable[..., None]:
        """What starts a kernel in at least so many threads. Arguments are memory, None for none, ints, floats and bytes.

        It may be called again and again, with a tuple of floats in place of the last ones.
        """

    def wait(self) -> None:
        """Wait until all that was asked for is done."""

    def trim(self) -> None:
        """Give up memory that is kept for later."""

    def most_rows(self, kept: int, inputs: int) -> int:
        """How many rows there is room for, if each leaves `kept` bytes and `inputs` bytes of it are copied."""


class DeviceRows:
    """The kernels of a tape, which a device gets when they are run for the first time."""

    def __init__(
        self, backend: Any, code: Any, plan: Layout, guarded: bool, reduced: bool, device: Callable[[], Device],
        in_memory: Callable[[], Any],
    ) -> None:  # fmt: skip
        self.backend, self.code, self.plan, self.guarded, self.reduced = backend, code, plan, guarded, reduced
        self.device = device
        self.in_memory = in_memory  # the code with its tables in memory
        self._module: Any = None
        self._lock = threading.Lock()

    def module(self, device: Device) -> Any:
        """The kernels on a device."""
        with self._lock:
            if self._module is None:
                self._module = device.load(self.code)
            return self._module

    def run(
        self, arrays: tuple[Any, ...], axes: tuple[int, ...], uniform: Any, rows: int, outs: list[Any], threads: int,
        blocks: Any = None,
    ) -> tuple[Any, list[float]]:  # fmt: skip
        """Run rows; see backend.RowsCode. A batch that is too large for the device is run slice by slice.

        `outs` may be columns of a DeviceArray, one behind the other in memory: then results stay on the device.
        """
        import numpy as np

        device = self.device()
        call = Call(self, device, uniform)
        sums = np.zeros((-(-rows // BLOCK), len(self.plan.left) if self.reduced else 0))
        bad = np.zeros(rows, np.uint8) if self.guarded else None
        start, most = 0, self.rows_at_once(device, arrays, axes, rows)
        while start < rows:
            stop = min(rows, start + most)
            part = [_rows_of(a, axis, start, stop) for a, axis in zip(arrays, axes)]
            here = sums[start // BLOCK : -(-stop // BLOCK)]
            to = [out[start:stop] for out in outs]
            try:
                call.slice(part, axes, stop - start, to, here, None if bad is None else bad[start:stop])
            except OutOfDeviceMemory as reason:
                device.trim()
                if most <= BLOCK:
                    raise OutOfDeviceMemory(
                        f"{reason}\n  {stop - start:,} rows do not fit, although the batch was cut into slices. "
                        "Free memory of the device (other programs may hold it), or run it on the CPU, without device=."
                    ) from None
                most = max(BLOCK, most // 2 // BLOCK * BLOCK)
                continue
            start = stop
        if blocks is not None:
            blocks[:] = sums
        failed = None if bad is None or not bad.any() else np.flatnonzero(bad)
        total = np.add.accumulate(np.concatenate([np.zeros((1, sums.shape[1])), sums]), axis=0)[-1]  # in their order
        return failed, total.tolist()

    def rows_at_once(self, device: Device, arrays: Sequence[Any], axes: Sequence[int], rows: int) -> int:
        """How many rows to run at once, a multiple of a block."""
        kept = len(self.plan.tape.outputs) * self.plan.item + 1
        inputs: int = sum(a.size // a.shape[axis] for a, axis in zip(arrays, axes) if not on_device(a))
        most = min(rows, device.most_rows(kept, inputs * self.plan.item), MOST_SCRATCH // kept)
        return int(max(BLOCK, most if most == rows else most // BLOCK * BLOCK))


def on_device(array: Any) -> bool:
    """Whether an array is a DeviceArray."""
    return getattr(array, "on_device", False) is True


def _rows_of(array: Any, axis: int, start: int, stop: int) -> Any:
    """Some rows of an array, without a copy."""
    if start == 0 and stop == array.shape[axis]:
        return array
    return array[(slice(None),) * axis + (slice(start, stop),)]


def column_table(base: int, shape: tuple[int, ...], strides: tuple[int, ...], axis: int) -> Any:
    """Where the columns of an array begin, and how many bytes its rows are apart."""
    import numpy as np

    offsets = np.zeros((), np.int64)
    for n, stride in zip(shape[:axis] + shape[axis + 1 :], strides[:axis] + strides[axis + 1 :]):
        offsets = offsets[..., None] + np.arange(n, dtype=np.int64) * stride
    table = np.empty((offsets.size, 2), np.int64)
    table[:, 0], table[:, 1] = base + offsets.ravel(), strides[axis]
    return table


def numbers_of(uniform: Any, item: int) -> Any:
    """Captured Values and uniform numbers as an array of floats of so many bytes."""
    import numpy as np

    numbers = [x.data if isinstance(x, Value) else float(x) for x in uniform]
    padded = np.zeros(-(-max(1, len(numbers) * item) // 8) * 8 // item, f"f{item}")
    padded[: len(numbers)] = numbers
    return padded


class Call:
    """One call: its parameters, and what it does with a slice of the rows."""

    def __init__(self, owner: DeviceRows, device: Device, uniform: Any) -> None:
        import numpy as np

        self.owner, self.device, self.module, self.np = owner, device, owner.module(device), np
        self.kind = np.dtype("f4" if owner.plan.item == 4 else "f8")
        self.params = numbers_of(uniform, owner.plan.item)

    def slice(
        self, arrays: Sequence[Any], axes: Sequence[int], rows: int, outs: list[Any], sums: Any, bad: Any
    ) -> None:
        """Run some rows, from the first one of a block on."""
        device, plan = self.device, self.owner.plan
        count, item = len(plan.tape.outputs), plan.item
        held: list[Room] = []  # until the kernels are done

        def room(size: int) -> Any:
            memory = device.allocate(max(8, size))
            held.append(memory)
            return memory

        columns, data = self.columns(arrays, axes, room)
        stay = bool(outs) and on_device(outs[0])
        out, flags = outs[0] if stay else room(count * rows * item), room(rows) if bad is not None else None
        stride = (outs[1].address - out.address) // item if stay and len(outs) > 1 else rows
        tables: list[Any] = []
        for table in (self.params, columns):
            if plan.by_value:
                tables.append(table.tobytes())
            else:
                tables.append(room(table.nbytes))
                device.write(tables[-1], table)
        device.prepare(self.module, "rows", rows, [*tables, rows, out, stride, flags, *data])()
        if bad is not None:
            device.read(bad, flags)
        if self.owner.reduced:
            device.read(sums, self._sum(out, rows, flags, sums, room))
        elif outs and not stay:
            for k, array in enumerate(outs):
                device.read(array, out, k * rows * item)
        else:
            device.wait()
        for memory in held:
            memory.free()

    def columns(self, arrays: Sequence[Any], axes: Sequence[int], room: Any) -> tuple[Any, list[Any]]:
        """Where the column of each input begins, and how many bytes its rows are apart; arrays of this machine are copied.

        A kernel that is told columns by where they begin in one piece of memory gets that as one more argument.
        """
        np, device = self.np, self.device
        there = [on_device(a) and a.dtype == self.kind for a in arrays]
        here = [
            np.ascontiguousarray(a.to_numpy() if on_device(a) else a, dtype=self.kind)
            for a, stays in zip(arrays, there)
            if not stays
        ]
        by_address = self.owner.backend.dialect.addresses
        data = room(sum(-(-a.nbytes // 8) * 8 for a in here)) if here or not by_address else None
        begin, copies, found = 0, iter(here), []
        for array, axis, stays in zip(arrays, axes, there):
            if stays:
                found.append(column_table(array.address, array.shape, array.strides, axis))
                continue
            host = next(copies)
            device.write(data, host, begin)
            found.append(column_table(device.origin(data) + begin, host.shape, host.strides, axis))
            begin += -(-host.nbytes // 8) * 8
        table = np.concatenate(found) if found else np.zeros((1, 2), np.int64)
        return table, [] if by_address else [data]

    def _sum(self, out: Any, rows: int, flags: Any, sums: Any, room: Any) -> Any:
        owner = self.owner
        in_lanes = -(-rows // SEGMENT) * sums.shape[1] * lanes(owner.plan)
        parts, to = room(in_lanes * owner.plan.item), room(sums.size * 8)
        for launch in sums_of(owner.plan, out, rows, flags, parts, to):
            self.device.prepare(self.module, *launch)()
        return to


def sums_of(plan: Layout, out: Any, rows: int, flags: Any, parts: Any, to: Any) -> list[tuple[str, int, list[Any]]]:
    """The launches that add up what rows have left, into the sums of each block: kernels, threads and arguments."""
    segments, count = -(-rows // SEGMENT), len(plan.left)
    in_lanes, numbers = segments * count * lanes(plan), -(-rows // BLOCK) * count
    return [
        ("lanes", in_lanes, [out, rows, flags, rows, in_lanes, parts]),
        ("halves", numbers, [parts, segments, numbers, to]),
    ]
