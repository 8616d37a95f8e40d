"""A function as text and back: the tape, the numbers that it captured, and how arguments and results are arranged.

The format is versioned. Its first line says `micrograd tape 1`; three lines of JSON follow, and then the tape, whose grammar is
that of `micrograd.tape.tape`. Floats are written so that every bit comes back.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from micrograd.errors import CompileError, MicrogradError
from micrograd.interop.traced import Traced
from micrograd.ops import OPS
from micrograd.tape import interpret, passes
from micrograd.tape.text import NAMES, parse
from micrograd.tree import NUMBER, Shape, flatten, size, unflatten, written
from micrograd.typed import P

VERSION = 1
FIRST_LINE = "micrograd tape"


def export_text(f: Callable[P, Any], *args: Any) -> str:
    """Return f as text, along the path that these arguments take; `import_text` reads it.

    Captured Values are written with their current values. Ops of the user's own are written in the ops of the table.

    >>> from micrograd import export_text
    >>> print(export_text(lambda x, y: x * y + 1.0, 2.0, 3.0))
    micrograd tape 1
    arguments ["tuple", ["*", "*"]]
    result "*"
    params []
    %0 = input 0
    %1 = input 1
    %2 = mul %0 %1
    %3 = const 1.0
    %4 = add %2 %3
    return %4
    """
    traced = Traced(f, args)
    tape = passes.prune(
        passes.expand(traced.tape, lambda op: op.name in NAMES and NAMES[op.name] is op, False, powers=False)
    )
    unknown = sorted({op.name for op in tape.ops if op.name in OPS and OPS[op.name] is not op})
    if unknown:
        raise CompileError(f"export_text cannot write {', '.join(unknown)}, which {traced.name} uses")
    head = [
        f"{FIRST_LINE} {VERSION}",
        f"arguments {json.dumps(_plain(traced.arguments, traced.name))}",
        f"result {json.dumps(_plain(traced.result, traced.name))}",
        f"params {json.dumps(traced.params)}",
    ]
    return "\n".join([*head, str(tape)])


def import_text(text: str) -> Callable[..., Any]:
    """Return the function that `export_text` wrote. It can be called, differentiated and compiled as any other.

    >>> from micrograd import export_text, grad, import_text
    >>> g = import_text(export_text(lambda p: p["a"] ** 2 * p["b"], {"a": 2.0, "b": 3.0}))
    >>> g({"a": 2.0, "b": 3.0}), grad(g)({"a": 2.0, "b": 3.0})
    (12.0, {'a': 12.0, 'b': 4.0})
    """
    if not isinstance(text, str):
        raise TypeError(f"import_text takes the text that export_text has written, not {type(text).__name__}")
    head, rest = text.split("\n")[:4], text.split("\n", 4)[4:]
    words = head[0].split()
    if words[:2] != FIRST_LINE.split() or len(words) != 3 or not rest:
        raise ValueError(
            f"this is not the text of a tape, which begins with the line {FIRST_LINE} {VERSION!r}: {head[0][:60]!r}"
        )
    if words[2] != str(VERSION):
        raise ValueError(
            f"the text is of version {words[2][:20]} of the format, and this micrograd reads version {VERSION}\n"
            "  Write it again with export_text, or read it with the micrograd that wrote it."
        )
    try:
        found = dict(line.split(" ", 1) for line in head[1:])
        arguments, result = _shape(json.loads(found["arguments"])), _shape(json.loads(found["result"]))
        params = [float(x) for x in json.loads(found["params"])]
    except (KeyError, ValueError, TypeError, RecursionError) as error:
        raise ValueError(f"the first lines of the text of a tape cannot be read: {error}") from None
    tape = parse(rest[0])
    if tape.params > len(params):
        raise ValueError(f"the tape reads {tape.params} params, and the text has {len(params)}")
    if tape.inputs > size(arguments):
        raise ValueError(f"the tape reads {tape.inputs} inputs, and the arguments hold {size(arguments)} numbers")
    if len(tape.outputs) != size(result):
        raise ValueError(f"the tape returns {len(tape.outputs)} numbers, and the result holds {size(result)}")

    def imported(*args: Any) -> Any:
        leaves: list[Any] = []
        shape = flatten(args, leaves)
        if shape != arguments:
            raise TypeError(f"the arguments are arranged as {written(shape)}, and the text is for {written(arguments)}")
        try:
            return unflatten(result, iter(interpret.run(tape, leaves, params)))
        except interpret.GuardFailed:
            raise MicrogradError(
                "these numbers take another path through a branch than the one that was written\n"
                "  Export the function with arguments that take this path, or write the branch as micrograd.math.where."
            ) from None

    return imported


def _plain(shape: Shape, name: str) -> Any:
    """A shape as JSON has it."""
    kind = shape[0]
    if kind == "*":
        return "*"
    if kind in ("list", "tuple"):
        return [kind, [_plain(part, name) for part in shape[1]]]
    if kind == "dict" and all(isinstance(key, str) for key in shape[1]):
        return ["dict", list(shape[1]), [_plain(part, name) for part in shape[2]]]
    if kind == "array":
        return ["array", list(shape[1])]
    raise CompileError(
        f"{name} takes or returns {written(shape)}: export_text writes functions of numbers, and of lists, tuples, arrays, "
        "and dicts with names as keys"
    )


def _shape(x: Any) -> Shape:
    """A shape from JSON."""
    if x == "*":
        return NUMBER
    kind, *parts = x
    if kind in ("list", "tuple"):
        return kind, tuple([_shape(part) for part in parts[0]])
    if kind == "dict":
        return "dict", tuple([str(key) for key in parts[0]]), tuple([_shape(part) for part in parts[1]])
    if kind == "array" and all(type(n) is int and n >= 0 for n in parts[0]):
        return "array", tuple(parts[0])
    raise ValueError(f"{kind!r} is not a known kind of structure")
