"""Jacobians by forward mode: one directional derivative per input, all at once."""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from minijax_stage2.argnums import ChosenArguments
from minijax_stage2.errors import IntegerGradientError
from minijax_stage2.flat_function import FlatFunction
from minijax_stage2.functions import reshape
from minijax_stage2.jvp import jvp_flat
from minijax_stage2.promotion import is_inexact
from minijax_stage2.shaped_array import ShapedArray, typeof
from minijax_stage2.source import name_of
from minijax_stage2.tangent import Zero, instantiate
from minijax_stage2.tree import keystr, tree_flatten, tree_flatten_with_path, tree_unflatten
from minijax_stage2.vmap import vmap


def standard_basis(aval: ShapedArray) -> Any:
    """The unit arrays of type `aval`, along a new first axis."""
    return np.eye(aval.size, dtype=aval.dtype).reshape(aval.size, *aval.shape)


def jacfwd(fun: Callable[..., Any], argnums: int | Sequence[int] = 0) -> Callable[..., Any]:
    """The Jacobian of `fun`, column by column, by forward mode.

    Arguments:
        fun: function of arrays and pytrees of arrays.
        argnums: the positional arguments to differentiate with respect to.

    Returns:
        A function of the same arguments. Its result has the structure of the result of `fun`
        with, at each leaf, the structure of the argument; each leaf has the shape of the
        result followed by that of the argument. With several `argnums`, a tuple of arguments.

    Raises:
        TypeError: an argument to differentiate has an integer or boolean leaf.
        ValueError: the arguments to differentiate have no leaves, or do not exist.

    >>> jacfwd(lambda x: x * x)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    chosen = ChosenArguments("jacfwd", fun, argnums)

    @wraps(fun)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        inputs, of_inputs = chosen.split(args, kwargs)
        chosen.require_inexact(inputs)
        flat_inputs, in_tree = tree_flatten(inputs)
        if not flat_inputs:
            raise ValueError(f"jacfwd of `{name_of(fun)}`: argnums {argnums} hold no arrays")
        flat_fun = FlatFunction(of_inputs, in_tree)
        columns = [_columns(flat_fun, fun, flat_inputs, i) for i in range(len(flat_inputs))]
        rows = [tree_unflatten(in_tree, blocks) for blocks in zip(*columns, strict=True)]
        return tree_unflatten(flat_fun.out_tree, map(chosen.one_or_all, rows))

    return jacobian


def _columns(flat_fun: FlatFunction, fun: Any, inputs: Sequence[Any], which: int) -> list[Any]:
    """The derivative of each result with respect to one input, the input's axes last."""
    aval = typeof(inputs[which])
    out_avals: list[ShapedArray] = []

    def push_forward(tangent: Any) -> list[Any]:
        tangents = [tangent if i == which else Zero.like(x) for i, x in enumerate(inputs)]
        outs, out_tangents = jvp_flat(flat_fun, inputs, tangents, fun)
        require_inexact_results("jacfwd", fun, tree_unflatten(flat_fun.out_tree, outs))
        out_avals[:] = map(typeof, outs)
        return [instantiate(t) for t in out_tangents]

    blocks = vmap(push_forward, out_axes=-1)(standard_basis(aval))
    shapes = [out.shape + aval.shape for out in out_avals]
    return list(map(reshape, blocks, shapes))


def require_inexact_results(caller: str, fun: Any, result: Any) -> None:
    """Raise an error if a leaf of the result is not real or complex."""
    for path, out in tree_flatten_with_path(result)[0]:
        aval = typeof(out)
        if not is_inexact(aval.dtype):
            raise IntegerGradientError(
                f"{caller}: result{keystr(path)} of `{name_of(fun)}` must be real or complex, "
                f"found {aval}. Convert it to a float, or do not return it."
            )
