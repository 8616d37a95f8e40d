"""Functions whose loops change lists of lists, item by item; in some of them something stands in the way of a table."""

from micrograd import math as m

R, C = 6, 5


def table(x):
    return [[x * (i + 1) + 0.1 * j for j in range(C)] for i in range(R)]


def edit_distance(x, y):
    grid = [[0.0] * (C + 1) for _ in range(R + 1)]
    for i in range(1, R + 1):
        grid[i][0] = grid[i - 1][0] + x
    for j in range(1, C + 1):
        grid[0][j] = grid[0][j - 1] + y
    for i in range(1, R + 1):
        for j in range(1, C + 1):
            step = grid[i - 1][j - 1] + abs(x * i - y * j)
            grid[i][j] = min(grid[i - 1][j] + x, grid[i][j - 1] + y, step)
    return grid[R][C] + grid[-1][-2]


def named_row(x, y):
    grid = table(x)
    for i in range(1, R):
        row, above = grid[i], grid[i - 1]
        for j in range(C):
            row[j] = row[j] * 0.5 + above[j] * y
            above[j] += 0.1
    return sum(grid[R - 1]) + sum(grid[0])


def by_column(x, y):
    grid = table(x)
    for j in range(1, C):
        for i in range(R):
            grid[i][j] = grid[i][j - 1] * y + grid[R - 1 - i][j]
    return grid[0][C - 1] + grid[R - 1][C - 1]


def over_rows(x, y):
    grid = table(x)
    for i in range(R):
        for j, v in enumerate(list(grid[i])):
            grid[i][j] = v * y + x
    total = 0.0
    for row in grid:
        total = total + max(row)
    return total


def rows_of_loop(x, y):
    grid = table(x)
    for row in grid:
        for j in range(1, C):
            row[j] = row[j] + row[j - 1] * y
    for i, row in enumerate(grid):
        row[0] = row[1] + i
    return sum(grid[R - 1]) + grid[2][0]


def changed_while_read(x, y):
    grid = table(x)
    total = 0.0
    for v in grid[2]:
        for i in range(R):
            grid[i][3] = grid[i][3] + v * y
        total = total + v
    for a, b in zip(grid[0], grid[1]):
        for i in range(R):
            grid[i][3] = grid[i][3] + a * b
        total = total + a + b
    return total + grid[2][3]


def alias_before(x, y):
    grid = table(x)
    third = grid[2]
    for i in range(1, R):
        for j in range(C):
            grid[i][j] = grid[i - 1][j] + y
            third[1] = third[1] + x
    third[0] = third[0] + 1.0
    return grid[2][0] + grid[2][1] + third[1] + grid[R - 1][1]


def same_row(x, y):
    grid = [[x] * C] * R
    for i in range(R):
        for j in range(C):
            grid[i][j] = grid[i][j] + y * j
    return grid[0][2] + grid[R - 1][3]


def shared_row(x, y):
    grid = table(x)
    other = [grid[0], grid[1], grid[2]]
    for i in range(R):
        for j in range(C):
            grid[i][j] = grid[i][j] + y
            other[0][j] = other[1][j] * 0.5
    return other[0][1] + grid[0][2] + grid[1][3]


def ragged_rows(x, y):
    grid = [[x] * (i + 1) for i in range(R)]
    for i in range(1, R):
        for j in range(1, i):
            grid[i][j] = grid[i - 1][j - 1] + y
    return grid[R - 1][2]


def triangle(x, y):
    grid = [[x] * R for _ in range(R)]
    for i in range(1, R):
        for j in range(1, i + 1):
            grid[i][j] = grid[i - 1][j - 1] + y * grid[i - 1][j] + 0.1
    return grid[R - 1][2] + grid[R - 1][R - 1]


def cholesky(x, y):
    a = [[1.0 / (1.0 + i + j) + (x * x + 1.0 if i == j else 0.1 * y) for j in range(R)] for i in range(R)]
    low = [[0.0] * R for _ in range(R)]
    for i in range(R):
        for j in range(i + 1):
            s = a[i][j]
            for k in range(j):
                s = s - low[i][k] * low[j][k]
            low[i][j] = m.sqrt(abs(s)) if i == j else s / low[j][j]
    return low[R - 1][R - 1] + low[R - 1][0]


def in_an_arm(x, y):
    grid = table(x)
    for i in range(1, R):
        for j in range(C):
            if grid[i - 1][j] > y:
                grid[i][j] = grid[i][j] * 0.5 + x
            else:
                grid[i - 1][j] = y
    return sum([sum(row) for row in grid])


def with_break(x, y):
    grid = table(x)
    for i in range(1, R):
        for j in range(C):
            grid[i][j] = grid[i][j] + grid[i - 1][j] * y
            if grid[i][j] > 3.0:
                break
    return grid[R - 1][C - 1] + grid[2][1]


class Board:
    def __init__(self, x, y):
        self.cells, self.y = table(x), y

    def blend(self, i, j):
        self.cells[i][j] = self.cells[i][j] + self.y * self.cells[i - 1][j]


def helper(x, y):
    def put(rows, i, j, v):
        rows[i][j] = v

    board = Board(x, y)
    for i in range(1, R):
        for j in range(C):
            board.blend(i, j)
            put(board.cells, i - 1, j, board.cells[i][j] * 0.5)
    return board.cells[R - 1][1] + board.cells[2][2]


def grows_later(x, y):
    grid = table(x)
    for i in range(1, R):
        for j in range(C):
            grid[i][j] = grid[i - 1][j] + y
    grid[1].append(x)
    grid[0].sort()
    row = grid[2]
    row[1] = y
    for i in range(R):
        for j in range(C):
            grid[i][j] = grid[i][j] * 2.0
    return grid[1][C] + grid[0][0] + grid[2][1] + row[1] + grid[R - 1][0]


