"""Mistakes that a checker has to find, each on a line that says so."""

import glassjax
import glassjax.numpy as jnp
from glassjax import Array, lax

x = jnp.ones(3)

y: int = jnp.sin(x)  # mistake
jnp.sin("hello")  # mistake
jnp.sin([1.0, 2.0])  # mistake
jnp.sun(x)  # mistake
jnp.add(x, "hello")  # mistake
jnp.zeros(3, dtype=3)  # mistake
lax.sinn(x)  # mistake
glassjax.gradd(jnp.sin)  # mistake
jnp.linalg.normal(x)  # mistake
x.summ()  # mistake
x.sum(axes=0)  # mistake
x + "hello"  # mistake
text: str = x.at[0].set(1.0)  # mistake


@glassjax.jit
def step(a: Array, n: int = 2) -> Array:
    return a * n


step(x, 2, 3)  # mistake
step(x, m=2)  # mistake
step("hello")  # mistake
glassjax.grad(step)(x, m=2)  # mistake
glassjax.vmap(step)("hello")  # mistake
number: float = glassjax.jit(step)(x)  # mistake
glassjax.jit(3)  # mistake
glassjax.jit(step, static_argnames=1)  # mistake


@glassjax.custom_vjp
def clipped(a: Array, bound: float) -> Array:
    return a


clipped(x, bound="hello")  # mistake
clipped.defvpj(clipped)  # mistake
