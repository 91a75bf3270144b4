"""`jit`: run a Python function once to write it down, compile that, and call it from then on.

To the other interpreters a jitted function is a primitive that holds a program, and so can be
differentiated, batched and staged like any other.
"""

import functools
import inspect
import weakref
from collections.abc import Callable, Iterable, Sequence
from types import MethodType
from typing import Any

from minijax_stage1.interpreter import is_evaluating
from minijax_stage1.source import name_of
from minijax_stage2 import Primitive, ShapedArray, Tracer, bind, typeof
from minijax_stage2.argument_names import argument_names
from minijax_stage2.flat_function import FlatFunction, require_function
from minijax_stage2.tree import (
    PyTreeDef,
    tree_flatten,
    tree_structure,
    tree_unflatten,
)
from minijax_stage3.aot import Lowered
from minijax_stage3.array import Array, executor, to_buffer
from minijax_stage3.executable import compile_jaxpr
from minijax_stage3.flatten import fast_flatten
from minijax_stage3.jaxpr import Jaxpr, consts_as_invars
from minijax_stage3.staging import abstractify, trace_to_jaxpr

jit_p = Primitive("jit", holds_programs=True)


class Traced:
    """What tracing a function at certain types gives: a program, constants first."""

    def __init__(self, name: str, jaxpr: Jaxpr, consts: Sequence[Any], out_tree: PyTreeDef):
        self.name = name
        self.jaxpr = jaxpr
        self.consts = consts
        self.out_tree = out_tree
        # With a tracer inside, a program is good for one call only.
        self.is_reusable = not any(isinstance(const, Tracer) for const in consts)

    @functools.cached_property
    def execute(self) -> Callable[[list[Any]], Any]:
        """Executes the program on the buffers of its arguments; compiled when first asked for."""
        compiled = compile_jaxpr(self.jaxpr, f"jit_{self.name}")
        return executor(compiled, self.consts, self.out_tree)


