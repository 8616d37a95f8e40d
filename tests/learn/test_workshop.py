"""The workshop: right solutions pass, typical wrong ones are met by their own messages, and the terminal commands work."""

import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from learn.workshop_errors import WRONG
from micrograd.cli import main
from micrograd.learn.workshop import browser, process
from micrograd.learn.workshop import folder as workshop
from micrograd.learn.workshop.catalog import BY_NAME, EXERCISES
from micrograd.learn.workshop.judge import CHECKS, FILES, judge
from micrograd.learn.workshop.process import check

WRITTEN = [exercise for exercise in EXERCISES if not exercise.milestone]


@pytest.fixture
def solved(tmp_path):
    for exercise in WRITTEN:
        (tmp_path / exercise.file).write_text(exercise.solution)
    return tmp_path


def test_there_are_twenty_exercises_with_texts_and_checks():
    assert len(WRITTEN) == 20
    assert set(CHECKS) == set(BY_NAME)
    for exercise in WRITTEN:
        assert len(exercise.hints) >= 3
        assert exercise.task.split('"""')[1] == exercise.solution.split('"""')[1]
        compile(exercise.task, exercise.file, "exec")


@pytest.mark.parametrize("name", [exercise.name for exercise in EXERCISES])
def test_a_right_solution_passes(solved, name):
    verdict = judge(name, solved)
    assert verdict.passed, verdict


@pytest.mark.parametrize("name", [exercise.name for exercise in WRITTEN])
def test_an_untouched_task_does_not_pass(solved, name):
    (solved / f"{name}.py").write_text(BY_NAME[name].task)
    assert not judge(name, solved).passed


@pytest.mark.parametrize(("name", "right", "wrong", "words"), WRONG)
def test_a_typical_error_is_met_by_its_message(solved, name, right, wrong, words):
    text = BY_NAME[name].solution
    assert right in text
    (solved / f"{name}.py").write_text(text.replace(right, wrong))
    verdict = judge(name, solved)
    assert not verdict.passed
    assert words in verdict.message


RADD = (
    "e08_numbers",
    "def radd(self, other):\n    return self + other",
    "def radd(self, other):\n    return other + self",
)
DEEPER = """
import sys

sys.setrecursionlimit(1_000_000)

def topological(root, order=None):
    order = [] if order is None else order
    if root not in order:
        for child in root._prev:
            topological(child, order)
        order.append(root)
    return order
"""


@pytest.mark.parametrize("limit", [900, 3_000_000])
def test_a_recursion_without_end_is_met_whatever_the_limit_of_the_process(solved, limit):
    name, right, wrong = RADD
    (solved / f"{name}.py").write_text(BY_NAME[name].solution.replace(right, wrong))
    (solved / "e05_order.py").write_text(DEEPER)
    kept = sys.getrecursionlimit()
    sys.setrecursionlimit(limit)
    try:
        assert "calls itself for ever" in judge(name, solved).message
        found = judge("e05_order", solved)  # recursion passes, and is told what a loop can do besides
        assert found.passed and "a stack of your own" in found.message
        assert sys.getrecursionlimit() == limit
    finally:
        sys.setrecursionlimit(kept)


def test_checks_in_two_threads_leave_the_process_as_it_was(solved):
    before = sys.getrecursionlimit(), list(sys.path), sys.dont_write_bytecode
    with ThreadPoolExecutor(2) as pool:
        verdicts = list(
            pool.map(lambda name: judge(name, solved), ["e04_rules", "e05_order", "e06_backward", "e08_numbers"])
        )
    assert all(verdict.passed for verdict in verdicts)
    assert (sys.getrecursionlimit(), sys.path, sys.dont_write_bytecode) == before


def test_each_exercise_has_three_typical_errors():
    counts = Counter(name for name, _ in {(name, words) for name, _, _, words in WRONG})  # with different messages
    assert all(counts[exercise.name] >= 3 for exercise in WRITTEN)


def test_a_failure_shows_the_learners_own_steps(solved):
    text = BY_NAME["e04_rules"].solution.replace("+=", "=")
    (solved / "e04_rules.py").write_text(text)
    verdict = judge("e04_rules", solved)
    *steps, page = verdict.timeline
    assert steps == ["a = Value(3); b = a + a", "b.grad = 1, where the pass starts", "b = a + a: a.grad 0 -> 1"]
    assert page.endswith("my_timeline.html")
    saved = (solved / "my_timeline.html").read_text()
    assert "the backward function of b adds one to the gradient of a, from zero to one" in saved


