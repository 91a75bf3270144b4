"""JAX's derivatives of primitives whose derivatives here are faster or more exact.

Where calls are nested, forward mode takes these rules instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from glassjax import lax
from glassjax import numpy as jnp
from glassjax.lax import scattering
from glassjax.lax.cumulative import stride_slice
from glassjax.lax.linalg import eigen, factorizations, matrices
from glassjax.lax.linalg import solve as solves
from glassjax.lax.linalg.matrices import matmul, mH
from glassjax_stage2 import Primitive, Zero, bind, typeof
from glassjax_stage2.jvp import jvp_flat, jvp_rules
from glassjax_stage2.promotion import cast
from glassjax_stage2.tangent import instantiate, sum_of
from glassjax_stage2.trace import Rules

Values = Sequence[Any]


class _OtherRules(Rules):
    """Rules that take the place of the library's own."""

    def __missing__(self, primitive: Primitive) -> Any:
        return jvp_rules[primitive]


jvp_rules_of_jax = _OtherRules("jvp", "jvp_rules_of_jax")


# Quotients. The slope by the denominator, `-out / y` here, does not underflow.


def _div_jvp(primals: Values, tangents: Values) -> Any:
    (x, y), out = primals, lax.div(*primals)
    by_x, by_y = tangents
    terms = [] if type(by_x) is Zero else [by_x / y]
    if type(by_y) is not Zero:
        terms.append(-by_y * x * lax.integer_pow(y, -2))
    return [out], [sum_of(terms, typeof(out), primals)]


jvp_rules_of_jax[lax.div_p] = _div_jvp


# Powers. The slope of the power 0 is 0 here, but NaN by JAX's formula where the base is 0.


def _pow_jvp(primals: Values, tangents: Values) -> Any:
    (x, y), out = primals, lax.pow(*primals)
    by_x, by_y = tangents
    terms = []
    if type(by_x) is not Zero:
        y, one = cast(y, typeof(out)), lax.full_like(out, 1, shape=np.shape(y))
        terms.append(by_x * (y * lax.pow(x, y - one)))
    if type(by_y) is not Zero:
        positive = lax.select(x == 0, lax.full_like(out, 1, shape=np.shape(x)), x)
        terms.append(by_y * (lax.log(positive) * out))
    return [out], [sum_of(terms, typeof(out), primals)]


jvp_rules_of_jax[lax.pow_p] = _pow_jvp


# Products, whose program is differentiated.


def _product_by_halves(x: Any, *, axes: tuple[int, ...]) -> list[Any]:
    shape = typeof(x).shape
    rest = [axis for axis in range(len(shape)) if axis not in axes]
    size, others = math.prod(shape[axis] for axis in axes), [shape[axis] for axis in rest]
    if size == 0:
        return [lax.full_like(x, 1, shape=others)]
    x = lax.reshape(x, [size, *others], [*axes, *rest])
    while size > 1:
        half = size - size // 2
        first, second = stride_slice(x, 0, 0, half), stride_slice(x, 0, half, size)
        if size % 2:
            ends = [(0, 1, 0), *[(0, 0, 0)] * len(rest)]
            second = lax.pad(second, lax.full_like(x, 1, shape=()), ends)
        x, size = first * second, half
    return [lax.squeeze(x, [0])]


# Cumulative products and sums of exponentials, whose associative scan is differentiated.


def _cumulative(combine: Callable[[Any, Any], Any]) -> Callable[..., list[Any]]:
    def cumulate(x: Any, *, axis: int, reverse: bool) -> list[Any]:
        x = lax.rev(x, [axis]) if reverse else x
        out = lax.associative_scan(combine, x, axis=axis)
        return [lax.rev(out, [axis]) if reverse else out]

    return cumulate


def _derived(function: Callable[..., list[Any]], name: str) -> Callable[..., Any]:
    """The jvp rule of a function, by the rules of the operations that it consists of."""

    def rule(primals: Values, tangents: Values, **params: Any) -> Any:
        return jvp_flat(partial(function, **params), primals, tangents, name)

    return rule


for primitive, function in (
    (lax.reduce_prod_p, _product_by_halves),
    (lax.cumprod_p, _cumulative(lax.mul)),
    (lax.cumlogsumexp_p, _cumulative(jnp.logaddexp)),
):
    jvp_rules_of_jax[primitive] = _derived(function, primitive.name)


# Decompositions of matrices. JAX solves two triangular systems for one, symmetrizes what is
# symmetric, reads diagonals by gathers, and adds terms that are 0 for real or square matrices.


