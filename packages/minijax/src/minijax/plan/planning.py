"""`plan`: compile a function for a mesh, and say what each device would need."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from minijax import xla
from minijax.plan.absent_devices import compile_for
from minijax.plan.figures import Plan
from minijax.plan.hlo import HloModule
from minijax.plan.work import collectives, flops
from minijax.runtime.evaluation import evaluated_by_library
from minijax.runtime.jit import PjitFunction, jit
from minijax.runtime.places import declared_shardings
from minijax.settings.counted import counted
from minijax.shardings.context import get_abstract_mesh, use_abstract_mesh
from minijax.shardings.mesh import AbstractMesh, Mesh
from minijax.shardings.sharding import NamedSharding
from minijax_stage2 import tree_leaves
from minijax_stage2.arguments import require_function
from minijax_stage2.errors import shown


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
    """Compile a function for a mesh, whose devices need not be there, and say what it would take.

    The function is traced here, and compiled in another process, for GPUs or for a CPU divided into
    as many devices. Nothing is computed.

    Arguments:
        fun: function of arrays and pytrees of arrays, jitted or not.
        args: its arguments; anything with a shape and a dtype may replace an array, and
            `ShapeDtypeStruct(shape, dtype, sharding=...)` says how the array is divided.
        mesh: the mesh, such as `AbstractMesh((64, 8), ("data", "model"))`; by default that of the
            shardings of arguments, or that in context. Each `PartitionSpec` is of this mesh.
        in_shardings, out_shardings, static_argnums, static_argnames, donate_argnums,
            donate_argnames, compiler_options: as for `jit`.
        topology: the devices: "a100", "h100", "h200" or "b200", eight in a machine; None: a CPU.
            The plugin for GPUs has to be installed, by `pip install 'minijax[cuda13]'`, but there
            need not be a GPU, nor a driver.

    Returns:
        The figures, for each device: bytes of arguments, results and temporaries, floating-point
        operations, and collectives with their bytes and the axes of the mesh that they are along.
        They are those of the program that XLA makes for these devices.

    Raises:
        TypeError: `fun` is not a function, or `mesh` not a mesh.
        ValueError: there is no mesh; nothing says how arrays are divided among its devices; `fun`
            calls Python functions; there is no such topology.
        PlatformError: the plugin for GPUs is not installed.
        CompileError: XLA does not compile the program.

    >>> from minijax.experimental import plan
    >>> mesh = minijax.sharding.AbstractMesh((4, 2), ("data", "model"))
    >>> x = minijax.ShapeDtypeStruct((64, 32), "float32")
    >>> w = minijax.ShapeDtypeStruct((32, 16), "float32")
    >>> P = minijax.P
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
            f"plan: `{lowered.fun_name}` calls Python functions, and such a program is not "
            "divided. Leave out callbacks, such as debug.print."
        )
    found = _PARTITIONS.search(text)
    partitions = int(found[1]) if found else 1
    if partitions != size:
        raise ValueError(
            f"plan: the mesh has {counted(size, 'device')}, and `{lowered.fun_name}` is for "
            f"{partitions}: nothing says how arrays are divided among those of the mesh. Give "
            "in_shardings, or arguments ShapeDtypeStruct(shape, dtype, sharding=...)."
        )
    compiled = compile_for(text, size, lowered.compiler_options, topology)
    module = HloModule(compiled.hlo)
    argument_bytes: dict[str, int] = {}
    for name, part in zip(lowered.argument_names, module.argument_types, strict=True):
        argument_bytes[name] = argument_bytes.get(name, 0) + part.nbytes
    return Plan(
        lowered.fun_name,
        axes.shape,
        argument_bytes,
        compiled.memory,
        flops(module),
        collectives(module, axes.shape),
        module.unbounded,
        topology,
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
            "plan: there is no mesh. Give mesh, such as minijax.sharding.AbstractMesh((64, 8), "
            '("data", "model")), or arguments with shardings'
        )
    return found


__all__ = ["plan"]