def test_an_early_node_ends_the_timeline(solved):
    text = BY_NAME["e06_backward"].solution.replace("reversed(topological(self))", "topological(self)")
    (solved / "e06_backward.py").write_text(text)
    verdict = judge("e06_backward", solved)
    assert verdict.timeline[-2].endswith("passes on 0") and verdict.timeline[-1].endswith("my_timeline.html")
    order = verdict.replay["open"]["lab"]["order"]  # the learner's, with the root last
    assert order[-1] == verdict.replay["graph"]["timeline"]["nodes"][-1]["name"]


# The exercises with a backward pass, and where the page of a typical error opens: the sentence of the frame shown last.
OPENS = [
    ("e04_rules", "self.grad += other.data * out.grad", "self.grad += self.data * out.grad", "_backward() adds"),
    ("e09_power", "n * self.data ** (n - 1)", "n * self.data ** n", "f._backward() adds"),
    ("e10_exp_log", "out.data * out.grad", "self.data * out.grad", "f._backward() adds"),
    ("e11_tanh_relu", "1 - out.data**2", "1 - self.data**2", "f._backward() adds"),
]


@pytest.mark.parametrize(("name", "right", "wrong", "words"), OPENS)
def test_the_page_of_a_failure_opens_at_the_first_wrong_contribution(solved, name, right, wrong, words):
    text = BY_NAME[name].solution
    assert right in text
    (solved / f"{name}.py").write_text(text.replace(right, wrong))
    verdict = judge(name, solved)
    assert not verdict.passed and verdict.replay is not None
    timeline, step = verdict.replay["graph"]["timeline"], verdict.replay["open"]["step"]
    frame = timeline["words"][step - 1]
    assert frame["kind"] == "backward" and words in frame["sentence"]
    page = (solved / "my_timeline.html").read_text()
    assert f'"open":{{"graph":"own","step":{step}}}' in page


VALUES = (
    "wrong order",
    "bias is not added",
    "that is the sum",
    "exp alone",
    "minus is missing",
    "not divided by the square root",
)
FORWARD = [row[:3] for row in WRONG if row[3] in VALUES]


@pytest.mark.parametrize(("name", "right", "wrong"), FORWARD)
def test_a_wrong_value_opens_the_learners_forward_pass(solved, name, right, wrong):
    (solved / f"{name}.py").write_text(BY_NAME[name].solution.replace(right, wrong))
    verdict = judge(name, solved)
    assert not verdict.passed and verdict.timeline[-1].startswith("your graph, with the values that it computed")
    timeline, step = verdict.replay["graph"]["timeline"], verdict.replay["open"]["step"]
    frame = timeline["words"][step - 1]
    assert frame["kind"] == "forward" and timeline["words"][step]["kind"] == "seed"
    assert timeline["nodes"][-1]["name"] in frame["sentence"]
    assert verdict.message.split(":")[0] in (solved / "my_timeline.html").read_text().replace("\\u0027", "'")


CALLS = [  # exercises without a graph: the steps of the learner's code are told in lines
    ("e01_slope", "(2 * h)", "h", "f(2.8) = "),
    ("e02_partials", None, None, "f("),
    ("e12_checker", None, None, "by nudging"),
    ("e16_step", None, None, "step 1: w went from 0 to "),
    ("e17_adam", None, None, "step 1: gradient "),
]


@pytest.mark.parametrize(("name", "right", "wrong", "words"), CALLS)
def test_a_failure_without_a_graph_tells_the_steps_of_the_code(solved, name, right, wrong, words):
    if right is None:
        right, wrong = next((a, b) for key, a, b, _ in WRONG if key == name)
    (solved / f"{name}.py").write_text(BY_NAME[name].solution.replace(right, wrong))
    verdict = judge(name, solved)
    assert verdict.timeline and any(words in line for line in verdict.timeline), verdict.timeline


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [(name, right, wrong) for name, right, wrong, _ in WRONG if name in ("e05_order", "e06_backward")],
)
def test_a_wrong_order_opens_beside_the_right_one(solved, name, right, wrong):
    (solved / f"{name}.py").write_text(BY_NAME[name].solution.replace(right, wrong))
    verdict = judge(name, solved)
    assert not verdict.passed
    if "too early" in verdict.message or "twice" in verdict.message or "stands before" in verdict.message:
        nodes = {node["name"] for node in verdict.replay["graph"]["timeline"]["nodes"] if "op" in node}
        assert set(verdict.replay["open"]["lab"]["order"]) <= nodes


