"""The Markdown of a lesson as HTML: paragraphs, lists, tables, notes, bold, italics, code, links, and stated numbers.

All else is text. A stated number `{15 = a.grad}` is shown as 15; the formula is for the checker, and `{15}` is a number
that is chosen, with nothing to compute.
"""

from __future__ import annotations

import re
from html import escape

STATED = re.compile(r"\{\s*([−+-]?[\d.,]+(?:e[−+-]?\d+)?\s*%?)\s*(?:=\s*([^{}]+))?\}")
_INLINE = re.compile(
    rf"""(?P<code>`[^`\n]+`)
    |(?P<stated>{STATED.pattern})
    |(?P<link>\[[^\]\n]+\]\([^)\s]+\))
    |(?P<bold>\*\*[^*\n]+\*\*)
    |(?P<italic>\*[^*\s][^*\n]*\*)""",
    re.X,
)
_SAFE_LINK = re.compile(r"^(https?://|#|[\w./-]+$)")


def inline(text: str) -> str:
    """One run of text."""
    out, at = [], 0
    for match in _INLINE.finditer(text):
        out.append(escape(text[at : match.start()], quote=False))
        word, kind = match[0], match.lastgroup
        at = match.end()
        if word.startswith("`"):
            out.append(f'<code dir="ltr">{escape(word[1:-1], quote=False)}</code>')
        elif word.startswith("{"):
            number = STATED.match(word)
            assert number is not None
            out.append(f'<span class="stated" dir="ltr">{escape(number[1].strip().replace("-", "−"))}</span>')
        elif word.startswith("["):
            label, target = word[1:-1].split("](", 1)
            if _SAFE_LINK.match(target):
                out.append(f'<a href="{escape(target)}">{inline(label)}</a>')
            else:
                out.append(escape(word, quote=False))
        elif word.startswith("**"):
            out.append(f"<strong>{inline(word[2:-2])}</strong>")
        else:
            assert kind
            out.append(f"<em>{inline(word[1:-1])}</em>")
    out.append(escape(text[at:], quote=False))
    return "".join(out)


def html(text: str) -> str:
    """A piece of prose."""
    out: list[str] = []
    for piece in re.split(r"\n\s*\n", text.strip("\n")):
        lines = [line.strip() for line in piece.strip("\n").split("\n")]
        while lines and lines[0].startswith("### "):
            out.append(f"<h3>{inline(lines.pop(0)[4:])}</h3>")
        if not any(lines):
            continue
        if all(line.startswith("|") for line in lines):
            out.append(_table(lines))
        elif re.match(r"(- |\d+\. )", lines[0]):
            out.append(_list(lines))
        elif lines[0].startswith("> "):
            out.append(f'<p class="note">{inline(" ".join(line.removeprefix("> ") for line in lines))}</p>')
        else:
            out.append(f"<p>{inline(' '.join(lines))}</p>")
    return "".join(out)


def _list(lines: list[str]) -> str:
    items: list[str] = []
    for line in lines:
        begun = re.match(r"(?:- |\d+\. )(.*)", line)
        if begun:
            items.append(begun[1])
        else:
            items[-1] += " " + line
    tag = "ul" if lines[0].startswith("-") else "ol"
    return f"<{tag}>{''.join(f'<li>{inline(item)}</li>' for item in items)}</{tag}>"


def _table(lines: list[str]) -> str:
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    rows = [row for row in rows if not all(re.fullmatch(r":?-+:?", cell) for cell in row)]
    head = "".join(f'<th scope="col">{inline(cell)}</th>' for cell in rows[0])
    body = "".join("<tr>" + "".join(f"<td>{inline(cell)}</td>" for cell in row) + "</tr>" for row in rows[1:])
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
