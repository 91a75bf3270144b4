"""Library functions that are copied into programs: which template a call has.

The key of a template says all that its function may ask about: the types of arrays, the values of
Python numbers and other static arguments, and the settings and the mesh in force. A call that no
key describes, with a function among its arguments for instance, runs the function itself.
"""

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any
from weakref import WeakSet

import numpy as np

from minijax.runtime.array import Array
from minijax.runtime.signature import StaticArguments, exact_type
from minijax.runtime.switched_on import adds_equations
from minijax.runtime.templates import staged, templates_of_primitives
from minijax.settings.config import Switch
from minijax.settings.number_types import withheld_warnings
from minijax.settings.tracers import Tracer
from minijax.shardings.mesh import mesh_in_context
from minijax_stage1.interpreter import in_context
from minijax_stage2 import ShapedArray, typeof
from minijax_stage2.shaped_array import dialect
from minijax_stage2.source import user_source
from minijax_stage2.tree import tree_flatten, tree_unflatten

_interpreter = in_context.get
_mesh = mesh_in_context.get

_MOST_KEYS = 1024  # of one function; Python numbers are in keys, and may differ in each call
_ARRAYS = frozenset((Array, np.ndarray))
_VALUES = frozenset((bool, int, str, bytes, type(None), type))


_all_templates: "WeakSet[Templates]" = WeakSet()

not_copied: Any = object()


def forget_templates() -> None:
    """Forget the templates of all functions."""
    templates_of_primitives.clear()
    for templates in list(_all_templates):
        templates.clear()


class _Unknown(Exception):
    """An argument of which keys cannot tell what the function does with it."""


class Templates:
    """The templates of one function, by the types and values of its arguments.

    Arguments:
        function: the function.
        static: its static arguments, which may be of any class.
    """

    __slots__ = ("__weakref__", "_by_key", "function", "static")

    def __init__(self, function: Callable[..., Any], static: StaticArguments | None = None):
        self.function = function
        self.static = static
        self._by_key: dict[Any, Any] = {}
        _all_templates.add(self)

    def clear(self) -> None:
        """Forget them."""
        self._by_key.clear()

    def call(self, trace: Any, args: Any, kwargs: Any, depth: int = 4) -> Any:
        """The result of a call in a trace; `not_copied` if the function itself has to run.

        The trace is one that takes templates. The frames below `depth` are known to be machinery.
        """
        if Switch.used and adds_equations():
            return not_copied
        key: list[Any] = [dialect(), _mesh()]
        arrays: list[Any] = []
        place = 0
        try:
            for x in args:
                if isinstance(x, Tracer):
                    arrays.append(x)
                    key.append(x.aval)
                else:
                    self._describe(x, place, key, arrays)
                place += 1
            for name in kwargs:
                key.append(name)
                self._describe(kwargs[name], name, key, arrays)
            under = tuple(key)
            found = self._by_key.get(under)
        except (_Unknown, TypeError, OverflowError, RecursionError):
            return not_copied
        if found is None:
            found = self._make(under, arrays, args, kwargs)
        template, tree = found
        if template is None:
            return not_copied
        outs = trace.apply(template, arrays, user_source(depth))
        return outs[0] if tree is None else tree_unflatten(tree, outs)

    def _describe(self, x: Any, where: int | str, key: list[Any], arrays: list[Any]) -> None:
        """Add to a key what a template depends on: the type of an array, or a value."""
        cls = x.__class__
        if isinstance(x, Tracer) or cls in _ARRAYS:
            arrays.append(x)
            key.append(typeof(x))
        elif cls in _VALUES:
            key += cls, x
        elif cls is float or cls is complex:  # equal ones may differ in the signs of zeros
            key += cls, repr(x)
        elif isinstance(x, np.dtype | Enum):
            key += cls, x
        elif cls is tuple or cls is list:
            key += cls, len(x)
            for item in x:
                self._describe(item, where, key, arrays)
        elif isinstance(x, np.generic):
            key += cls, x.tobytes()
        elif self._is_static(where) and not (callable(x) and getattr(x, "is_users", True)):
            key += exact_type(x), x
        else:
            raise _Unknown

    def _is_static(self, where: int | str) -> bool:
        """Return True if an argument, by position or name, is static."""
        static = self.static
        return static is not None and where in (*static.argnums, *static.argnames)

    def _make(self, key: Any, arrays: Sequence[Any], args: Any, kwargs: Any) -> Any:
        trees: list[Any] = []

        def function(*values: Any) -> list[Any]:
            rest = iter(values)
            given, named = _replaced(args, rest), _replaced(kwargs, rest)
            outs, tree = tree_flatten(self.function(*given, **named))
            trees.append(tree)
            return outs

        avals = list(map(typeof, arrays))
        template = None
        outside, warnings = withheld_warnings.get(), list[str]()
        withheld_warnings.set(warnings)
        try:
            if all(type(aval) is ShapedArray for aval in avals):
                template = staged(function, avals)
        except Exception:  # the function itself says it better
            pass
        finally:
            withheld_warnings.set(outside)
        if warnings:  # which are for each call
            template = None
        found = template, None if template is None else _one_leaf_or(trees[0])
        if len(self._by_key) >= _MOST_KEYS:
            self._by_key.clear()
        self._by_key[key] = found
        return found


def copied(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of values that is called as it is outside of traces, and copied inside."""
    call = Templates(function).call

    def copied_or_called(*values: Any) -> Any:
        trace: Any = _interpreter()
        if getattr(trace, "takes_templates", False) and not trace.ended:
            out = call(trace, values, {}, 3)
            if out is not not_copied:
                return out
        return function(*values)

    return copied_or_called


def _one_leaf_or(tree: Any) -> Any:
    """The structure, or None if it is one leaf."""
    return None if tree.nodes == (None,) else tree


def _replaced(x: Any, arrays: Any) -> Any:
    """An argument with other arrays in place of its own."""
    cls = x.__class__
    if isinstance(x, Tracer) or cls in _ARRAYS:
        return next(arrays)
    if cls is tuple or cls is list:
        return cls([_replaced(item, arrays) for item in x])
    return {name: _replaced(item, arrays) for name, item in x.items()} if cls is dict else x
