"""Jacobians by reverse mode, and Hessians by both."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minijax_stage1.source import name_of
from minijax_stage2 import jacfwd, reshape, tree_flatten, tree_map, tree_unflatten, typeof, vmap
from minijax_stage2.flat_function import wraps
from minijax_stage2.jacobian import require_inexact_results, standard_basis
from minijax_stage2.jvp import check_argnums, chosen_argnums, function_of, is_one
from minijax_stage2.shaped_array import float0
from minijax_stage2.tangent import Zero, instantiate, tangent_type
from minijax_stage2.tree import keystr, tree_flatten_with_path
from minijax_stage4.errors import ComplexGradientError
from minijax_stage4.grad import require_differentiable, vjp


# --8<-- [start:jacrev]
def jacrev(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[..., Any]:
    """The Jacobian of `fun`, row by row, by reverse mode.

    Arguments:
        fun: function of arrays and pytrees of arrays.
        argnums: the positional arguments to differentiate with respect to.
        holomorphic: as for `grad`.
        allow_int: whether arguments may be integers, whose Jacobians are zeros of their dtype.

    Returns:
        What `jacfwd` returns. Reverse mode is cheaper where results are fewer than inputs.

    Raises:
        TypeError: an argument to differentiate is integer or boolean, or a result is not real.

    >>> import numpy as np
    >>> jacrev(lambda x: x * x)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    chosen = chosen_argnums("jacrev", fun, argnums)

    @wraps(fun)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        check_argnums("jacrev", fun, chosen, len(args))
        inputs = tuple(args[i] for i in chosen)
        for argnum, arg in zip(chosen, inputs, strict=True):
            require_differentiable("jacrev", fun, argnum, arg, holomorphic, allow_int)

        out, f_vjp = vjp(function_of(chosen, fun, args, kwargs), *inputs)
        flat_out, out_tree = tree_flatten(out)
        require_inexact_results("jacrev", fun, out)
        for path, leaf in tree_flatten_with_path(out)[0]:
            aval = typeof(leaf)
            # Unless a function is holomorphic, a cotangent 1 tells only half of a derivative.
            if aval.dtype.kind == "c" and not holomorphic:
                raise ComplexGradientError(
                    f"jacrev: result{keystr(path)} of `{name_of(fun)}` is complex, {aval}. Use "
                    "jacfwd, or return its real and imaginary parts, or give holomorphic=True."
                )
            if holomorphic and aval.dtype.kind != "c":
                raise ComplexGradientError(
                    f"jacrev: result{keystr(path)} of `{name_of(fun)}` must be complex where "
                    f"holomorphic=True, found {aval}. Convert it, or leave out holomorphic."
                )
        rows = [_rows(f_vjp, inputs, flat_out, out_tree, i) for i in range(len(flat_out))]
        if is_one(argnums):
            rows = [row[0] for row in rows]
        return tree_unflatten(out_tree, rows)

    return jacobian


def _rows(
    f_vjp: Callable[..., Any], inputs: Any, outs: Sequence[Any], out_tree: Any, which: int
) -> Any:
    """The derivative of one result with respect to all inputs, the result's axes first.

    That with respect to integers is zero, in their dtype.
    """
    aval = typeof(outs[which])
    zeros = [instantiate(Zero(tangent_type(typeof(out)))) for out in outs]

    def pull(ct: Any) -> Any:
        return f_vjp(tree_unflatten(out_tree, [*zeros[:which], ct, *zeros[which + 1 :]]))

    def block(x: Any, row: Any) -> Any:
        shape = aval.shape + typeof(row).shape[1:]
        if typeof(row).dtype == float0:
            return np.zeros(shape, typeof(x).dtype)
        return reshape(row, shape)

    return tree_map(block, inputs, vmap(pull)(standard_basis(aval)))


jacobian = jacrev


def hessian(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, holomorphic: bool = False
) -> Callable[..., Any]:
    """The second derivative of `fun`: the forward-mode Jacobian of the reverse-mode one.

    >>> import numpy as np
    >>> from minijax_stage2 import reduce_sum
    >>> hessian(lambda x: reduce_sum(x * x * x))(np.array([1.0, 2.0]))
    array([[ 6.,  0.],
           [ 0., 12.]])
    """
    return jacfwd(jacrev(fun, argnums, holomorphic), argnums)


# --8<-- [end:jacrev]
