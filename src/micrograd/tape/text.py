"""Read the text of a tape; tape.py has the grammar, and prints it."""

from __future__ import annotations

from typing import Any

from micrograd.ops import OPS, Op
from micrograd.tape.check import check
from micrograd.tape.tape import (
    BUMP,
    CONST,
    INPUT,
    LOAD,
    PARAM,
    PICK,
    SOURCES,
    STACK,
    STORE,
    Choose,
    Guard,
    Loop,
    Tape,
    element,
    pad,
    result,
)

NAMES: dict[str, Op] = {**OPS, "input": INPUT, "param": PARAM, "const": CONST, "pick": PICK}
NAMES.update({op.name: op for op in (STACK, LOAD, BUMP, STORE)})
PROJECTIONS = {"result": result, "element": element, "pad": pad}
DEEPEST = 50  # regions inside of each other


def parse(text: str) -> Tape:
    """Read what `str(tape)` wrote."""
    tape = _Reader(text).tape(0)
    check(tape)
    return tape


class _Unreadable(ValueError):
    """An error that names its line already."""


class _Reader:
    """The lines of a text, and the next one to read."""

    def __init__(self, text: str) -> None:
        self.lines = [(n, line.split()) for n, line in enumerate(text.splitlines(), 1) if line.split()]
        self.at = 0

    def next(self) -> list[str]:
        self.at += 1
        return self.lines[self.at - 1][1]

    def tape(self, depth: int) -> Tape:
        """The tape up to the end of the text, or up to the brace that closes a body (which is left to be read)."""
        ops: list[Op] = []
        args: list[tuple[Any, ...]] = []
        guards: list[Guard] = []
        outputs: list[int] = []
        while self.at < len(self.lines):
            number, words = self.lines[self.at]
            if depth and words[0] == "}":
                break
            self.at += 1
            try:
                if words[0] == "return":
                    outputs = [_place(w) for w in words[1:]]
                elif words[0] == "guard":
                    _, how, a, b, _, went = words
                    guards.append((how, _place(a), _place(b), {"true": True, "false": False}[went]))
                else:
                    if words[0] != f"%{len(ops)}" or words[1] != "=":
                        raise ValueError
                    op, row = self.instruction(words[2], words[3:], depth)
                    ops.append(op)
                    args.append(row)
            except _Unreadable:
                raise
            except (KeyError, IndexError, ValueError):
                raise _Unreadable(f"line {number} of the tape cannot be read: {' '.join(words)!r}") from None
        inputs, params = (
            1 + max([r[0] for o, r in zip(ops, args) if o is kind], default=-1) for kind in (INPUT, PARAM)
        )
        return Tape(inputs, params, tuple(ops), tuple(args), tuple(outputs), tuple(guards))

    def instruction(self, name: str, words: list[str], depth: int) -> tuple[Op, tuple[Any, ...]]:
        if name == "choose":
            return self.choose(words, depth)
        if name == "loop":
            return self.loop(words, depth)
        if name in PROJECTIONS:
            of, number = words
            return PROJECTIONS[name](int(number)), (_place(of),)
        op = NAMES[name]
        if op in SOURCES and len(words) != 1:
            raise ValueError
        read: Any = float if op is CONST else int if op in SOURCES else _place
        return op, tuple([read(w) for w in words])

    def body(self, inputs: int, depth: int) -> Tape:
        if depth >= DEEPEST:
            raise ValueError
        found = self.tape(depth + 1)
        if self.at == len(self.lines):
            raise ValueError
        return found.copy(inputs=max(inputs, found.inputs))

    def expect(self, *words: str) -> None:
        if self.next() != list(words):
            raise ValueError

    def choose(self, words: list[str], depth: int) -> tuple[Op, tuple[Any, ...]]:
        if words[-2:] != ["then", "{"]:
            raise ValueError
        places = tuple([_place(w) for w in words[:-2]])
        then = self.body(len(places) - 1, depth)
        self.expect("}", "else", "{")
        otherwise = self.body(len(places) - 1, depth)
        self.expect("}")
        return Choose(then, otherwise), places

    def loop(self, words: list[str], depth: int) -> tuple[Op, tuple[Any, ...]]:
        iterations = int(words.pop(0)) if words[0].isdigit() else None
        reverse = words[0] == "reverse"
        groups: dict[str, list[int]] = {"carry": [], "with": [], "over": []}
        group: list[int] = []
        for word in words[reverse:-2]:
            if word in groups:
                group = groups[word]
            else:
                group.append(_place(word))
        places = tuple([p for each in groups.values() for p in each])
        condition = None
        if words[-2:] == ["while", "{"]:
            condition = self.body(len(places) + 1, depth)
            self.expect("}", "do", "{")
        elif words[-2:] != ["do", "{"]:
            raise ValueError
        body = self.body(len(places) + 1, depth)
        self.expect("}")
        return Loop(body, len(groups["carry"]), len(groups["with"]), iterations, condition, reverse), places


def _place(word: str) -> int:
    if word[0] != "%":
        raise ValueError
    return int(word[1:])
