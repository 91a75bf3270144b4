"""Where a function is measured: numbers drawn from its domain, and the edges of the format."""

import itertools

import ml_dtypes
import numpy as np

from fuzzing.ulps.functions import Function

Points = list[np.ndarray]  # one array for each operand


def limits(dtype: str) -> np.finfo:
    return ml_dtypes.finfo(dtype)


def edges(function: Function, dtype: str) -> np.ndarray:
    """Zeros, infinities, the largest and smallest numbers, subnormals, and the special places."""
    about = limits(dtype)
    tiny, largest = float(about.tiny), float(about.max)
    subnormals = [float(about.smallest_subnormal), tiny * 0.09, tiny * 0.5]
    sizes = [
        0.0,
        tiny,
        largest,
        *subnormals,
        np.inf,
        largest * 0.6,
        1.0,
        2.0,
        *map(abs, function.near),
    ]
    near = [*function.near]
    numbers = dict.fromkeys([*sizes, *(-s for s in sizes if s), *near, np.nan])
    with np.errstate(over="ignore"):
        return np.array([*numbers, -0.0]).astype(dtype)


def at_edges(function: Function, dtype: str, most: int, rng: np.random.Generator) -> Points:
    """All edges; of several operands their combinations, or a draw from these."""
    each = [
        np.arange(0, 6, dtype=dtype) if i in function.whole else edges(function, dtype)
        for i in range(function.operands)
    ]
    combinations = list(itertools.product(*each))
    if len(combinations) > most:
        chosen = rng.choice(len(combinations), most, replace=False)
        combinations = [combinations[i] for i in chosen]
    return _that_end(
        function, [np.array(column, dtype) for column in zip(*combinations, strict=True)]
    )


def inside(function: Function, dtype: str, count: int, rng: np.random.Generator) -> Points:
    """Normal numbers: over the domain, over all magnitudes, and around the special places."""
    operands = [_drawn(function, i, dtype, count, rng) for i in range(function.operands)]
    if function.operands == 2 and not function.whole:  # where operands nearly meet
        together = rng.random(count) < 0.15
        shift = 1 + 2.0 ** -rng.uniform(0, limits(dtype).nmant + 1, count) * rng.choice(
            [-1, 1], count
        )
        operands[1] = np.where(together, operands[0] * shift, operands[1])
    with np.errstate(over="ignore"):
        numbers = [x.astype(dtype) for x in operands]
    is_normal = np.ones(count, bool)
    for i, x in enumerate(numbers):
        size = np.abs(x.astype(np.float64))
        about = limits(dtype)
        is_normal &= (size >= float(about.tiny)) & (size <= float(about.max)) | (
            i in function.whole
        )
    return _that_end(function, [x[is_normal] for x in numbers])


def _that_end(function: Function, numbers: Points) -> Points:
    sizes = [x.astype(np.float64) for x in numbers]
    is_endless = np.all([(x > function.endless) & np.isfinite(x) for x in sizes], 0)
    return [x[~is_endless] for x in numbers]


def _drawn(
    function: Function, operand: int, dtype: str, count: int, rng: np.random.Generator
) -> np.ndarray:
    about = limits(dtype)
    low, high = function.domain[min(operand, len(function.domain) - 1)]
    if operand in function.whole:
        return rng.integers(int(low), int(high) + 1, count).astype(np.float64)
    over_domain = rng.uniform(low, high, count)
    signs = rng.choice([-1.0, 1.0], count) if low < 0 else np.ones(count)
    over_magnitudes = signs * 2.0 ** rng.uniform(about.minexp, about.maxexp - 1e-3, count)
    sizes = signs * max(abs(low), abs(high)) * 2.0 ** -rng.uniform(0, 12, count)
    halves = np.round(over_domain * 2) / 2
    places = np.array(function.near or (0.0,))
    place = rng.choice(places, count)
    distance = 2.0 ** -rng.uniform(1, about.nmant + 2, count) * rng.choice([-1, 1], count)
    around = np.where(place == 0, distance, place * (1 + distance))
    shares = rng.random(count)
    bounds = [0.35, 0.6, 0.7, 0.75]
    choices = [over_domain, over_magnitudes, sizes, halves, around]
    return np.choose(np.searchsorted(bounds, shares), choices)
