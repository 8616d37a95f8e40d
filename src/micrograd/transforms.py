"""grad, jacobian, hessian, jvp, vjp and their relatives: transforms from functions to functions of their derivatives.

    >>> from micrograd import grad, math
    >>> grad(lambda x: math.sin(x) * x)(0.0)
    0.0
    >>> grad(grad(lambda x: x ** 4))(2.0)
    48.0

Arguments and results are numbers, Values, NumPy arrays, or nested lists, tuples, dicts and dataclasses of them; a gradient has
the structure of the argument. Numbers in give numbers out; where a Value comes in (or was captured), a Value comes out, so
that transforms nest. Each run is written down as a tape and the tape is differentiated: the op table is all that is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, update_wrapper
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar, overload

from micrograd import anomaly, observed
from micrograd.engine import Value
from micrograd.errors import TraceError
from micrograd.importable import by_name
from micrograd.tape import interpret as python
from micrograd.tape import kinds, passes
from micrograd.tape.staging import hooks
from micrograd.tape.swept import derived
from micrograd.tape.tape import INPUT
from micrograd.tape.trace import (
    Run,
    Trace,
    ended,
    failure,
    is_tracing,
    newly_watched,
    peek,
    run_on_numbers,
    told,
    trace,
)
from micrograd.tape.trace import run as run_once
from micrograd.tree import (
    NUMBER,
    Shape,
    as_floats,
    fixed_parts,
    flatten,
    has_values,
    map_values,
    name_of,
    size,
    unflatten,
    wants_function,
    written,
)

if TYPE_CHECKING or observed.NATIVE:
    from micrograd._engine import Derivative
else:

    class Derivative:
        """A callable that runs `run`; that of the C engine differentiates at one point by itself."""

        def _prepare(self, f, slow, *how):
            self._slow = slow

        def __call__(self, /, *args, **kwargs):
            return self._slow(*args, **kwargs)


Argnums = int | tuple[int, ...]
P = ParamSpec("P")
R = TypeVar("R")


class Call:
    """One call of a function to differentiate: its arguments as a flat list, and what is asked for."""

    def __init__(
        self,
        f: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        argnums: Argnums,
        has_aux: bool,
        ran: Run | None = None,
    ) -> None:
        run, origins = self._arrange(f, args, kwargs, argnums)
        self.has_aux, self.asked = has_aux, (f, args, kwargs)
        if ran is not None:  # the function has run already
            self.values, self.at_once, self.ran, self.result_shape = False, True, ran, ran.shape
            return
        kinds.look_for_types(f)
        self.values = has_values(self.leaves)
        # At one point, with nobody outside who needs the derivative again, the graph of the run is all that is needed.
        self.at_once = not (self.values or is_tracing() or hooks.trace or hooks.derivatives)
        self.at_once = self.at_once and not (anomaly.looking and anomaly.here())
        if self.at_once:
            self.ran = run_once(run, self.shape, self.leaves, frozen=False, has_aux=has_aux, origins=origins)
            self.result_shape = self.ran.shape
        else:
            self._trace = trace(run, self.shape, peek(self.leaves), frozen=False, has_aux=has_aux, origins=origins)
            self.result_shape = self._trace.shape
        if kinds.compares_types(f) and not hooks.trace:
            watch = observed.set_watch(None, None)  # an outer trace need not hear of these runs
            try:
                self._compare(run, peek(self.leaves), origins)
            finally:
                observed.set_watch(*watch)

    def _arrange(
        self, f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], argnums: Argnums
    ) -> tuple[Callable[..., Any], list[Any]]:
        """Lay the wanted arguments flat; returns f as a function of these alone, and their numbers as they were given."""
        wanted = argnums if isinstance(argnums, (tuple, list)) else (argnums,)
        for n in wanted:
            if not isinstance(n, int):
                raise TypeError(f"argnums={argnums!r}: the number of an argument, counted from 0, or a tuple of them")
            if not -len(args) <= n < len(args):
                raise TypeError(f"argnums={argnums} asks for argument {n}, but {len(args)} were given by position: "
                                "pass the arguments to differentiate by position, not by name")  # fmt: skip
        self.positions = [n % len(args) for n in wanted]
        self.single = isinstance(argnums, int)
        self.leaves: list[Any] = []
        self.wrt: list[range] = []  # the leaves of each wanted argument
        self.shapes: list[Shape] = []
        parts: dict[int, tuple[range, Shape]] = {}
        for i, a in enumerate(args):
            if i in self.positions:
                start = len(self.leaves)
                shape = flatten(a, self.leaves)
                parts[i] = range(start, len(self.leaves)), shape
                _numbers_in(i, a, shape)
        origins, self.leaves = self.leaves, as_floats(self.leaves)
        for n in self.positions:
            self.wrt.append(parts[n][0])
            self.shapes.append(parts[n][1])
        order = sorted(parts)
        self.shape: Shape = ("tuple", tuple([parts[i][1] for i in order]))
        self.in_order = self.positions == order

        def run(*inner: Any) -> Any:
            full = list(args)
            for i, x in zip(order, inner, strict=True):
                full[i] = x
            return f(*full, **kwargs)

        run.__qualname__ = name_of(f)
        return run, origins

    @classmethod
    def failure(
        cls, derived: Derived, args: tuple[Any, ...], kwargs: dict[str, Any], ran: Any, error: Exception | None
    ) -> Any:
        """Return what to raise where C has run a function that fails; None for the exception that it has raised.

        NotImplemented where it has imported functions of SciPy's that take Values from now on: it is to be run again.
        """
        if newly_watched():
            return NotImplemented
        call = cls.__new__(cls)
        run, _ = call._arrange(ran.f, args, kwargs, derived.argnums)
        return failure(run, ran, call.shape, error)

    def _compare(self, run: Callable[..., Any], numbers: list[float], origins: list[Any]) -> None:
        """Raise a TraceError where f gives something else for the numbers themselves: type(x) has told Values from them.

        Numbers beside the point are tried too, since two branches may meet in it.
        """
        given = numbers if self.values else origins
        beside = [x + 1e-3 * (abs(x) or 1.0) if type(x) is float else x for x in given]
        for tried in (given, beside):
            leaves: list[Any] = []
            try:
                result = run_on_numbers(run, unflatten(self.shape, iter(tried)))
                flatten(result[0] if self.has_aux else result, leaves)
                if tried is beside:
                    got = run_once(run, self.shape, as_floats(beside), False, self.has_aux, origins=beside).numbers()
                else:
                    got = self.ran.numbers() if self.at_once else self._trace.numbers
            except Exception:  # which f raises for numbers
                return
            if len(got) == len(leaves) and all(map(_alike, got, peek(leaves))):
                continue
            raise TraceError(
                f"{name_of(self.asked[0])} gives {got[:3]} when it is differentiated, and {peek(leaves)[:3]} for the numbers "
                "themselves\n"
                "  It compares type(x), which is Value in place of float there, and takes another branch.\n"
                "  Write isinstance(x, float), which is true for both."
            )

    @property
    def trace(self) -> Trace:
        """What the run left behind, as a tape."""
        if self.at_once:
            self.at_once, self._trace = False, self.ran.written()
            del self.ran
        return self._trace

    @property
    def connected(self) -> bool:
        """Whether Values come out, since Values came in or were captured."""
        return self.values or bool(self.trace.captured)

    def value_and_slopes(self, forward: bool = False) -> list[Any]:
        """The results, and for each of them its derivatives with respect to the wanted leaves, one after the other."""
        slopes = self.ran.gradients(forward) if self.at_once else None
        if slopes is not None:
            return [*self.ran.numbers(), *self._arranged(slopes)]
        sweep = passes.columns if forward else passes.adjoint
        return self.run(derived(self.trace.tape, sweep, self.places()))

    def value_and_push(self, directions: list[Any]) -> list[Any]:
        """The results, and their derivative in a direction."""
        moved = self.pushed(directions)
        if moved is not None:
            return [*self.ran.numbers(), *moved]
        tape, seeds = self.trace.tape.with_inputs(len(directions))
        return self.run(derived(tape, passes.tangent, self.places(), seeds), tuple(directions))

    def result(self) -> list[Any]:
        """The results alone. The graph of the run stays where all derivatives can be taken from it."""
        if self.at_once and self.ran.pulled([0.0] * len(self.ran.leaves)) is not None:
            return self.ran.numbers()
        return self.run(self.trace.tape)

    def pulled(self, cotangent: list[Any]) -> list[Any] | None:
        """The derivatives of the results times a cotangent with respect to the wanted leaves; None where a tape is needed."""
        if not self._graph_serves(cotangent):
            return None
        found = self.ran.pulled(as_floats(cotangent))
        return None if found is None else self._arranged(found)

    def pushed(self, directions: list[Any]) -> list[Any] | None:
        """The derivatives of the results in a direction; None where a tape is needed."""
        return self.ran.moved(as_floats(directions)) if self._graph_serves(directions) else None

    def _graph_serves(self, given: list[Any]) -> bool:
        """Whether the graph of the run gives derivatives times these numbers, which nobody differentiates again."""
        return self.at_once and not is_tracing() and not any(isinstance(x, Value) for x in given)

    def _arranged(self, slopes: list[float]) -> list[float]:
        """Derivatives with respect to all leaves as those with respect to the wanted arguments, in their order."""
        if self.in_order:
            return slopes
        width, columns = len(self.leaves), [k for span in self.wrt for k in span]
        return [slopes[start + k] for start in range(0, len(slopes), width) for k in columns]

    def gradient(self, flat: list[Any], start: int = 0) -> Any:
        """Arrange numbers, one for each wanted leaf, in the structure of the wanted arguments."""
        parts = []
        for span, shape in zip(self.wrt, self.shapes):
            parts.append(unflatten(shape, iter(flat[start : start + len(span)])))
            start += len(span)
        return parts[0] if self.single else tuple(parts)

    def places(self) -> list[int]:
        where = passes.sources(self.trace.tape, INPUT, len(self.leaves))
        return [where[k] for span in self.wrt for k in span]  # type: ignore[misc]

    def scalar(self, name: str) -> None:
        if self.result_shape not in (NUMBER, ("array", ())):  # NumPy gives a number as an array without axes, at times
            raise TypeError(f"{name} needs a function that returns one number, not {_describe(self.result_shape)}: "
                            "use jacobian, or has_aux=True for what else it returns")  # fmt: skip

    def with_aux(self, *results: Any) -> Any:
        """The results, followed by the auxiliary output of f where has_aux is set."""
        if self.has_aux:
            return *results, self.aux()
        return results if len(results) > 1 else results[0]

    def aux(self) -> Any:
        """The auxiliary output of f, with the numbers or the graph of this call in it."""
        if self.at_once:
            return _numbers_beside(self.ran.aux)
        found = self.trace
        if not self.connected:
            return map_values(found.aux, lambda v: v._data)
        tape = passes.prune(found.tape.copy(outputs=found.aux_places, guards=()))
        flat = iter(python.run(tape, self.leaves, found.captured))
        return map_values(found.aux, lambda _: next(flat))

    def unchanged(self, name: str) -> Callable[[], None]:
        """A check that no Value has changed since now, after which the derivative would be that at another point."""
        captured = [] if self.at_once else self.trace.captured
        read = [x for x in [*self.leaves, *captured] if isinstance(x, Value)]
        before = peek(read)

        def check() -> None:
            if any(x != y and x == x for x, y in zip(before, peek(read))):
                raise ValueError(
                    f"the data of a Value has changed since {name}, and the derivative is that at the old one\n"
                    f"  Take all derivatives before the numbers change, or call {name} again."
                )

        return check

    def run(self, tape: Any, extra: tuple[Any, ...] = ()) -> list[Any]:
        leaves = [*self.leaves, *as_floats(extra)]
        if anomaly.looking and anomaly.here():
            return anomaly.sweep(lambda: python.run(tape, leaves, self.trace.captured), *self.asked)
        results = python.run(tape, leaves, self.trace.captured)
        if hooks.derivatives is not None:
            hooks.derivatives(self.trace, results)
        return results


def _alike(a: float, b: float) -> bool:
    return a == b or (a != a and b != b) or abs(a - b) <= 1e-9 * max(abs(a), abs(b))


def _numbers_in(i: int, a: Any, shape: Shape) -> None:
    """Refuse an argument that holds nothing to differentiate by."""
    for x in fixed_parts(shape):
        if isinstance(x, complex):
            raise TypeError(
                f"argument {i} holds {x!r}: derivatives are taken with respect to real numbers; "
                "pass the real and the imaginary part separately"
            )
        if x is a:
            raise TypeError(
                f"argument {i} is a {type(a).__name__}, which holds no numbers to differentiate by: numbers, Values, arrays, "
                "and lists, tuples, dicts and dataclasses of them do; argnums says which arguments are meant"
            )


def _describe(shape: Shape) -> str:
    return type(shape[1]).__name__ if shape[0] == "fixed" else f"{shape[0]} of {size(shape)} numbers"


class Derived(Derivative):
    """What a transform makes of a function. It is called like the function, and pickled as the transform and the function."""

    run: Callable[..., Any]

    def __init__(
        self, run: Callable[..., Any] | None, transform: Callable[..., Any], f: Callable[..., Any], *how: Any,
        finish: Callable[[Call], Any] | None = None,
    ) -> None:  # fmt: skip
        """Call `run`; or take the derivatives of a Call with what `finish` makes of it, in C where that can."""
        wants_function(f, "differentiate")
        update_wrapper(self, f, updated=())
        self.made_of = transform, f, how
        self.argnums, has_aux = how if finish is not None else (0, False)
        self._finish = finish

        def of_a_call(*args: Any, **kwargs: Any) -> Any:
            assert finish is not None
            return finish(Call(f, args, kwargs, self.argnums, has_aux))

        self.run = of_a_call if run is None else run
        name = "" if finish is None else transform.__name__
        self._prepare(f, self.run, name, self.argnums, has_aux, HOOKS, observed.STOP)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else partial(self, instance)

    def __dir__(self) -> list[str]:  # not how it was made
        return ["__call__", "__doc__", "__name__", "__wrapped__"]

    def __repr__(self) -> str:
        transform, f, _ = self.made_of
        return f"<{transform.__name__} of {name_of(f)}>"

    def __reduce__(self) -> Any:
        transform, f, how = self.made_of
        return by_name(self, f) or (transform, (f, *how))


def _look(f: Callable[..., Any]) -> bool:
    """Warn where f compares types; whether it does not, so that C may run it."""
    kinds.look_for_types(f)
    return not kinds.compares_types(f)


def _go_on(derived: Derived, args: tuple[Any, ...], kwargs: dict[str, Any], ran: Any, result: Any) -> Any:
    """Finish a call whose function C has run already."""
    finish: Any = derived._finish
    has_aux = derived.made_of[2][1]
    return finish(Call(ran.f, args, kwargs, derived.argnums, has_aux, ended(ran, result, has_aux)))


def _numbers_beside(aux: Any) -> Any:
    return map_values(aux, lambda v: v._data)


HOOKS = _look, told, Call.failure, _go_on, kinds.end, _numbers_beside  # what C asks of Python: native/eager.c


def real_only(holomorphic: bool) -> None:
    """Refuse derivatives with respect to complex numbers."""
    if holomorphic:
        raise TypeError(
            "holomorphic=True: derivatives are taken with respect to real numbers, of real results\n"
            "  Write the function on the real and the imaginary part: f'(z) of u + v*1j is du/dx + dv/dx*1j."
        )


def value_and_grad(
    f: Callable[P, R], argnums: Argnums = 0, has_aux: bool = False, *, holomorphic: bool = False
) -> Callable[P, tuple[R, Any]]:
    """The value of f and its gradient with respect to the arguments argnums, in one call.

    holomorphic is there for JAX's signature: only False is taken, since derivatives are those of real functions.

    >>> from micrograd import value_and_grad
    >>> value_and_grad(lambda x, y: x * x * y, argnums=(0, 1))(3.0, 2.0)
    (18.0, (12.0, 9.0))
    """
    real_only(holomorphic)

    return Derived(None, value_and_grad, f, argnums, has_aux, finish=_value_and_gradient)


def _value_and_gradient(call: Call) -> tuple[Any, Any]:
    call.scalar("grad")
    y, *flat = call.value_and_slopes()
    return call.with_aux(y), call.gradient(flat)


def _gradient(call: Call) -> Any:
    value, g = _value_and_gradient(call)
    return (g, value[1]) if call.has_aux else g


def grad(
    f: Callable[P, Any], argnums: Argnums = 0, has_aux: bool = False, *, holomorphic: bool = False
) -> Callable[P, Any]:
    """The gradient of f with respect to the arguments argnums; with has_aux, f and the new function both return (result, aux).

    holomorphic is there for JAX's signature: only False is taken, since derivatives are those of real functions.

    >>> from micrograd import grad
    >>> grad(lambda p: p["a"] * p["b"] ** 2)({"a": 2.0, "b": 3.0})
    {'a': 9.0, 'b': 12.0}
    """
    real_only(holomorphic)
    return Derived(None, grad, f, argnums, has_aux, finish=_gradient)


@overload
def jvp(
    f: Callable[P, R], primals: tuple[Any, ...], tangents: tuple[Any, ...], has_aux: Literal[False] = False
) -> tuple[R, R]: ...
@overload
def jvp(
    f: Callable[P, Any], primals: tuple[Any, ...], tangents: tuple[Any, ...], has_aux: bool = False
) -> tuple[Any, ...]: ...
def jvp(
    f: Callable[P, Any], primals: tuple[Any, ...], tangents: tuple[Any, ...], has_aux: bool = False
) -> tuple[Any, ...]:
    """The result of f at primals, and its derivative in the direction tangents: one forward sweep.

    With has_aux, f returns (result, aux), and aux is the third item of the result.

    >>> from micrograd import jvp
    >>> jvp(lambda x, y: x * y, (2.0, 3.0), (1.0, 0.0))
    (6.0, 3.0)
    """
    _matching("jvp", primals, tangents)
    call = Call(f, tuple(primals), {}, tuple(range(len(primals))), has_aux)
    directions: list[Any] = []
    flatten(tuple(tangents), directions)
    flat = call.value_and_push(directions)
    shape, count = call.result_shape, size(call.result_shape)
    results: tuple[Any, ...] = call.with_aux(unflatten(shape, iter(flat[:count])), unflatten(shape, iter(flat[count:])))
    return results


@overload
def linearize(f: Callable[P, R], *primals: Any, has_aux: Literal[False] = False) -> tuple[R, Callable[..., R]]: ...
@overload
def linearize(f: Callable[P, Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]: ...
def linearize(f: Callable[P, Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """The result of f at primals, and its derivative there as a linear function of the tangents; f itself runs once.

    With has_aux, f returns (result, aux), and aux is the third item of the result.

    >>> from micrograd import linearize
    >>> y, push = linearize(lambda x: x**3, 2.0)
    >>> y, push(1.0), push(10.0)
    (8.0, 12.0, 120.0)
    """
    call = Call(f, primals, {}, tuple(range(len(primals))), has_aux)
    shape, count = call.result_shape, size(call.result_shape)
    result = unflatten(shape, iter(call.result()))
    unchanged = call.unchanged("linearize")
    swept: list[Any] = []  # the tape of the sweep, where one is needed

    def push(*tangents: Any) -> Any:
        unchanged()
        _matching("linearize", primals, tangents)
        flat: list[Any] = []
        flatten(tangents, flat)
        found = call.pushed(flat)
        if found is None:
            if not swept:
                tape, seeds = call.trace.tape.with_inputs(len(flat))
                swept.append(derived(tape, passes.tangent, call.places(), seeds))
            found = call.run(swept[0], tuple(flat))[count:]
        return unflatten(shape, iter(found))

    results: tuple[Any, ...] = call.with_aux(result, push)
    return results


@overload
def vjp(
    f: Callable[P, R], *primals: Any, has_aux: Literal[False] = False
) -> tuple[R, Callable[[Any], tuple[Any, ...]]]: ...
@overload
def vjp(f: Callable[P, Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]: ...
def vjp(f: Callable[P, Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """The result of f at primals, and a function from its cotangent to those of the primals: reverse sweeps.

    With has_aux, f returns (result, aux), and aux is the third item of the result.

    >>> from micrograd import vjp
    >>> y, pull = vjp(lambda x, y: (x * y, x + y), 2.0, 3.0)
    >>> y, pull((1.0, 10.0))
    ((6.0, 5.0), (13.0, 12.0))
    """
    call = Call(f, primals, {}, tuple(range(len(primals))), has_aux)
    shape, count = call.result_shape, size(call.result_shape)
    result = unflatten(shape, iter(call.result()))
    unchanged = call.unchanged("vjp")
    swept: list[Any] = []  # the tape of the sweep, where one is needed

    def pull(cotangent: Any) -> tuple[Any, ...]:
        unchanged()
        flat: list[Any] = []
        given = flatten(cotangent, flat)
        if given != shape:
            raise TypeError(f"the cotangent has the structure {written(given)}, but the result has {written(shape)}")
        found = call.pulled(flat)
        if found is None:
            if not swept:
                tape, seeds = call.trace.tape.with_inputs(count)
                swept.append(derived(tape, passes.adjoint, call.places(), seeds))
            found = call.run(swept[0], tuple(flat))[count:]
        gradient: tuple[Any, ...] = call.gradient(found)
        return gradient

    results: tuple[Any, ...] = call.with_aux(result, pull)
    return results


def hvp(f: Callable[P, Any], primals: tuple[Any, ...], tangents: tuple[Any, ...], has_aux: bool = False) -> Any:
    """The Hessian of f times a vector, without the Hessian: the derivative of the gradient in a direction.

    With has_aux, f returns (result, aux), and hvp returns (product, aux).

    >>> from micrograd import hvp
    >>> hvp(lambda x: x[0] ** 2 * x[1], ([2.0, 3.0],), ([1.0, 0.0],))
    [6.0, 4.0]
    """
    _matching("hvp", primals, tangents)
    single = len(primals) == 1
    gradient = grad(f, 0 if single else tuple(range(len(primals))), has_aux)
    found = jvp(gradient, primals, tangents, has_aux)
    return found[1:] if has_aux else found[1]


def _matching(name: str, primals: Any, tangents: Any) -> None:
    if not isinstance(primals, tuple) or not isinstance(tangents, tuple):
        raise TypeError(f"{name}(f, (x, ...), (dx, ...)): primals and tangents are tuples, one entry for each argument")
    leaves: list[Any] = []
    if flatten(primals, leaves) != flatten(tangents, leaves):
        raise TypeError(f"{name}: the tangents must have the same structure as the primals")
