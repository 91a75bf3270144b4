"""Calls of foreign functions, under the names of `jax.ffi`.

A foreign function is compiled separately, for example from C++, with the headers in
`include_dir()`. It is registered under a name, by which programs call it.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from glassjax import callbacks
from glassjax.interpreters.mlir import LoweringRuleContext, aval_to_ir_type, ir_attribute
from glassjax.primitives import routines
from glassjax.primitives.higher_order import declare_opaque, pass_token_on
from glassjax.runtime.array import ArrayLike, to_array
from glassjax.runtime.effects import abstract_token
from glassjax.runtime.evaluation import evaluated_by_library
from glassjax.settings.names import counted, list_public_names
from glassjax.shardings.sharding import Layout
from glassjax.xla.executables import ir
from glassjax.xla.extensions import (
    include_dir,
    pycapsule,
    register_ffi_target,
    register_ffi_target_as_batch_partitionable,
    register_ffi_type,
    register_ffi_type_id,
)
from glassjax_stage2 import Primitive, ShapedArray, bind, typeof
from glassjax_stage2.errors import shown
from glassjax_stage2.vmap import BatchAxis, BatchDim
from glassjax_stage3.lowering import FunctionBuilder, Value, signature

# `ffi_call`: a foreign function in a program.


ffi_call_p = Primitive("ffi_call", higher_order=True)
effectful_ffi_call_p = Primitive("effectful_ffi_call", higher_order=True)

Layouts = tuple[tuple[int, ...], ...]


def ffi_call(
    target_name: str,
    result_shape_dtypes: Any,
    *,
    has_side_effect: bool = False,
    vmap_method: str | None = None,
    input_layouts: Sequence[routines.LayoutOption] | None = None,
    output_layouts: routines.LayoutOption | Sequence[routines.LayoutOption] = None,
    input_output_aliases: Mapping[int, int] | None = None,
    custom_call_api_version: int = 4,
    legacy_backend_config: str | None = None,
) -> Callable[..., Any]:
    """Return a function of arrays that calls a foreign function.

    Arguments:
        target_name: its name in `register_ffi_target`.
        result_shape_dtypes: the type of its result, anything with a shape and a dtype, or
            `abstract_token`; or a sequence of these.
        has_side_effect: whether to call it even if its results are not used.
        vmap_method: how vmap calls it, as for `pure_callback`.
        input_layouts: for each operand the order of its axes in memory, from the largest stride
            to the smallest: a sequence of axes, a `Layout`, or None for row-major.
        output_layouts: the same for the result or results.
        input_output_aliases: a dict from numbers of operands to numbers of results, of the same
            type and layout, that the function finds in their place.
        custom_call_api_version: 4 for XLA's typed interface; less for older interfaces.
        legacy_backend_config: the text for functions of interfaces before version 4.

    Returns:
        A function of arrays, which returns an array, or a list or tuple of them as
        `result_shape_dtypes` is. Keyword arguments are attributes of the call: numbers, truth
        values, text, arrays of numpy, dtypes, and dicts and tuples of these.

    Raises:
        ValueError: there is no such method, or a text is given for version 4; when called, layouts
            or aliases do not fit the arrays, or it is differentiated, which only `custom_jvp` and
            `custom_vjp` can do.
        TypeError: an attribute is none of these.
        NotImplementedError: it is mapped, and `vmap_method` is None.
        CompileError: no function of that name is registered for the platform.
        ExecutionError: the function failed, when run.

    >>> import numpy as np
    >>> from glassjax.ffi import ffi_call
    >>> types = [glassjax.ShapeDtypeStruct(s, d) for s, d in (((2, 2), "float32"), ((), "int32"))]
    >>> columns = (1, 0)
    >>> cholesky = ffi_call(
    ...     "lapack_spotrf_ffi",
    ...     types,
    ...     input_layouts=[columns],
    ...     output_layouts=[columns, None],
    ...     input_output_aliases={0: 0},
    ... )
    >>> lower, info = cholesky(jnp.array([[4.0, 0], [2, 2]]), uplo=np.uint8(ord("L")))
    >>> lower
    Array([[2., 0.],
           [1., 1.]], dtype=float32)
    """
    if vmap_method not in callbacks.METHODS:
        raise ValueError(
            f"ffi_call: vmap_method has to be one of {callbacks.METHODS}, found {vmap_method!r}"
        )
    if custom_call_api_version >= 4 and legacy_backend_config is not None:
        raise ValueError(
            f"ffi_call: legacy_backend_config is for custom_call_api_version below 4, found "
            f"{custom_call_api_version}; pass attributes by keyword to the function returned"
        )
    is_one = not isinstance(result_shape_dtypes, Sequence)
    result_avals = _result_types([result_shape_dtypes] if is_one else result_shape_dtypes)
    outs_by: Any = [output_layouts] if is_one else output_layouts

    @evaluated_by_library
    def ffi_function(*args: ArrayLike, **attributes: Any) -> Any:
        operands = [to_array(x) for x in args]
        in_avals = tuple(map(typeof, operands))
        if attributes and custom_call_api_version < 4:
            raise ValueError(
                f"ffi_call: attributes need custom_call_api_version 4, found "
                f"{custom_call_api_version}; legacy_backend_config takes a text"
            )
        ins = _checked_layouts("input_layouts", input_layouts, in_avals)
        outs = _checked_layouts("output_layouts", outs_by, result_avals)
        found = bind(
            effectful_ffi_call_p if has_side_effect else ffi_call_p,
            *operands,
            target_name=target_name,
            result_avals=result_avals,
            vmap_method=vmap_method,
            input_layouts=ins,
            output_layouts=outs,
            aliases=_aliases(input_output_aliases, in_avals, result_avals, ins, outs),
            api_version=int(custom_call_api_version),
            config=routines.attribute_text(attributes)
            if custom_call_api_version >= 4
            else routines.mlir_string(legacy_backend_config or ""),
        )
        if is_one:
            return found[0]
        return tuple(found) if isinstance(result_shape_dtypes, tuple) else list(found)

    return ffi_function


def _result_types(results: Sequence[Any]) -> callbacks.Avals:
    for number, each in enumerate(results):
        if each is abstract_token:
            continue
        if not hasattr(each, "shape") or not hasattr(each, "dtype"):
            raise ValueError(
                f"ffi_call: leaves of result_shape_dtypes must have a shape and a dtype, found "
                f"{shown(each)} as number {number}"
            )
    return tuple(
        each if each is abstract_token else ShapedArray(tuple(each.shape), each.dtype)
        for each in results
    )


def _checked_layouts(
    role: str, layouts: Sequence[routines.LayoutOption] | None, avals: callbacks.Avals
) -> Layouts:
    given = [None] * len(avals) if layouts is None else layouts
    if len(given) != len(avals):
        raise ValueError(
            f"ffi_call: {role} must have one layout for each of "
            f"{counted(len(avals), 'array')}, found {len(given)}"
        )
    ndims = [0 if aval is abstract_token else aval.ndim for aval in avals]
    return tuple(map(routines.minor_to_major, given, ndims))


def _aliases(
    aliases: Mapping[int, int] | None,
    in_avals: callbacks.Avals,
    out_avals: callbacks.Avals,
    in_layouts: Layouts,
    out_layouts: Layouts,
) -> tuple[tuple[int, int], ...]:
    pairs = tuple(sorted((int(i), int(o)) for i, o in (aliases or {}).items()))
    for i, o in pairs:
        role = f"ffi_call: input_output_aliases joins operand {i} and result {o}"
        if not (0 <= i < len(in_avals) and 0 <= o < len(out_avals)):
            raise ValueError(f"{role}, found {len(in_avals)} operands, {len(out_avals)} results")
        given, wanted = in_avals[i].strip_weak_type(), out_avals[o]
        if (given.shape, given.dtype) != (wanted.shape, wanted.dtype):
            raise ValueError(f"{role}, which differ in type: {given} and {wanted}")
        if in_layouts[i] != out_layouts[o]:
            raise ValueError(
                f"{role}, which differ in layout, from minor to major: {in_layouts[i]} and "
                f"{out_layouts[o]}"
            )
    return pairs


def _ffi_call_lower(
    primitive: Primitive,
) -> Callable[..., list[Value]]:
    has_side_effect = str(primitive is effectful_ffi_call_p).lower()

    def ffi_lower(
        b: FunctionBuilder,
        out_avals: Sequence[ShapedArray],
        *operands: Value,
        target_name: str,
        input_layouts: Layouts,
        output_layouts: Layouts,
        aliases: Sequence[tuple[int, int]],
        api_version: int,
        config: str,
        **params: Any,
    ) -> list[Value]:
        name = target_name if target_name.isidentifier() else routines.mlir_string(target_name)
        return b.emit(
            f"stablehlo.custom_call @{name}({', '.join(x.name for x in operands)}) "
            f"{{api_version = {api_version} : i32, backend_config = {config}, "
            f"has_side_effect = {has_side_effect}, "
            f"operand_layouts = {routines.layouts_text(input_layouts)}, "
            f"output_operand_aliases = {routines.aliases_text(aliases, len(out_avals))}, "
            f"result_layouts = {routines.layouts_text(output_layouts)}}} "
            f": {signature(operands, out_avals)}",
            *out_avals,
        )

    return ffi_lower


def _ffi_call_vmap(primitive: Primitive) -> Callable[..., tuple[list[Any], list[BatchDim]]]:
    def ffi_vmap(
        axis: BatchAxis,
        values: Sequence[Any],
        dims: Sequence[BatchDim],
        /,
        **params: Any,
    ) -> tuple[list[Any], list[BatchDim]]:
        method = params["vmap_method"]
        if method in callbacks.ONE_BY_ONE:
            return callbacks.one_by_one(primitive, axis, values, dims, params)
        moved = callbacks.all_at_once("ffi_call", params["target_name"], axis, values, dims, method)
        result_avals = [
            aval.update(shape=(axis.size, *aval.shape)) for aval in params["result_avals"]
        ]
        changed = {
            "result_avals": tuple(result_avals),
            "input_layouts": _with_batch(params["input_layouts"], map(typeof, moved)),
            "output_layouts": _with_batch(params["output_layouts"], result_avals),
        }
        outs = bind(primitive, *moved, **{**params, **changed})
        return outs, [0] * len(outs)

    return ffi_vmap


def _with_batch(layouts: Layouts, avals: Any) -> Layouts:
    """The layouts, with a new major axis where an array has one more."""
    return tuple(
        at if len(at) == aval.ndim else (*(axis + 1 for axis in at), 0)
        for at, aval in zip(layouts, avals, strict=True)
    )


for _primitive in (ffi_call_p, effectful_ffi_call_p):
    declare_opaque(
        _primitive,
        abstract_eval=lambda *in_avals, result_avals, **params: list(result_avals),
        lower=_ffi_call_lower(_primitive),
        vmap=_ffi_call_vmap(_primitive),
        jvp=callbacks.refuse_derivative(_primitive, "the foreign function `{target_name}`"),
        order=pass_token_on,
        effects=_primitive is effectful_ffi_call_p,
    )


# Lowering rules that call foreign functions, for `register_lowering`.


def build_ffi_lowering_function(
    call_target_name: str,
    *,
    operand_layouts: Sequence[routines.LayoutOption] | None = None,
    result_layouts: Sequence[routines.LayoutOption] | None = None,
    backend_config: Mapping[str, Any] | str | None = None,
    skip_ffi_layout_processing: bool = False,
    **lowering_args: Any,
) -> Callable[..., Any]:
    """Return a function that builds the operation which calls a foreign function.

    Arguments:
        call_target_name: the name by which `register_ffi_target` registered it.
        operand_layouts: for each operand the order of its axes in memory, a `Layout` or a sequence
            of axes, from the smallest stride to the largest, unlike in `ffi_call`. None for
            row-major.
        result_layouts: the same for the results.
        backend_config: MLIR attributes of all calls; or a text, for functions of interfaces before
            version 4.
        skip_ffi_layout_processing: whether to omit layouts.
        lowering_args: of the operation: `api_version`, which is 4, `has_side_effect`,
            `operand_output_aliases`, a dict of numbers, `result_types`, by default the types in
            the context, and `extra_attributes`, a dict of attributes of MLIR.

    Returns:
        A function of a `LoweringRuleContext`, values of MLIR, and attributes by keyword.

    Raises:
        ValueError: when called, the config does not match the version, or a layout does not fit.
        TypeError: when called, `lowering_args` has an unknown name.
    """

    def build(ctx: LoweringRuleContext, *operands: Any, **attributes: Any) -> Any:
        options = dict(lowering_args)
        if not skip_ffi_layout_processing:
            options["operand_layouts"] = _layouts_text(operand_layouts, ctx.avals_in)
            options["result_layouts"] = _layouts_text(result_layouts, ctx.avals_out)
        options.setdefault("result_types", [aval_to_ir_type(aval) for aval in ctx.avals_out])
        return custom_call(call_target_name, operands, backend_config, attributes, **options)

    return build


def ffi_lowering(call_target_name: str, **options: Any) -> Callable[..., Any]:
    """Return a lowering rule that calls a foreign function.

    Arguments:
        call_target_name: the name by which `register_ffi_target` registered it.
        options: as for `build_ffi_lowering_function`.

    Returns:
        A lowering rule; the primitive's parameters become attributes of the call.

    >>> from glassjax.core import Primitive, abstract_eval_rules, bind
    >>> from glassjax.interpreters import mlir
    >>> from glassjax.ffi import ffi_lowering
    >>> factors_p = Primitive("factors")
    >>> abstract_eval_rules[factors_p] = lambda x: [
    ...     x, *(x.update(shape=s, dtype=np.dtype("int32")) for s in (x.shape[:1], ()))
    ... ]
    >>> rule = ffi_lowering(
    ...     "lapack_sgetrf_ffi",
    ...     operand_layouts=[(0, 1)],  # by columns
    ...     result_layouts=[(0, 1), None, None],
    ...     operand_output_aliases={0: 0},
    ... )
    >>> _ = mlir.register_lowering(factors_p, rule)
    >>> glassjax.jit(lambda x: bind(factors_p, x)[0])(jnp.array([[4.0, 2.0], [2.0, 2.0]]))
    Array([[4. , 2. ],
           [0.5, 1. ]], dtype=float32)
    """
    build = build_ffi_lowering_function(call_target_name, **options)
    return lambda ctx, *operands, **attributes: list(build(ctx, *operands, **attributes).results)


def custom_call(
    name: str,
    operands: Sequence[Any],
    config: Mapping[str, Any] | str | None,
    params: Mapping[str, Any],
    *,
    result_types: Sequence[Any],
    api_version: int = 4,
    has_side_effect: bool = False,
    operand_output_aliases: Mapping[int, int] | None = None,
    operand_layouts: Sequence[Sequence[int]] | None = None,
    result_layouts: Sequence[Sequence[int]] | None = None,
    extra_attributes: Mapping[str, Any] | None = None,
) -> Any:
    """Build the operation that calls a function, in the current context."""
    caller = f"the lowering of the foreign function `{name}`"
    if api_version >= 4:
        if isinstance(config, str):
            raise ValueError(
                f"{caller}: backend_config must be a dict for api_version {api_version}, found "
                f"{config!r}"
            )
        text = routines.attribute_text({**(config or {}), **params})
    elif params:
        raise ValueError(
            f"{caller}: the attributes {', '.join(params)} need api_version 4, found {api_version}"
        )
    else:
        text = routines.attribute_text(config or "")
    texts = {
        "api_version": f"{api_version} : i32",
        "backend_config": text,
        "has_side_effect": routines.attribute_text(has_side_effect),
        "output_operand_aliases": routines.aliases_text(
            [*(operand_output_aliases or {}).items()], len(result_types)
        ),
    }
    for key, layouts in (("operand_layouts", operand_layouts), ("result_layouts", result_layouts)):
        if layouts is not None:
            texts[key] = routines.layouts_text(layouts)
    attributes = {
        "call_target_name": ir_attribute(name),
        **{key: ir().Attribute.parse(text) for key, text in texts.items()},
        **(extra_attributes or {}),
    }
    call = ir().Operation.create(
        "stablehlo.custom_call", [*result_types], [*operands], attributes=attributes
    )
    return call.opview


def _layouts_text(
    layouts: Sequence[routines.LayoutOption] | None, avals: Sequence[ShapedArray]
) -> list[tuple[int, ...]]:
    """The layouts of arrays, from minor to major, as sequences in the options are."""
    given = [None] * len(avals) if layouts is None else layouts
    return [
        routines.minor_to_major(
            at if at is None or isinstance(at, Layout) else [*at][::-1], aval.ndim
        )
        for at, aval in zip(given, avals, strict=True)
    ]


__all__ = [
    "abstract_token",
    "build_ffi_lowering_function",
    "ffi_call",
    "ffi_lowering",
    "include_dir",
    "pycapsule",
    "register_ffi_target",
    "register_ffi_target_as_batch_partitionable",
    "register_ffi_type",
    "register_ffi_type_id",
]
list_public_names(globals())
