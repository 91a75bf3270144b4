"""Evaluation outside of programs: by XLA, into Arrays, with JAX's number types."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import glassjax_stage2 as stage2
from glassjax.errors.arguments import blame_argument
from glassjax.errors.tracebacks import hide_frames
from glassjax.runtime.array import is_evaluating, some_placed, to_library_array
from glassjax.runtime.partitioning import evaluate_jaxpr, evaluate_partitioned
from glassjax.runtime.places import argument_places
from glassjax.runtime.program import compile_primitive, run_program
from glassjax.settings import number_types, options
from glassjax.settings.config import ReusableContext, Switch, reusable_context
from glassjax.settings.names import later
from glassjax.settings.tracers import adopted, adopted_traces
from glassjax_stage1 import current_interpreter, interpreter
from glassjax_stage1.interpreter import evaluator, set_interpreter
from glassjax_stage2 import Primitive, Trace, Tracer, shaped_array, typeof
from glassjax_stage2.shaped_array import Dialect
from glassjax_stage2.trace import EvalTrace
from glassjax_stage3.jit import jit_p

# Checks of evaluation and of calls, while their switches are on.
#
# Nothing here is called before any switch has been on (`Switch.used`), and a check is imported
# when its own switch is first on, so unused checks cost nothing.


_check_keys = later("glassjax.checks", "check_keys")
_call_with_keys_checked = later("glassjax.checks", "call_with_checked_keys")
_check_numbers = later("glassjax.checks", "check_numbers")
_call_with_numbers_checked = later("glassjax.checks", "call_with_checked_numbers")
_check_leaks = later("glassjax.checks", "check_leaks")
_check_trace = later("glassjax.checks", "check_trace")


def after_primitive(
    primitive: Primitive, args: Sequence[Any], params: dict[str, Any], outs: Sequence[Any]
) -> None:
    """Check the evaluation of a primitive."""
    if options.key_reuse_option.value:
        _check_keys(primitive, args, params)
    if options.nans_option.value or options.infs_option.value:
        _check_numbers(primitive, args, params, outs)


def after_function() -> None:
    """Run the checks due when a library function returns to code outside transformations."""
    if options.tracer_leaks_option.value:
        _check_leaks()


def adds_equations() -> bool:
    """Return True if a check adds equations to functions, different ones in each call."""
    return bool(options.key_reuse_option.value)


def call_checked(function: Any, args: Any, kwargs: Any) -> tuple[Any] | None:
    """The result of a jitted function, in a 1-tuple, if a check makes the call; otherwise None."""
    result: tuple[Any] | None = None
    if options.key_reuse_option.value:
        result = _call_with_keys_checked(function, args, kwargs)
    if result is None and (options.nans_option.value or options.infs_option.value):
        result = _call_with_numbers_checked(function, args, kwargs)
    if result is None and options.tracer_leaks_option.value:
        _check_trace(function, args, kwargs)
    return result


# Evaluation in the full library: by XLA, into Arrays, with JAX's number types.
#
# The stages evaluate numpy arrays with numpy, in its 64 bits. While a function of this library
# runs, another evaluator is at the bottom of the tracer stack, and Python numbers have 32 bits,
# unless `enable_x64` is set. Users of a single stage are not affected.


def enable_x64(new_val: bool = True) -> ReusableContext:
    """Set `config.enable_x64` for the block of a `with`, in this thread only.

    Python and numpy numbers keep their 64 bits there, and requested 64-bit dtypes are not narrowed.

    Arguments:
        new_val: whether to enable 64 bits.

    Raises:
        TypeError: it is not a bool.

    >>> import glassjax.numpy as jnp
    >>> with enable_x64(True):
    ...     jnp.arange(3.0)
    Array([0., 1., 2.], dtype=float64)
    """
    return number_types.x64.for_block(new_val)


def numpy_dtype_promotion(new_val: str) -> ReusableContext:
    """Set `config.numpy_dtype_promotion`, "standard" or "strict", for the block of a `with`.

    Under "strict" arrays of different dtypes are not promoted; Python numbers, which have no dtype
    of their own, still are.

    Raises:
        ValueError: it is anything else.

    >>> import glassjax.numpy as jnp
    >>> with numpy_dtype_promotion("strict"):
    ...     jnp.arange(3) + 1
    Array([1, 2, 3], dtype=int32)
    """
    return number_types.dtype_promotion.for_block(new_val)


def numpy_rank_promotion(new_val: str) -> ReusableContext:
    """Set `config.numpy_rank_promotion`, "allow", "warn" or "raise", for the block of a `with`.

    Operands of different ranks broadcast as in numpy, with or without a warning, or are an error.

    Raises:
        ValueError: it is anything else.

    >>> with glassjax.numpy_rank_promotion("raise"):
    ...     try:
    ...         jnp.ones((2, 3)) + jnp.ones(3)
    ...     except ValueError as error:
    ...         print(str(error).partition(", and")[0])
    operands of shapes (2, 3) and (3,) have different numbers of axes
    """
    return number_types.rank_promotion.for_block(new_val)


# Primitives that are not evaluated by compiling them.
evaluators: dict[Primitive, Callable[..., list[Any]]] = {}


class DeviceTrace(EvalTrace):
    """Evaluation on the device: results are Arrays, whatever the operands."""

    def __init__(self) -> None:
        super().__init__()
        self.function_name = "XLA"

    def process(
        self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]
    ) -> list[Any]:
        if Switch.used:
            options.require_execution(primitive)
        if primitive is jit_p:
            outs = evaluate_jaxpr(params["jaxpr"], f"jit_{params['name']}", args)
        elif primitive.higher_order:
            # The stages' rules run their inner programs themselves, and return stage 3's Arrays.
            outs = [to_library_array(out) for out in stage2.impl_rules[primitive](*args, **params)]
        else:
            in_avals = tuple([typeof(x) for x in args])
            if primitive in evaluators:
                outs = evaluators[primitive](*args, **params)
            # Numbers and uncommitted arrays also go elsewhere while a default device or a mesh is
            # set, and setting one turns on `Switch.used`.
            elif Switch.used or some_placed(args):
                outs = evaluate_partitioned(
                    primitive, args, in_avals, params, argument_places(args)
                )
            else:
                outs = run_program(compile_primitive(primitive, in_avals, params), args)
        if Switch.used:
            after_primitive(primitive, args, params, outs)
        return outs


device_trace = DeviceTrace()
evaluate_primitive = device_trace.process


class library_evaluation:
    """A context with this library's evaluator.

    Arguments:
        numbers: the number types; by default the running code's.
    """

    __slots__ = ("interpreter", "number_types")

    def __init__(self, numbers: Dialect | None = None):
        self.interpreter = set_interpreter(device_trace)
        self.number_types = number_types.set_number_types(numbers or number_types.types_here())

    def __enter__(self) -> None:
        self.interpreter.__enter__()
        self.number_types.__enter__()

    def __exit__(self, *exception: object) -> None:
        self.number_types.__exit__()
        self.interpreter.__exit__()


Function = TypeVar("Function", bound=Callable[..., Any])


def evaluated_by_library(function: Function) -> Function:
    """Decorator: this library evaluates the function's primitives, outside of transformations.

    Inside a transformation of this library its evaluator is already at the bottom. The wrapper
    reads singletons from modules, because cloudpickle copies the globals of functions.
    """

    @functools.wraps(function)
    def in_library(*args: Any, **kwargs: Any) -> Any:
        is_inside = current_interpreter() is not interpreter.evaluator
        try:
            if is_inside:
                if shaped_array.dialect() is not shaped_array.numpys_dialect:
                    return function(*args, **kwargs)
                # In a stage's transformation.
                with (
                    number_types.set_number_types(number_types.library_number_types()),
                    adopted_traces(),
                ):
                    # The stage's tracers lack the methods of arrays, which `function` may use.
                    args, kwargs = stage2.tree_map(adopted, (args, kwargs))
                    return function(*args, **kwargs)
            with library_evaluation():
                result = function(*args, **kwargs)
            if Switch.used:
                after_function()
            return result
        except Exception as error:
            try:
                blame_argument(function, args, kwargs, error)
            except Exception as better:
                hide_frames(better)
                raise
            hide_frames(error)
            raise

    wrapper: Any = in_library
    wrapper.__wrapped__ = getattr(function, "__wrapped__", function)  # the user's function
    return wrapper


def made_of_operations(function: Function) -> Function:
    """Decorator: a function of arrays that calls operations but is not one itself.

    Settings that forbid promotion apply to its arguments, which it passes to `promote`, but not to
    the values that it computes from them.
    """

    @functools.wraps(function)
    def in_function(*args: Any, **kwargs: Any) -> Any:
        numbers = number_types.types_in_function()
        if numbers is shaped_array.dialect():
            return function(*args, **kwargs)
        with number_types.set_number_types(numbers):
            return function(*args, **kwargs)

    return evaluated_by_library(in_function)  # type: ignore[return-value]


# Contexts in which operations on known values are computed at once instead of staged.


class CompileTimeTrace(Trace):
    """Evaluates operations without tracers, and leaves the rest to the enclosing traces."""

    transformation = "evaluation at compile time"

    def process(
        self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]
    ) -> list[Any]:
        if any(isinstance(x, Tracer) for x in args):
            return self.leave_to_parent(primitive, args, params)
        return device_trace.process(primitive, args, params)


@reusable_context
def ensure_compile_time_eval() -> Iterator[None]:
    """A context in which operations on known values are computed during tracing.

    So Python can branch on their values.

    >>> import glassjax
    >>> import glassjax.numpy as jnp
    >>> @glassjax.jit
    ... def f(x):
    ...     with ensure_compile_time_eval():
    ...         steps = jnp.arange(3).sum()
    ...         return x + 1 if steps > 2 else x
    >>> f(1)
    Array(2, dtype=int32, weak_type=True)
    """
    if is_evaluating():
        yield
        return
    with CompileTimeTrace().run():
        yield


@reusable_context
def eval_context() -> Iterator[None]:
    """A context without transformations: operations on tracers are errors.

    >>> from glassjax.core import eval_context
    >>> @glassjax.jit
    ... def f(x):
    ...     with eval_context():
    ...         steps = int(jnp.arange(3).sum())
    ...     return x * steps
    >>> f(2)
    Array(6, dtype=int32, weak_type=True)
    """
    with set_interpreter(evaluator):
        yield
