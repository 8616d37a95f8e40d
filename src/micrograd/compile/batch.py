"""Run the rows of a batch: each by the kernel of the variant that accepts it, summed block by block.

Rows are summed in blocks of BLOCK rows: within a block in a fixed order, and the blocks in the order of their numbers. Where
rows take several paths, the kernel of each variant runs over whole blocks and adds the rows that it accepts; the sums of one
block are then added in the order of the outcomes of the guards. So a sum depends on the rows alone: not on the number of
threads, on batch_size, on the order in which paths were found, or on the machine that summed a block.
"""

from __future__ import annotations

import copy
from collections import Counter
from math import nan, prod
from typing import Any

from micrograd import engine, math
from micrograd.compile import explain, pipeline
from micrograd.compile.backend import BLOCK
from micrograd.compile.kernel import RESULT, Kernel
from micrograd.compile.options import Options
from micrograd.compile.pipeline import Goal
from micrograd.compile.rows import Rows
from micrograd.compile.variants import Variant
from micrograd.engine import Value
from micrograd.observed import is_recording
from micrograd.tape import interpret
from micrograd.tape.tape import INPUT, PARAM, Tape
from micrograd.tape.trace import Trace, is_tracing, peek, trace
from micrograd.tree import NUMBER, Shape, as_floats, flatten, name_of, rebuild, unflatten, without_bools, written


class RowsVariant(Variant):
    """One traced path of the function of a row. Its inputs are what varies; all else are parameters."""

    def __init__(self, trace: Trace, varying: int, uniform: int) -> None:
        super().__init__(trace, uniform_as_params(trace.tape, varying, uniform, len(trace.captured)))
        self._interpreted: dict[Goal, Tape] = {}
        self.row = -1  # the only one that it is for; -1 for any

    def compile(self, goal: Goal, why: str = "rows took this path") -> Kernel:
        """The kernel for a goal, compiled if it is not there; a long one is optimized later in the background."""
        found = self.kernels.get(goal)
        if found is None:
            found = self.kernel(goal, why, False)
            found.optimize_later()
        return found

    def interpret(self, goal: Goal, numbers: list[float], params: list[float]) -> list[float]:
        """What the kernel for a goal would give for one row, with the roundings of eager code."""
        tape = self._interpreted.get(goal)
        if tape is None:
            exact = Goal(Options(exact=True), (), goal.params, told=goal.told)
            first = [step for step in pipeline.PASSES if step.name == "adjoint"]
            tape = self._interpreted[goal] = pipeline.run(first, self.tape, exact, _Nothing())
        return [float(x) for x in interpret.run(tape, numbers, params)]


class _Nothing:
    """A machine that is not asked anything: the adjoint pass needs none."""

    def spells(self, op: Any) -> bool:
        return True

    def registers(self, goal: Goal) -> int:
        return 1

    def fuses(self) -> bool:
        return False


def uniform_as_params(tape: Tape, varying: int, uniform: int, captured: int) -> Tape:
    """Inputs that are the same in each row, as parameters behind the captured ones."""
    ops, args = list(tape.ops), list(tape.args)
    for i, (op, row) in enumerate(zip(tape.ops, tape.args)):
        if op is INPUT and row[0] >= varying:
            ops[i], args[i] = PARAM, (captured + row[0] - varying,)
    return tape.copy(inputs=varying, params=captured + uniform, ops=ops, args=args)


def renumber_captured(found: Trace, first: list[Value]) -> Trace:
    """The trace with its captured Values numbered as `first` numbers them; new ones come behind."""
    order = {id(v): k for k, v in enumerate(first)}
    captured = list(first)
    for v in found.captured:
        if id(v) not in order:
            order[id(v)] = len(captured)
            captured.append(v)
    tape = found.tape
    rows = [(order[id(found.captured[args[0]])],) if op is PARAM else args for op, args in zip(tape.ops, tape.args)]
    new = copy.copy(found)
    new.tape, new.captured = tape.copy(params=len(captured), args=rows), captured
    new.evidence = found.evidence.again()
    return new


