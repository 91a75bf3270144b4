"""`debug_key_reuse`: an error when a random key is used twice.

While the setting is on, each function of `minijax.random` that draws from a key binds a primitive,
`key_use`. Its evaluation marks the key, an Array, as used. A jitted function is staged again before
each call, to find in its program the keys that it uses.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from minijax.primitives.declare_program import key_rules
from minijax.random.key_use import (
    KeyUse,
    in_step,
    is_staging_for_keys,
    key_use_p,
    looks_for_key_reuse,
    mark,
    take,
    use_of,
    used_in_each_round,
    used_twice,
)
from minijax.random.primitives import random_fold_in_p, random_split_p
from minijax.runtime.array import Array
from minijax.runtime.conversion import is_value
from minijax.runtime.current import is_evaluating
from minijax.runtime.evaluation import library_evaluation
from minijax.settings.key_types import is_key_type
from minijax_stage2 import Primitive, tree_flatten, tree_leaves, typeof
from minijax_stage2.arguments import FlatFunction
from minijax_stage3 import Jaxpr, JaxprEqn, Var
from minijax_stage3.jaxpr import consts_as_invars
from minijax_stage3.staging import trace_to_jaxpr


def _is_key(x: Any) -> bool:
    return type(x) is Array and is_key_type(x.aval.dtype)


def call_on_fresh_keys(function: Any, args: Any, kwargs: Any) -> tuple[Any] | None:
    """The result of a jitted function, if all keys that it uses are unused; else an error.

    None if its arguments are not keys, or it draws from none.
    """
    static, dynamic, dynamic_kwargs = function._static.split(args, kwargs)
    leaves, tree = tree_flatten((dynamic, dynamic_kwargs))
    if not all(map(is_value, leaves)) or not (function.is_users or any(map(_is_key, leaves))):
        return None
    flat_fun = FlatFunction(function._static.fill(static), tree, has_kwargs=True)
    with in_step("staging"):
        closed = trace_to_jaxpr(flat_fun, list(map(typeof, leaves)), "jit", function._fun)
        found = keys_of(consts_as_invars(closed.jaxpr))
    operands = [*closed.consts, *leaves]
    _take_all(found, operands)
    with in_step("running"):
        result = function(*args, **kwargs)
    for out, key in zip(tree_leaves(result), found.results, strict=True):
        use = use_of(operands[key]) if isinstance(key, int) else key
        if use is not None and _is_key(out):
            mark(out, use)
    return (result,)


def call_checked(function: Any, args: Any, kwargs: Any) -> tuple[Any] | None:
    """The result of a jitted function with its keys checked; None if they are not."""
    if not looks_for_key_reuse():
        return None
    if is_evaluating():
        with library_evaluation():
            return call_on_fresh_keys(function, args, kwargs)
    return (function._fun(*args, **kwargs),) if is_staging_for_keys() else None


def check_keys(primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> None:
    """Raise KeyReuseError if an eager loop or conditional reuses keys."""
    if primitive.higher_order and primitive is not key_use_p and looks_for_key_reuse():
        found = _keys_of_programs(primitive, params, len(args))
        if found is not None:
            _take_all(found, args)


def _take_all(found: "Keys", operands: Sequence[Any]) -> None:
    for x, use in zip(operands, found.operands, strict=True):
        if use is not None and _is_key(x):
            take(x, use)


class Keys(NamedTuple):
    """Uses of keys by a program.

    Attributes:
        operands: for each operand its use, if any.
        results: for each result the number of the operand that it equals; or its earlier use; or
            None.
    """

    operands: list[KeyUse | None]
    results: list[int | KeyUse | None]

    def at(self, places: Sequence[int], count: int) -> "Keys":
        """The uses of `count` operands, given those of the operands at `places`."""
        operands: list[KeyUse | None] = [None] * count
        for place, use in zip(places, self.operands, strict=True):
            operands[place] = use
        return Keys(operands, [places[at] if isinstance(at, int) else at for at in self.results])

    def either(self, others: "Sequence[Keys]") -> "Keys":
        """The uses if this program, or one of the others, runs on the same operands."""
        every = (self, *others)
        operands = [
            next((use for use in uses if use is not None), None)
            for uses in zip(*(each.operands for each in every), strict=True)
        ]
        results: list[int | KeyUse | None] = [
            next((out for out in outs if isinstance(out, KeyUse)), None)
            for outs in zip(*(each.results for each in every), strict=True)
        ]
        return Keys(operands, results)

    def each_round(self, loop: str, num_consts: int, num_carry: int = 0) -> "Keys":
        """The uses if the program is the body of a loop.

        Raises:
            KeyReuseError: an iteration uses a key that the next one uses, too.
        """
        for number, use in enumerate(self.operands[: num_consts + num_carry]):
            if use is None:
                continue
            if number < num_consts or (
                self.results[number - num_consts] == number
                or isinstance(self.results[number - num_consts], KeyUse)
            ):
                raise used_in_each_round(loop, use)
        return self


class _Key:
    """A key, or an array of keys, in a program."""

    def __init__(self, use: KeyUse | None = None, whole: "_Key | None" = None):
        self.use = use
        self.whole = whole  # the array of which it is a part
        self.parts: dict[Any, _Key] = {}  # by how they are cut out

    def take(self, use: KeyUse) -> None:
        for key in (*self._around(), *self._inside()):
            if key.use is not None and key.use is not use:
                raise used_twice(key.use, use)
        self.use = use

    def _around(self) -> "Iterator[_Key]":
        around = self.whole
        while around is not None:
            yield around
            around = around.whole

    def _inside(self) -> "Iterator[_Key]":
        pending = [self]
        while pending:
            key = pending.pop()
            yield key
            pending.extend(key.parts.values())


def keys_of(jaxpr: Jaxpr) -> Keys:
    """Return the uses of keys by a program without constants.

    Raises:
        KeyReuseError: it uses a key twice.
    """
    keys = {var: _Key() for var in jaxpr.invars if is_key_type(var.aval.dtype)}
    for eqn in jaxpr.eqns:
        operands = [keys.get(x) if isinstance(x, Var) else None for x in eqn.invars]
        for var, made in zip(eqn.outvars, _results(eqn, operands), strict=True):
            if is_key_type(var.aval.dtype):
                keys[var] = made
    numbers = {id(keys[var]): i for i, var in enumerate(jaxpr.invars) if var in keys}
    results: list[int | KeyUse | None] = []
    for out in jaxpr.outvars:
        key = keys.get(out) if isinstance(out, Var) else None
        results.append(None if key is None else numbers.get(id(key), key.use))
    return Keys([keys[var].use if var in keys else None for var in jaxpr.invars], results)


def _results(eqn: JaxprEqn, operands: Sequence[_Key | None]) -> list[_Key]:
    """The keys that an equation makes from the keys that it uses."""
    fresh = [_Key() for _ in eqn.outvars]
    given = [key for key in operands if key is not None]
    if eqn.primitive is key_use_p:
        if eqn.params["use"] is not None:
            given[0].take(eqn.params["use"])
        return fresh
    if eqn.primitive.higher_order:
        found = _keys_of_programs(eqn.primitive, eqn.params, len(operands))
        if found is None:
            return fresh
        for key, use in zip(operands, found.operands, strict=True):
            if key is not None and use is not None:
                key.take(use)
        return [
            (operands[at] or new) if isinstance(at, int) else _Key(at)
            for at, new in zip(found.results, fresh, strict=True)
        ]
    if len(given) != 1 or len(fresh) != 1 or operands[0] is None:
        return fresh
    if eqn.primitive in (random_fold_in_p, random_split_p):  # which make new keys
        return fresh
    (whole,) = given
    if eqn.outvars[0].aval.size >= eqn.invars[0].aval.size:
        return [whole]  # in another shape
    if any(isinstance(x, Var) for x in eqn.invars[1:]):
        return fresh  # who knows which part it is
    how = str((eqn.primitive, eqn.params, eqn.invars[1:]))
    return [whole.parts.setdefault(how, _Key(whole=whole))]


def _keys_of_programs(primitive: Primitive, params: dict[str, Any], count: int) -> Keys | None:
    """Return the uses of keys by the programs in a primitive of `count` operands."""
    rule = key_rules.of(primitive)
    return None if rule is None else rule(keys_of, count, **params)
