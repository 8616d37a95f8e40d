"""Frames: the numbers on screen are the engine's own."""

import json
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from micrograd import Value, engine, math, primitive
from micrograd.learn import frames
from micrograd.ops import OPS

UNARY = [name for name, op in OPS.items() if op.arity == 1]
BINARY = [name for name, op in OPS.items() if op.arity == 2]
NARY = [name for name, op in OPS.items() if op.arity < 0]


def bits(x):
    return struct.pack("<d", x) if x == x else b"nan"


@st.composite
def graphs(draw):
    """A random graph over all of the table: leaves are reused, numbers stand among them."""
    numbers = st.floats(-3, 3, allow_nan=False)
    pool = [Value(draw(numbers)) for _ in range(draw(st.integers(1, 3)))]
    for _ in range(draw(st.integers(0, 14))):
        op = OPS[draw(st.sampled_from(UNARY + BINARY + NARY))]
        count = op.arity if op.arity > 0 else 4
        first = draw(st.sampled_from(pool))
        rest = [draw(st.one_of(st.sampled_from(pool), numbers)) for _ in range(count - 1)]
        args = draw(st.permutations([first, *rest]))
        pool.append(engine.apply(op, *([args] if op.arity < 0 else args)))
    return pool[-1]


@settings(max_examples=60, deadline=None)
@given(graphs())
def test_contributions_replay_the_engine_to_the_bit(root):
    timeline = frames(root)
    before = [node.value.grad for node in timeline.nodes]
    assert before == [0.0] * len(before)  # nothing was disturbed
    root.backward()
    replayed = [0.0] * len(timeline.nodes)
    for frame in timeline:
        if frame.kind == "seed":
            replayed[frame.node] += frame.after
        elif frame.kind == "backward":
            product, node = frame.local * frame.upstream, timeline.nodes[frame.node]
            stopped = product != product and (node.hidden or frame.slot in node.value._rule.steps)
            assert bits(0.0 if stopped else product) == bits(frame.product)
            assert stopped == ("passes a step" in frame.sentence)
            assert bits(replayed[frame.input]) == bits(frame.before)
            assert bits(frame.upstream) == bits(replayed[frame.node])
            replayed[frame.input] += frame.product
            assert bits(replayed[frame.input]) == bits(frame.after)
    for node, grad, last in zip(timeline.nodes, replayed, timeline.gradients()):
        if not node.constant:
            assert bits(grad) == bits(node.value.grad)
            assert last is None or bits(last) == bits(grad)
    json.loads(timeline.to_json())


@settings(max_examples=60, deadline=None)
@given(graphs())
def test_forward_frames_come_before_their_use_and_once(root):
    timeline = frames(root)
    seen = {node.id for node in timeline.nodes if node.constant}
    for frame in timeline:
        if frame.kind == "forward":
            assert frame.node not in seen
            assert all(j in seen for j in timeline.nodes[frame.node].inputs)
            seen.add(frame.node)
    assert seen == set(range(len(timeline.nodes)))
    assert len({node.name for node in timeline.nodes if not node.constant}) == len(timeline.code)


def test_a_times_a_has_two_contributions():
    a = Value(3.0)
    steps = [f for f in frames(a * a) if f.kind == "backward"]
    assert [(f.input, f.slot, f.before, f.after) for f in steps] == [(0, 0, 0.0, 3.0), (0, 1, 3.0, 6.0)]


def test_the_sentence_of_a_contribution_has_its_numbers():
    a, b, c = Value(2.0), Value(-3.0), Value(10.0)
    d = a * b
    L = d * c
    said = [f.sentence for f in frames(L)]
    assert "d = a * b → 2 * (−3) = −6" in said
    assert "a.grad += b.data * d.grad → 0 + (−3)(10) = −30" in said
    assert [f.rule for f in frames(L)][-2:] == ["∂d/∂a = b", "∂d/∂b = a"]


def test_names_come_from_labels_then_from_variables_then_by_count():
    a, weights = Value(1.0), [Value(2.0), Value(3.0)]
    out = (a * weights[1] + Value(4.0, label="b")).tanh()
    assert frames(out).code == [
        "a = 1.0",
        "weights[1] = 3.0",
        "v1 = a * weights[1]",
        "b = 4.0",
        "v2 = v1 + b",
        "out = tanh(v2)",
    ]
    assert frames(out, names={"q": a}).nodes[0].name == "q"


