"""`shard_map`, under every transformation."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence, Set
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NamedTuple, ParamSpec, TypeVar, overload

import glassjax_stage2 as stage2
from glassjax.errors.arguments import require_flags
from glassjax.lax.collectives import psum_p
from glassjax.primitives import axes as mesh_axes
from glassjax.primitives.higher_order import (
    WithToken,
    declare_program,
    program_dependence,
    program_keys,
)
from glassjax.primitives.loops import evaluate_compiled, split_by_sizes, stage_body, stage_to_jaxpr
from glassjax.runtime import lowering
from glassjax.runtime.array import tree_to_arrays
from glassjax.runtime.evaluation import evaluated_by_library
from glassjax.runtime.places import Shardings
from glassjax.runtime.refs import Ref, values_of, write_all
from glassjax.settings.config import set_in_context
from glassjax.settings.names import wraps
from glassjax.shardings.memories import kind_of_type
from glassjax.shardings.mesh import AbstractMesh, AxisType, Mesh, mesh_in_context
from glassjax.shardings.partition_spec import Infer, PartitionSpec, with_axis
from glassjax.shardings.reduction import COMPLETE, reduction_in, with_reduction
from glassjax.shardings.sharding import NamedSharding
from glassjax.shardings.types import leave_to_compiler, reduction_of, reshard_p, spec_of
from glassjax_stage2 import ShapedArray, Zero, bind1, typeof
from glassjax_stage2.arguments import FlatFunction, argument_names, require_function
from glassjax_stage2.errors import TreeMismatchError, shown
from glassjax_stage2.primitives import reshape_p
from glassjax_stage2.source import name_of
from glassjax_stage2.tangent import tangent_type
from glassjax_stage2.vmap import BatchAxis, BatchDim
from glassjax_stage3 import Jaxpr, JaxprEqn, Literal, Var
from glassjax_stage3.executable import cached_by_jaxpr
from glassjax_stage3.jaxpr import Atom, consts_as_invars
from glassjax_stage3.jit_rules import jvp_jaxpr, smaller_jaxpr, vmap_jaxpr
from glassjax_stage3.lowering import FunctionBuilder, Value, mlir_type
from glassjax_stage3.staging import abstractify
from glassjax_stage4.jit_rules import split_jaxpr
from glassjax_stage4.partial_eval import PartialEqns, merge, partition
from glassjax_stage4.transpose import UndefPrimal, backward_pass

# The mesh of a `shard_map`, and the types of the parts of arrays on its devices.


class Manual(NamedTuple):
    """The mesh of a `shard_map`, and the axes along which its program sees one device.

    Attributes:
        outside: the mesh as it is outside of the program.
        names: those axes.
        checked: whether types record the axes along which values vary.
        batch_axes: the mesh axes over which examples of `vmap` are to be sharded; the program of
            one example sees one device along them.
    """

    outside: Mesh | AbstractMesh
    names: tuple[Hashable, ...]
    checked: bool
    batch_axes: mesh_axes.AxisNames = mesh_axes.NONE

    @property
    def mesh(self) -> Mesh | AbstractMesh:
        """The mesh as the program sees it: those axes have the type `Manual`."""
        return _with_manual(self.outside, self.names)

    @property
    def axes(self) -> list[mesh_axes.MeshAxis]:
        """The axes along which the program sees one device."""
        mesh = self.mesh.abstract_mesh
        return [mesh_axes.MeshAxis(name, mesh, self.checked) for name in self.names]

    def size(self, names: Sequence[Hashable]) -> int:
        """The number of devices along axes."""
        return math.prod([self.mesh.shape[name] for name in names])

    def part(self, aval: ShapedArray, spec: PartitionSpec) -> ShapedArray:
        """The type of a device's part of an array."""
        shape = list(aval.shape)
        for axis, names in enumerate(spec.names()):
            shape[axis] //= self.size(names)
        part = aval.update(shape=tuple(shape))
        if not self.checked:
            return part
        state = mesh_axes.reduction_along(part).union(reduction_in(spec))
        return mesh_axes.with_reduction(mesh_axes.vary(part, names_in(spec)), state)

    def whole(self, part: ShapedArray, spec: PartitionSpec) -> ShapedArray:
        """The type of the array whose part on each device has this type."""
        shape = list(part.shape)
        for axis, names in enumerate(spec.names()):
            shape[axis] *= self.size(names)
        whole = mesh_axes.plain_type(part).update(shape=tuple(shape))
        vma, state = mesh_axes.vma_of(part), mesh_axes.reduction_along(part)
        return mesh_axes.VaryingArray(whole, vma - {*self.names}, None, state.without(self.names))

    def as_inside(self, x: Any) -> Any:
        """`x`, typed without a sharding over the axes along which the program sees one device."""
        return leave_to_compiler(x, self.mesh.abstract_mesh)

    def as_outside(self, x: Any, spec: PartitionSpec) -> Any:
        """A result, typed with its sharding over the axes that are `Explicit` outside."""
        mesh = self.outside.abstract_mesh
        explicit = {*mesh.explicit_axes}
        rest = spec_of(typeof(x))
        entries = [*spec.names(), *[()] * (len(rest) - len(spec))]
        outer_spec = [
            # An evaluated result may have its sharding over them already.
            (*[name for name in axes if name in explicit and name not in more], *more)
            for axes, more in zip(entries, rest, strict=True)
        ]
        state = reduction_of(typeof(x)).union(reduction_in(spec).along(explicit))
        if not any(outer_spec) and state == COMPLETE:
            return x
        outer = with_reduction(PartitionSpec(*outer_spec), state)
        sharding = NamedSharding(mesh, outer, memory_kind=kind_of_type(typeof(x)))
        return bind1(reshard_p, x, sharding=sharding)

    def stacking(self, aval: ShapedArray) -> PartitionSpec:
        """The spec that stacks the devices' values along a new first axis."""
        varies = mesh_axes.vma_of(aval) if self.checked else {*self.names} - self.batch_axes
        axes = [name for name in self.mesh.axis_names if name in varies and name in self.names]
        state = mesh_axes.reduction_along(aval).along(self.names)
        return with_reduction(PartitionSpec(axes) if axes else PartitionSpec(), state)

    def not_in(self, spec: PartitionSpec) -> list[mesh_axes.MeshAxis]:
        """The axes along which devices have the same part, if types do not record them."""
        names = names_in(spec) | self.batch_axes
        return [] if self.checked else [axis for axis in self.axes if axis.name not in names]

    @contextmanager
    def running(self) -> Iterator[None]:
        """A context to stage the program, or one derived from it."""
        with set_in_context(mesh_in_context, self.mesh), mesh_axes.mesh_axes(self.axes):
            yield


