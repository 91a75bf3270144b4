"""The roots of polynomials: eigenvalues of a matrix that is made of the coefficients."""

from typing import Any

import numpy as np

from minijax.errors import ConcretizationTypeError
from minijax.evaluation import evaluated_by_library
from minijax.lax import promoting as lax
from minijax.lax.elementwise import where as choose
from minijax.numpy.creation import eye
from minijax.numpy.decompositions import eigvals
from minijax.numpy.dtypes import default_int
from minijax.numpy.index_parsing import known_value
from minijax.numpy.rearranging import roll
from minijax.operation import operation
from minijax_stage2 import typeof
from minijax_stage2.promotion import to_inexact


# --8<-- [start:roots]
@evaluated_by_library
def roots(p: Any, *, strip_zeros: bool = True) -> Any:
    """The roots of a polynomial, which are complex, in no order.

    Arguments:
        p: the coefficients.
        strip_zeros: whether zeros in front are left out, which lessens the number of roots; then
            the numbers must be known. If not, NaN stands for the roots that are not there.

    Raises:
        ValueError: `p` has several axes.
        ConcretizationTypeError: zeros are to be left out of what is traced.

    >>> [f"{r.real:.2f}" for r in jnp.roots(jnp.array([1.0, -3.0, 2.0]))]
    ['2.00', '1.00']
    """
    if typeof(p).ndim > 1:
        raise ValueError(f"roots: p must be a sequence of numbers, found {typeof(p)}")
    p, zeros = _leading_zeros(p)
    if not strip_zeros:
        return _roots_and_nan(p, zeros)
    known = known_value(zeros)
    if known is None:
        raise ConcretizationTypeError(
            "roots: the leading zeros decide how many roots there are, so p must be known when the "
            f"function is traced; {zeros.why_unknown()}.\n"
            "With strip_zeros=False there are as many as without zeros, some of them NaN."
        )
    return _roots(lax.slice_in_dim(p, int(known), typeof(p).size))


@operation
def _leading_zeros(p: Any) -> tuple[Any, Any]:
    """The coefficients as real or complex numbers, and how many zeros are in front."""
    p = lax.reshape(to_inexact(p), (-1,))
    is_zero = lax.eq(p, 0)
    return p, lax.reduce_sum(lax.cumprod(lax.convert_element_type(is_zero, default_int())), (0,))


@operation
def _roots(p: Any) -> Any:
    """The eigenvalues of the companion matrix, whose characteristic polynomial `p` is."""
    degree = typeof(p).size - 1
    if degree < 1:
        return lax.full((0,), 0, np.result_type(typeof(p).dtype, np.complex64))
    head, rest = lax.slice_in_dim(p, 0, 1), lax.slice_in_dim(p, 1, degree + 1)
    first_row = lax.expand_dims(lax.neg(lax.div(rest, head)), (0,))
    return eigvals(lax.concatenate([first_row, eye(degree - 1, degree, dtype=typeof(p).dtype)], 0))


@operation
def _roots_and_nan(p: Any, zeros: Any) -> Any:
    """The roots where `p` may have zeros in front: behind, they are roots that are zero."""
    size = typeof(p).size
    p = choose(lax.eq(zeros, size), 1, p)
    found = _roots(roll(p, lax.neg(zeros)))
    count = typeof(found).size
    if not count:
        return found
    _, found = lax.sort_key_val(lax.convert_element_type(lax.eq(found, 0), np.int32), found)
    is_there = lax.lt(lax.iota(default_int(), count), lax.sub(count, zeros))
    return choose(is_there, found, complex(np.nan, np.nan))


# --8<-- [end:roots]

__all__ = ["roots"]
