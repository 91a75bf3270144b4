"""Tracers: the values that stand in for arguments while a trace interprets a function."""

from typing import Any, NoReturn

from glassjax_stage1.interpreter import Boxed, leaked_value_error
from glassjax_stage2 import errors
from glassjax_stage2.operators import ArrayOperators
from glassjax_stage2.shaped_array import ShapedArray, typeof
from glassjax_stage2.source import user_source
from glassjax_stage2.trace import Params, Primitive, Trace


class Tracer(ArrayOperators, Boxed):
    """A boxed value with its trace and its type, which computes like an array.

    >>> import numpy as np
    >>> from glassjax_stage2 import vmap
    >>> def f(x):
    ...     print(isinstance(x, Tracer), x.shape)
    ...     return 2 * x
    >>> out = vmap(f)(np.ones((3, 2)))
    True (2,)
    """

    interpreter: Trace

    def concrete(self) -> Any:
        """The value itself if it is known, else `unknown`."""
        return unknown

    def why_unknown(self) -> str:
        """Explain why there is no single value."""
        raise NotImplementedError(f"{type(self).__name__} must define why_unknown")

    def __repr__(self) -> str:
        return f"{type(self).__name__}<{self.aval}>"

    def evaluate_primitive(self, primitive: Primitive, args: Any, params: Params) -> NoReturn:
        """Raise an error: a tracer that reaches evaluation has leaked out of its function."""
        raise leaked_value_error(self, self.interpreter, self.source)

    def __bool__(self) -> bool:
        return bool(self.demand(errors.TracerBoolConversionError, "the truth value", False))

    def __index__(self) -> int:
        is_real = self.aval.dtype.kind not in "biu"
        return int(self.demand(errors.TracerIntegerConversionError, "a Python integer", is_real))

    def __float__(self) -> float:
        return float(self.demand(errors.ConcretizationTypeError, "a Python float"))

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.demand(errors.TracerArrayConversionError, "a numpy array")

    def __iter__(self) -> Any:
        return self.demand(errors.ConcretizationTypeError, "each element")

    def demand(
        self, error: type[errors.ConcretizationTypeError], need: str, loses_derivative: bool = True
    ) -> Any:
        """The value itself, if it is known and may be used instead of the tracer, else an error."""
        if self.interpreter.ended:
            raise leaked_value_error(self, self.interpreter, self.source)
        value = self.concrete()
        if value is not unknown and not loses_derivative:
            return value
        why = self.why_unknown() if value is unknown else "the result would lose its derivative"
        at = user_source()
        line = f"\n    {at.text}\n" if at is not None and at.text else " "
        raise error(f"{need} is needed of a traced value at {at}:{line}but {why}.\n{error.remedy}")


class PrimalTracer(Tracer):
    """A tracer that boxes its value, and is known if the value is."""

    primal: Any

    @property
    def aval(self) -> ShapedArray:  # type: ignore[override]
        return typeof(self.primal)

    def concrete(self) -> Any:
        return self.primal.concrete() if isinstance(self.primal, Tracer) else self.primal

    def why_unknown(self) -> str:
        return self.primal.why_unknown()  # type: ignore[no-any-return]


unknown: Any = object()
