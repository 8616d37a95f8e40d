"""Calls: functions of the program, functions of Python and of this package, methods, classes."""

from __future__ import annotations

import builtins
import functools
import itertools
import math
import sys
import types
from collections.abc import Callable
from typing import Any

from micrograd import math as micrograd_math
from micrograd.abstract import lists
from micrograd.abstract.errors import Refused, Unrollable
from micrograd.abstract.generators import Generators
from micrograd.abstract.numeric import ROWS
from micrograd.abstract.outcomes import Result
from micrograd.abstract.state import Running, Space
from micrograd.abstract.values import (
    NONE,
    Cell,
    Closure,
    Const,
    Method,
    Ref,
    Tuple,
    Value,
    is_number,
    kind_of,
)
from micrograd.core import forms, prelude
from micrograd.core.errors import CannotLower
from micrograd.core.lower import lower
from micrograd.ir.forms import BOOL
from micrograd.primitive import AS_LOOPS

DEEP = "calls are nested too deeply to be written out"
DEEPEST = 90  # calls inside of each other
_SAFE = (math, itertools, builtins)
_EFFECTS = ("print", "input", "open", "exec", "eval", "compile", "globals", "locals", "vars", "id", "hash", "setattr",
            "delattr", "breakpoint", "dir", "__import__", "super", "memoryview", "exit", "quit")  # fmt: skip
for _name in ("min", "max", "hypot", "floor", "ceil", "trunc", "log", "log2", "log10"):
    ROWS[getattr(micrograd_math, "_" + _name)] = _name


STANDARD = frozenset(sys.stdlib_module_names) | {"micrograd"}  # modules whose functions nobody changes


