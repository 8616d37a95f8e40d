"""The page trains as Python does: the same runs in node and in the engine, step by step."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from learn.in_node import needs_node, run_in_node
from micrograd import data, losses, nn, optim
from micrograd.errors import MicrogradError
from micrograd.learn.scene import scene
from micrograd.learn.scenes import presets
from micrograd.train import fit

TOOLS = Path(__file__).parents[2] / "tools"


def node(script: str, given: Any) -> Any:
    """Run a script in node with `given` and the class Training; what it puts into `answer` comes back."""
    head = "const given = data, { Training } = training;\nlet answer;\n"
    return run_in_node(f"{head}{script}\nreturn answer;", given, "training.js")


def moons() -> Any:
    X, y = data.moons(100, noise=0.1, seed=0)
    model = nn.MLP(2, [16, 16, 1], rng=0)
    optimizer = optim.SGD(model.parameters(), lr=optim.linear(1.0, 0.1, 100))
    return model, (X, [2 * c - 1 for c in y]), losses.max_margin, optimizer, lambda: losses.l2(model.parameters(), 1e-4)


def spirals() -> Any:
    model = nn.MLP(2, [8, 8, 3], activation="tanh", init="xavier", rng=0)
    optimizer = optim.Adam(model.parameters(), lr=optim.cosine(0.05, 0.001, 100))
    return model, data.spirals(60, seed=0), losses.cross_entropy, optimizer, None


def circles() -> Any:
    model = nn.MLP(2, [6, 1], activation="sigmoid", rng=0)
    optimizer = optim.SGD(model.parameters(), lr=0.5, momentum=0.9, weight_decay=0.001, nesterov=True)
    return model, data.circles(40, seed=0), losses.binary_cross_entropy, optimizer, None


def line() -> Any:
    model = nn.MLP(1, [5, 1], activation="gelu", rng=1)
    points = [[k / 10] for k in range(30)], [(k / 10 - 1.5) ** 2 for k in range(30)]
    return model, points, losses.mse, optim.AdamW(model.parameters(), lr=0.02, weight_decay=0.01), None


def summed() -> Any:
    model = nn.MLP(2, [4, 1], activation="silu", rng=2)

    def loss(predictions: Any, targets: Any) -> Any:
        return losses.huber(predictions, targets, reduction="sum")

    return model, data.xor(24, seed=3), loss, optim.SGD(model.parameters(), lr=0.01), None


@needs_node
@pytest.mark.parametrize("make", [moons, spirals, circles, line, summed])
def test_a_hundred_steps_on_the_page_are_those_of_the_engine(make: Any) -> None:
    model, points, loss, optimizer, penalty = make()
    packed = scene(model, points, loss, optimizer, penalty=penalty, steps=100)
    seen: list[list[float]] = []
    history = fit(
        model, points, loss, optimizer, 100, penalty=penalty, quiet=True,
        callbacks=[lambda history: seen.append([p.data for p in model.parameters()])],
    )  # fmt: skip
    got = node(
        """
const run = new Training(given);
answer = { loss: [], steps: [] };
for (let k = 0; k < 100; k++) {
  run.next();
  answer.loss.push(run.steps[k].loss);
  answer.steps.push([...run.parameters]);
}""",
        packed,
    )
    assert max(abs(a - b) for a, b in zip(got["loss"], history.loss)) <= 1e-12
    assert max(abs(a - b) for mine, theirs in zip(got["steps"], seen) for a, b in zip(mine, theirs)) <= 1e-12
    assert len(got["steps"]) == len(seen) == 100 and max(abs(a - b) for a, b in zip(seen[0], seen[-1])) > 1e-3


@needs_node
def test_a_run_that_diverges_has_the_numbers_of_the_engine() -> None:
    """A cross-entropy that is large has another formula in the engine; the page has one for all of them."""
    model, points = nn.MLP(2, [8, 2], rng=0), data.moons(40, seed=0)
    optimizer = optim.SGD(model.parameters(), lr=1e6)
    packed = scene(model, points, losses.cross_entropy, optimizer)
    history = fit(model, points, losses.cross_entropy, optimizer, 20, quiet=True)
    script = "const run = new Training(given); for (let k = 0; k < 20; k++) run.next(); answer = run.steps.map((s) => s.loss);"
    got = node(script, packed)
    assert history.loss[-1] > 1e100
    assert got[:20] == [pytest.approx(loss, rel=1e-9) for loss in history.loss]


@needs_node
def test_a_gradient_that_is_not_set_to_zero_adds_up_as_it_does_in_python() -> None:
    model = nn.MLP(2, [4, 1], activation="tanh", rng=0)
    X, y = data.moons(20, seed=0)
    packed = scene(model, (X, y), losses.mse, lr=0.01, zeroes=False)
    for _ in range(20):
        losses.mse([model(x) for x in X], y).backward()
        for p in model.parameters():
            p.data -= 0.01 * p.grad
    got = node(
        """
const run = new Training(given);
for (let k = 0; k < 20; k++) run.next();
answer = [[...run.parameters], [...run.grads]];""",
        packed,
    )
    assert got[0] == pytest.approx([p.data for p in model.parameters()], abs=1e-13)
    assert got[1] == pytest.approx([p.grad for p in model.parameters()], abs=1e-12)


@needs_node
def test_every_step_is_kept_and_a_run_forks_where_something_changes() -> None:
    packed = scene(nn.MLP(2, [4, 1], rng=0), data.moons(20), losses.mse, lr=0.1)
    got = node(
        """
