"""Calls of exported functions."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from types import SimpleNamespace
from typing import Any, NoReturn

import numpy as np

from glassjax import xla
from glassjax.callbacks import one_by_one
from glassjax.dimensions.expressions import is_symbolic
from glassjax.dimensions.solving import Equation, fits, solved_sizes, type_at
from glassjax.lax.key_arrays import random_unwrap_p, random_wrap_p
from glassjax.lax.sharding import sharding_constraint_p
from glassjax.primitives.declare import lower_array
from glassjax.primitives.higher_order import declare_opaque, pass_token_on
from glassjax.runtime.inspection import PartitionedModule
from glassjax.runtime.lowering import declared_mesh, on_each_device, platform_of
from glassjax.runtime.partitioning import evaluate_jaxpr
from glassjax.runtime.symbolic_modules import dynamic_signature, dynamic_type
from glassjax.settings.names import counted
from glassjax.settings.number_types import implementation_of, is_key_type
from glassjax.shardings.memories import takes_memories
from glassjax.shardings.sharding import NamedSharding
from glassjax_stage2 import Primitive, ShapedArray, bind, typeof
from glassjax_stage2.vmap import BatchAxis, BatchDim
from glassjax_stage3 import Jaxpr, JaxprEqn, Var, lowering_rules
from glassjax_stage3.jaxpr import require_accepted
from glassjax_stage3.lowering import FunctionBuilder, Value, mlir_type, symbol

call_exported_p = Primitive("call_exported", higher_order=True)
effectful_call_exported_p = Primitive("effectful_call_exported", higher_order=True)

PLATFORM_NUMBER = ShapedArray((), np.dtype(np.int32))

# The sharding of each argument or result, on an abstract mesh; None: free.
AbstractShardings = tuple[NamedSharding | None, ...]


def words_type(aval: ShapedArray) -> ShapedArray:
    """The type that an argument or result has in a module: keys are passed as their words."""
    if not is_key_type(aval.dtype):
        return aval
    shape = (*aval.shape, *implementation_of(aval.dtype).key_shape)
    return ShapedArray(shape, np.dtype(np.uint32))


@dataclass(eq=False, repr=False)
class PortableProgram:
    """A program in StableHLO, and the types of its arguments and results.

    Attributes:
        name: the name of the function.
        module: the module, in its portable form. The first argument of a module for several
            platforms is the number of the platform that it runs on.
        platforms: the platforms that it is for.
        in_avals, out_avals: the types of arguments and results.
        num_devices: the number of devices that it is sharded over.
        in_shardings, out_shardings: the shardings of arguments and results.
        kept: the numbers of the arguments that the module has.
        any_platform: whether other platforms may run it; they run what is for the first.
        effectful: whether a call is kept even if its results are unused.
        argument_names: the names of the arguments, for messages about symbolic sizes.
    """

    name: str
    module: bytes
    platforms: tuple[str, ...]
    in_avals: Sequence[ShapedArray]
    out_avals: Sequence[ShapedArray]
    num_devices: int
    in_shardings: AbstractShardings
    out_shardings: AbstractShardings
    kept: Sequence[int]
    any_platform: bool
    effectful: bool
    argument_names: Sequence[str]

    def __post_init__(self) -> None:
        self.primitive = effectful_call_exported_p if self.effectful else call_exported_p
        self._jaxprs: dict[tuple[ShapedArray, ...], Jaxpr] = {}

    @property
    def text(self) -> str:
        """The module as text.

        Raises:
            ValueError: as for `main`.
        """
        return self.main[0]

    @cached_property
    def main(self) -> tuple[str, list[ShapedArray]]:
        """The module as text, and the types of the arguments of its `main`.

        The number of the platform has 32 or, in programs of JAX, 64 bits.

        Raises:
            ValueError: this version of jaxlib cannot read the data, or the program has other types.
        """
        try:
            text, found = xla.from_portable(self.module)
        except (RuntimeError, ValueError) as error:
            raise ValueError(
                f"export: jaxlib {xla.jaxlib_version()} cannot read the program of "
                f"`{self.name}`, which a newer version may have written: {error}"
            ) from None
        takes = [words_type(self.in_avals[number]) for number in self.kept]
        if self.takes_platform:
            wide = found.startswith("(tensor<i64>")
            takes.insert(0, ShapedArray((), np.dtype(np.int64)) if wide else PLATFORM_NUMBER)
        expected = dynamic_signature(takes, list(map(words_type, self.out_avals)))
        if found != expected:
            raise ValueError(
                f"export: the program of `{self.name}` should be {expected}, and is {found}"
            )
        return text, takes

    @property
    def takes_platform(self) -> bool:
        """True if the first argument of the module is the number of the platform."""
        return len(self.platforms) > 1

    def platform_number(self, platform: str) -> int:
        """The number of a platform among those that the program is for.

        Raises:
            ValueError: it is not among them.
        """
        if platform in self.platforms:
            return self.platforms.index(platform)
        if self.any_platform:
            return 0
        raise ValueError(
            f"the exported `{self.name}` has platforms={[*self.platforms]}, and is called "
            f"where programs run on {platform!r}. Export it with "
            f"platforms={[*self.platforms, platform]}."
        )

    @cached_property
    def is_symbolic(self) -> bool:
        """True if sizes of arguments or results are symbolic."""
        avals = *self.in_avals, *self.out_avals
        return any(is_symbolic(aval.shape) for aval in avals)

    def result_types(self, found: Sequence[ShapedArray]) -> list[ShapedArray]:
        """The types of the results for arguments of these types.

        Raises:
            TypeError: the program takes other types.
            ValueError: symbolic sizes that it takes would need several values at once.
        """
        caller = f"the exported `{self.name}`"
        if not self.is_symbolic:
            require_accepted(caller, self.in_avals, found)
            return list(self.out_avals)
        if len(found) != len(self.in_avals) or not all(map(fits, self.in_avals, found)):
            expected, given = (", ".join(map(str, avals)) for avals in (self.in_avals, found))
            raise TypeError(f"{caller} takes {expected}, found {given}")
        equations = [
            Equation(size, given, f"{name}.shape[{axis}]")
            for takes, aval, name in zip(self.in_avals, found, self.argument_names, strict=True)
            for axis, (size, given) in enumerate(zip(takes.shape, aval.shape, strict=True))
        ]
        values = solved_sizes(caller, equations)
        return [type_at(aval, values) for aval in self.out_avals]

    def calling_jaxpr(self, in_avals: Sequence[ShapedArray]) -> Jaxpr:
        """A jaxpr that only calls it, for arguments of these types."""
        types = tuple(in_avals if self.is_symbolic else self.in_avals)
        if types not in self._jaxprs:
            invars, outvars = (list(map(Var, avals)) for avals in (types, self.result_types(types)))
            eqn = JaxprEqn(self.primitive, invars, outvars, {"program": self})
            self._jaxprs[types] = Jaxpr([], invars, [eqn], outvars)
        return self._jaxprs[types]

    def __call__(self, *leaves: Any) -> list[Any]:
        return bind(self.primitive, *leaves, program=self)

    def __repr__(self) -> str:
        return self.name


def _exported_call_impl(*args: Any, program: PortableProgram) -> list[Any]:
    jaxpr = program.calling_jaxpr(list(map(typeof, args)))
    return evaluate_jaxpr(jaxpr, f"exported_{program.name}", args)


def _exported_call_type(*in_avals: ShapedArray, program: PortableProgram) -> list[ShapedArray]:
    return program.result_types(in_avals)


def _exported_call_lower(
    b: FunctionBuilder,
    out_avals: Sequence[ShapedArray],
    *args: Value,
    program: PortableProgram,
) -> list[Value]:
    """Add the functions of the program to the module, under new names, and a call."""
    platform_number = program.platform_number(platform_of(b))
    text, takes = program.main
    _require_devices(b, program, text)
    function = b.module.names.get(program)
    if function is None:
        prefix = f"exported_{symbol(program.name)}_{len(b.module.names)}"
        function = b.module.names[program] = f"{prefix}_main"
        b.module.functions.append(_functions_of(b, text, prefix))
    args = tuple(map(_with_sharding, [b] * len(args), args, program.in_shardings))
    taken = []
    if program.takes_platform:
        taken.append(lower_array(b, np.array(platform_number, takes[0].dtype)))
    taken += [_words(b, args[number]) for number in program.kept]
    outs = _call(b, function, taken, program, takes, list(map(words_type, out_avals)))
    outs = list(map(_from_words, [b] * len(outs), outs, out_avals))
    return list(map(_with_sharding, [b] * len(outs), outs, program.out_shardings))


def _call(
    b: FunctionBuilder,
    function: str,
    operands: Sequence[Value],
    program: PortableProgram,
    takes: Sequence[ShapedArray],
    returns: Sequence[ShapedArray],
) -> list[Value]:
    """A call of the function of a program, whose sizes XLA derives if they are symbolic."""
    types = dynamic_signature(takes, list(map(words_type, program.out_avals)))
    if not program.is_symbolic:
        names = ", ".join(x.name for x in operands)
        return b.emit(f"func.call @{function}({names}) : {types}", *returns)
    b.module.is_dynamic = True  # type: ignore[attr-defined]
    names = ", ".join(
        _converted(b, x.name, mlir_type(x.aval), dynamic_type(aval), x.aval).name
        for x, aval in zip(operands, takes, strict=True)
    )
    outs = b.emit(f"func.call @{function}({names}) : {types}", *returns)
    return [
        _converted(b, x.name, dynamic_type(words_type(aval)), mlir_type(x.aval), x.aval)
        for x, aval in zip(outs, program.out_avals, strict=True)
    ]


def _converted(b: FunctionBuilder, x: str, source: str, target: str, aval: ShapedArray) -> Value:
    (out,) = b.emit(f"stablehlo.convert {x} : ({source}) -> {target}", aval)
    return out


def _words(b: FunctionBuilder, x: Value) -> Value:
    aval = words_type(x.aval)
    return x if aval is x.aval else lowering_rules[random_unwrap_p](b, [aval], x)[0]


def _from_words(b: FunctionBuilder, x: Value, aval: ShapedArray) -> Value:
    if not is_key_type(aval.dtype):
        return x
    return lowering_rules[random_wrap_p](b, [aval], x, impl=implementation_of(aval.dtype))[0]


def _require_devices(b: FunctionBuilder, program: PortableProgram, text: str) -> None:
    """Raise ValueError unless a module has as many devices as the program.

    A program for one device, without a mesh and collectives, can be sharded over any number.
    """
    count = b.module.num_devices if isinstance(b.module, PartitionedModule) else 1
    each_alone = on_each_device.get()
    needed = program.num_devices
    if needed == (1 if each_alone else count):
        return
    if needed == 1 and not (_MESH.search(text) or _NUMBERED_DEVICES.search(text)):
        return
    role = f"the exported `{program.name}` is for {counted(needed, 'device')}, and is called "
    if each_alone:
        raise ValueError(f"{role}on each device by itself, within shard_map. Call it outside.")
    remedy = (
        f"Bring an argument to {counted(needed, 'device')} by device_put, or call it under "
        "`with glassjax.set_mesh(mesh):`"
    )
    if count > 1:
        remedy += f"; or export it again for {count}"
    raise ValueError(f"{role}where programs run on {count}. {remedy}.")


def _with_sharding(b: FunctionBuilder, x: Value, sharding: NamedSharding | None) -> Value:
    if sharding is None or sharding.num_devices == 1:
        return x
    (out,) = lowering_rules[sharding_constraint_p](b, [x.aval], x, sharding=sharding)
    return out


_SYMBOL = re.compile(r"@([\w.$-]+)")
_FUNCTION = re.compile(r"func\.func (?:public |private )?@([\w.$-]+)")
_MESH = re.compile(r"^ *sdy\.mesh @([\w.$-]+) = <\[(.*)\]>.*\n", re.MULTILINE)
_NUMBERED_DEVICES = re.compile(r"replica_groups|source_target_pairs|stablehlo\.partition_id")
# What JAX says of an argument or result of `main` beside its sharding.
_ROLE = re.compile(r'\b(?:jax\.global_constant|jax\.result_info) = "(?:[^"\\]|\\.)*"(?:, )?')
_AXIS = re.compile(r'"([^"]*)"=(\d+)')


def _functions_of(b: FunctionBuilder, text: str, prefix: str) -> str:
    """The functions of a module, made private, with `prefix` before their names.

    Their meshes become meshes of the module that they are added to.
    """
    body = text[text.index("{\n", text.index("module")) + 2 : text.rindex("}")]
    body = _ROLE.sub("", body)
    names = {name: f"{prefix}_{name}" for name in _FUNCTION.findall(body)}
    for name, axes in _MESH.findall(body):
        sizes = tuple([(axis, int(size)) for axis, size in _AXIS.findall(axes)])
        names[name] = declared_mesh(b.module, SimpleNamespace(shape_tuple=sizes))
    body = _MESH.sub("", body).rstrip()
    body = _SYMBOL.sub(lambda match: f"@{names.get(match[1], match[1])}", body)
    return re.sub(r"func\.func (?:public |private )?@", "func.func private @", body)


def _exported_call_vmap(
    primitive: Primitive,
    axis: BatchAxis,
    values: Sequence[Any],
    dims: Sequence[BatchDim],
    **params: Any,
) -> tuple[list[Any], list[BatchDim]]:
    """A loop over the examples: only the compiled form of one call is known."""
    return one_by_one(primitive, axis, values, dims, params)


def _exported_call_jvp(*args: Any, program: PortableProgram) -> NoReturn:
    raise NotImplementedError(
        f"the exported `{program.name}` cannot be differentiated: only its compiled form was "
        "exported. Write it with its derivative, serialize(vjp_order=1), and use reverse mode; or "
        "export its gradient instead: export(jit(value_and_grad(f)))(...)."
    )


for _primitive in (call_exported_p, effectful_call_exported_p):
    declare_opaque(
        _primitive,
        evaluate=_exported_call_impl,
        abstract_eval=_exported_call_type,
        lower=_exported_call_lower,
        vmap=partial(_exported_call_vmap, _primitive),
        sharding=None,
        jvp=_exported_call_jvp,
        order=pass_token_on,
        effects=_primitive is effectful_call_exported_p,
    )
    takes_memories.add(_primitive)

# Arrays in the text of a program: closed-over arrays are exported with it.
constant_p = Primitive("constant")


def _constant_lower(
    b: FunctionBuilder, out_avals: Sequence[ShapedArray], *, value: Any
) -> list[Value]:
    return [lower_array(b, value)]


lowering_rules[constant_p] = _constant_lower
