"""Run the core on Python objects: the definition of what each form means, and the test that lowering is right.

`Interpreter.interpreted(f)` returns a function that does what f does, by interpreting its forms; `execute` runs a whole module.
Both are equal to CPython on every program: results, exceptions with their texts, printed output, order of evaluation.

Every rule is a generator, so that a `yield` in the program is a `yield` here. `return`, `break` and `continue` are exceptions
of the class Left, which no `except` of the program sees. Exceptions of the program are Python's own, and a handler of
the program runs inside of a handler here: `sys.exc_info()` and `__context__` are then right by themselves. A StopIteration
would end the generators here, and therefore it travels as a Carried.
"""

from __future__ import annotations

import builtins
import sys
import types
import weakref
from collections.abc import Callable, Generator
from types import CellType, FunctionType, MethodType
from typing import Any

from micrograd.core.forms import (
    DOUBLE_STAR,
    KEYWORD_ONLY,
    NAMESPACE,
    POSITIONAL_ONLY,
    RAISE,
    STAR,
    Alloc,
    Block,
    Call,
    Const,
    Del,
    DelGlobal,
    DelVar,
    Finally,
    Function,
    Get,
    Global,
    Handle,
    If,
    Leave,
    Let,
    Loop,
    Make,
    Next,
    Node,
    Prim,
    Seq,
    Set,
    SetGlobal,
    SetVar,
    Var,
    Yield,
    YieldFrom,
    unbound,
    undefined,
)
from micrograd.core.lower import lower
from micrograd.core.operations import ALLOC, DEL, GET, OPERATIONS, SET

Steps = Generator[Any, Any, Any]
CLASS_CELL = "__class__"


class Left(BaseException):
    """A label is being left with a value."""

    def __init__(self, label: str, value: Any) -> None:
        super().__init__(label)
        self.label = label
        self.value = value


class Carried(BaseException):
    """A StopIteration of the program, on its way through generators."""

    def __init__(self, error: StopIteration) -> None:
        super().__init__()
        self.error = error


class Thrown:
    """What the consumer of a generator throws into it, and the exception that the consumer is handling."""

    def __init__(self, error: BaseException) -> None:
        self.error = error
        self.outside = sys.exc_info()[1]

    def throw(self) -> None:
        """Raise the exception in the generator. Its context is what the generator is handling, and not what its consumer is."""
        context, handled = self.error.__context__, sys.exc_info()[1]
        try:
            raise self.error
        except BaseException:
            if handled is self.outside:
                self.error.__context__ = context
            raise


class Frame(dict[str, CellType]):
    """The variables of one call, and the frame of the function around."""

    __slots__ = ("function", "globals", "up")

    def __init__(self, function: Function | None, up: Frame | None, globals: dict[str, Any]) -> None:
        super().__init__()
        self.function = function
        self.up = up
        self.globals = globals

    def out(self, up: int) -> Frame:
        frame = self
        for _ in range(up):
            assert frame.up is not None
            frame = frame.up
        return frame

    def captured(self, names: tuple[str, ...]) -> Frame:
        """Return the same frames with these variables alone: what a function object holds."""
        around = None if self.up is None else self.up.captured(names)
        frame = Frame(self.function, around, self.globals)
        frame.update({name: self[name] for name in names if name in self})
        return frame

    def builtins(self) -> dict[str, Any]:
        found = self.globals.get("__builtins__", builtins)
        namespace: dict[str, Any] = found if isinstance(found, dict) else vars(found)
        return namespace


class Body:
    """The body of a class, over the frame around it."""

    def __init__(self, function: Function, frame: Frame) -> None:
        self.function = function
        self.frame = frame


