"""Programs on several devices, or on another device than the default one.

The program is written for whole arrays. XLA's partitioner starts from the shardings of its
arguments and chooses the others.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from glassjax import xla
from glassjax.errors import CompileError
from glassjax.runtime import lowering, places
from glassjax.runtime.array import Array, Placed, array_at, put_array
from glassjax.runtime.effects import abstract_token, result_of_type
from glassjax.runtime.inspection import Inspection, PartitionedModule, without_addresses
from glassjax.runtime.program import (
    compile_or_load_partitioned,
    compile_primitive,
    compile_text,
    once_for_jaxpr,
    run_program,
)
from glassjax.settings.names import counted
from glassjax.shardings import memories
from glassjax.shardings import types as sharded
from glassjax.shardings.mesh import AbstractMesh, Device, Mesh
from glassjax.shardings.partition_spec import PartitionSpec
from glassjax.shardings.sharding import (
    NamedSharding,
    Sharding,
    SingleDeviceSharding,
    plain_mesh,
    sharding_from_tiles,
)
from glassjax_stage2 import Primitive, ShapedArray
from glassjax_stage3 import Jaxpr, JaxprEqn, Var
from glassjax_stage3.abstract_eval import once_for_types
from glassjax_stage3.executable import cached_by_jaxpr, device_type, jaxpr_of_primitive


class PartitionedProgram:
    """A jaxpr compiled for the devices of its committed arguments.

    Arguments:
        name: the name of its module.
        jaxpr: the program.
        in_shardings: the sharding of each argument; None leaves the choice to XLA.
        out_shardings: the sharding of each result; None leaves the choice to XLA.
        argument_names: the names of the arguments, for messages.
        attributes: further MLIR attributes of arguments, by number.
        options: XLA flags.
        default: where it runs if no sharding determines the devices.
        platform: the platform that it is lowered for; by default its devices' platform.

    Raises:
        ValueError: the shardings differ in their devices or their order; a result is not divisible
            evenly.
    """

    def __init__(
        self,
        name: str,
        jaxpr: Jaxpr,
        in_shardings: Sequence[Sharding | None],
        out_shardings: Sequence[Sharding | None],
        argument_names: Sequence[str],
        attributes: Mapping[int, str],
        options: Mapping[str, Any],
        default: places.DefaultPlacement | None = None,
        platform: str | None = None,
    ):
        self.name = name
        self.inspections: list[Inspection] = []
        self.kept: list[xla.Partitioner] = []
        self.in_avals, self.out_avals = jaxpr.in_avals, jaxpr.out_avals
        for number, (sharding, aval) in enumerate(zip(out_shardings, self.out_avals, strict=True)):
            if sharding is not None:
                try:
                    sharding.shard_shape(aval.shape)
                except ValueError as error:
                    role = f"`{name.removeprefix('jit_')}`: result {number}, of type {aval}"
                    raise ValueError(f"{role}: {error}") from None
        within = list(map(sharded.on_known_devices, shardings_within(jaxpr)))
        roles = roles_of(in_shardings, out_shardings, within, argument_names, jaxpr, default)
        self.devices = devices_of(name.removeprefix("jit_"), roles, default)
        # Abstract meshes have a number of devices but none of them.
        self.num_devices = len(self.devices) or roles[0][1].num_devices
        self.platform = platform or xla.platform_of(self.devices)
        # As in JAX, results are committed if the user fixed the devices, by arguments or shardings.
        self.committed = bool(roles) or memories.some_on_host(self.out_avals)
        inside = [*within, default.sharding] if default is not None else within
        self.meshes = _meshes_of([*in_shardings, *out_shardings, *inside])
        out_shardings = self._explicit(out_shardings, _meshes_of([*out_shardings, *inside]))
        self.given = in_shardings, out_shardings
        self.kinds = [
            [each.memory_kind if each else memories.kind_of_type(aval) for each, aval in pairs]
            for pairs in (
                zip(in_shardings, self.in_avals, strict=True),
                zip(out_shardings, self.out_avals, strict=True),
            )
        ]
        self.options = options
        self.text = self._text(name, jaxpr, in_shardings, out_shardings, attributes)

    def compile(self) -> "PartitionedProgram":
        """Compile the program, once, and return it.

        Raises:
            ValueError: its meshes are abstract.
        """
        if hasattr(self, "executable"):
            return self
        if not self.devices:
            raise ValueError(
                f"`{self.name.removeprefix('jit_')}` is lowered for abstract meshes, which have no "
                "devices to run on. Compile it for a Mesh, or pass it arrays on one; "
                "experimental.plan reports what it would need on such meshes."
            )
        in_shardings, out_shardings = self.given
        # A program may be lowered for another platform than its devices', but not run there.
        require_platform(self.name, self.platform, xla.platform_of(self.devices))
        xla.register_routines(self.text, self.platform)
        executable = self.executable = self._executable()
        tiles = executable.argument_tiles(len(self.in_avals))
        self.in_shardings = self._completed(in_shardings, tiles, self.in_avals, self.kinds[0])
        self.in_placements = placements(self.in_shardings, self.in_avals)
        tiles = executable.result_tiles(len(self.out_avals))
        found = self._completed(out_shardings, tiles, self.out_avals, self.kinds[1])
        self.out_shardings = self._like_argument(found)
        where = placements(self.out_shardings, self.out_avals)
        self.out_types = [
            sharded.type_at(sharded.unsharded(aval), sharding)
            for aval, sharding in zip(self.out_avals, self.out_shardings, strict=True)
        ]
        executable.set_results(list(map(device_type, self.out_avals)), where, self.committed)
        self.results = [
            Placed(aval, place, self.committed)
            for aval, place in zip(self.out_types, where, strict=True)
        ]
        self.makes_tokens = abstract_token in self.out_types
        for inspection in self.inspections:
            for found in inspection.found:
                inspection.callback(self._sharding_of(xla.tiles_of(found), inspection.ndim))
        # XLA calls these only while it compiles.
        self.inspections, self.kept = [], []
        from glassjax.runtime.agreement import shared_program  # late: few programs need it

        # The processes compare this text, and addresses of Python functions differ between them.
        text = without_addresses(self.text)
        sizes = [device_type(aval).size for aval in self.out_avals]
        self.shared = shared_program(self.devices, self.described, text, sizes)
        if self.shared is not None:
            # Without collectives no process waits for another, so each may run the program when it
            # likes.
            if executable.communicates():
                self.shared.synchronize()
            else:
                self.shared = None
        return self

    def _executable(self) -> xla.PartitionedExecutable:
        try:
            return compile_or_load_partitioned(self.text, self.devices, self.options)
        except CompileError:
            for partitioner in self.kept:
                if partitioner.raised is not None:  # an error of the user's function
                    raise partitioner.raised from None
            raise

    @property
    def described(self) -> str:
        """The name of the program and the types of its arguments."""
        types = ", ".join(map(str, self.in_avals)) or "nothing"
        return f"`{self.name.removeprefix('jit_')}` of {types}"

    def __call__(self, arguments: Sequence[Any]) -> list[Array]:
        """The results for arguments of the program's types."""
        buffers = [
            x.buffer
            if type(x) is Array and xla.placement_of(x.buffer) is where
            else self._moved(number, x)
            for number, (x, where) in enumerate(zip(arguments, self.in_placements, strict=True))
        ]
        if self.shared is None:
            results = self.executable.execute(buffers)
        else:
            results = self.shared.launch(self.executable.execute, buffers)
        if self.makes_tokens:
            return list(map(result_of_type, results, self.results))
        return list(map(Placed.array, self.results, results))

    def _moved(self, number: int, x: Any) -> Any:
        """The buffer of an argument, moved to where the program expects it."""
        return put_array(x, self.in_avals[number], self.in_shardings[number]).buffer

    def as_text(self) -> str:
        """The program as optimized by XLA, in HLO."""
        return self.executable.hlo_text()

    def _explicit(
        self, out_shardings: Sequence[Sharding | None], inside: Sequence[Mesh]
    ) -> list[Sharding | None]:
        """The shardings of results, including those in types.

        The compiler chooses if a mesh has axes of type `Auto`, or if the arguments have only
        `in_shardings`, and neither their types nor a mesh have shardings.
        """
        avals = [*self.out_avals, *self.in_avals]
        typed = dict.fromkeys([each.mesh for each in map(sharded.sharded_type, avals) if each])
        concrete = [mesh for mesh in self.meshes if mesh.abstract_mesh in typed]
        meshes: list[Mesh | AbstractMesh] = [*inside, *concrete, *typed]
        mesh = next((mesh for mesh in meshes if mesh.explicit_axes), None)
        if mesh is None or mesh.auto_axes:
            return [*out_shardings]

        def typed_sharding(aval: ShapedArray) -> Sharding:
            sharding, own = sharded.sharding_of_type(aval), sharded.sharded_type(aval)
            if own is None or own.mesh.shape_tuple == mesh.shape_tuple or not self.devices:
                return sharding.update(mesh=mesh)
            # The function entered another abstract mesh, on the same devices in the same order.
            devices = np.array(self.devices).reshape(own.mesh.axis_sizes)
            named = Mesh(devices, own.mesh.axis_names, own.mesh.axis_types)
            return sharding.update(mesh=named)

        return [
            given or typed_sharding(aval)
            for given, aval in zip(out_shardings, self.out_avals, strict=True)
        ]

    def _everywhere(self) -> Sharding:
        """The sharding of replicated arrays."""
        if len(self.devices) == 1 and not self.meshes:
            return SingleDeviceSharding(self.devices[0])
        mesh = self.meshes[0] if self.meshes else plain_mesh(self.devices)
        return NamedSharding(mesh, PartitionSpec())

    def _text(
        self,
        name: str,
        jaxpr: Jaxpr,
        in_shardings: Sequence[Sharding | None],
        out_shardings: Sequence[Sharding | None],
        attributes: Mapping[int, str],
    ) -> str:
        annotated, results = dict(attributes), dict[int, str]()
        if {*self.kinds[0], *self.kinds[1]} != {memories.DEVICE}:
            for found, kinds in zip((annotated, results), self.kinds, strict=True):
                for number, kind in enumerate(kinds):
                    text = f'{{mhlo.memory_kind = "{kind}"}}'
                    found[number] = lowering.joined(found.get(number), text)
        if self.num_devices == 1:
            module = lowering.Module(self.platform, annotated, results)
            return lowering.recorded_lower(jaxpr, name, module)
        mesh = self.meshes[0] if self.meshes else None
        if mesh is None and self.devices:
            mesh = plain_mesh(self.devices)
        module = PartitionedModule(self.platform, self.num_devices, mesh)
        self.inspections, self.kept = module.inspections, module.kept
        for found, shardings, avals in (
            (annotated, in_shardings, jaxpr.in_avals),
            (results, out_shardings, jaxpr.out_avals),
        ):
            for number, (sharding, aval) in enumerate(zip(shardings, avals, strict=True)):
                if isinstance(sharding, NamedSharding):
                    text = lowering.argument(module, sharding, aval.ndim)
                    found[number] = lowering.joined(found.get(number), text)
        module.argument_attributes, module.result_attributes = annotated, results
        return lowering.recorded_lower(jaxpr, name, module)

    def _completed(
        self,
        given: Sequence[Sharding | None],
        tiles: Sequence[xla.TileAssignment | None],
        avals: Sequence[ShapedArray],
        kinds: Sequence[str],
    ) -> list[Sharding]:
        """The given shardings, with those that XLA chose in place of None."""
        return [
            sharding or self._sharding_of(assignment, aval.ndim).with_memory_kind(kind)
            for sharding, assignment, aval, kind in zip(given, tiles, avals, kinds, strict=True)
        ]

    def _like_argument(self, found: Sequence[Sharding]) -> list[Sharding]:
        """The shardings of results; those that XLA chose are written as an equal argument's.

        Several specs mean the same sharding, such as P("x") and P("x", None).
        """
        pairs = zip(self.given[0], self.in_avals, strict=True)
        named = [(like, x.ndim) for like, x in pairs if isinstance(like, NamedSharding)]
        like, ndim = named[0] if named else (None, 0)
        rows = zip(self.given[1], found, self.out_avals, strict=True)
        return [
            like
            if like is not None
            and given is None
            and aval.ndim == ndim
            and chosen.is_equivalent_to(like, ndim)
            else chosen
            for given, chosen, aval in rows
        ]

    def _sharding_of(self, tiles: xla.TileAssignment | None, ndim: int) -> Sharding:
        """The sharding for a tiling that XLA chose, by the axes of a mesh if possible."""
        if len(self.devices) == 1 or tiles is None:
            return self._everywhere()
        return sharding_from_tiles(tiles, self.meshes, self.devices, ndim)


