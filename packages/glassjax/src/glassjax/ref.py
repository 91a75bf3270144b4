"""References to arrays that functions may replace (`jax.ref`)."""

from __future__ import annotations

from typing import Any

from glassjax.lax.shapes import full
from glassjax.memory import Space
from glassjax.numpy.indexing import Slice, getitem
from glassjax.runtime.array import Array, ArrayLike, in_own_memory, to_array
from glassjax.runtime.evaluation import evaluated_by_library
from glassjax.runtime.refs import AbstractRef, Ref
from glassjax.settings.names import list_public_names
from glassjax.settings.number_types import result_type
from glassjax.settings.tracers import type_text
from glassjax.shardings import memories
from glassjax_stage2 import Tracer, astype, typeof
from glassjax_stage2.errors import shown
from glassjax_stage2.shaped_array import has_type

# Reading and writing arrays, or parts of them, through references.


WHOLE = (Ellipsis, slice(None), ())


class RefView:
    """A part of a reference, made by `ref.at[index]`; it is read and written like a reference.

    >>> ref = glassjax.new_ref(jnp.zeros((2, 2)))
    >>> row = ref.at[1]
    >>> row[0] = 3.0
    >>> ref[...]
    Array([[0., 0.],
           [3., 0.]], dtype=float32)
    """

    __slots__ = ("index", "of")

    def __init__(self, of: Ref | RefView, index: Any):
        self.of = of
        self.index = index

    def read(self) -> Any:
        """The part of the array."""
        return _part(self.of.read(), self.index)

    def write(self, value: Any) -> None:
        """Replace the part by an array of the same type."""
        self.of.write(_with_part(self.of.read(), self.index, value))

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the axes of the part."""
        return typeof(self.read()).shape

    @property
    def dtype(self) -> Any:
        """The dtype of the part."""
        return self.of.dtype

    @property
    def ndim(self) -> int:
        """The number of axes of the part."""
        return len(self.shape)

    def __repr__(self) -> str:
        return f"RefView({self.of!r}, {self.index!r})"


class _At:
    __slots__ = ("of",)

    def __init__(self, of: Ref | RefView):
        self.of = of

    def __getitem__(self, index: Any) -> RefView:
        return RefView(self.of, index)


def _is_whole(index: Any) -> bool:
    return index is None or any(type(index) is type(whole) and index == whole for whole in WHOLE)


def as_index(index: Any) -> Any:
    """An index of a reference as one of its array.

    `ds(start, size, stride)` stands for `size` elements of a reference, and for every `stride`-th
    of `size` elements of an array.
    """
    if isinstance(index, tuple):
        return tuple(map(as_index, index))
    if isinstance(index, Slice) and index.stride > 1:
        return Slice(index.start, (index.size - 1) * index.stride + 1, index.stride)
    return index


def _part(value: Any, index: Any) -> Any:
    if _is_whole(index):
        return value
    index = as_index(index)
    for position, entry in enumerate(index if isinstance(index, tuple) else (index,)):
        if type(entry) is not int:
            break  # later indices may belong to other axes
        if not -typeof(value).shape[position] <= entry < typeof(value).shape[position]:
            raise IndexError(
                f"index {entry} is out of bounds for axis {position} of a reference of shape "
                f"{typeof(value).shape}"
            )
    return getitem(value, index)


def _with_part(value: Any, index: Any, part: Any) -> Any:
    return part if _is_whole(index) else value.at[as_index(index)].set(part)


def _fitting(ref: Ref | RefView, part: Any, x: Any, caller: str) -> Any:
    """A value that takes the place of a part of the array of a reference, or is added to it.

    Raises:
        TypeError: it is not an array.
        ValueError: it has another shape or dtype.
    """
    if not has_type(x):
        raise TypeError(
            f"{caller}: expected an array or a number, found {shown(x)} of type {type(x).__name__}"
        )
    aval, wanted = typeof(x), typeof(part)
    if aval.shape != wanted.shape:
        raise ValueError(
            f"{caller}: the part of the reference has the shape {wanted.shape}, the value "
            f"{aval.shape}. Give it that shape by jnp.broadcast_to or reshape."
        )
    if aval.dtype == wanted.dtype:
        return astype(to_array(x), wanted.dtype) if aval.weak_type else in_own_memory(to_array(x))
    if aval.weak_type and result_type(aval, wanted) == wanted.dtype:
        return astype(x, wanted.dtype)
    raise ValueError(
        f"{caller}: the reference has dtype {wanted.dtype}, the value {aval.dtype}. Convert it by "
        f"x.astype({wanted.dtype.name!r})."
    )


def _require_ref(caller: str, ref: Any) -> Ref | RefView:
    if not isinstance(ref, Ref | RefView):
        raise TypeError(
            f"{caller}: expected a Ref, which glassjax.new_ref makes, found {shown(ref)} of type "
            f"{type(ref).__name__}"
        )
    return ref


def _require_default(caller: str, **options: Any) -> None:
    for name, given in options.items():
        if given:
            raise NotImplementedError(f"{caller}: {name} is not supported, found {shown(given)}")


def _in_memory(caller: str, value: Any, space: Any) -> Any:
    if space is None:
        return value
    if not isinstance(space, Space):
        raise NotImplementedError(
            f"{caller}: memory_space must be a memory.Space, found {shown(space)}"
        )
    memories.kind_of_space(caller, space)  # raises if it is not one
    return memories.moved(value, space)


@evaluated_by_library
def new_ref(
    init_val: Any, *, memory_space: Any = None, kind: str | None = None, pin: bool = False
) -> Ref:
    """A new reference that holds an array.

    Transformed functions may read and write it: functions that made it, have it as an argument,
    or close over it. It cannot be returned.

    Arguments:
        init_val: the array.
        memory_space: the `memory.Space` that holds the array while it is not used; by default
            where `init_val` is. What is read from the reference is in the memory of the devices.
        kind, pin: only their defaults.

    Raises:
        TypeError: `init_val` is not an array.
        ValueError: `memory_space` is `Space.Any`.
        NotImplementedError: an option is given.

    >>> total = glassjax.new_ref(jnp.float32(0))
    >>> @glassjax.jit
    ... def add(x):
    ...     total[...] += x
    >>> add(2.0)
    >>> add(3.0)
    >>> total[...]
    Array(5., dtype=float32)
    """
    _require_default("new_ref", kind=kind, pin=pin)
    if not has_type(init_val):
        raise TypeError(
            f"new_ref: expected an array or a number, found {shown(init_val)} of type "
            f"{type(init_val).__name__}"
        )
    value = _in_memory("new_ref", to_array(init_val), memory_space)
    return Ref(astype(value, value.dtype) if typeof(value).weak_type else in_own_memory(value))


@evaluated_by_library
def empty_ref(ty: Any, memory_space: Any = None, pin: bool = False) -> Ref:
    """A new reference of a type, whose array is of zeros.

    Arguments:
        ty: the type, such as a `ShapeDtypeStruct`: anything with a shape and a dtype.
        memory_space: as of `new_ref`.
        pin: only its default.

    Raises:
        TypeError: `ty` has no shape or no dtype.
        ValueError: `memory_space` is `Space.Any`.
        NotImplementedError: an option is given.

    >>> glassjax.empty_ref(glassjax.ShapeDtypeStruct((2,), jnp.int32))
    Ref([0, 0], dtype=int32)
    """
    _require_default("empty_ref", pin=pin)
    if not (hasattr(ty, "shape") and hasattr(ty, "dtype")):
        raise TypeError(
            f"empty_ref: expected a type, such as ShapeDtypeStruct(shape, dtype), found {shown(ty)}"
        )
    zeros = to_array(full(ty.shape, 0, ty.dtype))
    return Ref(_in_memory("empty_ref", zeros, memory_space))


def freeze(ref: Ref) -> Array:
    """End a reference, and return its array.

    Raises:
        TypeError: `ref` is not a reference.

    >>> glassjax.freeze(glassjax.new_ref(jnp.arange(2)))
    Array([0, 1], dtype=int32)
    """
    value: Array = _require_ref("freeze", ref).read()
    return value


def free_ref(ref: Ref) -> None:
    """End a reference, and drop its array.

    Raises:
        TypeError: `ref` is not a reference.

    >>> ref = glassjax.new_ref(jnp.ones(3))
    >>> glassjax.free_ref(ref)
    """
    if not isinstance(ref, Ref):
        _require_ref("free_ref", None)
    ref.end()


@evaluated_by_library
def get(ref: Ref | RefView, idx: Any = None) -> Array:
    """The array of a reference, or a part of it.

    Arguments:
        ref: a reference.
        idx: an index, as of arrays; None is all.

    Raises:
        TypeError: `ref` is not a reference.
        IndexError: an int is out of bounds.

    >>> glassjax.ref.get(glassjax.new_ref(jnp.arange(3)), 1)
    Array(1, dtype=int32)
    """
    value = _require_ref("ref.get", ref).read()
    part = _part(value, idx)
    return in_own_memory(part) if part is value else part  # a donation leaves the reference


@evaluated_by_library
def swap(ref: Ref | RefView, idx: Any, value: ArrayLike) -> Array:
    """Replace a part of the array of a reference, and return its old value.

    Arguments:
        ref: a reference.
        idx: an index, as of arrays; None is all.
        value: an array of the shape and dtype of the part.

    Raises:
        TypeError: `ref` is not a reference, or `value` is not an array.
        ValueError: `value` has another shape or dtype.
        IndexError: an int is out of bounds.

    >>> glassjax.ref.swap(glassjax.new_ref(jnp.arange(3)), 1, 5)
    Array(1, dtype=int32)
    """
    before = _require_ref("ref.swap", ref).read()
    part: Array = _part(before, idx)
    ref.write(_with_part(before, idx, _fitting(ref, part, value, "ref.swap")))
    return part


def set(ref: Ref | RefView, idx: Any, value: ArrayLike) -> None:
    """Replace a part of the array of a reference.

    Arguments:
        ref: a reference.
        idx: an index, as of arrays; None is all.
        value: an array of the shape and dtype of the part.

    Raises:
        TypeError: `ref` is not a reference, or `value` is not an array.
        ValueError: `value` has another shape or dtype.
        IndexError: an int is out of bounds.

    >>> ref = glassjax.new_ref(jnp.arange(3))
    >>> glassjax.ref.set(ref, 1, 5)
    >>> ref
    Ref([0, 5, 2], dtype=int32)
    """
    swap(ref, idx, value)


@evaluated_by_library
def addupdate(ref: Ref | RefView, idx: Any, x: ArrayLike) -> None:
    """Add to a part of the array of a reference; where an index occurs twice, both are added.

    Arguments:
        ref: a reference.
        idx: an index, as of arrays; None is all.
        x: an array of the shape and dtype of the part.

    Raises:
        TypeError: `ref` is not a reference, or `x` is not an array.
        ValueError: `x` has another shape or dtype.
        IndexError: an int is out of bounds.

    >>> ref = glassjax.new_ref(jnp.zeros(2))
    >>> glassjax.ref.addupdate(ref, jnp.array([1, 1]), jnp.ones(2))
    >>> ref
    Ref([0., 2.], dtype=float32)
    """
    value = _require_ref("ref.addupdate", ref).read()
    x = _fitting(ref, _part(value, idx), x, "ref.addupdate")
    ref.write(value + x if _is_whole(idx) else value.at[as_index(idx)].add(x))


def _repr(self: Ref) -> str:
    value = self.read()
    if isinstance(value, Tracer):
        return repr(value).replace(type_text(value.aval), str(self.aval), 1)
    return repr(value).replace("Array(", "Ref(", 1)


def _len(self: Ref | RefView) -> int:
    if not self.shape:
        raise TypeError("a reference without axes has no length")
    return self.shape[0]


def _no_operator(self: Ref, *args: Any, **kwargs: Any) -> Any:
    raise TypeError(
        f"found {self.described()} where an array is expected; ref[...] reads its array"
    )


def _array_attribute(name: str) -> property:
    """An attribute of the array, as one of the reference."""
    return property(lambda self: getattr(self.contents(), name))


SHARED_METHODS: dict[str, Any] = {
    "__getitem__": get,
    "__setitem__": set,
    "__len__": _len,
    "addupdate": addupdate,
    "at": property(_At),
}
REFERENCE_METHODS: dict[str, Any] = {
    "__repr__": _repr,
    "__array__": _no_operator,
    "unsafe_buffer_pointer": lambda self: self.contents().unsafe_buffer_pointer(),
    **{name: _array_attribute(name) for name in ("committed", "format", "sharding")},
}
for name, attribute in SHARED_METHODS.items():
    setattr(Ref, name, attribute)
    setattr(RefView, name, attribute)
for name, attribute in REFERENCE_METHODS.items():
    setattr(Ref, name, attribute)


__all__ = [
    "AbstractRef",
    "Ref",
    "addupdate",
    "empty_ref",
    "free_ref",
    "freeze",
    "get",
    "new_ref",
    "set",
    "swap",
]
list_public_names(globals())
