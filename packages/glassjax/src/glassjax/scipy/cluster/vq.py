"""Vector quantization."""

from __future__ import annotations

from glassjax import numpy as jnp
from glassjax.numpy.products import promote_dtypes
from glassjax.numpy.transcendental import inexact_arrays
from glassjax.runtime.array import Array, ArrayLike
from glassjax.runtime.operation import operation
from glassjax_stage2 import typeof


@operation(static="check_finite")
def vq(obs: ArrayLike, code_book: ArrayLike, check_finite: bool = True) -> tuple[Array, Array]:
    """The nearest code of each observation.

    Arguments:
        obs: the observations, of shape `(m, n)`; or numbers, of shape `(m,)`.
        code_book: the codes, of shape `(k, n)`; or numbers, of shape `(k,)`.
        check_finite: ignored.

    Returns:
        The index of the nearest code for each observation, and its Euclidean distance.

    Raises:
        ValueError: `obs` and `code_book` have not both one axis or both two, or differ in the size
            of the last of two.

    >>> obs = jnp.array([[0.0, 1.0], [5.0, 5.0]])
    >>> codes, distances = vq(obs, jnp.array([[0.0, 0.0], [5.0, 4.0]]))
    >>> print(codes, distances)
    [0 1] [1. 1.]
    """
    obs, code_book = (inexact_arrays(x)[0] for x in promote_dtypes(obs, code_book))
    shapes = typeof(obs).shape, typeof(code_book).shape
    lengths = {len(shape) for shape in shapes}
    if len(lengths) != 1 or not lengths <= {1, 2} or shapes[0][1:] != shapes[1][1:]:
        raise ValueError(
            "vq: obs and code_book must both have one axis, or both two and the same size of the "
            f"last, found shapes {shapes[0]} and {shapes[1]}"
        )
    if lengths == {1}:
        obs, code_book = obs[:, None], code_book[:, None]
    squares = jnp.sum((obs[:, None] - code_book[None]) ** 2, -1)
    return jnp.argmin(squares, -1), jnp.sqrt(jnp.min(squares, -1))


__all__ = ["vq"]
