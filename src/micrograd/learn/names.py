"""What the learner calls a node: names and source lines from the caller's variables. A convenience that never fails."""

from __future__ import annotations

import ast
import linecache
import os
import re
import sys
from itertools import islice
from types import FrameType
from typing import Any

from micrograd.engine import Value
from micrograd.values.callsite import syntax_of, user_frame

_MOST_ITEMS = 2000  # of lists and dicts that are searched: a convenience must not cost a second
_MOST_LINES = 20_000


def caller() -> FrameType | None:
    """The nearest frame that is not this package's: the learner's own code."""
    try:
        found: FrameType | None = user_frame()
        return found
    except Exception:
        return None


def variables(frame: FrameType | None) -> dict[int, str]:
    """The names of the Values that a frame can see, by id: `a`, and for the items of a list `x[0]`."""
    try:
        if frame is None:
            return {}
        spaces = [frame.f_locals] if frame.f_locals is frame.f_globals else [frame.f_locals, frame.f_globals]
        return {id(v): name for name, v in _among(*spaces).items()}
    except Exception:
        return {}


def of_the_notebook() -> dict[str, Value]:
    """The Values of the notebook or prompt that is running, by the names that `draw_dot` would give them."""
    try:
        return _among(sys.modules["__main__"].__dict__)
    except Exception:
        return {}


def _among(*spaces: dict[str, Any]) -> dict[str, Value]:
    names: dict[str, Value] = {}
    known: set[int] = set()
    room = _MOST_ITEMS

    def add(name: str, v: Value) -> None:
        if id(v) not in known:
            known.add(id(v))
            names.setdefault(name, v)

    for space in spaces:
        seen = [(name, x) for name, x in list(space.items()) if not name.startswith("_") and name not in ("In", "Out")]
        for name, x in seen:
            if _is_value(x):
                add(name, x)
        for name, x in seen:
            for item, v in _items(name, x, 2):
                room -= 1
                if room < 0:
                    return names
                add(item, v)
    return names


def _is_value(x: Any) -> bool:
    return issubclass(type(x), Value)  # isinstance would ask x itself, and a lazy or broken object may answer anything


def _items(name: str, x: Any, depth: int) -> list[tuple[str, Value]]:
    """The Values in a list, tuple or dict, each with the text that reaches it."""
    if type(x) in (list, tuple):
        pairs = [(f"{name}[{i}]", item) for i, item in enumerate(x[:_MOST_ITEMS])]
    elif type(x) is dict:
        pairs = [(f"{name}[{key!r}]", item) for key, item in list(x.items())[:_MOST_ITEMS] if type(key) in (str, int)]
    else:
        return _parameters(x)
    found: list[tuple[str, Value]] = []
    for text, item in pairs:
        if _is_value(item):
            found.append((text, item))
        elif depth > 1:
            found.extend(_items(text, item, depth - 1))
    return found


def _parameters(x: Any) -> list[tuple[str, Value]]:
    """The parameters of a module: layers.0.neurons.1.w.2 is l0.n1.w2, short enough for a card."""
    nn = sys.modules.get("micrograd.nn")
    if nn is None or not issubclass(type(x), nn.Module):
        return []
    named = islice(x.named_parameters(), _MOST_ITEMS)
    return [(re.sub(r"([^\W\d])[^\W\d]*\.(\d+)", r"\1\2", name), v) for name, v in named]


def assignments(frame: FrameType | None) -> dict[str, dict[str, Any]]:
    """For each variable of a frame, the source line that assigned it last: its file, line and text."""
    lines: dict[str, dict[str, Any]] = {}
    if frame is None:
        return lines
    try:
        code = frame.f_code
        source = linecache.getlines(code.co_filename, frame.f_globals)
        if not source or len(source) > _MOST_LINES:
            return lines
        first = 1 if code.co_name == "<module>" else code.co_firstlineno
        statements = [
            node
            for node in ast.walk(syntax_of("".join(source)))
            if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.For))
            and first <= node.lineno <= frame.f_lineno
        ]
        for node in sorted(statements, key=lambda node: node.lineno):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                for name in ast.walk(target):
                    if isinstance(name, ast.Name):
                        text = source[node.lineno - 1].strip()
                        file = os.path.basename(code.co_filename)
                        lines[name.id] = {"file": file, "line": node.lineno, "text": text}
    except Exception:
        pass
    return lines
