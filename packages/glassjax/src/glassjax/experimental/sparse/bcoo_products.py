"""Sums, products and convolutions of BCOOs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from glassjax import lax
from glassjax import numpy as jnp
from glassjax.experimental.sparse import base
from glassjax.experimental.sparse.bcoo_shapes import (
    bcoo_broadcast_in_dim,
    bcoo_update_layout,
    sum_duplicates,
)
from glassjax.lax.convolution import (
    ConvGeneralDilatedDimensionNumbers,
    Padding,
    conv_dimension_numbers,
    pads_of,
)
from glassjax.runtime.array import Array, ArrayLike
from glassjax_stage2.primitives import DotDimensionNumbers

# Sums and products of sparse arrays.


def bcoo_reduce_sum(mat: base.BCOO, *, axes: Sequence[int]) -> base.BCOO:
    """The sum along axes, sparse. Elements whose coordinates become equal are not added up.

    Raises:
        ValueError: there are no such axes.
    """
    gone = sorted(set(axes))
    if any(not 0 <= axis < mat.ndim for axis in gone):
        raise ValueError(f"bcoo_reduce_sum: {mat} has no axes {tuple(axes)}")
    b, s = mat.n_batch, mat.n_sparse
    data, indices = base.full_batches(mat)
    if any(b <= axis < b + s for axis in gone):
        data = base.masked(base.is_inside(indices, mat.sparse_shape), data)
    data = jnp.sum(data, tuple(axis - s + 1 for axis in gone if axis >= b + s), dtype=data.dtype)
    indices = indices[..., [axis - b for axis in range(b, b + s) if axis not in gone]]
    batch = [axis for axis in gone if axis < b]
    if batch:
        kept = [axis for axis in range(b) if axis not in batch]
        order = (*kept, *batch)
        data = jnp.transpose(data, (*order, *range(b, data.ndim)))
        indices = jnp.transpose(indices, (*order, b, b + 1))
        lead = data.shape[: len(kept)]
        count = math.prod(indices.shape[len(kept) : -1])
        data = data.reshape(*lead, count, *data.shape[b + 1 :])
        indices = indices.reshape(*lead, count, indices.shape[-1])
    shape = tuple(n for axis, n in enumerate(mat.shape) if axis not in gone)
    return base.BCOO((data, indices), shape=shape)


# Elementwise products.


def bcoo_multiply_dense(sp_mat: base.BCOO, v: ArrayLike) -> Array:
    """The elements of the product of a sparse and a dense array, which broadcasts to its shape.

    Raises:
        ValueError: it does not.
    """
    return _times(sp_mat, v, jnp.multiply)


def _times(mat: base.BCOO, v: Any, function: Callable[[Any, Any], Any]) -> Any:
    array = jnp.asarray(v)
    if not array.ndim:
        return function(mat.data, v)
    array = jnp.broadcast_to(array, mat.shape)

    def multiply_example(data: Any, indices: Any, array: Any) -> Any:
        if not mat.n_sparse:
            return function(data, array[None])
        one_where_outside = array.at[base.coordinates(indices)].get(mode="fill", fill_value=1)
        return function(data, one_where_outside)

    return base.nfold_vmap(multiply_example, mat.n_batch)(*base.full_batches(mat), array)


def bcoo_multiply_sparse(lhs: base.BCOO, rhs: base.BCOO) -> base.BCOO:
    """The product of two sparse arrays of one shape, with an element for each pair of elements.

    Raises:
        ValueError: the shapes differ.
    """
    if lhs.shape != rhs.shape:
        raise ValueError(f"bcoo_multiply_sparse: shapes {lhs.shape} and {rhs.shape} differ")
    lhs, rhs = _common_layout(lhs, rhs)
    sizes = lhs.sparse_shape

    def multiply_pair(data: Any, indices: Any, other: Any, other_indices: Any) -> tuple[Any, Any]:
        match = jnp.all(indices[:, None] == other_indices[None], -1)
        match = match & base.is_inside(indices, sizes)[:, None]
        product = base.masked(match, data[:, None] * other[None])
        places = jnp.where(match[..., None], indices[:, None], jnp.asarray(sizes, indices.dtype))
        count = match.size
        return product.reshape(count, *data.shape[1:]), places.reshape(count, len(sizes))

    operands = *base.full_batches(lhs), *base.full_batches(rhs)
    return base.BCOO(base.nfold_vmap(multiply_pair, lhs.n_batch)(*operands), shape=lhs.shape)


def multiply(
    mat: base.BCOO, other: Any, function: Callable[[Any, Any], Any] = jnp.multiply
) -> base.BCOO:
    """`mat * other`, or another function that is linear in `mat`."""
    if isinstance(other, base.BCOO):
        return bcoo_multiply_sparse(*_broadcast_operands(mat, other))
    shape = jnp.shape(other)
    mat = _broadcast_to(mat, jnp.broadcast_shapes(shape, mat.shape))
    indices = base.full_batches(mat)[1] if shape else mat.indices
    return mat._with_arrays(_times(mat, other, function), indices, mat.shape)


def _broadcast_to(mat: base.BCOO, shape: tuple[int, ...]) -> base.BCOO:
    if mat.shape == shape:
        return mat
    axes = range(len(shape) - mat.ndim, len(shape))
    return bcoo_broadcast_in_dim(mat, shape=shape, broadcast_dimensions=axes)


def _broadcast_operands(lhs: base.BCOO, rhs: base.BCOO) -> list[base.BCOO]:
    shape = jnp.broadcast_shapes(lhs.shape, rhs.shape)
    return [_broadcast_to(mat, shape) for mat in (lhs, rhs)]


def _common_layout(lhs: base.BCOO, rhs: base.BCOO) -> list[base.BCOO]:
    n_batch, n_dense = min(lhs.n_batch, rhs.n_batch), min(lhs.n_dense, rhs.n_dense)
    return [bcoo_update_layout(x, n_batch=n_batch, n_dense=n_dense) for x in (lhs, rhs)]


def add(mat: base.BCOO, other: Any) -> Any:
    """`mat + other`: sparse if `other` is, and dense if `other` is a dense array of the shape.

    Raises:
        NotImplementedError: `other` is a smaller array, which would make the result dense.
    """
    if isinstance(other, base.BCOO):
        lhs, rhs = _common_layout(*_broadcast_operands(mat, other))
        pairs = zip(base.full_batches(lhs), base.full_batches(rhs), strict=True)
        data, indices = (jnp.concatenate(pair, lhs.n_batch) for pair in pairs)
        return base.BCOO((data, indices), shape=lhs.shape)
    if isinstance(other, base.JAXSparse):
        return NotImplemented
    shape = jnp.shape(other)
    if jnp.broadcast_shapes(shape, mat.shape) != shape:
        raise NotImplementedError(
            f"BCOO: the sum of a sparse array of shape {mat.shape} and a dense one of shape "
            f"{shape} would be dense; todense() makes an array, to which it can be added"
        )
    return mat.todense() + other


# Products of matrices.


def matmul(lhs: Any, rhs: Any) -> Any:
    """`lhs @ rhs`; at least one operand is sparse."""
    for x in (lhs, rhs):
        if isinstance(x, base.JAXSparse) and not isinstance(x, base.BCOO):
            return NotImplemented
    m, n = len(lhs.shape), len(rhs.shape)
    if not m or not n:
        raise ValueError("BCOO: the operands of @ must have an axis; * takes numbers")
    batch = min(max(m - 2, 0), max(n - 2, 0))
    axes = tuple(range(batch))
    if max(m, n) > 2 and (m != n or lhs.shape[:batch] != rhs.shape[:batch]) and min(m, n) > 1:
        lead = jnp.broadcast_shapes(lhs.shape[:-2], rhs.shape[:-2])
        lhs, rhs = (_with_lead(x, lead) for x in (lhs, rhs))
        m = n = len(lead) + 2
        axes = tuple(range(len(lead)))
    numbers = (((m - 1,), (max(n - 2, 0),)), (axes, axes))
    return bcoo_dot_general(lhs, rhs, dimension_numbers=numbers)


def _with_lead(x: Any, lead: tuple[int, ...]) -> Any:
    broadcast = _broadcast_to if isinstance(x, base.BCOO) else jnp.broadcast_to
    return broadcast(x, (*lead, *x.shape[-2:]))


def _check_product(caller: str, lhs: Any, rhs: Any, dimension_numbers: Any) -> None:
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    for ours, theirs in ((lhs_contract, rhs_contract), (lhs_batch, rhs_batch)):
        sizes = [lhs.shape[axis] for axis in ours], [rhs.shape[axis] for axis in theirs]
        if sizes[0] != sizes[1]:
            raise TypeError(
                f"{caller}: axes {tuple(ours)} of shape {lhs.shape} and axes {tuple(theirs)} of "
                f"shape {rhs.shape} differ in size"
            )


def bcoo_dot_general(
    lhs: base.BCOO | ArrayLike,
    rhs: base.BCOO | ArrayLike,
    *,
    dimension_numbers: DotDimensionNumbers,
    precision: None = None,
    preferred_element_type: Any = None,
    out_sharding: None = None,
) -> Any:
    """`lax.dot_general` of two arrays, one or both sparse.

    Arguments:
        lhs: an array.
        rhs: an array.
        dimension_numbers: as in `lax.dot_general`.
        precision: ignored.
        preferred_element_type: the dtype of the result.
        out_sharding: must be None.

    Returns:
        A dense array; a sparse one if both are.

    Raises:
        TypeError: the sizes of the axes differ.

    >>> from glassjax.experimental import sparse
    >>> numbers = (((1,), (0,)), ((), ()))
    >>> sparse.bcoo_dot_general(sparse.eye(2), jnp.array([3.0, 4.0]), dimension_numbers=numbers)
    Array([3., 4.], dtype=float32)
    """
    if out_sharding is not None:
        raise NotImplementedError("bcoo_dot_general: out_sharding must be None")
    sparse = [isinstance(x, base.BCOO) for x in (lhs, rhs)]
    operands: Any = [x if isinstance(x, base.BCOO) else jnp.asarray(x) for x in (lhs, rhs)]
    left, right = operands
    _check_product("bcoo_dot_general", left, right, dimension_numbers)
    numbers = plain_numbers(dimension_numbers)
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = numbers
    dtype = preferred_element_type
    if all(sparse):
        pair = bcoo_spdot_general_p.bind(
            left.data, left.indices, right.data, right.indices,
            lhs_spinfo=left._info, rhs_spinfo=right._info, dimension_numbers=numbers,
            preferred_element_type=dtype,
        )  # fmt: skip
        return base.BCOO(pair, shape=_shape_of_product(left.shape, right.shape, numbers))
    if sparse[0]:
        return _bind_product(left, right, numbers, dtype)
    if sparse[1]:
        turned = ((rhs_contract, lhs_contract), (rhs_batch, lhs_batch))
        out = _bind_product(right, left, turned, dtype)
        b = len(rhs_batch)
        own = right.ndim - b - len(rhs_contract)
        return jnp.transpose(out, (*range(b), *range(b + own, out.ndim), *range(b, b + own)))
    return lax.dot_general(left, right, numbers, preferred_element_type=dtype)


def plain_numbers(dimension_numbers: Any) -> Any:
    """The dimension numbers of a product, as tuples of ints."""
    return tuple([tuple([tuple(map(int, axes)) for axes in pair]) for pair in dimension_numbers])


def _shape_of_product(lhs: Any, rhs: Any, dimension_numbers: Any) -> tuple[int, ...]:
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    return (
        *(lhs[axis] for axis in lhs_batch),
        *(n for axis, n in enumerate(lhs) if axis not in (*lhs_contract, *lhs_batch)),
        *(n for axis, n in enumerate(rhs) if axis not in (*rhs_contract, *rhs_batch)),
    )


def _bind_product(lhs: base.BCOO, rhs: Any, numbers: Any, dtype: Any) -> Any:
    return bcoo_dot_general_p.bind(
        lhs.data, lhs.indices, rhs,
        dimension_numbers=numbers, preferred_element_type=dtype, lhs_spinfo=lhs._info,
    )  # fmt: skip


def _coo_dot_general(
    lhs_data: Any, lhs_indices: Any, rhs: Any, *, dimension_numbers: Any,
    preferred_element_type: Any, lhs_spinfo: base.SparseInfo,
) -> Any:  # fmt: skip
    lhs = base.BCOO((lhs_data, lhs_indices), shape=lhs_spinfo.shape)
    out = _sparse_by_dense(lhs, rhs, dimension_numbers)
    return out if preferred_element_type is None else out.astype(preferred_element_type)


bcoo_dot_general_p = base.sparse_primitive(
    "bcoo_dot_general", _coo_dot_general, [True, False, True]
)


def _spdot_general(
    lhs_data: Any, lhs_indices: Any, rhs_data: Any, rhs_indices: Any, *,
    lhs_spinfo: base.SparseInfo, rhs_spinfo: base.SparseInfo,
    dimension_numbers: Any, preferred_element_type: Any,
) -> tuple[Any, Any]:  # fmt: skip
    lhs = base.BCOO((lhs_data, lhs_indices), shape=lhs_spinfo.shape)
    rhs = base.BCOO((rhs_data, rhs_indices), shape=rhs_spinfo.shape)
    data, indices = _sparse_by_sparse(lhs, rhs, dimension_numbers)
    dtype = preferred_element_type
    return data if dtype is None else data.astype(dtype), indices


bcoo_spdot_general_p = base.sparse_primitive("bcoo_spdot_general", _spdot_general, several=True)


def _sparse_by_dense(lhs: base.BCOO, rhs: Any, dimension_numbers: Any) -> Any:
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    n = lhs.n_batch
    if n and tuple(lhs_batch) == tuple(range(n)) and not lhs.n_dense:
        # Batch entries are independent.
        data, indices = base.full_batches(lhs)
        rhs = jnp.moveaxis(rhs, tuple(rhs_batch), tuple(range(n)))
        others = [axis for axis in range(rhs.ndim) if axis not in rhs_batch]
        contract = (
            tuple(axis - n for axis in lhs_contract),
            tuple(others.index(axis) for axis in rhs_contract),
        )

        def dense_product(data: Any, indices: Any, rhs: Any) -> Any:
            mat = base.BCOO((data, indices), shape=lhs.shape[n:])
            return _sparse_by_dense(mat, rhs, (contract, ((), ())))

        return base.nfold_vmap(dense_product, n)(data, indices, rhs)
    lhs = bcoo_update_layout(lhs, n_batch=0, n_dense=0)
    free = [a for a in range(lhs.ndim) if a not in lhs_contract and a not in lhs_batch]
    other = [a for a in range(rhs.ndim) if a not in rhs_contract and a not in rhs_batch]
    dtype = jnp.result_type(lhs.dtype, rhs.dtype)
    rhs = jnp.transpose(rhs, (*rhs_batch, *rhs_contract, *other))
    columns = [lhs.indices[:, axis] for axis in (*lhs_batch, *lhs_contract)]
    rows = (
        rhs.at[tuple(columns)].get(mode="fill", fill_value=0)
        if columns
        else jnp.broadcast_to(rhs, (lhs.nse, *rhs.shape))
    )
    inside = base.is_inside(lhs.indices, lhs.shape) if lhs.ndim else jnp.ones(lhs.nse, bool)
    data = base.masked(inside, lhs.data).astype(dtype)
    kept = (*lhs_batch, *free)
    if not kept:
        return jnp.tensordot(data, rows.astype(dtype), 1)
    terms = jnp.expand_dims(data, range(1, rows.ndim)) * rows
    sizes = [lhs.shape[axis] for axis in kept]
    out = jnp.zeros((*sizes, *terms.shape[1:]), dtype)
    return out.at[tuple(lhs.indices[:, axis] for axis in kept)].add(terms, mode="drop")


def _sparse_by_sparse(lhs: base.BCOO, rhs: base.BCOO, dimension_numbers: Any) -> tuple[Any, Any]:
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    n_batch = min(lhs.n_batch, rhs.n_batch)
    is_batched = tuple(lhs_batch) == tuple(rhs_batch) == tuple(range(n_batch)) and n_batch
    lhs, rhs = (
        bcoo_update_layout(x, n_batch=n_batch if is_batched else 0, n_dense=0) for x in (lhs, rhs)
    )
    n = lhs.n_batch
    batch = () if n else tuple(lhs_batch)
    theirs = () if n else tuple(rhs_batch)
    free = [a for a in range(n, lhs.ndim) if a not in lhs_contract and a not in lhs_batch]
    other = [a for a in range(n, rhs.ndim) if a not in rhs_contract and a not in rhs_batch]
    sizes = [lhs.shape[axis] for axis in (*batch, *free)] + [rhs.shape[axis] for axis in other]

    def columns(indices: Any, axes: Sequence[int]) -> Any:
        return indices[:, [axis - n for axis in axes]]

    def sparse_product(
        data: Any, indices: Any, other_data: Any, other_indices: Any
    ) -> tuple[Any, Any]:
        ours = columns(indices, (*batch, *lhs_contract))
        same = jnp.all(ours[:, None] == columns(other_indices, (*theirs, *rhs_contract))[None], -1)
        same = same & base.is_inside(indices, lhs.sparse_shape)[:, None]
        same = same & base.is_inside(other_indices, rhs.sparse_shape)[None]
        product = base.masked(same, data[:, None] * other_data[None]).reshape(-1)
        count = (len(data), len(other_data))
        left, right = columns(indices, (*batch, *free)), columns(other_indices, other)
        places = jnp.concatenate(
            [
                jnp.broadcast_to(left[:, None], (*count, left.shape[1])),
                jnp.broadcast_to(right[None], (*count, right.shape[1])),
            ],
            -1,
        )
        places = jnp.where(same[..., None], places, jnp.asarray(sizes, indices.dtype))
        return product, places.reshape(math.prod(count), len(sizes))

    data, indices = base.nfold_vmap(sparse_product, n)(
        *base.full_batches(lhs), *base.full_batches(rhs)
    )
    nse = min(indices.shape[-2], math.prod(sizes))
    return sum_duplicates(data, indices, spinfo=base.SparseInfo((*lhs.shape[:n], *sizes)), nse=nse)


def _dot_general_sampled(A: Any, B: Any, indices: Any, *, dimension_numbers: Any) -> Any:
    return base.extract(indices, lax.dot_general(A, B, dimension_numbers))


bcoo_dot_general_sampled_p = base.sparse_primitive(
    "bcoo_dot_general_sampled", _dot_general_sampled, [True, True, False]
)


def bcoo_dot_general_sampled(
    A: ArrayLike, B: ArrayLike, indices: Any, *, dimension_numbers: DotDimensionNumbers
) -> Array:
    """The elements of a dense product at given coordinates.

    Arguments:
        A: an array.
        B: an array.
        indices: the coordinates, of shape `(*batch, nse, n_sparse)`.
        dimension_numbers: as in `lax.dot_general`.
    """
    elements: Array = bcoo_dot_general_sampled_p.bind(
        *map(jnp.asarray, (A, B, indices)), dimension_numbers=plain_numbers(dimension_numbers)
    )
    return elements


# Convolutions of sparse arrays.


def bcoo_conv_general_dilated(
    lhs: base.BCOO | ArrayLike,
    rhs: base.BCOO | ArrayLike,
    *,
    window_strides: Sequence[int],
    padding: Padding,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: None = None,
) -> base.BCOO:
    """`lax.conv_general_dilated` of sparse arrays, along one axis, of one example and feature.

    Arguments:
        lhs: the input, of shape `(1, 1, n)`, sparse or dense.
        rhs: the kernel, of shape `(1, 1, k)`, sparse or dense.
        window_strides: must be 1.
        padding: as in `lax.conv_general_dilated`.
        lhs_dilation, rhs_dilation, dimension_numbers, feature_group_count: must be the defaults.
        batch_group_count, preferred_element_type, out_sharding: must be the defaults.
        precision: ignored.

    Returns:
        An array of shape `(1, 1, size)` with an element for each pair of elements of the operands.

    Raises:
        NotImplementedError: other shapes or arguments.
        TypeError: the dtypes differ.

    >>> from glassjax.experimental import sparse
    >>> x = sparse.BCOO.fromdense(jnp.array([[[0.0, 1.0, 0.0, 2.0]]]))
    >>> kernel = jnp.array([[[1.0, 10.0]]])
    >>> out = sparse.bcoo_conv_general_dilated(x, kernel, window_strides=(1,), padding="SAME")
    >>> out.todense()
    Array([[[10.,  1., 20.,  2.]]], dtype=float32)
    """
    caller = "bcoo_conv_general_dilated"
    operands = [x if isinstance(x, base.BCOO) else jnp.asarray(x) for x in (lhs, rhs)]
    left, right = operands[0].shape, operands[1].shape
    if any(len(shape) != 3 or shape[:2] != (1, 1) for shape in (left, right)):
        raise NotImplementedError(
            f"{caller}: expected arrays of shape (1, 1, n), found {left} and {right}"
        )
    for name, given in (
        ("window_strides", window_strides),
        ("lhs_dilation", lhs_dilation),
        ("rhs_dilation", rhs_dilation),
    ):
        if given is not None and tuple(given) != (1,):
            raise NotImplementedError(f"{caller}: {name} must be (1,), found {given}")
    numbers = conv_dimension_numbers(left, right, dimension_numbers)
    plain = feature_group_count == batch_group_count == 1
    if not plain or preferred_element_type is not None or out_sharding is not None:
        raise NotImplementedError(
            f"{caller}: group counts must be 1, preferred_element_type and out_sharding None"
        )
    if numbers != conv_dimension_numbers(left, right, None):
        raise NotImplementedError(
            f"{caller}: dimension_numbers must be None, found {dimension_numbers}"
        )
    if operands[0].dtype != operands[1].dtype:
        raise TypeError(f"{caller}: dtypes {operands[0].dtype} and {operands[1].dtype} differ")
    n, k = left[2], right[2]
    ((low, high),) = pads_of(caller, (n,), (k,), (1,), padding)
    size = max(n + low + high - k + 1, 0)
    (x, at), (y, offset) = map(_elements, operands)
    product = (x[:, None] * y[None]).reshape(-1)
    place = (at[:, None] + low - offset[None]).reshape(-1)
    inside = (place >= 0) & (place < size)
    place = jnp.where(inside, place, size)
    return base.BCOO(
        (base.masked(inside, product)[None, None], place[None, None, :, None]), shape=(1, 1, size)
    )


def _elements(mat: Any) -> tuple[Any, Any]:
    """The elements along the last axis, and their positions."""
    if not isinstance(mat, base.BCOO):
        return mat[0, 0], jnp.arange(mat.shape[2])
    mat = bcoo_update_layout(mat, n_batch=0, n_dense=0)
    inside = base.is_inside(mat.indices, mat.sparse_shape)
    return base.masked(inside, mat.data), mat.indices[:, 2]
