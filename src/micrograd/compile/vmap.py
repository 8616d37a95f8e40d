"""vmap: a function of one row, over all rows of NumPy arrays at once: SIMD lanes, all cores."""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable
from math import prod
from typing import Any

from micrograd import anomaly, engine, math
from micrograd.compile.jit import MAX_PATHS
from micrograd.compile.kernel import (
    RESULT,
    BatchCode,
    Settings,
    is_recording,
)
from micrograd.compile.rows import RowPath, Rows, same_captured
from micrograd.compile.variants import captured
from micrograd.engine import Value
from micrograd.errors import TraceError
from micrograd.importable import attribute_of, by_name
from micrograd.tape.tape import Tape
from micrograd.tape.trace import is_tracing, peek, same_way, trace_twice
from micrograd.tree import NUMBER, Shape, as_floats, flatten, name_of, rebuild, unflatten, wants_function, written

CORES = os.cpu_count() or 1

# Numbers in the Values of a call without reduce. One was seen to take 24 bytes; this is as much as 6 GB.
MAX_SLOPES = 250_000_000


class Plan:
    """What a call with arguments of one kind comes to."""

    def __init__(self, path: RowPath, uniform: list[Any], differentiate: bool, in_one: bool) -> None:
        self.path, self.shape, self.captured = path, path.trace.shape, path.trace.captured
        self.count = len(path.trace.tape.outputs)
        mask = bytes([isinstance(x, Value) for x in [*path.trace.captured, *uniform]])
        self.values = any(mask)
        # which params to differentiate by, a byte each: bytes remember their hash, which a tuple of 300 numbers does not
        self.gradient = mask if differentiate and self.values else b""
        self.direct = bool(self.gradient) and in_one and self.shape == NUMBER
        self.shared = captured(path.trace.captured)


class _MoreCaptured(Exception):
    """The gradients asked for are no longer all that there are."""


