"""The functions of the prelude do what Python's own do: results, exceptions, and when they take which item."""

from __future__ import annotations

import bisect
import builtins
import collections
import functools
import heapq
import inspect
import itertools
import operator
import random
import statistics

import both
import pytest
from prelude_cases import CASES, NAN

from micrograd.core import forms, plain, prelude
from micrograd.core.lower import lower
from micrograd.core.prelude import folds, iteration, mappings, sequences

# Functions in C have other words for a wrong number of arguments, and divmod for what it cannot divide.
TEXTS_DIFFER = ("argument", "expected", "divmod", "float floor division")


def consumed(result, log, most=12):
    """Return what can be seen of a result: the items of an iterator, one by one."""
    if isinstance(result, tuple) and result and all(hasattr(r, "__next__") for r in result):  # tee
        first = [next(result[0], "none"), next(result[-1], "none"), next(result[0], "none")]
        return [first, *(list(itertools.islice(r, most)) for r in result)]
    if not hasattr(result, "__next__"):
        return result
    found = []
    for item in result:
        inner = list(item[1]) if isinstance(item, tuple) and len(item) == 2 and hasattr(item[1], "__next__") else ()
        log.append(f"got {item[0] if inner else item!r} {inner!r}")
        found.append((item[0], inner) if inner else item)
        if len(found) >= most:
            break
    return found


def seen(f, make):
    """Return what a call does: the log, the result and the exception."""
    log = []
    try:
        args, keywords = make(log)
        return log, repr(consumed(f(*args, **keywords), log)), None
    except Exception as error:
        return log, None, (type(error).__name__, str(error))


PAIRS = [(f, make) for f, makes in CASES.items() for make in makes]


def same(got, expected):
    """Whether two outcomes are equal; only the type counts for exceptions about a wrong number of arguments."""
    if got[2] and expected[2] and any(word in expected[2][1] for word in TEXTS_DIFFER):
        return (got[0], got[1], got[2][0]) == (expected[0], expected[1], expected[2][0])
    return got == expected


@pytest.mark.parametrize("number", range(len(PAIRS)), ids=lambda i: f"{PAIRS[i][0].__name__}-{i}")
@pytest.mark.parametrize("lowered", [False, True], ids=["called", "lowered"])
def test_functions_do_what_pythons_own_do(number, lowered):
    function, make = PAIRS[number]
    mine = prelude.instead_of(function)
    if lowered:
        mine = plain.Interpreter(enter=in_prelude).interpreted(mine)
    expected, got = seen(function, make), both.deep(lambda: seen(mine, make))
    if "object is not iterable" in str(expected[2]) or "not reversible" in str(expected[2]):
        assert got[2][0] == expected[2][0]
    else:
        assert same(got, expected)


def in_prelude(function):
    return function.__module__.startswith("micrograd.core.prelude")


def random_list(r, most=8):
    return [r.choice([0, 1, 2, 2.0, True, "a", None, (1, 2)]) for _ in range(r.randrange(most))]


SLICES = [slice(a, b, c) for a in (None, 0, 1, -2, 9) for b in (None, 0, 2, -1, -9, 9) for c in (None, 1, 2, -1, -2)]
METHOD_CASES = {
    "extend": lambda r, x: (r.choice([random_list(r), x, iter([1, 2]), 5]),),
    "insert": lambda r, x: (r.randrange(-10, 10), "new"),
    "pop": lambda r, x: r.choice([(), (r.randrange(-10, 10),)]),
    "remove": lambda r, x: (r.choice([0, 1, 2.0, "a", "z"]),),
    "clear": lambda r, x: (),
    "copy": lambda r, x: (),
    "reverse": lambda r, x: (),
    "index": lambda r, x: (r.choice([0, 1, "a", "z"]), *(r.randrange(-9, 9) for _ in range(r.randrange(3)))),
    "count": lambda r, x: (r.choice([0, 1, "a"]),),
    "__contains__": lambda r, x: (r.choice([0, 1, "a", "z"]),),
    "__add__": lambda r, x: (random_list(r),),
    "__mul__": lambda r, x: (r.randrange(-2, 4),),
    "__imul__": lambda r, x: (r.randrange(-2, 4),),
    "__eq__": lambda r, x: (r.choice([list(x), random_list(r, 3), x]),),
}  # fmt: skip


def changed(f, x, args):
    """Return what a method returns or raises, and what the object is then."""
    try:
        return repr(f(x, *args)), repr(x), None
    except Exception as error:
        return None, repr(x), (type(error).__name__, str(error))


@pytest.mark.parametrize("name", METHOD_CASES)
def test_methods_of_lists(name):
    r = random.Random(name)
    for _ in range(300):
        x = random_list(r)
        seed = r.random()
        outcomes = []
        for f in (getattr(list, name), prelude.method_of(list, name)):
            y = list(x)
            outcomes.append(changed(f, y, METHOD_CASES[name](random.Random(seed), y)))
        if outcomes[0][2] and "iterable" in outcomes[0][2][1]:
            assert outcomes[1][2][0] == "TypeError"
        else:
            assert outcomes[0] == outcomes[1]


