"""Eigenvalues, the Schur form, singular values, polar factors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

import numpy as np

import glassjax.primitives.routines as routines
import glassjax_stage2 as stage2
from glassjax.dimensions.expressions import min_size
from glassjax.lax.control_flow.while_loop import while_loop
from glassjax.lax.conversion import convert_element_type
from glassjax.lax.elementwise import abs as absolute
from glassjax.lax.elementwise import where
from glassjax.lax.linalg import matrices
from glassjax.lax.linalg.factorizations import cholesky, qr, solve, symmetrized
from glassjax.lax.linalg.solve import triangular_solve
from glassjax.lax.reductions import reduce_max, reduce_sum
from glassjax.lax.shapes import broadcast_in_dim, broadcasted_iota, full, full_like
from glassjax.lax.slicing import concatenate, slice
from glassjax.lax.transcendental import rsqrt, sqrt
from glassjax.primitives.declare import declare, leading_batch
from glassjax.primitives.routines import Letter, Routine
from glassjax.primitives.sharding_rules import by_batch
from glassjax.runtime.array import Array, ArrayLike
from glassjax.runtime.lowering import platform_of
from glassjax.runtime.operation import operation
from glassjax_stage2 import Primitive, ShapedArray, bind, typeof
from glassjax_stage2.errors import shown
from glassjax_stage2.shaped_array import typeof_named
from glassjax_stage2.tangent import instantiate
from glassjax_stage3.lowering import FunctionBuilder, Value, signature

# Eigenvalues and eigenvectors of symmetric and general matrices; the Schur decomposition.


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
        sort_eigenvalues: ignored: they are in ascending order.
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
    x = matrices.matrices_of("eigh", x, square=True)
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


def _eigh_type(x: ShapedArray, *, lower: bool) -> list[ShapedArray]:
    matrices.check_matrices("eigh", x, square=True)
    return [x, ShapedArray(x.shape[:-1], matrices.real_dtype(x.dtype))]


def _eigh_lower(b: FunctionBuilder, out_avals: Avals, x: Value, *, lower: bool) -> list[Value]:
    info = routines.info_type(x.aval.shape[:-2])
    v, w, failed = routines.call_routine(
        b,
        "eigh",
        [x],
        [*out_avals, info],
        x.aval.ndim - 2,
        in_place={0: 0},
        cpu=routines.routine(("syevd", "heevd"), x, mode="V", uplo="L" if lower else "U"),
        cuda=Routine("cusolver_syevd_ffi", {"algorithm": Letter("\0"), "lower": lower}),
    )
    return routines.nan_unless_done(b, failed, [v, w])


def _eigh_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, lower: bool
) -> tuple[list[Any], list[Any]]:
    """In the basis of eigenvectors the diagonal of the tangent changes the eigenvalues.

    The rest rotates eigenvectors into each other, the more so the closer their eigenvalues are.
    """
    v, w = bind(eigh_p, *primals, lower=lower)
    in_basis = matrices.matmul(matrices.mH(v), matrices.matmul(instantiate(tangents[0]), v))
    turn = times_columns_of_gaps(w, in_basis) * in_basis
    return [v, w], [matrices.matmul(v, turn), matrices.real_part(matrices.diagonal(in_basis))]


def times_columns_of_gaps(w: Any, like: Any) -> Any:
    """`1 / (w[j] - w[i])` in row i and column j, and 0 on the diagonal, in the dtype of `like`."""
    ndim = typeof(like).ndim
    shape = typeof(like).shape
    rows = broadcast_in_dim(w, shape, list(range(ndim - 1)))
    columns = broadcast_in_dim(w, shape, [*range(ndim - 2), ndim - 1])
    unit = matrices.eye_like(rows)
    gaps = stage2.reciprocal(columns - rows + unit) - unit
    return stage2.astype(gaps, typeof(like).dtype)


declare(
    eigh_p,
    abstract_eval=matrices.weak_together(_eigh_type),
    lower=_eigh_lower,
    vmap=leading_batch(eigh_p),
    sharding=by_batch(eigh_p, 2),
    jvp=_eigh_jvp,
)


@operation(
    kinds="fc",
    static=(
        "compute_left_eigenvectors",
        "compute_right_eigenvectors",
        "enable_eigvec_derivs",
        "implementation",
        "use_magma",
    ),
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
        matrices.matrices_of("eig", x, square=True),
        left=bool(compute_left_eigenvectors),
        right=bool(compute_right_eigenvectors),
        derivatives=enable_eigvec_derivs,
    )


def _eig_type(x: ShapedArray, *, left: bool, right: bool, derivatives: bool) -> list[ShapedArray]:
    matrices.check_matrices("eig", x, square=True)
    dtype = np.result_type(x.dtype, np.complex64)
    vectors = ShapedArray(x.shape, dtype)
    return [ShapedArray(x.shape[:-1], dtype), *[vectors] * (left + right)]


def _eig_lower(
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
    parts = ShapedArray(values.shape, matrices.real_dtype(values.dtype))
    is_real = x.aval.dtype.kind == "f"
    info = routines.info_type(x.aval.shape[:-2])
    outs = [*([parts, parts] if is_real else [values]), vectors, vectors, info]
    letters = {"compute_left": "V" if left else "N", "compute_right": "V" if right else "N"}
    *w, left_vectors, right_vectors, failed = routines.call_routine(
        b,
        "eig",
        [x],
        outs,
        x.aval.ndim - 2,
        cpu=routines.routine("geev", x, **letters),
        cuda=Routine(
            "cuhybrid_eig_real" if is_real else "cuhybrid_eig_comp",
            {"left": left, "magma": "auto", "right": right},
        ),
    )
    if is_real:
        names = ", ".join(part.name for part in w)
        w = b.emit(f"stablehlo.complex {names} : {signature(w, [values])}", values)
    chosen = [*w, *([left_vectors] if left else []), *([right_vectors] if right else [])]
    return routines.nan_unless_done(b, failed, chosen)


def _eig_jvp(
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
    in_basis = solve(v, matrices.matmul(t, v))
    w_dot = matrices.diagonal(in_basis)
    if not right:
        return [w], [w_dot]
    turn = matrices.matmul(v, times_columns_of_gaps(w, in_basis) * in_basis)
    # Length and phase of eigenvectors are fixed: no change along the eigenvector itself.
    along = matrices.diagonal(matrices.matmul(matrices.mH(v), turn))
    return [w, v], [w_dot, turn - matrices.times_columns(v, along)]


declare(
    eig_p,
    abstract_eval=matrices.weak_together(_eig_type),
    lower=_eig_lower,
    vmap=leading_batch(eig_p),
    sharding=by_batch(eig_p, 2),
    jvp=_eig_jvp,
)


@operation(kinds="fc", static=("compute_schur_vectors", "sort_eig_vals", "select_callable"))
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

    Raises:
        NotImplementedError: sorted eigenvalues are requested.
        ValueError: the matrices are not square.

    >>> a = jnp.array([[1.0, 2.0], [3.0, 4.0]])
    >>> t, z = lax.linalg.schur(a)
    >>> bool(jnp.allclose(z @ t @ z.T, a, atol=1e-5))
    True
    """
    if sort_eig_vals or select_callable is not None:
        raise NotImplementedError("schur: eigenvalues are not sorted")
    vectors = compute_schur_vectors
    return tuple(bind(schur_p, matrices.matrices_of("schur", x, square=True), vectors=vectors))


