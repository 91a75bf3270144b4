"""Random sparse arrays."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from minijax import numpy as jnp
from minijax.experimental.sparse.bcoo_array import BCOO
from minijax.experimental.sparse.layouts import bcoo_sort_indices
from minijax.random.choice import choice
from minijax.random.keys import split
from minijax.random.uniform import uniform
from minijax.transforms.transformations import vmap


def random_bcoo(
    key: Any,
    shape: Sequence[int],
    *,
    dtype: Any = float,
    indices_dtype: Any = None,
    nse: float = 0.2,
    n_batch: int = 0,
    n_dense: int = 0,
    unique_indices: bool = True,
    sorted_indices: bool = False,
    generator: Callable[..., Any] = uniform,
    **kwds: Any,
) -> BCOO:
    """A sparse array of random elements at random places.

    Arguments:
        key: the key.
        shape: the shape of the array.
        dtype: the dtype of the elements.
        indices_dtype: the dtype of the coordinates.
        nse: the number of elements, or their share of all if it is less than 1.
        n_batch: the number of batch axes.
        n_dense: the number of axes of the elements.
        unique_indices: whether no two elements have the same place.
        sorted_indices: whether they are in order.
        generator: a function of `minijax.random` that draws the elements, with `kwds`.

    Raises:
        ValueError: there are too few axes, or more elements than places.
    """
    sizes = tuple(shape)
    n_sparse = len(sizes) - n_batch - n_dense
    if n_sparse < 0 or n_batch < 0 or n_dense < 0:
        raise ValueError(f"random_bcoo: shape {sizes} has not n_batch + n_dense axes")
    batch, sparse, dense = (
        sizes[:n_batch], sizes[n_batch : n_batch + n_sparse], sizes[n_batch + n_sparse :],
    )  # fmt: skip
    places = math.prod(sparse)
    count = math.ceil(places * nse) if nse < 1 else int(nse)
    if unique_indices and count > places:
        raise ValueError(f"random_bcoo: there are {places} places for {count} elements")
    index_dtype = jnp.int32 if indices_dtype is None else indices_dtype
    keys = split(key, math.prod(batch) + 1)

    def indices_of(key: Any) -> Any:
        if not sparse:
            return jnp.zeros((count, 0), index_dtype)
        flat = choice(key, places, shape=(count,), replace=not unique_indices)
        return jnp.stack(jnp.unravel_index(flat.astype(index_dtype), sparse), -1)

    data = generator(keys[0], shape=(*batch, count, *dense), dtype=dtype, **kwds)
    indices = vmap(indices_of)(keys[1:]) if math.prod(batch) else jnp.zeros((0, count, n_sparse))
    indices = indices.astype(index_dtype).reshape(*batch, count, n_sparse)
    mat = BCOO((data, indices), shape=sizes, unique_indices=unique_indices)
    return bcoo_sort_indices(mat) if sorted_indices else mat


__all__ = ["random_bcoo"]