def test_order_of_lists_and_tuples():
    r = random.Random(5)
    for _ in range(500):
        a, b = ([r.choice([1, 2.0, NAN, "a"]) for _ in range(r.randrange(4))] for _ in range(2))
        for name in ("__lt__", "__le__", "__gt__", "__ge__", "__eq__"):
            for kind in (list, tuple):
                expected = changed(getattr(kind, name), kind(a), (kind(b),))
                assert changed(prelude.method_of(kind, name), kind(a), (kind(b),)) == expected


def test_slices_of_lists():
    r = random.Random(6)
    for part in SLICES:
        for _ in range(4):
            x, new = random_list(r), random_list(r, 4)
            assert repr(sequences.get_slice(x, part)) == repr(x[part])
            assert repr(sequences.get_slice(tuple(x), part)) == repr(tuple(x)[part])
            for mine, own, args in (
                (sequences.set_slice, list.__setitem__, (part, new)),
                (sequences.delete_slice, list.__delitem__, (part,)),
            ):
                assert changed(mine, list(x), args) == changed(own, list(x), args)
    assert changed(sequences.get_slice, [1], (slice(0, 1, 0),)) == changed(list.__getitem__, [1], (slice(0, 1, 0),))
    for i in range(-4, 4):
        assert changed(sequences.delete_item, [1, 2, 3], (i,)) == changed(list.__delitem__, [1, 2, 3], (i,))


@pytest.mark.parametrize("count", [0, 1, 2, 5, 12, 13, 14, 40, 100])
def test_sorting_is_stable(count):
    r = random.Random(count)
    for reverse in (False, True):
        for key in (None, operator.itemgetter(0)):
            x = [(r.randrange(5), i if key else 0) for i in range(count)]
            assert sequences.sorted(x, key=key, reverse=reverse) == sorted(x, key=key, reverse=reverse)


def test_heaps_are_the_same_item_by_item():
    r = random.Random(7)
    for _ in range(60):
        x = [r.randrange(20) for _ in range(r.randrange(30))]
        mine, own = list(x), list(x)
        for name in ("heapify", *r.choices(["heappush", "heappop", "heapreplace", "heappushpop"], k=10)):
            args = () if name in ("heapify", "heappop") else (r.randrange(20),)
            assert changed(vars(sequences)[name], mine, args) == changed(getattr(heapq, name), own, args)


def test_insort():
    for x in ([], [1, 2, 2, 3], [5]):
        for f in (bisect.insort_left, bisect.insort_right):
            mine, own = list(x), list(x)
            prelude.instead_of(f)(mine, 2), f(own, 2)
            assert mine == own
    mine = [3, 2, 1]
    sequences.insort_left(mine, 2.5, key=operator.neg)
    assert mine == [3, 2.5, 2, 1]


DICTS = {
    "update": [({1: 5},), ([(1, 2)],), (5,), ([1],), ()],
    "get": [(1,), (9,), (9, "d")],
    "setdefault": [(1,), (9,), (9, "d")],
    "pop": [(1,), (9,), (9, "d")],
    "popitem": [()],
    "clear": [()],
    "copy": [()],
    "__or__": [({1: 5, 7: 8},)],
    "__eq__": [({1: "a", 2: "b"},), ({},), ({2: "b", 1: "a"},)],
}


@pytest.mark.parametrize("name", DICTS)
def test_methods_of_dicts(name):
    for args in DICTS[name]:
        for x in ({}, {1: "a", 2: "b"}):
            mine, own = (
                changed(prelude.method_of(dict, name), dict(x), args),
                changed(getattr(dict, name), dict(x), args),
            )
            assert mine == own or (mine[2] and "iterable" in own[2][1])
    assert mappings.fromkeys("ab", 1) == dict.fromkeys("ab", 1)


SETS = ["union", "intersection", "difference", "symmetric_difference", "issubset", "issuperset", "isdisjoint", "update",
        "intersection_update", "difference_update", "symmetric_difference_update"]  # fmt: skip


@pytest.mark.parametrize("name", SETS)
def test_methods_of_sets(name):
    for kind in (set, frozenset):
        if not hasattr(kind, name):
            continue
        for x in ((), (1, 2, 3)):
            for other in ([], [2, 3, 4, 2], {1, 2, 3}, iter([3])):
                other = list(other)
                a, b = kind(x), kind(x)
                found, expected = prelude.method_of(kind, name)(a, other), getattr(kind, name)(b, other)
                assert (found, a) == (expected, b) and type(found) is type(expected)
    x = {1}
    assert mappings.set_pop(x) == 1 and not x
    with pytest.raises(KeyError, match="empty set"):
        mappings.set_pop(x)
    with pytest.raises(KeyError):
        mappings.set_remove({1}, 2)


