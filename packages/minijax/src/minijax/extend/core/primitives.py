"""Primitives under JAX's names, and those that call programs."""

import typing as _typing
from collections.abc import Sequence
from typing import Any

import minijax.ref as _references
from minijax.core import (
    ClosedJaxpr,
    Jaxpr,
    JaxprEqn,
    Literal,
    Primitive,
    UndefPrimal,
    Var,
    Zero,
    bind,
    declare_program,
)
from minijax.core import ClosedJaxpr as _ClosedJaxpr
from minijax.core import jaxpr_as_fun as _jaxpr_as_fun
from minijax.extend.linear_util import wrap_init as _wrap_init
from minijax.lax.primitive_names import inlined as _inlined
from minijax.lax.primitive_names import primitive_named as _primitive_named
from minijax.primitives.higher_order import (
    Depends,
    WithToken,
    evaluate_program,
    keys_of_program,
    lower_program,
    run_program,
    type_of_program,
)
from minijax.primitives.loops import Flags
from minijax.random.keys import random_bits_p, random_fold_in_p, random_seed_p, random_split_p
from minijax.random.prng import threefry2x32_p
from minijax.runtime.evaluation import evaluated_by_library
from minijax.settings.names import list_public_names
from minijax.transforms.checkpoint import checkpoint_p as remat_p
from minijax.transforms.checkpoint import name_p
from minijax.transforms.custom_derivatives import custom_call_p as custom_jvp_call_p
from minijax.transforms.custom_derivatives import custom_call_p as custom_vjp_call_p
from minijax.transforms.linear_call import custom_linear_p as custom_lin_p
from minijax_stage2 import Primitive as _Primitive
from minijax_stage2 import ShapedArray
from minijax_stage2.primitives import add_p as add_jaxvals_p
from minijax_stage2.tangent import tangent_type
from minijax_stage2.vmap import BatchAxis, BatchDim
from minijax_stage3.jaxpr import consts_as_invars
from minijax_stage3.jit import jit_p
from minijax_stage3.jit_rules import jvp_jaxpr, smaller_jaxpr, vmap_jaxpr
from minijax_stage3.lowering import FunctionBuilder, Value
from minijax_stage4.jit_rules import split_jaxpr, transpose_jaxpr
from minijax_stage4.partial_eval import PartialEqns, merge, partition, split_call
from minijax_stage4.stop_gradient import stop_gradient_p

# Primitives that call the one program among their parameters, `call_jaxpr`.


Values = Sequence[Any]


def create_call_primitive(name: str, inline_jax_late: bool = True) -> Primitive:
    """A new primitive with a parameter `call_jaxpr`, a program, that it applies to its operands.

    Transformations apply it to the transformed program; other parameters stay as they are.

    Arguments:
        name: the name of the primitive, and of the function in compiled programs.
        inline_jax_late: ignored.

    >>> from minijax.extend.core import create_call_primitive
    >>> call_p = create_call_primitive("my_call")
    >>> program = minijax.make_jaxpr(lambda x: x * x)(1.0)
    >>> minijax.grad(lambda x: call_p.bind(x, call_jaxpr=program)[0])(3.0)
    Array(6., dtype=float32, weak_type=True)
    """
    primitive = Primitive(name, higher_order=True)
    register_call_primitive_rules(primitive, name, inline_jax_late=inline_jax_late)
    return primitive


