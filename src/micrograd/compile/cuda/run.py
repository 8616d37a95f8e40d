"""Run the kernels of a tape on a GPU, over the rows of arrays; see compile/backend.py for what a RowsCode promises."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from typing import Any

from micrograd.compile.backend import BLOCK, SEGMENT
from micrograd.compile.cuda import driver as drivers
from micrograd.compile.cuda.driver import Device, DeviceMemory, Module, OutOfDeviceMemory, Pointer
from micrograd.compile.cuda.kernels import THREADS, Layout, lanes
from micrograd.engine import Value

MOST_SCRATCH = 1 << 29  # bytes for what rows leave before it is summed; more rows are done in slices
SHARE = 0.8  # of the device's free memory that one slice of rows may take


class DeviceRows:
    """The kernels of a tape, which a GPU gets when they are run for the first time."""

    def __init__(self, ptx: str, plan: Layout, guarded: bool, reduced: bool, number: int) -> None:
        self.ptx, self.plan, self.guarded, self.reduced = ptx, plan, guarded, reduced
        self.number = number
        self._module: Module | None = None
        self._lock = threading.Lock()

    def _loaded(self, device: Device) -> Module:
        with self._lock:
            if self._module is None:
                self._module = device.load(self.ptx)
            return self._module

    def run(
        self, arrays: tuple[Any, ...], axes: tuple[int, ...], uniform: Any, rows: int, outs: list[Any], threads: int,
        blocks: Any = None,
    ) -> tuple[Any, list[float]]:  # fmt: skip
        """Run rows; see backend.RowsCode. A batch that is too large for the device is run slice by slice.

        `outs` may be columns of a DeviceArray, one behind the other in memory: then results stay on the device.
        """
        import numpy as np

        device = drivers.device(self.number)
        call = _Call(self, device, self._loaded(device), uniform)
        sums = np.zeros((-(-rows // BLOCK), len(self.plan.left) if self.reduced else 0))
        bad = np.zeros(rows, np.uint8) if self.guarded else None
        start, most = 0, self._rows_at_once(device, arrays, axes, rows)
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

    def _rows_at_once(self, device: Device, arrays: Sequence[Any], axes: Sequence[int], rows: int) -> int:
        """How many rows to run at once, a multiple of a block."""
        kept = len(self.plan.tape.outputs) * self.plan.item + 1
        inputs: int = sum(a.size // a.shape[axis] for a, axis in zip(arrays, axes) if not _on_device(a))
        fits = int(device.free_bytes() * SHARE) // (kept + inputs * self.plan.item)
        most: int = min(rows, fits, MOST_SCRATCH // kept)
        return max(BLOCK, most if most == rows else most // BLOCK * BLOCK)


def _on_device(array: Any) -> bool:
    return getattr(array, "on_device", False) is True


def _rows_of(array: Any, axis: int, start: int, stop: int) -> Any:
    """Some rows of an array, without a copy."""
    if start == 0 and stop == array.shape[axis]:
        return array
    return array[(slice(None),) * axis + (slice(start, stop),)]


class _Call:
    """One call: its parameters, and what it does with a slice of the rows."""

    def __init__(self, owner: DeviceRows, device: Device, module: Module, uniform: Any) -> None:
        import numpy as np

        self.owner, self.device, self.module, self.np = owner, device, module, np
        self.kind = np.dtype("f4" if owner.plan.item == 4 else "f8")
        numbers = [x.data if isinstance(x, Value) else float(x) for x in uniform]
        padded = np.zeros(-(-max(1, len(numbers) * owner.plan.item) // 8) * 8 // owner.plan.item, self.kind)
        padded[: len(numbers)] = numbers
        self.params = padded

    def slice(
        self, arrays: Sequence[Any], axes: Sequence[int], rows: int, outs: list[Any], sums: Any, bad: Any
    ) -> None:
        """Run some rows, from the first one of a block on."""
        device, plan = self.device, self.owner.plan
        count, item = len(plan.tape.outputs), plan.item
        held: list[DeviceMemory] = []  # until the kernels are done

        def room(size: int) -> int:
            memory = device.allocate(max(8, size))
            held.append(memory)
            return memory.address

        columns = self._columns(arrays, axes, room)
        stay = bool(outs) and _on_device(outs[0])
        out, flags = outs[0].address if stay else room(count * rows * item), room(rows) if bad is not None else 0
        stride = (outs[1].address - out) // item if stay and len(outs) > 1 else rows
        tables: list[Any] = []
        for table in (self.params, columns):
            if plan.by_value:
                tables.append((ctypes.c_char * table.nbytes).from_buffer_copy(table.tobytes()))
            else:
                address = room(table.nbytes)
                device.upload(address, table)
                tables.append(Pointer(address))
        n = ctypes.c_int64(rows)
        rest = [n, Pointer(out), ctypes.c_int64(stride), Pointer(flags)]
        self._launch("rows", rows, [*tables, *rest])
        if bad is not None:
            device.download(bad, flags)
        if self.owner.reduced:
            self._sum(out, rows, flags, sums, room)
        elif outs and not stay:
            self._store(out, rows, outs)
        else:
            device.wait()
        for memory in held:
            memory.free()

    def _launch(self, kernel: str, count: int, arguments: list[Any]) -> None:
        self.device.launch(self.module.function(kernel), -(-count // THREADS), THREADS, arguments)

    def _columns(self, arrays: Sequence[Any], axes: Sequence[int], room: Any) -> Any:
        """Where the column of each input begins, and how many bytes its rows are apart; other arrays are copied there."""
        np = self.np
        found: list[Any] = []
        for array, axis in zip(arrays, axes):
            if _on_device(array) and array.dtype == self.kind:
                base, strides = array.address, array.strides
            else:
                host = np.ascontiguousarray(array.to_numpy() if _on_device(array) else array, dtype=self.kind)
                base, strides = room(host.nbytes), host.strides
                self.device.upload(base, host)
            offsets = np.zeros((), np.int64)
            for n, stride in zip(array.shape[:axis] + array.shape[axis + 1 :], strides[:axis] + strides[axis + 1 :]):
                offsets = offsets[..., None] + np.arange(n, dtype=np.int64) * stride
            table = np.empty((offsets.size, 2), np.int64)
            table[:, 0], table[:, 1] = base + offsets.ravel(), strides[axis]
            found.append(table)
        return np.concatenate(found) if found else np.zeros((1, 2), np.int64)

    def _sum(self, out: int, rows: int, flags: int, sums: Any, room: Any) -> None:
        owner = self.owner
        numbers, segments = sums.size, -(-rows // SEGMENT)
        in_lanes = segments * sums.shape[1] * lanes(owner.plan)
        parts, to = room(in_lanes * owner.plan.item), room(numbers * 8)
        stride, count = ctypes.c_int64(rows), ctypes.c_int64(in_lanes)
        self._launch("lanes", in_lanes, [Pointer(out), stride, Pointer(flags), stride, count, Pointer(parts)])
        halves = [Pointer(parts), ctypes.c_int64(segments), ctypes.c_int64(numbers), Pointer(to)]
        self._launch("halves", numbers, halves)
        self.device.download(sums, to)

    def _store(self, out: int, rows: int, outs: list[Any]) -> None:
        for k, array in enumerate(outs):
            self.device.download(array, out + k * rows * self.owner.plan.item)
