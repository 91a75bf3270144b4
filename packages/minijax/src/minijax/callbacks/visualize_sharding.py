"""Shardings drawn as text: which devices hold which part of an array."""

import operator
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minijax.callbacks.inspect_sharding import inspect_array_sharding
from minijax.errors.argument_errors import checking_arguments
from minijax.errors.tracebacks import hiding_frames
from minijax.runtime.evaluation import evaluated_by_library
from minijax.shardings.sharding import Sharding
from minijax_stage2 import typeof

# A function from a number between 0 and 1 to red, green, blue and maybe more, as matplotlib's.
ColorMap = Callable[[float], tuple[float, ...]]

_BASE_HEIGHT = 10  # of a drawing, in lines
_LARGEST_SCALE = 1000
_CHARACTER = 2.5  # the height of a character, in widths of it


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
    """Print a drawing of how an array is divided among devices.

    Arguments:
        shape: the shape of the array, which has one axis or two.
        sharding: its sharding.
        use_color: whether to color the parts, in a terminal.
        scale: what to multiply the size of the drawing by.
        min_width: the least width of a part with its lines, in characters.
        max_width: the greatest width of the drawing, unless its texts need more.
        color_map: a function from a number between 0 and 1 to the red, green and blue of a part.

    Raises:
        TypeError: `sharding` is not a sharding, or another argument not of its type.
        ValueError: the array has no axis or more than two, or is not divided evenly; `scale` is
            above 1000.

    >>> mesh = minijax.make_mesh((1,), ("data",))
    >>> where = minijax.NamedSharding(mesh, minijax.P("data"))
    >>> minijax.debug.visualize_sharding((4,), where, use_color=False)
    ┌───────┐
    │ CPU 0 │
    └───────┘
    """
    if not scale <= _LARGEST_SCALE:  # NaN, too
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
    print(_drawn(texts, parts, width, height, colors))


@evaluated_by_library
def visualize_array_sharding(arr: Any, **kwargs: Any) -> None:
    """Print a drawing of how an array is divided among devices; in a program, when it is compiled.

    Arguments:
        arr: the array, with one axis or two.
        kwargs: options of `visualize_sharding`.

    Raises:
        ValueError: the array has no axis or more than two.

    >>> x = minijax.device_put(np.ones((4, 4)), minijax.devices()[0])
    >>> minijax.debug.visualize_array_sharding(x, use_color=False, scale=0.1)
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
    """For each part the sequence of characters that has a terminal color what follows."""
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

    def rule(left: str, between: str, right: str) -> str:
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
    inner = f"\n{rule('├', '┼', '┤')}\n".join(rows)
    return f"{rule('┌', '┬', '┐')}\n{inner}\n{rule('└', '┴', '┘')}"


__all__ = ["visualize_array_sharding", "visualize_sharding"]
