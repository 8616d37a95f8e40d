"""Make a script or a style sheet smaller: notes to the reader and the space between signs are left out.

It knows just enough of JavaScript to leave strings, templates and regular expressions alone, keeps line breaks that may
end a statement, and renames nothing.
"""

from __future__ import annotations

import re

_TOKEN = re.compile(
    r"""(?P<note>/\*.*?\*/|//[^\n]*)
    |(?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
    |(?P<template>`)
    |(?P<regex>/(?![*/])(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[a-z]*)
    |(?P<space>[ \t]+)
    |(?P<other>[\w$]+|.|\n)""",
    re.X | re.S,
)
_WORDS = re.compile(r"[\w$]$")
_BEFORE_REGEX = re.compile(r"(?:^|[(,=:\[!&|?{};+\-*%<>~^\n]|\breturn|\btypeof|=>)\s*$")


def script(text: str) -> str:
    """A smaller script that does the same."""
    out: list[str] = []
    _squeeze(text, 0, out, False)
    return "".join(out).strip() + "\n"


def _squeeze(text: str, at: int, out: list[str], inside: bool) -> int:
    """Copy code from `at` on; inside a template's `${…}` until its closing bracket. Returns where it stopped."""
    depth = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        assert match is not None
        kind, word = match.lastgroup, match.group()
        tail = "".join(out[-3:])
        if kind == "regex" and not _BEFORE_REGEX.search(tail):
            kind, word = "other", "/"  # a division
        at += len(word)
        if kind == "note":
            continue
        if kind == "template":
            at = _template(text, at, out)
        elif word == "\n":
            after = text[at:].lstrip()[:1]
            if tail[-1:] not in ";{,([\n:?&|=+*" and tail and after not in ")].?:&|":  # a statement may end here
                out.append("\n")
        elif kind == "space":
            after = text[at : at + 1]
            joins = bool(_WORDS.search(tail)) and bool(re.match(r"[\w$]", after))
            signs = tail[-1:] in "+-" and after == tail[-1:]
            if tail and (joins or signs):
                out.append(" ")
        else:
            if inside and word == "}" and depth == 0:
                return at
            depth += (word == "{") - (word == "}")
            if word in "}])" and out and (out[-1] == "," or (word == "}" and out[-1] == ";")):
                out.pop()  # the last comma, and the semicolon before a bracket
            out.append(word)
    return at


def _template(text: str, at: int, out: list[str]) -> int:
    out.append("`")
    start = at
    while text[at] != "`":
        if text[at] == "\\":
            at += 2
        elif text.startswith("${", at):
            out.append(text[start : at + 2])
            at = _squeeze(text, at + 2, out, True)
            out.append("}")
            start = at
        else:
            at += 1
    out.append(text[start : at + 1])
    return at + 1


def style(text: str) -> str:
    """A smaller style sheet that does the same."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r"\s+", " ", text)
    text = re.sub(r"\s*([{};,])\s*", r"\1", text)
    text = re.sub(r":\s+", ":", text)
    return text.replace(";}", "}").replace("}", "}\n").strip()
