"""CONTRIBUTING.md: the tree that it shows is the one that is there, and a call takes the path that it describes."""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

import micrograd
from micrograd import jit, math, value_and_grad
from random_programs import needs_llvm
from twins import ROOT

PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
SOURCE = ROOT / "src" / "micrograd"  # with native/, which a wheel does not have
PACKAGE = Path(micrograd.__file__).resolve().parent
TREE = PAGE.split("## The tree")[1].split("```")[1].splitlines()


def shown(indent: int) -> set[str]:
    """The names at the beginning of the lines with this indentation; a description follows behind three spaces or an arrow."""
    lines = [line for line in TREE if re.match(rf" {{{indent}}}\S", line)]
    return {name.removesuffix(".py") for line in lines for name in re.split(r" {3,}", line.strip())[0].split()}


def there(folder: Path) -> set[str]:
    modules = {p.stem for p in folder.glob("*.py") if not p.stem.startswith("__")}
    return modules | {f"{p.name}/" for p in folder.iterdir() if any(p.glob("*.py")) or any(p.glob("*.c"))}


def test_the_tree_names_every_module_and_folder():
    assert shown(2) == there(SOURCE)


def test_the_tree_names_every_module_of_the_compiler():
    assert shown(4) == there(SOURCE / "compile")


def test_the_tree_names_the_folders_of_the_tests():
    line = next(line for line in TREE if line.startswith("tests/"))
    folders = {p.name for p in (ROOT / "tests").iterdir() if p.is_dir() and any(p.glob("test_*.py"))}
    assert folders <= set(re.findall(r"\w+", line))


def entered(call) -> Counter[str]:
    """The files of the package whose functions a call enters, in the order in which it comes to them."""
    found: Counter[str] = Counter()

    def look(frame, event, _):
        name = Path(frame.f_code.co_filename)
        if event == "call" and PACKAGE in name.parents:
            found[name.relative_to(PACKAGE).as_posix()] += 1

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        call()
    finally:
        sys.setprofile(before)
    return found


@needs_llvm
def test_a_call_takes_the_path_that_is_described():
    described = re.findall(
        r"`((?:compile|evidence|tape|stage|transforms)[\w/]*\.py)`",
        PAGE.split("## The path of a call")[1].split("\n`jit(f).explain")[0],
    )
    assert len(described) > 8
    jit(value_and_grad(lambda x: x * x), wait=True)(1.0)  # from now on, everything is imported
    f = jit(value_and_grad(lambda x, y: math.tanh(x * y) + x), wait=True)
    first = list(entered(lambda: f(1.0, 2.0)))
    assert "call enters about 50 files" in PAGE and len(first) < 52
    assert [name for name in first if name in described] == list(dict.fromkeys(described))
    assert not entered(lambda: f(3.0, 4.0))  # native/kernel.c answers


def _nine_lines(p, xs):
    total, out = 0.0, []
    for x in xs:
        if x > p[0]:
            total += p[1] * x
        else:
            total -= x
        out.append(total)
    return total + out[-1]


def _another(p, xs):
    total, out = 1.0, []
    for x in xs:
        if x < p[0]:
            total += p[1] * x * x
        else:
            total += x
        out.append(total)
    return total - out[-1]


@needs_llvm
def test_a_function_with_a_loop_takes_the_other_path_that_is_described():
    story = PAGE.split("**A function with loops**")[1].split("## Where to look")[0]
    described = re.findall(r"`((?:compile|abstract|core|ir)/[\w/]*\.py)`", story)
    assert len(described) > 8
    args = [1.0, 2.0], [1.0, 2.0, 0.5]
    jit(value_and_grad(_nine_lines))(*args)  # from now on, everything is imported
    f = jit(value_and_grad(_another))
    first = list(entered(lambda: f(*args)))
    assert "enters about 55 files" in story and len(first) < 56
    assert {name for name in described if name != "compile/cache.py"} <= set(first)
    f(*args)
    assert not entered(lambda: f(*args))  # C answers


def test_the_table_of_concepts_names_files_that_are_there():
    rows = PAGE.split("## Where to look")[1].split("\n## ")[0].splitlines()
    cells = [[re.findall(r"`([\w/.]+\.\w+)`", cell) for cell in row.split("|")[2:4]] for row in rows if row[:1] == "|"]
    named = [(files, tests) for files, tests in cells if files]
    assert len(named) > 20
    assert not [name for files, _ in named for name in files if not (SOURCE / name).is_file()]
    assert not [name for _, tests in named for name in tests if not (ROOT / "tests" / name).is_file()]
    assert all(tests for _, tests in named)
