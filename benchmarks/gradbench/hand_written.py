"""C written by hand: compiled here, called with arrays, timed by a loop in C."""

from __future__ import annotations

import ctypes
import os
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from . import bundle

HERE = Path(__file__).resolve().parent
FLAGS = ["-O3", "-march=native", "-std=gnu11", "-fPIC", "-shared"]  # the optimizations of GradBench's own C++


def compiler() -> str:
    return os.environ.get("CC", "gcc")


def version() -> str:
    """Return the compiler's name and version, or nothing where there is none."""
    try:
        said = subprocess.run([compiler(), "--version"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return ""
    return said.splitlines()[0]


class _Problem(ctypes.Structure):
    """struct problem of hand/problem.h."""

    _fields_ = [(name, ctypes.c_void_p) for name in ("x", "data", "size", "index", "structure")]


def _flat(*parts: Any, dtype: Any = np.float64) -> np.ndarray:
    """Return all numbers of nested lists behind each other."""
    arrays = [np.asarray(part, dtype=dtype).ravel() for part in parts]
    return np.concatenate(arrays) if arrays else np.zeros(0, dtype=dtype)


class Problem:
    """What a C function is given, with room for what it writes, and how JSON is made of that."""

    def __init__(
        self,
        out: int,
        finish: Callable[[np.ndarray, np.ndarray], Any],
        x: Any,
        data: Any = (),
        size: Any = (),
        index: Any = (),
        structure: int = 0,
    ) -> None:
        self.finish = finish
        self.out, self.structure = np.zeros(out), np.zeros(structure, dtype=np.intc)
        self._kept = [_flat(x), _flat(data), np.array(size, dtype=np.int_), _flat(index, dtype=np.intc), self.structure]
        self.struct = _Problem(*(a.ctypes.data for a in self._kept))

    def result(self) -> Any:
        return self.finish(self.out, self.structure)


def _number(out: np.ndarray, structure: np.ndarray) -> Any:
    return float(out[0])


def _all(out: np.ndarray, structure: np.ndarray) -> Any:
    return out.tolist()


def hello(given: Any, derivative: bool) -> Problem:
    return Problem(1, _number, [given])


def llsq(given: Any, derivative: bool) -> Problem:
    m = len(given["x"])
    return Problem(m if derivative else 1, _all if derivative else _number, given["x"], size=(m, given["n"]))


def lse(given: Any, derivative: bool) -> Problem:
    n = len(given["x"])
    return Problem(n if derivative else 1, _all if derivative else _number, given["x"], size=(n,))


def det(given: Any, derivative: bool) -> Problem:
    ell = given["ell"]
    return Problem(ell * ell if derivative else 1, _all if derivative else _number, given["A"], size=(ell,))


def ode(given: Any, derivative: bool) -> Problem:
    return Problem(len(given["x"]), _all, given["x"], size=(len(given["x"]), given["s"]))


def kmeans(given: Any, derivative: bool) -> Problem:
    points, centroids = np.array(given["points"]), np.array(given["centroids"])
    (k, d), n = centroids.shape, len(points)
    finish = (lambda out, _: out.reshape(k, d).tolist()) if derivative else _number
    return Problem(k * d if derivative else 1, finish, centroids, points, (k, n, d))


def gmm(given: Any, derivative: bool) -> Problem:
    d, k, n = given["d"], given["k"], given["n"]
    shapes = {"alpha": (k,), "mu": (k, d), "q": (k, d), "l": (k, d * (d - 1) // 2)}
    ends = np.cumsum([np.prod(shape, dtype=int) for shape in shapes.values()])

    def named(out: np.ndarray, _: np.ndarray) -> Any:
        return {name: part.reshape(shapes[name]).tolist() for name, part in zip(shapes, np.split(out, ends[:-1]))}

    x = _flat(*(given[name] for name in shapes))
    size = int(ends[-1]) if derivative else 1
    return Problem(size, named if derivative else _number, x, _flat(given["x"], given["gamma"]), (d, k, n, given["m"]))


def ba(given: Any, derivative: bool) -> Problem:
    cameras, points, weights, observed, features = bundle.arrays(given)
    n, m, p = len(cameras), len(points), len(weights)

    def errors(out: np.ndarray, _: np.ndarray) -> Any:
        return bundle.errors_as_json((out[: 2 * p].reshape(p, 2), out[2 * p :]))

    def matrix(out: np.ndarray, structure: np.ndarray) -> Any:
        return bundle.matrix_as_json((structure[: 3 * p + 1], structure[3 * p + 1 :], out))

    x, finish = _flat(cameras, points, weights), matrix if derivative else errors
    out, structure = (31 * p, 34 * p + 1) if derivative else (3 * p, 0)
    return Problem(out, finish, x, features, (n, m, p), observed, structure)


def ht(given: Any, derivative: bool) -> Problem:
    model, us = given["data"]["model"], given["us"]
    points, correspondences = given["data"]["points"], given["data"]["correspondences"]
    bones, vertices = len(model["parents"]), len(model["base_positions"])
    keys = ("base_relatives", "inverse_base_absolutes", "base_positions", "weights")
    data = _flat(*(model[key] for key in keys), points)
    size = (bones, vertices, len(model["triangles"]), len(points), int(model["is_mirrored"]), int(len(us) > 0))
    index = _flat(model["parents"], model["triangles"], correspondences, dtype=np.intc)
    rows, width = 3 * len(points), len(given["theta"]) + (2 if us else 0)
    finish = (lambda out, _: out.reshape(rows, width).tolist()) if derivative else _all
    return Problem(rows * width if derivative else rows, finish, _flat(given["theta"], us), data, size, index)


def lstm(given: Any, derivative: bool) -> Problem:
    x = _flat(given["main_params"], given["extra_params"])
    size = (len(given["main_params"]) // 2, len(given["sequence"]), len(given["sequence"][0]))
    data = _flat(given["state"], given["sequence"])
    return Problem(len(x) if derivative else 1, _all if derivative else _number, x, data, size)


def particle(given: Any, derivative: bool) -> Problem:
    return Problem(1, _number, [given["w"]])


def saddle(given: Any, derivative: bool) -> Problem:
    return Problem(4, _all, given["start"])


PROBLEMS: dict[str, Callable[[Any, bool], Problem]] = {
    f.__name__: f for f in (hello, llsq, lse, det, ode, kmeans, gmm, ba, ht, lstm, particle, saddle)
}


@cache
def library(name: str) -> Any:
    """Compile the C of an eval, and load it; its file is not needed after that."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        made = Path(folder) / f"{name}.so"
        subprocess.run([compiler(), *FLAGS, "-o", str(made), str(HERE / "hand" / f"{name}.c"), "-lm"], check=True)
        return ctypes.CDLL(str(made))


class HandWritten:
    """The value or the derivative of one eval."""

    def __init__(self, name: str, derivative: bool) -> None:
        self.name, self.derivative = name, derivative
        functions = library(name)
        self._run = functions.gradient if derivative else functions.value
        self._run.argtypes, self._run.restype = [ctypes.c_void_p] * 2, None
        self._seconds = functions.seconds
        self._seconds.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_long]
        self._seconds.restype = ctypes.c_double

    def prepare(self, given: Any) -> tuple[Problem]:
        return (PROBLEMS[self.name](given, self.derivative),)

    def call(self, problem: Problem) -> Problem:
        self._run(ctypes.addressof(problem.struct), problem.out.ctypes.data)
        return problem

    def finish(self, problem: Problem) -> Any:
        return problem.result()

    def seconds(self, arguments: tuple[Problem], calls: int) -> float:
        """Return the seconds of one call, by a loop in C."""
        problem = arguments[0]
        where = ctypes.addressof(problem.struct), problem.out.ctypes.data
        return float(self._seconds(int(self.derivative), *where, calls))
