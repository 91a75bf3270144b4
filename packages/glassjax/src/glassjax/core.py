"""Extending the library: primitives, traces, types, jaxprs, and tables of rules."""

from glassjax.settings.facades import lazy_facade as _lazy_facade

_lazy_facade(
    globals(),
    {
        "glassjax.primitives.custom_trace": "Trace transformation",
        "glassjax.primitives.extending": """
            AbstractValue FlatFunction ParamDict Value binary bind by_batch by_elements by_lines
            by_reduction dce_jaxpr declare defjvp deflinear deftranspose defzero eval_jaxpr
            inner_jaxprs jaxpr_as_fun jvp_flat leading_batch lower_by max_dim min_dim mlir_type
            move_batch_dim pytype_aval_mappings reduction signature trace_to_jaxpr typecheck_jaxpr
            typeof types_by unary vmap_elementwise vmap_flat
        """,
        "glassjax.primitives.higher_order": "declare_program dependence_rules key_rules step_rules",
        "glassjax.runtime.effects": "ProgramRules order_rules",
        "glassjax.runtime.evaluation": "ensure_compile_time_eval eval_context",
        "glassjax.settings.tracers": "Tracer",
        "glassjax.shardings.types": "ShapedArray",
        "glassjax_stage2": "Primitive Zero current_trace impl_rules jvp_rules vmap_rules",
        "glassjax_stage2.trace": "Rules",
        "glassjax_stage2.vmap": "BatchAxis",
        "glassjax_stage3": """
            Jaxpr JaxprEqn Literal Var abstract_eval_rules lowering_rules
        """,
        "glassjax_stage3.dce": "dce_rules",
        "glassjax_stage3.jaxpr": "Atom",
        "glassjax_stage3.lowering": "FunctionBuilder",
        "glassjax_stage4": "UndefPrimal transpose_rules",
        "glassjax_stage4.partial_eval": "partial_eval_rules",
    },
)