# --8<-- [start:jitted]
class JittedFunction:
    """A function that is compiled when first called with arguments of a new kind.

    A kind is the structure of the arguments, their types, and the values of static ones.
    """

    def __init__(
        self,
        fun: Callable[..., Any],
        static_argnums: int | Iterable[int] | None = None,
        static_argnames: str | Iterable[str] | None = None,
    ):
        functools.update_wrapper(self, fun, updated=())
        self.fun = fun
        self.name = name_of(fun)
        self.static_argnums, self.static_argnames = _resolve_static(
            fun, static_argnums, static_argnames
        )
        self.cache = _cache_of(fun, (self.static_argnums, self.static_argnames))
        self.takes_arrays_only = not self.static_argnums and not self.static_argnames
        self.warm: dict[Any, Callable[[list[Any]], Any]] = {}  # by types alone, or with a tree

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not is_evaluating():
            traced, leaves = self.trace_once(args, kwargs)
            outs = bind(jit_p, *traced.consts, *leaves, jaxpr=traced.jaxpr, name=self.name)
            return tree_unflatten(traced.out_tree, outs)
        try:  # a call with arrays of types that are known needs nothing but this
            execute = self.warm[None if kwargs else tuple([x.aval for x in args])]
            buffers = [x.buffer for x in args]
        except (AttributeError, KeyError):
            execute, buffers = self.prepare(args, kwargs)
        return execute(buffers)

    def prepare(self, args: Any, kwargs: Any) -> tuple[Callable[[list[Any]], Any], list[Any]]:
        """What executes a call, and the buffers of its arguments."""
        leaves, fast_tree = fast_flatten((args, kwargs))
        try:  # the same for arrays in trees
            in_avals = tuple([x.aval for x in leaves])
            return self.warm[fast_tree, in_avals], [x.buffer for x in leaves]
        except (AttributeError, KeyError):
            traced, leaves = self.trace_once(args, kwargs)
        execute = traced.execute  # first, for what XLA cannot hold is found out by lowering
        in_avals = tuple(traced.jaxpr.in_avals[len(traced.consts) :])
        buffers = [to_buffer(x, aval) for x, aval in zip(leaves, in_avals, strict=True)]
        if self.takes_arrays_only and traced.is_reusable:
            is_flat = not kwargs and all(type(x) is Array for x in args)
            self.warm[in_avals if is_flat else (fast_tree, in_avals)] = execute
        return execute, buffers

    def trace_once(self, args: Any, kwargs: Any) -> tuple[Traced, list[Any]]:
        """The program for a call, traced where it is the first of its kind, and its leaves."""
        static, args, kwargs = self.split_static(args, kwargs)
        leaves, fast_tree = fast_flatten((args, kwargs))
        try:
            in_avals = tuple([typeof(leaf) for leaf in leaves])
        except (TypeError, OverflowError):
            in_avals = tuple(abstractify("jit", self.fun, lambda: self.names(args, kwargs), leaves))
        key = fast_tree, in_avals, static
        traced = self.cache.get(key)
        if traced is None:
            in_tree = tree_structure((args, kwargs))
            traced = self.trace(static, in_tree, in_avals, args, kwargs)
            if traced.is_reusable:
                traced = self.cache.setdefault(key, traced)
        return traced, leaves

    def trace(
        self, static: Any, in_tree: PyTreeDef, in_avals: Sequence[ShapedArray], args: Any, kw: Any
    ) -> Traced:
        with_static = _with_static(self.fun, static)
        flat_fun = FlatFunction(with_static, in_tree, has_kwargs=True)
        closed = trace_to_jaxpr(flat_fun, in_avals, "jit", self.fun, lambda: self.names(args, kw))
        jaxpr = consts_as_invars(closed.jaxpr)
        return Traced(self.name, jaxpr, closed.consts, flat_fun.out_tree)

    # --8<-- [end:jitted]

    def split_static(self, args: Any, kwargs: Any) -> tuple[Any, Any, Any]:
        """Static values, and arguments in which None, a tree without leaves, replaces them."""
        if not self.static_argnums and not self.static_argnames:
            return (), args, kwargs
        static: list[tuple[int | str, type, Any]] = []
        args, kwargs = list(args), dict(kwargs)
        for position in self.static_argnums:
            if -len(args) <= position < len(args):
                position %= len(args)
                static.append((position, type(args[position]), args[position]))
                args[position] = None
        for name in self.static_argnames:
            if name in kwargs:
                static.append((name, type(kwargs[name]), kwargs[name]))
                kwargs[name] = None
        for which, cls, value in static:
            if not _is_hashable(value):
                what = f"argument {which}" if isinstance(which, int) else which
                raise ValueError(
                    f"jit of `{self.name}`: the static {what} is a {cls.__name__}, which is not "
                    "hashable, so calls cannot be told apart by it. Use a tuple or another "
                    "immutable value, or do not make it static."
                )
        return tuple(static), tuple(args), kwargs

    def names(self, args: Any, kwargs: Any) -> list[str]:
        """What messages call the leaves of the arguments."""
        return argument_names(self.fun, args, kwargs)

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """Traces and lowers for the types of these arguments, of which nothing is computed.

        A `ShapedArray` may stand for an array. The result can be shown and compiled; what was
        compiled is called without the static arguments, whose values it has in it.
        """
        static, args, kwargs = self.split_static(args, kwargs)
        leaves, in_tree = tree_flatten((args, kwargs))
        in_avals = abstractify(
            "jit", self.fun, lambda: self.names(args, kwargs), leaves, types=True
        )
        traced = self.trace(static, in_tree, in_avals, args, kwargs)
        chosen = {which for which, _, _ in static}
        call_tree = tree_structure(
            (
                tuple(x for position, x in enumerate(args) if position not in chosen),
                {name: x for name, x in kwargs.items() if name not in chosen},
            )
        )
        return Lowered(traced.jaxpr, traced.consts, call_tree, traced.out_tree, self.name)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """As a method: the instance becomes the first argument, which must be static or a tree."""
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<jit of {self.fun!r}>"


