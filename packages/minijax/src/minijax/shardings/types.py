"""Types that say how arrays are divided among the devices of a mesh.

Along the axes of a mesh that are of type `Explicit`, the division of an array belongs to its type,
as its shape does. So it is known as a program is traced: each primitive says by a rule how its
results are divided, and where operands do not agree that is an error at the user's line. An array
whose type says nothing is divided as the compiler likes.
"""

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from minijax.errors.classes import ShardingTypeError
from minijax.shardings.mesh import AbstractMesh, Mesh, mesh_in_context
from minijax.shardings.no_collectives import require_kept
from minijax.shardings.partition_spec import PartitionSpec
from minijax.shardings.sharding import NamedSharding, Sharding
from minijax_stage2 import Primitive, ShapedArray, bind1, typeof
from minijax_stage2.shaped_array import short_dtype
from minijax_stage2.tangent import zeros
from minijax_stage3 import Jaxpr, abstract_eval_rules

# The axes of a mesh that divide one axis of an array, and those for each of its axes.
Axes = tuple[Hashable, ...]
Division = tuple[Axes, ...]

reshard_p = Primitive("reshard")
to_auto_p = Primitive("to_auto")


class ShardedArray(ShapedArray):
    """The type of arrays that are divided in a given way along axes of type `Explicit`.

    There is only one object per type.

    Attributes:
        plain: the type without the division.
        mesh: the mesh.
        division: for each axis of the array the axes of the mesh that divide it.

    >>> from minijax.sharding import AbstractMesh, AxisType
    >>> mesh = AbstractMesh((4, 2), ("x", "y"), (AxisType.Explicit,) * 2)
    >>> ShardedArray(ShapedArray((8, 8), "float32"), mesh, (("x", "y"), ()))
    ShapedArray(f32[8@(x,y),8])
    """

    __slots__ = ("division", "mesh", "plain")

    plain: ShapedArray
    mesh: AbstractMesh
    division: Division

    def __new__(  # type: ignore[misc]
        cls, plain: ShapedArray, mesh: AbstractMesh, division: Division
    ) -> ShapedArray:
        if not any(division):
            return plain
        key = plain, mesh, division
        aval = _interned.get(key)
        if aval is None:
            for module in _RULES:
                import_module(module)
            aval = object.__new__(cls)
            aval.shape, aval.dtype, aval.weak_type = plain.shape, plain.dtype, plain.weak_type
            aval.plain, aval.mesh, aval.division = key
            aval = _interned.setdefault(key, aval)
        return aval

    def __reduce__(self) -> tuple[Any, ...]:
        return ShardedArray, (self.plain, self.mesh, self.division)

    def __str__(self) -> str:
        sizes = [f"{n}{_suffix(axes)}" for n, axes in zip(self.shape, self.division, strict=True)]
        return f"{short_dtype(self.dtype)}[{','.join(sizes)}]"

    def update(self, **changes: Any) -> ShapedArray:
        plain = self.plain.update(**changes)
        keeps = plain.ndim == self.ndim
        return ShardedArray(plain, self.mesh, self.division) if keeps else plain

    def without_axis(self, axis: int) -> ShapedArray:
        plain = self.plain.without_axis(axis)
        return ShardedArray(plain, self.mesh, self.division[:axis] + self.division[axis + 1 :])

    def with_axis(self, axis: int, size: int) -> ShapedArray:
        division = (*self.division[:axis], (), *self.division[axis:])
        return ShardedArray(self.plain.with_axis(axis, size), self.mesh, division)

    def accepts(self, other: ShapedArray) -> bool:
        """Return True if `other` is the same type, or one that does not say how it is divided."""
        if not self.plain.accepts(unsharded(other)):
            return False
        return not isinstance(other, ShardedArray) or (
            self.mesh == other.mesh and self.division == other.division
        )

    def convert(self, x: Any) -> Any:
        """`x`, a value of a type that this one accepts, divided as this type says."""
        if isinstance(typeof(x), ShardedArray):
            return x
        return bind1(reshard_p, x, sharding=sharding_of_type(self))

    @staticmethod
    def abstract_eval(
        primitive: Primitive, in_avals: Sequence[ShapedArray], params: dict[str, Any]
    ) -> list[ShapedArray]:
        """The types of the results of a primitive of which the type of an operand says more."""
        for aval in in_avals:
            if type(aval) not in (ShapedArray, ShardedArray):
                return aval.abstract_eval(primitive, in_avals, params)  # type: ignore[attr-defined]
        if calls_programs(primitive, params):
            return abstract_eval_rules[primitive](*in_avals, **params)
        mesh = _common_mesh(primitive, in_avals)
        found = abstract_eval_rules[primitive](*map(unsharded, in_avals), **params)
        rule = sharding_rules.get(primitive)
        if rule is None:
            raise ShardingTypeError(
                f"{primitive} of {listed(in_avals)}: it has no rule for how its result is divided. "
                "sharding.auto_axes leaves that to the compiler; sharding.reshard(x, P()) gives "
                "all of an operand to each device; or give `declare` the rule, as `sharding`"
            )
        divisions = rule(in_avals, found, params)
        require_kept(str(primitive), [*map(division_of, in_avals)], divisions)
        return [
            _checked(primitive, in_avals, aval, mesh, division)
            for aval, division in zip(found, divisions, strict=True)
        ]


