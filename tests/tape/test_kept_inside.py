"""What is kept of loops inside a loop: elements where they are fewer numbers than the array, and otherwise the array."""

from __future__ import annotations

import pytest

from micrograd import Value
from micrograd.tape import passes
from micrograd.tape.check import check, shapes
from micrograd.tape.interpret import run
from micrograd.tape.passes.states import KeptState, kept
from micrograd.tape.text import parse

LENGTH = 40  # of the list that the loops change


def lines(*texts: str) -> str:
    """A tape of these instructions, numbered, and the last line as it is."""
    return "\n".join([*(f"%{i} = {text}" for i, text in enumerate(texts[:-1])), texts[-1]])


def nested(inner: str, head: str, body: str, *, rows: int = 0) -> str:
    """A tape with a loop of three iterations that carries a list (of lists with `rows` items), and a loop inside of it.

    `head` is what stands between `loop` and its condition, `inner` its condition and body. Its operands are %0, the list;
    %1, a number that is the same in all iterations; %2, the number of the iteration; and what `body` computes from these.
    """
    listed = " ".join(["%0", "%1"] * (LENGTH // 2))
    outside = ["input 0", "input 1", f"stack {listed}"]
    if rows:
        outside = [
            "input 0",
            "input 1",
            f"stack {' '.join(['%0', '%1'] * (rows // 2))}",
            f"stack {'%2 ' * LENGTH}".strip(),
        ]
    last = len(outside) - 1
    inside = lines("input 0", "input 1", "input 2", *body.format(loop=f"loop {head} {inner}").split(";"))
    end = f"load %{last + 2} %{last + 3}"
    ends = [end, f"load %{last + 4} %{last + 3}"] if rows else [end]
    outside += [f"loop 3 carry %{last} with %1 do {{\n{inside}\n}}", f"result %{last + 1} 0", "const 2.0", *ends]
    square = len(outside) - 1
    return lines(*outside, f"mul %{square} %{square}", f"return %{square + 1}")


def keeps(text: str) -> KeptState:
    """What the outer loop keeps of each iteration."""
    tape = parse(text)
    found = shapes(tape)
    place = next(i for i, op in enumerate(tape.ops) if op.name == "loop")
    return kept(tape.ops[place], [found[a] for a in tape.args[place]])


def assert_right(text: str) -> None:
    """The adjoint, and its adjoint, give what backward() does over the graph of one run."""
    tape = parse(text)
    check(tape)
    numbers = [1.25, 0.75]
    values = [Value(x) for x in numbers]
    run(tape, values)[0].backward()
    swept = passes.prune(passes.adjoint(tape, [0, 1]))  # without what is not read of arrays that are not computed again
    check(swept)
    assert run(swept, numbers)[1:] == pytest.approx([v.grad for v in values], rel=1e-12)
    values = [Value(x) for x in numbers]
    run(swept, values)[1].backward()
    twice = run(passes.prune(passes.adjoint(swept, [0, 1])), numbers)
    assert twice[3 + 2 : 3 + 4] == pytest.approx([v.grad for v in values], rel=1e-12)


# The body of a loop inside that carries the list: element k becomes the square of itself times an invariant.
STEP = lines("input 0", "input 1", "input 2", "load %0 %2", "mul %3 %1", "mul %4 %4", "store %0 %2 %5", "return %6")
DO = f"do {{\n{STEP}\n}}"
PLAIN = "{loop};result %3 0;return %4"


def while_(*texts: str) -> str:
    """A condition of a loop."""
    return f"while {{\n{lines(*texts)}\n}} "


COUNTS = while_("input 2", "const 3.0", "lt %0 %1", "return %2")  # the number of the iteration and a constant
COUNTS_TO = while_("input 2", "input 1", "lt %0 %1", "return %2")  # the number of the iteration and an invariant
READS = while_("input 0", "const 0.0", "load %0 %1", "const 9.0", "lt %2 %3", "return %4")  # the list


@pytest.mark.parametrize(
    ("what", "head", "condition", "skips"),
    [
        ("so many times", "4 carry %0 with %1", "", True),
        ("so many times, backwards", "4 reverse carry %0 with %1", "", True),
        ("at most so often, by the number of the iteration", "4 carry %0 with %1", COUNTS, True),
        ("at most so often, by an invariant", "4 carry %0 with %1", COUNTS_TO, True),
        ("at most so often, by what the loop changes", "4 carry %0 with %1", READS, False),
        ("as often as needed", "carry %0 with %1", COUNTS, False),
    ],
)
def test_of_a_loop_inside_whose_iterations_are_known_elements_are_kept(what, head, condition, skips):
    """It is not computed again in the reverse sweep; of any other one, the list is kept and the loop runs once more."""
    text = nested(condition + DO, head, PLAIN)
    found = keeps(text)
    assert bool(found.loops) == skips
    assert found.whole == (set() if skips else {0})
    assert_right(text)


def test_a_list_that_the_loop_inside_runs_over_is_kept():
    """Its rows are read one after the other, and not by their numbers."""
    add = lines("input 0", "input 1", "const 1.0", "load %1 %2", "mul %0 %3", "return %4")
    body = "load %0 %2;load %3 %2;{loop};result %5 0;store %3 %2 %6;store %0 %2 %7;return %8"
    text = nested(f"do {{\n{add}\n}}", f"{LENGTH} carry %4 over %0", body, rows=8)
    found = keeps(text)
    assert (found.loops, found.whole) == ({}, {0})
    assert_right(text)


def test_a_loop_inside_that_changes_another_list_is_computed_again():
    """The other list is made in the iteration, so that none of its elements is kept."""
    step = lines(
        "input 0", "input 1", "input 2", "load %0 %2", "load %1 %2", "mul %3 %4", "store %0 %2 %5", "return %6"
    )
    body = "stack %1 %1 %1;{loop};result %4 0;load %5 %2;load %0 %2;mul %6 %7;store %0 %2 %8;return %9"
    text = nested(f"do {{\n{step}\n}}", "2 carry %3 with %0", body)
    found = keeps(text)
    assert (found.loops, found.whole) == ({}, {0})
    assert_right(text)


def test_rows_that_a_loop_inside_reads_count_with_all_of_their_items():
    """Each of its iterations reads a row of 8 items and one of them."""
    step = lines("input 0", "input 1", "input 2", "load %0 %2", "load %3 %2", "mul %4 %1", "store %3 %2 %5",
                 "store %0 %2 %6", "return %7")  # fmt: skip
    for iterations, skips in ((LENGTH // 2, True), (LENGTH, False)):
        text = nested(f"do {{\n{step}\n}}", f"{iterations} carry %0 with %1", PLAIN, rows=8)
        assert bool(keeps(text).loops) == skips
        assert_right(text)


def test_where_no_loop_stores_elements_nothing_is_kept_beside_the_carried_values():
    """The loop inside reads the list by numbers, and what changes it is an addition."""
    step = lines("input 0", "input 1", "input 2", "load %1 %2", "mul %0 %3", "return %4")
    body = "{loop};result %3 0;bump %0 %2 %4;return %5"
    text = nested(f"do {{\n{step}\n}}", "4 carry %1 with %0", body)
    assert keeps(text) == KeptState([], {}, set())
    assert_right(text)
