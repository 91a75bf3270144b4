"""The gamma distribution, by rejection, and the distributions that are made of it."""

from typing import Any

from minijax import lax
from minijax import numpy as jnp
from minijax.declare import declare
from minijax.lax.structural import sizes_of
from minijax.operation import operation
from minijax.random.arguments import (
    Shape,
    as_dtype,
    float_dtype,
    new_key,
    result_shape,
    spread,
)
from minijax.random.inversion import exponential
from minijax.random.keys import KEY, counts, single_key
from minijax.random.normal import normal_numbers
from minijax.random.threefry import threefry2x32
from minijax.random.uniform import rademacher, uniform_numbers
from minijax_stage2 import Primitive, bind1, typeof
from minijax_stage2.vmap_rules import elementwise


# --8<-- [start:gamma]
@operation(static=("shape", "dtype"))
def gamma(key: Any, a: Any, shape: Shape | None = None, dtype: Any = None) -> Any:
    """Numbers of the gamma distribution with shape parameter `a` and scale 1.

    Arguments:
        key: the key.
        a: the shape parameter; a positive number or what broadcasts to `shape`.
        shape: the shape of the result; that of `a` if not given.
        dtype: a dtype of real numbers; the default float if not given.

    Raises:
        ValueError: `a` does not broadcast to `shape`, or `dtype` is not real.
    """
    return _gamma("gamma", key, a, shape, dtype, log_space=False)


@operation(static=("shape", "dtype"))
def loggamma(key: Any, a: Any, shape: Shape | None = None, dtype: Any = None) -> Any:
    """Logarithms of numbers of the gamma distribution, exact also where these are nearly 0.

    The arguments are those of `gamma`.
    """
    return _gamma("loggamma", key, a, shape, dtype, log_space=True)


def _gamma(caller: str, key: Any, a: Any, shape: Shape | None, dtype: Any, log_space: bool) -> Any:
    key, dtype = single_key(caller, key), float_dtype(caller, dtype)
    sizes = result_shape(caller, shape, a)
    alphas = lax.reshape(bind1(without_derivative_p, spread(a, sizes, dtype)), (-1,))
    keys = threefry2x32(key, counts(typeof(alphas).shape), KEY)
    # One after the other: each is rejected as often as chance will have it.
    out = lax.map(lambda pair: _one_gamma(pair[0], pair[1], log_space), (keys, alphas))
    return lax.reshape(out, sizes)


def _one_gamma(key: Any, alpha: Any, log_space: bool) -> Any:
    """Marsaglia and Tsang, "A simple method for generating gamma variables", 2000."""
    dtype = typeof(alpha).dtype
    zero, one, half, third = (dtype.type(x) for x in (0, 1, 0.5, 1 / 3))
    is_at_least_1 = lax.ge(alpha, one)
    boosted = lax.select(is_at_least_1, alpha, lax.add(alpha, one))
    d = lax.sub(boosted, third)
    c = lax.div(third, lax.sqrt(d))

    def is_rejected(state: Any) -> Any:
        _, x_squared, v_cubed, u = state
        squeeze = lax.sub(one, lax.mul(dtype.type(0.0331), lax.mul(x_squared, x_squared)))
        bound = lax.add(
            lax.mul(x_squared, half),
            lax.mul(d, lax.add(lax.sub(one, v_cubed), lax.log(v_cubed))),
        )
        return lax.bitwise_and(lax.ge(u, squeeze), lax.ge(lax.log(u), bound))

    def propose(state: Any) -> Any:
        key, key_of_x, key_of_u = (new_key(state[0], i) for i in range(3))

        def draw_x(state: Any) -> Any:
            key, key_of_x = (new_key(state[0], i) for i in range(2))
            x = normal_numbers(key_of_x, (), dtype)
            return key, x, lax.add(one, lax.mul(x, c))

        _, x, v = lax.while_loop(
            lambda state: lax.le(state[2], zero), draw_x, (key_of_x, zero, dtype.type(-1))
        )
        u = uniform_numbers(key_of_u, (), dtype)
        return key, lax.mul(x, x), lax.mul(lax.mul(v, v), v), u

    key, key_of_boost = (new_key(key, i) for i in range(2))
    _, _, v_cubed, _ = lax.while_loop(is_rejected, propose, (key, zero, one, dtype.type(2)))
    inverse = lax.div(one, alpha)
    if log_space:
        log_u = lax.neg(exponential(key_of_boost, (), dtype))
        is_plain = lax.bitwise_or(is_at_least_1, lax.eq(log_u, zero))
        log_boost = lax.select(is_plain, zero, lax.mul(log_u, inverse))
        return lax.add(lax.add(lax.log(d), lax.log(v_cubed)), log_boost)
    u = lax.sub(one, uniform_numbers(key_of_boost, (), dtype))
    boost = lax.select(is_at_least_1, one, lax.pow(u, inverse))
    return lax.mul(lax.mul(d, v_cubed), boost)


# --8<-- [end:gamma]

# The identity, for parameters whose derivative by way of the rejection would be wrong.
without_derivative_p = Primitive("without_derivative")


def _refuse(primals: Any, tangents: Any) -> Any:
    raise NotImplementedError(
        "gamma, and what is made of it, has no derivative with respect to its parameters yet; "
        "lax.stop_gradient of a parameter says that none is wanted"
    )


