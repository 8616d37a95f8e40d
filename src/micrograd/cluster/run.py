"""What the caller does: hand out chunks of rows, wait for them, and put the results together in the order of the rows.

A chunk is a task of Dask's scheduler, which runs it again when its worker is lost. What all chunks share (the program, the
parameters) are small tasks too, so that they are made again with the worker that held them. A chunk that takes far longer than
the others is given to another worker as well, and the first result counts: tasks are pure, so both are the same to the bit.
"""

from __future__ import annotations

import pickle
import statistics
import warnings
from collections.abc import Callable
from itertools import count
from time import monotonic
from typing import Any
from uuid import uuid4

from micrograd.cluster.columns import LARGEST_RANGE, ClusterRows, Numbers, chunk_rows, largest_chunk, shrinking
from micrograd.cluster.worker import Done, PathTapes, describe, run_chunk, unpack
from micrograd.errors import ClusterError

RETRIES = 3  # further attempts for a chunk whose task failed or whose worker was lost
SLOW = 20.0  # a chunk that takes this many times as long as the median of the others ...
AT_LEAST = 30.0  # ... and at least so many seconds is given to a second worker
GATHER = 30.0  # seconds to wait for a result that is ready
LOOK = 1.0  # seconds between two looks at chunks that may be stuck
QUIET = 10.0  # seconds without a result, after which workers are counted ...
ALONE = 60.0  # ... and so many seconds without a worker are an error
# Chunks that are handed out before the first of them is done: for each thread of the cluster, where they carry data of the
# caller, and in all, where they do not. Many at once are cheap: 64 tasks take the scheduler 0.1 s in one graph, and 0.3 s one
# by one, which is 2 % of 10 s of work on two cores (benchmarks/cluster.py).
AHEAD, MOST_AHEAD = 4, 512
# Dask warns of arrays in a graph, since they would stay in the scheduler's memory; those of chunks are let go of.
_QUIETLY = {"distributed.admin.large-graph-warning-threshold": "1 TB"}


class Progress:
    """What a call on the cluster tells while it runs, and afterwards."""

    def __init__(self, chunks: int, rows: int, tell: Callable[[Progress], None] | None) -> None:
        self.chunks, self.rows, self.tell = chunks, rows, tell
        self.done = self.rows_done = self.bytes = self.again = 0
        self.seconds = 0.0  # of the workers, added up
        self.workers: dict[str, int] = {}  # how many chunks each has done
        self.sizes: list[int] = []  # the rows of each chunk

    def add(self, done: Done) -> None:
        """Note a chunk that is done."""
        rows, size = done.counts
        self.done, self.rows_done, self.bytes = self.done + 1, self.rows_done + rows, self.bytes + size
        self.seconds += done.seconds
        self.sizes.append(rows)
        self.workers[done.worker] = self.workers.get(done.worker, 0) + 1
        if self.tell is not None:
            self.tell(self)


def is_open(client: Any) -> bool:
    """Whether a client is connected to its cluster, or tries to be."""
    return client.status not in ("closing", "closed")


def closed(client: Any, what: str) -> ClusterError:
    """The error for a client that was closed, or whose cluster was."""
    return ClusterError(
        f"the client is closed, so {what}: {client}\n"
        "  Nobody can be asked to run the rows: client.close() was called, or the cluster has ended.\n"
        "  Connect a new client, and give it to a new vmap(f, client=client)."
    )


