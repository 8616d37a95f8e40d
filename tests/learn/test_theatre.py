"""The theatre in a real browser, from a file with the network blocked: as a learner would use it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pseudo import translate
from test_axe import AXE, wrong

from micrograd import Value, data, losses, nn, optim, train
from micrograd.errors import MicrogradError
from micrograd.learn import frames, page, texts, watch
from micrograd.learn.scenes import SCENES
from micrograd.learn.sentences import show

Visit = Callable[..., Any]
STATE = "({ ...theatre.state(), steps: theatre.training.steps.length - 1, p: [...theatre.training.parameters] })"
HOOK = "const theatre=createTheatre("  # the page keeps the theatre to itself; the tests look inside


def expose(html: str) -> str:
    """The same page with its theatre as a global name, and without the policy that forbids such a change."""
    assert html.count(HOOK) == 1
    return re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", html).replace(
        HOOK, "const theatre=window.theatre=createTheatre("
    )


@pytest.fixture(scope="session")
def play_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scenes as one HTML file."""
    return Path(watch().save(tmp_path_factory.mktemp("theatre") / "scenes.html"))


@pytest.fixture(scope="session")
def open_file(play_file: Path) -> Path:
    """The same, with its theatre open to the tests."""
    file = play_file.with_name("open.html")
    file.write_text(expose(play_file.read_text(encoding="utf-8")), encoding="utf-8")
    return file


def numbers(page: Any) -> tuple[str, str]:
    return page.inner_text(".fact .loss"), page.inner_text(".fact .accuracy")


def drag(page: Any, k: int, dx: float, dy: float) -> None:
    box = page.locator(f".dot[data-point='{k}']").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + dx / 2, y + dy / 2)
    page.mouse.move(x + dx, y + dy)
    page.mouse.up()


def test_three_buttons_are_the_three_lines_of_the_loop(visit: Visit, open_file: Path) -> None:
    one = visit(open_file.as_uri())
    before = one.evaluate(STATE)["p"]
    one.click("[data-do='forward']")
    assert "80 points" in one.inner_text(".conductor .sentence") and one.evaluate(STATE)["p"] == before
    assert one.locator(".wire:not(.still)").count() == 0
    one.click("[data-do='backward']")
    assert "Still nothing has moved" in one.inner_text(".conductor .sentence") and one.evaluate(STATE)["p"] == before
    assert one.locator(".wire.up").count() > 5 and one.locator(".wire.down").count() > 5
    one.click("[data-do='update']")
    assert one.evaluate(STATE)["p"] != before and one.inner_text(".conductor .count") == "1 / 1"
    grads = one.evaluate("[...theatre.training.grads]")
    assert one.evaluate(STATE)["p"] == [p - 0.5 * g for p, g in zip(before, grads)]


def test_rewind_and_play(visit: Visit, open_file: Path) -> None:
    one = visit(open_file.as_uri())
    for _ in range(8):
        one.click("[data-do='step']")
    eighth, told = one.evaluate(STATE)["p"], numbers(one)
    one.locator("[data-do='rewind']").fill("3")
    assert one.inner_text(".conductor .count") == "3 / 8" and numbers(one) != told
    one.click("[data-do='back']")
    assert one.evaluate(STATE)["step"] == 2
    one.keyboard.press("End")
    assert one.evaluate(STATE)["p"] == eighth and numbers(one) == told
    one.select_option("[data-do='speed']", "1000")
    one.click("[data-do='play']")
    one.wait_for_function("theatre.training.at >= 60")
    one.click("[data-do='play']")
    at = one.evaluate(STATE)["step"]
    one.wait_for_timeout(150)
    assert one.evaluate(STATE)["step"] == at >= 60 and not one.evaluate(STATE)["playing"]
    one.click("[data-do='reset']")
    assert one.evaluate(STATE)["step"] == 0 and one.evaluate(STATE)["steps"] == at


