"""What a program gives, in terms that two libraries share, and whether two of these agree."""

from dataclasses import dataclass
from typing import Any

import numpy as np

# Relative to the largest number of an array: what rounding may do in a few operations.
TOLERANCES = {
    "float64": 1e-10,
    "complex128": 1e-10,
    "float32": 1e-4,
    "complex64": 1e-4,
    "float16": 2e-2,
    "bfloat16": 1e-1,
}


@dataclass
class Leaf:
    """An array or a number, or a type where that is the result."""

    kind: str
    shape: tuple[int, ...]
    dtype: str
    weak: bool | None
    values: np.ndarray | None


@dataclass
class Raised:
    """An error: its class, those that it is one of, and its message."""

    name: str
    bases: list[str]
    message: str


@dataclass(frozen=True)
class Difference:
    """A difference of results: its kind, and what was found and expected."""

    kind: str
    detail: str


def described(library: Any, result: Any) -> Any:
    """Nested containers of leaves."""
    if result is None:
        return None
    if isinstance(result, dict):
        return ("dict", {key: described(library, value) for key, value in result.items()})
    if isinstance(result, tuple | list):
        fields = getattr(result, "_fields", ())
        kind = f"fields {fields}" if fields else type(result).__name__
        return (kind, [described(library, value) for value in result])
    if isinstance(result, library.ShapeDtypeStruct):
        is_key = library.numpy.issubdtype(result.dtype, library.dtypes.prng_key)
        dtype = "key" if is_key else str(result.dtype)
        return Leaf("type", tuple(result.shape), dtype, result.weak_type, None)
    if isinstance(result, library.Array):
        return _of_array(library, result)
    if isinstance(result, np.ndarray | np.generic):
        return Leaf("numpy", result.shape, str(result.dtype), None, np.asarray(result))
    if isinstance(result, str):
        return ("object", repr(result))
    for kind in (bool, int, float, complex):
        if isinstance(result, kind):  # JAX has classes of its own below some of them
            return Leaf(kind.__name__, (), "", None, np.asarray(kind(result)))
    return ("object", type(result).__name__)


def _of_array(library: Any, x: Any) -> Leaf:
    if library.numpy.issubdtype(x.dtype, library.dtypes.prng_key):
        data = np.asarray(library.random.key_data(x))
        return Leaf("array", tuple(x.shape), "key", False, data)
    values = np.asarray(x)
    return Leaf("array", tuple(x.shape), str(x.dtype), x.weak_type, values)


def raised(error: BaseException) -> Raised:
    bases = [cls.__name__ for cls in type(error).__mro__]
    return Raised(type(error).__name__, bases, str(error))


def difference(ours: Any, theirs: Any, path: str = "result") -> Difference | None:
    """The first difference between what glassjax and JAX gave; None if they agree."""
    if isinstance(theirs, Raised) or isinstance(ours, Raised):
        return _of_errors(ours, theirs)
    if isinstance(theirs, Leaf) and isinstance(ours, Leaf):
        return _of_leaves(ours, theirs, path)
    if type(ours) is not type(theirs) or isinstance(ours, Leaf) or ours is None:
        return None if ours is None and theirs is None else _structure(path, ours, theirs)
    if ours[0] != theirs[0]:
        return _structure(path, ours, theirs)
    if ours[0] == "object":
        return None if ours == theirs else _structure(path, ours, theirs)
    ours, theirs = ours[1], theirs[1]
    if len(ours) != len(theirs) or (isinstance(ours, dict) and ours.keys() != theirs.keys()):
        return _structure(path, ours, theirs)
    keys = ours if isinstance(ours, dict) else range(len(ours))
    for key in keys:
        found = difference(ours[key], theirs[key], f"{path}[{key!r}]")
        if found:
            return found
    return None


def _structure(path: str, ours: Any, theirs: Any) -> Difference:
    return Difference("structure", f"{path}: {ours!s:.200}; expected {theirs!s:.200}")