def _schur_type(x: ShapedArray, *, vectors: bool) -> list[ShapedArray]:
    matrices.check_matrices("schur", x, square=True)
    return [x, x] if vectors else [x]


def _schur_lower(b: FunctionBuilder, out_avals: Avals, x: Value, *, vectors: bool) -> list[Value]:
    info = routines.info_type(x.aval.shape[:-2])
    w = ShapedArray(x.aval.shape[:-1], x.aval.dtype)
    values = [w, w] if x.aval.dtype.kind == "f" else [w]
    outs = [x.aval, x.aval, *values, info, info]
    t, z, *_, failed = routines.call_routine(
        b,
        "schur",
        [x],
        outs,
        x.aval.ndim - 2,
        in_place={0: 0},
        cpu=routines.routine("gees", x, mode="V" if vectors else "N", sort="N"),
    )
    return routines.nan_unless_done(b, failed, [t, z] if vectors else [t])


def _schur_jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    raise NotImplementedError("schur has no derivative")


declare(
    schur_p,
    abstract_eval=matrices.weak_together(_schur_type),
    lower=_schur_lower,
    vmap=leading_batch(schur_p),
    sharding=by_batch(schur_p, 2),
    jvp=_schur_jvp,
)


# The singular value decomposition.


svd_p = Primitive("svd")


