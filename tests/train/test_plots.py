"""Plots: what is drawn, where, and that matplotlib is asked for only then."""

import re
import subprocess
import sys

import pytest

from micrograd import Value, data, install, losses, nn, optim, plots
from micrograd.train import fit

matplotlib = pytest.importorskip("matplotlib", reason="pictures are drawn by matplotlib")
matplotlib.use("Agg")


@pytest.fixture
def ax():
    from matplotlib.figure import Figure

    return Figure(layout="constrained").add_subplot()


@pytest.fixture(scope="module")
def trained():
    X, y = data.moons(40)
    signs = [2 * c - 1 for c in y]
    model = nn.MLP(2, [8, 1], rng=1)
    optimizer = optim.Adam(model.parameters(), lr=0.05)
    history = fit(model, (X, signs), losses.max_margin, optimizer, epochs=60, quiet=True)
    return model, X, signs, history


def pixels(ax):
    """What the picture looks like, as an array."""
    import numpy as np
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(ax.figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())


def test_the_loss_curve_shows_each_step(ax, trained):
    history = trained[3]
    assert plots.loss_curve(history, ax=ax) is ax
    assert ax.lines[0].get_xdata().tolist() == list(range(1, 61))
    assert ax.lines[0].get_ydata().tolist() == history.loss
    assert (ax.get_xlabel(), ax.get_title()) == ("step", "Loss")


def test_a_noisy_loss_gets_its_mean(ax):
    noisy = [1.0 + 0.5 * (-1) ** i for i in range(100)]
    plots.loss_curve(noisy, ax=ax)
    assert ax.lines[1].get_label() == "mean of 4 steps"
    assert ax.lines[1].get_ydata()[10:].tolist() == [1.0] * 90


@pytest.mark.parametrize(
    "losses, scale", [([100.0, 1.0, 0.01], "log"), ([1.0, 0.9], "linear"), ([1.0, -1.0], "linear")]
)
def test_the_loss_curve_chooses_its_scale(ax, losses, scale):
    assert plots.loss_curve(losses, ax=ax).get_yscale() == scale


def test_the_loss_curve_of_nothing_is_empty(ax):
    plots.loss_curve([], ax=ax)
    pixels(ax)


def test_the_decision_boundary_colours_what_the_model_decides(ax):
    def model(x):
        return Value(x[0])  # positive to the right of zero

    plots.decision_boundary(model, [[-1.0, 0.0], [1.0, 0.0], [1.0, 1.0]], [-1, 1, 1], ax=ax, cells=40)
    image = pixels(ax)
    height = image.shape[0]

    def colour(x, y):
        column, row = ax.transData.transform((x, y))
        return image[height - 1 - round(row), round(column)].tolist()

    left, right = colour(-0.6, 0.5), colour(0.6, 0.5)
    assert left[2] > left[0] and right[0] > right[2]  # bluish, reddish
    assert max(colour(0.0, 0.5)[:3]) < 130  # the line between


def test_each_class_of_several_has_its_points_and_its_region(ax):
    X, y = data.blobs(30)
    centres = [[1.0, 0.0], [-0.5, 0.866], [-0.5, -0.866]]

    def model(x):
        return [-((x[0] - a) ** 2 + (x[1] - b) ** 2) for a, b in centres]

    plots.decision_boundary(model, X, y, ax=ax, cells=30)
    drawn = [c for c in ax.collections if len(c.get_offsets()) == 10]
    assert len(drawn) == 3
    pixels(ax)


def test_a_boundary_is_drawn_in_the_plane(ax):
    with pytest.raises(ValueError, match="2 coordinates"):
        plots.decision_boundary(lambda x: x[0], [[1.0, 2.0, 3.0]], [1], ax=ax)


@pytest.mark.filterwarnings("error")
def test_a_model_that_decides_the_same_everywhere_is_drawn_too(ax):
    plots.decision_boundary(lambda x: 1.0, [[0.0, 0.0], [1.0, 1.0]], [1, 1], ax=ax, cells=5)
    pixels(ax)


def test_gradients_are_told_by_layer(ax):
    model = nn.MLP(2, [3, 1], rng=0)
    plots.gradient_histogram(model, ax=ax)
    assert [t.get_text() for t in ax.texts] == ["every gradient is zero"]
    ax.clear()
    model([1.0, 2.0]).backward()
    plots.gradient_histogram(model, ax=ax)
    told = [text.get_text() for text in ax.get_legend().get_texts()]
    assert told[0].startswith("layer 0: 9 parameters") and told[1].startswith("layer 1: 4 parameters")
    grads = plots.gradients_by_layer(model)
    assert grads["layer 1"] == [p.grad for p in model.layers[1].parameters()]
    pixels(ax)


