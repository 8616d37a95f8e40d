"""The corpus reads docstrings, FPCore and NIST's files as they are written, and counts what is wrong as wrong."""

from __future__ import annotations

import argparse
import json
import math
import sys
import types
from random import Random

import pytest

from micrograd import primitive
from twins import ROOT

sys.path.insert(0, str(ROOT))
pytest.importorskip("numpy")
corpus = pytest.importorskip("corpus", reason="the sdist has no corpus")

from corpus import doctests, fpcore, nist, run  # noqa: E402

COMPILES = True
CORES = """
; a comment with a "quote
(FPCore (x y) :name "hidden; variables" :pre (and (<= 1 x 2) (< 0 y 0.5))
  (let ([x (+ x 1)] [z (* x y)]) (let* ([x (* x z)] [w (- x)]) (/ (+ x w 3/4) (fabs y)))))
(FPCore (n x) :name "loop" :pre (<= 3 n 5)
  (while (< i n) ([i 0 (+ i 1)] [s 0 (+ s (pow x i))]) s))
(FPCore (x) :name "sequential" (while* (< a 3) ([a 0 (+ a 1)] [b x (* b (+ a 1))]) b))
(FPCore (x) (if (and (< 0 x 1) (not (== x 0.5))) (sqrt x) (! :precision binary32 (exp x))))
(FPCore (x) (tensor ([i 3]) i))
"""


@pytest.fixture
def programs(tmp_path):
    (tmp_path / "small.fpcore").write_text(CORES, encoding="utf-8")
    return [program for _, program in fpcore.programs(tmp_path)]


def test_fpcore_becomes_python_with_the_same_meaning(programs):
    hidden, loop, sequential, choice, tensor = programs
    x, y = 1.5, 0.25
    z = x * y  # the bindings of `let` do not see each other, those of `let*` do
    inner = (x + 1) * z
    assert hidden.function(x, y) == (inner + -inner + 3 / 4) / abs(y)
    assert hidden.name == "hidden; variables" and hidden.holds(x, y) and not hidden.holds(3.0, y)
    assert hidden.bounds == {"x": (1.0, 2.0), "y": (0.0, 0.5)}
    assert loop.function(4.0, 2.0) == 1 + 2 + 4 + 8
    assert sequential.function(1.0) == 2 * 3 * 4
    assert choice.function(0.25) == 0.5 and choice.function(0.5) == math.exp(0.5)
    assert "'tensor'" in tensor


def test_inputs_fulfil_what_a_program_states(programs):
    points = fpcore.inputs(programs[0], Random(0), 5)
    assert len(points) == 5 and all(1 <= x <= 2 and 0 < y < 0.5 for x, y in points)


def test_programs_of_a_folder_are_counted(tmp_path):
    (tmp_path / "small.fpcore").write_text(CORES, encoding="utf-8")
    given = argparse.Namespace(fpcore=[tmp_path], every=1, processes=1, until=None, plan=run.Plan(30, 2, True))
    ((title, results),) = fpcore.results(given)
    assert title == f"FPCore in {tmp_path.name}" and len(results) == 4 * fpcore.POINTS
    assert {r.kind for r in results} <= {"right", "kink"}


NIST = """NIST/ITL StRD
Data:          1 Response Variable  (y = volume)

Model:         Exponential Class
               2 Parameters (b1 and b2)

               y = b1*(1-exp[-b2*x])
                     + 0*arctan[x]  +  e

          Starting values                  Certified Values

        Start 1     Start 2           Parameter     Standard Deviation
  b1 =   2           3           4.0000000000E+00  2.7070075241E+00
  b2 =   1.0         0.7         5.0000000000E-01  7.2668688436E-06

Data:   y               x
      {}
"""


