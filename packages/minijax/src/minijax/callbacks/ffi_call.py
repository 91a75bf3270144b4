"""`ffi_call`: a foreign function in a program."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from minijax.callbacks.callback import Avals
from minijax.callbacks.ffi_attributes import (
    LayoutOption,
    aliases_text,
    attribute_text,
    layouts_text,
    minor_to_major,
    quoted,
)
from minijax.callbacks.pure_callback import (
    METHODS,
    ONE_BY_ONE,
    all_at_once,
    one_by_one,
    refuse_derivative,
)
from minijax.primitives.declare_program import declare_program
from minijax.primitives.sharding_rules import whole
from minijax.runtime.array import ArrayLike
from minijax.runtime.conversion import to_array
from minijax.runtime.evaluation import evaluated_by_library
from minijax.runtime.tokens import abstract_token
from minijax_stage2 import Primitive, ShapedArray, bind, typeof
from minijax_stage2.errors import shown
from minijax_stage2.primitives import reshape_p
from minijax_stage2.vmap import BatchAxis, BatchDim
from minijax_stage3 import JaxprEqn
from minijax_stage3.lowering import FunctionBuilder, Value, signature

ffi_call_p = Primitive("ffi_call", higher_order=True)
effectful_ffi_call_p = Primitive("effectful_ffi_call", higher_order=True)

Layouts = tuple[tuple[int, ...], ...]


def ffi_call(
    target_name: str,
    result_shape_dtypes: Any,
    *,
    has_side_effect: bool = False,
    vmap_method: str | None = None,
    input_layouts: Sequence[LayoutOption] | None = None,
    output_layouts: LayoutOption | Sequence[LayoutOption] = None,
    input_output_aliases: Mapping[int, int] | None = None,
    custom_call_api_version: int = 4,
    legacy_backend_config: str | None = None,
) -> Callable[..., Any]:
    """Return a function of arrays that calls a foreign function.

    Arguments:
        target_name: the name by which `register_ffi_target` registered it.
        result_shape_dtypes: the type of its result, anything with a shape and a dtype, or
            `abstract_token`; or a sequence of these.
        has_side_effect: whether it is to be called even if its results are not used.
        vmap_method: what vmap does, as for `pure_callback`.
        input_layouts: for each operand the order of its axes in memory, from the one of the
            largest stride: a sequence of axes, a `Layout`, or None for row-major.
        output_layouts: the same of the result or results.
        input_output_aliases: for numbers of operands, those of the results, of the same type and
            layout, that the function finds in their place.
        custom_call_api_version: 4 for XLA's typed interface; fewer for interfaces before it.
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
    >>> from minijax.ffi import ffi_call
    >>> types = [minijax.ShapeDtypeStruct(s, d) for s, d in (((2, 2), "float32"), ((), "int32"))]
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
    if vmap_method not in METHODS:
        raise ValueError(f"ffi_call: vmap_method has to be one of {METHODS}, found {vmap_method!r}")
    if custom_call_api_version >= 4 and legacy_backend_config is not None:
        raise ValueError(
            f"ffi_call: legacy_backend_config is for custom_call_api_version below 4, found "
            f"{custom_call_api_version}; pass attributes by keyword to the function returned"
        )
    is_one = not isinstance(result_shape_dtypes, Sequence)
    result_avals = _types([result_shape_dtypes] if is_one else result_shape_dtypes)
    outs_by: Any = [output_layouts] if is_one else output_layouts

    @evaluated_by_library
    def call(*args: ArrayLike, **attributes: Any) -> Any:
        operands = [to_array(x) for x in args]
        in_avals = tuple(map(typeof, operands))
        if attributes and custom_call_api_version < 4:
            raise ValueError(
                f"ffi_call: attributes need custom_call_api_version 4, found "
                f"{custom_call_api_version}; legacy_backend_config takes a text"
            )
        ins = _layouts("input_layouts", input_layouts, in_avals)
        outs = _layouts("output_layouts", outs_by, result_avals)
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
            config=attribute_text(attributes)
            if custom_call_api_version >= 4
            else quoted(legacy_backend_config or ""),
        )
        if is_one:
            return found[0]
        return tuple(found) if isinstance(result_shape_dtypes, tuple) else list(found)

    return call


