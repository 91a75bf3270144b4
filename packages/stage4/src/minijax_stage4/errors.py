"""Errors of reverse mode, and of conditionals."""

from minijax_stage1.errors import ExplainedError
from minijax_stage2.errors import MissingRuleError


class NonlinearError(MissingRuleError):
    """A program that is to be transposed is not linear."""


class NonScalarGradientError(ExplainedError, TypeError):
    """The gradient was asked for of a function whose result is not one number."""


class ComplexGradientError(ExplainedError, TypeError):
    """A derivative of complex numbers was asked for, or said to be one, and it is not."""


class BranchTypeError(ExplainedError, TypeError):
    """The functions between which a program chooses return different types or structures."""
