"""Errors of reverse mode, and of conditionals."""

from minijax_stage1.errors import ExplainedError
from minijax_stage2.errors import MissingRuleError


class NonlinearError(MissingRuleError):
    """A program to be transposed is not linear."""


class NonScalarGradientError(ExplainedError, TypeError):
    """The gradient was requested of a function whose result is not a scalar."""


class ComplexGradientError(ExplainedError, TypeError):
    """A complex derivative is ambiguous, or was declared holomorphic and is not complex."""


class BranchTypeError(ExplainedError, TypeError):
    """The functions between which a program chooses return different types or structures."""