class SvdAlgorithm(Enum):
    """Algorithms for singular values.

    `DEFAULT` is `DIVIDE_AND_CONQUER` on a CPU; `QR` is slower there, and takes less memory. A CPU
    has no routine for `JACOBI` and `POLAR`.

    >>> x = jnp.array([[3.0, 0.0], [0.0, -2.0]])
    >>> qr = lax.linalg.SvdAlgorithm.QR
    >>> [f"{s:.2f}" for s in lax.linalg.svd(x, compute_uv=False, algorithm=qr)]
    ['3.00', '2.00']
    """

    DEFAULT = "default"
    QR = "QR"
    JACOBI = "Jacobi"
    POLAR = "polar"
    DIVIDE_AND_CONQUER = "divide_and_conquer"


_ROUTINES = {
    SvdAlgorithm.DEFAULT: "gesdd",
    SvdAlgorithm.DIVIDE_AND_CONQUER: "gesdd",
    SvdAlgorithm.QR: "gesvd",
}


@operation(kinds="fc", static=("full_matrices", "compute_uv", "subset_by_index", "algorithm"))
def svd(
    x: ArrayLike,
    *,
    full_matrices: bool = True,
    compute_uv: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    algorithm: SvdAlgorithm | None = None,
) -> Any:
    """The decomposition of matrices `x` into `u @ diag(s) @ vh`, with orthonormal `u` and `vh`.

    Arguments:
        x: the matrices.
        full_matrices: whether `u` and `vh` are square, instead of minimal.
        compute_uv: whether to return them.
        subset_by_index: the first and the last singular value, the latter exclusive; all by
            default. Needs `full_matrices` to be False.
        algorithm: how to compute them, a `SvdAlgorithm`.

    Returns:
        `u`, `s`, `vh`, or `s` alone. The singular values `s` descend. NaN where LAPACK fails.

    Raises:
        TypeError: `algorithm` is not a `SvdAlgorithm`.
        NotImplementedError: it is `JACOBI` or `POLAR`.
        ValueError: `subset_by_index` is out of bounds, or given with `full_matrices`.

    >>> u, s, vt = lax.linalg.svd(jnp.array([[3.0, 0.0], [0.0, -2.0]]))
    >>> [f"{x:.2f}" for x in s]
    ['3.00', '2.00']
    """
    params = _algorithm_params(algorithm)
    x = matrices.matrices_of("svd", x)
    *lead, m, n = typeof(x).shape
    if min_size(m, n) != 0:
        outs = bind(svd_p, x, full_matrices=full_matrices, compute_uv=compute_uv, **params)
    else:
        outs = _empty_svd(x, full_matrices, compute_uv)
    s, u, vh = outs if compute_uv else (*outs, None, None)
    if subset_by_index is not None:
        start, stop = subset_by_index
        zeros = [0] * len(lead)
        if compute_uv and full_matrices and (start, stop) != (0, min_size(m, n)):
            raise ValueError("svd: subset_by_index needs full_matrices=False")
        if not 0 <= start <= stop <= min_size(m, n):
            raise ValueError(f"svd: subset_by_index {subset_by_index} is not within the values")
        s = slice(s, [*zeros, start], [*lead, stop])
        if compute_uv:
            u = slice(u, [*zeros, 0, start], [*lead, m, stop])
            vh = slice(vh, [*zeros, start, 0], [*lead, stop, n])
    return (u, s, vh) if compute_uv else s


