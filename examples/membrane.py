"""Finds the shape of a membrane by Newton's method, with the sparse Jacobian of 10,000 unknowns.

    python examples/membrane.py

A membrane in a square frame is pressed from below, the more the higher it stands; the Laplacian of
its height u is -c exp(u) (Bratu's problem). The residual at a point of the grid depends on the
point and its four neighbors: a Jacobian of 10,000 by 10,000 has 49,600 elements, and seven products
compute them. A banded solver does the rest.
"""

import argparse

import numpy as np

import glassjax.numpy as jnp
from glassjax import jit
from glassjax.experimental import sparse_jacobian, sparsity

PRESSURE = 6.0  # above 6.81 the membrane bursts: there is no solution


def residual(u):
    """The residual of the equation at each inner point of the unit square."""
    inner = jnp.pad(u, 1)
    around = inner[2:, 1:-1] + inner[:-2, 1:-1] + inner[1:-1, 2:] + inner[1:-1, :-2]
    return around - 4 * u + PRESSURE * jnp.exp(u) / (u.shape[0] + 1) ** 2


def solve_banded(jacobian, right, width):
    """The solution of a linear system whose elements are at most `width` from the diagonal.

    Gaussian elimination in place, without pivots, as the matrix is nearly diagonally dominant.
    """
    size = len(right)
    rows, columns = np.asarray(jacobian.indices).T
    band = np.zeros((size + width, 2 * width + 1))
    band[rows, columns - rows + width] = jacobian.data
    right = np.concatenate([np.asarray(right, float), np.zeros(width)])
    below = np.arange(1, width + 1)
    places = width - below[:, None] + np.arange(width + 1)
    for i in range(size):
        factors = band[i + below, width - below] / band[i, width]
        band[(i + below)[:, None], places] -= factors[:, None] * band[i, width:]
        right[i + below] -= factors * right[i]
    out = np.zeros(size + width)
    for i in reversed(range(size)):
        out[i] = (right[i] - band[i, width + 1 :] @ out[i + below]) / band[i, width]
    return out[:size]


def newton(count, report):
    """The height at each point of a grid of `count` by `count`."""

    def flat(u):
        return residual(u.reshape(count, count)).ravel()

    report(sparsity(flat, jnp.zeros(count**2)))
    jacobian = jit(lambda u: (flat(u), sparse_jacobian(flat, u)))
    u = jnp.zeros(count**2)
    for step in range(8):
        left, slopes = jacobian(u)
        report(f"step {step}: residual {jnp.abs(left).max():.1e}, height {u.max():.4f}")
        if jnp.abs(left).max() < 1e-6:
            break
        u = u - jnp.asarray(solve_banded(slopes, left, count), u.dtype)
    return u.reshape(count, count)


def drawn(u, width=60):
    """The heights as text, the higher, the darker."""
    step = max(len(u) * 2 // width, 1)
    shades = np.asarray(u)[::step, :: max(step // 2, 1)] / u.max()
    return "\n".join("".join(" .:-=+*#%@"[int(9 * x)] for x in row) for row in shades)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a coarse grid")
    quick = parser.parse_args().quick
    print(drawn(newton(20 if quick else 100, print)))


if __name__ == "__main__":
    main()
