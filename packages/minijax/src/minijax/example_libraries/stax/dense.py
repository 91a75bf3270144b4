"""`Dense`: every output depends on every input."""

from collections.abc import Callable, Sequence
from typing import Any

import minijax.numpy as jnp
from minijax import random
from minijax.errors.tracebacks import hiding_frames
from minijax.nn.initializers import glorot_normal, normal

Shape = tuple[int, ...]
Layer = tuple[Callable[..., Any], Callable[..., Any]]


@hiding_frames
def Dense(out_dim: int, W_init: Any = glorot_normal(), b_init: Any = normal()) -> Layer:  # noqa: B008
    """A layer in which every output depends on every input: `inputs @ W + b`.

    Arguments:
        out_dim: the number of outputs, the size of the last axis.
        W_init: the initializer of the weights, of shape (inputs, outputs).
        b_init: the initializer of the bias, of shape (outputs,).

    >>> from minijax import random
    >>> init_fun, apply_fun = Dense(2)
    >>> shape, (W, b) = init_fun(random.key(0), (-1, 3))
    >>> shape, W.shape, b.shape
    ((-1, 2), (3, 2), (2,))
    """

    def init_fun(rng: Any, input_shape: Sequence[int]) -> tuple[Shape, Any]:
        for_weights, for_bias = random.split(rng)
        weights = W_init(for_weights, (input_shape[-1], out_dim))
        return (*input_shape[:-1], out_dim), (weights, b_init(for_bias, (out_dim,)))

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        weights, bias = params
        return jnp.add(jnp.dot(inputs, weights), bias)

    return init_fun, apply_fun


__all__ = ["Dense"]
