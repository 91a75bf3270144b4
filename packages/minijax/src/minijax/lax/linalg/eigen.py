"""Eigenvalues and eigenvectors of symmetric and general matrices; the Schur decomposition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

import numpy as np

import minijax.primitives.lapack as lapack
import minijax.primitives.routines as routines
import minijax_stage2 as stage2
from minijax.lax.indexing.slice_pad_concatenate import slice
from minijax.lax.linalg.cholesky import symmetrized
from minijax.lax.linalg.lu import solve
from minijax.lax.linalg.matrices import (
    check_matrices,
    diagonal,
    eye_like,
    matmul,
    matrices_of,
    mH,
    real_dtype,
    real_part,
    times_columns,
    weak_together,
)
from minijax.lax.shapes.broadcasting import broadcast_in_dim
from minijax.primitives.declare import declare
from minijax.primitives.decomposition import leading_batch
from minijax.primitives.routines import Letter, Routine
from minijax.primitives.sharding_rules import by_batch
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.operation import operation
from minijax_stage2 import Primitive, ShapedArray, bind, typeof
from minijax_stage2.errors import shown
from minijax_stage2.tangent import instantiate
from minijax_stage3.lowering import FunctionBuilder, Value, signature


class EighImplementation(Enum):
    """Algorithms for eigenvalues of symmetric matrices. A CPU has `QR` alone.

    >>> w = lax.linalg.eigh(jnp.eye(2), implementation=lax.linalg.EighImplementation.QR)[1]
    >>> print(w)
    [1. 1.]
    """

    QR = "qr"
    JACOBI = "jacobi"
    QDWH = "qdwh"


class EigImplementation(Enum):
    """Libraries that compute eigenvalues. A CPU has `LAPACK` alone.

    >>> lax.linalg.EigImplementation("lapack")
    <EigImplementation.LAPACK: 'lapack'>
    """

    CUSOLVER = "cusolver"
    MAGMA = "magma"
    LAPACK = "lapack"


eigh_p = Primitive("eigh")
eig_p = Primitive("eig")
schur_p = Primitive("schur")

Avals = Sequence[ShapedArray]


@operation(
    static=("lower", "symmetrize_input", "sort_eigenvalues", "subset_by_index", "implementation")
)
def eigh(
    x: ArrayLike,
    *,
    lower: bool = True,
    symmetrize_input: bool = True,
    sort_eigenvalues: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    implementation: EighImplementation | None = None,
) -> tuple[Array, Array]:
    """The eigenvectors and eigenvalues of symmetric (Hermitian) matrices.

    Arguments:
        x: the matrices.
        lower: whether to read their lower triangle, if they are not symmetrized.
        symmetrize_input: whether to take the mean of each matrix and its transpose.
        sort_eigenvalues: makes no difference: they are in ascending order.
        subset_by_index: the first and the last eigenvalue, the latter exclusive; all by default.
        implementation: None or `EighImplementation.QR`.

    Returns:
        The eigenvectors, in columns, and the eigenvalues. NaN where LAPACK fails.

    Raises:
        NotImplementedError: there is no other `implementation`.
        ValueError: `subset_by_index` is out of bounds.

    >>> a = jnp.array([[2.0, 1.0], [1.0, 2.0]])
    >>> v, w = lax.linalg.eigh(a)
    >>> [f"{x:.2f}" for x in w], bool(jnp.allclose(v * w @ v.T, a, atol=1e-5))
    (['1.00', '3.00'], True)
    """
    if implementation not in (None, EighImplementation.QR):
        raise NotImplementedError(
            f"eigh: implementation must be None or EighImplementation.QR, found {implementation!r}"
        )
    x = matrices_of("eigh", x, square=True)
    if symmetrize_input:
        x = symmetrized(x)
    v, w = bind(eigh_p, x, lower=lower)
    if subset_by_index is not None:
        start, stop = subset_by_index
        *lead, n, _ = typeof(x).shape
        zeros = [0] * len(lead)
        if not 0 <= start <= stop <= n:
            raise ValueError(f"eigh: subset_by_index {subset_by_index} is not within 0 and {n}")
        v = slice(v, [*zeros, 0, start], [*lead, n, stop])
        w = slice(w, [*zeros, start], [*lead, stop])
    return v, w


def _types_of_eigh(x: ShapedArray, *, lower: bool) -> list[ShapedArray]:
    check_matrices("eigh", x, square=True)
    return [x, ShapedArray(x.shape[:-1], real_dtype(x.dtype))]


def _lower_eigh(b: FunctionBuilder, out_avals: Avals, x: Value, *, lower: bool) -> list[Value]:
    info = routines.info_type(x.aval.shape[:-2])
    v, w, failed = routines.call(
        b,
        "eigh",
        [x],
        [*out_avals, info],
        x.aval.ndim - 2,
        in_place={0: 0},
        cpu=lapack.routine(("syevd", "heevd"), x, mode="V", uplo="L" if lower else "U"),
        cuda=Routine("cusolver_syevd_ffi", {"algorithm": Letter("\0"), "lower": lower}),
    )
    return routines.nan_unless_done(b, failed, [v, w])


def _jvp_eigh(
    primals: Sequence[Any], tangents: Sequence[Any], *, lower: bool
) -> tuple[list[Any], list[Any]]:
    """In the basis of eigenvectors the diagonal of the tangent changes the eigenvalues.

    The rest rotates eigenvectors into each other, the more so the closer their eigenvalues are.
    """
    v, w = bind(eigh_p, *primals, lower=lower)
    in_basis = matmul(mH(v), matmul(instantiate(tangents[0]), v))
    turn = stage2.mul(times_columns_of_gaps(w, in_basis), in_basis)
    return [v, w], [matmul(v, turn), real_part(diagonal(in_basis))]


def times_columns_of_gaps(w: Any, like: Any) -> Any:
    """`1 / (w[j] - w[i])` in row i and column j, and 0 on the diagonal, in the dtype of `like`."""
    ndim = typeof(like).ndim
    shape = typeof(like).shape
    rows = broadcast_in_dim(w, shape, list(range(ndim - 1)))
    columns = broadcast_in_dim(w, shape, [*range(ndim - 2), ndim - 1])
    unit = eye_like(rows)
    gaps = stage2.sub(stage2.reciprocal(stage2.add(stage2.sub(columns, rows), unit)), unit)
    return stage2.astype(gaps, typeof(like).dtype)


declare(
    eigh_p,
    abstract_eval=weak_together(_types_of_eigh),
    lower=_lower_eigh,
    vmap=leading_batch(eigh_p),
    sharding=by_batch(eigh_p, 2),
    jvp=_jvp_eigh,
)


@operation(
    static=(
        "compute_left_eigenvectors",
        "compute_right_eigenvectors",
        "enable_eigvec_derivs",
        "implementation",
        "use_magma",
    )
)
def eig(
    x: ArrayLike,
    *,
    compute_left_eigenvectors: bool = True,
    compute_right_eigenvectors: bool = True,
    enable_eigvec_derivs: bool = False,
    implementation: EigImplementation | None = None,
    use_magma: bool | None = None,
) -> list[Array]:
    """The eigenvalues of square matrices, which are complex, and their eigenvectors.

    Arguments:
        x: the matrices.
        compute_left_eigenvectors, compute_right_eigenvectors: which of them to return.
        enable_eigvec_derivs: whether right eigenvectors, too, have derivatives.
        implementation: None or `EigImplementation.LAPACK`.
        use_magma: must be None or False.

    Returns:
        The eigenvalues, then the left, then the right eigenvectors, each in columns. NaN where
        LAPACK fails.

    Raises:
        ValueError: there is no other `implementation`.
        NotImplementedError: `use_magma` is True.

    >>> a = jnp.array([[0.0, 1.0], [-1.0, 0.0]])
    >>> w, v = lax.linalg.eig(a, compute_left_eigenvectors=False)
    >>> bool(jnp.allclose(a @ v, v * w, atol=1e-5))
    True
    """
    if implementation not in (None, EigImplementation.LAPACK):
        raise ValueError(
            "eig: implementation must be None or EigImplementation.LAPACK, found "
            f"{implementation!r}"
        )
    for name, flag in (
        ("compute_left_eigenvectors", compute_left_eigenvectors),
        ("compute_right_eigenvectors", compute_right_eigenvectors),
    ):
        if not isinstance(flag, bool | np.bool_):
            raise TypeError(f"eig: {name} must be a bool, found {shown(flag)}")
    if use_magma:
        raise NotImplementedError("eig: use_magma must be None or False: that is for GPUs")
    return bind(
        eig_p,
        matrices_of("eig", x, square=True),
        left=bool(compute_left_eigenvectors),
        right=bool(compute_right_eigenvectors),
        derivatives=enable_eigvec_derivs,
    )


def _types_of_eig(
    x: ShapedArray, *, left: bool, right: bool, derivatives: bool
) -> list[ShapedArray]:
    check_matrices("eig", x, square=True)
    dtype = np.result_type(x.dtype, np.complex64)
    vectors = ShapedArray(x.shape, dtype)
    return [ShapedArray(x.shape[:-1], dtype), *[vectors] * (left + right)]


def _lower_eig(
    b: FunctionBuilder,
    out_avals: Avals,
    x: Value,
    *,
    left: bool,
    right: bool,
    derivatives: bool,
) -> list[Value]:
    values = out_avals[0]
    vectors = ShapedArray(x.aval.shape, values.dtype)
    parts = ShapedArray(values.shape, real_dtype(values.dtype))
    is_real = x.aval.dtype.kind == "f"
    info = routines.info_type(x.aval.shape[:-2])
    outs = [*([parts, parts] if is_real else [values]), vectors, vectors, info]
    letters = {"compute_left": "V" if left else "N", "compute_right": "V" if right else "N"}
    *w, of_left, of_right, failed = routines.call(
        b,
        "eig",
        [x],
        outs,
        x.aval.ndim - 2,
        cpu=lapack.routine("geev", x, **letters),
        cuda=Routine(
            "cuhybrid_eig_real" if is_real else "cuhybrid_eig_comp",
            {"left": left, "magma": "auto", "right": right},
        ),
    )
    if is_real:
        names = ", ".join(part.name for part in w)
        w = b.emit(f"stablehlo.complex {names} : {signature(w, [values])}", values)
    chosen = [*w, *([of_left] if left else []), *([of_right] if right else [])]
    return routines.nan_unless_done(b, failed, chosen)


def _jvp_eig(
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    left: bool,
    right: bool,
    derivatives: bool,
) -> tuple[list[Any], list[Any]]:
    if left or (right and not derivatives):
        raise NotImplementedError(
            "eig: eigenvectors have no derivatives; eigenvalues have, computed alone "
            "(jnp.linalg.eigvals), and right eigenvectors with enable_eigvec_derivs=True"
        )
    (x,) = primals
    w, v = bind(eig_p, x, left=False, right=True, derivatives=derivatives)
    t = stage2.astype(instantiate(tangents[0]), typeof(v).dtype)
    in_basis = solve(v, matmul(t, v))
    w_dot = diagonal(in_basis)
    if not right:
        return [w], [w_dot]
    turn = matmul(v, stage2.mul(times_columns_of_gaps(w, in_basis), in_basis))
    # Eigenvectors keep their length, and their largest element its phase, as LAPACK has it.
    along = diagonal(matmul(mH(v), turn))
    return [w, v], [w_dot, stage2.sub(turn, times_columns(v, along))]


declare(
    eig_p,
    abstract_eval=weak_together(_types_of_eig),
    lower=_lower_eig,
    vmap=leading_batch(eig_p),
    sharding=by_batch(eig_p, 2),
    jvp=_jvp_eig,
)


@operation(static=("compute_schur_vectors", "sort_eig_vals", "select_callable"))
def schur(
    x: ArrayLike,
    *,
    compute_schur_vectors: bool = True,
    sort_eig_vals: bool = False,
    select_callable: Callable[..., Any] | None = None,
) -> tuple[Array, Array]:
    """The Schur decomposition of square matrices `x` into `z @ t @ z^H`, with triangular `t`.

    For real matrices it is real; `t` then has 2 by 2 blocks for pairs of complex eigenvalues.

    Arguments:
        x: the matrices.
        compute_schur_vectors: whether to return `z`.
        sort_eig_vals, select_callable: must be False and None.

    Returns:
        `t` and, if requested, `z`. NaN where LAPACK fails.

    >>> a = jnp.array([[1.0, 2.0], [3.0, 4.0]])
    >>> t, z = lax.linalg.schur(a)
    >>> bool(jnp.allclose(z @ t @ z.T, a, atol=1e-5))
    True
    """
    if sort_eig_vals or select_callable is not None:
        raise NotImplementedError("schur: eigenvalues are not sorted")
    vectors = compute_schur_vectors
    return tuple(bind(schur_p, matrices_of("schur", x, square=True), vectors=vectors))


def _types_of_schur(x: ShapedArray, *, vectors: bool) -> list[ShapedArray]:
    check_matrices("schur", x, square=True)
    return [x, x] if vectors else [x]


def _lower_schur(b: FunctionBuilder, out_avals: Avals, x: Value, *, vectors: bool) -> list[Value]:
    info = routines.info_type(x.aval.shape[:-2])
    w = ShapedArray(x.aval.shape[:-1], x.aval.dtype)
    values = [w, w] if x.aval.dtype.kind == "f" else [w]
    outs = [x.aval, x.aval, *values, info, info]
    t, z, *_, failed = routines.call(
        b,
        "schur",
        [x],
        outs,
        x.aval.ndim - 2,
        in_place={0: 0},
        cpu=lapack.routine("gees", x, mode="V" if vectors else "N", sort="N"),
    )
    return routines.nan_unless_done(b, failed, [t, z] if vectors else [t])


def _jvp_schur(primals: Any, tangents: Any, **params: Any) -> Any:
    raise NotImplementedError("schur has no derivative")


declare(
    schur_p,
    abstract_eval=weak_together(_types_of_schur),
    lower=_lower_schur,
    vmap=leading_batch(schur_p),
    sharding=by_batch(schur_p, 2),
    jvp=_jvp_schur,
)

__all__ = ["EigImplementation", "EighImplementation", "eig", "eigh", "schur"]