def register_call_primitive_rules(
    prim: Primitive,
    name: str | None = None,
    transpose_rule: None = None,
    inline_jax_late: bool = True,
) -> None:
    """Give a primitive the rules of those that `create_call_primitive` makes.

    Arguments:
        prim: the primitive.
        name: the name of the function in compiled programs; None: the name of the primitive.
        transpose_rule: must be None; `interpreters.ad.primitive_transposes` takes a rule.
        inline_jax_late: ignored.

    Raises:
        NotImplementedError: `transpose_rule` is given.
    """
    if transpose_rule is not None:
        raise NotImplementedError(
            f"register_call_primitive_rules: transpose_rule must be None, found {transpose_rule}; "
            "interpreters.ad.primitive_transposes takes a rule"
        )
    attributes: Any = prim
    attributes.higher_order = True

    @evaluated_by_library
    def apply(*args: Any, call_jaxpr: Jaxpr | ClosedJaxpr, **params: Any) -> list[Any]:
        if isinstance(call_jaxpr, ClosedJaxpr):
            args = (*call_jaxpr.consts, *args)
            call_jaxpr = consts_as_invars(call_jaxpr.jaxpr)
        return bind(prim, *args, call_jaxpr=call_jaxpr, **params)

    attributes.bind = apply

    def jvp(
        primals: Values, tangents: Values, *, call_jaxpr: Jaxpr, **params: Any
    ) -> tuple[list[Any], list[Any]]:
        nonzero = tuple(type(t) is not Zero for t in tangents)
        program, consts, out_nonzero = jvp_jaxpr(call_jaxpr, nonzero)
        given = [t for t in tangents if type(t) is not Zero]
        results = bind(prim, *consts, *primals, *given, call_jaxpr=program, **params)
        count = len(call_jaxpr.outvars)
        constant = partition(out_nonzero, call_jaxpr.out_avals)[0]
        zeros = [Zero(tangent_type(aval)) for aval in constant]
        return results[:count], merge(out_nonzero, zeros, results[count:])

    def vmap(
        axis: BatchAxis,
        values: Values,
        dims: Sequence[BatchDim],
        /,
        *,
        call_jaxpr: Jaxpr,
        **params: Any,
    ) -> tuple[list[Any], list[BatchDim]]:
        program, consts, out_dims = vmap_jaxpr(call_jaxpr, axis, tuple(dims))
        return bind(prim, *consts, *values, call_jaxpr=program, **params), out_dims

    def transpose(cts: Values, *args: Any, call_jaxpr: Jaxpr, **params: Any) -> list[Any]:
        linear = tuple(isinstance(x, UndefPrimal) for x in args)
        nonzero = tuple(type(ct) is not Zero for ct in cts)
        program, consts, nonzero_ins = transpose_jaxpr(call_jaxpr, linear, nonzero)
        known = [x for x in args if not isinstance(x, UndefPrimal)]
        given = [ct for ct in cts if type(ct) is not Zero]
        outs = iter(bind(prim, *consts, *known, *given, call_jaxpr=program, **params))
        return [next(outs) if keep else None for keep in nonzero_ins]

    def partial_eval(unknown_ins: Sequence[bool], eqn: JaxprEqn) -> PartialEqns:
        parts = split_jaxpr(eqn.params["call_jaxpr"], tuple(unknown_ins))
        halves = ({**eqn.params, "call_jaxpr": half} for half in (parts.known, parts.unknown))
        return split_call(eqn, unknown_ins, parts.unknown_outs, parts.residuals, *halves)

    def lower(
        b: FunctionBuilder, out_avals: Sequence[ShapedArray], *args: Value, call_jaxpr: Jaxpr,
        **params: Any,
    ) -> list[Value]:  # fmt: skip
        return lower_program(name or prim.name)(b, out_avals, *args, jaxpr=call_jaxpr)

    declare_program(
        prim,
        evaluate=lambda *args, call_jaxpr, **params: evaluate_program(*args, jaxpr=call_jaxpr),
        abstract_eval=lambda *avals, call_jaxpr, **params: type_of_program(
            *avals, jaxpr=call_jaxpr
        ),
        lower=lower,
        vmap=vmap,
        jvp=jvp,
        transpose=transpose,
        partial_eval=partial_eval,
        dce=dce_call,
        dependence=_dependence,
        order=_order,
        keys=lambda keys_of, count, *, call_jaxpr, **params: keys_of_program(
            keys_of, count, jaxpr=call_jaxpr
        ),
        steps=lambda args, *, call_jaxpr, **params: run_program(args, jaxpr=call_jaxpr),
    )


