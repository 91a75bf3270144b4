"""Kernel density estimates, ranks and modes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from glassjax import lax, random
from glassjax import numpy as jnp
from glassjax.numpy.dtypes import default_float
from glassjax.numpy.transcendental import inexact_arrays
from glassjax.runtime.array import Array, ArrayLike, to_array
from glassjax.runtime.evaluation import made_of_operations
from glassjax.runtime.operation import operation
from glassjax.scipy.linalg import cho_factor, cho_solve
from glassjax.scipy.special import logsumexp, ndtr
from glassjax.tree_util import register_pytree_node_class
from glassjax_stage2 import typeof
from glassjax_stage2.functions import canonical_axes
from glassjax_stage2.promotion import to_inexact
from glassjax_stage2.shaped_array import Shape

# Kernel density estimates: sums of normal distributions around samples.


def _vectors(caller: str, points: Any) -> Any:
    points = jnp.atleast_2d(to_inexact(points))
    if typeof(points).dtype.kind == "c":
        raise NotImplementedError(f"{caller}: expected real numbers, found {typeof(points)}")
    return points


@operation
def _log_kernels(dataset: Any, points: Any, inv_cov: Any) -> Any:
    """The logarithm of the density around each sample, at each point."""
    whitening = jnp.linalg.cholesky(inv_cov)
    samples, places = jnp.dot(dataset.T, whitening), jnp.dot(points.T, whitening)
    squares = jnp.sum(jnp.square(places[:, None] - samples), axis=-1)
    log_norm = jnp.log(jnp.diagonal(whitening)).sum()
    return log_norm - 0.5 * len(dataset) * math.log(2 * math.pi) - 0.5 * squares


@operation
def _overlap(cov: Any, samples: Any, weights: Any, means: Any, weights_of_means: Any) -> Any:
    """The integral of the products of normal densities around all samples and all means."""
    factor, lower = cho_factor(cov)
    norm = math.sqrt(2 * math.pi) ** len(samples) * jnp.prod(jnp.diagonal(factor))
    difference = samples[:, :, None] - means[:, None, :]
    solved = cho_solve((factor, lower), difference.reshape(len(samples), -1))
    exponents = 0.5 * jnp.sum(difference * solved.reshape(jnp.shape(difference)), axis=0)
    return weights @ jnp.exp(-exponents) @ weights_of_means / norm


@register_pytree_node_class
class gaussian_kde:
    """A density estimated from samples; a pytree.

    Arguments:
        dataset: the samples, along the last axis; a vector, or a matrix with a row per coordinate.
        bw_method: the bandwidth around each sample: "scott", "silverman", a factor, or a function
            of this object that returns one. None: "scott".
        weights: the weight of each sample; all equal if None.

    Raises:
        ValueError: there are fewer than two numbers, or the weights do not match.
        NotImplementedError: the samples are complex.

    >>> density = glassjax.scipy.stats.gaussian_kde(jnp.array([-1.0, 0.0, 1.0]))
    >>> near, far = density(jnp.array([0.0, 9.0]))
    >>> bool(near > far)
    True
    """

    neff: Any
    dataset: Any
    weights: Any
    covariance: Any
    inv_cov: Any

    @made_of_operations
    def __init__(
        self,
        dataset: Any,
        bw_method: str | float | Callable[[Any], Any] | None = None,
        weights: Any = None,
    ):
        self.dataset = _vectors("gaussian_kde", dataset)
        if jnp.size(self.dataset) < 2:
            raise ValueError("gaussian_kde: dataset must have multiple elements")
        d, n = typeof(self.dataset).shape
        if weights is None:
            self.weights = jnp.full(n, 1 / n, typeof(self.dataset).dtype)
        else:
            self.weights = jnp.atleast_1d(to_inexact(weights))
            if typeof(self.weights).shape != (n,):
                raise ValueError(
                    f"gaussian_kde: weights must be a vector of {n} numbers, one for each sample, "
                    f"found {typeof(self.weights)}"
                )
            self.weights = self.weights / jnp.sum(self.weights)
        self.neff = 1 / jnp.sum(self.weights**2)
        factor = self._factor(bw_method, d)
        covariance = jnp.atleast_2d(jnp.cov(self.dataset, bias=False, aweights=self.weights))
        self.covariance = covariance * factor**2
        self.inv_cov = jnp.linalg.inv(covariance) / factor**2

    def _factor(self, bw_method: Any, d: int) -> Any:
        if bw_method is None or (isinstance(bw_method, str) and bw_method == "scott"):
            return jnp.power(self.neff, -1.0 / (d + 4))
        if isinstance(bw_method, str) and bw_method == "silverman":
            return jnp.power(self.neff * (d + 2) / 4.0, -1.0 / (d + 4))
        if callable(bw_method):
            return bw_method(self)
        if isinstance(bw_method, str) or jnp.ndim(bw_method):
            raise ValueError(
                "gaussian_kde: bw_method must be 'scott', 'silverman', a scalar or a function, "
                f"found {bw_method!r}"
            )
        return bw_method

    def tree_flatten(self) -> tuple[tuple[Any, ...], None]:
        """The arrays of the estimate."""
        return (self.neff, self.dataset, self.weights, self.covariance, self.inv_cov), None

    @classmethod
    def tree_unflatten(cls, aux_data: None, children: Any) -> gaussian_kde:
        """The estimate of these arrays."""
        kde = cls.__new__(cls)
        kde.neff, kde.dataset, kde.weights, kde.covariance, kde.inv_cov = children
        return kde

    @property
    def d(self) -> int:
        """The number of coordinates."""
        return int(typeof(self.dataset).shape[0])

    @property
    def n(self) -> int:
        """The number of samples."""
        return int(typeof(self.dataset).shape[1])

    @made_of_operations
    def evaluate(self, points: Any) -> Any:
        """The density at the points, which lie along the last axis."""
        points = self._points("gaussian_kde.evaluate", points)
        return jnp.exp(_log_kernels(self.dataset, points, self.inv_cov)) @ self.weights

    def __call__(self, points: Any) -> Any:
        """The density at the points."""
        return self.evaluate(points)

    def pdf(self, x: Any) -> Any:
        """The density at the points."""
        return self.evaluate(x)

    @made_of_operations
    def logpdf(self, x: Any) -> Any:
        """The logarithm of the density at the points."""
        points = self._points("gaussian_kde.logpdf", x)
        logs = _log_kernels(self.dataset, points, self.inv_cov)
        return logsumexp(logs + jnp.log(self.weights), axis=1)

    @made_of_operations
    def integrate_gaussian(self, mean: Any, cov: Any) -> Any:
        """The integral of the density times a normal density."""
        mean, cov = jnp.atleast_1d(jnp.squeeze(mean)), jnp.atleast_2d(cov)
        if typeof(mean).shape != (self.d,) or typeof(cov).shape != (self.d, self.d):
            raise ValueError(
                f"integrate_gaussian: mean and covariance must have dimension {self.d}, found "
                f"{typeof(mean)} and {typeof(cov)}"
            )
        one = jnp.ones(1, typeof(self.weights).dtype)
        return _overlap(self.covariance + cov, self.dataset, self.weights, mean[:, None], one)

    @made_of_operations
    def integrate_box_1d(self, low: Any, high: Any) -> Any:
        """The probability of numbers from `low` to `high`, in one dimension."""
        if self.d != 1:
            raise ValueError(f"integrate_box_1d: handles 1 coordinate only, found {self.d}")
        if jnp.ndim(low) != 0 or jnp.ndim(high) != 0:
            raise ValueError("integrate_box_1d: the limits must be scalars")
        width = jnp.sqrt(self.covariance)[0, 0]
        ends = [(end - self.dataset[0]) / width for end in (low, high)]
        return jnp.sum(self.weights * (ndtr(ends[1]) - ndtr(ends[0])))

    @made_of_operations
    def integrate_kde(self, other: gaussian_kde) -> Any:
        """The integral of the product of two densities."""
        if other.d != self.d:
            raise ValueError(f"integrate_kde: dimensions differ, {self.d} and {other.d}")
        cov = self.covariance + other.covariance
        return _overlap(cov, self.dataset, self.weights, other.dataset, other.weights)

    @made_of_operations
    def resample(self, key: Any, shape: Shape = ()) -> Any:
        """Points drawn from the estimated density, along the axes after the first."""
        index_key, noise_key = random.split(key)
        index = random.choice(index_key, self.n, shape=shape, p=self.weights)
        noise = random.normal(noise_key, (*shape, self.d), typeof(self.dataset).dtype)
        noise = jnp.matmul(noise, jnp.linalg.cholesky(self.covariance).T)
        return self.dataset[:, index] + jnp.moveaxis(noise, -1, 0)

    def integrate_box(self, low_bounds: Any, high_bounds: Any, maxpts: Any = None) -> Any:
        """Not supported; use `integrate_box_1d`."""
        raise NotImplementedError("only 1D box integrations are supported; use `integrate_box_1d`")

    def set_bandwidth(self, bw_method: Any = None) -> Any:
        """Not supported: an estimate cannot be modified."""
        raise NotImplementedError("set_bandwidth: make another gaussian_kde, with this bw_method")

    def _points(self, caller: str, points: Any) -> Any:
        points = _vectors(caller, points)
        d, m = typeof(points).shape
        if d == 1 and m == self.d:
            return jnp.reshape(points, (self.d, 1))
        if d != self.d:
            raise ValueError(f"{caller}: points have dimension {d}, dataset has dimension {self.d}")
        return points


# Statistics found by sorting: ranks and the mode; and the standard error of the mean.


class ModeResult(NamedTuple):
    """The most frequent numbers, and their counts."""

    mode: Any
    count: Any


def _require_propagate(caller: str, nan_policy: str) -> None:
    if nan_policy not in ("propagate", "omit", "raise"):
        raise ValueError(
            f"{caller}: nan_policy must be 'propagate', 'omit' or 'raise', found {nan_policy!r}"
        )
    if nan_policy != "propagate":
        raise NotImplementedError(
            f"{caller}: nan_policy must be 'propagate', for a compiled program cannot depend on "
            "whether there are nans; look for them, or take them out, before"
        )


def _is_new(ordered: Any) -> Any:
    """A mask of the sorted numbers, along the last axis, that differ from the one before."""
    before, after = ordered[..., :-1], ordered[..., 1:]
    first = jnp.ones_like(ordered[..., :1], dtype=bool)
    return jnp.concatenate([first, (before != after) & ~(jnp.isnan(before) & jnp.isnan(after))], -1)


@operation(static=("axis", "nan_policy", "keepdims"))
def mode(
    a: ArrayLike, axis: int | None = 0, nan_policy: str = "propagate", keepdims: bool = False
) -> ModeResult:
    """The most frequent number along an axis, the smallest in a tie, and its count.

    Arguments:
        a: real numbers.
        axis: the axis, or None for all numbers.
        nan_policy: must be "propagate".
        keepdims: whether to keep the axis, with size 1.

    Raises:
        NotImplementedError: `nan_policy` is anything else.

    >>> glassjax.scipy.stats.mode(jnp.array([1, 3, 3, 2]))
    ModeResult(mode=Array(3, dtype=int32), count=Array(2, dtype=int32))
    """
    _require_propagate("mode", nan_policy)
    x = jnp.atleast_1d(to_array(a))
    ndim = typeof(x).ndim
    axes = tuple(range(ndim)) if axis is None else canonical_axes("mode", axis, ndim)
    x = jnp.ravel(x)[None] if axis is None else jnp.moveaxis(x, axes[0], -1)
    *lead, n = typeof(x).shape
    if n == 0:
        dtype = default_float()
        values, counts = jnp.full(lead, jnp.nan, dtype), jnp.zeros(lead, dtype)
    else:
        ordered = jnp.sort(x, axis=-1)
        index = lax.broadcasted_iota(jnp.asarray(0).dtype, (*lead, n), len(lead))
        begins = lax.cummax(jnp.where(_is_new(ordered), index, 0), len(lead))
        so_far = index - begins + 1
        where = jnp.argmax(so_far, axis=-1)[..., None]
        first = jnp.take_along_axis(begins, where, axis=-1)  # the start of the longest run
        values = jnp.take_along_axis(ordered, first, axis=-1)[..., 0]
        counts = jnp.max(so_far, axis=-1)
    kept = [1 if i in axes else size for i, size in enumerate(jnp.shape(jnp.atleast_1d(a)))]
    shape = kept if keepdims else [size for i, size in enumerate(kept) if i not in axes]
    return ModeResult(jnp.reshape(values, shape), jnp.reshape(counts, shape))


METHODS = ("average", "min", "max", "dense", "ordinal")


@operation(static=("method", "axis", "nan_policy"))
def rankdata(
    a: ArrayLike, method: str = "average", *, axis: int | None = None, nan_policy: str = "propagate"
) -> Array:
    """The ranks of numbers, from 1 on; all NaN if any number is NaN.

    Arguments:
        a: real numbers.
        method: the ranks of equal numbers: the "average", "min" or "max" of their ranks, ranks
            without gaps between different numbers ("dense"), or ranks in order of position
            ("ordinal").
        axis: the axis along which to rank, or None to rank all numbers, as a vector.
        nan_policy: must be "propagate".

    Returns:
        Floats.

    Raises:
        ValueError: there is no such `method`.
        NotImplementedError: `nan_policy` is anything else.

    >>> import glassjax.numpy as jnp
    >>> rankdata(jnp.array([30, 10, 20, 10]))
    Array([4. , 1.5, 3. , 1.5], dtype=float32)
    """
    _require_propagate("rankdata", nan_policy)
    if method not in METHODS:
        raise ValueError(f"rankdata: method must be one of {', '.join(METHODS)}, found {method!r}")
    x = jnp.ravel(a) if axis is None else jnp.moveaxis(to_array(a), axis, -1)
    *lead, n = typeof(x).shape
    last, dtype = len(lead), default_float()
    sorter = jnp.argsort(x, axis=-1)
    place = jnp.argsort(sorter, axis=-1)
    index = lax.broadcasted_iota(typeof(sorter).dtype, (*lead, n), last)
    is_new = _is_new(jnp.take_along_axis(x, sorter, axis=-1))
    begin = lax.cummax(jnp.where(is_new, index, 0), last)
    is_end = jnp.concatenate([is_new[..., 1:], jnp.ones_like(is_new[..., :1])], -1)
    end = lax.cummin(jnp.where(is_end, index, n), last, reverse=True)
    by_method: dict[str, Callable[[], Array]] = {
        "average": lambda: 0.5 * (begin.astype(dtype) + end.astype(dtype)) + 1,
        "min": lambda: begin + 1,
        "max": lambda: end + 1,
        "dense": lambda: jnp.cumsum(is_new, axis=-1),
        "ordinal": lambda: index + 1,
    }
    ranks = jnp.take_along_axis(by_method[method]().astype(dtype), place, axis=-1)
    ranks = jnp.where(jnp.any(jnp.isnan(x), axis=-1, keepdims=True), jnp.nan, ranks)
    return ranks if axis is None else jnp.moveaxis(ranks, -1, axis)


@operation(static=("axis", "ddof", "nan_policy", "keepdims"))
def sem(
    a: ArrayLike,
    axis: int | None = 0,
    ddof: int = 1,
    nan_policy: str = "propagate",
    *,
    keepdims: bool = False,
) -> Array:
    """The standard error of the mean: the standard deviation divided by the root of the count.

    Arguments:
        a: numbers.
        axis: the axis, or None for all numbers.
        ddof: the number to subtract from the count.
        nan_policy: "propagate", or "omit" to ignore NaN.
        keepdims: whether to keep the axis, with size 1.

    Raises:
        ValueError: there is no such `nan_policy`.

    >>> f"{glassjax.scipy.stats.sem(jnp.array([1.0, 3.0])):.2f}"
    '1.00'
    """
    (x,) = inexact_arrays(a)
    if nan_policy == "propagate":
        size = jnp.size(x, axis)
        root = jnp.sqrt(size).astype(typeof(x).dtype)
        return jnp.std(x, axis, ddof=ddof, keepdims=keepdims) / root
    if nan_policy == "omit":
        count = (~jnp.isnan(x)).sum(axis, keepdims=keepdims)
        root = jnp.sqrt(count).astype(typeof(x).dtype)
        return jnp.nanstd(x, axis, ddof=ddof, keepdims=keepdims) / root
    raise ValueError(f"sem: nan_policy must be 'propagate' or 'omit', found {nan_policy!r}")
