"""Functions of parts of an array, applied to all parts at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import Any

from glassjax.errors.arguments import checking_arguments
from glassjax.errors.tracebacks import hiding_frames
from glassjax.numpy.shapes import expand_dims, ndim, shape, squeeze
from glassjax.runtime.array import Array, ArrayLike
from glassjax.runtime.evaluation import evaluated_by_library
from glassjax.settings.names import counted, wraps
from glassjax.settings.number_types import require_one_count
from glassjax.transforms.vmap import vmap
from glassjax_stage2 import typeof
from glassjax_stage2.functions import canonical_axes, canonical_axis, ints
from glassjax_stage2.promotion import broadcast_shapes
from glassjax_stage2.source import name_of

Names = tuple[str, ...]


@checking_arguments
def vectorize(
    pyfunc: Callable[..., Any],
    *,
    excluded: Collection[int | str] = frozenset(),
    signature: str | None = None,
) -> Callable[..., Any]:
    """A broadcasting function of arrays from a function of their elements or last axes.

    Arguments:
        pyfunc: the function.
        excluded: positions and names of arguments to pass on unchanged.
        signature: the last axes that `pyfunc` takes and returns, such as "(n,m),(m)->(n)"; sizes of
            axes of one name are equal. Without it `pyfunc` takes and returns scalars.

    Returns:
        A function of arrays, whose other axes broadcast. Keyword arguments are excluded.

    Raises:
        TypeError, ValueError: the signature is invalid; or, when called, arguments do not match it.

    >>> import glassjax.numpy as jnp
    >>> vectorize(jnp.dot, signature="(n),(n)->()")(jnp.ones((2, 3)), jnp.arange(3.0))
    Array([3., 3.], dtype=float32)
    """
    is_text = isinstance(excluded, str) or hasattr(excluded, "dtype")
    if is_text or any(not isinstance(item, str | int) for item in excluded):
        raise TypeError(f"vectorize: excluded must hold positions and names, found {excluded!r}")
    if any(isinstance(item, int) and item < 0 for item in excluded):
        raise ValueError(f"vectorize: positions in excluded count from 0, found {excluded!r}")
    name = name_of(pyfunc)

    @evaluated_by_library
    @wraps(pyfunc)
    def vectorized(*args: Any, **kwargs: Any) -> Any:
        places = [i for i in range(len(args)) if i not in excluded]

        def core(*given: Any) -> Any:
            whole = list(args)
            for place, x in zip(places, given, strict=True):
                whole[place] = x
            return pyfunc(*whole, **kwargs)

        missing = [place for place in places if args[place] is None]
        if missing:
            raise ValueError(
                f"vectorize of `{name}`: argument {missing[0]} is None; what is not an array has "
                "to be named in excluded"
            )
        operands = [args[i] for i in places]
        ins, outs = ([()] * len(operands), None) if signature is None else _parse(signature)
        if len(ins) != len(operands):
            raise TypeError(
                f"vectorize of `{name}`: the signature {signature} is of "
                f"{counted(len(ins), 'argument')}, "
                f"found {len(operands)}"
            )
        sizes = _check_core(name, ins, operands)
        leads = [shape(x)[: ndim(x) - len(names)] for x, names in zip(operands, ins, strict=True)]
        if outs is not None:
            core = _checked_core(core, name, signature, outs, sizes)  # type: ignore[arg-type]
        counts = [len(lead) for x, lead in zip(operands, leads, strict=True) if ndim(x)]
        require_one_count(f"vectorize of `{name}`", counts)
        return _mapped(core, leads)(*operands)

    return vectorized


def _mapped(core: Callable[..., Any], leads: Sequence[tuple[int, ...]]) -> Callable[..., Any]:
    """`core` mapped over all axes of the broadcast shape of the arguments.

    An axis of size 1 that is larger in other arguments is not mapped, but squeezed.
    """
    common = broadcast_shapes(*leads)
    aligned = [(1,) * (len(common) - len(lead)) + lead for lead in leads]
    mapped = core
    for axis in reversed(range(len(common))):
        in_axes = [
            0 if len(common) - axis <= len(lead) and sizes[axis] == common[axis] else None
            for lead, sizes in zip(leads, aligned, strict=True)
        ]
        mapped = vmap(mapped, tuple(in_axes))

    def squeezed(*operands: Any) -> Any:
        ready = []
        for x, lead in zip(operands, leads, strict=True):
            offset = len(common) - len(lead)
            gone = [i for i, n in enumerate(lead) if n == 1 and common[offset + i] != 1]
            ready.append(squeeze(x, gone) if gone else x)
        return mapped(*ready)

    return squeezed


_AXES = r"\((?:\w+(?:,\w+)*)?,?\)"
_SIGNATURE = re.compile(rf"^({_AXES}(?:,{_AXES})*)?->{_AXES}(?:,{_AXES})*$")


def _parse(signature: str) -> tuple[list[Names], list[Names]]:
    text = re.sub(r"\s+", "", signature)
    if not _SIGNATURE.match(text):
        raise ValueError(f"vectorize: a signature looks like '(n,m),(m)->(n)', found {signature!r}")
    sides = [re.findall(r"\(([^)]*)\)", side) for side in text.split("->")]
    ins, outs = ([tuple(filter(None, axes.split(","))) for axes in side] for side in sides)
    return ins, outs


def _check_core(name: str, ins: Sequence[Names], operands: Sequence[Any]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for number, (names, x) in enumerate(zip(ins, operands, strict=True)):
        if ndim(x) < len(names):
            raise ValueError(
                f"vectorize of `{name}`: argument {number} needs axes {names}, found {typeof(x)}"
            )
        for axis, size in zip(names, shape(x)[ndim(x) - len(names) :], strict=True):
            expected = sizes.setdefault(axis, size)
            if expected != size:
                raise ValueError(
                    f"vectorize of `{name}`: axis {axis} has size {expected}, but in argument "
                    f"{number}, {typeof(x)}, it has {size}"
                )
    return sizes


def _checked_core(
    core: Callable[..., Any], name: str, signature: str, outs: list[Names], sizes: dict[str, int]
) -> Callable[..., Any]:
    """`core` with its results checked against the signature: their number and axes."""

    def checked_core(*operands: Any) -> Any:
        result = core(*operands)
        results = result if isinstance(result, tuple) else (result,)
        if len(results) != len(outs) or (len(outs) > 1) != isinstance(result, tuple):
            raise TypeError(
                f"vectorize of `{name}`: the signature {signature} has "
                f"{counted(len(outs), 'result')}, but "
                f"the function returned {len(results)}"
            )
        for number, (x, axes) in enumerate(zip(results, outs, strict=True)):
            found = getattr(x, "shape", None)  # pytrees may have a shape, too
            found = shape(x) if found is None else tuple(found)
            fits = len(found) == len(axes) and all(
                size == sizes.setdefault(axis, size) for axis, size in zip(axes, found, strict=True)
            )
            if not fits:
                raise ValueError(
                    f"vectorize of `{name}`: the signature {signature} gives result {number} the "
                    f"axes {axes}, but the function returned one of shape {found}"
                )
        return result

    return checked_core


@hiding_frames
def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: ArrayLike, *args: Any, **kwargs: Any
) -> Array:
    """`func1d` of each vector of `arr` along an axis, with its results along that axis.

    Arguments:
        func1d: function of a vector, and of `args` and `kwargs`.
        axis: the axis.
        arr: the array.
        args, kwargs: further arguments of `func1d`.

    >>> jnp.apply_along_axis(jnp.sort, 1, jnp.array([[3, 1, 2], [6, 5, 4]]))
    Array([[1, 2, 3],
           [4, 5, 6]], dtype=int32)
    """
    axis = canonical_axis("apply_along_axis", axis, ndim(arr))

    def apply_slice(x: Any) -> Any:
        return func1d(x, *args, **kwargs)

    mapped = apply_slice
    for i in range(1, ndim(arr) - axis):
        mapped = vmap(mapped, in_axes=i, out_axes=-1)
    for _ in range(axis):
        mapped = vmap(mapped, in_axes=0, out_axes=0)
    return mapped(arr)


@hiding_frames
def apply_over_axes(
    func: Callable[[Any, int], Any], a: ArrayLike, axes: int | Sequence[int]
) -> Array:
    """`func(a, axis)` applied for each axis in turn, which it may drop.

    Arguments:
        func: function of an array and an axis.
        a: the array.
        axes: an int or a sequence of ints.

    Raises:
        ValueError: `func` changes the rank otherwise.

    >>> jnp.apply_over_axes(jnp.sum, jnp.ones((2, 3, 4)), [0, 2]).shape
    (1, 3, 1)
    """
    for axis in canonical_axes("apply_over_axes", ints("apply_over_axes: axes", axes), ndim(a)):
        out = func(a, axis)
        if ndim(out) == ndim(a) - 1:
            out = expand_dims(out, axis)
        if ndim(out) != ndim(a):
            raise ValueError(
                f"apply_over_axes: the function must keep or leave out axis {axis}, but returned "
                f"{typeof(out)} for {typeof(a)}"
            )
        a = out
    return a  # type: ignore[return-value]
