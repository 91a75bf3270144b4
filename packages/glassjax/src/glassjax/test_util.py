"""Derivatives compared with differences of values."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from glassjax.dtypes import finfo
from glassjax.runtime.evaluation import evaluated_by_library
from glassjax.transforms.autodiff import jvp, vjp
from glassjax_stage2 import float0, tree_leaves, tree_map, typeof
from glassjax_stage2.arguments import require_function
from glassjax_stage2.errors import shown
from glassjax_stage2.shaped_array import is_inexact

# Derivatives compared with differences of values.


# Tolerances of derivatives, by the number of bits of the fraction.
_TOLERANCES = {7: 1e-1, 10: 1e-2, 23: 2e-3, 52: 1e-5}


@evaluated_by_library
def check_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int,
    modes: Sequence[str] = ("fwd", "rev"),
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
) -> None:
    """Compare the derivatives of `f` with finite differences in one random direction.

    Arguments:
        f: function of arrays and pytrees of arrays.
        args: its arguments, the point at which it is differentiated.
        order: the highest order of derivatives.
        modes: "fwd" for `jvp`, "rev" for `vjp`.
        atol: the absolute tolerance; None: by dtype.
        rtol: the relative tolerance; None: by dtype.
        eps: the step of the difference; None: by dtype.

    Raises:
        AssertionError: they differ by more.
        ValueError: a mode is something else.

    >>> import glassjax.numpy as jnp
    >>> check_grads(jnp.sin, (1.0,), order=2)
    """
    require_function("check_grads", f)
    wrong = [mode for mode in modes if mode not in ("fwd", "rev")]
    if wrong or isinstance(modes, str):
        raise ValueError(f"check_grads: modes must be of 'fwd' and 'rev', found {shown(modes)}")
    args = tuple(args)
    if order < 1:
        return
    rest = (order - 1, modes, atol, rtol, eps)
    if "fwd" in modes:
        check_jvp(f, lambda primals, tangents: jvp(f, primals, tangents), args, atol, rtol, eps)
        tangents = _direction(args, seed=order)
        check_grads(lambda *xs: _without_float0(jvp(f, xs, tangents)[1]), args, *rest)
    if "rev" in modes:
        check_vjp(f, lambda *primals: vjp(f, *primals), args, atol, rtol, eps)
        cotangent = _direction(f(*args), seed=order)
        check_grads(lambda *xs: _without_float0(vjp(f, *xs)[1](cotangent)), args, *rest)


@evaluated_by_library
def check_jvp(
    f: Callable[..., Any],
    f_jvp: Callable[..., Any],
    args: Sequence[Any],
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = 1e-4,
    err_msg: str = "",
) -> None:
    """Compare the tangent from `f_jvp(primals, tangents)` with a finite difference.

    Arguments:
        f: function of arrays and pytrees of arrays.
        f_jvp: function from primals and tangents, two tuples, to the result and its tangent.
        args, atol, rtol, eps: as in `check_grads`.
        err_msg: the beginning of the error's message.

    Raises:
        AssertionError: as in `check_grads`.

    >>> f = lambda x: x**3
    >>> f_jvp = lambda primals, tangents: (primals[0] ** 3, 3 * primals[0] ** 2 * tangents[0])
    >>> glassjax.test_util.check_jvp(f, f_jvp, (2.0,), eps=1e-2)
    """
    args = tuple(args)
    tangents = _direction(args, seed=0)
    value, tangent = f_jvp(args, tangents)
    _compare(value, f(*args), atol, rtol, f"{err_msg} JVP primal")
    difference = _difference(f, args, tangents, eps)
    _compare(tangent, difference, atol, rtol, f"{err_msg} JVP tangent")


@evaluated_by_library
def check_vjp(
    f: Callable[..., Any],
    f_vjp: Callable[..., Any],
    args: Sequence[Any],
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = 1e-4,
    err_msg: str = "",
) -> None:
    """Compare the cotangents from `f_vjp(*primals)` with a finite difference.

    Arguments:
        f: function of arrays and pytrees of arrays.
        f_vjp: function from arguments to the result and the function that pulls cotangents back.
        args, atol, rtol, eps: as in `check_grads`.
        err_msg: as in `check_jvp`.

    Raises:
        AssertionError: as in `check_grads`.

    >>> f = lambda x: x**3
    >>> f_vjp = lambda x: (x**3, lambda ct: (3 * x**2 * ct,))
    >>> glassjax.test_util.check_vjp(f, f_vjp, (2.0,), eps=1e-2)
    """
    args = tuple(args)
    value, pull_back = f_vjp(*args)
    _compare(value, f(*args), atol, rtol, f"{err_msg} VJP primal")
    tangents, cotangent = _direction(args, seed=0), _direction(value, seed=1)
    there = _inner_product(cotangent, _difference(f, args, tangents, eps))
    back = _inner_product(pull_back(cotangent), tangents)
    dtypes = [typeof(leaf).dtype for leaf in tree_leaves((args, value)) if _is_inexact(leaf)]
    tolerance = max(map(_tolerance, dtypes), default=0.0)
    message = f"{err_msg} VJP cotangent projected"
    _assert_close(back, there, tolerance, atol, rtol, message)


def _is_inexact(x: Any) -> bool:
    return is_inexact(typeof(x).dtype)


def _without_float0(tree: Any) -> list[Any]:
    return [leaf for leaf in tree_leaves(tree) if getattr(leaf, "dtype", None) != float0]


def _tolerance(dtype: Any) -> float:
    return _TOLERANCES.get(finfo(dtype).nmant, 1.0)


def _direction(tree: Any, seed: int) -> Any:
    """A random tangent for each leaf."""
    rng = np.random.default_rng(seed)

    def draw_leaf(x: Any) -> Any:
        aval = typeof(x)
        if not is_inexact(aval.dtype):
            return np.zeros(aval.shape, float0)
        numbers = rng.standard_normal(aval.shape)
        if aval.dtype.kind == "c":
            numbers = numbers + 1j * rng.standard_normal(aval.shape)
        return np.asarray(numbers, aval.dtype)

    return tree_map(draw_leaf, tree)


def _difference(f: Callable[..., Any], args: Any, tangents: Any, eps: float | None) -> Any:
    """The tangent of `f`'s result as half the difference of two values, divided by the step."""
    dtypes = [typeof(leaf).dtype for leaf in tree_leaves(args) if _is_inexact(leaf)]
    # Where the rounding error and the second-order error of the difference are about equal.
    step = max((float(finfo(dtype).eps) ** (1 / 3) for dtype in dtypes), default=1.0)
    step = step if eps is None else eps

    def move(x: Any, t: Any, factor: float) -> Any:
        dtype = typeof(x).dtype
        return np.asarray(np.asarray(x) + factor * t, dtype) if is_inexact(dtype) else x

    after, before = (
        f(*tree_map(lambda x, t, factor=factor: move(x, t, factor), args, tangents))
        for factor in (step, -step)
    )

    def secant(a: Any, b: Any) -> Any:
        aval = typeof(a)
        if not is_inexact(aval.dtype):
            return np.zeros(aval.shape, float0)
        wide = np.complex128 if aval.dtype.kind == "c" else np.float64
        return ((np.asarray(a, wide) - np.asarray(b, wide)) / (2 * step)).astype(aval.dtype)

    return tree_map(secant, after, before)


def _inner_product(xs: Any, ys: Any) -> Any:
    """The sum of products of corresponding elements, without conjugation."""
    pairs = zip(_without_float0(xs), _without_float0(ys), strict=True)
    return sum(np.sum(np.asarray(x, complex) * np.asarray(y, complex)).real for x, y in pairs)


def _compare(
    found: Any, expected: Any, atol: float | None, rtol: float | None, message: str
) -> None:
    def compare(a: Any, b: Any) -> None:
        tolerance = _tolerance(typeof(b).dtype) if _is_inexact(b) else 0.0
        wide = np.complex128 if typeof(b).dtype.kind == "c" else np.float64
        _assert_close(np.asarray(a, wide), np.asarray(b, wide), tolerance, atol, rtol, message)

    tree_map(compare, _without_float0(found), _without_float0(expected))


def _assert_close(
    found: Any, expected: Any, default: float, atol: float | None, rtol: float | None, message: str
) -> None:
    np.testing.assert_allclose(
        found,
        expected,
        rtol=default if rtol is None else rtol,
        atol=default if atol is None else atol,
        err_msg=message.strip(),
    )


__all__ = ["check_grads", "check_jvp", "check_vjp"]
