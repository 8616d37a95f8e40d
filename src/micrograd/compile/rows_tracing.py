"""How the function of vmap is traced on rows: for many paths first, then along the path of one row (chain.py)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from micrograd.compile import backend as backends
from micrograd.compile import explain
from micrograd.compile.batch import RowsVariant, arranged_otherwise, renumber_captured
from micrograd.compile.chain import Tracer, accepts
from micrograd.compile.options import Options
from micrograd.compile.rows import Rows
from micrograd.compile.variants import Variants
from micrograd.engine import Value, no_grad
from micrograd.evidence.arms import Others
from micrograd.tape.trace import Trace, peek, trace
from micrograd.tree import NUMBER, Shape, flatten, name_of, without_bools

CHECKED = 256  # rows, evenly spaced, among which those are chosen that a merged trace is checked on


class Again(Exception):
    """The plan does not hold any longer: another path has met more Values, or a variant was withdrawn."""


FEW = 8  # rows that are run again where another thread may have disturbed a trace


class RowsTracing:
    """The variants of a function of rows."""

    f: Callable[..., Any]
    options: Options
    variants: Variants[RowsVariant]

    def _tracer(self, rows: Rows, row: int, others: Others | None = None) -> Tracer:
        """How the function is traced on a row. An exception that it raises gets a note with the row."""
        leaves = rows.row(row)
        shape: Shape = ("tuple", (NUMBER,) * len(leaves))

        def one_row(*flat: Any) -> Any:
            args, kwargs = rows.arrange(list(flat))
            return without_bools(self.f(*args, **kwargs))

        one_row.__qualname__ = name_of(self.f)
        apart = self.options.exact or not backends.find(self.options.backend).regions
        return Tracer(
            one_row, self.f, shape, leaves, code=self.f, arrange=rows.arrange, apart=apart, rows=True,
            others=others or Others(functools.partial(rows.spread, CHECKED), rows.surveyed),
        )  # fmt: skip

    def _next(self, rows: Rows, row: int) -> Trace:
        """The trace to try next for a row that no variant holds for. An exception that it raises gets a note with the row."""
        chain = self.variants.chain(rows.key, [])
        try:
            tracer = self._tracer(rows, row)
            level, found = chain.level, tracer.next(chain)
            if found is not None:
                chain.level = level + 1
                return found
            return tracer.plain(chain)
        except Exception as error:
            explain.add_note(error, f"in row {row} of {self!r}")
            raise

    def _traced(self, rows: Rows, row: int, captured: list[Value]) -> RowsVariant:
        """The path of one row, which is not kept."""
        found = renumber_captured(self._next(rows, row), captured)
        if len(found.captured) > len(captured):
            self._variant(rows, row, None)
            raise Again
        return RowsVariant(found, rows.varying(), len(rows.uniform))

    def _eager(self, rows: Rows, row: int, plan: Any) -> RowsVariant:
        """The path of one row, traced once, which is neither compiled nor kept."""
        tracer = self._tracer(rows, row)
        try:
            one = trace(tracer.f, tracer.shape, tracer.checker.values, frozen=True)
        except Exception as error:
            explain.add_note(error, f"in row {row} of {self!r}")
            raise
        found = renumber_captured(one, plan.captured)
        if len(found.captured) > len(plan.captured):
            self._variant(rows, row, None)
            raise Again
        if found.shape != plan.shape:
            raise arranged_otherwise(self, row, plan.shape, found.shape)
        made = RowsVariant(found, rows.varying(), len(rows.uniform))
        made.row = row
        return made

    def _plain_numbers(self, rows: Rows, row: int) -> tuple[Shape, list[float]] | None:
        """What the function itself gives for a row of plain numbers; None where it raises an exception, or gives none."""
        args, kwargs = rows.arrange(peek(rows.row(row)))
        results: list[Any] = []
        try:
            with no_grad():
                shape = flatten(without_bools(self.f(*args, **kwargs)), results)
            return shape, [float(x) for x in peek(results)]
        except Exception:  # where it may not be one of the trace, as of math.log(0.0)
            return None

    def _taking(self, rows: Rows, row: int) -> RowsVariant:
        """The variant that a row is run by, traced where it is not yet."""
        numbers = peek(rows.row(row))
        for variant in self.variants.of(rows.key):
            if accepts(variant.trace, numbers):
                return variant
        while True:
            variant, _ = self._variant(rows, row, None)
            if not variant.trace.staged or accepts(variant.trace, numbers):
                return variant

    def _variant(self, rows: Rows, row: int, tried: set[RowsVariant] | None) -> tuple[RowsVariant, bool]:
        """The variant to try next for a row that those which were tried do not hold for; and whether it is new."""
        varying, uniform = rows.varying(), len(rows.uniform)
        with self.variants.lock:
            others = self.variants.of(rows.key)
            found = None if tried is None else next((v for v in others if v not in tried), None)
            if found is not None:  # another thread has made it meanwhile
                return found, False
            self.variants.begin(self.f, self.f)
            trace = self._next(rows, row)
            modules = trace.modules
            known = self.variants.known(rows.key, trace)
            if known is not None:
                return known, False
            if others and others[0].trace.shape != trace.shape and not any(v.taken for v in others):
                self.variants.withdraw(rows.key, [])  # it arranges its results as rows do of which there are none
                others = self.variants.of(rows.key)
            if others:
                first = others[0].trace
                if first.shape != trace.shape:
                    raise arranged_otherwise(self, row, first.shape, trace.shape)
                trace = renumber_captured(trace, first.captured)
                if len(trace.captured) > len(first.captured):
                    # All variants list all parameters. They are replaced: the old ones may be running in another thread.
                    renumbered = [
                        RowsVariant(renumber_captured(v.trace, trace.captured), varying, uniform) for v in others
                    ]
                    for old, made in zip(others, renumbered):
                        made.taken = old.taken
                    self.variants.by_signature[rows.key] = renumbered
                trace.captured = self.variants.of(rows.key)[0].trace.captured
            variant = self.variants.again(rows.key, trace) or RowsVariant(trace, varying, uniform)
            self.variants.add(rows.key, variant)
            self.variants.read(self.f, modules)
        return variant, True

    def _as_plain(self, rows: Rows) -> bool:
        """Whether the variants give what plain runs give now, at the first row that each of them takes of the first few."""
        found = {}
        for row in range(min(rows.rows, FEW)):
            tracer = self._tracer(rows, row)
            for variant in self.variants.of(rows.key):
                if variant not in found and accepts(variant.trace, tracer.checker.values):
                    found[variant] = tracer
                    break
        return all(tracer.agrees(variant.trace) for variant, tracer in found.items())

    def _look(self, rows: Rows) -> None:
        """Compare variants that have been in use with plain runs, where rows take an arm that none before them took."""
        for variant in self.variants.of(rows.key):
            arms = variant.trace.evidence.arms
            if arms is not None and not self._tracer(rows, 0).checker.look(variant.trace, arms):
                self.variants.withdraw(rows.key, [])
                raise Again

    def _compare(self, rows: Rows, variant: RowsVariant, before: Any, after: Any) -> None:
        """Compare a variant of many paths with plain runs of the function, in the first rows that it takes."""
        np = rows.np
        took = np.setdiff1d(np.arange(rows.rows) if before is None else before, after, assume_unique=True)
        some = took[:: max(1, len(took) // CHECKED)]
        others = Others(lambda: [peek(rows.row(int(r))) for r in some[1:]], functools.partial(rows.surveyed, took=took))
        tracer = self._tracer(rows, int(some[0]), others)
        if not tracer.checker.holds(variant.trace):
            self.variants.withdraw(rows.key, [])
            raise Again
