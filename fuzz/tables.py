"""Lists of lists in random programs: cells that are read and assigned, loops over them, comprehensions inside of others."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fuzz.generate import Writer

SIDES = ((2, 2), (3, 2), (2, 4), (3, 3))
LONG = ((24, 2), (30, 1), (12, 9))  # so many rows and columns that the loops may stay loops of the tape


def statement(w: Writer) -> None:
    """A new table, an assignment to a cell or to a row, another name for a row, or a loop over all cells."""
    r, tables = w.r, w.scope.tables
    kind = r.random()
    if not tables or kind < 0.2:
        _new(w)
        return
    name = r.choice(tables)
    rows, columns = w.sides[name]
    if kind < 0.45:
        w.write(f"{cell(w)} {r.choice(('=', '=', '+='))} {w.number(2)}")
    elif kind < 0.55:
        w.write(f"{name}[{_index(w, rows)}] = {_row(w, columns)}")
    elif kind < 0.62:
        a, b = _index(w, rows), _index(w, rows)
        w.write(f"{name}[{a}], {name}[{b}] = {name}[{b}], {name}[{a}]")
    elif kind < 0.68:
        tables.append(w.new("g"))
        copied = r.choice((name, f"list({name})", f"[row[:] for row in {name}]", f"{name}[::-1]"))
        w.write(f"{tables[-1]} = {copied}")
        w.sides[tables[-1]] = rows, columns
    elif kind < 0.72:
        tables.append(w.new("g"))
        w.write(f"{tables[-1]} = [list(column) for column in zip(*{name})]")
        w.sides[tables[-1]] = columns, rows
    elif kind < 0.76:
        w.scope.lists.append(w.new("L"))
        w.write(f"{w.scope.lists[-1]} = {name}[{_index(w, rows)}]{r.choice(('', '[:]'))}")
    elif w.loops < 2:
        _loops(w, name)
    else:
        w.write(f"{cell(w)} = {w.number(2)}")


def _index(w: Writer, length: int) -> str:
    r = w.r
    if w.scope.counters and r.random() < 0.5:
        return f"{r.choice(w.scope.counters)} % {length}"
    return str(r.randint(-length, length - 1))


def cell(w: Writer) -> str:
    """A number of a table."""
    name = w.r.choice(w.scope.tables)
    rows, columns = w.sides[name]
    return f"{name}[{_index(w, rows)}][{_index(w, columns)}]"


def _row(w: Writer, columns: int) -> str:
    r, k = w.r, w.new("k")
    same = [name for name in w.scope.tables if w.sides[name][1] == columns]
    texts = [f"[{', '.join(w.number(2) for _ in range(columns))}]" if columns < 5 else f"[{w.number(2)}] * {columns}"]
    texts += [f"[{w.number(2)} * {k} for {k} in range({columns})]", f"[m.sin({w.number(2)})] * {columns}"]
    texts += [f"[{k} * 0.5 for {k} in {r.choice(same)}[0]]", f"{r.choice(same)}[-1]"] if same else []
    return r.choice(texts)


def _new(w: Writer) -> None:
    r, name, i, j = w.r, w.new("g"), w.new("k"), w.new("k")
    rows, columns = r.choice(LONG) if r.random() < 0.25 and not w.loops else r.choice(SIDES)
    inner = r.choice(
        (f"[{w.number(2)} * {i} + 0.1 * {j} for {j} in range({columns})]", f"[{w.number(2)}] * {columns}",
         f"[m.cos({w.number(2)} - {j}) if {j} > {i} else {w.number(2)} for {j} in range({columns})]")
    )  # fmt: skip
    w.write(f"{name} = [{inner} for {i} in range({rows})]")
    w.scope.tables.append(name)
    w.sides[name] = rows, columns


def _loops(w: Writer, name: str) -> None:
    """Two loops over all cells, or one over the rows."""
    r, (rows, columns) = w.r, w.sides[name]
    i, j = w.new("i"), w.new("i")
    outer, w.scope = w.scope, w.scope.inner()
    w.loops += 2
    if r.random() < 0.3:
        row = w.new("row")
        w.write(f"for {i}, {row} in enumerate({name}):")
        w.scope.counters.append(i)
        w.write(f"    {row}[{_index(w, columns)}] = m.tanh({row}[{_index(w, columns)}] + {w.number(2)} * 0.5)")
    else:
        low, high = r.choice(((0, rows), (1, rows), (0, rows - 1)))
        w.write(
            f"for {i} in {r.choice((f'range({low}, {high})', f'range({low}, {high})', f'range({high - 1}, -1, -1)'))}:"
        )
        w.write(f"    for {j} in range({r.choice((str(columns), str(columns), f'min({i} + 1, {columns})'))}):")
        w.scope.counters.extend((i, j))
        before = r.choice(
            (f"{name}[{i} - 1][{j}]", f"{name}[{i}][{j} - 1]", f"{name}[{i}][{j}]", f"{name}[0][{j}]", cell(w))
        )
        w.write(f"        {name}[{i}][{j}] = m.sin({before} + {w.number(2)} * 0.25)")
        if r.random() < 0.4:
            w.write(f"        if {w.test(2)}:")
            w.write(f"            {r.choice(('break', 'continue', f'{w.assignable()} += 0.1 * {name}[{i}][0]'))}")
            w.write(f"        {w.assignable()} += 0.01 * {name}[{i}][{j}]")
    w.loops -= 2
    w.scope = outer


# ---- numbers


def number(w: Writer) -> str:
    """A number of all cells of a table, or of a comprehension inside of another."""
    r, i, j = w.r, w.new("k"), w.new("k")
    if not w.scope.tables or r.random() < 0.4:
        return _nested(w, i, j)
    name = r.choice(w.scope.tables)
    rows = w.sides[name][0]
    return r.choice(
        (cell(w), cell(w), f"(0.1 * sum([sum({i}) for {i} in {name}]))", f"max(max({i}) for {i} in {name})",
         f"(0.1 * sum({i} * {j} for {i}, {j} in zip({name}[0], {name}[{_index(w, rows)}])))",
         f"m.prod([m.sin({i}[0]) for {i} in {name}])", f"sorted({name}[{_index(w, rows)}])[0]",
         f"min([{i} for {j} in {name} for {i} in {j}])")
    )  # fmt: skip


def _nested(w: Writer, i: str, j: str) -> str:
    r, a, b = w.r, w.number(2), w.number(2)
    rows, columns = r.choice(LONG) if r.random() < 0.2 and not w.loops else r.choice(SIDES)
    inside = f"{a} * {i} + {b} * {j} for {j} in range({r.choice((str(columns), f'{i} + 1'))})"
    outside = f"for {i} in range({rows}){r.choice(('', '', f' if {i} != 1', f' if {b} < {i} + 1'))}"
    return r.choice(
        (f"(0.1 * sum(sum({inside}) {outside}))", f"(0.1 * sum([max([{inside}]) {outside}]))",
         f"m.prod([m.cos(sum([{inside}])) for {i} in range({rows})])", f"min([min({inside}) for {i} in range({rows})])")
    )  # fmt: skip
