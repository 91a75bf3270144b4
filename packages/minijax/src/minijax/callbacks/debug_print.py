"""`debug.callback` and `debug.print`: callbacks that only observe."""

import logging
import string
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from minijax.callbacks.io_callback import debug_callback
from minijax.runtime.evaluation import evaluated_by_library


@evaluated_by_library
def callback(
    callback: Callable[..., None] | None = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    **kwargs: Any,
) -> Any:
    """Call a Python function with Arrays, even from a compiled program, to inspect them.

    It is called as often as the program says, and in program order. Derivatives ignore it: it gets
    primals. Under `vmap`, it is called once per example.

    Arguments:
        callback: the function, whose result is ignored. Without it, `callback` returns a decorator.
        args, kwargs: its arguments; values that are not arrays are passed as they are.
        ordered: whether the order matters. Here calls are always in program order.
        partitioned: of no effect; there is one device.

    Raises:
        ExecutionError: the function raised an exception, which is the cause. The whole program
            fails.

    >>> seen = []
    >>> @minijax.jit
    ... def newton(x):
    ...     for _ in range(3):
    ...         x = (x + 2 / x) / 2
    ...         minijax.debug.callback(lambda x: seen.append(f"{x:.3f}"), x)
    ...     return x
    >>> root = newton(2.0)
    >>> seen
    ['1.500', '1.417', '1.414']
    """
    if callback is None:
        return partial(_calling, ordered=ordered)
    debug_callback(callback, args, kwargs, "debug.callback", ordered)
    return None


def _calling(function: Callable[..., None], *, ordered: bool) -> Callable[..., None]:
    return partial(callback, function, ordered=ordered)


@evaluated_by_library
def print(
    fmt: str | None = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    skip_format_check: bool = False,
    _use_logging: bool = False,
    **kwargs: Any,
) -> Any:
    """Print values, in a compiled program each time it runs.

    It prints as often as the program says, and in program order: under derivatives, the primals;
    under `vmap`, a line for each example.

    Arguments:
        fmt: a format string, as for `str.format`, not an f-string, which would show tracers.
            Without it, `print` returns a function that takes it.
        args, kwargs: the values to format; pytrees of arrays, or anything else.
        ordered: whether the order matters. Here calls are always in program order.
        partitioned: of no effect; there is one device.
        skip_format_check: whether to skip checking the format before the program runs.

    Raises:
        IndexError, KeyError: `fmt` has a field without an argument.
        ValueError: `fmt` has no field for an argument.

    >>> import minijax
    >>> @minijax.jit
    ... def f(x):
    ...     y = x * x
    ...     print("x = {}, y = {y:.1f}", x, y=y)
    ...     return y
    >>> _ = minijax.grad(f)(3.0)
    x = 3.0, y = 9.0
    """
    if fmt is None:
        return partial(
            print, ordered=ordered, skip_format_check=skip_format_check, _use_logging=_use_logging
        )
    if not skip_format_check:
        _check.vformat(fmt, args, kwargs)
    write = _log if _use_logging else _write
    debug_callback(Printer(write, fmt), args, kwargs, "debug.print", ordered)
    return None


def log(
    fmt: str | None = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    skip_format_check: bool = False,
    _use_logging: bool = True,
    **kwargs: Any,
) -> Any:
    """Print values as `print` does, but to the log `minijax.debug`, at level INFO.

    >>> import logging
    >>> logging.getLogger("minijax.debug").setLevel(logging.INFO)
    >>> @minijax.jit
    ... def step(x):
    ...     minijax.debug.log("x is {}", x)
    ...     return x / 2
    >>> step(3.0)
    Array(1.5, dtype=float32, weak_type=True)
    """
    how = {"ordered": ordered, "partitioned": partitioned, "_use_logging": _use_logging}
    return print(fmt, *args, skip_format_check=skip_format_check, **how, **kwargs)


class _Check(string.Formatter):
    """A formatter that only detects missing and unused arguments."""

    def format_field(self, value: Any, format_spec: str) -> str:
        return ""

    def convert_field(self, value: Any, conversion: str | None) -> Any:
        return value

    def get_field(self, field_name: str, args: Any, kwargs: Any) -> Any:
        first = field_name.partition(".")[0].partition("[")[0]
        key = int(first) if first.isdigit() else first
        return self.get_value(key, args, kwargs), key

    def check_unused_args(self, used_args: Any, args: Any, kwargs: Any) -> None:
        unused = [repr(i) for i in range(len(args)) if i not in used_args]
        unused += [repr(name) for name in kwargs if name not in used_args]
        if unused:
            raise ValueError(
                f"debug.print: the format has no place for argument {', '.join(unused)}. It is "
                'not to be an f-string, f"{x}": write "{x}", and pass x=x'
            )


_check = _Check()


@dataclass(frozen=True)
class Printer:
    """A callback that prints; equal formats give equal callbacks, and so equal programs."""

    write: Callable[[str], None]
    fmt: str

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        self.write(self.fmt.format(*args, **kwargs))


def _write(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _log(text: str) -> None:
    logging.getLogger("minijax.debug").info(text)


__all__ = ["callback", "log", "print"]
