"""The order in which staged traces are made and asked, with staging replaced by a script: chain.py by itself."""

from __future__ import annotations

import pytest

from micrograd import Value
from micrograd.compile import chain as chains
from micrograd.compile.chain import Chain, Tracer, accepts
from micrograd.compile.tuning import TUNING
from micrograd.nn import Linear
from micrograd.stage import ahead, attempt
from micrograd.tape import interpret
from micrograd.tape.text import parse
from micrograd.tape.trace import Trace
from micrograd.tree import flatten
from micrograd.watch.modules import note

PLAIN = "%0 = input 0\n%1 = mul %0 %0\nreturn %1"
BELOW = "%0 = input 0\n%1 = const {}\n%2 = mul %0 %0\nguard lt %0 %1 is true\nreturn %2"  # holds for numbers below


def a_trace(below: float | None = None, *, bounded: bool = False, **has) -> Trace:
    """A staged trace that holds for numbers below a bound, or for all of them."""
    found = Trace(parse(PLAIN if below is None else BELOW.format(below)), [], ("*",))
    found.staged, found.bounded = True, bounded
    for name, x in has.items():
        setattr(found.evidence if name == "sampled" else found, name, x)
    return found


class Script:
    """What `ahead.rolled` and `attempt.merged` give at each level, and how they were called."""

    def __init__(self, monkeypatch, rolled=(), merged=()):
        self.rolled, self.merged = list(rolled), list(merged)
        self.calls: list[tuple] = []
        monkeypatch.setattr(chains, "has_loops", lambda f: True)
        monkeypatch.setattr(ahead, "rolled", self.give_rolled)
        monkeypatch.setattr(attempt, "merged", self.give_merged)

    def give_rolled(self, code, arrange, values, origins, limits, others, keep_types, given):
        assert given == values
        self.calls.append(("rolled", limits, keep_types))
        return self.rolled[limits.level] if limits.level < len(self.rolled) else None

    def give_merged(self, code, arrange, values, origins, plain, why, *, others, keep_types, level, given):
        assert given == values
        self.calls.append(("merged", level, plain, keep_types))
        return self.merged[level] if level < len(self.merged) else None

    @property
    def names(self):
        return [call[0] for call in self.calls]


def branch(x):
    return x * x if x < 3.0 else x


def tracer(f=branch, x=1.0, **options):
    leaves: list[float] = []
    shape = ("tuple", (flatten(x, leaves),))
    options = {"apart": False, **options}
    return Tracer(f, f, shape, leaves, code=f, arrange=lambda flat: ((flat[0],), {}), **options)


# ---- how far the staged traces have been made


@pytest.mark.parametrize(
    ("level", "long", "closed", "of_all_paths", "of_one_path"),
    [
        (0, True, False, False, False),
        (1, True, False, False, True),
        (2, True, False, False, True),
        (0, False, False, False, True),
        (1, False, False, False, True),
        (0, True, True, True, True),
        (1, False, True, True, True),
    ],
)
def test_what_a_call_waits_for_before_it_asks_single_paths(level, long, closed, of_all_paths, of_one_path):
    chain = Chain()
    assert (chain.level, chain.long, chain.closed, chain.last, chain.asks, chain.why) == (
        0,
        True,
        False,
        None,
        False,
        {},
    )
    chain.level, chain.long, chain.closed = level, long, closed
    assert (chain.settled(False), chain.settled(True)) == (of_all_paths, of_one_path)


def test_a_function_whose_paths_are_apart_is_not_staged(monkeypatch):
    script, chain = Script(monkeypatch, [a_trace()], [a_trace()]), Chain()
    assert tracer(apart=True).next(chain) is None
    assert chain.closed and not script.calls
    assert tracer().next(chain) is None and not script.calls  # nor by a later call


def test_levels_of_a_long_loop_go_on_while_the_last_one_is_bounded(monkeypatch):
    first, second = a_trace(1.0, bounded=True), a_trace(2.0, bounded=False)
    script, chain = Script(monkeypatch, [first, second]), Chain()
    assert tracer().next(chain) is first
    assert chain.last is first and chain.long and not chain.closed and chain.level == 0
    chain.level = 1
    assert tracer().next(chain) is second
    assert chain.last is second and chain.closed
    assert tracer().next(chain) is None
    assert [(name, limits.level) for name, limits, _ in script.calls] == [("rolled", 0), ("rolled", 1)]


