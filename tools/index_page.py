"""README.md as the page of a package index: links and pictures that are files of the repository become addresses or text."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def index_page(readme: str | None = None, repository: str | None = None) -> str:
    """Return the README for an index; without a published repository, relative links become their text.

    `repository` is the address under which files can be read, by default the project's `Source` URL.
    """
    text = (ROOT / "README.md").read_text(encoding="utf-8") if readme is None else readme
    if repository is None:
        found = re.search(r'^Source = "([^"]+)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.M)
        repository = found.group(1) if found else ""
    base = repository.rstrip("/")

    def picture(match: re.Match[str]) -> str:
        return f"![{match[1]}]({base}/raw/main/{match[2]})" if base else ""

    def link(match: re.Match[str]) -> str:
        return f"[{match[1]}]({base}/blob/main/{match[2]})" if base else match[1]

    relative = r"(?!https?:|#|mailto:)([^)\s]+)"
    text = re.sub(rf"!\[([^\]]*)\]\({relative}\)", picture, text)
    return re.sub(rf"(?<!!)\[([^\]]*)\]\({relative}\)", link, text)
