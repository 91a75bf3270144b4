"""Jacobians by forward mode: one directional derivative per input, all at once."""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from glassjax_stage2.arguments import FlatFunction, check_inexact, require_function, split_arguments
from glassjax_stage2.functions import reshape
from glassjax_stage2.jvp import jvp_flat
from glassjax_stage2.shaped_array import ShapedArray, typeof
from glassjax_stage2.source import name_of
from glassjax_stage2.tangent import Zero, instantiate
from glassjax_stage2.tree import tree_flatten, tree_unflatten
from glassjax_stage2.vmap import vmap


def standard_basis(aval: ShapedArray) -> Any:
    """The unit arrays of type `aval`, along a new first axis."""
    return np.eye(aval.size, dtype=aval.dtype).reshape(aval.size, *aval.shape)


def jacfwd(fun: Callable[..., Any], argnums: int | Sequence[int] = 0) -> Callable[..., Any]:
    """The Jacobian of `fun`, column by column, by forward mode.

    Arguments:
        fun: function of arrays and pytrees of arrays.
        argnums: the positional arguments to differentiate with respect to.

    Returns:
        A function of the same arguments. Its result has the structure of the result of `fun` with,
        at each leaf, the structure of the argument; each leaf has the shape of the result followed
        by the shape of the argument. With several `argnums`, a tuple of arguments.

    Raises:
        TypeError: an argument to differentiate has an integer or boolean leaf.
        ValueError: the arguments to differentiate have no leaves, or do not exist.

    >>> jacfwd(lambda x: x * x)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    require_function("jacfwd", fun)

    @wraps(fun)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        inputs, restricted = split_arguments("jacfwd", fun, argnums, args, kwargs)
        check_inexact("jacfwd", f"argument {argnums}", fun, inputs)
        flat_inputs, in_tree = tree_flatten((inputs,))
        if not flat_inputs:
            raise ValueError(f"jacfwd of `{name_of(fun)}`: argnums {argnums} hold no arrays")
        flat_fun = FlatFunction(restricted, in_tree)
        columns = [_columns(flat_fun, fun, flat_inputs, i) for i in range(len(flat_inputs))]
        rows = [tree_unflatten(in_tree, blocks)[0] for blocks in zip(*columns, strict=True)]
        return tree_unflatten(flat_fun.out_tree, rows)

    return jacobian


def _columns(flat_fun: FlatFunction, fun: Any, inputs: Sequence[Any], which: int) -> list[Any]:
    """The derivative of each result with respect to one input, the input's axes last."""
    aval = typeof(inputs[which])

    def push_forward(tangent: Any) -> list[Any]:
        tangents = [tangent if i == which else Zero.like(x) for i, x in enumerate(inputs)]
        outs, out_tangents = jvp_flat(flat_fun, inputs, tangents, fun)
        check_inexact("jacfwd", "result", fun, tree_unflatten(flat_fun.out_tree, outs))
        return [instantiate(t) for t in out_tangents]

    blocks = vmap(push_forward, out_axes=-1)(standard_basis(aval))
    return [reshape(block, block.shape[:-1] + aval.shape) for block in blocks]
