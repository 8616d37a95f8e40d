"""Train a character transformer on names, compiled: one kernel for each length of a name.

    python examples/names.py

Names of one length go through the network together, a name in each SIMD lane. The tokens are arguments, so one kernel
serves all names of its length; the model is plain scalar code over lists of Values (micrograd/nn/transformer.py).
"""

from __future__ import annotations

import random
from collections import defaultdict
from typing import Any

import numpy as np

from micrograd import data, jit, losses, nn, optim, vmap


def main(
    lengths: tuple[int, ...] = (4, 5), steps: int = 60, batch: int = 32, width: int = 16, quiet: bool = False
) -> tuple[float, float]:
    """Train on names of these lengths; gives the mean loss of the first and of the last ten steps."""
    words = [w for w in data.names() if len(w) in lengths]
    alphabet = data.Alphabet(words)
    by_length: dict[int, list[list[int]]] = defaultdict(list)
    for word in words:
        by_length[len(word)].append(alphabet.encode(word))  # with the mark of an end on both sides

    model = nn.GPT(len(alphabet), block=max(lengths) + 1, width=width, heads=2, layers=1, rng=42)
    optimizer = optim.Adam(model.parameters(), lr=optim.linear(0.01, 0.0, steps), betas=(0.85, 0.99))

    def name_loss(tokens: Any) -> Any:
        return losses.cross_entropy(model(list(tokens[:-1])), list(tokens[1:]))

    loss = jit(vmap(name_loss, reduce="mean"))  # traced again for each length: a row of another shape is another kernel
    rng = random.Random(0)
    seen: list[float] = []
    for k in range(steps):
        pool = by_length[lengths[k % len(lengths)]]
        mean = loss(np.array(rng.choices(pool, k=batch), dtype=float))
        optimizer.zero_grad()
        mean.backward()
        optimizer.step()
        seen.append(float(mean.data))
        if not quiet and k % 10 == 0:
            print(f"step {k:3}: loss {seen[-1]:.4f}")
    if not quiet:
        start = alphabet.encode("")[:1]
        for seed in range(8):
            print(alphabet.decode(model.generate(start, stop=start[0], temperature=0.7, rng=seed)))
    return float(np.mean(seen[:10])), float(np.mean(seen[-10:]))


if __name__ == "__main__":
    main(lengths=(4, 5, 6, 7), steps=400)
