"""Arrays on a GPU: those of CuPy, PyTorch and JAX as arguments, without a copy, and results that they take over, by DLPack."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

from micrograd.compile.cuda import driver as drivers
from micrograd.compile.cuda.driver import DeviceMemory

CUDA, MANAGED = 2, 13  # DLPack's numbers of devices
LEGACY = 1  # the stream that all of our work goes to
KINDS = {0: "i", 1: "u", 2: "f", 6: "b"}  # DLPack's numbers of dtypes
CODES = {kind: code for code, kind in KINDS.items()}


class _DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _DLManagedTensor(ctypes.Structure):
    pass


_Deleter = ctypes.CFUNCTYPE(None, ctypes.POINTER(_DLManagedTensor))
_DLManagedTensor._fields_ = [("tensor", _DLTensor), ("context", ctypes.c_void_p), ("deleter", _Deleter)]

_handed_out: dict[int, Any] = {}  # address of a tensor that somebody else has taken -> what must live as long


def _delete(tensor: Any) -> None:
    """Let go of a tensor that somebody else has taken."""
    _handed_out.pop(ctypes.addressof(tensor.contents), None)


def _end_of_capsule(capsule: int) -> None:
    """Let go of a tensor that nobody has taken out of its capsule."""
    if _api("PyCapsule_IsValid", ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(capsule, b"dltensor"):
        get = _api("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)
        _handed_out.pop(get(capsule, b"dltensor"), None)


_deleter = _Deleter(_delete)
_destructor = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(_end_of_capsule)


def _api(name: str, result: Any, *arguments: Any) -> Any:
    """A function of Python's C interface."""
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


