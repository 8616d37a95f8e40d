"""In which order the parts of statements and expressions are evaluated."""


def t(name, value=None):
    print(name, end=" ")
    return value


class Box:
    def __init__(self, name):
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "items", {})

    def __getitem__(self, key):
        print(f"{self.name}[{key!r}]", end=" ")
        return self.items.get(key, 1)

    def __setitem__(self, key, value):
        print(f"{self.name}[{key!r}]={value!r}", end=" ")
        self.items[key] = value

    def __delitem__(self, key):
        print(f"del {self.name}[{key!r}]", end=" ")

    def __getattr__(self, name):
        print(f"{self.name}.{name}", end=" ")
        return 2

    def __setattr__(self, name, value):
        print(f"{self.name}.{name}={value!r}", end=" ")

    def __delattr__(self, name):
        print(f"del {self.name}.{name}", end=" ")

    def __bool__(self):
        print(f"bool({self.name})", end=" ")
        return self.name[0] == "T"

    def __lt__(self, other):
        print(f"{self.name}<{getattr(other, 'name', other)}", end=" ")
        return Box("T" if self.name < other.name else "F")

    def __call__(self, *args, **keywords):
        print(f"{self.name}({args}, {keywords})", end=" ")
        return args[0] if args else None

    def __iadd__(self, other):
        print(f"{self.name}+={other!r}", end=" ")
        return self

    def __hash__(self):
        print(f"hash({self.name})", end=" ")
        return 1

    def __eq__(self, other):
        print(f"{self.name}=={getattr(other, 'name', other)}", end=" ")
        return self is other

    def __repr__(self):
        return self.name

    def __iter__(self):
        print(f"iter({self.name})", end=" ")
        return iter([10, 20])

    def __format__(self, spec):
        return f"<{self.name}:{spec}>"

    def __enter__(self):
        print(f"enter({self.name})", end=" ")
        return self

    def __exit__(self, kind, error, traceback):
        print(f"exit({self.name}, {kind}, {error})", end=" ")
        return self.name[0] == "T"


a, b, c, T, F = (Box(n) for n in ("a", "b", "c", "T", "F"))


def targets():
    t("a", a)[t("i", 0)] = t("b", b)[t("j", 1)] = t("value", 5)
    print()
    t("a", a).x, t("b", b)[t("k")] = t("v1", 1), t("v2", 2)
    print()
    (t("a", a).x, *t("b", b)[0:2]), t("c", c).y = t("v", [[1, 2, 3], 4])
    print()
    [t("a", a)[0], t("b", b).z] = t("c", c)
    print()
    for t("a", a)[t("i", 0)], t("b", b).q in t("it", [(1, 2), (3, 4)]):
        print("body", end=" ")
    print()
    x = y = z = t("once", [])
    print(x is y is z)
    i = 0
    i, a[i] = 1, 2
    print(i)


def augmented():
    t("a", a)[t("i", 0)] += t("v", 3)
    print()
    t("a", a).x **= t("v", 3)
    print()
    t("a", a)[t("l", 0) : t("u", 1) : t("s", 2)] -= t("v", 1)
    print()
    x = a
    x += t("v", 2)
    print(x is a)
    numbers = [1, 2]
    same = numbers
    numbers += (n for n in (3, 4))
    print(same)
    nested = ([],)
    try:
        nested[0] += [1]
    except TypeError as error:
        print(error, nested)
    matrix = [[1, 2], [3, 4]]
    matrix[t("r", 1)][t("c", 0)] *= t("v", 10)
    print(matrix)
    text, number, flag = "a", 7, True
    text *= 3
    number //= 2
    number <<= 3
    number ^= 1
    number |= 2
    number &= ~4
    flag |= False
    print(text, number, flag)


