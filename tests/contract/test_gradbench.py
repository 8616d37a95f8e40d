"""benchmarks/gradbench: every eval is right in plain Python, in C, compiled and in the peers, and the runner answers."""

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

np = pytest.importorskip("numpy", reason="the benchmark uses NumPy")
pytest.importorskip("llvmlite", reason="the benchmark compiles")

ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / "benchmarks" / "gradbench" / "tool"
if not TOOL.is_dir():
    pytest.skip("the tests run without the rest of the project", allow_module_level=True)
sys.path.insert(0, str(ROOT))

from benchmarks.gradbench import hand_written, inputs, session, table  # noqa: E402
from benchmarks.gradbench.__main__ import main  # noqa: E402
from benchmarks.gradbench.contenders import FORMS, OURS, find, has  # noqa: E402
from benchmarks.gradbench.evals import EVALS  # noqa: E402
from benchmarks.gradbench.worker import flat  # noqa: E402

ALL = [(name, function) for name, e in EVALS.items() for function in e.functions]
LONG = {"ht", "particle", "saddle"}  # those that take more than a few seconds to compile
FOUND = {"particle": [0.2071918746486116], "saddle": [8.246324826140356e-06] * 4}  # where the suite's searches end
in_c = pytest.mark.skipif(not hand_written.version(), reason="there is no C compiler")


@pytest.fixture
def module(monkeypatch):
    """Import a module of the tool, as its runner does."""
    monkeypatch.syspath_prepend(str(TOOL))
    return importlib.import_module


def answer(function, given):
    return np.array(flat(function.finish(function.call(*function.prepare(given)))))


def by_hand(name, function, size=None):
    e = EVALS[name]
    return answer(hand_written.HandWritten(name, function != e.value), e.make(e.smallest if size is None else size))


def slow_if(names, functions):
    return [pytest.param(*f, marks=pytest.mark.slow) if f[0] in names else f for f in functions]


# ---- plain Python, and the derivatives by hand


def moved(given, key, k, step):
    """Return the input with its k-th number under a key moved by a step."""
    numbers = np.array(given[key], dtype=float)
    numbers.flat[k] += step
    return {**given, key: numbers.tolist()}


def slopes(value, given, keys, step=1e-6):
    """Return central differences with respect to every number under the keys."""
    places = [(key, k) for key in keys for k in range(np.size(given[key]))]
    return np.array(
        [(value(moved(given, *at, step)) - value(moved(given, *at, -step))) / (2.0 * step) for at in places]
    )


SCALAR = {
    "llsq": ("half_sum_of_squares", ["x"]),
    "lse": ("logsumexp", ["x"]),
    "det": ("determinant", ["A"]),
    "ode": ("last", ["x"]),
    "gmm": ("log_posterior", ["alpha", "l", "mu", "q"]),
    "lstm": ("loss", ["main_params", "extra_params"]),
}


@in_c
@pytest.mark.parametrize("name", SCALAR)
def test_the_gradient_by_hand_is_that_of_the_plain_python(name, module):
    e, (plain, keys) = EVALS[name], SCALAR[name]
    given = e.make(e.smallest)
    function = getattr(module(name), e.value)
    value = getattr(module(name), plain)

    def of(changed):
        return float(value(*function.prepare(changed)))

    assert by_hand(name, e.value)[-1] == pytest.approx(of(given), rel=1e-12)
    assert by_hand(name, e.derivatives[0]) == pytest.approx(slopes(of, given, keys), rel=1e-6, abs=1e-7)


@in_c
def test_the_step_of_kmeans_is_slope_by_curvature(module):
    e = EVALS["kmeans"]
    given = e.make(e.smallest)

    def cost(changed):
        return float(module("kmeans").total_distance(changed["points"], changed["centroids"]))

    first, n, h = slopes(cost, given, ["centroids"]), np.size(given["centroids"]), 1e-4
    second = [(cost(moved(given, "centroids", k, h)) - 2.0 * cost(given) + cost(moved(given, "centroids", k, -h))) / h**2
              for k in range(n)]  # fmt: skip
    assert by_hand("kmeans", "cost") == pytest.approx([cost(given)])
    assert by_hand("kmeans", "dir") == pytest.approx(first / second, rel=1e-5, abs=1e-6)


