"""kmeans with its points as rows of vmap."""

from evaluation import THREADS, Function, numbers
from kmeans import arguments, distance

from micrograd import grad, jit, jvp, vmap


def least_distance(point, centroids):
    return min(distance(point, centroid) for centroid in centroids)


def slope_and_curvature(point, centroids):
    def slope(shift):
        return grad(least_distance, 1)(point, [[v + shift for v in centroid] for centroid in centroids])

    return jvp(slope, (0.0,), (1.0,))


def over_points(f):
    return jit(vmap(f, in_axes=(0, None), reduce="sum", threads=THREADS), wait=True)


def newton_step(points, centroids):
    slopes, curvatures = both(points, centroids)
    return [[s / c for s, c in zip(*pair)] for pair in zip(slopes, curvatures)]


both = over_points(slope_and_curvature)
cost = Function(over_points(least_distance), arguments, float)
dir = Function(newton_step, arguments, numbers)