def test_naming_never_fails():
    class Hostile:
        def __getattribute__(self, name):
            raise RuntimeError(name)

        __eq__ = __bool__ = __len__ = __hash__ = None

    a, hostile, nested = Value(1.0), Hostile(), [[Hostile()], {"k": Hostile()}]
    assert frames(a * 2).nodes[0].name == "a"
    space = {"frames": frames, "root": a * 2, "x": hostile, "y": nested}
    exec("timeline = frames(root)", space)  # no source to be read
    assert space["timeline"].code == ["x1 = 1.0", "root = x1 * 2"]


def test_labels_that_are_no_names_and_doubles_still_give_names():
    x, w = Value(2.0, label="w"), Value(-3.0, label="w")
    p = Value(1.0, (x, w), "*", label="x1*w1")
    del x, w
    timeline = frames(p, names={})
    assert [node.name for node in timeline.nodes] == ["w", "w_2", "x1w1"]
    assert [node.label for node in timeline.nodes] == ["w", "w", "x1*w1"]


def test_the_source_line_of_a_name_is_known():
    a = Value(2.0)
    b = a * 3 + 1
    timeline = frames(b)
    texts = [source and source["text"] for source in timeline.sources]
    assert texts == ["a = Value(2.0)", "b = a * 3 + 1", "b = a * 3 + 1"]
    assert timeline.sources[0]["file"] == "test_frames.py"


def test_numbers_are_constants_without_a_gradient():
    a = Value(2.0)
    timeline = frames(a * 3)
    number = next(node for node in timeline.nodes if node.constant)
    assert (number.name, number.line, number.grad) == ("3", None, None)
    assert [f.input for f in timeline if f.kind == "backward"] == [0]


def test_gradients_are_unknown_until_a_pass_has_been_there():
    a, b = Value(2.0), Value(0.0)
    c = a * b
    d = (c + 1) * Value(5.0)
    assert [node.grad for node in frames(d).nodes] == [None] * len(frames(d).nodes)
    c.backward()
    grads = {node.name: node.grad for node in frames(d).nodes}
    assert (grads["a"], grads["b"], grads["c"], grads["d"]) == (0.0, 2.0, 1.0, None)


def test_a_hand_written_backward_is_run_and_put_back():
    a, b = Value(2.0), Value(-3.0)
    c = Value(a.data * b.data, (a, b), "mul2")

    def push():
        a.grad += b.data * c.grad
        b.grad += a.data * c.grad

    c._backward = push
    d = c + a
    a.grad = 7.0
    timeline = frames(d)
    assert (a.grad, b.grad, c.grad) == (7.0, 0.0, 0.0)
    grads = {node.name: g for node, g in zip(timeline.nodes, timeline.gradients())}
    assert (grads["a"], grads["b"]) == (-2.0, 2.0)
    assert timeline.nodes[2].partials == [-3.0, 2.0]


def test_an_overwriting_backward_is_seen_as_one():
    a = Value(2.0)
    c = Value(4.0, (a,), "double")
    c._backward = lambda: setattr(a, "grad", 2.0 * c.grad)
    d = a + c
    *_, last = frames(d)
    assert (last.before, last.product, last.after) == (1.0, 2.0, 2.0)
    assert "is lost" in last.sentence


def test_a_primitive_shows_its_own_partial():
    @primitive(lambda x, y: 3 * x * x)
    def cube(x):
        return x * x * x

    a = Value(2.0)
    *_, last = frames(cube(a))
    assert (last.local, last.rule) == (12.0, "∂out/∂a = 12")


def test_numbers_that_json_cannot_hold_are_texts():
    a = Value(0.0)
    rows = json.loads(frames(math.log(a)).to_json())
    assert [node["data"] for node in rows["nodes"]] == [0.0, "-inf"]
    assert rows["frames"][-1]["local"] == "inf"


def test_json_is_safe_inside_a_page():
    text = frames(Value(1.0, label="</script><b>&") * 2).to_json()
    assert not set("<>&") & set(text)
    assert json.loads(text)["nodes"][0]["label"] == "</script><b>&"


def test_a_deep_graph_is_no_matter():
    a = Value(1.0)
    x = a
    for _ in range(5000):
        x = x + a
    assert frames(x).gradients()[0] == 5001.0


def test_a_leaf_alone_has_two_frames():
    a = Value(2.0)
    assert [f.kind for f in frames(a)] == ["forward", "seed"]


@pytest.mark.parametrize("thing", [1.0, "a*b", None])
def test_what_is_no_value_is_refused(thing):
    with pytest.raises(TypeError, match="from a Value"):
        frames(thing)
