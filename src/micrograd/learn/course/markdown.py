"""The Markdown of a lesson as HTML: paragraphs, lists, tables, notes, bold, italics, code, links, formulas, pictures.

All else is text. A stated number `{15 = a.grad}` is shown as 15; the formula is for the checker, and `{15}` is a number
that is chosen, with nothing to compute. `$x^2$` is a formula in a line and `$$x^2$$` one by itself (mathematics.py).
A picture `![what it shows](file.png)` becomes a part of the page.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator
from html import escape
from pathlib import Path

from micrograd.learn.course.mathematics import STATED as STATED_IN_FORMULA
from micrograd.learn.course.mathematics import FormulaError, mathml

STATED = re.compile(r"\{\s*([−+-]?[\d.,]+(?:e[−+-]?\d+)?\s*%?)\s*(?:=\s*([^{}]+))?\}")
FORMULA = re.compile(r"\$\$(?P<block>[^$]+)\$\$|(?<![\w$])\$(?=[^\s$])(?P<line>[^$\n]*[^\s$])\$(?![\w$])")
PICTURE = re.compile(r'!\[(?P<says>[^\]\n]*)\]\((?P<file>[^)\s]+)(?:\s+"(?P<caption>[^"\n]*)")?\)')
KINDS = {".png": "png", ".jpg": "jpeg", ".jpeg": "jpeg", ".gif": "gif", ".webp": "webp", ".svg": "svg+xml"}
MOST_BYTES = 2_000_000  # of a picture: a lesson is one file that is sent to a class
_INLINE = re.compile(
    rf"""(?P<code>`[^`\n]+`)
    |(?P<formula>{FORMULA.pattern})
    |(?P<picture>{PICTURE.pattern})
    |(?P<stated>{STATED.pattern})
    |(?P<link>\[[^\]\n]+\]\([^)\s]+\))
    |(?P<bold>\*\*[^*\n]+\*\*)
    |(?P<italic>\*[^*\s][^*\n]*\*)""",
    re.X,
)
_SAFE_LINK = re.compile(r"^(https?://|#|[\w./-]+$)")


def problems(text: str, folder: Path | None = None) -> Iterator[tuple[int, str]]:
    """What a text has that cannot be shown, and the line of the text that it stands in, from 0."""
    for match in _INLINE.finditer(text):
        line = text.count("\n", 0, match.start())
        if match["formula"]:
            try:
                _formula(match)
            except FormulaError as error:
                yield line, str(error)
        elif match["picture"] and (told := _unseen(match, folder)):
            yield line, told


def without_formulas(text: str) -> str:
    """The text with each formula replaced by the numbers that it states, in as many lines."""

    def stated(match: re.Match[str]) -> str:
        found = STATED_IN_FORMULA.findall(match[0])
        numbers = " ".join(f"{{{x} = {formula}}}" if formula else f"{{{x}}}" for x, formula in found)
        return numbers + "\n" * match[0].count("\n")

    return FORMULA.sub(stated, text)


def _formula(match: re.Match[str]) -> str:
    alone = match["block"] is not None
    return mathml(match["block"] if alone else match["line"], block=alone)


def _unseen(match: re.Match[str], folder: Path | None) -> str:
    """Why a picture cannot be shown; "" where it can."""
    name = match["file"]
    if re.match(r"\w+:", name) or folder is None:
        return f"the picture {name} is not a file beside the lesson: a lesson needs no network, so it holds its pictures itself"
    if Path(name).suffix.lower() not in KINDS:
        return f"the picture {name} is of no kind that browsers show; they show {', '.join(KINDS)}"
    if not match["says"].strip():
        return f"the picture {name} needs words for those who cannot see it: ![what it shows]({name})"
    try:
        size = (folder / name).stat().st_size
    except (OSError, ValueError):
        return f"there is no picture {name} beside the lesson"
    return (
        ""
        if size <= MOST_BYTES
        else f"the picture {name} has {size:,} bytes, and a lesson takes {MOST_BYTES:,} at most"
    )


def _picture(match: re.Match[str], folder: Path | None) -> str:
    if _unseen(match, folder):
        return escape(match[0], quote=False)
    assert folder is not None
    path = folder / match["file"]
    held = b64encode(path.read_bytes()).decode()
    source = f"data:image/{KINDS[path.suffix.lower()]};base64,{held}"
    return f'<img class="picture-in-text" src="{source}" alt="{escape(match["says"])}">'


def inline(text: str, folder: Path | None = None) -> str:
    """One run of text; `folder` is where its pictures are."""
    out, at = [], 0
    for match in _INLINE.finditer(text):
        out.append(escape(text[at : match.start()], quote=False))
        word, kind = match[0], match.lastgroup
        at = match.end()
        if match["formula"]:
            out.append(_formula(match))
        elif match["picture"]:
            out.append(_picture(match, folder))
        elif word.startswith("`"):
            out.append(f'<code dir="ltr">{escape(word[1:-1], quote=False)}</code>')
        elif word.startswith("{"):
            number = STATED.match(word)
            assert number is not None
            out.append(f'<span class="stated" dir="ltr">{escape(number[1].strip().replace("-", "−"))}</span>')
        elif word.startswith("["):
            label, target = word[1:-1].split("](", 1)
            if _SAFE_LINK.match(target):
                out.append(f'<a href="{escape(target)}">{inline(label, folder)}</a>')
            else:
                out.append(escape(word, quote=False))
        elif word.startswith("**"):
            out.append(f"<strong>{inline(word[2:-2], folder)}</strong>")
        else:
            assert kind
            out.append(f"<em>{inline(word[1:-1], folder)}</em>")
    out.append(escape(text[at:], quote=False))
    return "".join(out)


