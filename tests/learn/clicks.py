"""What the tests of the page do in a browser, again and again."""

from __future__ import annotations

from typing import Any

from micrograd.learn import frames

STORED = "JSON.stringify(Object.entries(localStorage).sort())"


def reload(page: Any) -> None:
    """Reload a page once another tab sees what it has kept: a browser passes writes on after the call has returned, and a
    page that is loaded meanwhile may read what was there before."""
    written, other = page.evaluate(STORED), page.context.new_page()
    other.goto(page.url.split("#")[0].rpartition("/")[0] + "/")  # of the same origin, and writes nothing
    other.wait_for_function(f"(text) => {STORED} === text", arg=written)
    other.close()
    page.reload()


def pick(page: Any, key: str) -> None:
    page.select_option("select[aria-label='graph']", key)


def card(page: Any, name: str) -> str:
    """What the drawing shows of one node."""
    text: str = page.locator(f".node:has(> .mg-name:text-is('{name}')) >> nth=-1").get_attribute("aria-label")
    return text


def said(page: Any) -> str:
    text: str = page.inner_text(".sentence")
    return text


def step(page: Any, times: int = 1) -> None:
    for _ in range(times):
        page.click("[data-do='next']")


def end(page: Any) -> None:
    page.click("[data-do='to_end']")


def backward(page: Any) -> None:
    page.click("[data-do='to_backward']")


def bug(page: Any, key: str) -> None:
    page.check(f"[role='radiogroup'] input[value='{key}']")


def frames_of(expression: str, **values: float) -> list[str]:
    from micrograd.learn.expression import build

    return [frame.sentence for frame in frames(build(expression, **values), names={})]
