"""The commands that messages give: each works in the situation that it appears in (micrograd.install)."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from micrograd import CompileError, install
from twins import PACKAGE, ROOT

PYTHON = os.path.abspath(sys.executable)  # an interpreter may be started as ../venv/bin/python
ORIGINAL = {"__init__.py": "", "engine.py": "class Value: pass\n", "nn.py": "class MLP: pass\n"}


class Dist:
    """A distribution's metadata, as a situation has it."""

    def __init__(self, direct_url=None):
        self.direct_url = direct_url

    def read_text(self, name):
        return None if self.direct_url is None else json.dumps(self.direct_url)


@pytest.fixture
def active(monkeypatch):
    """An active virtual environment: `pip` on the path belongs to the interpreter."""
    monkeypatch.setattr(install, "_pip", lambda verb: f"pip {verb}")


def situation(monkeypatch, dist):
    monkeypatch.setattr(install, "_distribution", lambda: dist)


def test_from_an_index(monkeypatch, active):
    situation(monkeypatch, Dist())
    assert install.command("jit") == 'pip install "micrograd-next[jit]"'
    assert install.native_command().endswith("--no-binary micrograd-next micrograd-next")


@pytest.mark.parametrize("editable", [True, False])
def test_from_a_clone(monkeypatch, active, editable):
    situation(monkeypatch, Dist({"url": ROOT.as_uri(), "dir_info": {"editable": True} if editable else {}}))
    assert install.command("train") == 'pip install "micrograd-next[train]"'
    assert install.native_command().endswith(f"{'--editable ' if editable else '--no-deps '}{ROOT}")


def test_from_a_clone_that_is_gone(monkeypatch, active):
    situation(monkeypatch, Dist({"url": "file:///gone/away", "dir_info": {}}))
    assert "/gone" not in install.native_command()


def test_from_a_wheel_file(monkeypatch, active):
    situation(monkeypatch, Dist({"url": "file:///x/micrograd_next-1.0-py3-none-any.whl", "archive_info": {}}))
    assert install.command("jit") == 'pip install "micrograd-next[jit]"'
    assert ".whl" not in install.native_command()


def test_from_a_folder_on_the_path_without_metadata(monkeypatch, active):
    situation(monkeypatch, None)
    assert install.command("jit") == "pip install numpy llvmlite"


def test_pip_is_that_of_the_interpreter(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: "/usr/somewhere/pip")
    assert install.command("jit").startswith(f"{PYTHON} -m pip install ")
    monkeypatch.setattr(shutil, "which", lambda name: str(Path(PYTHON).parent / "pip"))
    assert install.command("jit").startswith("pip install ")
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    assert install.command("jit").startswith("%pip install ")


def without_pip(monkeypatch):
    import importlib.util

    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "pip" else find(name))


def test_an_environment_without_pip_is_served_by_uv(monkeypatch):
    without_pip(monkeypatch)
    assert install.command("jit").startswith(f"uv pip install --python {PYTHON} ")
    assert install.command_for("cairosvg") == f"uv pip install --python {PYTHON} cairosvg"
    assert install.native_command().startswith(f"uv pip install --python {PYTHON} --force-reinstall ")
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    assert install.command("jit").startswith(f"!uv pip install --python {PYTHON} ")


@pytest.mark.skipif(install._distribution() is None, reason="micrograd-next is not installed, only on the path")
def test_uv_takes_the_commands_and_finds_the_installed_package(monkeypatch):
    pytest.importorskip("uv")
    without_pip(monkeypatch)
    for given in (install.command_for('"micrograd-next"'), install._pip("uninstall") + " --yes no-such-package"):
        words = [sys.executable, "-m", *shlex.split(given), "--offline", "--dry-run"]
        done = subprocess.run(words, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        assert "Would make no changes" in done.stderr


@pytest.mark.skipif(install._distribution() is None, reason="micrograd-next is not installed, only on the path")
def test_the_command_for_an_extra_finds_the_installed_package():
    pytest.importorskip("pip")
    wanted = install.command("jit").split("install ", 1)[1].strip('"')
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", "--no-index", "--dry-run", wanted], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "Would install" not in done.stdout or "micrograd" not in done.stdout.split("Would install")[1]


def test_no_message_gives_the_name_of_the_original_as_a_requirement():
    for path in [*PACKAGE.rglob("*.py"), *ROOT.glob("docs/**/*.md"), ROOT / "README.md"]:
        text = path.read_text(encoding="utf-8")
        assert '"micrograd[' not in text and "pip install micrograd\n" not in text, path


# ---- the original beside it


@pytest.fixture
def both(tmp_path):
    """A folder like site-packages where the original micrograd was installed first (or, with `over`, last)."""
    shutil.copytree(PACKAGE, tmp_path / "micrograd", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "micrograd-0.1.0.dist-info").mkdir()
    (tmp_path / "micrograd" / "nn.py").write_text(ORIGINAL["nn.py"])
    return tmp_path


def test_the_original_beside_is_said_at_import_and_by_info(both, run_python):
    done = run_python("import micrograd; print(micrograd.nn.MLP.__module__)", PYTHONPATH=str(both))
    assert done.stderr.count("RuntimeWarning") == 1
    assert "'micrograd' 0.1.0 is installed beside micrograd-next" in done.stderr
    assert "uninstall --yes micrograd\n" in done.stderr and "install --force-reinstall --no-deps" in done.stderr
    assert done.stdout == "micrograd.nn.mlp\n"
    told = run_python("from micrograd.cli import main; main(['info'])", "-W", "ignore", PYTHONPATH=str(both)).stdout
    assert "warning   the distribution 'micrograd' 0.1.0" in told


def test_the_original_installed_over_it_is_said_by_the_command(both, run_python):
    for name, text in ORIGINAL.items():
        (both / "micrograd" / name).write_text(text)
    done = run_python(
        "import sys; from micrograd.cli import main; sys.exit(main(['info']))", PYTHONPATH=str(both), check=False
    )
    assert done.returncode == 1
    assert "micrograd: the distribution 'micrograd' 0.1.0 is installed beside" in done.stderr


@pytest.mark.parametrize("module", ["nn", "losses", "compile.jit", "optim", "learn", "train", "plots", "custom"])
def test_and_by_the_modules_that_are_left_of_it(both, run_python, module):
    for name, text in ORIGINAL.items():
        (both / "micrograd" / name).write_text(text)
    done = run_python(f"import micrograd.{module}", PYTHONPATH=str(both), check=False)
    assert "ImportError: the distribution 'micrograd' 0.1.0 is installed beside" in done.stderr


def test_a_reader_who_has_seen_enough_is_no_error(tmp_path):
    done = subprocess.run(
        f'"{sys.executable}" -W ignore -m micrograd info | true; echo "${{PIPESTATUS[0]}}"',
        shell=True, executable="/bin/bash", capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.stderr == "" and done.stdout.strip() in ("0", "141")


def test_alone_nothing_is_said(run_python):
    assert install.original_beside() == ""
    assert not run_python("import micrograd", MICROGRAD_PURE="1").stderr


# ---- too old an LLVM


def test_an_llvmlite_that_is_too_old_is_named(monkeypatch):
    binding = pytest.importorskip("llvmlite.binding")
    from micrograd.compile.llvm import build

    monkeypatch.setattr(binding, "llvm_version_info", (15, 0, 7))
    build.llvm.cache_clear()
    try:
        with pytest.raises(CompileError, match=r"compiling needs llvmlite 0\.45 or newer, and this is "):
            build.llvm()
    finally:
        build.llvm.cache_clear()
