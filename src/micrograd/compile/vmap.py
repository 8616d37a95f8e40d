"""vmap: a function of one row, over all rows of NumPy arrays at once: SIMD lanes, all cores."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, NoReturn, overload

from micrograd import anomaly, engine
from micrograd.compile import axes, cuda, explain, llvm, opencl
from micrograd.compile import backend as backends
from micrograd.compile.batch import (
    ByVariant,
    Inputs,
    RowsVariant,
    add_blocks,
    columns_by_row,
    nodes_by_row,
    of_no_rows,
    run_eagerly,
    sum_blocks,
)
from micrograd.compile.kernel import RESULT
from micrograd.compile.options import Options
from micrograd.compile.pipeline import Goal
from micrograd.compile.protocol import Compiled, R
from micrograd.compile.rows import Rows
from micrograd.compile.rows_tracing import Again, RowsTracing
from micrograd.compile.tuning import TUNING
from micrograd.compile.variants import TRIES, Variants
from micrograd.engine import Value
from micrograd.errors import TraceError
from micrograd.evidence.rounding import same_bits
from micrograd.importable import attribute_of, by_name
from micrograd.observed import is_recording
from micrograd.stage import budget
from micrograd.stage.budget import Account
from micrograd.stage.jumps import has_loops
from micrograd.tape import passes
from micrograd.tape.tape import PICK, Tape
from micrograd.tape.trace import is_tracing
from micrograd.tree import NUMBER, name_of, unflatten, wants_function
from micrograd.typed import P

if TYPE_CHECKING:
    from numpy.typing import NDArray


def _cores() -> int:
    """How many threads there are by default: MICROGRAD_THREADS, else as many as cores."""
    given = os.environ.get("MICROGRAD_THREADS", "")
    if not given:
        return os.cpu_count() or 1
    if not given.isdecimal() or int(given) < 1:
        raise ValueError(f"MICROGRAD_THREADS={given!r}: it must be a number of threads, from 1 on")
    return int(given)


CORES = _cores()


class RowsPlan:
    """The cached execution plan for one call signature."""

    def __init__(self, variant: RowsVariant, rows: Rows, owner: Vmap, record: bool) -> None:
        trace = variant.trace
        self.variants = owner.variants
        self.variant, self.shape, self.captured = variant, trace.shape, trace.captured
        self.count = len(trace.tape.outputs)
        values = {k: x for k, x in enumerate([*trace.captured, *rows.uniform]) if isinstance(x, Value)}
        self.values = bool(values)
        by = tuple(values) if record else ()
        self.guarded = bool(trace.tape.guards)
        options = owner.options.for_guards(self.guarded or trace.merged)
        told: tuple[int, ...] = ()
        if self.guarded or trace.tape.has_regions() or PICK in trace.tape.ops:  # rows may differ in what they read
            told = tuple([k for k in by if values[k]._prev])  # a leaf has no slope of its own
        self.goal = Goal(options, (), by, rows=True, reduced=owner.reduce is not None, told=told)
        self.gradient = bool(by)
        self.unread = passes.unread(variant.tape, (), by) if by and not self.guarded else None
        self.numbers_alone = not _has_arrays(self.shape)  # in the result of a row
        self.single = self.goal.reduced and owner.batch_size is None and self.shape == NUMBER  # one sum, in one go
        self.direct = self.single and self.gradient and self.unread is None and not told
        self.params = backends.find(options.backend).parameters(trace.captured)

    def inputs(self, rows: Rows) -> Inputs:
        """The Values of a call that the nodes of its results are made over."""
        values = [x for x in [*self.captured, *rows.uniform] if isinstance(x, Value)] if self.gradient else []
        return Inputs(values, self.unread, [self.goal.params.index(k) for k in self.goal.told])


def _on_device(options: Options, device: str) -> Options:
    """The options for a device by its name."""
    if device == "cpu":
        return replace(options, backend="llvm", device=0)
    if options.backend not in ("llvm", "cuda", "opencl"):
        raise ValueError(f"device={device!r} and backend={options.backend!r} cannot be combined: leave one of them out")
    if isinstance(device, str) and device.startswith("opencl"):
        return replace(options, backend="opencl", device=opencl.number_of(device))
    return replace(options, backend="cuda", device=cuda.number_of(device))


def _has_arrays(shape: Any) -> bool:
    """Whether there is an array in the arrangement of a result."""
    return isinstance(shape, tuple) and (shape[:1] == ("array",) or any(map(_has_arrays, shape)))


class Vmap(RowsTracing):
    """A function of rows. Arrays in, arrays out, or with reduce the sum or mean over rows; Values where Values took part."""

    def __init__(
        self, f: Callable[..., Any], in_axes: Any, reduce: str | None, threads: int | None, batch_size: int | None,
        options: Options, static: tuple[int, ...] = (), out_axes: Any = 0,
    ) -> None:  # fmt: skip
        self.in_axes, self.out_axes = axes.checked("in_axes", in_axes), axes.checked("out_axes", out_axes)
        if reduce is not None and out_axes != 0:
            raise ValueError(f"out_axes={out_axes!r}: with reduce={reduce!r} the result has no rows")
        if reduce not in (None, "sum", "mean"):
            raise ValueError(f'reduce={reduce!r}: it must be None, "sum" or "mean"')
        for name, least in (("batch_size", batch_size), ("threads", threads)):
            if least is not None and (not isinstance(least, int) or least < 1):
                raise ValueError(f"{name}={least!r}: it must be a whole number, at least 1, or None")
        wants_function(f, "map over rows")
        functools.update_wrapper(self, f, updated=())
        self.f, self.reduce, self.threads = f, reduce, threads
        self.static = static
        self.batch_size, self.options = batch_size, options
        self.variants: Variants[RowsVariant] = Variants()
        self.plans: dict[Any, RowsPlan] = {}
        self.account = Account()
        self.typed: Any = None  # for rows that no tape of many paths takes
        self.repeat: Callable[..., Any] | None = None  # answers a call like the last one, in C
        self.repeat_number: Callable[..., Any] | None = None  # the same without gradients: inside no_grad()

    def __repr__(self) -> str:
        return f"<vmap of {name_of(self.f)}>"

    def __getattr__(self, name: str) -> Any:
        return attribute_of(self, name)

    def __reduce__(self) -> Any:
        return by_name(self, self.f) or (Vmap, self._made_of(self.options))

    def _made_of(self, options: Options) -> tuple[Any, ...]:
        how = self.f, self.in_axes, self.reduce, self.threads, self.batch_size
        return *how, options, self.static, self.out_axes

    def __dir__(self) -> list[str]:
        return explain.public_names(self.f)

    def _with_options(self, options: Options) -> Vmap:
        """The same, compiled with other options: what jit(vmap(f)) is."""
        return Vmap(*self._made_of(options))

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        repeat = self.repeat
        if repeat is not None and not kwargs:
            result = repeat(*args)
            if result is not None:
                return result
        repeat = self.repeat_number
        if repeat is not None and not kwargs:
            result = repeat(*args)
            if result is not None:
                return result
        rows = Rows(args, kwargs, self.in_axes, self.static, may_be_empty=True)
        if rows.on_device:
            self._refuse_device(rows)
        result = self._on(rows, args)
        result = result if self.out_axes == 0 else axes.place_rows(result, self.out_axes)
        return self._handed_back(result, rows) if rows.on_device and self.reduce is None else result

    def _refuse_device(self, rows: Rows) -> None:
        """Refuse arrays on another device than this function runs on."""
        for _, array in rows.on_device:
            if self.options.backend != "cuda" or array.number != self.options.device:
                device = f"cuda:{array.number}" if array.number else "cuda"
                raise TypeError(
                    f"an argument of {self!r} lies on a GPU ({device}), where this function does not run\n"
                    f'  Give device="{device}" to vmap, or copy the argument to this machine first.'
                )

    def _handed_back(self, result: Any, rows: Rows) -> Any:
        """Results as arrays of the library whose arrays were given."""
        model, number = rows.on_device[0][0], self.options.device

        def one(x: Any) -> Any:
            if isinstance(x, (list, tuple)):
                inner = [one(y) for y in x]
                return type(x)(*inner) if hasattr(x, "_fields") else type(x)(inner)
            if isinstance(x, dict):
                return {key: one(y) for key, y in x.items()}
            if isinstance(x, rows.np.ndarray) and x.dtype == object:  # Values
                return x
            return cuda.device_array.handed_back(x, model, number)

        return one(result)

    def _on(self, rows: Rows, args: tuple[Any, ...]) -> Any:
        if rows.rows == 0:
            return of_no_rows(self, rows)
        if rows.by_eager or is_tracing():
            return run_eagerly(self, rows)
        run = functools.partial(self._settled, args) if engine.NATIVE else functools.partial(run_eagerly, self)
        if not (anomaly.looking and anomaly.here()):
            return run(rows)
        result = anomaly.without_alarm(lambda: run(rows))
        anomaly.look_at_rows(self.f, rows, result)
        return result

    def _settled(self, args: tuple[Any, ...], rows: Rows) -> Any:
        """The result; begun again where a row takes a path that meets more Values than all paths before."""
        variants = self.variants
        if variants.outdated():  # something that they have read is not as it was
            self._begin_again(variants)
            self.variants.warn_of_changes(self, variants.watch.outside if variants.watch is not None else "")
        again = TRIES
        while True:
            try:
                result = self._compiled(args, rows)
                if not self.variants.doubtful(lambda: self._as_plain(rows)):
                    return result
            except Again:
                continue
            except TraceError as error:
                if not self.variants.may_be_disturbed(error):
                    raise
                if not again:
                    raise self.variants.changing(error) from None
                result = None
            self._begin_again(self.variants)  # now, or in the next call
            if not again:
                return result
            again -= 1

    def _begin_again(self, variants: Variants[RowsVariant]) -> None:
        """Forget these variants, if no other thread has done so."""
        with variants.lock:
            if self.variants is variants:
                self.variants, self.plans = Variants(variants), {}
                self.repeat = self.repeat_number = None

    def _compiled(self, args: tuple[Any, ...], rows: Rows) -> Any:
        self._look(rows)
        plan = self._plan(rows)
        if self.reduce is None:
            return self._by_row(rows, plan)
        scale = 1.0 / rows.rows if self.reduce == "mean" else 1.0
        if plan.direct and not plan.guarded:  # a training step: straight to a node
            kernel = plan.variant.compile(plan.goal)
            if isinstance(kernel.code, llvm.machine_code.MachineRows):
                uniform = plan.captured + rows.uniform if rows.uniform else plan.params
                threads = self.threads or CORES
                _, result = kernel.code.node(tuple(rows.arrays), tuple(rows.axes), uniform, rows.rows, threads, scale)
                self.repeat = self._remember(plan, args, rows, threads, RESULT) or self.repeat
                return result
        sums = self._sums(rows, plan)
        if plan.single and not plan.gradient and not plan.guarded:
            self.repeat_number = self._remember(plan, args, rows, self.threads or CORES, None) or self.repeat_number
        results: list[Any] = [s * scale for s in sums]
        if plan.gradient:
            inputs = plan.inputs(rows)
            results = [inputs.node(k, *parts) for k, parts in enumerate(inputs.split(results, plan.count))]
        elif plan.values:
            results = [Value(y) for y in results]
        return unflatten(plan.shape, iter(results))

    def one_kernel(self, *args: Any) -> tuple[RowsPlan, Any] | None:
        """The plan and the code of a call whose result is one Value by one kernel, which every such call runs; or None."""
        if not engine.NATIVE or self.batch_size is not None or self.variants.outdated():
            return None
        rows = Rows(args, {}, self.in_axes, self.static)
        if not self.variants.of(rows.key):
            return None
        plan = self._plan(rows)
        settled = plan.direct and not plan.guarded and not rows.uniform and plan.variant.trace.evidence.arms is None
        return (plan, plan.variant.compile(plan.goal).code) if settled else None

    def check_size(self, rows: Rows, plan: RowsPlan) -> int:
        """How many numbers each row gives; an error where all of them would not fit into memory."""
        count = plan.goal.numbers(plan.count)
        if plan.gradient and count * rows.rows > TUNING.max_partials:
            raise ValueError(
                f"{rows.rows:,} rows of {self!r} would give as many Values, with {count:,} numbers each\n"
                f"  That takes about {count * rows.rows * 24 / 1e9:.0f} GB: a Value keeps its partial by each captured one.\n"
                '  Add the rows up with reduce="sum" or "mean", or call it inside no_grad() for plain numbers.'
            )
        return count

    def _by_row(self, rows: Rows, plan: RowsPlan) -> Any:
        np = rows.np
        count = self.check_size(rows, plan)
        kind = "f4" if self.options.float32 else "f8"
        dtype = np.dtype("f4" if plan.goal.options.float32 else "f8")
        stay = rows.on_device and not (plan.guarded or plan.gradient) and self.out_axes == 0 and plan.numbers_alone
        if stay:
            return self._by_row_on_device(rows, plan, dtype)
        outs = [np.empty(rows.rows, dtype=dtype) for _ in range(count)]
        if plan.guarded:
            self._by_variant(rows, plan, outs)
        else:
            params = plan.captured + rows.uniform
            code = plan.variant.compile(plan.goal).code
            code.run(tuple(rows.arrays), tuple(rows.axes), params, rows.rows, outs, self.threads or CORES)
        outs = [o.astype(kind, copy=False) for o in outs]
        if plan.gradient:  # each row gives a Value, as in a loop over the rows
            outs = nodes_by_row(outs, plan.count, plan.inputs(rows), np)
        return columns_by_row(plan.shape, iter(outs), rows)

    def _by_row_on_device(self, rows: Rows, plan: RowsPlan, dtype: Any) -> Any:
        """Results that never leave the device."""
        device = cuda.driver.device(self.options.device)
        _, outs = cuda.device_array.empty(device, plan.count, rows.rows, dtype)
        params = plan.captured + rows.uniform
        code = plan.variant.compile(plan.goal).code
        code.run(tuple(rows.arrays), tuple(rows.axes), params, rows.rows, outs, 1)
        return columns_by_row(plan.shape, iter(outs), rows)

    def _sums(self, rows: Rows, plan: RowsPlan) -> list[float]:
        """The sums over all rows of the results, then of their gradients."""
        if plan.guarded:
            return self._by_variant(rows, plan, []).totals()
        params, threads = plan.captured + rows.uniform, self.threads or CORES
        kernel = plan.variant.compile(plan.goal)
        if self.batch_size is None or self.batch_size >= rows.rows:
            _, sums = kernel.code.run(tuple(rows.arrays), tuple(rows.axes), params, rows.rows, [], threads)
            return list(sums)
        blocks, _ = sum_blocks(kernel, rows, params, threads, None, self.batch_size)
        return add_blocks(blocks)

    def _by_variant(self, rows: Rows, plan: RowsPlan, outs: list[Any]) -> ByVariant:
        """Run rows that take several paths."""
        work = ByVariant(rows, plan.goal, self.threads or CORES, self.batch_size)
        work.outs = outs
        tried: set[RowsVariant] = set()
        found = 0
        typed = self._may_be_typed(plan)
        few = TUNING.exact_paths if self.options.exact else 0  # exact paths have the same bits either way
        while not work.done():
            variant = next((v for v in self.variants.of(rows.key) if v not in tried), None)
            alone = variant is None or not variant.trace.staged
            if typed and alone and self.variants.chain(rows.key, []).closed and found >= few:
                typed = False
                if self._run_typed(rows, plan, work):
                    continue
            if variant is None:
                row = work.first()
                if not self._pays(rows, row, plan):
                    self._run_plainly(rows, plan, work)
                    break
                if found >= TUNING.max_variants:
                    explain.warn_of_paths(self, row, self._traced(rows, row, plan.captured).trace, TUNING.max_variants)
                    while not work.done():
                        work.run_eagerly(self._traced(rows, work.first(), plan.captured), work.first())
                    break
                with self.account.spending():
                    variant, new = self._variant(rows, row, tried)
                if typed and not few and not variant.trace.staged:  # no tape of many paths takes the rows that are left
                    continue
                found += new and not variant.trace.staged
                self._same_numbering(variant, plan)
                if not new and variant in tried:  # its kernel did not accept the row, which follows it all the same
                    work.run_eagerly(variant, row)
                    continue
            self._same_numbering(variant, plan)
            tried.add(variant)
            before = work.remaining
            if plan.goal not in variant.kernels:
                with self.account.spending():
                    variant.compile(plan.goal)
            work.run(variant)
            self.account.rows += (rows.rows if before is None else len(before)) - len(work.remaining)
            if len(work.remaining) < (rows.rows if before is None else len(before)):
                if not variant.trace.evidence.compared:
                    self._compare(rows, variant, before, work.remaining)
                self.variants.touch(rows.key, variant, 0)
        return work

    def _may_be_typed(self, plan: RowsPlan) -> bool:
        """Whether rows that no tape of many paths takes may go to a typed tape, which has them all."""
        options = self.options
        return (
            options.backend == "llvm"
            and not (plan.values or plan.captured or options.fastmath or options.float32)
            and TUNING.looping_numbers <= 1
            and has_loops(self.f)
        )

    def _run_typed(self, rows: Rows, plan: RowsPlan, work: ByVariant) -> bool:
        """Run the rows that are left by a typed tape; whether there is one."""
        if self.typed is None:
            from micrograd.compile.typed.rows import TypedRows

            self.typed = TypedRows(self.f, self.options.exact)
        with self.account.spending():
            index = rows.np.arange(rows.rows) if work.remaining is None else work.remaining
            found = self.typed.run(rows, plan.shape, index, self.threads or CORES)
        if found is None:
            return False
        work.keep_rows(index, *found)
        return True

    def _pays(self, rows: Rows, row: int, plan: RowsPlan) -> bool:
        """Whether one more path may be compiled: see Account."""
        account = self.account
        if account.pays():
            return True
        if account.plain is None:
            began = budget.clock()
            with contextlib.suppress(Exception):  # whoever runs the row finds out
                if plan.gradient:
                    self._eager(rows, row, plan)
                else:
                    self._plain_numbers(rows, row)
            account.plain = budget.clock() - began
        return account.pays()

    def _run_plainly(self, rows: Rows, plan: RowsPlan, work: ByVariant) -> None:
        """Run the rows that are left in plain Python, and say so once."""
        account, row = self.account, work.first()
        first = self._eager(rows, row, plan)
        if not account.warned:
            account.warned = True
            explain.warn_of_time(
                self, row, first.trace, len(work.remaining) if work.remaining is not None else rows.rows
            )
        numbers = not plan.gradient and not self.options.exact and self._agrees(rows, row, first)
        while not work.done():
            row = work.first()
            found = self._plain_numbers(rows, row) if numbers else None
            if found is not None and found[0] == plan.shape:
                work.keep(row, found[1])
                continue
            variant = first if row == first.row else self._eager(rows, row, plan)
            work.keep(row, work.interpreted(variant, row))

    def _agrees(self, rows: Rows, row: int, found: RowsVariant) -> bool:
        """Whether the function gives for plain numbers, to the bit, what its trace gives."""
        plain = self._plain_numbers(rows, row)
        return (
            plain is not None and plain[0] == found.trace.shape and all(map(same_bits, plain[1], found.trace.numbers))
        )

    def _same_numbering(self, variant: RowsVariant, plan: RowsPlan) -> None:
        if variant.trace.captured is not plan.captured and len(variant.trace.captured) != len(plan.captured):
            raise Again
        if variant.trace.shape != plan.shape:
            raise Again

    def _remember(
        self, plan: RowsPlan, args: tuple[Any, ...], rows: Rows, threads: int, op: Any
    ) -> Callable[..., Any] | None:
        """A callable in C for calls on arrays of the same kinds, which are answered without a second look; None for others."""
        same = len(rows.arrays) == len(args) and all(a is b for a, b in zip(args, rows.arrays))
        if rows.uniform or self.in_axes != 0 or not same or type(plan.params) is list:
            return None
        if plan.variant.trace.evidence.arms is not None:  # later calls are to be looked at
            return None
        if any(type(a) is not type(args[0]) for a in args):
            return None
        from micrograd import _engine

        kernel = plan.variant.compile(plan.goal)
        code = kernel.code
        if not isinstance(code, llvm.machine_code.MachineRows):
            return None
        work = code.machine_code, code.width, code.item, code.sums, code.scratch, threads
        here = kernel.__dict__, "code", code  # it holds as long as the kernel has this code
        watch = None if plan.variants.watch is None else plan.variants.watch.key
        return _engine.row_call(args, here, plan.params, work, op, self.reduce == "mean", watch)

    def _plan(self, rows: Rows) -> RowsPlan:
        """The execution plan for calls like this one."""
        kinds = tuple([isinstance(x, Value) and 1 + bool(x._prev) for x in rows.uniform])  # numbers, leaves, nodes
        key = rows.key, kinds, is_recording()
        variants, plans = self.variants, self.plans
        plan = plans.get(key)
        known = variants.of(rows.key)
        if plan is None or not known or plan.captured is not known[0].trace.captured:
            with self.account.spending():
                variant = known[0] if known else self._variant(rows, 0, set())[0]
            if self.variants is not variants:  # something outside has changed meanwhile
                raise Again
            plan = plans[key] = RowsPlan(variant, rows, self, key[2])
        return plan

    # ---- looking inside

    def source(self, /, *args: Any, **kwargs: Any) -> str:
        """The text of the code that runs for the first row of these arguments: with gradients, where Values take part.

        With device="cuda", it is the PTX that a GPU would get; with device="opencl", the LLVM text that becomes its SPIR-V.
        """
        if isinstance(kwargs.get("device"), str):  # which is no argument with rows
            device = kwargs.pop("device")
            return self._with_options(_on_device(self.options, device)).source(*args, **kwargs)
        return str(self._for(args, kwargs)[1].text.source)

    def tape(self, /, *args: Any, **kwargs: Any) -> Tape:
        """The tape of the first row of these arguments, as it was traced."""
        rows = Rows(args, kwargs, self.in_axes, self.static)
        return self._taking(rows, 0).tape

    def explain(self, /, *args: Any, **kwargs: Any) -> Any:
        """What was traced for the first row, the tape after each pass, and the kernels that exist. Print the result."""
        variant, kernel = self._for(args, kwargs)
        return explain.report(self, list(self.variants), variant, kernel)

    def _for(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[RowsVariant, Any]:
        rows = Rows(args, kwargs, self.in_axes, self.static)
        variant = self._taking(rows, 0)
        return variant, variant.compile(self._plan(rows).goal, "its source was asked for")


@overload
def vmap(
    f: Callable[P, R], in_axes: Any = 0, out_axes: Any = 0, *,
    reduce: Literal["sum", "mean"], threads: int | None = None, batch_size: int | None = None,
    exact: bool = False, fastmath: bool = False, float32: bool = False, width: int | None = None, backend: str = "llvm",
    device: str = "cpu", client: Any = None, progress: Any = None,
) -> Compiled[..., R]: ...  # fmt: skip
@overload
def vmap(
    f: Callable[P, NoReturn], in_axes: Any = 0, out_axes: Any = 0, *,
    reduce: None = None, threads: int | None = None, batch_size: int | None = None,
    exact: bool = False, fastmath: bool = False, float32: bool = False, width: int | None = None, backend: str = "llvm",
    device: str = "cpu", client: Any = None, progress: Any = None,
) -> Compiled[..., Any]: ...  # fmt: skip
@overload
def vmap(
    f: Callable[P, float | Value], in_axes: Any = 0, out_axes: Any = 0, *,
    reduce: None = None, threads: int | None = None, batch_size: int | None = None,
    exact: bool = False, fastmath: bool = False, float32: bool = False, width: int | None = None, backend: str = "llvm",
    device: str = "cpu", client: None = None, progress: Any = None,
) -> Compiled[..., NDArray[Any]]: ...  # fmt: skip
@overload
def vmap(
    f: Callable[P, Any], in_axes: Any = 0, out_axes: Any = 0, *,
    reduce: Literal["sum", "mean"] | None = None, threads: int | None = None, batch_size: int | None = None,
    exact: bool = False, fastmath: bool = False, float32: bool = False, width: int | None = None, backend: str = "llvm",
    device: str = "cpu", client: Any = None, progress: Any = None,
) -> Compiled[..., Any]: ...  # fmt: skip
@overload
def vmap(
    f: None = None, in_axes: Any = 0, out_axes: Any = 0, *,
    reduce: Literal["sum", "mean"], threads: int | None = None, batch_size: int | None = None,
    exact: bool = False, fastmath: bool = False, float32: bool = False, width: int | None = None, backend: str = "llvm",
    device: str = "cpu", client: Any = None, progress: Any = None,
) -> Callable[[Callable[..., R]], Compiled[..., R]]: ...  # fmt: skip
@overload
def vmap(
    f: None = None, in_axes: Any = 0, out_axes: Any = 0, *,
    reduce: None = None, threads: int | None = None, batch_size: int | None = None,
    exact: bool = False, fastmath: bool = False, float32: bool = False, width: int | None = None, backend: str = "llvm",
    device: str = "cpu", client: Any = None, progress: Any = None,
) -> Callable[[Callable[..., Any]], Compiled[..., Any]]: ...  # fmt: skip
def vmap(
    f: Callable[P, Any] | None = None, in_axes: Any = 0, out_axes: Any = 0, *,
    reduce: str | None = None, threads: int | None = None, batch_size: int | None = None,
    exact: bool = False, fastmath: bool = False, float32: bool = False, width: int | None = None, backend: str = "llvm",
    device: str = "cpu", client: Any = None, progress: Any = None,
) -> Any:  # fmt: skip
    """Map a function of one row over the rows of NumPy arrays, as machine code.

    - in_axes: the axis along which the rows of each argument run; None for an argument that is the same in all rows; a dict,
      list or tuple of axes for an argument that is such a structure. For keyword arguments, rows always run along axis 0.
    - out_axes: the axis along which the rows of the result run, or a structure of them.
    - reduce: None gives a result for each row; "sum" and "mean" add them up inside the machine code, gradients included.
    - threads: the number of cores; all of them by default, or as many as the environment variable MICROGRAD_THREADS says. It
      changes no bit of the result.
    - batch_size: about how many rows to run at once, in multiples of 2,048. It changes no bit of the result.
    - device: "cuda" runs the rows on an NVIDIA GPU ("cuda:1" on the second one), "opencl" on any device that has a runtime of
      OpenCL. See "On a GPU" in the documentation.
    - exact: results equal those of eager code to the bit (slower: no vector functions, no fused multiply-add).
    - fastmath: allow rewrites that hold for real numbers, but not for nan, inf and -0.0.
    - float32: compute in single precision, twice as many rows at a time.
    - width: how many rows are computed at a time: 1, 2, 4 … 64; by default as many as the vectors of the processor hold.
    - backend: what compiles and runs it.
    - client: a client of dask.distributed, whose workers run the rows. It changes no bit of the result. Arguments may then be
      Dask arrays too.
    - progress: a function that is called after each chunk of rows that a client has run.

    Each number of the result becomes an array with an entry for each row. Ints and bools become floats: True is 1.0.

    >>> import numpy as np
    >>> from micrograd import vmap
    >>> vmap(lambda x, y: x * y)(np.array([1.0, 2.0]), np.array([3.0, 4.0])).tolist()
    [3.0, 8.0]
    """
    if f is None:
        return functools.partial(
            vmap, in_axes=in_axes, out_axes=out_axes, reduce=reduce, threads=threads, batch_size=batch_size, exact=exact,
            fastmath=fastmath, float32=float32, width=width, backend=backend, device=device, client=client,
            progress=progress)  # fmt: skip
    function: Any = f
    static: tuple[int, ...] = ()
    if getattr(f, "kernel", None) is f:  # a jitted function: the rows run what it was made of, with its options
        function, inner, static = f.f, f.options, f.static  # type: ignore[union-attr]
        exact = exact or (inner.exact and not (fastmath or float32))
        fastmath = fastmath or (inner.fastmath and not exact)
    options = Options(exact, fastmath, float32, width, True, backend)
    if device != "cpu":
        options = _on_device(options, device)
    found = Vmap(function, in_axes, reduce, threads, batch_size, options, static, out_axes)
    if client is None:
        return found
    from micrograd.cluster.vmap import distribute

    return distribute(found, client, progress)