def dce_call(used_outs: Sequence[bool], eqn: JaxprEqn) -> tuple[list[bool], JaxprEqn]:
    """The operands that the chosen results of a call need, and the smaller call."""
    found = smaller_jaxpr(eqn.params["call_jaxpr"], tuple(used_outs))
    if found is None:
        return [True] * len(eqn.invars), eqn
    program, used_ins = found
    _, invars = partition(used_ins, eqn.invars)
    _, outvars = partition(used_outs, eqn.outvars)
    params = {**eqn.params, "call_jaxpr": program}
    return used_ins, JaxprEqn(eqn.primitive, invars, outvars, params, eqn.source)


def _dependence(depends: Depends, ins: Flags, params: dict[str, Any]) -> Flags:
    return depends(params["call_jaxpr"], ins)


def _order(
    with_token: WithToken, eqn: JaxprEqn, token: Var | Literal, following: Var
) -> list[JaxprEqn]:
    params = {**eqn.params, "call_jaxpr": with_token(eqn.params["call_jaxpr"])}
    invars, outvars = [*eqn.invars, token], [*eqn.outvars, following]
    return [JaxprEqn(eqn.primitive, invars, outvars, params, eqn.source)]


# The primitives, by their names and `_p`, as programs write them that read jaxprs.
#
# `add_p` to `while_p` are those of `lax`. What JAX computes by a primitive of its own and this
# library by others, `square` for instance, has none here.


def _whole(name: str, transforms: tuple[_typing.Any, ...]) -> None:
    if transforms:
        raise NotImplementedError(
            f"{name}.bind: only whole references are read and written; ref[index] and ref.get, "
            "ref.swap with an index are of parts"
        )


def _get(ref: _typing.Any, *transforms: _typing.Any, tree: _typing.Any) -> _typing.Any:
    _whole("get_p", transforms)
    return _references.get(ref)


def _swap(
    ref: _typing.Any, value: _typing.Any, *transforms: _typing.Any, tree: _typing.Any
) -> _typing.Any:
    _whole("swap_p", transforms)
    return _references.swap(ref, None, value)


def _bind_params_with_function(params: dict[str, _typing.Any]) -> dict[str, _typing.Any]:
    """The parameters, with the function that has the derivative as the first of `subfuns`."""
    function = _wrap_init(_jaxpr_as_fun(_ClosedJaxpr(params["jaxpr"], [])))
    return {**params, "subfuns": (function,)}


def _bind_without_function(
    *args: _typing.Any, subfuns: _typing.Any = (), **params: _typing.Any
) -> _typing.Any:
    return _typing.cast(_typing.Any, _Primitive).bind(custom_jvp_call_p, *args, **params)


_custom_call: _typing.Any = custom_jvp_call_p
_custom_call.get_bind_params = _bind_params_with_function
_custom_call.bind = _bind_without_function


# References are resolved as a function is traced: programs have no equations of these.
get_p = _inlined("get", _get)
swap_p = _inlined("swap", _swap)

# Programs compare the primitives of equations with them; no equation here has them.
call_p = _Primitive("core_call", higher_order=True)
closed_call_p = _Primitive("core_closed_call", higher_order=True)

if not _typing.TYPE_CHECKING:

    def __getattr__(name: str) -> _typing.Any:
        return _primitive_named(__name__, name)


__all__ = [
    "add_jaxvals_p",
    "call_p",
    "closed_call_p",
    "create_call_primitive",
    "custom_jvp_call_p",
    "custom_lin_p",
    "custom_vjp_call_p",
    "get_p",
    "jit_p",
    "name_p",
    "random_bits_p",
    "random_fold_in_p",
    "random_seed_p",
    "random_split_p",
    "register_call_primitive_rules",
    "remat_p",
    "stop_gradient_p",
    "swap_p",
    "threefry2x32_p",
]
list_public_names(globals())
