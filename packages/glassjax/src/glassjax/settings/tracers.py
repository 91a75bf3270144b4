"""Tracers, and how types are printed."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

import glassjax_stage2 as stage2
from glassjax.settings.names import named
from glassjax_stage2 import ShapedArray, current_trace, typeof
from glassjax_stage2.errors import (
    ConcretizationTypeError,
    TracerArrayConversionError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
)
from glassjax_stage2.jvp import JVPTrace, JVPTracer
from glassjax_stage2.shaped_array import short_dtype
from glassjax_stage2.vmap import BatchTrace, BatchTracer
from glassjax_stage3.staging import JaxprTrace, JaxprTracer
from glassjax_stage4.partial_eval import PartialEvalTrace
from glassjax_stage4.transpose import BackwardPass

# Types as JAX prints them: full names of dtypes, and a mark before weak types.
#
# The stages print `f32[3]`, as jaxprs do. There is only one object for each type, so `typeof`
# returns users a wrapper of the type with another text.


def dtype_name(dtype: np.dtype[Any]) -> str:
    """The name of a dtype, including key dtypes."""
    return dtype.names[0] if dtype.names else dtype.name


def type_text(aval: ShapedArray) -> str:
    """The text of a type.

    >>> type_text(ShapedArray((2, 3), "bfloat16")), type_text(ShapedArray((), "int32", True))
    ('bfloat16[2,3]', '~int32[]')
    """
    head, _, rest = str(aval).partition("[")
    memory = head.removeprefix(short_dtype(aval.dtype))
    return f"{'~' * aval.weak_type}{dtype_name(aval.dtype)}{memory}[{rest}"


class PrintedType:
    """A type with JAX's text, otherwise equal to the type that it wraps."""

    __slots__ = ("_aval",)

    _aval: ShapedArray

    def __init__(self, aval: ShapedArray):
        self._aval = aval

    @property  # type: ignore[misc]
    def __class__(self) -> type[Any]:  # for isinstance
        return type(self._aval)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._aval, name)

    def to_aval(self) -> ShapedArray:
        """The type itself."""
        return self._aval

    def update(self, **changes: Any) -> Any:
        """The type with other values of some fields."""
        return printed_type(self._aval.update(**changes))

    def __eq__(self, other: object) -> bool:
        return plain(other) is self._aval

    def __hash__(self) -> int:
        return hash(self._aval)

    def __reduce__(self) -> Any:
        return printed_type, (self._aval,)

    def __str__(self) -> str:
        return type_text(self._aval)

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self._aval.weak_type else ""
        return f"ShapedArray({type_text(self._aval).removeprefix('~')}{weak})"


PrintedType.__name__ = "ShapedArray"


def plain(aval: Any) -> Any:
    """The type itself."""
    return aval._aval if type(aval) is PrintedType else aval


@cache
def printed_type(aval: ShapedArray) -> Any:
    """The type whose text is JAX's: one object for each type.

    >>> printed_type(ShapedArray((3,), "float32"))
    ShapedArray(float32[3])
    """
    return aval if getattr(aval, "is_opaque", False) else PrintedType(aval)


# The tracers of this library: the stages' tracers with the methods of arrays.
#
# The library's dialect makes subclasses of the stages' interpreters. Their tracers also derive from
# `Tracer`, which gets its methods from `glassjax.numpy`.


_REMEDIES = {
    ConcretizationTypeError: "Keep it an array: the functions of glassjax.numpy, such as jnp.sin, "
    "and operators take scalars and arrays alike.",
    TracerBoolConversionError: "Use jnp.where(condition, x, y), or lax.cond(condition, f, g, "
    "*operands), or let the branch depend on static values only.",
    TracerIntegerConversionError: "Pass the integer as a static argument, by static_argnums or "
    "static_argnames of jit, or close over it. To make integers of other numbers use "
    "x.astype(int).",
    TracerArrayConversionError: "Use the functions of glassjax.numpy in place of numpy's, jnp.sin "
    "for np.sin, or move what needs the numbers out of the transformed function.",
}

# Attributes that only arrays in memory have, with the alternatives for traced values.
_SHARDING_SUFFIX = (
    "typeof(x).sharding is the sharding of its type, and debug.inspect_array_sharding(x, "
    "callback=print) prints the sharding that the compiler chose"
)
_WHERE_IT_RUNS = "lax.platform_dependent chooses by the platform that a program runs on"
_ON_THE_RESULT = "Ask the result, outside of the transformed function"
_MEMORY_ATTRIBUTES = {
    **dict.fromkeys(("sharding", "format", "is_fully_replicated"), _SHARDING_SUFFIX),
    **dict.fromkeys(("device", "devices", "platform"), _WHERE_IT_RUNS),
    **dict.fromkeys(
        (
            "addressable_data",
            "addressable_shards",
            "block_until_ready",
            "committed",
            "copy_to_host_async",
            "delete",
            "global_shards",
            "is_deleted",
            "is_fully_addressable",
            "is_ready",
            "on_device_size_in_bytes",
            "unsafe_buffer_pointer",
        ),
        _ON_THE_RESULT,
    ),
}


