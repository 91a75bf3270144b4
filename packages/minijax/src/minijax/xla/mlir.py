"""MLIR by jaxlib's bindings, which take a while to import."""

from typing import Any

from minijax_stage3.backend import import_module


def mlir_context() -> Any:
    """A new context of MLIR that knows XLA's dialects."""
    ir = import_module("jaxlib.mlir.ir")
    context, registry = ir.Context(), ir.DialectRegistry()
    import_module("jaxlib.mlir._mlir_libs._jax_mlir_ext").register_dialects(registry)
    context.append_dialect_registry(registry)
    for dialect in ("stablehlo", "chlo", "sdy"):
        import_module(f"jaxlib.mlir.dialects.{dialect}").register_dialect(context)
    context.load_all_available_dialects()
    return context