@lru_cache(maxsize=256)
def _with_manual(mesh: Mesh | AbstractMesh, names: tuple[Hashable, ...]) -> Mesh | AbstractMesh:
    if isinstance(mesh, AbstractMesh):
        return mesh.update_axis_types(dict.fromkeys(names, AxisType.Manual))
    pairs = zip(mesh.axis_names, mesh.axis_types, strict=True)
    types = [AxisType.Manual if name in names else found for name, found in pairs]
    return Mesh(mesh.devices, mesh.axis_names, tuple(types))


def names_in(spec: PartitionSpec) -> mesh_axes.AxisNames:
    """The names of the axes in a spec."""
    return frozenset([name for names in spec.names() for name in names])


# The primitive of `shard_map`: a program that runs on every device of a mesh.
#
# Its operands and results are whole arrays; the arguments and results of the program are one
# device's parts of them. So most rules transform the program and extend the specs.


shard_map_p = stage2.Primitive("shard_map", higher_order=True)

Specs = Sequence[PartitionSpec]
WHOLE = PartitionSpec()


def apply_parts(
    operands: Sequence[Any], jaxpr: Jaxpr, manual: Manual, in_specs: Specs, out_specs: Specs
) -> list[Any]:
    """The whole arrays whose parts the program returns."""
    operands = list(map(manual.as_inside, operands))
    return stage2.bind(
        shard_map_p, *operands, **_shard_map_params(jaxpr, manual, in_specs, out_specs)
    )


def _shard_map_params(
    jaxpr: Jaxpr, manual: Manual, in_specs: Specs, out_specs: Specs
) -> dict[str, Any]:
    return {
        "jaxpr": jaxpr,
        "manual": manual,
        "mesh": manual.outside,
        "in_specs": tuple(in_specs),
        "out_specs": tuple(out_specs),
    }


def _shard_map_type(
    *in_avals: ShapedArray, jaxpr: Jaxpr, manual: Manual, out_specs: Specs, **params: Any
) -> list[ShapedArray]:
    return [manual.whole(x, spec) for x, spec in zip(jaxpr.out_avals, out_specs, strict=True)]


def _shardings_of_results(manual: Manual, mesh: Any, out_specs: Specs, **params: Any) -> Shardings:
    """The shardings given by `out_specs`, unless types or other axes add to them."""
    if isinstance(mesh, AbstractMesh) or {*mesh.axis_names} != {*manual.names}:
        return ()
    # Types give the shardings over Explicit axes, but these do not say yet that a sum is due.
    if mesh.explicit_axes and not any(spec.unreduced for spec in out_specs):
        return ()
    return tuple([NamedSharding(mesh, spec) for spec in out_specs])


# Lowering


def _shard_map_lower(
    b: FunctionBuilder,
    out_avals: Sequence[ShapedArray],
    *args: Value,
    jaxpr: Jaxpr,
    manual: Manual,
    mesh: Mesh,
    in_specs: Specs,
    out_specs: Specs,
) -> list[Value]:
    if mesh.size == 1:  # nothing is sharded, and jaxlib 0.10 leaves the partitioner's calls in
        with _on_each_device(None):
            return b.lower_jaxpr(jaxpr, args)
    is_open = len(manual.mesh.manual_axes) < len(mesh.axis_names)  # the others are not manual

    def sharding_list(specs: Specs, avals: Sequence[ShapedArray]) -> str:
        texts = [
            lowering.sharding_text(b.module, mesh, spec, aval.ndim, is_open)
            for spec, aval in zip(specs, avals, strict=True)
        ]
        return f"[{', '.join(texts)}]"

    args = tuple(
        # Shardy does not see the types of operands.
        lowering.constrained(b, x, NamedSharding(mesh, spec), is_open) if spec.unreduced else x
        for x, spec in zip(args, in_specs, strict=True)
    )
    inside = b.module.function()
    # A region can read all outer values, so new names differ from theirs.
    inside.count, inside.indent = b.count, b.indent + "  "
    params = [Value(inside.fresh_name(), var.aval) for var in jaxpr.invars]
    with _on_each_device(manual.mesh.abstract_mesh if is_open else None):
        outs = inside.lower_jaxpr(jaxpr, params)
    b.count = inside.count
    in_avals = [x.aval for x in args]
    declared = ", ".join(f"{x.name}: {mlir_type(x.aval)}" for x in params)
    returned = ", ".join(x.name for x in outs)
    if outs:
        returned += f" : {', '.join(mlir_type(x.aval) for x in outs)}"
    names = ", ".join(map(lowering.axis_string, manual.names))
    lines = "\n".join([*inside.lines, f"{inside.indent}sdy.return {returned}".rstrip()])
    return b.emit(
        f"sdy.manual_computation({', '.join(x.name for x in args)}) "
        f"in_shardings={sharding_list(in_specs, in_avals)} "
        f"out_shardings={sharding_list(out_specs, out_avals)} manual_axes={{{names}}} ({declared}) "
        f"{{\n{lines}\n{b.indent}}} : ({', '.join(map(mlir_type, in_avals))}) -> "
        f"({', '.join(map(mlir_type, out_avals))})",
        *out_avals,
    )


