"""The QR decomposition, by Householder's reflections."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import minijax.primitives.lapack as lapack
import minijax.primitives.routines as routines
import minijax_stage2 as stage2
from minijax.lax.elementwise.conversion import convert_element_type
from minijax.lax.indexing.slice_pad_concatenate import concatenate, pad, slice
from minijax.lax.linalg.lu import solve
from minijax.lax.linalg.matrices import (
    check_matrices,
    eye_like,
    is_complex,
    matmul,
    matrices_of,
    mH,
    real_part,
    tril,
    triu,
    weak_together,
)
from minijax.lax.linalg.triangular_solve import triangular_solve
from minijax.lax.shapes.creation import full
from minijax.primitives.declare import declare
from minijax.primitives.decomposition import leading_batch, lower_by
from minijax.primitives.routines import Routine
from minijax.primitives.sharding_rules import by_batch
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.operation import operation
from minijax_stage2 import Primitive, ShapedArray, bind, bind1, typeof
from minijax_stage2.tangent import instantiate
from minijax_stage3.lowering import FunctionBuilder, Value

geqrf_p = Primitive("geqrf")
geqp3_p = Primitive("geqp3")
householder_product_p = Primitive("householder_product")
qr_p = Primitive("qr")

Avals = Sequence[ShapedArray]


@operation(static=("pivoting", "full_matrices", "use_magma"))
def qr(
    x: ArrayLike,
    *,
    pivoting: bool = False,
    full_matrices: bool = True,
    use_magma: bool | None = None,
) -> tuple[Any, ...]:
    """The decomposition of matrices `x` into `q @ r`: orthonormal columns, and an upper triangle.

    Arguments:
        x: the matrices.
        pivoting: whether to permute columns of `x` so that the diagonal of `r` decreases.
        full_matrices: whether `q` is square, instead of having the minimal number of columns.
        use_magma: makes no difference on a CPU.

    Returns:
        `q`, `r`, and with `pivoting` the permutation of the columns.

    >>> a = jnp.array([[3.0, 1.0], [4.0, 2.0]])
    >>> q, r = lax.linalg.qr(a, full_matrices=False)
    >>> bool(jnp.allclose(q @ r, a, atol=1e-5))
    True
    """
    x = matrices_of("qr", x)
    if not pivoting:
        q, r = bind(qr_p, x, full_matrices=full_matrices)
        return q, r
    packed, pivots, taus = bind(geqp3_p, x)
    q, r = _unpacked(packed, taus, full_matrices)
    return q, r, stage2.sub(pivots, np.ones((), np.int32))


@operation
def geqrf(a: Any) -> tuple[Any, Any]:
    """The reflections that reduce `a` to an upper triangle, stored below it, and their factors.

    >>> a = jnp.array([[3.0, 1.0], [4.0, 2.0]])
    >>> reflections, taus = lax.linalg.geqrf(a)
    >>> q = lax.linalg.householder_product(reflections, taus)
    >>> bool(jnp.allclose(q @ jnp.triu(reflections), a, atol=1e-5))
    True
    """
    packed, taus = bind(geqrf_p, matrices_of("geqrf", a))
    return packed, taus


@operation
def householder_product(a: ArrayLike, taus: ArrayLike) -> Array:
    """The product of the reflections given by the columns of `a` and the factors `taus`.

    >>> reflections, taus = lax.linalg.geqrf(jnp.array([[3.0, 1.0], [4.0, 2.0]]))
    >>> q = lax.linalg.householder_product(reflections, taus)
    >>> bool(jnp.allclose(q.T @ q, jnp.eye(2), atol=1e-5))
    True
    """
    return bind1(householder_product_p, a, taus)


def _unpacked(packed: Any, taus: Any, full_matrices: bool) -> tuple[Any, Any]:
    """Both factors, from the reflections in the one matrix that LAPACK returns."""
    *lead, m, n = typeof(packed).shape
    k = min(m, n)
    columns = m if full_matrices else k
    zeros = [0] * len(lead)
    if n < columns:
        config = [(0, 0, 0)] * (len(lead) + 1)
        wide = pad(packed, full((), 0, typeof(packed).dtype), [*config, (0, columns - n, 0)])
    else:
        wide = slice(packed, [*zeros, 0, 0], [*lead, m, columns])
    q = bind1(householder_product_p, wide, taus)
    r = triu(slice(packed, [*zeros, 0, 0], [*lead, columns, n]))
    return q, r


def _taus_type(x: ShapedArray) -> ShapedArray:
    *lead, m, n = x.shape
    return ShapedArray((*lead, min(m, n)), x.dtype)


def _types_of_geqrf(x: ShapedArray) -> list[ShapedArray]:
    check_matrices("qr", x)
    return [x, _taus_type(x)]


def _lower_geqrf(b: FunctionBuilder, out_avals: Avals, x: Value) -> list[Value]:
    return routines.call(
        b,
        "geqrf",
        [x],
        out_avals,
        x.aval.ndim - 2,
        in_place={0: 0},
        cpu=lapack.routine("geqrf", x),
        cuda=Routine("cusolver_geqrf_ffi"),
    )


declare(
    geqrf_p,
    abstract_eval=weak_together(_types_of_geqrf),
    lower=_lower_geqrf,
    vmap=leading_batch(geqrf_p),
    sharding=by_batch(geqrf_p, 2),
    jvp=lambda primals, tangents: _no_derivative("geqrf"),
)


def _types_of_geqp3(x: ShapedArray) -> list[ShapedArray]:
    check_matrices("qr", x)
    pivots = ShapedArray((*x.shape[:-2], x.shape[-1]), np.int32)
    return [x, pivots, _taus_type(x)]


def _lower_geqp3(b: FunctionBuilder, out_avals: Avals, x: Value) -> list[Value]:
    free = b.constant(0, out_avals[1])  # no column has to be among the first
    return routines.call(
        b,
        "qr with pivoting",
        [x, free],
        out_avals,
        x.aval.ndim - 2,
        in_place={0: 0, 1: 1},
        cpu=lapack.routine("geqp3", x),
        cuda=Routine("cuhybrid_geqp3", {"magma": "auto"}),
    )


declare(
    geqp3_p,
    abstract_eval=weak_together(_types_of_geqp3),
    lower=_lower_geqp3,
    vmap=leading_batch(geqp3_p),
    sharding=by_batch(geqp3_p, 2),
    jvp=lambda primals, tangents: _no_derivative("qr with pivoting"),
)


def _type_of_product(a: ShapedArray, taus: ShapedArray) -> list[ShapedArray]:
    check_matrices("householder_product", a)
    *lead, m, n = a.shape
    if (
        m < n
        or not taus.ndim
        or taus.shape[:-1] != tuple(lead)
        or taus.shape[-1] > n
        or taus.dtype != a.dtype
    ):
        raise ValueError(f"householder_product: matrices {a} and factors {taus} do not fit")
    return [a]


def _lower_product(b: FunctionBuilder, out_avals: Avals, a: Value, taus: Value) -> list[Value]:
    return routines.call(
        b,
        "householder_product",
        [a, taus],
        out_avals,
        a.aval.ndim - 2,
        in_place={0: 0},
        cpu=lapack.routine(("orgqr", "ungqr"), a),
        cuda=Routine("cusolver_orgqr_ffi"),
    )


declare(
    householder_product_p,
    abstract_eval=weak_together(_type_of_product),
    lower=_lower_product,
    vmap=leading_batch(householder_product_p),
    sharding=by_batch(householder_product_p, 2, 1),
    jvp=lambda primals, tangents: _no_derivative("householder_product"),
)


def _no_derivative(name: str) -> Any:
    raise NotImplementedError(f"{name} has no derivative; that of qr without pivoting is there")


def _factors(x: Any, *, full_matrices: bool) -> list[Any]:
    packed, taus = bind(geqrf_p, x)
    return list(_unpacked(packed, taus, full_matrices))


def _types_of_qr(x: ShapedArray, *, full_matrices: bool) -> list[ShapedArray]:
    check_matrices("qr", x)
    *lead, m, n = x.shape
    k = m if full_matrices else min(m, n)
    return [ShapedArray((*lead, m, k), x.dtype), ShapedArray((*lead, k, n), x.dtype)]


def _jvp_qr(
    primals: Sequence[Any], tangents: Sequence[Any], *, full_matrices: bool
) -> tuple[list[Any], list[Any]]:
    """The derivative of as many columns as `q` has; others are `q` times columns of `r`."""
    (x,), t = primals, instantiate(tangents[0])
    m, n = typeof(x).shape[-2:]
    q, r = bind(qr_p, x, full_matrices=full_matrices)
    k = min(m, n)
    thin, square = _columns(q, 0, k), _columns(_rows(r, 0, k), 0, k)
    thin_dot, square_dot = _jvp_of_thin(thin, square, _columns(t, 0, k))
    if m < n:
        products = (matmul(mH(thin_dot), _columns(x, k, n)), matmul(mH(thin), _columns(t, k, n)))
        return [q, r], [thin_dot, _beside(square_dot, stage2.add(*products))]
    if full_matrices and m > n:
        below = full(typeof(_rows(r, k, m)).shape, 0, typeof(r).dtype)
        others = _jvp_of_complement(thin, thin_dot)
        return [q, r], [_beside(thin_dot, others), _above(square_dot, below)]
    return [q, r], [thin_dot, square_dot]


def _jvp_of_thin(q: Any, r: Any, t: Any) -> tuple[Any, Any]:
    """`q^H dq` is antisymmetric, `dr` an upper triangle: so `q^H t r^-1` is split."""
    by_r = triangular_solve(r, t)
    both = matmul(mH(q), by_r)
    below = tril(both, -1)
    rotation = stage2.sub(below, mH(below))
    if is_complex(q):  # the diagonal of `r` stays real
        imaginary = stage2.sub(both, convert_element_type(real_part(both), typeof(both).dtype))
        rotation = stage2.add(rotation, stage2.mul(eye_like(both), imaginary))
    change = stage2.sub(both, rotation)
    q_dot = stage2.add(stage2.sub(by_r, matmul(q, both)), matmul(q, rotation))
    return q_dot, matmul(change, r)


def _jvp_of_complement(q: Any, q_dot: Any) -> Any:
    """The derivative of the other columns, which the reflections of `q` determine.

    With unit columns `e`, the product of the reflections is `e - v t v^H`, of `v` a lower
    trapezoid; so the others are `e + (q - e_q) share^H`, where `share` times the upper rows of
    `q - e_q` are its lower ones.
    """
    m, n = typeof(q).shape[-2:]
    upper, lower = stage2.sub(_rows(q, 0, n), eye_like(_rows(q, 0, n))), _rows(q, n, m)
    apart = _above(upper, lower)
    share = mH(solve(mH(upper), mH(lower)))
    rest = stage2.sub(_rows(q_dot, n, m), matmul(share, _rows(q_dot, 0, n)))
    share_dot = mH(solve(mH(upper), mH(rest)))
    return stage2.add(matmul(q_dot, mH(share)), matmul(apart, mH(share_dot)))


def _beside(x: Any, y: Any) -> Any:
    return concatenate([x, y], typeof(x).ndim - 1)


def _above(x: Any, y: Any) -> Any:
    return concatenate([x, y], typeof(x).ndim - 2)


def _rows(x: Any, start: int, stop: int) -> Any:
    *lead, _, n = typeof(x).shape
    return slice(x, [*[0] * len(lead), start, 0], [*lead, stop, n])


def _columns(x: Any, start: int, stop: int) -> Any:
    *lead, m, _ = typeof(x).shape
    return slice(x, [*[0] * len(lead), 0, start], [*lead, m, stop])


declare(
    qr_p,
    abstract_eval=weak_together(_types_of_qr),
    lower=lower_by(_factors),
    vmap=leading_batch(qr_p),
    sharding=by_batch(qr_p, 2),
    jvp=_jvp_qr,
)

__all__ = ["geqrf", "householder_product", "qr"]
