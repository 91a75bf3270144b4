"""Compiled programs as bytes, for processes on the same kind of machine."""

from __future__ import annotations

import pickle
import re
from collections.abc import Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any, NamedTuple

from glassjax import xla
from glassjax.runtime.array import Array, put_array
from glassjax.runtime.compilation_cache import loaded_executables
from glassjax.runtime.evaluation import evaluated_by_library
from glassjax.runtime.partitioning import PartitionedProgram
from glassjax.runtime.pipeline import Compilation, CompileOptions, Traced
from glassjax.runtime.places import Places, Shardings
from glassjax.runtime.stages import Compiled
from glassjax.shardings.mesh import Device
from glassjax.shardings.sharding import Sharding
from glassjax_stage2 import Primitive, ShapedArray
from glassjax_stage2.errors import shown
from glassjax_stage2.tree import PyTreeDef
from glassjax_stage3 import Jaxpr, JaxprEqn, Var, backend, lowering_rules
from glassjax_stage3.array import new_buffer
from glassjax_stage3.executable import device_type
from glassjax_stage3.lowering import FunctionBuilder, Value, signature


@evaluated_by_library
def serialize(compiled: Compiled) -> tuple[bytes, PyTreeDef, PyTreeDef]:
    """A compiled program as bytes, with the structures of its arguments and its result.

    Arrays that it closes over are part of the bytes.

    Arguments:
        compiled: the result of `jit(f).lower(...).compile()`.

    Returns:
        The first three arguments of `deserialize_and_load`.

    Raises:
        ValueError: the program calls Python functions, which are not part of it, or XLA cannot
            serialize it.
        TypeError: `compiled` is something else.

    >>> from glassjax.experimental import serialize_executable
    >>> compiled = glassjax.jit(lambda x: {"twice": 2 * x}).lower(1.0).compile()
    >>> serialized, in_tree, out_tree = serialize_executable.serialize(compiled)
    >>> loaded = serialize_executable.deserialize_and_load(serialized, in_tree, out_tree)
    >>> loaded(3.0)
    {'twice': Array(6., dtype=float32, weak_type=True)}
    """
    if not isinstance(compiled, Compiled):
        raise TypeError(
            f"serialize: expected the result of jit(f).lower(...).compile(), found "
            f"{shown(compiled)} of type {type(compiled).__name__}"
        )
    compilation = compiled._compilation
    devices = _devices_of(compilation)
    program = _Program(
        compilation.name,
        compilation.jaxpr.in_avals,
        compiled._leaf_avals,
        compilation.jaxpr.out_avals,
        compilation.kept,
        [
            (backend.get(x.buffer), x.sharding if type(x) is Array and x.is_placed else None)
            for x in compilation.consts()
        ],
        compilation.options,
        compilation.where,
        compilation.out_shardings,
        [*compiled._names],
        [device.id for device in devices],
        xla.fingerprint(devices),
        *_routines_and_code(compiled),
    )
    return pickle.dumps(tuple(program)), compiled.in_tree, compiled.out_tree


@evaluated_by_library
def deserialize_and_load(
    serialized: bytes,
    in_tree: PyTreeDef,
    out_tree: PyTreeDef,
    backend: Any = None,
    execution_devices: Sequence[Device] | None = None,
) -> Compiled:
    """Load a compiled program from the bytes of `serialize`.

    The bytes are machine code: their author can do whatever this process can.

    Arguments:
        serialized, in_tree, out_tree: the results of `serialize`.
        backend: the platform, "cpu" or "cuda", or a client of jaxlib; by default the first one.
        execution_devices: devices that include the devices of the program.

    Returns:
        A `Compiled`, as `serialize` was given.

    Raises:
        ValueError: the program was compiled by another jaxlib, for devices of another kind, or for
            missing devices; the devices are not devices of `backend`.

    >>> from glassjax.experimental import serialize_executable as executables
    >>> compiled = glassjax.jit(jnp.sin).lower(jnp.ones(3)).compile()
    >>> loaded = executables.deserialize_and_load(*executables.serialize(compiled))
    >>> loaded.input_shardings == compiled.input_shardings
    True
    """
    caller = "deserialize_and_load"
    program = _Program(*pickle.loads(serialized))
    client = (
        xla.devices(backend)[0].client if backend is None or isinstance(backend, str) else backend
    )
    chosen = [*(client.devices() if execution_devices is None else execution_devices)]
    if any(device.client is not client for device in chosen):
        raise ValueError(f"{caller}: execution_devices {chosen} do not belong to {client.platform}")
    by_id = {device.id: device for device in chosen}
    missing = [number for number in program.devices if number not in by_id]
    if missing:
        raise ValueError(
            f"{caller}: the program runs on the devices {program.devices}, found {sorted(by_id)}"
        )
    made_by = xla.fingerprint([by_id[number] for number in program.devices])
    if made_by != program.made_by:
        raise ValueError(
            f"{caller}: the program was compiled by {program.made_by}, and here is {made_by}; "
            "compile it again, or keep glassjax.export.export's programs, which later versions read"
        )
    xla.register_routines(program.routines, xla.platform_of(chosen[:1]))
    return Compiled(_Loaded(program, in_tree, out_tree), in_tree, program.names)