@pytest.mark.parametrize("maxlen", [None, 0, 1, 3])
def test_deques(maxlen):
    r = random.Random(8)
    mine, own = collections.deque(maxlen=maxlen), collections.deque(maxlen=maxlen)
    for _ in range(200):
        name = r.choice(["append", "appendleft", "popleft", "extend", "extendleft", "rotate"])
        args = {"popleft": (), "rotate": (r.randrange(-4, 5),)}.get(
            name, ([1, 2] if "extend" in name else r.randrange(9),)
        )
        expected = changed(getattr(collections.deque, name), own, args)
        assert changed(prelude.method_of(collections.deque, name), mine, args) == expected
    mappings.deque_extend(mine, mine), own.extend(own)
    assert mine == own


def test_other_mappings():
    d = collections.defaultdict(list, {1: [2]})
    assert mappings.missing(d, 5) == [] and 5 in d
    with pytest.raises(KeyError):
        mappings.missing(collections.defaultdict(), 5)
    counted = {}
    mappings.count_elements(counted, "abca")
    assert counted == dict(collections.Counter("abca"))
    for last in (True, False):
        mine, own = (collections.OrderedDict(a=1, b=2, c=3) for _ in range(2))
        mappings.move_to_end(mine, "b", last), own.move_to_end("b", last)
        assert list(mine.items()) == list(own.items())
        assert mappings.ordered_popitem(mine, last) == own.popitem(last)
    with pytest.raises(KeyError):
        mappings.move_to_end(mine, "z")


def test_makers_of_functions():
    f = prelude.FUNCTIONS
    obj = collections.namedtuple("P", "x y")(1, [2, 3])
    for args in ((0,), (1, 0), (slice(1),)):
        assert f[operator.itemgetter](*args)(obj) == operator.itemgetter(*args)(obj)
    for args in (("x",), ("x", "y"), ("y.__class__.__name__",)):
        assert f[operator.attrgetter](*args)(obj) == operator.attrgetter(*args)(obj)
    assert f[operator.methodcaller]("_replace", x=5)(obj) == obj._replace(x=5)
    compare = lambda a, b: (a > b) - (a < b)  # noqa: E731
    assert sorted([3, 1, 2], key=f[functools.cmp_to_key](compare)) == [1, 2, 3]
    assert list(iteration.iter_until(iter([1, 2, 3]).__next__, 3)) == [1, 2] == list(iter(iter([1, 2, 3]).__next__, 3))
    assert list(iteration.iter_until(iter([1]).__next__, 3)) == [1]
    for name in prelude._OPERATORS[:27]:
        args = ([1, 2], 1) if name in ("getitem", "contains") else (7, 2)
        args = ([1, 2], 0, 9)[: 3 if name == "setitem" else 2] if name in ("setitem", "delitem") else args
        args = args[:1] if name in ("neg", "pos", "invert", "not_", "truth") else args
        if name != "matmul":
            assert f[getattr(operator, name)](*args) == getattr(operator, name)(*args)


@pytest.mark.parametrize("name", ["mean", "harmonic_mean", "pvariance", "variance", "pstdev", "stdev"])
def test_statistics(name):
    mine, own = prelude.instead_of(getattr(statistics, name)), getattr(statistics, name)
    r = random.Random(9)
    for _ in range(200):
        x = [abs(r.gauss(3.0, 10.0 ** r.randrange(-3, 4))) for _ in range(r.randrange(7))]
        try:
            expected = own(x)
        except statistics.StatisticsError as error:
            with pytest.raises(statistics.StatisticsError, match=str(error)):
                mine(x)
        else:
            assert mine(x) == pytest.approx(expected, rel=4e-16 if "mean" in name else 1e-14, abs=0.0)
    assert statistics.mean([1, 3]) == mine([1, 3]) or name != "mean"
    assert statistics.pvariance([1.0, 2.0], 1.0) == prelude.instead_of(statistics.pvariance)([1.0, 2.0], 1.0)


def test_both_ways_of_adding():
    assert folds.simple_sum([1e16, 1.0, -1e16]) == 0.0 and folds.compensated_sum([1e16, 1.0, -1e16]) == 1.0


def read_globals(node):
    """Yield the names of the global variables and builtins that forms read."""
    if isinstance(node, forms.Global):
        yield node.name
    if isinstance(node, forms.Make):
        yield from read_globals(node.function.body)
    for child in forms.children(node):
        yield from read_globals(child)


def uses(function):
    """Return the functions of the prelude that one of them may call."""
    names = set(read_globals(lower(function).body))
    found = [function.__globals__.get(name, vars(builtins).get(name)) for name in names]
    found = [prelude.instead_of(f) or f for f in found if callable(f) and f.__hash__]
    return [f for f in found if inspect.isfunction(f) and in_prelude(f)]


def test_no_function_of_the_prelude_leads_back_to_itself():
    def visit(function, above):
        assert function not in above, [f.__name__ for f in above]
        for other in uses(function):
            visit(other, [*above, function])

    for function in {*prelude.FUNCTIONS.values(), *prelude.METHODS.values()}:
        visit(function, [])


def test_every_function_of_the_prelude_can_be_lowered():
    for function in {*prelude.FUNCTIONS.values(), *prelude.METHODS.values()}:
        assert lower(function).name == function.__name__