class Calls(Generators):
    """Interprets calls."""

    def call(self, function: Value, args: list[Value], keywords: dict[str, Value]) -> Result:
        self.temporary.append([function, *args, *keywords.values()])
        try:
            return self.split(function, lambda f: self._call(f, args, keywords))
        finally:
            self.temporary.pop()

    def _call(self, function: Value, args: list[Value], keywords: dict[str, Value]) -> Result:
        if isinstance(function, Closure):
            return self.call_closure(function, args, keywords)
        if isinstance(function, Method):
            if hasattr(function.function, "argnums"):
                return self.derived(function.function, function.self, args, keywords)
            if function.function == "%dataclass_eq":
                return self.split(args[0], lambda other: self.dataclass_equal(function.self, other))
            if isinstance(function.function, str):
                return self.split(
                    function.self, lambda x: self.call_builtin_method(function.function, x, args, keywords)
                )
            return self.call(function.function, [function.self, *args], keywords)
        if isinstance(function, Const):
            return self._call_constant(function.value, args, keywords)
        if isinstance(function, Ref) and self.cell(function).key[0] in ("object", "pool"):
            return self.bind(self.special(function, "__call__"), lambda f: self.call(f, args, keywords))
        return self.raised(TypeError("object is not callable"))

    # ---- functions of the program

    def call_closure(self, closure: Closure, args: list[Value], keywords: dict[str, Value]) -> Result:
        """Bind arguments to parameters, and run the body."""
        found: dict[str, Value] = {}
        args, keywords = list(args), dict(keywords)
        name = closure.function.name
        for parameter in closure.function.parameters:
            if parameter.kind in (forms.POSITIONAL, forms.POSITIONAL_ONLY):
                if args:
                    if parameter.kind == forms.POSITIONAL and parameter.name in keywords:
                        return self.raised(TypeError(f"{name}() got multiple values for argument {parameter.name!r}"))
                    found[parameter.name] = args.pop(0)
                    continue
            elif parameter.kind == forms.STAR:
                found[parameter.name], args = Tuple(args), []
                continue
            elif parameter.kind == forms.DOUBLE_STAR:
                cell = Cell(("dict", tuple(keywords), dict), keywords.values())
                found[parameter.name], keywords = self.new(cell), {}
                continue
            if parameter.kind != forms.POSITIONAL_ONLY and parameter.name in keywords:
                found[parameter.name] = keywords.pop(parameter.name)
            elif parameter.name in closure.defaults:
                found[parameter.name] = closure.defaults[parameter.name]
            else:
                return self.raised(TypeError(f"{name}() missing a required argument: {parameter.name!r}"))
        if args or keywords:
            return self.raised(TypeError(f"{name}() got arguments that it does not take"))
        frame = self.new(Cell(("frame", tuple(found), closure.frame), found.values())).location
        self.frames[frame] = closure.globals
        if closure.function.generator:
            own = Closure(closure.function, frame, {}, closure.globals)
            return self.new(Cell(("generator", own, "new"), ()))
        return self._run(closure, frame)

    def _run(self, closure: Closure, frame: int) -> Result:
        if self.apart and not self.catching and self._is_too_deep(closure):
            return self.raised(RecursionError(DEEP))
        if len(self.running) > DEEPEST:
            raise Refused(
                f"calls are nested more than {DEEPEST} deep", "A recursion must end at a depth that is known."
            )
        depth = len(self.running)
        self.running.append(Running(frame, closure.function, closure.function.at, len(self.b.open)))
        try:
            result = self.evaluate(closure.function.body, frame)
        except (Refused, Unrollable) as reason:
            reason.where = reason.where or self.where()
            raise
        finally:
            del self.running[depth:]
        if not closure.function.cells:
            self.at_every_end(result, lambda: self.forget(frame))
        return result

    def _is_too_deep(self, closure: Closure) -> bool:
        """Whether many calls of a function are inside of each other, and numbers of the tape decide how many."""
        calls = [call for call in self.running if call.function is closure.function]
        return len(calls) > self.apart and len(self.b.open) > calls[0].open

    def forget(self, frame: int) -> None:
        self.heap.pop(frame, None)

    def at_every_end(self, result: Result, run: Callable[[], None]) -> Result:
        raise NotImplementedError

    def call_python(self, function: Any, args: list[Value], keywords: dict[str, Value] | None = None) -> Result:
        return self.call_closure(self.closure(function), args, keywords or {})

    def closure(self, function: types.FunctionType) -> Closure:
        """Return a function object from outside as one of the program."""
        try:
            lowered = lower(function)
        except CannotLower as reason:
            raise Refused(str(reason)) from None
        code = function.__code__
        if str(function.__module__).split(".")[0] not in STANDARD:
            self.guard("code", function, "", code)
        positional = code.co_varnames[: code.co_argcount]
        defaults: dict[str, Value] = {}
        if function.__defaults__:
            for name, x in zip(positional[len(positional) - len(function.__defaults__) :], function.__defaults__):
                defaults[name] = self.read_from_outside("default", function, name, x)
        for name, x in (function.__kwdefaults__ or {}).items():
            defaults[name] = self.read_from_outside("default", function, name, x)
        space = self.space(function.__globals__)
        return Closure(lowered, self.frame_from_outside(function), defaults, space, function)

    def space(self, names: dict[str, Any]) -> Space:
        if id(names) not in self.spaces:
            self.spaces[id(names)] = Space(names)
        return self.spaces[id(names)]

    def frame_from_outside(self, function: types.FunctionType) -> int | None:
        raise NotImplementedError

    # ---- functions that are known

    def transform(self, function: Any, args: list[Value], keywords: dict[str, Value]) -> Result | None:
        """Return what grad, value_and_grad, jvp, or a function that they have made, gives; None for any other one."""
        raise NotImplementedError

    def derived(self, how: Any, f: Value, args: list[Value], keywords: dict[str, Value]) -> Result:
        """Return the gradient of a function."""
        raise NotImplementedError

    def builtin(self, function: Any, args: list[Value], keywords: dict[str, Value]) -> Result | None:
        """Return what a function of Python gives that has a rule of its own; None for any other one."""
        raise NotImplementedError

    def _call_constant(self, function: Any, args: list[Value], keywords: dict[str, Value]) -> Result:
        if not keywords:
            found = self.number_function(function, args) if _hashable(function) else None
            if found is not None:
                return found
            if function in (builtins.min, builtins.max) and len(args) > 1 and all(map(self._numeric, args)):
                kinds = {kind_of(x) for x in args if is_number(x)}
                if all(map(is_number, args)) and (BOOL not in kinds or kinds == {BOOL}):
                    return self.least(args, "<" if function is builtins.min else ">")
        if isinstance(function, functools.partial):
            fixed = [self.constant(x) for x in function.args]
            named = {k: self.constant(v) for k, v in function.keywords.items()}
            return self.call(self.constant(function.func), [*fixed, *args], {**named, **keywords})
        if isinstance(function, types.MethodType):
            return self.call(self.constant(function.__func__), [self.constant(function.__self__), *args], keywords)
        found = self.builtin(function, args, keywords) if _hashable(function) else None
        found = found or self.transform(function, args, keywords)
        if found is not None:
            return found
        instead = _instead_of(function) if _hashable(function) else None
        if instead is not None:
            if (
                all(isinstance(x, Const) for x in (*args, *keywords.values()))
                and function
                not in (
                    builtins.list,
                    builtins.set,
                )
                and not any(callable(x.value) for x in args if isinstance(x, Const))
            ):
                return self._run_safely(function, args, keywords)
            return self.call_python(instead, args, keywords)
        if isinstance(function, types.FunctionType):
            return self._call_function(function, args, keywords)
        if isinstance(function, type):
            return self._call_class(function, args, keywords)
        if type(function).__name__ == "_lru_cache_wrapper":
            return self.call(self.constant(function.__wrapped__), args, keywords)
        if all(isinstance(x, Const | Tuple) for x in (*args, *keywords.values())):
            return self._run_safely(function, args, keywords)
        name = getattr(function, "__name__", type(function).__name__)
        raise Refused(f"{name}() is called, which is not followed", self._reason(function))

    def _reason(self, function: Any) -> str:
        module = getattr(function, "__module__", "") or ""
        if module.startswith("micrograd"):
            return "Transforms inside of a function are not followed here."
        return "It is not a function with source, nor one of the functions of numbers that are known."

    def _run_safely(self, function: Any, args: list[Value], keywords: dict[str, Value]) -> Result:
        """Call a function of Python that has no effects on constants."""
        owner = getattr(function, "__self__", None)
        name = getattr(function, "__name__", "")
        module = getattr(function, "__module__", None)
        safe = owner in _SAFE or module in (
            "math",
            "builtins",
            "operator",
            "itertools",
            "functools",
            "_operator",
            "bisect",
        )
        if not safe or name in _EFFECTS or isinstance(function, type):
            raise Refused(
                f"{name or type(function).__name__}() is called, which is not followed", self._reason(function)
            )
        if any(isinstance(x, Tuple) for x in args):
            raise Refused(f"{name}() of a tuple is not followed")
        given = [x.value for x in args]  # type: ignore[attr-defined]
        named = {k: v.value for k, v in keywords.items()}  # type: ignore[attr-defined]
        return self.run(lambda: function(*given, **named))

    def _call_function(self, function: types.FunctionType, args: list[Value], keywords: dict[str, Value]) -> Result:
        module = function.__module__ or ""
        inside = module.startswith("micrograd.") or module == "micrograd"
        if inside and not module.startswith(("micrograd.core.prelude", "micrograd.math", "micrograd.abstract.lists")):
            raise Refused(f"{function.__name__}() of {module} is called", self._reason(function))
        wrapped = getattr(function, "__wrapped__", None)
        if module == "contextlib" or (wrapped is not None and function.__code__.co_filename.endswith("contextlib.py")):
            raise Refused("a context manager that is made of a generator")
        return self.call_closure(self.closure(function), args, keywords)

    def _call_class(self, cls: type, args: list[Value], keywords: dict[str, Value]) -> Result:
        if cls in (int, float, bool, str, complex, bytes) or issubclass(cls, type):
            if cls is str:
                return self.known_text(args, lambda *xs: str(*xs)) if args else Const("")
            if (
                all(isinstance(x, Const) for x in args)
                and not keywords
                and cls is not type
                and not issubclass(cls, type)
            ):
                return self.run(cls, *[x.value for x in args])  # type: ignore[attr-defined]
            if len(args) == 1:
                return self.split(args[0], lambda x: self._converted(cls, x))
            raise Refused(f"{cls.__name__}() is called, which is not followed")
        if cls is slice:
            return Tuple(args if len(args) == 3 else [NONE, args[0], NONE] if len(args) == 1 else [*args, NONE], slice)
        if cls is object:
            return self.new(Cell(("object", object, ()), ()))
        if issubclass(cls, BaseException) or cls.__module__ not in ("builtins",):
            if cls.__module__.split(".")[0] in ("numpy", "torch", "jax", "decimal", "fractions"):
                raise Refused(f"{cls.__module__}.{cls.__name__}() is called, which is not followed")
            return self.instantiate(cls, args, keywords)
        raise Refused(f"{cls.__name__}() is called, which is not followed")

    def _converted(self, cls: type, value: Value) -> Result:
        if cls in (float, int) and is_number(value):
            found = self.number_function(cls, [value])
            assert found is not None
            return found
        name = f"__{cls.__name__}__"
        if isinstance(value, Ref) and self.cell(value).key[0] in ("object", "pool"):
            return self.bind(self.special(value, name), lambda f: self.call(f, [], {}))
        return self.raised(TypeError(f"{cls.__name__}() argument must be a number"))


def _instead_of(function: Any) -> Any:
    """Return the plain Python that is interpreted in place of a function; None where there is none."""
    return prelude.instead_of(function) or lists.INSTEAD.get(function) or AS_LOOPS.get(function)


def _hashable(x: Any) -> bool:
    try:
        hash(x)
    except TypeError:
        return False
    return True
