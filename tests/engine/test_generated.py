"""ops.h is made from ops.py: this fails when one changed and the other did not."""

from __future__ import annotations

import subprocess
import sys

from twins import ROOT


def test_ops_h_is_what_the_table_gives():
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "gen_ops_h.py"), "--check"], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr


def test_a_stale_file_is_noticed(tmp_path):
    for folder in ("tools", "src/micrograd/native"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "tools" / "gen_ops_h.py").write_text((ROOT / "tools" / "gen_ops_h.py").read_text())
    for path in (ROOT / "src" / "micrograd").glob("*.py"):
        (tmp_path / "src" / "micrograd" / path.name).write_text(path.read_text())
    made = (ROOT / "src" / "micrograd" / "native" / "ops.h").read_text()
    (tmp_path / "src" / "micrograd" / "native" / "ops.h").write_text(made.replace("tanh(a)", "sinh(a)"))
    done = subprocess.run(
        [sys.executable, str(tmp_path / "tools" / "gen_ops_h.py"), "--check"],
        capture_output=True, text=True, timeout=120, env={"MICROGRAD_PURE": "1"},
    )  # fmt: skip
    assert done.returncode == 1 and "stale" in done.stderr
