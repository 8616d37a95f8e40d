"""ba as one function of all cameras, points and weights, and the sparse Jacobian of that."""

import numpy as np
from ba import CAMERA, POINT, errors_as_json, matrix_as_json, reprojection_error, weight_error
from ba import arguments as separate
from evaluation import Function

from micrograd import jacobian as slopes
from micrograd import jit


def all_errors(x, n, m, observed, features):
    """Return two errors for each observation, then one for each weight; x has the cameras, the points and the weights."""
    weights = x[CAMERA * n + POINT * m :]
    found = []
    for (camera, point), weight, feature in zip(observed, weights, features):
        start = CAMERA * n + POINT * point
        camera, place = x[CAMERA * camera : CAMERA * (camera + 1)], x[start : start + POINT]
        found.extend(reprojection_error(camera, place, weight, feature))
    found.extend(weight_error(weight) for weight in weights)
    return found


def arguments(given):
    cameras, points, weights, observed, features = separate(given)
    x = np.concatenate([cameras.ravel(), points.ravel(), weights])
    return x, len(cameras), len(points), tuple(map(tuple, observed.tolist())), features


def pairs(found):
    p = len(found) // 3
    return np.array(found[: 2 * p]).reshape(p, 2), np.array(found[2 * p :])


def sparse_jacobian(*given):
    matrix = compiled_slopes(*given)
    return matrix.indptr, matrix.indices, matrix.data


STATIC = (1, 2, 3)  # the numbers of cameras and points, and which of them belong to each observation
compiled_errors = jit(all_errors, static_argnums=STATIC, wait=True)
compiled_slopes = jit(slopes(all_errors, sparse=True), static_argnums=STATIC, wait=True)
objective = Function(lambda *given: pairs(compiled_errors(*given)), arguments, errors_as_json)
jacobian = Function(sparse_jacobian, arguments, matrix_as_json)
