"""The 27 regression problems of NIST's Statistical Reference Datasets, fitted from both starts.

The files are part of the source distribution of lmfit. A model stands in its file as a formula, which is translated here.
"""

from __future__ import annotations

import argparse
import math
import re
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from corpus.run import Result

LMFIT = "lmfit==1.3.4"
FUNCTIONS = {"arctan": "atan"}
DIGITS = 8  # of the certified parameters that a fit must have


class Problem(NamedTuple):
    """A model, its data, two starts, and the certified parameters with their standard deviations."""

    name: str
    formula: str
    model: Callable[..., Any]
    logarithm: bool  # whether the model is that of log(y)
    y: list[float]
    x: list[list[float]]
    starts: list[list[float]]
    certified: list[float]
    deviations: list[float]


def downloaded() -> Path:
    """Return the folder with the data files, out of the source distribution of lmfit."""
    folder = Path(tempfile.mkdtemp(prefix="micrograd-corpus-"))
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--no-binary",
            ":all:",
            LMFIT,
            "-d",
            str(folder),
        ],
        check=True,
    )
    with tarfile.open(next(folder.glob("*.tar.gz"))) as file:
        file.extractall(folder, filter="data")
    return next(folder.glob("*/NIST_STRD"))


def read(path: Path) -> Problem:
    """Return the problem that a file describes."""
    lines = path.read_text(encoding="ascii", errors="replace").splitlines()
    begin = next(k for k, line in enumerate(lines) if line.startswith("Model:"))
    end = next(k for k in range(begin, len(lines)) if "Starting values" in lines[k] or "Starting Values" in lines[k])
    model = [line.strip() for line in lines[begin + 1 : end] if line.strip()]
    first = next(k for k, line in enumerate(model) if re.match(r"(y|log\[y\])\s*=", line))
    left, right = " ".join(model[first:]).split("=", 1)
    formula = re.sub(r"\+\s*e\s*$", "", right).strip().translate(str.maketrans("[]", "()"))
    for theirs, ours in FUNCTIONS.items():
        formula = re.sub(rf"\b{theirs}\b", ours, formula)
    rows = [m for m in (re.match(r"\s*b\d+\s*=\s+(\S+)\s+(\S+)\s+(\S+)\s+(\S+)", line) for line in lines) if m]
    numbers = [[float(text) for text in m.groups()] for m in rows]
    last = max(k for k, line in enumerate(lines) if line.startswith("Data:"))
    names = re.findall(r"x\d*", lines[last])
    data = [[float(text) for text in line.split()] for line in lines[last + 1 :] if line.strip()]
    x = [row[1:] for row in data]
    return Problem(
        path.stem, formula, _compiled(path.stem, formula, len(numbers), names), left.strip() != "y", [row[0] for row in data],
        x,
        [[row[0] for row in numbers], [row[1] for row in numbers]], [row[2] for row in numbers], [row[3] for row in numbers],
    )  # fmt: skip


def _compiled(name: str, formula: str, count: int, names: list[str]) -> Callable[..., Any]:
    """Return the model as a function of the parameters and of a row of data, with its source where Python looks for it."""
    import linecache

    text = [f"def {name}(b, x_):"]
    text += [f"    b{k + 1} = b[{k}]" for k in range(count)]
    text += [f"    {variable} = x_[{k}]" for k, variable in enumerate(names)]
    text += [f"    return {formula}", ""]
    file = f"<model {name}>"
    linecache.cache[file] = (len("\n".join(text)), None, [line + "\n" for line in text], file)
    space: dict[str, Any] = {f: getattr(math, f) for f in ("exp", "log", "sin", "cos", "atan", "pi")}
    exec(compile("\n".join(text), file, "exec"), space)
    return space[name]  # type: ignore[no-any-return]


def fit(problem: Problem, start: list[float]) -> tuple[list[float], float]:
    """Return the fitted parameters, and the number of certified digits that the worst of them has.

    Two methods of SciPy's are tried with exact Jacobians. They stop when the sum of squares no longer changes, which leaves
    half of the digits of the parameters open; Newton steps on the gradient, with the exact Hessian, give the others.
    """
    from micrograd import least_squares

    y = [math.log(v) for v in problem.y] if problem.logarithm else problem.y
    model, x = problem.model, problem.x

    def residuals(b: Any) -> list[Any]:
        return [model(b, row) - v for row, v in zip(x, y)]

    options = {"x_scale": "jac", "ftol": 1e-15, "xtol": 1e-15, "gtol": 1e-15, "max_nfev": 5_000}
    best = min(
        (least_squares(residuals, list(start), method=m, **options) for m in ("lm", "trf")), key=lambda r: r.cost
    )
    found = _polished(residuals, [float(v) for v in best.x])
    digits = min(-math.log10(max(abs(a - c) / abs(c), 1e-16)) for a, c in zip(found, problem.certified))
    return found, digits


def _polished(residuals: Callable[..., Any], b: list[float]) -> list[float]:
    """Return the parameters after Newton steps on the gradient of the sum of squares, as long as the steps get shorter."""
    import numpy as np

    from micrograd import hessian, jacobian, jit

    def squares(b: Any) -> Any:
        return 0.5 * sum([r * r for r in residuals(b)])

    slopes, curvature = jit(jacobian(residuals)), jit(hessian(squares))
    last = math.inf
    for _ in range(10):
        r, jac = [float(v) for v in residuals(b)], np.array(slopes(b))
        gradient = np.array([math.fsum(row * v for row, v in zip(column, r)) for column in jac.T])
        scale = 1.0 / np.maximum(np.linalg.norm(jac, axis=0), 1e-300)
        step = scale * np.linalg.solve(np.array(curvature(b)) * np.outer(scale, scale), gradient * scale)
        size = max(abs(d) / max(abs(v), 1e-300) for d, v in zip(step, b))
        if not size < last:
            break
        b, last = [v - float(d) for v, d in zip(b, step)], size
    return b


def results(args: argparse.Namespace) -> list[tuple[str, list[Result]]]:
    """Return the outcome of each problem from both starts."""
    folder = Path(args.nist) if args.nist else downloaded()
    found = []
    for path in sorted(folder.glob("*.dat")):
        problem = read(path)
        for number, start in enumerate(problem.starts, 1):
            begin = time.perf_counter()
            try:
                _, digits = fit(problem, start)
            except Exception as error:
                found.append(
                    Result(f"{problem.name}, start {number}", "refused", "", str(error), time.perf_counter() - begin)
                )
                continue
            kind = "right" if digits >= DIGITS else "wrong"
            detail = "" if kind == "right" else f"{digits:.1f} digits"
            found.append(Result(f"{problem.name}, start {number}", kind, "fit", detail, time.perf_counter() - begin))
    return [("NIST's regression problems, two starts each", found)]
