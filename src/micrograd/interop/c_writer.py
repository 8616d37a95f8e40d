"""Write a tape as C statements: numbers are variables, arrays are arrays of C, regions are `if` and `for`.

An array that is large, or as long as a loop with a condition took iterations, lies in memory that the function takes while it
runs and gives back at its end. The elements of an array whose length is not known (mg_rows) are numbers, arrays, or such rows
again.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from math import prod
from typing import Any

from micrograd.c_text import literal
from micrograd.tape.check import NUMBER, Shape, shapes
from micrograd.tape.tape import (
    BUMP,
    CONST,
    INPUT,
    LOAD,
    PARAM,
    STACK,
    STORE,
    Choose,
    Loop,
    Projection,
    Structural,
    Tape,
)

SMALL = 1024  # numbers that an array on C's stack may have
FAIL = "return 2;"

# What a function that takes memory calls, each before those that call it.
MEMORY = {
    "mg_block": """\
typedef struct mg_block { struct mg_block *next; } mg_block; /* what a call has taken, to give it back */
""",
    "mg_rows": """\
typedef struct { void *data; size_t count, room; } mg_rows; /* an array of a length that is not known before */
""",
    "mg_memory": """\
static void *mg_memory(mg_block **all, size_t count, size_t size) {
    mg_block *block = NULL;
    if (count <= ((size_t)-1 - sizeof *block) / size) block = calloc(1, sizeof *block + count * size);
    if (block == NULL) return NULL;
    block->next = *all;
    *all = block;
    return block + 1;
}
""",
    "mg_reserve": """\
static int mg_reserve(mg_block **all, mg_rows *rows, size_t count, size_t size) {
    if (count > rows->room) {
        void *data = mg_memory(all, count + rows->room, size);
        if (data == NULL) return 0;
        if (rows->room > 0) memcpy(data, rows->data, rows->room * size);
        rows->data = data;
        rows->room += count;
    }
    rows->count = count;
    return 1;
}
""",
    "mg_copy": """\
static int mg_copy(mg_block **all, mg_rows *to, const mg_rows *from, size_t size) {
    if (!mg_reserve(all, to, from->count, size)) return 0;
    if (from->count > 0) memcpy(to->data, from->data, from->count * size);
    return 1;
}
""",
    "mg_release": """\