def _triangular_solve_jvp(primals: Values, tangents: Values, **params: Any) -> Any:
    (a, b), (by_a, by_b) = primals, tangents
    left = params["left_side"]

    def solve(b: Any) -> Any:
        return lax.linalg.triangular_solve(a, b, **params)

    def multiply(t: Any) -> Any:
        return matmul(t, x) if left else matmul(x, t)

    x = solve(b)
    is_narrow = typeof(x).shape[-1 if left else -2] < typeof(a).shape[-1]
    terms = []
    if type(by_a) is not Zero:
        t = -solves.triangle_of(by_a, **params)
        t = matrices.mT(t) if params["transpose_a"] else t
        t = lax.conj(t) if params["conjugate_a"] else t
        terms.append(solve(multiply(t)) if is_narrow else multiply(solve(t)))
    if type(by_b) is not Zero:
        terms.append(solve(by_b))
    return [x], [sum_of(terms, typeof(x), primals)]


def _exact(x: Any, y: Any) -> Any:
    return jnp.matmul(x, y, precision="highest")


def _diagonal(x: Any) -> Any:
    places = lax.iota(np.int32, min(typeof(x).shape[-2:]))
    return x.at[..., places, places].get(mode="promise_in_bounds")


def _eigh_jvp(primals: Values, tangents: Values, **params: Any) -> Any:
    v, w = bind(eigen.eigh_p, factorizations.symmetrized(primals[0]), **params)
    unit = matrices.eye(typeof(v).shape[-2:], typeof(w).dtype)
    gaps = lax.reciprocal(lax.expand_dims(w, [-2]) - lax.expand_dims(w, [-1]) + unit) - unit
    in_basis = matmul(matmul(mH(v), instantiate(tangents[0])), v)
    return [v, w], [matmul(v, gaps * in_basis), _diagonal(matrices.real_part(in_basis))]


def _qr_jvp(primals: Values, tangents: Values, *, full_matrices: bool) -> Any:
    (x,), t = primals, instantiate(tangents[0])
    m, n = typeof(x).shape[-2:]
    if m < n or (full_matrices and m > n):  # JAX does not differentiate these
        return jvp_rules[factorizations.qr_p](primals, tangents, full_matrices=full_matrices)
    q, r = bind(factorizations.qr_p, x, full_matrices=full_matrices)
    by_r = lax.linalg.triangular_solve(r, t)
    both = mH(q) @ by_r
    below = matrices.tril(both, -1)
    turn = below - mH(below)
    turn = turn + matrices.eye((n, n), typeof(both).dtype) * (both - matrices.real_part(both))
    return [q, r], [q @ (turn - both) + by_r, (both - turn) @ r]


def _lu_jvp(primals: Values, tangents: Values) -> Any:
    factors, *swaps = bind(factorizations.lu_p, *primals)
    *lead, m, n = typeof(factors).shape
    k, dtype = min(m, n), typeof(factors).dtype
    zero, none = lax.full((), 0, dtype), [(0, 0, 0)] * len(lead)
    lower = matrices.tril(factors[..., :k], -1)
    lower = lax.pad(lower, zero, [*none, (0, 0, 0), (0, m - k, 0)]) + matrices.eye((m, m), dtype)
    others = lax.pad(matrices.eye((n - k, n - k), dtype), zero, [(k, 0, 0)] * 2)
    upper = matrices.triu(factors[..., :k, :])
    upper = lax.pad(upper, zero, [*none, (0, n - k, 0), (0, 0, 0)]) + others
    rows = jnp.vectorize(lambda t, at: t[at], signature="(m,n),(m)->(m,n)")
    t = rows(instantiate(tangents[0]), swaps[1])
    both = lax.linalg.triangular_solve(lower, t, left_side=True, lower=True, unit_diagonal=True)
    both = lax.linalg.triangular_solve(upper, both)
    change = _exact(lower, matrices.tril(both, -1)) + _exact(matrices.triu(both), upper)
    return [factors, *swaps], [change, *map(Zero.like, swaps)]