def test_a_point_opens_on_the_stage_with_the_numbers_of_this_step(visit: Visit, tmp_path: Path) -> None:
    X, y = data.moons(20, seed=0)
    model = nn.MLP(2, [3, 1], activation="tanh", rng=0)
    file = tmp_path / "own.html"
    file.write_text(expose(watch(model, (X, y), losses.mse, lr=0.3, scenes=False).html), encoding="utf-8")
    one = visit(file.as_uri(), reduced_motion="reduce")
    for _ in range(5):
        one.click("[data-do='step']")
    for p, x in zip(model.parameters(), one.evaluate(STATE)["p"]):
        p.data = x
    k = 7
    one.focus(f".dot[data-point='{k}']")
    one.keyboard.press("Enter")
    L = (model([Value(x) for x in X[k]]) - y[k]) ** 2
    line = frames(L)
    assert one.locator("dialog.opened").is_visible() and "at step 5" in one.inner_text("dialog.opened h2")
    one.keyboard.press("End")
    assert one.inner_text("dialog.opened .transport .count") == f"{len(line)} / {len(line)}"
    label = one.locator("dialog.opened .node[aria-label^='L, ']").get_attribute("aria-label")
    assert f"data {show(L.data)}, gradient 1" in label.replace("one", "1")
    L.backward()
    names = {f"w0_{j}_{i}": w for j, neuron in enumerate(model.layers[0].neurons) for i, w in enumerate(neuron.w)}
    for name, w in names.items():
        label = one.locator(f"dialog.opened .node[aria-label^='{name}, ']").get_attribute("aria-label")
        assert label == texts.say("page.read_node", name=name, made="a leaf", data=show(w.data), grad=show(w.grad))
    one.keyboard.press("ArrowLeft")
    assert one.inner_text("dialog.opened .transport .count").startswith(f"{len(line) - 1} ")
    one.keyboard.press("Escape")
    assert not one.locator("dialog.opened").is_visible()
    assert one.evaluate("document.activeElement.dataset.point") == str(k)
    box = one.locator(f".dot[data-point='{k}']").bounding_box()
    one.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert one.locator("dialog.opened").is_visible()


def test_a_neuron_shows_its_own_boundary(visit: Visit, open_file: Path) -> None:
    one = visit(open_file.as_uri())
    picture = "document.querySelector('.heat').toDataURL()"
    whole = one.evaluate(picture)
    one.click(".face[data-neuron='5']")
    assert one.evaluate(picture) != whole and one.locator(".face[aria-pressed='true']").count() == 1
    assert "neuron 5 of layer 0" in one.inner_text(".neuron-told") and "∂" in one.inner_text(".weights")
    one.keyboard.press("ArrowDown")
    one.keyboard.press("Enter")
    assert "neuron 6 of layer 0" in one.inner_text(".neuron-told")
    one.click("[data-do='whole']")
    assert one.evaluate(picture) == whole and one.locator(".face[aria-pressed='true']").count() == 0


def test_points_are_dragged_added_and_removed(visit: Visit, open_file: Path) -> None:
    one = visit(open_file.as_uri())
    one.click("[data-do='step']")
    points = one.evaluate(STATE)["points"]
    free = one.evaluate(
        """() => [...document.querySelectorAll('.dot')].findIndex((dot) => {
          const b = dot.getBoundingClientRect();
          return document.elementFromPoint(b.x + b.width / 2, b.y + b.height / 2)?.closest('.dot') === dot; })"""
    )
    drag(one, free, 60, -40)
    moved = one.evaluate(STATE)
    assert moved["points"][free][0][0] > points[free][0][0] and moved["points"][free][0][1] > points[free][0][1]
    assert not one.locator("dialog.opened").is_visible() and moved["steps"] == 1
    one.check("input[value='add 1']")
    box = one.locator(".dots").bounding_box()
    one.mouse.click(box["x"] + 12, box["y"] + 12)
    assert len(one.evaluate(STATE)["points"]) == 81 and one.evaluate(STATE)["points"][80][1] == 1
    one.check("input[value='remove']")
    one.mouse.click(box["x"] + 12, box["y"] + 12)
    assert len(one.evaluate(STATE)["points"]) == 80
    one.focus(".dot[data-point='4']")
    before = one.evaluate(STATE)["points"][4][0]
    one.keyboard.press("Shift+ArrowRight")
    assert one.evaluate(STATE)["points"][4][0][0] > before[0]
    one.keyboard.press("ArrowRight")
    assert one.evaluate("document.activeElement.dataset.point") == "5"
    one.keyboard.press("Delete")
    assert len(one.evaluate(STATE)["points"]) == 79
    one.check("input[value='add -1']")
    one.keyboard.press("Enter")
    assert len(one.evaluate(STATE)["points"]) == 80
    one.click("[data-do='step']")
    assert one.evaluate(STATE)["steps"] == 2