def _algorithm_params(algorithm: Any) -> dict[str, Any]:
    """The parameters that choose an algorithm, none for the default.

    Raises:
        TypeError, NotImplementedError: there is no such algorithm, or not here.
    """
    if not isinstance(algorithm, SvdAlgorithm | None):
        raise TypeError(f"svd: algorithm must be a SvdAlgorithm, found {algorithm!r}")
    if algorithm is None or algorithm is SvdAlgorithm.DEFAULT:
        return {}
    if algorithm not in _ROUTINES:
        raise NotImplementedError(
            f"svd: {algorithm} is not available; SvdAlgorithm.DIVIDE_AND_CONQUER and QR are"
        )
    return {"algorithm": algorithm}


def _svd_type(
    x: ShapedArray, *, full_matrices: bool, compute_uv: bool, **params: Any
) -> list[ShapedArray]:
    matrices.check_matrices("svd", x)
    *lead, m, n = x.shape
    k = min_size(m, n)
    s = ShapedArray((*lead, k), matrices.real_dtype(x.dtype))
    if not compute_uv:
        return [s]
    u = ShapedArray((*lead, m, m if full_matrices else k), x.dtype)
    return [s, u, ShapedArray((*lead, n if full_matrices else k, n), x.dtype)]


def _empty_svd(x: Any, full_matrices: bool, compute_uv: bool) -> list[Any]:
    """The decomposition of matrices without rows or columns, which LAPACK does not support."""
    types = _svd_type(typeof(x), full_matrices=full_matrices, compute_uv=compute_uv)
    return [
        full(types[0].shape, 0, types[0].dtype),
        *[matrices.eye(t.shape, t.dtype) for t in types[1:]],
    ]


def _svd_lower(
    b: FunctionBuilder,
    out_avals: Sequence[ShapedArray],
    x: Value,
    *,
    full_matrices: bool,
    compute_uv: bool,
    algorithm: SvdAlgorithm = SvdAlgorithm.DEFAULT,
) -> list[Value]:
    if platform_of(b) == "cuda":
        return _lower_on_cuda(b, out_avals, x, full_matrices, compute_uv)
    *lead, m, n = x.aval.shape
    square = [ShapedArray((*lead, size, size), x.aval.dtype) for size in (m, n)]
    u, vh = out_avals[1:] if compute_uv else square
    outs = [x.aval, out_avals[0], u, vh, routines.info_type(lead)]
    mode = ("A" if full_matrices else "S") if compute_uv else "N"
    routine = routines.routine(_ROUTINES[algorithm], x, mode=mode)
    found = routines.call_routine(b, "svd", [x], outs, len(lead), in_place={0: 0}, cpu=routine)
    _, *factors, failed = found
    return routines.nan_unless_done(b, failed, factors[: len(out_avals)])


def _lower_on_cuda(
    b: FunctionBuilder,
    out_avals: Sequence[ShapedArray],
    x: Value,
    full_matrices: bool,
    compute_uv: bool,
) -> list[Value]:
    """Lower to Jacobi rotations, faster for small matrices, or to the QR algorithm.

    The former have full matrices only, and return `v` in place of its adjoint. The latter takes
    matrices of at least as many rows as columns: others it reads transposed, and swaps `u` and
    `vh`.
    """
    *lead, m, n = x.aval.shape
    batch, dtype, info = len(lead), x.aval.dtype, routines.info_type(lead)
    flags = {"compute_uv": compute_uv, "full_matrices": full_matrices}
    if max(m, n) <= _LARGEST_FOR_JACOBI:
        square = [ShapedArray((*lead, size, size), dtype) for size in (m, n)]
        gesvdj = Routine("cusolver_gesvdj_ffi", {**flags, "full_matrices": True})
        outs = [x.aval, out_avals[0], *square, info]
        _, s, u, v, failed = routines.call_routine(
            b, "svd", [x], outs, batch, in_place={0: 0}, cuda=gesvdj
        )
        factors = [s]
        if compute_uv:
            factors += [_part(b, u, out_avals[1]), _part(b, _adjoint(b, v), out_avals[2])]
        return routines.nan_unless_done(b, failed, factors)
    none = ShapedArray((), dtype)
    u_and_vh = list(out_avals[1:]) if compute_uv else [none, none]
    transposed = m < n
    outs = [x.aval, out_avals[0], *(u_and_vh[::-1] if transposed else u_and_vh), info]
    _, s, *factors, failed = routines.call_routine(
        b,
        "svd",
        [x],
        outs,
        batch,
        in_place={0: 0},
        by_rows=transposed,
        cuda=Routine("cusolver_gesvd_ffi", {**flags, "transposed": transposed}),
    )
    factors = [s, *(factors[::-1] if transposed else factors)]
    return routines.nan_unless_done(b, failed, factors[: len(out_avals)])


