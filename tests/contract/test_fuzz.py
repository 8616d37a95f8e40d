"""The fuzzer of whole programs: some of its programs, always the same; it sees a planted fault, and shrinks to it."""

from __future__ import annotations

import random
import sys

import pytest

from random_programs import needs_llvm
from twins import ROOT, C

np = pytest.importorskip("numpy", reason="rows need NumPy")
sys.path.insert(0, str(ROOT))

from fuzz.check import Failure, check  # noqa: E402
from fuzz.generate import generate, source  # noqa: E402
from fuzz.shrink import shrink  # noqa: E402

pytestmark = needs_llvm


@pytest.mark.parametrize("first", range(0, 60, 10))
def test_programs_on_both_engines(first):
    for seed in range(first, first + 10):
        check(generate(seed), random.Random(seed), thorough=False)


@pytest.mark.parametrize("seed", range(100, 112))
def test_programs_in_every_way(seed):
    check(generate(seed), random.Random(seed), thorough=True, count=4)


def test_a_seed_reproduces():
    assert generate(7) == generate(7) and source(generate(7)) == source(generate(7))
    assert generate(7) != generate(8)


def test_a_wrong_partial_is_found_and_its_program_shrunk(monkeypatch):
    """tanh with a slope that is off by a millionth, on one engine: found within 60 programs, shrunk to a few lines."""
    row = next(op for op in C.ops.OPS.values() if op.name == "sin")
    pure = sys.modules["twins"].PYTHON.ops.OPS["sin"]
    monkeypatch.setattr(pure, "partials", (lambda a, y: row.partials[0](a, y) * 1.000001,))

    def fails(program, seed=0):
        try:
            check(program, random.Random(seed), thorough=False)
        except Failure:
            return True
        return False

    found = next(seed for seed in range(60) if fails(generate(seed), seed))
    short = shrink(generate(found), lambda p: fails(p, found), most=60)
    assert len(source(short)) < len(source(generate(found))) and "sin" in source(short)


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