def test_the_learning_rate_and_zero_grad_are_used(visit: Visit, open_file: Path) -> None:
    one = visit(open_file.as_uri())
    one.locator("[data-do='rate']").fill("-1")
    before = one.evaluate(STATE)["p"]
    one.click("[data-do='step']")
    first = one.evaluate("[...theatre.training.grads]")
    assert one.evaluate(STATE)["p"] == [p - 0.1 * g for p, g in zip(before, first)]
    one.uncheck("[data-do='zero']")
    one.click("[data-do='backward']")
    both = one.evaluate("[...theatre.training.grads]")
    one.check("[data-do='zero']")
    one.click("[data-do='back']")
    one.click("[data-do='backward']")
    alone = one.evaluate("[...theatre.training.grads]")
    assert both == pytest.approx([a + b for a, b in zip(first, alone)], abs=1e-15)


@pytest.mark.parametrize("key", [key for key in SCENES if key not in ("moons", "enough")])
def test_every_failing_scene_asks_answers_and_cures(visit: Visit, open_file: Path, key: str) -> None:
    one = visit(open_file.as_uri(), reduced_motion="reduce")
    one.select_option("select[aria-label='what to watch']", key)
    words = texts.get(f"theatre.scenes.{key}")
    assert one.inner_text(".riddle .asks") == words["ask"]
    scene = next(made for made in watch().play["scenes"] if made["key"] == key)
    for k in sorted(range(3), key=lambda k: k == scene["ask"]["right"]):
        one.check(f".riddle input[value='{k}']")
        good = k == scene["ask"]["right"]
        assert words["replies"][k] in one.inner_text(".riddle .verdict")
        assert one.locator(".riddle .verdict.bad").count() == (not good)
        assert one.locator("[data-do='cure']").count() == good
    one.click("[data-do='cure']")
    if key == "few":
        assert one.evaluate(STATE)["scene"] == "enough"
    else:
        one.wait_for_function("theatre.training.at >= 3")
        assert words["cured"] in one.inner_text(".riddle .told")


SCREENS = [(360, 740, "dark")]
MORE = [(1280, 860, "light"), (1280, 860, "dark"), (768, 1024, "light"), (768, 1024, "dark"), (360, 740, "light")]


