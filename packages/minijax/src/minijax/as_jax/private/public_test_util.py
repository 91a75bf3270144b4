"""Comparisons of trees of arrays, and of derivatives with differences."""

from typing import Any

import numpy as np

from minijax.numpy import finfo, issubdtype
from minijax.test_util import check_grads, check_jvp, check_vjp
from minijax.tree_util import tree_map

# How far numbers may be from each other, by the bits of their fraction.
_TOLERANCES = {7: 1e-2, 10: 1e-3, 23: 1e-6, 52: 1e-15}


def check_close(
    xs: Any, ys: Any, atol: float | None = None, rtol: float | None = None, err_msg: str = ""
) -> None:
    """Raise AssertionError if the arrays of two trees differ.

    Arguments:
        xs: a tree.
        ys: another of the same structure.
        atol: absolute tolerance; by default it depends on the dtype.
        rtol: relative tolerance, likewise.
        err_msg: text for the message.
    """

    def check(x: Any, y: Any) -> None:
        x, y = np.asarray(x), np.asarray(y)
        tolerance = max(_tolerance(x.dtype), _tolerance(y.dtype))
        np.testing.assert_allclose(
            x.astype(np.result_type(x.dtype, np.float32)),
            y.astype(np.result_type(y.dtype, np.float32)),
            rtol=tolerance if rtol is None else rtol,
            atol=tolerance if atol is None else atol,
            err_msg=err_msg,
        )

    tree_map(check, xs, ys)


def _tolerance(dtype: Any) -> float:
    return _TOLERANCES.get(finfo(dtype).nmant, 0) if issubdtype(dtype, np.inexact) else 0


__all__ = ["check_close", "check_grads", "check_jvp", "check_vjp"]