class Tracer(stage2.Tracer):
    """A value in a transformed function, with the operators and methods of an Array.

    >>> @glassjax.jit
    ... def f(x):
    ...     return isinstance(x, glassjax.core.Tracer) and x.sum() > x[0]
    >>> f(jnp.ones(3))
    Array(True, dtype=bool)
    """

    def demand(
        self,
        error: type[ConcretizationTypeError],
        need: str,
        loses_derivative: bool = True,
        remedy: str = "",
    ) -> Any:
        """The value itself, or the error, with its remedy in the names of this library."""
        try:
            return super().demand(error, need, loses_derivative)
        except ConcretizationTypeError as raised:
            reason = str(raised).removesuffix(error.remedy)
            raise error(reason + (remedy or _REMEDIES[error])) from None

    def __repr__(self) -> str:
        return _text(self) or super().__repr__()

    if not TYPE_CHECKING:  # type checkers would accept every attribute

        def __getattr__(self, name: str) -> Any:
            """Raise an error: existing attributes are found before this is called."""
            message = f"{type(self).__name__!r} object has no attribute {name!r}"
            if name in _MEMORY_ATTRIBUTES:
                message = (
                    f"`{name}` is of arrays in memory, and this is a traced {self.aval}. "
                    f"{_MEMORY_ATTRIBUTES[name]}"
                )
            raise AttributeError(message, name=name, obj=self)


def _text(x: Any) -> str:
    """A tracer as JAX prints it, named after its transformation; empty if JAX has none."""
    if isinstance(x, JaxprTracer):
        return f"JitTracer({type_text(x.aval)})"
    if isinstance(x, BatchTracer):
        return f"VmapTracer(aval={type_text(x.aval)}, batched={type_text(typeof(x.value))})"
    if not isinstance(x, JVPTracer):
        return ""
    if isinstance(getattr(x.tangent, "interpreter", None), PartialEvalTrace):
        return f"GradTracer(primal={x.primal}, typeof(tangent)={x.tangent.aval})"
    return f"JVPTracer(primal={x.primal}, tangent={x.tangent})"


@cache
def library_tracer(cls: Any) -> Any:
    """The subclass of a tracer class that also derives from `Tracer`."""
    if issubclass(cls, Tracer):
        return cls
    names = {"__module__": cls.__module__, "__doc__": cls.__doc__}
    return type(cls.__name__, (Tracer, cls), names)


# For each stage's interpreter, the module with the library's subclass.
_STAGING = JaxprTrace, PartialEvalTrace, JVPTrace, BatchTrace
_OWN_INTERPRETERS = {
    **dict.fromkeys(_STAGING, "glassjax.runtime.templates"),
    BackwardPass: "glassjax.lax.backward_pass",
}


@cache
def library_interpreter(cls: Any) -> Any:
    """The library's subclass of an interpreter; by default it differs only in its tracers."""
    if cls in _OWN_INTERPRETERS:
        return named(_OWN_INTERPRETERS[cls], cls.__name__)
    if issubclass(cls.tracer, Tracer):
        return cls
    names = {
        "tracer": library_tracer(cls.tracer),
        "__module__": cls.__module__,
        "__doc__": cls.__doc__,
    }
    return type(cls.__name__, (cls,), names)


@cache
def library_function(function: Any) -> Any:
    """The library's refinement of a function of the stages; by default it is the same."""
    return named("glassjax.lax.elementwise", "add_any") if function is stage2.add else function


@contextmanager
def adopted_traces() -> Iterator[None]:
    """A context in which running traces of stages use the library's tracers."""
    stack: list[Any] = list(current_trace().stack())
    own = [trace for trace in stack if _makes_tracers_of_stage(trace)]
    for trace in own:
        # on the instance, where it hides the attribute of the class until it is deleted below
        trace.tracer = library_tracer(trace.tracer)
    try:
        yield
    finally:
        for trace in own:
            del trace.tracer


def _makes_tracers_of_stage(trace: Any) -> bool:
    cls = getattr(trace, "tracer", None)
    return cls is not None and not issubclass(cls, Tracer)


def adopted(x: Any) -> Any:
    """A value for library functions: a stage's tracer becomes one with the library's methods."""
    if not isinstance(x, stage2.Tracer) or isinstance(x, Tracer):
        return x
    own_class: Any = type(x)
    same = object.__new__(library_tracer(own_class))
    vars(same).update(vars(x))
    return same
