"""The types that editors and type checkers see: a program that uses everything, and mistakes that must be found."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from micrograd.engine import NATIVE
from twins import PACKAGE, ROOT

pytest.importorskip("mypy")
PROGRAM = (Path(__file__).parent / "typed_program.py").read_text()

MISTAKES = [  # each line is an error to mypy and to pyright
    "Value(2.0).backwards()",
    "v1: str = Value(2.0).data",
    "Value(2.0, lable='x')",
    "Value('x')",
    "Value([1.0])",
    "Value(2.0).tanh(3)",
    "v2: int = Value(2.0) * 3",
    "Value(2.0).data = 'x'",
    "Value(2.0).grad = None",
    "v3: float = math.exp(Value(1.0))",
    "v4: Value = math.exp(1.0)",
    "math.exp('1')",
    "math.exp(1.0, 2.0)",
    "math.atan2(1.0)",
    "v5: float = math.sum([Value(1.0)])",
    "jit(area)(1.0)",
    "jit(area)('a', 2.0)",
    "v6: str = jit(area)(1.0, 2.0)",
    "jit(area).sauce(1.0, 2.0)",
    "jit(area).source('a', 2.0)",
    "jit(area, exakt=True)",
    "grad(area)(1.0)",
    "v7: str = value_and_grad(area)(1.0, 2.0)[0]",
    "vmap(area, reduce='median')",
    "jit(3.0)",
    "grad(3.0)",
    "math.sinus(1.0)",
    "nn.MLP(2)",
    "nn.MLP('2', [1])",
    "nn.MLP(2, [1]).paramters()",
    "jit(nn.MLP(2, [1])).paramters()",
    "v9: int = jit(nn.MLP(2, [1])).parameters()",
    "remat(area)('a', 2.0)",
    "jacfwd(area)(1.0)",
    "v8: int = nn.MLP(2, [1]).parameters()",
    "custom_vjp(area)(1.0)",
    "v10: str = custom_vjp(area)(1.0, 2.0)",
    "Spring().force('a')",
    "v11: str = Spring().force(1.0)",
    "v12: float = random.normal(random.key(0), Value(1.0))",
    "random.uniform('key')",
    "explore(3.0)",
    "v13: str = losses.mse([Value(1.0)], [1.0])",
    "v14: float = losses.cross_entropy([Value(1.0), Value(2.0)], 1)",
    "losses.mse([1.0], [1.0]).backward()",
    "losses.mse([1.0], [1.0], reductoin='sum')",
    "losses.cross_entropy([Value(1.0)], 0, weights=[1.0])",
    "losses.mse(None, [1.0])",
    "v15: str = nn.Neuron(2)([1.0, 2.0])",
    "nn.MLP(2, [1])('ab')",
    "nn.MLP(2, [1])([1.0], [2.0])",
    "nn.Linear(2, 3)([1.0, 2.0]).backward()",
    "v16: float = nn.Tanh()(Value(1.0))",
    "v17: list[float] = nn.GPT(5, block=4, width=4, heads=2, layers=1)([0, 1])",
    "v18: str = vmap(area, reduce='sum')(1.0, 2.0)",
    "vmap(area)([1.0], [2.0]).backward()",
    "v19: str = minimize(area, [1.0]).x",
    "v20: str = minimize(area, 1.0).fun",
    "minimize(area, [1.0]).minimum",
    "v21: dict[str, str] = minimize(area, {'a': 1.0}).x",
    "v22: str = root(area, [1.0]).x",
    "nn.MLP(2, [1])([1.0, 2.0]).backwards()",
    "v23: str = nn.MLP(2, [1])([1.0, 2.0])",
    "v24: list[float] = nn.Layer(2, 3)([1.0, 2.0])",
    "v25: dict[str, Value] = nn.MLP(2, [1])([1.0, 2.0])",
    "nn.Sequential(nn.Tanh(), nn.Linear(2, 3))([1.0, 2.0]).backward()",
    "v26: Value = nn.Sequential(nn.Linear(2, 3), nn.Softmax())([1.0, 2.0])",
    "nn.Sequential(3.0)",
    "v29: Value = nn.Sequential(nn.Tanh(), nn.Tanh(), nn.Tanh(), nn.Tanh(), nn.Tanh(), nn.Linear(2, 3))([1.0, 2.0])",
    "v27: Value = losses.mse([Value(1.0)], [1.0], reduction='none')",
    "losses.mae([Value(1.0)], [1.0], reduction='none').backward()",
    "(np.ones(3) * Value(2.0)).backward()",
    "v37: Value = np.ones(3) - Value(2.0)",
    "v30: str = cube(2.0)",
    "v31: float = cube(Value(2.0))",
    "cube('a')",
    "v32: str = round(Value(2.5))",
    "v33: int = round(Value(2.5), 1)",
    "v34: str = jvp(area, (1.0, 2.0), (1.0, 0.0))[1]",
    "v35: str = vjp(area, 1.0, 2.0)[0]",
    "v36: str = linearize(area, 1.0, 2.0)[0]",
    "v28: list[str] = losses.cross_entropy([[Value(1.0)]], [0], 'none')",
]
START = """import numpy as np
from micrograd import (
    Value, custom_vjp, explore, grad, jacfwd, jit, jvp, linearize, losses, math, minimize, nn, primitive, random, remat, root,
    value_and_grad, vjp, vmap,
)


