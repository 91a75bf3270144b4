"""Layouts of arrays in memory, under the names of `jax.experimental.layout`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import glassjax_stage2 as stage2
from glassjax.primitives.declare import declare
from glassjax.primitives.sharding_rules import as_operands
from glassjax.runtime.array import to_array
from glassjax.runtime.evaluation import evaluated_by_library, evaluators
from glassjax.shardings.sharding import Format, Layout
from glassjax_stage2 import Primitive, ShapedArray, bind1, typeof
from glassjax_stage2.errors import TreeMismatchError, shown
from glassjax_stage2.tree import broadcast_prefix
from glassjax_stage2.vmap import BatchAxis, BatchDim
from glassjax_stage3.lowering import FunctionBuilder, Value, signature

layout_constraint_p = Primitive("layout_constraint")

Tree = TypeVar("Tree")


@evaluated_by_library
def with_layout_constraint(x: Tree, layouts: Any) -> Tree:
    """`x`, a pytree of arrays, laid out in memory as given.

    In a program, this fixes the layout between two operations. Arguments and results of programs
    are row-major, and so are all arrays outside.

    Arguments:
        x: the arrays.
        layouts: a `Layout` for each array, or a pytree prefix of `x` of these.

    Raises:
        ValueError: `layouts` is not a prefix, or has other leaves than layouts; a layout does not
            have the axes of its array; outside of a program, a layout is not row-major.

    >>> from glassjax.experimental.layout import Layout, with_layout_constraint
    >>> columns = Layout(major_to_minor=(1, 0))
    >>> f = glassjax.jit(lambda x: with_layout_constraint(2 * x, columns) + 1)
    >>> "f32[2,3]{0,1}" in f.lower(jnp.ones((2, 3))).compile().as_text()
    True
    """
    caller = "with_layout_constraint"
    leaves, tree = stage2.tree_flatten(x)
    try:
        found = broadcast_prefix(layouts, x, lambda each: isinstance(each, Layout))
    except TreeMismatchError as error:
        raise TreeMismatchError(f"{caller}: layouts is not a prefix of x: {error}") from None
    for leaf, layout in zip(leaves, found, strict=True):
        if not isinstance(layout, Layout):
            raise ValueError(f"{caller}: layouts must hold Layouts, found {shown(layout)}")
        aval = typeof(leaf)
        if sorted(layout.major_to_minor) != list(range(aval.ndim)):
            raise ValueError(
                f"{caller}: {layout} must name each axis of {aval} once in major_to_minor"
            )
    outs = [
        bind1(layout_constraint_p, leaf, layout=at) for leaf, at in zip(leaves, found, strict=True)
    ]
    return stage2.tree_unflatten(tree, outs)


def _layout_constraint_lower(
    b: FunctionBuilder, out_avals: Sequence[ShapedArray], x: Value, *, layout: Layout
) -> list[Value]:
    if not out_avals[0].ndim:
        return [x]
    order = [*reversed(layout.major_to_minor)]
    kind = f"[dense<{order}> : tensor<{len(order)}xindex>]"
    layouts = f"operand_layouts = {kind}, result_layouts = {kind}"
    call = f"stablehlo.custom_call @LayoutConstraint({x.name}) {{{layouts}}}"
    return b.emit(f"{call} : {signature([x], out_avals)}", *out_avals)


def _layout_constraint_vmap(
    batch_axis: BatchAxis, values: Sequence[Any], dims: Sequence[BatchDim], *, layout: Layout
) -> tuple[list[Any], Sequence[BatchDim]]:
    """Constrain a batch: its batch axis is the major one."""
    (dim,) = dims
    if dim is not None:
        order = [axis + (axis >= dim) for axis in layout.major_to_minor]
        bits = layout.sub_byte_element_size_in_bits
        layout = Layout((dim, *order), layout.tiling, bits)
    return [bind1(layout_constraint_p, *values, layout=layout)], dims


declare(
    layout_constraint_p,
    abstract_eval=lambda x, *, layout: [x],
    lower=_layout_constraint_lower,
    vmap=_layout_constraint_vmap,
    sharding=as_operands,
    jvp=[lambda t, out, x, *, layout: bind1(layout_constraint_p, t, layout=layout)],
    transpose=[lambda ct, x, *, layout: bind1(layout_constraint_p, ct, layout=layout)],
)


def _layout_constraint_impl(x: Any, *, layout: Layout) -> list[Any]:
    Format(layout).sharding_by("with_layout_constraint", "x")
    return [to_array(x)]


evaluators[layout_constraint_p] = _layout_constraint_impl

__all__ = ["Format", "Layout", "with_layout_constraint"]
