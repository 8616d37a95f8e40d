"""Functions whose loops make lists longer or shorter, or change lists of other kinds."""

from micrograd import math as m

N = 40


def append_pop(x, y):
    s = [x]
    for i in range(30):
        s.append(s[-1] * y + i)
        s.append(s[-2] + 1.0)
        t = s.pop()
        s[-1] = s[-1] + 0.1 * t
    return s[-1] + s[7] + len(s) * x


def append_if(x, y):
    s = []
    for i in range(30):
        t = m.sin(x * i)
        if t > y:
            s.append(t)
    return sum(s) + len(s)


def append_break(x, y):
    s = []
    t = 0.0
    for _i in range(30):
        t = t + x
        s.append(t)
        if t > 10.0 * y:
            break
    return sum(s) * 2.0 + s[-1] + len(s)


def pop_all(x, y):
    s = [x * i for i in range(40)]
    r = 0.0
    for _i in range(40):
        r = r * y + s.pop()
    return r + len(s)


def pop_too_many(x, y):
    s = [x * i for i in range(20)]
    r = 0.0
    for _i in range(40):
        r = r * y + s.pop()
    return r


def same_row(x, y):
    g = [[x] * 30] * 5
    for i in range(5):
        for j in range(29):
            g[i][j + 1] = g[i][j] * y + 1.0
    return g[0][3] + g[4][29]


def grid(x, y):
    g = [[x * (i + j) for j in range(30)] for i in range(30)]
    for i in range(1, 29):
        for j in range(1, 29):
            g[i][j] = 0.25 * (g[i - 1][j] + g[i + 1][j] + g[i][j - 1] + g[i][j + 1]) + y
    return g[10][10] + g[28][28]


def data_index(x, y):
    u = [0.0] * N
    for i in range(N):
        u[(i * i) % N] = x * i + u[i] * y
    return sum(u)


