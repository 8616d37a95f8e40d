"""Run the tests with the lowest or the newest versions of all dependencies that pyproject.toml allows.

    python tools/test_versions.py lowest|newest [pytest arguments]

The environment is .venv-lowest or .venv-newest, made by the interpreter that runs this script; uv resolves the versions.
"""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TESTS = ["tests/engine", "tests/tape", "tests/compile", "tests/train", "tests/interop", "tests/cluster",
         "tests/learn/test_theatre_widget.py", "tests/contract/test_cli.py"]  # fmt: skip
CHOICE = {"lowest": ["--resolution", "lowest-direct"], "newest": ["--prerelease", "allow", "--upgrade"]}


def main(which: str, *arguments: str) -> int:
    place = ROOT / f".venv-{which}"
    venv.create(place, with_pip=True, clear=True)
    python = str(place / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python"))
    subprocess.run([python, "-m", "pip", "--disable-pip-version-check", "--quiet", "install", "uv"], check=True)
    install = [python, "-m", "uv", "pip", "install", "--quiet", "--python", python]
    # The wheel, not an editable clone: two interpreters must not share the C engine in src.
    subprocess.run([*install, *CHOICE[which], f"{ROOT}[all,test]"], check=True)
    subprocess.run([*install, "setuptools>=77"], check=True)  # for the tests of the build
    subprocess.run([python, "-m", "uv", "pip", "list", "--python", python], check=True)
    command = [python, "-m", "pytest", "-q", "-n", "auto", *(arguments or TESTS)]
    return subprocess.run(command, cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
