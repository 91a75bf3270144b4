"""Combinators of layers: in sequence, in parallel, and depending on the input shape."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import minijax.numpy as jnp
from minijax import random
from minijax.errors.tracebacks import hiding_frames
from minijax.example_libraries.stax.dense import Layer
from minijax_stage2.errors import shown


@hiding_frames
def serial(*layers: Layer) -> Layer:
    """Layers in sequence: the output of each is the input of the next.

    Arguments:
        layers: at least one.

    Returns:
        A layer whose parameters are the list of those of each layer. A key passed to `apply_fun` as
        `rng=` is split among them.

    Raises:
        ValueError: there is no layer.

    >>> from minijax.example_libraries.stax import Dense, Relu
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
            input_shape, of_layer = init(for_layer, input_shape)
            params.append(of_layer)
        return input_shape, params

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        for apply, of_layer, rng in _each("serial", apply_funs, params, kwargs):
            inputs = apply(of_layer, inputs, rng=rng, **kwargs)
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
        A layer of a sequence of inputs, whose shapes and parameters are tuples of those of each
        layer. A key passed to `apply_fun` as `rng=` is split among them.

    Raises:
        ValueError: there is no layer; when called, there are more or fewer inputs than layers.

    >>> from minijax.example_libraries.stax import Dense, FanInSum, FanOut, Identity
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
        of_layers = zip(_each("parallel", apply_funs, params, kwargs), inputs, strict=True)
        return [apply(p, x, rng=rng, **kwargs) for (apply, p, rng), x in of_layers]

    return init_fun, apply_fun


@hiding_frames
def shape_dependent(make_layer: Callable[[Any], Layer]) -> Layer:
    """A layer made once the shape of its inputs is known.

    Arguments:
        make_layer: a function from the shape to the layer.

    >>> from minijax.example_libraries.stax import Dense
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
    """Join its inputs, those of `parallel`, along an axis.

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
    """For each layer its function, its parameters, and its part of the key taken from `kwargs`."""
    if len(params) != len(apply_funs):
        raise ValueError(
            f"{name}: params must hold the parameters of each of the {len(apply_funs)} layers, as "
            f"init_fun returns them; found those of {len(params)}"
        )
    rng = kwargs.pop("rng", None)
    keys = [None] * len(apply_funs) if rng is None else random.split(rng, len(apply_funs))
    return zip(apply_funs, params, keys, strict=True)


def _check_count(layers: int, given: Any, what: str) -> None:
    if len(given) != layers:
        raise ValueError(
            f"parallel: there must be one input for each of the {layers} layers, found "
            f"{len(given)} {what}. FanOut({layers}) gives all of them the same"
        )


__all__ = ["FanInConcat", "FanInSum", "FanOut", "parallel", "serial", "shape_dependent"]
