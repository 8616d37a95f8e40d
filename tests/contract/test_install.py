"""Which engine runs, what is said when the C one is missing, and what an import costs: in fresh interpreters."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import zipfile

import pytest

from twins import NATIVE, PACKAGE, ROOT

SHOW = "import micrograd.engine as e; print(e.NATIVE, e.Value.__module__, (e.Value(2.0) * 3).data)"
needs_native = pytest.mark.skipif(not NATIVE, reason="the C twin is not built")


@pytest.fixture
def without_c(tmp_path):
    """A copy of the package as an install without a C compiler leaves it."""
    shutil.copytree(PACKAGE, tmp_path / "micrograd", ignore=shutil.ignore_patterns("*.so", "*.pyd"))
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
        assert done.stderr.count("RuntimeWarning") == 1 and "<string>:1: RuntimeWarning" in done.stderr
        for words in ("many times slower", "C compiler", "MICROGRAD_PURE=1"):
            assert words in done.stderr

    def test_chosen_silently(self, run_python, without_c):
        assert not run_python(SHOW, PYTHONPATH=without_c, MICROGRAD_PURE="1").stderr

    @needs_native
    def test_c_files_that_are_newer_than_the_engine_are_told_with_the_way_out(self, run_python, tmp_path):
        copy = tmp_path / "micrograd"
        shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
        native = copy / "native"
        native.mkdir(exist_ok=True)
        for path in native.iterdir():
            os.utime(path, (0, 0))
        (native / "sweep.c").touch()
        (built,) = copy.glob("_engine.*.*")
        for age, told in ((1, False), (-1, True)):
            now = (native / "sweep.c").stat().st_mtime + age
            os.utime(built, (now, now))
            said = run_python(SHOW, PYTHONPATH=str(tmp_path))
            assert said.stdout.split()[0] == "True" and said.stderr.count("RuntimeWarning") == told
        for words in ("<string>:1:", "before native/sweep.c was changed", "TypeError", "make setup"):
            assert words in said.stderr

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
        for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
            shutil.copy(ROOT / name, tmp_path)
        (tmp_path / "tools").mkdir()
        shutil.copy(ROOT / "tools" / "index_page.py", tmp_path / "tools")
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
sys.path.insert(0, {str(PACKAGE.parent)!r})
import micrograd
print(sorted(set(sys.modules) - before))
"""
        done = run_python(program, "-I", "-S", MICROGRAD_PURE="0" if NATIVE else "1")
        loaded = set(eval(done.stdout))
        assert "micrograd.engine" in loaded
        slow = {
            "typing",
            "numbers",
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
        core = {"engine", "observed", "_engine", "math", "ops", "errors", "primitive", "philox"}
        core |= {"values", "values.operand", "values.protocols"}
        assert {name.removeprefix("micrograd.") for name in loaded if name.startswith("micrograd.")} <= core


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("setuptools") is None, reason="setuptools is not installed")
@pytest.mark.skipif(sys.platform == "win32", reason="looks for the compiler in another place")
class TestWheel:
    @pytest.fixture
    def source(self, tmp_path_factory):
        place = tmp_path_factory.mktemp("source")
        for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE", "MANIFEST.in"):
            shutil.copy(ROOT / name, place)
        left_out = shutil.ignore_patterns("*.so", "*.egg-info", "__pycache__")
        for name in ("src", "tools"):
            shutil.copytree(ROOT / name, place / name, ignore=left_out)
        return place

    def wheel(self, source, out, **environment):
        program = f"from setuptools.build_meta import build_wheel; build_wheel({str(out)!r})"
        env = {k: v for k, v in os.environ.items() if not k.startswith("MICROGRAD")} | environment
        done = subprocess.run([sys.executable, "-c", program], cwd=source, env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        (path,) = out.glob("*.whl")
        shutil.rmtree(source / "build", ignore_errors=True)
        return path

    def test_without_a_compiler_it_is_tagged_for_any_machine(self, source, tmp_path):
        path = self.wheel(source, tmp_path, CC="/bin/false")
        assert path.name.endswith("-py3-none-any.whl")
        names = zipfile.ZipFile(path).namelist()
        assert "micrograd/engine.py" in names and not [n for n in names if n.endswith((".so", ".c", ".h"))]

    @pytest.mark.skipif(not (shutil.which("cc") or shutil.which("gcc")), reason="there is no C compiler")
    def test_with_one_it_has_the_engine_and_the_tag_of_the_machine(self, source, tmp_path):
        path = self.wheel(source, tmp_path, MICROGRAD_REQUIRE_NATIVE="1", CFLAGS="-O0")
        assert not path.name.endswith("any.whl")
        names = zipfile.ZipFile(path).namelist()
        assert [n for n in names if n.startswith("micrograd/_engine.") and not n.endswith(".pyi")]
        assert not [n for n in names if n.endswith((".c", ".h"))]
        assert {"micrograd/py.typed", "micrograd/learn/static/page.css", "micrograd/assets/names.txt"} <= set(names)


def test_links_of_the_index_page_are_addresses_or_text(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    from index_page import index_page

    text = "![p](docs/a.png) [b](docs/b.md#x) [c](https://c.org) [![badge](https://x/y)](https://z)"
    assert index_page(text, "") == " b [c](https://c.org) [![badge](https://x/y)](https://z)"
    assert "(https://h/raw/main/docs/a.png) [b](https://h/blob/main/docs/b.md#x)" in index_page(text, "https://h/")
    assert not re.findall(r"\]\((?!https?:|#)", index_page())


def test_a_free_threaded_python_is_told_what_the_c_engine_needs(monkeypatch):
    import sysconfig

    from micrograd import install

    assert "compiler" in install.native_way_out()
    monkeypatch.setattr(sysconfig, "get_config_var", lambda name: 1)
    assert "not free-threaded" in install.native_way_out()


def test_the_extra_all_has_every_other_one():
    from micrograd import install

    found = re.search(r'^all = \["micrograd-next\[(.*?)\]"\]', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert found is not None and set(found[1].split(",")) == set(install.EXTRAS)
