"""jit: the same function, as machine code.

    >>> from micrograd import jit, math, value_and_grad
    >>> f = jit(value_and_grad(lambda x, y: math.exp(x) * y, (0, 1)))
    >>> f(0.0, 2.0)
    (2.0, (2.0, 1.0))

The first call runs the function on Values, twice, and writes down what it computes. With wait=True it is then compiled, and
every call is answered by machine code. Otherwise it is compiled in the background, and the tape is interpreted until then.
Arguments that take another path through an `if` are traced along that path, which gets machine code of its own.
"""

from __future__ import annotations

import functools
import threading
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, overload

from micrograd import anomaly, engine
from micrograd.compile import backend as backends
from micrograd.compile import explain, llvm, worker
from micrograd.compile.chain import Tracer, accepts
from micrograd.compile.kernel import RESULT
from micrograd.compile.options import Options
from micrograd.compile.point import PointVariant
from micrograd.compile.protocol import Compiled, CompiledModel, Model, P, R
from micrograd.compile.python_kernel import PythonKernel
from micrograd.compile.signature import (
    NOTHING,
    Fixed,
    KnownShape,
    Static,
    lay_flat,
    layout_of,
    numbers_in,
    split_method,
    static_arguments,
    template_of,
    values_among,
)
from micrograd.compile.tuning import TUNING
from micrograd.compile.variants import TRIES, Variants
from micrograd.errors import TraceError
from micrograd.evidence.twice import unsteady
from micrograd.importable import attribute_of, by_name
from micrograd.objects import flatten_object, static_shape
from micrograd.observed import is_recording
from micrograd.stage import budget
from micrograd.stage.jumps import has_loops
from micrograd.tape.trace import Trace, is_tracing, peek, user_depth
from micrograd.transforms import Derived
from micrograd.tree import NUMBER, Shape, flatten, name_of, not_told_apart, unflatten, wants_function
from micrograd.watch.guards import unchanged


