"""A charged particle: find the place of a charge that lets the particle cross the x axis at the origin.

The force on the particle is the slope of a potential, and the search for the place needs the slope of the whole path. Each of
these two derivatives is computed by forward or by reverse sweeps: "fr" is forward outside, reverse inside.
"""

from descent import argmin, forward, reverse
from evaluation import Function

from micrograd import jit, math


class Point:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __add__(self, other):
        return Point(self.x + other.x, self.y + other.y)

    def __sub__(self, other):
        return Point(self.x - other.x, self.y - other.y)

    def __mul__(self, factor):
        return Point(self.x * factor, self.y * factor)

    def norm(self):
        return math.sqrt(self.x * self.x + self.y * self.y)


def squared_crossing(w, gradient):
    """Return the square of the place where the particle crosses the x axis, by Euler's method."""
    charges = [Point(10.0, 10.0 - w), Point(10.0, 0.0)]

    def potential(place):
        return sum(1.0 / (charge - Point(place[0], place[1])).norm() for charge in charges)

    slope = gradient(potential)
    position, velocity, dt = Point(0.0, 8.0), Point(0.75, 0.0), 0.1
    while True:
        along_x, along_y = slope([position.x, position.y])
        position = position + velocity * dt
        if position.y <= 0.0:
            crossing = position + velocity * (-position.y / velocity.y)
            return crossing.x * crossing.x
        velocity = velocity - Point(along_x, along_y) * dt


def search(outer, inner):
    def miss(at):
        return squared_crossing(at[0], inner)

    objective, slope = jit(miss, wait=True), jit(outer(miss), wait=True)

    def arguments(given):
        return (given["w"],)

    return Function(lambda w: argmin(objective, slope, [w])[0], arguments, float, lambda w: slope.explain([w]))


ff, fr, rf, rr = search(forward, forward), search(forward, reverse), search(reverse, forward), search(reverse, reverse)
