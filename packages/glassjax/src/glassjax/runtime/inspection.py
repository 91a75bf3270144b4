"""Inspection of the shardings that XLA chooses within a program as it compiles it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from glassjax import xla
from glassjax.runtime.lowering import Function, Module, constrained
from glassjax.runtime.program import ADDRESS
from glassjax.shardings import types as sharded
from glassjax.shardings.mesh import Mesh
from glassjax.shardings.reduction import Names, Reduction, with_reduction
from glassjax.shardings.sharding import NamedSharding, Sharding
from glassjax_stage2 import ShapedArray
from glassjax_stage2.primitives import dot_general_p, reduce_sum_p, transpose_p
from glassjax_stage3 import Jaxpr, JaxprEqn
from glassjax_stage3.jaxpr import Atom
from glassjax_stage3.lowering import FunctionBuilder, Value

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
    """Writes a function of a module for several devices.

    Attributes:
        summands: the mesh axes along which it may leave values unreduced.
    """

    def __init__(self, module: PartitionedModule) -> None:
        super().__init__(module)
        self.summands: Mapping[Atom, Names] = {}

    def lower_jaxpr(self, jaxpr: Jaxpr, params: Sequence[Value]) -> list[Value]:
        outside, self.summands = self.summands, summands_in(jaxpr)
        params = [as_typed(self, x, x.aval) for x in params]
        outs = super().lower_jaxpr(jaxpr, params)
        self.summands = outside
        return outs

    def lower_eqn(self, eqn: JaxprEqn, operands: Sequence[Value]) -> Sequence[Value]:
        """The results of an equation, with the shardings of their types."""
        if eqn.primitive is sharded.reshard_p and eqn.params["sharding"].spec.unreduced:
            operands = [self._complete(eqn, operands[0])]
        outs = super().lower_eqn(eqn, operands)
        avals = [var.aval for var in eqn.outvars]
        found = map(sharded.sharded_type, [*[x.aval for x in eqn.invars], *avals])
        mesh = next((aval.mesh for aval in found if aval), None)
        if mesh is None or eqn.primitive in sharded.typed_primitives:
            return outs
        is_open = bool(mesh.auto_axes)  # the compiler may use these, too
        return [
            constrained(
                self, out, NamedSharding(mesh, sharded.sharding_of_type(aval).spec), is_open
            )
            if (aval.ndim and not eqn.primitive.higher_order)
            or sharded.reduction_of(aval).unreduced
            else out
            for out, aval in zip(outs, avals, strict=True)
        ]

    def _complete(self, eqn: JaxprEqn, x: Value) -> Value:
        """The operand of a `reshard`, as a sum, unless each device has its summand already.

        All parts but one are zeros then.
        """
        sharding, (atom,) = eqn.params["sharding"], eqn.invars
        before = sharded.reduction_of(atom.aval).unreduced
        more = sharding.spec.unreduced - before
        if sharding.num_devices == 1 or more <= self.summands.get(atom, frozenset()):
            return x
        state = Reduction(sharding.spec.unreduced & before)
        is_open = bool(sharding.mesh.auto_axes)
        spec = with_reduction(sharding.spec, state)
        return constrained(self, x, NamedSharding(sharding.mesh, spec), is_open)


def as_typed(b: FunctionBuilder, x: Value, aval: ShapedArray) -> Value:
    """`x`, as unreduced as a type with as many axes says.

    Between two operations of one equation Shardy would sum the parts.
    """
    sharding = sharded.sharding_of_type(aval)
    if not sharding.spec.unreduced or sharding.num_devices == 1:
        return x
    return constrained(b, x, sharding)


def summands_in(jaxpr: Jaxpr) -> Mapping[Atom, Names]:
    """For values of a program, the mesh axes along which each device can keep its summand.

    These are products and sums over axes that are sharded alike, and transposes of them. Asked for
    elsewhere, Shardy would end the process.
    """
    if not any(
        eqn.primitive is sharded.reshard_p and eqn.params["sharding"].spec.unreduced
        for eqn in jaxpr.eqns
    ):
        return {}
    typed: dict[Atom, ShapedArray] = {}  # before they were left to the compiler
    found: dict[Atom, Names] = {}
    for eqn in jaxpr.eqns:
        specs = [sharded.spec_of(typed.get(atom, atom.aval)) for atom in eqn.invars]
        if not eqn.outvars:
            continue
        out = eqn.outvars[0]
        summed: Iterable[sharded.Axes] = ()
        for result, spec in zip(eqn.outvars, eqn.params.get("out_specs", ()), strict=False):
            found[result] = spec.unreduced  # results of shard_map
        if eqn.primitive is sharded.to_auto_p:
            typed[out] = eqn.invars[0].aval
        elif eqn.primitive is transpose_p:
            summed = [tuple(found.get(eqn.invars[0], ()))]
        elif eqn.primitive is dot_general_p:
            pairs = zip(*eqn.params["dimension_numbers"][0], strict=True)
            summed = [specs[0][i] for i, j in pairs if specs[0][i] == specs[1][j]]
        elif eqn.primitive is reduce_sum_p:
            summed = [specs[0][axis] for axis in eqn.params["axes"]]
        if names := frozenset(name for axes in summed for name in axes):
            found[out] = names
    return found


def without_addresses(text: str) -> str:
    """The text of a module without the addresses that differ between processes."""
    return ADDRESS.sub(r'\1""', text)
