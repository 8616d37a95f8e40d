"""Generators: send, throw, close, yield from, and what is left over in them."""


def steps(name):
    print("start", name)
    try:
        x = yield 1
        print("got", x)
        y = yield x
        print("got", y)
    except ValueError as error:
        print("threw", error)
        yield "after"
    finally:
        print("finally", name)
    return "result"


g = steps("a")
print(next(g), g.send("x"), g.throw(ValueError("v")))
try:
    next(g)
except StopIteration as end:
    print(end.value)

g = steps("b")
next(g)
g.close()
g = steps("c")
g.close()
g = steps("d")
try:
    g.send(1)
except TypeError as error:
    print(error)
del g


def outer():
    got = yield from steps("inner")
    print("inner returned", got)
    got = yield from [1, 2]
    print("list returned", got)
    yield from ()
    return 5


print(list(outer()))
g = outer()
print(next(g), g.send("s"), g.throw(ValueError, ValueError("w")), next(g))
g.close()

for x in steps("break"):
    print("x", x)
    break
print("after break")


def leave():
    for x in steps("return"):
        for y in steps("nested"):
            return x, y


print(leave())


def endless():
    n = 0
    while True:
        n += 1
        yield n


for a, b in zip(range(3), endless()):
    print(a, b)
print([x for x, _ in zip(endless(), "abc")])


def stopping():
    yield 1
    raise StopIteration("no")


try:
    list(stopping())
except RuntimeError as error:
    print(error, repr(error.__cause__), repr(error.__context__))


def inside():
    try:
        yield next(iter(()))
    except StopIteration as error:
        print("caught", repr(error), error.__context__)
        yield "then"
    try:
        raise StopIteration(3)
    except StopIteration as error:
        yield error.value
    try:
        try:
            next(iter([]))
        finally:
            print("passing")
    except StopIteration:
        yield "passed"
    yield from (y for y in "uv")


print(list(inside()))


def swallow():
    while True:
        try:
            yield 1
        except GeneratorExit:
            print("exit")
            return


g = swallow()
next(g)
g.close()
print(list(g))


def ignoring():
    try:
        yield
    except GeneratorExit:
        print("ignored")
    try:
        yield
    finally:
        print("not ignored")


g = ignoring()
next(g)
try:
    g.close()
except RuntimeError as error:
    print(error)
gen = (print("element", x) or x for x in [1, 2])
print("made")
print(next(gen))
gen.close()


def expressions():
    x = [(yield 1), (yield 2)]
    y = f"{(yield 3)}"
    z = (yield 4) + (yield 5)
    w = {(yield 6): (yield 7)}
    if (yield 8):
        print("true")
    return x, y, z, w, (lambda: (yield))


g = expressions()
value = None
try:
    while True:
        value = (g.send(value) or 0) + 1
except StopIteration as end:
    print(end.value[:4])


class Tree:
    def __init__(self, *children):
        self.children = children

    def __iter__(self):
        yield self
        for child in self.children:
            yield from child


print(len(list(Tree(Tree(), Tree(Tree(), Tree())))))


def delegating():
    class Iterator:
        def __iter__(self):
            return self

        def __next__(self):
            return 1

        def throw(self, *error):
            print("throw", error[0])
            raise StopIteration("thrown")

    result = yield from Iterator()
    print("result", result)
    yield "end"


g = delegating()
print(next(g), g.throw(KeyError("k")))


def counting(n):
    total = 0
    while n:
        sent = yield total
        total += sent if sent is not None else n
        n -= 1
    return total


def averaging():
    while True:
        r = yield from counting(3)
        print("sum", r)


g = averaging()
print([g.send(v) for v in (None, 1, 2, 3, 4, 5)])


def in_handler():
    try:
        raise KeyError("outer")
    except KeyError:
        yield 1
        try:
            raise
        except KeyError as error:
            yield error
        raise ValueError("new")


g = in_handler()
print(next(g))
try:
    raise TypeError("in between")
except TypeError:
    print(repr(next(g)))
try:
    next(g)
except ValueError as error:
    print(repr(error.__context__))
print(sum(x * x for x in range(5)), max((x for x in range(3)), default=None))
print({k: v for k, v in ((i, i * i) for i in range(3))})
print(sorted(y for x in range(3) for y in range(x) if y != 1))
