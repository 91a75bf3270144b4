"""Errors in units in the last place, ours and JAX's at the same points."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.nn
import jax.scipy.special
import numpy as np

import glassjax
import glassjax.scipy.special
from fuzzing.ulps.exact import Exactly
from fuzzing.ulps.functions import Function
from fuzzing.ulps.points import Points, at_edges, inside, limits


def allowed(theirs: Any) -> Any:
    """How large our error may be where JAX's is this: one of a sample is as large by chance."""
    return theirs + np.maximum(2.0, theirs / 4)


@dataclass(frozen=True)
class Line:
    """One line of the table.

    Arguments:
        name, dtype: what was measured: the function, and by which operands the derivative.
        count: how many points have an exact value.
        ours, theirs: the largest errors at normal numbers.
        excess: by how much our error is larger than the largest of JAX's around the same point.
        worst: the point of the largest excess.
        found, expected, exact: our number there, JAX's, and the exact one.
        edges: the points at an edge where ours is worse: point, ours, JAX's, exact.
        note: that the results differ in dtype, or in that there is one.
    """

    name: str
    dtype: str
    count: int
    ours: float = 0.0
    theirs: float = 0.0
    excess: float = 0.0
    worst: tuple[float, ...] = ()
    found: float = np.nan
    expected: float = np.nan
    exact: float = np.nan
    edges: tuple[tuple[tuple[float, ...], float, float, float], ...] = ()
    note: str = ""

    @property
    def is_good(self) -> bool:
        return bool(self.ours <= allowed(self.theirs)) and not self.edges and not self.note


Computed = np.ndarray | Exception


def compute(library: Any, function: Function, by: Sequence[int], points: Points) -> Computed:
    """What a library makes of the derivative at all points, jitted; or its refusal."""
    place = library
    for part in function.path.split("."):
        place = getattr(place, part)

    def of(*args: Any) -> Any:
        out = place(*args, **dict(function.keywords))
        return out if function.pick is None else out[function.pick]

    derivative = of
    for operand in by:
        derivative = _slope(library, derivative, operand)
    try:
        return np.asarray(library.jit(derivative)(*points))
    except Exception as error:  # of which there is a line in the table
        return error


def _slope(library: Any, of: Any, operand: int) -> Any:
    return library.grad(lambda *args: of(*args).sum(), operand)


def errors(computed: np.ndarray, high: np.ndarray, low: np.ndarray, dtype: str) -> np.ndarray:
    """Distances from the exact values, in units in the last place of these.

    What is smaller than the smallest normal number may be computed as zero, and infinity stands
    for the number that follows the largest.
    """
    about = limits(dtype)
    largest, tiny = float(about.max), float(about.tiny)
    ulp_of_largest = 2.0 ** (about.maxexp - 1 - about.nmant)
    with np.errstate(all="ignore"):
        size = np.clip(np.abs(high), tiny, largest)
        ulp = np.ldexp(float(about.eps), np.frexp(size)[1] - 1)
        # Beyond the largest number all are one; everything is scaled so that it is finite.
        scaled = (computed / ulp - high / ulp) - low / ulp
        after = largest / ulp_of_largest + 1
        out = np.abs(scaled)
        both_large = (np.abs(high) > largest) & (np.abs(computed) >= largest)
        out = np.where(both_large & (np.sign(high) == np.sign(computed)), 0.0, out)
        is_inf = np.isinf(computed) & (np.abs(high) <= largest)
        from_inf = np.where(
            np.sign(computed) == np.sign(high), after - np.abs(high) / ulp_of_largest, np.inf
        )
        out = np.where(is_inf, from_inf * ulp_of_largest / ulp, out)
        beyond = (np.abs(high) > largest) & ~both_large
        short = np.where(
            np.isnan(computed), np.inf, after - np.sign(high) * computed / ulp_of_largest
        )
        out = np.where(beyond, short, out)
        is_small = (np.abs(high) <= tiny) & (np.abs(computed) <= tiny)
        out = np.where(is_small, 0.0, out)
        return np.where(np.isnan(computed), np.inf, out)


