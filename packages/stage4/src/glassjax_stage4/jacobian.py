"""Jacobians by reverse mode, and Hessians by both."""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from glassjax_stage2 import jacfwd, reshape, tree_flatten, tree_map, tree_unflatten, typeof, vmap
from glassjax_stage2.arguments import check_inexact, require_function, split_arguments
from glassjax_stage2.jacobian import standard_basis
from glassjax_stage2.source import name_of
from glassjax_stage2.tangent import Zero, instantiate
from glassjax_stage2.tree import keystr, tree_flatten_with_path
from glassjax_stage4.errors import ComplexGradientError
from glassjax_stage4.grad import vjp


def jacrev(fun: Callable[..., Any], argnums: int | Sequence[int] = 0) -> Callable[..., Any]:
    """The Jacobian of `fun`, row by row, by reverse mode.

    Arguments:
        fun: function of arrays and pytrees of arrays.
        argnums: the positional arguments to differentiate with respect to.

    Returns:
        As `jacfwd`. Reverse mode is cheaper if there are fewer results than inputs.

    Raises:
        TypeError: an argument to differentiate is integer or boolean, or a result is not real.

    >>> import numpy as np
    >>> jacrev(lambda x: x * x)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    require_function("jacrev", fun)

    @wraps(fun)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        inputs, f = split_arguments("jacrev", fun, argnums, args, kwargs)
        check_inexact("jacrev", f"argument {argnums}", fun, inputs)
        out, f_vjp = vjp(f, inputs)
        check_inexact("jacrev", "result", fun, out)
        for path, leaf in tree_flatten_with_path(out)[0]:
            if typeof(leaf).dtype.kind == "c":  # 1 and i would each give half of a derivative
                raise ComplexGradientError(
                    f"jacrev: result{keystr(path)} of `{name_of(fun)}` is complex, {typeof(leaf)}. "
                    "Use jacfwd, or return its real and imaginary parts."
                )
        return jacobian_by_rows(f_vjp, out)

    return jacobian


def jacobian_by_rows(f_vjp: Callable[..., Any], out: Any) -> Any:
    """The derivatives of each result of a function of one argument."""
    outs, out_tree = tree_flatten(out)
    zeros = [instantiate(Zero.like(x)) for x in outs]

    def rows(which: int) -> Any:
        aval = typeof(outs[which])

        def pull(ct: Any) -> Any:
            cts = [*zeros[:which], ct, *zeros[which + 1 :]]
            return f_vjp(tree_unflatten(out_tree, cts))[0]

        def block(row: Any) -> Any:
            return reshape(row, aval.shape + typeof(row).shape[1:])

        return tree_map(block, vmap(pull)(standard_basis(aval)))

    return tree_unflatten(out_tree, map(rows, range(len(outs))))


jacobian = jacrev


def hessian(fun: Callable[..., Any], argnums: int | Sequence[int] = 0) -> Callable[..., Any]:
    """The second derivative of `fun`: the forward-mode Jacobian of the reverse-mode one.

    >>> import numpy as np
    >>> from glassjax_stage2 import reduce_sum
    >>> hessian(lambda x: reduce_sum(x * x * x))(np.array([1.0, 2.0]))
    array([[ 6.,  0.],
           [ 0., 12.]])
    """
    return jacfwd(jacrev(fun, argnums), argnums)
