# ruff: noqa: RUF007  (programs as users write them)
"""Lists that each iteration of a loop creates are arrays of the tape, with eager code's results."""

import numpy as np
import pytest

from micrograd import grad, jit, math, value_and_grad, vmap
from micrograd.tape.tape import Loop
from random_programs import needs_llvm
from stage.rolled import loops, number

pytestmark = [needs_llvm, pytest.mark.usefixtures("short_loops_are_rolled")]

ROWS = [(0.5, 2.0, -1.0), (-0.5, 1.5, 1.0), (1.3, 1.0, 0.25), (0.1, -0.3, 0.5), (1.0, 1.0, 1.0), (0.2, 0.7, -0.6)]
N = 24
WEIGHTS = [0.05 * k - 0.4 for k in range(N)]


def american_put(x, y, z):
    up = math.exp(0.2 + 0.01 * z)
    prices = [x * x * up**j for j in range(-N, N + 1)]
    values = [max(y - prices[2 * k], 0.0) for k in range(N + 1)]
    for n in range(N, 0, -1):
        held = [0.98 * (0.6 * values[k + 1] + 0.4 * values[k]) for k in range(n)]
        values = [max(v, y - prices[2 * k - n + 1 + N]) for k, v in enumerate(held)]
    return values[0]


def triangle(x, y, z):
    row = [x + k * y for k in range(N)]
    for _ in range(N - 1):
        row = [a * 0.5 + b * 0.5 * z for a, b in zip(row, row[1:])]
    return row[0]


def one_list_with_two_names_at_the_end(x, y, z):
    old = [math.sin(x * k) for k in range(N)]
    for _ in range(20):
        new = [old[0] * z if k == 0 else old[k - 1 + 0 * k] * 0.5 + old[k] * 0.5 for k in range(0)]
        new = [0.5 * old[N - 1 - k] + 0.25 * y * old[k] for k in range(N)]
        old = new
    return old[3] + new[5] + len(new)


def viterbi(x, y, z):
    scores = [x * k * 0.1 for k in range(N)]
    for t in range(15):
        best = max(scores[0], scores[N - 1])
        scores = [max(s + 0.1 * y, best - 0.05 * (k + t)) + z * WEIGHTS[k] for k, s in enumerate(scores)]
    return max(scores[0], scores[7]) - scores[-1]