@contextmanager
def _on_each_device(mesh: AbstractMesh | None) -> Iterator[None]:
    with (
        set_in_context(lowering.on_each_device, True),
        set_in_context(lowering.mesh_of_devices, mesh),
    ):
        yield


# Rules of the transformations


def _shard_map_vmap(
    batch_axis: BatchAxis,
    values: Sequence[Any],
    dims: Sequence[BatchDim],
    *,
    jaxpr: Jaxpr,
    manual: Manual,
    mesh: Mesh,
    in_specs: Specs,
    out_specs: Specs,
) -> tuple[list[Any], list[BatchDim]]:
    data = mesh_axes.axis_data(batch_axis)
    names = tuple([name for name in data.spmd_name if name in manual.names])
    _require_free(data.spmd_name, manual, batch_axis.size, [*in_specs, *out_specs])
    manual = manual._replace(batch_axes=manual.batch_axes - {*names})
    device_axis = mesh_axes.AxisData(
        data.name,
        batch_axis.size // manual.size(names),
        tuple([name for name in data.spmd_name if name not in names]),
        manual=(*data.manual, *[axis for axis in manual.axes if axis.name in names]),
    )
    with manual.running():
        program, consts, out_dims = vmap_jaxpr(jaxpr, device_axis, tuple(dims))

    def batched_spec(spec: PartitionSpec, dim: BatchDim) -> PartitionSpec:
        return spec if dim is None else with_axis(spec, dim, names)

    ins = [*[WHOLE] * len(consts), *map(batched_spec, in_specs, dims)]
    outs = [*map(batched_spec, out_specs, out_dims)]
    return apply_parts([*consts, *values], program, manual, ins, outs), out_dims


def _require_free(names: Sequence[Hashable], manual: Manual, axis_size: int, specs: Specs) -> None:
    """Raise an error unless examples of the program can be sharded over these axes."""
    caller = f"vmap of shard_map: spmd_axis_name {shown(names)}"
    for name in names:
        if name not in manual.outside.axis_names:
            raise ValueError(
                f"{caller}: the mesh of shard_map has no axis {name!r}, its axes are "
                f"{manual.outside.axis_names}. Name one of these"
            )
        for spec in specs:
            if name in names_in(spec):
                raise ValueError(
                    f"{caller}: {name!r} shards the examples, and {spec}, a spec of shard_map, "
                    "shards arrays over it as well. Name another axis of the mesh in one of them"
                )
    size = manual.size([name for name in names if name in manual.names])
    if axis_size % size:
        raise ValueError(
            f"{caller}: the {size} devices along it cannot have equal parts of {axis_size} "
            f"examples. Pad these to a multiple of {size}, or name another axis of the mesh"
        )


def _shard_map_jvp(
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    jaxpr: Jaxpr,
    manual: Manual,
    mesh: Mesh,
    in_specs: Specs,
    out_specs: Specs,
) -> tuple[list[Any], list[Any]]:
    nonzero = tuple(type(t) is not Zero for t in tangents)
    with manual.running():
        program, consts, out_nonzero = jvp_jaxpr(jaxpr, nonzero)
    results = apply_parts(
        [*consts, *primals, *_keep(nonzero, tangents)],
        program,
        manual,
        [*[WHOLE] * len(consts), *in_specs, *_keep(nonzero, in_specs)],
        [*out_specs, *_keep(out_nonzero, out_specs)],
    )
    outs, computed = results[: len(out_specs)], results[len(out_specs) :]
    zeros = [Zero.like(out) for out, keep in zip(outs, out_nonzero, strict=True) if not keep]
    return outs, merge(out_nonzero, zeros, computed)


def _keep(which: Sequence[bool], items: Sequence[Any]) -> list[Any]:
    return partition(which, items)[1]


class _Residual(NamedTuple):
    """A value that the unknown program gets from the known one.

    Attributes:
        argument: the index of the known argument that it is, or None.
        spec: how the array that carries it is sharded.
    """

    argument: int | None
    spec: PartitionSpec


