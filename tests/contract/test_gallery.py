"""examples/gallery: each project gives what SciPy, JAX or Numba give, and the page shows it as it is."""

import importlib.util
import math
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GALLERY = ROOT / "examples" / "gallery"
PAGE = ROOT / "docs" / "gallery.md"

spec = importlib.util.spec_from_file_location("gallery", ROOT / "benchmarks" / "gallery.py")
gallery = importlib.util.module_from_spec(spec)
spec.loader.exec_module(gallery)

PROJECTS = gallery.NAMES
NEEDS = {"JAX": "jax", "Numba": "numba"}


def test_every_project_is_measured():
    assert {p.stem for p in GALLERY.glob("*.py")} == set(PROJECTS)


@pytest.mark.parametrize("name", PROJECTS)
def test_the_page_shows_the_program(name):
    text = PAGE.read_text(encoding="utf-8")
    program = (GALLERY / f"{name}.py").read_text(encoding="utf-8").split(gallery.BESIDE)[0].split('"""', 2)
    assert program[2].strip() in text
    assert program[1].strip().splitlines()[0].rstrip(".") in text
    assert (ROOT / "docs" / "images" / f"gallery-{name}.svg").exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", PROJECTS)
def test_the_numbers_are_those_of_another_library(name):
    for package in ("numpy", "scipy", "llvmlite"):
        pytest.importorskip(package)
    module = gallery.load(name)
    found = [float(x) for x in module.numbers(module.solve()())]
    size = max(abs(x) for x in found)
    compared = 0
    for way, builder in module.OTHERS.items():
        if any(word in way and importlib.util.find_spec(package) is None for word, package in NEEDS.items()):
            continue
        other = [float(x) for x in builder()()]
        assert len(other) == len(found)
        assert all(math.isclose(a, b, abs_tol=gallery.AGREE * size) for a, b in zip(found, other)), way
        compared += 1
    if not compared:
        pytest.skip("nothing to compare with is installed")
