"""Debugging checks: NaN, reused keys, leaked tracers; numerical derivatives; clearing caches."""

import gc
import platform
import sys
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

import glassjax_stage2 as stage2
from glassjax import xla
from glassjax.errors import LeakedTracerError
from glassjax.lax.control_flow.program_cache import kept_programs
from glassjax.primitives.higher_order import key_rules, step_rules
from glassjax.primitives.loops import clear_loops
from glassjax.random import keys as key_functions
from glassjax.runtime import compiled_calls
from glassjax.runtime.array import Array, is_evaluating, is_value, tree_to_arrays
from glassjax.runtime.devices import devices
from glassjax.runtime.evaluation import library_evaluation
from glassjax.runtime.jit import clear_jitted
from glassjax.runtime.origins import derivative_at, source_of
from glassjax.runtime.program import compile_primitive
from glassjax.runtime.templates import forget_templates
from glassjax.settings.config import reusable_context
from glassjax.settings.number_types import is_key_type
from glassjax.settings.options import infs_option, nans_option, tracer_leaks_option
from glassjax.version import installed_version
from glassjax_stage2 import Primitive, Tracer, tree_flatten, typeof
from glassjax_stage2.arguments import FlatFunction
from glassjax_stage2.primitives import (
    broadcast_in_dim_p,
    convert_element_type_p,
    reshape_p,
    transpose_p,
)
from glassjax_stage2.shaped_array import is_inexact
from glassjax_stage3 import Jaxpr, JaxprEqn, Var
from glassjax_stage3.jaxpr import consts_as_invars
from glassjax_stage3.staging import trace_to_jaxpr

# `debug_key_reuse`: an error when a random key is used twice.
#
# While the setting is on, each function of `glassjax.random` that draws from a key binds a
# primitive, `key_use`, whose evaluation marks the key, an Array, as used. A jitted function is
# staged again before each call, to find the keys that its program uses.


def _is_key(x: Any) -> bool:
    return type(x) is Array and is_key_type(x.aval.dtype)


def call_on_fresh_keys(function: Any, args: Any, kwargs: Any) -> tuple[Any] | None:
    """The result of a jitted function, or an error if it uses keys again.

    None if its arguments are not keys, or it draws from none.
    """
    static, dynamic, dynamic_kwargs = function._static.split(args, kwargs)
    leaves, tree = tree_flatten((dynamic, dynamic_kwargs))
    if not all(map(is_value, leaves)) or not (function.is_users or any(map(_is_key, leaves))):
        return None
    flat_fun = FlatFunction(function._static.fill(static), tree, has_kwargs=True)
    with key_functions.in_step("staging"):
        closed = trace_to_jaxpr(flat_fun, list(map(typeof, leaves)), "jit", function._fun)
        found = keys_of(consts_as_invars(closed))
    operands = [*closed.consts, *leaves]
    _take_all(found, operands)
    with key_functions.in_step("running"):
        result = function(*args, **kwargs)
    for out, key in zip(stage2.tree_leaves(result), found.results, strict=True):
        use = key_functions.use_of(operands[key]) if isinstance(key, int) else key
        if use is not None and _is_key(out):
            key_functions.mark(out, use)
    return (result,)


def call_with_checked_keys(function: Any, args: Any, kwargs: Any) -> tuple[Any] | None:
    """The result of a jitted function with checked keys; None if they are not checked."""
    if not key_functions.looks_for_key_reuse():
        return None
    if is_evaluating():
        with library_evaluation():
            return call_on_fresh_keys(function, args, kwargs)
    return (function._fun(*args, **kwargs),) if key_functions.is_staging_for_keys() else None


