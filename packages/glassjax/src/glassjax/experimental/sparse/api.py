"""Functions of any sparse array: creation, linear systems, derivatives."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from glassjax import numpy as jnp
from glassjax import tree
from glassjax.experimental.sparse.base import BCOO, JAXSparse
from glassjax.experimental.sparse.bcoo_shapes import bcoo_sort_indices
from glassjax.experimental.sparse.bcsr import BCSR
from glassjax.experimental.sparse.coo import COO, CSC, CSR
from glassjax.lax.control_flow.while_loop import while_loop
from glassjax.parallel.jacobian import jacfwd as dense_jacfwd
from glassjax.parallel.jacobian import jacrev as dense_jacrev
from glassjax.primitives.declare import declare
from glassjax.primitives.sharding_rules import by_elements
from glassjax.random.continuous import uniform
from glassjax.random.discrete import choice
from glassjax.random.keys import split
from glassjax.runtime.array import Array, ArrayLike
from glassjax.transforms import autodiff
from glassjax.transforms.vmap import vmap
from glassjax_stage2 import Primitive, Tracer, bind1
from glassjax_stage2.vmap_rules import elementwise

# Creation and conversion of sparse arrays of any class.


_FORMATS: dict[str, Any] = {"bcsr": BCSR, "bcoo": BCOO, "coo": COO, "csr": CSR, "csc": CSC}


todense_p = Primitive("todense")
declare(
    todense_p,
    abstract_eval=lambda x: [x],
    lower=lambda b, out_avals, x: [x],
    vmap=elementwise(todense_p),
    sharding=by_elements(todense_p),
    jvp=[lambda t, out, x: bind1(todense_p, t)],
    transpose=[lambda ct, x: ct],
)


def todense(arr: JAXSparse | ArrayLike) -> Array:
    """The dense array that equals a sparse one; a dense array as it is.

    >>> from glassjax.experimental import sparse
    >>> sparse.todense(sparse.eye(2))
    Array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    if isinstance(arr, JAXSparse):
        dense: Array = arr.todense()
        return dense
    # In functions that `sparsify` transforms, a tracer may stand for a sparse array.
    return bind1(todense_p, arr) if isinstance(arr, Tracer) else jnp.asarray(arr)


def _class_of(sparse_format: str) -> Any:
    if sparse_format not in _FORMATS:
        raise ValueError(
            f"sparse_format must be one of {', '.join(_FORMATS)}, found {sparse_format!r}"
        )
    return _FORMATS[sparse_format]


def empty(
    shape: Sequence[int],
    dtype: Any = None,
    index_dtype: Any = "int32",
    sparse_format: str = "bcoo",
    **kwds: Any,
) -> Any:
    """A sparse array without elements.

    Arguments:
        shape: its shape.
        dtype: the dtype of the elements.
        index_dtype: the dtype of their coordinates.
        sparse_format: the class, in lower case: "bcoo", "bcsr", "coo", "csr" or "csc".
        kwds: other arguments of the class, such as `nse`.

    Raises:
        ValueError: there is no such class.
    """
    cls = _class_of(sparse_format)
    return cls._empty(shape, dtype=dtype, index_dtype=index_dtype, **kwds)


def eye(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: Any = None,
    index_dtype: Any = "int32",
    sparse_format: str = "bcoo",
    **kwds: Any,
) -> Any:
    """A sparse matrix with ones on a diagonal.

    Arguments:
        N: the number of rows.
        M: the number of columns; None: `N`.
        k: the diagonal: 0 is the main one, positive ones lie above it.
        dtype, index_dtype, sparse_format, kwds: as in `empty`.

    Raises:
        ValueError: there is no such class.
    """
    columns = N if M is None else M
    cls = _class_of(sparse_format)
    return cls._eye(N, columns, k, dtype=dtype, index_dtype=index_dtype, **kwds)


# Derivatives with respect to sparse arrays: sparse arrays with the same coordinates.


def _is_sparse(x: Any) -> bool:
    return isinstance(x, JAXSparse)


def _with_data(mat: Any, data: Any) -> Any:
    (_, *rest), aux_data = mat.tree_flatten()
    return type(mat).tree_unflatten(aux_data, (data, *rest))


def _sparse_derivative(
    transform: Callable[..., Any], restore: Callable[..., Any], has_value: bool = False
) -> Callable[..., Any]:
    """Extend a derivative of functions of dense arrays to functions of sparse ones."""

    def transformation(
        fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False,
        **kwargs: Any,
    ) -> Callable[..., Any]:  # fmt: skip
        numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)

        @functools.wraps(fun)
        def sparse_derivative(*args: Any, **kwds: Any) -> Any:
            given = [args[n] for n in numbers]
            data = [
                tree.map(lambda x: x.data if _is_sparse(x) else x, each, is_leaf=_is_sparse)
                for each in given
            ]

            def dense_fun(data: list[Any]) -> Any:
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

            out = transform(dense_fun, has_aux=has_aux, **kwargs)(data)
            if has_value:
                return out[0], restored(out[1])
            return (restored(out[0]), out[1]) if has_aux else restored(out)

        return sparse_derivative

    return transformation


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
    return mat._with_arrays(data, indices, (*lead, *mat.shape))


