"""`platform_dependent`: one of several functions, chosen by platform."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minijax import xla
from minijax.errors.tracebacks import hiding_frames
from minijax.lax.control_flow.cond import choose
from minijax.primitives.declare import declare
from minijax.runtime.conversion import tree_to_arrays
from minijax.runtime.lowering import Function, platform_of
from minijax.runtime.places import default_placement
from minijax_stage2 import Primitive, ShapedArray, Tracer, bind1, impl_rules
from minijax_stage2.errors import shown
from minijax_stage3.lowering import FunctionBuilder, Value

platform_index_p = Primitive("platform_index")

_INDEX = ShapedArray((), np.int32)


@hiding_frames
def platform_dependent(
    *args: Any, default: Callable[..., Any] | None = None, **per_platform: Callable[..., Any]
) -> Any:
    """Call the function for the platform that runs the program.

    All of them are traced, and return results of the same structure and types; only the one chosen
    is compiled. Outside of `jit` it alone is called.

    Arguments:
        args: the arguments of the function.
        default: the function for all other platforms.
        per_platform: functions by platform: "cpu", "cuda", "rocm", "tpu".

    Raises:
        TypeError: one of them is not a function.
        ValueError: a platform is "gpu", which may mean "cuda" or "rocm".
        NotImplementedError: there is no function for this platform, and no default.

    >>> platform_dependent(3, cpu=lambda x: x + 1, default=lambda x: x)
    4
    """
    named = {**per_platform, **({} if default is None else {"default": default})}
    for name, function in named.items():
        if not callable(function):
            raise TypeError(
                f"platform_dependent: {name} must be a function, found {shown(function)}"
            )
    if "gpu" in per_platform:
        raise ValueError("platform_dependent: say 'cuda' or 'rocm' in place of 'gpu'")
    index = bind1(platform_index_p, platforms=tuple(per_platform), others=default is not None)
    functions = list(named.values())
    if not isinstance(index, Tracer):
        return functions[int(index)](*args)
    return choose("platform_dependent", index, functions, tree_to_arrays(args))


def _number(platform: str, platforms: Sequence[str], others: bool) -> int:
    """The number of the function for a platform."""
    if platform in platforms:
        return platforms.index(platform)
    if others:
        return len(platforms)
    raise NotImplementedError(
        f"platform_dependent: there is no function for {platform!r} among "
        f"{', '.join(map(repr, platforms)) or 'none'}, and no default"
    )


def _evaluate(*, platforms: Sequence[str], others: bool) -> list[Any]:
    default = default_placement()
    devices = () if default is None else default.sharding.device_tuple
    return [np.int32(_number(xla.platform_of(devices), platforms, others))]


def _lower(
    b: FunctionBuilder, out_avals: Sequence[ShapedArray], *, platforms: Sequence[str], others: bool
) -> list[Value]:
    number = _number(platform_of(b), platforms, others)
    index = b.constant(number, _INDEX)
    if isinstance(b, Function):
        b.known[index.name] = number
    return [index]


declare(platform_index_p, abstract_eval=lambda **params: [_INDEX], lower=_lower)
impl_rules[platform_index_p] = _evaluate

__all__ = ["platform_dependent"]
