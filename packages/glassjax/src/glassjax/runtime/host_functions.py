"""Python functions in the text of a program, referred to by numbers."""

import itertools
import re
from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakValueDictionary

from glassjax import xla
from glassjax.runtime.inspection import PartitionedModule
from glassjax.runtime.lowering import Module, everywhere, on_each_device, on_first_device
from glassjax_stage2 import ShapedArray
from glassjax_stage3.lowering import FunctionBuilder, Value, signature


class NumberedFunction:
    """A function of numpy arrays that returns a tuple of them, and its number.

    Numbers are never reused in a process.
    """

    def __init__(self, function: Callable[..., tuple[Any, ...]]):
        self.function = function
        self.number = next(_numbers)
        _functions[self.number] = self

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        return self.function(*arrays)


_numbers = itertools.count()
_functions: "WeakValueDictionary[int, NumberedFunction]" = WeakValueDictionary()
_NUMBER = re.compile(r"(?<=\{index = )\d+(?= : ui64\})")


def call_text(
    b: FunctionBuilder,
    function: NumberedFunction,
    operands: Sequence[Value],
    out_avals: Sequence[ShapedArray],
    has_effects: bool,
) -> list[Value]:
    """Write a call of a function.

    In a program for several devices the first device calls it; inside `shard_map`, each device.

    Raises:
        TypeError: it is the program of a stage's `jit`.
    """
    if not isinstance(b.module, Module):
        raise TypeError(
            "the `jit` of a stage calls no Python functions, as callbacks and debug.print do; use "
            "glassjax.jit"
        )
    names = ", ".join(x.name for x in operands)
    is_on_first = isinstance(b.module, PartitionedModule) and not on_each_device.get()
    where = f", sdy.sharding = {on_first_device(b.module, len(out_avals))}" if is_on_first else ""
    outs = b.emit(
        f"stablehlo.custom_call @{xla.call_target(b.module.platform)}({names}) "
        f"{{api_version = 4 : i32, has_side_effect = {str(has_effects).lower()}, "
        f"backend_config = {{index = {function.number} : ui64}}, "
        f"operand_layouts = [{_layouts([x.aval for x in operands])}], "
        f"result_layouts = [{_layouts(out_avals)}]{where}}} : {signature(operands, out_avals)}",
        *out_avals,
    )
    # only the first device has the results, and all may need them
    return [everywhere(b, out) for out in outs] if is_on_first else outs


def _layouts(avals: Sequence[ShapedArray]) -> str:
    """Row-major layouts, as in numpy: the axis that varies fastest comes first."""
    orders = [str(list(range(aval.ndim))[::-1]) if aval.ndim else "" for aval in avals]
    return ", ".join(
        f"dense<{order}> : tensor<{aval.ndim}xindex>"
        for order, aval in zip(orders, avals, strict=True)
    )


def functions_called(text: str) -> tuple[list[NumberedFunction], str]:
    """The functions that a program calls, and its text with their positions in that list.

    Raises:
        RuntimeError: a function no longer exists.
    """
    numbers = sorted({int(number) for number in _NUMBER.findall(text)})
    functions = [_functions.get(number) for number in numbers]
    if None in functions:
        raise RuntimeError("a Python function that the program calls is gone; trace it again")
    # Numbers differ from process to process, and the text is part of the key of the cache on disk.
    places = {str(number): str(place) for place, number in enumerate(numbers)}
    return [f for f in functions if f is not None], _NUMBER.sub(lambda m: places[m[0]], text)