@pytest.mark.parametrize(
    "width,height,scheme", [*SCREENS, *(pytest.param(*screen, marks=pytest.mark.slow) for screen in MORE)]
)
def test_it_fits_every_screen_and_axe_finds_nothing(
    visit: Visit, play_file: Path, width: int, height: int, scheme: str
) -> None:
    one = visit(play_file.as_uri(), width=width, height=height, scheme=scheme, reduced_motion="reduce")
    screenshots = Path(__file__).parents[2] / "screenshots"
    screenshots.mkdir(exist_ok=True)

    def look(name: str) -> None:
        assert one.evaluate("document.documentElement.scrollWidth") <= width, name
        box = one.locator(".conductor [data-do='step']").bounding_box()
        assert box["y"] >= 0 and box["y"] + box["height"] <= height, name
        one.screenshot(path=screenshots / f"theatre-{name}-{width}-{scheme}.png", full_page=width < 1000)
        if AXE is not None:
            assert not wrong(one), name

    look("start")
    for _ in range(6):
        one.click("[data-do='step']")
    one.click("[data-do='backward']")
    look("backward")
    one.click(".face[data-neuron='5']")
    look("neuron")
    one.select_option("select[aria-label='what to watch']", "dead")
    one.click("[data-do='backward']")
    one.check(".riddle input[value='1']")
    look("dead")
    one.select_option("select[aria-label='what to watch']", "enough")
    one.locator(".dot").nth(3).focus()
    one.keyboard.press("Enter")
    one.click("dialog.opened [data-do='to_end']")
    one.screenshot(path=screenshots / f"theatre-stage-{width}-{scheme}.png")
    step = one.locator("dialog.opened [data-do='next']").bounding_box()
    assert step["y"] + step["height"] <= height and step["x"] + step["width"] <= width
    if AXE is not None:
        assert not wrong(one)
    one.keyboard.press("Escape")
    one.keyboard.press("?")
    assert one.locator("dialog.help").is_visible()
    if AXE is not None:
        assert not wrong(one)


def test_forced_colours_leave_everything_visible(visit: Visit, play_file: Path) -> None:
    one = visit(play_file.as_uri(), forced_colors="active", reduced_motion="reduce")
    one.click("[data-do='step']")
    look = "(name) => getComputedStyle(document.querySelector(name))"
    assert one.evaluate(f"(({look})('.wire')).stroke") != one.evaluate(f"(({look})('.act')).backgroundColor")
    assert one.evaluate(f"(({look})('.curve .bar')).fill") != one.evaluate(f"(({look})('.act')).backgroundColor")
    if AXE is not None:
        assert not wrong(one)


@pytest.fixture
def english() -> Iterator[None]:
    yield
    texts.use("en")


@pytest.mark.parametrize("direction", ["ltr", "rtl"])
def test_every_text_can_be_translated(visit: Visit, tmp_path: Path, english: None, direction: str) -> None:
    texts.use(translate(texts.current(), direction))
    file = Path(watch().save(tmp_path / "other.html"))
    for width in (1280, 360):
        one = visit(file.as_uri(), width=width, height=800, reduced_motion="reduce")
        one.click("[data-do='step']")
        one.click(".face[data-neuron='1']")
        one.select_option(".bill select >> nth=0", "dead")
        one.check(".riddle input[value='1']")
        assert one.evaluate("document.documentElement.scrollWidth") <= width
        assert one.get_attribute("html", "dir") == direction
        read = one.evaluate(
            """() => [...document.querySelectorAll('[aria-label], [title]')].flatMap((el) =>
              [el.getAttribute('aria-label'), el.getAttribute('title')]).filter(Boolean).join(' ') + ' ' +
              document.body.innerText"""
        )
        left = set(re.findall(r"\b[a-z]{4,}\b", read)) - {"micrograd", "relu", "tanh", "grad"}
        assert not left, left


def test_keys_and_calm(visit: Visit, open_file: Path) -> None:
    one = visit(open_file.as_uri(), reduced_motion="reduce")
    one.keyboard.press("ArrowRight")
    one.keyboard.press("f")
    assert one.evaluate("theatre.training.phase") == "forward" and one.evaluate(STATE)["step"] == 1
    one.keyboard.press("b")
    one.keyboard.press("u")
    assert one.evaluate(STATE)["step"] == 2
    one.keyboard.press("ArrowLeft")
    assert one.evaluate(STATE)["step"] == 1
    one.keyboard.press("Space")
    one.wait_for_function("theatre.training.at >= 4")
    one.keyboard.press("Space")
    assert not one.evaluate(STATE)["playing"]
    one.keyboard.press("?")
    one.uncheck("dialog.help input")
    one.keyboard.press("Escape")
    one.keyboard.press("u")
    assert one.evaluate("theatre.training.phase") == "start"
    assert one.evaluate("document.getAnimations().length") == 0


