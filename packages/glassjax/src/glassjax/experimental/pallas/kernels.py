"""Parts of kernels: branches, loops, scratch memory, prints, and sizes of grids."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from glassjax import debug, lax
from glassjax import numpy as jnp
from glassjax.experimental.pallas.blocks import uninitialized
from glassjax.lax.control_flow.conditionals import cond
from glassjax.lax.control_flow.fori_loop import fori_loop
from glassjax.ref import new_ref
from glassjax.runtime.refs import Ref
from glassjax.settings.names import set_all
from glassjax_stage2 import Tracer, tree_map
from glassjax_stage2.arguments import require_function
from glassjax_stage2.errors import shown
from glassjax_stage2.functions import one_int

Result = TypeVar("Result")


def when(condition: Any, /) -> Callable[[Callable[[], None]], None]:
    """A decorator that calls a function of no arguments if a condition holds.

    Arguments:
        condition: a bool, or a boolean scalar, for which it is a `lax.cond`.

    >>> from glassjax.experimental import pallas as pl
    >>> ref = glassjax.new_ref(jnp.float32(1))
    >>> @pl.when(ref[...] > 0)
    ... def _():
    ...     ref[...] = 0.0
    >>> ref[...]
    Array(0., dtype=float32)
    """

    def call(f: Callable[[], None]) -> None:
        if not isinstance(condition, bool):
            cond(condition, f, lambda: None)
        elif condition:
            f()

    return call


def loop(
    lower: Any,
    upper: Any,
    *,
    init_carry: Any = None,
    step: Any = 1,
    unroll: int | bool | None = None,
) -> Callable[[Callable[..., Any]], Any]:
    """A decorator that calls a function with each integer from `lower` up to `upper`, exclusive.

    Arguments:
        lower, upper: integers, which may be traced.
        init_carry: a pytree of arrays: the function also gets a carry, and returns the next one.
        step: the distance of the integers.
        unroll: the number of iterations to unroll, as for `lax.fori_loop`.

    Returns:
        The decorator, which returns the last carry; None without `init_carry`.

    >>> from glassjax.experimental import pallas as pl
    >>> ref = glassjax.new_ref(jnp.zeros(6))
    >>> @pl.loop(0, 6, step=2)
    ... def _(i):
    ...     ref[i] = 1.0
    >>> ref[...]
    Array([1., 0., 1., 0., 1., 0.], dtype=float32)
    """

    def run(body: Callable[..., Any]) -> Any:
        require_function("pl.loop", body)

        def iteration(i: Any, carry: Any) -> Any:
            i = lower + i * step
            return body(i) if init_carry is None else body(i, carry)

        return fori_loop(0, cdiv(upper - lower, step), iteration, init_carry, unroll=unroll)

    return run


def run_scoped(
    f: Callable[..., Result], *types: Any, collective_axes: Any = (), **kw_types: Any
) -> Result:
    """Call a function with references to uninitialized arrays, and return its result.

    Arguments:
        f: function of references, positional and by keyword.
        types: pytrees of types, such as `pl.MemorySpace.ANY((8,), jnp.float32)`.
        collective_axes: only the default.
        kw_types: types for keywords.

    Raises:
        NotImplementedError: `collective_axes` is given.
    """
    if collective_axes != ():
        raise NotImplementedError(
            "run_scoped: collective_axes share memory between cores, and kernels here have one"
        )
    args, kwargs = tree_map(empty_ref_like, (types, kw_types))
    return f(*args, **kwargs)


def with_scoped(
    *types: Any, collective_axes: Any = (), **kw_types: Any
) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
    """A decorator: the function gets references as `run_scoped` makes them, after its arguments.

    Arguments:
        types, collective_axes, kw_types: as for `run_scoped`.
    """

    def decorate(f: Callable[..., Result]) -> Callable[..., Result]:
        def with_refs(*args: Any, **kwargs: Any) -> Result:
            return run_scoped(
                lambda *refs, **named: f(*args, *refs, **kwargs, **named),
                *types,
                collective_axes=collective_axes,
                **kw_types,
            )

        return with_refs

    return decorate


def broadcast_to(a: Any, shape: Sequence[int]) -> Any:
    """The array `a` broadcast to `shape`, by numpy's rule."""
    return jnp.broadcast_to(a, shape)


def empty(shape: Sequence[int], dtype: Any) -> Any:
    """An uninitialized array: NaN, the least integer, or False."""
    return uninitialized(shape, jnp.dtype(dtype))