_LARGEST_FOR_JACOBI = 1024  # the larger of rows and columns


def _adjoint(b: FunctionBuilder, x: Value) -> Value:
    order = [*range(x.aval.ndim - 2), x.aval.ndim - 1, x.aval.ndim - 2]
    operation = f"stablehlo.transpose {x.name}, dims = {order} : {signature([x], [x.aval])}"
    (out,) = b.emit(operation, x.aval)
    if x.aval.dtype.kind == "c":
        (out,) = b.emit(f'"chlo.conj"({out.name}) : {signature([out], [out.aval])}', out.aval)
    return out


def _part(b: FunctionBuilder, x: Value, out: ShapedArray) -> Value:
    """The upper left corner of each matrix."""
    if x.aval.shape == out.shape:
        return x
    limits = ", ".join(f"0:{size}" for size in out.shape)
    (part,) = b.emit(f"stablehlo.slice {x.name} [{limits}] : {signature([x], [out])}", out)
    return part


def _svd_jvp(
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    full_matrices: bool,
    compute_uv: bool,
    **params: Any,
) -> tuple[list[Any], list[Any]]:
    """In the basis of singular vectors the diagonal of the tangent changes the singular values.

    The rest rotates singular vectors into each other, the more so the closer their values are;
    components outside of their span are divided by their values.
    """
    (x,) = primals
    m, n = typeof(x).shape[-2:]
    if compute_uv and full_matrices and m != n:
        raise NotImplementedError(
            f"svd: has no derivative with full_matrices=True for matrices that are not square, "
            f"found {typeof(x)}; pass full_matrices=False"
        )
    s, u, vh = bind(svd_p, x, full_matrices=False, compute_uv=True, **params)
    t = instantiate(tangents[0])
    v = matrices.mH(vh)
    in_basis = matrices.matmul(matrices.mH(u), matrices.matmul(t, v))
    s_dot = matrices.real_part(matrices.diagonal(in_basis))
    if not compute_uv:
        return [s], [s_dot]
    gaps = stage2.astype(_gaps(s, in_basis), typeof(in_basis).dtype)
    by_columns, by_rows = matrices.times_columns(in_basis, s), matrices.times_rows(in_basis, s)
    turn_u = gaps * (by_columns + matrices.mH(by_columns))
    turn_v = gaps * (by_rows + matrices.mH(by_rows))
    inverse = where(s == 0, s, stage2.full_like(s, 1) / where(s == 0, 1, s))
    if matrices.is_complex(x):  # the phases are a choice: only `u` turns
        half = matrices.times_columns(in_basis - matrices.mH(in_basis), inverse * 0.5)
        turn_u = turn_u + matrices.eye_like(in_basis) * half
    u_dot, v_dot = matrices.matmul(u, turn_u), matrices.matmul(v, turn_v)
    if m > n:
        rest = matrices.matmul(t, v)
        u_dot = u_dot + matrices.times_columns(rest - matrices.matmul(u, in_basis), inverse)
    if n > m:
        rest = matrices.matmul(matrices.mH(t), u)
        v_dot = v_dot + matrices.times_columns(
            rest - matrices.matmul(v, matrices.mH(in_basis)), inverse
        )
    return [s, u, vh], [s_dot, u_dot, matrices.mH(v_dot)]