_grad = _sparse_derivative(autodiff.grad, _with_data)
_value_and_grad = _sparse_derivative(autodiff.value_and_grad, _with_data, has_value=True)
_jacfwd = _sparse_derivative(dense_jacfwd, _jacobian_of)
_jacrev = _sparse_derivative(dense_jacrev, _jacobian_of)


def grad(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any
) -> Callable[..., Any]:
    """The gradient of a function of sparse arrays.

    Arguments:
        fun: a function whose result is a number; arguments may be sparse arrays.
        argnums: the arguments to differentiate with respect to.
        has_aux: whether it returns a pair, whose second part is returned unchanged.
        kwargs: other arguments of `glassjax.grad`.

    Returns:
        A function that returns gradients. The gradient with respect to a sparse array is a sparse
            array with the same coordinates.

    >>> from glassjax.experimental import sparse
    >>> sparse.grad(lambda m: jnp.sum((m @ jnp.ones(2)) ** 2))(sparse.eye(2)).data
    Array([2., 2.], dtype=float32)
    """
    return _grad(fun, argnums, has_aux, **kwargs)


def value_and_grad(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any
) -> Callable[..., Any]:
    """The value and the `grad` of a function of sparse arrays.

    Arguments:
        fun: function of sparse and dense arrays.
        argnums, has_aux: as in `glassjax.value_and_grad`.
        kwargs: further arguments of `glassjax.value_and_grad`.
    """
    return _value_and_grad(fun, argnums, has_aux, **kwargs)


def jacfwd(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any
) -> Callable[..., Any]:
    """The Jacobian of a function of sparse arrays with one dense result, by forward mode.

    With respect to a sparse array it is sparse, with the axes of the result as batch axes.

    Arguments:
        fun: function of sparse and dense arrays, with one dense result.
        argnums, has_aux: as in `glassjax.jacfwd`.
        kwargs: further arguments of `glassjax.jacfwd`.
    """
    return _jacfwd(fun, argnums, has_aux, **kwargs)


def jacrev(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any
) -> Callable[..., Any]:
    """The Jacobian as `jacfwd` gives it, by reverse mode.

    Arguments:
        fun: as in `jacfwd`.
        argnums, has_aux: as in `glassjax.jacrev`.
        kwargs: further arguments of `glassjax.jacrev`.
    """
    return _jacrev(fun, argnums, has_aux, **kwargs)


jacobian = jacrev


# Linear algebra of sparse matrices: linear systems, and the largest eigenvalues.


def spsolve(
    data: ArrayLike, indices: ArrayLike, indptr: ArrayLike, b: ArrayLike, tol: float = 1e-6,
    reorder: int = 1,
) -> Array:  # fmt: skip
    """The solution of `A @ x = b`, computed with a dense matrix.

    Arguments:
        data: the elements of the square matrix `A`, in the form of `CSR`.
        indices: their columns.
        indptr: where the rows begin.
        b: a vector.
        tol: ignored.
        reorder: ignored.

    Raises:
        ValueError: `b` is not a vector with one number for each row.

    >>> from glassjax.experimental import sparse
    >>> from glassjax.experimental.sparse import api as linalg
    >>> m = sparse.CSR.fromdense(jnp.array([[2.0, 0.0], [1.0, 1.0]]))
    >>> linalg.spsolve(m.data, m.indices, m.indptr, jnp.array([2.0, 3.0]))
    Array([1., 2.], dtype=float32)
    """
    data, indices, indptr, b = (jnp.asarray(x) for x in (data, indices, indptr, b))
    size = indptr.shape[0] - 1
    if b.shape != (size,):
        raise ValueError(f"spsolve: b must be of shape {(size,)}, found {b.shape}")
    matrix = CSR((data, indices, indptr), shape=(size, size))
    return jnp.linalg.solve(matrix.todense(), b)


