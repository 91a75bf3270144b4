"""The signature of a call: everything that determines which program it runs.

It consists of the structure of the arguments, the types of arrays and numbers, static values,
the placement of arrays that are not on the default device, and the settings in force.
"""

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from glassjax.runtime.array import Array, Placed
from glassjax.runtime.places import default_placement
from glassjax.settings.config import Switch
from glassjax.settings.names import wraps
from glassjax.settings.number_types import settings_in_force
from glassjax.shardings.mesh import mesh_in_context
from glassjax_stage2 import ShapedArray
from glassjax_stage2.errors import shown
from glassjax_stage2.shaped_array import Dialect, aval_rules, dialect, numpys_dialect
from glassjax_stage2.source import name_of

# The structure of the arguments, with None for static ones; for each leaf, an Array's `call_key` or
# a type; the static values, with their exact types; and `settings_here()`. A plain tuple, which is
# faster to create than a named one.
Signature = tuple[Any, ...]

_settings_in_force = settings_in_force.get  # bound once: every call uses it


def settings_here() -> Any:
    """The settings that programs depend on, as part of their keys."""
    numbers: Any = dialect()
    if numbers is numpys_dialect:
        numbers = _settings_in_force().numbers
    return (numbers, mesh_in_context.get(), default_placement()) if Switch.used else numbers


def types_in_key(keys: Sequence[ShapedArray | Placed]) -> tuple[ShapedArray, ...]:
    """The types of leaves from their keys in a signature."""
    return tuple([key.aval if isinstance(key, Placed) else key for key in keys])


# Types of leaves

Rules = dict[type, Callable[[Any], ShapedArray]]


class _LeafTypes(dict[Dialect, Rules]):
    """The functions that find the type of a leaf, by class, for given number types."""

    def __missing__(self, numbers: Dialect) -> Rules:
        numpy_classes = [cls for cls, rule in aval_rules.items() if rule is aval_rules[np.ndarray]]
        weak_bool, _, weak_float, weak_complex = numbers.weak
        rules = self[numbers] = {
            Array: aval_rules[Array],
            bool: lambda x: weak_bool,
            # reads the value: a large int may not fit, which is an error
            int: numbers.int_type,
            float: lambda x: weak_float,
            complex: lambda x: weak_complex,
            **dict.fromkeys(numpy_classes, numbers.numpy_type),
        }
        return rules


leaf_types = _LeafTypes()


def leaf_types_for(settings: Any) -> Rules:
    """The functions that find the type of a leaf under the settings of a signature."""
    return leaf_types[settings[0] if type(settings) is tuple else settings]


# Static arguments: Python values that are part of the signature