def grows_inside(x, y):
    grid = table(x)
    for i in range(1, R):
        for j in range(C):
            grid[i][j] = grid[i - 1][j] + y
        grid[i].append(x)
    return grid[1][C] + grid[R - 1][0]


def copied(x, y):
    grid = table(x)
    kept = [list(row) for row in grid]
    for i in range(1, R):
        for j in range(C):
            grid[i][j] = grid[i - 1][j] + y
    again = [row[:] for row in grid]
    third = grid[3].copy()
    for i in range(1, R):
        for j in range(C):
            grid[i][j] = grid[i][j] * again[i][j] + kept[i][j]
    third[0] = 5.0
    return grid[R - 1][1] + again[2][2] * third[1] + kept[R - 1][0] + grid[3][0]


def rows_swapped(x, y):
    grid = table(x)
    for i in range(1, R):
        grid[i - 1], grid[i] = grid[i], grid[i - 1]
        for j in range(C):
            grid[i][j] = grid[i][j] + y * grid[i - 1][j]
    return grid[0][1] + grid[R - 1][2]


def row_replaced(x, y):
    grid = table(x)
    old = grid[1]
    for i in range(1, R):
        grid[i] = [v * y for v in grid[i - 1]]
        grid[i][0] = x
    old[2] = 7.0
    return grid[1][2] + old[2] + grid[R - 1][1]


def two_tables(x, y):
    now, then = table(x), table(y)
    for _ in range(5):
        for i in range(1, R - 1):
            for j in range(1, C - 1):
                then[i][j] = now[i][j] + 0.1 * (now[i - 1][j] + now[i + 1][j] + now[i][j - 1] + now[i][j + 1])
        for i in range(R):
            for j in range(C):
                now[i][j] = then[i][j]
    return now[2][2] + now[1][3]


def exchanged_tables(x, y):
    now, then = table(x), table(y)
    for _ in range(5):
        for i in range(1, R - 1):
            for j in range(1, C - 1):
                then[i][j] = now[i][j] + 0.1 * (now[i - 1][j] + now[i][j + 1])
        now, then = then, now
    return now[2][2] + then[1][3]


def outside(x, y):
    grid = table(x)
    for i in range(R):
        for j in range(C + 1):
            grid[i][j] = y
    return grid[0][0]


def above(x, y):
    grid = table(x)
    for i in range(R):
        for j in range(C):
            grid[i][j] = grid[i - 1][j] + y
    return grid[0][0] + grid[R - 1][C - 1]


def row_of_another_name(x, y):
    grid = table(x)
    total = 0.0
    for i in range(1, R):
        row = grid[i]
        for j in range(1, C):
            grid[2][-2] = max(total, row[j - 1] + 0.1 * i)
            total = total + (row[0] + row[j]) * y
    return total + grid[2][C - 2]


def pure(x, y):
    grid = [[0] * C for _ in range(R)]
    for i in range(R):
        for j in range(C):
            grid[i][j] = i + j
    return x * grid[R - 1][C - 1] + y * grid[1][2]


def loop_in_an_arm(x, y):
    grid = table(x)
    if x > y:
        for i in range(R):
            for j in range(C):
                grid[i][j] = grid[i][j] * y + 0.1 * i
    return grid[-1][0] + sum(grid[2])


def loops_in_both_arms(x, y):
    grid = table(x)
    kept = grid[3]
    if x > y:
        kept[1] = y
        for i in range(R):
            grid[i][1] = m.sin(grid[i][1] + x)
    else:
        for i in range(R):
            grid[i][2] = grid[i][0] * y
    return grid[3][1] + grid[3][2] + grid[0][1] + kept[2]


def grows_in_an_arm(x, y):
    grid = table(x)
    for i in range(R):
        grid[i][0] = grid[i][0] * y
    if x > y:
        grid[2].append(x)
        grid[2].pop(0)
    else:
        for i in range(R):
            grid[i][0] = m.sin(grid[i][0])
    return grid[2][0] + grid[1][0] * grid[2][-1]


def loop_before_a_return(x, y):
    grid = table(x)
    if x > y:
        for i in range(R):
            grid[i][0] = grid[i][0] * y
        if y > 0.5:
            return grid[1][0] + grid[4][0]
    return grid[2][0] - grid[5][0]


def loop_before_an_exception(x, y):
    grid = table(x)
    try:
        for i in range(R):
            grid[i][0] = grid[i][0] * y
        if x > y:
            raise ValueError
        grid[1][0] = x
    except ValueError:
        for i in range(R):
            grid[i][1] = grid[i][0] + x
    return grid[1][0] + grid[2][1]


def distances(n):
    def f(x, y):
        grid = [[1e9] * (n + 1) for _ in range(n + 1)]
        grid[0][0] = 0.0
        for i in range(1, n + 1):
            for j in range(1, n + 1):
                before = min(grid[i - 1][j], grid[i][j - 1], grid[i - 1][j - 1])
                grid[i][j] = before + abs(x * (0.1 * i) - y * (0.2 * j))
        return grid[n][n]

    return f


PROGRAMS = [
    edit_distance, named_row, by_column, over_rows, rows_of_loop, changed_while_read, alias_before, same_row,
    shared_row, ragged_rows, triangle, cholesky, in_an_arm, with_break, helper, grows_later, grows_inside, copied,
    rows_swapped, row_replaced, two_tables, exchanged_tables, outside, above, row_of_another_name, pure,
    loop_in_an_arm, loops_in_both_arms, grows_in_an_arm, loop_before_a_return, loop_before_an_exception,
]  # fmt: skip
