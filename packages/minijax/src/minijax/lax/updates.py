"""What becomes of symmetric matrices, and of their factors, when a product is added."""

from typing import Any

from minijax.lax.choice import max as maximum
from minijax.lax.complex_numbers import abs as absolute
from minijax.lax.dynamic_in_dim import dynamic_index_in_dim
from minijax.lax.elementwise import eq, where
from minijax.lax.matrices import is_complex, matmul, matrices_of, mT, tril
from minijax.lax.scan import scan
from minijax.lax.structural import iota
from minijax.lax.transcendental import rsqrt
from minijax.operation import operation
from minijax.promotion import result_type
from minijax_stage2 import typeof
from minijax_stage2.promotion import cast


def _real_matrices(caller: str, x: Any) -> Any:
    x = matrices_of(caller, x)
    if is_complex(x):
        raise TypeError(f"{caller}: takes real matrices, found {typeof(x)}")
    return x


# --8<-- [start:symmetric_product]
@operation(static="symmetrize_output")
def symmetric_product(
    a_matrix: Any,
    c_matrix: Any,
    *,
    alpha: Any = 1.0,
    beta: Any = 0.0,
    symmetrize_output: bool = False,
) -> Any:
    """`alpha * a @ a^T + beta * c`.

    Arguments:
        a_matrix: real matrices.
        c_matrix: symmetric matrices, of as many rows.
        alpha, beta: numbers.
        symmetrize_output: whether to put the lower triangle of the result in place of the upper.

    Raises:
        ValueError: shapes do not fit.
        TypeError: the matrices are complex.

    >>> a, c = jnp.array([[1.0, 2.0]]), jnp.array([[10.0]])
    >>> lax.linalg.symmetric_product(a, c, alpha=2.0, beta=1.0)
    Array([[20.]], dtype=float32)
    """
    caller = "symmetric_product"
    meeting = result_type(typeof(a_matrix), typeof(c_matrix))
    a, c = (_real_matrices(caller, cast(x, meeting)) for x in (a_matrix, c_matrix))
    rows = typeof(a).shape[:-1]
    if typeof(c).shape != (*rows, rows[-1]):
        raise ValueError(
            f"{caller}: c must be square, of as many rows as a has, found {typeof(a)}, {typeof(c)}"
        )
    out = alpha * matmul(a, mT(a)) + beta * c
    return tril(out) + mT(tril(out, -1)) if symmetrize_output else out


# --8<-- [end:symmetric_product]


# --8<-- [start:cholesky_update]
@operation
def cholesky_update(r_matrix: Any, w_vector: Any) -> Any:
    """The factor of `r^T @ r + w w^T`, from the factor of the first term.

    Rotations of two rows at a time make nothing of `w`: far less work than another decomposition.

    Arguments:
        r_matrix: an upper triangular matrix.
        w_vector: a vector of as many elements as `r_matrix` has rows.

    Returns:
        An upper triangular matrix.

    Raises:
        ValueError: shapes do not fit.
        TypeError: they are complex.

    >>> r = lax.linalg.cholesky_update(2.0 * jnp.eye(2), jnp.array([1.0, 0.0]))
    >>> (r.T @ r).round(3)
    Array([[5., 0.],
           [0., 4.]], dtype=float32)
    """
    caller = "cholesky_update"
    meeting = result_type(typeof(r_matrix), typeof(w_vector))
    r = _real_matrices(caller, cast(r_matrix, meeting))
    w = cast(w_vector, typeof(r))
    n = typeof(r).shape[-1]
    if typeof(r).shape != (n, n) or typeof(w).shape != (n,):
        raise ValueError(
            f"{caller}: takes a square matrix and a vector of as many elements as it has rows, "
            f"found {typeof(r)} and {typeof(w)}"
        )

    def rotate(rest: Any, numbered_row: Any) -> tuple[Any, Any]:
        k, row = numbered_row
        cos, sin = _rotation(
            dynamic_index_in_dim(row, k, keepdims=False),
            dynamic_index_in_dim(rest, k, keepdims=False),
        )
        return cos * rest - sin * row, cos * row + sin * rest

    return scan(rotate, w, (iota("int32", n), r))[1]


def _rotation(x: Any, y: Any) -> tuple[Any, Any]:
    """Cosine and sine of the angle of the point (x, y), far from overflow."""
    on_axis = eq(y, 0)
    y = where(on_axis, 1, y)  # a number that divides, whose quotient is not chosen
    scale = maximum(absolute(x), absolute(y))
    x, y = x / scale, y / scale
    by_radius = rsqrt(x * x + y * y)
    return where(on_axis, 1, x * by_radius), where(on_axis, 0, y * by_radius)


# --8<-- [end:cholesky_update]

__all__ = ["cholesky_update", "symmetric_product"]