def _meshes_of(shardings: Iterable[Sharding | None]) -> list[Mesh]:
    """The concrete meshes of shardings, without duplicates."""
    meshes = [each.mesh for each in shardings if isinstance(each, NamedSharding)]
    return [each for each in dict.fromkeys(meshes) if isinstance(each, Mesh)]


def placements(shardings: Sequence[Sharding], avals: Sequence[ShapedArray]) -> list[xla.Placement]:
    """jaxlib's placements for arrays of these types."""
    return [each.placement(aval.ndim) for each, aval in zip(shardings, avals, strict=True)]


def require_platform(name: str, lowered_for: str, found: str) -> None:
    """Raise ValueError unless a program is lowered for the platform of its devices."""
    if lowered_for != found:
        raise ValueError(
            f"`{name.removeprefix('jit_')}` is lowered for the platform {lowered_for!r}, and its "
            f"devices are of {found!r}. Leave out lowering_platforms, or compile where they are."
        )


Role = tuple[str, Sharding]  # a sharding that fixes the devices of a program, with a description


def roles_of(
    in_shardings: Sequence[Sharding | None],
    out_shardings: Sequence[Sharding | None],
    within: Sequence[Sharding],
    argument_names: Sequence[str],
    jaxpr: Jaxpr,
    default: places.DefaultPlacement | None,
) -> list[Role]:
    """The shardings that fix the devices of a program, each with a description."""
    roles = [
        (f"argument {argument_names[number]} of type {jaxpr.in_avals[number]}", sharding)
        for number, sharding in enumerate(in_shardings)
        if sharding is not None
    ]
    roles += [("a result, by out_shardings", each) for each in out_shardings if each is not None]
    roles += [("a sharding or mesh within", each) for each in within]
    if default is not None and default.committed:
        roles.append(("the mesh in context", default.sharding))
    return roles