_interned: "dict[Any, ShardedArray]" = {}
# What has rules for primitives of such types, and is imported with the first of these.
_RULES = "minijax.primitives.sharding_rules_of_stages", "minijax.lax.resharding"


def convert(x: Any, aval: ShapedArray) -> Any:
    """`x`, a value of a type that `aval` accepts, as one of type `aval`."""
    return aval.convert(x) if hasattr(aval, "convert") else x


def zeros_of_type(aval: Any) -> Any:
    """Zeros of a sharded or varying type; outside of programs, of the plain type."""
    x = zeros(aval.plain)
    return x if isinstance(x, np.ndarray) else aval.convert(x)


zeros.register(ShardedArray, zeros_of_type)

# `rule(in_avals, out_avals, params)`: the division of each result. The types of results are plain.
ShardingRule = Callable[
    [Sequence[ShapedArray], Sequence[ShapedArray], dict[str, Any]], Sequence[Division]
]
sharding_rules: dict[Primitive, ShardingRule] = {}


def _suffix(axes: Axes) -> str:
    if len(axes) < 2:
        return "".join(f"@{name}" for name in axes)
    return f"@({','.join(map(str, axes))})"


def listed(avals: Iterable[ShapedArray]) -> str:
    """Types in words: `f32[2@x] and f32[2]`."""
    return " and ".join(map(str, avals))


def unsharded(aval: ShapedArray) -> ShapedArray:
    """The type without what it says about the division of the array."""
    return aval.plain if isinstance(aval, ShardedArray) else aval


def sharded_type(aval: ShapedArray) -> "ShardedArray | None":
    """The type, or the one that a type of another class says more of; None if it says nothing."""
    while not isinstance(aval, ShardedArray):
        if type(aval) is ShapedArray:
            return None
        aval = aval.plain  # type: ignore[attr-defined]
    return aval


def with_division(aval: ShapedArray, mesh: AbstractMesh, division: Division) -> ShapedArray:
    """The type with another division, also where a type of another class says more of it."""
    if type(aval) in (ShapedArray, ShardedArray):
        return ShardedArray(unsharded(aval), mesh, division)
    return aval.with_plain(with_division(aval.plain, mesh, division))  # type: ignore[attr-defined]


def division_of(aval: ShapedArray) -> Division:
    """For each axis of arrays of a type, the axes of the mesh that its type says to divide it."""
    said = sharded_type(aval)
    return said.division if said else ((),) * aval.ndim


def sharding_of_type(aval: ShapedArray) -> NamedSharding:
    """The sharding that a type says, on a mesh without devices."""
    entries = [axes[0] if len(axes) == 1 else axes or None for axes in division_of(aval)]
    said = sharded_type(aval)
    mesh = said.mesh if said else AbstractMesh((), ())
    return NamedSharding(mesh, PartitionSpec(*entries))


