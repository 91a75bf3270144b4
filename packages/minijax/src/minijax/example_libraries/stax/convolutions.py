"""Convolutions, and transposed ones."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import minijax.numpy as jnp
from minijax import random
from minijax.errors.argument_errors import require_fit
from minijax.errors.tracebacks import hiding_frames
from minijax.example_libraries.stax.dense import Layer, Shape
from minijax.lax import promoting as lax
from minijax.nn.initializers import glorot_normal, normal


@hiding_frames
def GeneralConv(
    dimension_numbers: Any,
    out_chan: int,
    filter_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    padding: Any = "VALID",
    W_init: Any = None,
    b_init: Any = normal(1e-6),  # noqa: B008
) -> Layer:
    """A convolution with a bias for each channel.

    Arguments:
        dimension_numbers: three strings that name the axes of inputs, kernel and outputs, as for
            `lax.conv_general_dilated`: ("NHWC", "HWIO", "NHWC").
        out_chan: the number of output channels.
        filter_shape: the size of the kernel along each spatial axis.
        strides: the stride along each spatial axis; 1 by default.
        padding: "VALID", "SAME", or the numbers of zeros before and after each spatial axis.
        W_init: the initializer of the kernel; by default `glorot_normal` over its channels.
        b_init: the initializer of the bias.

    >>> from minijax import random
    >>> init_fun, apply_fun = GeneralConv(("NCHW", "OIHW", "NCHW"), 8, (3, 3), padding="SAME")
    >>> shape, (W, b) = init_fun(random.key(0), (-1, 3, 16, 16))
    >>> shape, W.shape, b.shape
    ((-1, 8, 16, 16), (8, 3, 3, 3), (1, 8, 1, 1))
    """
    return _convolution(
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
    b_init: Any = normal(1e-6),  # noqa: B008
) -> Layer:
    """A transposed convolution, which enlarges its input; arguments as `GeneralConv`.

    >>> from minijax import random
    >>> dimensions = ("NHC", "HIO", "NHC")
    >>> init_fun, apply_fun = GeneralConvTranspose(dimensions, 4, (3,), (2,), "SAME")
    >>> init_fun(random.key(0), (-1, 5, 2))[0]
    (-1, 10, 4)
    """
    return _convolution(
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


def _convolution(
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
    of_inputs, of_kernel, of_outputs = dimension_numbers
    strides = strides or (1,) * len(filter_shape)
    W_init = W_init or glorot_normal(of_kernel.index("I"), of_kernel.index("O"))

    def init_fun(rng: Any, input_shape: Sequence[int]) -> tuple[Shape, Any]:
        sizes = iter(filter_shape)
        channels = {"I": input_shape[of_inputs.index("C")], "O": out_chan}
        kernel_shape = tuple(channels[c] if c in channels else next(sizes) for c in of_kernel)
        bias_shape = tuple(out_chan if c == "C" else 1 for c in of_outputs)
        for_kernel, for_bias = random.split(rng)

        batch = of_inputs.index("N")
        of_one = (*input_shape[:batch], 1, *input_shape[batch + 1 :])
        shape = shape_of_output(of_one, kernel_shape, strides, padding, dimension_numbers)
        examples = of_outputs.index("N")
        output_shape = (*shape[:examples], input_shape[batch], *shape[examples + 1 :])
        return output_shape, (W_init(for_kernel, kernel_shape), b_init(for_bias, bias_shape))

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        kernel, bias = params
        outputs = convolve(inputs, kernel, strides, padding, dimension_numbers=dimension_numbers)
        return jnp.add(outputs, bias)

    return init_fun, apply_fun


Conv = functools.partial(GeneralConv, ("NHWC", "HWIO", "NHWC"))
Conv1DTranspose = functools.partial(GeneralConvTranspose, ("NHC", "HIO", "NHC"))
ConvTranspose = functools.partial(GeneralConvTranspose, ("NHWC", "HWIO", "NHWC"))
Conv.__doc__ = "`GeneralConv` of images, with channels in the last axis."
Conv1DTranspose.__doc__ = "`GeneralConvTranspose` of sequences, with channels in the last axis."
ConvTranspose.__doc__ = "`GeneralConvTranspose` of images, with channels in the last axis."


__all__ = ["Conv", "Conv1DTranspose", "ConvTranspose", "GeneralConv", "GeneralConvTranspose"]