declare(
    without_derivative_p,
    abstract_eval=lambda x: [x],
    lower=lambda b, out_avals, x: [x],
    vmap=elementwise(without_derivative_p),
    jvp=_refuse,
)


@operation(static=("shape", "dtype"))
def beta(key: Any, a: Any, b: Any, shape: Shape | None = None, dtype: Any = None) -> Any:
    """Numbers of the beta distribution with parameters `a` and `b`."""
    key, dtype = single_key("beta", key), float_dtype("beta", dtype)
    sizes = result_shape("beta", shape, a, b)
    log_a, log_b = (loggamma(new_key(key, i), x, sizes, dtype) for i, x in enumerate((a, b)))
    largest = lax.max(log_a, log_b)
    share_a, share_b = (lax.exp(lax.sub(x, largest)) for x in (log_a, log_b))
    return lax.div(share_a, lax.add(share_a, share_b))


@operation(static=("shape", "dtype"))
def dirichlet(key: Any, alpha: Any, shape: Shape | None = None, dtype: Any = None) -> Any:
    """Vectors of the Dirichlet distribution: positive numbers whose sum is 1.

    Arguments:
        key: the key.
        alpha: the concentrations, along the last axis.
        shape: the shape of the result without its last axis; that of `alpha` if not given.
        dtype: a dtype of real numbers; the default float if not given.

    Raises:
        ValueError: `alpha` has no axis, or does not broadcast.
    """
    key, dtype = single_key("dirichlet", key), float_dtype("dirichlet", dtype)
    of_alpha = typeof(alpha).shape
    if not of_alpha:
        raise ValueError("dirichlet: alpha must have an axis, found a scalar")
    lead = of_alpha[:-1] if shape is None else sizes_of("dirichlet", shape)
    logs = loggamma(key, alpha, (*lead, of_alpha[-1]), dtype)
    shifted = lax.sub(logs, lax.stop_gradient(jnp.max(logs, axis=-1, keepdims=True)))
    shares = lax.exp(shifted)
    return lax.div(shares, jnp.sum(shares, axis=-1, keepdims=True))


@operation(static=("shape", "dtype"))
def chisquare(key: Any, df: Any, shape: Shape | None = None, dtype: Any = None) -> Any:
    """Numbers of the chi-square distribution with `df` degrees of freedom."""
    key, dtype = single_key("chisquare", key), float_dtype("chisquare", dtype)
    sizes, two = result_shape("chisquare", shape, df), dtype.type(2)
    half = lax.div(as_dtype(df, dtype), two)
    return lax.mul(lax.exp(loggamma(key, half, sizes, dtype)), two)


@operation(static=("shape", "dtype"))
def f(key: Any, dfnum: Any, dfden: Any, shape: Shape | None = None, dtype: Any = None) -> Any:
    """Numbers of the F distribution with these degrees of freedom."""
    key, dtype = single_key("f", key), float_dtype("f", dtype)
    sizes = result_shape("f", shape, dfnum, dfden)
    above, below = (
        lax.div(chisquare(new_key(key, i), df, sizes, dtype), as_dtype(df, dtype))
        for i, df in ((1, dfnum), (0, dfden))
    )
    return lax.div(above, below)


@operation(static=("shape", "dtype"))
def t(key: Any, df: Any, shape: Shape | None = None, dtype: Any = None) -> Any:
    """Numbers of Student's t distribution with `df` degrees of freedom."""
    key, dtype = single_key("t", key), float_dtype("t", dtype)
    sizes = result_shape("t", shape, df)
    numbers = normal_numbers(new_key(key, 0), sizes, dtype)
    half = lax.div(as_dtype(df, dtype), dtype.type(2))
    ratio = lax.div(half, gamma(new_key(key, 1), half, sizes, dtype))
    return lax.mul(numbers, lax.sqrt(ratio))


@operation(static=("p", "shape", "dtype"))
def generalized_normal(key: Any, p: float, shape: Shape = (), dtype: Any = None) -> Any:
    """Numbers whose density falls as `exp(-abs(x) ** p)`."""
    key, dtype = single_key("generalized_normal", key), float_dtype("generalized_normal", dtype)
    sizes = sizes_of("generalized_normal", shape)
    powers = gamma(new_key(key, 0), 1 / p, sizes, dtype)
    signs = rademacher(new_key(key, 1), sizes, dtype)
    return lax.mul(signs, lax.pow(powers, dtype.type(1 / p)))


@operation(static=("d", "p", "shape", "dtype"))
def ball(key: Any, d: int, p: float = 2, shape: Shape = (), dtype: Any = None) -> Any:
    """Points in the ball of radius 1 of the p-norm in `d` dimensions, all as likely."""
    key, dtype = single_key("ball", key), float_dtype("ball", dtype)
    sizes = sizes_of("ball", shape)
    points = generalized_normal(new_key(key, 0), p, (*sizes, d), dtype)
    radius = exponential(new_key(key, 1), sizes, dtype)
    powers = lax.pow(lax.abs(points), dtype.type(p))
    norm = lax.pow(lax.add(jnp.sum(powers, axis=-1), radius), dtype.type(1 / p))
    return lax.div(points, jnp.expand_dims(norm, -1))


__all__ = [
    "ball",
    "beta",
    "chisquare",
    "dirichlet",
    "f",
    "gamma",
    "generalized_normal",
    "loggamma",
    "t",
]
