"""Every construct of plain Python that decides by a Value: one merged trace, with eager code's results row by row."""

import numpy as np
import pytest

from micrograd import grad, jit, math, value_and_grad, vmap

ROWS = [
    (0.5, 2.0, -1.0), (-0.5, 2.0, 1.0), (3.0, 1.0, 2.0), (-2.0, -3.0, 0.5), (1.0, 1.0, 1.0), (0.0, 0.0, 0.0),
    (0.25, -1.5, 4.0), (-4.0, 0.75, -0.25), (2.0, 2.0, -2.0), (1e-3, 5.0, 3.0), (-1e-3, 5.0, -3.0),
]  # fmt: skip


def if_else(x, y, z):
    if x > y:
        a = x * x
    else:
        a = math.exp(y)
    return a * z


def elif_chain(x, y, z):
    if x < -1:
        return y
    elif x < 0:
        r = y * z
    elif x < 1:
        r = y - z
    else:
        r = math.sin(x)
    return r + x


def conditional_expression(x, y, z):
    return (x if y > 0 else z * z) * (y if z > 0 else -y)


def and_or_not(x, y, z):
    if (x > 0 and y > 0) or not z > 0:
        return x * y
    return (x or y) + (z and x)


def chained(x, y, z):
    return x * y if -1 < x <= y < 3 else z * x


def builtin_min_max(x, y, z):
    return max(x, y, z) * 2.0 + min([x * x, y, z])


def builtin_abs(x, y, z):
    return abs(x) * abs(y - z)


def builtin_sorted(x, y, z):
    low, middle, high = sorted([x, y, z])
    return low + 2.0 * middle * high


def sorted_with_key(x, y, z):
    first, *_ = sorted([x, y, z], key=lambda v: v * v, reverse=True)
    return first * 3.0


def any_all(x, y, z):
    if any(v > 1 for v in (x, y, z)):
        return x * y
    if all(v < 1 for v in [x, y, z]):
        return y * z
    return x


def contained(x, y, z):
    return x * y if x in (1.0, 2.0, y) else z


def while_loop(x, y, z):
    n = 0
    while abs(x) < 10 and n < 12:
        x = x * 2 + y * 0.125
        n += 1
    return x + n * z


def endless_until_return(x, y, z):
    while True:
        x = x * 0.75 + 0.125 * z
        y = y + abs(x) + 0.25
        if y > 12:
            return x * y
        z = z * 0.5


def bisection_between_plain_floats(x, y, z):
    low, high = 0.0, 10.0
    below = low**3 - x * low - abs(y)
    while high - low > 1e-6:
        middle = (low + high) / 2
        here = middle**3 - x * middle - abs(y)
        if (here > 0) == (below > 0):
            low, below = middle, here
        else:
            high = middle
    return middle * z + here


def floats_or_values(x, y, z):
    t, step, iterations = 0.0, 0.25, 0
    while t < 2.0 and iterations < 40:
        step = min(step, 2.0 - t)
        error = abs(step * x * 0.125)
        if error < 0.05:
            t += step
            y = y + step * z * math.cos(y)
        step = step * min(2.0, max(0.5, 0.05 / max(error, 1e-3)))
        iterations += 1
    return y + iterations / 16