def sum_blocks(
    kernel: Kernel, rows: Rows, params: list[Any], threads: int, index: Any = None, batch_size: int | None = None
) -> tuple[Any, Any]:
    """The sums of each block of rows, an array of (blocks, sums); and the rows for which a guard failed, or None.

    `index` are the rows to take: whole blocks, in order. This is what a cluster distributes: the blocks of a batch can be
    summed anywhere, and `add_blocks` adds them to the same bits.
    """
    np = rows.np
    count = rows.rows if index is None else len(index)
    sums = np.empty((-(-count // BLOCK), kernel.outputs))
    at_once = count if batch_size is None else -(-batch_size // BLOCK) * BLOCK
    failed = []
    for start in range(0, count, at_once):
        stop = min(count, start + at_once)
        arrays = rows.slice(start, stop) if index is None else rows.select(index[start:stop])
        part = sums[start // BLOCK : -(-stop // BLOCK)]
        bad, _ = kernel.code.run(arrays, tuple(rows.axes), params, stop - start, [], threads, part)
        if bad is not None:
            failed.append(bad + start)
    return sums, np.concatenate(failed) if failed else None


def add_blocks(sums: Any) -> list[float]:
    """Add the sums of blocks, an array of (blocks, sums), in the order of the blocks."""
    import numpy as np

    total: list[float] = np.add.accumulate(np.concatenate([np.zeros((1, sums.shape[1])), sums]), axis=0)[-1].tolist()
    return total


def columns_by_row(shape: Shape, outs: Any, rows: Rows) -> Any:
    """Result columns, from an iterator, in the arrangement of the result of one row."""

    def array(dimensions: tuple[int, ...]) -> Any:
        columns = [next(outs) for _ in range(prod(dimensions))]
        return rows.np.stack(columns, axis=1).reshape(rows.rows, *dimensions)

    return rebuild(shape, outs.__next__, array)


def arranged_otherwise(owner: Any, row: int, first: Shape, found: Shape) -> TypeError:
    """The error for rows whose results have different structures."""
    return TypeError(
        f"the rows of {owner!r} arrange their results in different ways: {written(first)}, and in row {row} "
        f"{written(found)}\n"
        "  Return the same arrangement of numbers along every branch."
    )


class Inputs:
    """The Values behind the results of rows, and which of them each result has as inputs of its node.

    A Value that a result does not read gets nothing from its gradient. As an input with the partial 0 it would get nan from an
    infinite gradient, and hand nan on to its own inputs where a slope of its own is infinite.
    """

    def __init__(self, values: list[Value], unread: bytes | None, told: list[int]) -> None:
        self.values = values
        self.unread = unread  # for each result, a 1 for each Value that it never reads; None: all are read
        self.told = told  # the numbers of the Values of which a kernel tells whether they were read

    def node(self, k: int, y: float, partials: list[float], flags: list[float]) -> Value:
        """Result k as a node; the flags are not 0 for those of `told` that were read."""
        width = len(self.values)
        left_out = {self.told[n] for n, flag in enumerate(flags) if not flag}
        if self.unread is not None:
            left_out |= {n for n, skip in enumerate(self.unread[k * width : (k + 1) * width]) if skip}
        if not left_out:
            return engine.node(y, RESULT, self.values, partials)
        read = [n for n in range(width) if n not in left_out]
        return engine.node(y, RESULT, [self.values[n] for n in read], [partials[n] for n in read]) if read else Value(y)

    def split(self, numbers: list[Any], count: int) -> list[tuple[Any, list[Any], list[Any]]]:
        """Each of `count` results with its partials and its flags, out of what a kernel gives."""
        width, tell = len(self.values), len(self.told)
        partials, flags = numbers[count : count + count * width], numbers[count + count * width :]
        return [
            (y, partials[k * width : (k + 1) * width], flags[k * tell : (k + 1) * tell])
            for k, y in enumerate(numbers[:count])
        ]


def nodes_by_row(columns: list[Any], count: int, inputs: Inputs, np: Any) -> list[Any]:
    """Columns of Values from `count` columns of numbers and, behind them, those of their partials and flags."""
    arrays = []
    for k, (ys, *rest) in enumerate(inputs.split(columns, count)):
        array = np.empty(len(ys), dtype=object)
        for start in range(0, len(array), 1024):  # as Python's floats, partials take three times as much memory
            part = slice(start, start + 1024)
            tables = [np.stack([c[part] for c in table], axis=1).tolist() if table else None for table in rest]
            rows = zip(ys[part].tolist(), *(table or [[]] * len(ys[part]) for table in tables))
            array[part] = [inputs.node(k, y, partials, flags) for y, partials, flags in rows]
        arrays.append(array)
    return arrays


def _run_row(f: Any, rows: Rows, flat: list[Any], results: list[Any]) -> Shape:
    """Append the results of one row; returns their arrangement. Numbers are Values inside f, as in compiled code."""

    def run(*numbers: Any) -> Any:
        args, kwargs = rows.arrange(list(numbers))
        return without_bools(f(*args, **kwargs))

    if engine.NATIVE or rows.by_eager or is_tracing():
        return flatten(run(*flat), results)
    run.__qualname__ = name_of(f)
    found = trace(run, ("tuple", (NUMBER,) * len(flat)), peek(flat), frozen=False, origins=flat)
    results += interpret.run(found.tape, flat, found.captured)
    for k, x in found.constants:
        results[k] = x
    return found.shape


def run_eagerly(owner: Any, rows: Rows) -> Any:
    """Row by row, as a plain loop: inside an outer trace, or on arrays of Values."""
    results, shapes = [], []
    for r in range(rows.rows):
        leaves: list[Any] = []
        try:
            shapes.append(_run_row(owner.f, rows, as_floats(rows.row(r)), leaves))
        except Exception as error:
            explain.add_note(error, f"in row {r} of {owner!r}")
            raise
        if shapes[r] != shapes[0]:
            raise arranged_otherwise(owner, r, shapes[0], shapes[r])
        results.append(leaves)
    shape = shapes[0]
    columns = list(zip(*results))
    if owner.reduce is not None:
        function = math.sum if owner.reduce == "sum" else math.mean
        return unflatten(shape, iter([function(c) for c in columns]))
    arrays = []
    for c in columns:
        connected = any(isinstance(x, Value) for x in c) and (rows.by_eager or is_recording())
        array = rows.np.empty(len(c), dtype=object if connected else float)
        array[:] = c if connected else peek(list(c))
        arrays.append(array)
    return columns_by_row(shape, iter(arrays), rows)


def of_no_rows(owner: Any, rows: Rows) -> Any:
    """The results of an empty batch, arranged as those of a made-up row of 0.5s."""
    leaves: list[Any] = []
    try:
        shape = _run_row(owner.f, rows, as_floats(rows.row(0)), leaves)
    except Exception as reason:
        raise ValueError(
            "the batch is empty, and the function says for no made-up row how its results are arranged\n"
            f"  It raises {type(reason).__name__} where all numbers of the row are 0.5. Call it for at least one row."
        ) from reason
    if owner.reduce is not None:
        total = 0.0 if owner.reduce == "sum" else nan
        return unflatten(shape, iter([Value(total) if isinstance(x, Value) else total for x in leaves]))
    return columns_by_row(shape, iter([rows.np.empty(0) for _ in leaves]), rows)


class ByVariant:
    """The rows of one call, whose paths are found while they run."""

    def __init__(self, rows: Rows, goal: Goal, threads: int, batch_size: int | None) -> None:
        self.rows, self.goal, self.threads, self.batch_size = rows, goal, threads, batch_size
        self.remaining: Any = None  # the rows that no variant has accepted yet, in order; None: all of them
        self.sums: dict[RowsVariant, Any] = {}  # the sums of each block, by variant
        self.outs: list[Any] = []  # the results by row
        self.alone: Any = None  # the sums of each block, of rows that were run one by one

    def first(self) -> int:
        """The first row that no variant has accepted."""
        return 0 if self.remaining is None else int(self.remaining[0])

    def done(self) -> bool:
        """Whether all rows have been run."""
        return self.remaining is not None and not len(self.remaining)

    def run(self, variant: RowsVariant) -> None:
        """Run the rows that are left and that follow a variant."""
        kernel = variant.compile(self.goal)
        params = [*variant.trace.captured, *self.rows.uniform]
        accepted = self._sum if self.goal.reduced else self._store
        accepted(variant, kernel, params)

    def _store(self, variant: RowsVariant, kernel: Kernel, params: list[Any]) -> None:
        rows, np, index = self.rows, self.rows.np, self.remaining
        n = rows.rows if index is None else len(index)
        outs = self.outs if index is None else [np.empty(n, dtype=o.dtype) for o in self.outs]
        arrays = tuple(rows.arrays) if index is None else rows.select(index)
        bad, _ = kernel.code.run(arrays, tuple(rows.axes), params, n, outs, self.threads)
        if index is None:
            self.remaining = np.empty(0, int) if bad is None else bad
            return
        good = np.ones(n, bool)
        if bad is not None:
            good[bad] = False
        for out, part in zip(self.outs, outs):
            out[index[good]] = part[good]
        self.remaining = index[~good]

    def _sum(self, variant: RowsVariant, kernel: Kernel, params: list[Any]) -> None:
        """Run all blocks that hold a row that is left, since a sum must not depend on which rows were run before."""
        rows, np, left = self.rows, self.rows.np, self.remaining
        count = -(-rows.rows // BLOCK)
        blocks = np.arange(count) if left is None else np.unique(left // BLOCK)
        index = None
        if len(blocks) < count:
            index = (blocks[:, None] * BLOCK + np.arange(BLOCK)).ravel()
            index = index[index < rows.rows]
        sums, bad = sum_blocks(kernel, rows, params, self.threads, index, self.batch_size)
        if left is None and bad is None:
            self.sums[variant], self.remaining = sums, np.empty(0, int)
            return
        taken = np.zeros(rows.rows, bool)
        taken[slice(None) if index is None else index] = True
        if bad is not None:
            taken[bad if index is None else index[bad]] = False
        mine = taken if left is None else taken[left]
        total = self.sums.setdefault(variant, np.zeros((count, kernel.outputs)))
        total[blocks] = sums
        if left is not None and taken.sum() != mine.sum():  # it accepts rows that another variant has taken
            taken[left[mine]] = False
            alone = np.unique(np.flatnonzero(taken) // BLOCK)  # where its own rows are added once more, without others
            own = left[mine]
            for block in alone:
                index = own[own // BLOCK == block]
                total[block] = 0.0
                if len(index):
                    _, total[block] = kernel.code.run(rows.select(index), tuple(rows.axes), params, len(index), [], 1)
        self.remaining = np.flatnonzero(~taken) if left is None else left[~mine]

    def run_eagerly(self, variant: RowsVariant, row: int) -> None:
        """Run one row, the first that is left, without machine code."""
        np = self.rows.np
        results = self.interpreted(variant, row)
        if self.goal.reduced:
            total = self.sums.setdefault(variant, np.zeros((-(-self.rows.rows // BLOCK), len(results))))
            total[row // BLOCK] += results
        else:
            for out, y in zip(self.outs, results):
                out[row] = y
        self.remaining = np.arange(1, self.rows.rows) if self.remaining is None else self.remaining[1:]

    def interpreted(self, variant: RowsVariant, row: int) -> list[float]:
        """What a variant gives for one row, without machine code."""
        varying = self.rows.row(row)[: self.rows.varying()]
        return variant.interpret(self.goal, varying, peek([*variant.trace.captured, *self.rows.uniform]))

    def keep(self, row: int, results: list[float]) -> None:
        """Keep the results of the first row that is left, which was run on its own."""
        np = self.rows.np
        if self.goal.reduced:
            if self.alone is None:
                self.alone = np.zeros((-(-self.rows.rows // BLOCK), len(results)))
            self.alone[row // BLOCK] += results
        else:
            for out, y in zip(self.outs, results):
                out[row] = y
        self.remaining = np.arange(1, self.rows.rows) if self.remaining is None else self.remaining[1:]

    def keep_rows(self, index: Any, results: Any, bad: Any) -> None:
        """Keep the results of rows that are left, an array of (rows, numbers), but for those that are bad."""
        np, good = self.rows.np, ~bad
        if self.goal.reduced:
            if self.alone is None:
                self.alone = np.zeros((-(-self.rows.rows // BLOCK), results.shape[1]))
            np.add.at(self.alone, index[good] // BLOCK, results[good])
        else:
            for out, column in zip(self.outs, results.T):
                out[index[good]] = column[good]
        self.remaining = index[bad]

    def block_sums(self) -> Any:
        """The sums of each block of rows, an array of (blocks, sums)."""
        several = Counter([variant.outcomes for variant in self.sums])
        # Guards that compare with other constants may have the same outcomes: then the text of the tapes decides.
        ordered = sorted(self.sums, key=lambda v: (v.outcomes, v.text if several[v.outcomes] > 1 else ""))
        parts = [self.sums[variant] for variant in ordered] + ([] if self.alone is None else [self.alone])
        blocks = parts[0]
        for part in parts[1:]:
            blocks = blocks + part
        return blocks

    def totals(self) -> list[float]:
        """The sums over all rows."""
        return add_blocks(self.block_sums())
