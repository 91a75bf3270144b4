"""Derivatives by sparse arrays: by their elements, which are stored as the arrays' are."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from minijax import numpy as jnp
from minijax.experimental.sparse.base import JAXSparse
from minijax.experimental.sparse.bcoo_array import BCOO
from minijax.pytrees import tree
from minijax.transforms import transformations


def _is_sparse(x: Any) -> bool:
    return isinstance(x, JAXSparse)


def _with_data(mat: Any, data: Any) -> Any:
    (_, *rest), aux_data = mat.tree_flatten()
    return type(mat).tree_unflatten(aux_data, (data, *rest))


def _of_elements(
    transform: Callable[..., Any], restore: Callable[..., Any], has_value: bool = False
) -> Callable[..., Any]:
    """A derivative of functions of dense arrays, of functions of sparse ones."""

    def of(
        fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False,
        **kwargs: Any,
    ) -> Callable[..., Any]:  # fmt: skip
        numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)

        @functools.wraps(fun)
        def derivative(*args: Any, **kwds: Any) -> Any:
            given = [args[n] for n in numbers]
            data = [
                tree.map(lambda x: x.data if _is_sparse(x) else x, each, is_leaf=_is_sparse)
                for each in given
            ]

            def of_data(data: list[Any]) -> Any:
                new = list(args)
                for n, old, part in zip(numbers, given, data, strict=True):
                    leaves, structure = tree.flatten(old, is_leaf=_is_sparse)
                    parts = structure.flatten_up_to(part)
                    new[n] = structure.unflatten(
                        _with_data(x, y) if _is_sparse(x) else y
                        for x, y in zip(leaves, parts, strict=True)
                    )
                return fun(*new, **kwds)

            def restored(found: Any) -> Any:
                every = [
                    tree.map(
                        lambda x, y: restore(x, y) if _is_sparse(x) else y,
                        old, part, is_leaf=_is_sparse,
                    )
                    for old, part in zip(given, found, strict=True)
                ]  # fmt: skip
                return every[0] if isinstance(argnums, int) else tuple(every)

            out = transform(of_data, has_aux=has_aux, **kwargs)(data)
            if has_value:
                return out[0], restored(out[1])
            return (restored(out[0]), out[1]) if has_aux else restored(out)

        return derivative

    return of


def _jacobian_of(mat: Any, data: Any) -> Any:
    """A derivative of a dense result by the elements: for each element of the result a list."""
    if not isinstance(mat, BCOO):
        raise NotImplementedError(
            f"jacobian: expected sparse arguments of class BCOO, found {type(mat).__name__}"
        )
    count = data.ndim - mat.data.ndim
    lead = data.shape[:count]
    if mat.n_batch:
        raise NotImplementedError("jacobian: sparse arguments must not have batch axes")
    indices = jnp.broadcast_to(mat.indices, (*lead, *mat.indices.shape))
    return BCOO(
        (data, indices),
        shape=(*lead, *mat.shape),
        indices_sorted=mat.indices_sorted,
        unique_indices=mat.unique_indices,
    )


_grad = _of_elements(transformations.grad, _with_data)
_value_and_grad = _of_elements(transformations.value_and_grad, _with_data, has_value=True)
_jacfwd = _of_elements(transformations.jacfwd, _jacobian_of)
_jacrev = _of_elements(transformations.jacrev, _jacobian_of)


def grad(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any
) -> Callable[..., Any]:
    """The gradient of a function of sparse arrays.

    Arguments:
        fun: a function whose result is a number; arguments may be sparse arrays.
        argnums: which arguments it is differentiated by.
        has_aux: whether it returns a pair, of which the second is returned as it is.
        kwargs: other arguments of `minijax.grad`.

    Returns:
        A function that returns gradients: by a sparse array a sparse one, with the same places.

    >>> from minijax.experimental import sparse
    >>> sparse.grad(lambda m: jnp.sum((m @ jnp.ones(2)) ** 2))(sparse.eye(2)).data
    Array([2., 2.], dtype=float32)
    """
    return _grad(fun, argnums, has_aux, **kwargs)


def value_and_grad(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any
) -> Callable[..., Any]:
    """The value and the `grad` of a function of sparse arrays."""
    return _value_and_grad(fun, argnums, has_aux, **kwargs)


def jacfwd(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any
) -> Callable[..., Any]:
    """The Jacobian of a function of sparse arrays with one dense result, by forward mode.

    By a sparse array it is a sparse one, with the axes of the result as batch axes.
    """
    return _jacfwd(fun, argnums, has_aux, **kwargs)


def jacrev(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any
) -> Callable[..., Any]:
    """The Jacobian as `jacfwd` gives it, by reverse mode."""
    return _jacrev(fun, argnums, has_aux, **kwargs)


jacobian = jacrev

__all__ = ["grad", "jacfwd", "jacobian", "jacrev", "value_and_grad"]