def test_a_level_of_a_long_loop_that_cannot_be_staged_is_the_last(monkeypatch):
    script, chain = Script(monkeypatch, [a_trace(1.0, bounded=True)], [a_trace(), a_trace()]), Chain()
    tracer().next(chain)
    chain.level = 1
    assert tracer().next(chain) is None
    assert (
        chain.closed and chain.long and script.names == ["rolled", "rolled"]
    )  # its paths are not merged in another way


def test_a_level_that_changes_nothing_is_the_last(monkeypatch):
    Script(monkeypatch, [a_trace(1.0, bounded=True), a_trace(1.0, bounded=True), a_trace(2.0)])
    chain = Chain()
    first = tracer().next(chain)
    chain.level = 1
    assert tracer().next(chain) is None
    assert chain.closed and chain.last is first


def test_paths_are_merged_where_no_loop_is_long(monkeypatch):
    first, second = a_trace(1.0, bounded=True), a_trace(2.0)
    script, chain = Script(monkeypatch, [], [first, second]), Chain()
    assert tracer().next(chain) is first
    assert not chain.long and not chain.closed and chain.last is first
    chain.level = 1
    assert tracer(rows=True).next(chain) is second and chain.closed
    assert [call[:2] for call in script.calls if call[0] == "merged"] == [("merged", 0), ("merged", 1)]
    (_, _, plain, keep_types), (_, _, none, keep_of_rows) = [call for call in script.calls if call[0] == "merged"]
    assert plain.tape.guards and none is None  # the path of these numbers is a check of the first level alone
    assert (keep_types, keep_of_rows) == (True, False)
    assert script.names == ["rolled", "merged", "merged"]


def test_paths_that_cannot_be_merged_are_the_last(monkeypatch):
    script, chain = Script(monkeypatch), Chain()
    assert tracer().next(chain) is None
    assert chain.closed and not chain.long and script.names == ["rolled", "merged"]


def test_a_function_with_one_path_is_not_merged(monkeypatch):
    script, chain = Script(monkeypatch, [], [a_trace()]), Chain()
    assert tracer(lambda x: x * x).next(chain) is None
    assert chain.closed and script.names == ["rolled"]


def test_a_call_that_needs_one_path_looks_for_long_loops_alone(monkeypatch):
    script, chain = Script(monkeypatch, [], [a_trace()]), Chain()
    assert tracer(one_path=True).next(chain) is None
    assert not chain.long and not chain.closed and script.names == ["rolled"]
    assert tracer().next(chain) is script.merged[0]  # a call that can use all paths goes on from there


@pytest.mark.parametrize(("rows", "share"), [(False, 1), (True, 8)])
def test_the_limits_of_a_long_loop_are_those_of_the_tuning(monkeypatch, rows, share):
    script = Script(monkeypatch)
    tracer(rows=rows).next(Chain())
    _, limits, keep_types = script.calls[0]
    assert (limits.iterations, limits.work, limits.statements) == (2, TUNING.rolled_work, TUNING.searched_statements)
    assert limits.kept * share == TUNING.kept_states and type(limits.kept) is int
    assert (limits.sample, limits.level, keep_types) == (TUNING.interpreted_loop, 0, not rows)


def test_what_was_found_is_noted(monkeypatch):
    noted = a_trace(1.0, notes={"f.py:3": "merged"}, asked={(int,)})
    Script(monkeypatch, [noted])
    chain = Chain()
    tracer().next(chain)
    assert chain.why == {"f.py:3": "merged", "": "not merged: this row does what is kept apart"}
    assert chain.asks is True
    assert tracer().plain(chain).notes == chain.why
    assert tracer(lambda x: x * x).plain(chain).notes == {}  # a function with one path has nothing to explain


# ---- the trace of these numbers