def _shard_map_partial_eval(unknown_ins: Sequence[bool], eqn: JaxprEqn) -> PartialEqns:
    """Split the program; a residual is passed as one array of all devices' parts."""
    params, manual = eqn.params, eqn.params["manual"]
    known_ins, ins_unknown = partition(unknown_ins, eqn.invars)
    known_specs, unknown_specs = partition(unknown_ins, params["in_specs"])
    with manual.running():
        known, unknown, unknown_outs, residuals = _shard_map_split(
            params["jaxpr"], manual, tuple(unknown_ins), tuple(known_specs)
        )
    known_outs, outs_unknown = partition(unknown_outs, eqn.outvars)
    known_out_specs, unknown_out_specs = partition(unknown_outs, params["out_specs"])
    made = [residual for residual in residuals if residual.argument is None]
    avals = known.out_avals[len(known_outs) :]
    made_vars = [Var(manual.whole(x, each.spec)) for x, each in zip(avals, made, strict=True)]
    rest = iter(made_vars)
    passed: list[Atom] = [
        next(rest) if each.argument is None else known_ins[each.argument] for each in residuals
    ]
    out_specs = [*known_out_specs, *[each.spec for each in made]]
    in_specs = [*[each.spec for each in residuals], *unknown_specs]
    at_once = _shard_map_params(known, manual, known_specs, out_specs)
    later = _shard_map_params(unknown, manual, in_specs, unknown_out_specs)
    outs = [*known_outs, *made_vars]
    return PartialEqns(
        [JaxprEqn(shard_map_p, known_ins, outs, at_once, eqn.source)],
        JaxprEqn(shard_map_p, [*passed, *ins_unknown], outs_unknown, later, eqn.source),
    )


@cached_by_jaxpr
def _shard_map_split(
    jaxpr: Jaxpr, manual: Manual, unknown_ins: tuple[bool, ...], known_specs: Specs
) -> tuple[Jaxpr, Jaxpr, list[bool], list[_Residual]]:
    """The known program, the unknown one, flags of its results, and the residuals.

    Residuals that are arguments of the known program need not be its results. Others that vary get
    a first axis of size 1, along which the devices' values are stacked.
    """
    parts = split_jaxpr(jaxpr, unknown_ins)
    count = len(parts.known.outvars) - parts.num_residuals
    known_eqns, known_outs = list(parts.known.eqns), list(parts.known.outvars[:count])
    unknown_eqns: list[JaxprEqn] = []
    params: list[Var] = []
    residuals = []
    for out, param in zip(parts.known.outvars[count:], parts.unknown.invars, strict=False):
        # It is there already, sharded as that argument.
        if out in parts.known.invars:
            argument = parts.known.invars.index(out)
            residuals.append(_Residual(argument, known_specs[argument]))
            params.append(param)
            continue
        spec = manual.stacking(out.aval)
        if len(spec):
            part = out.aval.update(shape=(1, *out.aval.shape))
            sent, received = Var(part), Var(part)
            known_eqns.append(_reshape_text(out, sent))
            unknown_eqns.append(_reshape_text(received, param))
            out, param = sent, received
        residuals.append(_Residual(None, spec))
        known_outs.append(out)
        params.append(param)
    params += parts.unknown.invars[parts.num_residuals :]
    known = Jaxpr([], parts.known.invars, known_eqns, known_outs)
    unknown_eqns += parts.unknown.eqns
    unknown = Jaxpr([], params, unknown_eqns, parts.unknown.outvars)
    return known, unknown, parts.unknown_outs, residuals


def _reshape_text(x: Atom, out: Var) -> JaxprEqn:
    return JaxprEqn(reshape_p, [x], [out], {"new_sizes": out.aval.shape})


def _shard_map_transpose(
    cts: Sequence[Any],
    *args: Any,
    jaxpr: Jaxpr,
    manual: Manual,
    mesh: Mesh,
    in_specs: Specs,
    out_specs: Specs,
) -> list[Any]:
    linear = tuple(isinstance(x, UndefPrimal) for x in args)
    nonzero = tuple(type(ct) is not Zero for ct in cts)
    program, consts, nonzero_ins = _shard_map_transposed(
        jaxpr, manual, in_specs, out_specs, linear, nonzero
    )
    known, known_specs = partition(linear, args)[0], partition(linear, in_specs)[0]
    outs = iter(
        apply_parts(
            [*consts, *known, *_keep(nonzero, cts)],
            program,
            manual,
            [*[WHOLE] * len(consts), *known_specs, *map(_dual, _keep(nonzero, out_specs))],
            list(map(_dual, _keep(nonzero_ins, in_specs))),
        )
    )
    return [next(outs) if is_nonzero else None for is_nonzero in nonzero_ins]