class DeviceArray:
    """An array on a GPU: where it lies, its shape and strides (in bytes), and whose memory it is."""

    on_device = True

    def __init__(
        self, address: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: Any, number: int, owner: Any
    ) -> None:
        self.address, self.shape, self.strides, self.dtype, self.number = address, shape, strides, dtype, number
        self.owner = owner  # keeps the memory
        self._host: Any = None

    def __repr__(self) -> str:
        return f"<array of {self.dtype} with shape {self.shape} on cuda:{self.number}>"

    @classmethod
    def of(cls, array: Any, number: int) -> DeviceArray:
        """A copy of a NumPy array on a device."""
        import numpy as np

        array = np.ascontiguousarray(array)
        device = drivers.device(number)
        memory = device.allocate(max(8, array.nbytes))
        device.upload(memory.address, array)
        return cls(memory.address, array.shape, array.strides, array.dtype, number, memory)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        count = 1
        for n in self.shape:
            count *= n
        return count

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, parts: Any) -> DeviceArray:
        """Some rows, without a copy: slices alone, without steps."""
        parts = parts if isinstance(parts, tuple) else (parts,)
        address, shape = self.address, list(self.shape)
        for axis, part in enumerate(parts):
            start, stop, step = part.indices(self.shape[axis])
            assert step == 1
            address += start * self.strides[axis]
            shape[axis] = max(0, stop - start)
        return DeviceArray(address, tuple(shape), self.strides, self.dtype, self.number, self.owner)

    def to_numpy(self) -> Any:
        """A copy in the memory of this machine."""
        import numpy as np

        if self._host is None:
            low = sum(min(0, (n - 1) * s) for n, s in zip(self.shape, self.strides))
            high = sum(max(0, (n - 1) * s) for n, s in zip(self.shape, self.strides)) + self.dtype.itemsize
            if not self.size:
                return np.zeros(self.shape, self.dtype)
            memory = np.empty(high - low, np.uint8)
            drivers.device(self.number).download(memory, self.address + low)
            self._host = np.ndarray(self.shape, self.dtype, memory.data, -low, self.strides)
        return self._host

    def take(self, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Any:
        """Some rows as a NumPy array; a single one is copied alone."""
        if isinstance(indices, int) and axis is not None:
            at = indices % self.shape[axis]
            one = self[(slice(None),) * axis + (slice(at, at + 1),)].to_numpy()
            return one.reshape(self.shape[:axis] + self.shape[axis + 1 :])
        return self.to_numpy().take(indices, axis=axis, mode=mode)

    def astype(self, dtype: Any) -> Any:
        """A NumPy array of another type."""
        return self.to_numpy().astype(dtype)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        found = self.to_numpy()
        return found if dtype is None else found.astype(dtype)

    def __dlpack_device__(self) -> tuple[int, int]:
        return CUDA, self.number

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: Any = None
    ) -> Any:  # fmt: skip
        """A capsule for whoever takes the array over. Its numbers are there by then."""
        drivers.device(self.number).wait()
        count, item = self.ndim, self.dtype.itemsize
        shape = (ctypes.c_int64 * max(1, count))(*self.shape)
        strides = (ctypes.c_int64 * max(1, count))(*[s // item for s in self.strides])
        managed = _DLManagedTensor()
        managed.tensor = _DLTensor(
            self.address, CUDA, self.number, count, CODES[self.dtype.kind], 8 * item, 1,
            ctypes.cast(shape, ctypes.POINTER(ctypes.c_int64)), ctypes.cast(strides, ctypes.POINTER(ctypes.c_int64)), 0,
        )  # fmt: skip
        managed.deleter = _deleter
        address = ctypes.addressof(managed)
        _handed_out[address] = managed, shape, strides, self.owner
        make = _api("PyCapsule_New", ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return make(address, b"dltensor", ctypes.cast(_destructor, ctypes.c_void_p))


def taken(x: Any) -> DeviceArray | None:
    """An array of another library that lies on a GPU, without a copy; None for anything else."""
    if isinstance(x, DeviceArray):
        return x
    if not hasattr(type(x), "__dlpack_device__") or type(x).__module__.split(".")[0] == "numpy":
        return None
    kind, number = x.__dlpack_device__()
    if kind not in (CUDA, MANAGED):
        return None
    import numpy as np

    if getattr(x, "requires_grad", False):
        raise TypeError(
            "an argument is a tensor that PyTorch differentiates (requires_grad), and its graph would end here\n"
            "  Pass x.detach(), or use to_torch for functions whose gradients PyTorch asks for."
        )
    capsule = x.__dlpack__(stream=LEGACY)
    get = _api("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
    found = _DLManagedTensor.from_address(get(capsule, b"dltensor")).tensor
    if found.code not in KINDS or found.lanes != 1:
        raise TypeError(f"an argument on a GPU has elements of a type that NumPy does not know: {type(x).__name__}")
    dtype = np.dtype(f"{KINDS[found.code]}{found.bits // 8}")
    shape = tuple(found.shape[: found.ndim])
    if found.strides:
        strides = tuple(s * dtype.itemsize for s in found.strides[: found.ndim])
    else:
        strides = np.empty(shape, dtype).strides if found.ndim else ()
    address = (found.data or 0) + found.byte_offset
    return DeviceArray(address, shape, strides, dtype, number, (capsule, x))  # the capsule keeps the memory


def handed_back(array: Any, model: Any, number: int) -> Any:
    """A result as an array of the library that an argument came from; as a DeviceArray, where that takes no DLPack."""
    if not isinstance(array, DeviceArray):
        array = DeviceArray.of(array, number)
    library = type(model).__module__.split(".")[0]
    module: Any = sys.modules.get("jax" if library == "jaxlib" else library)
    if library == "jaxlib" and module is not None:
        module = module.dlpack
    take = getattr(module, "from_dlpack", None)
    return array if take is None or isinstance(model, DeviceArray) else take(array)


def empty(device: drivers.CudaDevice, count: int, rows: int, dtype: Any) -> tuple[DeviceMemory, list[DeviceArray]]:
    """Columns of so many rows, side by side in one memory."""
    memory = device.allocate(max(8, count * rows * dtype.itemsize))
    step = rows * dtype.itemsize
    return memory, [
        DeviceArray(memory.address + k * step, (rows,), (dtype.itemsize,), dtype, device.number, memory)
        for k in range(count)
    ]
