"""Functions whose loops compute their indices, ask about them, or count them; each is a loop in the tape, or must not be."""

from micrograd import math as m

N = 9


def made(x, n=None):
    return [x * (i + 1) + 0.1 * i * i for i in range(N if n is None else n)]


def stencil(x, y):
    u, g = made(x), [0.0] * N
    for i in range(N):
        g[i] = -2.0 * u[i]
        if i > 0:
            g[i] += y * u[i - 1]
        if i < N - 1:
            g[i] += u[i + 1] * u[i]
    return g[0] + g[N - 1] * g[3]


def stencil_of_expressions(x, y):
    u = made(x)
    for _ in range(4):
        u = [u[i] + y * ((u[i - 1] if i else 0.0) - 2.0 * u[i] + (u[i + 1] if i + 1 != N else x)) for i in range(N)]
    return u[0] + u[4]


def stencil_in_steps(x, y):
    n = 25
    u = made(x, n)
    for _ in range(5):
        new = []
        for i in range(n):
            left = u[i - 1] if i >= 1 else 0.0
            right = 0.0 if i == n - 1 else u[i + 1]
            new.append(u[i] + y * (left - 2.0 * u[i] + right))
        u = new
    return u[0] * u[n - 1]


def edges(x, y):
    u, v = made(x), [0.0] * N
    for i in range(N):
        if i == 0 or i == N - 1:
            v[i] = u[i] * y
        else:
            v[i] = u[i - 1] * u[i + 1]
    return m.sum(v)


def between(x, y):
    u, total = made(x), 0.0
    for i in range(N):
        if 1 < i < N - 2 and u[i] > y:
            total = total + u[i - 2] * u[i + 2]
        elif i > 0:
            total = total - u[i - 1]
    return total


def grid_edges(x, y):
    g = [[x * i - y * j for j in range(6)] for i in range(7)]
    for i in range(7):
        for j in range(6):
            s = g[i][j]
            if i > 0:
                s += 0.5 * g[i - 1][j]
            if j > 0 and i < 6:
                s += g[i + 1][j - 1]
            if j < 5:
                g[i][j + 1] = g[i][j + 1] * 0.5 + s * y
            g[i][j] = s
    return g[6][5] + g[3][2]


def inner_loop_in_an_arm(x, y):
    u, total = made(x), 0.0
    for i in range(N):
        if i > 0:
            for j in range(N):
                total = total + u[i - 1] * u[j] * 0.1
        else:
            total = total - y
    return total


def clamped_by_the_program(x, y):
    u, total = made(x), 0.0
    for i in range(N):
        total = total * y + u[max(i - 1, 0)] - u[min(i + 2, N - 1)]
    return total


def around(x, y):
    u, v = made(x), [y] * N
    for i in range(N):
        v[(i + 1) % N] = v[i] + y * (u[(i + 1) % N] - 2.0 * u[i] + u[(i - 1) % N])
    return v[0] * v[N - 1]


def around_by_minus_one(x, y):
    u, total = made(x), 0.0
    for i in range(N):
        total = total * y + u[i - 1] * u[-1 - i]
    return total


def by_or(x, y):  # the condition does not say that i is above 0: u[-1] is the last item
    u, total = made(x), 0.0
    for i in range(N):
        if i > 0 or x > y:
            total = total * 0.5 + u[i - 1]
    return total


def seasons(x, y):
    season, total = [x, y, x * y, x - y], 0.0
    for i in range(3 * N):
        total = total * 0.9 + season[i % 4] * season[(5 * i + 2) % 3]
        if total > 1.5:
            total = total - season[-(i % 4)]
    return total


