"""JAX's programs of functions that find elements, two of them with its primitives of objects."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from glassjax import numpy as jnp
from glassjax import tree
from glassjax.experimental import hijax
from glassjax.parallel.vmap import vmap
from glassjax.runtime.nesting import flat_calls
from glassjax_stage2 import ShapedArray, Zero, typeof
from glassjax_stage2.tangent import tangent_type
from glassjax_stage2.vmap import move_batch_dim


class _Finds(hijax.HiPrim):
    """The base class of primitives whose results have no derivatives."""

    def __init__(self, in_avals: Sequence[ShapedArray], out_aval: Any, **params: Any):
        self.in_avals, self.out_aval, self.params = tuple(in_avals), out_aval, params
        super().__init__()

    def jvp(self, primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
        return self(*primals), tree.map(lambda aval: Zero(tangent_type(aval)), self.out_aval)


class Nonzero(_Finds):
    """`jnp.nonzero` along the last axes of an array; axes before them are of a batch.

    A fill value has none or some of the axes of the batch, from the first on.
    """

    size: int
    axes: tuple[int, ...]
    out_dtype: Any

    @classmethod
    def of(cls, x: Any, *fills: Any, size: int, axes: tuple[int, ...], out_dtype: Any) -> Any:
        out = ShapedArray((*typeof(x).shape[: axes[0]], size), out_dtype)
        in_avals = [typeof(each) for each in (x, *fills)]
        prim = cls(in_avals, (out,) * len(axes), size=size, axes=axes, out_dtype=out_dtype)
        return prim(x, *fills)

    def expand(self, x: Any, *fills: Any) -> Any:
        def find(x: Any, *fills: Any) -> Any:
            return jnp.nonzero(x, size=self.size, fill_value=fills or None)

        for axis in reversed(range(self.axes[0])):
            find = vmap(find, (0, *[0 if np.ndim(fill) > axis else None for fill in fills]))
        with flat_calls():
            return find(x, *fills)

    def batch(self, axis_data: Any, args: tuple[Any, ...], dims: tuple[Any, ...]) -> Any:
        moved = [
            move_batch_dim(x, axis_data, dim, 0) if typeof(x).ndim or dim is not None else x
            for x, dim in zip(args, dims, strict=True)
        ]
        axes = tuple(axis + 1 for axis in self.axes)
        out = Nonzero.of(*moved, size=self.size, axes=axes, out_dtype=self.out_dtype)
        return out, (0,) * len(axes)


class SearchSorted(_Finds):
    """`jnp.searchsorted` along `dimension` of an array.

    The first `batch_dims` axes of both arrays are of one batch. In the result, other axes of the
    sorted array precede the queries' axes.
    """

    side: str
    dimension: int
    batch_dims: int
    method: str

    @classmethod
    def of(cls, x: Any, query: Any, **params: Any) -> Any:
        before = list(typeof(x).shape)
        del before[params["dimension"]]
        shape = (*before, *typeof(query).shape[params["batch_dims"] :])
        prim = cls((typeof(x), typeof(query)), ShapedArray(shape, np.int32), **params)
        return prim(x, query)

    def expand(self, x: Any, query: Any) -> Any:
        search: Any = partial(jnp.searchsorted, side=self.side, method=self.method)
        for _ in range(np.ndim(x) - 1 - self.batch_dims):
            search = vmap(search, (0, None))
        for _ in range(self.batch_dims):
            search = vmap(search)
        with flat_calls():
            return search(jnp.moveaxis(x, self.dimension, -1), query)

    def batch(self, axis_data: Any, args: tuple[Any, ...], dims: tuple[Any, ...]) -> Any:
        (x, query), (x_dim, query_dim), batch_dims = args, dims, self.batch_dims
        if x_dim is None:
            query = move_batch_dim(query, axis_data, query_dim, batch_dims)
            return SearchSorted.of(x, query, **self.params), typeof(x).ndim - 1
        params = self.params | {"dimension": self.dimension + 1}
        if query_dim is None:
            x = move_batch_dim(x, axis_data, x_dim, batch_dims)
            return SearchSorted.of(x, query, **params), batch_dims
        x, query = hijax.bdims_at_front(axis_data, args, dims)
        return SearchSorted.of(x, query, **params | {"batch_dims": batch_dims + 1}), 0


def positions(x: Any, fills: Sequence[Any], size: int, dtype: Any) -> Any:
    """The indices of nonzero elements along each axis, by one equation."""
    return Nonzero.of(x, *fills, size=size, axes=tuple(range(typeof(x).ndim)), out_dtype=dtype)


def search(x: Any, query: Any, side: str, method: str) -> Any:
    """The positions of queries in a sorted array, by one equation."""
    return SearchSorted.of(x, query, side=side, dimension=0, batch_dims=0, method=method)


def on_lines(x: Any, xp: Any, fp: Any) -> Any:
    """The values at `x` on the lines between points, which are read anew for each use."""
    end = jnp.clip(jnp.searchsorted(xp, x, "right"), 1, xp.shape[0] - 1)
    rise, run = fp[end] - fp[end - 1], xp[end] - xp[end - 1]
    along = x - xp[end - 1]
    is_point = jnp.abs(run) <= np.spacing(jnp.finfo(xp.dtype).eps)
    return jnp.where(
        is_point, fp[end - 1], fp[end - 1] + along / jnp.where(is_point, 1, run) * rise
    )
