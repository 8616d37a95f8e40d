"""Inputs of the forms and sizes that GradBench's evals send: the same numbers for the same size, in every process."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Input = Any


def generator(*size: int) -> np.random.Generator:
    return np.random.default_rng([20261118, *size])


def hello() -> Input:
    return 1.5


def llsq(n: int, m: int = 128) -> Input:
    return {"x": generator(n, m).random(m).tolist(), "n": n}


def lse(n: int) -> Input:
    return {"x": generator(n).random(n).tolist()}


def det(ell: int) -> Input:
    return {"A": generator(ell).random(ell * ell).tolist(), "ell": ell}


def ode(n: int, s: int) -> Input:
    return {"x": generator(n, s).random(n).tolist(), "s": s}


def kmeans(k: int, n: int, d: int) -> Input:
    """Return points, and centroids that are the last of them, so that none is without a point."""
    points = generator(k, n, d).random((n, d)).tolist()
    return {"points": points, "centroids": points[-k:]}


def gmm(d: int, k: int, n: int = 1000) -> Input:
    random = generator(d, k, n)
    return {
        "d": d,
        "k": k,
        "n": n,
        "x": random.normal(size=(n, d)).tolist(),
        "m": 0,
        "gamma": 1.0,
        "alpha": random.normal(size=k).tolist(),
        "mu": random.random((k, d)).tolist(),
        "q": random.normal(size=(k, d)).tolist(),
        "l": random.normal(size=(k, d * (d - 1) // 2)).tolist(),
    }


def ba(n: int, m: int, p: int) -> Input:
    """Return one camera, point, weight and feature, which a tool has to repeat n, m and p times."""
    random = generator(n, m, p)
    camera = np.concatenate([random.normal(size=3), 40.0 * random.random(3), [420.0], 8.0 * random.normal(size=2)])
    return {
        "n": n,
        "m": m,
        "p": p,
        "cam": [*camera.tolist(), 0.08, 0.003],
        "x": (8.0 * random.random(3)).tolist(),
        "w": float(random.random()),
        "feat": (800.0 * random.random(2)).tolist(),
    }


# The wrist, five fingers of four bones, the first of which hangs on the wrist, and the forearm.
PARENTS = [-1, *(0 if joint == 0 else 4 * finger + joint for finger in range(5) for joint in range(4)), 0]


def ht(correspondences: int, vertices: int = 10_000, triangles: int = 1_084) -> Input:
    """Return a hand of 22 bones, whose vertices hang on one to eight bones each."""
    random = generator(correspondences, vertices, triangles)
    bones = len(PARENTS)

    def turned() -> np.ndarray:
        matrix = np.eye(4)
        matrix[:3, :3] = np.linalg.qr(random.normal(size=(3, 3)))[0]
        return matrix

    def placed() -> np.ndarray:
        matrix = turned()
        matrix[:3, 3] = 0.1 * random.normal(size=3)
        return matrix

    weights = np.zeros((vertices, bones))
    for row, many in zip(weights, random.choice([1, 2, 3, 4, 8], size=vertices, p=[0.37, 0.5, 0.04, 0.04, 0.05])):
        row[random.choice(bones, size=many, replace=False)] = random.dirichlet(np.ones(many))
    model = {
        "bone_count": bones,
        "bone_names": [f"bone {k}" for k in range(bones)],
        "parents": PARENTS,
        "base_relatives": [placed().tolist() for _ in range(bones)],
        "inverse_base_absolutes": [placed().tolist() for _ in range(bones)],
        "base_positions": np.hstack([0.3 * random.normal(size=(vertices, 3)), np.ones((vertices, 1))]).tolist(),
        "weights": weights.tolist(),
        "triangles": random.integers(0, min(vertices, 544), size=(triangles, 3)).tolist(),
        "is_mirrored": False,
    }
    return {
        "theta": random.normal(size=26).tolist(),
        "data": {
            "model": model,
            "correspondences": random.integers(0, triangles, size=correspondences).tolist(),
            "points": random.normal(size=(correspondences, 3)).tolist(),
        },
        "us": (0.5 * random.random((correspondences, 2))).tolist(),
    }


BITS = 14  # of a character: the suite's text has quotation marks, whose code points need as many


def lstm(layers: int, characters: int, bits: int = BITS) -> Input:
    random = generator(layers, characters, bits)
    codes = random.choice([32, *range(97, 123), 8217], size=characters)
    return {
        "main_params": random.random((2 * layers, 4 * bits)).tolist(),
        "extra_params": random.random((3, bits)).tolist(),
        "state": random.random((2 * layers, bits)).tolist(),
        "sequence": [[float(code >> bit & 1) for bit in reversed(range(bits))] for code in codes.tolist()],
    }


def particle() -> Input:
    return {"w": 0.0}


def saddle() -> Input:
    return {"start": [1.0, 1.0]}


def volume(given: Input) -> int:
    """Count the numbers of an input."""
    if isinstance(given, dict):
        return sum(volume(part) for part in given.values())
    if isinstance(given, list):
        return sum(volume(part) for part in given) if given and isinstance(given[0], list) else len(given)
    return int(isinstance(given, (int, float)) and not math.isnan(given))