def test_the_parts_of_a_gpt_are_told_apart():
    parts = plots.gradients_by_layer(nn.GPT(5, 4, 4, 2, layers=2))
    assert {name: len(grads) for name, grads in parts.items()} == {
        "tokens": 20,
        "positions": 16,
        "block 0": 192,
        "block 1": 192,
        "head": 20,
    }


@pytest.mark.parametrize("draw", [lambda: plots.loss_curve([2.0, 1.0])])
def test_without_axes_a_figure_is_made(draw):
    import matplotlib.pyplot as plt

    before = plt.get_fignums()
    drawn = draw()
    assert len(plt.get_fignums()) == len(before) + 1
    plt.close(drawn.figure)


def test_matplotlib_is_imported_only_when_a_picture_is_drawn():
    program = "import sys, micrograd.plots, micrograd.train, micrograd.cli.demo; assert 'matplotlib' not in sys.modules"
    path = [p for p in sys.path if p]
    subprocess.run([sys.executable, "-c", f"import sys; sys.path[:0] = {path!r}; {program}"], check=True, timeout=60)


def test_without_matplotlib_the_way_out_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=re.escape(install.command("train"))):
        plots.loss_curve([1.0])


def test_the_validation_loss_is_drawn_with_a_legend(ax):
    X, y = data.moons(20)
    model = nn.MLP(2, [3, 1], rng=1)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    history = fit(model, (X, y), losses.mse, optimizer, 4, batch_size=5, validation=(X, y), quiet=True)
    plots.loss_curve(history, ax=ax)
    [line] = [line for line in ax.lines if line.get_label() == "validation loss"]
    assert list(line.get_xdata()) == [4, 8, 12, 16] and list(line.get_ydata()) == history["validation_loss"]
    assert line.get_color() != ax.lines[0].get_color()
    assert "validation loss" in [text.get_text() for text in ax.get_legend().get_texts()]


def test_several_curves_have_colours_and_a_legend(ax):
    for k in range(3):
        plots.loss_curve([1.0 + k, 0.5 + k], ax=ax, label=f"run {k}")
    curves = [line for line in ax.lines if line.get_label().startswith("run")]
    assert len({line.get_color() for line in curves}) == 3
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["run 0", "run 1", "run 2"]


def test_the_last_number_stands_beside_the_curve(ax):
    plots.loss_curve([3.0 / (k + 1) for k in range(40)], ax=ax)
    [text] = ax.texts
    assert text.get_ha() == "left" and text.xyann[0] > 6 and text.get_text() == "0.075"


def test_thirty_classes_can_be_told_apart(ax):
    looks = {(plots.colour(c), plots.MARKERS[c // len(plots.COLOURS)]) for c in range(30)}
    assert len(looks) == 30
    X, y = data.blobs(60, centres=12)
    plots.decision_boundary(nn.MLP(2, [12], rng=0), X, y, ax=ax, cells=10)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [f"class {c}" for c in range(12)]


def test_many_layers_get_a_row_each(ax):
    model = nn.MLP(2, [3] * 12 + [1], activation="tanh", rng=0)
    model([1.0, 2.0]).backward()
    plots.gradient_histogram(model, ax=ax)
    assert [text.get_text() for text in ax.get_yticklabels()][:2] == ["layer 0: 9 parameters", "layer 1: 12 parameters"]
    assert len(ax.get_yticklabels()) == 13


def test_axes_of_different_scales_are_not_squeezed(ax):
    X, y = data.moons(20)
    model = nn.MLP(2, [1], rng=0)
    plots.decision_boundary(model, X, y, ax=ax, cells=10)
    assert ax.get_aspect() in (1.0, "equal")
    ax.clear()
    plots.decision_boundary(model, [[1000.0 * a, b] for a, b in X], y, ax=ax, cells=10)
    assert ax.get_aspect() == "auto"
    low, high = ax.get_ylim()
    assert high - low < 1.5 * (max(b for _, b in X) - min(b for _, b in X))


def test_a_model_with_its_score_in_a_list_is_drawn(ax):
    X, y = data.moons(20)
    plots.decision_boundary(nn.Linear(2, 1, init="uniform", rng=0), X, [2 * c - 1 for c in y], ax=ax, cells=10)
    assert len(ax.collections) >= 2
