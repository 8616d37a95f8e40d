"""The evals in eager PyTorch. Left out: det, which is a million small tensors there, and particle and saddle."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch.func import grad, jacfwd, jvp, vmap

from .. import bundle
from ..tool.evaluation import Function, numbers

torch.set_num_threads(1)
torch.set_default_dtype(torch.float64)
VERSION = f"PyTorch {torch.__version__}"


def value(f: Any) -> Any:
    """Compute without recording, as one does where no derivative is needed."""

    def plain(*given: Any) -> Any:
        with torch.no_grad():
            return f(*given)

    return plain


def slope(f: Any) -> Any:
    """Compute the gradient with respect to the first argument, by one backward pass."""

    def backward(x: Any, *rest: Any) -> Any:
        x = x.detach().requires_grad_()
        return torch.autograd.grad(f(x, *rest), x)[0]

    return backward


def only(*names: str) -> Any:
    return lambda given: tuple(torch.tensor(given[name], dtype=torch.float64) for name in names)


def hello() -> dict[str, Function]:
    def f(x):
        return x * x

    def point(given):
        return (torch.tensor(given),)

    return {"square": Function(value(f), point, float), "double": Function(slope(f), point, float)}


def llsq() -> dict[str, Function]:
    def f(x, n):
        t = -1.0 + torch.arange(n) * 2.0 / (n - 1)
        powers = torch.vander(t, len(x), increasing=True)
        return 0.5 * ((torch.sign(t) - powers @ x) ** 2).sum()

    def arguments(given):
        return torch.tensor(given["x"]), given["n"]

    return {"primal": Function(value(f), arguments, float), "gradient": Function(slope(f), arguments, numbers)}


def lse() -> dict[str, Function]:
    def f(x):
        largest = x.max()
        return largest + torch.log(torch.exp(x - largest).sum())

    return {"primal": Function(value(f), only("x"), float), "gradient": Function(slope(f), only("x"), numbers)}


def ode() -> dict[str, Function]:
    def solve(x, steps):
        h, one = 2.0 / steps, torch.ones(1)

        def rate(y):
            return x * torch.cat([one, y[:-1]])

        y = torch.zeros_like(x)
        for _ in range(steps):
            k1 = rate(y)
            k2 = rate(y + h / 2.0 * k1)
            k3 = rate(y + h / 2.0 * k2)
            k4 = rate(y + h * k3)
            y = y + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        return y

    def arguments(given):
        return torch.tensor(given["x"]), given["s"]

    last = slope(lambda x, steps: solve(x, steps)[-1])
    return {"primal": Function(value(solve), arguments, numbers), "gradient": Function(last, arguments, numbers)}


def kmeans() -> dict[str, Function]:
    def cost(centroids, points):
        squares = (points**2).sum(1)[:, None] + (centroids**2).sum(1) - 2.0 * points @ centroids.T
        return squares.min(dim=1).values.sum()

    def step(centroids, points):
        first, second = jvp(lambda c: grad(cost)(c, points), (centroids,), (torch.ones_like(centroids),))
        return first / second

    arguments = only("centroids", "points")
    return {"cost": Function(value(cost), arguments, float), "dir": Function(value(step), arguments, numbers)}


def gmm() -> dict[str, Function]:
    names = ("alpha", "mu", "q", "l")

    def log_posterior(alpha, mu, q, lower, x, m, gamma):
        n, (k, d) = len(x), mu.shape
        columns, rows = torch.triu_indices(d, d, 1)  # the lower triangle, column by column
        triangles = torch.zeros(k, d, d)
        triangles[:, rows, columns] = lower
        diagonals, sums = torch.exp(q), q.sum(1)
        centred = x[:, None] - mu
        products = diagonals * centred + torch.einsum("kij,nkj->nki", triangles, centred)
        terms = alpha + sums - 0.5 * (products**2).sum(-1)
        total = terms.logsumexp(1).sum() - n * (0.5 * d * np.log(2.0 * np.pi) + alpha.logsumexp(0))
        degrees = d + m + 1
        constant = degrees * d * np.log(gamma / np.sqrt(2.0)) - torch.special.multigammaln(
            torch.tensor(0.5 * degrees), d
        )
        norms = (diagonals**2).sum() + (lower**2).sum()
        return total + k * constant - 0.5 * gamma * gamma * norms + m * sums.sum()

    def slopes(alpha, mu, q, lower, *rest):
        parts = [part.detach().requires_grad_() for part in (alpha, mu, q, lower)]
        return torch.autograd.grad(log_posterior(*parts, *rest), parts)

    def arguments(given):
        return *only(*names, "x")(given), given["m"], given["gamma"]

    def named(found):
        return {name: part.tolist() for name, part in zip(names, found)}

    objective = Function(value(log_posterior), arguments, float)
    return {"objective": objective, "jacobian": Function(slopes, arguments, named)}


def ba() -> dict[str, Function]:
    def rotated(rotation, v):
        squared = (rotation**2).sum()
        angle = torch.sqrt(squared)  # not zero in any input that is made here
        axis = rotation / angle
        c, s = torch.cos(angle), torch.sin(angle)
        return v * c + torch.linalg.cross(axis, v) * s + axis * torch.dot(axis, v) * (1.0 - c)

    def error(camera, point, weight, feature):
        seen = rotated(camera[:3], point - camera[3:6])
        seen = seen[:2] / seen[2]
        squared = (seen**2).sum()
        distortion = 1.0 + camera[9] * squared + camera[10] * squared**2
        return weight * (seen * distortion * camera[6] + camera[7:9] - feature)

    def errors(cameras, points, weights, observed, features):
        of_points = vmap(error)(cameras[observed[:, 0]], points[observed[:, 1]], weights, features)
        return of_points, 1.0 - weights**2

    def matrix(cameras, points, weights, observed, features):
        n, m, p = len(cameras), len(points), len(weights)
        gathered = cameras[observed[:, 0]], points[observed[:, 1]], weights, features
        by_camera, by_point, by_weight = vmap(jacfwd(error, argnums=(0, 1, 2)))(*gathered)
        blocks = torch.cat([by_camera, by_point, by_weight[..., None]], dim=-1)
        of_weights = 11 * n + 3 * m + torch.arange(p)
        parts = [11 * observed[:, :1] + torch.arange(11), 11 * n + 3 * observed[:, 1:] + torch.arange(3)]
        columns = torch.cat([*parts, of_weights[:, None]], dim=1).repeat_interleave(2, dim=0)
        starts = torch.cat([15 * torch.arange(2 * p), 30 * p + torch.arange(p + 1)])
        values = torch.cat([blocks.ravel(), -2.0 * weights])
        return starts.int(), torch.cat([columns.ravel(), of_weights]).int(), values

    def arguments(given):
        return tuple(map(torch.tensor, bundle.arrays(given)))

    objective = Function(value(errors), arguments, bundle.errors_as_json)
    return {"objective": objective, "jacobian": Function(value(matrix), arguments, bundle.matrix_as_json)}


def ht() -> dict[str, Function]:
    bones = [4 * finger + joint + 2 for finger in range(5) for joint in (0, 0, 1, 2)]

    def matrix(rows):
        return torch.stack([torch.stack(row) for row in rows])

    def from_axis(rotation):
        angle = torch.linalg.norm(rotation)
        axis = rotation / angle
        (x, y, z), zero = axis, torch.zeros(())
        crossed = matrix([[zero, -z, y], [z, zero, -x], [-y, x, zero]])
        c, s = torch.cos(angle), torch.sin(angle)
        return c * torch.eye(3) + (1.0 - c) * torch.outer(axis, axis) + s * crossed

    def from_euler(angles):
        (cx, cy, cz), (sx, sy, sz), (zero, one) = torch.cos(angles), torch.sin(angles), torch.tensor([0.0, 1.0])
        about_x = matrix(
            [[one, zero, zero, zero], [zero, cx, -sx, zero], [zero, sx, cx, zero], [zero, zero, zero, one]]
        )
        about_y = matrix(
            [[cy, zero, sy, zero], [zero, one, zero, zero], [-sy, zero, cy, zero], [zero, zero, zero, one]]
        )
        about_z = matrix(
            [[cz, -sz, zero, zero], [sz, cz, zero, zero], [zero, zero, one, zero], [zero, zero, zero, one]]
        )
        return about_z @ about_y @ about_x

    def vertices(theta, hand):
        angles = [[torch.zeros(())] * 3 for _ in hand["parents"]]
        for k, (bone, about) in enumerate(zip(bones, (0, 2, 0, 0) * 5)):
            angles[bone] = [theta[6 + k] if i == about else angle for i, angle in enumerate(angles[bone])]
        absolutes = []
        for of_bone, parent, base in zip(angles, hand["parents"], hand["base_relatives"]):
            relative = base @ from_euler(torch.stack(of_bone))
            absolutes.append(relative if parent == -1 else absolutes[parent] @ relative)
        transforms = torch.stack(absolutes) @ hand["inverse_base_absolutes"]
        moved = torch.einsum("vb,bij,vj->vi", hand["weights"], transforms[:, :3], hand["base_positions"])
        return moved * hand["mirror"] @ from_axis(theta[:3]).T + theta[3:6]

    def differences(theta, shift, hand):
        found = vertices(theta, hand)
        if len(hand["us"]) == 0:
            return hand["points"] - found[hand["correspondences"]]
        a, b, c = (found[corner] for corner in hand["triangles"][hand["correspondences"]].T)
        u, v = (hand["us"] + shift).T[:, :, None]
        return hand["points"] - (u * a + v * b + (1.0 - u - v) * c)

    def slopes(theta, shift, hand):
        by_theta, by_shift = jacfwd(differences, argnums=(0, 1))(theta, shift, hand)
        return torch.cat([by_shift, by_theta], dim=-1) if len(hand["us"]) else by_theta

    def arguments(given):
        data, model = given["data"], given["data"]["model"]
        keys = ("base_relatives", "inverse_base_absolutes", "base_positions", "weights", "triangles")
        hand = {key: torch.tensor(model[key]) for key in keys} | {"parents": model["parents"]}
        hand |= {"points": torch.tensor(data["points"]), "us": torch.tensor(given["us"])}
        hand["correspondences"] = torch.tensor(data["correspondences"])
        hand["mirror"] = torch.tensor([-1.0 if model["is_mirrored"] else 1.0, 1.0, 1.0])
        return torch.tensor(given["theta"]), torch.zeros(2), hand

    def rows(found):
        return found.reshape(-1, found.shape[-1]).tolist()

    objective = Function(value(differences), arguments, lambda found: found.ravel().tolist())
    return {"objective": objective, "jacobian": Function(value(slopes), arguments, rows)}


def lstm() -> dict[str, Function]:
    def loss(main, extra, state, sequence):
        states, total = list(state), 0.0
        for now, wanted in pairwise(sequence):
            x = now * extra[0]
            for layer in range(0, len(main), 2):
                hidden, cell = states[layer], states[layer + 1]
                gates = torch.cat([x, hidden, x, hidden]) * main[layer] + main[layer + 1]
                forget, ingate, outgate, change = gates.reshape(4, -1)
                cell = cell * torch.sigmoid(forget) + torch.sigmoid(ingate) * torch.tanh(change)
                x = torch.sigmoid(outgate) * torch.tanh(cell)
                states[layer], states[layer + 1] = x, cell
            y = x * extra[1] + extra[2]
            total = total + (wanted * (y - torch.log(torch.exp(y).sum() + 2.0))).sum()
        return -total / sequence[1:].numel()

    def slopes(main, extra, *rest):
        parts = [main.detach().requires_grad_(), extra.detach().requires_grad_()]
        return torch.autograd.grad(loss(*parts, *rest), parts)

    arguments = only("main_params", "extra_params", "state", "sequence")

    def flat(found):
        return [v for part in found for v in part.ravel().tolist()]

    return {"objective": Function(value(loss), arguments, float), "jacobian": Function(slopes, arguments, flat)}