def halves(x, y):
    u, v = made(x), [0.0] * N
    for i in range(2 * N):
        v[i // 2] += u[(2 * N - 1 - i) // 2] * y + u[-(i // 2) - 1] + u[(-i) // 2 + N - 1]
    return v[0] + v[N - 1] * v[4]


def two_in_one(x, y):
    flat, total = made(x, 12), 0.0
    for k in range(12):
        i, j = divmod(k, 4)
        total = total * y + flat[4 * (k // 4) + (3 - k % 4)] + i - j
    return total


def counted(x, y):
    u, v, j = made(x), [0.0] * N, 0
    while j < N:
        v[j] = u[N - 1 - j] * y
        j += 1
    return v[2] - v[N - 1] + j


def counted_down(x, y):
    u, total, j = made(x), 0.0, N - 1
    while j >= 0:
        total = total * y + u[j]
        j -= 1
    return total * (2 + j)


def counted_until(x, y):
    u, j, s = made(x), 0, 0.0
    while j < N and s < 3.0 + y:
        s = s + abs(u[j])
        j += 1
    return s * j


def counted_with_break(x, y):
    u, j, s = made(x), 0, 0.0
    for _ in range(N - 1):
        if s > 4.0:
            break
        j += 1
        s = s + u[j] * u[j]
    return s + y * j


def counted_in_a_for(x, y):
    u, j, k, total = made(x, 3 * N), 2, 3 * N - 1, 0.0
    for _ in range(N - 1):
        total = total * y + u[j] * u[k]
        j += 3
        k = k - 1
    return total + j * k + u[j - 3]


def counted_and_computed(x, y):
    u, j, total = made(x), 1, 0.0
    for _ in range(N - 2):
        for k in range(j):
            total = total * 0.5 + u[k] * u[j % 3 + j // 2]
        j += 1
    return total + y


def counted_in_one_arm(x, y):  # how far it has counted differs by row
    u, j, total = made(x), 0, 0.0
    for i in range(N - 1):
        if u[i] > y:
            total = total + u[j]
            j += 1
    return total + j


def counted_around(x, y):  # what is left of a number that differs by row differs by row
    u, j, k, total = made(x), 0, 0, 0.0
    for _ in range(N):
        total = total + u[j % 4] * u[k]
        k = (k + 5) % 7
        if total > y:
            j += 1
    return total


def a_mode(x, y):  # which changes from 0 to 1 in the first iteration, and does not count
    u, mode, total = made(x), 0, 0.0
    for i in range(N):
        total = total + [x, y][mode] * u[i]
        mode = 1 - mode
    return total + mode


def a_mode_by_row(x, y):
    mode, total = 0, x
    for _ in range(N):
        total = total * 0.5 + [x, y, x * y][mode]
        mode = 1 if total > y else 2
    return total + mode


def below_the_diagonal(x, y):  # Cholesky
    a = [[x * x / (1.0 + (i - j) * (i - j)) + (3.0 + y * y if i == j else 0.0) for j in range(6)] for i in range(6)]
    c = [[0.0] * 6 for _ in range(6)]
    for i in range(6):
        for j in range(i + 1):
            s = a[i][j]
            for k in range(j):
                s -= c[i][k] * c[j][k]
            c[i][j] = m.sqrt(s) if i == j else s / c[j][j]
    return c[5][5] * c[5][0]


def eliminated(x, y):  # Gauss
    n = 7
    a = [[x / (1.0 + abs(i - j)) + (4.0 if i == j else 0.0) for j in range(n)] for i in range(n)]
    b, z = [y * i + 1.0 for i in range(n)], [0.0] * n
    for p in range(n):
        for i in range(p + 1, n):
            f = a[i][p] / a[p][p]
            for j in range(p, n):
                a[i][j] -= f * a[p][j]
            b[i] -= f * b[p]
    for i in range(n - 1, -1, -1):
        s = b[i]
        for j in range(i + 1, n):
            s -= a[i][j] * z[j]
        z[i] = s / a[i][i]
    return z[0] + z[n - 1]


def pairs(x, y):
    u, total = made(x), 0.0
    for i in range(N):
        for j in range(i):
            d = u[i] - u[j]
            total = total + (d * y if d > 1.0 else d * d)
    return total


def outside_in_an_arm(x, y):
    u, total = made(x), 0.0
    for i in range(N):
        if i > 2:
            total = total + u[i + 1]
    return total


def outside_by_a_count(x, y):
    u, j, total = made(x), 0, 0.0
    while j <= N:
        total = total + u[j]
        j += 1
    return total


LOOPS = [stencil, stencil_of_expressions, stencil_in_steps, edges, between, grid_edges, inner_loop_in_an_arm,
         clamped_by_the_program, around, around_by_minus_one, by_or, seasons, halves, counted, counted_down, counted_until,
         counted_with_break, counted_in_a_for, counted_and_computed, a_mode_by_row,
         below_the_diagonal, eliminated, pairs]  # fmt: skip
OTHERS = [two_in_one, counted_in_one_arm, counted_around, a_mode, outside_in_an_arm, outside_by_a_count]