_type: Any = ShapedArray
_type.sharding = property(lambda aval: sharding_of_type(aval))  # without a docstring


# The meshes on which arrays lie, by the meshes without devices that their types have.
_meshes_of_types: dict[AbstractMesh, set[Mesh]] = {}


def on_known_devices(sharding: Sharding) -> Sharding:
    """A sharding that says no devices, on those of the mesh in context, if its axes are the same.

    Otherwise, on the only devices where arrays of such types lie, if there are any.
    """
    if not isinstance(sharding, NamedSharding) or isinstance(sharding.mesh, Mesh):
        return sharding
    here = mesh_in_context.get()
    if isinstance(here, Mesh) and here.abstract_mesh == sharding.mesh:
        return NamedSharding(here, sharding.spec)
    known = _meshes_of_types.get(sharding.mesh, set())
    return NamedSharding(next(iter(known)), sharding.spec) if len(known) == 1 else sharding


def type_at(aval: ShapedArray, sharding: Sharding | None) -> ShapedArray:
    """The type of arrays of a plain type that lie as a sharding says."""
    if not isinstance(sharding, NamedSharding) or not sharding.mesh.explicit_axes:
        return aval
    if isinstance(sharding.mesh, Mesh):
        _meshes_of_types.setdefault(sharding.mesh.abstract_mesh, set()).add(sharding.mesh)
    explicit = {*sharding.mesh.explicit_axes}
    division = [
        tuple([name for name in axes if name in explicit]) for axes in sharding.axes(aval.ndim)
    ]
    return ShardedArray(aval, sharding.mesh.abstract_mesh, tuple(division))


def calls_programs(primitive: Primitive, params: dict[str, Any]) -> bool:
    """Return True if a primitive calls programs on its operands, whose types say all of them."""
    if primitive in of_types:
        return True
    if not primitive.higher_order or primitive in combining_elements:
        return False
    items = [value if isinstance(value, tuple | list) else (value,) for value in params.values()]
    return any(isinstance(x, Jaxpr) for each in items for x in each)


# Primitives whose programs combine elements of the operands, not the operands themselves.
combining_elements: set[Primitive] = set()

# Primitives whose results have the division that their parameters say.
of_types: set[Primitive] = set()


def _common_mesh(primitive: Primitive, in_avals: Sequence[ShapedArray]) -> AbstractMesh:
    meshes = [aval.mesh for aval in in_avals if isinstance(aval, ShardedArray)]
    if any(mesh != meshes[0] for mesh in meshes):
        raise ShardingTypeError(
            f"{primitive} of {listed(in_avals)}: the operands are divided among different meshes, "
            f"{' and '.join(map(str, dict.fromkeys(meshes)))}. device_put brings them to one"
        )
    return meshes[0]


def _checked(
    primitive: Primitive,
    in_avals: Sequence[ShapedArray],
    aval: ShapedArray,
    mesh: AbstractMesh,
    division: Division,
) -> ShapedArray:
    """The type of a result, which its division has to fit."""
    found = ShardedArray(aval, mesh, division)
    names = [name for axes in division for name in axes]
    what = f"{primitive} of {listed(in_avals)}: the result would be {found}"
    if len({*names}) < len(names):
        raise ShardingTypeError(
            f"{what}, and an axis of the mesh can divide only one axis of an array. "
            "Bring an operand into another division by sharding.reshard, or say how the result "
            "is to be divided, by out_sharding where the function has it"
        )
    for size, axes in zip(aval.shape, division, strict=True):
        parts = math.prod([mesh.shape[name] for name in axes])
        if size % parts:
            raise ShardingTypeError(
                f"{what}, but {size} is not a multiple of the {parts} devices along {said(axes)}. "
                "Bring the operand into another division by sharding.reshard"
            )
    return found


def said(axes: Axes) -> str:
    """Names of axes in words."""
    return ", ".join(map(repr, axes))
