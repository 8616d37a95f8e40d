"""Small training runs, and parameters with given gradients, for the tests of training."""

import random
import signal

from micrograd import Value, data, losses, nn, optim
from micrograd.train import accuracy, fit


def line_problem(seed=0, lr=0.05, momentum=0.9):
    rng = random.Random(seed)
    X = [[rng.uniform(-1, 1)] for _ in range(10)]
    y = [2.0 * x[0] - 1.0 for x in X]
    model = nn.MLP(1, [3, 1], rng=seed)
    return model, (X, y), optim.SGD(model.parameters(), lr=lr, momentum=momentum)


MAKERS = {
    "SGD": lambda ps: optim.SGD(ps, lr=optim.linear(0.05, 0.01, 30), momentum=0.9),
    "Adam": lambda ps: optim.Adam(ps, lr=optim.cosine(0.05, 0.001, 30)),
    "AdamW": lambda ps: optim.AdamW(ps, lr=0.05),
    "RMSprop": lambda ps: optim.RMSprop(ps, lr=0.01, momentum=0.5, centered=True),
}


def noisy(source):
    """A loss that draws from the run's own generator, as dropout would."""
    return lambda predictions, targets: losses.mse(predictions, targets) * (1.0 + 0.1 * source.random())


def run(optimizer, stop_after=None, batch_size=4, **options):
    model, points, _ = line_problem()
    source = random.Random(11)

    def stop(history):
        if len(history) == stop_after:
            signal.raise_signal(signal.SIGINT)

    history = fit(
        model,
        points,
        noisy(source),
        MAKERS[optimizer](model.parameters()),
        epochs=8,
        batch_size=batch_size,
        rng=source,
        callbacks=[stop],
        quiet=True,
        **options,
    )
    return history.rows, model.state_dict()


def recipe(sizes, seed, steps=100, **options):
    """micrograd's moons: full batch, learning rate 1 - 0.9 k/100, max-margin and 1e-4 Σp²."""
    X, y = data.moons(100, noise=0.1, seed=seed)
    model = nn.MLP(2, sizes, rng=seed)
    return model, fit(
        model,
        (X, [2 * c - 1 for c in y]),
        lambda scores, labels: losses.max_margin(scores, labels) + losses.l2(model.parameters(), 1e-4),
        optim.SGD(model.parameters(), lr=optim.linear(1.0, 0.1, 100)),
        epochs=steps,
        metrics={"accuracy": accuracy},
        quiet=True,
        **options,
    )


def values(count=6, seed=0):
    rng = random.Random(seed)
    return [Value(rng.uniform(-2.0, 2.0)) for _ in range(count)]


def step(optimizer, grads):
    for p, g in zip(optimizer.parameters, grads):
        p.grad = g
    optimizer.step()
    return [p.data for p in optimizer.parameters]
