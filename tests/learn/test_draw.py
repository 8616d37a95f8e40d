"""Drawings: what is said of each node, in a picture that needs no graphviz."""

import re
import xml.etree.ElementTree as ET

import pytest

import micrograd
from micrograd import Value, engine
from micrograd.learn import collapse as collapsing
from micrograd.learn import draw_dot, nodes, png
from micrograd.learn.draw import SHOWN, count, notebook
from micrograd.learn.layout import GraphTooLarge

SVG = "{http://www.w3.org/2000/svg}"


def texts(drawing):
    root = ET.fromstring(drawing.svg)
    return ["".join(text.itertext()) for text in root.iter(f"{SVG}text") if text.get("class") != "mg-halo"]


def looks(drawing, look):
    root = ET.fromstring(drawing.svg)
    return ["".join(text.itertext()) for text in root.iter(f"{SVG}text") if text.get("class") == look]


def lecture():
    a, b, c = Value(2.0, label="a"), Value(-3.0, label="b"), Value(10.0, label="c")
    e = a * b
    e.label = "e"
    d = e + c
    d.label = "d"
    return d


def test_gradients_are_dashes_until_backward_has_been_there():
    d = lecture()
    assert looks(draw_dot(d), "mg-grad") == ["—"] * 5
    d.backward()
    assert looks(draw_dot(d), "mg-grad") == ["−3", "2", "1", "1", "1"]
    assert looks(draw_dot(d), "mg-data") == ["2", "−3", "−6", "10", "4"]
    d.zero_grad()
    assert looks(draw_dot(d), "mg-grad") == ["—"] * 5


def test_names_are_taken_from_labels_and_variables():
    x = Value(1.0)
    weight = Value(2.0, label="w")
    out = x * weight
    assert looks(draw_dot(out), "mg-name") == ["x", "w", "out"]


def test_local_derivatives_stand_at_their_edges():
    assert looks(draw_dot(lecture()), "mg-local") == ["−3", "2", "1", "1"]


@pytest.mark.parametrize("rankdir", ["LR", "TB"])
def test_a_times_a_has_two_arrows(rankdir):
    a = Value(3.0)
    drawing = draw_dot(a * a, rankdir=rankdir)
    arrows = [g for g in ET.fromstring(drawing.svg).iter(f"{SVG}g") if g.get("class") == "mg-arrow"]
    assert [(g.get("data-from"), g.get("data-to"), g.get("data-slot")) for g in arrows] == [
        ("0", "1", "0"),
        ("0", "1", "1"),
    ]
    assert drawing.source.count("n0 -> n1op") == 2


def test_labels_cannot_break_the_picture():
    x = Value(1.0, label='<b>&"|{}\\ ] -->')
    drawing = draw_dot(x * 2)
    assert '<b>&"|{}\\ ] -->' in texts(drawing)
    assert dot_tokens(drawing.source)[-1] == "}"


def dot_tokens(source):
    """A reader for the part of the DOT language that is written; anything else is an error."""
    token = re.compile(r'\s+|digraph|rankdir|shape|label|->|[{}\[\]=,]|"(?:[^"\\]|\\.)*"|\w+')
    at, found = 0, []
    while at < len(source):
        match = token.match(source, at)
        assert match, f"not DOT: {source[at : at + 30]!r}"
        if match.group().strip():
            found.append(match.group())
        at = match.end()
    assert found.count("{") == found.count("}") == 1
    assert found.count("[") == found.count("]")
    return found


def test_source_is_dot():
    tokens = dot_tokens(draw_dot(lecture()).source)
    assert tokens[:2] == ["digraph", "{"]
    assert tokens.count("->") == 6  # four operands, two ops


def test_save_by_ending(tmp_path):
    drawing = draw_dot(lecture())
    for ending, start in (("svg", "<svg"), ("html", "<!doctype html>"), ("dot", "digraph"), ("gv", "digraph")):
        path = tmp_path / f"x.{ending}"
        assert drawing.save(path) == str(path)
        assert path.read_text(encoding="utf-8").startswith(start)
    page = (tmp_path / "x.html").read_text(encoding="utf-8")
    assert "default-src 'none'" in page and "http" not in page.replace("http://www.w3.org/2000/svg", "").replace(
        "http-equiv", ""
    )
    assert drawing.render(tmp_path / "gout") == str(tmp_path / "gout.svg")
    with pytest.raises(ValueError, match="saved as"):
        drawing.save(tmp_path / "x.bmp")
    with pytest.raises(ValueError, match="format"):
        draw_dot(lecture(), format="jpeg")


def test_png_without_a_converter_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "cairosvg", None)
    monkeypatch.setattr(png.shutil, "which", lambda _: None)
    with pytest.raises(png.NoConverter, match=r"Save as \.svg"):
        draw_dot(lecture()).save(tmp_path / "x.png")


@pytest.mark.slow
def test_png_by_a_converter(tmp_path):
    path = tmp_path / "x.png"
    try:
        draw_dot(lecture()).save(path)
    except png.NoConverter as reason:
        pytest.skip(str(reason))
    assert path.read_bytes().startswith(b"\x89PNG")


def test_the_picture_shows_itself_in_a_notebook():
    drawing = draw_dot(lecture())
    bundle = drawing._repr_mimebundle_()
    assert bundle["image/svg+xml"] == drawing.svg and bundle["text/plain"] == "<drawing of 5 nodes>"
    assert 'style="max-width:100%;height:auto"' in bundle["text/html"]  # never wider than its cell


def test_a_value_shows_text_and_picture_and_a_large_one_text_alone():
    d = lecture()
    shown = d._repr_mimebundle_()
    assert shown["text/plain"] == repr(d)
    assert "Value(data=4.0" in shown["text/html"] and "data:image/svg+xml;base64," in shown["text/html"]
    assert Value(1.0)._repr_mimebundle_() is None  # plain text
    for _ in range(SHOWN):
        d = d + 1
    assert notebook(d) is None


