"""Functions whose loops make an object in each iteration, and tell objects apart or see a change under another name."""

import weakref

from stage.objects_made_anew import Body, Box, Matrix, Pair, Plain, Vec

N = 20


def same_name(x, y):
    v = w = Vec(x, y)
    same = 0
    for _ in range(N):
        same += v is w
        v = v * 0.9
        w = w * 0.9 if same > 3 else v
    return v.x + same


def same_at_first(x, y):
    v = w = Vec(x, y)
    same = 0
    for _ in range(N):
        same += v is w
        v, w = v * 0.9, w * 0.8
    return v.x + w.y + same


def equal_by_default(x, y):
    v = w = Plain(x, y)
    same = 0
    for _ in range(N):
        same += v == w
        v, w = v.moved(0.1), w.moved(0.2)
    return v.x + w.y + same


def in_a_list(x, y):
    v = Vec(x, y)
    seen, same = [v], 0
    for _ in range(N):
        same += v in seen
        v = v * 0.9
    return v.x + same


def kept_in_a_list(x, y):
    v, seen = Vec(x, y), []
    for _ in range(N):
        v = v * 0.9
        seen.append(v)
    seen[-1].x = 5.0
    return v.x + seen[3].y


def changed_by_its_other_name(x, y):
    v = best = Vec(x, y)
    for _ in range(N):
        v = v * 0.9 + Vec(0.1, 0.1)
        if v.x > best.x:
            best = v
    v.x = 100.0
    return best.x


def entry_is_changed_behind(x, y):
    first = v = Vec(x, y)
    n = 0
    while v.x < 1.0 and n < 9:
        v = v + Vec(0.3, 0.1)
        n += 1
    first.y = 50.0
    return v.y


def entry_is_changed_inside(x, y):
    p = v = Vec(x, y)
    for _ in range(N):
        p.x = p.x * 0.9
        v = v + p
    return v.x + p.x


def outside_in_some_iterations(x, y):
    p = Vec(x, y)
    v = Vec(0.0, 0.0)
    for i in range(N):
        v = p if i == N - 1 else v + p
    p.x = 7.0
    return v.x


def before_is_changed(x, y):
    v = before = Vec(x, y)
    for _ in range(N):
        before = v
        v = v * 0.5
        before.x = 3.0
    return v.x + before.x


def two_share_one(x, y):
    a, b = Body(Vec(x, y), Vec(y, x)), Body(Vec(x, x), Vec(y, y))
    for _ in range(N):
        p = a.pos + b.pos * 0.1
        a, b = Body(p, a.vel), Body(p, b.vel)
    a.pos.x = 9.0
    return b.pos.x


def two_share_one_inside(x, y):
    a, b = Body(Vec(x, y), Vec(y, x)), Body(Vec(x, x), Vec(y, y))
    for _ in range(N):
        a.pos.x = a.pos.x * 0.5
        p = Vec(a.pos.x + b.pos.x, y)
        a, b = Body(p, a.vel), Body(p, b.vel)
    return b.pos.x + a.pos.x


def held_by_an_object(x, y):
    box, v = Box(None), Vec(x, y)
    for _ in range(N):
        v = v * 0.9
        box.inner = v
    v.x = 4.0
    return box.inner.x


def list_inside_is_shared(x, y):
    rows = [[x, y], [y, x]]
    p = Matrix(rows)
    for _ in range(N):
        p = Matrix([[p.rows[0][0] * 0.9, y], p.rows[1]])
    rows[1][0] = 30.0
    return p.rows[0][0] + p.rows[1][0]


def grows(x, y):
    node = Pair(x, None)
    for _ in range(N):
        node = Pair(node.a * 0.9 + y, node)
    return node.a + node.b.b.a


def other_class(x, y):
    v = Vec(x, y)
    for i in range(N):
        v = Plain(v.x * 0.9, v.y) if i % 2 else Vec(v.x * 0.8, v.y)
    return v.x + isinstance(v, Plain)


MADE = []


class Counted:
    def __init__(self, x):
        self.x = x
        MADE.append(1)


def effect_of_init(x, y):
    before = len(MADE)
    c = Counted(x)
    for _ in range(N):
        c = Counted(c.x * 0.9)
    return c.x * (len(MADE) - before)


