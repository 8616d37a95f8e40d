"""Random expressions that are sent to the local page: a graph, or an error that points at the mistake."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator

import pytest

from micrograd.learn import explore
from micrograd.learn.server import Site
from micrograd.ops import OPS


def expressions(count: int) -> Iterator[str]:
    """Random texts, from noise to nearly right: pieces of the grammar, of Python, and of other alphabets."""
    dice = random.Random(20)
    pieces = [
        *"abcxyz",
        "1",
        "2.5",
        "1e9",
        ".",
        "..",
        "**",
        "//",
        "+",
        "-",
        "*",
        "/",
        "%",
        "(",
        ")",
        "[",
        "]",
        ",",
        "=",
        "==",
        "<",
        ";",
        "\n",
        " ",
    ]
    pieces += [
        *OPS,
        "__import__",
        "eval(",
        "os.system",
        "lambda:0",
        "'",
        '"',
        "\\",
        "é",
        "λ",
        "−",
        "\x00",
        "🙂",
        "if",
        "1_000",
        "0x10",
        "inf",
        "nan",
        "pi",
    ]
    for _ in range(count):
        kind = dice.random()
        if kind < 0.3:
            yield "".join(chr(dice.randrange(1, 0x2FF)) for _ in range(dice.randrange(60)))
        elif kind < 0.92:
            yield "".join(dice.choice(pieces) for _ in range(dice.randrange(25)))
        else:
            yield nested(dice, 3)


def nested(dice: random.Random, depth: int) -> str:
    if depth == 0 or dice.random() < 0.2:
        return dice.choice(["a", "b", "c", "2", "0.5", "-1"])
    op = OPS[dice.choice(list(OPS))]
    parts = [nested(dice, depth - 1) for _ in range(op.arity if op.arity > 0 else 2)]
    if op.name == "dot":
        return f"dot([{parts[0]}], [{parts[1]}])"
    return (
        f"({parts[0]} {op.symbol} {parts[1]})"
        if op.arity == 2 and not op.symbol.isidentifier()
        else f"{op.name}({', '.join(parts)})"
    )


@pytest.mark.parametrize("count", [500, pytest.param(10_000, marks=pytest.mark.slow)])
def test_random_expressions_get_a_graph_or_a_clean_400(count: int) -> None:
    site = Site(explore("a*b", a=1, b=2), 80)
    seen: dict[int, int] = {}
    for text in expressions(count):
        body = json.dumps({"expression": text}).encode()
        headers = {"Host": "localhost:80", "Content-Type": "application/json", "Content-Length": str(len(body))}
        status, kind, reply = site.answer("POST", "/graph", headers, reader(body))
        assert status in (200, 400) and kind == "application/json"
        got = json.loads(reply)
        assert (
            ("timeline" in got)
            if status == 200
            else (isinstance(got["error"], str) and got["error"] and 0 <= got["position"] <= len(text))
        )
        seen[status] = seen.get(status, 0) + 1
    assert seen[200] > count // 20 and seen[400] > count // 2


def reader(body: bytes) -> Callable[[int], bytes]:
    return lambda count: body[:count]
