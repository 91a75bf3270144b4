"""Bounds what a program computes, where its arguments lie in intervals.

    python examples/intervals.py

Interval arithmetic is an interpreter: in place of a number it computes with a lower and an upper
bound. The table below has a rule for each primitive; `core.transformation` makes it a function that
composes with `jit`, `vmap` and `grad`. (Results are rounded to nearest, not outward.)
"""

import math

import glassjax.numpy as jnp
from glassjax import core, grad, jit, lax, random, vmap


class Bounds(core.Trace):
    """Pairs every value with a lower and an upper bound."""

    transformation = "bounds"
    rules = core.Rules("bounds", "Bounds.rules")

    def parts_of_constant(self, x):
        return x, x


def increasing(primitive):
    """The rule of what grows with each operand: bounds of operands give bounds of results."""

    def rule(*operands, **params):
        ends = zip(*operands, strict=True)
        return list(zip(*(core.bind(primitive, *end, **params) for end in ends), strict=True))

    return rule


def multiply(x, y):
    products = jnp.stack(jnp.broadcast_arrays(*(a * b for a in x for b in y)))
    return [(products.min(0), products.max(0))]


def dot(x, y, **params):
    """The product of middles, more or less those in which a half width is a factor."""
    (a, da), (b, db) = ((0.5 * (low + high), 0.5 * (high - low)) for low, high in (x, y))
    pairs = [(a, b), (abs(a), db), (da, abs(b)), (da, db)]
    middle, *widths = (core.bind(lax.dot_general_p, *pair, **params)[0] for pair in pairs)
    return [(middle - sum(widths), middle + sum(widths))]


def integer_pow(x, y):
    low, high = x[0] ** y, x[1] ** y
    has_zero = (y % 2 == 0) & (x[0] <= 0) & (x[1] >= 0)
    return [(jnp.where(has_zero, 0, jnp.minimum(low, high)), jnp.maximum(low, high))]


def sine(x, phase=0.0):
    """Where a maximum, a quarter turn after whole ones, lies between the bounds, 1; and so on."""
    turns = jnp.stack(x) / (2 * math.pi) + phase
    ends = jnp.sin(2 * math.pi * turns)
    has_most, has_least = (jnp.diff(jnp.floor(turns - t), axis=0)[0] > 0 for t in (0.25, 0.75))
    return [(jnp.where(has_least, -1, ends.min(0)), jnp.where(has_most, 1, ends.max(0)))]


for primitive in (
    lax.add_p, lax.exp_p, lax.log_p, lax.tanh_p, lax.logistic_p, lax.sqrt_p, lax.max_p, lax.min_p,
    lax.reduce_sum_p, lax.reduce_max_p, lax.broadcast_in_dim_p, lax.reshape_p, lax.transpose_p,
    lax.slice_p, lax.concatenate_p, lax.convert_element_type_p,
):  # fmt: skip
    Bounds.rules[primitive] = increasing(primitive)
Bounds.rules[lax.neg_p] = lambda x: [(-x[1], -x[0])]
Bounds.rules[lax.sub_p] = lambda x, y: [(x[0] - y[1], x[1] - y[0])]
Bounds.rules[lax.mul_p] = multiply
Bounds.rules[lax.dot_general_p] = dot
Bounds.rules[lax.integer_pow_p] = integer_pow
Bounds.rules[lax.sin_p] = sine
Bounds.rules[lax.cos_p] = lambda x: sine(x, 0.25)

bounds = core.transformation(Bounds)


def main():
    keys = random.split(random.key(0), 3)
    first, second = random.normal(keys[0], (4, 8)), random.normal(keys[1], (8,))
    x = random.normal(keys[2], (4,))

    def network(x):
        return jnp.tanh(x @ first) @ second

    def bounds_within(radius):
        return bounds(network, (x - radius,), (x + radius,))

    for radius in (0.01, 0.1, 1.0):
        low, high = jit(bounds_within)(radius)
        found = vmap(network)(x + radius * random.uniform(keys[2], (1000, 4), minval=-1))
        print(f"within {radius}: {low:.3f} to {high:.3f}", end="; ")
        print(f"found {found.min():.3f} to {found.max():.3f}")
    print(f"its upper bound grows by {grad(lambda r: bounds_within(r)[1])(0.1):.3f} a unit")


if __name__ == "__main__":
    main()
