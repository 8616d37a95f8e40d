"""The heap before an iteration of a loop, compared with the heap after it: what must be carried."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from micrograd.abstract.columns import resolved_in
from micrograd.abstract.copies import Path, with_path
from micrograd.abstract.errors import Restart, Unrollable
from micrograd.abstract.objects import Objects
from micrograd.abstract.outcomes import Heap
from micrograd.abstract.shapes import (
    COLUMNS,
    NAMED,
    Fixed,
    Induction,
    Invariant,
    Items,
    Layout,
    Number,
    Pointer,
    Shape,
    columns_of,
    is_fixed,
    joined_kind,
    locations,
    lub,
    named,
    names_of,
    pointers,
    shape_of,
)
from micrograd.abstract.values import (
    LOST,
    Cell,
    Closure,
    Const,
    Method,
    Ref,
    Tuple,
    Union,
    Value,
    is_mark,
    is_number,
    kind_of,
    same,
)
from micrograd.ir.forms import F64, I64


class Matching:
    """Objects before an iteration, matched one to one with those after it."""

    def __init__(self, machine: Objects, before: Heap, head: Heap, after: Heap) -> None:
        self.m, self.b, self.before = machine, machine.b, before
        self.stale = False  # whether a step that was found earlier is no longer one
        self.head, self.after = head, after
        self.to: dict[int, int] = {}
        self.of: dict[int, int] = {}
        self.waiting: list[int] = []
        self.sources: list[tuple[int, str]] = []  # objects that were merged into a copy, and whose copy that is
        self.path: Path = ()  # where in a cell the values are that are compared

    def pairs(self) -> Any:
        """Yield the locations of the heap before, each once it is matched."""
        fixed = [*(call.frame for call in self.m.running), *self.m.outer]
        for values in self.m.temporary:
            fixed += [at for value in values for at in locations(value)]
        for at in dict.fromkeys(fixed):
            self.link(at, at)
        rest = list(self.head)
        while True:
            while self.waiting:
                at = self.waiting.pop()
                cell = self.head[at]
                if isinstance(cell, Cell):
                    for fixed_at in self._fixed_by(cell):
                        self.link(fixed_at, fixed_at)
                yield at
            if not rest:
                return
            at = rest.pop(0)
            if at not in self.to and at not in self.of and at in self.after:
                self.link(at, at)

    def _fixed_by(self, cell: Cell) -> list[int]:
        """Return the locations that are the same after an iteration because a cell says so."""
        if cell.key[0] == "frame":
            return [] if cell.key[2] is None else [cell.key[2]]
        if cell.key[0] in COLUMNS:
            return list(pointers(cell.key[1]))
        if cell.key[0] == "moved":
            return list(locations(cell.values[0]))
        if cell.key[0] == "generator":
            return list(locations(cell.key[1]))
        return []

    def link(self, a: int, b: int) -> bool:
        """Match two objects; return whether that is possible."""
        if a in self.to:
            return self.to[a] == b
        if a < 0 or b < 0:  # an object from outside, which is not changed
            return a == b
        if b in self.of or a not in self.head or b not in self.after:
            return False
        self.to[a], self.of[b] = b, a
        self.waiting.append(a)
        return True

    def back(self, ref: Ref) -> Ref:
        """Return the reference before an iteration that one after it stands for."""
        at = self.of.get(ref.location, ref.location)
        return ref if at == ref.location else Ref(at, ref.index)

    # ---- what must be carried

    def grown(self, shape: Shape, h: Value, a: Value, at: int) -> Shape:
        """Return the shape that covers the value at the head of an iteration, and that after it."""
        lost = Fixed(Const(LOST))
        if is_fixed(shape, LOST) or (isinstance(shape, Invariant) and is_mark(shape.value, LOST)):
            return shape
        if isinstance(h, Ref) and isinstance(a, Ref):
            if h.index is None and a.index is None and self.link(h.location, a.location):
                return shape
            if h.location == a.location and h.index is not None and a.index is not None:
                self.link(h.location, h.location)
                return shape if h.index is a.index or isinstance(shape, Pointer) else Pointer(h.location, True)
        if isinstance(h, Cell) and isinstance(a, Cell):
            return self._grown_cell(shape, h, a, at)
        alike = isinstance(h, Tuple) and isinstance(a, Tuple) and h.cls is a.cls and len(h.items) == len(a.items)
        if alike and isinstance(shape, Invariant | Items):
            assert isinstance(h, Tuple) and isinstance(a, Tuple)
            inner: Any = shape.shapes if isinstance(shape, Items) else [Invariant(x) for x in h.items]
            new = self._grown_each(range(len(h.items)), zip(inner, h.items, a.items), at)
            unchanged = all(s is n for s, n in zip(inner, new))
            return shape if unchanged else Items(h.cls, new)
        if isinstance(a, Union) and self._is_replaced(h, a):
            assert isinstance(h, Ref)
            if self._merge(h, a, at):
                return shape
        if isinstance(h, Closure | Method) and same(h, a):
            for location in locations(h):
                self.link(location, location)
        if same(h, a):
            if isinstance(shape, Induction) and shape.step:
                self.stale = True
            return shape if self._fixed(a) else lost
        if (
            isinstance(shape, Invariant | Induction)
            and is_number(h)
            and is_number(a)
            and kind_of(h) == kind_of(a) == I64
        ):
            places = [self.m.place(x, I64) for x in (a, h)]
            difference = self.b.known.of(places[0]).plus(self.b.known.of(places[1]), -1)
            if not difference.terms:
                if isinstance(shape, Invariant):
                    return Induction(h, difference.constant)
                if difference.constant == shape.step:
                    return shape
            return Number(I64)
        before = Number(I64) if isinstance(shape, Induction) else shape
        before = shape_of(shape.value) if isinstance(shape, Invariant) else before
        found = lub(before, shape_of(a))
        return found if all(self.link(p, p) for p in pointers(found)) else lost

    def _grown_each(
        self, steps: Iterable[Any], values: Iterable[tuple[Shape, Value, Value]], at: int
    ) -> tuple[Shape, ...]:
        """Return the shapes that cover the values in a cell or a tuple, which have names or numbers."""
        found = []
        around = self.path
        for step, (shape, h, a) in zip(steps, values):
            self.path = (*around, step)
            found.append(self.grown(shape, h, a, at))
        self.path = around
        return tuple(found)

    # ---- objects that are replaced in a branch

    def _is_replaced(self, h: Value, a: Union) -> bool:
        """Return whether an object, or one that the iteration made, comes after an iteration where one object was."""
        m = self.m
        if not m.may_copy(h, self.head) or self._name() in (m.needed | m.uncopied):
            return False
        found = [resolved_in(x, self.after) for _, x in a.alternatives]
        made = any(isinstance(x, Ref) and x.location not in self.head for x in found)
        return made and all(m.may_copy(x, self.after) for x in found)

    def _name(self) -> str:
        return next((step for step in reversed(self.path) if isinstance(step, str)), "")

    def _merge(self, h: Ref, a: Union, at: int) -> bool:
        """Put one object with the contents of the right alternative on the heap after the iteration."""
        m, path, name = self.m, self.path, self._name()
        if h.location not in m.copies:
            raise Restart(at, lambda: m.copy_at(at, path, name))
        alternatives = [(mask, resolved_in(x, self.after)) for mask, x in a.alternatives]
        sources: list[int] = []
        one = m.merged(alternatives, self.after, sources)
        self.sources += [(source, name) for source in sources]
        if not isinstance(one, Ref) or not self.link(h.location, one.location):
            return False
        there = self.to[at]
        self.after[there] = with_path(self.after[there], path, one)
        return True

    def hold_sources(self) -> None:
        """Make sure that no copied object is changed: its copy would have to change, too."""
        m = self.m
        for source, name in self.sources:
            at = self.of.get(source, source)
            if at in self.before and at not in m.has_copy:
                raise Restart(at, lambda: m.has_copy.setdefault(at, name))  # noqa: B023

    def _fixed(self, value: Value) -> bool:
        return all(self.link(at, at) for at in locations(value))

    def _grown_cell(self, shape: Shape, h: Cell, a: Cell, at: int) -> Shape:
        how = h.key[0]
        if how == a.key[0] and how in NAMED and h.key != a.key:
            return self._grown_names(shape, h, a, at)
        if h.key == a.key and len(h.values) == len(a.values) and isinstance(shape, Invariant | Layout):
            if how == "rows" and not same(h.values[-2], a.values[-2]):
                raise Unrollable("the rows of a table have different lengths")
            inner = shape.shapes if isinstance(shape, Layout) else [Invariant(x) for x in h.values]
            steps = names_of(h) if how in NAMED else range(len(h.values))
            new = self._grown_each(steps, zip(inner, h.values, a.values), at)
            if how == "generator":
                self._fixed(h.key[1])
            unchanged = all(s is n for s, n in zip(inner, new))
            return shape if unchanged else Layout(h.key, new)
        if how == "list" and a.key[0] in ("list", "columns"):
            return self._grown_list(shape, h, a, at)
        if how == a.key[0] == "columns":
            found = lub(shape_of(h), shape_of(a))
            if isinstance(found, Layout):
                length = self.grown(Invariant(h.values[-1]), h.values[-1], a.values[-1], at)
                return Layout(found.key, (*found.shapes[:-1], length))
        if same(h, a):
            return shape
        raise Unrollable("an object has another form in each iteration")

    def _grown_names(self, shape: Shape, h: Cell, a: Cell, at: int) -> Shape:
        """Return the layout of an object that has more attributes after an iteration, or other ones."""
        if h.key[0] == "object" and h.key[1] is not a.key[1]:
            raise Unrollable("an object is of another class in each iteration")
        missing = Const(NAMED[h.key[0]])
        names = names_of(h) + tuple(n for n in names_of(a) if n not in names_of(h))
        if h.key[0] == "dict" and [n for n in names_of(a) if n in names_of(h)] != list(names_of(h)):
            raise Unrollable("the order of the keys of a dict changes")
        inner = dict(zip(names_of(h), shape.shapes if isinstance(shape, Layout) else map(Invariant, h.values)))
        cells: list[Shape] = []
        for n in names:
            ours = dict(zip(names_of(h), h.values)).get(n, missing)
            theirs = dict(zip(names_of(a), a.values)).get(n, missing)
            cells += self._grown_each([n], [(inner.get(n, Invariant(missing)), ours, theirs)], at)
        return Layout(named(h, names, cells).key, tuple(cells))

    def _grown_list(self, shape: Shape, h: Cell, a: Cell, at: int) -> Shape:
        """Return the layout of a list that has other items after an iteration, or more of them."""
        m = self.m
        if a.key[0] == "columns":
            raise Restart(at, lambda: m.become_columns(at, a.key[1]))
        if len(h.values) == len(a.values) and isinstance(shape, Layout | Invariant):
            inner = shape.shapes if isinstance(shape, Layout) else [Invariant(x) for x in h.values]
            return Layout(h.key, self._grown_each(range(len(h.values)), zip(inner, h.values, a.values), at))
        items = [*h.values, *a.values]
        if all(is_number(x) for x in items):
            kind: str | None = kind_of(items[0])
            for x in items:
                kind = joined_kind(kind or F64, kind_of(x)) if kind is not None else None
            if kind is not None:
                difference = len(a.values) - len(h.values)
                if isinstance(shape, Invariant):
                    return columns_of(Number(kind), h.key[1], Induction(Const(len(h.values)), difference))
                return columns_of(Number(kind), h.key[1], Number(I64))
        template = m.template(a.values, self.after, self.head, self.before)
        raise Restart(at, lambda: m.become_columns(at, template()))
