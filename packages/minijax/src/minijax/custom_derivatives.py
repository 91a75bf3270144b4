"""Functions with custom derivatives, under the names of `jax.custom_derivatives`."""

from minijax.transforms.custom_derivatives.closures import closure_convert, custom_gradient
from minijax.transforms.custom_derivatives.custom_jvp import custom_jvp
from minijax.transforms.custom_derivatives.custom_vjp import custom_vjp
from minijax.transforms.custom_derivatives.linear_function import linear_call
from minijax.transforms.custom_derivatives.rules import custom_call_p as custom_jvp_call_p
from minijax.transforms.custom_derivatives.rules import custom_call_p as custom_vjp_call_p
from minijax.transforms.custom_derivatives.symbolic_zero import (
    CustomVJPPrimal,
    SymbolicZero,
    custom_vjp_primal_tree_values,
    zero_from_primal,
)

__all__ = [
    "CustomVJPPrimal", "SymbolicZero", "closure_convert", "custom_gradient", "custom_jvp",
    "custom_jvp_call_p", "custom_vjp", "custom_vjp_call_p", "custom_vjp_primal_tree_values",
    "linear_call", "zero_from_primal",
]  # fmt: skip