@in_c
def test_the_blocks_of_ba_are_slopes_of_the_plain_python(module):
    e = EVALS["ba"]
    given = {**e.make(e.smallest), "w": [0.7]}
    error = module("ba").reprojection_error
    found = by_hand("ba", "jacobian")
    for row in (0, 1):

        def of(changed, row=row):
            return error(changed["cam"], changed["x"], changed["w"][0], given["feat"])[row]

        expected = slopes(of, {**given, "w": [e.make(e.smallest)["w"]]}, ["cam", "x", "w"])
        values = found[-31:]  # flattened by name: columns, row starts, values
        assert values[15 * row : 15 * row + 15] == pytest.approx(expected, rel=1e-5, abs=1e-5)
    assert values[-1] == pytest.approx(-2.0 * e.make(e.smallest)["w"])


@in_c
@pytest.mark.parametrize("simple", [False, True], ids=["in triangles", "at vertices"])
@pytest.mark.parametrize("mirrored", [False, True], ids=["right", "left"])
def test_the_jacobian_of_ht_is_that_of_the_plain_python(simple, mirrored, module):
    given = inputs.ht(2, 5, 4)
    given["data"]["model"]["is_mirrored"] = mirrored
    if simple:
        given["us"] = []
        given["data"]["correspondences"] = [0, 3]  # vertices, not triangles
    theta, shift, hand, measured = module("ht").arguments(given)
    value = module("ht").differences

    def of(changed):
        return np.array(value(changed["theta"], changed["shift"], hand, measured))

    keys = ["theta"] if simple else ["shift", "theta"]
    expected = slopes(of, {"theta": theta, "shift": shift}, keys).T
    c = [hand_written.HandWritten("ht", derivative) for derivative in (False, True)]
    assert answer(c[0], given) == pytest.approx(of({"theta": theta, "shift": shift}), rel=1e-12)
    assert answer(c[1], given) == pytest.approx(expected.ravel(), rel=1e-6, abs=1e-8)


@in_c
@pytest.mark.parametrize("name", FOUND)
def test_the_searches_by_hand_end_where_the_suite_says(name):
    assert by_hand(name, "rr") == pytest.approx(FOUND[name], rel=1e-9)


@pytest.mark.parametrize("mode", [pytest.param("forward", marks=pytest.mark.slow), "reverse"])
def test_the_slope_of_the_path_is_right_uncompiled(mode, module):
    particle, gradient = module("particle"), getattr(module("descent"), mode)

    def miss(at):
        return particle.squared_crossing(at[0], gradient)

    h = 1e-6
    expected = (miss([0.1 + h]) - miss([0.1 - h])) / (2.0 * h)
    for outer in (module("descent").forward, module("descent").reverse):
        assert outer(miss)([0.1]) == pytest.approx([expected], rel=1e-6)


# ---- compiled


@in_c
@pytest.mark.parametrize("name, function", slow_if(LONG, ALL))
def test_the_compiled_modules_are_right(name, function, module):
    found = answer(getattr(module(name), function), EVALS[name].make(EVALS[name].smallest))
    assert found == pytest.approx(by_hand(name, function), rel=1e-9, abs=1e-9)
    if name in FOUND:
        assert found == pytest.approx(FOUND[name], rel=1e-9)


OTHER = [(form, name, function) for form in FORMS for name, function in ALL if has(form, name)]


@in_c
@pytest.mark.parametrize("form, name, function", [
    pytest.param(*f, marks=pytest.mark.slow) if f[0] == "whole" or f[1] in LONG else f for f in OTHER
])  # fmt: skip
def test_the_other_forms_are_right(form, name, function, monkeypatch):
    if form == "whole" and (name != "ba" or function == "jacobian"):
        pytest.skip("not compiled today: the benchmark prints why")
    monkeypatch.syspath_prepend(str(TOOL))
    found = answer(find(form, name, function), EVALS[name].make(EVALS[name].smallest))
    assert found == pytest.approx(by_hand(name, function), rel=1e-9, abs=1e-9)


@in_c
@pytest.mark.slow
@pytest.mark.parametrize("peer, package", [("JAX", "jax"), ("PyTorch", "torch")])
@pytest.mark.parametrize("name, function", ALL)
def test_the_peers_are_right(peer, package, name, function):
    pytest.importorskip(package)
    made = find(peer, name, function)
    if made is None:
        pytest.skip(f"{peer} does not have it")
    found = answer(made, EVALS[name].make(EVALS[name].smallest))
    assert found == pytest.approx(by_hand(name, function), rel=1e-9, abs=1e-9)


# ---- the runner