def test_a_problem_of_nist_is_read_and_fitted(tmp_path):
    pytest.importorskip("scipy")
    rows = "\n      ".join(f"{4.0 * (1 - math.exp(-0.5 * x))!r}   {x!r}" for x in (0.5, 1.0, 2.0, 3.0, 5.0, 8.0))
    (tmp_path / "Small.dat").write_text(NIST.format(rows), encoding="ascii")
    problem = nist.read(tmp_path / "Small.dat")
    assert problem.formula == "b1*(1-exp(-b2*x)) + 0*atan(x)" and not problem.logarithm
    assert (problem.starts, problem.certified) == ([[2.0, 1.0], [3.0, 0.7]], [4.0, 0.5])
    assert problem.model([4.0, 0.5], [2.0]) == 4.0 * (1 - math.exp(-1.0))
    assert len(problem.y) == len(problem.x) == 6


def test_calls_in_docstrings_are_found_with_their_arguments_by_position(monkeypatch):
    text = '''
def area(width, height=2.0, *, unit="m"):
    """Return an area.

    >>> w = 3.0
    >>> area(w, height=4.0)
    12.0
    >>> area(height=5.0, width=1.0)
    5.0
    >>> area(3)
    6.0
    >>> sum([area(1.0), 2.0])
    4.0
    """
    return width * height
'''
    module = types.ModuleType("areas")
    exec(text, module.__dict__)
    monkeypatch.setitem(sys.modules, "areas", module)
    found = list(doctests.calls("areas"))
    assert [(c.args, c.stated) for c in found] == [((3.0, 4.0), "12.0"), ((1.0, 5.0), "5.0")]
    assert (
        doctests.agrees("12.0", 12.0 + 1e-9)
        and doctests.agrees("(1, [2.0])", (1, [2.0]))
        and not doctests.agrees("1.0", 1.1)
    )
    assert doctests.agrees("<object>", 1.0) is None


def test_outcomes_name_what_is_wrong_refused_and_slow():
    @primitive(lambda x, y: 7.0)
    def odd(x):
        return x * x

    assert run.outcome("right", lambda x: x * x, (2.0,), run.Plan(30, eager=True)).kind == "right"
    assert run.outcome("wrong", odd, (2.0,), run.Plan(30, eager=True)).kind == "wrong"
    assert run.outcome("raises", lambda x: [][0], (2.0,), run.Plan()) is None
    assert run.outcome("no numbers", lambda x: "text", (2.0,), run.Plan()) is None

    slow = run.outcome("slow", _slow_for_values, (2.0,), run.Plan(1, eager=True))
    assert (slow.kind, slow.detail) == ("slow", "over 1 s")
    lines = run.table(
        [("some", [run.Result("f", "right", "", "", 0.1), run.Result("g", "wrong", "jit value", "x", 0.1)])]
    )
    assert lines.splitlines()[-1] == "| some | 2 | 1 | 0 | 0 | 0 | 0 | 1 |"


def test_kinks_are_shown_by_digits(monkeypatch):
    digits = pytest.importorskip("corpus.digits", reason="it needs mpmath")
    import oracle

    tie, steep = (lambda x: abs(x - 1.0), (1.0,)), (lambda x, y: math.exp(-x / y), (1.0, 1e-3))
    assert digits.verdict(*tie, 1)[0] == "kink" and "1.0, -1.0" in digits.verdict(*tie, 1)[1]
    assert digits.verdict(*steep, 1) == digits.verdict(*steep, 2) == ("right", "")
    assert (
        digits.verdict(lambda x, y: x * x * y if x < 1.0 else y, (1.0, 2.0), 1)[0] == "kink"
    )  # the branches do not meet
    assert digits.verdict(lambda x, y: x * x * y if x < 1.0 else y * x * x, (1.0, 2.0), 2) == ("right", "")
    assert digits.verdict(lambda x: x * abs(x), (0.0,), 1) == ("right", "")
    assert digits.verdict(lambda x: x * abs(x), (0.0,), 2)[0] == "kink"
    assert digits.verdict(lambda p: p[0] * p[1] ** 2 + 0.0 * p[2], ([2.0, 3, 1.5],), 2) == ("right", "")

    @primitive(lambda x, y: 7.0)
    def odd(x):
        return x * x

    with pytest.raises(digits.Unknown, match="odd"):
        digits.verdict(odd, (2.0,), 1)
    row = oracle.REFERENCE["sin"]
    monkeypatch.setitem(
        oracle.REFERENCE, "sin", oracle.Reference(lambda a: row.value(a) + (a - 2), row.partials, "any")
    )
    assert digits.verdict(math.sin, (2.0,), 1)[0] == "wrong"  # as a wrong partial of ours would be


