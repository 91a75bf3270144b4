"""Pytrees, by the short names of `jax.tree`."""

import dataclasses
from typing import Any

from glassjax.settings.names import list_public_names
from glassjax.tree_util import tree_all as all
from glassjax.tree_util import tree_broadcast as broadcast
from glassjax.tree_util import tree_flatten as flatten
from glassjax.tree_util import tree_flatten_with_path as flatten_with_path
from glassjax.tree_util import tree_leaves as leaves
from glassjax.tree_util import tree_leaves_with_path as leaves_with_path
from glassjax.tree_util import tree_map as map
from glassjax.tree_util import tree_map_with_path as map_with_path
from glassjax.tree_util import tree_reduce as reduce
from glassjax.tree_util import tree_reduce_associative as reduce_associative
from glassjax.tree_util import tree_structure as structure
from glassjax.tree_util import tree_transpose as transpose
from glassjax.tree_util import tree_unflatten as unflatten


def static(**kwargs: Any) -> Any:
    """A field of a dataclass that is part of the structure; the others are children.

    Arguments:
        kwargs: as for `dataclasses.field`.

    >>> from glassjax.tree_util import register_dataclass
    >>> @register_dataclass
    ... @dataclasses.dataclass
    ... class Layer:
    ...     weight: float
    ...     name: str = static(default="dense")
    >>> map(lambda x: 2 * x, Layer(3.0))
    Layer(weight=6.0, name='dense')
    """
    metadata = {**(kwargs.pop("metadata", None) or {}), "static": True}
    return dataclasses.field(metadata=metadata, **kwargs)


__all__ = [
    "all",
    "broadcast",
    "flatten",
    "flatten_with_path",
    "leaves",
    "leaves_with_path",
    "map",
    "map_with_path",
    "reduce",
    "reduce_associative",
    "static",
    "structure",
    "transpose",
    "unflatten",
]
list_public_names(globals())
