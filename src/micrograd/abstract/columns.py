"""Lists as arrays: columns, pools of rows and of objects.

A list whose items have one shape becomes columns when an index is not known, or when it grows in a loop. Its items are numbers,
tuples of numbers, or references into a pool, where the objects of a list have moved: a pool has an array for each number
of an object, so that to swap two rows is to swap two ints, and two references to one object are equal ints.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from micrograd.abstract.errors import Restart, Unrollable
from micrograd.abstract.numeric import Numeric
from micrograd.abstract.outcomes import Heap, Result
from micrograd.abstract.shapes import (
    COUNTING,
    Items,
    Layout,
    Number,
    Pointer,
    Shape,
    equal,
    kinds_of,
    lub,
    pointers,
    shape_of,
    unmixed,
    with_numbers,
)
from micrograd.abstract.values import (
    NONE,
    Cell,
    Const,
    Num,
    Ref,
    Tuple,
    Union,
    Value,
    is_mark,
    is_number,
    kind_of,
    same,
)
from micrograd.ir.forms import I64, Place


class Columns(Numeric):
    """Lists of columns, and pools."""

    # ---- items

    def load(self, cell: Cell, index: Place) -> Value:
        """Return an item of a list of columns, or an object of a pool, by a number that is in range."""
        shape, arrays = cell.key[1], cell.values
        places = []
        for array, _ in zip(arrays, kinds_of(shape)):
            if is_mark(array, COUNTING):
                places.append(index)
                continue
            assert isinstance(array, Num)
            place = self.b.emit("load", array.place, index)
            if place.kind == I64 and place.op != "const":
                self.bounds.setdefault(place, 2.0**53)
            places.append(place)
        return self.unpack(shape, iter(places))

    def stored(self, cell: Cell, index: Place, value: Value) -> Cell:
        """Return a list of columns with another item."""
        shape = cell.key[1]
        arrays: list[Value] = []
        for array, kind, place in zip(cell.values, kinds_of(shape), self.pack(value, shape)):
            if place.kind == I64:
                self.keep_within(place)
            old = self._array(cell, array, kind)
            arrays.append(Num(self.b.emit("store", old, index, place)))
        return Cell(cell.key, (*arrays, *cell.values[len(arrays) :]))

    def _array(self, cell: Cell, array: Value, kind: str) -> Place:
        if is_mark(array, COUNTING):
            return self.counting(self.size_of_columns(cell))
        assert isinstance(array, Num)
        return array.place

    def appended(self, cell: Cell, value: Value) -> Cell:
        """Return a list of columns, or a pool of objects, with one more item."""
        shape, count = cell.key[1], cell.values[-1]
        arrays: list[Value] = []
        index = value.index if isinstance(value, Ref) else None
        for array, kind, place in zip(cell.values, kinds_of(shape), self.pack(value, shape)):
            if is_mark(array, COUNTING) and index is not None and self._is_next(index, count):
                arrays.append(array)
                continue
            if place.kind == I64:
                self.keep_within(place)
            arrays.append(Num(self.b.emit("append", self._array(cell, array, kind), place)))
        return Cell(cell.key, (*arrays, *cell.values[len(arrays) : -1], self.plus(count, 1)))

    def _is_next(self, index: Place, count: Value) -> bool:
        known = self.b.known
        return known.of(index) == known.of(self.place(count, I64))

    def plus(self, a: Value, b: int) -> Value:
        """Return a size and something small."""
        found = self.whole("iadd", self.place(a, I64), self.b.const(b))
        return self.value(found)

    def minus(self, a: Value, b: Value) -> Value:
        """Return the difference of two sizes."""
        return self.value(self.whole("isub", self.place(a, I64), self.place(b, I64)))

    # ---- from lists to columns

    def need_columns(self, ref: Ref) -> None:
        """Make a list one of columns: where a loop around has it, in front of that loop."""
        at = ref.location
        cell = self.cell(ref)
        if cell.key[0] != "list":
            return
        shape = self.item_shape(list(cell.values))
        if any(at in heap for heap in self.rolls):
            raise Restart(at, lambda: self.become_columns(at, shape()))
        self.become_columns(at, shape())

    def item_shape(self, items: list[Value]) -> Callable[[], Shape]:
        """Return what gives the shape of the items of a list: their objects move into a pool then."""
        several = any(isinstance(self.resolved(x), Union) for x in items)
        items = self.alternatives(items, self.heap)
        if not items:
            raise Unrollable("an empty list is indexed")
        for x in items:
            if isinstance(x, Union) and isinstance(shape_of(x), Number):
                continue
            if not isinstance(x, Ref | Tuple) and not is_number(x) and not isinstance(x, Const | Union):
                raise Unrollable("a list of different things is indexed")
        refs = [x for x in items if isinstance(x, Ref)]
        if len(refs) == len(items):
            if several:
                self._require_pool(refs)
            return lambda: self.pool_of(items)
        if refs:
            raise Unrollable("a list of different things is indexed")
        found = shape_of(items[0])
        for x in items[1:]:
            found = lub(found, shape_of(x))
        return lambda: with_numbers(found)

    def _require_pool(self, refs: list[Ref]) -> None:
        """Raise Unrollable where objects cannot move into one pool."""
        saved = self.heap
        self.heap = dict(saved)
        try:
            self.pool_of(list(refs))
        finally:
            self.heap = saved

    def alternatives(self, values: Any, heap: Heap) -> list[Value]:
        """Return values; one that may be one of several objects is all of them."""
        found: list[Value] = []
        for x in values:
            x = resolved_in(x, heap)
            if isinstance(x, Union) and all(isinstance(y, Ref) for _, y in x.alternatives):
                found += [resolved_in(y, heap) for _, y in x.alternatives]
            else:
                found.append(x)
        return found

    def become_columns(self, at: int, shape: Shape) -> None:
        """Make the list at a location one of columns."""
        cell = self.heap[at]
        if isinstance(cell, Union):
            raise Unrollable("a list of several lengths is indexed")
        assert isinstance(cell, Cell)
        if cell.key[0] == "columns":
            if not equal(cell.key[1], shape):
                self.heap[at] = self.converted_columns(cell, lub_of_items(cell.key[1], shape))
            return
        if cell.key[0] != "list":
            raise Unrollable("an object has another form in each iteration")
        items = [self.resolved(x) for x in cell.values]
        for x in items:
            shape = lub_of_items(shape, shape_of(x)) if not self._adopts(shape, x) else shape
        items = [self.adopted(x, shape) for x in items]
        if items and isinstance(shape, Pointer) and self._counts(items):
            arrays: list[Value] = [Const(COUNTING)]
        else:
            arrays = [Num(p) for p in self.column_arrays(items, shape)]
        self.heap[at] = Cell(("columns", shape, cell.key[1]), (*arrays, Const(len(items))))

    def _counts(self, items: list[Value]) -> bool:
        return all(
            isinstance(x, Ref) and x.index is not None and x.index.op == "const" and x.index.attr == i
            for i, x in enumerate(items)
        )

    def converted_columns(self, cell: Cell, shape: Shape) -> Cell:
        """Return a list of columns whose items have a wider shape."""
        old, length = cell.key[1], cell.values[-1]
        key = ("columns", shape, *cell.key[2:])
        if equal(old, shape):
            return cell
        if isinstance(old, Number) and isinstance(shape, Number):
            array, *marks = self.with_marks(cell, shape)
            assert isinstance(array, Num)
            return Cell(key, (Num(self.converted(array.place, shape.kind + "[]")), *marks))
        count = self.place(length, I64)
        empty = [self.b.emit("fill", count, self.zero(kind)) for kind in kinds_of(shape)]
        if not kinds_of(old):
            packed = self.pack(self.unpack(old, iter(())), shape)
            return Cell(key, (*(Num(self.b.emit("fill", count, p)) for p in packed), length))

        def body(params: list[Place], k: Place) -> tuple[Place, list[Place]]:
            places = self.pack(self.load(cell, k), shape)
            return self.true, [self.b.emit("store", p, k, x) for p, x in zip(params, places)]

        found = self.b.loop(count, empty, body)[:-1] if empty else []
        return Cell(key, (*map(Num, found), length))

    # ---- pools

    def pool_of(self, items: list[Value]) -> Shape:
        """Move the objects of a list into a pool; returns the shape of references to them."""
        refs = [x for x in self.alternatives(items, self.heap) if isinstance(x, Ref)]
        moved = [x for x in refs if x.index is not None]
        if moved:
            if any(x.location != moved[0].location for x in moved):
                raise Unrollable("a list has objects of several lists")
            for x in refs:
                if x.index is None:
                    self.adopt(x, moved[0].location)
            return Pointer(moved[0].location, True)
        order = list(dict.fromkeys(x.location for x in refs))
        pool = self.new(self._empty_pool([self.heap[at] for at in order], self.heap)).location
        for at in order:
            self.adopt(Ref(at), pool)
        return Pointer(pool, True)

    def _empty_pool(self, cells: list[Value], heap: Heap) -> Cell:
        """Return an empty pool for some objects, which are alike."""
        first = cells[0]
        if not all(isinstance(c, Cell) and c.key[0] == first.key[0] for c in cells):  # type: ignore[attr-defined]
            raise Unrollable("a list of different things is indexed")
        layouts = [c for c in cells if isinstance(c, Cell)]
        if self._are_rows(layouts):
            return self._empty_rows(layouts, heap)
        shape: Layout | None = None
        for cell in layouts:
            if cell.key[0] not in ("object", "list"):
                raise Unrollable(f"a list of {cell.key[0]}s is indexed")
            inner = (
                tuple(self._field(i, layouts, heap) for i in range(len(cell.values))) if shape is None else shape.shapes
            )
            if shape is not None and (shape.key != cell.key or len(shape.shapes) != len(cell.values)):
                raise Unrollable("a list of different objects is indexed")
            shape = Layout(cell.key, inner)
        assert shape is not None
        arrays = [Num(self.zero(kind + "[]")) for kind in kinds_of(shape)]
        return Cell(("pool", shape), (*arrays, Const(0)))

    def _field(self, i: int, cells: list[Cell], heap: Heap) -> Shape:
        """Return the shape of one of the values that the objects of a pool have."""
        values = []
        for cell in cells:
            if len(cell.values) <= i:
                raise Unrollable("a list of different objects is indexed")
            values.append(resolved_in(cell.values[i], heap))
        return self._field_shape(values, heap)

    def _field_shape(self, values: list[Value], heap: Heap) -> Shape:
        values = self.alternatives(values, heap)
        if all(isinstance(x, Ref) for x in values):
            refs = [x for x in values if isinstance(x, Ref)]
            if all(same(x, refs[0]) for x in refs) and len(refs) > 1:
                return shape_of(refs[0])
            if all(x.index is not None and x.location == refs[0].location for x in refs):
                return Pointer(refs[0].location, True)
            if any(x.index is not None for x in refs):
                raise Unrollable("objects that hold objects of several lists are indexed")
            pool = self.new(self._empty_pool([heap[x.location] for x in refs], heap))
            return Pointer(pool.location, True)
        found = None
        for x in values:
            if isinstance(x, Tuple) and any(isinstance(y, Ref) for y in x.items):
                raise Unrollable("a list of tuples that hold objects is indexed")
            if isinstance(x, Ref):
                raise Unrollable("a list of different objects is indexed")
            found = shape_of(x) if found is None else lub(found, shape_of(x))
        return with_numbers(found)

    def _are_rows(self, cells: list[Cell]) -> bool:
        if any(c.key[0] == "columns" for c in cells):
            return True
        numbers = [c.key[0] == "list" and c.values and all(self._numeric(x) for x in c.values) for c in cells]
        if all(numbers):
            kinds = {kind_of(x) if is_number(x) else shape_of(x).kind for c in cells for x in c.values}
            return len(kinds) == 1 or kinds == {"f64", "i64"}
        return all(c.key[0] == "list" and c.values and all(map(_is_object, c.values)) for c in cells)

    def _empty_rows(self, cells: list[Cell], heap: Heap) -> Cell:
        """Return an empty pool for lists of one length."""
        lengths = [Const(len(c.values)) if c.key[0] == "list" else c.values[-1] for c in cells]
        if not all(same(n, lengths[0]) for n in lengths):
            raise Unrollable("a list of lists of several lengths is indexed")
        cls = cells[0].key[-1]
        shape = None
        for c in cells:
            if c.key[0] == "columns":
                shape = c.key[1] if shape is None else lub_of_items(shape, c.key[1])
        if shape is None:
            shape = self._field_shape([resolved_in(x, heap) for c in cells for x in c.values], heap)
        arrays = [Num(self.zero(kind + "[]")) for kind in kinds_of(shape)]
        return Cell(("rows", shape, cls), (*arrays, self._visible_length(lengths[0]), Const(0)))

    def _visible_length(self, length: Value) -> Value:
        """Return a length as the open body can read it."""
        if isinstance(length, Const) or (isinstance(length, Num) and self.b.visible(length.place)):
            return length
        assert isinstance(length, Num)
        hoisted = self.hoisted(length.place)
        if hoisted is None:
            raise Unrollable("the rows of a list differ in their length")
        return self.value(hoisted)

    def adopt(self, ref: Ref, pool: int, mask: Place | None = None) -> Ref:
        """Move an object into a pool, if it is not there; returns the reference to it.

        An object that is there only where a mask holds has empty arrays elsewhere. Zeros are moved in their place.
        """
        found = self.resolved(ref)
        assert isinstance(found, Ref)
        if found.index is not None or found.location == pool:
            if found.location != pool:
                raise Unrollable("an object of another list is put into a list of objects")
            return found
        cell = self.heap[found.location]
        if not isinstance(cell, Cell):
            raise Unrollable("one of several objects is put into a list of objects")
        if any(found.location in heap for heap in self.rolls) and pool in self.rolls[-1]:
            raise Unrollable("an object from outside of a loop is put into a list of objects")
        if found.location in self.outer:
            self.frozen.add(pool)
        table = self.heap.get(pool)
        if not isinstance(table, Cell) or table.key[0] not in ("rows", "pool"):
            raise Unrollable("an object of another list is put into a list of objects")
        if table.key[0] == "rows":
            self._append_row(pool, cell, mask)
        else:
            shape = table.key[1]
            if cell.key != shape.key or len(cell.values) != len(shape.shapes):
                raise Unrollable("an object of another form is put into a list of objects")
            values = [self.adopted(x, s, mask) for x, s in zip(cell.values, shape.shapes)]
            if not all(fits(shape_of(x), s) for x, s in zip(values, shape.shapes)):
                raise Unrollable("an object with values of other kinds is put into a list of objects")
            self.heap[pool] = self.appended(self.cell(Ref(pool)), Cell(cell.key, values))
        moved = Ref(pool, self.place(table.values[-1], I64))
        self.heap[found.location] = Cell(("moved",), (moved,))
        return moved

    def _append_row(self, pool: int, row: Cell, mask: Place | None) -> None:
        """Add a row to a pool of rows."""
        table = self.cell(Ref(pool))
        shape, stride, count = table.key[1], table.values[-2], table.values[-1]
        length = Const(len(row.values)) if row.key[0] == "list" else row.values[-1]
        if row.key[-1] is not table.key[-1] or row.key[0] not in ("list", "columns"):
            raise Unrollable("a list of different things is indexed")
        known = self.b.known
        if known.of(self.place(length, I64)) != known.of(self.place(stride, I64)):
            raise Unrollable("the rows of a list differ in their length")
        if row.key[0] == "list":
            items = [self.adopted(x, shape, mask) for x in row.values]
            if not all(fits(shape_of(x), shape) for x in items):
                raise Unrollable("rows whose items are of different kinds")
            arrays = self.column_arrays(items, shape)
        else:
            if not fits_items(row.key[1], shape):
                raise Unrollable("rows whose items are of different kinds")
            row = self.converted_columns(row if mask is None else self._or_zeros(row, mask), shape)
            arrays = [self._array(row, array, kind) for array, kind in zip(row.values, kinds_of(shape))]
        table = self.cell(Ref(pool))
        found: list[Value] = []
        for array, kind, added in zip(table.values, kinds_of(shape), arrays):
            found.append(Num(self.concatenated(self._array(table, array, kind), added, self.place(length, I64))))
        self.heap[pool] = Cell(table.key, (*found, stride, self.plus(count, 1)))

    def _or_zeros(self, row: Cell, mask: Place) -> Cell:
        """Return a row that has zeros where a mask does not hold."""
        size, arrays = self.place(row.values[-1], I64), []
        for array, kind in zip(row.values, kinds_of(row.key[1])):
            zeros = self.b.emit("fill", size, self.zero(kind))
            arrays.append(Num(self.select(mask, self._array(row, array, kind), zeros)))
        return Cell(row.key, (*arrays, row.values[-1]))

    def concatenated(self, a: Place, b: Place, count: Place) -> Place:
        """Return an array with the `count` items of another one after its own."""
        if a.op == "const" and not a.attr:
            return b
        if a.op == "const" and b.op == "const":
            return self.b.const((*a.attr, *b.attr), a.kind)
        if count.op == "const" and count.attr <= 8:
            for i in range(count.attr):
                a = self.b.emit("append", a, self.b.emit("load", b, self.b.const(i)))
            return a

        def body(params: list[Place], k: Place) -> tuple[Place, list[Place]]:
            return self.true, [self.b.emit("append", params[0], self.b.emit("load", b, k))]

        return self.b.loop(count, [a], body)[0]

    def adopted(self, value: Value, shape: Shape, mask: Place | None = None) -> Value:
        """Return a value whose objects are in the pools that a shape says, moved where a mask holds."""
        value = self.resolved(value)
        if isinstance(shape, Pointer) and shape.indexed and isinstance(value, Ref) and value.index is None:
            return self.adopt(value, shape.location, mask)
        if isinstance(value, Union) and self._adopts(shape, value):
            moved = [
                (there, self.adopted(x, shape, there if mask is None else self.b.emit("and", mask, there)))
                for there, x in value.alternatives
            ]
            return self.unpack(shape, iter(self.pack(Union(moved), shape)))
        if isinstance(shape, Items) and isinstance(value, Tuple) and len(shape.shapes) == len(value.items):
            return Tuple([self.adopted(x, s, mask) for x, s in zip(value.items, shape.shapes)], value.cls)
        return value

    def _adopts(self, shape: Shape, value: Value) -> bool:
        return isinstance(shape, Pointer) and shape.indexed and _is_object(value)

    # ---- a list that gets objects in a loop

    def template(self, items: Any, heap: Heap, head: Heap, before: Heap) -> Callable[[], Shape]:
        """Return what makes empty pools for the items that a loop adds to a list, and gives the shape of the items."""
        values = self.alternatives(items, heap)
        if not values:
            raise Unrollable("a list that becomes empty")

        def make() -> Shape:
            return self._item_template(values, heap, before)

        return make

    def _item_template(self, values: list[Value], heap: Heap, before: Heap) -> Shape:
        refs = [x for x in values if isinstance(x, Ref)]
        if len(refs) == len(values):
            pooled = [x for x in refs if x.index is not None]
            if pooled:
                return Pointer(pooled[0].location, True)
            old = [x for x in refs if x.location in before]
            if len(old) == len(refs) and all(x.location == old[0].location for x in old):
                return Pointer(old[0].location, False)
            if old:
                raise Unrollable("a list gets objects that were there before the loop")
            pool = self.new(self._empty_pool([heap[x.location] for x in refs], heap))
            return Pointer(pool.location, True)
        if refs:
            raise Unrollable("a list of different things that grows")
        if all(
            isinstance(x, Tuple) and isinstance(values[0], Tuple) and len(x.items) == len(values[0].items)
            for x in values
        ):
            columns = zip(*[x.items for x in values if isinstance(x, Tuple)])
            inner = [self._item_template(self.alternatives(c, heap), heap, before) for c in columns]
            assert isinstance(values[0], Tuple)
            return Items(values[0].cls, tuple(inner))
        found = shape_of(values[0])
        for x in values[1:]:
            found = lub(found, shape_of(x))
        if any(at not in before for at in pointers(found)):
            raise Unrollable("a list of things that grows")
        return with_numbers(found)

    # ---- what a list of columns can do

    def column_item(self, ref: Ref, index: Place) -> Value:
        cell = self.cell(ref)
        if cell.key[0] == "rows":
            assert ref.index is not None
            start = self.product(ref.index, self.place(cell.values[-2], I64))
            return self.load(cell, self.b.sum(start, index))
        return self.load(cell, index)

    def store_column_item(self, ref: Ref, index: Place, value: Value) -> Result:
        cell = self.cell(ref)
        value = self.adopted(value, cell.key[1])
        if not fits(shape_of(value), cell.key[1]):
            if cell.key[0] != "columns":
                raise Unrollable("a thing of another kind is stored in a row of a list")
            shape = lub_of_items(cell.key[1], with_numbers(shape_of(value)))
            if any(ref.location in heap for heap in self.rolls):
                at = ref.location
                raise Restart(at, lambda: self.become_columns(at, shape))
            self.become_columns(ref.location, shape)
            cell = self.cell(ref)
        if cell.key[0] == "rows":
            assert ref.index is not None
            index = self.b.sum(self.product(ref.index, self.place(cell.values[-2], I64)), index)
        self.heap[ref.location] = self.stored(cell, index, value)
        return NONE

    def part(self, ref: Ref, start: Place, count: Place) -> Ref:
        """Return a new list of some items of a list of columns."""
        cell = self.cell(ref)
        if cell.key[0] == "rows":
            assert ref.index is not None
            start = self.b.sum(self.product(ref.index, self.place(cell.values[-2], I64)), start)
        cls = list if cell.key[2].__name__ == "ndarray" else cell.key[2]
        arrays: list[Value] = []
        whole = start.op == "const" and start.attr == 0 and cell.key[0] == "columns"
        whole = whole and self.b.known.of(count) == self.b.known.of(self.place(cell.values[-1], I64))
        for array, kind in zip(cell.values, kinds_of(cell.key[1])):
            if whole:
                arrays.append(array)
            else:
                arrays.append(Num(self.b.emit("slice", self._array(cell, array, kind), start, count)))
        return self.new(Cell(("columns", cell.key[1], cls), (*arrays, self.value(count))))


def resolved_in(value: Value, heap: Heap) -> Value:
    while isinstance(value, Ref) and value.index is None:
        cell = heap.get(value.location)
        if not isinstance(cell, Cell) or cell.key[0] != "moved":
            break
        value = cell.values[0]
    return value


def _is_object(value: Value) -> bool:
    """Return whether a value is an object, or one of several."""
    if isinstance(value, Union):
        return all(isinstance(x, Ref) for _, x in value.alternatives)
    return isinstance(value, Ref)


def fits(shape: Shape, into: Shape) -> bool:
    """Return whether values of a shape can be packed as another one."""
    return equal(unmixed(lub(into, shape)), into)


def fits_items(shape: Shape, into: Shape) -> bool:
    if isinstance(shape, Number) and isinstance(into, Number):
        return fits(shape, into)
    return equal(shape, into)


def lub_of_items(a: Shape, b: Shape) -> Shape:
    """Return the shape that items of a list of columns have, when others join them."""
    found = with_numbers(lub(with_numbers(a), with_numbers(b)))
    if any(isinstance(s, Pointer) and not s.indexed for s in getattr(found, "shapes", (found,))):
        raise Unrollable("a list of different things is indexed")
    return found
