"""Lowering rules that call foreign functions, for `register_lowering`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from minijax.callbacks.ffi_attributes import (
    LayoutOption,
    aliases_text,
    attribute_text,
    layouts_text,
    minor_to_major,
)
from minijax.interpreters.mlir import LoweringRuleContext, aval_to_ir_type, ir_attribute
from minijax.shardings.layout import Layout
from minijax.xla.mlir import ir
from minijax_stage2 import ShapedArray


def build_ffi_lowering_function(
    call_target_name: str,
    *,
    operand_layouts: Sequence[LayoutOption] | None = None,
    result_layouts: Sequence[LayoutOption] | None = None,
    backend_config: Mapping[str, Any] | str | None = None,
    skip_ffi_layout_processing: bool = False,
    **lowering_args: Any,
) -> Callable[..., Any]:
    """Return a function that builds the operation which calls a foreign function.

    Arguments:
        call_target_name: the name by which `register_ffi_target` registered it.
        operand_layouts: for each operand the order of its axes in memory, a `Layout` or a sequence
            of axes; these begin with the one of the smallest stride, unlike those of `ffi_call`.
            None for row-major.
        result_layouts: the same of the results.
        backend_config: attributes of all calls, attributes of MLIR; or a text, for functions of
            interfaces before version 4.
        skip_ffi_layout_processing: whether to say nothing of layouts.
        lowering_args: of the operation: `api_version`, which is 4, `has_side_effect`,
            `operand_output_aliases`, a dict of numbers, `result_types`, which are those of the
            context, and `extra_attributes`, a dict of attributes of MLIR.

    Returns:
        A function of a `LoweringRuleContext`, values of MLIR, and attributes by keyword.

    Raises:
        ValueError: when called, the config is not of the version, or a layout does not fit.
        TypeError: when called, `lowering_args` has another name.
    """

    def build(ctx: LoweringRuleContext, *operands: Any, **attributes: Any) -> Any:
        options = dict(lowering_args)
        if not skip_ffi_layout_processing:
            options["operand_layouts"] = _layouts(operand_layouts, ctx.avals_in)
            options["result_layouts"] = _layouts(result_layouts, ctx.avals_out)
        options.setdefault("result_types", [aval_to_ir_type(aval) for aval in ctx.avals_out])
        return custom_call(call_target_name, operands, backend_config, attributes, **options)

    return build


def ffi_lowering(call_target_name: str, **options: Any) -> Callable[..., Any]:
    """Return a lowering rule that calls a foreign function.

    Arguments:
        call_target_name: the name by which `register_ffi_target` registered it.
        options: those of `build_ffi_lowering_function`.

    Returns:
        A rule whose parameters, those of the primitive, are attributes of the call.

    >>> from minijax.core import Primitive, abstract_eval_rules, bind
    >>> from minijax.interpreters import mlir
    >>> from minijax.ffi import ffi_lowering
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
    >>> minijax.jit(lambda x: bind(factors_p, x)[0])(jnp.array([[4.0, 2.0], [2.0, 2.0]]))
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
        text = attribute_text({**(config or {}), **params})
    elif params:
        raise ValueError(
            f"{caller}: the attributes {', '.join(params)} need api_version 4, found {api_version}"
        )
    else:
        text = attribute_text(config or "")
    texts = {
        "api_version": f"{api_version} : i32",
        "backend_config": text,
        "has_side_effect": attribute_text(has_side_effect),
        "output_operand_aliases": aliases_text(
            [*(operand_output_aliases or {}).items()], len(result_types)
        ),
    }
    for key, layouts in (("operand_layouts", operand_layouts), ("result_layouts", result_layouts)):
        if layouts is not None:
            texts[key] = layouts_text(layouts)
    attributes = {
        "call_target_name": ir_attribute(name),
        **{key: ir().Attribute.parse(text) for key, text in texts.items()},
        **(extra_attributes or {}),
    }
    call = ir().Operation.create(
        "stablehlo.custom_call", [*result_types], [*operands], attributes=attributes
    )
    return call.opview


def _layouts(
    layouts: Sequence[LayoutOption] | None, avals: Sequence[ShapedArray]
) -> list[tuple[int, ...]]:
    """The layouts of arrays, from minor to major, from options which sequences give so."""
    given = [None] * len(avals) if layouts is None else layouts
    return [
        minor_to_major(at if at is None or isinstance(at, Layout) else [*at][::-1], aval.ndim)
        for at, aval in zip(given, avals, strict=True)
    ]


__all__ = ["build_ffi_lowering_function", "ffi_lowering"]
