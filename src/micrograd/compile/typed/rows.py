"""Rows by a typed tape, one after the other on each core: for functions whose paths cannot be run in SIMD lanes together.

What vmap cannot merge, such as the iterations of `range(int(x))` with another list in each row, it compiles path by path. A
typed tape has all paths in one, so that nothing is compiled for the next one. Its rows have the bits of plain Python.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

from micrograd.compile.llvm import build
from micrograd.compile.rows import Rows
from micrograd.compile.signature import Fixed
from micrograd.compile.typed.asked import calls_of
from micrograd.compile.typed.call import Calls, Variant
from micrograd.compile.typed.entry import Entry
from micrograd.tree import Shape, flatten, without_bools

AT_ONCE = 2048  # rows between two looks at Ctrl-C
TEXT = """
define void @rows(ptr %run, ptr %in, ptr %out, ptr %bad, i64 %inputs, i64 %outputs, i64 %count) nounwind {
start:
  %none = icmp eq i64 %count, 0
  br i1 %none, label %end, label %row
row:
  %k = phi i64 [ 0, %start ], [ %next, %row ]
  %i = mul i64 %k, %inputs
  %o = mul i64 %k, %outputs
  %from = getelementptr double, ptr %in, i64 %i
  %to = getelementptr double, ptr %out, i64 %o
  %status = call i32 %run(ptr %from, ptr null, ptr %to, ptr null)
  %failed = icmp ne i32 %status, 0
  %byte = zext i1 %failed to i8
  %mark = getelementptr i8, ptr %bad, i64 %k
  store i8 %byte, ptr %mark
  %next = add i64 %k, 1
  %more = icmp slt i64 %next, %count
  br i1 %more, label %row, label %end
end:
  ret void
}
"""


@cache
def _loop() -> tuple[Any, Any]:
    """Return the function that runs rows, and what holds its machine code."""
    address, owner = build.compile_glue(TEXT, "rows")
    pointer, number = ctypes.c_void_p, ctypes.c_int64
    return ctypes.CFUNCTYPE(None, *[pointer] * 4, *[number] * 3)(address), owner


class TypedRows:
    """The typed variants of a function of rows."""

    def __init__(self, f: Callable[..., Any], exact: bool) -> None:
        calls = calls_of(f)
        # Eager code adds the parts of a gradient up in another order than the sweep of a typed tape.
        self.calls: Calls | None = None if calls is None or (exact and calls.asked.argnums) else calls
        if calls is not None:
            calls.exact = exact
        self.entries: dict[Variant, _Found | None] = {}

    def run(self, rows: Rows, shape: Shape, index: Any, threads: int) -> tuple[Any, Any] | None:
        """Return the results of some rows, an array of (rows, numbers), and which of them have none; None where it cannot.

        `shape` is that of the result of a row. A row has no result here where its run would raise an exception.
        """
        if self.calls is None or rows.names or not all(type(x) in (float, int) for x in rows.uniform):
            return None
        args, _ = rows.arrange([float(x) for x in rows.row(int(index[0]))[: rows.varying()]] + rows.uniform)
        variant = self.calls.variant(tuple(args))
        if variant is None:
            return None
        if variant not in self.entries:
            self.entries = {v: e for v, e in self.entries.items() if v in self.calls.variants}
            self.entries[variant] = _entry(variant, tuple(args), rows, shape)
        found = self.entries[variant]
        return None if found is None else _run(found, rows, index, threads)


class _Found(NamedTuple):
    """Machine code, where its inputs lie among the numbers of a row, and where the results of a row lie in its outputs."""

    entry: Entry
    order: list[int]
    places: list[int]


def _entry(variant: Variant, args: tuple[Any, ...], rows: Rows, shape: Shape) -> _Found | None:
    """Return the machine code of a variant; None where it cannot be had, or arranges its results in another way."""
    found = variant.entry(args)
    if found is None:
        return None
    order: list[Any] = []
    flatten(rows.arrange([float(k) for k in range(rows.varying() + len(rows.uniform))])[0], order)
    if len(order) != found.inputs:
        return None
    places = list(_places(found.template))
    if flatten(without_bools(_shown(found.template)), []) != shape:
        return None
    return _Found(found, [int(k) for k in order], places)


def _places(template: Any) -> Iterator[int]:
    if isinstance(template, int):
        yield template
    elif isinstance(template, dict):
        for part in template.values():
            yield from _places(part)
    elif isinstance(template, tuple) and len(template) == 4 and template[0] is None:
        yield from _places(
            template[3][:1] if template[1] is None else template[3]
        )  # an int or a float: in a column, a float
    elif isinstance(template, list | tuple | range):
        for part in template:
            yield from _places(part)


def _shown(template: Any) -> Any:
    """Return a result as a template arranges it, of zeros."""
    if isinstance(template, int):
        return 0.0
    if isinstance(template, Fixed):
        return template.x
    if isinstance(template, dict):
        return {key: _shown(part) for key, part in template.items()}
    if isinstance(template, tuple) and len(template) == 4 and template[0] is None:
        _, make, as_bytes, parts = template
        if make is None:
            return 0.0
        return make(bytes(8 * len(parts))) if as_bytes else make(*map(_shown, parts))
    return type(template)(map(_shown, template))


def _run(found: _Found, rows: Rows, index: Any, threads: int) -> tuple[Any, Any]:
    entry, order, places = found
    np = rows.np
    count = len(index)
    columns = [
        np.moveaxis(np.take(a, index, axis), axis, 0).reshape(count, -1) for a, axis in zip(rows.arrays, rows.axes)
    ]
    columns += [np.full((count, 1), float(x)) for x in rows.uniform]
    given = np.ascontiguousarray(np.concatenate([c.astype(float) for c in columns], axis=1)[:, order])
    out, bad = np.zeros((count, max(entry.outputs, 1))), np.zeros(count, np.uint8)
    run, _ = _loop()

    def part(start: int, stop: int) -> None:
        for k in range(start, stop, AT_ONCE):
            n = min(AT_ONCE, stop - k)
            at = [x[k:].ctypes.data for x in (given, out, bad)]
            run(entry.address, *at, entry.inputs, out.shape[1], n)

    share = max(AT_ONCE // 8, -(-count // threads))
    others = [threading.Thread(target=part, args=(k, min(count, k + share))) for k in range(share, count, share)]
    for thread in others:
        thread.start()
    try:
        part(0, min(count, share))
    finally:
        for thread in others:
            thread.join()
    return out[:, places], bad.astype(bool)
