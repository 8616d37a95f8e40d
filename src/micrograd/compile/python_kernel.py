"""What stands in for the callable object in C, where there is no C engine."""

from __future__ import annotations

import functools
from typing import Any


class PythonKernel:
    """What stands in for the C object beside the Python engine: every call is interpreted."""

    def __init__(self, owner: Any) -> None:
        self.owner = owner
        owner.kernel = self

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self.owner.call(*args, **kwargs)

    def look_at(self, key: Any) -> None:
        """Do nothing: every call goes through the owner, which looks itself."""

    def forget(self) -> None:
        """Do nothing: nothing is installed."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["owner"], name)

    def __get__(self, instance: Any, kind: Any) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __repr__(self) -> str:
        return repr(self.owner)

    def __dir__(self) -> list[str]:
        return dir(self.owner)

    def __reduce__(self) -> Any:
        return self.owner.__reduce__()
