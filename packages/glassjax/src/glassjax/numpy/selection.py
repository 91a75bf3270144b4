"""Elements selected by conditions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import glassjax_stage2 as stage2
from glassjax import lax
from glassjax.dimensions.expressions import is_symbolic_dim
from glassjax.errors import ConcretizationTypeError
from glassjax.errors.tracebacks import hiding_frames
from glassjax.lax.gathering import as_index, remainder
from glassjax.numpy import cases, shapes
from glassjax.numpy.creation import asarray
from glassjax.numpy.dtypes import cast_into, default_int, warn_if_lossy
from glassjax.numpy.elementwise import truth
from glassjax.numpy.indexing import known_value, why_unknown
from glassjax.numpy.taking import require_out_of_place, take, take_along_axis, unravel_index
from glassjax.runtime.array import Array, ArrayLike, array, require_no_out
from glassjax.runtime.evaluation import evaluated_by_library
from glassjax.runtime.nesting import written_in_jax
from glassjax.runtime.operation import operation
from glassjax.settings.number_types import letter_of, promote, result_type
from glassjax_stage2 import ShapedArray, typeof
from glassjax_stage2.errors import shown
from glassjax_stage2.functions import canonical_axes, canonical_axis
from glassjax_stage2.promotion import cast
from glassjax_stage2.shaped_array import typeof_named


def where(
    condition: Any,
    x: Any = None,
    y: Any = None,
    /,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """`x` where `condition` is true, else `y`, element by element; alone, the indices of true ones.

    Arguments:
        condition: booleans; numbers are true unless they are zero.
        x: the values where it is true.
        y: the values elsewhere.
        size, fill_value: without `x` and `y`, as for `nonzero`.

    Raises:
        ValueError: only one of `x` and `y` is given, or `size` in addition to them.

    >>> x = jnp.array([-1.0, 4.0])
    >>> jnp.where(x > 0, x, 0.0)
    Array([0., 4.], dtype=float32)
    >>> jnp.where(x > 0)
    (Array([1], dtype=int32),)
    """
    if x is None and y is None:
        return nonzero(condition, size=size, fill_value=fill_value)
    if x is None or y is None:
        raise ValueError("where: give both x and y, or neither of them")
    if size is not None or fill_value is not None:
        raise ValueError("where: size and fill_value are for indices, and not given with x and y")
    return cases.where(condition, x, y)


@evaluated_by_library
def nonzero(a: ArrayLike, *, size: int | None = None, fill_value: Any = None) -> tuple[Array, ...]:
    """The indices of the nonzero elements of `a`, an array for each axis.

    Arguments:
        a: the array.
        size: the number of indices, required if `a` is traced. Further ones are dropped.
        fill_value: the number that pads to `size`, or one for each axis; 0 by default.

    Raises:
        ConcretizationTypeError: `a` is traced, and `size` not given.

    >>> rows, columns = jnp.nonzero(jnp.array([[0, 7], [3, 0]]))
    >>> rows, columns
    (Array([0, 1], dtype=int32), Array([1, 0], dtype=int32))
    >>> jnp.nonzero(jnp.array([0, 7, 3]), size=4, fill_value=-1)
    (Array([ 1,  2, -1, -1], dtype=int32),)
    """
    known = known_value(a)
    if size is None and known is None:
        raise ConcretizationTypeError(
            "nonzero: how many elements are not zero decides a shape, so the array must be known "
            f"when the function is traced; found {typeof(a)}, {why_unknown(a)}.\n"
            "Give size=, the number of indices, or choose elements by where(condition, x, y)."
        )
    if not shapes.ndim(a):
        raise ValueError("nonzero: a scalar has no axes; use atleast_1d(x)")
    if size is None and fill_value is None:
        found = np.nonzero(np.asarray(known))
        return tuple(array(indices.astype(default_int())) for indices in found)
    fills = fill_value if isinstance(fill_value, tuple | list) else [fill_value] * shapes.ndim(a)
    if any(fill is not None and np.ndim(fill) for fill in fills):
        raise ValueError(
            f"nonzero: fill_value must be a number, or one for each axis, found {shown(fill_value)}"
        )
    if len(fills) != shapes.ndim(a):
        raise ValueError(f"nonzero: fill_value must be one for each of {shapes.ndim(a)} axes")
    for fill in [] if fill_value is None else fills:
        dtype = typeof_named("nonzero: fill_value", fill).dtype
        if dtype.kind == "c" or dtype.names:
            raise TypeError(f"nonzero: fill_value must be a real number, found {shown(fill)}")
    if size is None:
        size = int(np.count_nonzero(np.asarray(known)))
    return _nonzero(a, [] if fill_value is None else list(fills), size=size)


@operation(static="size")
def _nonzero(a: Any, fills: list[Any], *, size: int) -> tuple[Any, ...]:
    out_type = result_type(ShapedArray((), default_int()), *map(typeof, fills))
    return positions(a, [asarray(fill, out_type.dtype) for fill in fills], size, out_type.dtype)


@written_in_jax("indexing")
def positions(x: Any, fills: Sequence[Any], size: int, out_dtype: np.dtype[Any]) -> tuple[Any, ...]:
    """The indices of nonzero elements: the position of each is the number of those before it."""
    row = shapes.ravel(x)
    holds = row if typeof(row).dtype == np.bool_ else row != 0
    dtype = default_int()
    count = typeof(row).size
    places = lax.cumsum(lax.convert_element_type(holds, dtype))
    total = lax.index_in_dim(places, -1, 0, False) if count else dtype.type(0)
    beyond = size if is_symbolic_dim(size) else dtype.type(size)
    places = stage2.where(holds, places - 1, beyond)
    found = lax.scatter(
        lax.full((size,), 0, dtype),
        lax.expand_dims(places, 1),
        lax.iota(dtype, count),
        lax.ScatterDimensionNumbers((), (0,), (0,)),
        mode="drop",
        unique_indices=True,
    )
    is_found = lax.iota(dtype, size) < total
    return tuple(
        stage2.where(is_found, lax.convert_element_type(index, out_dtype), fill)
        for index, fill in zip(
            unravel_index(found, shapes.shape(x)), fills or [0] * typeof(x).ndim, strict=True
        )
    )


@hiding_frames
def flatnonzero(a: ArrayLike, *, size: int | None = None, fill_value: Any = None) -> Array:
    """The indices of the nonzero elements of the flattened `a`.

    Arguments:
        a: the array.
        size: as in `nonzero`.
        fill_value: the number that pads to `size`; None: 0.

    Raises:
        ConcretizationTypeError: as in `nonzero`.

    >>> jnp.flatnonzero(jnp.array([[0, 7], [3, 0]]))
    Array([1, 2], dtype=int32)
    """
    return nonzero(shapes.ravel(a), size=size, fill_value=fill_value)[0]


@hiding_frames
def argwhere(
    a: ArrayLike, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> Array:
    """The indices of the nonzero elements of `a`, a row for each.

    Arguments:
        a, size, fill_value: as in `nonzero`.

    Raises:
        ConcretizationTypeError: as in `nonzero`.

    >>> jnp.argwhere(jnp.array([[0, 7], [3, 0]]))
    Array([[0, 1],
           [1, 0]], dtype=int32)
    """
    if not shapes.ndim(a):
        rows = nonzero(lax.reshape(a, (1,)), size=size, fill_value=fill_value)[0]
        return lax.full((typeof(rows).size, 0), 0, typeof(rows).dtype)
    return shapes.stack(nonzero(a, size=size, fill_value=fill_value), 1)


@hiding_frames
def compress(
    condition: ArrayLike,
    a: ArrayLike,
    axis: int | None = None,
    *,
    size: int | None = None,
    fill_value: ArrayLike = 0,
    out: None = None,
) -> Array:
    """The elements of `a` along an axis where `condition` is true.

    Arguments:
        condition: booleans along the axis; missing ones are false.
        a: the array.
        axis: the axis; None: all elements, flattened.
        size: the number of elements, required if `condition` is traced.
        fill_value: the number that pads to `size`.
        out: must be None.

    Raises:
        ConcretizationTypeError: `condition` is traced, and `size` not given.
        ValueError: `condition` is true outside of `a`.

    >>> jnp.compress(jnp.array([True, False, True]), jnp.array([1, 2, 3]))
    Array([1, 3], dtype=int32)
    """
    require_no_out("compress", out)
    if shapes.ndim(condition) != 1:
        raise ValueError(f"compress: condition must have one axis, found {typeof(condition)}")
    if axis is None:
        a, axis = shapes.ravel(a), 0
    axis = canonical_axis("compress", axis, shapes.ndim(a))
    count = shapes.shape(a)[axis]
    typeof_named("compress: fill_value", fill_value)
    known = known_value(condition)
    if known is not None and np.any(np.asarray(known)[count:]):
        raise ValueError(f"compress: condition holds beyond axis {axis} of size {count}")
    if shapes.shape(condition)[0] > count:
        condition = lax.slice_in_dim(condition, 0, count)
    (indices,) = nonzero(condition, size=size, fill_value=count)
    found = take(a, indices, axis, mode="fill", fill_value=fill_value)
    return found if size is None else lax.convert_element_type(found, typeof(a).dtype)


@hiding_frames
def extract(
    condition: ArrayLike, arr: ArrayLike, *, size: int | None = None, fill_value: ArrayLike = 0
) -> Array:
    """The elements of `arr` where `condition` is true, flattened.

    Arguments:
        condition: booleans for the elements of `arr` in order; missing ones are false.
        arr: the array.
        size, fill_value: as in `compress`.

    Raises:
        ConcretizationTypeError: as in `compress`.

    >>> x = jnp.array([1, 2, 3, 4])
    >>> jnp.extract(x % 2 == 0, x)
    Array([2, 4], dtype=int32)
    """
    return compress(shapes.ravel(condition), shapes.ravel(arr), size=size, fill_value=fill_value)


@operation
@written_in_jax("numpy")
def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: ArrayLike = 0) -> Array:
    """The choice of the first true condition, or `default`, element by element.

    Arguments:
        condlist: the conditions, boolean arrays.
        choicelist: the choices, an array for each condition. All of them broadcast.
        default: the element where no condition is true.

    Raises:
        ValueError: there are not as many conditions as choices, or none at all.

    >>> x = jnp.arange(5)
    >>> jnp.select([x < 2, x > 3], [-x, 10 * x], default=0)
    Array([ 0, -1,  0,  0, 40], dtype=int32)
    """
    if len(condlist) != len(choicelist) or not len(condlist):
        raise ValueError(
            f"select: conditions and choices must be as many, and at least one; found "
            f"{len(condlist)} and {len(choicelist)}"
        )
    *choices, out = promote(*choicelist, default)
    for condition, choice in zip(reversed(condlist), reversed(choices), strict=True):
        out = stage2.where(condition, choice, out)
    return out


@hiding_frames
def choose(a: ArrayLike, choices: Any, out: None = None, mode: str = "raise") -> Array:
    """The choice whose number is in `a`, element by element.

    Arguments:
        a: integers.
        choices: arrays that broadcast to one shape.
        out: must be None.
        mode: "wrap" or "clip", the treatment of numbers out of bounds. "raise" requires known
            numbers.

    Raises:
        ValueError: a number is out of bounds; `a` or `choices` do not broadcast.

    >>> jnp.choose(jnp.array([0, 1, 0]), [jnp.array([1, 2, 3]), jnp.array([10, 20, 30])])
    Array([ 1, 20,  3], dtype=int32)
    """
    require_no_out("choose", out)
    if not isinstance(choices, Sequence) and not getattr(choices, "ndim", 0):
        raise TypeError(f"choose: choices must be a sequence of arrays, found {shown(choices)}")
    if letter_of(typeof_named("choose: a", a).dtype) not in "iu":
        raise TypeError(f"choose: a must be integers, found {typeof(a)}")
    each = [choices[i] for i in range(len(choices))]
    count = len(each)
    if mode == "raise":
        known = known_value(a)
        if known is None:
            raise ConcretizationTypeError(
                "choose: in mode 'raise' the numbers must be known when the function is traced; "
                "choose mode='wrap' or mode='clip'"
            )
        if np.any((np.asarray(known) < 0) | (np.asarray(known) >= count)):
            raise ValueError(f"choose: a number is out of bounds for {count} choices")
    elif mode == "wrap":
        a = remainder(as_index(a), count)
    elif mode == "clip":
        a = lax.max(*stage2.promote(lax.min(*stage2.promote(a, count - 1)), 0))
    else:
        raise ValueError(f"choose: mode must be raise, wrap or clip, found {mode!r}")
    return _select_choice(a, each)


@operation
def _select_choice(a: Any, choices: list[Any]) -> Any:
    a, *choices = shapes.broadcast_arrays(a, *choices)
    out = lax.squeeze(take_along_axis(shapes.stack(choices), lax.expand_dims(a, 0), 0), 0)
    return lax.convert_element_type(out, typeof(out).dtype)  # drops the weak type


@evaluated_by_library
def piecewise(x: ArrayLike, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Array:
    """The function of the last true condition, applied to `x`, element by element.

    Arguments:
        x: the array; the result has its dtype.
        condlist: arrays of booleans.
        funclist: for each condition a function of arrays or a number; an additional one applies
            where all are false.
        args, kw: further arguments of the functions.

    Raises:
        ValueError: the numbers of functions and conditions differ.

    >>> x = jnp.array([-2.0, 0.5, 3.0])
    >>> jnp.piecewise(x, [x < 0, x >= 1], [0.0, 1.0, lambda x: 10 * x])
    Array([0., 5., 1.], dtype=float32)
    """
    conditions = condlist
    if not isinstance(condlist, list | tuple):
        conditions = [condlist] if shapes.ndim(condlist) <= shapes.ndim(x) else list(condlist)
    elif conditions and isinstance(conditions[0], bool | np.bool_):
        conditions = [np.asarray(conditions)]
    conditions = [truth(c) for c in conditions]
    if len(funclist) == len(conditions) + 1:
        pieces = [funclist[-1], *funclist[:-1]]
    elif len(funclist) == len(conditions):
        pieces = [0, *funclist]
    else:
        raise ValueError(
            f"piecewise: found {len(funclist)} functions for {len(conditions)} conditions"
        )
    x = array(x)
    x = lax.convert_element_type(x, typeof(x).dtype)
    return _last_piece(x, conditions, [f(x, *args, **kw) if callable(f) else f for f in pieces])


@operation
@written_in_jax("numpy")
def _last_piece(x: Any, conditions: list[Any], values: list[Any]) -> Any:
    """The value of the last true condition; the first value where all are false."""
    first, *values = [cast_into("piecewise", value, typeof(x)) for value in values]
    out = shapes.broadcast_to(first, typeof(x).shape)
    for condition, value in zip(conditions, values, strict=True):
        out = stage2.where(condition, value, out)
    return out


@hiding_frames
def place(arr: ArrayLike, mask: ArrayLike, vals: ArrayLike, *, inplace: bool = True) -> Array:
    """`arr` with `vals`, repeated in order, where `mask` is true.

    Arguments:
        arr: the array.
        mask: booleans, as many as `arr` has elements.
        vals: the values; more than needed are ignored.
        inplace: must be False: Arrays are immutable.

    Raises:
        ValueError: `inplace` is True, shapes differ, or there are no values.

    >>> mask = jnp.array([True, False, True, True])
    >>> jnp.place(jnp.array([1, 2, 3, 4]), mask, jnp.array([8, 9]), inplace=False)
    Array([8, 2, 9, 8], dtype=int32)
    """
    require_out_of_place("place", inplace)
    if typeof(arr).size != typeof(mask).size:
        raise ValueError(f"place: {typeof(arr)} and the mask {typeof(mask)} differ in size")
    if not typeof(vals).size:
        raise ValueError("place: there are no values to place")
    warn_if_lossy(arr, vals)
    return _place_values(arr, mask, vals)


@operation
def _place_values(arr: Any, mask: Any, vals: Any) -> Any:
    holds = shapes.ravel(mask) != 0
    number = lax.cumsum(lax.convert_element_type(holds, default_int())) - 1
    values = take(shapes.ravel(vals), number, mode="wrap")
    chosen = stage2.where(holds, cast(values, typeof(arr)), shapes.ravel(arr))
    return lax.reshape(chosen, shapes.shape(arr))


@evaluated_by_library
def trim_zeros(filt: ArrayLike, trim: str = "fb", axis: int | Sequence[int] | None = None) -> Array:
    """`filt` without the zeros at its edges.

    Arguments:
        filt: the array.
        trim: the edges to trim: "f", the front, "b", the back, or "fb", both.
        axis: the axis or axes to trim; None: all.

    Raises:
        ConcretizationTypeError: `filt` is traced, but its numbers determine a shape.
        ValueError: `trim` is something else.

    >>> jnp.trim_zeros(jnp.array([0, 0, 1, 0, 2, 0]))
    Array([1, 0, 2], dtype=int32)
    """
    if not isinstance(trim, str) or not set(trim.lower()) <= {"f", "b"}:
        raise ValueError(f"trim_zeros: trim must be 'f', 'b' or 'fb', found {trim!r}")
    aval = typeof_named("trim_zeros: filt", filt)
    if not aval.ndim:
        raise ValueError("trim_zeros: a scalar has no axes; use atleast_1d(x)")
    known = known_value(filt)
    if known is None:
        raise ConcretizationTypeError(
            "trim_zeros: the numbers decide a shape, so they must be known when the function is "
            f"traced; found {typeof(filt)}, {why_unknown(filt)}.\n"
            "Trim before the function is called, or choose elements by where(condition, x, y)."
        )
    numbers = np.asarray(known)
    axes = canonical_axes("trim_zeros", axis, numbers.ndim)
    places = np.nonzero(numbers)
    cut = []
    for axis, found in enumerate(places):
        if axis not in axes:
            cut.append(slice(None))
        elif not found.size:
            cut.append(slice(0))
        else:
            start = int(found.min()) if "f" in trim.lower() else None
            limit = int(found.max()) + 1 if "b" in trim.lower() else None
            cut.append(slice(start, limit))
    return array(filt)[tuple(cut)]
