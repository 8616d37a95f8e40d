"""Programs whose lists, dicts and sets hold different numbers of things in different rows, for test_outcomes.py."""

from micrograd import math


def aliases_and_a_stack(x, y):
    L = [x]
    K = L
    if x > 0:
        L.append(y)
    if y > 0:
        K.append(x * y)
    M = L + [y]
    if len(M) > 3:
        M.pop(0)
    while M:
        x = x * 0.5 + M.pop()
    return x + len(L)


def extend_and_sort(x, y):
    L = [x, y]
    if x > 0:
        L.extend([x * 2, y * 2] if y > 0 else [x])
    if y > 0:
        L += [v for v in L if v > 0.5]
    L.sort()
    return sum(v * (k + 1) for k, v in enumerate(L)) + L[-1] * len(L)


def dict_keys(x, y):
    d = {}
    if x > 0:
        d["a"] = x
    if y > 0:
        d["b"] = y
    t = 0.0
    for k, v in d.items():
        t = t + v * (2.0 if k == "a" else 3.0)
    d.pop("a", None)
    for k in d:
        t = t + d[k]
    return t + d.get("b", x) + len(d)


def insert_and_pop(x, y):
    out = []
    for v in (x, y, x * y):
        if v > 0:
            out.insert(0, v)
        else:
            out.append([v][0])
        if len(out) > 2 and v < 0.5:
            out.pop()
    a, *r = out
    return a * 2 + sum(r) + max(out) - min(out, default=0.0)


def stars_and_groups(x, y):
    groups = [[], []]
    for v in (x, y, x - y, x * y):
        groups[v > 0].append(v)
    both = [*groups[0], *groups[1]]
    n = [len(g) for g in groups]
    return sum(b * (k + 1) for k, b in enumerate(both)) + n[0] * x - n[1] * y


def sets_of_ints(x, y):
    s = set()
    for k, v in enumerate((x, y, x + y)):
        if v > 0:
            s.add(k)
    s.discard(1)
    r = 0.0
    for k in sorted(s):
        r = r + k * x
    return r + len(s) * y + (x if {0} <= s else y)


def a_closure_that_pushes(x, y):
    L = [x, y]

    def push(v):
        if v > 0:
            L.append(v)

    push(x)
    push(y)
    push(x - y)
    z = list(zip(L, L[1:]))  # noqa: RUF007
    return sum(a * b for a, b in z) + len(z)


def depth_first_search(x, y):
    q = [(x, 0)]
    t = 0.0
    while q:
        v, d = q.pop()
        t = t + v
        if d < 3 and v > 0.3:
            q.append((v * 0.5, d + 1))
            if y > 0:
                q.append((v * 0.25 + 0.05 * y, d + 1))
    return t


def filter_then_loop(x, y):
    L = [x, y, -x]
    pos = [v for v in L if v > 0]
    if pos:
        best = pos[0]
        for v in pos[1:]:
            if v > best:
                best = v
    else:
        best = y
    pos2 = [v * 2 for v in pos]
    if pos == []:
        best = best + 1
    t = tuple(pos2)
    L[1:] = pos2
    return best + sum(L) + len(t)


def lists_of_lists(x, y):
    rows = [[x, y], [y]]
    if x > 0:
        rows.append([x, x, y])
    if y > 0:
        rows[0] = rows[1]
    rows[0].append(1.0)
    return sum(sum(r) * len(r) for r in rows) + rows[-1][-1]


def any_and_all(x, y):
    items = [x, -x]
    if x > 0:
        items.append(2.0)
    return (x if any(items) else y) + (4.0 * y if all(v > -1 for v in items) else 8.0)


def any_leaves_items_in_an_iterator(x, y):
    it = iter([x, y, 3.0])
    found = any(it)
    return next(it, 50.0) * (2.0 if found else 1.0) if x > 0 else y


def an_iterator_that_has_ended_stays_ended(x, y):
    items = [x, y]
    it = iter(items)
    n = 0
    for _ in it:
        n += 1
    items.append(x)
    if x > 0:
        items.append(2.0)
    return next(it, x * 10.0) + n + len(items)


def items_added_to(x, y):
    L = [x]
    if x > 0:
        L.append(y)
    if y > 0:
        L[0] += 1.0
        L[-1] *= 2.0
    return sum(L) + (len(L) if x > 0 else 10.0 * len(L))


def dicts_by_two_stars(x, y):
    d = {"a": x}
    if x > 0:
        d["b"] = y
    e = {**d, "c": 1.0} if x > 0 else dict(d)

    def g(**k):
        return len(k) * x

    return g(**d) + sum(e.values()) if x > 0 else g(**d) + len(e)


def a_dict_that_grows_while_it_is_iterated_over(x, y):
    d = {"a": x}
    try:
        for _ in d:
            if x > 0:
                d["z"] = y
    except RuntimeError:
        return y * 5
    return x


def inner_lists_by_several_names(x, y):
    L = [[x], [y]]
    if x > 0:
        L[0].append(y)
    if y > 0:
        L.append(L[0])
    L[-1].append(2.0)
    t = 0.0
    for k, g in enumerate(L):
        for v in g:
            t = t + v * (k + 1)
    return t


def set_operations(x, y):
    s = {1, 2}
    if x > 0:
        s.add(3)
    t = s | {9} if y > 0 else s - {1}
    return len(t) * x + sum(t) * y


def an_alias_or_a_copy(x, y):
    L = [x]
    if x > 0:
        L.append(y)
    a = L if y > 0 else L[:]
    a.append(7.0)
    return sum(L) * len(L) + (1.0 if L is a else 2.0) + (3.0 if a == L else 4.0)


def deleted_while_looping(x, y):
    L = [x, y, x + y]
    i = 0
    while i < len(L):
        if L[i] < 0:
            del L[i]
        else:
            i += 1
    return sum(L) * (1 + len(L)) + i


def a_list_of_several_lengths_with_items_that_differ(x, y):
    count = 2 if y > 0.5 else 0
    first = 0.3 if x > 0.5 else y
    items = [1.5, first]
    if first > 0.2:
        items.append(count * first)
    return math.sum(items) * x + math.max(items)


def counted(x, y):
    first = x if x > 0 else 0.0
    items = [first, max(y, 0.0), 2.0, 0.0]
    if (first, max(y, 0.0), x * y).count(0) != 1:
        return x + items.count(0.0) * y
    if items.count(2.0) == 1:
        return x * y * items.count(first)
    return x - y


PROGRAMS = [
    items_added_to, dicts_by_two_stars, a_dict_that_grows_while_it_is_iterated_over, inner_lists_by_several_names,
    set_operations, an_alias_or_a_copy, deleted_while_looping, aliases_and_a_stack, extend_and_sort, dict_keys,
    insert_and_pop, stars_and_groups, sets_of_ints, a_closure_that_pushes, depth_first_search, filter_then_loop,
    lists_of_lists, a_list_of_several_lengths_with_items_that_differ, any_and_all, any_leaves_items_in_an_iterator,
    an_iterator_that_has_ended_stays_ended, counted,
]  # fmt: skip
APART: set = set()  # those of which each path has a tape of its own
