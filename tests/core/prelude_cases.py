"""Calls of the functions that the prelude replaces, with iterables that note when items are taken from them."""
# ruff: noqa: E501

from __future__ import annotations

import bisect
import builtins
import collections
import functools
import itertools
import math
import operator
import sys

NAN = float("nan")


class Loud:
    """An iterable that notes when items are taken from it."""

    def __init__(self, log, *items, name="", end=None):
        self.log, self.items, self.name, self.end = log, list(items), name, end

    def __iter__(self):
        self.log.append(f"iter {self.name}")
        return self._run()

    def _run(self):
        for item in self.items:
            self.log.append(f"take {self.name} {item!r}")
            yield item
        self.log.append(f"end {self.name}")
        if self.end is not None:
            raise self.end


def noted(log, f):
    def call(*args):
        log.append(f"call {args!r}")
        return f(*args)

    return call


def case(*args, **keywords):
    return lambda log: (args, keywords)


def loud(*items, end=None, before=(), after=(), **keywords):
    return lambda log: ((*before, Loud(log, *items, end=end), *after), keywords)


def louds(*lists, before=(), **keywords):
    return lambda log: ((*before, *(Loud(log, *items, name=str(i)) for i, items in enumerate(lists))), keywords)


def calling(f, *lists, **keywords):
    return lambda log: ((noted(log, f), *(Loud(log, *items, name=str(i)) for i, items in enumerate(lists))), keywords)


