"""Simulate molecules: Lennard-Jones forces from the energy alone.

Thirty atoms, 200 steps of Verlet's method; the force is the gradient of the energy, which is two loops over pairs.
"""

import numpy as np

from micrograd import grad, jit

N = 30
start = np.array([[1.2 * (k % 3), 1.2 * (k // 3 % 3), 1.2 * (k // 9)] for k in range(N)])


def energy(atoms):
    total = 0.0
    for i in range(len(atoms)):
        for j in range(i):
            dx, dy, dz = atoms[i][0] - atoms[j][0], atoms[i][1] - atoms[j][1], atoms[i][2] - atoms[j][2]
            r2 = dx * dx + dy * dy + dz * dz
            s = 1.0 / (r2 * r2 * r2)
            total = total + 4.0 * (s * s - s)
    return total


def simulate(slope, steps=200, dt=0.002):
    x, v = start.copy(), np.random.default_rng(8).standard_normal((N, 3))
    force, path = -np.asarray(slope(x)), []
    for _ in range(steps):
        v = v + 0.5 * dt * force
        x = x + dt * v
        force = -np.asarray(slope(x))
        v = v + 0.5 * dt * force
        path.append(x)
    return np.array(path)


def solve():
    slope = jit(grad(energy))
    return lambda: simulate(slope)


# ---- beside it


def numbers(found):
    return found[-1].ravel().tolist()


def jax():
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    i, j = np.tril_indices(N, -1)

    def on_arrays(x):
        r2 = jnp.sum((x[i] - x[j]) ** 2, axis=1)
        s = 1.0 / r2**3
        return jnp.sum(4.0 * (s * s - s))

    slope = jax.jit(jax.grad(on_arrays))
    return lambda: numbers(simulate(slope))


def numba():
    import numba

    @numba.njit
    def slope(x):
        force = np.zeros_like(x)
        for i in range(len(x)):
            for j in range(i):
                d = x[i] - x[j]
                r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2]
                s = 1.0 / (r2 * r2 * r2)
                size = -24.0 * (2.0 * s * s - s) / r2
                for k in range(3):
                    force[i, k] += size * d[k]
                    force[j, k] -= size * d[k]
        return force

    return lambda: numbers(simulate(slope))


OTHERS = {"JAX": jax, "Numba, forces by hand": numba}


def draw(ax, found):
    ax.plot(found[:, :, 0], found[:, :, 1], color="#c9ced8", linewidth=0.8)
    ax.plot(found[-1, :, 0], found[-1, :, 1], "o", color="#2f6fde")
    ax.set_aspect("equal")
    ax.set(title="Thirty atoms, seen from above")
