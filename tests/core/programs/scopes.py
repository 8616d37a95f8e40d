"""Which variable a name means: closures, global, nonlocal, comprehensions, lambdas, loops, del, exec, locals."""

counter = 0


def closures():
    made = []
    for i in range(3):
        made.append(lambda: i)
        made.append(lambda i=i: i)
    print([f() for f in made])

    def adder(n):
        def add(k):
            nonlocal n
            n += k
            return n

        def get():
            return n

        return add, get

    add, get = adder(10)
    other, other_get = adder(100)
    print(add(5), add(5), get(), other(1), other_get(), get())
    fs = []
    for k in range(3):
        fs += [lambda: (k, j) for j in range(2)]
        fs += [lambda: (j, m) for j in [k] for m in (7,)]
        fs += list((lambda: j) for j in [k * 10])
    print([f() for f in fs])
    print([f() for f in [lambda: x for x in range(3)]])
    print([[y() for y in [lambda: (a, b) for b in range(2)]] for a in range(2)])
    print([(lambda q: q + r)(1) for r in range(3)], {s: (lambda: s)() for s in "ab"})


def later():
    def reads():
        return defined_later

    defined_later = 1
    first = reads()
    defined_later = 2
    return first, reads()


def globals_():
    global counter, made_here

    def inner():
        global counter
        counter += 10
        return counter

    counter += 1
    made_here = inner()
    return counter, made_here


def mixed():
    counter = "local"

    def a():
        global counter

        def b():
            return counter

        return b()

    def c():
        return counter

    def d():
        def e():
            nonlocal counter
            counter = "changed"

        e()
        return counter

    return a(), c(), d(), counter


def comprehension_scopes():
    x = "outer"
    print([x for x in "abc"], x)
    print([x for x in x], {x: y for x, y in zip(x, x)}, x)
    print([(x, y) for x in range(3) if x for y in range(x) if y != x])
    print([y for x in [1, 2] for y in [x, x * 10]])
    matrix = [[1, 2], [3, 4]]
    print([[row[i] for row in matrix] for i in range(2)])
    print({(a, b) for a, b in [(1, 2), (3, 4)]}, sum(a * b for a, b in [(1, 2), (3, 4)]))
    print([i := 5, [i := j for j in range(3)], i])
    total = 0
    print([total := total + v for v in [1, 2, 3]], total)
    print(any((found := w) > 2 for w in [1, 2, 3, 4]), found)
    print([*map(lambda v: [v + w for w in range(v)], range(3))])
    print([a for a, *b in [(1, 2, 3), (4,)] if not b], [b for a, (b, *c) in [(1, (2, 3))]])
    print(list(k for k in range(3) for k in range(k)))


def loop_variables():
    for i in []:
        pass
    try:
        print(i)
    except UnboundLocalError as error:
        print(error)
    for i in range(3):
        for i in "ab":
            pass
    print(i)
    for a, (b, c) in [(1, (2, 3))]:
        pass
    print(a, b, c)
    while True:
        q = 1
        break
    print(q)


def conditional(n):
    if n > 0:
        v = n

    def read():
        return v

    try:
        return read(), v
    except NameError as error:
        return type(error).__name__, str(error)


def namespaces(a, *args, b=2, **kw):
    c = a
    inner = lambda: c
    before = locals()
    d = 3
    print(sorted(before), sorted(locals()), inner())
    print(eval("a + b + d"), eval("c"), sorted(vars()), sorted(dir()))
    exec("counter2 = a", globals())if False else None
    exec("made_by_exec = b * 10", {"b": 4}, kw)
    print(kw, "counter" in globals(), eval("[x for x in range(3)]"))
    exec("print(a)")


def recursion(n):
    def even(n):
        return n == 0 or odd(n - 1)

    def odd(n):
        return n != 0 and even(n - 1)

    fact = lambda n: 1 if n < 2 else n * fact(n - 1)
    return even(n), odd(n), fact(n)


def shadowed_builtins():
    list = lambda *a: "mine"
    len = 5
    return list([1]), len, [max for max in range(2)]


def annotations():
    x: int
    y: "anything" = 3
    (z): undefined_annotation = 4

    def f(a: y, b: "text" = 1, *c: print, d: z, **e: None) -> list[int]:
        return a

    print(y, z, f.__annotations__)
    try:
        x
    except UnboundLocalError as error:
        print(error)


class Obj:
    pass


def targets_with_annotations():
    o = Obj()
    o.attr: int = 5
    items = [0]
    items[0]: int = 7
    print(o.attr, items)


def private_names():
    class _Odd__:
        def m(self, __a=1):
            __b = __a
            return sorted(locals())

    class ___:
        def m(self, __a=1):
            return sorted(locals())

    return _Odd__().m(), ___().m()


closures()
print(later(), globals_(), counter, made_here, mixed())
comprehension_scopes()
loop_variables()
print(conditional(1), conditional(0))
namespaces(1, 5, x=6)
print(recursion(5), shadowed_builtins(), private_names())
annotations()
targets_with_annotations()
del counter, made_here
try:
    counter
except NameError as error:
    print(error)
import os.path as path, sys, collections.abc
from math import sin as sine, pi
from collections import *

print(path.basename("/a/b"), sine(0), pi, collections.abc.Sized, OrderedDict)
try:
    from math import nothing
except ImportError as error:
    print(str(error).split("(")[0])
try:
    import no_such_module
except ImportError as error:
    print(error)


def imports():
    import json.encoder
    import json.decoder as decoder
    from os import path as p, sep

    return json.dumps([1]), decoder.__name__, p.join("a", "b"), sep


print(imports())
x: int = 5
print(__name__, x, __doc__[:5], sorted(k for k in globals() if k.startswith("cl")))
