"""Planning: the memory, work and communication of a program on devices that need not exist."""

import json
import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from glassjax import xla
from glassjax.plan.absent_devices import compile_for
from glassjax.plan.costs import Collective, Runs, collectives, flops
from glassjax.runtime.evaluation import evaluated_by_library
from glassjax.runtime.jit import PjitFunction, jit
from glassjax.runtime.places import declared_shardings
from glassjax.settings.names import counted
from glassjax.shardings.mesh import AbstractMesh, Mesh, get_abstract_mesh, use_abstract_mesh
from glassjax.shardings.sharding import NamedSharding
from glassjax.xla.hlo import read_module
from glassjax_stage2 import tree_leaves
from glassjax_stage2.arguments import require_function
from glassjax_stage2.errors import shown

# The figures of a plan, and their table.


@dataclass(eq=False, repr=False)
class Plan:
    """Memory, work and communication of one run of a program on each device of a mesh.

    Attributes:
        name: the name of the function.
        mesh: the size of each axis of the mesh, by name.
        topology: the kind of GPU; None: a CPU.
        argument_bytes: the bytes of a device's part of each argument, by name.
        output_bytes: the bytes of a device's part of the results.
        alias_bytes: the bytes of results in the memory of donated arguments.
        temporary_bytes: the bytes of intermediate values: activations, gradients, buffers of
            collectives.
        flops: the floating-point operations of matrix products and convolutions.
        collectives: a `Collective` for each in the program.
        unbounded_loops: the number of loops with unknown trip counts, which are counted once.

    `str` and `print` show a table; `rich.print` shows it in colors.
    """

    name: str
    mesh: Mapping[Hashable, int]
    topology: str | None
    argument_bytes: Mapping[str, int]
    output_bytes: int
    alias_bytes: int
    temporary_bytes: int
    flops: int
    collectives: list[Collective]
    unbounded_loops: int

    @property
    def peak_bytes(self) -> int:
        """The bytes of arguments, results and temporaries together."""
        outputs = self.output_bytes - self.alias_bytes
        return sum(self.argument_bytes.values()) + outputs + self.temporary_bytes

    @property
    def bytes_sent(self) -> int:
        """The bytes that a device sends in one run."""
        return sum(each.times * each.bytes_sent for each in self.collectives)

    def to_dict(self) -> dict[str, Any]:
        """All figures by name: numbers, strings, lists and dicts."""
        return {
            "name": self.name,
            "mesh": {str(name): size for name, size in self.mesh.items()},
            "topology": self.topology,
            "per_device": {
                "argument_bytes": self.argument_bytes,
                "output_bytes": self.output_bytes,
                "alias_bytes": self.alias_bytes,
                "temporary_bytes": self.temporary_bytes,
                "peak_bytes": self.peak_bytes,
                "flops": self.flops,
                "bytes_sent": self.bytes_sent,
            },
            "collectives": [each.to_dict() for each in self.collectives],
            "unbounded_loops": self.unbounded_loops,
        }

    def to_json(self) -> str:
        """`to_dict` as JSON."""
        return json.dumps(self.to_dict(), indent=2)

    # The printed table

    @property
    def _title(self) -> str:
        axes = ", ".join(f"{name}={size}" for name, size in self.mesh.items())
        device = "device" if self.topology is None else self.topology
        return f"`{self.name}` on each {device} of {axes}"

    def _figures(self) -> list[tuple[str, str]]:
        by_argument: dict[str, int] = {}
        for name, nbytes in self.argument_bytes.items():
            first = re.split(r"[.\[]", name, maxsplit=1)[0]
            by_argument[first] = by_argument.get(first, 0) + nbytes
        return [
            ("arguments", _bytes(sum(by_argument.values()))),
            *[(f"  {name}", _bytes(nbytes)) for name, nbytes in by_argument.items()],
            ("results", _bytes(self.output_bytes)),
            ("  in the memory of arguments", _bytes(self.alias_bytes)),
            ("temporaries", _bytes(self.temporary_bytes)),
            ("peak memory", _bytes(self.peak_bytes)),
            ("matrix products", _decimal_prefix(self.flops, "FLOP")),
            *[("loops counted once", str(count)) for count in [self.unbounded_loops] if count],
        ]

    def _rows(self) -> list[tuple[str, ...]]:
        """The collectives, grouped by kind and axes."""
        groups: dict[Any, list[Collective]] = {}
        for each in self.collectives:
            groups.setdefault((each.kind, each.axes, each.devices), []).append(each)
        totals = {
            key: [
                sum(each.times for each in found),
                sum(each.times * each.bytes for each in found),
                sum(each.times * each.bytes_sent for each in found),
            ]
            for key, found in groups.items()
        }
        return [
            (
                kind,
                ", ".join(map(str, axes)) or "nothing",
                str(devices),
                str(times),
                _bytes(nbytes),
                _bytes(sent),
            )
            for (kind, axes, devices), (times, nbytes, sent) in sorted(
                totals.items(), key=lambda item: -item[1][2]
            )
        ]

    def __str__(self) -> str:
        lines = [self._title, *_aligned_rows(self._figures(), 1)]
        rows = self._rows()
        lines += _aligned_rows([_HEADS, *rows], 2) if rows else ["no collectives"]
        return "\n".join(line.rstrip() for line in lines)

    def __repr__(self) -> str:
        return f"<Plan: {self._title}>"

    def __rich__(self) -> Any:
        from rich.console import Group
        from rich.table import Table

        figures, collectives = Table(title=self._title, show_header=False), Table()
        figures.add_column()
        figures.add_column(justify="right")
        for row in self._figures():
            figures.add_row(*row)
        for number, head in enumerate(_HEADS):
            collectives.add_column(head, justify="left" if number < 2 else "right")
        for cells in self._rows():
            collectives.add_row(*cells)
        return Group(figures, collectives)


