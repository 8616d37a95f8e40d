from collections.abc import Callable
from typing import Any

functions: dict[str, Callable[..., Any]]
