"""A user's program, with the types that a checker has to infer."""

from collections.abc import Callable
from functools import partial
from typing import Any, assert_type

import numpy as np

import glassjax
import glassjax.numpy as jnp
from glassjax import Array, lax
from glassjax.typing import ArrayLike, DTypeLike

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
assert_type(glassjax.nn.relu(x), Array)
assert_type(glassjax.random.normal(glassjax.random.key(0), (3,)), Array)
assert_type(glassjax.scipy.special.gammaln(x), Array)
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
assert_type(glassjax.jit(loss)(params, x, scale=2.0), Array)
assert_type(glassjax.vmap(loss, in_axes=(None, 0))(params, x), Array)
assert_type(glassjax.checkpoint(loss)(params, x), Array)
assert_type(glassjax.value_and_grad(loss)(params, x), tuple[Array, Any])
assert_type(glassjax.value_and_grad(loss_and_size, has_aux=True)(params, x)[0], tuple[Array, int])
assert_type(glassjax.grad(loss_and_size, has_aux=True)(params, x), tuple[Any, int])
assert_type(glassjax.jacrev(loss_and_size, has_aux=True)(params, x), tuple[Any, int])
assert_type(glassjax.jvp(jnp.sin, (x,), (x,)), tuple[Array, Array])
assert_type(glassjax.vjp(jnp.sin, x)[0], Array)
assert_type(glassjax.linearize(jnp.sin, x)[1], Callable[..., Any])
assert_type(glassjax.named_call(loss)(params, x), Array)
program: glassjax.core.Jaxpr = glassjax.make_jaxpr(loss)(params, x).jaxpr
gradient = glassjax.jit(glassjax.grad(loss))(params, x)
gradient["w"].sum()


# As decorators, with options and without.
@glassjax.jit
def step(a: Array, n: int = 2) -> Array:
    return a * n


@glassjax.jit(static_argnames="n")
def static_step(a: Array, n: int) -> Array:
    return a * n


@partial(glassjax.jit, static_argnums=1)
def partial_step(a: Array, n: int) -> Array:
    return a * n


assert_type(step(x, n=3), Array)
assert_type(static_step(x, 3), Array)
partial_step(x, 3).sum()
step.lower(x).compile()
wrapped: glassjax.stages.Wrapped = step


class Model:
    @glassjax.jit
    def __call__(self, a: Array) -> Array:
        return a

    @partial(glassjax.jit, static_argnums=0)
    def apply(self, a: Array) -> Array:
        return a


assert_type(Model()(x), Array)
Model().apply(x).sum()


@glassjax.custom_jvp
def smooth(a: Array) -> Array:
    return a


@smooth.defjvp
def smooth_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    return smooth(primals[0]), tangents[0]


@glassjax.custom_vjp
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
doubled = glassjax.tree.map(lambda leaf: leaf * 2, params)
doubled["w"].sum()
print(lax.add_p.name, glassjax.__version__, glassjax.devices())