def check(client: Any) -> None:
    """Raise where a worker cannot run programs of this process; warn where its results would have other bits."""
    here = describe()
    try:
        found = client.run(describe)
    except Exception as error:
        raise ClusterError(
            f"the workers of {client} cannot run micrograd: {type(error).__name__}: {error}\n"
            "  Every worker compiles the function for its own processor, and needs the package for that.\n"
            '  Install micrograd with its extras "jit" and "cluster" on all machines, in the version of this process.'
        ) from error
    if not found:
        raise ClusterError(
            f"{client} has no workers\n  Start some, or wait for them: client.wait_for_workers(1, timeout=60)."
        )
    for worker, there in found.items():
        if there["version"] != here["version"]:
            raise ClusterError(
                f"the worker {worker} has micrograd {there['version']}, and this process has {here['version']}\n"
                "  The same tape may compute something else there.\n"
                "  Install the same version of micrograd on all machines of the cluster."
            )
    different = {worker: there for worker, there in found.items() if there != here}
    if different:
        worker, there = next(iter(different.items()))
        warnings.warn(
            f"{len(different)} of {len(found)} workers have other processors than this machine: {worker} has "
            f"{_processor(there)}, this machine has {_processor(here)}\n"
            "  Sums over rows may differ in their last bits, depending on which worker had which rows.\n"
            "  For the same bits on all of them, use vmap(f, exact=True, width=8, client=client).",
            RuntimeWarning,
            stacklevel=6,
        )


def _processor(found: dict[str, Any]) -> str:
    more = [f"{name} {x}" for name, x in found.items() if name not in ("version", "processor")]
    return " with ".join([found["processor"], ", ".join(more)])


