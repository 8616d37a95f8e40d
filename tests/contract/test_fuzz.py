"""The fuzzer of whole programs: some of its programs, always the same; it sees a planted fault, and shrinks to it."""

from __future__ import annotations

import random
import sys

import mpmath
import pytest

from random_programs import needs_llvm
from twins import ROOT, C

np = pytest.importorskip("numpy", reason="rows need NumPy")
sys.path.insert(0, str(ROOT))

from fuzz import results  # noqa: E402
from fuzz.check import Failure, bound, check, eager, twins_agree  # noqa: E402
from fuzz.generate import Program, generate  # noqa: E402
from fuzz.shrink import shrink  # noqa: E402

pytestmark = needs_llvm
POINTS = {n: [[x] * n for x in (0.5, -1.5, 2.0)] for n in (1, 2, 3)}


@pytest.mark.parametrize("first", range(0, 120, 20))
def test_programs_on_the_cheap_ways(first):
    for seed in range(first, first + 20):
        check(generate(seed), random.Random(seed), thorough=False)


@pytest.mark.parametrize("first", range(0, 40, 20))
def test_programs_whose_arms_return_constants_and_containers(first):
    for seed in range(first, first + 20):
        check(generate(seed, results=True), random.Random(seed), thorough=False)


@pytest.mark.parametrize("seed", [100])
def test_programs_whose_arms_return_constants_in_every_way(seed):
    check(generate(seed, results=True), random.Random(seed), thorough=True)


@pytest.mark.filterwarnings("ignore")
def test_a_first_call_that_does_not_look_at_its_guards_is_found(monkeypatch):
    """The results of the arm that was not taken, given out by the first call: found within 50 programs."""
    from micrograd.compile.jit import Jit

    real = Jit._answer

    def careless(self, found, variant, new, leaves, wanted, wait):
        if found.staged and new and not (wanted or wait or found.captured):
            return variant.with_constants(list(found.numbers))
        return real(self, found, variant, new, leaves, wanted, wait)

    monkeypatch.setattr(Jit, "_answer", careless)
    with pytest.raises(Failure, match="first call"):
        for seed in range(30, 80):
            program = generate(seed, results=True)
            results.agrees(program, POINTS[program.inputs], random.Random(seed), False)


def test_every_kind_of_result_and_of_call_that_is_not_merged_is_written():
    text = "".join(generate(seed, results=True).text for seed in range(300))
    for word in ("None", "True", "'ab'", "()", "{}", "{'a': ", "Pair(", "-0.0", "print(end='')", "np.linspace(",
                 "re.match(", "warnings.warn(", "logging.getLogger(", "itertools.permutations("):  # fmt: skip
        assert f"return {word}" in text or f"    {word}" in text or f"= {word}" in text or f"({word}" in text, word


@pytest.mark.parametrize("seed", range(100, 108))
def test_programs_in_every_way(seed):
    check(generate(seed), random.Random(seed), thorough=True)


def test_every_way_is_taken_and_most_points_count():
    took = [check(generate(seed), random.Random(seed), thorough=False) for seed in range(200, 260)]
    total = {name: sum(t[name] for t in took) for name in took[0]}
    assert total["points"] > 150 and total["oracle"] > 20 and total["merged"] > 10 and total["orders"] > 0


def test_every_kind_of_statement_and_op_is_written():
    import re

    from fuzz.generate import BINARY, LISTS, STEPS, UNARY

    text = "".join(generate(seed).text for seed in range(1500))
    for word in (
        "while",
        "for",
        "break",
        "continue",
        "elif",
        "nonlocal",
        "grad(",
        "sorted(",
        "iter(",
        ".append",
        " in (",
        "any(",
        "reversed(range(",
        "enumerate(",
        "range(len(",
        ".pop(",
        "default=",
        "key=",
        "try:",
        "finally:",
        "raise ",
        ".step(",
        "._replace(",
        "zip(*",
        "[row[:] for row in",
        "m.prod([m.",
    ):
        assert word in text, word
    for fold in ("sum", "min", "max", "any", "all"):
        assert re.search(rf"\b{fold}\(.* for k\d+ in (reversed\()?range\(120", text), fold
    used = {name.removeprefix("whole_") for name in re.findall(r"m\.(\w+)\(", text)}
    assert used >= {*UNARY, *BINARY, *LISTS, *STEPS}