class Numbered:
    count = 0

    def __init__(self, x):
        self.x = x
        Numbered.count += 1


def class_attribute(x, y):
    Numbered.count = 0
    c = Numbered(x)
    for _ in range(N):
        c = Numbered(c.x * 0.9)
    return c.x * Numbered.count


class Deleted:
    alive = []

    def __init__(self, x):
        self.x = x

    def __del__(self):
        self.alive.append(1)


def deleted(x, y):
    c = Deleted(x)
    for _ in range(N):
        c = Deleted(c.x * 0.9 + y)
    return c.x


class Key:
    def __init__(self, x):
        self.x = x

    def __eq__(self, other):
        return self.x == other.x

    def __hash__(self):
        return 3


def as_a_key(x, y):
    k = Key(x)
    seen = {k: 1.0}
    for _ in range(N):
        k = Key(k.x * 0.5)
    return k.x + seen.get(k, 2.0)


class Grows:
    def __init__(self, x):
        self.x = x

    def doubled(self):
        made = Grows(self.x * 0.9)
        made.count = getattr(self, "count", 1) * 3
        return made


def large_whole_numbers(x, y):
    g = Grows(x)
    g.count = 1
    for _ in range(5 * N):
        g = g.doubled()
    return g.x + g.count % 1000


def attribute_grows(x, y):
    g = Grows(x)
    g.count = 1
    for _ in range(5 * N):
        g.count = g.count * 3
        g.x = g.x * 0.9
    return g.x + g.count % 1000


class Lazy:
    def __init__(self, x):
        self.x = x
        self.asked = 0.0

    def square(self):
        self.asked = self.asked + 1.0
        return self.x * self.x


def changed_by_a_method(x, y):
    a = Lazy(x)
    for _ in range(N):
        a = Lazy(a.square() * 0.5 + y * a.asked)
    return a.x + a.asked


def identity_by_id(x, y):
    v = Vec(x, y)
    names = set()
    for _ in range(N):
        names.add(id(v))
        v = v * 0.9
    return v.x + (len(names) > 1)


def two_in_a_list(x, y):
    p = Vec(x, y)
    ps = [p, p, Vec(y, x)]
    for _ in range(N):
        n = sum(a is not b for a in ps for b in ps)
        ps = [Vec(a.x * 0.9 + 0.01 * n, a.y) for a in ps]
    return ps[0].x + ps[2].y


def returned_and_changed(x, y):
    def settle(v):
        for _ in range(N):
            if v.x < 0.5:
                return v
            v = v * 0.8
        return v

    v = Vec(x, y)
    w = settle(v)
    v.x = 9.0
    return w.x


def function_read_behind(x, y):
    v = Vec(x, y)
    for i in range(N):
        f = lambda t, i=i: t * 0.9 + 0.01 * i  # noqa: E731
        v = Vec(f(v.x), v.y)
    return v.x + f(2.0)


def item_has_another_name(x, y):
    ps = [Vec(x, y), Vec(y, x)]
    for _ in range(N):
        ps[0] = ps[0] * 0.9
        ps[1] = ps[0]
    ps[0].x = 3.0
    return ps[1].x


def weak_reference(x, y):
    p = Plain(x, y)
    before = weakref.ref(p)
    for _ in range(N):
        p = p.moved(0.1)
    return p.x + (1.0 if before() is None else 0.0)


def too_large_for_a_float(x, y):
    n = 2**53 - 5
    for _ in range(N):
        n = n + 1
        y = y * 0.9
    return (n - 2**53) * x + y


TRAPS = [
    two_in_a_list, returned_and_changed, function_read_behind, item_has_another_name, weak_reference, too_large_for_a_float,
    same_name, same_at_first, equal_by_default, in_a_list, kept_in_a_list, changed_by_its_other_name,
    entry_is_changed_behind, entry_is_changed_inside, outside_in_some_iterations, before_is_changed, two_share_one,
    two_share_one_inside, held_by_an_object, list_inside_is_shared, grows, other_class, effect_of_init, class_attribute,
    deleted, as_a_key, large_whole_numbers, attribute_grows, changed_by_a_method, identity_by_id,
]  # fmt: skip
