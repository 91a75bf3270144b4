"""The singular value decomposition."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any

import minijax.primitives.lapack as lapack
import minijax.primitives.routines as routines
import minijax_stage2 as stage2
from minijax.lax.elementwise.arithmetic import div, mul
from minijax.lax.elementwise.comparisons import eq
from minijax.lax.elementwise.selection import where
from minijax.lax.indexing.slice_pad_concatenate import slice
from minijax.lax.linalg.matrices import (
    check_matrices,
    diagonal,
    eye,
    eye_like,
    is_complex,
    matmul,
    matrices_of,
    mH,
    real_dtype,
    real_part,
    times_columns,
    times_rows,
    weak_together,
)
from minijax.lax.shapes.broadcasting import broadcast_in_dim
from minijax.lax.shapes.creation import full
from minijax.primitives.declare import declare
from minijax.primitives.decomposition import leading_batch
from minijax.primitives.routines import Routine
from minijax.primitives.sharding_rules import by_batch
from minijax.runtime.array import ArrayLike
from minijax.runtime.lowering import platform_of
from minijax.runtime.operation import operation
from minijax_stage2 import Primitive, ShapedArray, add, bind, sub, typeof
from minijax_stage2.tangent import instantiate
from minijax_stage3.lowering import FunctionBuilder, Value, signature

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


@operation(static=("full_matrices", "compute_uv", "subset_by_index", "algorithm"))
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
    how = _how(algorithm)
    x = matrices_of("svd", x)
    *lead, m, n = typeof(x).shape
    if min(m, n):
        outs = bind(svd_p, x, full_matrices=full_matrices, compute_uv=compute_uv, **how)
    else:
        outs = _of_nothing(x, full_matrices, compute_uv)
    s, u, vh = outs if compute_uv else (*outs, None, None)
    if subset_by_index is not None:
        start, stop = subset_by_index
        zeros = [0] * len(lead)
        if compute_uv and full_matrices and (start, stop) != (0, min(m, n)):
            raise ValueError("svd: subset_by_index needs full_matrices=False")
        if not 0 <= start <= stop <= min(m, n):
            raise ValueError(f"svd: subset_by_index {subset_by_index} is not within the values")
        s = slice(s, [*zeros, start], [*lead, stop])
        if compute_uv:
            u = slice(u, [*zeros, 0, start], [*lead, m, stop])
            vh = slice(vh, [*zeros, start, 0], [*lead, stop, n])
    return (u, s, vh) if compute_uv else s


def _how(algorithm: Any) -> dict[str, Any]:
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


def _types_of_svd(
    x: ShapedArray, *, full_matrices: bool, compute_uv: bool, **how: Any
) -> list[ShapedArray]:
    check_matrices("svd", x)
    *lead, m, n = x.shape
    k = min(m, n)
    s = ShapedArray((*lead, k), real_dtype(x.dtype))
    if not compute_uv:
        return [s]
    u = ShapedArray((*lead, m, m if full_matrices else k), x.dtype)
    return [s, u, ShapedArray((*lead, n if full_matrices else k, n), x.dtype)]


def _of_nothing(x: Any, full_matrices: bool, compute_uv: bool) -> list[Any]:
    """The decomposition of matrices without rows or columns, which LAPACK does not support."""
    types = _types_of_svd(typeof(x), full_matrices=full_matrices, compute_uv=compute_uv)
    return [full(types[0].shape, 0, types[0].dtype), *[eye(t.shape, t.dtype) for t in types[1:]]]


def _lower_svd(
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
    routine = lapack.routine(_ROUTINES[algorithm], x, mode=mode)
    found = routines.call(b, "svd", [x], outs, len(lead), in_place={0: 0}, cpu=routine)
    _, *factors, failed = found
    return routines.nan_unless_done(b, failed, factors[: len(out_avals)])


def _lower_on_cuda(
    b: FunctionBuilder,
    out_avals: Sequence[ShapedArray],
    x: Value,
    full_matrices: bool,
    compute_uv: bool,
) -> list[Value]:
    """By Jacobi's rotations, which are faster for matrices that are not large; else by QR's.

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
        _, s, u, v, failed = routines.call(b, "svd", [x], outs, batch, in_place={0: 0}, cuda=gesvdj)
        factors = [s]
        if compute_uv:
            factors += [_part(b, u, out_avals[1]), _part(b, _adjoint(b, v), out_avals[2])]
        return routines.nan_unless_done(b, failed, factors)
    none = ShapedArray((), dtype)
    u_and_vh = list(out_avals[1:]) if compute_uv else [none, none]
    transposed = m < n
    outs = [x.aval, out_avals[0], *(u_and_vh[::-1] if transposed else u_and_vh), info]
    _, s, *factors, failed = routines.call(
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


_LARGEST_FOR_JACOBI = 1024  # rows or columns


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


def _jvp_svd(
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    full_matrices: bool,
    compute_uv: bool,
    **how: Any,
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
            f"found {typeof(x)}; say full_matrices=False"
        )
    s, u, vh = bind(svd_p, x, full_matrices=False, compute_uv=True, **how)
    t = instantiate(tangents[0])
    v = mH(vh)
    in_basis = matmul(mH(u), matmul(t, v))
    s_dot = real_part(diagonal(in_basis))
    if not compute_uv:
        return [s], [s_dot]
    gaps = stage2.astype(_gaps(s, in_basis), typeof(in_basis).dtype)
    by_columns, by_rows = times_columns(in_basis, s), times_rows(in_basis, s)
    turn_u = mul(gaps, add(by_columns, mH(by_columns)))
    turn_v = mul(gaps, add(by_rows, mH(by_rows)))
    inverse = where(eq(s, 0), s, div(stage2.full_like(s, 1), where(eq(s, 0), 1, s)))
    if is_complex(x):  # the phases: only that of `u` is changed
        half = times_columns(sub(in_basis, mH(in_basis)), mul(inverse, 0.5))
        turn_u = add(turn_u, mul(eye_like(in_basis), half))
    u_dot, v_dot = matmul(u, turn_u), matmul(v, turn_v)
    if m > n:
        rest = matmul(t, v)
        u_dot = add(u_dot, times_columns(sub(rest, matmul(u, in_basis)), inverse))
    if n > m:
        rest = matmul(mH(t), u)
        v_dot = add(v_dot, times_columns(sub(rest, matmul(v, mH(in_basis))), inverse))
    return [s, u, vh], [s_dot, u_dot, mH(v_dot)]


def _gaps(s: Any, like: Any) -> Any:
    """`1 / (s[j]**2 - s[i]**2)` in row i and column j, and 0 on the diagonal."""
    ndim, shape = typeof(like).ndim, typeof(like).shape
    rows = broadcast_in_dim(s, shape, list(range(ndim - 1)))
    columns = broadcast_in_dim(s, shape, [*range(ndim - 2), ndim - 1])
    unit = eye_like(rows)
    squares = mul(sub(columns, rows), add(columns, rows))
    return sub(stage2.reciprocal(add(squares, unit)), unit)


declare(
    svd_p,
    abstract_eval=weak_together(_types_of_svd),
    lower=_lower_svd,
    vmap=leading_batch(svd_p),
    sharding=by_batch(svd_p, 2),
    jvp=_jvp_svd,
)

__all__ = ["SvdAlgorithm", "svd"]
