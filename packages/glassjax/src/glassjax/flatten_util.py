"""A pytree of arrays as one vector, and back."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import glassjax_stage2 as stage2
from glassjax import lax
from glassjax import numpy as jnp
from glassjax.lax.conversion import convert_silently
from glassjax.runtime.evaluation import evaluated_by_library
from glassjax.settings.names import counted, list_public_names
from glassjax.settings.number_types import result_type
from glassjax_stage2 import ShapedArray, tree_flatten, tree_unflatten, typeof
from glassjax_stage2.tree import PyTreeDef

# A pytree of arrays as one vector, and back.


@evaluated_by_library
def ravel_pytree(pytree: Any) -> tuple[Any, Callable[[Any], Any]]:
    """The elements of all arrays of a pytree as one vector, and the inverse function.

    Arguments:
        pytree: arrays and numbers. The vector has their promoted dtype.

    Returns:
        The vector, and a function from a vector of this size to a pytree of this structure, with
        arrays of these shapes and dtypes.

    >>> vector, unravel = ravel_pytree({"w": jnp.ones((1, 2)), "b": 3})
    >>> vector
    Array([3., 1., 1.], dtype=float32)
    >>> unravel(2 * vector)
    {'b': Array(6, dtype=int32), 'w': Array([[2., 2.]], dtype=float32)}
    """
    leaves, structure = tree_flatten(pytree)
    types = [typeof(leaf) for leaf in leaves]
    if leaves:
        # Python numbers keep their dtype: the vector must hold all of them.
        if len({aval.dtype for aval in types}) > 1:
            common = result_type(*[aval.strip_weak_type() for aval in types]).dtype
            leaves = [lax.convert_element_type(leaf, common) for leaf in leaves]
        vectors = [stage2.reshape(leaf, (-1,)) for leaf in leaves]
        vector = lax.concatenate(vectors, 0) if len(vectors) > 1 else vectors[0]
    else:
        vector = jnp.zeros(0, jnp.float32)
    return vector, _Unravel(structure, types, typeof(vector).dtype)


class _Unravel:
    """The function from a vector to a pytree; comparable, so that `jit` recognizes equal ones."""

    def __init__(self, structure: PyTreeDef, types: list[ShapedArray], dtype: np.dtype[Any]):
        self.structure, self.types, self.dtype = structure, tuple(types), dtype

    def __call__(self, vector: Any) -> Any:
        """The pytree.

        Raises:
            ValueError: the vector does not have the original shape.
            TypeError: it has another dtype, and the arrays of the pytree have several.
        """
        sizes = [math.prod(aval.shape) for aval in self.types]
        given = typeof(vector)
        if given.shape != (sum(sizes),):
            raise ValueError(
                f"unravel: expected a vector of {counted(sum(sizes), 'element')}, as many as the "
                f"pytree {self.structure} has, found {given}"
            )
        same_dtype = all(aval.dtype == self.dtype for aval in self.types)
        if given.dtype != self.dtype and not same_dtype:
            raise TypeError(
                f"unravel: expected a vector of dtype {self.dtype}, to which the dtypes of "
                f"the pytree are promoted, found {given}"
            )
        return self._unravel(vector, sizes, same_dtype)

    @evaluated_by_library
    def _unravel(self, vector: Any, sizes: list[int], same_dtype: bool) -> Any:
        leaves, start = [], 0
        for aval, size in zip(self.types, sizes, strict=True):
            part = vector if len(sizes) == 1 else lax.slice_in_dim(vector, start, start + size)
            leaf = lax.reshape(part, aval.shape)
            leaves.append(leaf if same_dtype else convert_silently(leaf, aval.dtype))
            start += size
        return tree_unflatten(self.structure, leaves)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Unravel) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @property
    def _identity(self) -> tuple[Any, ...]:
        return self.structure, self.types, self.dtype


__all__ = ["ravel_pytree"]
list_public_names(globals())
