"""`BatchNorm`: normalization of mean and variance over a batch."""

from collections.abc import Sequence
from typing import Any

import minijax.numpy as jnp
from minijax import random
from minijax.errors.tracebacks import hiding_frames
from minijax.example_libraries.stax.dense import Layer
from minijax.nn import standardize
from minijax.nn.initializers import ones, zeros
from minijax_stage2.functions import canonical_axes


@hiding_frames
def BatchNorm(
    axis: int | Sequence[int] = (0, 1, 2),
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
    beta_init: Any = zeros,
    gamma_init: Any = ones,
) -> Layer:
    """Normalize inputs over a batch to mean 0 and variance 1, then apply a learned mean and scale.

    Arguments:
        axis: the axes over which to take mean and variance.
        epsilon: a number added to the variance, to avoid division by zero.
        center: whether to add a learned parameter.
        scale: whether to multiply by a learned parameter.
        beta_init: the initializer of the added parameter.
        gamma_init: the initializer of the factor.

    >>> _, apply_fun = BatchNorm(axis=0, center=False, scale=False)
    >>> print(apply_fun(((), ()), jnp.array([[1.0], [3.0]])).round(3))
    [[-1.]
     [ 1.]]
    """

    def init_fun(rng: Any, input_shape: Sequence[int]) -> tuple[Any, Any]:
        axes = canonical_axes("BatchNorm", axis, len(input_shape))
        kept = tuple(size for i, size in enumerate(input_shape) if i not in axes)
        for_beta, for_gamma = random.split(rng)
        beta = beta_init(for_beta, kept) if center else ()
        gamma = gamma_init(for_gamma, kept) if scale else ()
        return input_shape, (beta, gamma)

    def apply_fun(params: Any, x: Any, **kwargs: Any) -> Any:
        beta, gamma = params
        axes = canonical_axes("BatchNorm", axis, jnp.ndim(x))
        outputs = standardize(x, axes, epsilon=epsilon)
        if scale:
            outputs = jnp.multiply(jnp.expand_dims(gamma, axes), outputs)
        if center:
            outputs = jnp.add(outputs, jnp.expand_dims(beta, axes))
        return outputs

    return init_fun, apply_fun


__all__ = ["BatchNorm"]
