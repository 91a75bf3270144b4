"""Exported functions, under the names of `jax.export`."""

from glassjax.settings.facades import lazy_facade as _lazy_facade

_lazy_facade(
    globals(),
    {
        ".exported": """
            DisabledSafetyCheck Exported default_export_platform deserialize export
            maximum_supported_calling_convention_version
            minimum_supported_calling_convention_version
        """,
        "glassjax.dimensions.expressions": "is_symbolic_dim",
        "glassjax.dimensions.scopes": "SymbolicScope symbolic_dim_bounds symbolic_shape",
        ".argument_specs": "symbolic_args_specs",
        ".nodes": "register_namedtuple_serialization register_pytree_node_serialization",
    },
)
