"""Slopes by forward or by reverse sweeps, and the gradient descent that particle and saddle prescribe."""

from micrograd import grad, jvp, math


def reverse(f):
    """Return the gradient of a function of a list of numbers, by one reverse sweep."""
    return grad(f)


def forward(f):
    """Return the same gradient by a forward sweep for each number."""

    def slope(x):
        directions = [[1.0 if i == k else 0.0 for i in range(len(x))] for k in range(len(x))]
        return [jvp(f, (x,), (direction,))[1] for direction in directions]

    return slope


def norm(x):
    return math.sqrt(sum(v * v for v in x))


def argmin(f, slope_of_f, start):
    """Return where descent from `start` ends: at a short gradient, or at a short step."""
    x, value, slope = start, f(start), slope_of_f(start)
    rate, successes = 1e-5, 0
    while norm(slope) > 1e-5:
        if successes == 10:
            rate, successes = 2.0 * rate, 0
            continue
        trial = [v - rate * s for v, s in zip(x, slope)]
        if norm([v - t for v, t in zip(x, trial)]) <= 1e-5:
            return x
        trial_value = f(trial)
        if trial_value < value:
            x, value, slope = trial, trial_value, slope_of_f(trial)
            successes += 1
        else:
            rate, successes = rate / 2.0, 0
    return x
