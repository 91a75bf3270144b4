"""Evaluation in the full library: by XLA, into Arrays, with JAX's number types.

The stages evaluate numpy arrays with numpy, in its 64 bits. While a function of this library runs,
another evaluator is at the bottom of the tracer stack, and Python numbers have 32 bits, unless
`enable_x64` is set. Users of a single stage see nothing of this.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from minijax.errors.argument_errors import blame_argument
from minijax.errors.tracebacks import hide_frames
from minijax.runtime import switched_on
from minijax.runtime.array import of_library, some_placed
from minijax.runtime.partitioning import evaluate_jaxpr, evaluate_partitioned
from minijax.runtime.places import places_of
from minijax.runtime.program import call, compile_primitive
from minijax.settings.config import Switch
from minijax.settings.debugging import require_execution
from minijax.settings.number_types import (
    dtype_promotion,
    library_number_types,
    rank_promotion,
    set_number_types,
    types_here,
    types_in_function,
    x64,
)
from minijax.settings.reusable_contexts import reusable_context
from minijax.settings.tracers import adopted, adopted_traces
from minijax_stage1 import current_interpreter, interpreter
from minijax_stage1.interpreter import set_interpreter
from minijax_stage2 import Primitive, impl_rules, shaped_array, tree_map, typeof
from minijax_stage2.shaped_array import Dialect
from minijax_stage2.trace import EvalTrace
from minijax_stage3.jit import jit_p


@reusable_context
def enable_x64(new_val: bool = True) -> Iterator[None]:
    """Set `config.enable_x64` for the block of a `with`, in this thread only.

    Python and numpy numbers keep their 64 bits there, and requested 64-bit dtypes are not narrowed.

    Arguments:
        new_val: whether to enable 64 bits.

    Raises:
        TypeError: it is not a bool.

    >>> import minijax.numpy as jnp
    >>> with enable_x64(True):
    ...     jnp.arange(3.0)
    Array([0., 1., 2.], dtype=float64)
    """
    with x64.override(new_val):
        yield


@reusable_context
def numpy_dtype_promotion(new_val: str) -> Iterator[None]:
    """Set `config.numpy_dtype_promotion`, "standard" or "strict", for the block of a `with`.

    Under "strict" arrays of different dtypes are not promoted; Python numbers, which have no dtype
    of their own, still are.

    Raises:
        ValueError: it is anything else.

    >>> import minijax.numpy as jnp
    >>> with numpy_dtype_promotion("strict"):
    ...     jnp.arange(3) + 1
    Array([1, 2, 3], dtype=int32)
    """
    with dtype_promotion.override(new_val):
        yield


@reusable_context
def numpy_rank_promotion(new_val: str) -> Iterator[None]:
    """Set `config.numpy_rank_promotion`, "allow", "warn" or "raise", for the block of a `with`.

    It controls operands of different ranks: they broadcast as in numpy, with or without a warning,
    or are an error.

    Raises:
        ValueError: it is anything else.

    >>> with minijax.numpy_rank_promotion("raise"):
    ...     try:
    ...         jnp.ones((2, 3)) + jnp.ones(3)
    ...     except ValueError as error:
    ...         print(str(error).partition(", and")[0])
    operands of shapes (2, 3) and (3,) have different numbers of axes
    """
    with rank_promotion.override(new_val):
        yield


# Primitives that are evaluated otherwise than by compiling them.
evaluators: dict[Primitive, Callable[..., list[Any]]] = {}


# --8<-- [start:trace]
class DeviceTrace(EvalTrace):
    """Evaluation on the device: results are Arrays, whatever the operands."""

    def __init__(self) -> None:
        super().__init__()
        self.function_name = "XLA"

    def process(
        self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]
    ) -> list[Any]:
        if Switch.used:
            require_execution(primitive)
        if primitive is jit_p:
            outs = evaluate_jaxpr(params["jaxpr"], f"jit_{params['name']}", args)
        elif primitive.higher_order:
            outs = [of_library(out) for out in impl_rules[primitive](*args, **params)]
        else:
            in_avals = tuple([typeof(x) for x in args])
            if primitive in evaluators:
                outs = evaluators[primitive](*args, **params)
            elif Switch.used or some_placed(args):
                outs = evaluate_partitioned(primitive, args, in_avals, params, places_of(args))
            else:
                outs = call(compile_primitive(primitive, in_avals, params), args)
        if Switch.used:
            switched_on.after_primitive(primitive, args, params, outs)
        return outs


device_trace = DeviceTrace()
evaluate_primitive = device_trace.process


class library_evaluation:
    """A context with this library's evaluator.

    Arguments:
        numbers: the number types; by default those of the running code.
    """

    __slots__ = ("interpreter", "number_types")

    def __init__(self, numbers: Dialect | None = None):
        self.interpreter = set_interpreter(device_trace)
        self.number_types = set_number_types(numbers or types_here())

    def __enter__(self) -> None:
        self.interpreter.__enter__()
        self.number_types.__enter__()

    def __exit__(self, *exception: object) -> None:
        self.number_types.__exit__()
        self.interpreter.__exit__()


# --8<-- [end:trace]

Function = TypeVar("Function", bound=Callable[..., Any])


def evaluated_by_library(function: Function) -> Function:
    """Decorator: this library evaluates the function's primitives, outside of transformations.

    Inside a transformation of this library its evaluator is already at the bottom. The wrapper
    reaches what there is once in a process by modules: cloudpickle copies globals of functions.
    """

    @functools.wraps(function)
    def in_library(*args: Any, **kwargs: Any) -> Any:
        is_inside = current_interpreter() is not interpreter.evaluator
        try:
            if is_inside:
                if shaped_array.dialect() is not shaped_array.numpys_dialect:
                    return function(*args, **kwargs)
                # In a transformation of a stage.
                with set_number_types(library_number_types()), adopted_traces():
                    args, kwargs = tree_map(adopted, (args, kwargs))
                    return function(*args, **kwargs)
            with library_evaluation():
                result = function(*args, **kwargs)
            if Switch.used:
                switched_on.after_function()
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
    wrapper.__wrapped__ = getattr(function, "__wrapped__", function)  # of the user
    return wrapper


def made_of_operations(function: Function) -> Function:
    """Decorator: a function of arrays that calls operations but is not one itself.

    Settings that forbid promotion apply to its arguments, which it passes to `promote`, but not to
    the values that it computes from them.
    """

    @functools.wraps(function)
    def in_function(*args: Any, **kwargs: Any) -> Any:
        numbers = types_in_function()
        if numbers is shaped_array.dialect():
            return function(*args, **kwargs)
        with set_number_types(numbers):
            return function(*args, **kwargs)

    return evaluated_by_library(in_function)  # type: ignore[return-value]
