"""`jit`: run a Python function once to write it down, compile that, and call it from then on.

To the other interpreters a jitted function is a primitive that holds a program, and so can be
differentiated, batched and staged like any other.
"""

import functools
import weakref
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from types import MethodType
from typing import Any, TypeVar

import numpy as np

from minijax_stage1.interpreter import current_interpreter, is_evaluating
from minijax_stage1.source import name_of
from minijax_stage2 import Primitive, ShapedArray, Tracer, bind, typeof
from minijax_stage2.argument_names import argument_names
from minijax_stage2.flat_function import FlatFunction, require_function
from minijax_stage2.shaped_array import NumberTypes, number_types
from minijax_stage2.tree import (
    PyTreeDef,
    tree_structure,
    tree_unflatten,
)
from minijax_stage3.aot import Lowered
from minijax_stage3.array import Array, executor, new_buffer, to_buffer
from minijax_stage3.executable import Once, compile_jaxpr
from minijax_stage3.flatten import fast_flatten
from minijax_stage3.jaxpr import Jaxpr, consts_as_invars
from minijax_stage3.recursion import refusing_recursion
from minijax_stage3.staging import JaxprTrace, abstractify, trace_to_jaxpr
from minijax_stage3.static_arguments import StaticArguments

T = TypeVar("T")

jit_p = Primitive("jit", higher_order=True)

# The structure of the arguments, their types, the static values, and what numbers without a dtype
# become: what decides a program.
Signature = tuple[Any, tuple[ShapedArray, ...], Any, NumberTypes]
Executor = Callable[[list[Any]], Any]  # from the buffers of the arguments to the result


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
        """A constant as calls take it: a numpy array is copied to the device once for all calls."""
        x = self.consts[number]
        if isinstance(x, np.ndarray):
            aval = self.jaxpr.invars[number].aval
            x = self.consts[number] = Array(new_buffer(x, aval), aval)
        return x

    def consts_on_device(self) -> list[Any]:
        return [self.const_on_device(number) for number in range(len(self.consts))]


# --8<-- [start:jitted]
class JittedFunction:
    """A function that is compiled when first called with a new signature.

    A signature is the structure of the arguments, their types, and the values of static ones.
    """

    array_type: type[Array] = Array  # of the results
    caller = "jit"  # in messages; empty where users do not know that a function is jitted

    def __init__(
        self,
        fun: Callable[..., Any],
        static_argnums: int | Iterable[int] | None = None,
        static_argnames: str | Iterable[str] | None = None,
    ):
        functools.update_wrapper(self, fun, updated=())
        self._fun = fun
        self._name = name_of(fun)
        self._static = StaticArguments(fun, static_argnums, static_argnames)
        self._traced: Cache = _cache_of(fun, (self._static.argnums, self._static.argnames))
        self._executors: dict[Any, Executor] = {}
        self._first_calls: dict[Signature, Once[Any]] = {}  # those that are not over

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not is_evaluating():
            return self._bind(args, kwargs)
        execute, buffers = self._prepare(args, kwargs)
        return execute(buffers)

    def _prepare(self, args: Any, kwargs: Any) -> tuple[Executor, list[Any]]:
        """Return the executor of a call, made at the first of its signature, and its buffers."""
        leaves, signature = self._signature_of(args, kwargs)
        execute = self._executors.get(signature)
        if execute is None:
            execute = self._first_call(
                signature, lambda: self._executor_of(signature, args, kwargs)
            )
        in_avals = signature[1]
        buffers = [
            x.buffer if isinstance(x, Array) else to_buffer(x, aval)
            for x, aval in zip(leaves, in_avals, strict=True)
        ]
        return execute, buffers

    def _first_call(self, signature: Signature, make: Callable[[], T]) -> T:
        """Return what `make` returns; threads that ask at the same time wait together."""
        once: Once[T] = self._first_calls.setdefault(signature, Once())
        try:
            return once.get(make)
        finally:
            self._first_calls.pop(signature, None)

    def _executor_of(self, signature: Signature, args: Any, kwargs: Any) -> Executor:
        traced = self._traced.get(signature) or self._trace(signature, args, kwargs)
        execute = self._executors[signature] = self._compile(traced)
        return execute

    def _signature_of(self, args: Any, kwargs: Any) -> tuple[list[Any], Signature]:
        """The leaves of the arguments, and the signature of the call: structure, types, statics."""
        static, args, kwargs = self._static.split(args, kwargs)
        leaves, fast_tree = fast_flatten((args, kwargs))
        try:
            in_avals = tuple([x.aval if isinstance(x, Array) else typeof(x) for x in leaves])
        except (TypeError, OverflowError):
            names = functools.partial(self._names, args, kwargs)
            in_avals = tuple(abstractify(self.caller, self._fun, names, leaves))
        return leaves, (fast_tree, in_avals, static, number_types())

    def _bind(self, args: Any, kwargs: Any) -> Any:
        """A call inside a transformation, to which it is one primitive that holds a program."""
        leaves, signature = self._signature_of(args, kwargs)
        traced = self._traced.get(signature) or self._trace(signature, args, kwargs)
        is_staged = isinstance(current_interpreter(), JaxprTrace)  # which computes nothing yet
        consts = traced.consts if is_staged else traced.consts_on_device()
        outs = bind(jit_p, *consts, *leaves, jaxpr=traced.jaxpr, name=self._name)
        return tree_unflatten(traced.out_tree, outs)

    def _trace(self, signature: Signature, args: Any, kwargs: Any) -> Traced:
        """Runs the function once, for all calls of this signature."""
        _, in_avals, static, _ = signature
        _, args, kwargs = self._static.split(args, kwargs)
        in_tree = tree_structure((args, kwargs))
        flat_fun = FlatFunction(self._static.fill(static), in_tree, has_kwargs=True)
        names = functools.partial(self._names, args, kwargs)
        with self._tracing(signature, args, kwargs), refusing_recursion("jit", self._fun):
            closed = trace_to_jaxpr(flat_fun, in_avals, "jit", self._fun, names)
        jaxpr = consts_as_invars(closed.jaxpr)
        traced = Traced(self._name, jaxpr, closed.consts, in_tree, flat_fun.out_tree)
        return self._traced.setdefault(signature, traced) if traced.is_reusable else traced

    def _tracing(
        self, signature: Signature, args: Any, kwargs: Any
    ) -> AbstractContextManager[None]:
        """The context in which the function is traced; a method for subclasses to override."""
        return nullcontext()

    def _compile(self, traced: Traced) -> Executor:
        compiled = compile_jaxpr(traced.jaxpr, f"jit_{traced.name}")
        return executor(compiled, traced.consts_on_device(), traced.out_tree, self.array_type)

    # --8<-- [end:jitted]

    def _names(self, args: Any, kwargs: Any) -> list[str]:
        """Return the names of the leaves of the arguments, for messages."""
        return argument_names(self._fun, args, kwargs)

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """Traces and lowers for the types of these arguments, of which nothing is computed.

        A type, such as a `ShapedArray`, may stand for an array. The result can be shown and
        compiled; what was compiled is called without the static arguments, whose values it has
        in it.
        """
        traced, call_tree = self._trace_types(args, kwargs)
        return Lowered(
            traced.jaxpr, traced.consts, call_tree, traced.out_tree, self._name, self.array_type
        )

    def _trace_types(self, args: Any, kwargs: Any) -> tuple[Traced, PyTreeDef]:
        """The program for arguments that may be types, and their structure without static ones."""
        static, dynamic, dynamic_kwargs = self._static.split(args, kwargs)
        leaves, fast_tree = fast_flatten((dynamic, dynamic_kwargs))
        names = functools.partial(self._names, dynamic, dynamic_kwargs)
        in_avals = tuple(abstractify("jit", self._fun, names, leaves, types=True))
        signature = fast_tree, in_avals, static, number_types()
        traced = self._traced.get(signature) or self._trace(signature, args, kwargs)
        return traced, tree_structure(self._static.drop(static, dynamic, dynamic_kwargs))

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """As a method: the instance becomes the first argument, which must be static or a tree."""
        return self if instance is None else JittedMethod(self, instance)

    def __repr__(self) -> str:
        return f"<jit of {self._fun!r}>"


