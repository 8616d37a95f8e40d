"""The Python of the page `console.html`: cells of code run one after the other in one namespace."""

from __future__ import annotations

import ast
import contextlib
import json
import traceback
from typing import Any

from micrograd.learn.workshop.browser import Beginning

NAME = "<cell>"
SHOWN = 4000  # characters of a result


class Console:
    """One namespace, and the cells that ran in it.

    >>> from micrograd.learn.console import Console
    >>> one = Console()
    >>> one.run("x = 2")["shown"], one.run("x + 1")["shown"]
    ('', '3')
    """

    def __init__(self) -> None:
        self.names: dict[str, Any] = {"__name__": "__main__"}

    def run(self, code: str) -> dict[str, Any]:
        """Run a cell: what it printed, its last expression as text and as a picture, and the error that ended it."""
        printed = Beginning()
        told: dict[str, Any] = {"printed": "", "shown": "", "picture": "", "error": "", "line": 0}
        try:
            tree = ast.parse(code, NAME)
            last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
                exec(compile(tree, NAME, "exec"), self.names)
                if isinstance(last, ast.Expr):
                    found = eval(compile(ast.Expression(last.value), NAME, "eval"), self.names)
                    if found is not None:
                        self.names["_"] = found
                        told["shown"], told["picture"] = repr(found)[:SHOWN], _picture(found, self.names)
        except SyntaxError as error:
            told["error"], told["line"] = f"SyntaxError: {error.msg}", error.lineno or 0
        except BaseException as error:  # the learner's own code: whatever it raises is shown
            told["error"] = "".join(traceback.format_exception_only(error)).strip()[:SHOWN]
            lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == NAME]
            told["line"] = (lines[-1] or 0) if lines else 0
        told["printed"] = printed.getvalue()
        return told


def _picture(found: Any, names: dict[str, Any]) -> str:
    """The drawing of a small Value, and what else draws itself as SVG."""
    from micrograd import Value
    from micrograd.learn import draw_dot

    if isinstance(found, Value):
        named = {name: x for name, x in names.items() if isinstance(x, Value) and not name.startswith("_")}
        return draw_dot(found, names=named).svg
    drawn = getattr(found, "_repr_svg_", None)
    return str(drawn() or "") if callable(drawn) else ""


_console = Console()


def run(code: str) -> str:
    """Run a cell in the namespace of the page; the result as JSON."""
    return json.dumps(_console.run(code))
