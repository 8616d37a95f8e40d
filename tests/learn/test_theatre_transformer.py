"""The transformer of the theatre: its gradients are those of the same model made of Values, and it learns names."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from test_axe import AXE, wrong

from learn.in_node import needs_node, run_in_node
from micrograd import Value, data
from micrograd import math as mm
from micrograd.learn import watch

Visit = Callable[..., Any]
FILES = ("gpt.js", "draws.js")


def matrix(of: Any) -> list[list[Value]]:
    return [[Value(x) for x in of["w"][r * of["cols"] : (r + 1) * of["cols"]]] for r in range(of["rows"])]


def linear(x: list[Any], w: list[list[Value]]) -> list[Any]:
    return [sum(a * b for a, b in zip(row, x)) for row in w]


def rms(x: list[Any]) -> list[Any]:
    scale = (sum(a * a for a in x) / len(x) + 1e-5) ** -0.5
    return [a * scale for a in x]


def loss_of(m: dict[str, list[list[Value]]], tokens: list[int], heads: int = 4) -> Value:
    """The model of gpt.js, one scalar at a time."""
    keys: list[Any] = []
    values: list[Any] = []
    losses = []
    for t, (token, target) in enumerate(pairwise(tokens)):
        x = rms([a + b for a, b in zip(m["wte"][token], m["wpe"][t])])
        n = rms(x)
        q = linear(n, m["wq"])
        keys.append(linear(n, m["wk"]))
        values.append(linear(n, m["wv"]))
        joined = []
        size = len(x) // heads
        for h in range(0, len(x), size):
            scores = [sum(q[i] * k[i] for i in range(h, h + size)) / math.sqrt(size) for k in keys]
            p = mm.softmax(scores)
            joined += [sum(a * v[i] for a, v in zip(p, values)) for i in range(h, h + size)]
        x = [a + b for a, b in zip(x, linear(joined, m["wo"]))]
        hidden = [a.relu() for a in linear(rms(x), m["fc1"])]
        x = [a + b for a, b in zip(x, linear(hidden, m["fc2"]))]
        losses.append(-mm.log(mm.softmax(linear(x, m["head"]))[target]))
    return sum(losses) / len(losses)


@needs_node
def test_every_gradient_is_that_of_the_same_model_of_values() -> None:
    found = run_in_node(
        """const net = new gpt.Gpt(["ava", "liam"], 3), tokens = gpt.encodeName(data);
        for (const { w } of net.matrices) for (let i = 0; i < w.length; i++) w[i] *= 4;  // far from 0
        const made = net.forward(tokens.slice(0, -1)), { loss, d } = net.loss(made, tokens.slice(1));
        net.backward(made, d);
        const plain = (one) => ({ ...one, w: [...one.w], g: [...one.g], m: 0, v: 0 });
        return { tokens, loss, matrices: net.matrices.map(plain) };""",
        "anna",
        *FILES,
    )
    model = {one["name"]: matrix(one) for one in found["matrices"]}
    assert sum(one["rows"] * one["cols"] for one in found["matrices"]) == 4192
    loss = loss_of(model, found["tokens"])
    loss.backward()
    assert found["loss"] == pytest.approx(loss.data, rel=1e-12)
    for one in found["matrices"]:
        grads = [p.grad for row in model[one["name"]] for p in row]
        assert one["g"] == pytest.approx(grads, rel=1e-9, abs=1e-14), one["name"]
        assert any(grads)


@needs_node
def test_it_learns_and_a_low_temperature_is_sure() -> None:
    found = run_in_node(
        """const net = new gpt.Gpt(data, 1), first = net.step(0.01);
        for (let k = 0; k < 400; k++) net.step(0.01);
        const late = net.losses.slice(-50).reduce((a, b) => a + b) / 50;
        const again = new gpt.Gpt(data, 1);
        again.step(0.01);
        const random = draws.drawsFrom(5), names = Array.from({ length: 40 }, () => net.sample(0.5, random));
        const sums = [0.1, 0.7, 2].map((x) => net.next("an", x));
        return { first, late, same: again.losses[0] === net.losses[0], names,
          tops: sums.map((p) => Math.max(...p)), totals: sums.map((p) => p.reduce((a, b) => a + b)) };""",
        data.names(),
        *FILES,
    )
    assert found["first"] == pytest.approx(math.log(27), abs=0.2) and found["late"] < 2.4 and found["same"]
    assert found["tops"][0] > found["tops"][1] > found["tops"][2]
    assert found["totals"] == pytest.approx([1, 1, 1])
    assert sum(3 <= len(name) <= 9 for name in found["names"]) > 30


@needs_node
@pytest.mark.parametrize(("name", "length"), [("", 2), ("Ada!", 5), ("x" * 99, 17), ("ä3", 2)])
def test_a_name_that_is_typed_is_letters_between_two_marks(name: str, length: int) -> None:
    tokens = run_in_node("return gpt.encodeName(data);", name, *FILES)
    assert len(tokens) == length and tokens[0] == tokens[-1] == 26 and all(0 <= t < 26 for t in tokens[1:-1])


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(watch().save(tmp_path_factory.mktemp("letters") / "watch.html"))


def test_it_is_watched_and_a_link_opens_the_same_network(visit: Visit, file: Path) -> None:
    page = visit(file.as_uri())
    page.click("[data-room='letters']")
    assert not page.locator(".playground").is_visible() and page.locator(".head canvas").count() == 4
    assert page.locator(".matrix").count() == 9 and page.locator(".samples li").count() == 8
    page.click("[data-do='step-names']")
    page.click("[data-do='step-names']")
    assert page.inner_text(".transformer .fact >> nth=0").split()[-1] == "2"
    page.fill("[data-do='read']", "anna")
    assert "the letter a looks most at" in page.locator(".head canvas >> nth=2").get_attribute("aria-label")
    before = page.locator(".chances").get_attribute("aria-label")
    page.locator("[data-do='names-temperature']").fill("0.1")
    assert page.locator(".chances").get_attribute("aria-label") != before
    page.select_option("[data-do='of']", "g")
    page.click("[data-do='play-names']")
    page.locator(".transformer .fact b", has_text=re.compile(r"^\d\d")).first.wait_for()
    page.click("[data-do='play-names']")
    page.wait_for_url(f"**#transformer*temperature=0.1*step={page.inner_text('.transformer .fact b >> nth=0')}")
    label, told = (page.locator(".chances").get_attribute("aria-label"), page.inner_text(".transformer .fact >> nth=0"))
    other = visit(page.url)
    other.locator(".transformer .fact b", has_text=re.compile(rf"^{told.split()[-1]}$")).wait_for()
    other.locator("[data-do='play-names']", has_text="play").wait_for()
    assert other.locator(".chances").get_attribute("aria-label") == label
    assert other.inner_text(".transformer .fact >> nth=0") == told
    other.click("[data-room='networks']")
    assert other.locator(".plane").is_visible() and not other.locator(".transformer").is_visible()


@pytest.mark.parametrize("width,height,scheme", [(1440, 900, "dark"), (390, 844, "light")])
def test_the_transformer_fits_and_axe_finds_nothing(
    visit: Visit, file: Path, width: int, height: int, scheme: str
) -> None:
    page = visit(file.as_uri() + "#transformer&step=30", width=width, height=height, scheme=scheme)
    page.locator(".transformer .fact b", has_text="30").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    if AXE is not None:
        assert not wrong(page)