def test_noise_may_lead_the_oracle_to_a_branch_that_raises():
    """Behind the edge of a branch, plain numbers are divided by 0.0: the path is uncertain there, and nothing raises."""
    text = "def f(x0):\n    x0 = x0 * 3.0\n    if 0.1 >= x0:\n        x0 = 0.0\n    return x0 / x0 + x0 * x0\n"
    program = Program(1, (), text, False)
    low, high = 0.0, 1.0
    for _ in range(60):  # the last number that raises, and the first one that does not
        middle = (low + high) / 2
        low, high = (middle, high) if isinstance(eager(program, [middle], C), str) else (low, middle)
    assert bound(program, [high], [1.0]).room != bound(program, [high], [1.0]).room
    assert bound(program, [1.0], [1.0]).room < 1e-10
    assert len(twins_agree(program, [[low], [high], [1.0]], random.Random(0), range(3))) == 2


def test_a_seed_reproduces():
    assert generate(7) == generate(7)
    assert generate(7) != generate(8)


def test_a_wrong_partial_is_found_and_its_program_shrunk(monkeypatch):
    """sin with a slope that is off by a millionth, on one engine: found within 60 programs, shrunk to a few lines."""
    row = next(op for op in C.ops.OPS.values() if op.name == "sin")
    pure = sys.modules["twins"].PYTHON.ops.OPS["sin"]
    monkeypatch.setattr(pure, "partials", (lambda a, y: row.partials[0](a, y) * 1.000001,))

    def fails(program, seed=0):
        try:
            check(program, random.Random(seed), thorough=False)
        except Failure:
            return True
        except Exception:  # a name that is used may be assigned no more
            return False
        return False

    found = next(seed for seed in range(60) if fails(generate(seed), seed))
    short = shrink(generate(found), lambda p: fails(p, found), most=60)
    assert len(short.text) < len(generate(found).text) and "sin" in short.text


def test_a_slope_that_is_wrong_everywhere_is_found_by_mpmath(monkeypatch):
    """cos with a slope that is off by a millionth, on both engines and in the tape: only an oracle of its own can see it."""
    from fuzz import exact, torched
    from fuzz.check import Failure, oracle_agrees, twins_agree

    program = Program(1, (), "def f(x0):\n    return x0 * m.cos(x0)\n", True)
    rng = random.Random(0)
    [seen] = twins_agree(program, [[0.75]], rng, range(1))
    oracles = {"mpmath": exact.run} if torched.torch is None else {"mpmath": exact.run, "PyTorch": torched.run}
    for what, oracle in oracles.items():
        assert oracle_agrees(program, [seen], rng, what, oracle) == 1
        with pytest.raises(Failure, match=what):
            oracle_agrees(program, [seen._replace(grads=[seen.grads[0] * 1.000001])], rng, what, oracle)


def test_pytorch_has_what_most_programs_use_and_agrees():
    from fuzz import torched
    from fuzz.check import oracle_agrees, twins_agree
    from fuzz.inputs import points

    if torched.torch is None:
        pytest.skip(torched.MISSING)
    compared = 0
    for seed in range(300, 340):
        program, rng = generate(seed), random.Random(seed)
        seen = twins_agree(program, points(program, rng, 2), rng, range(0))
        compared += oracle_agrees(program, seen, rng, "PyTorch", torched.run)
    assert compared > 20


@pytest.mark.parametrize(
    ("text", "x", "slope"),
    [("m.tanh(x0)", -8.0, "sech(x)**2"), ("m.sigmoid(x0)", 20.0, "exp(-x)/(1 + exp(-x))**2"),
     ("m.expm1(x0)", -20.0, "exp(x)"), ("m.elu(x0, 2.0)", -20.0, "2*exp(x)")],
)  # fmt: skip
def test_slopes_of_the_oracle_have_their_digits_where_a_function_levels_off(text, x, slope):
    """PyTorch computes these from the result, and has half of the digits there."""
    from fuzz import torched

    if torched.torch is None:
        pytest.skip(torched.MISSING)
    found = torched.run(Program(1, (), f"def f(x0):\n    return {text}\n", True), [x], [1.0])
    assert found[1] == pytest.approx(float(eval(slope, {**vars(mpmath), "x": mpmath.mpf(x)})), rel=1e-15, abs=0.0)


@pytest.mark.parametrize("name", ["tape", "expression", "weights", "checkpoint", "cache", "request"])
def test_damaged_input_is_refused_as_promised(name, monkeypatch, tmp_path):
    from fuzz import loaders

    monkeypatch.setenv("MICROGRAD_CACHE", str(tmp_path))
    rng, samples = random.Random(name), loaders._samples()[name]
    for sample in samples:
        loaders.READERS[name](sample)
    for _ in range(100):
        loaders.READERS[name](loaders.damaged(rng.choice(samples), rng))


def test_every_promise_of_the_trust_page_names_a_test_that_is_there():
    import subprocess

    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "trust.py"), "--check"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
