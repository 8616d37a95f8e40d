"""A small training run that can be stopped and resumed, for the tests of checkpoints."""

import random
import signal

from micrograd import losses, nn, optim
from micrograd.train import fit


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