const run = new Training(given), all = [];
for (let k = 0; k < 30; k++) { all.push([...run.parameters]); run.next(); }
const back = all.map((p, k) => { run.go(k); return p.every((x, i) => x === run.parameters[i]); });
run.go(10);
run.next();
const replayed = [run.at, run.steps.length];          // the step was there: nothing is trained again
run.go(10);
run.setRate(0.3);
run.next();
const forked = [run.at, run.steps.length, run.parameters.some((x, i) => x !== all[11][i])];
run.go(5);
run.setPoints(run.step.points.slice(1));
const moved = [run.at, run.steps.length, run.step.points.length, run.steps[4].points.length];
run.go(0);
const first = [run.phase, run.step.points.length];
run.forward(); const a = run.phase; run.backward(); const b = run.phase; run.update();
answer = { back: back.every(Boolean), replayed, forked, moved, first, phases: [a, b, run.phase], at: run.at };""",
        packed,
    )
    assert got == {
        "back": True, "replayed": [11, 31], "forked": [11, 12, True], "moved": [5, 6, 19, 20], "first": ["start", 20],
        "phases": ["forward", "backward", "start"], "at": 1,
    }  # fmt: skip


FAILS = """
answer = Object.fromEntries(given.map((scene) => {
  const run = new Training(scene), losses = [];
  for (let k = 0; k < 150 && !run.stuck; k++) { losses.push(run.step.loss); run.next(); }
  const cured = new Training(scene), { start, rate, zeroes } = scene.ask?.cure ?? {};
  cured.restart(start);
  if (rate) cured.setRate(rate);
  if (zeroes) cured.zeroes = true;
  for (let k = 0; k < 300; k++) cured.next();
  return [scene.key, { losses, zeros: run.grads.filter((g) => g === 0).length, n: run.grads.length,
    small: Math.max(...run.steps[1].g.slice(0, 18).map(Math.abs)), accuracy: run.step.accuracy, cured: cured.step.accuracy }];
}));"""


@needs_node
def test_the_scenes_fail_as_they_say_and_their_cures_work() -> None:
    found = node(FAILS, presets())
    assert found["moons"]["accuracy"] >= 0.9
    dead = found["dead"]
    assert dead["zeros"] == dead["n"] - 1 and dead["cured"] > 0.95
    assert max(found["rate"]["losses"][:8]) > 100 * found["rate"]["losses"][0] and found["rate"]["cured"] > 0.95
    zero = found["zero"]
    assert zero["zeros"] == zero["n"] - 1 and zero["losses"][-1] > 0.69 and zero["cured"] > 0.95
    assert found["saturated"]["small"] < 0.02 and found["saturated"]["accuracy"] < 0.7 < found["saturated"]["cured"]
    swing = found["forgotten"]["losses"]
    low = swing.index(min(swing[:60]))
    assert max(swing[low:]) > 2 * swing[low] and found["forgotten"]["cured"] > 0.9
    assert found["few"]["accuracy"] < 0.8 and found["enough"]["accuracy"] > 0.95


def test_the_rules_of_the_page_are_those_of_the_optimizers() -> None:
    done = subprocess.run([sys.executable, TOOLS / "gen_optim_js.py", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_layers_in_a_sequence_are_a_network_too() -> None:
    model = nn.Sequential(nn.Layer(2, 3, activation="tanh", rng=0), nn.Layer(3, 2, nonlin=False, rng=1))
    made = scene(model, data.moons(10))
    assert made["shape"] == [2, 3, 2] and len(made["graphs"][0]["neurons"]) == 5
    other = scene(nn.Sequential(nn.Layer(2, 3, rng=0), nn.Linear(3, 2, rng=0)), data.moons(10))
    assert other["shape"] is None


def test_what_cannot_be_watched_says_why() -> None:
    model, X, y = nn.MLP(2, [3, 1], rng=0), [[0.0, 1.0], [1.0, 0.0]], [0, 1]
    with pytest.raises(MicrogradError, match="each point has one"):
        scene(model, (X, [1]))
    with pytest.raises(MicrogradError, match="none to train"):
        scene(lambda x: x[0], (X, y), losses.mse)
    with pytest.raises(MicrogradError, match="neither the mean nor the sum"):
        scene(model, (X, y), lambda p, t: losses.mse(p, t) ** 2)
    before = [p.data for p in model.parameters()]
    with pytest.raises(MicrogradError, match=r"detach\(\)"):  # the page would train with the detached weight as it was
        scene(model, (X, y), lambda p, t: losses.mse([q * model.parameters()[0].detach() for q in p], t))
    with pytest.raises(MicrogradError, match="the penalty reads numbers"):
        scene(model, (X, y), penalty=lambda: model.parameters()[0] * model.parameters()[1].data)
    assert [p.data for p in model.parameters()] == before
    with pytest.raises(MicrogradError, match="not finite"):
        scene(model, ([[0.0, float("nan")], [1.0, 0.0]], y))
    with pytest.raises(MicrogradError, match="at most"):
        scene(nn.MLP(2, [80, 80, 1]), (X, y))
    with pytest.raises(MicrogradError, match="at most 2,000 points"):
        scene(model, data.moons(2001))
