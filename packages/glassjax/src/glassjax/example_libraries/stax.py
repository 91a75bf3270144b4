"""Neural networks composed of layers, under the names of `jax.example_libraries.stax`.

A layer is a pair of functions. `init_fun(rng, input_shape)` draws its parameters, and returns them
with the shape of its output; `apply_fun(params, inputs, **kwargs)` computes the output. The batch
size in a shape may be -1: the parameters do not depend on it.

>>> import glassjax.numpy as jnp
>>> from glassjax import random
>>> init_fun, apply_fun = serial(Dense(8), Relu, Dense(2), LogSoftmax)
>>> output_shape, params = init_fun(random.key(0), (-1, 3))
>>> output_shape
(-1, 2)
>>> apply_fun(params, jnp.ones((4, 3))).shape
(4, 2)
"""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import glassjax.numpy as jnp
from glassjax import lax, random
from glassjax.errors.arguments import require_fit
from glassjax.errors.tracebacks import hiding_frames
from glassjax.nn import (
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
from glassjax.nn import log_softmax as logsoftmax  # noqa: F401  # a name of JAX's, as the next two
from glassjax.nn.initializers import glorot_normal, normal, ones, zeros
from glassjax.nn.initializers import glorot_normal as glorot  # noqa: F401
from glassjax.nn.initializers import normal as randn  # noqa: F401
from glassjax.settings.names import list_public_names
from glassjax_stage2.errors import shown
from glassjax_stage2.functions import canonical_axes, ints

# `Dense`: every output depends on every input.


Shape = tuple[int, ...]
Layer = tuple[Callable[..., Any], Callable[..., Any]]


@hiding_frames
def Dense(out_dim: int, W_init: Any = None, b_init: Any = None) -> Layer:
    """A layer in which every output depends on every input: `inputs @ W + b`.

    Arguments:
        out_dim: the number of outputs, the size of the last axis.
        W_init: the initializer of the weights, of shape (inputs, outputs); None: `glorot_normal()`.
        b_init: the initializer of the bias, of shape (outputs,); None: `normal()`.

    >>> from glassjax import random
    >>> init_fun, apply_fun = Dense(2)
    >>> shape, (W, b) = init_fun(random.key(0), (-1, 3))
    >>> shape, W.shape, b.shape
    ((-1, 2), (3, 2), (2,))
    """
    W_init, b_init = W_init or glorot_normal(), b_init or normal()

    def init_fun(rng: Any, input_shape: Sequence[int]) -> tuple[Shape, Any]:
        for_weights, for_bias = random.split(rng)
        weights = W_init(for_weights, (input_shape[-1], out_dim))
        return (*input_shape[:-1], out_dim), (weights, b_init(for_bias, (out_dim,)))

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        weights, bias = params
        return jnp.dot(inputs, weights) + bias

    return init_fun, apply_fun


# Combinators of layers: in sequence, in parallel, and depending on the input shape.


@hiding_frames
def serial(*layers: Layer) -> Layer:
    """Layers in sequence: the output of each is the input of the next.

    Arguments:
        layers: at least one.

    Returns:
        A layer whose parameters are the list of the layers' parameters. A key passed to `apply_fun`
        as `rng=` is split among them.

    Raises:
        ValueError: there is no layer.

    >>> from glassjax.example_libraries.stax import Dense, Relu
    >>> init_fun, _ = serial(Dense(3), Relu)
    >>> shape, params = init_fun(random.key(0), (-1, 2))
    >>> shape, len(params)
    ((-1, 3), 2)
    """
    init_funs, apply_funs = _functions("serial", layers)

    def init_fun(rng: Any, input_shape: Any) -> tuple[Any, Any]:
        params = []
        for init in init_funs:
            rng, for_layer = random.split(rng)
            input_shape, layer_params = init(for_layer, input_shape)
            params.append(layer_params)
        return input_shape, params

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        for apply, layer_params, rng in _each("serial", apply_funs, params, kwargs):
            inputs = apply(layer_params, inputs, rng=rng, **kwargs)
        return inputs

    return init_fun, apply_fun


@hiding_frames
def parallel(*layers: Layer) -> Layer:
    """Layers side by side: each takes one of the inputs, and returns one of the outputs.

    `FanOut` before it gives all of them the same input; `FanInSum` or `FanInConcat` after it
    combines their outputs.

    Arguments:
        layers: at least one, as many as there are inputs.

    Returns:
        A layer of a sequence of inputs; its shapes and parameters are tuples with an entry for each
        layer. A key passed to `apply_fun` as `rng=` is split among them.

    Raises:
        ValueError: there is no layer; when called, there are more or fewer inputs than layers.

    >>> from glassjax.example_libraries.stax import Dense, FanInSum, FanOut, Identity
    >>> init_fun, _ = serial(FanOut(2), parallel(Dense(3), Identity), FanInSum)
    >>> init_fun(random.key(0), (-1, 3))[0]
    (-1, 3)
    """
    init_funs, apply_funs = _functions("parallel", layers)

    def init_fun(rng: Any, input_shape: Any) -> tuple[Any, Any]:
        _check_count(len(layers), input_shape, "shapes of inputs")
        keys = random.split(rng, len(layers))
        each = [init(*given) for init, *given in zip(init_funs, keys, input_shape, strict=True)]
        return tuple(shape for shape, _ in each), tuple(params for _, params in each)

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        _check_count(len(layers), inputs, "inputs")
        layer_calls = zip(_each("parallel", apply_funs, params, kwargs), inputs, strict=True)
        return [apply(p, x, rng=rng, **kwargs) for (apply, p, rng), x in layer_calls]

    return init_fun, apply_fun


@hiding_frames
def shape_dependent(make_layer: Callable[[Any], Layer]) -> Layer:
    """A layer made once the shape of its inputs is known.

    Arguments:
        make_layer: a function from the shape to the layer.

    >>> from glassjax.example_libraries.stax import Dense
    >>> init_fun, _ = shape_dependent(lambda shape: Dense(2 * shape[-1]))
    >>> init_fun(random.key(0), (-1, 3))[0]
    (-1, 6)
    """

    def init_fun(rng: Any, input_shape: Any) -> tuple[Any, Any]:
        made: tuple[Any, Any] = make_layer(input_shape)[0](rng, input_shape)
        return made

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        return make_layer(inputs.shape)[1](params, inputs, **kwargs)

    return init_fun, apply_fun


@hiding_frames
def FanOut(num: int) -> Layer:
    """Return its input `num` times, as a list, for `parallel`.

    >>> FanOut(2)[1]((), 1.0)
    [1.0, 1.0]
    """
    return (
        lambda rng, input_shape: ([input_shape] * num, ()),
        lambda params, inputs, **kwargs: [inputs] * num,
    )


FanInSum = (
    lambda rng, input_shape: (input_shape[0], ()),
    lambda params, inputs, **kwargs: functools.reduce(jnp.add, inputs),
)


@hiding_frames
def FanInConcat(axis: int = -1) -> Layer:
    """Concatenate its inputs, such as the outputs of `parallel`, along an axis.

    >>> print(FanInConcat()[1]((), [jnp.zeros(2), jnp.ones(1)]))
    [0. 0. 1.]
    """

    def init_fun(rng: Any, input_shape: Sequence[Sequence[int]]) -> tuple[Any, Any]:
        shape = list(input_shape[0])
        shape[axis] = sum(each[axis] for each in input_shape)
        return tuple(shape), ()

    return init_fun, lambda params, inputs, **kwargs: jnp.concatenate(inputs, axis)


def _functions(name: str, layers: Sequence[Layer]) -> tuple[list[Any], list[Any]]:
    if not layers:
        raise ValueError(f"{name}: there must be at least one layer")
    for i, layer in enumerate(layers):
        if not (isinstance(layer, tuple | list) and len(layer) == 2):
            raise ValueError(
                f"{name}: a layer is a pair of functions, init_fun and apply_fun; found "
                f"{shown(layer)} for layer {i}. Was a function that makes a layer not called?"
            )
    return [init for init, _ in layers], [apply for _, apply in layers]


def _each(name: str, apply_funs: Sequence[Any], params: Any, kwargs: dict[str, Any]) -> Any:
    """The function, the parameters, and the part of the key in `kwargs` of each layer."""
    if len(params) != len(apply_funs):
        raise ValueError(
            f"{name}: params must hold the parameters of each of the {len(apply_funs)} layers, as "
            f"init_fun returns them; found parameters of {len(params)}"
        )
    rng = kwargs.pop("rng", None)
    keys = [None] * len(apply_funs) if rng is None else random.split(rng, len(apply_funs))
    return zip(apply_funs, params, keys, strict=True)


def _check_count(layers: int, given: Any, noun: str) -> None:
    if len(given) != layers:
        raise ValueError(
            f"parallel: there must be one input for each of the {layers} layers, found "
            f"{len(given)} {noun}. FanOut({layers}) gives all of them the same"
        )


# Convolutions and transposed convolutions.


@hiding_frames
def GeneralConv(
    dimension_numbers: Any,
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Any = "VALID",
    W_init: Any = None,
    b_init: Any = None,
) -> Layer:
    """A convolution with a bias for each channel.

    Arguments:
        dimension_numbers: three strings that name the axes of inputs, kernel and outputs, as for
            `lax.conv_general_dilated`: ("NHWC", "HWIO", "NHWC").
        out_chan: the number of output channels.
        filter_shape: the size of the kernel along each spatial axis.
        strides: the stride along each spatial axis; 1 by default.
        padding: "VALID", "SAME", or the numbers of zeros before and after each spatial axis.
        W_init: the initializer of the kernel; None: `glorot_normal` over its channels.
        b_init: the initializer of the bias; None: `normal(1e-6)`.

    >>> from glassjax import random
    >>> init_fun, apply_fun = GeneralConv(("NCHW", "OIHW", "NCHW"), 8, (3, 3), padding="SAME")
    >>> shape, (W, b) = init_fun(random.key(0), (-1, 3, 16, 16))
    >>> shape, W.shape, b.shape
    ((-1, 8, 16, 16), (8, 3, 3, 3), (1, 8, 1, 1))
    """
    return _convolution_layer(
        lax.conv_general_dilated,
        lax.conv_general_shape_tuple,
        dimension_numbers,
        out_chan,
        filter_shape,
        strides,
        padding,
        W_init,
        b_init,
    )


@hiding_frames
def GeneralConvTranspose(
    dimension_numbers: Any,
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Any = "VALID",
    W_init: Any = None,
    b_init: Any = None,
) -> Layer:
    """A transposed convolution, which enlarges its input.

    Arguments:
        dimension_numbers, out_chan, filter_shape, strides, padding: as in `GeneralConv`.
        W_init, b_init: as in `GeneralConv`.

    >>> from glassjax import random
    >>> dimensions = ("NHC", "HIO", "NHC")
    >>> init_fun, apply_fun = GeneralConvTranspose(dimensions, 4, (3,), (2,), "SAME")
    >>> init_fun(random.key(0), (-1, 5, 2))[0]
    (-1, 10, 4)
    """
    return _convolution_layer(
        lax.conv_transpose,
        lax.conv_transpose_shape_tuple,
        dimension_numbers,
        out_chan,
        filter_shape,
        strides,
        padding,
        W_init,
        b_init,
    )


def _convolution_layer(
    convolve: Callable[..., Any],
    shape_of_output: Callable[..., Shape],
    dimension_numbers: Any,
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Sequence[int] | None,
    padding: Any,
    W_init: Any,
    b_init: Any,
) -> Layer:
    require_fit("GeneralConv", "filter_shape", filter_shape, Sequence[int])
    input_spec, kernel_spec, output_spec = dimension_numbers
    strides = strides or (1,) * len(filter_shape)
    W_init = W_init or glorot_normal(kernel_spec.index("I"), kernel_spec.index("O"))
    b_init = b_init or normal(1e-6)

    def init_fun(rng: Any, input_shape: Sequence[int]) -> tuple[Shape, Any]:
        sizes = iter(filter_shape)
        channels = {"I": input_shape[input_spec.index("C")], "O": out_chan}
        kernel_shape = tuple(channels[c] if c in channels else next(sizes) for c in kernel_spec)
        bias_shape = tuple(out_chan if c == "C" else 1 for c in output_spec)
        for_kernel, for_bias = random.split(rng)

        batch = input_spec.index("N")
        example_shape = (*input_shape[:batch], 1, *input_shape[batch + 1 :])
        shape = shape_of_output(example_shape, kernel_shape, strides, padding, dimension_numbers)
        examples = output_spec.index("N")
        output_shape = (*shape[:examples], input_shape[batch], *shape[examples + 1 :])
        return output_shape, (W_init(for_kernel, kernel_shape), b_init(for_bias, bias_shape))

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        kernel, bias = params
        outputs = convolve(inputs, kernel, strides, padding, dimension_numbers=dimension_numbers)
        return outputs + bias

    return init_fun, apply_fun


Conv = functools.partial(GeneralConv, ("NHWC", "HWIO", "NHWC"))
Conv1DTranspose = functools.partial(GeneralConvTranspose, ("NHC", "HIO", "NHC"))
ConvTranspose = functools.partial(GeneralConvTranspose, ("NHWC", "HWIO", "NHWC"))
Conv.__doc__ = "`GeneralConv` of images, with channels in the last axis."
Conv1DTranspose.__doc__ = "`GeneralConvTranspose` of sequences, with channels in the last axis."
ConvTranspose.__doc__ = "`GeneralConvTranspose` of images, with channels in the last axis."


# Pooling: the largest number, the sum or the mean of each window.


def _pooling_layer(
    caller: str,
    combine: Callable[..., Any],
    start: float,
    window_shape: Sequence[int],
    strides: Sequence[int] | None,
    padding: str,
    spec: str | None,
    is_mean: bool = False,
) -> Layer:
    spec, sizes, steps = _spatial_windows(caller, window_shape, strides, spec)
    window = _with_ones(spec, sizes)
    distances = _with_ones(spec, steps)

    def pool(x: Any, start: float, combine: Callable[..., Any]) -> Any:
        return lax.reduce_window(x, start, combine, window, distances, padding)

    def init_fun(rng: Any, input_shape: Sequence[int]) -> tuple[Shape, Any]:
        batch = spec.index("N")
        shape = list(input_shape)
        shape[batch] = 1
        pads = lax.padtype_to_pads(shape, window, distances, padding)
        shape = list(lax.reduce_window_shape_tuple(shape, window, distances, pads))
        shape[batch] = input_shape[batch]
        return tuple(shape), ()

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        outputs = pool(inputs, start, combine)
        if is_mean:  # without the zeros around the inputs
            ones_shape = [
                1 if axis in "NC" else n for axis, n in zip(spec, inputs.shape, strict=True)
            ]
            outputs = outputs / pool(jnp.ones(ones_shape, outputs.dtype), 0.0, lax.add)
        return outputs

    return init_fun, apply_fun


def _spatial_windows(
    caller: str, window_shape: Any, strides: Any, spec: Any
) -> tuple[str, tuple[int, ...], tuple[int, ...]]:
    """The letters of all axes, and window sizes and strides of the spatial ones."""
    sizes = ints(f"{caller}: window_shape", window_shape)
    steps = (1,) * len(sizes) if strides is None else ints(f"{caller}: strides", strides)
    if len(steps) != len(sizes):
        raise ValueError(
            f"{caller}: window_shape and strides must have the same length, found {sizes} and "
            f"{steps}"
        )
    if spec is None:
        spec = "N" + "S" * len(sizes) + "C"  # any letter for spatial axes
    if not isinstance(spec, str) or len(spec) - sum(map(spec.count, "NC")) != len(sizes):
        raise ValueError(
            f"{caller}: spec must have a letter for each axis: N, C and one for each of "
            f"the {len(sizes)} axes of window_shape; found {shown(spec)}"
        )
    return spec, sizes, steps


def _with_ones(spec: str, numbers: Sequence[int]) -> tuple[int, ...]:
    """Numbers for the spatial axes, 1 for batch and channels."""
    left = iter(numbers)
    return tuple([1 if axis in "NC" else next(left) for axis in spec])


@hiding_frames
def MaxPool(
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: str = "VALID",
    spec: str | None = None,
) -> Layer:
    """The largest number in each window of the inputs.

    Arguments:
        window_shape: the size of the window along each spatial axis.
        strides: the stride along each spatial axis; 1 by default.
        padding: "VALID", only whole windows; or "SAME", one window per number, or per stride.
        spec: a letter for each axis of the inputs: "N" for the batch, "C" for channels, others for
            spatial axes; by default the batch is first and channels are last.

    >>> _, apply_fun = MaxPool((2,), strides=(2,))
    >>> print(apply_fun((), jnp.arange(6.0).reshape(1, 6, 1)).ravel())
    [1. 3. 5.]
    """
    return _pooling_layer("MaxPool", lax.max, -math.inf, window_shape, strides, padding, spec)


@hiding_frames
def SumPool(
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: str = "VALID",
    spec: str | None = None,
) -> Layer:
    """The sum of each window of the inputs.

    Arguments:
        window_shape, strides, padding, spec: as in `MaxPool`.
    """
    return _pooling_layer("SumPool", lax.add, 0.0, window_shape, strides, padding, spec)


@hiding_frames
def AvgPool(
    window_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: str = "VALID",
    spec: str | None = None,
) -> Layer:
    """The mean of each window of the inputs, excluding padding.

    Arguments:
        window_shape, strides, padding, spec: as in `MaxPool`.
    """
    return _pooling_layer(
        "AvgPool", lax.add, 0.0, window_shape, strides, padding, spec, is_mean=True
    )


# `BatchNorm`: normalization of mean and variance over a batch.


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
            outputs = jnp.expand_dims(gamma, axes) * outputs
        if center:
            outputs = outputs + jnp.expand_dims(beta, axes)
        return outputs

    return init_fun, apply_fun


# Layers without parameters: elementwise functions, `Flatten`, `Dropout`.


def keep_shape(rng: Any, input_shape: Any) -> tuple[Any, Any]:
    """`init_fun` of a layer that has no parameters and keeps the shape."""
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


def _flatten_inputs(params: Any, inputs: Any, **kwargs: Any) -> Any:
    return jnp.reshape(inputs, (inputs.shape[0], -1))


Flatten = _flat_shape, _flatten_inputs


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
    "AvgPool",
    "BatchNorm",
    "Conv",
    "Conv1DTranspose",
    "ConvTranspose",
    "Dense",
    "Dropout",
    "Elu",
    "Exp",
    "FanInConcat",
    "FanInSum",
    "FanOut",
    "Flatten",
    "Gelu",
    "GeneralConv",
    "GeneralConvTranspose",
    "Identity",
    "LeakyRelu",
    "LogSoftmax",
    "MaxPool",
    "Relu",
    "Selu",
    "Sigmoid",
    "Softmax",
    "Softplus",
    "SumPool",
    "Tanh",
    "elementwise",
    "parallel",
    "serial",
    "shape_dependent",
]
list_public_names(globals())
