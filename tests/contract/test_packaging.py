"""The conda recipe and llms.txt say what the project is now."""

import re

from micrograd import __version__
from twins import ROOT


def test_the_conda_recipe_has_the_version_and_the_bounds_of_the_project():
    recipe = (ROOT / "packaging" / "conda" / "recipe.yaml").read_text()
    project = (ROOT / "pyproject.toml").read_text()
    assert f'version: "{__version__}"' in recipe
    for name in ("numpy", "llvmlite", "scipy"):
        bound = re.search(rf'"{name}>=([\d.]+)"', project)[1]
        assert f"- {name} >={bound}\n" in recipe
    for name, pattern in {"setuptools": r"setuptools>=(\d+)", "python": r'requires-python = ">=([\d.]+)'}.items():
        assert f"- {name} >={re.search(pattern, project)[1]}\n" in recipe


def test_the_pages_that_llms_txt_names_exist():
    text = (ROOT / "docs" / "llms.txt").read_text()
    pages = re.findall(r"\]\(([\w-]+)\.html\)", text)
    assert len(pages) > 15
    assert [p for p in pages if p != "api" and not (ROOT / "docs" / f"{p}.md").exists()] == []
    assert len(text) < 5000
