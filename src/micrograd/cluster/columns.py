"""The rows of an argument, chunk by chunk, wherever they lie: in this process, nowhere (a range), or on the cluster."""

from __future__ import annotations

from typing import Any

from micrograd.compile import axes as axes_of
from micrograd.compile.backend import BLOCK
from micrograd.compile.rows import Rows, refuse_axis
from micrograd.tape.trace import peek
from micrograd.tree import is_array, refuse_masked

# Rows of a chunk are whole blocks, so that no bit of a result depends on how rows are cut into chunks. Each task costs the
# scheduler, the caller and the worker about 10 ms together on a busy machine (benchmarks/cluster.py), so there are few of them:
# SMALLEST rows or more, and of a Dask array about MOST chunks until they reach LARGEST, which bounds the memory of a task.
SMALLEST, LARGEST, MOST = 16 * BLOCK, 1024 * BLOCK, 64
LARGEST_NUMBERS = 16 * 2**20  # of a chunk of the caller's data, arguments and results by row together: 128 MB
LARGEST_RANGE = 4096 * BLOCK  # where only the ends of a range travel: 64 MB of row numbers on the worker


def chunk_rows(rows: int) -> int:
    """How many rows a chunk of a Dask array of so many rows has."""
    return min(LARGEST, max(SMALLEST, -(-rows // (MOST * BLOCK)) * BLOCK))


def shrinking(rows: int, threads: int, largest: int) -> list[tuple[int, int]]:
    """Cut rows into chunks, each with a share of the rows that are left: few tasks, and small ones in the end.

    So workers end at about the same time, whatever their speed.

    >>> [stop - start for start, stop in shrinking(3_000_000, 2, LARGEST)][::5]
    [751616, 178176, 43008]
    """
    least = max(SMALLEST, _whole_blocks(rows // min(128 * threads, 512)))
    found, start = [], 0
    while start < rows:
        size = min(largest, max(least, _whole_blocks((rows - start) // (2 * threads))))
        found.append((start, min(rows, start + size)))
        start += size
    return found


def largest_chunk(numbers: int) -> int:
    """How many rows a chunk of the caller's data has at most, if a row takes so many numbers.

    >>> largest_chunk(2), largest_chunk(64)
    (2097152, 262144)
    """
    return min(LARGEST, max(SMALLEST, LARGEST_NUMBERS // max(1, numbers) // BLOCK * BLOCK))


def _whole_blocks(rows: int) -> int:
    return -(-rows // BLOCK) * BLOCK


def is_collection(x: Any) -> bool:
    """Whether x is an array, a dataframe column or the like of Dask."""
    return hasattr(x, "__dask_graph__") and not is_array(x)


def dask_array(x: Any, what: str) -> Any:
    """A Dask array, dataframe or column of one, as a Dask array of numbers whose shape is known; all else is refused.

    Columns of numbers that may be missing (Int64, Float64, boolean) become floats, with nan for what is missing.
    """
    import numpy as np

    if hasattr(type(x), "to_dask_array"):  # of a dataframe, which does not know its length before it is counted
        kinds = list(x.dtypes) if x.ndim > 1 else [x.dtype]
        for kind in kinds:
            _refuse_kind(kind, what)
        if not all(isinstance(kind, np.dtype) for kind in kinds):  # those of pandas are turned into objects
            x = x.astype("float64")
        x = x.to_dask_array(lengths=True)
    elif not all(hasattr(type(x), name) for name in ("rechunk", "compute_chunk_sizes")):
        raise TypeError(
            f"{what} is a Dask {type(x).__name__}, which is not an array of rows\n"
            "  Give a Dask array or a column of a dataframe: dask.array.from_delayed(x, shape, float) makes one of a Delayed."
        )
    _refuse_kind(x.dtype, what)
    refuse_masked(x._meta)
    return x.compute_chunk_sizes() if any(n != n for n in x.shape) else x


def _refuse_kind(dtype: Any, what: str) -> None:
    if dtype.kind not in "fiub":
        raise TypeError(f"{what} has dtype {dtype}, which is no real number: convert it with .astype(float)")


def _refuse_collections(x: Any, what: str) -> None:
    """Refuse data on the cluster in an argument that is the same in all rows: its numbers are wanted here."""
    if is_collection(x):
        raise TypeError(
            f"{what} has in_axes=None and is a Dask {type(x).__name__}, whose numbers are not in this process\n"
            "  Fetch them with x.compute(), or give the axis along which its rows run."
        )
    for part in x.values() if isinstance(x, dict) else x if isinstance(x, (list, tuple)) else ():
        _refuse_collections(part, what)


def _is_foreign(dtype: Any) -> bool:
    """Whether numbers are of a kind that kernels do not read, and are turned into floats."""
    return dtype.kind not in "fiub" or dtype.itemsize > 8 or dtype == "f2" or not dtype.isnative


class Column:
    """An array in this process, whose chunks travel with their tasks."""

    def __init__(self, array: Any, axis: int) -> None:
        self.array, self.axis = array, axis % max(1, array.ndim)
        self.rows = array.shape[self.axis] if array.ndim else 0

    def head(self) -> Any:
        """The first row, as an array of one row (of none, where there is none)."""
        return self._part(0, 1)

    def chunk(self, start: int, stop: int) -> Any:
        """What a task gets for these rows."""
        return self._part(start, stop)

    def row(self, r: int) -> Any:
        """One row, as an array of one row."""
        return self._part(r, r + 1)

    def some(self, rows: range) -> Any:
        """Rows at even distances, as an array."""
        return self.array[(slice(None),) * self.axis + (slice(rows.start, rows.stop, rows.step),)]

    def _part(self, start: int, stop: int) -> Any:
        return self.array[(slice(None),) * self.axis + (slice(start, stop),)]


class Numbers(Column):
    """A range, such as the numbers of the rows: only its ends travel."""

    def __init__(self, numbers: range, np: Any) -> None:
        self.numbers, self.np, self.axis, self.rows = numbers, np, 0, len(numbers)

    def chunk(self, start: int, stop: int) -> Any:
        """The ends of a part of the range."""
        return self.numbers[start:stop]

    def some(self, rows: range) -> Any:
        """Numbers at even distances, as an array."""
        part = self.numbers[rows.start : rows.stop : rows.step]
        return self.np.arange(part.start, part.stop, part.step, dtype=self.np.int64)

    def _part(self, start: int, stop: int) -> Any:
        part = self.numbers[start:stop]
        return self.np.arange(part.start, part.stop, part.step, dtype=self.np.int64)


class Distributed(Column):
    """A Dask array, whose chunks never pass through this process."""

    def __init__(self, array: Any, axis: int) -> None:
        axis %= max(1, array.ndim)
        super().__init__(array, axis)
        self.parts: list[Any] = []

    def some(self, rows: range) -> Any:
        """Rows at even distances, fetched at once."""
        return super().some(rows).compute()

    def _part(self, start: int, stop: int) -> Any:
        return super()._part(start, stop).compute()

    def chunk(self, start: int, stop: int) -> Any:
        """The rows as a task of the cluster. All chunks have chunk_rows(rows) rows but for the last one."""
        if not self.parts:
            sizes = dict.fromkeys(range(self.array.ndim), -1) | {self.axis: chunk_rows(self.rows)}
            self.parts = list(self.array.rechunk(sizes).to_delayed().ravel())
        return self.parts[start // chunk_rows(self.rows)]


class ClusterRows(Rows):
    """The arguments of one call, of which this process holds the first row, and what there is of the others."""

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any], in_axes: Any, static: tuple[int, ...]) -> None:
        import numpy as np

        axes = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(args)
        self.columns: list[Column] = []
        self.numpy, self.local = np, True
        self.as_given = False  # an argument is an array of Values, which is run row by row in this process, or is wrong
        heads = tuple(self._heads(a, axis, f"argument {i}") for i, (a, axis) in enumerate(zip(args, axes)))
        named = {name: self._head(a, 0, f"argument {name!r}") for name, a in kwargs.items()}
        if self.as_given:
            super().__init__(args, kwargs, in_axes, static)
            return
        if self.columns:
            self._same_length()
        super().__init__(heads, named, in_axes, static)
        by_head = {id(column.first): column for column in self.columns}  # type: ignore[attr-defined]
        self.columns = [by_head[id(a)] for a in self.arrays]
        self.rows = self.columns[0].rows
        self.local = not any(isinstance(column, Distributed) for column in self.columns)

    def _heads(self, a: Any, axis: Any, what: str) -> Any:
        """The argument with the first row alone of what varies by row, as its axis or structure of axes says."""
        if axis is None:
            _refuse_collections(a, what)
            return a
        if isinstance(axis, int):
            return self._head(a, axis, what)
        parts = axes_of.parts(a, axis, what)
        return axes_of.like(a, [self._heads(x, part, f"a part of {what}") for x, part in parts])

    def _head(self, a: Any, axis: int, what: str) -> Any:
        """The argument with the first row alone of each array in it; the arrays are noted in self.columns."""
        if isinstance(a, dict):
            return {key: self._head(x, axis, what) for key, x in a.items()}
        if isinstance(a, (list, tuple)) and any(
            is_array(x) or is_collection(x) or isinstance(x, (list, tuple, dict, range)) for x in a
        ):
            if any(isinstance(x, (list, tuple)) and not any(map(is_array, x)) for x in a):
                return a  # lists of numbers: Rows tells what is wrong with them
            parts = [self._head(x, axis, what) for x in a]
            return type(a)(*parts) if hasattr(a, "_fields") else type(a)(parts)
        column = self._column(a, axis, what)
        if column is None:
            return a
        self.columns.append(column)
        column.first = head = column.head()  # type: ignore[attr-defined]
        return head

    def _column(self, a: Any, axis: int, what: str) -> Column | None:
        if isinstance(a, range) and all(-(2**63) <= x < 2**63 for x in (a.start, a.stop, a.step)):
            return Numbers(a, self.numpy)
        if is_collection(a):
            a = dask_array(a, what)
            refuse_axis(a.ndim, axis, what)
            return Distributed(a.astype(float) if a.dtype.itemsize < 4 or _is_foreign(a.dtype) else a, axis)
        array = a if is_array(a) else self.numpy.asarray(a)
        if array.dtype.kind not in "fiub" or not array.ndim or not -array.ndim <= axis < array.ndim:
            self.as_given = True
            return None
        return Column(array.astype(float) if _is_foreign(array.dtype) else array, axis)

    def _same_length(self) -> None:
        for column in self.columns:
            if column.rows != self.columns[0].rows:
                raise ValueError(
                    f"the arguments have different numbers of rows: {self.columns[0].rows} and {column.rows}"
                )

    def row(self, r: int) -> list[Any]:
        """The numbers of one row, then the uniform ones."""
        numbers: list[Any] = []
        for column in self.columns:
            numbers += self.np.ravel(column.row(r)).tolist()
        return numbers + self.uniform

    def surveyed(self, most: int, took: Any = None) -> list[Any]:
        """None: the rows may be elsewhere, so only those of `spread` are looked at."""
        return []

    def spread(self, count: int) -> list[list[float]]:
        """The numbers of some rows, evenly spaced. What is on the cluster is fetched at once, not row by row."""
        rows = range(0, self.rows, max(1, self.rows // count))
        parts = [(column.some(rows), column.axis) for column in self.columns]
        np, uniform = self.np, peek(self.uniform)
        return [
            [x for a, axis in parts for x in np.ravel(np.take(a, k, axis)).tolist()] + uniform for k in range(len(rows))
        ]

    def varying(self) -> int:
        """How many numbers vary by row."""
        return sum([a.size for a in self.arrays])
