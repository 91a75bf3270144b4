"""Exported functions, under the names of `jax.export`."""

from glassjax.settings.facades import lazy_facade as _lazy_facade

_lazy_facade(
    globals(),
    {
        ".exported": """
            DisabledSafetyCheck Exported default_export_platform deserialize export is_symbolic_dim
            maximum_supported_calling_convention_version
            minimum_supported_calling_convention_version
        """,
        ".nodes": "register_namedtuple_serialization register_pytree_node_serialization",
    },
)