def test_the_milestone_draws_the_learners_graph(solved):
    judge("m1_draw", solved)
    drawing = (solved / "my_graph.svg").read_text()
    assert drawing.startswith("<svg") and "tanh" in drawing


def test_a_milestone_fails_with_a_broken_engine(solved):
    text = BY_NAME["e17_adam"].solution.replace("p.data -= self.lr", "p.data -= 0 * self.lr")
    (solved / "e17_adam.py").write_text(text)
    verdict = judge("m2_moons", solved)
    assert not verdict.passed and "has not moved" in verdict.message


def test_an_exception_names_the_learners_line(solved):
    (solved / "e01_slope.py").write_text("def slope(f, x, h=1e-5):\n    return undefined_name\n")
    assert "e01_slope.py:2: return undefined_name" in judge("e01_slope", solved).message
    (solved / "e01_slope.py").write_text("def slope(f, x)\n    return 1\n")
    assert judge("e01_slope", solved).message == "SyntaxError: expected ':', at e01_slope.py:1: def slope(f, x)"
    (solved / "e01_slope.py").write_text("def slope(f, x, h=1e-5):\n    return slope(f, x, h)\n")
    assert "calls itself without end" in judge("e01_slope", solved).message
    (solved / "e01_slope.py").write_text("raise SystemExit(0)\n")
    assert not judge("e01_slope", solved).passed


def test_code_that_does_not_end_is_stopped(solved):
    (solved / "e01_slope.py").write_text("while True:\n    pass\n")
    assert "stopped after 2 seconds" in check("e01_slope", solved, seconds=2).verdict.message


def test_output_without_an_end_is_stopped_and_is_not_kept_on_disk(solved, monkeypatch, tmp_path):
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    ended, sizes = process._end, []

    def measured(child):
        ended(child)
        sizes.append(sum(path.stat().st_size for path in place.rglob("*") if path.is_file()))

    monkeypatch.setattr(process, "_end", measured)
    for stream in ("stdout", "stderr"):
        (solved / "e01_slope.py").write_text(f"import sys\nwhile True:\n    print('x' * 1000, file=sys.{stream})\n")
        run = check("e01_slope", solved, most=100_000)
        assert "it printed more than 0.1 MB" in run.verdict.message and not run.verdict.passed
        assert run.printed.startswith("xxx") and len(run.printed) < 2100 and "more was printed" in run.printed
    assert sizes == [0, 0]


def test_output_within_the_limit_is_shown_and_changes_no_verdict(solved):
    right = (solved / "e01_slope.py").read_text()
    (solved / "e01_slope.py").write_text(right + "\nprint('y' * 90_000)\n")
    run = check("e01_slope", solved, most=100_000)
    assert run.verdict.passed and run.printed.count("y") == 2000


@pytest.mark.skipif(sys.platform == "win32", reason="there is no limit of file sizes")
def test_files_without_an_end_are_stopped(solved):
    (solved / "e01_slope.py").write_text(
        "with open('big.txt', 'w') as f:\n    while True:\n        f.write('x' * 10000)\n"
    )
    run = check("e01_slope", solved, file=100_000)
    assert "OSError" in run.verdict.message and (solved / "big.txt").stat().st_size <= 100_000


def test_a_loop_that_writes_files_is_stopped(solved):
    code = "n = 0\nwhile True:\n    n += 1\n    open(f'file{n}.txt', 'w').close()\n"
    (solved / "e01_slope.py").write_text(code)
    assert "may open 50 files to write" in check("e01_slope", solved).verdict.message
    assert len(list(solved.glob("file*.txt"))) == FILES