def _types(results: Sequence[Any]) -> Avals:
    for number, each in enumerate(results):
        if each is abstract_token:
            continue
        if not hasattr(each, "shape") or not hasattr(each, "dtype"):
            raise ValueError(
                f"ffi_call: result_shape_dtypes holds what has a shape and a dtype, found "
                f"{shown(each)} as number {number}"
            )
    return tuple(
        each if each is abstract_token else ShapedArray(tuple(each.shape), each.dtype)
        for each in results
    )


def _layouts(role: str, layouts: Sequence[LayoutOption] | None, avals: Avals) -> Layouts:
    given = [None] * len(avals) if layouts is None else layouts
    if len(given) != len(avals):
        raise ValueError(
            f"ffi_call: {role} must have a layout for each array, of which there are "
            f"{len(avals)}; found {len(given)}"
        )
    ndims = [0 if aval is abstract_token else aval.ndim for aval in avals]
    return tuple(map(minor_to_major, given, ndims))


def _aliases(
    aliases: Mapping[int, int] | None,
    in_avals: Avals,
    out_avals: Avals,
    in_layouts: Layouts,
    out_layouts: Layouts,
) -> tuple[tuple[int, int], ...]:
    pairs = tuple(sorted((int(i), int(o)) for i, o in (aliases or {}).items()))
    for i, o in pairs:
        what = f"ffi_call: input_output_aliases joins operand {i} and result {o}"
        if not (0 <= i < len(in_avals) and 0 <= o < len(out_avals)):
            raise ValueError(f"{what}, found {len(in_avals)} operands, {len(out_avals)} results")
        given, wanted = in_avals[i].strip_weak_type(), out_avals[o]
        if (given.shape, given.dtype) != (wanted.shape, wanted.dtype):
            raise ValueError(f"{what}, which differ in type: {given} and {wanted}")
        if in_layouts[i] != out_layouts[o]:
            raise ValueError(
                f"{what}, which differ in layout, from minor to major: {in_layouts[i]} and "
                f"{out_layouts[o]}"
            )
    return pairs


def _lower(
    primitive: Primitive,
) -> Callable[..., list[Value]]:
    has_side_effect = str(primitive is effectful_ffi_call_p).lower()

    def rule(
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
        name = target_name if target_name.isidentifier() else quoted(target_name)
        return b.emit(
            f"stablehlo.custom_call @{name}({', '.join(x.name for x in operands)}) "
            f"{{api_version = {api_version} : i32, backend_config = {config}, "
            f"has_side_effect = {has_side_effect}, "
            f"operand_layouts = {layouts_text(input_layouts)}, "
            f"output_operand_aliases = {aliases_text(aliases, len(out_avals))}, "
            f"result_layouts = {layouts_text(output_layouts)}}} "
            f": {signature(operands, out_avals)}",
            *out_avals,
        )

    return rule


def _vmap(primitive: Primitive) -> Callable[..., tuple[list[Any], list[BatchDim]]]:
    def rule(
        axis: BatchAxis,
        values: Sequence[Any],
        dims: Sequence[BatchDim],
        /,
        **params: Any,
    ) -> tuple[list[Any], list[BatchDim]]:
        method = params["vmap_method"]
        if method in ONE_BY_ONE:
            return one_by_one(primitive, axis, values, dims, params)
        moved = all_at_once("ffi_call", params["target_name"], axis, values, dims, method)
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

    return rule


def _with_batch(layouts: Layouts, avals: Any) -> Layouts:
    """The layouts, with a major axis in front where there is one more."""
    return tuple(
        at if len(at) == aval.ndim else (*(axis + 1 for axis in at), 0)
        for at, aval in zip(layouts, avals, strict=True)
    )


def _order(with_token: Any, eqn: JaxprEqn, token: Any, following: Any) -> list[JaxprEqn]:
    """It runs, in an order that only data says: the token is passed on."""
    return [eqn, JaxprEqn(reshape_p, [token], [following], {"new_sizes": ()}, eqn.source)]


for _primitive in (ffi_call_p, effectful_ffi_call_p):
    declare_program(
        _primitive,
        abstract_eval=lambda *in_avals, result_avals, **params: list(result_avals),
        lower=_lower(_primitive),
        vmap=_vmap(_primitive),
        sharding=whole,
        jvp=refuse_derivative(_primitive, "the foreign function `{target_name}`"),
        transpose=None,
        partial_eval=None,
        dce=None,
        dependence=None,
        order=_order,
        keys=None,
        steps=None,
        effects=_primitive is effectful_ffi_call_p,
    )

__all__ = ["ffi_call"]
