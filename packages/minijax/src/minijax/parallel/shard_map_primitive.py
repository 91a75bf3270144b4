"""The primitive of `shard_map`, whose program runs on every device of a mesh, and its rules.

Its operands and results are whole arrays; the arguments and results of the program are the parts
that a device has of them. So most rules transform the program, and extend the specs.
"""

from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from minijax.lax.collectives import psum_p
from minijax.parallel.manual import Manual, names_in
from minijax.primitives.axis_names import AxisData, axis_data
from minijax.primitives.calls import WithToken, dependence_of_program, keys_of_program
from minijax.primitives.declare_program import declare_program
from minijax.primitives.loops import evaluate_compiled, stage_to_jaxpr
from minijax.primitives.varying import vary
from minijax.runtime.places import Shardings
from minijax.runtime.sharding_text import division_text, mesh_of_devices, on_each_device, quoted
from minijax.shardings.mesh import AbstractMesh, Mesh
from minijax.shardings.partition_spec import PartitionSpec, with_axis
from minijax.shardings.sharding import NamedSharding
from minijax_stage2 import Primitive, ShapedArray, Zero, bind, bind1, div
from minijax_stage2.errors import shown
from minijax_stage2.primitives import reshape_p
from minijax_stage2.tangent import tangent_type
from minijax_stage2.vmap import BatchAxis, BatchDim
from minijax_stage3 import Jaxpr, JaxprEqn, Literal, Var
from minijax_stage3.executable import cached_by_jaxpr
from minijax_stage3.jaxpr import Atom
from minijax_stage3.jit_rules import jvp_jaxpr, smaller_jaxpr, vmap_jaxpr
from minijax_stage3.lowering import FunctionBuilder, Value, mlir_type
from minijax_stage4.jit_rules import split_jaxpr
from minijax_stage4.partial_eval import PartialEqns, merge, partition
from minijax_stage4.transpose import UndefPrimal, backward_pass

shard_map_p = Primitive("shard_map", higher_order=True)

Specs = Sequence[PartitionSpec]
WHOLE = PartitionSpec()


def apply(
    operands: Sequence[Any], jaxpr: Jaxpr, manual: Manual, in_specs: Specs, out_specs: Specs
) -> list[Any]:
    """The whole arrays of which the program returns the parts."""
    operands = list(map(manual.as_inside, operands))
    return bind(shard_map_p, *operands, **_params(jaxpr, manual, in_specs, out_specs))


def _params(jaxpr: Jaxpr, manual: Manual, in_specs: Specs, out_specs: Specs) -> dict[str, Any]:
    return {
        "jaxpr": jaxpr,
        "manual": manual,
        "mesh": manual.outside,
        "in_specs": tuple(in_specs),
        "out_specs": tuple(out_specs),
    }


def _abstract_eval(
    *in_avals: ShapedArray, jaxpr: Jaxpr, manual: Manual, out_specs: Specs, **params: Any
) -> list[ShapedArray]:
    return [manual.whole(x, spec) for x, spec in zip(jaxpr.out_avals, out_specs, strict=True)]


def _shardings_of_results(manual: Manual, mesh: Any, out_specs: Specs, **params: Any) -> Shardings:
    """The shardings that `out_specs` says, unless types or other axes say more."""
    is_whole = {*mesh.axis_names} == {*manual.names} and not mesh.explicit_axes
    if isinstance(mesh, AbstractMesh) or not is_whole:
        return ()
    return tuple([NamedSharding(mesh, spec) for spec in out_specs])


# Lowering


def _lower(
    b: FunctionBuilder,
    out_avals: Sequence[ShapedArray],
    *args: Value,
    jaxpr: Jaxpr,
    manual: Manual,
    mesh: Mesh,
    in_specs: Specs,
    out_specs: Specs,
) -> list[Value]:
    if mesh.size == 1:  # nothing is divided, and jaxlib 0.10 leaves the division's calls in
        with _on_each_device(None):
            return b.lower_jaxpr(jaxpr, args)
    is_open = len(manual.mesh.manual_axes) < len(mesh.axis_names)  # the others are not manual

    def divisions(specs: Specs, avals: Sequence[ShapedArray]) -> str:
        texts = [
            division_text(b.module, mesh, spec, aval.ndim, is_open)
            for spec, aval in zip(specs, avals, strict=True)
        ]
        return f"[{', '.join(texts)}]"

    inside = b.module.function()
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
    names = ", ".join(map(quoted, manual.names))
    lines = "\n".join([*inside.lines, f"{inside.indent}sdy.return {returned}".rstrip()])
    return b.emit(
        f"sdy.manual_computation({', '.join(x.name for x in args)}) "
        f"in_shardings={divisions(in_specs, in_avals)} "
        f"out_shardings={divisions(out_specs, out_avals)} manual_axes={{{names}}} ({declared}) "
        f"{{\n{lines}\n{b.indent}}} : ({', '.join(map(mlir_type, in_avals))}) -> "
        f"({', '.join(map(mlir_type, out_avals))})",
        *out_avals,
    )