def heat(x, y, z):
    u = [math.exp(-x * k * 0.1) for k in range(N)]
    for _ in range(30):
        u = [u[0]] + [u[i] + 0.2 * z * (u[i + 1] - 2.0 * u[i] + u[i - 1]) for i in range(1, N - 1)] + [u[-1]]
    return u[N // 2] + y * sum(u)


def reversed_each_time(x, y, z):
    u = [x * k for k in range(N)]
    for t in range(13):
        u = [0.5 * a + 0.1 * b * y for a, b in zip(u, reversed(u))]
        if u[2] > z * t:
            u = [0.9 * a for a in u[::-1]]
        else:
            u = [a + 0.01 * z for a in u]
    return u[1] * u[2]


def shrinks_at_both_ends(x, y, z):
    u = [math.tanh(x + k * y) for k in range(2 * N)]
    for _ in range(N - 3):
        u = [v * z + 0.1 for v in u[1:-1]]
    return u[0] + u[-1] + len(u)


def grows(x, y, z):
    row = [x + 0.1 * k for k in range(30)]
    for t in range(25):
        row = [0.9 * row[k] + 0.01 * y if k < 30 else row[29] * z for k in range(30)]
        row = [v + 0.001 * t for v in row]
    return row[-1]


def inner_sums(x, y, z):
    a = [x * 0.1 * k for k in range(N)]
    for i in range(N - 1):
        total = 0.0
        for j in range(N - i - 1):
            total = total + a[j] * a[j + 1] * 0.01
        a = [v * 0.9 + 0.01 * total * y for v in a]
    return a[0] + a[-1] * z


def cumulative(x, y, z):
    u = [x + k * y * 0.01 for k in range(N)]
    for _ in range(14):
        total = 0.0
        for v in u:
            total = total + v
        u = [v / (1.0 + total * total) + z * 0.1 for v in u]
    return u[4] * total


def left_early(x, y, z):
    u = [x + 0.1 * k for k in range(N)]
    for k in range(50):
        u = [0.9 * v + 0.1 * y for v in u]
        if u[0] > z + 0.02 * k:
            break
    return u[0] + u[-1] * 0.5


def until_small(x, y, z):
    u = [x + 0.1 * k for k in range(N)]
    while u[-1] * u[-1] > 0.1 + z * z:
        u = [0.8 * v for v in u]
    return u[0] * y + u[-1]


TABLE = [[0.01 * ((i * 7 + j * 3) % 11) for j in range(30)] for i in range(30)]


def all_pairs(x, y, z):
    scores = [x * 0.1 * k for k in range(30)]
    for t in range(13):
        scores = [max(scores[i] + y * TABLE[i][j] for i in range(30)) - 0.1 * z * t for j in range(30)]
    return min(scores) + sum(scores)


def warping(x, y, z):
    costs = [[abs(x + 0.1 * i - y * math.sin(z * j)) for j in range(16)] for i in range(14)]
    before = [0.1 * y * j for j in range(16)]
    for i in range(14):
        row = costs[i]
        after = [row[j] + min(before[j], before[j - 1]) for j in range(1, 16)]
        before = [x + row[0]] + after
    return before[-1]


def sums_of_what_is_left(x, y, z):
    u = [x + k * y * 0.1 for k in range(32)]
    total = 0.0
    for _ in range(31):
        u = [0.5 * a + 0.4 * b for a, b in zip(u, u[1:])]
        total = total + sum(u) * z + 0.1 * max(u) + sum(0.1 * a * b for a, b in zip(u, reversed(u)))
    return total


PROGRAMS = [
    all_pairs, warping, sums_of_what_is_left,
    american_put, triangle, one_list_with_two_names_at_the_end, viterbi, heat, reversed_each_time, shrinks_at_both_ends,
    grows, inner_sums, cumulative, left_early, until_small,
]  # fmt: skip


def divided_by_a_plain_zero(x, y, z):
    u = [max(x - 0.1 * k, 0.0) for k in range(N)]
    for _ in range(13):
        u = [max(v * 0.5, 0.0) for v in u]
    return x * y + (1.0 / u[-1] if z > 100.0 else 0.0)


def changed_in_place(x, y, z):
    u = [x + 0.1 * k for k in range(N)]
    for t in range(14):
        u = [0.9 * v for v in u]
        u[t] = y
    u[0] = z
    return sum(u)


def other_names(x, y, z):
    u = [x + 0.1 * k for k in range(N)]
    first = u
    for _ in range(13):
        u = [0.9 * v for v in u]
    first[0] = y
    kept = u
    kept[1] = z
    return first[0] + first[1] + u[1] + kept[0]


def appended_in_the_loop(x, y, z):
    out = []
    total = x
    for k in range(30):
        total = total * 0.9 + y * k * 0.01
        out.append(total)
    return sum(out) * z + out[3]


def written_by_index(x, y, z):
    c, d = [0.0] * N, [0.0] * N
    c[0], d[0] = 0.2 * x, y
    for i in range(1, N):
        w = 1.0 / (4.0 - x * x * 0.01 * c[i - 1])
        c[i] = w * x
        d[i] = (z - d[i - 1]) * w
    for i in range(N - 2, -1, -1):
        d[i] = d[i] - c[i] * d[i + 1]
    return d[0]


def one_list_or_the_other(x, y, z):
    u = [x + 0.1 * k for k in range(N)]
    v = [y - 0.1 * k for k in range(N)]
    for _ in range(13):
        w = u if u[0] > z else v
        u, v = [0.9 * a for a in w], [0.8 * a + 0.1 * b for a, b in zip(u, v)]
    return u[1] + v[2]


def asks_how_long(x, y, z):
    u = [x + 0.1 * k for k in range(N)]
    total = 0.0
    while len(u) > 3:
        u = [0.5 * a + 0.5 * b for a, b in zip(u, u[1:])]
        total = total + u[0] * y
    return total + z * len(u)


def texts_and_numbers(x, y, z):
    u = [x if k else 1 for k in range(N)]
    for _ in range(13):
        u = [a if a == 1 else a * 0.9 for a in u]
    return u[0] * y + u[1] * z


def a_pole_that_no_row_reads(x, y, z):
    u = [math.log(x * 0.0 + k) for k in range(N)]
    for _ in range(13):
        u = [u[0] * 0.0 + y if k < 0 else u[k] * 0.5 for k in range(1, N)] + [z]
    return u[2] + y


def wraps_around(x, y, z):
    u = [x + 0.1 * k for k in range(N)]
    for _ in range(15):
        u = [0.5 * u[k] + 0.3 * u[k - 1] for k in range(N)]
    return u[0] * y + u[5] * z


TRAPS = [
    divided_by_a_plain_zero, changed_in_place, other_names, appended_in_the_loop, written_by_index, one_list_or_the_other,
    asks_how_long, texts_and_numbers, a_pole_that_no_row_reads, wraps_around,
]  # fmt: skip


def close(a, b):
    np.testing.assert_allclose(np.asarray(a, float), np.asarray([number(x) for x in b], float), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("f", PROGRAMS + TRAPS, ids=lambda f: f.__name__)
def test_lists_give_what_eager_code_gives(f):
    columns = np.array(ROWS).T
    derived = value_and_grad(f, (0, 1, 2))
    g = vmap(derived)
    value, slopes = g(*columns)
    want = [derived(*row) for row in ROWS]
    close(value, [w[0] for w in want])
    for k in range(3):
        close(slopes[k], [w[1][k] for w in want])
    if f in PROGRAMS:
        variants = list(g.variants)
        assert len(variants) == 1 and loops(variants[0].tape) >= 1


@pytest.mark.slow
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_lists_and_their_second_derivatives(f):
    second = grad(lambda x, y, z: grad(f, 0)(x, y, z), 1)
    columns = np.array(ROWS[:3]).T
    close(vmap(second)(*columns), [second(*row) for row in ROWS[:3]])


@pytest.mark.parametrize("f", PROGRAMS[::3], ids=lambda f: f.__name__)
def test_lists_at_one_point(f):
    derived = value_and_grad(f, (0, 1, 2))
    got, want = jit(derived)(*ROWS[0]), derived(*ROWS[0])
    close([got[0], *got[1]], [want[0], *want[1]])


def test_the_gradient_of_a_long_list_keeps_the_lists_of_some_iterations():
    def diffusion(x):
        u = [x * 0.01 * k for k in range(100)]
        for _ in range(20_000):
            u = [0.5 * math.sin(a) + 0.5 * b for a, b in zip(u, reversed(u))]
        return u[3]

    g = vmap(value_and_grad(diffusion))
    value, slope = g(np.array([1.0, 1.0 - 1e-4, 1.0 + 1e-4]))
    assert slope[0] == pytest.approx((value[2] - value[1]) / 2e-4, rel=1e-5)
    (variant,) = g.variants
    stacked = [op.results - op.carried for op in variant.tape.ops if isinstance(op, Loop) and op.iterations == 20_000]
    assert not any(stacked)  # a loop of 20,000 iterations would keep two million numbers