class ClusterCall:
    """The chunks of one call."""

    def __init__(
        self, client: Any, rows: ClusterRows, program: PathTapes, params: list[float], progress: Any, threads: int,
        spans: list[tuple[int, int]] | None = None,
    ) -> None:  # fmt: skip
        self.client, self.rows, self.program = client, rows, program
        self.threads = max(1, threads)
        self.spans = self._cut() if spans is None else spans  # the first row of each chunk, and the one behind its last
        self.chunks = len(self.spans)
        self.progress = Progress(self.chunks, rows.rows, progress)
        self.call = uuid4().hex  # other processes may run the same program on this cluster at the same time
        self.params, self.attempts = params, count(1)
        self.shared = self._shared(0)
        self.results: dict[int, tuple[Done, Any]] = {}  # by number of the chunk; with the future, where rows stay there
        self.running: dict[Any, tuple[int, float]] = {}  # future -> number of the chunk, and since when
        self.eagerly: dict[int, dict[int, int]] = {}
        self.heard = monotonic()  # when the last result came, or workers were last counted
        self.alone: float | None = None  # since when there are none
        self.seen: dict[str, tuple[str, float]] = {}  # key of a task -> the worker that has it, and since when we know

    def _key(self, what: str, *which: Any) -> tuple[Any, ...]:
        """The name of a task. Tasks of one kind and call are a group, whose tasks Dask hands out one after the other."""
        return f"micrograd-{what}-{self.call}", *which

    def _shared(self, attempt: int) -> list[Any]:
        """The tasks that make what all chunks need: the program and the parameters."""
        from dask import delayed

        return [
            delayed(unpack)(pickle.dumps(x), dask_key_name=self._key(what, attempt))
            for what, x in (("program", self.program), ("parameters", self.params))
        ]

    def _cut(self) -> list[tuple[int, int]]:
        count = self.rows.rows
        if not self.rows.local:  # as Dask arrays are cut
            size = chunk_rows(count)
            return [(start, min(count, start + size)) for start in range(0, count, size)]
        goal, tape = self.program.goal, self.program.tapes[0]
        results = 0 if goal.reduced else goal.numbers(len(tape.outputs))
        by_range = goal.reduced and self._only_ranges()  # neither arguments nor results take memory
        return shrinking(count, self.threads, LARGEST_RANGE if by_range else largest_chunk(tape.inputs + results))

    def _only_ranges(self) -> bool:
        return all(isinstance(column, Numbers) for column in self.rows.columns)

    def span(self, number: int) -> tuple[int, int]:
        """The first row of a chunk, and the one behind its last."""
        return self.spans[number]

    def run(self, numbers: list[int], keep: bool = False) -> None:
        """Run these chunks; with `keep`, results by row stay on the cluster. All or nothing: an error ends the others."""
        from distributed import as_completed

        waiting, missing = list(numbers), set(numbers)
        ready = as_completed(loop=self.client.loop)
        times: list[float] = []
        looked, room = monotonic(), self._window()
        try:
            while missing:
                if waiting and 2 * len(self.running) <= room:
                    part = waiting[: room - len(self.running)]
                    del waiting[: len(part)]
                    ready.update(self._submit_all(part))
                batch = ready.next_batch(block=False)
                if not batch:
                    with ready.thread_condition:  # a chunk that is done wakes it
                        if not ready.has_ready():
                            ready.thread_condition.wait(LOOK / 4)
                if monotonic() - looked > LOOK:
                    looked = monotonic()
                    ready.update(self._second_attempts(times))
                    self._count_workers()
                for future in batch:
                    if future not in self.running:
                        continue  # another worker was first
                    number, _ = self.running.pop(future)
                    later = self._note(future, number, keep)
                    if later is not None:
                        ready.add(later)
                        continue
                    times.append(self.results[number][0].seconds)
                    missing.discard(number)
                    self._cancel([other for other, (same, _) in self.running.items() if same == number])
        finally:
            self._cancel(list(self.running))

    def _window(self) -> int:
        """How many chunks may be handed out at a time."""
        return MOST_AHEAD if self._only_ranges() else max(8, AHEAD * self.threads)

    def _cancel(self, futures: list[Any]) -> None:
        """End attempts that are not needed any more."""
        for future in futures:
            del self.running[future]
        if futures and is_open(self.client):
            self.client.cancel(futures, force=True)

    def _note(self, future: Any, number: int, keep: bool) -> Any:
        """Take the result of a chunk; where it was lost after it was done, the future of the next attempt."""
        status = future.status
        if status in ("pending", "lost"):  # its worker is gone, and Dask runs it again
            self.running[future] = number, monotonic()
            return future
        if status in ("error", "cancelled"):
            raise self._lost(future, number)
        small = self.client.submit(_without_rows, future, retries=RETRIES) if keep else future
        try:
            done: Done = small.result(timeout=GATHER)
        except TimeoutError:  # the worker that has it does not answer
            return self._submit(number, tuple(self.client.who_has([small]).get(small.key, ())))
        self.results[number] = done, future if keep else None
        self.heard = monotonic()
        self.progress.add(done)
        return None

    def _task(self, number: int, shared: list[Any], again: int) -> Any:
        from dask import delayed

        start, stop = self.span(number)
        columns = [column.chunk(start, stop) for column in self.rows.columns]
        return delayed(run_chunk, pure=False)(
            *shared, number, self.rows.axes, self.eagerly.get(number, {}), *columns,
            dask_key_name=self._key("rows", number, again),
        )  # fmt: skip

    def _submit_all(self, numbers: list[int]) -> list[Any]:
        """Hand out chunks for the first time, in one graph. Chunks of the caller's data run in the order of their numbers.

        The last ones are the smallest, so workers end at about the same time. Without a priority, Dask would run tasks that
        look alike in any order, and a large one at the end. Chunks of Dask arrays are all of one size, and Dask orders them
        so that few of them are in memory at a time.
        """
        import dask

        tasks = []
        for number in numbers:
            first = {"priority": 1.0 - (number + 1) / self.chunks} if self.rows.local else {}
            with dask.annotate(**first):
                tasks.append(self._task(number, self.shared, 0))
        with dask.config.set(_QUIETLY):
            futures = self.client.compute(tasks, retries=RETRIES)
        self.running.update((future, (number, monotonic())) for future, number in zip(futures, numbers))
        return futures  # type: ignore[no-any-return]

    def _submit(self, number: int, avoid: tuple[str, ...]) -> Any:
        """Hand out a chunk once more, to other workers than those, from which nothing is to be waited for."""
        again = next(self.attempts)
        workers = [w for w in self.client.scheduler_info(n_workers=-1)["workers"] if w not in avoid]
        future = self.client.compute(
            self._task(number, self._shared(again), again), retries=RETRIES, workers=workers or None
        )
        self.running[future] = number, monotonic()
        return future

    def _second_attempts(self, times: list[float]) -> list[Any]:
        """Hand chunks that take far too long to other workers."""
        limit = max(AT_LEAST, SLOW * statistics.median(times)) if times else 10 * AT_LEAST
        if all(monotonic() - since <= limit for _, since in self.running.values()):
            return []
        where = {key: worker for worker, keys in self.client.processing().items() for key in keys}
        now = monotonic()
        self.seen = {key: self.seen.get(key, (worker, now)) for key, worker in where.items()}
        late = []
        for future, (number, since) in self.running.items():
            keys = [key for key in (future.key, *(task.key for task in self.shared)) if key in where]
            # A chunk that waits for a free thread is nowhere; the time before it was first seen at a worker does not count.
            if keys and now - max(since, self.seen[keys[0]][1] if times else since) > limit:
                late.append((future, number, [where[key] for key in keys]))
        attempts: dict[int, int] = {}
        for number, _ in self.running.values():
            attempts[number] = attempts.get(number, 0) + 1
        found = []
        for future, number, there in late:
            worker = there[0]
            if attempts[number] > RETRIES:
                raise ClusterError(
                    f"rows {self.span(number)[0]:,} to {self.span(number)[1] - 1:,} are not done after {limit:.0f} s on "
                    f"{attempts[number]} workers, the last of them {worker}\n"
                    "  Other chunks took far less, so these workers are stuck.\n"
                    "  Restart them (client.restart()), and call the function again."
                )
            self.running[future] = number, monotonic()
            self.progress.again += 1
            found.append(self._submit(number, tuple(there)))
        return found

    def _count_workers(self) -> None:
        """Raise where all workers are gone, and none comes: Dask would wait for one for ever."""
        now = monotonic()
        if now - self.heard <= QUIET:
            self.alone = None
        elif self.client.scheduler_info(n_workers=-1).get("workers"):
            self.heard, self.alone = now, None
        elif self.alone is None:
            self.alone = now
        elif now - self.alone > ALONE:
            start, stop = self.span(min(number for number, _ in self.running.values()))
            raise ClusterError(
                f"the cluster has had no workers for {ALONE:.0f} s, and rows {start:,} to {stop - 1:,} are not done\n"
                "  The workers were closed or lost, and none has taken their place.\n"
                "  Start some (client.wait_for_workers(1) waits for them), and call the function again."
            )

    def _lost(self, future: Any, number: int) -> BaseException:
        """The error for a chunk that failed for good."""
        start, stop = self.span(number)
        what = f"rows {start:,} to {stop - 1:,}"
        if future.status == "cancelled":
            if not is_open(self.client):
                return closed(self.client, f"{what} are not done")
            return ClusterError(
                f"{what} were cancelled on the cluster\n"
                "  Somebody restarted it, or cancelled its tasks.\n"
                "  Call the function again."
            )
        error = future.exception()
        if type(error).__name__ == "KilledWorker":
            worker = getattr(error, "last_worker", None)
            return ClusterError(
                f"{what} were lost with their worker {RETRIES + 1} times, the last time with "
                f"{getattr(worker, 'address', worker)}\n"
                "  A worker that dies is often short of memory: its log tells (client.get_worker_logs()).\n"
                "  Give workers more memory, or fewer threads, and call the function again."
            )
        return error if isinstance(error, BaseException) else ClusterError(f"{what} failed: {error!r}")

    def missed(self) -> dict[int, list[int]]:
        """The rows that follow none of the program's paths, by chunk."""
        return {number: done.missed for number, (done, _) in sorted(self.results.items()) if done.missed}

    def sums(self) -> Any:
        """The sums of all blocks, in the order of the rows."""
        return self.rows.np.concatenate([self.results[number][0].sums for number in range(self.chunks)])


def _without_rows(done: Done) -> Done:
    """All but the results by row, which stay where they are."""
    from dataclasses import replace

    return replace(done, outs=[])
