"""Inspection of running programs, under the names of `jax.debug`."""

import builtins
import linecache
import logging
import operator
import string
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from types import CodeType, FrameType
from typing import Any

import numpy as np

import glassjax_stage2 as stage2
from glassjax import xla
from glassjax.callbacks import debug_callback
from glassjax.errors.arguments import checking_arguments
from glassjax.errors.tracebacks import hiding_frames
from glassjax.explaining.step import Prompt, step
from glassjax.primitives.higher_order import declare_opaque, pass_token_on
from glassjax.primitives.methods import DebugEffect, OrderedDebugEffect
from glassjax.runtime.array import Array, to_array
from glassjax.runtime.evaluation import evaluated_by_library
from glassjax.runtime.inspection import PartitionedModule, ShardingCallback
from glassjax.settings.names import list_public_names
from glassjax.shardings.sharding import Sharding, SingleDeviceSharding
from glassjax_stage1.interpreter import leaked_value_error
from glassjax_stage2 import Primitive, ShapedArray, bind, typeof
from glassjax_stage2.arguments import require_function
from glassjax_stage2.vmap import BatchAxis, BatchDim
from glassjax_stage3.lowering import FunctionBuilder, Value, mlir_type

# `debug.callback` and `debug.print`: callbacks that only observe.


@evaluated_by_library
def callback(
    callback: Callable[..., None] | None = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    **kwargs: Any,
) -> Any:
    """Call a Python function with Arrays, even from a compiled program, to inspect them.

    Calls are neither dropped nor repeated, and keep program order. Derivatives ignore it, and it
    gets primals. Under `vmap`, it is called once per example.

    Arguments:
        callback: the function, whose result is ignored. Without it, `callback` returns a decorator.
        args, kwargs: its arguments; values that are not arrays are passed as they are.
        ordered: whether the order matters. Here calls are always in program order.
        partitioned: ignored; there is one device.

    Raises:
        ExecutionError: the function raised an exception, which is the cause. The whole program
            fails.

    >>> seen = []
    >>> @glassjax.jit
    ... def newton(x):
    ...     for _ in range(3):
    ...         x = (x + 2 / x) / 2
    ...         glassjax.debug.callback(lambda x: seen.append(f"{x:.3f}"), x)
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

    Prints are neither dropped nor repeated, and keep program order; under derivatives, it prints
    the primals; under `vmap`, a line for each example.

    Arguments:
        fmt: a format string, as for `str.format`, not an f-string, which would show tracers.
            Without it, `print` returns a function that takes it.
        args, kwargs: the values to format; pytrees of arrays, or anything else.
        ordered: whether the order matters. Here calls are always in program order.
        partitioned: ignored; there is one device.
        skip_format_check: whether to skip checking the format before the program runs.

    Raises:
        IndexError, KeyError: `fmt` has a field without an argument.
        ValueError: `fmt` has no field for an argument.

    >>> import glassjax
    >>> @glassjax.jit
    ... def f(x):
    ...     y = x * x
    ...     print("x = {}, y = {y:.1f}", x, y=y)
    ...     return y
    >>> _ = glassjax.grad(f)(3.0)
    x = 3.0, y = 9.0
    """
    if fmt is None:
        return partial(
            print, ordered=ordered, skip_format_check=skip_format_check, _use_logging=_use_logging
        )
    if not skip_format_check:
        _check.vformat(fmt, args, kwargs)
    write = _log_text if _use_logging else _write_text
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
    """Print values as `print` does, but to the log `glassjax.debug`, at level INFO.

    Arguments:
        fmt: as in `print`.
        args, kwargs: as in `print`.
        ordered, partitioned, skip_format_check: as in `print`.

    Raises:
        IndexError, KeyError, ValueError: as in `print`.

    >>> import logging
    >>> logging.getLogger("glassjax.debug").setLevel(logging.INFO)
    >>> @glassjax.jit
    ... def step(x):
    ...     glassjax.debug.log("x is {}", x)
    ...     return x / 2
    >>> step(3.0)
    Array(1.5, dtype=float32, weak_type=True)
    """
    options = {"ordered": ordered, "partitioned": partitioned, "_use_logging": _use_logging}
    return print(fmt, *args, skip_format_check=skip_format_check, **options, **kwargs)


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


