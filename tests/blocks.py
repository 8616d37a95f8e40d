"""Run a block of code from a page, as a notebook would: with a source that can be read."""

from __future__ import annotations

import linecache
from typing import Any

_count = 0


def run(code: str, page: str, names: dict[str, Any]) -> None:
    """Run a block of code; its functions have a source, by which their paths are merged."""
    global _count
    _count += 1
    name = f"<{page}, block {_count}>"
    linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
    exec(compile(code, name, "exec", dont_inherit=True), names)
