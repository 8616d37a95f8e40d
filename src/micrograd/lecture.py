"""The system of the lectures on one page. Read this file first.

`engine.py` does the same for every function of mathematics, without recursion, and is held to the same tests.
"""

from __future__ import annotations

import math
import random
from typing import Any


class Value:
    """A number, its gradient, and the numbers that it was made from."""

    def __init__(self, data: float, _children: tuple[Value, ...] = (), _op: str = "", label: str = "") -> None:
        self.data, self.grad = data, 0.0
        self._prev, self._op, self.label = set(_children), _op, label
        self._backward: Any = lambda: None  # an input has nothing to pass its gradient on to

    def __repr__(self) -> str:
        return f"Value(data={self.data}, grad={self.grad})"

    def __add__(self, other: Any) -> Value:
        other = other if isinstance(other, Value) else Value(other)
        out = Value(self.data + other.data, (self, other), "+")

        def _backward() -> None:
            self.grad += out.grad  # += and not =, for a number may be used more than once, as in a + a
            other.grad += out.grad

        out._backward = _backward
        return out

    def __mul__(self, other: Any) -> Value:
        other = other if isinstance(other, Value) else Value(other)
        out = Value(self.data * other.data, (self, other), "*")

        def _backward() -> None:
            self.grad += other.data * out.grad
            other.grad += self.data * out.grad

        out._backward = _backward
        return out

    def _function(self, y: float, slope: float, op: str) -> Value:  # y = f(x) and the slope of f at x
        out = Value(y, (self,), op)

        def _backward() -> None:
            self.grad += slope * out.grad  # the chain rule: slopes multiply

        out._backward = _backward
        return out

    __pow__ = lambda self, n: self._function(self.data**n, n * self.data ** (n - 1), f"**{n}")
    exp = lambda self: self._function(math.exp(self.data), math.exp(self.data), "exp")
    tanh = lambda self: self._function(math.tanh(self.data), 1 - math.tanh(self.data) ** 2, "tanh")
    relu = lambda self: self._function(max(self.data, 0.0), float(self.data > 0), "ReLU")
    __radd__, __rmul__ = __add__, __mul__  # every other operator is made of + * **
    __neg__ = lambda self: self * -1
    __sub__ = lambda self, other: self + -other
    __rsub__ = lambda self, other: -self + other
    __truediv__ = lambda self, other: self * other**-1
    __rtruediv__ = lambda self, other: self**-1 * other

    def backward(self) -> None:
        topo, visited = [], set()

        def build_topo(v: Value) -> None:
            if v not in visited:
                visited.add(v)
                for child in v._prev:
                    build_topo(child)
                topo.append(v)  # after everything that it was made from

        build_topo(self)
        self.grad = 1.0
        for v in reversed(topo):
            v._backward()


class Neuron:
    def __init__(self, nin: int, nonlin: bool = True) -> None:
        self.w, self.b, self.nonlin = [Value(random.uniform(-1, 1)) for _ in range(nin)], Value(0.0), nonlin

    def __call__(self, x: list[Any]) -> Value:
        act = sum((w * xi for w, xi in zip(self.w, x)), self.b)
        return act.relu() if self.nonlin else act

    def parameters(self) -> list[Value]:
        return [*self.w, self.b]


class Layer:
    def __init__(self, nin: int, nout: int, nonlin: bool = True) -> None:
        self.neurons = [Neuron(nin, nonlin) for _ in range(nout)]

    def __call__(self, x: list[Any]) -> Any:
        return [neuron(x) for neuron in self.neurons] if len(self.neurons) > 1 else self.neurons[0](x)

    def parameters(self) -> list[Value]:
        return [p for neuron in self.neurons for p in neuron.parameters()]


class MLP:
    def __init__(self, nin: int, nouts: list[int]) -> None:
        sizes = [nin, *nouts]
        self.layers = [Layer(sizes[i], sizes[i + 1], nonlin=i < len(nouts) - 1) for i in range(len(nouts))]

    def __call__(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(x)
        return x

    def parameters(self) -> list[Value]:
        return [p for layer in self.layers for p in layer.parameters()]

    def zero_grad(self) -> None:
        for p in self.parameters():
            p.grad = 0.0
