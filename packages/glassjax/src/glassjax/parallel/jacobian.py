"""Jacobians and Hessians, by forward and by reverse mode."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Literal, overload

import numpy as np

import glassjax_stage2 as stage2
from glassjax import lax
from glassjax.dimensions.expressions import is_symbolic
from glassjax.errors.arguments import require_flags
from glassjax.parallel.vmap import chunk_size, vmap
from glassjax.runtime.array import tree_to_arrays
from glassjax.runtime.evaluation import evaluated_by_library
from glassjax.settings.names import wraps
from glassjax.settings.number_types import as_weak_as
from glassjax.shardings import memories
from glassjax.transforms import autodiff
from glassjax.transforms.autodiff import Argnums, Aux, Function, P
from glassjax_stage2 import ShapedArray, Zero, tree_map, typeof
from glassjax_stage2.arguments import check_inexact, require_function, split_arguments
from glassjax_stage2.jacobian import standard_basis
from glassjax_stage2.shaped_array import is_inexact
from glassjax_stage2.source import name_of
from glassjax_stage2.tangent import instantiate
from glassjax_stage2.tree import tree_flatten, tree_unflatten


@overload
def jacfwd(
    fun: Callable[P, tuple[Any, Aux]],
    argnums: Argnums = ...,
    *,
    has_aux: Literal[True],
    holomorphic: bool = ...,
    batch_size: int | None = ...,
) -> Callable[P, tuple[Any, Aux]]: ...
@overload
def jacfwd(
    fun: Callable[P, Any],
    argnums: Argnums = ...,
    has_aux: bool = ...,
    holomorphic: bool = ...,
    batch_size: int | None = ...,
) -> Callable[P, Any]: ...
def jacfwd(
    fun: Callable[P, Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    batch_size: int | None = None,
) -> Callable[P, Any]:
    """The Jacobian of `fun`, column by column, by forward mode.

    Arguments:
        fun: function of arrays and pytrees of arrays.
        argnums: the positional arguments to differentiate with respect to.
        has_aux: whether `fun` returns a pair; only its first part is differentiated; the
            second is returned last.
        holomorphic: whether `fun` is a holomorphic function of complex arguments; required for
            complex arguments.
        batch_size: the number of columns to compute at once, to save memory; None: all of them.

    Returns:
        A function of the same arguments. Its result has the structure of the result of `fun`
        with, at each leaf, the structure of the argument; the shape of each leaf is the shape of
        the result followed by the shape of the argument. With several `argnums`, a tuple of
        arguments.

    Raises:
        TypeError: an argument to differentiate has an integer or boolean leaf.
        ValueError: the arguments to differentiate have no leaves, or do not exist; or `batch_size`
            is not positive.

    >>> f = lambda x: jnp.array([x[0] * x[1], x[1], x[0] ** 2])
    >>> glassjax.jacfwd(f)(jnp.array([2.0, 3.0]))
    Array([[3., 2.],
           [0., 1.],
           [4., 0.]], dtype=float32)
    """

    size = None if batch_size is None else chunk_size("jacfwd", batch_size)
    transformation = functools.partial(_jacfwd, size=size)
    return _jacobian("jacfwd", transformation, fun, argnums, has_aux, holomorphic)


@overload
def jacrev(
    fun: Callable[P, tuple[Any, Aux]],
    argnums: Argnums = ...,
    *,
    has_aux: Literal[True],
    holomorphic: bool = ...,
    allow_int: bool = ...,
    batch_size: int | None = ...,
) -> Callable[P, tuple[Any, Aux]]: ...
@overload
def jacrev(
    fun: Callable[P, Any],
    argnums: Argnums = ...,
    has_aux: bool = ...,
    holomorphic: bool = ...,
    allow_int: bool = ...,
    batch_size: int | None = ...,
) -> Callable[P, Any]: ...
def jacrev(
    fun: Callable[P, Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    batch_size: int | None = None,
) -> Callable[P, Any]:
    """The Jacobian of `fun`, row by row, by reverse mode.

    Arguments:
        fun, argnums, has_aux: as in `jacfwd`.
        holomorphic: as in `grad`.
        allow_int: whether arguments may be integers, whose Jacobians are zeros of their dtype.
        batch_size: the number of rows to compute at once, to save memory; None: all of them.

    Returns:
        As `jacfwd`. Reverse mode is cheaper if there are fewer results than inputs.

    Raises:
        TypeError: an argument to differentiate is integer or boolean, or a result is not real.

    >>> f = lambda p: p["a"] * p["b"]
    >>> glassjax.jacrev(f)({"a": jnp.array([1.0, 2.0]), "b": 3.0})
    {'a': Array([[3., 0.],
           [0., 3.]], dtype=float32), 'b': Array([1., 2.], dtype=float32, weak_type=True)}
    """
    require_flags("jacrev", allow_int=allow_int)
    size = None if batch_size is None else chunk_size("jacrev", batch_size)
    transformation = functools.partial(
        _jacrev, holomorphic=holomorphic, allow_int=allow_int, size=size
    )
    return _jacobian("jacrev", transformation, fun, argnums, has_aux, holomorphic)


jacobian = jacrev


@overload
def hessian(
    fun: Callable[P, tuple[Any, Aux]],
    argnums: Argnums = ...,
    *,
    has_aux: Literal[True],
    holomorphic: bool = ...,
    batch_size: int | None = ...,
) -> Callable[P, tuple[Any, Aux]]: ...
@overload
def hessian(
    fun: Callable[P, Any],
    argnums: Argnums = ...,
    has_aux: bool = ...,
    holomorphic: bool = ...,
    batch_size: int | None = ...,
) -> Callable[P, Any]: ...
def hessian(
    fun: Callable[P, Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    batch_size: int | None = None,
) -> Callable[P, Any]:
    """The second derivative of `fun`: the forward-mode Jacobian of the reverse-mode one.

    The result has the structure and shape of the argument twice: the gradient of a function of `n`
    numbers has an `n` by `n` Jacobian.

    Arguments:
        fun, argnums, has_aux, holomorphic, batch_size: as in `jacfwd`.

    Raises:
        TypeError, ValueError: as in `jacfwd`.

    >>> glassjax.hessian(lambda x: x[0] ** 2 * x[1])(jnp.array([1.0, 3.0]))
    Array([[6., 2.],
           [2., 0.]], dtype=float32)
    """

    size = None if batch_size is None else chunk_size("hessian", batch_size)

    def jacfwd_of_jacrev(fun: Function, argnums: Argnums) -> Function:
        return _jacfwd(_jacrev(fun, argnums, holomorphic, False, size), argnums, size)

    return _jacobian("hessian", jacfwd_of_jacrev, fun, argnums, has_aux, holomorphic)


def _jacfwd(fun: Function, argnums: Argnums, size: int | None) -> Function:
    """The Jacobian by forward mode, `size` columns at a time, weak for weak results."""

    @wraps(fun)
    def jacobian_columns(*args: Any, **kwargs: Any) -> Any:
        inputs, restricted = split_arguments("jacfwd", fun, argnums, args, kwargs)
        check_inexact("jacfwd", f"argument {argnums}", fun, inputs)
        leaves, in_tree = tree_flatten(inputs)
        if not leaves:
            raise ValueError(f"jacfwd of `{name_of(fun)}`: argnums {argnums} hold no arrays")

        def columns(which: int) -> Any:
            def leaf_fun(x: Any) -> Any:
                return restricted(tree_unflatten(in_tree, [*before, x, *after]))

            def push_forward(tangent: Any) -> Any:
                out, out_tangent = stage2.jvp(leaf_fun, (x,), (tangent,))
                check_inexact("jacfwd", "result", fun, out)
                return tree_map(
                    lambda x, t: as_weak_as(typeof(x), instantiate(t)), out, out_tangent
                )

            before, x, after = leaves[:which], leaves[which], leaves[which + 1 :]
            shape = typeof(x).shape
            return tree_map(
                lambda block: stage2.reshape(
                    stage2.moveaxis(block, 0, -1), (*typeof(block).shape[1:], *shape)
                ),
                _over_basis(push_forward, typeof(x), size),
            )

        blocks = [tree_flatten(columns(which)) for which in range(len(leaves))]
        rows = [tree_unflatten(in_tree, row) for row in zip(*[x for x, _ in blocks], strict=True)]
        return tree_unflatten(blocks[0][1], rows)

    return jacobian_columns


def _over_basis(linear: Function, aval: ShapedArray, size: int | None) -> Any:
    """A linear function of each unit array, `size` of them at a time; no more exist at once."""
    space = memories.space_of(aval)
    if size is None and not is_symbolic(aval.shape):
        return vmap(linear)(memories.moved(standard_basis(aval), space))

    def unit_fun(number: Any) -> Any:
        unit = stage2.astype(lax.iota(np.int32, aval.size) == number, aval.dtype)
        return linear(memories.moved(stage2.reshape(unit, aval.shape), space))

    return vmap(unit_fun, batch_size=size)(lax.iota(np.int32, aval.size))


def _jacrev(
    fun: Function, argnums: Argnums, holomorphic: bool, allow_int: bool, size: int | None
) -> Function:
    """The Jacobian by reverse mode, `size` rows at a time, also of complex arguments and ints."""

    @wraps(fun)
    def jacobian_rows(*args: Any, **kwargs: Any) -> Any:
        inputs, restricted = split_arguments("jacrev", fun, argnums, args, kwargs)
        autodiff.require_differentiable("jacrev", fun, argnums, inputs, holomorphic, allow_int)
        out, f_vjp = autodiff.weak_vjp(restricted, inputs)
        autodiff.require_results("jacrev", fun, out, holomorphic)

        def pull_back_row(ct: Any) -> Any:
            return tree_map(_zero_of_integer, (inputs,), f_vjp(ct))

        outs, out_tree = tree_flatten(out)

        def rows(which: int) -> Any:
            def pull(ct: Any) -> Any:
                zeros = [instantiate(Zero.like(x)) for x in outs]
                zeros[which] = ct
                return pull_back_row(tree_unflatten(out_tree, zeros))[0]

            shape = typeof(outs[which]).shape
            return tree_map(
                lambda row: stage2.reshape(row, (*shape, *typeof(row).shape[1:])),
                _over_basis(pull, typeof(outs[which]), size),
            )

        return tree_unflatten(out_tree, [rows(which) for which in range(len(outs))])

    return jacobian_rows


def _zero_of_integer(x: Any, ct: Any) -> Any:
    """A cotangent; the empty one of an integer becomes a zero of its dtype."""
    aval = stage2.typeof(x)
    return ct if is_inexact(aval.dtype) else np.zeros(aval.shape, aval.dtype)


def _jacobian(
    caller: str,
    transformation: Function,
    fun: Function,
    argnums: Argnums,
    has_aux: bool,
    holomorphic: bool,
) -> Function:
    require_flags(caller, has_aux=has_aux, holomorphic=holomorphic)
    require_function(caller, fun)
    argnums = autodiff.int_or_ints(caller, argnums)

    derivative = "second derivative" if caller == "hessian" else "Jacobian"

    @evaluated_by_library
    @wraps(fun, f"The {derivative} of `{name_of(fun)}`{autodiff.argnums_phrase(argnums)}.")
    def jacobian_fun(*args: Any, **kwargs: Any) -> Any:
        with_aux = autodiff.split_aux(caller, fun, has_aux)
        args = tuple(autodiff.chosen_to_arrays(argnums, args))
        if caller != "jacrev":
            autodiff.require_holomorphic(caller, fun, argnums, args, holomorphic)
        result = tree_to_arrays(transformation(with_aux or fun, argnums)(*args, **kwargs))
        return (result, with_aux.aux()) if with_aux else result

    return jacobian_fun
