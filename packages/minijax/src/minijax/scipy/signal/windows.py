"""The windows of `minijax.scipy.signal` by name, periodic as in scipy.

Such a window is periodic: its last sample would be the first of the next period, and is left out.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from minijax.runtime.conversion import is_value
from minijax_stage2 import typeof
from minijax_stage2.errors import shown

Numbers = np.ndarray[Any, Any]
_COSINES = {  # the factors of cos(0), -cos(x), cos(2 x), ..., where x goes through one period
    "boxcar": (1.0,),
    "hann": (0.5, 0.5),
    "hamming": (0.54, 0.46),
    "blackman": (0.42, 0.5, 0.08),
    "nuttall": (0.3635819, 0.4891775, 0.1365995, 0.0106411),
    "blackmanharris": (0.35875, 0.48829, 0.14128, 0.01168),
    "flattop": (0.21557895, 0.41663158, 0.277263158, 0.083578947, 0.006947368),
}


def _of_cosines(factors: tuple[float, ...], size: int) -> Numbers:
    x = 2 * math.pi / size * np.arange(size)
    terms = [(-1) ** k * factor * np.cos(k * x) for k, factor in enumerate(factors)]
    total: Numbers = np.sum(terms, axis=0)
    return total


def _bartlett(from_middle: Numbers, size: int) -> Numbers:
    return 1 - abs(from_middle) / (size / 2)


def _triang(from_middle: Numbers, size: int) -> Numbers:
    return 1 - abs(from_middle) / ((size + 2) // 2 if size % 2 == 0 else (size + 1) / 2)


def _cosine(from_middle: Numbers, size: int) -> Numbers:
    return np.cos(math.pi / (size + 1) * from_middle)


def _gaussian(from_middle: Numbers, size: int, std: float) -> Numbers:
    return np.exp(-0.5 * (from_middle / std) ** 2)


def _kaiser(from_middle: Numbers, size: int, beta: float) -> Numbers:
    inside = np.sqrt(np.maximum(0, 1 - (from_middle / (size / 2)) ** 2))
    weights: Numbers = np.i0(beta * inside) / np.i0(np.array(beta))
    return weights


def _tukey(from_middle: Numbers, size: int, alpha: float = 0.5) -> Numbers:
    from_end = size / 2 - abs(from_middle)
    slope = np.minimum(1, from_end / (alpha * size / 2)) if alpha > 0 else np.ones(size)
    return 0.5 * (1 - np.cos(math.pi * slope))


# Functions of the distance from the middle, of the number of samples, and of parameters.
_FUNCTIONS: dict[str, Callable[..., Numbers]] = {
    "bartlett": _bartlett,
    "triang": _triang,
    "cosine": _cosine,
    "gaussian": _gaussian,
    "kaiser": _kaiser,
    "tukey": _tukey,
}


def window_of(caller: str, window: Any, size: int | None, longest: int) -> Any:
    """The samples of a window, given by name or as an array.

    Arguments:
        caller: the function that an error names.
        window: a name, a pair or longer tuple of a name and parameters, or an array.
        size: its size; by default that of the array, or 256.
        longest: the maximum size of a window given by name.

    Raises:
        ValueError: there is no such window, or it has another size.
    """
    if isinstance(window, str | tuple):
        return _by_name(caller, window, min(256 if size is None else size, longest))
    if not is_value(window):
        raise ValueError(
            f"{caller}: window must be a name, a tuple of a name and parameters, or an array; "
            f"found {shown(window)}"
        )
    shape = typeof(window).shape
    if len(shape) != 1:
        raise ValueError(f"{caller}: a window has one axis, found {typeof(window)}")
    if size not in (None, shape[0]):
        raise ValueError(f"{caller}: nperseg is {size}, but the window has {shape[0]} numbers")
    if shape[0] > longest:
        raise ValueError(
            f"{caller}: the window has {shape[0]} numbers, but the signal only {longest}"
        )
    return window


def _by_name(caller: str, window: str | tuple[Any, ...], size: int) -> Numbers:
    name, *parameters = (window,) if isinstance(window, str) else window
    if size == 1 and (name in _COSINES or name in _FUNCTIONS):
        return np.ones(1)
    try:
        if name in _COSINES:
            return _of_cosines(_COSINES[name], size, *parameters)
        return _FUNCTIONS[name](np.arange(size) - size / 2, size, *parameters)
    except KeyError:
        names = ", ".join(map(repr, (*_COSINES, *_FUNCTIONS)))
        raise ValueError(
            f"{caller}: there is no window {shown(name)}; there are {names}. Any other window can "
            "be given as an array"
        ) from None
    except TypeError:
        raise ValueError(
            f"{caller}: the window {name!r} takes other parameters than {tuple(parameters)}"
        ) from None
