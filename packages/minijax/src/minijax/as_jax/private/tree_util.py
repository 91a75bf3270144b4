"""Pytrees."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, cast

from minijax.tree_util import *  # noqa: F403
from minijax_stage2.tree import registry, tree_structure


class _RegistryEntry(NamedTuple):
    to_iter: Callable[[Any], tuple[Any, Any]]
    from_iter: Callable[[Any, Any], Any]


class _Registry(Mapping[type, _RegistryEntry]):
    """The functions of all classes that are nodes of trees, by their class."""

    def __getitem__(self, cls: type) -> _RegistryEntry:
        node = registry[cls]
        return _RegistryEntry(node.flatten, lambda aux, xs: node.unflatten(aux, tuple(xs)))

    def __iter__(self) -> Iterator[type]:
        return iter(registry)

    def __len__(self) -> int:
        return len(registry)


_registry = _Registry()


def prefix_errors(
    prefix_tree: Any, full_tree: Any, is_leaf: Any = None
) -> list[Callable[[str], ValueError]]:
    """The error of a tree that is no prefix of another, as a function of a name; or none."""
    structure = tree_structure(prefix_tree, is_leaf)

    def error(name: str) -> ValueError | None:
        try:
            structure.flatten_up_to(full_tree, name)
        except ValueError as raised:
            return ValueError(str(raised))
        return None

    return [cast(Any, error)] if error("") else []


__all__ = ["_registry", "prefix_errors"]