def test_a_path_is_traced_once(monkeypatch):
    from micrograd.evidence import checker as module

    runs, trace = [], module.trace_twice
    monkeypatch.setattr(module, "trace_twice", lambda *args: (runs.append(args), trace(*args))[1])
    weights = [2.0]
    one, chain = tracer(lambda x: x * weights[0]), Chain()
    found = one.plain(chain)
    assert one.plain(chain) is found and len(runs) == 1


@pytest.mark.parametrize("rows", [False, True])
def test_a_point_keeps_its_arguments_and_a_row_does_not(rows):
    one = tracer(x=7, rows=rows).checker
    assert one.origins == (None if rows else [7]) and one.values == [7.0]


def test_a_function_that_compares_types_is_warned_of():
    def f(x):
        return x if type(x) is float else x * 2.0

    with pytest.warns(RuntimeWarning, match="type\\(\\) of a number is compared"):
        tracer(f)


@pytest.mark.parametrize(
    ("x", "expected"),
    [(0.5, 0), (1.5, 1), (2.5, 2), (3.5, None)],
)
def test_numbers_are_taken_by_the_first_level_that_holds(monkeypatch, x, expected):
    levels = [a_trace(1.0, bounded=True), a_trace(2.0, bounded=True), a_trace(3.0)]
    script = Script(monkeypatch, levels)
    found = tracer(x=x).taken()
    assert found is levels[expected] if expected is not None else not found.staged
    assert [limits.level for _, limits, _ in script.calls] == list(range(3 if expected is None else expected + 1))


def test_a_call_that_needs_one_path_gets_its_own_where_paths_are_merged(monkeypatch):
    Script(monkeypatch, [a_trace(merged=True)])
    assert not tracer(one_path=True).taken().staged
    assert tracer().taken().staged
    Script(monkeypatch, [a_trace(merged=False)])
    assert tracer(one_path=True).taken().staged


def test_the_modules_that_were_read_belong_to_the_trace(monkeypatch):
    inside, outside = Linear(1, 1), Linear(1, 1)

    def f(x):
        return inside(x)[0] if False else branch(x)

    script = Script(monkeypatch, [], [a_trace(1.0)])
    give = script.give_rolled

    def rolled(*args):
        note(outside)  # read by a run that found nothing
        return give(*args)

    monkeypatch.setattr(ahead, "rolled", rolled)
    found = tracer(f).next(Chain())
    assert {id(m) for m in found.modules} == {id(inside), id(outside)}


def test_a_staged_trace_is_checked_against_plain_runs():
    right, wrong = a_trace(), a_trace()
    wrong.tape = parse("%0 = input 0\n%1 = add %0 %0\nreturn %1")
    one = tracer(lambda x: x * x, x=1.5).checker
    assert one.holds(right) is True
    with pytest.warns(RuntimeWarning, match="This is a defect of micrograd"):
        assert one.holds(wrong) is False


# ---- whether a trace holds


def test_a_trace_holds_where_its_guards_do():
    assert accepts(a_trace(2.0), [1.0]) and not accepts(a_trace(2.0), [3.0])
    assert accepts(a_trace(), [3.0])


def test_guards_may_read_captured_values():
    below = Value(2.0)
    found = a_trace()
    found.tape = parse("%0 = input 0\n%1 = param 0\nguard lt %0 %1 is true\nreturn %0")
    found.captured = [below]
    assert accepts(found, [1.0]) and not accepts(found, [3.0])
    below.data = 4.0
    assert accepts(found, [3.0])


@pytest.mark.parametrize("has", [{"sampled": False}, {"below": None}])
def test_what_need_not_be_interpreted_is_not(monkeypatch, has):
    def interpreted(*args):
        raise AssertionError("interpreted")

    monkeypatch.setattr(interpret, "run", interpreted)
    assert accepts(a_trace(**{"below": 2.0, **has}), [3.0])


def test_a_trace_that_takes_too_long_to_interpret_is_taken_for_granted(monkeypatch):
    limits = []

    def too_long(run, most):
        limits.append(most)
        raise interpret.TooLong

    monkeypatch.setattr(interpret, "counted", too_long)
    assert accepts(a_trace(2.0), [3.0])
    assert limits == [TUNING.interpreted_loop * 100]
