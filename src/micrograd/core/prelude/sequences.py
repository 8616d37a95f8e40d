"""Methods and operators of lists and tuples, sorting, and the modules bisect and heapq.

What these are made of, an interpreter has itself: len, an item by its number, `append`, and `pop` of the last item.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from operator import index
from typing import Any

_ABSENT: Any = object()
_FEW = (
    12  # up to here, items are sorted by exchanges of neighbours: more of them, but their places are known beforehand
)


# ---- lists


def new_list(iterable: Iterable[Any] = (), /) -> list[Any]:
    made = []
    for item in iterable:
        made.append(item)
    return made


def new_tuple(iterable: Iterable[Any] = (), /) -> tuple[Any, ...]:
    return (*new_list(iterable),)


def extend(self: list[Any], iterable: Iterable[Any], /) -> None:
    if iterable is self:
        for i in range(len(self)):
            self.append(self[i])
    else:
        for item in iterable:
            self.append(item)


def insert(self: list[Any], where: Any, item: Any, /) -> None:
    count, at = len(self), index(where)
    if at < 0:
        at = at + count
        if at < 0:
            at = 0
    if at > count:
        at = count
    self.append(item)
    for i in range(count, at, -1):
        self[i] = self[i - 1]
    self[at] = item


def pop(self: list[Any], where: Any = -1, /) -> Any:
    count, at = len(self), index(where)
    if count == 0:
        raise IndexError("pop from empty list")
    if at < 0:
        at = at + count
    if at < 0 or at >= count:
        raise IndexError("pop index out of range")
    item = self[at]
    for i in range(at + 1, count):
        self[i - 1] = self[i]
    self.pop()
    return item


def remove(self: list[Any], value: Any, /) -> None:
    i = 0
    while i < len(self):
        if self[i] is value or self[i] == value:
            pop(self, i)
            return
        i += 1
    raise ValueError("list.remove(x): x not in list")


def clear(self: list[Any], /) -> None:
    while self:
        self.pop()


def copy(self: list[Any], /) -> list[Any]:
    return new_list(self)


def list_index(self: Any, value: Any, start: Any = 0, stop: Any = sys.maxsize, /) -> int:
    i = _found(self, value, index(start), index(stop))
    if i < 0:
        raise ValueError(f"{value!r} is not in list" if sys.version_info < (3, 14) else "list.index(x): x not in list")
    return i


def tuple_index(self: Any, value: Any, start: Any = 0, stop: Any = sys.maxsize, /) -> int:
    i = _found(self, value, index(start), index(stop))
    if i < 0:
        raise ValueError("tuple.index(x): x not in tuple")
    return i


def _found(self: Any, value: Any, start: int, stop: int) -> int:
    if start < 0:
        start = start + len(self)
        if start < 0:
            start = 0
    if stop < 0:
        stop = stop + len(self)
    i = start
    while i < stop and i < len(self):
        if self[i] is value or self[i] == value:
            return i
        i += 1
    return -1


def count(self: Any, value: Any, /) -> int:
    found, i = 0, 0
    while i < len(self):
        if self[i] is value or self[i] == value:
            found += 1
        i += 1
    return found


def contains(self: Any, value: Any, /) -> bool:
    for item in self:
        if item is value or item == value:
            return True
    return False


def reverse(self: list[Any], /) -> None:
    last = len(self) - 1
    for i in range(len(self) // 2):
        self[i], self[last - i] = self[last - i], self[i]


def concatenate(self: Any, other: Any) -> Any:
    """Return `self + other` of two lists or two tuples."""
    made = new_list(self)
    for item in other:
        made.append(item)
    return made if isinstance(self, list) else (*made,)


def repeated(self: Any, times: Any) -> Any:
    """Return `self * times` of a list or a tuple."""
    made: list[Any] = []
    for _ in range(index(times)):
        for i in range(len(self)):
            made.append(self[i])
    return made if isinstance(self, list) else (*made,)


def repeat_in_place(self: list[Any], times: Any) -> list[Any]:
    """Do `self *= times` of a list."""
    count = len(self)
    if index(times) <= 0:
        clear(self)
    for _ in range(1, index(times)):
        for i in range(count):
            self.append(self[i])
    return self


def equal(self: Any, other: Any) -> bool:
    """Return `self == other` of two lists or two tuples."""
    if len(self) != len(other):
        return False
    i = 0
    while i < len(self) and i < len(other):
        if not (self[i] is other[i] or self[i] == other[i]):
            return False
        i += 1
    return len(self) == len(other)


def less(self: Any, other: Any) -> Any:
    """Return `self < other` of two lists or two tuples."""
    i = _first_difference(self, other)
    return len(self) < len(other) if i < 0 else self[i] < other[i]


def less_or_equal(self: Any, other: Any) -> Any:
    i = _first_difference(self, other)
    return len(self) <= len(other) if i < 0 else self[i] <= other[i]


def greater(self: Any, other: Any) -> Any:
    i = _first_difference(self, other)
    return len(self) > len(other) if i < 0 else self[i] > other[i]


def greater_or_equal(self: Any, other: Any) -> Any:
    i = _first_difference(self, other)
    return len(self) >= len(other) if i < 0 else self[i] >= other[i]


def _first_difference(self: Any, other: Any) -> int:
    i = 0
    while i < len(self) and i < len(other):
        if not (self[i] is other[i] or self[i] == other[i]):
            return i
        i += 1
    return -1


# ---- slices


def bounds(part: slice, count: int) -> tuple[int, int, int]:
    """Return the start, the stop and the step of a slice of a sequence, as slice.indices does."""
    step = 1 if part.step is None else index(part.step)
    if step == 0:
        raise ValueError("slice step cannot be zero")
    lowest, highest = (0, count) if step > 0 else (-1, count - 1)
    start, stop = (lowest, highest) if step > 0 else (highest, lowest)
    if part.start is not None:
        start = _clipped(index(part.start), count, lowest, highest)
    if part.stop is not None:
        stop = _clipped(index(part.stop), count, lowest, highest)
    return start, stop, step


def _clipped(at: int, count: int, lowest: int, highest: int) -> int:
    if at < 0:
        at = at + count
        return lowest if at < lowest else at
    return highest if at > highest else at


def get_slice(self: Any, part: slice) -> Any:
    """Return `self[start:stop:step]` of a list or a tuple."""
    start, stop, step = bounds(part, len(self))
    made = []
    for i in range(start, stop, step):
        made.append(self[i])
    return made if isinstance(self, list) else (*made,)


def set_slice(self: list[Any], part: slice, items: Iterable[Any]) -> None:
    """Do `self[start:stop:step] = items` of a list."""
    new = new_list(items)
    start, stop, step = bounds(part, len(self))
    if part.step is None or step == 1:
        if stop < start:
            stop = start
        rest = get_slice(self, slice(stop, None))
        while len(self) > start:
            self.pop()
        extend(self, new)
        extend(self, rest)
        return
    places = range(start, stop, step)
    if len(new) != len(places):
        raise ValueError(f"attempt to assign sequence of size {len(new)} to extended slice of size {len(places)}")
    for i in range(len(new)):
        self[places[i]] = new[i]


def delete_slice(self: list[Any], part: slice) -> None:
    """Do `del self[start:stop:step]` of a list."""
    places = range(*bounds(part, len(self)))
    kept = 0
    for i in range(len(self)):
        if i not in places:
            self[kept] = self[i]
            kept += 1
    while len(self) > kept:
        self.pop()


def delete_item(self: list[Any], where: Any) -> None:
    """Do `del self[where]` of a list, by a number."""
    at = index(where)
    if at < -len(self) or at >= len(self):
        raise IndexError("list assignment index out of range")
    pop(self, at)


# ---- sorting


def sorted(iterable: Iterable[Any], /, *, key: Callable[[Any], Any] | None = None, reverse: Any = False) -> list[Any]:
    made = new_list(iterable)
    sort(made, key=key, reverse=reverse)
    return made


def sort(self: list[Any], /, *, key: Callable[[Any], Any] | None = None, reverse: Any = False) -> None:
    """Sort in place. Equal items keep their order. With a nan among the keys, the order is as unspecified as in Python."""
    backward = index(reverse) != 0
    keys = []
    for item in self:
        keys.append(item if key is None else key(item))
    if len(self) <= _FEW:
        _exchange(keys, self, backward)
    else:
        _merge(keys, self, backward)


def _exchange(keys: list[Any], items: list[Any], backward: bool) -> None:
    for end in range(len(keys) - 1, 0, -1):
        for i in range(end):
            if keys[i] < keys[i + 1] if backward else keys[i + 1] < keys[i]:
                keys[i], keys[i + 1] = keys[i + 1], keys[i]
                items[i], items[i + 1] = items[i + 1], items[i]


def _merge(keys: list[Any], items: list[Any], backward: bool) -> None:
    """Sort by merging runs of 1, 2, 4 ... items: as many steps for every input, n·log₂ n in all."""
    count, width = len(keys), 1
    while width < count:
        merged_keys, merged = [], []
        for low in range(0, count, 2 * width):
            middle = low + width if low + width < count else count
            high = middle + width if middle + width < count else count
            i, j = low, middle
            for _ in range(low, high):
                if i < middle and (j == high or not (keys[i] < keys[j] if backward else keys[j] < keys[i])):
                    merged_keys.append(keys[i])
                    merged.append(items[i])
                    i += 1
                else:
                    merged_keys.append(keys[j])
                    merged.append(items[j])
                    j += 1
        for i in range(count):
            keys[i], items[i] = merged_keys[i], merged[i]
        width = 2 * width


# ---- bisect


def bisect_right(a: Any, x: Any, lo: Any = 0, hi: Any = None, *, key: Callable[[Any], Any] | None = None) -> int:
    low, high = _range(a, lo, hi)
    while low < high:
        middle = (low + high) // 2
        if x < (a[middle] if key is None else key(a[middle])):
            high = middle
        else:
            low = middle + 1
    return low


def bisect_left(a: Any, x: Any, lo: Any = 0, hi: Any = None, *, key: Callable[[Any], Any] | None = None) -> int:
    low, high = _range(a, lo, hi)
    while low < high:
        middle = (low + high) // 2
        if (a[middle] if key is None else key(a[middle])) < x:
            low = middle + 1
        else:
            high = middle
    return low


def _range(a: Any, lo: Any, hi: Any) -> tuple[int, int]:
    low = index(lo)
    if low < 0:
        raise ValueError("lo must be non-negative")
    return low, len(a) if hi is None else index(hi)


def insort_right(a: Any, x: Any, lo: Any = 0, hi: Any = None, *, key: Callable[[Any], Any] | None = None) -> None:
    a.insert(bisect_right(a, x if key is None else key(x), lo, hi, key=key), x)


def insort_left(a: Any, x: Any, lo: Any = 0, hi: Any = None, *, key: Callable[[Any], Any] | None = None) -> None:
    a.insert(bisect_left(a, x if key is None else key(x), lo, hi, key=key), x)


# ---- heapq


def heappush(heap: list[Any], item: Any, /) -> None:
    heap.append(item)
    _to_root(heap, 0, len(heap) - 1)


def heappop(heap: list[Any], /) -> Any:
    if not heap:
        raise IndexError("index out of range")
    last = heap.pop()
    if not heap:
        return last
    first, heap[0] = heap[0], last
    _to_leaf(heap, 0)
    return first


def heapreplace(heap: list[Any], item: Any, /) -> Any:
    if not heap:
        raise IndexError("index out of range")
    first, heap[0] = heap[0], item
    _to_leaf(heap, 0)
    return first


def heappushpop(heap: list[Any], item: Any, /) -> Any:
    if heap and heap[0] < item:
        item, heap[0] = heap[0], item
        _to_leaf(heap, 0)
    return item


def heapify(heap: list[Any], /) -> None:
    for i in range(len(heap) // 2 - 1, -1, -1):
        _to_leaf(heap, i)


def _to_root(heap: list[Any], start: int, at: int) -> None:
    """Move the item at a place towards `start`, until its parent is not greater."""
    item = heap[at]
    while at > start:
        parent = (at - 1) // 2
        if not item < heap[parent]:
            break
        heap[at] = heap[parent]
        at = parent
    heap[at] = item


def _to_leaf(heap: list[Any], start: int) -> None:
    """Move the item at `start` down to a leaf, the lesser children up, and then the item towards `start` again."""
    item, at, count = heap[start], start, len(heap)
    child = 2 * at + 1
    while child < count:
        if child + 1 < count and not heap[child] < heap[child + 1]:
            child += 1
        heap[at] = heap[child]
        at = child
        child = 2 * at + 1
    heap[at] = item
    _to_root(heap, start, at)
