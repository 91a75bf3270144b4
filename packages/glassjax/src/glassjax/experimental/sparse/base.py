"""The class of sparse arrays, BCOO, and its dense form."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple, NoReturn

import numpy as np

from glassjax import numpy as jnp
from glassjax.lax.primitive_names import composite
from glassjax.runtime.array import Array, ArrayLike
from glassjax.transforms.vmap import vmap
from glassjax.tree_util import register_pytree_node_class
from glassjax_stage2 import Tracer

# The base class of sparse arrays.


class SparseEfficiencyError(ValueError):
    """The requested layout stores many more elements than the array has."""


class SparseEfficiencyWarning(UserWarning):
    """An operation stores or computes many more elements than the array has."""


class CuSparseEfficiencyWarning(SparseEfficiencyWarning):
    """An operation does not run on cuSPARSE, as is always the case here."""


def sparse_primitive(
    name: str,
    function: Callable[..., Any],
    linear: Sequence[bool] | None = (),
    several: bool = False,
) -> Any:
    """The primitive of a function of the component arrays of sparse arrays.

    Arguments:
        name: its name.
        function: takes the arrays, and the parameters by keyword.
        linear: whether the result is linear in each operand, or None: see `composite`.
        several: whether there are several results.
    """
    primitive: Any = composite(name, function, linear)
    primitive.multiple_results = several
    return primitive


class JAXSparse:
    """The base class of sparse arrays, pytrees of their component arrays.

    Operations that a class does not support raise `NotImplementedError`.
    """

    buffers: ClassVar[tuple[str, ...]] = ()  # the names of the arrays
    settings: ClassVar[tuple[str, ...]] = ()  # names of arguments other than the shape
    shape: tuple[int, ...]
    data: Any
    __hash__ = None  # type: ignore[assignment]
    __array_ufunc__ = None  # numpy leaves operators to this class

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        register_pytree_node_class(cls)

    @property
    def dtype(self) -> Any:
        """The dtype of the elements."""
        return self.data.dtype

    @property
    def nse(self) -> int:
        """The number of stored elements."""
        return int(self.data.shape[0])

    @property
    def size(self) -> int:
        """The number of elements, stored or not."""
        return math.prod(self.shape)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def T(self) -> Any:
        """The transpose."""
        return self.transpose()

    def tree_flatten(self) -> tuple[tuple[Any, ...], Any]:
        """The arrays, and everything else."""
        arrays = tuple(getattr(self, name) for name in self.buffers)
        return arrays, (self.shape, *(getattr(self, name) for name in self.settings))

    @classmethod
    def tree_unflatten(cls, aux_data: Any, children: Any) -> Any:
        """The inverse of `tree_flatten`; the children may be any objects."""
        new = object.__new__(cls)
        for name, value in zip(("shape", *cls.settings), aux_data, strict=True):
            setattr(new, name, value)
        for name, child in zip(cls.buffers, children, strict=True):
            setattr(new, name, child)
        try:
            # Inside vmap the arrays lack batch axes; results have more of them.
            missing = new._axes_of_arrays() - len(new.shape)
            lead = tuple(new.data.shape[: max(missing, 0)])
        except (AttributeError, TypeError, IndexError):  # the children are not arrays
            return new
        new.shape = (*lead, *new.shape[max(-missing, 0) :])
        return new

    def _axes_of_arrays(self) -> int:
        """The number of axes of a sparse array with these component arrays."""
        return len(self.shape)

    def block_until_ready(self) -> Any:
        """Wait until the arrays are computed; returns `self`."""
        for name in self.buffers:
            getattr(self, name).block_until_ready()
        return self

    def __repr__(self) -> str:
        name = type(self).__name__
        try:
            sizes = ", ".join(map(str, self.shape))
            extra = "".join(
                f", {key}={getattr(self, key)}"
                for key in ("n_batch", "n_dense")
                if getattr(self, key, 0)
            )
            return f"{name}({self.dtype}[{sizes}], nse={self.nse}{extra})"
        except (AttributeError, TypeError):  # inside of a transformation they may be any objects
            return f"{name}(<invalid>)"

    def _lacks(self, operation: str) -> NoReturn:
        raise NotImplementedError(
            f"{type(self).__name__}: there is no {operation}; todense() makes an array, which has"
        )

    def todense(self) -> Any:
        """The dense array that equals this one."""
        self._lacks("todense")

    def transpose(self, axes: Any = None) -> Any:
        """The array with its axes permuted, or reversed."""
        self._lacks("transpose")

    def sum(self, *args: Any, **kwargs: Any) -> Any:
        """The sum along axes."""
        self._lacks("sum")

    def __matmul__(self, other: Any) -> Any:
        self._lacks("@")

    def __rmatmul__(self, other: Any) -> Any:
        self._lacks("@")

    def __mul__(self, other: Any) -> Any:
        self._lacks("*")

    __rmul__ = __mul__

    def __add__(self, other: Any) -> Any:
        self._lacks("+")

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        self._lacks("-")

    __rsub__ = __sub__

    def __neg__(self) -> Any:
        self._lacks("negative")

    def __pos__(self) -> Any:
        return self

    def __getitem__(self, item: Any) -> Any:
        self._lacks("element")

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError(f"{type(self).__name__}: an array without axes has no len()")
        return self.shape[0]


# BCOO: batched sparse arrays, each a list of elements with their coordinates.


class BCOOProperties(NamedTuple):
    """The numbers of batch, sparse and dense axes, and of stored elements."""

    n_batch: int
    n_sparse: int
    n_dense: int
    nse: int


class SparseInfo(NamedTuple):
    """The properties of a sparse array other than its arrays."""

    shape: tuple[int, ...]
    indices_sorted: bool = False
    unique_indices: bool = False


class BCOO(JAXSparse):
    """A sparse array: its elements, and the coordinates of each.

    The first `n_batch` axes are batch axes; each batch entry is a list of `nse` elements. The last
    `n_dense` axes are dense: axes of the elements themselves. Those in between are sparse.
    Coordinates out of bounds mark padding. Elements with equal coordinates add up.

    Arguments:
        args: the elements `data`, of shape `(*batch, nse, *dense)`, and their `indices`, of shape
            `(*batch, nse, n_sparse)`. Batch axes of size 1 broadcast.
        shape: the shape of the array.
        indices_sorted: whether the coordinates are in lexicographic order.
        unique_indices: whether no two elements have the same place.

    Raises:
        ValueError: the shapes do not fit.

    >>> from glassjax.experimental import sparse
    >>> m = sparse.BCOO.fromdense(jnp.array([[0.0, 1.0], [2.0, 0.0]]))
    >>> m, m @ jnp.ones(2)
    (BCOO(float32[2, 2], nse=2), Array([1., 2.], dtype=float32))
    """

    buffers = ("data", "indices")
    settings = ("indices_sorted", "unique_indices")
    indices: Any
    indices_sorted: bool
    unique_indices: bool

    def __init__(
        self,
        args: tuple[Any, Any],
        *,
        shape: Sequence[int],
        indices_sorted: bool = False,
        unique_indices: bool = False,
    ):
        self.data, self.indices = (jnp.asarray(x) for x in args)
        self.shape = tuple(int(n) for n in shape)
        self.indices_sorted, self.unique_indices = indices_sorted, unique_indices
        _check_shapes(self.data.shape, self.indices.shape, self.shape)

    @property
    def _info(self) -> SparseInfo:
        return SparseInfo(self.shape, self.indices_sorted, self.unique_indices)

    @property
    def nse(self) -> int:
        """The number of stored elements, for each batch entry."""
        return int(self.indices.shape[-2])

    @property
    def n_batch(self) -> int:
        """The number of batch axes."""
        return int(self.indices.ndim - 2)

    @property
    def n_sparse(self) -> int:
        """The number of sparse axes."""
        return int(self.indices.shape[-1])

    @property
    def n_dense(self) -> int:
        """The number of axes of the elements."""
        return int(self.data.ndim - 1 - self.n_batch)

    @property
    def sparse_shape(self) -> tuple[int, ...]:
        """The sizes of the sparse axes."""
        return self.shape[self.n_batch : self.n_batch + self.n_sparse]

    def _axes_of_arrays(self) -> int:
        return int(self.data.ndim - 1 + self.indices.shape[-1])

    @classmethod
    def from_scipy_sparse(
        cls, mat: Any, *, index_dtype: Any = None, n_dense: int = 0, n_batch: int = 0
    ) -> BCOO:
        """A matrix of scipy.

        Raises:
            NotImplementedError: `n_dense` or `n_batch` is not 0.
        """
        if n_dense or n_batch:
            raise NotImplementedError("BCOO.from_scipy_sparse: n_dense and n_batch must be 0")
        coo = mat.tocoo()
        indices = np.stack([coo.row, coo.col], 1)
        indices = indices.astype(np.int32 if index_dtype is None else index_dtype)
        return cls((jnp.asarray(coo.data), indices), shape=mat.shape)

    @classmethod
    def _empty(
        cls, shape: Sequence[int], *, dtype: Any = None, index_dtype: Any = "int32",
        n_dense: int = 0, n_batch: int = 0, nse: int = 0,
    ) -> BCOO:  # fmt: skip
        sizes = tuple(shape)
        n_sparse = len(sizes) - n_dense - n_batch
        if n_sparse < 0 or n_dense < 0 or n_batch < 0 or nse < 0:
            raise ValueError(f"empty: shape {sizes} has fewer than n_batch + n_dense axes")
        data = jnp.zeros((*sizes[:n_batch], nse, *sizes[n_batch + n_sparse :]), dtype)
        outside = jnp.asarray(sizes[n_batch : n_batch + n_sparse], index_dtype)
        indices = jnp.broadcast_to(outside, (*sizes[:n_batch], nse, n_sparse))
        return cls((data, indices), shape=sizes, indices_sorted=True, unique_indices=True)

    def _with_data(self, data: Any) -> BCOO:
        return self._with_arrays(data, self.indices, self.shape)

    def _with_arrays(self, data: Any, indices: Any, shape: Sequence[int]) -> BCOO:
        """An array whose elements are as sorted and as unique as in this one."""
        return BCOO(
            (data, indices),
            shape=shape,
            indices_sorted=self.indices_sorted,
            unique_indices=self.unique_indices,
        )


def _check_shapes(
    data: tuple[int, ...], indices: tuple[int, ...], shape: tuple[int, ...]
) -> BCOOProperties:
    """The properties of an array with elements and coordinates of these shapes."""
    n_batch = len(indices) - 2
    n_sparse = indices[-1] if len(indices) > 1 else -1
    n_dense = len(shape) - n_batch - n_sparse
    batch = shape[: max(n_batch, 0)]
    fits = (
        n_batch >= 0
        and 0 <= len(data) - n_batch - 1 == n_dense
        and data[n_batch] == indices[-2]
        and data[n_batch + 1 :] == shape[n_batch + n_sparse :]
        and all(x in (1, n) for x, n in zip(data, batch, strict=False))
        and all(x in (1, n) for x, n in zip(indices, batch, strict=False))
    )
    if not fits:
        raise ValueError(
            "BCOO: data has the shape (*batch, nse, *dense), and indices (*batch, nse, "
            f"n_sparse); found {data} and {indices} for an array of shape {shape}"
        )
    return BCOOProperties(n_batch, n_sparse, n_dense, indices[-2])


# Conversion from dense arrays and back.


def nfold_vmap(fun: Callable[..., Any], count: int) -> Callable[..., Any]:
    """`fun`, mapped over the first `count` axes of its arguments."""
    for _ in range(count):
        fun = vmap(fun)
    return fun


def full_batches(mat: BCOO) -> tuple[Any, Any]:
    """The elements and their coordinates, with all batch axes of full size."""
    batch = mat.shape[: mat.n_batch]
    data, indices = mat.data, mat.indices
    return (
        jnp.broadcast_to(data, (*batch, *data.shape[mat.n_batch :])),
        jnp.broadcast_to(indices, (*batch, *indices.shape[mat.n_batch :])),
    )


def coordinates(indices: Any) -> tuple[Any, ...]:
    """The coordinates of elements, as indices of an array."""
    return tuple(indices[:, i] for i in range(indices.shape[1]))


def is_inside(indices: Any, sizes: tuple[int, ...]) -> Any:
    """True for coordinates within the bounds of this shape."""
    return jnp.all(indices < jnp.asarray(sizes, indices.dtype), -1)


def masked(mask: Any, data: Any) -> Any:
    """The elements where `mask` is true, else zeros."""
    return jnp.where(jnp.expand_dims(mask, range(mask.ndim, data.ndim)), data, 0)


def concrete(caller: str, count: Any) -> int:
    """A number of elements as an int: part of a shape, so it must not depend on traced arrays."""
    if isinstance(count, Tracer):
        raise ValueError(
            f"{caller}: nse must be given within jit, vmap and other transformations, because the "
            "number of nonzero elements is not known there"
        )
    return int(count)


def _coo_todense(data: Any, indices: Any, *, spinfo: SparseInfo) -> Any:
    mat = BCOO((data, indices), shape=spinfo.shape)
    sizes, dense = mat.sparse_shape, mat.shape[mat.n_batch + mat.n_sparse :]

    def todense_example(data: Any, indices: Any) -> Any:
        if not sizes:
            return jnp.sum(data, 0, dtype=data.dtype)
        out = jnp.zeros((*sizes, *dense), data.dtype)
        return out.at[coordinates(indices)].add(data, mode="drop")

    return nfold_vmap(todense_example, mat.n_batch)(*full_batches(mat))


bcoo_todense_p = sparse_primitive("bcoo_todense", _coo_todense, [True, False])


def bcoo_todense(mat: BCOO) -> Array:
    """The dense array that equals this one.

    >>> from glassjax.experimental import sparse
    >>> sparse.bcoo_todense(sparse.eye(2))
    Array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    dense: Array = bcoo_todense_p.bind(mat.data, mat.indices, spinfo=mat._info)
    return dense