def devices_of(
    name: str, roles: Sequence[Role], default: places.DefaultPlacement | None
) -> tuple[Device, ...]:
    """The devices of a program; none if all of its meshes are abstract.

    Raises:
        ValueError: they differ, or the numbers of devices of abstract meshes do.
    """
    if not roles:
        return default.sharding.device_tuple if default else (xla.default_device(),)
    first, chosen = roles[0]
    for other, sharding in roles[1:]:
        if sharding.num_devices != chosen.num_devices and (
            sharding.is_abstract or chosen.is_abstract
        ):
            raise ValueError(
                f"incompatible meshes for `{name}`: {first} is for "
                f"{counted(chosen.num_devices, 'device')}, {other} for {sharding.num_devices}. "
                "A program is for one number of devices."
            )
    concrete = [role for role in roles if not role[1].is_abstract]
    if not concrete:
        return ()
    first, chosen = concrete[0]
    for other, sharding in concrete[1:]:
        if sharding.device_tuple != chosen.device_tuple:
            raise ValueError(
                f"incompatible devices for `{name}`: {first} is on the devices "
                f"{_device_numbers(chosen)}, {other} on {_device_numbers(sharding)}. Bring both to "
                "the same "
                "devices, in the same order, by device_put."
            )
    return chosen.device_tuple


