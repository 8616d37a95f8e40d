"""Install the wheel of a folder into a fresh environment, and run the tests of the sdist on it.

    python tools/test_dist.py dist [pytest arguments]

Nothing of this checkout is on the path: what passes here is what a user gets.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tarfile
import tempfile
import venv
from pathlib import Path

TESTS = ["tests/engine/test_tiny.py", "tests/engine/test_engine.py", "tests/tape/test_tape.py", "tests/compile/test_jit.py",
         "tests/contract/test_install.py", "tests/contract/test_commands.py"]  # fmt: skip


def main(folder: str, *arguments: str) -> int:
    (wheel,), (sdist,) = Path(folder).glob("*.whl"), Path(folder).glob("*.tar.gz")
    with tempfile.TemporaryDirectory() as place:
        venv.create(Path(place) / "venv", with_pip=True)
        python = Path(place) / "venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        pip = [str(python), "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
        if importlib.util.find_spec("uv"):  # seconds in place of minutes
            pip = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", str(python)]
        subprocess.run([*pip, f"{wheel.resolve()}[jit,train,test]", "setuptools>=77"], check=True)
        with tarfile.open(sdist) as archive:
            archive.extractall(place, filter="data") if hasattr(tarfile, "data_filter") else archive.extractall(place)
        source = Path(place) / sdist.name.removesuffix(".tar.gz")
        command = [str(python), "-m", "pytest", "-q", "-n", os.environ.get("WORKERS", "auto"), *(arguments or TESTS)]
        return subprocess.run(command, cwd=source).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
