"""Arrays of a tape in LLVM text: where their elements lie, and the memory for those that are made.

An array of inputs, params or constants is not made at all: its elements are taken from where they lie. Any other lies in
memory, element after element, a vector each (for a point: a number). An array of a loop with a condition has as many
elements as the lane that took the most iterations; `lanes` says how many of them each lane has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import prod
from typing import Any, NamedTuple

from micrograd.compile.llvm import cells
from micrograd.compile.llvm.emit import hexadecimal
from micrograd.compile.llvm.nested import Mask, Memory, Nested
from micrograd.errors import CompileError
from micrograd.tape.check import Shape
from micrograd.tape.tape import CONST, INPUT, PARAM

NEAR = (
    1 << 18
)  # bytes of an array that lies in the scratch memory of a thread; a longer one is allocated while it is needed
FIRST = 32  # elements that an array of unknown length has room for before it is allocated


class Array(NamedTuple):
    """An array: of which kind, where it begins, how far its elements are apart in each dimension, and its shape.

    kind      memory: `base` is a pointer, and elements lie one behind the other
              input, param: `base` is the number of the first, `steps` are distances between such numbers
              table: the same in a table of constants; `table` is its name
              all: every element is the number `base`
              iterations: every element is its own number
              window: a few elements are in registers; `base` is the name of the window (windows.py)
    """

    kind: str
    base: str
    steps: tuple[int, ...]
    shape: Shape
    table: str = ""
    length: str = ""  # of an array of unknown length: how many elements there are,
    lanes: str = ""  # and for rows, how many of them each lane has (empty where all have as many)
    room: int = 0  # for how many elements there is memory, where that is known
    own: str | None = (
        None  # the lanes that it was made for, if its memory is its own: who reads it last may overwrite it
    )
    flags: bool = False  # in memory, of one dimension: an element is a bit a lane (see tape/truths.py), not a number

    def same(self, other: Array) -> bool:
        """Whether it lies where the other one lies."""
        return (self.kind, self.base, self.shape) == (other.kind, other.base, other.shape)


GROW = """define internal ptr @mg_room(ptr %slot, i64 %bytes, i64 %used) noinline {
  %old = load ptr, ptr %slot, align 8
  %end = getelementptr i8, ptr %slot, i64 8
  %has = load i64, ptr %end, align 8
  %enough = icmp ule i64 %bytes, %has
  br i1 %enough, label %done, label %grow
grow:
  %twice = shl i64 %has, 1
  %least = icmp ugt i64 %twice, %bytes
  %wanted = select i1 %least, i64 %twice, i64 %bytes
  %up = add i64 %wanted, 63
  %size = and i64 %up, -64
  %new = call ptr @mg_alloc(i64 %size)
  call void @llvm.memcpy.p0.p0.i64(ptr %new, ptr %old, i64 %used, i1 false)
  %own = getelementptr i8, ptr %slot, i64 16
  %mine = load ptr, ptr %own, align 8
  call void @mg_free(ptr %mine)
  store ptr %new, ptr %slot, align 8
  store i64 %size, ptr %end, align 8
  store ptr %new, ptr %own, align 8
  br label %done
done:
  %now = phi ptr [ %old, %0 ], [ %new, %grow ]
  ret ptr %now
}
"""
NEEDED = ["declare ptr @mg_alloc(i64)", "declare void @mg_free(ptr)",  # without memory, mg_alloc leaves the kernel
          "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"]  # fmt: skip


def prologue(memory: Memory) -> list[str]:
    """The lines at the beginning of a function: its buffers, each in scratch at first."""
    lines = []
    for name, at, size in memory.buffers:
        lines += [
            f"  {name} = alloca {{ptr, i64, ptr}}, align 8",
            f"  {name}s = getelementptr i8, ptr %scratch, i64 {at}",
            f"  store ptr {name}s, ptr {name}, align 8",
            f"  {name}e = getelementptr i8, ptr {name}, i64 8",
            f"  store i64 {size}, ptr {name}e, align 8",
            f"  {name}o = getelementptr i8, ptr {name}, i64 16",
            f"  store ptr null, ptr {name}o, align 8",
        ]
    return lines


def epilogue(memory: Memory) -> list[str]:
    """The lines at its end: buffers that have grown are freed."""
    lines = []
    for name, _, _ in memory.buffers:
        lines += [f"  {name}f = load ptr, ptr {name}o, align 8", f"  call void @mg_free(ptr {name}f)"]
    return lines


def buffer(t: Nested, memory: Memory, size: int) -> str:
    """A buffer that can grow; `size` bytes of it lie in scratch."""
    name = f"%buffer{len(memory.buffers)}"
    memory.buffers.append((name, memory.take(size), size))
    t.declared.update({line: line for line in NEEDED})
    t.declared[GROW] = GROW
    return name


def room(t: Nested, memory: Memory, size: int) -> str:
    """A pointer to so many bytes."""
    if size <= NEAR:
        return t.address("%scratch", memory.take(size))
    return grown(t, buffer(t, memory, 0), str(size), "0")


def grown(t: Nested, name: str, size: str, used: str) -> str:
    """A pointer to a buffer that has at least `size` bytes by now, of which `used` are kept."""
    p = t.fresh()
    t.line(f"{p} = call ptr @mg_room(ptr {name}, i64 {size}, i64 {used})")
    return p


# ---- elements


def size_of(shape: Sequence[int | None]) -> int:
    """How many numbers an array of this shape has."""
    return prod([_length(n) for n in shape])


def _length(n: int | None) -> int:
    if n is None:
        raise CompileError(
            "a list of lists whose lengths depend on the numbers cannot be compiled\n"
            "  Inside of another loop, keep the numbers themselves and not the list of them."
        )
    return n


def index(t: Nested, array: Array, i: str) -> Array | str:
    """Element i (an i64) of an array: an array, or the name of a number."""
    inner = array.shape[1:]
    if array.kind == "all":
        return array._replace(shape=inner) if inner else _splat(t, array.base)
    if array.kind == "iterations":
        x = t.fresh()
        t.line(f"{x} = uitofp i64 {i} to {t.scalar}")
        name = x if t.point else t.broadcast(x)
        t.integers[name] = i
        return name
    if array.kind == "memory":
        p = t.fresh()
        offset = scaled(t, i, size_of(inner) * cells.cell(t, array.flags))
        t.line(f"{p} = getelementptr i8, ptr {array.base}, i64 {offset}")
        if inner:
            return Array("memory", p, (), inner)
        return cells.load_flags(t, p) if array.flags else cells.load(t, p)
    number = plus(t, array.base, scaled(t, i, array.steps[0]))
    if inner:
        return array._replace(base=number, steps=array.steps[1:], shape=inner)
    if array.kind == "input":
        return t.load_column(number)
    p, x = t.fresh(), t.fresh()
    base = "%params" if array.kind == "param" else array.table
    t.line(f"{p} = getelementptr {t.scalar}, ptr {base}, i64 {number}")
    t.line(f"{x} = load {t.scalar}, ptr {p}, align {t.item}")
    return x if t.point else t.broadcast(x)


def _splat(t: Nested, literal: str) -> str:
    return literal if t.point else f"splat ({t.scalar} {literal})"


def scaled(t: Nested, i: str, step: int) -> str:
    """The i64 i times a number."""
    if i.lstrip("-").isdigit():
        return str(int(i) * step)
    if step in (0, 1):
        return i if step else "0"
    r = t.fresh()
    t.line(f"{r} = mul i64 {i}, {step}")
    return r


def plus(t: Nested, a: str, b: str) -> str:
    """The sum of two i64."""
    if a.lstrip("-").isdigit() and b.lstrip("-").isdigit():
        return str(int(a) + int(b))
    if "0" in (a, b):
        return b if a == "0" else a
    r = t.fresh()
    t.line(f"{r} = add i64 {a}, {b}")
    return r


def counted(t: Nested, count: str, body: Callable[[str], None]) -> None:
    """Blocks that do something `count` times (an i64, which may be 0), with the iteration number."""
    n = t.label()
    t.lines += [f"  br label %pre{n}", f"pre{n}:", f"  br label %head{n}", f"head{n}:"]
    i = t.fresh()
    t.line(f"{i} = phi i64 [ 0, %pre{n} ], [ %on{n}, %latch{n} ]")
    t.line(f"%more{n} = icmp ult i64 {i}, {count}")
    t.lines += [f"  br i1 %more{n}, label %body{n}, label %exit{n}", f"body{n}:"]
    body(i)
    t.lines += [
        f"  br label %latch{n}",
        f"latch{n}:",
        f"  %on{n} = add i64 {i}, 1",
        f"  br label %head{n}",
        f"exit{n}:",
    ]


def copy(t: Nested, array: Array, to: str, old: str = "", mask: str = "", flags: bool = False) -> None:
    """Write an array into memory; with a mask, lanes outside of it keep what lies at `old`. With `flags`, write bits."""
    inner = size_of(array.shape[1:]) * cells.cell(t, flags)

    def one(i: str) -> None:
        x = index(t, array, i)
        p = t.fresh()
        t.line(f"{p} = getelementptr i8, ptr {to}, i64 {scaled(t, i, inner)}")
        before = ""
        if mask:
            before = t.fresh()
            t.line(f"{before} = getelementptr i8, ptr {old}, i64 {scaled(t, i, inner)}")
        if isinstance(x, Array):
            copy(t, x, p, before, mask)
            return
        x = cells.as_element(t, x, flags)
        if mask:
            kind, kept = (t.B, cells.load_flags(t, before)) if flags else (t.T, cells.load(t, before))
            r = t.fresh()
            t.line(f"{r} = select {t.B} {mask}, {kind} {x}, {kind} {kept}")
            x = Mask(r) if flags else r
        cells.store(t, x, p)

    counted(t, array.length or str(array.shape[0]), one)


def copy_part(t: Nested, array: Array, to: str, start: str, end: str, flags: bool) -> None:
    """Write the elements of an array of numbers from `start` up to `end` into memory; with `flags`, as bits."""
    if start == end:
        return
    count = t.fresh()
    t.line(f"{count} = sub i64 {end}, {start}")

    def one(i: str) -> None:
        k, p = plus(t, i, start), t.fresh()
        x = index(t, array, k)
        assert isinstance(x, str)
        t.line(f"{p} = getelementptr i8, ptr {to}, i64 {scaled(t, k, cells.cell(t, flags))}")
        cells.store(t, cells.as_element(t, x, flags), p)

    counted(t, count, one)


def in_memory(t: Nested, memory: Memory, array: Array) -> Array:
    """The same array, in memory."""
    if array.kind == "memory":
        return array
    p = room(t, memory, size_of(array.shape) * t.bytes)
    copy(t, array, p)
    return Array("memory", p, (), array.shape, own=t.live)


# ---- elements by an index that is computed


def overwritable(t: Nested, array: Array) -> bool:
    """Whether who reads an array last may overwrite it: it was made for the lanes that are here, in memory of its own."""
    return array.kind == "memory" and array.own == t.live


def bump(t: Nested, array: Array, i: str, x: Any, last: bool) -> Array:
    """The array with x added to element i, in its own memory where nobody reads the array as it was later on."""
    if array.kind == "window":
        t.windows[array.base].add(i, x)
        return array
    array, to = _changed(t, array, i, last)
    if array.flags:
        cells.store(t, cells.added(t, cells.load_flags(t, to), x), to)
    else:
        _add(t, to, x)
    return array


def store(t: Nested, array: Array, i: str, x: Any, last: bool) -> Array:
    """The array with x in place of element i, in its own memory where nobody reads the array as it was later on."""
    array, to = _changed(t, array, i, last)
    if isinstance(x, Array):
        copy(t, x, to)
    else:
        cells.store(t, x, to)
    return array


def _changed(t: Nested, array: Array, i: str, last: bool) -> tuple[Array, str]:
    """An array that may be changed, and a pointer to its element i."""
    if not (last and overwritable(t, array)):
        p = room(t, t.memory, size_of(array.shape) * cells.cell(t, array.flags))
        copy(t, array, p, flags=array.flags)
        array = Array("memory", p, (), array.shape, own=t.live, flags=array.flags)
    to = t.fresh()
    each = size_of(array.shape[1:]) * cells.cell(t, array.flags)
    t.line(f"{to} = getelementptr i8, ptr {array.base}, i64 {scaled(t, i, each)}")
    return array, to


def _add(t: Nested, to: str, x: Any) -> None:
    if isinstance(x, Array):
        each = size_of(x.shape[1:]) * t.bytes

        def one(i: str) -> None:
            p = t.fresh()
            t.line(f"{p} = getelementptr i8, ptr {to}, i64 {scaled(t, i, each)}")
            _add(t, p, index(t, x, i))

        counted(t, str(x.shape[0]), one)
        return
    cells.store(t, cells.added(t, cells.load(t, to), x), to)


# ---- made from numbers


def stack(t: Nested, memory: Memory, parts: list[Any], places: Sequence[int]) -> Array:
    """An array of numbers (their places are given) or of arrays."""
    if isinstance(parts[0], Array):
        return _of_arrays(t, memory, parts)
    ops, args = t.tape.ops, t.tape.args
    shape = (len(places),)
    kinds = {ops[p] for p in places}
    if kinds == {CONST}:
        numbers = [hexadecimal(args[p][0], t.target.float32) for p in places]
        if len(set(numbers)) == 1:
            return Array("all", numbers[0], (), shape)
        table = f"@array{len(t.tables)}"
        items = ", ".join(f"{t.scalar} {x}" for x in numbers)
        t.tables.append(f"{table} = internal constant [{len(numbers)} x {t.scalar}] [{items}]")
        return Array("table", "0", (1,), shape, table)
    numbers_in = [args[p][0] for p in places] if kinds in ({INPUT}, {PARAM}) and t.is_outermost() else []
    if numbers_in:
        step = numbers_in[1] - numbers_in[0] if len(places) > 1 else 1
        if all(b - a == step for a, b in pairwise(numbers_in)):
            return Array("input" if kinds == {INPUT} else "param", str(numbers_in[0]), (step,), shape)
    p = room(t, memory, len(places) * t.bytes)
    for k, place in enumerate(places):
        cells.store(t, t.get(place), t.address(p, k * t.bytes))
    return Array("memory", p, (), shape, own=t.live)


def _of_arrays(t: Nested, memory: Memory, parts: list[Array]) -> Array:
    first, shape = parts[0], (len(parts), *parts[0].shape)
    if all(a == first for a in parts):
        return (
            first._replace(steps=(0, *first.steps), shape=shape) if first.kind != "memory" else _pile(t, memory, parts)
        )
    alike = all((a.kind, a.steps, a.shape) == (first.kind, first.steps, first.shape) for a in parts)
    if alike and first.kind in ("input", "param"):
        starts = [int(a.base) if a.base.isdigit() else None for a in parts]
        if None not in starts:
            known = [s for s in starts if s is not None]
            step = known[1] - known[0]
            if all(b - a == step for a, b in pairwise(known)):
                return first._replace(steps=(step, *first.steps), shape=shape)
    return _pile(t, memory, parts)


def _pile(t: Nested, memory: Memory, parts: list[Array]) -> Array:
    each = size_of(parts[0].shape) * t.bytes
    p = room(t, memory, len(parts) * each)
    for k, part in enumerate(parts):
        copy(t, part, t.address(p, k * each))
    return Array("memory", p, (), (len(parts), *parts[0].shape), own=t.live)