def operators():
    print(t("a", 2) + t("b", 3) * t("c", 4) - t("d", 5) ** t("e", 2))
    print(t("a", 2) < t("b", 3) < t("c", 1) < t("never"))
    print(t("a", a) < t("b", b) < t("c", c))
    print(t("c", c) < t("b", b) < t("never", a))
    print(t("a", [])[t("i", slice(0))], {t("k", 1): t("v", 2), t("k2", 3): t("v2", 4)})
    print(t("yes", 1) if t("test", 0) else t("no", 2))
    print(t("x", 1) in t("y", [1]), t("x", 1) not in t("y", [1]), t("x") is t("y"), t("x") is not t("y", 0))
    print(not t("x", T), -t("n", 3), +t("n", 3), ~t("n", 3))
    print([*t("a", a), t("x", 1), *t("b", [2])], (*t("a", a),), {*t("s", [3]), t("e", 4)})
    print({**t("m", {1: 2}), t("k", 3): t("v", 4), **t("n", {5: 6})})
    print(f"{t('v', a)!r:>{t('w', 8)}}{t('x', 3.14159):.{t('p', 2)}f}{t('y', 1)=}")


def truth():
    for name, run in (
        ("and", lambda: T and F),
        ("or", lambda: F or T),
        ("and and", lambda: T and T and F),
        ("not and", lambda: not (T and F)),
        ("not not", lambda: not not T),
        ("or or", lambda: (F or F) or T),
        ("chain", lambda: F or (F and T) or T),
        ("if", lambda: 1 if T else 2),
        ("if not", lambda: 1 if not T else 2),
        ("if and", lambda: 1 if T and F else 2),
        ("if or and", lambda: 1 if (F or T) and T else 2),
        ("if compare", lambda: 1 if T < F < T else 2),
        ("if if", lambda: 1 if (T if F else F) else 2),
    ):
        print(name, end=": ")
        print("->", run())
    if T and not F or T:
        print("yes")
    n = Box("T")
    while n or F:
        print("loop", end=" ")
        n = F
    print()
    try:
        assert T and F, t("message", "m")
    except AssertionError as error:
        print(error)
    print([x for x in (T, F) if x], [x for x in (T, F) if not x and x])


def calls():
    t("a", a)(t("1", 1), *t("star", [2, 3]), t("4", 4), k=t("k", 5), **t("m", {"z": 6}))
    print()

    def items(name):
        print(f"start {name}", end=" ")
        yield 1
        print(f"end {name}", end=" ")

    a(*items("x"), **t("m", {}))
    print()
    a(1, *items("x"), **t("m", {}))
    print()
    a(*items("x"), k=t("k"))
    print()
    a(*items("x"), *items("y"))
    print()
    t("obj", a).method if t("cond", 1) else 0
    print()

    def decorator(name):
        print(f"@{name}", end=" ")
        return lambda f: t(f"apply {name}", f)

    @decorator("one")
    @decorator("two")
    def f(x=t("default x", 1), *, y=t("default y", 2)) -> t("returns"):
        return x, y

    print(f(), f(y=0))

    @decorator("class")
    class C(t("base", object), metaclass=t("meta", type)):
        x = t("body", 3)

        @decorator("method")
        def m(self, z=t("default z", x)):
            return z

    print(C().m())
    print((lambda p=t("lambda default", 1), *q, r=t("kw", 2), **s: (p, q, r, s))(1, 2, x=3))


def deletions():
    del t("a", a)[t("i", 0)], t("b", b).x, (t("c", c).y, t("a", a)[1:2])
    print()


def managers():
    with t("a", a) as t("b", b).x, t("T", T) as t("c", c)[t("i", 0)]:
        print("body", end=" ")
        raise ValueError("lost")
    print()
    try:
        with a, T, F:
            raise KeyError("kept")
    except KeyError as error:
        print("caught", error)

    def returning():
        with a:
            return t("value", 1)

    print(returning())
    for i in range(3):
        with a:
            if i == 1:
                continue
            if i == 2:
                break
    print()


def walrus():
    if (n := t("n", 5)) > 3 and (m := n + 1):
        print(n, m)
    print([y := 1, y**2, (y := 3)], y)
    print([last := x for x in range(3)], last)
    print((lambda: (z := 4) + z)())


for f in (targets, augmented, operators, truth, calls, deletions, managers, walrus):
    print("----", f.__name__)
    f()
