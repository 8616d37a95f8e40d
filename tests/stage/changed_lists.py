"""Functions whose loops change lists: some loops can be rolled, and in the others something stands in the way."""

from micrograd import math as m

N = 40


def alias_names(x, y):
    u = [x * i for i in range(N)]
    w = u
    for i in range(1, N):
        u[i] = w[i - 1] * 0.5 + y
        w[i] = u[i] + 1.0
    return u[-1] + w[3]


def alias_in_list(x, y):
    u = [x * i for i in range(N)]
    box = [u, u]
    for i in range(1, N):
        box[0][i] = box[1][i - 1] + y
    return u[-1]


def helper_changes(x, y):
    def put(items, i, v):
        items[i] = v

    u = [x] * N
    for i in range(N - 1):
        put(u, i + 1, u[i] * y + 1.0)
    return u[N - 1] * u[2]


def helper_returns_early(x, y):
    def fill(items):
        for i in range(N):
            items[i] = items[i] + x
            if items[i] > y + 0.02 * i + 1.0:
                return i * 1.0
        return -1.0

    u = [0.1 * i for i in range(N)]
    k = fill(u)
    return k * x + sum(u) + u[5]


def break_mid(x, y):
    u = [0.0] * N
    for i in range(1, N):
        u[i] = u[i - 1] + x
        if u[i] > 10.0 * y:
            break
        u[i] = u[i] * 1.01
    return u[N - 1] + u[4] * u[20] + sum(u)


def continue_mid(x, y):
    u = [0.0] * N
    for i in range(1, N):
        u[i] = u[i - 1] + x
        if m.sin(u[i]) > y:
            continue
        u[i] = u[i] * 1.01 + u[i - 1]
    return u[N - 1] + u[4] * u[20]


def negative_wrap(x, y):
    u = [x * (i + 1) for i in range(N)]
    for i in range(N):
        u[i] = 0.5 * u[i] + 0.3 * u[i - 1] * y
    return u[0] + u[N - 1]


def out_of_range(x, y):
    u = [x] * N
    for i in range(N):
        u[i + 1] = u[i] * y
    return u[0]


def read_out_of_range(x, y):
    u = [x] * N
    for i in range(N):
        u[i] = u[i + 1] * y
    return u[0]


def over_itself(x, y):
    u = [x * (i + 1) for i in range(N)]
    s = 0.0
    for k, v in enumerate(u):
        if k + 1 < N:
            u[k + 1] = v * 0.5 + y
        s = s + v
    return s


def over_itself2(x, y):
    u = [x * (i + 1) for i in range(N)]
    s = 0.0
    for v in u:
        u[N - 1] = v * y
        s = s + v * v
    return s + u[N - 1]


def reversed_itself(x, y):
    u = [x * (i + 1) for i in range(N)]
    s = 0.0
    for v in reversed(u):
        u[0] = u[0] + v * y
        s = s * 0.9 + v
    return s + u[0]


def swap_items(x, y):
    u = [x * (i % 7) + y for i in range(N)]
    for i in range(N // 2):
        u[i], u[N - 1 - i] = u[N - 1 - i], u[i]
    return u[0] + 2.0 * u[1] + 3.0 * u[N - 1]


def bubble(x, y):
    u = [m.sin(x * i * i) + y for i in range(N)]
    for i in range(N - 1):
        for j in range(N - 1 - i):
            if u[j] > u[j + 1]:
                u[j], u[j + 1] = u[j + 1], u[j]
    s = 0.0
    for i in range(N):
        s = s + (i + 1.0) * u[i]
    return s


def slices(x, y):
    u = [x * i for i in range(N)]
    for i in range(1, N - 3):
        v = u[i : i + 3]
        v[0] = y
        u[i] = v[0] + v[1] * v[2]
    return u[3] + u[N - 4]


def slice_assign(x, y):
    u = [x * i for i in range(N)]
    w = u
    for _i in range(15):
        u[:] = [v * y + 1.0 for v in u]
        u[2] = x
    return w[5] + w[2] * u[N - 1]


def swap_lists(x, y):
    u = [x * i for i in range(N)]
    v = [y] * N
    for _t in range(13):
        for i in range(1, N):
            v[i] = u[i] * 0.5 + v[i - 1] * 0.25
        u, v = v, u
    return u[7] + v[8] * v[0]


def swap_lists_alias(x, y):
    u = [x * i for i in range(N)]
    v = [y] * N
    keep = u
    for _t in range(13):
        for i in range(1, N):
            v[i] = u[i] * 0.5 + v[i - 1] * 0.25
        u, v = v, u
    return u[7] + keep[8] * v[0]


def rebind_same(x, y):
    u = [x * i for i in range(N)]
    for t in range(20):
        old = u
        u[t] = old[t + 1] * y + 1.0
        r = old
        r[t + 2] = r[t] + u[t + 3]
    return u[7] + old[5] + r[20]


def new_each(x, y):
    u = [x * i for i in range(N)]
    for _t in range(20):
        new = [0.0] * N
        for i in range(N):
            new[i] = u[i] * y + new[i - 1]
        old, u = u, new
    return u[7] + old[5] + new[3]


PROGRAMS = [
    alias_names,
    alias_in_list,
    helper_changes,
    helper_returns_early,
    break_mid,
    continue_mid,
    negative_wrap,
    out_of_range,
    read_out_of_range,
    over_itself,
    over_itself2,
    reversed_itself,
    swap_items,
    bubble,
    slices,
    slice_assign,
    swap_lists,
    swap_lists_alias,
    rebind_same,
    new_each,
]