def floor_index(x, y):
    u = [0.0] * N
    for i in range(N):
        u[i // 2] += x * i * y
    return u[3] * u[5]


def unused_write(x, y):
    u = [m.log(x - 5.0 + i * 0.0) for i in range(N)]
    for i in range(N):
        u[i] = x * i + y
    return u[5] + u[9]


def partly_written(x, y):
    u = [m.sqrt(y * 0.0) for i in range(N)]
    for i in range(1, N):
        u[i] = x * i + y
    return u[5] + u[9]


def float_list(x, y):
    u = [0.0] * N
    for i in range(N):
        u[i] = 0.5 * i
    return x * u[7] + y


def ints(x, y):
    u = [0] * N
    for i in range(1, N):
        u[i] = u[i - 1] + 1
    return x * u[7] + y * u[N - 1]


def int_then_value(x, y):
    u = [0] * N
    for i in range(1, N):
        u[i] = u[i - 1] + x
    return u[7] + y * u[N - 1] + u[0]


def division(x, y):
    u = [0.0] * N
    u[0] = y
    for i in range(1, N):
        u[i] = x / (u[i - 1] + 2.0)
    return u[7] + 1.0 / u[N - 1]


def division_by_plain_zero(x, y):
    u = [0.0] * N
    for i in range(1, N):
        u[i] = 1.0 / u[i - 1]
    return u[7] + x


def whil(x, y):
    u = [x] * N
    i = 0
    while i < N - 1:
        u[i + 1] = u[i] * y + 1.0
        i += 1
    return u[N - 1]


def while_data(x, y):
    u = [x] * N
    n = 0
    while u[3] < 10.0 and n < 100:
        u[3] = u[3] * 1.5 + y
        u[4] = u[3] * u[4] * 0.1
        n += 1
    return u[3] + u[4] + n


def short_state(x, y):
    s = [x, y, 0.0]
    for _i in range(50):
        s[0] = s[0] + 0.01 * s[1]
        s[1] = s[1] - 0.01 * s[0]
        s[2] += s[0] * s[1]
    return s[2] + s[0]


def short_lane(x, y):
    s = [x, y, 0.0, 1.0, 0.5, 0.25]
    for _k in range(20):
        for j in range(6):
            s[j] = s[j] * 0.5 + s[5 - j] * y
    return s[2] + s[0]


def nested_comp(x, y):
    u = [x] * N
    for _t in range(20):
        w = [u[i] * y for i in range(N)]
        for i in range(N - 1):
            u[i] = w[i + 1] + u[i + 1]
    return u[0] + w[3]


def nonlocal_list(x, y):
    u = [x] * N

    def step(i):
        u[i] = u[i - 1] * y + 1.0

    for i in range(1, N):
        step(i)
    return u[N - 1]


class Box:
    def __init__(self, n, x):
        self.data = [x] * n

    def step(self, y):
        for i in range(1, len(self.data)):
            self.data[i] = self.data[i - 1] * y + self.data[i]


def attribute(x, y):
    b = Box(N, x)
    for _ in range(15):
        b.step(y)
    return b.data[N - 1] + b.data[3]


def is_same(x, y):
    u = [x] * N
    w = u
    for i in range(1, N):
        u[i] = u[i - 1] * y
    if u is w:
        return u[N - 1] + w[4]
    return 0.0


def iterator_kept(x, y):
    u = [x * i for i in range(N)]
    it = iter(u)
    s = next(it)
    for i in range(N - 1):
        u[i + 1] = u[i + 1] * y
        s = s + next(it)
    return s


def zip_self(x, y):
    u = [x * i for i in range(N)]
    for i, (a, b) in enumerate(zip(u, u[1:])):  # noqa: RUF007
        u[i] = a * y + b
    return u[3] + u[N - 2]


def tuple_of_list(x, y):
    u = [x * i for i in range(N)]
    t = (u, 1.0)
    for i in range(1, N):
        t[0][i] = u[i - 1] * y + t[1]
    return u[N - 1]


def two_loops_growing(x, y):
    u = []
    for i in range(30):
        u.append(x * i)
    for i in range(30):
        u.append(u[i] * y + u[-1])
    return u[-1] + u[40] + len(u)


def del_item(x, y):
    u = [x * i for i in range(N)]
    for _i in range(15):
        del u[0]
    return u[0] + y


def insert(x, y):
    u = [x]
    for _i in range(15):
        u.insert(0, u[0] * y)
    return u[0] + u[7]


def extend(x, y):
    u = [x]
    for _i in range(15):
        u.extend([u[-1] * y, x])
    return u[0] + u[8] + len(u)


def plus_equals(x, y):
    u = [x]
    for _i in range(15):
        u += [u[-1] * y]
    return u[-1] + u[8] + len(u)


def raise_in(x, y):
    u = [x] * N
    try:
        for i in range(N):
            if m.sin(x * i) > y + 0.5:
                raise ValueError
            u[i] = u[i] + 1.0 * i
    except ValueError:
        u[0] = u[0] * 3.0
    return sum(u) + u[0]


def grow_in_inner(x, y):
    total = 0.0
    for i in range(20):
        r = []
        for j in range(25):
            r.append(x * i + y * j)
        total = total + r[-1] * r[3]
    return total


def return_list(x, y):
    u = [x] * N
    for i in range(1, N):
        u[i] = u[i - 1] * y + 0.1
    return u[-1], u[2], u[30] * u[3]


PROGRAMS = [
    append_pop,
    append_if,
    append_break,
    pop_all,
    pop_too_many,
    same_row,
    grid,
    data_index,
    floor_index,
    unused_write,
    partly_written,
    float_list,
    ints,
    int_then_value,
    division,
    division_by_plain_zero,
    whil,
    while_data,
    short_state,
    short_lane,
    nested_comp,
    nonlocal_list,
    attribute,
    is_same,
    iterator_kept,
    zip_self,
    tuple_of_list,
    two_loops_growing,
    del_item,
    insert,
    extend,
    plus_equals,
    raise_in,
    grow_in_inner,
    return_list,
]
