"""Shapes with symbolic sizes, under the names of `jax.export`."""

from collections.abc import Sequence
from typing import Any

from glassjax.dimensions.expressions import Bounds, bounds_of, require_size
from glassjax.dimensions.parsing import Parser
from glassjax.dimensions.scopes import SymbolicScope
from glassjax_stage2.errors import shown


def symbolic_shape(
    shape_spec: str | None,
    *,
    constraints: Sequence[str] = (),
    scope: SymbolicScope | None = None,
    like: Sequence[int | None] | None = None,
) -> tuple[Any, ...]:
    """A shape from its text, in which names are dimension variables.

    A variable is any positive int. Sizes are expressions of ints and variables with `+`, `-`, `*`,
    `^`, `floordiv(x, y)`, `mod(x, y)`, `max(x, y)` and `min(x, y)`.

    Arguments:
        shape_spec: the sizes, separated by commas, in parentheses or not. `_` takes the size of the
            same axis of `like`, and a final `...` all that remain; None means `...`.
        constraints: what always holds for the variables, as for `SymbolicScope`.
        scope: the scope of the variables, for sizes that are combined with others of this scope; it
            has its own constraints. The default is a new scope.
        like: a shape that fills placeholders; ints in `shape_spec` must equal its sizes.

    Raises:
        ValueError: `shape_spec` is malformed, or both `scope` and `constraints` are given.

    >>> from glassjax import export
    >>> export.symbolic_shape("b, 2*n, _", like=(5, 6, 7), constraints=["b >= 2"])
    (b, 2*n, 7)
    """
    if not isinstance(shape_spec, str | None):
        raise ValueError(f"symbolic_shape: shape_spec must be a string, found {shown(shape_spec)}")
    if scope is not None and constraints:
        raise ValueError("symbolic_shape: the scope that is given has its own constraints")
    if scope is None:
        scope = SymbolicScope(constraints)
    return Parser("..." if shape_spec is None else shape_spec, scope, like).shape()


def symbolic_dim_bounds(dimension: Any) -> Bounds:
    """The bounds that can be proved for a size, inclusive; they are infinite where none can.

    Arguments:
        dimension: an int or a symbolic size.

    Raises:
        TypeError: it is neither.
        InconclusiveDimensionOperation: a divisor in it may be 0.

    >>> from glassjax import export
    >>> b, n = export.symbolic_shape("b, n", constraints=["n <= 8"])
    >>> export.symbolic_dim_bounds(b + 2 * n)
    (3, inf)
    """
    return bounds_of(require_size("symbolic_dim_bounds", dimension))