class Interpreter:
    """Runs forms.

    enter: whether a function from outside that the program calls is interpreted, too.
    instead: functions that are called instead of others, such as those of the prelude instead of builtins.
    """

    def __init__(
        self,
        enter: Callable[[FunctionType], bool] = lambda function: False,
        instead: dict[Any, Any] | None = None,
    ) -> None:
        self.enter = enter
        self.instead = instead or {}

    # ---- functions

    def interpreted(self, function: FunctionType) -> FunctionType:
        """Return a function that does what a function from outside does."""
        lowered = lower(function)
        closure = Frame(None, None, function.__globals__)
        closure.update(zip(function.__code__.co_freevars, function.__closure__ or ()))
        made = self.make(lowered, closure)
        made.__defaults__, made.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
        made.__dict__.update(function.__dict__)
        return made

    def make(self, function: Function, frame: Frame) -> FunctionType:
        """Return a new function object, over the frame that it is made in."""
        around = frame.captured(function.free)

        def new(values: tuple[Any, ...]) -> Frame:
            inner = Frame(function, around, frame_globals)
            for parameter, value in zip(function.parameters, values):
                inner[parameter.name] = CellType(value)
            for name in function.variables[len(values) :]:
                inner[name] = CellType()
            return inner

        def run(values: tuple[Any, ...]) -> Any:
            return self.finish(self.steps(function.body, new(values)))

        def generate(values: tuple[Any, ...]) -> Steps:
            return self.steps(function.body, new(values))

        frame_globals = frame.globals
        cells = {"run": generate if function.generator else run, "Carried": Carried, "Thrown": Thrown}
        code = _stub(function)
        closure = tuple(CellType(cells[name]) for name in code.co_freevars)
        made = FunctionType(code, frame_globals, function.name, None, closure)
        made.__qualname__, made.__doc__ = function.qualname, function.doc
        return made

    def finish(self, steps: Steps) -> Any:
        """Return the value of forms that do not yield."""
        try:
            next(steps)
        except StopIteration as end:
            return end.value
        except Carried as carried:
            error = carried.error
        else:
            raise AssertionError("a yield outside of a generator")
        raise error

    def build_class(self, body: Body, name: str, *bases: Any, **keywords: Any) -> Any:
        """Make a class, as builtins.__build_class__ does."""
        resolved = types.resolve_bases(bases)
        kind, namespace, keywords = types.prepare_class(name, resolved, keywords)
        if not hasattr(type(namespace), "__getitem__"):
            which = kind.__name__ if isinstance(kind, type) else "<metaclass>"
            raise TypeError(f"{which}.__prepare__() must return a mapping, not {type(namespace).__name__}")
        if resolved is not bases:
            namespace["__orig_bases__"] = bases
        frame = Frame(body.function, body.frame, body.frame.globals)
        frame[NAMESPACE] = CellType(namespace)
        cell = None
        if CLASS_CELL in body.function.variables:
            cell = frame[CLASS_CELL] = namespace["__classcell__"] = CellType()
        self.finish(self.steps(body.function.body, frame))
        made = kind(name, resolved, namespace, **keywords)
        if cell is not None and isinstance(made, type):
            try:
                found = cell.cell_contents
            except ValueError:
                raise RuntimeError(
                    f"__class__ not set defining {name!r} as {made!r}. Was __classcell__ propagated to type.__new__?"
                ) from None
            if found is not made:
                raise TypeError(f"__class__ set to {found!r} defining {name!r} as {made!r}")
        return made

    def call(self, frame: Frame, function: Any, args: Any, keywords: dict[str, Any]) -> Any:
        """Call something; what looks at the frame of its caller is given this one."""
        if type(function) in (type, FunctionType, types.BuiltinFunctionType):
            function = self.instead.get(function, function)
            if function in _OF_FRAMES:
                function = _with_frame(function, frame, args, keywords)
            elif function is builtins.__build_class__ and isinstance(args[0], Body):
                function = self.build_class
        inner = function.__func__ if isinstance(function, MethodType) else function
        if (
            isinstance(inner, FunctionType)
            and inner.__code__ is not _STUBS.get(id(inner.__code__))
            and self.enter(inner)
        ):
            entered = self.interpreted(inner)
            function = entered if inner is function else MethodType(entered, function.__self__)
        return FunctionType(_CALL, frame.globals)(function, args, keywords)

    # ---- forms

    def steps(self, node: Node, frame: Frame) -> Steps:
        """Return a generator that evaluates a form, and returns its value."""
        return _RULES[type(node)](self, node, frame)

    def values(self, nodes: tuple[Node, ...], frame: Frame) -> Steps:
        found = []
        for node in nodes:
            found.append((yield from _RULES[type(node)](self, node, frame)))
        return found

    def const(self, node: Const, frame: Frame) -> Steps:
        return node.value
        yield

    def var(self, node: Var, frame: Frame) -> Steps:
        try:
            return frame.out(node.up)[node.name].cell_contents
        except (KeyError, ValueError):
            pass
        raise unbound(node.name, node.up > 0)
        yield

    def set_var(self, node: SetVar, frame: Frame) -> Steps:
        value = yield from self.steps(node.value, frame)
        frame.out(node.up)[node.name].cell_contents = value

    def del_var(self, node: DelVar, frame: Frame) -> Steps:
        yield from self.var(Var(node.at, node.name, node.up), frame)
        del frame.out(node.up)[node.name].cell_contents

    def global_(self, node: Global, frame: Frame) -> Steps:
        try:
            return frame.globals[node.name]
        except KeyError:
            pass
        try:
            return frame.builtins()[node.name]
        except KeyError:
            pass
        raise undefined(node.name)
        yield

    def set_global(self, node: SetGlobal, frame: Frame) -> Steps:
        value = yield from self.steps(node.value, frame)
        frame.globals[node.name] = value

    def del_global(self, node: DelGlobal, frame: Frame) -> Steps:
        if node.name not in frame.globals:
            raise undefined(node.name)
        del frame.globals[node.name]
        return
        yield

    def let(self, node: Let, frame: Frame) -> Steps:
        cell = CellType()
        if node.value is not None:
            cell.cell_contents = yield from self.steps(node.value, frame)
        frame[node.name] = cell
        del cell
        try:
            return (yield from self.steps(node.body, frame))
        finally:
            del frame[node.name]

    def prim(self, node: Prim, frame: Frame) -> Steps:
        args = yield from self.values(node.args, frame)
        if node.op in _WITH_FRAME:
            return _host(_WITH_FRAME[node.op], frame, *args)
        return _host(OPERATIONS[node.op], *args)

    def alloc(self, node: Alloc, frame: Frame) -> Steps:
        args = yield from self.values(node.args, frame)
        return _host(ALLOC[node.kind], args)

    def make_form(self, node: Make, frame: Frame) -> Steps:
        names, values = zip(*node.defaults) if node.defaults else ((), ())
        defaults = yield from self.values(values, frame)
        if node.function.kind == "class":
            return Body(node.function, frame)
        attributes = []
        for name, value in node.attributes:
            attributes.append((name, (yield from self.steps(value, frame))))
        made = self.make(node.function, frame)
        positional = set(node.function.positional())
        made.__defaults__ = tuple(v for n, v in zip(names, defaults) if n in positional) or None
        made.__kwdefaults__ = {n: v for n, v in zip(names, defaults) if n not in positional} or None
        for name, value in attributes:
            setattr(made, name, value)
        return made

    def get(self, node: Get, frame: Frame) -> Steps:
        args = yield from self.values((node.obj, node.key), frame)
        return _host(GET[node.how], *args)

    def set(self, node: Set, frame: Frame) -> Steps:
        value, obj, key = yield from self.values((node.value, node.obj, node.key), frame)
        _host(SET[node.how], obj, key, value)

    def delete(self, node: Del, frame: Frame) -> Steps:
        args = yield from self.values((node.obj, node.key), frame)
        _host(DEL[node.how], *args)

    def call_form(self, node: Call, frame: Frame) -> Steps:
        function = yield from self.steps(node.function, frame)
        args: Any = []
        last = None  # the items of an only argument are taken after the keywords have been evaluated
        for value, star in node.args:
            argument = yield from self.steps(value, frame)
            if star and len(node.args) == 1:
                last = (argument,)
            elif star:
                args += _host(_starred, argument)
            else:
                args.append(argument)
        keywords: dict[Any, Any] = {}
        group: dict[Any, Any] = {}
        for name, value in node.keywords:
            argument = yield from self.steps(value, frame)
            if name is not None:
                group[name] = argument
                continue
            keywords = _host(_merged, function, keywords, group)
            keywords, group = _host(_merged, function, keywords, argument), {}
        keywords = _host(_merged, function, keywords, group)
        if last is not None:
            args = _host(_spread, function, *last)
        return _host(self.call, frame, function, args, keywords)

    def if_(self, node: If, frame: Frame) -> Steps:
        test = yield from self.steps(node.test, frame)
        return (yield from self.steps(node.then if _host(bool, test) else node.orelse, frame))

    def loop(self, node: Loop, frame: Frame) -> Steps:
        while True:
            yield from self.steps(node.body, frame)

    def next(self, node: Next, frame: Frame) -> Steps:
        iterator = yield from self.steps(node.iterator, frame)
        try:
            return next(iterator)
        except StopIteration:
            pass
        raise Left(node.label, None)

    def block(self, node: Block, frame: Frame) -> Steps:
        try:
            return (yield from self.steps(node.body, frame))
        except Left as left:
            if left.label != node.label:
                raise
            return left.value

    def leave(self, node: Leave, frame: Frame) -> Steps:
        value = yield from self.steps(node.value, frame)
        if node.label == RAISE:
            _host(_raise, value)
        raise Left(node.label, value)

    def handle(self, node: Handle, frame: Frame) -> Steps:
        try:
            return (yield from self.steps(node.body, frame))
        except Left:
            raise
        except Carried as carried:
            stop = carried.error
        except BaseException as error:
            return (yield from self._catch(node, frame, error))
        try:
            raise stop
        except StopIteration:
            return (yield from self._catch(node, frame, stop))

    def _catch(self, node: Handle, frame: Frame, error: BaseException) -> Steps:
        frame[node.name] = CellType(error)
        del error
        try:
            return (yield from self.steps(node.catch, frame))
        finally:
            del frame[node.name]

    def finally_(self, node: Finally, frame: Frame) -> Steps:
        left = value = error = None
        try:
            value = yield from self.steps(node.body, frame)
        except Left as leaving:
            left = leaving
        except Carried as carried:
            error = carried.error
        except BaseException:
            yield from self.steps(node.final, frame)
            raise
        if error is not None:
            try:
                raise error
            except StopIteration:
                yield from self.steps(node.final, frame)
            raise Carried(error)
        yield from self.steps(node.final, frame)
        if left is not None:
            raise left
        return value

    def yield_(self, node: Yield, frame: Frame) -> Steps:
        sent = yield (yield from self.steps(node.value, frame))
        if isinstance(sent, Thrown):
            _host(sent.throw)
        return sent

    def yield_from(self, node: YieldFrom, frame: Frame) -> Steps:
        value = yield from self.steps(node.value, frame)
        iterator = _host(iter, value)
        del value
        inner = (lambda: (yield from iterator))()
        sent = None
        while True:
            try:
                if not isinstance(sent, Thrown):
                    item = inner.send(sent)
                elif isinstance(sent.error, StopIteration) and not hasattr(iterator, "throw"):
                    raise Carried(sent.error)
                else:
                    item = inner.throw(sent.error)
            except StopIteration as end:
                return end.value
            sent = yield item

    def seq(self, node: Seq, frame: Frame) -> Steps:
        value = None
        for item in node.items:
            value = yield from _RULES[type(item)](self, item, frame)
        return value