def _stored(array: Any, n_batch: int, n_dense: int) -> Any:
    """True for the elements of an array to store."""
    mask = array != 0
    return jnp.any(mask, tuple(range(array.ndim - n_dense, array.ndim))) if n_dense else mask


def _coo_fromdense(
    mat: Any, *, nse: int, n_batch: int, n_dense: int, index_dtype: Any
) -> tuple[Any, Any]:
    sizes = mat.shape[n_batch : mat.ndim - n_dense]

    def nonzero_indices(mask: Any) -> Any:
        if not sizes:
            return jnp.zeros((nse, 0), index_dtype)
        found = jnp.nonzero(mask, size=nse, fill_value=sizes)
        return jnp.stack(found, -1).astype(index_dtype)

    indices = nfold_vmap(nonzero_indices, n_batch)(_stored(mat, n_batch, n_dense))
    return extract(indices, mat), indices


bcoo_fromdense_p = sparse_primitive("bcoo_fromdense", _coo_fromdense, None, several=True)


def bcoo_fromdense(
    mat: ArrayLike,
    *,
    nse: int | None = None,
    n_batch: int = 0,
    n_dense: int = 0,
    index_dtype: Any = np.int32,
) -> BCOO:
    """The nonzero elements of an array.

    Arguments:
        mat: the array.
        nse: the number of elements to store for each batch entry; by default the largest number of
            nonzeros. Surplus places are padding; surplus elements are dropped.
        n_batch: the number of batch axes.
        n_dense: the number of axes of the elements.
        index_dtype: the dtype of the coordinates.

    Raises:
        ValueError: `nse` is not given within a transformation, or there are too few axes.

    >>> from glassjax.experimental import sparse
    >>> sparse.bcoo_fromdense(jnp.array([[0, 3], [0, 0]])).indices
    Array([[0, 1]], dtype=int32)
    """
    array = jnp.asarray(mat)
    n_sparse = array.ndim - n_batch - n_dense
    if n_sparse < 0 or n_batch < 0 or n_dense < 0:
        raise ValueError(
            f"bcoo_fromdense: an array of {array.ndim} axes cannot have {n_batch} batch and "
            f"{n_dense} dense ones"
        )
    if nse is None:
        mask = _stored(array, n_batch, n_dense)
        counts = jnp.sum(mask, tuple(range(n_batch, mask.ndim)))
        nse = concrete("bcoo_fromdense", jnp.max(counts, initial=0))
    pair = bcoo_fromdense_p.bind(
        array, nse=int(nse), n_batch=n_batch, n_dense=n_dense, index_dtype=np.dtype(index_dtype)
    )
    return BCOO(pair, shape=array.shape, indices_sorted=True, unique_indices=True)