FORGED = {
    "nothing": "b''",
    "half of one": "b'{\"passed\": tr'",
    "no object": "b'[1, 2]'",
    "no text": "b'\\xff\\xfe'",
    "fields that are missing": "b'{\"passed\": true}'",
    "fields that are too many": "json.dumps(dict(passed=True, message='', timeline=[], replay=None, more=1)).encode()",
    "a message that is no text": "json.dumps(dict(passed=True, message=3, timeline=[], replay=None)).encode()",
    "steps that are no texts": "json.dumps(dict(passed=False, message='', timeline=[3], replay=None)).encode()",
    "a truth that is a number": "json.dumps(dict(passed=1, message='', timeline=[], replay=None)).encode()",
    "brackets without end": "b'[' * 200000",
}


@pytest.mark.parametrize("content", FORGED)
def test_a_damaged_verdict_is_no_verdict(solved, content):
    code = f"import json, os, sys\nopen(sys.argv[2], 'wb').write({FORGED[content]})\nos._exit(0)\n"
    (solved / "e01_slope.py").write_text(code)
    run = check("e01_slope", solved)
    assert not run.verdict.passed and "verdict of the check cannot be read" in run.verdict.message
    assert workshop.report(BY_NAME["e01_slope"], run)


@pytest.mark.skipif(sys.platform == "win32", reason="FIFOs and links")
@pytest.mark.parametrize(
    "made",
    ["os.mkfifo(path)", "os.mkdir(path)", "os.symlink('/dev/zero', path)", "open(path, 'wb').truncate(2 * 10**6)"],
)
def test_what_is_no_plain_file_of_a_fair_size_is_no_verdict(solved, made):
    (solved / "e01_slope.py").write_text(f"import os, sys\npath = sys.argv[2]\n{made}\nos._exit(0)\n")
    assert "cannot be read" in check("e01_slope", solved, file=3 * 10**6).verdict.message


def test_an_exception_whose_text_raises_or_is_long_is_told(solved):
    code = "class Odd(Exception):\n    def __str__(self):\n        raise ValueError\n\nraise Odd\n"
    (solved / "e01_slope.py").write_text(code)
    assert judge("e01_slope", solved).message.startswith("Odd at e01_slope.py:5")
    (solved / "e01_slope.py").write_text("raise ValueError('x' * 10**7)\n")
    assert len(judge("e01_slope", solved).message) < 2200


def test_the_browser_keeps_the_beginning_of_what_is_printed():
    text = BY_NAME["e01_slope"].solution + "\nfor _ in range(10000):\n    print('z' * 1000)\n"
    found = json.loads(browser.check("e01_slope", json.dumps({"e01_slope": text})))
    assert found["passed"] and len(found["printed"]) == browser.SHOWN
    kept = browser.Beginning()
    assert kept.write("a" * 10**6) == 10**6 and len(kept.getvalue()) == browser.SHOWN


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of address space is enforced on Linux")
def test_memory_is_limited(solved):
    (solved / "e01_slope.py").write_text("print('filling')\nx = bytearray(3 << 30)\n")
    run = check("e01_slope", solved)
    assert "too much memory" in run.verdict.message
    assert run.printed.strip() == "filling"


def test_code_that_ends_the_process_is_reported(solved):
    (solved / "e01_slope.py").write_text("import os\nos._exit(3)\n")
    assert "ended with code 3" in check("e01_slope", solved).verdict.message


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_code_that_crashes_python_is_told_the_usual_cause(solved):
    (solved / "e01_slope.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n")
    assert "a recursion that does not end" in check("e01_slope", solved).verdict.message


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_processes_of_the_learner_are_ended(solved):
    code = "import subprocess, sys\nchild = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
    (solved / "e01_slope.py").write_text(code + "open('pid.txt', 'w').write(str(child.pid))\n")
    assert "has no slope. Keep the names" in check("e01_slope", solved).verdict.message
    status = Path("/proc", (solved / "pid.txt").read_text(), "status")
    for _ in range(100):  # the system takes the killed process away
        if not status.exists() or "Z (zombie)" in status.read_text():
            return
        time.sleep(0.05)
    pytest.fail("the process still runs")


def test_a_file_that_is_no_text_is_reported(solved, capsys):
    (solved / "e01_slope.py").write_bytes(b"\xff\xfe\x00")
    told: list[str] = []
    assert workshop.check_in_order(solved, told.append).name == "e01_slope"
    assert "SyntaxError" in told[0] or "source code" in told[0]


