"""The Makefile makes an environment again that no longer works, and leaves one alone that does."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "tools" / "heal_venv.sh"
pytestmark = pytest.mark.skipif(
    os.name == "nt" or not SCRIPT.exists(), reason="a shell script of the clone, and links to the interpreter"
)
PACKAGES = ["setuptools", "numpy", "llvmlite", "rich", "matplotlib", "pytest", "ruff", "mypy", "micrograd"]


@pytest.fixture
def venv(tmp_path):
    """An environment with packages that hold nothing."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "v"], check=True, timeout=60)
    (site,) = (tmp_path / "v").glob("lib/python*/site-packages")
    for name in PACKAGES:
        (site / name).mkdir()
        (site / name / "__init__.py").touch()
    (site / "micrograd" / "_engine.py").touch()
    for stamp in (".package", ".dev", ".native"):
        (tmp_path / "v" / stamp).touch()
    assert heal(tmp_path / "v") == ""
    return tmp_path / "v"


def heal(venv: Path) -> str:
    ran = subprocess.run(
        ["sh", SCRIPT, venv.name, f"{venv.name}/bin/python"],
        cwd=venv.parent, capture_output=True, text=True, timeout=60, env=os.environ | {"PYTHONPATH": ""},
    )  # fmt: skip
    assert ran.returncode == 0
    return ran.stderr


def unlink(venv: Path, site: Path) -> None:
    (venv / "bin" / "python").unlink()


def dangle(venv: Path, site: Path) -> None:
    unlink(venv, site)
    (venv / "bin" / "python").symlink_to("/nowhere/python")


def empty(venv: Path, site: Path) -> None:
    unlink(venv, site)
    (venv / "bin" / "python").touch()


def no_configuration(venv: Path, site: Path) -> None:
    (venv / "pyvenv.cfg").unlink()


def no_packages(venv: Path, site: Path) -> None:
    shutil.rmtree(venv / "lib")


def no_numpy(venv: Path, site: Path) -> None:
    shutil.rmtree(site / "numpy")


def half_of_numpy(venv: Path, site: Path) -> None:
    (site / "numpy" / "__init__.py").unlink()


def no_test_runner(venv: Path, site: Path) -> None:
    shutil.rmtree(site / "pytest")


def moved(venv: Path, site: Path) -> None:
    (venv / ".place").write_text("/elsewhere\n")


BROKEN = [unlink, dangle, empty, no_configuration, no_packages, no_numpy, half_of_numpy, no_test_runner, moved]


@pytest.mark.parametrize("damage", BROKEN, ids=lambda f: f.__name__)
def test_an_environment_that_does_not_work_is_removed(venv, damage):
    (site,) = venv.glob("lib/python*/site-packages")
    damage(venv, site)
    assert "is broken or was made elsewhere; it is made anew" in heal(venv)
    assert not venv.exists()


def test_the_package_and_its_engine_are_installed_again(venv):
    (site,) = venv.glob("lib/python*/site-packages")
    (site / "micrograd" / "_engine.py").unlink()
    assert "the C engine is gone" in heal(venv)
    assert not (venv / ".package").exists() and (venv / ".dev").exists()
    (venv / ".package").touch()
    shutil.rmtree(site / "micrograd")
    assert "micrograd cannot be imported" in heal(venv)
    assert not (venv / ".package").exists() and not (venv / ".dev").exists() and venv.exists()


def test_a_file_in_the_place_of_an_environment_is_removed(tmp_path):
    (tmp_path / "v").write_text("")
    heal(tmp_path / "v")
    assert not (tmp_path / "v").exists()