class _Program(NamedTuple):
    """The serialized form of a program.

    Attributes:
        name: the name of the function.
        in_avals: the types of the arguments of the module: constants, and leaves that it uses.
        leaf_avals: the types of all leaves of the arguments.
        out_avals: the types of the results.
        kept: the positions of the leaves that it uses.
        consts: the arrays that are its first arguments, and how they are sharded.
        options, where, out_shardings: as in the `Compilation`.
        names: the names of the leaves.
        devices: the numbers of its devices.
        made_by: the versions and the kind of the devices.
        routines: the names of the routines that it calls, for `xla.register_routines`.
        code: the machine code.
    """

    name: str
    in_avals: Sequence[ShapedArray]
    leaf_avals: Sequence[ShapedArray]
    out_avals: Sequence[ShapedArray]
    kept: Sequence[int]
    consts: Sequence[tuple[Any, Sharding | None]]
    options: CompileOptions
    where: Places
    out_shardings: Shardings
    names: Sequence[str]
    devices: Sequence[int]
    made_by: tuple[str, ...]
    routines: str
    code: bytes


# A compiled program is a jaxpr of one equation, of a primitive that is never compiled.
loaded_p = Primitive("loaded")


def _portable_lower(
    b: FunctionBuilder, out_avals: Sequence[ShapedArray], *operands: Value
) -> list[Value]:
    names = ", ".join(x.name for x in operands)
    return b.emit(
        f"stablehlo.custom_call @loaded({names}) : {signature(operands, out_avals)}", *out_avals
    )


lowering_rules[loaded_p] = _portable_lower


class _Loaded(Compilation):
    """The compilation of an already compiled program."""

    def __init__(self, program: _Program, in_tree: PyTreeDef, out_tree: PyTreeDef):
        count = len(program.consts)
        consts = [Var(aval) for aval in program.in_avals[:count]]
        leaves = [Var(aval) for aval in program.leaf_avals]
        outs = [Var(aval) for aval in program.out_avals]
        used = [*consts, *[leaves[position] for position in program.kept]]
        jaxpr = Jaxpr([], [*consts, *leaves], [JaxprEqn(loaded_p, used, outs, {})], outs)
        arrays = [
            Array(new_buffer(x, var.aval), var.aval)
            if sharding is None
            else put_array(x, var.aval, sharding)
            for var, (x, sharding) in zip(consts, program.consts, strict=True)
        ]
        traced = Traced(program.name, jaxpr, arrays, in_tree, out_tree)
        self.code, self.routines = program.code, program.routines
        self.program_class = partial(_LoadedPartitioned, program.code)
        super().__init__(traced, program.options, program.where, program.out_shardings)

    def compiled(self, text: str | None = None) -> Any:
        """The program for the default device."""
        types = [device_type(aval) for aval in self.jaxpr.out_avals]
        executable = xla.deserialize(self.code, types, dict(self.compiler_options))
        return SimpleNamespace(
            executable=executable,
            execute=executable.execute,
            in_avals=self.jaxpr.in_avals,
            out_avals=self.jaxpr.out_avals,
            as_text=executable.hlo_text,
        )


class _LoadedPartitioned(PartitionedProgram):
    def __init__(self, code: bytes, *arguments: Any):
        self.code = code
        super().__init__(*arguments)

    def _executable(self) -> xla.PartitionedExecutable:
        return xla.deserialize_partitioned(self.code, self.devices, self.options)


def _routines_and_code(compiled: Compiled) -> tuple[str, bytes]:
    compilation, executable = compiled._compilation, compiled.compiled.executable
    if isinstance(compilation, _Loaded):  # XLA serializes a program only where it compiled it
        return compilation.routines, compilation.code
    program = compilation.partitioned(lambda: ())
    text = compilation.text() if program is None else program.text
    if executable in loaded_executables:
        options = dict(compilation.compiler_options)
        if program is None:
            types = [device_type(aval) for aval in compiled.out_avals]
            executable = xla.compile(text, types, options)
        else:
            executable = xla.compile_partitioned(text, program.devices, options)
    try:
        code = xla.serialize(executable)
    except RuntimeError as error:
        raise ValueError(
            f"serialize: `{compiled.fun_name}` stays in its process: {error}"
        ) from error
    return " ".join(dict.fromkeys(re.findall(r"custom_call (@\w+)", text))), code


def _devices_of(compilation: Compilation) -> tuple[Device, ...]:
    program = compilation.partitioned(lambda: ())
    return (xla.default_device(),) if program is None else program.devices


__all__ = ["deserialize_and_load", "serialize"]
