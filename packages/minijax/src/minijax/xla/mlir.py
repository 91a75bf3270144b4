"""MLIR by jaxlib's bindings, which take a while to import."""

from functools import cache
from typing import Any

from minijax.xla.importing import import_module


def bindings() -> Any:
    """The package of the bindings."""
    return import_module("jaxlib.mlir")


def ir() -> Any:
    """The module of types, attributes, operations and contexts."""
    return import_module("jaxlib.mlir.ir")


def dialect(name: str) -> Any:
    """The module of the operations of a dialect: "func", "stablehlo"."""
    return import_module(f"jaxlib.mlir.dialects.{name}")


def mlir_context() -> Any:
    """A new context of MLIR that knows XLA's dialects."""
    context = ir().Context()
    context.append_dialect_registry(dialects())
    for name in ("stablehlo", "chlo", "sdy"):
        dialect(name).register_dialect(context)
    context.load_all_available_dialects()
    return context


def dialects() -> Any:
    """MLIR's own dialects, for a context."""
    registry = ir().DialectRegistry()
    import_module("jaxlib.mlir._mlir_libs._jax_mlir_ext").register_dialects(registry)
    return registry


@cache
def context_class() -> type:
    """The class of contexts that begin without dialects."""
    with_dialects = ir().Context

    class JaxIrContext(with_dialects):  # type: ignore[misc, valid-type]
        def __init__(self, *args: Any, **kwargs: Any):
            super(with_dialects, self).__init__(*args, **kwargs)

    return JaxIrContext


def parsed(text: str) -> Any:
    """The module of a text."""
    with mlir_context():
        return ir().Module.parse(text)
