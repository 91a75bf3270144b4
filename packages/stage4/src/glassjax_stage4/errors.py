"""Errors of reverse mode, and of conditionals."""

from glassjax_stage2.errors import MissingRuleError


class NonlinearError(MissingRuleError):
    """A program to be transposed is not linear."""


class NonScalarGradientError(TypeError):
    """The gradient was requested of a function whose result is not a scalar."""


class ComplexGradientError(TypeError):
    """A complex derivative is ambiguous, or was declared holomorphic and is not complex."""


class BranchTypeError(TypeError):
    """The branches of a conditional return different types or structures."""
