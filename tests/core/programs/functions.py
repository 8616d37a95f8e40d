"""Functions and calls: every kind of parameter, errors in calls, wrappers, and what function objects know of themselves."""

import functools
import inspect
import operator


def attempt(f, *args, **keywords):
    try:
        return f(*args, **keywords)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def every(a, b=2, /, c=3, *args, d, e=5, **keywords):
    return a, b, c, args, d, e, keywords


for args, keywords in (((1,), {"d": 4}), ((1, 2, 3, 4, 5), {"d": 6, "z": 7}), ((), {"d": 1}), ((1,), {}), ((1,), {"d": 1, "a": 2}),
                       ((1, 2), {"b": 3, "d": 4}), ((1,), {"c": 9, "d": 4, "e": 0})):  # fmt: skip
    print(attempt(every, *args, **keywords))


def none():
    pass


def two(a, b):
    return a, b


def only(*, a):
    return a


def positional(a, b, /):
    return a, b


for f in (none, two, only, positional, every):
    for args in ((), (1,), (1, 2), (1, 2, 3)):
        for keywords in ({}, {"a": 5}, {"q": 1}):
            print(f.__name__, args, keywords, attempt(f, *args, **keywords))
for run in (lambda: two(*5), lambda: two(1, *5), lambda: two(**5), lambda: two(1, **{"b": 2}, **{"b": 3}), lambda: two(**{1: 2}),
            lambda: two(a=1, **{"a": 2}), lambda: two(*(1,), **{"b": 2}), lambda: (lambda: 5)()(), lambda: two.nothing(), lambda: [*5],
            lambda: {**5}, lambda: {*5}, lambda: {[]: 1}, lambda: {[]}, lambda: print(sep=5), lambda: len(), lambda: len(1, 2)):  # fmt: skip
    print(attempt(run))


def unpacking(value):
    a, b = value
    return a, b


def unpacking_star(value):
    a, *b, c = value
    return a, b, c


def endless():
    n = 0
    while True:
        n += 1
        if n > 5:
            raise ValueError("taken too many")
        yield n


for value in ([1, 2], [1], [1, 2, 3], "ab", 5, {1: 2, 3: 4}, iter([1]), None, (), endless()):
    print(attempt(unpacking, value), attempt(unpacking_star, value) if not inspect.isgenerator(value) else "")


def defaults(a=[], *, b={}):
    a.append(1)
    b[len(a)] = a
    return len(a), len(b)


print(defaults(), defaults(), defaults([]), defaults.__defaults__, defaults.__kwdefaults__.keys())


def wrapper(f):
    @functools.wraps(f)
    def inner(*args, **keywords):
        """Inner documentation."""
        inner.calls += 1
        return f(*args, **keywords)

    inner.calls = 0
    return inner


@wrapper
def wrapped(x: int, y: "str" = "s") -> float:
    """Documentation."""
    return x, y


print(wrapped(1), wrapped(2, y=3), wrapped.calls, wrapped.__name__, wrapped.__doc__, inspect.signature(wrapped), wrapped.__wrapped__.__qualname__)


@functools.cache
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


@functools.lru_cache(maxsize=2)
def squared(n):
    print("squared", n)
    return n * n


print(fib(30), fib.cache_info().hits, [squared(n) for n in (1, 2, 1, 3, 2)])
add = functools.partial(operator.add, 5)
keyed = functools.partial(every, 1, d=2, z=3)
print(add(6), keyed(7), keyed(d=9), functools.reduce(lambda a, b: a * b, range(1, 6)), sorted("bca", key=lambda c: -ord(c)))


@functools.singledispatch
def kind(x):
    return "object"


@kind.register
def _(x: int):
    return "int"


@kind.register(list)
def _(x):
    return "list"


print(kind(1), kind([]), kind(""))


class Callable:
    def __call__(self, x, *rest):
        return x, rest

    def method(self, x=1):
        return self, x

    partial = functools.partialmethod(method, 5)

    @classmethod
    def klass(cls, x):
        return cls.__name__, x

    @staticmethod
    def static(x):
        return x


c = Callable()
bound = c.method
print(c(1, 2), bound(3)[1], bound.__self__ is c, Callable.method(c, 4)[1], c.partial()[1], c.klass(1), c.static(2), bound.__func__ is Callable.method)
print(attempt(c.method, 1, 2, 3), attempt(Callable.method), attempt(c.klass))


def outer():
    """Outer."""

    def inner(): "Inner."

    return inner, lambda: 0, (x for x in ()), [lambda: 1 for _ in "a"][0]


inner, anonymous, generator, listed = outer()
print(inner.__qualname__, anonymous.__qualname__, generator.__qualname__, listed.__qualname__, inner.__doc__, outer.__module__)
print(inspect.signature(every), inspect.getfullargspec(two).args, inspect.isgeneratorfunction(endless), callable(inner))
f = lambda x, *y, z=1, **w: (x, y, z, w)
print(f(1), f(1, 2, z=3, q=4), f.__name__, f.__code__.co_argcount, f.__code__.co_varnames[:4])


def early(n):
    if n > 2:
        return "big"
    for i in range(n):
        if i:
            return i
    while n:
        return "while"


print([early(n) for n in range(4)])


def deep(n):
    return 0 if n == 0 else 1 + deep(n - 1)


print(deep(200))


def mutual(n, acc=()):
    return acc if not n else mutual(n - 1, (*acc, n))


print(mutual(5), (lambda *a: a)(*[1], *(2,), *{3}), (lambda **k: k)(**{"a": 1}, b=2, **{"c": 3}))
x, (y, [z, *w]), *v = 1, (2, "abc"), 4, 5
print(x, y, z, w, v)
[p, q], r = (1, 2), 3
(s), t = 4, 5
print(p, q, r, s, t)
*a, = range(3)
b, = [9]
() = []
[] = ()
print(a, b)
first, *_ = "abc"
*_, last = "abc"
print(first, last, _)
i = j = 0
i, j = j + 1, i + 2
print(i, j)
data = [3, 1, 2]
data[0], data[1] = data[1], data[0]
data[1:2] = [7, 8]
data[::2] = [0, 0]
del data[-1]
print(data, data[-1], data[1:], data[:-1:1], data[slice(None)])
print("%s %d %%" % ("a", 1), f"{'nested ' + f'{1 + 1}'}", f"{3.14159:.2f} {5:>4}|{'s':*^5}|{1e3!r}|{{}}", f"{'a' 'b'}" "c")
print(1 if [] else 2, 1 < 2 < 3 > 2, not 1 == 1, 1 == 1.0, ... is Ellipsis, __debug__)
print(10**20, 0x1F, 1_000, 3j**2, b"\x00", r"\n", -7 // 2, -7 % 3, 7 & 3 | 8 ^ 1, ~5, 1 << 3 >> 1, 2**-1, -2**2, +True)