def test_the_commands_from_start_to_solution(tmp_path, monkeypatch, capsys):
    home = tmp_path / "mine"
    assert main(["workshop", "start", str(home)]) == 0
    assert len(list(home.glob("e*.py"))) == 20
    monkeypatch.chdir(home)
    capsys.readouterr()
    assert main(["workshop", "--once"]) == 1
    assert "Next: e01_slope.py" in capsys.readouterr().out
    assert main(["workshop", "solution"]) == 1
    assert "Try e01_slope.py first" in capsys.readouterr().out
    (home / "e01_slope.py").write_text(BY_NAME["e01_slope"].solution.replace("(2 * h)", "h"))
    assert main(["workshop", "--once"]) == 1
    assert "twice the slope" in capsys.readouterr().out
    for number in (1, 2, 3, 3):
        assert main(["workshop", "hint", "1"]) == 0
        assert f"hint {number} of 3" in capsys.readouterr().out
    assert main(["workshop", "solution", "1"]) == 0
    assert "2 * h" in capsys.readouterr().out
    assert main(["workshop", "hint", "99"]) == 2
    assert main(["workshop", "start", "."]) == 0
    assert "twice" not in (home / "e01_slope.py").read_text() and "/ h" in (home / "e01_slope.py").read_text()


def test_a_folder_without_exercises_is_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["workshop", "--once"]) == 1
    assert "micrograd workshop start" in capsys.readouterr().err


def test_watching_checks_again_after_a_save(tmp_path, monkeypatch):
    workshop.start(tmp_path)
    monkeypatch.setattr(workshop, "EXERCISES", EXERCISES[:1])
    told: list[str] = []

    def save(pause):
        (tmp_path / "e01_slope.py").write_text(BY_NAME["e01_slope"].solution)

    workshop.watch(tmp_path, told.append, wait=save)
    assert "Next: e01_slope.py" in told[0]
    assert "passed  e01_slope" in told[2]
    assert told[3].startswith("All exercises are done")


def test_the_command_runs_as_a_program(solved):
    for exercise in WRITTEN[2:]:
        (solved / exercise.file).unlink()
    command = [sys.executable, "-m", "micrograd", "workshop", "--once"]
    done = subprocess.run(command, cwd=solved, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "passed  e02_partials" in done.stdout and "e03_value.py is missing" in done.stdout


LUCKY = """
def topological(root):
    order, seen, stack = [], set(), [root]
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            order.append(node)
            stack.extend(node._prev)
    return order[::-1]
"""


def test_the_page_of_a_wrong_order_shows_a_graph_on_which_it_matters(solved):
    from micrograd.learn import orders
    from micrograd.learn.expression import parse
    from micrograd.learn.frames import frames

    (solved / "e05_order.py").write_text(LUCKY)  # on a tree, this order is right
    verdict = judge("e05_order", solved)
    assert not verdict.passed and verdict.replay is not None
    order = verdict.replay["open"]["lab"]["order"]
    program = next(line for line in verdict.timeline if "Value(" in line)
    text = "; ".join(part for part in program.split("; ") if "Value" not in part)
    leaves = {name: float(x[:-1]) for name, x in (p.split(" = Value(") for p in program.split("; ") if "Value" in p)}
    assert orders.run(frames(parse(text).build(leaves), names={}), order).first >= 0


RECURSIVE = """
def topological(root):
    order, seen = [], set()

    def visit(node):
        if id(node) not in seen:
            seen.add(id(node))
            for one in node._prev:
                visit(one)
            order.append(node)

    visit(root)
    return order
"""


def test_a_recursive_order_passes_and_carries_the_later_exercises(solved):
    (solved / "e05_order.py").write_text(RECURSIVE)
    assert "bonus" in judge("e05_order", solved).message
    for name in ("e05_order", "e06_backward", "e07_again", "e14_mlp", "m2_moons"):
        assert judge(name, solved).passed, name
    endless = RECURSIVE.replace("seen.add(id(node))\n", "pass\n").replace("if id(node) not in seen:", "if True:")
    (solved / "e05_order.py").write_text(endless.replace("visit(one)", "visit(node)"))
    assert not judge("e05_order", solved).passed
