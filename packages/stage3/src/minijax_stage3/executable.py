"""Compiled jaxprs, and the caches that ensure that each is compiled only once."""

from collections.abc import Callable, Mapping, Sequence
from threading import RLock
from types import MappingProxyType
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from minijax_stage2 import Primitive, ShapedArray, float0
from minijax_stage3 import backend
from minijax_stage3.abstract_eval import abstract_eval, once_for_types
from minijax_stage3.jaxpr import Jaxpr, JaxprEqn, Var
from minijax_stage3.lowering import lower_to_module


def device_type(aval: ShapedArray) -> ShapedArray:
    """The type on the device, which stores only numbers: other dtypes contain one.

    Booleans stand for float0, which holds no bits.
    """
    if not aval.dtype.names:
        return aval
    return ShapedArray(aval.shape, np.bool_ if aval.dtype == float0 else aval.dtype[0])


# Functions that compile the text of a module; the last one is used.
compilers: list[Callable[..., backend.Executable]] = [backend.compile]


class CompiledJaxpr:
    """A jaxpr compiled by XLA for the default device."""

    __slots__ = ("executable", "execute", "in_avals", "out_avals")

    def __init__(self, jaxpr: Jaxpr, text: str, options: Mapping[str, Any] = MappingProxyType({})):
        self.in_avals: list[ShapedArray] = jaxpr.in_avals
        self.out_avals: list[ShapedArray] = jaxpr.out_avals
        device_types = [device_type(aval) for aval in self.out_avals]
        self.executable = compilers[-1](text, device_types, options)
        self.execute: Callable[[Sequence[Any]], list[Any]] = self.executable.execute

    def as_text(self) -> str:
        """The program as optimized by XLA, in HLO."""
        return self.executable.hlo_text()


T = TypeVar("T")


class Once(Generic[T]):
    """A lazy value that is made only once, in whichever thread needs it first.

    A thread that needs the value while making it does not wait for itself.
    """

    __slots__ = ("__weakref__", "lock", "value")

    def __init__(self) -> None:
        self.lock = RLock()

    def get(self, make: Callable[[], T]) -> T:
        with self.lock:
            if not hasattr(self, "value"):
                self.value = make()
            return self.value


_compiled: "WeakKeyDictionary[Jaxpr, Once[CompiledJaxpr]]" = WeakKeyDictionary()


def compile_jaxpr(
    jaxpr: Jaxpr, name: str, lower: Callable[..., str] = lower_to_module
) -> CompiledJaxpr:
    """Compile `jaxpr` once; the executable lives as long as the jaxpr."""
    once = _compiled.setdefault(jaxpr, Once())
    return once.get(lambda: CompiledJaxpr(jaxpr, lower(jaxpr, name, platform=backend.platform())))


@once_for_types
def compile_primitive(
    primitive: Primitive, in_avals: tuple[ShapedArray, ...], params: dict[str, Any]
) -> CompiledJaxpr:
    """Compile a program of one primitive, for eager operations."""
    jaxpr = jaxpr_of_primitive(primitive, in_avals, params)
    return CompiledJaxpr(jaxpr, lower_to_module(jaxpr, primitive.name, platform=backend.platform()))


def jaxpr_of_primitive(
    primitive: Primitive, in_avals: Sequence[ShapedArray], params: dict[str, Any]
) -> Jaxpr:
    """The program of one primitive."""
    invars = [Var(aval) for aval in in_avals]
    outvars = [Var(aval) for aval in abstract_eval(primitive, tuple(in_avals), params)]
    return Jaxpr([], invars, [JaxprEqn(primitive, invars, outvars, params)], outvars)
