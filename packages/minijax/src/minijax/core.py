"""Extending the library: primitives, traces, types, jaxprs, and tables of rules."""

from minijax.settings.facades import lazy_facade as _lazy_facade

_lazy_facade(
    globals(),
    {
        "minijax.primitives.custom_trace": "Trace transformation",
        "minijax.primitives.extending": """
            AbstractValue FlatFunction ParamDict Value binary bind by_batch by_elements by_lines
            by_reduction dce_jaxpr declare defjvp deflinear deftranspose defzero eval_jaxpr
            inner_jaxprs jaxpr_as_fun jvp_flat leading_batch lower_by max_dim min_dim mlir_type
            move_batch_dim pytype_aval_mappings reduction signature trace_to_jaxpr typecheck_jaxpr
            typeof types_by unary vmap_elementwise vmap_flat
        """,
        "minijax.primitives.higher_order": "declare_program dependence_rules key_rules step_rules",
        "minijax.runtime.effects": "ProgramRules order_rules",
        "minijax.runtime.evaluation": "ensure_compile_time_eval eval_context",
        "minijax.settings.tracers": "Tracer",
        "minijax.shardings.types": "ShapedArray",
        "minijax_stage2": "Primitive Zero current_trace impl_rules jvp_rules vmap_rules",
        "minijax_stage2.trace": "Rules",
        "minijax_stage2.vmap": "BatchAxis",
        "minijax_stage3": """
            ClosedJaxpr Jaxpr JaxprEqn Literal Var abstract_eval_rules lowering_rules
        """,
        "minijax_stage3.dce": "dce_rules",
        "minijax_stage3.jaxpr": "Atom",
        "minijax_stage3.lowering": "FunctionBuilder",
        "minijax_stage4": "UndefPrimal transpose_rules",
        "minijax_stage4.partial_eval": "partial_eval_rules",
    },
)
