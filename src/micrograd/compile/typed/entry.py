"""A typed variant as machine code of one point, which C calls without a Python frame: numbers in, numbers out.

C lays the numbers of a call out side by side (signature.layout_of). What is written here takes them from there, calls the
kernel, and lays its results side by side, from which C arranges what the function returns. That is possible where the
arguments hold floats and ints in lists, tuples, dicts and arrays, and where all sizes of the result follow from those.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from math import prod
from typing import Any, NamedTuple

from micrograd.abstract import staged
from micrograd.abstract.staged import Path, Staged
from micrograd.compile.llvm import build
from micrograd.compile.signature import Fixed, array_of_bytes, layout_of
from micrograd.ir.forms import F64, I64, Tape, is_array
from micrograd.objects import flatten_object
from micrograd.tree import flatten, is_numpy_scalar
from micrograd.tree import is_array as is_numpy

MOST_INTS = 4096  # in arrays: as ints of the kernel they lie on the stack
COVERED = {"depth", "length", "keys", "array", "axis", "shape"}  # facts about arguments that a layout holds


class Entry(NamedTuple):
    """Machine code that takes the numbers of a call side by side, and gives those of its result so."""

    address: int
    owner: Any  # whatever the machine code lives as long as
    inputs: int
    outputs: int
    layout: tuple[Any, ...] | None  # of the arguments, for C; None where C cannot lay them out
    template: Any  # of the result: an int is a place among the outputs


class Installed(NamedTuple):
    """What the C object takes: see kernel_install in native/kernel.c."""

    code: Any
    layout: tuple[Any, ...]
    outputs: int
    scratch: int
    template: Any


class Unfit(Exception):
    """C cannot lay out these arguments, or arrange these results."""


class _Numbers(NamedTuple):
    """Where the numbers of a part of the arguments, or of a yield, lie."""

    at: int
    size: int


def entry(kernel: Any, how: Staged, tape: Tape, wrt: list[int], shown: Any, args: tuple[Any, ...]) -> Entry | None:
    """Return the machine code for calls with arguments like these; None where that is not possible.

    `shown` makes the template of a result from those of the value and of the gradients: see call.Variant.
    """
    lengths = _lengths(how, tape, args)

    def template(places: list[_Numbers]) -> Any:
        return shown(lambda part: _arranged(part, places, lengths), lambda n: _gradient(args[n], n, how, places, wrt))

    def sizes(where: dict[Path, _Numbers]) -> list[int]:
        return [0 if k in lengths else _size(y, how, k, wrt, where, lengths) for k, y in enumerate(tape.yields)]

    try:
        return _entry(kernel, how, tape, sizes, template, args)
    except Unfit:
        return None


def entry_of_matrix(
    kernel: Any, how: Staged, tape: Tape, shape: tuple[int, int], arranged: Any, args: tuple[Any, ...]
) -> Entry | None:
    """Return the machine code of a tape that yields lengths, which are known, and a matrix.

    `arranged` makes the template of a result from the places of the numbers in the matrix, and from what makes its leaves.
    """
    import numpy as np

    def template(places: list[_Numbers]) -> Any:
        at, size = places[-1]
        return arranged(np.arange(at, at + size).reshape(shape))

    def sizes(where: dict[Path, _Numbers]) -> list[int]:
        return [*[0] * (len(tape.yields) - 1), shape[0] * shape[1]]

    try:
        return _entry(kernel, how, tape, sizes, template, args)
    except Unfit:
        return None


class Templates:
    """Makes the leaves of a template from the places of their numbers."""

    @staticmethod
    def array(places: Any, shape: tuple[int, ...]) -> Any:
        """Return what stands for an array."""
        if not places.size:
            raise Unfit
        numbers = tuple(places.ravel().tolist())
        whole = range(numbers[0], numbers[-1] + 1)
        return None, partial(array_of_bytes, tuple(shape)), True, whole if numbers == tuple(whole) else numbers

    @staticmethod
    def arrays(rows: Any, shape: tuple[int, ...]) -> list[Any]:
        """Return what stands for an array for each row."""
        return [Templates.array(row, shape) for row in rows]

    @staticmethod
    def constant(value: Any) -> Any:
        """Return what stands for something that is not a number."""
        return Fixed(value)

    @staticmethod
    def sequence(cls: type, items: Any) -> Any:
        """Return what stands for a list or a tuple."""
        return _sequence(cls, list(items))

    @staticmethod
    def maker(cls: type) -> Any:
        """Return what makes that of its items."""
        return partial(Templates.sequence, cls)


def installed(found: Entry | None) -> Installed | None:
    """Return what the C object takes; None where it cannot lay out the arguments."""
    if found is None or found.layout is None:
        return None
    from micrograd import _engine

    code = _engine.machine_code(found.address, found.owner, False, True, found.inputs, 0, found.outputs, 0)
    return Installed(code, found.layout, found.outputs, 0, found.template)


def _entry(kernel: Any, how: Staged, tape: Tape, sized: Any, template: Any, args: tuple[Any, ...]) -> Entry:
    for guard in how.guards:
        covered = guard.how != "argument" or guard.name[-1][0] in COVERED or isinstance(guard.value, str | None)
        covered = covered or (guard.name[-1][0] == "class" and guard.value[0].__module__ == "numpy")
        if not covered:
            raise Unfit
    leaves: list[Any] = []
    parts = [flatten(a, leaves, flatten_object) for a in args]
    marks = iter([_mark(x) for x in leaves])
    layout = layout_of(("tuple", (("tuple", tuple(parts)), ("dict", (), ()))), marks, ())
    where: dict[Path, _Numbers] = {}
    end = 0
    for i, a in enumerate(args):
        end = _find(a, (("argument", i),), end, where)
    if end != len(leaves):
        raise Unfit
    sizes = sized(where)
    starts = [sum(sizes[:k]) for k in range(len(sizes) + 1)]
    places = [_Numbers(at, n) for at, n in zip(starts, sizes)]
    arranged = template(places)
    words = dict(zip(("run_at", "borrow_at", "give_back_at"), kernel.address))
    address, owner = build.compile_glue(_text(how, tape, where, places, args), "point", words)
    return Entry(address, (owner, kernel), len(leaves), starts[-1], layout, arranged)


def _mark(x: Any) -> bytes | type:
    """Return how C recognizes a number: see signature.layout_of."""
    if type(x) is float or type(x) is int:
        return b"f" if type(x) is float else b"i"
    if not _is_numpy_number(x):
        raise Unfit
    return type(x)


def _is_numpy_number(x: Any) -> bool:
    return is_numpy_scalar(x) and x.dtype.kind in "fi" and x.dtype.itemsize <= 8


def _find(x: Any, path: Path, at: int, where: dict[Path, _Numbers]) -> int:
    """Note where the numbers of each part lie, in the order of tree.flatten; return where they end."""
    start = at
    if type(x) is float or type(x) is int or _is_numpy_number(x):
        at += 1
    elif isinstance(x, list | tuple):
        for i, y in enumerate(x):
            at = _find(y, (*path, ("item", i)), at, where)
    elif isinstance(x, dict):
        for key, y in x.items():
            at = _find(y, (*path, ("item", key)), at, where)
    elif is_numpy(x) and x.dtype.kind in "fi" and x.dtype.itemsize <= 8:
        at += x.size
    elif not (isinstance(x, str) or x is None):
        raise Unfit
    where[path] = _Numbers(start, at - start)
    return at


def _lengths(how: Staged, tape: Tape, args: tuple[Any, ...]) -> dict[int, int]:
    """Return the results that are lengths of arguments."""
    params = {p: how.params[k] for k, p in enumerate(tape.params) if how.params[k].what == "length"}
    return {k: _length(args, params[y]) for k, y in enumerate(tape.yields) if y in params}


def _shape(part: staged.Array, lengths: dict[int, int]) -> tuple[int, ...]:
    """Return the shape of an array in a result."""
    shape = [n if isinstance(n, int) else lengths.get(n.number) for n in part.shape]
    if None in shape:
        raise Unfit
    return tuple([n for n in shape if n is not None])


def _size(place: Any, how: Staged, k: int, wrt: list[int], where: dict[Path, _Numbers], lengths: dict[int, int]) -> int:
    """Return how many numbers a yield is."""
    if place.kind == F64:
        return 1
    if place.kind != "f64[]":
        raise Unfit
    own = len(how.tape.yields)
    if k >= own:
        return where[how.params[wrt[k - own]].path].size
    shapes = {_shape(part, lengths) for part in _arrays(how.result, k)}
    if len(shapes) != 1:
        raise Unfit
    return prod(shapes.pop())


def _arrays(part: Any, k: int) -> Iterator[staged.Array]:
    """Yield the arrays in a result that are yield k."""
    if isinstance(part, staged.Array) and part.number == k:
        yield part
    elif isinstance(part, staged.Sequence_ | staged.Mapping_):
        for x in part.items:
            yield from _arrays(x, k)
    elif isinstance(part, staged.Records):
        yield from _arrays(part.item, k)


# ---- templates, as signature.template_of makes them


def _arranged(part: Any, places: list[_Numbers], lengths: dict[int, int]) -> Any:
    if isinstance(part, staged.Leaf):
        if part.kind != F64:
            raise Unfit
        return places[part.number].at
    if isinstance(part, staged.Mixed):
        return None, None, False, (places[part.number].at, places[part.is_int].at)
    if isinstance(part, staged.Constant):
        return Fixed(part.value)
    if isinstance(part, staged.Sequence_):
        return _sequence(part.cls, [_arranged(x, places, lengths) for x in part.items])
    if isinstance(part, staged.Mapping_) and part.cls is dict:
        return dict(zip(part.keys, [_arranged(x, places, lengths) for x in part.items]))
    if isinstance(part, staged.Array):
        shape, found = _shape(part, lengths), places[part.number]
        if part.cls.__module__ == "numpy":
            return _flat(part.cls, found, shape)
        return _rows(part.cls, shape, iter(range(found.at, found.at + found.size)))
    if isinstance(part, staged.Records) and isinstance(part.item, staged.Array):  # the rows of an array
        shape, found = _shape(part.item, lengths), places[part.item.number]
        count = part.length if isinstance(part.length, int) else lengths.get(part.length.number)
        if len(shape) > 1 and count == shape[0]:
            numbers = iter(range(found.at, found.at + found.size))
            return _sequence(part.cls, [_rows(part.item.cls, shape[1:], numbers) for _ in range(count)])
    raise Unfit


def _gradient(x: Any, n: int, how: Staged, places: list[_Numbers], wrt: list[int]) -> Any:
    own = len(how.tape.yields)
    by_path = {how.params[k].path: places[own + i] for i, k in enumerate(wrt)}

    def like(x: Any, path: Path) -> Any:
        found = by_path.get(path)
        if found is not None:
            if is_numpy(x):
                return _flat(type(x), found, x.shape)
            return _nested(x, iter(range(found.at, found.at + found.size)))
        if type(x) is dict:
            return {key: like(y, (*path, ("item", key))) for key, y in x.items()}
        if isinstance(x, list | tuple):
            return _sequence(type(x), [like(y, (*path, ("item", i))) for i, y in enumerate(x)])
        raise Unfit

    return like(x, (("argument", n),))


def _nested(x: Any, places: Iterator[int]) -> Any:
    return _sequence(type(x), [_nested(y, places) for y in x]) if isinstance(x, list | tuple) else next(places)


def _sequence(cls: type, items: list[Any]) -> Any:
    if cls is list:
        return items
    if cls is tuple:
        return tuple(items)
    if hasattr(cls, "_fields"):
        return None, cls, False, tuple(items)
    raise Unfit


def _rows(cls: type, shape: tuple[int, ...], places: Iterator[int]) -> Any:
    """Return the template of a list, or of lists in a list."""
    if len(shape) == 1:
        return _sequence(cls, [next(places) for _ in range(shape[0])])
    return _sequence(cls, [_rows(list, shape[1:], places) for _ in range(shape[0])])


def _flat(cls: type, found: _Numbers, shape: tuple[int, ...]) -> Any:
    places = range(found.at, found.at + found.size)
    if cls.__name__ != "ndarray" or not found.size:
        raise Unfit
    return None, partial(array_of_bytes, tuple(shape)), True, places


# ---- the text


def _text(how: Staged, tape: Tape, where: dict[Path, _Numbers], places: list[_Numbers], args: Any) -> str:
    """Return the LLVM text of what C calls: the slots of the kernel from numbers, and numbers from its slots."""
    lines: list[str] = []
    slot, ints = 0, 0
    for param in how.params:
        found = where.get(param.path)
        if found is None:
            raise Unfit
        if param.what == "length":
            slot = _put(lines, slot, "i64", str(_length(args, param)))
        elif is_array(param.kind):
            ints += found.size if param.kind == "i64[]" else 0
            if param.kind not in ("f64[]", "i64[]") or ints > MOST_INTS:
                raise Unfit
            if param.kind == "i64[]":
                lines += _ints(slot, found)
            else:
                lines.append(f"  %p{slot} = getelementptr double, ptr %in, i64 {found.at}")
            slot = _put(lines, slot, "ptr", f"%p{slot}")
            slot = _put(lines, slot, "i64", str(found.size))
        elif param.kind in (F64, I64):
            lines.append(f"  %a{slot} = getelementptr double, ptr %in, i64 {found.at}")
            lines.append(f"  %x{slot} = load double, ptr %a{slot}")
            if param.kind == I64:
                lines.append(f"  %i{slot} = fptosi double %x{slot} to i64")
            slot = _put(lines, slot, *(("double", f"%x{slot}") if param.kind == F64 else ("i64", f"%i{slot}")))
        else:
            raise Unfit
    after: list[str] = []
    slots, slot = slot, 0
    for y, (at, count) in zip(tape.yields, places):
        after.append(f"  %f{slot} = getelementptr i64, ptr %found, i64 {slot}")
        after.append(f"  %o{slot} = getelementptr double, ptr %out, i64 {at}")
        if y.kind == F64:
            after.append(f"  %y{slot} = load double, ptr %f{slot}\n  store double %y{slot}, ptr %o{slot}")
            slot += 1
        elif not is_array(y.kind):  # a length, which is known
            slot += 1
        else:
            after.append(f"  %y{slot} = load ptr, ptr %f{slot}")
            after.append(f"  call void @llvm.memcpy.p0.p0.i64(ptr %o{slot}, ptr %y{slot}, i64 {8 * count}, i1 false)")
            slot += 2
    done = "  call void %give_back(ptr %context)"
    return "\n".join([
        "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)",
        "@run_at = global i64 0",  # where the functions of the kernel are: compile_glue sets it
        "@borrow_at = global i64 0",
        "@give_back_at = global i64 0",
        "define i32 @point(ptr %in, ptr %params, ptr %out, ptr %scratch) nounwind {",
        "  %run = load ptr, ptr @run_at",
        "  %borrow = load ptr, ptr @borrow_at",
        "  %give_back = load ptr, ptr @give_back_at",
        f"  %given = alloca [{max(slots, 1)} x i64], align 64",
        f"  %found = alloca [{max(slot, 1)} x i64], align 64",
        "  %context = call ptr %borrow()",
        "  %none = icmp eq ptr %context, null",
        "  br i1 %none, label %fail, label %begin",
        "begin:",
        *lines,
        "  %status = call i64 %run(ptr %context, ptr %given, ptr %found)",
        "  %failed = icmp ne i64 %status, 0",
        "  br i1 %failed, label %elsewhere, label %good",
        "good:",
        *after,
        done,
        "  ret i32 0",
        "elsewhere:",
        done,
        "  br label %fail",
        "fail:",
        "  ret i32 1",
        "}",
    ])  # fmt: skip


def _ints(slot: int, found: _Numbers) -> list[str]:
    """Return the text that makes ints of numbers, for which %p{slot} is the place."""
    if not found.size:
        raise Unfit
    return f"""  %p{slot} = alloca [{found.size} x i64], align 64
  br label %before{slot}
