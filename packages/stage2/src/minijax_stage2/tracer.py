"""Tracers: the values that stand in for arguments while a trace interprets a function."""

from typing import Any, NoReturn

from minijax_stage1.interpreter import Boxed, leaked_value_error
from minijax_stage2 import errors
from minijax_stage2.operators import ArrayOperators
from minijax_stage2.shaped_array import ShapedArray, typeof
from minijax_stage2.source import user_source
from minijax_stage2.trace import Params, Primitive, Trace


class Tracer(ArrayOperators, Boxed):
    """A boxed value with its trace and its type, which computes like an array.

    >>> import numpy as np
    >>> from minijax_stage2 import vmap
    >>> def f(x):
    ...     print(isinstance(x, Tracer), x.shape)
    ...     return 2 * x
    >>> out = vmap(f)(np.ones((3, 2)))
    True (2,)
    """

    __slots__ = ()

    interpreter: Trace

    def concrete(self) -> Any:
        """The value itself if it is known, else `unknown`."""
        return unknown

    def why_unknown(self) -> str:
        """Explain why there is no single value to look at."""
        raise NotImplementedError(f"{type(self).__name__} must define why_unknown")

    def __repr__(self) -> str:
        return f"{type(self).__name__}<{self.aval}>"

    def evaluate_primitive(self, primitive: Primitive, args: Any, params: Params) -> NoReturn:
        """Raise an error: a tracer that reaches evaluation has leaked out of its function."""
        leaked = next(x for x in args if isinstance(x, Tracer))
        raise leaked_value_error(leaked, leaked.interpreter, leaked.source)

    def __bool__(self) -> bool:
        need = "the truth of a traced value is needed"
        return bool(self.need_value(errors.TracerBoolConversionError, need))

    def __index__(self) -> int:
        need = "a Python integer is needed of a traced value"
        if self.aval.dtype.kind not in "biu":  # an integer would lose the derivative
            self.refuse(errors.TracerIntegerConversionError, need)
        return int(self.need_value(errors.TracerIntegerConversionError, need))

    def __float__(self) -> float:
        self.refuse(errors.ConcretizationTypeError, "a Python float is needed of a traced value")

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        self.refuse(errors.TracerArrayConversionError, "a numpy array is needed of a traced value")

    def __iter__(self) -> NoReturn:
        self.refuse(errors.ConcretizationTypeError, "each element of a traced value is needed")

    def need_value(
        self, error: type[errors.ConcretizationTypeError], need: str, remedy: str | None = None
    ) -> Any:
        value = self.concrete()
        if value is unknown or self.interpreter.ended:
            self.refuse(error, need, remedy)
        return value

    def refuse(
        self, error: type[errors.ConcretizationTypeError], need: str, remedy: str | None = None
    ) -> NoReturn:
        if self.interpreter.ended:
            raise leaked_value_error(self, self.interpreter, self.source)
        known = self.concrete() is not unknown
        reason = "the result would lose its derivative" if known else self.why_unknown()
        here = user_source()
        line = f"\n    {here.text}\n" if here is not None and here.text else " "
        raise error(f"{need} at {here}:{line}but {reason}.\n{remedy or error.remedy}")


class PrimalTracer(Tracer):
    """A tracer that boxes the value itself, and is known if that is."""

    __slots__ = ("primal",)

    primal: Any

    @property
    def aval(self) -> ShapedArray:
        return typeof(self.primal)

    def concrete(self) -> Any:
        return self.primal.concrete() if isinstance(self.primal, Tracer) else self.primal

    def why_unknown(self) -> str:
        return self.primal.why_unknown()  # type: ignore[no-any-return]


unknown: Any = object()
