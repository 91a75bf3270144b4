"""Exported functions, under the names of `jax.export`."""

from glassjax.dimensions.expressions import is_symbolic_dim as is_symbolic_dim
from glassjax.dimensions.scopes import SymbolicScope as SymbolicScope
from glassjax.dimensions.scopes import symbolic_dim_bounds as symbolic_dim_bounds
from glassjax.dimensions.scopes import symbolic_shape as symbolic_shape
from glassjax.export.argument_specs import symbolic_args_specs as symbolic_args_specs
from glassjax.export.exported import DisabledSafetyCheck as DisabledSafetyCheck
from glassjax.export.exported import Exported as Exported
from glassjax.export.exported import default_export_platform as default_export_platform
from glassjax.export.exported import deserialize as deserialize
from glassjax.export.exported import export as export
from glassjax.export.exported import (
    maximum_supported_calling_convention_version as maximum_supported_calling_convention_version,
)
from glassjax.export.exported import (
    minimum_supported_calling_convention_version as minimum_supported_calling_convention_version,
)
from glassjax.export.nodes import (
    register_namedtuple_serialization as register_namedtuple_serialization,
)
from glassjax.export.nodes import (
    register_pytree_node_serialization as register_pytree_node_serialization,
)
