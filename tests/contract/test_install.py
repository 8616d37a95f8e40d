"""Which engine runs, what is said when the C one is missing, and what an import costs: in fresh interpreters."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys

import pytest

from twins import NATIVE, ROOT

SHOW = "import micrograd.engine as e; print(e.NATIVE, e.Value.__module__, (e.Value(2.0) * 3).data)"
needs_native = pytest.mark.skipif(not NATIVE, reason="the C twin is not built")


@pytest.fixture
def without_c(tmp_path):
    """A copy of the package as an install without a C compiler leaves it."""
    shutil.copytree(ROOT / "src" / "micrograd", tmp_path / "micrograd", ignore=shutil.ignore_patterns("*.so", "*.pyd"))
    return str(tmp_path)


class TestChoice:
    @needs_native
    def test_the_c_twin_runs_where_it_was_built(self, run_python):
        done = run_python(SHOW)
        assert done.stdout.split() == ["True", "micrograd.engine", "6.0"] and not done.stderr

    @pytest.mark.parametrize(("value", "native"), [("1", "False"), ("yes", "False"), ("0", "True"), ("", "True")])
    @needs_native
    def test_micrograd_pure_chooses_the_python_twin(self, run_python, value, native):
        done = run_python(SHOW, MICROGRAD_PURE=value)
        assert done.stdout.split() == [native, "micrograd.engine", "6.0"] and not done.stderr

    def test_without_the_c_twin_it_says_once_that_it_is_slower(self, run_python, without_c):
        done = run_python(SHOW + "; import micrograd, micrograd.graph", PYTHONPATH=without_c)
        assert done.stdout.split() == ["False", "micrograd.engine", "6.0"]
        assert done.stderr.count("RuntimeWarning") == 1
        for words in ("many times slower", "C compiler", "MICROGRAD_PURE=1"):
            assert words in done.stderr

    def test_chosen_silently(self, run_python, without_c):
        assert not run_python(SHOW, PYTHONPATH=without_c, MICROGRAD_PURE="1").stderr

    def test_micrograd_require_native_makes_it_an_error(self, run_python, without_c):
        done = run_python(SHOW, PYTHONPATH=without_c, MICROGRAD_REQUIRE_NATIVE="1", check=False)
        assert (
            done.returncode != 0 and "ImportError" in done.stderr + done.stdout
        ) or "ModuleNotFoundError" in done.stderr


@pytest.mark.skipif(importlib.util.find_spec("setuptools") is None, reason="setuptools is not installed")
@pytest.mark.skipif(sys.platform == "win32", reason="looks for the compiler in another place")
class TestBuild:
    @pytest.fixture
    def build(self, tmp_path):
        """Build the C twin in a copy of the project."""
        for name in ("setup.py", "pyproject.toml", "README.md"):
            shutil.copy(ROOT / name, tmp_path)
        shutil.copytree(
            ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("*.so", "*.egg-info", "__pycache__")
        )

        def run(**environment):
            command = [sys.executable, "-W", "ignore", "setup.py", "build_ext", "--inplace"]
            env = {k: v for k, v in os.environ.items() if not k.startswith("MICROGRAD")} | environment
            return subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=300)

        return run, tmp_path

    def test_without_a_compiler_it_goes_on(self, build, run_python):
        run, place = build
        done = run(CC="/bin/false")
        assert done.returncode == 0, done.stderr
        assert not list(place.glob("src/micrograd/*.so"))
        assert run_python(SHOW, PYTHONPATH=str(place / "src")).stdout.split()[0] == "False"

    def test_unless_the_c_twin_is_required(self, build):
        run, _ = build
        assert run(CC="/bin/false", MICROGRAD_REQUIRE_NATIVE="1").returncode != 0


class TestImport:
    def test_it_needs_the_standard_library_alone_and_little_of_it(self, run_python):
        program = f"""
import sys
before = set(sys.modules)
sys.path.insert(0, {str(ROOT / "src")!r})
import micrograd
print(sorted(set(sys.modules) - before))
"""
        done = run_python(program, "-I", "-S", MICROGRAD_PURE="0" if NATIVE else "1")
        loaded = set(eval(done.stdout))
        assert "micrograd.engine" in loaded
        slow = {
            "typing",
            "dataclasses",
            "inspect",
            "collections.abc",
            "re",
            "ast",
            "numpy",
            "matplotlib",
            "rich",
            "llvmlite",
        }
        assert not loaded & slow
        core = {"engine", "_engine", "math", "ops", "errors", "primitive"}
        assert {name.removeprefix("micrograd.") for name in loaded if name.startswith("micrograd.")} <= core
