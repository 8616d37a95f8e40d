"""Expressions: read by a grammar over the table, never by eval; what cannot be read is pointed at."""

import ast
import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from micrograd import Value
from micrograd.learn import expression, grammar
from micrograd.learn.expression import MAX_DEPTH, MAX_LENGTH, MAX_NODES, ExpressionError, build, parse, read_values
from micrograd.ops import OPS


@pytest.mark.parametrize(
    ("text", "values", "result"),
    [
        ("(a+b)*c", {"a": 2, "b": -3, "c": 10}, -10.0),
        ("b=a*3; c=b+1; d=b*c", {"a": 2}, 42.0),
        ("a = 2\nb = a * 3  # three times\n\nb + 1", {}, 7.0),
        ("-a**2", {"a": 3}, -9.0),
        ("2**-1", {}, 0.5),
        ("2**3**2", {}, 512.0),
        ("a - b - c", {"a": 1, "b": 2, "c": 3}, -4.0),
        ("7 // 2 % 2", {}, 1.0),
        ("tanh(x1*w1 + b)", {"x1": 0, "w1": 1, "b": 0}, 0.0),
        ("(a*b).tanh().exp()", {"a": 0, "b": 1}, 1.0),
        ("sum([a, b, 3]) + sum(a, b)", {"a": 1, "b": 2}, 9.0),
        ("dot([a, b], [3, 4])", {"a": 1, "b": 2}, 11.0),
        ("max(a, b) + where(a < b, 10, 20)", {"a": 1, "b": 2}, 12.0),
        ("leaky_relu(a) + leaky_relu(a, 0.5)", {"a": -1}, -0.51),
        ("2*pi", {}, math.tau),
        ("pi", {"pi": 3}, 3.0),
        ("sum(\n a,\n b)", {"a": 1, "b": 2}, 3.0),
        ("1e3 + .5 + 2.", {}, 1002.5),
        ("log(0)", {}, -math.inf),
    ],
)
def test_values(text, values, result):
    assert parse(text).build(values).data == pytest.approx(result, nan_ok=True)


def test_names_become_labels_and_numbers_constants():
    root = parse("b = a*3; d = b*b").build({"a": 2})
    assert root.label == "d"
    assert [v.label for v in root._prev] == ["b", "b"]
    root.backward()
    assert root._prev[0]._prev[0].grad == 36.0


def test_a_line_with_a_number_is_a_leaf_that_can_be_set():
    assert parse("a = 2; b = a * 3").build().data == 6.0
    assert parse("a = 2; b = a * 3").build({"a": 5}).data == 15.0
    assert build("a + 1", a=1).data == 2.0


@pytest.mark.parametrize(
    ("text", "values", "position", "message"),
    [
        ("(a+b*", {}, 5, "missing"),
        ("(a+b", {}, 4, r"expected '\)'"),
        ("a+b)", {}, 3, "closes nothing"),
        ("a^2", {}, 1, r"\*\*"),
        ("a² + 1", {}, 1, r"\*\*"),
        ("2a", {}, 1, "product is written"),
        ("a b", {}, 2, "product is written"),
        ("foo(a)", {}, 0, "no operation foo"),
        ("sigmod(a)", {}, 0, "did you mean sigmoid"),
        ("tanh", {}, 0, r"write tanh\("),
        ("tanh(a, b)", {}, 0, "takes 1 input"),
        ("a.data", {}, 6, "brackets"),
        ("a.__class__()", {}, 2, "no operation"),
        ("__import__('os')", {}, 11, "means nothing"),
        ("__import__(os)", {}, 0, "no operation"),
        ("a < b < c", {}, 6, "chain"),
        ("a = b = 2", {}, 6, "="),
        ("exp = 2", {}, 0, "is an operation"),
        ("", {}, 0, "empty"),
        (" ; \n", {}, 0, "empty"),
        ("a + c", {"a": 1}, 4, "c has no number"),
        ("a", {"a": 1, "b": 2}, 0, "b, which the expression does not use"),
        ("a = b*2", {"b": 1, "a": 3}, 0, "computed here"),
        ("[a, b]", {"a": 1, "b": 1}, 0, "list"),
        ("[a] + 1", {}, 0, "list"),
        ("dot([a], [b, c])", {"a": 1, "b": 1, "c": 1}, 0, "one length"),
        ("mean()", {}, 0, "empty list"),
        ("a\n+ (b *\n* c)", {}, 9, "needed here"),
        ("lambda: 0", {}, 6, "means nothing"),
    ],
)
def test_an_error_points_at_its_character(text, values, position, message):
    with pytest.raises(ExpressionError, match=message) as caught:
        parse(text).build(values)
    assert caught.value.position == position
    lines = str(caught.value).split("\n")
    shown, caret = lines[-2], lines[-1]
    assert caret.strip() == "^"
    if position < len(text) and text[position] != "\n":
        assert shown[caret.index("^")] == text[position]
    assert caught.value.as_dict()["position"] == position


