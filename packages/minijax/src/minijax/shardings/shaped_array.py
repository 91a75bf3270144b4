"""`ShapedArray` as users call it, which may also say how arrays are sharded."""

from typing import Any

import minijax_stage2 as stage2
from minijax.shardings.sharding import Sharding
from minijax.shardings.types import type_at


class _AnyType(type):
    """A class whose instances are all types, those of the stages and their subclasses."""

    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, stage2.ShapedArray)

    def __subclasscheck__(cls, other: type) -> bool:
        return issubclass(other, stage2.ShapedArray)


class ShapedArray(metaclass=_AnyType):
    """The set of all arrays of one shape and dtype, and of one sharding along `Explicit` axes.

    `weak_type` marks a Python number, which takes the dtype of the operands that it is combined
    with. There is only one object per type, so types compare by identity.

    Raises:
        TypeError: `shape` is not a tuple, `dtype` not a dtype of numbers, or what only primitives
            say of a type is given.

    >>> from minijax import core
    >>> aval = core.ShapedArray((2, 3), "float32")
    >>> aval, aval.update(shape=(3,)), isinstance(aval, core.ShapedArray)
    (ShapedArray(f32[2,3]), ShapedArray(f32[3]), True)
    """

    def __new__(  # type: ignore[misc]
        cls,
        shape: tuple[int, ...],
        dtype: Any,
        weak_type: bool = False,
        *,
        sharding: Sharding | None = None,
        **others: Any,
    ) -> stage2.ShapedArray:
        given = [name for name, value in others.items() if value]
        if given:
            raise TypeError(f"ShapedArray: only primitives set {given[0]}: leave it out")
        return type_at(stage2.ShapedArray(shape, dtype, weak_type), sharding)
