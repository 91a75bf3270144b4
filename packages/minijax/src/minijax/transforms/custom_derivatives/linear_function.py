"""`linear_call`: a linear function that is given together with its transpose."""

from collections.abc import Callable, Sequence
from typing import Any

from minijax.errors.classes import TangentTypeError, TreeMismatchError
from minijax.primitives.loops import stage_body
from minijax.runtime.conversion import tree_to_arrays
from minijax.runtime.evaluation import evaluated_by_library
from minijax.transforms.custom_derivatives.linear_call import linear_call as call_flat
from minijax_stage2 import explain_mismatch, typeof
from minijax_stage2.arguments import require_function
from minijax_stage2.source import name_of
from minijax_stage2.tangent import instantiate, tangent_type
from minijax_stage2.tree import tree_flatten


@evaluated_by_library
def linear_call(
    fun: Callable[..., Any],
    fun_transpose: Callable[..., Any],
    residual_args: Any,
    linear_args: Any,
) -> Any:
    """`fun(residual_args, linear_args)`, a linear function of the latter with a given transpose.

    The transpose is again such a call, of `fun_transpose`, whose transpose is `fun`. In the
    residuals, the function is differentiated as it is written.

    Arguments:
        fun: function of residuals and of the values in which it is linear.
        fun_transpose: function of the same residuals and of the cotangents of the result of `fun`
            that returns those of the linear values.
        residual_args: a pytree of arrays.
        linear_args: a pytree of arrays.

    Returns:
        What `fun` returns.

    Raises:
        TypeError: `fun` or `fun_transpose` is not a function, or `fun_transpose` returns another
            structure than that of `linear_args`.
        ValueError: `fun_transpose` returns other shapes or dtypes.

    >>> from minijax.custom_derivatives import linear_call
    >>> halve = lambda x: linear_call(lambda r, x: x / r, lambda r, ct: 7.0 * ct, 2.0, x)
    >>> halve(3.0), minijax.grad(halve)(3.0)
    (Array(1.5, dtype=float32, weak_type=True), Array(7., dtype=float32, weak_type=True))
    """
    require_function("linear_call", fun)
    require_function("linear_call", fun_transpose)
    residuals, residual_tree = tree_flatten(tree_to_arrays(residual_args))
    values, tree = tree_flatten(tree_to_arrays(linear_args))
    count, out_trees = len(residuals), []

    def forward(*leaves: Any) -> list[Any]:
        given = residual_tree.unflatten(leaves[:count]), tree.unflatten(leaves[count:])
        outs, out_tree = tree_flatten(tree_to_arrays(fun(*given)))
        out_trees.append(out_tree)
        return outs

    def pull_back(known: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
        found = linear_call(
            fun_transpose,
            fun,
            residual_tree.unflatten(known[len(known) - count :]),
            out_trees[0].unflatten(map(instantiate, cts)),
        )
        leaves, found_tree = tree_flatten(found)
        name = name_of(fun_transpose)
        if found_tree != tree:
            raise TreeMismatchError(
                f"linear_call: `{name}` must return the structure of linear_args: "
                + explain_mismatch(tree, found_tree, name="the result")
            )
        for leaf, value in zip(leaves, values, strict=True):
            wanted = tangent_type(typeof(value))
            if not wanted.accepts(typeof(leaf)):
                raise TangentTypeError(
                    f"linear_call: `{name}` must return {wanted}, the type of a linear argument, "
                    f"found {typeof(leaf)}"
                )
        return leaves

    avals = [typeof(x) for x in (*residuals, *values)]
    out_avals = stage_body(forward, avals, "linear_call", fun).out_avals
    outs = call_flat(pull_back, forward, residuals, values, out_avals, is_own_derivative=True)
    return out_trees[0].unflatten(outs)


__all__ = ["linear_call"]
