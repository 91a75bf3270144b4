"""Shardings in the text of a module, in Shardy's notation."""

import math
from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any

from minijax.shardings.partition_spec import PartitionSpec
from minijax.shardings.sharding import NamedSharding
from minijax_stage3.lowering import FunctionBuilder, ModuleBuilder, Value, mlir_type, symbol

UNCONSTRAINED = PartitionSpec.UNCONSTRAINED

# True while the text of what each device runs by itself is written.
on_each_device: ContextVar[bool] = ContextVar("on_each_device", default=False)

# The mesh of that, where its axes are not `Manual` all.
mesh_of_devices: ContextVar[Any] = ContextVar("mesh_of_devices", default=None)


def declared_mesh(module: ModuleBuilder, mesh: Any) -> str:
    """The name of a mesh in a module, which declares it on first use."""
    key = "mesh", mesh.shape_tuple
    if key not in module.names:
        count = sum(isinstance(each, tuple) and each[0] == "mesh" for each in module.names)
        name = module.names[key] = f"mesh_{count}" if count else "mesh"
        axes = ", ".join(f"{quoted(axis)}={size}" for axis, size in mesh.shape_tuple)
        module.functions.append(f"  sdy.mesh @{name} = <[{axes}]>")
    return module.names[key]


def division_text(
    module: ModuleBuilder, mesh: Any, spec: PartitionSpec, ndim: int, is_open: bool = False
) -> str:
    """A spec in Shardy's notation: `<@mesh, [{"x"}, {}]>`; if it is open, axes may be added."""
    entries = [*spec, *[None] * (ndim - len(spec))]
    axes = [
        "{" + ", ".join([*map(quoted, names), *["?"] * (is_open or entry is UNCONSTRAINED)]) + "}"
        for entry, names in zip(entries, PartitionSpec(*entries).names(), strict=True)
    ]
    return f"<@{declared_mesh(module, mesh)}, [{', '.join(axes)}]>"


def constrained(
    b: FunctionBuilder, x: Value, sharding: NamedSharding, is_open: bool = False
) -> Value:
    """`x`, divided as a sharding says; if that is open, further, as the compiler likes."""
    division = division_text(b.module, sharding.mesh, sharding.spec, x.aval.ndim, is_open)
    return _constrained(b, x, division)


def _constrained(b: FunctionBuilder, x: Value, division: str) -> Value:
    operation = f"sdy.sharding_constraint {x.name} {division} : {mlir_type(x.aval)}"
    (out,) = b.emit(operation, x.aval)
    return out


def argument(module: ModuleBuilder, sharding: NamedSharding, ndim: int) -> str:
    """The MLIR attribute for the sharding of an argument or a result."""
    division = division_text(module, sharding.mesh, sharding.spec, ndim)
    return f"{{sdy.sharding = #sdy.sharding{division}}}"


def undivided_if_uneven(b: FunctionBuilder, x: Value, counts: Sequence[int]) -> Value:
    """`x`, replicated if the devices do not divide these sizes evenly."""
    devices = math.prod([size for _, size in _first_mesh(b.module) or ()])
    return x if all(count % devices == 0 for count in counts) else undivided(b, x)


def undivided(b: FunctionBuilder, x: Value) -> Value:
    """`x`, replicated, if the program is a partitioned one."""
    return x if _first_mesh(b.module) is None or on_each_device.get() else everywhere(b, x)


def everywhere(b: FunctionBuilder, x: Value) -> Value:
    """`x`, replicated, in a module that declares a mesh."""
    division = ", ".join(["{}"] * x.aval.ndim)
    name = b.module.names["mesh", _first_mesh(b.module)]
    return _constrained(b, x, f"<@{name}, [{division}]>")


def _first_mesh(module: ModuleBuilder) -> Any:
    meshes = [key[1] for key in module.names if isinstance(key, tuple) and key[0] == "mesh"]
    return meshes[0] if meshes else None


def on_first_device(module: ModuleBuilder, count: int) -> str:
    """The sharding of an operation of `count` results that only the first device does."""
    key = "the first device"
    if key not in module.names:
        module.names[key] = "first_device"
        module.functions.append("  sdy.mesh @first_device = <[], device_ids=[0]>")
    return f"#sdy.sharding_per_value<[{', '.join(['<@first_device, []>'] * max(count, 1))}]>"


def quoted(axis: Any) -> str:
    """The name of an axis of a mesh in MLIR."""
    return f'"{symbol(str(axis))}"'


def joined(given: str | None, more: str) -> str:
    """Merge two attribute dictionaries in MLIR notation."""
    return more if not given else f"{given[:-1]}, {more[1:]}"