def _device_numbers(sharding: Sharding) -> list[int]:
    return [device.id for device in sharding.device_tuple]


_SEQUENCES = (tuple, list)

# Types of most parameters, which contain no devices.
_PLAIN = {int, bool, float, str, tuple, type(None), *(type(np.dtype(x)) for x in "?bhilBHILefdFD")}


def shardings_within(jaxpr: Jaxpr) -> list[Sharding]:
    """The shardings in the parameters of a program's equations, nested programs included."""
    found: list[Sharding] = []
    seen, pending = {jaxpr}, [jaxpr]
    while pending:
        for eqn in pending.pop().eqns:
            for value in eqn.params.values():
                items = value if isinstance(value, _SEQUENCES) else (value,)
                if _PLAIN.issuperset(map(type, items)):
                    continue
                for each in items:
                    if isinstance(each, Sharding):
                        found.append(each)
                    elif isinstance(each, Mesh | AbstractMesh):
                        found.append(NamedSharding(each, PartitionSpec()))
                    elif isinstance(each, Jaxpr) and each not in seen:
                        seen.add(each)
                        pending.append(each)
    return found


@cached_by_jaxpr
def has_shardings(jaxpr: Jaxpr) -> bool:
    """Return True if a program, or an inner one, determines where it runs."""
    on_host = memories.some_on_host([*jaxpr.in_avals, *jaxpr.out_avals])
    return on_host or bool(shardings_within(jaxpr))


