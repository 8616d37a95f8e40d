"""The evals in JAX. Its reverse mode does not go through `while_loop`, so particle and saddle have the forward modes alone."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import grad, jacfwd, jit, lax, vmap
from jax.scipy.special import gammaln, logsumexp

from .. import bundle
from ..tool.evaluation import Function, numbers

jax.config.update("jax_enable_x64", True)
VERSION = f"JAX {jax.__version__}"


def made(f: Any, prepare: Any, finish: Any = numbers, static: tuple[int, ...] = ()) -> Function:
    """Compile a function; a call returns when its result is there."""
    compiled = jit(f, static_argnums=static)
    return Function(lambda *given: jax.block_until_ready(compiled(*given)), prepare, finish)


def only(*names: str) -> Any:
    return lambda given: tuple(jnp.array(given[name], dtype=float) for name in names)


def hello() -> dict[str, Function]:
    def f(x):
        return x * x

    return {"square": made(f, lambda x: (x,), float), "double": made(grad(f), lambda x: (x,), float)}


def llsq() -> dict[str, Function]:
    def f(x, n):
        t = -1.0 + jnp.arange(n) * 2.0 / (n - 1)
        powers = jnp.cumprod(jnp.tile(t[:, None], (1, len(x))).at[:, 0].set(1.0), axis=1)
        return 0.5 * jnp.sum((jnp.sign(t) - powers @ x) ** 2)

    def arguments(given):
        return jnp.array(given["x"]), given["n"]

    return {"primal": made(f, arguments, float, (1,)), "gradient": made(grad(f), arguments, numbers, (1,))}


def lse() -> dict[str, Function]:
    def f(x):
        largest = jnp.max(x)
        return largest + jnp.log(jnp.sum(jnp.exp(x - largest)))

    return {"primal": made(f, only("x"), float), "gradient": made(grad(f), only("x"))}


def det() -> dict[str, Function]:
    def minors(a):
        if len(a) == 1:
            return a[0, 0]
        parts = (jnp.concatenate([a[1:, :j], a[1:, j + 1 :]], axis=1) for j in range(len(a)))
        return sum((-1) ** j * a[0, j] * minors(part) for j, part in enumerate(parts))

    def arguments(given):
        return (jnp.array(given["A"]).reshape(given["ell"], given["ell"]),)

    slope = made(grad(minors), arguments, lambda found: found.ravel().tolist())
    return {"primal": made(minors, arguments, float), "gradient": slope}


def ode() -> dict[str, Function]:
    def solve(x, steps):
        h = 2.0 / steps

        def rate(y):
            return x * jnp.concatenate([jnp.ones(1), y[:-1]])

        def step(y, _):
            k1 = rate(y)
            k2 = rate(y + h / 2.0 * k1)
            k3 = rate(y + h / 2.0 * k2)
            k4 = rate(y + h * k3)
            return y + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4), None

        return lax.scan(step, jnp.zeros_like(x), None, length=steps)[0]

    def arguments(given):
        return jnp.array(given["x"]), given["s"]

    slope = grad(lambda x, steps: solve(x, steps)[-1])
    return {"primal": made(solve, arguments, numbers, (1,)), "gradient": made(slope, arguments, numbers, (1,))}


def kmeans() -> dict[str, Function]:
    def cost(points, centroids):
        squares = jnp.sum(points**2, 1)[:, None] + jnp.sum(centroids**2, 1) - 2.0 * points @ centroids.T
        return jnp.sum(jnp.min(squares, axis=1))

    def step(points, centroids):
        slope = partial(grad(cost, 1), points)
        first, second = jax.jvp(slope, (centroids,), (jnp.ones_like(centroids),))
        return first / second

    arguments = only("points", "centroids")
    return {"cost": made(cost, arguments, float), "dir": made(step, arguments)}


def gmm() -> dict[str, Function]:
    def log_posterior(independent, x, m, gamma):
        alpha, mu, q, lower = (independent[name] for name in ("alpha", "mu", "q", "l"))
        n, (k, d) = len(x), mu.shape
        columns, rows = np.triu_indices(d, 1)  # the lower triangle, column by column
        triangles = jnp.zeros((k, d, d)).at[:, rows, columns].set(lower)
        diagonals, sums = jnp.exp(q), jnp.sum(q, axis=1)
        centred = x[:, None] - mu
        products = diagonals * centred + jnp.einsum("kij,nkj->nki", triangles, centred)
        terms = alpha + sums - 0.5 * jnp.sum(products**2, axis=-1)
        total = jnp.sum(logsumexp(terms, axis=1)) - n * (0.5 * d * jnp.log(2.0 * jnp.pi) + logsumexp(alpha))
        degrees = d + m + 1
        log_gamma = 0.25 * d * (d - 1) * jnp.log(jnp.pi) + jnp.sum(gammaln(0.5 * (degrees - jnp.arange(d))))
        constant = degrees * d * jnp.log(gamma / jnp.sqrt(2.0)) - log_gamma
        norms = jnp.sum(diagonals**2) + jnp.sum(lower**2)
        return total + k * constant - 0.5 * gamma * gamma * norms + m * jnp.sum(sums)

    def arguments(given):
        independent = {name: jnp.array(given[name]) for name in ("alpha", "mu", "q", "l")}
        return independent, jnp.array(given["x"]), given["m"], given["gamma"]

    return {"objective": made(log_posterior, arguments, float), "jacobian": made(grad(log_posterior), arguments)}


def ba() -> dict[str, Function]:
    def rotated(rotation, v):
        squared = jnp.sum(rotation**2)
        safe = jnp.where(squared == 0.0, 1.0, squared)
        angle = jnp.sqrt(safe)
        axis = rotation / angle
        c, s = jnp.cos(angle), jnp.sin(angle)
        turned = v * c + jnp.cross(axis, v) * s + axis * jnp.dot(axis, v) * (1.0 - c)
        return jnp.where(squared == 0.0, v + jnp.cross(rotation, v), turned)

    def error(camera, point, weight, feature):
        seen = rotated(camera[:3], point - camera[3:6])
        seen = seen[:2] / seen[2]
        squared = jnp.sum(seen**2)
        distortion = 1.0 + camera[9] * squared + camera[10] * squared**2
        return weight * (seen * distortion * camera[6] + camera[7:9] - feature)

    def errors(cameras, points, weights, observed, features):
        of_points = vmap(error)(cameras[observed[:, 0]], points[observed[:, 1]], weights, features)
        return of_points, 1.0 - weights**2

    def matrix(cameras, points, weights, observed, features):
        n, m, p = len(cameras), len(points), len(weights)
        gathered = cameras[observed[:, 0]], points[observed[:, 1]], weights, features
        by_camera, by_point, by_weight = vmap(jacfwd(error, argnums=(0, 1, 2)))(*gathered)
        blocks = jnp.concatenate([by_camera, by_point, by_weight[..., None]], axis=-1)
        of_weights = 11 * n + 3 * m + jnp.arange(p)
        columns = [
            11 * observed[:, :1] + jnp.arange(11),
            11 * n + 3 * observed[:, 1:] + jnp.arange(3),
            of_weights[:, None],
        ]
        twice = jnp.repeat(jnp.concatenate(columns, axis=1), 2, axis=0)
        starts = jnp.concatenate([15 * jnp.arange(2 * p), 30 * p + jnp.arange(p + 1)])
        return (
            starts.astype(jnp.int32),
            jnp.concatenate([twice.ravel(), of_weights]).astype(jnp.int32),
            jnp.concatenate([blocks.ravel(), -2.0 * weights]),
        )

    def arguments(given):
        return tuple(map(jnp.array, bundle.arrays(given)))

    return {
        "objective": made(errors, arguments, bundle.errors_as_json),
        "jacobian": made(matrix, arguments, bundle.matrix_as_json),
    }


def ht() -> dict[str, Function]:
    def from_axis(rotation):
        angle = jnp.linalg.norm(rotation)
        x, y, z = axis = rotation / angle
        c, s = jnp.cos(angle), jnp.sin(angle)
        crossed = jnp.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        return c * jnp.eye(3) + (1.0 - c) * jnp.outer(axis, axis) + s * crossed

    def from_euler(angles):
        (cx, cy, cz), (sx, sy, sz) = jnp.cos(angles), jnp.sin(angles)
        about_x = jnp.array([[1.0, 0.0, 0.0], [0.0, cx, -sx], [0.0, sx, cx]])
        about_y = jnp.array([[cy, 0.0, sy], [0.0, 1.0, 0.0], [-sy, 0.0, cy]])
        about_z = jnp.array([[cz, -sz, 0.0], [sz, cz, 0.0], [0.0, 0.0, 1.0]])
        return jnp.eye(4).at[:3, :3].set(about_z @ about_y @ about_x)

    def vertices(theta, hand, parents):
        angles = jnp.zeros((len(parents), 3))
        bones = np.array([4 * finger + joint + 2 for finger in range(5) for joint in (0, 0, 1, 2)])
        angles = angles.at[bones, np.tile([0, 2, 0, 0], 5)].set(theta[6:])
        absolutes = []
        for bone, parent in enumerate(parents):
            relative = hand["base_relatives"][bone] @ from_euler(angles[bone])
            absolutes.append(relative if parent == -1 else absolutes[parent] @ relative)
        transforms = jnp.stack(absolutes) @ hand["inverse_base_absolutes"]
        moved = jnp.einsum("vb,bij,vj->vi", hand["weights"], transforms[:, :3], hand["base_positions"])
        return moved * hand["mirror"] @ from_axis(theta[:3]).T + theta[3:6]

    def differences(theta, shift, hand, parents):
        found = vertices(theta, hand, parents)
        if hand["us"].shape[0] == 0:
            return hand["points"] - found[hand["correspondences"]]
        a, b, c = (found[corner] for corner in hand["triangles"][hand["correspondences"]].T)
        u, v = (hand["us"] + shift).T[:, :, None]
        return hand["points"] - (u * a + v * b + (1.0 - u - v) * c)

    def slopes(theta, shift, hand, parents):
        by_theta, by_shift = jacfwd(differences, argnums=(0, 1))(theta, shift, hand, parents)
        return jnp.concatenate([by_shift, by_theta], axis=-1) if hand["us"].shape[0] else by_theta

    def arguments(given):
        data, model = given["data"], given["data"]["model"]
        keys = ("base_relatives", "inverse_base_absolutes", "base_positions", "weights", "triangles")
        hand = {key: jnp.array(model[key]) for key in keys}
        hand |= {"points": jnp.array(data["points"]), "us": jnp.array(given["us"])}
        hand["correspondences"] = jnp.array(data["correspondences"])
        hand["mirror"] = jnp.array([-1.0 if model["is_mirrored"] else 1.0, 1.0, 1.0])
        return jnp.array(given["theta"]), jnp.zeros(2), hand, tuple(model["parents"])

    return {
        "objective": made(differences, arguments, lambda found: found.ravel().tolist(), (3,)),
        "jacobian": made(slopes, arguments, lambda found: found.reshape(-1, found.shape[-1]).tolist(), (3,)),
    }


def lstm() -> dict[str, Function]:
    def loss(main, extra, state, sequence):
        def step(state, pair):
            x, wanted = pair[0] * extra[0], pair[1]
            new = []
            for layer in range(0, len(main), 2):
                hidden, cell = state[layer], state[layer + 1]
                gates = jnp.stack([x, hidden, x, hidden]) * main[layer].reshape(4, -1) + main[layer + 1].reshape(4, -1)
                forget, ingate, outgate = jax.nn.sigmoid(gates[:3])
                cell = cell * forget + ingate * jnp.tanh(gates[3])
                x = outgate * jnp.tanh(cell)
                new += [x, cell]
            y = x * extra[1] + extra[2]
            return jnp.stack(new), jnp.sum(wanted * (y - jnp.log(jnp.sum(jnp.exp(y)) + 2.0)))

        terms = lax.scan(step, state, (sequence[:-1], sequence[1:]))[1]
        return -jnp.sum(terms) / sequence[1:].size

    arguments = only("main_params", "extra_params", "state", "sequence")

    def flat(found):
        return [v for part in found for v in part.ravel().tolist()]

    return {"objective": made(loss, arguments, float), "jacobian": made(grad(loss, argnums=(0, 1)), arguments, flat)}


def argmin(f: Any, slope: Any, start: Any) -> Any:
    """The descent of tool/descent.py as a while_loop."""

    def going(at):
        _, _, slopes, _, _, ended = at
        return jnp.logical_not(ended) & (jnp.linalg.norm(slopes) > 1e-5)

    def step(at):
        x, value, slopes, rate, successes, _ = at
        grows = successes == 10
        trial = x - rate * slopes
        ends = jnp.logical_not(grows) & (jnp.linalg.norm(x - trial) <= 1e-5)
        at_trial = f(trial)
        better = jnp.logical_not(grows | ends) & (at_trial < value)
        worse = jnp.logical_not(grows | ends | better)
        new_slopes = lax.cond(better, lambda: slope(trial), lambda: slopes)
        rate = jnp.where(grows, 2.0 * rate, jnp.where(worse, rate / 2.0, rate))
        successes = jnp.where(grows | worse, 0, jnp.where(better, successes + 1, successes))
        return (
            jnp.where(better, trial, x),
            jnp.where(better, at_trial, value),
            new_slopes,
            rate,
            successes,
            ends,
        )

    return lax.while_loop(going, step, (start, f(start), slope(start), 1e-5, 0, False))[0]


def particle() -> dict[str, Function]:
    def crossing(w, gradient):
        charges = jnp.array([[10.0, 10.0], [10.0, 0.0]]) - jnp.array([[0.0, 1.0], [0.0, 0.0]]) * w
        slope = gradient(lambda place: jnp.sum(1.0 / jnp.linalg.norm(charges - place, axis=1)))

        def step(at):
            position, velocity, _ = at
            return position + 0.1 * velocity, velocity - 0.1 * slope(position), velocity

        start = jnp.array([0.0, 8.0]), jnp.array([0.75, 0.0]), jnp.array([0.75, 0.0])
        position, _, velocity = lax.while_loop(lambda at: at[0][1] > 0.0, step, start)
        end = position - velocity * position[1] / velocity[1]
        return end[0] ** 2

    def search(inner):
        def miss(at):
            return crossing(at[0], inner)

        return made(lambda w: argmin(miss, jacfwd(miss), w[None])[0], lambda given: (jnp.array(given["w"]),), float)

    return {"ff": search(jacfwd), "fr": search(grad)}


def saddle() -> dict[str, Function]:
    def f(x, y):
        return jnp.sum(x**2) - jnp.sum(y**2)

    def search(inner):
        def argmax(x, start):
            def depth(y):
                return -f(x, y)

            return argmin(depth, inner(depth), start)

        def point(start):
            def height(x):
                return f(x, argmax(x, start))

            x = argmin(height, jacfwd(height), start)
            return jnp.concatenate([x, argmax(x, start)])

        return made(point, only("start"))

    return {"ff": search(jacfwd), "fr": search(grad)}
