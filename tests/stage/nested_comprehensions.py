"""Functions with comprehensions in comprehensions; of some, the rows are not of one length."""

from micrograd import math as m

R, C = 14, 9


def products(x, y):
    grid = [[x * i + m.sin(y * j) for j in range(C)] for i in range(R)]
    return sum([max(row) for row in grid]) + grid[3][2] * grid[-1][-1]


def of_lists(x, y):
    rows, columns = [x * i for i in range(R)], [y * j + 1.0 for j in range(C)]
    grid = [[a * b + 0.1 * a for b in columns] for a in rows]
    return grid[2][3] + sum(grid[R - 1])


def with_choice(x, y):
    grid = [[x * i if m.sin(x * i + j) > y else y * j for j in range(C)] for i in range(R)]
    return sum([sum(row) for row in grid])


def shifted(x, y):
    grid = [[x * j + y * i for j in range(i, i + C)] for i in range(R)]
    return grid[3][0] + grid[R - 1][C - 1]


def triangular(x, y):
    grid = [[x * j + y * i for j in range(i + 1)] for i in range(R)]
    return grid[3][0] + grid[R - 1][C - 1] + sum([len(row) for row in grid])


def filtered(x, y):
    grid = [[x * j + y * i for j in range(C) if j % 2] for i in range(R)]
    return grid[3][0] + grid[R - 1][1]


def changed_later(x, y):
    grid = [[x * i + y * j for j in range(C)] for i in range(R)]
    kept = grid[4]
    for i in range(1, R):
        for j in range(C):
            grid[i][j] = grid[i][j] + grid[i - 1][j] * y
    kept[0] = x
    return grid[4][0] + kept[1] + grid[R - 1][C - 1]


def multiplied(x, y):
    a = [[x * i + m.cos(y * j) for j in range(R)] for i in range(R)]
    b = [[y * i + 0.1 * j for j in range(R)] for i in range(R)]
    c = [[sum([a[i][k] * b[k][j] for k in range(R)]) for j in range(R)] for i in range(R)]
    return c[0][0] + c[R - 1][R - 1] + c[2][3]


def with_a_dot(x, y):
    a = [[x * i + m.cos(y * j) for j in range(R)] for i in range(R)]
    c = [[sum(p * q for p, q in zip(a[i], a[j])) for j in range(R)] for i in range(R)]
    return c[0][0] + c[R - 1][3]


def plain_numbers(x, y):
    grid = [[0.5 * i + j for j in range(C)] for i in range(R)]
    return x * grid[2][3] + y * grid[R - 1][0]


def divided(x, y):
    grid = [[x * i + y * j for j in range(C)] for i in range(R)]
    return sum([1.0 / row[1] for row in grid]) + grid[2][2] ** 2


def raising(x, y):
    grid = [[x / (i - 3) if i + j < 5 else y for j in range(C)] for i in range(R)]
    return grid[0][0]


def assigning(x, y):
    grid = [[(last := x * i + y * j) for j in range(C)] for i in range(R)]
    return grid[2][3] + last


def three(x, y):
    cube = [[[x * i + y * j + k for k in range(3)] for j in range(C)] for i in range(R)]
    return cube[1][2][0] + cube[R - 1][C - 1][2]


PROGRAMS = [
    products, of_lists, with_choice, shifted, triangular, filtered, changed_later, multiplied, with_a_dot, plain_numbers,
    divided, raising, assigning, three,
]  # fmt: skip
