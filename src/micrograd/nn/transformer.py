"""The parts of a small transformer over plain lists of Values: a vector is a list, a sequence is a list of vectors.

Everything is written in scalar operations, so the same modules can be drawn, stepped through and compiled.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import nan
from typing import TYPE_CHECKING, Any

from micrograd.engine import Value, no_grad
from micrograd.math import dot, eq, gelu, mean, relu, softmax, sqrt, where
from micrograd.math import sum as total
from micrograd.nn.initial import Generator, Initialiser, count, generator, initialiser
from micrograd.nn.module import Module
from micrograd.typed import Vector as Input

Vector = list[Any]  # of Values or numbers


def _matrix(rows: int, columns: int, init: str | Initialiser, rng: Generator) -> list[list[Value]]:
    rows, columns = count("the number of rows of a matrix", rows), count("the number of columns of a matrix", columns)
    draw = initialiser(init)
    return [[Value(draw(columns, rows, rng)) for _ in range(columns)] for _ in range(rows)]


def _check_width(module: Module, x: Any, width: int) -> None:
    if len(x) != width:
        raise ValueError(f"{module!r} takes a vector of {width} numbers, and was given {len(x)}")


class Linear(Module):
    """One weighted sum for each output, with a matrix of weights and a list of biases.

    >>> from micrograd import nn
    >>> layer = nn.Linear(2, 3, rng=0)
    >>> len(layer([1.0, 2.0]))
    3
    """

    def __init__(
        self,
        nin: int,
        nout: int,
        bias: bool = True,
        init: str | Initialiser = "small",
        rng: Generator | int | None = None,
    ) -> None:
        self.weight = _matrix(nout, nin, init, generator(rng))
        self.bias = [Value(0.0) for _ in range(nout)] if bias else None

    if TYPE_CHECKING:

        def __call__(self, x: Input, /) -> list[Value]: ...

    def forward(self, x: Vector) -> Vector:
        """Map a vector of inputs to the vector of outputs."""
        _check_width(self, x, len(self.weight[0]))
        if self.bias is None:
            return [dot(row, x) for row in self.weight]
        return [dot(row, x) + b for row, b in zip(self.weight, self.bias)]

    def __repr__(self) -> str:
        return f"Linear({len(self.weight[0])}, {len(self.weight)}{', bias=False' if self.bias is None else ''})"


class Embedding(Module):
    """A vector of weights for each of a number of tokens.

    >>> from micrograd import nn
    >>> len(nn.Embedding(27, 16)(3))
    16
    """

    def __init__(
        self, tokens: int, width: int, init: str | Initialiser = "small", rng: Generator | int | None = None
    ) -> None:
        self.weight = _matrix(tokens, width, init, generator(rng))

    if TYPE_CHECKING:

        def __call__(self, token: float | Value, /) -> list[Value]: ...

    def forward(self, token: Any) -> Vector:
        """Return the vector of a token, given as a whole number or as a Value.

        The vector of a Value is chosen by comparison, which can be compiled. A Value that is not a token, such as 27
        or 0.5 if there are 27 tokens, gives nan; a plain number that is not a token is an error.
        """
        if isinstance(token, Value):
            chosen = [eq(token, float(i)) for i in range(len(self.weight))]
            first, *rest = [dot(chosen, column) for column in zip(*self.weight)]
            return [where(total(chosen), first, nan), *rest]
        if int(token) != token or not 0 <= token < len(self.weight):
            raise IndexError(f"token {token!r} of an embedding of {len(self.weight)}: tokens are whole numbers from 0")
        return list(self.weight[int(token)])

    def __repr__(self) -> str:
        return f"Embedding({len(self.weight)}, {len(self.weight[0])})"


class RMSNorm(Module):
    """x / √(mean of x² + ε), multiplied by a gain for each position unless `gain=False`.

    >>> from micrograd import nn
    >>> [round(v, 3) for v in nn.RMSNorm(2, gain=False)([3.0, 4.0])]
    [0.849, 1.131]
    """

    def __init__(self, width: int, gain: bool = True, eps: float = 1e-5) -> None:
        self.width, self.eps = count("the width of a norm", width), eps
        self.gain = [Value(1.0) for _ in range(width)] if gain else None

    if TYPE_CHECKING:

        def __call__(self, x: Input, /) -> list[Any]: ...

    def forward(self, x: Vector) -> Vector:
        """Normalize a vector."""
        _check_width(self, x, self.width)
        scale = 1.0 / sqrt(dot(x, x) / len(x) + self.eps)
        if self.gain is None:
            return [v * scale for v in x]
        return [v * scale * g for v, g in zip(x, self.gain)]

    def __repr__(self) -> str:
        return f"RMSNorm({self.width}{', gain=False' if self.gain is None else ''})"


class LayerNorm(Module):
    """(x - mean) / √(variance + ε) · gain + bias.

    >>> from micrograd import nn
    >>> [round(v.data, 3) for v in nn.LayerNorm(2)([3.0, 5.0])]
    [-1.0, 1.0]
    """

    def __init__(self, width: int, eps: float = 1e-5) -> None:
        width, self.eps = count("the width of a norm", width), eps
        self.gain = [Value(1.0) for _ in range(width)]
        self.bias = [Value(0.0) for _ in range(width)]

    if TYPE_CHECKING:

        def __call__(self, x: Input, /) -> list[Value]: ...

    def forward(self, x: Vector) -> Vector:
        """Normalize a vector."""
        _check_width(self, x, len(self.gain))
        middle = mean(x)
        away = [v - middle for v in x]
        scale = 1.0 / sqrt(dot(away, away) / len(x) + self.eps)
        return [v * scale * g + b for v, g, b in zip(away, self.gain, self.bias)]

    def __repr__(self) -> str:
        return f"LayerNorm({len(self.gain)})"


class Attention(Module):
    """Causal self-attention with several heads: each position attends to itself and to the positions before it."""

    def __init__(
        self, width: int, heads: int, init: str | Initialiser = "small", rng: Generator | int | None = None
    ) -> None:
        heads = count("the number of heads", heads)
        if width % heads:
            raise ValueError(f"a width of {width} does not divide among {heads} heads")
        source = generator(rng)
        self.heads = heads
        self.query = Linear(width, width, False, init, source)
        self.key = Linear(width, width, False, init, source)
        self.value = Linear(width, width, False, init, source)
        self.out = Linear(width, width, False, init, source)

    if TYPE_CHECKING:

        def __call__(self, xs: Sequence[Input], /) -> list[list[Value]]: ...

    def forward(self, xs: Sequence[Vector]) -> list[Vector]:
        """Map a sequence of vectors to a sequence of vectors."""
        mixed: list[Vector] = [[] for _ in xs]
        width = len(self.query.weight) // self.heads
        scale = width**-0.5
        queries, keys, values = ([part(x) for x in xs] for part in (self.query, self.key, self.value))
        for start in range(0, width * self.heads, width):
            head = slice(start, start + width)
            q, k = [x[head] for x in queries], [x[head] for x in keys]
            columns = list(zip(*[x[head] for x in values]))  # each over the positions of the sequence
            for t, at in enumerate(q):
                weights = softmax([dot(at, k[j]) * scale for j in range(t + 1)])
                mixed[t] += [dot(weights, list(column[: t + 1])) for column in columns]
        return [self.out(x) for x in mixed]

    def __repr__(self) -> str:
        return f"Attention({len(self.query.weight)}, heads={self.heads})"


class Block(Module):
    """One layer of a transformer: attention, then a small network at each position, each added to its input."""

    def __init__(
        self,
        width: int,
        heads: int,
        activation: str = "relu",
        init: str | Initialiser = "small",
        rng: Generator | int | None = None,
    ) -> None:
        if activation not in ("relu", "gelu"):
            raise ValueError(f"a block's activation is relu or gelu, not {activation!r}")
        source = generator(rng)
        self.activation = activation
        self.norm = RMSNorm(width, gain=False)
        self.attention = Attention(width, heads, init, source)
        self.up = Linear(width, 4 * width, False, init, source)
        self.down = Linear(4 * width, width, False, init, source)

    if TYPE_CHECKING:

        def __call__(self, xs: Sequence[Input], /) -> list[list[Value]]: ...

    def forward(self, xs: Sequence[Vector]) -> list[Vector]:
        """Map a sequence of vectors to a sequence of vectors."""
        seen = self.attention([self.norm(x) for x in xs])
        xs = [_add(x, s) for x, s in zip(xs, seen)]
        bend = relu if self.activation == "relu" else gelu
        return [_add(x, self.down([bend(v) for v in self.up(self.norm(x))])) for x in xs]


def _add(xs: Vector, ys: Vector) -> Vector:
    return [x + y for x, y in zip(xs, ys)]


class GPT(Module):
    """A transformer that predicts, at each position of a sequence of tokens, the logits of the next token.

    >>> from micrograd import nn
    >>> model = nn.GPT(vocabulary=27, block=16, width=16, heads=4, layers=1, rng=42)
    >>> len(model.parameters())
    4192
    >>> logits = model([26, 4, 12])
    >>> len(logits), len(logits[0])
    (3, 27)
    """

    def __init__(
        self,
        vocabulary: int,
        block: int = 16,
        width: int = 16,
        heads: int = 4,
        layers: int = 1,
        activation: str = "relu",
        init: str | Initialiser = "small",
        rng: Generator | int | None = None,
    ) -> None:
        source = generator(rng)
        self.vocabulary = count("the size of the vocabulary", vocabulary)
        self.block = count("the length of the block", block)
        self.tokens = Embedding(vocabulary, width, init, source)
        self.positions = Embedding(block, width, init, source)
        self.norm = RMSNorm(width, gain=False)
        self.blocks = [Block(width, heads, activation, init, source) for _ in range(layers)]
        self.head = Linear(width, vocabulary, False, init, source)

    if TYPE_CHECKING:

        def __call__(self, tokens: Input, /) -> list[list[Value]]: ...

    def forward(self, tokens: Sequence[Any]) -> list[Vector]:
        """Return the logits at each position."""
        if not 0 < len(tokens) <= self.block:
            raise ValueError(f"this GPT reads 1 to {self.block} tokens at once, and was given {len(tokens)}")
        xs = [self.norm(_add(self.tokens(token), self.positions(t))) for t, token in enumerate(tokens)]
        for block in self.blocks:
            xs = block(xs)
        return [self.head(x) for x in xs]

    @no_grad()
    def generate(
        self,
        start: Sequence[int],
        stop: int | None = None,
        temperature: float = 1.0,
        rng: Generator | int | None = None,
    ) -> list[int]:
        """Draw tokens after `start` until `stop` is drawn or the block is full; return the new ones, without `stop`."""
        if temperature <= 0:
            raise ValueError(
                f"a temperature is above 0, not {temperature}: near 0 the most likely token is always drawn"
            )
        source = generator(rng)
        drawn = list(start)
        while len(drawn) < self.block:
            odds = [p.data for p in softmax([logit / temperature for logit in self(drawn)[-1]])]
            [token] = source.choices(range(self.vocabulary), odds)
            if token == stop:
                break
            drawn.append(token)
        return drawn[len(start) :]

    def __repr__(self) -> str:
        width = len(self.head.weight[0])
        heads = [block.attention.heads for block in self.blocks[:1]]
        return (
            f"GPT(vocabulary={self.vocabulary}, block={self.block}, width={width}, "
            f"heads={heads[0] if heads else 0}, layers={len(self.blocks)})"
        )
