"""asdex: the sparsity of Jacobians and Hessians, read from programs."""

import asdex
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

X = np.linspace(0.5, 1.5, 6).astype(np.float32)


def convolved(x):
    return jnp.convolve(x, jnp.array([1.0, -2.0, 1.0]), mode="valid") ** 2


def piecewise(x):
    return jnp.where(x > 1.0, jnp.sin(x), jnp.roll(x, 1) * x)


def looped(x):
    return lax.fori_loop(0, 2, lambda i, y: y.at[1:].add(y[:-1]), x)


def branched(x):
    return lax.cond(x[0] > 1.0, lambda x: x * x[0], jnp.cumsum, x)


def scanned(x):
    return lax.scan(lambda c, a: (c * a, jnp.tanh(c)), x[0], x)[1]


def network(x):
    hidden = jax.nn.relu(x.reshape(2, 3) @ jnp.ones((3, 4)))
    return jax.nn.softmax(hidden, axis=-1).ravel()


JACOBIANS = {
    "differences": jnp.diff,
    "convolved": convolved,
    "piecewise": piecewise,
    "looped": looped,
    "branched": branched,
    "scanned": scanned,
    "network": network,
    "sorted": jnp.sort,
    "taken": lambda x: x[jnp.array([0, 0, 5])] * x[::2],
}
HESSIANS = {
    "rosenbrock": lambda x: jnp.sum((x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2),
    "norm": lambda x: jnp.sqrt(jnp.sum(x**2)),
    "separable": lambda x: jnp.sum(jnp.where(x > 1, jnp.exp(x), x**3)),
}


def rows(pattern):
    """A row of digits for each result: 1 where it depends on the input."""
    return ["".join(str(int(x)) for x in row) for row in np.asarray(pattern.todense())]


def main():
    jacobians = {name: rows(asdex.jacobian_sparsity(f, X)) for name, f in JACOBIANS.items()}
    hessians = {name: rows(asdex.hessian_sparsity(f, X)) for name, f in HESSIANS.items()}
    compressed = {
        "jacobian": asdex.jacobian(convolved, X)(X),
        "hessian": asdex.hessian(HESSIANS["rosenbrock"], X)(X),
    }
    dense = {name: x.todense() if hasattr(x, "todense") else x for name, x in compressed.items()}
    return {"jacobians": jacobians, "hessians": hessians, "values": dense}
