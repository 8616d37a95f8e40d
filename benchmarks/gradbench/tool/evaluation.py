"""A function as GradBench asks for it: JSON in, JSON out, and the nanoseconds of every run."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

THREADS: int | None = 1  # of what runs over rows; None, which `run.py --multithreaded` sets, is one for each core


class Function:
    """A function of a module: `prepare` makes its arguments from the input, `finish` makes JSON from its result.

    Only the call between them is timed. `explain` returns what the compiler says of the function for the same arguments; a
    compiled function can tell that itself.
    """

    def __init__(
        self,
        call: Callable[..., Any],
        prepare: Callable[[Any], tuple[Any, ...]],
        finish: Callable[[Any], Any],
        explain: Callable[..., str] | None = None,
    ) -> None:
        self.call, self.prepare, self.finish = call, prepare, finish
        self.explain = explain or getattr(call, "explain", None)

    def evaluate(self, given: Any) -> dict[str, Any]:
        """Run as often and as long as the input asks for, and answer with the last output and all timings."""
        runs, seconds = 1, 0.0
        if isinstance(given, dict):
            runs, seconds = given.get("min_runs", 1), given.get("min_seconds", 0.0)
        arguments = self.prepare(given)
        output, timings, elapsed = None, [], 0
        while len(timings) < runs or elapsed < seconds * 1e9:
            start = perf_counter_ns()
            output = self.call(*arguments)
            took = perf_counter_ns() - start
            timings.append({"name": "evaluate", "nanoseconds": took})
            elapsed += took
        return {"success": True, "output": self.finish(output), "timings": timings}


def numbers(result: Any) -> Any:
    """An array, or arrays in lists, tuples and dicts, as nested lists of plain numbers."""
    if isinstance(result, dict):
        return {key: numbers(part) for key, part in result.items()}
    if isinstance(result, (list, tuple)):
        return [numbers(part) for part in result]
    return result.tolist() if hasattr(result, "tolist") else result
