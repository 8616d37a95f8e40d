"""Functions whose loops are long enough to stay loops, for tests that compile them in threads and in other processes."""

from dataclasses import dataclass

from micrograd import math as m


def warped(x, y):  # dynamic time warping: a table, with a choice in its inner loop
    n = 16
    grid = [[1e9] * (n + 1) for _ in range(n + 1)]
    grid[0][0] = x * y
    for i in range(1, n + 1):
        for j in range(1, n + 1):
            step = abs(m.sin(0.3 * i * x) - m.sin(0.3 * j + y))
            grid[i][j] = step + min(grid[i - 1][j], grid[i][j - 1], grid[i - 1][j - 1])
    return grid[n][n]


@dataclass
class Body:
    place: object
    speed: object

    def moved(self, pull):
        speed = self.speed - 0.01 * pull * self.place
        return Body(self.place + 0.01 * speed, speed if speed * speed < 4.0 else 0.5 * speed)


def swing(x, y):  # an object is made anew in each iteration, and another one is kept
    body = far = Body(x, y + 0.5)
    for _ in range(300):
        body = body.moved(1.0 + y * y)
        if body.place > far.place:
            far = body
    return far.place * far.speed + body.place


PROGRAMS = [warped, swing]