def _gaps(s: Any, like: Any) -> Any:
    """`1 / (s[j]**2 - s[i]**2)` in row i and column j, and 0 on the diagonal."""
    ndim, shape = typeof(like).ndim, typeof(like).shape
    rows = broadcast_in_dim(s, shape, list(range(ndim - 1)))
    columns = broadcast_in_dim(s, shape, [*range(ndim - 2), ndim - 1])
    unit = matrices.eye_like(rows)
    squares = (columns - rows) * (columns + rows)
    return stage2.reciprocal(squares + unit) - unit


declare(
    svd_p,
    abstract_eval=matrices.weak_together(_svd_type),
    lower=_svd_lower,
    vmap=leading_batch(svd_p),
    sharding=by_batch(svd_p, 2),
    jvp=_svd_jvp,
)


# The polar decomposition by the dynamically weighted Halley iteration (QDWH): Y. Nakatsukasa,
# Z. Bai and F. Gygi, "Optimizing Halley's iteration for computing the matrix polar
# decomposition", 2010.


_ILL_CONDITIONED = 100  # above this weight `1 + c u^H u` is ill-conditioned


@operation(static=("is_hermitian", "max_iterations", "eps"))
def qdwh(
    x: ArrayLike,
    *,
    is_hermitian: bool = False,
    max_iterations: int | None = None,
    eps: float | None = None,
    dynamic_shape: tuple[ArrayLike, ArrayLike] | ArrayLike | None = None,
) -> tuple[Array, Array, Array, Array]:
    """The polar decomposition of a matrix, `x = u @ h`, by products and decompositions alone.

    Source: Nakatsukasa, Bai, Gygi, "Optimizing Halley's iteration for computing the matrix polar
    decomposition", 2010.

    Arguments:
        x: a matrix with at least as many rows as columns, and of full rank.
        is_hermitian: ignored.
        max_iterations: the number of iterations at most; 10 by default.
        eps: the relative precision of `u`; None: the precision of the dtype.
        dynamic_shape: the numbers of the rows and columns that count, also traced; the others are
            taken as zero.

    Returns:
        `u` with orthonormal columns; `h`, Hermitian and positive semidefinite; the number of
        iterations; and whether `u` converged.

    Raises:
        TypeError: `x` is not of real or complex numbers, `eps` is not a number, or `dynamic_shape`
            is not of integers.
        ValueError: it is not a matrix, or has fewer rows than columns; `eps` is not positive, or
            `dynamic_shape` is not two sizes.

    >>> u, h, count, converged = lax.linalg.qdwh(jnp.array([[0.0, -2.0], [3.0, 0.0]]))
    >>> print(u.round(3) + 0, bool(converged))
    [[ 0. -1.]
     [ 1.  0.]] True
    """
    matrices.check_matrices("qdwh", typeof_named("qdwh: x", x))
    aval = typeof(x)
    if aval.ndim != 2 or aval.shape[0] < aval.shape[1]:
        raise ValueError(
            f"qdwh: x must be a matrix with at least as many rows as columns, found {aval}; "
            "decompose the transposed one"
        )
    if dynamic_shape is not None:
        for axis, size in enumerate(_two_sizes(dynamic_shape)):
            x = where(broadcasted_iota("int32", aval.shape, axis) < size, x, full_like(x, 0))
    if eps is None:
        eps = float(np.finfo(aval.dtype).eps)
    if not isinstance(eps, int | float | np.float32):
        raise TypeError(f"qdwh: eps must be a float, found {shown(eps)}")
    if not eps > 0:
        raise ValueError(f"qdwh: eps must be positive, found {eps}")
    limit = 10 if max_iterations is None else max_iterations
    magnitudes = absolute(x)
    columns, rows = (reduce_max(reduce_sum(magnitudes, (axis,)), (0,)) for axis in (0, 1))
    scale = where(columns == 0, full_like(columns, 1), rsqrt(columns) * rsqrt(rows))
    u = x * convert_element_type(scale, aval.dtype)
    tolerance = float(np.cbrt(5 * eps))

    def qdwh_step(u: Any, weights: tuple[float, float, float]) -> tuple[Any, Any]:
        moved = _step_by_cholesky(u, *weights)
        distance = sqrt(reduce_sum(absolute(moved - u) ** 2, (0, 1)))
        return moved, distance > tolerance

    weights = _qdwh_weights(eps, limit)
    moving: Any = np.True_
    for each in weights:
        if each[2] > _ILL_CONDITIONED:
            u = _step_by_qr(u, *each)
        else:
            u, moving = qdwh_step(u, each)

    def not_converged(state: Any) -> Any:
        k, _, moving = state
        return moving & (k < limit)

    halley = (3.0, 1.0, 3.0)
    state: Any = (len(weights), u, moving)
    count, u, moving = while_loop(
        not_converged, lambda s: (s[0] + 1, *qdwh_step(s[1], halley)), state
    )
    u = 1.5 * u - 0.5 * matrices.matmul(
        u, matrices.matmul(matrices.mH(u), u)
    )  # a Newton-Schulz step for the last digits
    h = matrices.matmul(matrices.mH(u), x)
    return u, (h + matrices.mH(h)) / 2, count, ~moving


