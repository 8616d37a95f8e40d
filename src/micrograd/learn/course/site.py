"""The course as one file, and the static site around it: course, explorer, and the workshop in the browser."""

from __future__ import annotations

import os
from pathlib import Path

from micrograd.learn.course.page import chapters, html

NAME = "micrograd-course"  # of the progress that a browser keeps


def home() -> Path:
    """Where `micrograd learn` keeps its page: always the same place, so that the browser finds the progress again."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "micrograd-course"


def course(links: dict[str, str] | None = None) -> str:
    """The whole course as one page."""
    return html(chapters(), NAME, "micrograd · the course", links)
