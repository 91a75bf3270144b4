"""Inspection of the shardings that XLA chooses within a program as it compiles it."""

from collections.abc import Callable, Sequence
from typing import Any

from glassjax import xla
from glassjax.runtime.lowering import Function, Module, constrained
from glassjax.runtime.program import ADDRESS
from glassjax.shardings.mesh import Mesh
from glassjax.shardings.sharding import NamedSharding, Sharding
from glassjax.shardings.types import sharded_type, sharding_of_type, typed_primitives
from glassjax_stage3 import JaxprEqn
from glassjax_stage3.lowering import Value

ShardingCallback = Callable[[Sharding], None]


class Inspection:
    """A callback for the sharding of an array within a program.

    XLA calls it while it compiles the program, and the object has to live until then.

    Arguments:
        callback: the function.
        ndim: the number of axes of the array.
    """

    def __init__(self, callback: ShardingCallback, ndim: int):
        self.callback = callback
        self.ndim = ndim
        self.found: list[Any] = []  # jaxlib's objects
        self.record = self.found.append
        self.address = xla.inspection_address(self.record)


class PartitionedModule(Module):
    """A module for several devices, with the inspections that run while it is compiled.

    Arguments:
        platform: the devices' platform.
        num_devices: their number.
        mesh: a mesh of them.
    """

    def __init__(self, platform: str, num_devices: int, mesh: Mesh | None = None) -> None:
        super().__init__(platform)
        self.num_devices = num_devices
        self.mesh = mesh
        self.kept: list[xla.Partitioner] = []  # alive until it is compiled
        self.inspections: list[Inspection] = []

    def function(self) -> "PartitionedFunction":
        return PartitionedFunction(self)

    def text(self, name: str) -> str:
        return super().text(
            f"{name} attributes {{mhlo.num_partitions = {self.num_devices} : i32, "
            "mhlo.num_replicas = 1 : i32}"
        )

    def inspection(self, callback: ShardingCallback, ndim: int) -> str:
        """The MLIR string by which XLA calls `callback` with a sharding."""
        self.inspections.append(Inspection(callback, ndim))
        return '"' + "".join(f"\\{byte:02X}" for byte in self.inspections[-1].address) + '"'


class PartitionedFunction(Function):
    """Writes a function of a module for several devices."""

    def lower_eqn(self, eqn: JaxprEqn, operands: Sequence[Value]) -> Sequence[Value]:
        """The results of an equation, with the shardings of their types."""
        outs = super().lower_eqn(eqn, operands)
        avals = [var.aval for var in eqn.outvars]
        found = map(sharded_type, [*[x.aval for x in eqn.invars], *avals])
        mesh = next((aval.mesh for aval in found if aval), None)
        if mesh is None or eqn.primitive in typed_primitives:
            return outs
        is_open = bool(mesh.auto_axes)  # the compiler may use these, too
        return [
            constrained(self, out, NamedSharding(mesh, sharding_of_type(aval).spec), is_open)
            if aval.ndim and not eqn.primitive.higher_order
            else out
            for out, aval in zip(outs, avals, strict=True)
        ]


def without_addresses(text: str) -> str:
    """The text of a module without the addresses that differ between processes."""
    return ADDRESS.sub(r'\1""', text)