@contextmanager
def _on_each_device(mesh: AbstractMesh | None) -> Iterator[None]:
    tokens = on_each_device.set(True), mesh_of_devices.set(mesh)
    try:
        yield
    finally:
        on_each_device.reset(tokens[0])
        mesh_of_devices.reset(tokens[1])


# Transformations


def _vmap(
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
    data = axis_data(batch_axis)
    names = tuple([name for name in data.spmd_name if name in manual.names])
    _require_free(data.spmd_name, manual, batch_axis.size, [*in_specs, *out_specs])
    manual = manual._replace(of_examples=manual.of_examples - {*names})
    device_axis = AxisData(
        data.name,
        batch_axis.size // manual.size(names),
        tuple([name for name in data.spmd_name if name not in names]),
        manual=(*data.manual, *[axis for axis in manual.axes if axis.name in names]),
    )
    with manual.running():
        program, consts, out_dims = vmap_jaxpr(jaxpr, device_axis, tuple(dims))

    def of_batch(spec: PartitionSpec, dim: BatchDim) -> PartitionSpec:
        return spec if dim is None else with_axis(spec, dim, names)

    ins = [*[WHOLE] * len(consts), *map(of_batch, in_specs, dims)]
    outs = [*map(of_batch, out_specs, out_dims)]
    return apply([*consts, *values], program, manual, ins, outs), out_dims


def _require_free(names: Sequence[Hashable], manual: Manual, axis_size: int, specs: Specs) -> None:
    """Raise an error unless these axes can divide examples of the program."""
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
                    f"{caller}: {name!r} divides the examples, and {spec}, a spec of shard_map, "
                    "divides arrays by it as well. Name another axis of the mesh in one of them"
                )
    size = manual.size([name for name in names if name in manual.names])
    if axis_size % size:
        raise ValueError(
            f"{caller}: the {size} devices along it cannot have equal parts of {axis_size} "
            f"examples. Pad these to a multiple of {size}, or name another axis of the mesh"
        )