_HEADS = ("collectives", "along", "devices", "times", "bytes", "sent")


def _aligned_rows(rows: Sequence[Sequence[str]], left: int) -> list[str]:
    """Rows as lines, with the first `left` columns aligned on the left."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            text.ljust(width) if number < left else text.rjust(width)
            for number, (text, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]


def _bytes(count: int) -> str:
    return _decimal_prefix(count, "B")


def _decimal_prefix(count: int, unit: str) -> str:
    """A number with three digits at least, and a decimal prefix."""
    value, prefixes = float(count), iter(("", "k", "M", "G", "T", "P", "E"))
    prefix = next(prefixes)
    while value >= 999.5 and prefix != "E":
        value, prefix = value / 1000, next(prefixes)
    digits = 0 if not prefix or value >= 100 else 1 if value >= 10 else 2
    return f"{value:.{digits}f} {prefix}{unit}"


# `plan`: compile a function for a mesh, and predict the needs of each device.


@evaluated_by_library
def plan(
    fun: Callable[..., Any],
    *args: Any,
    mesh: Mesh | AbstractMesh | None = None,
    in_shardings: Any = None,
    out_shardings: Any = None,
    static_argnums: int | Iterable[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: int | Iterable[int] | None = None,
    donate_argnames: str | Iterable[str] | None = None,
    compiler_options: Mapping[str, Any] | None = None,
    topology: str | None = None,
) -> Plan:
    """Compile a function for a mesh, whose devices need not exist, and predict its cost.

    The function is traced here, and compiled in another process, for GPUs or for a CPU that acts as
    that many devices. Nothing is computed.

    Arguments:
        fun: function of arrays and pytrees of arrays, jitted or not.
        args: its arguments; anything with a shape and a dtype may replace an array, and
            `ShapeDtypeStruct(shape, dtype, sharding=...)` specifies its sharding.
        mesh: the mesh, such as `AbstractMesh((64, 8), ("data", "model"))`; by default the mesh of
            the arguments' shardings, or the mesh in context. Each `PartitionSpec` refers to this
            mesh.
        in_shardings, out_shardings, static_argnums, static_argnames: as in `jit`.
        donate_argnums, donate_argnames, compiler_options: as in `jit`.
        topology: the devices: "a100", "h100", "h200" or "b200", eight in a machine; None: a CPU.
            The plugin for GPUs must be installed, by `pip install 'glassjax[cuda13]'`; a GPU or
            driver is not needed.

    Returns:
        The figures, for each device: bytes of arguments, results and temporaries, floating-point
        operations, and collectives with their bytes and mesh axes. They are taken from the program
        that XLA compiles for these devices.

    Raises:
        TypeError: `fun` is not a function, or `mesh` not a mesh.
        ValueError: there is no mesh; nothing says how arrays are sharded over its devices; `fun`
            calls Python functions; there is no such topology.
        PlatformError: the plugin for GPUs is not installed.
        CompileError: XLA does not compile the program.

    >>> from glassjax.experimental import plan
    >>> mesh = glassjax.sharding.AbstractMesh((4, 2), ("data", "model"))
    >>> x = glassjax.ShapeDtypeStruct((64, 32), "float32")
    >>> w = glassjax.ShapeDtypeStruct((32, 16), "float32")
    >>> P = glassjax.P
    >>> found = plan(jnp.dot, x, w, mesh=mesh, in_shardings=(P("data", "model"), P("model")))
    >>> print(found)
    `dot` on each device of data=4, model=2
    arguments                        2.05 kB
      a                              1.02 kB
      b                              1.02 kB
    results                          1.02 kB
      in the memory of arguments         0 B
    temporaries                      1.02 kB
    peak memory                      4.10 kB
    matrix products               8.19 kFLOP
    collectives  along  devices  times    bytes     sent
    all-reduce   model        2      1  1.02 kB  1.02 kB
    """
    require_function("plan", fun)
    if topology is not None and topology not in xla.GPUS:
        raise ValueError(
            f"plan: topology is one of {', '.join(map(repr, xla.GPUS))}, or None, which means a "
            f"CPU; found {shown(topology)}"
        )
    options = {
        "in_shardings": in_shardings,
        "out_shardings": out_shardings,
        "static_argnums": static_argnums,
        "static_argnames": static_argnames,
        "donate_argnums": donate_argnums,
        "donate_argnames": donate_argnames,
        "compiler_options": compiler_options,
    }
    given = {name: value for name, value in options.items() if value is not None}
    function = fun if isinstance(fun, PjitFunction) and not given else jit(fun, **given)
    axes = _mesh_of(mesh, args)
    with use_abstract_mesh(axes):
        platform = "cpu" if topology is None else "cuda"
        lowered = function.trace(*args).lower(lowering_platforms=(platform,))
    text, size = lowered.as_text(), axes.size
    if xla.calls_python(text):
        raise ValueError(
            f"plan: `{lowered.fun_name}` calls Python functions, and such a program cannot "
            "be partitioned. Leave out callbacks, such as debug.print."
        )
    found = _PARTITIONS.search(text)
    partitions = int(found[1]) if found else 1
    if partitions != size:
        raise ValueError(
            f"plan: the mesh has {counted(size, 'device')}, and `{lowered.fun_name}` is for "
            f"{partitions}: no array is sharded over the mesh. Pass in_shardings, or arguments "
            "ShapeDtypeStruct(shape, dtype, sharding=...)."
        )
    compiled = compile_for(text, size, lowered.compiler_options, topology)
    runs = Runs(read_module(compiled.module))
    argument_bytes: dict[str, int] = {}
    for name, part in zip(lowered.argument_names, runs.module.arguments, strict=True):
        argument_bytes[name] = argument_bytes.get(name, 0) + part.shape.bytes
    return Plan(
        lowered.fun_name,
        dict(axes.shape),
        topology,
        argument_bytes,
        compiled.memory["output_size_in_bytes"],
        compiled.memory["alias_size_in_bytes"],
        compiled.memory["temp_size_in_bytes"],
        flops(runs),
        collectives(runs, axes.shape),
        runs.unbounded,
    )


_PARTITIONS = re.compile(r"mhlo\.num_partitions = (\d+)")


def _mesh_of(mesh: Any, args: Any) -> AbstractMesh:
    if mesh is not None:
        if not isinstance(mesh, Mesh | AbstractMesh):
            raise TypeError(
                f"plan: mesh must be a Mesh or an AbstractMesh, found {shown(mesh)} of type "
                f"{type(mesh).__name__}"
            )
        return mesh.abstract_mesh
    for sharding in declared_shardings(tree_leaves(args)):
        if isinstance(sharding, NamedSharding):
            return sharding.mesh.abstract_mesh
    found = get_abstract_mesh()
    if found.empty:
        raise ValueError(
            "plan: there is no mesh. Give mesh, such as glassjax.sharding.AbstractMesh((64, 8), "
            '("data", "model")), or arguments with shardings'
        )
    return found


__all__ = ["plan"]
