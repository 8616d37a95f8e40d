"""System call number n fails, or the process is killed at it, for every n, while weights, checkpoints and kernels are written.

Whatever happens, the file is the old one or the new one, whole; the model is as it was; the next write succeeds.
A shim in front of libc (system_calls.c) does it, in a process that forks for each n.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from twins import PACKAGE

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="LD_PRELOAD"),
    pytest.mark.skipif(shutil.which("cc") is None, reason="the shim in front of libc needs a C compiler"),
]

PROGRAM = """
import ctypes, errno, json, os, random, sys, traceback
from pathlib import Path
folder, what = Path(sys.argv[1]), sys.argv[2]
os.environ["MICROGRAD_CACHE"] = str(folder / "kernels")
from micrograd.compile import cache
from micrograd.nn import MLP, files
from micrograd.optim import SGD
from micrograd.train.checkpoints import Checkpoint, DataPosition
from micrograd.train.history import History

shim = ctypes.CDLL(None)
CODE = [bytes([k]) * 3000 for k in (1, 2, 3)]


ROW = {"step": 1, "loss": 0.5}
run = Checkpoint(folder / "run.json")


def place(k):  # k + 1 steps, of which there are two in an epoch
    at = DataPosition(8, 4)
    for _ in range(k + 1):
        at.advance()
    return at


def numbers(k):
    model = MLP(2, [2, 1], rng=k)
    return model, SGD(model.parameters(), lr=0.1)


def save(k):
    if what == "weights":
        files.save(numbers(k)[0].state_dict(), folder / "w.json")
    elif what == "checkpoint":  # one run that goes on
        run.save(*numbers(k), random.Random(k), place(k), History([ROW] * (k + 1)))
    elif what == "another run":  # each over the checkpoint of the one before
        Checkpoint(folder / "run.json").save(*numbers(k), random.Random(k), place(k), History([ROW] * (k + 1)))
    else:
        cache.save(cache.name(str(k)), CODE[k])


def load():
    if what == "weights":
        return files.load(folder / "w.json")
    if what in ("checkpoint", "another run"):
        model, optimizer = numbers(9)
        rows, *_ = Checkpoint(folder / "run.json").load(model, optimizer, random.Random(0), DataPosition(8, 4))
        assert set(map(str, rows)) == {str(ROW)}
        return model.state_dict()
    found = cache.load(cache.name("1"))
    return None if found is None else found.hex()


def wanted(k):
    return CODE[1].hex() if what == "kernel" else numbers(k)[0].state_dict()


def child(n, how):
    before = open(os.devnull, "w")  # a write buffer of its own, and no output
    os.dup2(before.fileno(), 1)
    shim.faults_begin(n, how)
    try:
        save(1)
        told = 0
    except OSError:
        told = 10
    except BaseException:
        told = 20
    os._exit(told + (1 if shim.faults_end() < n else 0))


report = []
for how in (errno.ENOSPC, errno.EIO, -1):
    n = 0
    while n < 200:
        n += 1
        for file in folder.rglob("*"):
            if file.is_file():
                file.unlink()
        run = Checkpoint(folder / "run.json")
        if what != "kernel":
            save(0)
        pid = os.fork()
        if pid == 0:
            child(n, how)
        status = os.waitpid(pid, 0)[1]
        code = os.waitstatus_to_exitcode(status)
        try:
            found = load()
        except BaseException as error:
            found = "".join(traceback.format_exception_only(error))
        state = "old" if found == (None if what == "kernel" else wanted(0)) else "new" if found == wanted(1) else found
        litter = [f.name for f in folder.rglob("*") if f.name.endswith((".tmp", ".part"))]
        save(2)
        again = load() == (wanted(2) if what != "kernel" else found if isinstance(found, str) else None)
        left = [f.name for f in folder.rglob("*") if f.name.endswith((".tmp", ".part"))]
        report.append([how, n, code, state, litter, again, left])
        if code in (1, 11, 21):  # it was over before call number n
            break
print(json.dumps(report))
"""


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    path = tmp_path_factory.mktemp("shim") / "shim.so"
    source = Path(__file__).with_name("system_calls.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", str(path), str(source), "-ldl"], check=True)
    return path


@pytest.mark.parametrize("what", ["weights", "checkpoint", "another run", "kernel"])
def test_every_call_fails_once_and_is_killed_once(tmp_path, shim, what):
    env = {k: v for k, v in os.environ.items() if not k.startswith("MICROGRAD")}
    env |= {"LD_PRELOAD": str(shim), "PYTHONPATH": str(PACKAGE.parent)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path), what], env=env, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    failed = 0
    for how, n, code, state, litter, again, left in report:
        where = f"call {n}, {'killed' if how < 0 else f'errno {how}'}"
        assert state in ("old", "new"), f"{where}: {state}"
        assert again, f"{where}: the next write was not read back"
        if how < 0:
            assert code in (-9, 0, 1), f"{where}: exit code {code}"
        else:
            assert code in (0, 1, 10, 11), f"{where}: something else than an OSError"
            assert len(litter) <= 1, where  # one, where the call that failed was to remove it
            if what == "kernel":
                assert code in (0, 1), f"{where}: a cache costs time, not an error"
        if what in ("checkpoint", "another run"):
            assert left == [] or how > 0, f"{where}: {left} of a killed writer is still there"
        if code == 0 and how > 0 and what != "kernel":
            assert state == "new", f"{where}: it said that it was written"
        failed += code in (10, -9)
    assert failed >= (4 if what == "kernel" else 12), report
