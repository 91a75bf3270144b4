"""Conditions of differences: whether one that was found belongs to a class, and of what."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from fuzzing.search import comparing
from fuzzing.search.comparing import Difference, Leaf, Raised
from fuzzing.search.programs import Program
from fuzzing.search.running import arguments_of, libraries, result_of

DIFFERENTIATE = ("grad", "vjp", "jvp", "linearize", "jacfwd", "jacrev")

Applies = Callable[[Program, Difference, Any, Any], bool]
Equates = Callable[[Program, Any, Any], Any]


def where_jax_raises(*messages: str, kinds: tuple[str, ...] = ("accepted",)) -> Applies:
    """JAX raises an error whose class and message a pattern fits."""
    pattern = re.compile("|".join(messages))

    def applies(program: Program, found: Difference, ours: Any, theirs: Any) -> bool:
        if found.kind not in kinds or not isinstance(theirs, Raised):
            return False
        return bool(pattern.search(f"{theirs.name}: {theirs.message}"))

    return applies


def unless_lax_refuses(applies: Applies) -> Applies:
    """As `applies`, unless a function of `lax`, strict about dtypes, that the program calls raises.

    The message names the operation.
    """

    def elsewhere(program: Program, found: Difference, ours: Any, theirs: Any) -> bool:
        if not applies(program, found, ours, theirs):
            return False
        names = [name.rpartition(".")[2] for name in program.functions if name.startswith("lax.")]
        return not any(re.search(rf"\b{name}\b", theirs.message) for name in names)

    return elsewhere


def in_programs_of(functions: str, applies: Applies) -> Applies:
    """As `applies`, in programs that call a function that the pattern fits."""
    pattern = re.compile(functions)

    def fits(program: Program, found: Difference, ours: Any, theirs: Any) -> bool:
        calls_one = any(map(pattern.fullmatch, program.functions))
        return calls_one and applies(program, found, ours, theirs)

    return fits


def before_others(applies: Applies, functions: str) -> Applies:
    """As `applies`, in programs that call such a function, and not only as the last."""
    pattern = re.compile(functions)

    def fits(program: Program, found: Difference, ours: Any, theirs: Any) -> bool:
        is_before = any(map(pattern.fullmatch, program.functions[:-1]))
        return is_before and applies(program, found, ours, theirs)

    return fits


def narrowed(applies: Applies, inputs: str = "", detail: str = "") -> Applies:
    """As `applies`, where the patterns fit the source of an input and what was found."""

    def fits(program: Program, found: Difference, ours: Any, theirs: Any) -> bool:
        return (
            any(re.search(inputs, each.source) for each in program.inputs)
            and bool(re.search(detail, found.detail))
            and applies(program, found, ours, theirs)
        )

    return fits


def under(applies: Applies, *transformations: str) -> Applies:
    """As `applies`, in programs under one of the transformations."""

    def fits(program: Program, found: Difference, ours: Any, theirs: Any) -> bool:
        is_under = any(name in transformations for name in program.transformations)
        return is_under and applies(program, found, ours, theirs)

    return fits


def where_we_raise(message: str, kinds: tuple[str, ...] = ("error", "class")) -> Applies:
    """We raise an error that a pattern fits; a "class" of errors differs where JAX raises, too."""
    pattern = re.compile(message)

    def applies(program: Program, found: Difference, ours: Any, theirs: Any) -> bool:
        if found.kind not in kinds or not isinstance(ours, Raised):
            return False
        return bool(pattern.search(f"{ours.name}: {ours.message}"))

    return applies


def calls_with(names: str, condition: Callable[..., Any]) -> Callable[[Program], bool]:
    """Whether a program calls a function that the pattern fits with such arguments."""
    pattern = re.compile(names)

    def is_such(program: Program, which: int) -> bool:
        given = arguments_of(program, which)
        return given is not None and bool(condition(*given[0], **given[1]))

    return lambda program: any(
        pattern.fullmatch(name) and is_such(program, i) for i, name in enumerate(program.functions)
    )


def called_with(kind: str, names: str, condition: Callable[..., Any]) -> Applies:
    """A difference of a kind in programs that call such a function with such arguments.

    Kind and names are patterns.
    """
    calls = calls_with(names, condition)
    return lambda program, found, ours, theirs: (
        bool(re.fullmatch(kind, found.kind)) and calls(program)
    )


def as_numpy_gives(names: str) -> Applies:
    """Values that are numpy's, in programs of one call of a function that the pattern fits."""
    pattern = re.compile(names)

    def applies(program: Program, found: Difference, ours: Any, theirs: Any) -> bool:
        is_one_call = len(program.calls) == 1 and pattern.fullmatch(program.functions[0])
        given = arguments_of(program, 0) if is_one_call and found.kind == "value" else None
        if given is None:
            return False
        function = getattr(np, program.functions[0].removeprefix("jnp."))
        args, kwargs = ([np.asarray(x) if hasattr(x, "shape") else x for x in given[0]], given[1])
        results = function(*args, **kwargs)
        parts = results if isinstance(results, tuple) else (results,)
        parts = [x for part in parts for x in (part if isinstance(part, tuple | list) else [part])]
        expected = np.concatenate([np.ravel(x) for x in parts])
        values = np.concatenate([np.ravel(each.values) for each in comparing.leaves(ours)])
        is_alike = values.shape == expected.shape  # with tangents beside them they are not
        return is_alike and bool(np.allclose(values, expected, rtol=1e-2, atol=1e-2))

    return applies


