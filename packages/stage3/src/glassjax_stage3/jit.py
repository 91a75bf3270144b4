"""`jit`: run a Python function once to stage it, compile the program, and call that afterwards.

To all interpreters a jitted function is a primitive that holds a program, so it can be
differentiated, batched and staged like any other. Only evaluation compiles it.
"""

import functools
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

from glassjax_stage2 import Primitive, ShapedArray, Tracer, bind, typeof
from glassjax_stage2.arguments import FlatFunction, argument_names, require_function
from glassjax_stage2.functions import ints
from glassjax_stage2.shaped_array import dialect
from glassjax_stage2.source import name_of
from glassjax_stage2.tree import PyTreeDef, tree_flatten, tree_unflatten
from glassjax_stage3.executable import CompiledJaxpr, compile_jaxpr
from glassjax_stage3.jaxpr import Jaxpr, consts_as_invars
from glassjax_stage3.lowering import lower_to_module
from glassjax_stage3.staging import CLOSE_OVER, abstractify, as_type, trace_to_jaxpr

jit_p = Primitive("jit", higher_order=True)


class Traced(NamedTuple):
    """A function staged for certain types: a program, constants first."""

    jaxpr: Jaxpr
    consts: list[Any]
    out_tree: PyTreeDef


class JittedFunction:
    """A function that is staged when first called with a new signature.

    A signature is the structure of the arguments, their types, and the values of static ones.
    """

    def __init__(self, fun: Callable[..., Any], static_argnums: tuple[int, ...]):
        functools.update_wrapper(self, fun, updated=())
        self._fun, self._name = fun, name_of(fun)
        self._static_argnums = static_argnums
        self._traced: dict[Any, Traced] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        traced, leaves = self._trace(args, kwargs)
        outs = bind(jit_p, *traced.consts, *leaves, name=self._name, jaxpr=traced.jaxpr)
        return tree_unflatten(traced.out_tree, outs)

    def _trace(
        self, args: Any, kwargs: Any, type_of: Callable[[Any], ShapedArray] = typeof
    ) -> tuple[Traced, list[Any]]:
        """The program for these arguments, and their leaves."""
        static = {i: args[i] for i in self._static_argnums if i < len(args)}
        args = tuple(None if i in static else x for i, x in enumerate(args))  # None has no leaves
        leaves, in_tree = tree_flatten((args, kwargs))
        names = functools.partial(argument_names, self._fun, args, kwargs)
        remedy = f"{CLOSE_OVER}, or made static by static_argnums"
        in_avals = abstractify(f"jit of `{self._name}`", names, leaves, remedy, type_of)
        key = in_tree, tuple(in_avals), self._static_key(static), dialect()
        if key in self._traced:
            return self._traced[key], leaves

        @functools.wraps(self._fun)
        def with_static(*args: Any, **kwargs: Any) -> Any:
            return self._fun(*(static.get(i, x) for i, x in enumerate(args)), **kwargs)

        flat_fun = FlatFunction(with_static, in_tree, has_kwargs=True)
        closed = trace_to_jaxpr(flat_fun, in_avals, "jit", self._fun, names)
        traced = Traced(consts_as_invars(closed), closed.consts, flat_fun.out_tree)
        if not any(isinstance(x, Tracer) for x in traced.consts):  # else it is valid for one call
            self._traced[key] = traced
        return traced, leaves

    def _static_key(self, static: dict[int, Any]) -> Any:
        """Values with their types: 1, 1.0 and True are equal, but each gets its own program."""
        for position, x in static.items():
            if not isinstance(x, Hashable):
                raise ValueError(
                    f"jit of `{self._name}`: the static argument {position} is of type "
                    f"{type(x).__name__}, which is not hashable. Use a tuple or another immutable "
                    "value, or do not make it static."
                )
        return tuple((position, type(x), x) for position, x in static.items())

    def lower(self, *args: Any, **kwargs: Any) -> "Lowered":
        """Lower the function for arguments of these types, which may be `ShapedArray`s."""
        traced, _ = self._trace(args, kwargs, as_type)
        return Lowered(traced.jaxpr, f"jit_{self._name}")

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """Bind a method: the instance becomes its first argument, static or a tree."""
        return self if instance is None else functools.partial(self, instance)

    def __repr__(self) -> str:
        return f"<jit of {self._fun!r}>"


class Lowered(NamedTuple):
    """A function as a StableHLO module, for arguments of certain types."""

    jaxpr: Jaxpr
    name: str

    def as_text(self) -> str:
        """The StableHLO module. Constants that the function closes over are its first arguments."""
        return lower_to_module(self.jaxpr, self.name)

    def compile(self) -> CompiledJaxpr:
        """The module compiled by XLA, whose `as_text` is optimized HLO."""
        return compile_jaxpr(self.jaxpr, self.name)  # type: ignore[no-any-return]


def jit(fun: Callable[..., Any], static_argnums: int | Sequence[int] = ()) -> JittedFunction:
    """Compile `fun` with XLA, once for each signature that it is called with.

    Arguments:
        fun: function of arrays and pytrees of arrays, without side effects.
        static_argnums: positions of arguments that are not arrays but hashable Python values,
            part of the signature: `fun` is compiled for each value.

    Returns:
        A function of the same arguments whose results are Arrays. Its `lower` shows the program.

    Raises:
        TypeError: when called, an argument that is not static is not an array or number.
        ValueError: when called, a static argument is not hashable.

    >>> import numpy as np
    >>> jit(lambda x: x + 1)(np.arange(3.0))
    Array([1., 2., 3.], dtype=float64)
    """
    require_function("jit", fun)
    return JittedFunction(fun, ints("jit: static_argnums", static_argnums))
