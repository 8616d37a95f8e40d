"""ht with the vertices as rows of vmap; its three steps (bones, vertices, points) are joined by the chain rule in NumPy."""

import numpy as np
from evaluation import THREADS, Function, numbers
from ht import arguments, from_axis

from micrograd import jacobian as slopes
from micrograd import jit, jvp, vmap


def pose(theta, hand):
    """Return what vertices depend on: the upper three rows of each bone's matrix, then the turn of the whole hand."""
    rows = [row for transform in hand.bone_transforms(theta) for row in transform[0:3]]
    if hand.mirrored:
        rows = [row if k % 3 else [-t for t in row] for k, row in enumerate(rows)]
    return [*rows, *([*row, offset] for row, offset in zip(from_axis(theta[0:3]), theta[3:6]))]


def vertex(matrices, base, weights):
    place = [0.0, 0.0, 0.0]
    for bone in range(len(weights)):
        for i in range(3):
            place[i] += weights[bone] * sum(t * b for t, b in zip(matrices[3 * bone + i], base))
    return [sum(r * v for r, v in zip(row, [*place, 1.0])) for row in matrices[-3:]]


def vertex_slopes(matrices, moves, base, weights):
    return [jvp(lambda at: vertex(at, base, weights), (matrices,), (move,))[1] for move in moves]


posed = jit(pose, wait=True)
pose_slopes = jit(slopes(pose), wait=True)
vertices = jit(vmap(vertex, in_axes=(None, 0, 0), threads=THREADS), wait=True)
moved = jit(vmap(vertex_slopes, in_axes=(None, None, 0, 0), threads=THREADS), wait=True)


def on_skin(found, hand, measured):
    """Return what the vertices have (3 × n × …) for the measured points; a triangle's point is a mean of its corners."""
    if len(measured.places) == 0:
        return found[:, measured.correspondences]
    a, b, c = np.array(hand.triangles)[measured.correspondences].T
    u, v = (part.reshape(-1, *[1] * (found.ndim - 2)) for part in measured.places.T)
    return u * found[:, a] + v * found[:, b] + (1.0 - u - v) * found[:, c]


def differences(theta, shift, hand, measured):
    found = np.array(vertices(np.array(posed(theta, hand)), hand.base_positions, hand.weights))
    return (measured.points - on_skin(found, hand, measured).T).ravel()


def by_columns(theta, shift, hand, measured):
    matrices = np.array(posed(theta, hand))
    moves = np.moveaxis(np.array(pose_slopes(theta, hand)), -1, 0)
    found = np.array(moved(matrices, moves, hand.base_positions, hand.weights))  # theta, coordinate, vertex
    of_points = -on_skin(np.moveaxis(found, 0, -1), hand, measured)  # coordinate, point, theta
    rows = np.moveaxis(of_points, 0, 1).reshape(-1, len(theta))
    if len(measured.places) == 0:
        return rows
    placed = np.array(vertices(matrices, hand.base_positions, hand.weights))
    a, b, c = np.array(hand.triangles)[measured.correspondences].T
    by_place = np.stack([placed[:, c] - placed[:, a], placed[:, c] - placed[:, b]], axis=-1)
    return np.hstack([np.moveaxis(by_place, 0, 1).reshape(-1, 2), rows])


objective = Function(differences, arguments, numbers)
jacobian = Function(by_columns, arguments, numbers)