class Vmap:
    """A function of rows. Arrays in, arrays out, or with reduce the sum or mean over rows; of Values where Values took part."""

    def __init__(
        self,
        f: Callable[..., Any],
        in_axes: Any,
        reduce: str | None,
        threads: int | None,
        batch_size: int | None,
        settings: Settings,
        static: tuple[int, ...] = (),
    ) -> None:
        in_axes = tuple(in_axes) if isinstance(in_axes, list) else in_axes
        for axis in in_axes if isinstance(in_axes, tuple) else (in_axes,):
            if axis is not None and (not isinstance(axis, int) or isinstance(axis, bool)):
                raise TypeError(
                    f"in_axes={in_axes!r}: an axis is a whole number, or None for an argument that is the same in all rows; "
                    "a tuple has one for each argument"
                )
        if reduce not in (None, "sum", "mean"):
            raise ValueError(f'reduce={reduce!r}: it is None, "sum" or "mean"')
        for name, least in (("batch_size", batch_size), ("threads", threads)):
            if least is not None and (not isinstance(least, int) or least < 1):
                raise ValueError(f"{name}={least!r}: a whole number, at least 1, or None")
        wants_function(f, "map over rows")
        functools.update_wrapper(self, f, updated=())
        self.f, self.reduce, self.threads = f, reduce, threads
        self.in_axes, self.static = in_axes, static
        self.batch_size, self.settings = batch_size, settings
        self.paths: dict[Any, list[RowPath]] = {}
        self.plans: dict[Any, Plan] = {}
        self.known: Callable[..., Any] | None = None  # the last call, for the next: see again()
        self.lock = threading.RLock()

    def __repr__(self) -> str:
        return f"<vmap of {name_of(self.f)}>"

    def __getattr__(self, name: str) -> Any:
        return attribute_of(self, name)

    def __reduce__(self) -> Any:
        how = self.in_axes, self.reduce, self.threads, self.batch_size, self.settings, self.static
        return by_name(self, self.f) or (Vmap, (self.f, *how))

    def with_settings(self, settings: Settings) -> Vmap:
        """The same, compiled otherwise: what jit(vmap(f)) is."""
        return Vmap(self.f, self.in_axes, self.reduce, self.threads, self.batch_size, settings, self.static)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        known = self.known
        if known is not None and not kwargs:
            result = known(*args)
            if result is not None:
                return result
        rows = Rows(args, kwargs, self.in_axes, self.static)
        if rows.by_eager or is_tracing():
            return self._eager(rows)
        run = functools.partial(self._settled, args) if engine.NATIVE else self._eager
        if not (anomaly.looking and anomaly.here()):
            return run(rows)
        result = anomaly.without_alarm(lambda: run(rows))
        anomaly.look_at_rows(self.f, rows, result)
        return result

    def _settled(self, args: tuple[Any, ...], rows: Rows) -> Any:
        """The result, begun anew where a row went a way that meets more Values than all before."""
        while True:
            try:
                return self._compiled(args, rows)
            except _MoreCaptured:
                continue

    def _compiled(self, args: tuple[Any, ...], rows: Rows) -> Any:
        plan = self._plan(rows)
        threads = self.threads or CORES
        inputs = [x for x in [*plan.captured, *rows.uniform] if isinstance(x, Value)]
        if self.reduce is None:
            count = plan.count * (1 + len(inputs) * bool(plan.gradient))
            if plan.gradient and count * rows.rows > MAX_SLOPES:
                raise ValueError(
                    f"{rows.rows:,} rows of {self!r} would give as many Values, with {count:,} numbers each\n"
                    f"  That takes about {count * rows.rows * 24 / 1e9:.0f} GB: a Value keeps its slope by each captured one.\n"
                    '  Add the rows up with reduce="sum" or "mean", or call it inside no_grad() for plain numbers.'
                )
            outs = [rows.np.empty(rows.rows, dtype="f4" if self.settings.single else "f8") for _ in range(count)]
            self._run(rows, plan, outs, threads)
            if plan.gradient:  # each row gives a Value, as in a loop over the rows
                outs = _nodes(outs, plan.count, inputs, rows.np)
            return self._columns(plan.shape, iter(outs), rows)
        scale = 1.0 / rows.rows if self.reduce == "mean" else 1.0
        if plan.direct:  # the training step: straight to a node
            uniform = plan.captured + rows.uniform if rows.uniform else plan.shared
            bad, result = plan.path.code(True, plan.gradient).run(
                tuple(rows.arrays), tuple(rows.axes), uniform, rows.rows, [], threads, True, scale)  # fmt: skip
            if bad is None:
                if (
                    not rows.uniform
                    and self.in_axes == 0
                    and len(rows.arrays) == len(args)
                    and all(a is b for a, b in zip(args, rows.arrays))
                ):
                    self.known = self._again(plan, args, threads)
                return result
        sums = self._run(rows, plan, [], threads)
        results: list[Any] = [s * scale for s in sums[: plan.count]]
        if plan.values:
            width = len(inputs)
            slopes = [s * scale for s in sums[plan.count :]]
            if plan.gradient:
                results = [
                    engine.node(y, RESULT, inputs, slopes[k * width : (k + 1) * width]) for k, y in enumerate(results)
                ]
            else:
                results = [Value(y) for y in results]
        return unflatten(plan.shape, iter(results))

    def _again(self, plan: Plan, args: tuple[Any, ...], threads: int) -> Any:
        """What answers calls on arrays of the same kinds without a second look (and others with None); None if nothing can."""
        code = plan.path.code(True, plan.gradient)
        if code.guarded or type(plan.shared) is list or any(type(a) is not type(args[0]) for a in args):
            return None
        from micrograd import _engine

        here = plan.path.codes, (True, plan.gradient), code
        work = code.code.address, code.options.width, code.item, code.sums, code.scratch, threads
        return _engine.again(args, here, plan.shared, work, RESULT, self.reduce == "mean")

    def _plan(self, rows: Rows) -> Plan:
        """What there is to do for calls like this one."""
        key = rows.key, tuple([isinstance(x, Value) for x in rows.uniform]), is_recording()
        plan = self.plans.get(key)
        if plan is None or plan.captured is not self.paths[rows.key][0].trace.captured:
            path = (self.paths.get(rows.key) or [self._path_of(rows, 0)])[0]
            in_one = self.reduce is not None and self.batch_size is None
            plan = self.plans[key] = Plan(path, rows.uniform, key[2], in_one)
        return plan

    def _run(self, rows: Rows, plan: Plan, outs: list[Any], threads: int) -> list[float]:
        """Run all rows along the paths that they take; returns the sums."""
        arrays = tuple(rows.arrays)
        index: Any = None  # all
        reduced, gradient = self.reduce is not None, plan.gradient
        total: list[float] = []
        number = 0
        refused: dict[RowPath, list[int]] = {}  # rows that machine code refuses, and that go its way all the same
        while index is None or len(index):
            with self.lock:
                paths = self.paths[rows.key]
                path = paths[number] if number < len(paths) else self._path_of(rows, int(index[0]))
                if paths[0].trace.captured is not plan.captured:
                    raise _MoreCaptured
            if number == len(paths):
                refused.setdefault(path, []).append(int(index[0]))
                index = index[1:]
                arrays = rows.select(index)
                continue
            code = path.code(reduced, gradient)
            bad, sums = self._run_code(code, path, rows, arrays, index, outs, threads)
            total = [a + b for a, b in zip(total, sums)] if total else sums
            if bad is None:
                break
            index = bad if index is None else index[bad]
            arrays = rows.select(index)
            number += 1
        for path, those in refused.items():
            code = path.code(reduced, gradient, guarded=False)
            index = rows.np.array(those)
            _, sums = self._run_code(code, path, rows, rows.select(index), index, outs, threads)
            total = [a + b for a, b in zip(total, sums)]
        return total

    def _run_code(
        self,
        code: BatchCode,
        path: RowPath,
        rows: Rows,
        arrays: tuple[Any, ...],
        index: Any,
        outs: list[Any],
        threads: int,
    ) -> tuple[Any, list[float]]:
        """Run rows by one code and store their results; returns which of them it refused (None: it took all), and the sums."""
        np = rows.np
        n = rows.rows if index is None else len(index)
        mine = outs if index is None else [np.empty(n, dtype=o.dtype) for o in outs]
        bad, sums = self._slices(code, arrays, rows.axes, [*path.trace.captured, *rows.uniform], n, mine, threads)
        if index is not None:
            good = np.ones(n, bool)
            if bad is not None:
                good[bad] = False
            for out, part in zip(outs, mine):
                out[index[good]] = part[good]
        return bad, sums

    def _slices(
        self,
        code: BatchCode,
        arrays: tuple[Any, ...],
        axes: list[int],
        uniform: list[Any],
        n: int,
        outs: list[Any],
        threads: int,
    ) -> tuple[Any, list[float]]:
        size_of = self.batch_size or n
        if size_of >= n:
            return code.run(arrays, tuple(axes), uniform, n, outs, threads, False, 1.0)  # type: ignore[no-any-return]
        import numpy as np

        total: list[float] | None = None
        all_bad = []
        for start in range(0, n, size_of):
            stop = min(n, start + size_of)
            part = tuple(a[(slice(None),) * axis + (slice(start, stop),)] for a, axis in zip(arrays, axes))
            bad, sums = code.run(
                part, tuple(axes), uniform, stop - start, [o[start:stop] for o in outs], threads, False, 1.0
            )
            total = sums if total is None else [a + b for a, b in zip(total, sums)]
            if bad is not None:
                all_bad.append(bad + start)
        return (np.concatenate(all_bad) if all_bad else None), total or []

    def _path_of(self, rows: Rows, r: int) -> RowPath:
        """The way that a row takes, by running the function: a new one, or one that is there."""
        leaves = rows.row(r)
        shape: Shape = ("tuple", (NUMBER,) * len(leaves))

        def one_row(*flat: Any) -> Any:
            args, kwargs = rows.arrange(list(flat))
            return self.f(*args, **kwargs)

        one_row.__qualname__ = name_of(self.f)
        found = trace_twice(one_row, self.f, shape, peek(leaves))
        with self.lock:
            paths = self.paths.setdefault(rows.key, [])
            for path in paths:
                if same_way(path.trace, found):
                    return path
            if len(paths) >= MAX_PATHS:
                raise TraceError(
                    f"the rows of {self!r} have taken {MAX_PATHS} different ways through its branches\n"
                    "  Each is compiled on its own.\n"
                    "  Write the choice that depends on the numbers as micrograd.math.where(condition, a, b)."
                )
            if paths and paths[0].trace.shape != found.shape:
                raise self._arranged_otherwise(r, paths[0].trace.shape, found.shape)
            shared = len(rows.uniform)
            if paths:
                found = same_captured(found, paths[0].trace.captured)
            if paths and len(found.captured) > len(paths[0].trace.captured):  # all ways list them, in paths made anew:
                paths[:] = [  # the old ones may be running in another thread, or be compiled in the background
                    RowPath(same_captured(old.trace, found.captured), len(leaves) - shared, shared, self.settings)
                    for old in paths
                ]
            path = RowPath(found, len(leaves) - shared, shared, self.settings)
            paths.append(path)
        return path

    def _arranged_otherwise(self, r: int, first: Shape, found: Shape) -> TypeError:
        return TypeError(
            f"the rows of {self!r} arrange their results in different ways: {written(first)}, and in row {r} {written(found)}\n"
            "  Return the same arrangement of numbers along every branch."
        )

    def _columns(self, shape: Shape, outs: Any, rows: Rows) -> Any:
        """Result columns in the arrangement of the result of one row."""

        def array(dimensions: tuple[int, ...]) -> Any:
            columns = [next(outs) for _ in range(prod(dimensions))]
            return rows.np.stack(columns, axis=1).reshape(rows.rows, *dimensions)

        return rebuild(shape, outs.__next__, array)

    def _eager(self, rows: Rows) -> Any:
        """Row by row, as a plain loop: inside an outer trace, or on arrays of Values."""
        results, shapes = [], []
        for r in range(rows.rows):
            args, kwargs = rows.arrange(as_floats(rows.row(r)))
            leaves: list[Any] = []
            shapes.append(flatten(self.f(*args, **kwargs), leaves))
            if shapes[r] != shapes[0]:
                raise self._arranged_otherwise(r, shapes[0], shapes[r])
            results.append(leaves)
        shape = shapes[0]
        columns = list(zip(*results))
        if self.reduce is not None:
            function = math.sum if self.reduce == "sum" else math.mean
            return unflatten(shape, iter([function(c) for c in columns]))
        arrays = []
        for c in columns:
            connected = any(isinstance(x, Value) for x in c) and (rows.by_eager or is_recording())
            array = rows.np.empty(len(c), dtype=object if connected else float)
            array[:] = c if connected else peek(list(c))
            arrays.append(array)
        return self._columns(shape, iter(arrays), rows)

    def source(self, /, *args: Any, **kwargs: Any) -> str:
        """The LLVM text for these arguments."""
        rows = Rows(args, kwargs, self.in_axes, self.static)
        path = (self.paths.get(rows.key) or [self._path_of(rows, 0)])[0]
        return path.code(self.reduce is not None, self._plan(rows).gradient).source

    def tape(self, /, *args: Any, **kwargs: Any) -> Tape:
        """The tape of one row for these arguments."""
        rows = Rows(args, kwargs, self.in_axes, self.static)
        return (self.paths.get(rows.key) or [self._path_of(rows, 0)])[0].tape


