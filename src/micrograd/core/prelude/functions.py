"""Functions that make or stand for other functions: operator, functools, divmod and pow."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any


def divmod(a: Any, b: Any, /) -> tuple[Any, Any]:
    return a // b, a % b


def add(a: Any, b: Any, /) -> Any:
    return a + b


def sub(a: Any, b: Any, /) -> Any:
    return a - b


def mul(a: Any, b: Any, /) -> Any:
    return a * b


def truediv(a: Any, b: Any, /) -> Any:
    return a / b


def floordiv(a: Any, b: Any, /) -> Any:
    return a // b


def mod(a: Any, b: Any, /) -> Any:
    return a % b


def power(a: Any, b: Any, /) -> Any:
    return a**b


def matmul(a: Any, b: Any, /) -> Any:
    return a @ b


def and_(a: Any, b: Any, /) -> Any:
    return a & b


def or_(a: Any, b: Any, /) -> Any:
    return a | b


def xor(a: Any, b: Any, /) -> Any:
    return a ^ b


def lshift(a: Any, b: Any, /) -> Any:
    return a << b


def rshift(a: Any, b: Any, /) -> Any:
    return a >> b


def neg(a: Any, /) -> Any:
    return -a


def pos(a: Any, /) -> Any:
    return +a


def invert(a: Any, /) -> Any:
    return ~a


def not_(a: Any, /) -> bool:
    return not a


def truth(a: Any, /) -> bool:
    return True if a else False


def lt(a: Any, b: Any, /) -> Any:
    return a < b


def le(a: Any, b: Any, /) -> Any:
    return a <= b


def gt(a: Any, b: Any, /) -> Any:
    return a > b


def ge(a: Any, b: Any, /) -> Any:
    return a >= b


def eq(a: Any, b: Any, /) -> Any:
    return a == b


def ne(a: Any, b: Any, /) -> Any:
    return a != b


def is_(a: Any, b: Any, /) -> bool:
    return a is b


def is_not(a: Any, b: Any, /) -> bool:
    return a is not b


def contains(a: Any, b: Any, /) -> bool:
    return b in a


def getitem(a: Any, b: Any, /) -> Any:
    return a[b]


def setitem(a: Any, b: Any, c: Any, /) -> None:
    a[b] = c


def delitem(a: Any, b: Any, /) -> None:
    del a[b]


def iadd(a: Any, b: Any, /) -> Any:
    a += b
    return a


def isub(a: Any, b: Any, /) -> Any:
    a -= b
    return a


def imul(a: Any, b: Any, /) -> Any:
    a *= b
    return a


def itruediv(a: Any, b: Any, /) -> Any:
    a /= b
    return a


def countOf(a: Iterable[Any], b: Any, /) -> int:
    count = 0
    for item in a:
        if item is b or item == b:
            count += 1
    return count


def indexOf(a: Iterable[Any], b: Any, /) -> int:
    number = 0
    for item in a:
        if item is b or item == b:
            return number
        number += 1
    raise ValueError("sequence.index(x): x not in sequence")


def itemgetter(item: Any, /, *items: Any) -> Callable[[Any], Any]:
    if not items:
        return lambda obj, /: obj[item]
    return lambda obj, /: (*[obj[i] for i in (item, *items)],)


def attrgetter(attribute: str, /, *attributes: str) -> Callable[[Any], Any]:
    if not attributes:
        return lambda obj, /: _attribute(obj, attribute)
    return lambda obj, /: (*[_attribute(obj, name) for name in (attribute, *attributes)],)


def _attribute(obj: Any, path: str) -> Any:
    for name in path.split("."):
        obj = getattr(obj, name)
    return obj


def methodcaller(name: str, /, *args: Any, **keywords: Any) -> Callable[[Any], Any]:
    return lambda obj, /: getattr(obj, name)(*args, **keywords)


def partial(function: Callable[..., Any], /, *args: Any, **keywords: Any) -> Callable[..., Any]:
    return lambda *more, **others: function(*args, *more, **{**keywords, **others})


def cmp_to_key(mycmp: Callable[[Any, Any], Any]) -> Any:
    class K:
        def __init__(self, obj: Any) -> None:
            self.obj = obj

        def __lt__(self, other: Any) -> Any:
            return mycmp(self.obj, other.obj) < 0

        def __gt__(self, other: Any) -> Any:
            return mycmp(self.obj, other.obj) > 0

        def __eq__(self, other: Any) -> Any:
            return mycmp(self.obj, other.obj) == 0

        def __le__(self, other: Any) -> Any:
            return mycmp(self.obj, other.obj) <= 0

        def __ge__(self, other: Any) -> Any:
            return mycmp(self.obj, other.obj) >= 0

        __hash__ = None  # type: ignore[assignment]

    return K
