"""`debug_key_reuse`: an error where a random key is used a second time.

While the setting is on, each function of `minijax.random` that draws from a key says so by a
primitive, `key_use`. Evaluated, it marks the key, an Array, as used. A jitted function is staged
once more before each call, to see in its program which keys it uses.
"""

import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

from minijax.array import Array
from minijax.config import Switch, config
from minijax.errors import KeyReuseError
from minijax.key_dtype import key_dtype
from minijax.reusable_contexts import reusable_context
from minijax_stage1.source import Source, user_source
from minijax_stage2 import (
    Primitive,
    bind1,
    defzero,
    impl_rules,
    tree_flatten,
    tree_leaves,
    typeof,
    vmap_rules,
)
from minijax_stage2.flat_function import FlatFunction
from minijax_stage2.shaped_array import is_value
from minijax_stage3 import Jaxpr, JaxprEqn, Var, abstract_eval_rules, lowering_rules
from minijax_stage3.jaxpr import consts_as_invars
from minijax_stage3.staging import trace_to_jaxpr

_option = config.declare(
    "debug_key_reuse",
    bool,
    False,
    "Whether it is an error to draw from a random key more than once.",
    Switch,
)
_step: ContextVar[str] = ContextVar("key_reuse_step", default="")  # "staging", "running", or none


@reusable_context
def debug_key_reuse(new_val: bool = True) -> Iterator[None]:
    """Sets `config.debug_key_reuse` for the block of a `with`, in this thread only.

    Keys of dtype `key<fry>` are followed, not those that are two words of uint32. Jitted functions
    are staged before each call, which takes time.

    >>> from minijax import random
    >>> with debug_key_reuse(True):
    ...     key = random.key(0)
    ...     x = random.normal(key)
    ...     try:
    ...         random.uniform(key)
    ...     except KeyReuseError as error:
    ...         print(str(error).partition(":")[0])
    a random key is used twice
    """
    with _option.override(new_val):
        yield


def looks_for_key_reuse() -> bool:
    return bool(_option.value) and _step.get() != "running"


def is_staging_for_keys() -> bool:
    """Whether a function is staged only to see which keys it uses."""
    return _step.get() == "staging"


@contextmanager
def _in_step(step: str) -> Iterator[None]:
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


def _used_twice(first: KeyUse, second: KeyUse) -> KeyReuseError:
    return KeyReuseError(f"a random key is used twice: {first}, and {second}. {_REMEDY}")


def _used_in_each_round(loop: str, use: KeyUse) -> KeyReuseError:
    return KeyReuseError(
        f"a random key is used in each round of a {loop}: {use}. {_REMEDY} A loop carries the key "
        "from round to round, or takes one key a round from an array of them."
    )


# --8<-- [start:primitive]
key_use_p = Primitive("key_use", holds_programs=True)  # `use` is None where a key is cloned


def note_key_use(function: str, key: Any) -> Any:
    """`key`, of dtype `key<fry>`, once it is known that `function` draws from it."""
    if Switch.used and looks_for_key_reuse():
        return bind1(key_use_p, key, use=KeyUse(function))
    return key


def cloned(key: Any) -> Any:
    """`key` as a key of its own."""
    return bind1(key_use_p, key, use=None) if Switch.used and looks_for_key_reuse() else key


def _evaluate(key: Any, *, use: KeyUse | None) -> list[Any]:
    if use is not None:
        _take(key, use)
    return [Array(key.buffer, key.aval)]  # another object, and so another key


impl_rules[key_use_p] = _evaluate
abstract_eval_rules[key_use_p] = lambda key, *, use: [key]
lowering_rules[key_use_p] = lambda b, out_avals, key, *, use: [key]
vmap_rules[key_use_p] = lambda size, keys, dims, *, use: ([bind1(key_use_p, *keys, use=use)], dims)
defzero(key_use_p)
# --8<-- [end:primitive]


# --8<-- [start:arrays]
_uses: dict[int, tuple[Any, KeyUse]] = {}  # of keys that live, by their identity


