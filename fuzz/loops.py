"""The loops of random programs: statements, and folds (sum, min, max, any, all) of generator expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fuzz import objects

if TYPE_CHECKING:
    from fuzz.generate import Writer

LONG = (24, 30, 101, 120)  # items: a fold of so many may become a loop of the tape


def loop(w: Writer) -> None:
    """A loop over numbers, over a list or with a condition; what it counts may be used behind it."""
    r = w.r
    w.loops += 1
    kind = r.random()
    if kind < 0.35:
        _counted(w)
    elif kind < 0.42 and w.loops == 1:
        _long(w)
    elif kind < 0.6:
        _over_numbers(w)
    elif kind < 0.75:
        _over_a_list(w)
    else:
        name = w.new("n")
        w.write(f"{name} = 0")
        w.write(f"while {name} < {r.randint(2, 5)} and {w.test()}:")
        w.write(f"    {name} += 1")
        w.block(r.randint(1, 3), True)
    if r.random() < 0.15:
        w.write("else:")
        w.block(1, False)
    w.loops -= 1


def _counted(w: Writer) -> None:
    r, counters, name = w.r, w.scope.counters, w.new("i")
    n = r.randint(1, 4)
    plain = f"range({n})"
    w.write(
        f"for {name} in {r.choice((plain, plain, f'reversed({plain})', f'range({n}, 0, -1)', f'range(1, {2 * n}, 2)'))}:"
    )
    counters.append(name)
    w.block(r.randint(1, 3), True)
    if r.random() < 0.5:  # at least one iteration has assigned it
        counters.remove(name)


def _long(w: Writer) -> None:
    """Many iterations of a few lines, which may end early."""
    r, name, state = w.r, w.new("i"), w.assignable()
    w.write(f"for {name} in {_maybe_reversed(w, f'range({r.choice(LONG)})')}:")
    w.write(f"    {state} = m.sin({state} * {r.choice((0.9, 1.5))} + {w.number(2)} * 0.1 + {name} * 0.01)")
    if w.scope.objects and r.random() < 0.6:
        w.write(f"    {objects.change(w)}")
    if r.random() < 0.4:
        w.write(f"    if {w.test(1)}:")
        w.write(f"        {r.choice(('break', 'continue', f'{w.assignable()} += 0.01 * {name}'))}")
    w.scope.counters.append(name)


def _over_numbers(w: Writer) -> None:
    r, numbers, name = w.r, w.scope.numbers, w.new("v")
    items = f"[{w.number(2)}, {w.number(2)}, {w.number(2)}]"
    w.write(f"for {name} in {r.choice((items, items, f'reversed({items})', f'sorted({items})'))}:")
    numbers.append(name)
    w.block(r.randint(1, 3), True)
    if r.random() < 0.5:
        numbers.remove(name)


def _over_a_list(w: Writer) -> None:
    """The body may change the list that it iterates over; it ends if the list has become long."""
    if not w.scope.lists:
        w.new_list()
    r, items, i, v = w.r, w.r.choice(w.scope.lists), w.new("i"), w.new("v")
    by_index = r.random() < 0.4
    if by_index:
        w.write(f"for {i} in {_maybe_reversed(w, f'range(len({items}))')}:")
        w.write(f"    {items}[{i}] = m.tanh({w.number(2)} * {items}[{r.choice((i, '0', '-1'))}])")
    else:
        turned = _maybe_reversed(w, items)
        w.write(f"for {i}, {v} in enumerate({r.choice((items, turned, f'list({items})', f'{items}[::-1]'))}):")
        w.write(f"    if len({items}) > 6:")
        w.write("        break")
    outer, w.scope = w.scope, w.scope.inner()
    w.scope.counters.append(i)
    w.scope.numbers.extend([] if by_index else [v])
    w.block(r.randint(1, 2), True)
    w.scope = outer


def _maybe_reversed(w: Writer, items: str) -> str:
    return f"reversed({items})" if w.r.random() < 0.4 else items


# ---- folds


def fold(w: Writer) -> str:
    """A number: the sum, the least or the largest item of a generator expression."""
    r = w.r
    outer, w.scope = w.scope, w.scope.inner()
    clauses, k, filtered = _clauses(w)
    a, b = w.number(2), w.number(2)
    item = r.choice(
        (f"{a} * {k}", f"m.sin({a} + 0.1 * {k})", f"({a} - 0.05 * {k}) * {b}", f"({a} if {k} > 1 else {b})")
    )
    w.scope = outer
    name = r.choice(("sum", "sum", "min", "max"))
    if name == "sum":
        return f"(0.1 * sum({item} {clauses}))" if r.random() < 0.7 else f"sum(({item} {clauses}), {w.number(2)})"
    return f"{name}(({item} {clauses}), default={w.number(2)})" if filtered else f"{name}({item} {clauses})"


def truth(w: Writer) -> str:
    """Whether any, or all, of a generator expression hold."""
    r = w.r
    outer, w.scope = w.scope, w.scope.inner()
    clauses, k, _ = _clauses(w)
    found = (
        f"{r.choice(('any', 'all'))}({w.number(2)} * 0.1 * {k} {r.choice(('<', '>', '<='))} {w.number(2)} {clauses})"
    )
    w.scope = outer
    return found


def _clauses(w: Writer) -> tuple[str, str, bool]:
    """The `for` and `if` of a generator expression, the name that it binds, and whether it may give no item at all."""
    r, k = w.r, w.new("k")
    length = r.choice((3, 24) if w.loops else (3, *LONG))
    text = f"for {k} in {_maybe_reversed(w, f'range({length})')}"
    if w.scope.lists and r.random() < 0.2:
        text = f"for {k} in {_maybe_reversed(w, r.choice(w.scope.lists))}"
    elif length == 24 and r.random() < 0.3:
        j = w.new("k")
        text = f"for {j} in range(5) {text.replace('24', j + ' + 2')}"
    kind = r.random()
    if kind < 0.65:
        return text, k, False
    return f"{text} if {f'{k} * 2 > {r.randint(0, 5)}' if kind < 0.8 else f'{w.number(2)} < {k}'}", k, True