def _nodes(columns: list[Any], count: int, inputs: list[Value], np: Any) -> list[Any]:
    """Columns of Values from `count` columns of numbers and, behind them, those of their slopes by each of the inputs."""
    arrays = []
    for k in range(count):
        first = count + k * len(inputs)
        array = np.empty(len(columns[k]), dtype=object)
        for start in range(0, len(array), 1024):  # as Python's floats, slopes take three times as much memory
            part = slice(start, start + 1024)
            slopes = np.stack([c[part] for c in columns[first : first + len(inputs)]], axis=1).tolist()
            array[part] = [engine.node(y, RESULT, inputs, row) for y, row in zip(columns[k][part].tolist(), slopes)]
        arrays.append(array)
    return arrays


def vmap(
    f: Callable[..., Any] | None = None, *, in_axes: Any = 0, reduce: str | None = None, threads: int | None = None,
    batch_size: int | None = None, exact: bool = False, fastmath: bool = False, float32: bool = False, width: int | None = None,
) -> Any:  # fmt: skip
    """Map a function of one row over the rows of NumPy arrays, as machine code.

    - in_axes: along which axis the rows of each argument lie; None for an argument that is the same in all rows. Those of
      arguments that are given by name lie along axis 0.
    - reduce: None gives a result for each row; "sum" and "mean" add them up inside the machine code, gradients included.
    - threads: how many cores; all of them by default. The number changes no bit of the result.
    """
    if f is None:
        return lambda g: vmap(
            g,
            in_axes=in_axes,
            reduce=reduce,
            threads=threads,
            batch_size=batch_size,
            exact=exact,
            fastmath=fastmath,
            float32=float32,
            width=width,
        )
    rows: Any = f
    static: tuple[int, ...] = ()
    if getattr(f, "kernel", None) is f:  # a jitted function: the rows run what it was made of, as it was to be compiled
        rows, inner, static = f.f, f.settings, f.static  # type: ignore[union-attr]
        exact, fastmath = exact or (inner.exact and not (fastmath or float32)), fastmath or (inner.fast and not exact)
    return Vmap(rows, in_axes, reduce, threads, batch_size, Settings(exact, fastmath, float32, width, True), static)
