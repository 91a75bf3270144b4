"""Pytrees."""

from collections.abc import Callable
from typing import Any

from minijax.tree_util import *  # noqa: F403
from minijax_stage2.tree import broadcast_prefix, explain_mismatch
from minijax_stage2.tree import registry as _registry


def prefix_errors(
    prefix_tree: Any, full_tree: Any, is_leaf: Any = None
) -> list[Callable[[str], ValueError]]:
    """The error of a tree that is no prefix of another, as a function of a name; or none."""
    try:
        broadcast_prefix(prefix_tree, full_tree, is_leaf)
    except ValueError:
        return [
            lambda name: ValueError(
                explain_mismatch(prefix_tree, full_tree, name=name, prefix=True)
            )
        ]
    return []


__all__ = ["_registry", "prefix_errors"]