def _write_text(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _log_text(text: str) -> None:
    logging.getLogger("glassjax.debug").info(text)


# `debug.breakpoint`: stop a program to inspect its values.


@evaluated_by_library
def breakpoint(
    *,
    backend: str | None = None,
    filter_frames: bool = True,
    num_frames: int | None = None,
    ordered: bool = False,
    token: Any = None,
    **kwargs: Any,
) -> None:
    r"""Stop here, in a compiled program each time it runs, and prompt for commands.

    Variables hold their current values. `h` lists the commands.

    Arguments:
        backend: None or "cli", the terminal.
        filter_frames: whether to leave out the frames of this library.
        num_frames: how many frames to show, the innermost first; all by default.
        ordered: whether the order matters. Here calls are always in program order.
        token: ignored.
        kwargs: `stdin` and `stdout`, files to use instead of the terminal.

    Raises:
        RuntimeError: there is no terminal.
        ValueError: there is no such backend.

    Without a terminal, commands come from files:

    >>> import io
    >>> commands, answers = io.StringIO("p y\np y + x\nc\n"), io.StringIO()
    >>> @glassjax.jit
    ... def f(x):
    ...     y = x * x
    ...     glassjax.debug.breakpoint(stdin=commands, stdout=answers, num_frames=1)
    ...     return y + 1
    >>> f(3.0)
    Array(10., dtype=float32, weak_type=True)
    >>> answers.getvalue().splitlines()[-3:-1]
    ['(glassjax) Array(9., dtype=float32)', '(glassjax) Array(12., dtype=float32)']
    """
    if backend not in (None, "cli"):
        raise ValueError(f"debug.breakpoint: backend has to be None or 'cli', found {backend!r}")
    stdin, stdout = kwargs.get("stdin"), kwargs.get("stdout")
    if stdin is None and not (sys.stdin is not None and sys.stdin.isatty()):
        raise RuntimeError(
            "debug.breakpoint: there is no terminal to ask what to do; use debug.print, or give "
            "files as stdin and stdout"
        )
    frames = _frames(sys._getframe(1), filter_frames)[:num_frames]
    places = [Place(frame) for frame in frames]
    variables = tuple([stage2.tree_map(_usable, dict(frame.f_locals)) for frame in frames])

    def stop(*values: dict[str, Any]) -> None:
        opened = [stage2.tree_map(lambda x: x.value if type(x) is _Held else x, v) for v in values]
        Debugger(places, opened, stdin, stdout).cmdloop()

    debug_callback(stop, variables, {}, "debug.breakpoint", ordered)


def _frames(frame: FrameType | None, filter_frames: bool) -> list[FrameType]:
    """The frames from this one outwards."""
    frames = []
    while frame is not None:
        package = frame.f_globals.get("__name__", "").partition(".")[0]
        if not filter_frames or not package.startswith("glassjax"):
            frames.append(frame)
        frame = frame.f_back
    return frames


class _Held:
    """A value that is not part of the program."""

    def __init__(self, value: Any):
        self.value = value


def _usable(x: Any) -> Any:
    """A placeholder for a value that the program computes; other values pass through."""
    if isinstance(x, stage2.Tracer) and not x.interpreter.ended:
        return x
    return _Held(x)


class Place:
    """A saved frame: its code, its line, and the names in scope."""

    def __init__(self, frame: FrameType):
        self.code: CodeType = frame.f_code
        self.line = frame.f_lineno
        self.globals = frame.f_globals

    def __str__(self) -> str:
        text = linecache.getline(self.code.co_filename, self.line).strip()
        return f"{self.code.co_filename}({self.line}){self.code.co_name}()\n-> {text}"

    def around(self, count: int = 5) -> str:
        """The source lines around the current line of the frame."""
        lines = []
        for number in range(max(self.line - count, 1), self.line + count + 1):
            text = linecache.getline(self.code.co_filename, number)
            if text:
                mark = "->" if number == self.line else "  "
                lines.append(f"{number:5} {mark} {text.rstrip()}")
        return "\n".join(lines)


class Debugger(Prompt):
    """A prompt that shows the values of variables, frame by frame."""

    prompt = "(glassjax) "

    def __init__(
        self, places: Sequence[Place], variables: Sequence[dict[str, Any]], stdin: Any, stdout: Any
    ):
        super().__init__(stdin, stdout)
        self.places = places
        self.variables = variables
        self.number = 0
        self.say(str(self.places[0]))

    def _value_of(self, expression: str, show: Any) -> None:
        names = self.variables[self.number]
        try:
            value = eval(expression, self.places[self.number].globals, names)
            self.say(show(value))
        except Exception as error:
            self.say(f"*** {type(error).__name__}: {error}")

    def _move(self, step: int, end: str) -> None:
        if not 0 <= self.number + step < len(self.places):
            self.say(f"*** {end} frame")
            return
        self.number += step
        self.say(str(self.places[self.number]))

    def do_p(self, arg: str) -> None:
        """p EXPRESSION: shows its value."""
        self._value_of(arg, repr)

    def do_pp(self, arg: str) -> None:
        """pp EXPRESSION: shows its value, in several lines."""
        from pprint import pformat  # late: importing it takes milliseconds

        self._value_of(arg, pformat)

    def do_u(self, arg: str) -> None:
        """u: goes to the frame that called this one."""
        self._move(1, "Oldest")

    def do_d(self, arg: str) -> None:
        """d: goes to the frame that this one called."""
        self._move(-1, "Newest")

    def do_l(self, arg: str) -> None:
        """l: lists the lines around."""
        self.say(self.places[self.number].around())

    def do_bt(self, arg: str) -> None:
        """bt: lists the frames, the innermost last."""
        for number, place in reversed(list(enumerate(self.places))):
            self.say(f"{'>' if number == self.number else ' '} {place}")

    def do_c(self, arg: str) -> bool:
        """c: goes on."""
        return True

    def do_q(self, arg: str) -> None:
        """q: ends the process."""
        raise SystemExit(0)

    do_up, do_down, do_list, do_w, do_where = do_u, do_d, do_l, do_bt, do_bt
    do_cont, do_continue, do_quit, do_exit = do_c, do_c, do_q, do_q

    def default(self, line: str) -> None:
        self._value_of(line, repr)


# `debug.inspect_array_sharding`: the sharding of an array within a program.


inspect_sharding_p = Primitive("inspect_sharding", higher_order=True)


@evaluated_by_library
def inspect_array_sharding(value: Any, *, callback: ShardingCallback) -> None:
    """Call a function with the sharding of an array; in a program, when it is compiled.

    Arguments:
        value: the array, or a pytree of arrays, with a call for each.
        callback: a function of a sharding, whose result is ignored.

    Raises:
        TypeError: `value` contains something other than arrays, or `callback` is not a function.

    >>> found = []
    >>> @glassjax.jit
    ... def f(x):
    ...     y = x + 1
    ...     glassjax.debug.inspect_array_sharding(y, callback=found.append)
    ...     return 2 * y
    >>> f(1.0), found[0].num_devices
    (Array(4., dtype=float32, weak_type=True), 1)
    """
    require_function("inspect_array_sharding", callback)
    for leaf in stage2.tree_leaves(value):
        typeof(leaf)
        bind(inspect_sharding_p, leaf, callback=callback)


def _inspect_sharding_impl(x: Any, *, callback: ShardingCallback) -> list[Any]:
    x = to_array(x)
    if isinstance(x, stage2.Tracer):
        raise leaked_value_error(x, x.interpreter, x.source)
    callback(x.sharding if isinstance(x, Array) else SingleDeviceSharding(xla.default_device()))
    return []


def _inspect_sharding_lower(
    b: FunctionBuilder, out_avals: Sequence[ShapedArray], x: Value, *, callback: ShardingCallback
) -> list[Value]:
    if not isinstance(b.module, PartitionedModule):
        callback(SingleDeviceSharding(xla.default_device()))
        return []
    address = b.module.inspection(callback, x.aval.ndim)
    (_,) = b.emit(
        f"stablehlo.custom_call @InspectSharding({x.name}) {{backend_config = {address}, "
        f"has_side_effect = true}} : ({mlir_type(x.aval)}) -> {mlir_type(x.aval)}",
        x.aval,
    )
    return []


def _inspect_sharding_vmap(
    axis: BatchAxis, values: Sequence[Any], dims: Sequence[BatchDim], *, callback: ShardingCallback
) -> tuple[list[Any], list[BatchDim]]:
    bind(inspect_sharding_p, *values, callback=callback)  # for all examples at once
    return [], []


declare_opaque(
    inspect_sharding_p,
    evaluate=_inspect_sharding_impl,
    abstract_eval=lambda x, *, callback: [],
    lower=_inspect_sharding_lower,
    vmap=_inspect_sharding_vmap,
    order=pass_token_on,
    effects=True,
)


# Shardings drawn as text: which devices hold which part of an array.


# A function from a number between 0 and 1 to red, green and blue, as in matplotlib.
ColorMap = Callable[[float], tuple[float, ...]]

_BASE_HEIGHT = 10  # the height of a drawing, in lines
_LARGEST_SCALE = 1000
_CHARACTER = 2.5  # the height of a character divided by its width


@hiding_frames
@checking_arguments
def visualize_sharding(
    shape: Sequence[int],
    sharding: Sharding,
    *,
    use_color: bool = True,
    scale: float = 1.0,
    min_width: int = 9,
    max_width: int = 80,
    color_map: ColorMap | None = None,
) -> None:
    """Print a drawing of how an array is sharded over devices.

    Arguments:
        shape: the shape of the array, which has one axis or two.
        sharding: its sharding.
        use_color: whether to color the parts, in a terminal.
        scale: a factor for the size of the drawing.
        min_width: the minimum width of a part with its border, in characters.
        max_width: the maximum width of the drawing, unless its texts need more.
        color_map: a function from a number between 0 and 1 to the red, green and blue of a part.

    Raises:
        TypeError: `sharding` is not a sharding, or another argument not of its type.
        ValueError: the array has no axis or more than two, or is not divisible evenly; `scale` is
            above 1000.

    >>> mesh = glassjax.make_mesh((1,), ("data",))
    >>> where = glassjax.NamedSharding(mesh, glassjax.P("data"))
    >>> glassjax.debug.visualize_sharding((4,), where, use_color=False)
    ┌───────┐
    │ CPU 0 │
    └───────┘
    """
    if not scale <= _LARGEST_SCALE:  # also for NaN
        raise ValueError(
            f"visualize_sharding: scale must be at most {_LARGEST_SCALE}, found {scale}"
        )
    shape = tuple(map(operator.index, shape))
    if len(shape) not in (1, 2):
        raise ValueError(
            f"visualize_sharding: shape must have one or two axes, found {shape}; of an array with "
            "more, draw a slice"
        )
    parts = _devices_of_parts(shape, sharding)
    texts = np.vectorize(_text_of, otypes=[object])(parts)
    lines, columns = parts.shape
    widest = max(len(text) for text in texts.flat)
    if len(shape) == 1:
        width, height = max(min_width - 2, widest), 1
    else:
        whole = min(_BASE_HEIGHT * scale * _CHARACTER * shape[1] / max(shape[0], 1), max_width)
        width = max(int(whole / columns) - 2, min_width - 2, widest)
        height = max(int(_BASE_HEIGHT * scale / lines) - 1, 1)
    colors = _colors(parts, color_map) if use_color and sys.stdout.isatty() else {}
    builtins.print(_drawn(texts, parts, width, height, colors))


@evaluated_by_library
def visualize_array_sharding(arr: Any, **kwargs: Any) -> None:
    """Print a drawing of how an array is sharded over devices; in a program, when it is compiled.

    Arguments:
        arr: the array, with one axis or two.
        kwargs: options of `visualize_sharding`.

    Raises:
        ValueError: the array has no axis or more than two.

    >>> x = glassjax.device_put(np.ones((4, 4)), glassjax.devices()[0])
    >>> glassjax.debug.visualize_array_sharding(x, use_color=False, scale=0.1)
    ┌───────┐
    │ CPU 0 │
    └───────┘
    """
    shape = typeof(arr).shape
    inspect_array_sharding(
        arr, callback=lambda sharding: visualize_sharding(shape, sharding, **kwargs)
    )


def _devices_of_parts(shape: Sequence[int], sharding: Sharding) -> np.ndarray[Any, Any]:
    """The devices of each part, in a matrix of tuples."""
    sharding.shard_shape(tuple(shape))
    counts = (1,) * (2 - len(shape)) + sharding.parts(len(shape))
    parts = np.empty(counts, dtype=object)
    for device, at in sharding.coordinates(len(shape)).items():
        place = (0,) * (2 - len(shape)) + tuple(at)
        parts[place] = (*(parts[place] or ()), device)
    return parts


def _text_of(devices: tuple[Any, ...]) -> str:
    numbers = ",".join(map(str, sorted(device.id for device in devices)))
    return f"{devices[0].platform.upper()} {numbers}"


def _colors(parts: np.ndarray[Any, Any], color_map: ColorMap | None) -> dict[Any, str]:
    """For each part, the escape sequence for its color in a terminal."""
    found = {}
    for number, devices in enumerate(parts.flat):
        share = number / max(parts.size - 1, 1)
        if color_map is None:
            code = f"48;5;{17 + (number * 36) % 214}"
        else:
            rgb = [round(255 * level) for level in color_map(share)[:3]]
            code = "48;2;" + ";".join(map(str, rgb))
        found[devices] = f"\x1b[{code}m"
    return found


def _drawn(
    texts: np.ndarray[Any, Any],
    parts: np.ndarray[Any, Any],
    width: int,
    height: int,
    colors: dict[Any, str],
) -> str:
    columns = texts.shape[1]

    def ruled_line(left: str, between: str, right: str) -> str:
        return left + between.join(["─" * width] * columns) + right

    def line(row: int, is_text: bool) -> str:
        cells = []
        for text, devices in zip(texts[row], parts[row], strict=True):
            cell = (text if is_text else "").center(width)
            color = colors.get(devices)
            cells.append(f"{color}{cell}\x1b[0m" if color else cell)
        return "│" + "│".join(cells) + "│"

    rows = [
        "\n".join(line(row, number == (height - 1) // 2) for number in range(height))
        for row in range(len(texts))
    ]
    inner = f"\n{ruled_line('├', '┼', '┤')}\n".join(rows)
    return f"{ruled_line('┌', '┬', '┐')}\n{inner}\n{ruled_line('└', '┴', '┘')}"


__all__ = [
    "DebugEffect",
    "OrderedDebugEffect",
    "breakpoint",
    "callback",
    "inspect_array_sharding",
    "log",
    "print",
    "step",
    "visualize_array_sharding",
    "visualize_sharding",
]
list_public_names(globals())