def test_limits():
    with pytest.raises(ExpressionError, match="characters"):
        parse("a" * (MAX_LENGTH + 1))
    with pytest.raises(ExpressionError, match="nested"):
        parse("(" * (MAX_DEPTH + 1) + "a" + ")" * (MAX_DEPTH + 1))
    with pytest.raises(ExpressionError, match="nested"):
        parse("-" * (MAX_DEPTH + 1) + "a")
    with pytest.raises(ExpressionError, match="nested"):
        parse("**".join("a" * (MAX_DEPTH + 2)))
    with pytest.raises(ExpressionError, match="at most"):
        parse("+".join("a" * (MAX_NODES // 2 + 1)))
    assert parse("+".join("a" * (MAX_NODES // 2))).build({"a": 1}).data == MAX_NODES // 2
    assert parse(".tanh()".join(["a", *[""] * 100])).build({"a": 0}).data == 0


@pytest.mark.parametrize("module", [expression, grammar])
def test_nothing_is_evaluated_as_python(module):
    with open(module.__file__, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    called = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    assert not called & {"eval", "exec", "compile", "__import__", "getattr", "open"}


WORDS = ["a", "b", "x1", "(", ")", "[", "]", "+", "-", "*", "/", "//", "%", "**", "<", "==", "=", ";", "\n", ",", ".",
         "2", "0.5", "1e9", "1e999", " ", "  ", "^", "§", "'", "\\", "\0", "𝔵", "é", "#", "__class__", "lambda",
         *OPS]  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
def test_ten_thousand_random_expressions_give_a_result_or_a_clean_error(seed):
    rng = random.Random(seed)
    results = 0
    for k in range(2500):
        if k % 3:
            text = "".join(rng.choice(WORDS) for _ in range(rng.randrange(1, 40)))
        else:
            text = "".join(
                chr(rng.choice([rng.randrange(32, 127), rng.randrange(1, 0x2FFF)])) for _ in range(rng.randrange(60))
            )
        try:
            root = parse(text).build(default=rng.choice([-1.5, 0.0, 2.0]))
        except ExpressionError as error:
            assert 0 <= error.position <= len(text)
            assert error.message and "Traceback" not in str(error)
        else:
            assert isinstance(root, Value)
            results += 1
    assert results > 20


@st.composite
def sources(draw, depth=4):
    """A random expression that both Python and this grammar read."""
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        return draw(st.sampled_from("abcd"))
    kind = draw(st.integers(0, 3))
    left, right = draw(sources(depth=depth - 1)), draw(sources(depth=depth - 1))
    if kind == 0:
        return f"({left})"
    if kind == 1:
        return f"-{left}"
    return f"{left} {draw(st.sampled_from(['+', '-', '*', '**', '%', '//', '/']))} {right}"


@settings(max_examples=200, deadline=None)
@given(sources())
def test_precedence_is_pythons(text):
    values = {"a": 1.5, "b": -2.0, "c": 3.0, "d": 0.5}
    expected = eval(text, {name: Value(x) for name, x in values.items()})  # names only: numbers alone raise in Python
    got = parse(text).build({name: x for name, x in values.items() if name in text})
    assert str(got.data) == str(expected.data)


def test_values_of_a_command_line():
    assert read_values(["a=2", "b=-3", "c=1e1"]) == {"a": 2.0, "b": -3.0, "c": 10.0}
    for word in ("a", "=2", "2=3", "a=two", "a="):
        with pytest.raises(ExpressionError):
            read_values([word])
