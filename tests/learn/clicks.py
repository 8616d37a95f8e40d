"""What the tests of the page do in a browser, again and again."""

from __future__ import annotations

from typing import Any

from micrograd.learn import frames


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
