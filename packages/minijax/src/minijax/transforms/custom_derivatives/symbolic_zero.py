"""Symbolic zeros as passed to user rules that request them."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from minijax.errors.argument_errors import require_flags
from minijax.runtime.conversion import to_array
from minijax.runtime.evaluation import evaluated_by_library
from minijax_stage2 import Zero, tree_leaves, typeof
from minijax_stage2.errors import shown
from minijax_stage2.shaped_array import typeof_named
from minijax_stage2.tangent import instantiate, tangent_type
from minijax_stage2.tree import tree_map


class SymbolicZero:
    """A tangent or cotangent known to be zero, for rules that request `symbolic_zeros`.

    Arguments:
        aval: its type, whose shape and dtype it has.

    >>> from functools import partial
    >>> @minijax.custom_jvp
    ... def product(x, y):
    ...     return x * y
    >>> @partial(product.defjvp, symbolic_zeros=True)
    ... def product_jvp(primals, tangents):
    ...     (x, y), (dx, dy) = primals, tangents
    ...     print(dy)
    ...     is_zero = type(dy) is minijax.custom_derivatives.SymbolicZero
    ...     return x * y, dx * y if is_zero else dx * y + x * dy
    >>> minijax.grad(product)(2.0, 3.0)
    SymbolicZero(f32[])
    Array(3., dtype=float32, weak_type=True)
    """

    def __init__(self, aval: Any):
        self.aval = aval

    @property
    def shape(self) -> tuple[int, ...]:
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        return len(self.aval.shape)

    @property
    def size(self) -> int:
        return self.aval.size

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, SymbolicZero) and self.aval == other.aval

    def __hash__(self) -> int:
        return hash(self.aval)

    def __repr__(self) -> str:
        return f"SymbolicZero({self.aval})"

    @staticmethod
    def from_primal_value(val: Any) -> "SymbolicZero":
        return SymbolicZero(tangent_type(typeof(val)))


@dataclass(frozen=True, eq=False)
class CustomVJPPrimal:
    """An argument of a forward rule that requests `symbolic_zeros`; a leaf of pytrees.

    Arguments:
        value: the argument.
        perturbed: whether it is differentiated.

    >>> @minijax.custom_vjp
    ... def product(x, y):
    ...     return x * y
    >>> def forward(x, y):
    ...     print("y is differentiated:", y.perturbed)
    ...     return x.value * y.value, (x.value, y.value)
    >>> product.defvjp(forward, lambda xy, ct: (ct * xy[1], ct * xy[0]), symbolic_zeros=True)
    >>> minijax.grad(product)(2.0, 3.0)
    y is differentiated: False
    Array(3., dtype=float32, weak_type=True)
    """

    value: Any
    perturbed: bool


def custom_vjp_primal_tree_values(tree: Any) -> Any:
    """The arguments of a forward rule that requests `symbolic_zeros`, as plain values.

    Arguments:
        tree: a pytree of `CustomVJPPrimal`.

    Raises:
        TypeError: a leaf is something else.

    >>> from minijax.custom_derivatives import CustomVJPPrimal, custom_vjp_primal_tree_values
    >>> custom_vjp_primal_tree_values({"a": CustomVJPPrimal(1.0, perturbed=True)})
    {'a': 1.0}
    """

    def value_of(leaf: Any) -> Any:
        if not isinstance(leaf, CustomVJPPrimal):
            raise TypeError(
                "custom_vjp_primal_tree_values: leaves must be CustomVJPPrimal, found "
                f"{shown(leaf)} of type {type(leaf).__name__}"
            )
        return leaf.value

    return tree_map(value_of, tree)


@evaluated_by_library
def zero_from_primal(val: Any, symbolic_zeros: bool = False) -> Any:
    """The zero tangent of each array of a pytree, as `SymbolicZero` if requested.

    Arguments:
        val: an array or a pytree of arrays. The tangent of integers and booleans has dtype float0.
        symbolic_zeros: whether to return `SymbolicZero`s instead of numpy arrays.

    >>> from minijax.custom_derivatives import zero_from_primal
    >>> zero_from_primal({"a": jnp.ones(2), "b": jnp.arange(3)}, symbolic_zeros=True)
    {'a': SymbolicZero(f32[2]), 'b': SymbolicZero(float0[3])}
    """
    require_flags("zero_from_primal", symbolic_zeros=symbolic_zeros)
    for leaf in tree_leaves(val):
        typeof_named("zero_from_primal: val", leaf)
    zero = tree_map(SymbolicZero.from_primal_value, val)
    if symbolic_zeros:
        return zero
    return tree_map(lambda x: np.zeros(x.shape, x.dtype), zero)


def shown_to_rule(t: Any, symbolic_zeros: bool) -> Any:
    """A tangent or cotangent for a user's rule: an array, or a `SymbolicZero`."""
    if type(t) is Zero and symbolic_zeros:
        return SymbolicZero(t.aval)
    return to_array(instantiate(t))
