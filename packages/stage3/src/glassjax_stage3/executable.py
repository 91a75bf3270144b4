"""Compiled jaxprs, and the caches that ensure that each is compiled only once."""

from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from glassjax_stage2 import Primitive, ShapedArray, float0
from glassjax_stage3 import backend
from glassjax_stage3.abstract_eval import abstract_eval, once_for_types
from glassjax_stage3.jaxpr import Jaxpr, JaxprEqn, Var
from glassjax_stage3.lowering import lower_to_module


def device_type(aval: ShapedArray) -> ShapedArray:
    """The type on the device, which stores only numbers: other dtypes contain one.

    Booleans stand for float0, which holds no bits.
    """
    if not aval.dtype.names:
        return aval
    return ShapedArray(aval.shape, np.bool_ if aval.dtype == float0 else aval.dtype[0])


class CompiledJaxpr:
    """A jaxpr compiled by XLA for the default device, from the text of its module."""

    def __init__(self, jaxpr: Jaxpr, text: str, compile: Callable[..., backend.Executable]) -> None:
        self.in_avals, self.out_avals = jaxpr.in_avals, jaxpr.out_avals
        self.executable = compile(text, list(map(device_type, self.out_avals)))
        self.execute = self.executable.execute

    def as_text(self) -> str:
        """The program as optimized by XLA, in HLO."""
        return self.executable.hlo_text()


def cached_by_jaxpr(transform: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: a function of a jaxpr and hashable values, cached as long as the jaxpr lives."""
    cache: WeakKeyDictionary[Jaxpr, dict[Any, Any]] = WeakKeyDictionary()

    def cached(jaxpr: Jaxpr, *key: Any) -> Any:
        results = cache.setdefault(jaxpr, {})
        if key not in results:
            results[key] = transform(jaxpr, *key)
        return results[key]

    cached.__doc__ = transform.__doc__
    return cached


@cached_by_jaxpr
def compile_jaxpr(jaxpr: Jaxpr, name: str) -> CompiledJaxpr:
    """Compile `jaxpr` once; the executable lives as long as the jaxpr."""
    return CompiledJaxpr(jaxpr, lower_to_module(jaxpr, name), backend.compile)


@once_for_types
def compile_primitive(
    primitive: Primitive, in_avals: tuple[ShapedArray, ...], params: dict[str, Any]
) -> CompiledJaxpr:
    """Compile a program of one primitive, for eager operations."""
    jaxpr = jaxpr_of_primitive(primitive, in_avals, params)
    return CompiledJaxpr(jaxpr, lower_to_module(jaxpr, primitive.name), backend.compile)


def jaxpr_of_primitive(
    primitive: Primitive, in_avals: Sequence[ShapedArray], params: dict[str, Any]
) -> Jaxpr:
    """The program of one primitive."""
    invars = [Var(aval) for aval in in_avals]
    outvars = [Var(aval) for aval in abstract_eval(primitive, tuple(in_avals), params)]
    return Jaxpr([], invars, [JaxprEqn(primitive, invars, outvars, params)], outvars)