static int mg_release(mg_block *all, int code) {
    while (all != NULL) {
        mg_block *next = all->next;
        free(all);
        all = next;
    }
    return code;
}
""",
}


def memory(text: str) -> str:
    """The definitions in MEMORY that a text needs, and those that they need themselves."""
    needed = ""
    for name, definition in reversed(MEMORY.items()):
        if name in text or name in needed:
            needed = f"{definition}\n{needed}"
    return needed


def _known(shape: Shape) -> bool:
    return None not in shape


def _dimensions(shape: Shape) -> list[int]:
    """Those in front of the first that is not known: mg_rows stand for that one and whatever is inside of it."""
    return [n or 1 for n in takewhile(lambda n: n is not None, shape)]


def _type(shape: Shape) -> str:
    return "double" if _known(shape) else "mg_rows"


def _bytes(shape: Shape) -> str:
    return f"{prod(_dimensions(shape))} * sizeof({_type(shape)})"


def _index(array: str, shape: Shape, at: Any) -> str:
    """An element of an array."""
    if shape[0] is not None:
        return f"{array}[{at}]"
    inside = _dimensions(shape[1:])
    pointer = f"(*){''.join(f'[{n}]' for n in inside)}" if inside else "*"
    return f"(({_type(shape[1:])} {pointer}){array}.data)[{at}]"


class Writer:
    """Collects the statements of a function (`lines`), and what it declares at its top, before any loop (`top`)."""

    def __init__(self, params: list[float], own: dict[str, str] | None = None) -> None:
        self.params = params
        self.own = own or {}  # functions of libm -> what to call in their place
        self.lines: list[str] = []
        self.top: list[str] = []
        self.memory = False  # whether the function takes memory, and so has the parameter `all`

    def put(self, depth: int, text: str) -> None:
        """Write a statement."""
        self.lines.append("    " * depth + text)

    def tape(self, tape: Tape, inputs: Sequence[str], given: Sequence[Shape], prefix: str, depth: int) -> list[Any]:
        """Write one tape; returns what each of its places is called."""
        names: list[Any] = []
        found = shapes(tape, given)
        needed = {a for op, args in zip(tape.ops, tape.args) if op not in (INPUT, PARAM, CONST) for a in args}
        needed |= set(tape.roots())
        for i, (op, args) in enumerate(zip(tape.ops, tape.args)):
            name = f"{prefix}{i}"
            if op is CONST:
                names.append(literal(args[0]))
            elif op is INPUT:
                text = inputs[args[0]]
                named = found[i] == NUMBER and i in needed and text.startswith("in[")
                names.append(self._number(text, name, depth) if named else text)
            elif op is PARAM:
                names.append(literal(self.params[args[0]]))
            elif isinstance(op, Structural):
                operands, kinds = [names[a] for a in args], [found[a] for a in args]
                names.append(self._structural(op, operands, kinds, found[i], name, depth))
            else:
                operands = [f"({n})" if n.startswith("-") else n for n in (str(names[a]) for a in args)]
                names.append(self._number(self._spelled(op.c).format(*operands), name, depth))
        return names

    def _spelled(self, text: str) -> str:
        called = text.partition("(")[0]
        return self.own[called] + text[len(called) :] if called in self.own else text

    def _number(self, text: str, name: str, depth: int) -> str:
        self.put(depth, f"const double {name} = {text};")
        return name

    def _structural(self, op: Structural, args: list[Any], given: list[Any], shape: Any, name: str, depth: int) -> Any:
        if isinstance(op, Projection) and op.name != "pad":
            return args[0][op.number] if op.name == "result" else _index(args[0], given[0], op.number)
        if op is LOAD:
            text = _index(args[0], given[0], _at(args[1], given[0]))
            return text if shape else self._number(text, name, depth)
        if isinstance(op, (Choose, Loop)):
            results = [f"{name}_{k}" for k in range(len(shape))]
            for each, dimensions in zip(results, shape):
                self._declare(each, dimensions, depth)
            if isinstance(op, Choose):
                self._choose(op, args, given, results, shape, name, depth)
            else:
                self._loop(op, args, given, results, shape, name, depth)
            return results
        self._declare(name, shape, depth)
        if op is BUMP:
            self._copy(name, args[0], shape, depth)
            self._add(_index(name, shape, _at(args[1], shape)), args[2], given[2], name, depth)
        elif op is STORE:
            self._copy(name, args[0], shape, depth)
            self._copy(_index(name, shape, _at(args[1], shape)), args[2], given[2], depth)
        elif op is STACK:
            for k, x in enumerate(args):
                self._copy(_index(name, shape, k), x, shape[1:], depth)
        else:  # pad
            self.put(depth, f"memset({name}, 0, {_bytes(shape)});")
            self.put(depth, f"if ({args[0]}.count > 0)")
            self.put(depth + 1, f"memcpy({name}, {args[0]}.data, {args[0]}.count * sizeof(double));")
        return name

    def _choose(
        self, op: Choose, args: list[Any], given: list[Any], results: list[str], shape: Any, name: str, depth: int
    ) -> None:
        for start, body, arm in ((f"if ({args[0]} != 0.0) {{", op.then, "b"), ("} else {", op.otherwise, "e")):
            self.put(depth, start)
            inner = self.tape(body, args[1:], given[1:], name + arm, depth + 1)
            for each, place, dimensions in zip(results, body.outputs, shape):
                self._copy(each, inner[place], dimensions, depth + 1)
        self.put(depth, "}")

    def _loop(
        self, op: Loop, args: list[Any], given: list[Any], results: list[str], shape: Any, name: str, depth: int
    ) -> None:
        carried, invariants, arrays = op.groups(args)
        for each, x, dimensions in zip(results, carried, shape):
            self._copy(each, x, dimensions, depth)
        stacked = list(zip(results[op.carried :], shape[op.carried :]))
        rows = [(each, _bytes(dimensions[1:])) for each, dimensions in stacked if dimensions[0] is None]
        iterations = f"{arrays[0]}.count" if op.iterations is None and arrays else op.iterations
        for each, size in rows:
            if op.condition is not None:
                self.put(depth, f"{each}.count = 0;")
            else:
                self._need(f"mg_reserve(all, &{each}, {iterations}, {size})", depth)
        k, iteration = f"{name}_k", f"{name}_t"
        self.put(depth, f"for (size_t {k} = 0; {'' if iterations is None else f'{k} < {iterations}'}; ++{k}) {{")
        self.put(depth + 1, f"const size_t {iteration} = {f'{iterations} - 1 - {k}' if op.reverse else k};")
        fixed = op.carried + op.invariants
        elements = [_index(a, s, iteration) for a, s in zip(arrays, given[fixed:])]
        inputs = [*results[: op.carried], *invariants, *elements, f"(double){iteration}"]
        inside = [*given[:fixed], *(s[1:] for s in given[fixed:]), NUMBER]
        if op.condition is not None:
            test = self.tape(op.condition, inputs, inside, f"{name}w", depth + 1)
            self.put(depth + 1, f"if (!({test[op.condition.outputs[0]]} != 0.0)) break;")
            for each, size in rows:
                self._need(f"mg_reserve(all, &{each}, {iteration} + 1, {size})", depth + 1)
        inner = self.tape(op.body, inputs, inside, f"{name}b", depth + 1)
        returned = [inner[o] for o in op.body.outputs]
        # Carried values may be exchanged among each other, so the new ones are taken before the old ones are overwritten.
        fresh = [f"{name}_n{j}" for j in range(op.carried)]
        for each, x, dimensions in zip(fresh, returned, shape):
            self._declare(each, dimensions, depth + 1)
            self._copy(each, x, dimensions, depth + 1)
        for (each, dimensions), x in zip(stacked, returned[op.carried :]):
            self._copy(_index(each, dimensions, iteration), x, dimensions[1:], depth + 1)
        for each, x, dimensions in zip(results, fresh, shape):
            self._copy(each, x, dimensions, depth + 1)
        self.put(depth + 1, f"(void){iteration};")
        self.put(depth, "}")
        for each in results:
            self.put(depth, f"(void){each};")

    def _declare(self, name: str, shape: Shape, depth: int) -> None:
        """Declare a variable; one that takes memory keeps it over the iterations of the loops around it."""
        dimensions, kind = _dimensions(shape), _type(shape)
        text = "".join(f"[{n}]" for n in dimensions)
        if prod(dimensions) > SMALL:
            self.memory = True
            rest = f"(*{name}){text[text.index(']') + 1 :]}" if len(dimensions) > 1 else f"*{name}"
            self.top.append(f"    {kind} {rest} = mg_memory(all, {prod(dimensions)}, sizeof({kind}));")
            self.top.append(f"    if ({name} == NULL) {FAIL}")
        elif _known(shape):
            self.put(depth, f"double {name}{text};")
        else:
            self.memory = True
            braces = len(dimensions) + 1
            self.top.append(f"    mg_rows {name}{text} = {'{' * braces}NULL, 0, 0{'}' * braces};")

    def _copy(self, to: str, x: str, shape: Shape, depth: int) -> None:
        if not shape:
            self.put(depth, f"{to} = {x};")
        elif _known(shape):
            self.put(depth, f"memcpy({to}, {x}, {_bytes(shape)});")
        elif shape[0] is None and _known(shape[1:]):
            self._need(f"mg_copy(all, &{to}, &{x}, {_bytes(shape[1:])})", depth)
        else:
            count: Any = shape[0]
            if count is None:
                count = f"{x}.count"
                self._need(f"mg_reserve(all, &{to}, {count}, {_bytes(shape[1:])})", depth)
            i = f"i{depth}"
            self.put(depth, f"for (size_t {i} = 0; {i} < {count}; ++{i}) {{")
            self._copy(_index(to, shape, i), _index(x, shape, i), shape[1:], depth + 1)
            self.put(depth, "}")

    def _add(self, to: str, x: str, shape: Shape, name: str, depth: int) -> None:
        if not shape:
            self.put(depth, f"{to} += {x};")
            return
        i = f"{name}_i{depth}"
        count = f"{x}.count" if shape[0] is None else shape[0]
        self.put(depth, f"for (size_t {i} = 0; {i} < {count}; ++{i}) {{")
        self._add(_index(to, shape, i), _index(x, shape, i), shape[1:], name, depth + 1)
        self.put(depth, "}")

    def _need(self, test: str, depth: int) -> None:
        self.put(depth, f"if (!{test}) {FAIL}")


def _at(index: str, shape: Shape) -> str:
    """The index of `load`, `bump` and `store`: before the first element or behind the last one it stands for that element."""
    return f"(size_t)fmin(fmax({index}, 0.0), {(shape[0] or 1) - 1}.0)"


__all__ = ["Writer", "memory"]
