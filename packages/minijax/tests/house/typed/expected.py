"""A user's program, with the types that a checker has to infer."""

from collections.abc import Callable
from functools import partial
from typing import Any, assert_type

import numpy as np

import minijax
import minijax.numpy as jnp
from minijax import Array, lax
from minijax.typing import ArrayLike, DTypeLike

x = jnp.ones(3)
Params = dict[str, Array]

# Functions and methods.
assert_type(jnp.sin(1.0), Array)
assert_type(jnp.add(x, 2), Array)
assert_type(jnp.add.reduce(x), Array)
assert_type(jnp.float32(3), Array)
assert_type(jnp.linalg.norm(x), Array)
assert_type(jnp.zeros(3, dtype="int8"), Array)
assert_type(jnp.zeros((2, 3), jnp.bfloat16), Array)
assert_type(lax.sin(np.ones(3)), Array)
assert_type(minijax.nn.relu(x), Array)
assert_type(minijax.random.normal(minijax.random.key(0), (3,)), Array)
assert_type(minijax.scipy.special.gammaln(x), Array)
assert_type(x.sum(axis=0), Array)
assert_type(x.at[0].set(1.0), Array)
assert_type(x[0], Array)
assert_type(x.T, Array)
assert_type(x.shape, tuple[int, ...])
assert_type(x.dtype, np.dtype[Any])
assert_type(-x + 3 * x @ x - np.ones(3), Array)
assert_type(x > 3, Array)
assert_type(x == 1, Array)
assert_type(float(x[0]), float)
assert_type(list(x), list[Array])
assert_type(jnp.modf(x), tuple[Array, Array])


def scaled(a: ArrayLike, dtype: DTypeLike = float) -> Array:
    return jnp.asarray(a, dtype) * 2


assert_type(scaled(1), Array)
assert_type(scaled(np.float32(1), np.float32), Array)


# Transformations keep the parameters of a function.
def loss(params: Params, batch: Array, scale: float = 1.0) -> Array:
    return ((batch @ params["w"]) ** 2).mean() * scale


def loss_and_size(params: Params, batch: Array) -> tuple[Array, int]:
    return loss(params, batch), batch.shape[0]


params = {"w": x}
assert_type(minijax.jit(loss)(params, x, scale=2.0), Array)
assert_type(minijax.vmap(loss, in_axes=(None, 0))(params, x), Array)
assert_type(minijax.checkpoint(loss)(params, x), Array)
assert_type(minijax.value_and_grad(loss)(params, x), tuple[Array, Any])
assert_type(minijax.value_and_grad(loss_and_size, has_aux=True)(params, x)[0], tuple[Array, int])
assert_type(minijax.grad(loss_and_size, has_aux=True)(params, x), tuple[Any, int])
assert_type(minijax.jacrev(loss_and_size, has_aux=True)(params, x), tuple[Any, int])
assert_type(minijax.jvp(jnp.sin, (x,), (x,)), tuple[Array, Array])
assert_type(minijax.vjp(jnp.sin, x)[0], Array)
assert_type(minijax.linearize(jnp.sin, x)[1], Callable[..., Any])
assert_type(minijax.named_call(loss)(params, x), Array)
assert_type(minijax.make_jaxpr(loss)(params, x).jaxpr, minijax.core.Jaxpr)
gradient = minijax.jit(minijax.grad(loss))(params, x)
gradient["w"].sum()


# As decorators, with options and without.
@minijax.jit
def step(a: Array, n: int = 2) -> Array:
    return a * n


@minijax.jit(static_argnames="n")
def static_step(a: Array, n: int) -> Array:
    return a * n


@partial(minijax.jit, static_argnums=1)
def partial_step(a: Array, n: int) -> Array:
    return a * n


assert_type(step(x, n=3), Array)
assert_type(static_step(x, 3), Array)
partial_step(x, 3).sum()
step.lower(x).compile()
wrapped: minijax.stages.Wrapped = step


class Model:
    @minijax.jit
    def __call__(self, a: Array) -> Array:
        return a

    @partial(minijax.jit, static_argnums=0)
    def apply(self, a: Array) -> Array:
        return a


assert_type(Model()(x), Array)
Model().apply(x).sum()


@minijax.custom_jvp
def smooth(a: Array) -> Array:
    return a


@smooth.defjvp
def smooth_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    return smooth(primals[0]), tangents[0]


@minijax.custom_vjp
def clipped(a: Array, bound: float) -> Array:
    return a


def clipped_fwd(a: Array, bound: float) -> tuple[Array, float]:
    return a, bound


def clipped_bwd(bound: float, ct: Array) -> tuple[Array, None]:
    return jnp.clip(ct, -bound, bound), None


clipped.defvjp(clipped_fwd, clipped_bwd)
assert_type(smooth(x), Array)
assert_type(smooth_jvp((x,), (x,)), tuple[Array, Array])
assert_type(clipped(x, bound=1.0), Array)


# Control flow.
def add(carry: Array, element: Array) -> tuple[Array, Array]:
    return carry + element, carry


assert_type(lax.scan(add, jnp.zeros(()), x), tuple[Array, Array])
assert_type(lax.fori_loop(0, 3, lambda i, c: c * 2, x), Array)
assert_type(lax.while_loop(lambda c: (c < 3).all(), lambda c: c + 1, x), Array)
largest = lax.cond(True, lambda a: a.max(), lambda a: a[0], x)
doubled = minijax.tree.map(lambda leaf: leaf * 2, params)
doubled["w"].sum()
print(lax.add_p.name, minijax.__version__, minijax.devices())