# ---- calls


def _host(operation: Callable[..., Any], *args: Any) -> Any:
    """Do something with objects of the program, which may raise any exception."""
    try:
        return operation(*args)
    except StopIteration as error:
        raise Carried(error) from None


def _raise(error: BaseException) -> None:
    raise error


# Calls a function. This is done with the globals of the program, where some functions look for their caller, and in a code
# without the `from __future__ import annotations` of this module, which exec and compile would inherit.
_CALL = compile("lambda function, args, keywords: function(*args, **keywords)", "<call>", "eval", 0, True).co_consts[0]


def _starred(items: Any) -> list[Any]:
    return [*items]


def _spread(function: Any, items: Any) -> Any:
    """Return the items of a starred argument; a TypeError names the function."""
    if not hasattr(type(items), "__iter__") and not hasattr(type(items), "__getitem__"):
        function(*items)
    return [*items]


def _merged(function: Any, keywords: dict[Any, Any], more: Any) -> dict[Any, Any]:
    """Return keyword arguments and those of another mapping; a TypeError names the function."""
    if not hasattr(type(more), "keys"):
        function(**more)
    merged = dict(keywords)
    for key in more.keys():  # noqa: SIM118  (Python asks for the keys, too)
        if key in merged:
            function(**{key: None}, **{key: None})
        merged[key] = more[key]
    return merged