# --8<-- [start:jit]
def jit(
    fun: Callable[..., Any] | None = None,
    *,
    static_argnums: int | Iterable[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
) -> Any:
    """Compiles `fun` with XLA, once for each kind of arguments that it is called with.

    Arguments:
        fun: function of arrays and pytrees of arrays, without side effects. Without it, `jit`
            returns a decorator.
        static_argnums: positions of arguments that are no arrays but hashable Python values,
            part of the kind of a call: `fun` is compiled anew for each value.
        static_argnames: the same, by name.

    Returns:
        A function of the same arguments whose results are Arrays. Its `lower` shows the program.

    Raises:
        TypeError: when called, an argument that is not static is no array or number.
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

Cache = dict[Any, Traced]
_caches: "weakref.WeakKeyDictionary[Any, dict[Any, Cache]]" = weakref.WeakKeyDictionary()


def _cache_of(fun: Callable[..., Any], static: Any) -> Cache:
    """What was traced of `fun`, shared by all that `jit` it alike, and gone when `fun` is."""
    try:
        return _caches.setdefault(fun, {}).setdefault(static, {})
    except TypeError:  # not hashable, or not to be referred to weakly
        return {}


def _is_hashable(x: Any) -> bool:
    try:
        hash(x)
    except TypeError:
        return False
    return True


def _with_static(fun: Callable[..., Any], static: Any) -> Callable[..., Any]:
    """`fun` with static values in the places that `split_static` emptied."""
    if not static:
        return fun

    @functools.wraps(fun)
    def with_static(*args: Any, **kwargs: Any) -> Any:
        filled = list(args)
        for which, _, value in static:
            if isinstance(which, int):
                filled[which] = value
            else:
                kwargs[which] = value
        return fun(*filled, **kwargs)

    return with_static


def _resolve_static(
    fun: Callable[..., Any],
    argnums: int | Iterable[int] | None,
    argnames: str | Iterable[str] | None,
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Static positions and names, each completed by the other from the signature of `fun`."""
    numbers: tuple[int, ...] = _as_tuple("static_argnums", argnums, int)
    names: tuple[str, ...] = _as_tuple("static_argnames", argnames, str)
    try:
        parameters = inspect.signature(fun).parameters.values()
    except (TypeError, ValueError):  # builtins do not say
        return numbers, names
    positional = [
        p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    kinds = {p.kind for p in parameters}
    count = len(positional)
    for number in numbers:
        if not -count <= number < count and inspect.Parameter.VAR_POSITIONAL not in kinds:
            raise ValueError(
                f"jit: static_argnums names argument {number} of `{name_of(fun)}`, which has "
                f"{count} positional parameters"
            )
    for name in names:
        if name not in (p.name for p in parameters) and inspect.Parameter.VAR_KEYWORD not in kinds:
            raise ValueError(
                f"jit: static_argnames names {name!r}, which is no parameter of `{name_of(fun)}`"
            )
    numbers = tuple(number % count if -count <= number < 0 else number for number in numbers)
    all_numbers = {*numbers, *(positional.index(name) for name in names if name in positional)}
    all_names = {*names, *(positional[number] for number in numbers if number < count)}
    return tuple(sorted(all_numbers)), tuple(sorted(all_names))


def _as_tuple(role: str, given: Any, kind: type) -> tuple[Any, ...]:
    """None, one value of `kind`, or several, as a tuple."""
    one = given is None or isinstance(given, kind) or not isinstance(given, Iterable)
    values = () if given is None else (given,) if one else tuple(given)
    for value in values:
        if not isinstance(value, kind):
            raise TypeError(f"jit: {role} must be {kind.__name__}s, found {value!r:.60}")
    return values
