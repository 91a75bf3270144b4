"""Uses of random keys, for `debug_key_reuse`: a primitive that marks a key as drawn from.

While the setting is on, each function of `minijax.random` that draws from a key applies `key_use`
to it. Its evaluation marks the key, an Array, as used. `checks.key_reuse` finds the uses in
programs.
"""

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from minijax.errors.classes import KeyReuseError
from minijax.primitives.declare_program import declare_program
from minijax.primitives.sharding_rules import as_operands
from minijax.runtime.array import alias
from minijax.settings.config import Switch
from minijax.settings.debugging import key_reuse_option
from minijax_stage2 import Primitive, bind1
from minijax_stage2.source import Source, user_source

_step: ContextVar[str] = ContextVar("key_reuse_step", default="")  # "staging", "running", or none


def looks_for_key_reuse() -> bool:
    return bool(key_reuse_option.value) and _step.get() != "running"


def is_staging_for_keys() -> bool:
    """Return True if a function is staged only to see which keys it uses."""
    return _step.get() == "staging"


@contextmanager
def in_step(step: str) -> Iterator[None]:
    token = _step.set(step)
    try:
        yield
    finally:
        _step.reset(token)


class KeyUse:
    """A place where a function draws from a key."""

    def __init__(self, function: str):
        self.function = function
        self.source: Source | None = user_source()

    def __str__(self) -> str:
        return f"by `{self.function}` at {self.source or 'an unknown line'}"


_REMEDY = (
    "What is drawn from one key is not independent. Make a new key for each use, by "
    "`key, new = random.split(key)`; or say that it is meant, by random.clone(key)."
)


def used_twice(first: KeyUse, second: KeyUse) -> KeyReuseError:
    return KeyReuseError(f"a random key is used twice: {first}, and {second}. {_REMEDY}")


def used_in_each_round(loop: str, use: KeyUse) -> KeyReuseError:
    return KeyReuseError(
        f"a random key is used in each round of a {loop}: {use}. {_REMEDY} A loop carries the key "
        "from round to round, or takes one key a round from an array of them."
    )


key_use_p = Primitive("key_use", higher_order=True)  # `use` is None where a key is cloned


def note_key_use(function: str, key: Any) -> Any:
    """`key`, of dtype `key<fry>`, once it is known that `function` draws from it."""
    if Switch.used and looks_for_key_reuse():
        return bind1(key_use_p, key, use=KeyUse(function))
    return key


def cloned(key: Any) -> Any:
    """A clone of `key`."""
    return bind1(key_use_p, key, use=None) if Switch.used and looks_for_key_reuse() else key


def _evaluate(key: Any, *, use: KeyUse | None) -> list[Any]:
    if use is not None:
        take(key, use)
    return [alias(key)]  # another object, and so another key


declare_program(
    key_use_p,
    evaluate=_evaluate,
    abstract_eval=lambda key, *, use: [key],
    lower=lambda b, out_avals, key, *, use: [key],
    vmap=lambda size, keys, dims, *, use: ([bind1(key_use_p, *keys, use=use)], dims),
    sharding=as_operands,
    jvp=None,
    transpose=None,
    partial_eval=None,
    dce=None,
    dependence=None,
    order=None,
    keys=None,
    steps=None,
)


_uses: dict[int, tuple[Any, KeyUse]] = {}  # of keys that live, by their identity


def use_of(key: Any) -> KeyUse | None:
    entry = _uses.get(id(key))
    return entry[1] if entry is not None and entry[0]() is key else None


def mark(key: Any, use: KeyUse) -> None:
    def forget(_: Any, number: int = id(key)) -> None:
        _uses.pop(number, None)

    _uses[id(key)] = weakref.ref(key, forget), use


def take(key: Any, use: KeyUse) -> None:
    """Mark an Array as used; it must not be marked already."""
    earlier = use_of(key)
    if earlier is not None and earlier is not use:
        raise used_twice(earlier, use)
    mark(key, use)
