"""The transformations of stages 2 and 4, made to take and return Arrays.

A stage leaves to numpy what is given to it by numpy. Here arguments that are differentiated or
mapped are brought to the device first, and what comes out is an Array, as in JAX.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import minijax_stage2 as stage2
import minijax_stage4 as stage4
from minijax.array import Array
from minijax.arrays import to_array, tree_to_arrays
from minijax.evaluation import evaluated_by_library
from minijax_stage2 import Tracer, tree_leaves, tree_map

Function = Callable[..., Any]
Argnums = int | Sequence[int]


def _documented_as(original: Function) -> Callable[[Function], Function]:
    """Decorator: gives a function the docstring of the stage's function that it stands for.

    The examples stay behind: they show what the stage returns.
    """

    def document(function: Function) -> Function:
        function.__doc__ = (original.__doc__ or "").partition(">>>")[0].rstrip()
        return function

    return document


# --8<-- [start:grad]
@_documented_as(stage4.value_and_grad)
def value_and_grad(fun: Function, argnums: Argnums = 0, has_aux: bool = False) -> Function:
    on_arrays = stage4.value_and_grad(fun, argnums, has_aux)

    @evaluated_by_library
    @functools.wraps(fun)
    def value_and_gradient(*args: Any, **kwargs: Any) -> Any:
        value, gradient = on_arrays(*_chosen_to_arrays(argnums, args), **kwargs)
        if has_aux:
            out, aux = value
            return (tree_to_arrays(out), aux), tree_to_arrays(gradient)
        return tree_to_arrays((value, gradient))

    return value_and_gradient


@_documented_as(stage4.grad)
def grad(fun: Function, argnums: Argnums = 0, has_aux: bool = False) -> Function:
    on_arrays = stage4.grad(fun, argnums, has_aux)

    @evaluated_by_library
    @functools.wraps(fun)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        result = on_arrays(*_chosen_to_arrays(argnums, args), **kwargs)
        if has_aux:
            gradient, aux = result
            return tree_to_arrays(gradient), aux
        return tree_to_arrays(result)

    return gradient


# --8<-- [end:grad]


def _chosen_to_arrays(argnums: Argnums, args: tuple[Any, ...]) -> list[Any]:
    """The arguments, those to differentiate on the device. The others are the user's affair."""
    chosen = (argnums,) if isinstance(argnums, int) else argnums
    count = len(args)
    return [
        tree_to_arrays(arg) if i in chosen or i - count in chosen else arg
        for i, arg in enumerate(args)
    ]


@_documented_as(stage4.vjp)
@evaluated_by_library
def vjp(fun: Function, *primals: Any, has_aux: bool = False) -> Any:
    out, f_vjp, *aux = stage4.vjp(fun, *tree_to_arrays(primals), has_aux=has_aux)
    return tree_to_arrays(out), _on_arrays(f_vjp), *aux


@_documented_as(stage2.jvp)
@evaluated_by_library
def jvp(fun: Function, primals: Any, tangents: Any) -> tuple[Any, Any]:
    out: tuple[Any, Any] = stage2.jvp(fun, tree_to_arrays(primals), tree_to_arrays(tangents))
    return tree_to_arrays(out)  # type: ignore[no-any-return]


@_documented_as(stage4.linearize)
@evaluated_by_library
def linearize(fun: Function, *primals: Any) -> tuple[Any, Function]:
    out, f_jvp = stage4.linearize(fun, *tree_to_arrays(primals))
    return tree_to_arrays(out), _on_arrays(f_jvp)


@_documented_as(stage4.linear_transpose)
@evaluated_by_library
def linear_transpose(fun: Function, *primals: Any) -> Function:
    return _on_arrays(stage4.linear_transpose(fun, *primals))


def _on_arrays(function: Function) -> Function:
    @evaluated_by_library
    @functools.wraps(function)
    def on_arrays(*args: Any) -> Any:
        return tree_to_arrays(function(*tree_to_arrays(args)))

    return on_arrays


# --8<-- [start:vmap]
@_documented_as(stage2.vmap)
def vmap(
    fun: Function, in_axes: Any = 0, out_axes: Any = 0, *, axis_size: int | None = None
) -> Function:
    mapped = stage2.vmap(fun, in_axes, out_axes, axis_size)

    @evaluated_by_library
    @functools.wraps(fun)
    def on_arrays(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = tree_map(_numpy_to_array, (args, kwargs))
        return tree_to_arrays(mapped(*args, **kwargs))

    return on_arrays


# --8<-- [end:vmap]


def _numpy_to_array(x: Any) -> Any:
    """Numbers stay: they are never mapped, and may be meant for Python."""
    return to_array(x) if isinstance(x, np.ndarray) else x


@_documented_as(stage2.jacfwd)
def jacfwd(fun: Function, argnums: Argnums = 0) -> Function:
    return _differentiated(stage2.jacfwd, fun, argnums)


@_documented_as(stage4.jacrev)
def jacrev(fun: Function, argnums: Argnums = 0) -> Function:
    return _differentiated(stage4.jacrev, fun, argnums)


jacobian = jacrev


@_documented_as(stage4.hessian)
def hessian(fun: Function, argnums: Argnums = 0) -> Function:
    return _differentiated(stage4.hessian, fun, argnums)


def _differentiated(transformation: Function, fun: Function, argnums: Argnums) -> Function:
    of_arrays = transformation(fun, argnums)

    @evaluated_by_library
    @functools.wraps(fun)
    def derivative(*args: Any) -> Any:
        return tree_to_arrays(of_arrays(*_chosen_to_arrays(argnums, args)))

    return derivative


typeof = evaluated_by_library(stage2.typeof)


def block_until_ready(x: Any) -> Any:
    """Waits until all Arrays in the pytree `x` are computed, and returns it."""
    for leaf in tree_leaves(x):
        if isinstance(leaf, Array) and not isinstance(leaf, Tracer):
            leaf.block_until_ready()
    return x