ERROR = ValueError("from the iterable")
EVEN = lambda x: x % 2 == 0  # noqa: E731
CASES = {
    builtins.any: [loud(0, 1, 2), loud(), loud(0, ""), case(5), loud(0, end=ERROR)],
    builtins.all: [loud(1, 0, 2), loud(), loud(1, 2), case(None)],
    builtins.sum: [loud(1, 2, 3), loud(0.1, 0.2, 0.3), loud(1e16, 1.0, -1e16), loud([1], [2], after=([],)), loud("a"), loud(),
                   loud(after=("",)), loud(after=(b"",)), loud(1, 0.5, 2, True, 0.25), loud(0.1, 2**70, 0.1), loud(2**70, 0.1, 0.2),
                   loud(0.1, start=0.2), loud(math.inf, -math.inf), loud(math.inf, 1.0), loud(1e308, 1e308, -1e308), loud(-0.0),
                   loud(-0.0, start=-0.0), loud(1, 2j, 0.1), loud(True, True), loud(0.1, 1j, 0.2, 0.3, start=True), loud(1, end=ERROR),
                   loud(2**62, 2**62, 2**62, 0.1, 0.1), loud(0.1, 0.1, 0.1, -0.3, 10, 1e100, 1.0, -1e100)],
    builtins.min: [case(3, 1, 2), loud(3, 1, 2), case(1), case([]), case([], default=5), case(1, 2, default=3), case(NAN, 1.0),
                   case(1.0, NAN), case(0.0, -0.0), case(True, 1, 1.0), case("b", "a"), case(1, "a"), loud(1, -5, 3, key=abs),
                   lambda log: ((Loud(log, 3, 1, 2),), {"key": noted(log, lambda x: -x)}), loud(end=ERROR)],
    builtins.max: [case(3, 1, 2), loud(3, 1, 2), case(1), case([]), case([], default=5), case(1, 2, default=3), case(NAN, 1.0),
                   case(1.0, NAN), case(-0.0, 0.0), case(1, True, 1.0), loud(1, -5, 3, key=abs), case(1, None),
                   lambda log: ((Loud(log, 3, 1, 2),), {"key": noted(log, lambda x: -x)})],
    functools.reduce: [calling(operator.add, [1, 2, 3]), calling(operator.add, []), case(operator.add, [], 5),
                       case(operator.sub, [1, 2], 10), calling(operator.add, [4]), case(operator.add, 5)],
    math.prod: [loud(1, 2, 3), loud(0.5, 2), loud(start=7), loud("a", 3), case(5)],
    builtins.enumerate: [loud("a", "b"), loud("a", start=5), loud("a", after=(True,)), case(5), loud("a", start=1.5)],
    builtins.zip: [louds([1, 2], [3, 4, 5]), louds([1, 2, 3], [4]), louds([1], [2], [3]), louds([]), case(), louds([1, 2], [3], [4, 5]),
                   louds([1, 2], [3], strict=True), louds([1], [2, 3], strict=True), louds([1, 2], [3, 4], strict=True),
                   louds([], [], [1], strict=True), louds([1], [1], [], strict=True), louds([1, 2, 3], strict=True), case([1], 5),
                   lambda log: ((range(3), itertools.count()), {}), louds([1, 2, 3], [1, 2, 3])],
    builtins.map: [calling(EVEN, [1, 2]), calling(operator.add, [1, 2, 3], [4, 5]), case(len), case(len, 5), calling(len, [1]),
                   calling(max, [1, 2], [3, 4], [0])],
    builtins.filter: [calling(EVEN, [1, 2, 3, 4]), loud(0, 1, "", "a", before=(None,)), case(None, 5), loud(1, before=(len,))],
    builtins.reversed: [case([1, 2, 3]), case((1, 2)), case("abc"), case(range(3)), case([]), case(5)],
    itertools.accumulate: [loud(1, 2, 3), loud(), loud(1, 2, initial=10), loud(initial=10), loud(2, 3, after=(operator.mul,)),
                           loud(2, 3, func=operator.mul), case(5)],
    itertools.chain: [louds([1, 2], [3]), case(), case([1], 5), louds([], [], [1])],
    itertools.chain.from_iterable: [case([[1], [2, 3]]), case([]), case([1]), case(5)],
    itertools.compress: [louds([1, 2, 3], [1, 0, 1]), louds([1, 2], [1]), louds([1], [1, 1])],
    itertools.count: [case(), case(5), case(1, 2), case(0.5, 0.25), case("a"), case(start=3, step=-1)],
    itertools.cycle: [loud(1, 2), loud(), case(5)],
    itertools.dropwhile: [calling(EVEN, [2, 4, 1, 2]), calling(EVEN, []), calling(EVEN, [2])],
    itertools.takewhile: [calling(EVEN, [2, 4, 1, 2]), calling(EVEN, []), calling(EVEN, [2])],
    itertools.filterfalse: [calling(EVEN, [1, 2, 3, 4]), loud(0, 1, "", before=(None,))],
    itertools.groupby: [loud(1, 1, 2, 1), loud(), loud(1, 2, 3, 4, key=EVEN), loud("a", "A", "b", key=str.lower)],
    itertools.islice: [loud(*range(9), after=a) for a in ((3,), (0,), (2, 5), (1, 8, 3), (5, 3), (None,), (2, None), (1, None, 4),
                       (0, 5, 3), (20,), (None, None), (-1,), (0, -1), (0, 1, 0), ("a",), (1, "a"), (0, 5, None), (1, 2, 3, 4), ())],
    itertools.pairwise: [loud(1, 2, 3), loud(1), loud()],
    itertools.product: [louds([1, 2], [3, 4]), case([1, 2], repeat=2), case(), case([1], []), case([1], repeat=-1), case([1], repeat=0),
                        case(5)],
    itertools.permutations: [case([1, 2, 3]), case([1, 2, 3], 2), case([1], 2), case([]), case([1], -1), case([1, 2], 0),
                             case([1], 1.5)],
    itertools.combinations: [case([1, 2, 3, 4], 2), case([1], 2), case([], 0), case([1], -1), case([1, 2], 2)],
    itertools.combinations_with_replacement: [case([1, 2, 3], 2), case([], 1), case([], 0), case([1], -1)],
    itertools.repeat: [case(1), case(1, 3), case(1, 0), case(1, -1), case(1, times=2), case(1, 1.5)],
    itertools.starmap: [calling(operator.add, [(1, 2), (3, 4)]), calling(operator.add, [1]), calling(max, [[1, 2], "ab"])],
    itertools.tee: [loud(1, 2, 3), loud(1, 2, 3, after=(3,)), loud(1, after=(0,)), loud(1, after=(-1,)), case(5)],
    itertools.zip_longest: [louds([1, 2], [3]), louds([1], [2, 3], [], fillvalue="f"), case(), louds([]), louds([1, 2, 3], [4, 5])],
    builtins.divmod: [case(7, 2), case(-7, 2), case(7.5, -2), case(1, 0), case(1.0, 0.0), case("a", 1)],
    builtins.sorted: [loud(3, 1, 2), loud(3, 1, 2, reverse=True), loud("b", "A", "c", key=str.lower), loud(), case([1, "a"]), case(5),
                      case([(1, "b"), (0, "a"), (1, "a")], key=operator.itemgetter(0)),
                      case([(1, "b"), (0, "a"), (1, "a")], key=operator.itemgetter(0), reverse=True)],
    builtins.list: [loud(1, 2), case(), case("ab"), case(5)],
    builtins.tuple: [loud(1, 2), case(), case("ab"), case(5)],
    builtins.set: [loud(1, 2, 1), case(), case(5), case([[]])],
    builtins.dict: [case(), case(a=1), case([(1, 2), "ab"]), case({1: 2}, b=3), case([1]), case([(1, 2, 3)]), case(5), case([[1]]),
                    case(collections.OrderedDict(a=1))],
    bisect.bisect_left: [case([1, 2, 2, 3], 2), case([], 1), case([1, 2], 5, 1), case([1, 2], 0, -1), case([3, 2, 1], 2, key=operator.neg),
                         case([1, 2, 3], 2, 0, 1), case([1], "a")],
    bisect.bisect_right: [case([1, 2, 2, 3], 2), case([], 1), case([1, 2], 5, 1), case([1, 2], 0, -1),
                          case([3, 2, 1], -2, key=operator.neg)],
    operator.itemgetter(1): [],
    operator.countOf: [loud(1, 2, 1, after=(1,)), case(5, 1)],
    operator.indexOf: [loud(1, 2, 1, after=(2,)), loud(1, after=(5,))],
}  # fmt: skip
if sys.version_info >= (3, 12):
    CASES[itertools.batched] = [
        loud(*range(5), after=(2,)),
        loud(*range(4), after=(2,)),
        loud(after=(2,)),
        loud(1, after=(0,)),
    ]
