"""Reductions of matrices by Householder reflections, and products with these in factored form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import minijax.primitives.lapack as lapack
import minijax.primitives.routines as routines
from minijax.lax.linalg.matrices import check_matrices, matrices_of, real_dtype, weak_together
from minijax.primitives.declare import Rule, declare
from minijax.primitives.decomposition import leading_batch
from minijax.primitives.routines import Routine
from minijax.primitives.sharding_rules import by_batch
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.operation import operation
from minijax.settings.promotion import result_type
from minijax_stage2 import Primitive, ShapedArray, bind, bind1, typeof
from minijax_stage2.promotion import cast
from minijax_stage3.lowering import FunctionBuilder, Value

hessenberg_p = Primitive("hessenberg")
tridiagonal_p = Primitive("tridiagonal")
ormqr_p = Primitive("ormqr")

Avals = Sequence[ShapedArray]


def _no_derivative(name: str) -> Rule:
    def rule(primals: Any, tangents: Any, **params: Any) -> Any:
        raise NotImplementedError(f"{name} has no derivative")

    return rule


@operation
def hessenberg(a: ArrayLike) -> tuple[Array, Array]:
    """The Hessenberg form of square matrices: zeros below the first subdiagonal.

    Arguments:
        a: the matrices, at least 1 by 1.

    Returns:
        Matrices with that form in their upper triangle and first subdiagonal, and the reflections
        below; and the factors of these.

    Raises:
        ValueError: the matrices are not square, or empty.

    >>> a = jnp.arange(9.0).reshape(3, 3)
    >>> reflections, taus = lax.linalg.hessenberg(a)
    >>> reflections.shape, taus.shape
    ((3, 3), (2,))
    """
    packed, taus = bind(hessenberg_p, matrices_of("hessenberg", a, square=True))
    return packed, taus


def _check_reducible(name: str, a: ShapedArray) -> None:
    check_matrices(name, a, square=True)
    if not a.shape[-1]:
        raise ValueError(f"{name}: takes matrices of at least one row, found {a}")


def _types_of_hessenberg(a: ShapedArray) -> list[ShapedArray]:
    _check_reducible("hessenberg", a)
    return [a, ShapedArray((*a.shape[:-2], a.shape[-1] - 1), a.dtype)]


def _lower_hessenberg(b: FunctionBuilder, out_avals: Avals, a: Value) -> list[Value]:
    outs = [*out_avals, routines.info_type(a.aval.shape[:-2])]
    *reduced, failed = routines.call(
        b,
        "hessenberg",
        [a],
        outs,
        a.aval.ndim - 2,
        in_place={0: 0},
        cpu=lapack.routine("gehrd", a, low=1, high=a.aval.shape[-1]),
    )
    return routines.nan_unless_done(b, failed, reduced)


declare(
    hessenberg_p,
    abstract_eval=weak_together(_types_of_hessenberg),
    lower=_lower_hessenberg,
    vmap=leading_batch(hessenberg_p),
    sharding=by_batch(hessenberg_p, 2),
    jvp=_no_derivative("hessenberg"),
)


@operation(static="lower")
def tridiagonal(a: ArrayLike, *, lower: bool = True) -> tuple[Array, Array, Array, Array]:
    """The tridiagonal form of symmetric (Hermitian) matrices.

    Arguments:
        a: the matrices, at least 1 by 1.
        lower: whether to read their lower triangle instead of the upper.

    Returns:
        Matrices that hold that form, and the reflections in the rest of the triangle; the diagonal;
        the diagonal next to it; and the factors of the reflections.

    Raises:
        ValueError: the matrices are not square, or empty.

    >>> a = jnp.array([[4.0, 1.0, 2.0], [1.0, 3.0, 0.0], [2.0, 0.0, 5.0]])
    >>> _, diagonal, beside, _ = lax.linalg.tridiagonal(a)
    >>> f"{jnp.sum(diagonal):.2f}", beside.shape
    ('12.00', (2,))
    """
    packed, d, e, taus = bind(tridiagonal_p, matrices_of("tridiagonal", a, True), lower=lower)
    return packed, d, e, taus


def _types_of_tridiagonal(a: ShapedArray, *, lower: bool) -> list[ShapedArray]:
    _check_reducible("tridiagonal", a)
    *lead, n, _ = a.shape
    real = real_dtype(a.dtype)
    sides = (*lead, n - 1)
    return [a, ShapedArray((*lead, n), real), ShapedArray(sides, real), ShapedArray(sides, a.dtype)]


def _lower_tridiagonal(
    b: FunctionBuilder, out_avals: Avals, a: Value, *, lower: bool
) -> list[Value]:
    outs = [*out_avals, routines.info_type(a.aval.shape[:-2])]
    *reduced, failed = routines.call(
        b,
        "tridiagonal",
        [a],
        outs,
        a.aval.ndim - 2,
        in_place={0: 0},
        cpu=lapack.routine(("sytrd", "hetrd"), a, uplo="L" if lower else "U"),
        cuda=Routine("cusolver_sytrd_ffi", {"lower": lower}),
    )
    return routines.nan_unless_done(b, failed, reduced)


declare(
    tridiagonal_p,
    abstract_eval=weak_together(_types_of_tridiagonal),
    lower=_lower_tridiagonal,
    vmap=leading_batch(tridiagonal_p),
    sharding=by_batch(tridiagonal_p, 2),
    jvp=_no_derivative("tridiagonal"),
)


@operation(static=("left", "transpose"))
def ormqr(
    a: ArrayLike, taus: ArrayLike, c: ArrayLike, *, left: bool = True, transpose: bool = False
) -> Array:
    """Matrices `c` multiplied by a product of Householder reflections.

    Arguments:
        a, taus: the reflections and their factors, as `geqrf` returns them.
        c: the matrices.
        left: whether to multiply by the reflections from the left.
        transpose: whether to transpose and conjugate their product.

    Raises:
        ValueError: shapes do not match.

    >>> reflections, taus = lax.linalg.geqrf(jnp.array([[3.0, 1.0], [4.0, 2.0]]))
    >>> q = lax.linalg.ormqr(reflections, taus, jnp.eye(2))
    >>> bool(jnp.allclose(q, lax.linalg.householder_product(reflections, taus), atol=1e-5))
    True
    """
    meeting = result_type(*map(typeof, (a, taus, c)))
    a, taus, c = (cast(x, meeting) for x in (a, taus, c))
    return bind1(ormqr_p, matrices_of("ormqr", a), taus, c, left=left, transpose=transpose)


def _type_of_ormqr(
    a: ShapedArray, taus: ShapedArray, c: ShapedArray, *, left: bool, transpose: bool
) -> list[ShapedArray]:
    for x in (a, c):
        check_matrices("ormqr", x)
    if not taus.ndim:
        raise ValueError(f"ormqr: taus must have an axis, found {taus}")
    *lead, m, n = a.shape
    fits = taus.shape[:-1] == tuple(lead) == c.shape[:-2] and taus.shape[-1] <= min(m, n)
    if not fits or c.shape[-2 if left else -1] != m:
        raise ValueError(
            f"ormqr: reflections {a}, their factors {taus} and matrices {c}, which stand at their "
            f"{'right' if left else 'left'}, do not fit"
        )
    return [c]


def _lower_ormqr(
    b: FunctionBuilder,
    out_avals: Avals,
    a: Value,
    taus: Value,
    c: Value,
    *,
    left: bool,
    transpose: bool,
) -> list[Value]:
    flags = {"left": left, "transpose": transpose}
    return routines.call(
        b,
        "ormqr",
        [a, taus, c],
        out_avals,
        a.aval.ndim - 2,
        in_place={2: 0},
        cpu=lapack.routine(("ormqr", "unmqr"), a, **flags),
        cuda=Routine("cusolver_ormqr_ffi", flags),
    )


declare(
    ormqr_p,
    abstract_eval=weak_together(_type_of_ormqr),
    lower=_lower_ormqr,
    vmap=leading_batch(ormqr_p),
    sharding=by_batch(ormqr_p, 2, 1, 2),
    jvp=_no_derivative("ormqr"),
)

__all__ = ["hessenberg", "ormqr", "tridiagonal"]
