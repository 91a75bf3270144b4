"""Products of groups of rows, which may be of different sizes, each with a matrix of its own."""

from typing import Any

from minijax.lax.choice import select
from minijax.lax.cumulative import cumsum
from minijax.lax.precision import PrecisionLike
from minijax.lax.products import dot_general
from minijax.lax.structural import broadcast_in_dim, broadcasted_iota, expand_dims, full_like
from minijax.operation import operation
from minijax_stage2 import typeof


@operation(static=("precision", "preferred_element_type", "group_offset", "out_sharding"))
def ragged_dot(
    lhs: Any,
    rhs: Any,
    group_sizes: Any,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
    group_offset: None = None,
    out_sharding: None = None,
) -> Any:
    """The products of the rows of a matrix, in groups, with one of several matrices for each group.

    It is one product, of which each group is a part where the others are zeros: its time and its
    memory grow with the number of groups.

    Arguments:
        lhs: the rows, of shape (m, k): first those of the first group.
        rhs: a matrix for each group, of shape (g, k, n).
        group_sizes: how many rows each group has, g integers. Rows after these give zeros.
        precision: how exactly to compute, as of `dot`.
        preferred_element_type: the dtype of the result.
        group_offset, out_sharding: must be None.

    Returns:
        An array of shape (m, n).

    Raises:
        NotImplementedError: `group_offset` or `out_sharding` is given.
        TypeError: the shapes do not fit, or `group_sizes` are no integers.

    >>> import minijax.numpy as jnp
    >>> scales = jnp.array([[[1.0]], [[10.0]]])
    >>> print(ragged_dot(jnp.ones((4, 1)), scales, jnp.array([1, 2])).ravel())
    [ 1. 10. 10.  0.]
    """
    if group_offset is not None:
        raise NotImplementedError("ragged_dot: group_offset must be None")
    a, b, sizes = typeof(lhs), typeof(rhs), typeof(group_sizes)
    if a.ndim != 2 or b.ndim != 3 or a.shape[1] != b.shape[1]:
        raise TypeError(
            f"ragged_dot: lhs must have the shape (m, k) and rhs (g, k, n), found {a} and {b}"
        )
    if sizes.shape != b.shape[:1] or sizes.dtype.kind not in "iu":
        raise TypeError(
            f"ragged_dot: group_sizes must be {b.shape[0]} integers, one for each matrix of rhs; "
            f"found {sizes}"
        )
    shape = (b.shape[0], *a.shape)
    ends = expand_dims(cumsum(group_sizes), [1, 2])
    starts = ends - expand_dims(group_sizes, [1, 2])
    rows = broadcasted_iota(sizes.dtype, shape, 1)
    every = broadcast_in_dim(lhs, shape, (1, 2))
    parts = select((rows >= starts) & (rows < ends), every, full_like(every, 0))
    return dot_general(
        parts,
        rhs,
        (((0, 2), (0, 1)), ((), ())),
        precision,
        preferred_element_type,
        out_sharding=out_sharding,
    )


__all__ = ["ragged_dot"]