class JittedMethod(functools.partial[Any]):
    """A jitted function of which the first argument is given: the instance whose method it is."""

    @property
    def __func__(self) -> Any:
        return self.func

    @property
    def __self__(self) -> Any:
        return self.args[0]

    def __get__(self, instance: Any, owner: Any = None) -> "JittedMethod":
        return self  # wherever it is kept: it has its instance

    def __eq__(self, other: Any) -> bool:
        return (
            type(other) is JittedMethod
            and self.__func__ is other.__func__
            and self.__self__ is other.__self__
        )

    def __hash__(self) -> int:
        return hash((id(self.__func__), id(self.__self__)))

    def __getattr__(self, name: str) -> Any:
        """`lower` and its like take the instance too; all else is the function's."""
        attribute = getattr(self.__func__, name)
        if isinstance(attribute, MethodType) and attribute.__self__ is self.__func__:
            return functools.partial(attribute, self.__self__)
        return attribute


# --8<-- [start:jit]
def jit(
    fun: Callable[..., Any] | None = None,
    *,
    static_argnums: int | Iterable[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
) -> Any:
    """Compiles `fun` with XLA, once for each signature that it is called with.

    Arguments:
        fun: function of arrays and pytrees of arrays, without side effects. Without it, `jit`
            returns a decorator.
        static_argnums: positions of arguments that are not arrays but hashable Python values,
            part of the signature: `fun` is compiled anew for each value.
        static_argnames: the same, by name.

    Returns:
        A function of the same arguments whose results are Arrays. Its `lower` shows the program.

    Raises:
        TypeError: when called, an argument that is not static is not an array or number.
        ValueError: a static argument is not hashable, or names no parameter of `fun`.

    >>> import numpy as np
    >>> jit(lambda x: x + 1)(np.arange(3.0))
    Array([1., 2., 3.], dtype=float64)
    """
    if fun is None:
        return functools.partial(
            jit, static_argnums=static_argnums, static_argnames=static_argnames
        )
    require_function("jit", fun)
    return JittedFunction(fun, static_argnums, static_argnames)


# --8<-- [end:jit]

Cache = dict[Signature, Traced]
_caches: "weakref.WeakKeyDictionary[Any, dict[Any, Cache]]" = weakref.WeakKeyDictionary()


def _cache_of(fun: Callable[..., Any], static: Any) -> Cache:
    """Return the cache of traces of `fun`, shared by all that `jit` it alike."""
    try:
        return _caches.setdefault(fun, {}).setdefault(static, {})
    except TypeError:  # not hashable, or not to be referred to weakly
        return {}


def forget_traced() -> None:
    """Empties the caches of what was traced."""
    for by_options in list(_caches.values()):
        for cache in by_options.values():
            cache.clear()
