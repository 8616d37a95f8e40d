"""What Python's own functions do, as plain Python that is lowered like the functions of a user.

An interpreter of the core calls `instead_of(function)` in place of a function that Python has in C, where an operand is not
a Python object, such as a number that is not known yet. Each function here returns what Python's returns, raises what it
raises, and takes items from iterables when it does. They are made of few forms: a loop over a range with an index is
preferred to anything clever.

folds.py       sum, min, max, any, all, reduce, prod
iteration.py   enumerate, zip, map, filter, reversed, and the module itertools
sequences.py   methods and operators of lists and tuples, slices, sorting, bisect, heapq
mappings.py    methods of dicts, sets, and the classes of collections
functions.py   the module operator, partial, cmp_to_key
statistics.py  those functions of statistics that compute with fractions

A function of the prelude calls another one, or a builtin that has one here, only where that does not lead back to itself.
"""

from __future__ import annotations

import bisect
import builtins
import collections
import functools
import heapq
import itertools
import math
import operator
import sys
from collections.abc import Callable
from typing import Any

from micrograd.core.prelude import folds, functions, iteration, mappings, sequences

Plain = Callable[..., Any]

_OPERATORS = ("add", "sub", "mul", "truediv", "floordiv", "mod", "matmul", "and_", "or_", "xor", "lshift", "rshift", "neg",
              "pos", "invert", "not_", "truth", "lt", "le", "gt", "ge", "eq", "ne", "is_", "is_not", "contains", "getitem",
              "setitem", "delitem", "iadd", "isub", "imul", "itruediv", "countOf", "indexOf", "itemgetter", "attrgetter",
              "methodcaller")  # fmt: skip
_ITERTOOLS = ("accumulate", "chain", "compress", "count", "cycle", "dropwhile", "filterfalse", "groupby", "islice", "pairwise",
              "product", "permutations", "combinations", "combinations_with_replacement", "repeat", "starmap", "takewhile",
              "tee", "zip_longest")  # fmt: skip
_HEAPQ = ("heappush", "heappop", "heapreplace", "heappushpop", "heapify")

# Functions and types by what a program calls.
FUNCTIONS: dict[Any, Plain] = {
    **{getattr(builtins, name): getattr(folds, name) for name in ("any", "all", "sum", "min", "max")},
    **{getattr(builtins, name): getattr(iteration, name) for name in ("enumerate", "zip", "map", "filter", "reversed")},
    **{getattr(itertools, name): getattr(iteration, name) for name in _ITERTOOLS},
    **{getattr(operator, name): getattr(functions, name) for name in _OPERATORS},
    **{getattr(heapq, name): getattr(sequences, name) for name in _HEAPQ},
    **{
        getattr(bisect, name): getattr(sequences, name)
        for name in ("bisect_left", "bisect_right", "insort_left", "insort_right")
    },
    itertools.chain.from_iterable: iteration.from_iterable,
    math.prod: folds.prod,
    builtins.divmod: functions.divmod,
    builtins.sorted: sequences.sorted,
    builtins.list: sequences.new_list,
    builtins.tuple: sequences.new_tuple,
    builtins.dict: mappings.new_dict,
    builtins.set: mappings.new_set,
    operator.pow: functions.power,
    operator.concat: functions.add,
    functools.reduce: folds.reduce,
    functools.cmp_to_key: functions.cmp_to_key,
    collections._count_elements: mappings.count_elements,  # type: ignore[attr-defined]
}
if sys.version_info >= (3, 12):
    FUNCTIONS[itertools.batched] = iteration.batched

# Methods by the class and the name. `self` is the first argument.
METHODS: dict[tuple[type, str], Plain] = {
    **{
        (list, n): getattr(sequences, n)
        for n in ("extend", "insert", "pop", "remove", "clear", "copy", "reverse", "sort")
    },
    **{(kind, "count"): sequences.count for kind in (list, tuple)},
    **{(kind, "__contains__"): sequences.contains for kind in (list, tuple)},
    **{(kind, "__add__"): sequences.concatenate for kind in (list, tuple)},
    **{(kind, "__mul__"): sequences.repeated for kind in (list, tuple)},
    **{(kind, "__eq__"): sequences.equal for kind in (list, tuple)},
    **{(kind, "__lt__"): sequences.less for kind in (list, tuple)},
    **{(kind, "__le__"): sequences.less_or_equal for kind in (list, tuple)},
    **{(kind, "__gt__"): sequences.greater for kind in (list, tuple)},
    **{(kind, "__ge__"): sequences.greater_or_equal for kind in (list, tuple)},
    (list, "index"): sequences.list_index,
    (tuple, "index"): sequences.tuple_index,
    (list, "__imul__"): sequences.repeat_in_place,
    (dict, "update"): mappings.update,
    (dict, "get"): mappings.get,
    (dict, "setdefault"): mappings.setdefault,
    (dict, "pop"): mappings.dict_pop,
    (dict, "popitem"): mappings.popitem,
    (dict, "clear"): mappings.dict_clear,
    (dict, "copy"): mappings.dict_copy,
    (dict, "__or__"): mappings.merged,
    (dict, "__eq__"): mappings.equal_dicts,
    **{
        (kind, name): getattr(mappings, name)
        for kind in (set, frozenset)
        for name in (
            "union",
            "intersection",
            "difference",
            "symmetric_difference",
            "issubset",
            "issuperset",
            "isdisjoint",
        )
    },
    (set, "update"): mappings.set_update,
    (set, "intersection_update"): mappings.intersection_update,
    (set, "difference_update"): mappings.difference_update,
    (set, "symmetric_difference_update"): mappings.symmetric_difference_update,
    (set, "remove"): mappings.set_remove,
    (set, "pop"): mappings.set_pop,
    (set, "clear"): mappings.set_clear,
    (collections.deque, "append"): mappings.append,
    (collections.deque, "appendleft"): mappings.appendleft,
    (collections.deque, "popleft"): mappings.popleft,
    (collections.deque, "extend"): mappings.deque_extend,
    (collections.deque, "extendleft"): mappings.extendleft,
    (collections.deque, "rotate"): mappings.rotate,
    (collections.deque, "count"): sequences.count,
    (collections.defaultdict, "__missing__"): mappings.missing,
    (collections.OrderedDict, "move_to_end"): mappings.move_to_end,
    (collections.OrderedDict, "popitem"): mappings.ordered_popitem,
}


def instead_of(function: Any) -> Plain | None:
    """Return the plain Python that does what a function of Python's does; None where there is none."""
    found = FUNCTIONS.get(function)
    if found is None and getattr(function, "__module__", None) == "statistics":
        from micrograd.core.prelude import statistics

        found = vars(statistics).get(function.__name__)
    return found


def method_of(kind: type, name: str) -> Plain | None:
    """Return the plain Python that does what a method of Python's does, for `self` and the arguments; None for none."""
    for owner in kind.__mro__:
        if (owner, name) in METHODS:
            return METHODS[owner, name]
    return None
