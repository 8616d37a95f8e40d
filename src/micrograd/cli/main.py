"""The command `micrograd`: a table of subcommands, each in a module that is imported when it is asked for."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NoReturn

from micrograd import install

COMMANDS = {  # name -> (module with add_arguments(parser) and run(args) -> exit code, what it does)
    "learn": ("micrograd.cli.learn", "start here: a course in twelve chapters, in the browser"),
    "demo": ("micrograd.cli.demo", "train a small network, and look at the result"),
    "step": ("micrograd.learn.terminal", "step through a backward pass in the terminal"),
    "explore": ("micrograd.learn.server", "step through a backward pass in a web page"),
    "workshop": ("micrograd.cli.workshop", "build your own micrograd: exercises with a check at each save"),
    "lesson": ("micrograd.cli.lesson", "write a lesson of your own: start it, check its numbers, build its page"),
    "cluster-demo": ("micrograd.cli.cluster", "price an option with all Greeks on the workers of a cluster"),
    "info": ("micrograd.cli.info", "show the version, the engine and the extras"),
}


class BadArgument(Exception):
    """An argument that cannot be, found after parsing; told in one line, with exit code 2."""


class CommandParser(argparse.ArgumentParser):
    """Tells what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        """Say it and leave."""
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def offered() -> dict[str, tuple[str, str]]:
    """The commands whose modules are there."""
    return {name: command for name, command in COMMANDS.items() if _is_there(command[0])}


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def _is_this_package() -> bool:
    """Whether `import micrograd` gives this package, and not the original micrograd installed over it."""
    import micrograd

    return hasattr(micrograd, "__version__")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; gives the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    if not _is_this_package():
        print(
            f"micrograd: {install.original_beside() or 'the files of this package were overwritten'}", file=sys.stderr
        )
        return 1
    parser = CommandParser(
        prog="micrograd", description="Exact gradients of plain scalar Python code.", allow_abbrev=False
    )
    parser.add_argument("--version", action="store_true", help="show the version")
    commands = parser.add_subparsers(dest="command", metavar="command", parser_class=CommandParser)
    module: Any = None
    for name, (path, text) in offered().items():
        sub = commands.add_parser(name, help=text, description=text.capitalize() + ".", allow_abbrev=False)
        if name in words[:1]:
            module = import_module(path)
            module.add_arguments(sub)
    args = parser.parse_args(words)
    if args.version:
        from micrograd import __version__

        print(f"micrograd {__version__}")
        return 0
    if args.command is None:
        parser.print_help()
        return 0
    try:
        status = int(module.run(args))
        sys.stdout.flush()  # what is left in the buffer: nobody may be there to read it
        return status
    except BrokenPipeError:  # `micrograd info | head`: nobody reads the rest
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what Python would write when it ends
        return 141  # as a program that SIGPIPE has ended
    except (BadArgument, ImportError, OSError) as reason:
        told = str(reason)
        if isinstance(reason, OSError) and reason.filename is not None and reason.strerror:
            told = f"{reason.filename}: {reason.strerror}"
        print(f"micrograd {args.command}: {told}", file=sys.stderr)
        return 2 if isinstance(reason, BadArgument) else 1
    except KeyboardInterrupt:
        return 130
