"""Programs as people write them, with branches and loops on numbers: what test_realistic.py compares with eager code."""

from stage.realistic import collections, events, language, models, numerics
from stage.realistic.registry import PROGRAMS

__all__ = ["PROGRAMS", "collections", "events", "language", "models", "numerics"]
