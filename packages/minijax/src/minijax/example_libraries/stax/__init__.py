"""Neural networks composed of layers, under the names of `jax.example_libraries.stax`.

A layer is a pair of functions. `init_fun(rng, input_shape)` draws its parameters, and returns them
with the shape of its output; `apply_fun(params, inputs, **kwargs)` computes the output. The batch
size in a shape may be -1: the parameters do not depend on it.

>>> import minijax.numpy as jnp
>>> from minijax import random
>>> init_fun, apply_fun = serial(Dense(8), Relu, Dense(2), LogSoftmax)
>>> output_shape, params = init_fun(random.key(0), (-1, 3))
>>> output_shape
(-1, 2)
>>> apply_fun(params, jnp.ones((4, 3))).shape
(4, 2)
"""

# ruff: noqa: F401, F403
from minijax.example_libraries.stax import (
    batch_norm,
    combinators,
    convolutions,
    dense,
    parameterless,
    pooling,
)
from minijax.example_libraries.stax.batch_norm import *
from minijax.example_libraries.stax.combinators import *
from minijax.example_libraries.stax.convolutions import *
from minijax.example_libraries.stax.dense import *
from minijax.example_libraries.stax.parameterless import *
from minijax.example_libraries.stax.pooling import *

# What layers are made of, which programs take from here too.
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
    standardize,
)
from minijax.nn import log_softmax as logsoftmax
from minijax.nn.initializers import glorot_normal, normal, ones, zeros
from minijax.nn.initializers import glorot_normal as glorot
from minijax.nn.initializers import normal as randn

__all__ = [
    *batch_norm.__all__,
    *combinators.__all__,
    *convolutions.__all__,
    *dense.__all__,
    *parameterless.__all__,
    *pooling.__all__,
]
