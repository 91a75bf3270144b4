"""The signature of a call: everything that decides which program it runs.

That is the structure of the arguments, the types of arrays and numbers, the values of what is
static, where arrays lie that are not on the default device, and the settings in force.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minijax.runtime.array import Array, Placed
from minijax.runtime.default_placement import default_placement
from minijax.settings.config import Switch
from minijax.settings.number_types import settings_in_force
from minijax.shardings.mesh import mesh_in_context
from minijax_stage2 import ShapedArray
from minijax_stage2.shaped_array import Dialect, aval_rules, dialect, numpys_dialect

Rules = dict[type, Callable[[Any], ShapedArray]]


class _LeafTypes(dict[Dialect, Rules]):
    """Functions that find the types of leaves by class, for each of the number types."""

    def __missing__(self, numbers: Dialect) -> Rules:
        of_numpy = [cls for cls, rule in aval_rules.items() if rule is aval_rules[np.ndarray]]
        weak_bool, _, weak_float, weak_complex = numbers.weak
        rules = self[numbers] = {
            Array: aval_rules[Array],
            bool: lambda x: weak_bool,
            int: numbers.of_int,
            float: lambda x: weak_float,
            complex: lambda x: weak_complex,
            **dict.fromkeys(of_numpy, numbers.of_numpy),
        }
        return rules


leaf_types = _LeafTypes()


def types_of_leaves(settings: Any) -> Rules:
    """The functions that find the types of leaves under the settings of a signature."""
    return leaf_types[settings[0] if type(settings) is tuple else settings]


# The structure of the arguments, static ones replaced by None; of the leaves, each Array's
# `call_key` and the types of others; the static values, with their exact types; and
# `settings_here()`. A plain tuple, which is quicker to make than one with names.
Signature = tuple[Any, ...]

_settings_in_force = settings_in_force.get  # bound, for every call asks


def settings_here() -> Any:
    """The settings on which programs depend, as a part of their keys."""
    numbers: Any = dialect()
    if numbers is numpys_dialect:
        numbers = _settings_in_force().numbers
    return (numbers, mesh_in_context.get(), default_placement()) if Switch.used else numbers


def types_in_key(keys: Sequence[ShapedArray | Placed]) -> tuple[ShapedArray, ...]:
    """The types of leaves of which a signature has these."""
    return tuple([key.aval if isinstance(key, Placed) else key for key in keys])
