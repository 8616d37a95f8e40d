"""PyTorch: tensors for rows, autograd for gradients, float64; with the argument `compiled`, through torch.compile."""

from __future__ import annotations

import sys
from typing import Any

from talk import Timer, missing, serve

try:
    import torch
except ImportError:
    missing("torch")

import works
from clocks import clock

COMPILED = sys.argv[1] == "compiled"
torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)


def maybe(f: Any) -> Any:
    return torch.compile(f) if COMPILED else f


def point(f: Any, a: float, b: float) -> Timer:
    f = maybe(f)

    def call() -> None:
        x, y = torch.tensor(a, requires_grad=True), torch.tensor(b, requires_grad=True)
        f(x, y).backward()

    return clock(call)


def moons(rows: int, threads: int = 1) -> Timer:
    torch.set_num_threads(threads)
    X, y = (torch.from_numpy(a) for a in works.moons_rows(rows))
    start = torch.tensor(works.moons_start())
    shapes = ((16, 2), (16,), (16, 16), (16,), (1, 16), (1,))
    model = torch.nn.Sequential(
        torch.nn.Linear(2, 16), torch.nn.ReLU(), torch.nn.Linear(16, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1)
    )
    layers = [start[:48].reshape(16, 3), start[48:320].reshape(16, 17), start[320:].reshape(1, 17)]
    with torch.no_grad():
        for p, q in zip(model.parameters(), [part for m in layers for part in (m[:, :-1], m[:, -1])], strict=True):
            p.copy_(q)
    assert tuple(tuple(p.shape) for p in model.parameters()) == shapes
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loss = maybe(lambda X, y: (1.0 - y * model(X)[:, 0]).relu().mean())

    def call() -> None:
        L = loss(X, y)
        optimizer.zero_grad()
        L.backward()
        optimizer.step()

    timed = clock(call)
    return timed if rows == 100 else lambda: timed() / rows


def asian(threads: int) -> Timer:
    torch.set_num_threads(threads)
    z = torch.from_numpy(works.normals())

    def price(spot: Any, strike: Any, vol: Any, rate: Any, maturity: Any) -> Any:
        dt = maturity / works.DATES
        drift, spread = (rate - 0.5 * vol * vol) * dt, vol * torch.sqrt(dt)
        paths = spot * torch.exp(torch.cumsum(drift + spread * z, 0))
        return (torch.exp(-rate * maturity) * (paths.mean(0) - strike).relu()).mean()

    price = maybe(price)

    def call() -> None:
        market = [torch.tensor(x, requires_grad=True) for x in works.MARKET]
        price(*market).backward()

    timed = clock(call)
    return lambda: timed() / works.PATHS


def gpt(count: int, adam: bool = False) -> Timer:
    torch.set_num_threads(1)
    tokens, following = (torch.from_numpy(a[:count]).long() for a in works.names())
    if adam:
        tokens, following = (torch.tensor([a]) for a in works.one_name())
    start, parts, at = torch.tensor(works.gpt_start()), [], 0
    for rows, columns in ((27, 16), (16, 16), (16, 16), (16, 16), (16, 16), (16, 16), (64, 16), (16, 64), (27, 16)):
        parts.append(start[at : at + rows * columns].reshape(rows, columns).clone().requires_grad_())
        at += rows * columns

    def norm(x: Any) -> Any:
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5)

    def loss(wt: Any, wp: Any, wq: Any, wk: Any, wv: Any, wo: Any, wu: Any, wd: Any, wh: Any) -> Any:
        n = tokens.shape[1]
        x = norm(wt[tokens] + wp[:n])
        xn = norm(x)
        q, k, v = ((xn @ w.T).reshape(count, n, 4, 4).transpose(1, 2) for w in (wq, wk, wv))
        mixed = (
            torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            .transpose(1, 2)
            .reshape(count, n, 16)
        )
        x = x + mixed @ wo.T
        x = x + (norm(x) @ wu.T).relu() @ wd.T
        return torch.nn.functional.cross_entropy((x @ wh.T).reshape(-1, 27), following.reshape(-1))

    loss = maybe(loss)
    optimizer = torch.optim.Adam(parts, lr=1e-9, betas=(0.85, 0.99))
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=1_000_000_000)

    def call() -> None:
        for w in parts:
            w.grad = None
        loss(*parts).backward()
        if adam:
            optimizer.step()
            schedule.step()

    timed = clock(call)
    return lambda: timed() / count


def lotka() -> Timer:
    def call() -> None:
        works.lotka(*[torch.tensor(x, requires_grad=True) for x in works.RATES]).backward()

    return clock(call)


TASKS = {
    "tiny": lambda: point(works.tiny, -41.0, 2.0),
    "readme": lambda: point(works.readme, -4.0, 2.0),
    "moons step": lambda: moons(100),
    "moons rows": lambda: moons(100_000),
    "moons rows 2": lambda: moons(100_000, 2),
    "asian": lambda: asian(1),
    "asian 2": lambda: asian(2),
    "gpt": lambda: gpt(1),
    "microgpt": lambda: gpt(1, adam=True),
    "gpt batch": lambda: gpt(works.NAMES),
}
if not COMPILED:
    TASKS["lotka"] = lotka  # 1,000 steps written out: torch.compile does not end in reasonable time
serve(torch.__version__, TASKS)
