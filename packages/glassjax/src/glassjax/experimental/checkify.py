"""Checks of values at run time, under the names of `jax.experimental.checkify`.

A compiled program cannot raise an exception. `checkify` makes a function return an `Error`, its
first failed check, besides its result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

import glassjax_stage2 as stage2
import glassjax_stage4 as stage4
from glassjax import lax
from glassjax.dtypes import issubdtype
from glassjax.lax import scattering as scatter
from glassjax.lax.control_flow.conditionals import cond_p
from glassjax.lax.control_flow.scan import scan_p
from glassjax.lax.control_flow.while_loop import SOME_EXAMPLES, while_p
from glassjax.lax.dynamic_slicing import dynamic_slice_p, dynamic_update_slice_p
from glassjax.lax.gathering import GatherScatterMode, gather_p
from glassjax.lax.scattering import scatter_add_p
from glassjax.lax.shapes import full
from glassjax.parallel.shard_map import apply_parts, shard_map_p
from glassjax.primitives.custom_trace import Trace
from glassjax.primitives.higher_order import declare_opaque, pass_token, staged_call
from glassjax.runtime.array import Array, to_array, tree_to_arrays
from glassjax.runtime.evaluation import evaluated_by_library
from glassjax.settings.names import list_public_names, wraps
from glassjax.shardings.partition_spec import PartitionSpec
from glassjax.transforms.checkpoint import checkpoint_p, name_p
from glassjax.transforms.custom_derivatives import custom_jvp_call_p, custom_vjp_call_p
from glassjax_stage1.interpreter import set_interpreter
from glassjax_stage2 import Primitive, ShapedArray, bind, typeof
from glassjax_stage2.arguments import require_function
from glassjax_stage2.errors import shown
from glassjax_stage2.primitives import div_p
from glassjax_stage2.shaped_array import has_type
from glassjax_stage2.source import Source, on_behalf_of, user_source
from glassjax_stage2.tree import PyTreeDef, register_pytree_node, tree_unflatten
from glassjax_stage2.vmap import BatchAxis, move_batch_dim
from glassjax_stage3 import Jaxpr, JaxprEqn, eval_jaxpr, jit_p
from glassjax_stage3.executable import cached_by_jaxpr
from glassjax_stage3.staging import trace_to_jaxpr
from glassjax_stage4.stop_gradient import stop_gradient

# Errors as values: the first check that failed, and the numbers in its message.


# Its operands are the code of an error and the arrays in the messages; its parameter is the sites.
check_p = Primitive("check", higher_order=True)


class JaxRuntimeError(ValueError):
    """A check has failed."""


class JaxException(Exception):
    """A category of errors that `checkify` looks for."""


class FailedCheckError(JaxException):
    """A call of `check` whose predicate is False."""


class NaNError(JaxException):
    """An operation whose result is not a number."""


class OOBError(JaxException):
    """An index that is out of bounds."""


class DivisionByZeroError(JaxException):
    """A division by zero."""


ErrorCategory = type[JaxException]

user_checks: frozenset[ErrorCategory] = frozenset({FailedCheckError})
nan_checks: frozenset[ErrorCategory] = frozenset({NaNError})
index_checks: frozenset[ErrorCategory] = frozenset({OOBError})
div_checks: frozenset[ErrorCategory] = frozenset({DivisionByZeroError})
float_checks: frozenset[ErrorCategory] = nan_checks | div_checks
automatic_checks: frozenset[ErrorCategory] = float_checks | index_checks
all_checks: frozenset[ErrorCategory] = automatic_checks | user_checks


@dataclass(frozen=True)
class Site:
    """A place in a program that is checked.

    Attributes:
        category: the kind of its errors.
        text: the format of its message.
        structure: the structure of the pair of positional and keyword arguments of the format.
        sizes: for an index, the shape of the indexed array; its message also has an axis.
        source: the line of the program.
    """

    category: ErrorCategory
    text: str
    structure: PyTreeDef
    sizes: tuple[int, ...] | None = None
    source: Source | None = field(default=None, compare=False)

    @property
    def num_numbers(self) -> int:
        """The number of arrays that the message shows."""
        return self.structure.num_leaves

    def message(self, numbers: Sequence[Array]) -> str:
        """The message of a failure with these arrays."""
        args, kwargs = tree_unflatten(self.structure, numbers)
        if self.sizes is not None:
            kwargs = {**kwargs, "size": self.sizes[int(kwargs["axis"])], "shape": self.sizes}
        return self.text.format(*args, **kwargs)


class Error:
    """The first check that failed, if any did: a pytree, so that programs can return it.

    Under vmap it holds one error for each example.
    """

    def __init__(self, code: Any, numbers: Sequence[Any] = (), sites: tuple[Site, ...] = ()):
        self._code = code  # 0: none failed; k: the site k - 1 did
        self._numbers = tuple(numbers)  # the numbers in the messages of all sites, in order
        self._sites = sites

    def get(self) -> str | None:
        """The message of the check that failed; None if none did.

        >>> from glassjax.experimental import checkify
        >>> def root(x):
        ...     checkify.check(x >= 0, "{x} has no real root", x=x)
        ...     return jnp.sqrt(x)
        >>> error, out = glassjax.jit(checkify.checkify(root))(-4.0)
        >>> error.get()
        '-4.0 has no real root (`check` failed)'
        """
        codes = np.asarray(self._code)
        if not codes.any():
            return None
        if codes.ndim == 0:
            return self._message(())
        return "\n".join(
            f"at mapped index {', '.join(map(str, index))}: {self._message(index)}"
            for index in zip(*map(np.ndarray.tolist, np.nonzero(codes)), strict=True)
        )

    def _message(self, index: tuple[int, ...]) -> str:
        position = int(np.asarray(self._code)[index]) - 1
        site = self._sites[position]
        start = sum(each.num_numbers for each in self._sites[:position])
        numbers = self._numbers[start : start + site.num_numbers]
        return site.message([to_array(x)[index] for x in numbers])

    def get_exception(self) -> JaxException | None:
        """The failed check as an exception of its category; None if none failed."""
        message = self.get()
        if message is None:
            return None
        first = next(code for code in np.ravel(self._code).tolist() if code)
        return self._sites[first - 1].category(message)

    def throw(self) -> None:
        """Raise an exception if a check failed.

        Raises:
            JaxRuntimeError: a check failed; the message is `get()`, and a note names the place.
        """
        self.hand_on(debug=False)

    @evaluated_by_library
    def hand_on(self, debug: bool) -> None:
        """Make it the error of the function that `checkify` is transforming, if any."""
        if self._sites:
            bind(check_p, self._code, *self._numbers, sites=self._sites, debug=debug)

    def require_none(self) -> None:
        """Raise as `throw` does; the values are concrete."""
        message = self.get()
        if message is not None:
            error = JaxRuntimeError(message)
            first = next(code for code in np.ravel(self._code).tolist() if code)
            source = self._sites[first - 1].source
            if source is not None:
                error.add_note(f"the check that failed is at {source}")
            raise error

    def __str__(self) -> str:
        known = isinstance(self._code, np.ndarray | np.generic | int | Array)
        return f"Error({self.get() if known else self._code})"

    __repr__ = __str__


register_pytree_node(
    Error,
    lambda error: ((error._code, error._numbers), error._sites),
    lambda sites, parts: Error(parts[0], parts[1], sites),
)


def no_code() -> Any:
    """The code of no error."""
    return to_array(np.int32(0))


init_error = Error(np.int32(0))


def first_of(errors: Sequence[Error]) -> Error:
    """The first error of several, none of them mapped, in the order of a program."""
    if not errors:
        return Error(no_code())
    code, count = no_code(), 0
    for error in errors:
        later = lax.select(error._code > 0, error._code + count, no_code())
        code = lax.select(code == 0, later, code)
        count += len(error._sites)
    numbers = [x for error in errors for x in error._numbers]
    return Error(code, numbers, tuple(site for error in errors for site in error._sites))


def first_of_mapped(error: Sequence[Any]) -> list[Any]:
    """The code and the numbers of the first example, along the first axis, that has an error."""
    first = lax.argmax(error[0] > 0, 0, np.int32)
    return [lax.dynamic_index_in_dim(x, first, keepdims=False) for x in error]


# `check`: a primitive without results, which fails if a predicate is False.


@evaluated_by_library
def check(pred: Any, msg: str, *fmt_args: Any, debug: bool = False, **fmt_kwargs: Any) -> None:
    """Check that `pred` is True, at run time.

    In a function that `checkify` transforms, a failure becomes its `Error`. Outside of
    transformations, a failure raises at once. A compiled program that `checkify` does not transform
    cannot contain checks.

    Arguments:
        pred: a scalar of dtype bool.
        msg: the format of the message, as for `str.format`.
        *fmt_args: pytrees of arrays, for the format.
        debug: whether to check only under `checkify`.
        **fmt_kwargs: pytrees of arrays, for the format, by name.

    Raises:
        JaxRuntimeError: `pred` is False, and nothing is transformed.
        TypeError: `pred` is not a scalar of dtype bool, or an argument of the format is not an
            array.

    >>> from glassjax.experimental import checkify
    >>> checkify.check(jnp.array(2) > 0, "is {}", 3)
    """
    if not has_type(pred) or typeof(pred).shape or typeof(pred).dtype != np.bool_:
        raise TypeError(f"check takes a scalar pred as argument, got {shown(pred)}")
    numbers, structure = stage2.tree_flatten((fmt_args, fmt_kwargs))
    for number in numbers:
        if not has_type(number):
            raise TypeError(
                f"check: the message can only show arrays and pytrees of arrays, found "
                f"{shown(number)} of type {type(number).__name__}; write it in msg itself"
            )
    text = f"{msg} (`check` failed)"
    site = Site(FailedCheckError, text, structure, source=user_source())
    code = lax.select(to_array(pred), np.int32(0), np.int32(1))
    Error(code, [stop_gradient(to_array(x)) for x in numbers], (site,)).hand_on(debug)


def debug_check(pred: Any, msg: str, *fmt_args: Any, **fmt_kwargs: Any) -> None:
    """`check` under `checkify`; otherwise do nothing.

    Arguments:
        pred: a scalar of dtype bool.
        msg: the format of the message, as for `str.format`.
        *fmt_args: pytrees of arrays, for the format.
        **fmt_kwargs: pytrees of arrays, for the format, by name.

    Raises:
        TypeError: as for `check`.

    >>> from glassjax.experimental import checkify
    >>> checkify.debug_check(False, "nobody looks")
    """
    check(pred, msg, *fmt_args, debug=True, **fmt_kwargs)


@evaluated_by_library
def check_error(error: Error) -> None:
    """Raise an exception if `error` is one; under `checkify`, make it the function's own.

    Arguments:
        error: the error that a function made by `checkify` returned.

    Raises:
        JaxRuntimeError: it is one, and nothing is transformed.
        TypeError: `error` is not an `Error`.

    >>> from glassjax.experimental import checkify
    >>> error, out = checkify.checkify(lambda x: x + 1)(2.0)
    >>> checkify.check_error(error)
    """
    if not isinstance(error, Error):
        raise TypeError(f"check_error: expected an Error, found {shown(error)}")
    error.throw()


def _check_impl(code: Any, *numbers: Any, sites: tuple[Site, ...], debug: bool) -> list[Any]:
    if not debug:
        Error(code, numbers, sites).require_none()
    return []


def _check_lower(b: Any, out_avals: Any, *operands: Any, **params: Any) -> list[Any]:
    raise _not_transformed()


def _check_effects(with_token: Any, eqn: JaxprEqn, token: Any, following: Any) -> list[JaxprEqn]:
    if not eqn.params["debug"]:
        raise _not_transformed()
    return [pass_token(eqn, token, following)]


def _not_transformed() -> ValueError:
    return ValueError(
        "a `check` is in a program that is compiled, and programs cannot raise errors. Transform "
        "the function first: error, out = jit(checkify(f))(x), then error.throw()"
    )


def _check_vmap(
    axis: BatchAxis, values: Sequence[Any], dims: Sequence[Any], **params: Any
) -> tuple[list[Any], list[Any]]:
    """The first example that fails determines the error of a mapped check."""
    rows = (move_batch_dim(x, axis, dim, 0) for x, dim in zip(values, dims, strict=True))
    bind(check_p, *first_of_mapped(list(rows)), **params)
    return [], []


declare_opaque(
    check_p,
    evaluate=_check_impl,
    abstract_eval=lambda *avals, **params: [],
    lower=_check_lower,
    vmap=_check_vmap,
    order=_check_effects,
    effects=True,
)


# `checkify`: an interpreter that checks each operation, and keeps the first error.


Categories = frozenset[ErrorCategory]

# `rule(trace, args, params) -> results`: evaluates a primitive on the level below, and reports
# failures to the trace, by `trace.fail` or `trace.found`.
check_rules: dict[Primitive, Callable[..., Sequence[Any]]] = {}


class CheckTrace(Trace):
    """Evaluates operations and collects their errors."""

    transformation = "checkify"

    def __init__(self, f: Any, categories: Categories):
        super().__init__(f)
        self.categories = categories
        self.found: list[Error] = []  # in the order of the program

    def process(
        self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]
    ) -> list[Any]:
        rule = check_rules.get(primitive)
        if rule is None:
            require_no_checks(primitive, params)
            rule = partial(_nan, primitive)
        with on_behalf_of(user_source()), set_interpreter(self.parent):
            return list(rule(self, args, params))

    def fail(self, category: ErrorCategory, code: Any, numbers: Sequence[Any], site: Site) -> None:
        """Record an operation that may fail, if its category is asked for."""
        if category in self.categories:
            self.found.append(Error(code, numbers, (site,)))


def require_no_checks(primitive: Primitive, params: dict[str, Any]) -> None:
    """Raise an error if programs of a primitive without a rule check: the failure would be lost."""
    if not primitive.higher_order:
        return
    for value in params.values():
        for jaxpr in value if isinstance(value, tuple) else (value,):
            if isinstance(jaxpr, Jaxpr) and calls_check(jaxpr):
                raise NotImplementedError(
                    f"checkify: a function inside of `{primitive}` calls check, and what fails "
                    f"there cannot be returned. Have the function that `{primitive}` is given "
                    "made by checkify, and return its error; or check before or after"
                )


@cached_by_jaxpr
def calls_check(jaxpr: Jaxpr) -> bool:
    """Return True if a program or one of its inner programs has a `check`."""
    _, sites = checked_program(jaxpr, user_checks)
    return bool(sites)


@cached_by_jaxpr
def checked_program(jaxpr: Jaxpr, categories: Categories) -> tuple[Jaxpr, tuple[Site, ...]]:
    """The program that returns its error before its results, flat; and the sites of the error.

    If there is nothing to check, it is `jaxpr` itself, and there are no sites.
    """
    sites: list[tuple[Site, ...]] = []

    def checked_fun(*args: Any) -> list[Any]:
        error, outs = with_error(partial(eval_jaxpr, jaxpr, []), args, categories)
        sites.append(error._sites)
        return [error._code, *error._numbers, *outs]

    closed = trace_to_jaxpr(checked_fun, jaxpr.in_avals, "checkify", None)
    return (closed, sites[0]) if sites[0] else (jaxpr, ())


@cached_by_jaxpr
def without_checks(jaxpr: Jaxpr) -> Jaxpr:
    """The program without its calls of `check`."""

    def unchecked_fun(*args: Any) -> Sequence[Any]:
        _, outs = with_error(partial(eval_jaxpr, jaxpr, []), args, frozenset())
        return list(outs)

    return trace_to_jaxpr(unchecked_fun, jaxpr.in_avals, "checkify", None)


def with_error(
    fun: Callable[..., Any], args: Sequence[Any], categories: Categories
) -> tuple[Error, Any]:
    """The first error of a call, and its result."""
    trace = CheckTrace(fun, categories)
    with trace.run():
        out = fun(*args)
    return first_of(trace.found), out


def error_from(outs: Sequence[Any], sites: tuple[Site, ...]) -> tuple[Error, list[Any]]:
    """The error and the results that a checked program has returned."""
    if not sites:
        return Error(no_code()), list(outs)
    count = 1 + sum(site.num_numbers for site in sites)
    return Error(outs[0], outs[1:count], sites), list(outs[count:])


def _check_process(trace: CheckTrace, args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    if FailedCheckError in trace.categories:
        code, *numbers = args
        trace.found.append(Error(code, numbers, params["sites"]))
    return []


check_rules[check_p] = _check_process


def checkify(
    f: Callable[..., Any], errors: Iterable[ErrorCategory] = user_checks
) -> Callable[..., tuple[Error, Any]]:
    """Return a function that returns its first error, besides its result.

    Arguments:
        f: function of arrays and pytrees of arrays.
        errors: the categories of errors to look for: `user_checks`, the calls of `check` (the
            default), `nan_checks`, `index_checks`, `div_checks`, unions of them, `float_checks`,
            `automatic_checks` or `all_checks`.

    Returns:
        A function of the same arguments. It returns a pair: an `Error`, and what `f` returns. It
        can be jitted, mapped and differentiated like any other, and so can functions in `f`.

    Raises:
        TypeError: `f` is not a function, or `errors` are not categories.

    >>> from glassjax.experimental import checkify
    >>> def mean_of_logs(x):
    ...     return jnp.log(x).mean()
    >>> checked = glassjax.jit(checkify.checkify(mean_of_logs, errors=checkify.all_checks))
    >>> error, out = checked(jnp.array([1.0, -1.0]))
    >>> print(error)
    Error(nan generated by primitive: log.)
    """
    require_function("checkify", f)
    categories = frozenset(errors)
    for category in categories:
        if not (isinstance(category, type) and issubclass(category, JaxException)):
            raise TypeError(
                "checkify: errors are a set of categories, such as checkify.user_checks or "
                f"checkify.all_checks, found {shown(category)} among them"
            )

    @wraps(f)
    @evaluated_by_library
    def checked_fun(*args: Any, **kwargs: Any) -> tuple[Error, Any]:
        jaxpr, operands, finish = staged_call("checkify", f, *tree_to_arrays((args, kwargs)))
        error, outs = with_error(partial(eval_jaxpr, jaxpr, []), operands, categories)
        return tree_to_arrays((error, finish(outs)))

    return checked_fun


# Failures of single operations: NaN, a division by zero, an index out of bounds.


Args = Sequence[Any]
Params = dict[str, Any]


def _fails(trace: CheckTrace, category: ErrorCategory, failed: Any, text: str) -> None:
    """Record an operation whose elements fail where `failed` is True."""
    site = Site(category, text, stage2.tree_structure(((), {})), source=user_source())
    trace.fail(category, _code(failed), (), site)


def _code(failed: Any) -> Any:
    return lax.select(_somewhere(failed), np.int32(1), np.int32(0))


def _somewhere(flags: Any) -> Any:
    return lax.reduce_or(flags, tuple(range(typeof(flags).ndim)))


def _has_nan(values: Sequence[Any]) -> Any:
    """Return True if an element of some value is not a number."""
    found: Any = np.bool_(False)
    for x in values:
        if issubdtype(typeof(x).dtype, np.inexact):
            known = stop_gradient(x)
            is_nan = known != known
            found = found | _somewhere(is_nan)
    return found


def _nan(primitive: Primitive, trace: CheckTrace, args: Args, params: Params) -> list[Any]:
    """Record NaN results, unless an operand already has a NaN."""
    outs = bind(primitive, *args, **params)
    if NaNError in trace.categories and outs:
        generated = _has_nan(outs) & ~_has_nan(args)
        _fails(trace, NaNError, generated, f"nan generated by primitive: {primitive}.")
    return outs


def _div(trace: CheckTrace, args: Args, params: Params) -> list[Any]:
    if DivisionByZeroError in trace.categories:
        is_zero = stop_gradient(args[1]) == 0
        _fails(trace, DivisionByZeroError, is_zero, "division by zero")
    return _nan(div_p, trace, args, params)


def _row(numbers: Sequence[int], dtype: Any) -> Any:
    """A small array, built from literals so that it is not a constant of the program."""
    return lax.concatenate([full((1,), number, dtype) for number in numbers], 0)


def _out_of_bounds(
    trace: CheckTrace, sizes: tuple[int, ...], indices: Any, axes: Sequence[int], limits: Any
) -> None:
    """Record indices, a column for each axis of an array, that may be negative or above limits."""
    if not len(axes) or not typeof(indices).size:
        return
    indices = stop_gradient(indices)
    if typeof(indices).dtype.kind == "u":
        indices = lax.convert_element_type(indices, np.int64)
    below = indices < 0
    shape, dtype = typeof(indices).shape, typeof(indices).dtype
    above = indices > lax.broadcast_in_dim(_row(limits, dtype), shape, (len(shape) - 1,))
    outside = stage2.reshape(below | above, (-1,))
    first = lax.argmax(outside, 0, np.int32)
    index = lax.dynamic_index_in_dim(stage2.reshape(indices, (-1,)), first, keepdims=False)
    column = lax.rem(first, np.int32(len(axes)))
    axis = lax.dynamic_index_in_dim(_row(axes, np.int32), column, keepdims=False)
    numbers = {"axis": axis, "index": index}
    text = (
        "out-of-bounds indexing for array of shape {shape}: index {index} is out of bounds for "
        "axis {axis} with size {size}. "
    )
    site = Site(OOBError, text, stage2.tree_structure(((), numbers)), sizes, user_source())
    trace.fail(OOBError, _code(outside), [axis, index], site)


def _gather_check(trace: CheckTrace, args: Args, params: Params) -> list[Any]:
    operand, indices = args
    shape = typeof(operand).shape
    if OOBError in trace.categories and params["mode"] is not GatherScatterMode.CLIP:
        axes = params["dimension_numbers"].start_index_map
        limits = [shape[axis] - params["slice_sizes"][axis] for axis in axes]
        _out_of_bounds(trace, shape, indices, axes, limits)
    return bind(gather_p, *args, **params)


def _scatter_check(
    primitive: Primitive, trace: CheckTrace, args: Args, params: Params
) -> list[Any]:
    operand, indices, updates = args
    shape = typeof(operand).shape
    if OOBError in trace.categories and params["mode"] is not GatherScatterMode.CLIP:
        numbers = params["dimension_numbers"]
        inserted = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
        windows = [axis for axis in range(len(shape)) if axis not in inserted]
        sizes = dict.fromkeys(inserted, 1)
        for axis, update_dim in zip(windows, numbers.update_window_dims, strict=True):
            sizes[axis] = typeof(updates).shape[update_dim]
        axes = numbers.scatter_dims_to_operand_dims
        _out_of_bounds(trace, shape, indices, axes, [shape[axis] - sizes[axis] for axis in axes])
    return bind(primitive, *args, **params)


def _starts(trace: CheckTrace, operand: Any, sizes: Sequence[int], starts: Args) -> None:
    if OOBError in trace.categories and starts:
        shape = typeof(operand).shape
        limits = [size - slice_size for size, slice_size in zip(shape, sizes, strict=True)]
        indices = lax.concatenate([lax.reshape(start, (1,)) for start in starts], 0)
        _out_of_bounds(trace, shape, indices, range(len(shape)), limits)


def _dynamic_slice(trace: CheckTrace, args: Args, params: Params) -> list[Any]:
    _starts(trace, args[0], params["slice_sizes"], args[1:])
    return bind(dynamic_slice_p, *args, **params)


def _dynamic_update_slice(trace: CheckTrace, args: Args, params: Params) -> list[Any]:
    _starts(trace, args[0], typeof(args[1]).shape, args[2:])
    return bind(dynamic_update_slice_p, *args, **params)


check_rules[div_p] = _div
check_rules[gather_p] = _gather_check
check_rules[dynamic_slice_p] = _dynamic_slice
check_rules[dynamic_update_slice_p] = _dynamic_update_slice
for _checking_primitive in (
    scatter.scatter_p,
    scatter_add_p,
    scatter.scatter_mul_p,
    scatter.scatter_min_p,
    scatter.scatter_max_p,
):
    check_rules[_checking_primitive] = partial(_scatter_check, _checking_primitive)


# Errors in higher-order primitives: each returns the first error of its program.


def _checked_call(primitive: Primitive, trace: CheckTrace, args: Args, params: Params) -> list[Any]:
    """A primitive that calls one program on all of its operands."""
    program, sites = checked_program(params["jaxpr"], trace.categories)
    outs = bind(primitive, *args, **{**params, "jaxpr": program})
    return _kept(trace, outs, sites)


def _kept(trace: CheckTrace, outs: list[Any], sites: tuple[Site, ...]) -> list[Any]:
    """The results of a checked program; its error is recorded."""
    error, outs = error_from(outs, sites)
    if sites:
        trace.found.append(error)
    return outs


def _checked_custom_call(trace: CheckTrace, args: Args, params: Params) -> list[Any]:
    """Call a function with a custom derivative, which it keeps; the error has no derivative."""
    jaxpr = params["jaxpr"]
    program, sites = checked_program(jaxpr, trace.categories)
    if sites:
        error, _ = error_from(eval_jaxpr(program, [], *map(stop_gradient, args)), sites)
        trace.found.append(error)
    unchecked = {**params, "jaxpr": without_checks(jaxpr)}
    return bind(params["rule"].primitive, *args, **unchecked)


def _zeros(avals: Sequence[ShapedArray]) -> list[Any]:
    """Placeholders for numbers that no message shows."""
    return [full(aval.shape, 0, aval.dtype) for aval in avals]


def _message_types(program: Jaxpr, sites: tuple[Site, ...]) -> list[ShapedArray]:
    """The types of the numbers that the messages of a checked program show."""
    count = sum(site.num_numbers for site in sites)
    return program.out_avals[1 : 1 + count] if sites else []


def _checked_cond(primitive: Primitive, trace: CheckTrace, args: Args, params: Params) -> list[Any]:
    branches = params["branches"]
    checked = [checked_program(branch, trace.categories) for branch in branches]
    if not any(sites for _, sites in checked):
        return bind(primitive, *args, **params)
    types = [_message_types(*each) for each in checked]

    def checked_branch(number: int, *operands: Any) -> list[Any]:
        """The branch with the numbers of all branches, and codes that count the sites of all."""
        program, sites = checked[number]
        error, outs = error_from(eval_jaxpr(program, [], *operands), sites)
        earlier = sum(len(sites) for _, sites in checked[:number])
        is_one = error._code > 0
        code = lax.select(is_one, error._code + np.int32(earlier), no_code())
        numbers = [
            x
            for other, avals in enumerate(types)
            for x in (error._numbers if other == number else _zeros(avals))
        ]
        return [code, *numbers, *outs]

    in_avals = branches[0].in_avals
    programs = tuple(
        _staged(partial(checked_branch, number), in_avals) for number in range(len(branches))
    )
    outs = bind(primitive, *args, **{**params, "branches": programs})
    return _kept(trace, outs, tuple(site for _, sites in checked for site in sites))


def _first(error: Error, later: Error) -> list[Any]:
    """The code and numbers of the first of two errors at the same sites, flat."""
    is_first = error._code > 0
    pairs = zip([error._code, *error._numbers], [later._code, *later._numbers], strict=True)
    return [lax.select(lax.broadcast(is_first, typeof(x).shape), x, y) for x, y in pairs]


def _no_error(avals: Sequence[ShapedArray]) -> list[Any]:
    return [no_code(), *_zeros(avals)]


def _checked_scan(trace: CheckTrace, args: Args, params: Params) -> list[Any]:
    body, sites = checked_program(params["jaxpr"], trace.categories)
    if not sites:
        return bind(scan_p, *args, **params)
    start = _no_error(_message_types(body, sites))
    num_consts, size = params["num_consts"], len(start)

    def checked_body(*operands: Any) -> list[Any]:
        consts, rest = operands[:num_consts], operands[num_consts:]
        found, rest = rest[:size], rest[size:]
        error, outs = error_from(eval_jaxpr(body, [], *consts, *rest), sites)
        return [*_first(Error(found[0], found[1:]), error), *outs]

    in_avals = params["jaxpr"].in_avals
    types = [*in_avals[:num_consts], *map(typeof, start), *in_avals[num_consts:]]
    changed = {"jaxpr": _staged(checked_body, types), "num_carry": params["num_carry"] + size}
    outs = bind(scan_p, *args[:num_consts], *start, *args[num_consts:], **{**params, **changed})
    return _kept(trace, outs, sites)


def _checked_while(trace: CheckTrace, args: Args, params: Params) -> list[Any]:
    cond_consts, body_consts = params["cond_consts"], params["body_consts"]
    cond, cond_sites = checked_program(params["cond_jaxpr"], trace.categories)
    body, body_sites = checked_program(params["body_jaxpr"], trace.categories)
    sites = cond_sites + body_sites
    if not sites:
        return bind(while_p, *args, **params)
    consts = args[:cond_consts]
    start = _no_error([*_message_types(cond, cond_sites), *_message_types(body, body_sites)])
    size = len(start)

    def in_cond(consts: Args, carry: Args) -> Error:
        return error_from(eval_jaxpr(cond, [], *consts, *carry), cond_sites)[0]

    def checked_cond(*operands: Any) -> Sequence[Any]:
        consts, carry = operands[:cond_consts], operands[cond_consts + size :]
        return eval_jaxpr(without_checks(params["cond_jaxpr"]), [], *consts, *carry)

    def checked_body(*operands: Any) -> list[Any]:
        """One iteration; the condition is evaluated once more, for its errors."""
        consts, operands = operands[:cond_consts], operands[cond_consts:]
        steps, operands = operands[:body_consts], operands[body_consts:]
        (code, *numbers), carry = operands[:size], operands[size:]
        error, outs = error_from(eval_jaxpr(body, [], *steps, *carry), body_sites)
        here = first_of([in_cond(consts, carry), error])
        return [*_first(Error(code, numbers), here), *outs]

    steps, carry = args[cond_consts:][:body_consts], args[cond_consts + body_consts :]
    carry_avals = [*map(typeof, start), *params["body_jaxpr"].in_avals[body_consts:]]
    const_avals, step_avals = list(map(typeof, consts)), list(map(typeof, steps))
    outs = bind(
        while_p,
        *consts,
        *consts,
        *steps,
        *start,
        *carry,
        cond_jaxpr=_staged(checked_cond, [*const_avals, *carry_avals]),
        body_jaxpr=_staged(checked_body, [*const_avals, *step_avals, *carry_avals]),
        cond_consts=cond_consts,
        body_consts=cond_consts + body_consts,
    )
    outs = _kept(trace, outs, sites)
    if cond_sites:  # it is evaluated once more than the body
        trace.found.append(in_cond(consts, outs))
    return outs


def _name(trace: CheckTrace, args: Args, params: Params) -> Sequence[Any]:
    if params["name"] == SOME_EXAMPLES and trace.found:
        raise ValueError(
            "checkify of vmap of a while_loop whose examples end after different numbers of "
            "iterations: those that have ended would be checked, too. Map what is checked instead, "
            "vmap(checkify(f)), which returns the error of each example"
        )
    return bind(name_p, *args, **params)


def _shard_map(trace: CheckTrace, args: Args, params: Params) -> list[Any]:
    """Each device returns its error as one row; the first failure is kept."""
    manual = params["manual"]
    with manual.running():
        program, sites = checked_program(params["jaxpr"], trace.categories)
        if not sites:
            return bind(shard_map_p, *args, **params)
        count = 1 + len(_message_types(program, sites))

        def with_rows(*operands: Any) -> list[Any]:
            outs = eval_jaxpr(program, [], *operands)
            return [*(lax.expand_dims(x, (0,)) for x in outs[:count]), *outs[count:]]

        inside = _staged(with_rows, program.in_avals)
    rows = [PartitionSpec(manual.names)] * count
    outs = apply_parts(args, inside, manual, params["in_specs"], [*rows, *params["out_specs"]])
    return _kept(trace, [*first_of_mapped(outs[:count]), *outs[count:]], sites)


def _staged(program: Callable[..., Sequence[Any]], avals: Sequence[ShapedArray]) -> Jaxpr:
    return trace_to_jaxpr(program, avals, "checkify", None)


check_rules[jit_p] = partial(_checked_call, jit_p)
check_rules[checkpoint_p] = partial(_checked_call, checkpoint_p)
check_rules[custom_jvp_call_p] = check_rules[custom_vjp_call_p] = _checked_custom_call
for _checked_program_primitive in (cond_p, stage4.cond_p):
    check_rules[_checked_program_primitive] = partial(_checked_cond, _checked_program_primitive)
check_rules[name_p] = _name
check_rules[scan_p] = _checked_scan
check_rules[while_p] = _checked_while
check_rules[shard_map_p] = _shard_map


__all__ = [
    "Error",
    "ErrorCategory",
    "JaxRuntimeError",
    "all_checks",
    "automatic_checks",
    "check",
    "check_error",
    "checkify",
    "debug_check",
    "div_checks",
    "float_checks",
    "index_checks",
    "init_error",
    "nan_checks",
    "user_checks",
]
list_public_names(globals())