before{slot}:
  br label %each{slot}
each{slot}:
  %k{slot} = phi i64 [0, %before{slot}], [%more{slot}, %each{slot}]
  %at{slot} = add i64 %k{slot}, {found.at}
  %from{slot} = getelementptr double, ptr %in, i64 %at{slot}
  %double{slot} = load double, ptr %from{slot}
  %int{slot} = fptosi double %double{slot} to i64
  %to{slot} = getelementptr i64, ptr %p{slot}, i64 %k{slot}
  store i64 %int{slot}, ptr %to{slot}
  %more{slot} = add i64 %k{slot}, 1
  %done{slot} = icmp eq i64 %more{slot}, {found.size}
  br i1 %done{slot}, label %after{slot}, label %each{slot}
after{slot}:""".splitlines()


def _put(lines: list[str], slot: int, kind: str, x: str) -> int:
    lines.append(f"  %g{slot} = getelementptr i64, ptr %given, i64 {slot}\n  store {kind} {x}, ptr %g{slot}")
    return slot + 1


def _length(args: Any, param: staged.Param) -> int:
    x = args
    for _, key in param.path:
        x = x[key]
    if is_numpy(x):
        return int(x.shape[param.axis])
    for _ in range(param.axis):
        x = x[0] if len(x) else ()
    return len(x)