def test_a_recorded_run_is_played_again_and_goes_on(visit: Visit, tmp_path: Path) -> None:
    X, y = data.moons(30, seed=0)
    model = nn.MLP(2, [6, 2], rng=0)
    optimizer = optim.Adam(model.parameters(), lr=0.05)
    theatre = watch(model, (X, y), losses.cross_entropy, optimizer, scenes=False, open=False)
    history = train.fit(model, (X, y), losses.cross_entropy, optimizer, 40, callbacks=[theatre], quiet=True)
    assert repr(theatre) == "<watch: 32 parameters, 30 points, 40 steps>"
    file = tmp_path / "run.html"
    file.write_text(expose(theatre.html), encoding="utf-8")
    one = visit(file.as_uri())
    assert one.inner_text(".conductor .count") == "40 / 40"
    assert one.evaluate(STATE)["p"] == [p.data for p in model.parameters()]
    assert one.evaluate("theatre.training.steps.slice(0, 40).map((step) => step.loss)") == history.loss
    one.locator("[data-do='rewind']").fill("12")
    assert one.locator(".wire:not(.still)").count() > 0 and numbers(one)[0] != "—"
    one.click("[data-do='step']")
    assert one.inner_text(".conductor .count") == "13 / 40"
    one.keyboard.press("End")
    for _ in range(30):
        one.keyboard.press("ArrowRight")
    assert one.inner_text(".conductor .count") == "70 / 70"
    assert one.evaluate("theatre.training.step.loss") < history.loss[-1]


def test_the_page_asks_nobody_and_is_not_too_large(play_file: Path) -> None:
    html = play_file.read_text(encoding="utf-8")
    assert "connect-src 'none'" in html and "http://" not in html.replace("http://www.w3.org", "")
    assert len(html.encode()) < 540_000
    assert len(watch(nn.MLP(2, [16, 16, 1], rng=0), data.moons(100), scenes=False).html.encode()) < 300_000


def test_without_a_model_there_is_nothing_to_follow() -> None:
    assert repr(watch()) == f"<watch: {len(SCENES)} scenes>"
    with pytest.raises(MicrogradError, match="no run to follow"):
        watch()(train.History([{"step": 1, "loss": 1.0}]))
    with pytest.raises(MicrogradError, match="no run to follow"):
        watch().serve()
    with pytest.raises(MicrogradError, match="needs the data"):
        watch(nn.MLP(2, [1]))


def test_other_models_have_what_they_can_have(visit: Visit, tmp_path: Path) -> None:
    class Line(nn.Module):
        def __init__(self) -> None:
            self.a, self.b = Value(0.1), Value(0.0)

        def forward(self, x: Any) -> Any:
            return x[0] * self.a + self.b

    wide = nn.MLP(3, [4, 1], rng=0)
    cases = {
        "line": watch(Line(), ([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.5]), lr=0.1, scenes=False),
        "three inputs": watch(wide, ([[0.0, 1.0, 2.0], [1.0, 0.0, 1.0]], [1, -1]), lr=0.1, scenes=False),
    }
    for name, theatre in cases.items():
        file = tmp_path / f"{name}.html"
        file.write_text(expose(theatre.html), encoding="utf-8")
        one = visit(file.as_uri())
        loss = [one.evaluate("theatre.training.step.loss")]
        for _ in range(5):
            one.click("[data-do='step']")
            loss.append(one.evaluate("theatre.training.step.loss"))
        assert loss[-1] < loss[0] and not one.locator(".plane-act").is_visible()
        assert one.locator(".picture.wide").is_visible() == (name == "three inputs")
    assert json.loads(json.dumps(page.pack(frames(Line()([Value(1.0)])).nodes)))
