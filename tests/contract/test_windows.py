"""The C engine for Windows, as far as a cross compiler can tell."""

import shutil
import subprocess
import sys

import pytest

from twins import ROOT


@pytest.mark.skipif(
    shutil.which("x86_64-w64-mingw32-gcc") is None, reason="mingw-w64's cross compiler is not installed"
)
def test_every_unit_compiles_alone_for_windows():
    done = subprocess.run([sys.executable, ROOT / "tools" / "check_windows.py"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "for Windows too" in done.stdout
