"""Why a function cannot be lowered."""

from __future__ import annotations


class CannotLower(Exception):
    """A function cannot be lowered. The message says which one, where it is, and why."""


class NoSource(CannotLower):
    """The source of a function cannot be found, or is not what the function was made from."""


class Unsupported(CannotLower):
    """Something in a function is not part of the core language, such as `await`."""
