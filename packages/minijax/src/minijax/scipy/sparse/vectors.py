"""Pytrees of arrays as vectors, and linear maps of them."""

import functools
import operator
from collections.abc import Callable
from typing import Any

from minijax import numpy as jnp
from minijax.errors.classes import TreeMismatchError
from minijax.lax import promoting as lax
from minijax.runtime.conversion import tree_to_arrays
from minijax.settings.promotion import result_type
from minijax_stage2 import explain_mismatch, tree_map, typeof
from minijax_stage2.errors import shown
from minijax_stage2.tree import tree_flatten, tree_leaves

Matvec = Callable[[Any], Any]


def add(x: Any, y: Any) -> Any:
    return tree_map(operator.add, x, y)


def sub(x: Any, y: Any) -> Any:
    return tree_map(operator.sub, x, y)


def scale(number: Any, x: Any) -> Any:
    return tree_map(lambda leaf: number * leaf, x)


def vdot(x: Any, y: Any) -> Any:
    """The sum of products, of complex numbers with the conjugates of `x`."""
    products = [
        jnp.vdot(a, b, precision=lax.Precision.HIGHEST)
        for a, b in zip(tree_leaves(x), tree_leaves(y), strict=True)
    ]
    return functools.reduce(operator.add, products)


def vdot_real(x: Any, y: Any) -> Any:
    """The real part of `vdot`."""
    return vdot(x, y).real


def norm(x: Any) -> Any:
    return jnp.sqrt(vdot_real(x, x))


def dtype_of(x: Any) -> Any:
    """The promoted dtype of all leaves."""
    return result_type(*map(typeof, tree_leaves(x))).dtype


def size_of(x: Any) -> int:
    return sum(typeof(leaf).size for leaf in tree_leaves(x))


def identity(x: Any) -> Any:
    return x


def as_function(name: str, matrix: Any) -> Matvec:
    """A linear function; a square matrix, or what has `@` alone, becomes multiplication by it.

    Raises:
        ValueError: the matrix is not square.
        TypeError: it is neither a function nor a matrix.
    """
    if callable(matrix):
        return matrix
    if not hasattr(matrix, "shape"):
        if hasattr(type(matrix), "__matmul__"):
            return lambda x: matrix @ x
        raise TypeError(
            f"{name}: a linear operator must be either a function or an array, found "
            f"{shown(matrix)}"
        )
    if len(matrix.shape) != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(
            f"{name}: a linear operator must be a square matrix, found one of shape {matrix.shape}"
        )
    return lambda x: jnp.dot(matrix, x, precision=lax.Precision.HIGHEST)


def start_of(name: str, b: Any, x0: Any) -> tuple[Any, Any]:
    """The right-hand side and the starting vector, zero if None.

    Raises:
        ValueError: they differ in structure or shapes.
    """
    b = tree_to_arrays(b)
    x0 = tree_map(jnp.zeros_like, b) if x0 is None else tree_to_arrays(x0)
    (b_leaves, b_tree), (x_leaves, x_tree) = tree_flatten(b), tree_flatten(x0)
    if b_tree != x_tree:
        raise TreeMismatchError(
            f"{name}: x0 and b must have matching tree structure: "
            f"{explain_mismatch(b_tree, x_tree)}"
        )
    for x, y in zip(x_leaves, b_leaves, strict=True):
        if typeof(x).shape != typeof(y).shape:
            raise ValueError(
                f"{name}: arrays in x0 and b must have matching shapes, found {typeof(x)} "
                f"and {typeof(y)}"
            )
    return b, x0
