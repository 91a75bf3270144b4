"""`platform_dependent`: one of several functions, chosen by platform."""

from collections.abc import Callable
from typing import Any

from minijax import xla
from minijax.errors.tracebacks import hiding_frames
from minijax_stage2.shown import shown


@hiding_frames
def platform_dependent(
    *args: Any, default: Callable[..., Any] | None = None, **per_platform: Callable[..., Any]
) -> Any:
    """Call the function for the platform that runs the program.

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
    chosen = per_platform.get(xla.platform(), default)
    if chosen is None:
        raise NotImplementedError(
            f"platform_dependent: there is no function for {xla.platform()!r} among "
            f"{', '.join(map(repr, per_platform)) or 'none'}, and no default"
        )
    return chosen(*args)


__all__ = ["platform_dependent"]