def talk(*messages):
    """Give the runner its messages, and return its answers."""
    text = "\n".join(json.dumps({"id": k, **message}) for k, message in enumerate(messages))
    done = subprocess.run(
        [sys.executable, str(TOOL / "run.py")], input=text, capture_output=True, text=True, check=True
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [a["id"] for a in answers] == list(range(len(messages)))
    return answers


def evaluate(module, function, given):
    return {"kind": "evaluate", "module": module, "function": function, "input": given}


def test_the_runner_speaks_the_protocol():
    x = [0.5, 1.5, -2.0]
    started, defined, unknown, doubled, found, failed, absent, analysed = talk(
        {"kind": "start", "eval": "lse"},
        {"kind": "define", "module": "lse"},
        {"kind": "define", "module": "os"},
        evaluate("hello", "double", 3.0),
        evaluate("lse", "gradient", {"x": x, "min_runs": 4, "min_seconds": 0.01}),
        evaluate("lse", "gradient", {"y": x}),
        evaluate("lse", "hessian", {"x": x}),
        {"kind": "analysis", "of": 3, "valid": True},
    )
    assert started == {"id": 0, "tool": "micrograd"} and defined == {"id": 1, "success": True}
    assert not unknown["success"] and "there is no module 'os'" in unknown["error"]
    assert doubled["output"] == 6.0 and len(doubled["timings"]) == 1
    assert found["output"] == pytest.approx((np.exp(x) / np.exp(x).sum()).tolist())
    assert len(found["timings"]) >= 4 and {t["name"] for t in found["timings"]} == {"evaluate"}
    assert sum(t["nanoseconds"] for t in found["timings"]) >= 1e7
    assert not failed["success"] and "KeyError" in failed["error"]
    assert not absent["success"] and "hessian" in absent["error"]
    assert analysed == {"id": 7}


def test_the_tool_is_complete(module):
    assert (TOOL / "evals.txt").read_text().split() == sorted(EVALS)
    assert sorted(module("run").EVALS) == sorted(EVALS)
    for name, function in ALL:
        assert callable(getattr(module(name), function).evaluate)
    docker = (TOOL / "Dockerfile").read_text()
    assert "COPY tools/micrograd tools/micrograd" in docker and '"tools/micrograd/run.py"' in docker


# ---- the benchmark


@pytest.mark.parametrize("name", EVALS)
def test_inputs_are_the_same_in_every_process(name):
    e = EVALS[name]
    assert e.make(e.smallest) == e.make(e.smallest)
    assert len(e.sizes) in (1, 3) and all(len(size) == len(e.parameters) for size in e.sizes)


@in_c
def test_what_takes_too_long_or_too_much_memory_is_stopped():
    def seen(name, size, **limits):
        e = EVALS[name]
        return session.compare(e, e.value, size, ["C"], 1, session.Limits(**limits))["C"].failed

    assert seen("det", (14,), seconds=0.2) == "no result in 0.2 s"
    assert seen("det", (14,), seconds=60.0, gigabytes=0.001) == "more than 0.001 GB"
    assert seen("det", (-1,)).startswith("ValueError")


@in_c
def test_contenders_take_turns_and_are_compared(capsys):
    e = EVALS["lse"]
    outcomes = session.compare(e, "gradient", (40,), [OURS, "C"], 2, session.Limits())
    entry = table.Entry(e, "gradient", (40,), outcomes)
    for seen in outcomes.values():
        assert not seen.failed and not seen.wrong and len(seen.times) == 2 and seen.first > 0.0
    assert "lse n=40: gradient" in "\n".join(table.lines(entry))
    text = table.markdown([entry], session.Limits())
    assert "| lse n=40 | gradient | " in text
    columns = {len(line.split(" | ")) for line in text.splitlines() if line.startswith("| ")}
    assert len(columns) == 1, "all lines of the table have as many cells"


def test_a_wrong_result_is_seen():
    right = np.array([1.0, 2000.0])
    assert session.difference(right * (1.0 + 1e-7), right) == ""
    assert session.difference(np.array([1.0, 2000.1]), right).startswith("number 1 is ")
    assert session.difference(np.array([np.nan, 2000.0]), right).startswith("number 0 is ")
    assert session.difference(right[:1], right) == "1 numbers, and C has 2"
    assert session.difference(np.array([]), np.array([])) == ""


@in_c
def test_the_command(monkeypatch, capsys):
    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["gradbench", *arguments])
        return main()

    assert run("hello", "--function", "double", "--only", "C", "--rounds", "1") == 0
    printed = capsys.readouterr().out
    assert "hello: double\n  C " in printed and "| hello | double | not run |" in printed
    with pytest.raises(SystemExit, match=r"lse has a size of 1 numbers \(n\), not 2"):
        run("lse", "--size", "3x4")
    with pytest.raises(SystemExit):
        run("nosuch")
    assert "there is no eval nosuch" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        run("hello", "--function", "gradient")
    assert "hello has no function gradient, only square, double" in capsys.readouterr().err
