"""The types that editors and mypy see: a small user's program, right and wrong."""

from __future__ import annotations

import subprocess
import sys

import pytest

from twins import PACKAGE

pytest.importorskip("mypy")

PROGRAM = """
from micrograd import Value, math, no_grad, primitive
from micrograd.engine import NATIVE

a, b = Value(2.0, label="a"), Value(-3)
c: Value = (a * b + 10).tanh()
c += 1
d: Value = 2 ** c - c / 3 % 2 // 1
c.backward()
c.backward(gradient=2.0)
slope: float = a.grad
number: float = c.data
a.data = 4
inputs: tuple[Value, ...] = c._prev
label: str = a.label
less: bool = a < 3.0
for v in sorted([a, b]):
    v.zero_grad()
e = c.relu().sigmoid().log1p().leaky_relu(0.1).gelu().detach()
exact: float = float(e)
whole: int = round(e) + int(e)
native: bool = NATIVE


@no_grad()
def predict(x: float) -> Value:
    return a * x


p: Value = predict(2.0)


@primitive(lambda x, y: 3 * x * x)
def cube(x: float) -> float:
    return x * x * x


q = cube(a) + math.exp(a)
"""


def mypy(tmp_path, program):
    path = tmp_path / "program.py"
    path.write_text(program)
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--no-incremental",
        "--config-file=",
        "--follow-imports=silent",
        str(path),
    ]
    env = {"MYPYPATH": str(PACKAGE.parent), "PATH": ""}
    return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=env, timeout=300)


def test_a_user_s_program_type_checks(tmp_path):
    done = mypy(tmp_path, PROGRAM)
    assert done.returncode == 0, done.stdout + done.stderr


MISTAKES = {
    "Value(2.0).backwards()": '"Value" has no attribute "backwards"',
    "x: str = Value(2.0).data": "Incompatible types in assignment",
    "Value(2.0, lable='x')": 'Unexpected keyword argument "lable"',
    "Value(2.0).tanh(3)": "Too many arguments",
    "y: int = Value(2.0) * 3": "Incompatible types in assignment",
}


def test_mistakes_are_found(tmp_path):
    done = mypy(tmp_path, "\n".join(["from micrograd import Value", *MISTAKES]))
    assert done.returncode == 1
    for number, words in enumerate(MISTAKES.values(), start=2):
        assert any(f"program.py:{number}: error: " in line and words in line for line in done.stdout.splitlines()), (
            words
        )


def test_the_package_says_that_it_is_typed():
    assert (PACKAGE / "py.typed").exists()
