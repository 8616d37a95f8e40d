"""ba as one function of all cameras, points and weights, and the sparse Jacobian of that."""

import numpy as np
from ba import CAMERA, COLUMNS, POINT, errors_as_json, matrix_as_json, reprojection_error, weight_error
from ba import arguments as separate
from evaluation import Function

from micrograd import jacobian as slopes
from micrograd import jit

SHIFTS = CAMERA - 4, CAMERA - 3  # the principal point of a camera: each of its numbers moves one of two errors


def all_errors(x, n, m, observed, features):
    """Return two errors for each observation, then one for each weight; x has the cameras, the points and the weights."""
    weights = x[CAMERA * n + POINT * m :]
    found = []
    for k in range(len(weights)):
        camera = [x[CAMERA * observed[k][0] + i] for i in range(CAMERA)]
        point = [x[CAMERA * n + POINT * observed[k][1] + i] for i in range(POINT)]
        found.extend(reprojection_error(camera, point, weights[k], features[k]))
    found.extend([weight_error(weight) for weight in weights])
    return found


def arguments(given):
    cameras, points, weights, observed, features = separate(given)
    x = np.concatenate([cameras.ravel(), points.ravel(), weights])
    return x, len(cameras), len(points), observed, features


def pairs(found):
    p = len(found) // 3
    return np.array(found[: 2 * p]).reshape(p, 2), np.array(found[2 * p :])


def sparse_jacobian(*given):
    """Return row starts, columns and values; GradBench's matrix has two places for each observation that are always zero."""
    matrix = compiled_slopes(*given)
    p = matrix.shape[0] // 3
    found = [np.empty((p, 2, COLUMNS), dtype) for dtype in (np.int32, float)]
    for whole, part in zip(found, (matrix.indices, matrix.data)):
        block = part[: 2 * p * (COLUMNS - 1)].reshape(p, 2, COLUMNS - 1)
        for row, zero in enumerate(reversed(SHIFTS)):
            whole[:, row, :zero], whole[:, row, zero + 1 :] = block[:, row, :zero], block[:, row, zero:]
    columns, values = found
    for row, zero in enumerate(reversed(SHIFTS)):
        columns[:, row, zero], values[:, row, zero] = columns[:, 0, 0] + zero, 0.0
    starts = np.append(np.arange(0, 2 * p * COLUMNS, COLUMNS), 2 * p * COLUMNS + np.arange(p + 1))
    own = matrix.indptr[2 * p] + np.arange(p)
    return starts, np.append(columns, matrix.indices[own]), np.append(values, matrix.data[own])


compiled_errors = jit(all_errors, wait=True)
compiled_slopes = jit(slopes(all_errors, sparse=True), wait=True)
objective = Function(lambda *given: pairs(compiled_errors(*given)), arguments, errors_as_json)
jacobian = Function(sparse_jacobian, arguments, matrix_as_json)
