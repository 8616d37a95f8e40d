"""The local page in a browser: the learner types an expression; and pictures of every view for people to look at."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from micrograd.learn import explore
from micrograd.learn.server import Server

Visit = Callable[..., Any]
SCREENSHOTS = Path(__file__).parents[2] / "screenshots"


@pytest.fixture
def address() -> Iterator[str]:
    server = Server(explore("tanh(x1*w1 + x2*w2 + b)", x1=2, x2=0, w1=-3, w2=1, b=6.8813735870195432))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield server.url
    server.shutdown()
    thread.join()
    server.server_close()


def test_an_expression_is_typed_and_explored(visit: Visit, address: str) -> None:
    page = visit(address)
    assert page.locator("select[aria-label='graph'] option").first.inner_text() == "tanh(x1*w1 + x2*w2 + b)"
    page.fill("[aria-label='your own expression']", "s = p*q; sigmoid(s) + s")
    page.fill("[aria-label='values, such as a=2 b=-3']", "p=2 q=0.5")
    page.keyboard.press("Enter")
    page.wait_for_selector(".lines code:text-is('s = p * q')")
    page.click("[aria-label='to the end']")
    label = page.locator(".node:has(> .name:text-is('p'))").get_attribute("aria-label")
    assert label == "p, a leaf, data 2, gradient 0.5983"
    page.locator("[aria-label='value of q']").fill("0")
    assert "gradient 0" in page.locator(".node:has(> .name:text-is('p'))").get_attribute("aria-label")


def test_a_bad_expression_is_pointed_at(visit: Visit, address: str) -> None:
    page = visit(address, forgive="400")  # the browser itself logs every 400
    page.fill("[aria-label='your own expression']", "(a + b) * $c")
    page.click("text=explore >> nth=-1")
    told = page.locator(".error")
    told.wait_for()
    assert told.inner_text().endswith(" " * 12 + "^")
    assert page.evaluate("document.activeElement.selectionStart") == 10
    assert page.locator("[aria-label='your own expression']").get_attribute("aria-invalid") == "true"


def end(page: Any) -> None:
    page.click("[aria-label='to the end']")


def jump(step: int) -> Callable[[Any], None]:
    return lambda page: page.locator("[aria-label='frame']").fill(str(step))


def nudge(page: Any) -> None:
    end(page)
    page.click("[data-leaf='x1'] >> text=nudge")


def order(rule: str) -> Callable[[Any], None]:
    def act(page: Any) -> None:
        page.click("[data-tab='order']")
        page.click(f"[data-order='{rule}']")

    return act


def bug(page: Any) -> None:
    page.click("[data-tab='bugs']")
    page.click("text== in place of +=")


def predict(page: Any) -> None:
    page.check("text=predict first")
    page.click("[aria-label='to the backward pass']")
    page.click("[aria-label='step forward']")
    page.click(".ask [aria-label='positive']")
    page.fill(".ask input", "-1")
    page.keyboard.press("Enter")


def quiz(page: Any) -> None:
    page.click("[data-tab='lesson']")
    page.fill("[data-quiz='leaf'] input", "1")
    page.keyboard.press("Enter")


VIEWS: dict[str, tuple[str, Callable[[Any], None]]] = {
    "start": ("product", lambda page: None),
    "forward": ("neuron", jump(8)),
    "backward": ("product", jump(9)),
    "network": ("network", jump(40)),
    "softmax": ("softmax", end),
    "nudge": ("neuron", nudge),
    "order": ("order", order("preorder")),
    "naive": ("network", order("naive")),
    "bugs": ("square", bug),
    "predict": ("product", predict),
    "lesson": ("diamond", quiz),
    "help": ("product", lambda page: page.keyboard.press("?")),
}


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
def test_pictures_of_every_view(visit: Visit, lesson_file: Path, width: int, scheme: str) -> None:
    SCREENSHOTS.mkdir(exist_ok=True)
    page = visit(
        lesson_file.as_uri(), width=width, height=860 if width > 400 else 740, scheme=scheme, reduced_motion="reduce"
    )
    for name, (graph, act) in VIEWS.items():
        page.reload()
        page.select_option("select[aria-label='graph']", graph)
        act(page)
        page.wait_for_timeout(120)
        file = SCREENSHOTS / f"{name}-{width}-{scheme}.png"
        page.screenshot(path=file, full_page=name != "help")
        assert file.stat().st_size > 10_000


@pytest.mark.slow
def test_a_picture_of_the_local_page(visit: Visit, address: str) -> None:
    SCREENSHOTS.mkdir(exist_ok=True)
    page = visit(address, forgive="400")
    page.fill("[aria-label='your own expression']", "tanh(x1*w1 + ) + b")
    page.keyboard.press("Enter")
    page.locator(".error").wait_for()
    page.screenshot(path=SCREENSHOTS / "local-1280-light.png", full_page=True)