def html(text: str, folder: Path | None = None) -> str:
    """A piece of prose; `folder` is where its pictures are."""
    out: list[str] = []
    for piece in re.split(r"\n\s*\n", text.strip("\n")):
        lines = [line.strip() for line in piece.strip("\n").split("\n")]
        while lines and lines[0].startswith("### "):
            out.append(f"<h3>{inline(lines.pop(0)[4:], folder)}</h3>")
        if not any(lines):
            continue
        whole = " ".join(lines)
        if (alone := FORMULA.fullmatch(whole)) and alone["block"] is not None:
            out.append(f'<div class="formula" tabindex="0">{_formula(alone)}</div>')
            continue
        if shown := PICTURE.fullmatch(whole):
            caption = f"<figcaption>{inline(shown['caption'], folder)}</figcaption>" if shown["caption"] else ""
            out.append(f'<figure class="shown">{_picture(shown, folder)}{caption}</figure>')
            continue
        if all(line.startswith("|") for line in lines):
            out.append(_table(lines, folder))
        elif re.match(r"(- |\d+\. )", lines[0]):
            out.append(_list(lines, folder))
        elif lines[0].startswith("> "):
            out.append(f'<p class="note">{inline(" ".join(line.removeprefix("> ") for line in lines), folder)}</p>')
        else:
            out.append(f"<p>{inline(whole, folder)}</p>")
    return "".join(out)


def _list(lines: list[str], folder: Path | None) -> str:
    items: list[str] = []
    for line in lines:
        begun = re.match(r"(?:- |\d+\. )(.*)", line)
        if begun:
            items.append(begun[1])
        else:
            items[-1] += " " + line
    tag = "ul" if lines[0].startswith("-") else "ol"
    return f"<{tag}>{''.join(f'<li>{inline(item, folder)}</li>' for item in items)}</{tag}>"


def _table(lines: list[str], folder: Path | None) -> str:
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    rows = [row for row in rows if not all(re.fullmatch(r":?-+:?", cell) for cell in row)]
    head = "".join(f'<th scope="col">{inline(cell, folder)}</th>' for cell in rows[0])
    body = "".join("<tr>" + "".join(f"<td>{inline(cell, folder)}</td>" for cell in row) + "</tr>" for row in rows[1:])
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
