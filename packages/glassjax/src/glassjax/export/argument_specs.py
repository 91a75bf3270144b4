"""Types of arguments with symbolic shapes."""

from collections.abc import Sequence
from typing import Any

from glassjax.dimensions.scopes import SymbolicScope, symbolic_shape
from glassjax.runtime.array import type_of
from glassjax.runtime.staging import ShapeDtypeStruct
from glassjax_stage2.tree import broadcast_prefix, tree_flatten, tree_unflatten


def symbolic_args_specs(
    args: Any,
    shapes_specs: Any,
    constraints: Sequence[str] = (),
    scope: SymbolicScope | None = None,
) -> Any:
    """The types of arguments, with symbolic shapes, for `export`, `eval_shape` and `jit(f).trace`.

    Arguments:
        args: a pytree of arrays, or of shapes and dtypes; it gives the structure, the dtypes, and
            the sizes for placeholders.
        shapes_specs: None for static shapes, a text as for `symbolic_shape` for all arguments, or
            a pytree of them that is a prefix of `args`.
        constraints: what always holds for the dimension variables, as for `SymbolicScope`.
        scope: the scope of the variables; the default is a new one with these constraints.

    Returns:
        The pytree of `ShapeDtypeStruct`s.

    Raises:
        ValueError: a text is malformed, `shapes_specs` is not a prefix of `args`, or both `scope`
            and `constraints` are given.

    >>> from glassjax import export
    >>> args = {"x": jnp.ones((2, 3)), "y": jnp.ones(2)}
    >>> export.symbolic_args_specs(args, "b, ...")["x"]
    ShapeDtypeStruct(shape=(b, 3), dtype=float32)
    """
    if scope is not None and constraints:
        raise ValueError("symbolic_args_specs: the scope that is given has its own constraints")
    if scope is None:
        scope = SymbolicScope(constraints)
    if isinstance(args, tuple) and isinstance(shapes_specs, list):
        shapes_specs = tuple(shapes_specs)
    leaves, treedef = tree_flatten(args)
    texts = broadcast_prefix(shapes_specs, args, lambda x: x is None, name="args")
    types = map(type_of, leaves)
    specs = [
        ShapeDtypeStruct(symbolic_shape(text, like=aval.shape, scope=scope), aval.dtype)
        for text, aval in zip(texts, types, strict=True)
    ]
    return tree_unflatten(treedef, specs)