def _import(frame: Frame, name: str, names: tuple[str, ...] | None, level: int) -> Any:
    return frame.builtins()["__import__"](name, frame.globals, None, names, level)


def _import_all(frame: Frame, module: Any) -> None:
    namespace: dict[str, Any] = {"__builtins__": {"__import__": lambda *_: module}}
    exec("from m import *", namespace)
    del namespace["__builtins__"]
    frame.globals.update(namespace)


_WITH_FRAME: dict[str, Callable[..., Any]] = {"import": _import, "import *": _import_all}


# ---- functions that look at their caller


def _locals(frame: Frame) -> dict[str, Any]:
    """Return what locals() returns."""
    function = frame.function
    if function is None or function.kind == "module":
        return frame.globals
    if function.kind == "class":
        namespace: dict[str, Any] = frame[NAMESPACE].cell_contents
        return namespace
    found = {}
    for name in (*function.variables, *function.free):
        around: Frame | None = frame
        while around is not None and name not in around:
            around = around.up
        try:
            found[name] = around[name].cell_contents  # type: ignore[index]
        except ValueError:
            continue
    return found


_OF_FRAMES = (locals, vars, dir, eval, exec)


def _with_frame(function: Any, frame: Frame, args: Any, keywords: dict[str, Any]) -> Callable[..., Any]:
    """Return what stands for a function that looks at its caller, in a call from a frame."""
    if function in (eval, exec) and all(namespace is None for namespace in args[1:2]) and not keywords:
        local = args[2] if len(args) > 2 and args[2] is not None else _locals(frame)
        return lambda source, *_: function(source, frame.globals, local)
    if function in (locals, vars) and not args:
        return lambda: _locals(frame)
    if function is dir and not args:
        return lambda: sorted(_locals(frame))
    return function  # type: ignore[no-any-return]


