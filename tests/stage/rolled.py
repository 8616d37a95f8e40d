"""Programs with one plain loop or more, which test_rolled.py compares with eager code."""

from micrograd import Value, math
from micrograd.tape.tape import Loop, Tape

SCALE = Value(0.75)
WEIGHTS = [0.1 * k for k in range(30)]


def loops(tape: Tape) -> int:
    """How many loops a tape has, without those inside of others."""
    return sum(isinstance(op, Loop) for op in tape.ops)


def number(x):
    """The number of a Value; a number as it is."""
    return x.data if isinstance(x, Value) else x


def only_values(x, y, z):
    for _ in range(20):
        x = x * 0.9 + 0.1 * math.sin(y)
    return x * z


def counter(x, y, z):
    total = x
    for k in range(3, 40, 2):
        total = total + y * k * 0.01
    return total * z


def counter_divided(x, y, z):
    for k in range(20):
        x = x + z * math.exp(-k / 10.0) * (k / 20)
    return x * y


def powers_and_remainders(x, y, z):
    for k in range(2, 26):
        x = x * 0.8 + y * 0.9**k + 0.1 * (k // 3) - z * (k % 4) * 0.01
    return x + z**2


def every_third(x, y, z):
    for k in range(24):
        if k % 3 == 1:
            x = x * 0.5 + z
        else:
            x = x + y * 0.01
    return x


def value_to_a_counter(x, y, z):
    total = x
    for k in range(24):
        total = total + (1.0 + y * y) ** (2 * k - 30) * z
    return total


def begins_with_a_number(x, y, z):
    total = 0.0
    for k in range(25):
        total += x * y / (k + 1.0)
    return total + z


def begins_with_an_int(x, y, z):
    total = 0
    for _ in range(25):
        total = total * 0.5 + x * y
    return total + z


def plain_time(x, y, z):
    t, h = 0.0, 0.125
    for _ in range(30):
        x = x + h * (y - math.tanh(x) * t)
        t += h
    return x * z + t


def temporaries_are_used_behind(x, y, z):
    for k in range(22):  # noqa: B007
        step = x * 0.1
        x = x + step * y
    return x + step * z + k


def two_variables_change_places(x, y, z):
    for _ in range(21):
        x, y = y * 0.9, x + z * 0.1
    return x - y


def over_a_list(x, y, z):
    for w in WEIGHTS:
        x = x * 0.95 + w * y
    return x * z


def over_made_values(x, y, z):
    values = [x * k + y for k in range(30)]
    total = z
    for v in values:
        total = total * 0.9 + math.sin(v)
    return total


def zipped_and_counted(x, y, z):
    values = [x * k + y for k in range(30)]
    total = z
    for k, (v, w) in enumerate(zip(values, WEIGHTS)):
        total = total * 0.9 + w * v + 0.001 * k
    return total


def by_index(x, y, z):
    values = [x + 0.1 * k * y for k in range(30)]
    total = z
    for k in range(1, 29):
        total = total * 0.5 + values[k + 1] - values[k] * values[k - 1]
    return total


def backwards_by_index(x, y, z):
    values = [x + 0.1 * k * y for k in range(30)]
    total = z
    for k in range(29, -1, -1):
        total = total * y * 0.3 + values[k]
    return total


def by_the_index_of_an_outer_loop(x, y, z):
    values = [x + 0.1 * k * y for k in range(20)]
    total = z
    for i in range(20):
        for j in range(12):
            total = total * 0.9 + values[i] * 0.1 - values[j] * 0.05
    return total


def over_a_list_of_pairs(x, y, z):
    pairs = [(x * k, y + k) for k in range(25)]
    total = z
    for a, b in pairs:
        total = total * 0.5 + a * b * 0.01
    return total


def state_in_a_list(x, y, z):
    def slope(state):
        a, b = state
        return [b, -math.sin(a) * z]

    state = [x, y]
    h = 0.05
    for _ in range(20):
        k1 = slope(state)
        k2 = slope([s + h * k for s, k in zip(state, k1)])
        state = [s + 0.5 * h * (p + q) for s, p, q in zip(state, k1, k2)]
    state[0] = state[0] * 2.0
    return state[0] + state[1]


def state_in_a_tuple_of_tuples(x, y, z):
    state = ((x, y), z)
    for k in range(20):
        (a, b), c = state
        state = ((b * 0.9, a + c * 0.1), c * 0.99 + k * 0.001)
    return state[0][0] * state[1] + state[0][1]


def counts_what_it_meets(x, y, z):
    count = 0
    for k in range(24):
        x = x * 0.9 + 0.1 * math.sin(k * y)
        if x > z:
            count += 2
    return x * count + y


def backwards_over_a_list(x, y, z):  # Horner's rule
    total = y
    for weight in reversed(WEIGHTS):
        total = total * x * 0.9 + weight
    return total * z


def backwards_over_a_range(x, y, z):
    for k, (a, b) in enumerate(zip(reversed(range(30)), reversed([x * 0.1 * j for j in range(30)]))):
        y = y * 0.9 + b * a * 0.01 - k * 0.001
    return y * z


def counters_of_two_loops(x, y, z):
    total = 0.0
    for i in range(20):
        for j in range(15):
            if i != j:
                total = total + x * math.exp(-abs(i - j) * y * y * 0.1)
    return total * z + (i * 100 + j) * x


def nested(x, y, z):
    for i in range(15):
        inner = z
        for j in range(12):
            inner = inner * 0.5 + x * 0.1 + i * j * 0.001
        x = x * 0.7 + inner * y
    return x


def helper_and_closure(x, y, z):
    def slope(u):
        return scaled(u, y) - z

    for _ in range(25):
        k1 = slope(x)
        k2 = slope(x + 0.1 * k1)
        x = x + 0.05 * (k1 + k2)
    return x


def scaled(u, v):
    return math.sin(u) * v


def two_loops(x, y, z):
    for _ in range(16):
        x = x * 0.5 + y
    for _ in range(18):
        y = y * 0.5 + x * z
    return x * y


def captured_parameter(x, y, z):
    for _ in range(20):
        x = x * SCALE + y * 0.1
    return x * z


def choice_behind(x, y, z):
    for _ in range(20):
        x = x * 0.9 + y * 0.1
    if x > z:
        return x * x
    return y * z


def choice_inside(x, y, z):
    for k in range(20):
        if x > z:
            x = x * 0.5 - 0.01 * k
        else:
            x = x + y * y * 0.1
    return x


PROGRAMS = [
    only_values, counter, counter_divided, powers_and_remainders, every_third, value_to_a_counter,
    begins_with_a_number, begins_with_an_int, plain_time, temporaries_are_used_behind, two_variables_change_places, over_a_list,
    over_made_values, zipped_and_counted, by_index, backwards_by_index, counters_of_two_loops, nested, backwards_over_a_list,
    backwards_over_a_range, helper_and_closure,
    two_loops,
    captured_parameter, state_in_a_list, state_in_a_tuple_of_tuples, counts_what_it_meets, choice_behind, choice_inside,
    by_the_index_of_an_outer_loop, over_a_list_of_pairs,
]  # fmt: skip
