"""The rules of primitives for sparse arrays, by which `sparsify` interprets programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from minijax.experimental.sparse.api import todense_p
from minijax.experimental.sparse.bcoo import (
    bcoo_broadcast_in_dim,
    bcoo_concatenate,
    bcoo_conv_general_dilated,
    bcoo_dot_general,
    bcoo_dynamic_slice,
    bcoo_gather,
    bcoo_reduce_sum,
    bcoo_reshape,
    bcoo_rev,
    bcoo_slice,
    bcoo_squeeze,
    bcoo_transpose,
)
from minijax.experimental.sparse.bcoo_array import BCOO
from minijax.experimental.sparse.bcsr import (
    bcsr_broadcast_in_dim,
    bcsr_concatenate,
    bcsr_dot_general,
)
from minijax.experimental.sparse.products import add, multiply
from minijax.experimental.sparse.transform import (
    bcoo_rules,
    bcsr_rules,
    evaluate_jaxpr,
    is_sparse,
)
from minijax.lax import promoting as lax
from minijax.lax.control_flow.cond import switch
from minijax.lax.control_flow.scan import scan
from minijax.lax.control_flow.while_loop import while_loop
from minijax.lax.primitive_names import primitive_named
from minijax.runtime.jit import jit
from minijax.transforms.custom_derivatives.rules import custom_call_p
from minijax_stage2 import Primitive, bind1
from minijax_stage3 import Jaxpr, jit_p
from minijax_stage3.executable import cached_by_jaxpr

BOTH = (bcoo_rules, bcsr_rules)

# Functions f of one number with f(0) = 0.
_LINEAR = "imag neg real stop_gradient"
_OTHERS = """
    abs asin asinh atan atanh bessel_i1e cbrt ceil convert_element_type erf erf_inv expm1 floor
    log1p reduce_precision round sign sin sinh sqrt tan tanh
