"""Functions with custom `vmap` rules, under the names of `jax.custom_batching`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from glassjax.lax.control_flow.scan import map as map_elements
from glassjax.settings.names import list_public_names
from glassjax.transforms.custom_vmap import custom_vmap
from glassjax_stage2 import tree_flatten, tree_leaves, tree_map, tree_unflatten
from glassjax_stage4.partial_eval import merge, partition

# `sequential_vmap`: functions that `vmap` runs in a loop, once per example.


P = ParamSpec("P")
R = TypeVar("R")


def sequential_vmap(f: Callable[P, R]) -> custom_vmap[P, R]:
    """Decorator: a function that `vmap` calls in a loop, once per example.

    Arguments:
        f: function of arrays and pytrees of arrays.

    >>> import glassjax
    >>> import glassjax.numpy as jnp
    >>> glassjax.vmap(sequential_vmap(lambda x: x + 1))(jnp.arange(3))
    Array([1, 2, 3], dtype=int32)
    """
    one_by_one = custom_vmap(f)
    call: Callable[..., R] = one_by_one

    @one_by_one.def_vmap
    def map_in_sequence(axis_size: int, in_batched: list[Any], *args: Any) -> tuple[Any, Any]:
        leaves, tree = tree_flatten(args)
        batched = tree_leaves(in_batched)
        shared, examples = partition(batched, leaves)

        def call_example(example: list[Any]) -> Any:
            return call(*tree_unflatten(tree, merge(batched, shared, example)))

        out = map_elements(call_example, examples)
        return out, tree_map(lambda _: True, out)

    return one_by_one


__all__ = ["custom_vmap", "sequential_vmap"]
list_public_names(globals())