# Leaves of results: ours and JAX's, to JAX's with what is meant to differ as ours.


def of_each_leaf(change: Callable[[Leaf, Leaf], Leaf]) -> Equates:
    return lambda program, ours, theirs: _paired(ours, theirs, change)


def _paired(ours: Any, theirs: Any, change: Callable[[Leaf, Leaf], Leaf]) -> Any:
    if isinstance(ours, Leaf) and isinstance(theirs, Leaf):
        return change(ours, theirs)
    if not (isinstance(ours, tuple) and isinstance(theirs, tuple)):
        return theirs
    mine, others = ours[1], theirs[1]
    if isinstance(mine, list) and isinstance(others, list) and len(mine) == len(others):
        pairs = zip(mine, others, strict=True)
        return (theirs[0], [_paired(x, y, change) for x, y in pairs])
    if isinstance(mine, dict) and isinstance(others, dict) and mine.keys() == others.keys():
        return (theirs[0], {key: _paired(mine[key], others[key], change) for key in others})
    return theirs


def of_derivatives(change: Callable[[Leaf, Leaf], Leaf]) -> Equates:
    """Leaves of derivatives alone: not what a function gives, which stands beside some of them."""

    def changed(program: Program, ours: Any, theirs: Any) -> Any:
        names = program.transformations
        places = [i for i, name in enumerate(names) if name in DIFFERENTIATE]
        if not places:
            return theirs
        around = names[places[0] + 1 :]
        has_both = names[places[0]] in ("jvp", "vjp", "linearize")
        if len(places) > 1 or not has_both or "eval_jaxpr" in around:
            return _paired(ours, theirs, change)
        depth = sum(name in ("scan", "while_loop") for name in around)  # beside a counter
        return _second(ours, theirs, depth, change)

    return changed


def _second(ours: Any, theirs: Any, depth: int, change: Callable[[Leaf, Leaf], Leaf]) -> Any:
    """The second part of a pair changed; `depth`: of pairs that are second parts of others."""
    if not (_is_pair(ours) and _is_pair(theirs)):
        return theirs  # of no inexact arguments there are no derivatives
    first, second = theirs[1]
    if depth:
        return (theirs[0], [first, _second(ours[1][1], second, depth - 1, change)])
    return (theirs[0], [first, _paired(ours[1][1], second, change)])


