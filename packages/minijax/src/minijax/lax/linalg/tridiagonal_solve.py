"""Linear systems with tridiagonal matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import minijax.primitives.lapack as lapack
import minijax.primitives.routines as routines
from minijax.lax.elementwise.arithmetic import add, mul, neg
from minijax.lax.indexing.slice_pad_concatenate import pad
from minijax.lax.linalg.matrices import check_matrices, matrices_of, weak_together
from minijax.lax.shapes.reshaping import expand_dims
from minijax.primitives.declare import declare
from minijax.primitives.decomposition import leading_batch
from minijax.primitives.routines import Routine
from minijax.primitives.sharding_rules import by_batch
from minijax.runtime.array import Array, ArrayLike
from minijax.runtime.lowering import platform_of
from minijax.runtime.operation import operation
from minijax.settings.promotion import result_type
from minijax_stage2 import Primitive, ShapedArray, Zero, bind1, typeof
from minijax_stage2.promotion import cast
from minijax_stage3.lowering import FunctionBuilder, Value
from minijax_stage4 import UndefPrimal

tridiagonal_solve_p = Primitive("tridiagonal_solve")


@operation(static="perturb_singular")
def tridiagonal_solve(
    dl: ArrayLike, d: ArrayLike, du: ArrayLike, b: ArrayLike, *, perturb_singular: bool = False
) -> Array:
    """The solutions x of `a @ x = b`, for matrices `a` of three diagonals.

    Arguments:
        dl: the diagonal below, as long as `d`: `dl[i]` is `a[i, i - 1]`, and `dl[0]` is ignored.
        d: the diagonal.
        du: the diagonal above: `du[i]` is `a[i, i + 1]`, and the last element is ignored.
        b: matrices with as many rows as `d` has elements.
        perturb_singular: whether to move tiny pivots away from zero, so that singular matrices,
            too, have finite solutions.

    Returns:
        The solutions. NaN where a matrix is singular.

    Raises:
        TypeError: shapes do not match, or `b` is not a matrix.

    >>> import minijax.numpy as jnp
    >>> ones = jnp.ones(3)
    >>> tridiagonal_solve(0 * ones, 2 * ones, ones, jnp.array([[4.0], [5.0], [6.0]]))[:, 0]
    Array([1.5, 1. , 3. ], dtype=float32)
    """
    meeting = result_type(*map(typeof, (dl, d, du, b)))
    dl, d, du, b = (cast(x, meeting) for x in (dl, d, du, b))
    if typeof(b).ndim < 2:
        raise TypeError(
            f"tridiagonal_solve: b must be a matrix, found {typeof(b)}; b[:, None] is one"
        )
    b = matrices_of("tridiagonal_solve", b)
    dl, d, du = (cast(x, typeof(b)) for x in (dl, d, du))
    return bind1(tridiagonal_solve_p, dl, d, du, b, perturb_singular=perturb_singular)


def _type_of_solution(
    dl: ShapedArray, d: ShapedArray, du: ShapedArray, b: ShapedArray, *, perturb_singular: bool
) -> list[ShapedArray]:
    check_matrices("tridiagonal_solve", b)
    if not dl.shape == d.shape == du.shape == b.shape[:-1]:
        raise TypeError(
            f"tridiagonal_solve: diagonals {dl}, {d}, {du} must have one shape, which is that of "
            f"the columns of the right-hand sides, {b}"
        )
    return [b]


def _lower(
    builder: FunctionBuilder,
    out_avals: Sequence[ShapedArray],
    dl: Value,
    d: Value,
    du: Value,
    b: Value,
    *,
    perturb_singular: bool,
) -> list[Value]:
    operands = [dl, d, du, b]
    batch = b.aval.ndim - 2
    name = "tridiagonal_solve"
    if perturb_singular:
        return routines.call(
            builder,
            name,
            operands,
            out_avals,
            batch,
            cpu=Routine("tridiagonal_solve_perturbed_ffi"),
            cuda=Routine("cu_tridiagonal_solve_perturbed"),
        )
    if platform_of(builder) == "cuda":
        gtsv2 = Routine("cusparse_gtsv2_ffi")
        return routines.call(builder, name, operands, out_avals, batch, in_place={3: 0}, cuda=gtsv2)
    outs = [*(x.aval for x in operands), routines.info_type(b.aval.shape[:-2])]
    in_place = {i: i for i in range(len(operands))}
    gtsv = lapack.routine("gtsv", dl)
    *_, x, failed = routines.call(builder, name, operands, outs, batch, in_place, cpu=gtsv)
    return routines.nan_unless_done(builder, failed, [x])


def _shifted(x: Any, axis: int, by: int) -> Any:
    """`x` shifted along an axis, counted from the end, and filled with zeros.

    `by` is 1 or -1: towards larger or smaller indices.
    """
    config = [(0, 0, 0)] * typeof(x).ndim
    config[axis] = (by, -by, 0)
    return pad(x, np.zeros((), typeof(x).dtype)[()], config)


def _jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, perturb_singular: bool
) -> tuple[list[Any], list[Any]]:
    """`a x' = b' - a' x`."""
    x = bind1(tridiagonal_solve_p, *primals, perturb_singular=perturb_singular)
    *diagonals, _ = primals
    *diagonal_dots, rhs = tangents
    for t, by in zip(diagonal_dots, (1, 0, -1), strict=True):
        if type(t) is not Zero:
            # Shifted last: the tangent that the system ignores meets nothing that may be NaN.
            product = mul(expand_dims(_shifted(t, -1, -by) if by else t, (-1,)), x)
            product = _shifted(product, -2, by) if by else product
            rhs = neg(product) if type(rhs) is Zero else add(rhs, neg(product))
    return [x], [bind1(tridiagonal_solve_p, *diagonals, rhs, perturb_singular=perturb_singular)]


def _transpose_in_sides(
    ct: Any, dl: Any, d: Any, du: Any, b: UndefPrimal, *, perturb_singular: bool
) -> Any:
    below, above = _shifted(du, -1, 1), _shifted(dl, -1, -1)
    return bind1(tridiagonal_solve_p, below, d, above, ct, perturb_singular=perturb_singular)


declare(
    tridiagonal_solve_p,
    abstract_eval=weak_together(_type_of_solution),
    lower=_lower,
    vmap=leading_batch(tridiagonal_solve_p),
    sharding=by_batch(tridiagonal_solve_p, 1, 1, 1, 2),
    jvp=_jvp,
    transpose=(None, None, None, _transpose_in_sides),
)

__all__ = ["tridiagonal_solve"]