def divided_by_plain_floats(x, y, z):
    k, total = 1.0, x
    for _ in range(30):
        total = total + y / k + (7.0 % k) * 0.01 + (100.0 // k) * z
        k = k * 1.25 if total > 1 else k + 0.5
    return total


def for_break(x, y, z):
    for i in range(6):
        x = x + y * 0.5
        if x > 2:
            break
        z = z * 0.5 + i
    else:
        z = z - 1
    return x * z


def for_continue(x, y, z):
    total = 0.0
    for v in (x, y, z, x * y):
        if v < 0:
            continue
        total = total + math.sqrt(v)
    return total


def early_return_in_a_loop(x, y, z):
    for k in range(5):
        x = x * 1.5
        if x > 4:
            return y * k
    return x


def nested(x, y, z):
    for _ in range(3):
        if x > 0:
            for j in range(3):
                if y > j:
                    x = x - 0.25
                else:
                    break
        elif y > 0:
            x = x + y
    return x * z


def helper(x, y, z):
    def clip(v, low=-1.0, high=1.0):
        if v < low:
            return low
        if v > high:
            return high
        return v

    return clip(x) * clip(y * z) + z


def closure(x, y, z):
    best = x

    def take(v):
        nonlocal best
        if v > best:
            best = v

    take(y)
    take(z)
    return best * x


class Line:
    def __init__(self, slope, at):
        self.slope, self.at = slope, at

    def __call__(self, v):
        if v > self.at:
            return self.slope * (v - self.at)
        return v * 0.0


def method(x, y, z):
    line = Line(y, z)
    if x > 0:
        line.at = x
    return line(x + y) + line.slope


def comprehension(x, y, z):
    return sum([v if v > 0 else -v for v in (x, y, z)]) + sum(v * v for v in (x, y, z) if v > 1)


def lists_changed_in_arms(x, y, z):
    items = [x, y]
    same = items
    if z > 0:
        same[0] = y * 2.0
    else:
        items[1] = z
    return items[0] * same[1]


def counters(x, y, z):
    n = 1
    if x > 0:
        n += 1
    if y > 0:
        n *= 3
    return [x, y, z, x, y, z, x][n] * n


def tuples_and_swaps(x, y, z):
    if x > y:
        x, y = y, x
    pair = (x, z) if z > 0 else (z, x)
    a, b = pair
    return a - 2.0 * b + y


def strings_and_dicts(x, y, z):
    kind = "low" if x < 0 else "high"
    table = {"low": y, "high": z}
    if y > 0:
        table["low"] = x
    return table[kind] * 2.0


def iterator_in_one_arm(x, y, z):
    it = iter([x, y, z])
    if x > 0:
        next(it)
    return next(it) * 2.0


def recursion(x, y, z):
    def half(v, n):
        if n == 0 or abs(v) < 0.5:
            return v
        return half(v * 0.5, n - 1)

    return half(x, 4) * y


def shared_before_the_choice(x, y, z):
    pole = math.log(x)
    root = math.sqrt(y)
    if z > 0:
        return pole * root
    return x * z


CONSTRUCTS = [
    if_else, elif_chain, conditional_expression, and_or_not, chained, builtin_min_max, builtin_abs, builtin_sorted,
    sorted_with_key, any_all, contained, while_loop, endless_until_return, bisection_between_plain_floats,
    floats_or_values, divided_by_plain_floats, for_break, for_continue,
    early_return_in_a_loop, nested, helper, closure,
    method, comprehension, lists_changed_in_arms, counters, tuples_and_swaps, strings_and_dicts, iterator_in_one_arm,
    recursion, shared_before_the_choice,
]  # fmt: skip


def slope_sum(f):
    def total(*args):
        gx, gy, gz = grad(f, (0, 1, 2))(*args)
        return gx + 2.0 * gy - gz

    return total


def results(f, rows):
    found = []
    for row in rows:
        flat = []
        value = f(*row)
        for part in value if isinstance(value, tuple) else (value,):
            flat += part if isinstance(part, tuple) else [part]
        found.append([float(v) for v in flat])
    return np.array(found)


def columns(value):
    flat = []
    for part in value if isinstance(value, tuple) else (value,):
        flat += part if isinstance(part, tuple) else [part]
    return np.stack(flat, axis=1)


ORDERS = {
    "value": lambda f: f,
    "gradient": lambda f: value_and_grad(f, (0, 1, 2)),
    "second": lambda f: value_and_grad(slope_sum(f), (0, 1, 2)),
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("f", CONSTRUCTS, ids=lambda f: f.__name__)
def test_rows_have_the_results_of_eager_code_whatever_their_order(f, order):
    g = ORDERS[order](f)
    wanted = results(g, ROWS)
    for first in (0, 3, 7):
        rows = ROWS[first:] + ROWS[:first]
        h = vmap(g)
        found = columns(h(*np.array(rows).T))
        np.testing.assert_allclose(found, np.roll(wanted, -first, axis=0), rtol=1e-12, atol=1e-14)
        assert any(v.trace.merged for v in h.variants) or f in (builtin_abs,)
        assert len(list(h.variants)) <= 2


@pytest.mark.parametrize("f", CONSTRUCTS, ids=lambda f: f.__name__)
def test_exact_and_float32(f):
    g = value_and_grad(f, (0, 1, 2))
    wanted = results(g, ROWS)
    xs = np.array(ROWS).T
    np.testing.assert_array_equal(columns(vmap(g, exact=True)(*xs)), wanted)
    np.testing.assert_allclose(columns(vmap(g, float32=True)(*xs)), wanted, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("f", CONSTRUCTS, ids=lambda f: f.__name__)
def test_at_one_point(f):
    g = value_and_grad(f, (0, 1, 2))
    h = jit(g, wait=True)
    wanted = results(g, ROWS)
    np.testing.assert_allclose(results(h, ROWS), wanted, rtol=1e-12, atol=1e-14)
