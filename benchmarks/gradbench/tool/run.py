"""Answer the messages of a GradBench eval: a line of JSON on stdin, a line of JSON on stdout.

python run.py                    one thread
python run.py --multithreaded    as many as there are cores, where a module runs over rows
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import traceback
from collections.abc import Callable
from importlib import import_module
from typing import IO, Any

import evaluation

EVALS = ("ba", "det", "gmm", "hello", "ht", "kmeans", "llsq", "lse", "lstm", "ode", "particle", "saddle")


def define(message: dict[str, Any]) -> dict[str, Any]:
    """Import a module."""
    if message["module"] not in EVALS:
        return {"success": False, "error": f"there is no module {message['module']!r}, only {', '.join(EVALS)}"}
    import_module(message["module"])
    return {"success": True}


def evaluate(message: dict[str, Any]) -> dict[str, Any]:
    """Run a function of a module."""
    function = getattr(import_module(message["module"]), message["function"])
    answer: dict[str, Any] = function.evaluate(message["input"])
    return answer


ANSWERS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "start": lambda message: {"tool": "micrograd"},
    "define": define,
    "evaluate": evaluate,
}


def answer(message: dict[str, Any]) -> dict[str, Any]:
    """Answer one message; what goes wrong is an answer, too."""
    try:
        said = ANSWERS.get(message["kind"], lambda message: {})(message)
    except Exception as error:
        said = {"success": False, "error": "".join(traceback.format_exception(error))}
    return {"id": message["id"], **said}


def serve(messages: IO[str], answers: IO[str]) -> None:
    """Answer until the messages end."""
    for line in messages:
        print(json.dumps(answer(json.loads(line))), file=answers, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--multithreaded", action="store_true")
    if parser.parse_args().multithreaded:
        evaluation.THREADS = None
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints is no answer
    serve(sys.stdin, answers)


if __name__ == "__main__":
    main()