"""


def _named(name: str) -> Primitive:
    return primitive_named("lax", f"{name}_p")


def _of_elements(primitive: Primitive, is_linear: bool) -> Callable[..., list[Any]]:
    """The rule of a function of each element that leaves zeros zero."""

    def rule(mat: Any, **params: Any) -> list[Any]:
        if not (is_linear or mat.unique_indices):
            mat = mat.sum_duplicates(mat.nse, remove_zeros=False)
        (data, *rest), aux_data = mat.tree_flatten()
        return [mat.tree_unflatten(aux_data, (bind1(primitive, data, **params), *rest))]

    return rule


for _names, _is_linear in ((_LINEAR, True), (_OTHERS, False)):
    for _name in _names.split():
        for _rules in BOTH:
            _rules[_named(_name)] = _of_elements(_named(_name), _is_linear)


def _integer_pow(mat: Any, *, y: int) -> list[Any]:
    if y <= 0:
        raise NotImplementedError(
            f"sparsify: a sparse array to the power of {y} would be dense; sparse.todense makes "
            "an array"
        )
    return _of_elements(_named("integer_pow"), False)(mat, y=y)


for _rules in BOTH:
    _rules[_named("integer_pow")] = _integer_pow
    _rules[todense_p] = lambda mat: [mat.todense()]


# Sums and products.


def _add(x: Any, y: Any) -> list[Any]:
    if is_sparse(x) and is_sparse(y) and x.indices is y.indices:
        return [x._with_data(x.data + y.data)]
    return [add(x, y) if is_sparse(x) else add(y, x)]


def _sub(x: Any, y: Any) -> list[Any]:
    return _add(x, y._with_data(-y.data) if is_sparse(y) else -y)


def _mul(x: Any, y: Any) -> list[Any]:
    if not is_sparse(x):
        x, y = y, x
    if is_sparse(y) and x.indices is y.indices and x.unique_indices:
        return [x._with_data(x.data * y.data)]
    return [multiply(x, y)]


def _div(x: Any, y: Any) -> list[Any]:
    if is_sparse(y):
        raise NotImplementedError(
            "sparsify: a quotient by a sparse array would be dense; sparse.todense makes an array"
        )
    return [multiply(x, y, lax.div)]


def _reduce_sum(mat: BCOO, *, axes: Sequence[int], **params: Any) -> list[Any]:
    out = bcoo_reduce_sum(mat, axes=axes)
    return [out if out.shape else out.todense()]


bcoo_rules[_named("add")] = _add
bcoo_rules[_named("sub")] = _sub
bcoo_rules[_named("mul")] = _mul
bcoo_rules[_named("div")] = _div
bcoo_rules[_named("reduce_sum")] = _reduce_sum


# Functions that have a counterpart.


def _without_defaults(params: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in params.items() if value is not None}


def _by(function: Callable[..., Any]) -> Callable[..., list[Any]]:
    """The rule of a primitive with the operands and parameters of `function`."""

    def rule(*operands: Any, **params: Any) -> list[Any]:
        return [function(*operands, **_without_defaults(params))]

    return rule


def _of_list(function: Callable[..., Any]) -> Callable[..., list[Any]]:
    return lambda *operands, **params: [function(operands, **params)]


def _reshape(mat: BCOO, *, new_sizes: tuple[int, ...], **params: Any) -> list[Any]:
    """Axes of size 1 come and go without a change of the others, which so stay what they are."""
    if len(new_sizes) < mat.ndim:
        gone = _ones_between(mat.shape, new_sizes)
        if gone is not None:
            return [bcoo_squeeze(mat, dimensions=gone)]
    if len(new_sizes) > mat.ndim:
        added = _ones_between(new_sizes, mat.shape)
        if added is not None:
            kept = [axis for axis in range(len(new_sizes)) if axis not in added]
            return [bcoo_broadcast_in_dim(mat, shape=new_sizes, broadcast_dimensions=kept)]
    return [bcoo_reshape(mat, new_sizes=new_sizes)]


def _ones_between(longer: Sequence[int], shorter: Sequence[int]) -> list[int] | None:
    """The axes of size 1 that `longer` has and `shorter` has not; None if others differ."""
    gone: list[int] = []
    rest = list(shorter)
    for axis, n in enumerate(longer):
        if rest and rest[0] == n:
            rest.pop(0)
        elif n == 1:
            gone.append(axis)
        else:
            return None
    return None if rest else gone


bcoo_rules[_named("broadcast_in_dim")] = _by(bcoo_broadcast_in_dim)
bcoo_rules[_named("concatenate")] = _of_list(bcoo_concatenate)
bcoo_rules[_named("conv_general_dilated")] = _by(bcoo_conv_general_dilated)
bcoo_rules[_named("dot_general")] = _by(bcoo_dot_general)
bcoo_rules[_named("dynamic_slice")] = lambda mat, *starts, slice_sizes: [
    bcoo_dynamic_slice(mat, starts, slice_sizes)
]
bcoo_rules[_named("gather")] = _by(bcoo_gather)
bcoo_rules[_named("reshape")] = _reshape
bcoo_rules[_named("rev")] = _by(bcoo_rev)
bcoo_rules[_named("slice")] = _by(bcoo_slice)
bcoo_rules[_named("transpose")] = _by(bcoo_transpose)
bcsr_rules[_named("broadcast_in_dim")] = _by(bcsr_broadcast_in_dim)
bcsr_rules[_named("concatenate")] = _of_list(bcsr_concatenate)
bcsr_rules[_named("dot_general")] = _by(bcsr_dot_general)


# Primitives that hold programs.


@cached_by_jaxpr
def _sparse_program(jaxpr: Jaxpr, name: str) -> Callable[..., Any]:
    def program(*args: Any) -> list[Any]:
        return evaluate_jaxpr(jaxpr, args)

    program.__name__ = name
    return jit(program)


def _jit(*operands: Any, jaxpr: Jaxpr, name: str, **params: Any) -> list[Any]:
    outs: list[Any] = _sparse_program(jaxpr, name)(*operands)
    return outs


def _custom_call(*operands: Any, jaxpr: Jaxpr, **params: Any) -> list[Any]:
    return evaluate_jaxpr(jaxpr, operands)


def _cond(pred: Any, *operands: Any, branches: Sequence[Jaxpr], **params: Any) -> list[Any]:
    functions = [partial(_results, branch) for branch in branches]
    outs: list[Any] = switch(lax.convert_element_type(pred, "int32"), functions, *operands)
    return outs


def _results(jaxpr: Jaxpr, *operands: Any) -> list[Any]:
    return evaluate_jaxpr(jaxpr, operands)


def _while(
    *operands: Any, cond_jaxpr: Jaxpr, cond_consts: int, body_jaxpr: Jaxpr, body_consts: int,
    **params: Any,
) -> list[Any]:  # fmt: skip
    of_cond, rest = operands[:cond_consts], operands[cond_consts:]
    of_body, carry = rest[:body_consts], rest[body_consts:]
    outs: list[Any] = while_loop(
        lambda carry: evaluate_jaxpr(cond_jaxpr, (*of_cond, *carry))[0],
        lambda carry: evaluate_jaxpr(body_jaxpr, (*of_body, *carry)),
        list(carry),
    )
    return outs


def _scan(
    *operands: Any, jaxpr: Jaxpr, num_consts: int, num_carry: int, length: int, reverse: bool,
    unroll: int, **params: Any,
) -> list[Any]:  # fmt: skip
    consts, rest = operands[:num_consts], operands[num_consts:]
    carry, xs = list(rest[:num_carry]), list(rest[num_carry:])
    if any(map(is_sparse, xs)):
        raise NotImplementedError(
            "sparsify: scan takes sparse arrays in its carry, but not to go along their first axis"
        )

    def body(carry: list[Any], x: list[Any]) -> tuple[list[Any], list[Any]]:
        outs = evaluate_jaxpr(jaxpr, (*consts, *carry, *x))
        return outs[:num_carry], outs[num_carry:]

    carry, ys = scan(body, carry, xs, length, reverse, unroll)
    return [*carry, *ys]


for _rules in BOTH:
    _rules[jit_p] = _jit
    _rules[custom_call_p] = _custom_call
    _rules[_named("cond")] = _cond
    _rules[_named("while")] = _while
    _rules[_named("scan")] = _scan

__all__: list[str] = []