def area(w: float, h: float) -> float:
    return w * h


class Spring:
    @jit
    def force(self, x: float) -> float:
        return -2.0 * x


@primitive(lambda x, y: 3 * x * x)
def cube(x: float) -> float:
    return x * x * x


"""


WRONG = START + "\n".join(MISTAKES) + "\n"


def missed(found):
    """The mistakes in whose lines a checker has found nothing."""
    return [mistake for number, mistake in enumerate(MISTAKES, START.count("\n") + 1) if number not in found]


@pytest.fixture
def programs(tmp_path):
    """A program that is right and one that is wrong. One run of a checker reads both, and the package once."""
    paths = tmp_path / "right.py", tmp_path / "wrong.py"
    for path, text in zip(paths, (PROGRAM, WRONG)):
        path.write_text(text)
    return paths


def test_a_program_that_uses_everything_runs(programs):
    pytest.importorskip("scipy")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(programs[0])], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr


def test_mypy_accepts_it_and_finds_mistakes(programs):
    options = ["--strict", "--no-incremental", "--config-file=", "--follow-imports=silent"]
    env = {"MYPYPATH": str(PACKAGE.parent), "PATH": ""}
    command = [sys.executable, "-m", "mypy", *options, *map(str, programs)]
    done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=300)
    assert done.returncode == 1 and "right.py" not in done.stdout, done.stdout + done.stderr
    assert not missed({int(line) for line in re.findall(r"wrong\.py:(\d+): error: ", done.stdout)}), done.stdout


def test_pyright_accepts_it_and_finds_mistakes(programs):
    pytest.importorskip("pyright")
    folder = programs[0].parent
    settings = {
        "typeCheckingMode": "standard",
        "extraPaths": [str(PACKAGE.parent)],
        "include": [p.name for p in programs],
    }
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "pyright", "--outputjson", "-p", str(folder), "--pythonpath", sys.executable]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if not done.stdout.lstrip().startswith("{"):
        pytest.skip("pyright needs node, and could not fetch it")
    found = [d for d in json.loads(done.stdout)["generalDiagnostics"] if d["severity"] == "error"]
    assert not [d for d in found if Path(d["file"]).name == "right.py"]
    assert not missed({d["range"]["start"]["line"] + 1 for d in found if Path(d["file"]).name == "wrong.py"})


def test_the_stub_of_math_is_that_of_the_table():
    command = [sys.executable, str(ROOT / "tools" / "gen_math_pyi.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_stub_of_value_has_every_method_of_the_table():
    from micrograd.ops import OPS

    stub = (PACKAGE / "methods.pyi").read_text()
    found = dict(re.findall(r"    def (\w+)\(self(.*)\) -> Value: \.\.\.", stub))
    for op in OPS.values():
        if op.arity in (1, 2) and op.symbol == op.name:
            # The methods of the C engine take nothing by name.
            default = f" = {op.defaults[0]}" if op.defaults else ""
            assert re.fullmatch(rf", \w+: Any{default}, /" if op.arity == 2 else "", found[op.name]), op.name


def test_methods_have_signatures():
    import inspect

    from micrograd import Value

    for name in ("backward", "zero_grad", "detach"):
        assert next(iter(inspect.signature(getattr(Value, name)).parameters)) == "self"
    if NATIVE:  # the C engine has them in its docstrings
        assert str(inspect.signature(Value.tanh)) == "(self, /)"
        assert str(inspect.signature(Value.min)) == "(self, other, /)"
        assert str(inspect.signature(Value.leaky_relu)) == "(self, other=0.01, /)"


def test_the_package_says_that_it_is_typed():
    assert (PACKAGE / "py.typed").exists()
