"""Neuron, Layer, MLP: micrograd's three classes, with the same arguments, weights (for the same seed) and repr."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from micrograd.engine import NATIVE, Value
from micrograd.math import dot, gelu, relu, sigmoid, silu, tanh
from micrograd.nn.initial import Generator, Initialiser, count, generator, initialiser
from micrograd.nn.module import Module
from micrograd.observed import set_scope
from micrograd.typed import Vector

if TYPE_CHECKING:
    from micrograd.typed import Outputs

ACTIVATIONS: dict[str, tuple[str, Callable[[Any], Any] | None]] = {  # name -> (as a repr has it, function)
    "relu": ("ReLU", relu),
    "tanh": ("Tanh", tanh),
    "sigmoid": ("Sigmoid", sigmoid),
    "gelu": ("GELU", gelu),
    "silu": ("SiLU", silu),
    "linear": ("Linear", None),
}


RELU = Value.relu  # as it came with the package; code for micrograd may put a function of its own in its place


class Neuron(Module):
    """activation(Σ w·x + b).

    >>> from micrograd import Neuron
    >>> n = Neuron(2)
    >>> n, len(n.parameters())
    (ReLUNeuron(2), 3)
    """

    activation = "relu"  # of a subclass whose __init__ does not call this one
    _activate: Any = staticmethod(relu)
    _parts: tuple[int, Any, Any, Any] | None = None  # what Layer reads, in one look-up instead of four
    _derived = ("_parts",)  # made from other attributes when it is wanted: nothing that a program has assigned

    def __init__(
        self,
        nin: int,
        nonlin: bool = True,
        *,
        activation: str = "relu",
        init: str | Initialiser = "uniform",
        rng: Generator | int | None = None,
    ) -> None:
        if activation not in ACTIVATIONS:
            raise ValueError(f"no activation is called {activation!r}: choose one of {', '.join(ACTIVATIONS)}")
        nin, draw, source = count("the number of inputs of a neuron", nin), initialiser(init), generator(rng)
        self.w = [Value(draw(nin, 1, source)) for _ in range(nin)]
        self.b = Value(0.0)
        self.nonlin = nonlin
        self.activation = activation if nonlin else "linear"

    def __setattr__(self, name: str, value: Any) -> None:
        """Let `neuron.nonlin = False` and `neuron.activation = "tanh"` have their effect after construction too."""
        super().__setattr__(name, value)
        if name == "nonlin" and value == (self.activation == "linear"):
            self.activation = "relu" if value else "linear"
        if name == "activation":
            super().__setattr__("_activate", ACTIVATIONS[value][1])
        super().__setattr__("_parts", None)

    def __getstate__(self) -> dict[str, Any]:
        hidden = {"_activate": None, "_parts": None}  # a function of the C engine, which pickle does not know
        return super().__getstate__() | hidden

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state | {"_activate": ACTIVATIONS[state["activation"]][1]})

    if TYPE_CHECKING:

        def __call__(self, x: Vector, /) -> Value: ...

    def forward(self, x: Any) -> Any:
        """Return the activation of the weighted sum of the inputs."""
        try:
            act = dot(self.w, x) + self.b
        except ValueError:
            if len(self.w) == len(x):
                raise
            raise _wrong_inputs(self, x) from None
        if type(self) is Neuron and self._parts is None:
            super().__setattr__("_parts", (self._scope, self.w, self.b, self._activate))
        if self._activate is relu and Value.relu is not RELU:
            return act.relu()
        return act if self._activate is None else self._activate(act)

    def __repr__(self) -> str:
        return f"{ACTIVATIONS[self.activation][0]}Neuron({len(self.w)})"


def _wrong_inputs(neuron: Neuron, x: Any) -> ValueError:
    return ValueError(f"{neuron!r} takes {len(neuron.w)} inputs, and was given {len(x)}")


FORWARD = Neuron.forward


def _fire(neurons: Iterable[Neuron], x: Any, plain: type | None) -> list[Any]:
    """Return the outputs of the neurons of a layer; the nodes of each are stamped with its scope.

    This is what `neuron(x)` does, for all neurons of the plain class in one loop; any other is called.
    """
    out = []
    outside = set_scope(0)
    set_scope(outside)
    try:
        for neuron in neurons:
            if type(neuron) is not plain or neuron._parts is None:
                out.append(neuron(x))
                continue
            scope, w, b, activate = neuron._parts
            set_scope(scope)
            act = dot(w, x) + b
            out.append(act if activate is None else activate(act))
            set_scope(outside)
        return out
    finally:
        set_scope(outside)


if not TYPE_CHECKING and NATIVE:
    from micrograd._engine import fire as _fire


class Layer(Module):
    """Neurons that have the same inputs.

    >>> from micrograd import Layer
    >>> layer = Layer(2, 3)
    >>> len(layer([1.0, -2.0])), len(layer.parameters())
    (3, 9)
    """

    def __init__(
        self,
        nin: int,
        nout: int,
        *,
        init: str | Initialiser = "uniform",
        rng: Generator | int | None = None,
        **options: Any,
    ) -> None:
        nin, nout = count("the number of inputs of a layer", nin), count("the number of neurons of a layer", nout)
        draw, source = initialiser(init), generator(rng)
        self.neurons = [
            Neuron(nin, init=lambda nin, _, rng: draw(nin, nout, rng), rng=source, **options) for _ in range(nout)
        ]

    if TYPE_CHECKING:

        def __call__(self, x: float | Value | Vector, /) -> Outputs: ...

    def forward(self, x: Any) -> Any:
        """Return the outputs of the neurons in a list; that of a single neuron is returned bare."""
        if not isinstance(x, (list, tuple)):
            if getattr(x, "ndim", 1) > 1 and 1 in x.shape:
                x = x.ravel()  # a column of numbers is a row to a network
            x = list(x) if hasattr(x, "__iter__") else [x]  # an array, or the bare output of a layer of one neuron
        plain = Neuron if Neuron.forward is FORWARD and Value.relu is RELU else None  # or somebody has exchanged them
        try:
            out = _fire(self.neurons, x, plain)
        except ValueError:
            for neuron in self.neurons:
                if len(getattr(neuron, "w", x)) != len(x):
                    raise _wrong_inputs(neuron, x) from None
            raise
        return out[0] if len(out) == 1 else out

    def __repr__(self) -> str:
        return f"Layer of [{', '.join(map(repr, self.neurons))}]"


class MLP(Module):
    """Layers one after the other, the last one linear; a single output is returned bare.

    >>> from micrograd import nn
    >>> model = nn.MLP(2, [3, 1], rng=42)
    >>> model
    MLP of [Layer of [ReLUNeuron(2), ReLUNeuron(2), ReLUNeuron(2)], Layer of [LinearNeuron(3)]]
    >>> len(model.parameters())
    13
    >>> model([1.0, -2.0])
    Value(data=1.1660294242198523, grad=0.0)
    """

    def __init__(
        self,
        nin: int,
        nouts: list[int],
        *,
        activation: str = "relu",
        init: str | Initialiser = "uniform",
        rng: Generator | int | None = None,
    ) -> None:
        if isinstance(nouts, (int, str)) or not hasattr(nouts, "__len__"):
            raise TypeError(f"the sizes of the layers of an MLP are in a list, MLP(2, [16, 16, 1]), not {nouts!r}")
        if not len(nouts):
            raise ValueError("an MLP has one layer or more: MLP(2, [16, 16, 1]) has three, of 16, 16 and 1 neurons")
        source = generator(rng)
        sizes = [nin, *nouts]
        for size in sizes:
            count("the size of a layer of an MLP", size)
        self.layers = [
            Layer(sizes[i], sizes[i + 1], nonlin=i != len(nouts) - 1, activation=activation, init=init, rng=source)
            for i in range(len(nouts))
        ]

    if TYPE_CHECKING:

        def __call__(self, x: float | Value | Vector, /) -> Outputs: ...

    def forward(self, x: Any) -> Any:
        """Return the output of the last layer."""
        plain = Layer.__call__ is Module.__call__
        for layer in self.layers:  # a plain Layer makes no node itself: its neurons do, each under its own scope
            x = layer.forward(x) if plain and type(layer) is Layer else layer(x)
        return x

    def __repr__(self) -> str:
        return f"MLP of [{', '.join(map(repr, self.layers))}]"
