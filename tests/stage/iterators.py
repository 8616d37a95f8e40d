"""Programs with generators, patterns, objects and look-ups: what test_outcomes.py compares with eager code."""

from dataclasses import dataclass, field


def generators(x, y):
    def gen(n):
        a, b = x, y
        for _ in range(n):
            yield a
            a, b = b, a + b * 0.5
            if a > 4:
                return

    tot = 0.0
    for k, v in enumerate(gen(6)):
        if v < 0:
            continue
        tot = tot + v * k
        if tot > 9:
            break

    def both():
        yield from gen(3)
        yield 1.0

    return tot + max(both()) + len(list(gen(4)))


def lookup_errors(x, y):
    try:
        n = {"a": 2, "b": 3}["a" if x > 0 else "c"]
        m = [1, 2, 3][n if y > 0 else 7]
    except KeyError:
        return x
    except LookupError:
        return y
    else:
        x = x * m
    return x * n


def a_generator_with_an_effect(x, y):
    state = [0]

    def gen():
        for v in (x, y, 1.0):
            state[0] += 1  # an effect: kept apart
            yield v

    s = 0.0
    for v in gen():
        s = s + v * state[0]
        if s > 2:
            break
    return s


def a_generator_whose_variable_changes(x, y):
    k = 2.0

    def gen():
        for v in (x, y, 1.0):
            yield v * k

    s = 0.0
    for v in gen():
        s = s + v
        if v > 0:
            k = k + 1  # what the generator reads changes
    return s


def patterns(x, y):
    p = (x, y) if x > 0 else (x, y, 1.0) if y > 0 else "no"
    match p:
        case (a, b):
            return a - b
        case (a, b, 1.0):
            return a + b
        case [a, b, c]:
            return c
        case str():
            return x * y
        case _:
            return 0.0 * x


def a_generator_that_is_held(x, y):
    # generator consumed by next and for, held
    def g():
        yield x
        if y > 0:
            yield y
        yield x * y

    it = g()
    a = next(it)
    b = next(it)
    r = a + 2 * b
    for v in it:
        r = r + 3 * v
    return r + next(it, 10.0)


class Node:
    def __init__(self, v, left=None, right=None):
        self.v, self.left, self.right = v, left, right


def a_tree_of_objects(x, y):
    # a tree of objects
    root = None

    def insert(n, v):
        if n is None:
            return Node(v)
        if v < n.v:
            n.left = insert(n.left, v)
        else:
            n.right = insert(n.right, v)
        return n

    for v in (x, y, x * y):
        root = insert(root, v)

    def walk(n, d):
        return 0.0 if n is None else walk(n.left, d + 1) + n.v * d + walk(n.right, d + 1)

    return walk(root, 1)


@dataclass
class P:
    a: float
    log: list = field(default_factory=list)

    def step(self, d):
        if d > 0:
            self.log.append(d)
        self.a = self.a + d
        return self


def a_dataclass_with_a_list(x, y):
    p = P(x).step(y).step(x * y)
    return p.a + sum(p.log) * len(p.log)


def a_dict_by_key(x, y):
    d = {}
    for k, v in zip("abca", (x, y, x * y, x - y)):
        if v > 0:
            d[k] = d.get(k, 0.0) + v
    best = max(d, key=lambda k: d[k]) if d else "none"
    return d.get(best, -1.0) + len(d) * x


def the_end_of_an_iterator(x, y):
    it = iter([x, y, 3.0])
    try:
        while True:
            v = next(it)
            if v < 0:
                raise ValueError
            x = x + v
    except StopIteration:
        return x
    except ValueError:
        return -x


def added_in_place_or_anew(x, y):
    a = b = [x]
    if y > 0:
        a = a + [y]
    else:
        a += [y]
    return sum(b) * len(a) + a[-1]


PROGRAMS = [
    generators, lookup_errors, a_generator_with_an_effect, a_generator_whose_variable_changes, patterns,
    a_generator_that_is_held, a_tree_of_objects, a_dataclass_with_a_list, a_dict_by_key, the_end_of_an_iterator,
    added_in_place_or_anew,
]  # fmt: skip
APART: set = set()  # those of which each path has a tape of its own
