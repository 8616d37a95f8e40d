"""Methods of dicts, sets, deques, defaultdicts, Counters and OrderedDicts.

What these are made of, an interpreter has itself: an item by its key, `in`, the keys in order, `add` and `discard` of a set.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import index
from typing import Any

_ABSENT: Any = object()


# ---- dicts


def new_dict(source: Any = (), /, **items: Any) -> dict[Any, Any]:
    made: dict[Any, Any] = {}
    update(made, source, **items)
    return made


def update(self: dict[Any, Any], source: Any = (), /, **items: Any) -> None:
    if hasattr(source, "keys"):
        for key in source.keys():
            self[key] = source[key]
    else:
        i = 0
        for pair in source:
            if not hasattr(pair, "__iter__") and not hasattr(pair, "__getitem__"):
                raise TypeError(f"cannot convert dictionary update sequence element #{i} to a sequence")
            both = list(pair)
            if len(both) != 2:
                raise ValueError(f"dictionary update sequence element #{i} has length {len(both)}; 2 is required")
            self[both[0]] = both[1]
            i += 1
    for name in items:
        self[name] = items[name]


def get(self: dict[Any, Any], key: Any, default: Any = None, /) -> Any:
    return self[key] if key in self else default


def setdefault(self: dict[Any, Any], key: Any, default: Any = None, /) -> Any:
    if key not in self:
        self[key] = default
    return self[key]


def dict_pop(self: dict[Any, Any], key: Any, default: Any = _ABSENT, /) -> Any:
    if key in self:
        value = self[key]
        del self[key]
        return value
    if default is _ABSENT:
        raise KeyError(key)
    return default


def popitem(self: dict[Any, Any], /) -> tuple[Any, Any]:
    for key in reversed(self):
        return key, dict_pop(self, key)
    raise KeyError("popitem(): dictionary is empty")


def dict_clear(self: dict[Any, Any], /) -> None:
    for key in list(self):
        del self[key]


def dict_copy(self: dict[Any, Any], /) -> dict[Any, Any]:
    made = {}
    for key in self:
        made[key] = self[key]
    return made


def fromkeys(iterable: Iterable[Any], value: Any = None, /) -> dict[Any, Any]:
    made = {}
    for key in iterable:
        made[key] = value
    return made


def merged(self: dict[Any, Any], other: dict[Any, Any]) -> dict[Any, Any]:
    """Return `self | other` of two dicts."""
    made = dict_copy(self)
    for key in other:
        made[key] = other[key]
    return made


def equal_dicts(self: dict[Any, Any], other: dict[Any, Any]) -> bool:
    """Return `self == other` of two dicts."""
    if len(self) != len(other):
        return False
    for key in self:
        if key not in other or not (self[key] is other[key] or self[key] == other[key]):
            return False
    return True


# ---- sets


def new_set(iterable: Iterable[Any] = (), /) -> set[Any]:
    made = set()
    for item in iterable:
        made.add(item)
    return made


def set_update(self: set[Any], /, *others: Iterable[Any]) -> None:
    for other in others:
        for item in other:
            self.add(item)


def union(self: Any, /, *others: Iterable[Any]) -> Any:
    made = set(self)
    set_update(made, *others)
    return made if isinstance(self, set) else frozenset(made)


def intersection(self: Any, /, *others: Iterable[Any]) -> Any:
    made = set(self)
    for other in others:
        kept = set()
        for item in other:
            if item in made:
                kept.add(item)
        made = kept
    return made if isinstance(self, set) else frozenset(made)


def difference(self: Any, /, *others: Iterable[Any]) -> Any:
    made = set(self)
    difference_update(made, *others)
    return made if isinstance(self, set) else frozenset(made)


def difference_update(self: set[Any], /, *others: Iterable[Any]) -> None:
    for other in others:
        for item in list(other):
            self.discard(item)


def intersection_update(self: set[Any], /, *others: Iterable[Any]) -> None:
    kept = intersection(self, *others)
    for item in list(self):
        if item not in kept:
            self.discard(item)


def symmetric_difference(self: Any, other: Iterable[Any], /) -> Any:
    made = set(self)
    symmetric_difference_update(made, other)
    return made if isinstance(self, set) else frozenset(made)


def symmetric_difference_update(self: set[Any], other: Iterable[Any], /) -> None:
    for item in set(other):
        if item in self:
            self.discard(item)
        else:
            self.add(item)


def issubset(self: Any, other: Iterable[Any], /) -> bool:
    whole = set(other)
    for item in self:
        if item not in whole:
            return False
    return True


def issuperset(self: Any, other: Iterable[Any], /) -> bool:
    for item in other:
        if item not in self:
            return False
    return True


def isdisjoint(self: Any, other: Iterable[Any], /) -> bool:
    for item in other:
        if item in self:
            return False
    return True


def set_remove(self: set[Any], item: Any, /) -> None:
    if item not in self:
        raise KeyError(item)
    self.discard(item)


def set_pop(self: set[Any], /) -> Any:
    for item in self:
        self.discard(item)
        return item
    raise KeyError("pop from an empty set")


def set_clear(self: set[Any], /) -> None:
    for item in list(self):
        self.discard(item)


# ---- collections


def append(self: Any, item: Any, /) -> None:
    """Append to a deque, which drops an item at the other end where it is full."""
    if self.maxlen is None or len(self) < self.maxlen:
        self.append(item)
    elif self.maxlen:
        for i in range(1, self.maxlen):
            self[i - 1] = self[i]
        self[self.maxlen - 1] = item


def appendleft(self: Any, item: Any, /) -> None:
    if self.maxlen is None or len(self) < self.maxlen:
        self.insert(0, item)
    elif self.maxlen:
        for i in range(self.maxlen - 1, 0, -1):
            self[i] = self[i - 1]
        self[0] = item


def popleft(self: Any, /) -> Any:
    if not self:
        raise IndexError("pop from an empty deque")
    item = self[0]
    for i in range(1, len(self)):
        self[i - 1] = self[i]
    self.pop()
    return item


def extendleft(self: Any, iterable: Iterable[Any], /) -> None:
    for item in list(iterable) if iterable is self else iterable:
        appendleft(self, item)


def deque_extend(self: Any, iterable: Iterable[Any], /) -> None:
    for item in list(iterable) if iterable is self else iterable:
        append(self, item)


def rotate(self: Any, n: Any = 1, /) -> None:
    count = len(self)
    if count > 1:
        items = list(self)
        steps = index(n) % count
        for i in range(count):
            self[(i + steps) % count] = items[i]


def missing(self: Any, key: Any, /) -> Any:
    """Return what a defaultdict puts where it has no item (__missing__)."""
    if self.default_factory is None:
        raise KeyError(key)
    value = self.default_factory()
    self[key] = value
    return value


def count_elements(mapping: Any, iterable: Iterable[Any], /) -> None:
    """Count the items of an iterable, for a Counter."""
    for item in iterable:
        mapping[item] = mapping.get(item, 0) + 1


def move_to_end(self: Any, key: Any, last: Any = True) -> None:
    """Move an item of an OrderedDict to its end or to its beginning."""
    value = self[key]
    before = [] if last else [k for k in self if k is not key and k != key]
    del self[key]
    self[key] = value
    for other in before:
        value = self[other]
        del self[other]
        self[other] = value


def ordered_popitem(self: Any, last: Any = True) -> tuple[Any, Any]:
    if not self:
        raise KeyError("dictionary is empty")
    for key in reversed(self) if last else self:
        value = self[key]
        del self[key]
        return key, value
    raise KeyError("dictionary is empty")
