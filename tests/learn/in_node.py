"""One node process that the tests share: it imports files of the page once, and runs the scripts of all tests."""

from __future__ import annotations

import atexit
import json
import shutil
import subprocess
import threading
from functools import cache
from typing import Any

import pytest

from twins import PACKAGE

STATIC = PACKAGE / "learn" / "static"
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed: the page's code was not run")

ANSWERS = """
import { createInterface } from "node:readline";
const plain = (_, x) => (typeof x === "number" && !Number.isFinite(x) ? (x !== x ? "nan" : x > 0 ? "inf" : "-inf") : x);
for await (const line of createInterface({ input: process.stdin })) {
  const { script, data, files } = JSON.parse(line);
  let reply;
  try {
    const modules = await Promise.all(Object.values(files).map((file) => import(file)));
    const run = new (async () => {}).constructor(...Object.keys(files), "data", script);
    reply = { answer: (await run(...modules, data)) ?? null };
  } catch (error) {
    reply = { error: error.stack };
  }
  console.log(JSON.stringify(reply, plain));
}
"""


@cache
def _process() -> subprocess.Popen[str]:
    assert NODE
    process = subprocess.Popen(
        [NODE, "--input-type=module", "-e", ANSWERS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    atexit.register(_end, process)
    return process


def _end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def run_in_node(script: str, data: Any = None, *files: str) -> Any:
    """What a script returns, in which `data` and the modules of the page stand: "graph.js" as `graph`, and so on.

    Numbers that are not finite come back as "inf", "-inf" and "nan".
    """
    process = _process()
    assert process.stdin and process.stdout
    modules = {file.removesuffix(".js"): (STATIC / file).as_uri() for file in files}
    watchdog = threading.Timer(120.0, process.kill)
    watchdog.start()
    try:
        process.stdin.write(json.dumps({"script": script, "data": data, "files": modules}) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
    finally:
        watchdog.cancel()
    if not line:
        _process.cache_clear()
        raise AssertionError("node has ended, or was ended after two minutes")
    reply = json.loads(line)
    assert "error" not in reply, reply["error"]
    return reply["answer"]
