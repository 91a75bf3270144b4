"""The public names of JAX that are absent, each with the reason."""

import fnmatch

# By reason, the full names, or patterns of them.
REASONS = {
    "Types of arrays that a user defines are unsupported; a pytree may do.": """
        jax.experimental.EArray jax.experimental.primal_tangent_dtype
        jax.experimental.hijax.HiPspec jax.experimental.hijax.HiType
        jax.experimental.hijax.MappingSpec jax.experimental.hijax.register_hitype""",
    "A process runs Python for its own devices; these send it to other hosts.": """
        jax.experimental.colocated_python.func.*""",
    "A process has one client for each platform, made from the settings when first used.": """
        jax.extend.backend.clear_backends jax.extend.backend.register_backend_factory""",
    "An array is sharded over the named axes of a mesh: use `NamedSharding`.": """
        jax.extend.sharding.GSPMDSharding""",
    "Lowering writes StableHLO as text; these are parts of JAX's lowering to MLIR objects.": """
        jax.interpreters.mlir.AxisContext jax.interpreters.mlir.LoweringParameters
        jax.interpreters.mlir.LoweringResult jax.interpreters.mlir.SPMDAxisContext
        jax.interpreters.mlir.ShapePolyLoweringState jax.interpreters.mlir.ShardingContext
        jax.interpreters.mlir.Token jax.interpreters.mlir.TokenSet
        jax.interpreters.mlir.ir_type_handlers jax.interpreters.mlir.lower_jaxpr_to_*
        jax.interpreters.mlir.lowerable_effects""",
    "They work on the tracers, jaxprs and references inside JAX's interpreters.": """
        jax.custom_derivatives.remat_opt_p jax.extend.core*.eval_jaxpr_transpose
        jax.experimental.hijax.RefAccum jax.experimental.hijax.TransformedRef
        jax.experimental.hijax.control_flow_allowed_effects
        jax.interpreters.ad.jvp jax.interpreters.ad.linearize
        jax.interpreters.partial_eval.custom_partial_eval_rules
        jax.interpreters.partial_eval.lower_jaxpr* jax.interpreters.partial_eval.new_eqn_recipe""",
    "They need a newer ml_dtypes than the oldest that is supported.": """
        jax.numpy.int1 jax.numpy.uint1""",
    "Kernels are interpreted on every device; this is for compilers of TPUs and GPUs.": """
        jax.experimental.pallas.Indirect jax.experimental.pallas.debug_check
        jax.experimental.pallas.delay jax.experimental.pallas.enable_*
        jax.experimental.pallas.get_global jax.experimental.pallas.kernel
        jax.experimental.pallas.lower_as_mlir jax.experimental.pallas.pallas_export_experimental
        jax.experimental.pallas.run_state jax.experimental.pallas.select_ref
        jax.experimental.pallas.semaphore* jax.experimental.pallas.*.*""",
    "They are not written yet.": """
        jax.experimental.layout.explicit_layout jax.lax.psum_scatter_start""",
}


def reason_of(name: str) -> str | None:
    """The reason why a name of JAX is absent; None if none is listed."""
    for reason, patterns in REASONS.items():
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns.split()):
            return reason
    return None