# ---- function objects


# Runs the forms of a generator function. What the consumer throws is sent to the `yield`, which raises it there: Python itself
# would close all generators of the interpreter from the inside out, also those around a handler of the program.
_GENERATE = """
steps, sent = run(({values})), None
while True:
    try:
        item = steps.send(sent)
    except StopIteration as end:
        return end.value
    except Carried as carried:
        error = carried.error
        break
    try:
        sent = yield item
    except BaseException as thrown:
        sent = thrown
    else:
        continue
    sent = Thrown(sent)
raise error
"""


def _stub(function: Function) -> types.CodeType:
    """Return the code of a function with these parameters, which hands its arguments to the variable `run`."""
    if "stub" in function.notes:
        return function.notes["stub"]  # type: ignore[no-any-return]
    names = [f"p{i}" for i in range(len(function.parameters))]
    parts: list[str] = []
    kinds = [p.kind for p in function.parameters]
    for name, kind in zip(names, kinds):
        if kind == KEYWORD_ONLY and STAR not in kinds and "*" not in parts:
            parts.append("*")
        parts.append({STAR: "*", DOUBLE_STAR: "**"}.get(kind, "") + name)
        if kind == POSITIONAL_ONLY and kinds.count(POSITIONAL_ONLY) == len(parts):
            parts.append("/")
    values = "".join(f"{name}, " for name in names)
    body = (_GENERATE if function.generator else "return run(({values}))").format(values=values)
    lines = "\n  ".join(body.splitlines())
    text = f"def around(run, Carried, Thrown):\n def f({', '.join(parts)}):\n  {lines}\n return f"
    outer = next(c for c in compile(text, "<stub>", "exec").co_consts if isinstance(c, types.CodeType))
    code = next(c for c in outer.co_consts if isinstance(c, types.CodeType))
    real = {name: p.name for name, p in zip(names, function.parameters)}
    changes: dict[str, Any] = {"co_qualname": function.qualname} if sys.version_info >= (3, 11) else {}
    code = code.replace(
        co_name=function.name,
        co_filename=function.file,
        co_firstlineno=function.first_line,
        co_varnames=tuple(real.get(name, name) for name in code.co_varnames),
        **changes,
    )
    function.notes["stub"] = _STUBS[id(code)] = code
    return code


_STUBS: weakref.WeakValueDictionary[int, types.CodeType] = weakref.WeakValueDictionary()  # what is interpreted already


_RULES: dict[type[Node], Callable[[Interpreter, Any, Frame], Steps]] = {
    Const: Interpreter.const,
    Var: Interpreter.var,
    SetVar: Interpreter.set_var,
    DelVar: Interpreter.del_var,
    Global: Interpreter.global_,
    SetGlobal: Interpreter.set_global,
    DelGlobal: Interpreter.del_global,
    Let: Interpreter.let,
    Prim: Interpreter.prim,
    Alloc: Interpreter.alloc,
    Make: Interpreter.make_form,
    Get: Interpreter.get,
    Set: Interpreter.set,
    Del: Interpreter.delete,
    Call: Interpreter.call_form,
    If: Interpreter.if_,
    Loop: Interpreter.loop,
    Next: Interpreter.next,
    Block: Interpreter.block,
    Leave: Interpreter.leave,
    Handle: Interpreter.handle,
    Finally: Interpreter.finally_,
    Yield: Interpreter.yield_,
    YieldFrom: Interpreter.yield_from,
    Seq: Interpreter.seq,
}


def execute(module: Function, globals: dict[str, Any], interpreter: Interpreter | None = None) -> None:
    """Run a module that has been lowered, in a namespace."""
    interpreter = interpreter or Interpreter()
    globals.setdefault("__builtins__", builtins)
    frame = Frame(module, None, globals)
    interpreter.finish(interpreter.steps(module.body, frame))
