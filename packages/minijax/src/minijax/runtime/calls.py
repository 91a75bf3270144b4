"""The way that jitted functions are called: by the extension module, where it is there.

It makes the calls whose arguments are Arrays, in tuples, lists and dicts or not, and static values;
of Arrays on several devices, those that lie where the program has them. All others are made by
Python, as all are without it.
"""

import itertools
from typing import TYPE_CHECKING, Any

from minijax.runtime import compiled_calls
from minijax.runtime.array import Array, PlacedArray
from minijax.runtime.evaluation import leaf_types
from minijax.settings.config import Switch
from minijax.settings.number_types import settings_in_force
from minijax_stage1.interpreter import in_context
from minijax_stage2.shaped_array import dialect_in_force, numpys_dialect
from minijax_stage2.tree import find_node_type, registry
from minijax_stage3.array import to_buffer

compiled: Any = compiled_calls.module  # None: it is not there


class CalledByPython:
    """The base of jitted functions without the extension module, which adds nothing."""

    __slots__ = ()

    _known: Any  # with the module: the calls that it makes


if compiled is None or TYPE_CHECKING:
    Called = CalledByPython
else:
    Called = compiled.Called
    compiled.configure(
        Array, PlacedArray, in_context, dialect_in_force, settings_in_force, numpys_dialect, Switch,
        registry, leaf_types, to_buffer,
    )  # fmt: skip


def order_of_leaves(tree: Any) -> tuple[int, ...]:
    """The number of each leaf, in the order of programs' arguments.

    Leaves are numbered as they are found, where the items of a dict are not sorted.
    """
    numbers = itertools.count()

    def order(tree: Any) -> list[int]:
        if type(tree) is dict:
            found = {name: order(item) for name, item in tree.items()}
            return [number for name in sorted(found) for number in found[name]]
        node = find_node_type(type(tree))
        if node is None:
            return [next(numbers)]
        return [number for child in node.flatten(tree)[0] for number in order(child)]

    return tuple(order(tree))
