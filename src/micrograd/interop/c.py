"""export_c: a function and its gradient as one C99 file that needs nothing but libm.

    >>> from micrograd import export_c, math
    >>> text = export_c(lambda x, y: math.sin(x) * y, 1.0, 2.0, name="wave")
    >>> "int wave(const double *in, double *out)" in text
    True

Loops and choices that are regions of the tape stay loops and choices in C. With `-std=c99` (which forbids contraction of
a*b + c) the arithmetic is that of `jit(f, exact=True)`; the functions of libm are those of the platform.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from micrograd import c_text
from micrograd.c_text import literal
from micrograd.errors import CompileError
from micrograd.interop.traced import Traced
from micrograd.tape import passes
from micrograd.tape.check import shapes
from micrograd.tape.tape import BUMP, CONST, INPUT, LOAD, PARAM, STACK, Choose, Loop, Projection, Structural, Tape
from micrograd.tree import written

COMPARE = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}


def export_c(f: Callable[..., Any], *args: Any, name: str = "f", gradient: bool = True) -> str:
    """Return one self-contained C99 file that computes f, and its gradient by all numbers in the arguments.

    The arguments say how many numbers there are and which path through the branches is taken. Captured Values are written as
    the numbers that they are now. The comment at the top of the file shows the call.

    >>> from micrograd import export_c
    >>> print(export_c(lambda x: x * x, 3.0, name="square", gradient=False).split("*/")[1].strip())
    #include <math.h>
    #include <string.h>
    <BLANKLINE>
    int square(const double *in, double *out);
    <BLANKLINE>
    int square(const double *in, double *out) {
        const double v0 = in[0];
        const double v1 = v0 * v0;
        out[0] = v1;
        return 0;
    }
    """
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise ValueError(f"name={name!r}: it must be a name that C allows")
    traced = Traced(f, args)
    bodies = [_function(name, traced, lower(traced.tape), None)]
    heads = [f"int {name}(const double *in, double *out);"]
    if gradient:
        bodies.append(_function(f"{name}_gradient", traced, lower(traced.with_gradient()), traced.used()))
        heads.append(f"int {name}_gradient(const double *in, double *out, double *gradient);")
    text = "\n".join(bodies)
    helpers = c_text.helpers(text)
    top = [*(["#include <stdint.h>"] if "uint64_t" in helpers else []), "#include <string.h>", "", *heads, ""]
    parts = [_comment(name, traced, gradient), "#include <math.h>", *top, *([helpers] if helpers else []), text]
    return "\n".join(parts)


def lower(tape: Tape) -> Tape:
    """The tape in ops that C can spell, without what is not needed."""
    return passes.prune(passes.expand(tape, c_text.spells, False, powers=False))


def _comment(name: str, traced: Traced, gradient: bool) -> str:
    n, m = traced.tape.inputs, traced.outputs
    lines = [
        f"/* {traced.name}, written by micrograd.export_c. Compile with: cc -std=c99 -O2 {name}.c -lm",
        "",
        f"   Arguments, in this order: {written(traced.arguments)}",
        "",
        f"       double in[{max(n, 1)}], out[{m}]" + (f", gradient[{max(n * m, 1)}];" if gradient else ";"),
        f"       {name}(in, out);",
    ]
    if gradient:
        lines.append(f"       {name}_gradient(in, out, gradient);  gradient[{n}*i + k] is d out[i] / d in[k]")
    lines += [
        "",
        "   Each returns 0, or 1 where the numbers take another path through a branch than the one written here. */",
    ]
    return "\n".join(lines) + "\n"


def _function(name: str, traced: Traced, tape: Tape, used: list[int] | None) -> str:
    more = "" if used is None else ", double *gradient"
    writer = _Writer(traced.params)
    names = writer.tape(tape, [f"in[{k}]" for k in range(tape.inputs)], [()] * tape.inputs, "v", 1)
    lines = [f"int {name}(const double *in, double *out{more}) {{", *writer.lines]
    for how, a, b, went in tape.guards:
        test = f"{names[a]} {COMPARE[how]} {names[b]}"
        lines.append(f"    if ({'!' if went else ''}({test})) return 1;")
    results = [names[o] for o in tape.outputs]
    m, n = traced.outputs, traced.tape.inputs
    lines += [f"    out[{i}] = {x};" for i, x in enumerate(results[:m])]
    if used is not None:
        if len(used) < n:
            lines.append(f"    memset(gradient, 0, {max(n * m, 1)} * sizeof *gradient);")
        for at, x in enumerate(results[m:]):
            row, column = divmod(at, len(used))
            lines.append(f"    gradient[{n * row + used[column]}] = {x};")
    if "in[" not in "\n".join(lines[1:]):
        lines.insert(1, "    (void)in;")
    return "\n".join([*lines, "    return 0;", "}", ""])


class _Writer:
    """Writes tapes as C statements. A number is a variable or an expression; an array is a name that can be indexed."""

    def __init__(self, params: list[float]) -> None:
        self.params, self.lines = params, list[str]()

    def put(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def tape(self, tape: Tape, inputs: Sequence[str], given: Sequence[Any], prefix: str, depth: int) -> list[Any]:
        """Write one tape; returns what each of its places is called."""
        names: list[Any] = []
        found = shapes(tape, given)
        needed = {a for op, args in zip(tape.ops, tape.args) if op not in (INPUT, PARAM, CONST) for a in args}
        needed |= set(tape.roots())
        for i, (op, args) in enumerate(zip(tape.ops, tape.args)):
            if None in _flat(found[i]):
                raise CompileError("export_c writes loops whose number of turns has a bound, and this one has none\n"
                                   "  Give the loop a largest number of turns.")  # fmt: skip
            if op is CONST:
                names.append(literal(args[0]))
            elif op is INPUT:
                names.append(self.input(inputs[args[0]], found[i], f"{prefix}{i}", depth, i in needed))
            elif op is PARAM:
                names.append(literal(self.params[args[0]]))
            elif isinstance(op, Structural):
                names.append(
                    self.structural(
                        op, [names[a] for a in args], [found[a] for a in args], found[i], f"{prefix}{i}", depth
                    )
                )
            else:
                names.append(f"{prefix}{i}")
                operands = [f"({n})" if n.startswith("-") else n for n in (str(names[a]) for a in args)]
                self.put(depth, f"const double {prefix}{i} = {op.c.format(*operands)};")
        return names

    def input(self, text: str, shape: Any, name: str, depth: int, needed: bool) -> str:
        if shape or not needed or not text.startswith("in["):
            return text
        self.put(depth, f"const double {name} = {text};")
        return name

    def structural(self, op: Structural, args: list[Any], given: list[Any], shape: Any, name: str, depth: int) -> Any:
        if isinstance(op, Projection):
            return args[0][op.number] if op.name == "result" else f"{args[0]}[{op.number}]"
        if op is LOAD or op is BUMP:
            at = f"(int)fmin(fmax({args[1]}, 0.0), {given[0][0] - 1}.0)"
            if op is LOAD:
                return f"{args[0]}[{at}]"
            self.declare(name, shape, depth)
            self.copy(name, args[0], shape, depth)
            if given[2]:
                raise CompileError("export_c does not write the derivative of a list of lists by an index that changes")
            self.put(depth, f"{name}[{at}] += {args[2]};")
            return name
        if op is STACK:
            self.declare(name, shape, depth)
            for k, x in enumerate(args):
                self.copy(f"{name}[{k}]", x, shape[1:], depth)
            return name
        results = [f"{name}_{k}" for k in range(len(shape))]
        for each, dimensions in zip(results, shape):
            self.declare(each, dimensions, depth)
        if isinstance(op, Choose):
            self.choose(op, args, given, results, shape, name, depth)
        else:
            assert isinstance(op, Loop)
            self.loop(op, args, given, results, shape, name, depth)
        return results

    def choose(
        self, op: Choose, args: list[Any], given: list[Any], results: list[str], shape: Any, name: str, depth: int
    ) -> None:
        for start, body in ((f"if ({args[0]} != 0.0) {{", op.then), ("} else {", op.otherwise)):
            self.put(depth, start)
            inner = self.tape(body, args[1:], given[1:], f"{name}b", depth + 1)
            for each, place, dimensions in zip(results, body.outputs, shape):
                self.copy(each, inner[place], dimensions, depth + 1)
        self.put(depth, "}")

    def loop(
        self, op: Loop, args: list[Any], given: list[Any], results: list[str], shape: Any, name: str, depth: int
    ) -> None:
        if op.turns is None:
            raise CompileError("export_c writes loops whose number of turns has a bound, and this one has none\n"
                               "  Give the loop a largest number of turns.")  # fmt: skip
        carried, invariants, arrays = op.groups(args)
        for each, x, dimensions in zip(results, carried, shape):
            self.copy(each, x, dimensions, depth)
        k, turn = f"{name}_k", f"{name}_t"
        if op.condition is not None:
            for each in results[op.carried :]:
                self.put(depth, f"memset({each}, 0, sizeof {each});")
        self.put(depth, f"for (int {k} = 0; {k} < {op.turns}; ++{k}) {{")
        self.put(depth + 1, f"const int {turn} = {f'{op.turns - 1} - {k}' if op.reverse else k};")
        inputs = [*results[: op.carried], *invariants, *(f"{a}[{turn}]" for a in arrays), f"(double){turn}"]
        inside = [*given[: op.carried + op.invariants], *(s[1:] for s in given[op.carried + op.invariants :]), ()]
        if op.condition is not None:
            test = self.tape(op.condition, inputs, inside, f"{name}w", depth + 1)
            self.put(depth + 1, f"if (!({test[op.condition.outputs[0]]} != 0.0)) break;")
        inner = self.tape(op.body, inputs, inside, f"{name}b", depth + 1)
        returned = [inner[o] for o in op.body.outputs]
        # Carried values may be exchanged among each other, so the new ones are taken before the old ones are overwritten.
        fresh = []
        for j, (x, dimensions) in enumerate(zip(returned[: op.carried], shape)):
            self.declare(f"{name}_n{j}", dimensions, depth + 1)
            self.copy(f"{name}_n{j}", x, dimensions, depth + 1)
            fresh.append(f"{name}_n{j}")
        for each, x, dimensions in zip(results[op.carried :], returned[op.carried :], shape[op.carried :]):
            self.copy(f"{each}[{turn}]", x, dimensions[1:], depth + 1)
        for each, x, dimensions in zip(results, fresh, shape):
            self.copy(each, x, dimensions, depth + 1)
        self.put(depth + 1, f"(void){turn};")
        self.put(depth, "}")
        for each in results:
            self.put(depth, f"(void){each};")

    def declare(self, name: str, shape: Any, depth: int) -> None:
        self.put(depth, f"double {name}{''.join(f'[{max(n, 1)}]' for n in shape)};")

    def copy(self, to: str, x: str, shape: Any, depth: int) -> None:
        self.put(depth, f"memcpy({to}, {x}, sizeof {to});" if shape else f"{to} = {x};")


def _flat(shape: Any) -> Iterator[Any]:
    for x in shape:
        if isinstance(x, tuple):
            yield from x
        else:
            yield x