def lobpcg_standard(
    A: Any, X: ArrayLike, m: int = 100, tol: ArrayLike | None = None
) -> tuple[Array, Array, Array]:
    """The largest eigenvalues of a symmetric matrix, by LOBPCG.

    Arguments:
        A: a matrix, dense or sparse, or the function of its product with `(n, k)` arrays.
        X: the first guess of `k` eigenvectors, of shape `(n, k)`, with `5 * k < n`.
        m: the maximum number of steps.
        tol: the residual, relative to the eigenvalues, at which to stop; by default the precision
            of the dtype.

    Returns:
        The eigenvalues, largest first, the eigenvectors in columns, and the number of steps.

    Raises:
        ValueError: `X` is not such an array.

    Source: A. Knyazev, "Toward the optimal preconditioned eigensolver", 2001.
    """
    start = jnp.asarray(X)
    if start.ndim != 2 or start.shape[1] < 1 or 5 * start.shape[1] >= start.shape[0]:
        raise ValueError(
            f"lobpcg_standard: X must be of shape (n, k) with 0 < 5 * k < n, found {start.shape}"
        )
    k = start.shape[1]
    if isinstance(A, JAXSparse) or not callable(A):
        matrix = A if isinstance(A, JAXSparse) else jnp.asarray(A)

        def times(x: Any) -> Any:
            return matrix @ x

    else:
        times = A
    limit = jnp.finfo(start.dtype).eps if tol is None else tol

    def largest(basis: Any) -> tuple[Any, Any]:
        """The Rayleigh-Ritz method: the best approximations within an orthonormal basis."""
        values, vectors = jnp.linalg.eigh(basis.T @ times(basis))
        return values[::-1][:k], basis @ vectors[:, ::-1][:, :k]

    def lobpcg_cond(state: Any) -> Any:
        step, _, _, _, is_done = state
        return (step < m) & ~is_done

    def lobpcg_step(state: Any) -> Any:
        step, values, x, direction, _ = state
        residual = times(x) - x * values
        sizes = jnp.linalg.norm(residual, axis=0)
        is_done = jnp.all(sizes <= limit * 10 * (jnp.abs(values) + jnp.max(jnp.abs(values))))
        scaled = residual / jnp.where(sizes == 0, 1, sizes)
        basis, _ = jnp.linalg.qr(jnp.concatenate([x, scaled, direction], 1))
        new_values, new = largest(basis)
        change = new - x @ (x.T @ new)
        lengths = jnp.linalg.norm(change, axis=0)
        change = change / jnp.where(lengths == 0, 1, lengths)
        return step + 1, new_values, new, change, is_done

    values, x = largest(jnp.linalg.qr(start)[0])
    state = (jnp.zeros((), jnp.int32), values, x, jnp.zeros_like(x), jnp.zeros((), bool))
    steps, values, x, _, _ = while_loop(lobpcg_cond, lobpcg_step, state)
    return values, x, steps


# Random sparse arrays.


def random_bcoo(
    key: Any,
    shape: Sequence[int],
    *,
    dtype: Any = float,
    indices_dtype: Any = None,
    nse: float = 0.2,
    n_batch: int = 0,
    n_dense: int = 0,
    unique_indices: bool = True,
    sorted_indices: bool = False,
    generator: Callable[..., Any] = uniform,
    **kwds: Any,
) -> BCOO:
    """A sparse array with random elements at random coordinates.

    Arguments:
        key: the key.
        shape: the shape of the array.
        dtype: the dtype of the elements.
        indices_dtype: the dtype of the coordinates; None: int32.
        nse: the number of elements; less than 1, it is a fraction of the array's size.
        n_batch: the number of batch axes.
        n_dense: the number of axes of the elements.
        unique_indices: whether no two elements have the same place.
        sorted_indices: whether they are in order.
        generator: a function of `glassjax.random` that draws the elements.
        kwds: further arguments of `generator`.

    Raises:
        ValueError: there are too few axes, or more elements than places.
    """
    sizes = tuple(shape)
    n_sparse = len(sizes) - n_batch - n_dense
    if n_sparse < 0 or n_batch < 0 or n_dense < 0:
        raise ValueError(f"random_bcoo: shape {sizes} has fewer than n_batch + n_dense axes")
    batch, sparse, dense = (
        sizes[:n_batch], sizes[n_batch : n_batch + n_sparse], sizes[n_batch + n_sparse :],
    )  # fmt: skip
    places = math.prod(sparse)
    count = math.ceil(places * nse) if nse < 1 else int(nse)
    if unique_indices and count > places:
        raise ValueError(f"random_bcoo: there are {places} places for {count} elements")
    index_dtype = jnp.int32 if indices_dtype is None else indices_dtype
    keys = split(key, math.prod(batch) + 1)

    def indices_of(key: Any) -> Any:
        if not sparse:
            return jnp.zeros((count, 0), index_dtype)
        flat = choice(key, places, shape=(count,), replace=not unique_indices)
        return jnp.stack(jnp.unravel_index(flat.astype(index_dtype), sparse), -1)

    data = generator(keys[0], shape=(*batch, count, *dense), dtype=dtype, **kwds)
    indices = vmap(indices_of)(keys[1:]) if math.prod(batch) else jnp.zeros((0, count, n_sparse))
    indices = indices.astype(index_dtype).reshape(*batch, count, n_sparse)
    mat = BCOO((data, indices), shape=sizes, unique_indices=unique_indices)
    return bcoo_sort_indices(mat) if sorted_indices else mat
