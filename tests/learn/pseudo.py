"""A made-up language: every letter accented, every text 40 % longer. What still reads as English was never translated."""

from __future__ import annotations

import re
from typing import Any

_PLAIN = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_ACCENTED = "áƀçđéƒĝħíĵķĺɱñóƥɋŕšŧúṽŵẋýžÁƁÇĐÉƑĜĦÍĴĶĹṀÑÓƤɊŔŠŦÚṼŴẊÝŽ"
_LETTERS = str.maketrans(_PLAIN, _ACCENTED)


def pseudo(text: str) -> str:
    """One template in the made-up language; its slots stay."""
    parts = re.split(r"(\{\w+\})", text)
    words = "".join(part if k % 2 else part.translate(_LETTERS) for k, part in enumerate(parts))
    letters = sum(c.isalpha() for part in parts[::2] for c in part)
    return words + ("ẽ" * max(1, round(0.4 * letters)) if letters > 2 else "")


def translate(texts: Any, direction: str) -> Any:
    """All texts in the made-up language, written in one direction or the other."""

    def walk(x: Any) -> Any:
        if isinstance(x, str):
            return pseudo(x)
        if isinstance(x, dict):
            return {key: walk(entry) for key, entry in x.items()}
        return [walk(entry) for entry in x]

    return {**walk(texts), "language": "en-x-pseudo", "direction": direction}