def check_keys(primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> None:
    """Raise KeyReuseError if an eager loop or conditional reuses keys."""
    if (
        primitive.higher_order
        and primitive is not key_functions.key_use_p
        and key_functions.looks_for_key_reuse()
    ):
        found = _program_keys(primitive, params, len(args))
        if found is not None:
            _take_all(found, args)


def _take_all(found: "Keys", operands: Sequence[Any]) -> None:
    for x, use in zip(operands, found.operands, strict=True):
        if use is not None and _is_key(x):
            key_functions.take(x, use)


class Keys(NamedTuple):
    """Uses of keys by a program.

    Attributes:
        operands: for each operand its use, if any.
        results: for each result, the index of an equal operand, or its earlier use, or None.
    """

    operands: list[key_functions.KeyUse | None]
    results: list[int | key_functions.KeyUse | None]

    def at(self, places: Sequence[int], count: int) -> "Keys":
        """The uses of `count` operands, given the uses of the operands at `places`."""
        operands: list[key_functions.KeyUse | None] = [None] * count
        for place, use in zip(places, self.operands, strict=True):
            operands[place] = use
        return Keys(operands, [places[at] if isinstance(at, int) else at for at in self.results])

    def either(self, others: "Sequence[Keys]") -> "Keys":
        """The uses if this program or one of the others runs on the same operands."""
        every = (self, *others)
        operands = [
            next((use for use in uses if use is not None), None)
            for uses in zip(*(each.operands for each in every), strict=True)
        ]
        results: list[int | key_functions.KeyUse | None] = [
            next((out for out in outs if isinstance(out, key_functions.KeyUse)), None)
            for outs in zip(*(each.results for each in every), strict=True)
        ]
        return Keys(operands, results)

    def each_iteration(self, loop: str, num_consts: int, num_carry: int = 0) -> "Keys":
        """The uses if the program is the body of a loop.

        Raises:
            KeyReuseError: two iterations use the same key.
        """
        for number, use in enumerate(self.operands[: num_consts + num_carry]):
            if use is None:
                continue
            if number < num_consts or (
                self.results[number - num_consts] == number
                or isinstance(self.results[number - num_consts], key_functions.KeyUse)
            ):
                raise key_functions.used_in_each_iteration(loop, use)
        return self


class _Key:
    """A key, or an array of keys, in a program."""

    def __init__(self, use: key_functions.KeyUse | None = None, whole: "_Key | None" = None):
        self.use = use
        self.whole = whole  # the array that contains it
        self.parts: dict[Any, _Key] = {}  # by equation

    def take(self, use: key_functions.KeyUse) -> None:
        for key in (*self._around(), *self._inside()):
            if key.use is not None and key.use is not use:
                raise key_functions.used_twice(key.use, use)
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
        for var, made in zip(eqn.outvars, _result_keys(eqn, operands), strict=True):
            if is_key_type(var.aval.dtype):
                keys[var] = made
    numbers = {id(keys[var]): i for i, var in enumerate(jaxpr.invars) if var in keys}
    results: list[int | key_functions.KeyUse | None] = []
    for out in jaxpr.outvars:
        key = keys.get(out) if isinstance(out, Var) else None
        results.append(None if key is None else numbers.get(id(key), key.use))
    return Keys([keys[var].use if var in keys else None for var in jaxpr.invars], results)


def _result_keys(eqn: JaxprEqn, operands: Sequence[_Key | None]) -> list[_Key]:
    """The result keys of an equation, from its operand keys."""
    fresh = [_Key() for _ in eqn.outvars]
    given = [key for key in operands if key is not None]
    if eqn.primitive is key_functions.key_use_p:
        if eqn.params["use"] is not None:
            given[0].take(eqn.params["use"])
        return fresh
    if eqn.primitive.higher_order:
        found = _program_keys(eqn.primitive, eqn.params, len(operands))
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
    if eqn.primitive in (key_functions.random_fold_in_p, key_functions.random_split_p):  # new keys
        return fresh
    (whole,) = given
    if eqn.outvars[0].aval.size >= eqn.invars[0].aval.size:
        return [whole]  # in another shape
    if any(isinstance(x, Var) for x in eqn.invars[1:]):
        return fresh  # an unknown part
    cut = str((eqn.primitive, eqn.params, eqn.invars[1:]))
    return [whole.parts.setdefault(cut, _Key(whole=whole))]


def _program_keys(primitive: Primitive, params: dict[str, Any], count: int) -> Keys | None:
    """Return the uses of keys by the programs in a primitive of `count` operands."""
    rule = key_rules.of(primitive)
    return None if rule is None else rule(keys_of, count, **params)


# `checking_leaks`: an error when a tracer outlives its call.


_FROZEN_AT_START = gc.get_freeze_count()  # not 0 on Python 3.12


@reusable_context
def checking_leaks() -> Iterator[None]:
    """Set `config.check_tracer_leaks` for the block of a `with`, in this thread only.

    After a function is traced, all objects created in the block are searched for tracers, which is
    slow.

    >>> import glassjax
    >>> kept = []
    >>> with checking_leaks():
    ...     try:
    ...         glassjax.jit(lambda x: kept.append(x))(1.0)
    ...     except glassjax.errors.LeakedTracerError as error:
    ...         print(str(error).partition(":")[0])
    leaked tracers of the jit of `<lambda>`, which has ended
    >>> kept.clear()
    """
    is_first = not (tracer_leaks_option.value or gc.get_freeze_count() > _FROZEN_AT_START)
    if is_first:  # freeze existing objects, so that they are not searched each time
        gc.collect()
        gc.freeze()
    try:
        with tracer_leaks_option.override(True):
            yield
    finally:
        if is_first:
            gc.unfreeze()


@reusable_context
def check_tracer_leaks(new_val: bool = True) -> Iterator[None]:
    """Do what `checking_leaks` does; with `False`, disable the check for a block.

    >>> with glassjax.check_tracer_leaks():
    ...     glassjax.grad(lambda x: x * x)(3.0)
    Array(6., dtype=float32, weak_type=True)
    """
    with checking_leaks() if new_val is True else tracer_leaks_option.override(new_val):
        yield


def check_leaks() -> None:
    """Look for tracers whose trace has ended, after garbage collection.

    Raises:
        LeakedTracerError: there are some; the message says where they were made, and what refers to
            them.
    """
    gc.collect()
    leaked = [x for x in gc.get_objects() if isinstance(x, Tracer) and x.interpreter.ended]
    if leaked:
        gc.unfreeze()  # their referrers may be frozen
        lines = [
            f"    {tracer!r} made at {tracer.source}, {_holder(tracer, leaked)}"
            for tracer in leaked
        ]
        raise LeakedTracerError(
            f"leaked tracers of the {leaked[0].interpreter}, which has ended:\n"
            + "\n".join(lines)
            + "\nReturn values from the function, in place of keeping them."
        )


def check_trace(function: Any, args: Any, kwargs: Any) -> None:
    """Trace a jitted function, and search for leaks if the trace was not cached."""
    if is_evaluating():
        with library_evaluation():
            count = len(function._traced)
            function._trace_types(args, kwargs)
        if len(function._traced) != count:
            check_leaks()


def _holder(tracer: Tracer, leaked: list[Tracer]) -> str:
    """Describe what refers to a tracer besides the list of leaked ones."""
    for holder in gc.get_referrers(tracer):
        if isinstance(holder, FrameType) or holder is leaked:
            continue
        if isinstance(holder, dict):
            for key in holder:
                if holder[key] is tracer:
                    return f"kept in a dict by the key {key!r}"
        return f"kept in a {type(holder).__name__}"
    return "kept by a variable"


# `debug_nans` and `debug_infs`: an error at the first NaN or infinity.


# These compute no new numbers; programs make infinite constants by them.
_only_move = {convert_element_type_p, broadcast_in_dim_p, reshape_p, transpose_p}


def check_numbers(
    primitive: Primitive, args: Sequence[Any], params: dict[str, Any], outs: Sequence[Any]
) -> None:
    """Raise FloatingPointError if a result is NaN or infinite and the check for it is on."""
    if primitive in _only_move:
        return
    kind = _invalid_kind(outs)
    if kind is None:
        return
    _look_inside(primitive, args, params)
    source = source_of(primitive, args)
    where = "" if source is None else f" at {source}:\n    {source.text}"
    name = f"{primitive} of `{params['name']}`" if "name" in params else str(primitive)
    if derivative := derivative_at(source):
        name += f", in the derivative of {derivative.primitive},"
    raise FloatingPointError(f"invalid value ({kind}) encountered in {name}{where}")


def call_with_checked_numbers(function: Any, args: Any, kwargs: Any) -> tuple[Any] | None:
    """The result of a jitted function with checked numbers; None if they are not checked."""
    if not is_evaluating():
        return None
    with library_evaluation():
        try:
            return (tree_to_arrays(function._bind(args, kwargs)),)
        except FloatingPointError:
            if function._inside is not None:  # called by the user's line
                function._inside(*args, **kwargs)
            raise


def _invalid_kind(outs: Sequence[Any]) -> str | None:
    for x in outs:
        if is_inexact(typeof(x).dtype):
            numbers = np.asarray(x)
            if nans_option.value and np.isnan(numbers).any():
                return "nan"
            if infs_option.value and np.isinf(numbers).any():
                return "inf"
    return None


def _look_inside(primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> None:
    """Run a primitive's program step by step, so that the offending step raises an error."""
    rule = step_rules.of(primitive)
    if rule is not None:
        rule(args, **params)


# The environment of this process, for bug reports.


def print_environment_info(return_string: bool = False) -> str | None:
    """Print the versions of this library and its dependencies, and the devices.

    One line says whether compiled calls are used, and if not, why.

    Arguments:
        return_string: whether to return the text instead of printing it.

    >>> text = glassjax.print_environment_info(return_string=True)
    >>> [line.partition(":")[0] for line in text.splitlines()]
    ['glassjax', 'jaxlib', 'numpy', 'python', 'compiled calls', 'devices', 'platform']
    """
    lines = [
        f"glassjax: {installed_version() or 'not installed'}",
        f"jaxlib:  {xla.jaxlib_version()}",
        f"numpy:   {np.__version__}",
        f"python:  {sys.version}",
        f"compiled calls: {compiled_calls.state}",
        f"devices: {', '.join(map(str, devices()))}",
        f"platform: {platform.uname()}",
    ]
    text = "\n".join(lines)
    if return_string:
        return text
    print(text)
    return None


# `clear_caches`: forget everything traced and compiled in this process.


def clear_caches() -> None:
    """Clear the caches of traced and compiled programs in this process. Files on disk stay.

    Functions are traced and compiled again at their next call.

    >>> @glassjax.jit
    ... def f(x):
    ...     print("traced")
    ...     return x + 1
    >>> y = f(1)
    traced
    >>> y = f(2)
    >>> glassjax.clear_caches()
    >>> y = f(3)
    traced
    """
    clear_jitted()
    forget_templates()
    clear_loops()
    kept_programs.clear()
    compile_primitive.cache_clear()
