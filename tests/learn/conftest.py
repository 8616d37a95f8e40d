"""A real browser for the page: Debian's chromium driven by playwright, with the network blocked."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = os.environ.get("CHROMIUM_PATH") or shutil.which("chromium") or shutil.which("chromium-browser")
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
         "--disable-sync", "--no-first-run", "--disable-dev-shm-usage"]  # fmt: skip


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """One chromium for all tests; without one they are left out, and say so."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: the page was not clicked through"
    )
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine (set CHROMIUM_PATH): the page was not clicked through in a browser")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield chromium
        chromium.close()


@pytest.fixture
def visit(browser: Any) -> Iterator[Callable[..., Any]]:
    """Open a page with the network blocked. A console error, an exception or a foreign request fails the test."""
    troubles: list[str] = []
    contexts: list[Any] = []

    def open_page(
        url: str,
        width: int = 1280,
        height: int = 860,
        scheme: str = "light",
        forgive: str = "",
        before: str = "",
        **more: Any,
    ) -> Any:
        home = url.split("/")[2] if url.startswith("http") else ""
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, offline=not home, **more
        )
        contexts.append(context)

        def check(route: Any) -> None:
            asked = route.request.url
            if asked.startswith("file:") or (home and asked.split("/")[2] == home):
                route.continue_()
            else:
                troubles.append(f"a request to {asked}")
                route.abort()

        context.route("**/*", check)
        page = context.new_page()
        page.set_default_timeout(60_000)  # a busy machine is slow; a wait ends as soon as it can

        def heard(message: Any) -> None:
            if message.type in ("error", "warning") and not (forgive and forgive in message.text):
                troubles.append(f"console: {message.text}")

        page.on("console", heard)
        page.on("pageerror", lambda error: troubles.append(f"exception: {error}"))
        if before:
            page.add_init_script(before)  # runs in each document, before the scripts of the page
        page.goto(url)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not troubles, troubles


@pytest.fixture(scope="session")
def lesson_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The lesson as one HTML file."""
    from micrograd.learn import explore

    return Path(explore().save(tmp_path_factory.mktemp("page") / "lesson.html"))


@pytest.fixture
def page(visit: Callable[..., Any], lesson_file: Path) -> Any:
    """The lesson, open in a browser."""
    return visit(lesson_file.as_uri())