def _slow_for_values(x):
    while type(x) is not float:
        pass
    return x * 2.0


def test_every_requirement_has_a_version():
    lines = (ROOT / "corpus/requirements.txt").read_text(encoding="utf-8").splitlines()
    assert all("==" in line for line in lines if line and not line.startswith("#"))


def test_jobs_run_in_processes_and_late_ones_are_left_out():
    assert run.in_processes([(4.0,), (9.0,)], math.sqrt, 2) == [2.0, 3.0]
    assert run.in_processes([(4.0,), (9.0,)], math.sqrt, 1, until=0.0) == []
    assert run.in_processes([(4.0,)] * 50, math.sqrt, 2, until=0.0) == []
    with pytest.raises(ValueError, match=r"domain|nonnegative"):
        run.in_processes([(-1.0,)], math.sqrt, 2)


def test_every_part_can_be_run_by_a_worker():
    from corpus import cutest, programs

    for work in (doctests.some, cutest.some, programs.some):
        assert work.__module__ != "__main__" and getattr(sys.modules[work.__module__], "some") is work  # noqa: B009


def test_first_results_are_timed():
    found = run.outcome("f", lambda x: x * x, (2.0,), run.Plan(30, eager=True))
    assert 0.0 <= found.first < 30.0
    slow = found._replace(first=2.5)
    assert run.first_results([found, slow, found._replace(first=None)]).startswith(
        "first result within 1 s of processor time: 1 of 2 (50.0 %)"
    )
    assert run.first_results([]) == "no first results were timed"


def test_no_call_begins_after_its_time(monkeypatch):
    monkeypatch.setattr(doctests, "_calls", lambda package: [doctests.Call("f", math.sqrt, (4.0,), "2.0")] * 3)
    plan = run.Plan(30, eager=True)
    assert len(doctests.some("any", 0, 1, plan)) == 3
    assert doctests.some("any", 0, 1, plan._replace(until=0.0)) == []


def test_slices_of_a_run_add_up(monkeypatch, tmp_path):
    seen = []

    def square(x):
        seen.append(x)
        return x * x

    shown = [doctests.Call("square", square, (4.0,), "16.0"), doctests.Call("text", lambda x: "text", (4.0,), "")]
    monkeypatch.setattr(doctests, "_calls", lambda package: shown)
    plan = run.Plan(30, eager=True, keep=str(tmp_path / "kept.jsonl"))
    first = doctests.some("any", 0, 1, plan)
    calls = len(seen)
    run._kept.cache_clear()  # as in another process
    assert doctests.some("any", 0, 1, plan) == first and [r.kind for r in first] == ["right"]
    assert len(seen) == calls > 0
    doctests.some("any", 0, 1, plan._replace(order=2))  # another question
    assert len(seen) > calls


def test_counts_are_kept_by_group(tmp_path):
    file = tmp_path / "corpus.json"
    right = run.Result("f", "right", "", "", 0.1)
    run.record(file, [("one", [right, right]), ("two", [run.Result("g", "right", "theirs is wrong", "x", 0.1)])], "a")
    run.record(file, [("one", [right, run.Result("h", "wrong", "jit value", "x", 0.1)])], "b")
    kept = json.loads(file.read_text(encoding="utf-8"))
    assert (kept["one"]["calls"], kept["one"]["wrong"], kept["one"]["command"]) == (2, 1, "b")
    assert (kept["two"]["right"], kept["two"]["theirs"]) == (1, ["g"])


def test_programs_of_other_packages_are_called_as_users_call_them():
    from corpus import programs

    verification = programs._verification(
        "5 xx\n 0.0 1.0 2.0 3.0 4.0 5.0 6.0\n 360.0 7.0 8.0 9.0 0.1 0.2 0.3 2000 1 1\n6 xx\n"
    )
    assert verification == {"5": [(0.0, [1.0, 2.0, 3.0]), (360.0, [7.0, 8.0, 9.0])], "6": []}
