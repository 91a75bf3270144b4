"""A cache of the programs of loops and conditionals that are called outside of transformations.

Tracing takes longer than running most such programs. A program can be reused if the types of the
operands and the settings are the same, and the functions have the same contents. These are compared
at each call, so that a changed variable is noticed, unless tracing itself changed it. A call is
traced again if some content cannot be compared, such as a set or a large numpy array.
"""

import functools
import inspect
import sys
import weakref
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

import numpy as np

from minijax.lax.control_flow.function_contents import Contents
from minijax.primitives.loops import LoweredProgram, stage_body
from minijax.pytrees.fast_flatten import fast_flatten, fast_unflatten
from minijax.runtime.array import Array
from minijax.runtime.current import is_evaluating
from minijax.runtime.lowering import lower
from minijax.runtime.partitioning import has_shardings
from minijax.runtime.places import Places, places_of
from minijax.runtime.program import Executor, executor
from minijax.settings.config import Switch, config
from minijax_stage2 import ShapedArray, Tracer, typeof
from minijax_stage2.arguments import FlatFunction
from minijax_stage2.shaped_array import dialect
from minijax_stage2.tree import tree_structure
from minijax_stage3.array import to_buffer
from minijax_stage3.jaxpr import consts_as_invars

Function = TypeVar("Function", bound=Callable[..., Any])


class KeptPrograms:
    """A cache of recently used executors, keyed by everything their programs depend on.

    Of two generations the older is dropped when the younger is full, without iterating over
    entries: an entry can vanish at any moment, in any thread, when a referent dies.
    """

    def __init__(self, size: int):
        self.size = size
        self.young: dict[Any, _Kept] = {}
        self.old: dict[Any, _Kept] = {}

    def find(self, key: Any) -> Executor | None:
        kept = self.young.get(key)
        if kept is None:
            kept = self.old.get(key)
            if kept is None:
                return None
            self._put(key, kept)
        return kept.execute

    def keep(self, key: Any, referents: Iterable[Any], execute: Executor) -> None:
        """Keep an entry as long as all of the referents live."""

        def forget(_: Any) -> None:
            self.young.pop(key, None)
            self.old.pop(key, None)

        try:
            references = [weakref.ref(x, forget) for x in referents]
        except TypeError:  # something that nobody tells the end of
            return
        self._put(key, _Kept(execute, references))

    def _put(self, key: Any, kept: "_Kept") -> None:
        if len(self.young) >= self.size:
            self.old, self.young = self.young, {}
        self.young[key] = kept
        if any(reference() is None for reference in kept.references):  # in the meantime
            self.young.pop(key, None)

    def clear(self) -> None:
        self.young, self.old = {}, {}


class _Kept(NamedTuple):
    execute: Executor
    references: list[Any]


kept_programs = KeptPrograms(512)


def keeps_programs(*static: str) -> Callable[[Function], Function]:
    """Decorator: cache the programs of a loop or a conditional called outside of transformations.

    Arguments:
        static: the parameters that are functions, or values that the program depends on. All others
            are pytrees of arrays.
    """

    def decorate(function: Function) -> Function:
        parameters = list(inspect.signature(function).parameters)
        positions = frozenset(parameters.index(name) for name in static)

        def contents_of(args: Any, kwargs: Any) -> Contents:
            contents = Contents()
            for position in positions:
                if position < len(args):
                    contents.add(args[position])
            for name, x in kwargs.items():
                contents.add(name)
                if name in static:
                    contents.add(x)
            return contents

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            if not is_evaluating() or _is_watched():
                return function(*args, **kwargs)
            try:
                contents = contents_of(args, kwargs)
                operands = (
                    [x for position, x in enumerate(args) if position not in positions],
                    {name: x for name, x in kwargs.items() if name not in static},
                )
                leaves, tree = fast_flatten(operands)
                avals = tuple([x.aval if type(x) is Array else typeof(x) for x in leaves])
                where = places_of(leaves)
                rest = function, tree, avals, dialect(), len(args), where
                key = *rest, *contents.key
                execute = kept_programs.find(key)
            except Exception:  # contents are unknown, or the function says better what is wrong
                execute = key = None
            if key is None:
                return function(*args, **kwargs)

            def of_operands(operands: Any, named: Any) -> Any:
                others = iter(operands)
                given = [x if i in positions else next(others) for i, x in enumerate(args)]
                return function(*given, **kwargs | named)

            if execute is None:
                flat = FlatFunction(of_operands, tree_structure(operands))
                execute, is_reusable = _trace(flat, avals, where, function.__name__, contents)
                if execute is None:
                    return function(*args, **kwargs)
                if is_reusable:
                    kept_programs.keep(key, contents.referents, execute)
                    with suppress(Exception):  # what tracing changed itself is no change
                        contents = contents_of(args, kwargs)
                        kept_programs.keep((*rest, *contents.key), contents.referents, execute)
            return execute(leaves if where.is_given else list(map(to_buffer, leaves, avals)))

        return call  # type: ignore[return-value]

    return decorate


def _trace(
    f: FlatFunction,
    avals: tuple[ShapedArray, ...],
    where: Places,
    name: str,
    contents: Contents,
) -> tuple[Executor | None, bool]:
    """Return the executor of a call, None if it has tracers; and whether to cache it.

    It takes the operands themselves if `where` says where they lie, otherwise their buffers.
    """
    closed = stage_body(f, avals, name, None)
    consts = closed.consts
    if any(isinstance(x, Tracer) for x in consts):
        return None, False
    is_reusable = all(id(x) in contents.arrays for x in _known_elsewhere(consts))
    jaxpr = consts_as_invars(closed.jaxpr)
    text = lower(jaxpr, name)
    program = LoweredProgram(text, jaxpr, name)
    if not where.is_given and not has_shardings(jaxpr):
        return executor(program.compile(), consts, f.out_tree), is_reusable
    unflatten = fast_unflatten(f.out_tree)

    def execute(leaves: Sequence[Any]) -> Any:
        arrays = leaves if where.is_given else map(Array, leaves, avals)
        return unflatten(program.evaluate([*consts, *arrays]))

    return execute, is_reusable


def _known_elsewhere(consts: Sequence[Any]) -> list[Any]:
    """The constants referenced elsewhere, which may change: not those made while tracing."""
    everything = [*consts, np.empty(())]
    *counts, of_new = [sys.getrefcount(x) for x in everything]
    return [x for x, count in zip(consts, counts, strict=True) if count > of_new + 1]


def _is_watched() -> bool:
    """Return True if a setting is on that has calls do more than they must."""
    return Switch.used and any(
        option.value for option in config.options.values() if isinstance(option, Switch)
    )
