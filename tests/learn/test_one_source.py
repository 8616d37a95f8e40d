"""One source for each text: what the data files say stands in no program, and no sentence both in Python and in the page."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import micrograd

PACKAGE = Path(micrograd.__file__).resolve().parent
TEXTS = PACKAGE / "learn" / "texts"
WORDS = 4  # shorter texts are labels, such as "step {k} of {n}"


def sentences(x: Any) -> Iterator[str]:
    if isinstance(x, str):
        if len(re.findall(r"[A-Za-z']{2,}", x)) >= WORDS and "+=" not in x:  # lines of code are quoted
            yield x
    elif isinstance(x, (dict, list)):
        for item in x.values() if isinstance(x, dict) else x:
            yield from sentences(item)


def programs() -> dict[str, str]:
    found = [p for kind in ("py", "js", "html") for p in PACKAGE.rglob(f"*.{kind}")]
    return {p.relative_to(PACKAGE).as_posix(): p.read_text(encoding="utf-8") for p in found}


def test_no_text_of_the_data_files_is_written_in_a_program():
    every = {s for path in TEXTS.glob("*.json") for s in sentences(json.loads(path.read_text(encoding="utf-8")))}
    assert len(every) > 300
    code = programs()
    assert not [(name, s) for name, text in code.items() for s in every if s in text]


def test_no_sentence_is_written_both_in_python_and_in_the_page():
    quoted = re.compile(r"""["'`]([^"'`\n]{30,})["'`]""")
    written: dict[bool, set[str]] = {True: set(), False: set()}
    for name, text in programs().items():
        written[name.endswith(".py")] |= {m[1] for m in quoted.finditer(text) if len(m[1].split()) >= 5}
    assert written[True] & written[False] == set()
