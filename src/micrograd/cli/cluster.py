"""micrograd cluster-demo: an option's price and Greeks by simulation, on the workers of a cluster."""

from __future__ import annotations

import os
import sys
from time import perf_counter
from typing import Any

from micrograd import install, math, random
from micrograd.cli.main import BadArgument
from micrograd.train.progress import show

DATES = 16
MARKET = {"spot": 100.0, "volatility": 0.2, "rate": 0.03}
STRIKE = 100.0
NAMES = {"price": "price", "spot": "delta", "volatility": "vega", "rate": "rho"}


def add_arguments(parser: Any) -> None:
    """Add the options of the command."""
    parser.add_argument("--paths", type=float, default=1e8, help="how many paths to simulate (1e8)")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes to start on this machine")
    parser.add_argument("--address", help="the scheduler of a cluster that runs already, such as tcp://host:8786")
    parser.add_argument("--seed", type=int, default=0, help="another seed gives other paths")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")


def payoff(spot: Any, volatility: Any, rate: Any, key: Any, row: Any) -> Any:
    """The discounted payoff of an average-price call along one path."""
    price, total = spot, 0.0
    for date in range(DATES):
        z = random.normal(key, draw=date, row=row)
        price = price * math.exp((rate - 0.5 * volatility * volatility) / DATES + volatility * (1 / DATES) ** 0.5 * z)
        total = total + price
    return math.exp(-rate) * math.relu(total / DATES - STRIKE)


def with_squares(*market: Any) -> list[Any]:
    """Payoff and derivatives of one path, and their squares, which tell how far the means may be off."""
    from micrograd import value_and_grad

    value, slopes = value_and_grad(payoff, argnums=(0, 1, 2))(*market)
    found = [value, *slopes]
    return [*found, *(x * x for x in found)]


def run(args: Any) -> int:
    """Run the simulation, and print what it found."""
    paths = int(args.paths)
    if paths < 2 or paths != args.paths or paths >= 2**53:
        raise BadArgument(f"--paths {args.paths:g}: it must be a whole number, at least 2")
    if args.workers < 1:
        raise BadArgument(f"--workers {args.workers}: at least one worker is needed")
    try:
        from distributed import LocalCluster
    except ImportError:
        print(f"micrograd cluster-demo: dask is not installed: {install.command('cluster')}", file=sys.stderr)
        return 1
    if args.address:
        try:
            client = _connect(args.address)
        except (OSError, ValueError) as error:  # a TimeoutError is an OSError
            print(f"micrograd cluster-demo: no scheduler answers at {args.address}: {error}", file=sys.stderr)
            return 1
        with client:
            return _simulate(client, paths, args)
    workers = {"n_workers": args.workers, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 40}
    with LocalCluster(host="127.0.0.1", **workers) as cluster, _connect(cluster) as client:
        client.run(_ignore_ctrl_c)
        return _simulate(client, paths, args)


def _connect(address: Any) -> Any:
    """Return a client of a scheduler. Dask asserts that its thread starts within 10 s, which a very busy machine may miss."""
    from distributed import Client

    for _ in range(2):
        try:
            return Client(address, timeout=10)
        except AssertionError:
            pass
    return Client(address, timeout=10)


def _ignore_ctrl_c() -> None:
    """On a worker: a terminal sends Ctrl-C to it too, and it would print a traceback before this process ends it."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _simulate(client: Any, paths: int, args: Any) -> int:
    from micrograd import vmap

    threads = sum(client.ncores().values())
    print(f"{len(client.ncores())} workers with {threads} threads; dashboard: {client.dashboard_link}")
    simulate: Any = vmap(with_squares, in_axes=(None,) * 4 + (0,), reduce="mean", client=client)
    market = [*MARKET.values(), random.key(args.seed)]
    simulate(*market, range(1))  # the workers compile before the clock starts
    bar: Any = None

    def tell(now: Any) -> None:
        nonlocal bar
        bar = bar or show(now.chunks, 0, args.quiet)
        bar.total = now.chunks
        bar.step({"step": now.done, "paths": now.rows_done})

    simulate.progress = tell
    start = perf_counter()
    found = simulate(*market, range(paths))
    seconds = perf_counter() - start
    if bar is not None:
        bar.close()
    count = len(NAMES)
    for name, mean, square in zip(NAMES.values(), found[:count], found[count:]):
        error = (max(0.0, square - mean * mean) / paths) ** 0.5
        print(f"{name:<6} {mean:12.6f}  ± {error:.6f}")
    done = simulate.last_run
    print(
        f"{paths:,} paths of {DATES} dates in {seconds:.1f} s: {paths / seconds / threads:,.0f} paths per second and core"
    )
    print(
        f"{done.done} chunks, {1000 * done.seconds / done.done:.0f} ms each on a worker, "
        f"{done.bytes / done.done / 1024:.1f} kB of results each"
    )
    return 0