def evaluate_partitioned(
    primitive: Primitive,
    args: Sequence[Any],
    in_avals: tuple[ShapedArray, ...],
    params: dict[str, Any],
    where: places.Places,
) -> list[Any]:
    """Evaluate a primitive on the devices of its operands."""
    if not places.is_elsewhere(where):
        return list(run_program(compile_primitive(primitive, in_avals, params), args))
    return _programs_for(where)(primitive, in_avals, params)(args)


def evaluate_jaxpr(jaxpr: Jaxpr, name: str, args: Sequence[Any]) -> list[Any]:
    """The results of a program, compiled once, on the devices of its operands."""
    where = places.argument_places(args)
    if places.is_elsewhere(where) or has_shardings(jaxpr):
        programs = _programs_of.setdefault(jaxpr, {})
        if where not in programs:
            programs[where] = program_at(jaxpr, name, where)
        return list(programs[where](args))
    compiled = once_for_jaxpr(jaxpr, (), lambda: compile_text(jaxpr, lowering.lower(jaxpr, name)))
    return list(run_program(compiled, args))


def program_at(
    jaxpr: Jaxpr, name: str, where: places.Places, out_shardings: places.Shardings = ()
) -> PartitionedProgram:
    """The program for operands at these places."""
    names = [f"operand {number}" for number in range(len(jaxpr.invars))]
    in_shardings = where.shardings or (None,) * len(jaxpr.invars)
    outs = out_shardings or (None,) * len(jaxpr.outvars)
    program = PartitionedProgram(name, jaxpr, in_shardings, outs, names, {}, {}, where.default)
    return program.compile()


# weak: an executable is freed with its jaxpr, as in `once_for_jaxpr`
_programs_of: "WeakKeyDictionary[Jaxpr, dict[Any, PartitionedProgram]]" = WeakKeyDictionary()


@cache
def _programs_for(where: places.Places) -> Any:
    """The function that compiles a primitive for these places, once per operand types."""

    @once_for_types
    def primitive_program(
        primitive: Primitive, in_avals: tuple[ShapedArray, ...], params: dict[str, Any]
    ) -> PartitionedProgram:
        return program_at(jaxpr_of_primitive(primitive, in_avals, params), primitive.name, where)

    return primitive_program


def move_on_devices(x: Array, sharding: Sharding, committed: bool) -> Array:
    """`x` with another sharding, moved by a program on its devices.

    Raises:
        ValueError: the sharding has other devices, or the same in another order.
    """
    if sharding.device_tuple != x.sharding.device_tuple:
        raise ValueError(
            f"{x.aval} is sharded over several processes, on the devices "
            f"{_device_numbers(x.sharding)}, "
            f"and can only be moved to a sharding on these, in this order, found "
            f"{_device_numbers(sharding)}. "
            "glassjax.experimental.multihost_utils.process_allgather(x, "
            "tiled=True) gives all of it to each process"
        )
    (out,) = _moving(x.aval, x.sharding, sharding)([x])
    return array_at(out.buffer, out.aval, committed)


@lru_cache(maxsize=1024)
def _moving(aval: ShapedArray, source: Sharding, target: Sharding) -> PartitionedProgram:
    x = Var(aval)
    jaxpr = Jaxpr([], [x], [], [x])
    if source.unreduced_count > 1 or target.unreduced_count > 1:
        out = Var(sharded.type_at(sharded.unsharded(aval), target))
        moved = JaxprEqn(sharded.reshard_p, [x], [out], {"sharding": target})
        jaxpr = Jaxpr([], [x], [moved], [out])
    return PartitionedProgram("jit_device_put", jaxpr, [source], [target], ["x"], {}, {}).compile()