class StaticArguments:
    """The static arguments of a function: each by position and by name, if it has both.

    The function's signature is read lazily: importing the library makes hundreds of these.
    """

    def __init__(
        self,
        fun: Callable[..., Any],
        argnums: int | Iterable[int] | None = None,
        argnames: str | Iterable[str] | None = None,
    ):
        self.fun = fun
        self._given = argnums, argnames
        self.are_given = not all(x is None or x == () for x in self._given)

    @cached_property
    def _resolved(self) -> tuple[tuple[int, ...], tuple[str, ...]]:
        argnums, argnames = self._given
        return resolve_arguments(self.fun, "static_argnums", argnums, "static_argnames", argnames)

    @cached_property
    def argnums(self) -> tuple[int, ...]:
        return self._resolved[0]

    @cached_property
    def argnames(self) -> tuple[str, ...]:
        return self._resolved[1]

    @cached_property
    def chosen(self) -> frozenset[int | str]:
        """The positions and the names of the static arguments."""
        return frozenset((*self.argnums, *self.argnames))

    def split(self, args: Any, kwargs: Any) -> tuple[Any, Any, Any]:
        """Static values, and arguments in which None, a tree without leaves, replaces them.

        A static value is `(position or name, exact type, value)`, as part of a key: 1, 1.0 and True
        are equal, but each needs its own program.
        """
        if not self.are_given:
            return (), args, kwargs
        static: list[tuple[int | str, Any, Any]] = []
        args, kwargs = list(args), dict(kwargs)
        for position in self.argnums:
            if -len(args) <= position < len(args):
                position %= len(args)
                value, args[position] = args[position], None
                static.append((position, exact_type(value), value))
        for name in self.argnames:
            if name in kwargs:
                value, kwargs[name] = kwargs[name], None
                static.append((name, exact_type(value), value))
        key = tuple(static)
        try:
            hash(key)
        except TypeError:
            self._refuse_unhashable(key)
        return key, tuple(args), kwargs

    def fill(self, static: Any) -> Callable[..., Any]:
        """The function with static values filled in where `split` removed them."""
        fun = self.fun
        if not static:
            return fun

        @wraps(fun)
        def with_static(*args: Any, **kwargs: Any) -> Any:
            filled = list(args)
            for which, _, value in static:
                if isinstance(which, int):
                    filled[which] = value
                else:
                    kwargs[which] = value
            return fun(*filled, **kwargs)

        return with_static

    def drop(self, static: Any, args: Any, kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments without the places from which `split` removed static values."""
        chosen = {which for which, _, _ in static}
        return (
            tuple(x for position, x in enumerate(args) if position not in chosen),
            {name: x for name, x in kwargs.items() if name not in chosen},
        )

    def _refuse_unhashable(self, static: Any) -> None:
        for which, _, value in static:
            try:
                hash(value)
            except TypeError:
                raise self._unhashable(which, value) from None

    def _unhashable(self, which: int | str, value: Any) -> Exception:
        role = f"argument {which}" if isinstance(which, int) else which
        return ValueError(
            f"jit of `{name_of(self.fun)}`: the static {role} is of type {type(value).__name__}, "
            "which is not hashable, so it cannot choose a compiled program. Use a tuple or another "
            "immutable value, or do not make it static."
        )


def add_static(x: Any, key: list[Any]) -> None:
    """Add a static value to the key of a call."""
    cls = type(x)
    key += (cls if cls in _HAS_NO_PARTS else exact_type(x)), x


# Classes whose equal values are interchangeable.
_HAS_NO_PARTS = frozenset((int, bool, str, bytes, type(None)))


def exact_type(x: Any) -> Any:
    """Return what distinguishes equal values: types, types of items, signs of zeros."""
    cls = type(x)
    if cls is float and x == 0.0:
        return cls, str(x)
    if isinstance(x, tuple):
        return cls, *map(exact_type, x)
    if isinstance(x, frozenset):
        return cls, frozenset((exact_type(item), item) for item in x)
    return cls


def resolve_arguments(
    fun: Callable[..., Any],
    argnums_role: str,
    argnums: int | Iterable[int] | None,
    argnames_role: str,
    argnames: str | Iterable[str] | None,
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Positions and names of arguments, each inferred from the other by the signature of `fun`.

    A wrapper with its own parameters may report another function's signature. If both positions and
    names are given, nothing is inferred.

    Raises:
        TypeError: a position is not an int, or a name is not a string.
        ValueError: `fun` has no such parameter.
    """
    numbers: tuple[int, ...] = _as_tuple(argnums_role, argnums, int)
    names: tuple[str, ...] = _as_tuple(argnames_role, argnames, str)
    if not numbers and not names:
        return numbers, names
    try:
        parameters = inspect.signature(fun).parameters.values()
    except (TypeError, ValueError):  # builtins without a signature
        return numbers, names
    positional = [
        p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    kinds = {p.kind for p in parameters}
    count = len(positional)
    for number in numbers:
        if not -count <= number < count and inspect.Parameter.VAR_POSITIONAL not in kinds:
            raise ValueError(
                f"jit: {argnums_role} names argument {number} of `{name_of(fun)}`, which has "
                f"{count} positional parameters"
            )
    for name in names:
        if name not in (p.name for p in parameters) and inspect.Parameter.VAR_KEYWORD not in kinds:
            raise ValueError(
                f"jit: {argnames_role} names {name!r}, which is not a parameter of `{name_of(fun)}`"
            )
    numbers = tuple(number % count if -count <= number < 0 else number for number in numbers)
    if argnums is not None and argnames is not None and _has_its_own_parameters(fun):
        return tuple(sorted({*numbers})), tuple(sorted({*names}))
    all_numbers = {*numbers, *(positional.index(name) for name in names if name in positional)}
    all_names = {*names, *(positional[number] for number in numbers if number < count)}
    return tuple(sorted(all_numbers)), tuple(sorted(all_names))


def _has_its_own_parameters(wrapper: Callable[..., Any]) -> bool:
    if not hasattr(wrapper, "__wrapped__"):
        return False
    own = inspect.signature(wrapper, follow_wrapped=False).parameters.values()
    return any(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in own)


def _as_tuple(role: str, given: Any, kind: type) -> tuple[Any, ...]:
    """None, one value of `kind`, or several, as a tuple."""
    one = given is None or isinstance(given, kind) or not isinstance(given, Iterable)
    values = () if given is None else (given,) if one else tuple(given)
    for value in values:
        if not isinstance(value, kind):
            raise TypeError(f"jit: {role} must be {kind.__name__}s, found {shown(value)}")
    return values