def test_what_is_no_value_is_refused():
    with pytest.raises(TypeError, match="draws a Value"):
        draw_dot(3.0)


# ---- large graphs


@pytest.fixture
def modules(monkeypatch):
    """Scopes as nn has them, by hand: make(path) runs a block whose nodes belong to that module."""
    paths = {}
    for place in (collapsing, nodes):
        monkeypatch.setattr(place, "scope_path", lambda scope: paths.get(scope, ()))

    class Scope:
        def __init__(self, *path):
            self.number = next((n for n, p in paths.items() if p == path), len(paths) + 1)
            paths[self.number] = path

        def __enter__(self):
            self.before = engine.set_scope(self.number)

        def __exit__(self, *_):
            engine.set_scope(self.before)

    return Scope


def network(modules, inputs, widths, weights=None):
    xs = [Value(0.1 * i, label=f"x{i}") for i in range(inputs)] if isinstance(inputs, int) else inputs
    weights = {} if weights is None else weights
    for k, width in enumerate(widths):
        out = []
        for n in range(width):
            ws = weights.setdefault((k, n), [Value(0.1 * (n + i)) for i in range(len(xs))])
            with modules(f"layer {k}", f"neuron {n}"):
                total = ws[0] * xs[0]
                for w, x in zip(ws[1:], xs[1:]):
                    total = total + w * x
                out.append(total.tanh())
        xs = out
    return xs


def test_neurons_become_boxes_that_say_what_they_hold(modules):
    (out,) = network(modules, 3, [4, 4, 1])
    drawing = draw_dot(out)
    names = looks(drawing, "mg-name")
    assert {"x0", "x1", "x2", "layer 0 · neuron 3", "layer 2 · neuron 0"} <= set(names)
    assert "9 nodes" in names  # three weights, three products, two sums, tanh
    assert repr(drawing) == f"<drawing of {count(out, 10**6)} nodes in 12 boxes>"


def test_depth_folds_neurons_into_layers(modules):
    (out,) = network(modules, 3, [4, 4, 1])
    names = looks(draw_dot(out, depth=1), "mg-name")
    assert [name for name in names if name.startswith("layer")] == ["layer 0", "layer 1", "layer 2"]
    assert "36 nodes" in names


def test_many_neurons_become_layers_by_themselves(modules):
    (out,) = network(modules, 2, [40, 40, 1])
    assert "layer 1" in looks(draw_dot(out), "mg-name")


def test_every_node_is_in_exactly_one_box(modules):
    weights = {}
    loss = sum(network(modules, [Value(0.1 * k), Value(0.2)], [6, 6, 1], weights)[0] ** 2 for k in range(40))
    overview = collapsing.collapse(loss)
    held = sorted(i for group in overview.groups for i in group.members)
    assert held == list(range(len(overview.order)))
    assert len(overview.groups) <= collapsing.MAX_BOXES
    for i, group in enumerate(overview.groups):
        assert all(j < i for j in group.inputs)  # no box feeds an earlier one
    assert overview.groups[-1].members[-1] == len(overview.order) - 1


def test_a_module_that_feeds_itself_through_another_is_one_box_with_it(modules):
    h = Value(0.5, label="h")
    for _ in range(40):
        with modules("cell"):
            h = h.tanh()
        with modules("gate"):
            h = h * 2
    overview = collapsing.collapse(h)
    assert [group.title for group in overview.groups] == ["leaves", "cell + gate"]


def test_a_hundred_thousand_nodes_collapse_and_the_whole_is_refused():
    a, p = Value(1.0001), Value(0.5)
    x = a
    for _ in range(33_333):
        x = (x * a + p).tanh()
    drawing = draw_dot(x)
    assert drawing.caption.startswith("100,001 nodes in ")
    assert len(drawing.svg) < 50_000
    with pytest.raises(GraphTooLarge, match="collapse=False"):
        draw_dot(x, collapse=False)


def test_nn_modules_mark_their_nodes():
    nn = pytest.importorskip("micrograd.nn")
    model = nn.MLP(3, [4, 4, 1])
    out = model([1.0, 2.0, 3.0])
    names = looks(draw_dot(out), "mg-name")
    assert "layer 0 · neuron 3" in names and "layer 2 · neuron 0" in names
    assert {"l0.n1.w2", "l2.n0.b"} <= set(looks(draw_dot(out, collapse=False), "mg-name"))


def test_importing_the_package_does_not_load_learn():
    import subprocess
    import sys

    code = "import sys, micrograd; print([m for m in sys.modules if m.startswith('micrograd.learn')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    assert micrograd.Value is Value


def test_a_bare_value_names_weights_as_draw_dot_does(monkeypatch):
    import sys
    from base64 import b64decode
    from types import SimpleNamespace

    from micrograd import nn

    model, x = nn.MLP(2, [2, 1]), [Value(1.0), Value(2.0)]
    loss = model(x) ** 2
    space = {"model": model, "x": x, "loss": loss, "draw_dot": draw_dot}
    exec("picture = draw_dot(loss)", space)
    monkeypatch.setitem(sys.modules, "__main__", SimpleNamespace(**space))
    html = notebook(loss)["text/html"]
    bare = b64decode(html.split("base64,")[1].split('"')[0]).decode()
    written = set(re.findall(r'class="mg-name"[^>]*>([^<]*)<', space["picture"].svg))
    assert {"l0.n0.w0", "l1.n0.b", "x[0]", "loss"} <= written
    assert set(re.findall(r'class="mg-name"[^>]*>([^<]*)<', bare)) == written
