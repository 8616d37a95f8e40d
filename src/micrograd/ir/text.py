"""A typed tape as text, and the text as a tape."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from micrograd.ir.forms import BOOL, F64, REGIONS, Body, Place, Tape


def write(tape: Tape) -> str:
    """Return the text of a tape, as the grammar in forms.py has it."""
    return "\n".join(_Writer().tape(tape))


Body.__str__ = write  # type: ignore


class _Writer:
    def __init__(self) -> None:
        self.names: dict[Place, str] = {}
        self.constants: list[str] = []

    def name(self, place: Place) -> str:
        if place.op == "const" and place not in self.names:
            name = self.define(place)
            self.constants.append(f"  {name} = const {_literal(place)}")
        return self.names[place].partition(":")[0].strip()

    def define(self, place: Place) -> str:
        self.names[place] = f"%{len(self.names)}: {place.kind}"
        return self.names[place] + (" steady" if place.op == "param" and place.attr else "")

    def tape(self, tape: Tape) -> Iterator[str]:
        params = ", ".join(map(self.define, tape.params))
        lines = list(self.body(tape, "  "))
        yield f"tape({params}) {{"
        yield from self.constants
        yield from lines
        yield "}"

    def body(self, body: Body, indent: str) -> Iterator[str]:
        for place in body.code:
            yield from self.line(place, indent)
        yield " ".join([f"{indent}yield", *map(self.name, body.yields)])

    def line(self, place: Place, indent: str) -> Iterator[str]:
        operands = list(map(self.name, place.args))
        if place.op == "check":
            yield f"{indent}check {operands[0]} {place.attr!r}"
            return
        if not place.bodies:
            yield " ".join([f"{indent}{self.define(place)} = {place.op}", *operands])
            return
        head = [place.op] if place.op == "loop" else [place.op, *operands]
        if place.op == "loop":
            if place.attr:
                head += ["times", operands.pop(0)]
            head += ["carry", *operands] if operands else []
        opened = []
        for body in place.bodies:
            params = ", ".join(map(self.define, body.params))
            opened.append((f"({params}) {{", list(self.body(body, indent + "  "))))
        results = ", ".join(map(self.define, place.results))
        start = f"{indent}{results} = {' '.join(head)} " if results else f"{indent}{' '.join(head)} "
        for k, (params, lines) in enumerate(opened):
            yield (start if k == 0 else f"{indent}}} else ") + params
            yield from lines
        yield indent + "}"


def _literal(place: Place) -> str:
    if isinstance(place.attr, tuple):
        return "[" + ", ".join(_number(x) for x in place.attr) + "]"
    return _number(place.attr)


def _number(x: Any) -> str:
    return repr(x)


_LINE = re.compile(r"(?:(?P<results>%.*?) = )?(?P<op>\w+) ?(?P<rest>.*)")


def parse(text: str) -> Tape:
    """Return the tape of a text."""
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    head = re.fullmatch(r"tape\((.*)\) \{", lines[0])
    if head is None:
        raise ValueError(f"a tape begins with `tape(...) {{`, not with {lines[0]!r}")
    places: dict[str, Place] = {}
    tape = Body(_params(head[1], places))
    _body(iter(lines[1:]), tape, places)
    return tape


def _params(text: str, places: dict[str, Place]) -> list[Place]:
    found = []
    for param in filter(None, text.split(", ")):
        name, kind, *steady = re.split(r":? ", param)
        places[name] = Place("param", (), kind, bool(steady))
        found.append(places[name])
    return found


def _body(lines: Iterator[str], body: Body, places: dict[str, Place]) -> str:
    """Read the lines of a body; returns the line that ends it."""
    for line in lines:
        match = _LINE.fullmatch(line)
        if match is None:
            raise ValueError(f"not a line of a tape: {line!r}")
        op, rest = match["op"], match["rest"]
        if op == "yield":
            body.yields = [places[name] for name in rest.split()]
            return next(lines)
        if op == "const":
            name, kind = match["results"].split(": ")
            places[name] = Place("const", (), kind, _value(rest, kind))
            continue
        if op == "check":
            name, _, why = rest.partition(" ")
            body.code.append(Place("check", (places[name],), "", ast.literal_eval(why)))
            continue
        if op in REGIONS:
            body.code.append(_region(op, rest, match["results"] or "", lines, places))
            continue
        name, _, kind = (match["results"] or "").partition(": ")
        if not kind:
            raise ValueError(f"not a line of a tape: {line!r}")
        places[name] = Place(op, tuple(places[a] for a in rest.split()), kind)
        body.code.append(places[name])
    raise ValueError("the text ends before its body does")


def _region(op: str, rest: str, results: str, lines: Iterator[str], places: dict[str, Place]) -> Place:
    head, _, params = rest.partition("(")
    words = head.split()
    times = "times" in words
    place = Place(op, tuple(places[w] for w in words if w.startswith("%")), "", times if op == "loop" else None)
    first = Body(_params(params.removesuffix(") {"), places))
    end = _body(lines, first, places)
    place.bodies = (first,)
    if op == "if":
        if end != "} else () {":
            raise ValueError(f"`if` has two bodies, and after the first one comes {end!r}")
        second = Body()
        _body(lines, second, places)
        place.bodies = (first, second)
    for k, result in enumerate(filter(None, results.split(", "))):
        name, kind = result.split(": ")
        places[name] = Place("result", (place,), kind, k)
        place.results.append(places[name])
    return place


def _value(text: str, kind: str) -> Any:
    if kind.endswith("[]"):
        return tuple(_value(item, kind[:-2]) for item in text[1:-1].split(", ") if item)
    if kind == BOOL:
        return text == "True"
    return float(text) if kind == F64 else int(text)