def _svd_jvp(
    primals: Values, tangents: Values, *, full_matrices: bool, compute_uv: bool, **params: Any
) -> Any:
    (x,), t = primals, instantiate(tangents[0])
    m, n = typeof(x).shape[-2:]
    if compute_uv and full_matrices and m != n:
        return jvp_rules[eigen.svd_p](primals, tangents, full_matrices=True, compute_uv=True)
    s, u, vh = bind(eigen.svd_p, x, full_matrices=False, compute_uv=True, **params)
    uh, v, row = mH(u), mH(vh), lax.expand_dims(s, [-2])
    in_basis = _exact(_exact(uh, t), v)
    s_dot = _diagonal(matrices.real_part(in_basis))
    if not compute_uv:
        return [s], [s_dot]
    squares = (row + mH(row)) * (row - mH(row))
    unit = matrices.eye([min(m, n)] * 2, typeof(s).dtype)
    gaps = 1 / (squares + unit) - unit
    by_columns, by_rows = row * in_basis, mH(row) * in_basis
    is_zero = lax.convert_element_type(s == 0, typeof(s).dtype)
    inverse = 1 / (s + is_zero) - is_zero
    places = lax.iota(np.int32, min(m, n))
    inverses = jnp.zeros_like(squares).at[..., places, places].set(inverse)
    phases = 0.5 * (in_basis - mH(in_basis)) * inverses
    u_dot = _exact(u, gaps * (by_columns + mH(by_columns)) + phases)
    v_dot = _exact(v, gaps * (by_rows + mH(by_rows)))
    if m > n:
        rest = _exact(t, v)
        u_dot = u_dot + (rest - _exact(u, _exact(uh, rest))) / row
    if n > m:
        rest = _exact(mH(t), u)
        v_dot = v_dot + (rest - _exact(v, _exact(vh, rest))) / row
    return [s, u, vh], [s_dot, u_dot, mH(v_dot)]


for primitive, rule in (
    (solves.triangular_solve_p, _triangular_solve_jvp),
    (eigen.eigh_p, _eigh_jvp),
    (eigen.svd_p, _svd_jvp),
    (factorizations.lu_p, _lu_jvp),
    (factorizations.qr_p, _qr_jvp),
):
    jvp_rules_of_jax[primitive] = rule


# Scatters: JAX finds which of the updates of one element remains, and which share an extremum.


def _scatter_jvp(primals: Values, tangents: Values, **params: Any) -> Any:
    (x, indices, updates), (x_dot, _, updates_dot) = primals, tangents
    if type(x_dot) is type(updates_dot) is Zero or params["unique_indices"]:
        return jvp_rules[scattering.scatter_p](primals, tangents, **params)
    dots = instantiate(x_dot), instantiate(updates_dot)
    shape, window = np.shape(updates), params["dimension_numbers"].update_window_dims
    sizes = [1 if axis in window else size for axis, size in enumerate(shape)]
    numbers = lax.reshape(lax.iota(np.uint32, math.prod(sizes)), sizes)
    numbers = jnp.broadcast_to(numbers, shape) + lax.full(shape, 1, np.uint32)
    unreached = lax.full(np.shape(x), 0, np.uint32)
    numbered = lax.scatter(unreached, indices, numbers, **params)
    last = scattering.gathered_like(
        numbered,
        indices,
        shape,
        params,
        mode=lax.GatherScatterMode.PROMISE_IN_BOUNDS,
        fill_value=None,
    )

    def masked(x: Any, updates: Any) -> tuple[Any, Any]:
        is_free = numbered == lax.full(np.shape(x), 0, np.uint32)
        x = lax.select(is_free, x, jnp.zeros_like(x))
        return x, lax.select(numbers == last, updates, jnp.zeros_like(updates))

    pairs = [masked(x, updates), masked(*dots)]
    out, out_dot = (lax.scatter_add(x, indices, updates, **params) for x, updates in pairs)
    return [out], [out_dot]


def _extremum_jvp(scatter: Any, primals: Values, tangents: Values, **params: Any) -> Any:
    (x, indices, updates), (x_dot, _, updates_dot) = primals, tangents
    out = scatter(x, indices, updates, **params)
    if type(x_dot) is type(updates_dot) is Zero:
        return [out], [Zero.like(out)]
    x_dot, updates_dot = instantiate(x_dot), instantiate(updates_dot)

    def gathered(x: Any) -> Any:
        return scattering.gathered_like(x, indices, np.shape(updates), params, fill_value=None)

    def counted(each: Any) -> Any:
        return gathered(lax.scatter_add(zeros, indices, each, **params))

    old, new = gathered(x), gathered(out)
    is_update, is_old = updates == new, old == new
    zeros = jnp.zeros_like(x)
    ones = jnp.ones_like(updates)
    update_count = counted(lax.select(is_update, ones, jnp.zeros_like(updates)))
    zeros = jnp.zeros_like(x)
    count = counted(jnp.ones_like(updates))
    share = lax.select(is_old, 1 / (update_count + 1), 1 / update_count)
    share = lax.select(is_update, share, jnp.zeros_like(share))
    kept = 1 / (update_count + 1)
    kept = (-1 + lax.select(is_old, kept, jnp.zeros_like(kept))) / count
    change = gathered(x_dot) * kept + updates_dot * share
    return [out], [lax.scatter_add(x_dot, indices, change, **params)]


jvp_rules_of_jax[scattering.scatter_p] = _scatter_jvp
jvp_rules_of_jax[scattering.scatter_min_p] = partial(_extremum_jvp, lax.scatter_min)
jvp_rules_of_jax[scattering.scatter_max_p] = partial(_extremum_jvp, lax.scatter_max)
