"""The errors that a program can meet, by the names of `jax.errors`."""

from minijax_stage2.errors import (
    ConcretizationTypeError,
    MissingRuleError,
    TracerArrayConversionError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
    TypePromotionError,
    UnexpectedTracerError,
)
from minijax_stage3 import JaxprTypeError
from minijax_stage3.errors import CompileError, ExecutionError

__all__ = [
    "CompileError",
    "ConcretizationTypeError",
    "ExecutionError",
    "JaxprTypeError",
    "MissingRuleError",
    "TracerArrayConversionError",
    "TracerBoolConversionError",
    "TracerIntegerConversionError",
    "TypePromotionError",
    "UnexpectedTracerError",
]