def _jvp(
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
    results = apply(
        [*consts, *primals, *_chosen(nonzero, tangents)],
        program,
        manual,
        [*[WHOLE] * len(consts), *in_specs, *_chosen(nonzero, in_specs)],
        [*out_specs, *_chosen(out_nonzero, out_specs)],
    )
    outs, computed = results[: len(out_specs)], results[len(out_specs) :]
    zeros = [Zero.like(out) for out, keep in zip(outs, out_nonzero, strict=True) if not keep]
    return outs, merge(out_nonzero, zeros, computed)


def _chosen(which: Sequence[bool], items: Sequence[Any]) -> list[Any]:
    return partition(which, items)[1]


class _Residual(NamedTuple):
    """A value that the unknown program gets from the known one.

    Attributes:
        argument: the number of the known argument that it is, or None.
        spec: how it is passed, as an array.
    """

    argument: int | None
    spec: PartitionSpec


def _partial_eval(unknown_ins: Sequence[bool], eqn: JaxprEqn) -> PartialEqns:
    """Split the program; a residual is passed as an array of what all devices have of it."""
    params, manual = eqn.params, eqn.params["manual"]
    known_ins, ins_unknown = partition(unknown_ins, eqn.invars)
    known_specs, unknown_specs = partition(unknown_ins, params["in_specs"])
    with manual.running():
        known, unknown, unknown_outs, residuals = _split(
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
    at_once = _params(known, manual, known_specs, out_specs)
    later = _params(unknown, manual, in_specs, unknown_out_specs)
    outs = [*known_outs, *made_vars]
    return PartialEqns(
        [JaxprEqn(shard_map_p, known_ins, outs, at_once, eqn.source)],
        JaxprEqn(shard_map_p, [*passed, *ins_unknown], outs_unknown, later, eqn.source),
    )


@cached_by_jaxpr
def _split(
    jaxpr: Jaxpr, manual: Manual, unknown_ins: tuple[bool, ...], known_specs: Specs
) -> tuple[Jaxpr, Jaxpr, list[bool], list[_Residual]]:
    """The known program, the unknown one, flags of its results, and the residuals.

    Those that are arguments of the known program need not be its results. Others that vary get a
    first axis of one element, along which the devices' values are stacked.
    """
    parts = split_jaxpr(jaxpr, unknown_ins)
    count = len(parts.known.outvars) - parts.num_residuals
    known_eqns, known_outs = list(parts.known.eqns), list(parts.known.outvars[:count])
    unknown_eqns: list[JaxprEqn] = []
    params: list[Var] = []
    residuals = []
    for out, param in zip(parts.known.outvars[count:], parts.unknown.invars, strict=False):
        if out in parts.known.invars:
            argument = parts.known.invars.index(out)
            residuals.append(_Residual(argument, known_specs[argument]))
            params.append(param)
            continue
        spec = manual.stacking(out.aval)
        if len(spec):
            part = out.aval.update(shape=(1, *out.aval.shape))
            sent, received = Var(part), Var(part)
            known_eqns.append(_reshape(out, sent))
            unknown_eqns.append(_reshape(received, param))
            out, param = sent, received
        residuals.append(_Residual(None, spec))
        known_outs.append(out)
        params.append(param)
    params += parts.unknown.invars[parts.num_residuals :]
    known = Jaxpr([], parts.known.invars, known_eqns, known_outs)
    unknown_eqns += parts.unknown.eqns
    unknown = Jaxpr([], params, unknown_eqns, parts.unknown.outvars)
    return known, unknown, parts.unknown_outs, residuals


def _reshape(x: Atom, out: Var) -> JaxprEqn:
    return JaxprEqn(reshape_p, [x], [out], {"new_sizes": out.aval.shape})


def _transpose(
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
    program, consts, nonzero_ins = _transposed(jaxpr, manual, in_specs, out_specs, linear, nonzero)
    known, known_specs = partition(linear, args)[0], partition(linear, in_specs)[0]
    outs = iter(
        apply(
            [*consts, *known, *_chosen(nonzero, cts)],
            program,
            manual,
            [*[WHOLE] * len(consts), *known_specs, *_chosen(nonzero, out_specs)],
            _chosen(nonzero_ins, in_specs),
        )
    )
    return [next(outs) if is_nonzero else None for is_nonzero in nonzero_ins]


@cached_by_jaxpr
def _transposed(
    jaxpr: Jaxpr,
    manual: Manual,
    in_specs: Specs,
    out_specs: Specs,
    linear: tuple[bool, ...],
    nonzero: tuple[bool, ...],
) -> tuple[Jaxpr, list[Any], list[bool]]:
    """The program from known arguments and cotangents of results to cotangents of arguments.

    Where types do not say what varies, devices share the cotangent of a result that is the same on
    all of them, and the cotangent of such an argument is the sum of theirs.
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
            _summed(manual, ct, spec)
            for ct, spec, keep in zip(in_cts, in_specs, nonzero_ins, strict=True)
            if keep
        ]

    known_avals, _ = partition(linear, jaxpr.in_avals)
    ct_avals = [
        vary(aval, names_in(spec)) if manual.checked else aval
        for aval, spec in _chosen(nonzero, list(zip(types, out_specs, strict=True)))
    ]
    with manual.running():
        transposed, consts = stage_to_jaxpr(program, [*known_avals, *ct_avals], "transposition")
    return transposed, consts, nonzero_ins


def _shared(manual: Manual, ct: Any, spec: PartitionSpec) -> Any:
    size = manual.size([axis.name for axis in manual.not_in(spec)])
    return ct if size == 1 else div(ct, size)


def _summed(manual: Manual, ct: Any, spec: PartitionSpec) -> Any:
    indices = [axis.index() for axis in manual.not_in(spec)]
    return bind1(psum_p, ct, *indices) if indices else ct


def _dce(used_outs: Sequence[bool], eqn: JaxprEqn) -> tuple[list[bool], JaxprEqn]:
    params = eqn.params
    found = smaller_jaxpr(params["jaxpr"], tuple(used_outs))
    if found is None:
        return [True] * len(eqn.invars), eqn
    jaxpr, used_ins = found
    in_specs, out_specs = (
        _chosen(used_ins, params["in_specs"]),
        _chosen(used_outs, params["out_specs"]),
    )
    smaller = _params(jaxpr, params["manual"], in_specs, out_specs)
    invars, outvars = _chosen(used_ins, eqn.invars), _chosen(used_outs, eqn.outvars)
    return used_ins, JaxprEqn(shard_map_p, invars, outvars, smaller, eqn.source)


def _order(
    with_token: WithToken, eqn: JaxprEqn, token: Var | Literal, following: Var
) -> list[JaxprEqn]:
    """Every device has its own order."""
    params = eqn.params
    ordered = _params(
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
    abstract_eval=_abstract_eval,
    lower=_lower,
    vmap=_vmap,
    jvp=_jvp,
    transpose=_transpose,
    partial_eval=_partial_eval,
    dce=_dce,
    dependence=dependence_of_program,
    order=_order,
    keys=keys_of_program,
    steps=None,
)
