"""Calls of exported functions."""

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from types import SimpleNamespace
from typing import Any, NoReturn

from glassjax import xla
from glassjax.lax.sharding import sharding_constraint_p
from glassjax.primitives.declare import lower_array
from glassjax.primitives.higher_order import declare_program
from glassjax.runtime.inspection import PartitionedModule
from glassjax.runtime.lowering import declared_mesh, on_each_device, platform_of
from glassjax.runtime.partitioning import evaluate_jaxpr
from glassjax.settings.names import counted
from glassjax.shardings.sharding import NamedSharding
from glassjax_stage2 import Primitive, ShapedArray, bind
from glassjax_stage3 import Jaxpr, JaxprEqn, Var, lowering_rules
from glassjax_stage3.jaxpr import require_accepted
from glassjax_stage3.lowering import FunctionBuilder, Value, signature, symbol

call_exported_p = Primitive("call_exported", higher_order=True)

# The sharding of each argument or result, on an abstract mesh; None: free.
AbstractShardings = tuple[NamedSharding | None, ...]


class PortableProgram:
    """A program in StableHLO, and the types of its arguments and results.

    Arguments:
        name: the name of the function.
        modules: the module for each platform, in its portable form.
        in_avals, out_avals: the types of arguments and results.
        num_devices: the number of devices that it is sharded over.
        in_shardings, out_shardings: the shardings of arguments and results.
        any_platform: whether other platforms may run it; they run the first module.
    """

    def __init__(
        self,
        name: str,
        modules: Mapping[str, bytes],
        in_avals: Sequence[ShapedArray],
        out_avals: Sequence[ShapedArray],
        num_devices: int,
        in_shardings: AbstractShardings,
        out_shardings: AbstractShardings,
        any_platform: bool = False,
    ):
        self.name = name
        self.modules = modules
        self.in_avals = tuple(in_avals)
        self.out_avals = tuple(out_avals)
        self.num_devices = num_devices
        self.in_shardings = in_shardings
        self.out_shardings = out_shardings
        self.any_platform = any_platform
        self._texts: dict[bytes, str] = {}

    def module(self, platform: str) -> bytes:
        """The module for a platform, or else the first."""
        return self.modules.get(platform, next(iter(self.modules.values())))

    def text(self, platform: str) -> str:
        """The module for a platform as text.

        Raises:
            ValueError: this version of jaxlib cannot read the data, or the program has other types.
        """
        data = self.module(platform)
        if data not in self._texts:
            self._texts[data] = self._read(data)
        return self._texts[data]

    def _read(self, data: bytes) -> str:
        try:
            text, found = xla.from_portable(data)
        except (RuntimeError, ValueError) as error:
            raise ValueError(
                f"export: jaxlib {xla.jaxlib_version()} cannot read the program of "
                f"`{self.name}`, which a newer version may have written: {error}"
            ) from None
        takes = [Value("", aval) for aval in self.in_avals]
        if found != (expected := signature(takes, self.out_avals)):
            raise ValueError(
                f"export: the program of `{self.name}` should be {expected}, and is {found}"
            )
        return text

    @cached_property
    def jaxpr(self) -> Jaxpr:
        """A jaxpr that only calls it."""
        invars = [Var(aval) for aval in self.in_avals]
        outvars = [Var(aval) for aval in self.out_avals]
        return Jaxpr(
            [], invars, [JaxprEqn(call_exported_p, invars, outvars, {"program": self})], outvars
        )

    def __call__(self, *leaves: Any) -> list[Any]:
        return bind(call_exported_p, *leaves, program=self)

    def __repr__(self) -> str:
        return self.name


def _exported_call_impl(*args: Any, program: PortableProgram) -> list[Any]:
    return evaluate_jaxpr(program.jaxpr, f"exported_{program.name}", args)


def _exported_call_type(*in_avals: ShapedArray, program: PortableProgram) -> list[ShapedArray]:
    require_accepted(f"the exported `{program.name}`", program.in_avals, in_avals)
    return list(program.out_avals)


def _exported_call_lower(
    b: FunctionBuilder,
    out_avals: Sequence[ShapedArray],
    *args: Value,
    program: PortableProgram,
) -> list[Value]:
    """Add the functions of the program to the module, under new names, and a call."""
    platform = platform_of(b)
    if platform not in program.modules and not program.any_platform:
        raise ValueError(
            f"the exported `{program.name}` has platforms={[*program.modules]}, and is called "
            f"where programs run on {platform!r}. Export it with "
            f"platforms={[*program.modules, platform]}."
        )
    text = program.text(platform)
    _require_devices(b, program, text)
    function = b.module.names.get(program.jaxpr)
    if function is None:
        prefix = f"exported_{symbol(program.name)}_{len(b.module.names)}"
        function = b.module.names[program.jaxpr] = f"{prefix}_main"
        b.module.functions.append(_functions_of(b, text, prefix))
    args = tuple(map(_with_sharding, [b] * len(args), args, program.in_shardings))
    names = ", ".join(x.name for x in args)
    outs = b.emit(f"func.call @{function}({names}) : {signature(args, out_avals)}", *out_avals)
    return list(map(_with_sharding, [b] * len(outs), outs, program.out_shardings))


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
_AXIS = re.compile(r'"([^"]*)"=(\d+)')


def _functions_of(b: FunctionBuilder, text: str, prefix: str) -> str:
    """The functions of a module, made private, with `prefix` before their names.

    Their meshes become meshes of the module that they are added to.
    """
    body = text[text.index("{\n", text.index("module")) + 2 : text.rindex("}")]
    names = {name: f"{prefix}_{name}" for name in _FUNCTION.findall(body)}
    for name, axes in _MESH.findall(body):
        sizes = tuple([(axis, int(size)) for axis, size in _AXIS.findall(axes)])
        names[name] = declared_mesh(b.module, SimpleNamespace(shape_tuple=sizes))
    body = _MESH.sub("", body).rstrip()
    body = _SYMBOL.sub(lambda match: f"@{names.get(match[1], match[1])}", body)
    return re.sub(r"func\.func (?:public |private )?@", "func.func private @", body)


def _unsupported_rule(verb: str, remedy: str) -> Any:
    def refused_rule(*args: Any, program: PortableProgram, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(
            f"the exported `{program.name}` cannot be {verb}: only its compiled form was "
            f"exported. {remedy}"
        )

    return refused_rule


declare_program(
    call_exported_p,
    evaluate=_exported_call_impl,
    abstract_eval=_exported_call_type,
    lower=_exported_call_lower,
    vmap=_unsupported_rule(
        "mapped", "Export the mapped function instead: export(jit(vmap(f)))(...)."
    ),
    jvp=_unsupported_rule(
        "differentiated",
        "Write it with its derivative, serialize(vjp_order=1), and use reverse mode; or export its "
        "gradient instead: export(jit(value_and_grad(f)))(...).",
    ),
    transpose=None,
    partial_eval=None,
    dce=None,
    dependence=None,
    order=None,
    keys=None,
    steps=None,
)

# Arrays in the text of a program: closed-over arrays are exported with it.
constant_p = Primitive("constant")


def _constant_lower(
    b: FunctionBuilder, out_avals: Sequence[ShapedArray], *, value: Any
) -> list[Value]:
    return [lower_array(b, value)]


lowering_rules[constant_p] = _constant_lower
