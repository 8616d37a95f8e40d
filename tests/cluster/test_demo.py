"""micrograd cluster-demo as a user runs it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

pytest.importorskip(
    "distributed", reason="the cluster needs dask and distributed: pip install 'micrograd-next[cluster]'"
)
pytest.importorskip("llvmlite", reason="workers compile")

from cluster.local import MARKS
from micrograd.cli.main import main

pytestmark = MARKS


@pytest.mark.parametrize("address, told", [("nonsense", "missing port"), ("foo://bar:1", "unknown address scheme")])
def test_an_address_where_no_scheduler_is(capsys, address, told):
    assert main(["cluster-demo", "--address", address]) == 1
    error = capsys.readouterr().err
    assert f"no scheduler answers at {address}" in error and told in error


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="a terminal sends the signal to a group of processes")
def test_ctrl_c_ends_it_without_tracebacks():
    """Each worker printed one, since a terminal sends the signal to all processes."""
    command = [sys.executable, "-m", "micrograd", "cluster-demo", "--paths", "1e9", "--workers", "2"]
    pipe = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(command, start_new_session=True, **pipe) as demo:
        try:
            while "step" not in (line := demo.stdout.readline()):
                assert line, "it ended by itself"
            os.killpg(demo.pid, signal.SIGINT)
            rest = demo.communicate(timeout=120)[0]
        finally:
            if demo.poll() is None:
                demo.kill()
    assert demo.returncode == 130 and "Traceback" not in rest
