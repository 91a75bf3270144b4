"""Layers without parameters: functions of each number, `Flatten`, `Dropout`."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import minijax.numpy as jnp
from minijax import random
from minijax.errors.tracebacks import hiding_frames
from minijax.example_libraries.stax.dense import Layer
from minijax.nn import (
    elu,
    gelu,
    leaky_relu,
    log_softmax,
    relu,
    selu,
    sigmoid,
    softmax,
    softplus,
)


def keep_shape(rng: Any, input_shape: Any) -> tuple[Any, Any]:
    """`init_fun` of a layer without parameters that keeps the shape."""
    return input_shape, ()


@hiding_frames
def elementwise(fun: Callable[..., Any], **fun_kwargs: Any) -> Layer:
    """A layer that applies a function to its inputs and keeps the shape.

    Arguments:
        fun: a function from an array to an array of the same shape.
        fun_kwargs: keyword arguments of `fun`.

    >>> _, apply_fun = elementwise(jnp.power, x2=2)
    >>> print(apply_fun((), jnp.arange(3.0)))
    [0. 1. 4.]
    """
    return keep_shape, lambda params, inputs, **kwargs: fun(inputs, **fun_kwargs)


Tanh = elementwise(jnp.tanh)
Relu = elementwise(relu)
Exp = elementwise(jnp.exp)
LogSoftmax = elementwise(log_softmax, axis=-1)
Softmax = elementwise(softmax, axis=-1)
Softplus = elementwise(softplus)
Sigmoid = elementwise(sigmoid)
Elu = elementwise(elu)
LeakyRelu = elementwise(leaky_relu)
Selu = elementwise(selu)
Gelu = elementwise(gelu)

Identity = keep_shape, lambda params, inputs, **kwargs: inputs


def _flat_shape(rng: Any, input_shape: Sequence[int]) -> tuple[Any, Any]:
    return (input_shape[0], math.prod(input_shape[1:])), ()


def _flat(params: Any, inputs: Any, **kwargs: Any) -> Any:
    return jnp.reshape(inputs, (inputs.shape[0], -1))


Flatten = _flat_shape, _flat


@hiding_frames
def Dropout(rate: float, mode: str = "train") -> Layer:
    """Set a random part of its inputs to zero in training, and scale up the others.

    Arguments:
        rate: the probability that a number is kept.
        mode: "train"; anything else leaves the inputs unchanged.

    Raises:
        ValueError: `apply_fun` is called without a key, `rng=`.

    >>> _, apply_fun = Dropout(0.5)
    >>> sorted(set(apply_fun((), jnp.ones(100), rng=random.key(0)).tolist()))
    [0.0, 2.0]
    """

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        rng = kwargs.get("rng")
        if rng is None:
            raise ValueError(
                "Dropout: apply_fun draws what it keeps, and needs a key to draw with: "
                "apply_fun(params, inputs, rng=key), with a key as random.key makes one"
            )
        if mode != "train":
            return inputs
        kept = random.bernoulli(rng, rate, inputs.shape)
        return jnp.where(kept, jnp.divide(inputs, rate), 0)

    return keep_shape, apply_fun


__all__ = [
    "Dropout", "Elu", "Exp", "Flatten", "Gelu", "Identity", "LeakyRelu", "LogSoftmax", "Relu",
    "Selu", "Sigmoid", "Softmax", "Softplus", "Tanh", "elementwise",
]  # fmt: skip
