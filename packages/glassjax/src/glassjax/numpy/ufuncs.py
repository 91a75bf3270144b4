"""`ufunc`: functions of elements with methods such as `reduce`, and those that there are."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

import glassjax_stage2 as stage2
from glassjax import lax
from glassjax.dtypes import DTypeLike
from glassjax.lax.shapes import broadcast_to
from glassjax.numpy import cases, reductions
from glassjax.numpy.cases import where
from glassjax.numpy.creation import asarray
from glassjax.numpy.elementwise import truth
from glassjax.numpy.taking import take
from glassjax.numpy.vectorize import vectorize
from glassjax.primitives import declare
from glassjax.runtime.array import Array, ArrayLike, require_no_out
from glassjax.runtime.evaluation import evaluated_by_library
from glassjax.runtime.nesting import written_in_jax
from glassjax.runtime.operation import Operation, operation
from glassjax.runtime.staging import ShapeDtypeStruct, eval_shape
from glassjax.settings.number_types import letter_of, promote, require_promotable, weak_if_all_are
from glassjax_stage2 import typeof
from glassjax_stage2.arguments import require_function
from glassjax_stage2.functions import canonical_axes, canonical_axis, ints, moveaxis
from glassjax_stage2.promotion import cast, to_inexact
from glassjax_stage2.source import name_of


class ufunc(Operation):
    """An elementwise function of arrays, with methods that combine the elements of one array.

    Arguments:
        func: a function of scalars.
        nin: its number of arguments.
        nout: its number of results.
        name: its name; by default the name of `func`.
        nargs: `nin` if not given.
        identity: the neutral element, if there is one.
        call: the function of arrays, if there is one.
        reduce, accumulate, at, reduceat: faster implementations of these methods.

    >>> import glassjax.numpy as jnp
    >>> x = jnp.array([3, 1, 2])
    >>> jnp.maximum.reduce(x), jnp.subtract.outer(x, x[:2])
    (Array(3, dtype=int32), Array([[ 0,  2],
           [-2,  0],
           [-1,  1]], dtype=int32))
    """

    def __init__(
        self,
        func: Callable[..., Any],
        /,
        nin: int,
        nout: int,
        *,
        name: str | None = None,
        nargs: int | None = None,
        identity: Any = None,
        call: Callable[..., Any] | None = None,
        reduce: Callable[..., Any] | None = None,
        accumulate: Callable[..., Any] | None = None,
        at: Callable[..., Any] | None = None,
        reduceat: Callable[..., Any] | None = None,
    ):
        require_function("ufunc", func)
        self._made_of = functools.partial(
            ufunc, func, nin, nout, name=name, nargs=nargs, identity=identity, call=call,
            reduce=reduce, accumulate=accumulate, at=at, reduceat=reduceat,
        )  # fmt: skip
        counts = ints("ufunc: nin, nout and nargs", (nin, nout, nin if nargs is None else nargs))
        self.nin, self.nout, self.nargs = counts
        arrays_fun = vectorize(func) if call is None else call
        if isinstance(arrays_fun, Operation):  # unwrap: one wrapper is enough
            arrays_fun = arrays_fun._fun
        super().__init__(arrays_fun, ())
        self.__name__ = name_of(func) if name is None else name
        self.identity = identity
        self._reduce = reduce or functools.partial(_reduce_in_order, self)
        self._accumulate = accumulate or functools.partial(_accumulate, self)
        self._reduceat = reduceat or functools.partial(_reduceat, self)
        self._at = at or functools.partial(_at, self)

    def __reduce__(self) -> tuple[Any, ...]:
        return self._made_of, ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ufunc):
            return NotImplemented
        mine, theirs = self._made_of, other._made_of
        return mine.args == theirs.args and mine.keywords == theirs.keywords

    def __hash__(self) -> int:
        return hash(self._made_of.args)

    if TYPE_CHECKING:

        def __call__(self, *args: ArrayLike, **kwargs: Any) -> Array: ...

    def __repr__(self) -> str:
        return f"<jnp.ufunc {self.__name__!r}>"

    @evaluated_by_library
    def reduce(
        self,
        a: ArrayLike,
        axis: int | None = 0,
        dtype: DTypeLike | None = None,
        out: None = None,
        keepdims: bool = False,
        initial: ArrayLike | None = None,
        where: ArrayLike | None = None,
    ) -> Array:
        """All elements of `a` along an axis combined, from the first to the last.

        Arguments:
            a: the array.
            axis: the axis; None: all elements, flattened.
            dtype: the dtype of the result.
            out: must be None.
            keepdims: whether to keep the axis, with size 1.
            initial: the initial value.
            where: mask of the elements to include, which broadcasts to `a`.

        Raises:
            ValueError: the function does not take two arguments and return one result; there are no
                elements, or `where` might leave none, and there is no initial value.
        """
        self._require_pairs("reduce")
        require_no_out(f"{self.__name__}.reduce", out)
        if where is not None and self.identity is None and initial is None:
            raise ValueError(
                f"{self.__name__}.reduce: where may leave no elements, and the function has no "
                "identity; give initial"
            )
        if where is not None and typeof(where).dtype != np.bool_:
            raise ValueError(
                f"{self.__name__}.reduce: where must be boolean, found {typeof(where)}"
            )
        return self._reduce(
            a, axis=axis, dtype=dtype, keepdims=keepdims, initial=initial, where=where
        )

    @evaluated_by_library
    def accumulate(
        self, a: ArrayLike, axis: int = 0, dtype: DTypeLike | None = None, out: None = None
    ) -> Array:
        """The elements of `a` along an axis up to each element combined.

        Arguments:
            a: the array.
            axis: the axis.
            dtype: the dtype of the result.
            out: must be None.

        Raises:
            ValueError: the function does not take two arguments and return one result; `axis` is
                not one axis.
        """
        self._require_pairs("accumulate")
        require_no_out(f"{self.__name__}.accumulate", out)
        return self._accumulate(a, axis=_one_axis(f"{self.__name__}.accumulate", axis), dtype=dtype)

    @evaluated_by_library
    def at(
        self, a: ArrayLike, indices: Any, b: ArrayLike | None = None, /, *, inplace: bool = True
    ) -> Array:
        """`a` with the function applied to its elements at indices, once for each occurrence.

        Arguments:
            a: the array.
            indices: an index of it.
            b: the second arguments, if the function takes two.
            inplace: must be False: Arrays are immutable.

        Raises:
            NotImplementedError: `inplace` is True.
            TypeError: `b` is missing for a function of two arguments, or given for a function of
                one.
        """
        if inplace:
            raise NotImplementedError(
                f"{self.__name__}.at: an Array is never written to; with inplace=False the result "
                "is another one"
            )
        if (b is None) == (self.nin == 2):
            needs = "an argument b" if b is None else "no argument b"
            raise TypeError(f"{self.__name__}.at: a function of {self.nin} takes {needs}")
        a = asarray(a)
        return self._at(a, indices) if b is None else self._at(a, indices, b)

    @evaluated_by_library
    def reduceat(
        self,
        a: ArrayLike,
        indices: ArrayLike,
        axis: int = 0,
        dtype: DTypeLike | None = None,
        out: None = None,
    ) -> Array:
        """The elements of `a` along an axis from each index up to the next one combined.

        If the next index is not larger, the result is the element at the index.

        Arguments:
            a: the array.
            indices: a sequence of indices; the last segment ends with the axis.
            axis: the axis.
            dtype: the dtype of the result, by default the dtype of `a`.
            out: must be None.

        Raises:
            ValueError: the function does not take two arguments and return one result; `axis` is
                not one axis, or `indices` not a sequence.
        """
        self._require_pairs("reduceat")
        require_no_out(f"{self.__name__}.reduceat", out)
        indices = asarray(indices)
        if not typeof(a).ndim or typeof(indices).ndim != 1:
            raise ValueError(
                f"{self.__name__}.reduceat: expected an array and a sequence of indices, found "
                f"{typeof(a)} and {typeof(indices)}"
            )
        axis = _one_axis(f"{self.__name__}.reduceat", axis)
        return self._reduceat(a, indices, axis=axis, dtype=dtype)

    def outer(self, A: ArrayLike, B: ArrayLike, /) -> Array:
        """The function of all pairs of an element of `A` and one of `B`, with the axes of both.

        Raises:
            ValueError: the function does not take two arguments and return one result.
        """
        self._require_pairs("outer")
        return _outer(self, A, B)

    def _require_pairs(self, method: str) -> None:
        if (self.nin, self.nout) != (2, 1):
            raise ValueError(
                f"{self.__name__}.{method}: that takes a function of two arguments with one "
                f"result, not of {self.nin} with {self.nout}"
            )


def frompyfunc(func: Callable[..., Any], /, nin: int, nout: int, *, identity: Any = None) -> ufunc:
    """A `ufunc` from a function of numbers.

    Arguments:
        func: the function.
        nin: its number of arguments.
        nout: its number of results.
        identity: the neutral element, if there is one.

    >>> import glassjax.numpy as jnp
    >>> frompyfunc(lambda x, y: 10 * x + y, 2, 1).reduce(jnp.array([1, 2, 3]))
    Array(123, dtype=int32)
    """
    return ufunc(func, nin, nout, identity=identity)


def _one_axis(caller: str, axis: Any) -> int:
    if not hasattr(axis, "__index__"):
        raise ValueError(f"{caller}: axis must be one axis, found {axis!r}")
    return operator.index(axis)


def _dtype_of_result(function: Callable[..., Any], *args: Any) -> np.dtype[Any]:
    avals = map(typeof, args)
    scalars = [ShapeDtypeStruct((), aval.dtype, weak_type=aval.weak_type) for aval in avals]
    return eval_shape(function, *scalars).dtype


@operation(static=("function", "axis", "dtype", "keepdims"))
def _reduce_in_order(
    function: ufunc,
    a: Any,
    *,
    axis: Any,
    dtype: Any,
    keepdims: bool,
    initial: Any,
    where: Any,
) -> Any:
    """Reduce element by element: the function need not be associative."""
    shape = typeof(a).shape
    axes = canonical_axes(f"{function.__name__}.reduce", axis, len(shape))
    if axis is not None and len(axes) != 1:
        raise NotImplementedError(f"{function.__name__}.reduce: along several axes, found {axis}")
    dtype = _dtype_of_result(function, a, a) if dtype is None else dtype
    rows = lax.convert_element_type(_rows_along(a, axis), dtype)
    initial = function.identity if initial is None else initial
    if initial is None and not typeof(rows).shape[0]:
        raise ValueError(f"{function.__name__}.reduce: {typeof(a)} has no elements to begin with")
    takes_part = None if where is None else _rows_along(broadcast_to("reduce", where, shape), axis)
    if initial is None:
        start = lax.squeeze(lax.slice_in_dim(rows, 0, 1), (0,))
        rows = lax.slice_in_dim(rows, 1, None)
    else:
        start = broadcast_to(
            "reduce", lax.convert_element_type(initial, dtype), typeof(rows).shape[1:]
        )

    def reduce_step(total: Any, element: Any) -> Any:
        x, is_part = element
        new = lax.convert_element_type(function(total, x), dtype)
        return new if is_part is None else cases.where(is_part, new, total), None

    total, _ = lax.scan(reduce_step, start, (rows, takes_part))
    return lax.expand_dims(total, axes) if keepdims else total


def _rows_along(x: Any, axis: int | None) -> Any:
    return stage2.reshape(x, (-1,)) if axis is None else moveaxis(x, axis, 0)


@operation(static=("function", "axis", "dtype"))
def _accumulate(function: ufunc, a: Any, *, axis: int, dtype: Any) -> Any:
    along = canonical_axis(f"{function.__name__}.accumulate", axis, typeof(a).ndim)
    dtype = _dtype_of_result(function, a, a) if dtype is None else dtype
    if not typeof(a).size:
        return lax.full(typeof(a).shape, 0, dtype)
    rows = lax.convert_element_type(moveaxis(a, along, 0), dtype)
    first = lax.slice_in_dim(rows, 0, 1)

    def accumulate_step(total: Any, x: Any) -> Any:
        total = lax.convert_element_type(function(total, x), dtype)
        return total, total

    _, others = lax.scan(accumulate_step, lax.squeeze(first, (0,)), lax.slice_in_dim(rows, 1, None))
    return moveaxis(lax.concatenate([first, others], 0), 0, along)


@operation(static=("function", "axis", "dtype"))
def _reduceat(function: ufunc, a: Any, indices: Any, *, axis: int, dtype: Any) -> Any:
    along = canonical_axis(f"{function.__name__}.reduceat", axis, typeof(a).ndim)
    dtype = typeof(a).dtype if dtype is None else dtype
    rows = lax.convert_element_type(moveaxis(a, along, 0), dtype)
    size, others = typeof(rows).shape[0], typeof(rows).ndim - 1
    end = lax.full((1,), size, typeof(indices).dtype)
    ends = lax.concatenate([lax.slice_in_dim(indices, 1, None), end], 0)
    start = take(rows, indices, 0)

    def segment_step(totals: Any, element: Any) -> Any:
        place, x = element
        is_inside = (place > indices) & (place < ends)
        is_inside = lax.expand_dims(is_inside, range(1, others + 1))
        new = lax.convert_element_type(function(totals, x), dtype)
        return cases.where(is_inside, new, totals), None

    totals, _ = lax.scan(segment_step, start, (lax.iota(typeof(indices).dtype, size), rows))
    return moveaxis(totals, 0, along)


def _at(function: ufunc, a: Any, indices: Any, *others: Any) -> Any:
    dtype = _dtype_of_result(function, a, *others)
    a = lax.convert_element_type(a, dtype)
    if not others:
        return a.at[indices].apply(function)
    count = typeof(a).size
    places = lax.reshape(lax.iota(np.int32, count), typeof(a).shape)
    places = places.at[indices].get(mode="fill", fill_value=count)
    return _at_places(function, a, places, lax.convert_element_type(others[0], dtype))


@operation(static="function")
def _at_places(function: ufunc, a: Any, places: Any, b: Any) -> Any:
    """Visit indices in order, so that a repeated index sees the earlier update."""
    b = broadcast_to("at", b, typeof(places).shape)

    def update_step(elements: Any, pair: Any) -> Any:
        place, y = pair
        new = function(elements.at[place].get(), y)
        return elements.at[place].set(cast(new, typeof(elements))), None

    pairs = stage2.reshape(places, (-1,)), stage2.reshape(b, (-1,))
    out, _ = lax.scan(update_step, stage2.reshape(a, (-1,)), pairs)
    return lax.reshape(out, typeof(a).shape)


@operation(static="function")
def _outer(function: ufunc, a: Any, b: Any) -> Any:
    wide = (*typeof(a).shape, *[1] * typeof(b).ndim)
    return function(lax.reshape(a, wide), b)


_OPTIONS = ("axis", "dtype", "keepdims")


def _in_dtype(x: Any, dtype: Any) -> Any:
    return x if dtype is None else lax.convert_element_type(x, dtype)


_BITWISE_REDUCTIONS = {
    "and": (lax.bitwise_and, lax.reduce_and, -1),
    "or": (lax.bitwise_or, lax.reduce_or, 0),
    "xor": (lax.bitwise_xor, lax.reduce_xor, 0),
}


def _bitwise_reduce(kind: str) -> Callable[..., Any]:
    """The method `bitwise_reduce` of a function of bits."""
    combine, reduction, neutral = _BITWISE_REDUCTIONS[kind]

    @operation(static=_OPTIONS)
    def bitwise_reduce(
        a: Any, *, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any
    ) -> Any:
        a_dtype = typeof(a).dtype
        if letter_of(a_dtype) not in "biu":
            raise ValueError(f"bitwise_{kind}.reduce: expected integers, found {typeof(a)}")
        if where is not None:
            a = cases.where(where, a, np.asarray(neutral).astype(a_dtype)[()])
        axes = canonical_axes("reduce", axis, typeof(a).ndim)
        total = reduction(a, axes)
        total = lax.expand_dims(total, axes) if keepdims else total
        if initial is not None:
            total = combine(lax.convert_element_type(initial, a_dtype), total)
        return _in_dtype(total, dtype)

    return bitwise_reduce


def _logical_reduce(kind: str) -> Callable[..., Any]:
    """The method `logical_reduce` of a logical function; numbers are true unless they are zero."""
    reduce_booleans = _bitwise_reduce(kind)

    @operation(static=_OPTIONS)
    def logical_reduce(
        a: Any, *, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any
    ) -> Any:
        initial = None if initial is None else stage2.ne(initial, 0)
        options = {"axis": axis, "dtype": dtype, "keepdims": keepdims, "where": where}
        return reduce_booleans(stage2.ne(a, 0), initial=initial, **options)

    return logical_reduce


def _extreme_reduce(extreme: Callable[..., Any]) -> Callable[..., Any]:
    @operation(static=_OPTIONS)
    def extreme_reduce(
        a: Any, *, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any
    ) -> Any:
        return _in_dtype(extreme(a, axis, None, keepdims, initial, where), dtype)

    return extreme_reduce


@operation(static=_OPTIONS)
def _log_of_total(
    a: Any, *, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any
) -> Any:
    """`log(sum(exp(a)))`, without overflow."""
    a = to_inexact(a)
    real = lax.real(a) if typeof(a).dtype.kind == "c" else a
    largest = reductions.max(real, axis, keepdims=True, initial=-math.inf, where=where)
    largest = lax.stop_gradient(cases.where(lax.is_finite(largest), largest, 0))
    offset = lax.convert_element_type(largest, typeof(a).dtype)
    total = reductions.sum(lax.exp(a - offset), axis, keepdims=True, where=where)
    out = lax.log(total) + offset
    if not keepdims:
        out = lax.squeeze(out, canonical_axes("reduce", axis, typeof(a).ndim))
    out = out if initial is None else logaddexp(initial, out)
    return _in_dtype(out, dtype)


@operation(static=_OPTIONS)
def _log2_of_total(
    a: Any, *, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any
) -> Any:
    initial = None if initial is None else stage2.mul(initial, math.log(2))
    total = _log_of_total(
        stage2.mul(to_inexact(a), math.log(2)),
        axis=axis,
        dtype=None,
        keepdims=keepdims,
        initial=initial,
        where=where,
    )
    return _in_dtype(total / math.log(2), dtype)


def _add_at(a: Any, indices: Any, b: Any) -> Any:
    if typeof(a).dtype == np.bool_:
        return logical_or.at(a, indices, b, inplace=False)
    return a.at[indices].add(b)


def _multiply_at(a: Any, indices: Any, b: Any) -> Any:
    if typeof(a).dtype == np.bool_:
        return logical_and.at(a, indices, b, inplace=False)
    return a.at[indices].multiply(b)


def _subtract_at(a: Any, indices: Any, b: Any) -> Any:
    return a.at[indices].subtract(b)


def _as_ufunc(
    nin: int, identity: Any = None, **methods: Any
) -> Callable[[Callable[..., Any]], ufunc]:
    """Decorator: turn a function of `nin` arrays into a `ufunc` with these methods."""
    return lambda call: ufunc(call, nin, 1, identity=identity, call=call, **methods)


@_as_ufunc(1)
def negative(x: ArrayLike) -> Array:
    """`-x`.

    >>> jnp.negative(jnp.array([1, -2]))
    Array([-1,  2], dtype=int32)
    """
    return stage2.neg(x)


@_as_ufunc(2, 0, reduce=reductions.sum, accumulate=reductions.cumsum, at=_add_at)
def add(x: ArrayLike, y: ArrayLike) -> Array:
    """`x + y`.

    >>> jnp.add(jnp.array([[1], [2]]), jnp.array([[10, 20]]))
    Array([[11, 21],
           [12, 22]], dtype=int32)
    """
    require_promotable(x, y)
    return stage2.add(x, y)


@_as_ufunc(2, at=_subtract_at)
def subtract(x: ArrayLike, y: ArrayLike) -> Array:
    """`x - y`.

    >>> jnp.subtract(jnp.array([5, 7]), 2)
    Array([3, 5], dtype=int32)
    """
    require_promotable(x, y)
    return stage2.sub(x, y)


@_as_ufunc(2, 1, reduce=reductions.prod, accumulate=reductions.cumprod, at=_multiply_at)
def multiply(x: ArrayLike, y: ArrayLike) -> Array:
    """`x * y`.

    >>> jnp.multiply(jnp.array([1.0, 2.0]), 2.5)
    Array([2.5, 5. ], dtype=float32)
    """
    require_promotable(x, y)
    return stage2.mul(x, y)


@_as_ufunc(2, reduce=_extreme_reduce(reductions.max))
def maximum(x: ArrayLike, y: ArrayLike) -> Array:
    """The larger of `x` and `y`; NaN where either is NaN.

    Complex numbers are ordered by real part, then by imaginary part.

    >>> jnp.maximum(jnp.array([1.0, 5.0, jnp.nan]), jnp.array([3.0, 2.0, 0.0]))
    Array([ 3.,  5., nan], dtype=float32)
    """
    return lax.max(*promote(x, y))


@_as_ufunc(2, reduce=_extreme_reduce(reductions.min))
def minimum(x: ArrayLike, y: ArrayLike) -> Array:
    """The smaller of `x` and `y`; NaN where either is NaN.

    Complex numbers are ordered by real part, then by imaginary part.

    >>> jnp.minimum(jnp.array([1.0, 5.0, jnp.nan]), jnp.array([3.0, 2.0, 0.0]))
    Array([ 1.,  2., nan], dtype=float32)
    """
    return lax.min(*promote(x, y))


@_as_ufunc(2, -1, reduce=_bitwise_reduce("and"))
def bitwise_and(x: ArrayLike, y: ArrayLike) -> Array:
    """`x & y`, bit by bit.

    >>> jnp.bitwise_and(jnp.array([0b1100, 0b1111]), 0b1010)
    Array([ 8, 10], dtype=int32)
    """
    return lax.bitwise_and(*promote(x, y))


@_as_ufunc(2, 0, reduce=_bitwise_reduce("or"))
def bitwise_or(x: ArrayLike, y: ArrayLike) -> Array:
    """`x | y`, bit by bit.

    >>> jnp.bitwise_or(jnp.array([0b1100, 0b0001]), 0b1010)
    Array([14, 11], dtype=int32)
    """
    return lax.bitwise_or(*promote(x, y))


@_as_ufunc(2, 0, reduce=_bitwise_reduce("xor"))
def bitwise_xor(x: ArrayLike, y: ArrayLike) -> Array:
    """`x ^ y`, bit by bit.

    >>> jnp.bitwise_xor(jnp.array([0b1100, 0b0001]), 0b1010)
    Array([ 6, 11], dtype=int32)
    """
    return lax.bitwise_xor(*promote(x, y))


def _log_of_sum(x: Any, y: Any, base: float = math.e) -> Any:
    larger, difference = lax.max(x, y), x - y
    is_nan, total = difference != difference, x + y  # inf - inf is NaN, too
    ratio = lax.exp(_times(math.log(base), -lax.abs(difference)))
    smaller_part = _times(1 / math.log(base), lax.log1p(ratio))
    return lax.select(is_nan, total, larger + smaller_part)


def _times(factor: float, x: Any) -> Any:
    return x if factor == 1 else factor * x


@written_in_jax("numpy")
def _share(x: Any, other: Any, out: Any, base: float = math.e) -> Any:
    """The part of `base**out` that `base**x` is; infinities are as far apart as their signs say.

    `out` is rounded: for large numbers, only their difference is accurate.
    """
    is_finite = lax.is_finite(out)
    difference = where(is_finite, x - other, 0)
    ends = where(x == math.inf, 0, x), where(_is_infinite(out), 0, out)
    apart = where(is_finite, 0, lax.sub(*ends))
    near, far = (_times(math.log(base), d) for d in (difference, apart))
    return where(is_finite, _part_of_sum(near), lax.exp(far))


def _is_infinite(x: Any) -> Any:
    return x == math.inf


_part_of_sum: declare.Unary = declare.unary(
    "part_of_sum",
    "",
    hlo="logistic",
    kinds="f",
    # 1 - out would cancel where `out` is nearly 1.
    jvp=lambda t, out, x: t * (out * _part_of_sum(-x)),
)


def _logaddexp_of(name: str, base: float) -> declare.Binary:
    return declare.binary(
        name,
        "",
        hlo=declare.lower_by_primitives(lambda x, y: _log_of_sum(x, y, base)),
        kinds="f",
        jvp=(
            lambda t, out, x, y: t * _share(x, y, out, base),
            lambda t, out, x, y: t * _share(y, x, out, base),
        ),
    )


_logaddexp = _logaddexp_of("logaddexp", math.e)

_logaddexp2 = _logaddexp_of("logaddexp2", 2.0)


@_as_ufunc(2, -math.inf, reduce=_log_of_total)
def logaddexp(x1: ArrayLike, x2: Any) -> Array:
    """`log(exp(x1) + exp(x2))`, without intermediate overflow.

    >>> jnp.logaddexp(1000.0, 0.0), jnp.log(jnp.exp(1000.0) + jnp.exp(0.0))
    (Array(1000., dtype=float32, weak_type=True), Array(inf, dtype=float32, weak_type=True))
    """
    x1, x2 = promote(x1, x2, inexact=True)
    if typeof(x1).dtype.kind == "c":
        return _log_of_complex_sum(x1, x2)
    return _logaddexp(x1, x2)


def _log_of_complex_sum(x: Any, y: Any) -> Any:
    is_first_larger = lax.real(x) > lax.real(y)
    larger, smaller = where(is_first_larger, x, y), where(is_first_larger, y, x)
    return larger + lax.log1p(lax.exp(smaller - larger))


@_as_ufunc(2, -math.inf, reduce=_log2_of_total)
def logaddexp2(x1: ArrayLike, x2: Any) -> Array:
    """`log2(2**x1 + 2**x2)`, without overflow on the way.

    >>> jnp.logaddexp2(1000.0, 1000.0)
    Array(1001., dtype=float32, weak_type=True)
    """
    x, y = promote(x1, x2, inexact=True)
    if typeof(x).dtype.kind != "c":
        return weak_if_all_are(_logaddexp2(x, y), x1, x2)
    scaled = (stage2.mul(x, math.log(2)), stage2.mul(y, math.log(2)))
    return weak_if_all_are(_log_of_complex_sum(*scaled) * (1 / math.log(2)), x1, x2)


@_as_ufunc(2, True, reduce=_logical_reduce("and"))
def logical_and(x: ArrayLike, y: Any) -> Array:
    """Test element by element if both `x` and `y` are true; numbers are true unless they are zero.

    >>> jnp.logical_and(jnp.array([0, 2, 3]), jnp.array([True, True, False]))
    Array([False,  True, False], dtype=bool)
    """
    require_promotable(x, y)
    return lax.bitwise_and(*stage2.promote(truth(x), truth(y)))


@_as_ufunc(2, False, reduce=_logical_reduce("or"))
def logical_or(x: ArrayLike, y: Any) -> Array:
    """Test element by element if `x` or `y` is true; numbers are true unless they are zero.

    >>> jnp.logical_or(jnp.array([0, 2, 0]), jnp.array([True, True, False]))
    Array([ True,  True, False], dtype=bool)
    """
    require_promotable(x, y)
    return lax.bitwise_or(*stage2.promote(truth(x), truth(y)))


@_as_ufunc(2, False, reduce=_logical_reduce("xor"))
def logical_xor(x: ArrayLike, y: Any) -> Array:
    """Test element by element if exactly one of `x` and `y` is true; numbers are true unless they
    are zero.

    >>> jnp.logical_xor(jnp.array([0, 2, 0]), jnp.array([True, True, False]))
    Array([ True, False, False], dtype=bool)
    """
    require_promotable(x, y)
    return lax.bitwise_xor(*stage2.promote(truth(x), truth(y)))
