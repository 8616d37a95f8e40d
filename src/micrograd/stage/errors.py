"""Why a program, or an arm of it, is not merged."""

from __future__ import annotations


class Unsupported(BaseException):
    """Something that cannot be shown to be right when merged. Not an Exception: the user's `except` must not see it."""


class Lost(BaseException):
    """No row is left: every one of them raises, or does something that is not merged."""