def _two_sizes(dynamic_shape: Any) -> list[Any]:
    """The two sizes, which may be traced."""
    sizes = list(dynamic_shape) if isinstance(dynamic_shape, list | tuple) else [dynamic_shape]
    avals = [typeof_named("qdwh: dynamic_shape", size) for size in sizes]
    if len(sizes) == 1 and avals[0].shape == (2,):
        sizes, avals = list(sizes[0]), [avals[0].update(shape=())] * 2
    if len(sizes) != 2 or any(aval.shape for aval in avals):
        raise ValueError(f"qdwh: dynamic_shape must be two sizes, found {shown(dynamic_shape)}")
    if not all(np.issubdtype(aval.dtype, np.integer) for aval in avals):
        raise TypeError(f"qdwh: dynamic_shape must be integers, found {shown(dynamic_shape)}")
    return sizes


def _qdwh_weights(eps: float, limit: int) -> list[tuple[float, float, float]]:
    """The weights (a, b, c) of iterations until singular values that were at least `eps` are 1."""
    least = eps
    weights: list[tuple[float, float, float]] = []
    while least + 5 * eps < 1 and len(weights) < limit:
        square = least * least
        d = (4 * (1 / square - 1) / square) ** (1 / 3)
        root = (1 + d) ** 0.5
        a = root + (2 - d + 2 * (2 - square) / (square * root)) ** 0.5
        b = (a - 1) ** 2 / 4
        c = a + b - 1
        least *= (a + b * square) / (1 + c * square)
        weights.append((a, b, c))
    return weights


def _step_by_qr(u: Any, a: float, b: float, c: float) -> Any:
    """`(b/c) u + (a - b/c) u (1 + c u^H u)^-1`, where that is ill-conditioned."""
    rows, columns = typeof(u).shape
    unit = matrices.eye((columns, columns), typeof(u).dtype)
    q, _ = qr(concatenate([c**0.5 * u, unit], 0), full_matrices=False)
    return b / c * u + (a - b / c) / c**0.5 * matrices.matmul(q[:rows], matrices.mH(q[rows:]))


def _step_by_cholesky(u: Any, a: float, b: float, c: float) -> Any:
    """The same by solving with a positive definite matrix."""
    columns = typeof(u).shape[1]
    gram = c * matrices.matmul(matrices.mH(u), u) + matrices.eye(
        (columns, columns), typeof(u).dtype
    )
    factor = cholesky(gram, symmetrize_input=False)
    half = triangular_solve(factor, matrices.mH(u), left_side=True, lower=True)
    solved = triangular_solve(
        factor, half, left_side=True, lower=True, transpose_a=True, conjugate_a=True
    )
    return b / c * u + (a - b / c) * matrices.mH(solved)