def _is_pair(given: Any) -> bool:
    return isinstance(given, tuple) and given[0] == "tuple" and len(given[1]) == 2


def where_values(which: Callable[[Any, Any], Any]) -> Callable[[Leaf, Leaf], Leaf]:
    """Values as ours where a condition holds of ours and JAX's: floats, or parts of complex."""

    def of_floats(x: Any, y: Any) -> Any:
        return np.where(which(x, y), x, y).astype(y.dtype)

    def change(ours: Leaf, theirs: Leaf) -> Leaf:
        x, y = ours.values, theirs.values
        if x is None or y is None or x.dtype != y.dtype or x.shape != y.shape:
            return theirs
        if x.dtype.kind in "fV":
            return replace(theirs, values=of_floats(x, y))
        if x.dtype.kind == "c":
            values = np.empty_like(y)
            values.real, values.imag = of_floats(x.real, y.real), of_floats(x.imag, y.imag)
            return replace(theirs, values=values)
        return theirs

    return change


def where_under(transformations: set[str], equates: Equates) -> Equates:
    """As `equates`, in programs under one of the transformations."""

    def changed(program: Program, ours: Any, theirs: Any) -> Any:
        is_under = not transformations.isdisjoint(program.transformations)
        return equates(program, ours, theirs) if is_under else theirs

    return changed


def where_twice_differentiated(equates: Equates) -> Equates:
    """As `equates`, in programs under two transformations that differentiate."""

    def changed(program: Program, ours: Any, theirs: Any) -> Any:
        is_second = sum(name in DIFFERENTIATE for name in program.transformations) > 1
        return equates(program, ours, theirs) if is_second else theirs

    return changed


def where_weights_differ(program: Program, found: Difference, ours: Any, theirs: Any) -> bool:
    """Whether a reverse derivative is of results that are of a weak type in one library alone.

    The cotangents of those of a weak type are all one number, those of others are not.
    """
    is_reverse = bool({"grad", "vjp", "jacrev"}.intersection(program.transformations))
    if found.kind != "value" or not is_reverse:
        return False
    plain = replace(program, transformations=())
    results = [comparing.leaves(result_of(plain, library)) for library in libraries()]
    return [each.weak for each in results[0]] != [each.weak for each in results[1]]


def where_called(functions: str, equates: Equates) -> Equates:
    """As `equates`, in programs that call a function that the pattern fits."""
    pattern = re.compile(functions)

    def changed(program: Program, ours: Any, theirs: Any) -> Any:
        calls_one = any(map(pattern.fullmatch, program.functions))
        return equates(program, ours, theirs) if calls_one else theirs

    return changed


def where_given(functions: str, condition: Callable[..., Any], equates: Equates) -> Equates:
    """As `equates`, in programs that call such a function with such arguments."""
    calls = calls_with(functions, condition)

    def changed(program: Program, ours: Any, theirs: Any) -> Any:
        if comparing.difference(ours, theirs) is None or not calls(program):
            return theirs
        return equates(program, ours, theirs)

    return changed


def is_weak(x: Any) -> bool:
    """Whether an argument is a float or complex number of Python's, or of a weak type.

    Ints may be options, such as an axis.
    """
    return type(x) in (float, complex) or bool(getattr(x, "weak_type", False))


def tuples_for_lists(program: Program, ours: Any, theirs: Any) -> Any:
    """JAX's lists as tuples, where ours are."""
    if not (isinstance(ours, tuple) and isinstance(theirs, tuple)):
        return theirs
    if not (isinstance(ours[1], list) and isinstance(theirs[1], list)):
        return theirs
    kind = "tuple" if (ours[0], theirs[0]) == ("tuple", "list") else theirs[0]
    if len(ours[1]) != len(theirs[1]):
        return theirs
    pairs = zip(ours[1], theirs[1], strict=True)
    return (kind, [tuples_for_lists(program, x, y) for x, y in pairs])
