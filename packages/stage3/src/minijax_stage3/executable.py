"""Compiled jaxprs, and the caches that ensure that each is compiled only once."""

from collections.abc import Callable, Sequence
from typing import Any
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


class CompiledJaxpr:
    """A jaxpr compiled by XLA for the default device.

    Arguments:
        jaxpr: the program.
        text: its module.
        compile: function from the text and the types of results on the device to an executable.
    """

    __slots__ = ("executable", "execute", "in_avals", "out_avals")

    def __init__(
        self, jaxpr: Jaxpr, text: str, compile: Callable[..., backend.Executable] | None = None
    ) -> None:
        self.in_avals: list[ShapedArray] = jaxpr.in_avals
        self.out_avals: list[ShapedArray] = jaxpr.out_avals
        self.executable = (compile or backend.compile)(text, list(map(device_type, self.out_avals)))
        self.execute: Callable[[Sequence[Any]], list[Any]] = self.executable.execute

    def as_text(self) -> str:
        """The program as optimized by XLA, in HLO."""
        return self.executable.hlo_text()


_compiled: "WeakKeyDictionary[Jaxpr, CompiledJaxpr]" = WeakKeyDictionary()


def compile_jaxpr(jaxpr: Jaxpr, name: str) -> CompiledJaxpr:
    """Compile `jaxpr` once; the executable lives as long as the jaxpr."""
    compiled = _compiled.get(jaxpr)
    if compiled is None:
        compiled = _compiled[jaxpr] = CompiledJaxpr(jaxpr, lower_to_module(jaxpr, name))
    return compiled


@once_for_types
def compile_primitive(
    primitive: Primitive, in_avals: tuple[ShapedArray, ...], params: dict[str, Any]
) -> CompiledJaxpr:
    """Compile a program of one primitive, for eager operations."""
    jaxpr = jaxpr_of_primitive(primitive, in_avals, params)
    return CompiledJaxpr(jaxpr, lower_to_module(jaxpr, primitive.name))


def jaxpr_of_primitive(
    primitive: Primitive, in_avals: Sequence[ShapedArray], params: dict[str, Any]
) -> Jaxpr:
    """The program of one primitive."""
    invars = [Var(aval) for aval in in_avals]
    outvars = [Var(aval) for aval in abstract_eval(primitive, tuple(in_avals), params)]
    return Jaxpr([], invars, [JaxprEqn(primitive, invars, outvars, params)], outvars)
