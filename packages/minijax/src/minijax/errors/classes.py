"""The library's error classes, under the names of `jax.errors` where JAX has them.

Each of them is an `ExplainedError`: its message says what was wrong, where in the user's program,
and how to fix it, and names its page in `errors/pages/`, which `explain_error` prints.
"""

from minijax_stage1.errors import ExplainedError, JAXTypeError, UnexpectedTracerError
from minijax_stage2.errors import (
    ConcretizationTypeError,
    IntegerGradientError,
    MappedAxisError,
    MissingRuleError,
    ShapeMismatchError,
    TangentTypeError,
    TracerArrayConversionError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
    TreeMismatchError,
    TypePromotionError,
)
from minijax_stage3 import JaxprTypeError
from minijax_stage3.errors import CompileError, ExecutionError
from minijax_stage3.errors import XLAError as JaxRuntimeError
from minijax_stage4.errors import (
    BranchTypeError,
    ComplexGradientError,
    NonlinearError,
    NonScalarGradientError,
)


class JAXIndexError(IndexError):
    """The base class, with JAX's name, of errors of indices that are not known."""

    __module__ = "minijax.errors"  # as tracebacks show it


class InconclusiveDimensionOperation(Exception):
    """An error of computing with sizes that are not known; here all sizes are ints."""

    __module__ = "minijax.errors"  # as tracebacks show it


class NonConcreteBooleanIndexError(ConcretizationTypeError, JAXIndexError):
    """An array was indexed with traced booleans."""

    __module__ = "minijax.errors"  # as tracebacks show it


class NonConcreteSliceError(ConcretizationTypeError, JAXIndexError):
    """An array was sliced with traced bounds."""

    __module__ = "minijax.errors"  # as tracebacks show it


class LeakedTracerError(UnexpectedTracerError):
    """A tracer outlived its call; found by `checking_leaks`."""

    __module__ = "minijax.errors"  # as tracebacks show it


class UnboundAxisError(ExplainedError, NameError):
    """A collective used an axis name that no enclosing `vmap` binds."""

    __module__ = "minijax.errors"  # as tracebacks show it


class CarryTypeError(ExplainedError, TypeError):
    """The body of a loop returns a carry whose types or structure differ from its input."""

    __module__ = "minijax.errors"  # as tracebacks show it


class PlatformError(ExplainedError, RuntimeError):
    """There are no devices of a kind: no plugin, no driver, or no such name."""

    __module__ = "minijax.errors"  # as tracebacks show it


class KeyReuseError(ExplainedError, JAXTypeError):
    """A random key was used twice; found by `debug_key_reuse`."""

    __module__ = "minijax.errors"  # as tracebacks show it


class ShardingTypeError(ExplainedError, TypeError):
    """The types of arrays say that they are divided in ways that do not go together."""

    __module__ = "minijax.errors"  # as tracebacks show it


__all__ = [
    "BranchTypeError", "CarryTypeError", "CompileError", "ComplexGradientError",
    "ConcretizationTypeError", "ExecutionError", "ExplainedError",
    "InconclusiveDimensionOperation", "IntegerGradientError", "JAXIndexError", "JAXTypeError",
    "JaxRuntimeError", "JaxprTypeError", "KeyReuseError", "LeakedTracerError", "MappedAxisError",
    "MissingRuleError", "NonConcreteBooleanIndexError", "NonConcreteSliceError",
    "NonScalarGradientError", "NonlinearError", "PlatformError", "ShapeMismatchError",
    "ShardingTypeError", "TangentTypeError",
    "TracerArrayConversionError", "TracerBoolConversionError", "TracerIntegerConversionError",
    "TreeMismatchError", "TypePromotionError", "UnboundAxisError", "UnexpectedTracerError",
]  # fmt: skip
