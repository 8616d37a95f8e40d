"""The playground of the theatre: its graphs are those of the engine, its settings do what they say, and a link holds them."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from test_axe import AXE, wrong
from test_theatre import STATE, expose

from learn.in_node import needs_node, run_in_node
from micrograd import losses, nn, optim
from micrograd.learn import watch
from micrograd.learn.scene import PLAYGROUND, rules

Visit = Callable[..., Any]
FILES = ("blueprint.js", "training.js", "datasets.js", "formula.js")
HEAD = """
const { sceneOf, USUAL, RECIPES, encodeSetting, decodeSetting } = blueprint, { Training } = training;
const begin = (changed) => new Training(sceneOf({ ...USUAL, ...changed }, data.rules));
"""
SETTINGS: list[dict[str, Any]] = [
    {"data": "moons", "layers": [[3, "relu"], [4, "tanh"]], "loss": "logistic", "rate": 0.5},
    {"data": "xor", "layers": [[3, "sigmoid"]], "loss": "hinge", "optimizer": "momentum", "rate": 0.1, "penalty": "l2"},
    {"data": "blobs", "layers": [[2, "gelu"]], "optimizer": "adam", "rate": 0.05, "penalty": "l1", "strength": 0.01},
    {
        "data": "hills",
        "layers": [[4, "silu"]],
        "features": ["x0", "x1", "x0_squared", "product", "sin_x1"],
        "rate": 0.1,
    },
    {"data": "circles", "layers": [], "features": ["x0_squared", "x1_squared"], "loss": "square", "rate": 0.3},
]


def node(script: str, **given: Any) -> Any:
    return run_in_node(HEAD + script, {"rules": rules(), **given}, *FILES)


def inputs(setting: dict[str, Any], x: list[float]) -> list[float]:
    a, b = x
    made = {"x0": a, "x1": b, "x0_squared": a * a, "x1_squared": b * b, "product": a * b, "sin_x1": math.sin(3 * b)}
    return [made[name] for name in setting.get("features", ["x0", "x1"])]


def loss_of(setting: dict[str, Any], classes: int) -> Callable[[Any, Any], Any]:
    if classes > 2:
        return losses.cross_entropy
    if classes == 0 or setting["loss"] == "square":
        return losses.mse
    if setting["loss"] == "hinge":
        return losses.max_margin
    return lambda scores, y: losses.binary_cross_entropy(scores, [(t + 1) / 2 for t in y])


@needs_node
@pytest.mark.parametrize("setting", SETTINGS, ids=lambda one: one["data"])
def test_it_trains_as_the_same_network_in_python(setting: dict[str, Any]) -> None:
    steps = 25
    page = node(
        """const run = begin({ ...data.setting, n: 30, test: 0 });
        for (let k = 0; k < data.steps; k++) run.next();
        return { end: [...run.parameters], start: run.scene.start, points: run.scene.points, loss: run.step.loss,
          classes: run.scene.regression ? 0 : run.scene.classes.length };""",
        setting=setting, steps=steps,
    )  # fmt: skip
    sizes = [n for n, _ in setting["layers"]] + [page["classes"] if page["classes"] > 2 else 1]
    X = [inputs(setting, x) for x, _ in page["points"]]
    y = [t for _, t in page["points"]]
    layers, nin = [], len(X[0])
    for n, activation in [*setting["layers"], [sizes[-1], "linear"]]:
        layers.append(nn.Layer(nin, n, activation=activation))
        nin = n
    model = nn.Sequential(*layers)
    parameters = model.parameters()
    weights = [w for layer in layers for neuron in layer.neurons for w in neuron.w]
    for p, x in zip(parameters, page["start"]):
        p.data = x
    made: dict[str, Callable[..., Any]] = {
        "sgd": optim.SGD, "momentum": lambda p, lr: optim.SGD(p, lr=lr, momentum=0.9), "adam": optim.Adam
    }  # fmt: skip
    optimizer = made[setting.get("optimizer", "sgd")](parameters, lr=setting["rate"])
    loss = loss_of(setting, page["classes"])
    strength = setting.get("strength", 0.001)
    for k in range(steps + 1):
        total = loss([model(x) for x in X], y)
        if setting.get("penalty") == "l2":
            total = total + strength * sum(w * w for w in weights)
        if setting.get("penalty") == "l1":
            total = total + strength * sum(abs(w) for w in weights)
        if k < steps:
            optimizer.zero_grad()
            total.backward()
            optimizer.step()
    assert page["end"] == pytest.approx([p.data for p in parameters], abs=1e-9)
    assert page["loss"] == pytest.approx(total.data, abs=1e-9)


@needs_node
def test_what_is_known_to_work_works_and_what_is_known_to_fail_fails() -> None:
    found = node(
        """const found = {};
        for (const [name, two] of Object.entries(RECIPES)) for (const kind of ["works", "fails"]) {
          const { steps, ...rest } = two[kind], run = begin({ data: name, ...rest });
          for (let k = 0; k < steps && !run.stuck; k++) run.next();
          found[`${name} ${kind}`] = run.scene.regression ? -run.step.loss : run.step.accuracy;
        }
        return found;"""
    )
    assert len(found) == 16
    for name, got in found.items():
        fair, good = (
            (-0.15, -0.02) if name.split()[0] in ("plane", "hills") else (0.9, 0.95)
        )  # minus the loss; the accuracy
        assert got >= good if name.endswith("works") else got == "-inf" or got < fair, (name, got)


@needs_node
def test_a_batch_is_drawn_anew_in_each_epoch_and_is_the_same_when_a_step_is_taken_again() -> None:
    found = node(
        """const run = begin({ batch: 10, n: 40, test: 0, layers: [[2, "tanh"]] }), taken = [];
        for (let k = 0; k < 8; k++) { taken.push([...run.batch].flatMap((one, r) => (one ? [r] : []))); run.next(); }
        const end = [...run.parameters];
        run.go(3); run.setPoints(run.step.points);
        for (let k = 0; k < 5; k++) run.next();
        const whole = begin({ batch: 0, n: 40, test: 0, layers: [[2, "tanh"]] });
        const mean = new Float64Array(whole.parameters.length);
        const one = begin({ batch: 10, n: 40, test: 0, layers: [[2, "tanh"]] });
        one.setRate(0);
        for (let k = 0; k < 4; k++) { one.backward().forEach((g, i) => { mean[i] += g / 4; }); one.update(); }
        return { taken, end, again: [...run.parameters], mean: [...mean], whole: [...whole.backward()] };"""
    )
    assert all(len(rows) == 10 for rows in found["taken"])
    first, second = found["taken"][:4], found["taken"][4:]
    assert sorted(chain(*first)) == sorted(chain(*second)) == list(range(40)) and first != second
    assert found["again"] == found["end"]
    assert found["mean"] == pytest.approx(found["whole"], abs=1e-12)


@needs_node
def test_points_that_are_kept_back_move_nothing() -> None:
    found = node(
        """const run = begin({ n: 50, test: 40 }), first = run.step.tested;
        const { points, tests } = run.scene;
        const alone = new Training({ ...run.scene, tests: [] });
        for (let k = 0; k < 5; k++) { run.next(); alone.next(); }
        return { n: points.length, kept: tests.length, same: run.parameters.every((p, i) => p === alone.parameters[i]),
          first, then: run.step.tested, none: alone.step.tested ?? null };"""
    )
    assert (found["n"], found["kept"], found["same"], found["none"]) == (30, 20, True, None)
    assert found["first"] != found["then"]


@needs_node
@pytest.mark.parametrize(
    "text,at,wanted",
    [
        ("sin(3*x)/2", 0.4, math.sin(1.2) / 2), ("-x**2", 3.0, -9.0), ("2^-x", 1.0, 0.5), ("1 - 2 - 3", 0.0, -4.0),
        ("abs(x)+.5", -2.0, 2.5), ("pi", 0.0, math.pi), ("exp(-x*x)", 1.0, math.exp(-1.0)), ("2*(x+1)", 2.0, 6.0),
    ],
)  # fmt: skip
def test_a_formula_is_read(text: str, at: float, wanted: float) -> None:
    got = node("return formula.readFormula(data.text).f(data.at);", text=text, at=at)
    assert got == pytest.approx(wanted, abs=1e-15)


@needs_node
@pytest.mark.parametrize(
    "text", ["", "x+", "y", "sin x", "(x", "x)", "2x", "alert(1)", "constructor(x)", "1e999", "x" * 300]
)
def test_a_formula_that_cannot_be_read_says_where(text: str) -> None:
    assert node("return formula.readFormula(data.text).problem;", text=text)


@needs_node
def test_pasted_rows_are_classes_or_numbers_and_a_bad_line_is_named() -> None:
    def read(text: str) -> Any:
        return node("return datasets.readRows(data.text);", text=text)

    two = read("a,b,kind\n0,0,red\n10,5,blue\n5,5,red\n")
    assert two["rows"] == [[-1, -1, 1], [1, 1, -1], [0, 1, 1]]
    assert [row[2] for row in read("0;0;3\n1;1;1\n1;0;2")["rows"]] == [2, 0, 1]
    assert [row[2] for row in read("0\t0\t0.5\n1\t1\t-2\n")["rows"]] == [0.25, -1]
    assert read("1,2,red\n1,oops,blue")["line"] == 2 and read("1,2,red\n1,2")["line"] == 2
    assert read("1,2,red")["problem"].endswith("csv_short") and read("1,2,a\n2,1,a")["problem"].endswith("csv_one")
    assert read("\n".join(f"1,{k},w{k}" for k in range(8)))["problem"].endswith("csv_classes")
    assert read("1,1,0\n" * 1001)["problem"].endswith("csv_long") and read("")["problem"].endswith("csv_short")


@needs_node
def test_a_link_gives_the_same_setting_and_nonsense_the_usual_one() -> None:
    settings = [
        *SETTINGS,
        {"data": "own", "own": [[-0.5, 0.25, 1], [0.5, 0, -1]], "test": 0, "f": "x&y=1", "layers": []},
    ]
    found = node(
        "return data.settings.map((one) => ({ ...USUAL, ...one })).map((one) => [one, decodeSetting(encodeSetting(one))]);",
        settings=settings,
    )
    for made, read in found:
        assert made == read
    odd = node(
        """return ["#playground&n=1e9&layers=99-tanh_2-evil&data=nothing&rate=-3&features=q&own=1,2&batch=x", "#moons",
          "#playground"].map(decodeSetting);"""
    )
    assert odd[0]["n"] == 500 and odd[0]["layers"] == [[8, "tanh"]] and odd[0]["data"] == "moons"
    assert odd[0]["rate"] == 1e-4 and odd[0]["features"] == ["x0", "x1"] and odd[0]["batch"] == 0
    assert odd[1] is None and odd[2]["data"] == "moons"


@needs_node
def test_every_op_of_its_graphs_is_on_the_page() -> None:
    found = node(
        """const ops = new Set();
        for (const activation of ["relu", "tanh", "sigmoid", "gelu", "silu", "linear"])
          for (const kind of ["moons", "blobs", "hills"]) for (const loss of ["logistic", "hinge", "square"])
          for (const penalty of ["l1", "l2"]) {
            const scene = sceneOf({ ...USUAL, data: kind, layers: [[2, activation]], loss, penalty,
              features: ["x0", "x1", "x0_squared", "x1_squared", "product", "sin_x0", "sin_x1"] }, data.rules);
            const nodes = [...scene.graphs, scene.penalty].flatMap((graph) => graph.timeline.nodes);
            for (const one of nodes) if (one.op) ops.add(one.op);
          }
        return [...ops, "mean"];"""
    )
    assert set(found) == PLAYGROUND


# ---- in a browser


@pytest.fixture(scope="module")
def play_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("playground") / "watch.html"
    file.write_text(expose(watch().html), encoding="utf-8")
    return file


def test_layers_inputs_and_points_are_changed_by_hand_and_the_address_follows(visit: Visit, play_file: Path) -> None:
    one = visit(play_file.as_uri())
    one.select_option("select[aria-label='what to watch']", "playground")
    assert one.locator(".face").count() == 11 and one.locator(".dots .hollow").count() == 30
    one.click("[data-do='more 0']")
    one.click("[data-do='more 0']")
    one.click("[data-do='fewer 1']")
    one.click("[data-do='add layer']")
    one.select_option("[data-do='activation 2']", "relu")
    assert one.evaluate("theatre.playground.setting.layers") == [[8, "tanh"], [3, "tanh"], [4, "relu"]]
    assert one.locator(".face").count() == 16 and one.locator("[data-do='more 0']").is_disabled()
    one.click("[data-do='drop 1']")
    one.check("[data-feature='product']")
    one.click("[data-kind='blobs']")
    assert one.evaluate("theatre.training.scene.shape") == [3, 8, 4, 3]
    one.select_option("[data-do='penalty']", "l2")
    one.locator("[data-do='test']").fill("0")
    assert one.locator(".dots .hollow").count() == 0 and one.locator(".fact .tested").count() == 0
    one.select_option("[data-do='batch']", "5")
    one.click("[data-do='step']")
    one.click("[data-do='backward']")
    assert "a batch of 5 of the 100 points" in one.inner_text(".conductor .sentence")
    before = one.evaluate(STATE)
    one.wait_for_function("location.hash.includes('step=1')")
    other = visit(play_file.as_uri() + one.evaluate("location.hash"))
    after = other.evaluate(STATE)
    assert after["p"] == before["p"] and after["step"] == 1 and after["points"] == before["points"]


def test_own_points_are_drawn_pasted_and_kept_in_the_link(visit: Visit, play_file: Path) -> None:
    one = visit(play_file.as_uri() + "#playground&data=moons&n=20&test=0")
    one.click("[data-kind='own']")
    assert len(one.evaluate(STATE)["points"]) == 20
    one.click("[data-do='clear']")
    one.check("input[value='add 1']")
    box = one.locator(".dots").bounding_box()
    one.mouse.move(box["x"] + 60, box["y"] + 40)
    one.mouse.down()
    for k in range(1, 9):
        one.mouse.move(box["x"] + 60 + 15 * k, box["y"] + 40)
    one.mouse.up()
    points = one.evaluate(STATE)["points"]
    assert 5 <= len(points) <= 11 and all(y == 1 for _, y in points[2:])
    one.fill("textarea", "1,2,red\n3,x,blue")
    one.click("[data-do='csv']")
    assert "Line 2" in one.inner_text(".own-row .bad")
    one.fill("textarea", "1,2,red\n3,4,blue\n2,2,green")
    one.click("[data-do='csv']")
    assert one.evaluate("theatre.training.scene.classes") == [0, 1, 2]
    rows = "theatre.playground.setting.own.map((row) => row.join(',')).join(';')"
    one.wait_for_function(f"new URLSearchParams(location.hash.slice(1)).get('own') === {rows}")
    other = visit(play_file.as_uri() + one.evaluate("location.hash"))
    assert other.evaluate(STATE)["points"] == one.evaluate(STATE)["points"]
    other.locator(".dot").nth(1).focus()
    other.keyboard.press("Enter")
    assert other.locator("dialog.opened").is_visible()


def test_a_recipe_says_why_and_plays(visit: Visit, play_file: Path) -> None:
    one = visit(play_file.as_uri() + "#playground&data=xor", reduced_motion="reduce")
    one.click("[data-do='fails']")
    assert "all weights zero" in one.inner_text(".recipe-told")
    one.wait_for_function("theatre.training.at >= 3")
    one.click("[data-do='works']")
    assert "six tanh neurons" in one.inner_text(".recipe-told")
    one.click("[data-kind='above']")
    one.fill("[data-do='f']", "x*")
    one.keyboard.press("Enter")
    assert "cannot be read" in one.inner_text(".playground .bad")
    one.fill("[data-do='f']", "x*x - 0.5")
    one.keyboard.press("Enter")
    assert all((b > a * a - 0.5) == (y > 0) for (a, b), y in one.evaluate("theatre.training.scene.points")
               if abs(b - a * a + 0.5) > 1.0)  # fmt: skip


@pytest.mark.parametrize("width,height,scheme", [(1440, 900, "light"), (390, 844, "dark"), (820, 1180, "light")])
def test_the_playground_fits_and_axe_finds_nothing(
    visit: Visit, play_file: Path, width: int, height: int, scheme: str
) -> None:
    for state in ("data=hills&step=20", "data=own&own=-1,0,-1;1,0,1&batch=5&penalty=l2", "data=above&layers=none"):
        one = visit(
            play_file.as_uri() + f"#playground&{state}",
            width=width,
            height=height,
            scheme=scheme,
            reduced_motion="reduce",
        )
        if width < 1000:
            one.click(".playground summary")
        assert one.evaluate("document.documentElement.scrollWidth") <= width, state
        over = one.evaluate(
            """() => [...document.querySelectorAll('.playground *')].filter((el) => el.clientWidth &&
              el.getBoundingClientRect().right > el.closest('.playground').getBoundingClientRect().right + 1).length"""
        )
        assert over == 0, state
        if AXE is not None:
            assert not wrong(one), state
