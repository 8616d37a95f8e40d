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
    page.click("[data-tab='code']")
    page.wait_for_selector(".lines code:text-is('s = p * q')")
    page.click("[data-do='to_end']")
    label = page.locator(".node:has(> .mg-name:text-is('p'))").get_attribute("aria-label")
    assert label == "p, a leaf, data 2, gradient 0.5983"
    page.click("[data-tab='leaves']")
    page.locator("[aria-label='value of q']").fill("0")
    assert "gradient 0" in page.locator(".node:has(> .mg-name:text-is('p'))").get_attribute("aria-label")


def test_a_bad_expression_is_pointed_at(visit: Visit, address: str) -> None:
    page = visit(address, forgive="400")  # the browser itself logs every 400
    page.fill("[aria-label='your own expression']", "(a + b) * $c")
    page.click("[data-do='explore']")
    told = page.locator(".error")
    told.wait_for()
    assert told.inner_text().endswith(" " * 12 + "^")
    assert page.evaluate("document.activeElement.selectionStart") == 10
    assert page.locator("[aria-label='your own expression']").get_attribute("aria-invalid") == "true"


VIEWS = {
    "start": "graph=product",
    "forward": "graph=neuron&step=8",
    "backward": "graph=product&step=8",
    "network": "graph=network&step=40",
    "softmax": "graph=softmax&step=26&tab=code",
    "order": "graph=order&order=preorder&tab=order",
    "naive": "graph=network&order=naive&tab=order",
    "bugs": "graph=square&bug=assign&tab=bugs",
    "predict": "graph=product&step=7&predict=1",
    "lesson": "graph=diamond&tab=lesson&step=4",
    "help": "graph=product",
}


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width,height", [(1280, 800), (768, 1024), (360, 740)])
def test_pictures_of_every_view(visit: Visit, lesson_file: Path, width: int, height: int, scheme: str) -> None:
    SCREENSHOTS.mkdir(exist_ok=True)
    for name, state in VIEWS.items():
        page = visit(
            f"{lesson_file.as_uri()}#{state}", width=width, height=height, scheme=scheme, reduced_motion="reduce"
        )
        if name == "predict":
            page.click("[data-do='next']")
            page.click(".ask [data-sign='negative']")
        if name == "help":
            page.keyboard.press("?")
        file = SCREENSHOTS / f"{name}-{width}-{scheme}.png"
        page.screenshot(path=file)
        assert file.stat().st_size > 10_000
        page.context.close()


@pytest.mark.slow
def test_a_picture_of_the_local_page(visit: Visit, address: str) -> None:
    SCREENSHOTS.mkdir(exist_ok=True)
    page = visit(address, forgive="400")
    page.fill("[aria-label='your own expression']", "tanh(x1*w1 + ) + b")
    page.keyboard.press("Enter")
    page.locator(".error").wait_for()
    page.screenshot(path=SCREENSHOTS / "local-1280-light.png", full_page=True)


def test_a_link_to_an_expression_of_ones_own_opens_it(visit: Visit, address: str) -> None:
    page = visit(f"{address}#expression=p*q%2Bq&given=p%3D2+q%3D-0.5&step=3&v.p=4")
    page.wait_for_selector(".node:has(> .mg-name:text-is('q'))")
    assert page.input_value("[aria-label='your own expression']") == "p*q+q"
    assert page.input_value("[aria-label='value of p, as a number']") == "4"
    assert page.inner_text(".count").startswith("3 /")
