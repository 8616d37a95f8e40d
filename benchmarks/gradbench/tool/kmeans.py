"""k-means: the cost of a clustering, and the step that Newton's method takes from it.

The Hessian is diagonal, as each coordinate of a centroid is squared by itself. So its diagonal is how the slope changes while
all coordinates grow alike.
"""

import numpy as np
from evaluation import Function, numbers

from micrograd import grad, jit, jvp


def distance(a, b):
    return sum((p - q) * (p - q) for p, q in zip(a, b))


def total_distance(points, centroids):
    return sum(min(distance(point, centroid) for centroid in centroids) for point in points)


def newton_step(points, centroids):
    def slope(shift):
        return grad(total_distance, 1)(points, [[v + shift for v in centroid] for centroid in centroids])

    slopes, curvatures = jvp(slope, (0.0,), (1.0,))
    return [[s / c for s, c in zip(*pair)] for pair in zip(slopes, curvatures)]


def arguments(given):
    return np.array(given["points"]), np.array(given["centroids"])


cost = Function(jit(total_distance, wait=True), arguments, float)
dir = Function(jit(newton_step, wait=True), arguments, numbers)