@cached_by_jaxpr
def _shard_map_transposed(
    jaxpr: Jaxpr,
    manual: Manual,
    in_specs: Specs,
    out_specs: Specs,
    linear: tuple[bool, ...],
    nonzero: tuple[bool, ...],
) -> tuple[Jaxpr, list[Any], list[bool]]:
    """The program from known arguments and cotangents of results to cotangents of arguments.

    If types do not record variation, the cotangent of a result that is the same on all devices is
    split equally among them, and the cotangent of such an argument is the sum over the devices.
    """
    nonzero_ins: list[bool] = []
    types = [tangent_type(aval) for aval in jaxpr.out_avals]

    def program(*known_and_cts: Any) -> list[Any]:
        rest = iter(known_and_cts)
        args = [
            UndefPrimal(aval) if is_linear else next(rest)
            for is_linear, aval in zip(linear, jaxpr.in_avals, strict=True)
        ]
        cts = [
            _shared(manual, next(rest), spec) if is_nonzero else Zero(aval)
            for is_nonzero, aval, spec in zip(nonzero, types, out_specs, strict=True)
        ]
        in_cts = backward_pass(jaxpr, args, cts)
        nonzero_ins[:] = [ct is not None and type(ct) is not Zero for ct in in_cts]
        return [
            _sum_cotangent(manual, ct, spec)
            for ct, spec, keep in zip(in_cts, in_specs, nonzero_ins, strict=True)
            if keep
        ]

    known_avals, _ = partition(linear, jaxpr.in_avals)
    ct_avals = [
        # each device gets its part of the cotangent along the axes of the spec
        mesh_axes.with_reduction(
            mesh_axes.vary(aval, names_in(spec)), mesh_axes.reduction_along(aval).dual
        )
        if manual.checked
        else aval
        for aval, spec in _keep(nonzero, list(zip(types, out_specs, strict=True)))
    ]
    with manual.running():
        transposed, consts = stage_to_jaxpr(program, [*known_avals, *ct_avals], "transposition")
    return transposed, consts, nonzero_ins


def _dual(spec: PartitionSpec) -> PartitionSpec:
    """The spec of a cotangent."""
    return with_reduction(spec, reduction_in(spec).dual)


def _shared(manual: Manual, ct: Any, spec: PartitionSpec) -> Any:
    size = manual.size([axis.name for axis in manual.not_in(spec)])
    return ct if size == 1 else stage2.div(ct, size)


def _sum_cotangent(manual: Manual, ct: Any, spec: PartitionSpec) -> Any:
    indices = [axis.index() for axis in manual.not_in(spec)]
    return bind1(psum_p, ct, *indices) if indices else ct


def _shard_map_dce(used_outs: Sequence[bool], eqn: JaxprEqn) -> tuple[list[bool], JaxprEqn]:
    params = eqn.params
    found = smaller_jaxpr(params["jaxpr"], tuple(used_outs))
    if found is None:
        return [True] * len(eqn.invars), eqn
    jaxpr, used_ins = found
    in_specs, out_specs = (
        _keep(used_ins, params["in_specs"]),
        _keep(used_outs, params["out_specs"]),
    )
    smaller = _shard_map_params(jaxpr, params["manual"], in_specs, out_specs)
    invars, outvars = _keep(used_ins, eqn.invars), _keep(used_outs, eqn.outvars)
    return used_ins, JaxprEqn(shard_map_p, invars, outvars, smaller, eqn.source)


def _shard_map_effects(
    with_token: WithToken, eqn: JaxprEqn, token: Var | Literal, following: Var
) -> list[JaxprEqn]:
    """Drop the order of effects: each device has its own."""
    params = eqn.params
    ordered = _shard_map_params(
        with_token(params["jaxpr"]),
        params["manual"],
        [*params["in_specs"], WHOLE],
        [*params["out_specs"], WHOLE],
    )
    invars, outvars = [*eqn.invars, token], [*eqn.outvars, following]
    return [JaxprEqn(shard_map_p, invars, outvars, ordered, eqn.source)]


declare_program(
    shard_map_p,
    evaluate=evaluate_compiled(shard_map_p, _shardings_of_results),
    abstract_eval=_shard_map_type,
    lower=_shard_map_lower,
    vmap=_shard_map_vmap,
    jvp=_shard_map_jvp,
    transpose=_shard_map_transpose,
    partial_eval=_shard_map_partial_eval,
    dce=_shard_map_dce,
    dependence=program_dependence,
    order=_shard_map_effects,
    keys=program_keys,
    steps=None,
)


# `shard_map`: a function of the parts of arrays that one device has, run on every device.


Function = Callable[..., Any]
P = ParamSpec("P")
R = TypeVar("R")


