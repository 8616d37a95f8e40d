"""Builtins that return iterators, and the module itertools.

Each takes items from its iterables exactly when Python's own does: `zip(range(5), endless())` takes five. A function that
checks its arguments when it is called has a generator function beside it, which does the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from operator import index
from typing import Any

_ABSENT: Any = object()


def enumerate(iterable: Iterable[Any], start: Any = 0) -> Iterator[Any]:
    number = index(start)
    return _enumerate(iter(iterable), number)


def _enumerate(items: Iterator[Any], number: int) -> Iterator[Any]:
    for item in items:
        yield number, item
        number += 1


def zip(*iterables: Iterable[Any], strict: bool = False) -> Iterator[Any]:
    if len(iterables) == 2 and not strict:
        return _zip_two(iter(iterables[0]), iter(iterables[1]))
    return _zip([iter(iterable) for iterable in iterables], strict)


def _zip_two(first: Iterator[Any], second: Iterator[Any]) -> Iterator[Any]:
    for a in first:
        for b in second:
            yield a, b
            break
        else:
            return


def _zip(iterators: list[Iterator[Any]], strict: bool) -> Iterator[Any]:
    while iterators:
        items: list[Any] = []
        for iterator in iterators:
            for item in iterator:
                items.append(item)
                break
            else:
                break
        if len(items) == len(iterators):
            yield (*items,)
        elif strict and items:
            raise ValueError(f"zip() argument {len(items) + 1} is shorter than {_arguments(len(items))}")
        elif strict:
            for i in range(1, len(iterators)):
                for _ in iterators[i]:
                    raise ValueError(f"zip() argument {i + 1} is longer than {_arguments(i)}")
            return
        else:
            return


def _arguments(count: int) -> str:
    return "argument 1" if count == 1 else f"arguments 1-{count}"


def map(function: Callable[..., Any], /, *iterables: Iterable[Any]) -> Iterator[Any]:
    if not iterables:
        raise TypeError("map() must have at least two arguments.")
    if len(iterables) == 1:
        return _map_one(function, iter(iterables[0]))
    return starmap(function, _zip([iter(iterable) for iterable in iterables], False))


def _map_one(function: Callable[[Any], Any], items: Iterator[Any]) -> Iterator[Any]:
    for item in items:
        yield function(item)


def filter(function: Callable[[Any], Any] | None, iterable: Iterable[Any], /) -> Iterator[Any]:
    return _filter(function, iter(iterable))


def _filter(function: Callable[[Any], Any] | None, items: Iterator[Any]) -> Iterator[Any]:
    for item in items:
        if item if function is None else function(item):
            yield item


def reversed(sequence: Any, /) -> Iterator[Any]:
    """Return an iterator over a list, a tuple, a range or another sequence, from its end."""
    return _reversed(sequence, len(sequence))


def _reversed(sequence: Any, count: int) -> Iterator[Any]:
    for i in range(count - 1, -1, -1):
        if i >= len(sequence):  # it has become shorter
            return
        yield sequence[i]


def iter_until(function: Callable[[], Any], sentinel: Any) -> Iterator[Any]:
    """Return what `iter(function, sentinel)` returns."""
    if not callable(function):
        raise TypeError("iter(v, w): v must be callable")
    return _iter_until(function, sentinel)


def _iter_until(function: Callable[[], Any], sentinel: Any) -> Iterator[Any]:
    while True:
        try:
            item = function()
        except StopIteration:
            return
        if item is sentinel or item == sentinel:
            return
        yield item


# ---- itertools


def accumulate(iterable: Iterable[Any], func: Any = None, *, initial: Any = None) -> Iterator[Any]:
    return _accumulate(iter(iterable), func, initial)


def _accumulate(items: Iterator[Any], function: Callable[[Any, Any], Any] | None, initial: Any) -> Iterator[Any]:
    total = initial
    if initial is None:
        for total in items:
            break
        else:
            return
    yield total
    for item in items:
        total = total + item if function is None else function(total, item)
        yield total


def chain(*iterables: Iterable[Any]) -> Iterator[Any]:
    return from_iterable(iterables)


def from_iterable(iterables: Iterable[Iterable[Any]]) -> Iterator[Any]:
    return _chain(iter(iterables))


def _chain(iterables: Iterator[Iterable[Any]]) -> Iterator[Any]:
    for iterable in iterables:
        for item in iterable:
            yield item


def compress(data: Iterable[Any], selectors: Iterable[Any]) -> Iterator[Any]:
    return _compress(iter(data), iter(selectors))


def _compress(data: Iterator[Any], selectors: Iterator[Any]) -> Iterator[Any]:
    for item in data:
        for selected in selectors:
            if selected:
                yield item
            break
        else:
            return


def count(start: Any = 0, step: Any = 1) -> Iterator[Any]:
    try:
        start + 0, step + 0
    except TypeError:
        raise TypeError("a number is required") from None
    return _count(start, step)


def _count(number: Any, step: Any) -> Iterator[Any]:
    while True:
        yield number
        number = number + step


def cycle(iterable: Iterable[Any], /) -> Iterator[Any]:
    return _cycle(iter(iterable))


def _cycle(items: Iterator[Any]) -> Iterator[Any]:
    saved = []
    for item in items:
        saved.append(item)
        yield item
    while saved:
        for item in saved:
            yield item


def dropwhile(predicate: Callable[[Any], Any], iterable: Iterable[Any], /) -> Iterator[Any]:
    return _dropwhile(predicate, iter(iterable))


def _dropwhile(predicate: Callable[[Any], Any], items: Iterator[Any]) -> Iterator[Any]:
    for item in items:
        if not predicate(item):
            yield item
            break
    for item in items:
        yield item


def filterfalse(function: Callable[[Any], Any] | None, iterable: Iterable[Any], /) -> Iterator[Any]:
    return _filterfalse(function, iter(iterable))


def _filterfalse(function: Callable[[Any], Any] | None, items: Iterator[Any]) -> Iterator[Any]:
    for item in items:
        if not (item if function is None else function(item)):
            yield item


def groupby(iterable: Iterable[Any], key: Callable[[Any], Any] | None = None) -> Iterator[Any]:
    return _groupby(iter(iterable), key)


def _groupby(items: Iterator[Any], key: Callable[[Any], Any] | None) -> Iterator[Any]:
    ended = False
    value = value_key = None

    def group(target: Any) -> Iterator[Any]:
        nonlocal value, value_key, ended
        yield value
        for value in items:
            value_key = value if key is None else key(value)
            if not (target is value_key or target == value_key):
                return
            yield value
        ended = True

    for value in items:
        break
    else:
        return
    value_key = value if key is None else key(value)
    while not ended:
        target = value_key
        current = group(target)
        yield target, current
        if target is value_key or target == value_key:
            for _ in current:
                pass


_INDICES = "Indices for islice() must be None or an integer: 0 <= x <= sys.maxsize."


def islice(iterable: Iterable[Any], /, *ends: Any) -> Iterator[Any]:
    if not ends or len(ends) > 3:
        raise TypeError(f"islice expected at {'least 2' if not ends else 'most 4'} arguments, got {len(ends) + 1}")
    start, stop, step = (None, ends[0], None) if len(ends) == 1 else (*ends, None)[:3]
    if not _is_count(stop):
        alone = "Stop argument for islice() must be None or an integer: 0 <= x <= sys.maxsize."
        raise ValueError(alone if len(ends) == 1 else _INDICES)
    if not _is_count(start):
        raise ValueError(_INDICES)
    if not _is_count(step) or step == 0:
        raise ValueError("Step for islice() must be a positive integer or None.")
    first = 0 if start is None else index(start)
    return _islice(iter(iterable), first, None if stop is None else index(stop), 1 if step is None else index(step))


def _is_count(number: Any) -> bool:
    return number is None or (hasattr(number, "__index__") and index(number) >= 0)


def _islice(items: Iterator[Any], following: int, stop: int | None, step: int) -> Iterator[Any]:
    taken = 0
    while True:
        while taken < following:
            for _ in items:
                break
            else:
                return
            taken += 1
        if stop is not None and taken >= stop:
            return
        for item in items:
            break
        else:
            return
        taken += 1
        following += step
        if stop is not None and following > stop:
            following = stop
        yield item


def pairwise(iterable: Iterable[Any], /) -> Iterator[Any]:
    return _pairwise(iter(iterable))


def _pairwise(items: Iterator[Any]) -> Iterator[Any]:
    for before in items:
        break
    else:
        return
    for item in items:
        yield before, item
        before = item


def batched(iterable: Iterable[Any], n: Any, *, strict: bool = False) -> Iterator[Any]:
    if index(n) < 1:
        raise ValueError("n must be at least one")
    return _batched(iter(iterable), index(n), strict)


def _batched(items: Iterator[Any], n: int, strict: bool) -> Iterator[Any]:
    while True:
        batch: list[Any] = []
        for item in items:
            batch.append(item)
            if len(batch) == n:
                break
        if len(batch) < n and strict and batch:
            raise ValueError("batched(): incomplete batch")
        if not batch:
            return
        yield (*batch,)
        if len(batch) < n:
            return


def product(*iterables: Iterable[Any], repeat: Any = 1) -> Iterator[Any]:
    if index(repeat) < 0:
        raise ValueError("repeat argument cannot be negative")
    return _product([tuple(iterable) for iterable in iterables] * index(repeat))


def _product(pools: list[tuple[Any, ...]]) -> Iterator[Any]:
    for pool in pools:
        if not pool:
            return
    at = [0] * len(pools)
    while True:
        yield (*[pools[i][at[i]] for i in range(len(pools))],)
        i = len(pools) - 1
        while i >= 0 and at[i] == len(pools[i]) - 1:
            at[i] = 0
            i -= 1
        if i < 0:
            return
        at[i] += 1


def permutations(iterable: Iterable[Any], r: Any = None) -> Iterator[Any]:
    pool = tuple(iterable)
    if r is not None and not isinstance(r, int):
        raise TypeError("Expected int as r")
    if r is not None and r < 0:
        raise ValueError("r must be non-negative")
    return _permutations(pool, len(pool) if r is None else r)


def _permutations(pool: tuple[Any, ...], r: int) -> Iterator[Any]:
    n = len(pool)
    if r > n:
        return
    at, cycles = list(range(n)), list(range(n, n - r, -1))
    yield (*[pool[k] for k in at[:r]],)
    i = r - 1
    while i >= 0:
        cycles[i] -= 1
        if cycles[i] == 0:
            at[i:] = at[i + 1 :] + at[i : i + 1]
            cycles[i] = n - i
            i -= 1
        else:
            j = n - cycles[i]
            at[i], at[j] = at[j], at[i]
            yield (*[pool[k] for k in at[:r]],)
            i = r - 1


def combinations(iterable: Iterable[Any], r: Any) -> Iterator[Any]:
    pool = tuple(iterable)
    if index(r) < 0:
        raise ValueError("r must be non-negative")
    return _combinations(pool, index(r))


def _combinations(pool: tuple[Any, ...], r: int) -> Iterator[Any]:
    n = len(pool)
    if r > n:
        return
    at = list(range(r))
    while True:
        yield (*[pool[k] for k in at],)
        i = r - 1
        while i >= 0 and at[i] == i + n - r:
            i -= 1
        if i < 0:
            return
        at[i] += 1
        for j in range(i + 1, r):
            at[j] = at[j - 1] + 1


def combinations_with_replacement(iterable: Iterable[Any], r: Any) -> Iterator[Any]:
    pool = tuple(iterable)
    if index(r) < 0:
        raise ValueError("r must be non-negative")
    return _combinations_with_replacement(pool, index(r))


def _combinations_with_replacement(pool: tuple[Any, ...], r: int) -> Iterator[Any]:
    n = len(pool)
    if n == 0 and r > 0:
        return
    at = [0] * r
    while True:
        yield (*[pool[k] for k in at],)
        i = r - 1
        while i >= 0 and at[i] == n - 1:
            i -= 1
        if i < 0:
            return
        following = at[i] + 1
        for j in range(i, r):
            at[j] = following


def repeat(object: Any, times: Any = _ABSENT) -> Iterator[Any]:
    return _repeat(object, None if times is _ABSENT else index(times))


def _repeat(object: Any, times: int | None) -> Iterator[Any]:
    done = 0
    while times is None or done < times:
        yield object
        done += 1


def starmap(function: Callable[..., Any], iterable: Iterable[Any], /) -> Iterator[Any]:
    return _starmap(function, iter(iterable))


def _starmap(function: Callable[..., Any], items: Iterator[Any]) -> Iterator[Any]:
    for args in items:
        yield function(*args)


def takewhile(predicate: Callable[[Any], Any], iterable: Iterable[Any], /) -> Iterator[Any]:
    return _takewhile(predicate, iter(iterable))


def _takewhile(predicate: Callable[[Any], Any], items: Iterator[Any]) -> Iterator[Any]:
    for item in items:
        if not predicate(item):
            return
        yield item


def tee(iterable: Iterable[Any], n: Any = 2, /) -> tuple[Iterator[Any], ...]:
    if index(n) < 0:
        raise ValueError("n must be >= 0")
    if index(n) == 0:
        return ()
    items = iter(iterable)
    taken: list[Any] = []
    return (*[_tee(items, taken) for _ in range(index(n))],)


def _tee(items: Iterator[Any], taken: list[Any]) -> Iterator[Any]:
    i = 0
    while True:
        if i == len(taken):
            for item in items:
                taken.append(item)
                break
            else:
                return
        yield taken[i]
        i += 1


def zip_longest(*iterables: Iterable[Any], fillvalue: Any = None) -> Iterator[Any]:
    return _zip_longest([iter(iterable) for iterable in iterables], fillvalue)


def _zip_longest(iterators: list[Any], fillvalue: Any) -> Iterator[Any]:
    left = len(iterators)
    while left:
        items = []
        for i in range(len(iterators)):
            item = fillvalue
            if iterators[i] is not None:
                for item in iterators[i]:
                    break
                else:
                    iterators[i] = None
                    left -= 1
                    if not left:
                        return
                    item = fillvalue
            items.append(item)
        yield (*items,)