def extract(indices: Any, arr: Any, *, assume_unique: bool = True) -> Any:
    """The elements of a dense array at the coordinates of a BCOO."""
    n_batch = indices.ndim - 2

    def extract_example(indices: Any, array: Any) -> Any:
        if not indices.shape[1]:
            rows = jnp.arange(indices.shape[0])
            return masked(rows == 0, jnp.broadcast_to(array, (*rows.shape, *array.shape)))
        data = array.at[coordinates(indices)].get(mode="fill", fill_value=0)
        if not assume_unique:
            same = jnp.all(indices[:, None] == indices[None], -1)
            data = masked(~jnp.any(jnp.tril(same, -1), 1), data)
        return data

    every = jnp.broadcast_to(indices, (*arr.shape[:n_batch], *indices.shape[n_batch:]))
    return nfold_vmap(extract_example, n_batch)(every, arr)


bcoo_extract_p = sparse_primitive("bcoo_extract", extract, [False, True])


def bcoo_extract(sparr: BCOO, arr: ArrayLike, *, assume_unique: bool | None = None) -> BCOO:
    """The elements of a dense array at the coordinates of a sparse array.

    Arguments:
        sparr: the sparse array.
        arr: a dense array of its shape.
        assume_unique: whether no two elements have the same place; `sparr.unique_indices` by
            default. If not, only the first of them gets the element.

    Raises:
        ValueError: the shapes differ.
    """
    array = jnp.asarray(arr)
    if array.shape != sparr.shape:
        raise ValueError(f"bcoo_extract: expected shape {sparr.shape}, found {array.shape}")
    unique = sparr.unique_indices if assume_unique is None else assume_unique

    data = bcoo_extract_p.bind(sparr.indices, array, assume_unique=bool(unique))
    return sparr._with_data(data)
