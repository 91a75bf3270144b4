"""The places where programs run: from arguments, from `jit`'s options, and defaults."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from glassjax import xla
from glassjax.runtime.array import Array, some_placed, type_of
from glassjax.settings.config import Option, Switch, config
from glassjax.shardings.mesh import Device, Mesh, mesh_of_programs
from glassjax.shardings.partition_spec import PartitionSpec
from glassjax.shardings.sharding import (
    NamedSharding,
    Sharding,
    SingleDeviceSharding,
    entries_for,
    require_shardings,
    shardings_for,
)
from glassjax_stage2.errors import shown
from glassjax_stage2.tree import PyTreeDef


class DefaultPlacement(NamedTuple):
    """The devices of a program whose arguments are all uncommitted.

    Attributes:
        sharding: its devices; XLA chooses how results are sharded over them.
        committed: whether results are committed to them. If so, arguments may not be elsewhere.
        shards_results: whether results have this sharding.
    """

    sharding: Sharding
    committed: bool
    shards_results: bool = False


# The sharding of each argument or result, None if it is free; empty if all are free.
Shardings = tuple[Sharding | None, ...]


class Places(NamedTuple):
    """The shardings of a program's arguments, and its devices if these are all free.

    Attributes:
        shardings: the sharding of each argument.
        default: where the program runs if they are free; None: on the first device.
    """

    shardings: Shardings = ()
    default: DefaultPlacement | None = None

    @property
    def is_given(self) -> bool:
        """False if all arguments are uncommitted, and the program runs on the default device."""
        return bool(self.shardings) or self.default is not None


NOWHERE = Places()


def shardings_of(args: Sequence[Any]) -> Shardings:
    """The sharding of each committed argument; empty if all are uncommitted."""
    if not some_placed(args):
        return ()
    return tuple([x.sharding if type(x) is Array and x.committed else None for x in args])


def declared_shardings(types: Sequence[Any]) -> Shardings:
    """As `shardings_of`, for arguments that may be types with shardings."""
    found = []
    for x in types:
        is_free = isinstance(x, Array) and not (type(x) is Array and x.committed)
        sharding = None if is_free else getattr(x, "sharding", None)
        is_given = isinstance(sharding, NamedSharding) and not sharding.mesh.empty
        found.append(sharding if is_given or isinstance(sharding, SingleDeviceSharding) else None)
    return tuple(found) if any(found) else ()


def argument_places(args: Sequence[Any]) -> Places:
    """The places of the arguments of an operation."""
    return Places(shardings_of(args), default_placement())


def is_elsewhere(where: Places) -> bool:
    """Return True if an argument or a default moves a program off the default device."""
    return where.default is not None or any(where.shardings)


class GivenPlaces:
    """The places given to `jit`.

    Arguments:
        in_shardings: for the tuple of positional arguments, or a pytree prefix of it.
        out_shardings: for the result, or a pytree prefix of it.
        place: where the function runs, regardless of its arguments.

    Raises:
        TypeError: a sharding is something other than shardings, specs, devices and None.
    """

    def __init__(
        self,
        in_shardings: Any = None,
        out_shardings: Any = None,
        place: DefaultPlacement | None = None,
    ):
        require_shardings("jit", "in_shardings", in_shardings)
        require_shardings("jit", "out_shardings", out_shardings)
        self.in_shardings = in_shardings
        self.out_shardings = out_shardings
        self.place = place
        self.have_shardings = in_shardings is not None or out_shardings is not None

    def call_places(
        self,
        name: str,
        leaves: Sequence[Any],
        args: Any,
        names: Callable[[], Sequence[str]],
        types: bool = False,
    ) -> Places:
        """The places of the leaves of a call, and where the program runs if these are free.

        Arguments:
            name: the function's name, for messages.
            leaves: the leaves of all arguments; types, too, with `types`.
            args: the positional arguments.
            names: returns the names of the leaves.
        """
        if self.place is not None:  # regardless of arguments
            return Places((None,) * len(leaves), self.place)
        if self.have_shardings:
            shardings = self._argument_shardings(name, leaves, args, names)
        else:
            shardings = declared_shardings(leaves) if types else shardings_of(leaves)
        return Places(shardings, default_placement())

    def _argument_shardings(
        self, name: str, leaves: Sequence[Any], args: Any, names: Callable[[], Sequence[str]]
    ) -> Shardings:
        """The sharding of each leaf of the arguments, None if it is free.

        Raises:
            ValueError: an Array is committed elsewhere, or not divisible evenly; numbers of this
                process would be sharded over several processes.
        """
        given = shardings_for("jit", "in_shardings", self.in_shardings, args)
        given += [None] * (len(leaves) - len(given))  # arguments by keyword
        found = []
        lying = declared_shardings(leaves) or (None,) * len(leaves)
        for number, (x, sharding, lies) in enumerate(zip(leaves, given, lying, strict=True)):
            aval = type_of(x)
            ndim = aval.ndim
            if sharding is not None:
                try:
                    sharding.shard_shape(aval.shape)
                except ValueError as error:
                    text = f"jit of `{name}`: argument {names()[number]}: {error}"
                    raise ValueError(text) from None
            if lies and sharding and not lies.is_equivalent_to(sharding, ndim):
                raise ValueError(
                    f"jit of `{name}`: in_shardings says {sharding} for argument "
                    f"{names()[number]}, which has {lies}. Move it by device_put, or leave its "
                    "sharding out of in_shardings."
                )
            if sharding is not None and _shards_local_numbers(sharding, x):
                raise ValueError(
                    f"jit of `{name}`: in_shardings shards argument {names()[number]} over "
                    f"processes, and it is a {type(x).__name__}, which is local to each process. "
                    "make_array_from_process_local_data(sharding, x) makes an array of the parts "
                    "of all; device_put(x, sharding) one of a value that is the same in all."
                )
            # If both are given, they are equivalent, and with its own sharding the array need not
            # be moved.
            found.append(lies or sharding)
        return tuple(found)

    def with_refs(self, args: Any, are_refs: Sequence[bool], outer: int) -> "GivenPlaces":
        """The places of `runtime.refs.program_with_refs`, where arguments are references.

        Arguments:
            args: the positional arguments.
            are_refs: whether each leaf of the arguments is a reference.
            outer: the number of references that are used without being given.
        """
        if not self.have_shardings:
            return self
        entries = entries_for("jit", "in_shardings", self.in_shardings, args)
        entries += [None] * (len(are_refs) - len(entries))  # arguments by keyword
        pairs = [*zip(entries, are_refs, strict=True)]
        held = [entry for entry, is_ref in pairs if is_ref] + [None] * outer
        rest = [entry for entry, is_ref in pairs if not is_ref]
        # A reference keeps its sharding: its array is an argument and a result.
        return GivenPlaces((held, rest), (held, self.out_shardings))

    def result_shardings(self, out_tree: PyTreeDef) -> Shardings:
        """The sharding of each leaf of the result, None if it is free; empty if all are free."""
        if not self.have_shardings:
            return ()
        results = out_tree.unflatten(range(out_tree.num_leaves))
        return tuple(shardings_for("jit", "out_shardings", self.out_shardings, results))


def _shards_local_numbers(sharding: Sharding, x: Any) -> bool:
    """Return True if process-local numbers would be sharded over several processes."""
    return not (
        isinstance(x, Array)
        or hasattr(x, "to_aval")  # a type
        or sharding.is_abstract
        or sharding.is_fully_addressable
        or sharding.is_fully_replicated
    )


ANYWHERE = GivenPlaces()


# Defaults: the mesh in context, or the default device


def default_placement() -> DefaultPlacement | None:
    """The devices of programs with uncommitted arguments; None: the first device."""
    if not Switch.used:
        return None
    mesh = mesh_of_programs.get()
    if mesh is not None:
        return _on_mesh(mesh)
    device = default_device_option.value
    if isinstance(device, str):
        device = xla.devices(device)[0]
    return None if device is None else _single_device(device)


@lru_cache(maxsize=64)
def _on_mesh(mesh: Mesh) -> DefaultPlacement | None:
    # The default device alone needs no partitioner, unless types record the axes of the mesh.
    if mesh.device_tuple == (xla.default_device(),) and not mesh.explicit_axes:
        return None
    return DefaultPlacement(NamedSharding(mesh, PartitionSpec()), committed=True)


@lru_cache(maxsize=64)
def _single_device(device: Device) -> DefaultPlacement | None:
    if device == xla.default_device():
        return None
    return DefaultPlacement(SingleDeviceSharding(device), committed=False)


class _DefaultDevice(Option):
    """The setting that names a device or a platform.

    As for a switch, calls do not read it before it was first set.
    """

    def __init__(self) -> None:
        super().__init__(
            "default_device",
            ("cpu", "gpu", "cuda"),
            None,
            "The device of uncommitted arrays, or its kind; None: the first device.",
        )

    def _checked(self, value: Any) -> Any:
        if isinstance(value, str):
            xla.devices(value)
        elif value is not None and not isinstance(value, xla.device_class()):
            raise ValueError(
                "config: default_device is one of glassjax.devices(), a kind of devices such as "
                f"'cpu', or None; found {shown(value)} of type {type(value).__name__}"
            )
        Switch.used |= value is not None
        return value


config.options["default_device"] = default_device_option = _DefaultDevice()