def _use_of(key: Any) -> KeyUse | None:
    entry = _uses.get(id(key))
    return entry[1] if entry is not None and entry[0]() is key else None


def _mark(key: Any, use: KeyUse) -> None:
    def forget(_: Any, number: int = id(key)) -> None:
        _uses.pop(number, None)

    _uses[id(key)] = weakref.ref(key, forget), use


def _take(key: Any, use: KeyUse) -> None:
    """Marks an Array as used, which it must not be yet."""
    earlier = _use_of(key)
    if earlier is not None and earlier is not use:
        raise _used_twice(earlier, use)
    _mark(key, use)


def _is_key(x: Any) -> bool:
    return type(x) is Array and x.aval.dtype == key_dtype


def call_on_fresh_keys(function: Any, args: Any, kwargs: Any) -> tuple[Any] | None:
    """The result of a jitted function, if it uses keys that nothing has used; else an error.

    None, if its arguments are none, or it draws from no key.
    """
    static, dynamic, dynamic_kwargs = function._static.split(args, kwargs)
    leaves, tree = tree_flatten((dynamic, dynamic_kwargs))
    if not all(map(is_value, leaves)) or not (function.is_users or any(map(_is_key, leaves))):
        return None
    flat_fun = FlatFunction(function._static.fill(static), tree, has_kwargs=True)
    with _in_step("staging"):
        closed = trace_to_jaxpr(flat_fun, list(map(typeof, leaves)), "jit", function._fun)
        found = keys_of(consts_as_invars(closed.jaxpr))
    operands = [*closed.consts, *leaves]
    _take_all(found, operands)
    with _in_step("running"):
        result = function(*args, **kwargs)
    for out, key in zip(tree_leaves(result), found.results, strict=True):
        use = _use_of(operands[key]) if isinstance(key, int) else key
        if use is not None and _is_key(out):
            _mark(out, use)
    return (result,)