@overload
def shard_map(
    f: Callable[P, R],
    /,
    *,
    out_specs: Any,
    in_specs: Any = ...,
    mesh: Mesh | AbstractMesh | None = ...,
    axis_names: Set[Hashable] = ...,
    check_vma: bool = ...,
) -> Callable[P, R]: ...
@overload
def shard_map(
    f: None = None,
    /,
    *,
    out_specs: Any,
    in_specs: Any = ...,
    mesh: Mesh | AbstractMesh | None = ...,
    axis_names: Set[Hashable] = ...,
    check_vma: bool = ...,
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def shard_map(
    f: Function | None = None,
    /,
    *,
    out_specs: Any,
    in_specs: Any = Infer,
    mesh: Mesh | AbstractMesh | None = None,
    axis_names: Set[Hashable] = frozenset(),
    check_vma: bool = True,
) -> Function:
    """Map a function over the devices of a mesh: each calls it with its parts of the arguments.

    In the function, collectives such as `lax.psum` combine values of different devices, by the
    names of the axes of the mesh. Types record the axes along which a value varies, that is, may
    differ between devices: `typeof(x)` shows `f32[2]{V:data}`.

    Arguments:
        f: function of arrays and pytrees of arrays. Without it, the result is a decorator.
        out_specs: a `PartitionSpec` for each result, or a pytree prefix of it: how the devices'
            parts are assembled into an array. Along axes of the mesh that it does not name the
            results are the same.
        in_specs: a `PartitionSpec` for each argument, or a pytree prefix of the tuple of arguments:
            how they are sharded. Along axes of the mesh that it does not name, all devices get the
            same part. With None in its place, an argument is passed on to `f` as it is, as if
            closed over, and may be anything.
        mesh: the mesh; the one in context if not given.
        axis_names: the mesh axes along which the function sees one device; XLA's partitioner shards
            its arrays over the others. All axes if not given.
        check_vma: whether types record variation. Otherwise nothing checks that a result is the
            same on all devices where its spec requires it.

    Returns:
        A function of whole arrays that returns whole arrays. It can be differentiated, mapped, and
        called from jitted functions and other `shard_map`s.

    Raises:
        TypeError: a spec or the mesh is something else.
        ValueError: there is no mesh, a spec names no axis of it, or has more entries than the array
            has axes; an axis is not evenly divisible; a result varies along an axis that its spec
            does not name.
        TreeMismatchError: the specs are not a prefix of the arguments or results.

    >>> mesh = glassjax.make_mesh((1,), ("data",))
    >>> @glassjax.shard_map(mesh=mesh, in_specs=glassjax.P("data"), out_specs=glassjax.P())
    ... def total(x):
    ...     return lax.psum(x.sum(), "data")
    >>> total(jnp.arange(4.0))
    Array(6., dtype=float32)
    """
    options = {"mesh": mesh, "axis_names": axis_names, "check_vma": check_vma}
    if f is None:

        def shard_function(function: Function) -> Function:
            require_function("shard_map", function)
            return shard_map(function, out_specs=out_specs, in_specs=in_specs, **options)  # type: ignore[arg-type]

        return shard_function
    require_function("shard_map", f)
    require_flags("shard_map", check_vma=check_vma)
    name = name_of(f)
    for role, specs in (("in_specs", in_specs), ("out_specs", out_specs)):
        if specs is not Infer:
            _require_specs(f"shard_map of `{name}`", role, specs)
    function = f

    @evaluated_by_library
    @wraps(f)
    def sharded(*args: Any) -> Any:
        caller = f"shard_map of `{name}`"
        manual = _manual(caller, mesh, axis_names, check_vma)
        given, in_tree = stage2.tree.tree_flatten(args)
        leaf_specs = None if in_specs is Infer else _leaf_specs(caller, "in_specs", in_specs, args)
        is_array = [leaf_specs is None or spec is not None for spec in leaf_specs or given]
        others, leaves = partition(is_array, given)

        def label_arguments() -> list[str]:
            return partition(is_array, argument_names(function, args, {}))[1]

        are_refs = [isinstance(x, Ref) for x in leaves]
        refs = partition(are_refs, leaves)[1]
        leaves = merge(are_refs, partition(are_refs, leaves)[0], values_of(refs))
        avals = abstractify(f"shard_map of `{name_of(function)}`", label_arguments, leaves)
        if leaf_specs is None:
            specs = [_spec_in_type(caller, manual, aval) for aval in avals]
        else:
            specs = [spec for spec in leaf_specs if spec is not None]
        for number, (aval, spec) in enumerate(zip(avals, specs, strict=True)):
            problem = _misfit(manual, aval, spec, divides=True) or _spec_conflict(
                manual, aval, spec
            )
            if problem:
                raise ValueError(
                    f"{caller}: argument {label_arguments()[number]} of type {aval}: {problem}"
                )
        flat = FlatFunction(function, in_tree)

        ref_specs = partition(are_refs, specs)[1]

        def specs_of(out_avals: Sequence[ShapedArray]) -> list[PartitionSpec]:
            held, out_avals = split_by_sizes(out_avals, len(refs))
            for aval, spec in zip(held, ref_specs, strict=True):
                if problem := _unexpected_variation(manual, aval, spec):
                    raise ValueError(f"{caller}: what a reference of type {aval} holds: {problem}")
            results = stage2.tree.tree_unflatten(flat.out_tree, out_avals)
            found = _leaf_specs(caller, "out_specs", out_specs, results)
            paths = [path for path, _ in stage2.tree.tree_flatten_with_path(results)[0]]
            for path, aval, spec in zip(paths, out_avals, found, strict=True):
                problem = _misfit(manual, aval, spec) or _unexpected_variation(manual, aval, spec)
                if problem:
                    role = f"the result{stage2.tree.keystr(path)} of type {aval}"
                    raise ValueError(f"{caller}: {role}: {problem}")
            return [*ref_specs, *found]

        def mapped_parts(*leaves: Any) -> Sequence[Any]:
            # Each device has references of its own, to its parts of the arrays.
            here = [Ref(x) if is_ref else x for x, is_ref in zip(leaves, are_refs, strict=True)]
            outs = flat(*merge(is_array, others, here))
            return [*values_of(partition(are_refs, here)[1]), *outs]

        outs = map_parts(
            "shard_map", f, mapped_parts, leaves, manual, specs, specs_of, label_arguments
        )
        held, outs = split_by_sizes(outs, len(refs))
        write_all(refs, held)
        return stage2.tree.tree_unflatten(flat.out_tree, outs)

    return sharded


def map_parts(
    caller: str,
    fun: Any,
    flat: Callable[..., Sequence[Any]],
    leaves: Sequence[Any],
    manual: Manual,
    in_specs: Sequence[PartitionSpec],
    out_specs_of: Callable[[Sequence[ShapedArray]], Sequence[PartitionSpec]],
    names: Callable[[], Sequence[str]],
) -> list[Any]:
    """Apply a function of parts of arrays that returns a list.

    Arguments:
        caller: the name of the transformation, for messages.
        fun: the function of the user, for messages.
        flat: function of a device's parts of the arrays.
        leaves: the arrays.
        manual: the mesh.
        in_specs: how the arrays are sharded.
        out_specs_of: function from the types of the returned parts to the specs of the results.
        names: the names of the arrays, for messages.
    """
    leaves = list(map(manual.as_inside, leaves))
    pairs = zip(leaves, in_specs, strict=True)
    parts = [manual.part(typeof(x), spec) for x, spec in pairs]
    with manual.running():
        closed = stage_body(lambda *x: tree_to_arrays(flat(*x)), parts, caller, fun, names)
    out_specs = out_specs_of(closed.out_avals)
    specs = [*[WHOLE] * len(closed.consts), *in_specs]
    jaxpr = consts_as_invars(closed)
    outs = apply_parts([*closed.consts, *leaves], jaxpr, manual, specs, out_specs)
    return list(map(manual.as_outside, outs, out_specs))


def _is_spec(x: Any) -> bool:
    return isinstance(x, PartitionSpec)


def _require_specs(caller: str, role: str, specs: Any) -> None:
    for entry in (
        [None] if specs is None and role == "in_specs" else stage2.tree.tree_leaves(specs, _is_spec)
    ):
        if not isinstance(entry, PartitionSpec):
            raise TypeError(
                f"{caller}: {role} must hold a PartitionSpec for each array, found {shown(entry)} "
                f"of type {type(entry).__name__}. Use P() for an array that all devices have whole."
            )


def _leaf_specs(caller: str, role: str, specs: Any, tree: Any) -> list[Any]:
    """The spec of each leaf; None for a leaf passed on to the function as it is."""
    is_of_arguments = role == "in_specs"
    subject = "the arguments" if is_of_arguments else "the result"
    try:
        return stage2.tree.broadcast_prefix(
            specs, tree, lambda x: _is_spec(x) or (is_of_arguments and x is None)
        )
    except TreeMismatchError as error:
        raise TreeMismatchError(f"{caller}: {role} is not a prefix of {subject}: {error}") from None


def _manual(
    caller: str, mesh: Mesh | AbstractMesh | None, axis_names: Set[Hashable], checked: bool
) -> Manual:
    """The mesh of a call, and the axes that become manual."""
    around = mesh_in_context.get()
    if mesh is not None and not isinstance(mesh, Mesh | AbstractMesh):
        raise TypeError(
            f"{caller}: mesh must be a Mesh, found {shown(mesh)} of type {type(mesh).__name__}"
        )
    if around is not None and around.manual_axes:  # inside another shard_map
        if mesh is not None and mesh.shape_tuple != around.shape_tuple:
            raise ValueError(
                f"{caller}: the mesh {mesh} differs from the enclosing shard_map's, {around}"
            )
        mesh = around
    elif mesh is None:
        mesh = around
    elif isinstance(mesh, AbstractMesh) and around is not None:
        if around.shape_tuple != mesh.shape_tuple:
            raise ValueError(
                f"{caller}: {mesh} is not the mesh in context, {around}. Leave out mesh, or give a "
                "Mesh"
            )
        mesh = around
    if mesh is None:
        raise ValueError(
            f"{caller}: there is no mesh. Give mesh, or call it in `with glassjax.set_mesh(mesh):`"
        )
    wrong = [name for name in axis_names if name not in mesh.axis_names]
    if wrong:
        raise ValueError(
            f"{caller}: axis_names has {wrong[0]!r}, and the axes of the mesh are {mesh.axis_names}"
        )
    again = [name for name in axis_names if name in mesh.manual_axes]
    if again:
        raise ValueError(
            f"{caller}: axis_names has {again[0]!r}, along which a shard_map around it maps already"
        )
    chosen = axis_names or {*mesh.axis_names} - {*mesh.manual_axes}
    names = tuple([name for name in mesh.axis_names if name in chosen])
    return Manual(mesh, names, checked, mesh_axes.axes_of_examples.value & {*names})


def _misfit(manual: Manual, aval: ShapedArray, spec: PartitionSpec, divides: bool = False) -> str:
    """Say why a spec does not fit an array of a type; the empty string if it fits."""
    names = [name for axes in spec.names() for name in axes]
    for name in names:
        if name not in manual.names:
            return f"{spec} names {name!r}, and the axes mapped over are {manual.names}"
        if names.count(name) > 1:
            return f"{spec} names {name!r} twice"
    if len(spec) > aval.ndim:
        return f"{spec} has entries for {len(spec)} axes, and it has {aval.ndim}"
    for name in reduction_in(spec).names:
        if name not in manual.names or name not in manual.outside.explicit_axes:
            return (
                f"{spec} names {name!r} as unreduced or reduced, which must be an axis of type "
                f"Explicit of the mesh {manual.outside}, and one of those mapped over"
            )
        if not manual.checked:
            return f"{spec} names {name!r} as unreduced or reduced: leave out check_vma=False"
    for axis, axes in enumerate(spec.names()):
        size = manual.size(axes)
        if divides and aval.shape[axis] % size:
            return (
                f"{spec} shards axis {axis} over {size} devices, and its size {aval.shape[axis]} "
                f"is not a multiple of {size}. Pad it, or shard another axis."
            )
    return ""


def _spec_in_type(caller: str, manual: Manual, aval: ShapedArray) -> PartitionSpec:
    """The spec of an argument over the axes mapped over, from its type."""
    if not {*manual.names} <= {*manual.outside.explicit_axes}:
        raise ValueError(
            f"{caller}: in_specs is not given, and the types of arguments have shardings over mesh "
            "axes of type Explicit only. Give a PartitionSpec for each."
        )
    state = reduction_of(aval).along(manual.names)
    return with_reduction(PartitionSpec(*_axes_in_type(manual, aval)), state)


def _axes_in_type(manual: Manual, aval: ShapedArray) -> list[tuple[Hashable, ...]]:
    """The axes mapped over that each axis of an array is sharded over, from its type."""
    return [tuple([name for name in axes if name in manual.names]) for axes in spec_of(aval)]


def _spec_conflict(manual: Manual, aval: ShapedArray, spec: PartitionSpec) -> str:
    """Say how the type of an argument contradicts its spec; the empty string if it does not."""
    axes = _axes_in_type(manual, aval)
    state = reduction_of(aval).along(manual.names)
    if state != reduction_in(spec):
        return (
            f"{spec} is for an array in another state of reduction. Leave out in_specs, or change "
            "it by sharding.reshard"
        )
    if not any(axes) or PartitionSpec(*axes) == PartitionSpec(
        *spec, *[None] * (aval.ndim - len(spec))
    ):
        return ""
    return (
        f"its type is sharded as {PartitionSpec(*axes)}, which conflicts with {spec}. Leave out "
        "in_specs, or reshard it by sharding.reshard"
    )


def _unexpected_variation(manual: Manual, aval: ShapedArray, spec: PartitionSpec) -> str:
    """Say why a result may not vary as it does; the empty string if it may."""
    more = sorted(map(str, (mesh_axes.vma_of(aval) & {*manual.names}) - names_in(spec)))
    if not more:
        return _unexpected_reduction(manual, aval, spec)
    return (
        f"it varies along {', '.join(more)}, which out_specs does not name: {spec}. Name the axis "
        "there to join the parts along it; or make the result the same on all devices, by psum, "
        "pmax or the like; or, if it is the same, pass check_vma=False."
    )


def _unexpected_reduction(manual: Manual, aval: ShapedArray, spec: PartitionSpec) -> str:
    """Say why a result may not be unreduced or reduced as it is; the empty string if it may."""
    found, wanted = mesh_axes.reduction_along(aval).along(manual.names), reduction_in(spec)
    if found == wanted:
        return ""
    return (
        f"out_specs has {spec}, and it must be unreduced over {sorted(map(str, found.unreduced))} "
        f"and reduced over {sorted(map(str, found.reduced))}, as the result is. Apply lax.psum, or "
        "lax.pcast"
    )


# `smap`: `shard_map` along one axis of the mesh in context; specs are numbers of array axes.


def smap(
    f: Function | None = None, /, *, in_axes: Any = Infer, out_axes: Any, axis_name: Hashable
) -> Function:
    """Map a function over the devices along one axis of the mesh in context.

    Arguments:
        f: function of arrays and pytrees of arrays. Without it, the result is a decorator.
        in_axes: the axis of the arguments that is sharded: an int or None (all devices get the
            whole) for all, or a tuple with an int, None or a pytree prefix for each. By default
            it is taken from types, if the axis of the mesh is `Explicit`.
        out_axes: the axis of the results along which their parts are concatenated: an int, None
            (the same on all devices) or a pytree prefix of the result.
        axis_name: the axis of the mesh.

    Returns:
        A function of whole arrays that returns whole arrays.

    Raises:
        TypeError: `in_axes`, `out_axes` or `axis_name` is something else.
        ValueError: there is no mesh in context, or it has no such axis; an axis is not evenly
            divisible.

    >>> with glassjax.set_mesh(glassjax.make_mesh((1,), ("data",))):
    ...     total = glassjax.smap(lambda x: lax.psum(x.sum(), "data"), in_axes=0, out_axes=None,
    ...                          axis_name="data")
    ...     glassjax.jit(total)(jnp.arange(4.0)).item()
    6.0
    """
    if isinstance(axis_name, list | tuple):
        raise TypeError(f"smap: axis_name must be the name of one axis, found {shown(axis_name)}")
    if in_axes is not Infer and in_axes is not None and not isinstance(in_axes, int | tuple):
        raise TypeError(
            "smap: in_axes must be an int, None, or a tuple with an entry for each argument, found "
            f"{shown(in_axes)}"
        )

    def specs_of(role: str, axes: Any) -> Any:
        def spec_of(axis: Any) -> PartitionSpec:
            if axis is None:
                return PartitionSpec()
            if type(axis) is not int or axis < 0:
                raise TypeError(
                    f"smap: {role} must hold ints of 0 or more, and None, found {shown(axis)}"
                )
            return PartitionSpec(*[None] * axis, axis_name)

        return stage2.tree_map(spec_of, axes, is_leaf=lambda axis: axis is None)

    in_specs = Infer if in_axes is Infer else specs_of("in_axes", in_axes)
    decorate = shard_map(
        in_specs=in_specs, out_specs=specs_of("out_axes", out_axes), axis_names={axis_name}
    )
    return decorate if f is None else decorate(f)
