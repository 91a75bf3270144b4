"""Functions of matrices, and matrices of a special form."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import glassjax_stage2 as stage2
from glassjax import lax
from glassjax import numpy as jnp
from glassjax.dtypes import DTypeLike
from glassjax.lax import linalg
from glassjax.lax.linalg.matrices import DTYPES_OF_XLA, matrices_of
from glassjax.numpy.dtypes import default_float
from glassjax.numpy.products import promote_dtypes
from glassjax.numpy.transcendental import inexact_arrays
from glassjax.runtime.array import Array, ArrayLike
from glassjax.runtime.evaluation import made_of_operations
from glassjax.runtime.operation import operation
from glassjax.scipy.linalg.decompositions import schur
from glassjax.transforms.autodiff import jvp
from glassjax_stage2 import typeof
from glassjax_stage2.functions import one_int
from glassjax_stage2.promotion import broadcast_shapes
from glassjax_stage2.shaped_array import dialect, typeof_named

# Matrix functions: the exponential, the square root, and others by the Schur form.


# The largest 1-norm for which the Pade approximant of each order is accurate; beyond, matrices are
# scaled (N. Higham, "The scaling and squaring method for the matrix exponential revisited", 2005).
LIMITS = {
    8: {
        3: 1.495585217958292e-2,
        5: 2.539398330063230e-1,
        7: 9.504178996162932e-1,
        9: 2.097847961257068,
        13: 5.371920351148152,
    },
    4: {3: 4.258730016922831e-1, 5: 1.880152677804762, 7: 3.925724783138660},
}


def _square_product(x: Any, y: Any) -> Any:
    return jnp.matmul(x, y, precision=lax.Precision.HIGHEST)


def _coefficients(order: int) -> list[float]:
    """The coefficients of the numerator of the exponential's Pade approximant; the last is 1."""
    n = order
    return [
        float(math.factorial(2 * n - k) // (math.factorial(n - k) * math.factorial(k)))
        for k in range(n + 1)
    ]


def _pade(order: int) -> Callable[[Any], tuple[Any, Any]]:
    """The odd and the even part of the numerator; the denominator has the odd part negated."""
    b = _coefficients(order)

    def parts(a: Any) -> tuple[Any, Any]:
        square = _square_product(a, a)
        powers = [jnp.eye(a.shape[-1], dtype=a.dtype), square]
        while len(powers) <= min(order // 2, 4 if order < 13 else 3):
            powers.append(_square_product(powers[-1], square))

        def total(first: int, coefficients: Sequence[float]) -> Any:
            """The sum of powers of the square, from its power `first` on."""
            out: Any = 0
            for power, c in zip(powers[first:], coefficients, strict=False):
                out = out + c * power
            return out

        odd, even = (
            total(0, b[1:8:2] if order == 13 else b[1::2]),
            total(0, b[0:8:2] if order == 13 else b[::2]),
        )
        if order == 13:
            odd = odd + _square_product(powers[3], total(1, b[9::2]))
            even = even + _square_product(powers[3], total(1, b[8::2]))
        return _square_product(a, odd), even

    return parts


def _expm(a: Any, upper_triangular: bool, max_squarings: int) -> Any:
    """The matrix exponential by scaling and squaring."""
    dtype = typeof(a).dtype
    size = jnp.linalg.norm(a, 1)
    limits = LIMITS[8 if typeof(size).dtype == np.float64 else 4]
    *orders, last = limits
    squarings = jnp.maximum(0, jnp.floor(jnp.log2(size / limits[last])))
    a = a / (2**squarings).astype(dtype)
    which = sum((size >= limits[order]).astype(np.int32) for order in orders)
    odd, even = lax.switch(which, [_pade(order) for order in limits], a)
    above, below = even + odd, even - odd
    if upper_triangular:
        out = linalg.triangular_solve(below, above, left_side=True)
    else:
        out = jnp.linalg.solve(below, above)

    def square_once(out: Any, i: Any) -> Any:
        return lax.cond(i < squarings, lambda x: _square_product(x, x), lambda x: x, out), None

    steps = jnp.arange(max_squarings, dtype=typeof(squarings).dtype)
    out, _ = lax.scan(square_once, out, steps)
    return jnp.where(squarings > max_squarings, jnp.nan, out)


@operation(static=("upper_triangular", "max_squarings"))
def expm(A: ArrayLike, *, upper_triangular: bool = False, max_squarings: int = 16) -> Array:
    """The exponential of square matrices.

    Arguments:
        A: the matrices.
        upper_triangular: whether all of them are upper triangular, which saves work.
        max_squarings: the maximum number of squarings; the exponential of larger matrices is NaN.

    Raises:
        ValueError: the matrices are not square.

    >>> glassjax.scipy.linalg.expm(jnp.array([[0.0, 1.0], [0.0, 0.0]])).round(3)
    Array([[1., 1.],
           [0., 1.]], dtype=float32)
    """
    (a,) = inexact_arrays(A)
    shape = typeof(a).shape
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise ValueError(f"expm: expected A to be a (batched) square matrix, found {typeof(a)}")
    if not typeof(a).size:
        return a

    def expm_matrix(a: Any) -> Any:
        return _expm(a, upper_triangular, max_squarings)

    return jnp.vectorize(expm_matrix, signature="(n,n)->(n,n)")(a)


@operation(static=("method", "compute_expm"))
def expm_frechet(
    A: ArrayLike, E: ArrayLike, *, method: str | None = None, compute_expm: bool = True
) -> Any:
    """The exponential of square matrices, and its directional derivative.

    Arguments:
        A: the matrices.
        E: the directions, of the same shape.
        method: ignored.
        compute_expm: whether to return the exponential, too.

    Returns:
        The exponential and the derivative, or the derivative.

    Raises:
        ValueError: the matrices are not square, or the shapes differ.

    >>> a, e = jnp.zeros((2, 2)), jnp.eye(2)
    >>> exp_a, derivative = glassjax.scipy.linalg.expm_frechet(a, e)
    >>> derivative.round(3)
    Array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    a, e = inexact_arrays(A, E)
    for name, matrix in (("A", A), ("E", E)):
        matrices_of(f"expm_frechet: {name}", matrix, square=True)
    if typeof(A).shape != typeof(E).shape:
        raise ValueError(
            "expm_frechet: expected A and E to be the same shape, found "
            f"{typeof(A)} and {typeof(E)}"
        )
    out, slope = jvp(expm, (a,), (e,))
    return (out, slope) if compute_expm else slope


def _root_of_triangle(t: Any) -> Any:
    """The square root of an upper triangular matrix, column by column.

    The part above the diagonal in column j solves a triangular system, since the columns before are
    known: `(u[:j, :j] + u[j, j]) @ u[:j, j] = t[:j, j]`.
    """
    n = typeof(t).shape[-1]
    roots = jnp.sqrt(jnp.diagonal(t))
    index = jnp.arange(n)

    def column(j: Any, u: Any) -> Any:
        is_above = index < j
        known = jnp.where(is_above[:, None] & is_above, u, 0)
        pivots = jnp.where(is_above, roots + roots[j], 1)
        pivots = jnp.where(pivots == 0, 1, pivots)  # any root will do: a singular matrix has many
        known = jnp.where(index[:, None] == index, jnp.diag(pivots), known)
        target = jnp.where(is_above, t[:, j], 0)
        solved = linalg.triangular_solve(known, target[:, None], left_side=True)[:, 0]
        return u.at[:, j].add(jnp.where(is_above, solved, 0))

    return lax.fori_loop(0, n, column, jnp.diag(roots))


@operation(static="blocksize")
def sqrtm(A: ArrayLike, blocksize: int = 1) -> Array:
    """The complex square root of a matrix.

    Arguments:
        A: the matrix; for floats narrower than float32 the root is complex64.
        blocksize: must be 1.

    Raises:
        NotImplementedError: `blocksize` is not 1.

    >>> root = glassjax.scipy.linalg.sqrtm(jnp.array([[4.0, 0.0], [0.0, 9.0]]))
    >>> [f"{x.real:.2f}" for x in jnp.diag(root)]
    ['2.00', '3.00']
    """
    if blocksize > 1:
        raise NotImplementedError(f"sqrtm: blocksize must be 1, found {blocksize}")
    A = matrices_of("sqrtm", A, True, DTYPES_OF_XLA)
    t, z = schur(A.astype(np.result_type(np.complex64, typeof(A).dtype)), output="complex")
    return _square_product(_square_product(z, _root_of_triangle(t)), jnp.conj(z.T))


@operation(static=("func", "disp"))
def funm(A: ArrayLike, func: Callable[[Any], Any], disp: bool = True) -> Any:
    """A function of a matrix, defined by a function of its eigenvalues.

    If eigenvalues are equal, or nearly so, the result is not accurate.

    Arguments:
        A: a square matrix.
        func: the function of a complex number.
        disp: whether to omit the error estimate.

    Returns:
        The matrix, which is complex; with `disp=False` also an estimate of its relative error.

    Raises:
        ValueError: `A` is not a square matrix.

    >>> print(funm(jnp.array([[1.0, 2.0], [0.0, 3.0]]), lambda x: x * x).real)
    [[1. 8.]
     [0. 9.]]
    """
    a = matrices_of("funm", A, square=True)
    if typeof(a).ndim != 2:
        raise ValueError(f"funm: takes one square matrix, found {typeof(a)}")
    t, z = schur(a, output="complex")
    values = jnp.diagonal(t)
    gaps = values - values[:, None]
    index = jnp.arange(typeof(t).shape[-1])
    distance = index - index[:, None]

    def funm_diagonal(p: Any, f: Any) -> Any:
        """The diagonal of f at distance p from the main one, from nearer ones: f and t commute."""
        lacking = _square_product(t, f) - _square_product(f, t)
        found = lacking / jnp.where(gaps == 0, 1, gaps)
        return jnp.where(distance == p, found, f)

    mapped_eigenvalues = jnp.vectorize(func)(values)
    typeof_named("funm: the result of func", mapped_eigenvalues)
    f = jnp.diag(mapped_eigenvalues.astype(t.dtype))
    f = lax.fori_loop(1, len(index), funm_diagonal, f)
    out = _square_product(_square_product(z, f), jnp.conj(z.T))
    if disp:
        return out
    eps = jnp.finfo(t.dtype).eps
    sizes = jnp.abs(gaps)
    above = distance > 0
    least = jnp.min(jnp.where(above, sizes, jnp.abs(t[0, 0])))
    least = jnp.where(least == 0, eps, least)
    error = eps / least * jnp.linalg.norm(jnp.where(above, t, 0), 1)
    error = jnp.clip(error, eps, 1)
    return out, jnp.where(jnp.all(jnp.isfinite(f)), error, jnp.inf)


# Special matrices: block diagonal, or with constant diagonals.


@operation
def block_diag(*arrs: ArrayLike) -> Array:
    """A matrix with these matrices along its diagonal, and zeros elsewhere.

    Raises:
        ValueError: one of them has more than two axes.

    >>> glassjax.scipy.linalg.block_diag(jnp.array([[1, 2]]), jnp.array([[3], [4]]))
    Array([[1, 2, 0],
           [0, 0, 3],
           [0, 0, 4]], dtype=int32)
    """
    if not arrs:
        return jnp.zeros((1, 0))
    for arr in arrs:
        if typeof(arr).ndim > 2:
            raise ValueError(f"block_diag: expected at most two axes, found {typeof(arr)}")
    blocks = [
        x if typeof(x).ndim == 2 else stage2.reshape(x, (1, -1)) for x in promote_dtypes(*arrs)
    ]
    width = sum(typeof(x).shape[1] for x in blocks)
    rows, start = [], 0
    for block in blocks:
        columns = typeof(block).shape[1]
        config = [(0, 0, 0), (start, width - start - columns, 0)]
        rows.append(lax.pad(block, lax.full((), 0, typeof(block).dtype), config))
        start += columns
    return lax.concatenate(rows, 0)


@operation
def toeplitz(c: ArrayLike, r: ArrayLike | None = None) -> Array:
    """The Toeplitz matrix with `c` as its first column, `r` (or `c` conjugated) as its first row.

    Each diagonal holds one number. Axes before the last are batch axes.

    >>> glassjax.scipy.linalg.toeplitz(jnp.array([1, 2, 3]), jnp.array([1, 8, 9]))
    Array([[1, 8, 9],
           [2, 1, 8],
           [3, 2, 1]], dtype=int32)
    """
    if r is None:
        r = lax.conj(c) if typeof(c).dtype.kind == "c" else c
    c, r = (jnp.asarray(jnp.atleast_1d(x), typeof(x).dtype) for x in promote_dtypes(c, r))
    return jnp.vectorize(_toeplitz, signature="(m),(n)->(m,n)")(c, r)


def _toeplitz(c: Any, r: Any) -> Any:
    m, n = typeof(c).shape[0], typeof(r).shape[0]
    if m == 0 or n == 0:
        return lax.full((m, n), 0, typeof(c).dtype)
    first = lax.slice(c, [0], [1])
    row = lax.concatenate([first, lax.slice(r, [1], [n])], 0)
    # Repeat the numbers from the end of the column to the end of the row, and one more; cut into
    # rows that are one number shorter, each row begins one number earlier.
    numbers = lax.concatenate([lax.rev(lax.slice(c, [1], [m]), [0]), row, first], 0)
    size = m + n
    over = stage2.reshape(lax.broadcast_in_dim(numbers, (m + 1, size), (1,)), (-1,))
    rows = lax.reshape(lax.slice(over, [m - 1], [m - 1 + m * (size - 1)]), (m, size - 1))
    return lax.slice(rows, [0, 0], [m, n])


@operation
def circulant(c: ArrayLike) -> Array:
    """The circulant matrix with `c` as its first column.

    Axes before the last are batch axes.

    >>> print(circulant(jnp.array([1, 2, 3])))
    [[1 3 2]
     [2 1 3]
     [3 2 1]]
    """
    (c,) = _vectors(c)
    turned = jnp.concatenate([c[..., :1], jnp.flip(c[..., 1:], -1)], -1)
    return toeplitz(c, turned)


@operation
def hankel(c: ArrayLike, r: ArrayLike | None = None) -> Array:
    """The Hankel matrix with `c` as its first column, and `r` as its last row.

    Each antidiagonal holds one number; the corner is the last of `c`. Leading axes are batch axes.

    Arguments:
        c: the first column.
        r: the last row, whose first number is ignored; zeros by default.

    Raises:
        ValueError: `c` or `r` has no axis.

    >>> print(hankel(jnp.array([1, 2, 3]), jnp.array([0, 4, 5])))
    [[1 2 3]
     [2 3 4]
     [3 4 5]]
    """
    if not typeof(c).ndim:
        raise ValueError(f"hankel: c must have an axis, found {typeof(c)}")
    if r is not None and not typeof(r).ndim:
        raise ValueError(f"hankel: r must have an axis, found {typeof(r)}")
    c, r = _vectors(c, jnp.zeros_like(c) if r is None else r)

    def hankel_matrix(c: Any, r: Any) -> Any:
        height, width = typeof(c).shape[0], typeof(r).shape[0]
        if not height or not width:
            return lax.full((height, width), 0, typeof(c).dtype)
        numbers = jnp.concatenate([c, r[1:]])
        return jnp.flip(toeplitz(numbers[width - 1 :], jnp.flip(numbers[:width])), -1)

    return made_of_operations(jnp.vectorize(hankel_matrix, signature="(m),(n)->(m,n)"))(c, r)


@operation
def companion(a: ArrayLike) -> Array:
    """The companion matrix, whose eigenvalues are the roots of a polynomial.

    Arguments:
        a: the coefficients, highest power first. Axes before the last are batch axes.

    Raises:
        ValueError: there are fewer than two coefficients.

    >>> print(companion(jnp.array([1.0, -3.0, 2.0])))
    [[ 3. -2.]
     [ 1.  0.]]
    """
    (a,) = _vectors(*inexact_arrays(a))
    size = typeof(a).shape[-1] - 1
    if size < 1:
        raise ValueError(f"companion: a must hold at least two coefficients, found {typeof(a)}")
    row = -a[..., None, 1:] / a[..., None, :1]
    rest = jnp.eye(size - 1, size, dtype=a.dtype)
    return jnp.concatenate([row, jnp.broadcast_to(rest, (*a.shape[:-1], *rest.shape))], -2)


@operation
def fiedler_companion(a: ArrayLike) -> Array:
    """Fiedler's companion matrix: five diagonals, whose eigenvalues are the roots of a polynomial.

    Arguments:
        a: the coefficients, highest power first; the first is not 0. Axes before the last are batch
            axes.

    Raises:
        ValueError: there are no coefficients.

    >>> print(fiedler_companion(jnp.array([1.0, -6.0, 11.0, -6.0])))
    [[  6. -11.   1.]
     [  1.   0.   0.]
     [  0.   6.   0.]]
    """
    (a,) = _vectors(*inexact_arrays(a))
    size = typeof(a).shape[-1] - 1
    if size < 0:
        raise ValueError(f"fiedler_companion: a must hold a coefficient, found {typeof(a)}")
    out = jnp.zeros((*a.shape[:-1], size, size), a.dtype)
    coefficients = -a[..., 1:] / a[..., :1]
    for k in range(size):  # alternately above and below the diagonal
        above, below = (max(k - 1, 0), k), (k, max(k - 1, 0))
        out = out.at[(..., *(above if k % 2 else below))].set(coefficients[..., k])
        if k:
            one = (k, max(k - 2, 0)) if k % 2 else (k - 2, k)
            out = out.at[(..., *one)].set(1)
    return out


@operation
def fiedler(a: ArrayLike) -> Array:
    """The Fiedler matrix of distances between numbers. Axes before the last are batch axes.

    >>> print(fiedler(jnp.array([1, 4, 6])))
    [[0 3 5]
     [3 0 2]
     [5 2 0]]
    """
    (a,) = _vectors(a)
    return jnp.abs(jnp.expand_dims(a, -1) - jnp.expand_dims(a, -2))


@operation
def leslie(f: ArrayLike, s: ArrayLike) -> Array:
    """The Leslie matrix, which maps a population by age to the population one year later.

    Arguments:
        f: the fecundity at each age, the first row.
        s: the survival rate at each age but the last, below the diagonal.

    Raises:
        ValueError: there are fewer than two ages, or `s` is not one shorter than `f`.

    >>> print(leslie(jnp.array([0.0, 2.0, 1.0]), jnp.array([0.5, 0.25])))
    [[0.   2.   1.  ]
     [0.5  0.   0.  ]
     [0.   0.25 0.  ]]
    """
    f, s = _vectors(f, s)
    size = typeof(f).shape[-1]
    if size < 2 or typeof(s).shape[-1] != size - 1:
        raise ValueError(
            "leslie: f must hold at least two numbers, and s one number less; found "
            f"{typeof(f)} and {typeof(s)}"
        )
    lead = broadcast_shapes(f.shape[:-1], s.shape[:-1])
    first = jnp.broadcast_to(f[..., None, :], (*lead, 1, size))
    below = jnp.where(jnp.eye(size - 1, size, dtype=bool), s[..., :, None], 0)
    return jnp.concatenate([first, jnp.broadcast_to(below, (*lead, size - 1, size))], -2)


def _vectors(*operands: Any) -> list[Array]:
    """The operands with a common dtype, scalars as vectors of one number."""
    return [jnp.asarray(jnp.atleast_1d(x), typeof(x).dtype) for x in promote_dtypes(*operands)]


# Special matrices determined by their size.


def _checked_size(caller: str, n: Any, least: int = 0) -> int:
    size = one_int(f"{caller}: n", n)
    if size < least:
        raise ValueError(f"{caller}: n must be at least {least}, found {size}")
    return size


@operation(static=("n", "scale", "dtype"))
def dft(n: int, scale: str | None = None, *, dtype: DTypeLike | None = None) -> Array:
    """The matrix of the discrete Fourier transform of `n` numbers.

    Arguments:
        n: the size.
        scale: the divisor: None, "sqrtn" for the root of `n`, or "n".
        dtype: a complex dtype; None: the default one.

    Raises:
        ValueError: there is no such `scale`, or `dtype` is not complex.

    >>> print(dft(4).real.astype(int))
    [[ 1  1  1  1]
     [ 1  0 -1  0]
     [ 1 -1  1 -1]
     [ 1  0 -1  0]]
    """
    size = _checked_size("dft", n)
    divisors = {None: 1.0, "sqrtn": math.sqrt(size), "n": float(size)}
    if scale not in divisors:
        raise ValueError(f"dft: scale must be None, 'sqrtn' or 'n', found {scale!r}")
    default = np.result_type(default_float(), np.complex64)
    found = dialect().dtype_of("dft", default if dtype is None else dtype)
    if found.kind != "c":
        raise ValueError(f"dft: dtype must be complex, found {found}")
    numbers = lax.iota(np.int32, size)
    # Reduce the angles modulo a full turn while they are exact integers.
    steps = (jnp.outer(numbers, numbers) % max(size, 1)).astype(np.zeros(0, found).real.dtype)
    angles = -2 * math.pi * (steps / max(size, 1))
    return lax.complex(jnp.cos(angles), jnp.sin(angles)) / max(divisors[scale], 1.0)


@operation(static=("n", "dtype"))
def hadamard(n: int, dtype: DTypeLike = int) -> Array:
    """Hadamard's matrix of ones and minus ones, whose rows are orthogonal.

    Arguments:
        n: the size, a power of 2.
        dtype: the dtype of the result; None: the default int.

    Raises:
        ValueError: `n` is not a power of 2.

    >>> print(hadamard(4))
    [[ 1  1  1  1]
     [ 1 -1  1 -1]
     [ 1  1 -1 -1]
     [ 1 -1 -1  1]]
    """
    size = _checked_size("hadamard", n)
    if size < 1 or size & (size - 1):
        raise ValueError(f"hadamard: n must be a positive power of 2, found {size}")
    numbers = lax.iota(np.int32, size)
    shared = lax.population_count(numbers[:, None] & numbers)
    return (1 - 2 * (shared % 2)).astype(dtype)


@operation(static=("n", "full"))
def helmert(n: int, full: bool = False) -> Array:
    """Helmert's matrix, whose rows are orthonormal; all but the first sum to 0.

    Arguments:
        n: the size.
        full: whether to put a row of equal numbers before the others, which makes it square.

    Raises:
        ValueError: `n` is less than 1.

    >>> print(helmert(3).round(2))
    [[ 0.71 -0.71  0.  ]
     [ 0.41  0.41 -0.82]]
    """
    size = _checked_size("helmert", n, 1)
    column = lax.iota(default_float(), size)
    row = column[:, None]
    below = jnp.where(column < row, 1, jnp.where(column == row, -row, 0))
    out = (below / jnp.sqrt(row * (row + 1))).at[0].set(1 / math.sqrt(size))
    return out if full else out[1:]


@operation(static="n")
def hilbert(n: int) -> Array:
    """The Hilbert matrix of `1 / (i + j + 1)`, which is nearly singular.

    >>> print(hilbert(2))
    [[1.         0.5       ]
     [0.5        0.33333334]]
    """
    numbers = lax.iota(default_float(), _checked_size("hilbert", n))
    return 1 / (numbers[:, None] + numbers + 1)


@operation(static=("n", "kind"))
def pascal(n: int, kind: str | None = None) -> Array:
    """The matrix of binomial coefficients, in float32.

    Arguments:
        n: the size.
        kind: "symmetric" (by default), with `i + j` over `i`; "lower", with `i` over `j`; or
            "upper", its transpose.

    Raises:
        ValueError: there is no such `kind`.

    >>> print(pascal(3))
    [[1. 1. 1.]
     [1. 2. 3.]
     [1. 3. 6.]]
    """
    size = _checked_size("pascal", n)
    if kind not in (None, "symmetric", "lower", "upper"):
        raise ValueError(f"pascal: kind must be 'symmetric', 'lower' or 'upper', found {kind!r}")
    with np.errstate(over="ignore"):  # numbers beyond float32 become infinite
        if kind in (
            "lower",
            "upper",
        ):  # Pascal's rule: each number is the sum of two in the row before
            rows = [np.eye(1, size)[0]]
            for _ in range(size - 1):
                rows.append(rows[-1] + np.append(0, rows[-1][:-1]))
        else:
            rows = [np.ones(size)]
            for _ in range(size - 1):
                rows.append(np.cumsum(rows[-1]))
        out = np.array(rows[:size]).reshape(size, size).astype(np.float32)
    return jnp.asarray(out.T if kind == "upper" else out)


@operation(static="n")
def invhilbert(n: int) -> Array:
    """The inverse of the Hilbert matrix, whose entries are integers; floats here.

    >>> print(invhilbert(2))
    [[ 4. -6.]
     [-6. 12.]]
    """
    size = max(one_int("invhilbert: n", n), 0)
    rows = [
        [
            (-1) ** (i + j)
            * (i + j + 1)
            * math.comb(size + i, size - j - 1)
            * math.comb(size + j, size - i - 1)
            * math.comb(i + j, i) ** 2
            for j in range(size)
        ]
        for i in range(size)
    ]
    return _from_python_ints(rows)


@operation(static=("n", "kind"))
def invpascal(n: int, kind: str | None = None) -> Array:
    """The inverse of `pascal(n, kind)`, whose entries are integers; floats here.

    Raises:
        ValueError: there is no such `kind`.

    >>> print(invpascal(3))
    [[ 3. -3.  1.]
     [-3.  5. -2.]
     [ 1. -2.  1.]]
    """
    size = max(one_int("invpascal: n", n), 0)
    if kind not in (None, "symmetric", "lower", "upper"):
        raise ValueError(f"invpascal: kind must be 'symmetric', 'lower' or 'upper', found {kind!r}")
    numbers = range(size)
    lower = [[(-1) ** (i - j) * math.comb(i, j) if j <= i else 0 for j in numbers] for i in numbers]
    if kind == "lower":
        return _from_python_ints(lower)
    upper = [list(column) for column in zip(*lower, strict=True)]
    if kind == "upper":
        return _from_python_ints(upper)
    return _from_python_ints(
        [[sum(x * y for x, y in zip(row, other, strict=True)) for other in upper] for row in upper]
    )


def _from_python_ints(rows: list[list[int]]) -> Any:
    dtype = default_float()
    largest = float(np.finfo(dtype).max)
    floats = [
        [float(x) if abs(x) <= largest else math.copysign(math.inf, x) for x in r] for r in rows
    ]
    return jnp.asarray(np.array(floats, dtype).reshape(len(rows), len(rows)))


@operation(static=("n", "mode"))
def convolution_matrix(a: ArrayLike, n: int, mode: str = "full") -> Array:
    """The matrix whose product with a vector of `n` numbers is their convolution with `a`.

    Arguments:
        a: the numbers, along the last axis. Axes before are batch axes.
        n: the number of columns.
        mode: "full", "same" or "valid", as for `glassjax.numpy.convolve`.

    Raises:
        ValueError: `a` has no numbers, `n` is not positive, or there is no such `mode`.

    >>> print(convolution_matrix(jnp.array([1, 10]), 3, "valid"))
    [[10  1  0]
     [ 0 10  1]]
    """
    aval = typeof(a)
    if not aval.ndim or not aval.shape[-1]:
        raise ValueError(f"convolution_matrix: a must hold at least one number, found {aval}")
    count, size = _checked_size("convolution_matrix", n, 1), aval.shape[-1]
    starts = {
        "full": (0, size + count - 1),
        "same": ((min(size, count) - 1) // 2, max(size, count)),
        "valid": (min(size, count) - 1, max(size, count) - min(size, count) + 1),
    }
    if mode not in starts:
        raise ValueError(
            f"convolution_matrix: mode must be 'full', 'same' or 'valid', found {mode!r}"
        )
    start, rows = starts[mode]
    which = start + np.arange(rows)[:, None] - np.arange(count)
    inside = (which >= 0) & (which < size)
    return jnp.where(inside, jnp.asarray(a)[..., np.clip(which, 0, size - 1)], 0)
