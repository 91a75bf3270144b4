"""Exported functions, under the names of `jax.export`."""

from minijax.export.exported import DisabledSafetyCheck as DisabledSafetyCheck
from minijax.export.exported import Exported as Exported
from minijax.export.exported import default_export_platform as default_export_platform
from minijax.export.exported import deserialize as deserialize
from minijax.export.exported import export as export
from minijax.export.exported import is_symbolic_dim as is_symbolic_dim
from minijax.export.exported import (
    maximum_supported_calling_convention_version as maximum_supported_calling_convention_version,
)
from minijax.export.exported import (
    minimum_supported_calling_convention_version as minimum_supported_calling_convention_version,
)
from minijax.export.format import (
    register_namedtuple_serialization as register_namedtuple_serialization,
)
from minijax.export.format import (
    register_pytree_node_serialization as register_pytree_node_serialization,
)