def _of_errors(ours: Any, theirs: Any) -> Difference | None:
    if not isinstance(theirs, Raised):
        return Difference("error", f"{ours.name}: {ours.message:.600}")
    if not isinstance(ours, Raised):
        return Difference("accepted", f"JAX raises {theirs.name}: {theirs.message:.300}")
    # JAX's own errors are other classes, of the same names; a class below JAX's is no difference.
    if theirs.name in ours.bases or ours.name in theirs.bases:
        return None
    detail = f"{ours.name}: {ours.message:.300}; JAX raises {theirs.name}: {theirs.message:.300}"
    return Difference("class", detail)


def _of_leaves(ours: Leaf, theirs: Leaf, path: str) -> Difference | None:
    for kind in ("kind", "shape", "dtype", "weak"):
        found, expected = getattr(ours, kind), getattr(theirs, kind)
        if found != expected:
            return Difference(kind, f"{path}: {kind} {found}; expected {expected}")
    if ours.values is None:
        return None
    if agree(ours.values, theirs.values):
        return None
    detail = f"{path}: {_shown(ours.values)}; expected {_shown(theirs.values)}"
    return Difference("value", detail)


def _shown(values: Any) -> str:
    return f"{values.dtype} {np.array2string(values, threshold=12, precision=9)}"


def agree(ours: Any, theirs: Any) -> bool:
    """Whether two arrays of one type are the same up to rounding."""
    return is_among(ours, [theirs])


def is_among(ours: Any, others: list[Any], scale: float | None = None) -> bool:
    """Whether each number is near what some arrays of its type hold in its place.

    Near is what rounding does to the first of these, eight times what they are apart there, and
    what they are apart in the middle of all places: the noise of a sum may cancel in one. Only
    where one of them is infinite may it be of their size; only where one is NaN may it be NaN.
    Parts of complex numbers are rounded as these are, of which the largest is `scale`.
    """
    if ours.dtype.kind == "c":
        size = np.abs(others[0])
        scale = float(np.max(size, where=np.isfinite(size), initial=0.0))
        return all(
            is_among(getattr(ours, part), [getattr(each, part) for each in others], scale)
            for part in ("real", "imag")
        )
    tolerance = TOLERANCES.get(str(ours.dtype))
    differ = np.any([each != others[0] for each in others], axis=0)
    if tolerance is None and np.any((ours != others[0]) & ~differ):
        return False
    x, *ys = (each.astype(np.float64) for each in (ours, *others))
    finite, infinite = np.isfinite(ys), np.isinf(ys)
    with np.errstate(all="ignore"):
        least = np.min(ys, axis=0, where=finite, initial=np.inf)
        most = np.max(ys, axis=0, where=finite, initial=-np.inf)
        size = np.max(np.abs(ys), axis=0, where=finite, initial=0.0)
        apart = np.where(np.any(finite, axis=0), most - least, 0.0)
        far = 8 * np.where(np.any(infinite, axis=0), size, apart)
        if tolerance is not None:
            if scale is None:
                scale = float(np.max(np.abs(ys[0]), where=finite[0], initial=0.0))
            far = far + tolerance * (scale + 1e-3) + (np.median(apart) if apart.size else 0.0)
        is_near = (least - far <= x) & (x <= most + far)  # False where none is finite
        is_same = np.any((x == ys) | (np.isnan(x) & np.isnan(ys)), axis=0)
    is_infinite = np.isinf(x) & np.any(infinite, axis=0) & np.any(finite, axis=0)
    return bool(np.all(is_near | is_same | is_infinite))


def spread(x: Any, y: Any) -> Any:
    """How far two arrays are apart, element by element; infinite where only one is finite."""
    if x.dtype.kind not in "fcV":
        return np.where(x == y, 0.0, np.inf)
    wide = np.complex128 if x.dtype.kind == "c" else np.float64
    x, y = x.astype(wide), y.astype(wide)
    with np.errstate(all="ignore"):
        apart = np.abs(x - y)
        same = (x == y) | (np.isnan(x) & np.isnan(y))
        return np.where(same, 0.0, np.where(np.isfinite(apart), apart, np.inf))


def leaves(description: Any) -> list[Leaf]:
    if isinstance(description, Leaf):
        return [description]
    if isinstance(description, tuple) and isinstance(description[1], list | dict):
        parts = description[1]
        parts = parts.values() if isinstance(parts, dict) else parts
        return [leaf for part in parts for leaf in leaves(part)]
    return []