class Jit:
    """A compiled function: call it as the function it was made from. `tape`, `source` and `explain` show what runs."""

    def __init__(self, f: Callable[..., Any], options: Options, static: Static = NOTHING) -> None:
        functools.update_wrapper(self, f, updated=())  # type: ignore[arg-type]
        self.f, self.options, self.given = f, options, static
        self.static, self.static_names = static_arguments(f, static) if any(static) else ((), set())
        self.unbound, self.bound = split_method(f)
        if self.bound:  # static arguments are counted without it
            self.static = tuple([n + 1 if n >= 0 else n for n in self.static])
        self.variants: Variants[PointVariant] = Variants()
        self.typed: Any = None  # typed variants: see _typed_calls
        self.loops: bool | None = None  # whether the function has loops, once that has been asked
        self.warned = False  # of loops that were written out
        self.watched: Any = None  # what a typed variant has read whose code C has
        self.shapes: dict[bytes, KnownShape] = {}
        self.kernel: Any = None  # the callable object in C that stands for this one
        self.pointers: dict[Any, Any] = {}  # C function pointers, which are valid as long as this function is
        self.installing = threading.RLock()  # held while that one is told of a variant, and while it forgets them

    def __repr__(self) -> str:
        return f"<jit of {name_of(self.f)}>"

    def __getattr__(self, name: str) -> Any:
        return attribute_of(self, name)

    def call(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call the function, by machine code where that is ready."""
        if is_tracing():
            return self.f(*args, **kwargs)  # it becomes part of the outer trace
        if anomaly.looking and anomaly.here():
            return self._watched(args, kwargs)
        return self._call(args, kwargs)

    def _watched(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The same inside detect_anomaly(): a result that is not finite is searched for its origin in Python."""
        result = anomaly.without_alarm(lambda: self._call(args, kwargs))
        anomaly.look_at_call(self.f, args, kwargs, result)
        return result

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any], again: int = TRIES) -> Any:
        """The same outside of a trace; `again`: how often it is begun again where something outside changes meanwhile."""
        self._follow_modules()
        simple = not kwargs and not self.static and not self.bound
        typed: Any = None
        given = None
        if self._may_be_typed(args):
            typed = self._typed_calls()
            given = typed.positional(args, kwargs) if typed else None
            if given is not None:
                refusals = len(typed.refusals)
                found = typed.call(given, self._install_typed if not kwargs else None)
                if found is not typed.elsewhere:
                    return found
        shape, leaves = self._known(args) if simple else self._flat(args, kwargs)
        wanted = shape.values if type(shape) is KnownShape else values_among(leaves)
        wait = self.options.wait or worker.must_wait()
        try:
            variants = self.variants.of(shape)
        except (TypeError, ValueError):
            raise not_told_apart(shape, f"an argument of {self!r}") from None
        settled = False
        for position, variant in enumerate(variants):
            trace = variant.trace
            if trace.staged:
                if wanted and trace.merged:
                    continue
            elif not settled:  # a single path is asked when all of those that hold for many have been asked
                settled = self.variants.chain(shape, leaves).settled(bool(wanted))
                if not settled:
                    break
            if trace.asked and tuple(map(type, leaves)) not in trace.asked:
                continue
            flat = variant.run(leaves, wanted, wait or not trace.evidence.sampled)
            if flat is not None:
                if not self._right(shape, leaves, variant):
                    self.variants.withdraw(shape, leaves)
                    return self._call(args, kwargs)
                self.variants.touch(shape, variant, position)
                return unflatten(trace.shape, iter(flat))
        began = budget.busy()
        try:
            found, results = self._first_call(shape, leaves, wanted, wait, variants)
        except TraceError as error:
            if not self.variants.may_be_disturbed(error):
                # Other arguments of these classes were refused in an earlier call.
                if given is not None and refusals == len(typed.refusals) and typed.may_follow(given):
                    return self._call(args, kwargs, again)
                if given is None:
                    raise
                found = typed.by_floats(given)
                if found is typed.elsewhere:
                    raise
                return found
            if not again:
                raise self.variants.changing(error) from None
            self._begin_again(self.variants)
            return self._call(args, kwargs, again - 1)
        if found is None:
            return self._call(args, kwargs, again)
        if self.variants.doubtful(lambda: self._tracer(shape, leaves).agrees(found)):
            self._begin_again(self.variants)  # it is traced again now, or in the next call
            if again:
                return self._call(args, kwargs, again - 1)
        large = len(found.tape) >= explain.LARGE or budget.busy() - began >= explain.LONG
        if large and self.loops and not (self.warned or found.captured):
            self.warned = True
            why = self._why_not_typed(args, kwargs)
            if why is None or why.avoidable:
                explain.warn_of_loops(self, len(found.tape), budget.busy() - began, why)
        return unflatten(found.shape, iter(results))

    def _may_be_typed(self, args: tuple[Any, ...]) -> bool:
        """Whether a call is one for typed tapes: with many numbers, or of a function with loops."""
        if self.bound or self.typed is False:
            return False
        if self.loops is None:
            self.loops = has_loops(self.f)
        least = min(TUNING.many_numbers, TUNING.looping_numbers) if self.loops else TUNING.many_numbers
        return numbers_in(args) >= least

    def _install_typed(self, variant: Any, args: tuple[Any, ...]) -> None:
        """Let the C object go straight to the code of a typed variant, for arguments like these."""
        found = variant.installed(args)
        if found is None:
            return
        with self.installing:
            self.watched = variant.outside
            self._look()
            self.kernel.install(*found)

    def _look(self) -> None:
        """Tell the C object what has to be as it was: what any of the variants has read."""
        with self.installing:
            keys = [w.key for w in (self.variants.watch, self.watched) if w is not None]
            self.kernel.look_at((*keys[0], *(part for key in keys[1:] for part in key[2:])) if keys else None)

    def _typed_calls(self) -> Any:
        """Return what compiles this function for arrays of any length; False where that is not possible."""
        if self.typed is None:
            options = self.options
            if typed_tapes(options):
                from micrograd.compile.typed import asked

                found = asked.calls_of(self.f)
                # Eager code adds the parts of a gradient up in another order than the sweep of a typed tape.
                self.typed = False if found is None or (options.exact and found.asked.argnums) else found
                if found is not None:
                    found.exact = options.exact
            else:
                self.typed = False
        return self.typed

    def _typed_variant(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the typed variant that answers a call; None where another one does."""
        if not self._may_be_typed(args) or not self._typed_calls():
            return None
        given = self.typed.positional(args, kwargs)
        return None if given is None else self.typed.variant(given)

    def _why_not_typed(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> explain.Why | None:
        """Why a call of a function with loops is traced; None where there is nothing to be said about it."""
        if not self.loops or not engine.NATIVE or self.options.backend != "llvm":
            return None
        if self.options.exact and type(self.f) is Derived:
            return explain.Why("exact=True gives gradients the bits of eager code", way="Leave exact=True out.")
        if self.bound:
            return explain.Why(
                "it is a method of an object with numbers", way="Write it as a function, and pass the object."
            )
        if not self._typed_calls():
            return explain.Why("it is no plain function, nor a derivative of one", avoidable=False)
        given = self.typed.positional(args, kwargs)
        if given is None:
            return explain.Why("arguments are given by name", way="Give them by position.")
        reason = self.typed.refusal(given)
        if reason is None:
            return explain.Why("the call raises an exception, or leaves what typed tapes hold")
        return explain.Why(reason.fact, reason.where, reason.reason) if hasattr(reason, "fact") else None

    def _right(self, shape: Shape, leaves: list[Any], variant: PointVariant) -> bool:
        """Whether a trace of many paths gives what a plain run gives, where it is to be compared with one."""
        evidence = variant.trace.evidence
        known = evidence.classes.knows(leaves)
        if known and evidence.settled:
            return True
        right = self._tracer(shape, leaves).checker.right(variant.trace)
        if right and (not known or evidence.arms is None):  # the classes are known now, or that was the last look
            with evidence.classes.budget.spending():
                self._install(shape, variant)
        return right

    def _follow_modules(self) -> None:
        """Forget all traces where a module that they have read is not as it was."""
        variants = self.variants
        watch = variants.watch
        if watch is not None and not unchanged(watch.key):
            if variants.outdated():
                self._begin_again(variants)
                self.variants.warn_of_changes(self, watch.outside)
            else:
                self._look()
        if self.watched is not None and not unchanged(self.watched.key):
            with self.installing:
                if not self.watched.hold() or self.watched.slow:
                    self.watched = None
                    self.kernel.forget()
                self._look()

    def _begin_again(self, variants: Variants[PointVariant]) -> None:
        """Forget these variants, if no other thread has done so."""
        with variants.lock, self.installing:
            if self.variants is variants:
                self.variants = Variants(variants)
                self.watched = None
                self.kernel.forget()
                if self.typed:
                    self.typed.refusals.clear()

    def _first_call(
        self, shape: Shape, leaves: list[Any], wanted: tuple[int, ...], wait: bool, known: list[PointVariant]
    ) -> tuple[Trace | None, list[Any]]:
        """Trace the function, for many paths or for that of these arguments; answer from machine code (wait) or the trace."""
        tracer = self._tracer(shape, leaves)
        while True:
            variants = self.variants
            with variants.lock:
                # Another thread may have made a variant meanwhile, or have found that something outside has changed.
                if self.variants is not variants or variants.of(shape) != known:
                    return None, []
                variants.begin(self.f, self.unbound)
                found, variant, new = self._next(shape, leaves, tracer)
                known = self.variants.of(shape)
            self.warned |= tracer.search.warned
            flat = self._answer(found, variant, new, leaves, wanted, wait or not found.evidence.sampled)
            if flat is not None:
                return variant.trace, flat
            if not found.staged:
                raise unsteady(
                    f"{self!r} took another path when it was run again on the same numbers\n"
                    "  It depends on something that changes between calls, such as a global variable or the time.\n"
                    "  Pass that in as an argument."
                )

    def _answer(
        self, found: Trace, variant: PointVariant, new: bool, leaves: list[Any], wanted: tuple[int, ...], wait: bool
    ) -> list[Any] | None:
        """The results of a variant that was just traced on these arguments; None where it does not hold for them."""
        guarded = found.staged and bool(found.tape.guards)  # staging has looked at no numbers, so the guards decide
        plain = not wanted and not found.captured
        # Whether the trace itself has computed the results, with the bits of machine code.
        computed = plain and found.evidence.sampled and not guarded and variant.as_eager()
        try:
            if not new or wait or wanted or found.captured:
                flat = variant.run(leaves, wanted, wait)
            else:
                flat = None if computed else variant.interpret(leaves)
                if computed or flat is not None:
                    variant.compile_later(None, "it was called")
            if flat is None and computed:
                flat = variant.with_constants(list(found.numbers))
            elif flat is None and found.evidence.sampled and not guarded:
                flat = variant.interpret(leaves)
        except BaseException:
            if new and not found.staged:  # the next call begins again, after Ctrl-C as after an error
                self.variants.remove(variant)
            raise
        return flat

    def _next(self, shape: Shape, leaves: list[Any], tracer: Tracer) -> tuple[Trace, PointVariant, bool]:
        """What to try next for arguments that no variant holds for: the trace, its variant, and whether that is new."""
        chain = self.variants.chain(shape, leaves)
        level, found = chain.level, tracer.next(chain)
        if found is not None:
            variant, new = self._variant(shape, found)
            chain.level = level + 1
            if not (tracer.one_path and found.merged):
                return found, variant, new
        found = tracer.plain(chain)
        chain.asks |= bool(found.asked)
        return found, *self._variant(shape, found)

    def _variant(self, shape: Shape, found: Trace) -> tuple[PointVariant, bool]:
        """The variant of a trace, and whether it is new."""
        with self.variants.lock:
            known = self.variants.known(shape, found)
            if known is not None:
                known.trace.asked |= found.asked
                if not found.merged:  # of a merged one, each arm is compared with numbers of these classes
                    known.trace.evidence.classes.learn(found.evidence.classes)
                return known, False
            old = self.variants.again(shape, found)
            variant = old or PointVariant(found, self.options, functools.partial(self._install, shape))
            self.variants.add(shape, variant)
            self.variants.read(self.f, found.modules)
            if self.variants.watch is not None:
                self._look()
        if old is not None:
            self._install(shape, old)
        if self.variants.first_drop():
            self._warn_of_paths(found)
        return variant, True

    def _warn_of_paths(self, found: Trace) -> None:
        warnings.warn(
            f"{self!r} has taken more than {TUNING.max_variants:,} different paths through its branches\n"
            "  Each path is compiled on its own, and the least recently used one is dropped, so most calls will be slow.\n"
            "  Write the choice as micrograd.math.where(condition, a, b).",
            RuntimeWarning,
            stacklevel=user_depth(),
        )

    def _known(self, args: tuple[Any, ...]) -> tuple[Any, list[Any]]:
        """The same as _flat for lists and tuples of numbers, by a key that C makes: 5 µs for 300 numbers, not 40."""
        leaves: list[Any] = []
        key = lay_flat(args, leaves)
        if key is None:
            return self._flat(args, {})
        shape = self.shapes.get(key)
        if shape is None:
            shape = self.shapes[key] = KnownShape(self._flat(args, {})[0], leaves)
        return shape, leaves

    def _flat(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Shape, list[Any]]:
        leaves: list[Any] = []
        args = (*self.bound, *args)
        static = [i % len(args) for i in self.static if -len(args) <= i < len(args)]
        parts = [static_shape(a) if i in static else flatten(a, leaves, flatten_object) for i, a in enumerate(args)]
        named = [
            static_shape(a) if name in self.static_names else flatten(a, leaves, flatten_object)
            for name, a in kwargs.items()
        ]
        shape: Shape = ("tuple", (("tuple", tuple(parts)), ("dict", tuple(kwargs), tuple(named))))
        return shape, leaves

    def _trace(self, shape: Shape, leaves: list[Any]) -> Trace:
        """The trace that these arguments are run by."""
        return self._tracer(shape, leaves).taken()

    def _tracer(self, shape: Shape, leaves: list[Any]) -> Tracer:
        def spread(args: Any, kwargs: Any) -> Any:
            return self.unbound(*args, **kwargs)

        def arrange(flat: list[Any]) -> Any:
            return unflatten(shape, iter(flat))

        spread.__qualname__ = name_of(self.f)
        # With Values among the arguments, whether a result is a Value or a number may depend on the path.
        one_path = bool(values_among(leaves))
        apart = self.options.exact or not backends.find(self.options.backend).regions
        return Tracer(spread, self.f, shape, leaves, code=self.unbound, arrange=arrange, apart=apart, one_path=one_path)

    def _install(self, shape: Shape, variant: PointVariant) -> None:
        """Let the C object go straight to the code of the first variant, where its arguments and results are simple enough."""
        with self.installing:
            self._install_first(shape, variant)

    def _install_first(self, shape: Shape, variant: PointVariant) -> None:
        if self.variants.of(shape)[:1] != [variant] or variant.trace.asked:
            return
        if not variant.trace.staged and not self.variants.chain(shape, []).closed:
            return  # variants of many paths, which are asked before it, may be to come
        if not variant.trace.evidence.settled or not hasattr(self.kernel, "install"):
            return
        classes = variant.trace.evidence.classes
        layout = layout_of(shape, classes.marks(), self.bound)
        others = [layout_of(shape, marks, self.bound) for marks in classes.others()]
        known = [found for found in (*reversed(others), layout) if found is not None]
        layouts = list({(found[0], tuple(map(id, found[1]))): found for found in known}.values())[::-1]
        if not layouts:
            return
        layout = layouts[0]
        if type(variant.params) is not list and variant.trace.captured:
            if variant.trace.shape == NUMBER and not variant.plain(()):
                for wanted, op in (((), RESULT), (None, None)):  # with gradients, and under no_grad
                    kernel = variant.kernels.get(variant.goal(wanted))
                    code = None if kernel is None else kernel.code
                    if isinstance(code, llvm.machine_code.Point) and (wanted is None or variant.unread(wanted) is None):
                        self.kernel.install_step(code.machine_code, layout, code.scratch, variant.params, op)
        elif not variant.trace.captured:
            kernel = variant.kernels.get(variant.goal(None))
            code = None if kernel is None else kernel.code
            if isinstance(code, llvm.machine_code.Point):
                constants = {k: Fixed(x) for k, x in variant.trace.constants if type(x) is not float}
                template = template_of(variant.trace.shape, iter([constants.get(k, k) for k in range(code.outputs)]))
                if template is not None:
                    self.kernel.install(
                        code.machine_code, layout, code.outputs, code.scratch, template, tuple(layouts[1:5])
                    )

    # ---- looking inside

    def tape(self, /, *args: Any, **kwargs: Any) -> Any:
        """The tape for these arguments, as it was traced."""
        typed = self._typed_variant(args, kwargs)
        if typed is not None:
            return typed.tape
        shape, leaves = self._flat(args, kwargs)
        return self._trace(shape, leaves).tape

    def source(self, /, *args: Any, **kwargs: Any) -> str:
        """The text of the code that runs for these arguments: with gradients, where a Value takes part."""
        typed = self._typed_variant(args, kwargs)
        return typed.source() if typed is not None else str(self._for(args, kwargs)[1].text.source)

    def explain(self, /, *args: Any, **kwargs: Any) -> Any:
        """What was traced for these arguments, the tape after each pass, and the kernels that exist. Print the result.

        >>> from micrograd import jit
        >>> print(jit(lambda x: x * x).explain(3.0))  # doctest: +ELLIPSIS
        <jit of <lambda>>: 1 variant, ...
        """
        typed = self._typed_variant(args, kwargs)
        if typed is not None:
            return typed.report(self)
        variant, kernel = self._for(args, kwargs)
        text = explain.report(self, list(self.variants), variant, kernel)
        why = self._why_not_typed(args, kwargs)
        return (
            explain.Explanation(f"{text}\n\nloops are not those of a typed tape: {why.fact}{why.at()}") if why else text
        )

    def ctypes(self, /, *args: Any, signature: str = "value", argnums: int | tuple[int, ...] | None = None) -> Any:
        """A C function pointer to this function, as a function of ctypes, for arguments of this arrangement.

        The signature is "value", "gradient", "hessian", "hvp", "batch", "gradient_batch", "scalar", "array", "array_user",
        "filter", "logp" or "expand": see "C function pointers" in the documentation. argnums says by which arguments to
        differentiate; by all of them if it is None.

        >>> from micrograd import jit
        >>> jit(lambda x, y: x * y).ctypes(1.0, 2.0, signature="scalar")(3.0, 4.0)
        12.0
        """
        from micrograd.compile.llvm.pointers import pointer

        return pointer(self, args, signature, argnums)

    def pointer_to(self, shape: Shape, found: Trace, order: int) -> Any:
        """A C function pointer to a trace of this function, or to its derivatives of an order by all numbers, for rows."""
        from micrograd.compile.llvm.pointers import of_trace

        return of_trace(self, shape, found, "batch", order=order)

    def address(self, /, *args: Any, signature: str = "value", argnums: int | tuple[int, ...] | None = None) -> int:
        """The address of that C function, which is valid as long as this compiled function exists."""
        return int(self.ctypes(*args, signature=signature, argnums=argnums).address)

    def _for(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[PointVariant, Any]:
        """The variant and the kernel for these arguments, compiled where they are not yet."""
        shape, leaves = self._flat(args, kwargs)
        wanted = values_among(leaves)
        variant = self._taking(shape, leaves)
        gradient = bool(wanted or variant.trace.captured) and is_recording()
        return variant, variant.compile(wanted if gradient else None, "its source was asked for", True)

    def _taking(self, shape: Shape, leaves: list[Any]) -> PointVariant:
        """The variant that these arguments are run by, traced where it is not yet."""
        tracer, numbers = self._tracer(shape, leaves), peek(leaves)
        for variant in self.variants.of(shape):
            trace = variant.trace
            of_class = not trace.asked or tuple(map(type, leaves)) in trace.asked
            if trace.staged and of_class and not (tracer.one_path and trace.merged) and accepts(trace, numbers):
                return variant
        while True:
            found, variant, _ = self._next(shape, leaves, tracer)
            if not found.staged or accepts(found, numbers):
                return variant

    def __dir__(self) -> list[str]:
        return explain.public_names(self.f)

    def __reduce__(self) -> Any:
        return by_name(self.kernel, self.f) or (compiled, (self.f, self.options, self.given))


@overload
def jit(
    f: Model[P, R], *, exact: bool = False, fastmath: bool = False, wait: bool = False,
    float32: bool = False, width: int | None = None, static_argnums: int | tuple[int, ...] = (),
    static_argnames: str | tuple[str, ...] = (), backend: str = "llvm",
) -> CompiledModel[P, R]: ...  # fmt: skip
@overload
def jit(
    f: Callable[P, R], *, exact: bool = False, fastmath: bool = False, wait: bool = False,
    float32: bool = False, width: int | None = None, static_argnums: int | tuple[int, ...] = (),
    static_argnames: str | tuple[str, ...] = (), backend: str = "llvm",
) -> Compiled[P, R]: ...  # fmt: skip
@overload
def jit(
    f: None = None, *, exact: bool = False, fastmath: bool = False, wait: bool = False,
    float32: bool = False, width: int | None = None, static_argnums: int | tuple[int, ...] = (),
    static_argnames: str | tuple[str, ...] = (), backend: str = "llvm",
) -> Callable[[Callable[P, R]], Compiled[P, R]]: ...  # fmt: skip
def jit(
    f: Callable[..., Any] | None = None, *, exact: bool = False, fastmath: bool = False, wait: bool = False,
    float32: bool = False, width: int | None = None, static_argnums: int | tuple[int, ...] = (),
    static_argnames: str | tuple[str, ...] = (), backend: str = "llvm",
) -> Any:  # fmt: skip
    """Compile a function of numbers: plain scalar Python, branches and loops included.

    - exact: results equal those of eager code to the bit (slower: no vector functions, no fused multiply-add).
    - fastmath: allow rewrites that hold for real numbers, but not for nan, inf and -0.0.
    - wait: compile in the first call. Otherwise the function is compiled in the background, and the calls before it is
      ready are interpreted, with the same bits (unless fastmath).
    - static_argnums: arguments that configure the function, such as a number of steps, and are neither differentiated nor
      batched. The function is compiled once for each of their values.
    - static_argnames: the same, by the names of the arguments.
    - float32, width: for rows, as in jit(vmap(f), float32=True): see vmap.
    - backend: what compiles and runs it.

    >>> from micrograd import jit
    >>> jit(lambda x: x * x, wait=True)(3.0)
    9.0
    """
    options = Options(exact, fastmath, float32, width, wait, backend)
    static = Static.of(static_argnums, static_argnames)
    return (lambda g: compiled(g, options, static)) if f is None else compiled(f, options, static)


def typed_tapes(options: Options) -> bool:
    """Whether these options leave functions to typed tapes."""
    installed = all(map(find_spec, ("llvmlite", "numpy")))
    return engine.NATIVE and options.backend == "llvm" and not options.fastmath and installed


def sparse_calls(f: Callable[..., Any], argnum: int, options: Options) -> Any:
    """Return what compiles the sparse Jacobian of a function for arrays of any length; False where that is not possible."""
    if not typed_tapes(options) or options.exact or options.float32:
        return False
    from micrograd.compile.typed import asked

    return asked.calls_of_sparse(f, argnum) or False


def compiled(f: Callable[..., Any], options: Options, static: Static = NOTHING) -> Any:
    """What jit makes of a function."""
    wants_function(f, "compile")
    if hasattr(f, "_with_options"):  # vmap(f)
        return f._with_options(options)
    if options.float32 or options.width is not None:
        raise ValueError("float32 and width are for rows: jit(vmap(f), float32=True), or vmap(f, float32=True)")
    owner = Jit(f, options, static)
    if not engine.NATIVE:
        return PythonKernel(owner)
    from micrograd import _engine

    owner.kernel = _engine.Kernel(owner, owner.call)
    return owner.kernel
