"""Bundle adjustment: how far each observed point is from where its camera should see it, and the sparse Jacobian of that.

An observation depends on eleven numbers of its camera, three of its point and one weight: the Jacobians of all observations
are computed as rows, and put into the matrix block by block.
"""

import numpy as np
from evaluation import THREADS, Function

from micrograd import jacobian as slopes
from micrograd import jit, math, vmap

CAMERA, POINT = 11, 3
COLUMNS = CAMERA + POINT + 1


def cross(a, b):
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def rotated(rotation, v):
    """Turn v about the axis `rotation`, by an angle of its length."""
    squared = sum(r * r for r in rotation)
    if squared == 0.0:
        return [a + b for a, b in zip(v, cross(rotation, v))]
    angle = math.sqrt(squared)
    axis = [r / angle for r in rotation]
    c, s = math.cos(angle), math.sin(angle)
    along = sum(a * b for a, b in zip(axis, v)) * (1.0 - c)
    return [a * c + b * s + w * along for a, b, w in zip(v, cross(axis, v), axis)]


def projected(camera, point):
    """Return where the camera sees the point."""
    rotation, centre, focal = camera[0:3], camera[3:6], camera[6]
    x, y, z = rotated(rotation, [p - c for p, c in zip(point, centre)])
    x, y = x / z, y / z
    squared = x * x + y * y
    distortion = 1.0 + camera[9] * squared + camera[10] * squared * squared
    return x * distortion * focal + camera[7], y * distortion * focal + camera[8]


def reprojection_error(camera, point, weight, feature):
    x, y = projected(camera, point)
    return weight * (x - feature[0]), weight * (y - feature[1])


def weight_error(weight):
    return 1.0 - weight * weight


errors = jit(vmap(reprojection_error, threads=THREADS), wait=True)
weight_errors = jit(vmap(weight_error, threads=THREADS), wait=True)
blocks = jit(vmap(slopes(reprojection_error, argnums=(0, 1, 2)), threads=THREADS), wait=True)
weight_slopes = jit(vmap(slopes(weight_error), threads=THREADS), wait=True)


def by_observation(cameras, points, weights, observed, features):
    """Return a row of each for every observation."""
    return cameras[observed[:, 0]], points[observed[:, 1]], weights, features


def all_errors(cameras, points, weights, observed, features):
    of_points = errors(*by_observation(cameras, points, weights, observed, features))
    return np.stack(of_points, axis=1), weight_errors(weights)


def sparse_jacobian(cameras, points, weights, observed, features):
    """Return row starts, columns and values of the matrix: two rows for each observation, then one for each weight."""
    n, m, p = len(cameras), len(points), len(weights)
    nonzeros = 2 * COLUMNS * p
    rows = np.empty(3 * p + 1, dtype=np.int32)
    rows[: 2 * p + 1] = np.arange(0, nonzeros + 1, COLUMNS)
    rows[2 * p + 1 :] = np.arange(nonzeros + 1, nonzeros + p + 1)
    columns = np.empty(nonzeros + p, dtype=np.int32)
    of_weights = CAMERA * n + POINT * m + np.arange(p)
    block = columns[:nonzeros].reshape(p, 2, COLUMNS)
    block[:, :, :CAMERA] = (CAMERA * observed[:, :1] + np.arange(CAMERA))[:, None]
    block[:, :, CAMERA:-1] = (CAMERA * n + POINT * observed[:, 1:] + np.arange(POINT))[:, None]
    block[:, :, -1] = of_weights[:, None]
    columns[nonzeros:] = of_weights
    values = np.empty(nonzeros + p)
    block = values[:nonzeros].reshape(p, 2, COLUMNS)
    found = blocks(*by_observation(cameras, points, weights, observed, features))
    for k, (by_camera, by_point, by_weight) in enumerate(found):
        block[:, k, :CAMERA], block[:, k, CAMERA:-1], block[:, k, -1] = by_camera, by_point, by_weight
    values[nonzeros:] = weight_slopes(weights)
    return rows, columns, values


def arguments(given):
    """Repeat the one camera, point, weight and feature of the input as often as it says."""
    n, m, p = given["n"], given["m"], given["p"]
    observed = np.stack([np.arange(p) % n, np.arange(p) % m], axis=1)
    cameras, points = np.tile(given["cam"], (n, 1)), np.tile(given["x"], (m, 1))
    return cameras, points, np.full(p, given["w"]), observed, np.tile(given["feat"], (p, 1))


def errors_as_json(found):
    of_points, of_weights = found
    return {
        "reproj_error": {"elements": of_points[0].tolist(), "repeated": len(of_points)},
        "w_err": {"element": float(of_weights[0]), "repeated": len(of_weights)},
    }


def matrix_as_json(found):
    """Keep of each list the first thirty items, which are one observation's, and the last."""
    return {name: [*part[:30].tolist(), part[-1].item()] for name, part in zip(("rows", "cols", "vals"), found)}


objective = Function(all_errors, arguments, errors_as_json, lambda *given: errors.explain(*by_observation(*given)))
jacobian = Function(sparse_jacobian, arguments, matrix_as_json, lambda *given: blocks.explain(*by_observation(*given)))