def check_keys(primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> None:
    """Raises the error due when a loop or a choice, evaluated by itself, uses keys again."""
    if primitive.holds_programs and primitive is not key_use_p and looks_for_key_reuse():
        found = _keys_of_programs(primitive, params, len(args))
        if found is not None:
            _take_all(found, args)


def _take_all(found: "Keys", operands: Sequence[Any]) -> None:
    for x, use in zip(operands, found.operands, strict=True):
        if use is not None and _is_key(x):
            _take(x, use)


# --8<-- [end:arrays]


# --8<-- [start:programs]
class Keys(NamedTuple):
    """What a program does with keys.

    Attributes:
        operands: for each of its operands the use that is made of it, if any.
        results: for each of its results the number of the operand that it is; or the use that
            was made of it already; or None.
    """

    operands: list[KeyUse | None]
    results: list[int | KeyUse | None]


class _Key:
    """A key, or an array of keys, in a program."""

    def __init__(self, use: KeyUse | None = None, whole: "_Key | None" = None):
        self.use = use
        self.whole = whole  # the array of which it is a part
        self.parts: dict[Any, _Key] = {}  # by how they are cut out

    def take(self, use: KeyUse) -> None:
        for key in (*self._around(), *self._inside()):
            if key.use is not None and key.use is not use:
                raise _used_twice(key.use, use)
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
    """What a program without constants does with keys.

    Raises:
        KeyReuseError: it uses one twice.
    """
    keys = {var: _Key() for var in jaxpr.invars if var.aval.dtype == key_dtype}
    for eqn in jaxpr.eqns:
        operands = [keys.get(x) if isinstance(x, Var) else None for x in eqn.invars]
        for var, made in zip(eqn.outvars, _results(eqn, operands), strict=True):
            if var.aval.dtype == key_dtype:
                keys[var] = made
    numbers = {id(keys[var]): i for i, var in enumerate(jaxpr.invars) if var in keys}
    results: list[int | KeyUse | None] = []
    for out in jaxpr.outvars:
        key = keys.get(out) if isinstance(out, Var) else None
        results.append(None if key is None else numbers.get(id(key), key.use))
    return Keys([keys[var].use if var in keys else None for var in jaxpr.invars], results)


def _results(eqn: JaxprEqn, operands: Sequence[_Key | None]) -> list[_Key]:
    """The keys that an equation makes of keys, which it uses."""
    fresh = [_Key() for _ in eqn.outvars]
    given = [key for key in operands if key is not None]
    if eqn.primitive is key_use_p:
        if eqn.params["use"] is not None:
            given[0].take(eqn.params["use"])
        return fresh
    if eqn.primitive.holds_programs:
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
    if eqn.primitive.name == "threefry2x32":  # which makes new keys
        return fresh
    (whole,) = given
    if eqn.outvars[0].aval.size >= eqn.invars[0].aval.size:
        return [whole]  # in another shape
    if any(isinstance(x, Var) for x in eqn.invars[1:]):
        return fresh  # who knows which part it is
    how = str((eqn.primitive, eqn.params, eqn.invars[1:]))
    return [whole.parts.setdefault(how, _Key(whole=whole))]


# --8<-- [end:programs]


def _keys_of_programs(primitive: Primitive, params: dict[str, Any], count: int) -> Keys | None:
    """What the programs that a primitive of `count` operands holds do with these."""
    if "branches" in params:
        return _keys_of_choice([keys_of(jaxpr) for jaxpr in params["branches"]])
    if primitive.name == "scan":
        found = keys_of(params["jaxpr"])
        if params["length"] > 1:
            _check_rounds("scan", found, params["num_consts"], params["num_carry"])
        return found
    if primitive.name == "while":
        return _keys_of_while(**params)
    if primitive.name == "linear_solve":
        return _keys_of_linear_solve(count, **params)
    inner = [p for p in params.values() if isinstance(p, Jaxpr) and len(p.invars) == count]
    return keys_of(inner[0]) if len(inner) == 1 else None


def _keys_of_choice(branches: Sequence[Keys]) -> Keys:
    """After a choice a key is used if a branch uses it."""
    operands = [
        next((use for use in uses if use is not None), None)
        for uses in zip(*(branch.operands for branch in branches), strict=True)
    ]
    results: list[int | KeyUse | None] = [
        next((out for out in outs if isinstance(out, KeyUse)), None)
        for outs in zip(*(branch.results for branch in branches), strict=True)
    ]
    return Keys([None, *operands], results)


def _keys_of_while(
    *, cond_jaxpr: Jaxpr, body_jaxpr: Jaxpr, cond_consts: int, body_consts: int
) -> Keys:
    of_cond, of_body = keys_of(cond_jaxpr), keys_of(body_jaxpr)
    carry = len(body_jaxpr.outvars)
    _check_rounds("while_loop", of_body, body_consts, carry)
    for use in of_cond.operands:
        if use is not None:
            raise _used_in_each_round("while_loop", use)
    results = [at + cond_consts if isinstance(at, int) else at for at in of_body.results]
    return Keys([*of_cond.operands[:cond_consts], *of_body.operands], results)


def _keys_of_linear_solve(count: int, *, programs: Any, counts: Any) -> Keys:
    """Only the solver runs; its operands are its own constants, and the right-hand side."""
    of_solve = keys_of(programs.solve)
    first = counts.matvec + counts.vecmat
    places = [*range(first, first + counts.solve), *range(sum(counts), count)]
    operands: list[KeyUse | None] = [None] * count
    for place, use in zip(places, of_solve.operands, strict=True):
        operands[place] = use
    results = [places[at] if isinstance(at, int) else at for at in of_solve.results]
    return Keys(operands, results)


def _check_rounds(loop: str, body: Keys, num_consts: int, num_carry: int) -> None:
    """Raises the error due when a body uses what the next round uses too."""
    for number, use in enumerate(body.operands[: num_consts + num_carry]):
        if use is None:
            continue
        if number < num_consts or (
            body.results[number - num_consts] == number
            or isinstance(body.results[number - num_consts], KeyUse)
        ):
            raise _used_in_each_round(loop, use)


__all__ = ["debug_key_reuse"]
