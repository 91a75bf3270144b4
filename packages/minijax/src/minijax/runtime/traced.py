"""Traced functions, and the caches that keep them as long as the functions live."""

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minijax_stage2 import Tracer
from minijax_stage2.tree import PyTreeDef
from minijax_stage3.array import Array, new_buffer
from minijax_stage3.jaxpr import Jaxpr


class Traced:
    """The result of tracing a function at certain types: a program, constants first."""

    def __init__(
        self,
        name: str,
        jaxpr: Jaxpr,
        consts: Sequence[Any],
        in_tree: PyTreeDef,
        out_tree: PyTreeDef,
    ):
        self.name = name
        self.jaxpr = jaxpr
        self.consts = list(consts)
        self.in_tree = in_tree  # of the pair (args, kwargs), static arguments replaced by None
        self.out_tree = out_tree
        # With a tracer inside, a program is good for one call only.
        self.is_reusable = not any(isinstance(const, Tracer) for const in consts)

    def const_on_device(self, number: int) -> Any:
        """A constant as an operand: a numpy array is copied to the device once for all calls."""
        x = self.consts[number]
        if isinstance(x, np.ndarray):
            aval = self.jaxpr.invars[number].aval
            x = self.consts[number] = Array(new_buffer(x, aval), aval)
        return x

    def consts_on_device(self) -> list[Any]:
        return [self.const_on_device(number) for number in range(len(self.consts))]


# By structure and types of the arguments, static values, number types, and the mesh in context.
Cache = dict[Any, Traced]
_caches: "weakref.WeakKeyDictionary[Any, dict[Any, Cache]]" = weakref.WeakKeyDictionary()


def cache_of(fun: Callable[..., Any], static: Any) -> Cache:
    """Return the cache of traces of `fun`, shared by equal calls of `jit`."""
    try:
        return _caches.setdefault(fun, {}).setdefault(static, {})
    except TypeError:  # not hashable, or not to be referred to weakly
        return {}


def forget_traced() -> None:
    """Empty the caches of traced programs."""
    for by_options in list(_caches.values()):
        for cache in by_options.values():
            cache.clear()
