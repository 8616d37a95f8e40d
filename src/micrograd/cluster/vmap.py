"""vmap over the workers of a cluster: the same traces, kernels and sums, with Dask's scheduler in place of threads."""

from __future__ import annotations

import functools
from typing import Any
from weakref import WeakKeyDictionary

from micrograd import engine
from micrograd.cluster import run
from micrograd.cluster.columns import ClusterRows
from micrograd.cluster.worker import PathTapes, output
from micrograd.compile import axes
from micrograd.compile.batch import RowsVariant, add_blocks, columns_by_row, nodes_by_row
from micrograd.compile.rows import Rows
from micrograd.compile.vmap import RowsPlan, Vmap
from micrograd.errors import ClusterError
from micrograd.tape.trace import is_tracing, peek
from micrograd.tree import rebuild, wants_function

_checked: WeakKeyDictionary[Any, frozenset[str]] = WeakKeyDictionary()  # client -> the workers that were looked at


class ClusterVmap(Vmap):
    """A function of rows on a cluster. `last_run` tells how the last call went: chunks, bytes, seconds, workers."""

    client: Any = None
    progress: Any = None
    last_run: run.Progress | None = None
    _threads = 1  # of all workers, when they were last looked at

    def __repr__(self) -> str:
        return super().__repr__().replace("<vmap", "<vmap on a cluster")

    def __reduce__(self) -> Any:
        raise TypeError(
            f"{self!r} cannot be pickled: it holds the connection to its cluster\n"
            "  Pickle vmap(f) without a client, and connect it where it is loaded."
        )

    def _with_options(self, options: Any) -> Vmap:
        other = ClusterVmap(*self._made_of(options))
        other.client, other.progress = self.client, self.progress
        return other

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if is_tracing() or not engine.NATIVE:
            return super().__call__(*args, **kwargs)
        with self.client.as_current():  # rows on the cluster are fetched by it, not by the default client
            rows = ClusterRows(args, kwargs, self.in_axes, self.static)
            if rows.by_eager:
                return super().__call__(*args, **kwargs)
            result = self._settled(args, rows)
        return result if self.out_axes == 0 else axes.place_rows(result, self.out_axes)

    def _plan(self, rows: Rows) -> RowsPlan:
        plan = super()._plan(rows)
        plan.direct = False  # the sums come from the cluster
        return plan

    def _sums(self, rows: Rows, plan: RowsPlan) -> list[float]:
        return add_blocks(self._on_cluster(rows, plan, False).sums())

    def _by_row(self, rows: Rows, plan: RowsPlan) -> Any:
        assert isinstance(rows, ClusterRows)
        if not rows.local:
            return self._lazily(rows, plan)
        self.check_size(rows, plan)
        done = self._on_cluster(rows, plan, False)
        parts = [done.results[number][0].outs for number in range(done.chunks)]
        outs = [rows.np.concatenate(column) for column in zip(*parts)]
        if self.options.float32:
            outs = [o.astype("f4", copy=False) for o in outs]
        if plan.gradient:
            outs = nodes_by_row(outs, plan.count, plan.inputs(rows), rows.np)
        return columns_by_row(plan.shape, iter(outs), rows)

    def _lazily(self, rows: ClusterRows, plan: RowsPlan) -> Any:
        """Results by row as Dask arrays, whose chunks stay on the cluster."""
        import dask.array as da
        from dask import delayed

        if plan.gradient:
            raise ClusterError(
                f"the rows of {self!r} would be Values, and Dask arrays hold numbers\n"
                "  A row that depends on a captured Value has a gradient for it.\n"
                '  Add the rows up with reduce="sum" or "mean", or call it inside no_grad() for plain numbers.'
            )
        done = self._on_cluster(rows, plan, True)
        kind = rows.np.dtype("f4" if plan.goal.options.float32 else "f8")
        take = delayed(output)
        columns = []
        for k in range(plan.count):
            parts = []
            for number in range(done.chunks):
                start, stop = done.span(number)
                parts.append(da.from_delayed(take(done.results[number][1], k), (stop - start,), kind))
            columns.append(da.concatenate(parts))
        outs = iter(columns)

        def array(dimensions: tuple[int, ...]) -> Any:
            count = int(rows.np.prod(dimensions))
            return da.stack([next(outs) for _ in range(count)], axis=1).reshape(rows.rows, *dimensions)

        return rebuild(plan.shape, outs.__next__, array)

    # ---- the cluster

    def _on_cluster(self, rows: Rows, plan: RowsPlan, keep: bool) -> run.ClusterCall:
        """All chunks, run by the kernels of all paths that rows take: those that are not known yet are traced here."""
        assert isinstance(rows, ClusterRows)
        self._check()
        variants = self._variants_of(rows)
        work = self._begin(rows, plan, variants)
        work.run(list(range(work.chunks)), keep)
        while missed := work.missed():
            ran, staged = list(variants), False
            for number, those in missed.items():
                for r in those[: 1 if len(ran) == len(variants) else 0 if staged else None]:
                    variant, _ = self._variant(rows, work.span(number)[0] + r, None)
                    self._same_numbering(variant, plan)
                    variants = self._variants_of(rows)
                    staged = variant.trace.staged  # it may hold for the other rows, too
                    if variant in ran:  # its kernel did not accept the row, which follows it all the same
                        work.eagerly.setdefault(number, {})[r] = variants.index(variant)
            again = self._begin(rows, plan, variants, work.spans)
            again.results, again.eagerly, again.progress = work.results, work.eagerly, work.progress
            again.progress.chunks += len(missed)
            work = again
            work.run(list(missed), keep)
        self.last_run = work.progress
        return work

    def _variants_of(self, rows: ClusterRows) -> list[RowsVariant]:
        return list(self.variants.of(rows.key))

    def _begin(
        self, rows: ClusterRows, plan: RowsPlan, variants: list[RowsVariant], spans: Any = None
    ) -> run.ClusterCall:
        program = PathTapes.of(tuple(v.tape for v in variants), plan.goal)
        params = peek([*plan.captured, *rows.uniform])
        return run.ClusterCall(self.client, rows, program, params, self.progress, self._threads, spans)

    def _check(self) -> None:
        """Look at the workers once, and at new ones when they appear."""
        if not run.is_open(self.client):
            raise run.closed(self.client, f"{self!r} cannot run")
        found = self.client.scheduler_info(n_workers=-1).get("workers", {})
        self._threads = sum(w["nthreads"] for w in found.values())
        workers = frozenset(found)
        if not workers or not workers <= _checked.get(self.client, frozenset()):
            run.check(self.client)
            _checked[self.client] = workers


def distribute(v: Vmap, client: Any, progress: Any = None) -> ClusterVmap:
    """The same mapping on the workers of a client of dask.distributed."""
    wants_function(v.f, "map over rows")
    if not hasattr(client, "scheduler_info") or not hasattr(client, "compute"):
        raise TypeError(
            f"client={client!r}: it must be a dask.distributed.Client\n"
            "  On this machine: from distributed import Client; client = Client()"
        )
    if getattr(client, "asynchronous", False):
        raise TypeError("client=...: an asynchronous client cannot be waited for; connect with Client(address)")
    found = ClusterVmap(*v._made_of(v.options))
    found.client, found.progress = client, progress
    functools.update_wrapper(found, v.f, updated=())
    return found
