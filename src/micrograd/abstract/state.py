"""The state of the interpreter, and what its parts ask of each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from micrograd.abstract.errors import Refused, Unrollable
from micrograd.abstract.outcomes import Heap, Outcomes, Result
from micrograd.abstract.shapes import Shape
from micrograd.abstract.values import LOST, UNDEF, Cell, Const, Ref, Tuple, Union, Value, is_mark
from micrograd.core.forms import RAISE, Function, Position
from micrograd.ir.builder import Builder
from micrograd.ir.forms import Place


class Space:
    """The global variables of a module."""

    def __init__(self, names: dict[str, Any]) -> None:
        self.names = names


@dataclass
class Running:
    """A call that is running: its frame, and where it is in the source."""

    frame: int
    function: Function
    at: Position
    open: int  # how many bodies of the tape were open when it was called


@dataclass
class Saved:
    """How deep the interpreter is in what, and what it knows of some objects on the heap."""

    rolls: int
    temporary: int
    running: int
    open: int
    catching: int
    yielders: dict[int, Any]
    given: dict[int, Value]
    objects: tuple[set[int], set[int], set[int], dict[int, Value], dict[int, str]]
    at: Position | None


class State(Outcomes):
    """A heap, a tape that is being made, and the calls that are running."""

    def __init__(self, builder: Builder) -> None:
        super().__init__(builder)
        self.next_location = 1
        self.running: list[Running] = []
        self.temporary: list[list[Value]] = []  # operands that have been evaluated
        self.rolls: list[Heap] = []  # the heaps in front of the loops around
        self.outer: list[int] = []  # the locations of objects from outside
        self.given: dict[int, tuple[Any, Any]] = {}  # those of arguments and their parts: paths and objects
        self.frozen: set[int] = set()  # pools with objects from outside
        self.has_copy: dict[
            int, str
        ] = {}  # objects of which a loop has a copy, and copies: the variables that have them
        self.copies: set[int] = set()  # the copies
        self.uncopied: set[str] = set()  # variables that get no copy
        self.factories: dict[int, Value] = {}  # what a defaultdict calls for a missing key
        self.unordered: set[int] = set()  # dicts whose keys are in an order that is not known
        self.imported: dict[int, tuple[Value, Any]] = {}  # objects from outside
        self.apart = (
            0  # so many calls may be inside of each other; what is not followed is then left to Python; 0: refused
        )
        self.asks_for_classes = False  # whether something else is done with an int than with a float
        self.captures: list[Any] | None = (
            None  # Values from outside that the tape has as params; None: they are refused
        )
        self.first_cells: dict[int, Value] = {}  # what they were at first
        self.guards: dict[tuple[str, int, Any], Any] = {}
        self.frames: dict[int, Space] = {}  # the global variables of each frame
        self.hints: dict[Any, dict[int, Shape]] = {}  # what loops carried when they were interpreted last
        self.yielders: dict[int, Callable[[Value], Result]] = {}  # what is done with what a generator yields
        self.delegations: dict[int, Any] = {}  # the loops that `yield from` forms are
        self.given_items: dict[int, Value] = {}  # items that `next` forms get from a generator
        self.needed: set[str] = set()  # variables that hold an object which is read after a loop
        self.spaces: dict[int, Space] = {}
        self.kept_loops: dict[str, None] = {}  # the lines of loops that are loops on the tape
        self.choices: dict[str, None] = {}  # the lines of branches that numbers decide
        self.notes: list[tuple[str, str]] = []
        self.steps = self.passes = 0
        self.differentiated = False  # whether the function takes a derivative
        self.why = ""

    # ---- where

    def saved_state(self) -> Saved:
        at = self.running[-1].at if self.running else None
        objects = set(self.frozen), set(self.unordered), set(self.copies), dict(self.factories), dict(self.has_copy)
        return Saved(len(self.rolls), len(self.temporary), len(self.running), len(self.b.open), self.catching,
                     dict(self.yielders), dict(self.given_items), objects, at)  # fmt: skip

    def restore_state(self, saved: Saved) -> None:
        """Go back to how deep the interpreter was. The heap is not part of that."""
        while len(self.b.open) > saved.open:
            self.b.leave()
        del self.rolls[saved.rolls :], self.temporary[saved.temporary :], self.running[saved.running :]
        self.catching = saved.catching
        self.yielders, self.given_items = dict(saved.yielders), dict(saved.given)
        # their locations get other objects now
        self.frozen, self.unordered, self.copies = (set(x) for x in saved.objects[:3])
        self.factories, self.has_copy = dict(saved.objects[3]), dict(saved.objects[4])
        if saved.at is not None and self.running:
            self.running[-1].at = saved.at

    def where(self) -> str:
        """Return the file and line of the program that is being interpreted."""
        for call in reversed(self.running):
            if "micrograd/core/prelude" not in call.function.file.replace("\\", "/"):
                return f"{call.function.file}:{call.at.line}"
        return ""

    def note(self, node: Any, text: str) -> None:
        """Write down what `explain` tells."""
        place = f"{self.running[-1].function.file}:{node.at.line}" if self.running else ""
        if (place, text) not in self.notes:
            self.notes.append((place, text))

    def note_left(self, reason: Refused) -> None:
        line = reason.where or self.where()
        text = f"rows on their own: {reason.fact}"
        if (line, text) not in self.notes:
            self.notes.append((line, text))

    # ---- the heap

    def new(self, cell: Cell) -> Ref:
        at, self.next_location = self.next_location, self.next_location + 1
        self.heap[at] = cell
        return Ref(at)

    def resolved(self, value: Value) -> Value:
        """Follow a reference to an object that has moved into a pool."""
        while isinstance(value, Ref) and value.index is None:
            cell = self.heap.get(value.location)
            if isinstance(cell, Cell) and cell.key[0] == "moved":
                value = cell.values[0]
            else:
                break
        return value

    def cell(self, value: Value) -> Cell:
        """Return the cell that a reference refers to, or that of its pool."""
        assert isinstance(value, Ref)
        found = self.heap[value.location]
        assert isinstance(found, Cell), "a reference to one of several objects"
        return found

    # ---- one of several

    def split(self, value: Value, then: Callable[[Value], Result]) -> Result:
        """Go on with each of the things that a value, or the object it refers to, may be."""
        value = self.resolved(value)
        if is_mark(value, LOST):
            raise Unrollable("an object that is another one in each iteration is used")
        if isinstance(value, Union):
            (mask, first), *rest = [(m, x) for m, x in value.alternatives if self.b.decided(m) is not False]
            if is_mark(first, UNDEF):
                raise Refused("a variable that may be unbound is used")
            if not rest:
                return self.split(first, then)
            return self.fork(mask, lambda: self.split(first, then), lambda: self.split(Union(rest), then))
        if isinstance(value, Ref) and isinstance(self.heap.get(value.location), Union):
            union = self.heap[value.location]
            assert isinstance(union, Union)
            return self._split_cell(value, list(union.alternatives), then)
        return then(value)

    def _split_cell(self, ref: Ref, alternatives: list[tuple[Place, Value]], then: Callable[[Value], Result]) -> Result:
        (mask, first), *rest = [(m, x) for m, x in alternatives if self.b.decided(m) is not False]

        def one() -> Result:
            self.heap[ref.location] = first
            return self.split(ref, then)

        return self.fork(mask, one, lambda: self._split_cell(ref, rest, then)) if rest else one()

    def each(self, values: list[Value], then: Callable[[list[Value]], Result], done: tuple[Value, ...] = ()) -> Result:
        """Go on with each combination of what some values may be."""
        if len(done) == len(values):
            return then(list(done))
        return self.split(values[len(done)], lambda x: self.each(values, then, (*done, x)))

    # ---- exceptions

    def raised(self, error: BaseException) -> Result:
        """Raise an exception that is known; it may be that of a float where an int has an answer."""
        self.asks_for_classes |= isinstance(error, TypeError | AttributeError)
        return self.leave(RAISE, Tuple([Const(a) for a in error.args], type(error)))

    def unless(self, bad: Place, error: BaseException, then: Callable[[], Result]) -> Result:
        """Raise an exception where a condition holds; where nothing catches it, the call is left to Python."""
        truth = self.b.decided(bad)
        if truth is False:
            return then()
        if truth is True:
            return self.raised(error)
        if self.catching:
            return self.fork(bad, lambda: self.raised(error), then)
        self.b.check(self.b.emit("not", bad), f"{type(error).__name__}: {error}")
        return then()

    def describe_error(self, value: Value) -> str:
        if isinstance(value, Tuple):
            texts = [str(x.value) for x in value.items if isinstance(x, Const)]
            return value.cls.__name__ + (": " + ", ".join(texts) if texts else "")
        if isinstance(value, Ref):
            cell = self.heap.get(value.location)
            if isinstance(cell, Cell) and cell.key[0] == "object":
                return str(cell.key[1].__name__)
        return "an exception"

    # ---- what the parts ask of each other

    def evaluate(self, node: Any, frame: int) -> Result:
        raise NotImplementedError

    def put(self, frame: int, name: str, value: Value) -> Value:
        raise NotImplementedError

    def out(self, frame: int, up: int) -> int:
        raise NotImplementedError

    def constant(self, x: Any) -> Value:
        raise NotImplementedError

    def read_from_outside(self, how: str, owner: Any, name: Any, x: Any) -> Value:
        raise NotImplementedError

    def operation(self, op: str, values: list[Value]) -> Result:
        raise NotImplementedError

    def truth(self, value: Value, then: Callable[[Place], Result]) -> Result:
        raise NotImplementedError

    def call(self, function: Value, args: list[Value], keywords: dict[str, Value]) -> Result:
        raise NotImplementedError

    def call_python(self, function: Any, args: list[Value], keywords: dict[str, Value] | None = None) -> Result:
        raise NotImplementedError

    def guard(self, how: str, owner: Any, name: Any, value: Any) -> None:
        raise NotImplementedError

    def attribute(self, obj: Value, name: str) -> Result:
        raise NotImplementedError

    def special(self, obj: Value, name: str) -> Result:
        raise NotImplementedError

    def item(self, obj: Value, key: Value) -> Result:
        raise NotImplementedError

    def set_item(self, obj: Value, key: Value, value: Value) -> Result:
        raise NotImplementedError

    def has_attribute(self, obj: Value, name: str) -> bool:
        raise NotImplementedError

    def call_builtin_method(self, name: str, obj: Value, args: list[Value], keywords: dict[str, Value]) -> Result:
        raise NotImplementedError

    def length(self, value: Value) -> Result:
        raise NotImplementedError

    def iterate(self, value: Value) -> Result:
        raise NotImplementedError

    def next(self, iterator: Value, end: Callable[[], Result]) -> Result:
        raise NotImplementedError

    def remaining(self, iterator: Value) -> Value | None:
        raise NotImplementedError

    def is_generator(self, value: Value) -> bool:
        raise NotImplementedError

    def steps_alone(self, value: Value) -> bool:
        raise NotImplementedError

    def start_generator(self, generator: Value) -> Result:
        raise NotImplementedError

    def consume(self, generator: Value, node: Any, frame: int, head: Any) -> Result:
        raise NotImplementedError

    def class_of(self, value: Value) -> type:
        raise NotImplementedError
