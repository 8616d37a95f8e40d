"""The command `micrograd`: one module for each subcommand."""

from micrograd.cli.main import COMMANDS, BadArgument, main, offered

__all__ = ["COMMANDS", "BadArgument", "main", "offered"]
