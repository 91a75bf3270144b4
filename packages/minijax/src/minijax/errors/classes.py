"""The library's error classes, under the names of `jax.errors` where JAX has them.

A message says what was wrong and how to fix it. Where the error leaves this library, its message
gets the line of the user's program and the name of its page in `errors/pages/`, which
`explain_error` prints.
"""

import re
from typing import Any

from minijax.settings.number_types import TypePromotionError
from minijax_stage1 import JAXTypeError, UnexpectedTracerError
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

# The statuses that XLA's messages begin with, in the order of their numbers.
_STATUSES = (
    "OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND",
    "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED",
    "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED",
)  # fmt: skip
_STATUS = re.compile(rf"\b({'|'.join(_STATUSES[1:])}): ")


def _error_code(error: JaxRuntimeError) -> int:
    """The number of the status in XLA's message; of others that of UNKNOWN, 2.

    A program that fails without one, as by an exception in a callback, has that of INTERNAL, 13.
    """
    status = _STATUS.search(error.error_message)  # type: ignore[attr-defined]
    otherwise = "INTERNAL" if isinstance(error, ExecutionError) else "UNKNOWN"
    return _STATUSES.index(status[1] if status else otherwise)


def _error_message(error: JaxRuntimeError) -> str:
    """The message."""
    return str(error.args[0]) if error.args else ""


_of_errors: Any = JaxRuntimeError
_of_errors.error_code = property(lambda error: _error_code(error))  # without a docstring
_of_errors.error_message = property(lambda error: _error_message(error))


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


class UnboundAxisError(NameError):
    """A collective used an axis name that no enclosing `vmap` binds."""

    __module__ = "minijax.errors"  # as tracebacks show it


class CarryTypeError(TypeError):
    """The body of a loop returns a carry whose types or structure differ from its input."""

    __module__ = "minijax.errors"  # as tracebacks show it


class PlatformError(RuntimeError):
    """There are no devices of a kind: no plugin, no driver, or no such name."""

    __module__ = "minijax.errors"  # as tracebacks show it


class KeyReuseError(JAXTypeError):
    """A random key was used twice; found by `debug_key_reuse`."""

    __module__ = "minijax.errors"  # as tracebacks show it


class ShardingTypeError(TypeError):
    """The types of arrays say that they are divided in ways that do not go together."""

    __module__ = "minijax.errors"  # as tracebacks show it


__all__ = [
    "BranchTypeError", "CarryTypeError", "CompileError", "ComplexGradientError",
    "ConcretizationTypeError", "ExecutionError", "InconclusiveDimensionOperation",
    "IntegerGradientError", "JAXIndexError", "JAXTypeError",
    "JaxRuntimeError", "JaxprTypeError", "KeyReuseError", "LeakedTracerError", "MappedAxisError",
    "MissingRuleError", "NonConcreteBooleanIndexError", "NonConcreteSliceError",
    "NonScalarGradientError", "NonlinearError", "PlatformError", "ShapeMismatchError",
    "ShardingTypeError", "TangentTypeError",
    "TracerArrayConversionError", "TracerBoolConversionError", "TracerIntegerConversionError",
    "TreeMismatchError", "TypePromotionError", "UnboundAxisError", "UnexpectedTracerError",
]  # fmt: skip