def empty_like(x: Any) -> Any:
    """A pytree of uninitialized arrays of the types of the leaves of `x`."""
    return tree_map(lambda leaf: empty(leaf.shape, leaf.dtype), x)


def empty_ref_like(x: Any) -> Ref:
    """A new reference to an uninitialized array of the shape and dtype of `x`.

    Raises:
        TypeError: `x` has no shape or no dtype.
    """
    if not (hasattr(x, "shape") and hasattr(x, "dtype")):
        raise TypeError(
            "pallas: the type of a reference must have a shape and a dtype, such as "
            f"pl.MemorySpace.ANY(shape, dtype), found {shown(x)}"
        )
    return new_ref(empty(x.shape, x.dtype))


def debug_print(fmt: str, *args: Any) -> None:
    """Print values, once for each program that gets there.

    Arguments:
        fmt: a format string; values without a placeholder are printed behind it.
        args: arrays.
    """
    debug.print(fmt, *args, skip_format_check=True)


def multiple_of(x: Any, values: Sequence[int] | int) -> Any:
    """Return `x`; compilers of other backends take `values` as divisors of its numbers."""
    return x


def max_contiguous(x: Any, values: Sequence[int] | int) -> Any:
    """Return `x`; compilers of other backends assume runs of `values` successive numbers."""
    return x


# Numbers


def cdiv(a: Any, b: Any) -> Any:
    """The quotient of integers, rounded up.

    >>> from glassjax.experimental import pallas as pl
    >>> pl.cdiv(10, 4)
    3
    """
    if not isinstance(a, Tracer) and not isinstance(b, Tracer):
        return -(-a // b)
    return (a + b - 1) // b


def align_to(a: Any, alignment: Any) -> Any:
    """The least multiple of `alignment` that is at least `a`.

    >>> from glassjax.experimental import pallas as pl
    >>> pl.align_to(10, 4)
    12
    """
    return cdiv(a, alignment) * alignment


def next_power_of_2(x: int) -> int:
    """The least power of 2 that is at least `x`.

    Raises:
        ValueError: `x` is negative.

    >>> from glassjax.experimental import pallas as pl
    >>> pl.next_power_of_2(10)
    16
    """
    x = one_int("next_power_of_2", x)
    if x < 0:
        raise ValueError(f"next_power_of_2: expected an int that is not negative, found {x}")
    return 1 << max(x - 1, 0).bit_length()


def strides_from_shape(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides of an array in row-major order, in elements.

    >>> from glassjax.experimental import pallas as pl
    >>> pl.strides_from_shape((2, 3, 4))
    (12, 4, 1)
    """
    strides = [1]
    for size in reversed(shape[1:]):
        strides.append(strides[-1] * size)
    return tuple(reversed(strides))[-len(shape) or len(strides) :]


def reciprocal(x: Any, *, approx: bool = False, full_range: bool = True) -> Any:
    """The reciprocals of an array.

    Arguments:
        x: an array of floats.
        approx: whether to compute in bfloat16, as TPUs do.
        full_range: ignored.
    """
    if approx:
        return lax.reciprocal(x.astype("bfloat16")).astype("float32")
    return lax.reciprocal(x)


def dot(
    a: Any,
    b: Any,
    trans_a: bool = False,
    trans_b: bool = False,
    allow_tf32: bool | None = None,
    precision: Any = None,
) -> Any:
    """The product of two matrices, summed in 32 bits, or in 64 bits for operands of 64 bits.

    Arguments:
        a, b: matrices.
        trans_a, trans_b: whether to transpose them first.
        allow_tf32: whether 19 bits of a float32 are enough.
        precision: in place of `allow_tf32`, as for `lax.dot_general`.

    Raises:
        ValueError: an operand is not a matrix, or both `allow_tf32` and `precision` are given.
    """
    if a.ndim != 2 or b.ndim != 2:
        raise ValueError(f"dot: expected two matrices, found shapes {a.shape} and {b.shape}")
    if allow_tf32 is not None:
        if precision is not None:
            raise ValueError("dot: pass either allow_tf32 or precision, not both")
        precision = lax.Precision.HIGH if allow_tf32 else lax.Precision.HIGHEST
    contracted = ((0 if trans_a else 1,), (1 if trans_b else 0,))
    dtype = jnp.promote_types(a.dtype, b.dtype).name
    if dtype != "float64":
        dtype = "int32" if jnp.issubdtype(dtype, jnp.integer) else "float32"
    return lax.dot_general(
        a, b, (contracted, ((), ())), precision=precision, preferred_element_type=dtype
    )


set_all(globals())
