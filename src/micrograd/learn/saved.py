"""SavedPage: what can be shown as one HTML page, and be saved as a file."""

from __future__ import annotations

import os
from pathlib import Path


class SavedPage:
    """An object with a page: `explore(...)` and `watch(...)`."""

    def page(self) -> str:
        """The whole page."""
        raise NotImplementedError

    @property
    def html(self) -> str:
        """One self-contained HTML page: no network, no other file."""
        return self.page()

    def save(self, path: str | os.PathLike[str]) -> str:
        """Write the page to a file; returns its name."""
        Path(path).write_text(self.html, encoding="utf-8")
        return os.fspath(path)