def measure(
    function: Function,
    by: tuple[int, ...],
    dtype: str,
    *,
    count: int,
    seed: int,
    seconds: float,
    cache: Path | None,
) -> Line:
    name = function.name + "".join(f" d{i}" for i in by)
    rng = np.random.default_rng([seed, *function.name.encode(), *dtype.encode()])
    edge, normal = at_edges(function, dtype, count // 4, rng), inside(function, dtype, count, rng)
    exactly = Exactly(function, by, dtype, cache)
    points = [np.concatenate(pair) for pair in zip(edge, normal, strict=True)]
    high, low, was_reached = exactly.at(points, seconds)
    exactly.keep()
    ours, theirs = (compute(library, function, by, points) for library in (glassjax, jax))
    kinds = [type(x) if isinstance(x, Exception) else x.dtype for x in (ours, theirs)]
    if isinstance(ours, Exception) or isinstance(theirs, Exception) or kinds[0] != kinds[1]:
        # What JAX refuses, a derivative or floats of 16 bits, it has no error for.
        is_extra = isinstance(theirs, Exception) and not isinstance(ours, Exception)
        same = kinds[0] == kinds[1] or is_extra
        note = "" if same else f"gives {kinds[0]}, JAX {kinds[1]}"
        return Line(name, dtype, 0, note=note)
    ours, theirs = ours.astype(np.float64), theirs.astype(np.float64)
    ours_off, theirs_off = (errors(x, high, low, dtype) for x in (ours, theirs))
    args = np.stack([x.astype(np.float64) for x in points], 1)
    # What is drawn as an edge may be a number like others: a zero of the function, say.
    size, about = np.abs(args), limits(dtype)
    is_plain = ((size > float(about.tiny)) & (size < float(about.max) / 4)).all(1)
    is_edge = (np.arange(len(high)) < len(edge[0])) & ~(is_plain & ~np.isnan(high))
    known = ~np.isnan(high) & ~is_edge
    # Where a subnormal number is taken for zero, nobody says what is right but an exact value.
    is_subnormal = ((size > 0) & (size < float(about.tiny))).any(1)
    is_judged = is_edge & was_reached & ~(is_subnormal & np.isnan(high))
    if by:  # nor what slope a function has where it is not a number
        is_judged &= ~np.isnan(np.asarray(compute(jax, function, (), points), np.float64))
    bad = _bad_edges(ours, theirs, ours_off, theirs_off, high, is_judged, dtype)
    rows = tuple((tuple(args[i]), ours[i], theirs[i], high[i]) for i in np.flatnonzero(bad))
    if not known.any():
        return Line(name, dtype, 0, edges=rows)
    excess = np.where(known, ours_off - _around(theirs_off, args, known), -np.inf)
    worst = int(np.nanargmax(excess))
    return Line(
        name, dtype, int(known.sum()),
        float(ours_off[known].max()), float(theirs_off[known].max()), float(excess[worst]),
        tuple(args[worst]), ours[worst], theirs[worst], high[worst], rows,
    )  # fmt: skip


def _around(off: np.ndarray, args: np.ndarray, known: np.ndarray, width: int = 16) -> np.ndarray:
    """The largest of the errors at the points around each: a neighbourhood by the last operand."""
    order = np.flatnonzero(known)[np.argsort(args[known, -1], kind="stable")]
    sorted_ = off[order]
    padded = np.pad(sorted_, width, constant_values=0.0)
    windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * width + 1)
    out = np.zeros_like(off)
    with np.errstate(invalid="ignore"):
        out[order] = np.minimum(windows.max(1), 1e300)
    return out


def _bad_edges(
    ours: np.ndarray,
    theirs: np.ndarray,
    ours_off: np.ndarray,
    theirs_off: np.ndarray,
    high: np.ndarray,
    is_edge: np.ndarray,
    dtype: str,
) -> np.ndarray:
    """Where ours is neither as near as JAX's, nor JAX's number itself, if that is one."""
    has_exact, has_none = ~np.isnan(high), np.isnan(theirs)
    off = errors(ours, np.where(has_none, 0, theirs), np.zeros_like(ours), dtype)
    same = (off <= 2) & ~has_none | has_none & (np.isnan(ours) | ~has_exact)
    with np.errstate(invalid="ignore"):
        is_near = has_exact & (ours_off <= allowed(theirs_off))
    return is_edge & ~same & ~is_near
