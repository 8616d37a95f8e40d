"""The arrays of ba's input, and ba's results as JSON, for everybody but the tool."""

from __future__ import annotations

from typing import Any

import numpy as np


def arrays(given: Any) -> tuple[np.ndarray, ...]:
    """Return cameras, points, weights, the camera and the point of each observation, and features."""
    n, m, p = given["n"], given["m"], given["p"]
    observed = np.stack([np.arange(p) % n, np.arange(p) % m], axis=1)
    cameras, points = np.tile(given["cam"], (n, 1)), np.tile(given["x"], (m, 1))
    return cameras, points, np.full(p, given["w"]), observed, np.tile(given["feat"], (p, 1))


def errors_as_json(found: Any) -> Any:
    """Shorten the errors of points (p × 2) and of weights (p) to the first of each."""
    of_points, of_weights = map(np.asarray, found)
    repeated = len(of_weights)
    first = {"elements": of_points[0].tolist(), "repeated": repeated}
    return {"reproj_error": first, "w_err": {"element": float(of_weights[0]), "repeated": repeated}}


def matrix_as_json(found: Any) -> Any:
    """Shorten row starts, columns and values to the first thirty, which are one observation's, and the last."""
    parts = zip(("rows", "cols", "vals"), map(np.asarray, found))
    return {name: [*part[:30].tolist(), part[-1].item()] for name, part in parts}
