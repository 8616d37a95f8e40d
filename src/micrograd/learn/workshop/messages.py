"""What the checks say, in the language in use.

The code has the English words, so that a check is read with its messages. `exercises/de.json` has the German ones, by the
English; a message that is not there is said in English, and `micrograd lesson check` names it.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from micrograd.learn import texts

HERE = Path(__file__).parent
EXERCISES = HERE / "exercises"
SPEAKERS = (*sorted(HERE.glob("*.py")), HERE.parent.parent / "cli" / "workshop.py")


@cache
def translated(language: str) -> dict[str, str]:
    """The messages of a language, by the English ones."""
    path = EXERCISES / f"{language}.json"
    found: dict[str, str] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def say(english: str, **values: Any) -> str:
    """The message in the language in use, with its slots filled in.

    >>> from micrograd.learn.workshop.messages import say
    >>> say("{node} is not there.", node="a")
    'a is not there.'
    """
    return texts.fill(translated(texts.current()["language"]).get(english, english), values)


def english() -> Iterator[str]:
    """Every message of the code, for `micrograd lesson check`."""
    for path in SPEAKERS:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        constants = {
            target.id: node.value.value
            for node in tree.body
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for node in ast.walk(tree):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "say"):
                continue
            for part in ast.walk(node.args[0]):
                text = constants.get(part.id) if isinstance(part, ast.Name) else getattr(part, "value", None)
                if isinstance(text, str):
                    yield text


def missing(language: str) -> list[str]:
    """Name the messages that a language lacks, those that the code does not have, and wrong slots; nothing for English."""
    return [] if language == "en" else texts.compare(translated(language), {text: text for text in english()})
