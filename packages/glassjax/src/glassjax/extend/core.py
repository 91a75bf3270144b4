"""Jaxprs, traces and primitives, under the names of `jax.extend.core`."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, cast

import numpy as np

from glassjax import core
from glassjax import ref as references
from glassjax.core import JaxprEqn, Literal, Primitive, Var, jaxpr_as_fun
from glassjax.errors import ConcretizationTypeError, InconclusiveDimensionOperation, JaxprTypeError
from glassjax.extend.linear_util import wrap_init
from glassjax.lax.primitive_names import inlined, primitive_named
from glassjax.primitives import higher_order
from glassjax.primitives.axes import names_here
from glassjax.primitives.loops import Flags
from glassjax.primitives.methods import Effect
from glassjax.runtime.array import is_value
from glassjax.runtime.effects import AbstractToken, Token
from glassjax.runtime.evaluation import evaluated_by_library, library_evaluation
from glassjax.runtime.jax_params import read
from glassjax.runtime.nesting import nested_calls
from glassjax.runtime.printed_jaxpr import DebugInfo, PrintedEqn, printed_jaxpr
from glassjax.settings.facades import make_module
from glassjax.settings.names import list_public_names
from glassjax.settings.tracers import Tracer
from glassjax.transforms.custom_derivatives import custom_jvp_call_p, custom_vjp_call_p
from glassjax_stage1 import current_interpreter
from glassjax_stage1.interpreter import evaluator, set_interpreter
from glassjax_stage2 import ShapedArray, Trace, current_trace
from glassjax_stage2.source import user_source
from glassjax_stage2.tangent import tangent_type
from glassjax_stage2.trace import EvalTrace
from glassjax_stage2.vmap import BatchAxis, BatchTrace
from glassjax_stage3.jaxpr import consts_as_invars
from glassjax_stage3.staging import JaxprTrace
from glassjax_stage4.partial_eval import PartialEqns

# The current interpreter, for libraries that keep state of their own.


class OpaqueTraceState:
    """The interpreters active at some moment; states of the same interpreters are equal."""

    def __init__(self) -> None:
        self._trace = None if is_evaluating() else current_trace()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OpaqueTraceState) and self._trace is other._trace

    def __hash__(self) -> int:
        return id(self._trace)


class TraceTag:
    """A name for an interpreter about to start, equal only to itself."""


def get_opaque_trace_state(convention: Any = None) -> OpaqueTraceState:
    """The interpreters that are active.

    A library saves the state when it makes a value, and later compares it with the current state,
    to know whether it is still within the same transformation.

    Arguments:
        convention: ignored.
    """
    return OpaqueTraceState()


def is_evaluating() -> bool:
    """Return True if no transformation is active."""
    return bool(isinstance(current_trace(), EvalTrace))


def find_top_trace(xs: Any) -> Trace:
    """The current trace, which handles the values `xs` with all others."""
    return current_trace()


@contextmanager
def take_current_trace() -> Iterator[Trace]:
    """Yield the current trace, and evaluate in the block; `set_current_trace` restores it."""
    trace = current_trace()
    with library_evaluation(), set_interpreter(evaluator):
        yield trace


@contextmanager
def set_current_trace(trace: Any, check_leaks: bool = False) -> Iterator[None]:
    """Make a trace current in the block.

    Arguments:
        trace: a trace, or None for evaluation.
        check_leaks: ignored.
    """
    with set_interpreter(trace if isinstance(trace, Trace) else evaluator):
        yield


def unsafe_am_i_under_a_jit_DO_NOT_USE() -> bool:
    """Return True if a function is being staged."""
    return any(isinstance(trace, JaxprTrace) for trace in current_trace().stack())


def unsafe_am_i_under_a_vmap_DO_NOT_USE() -> bool:
    """Return True if a function is being mapped."""
    return any(isinstance(trace, BatchTrace) for trace in current_trace().stack())


def unsafe_get_axis_names_DO_NOT_USE() -> list[Hashable]:
    """The names of the axes that are mapped over here.

    >>> from glassjax.extend.core import unsafe_get_axis_names_DO_NOT_USE
    >>> def f(x):
    ...     print(unsafe_get_axis_names_DO_NOT_USE())
    ...     return x
    >>> x = glassjax.vmap(f, axis_name="batch")(jnp.ones(2))
    ['batch']
    """
    return names_here()


def nonempty_axis_env_DO_NOT_USE() -> bool:
    """Return True if an axis that is mapped over here has a name."""
    return bool(names_here())


def trace_state_clean() -> bool:
    """Return True if no transformation is active."""
    return current_interpreter() is evaluator or is_evaluating()


# Jaxprs, primitives and types, under the names of `jax.extend.core`.
# The classes come from `glassjax.core`; primitives have JAX's methods.


array_types = {np.ndarray, np.generic}


class _Programs(type):
    """The class of `Jaxpr`, to which the programs that rules see belong too."""

    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, core.Jaxpr)


class Jaxpr(metaclass=_Programs):
    """A program, with its constants if it has any: JAX has one class for both.

    Arguments:
        constvars: the variables of its constants; or a program, with its constants as `invars`.
        invars: the variables of its arguments.
        outvars: its results, variables and literals.
        eqns: its equations, in order.
        effects: ignored: primitives declare their effects.
        debug_info: the `DebugInfo` of the function that it was traced from.
        is_high: must be False.
        consts: the values of its constants.

    >>> from glassjax.extend.core import ClosedJaxpr, Jaxpr
    >>> program = glassjax.make_jaxpr(lambda x: -x)(2.0)
    >>> isinstance(program, Jaxpr), program.jaxpr is program, ClosedJaxpr is Jaxpr
    (True, True, True)
    >>> ClosedJaxpr(Jaxpr([], program.invars, program.outvars, program.eqns), [])
    { lambda ; a:f32[]. let b:f32[] = neg a in (b,) }
    """

    def __new__(
        cls,
        constvars: Any,
        invars: Sequence[Any] | None = None,
        outvars: Sequence[Any] | None = None,
        eqns: Sequence[JaxprEqn] | None = None,
        effects: Any = None,
        debug_info: DebugInfo | None = None,
        is_high: bool = False,
        consts: Sequence[Any] | None = None,
    ) -> Any:
        if isinstance(constvars, core.Jaxpr):
            return replace(printed_jaxpr(constvars), consts=[*(invars or ())])
        parts = [*constvars], [*(invars or ())], [*(eqns or ())], [*(outvars or ())]
        return printed_jaxpr(core.Jaxpr(*parts, [*(consts or ())]), lambda: debug_info)


ClosedJaxpr = Jaxpr


class DropVar(Var):
    """The variable of a result that nothing uses. Equations here name all of their results."""


Effects = frozenset[Effect]
no_effects: Effects = frozenset()


def check_jaxpr(jaxpr: core.Jaxpr) -> None:
    """Verify that a jaxpr is well formed and its types are consistent.

    Raises:
        JaxprTypeError: it is not.
    """
    core.typecheck_jaxpr(jaxpr)


def concrete_or_error(force: Any, val: Any, context: str = "") -> Any:
    """`force(val)`, or `val` if `force` is None, for a value that must be known while tracing.

    Arguments:
        force: function that makes a Python value, such as `int`; None: the value as it is.
        val: the value.
        context: the end of the message.

    Raises:
        ConcretizationTypeError: the value is not known.
    """
    if not isinstance(val, Tracer):
        return val if force is None else force(val)
    try:
        return (force or np.asarray)(val)
    except ConcretizationTypeError as error:
        raise type(error)(f"{error} {context}".rstrip()) from None


def gensym() -> Any:
    """A function that makes a new variable of a given type."""
    return Var


def jaxprs_in_params(params: dict[str, Any]) -> Iterator[core.Jaxpr]:
    """The jaxprs among the parameters of an equation."""
    for value in params.values():
        for each in value if isinstance(value, tuple | list) else (value,):
            if isinstance(each, core.Jaxpr):
                yield each


def subjaxprs(jaxpr: core.Jaxpr) -> Iterator[core.Jaxpr]:
    """The jaxprs among the parameters of the equations of `jaxpr`."""
    for eqn in jaxpr.eqns:
        yield from core.inner_jaxprs(eqn)


def mapped_aval(size: int, axis: int | None, aval: ShapedArray) -> ShapedArray:
    """The type of one example of a batch of type `aval`.

    Arguments:
        size: the number of examples.
        axis: the axis of the examples; None if all share one value.
        aval: the type of the batch.
    """
    return BatchAxis(size).example(aval, axis)


def unmapped_aval(
    size: int, axis: int | None, aval: ShapedArray, explicit_mesh_axis: Any = None
) -> ShapedArray:
    """The type of a batch of examples of type `aval`, along a new axis.

    Arguments:
        size: the number of examples.
        axis: the position of the new axis; None: the type is unchanged.
        aval: the type of an example.
        explicit_mesh_axis: ignored.
    """
    return BatchAxis(size).batch(aval, axis)


def new_jaxpr_eqn(
    invars: Any,
    outvars: Any,
    primitive: Primitive,
    params: dict[str, Any],
    effects: Any = no_effects,
    source_info: Any = None,
    ctx: Any = None,
) -> JaxprEqn:
    """An equation of a jaxpr.

    Arguments:
        invars: the operands, variables and literals.
        outvars: the variables of the results.
        primitive: the primitive.
        params: its parameters.
        effects, ctx: ignored: the primitive declares its effects.
        source_info: the place of the call in the user's code; None: the line that runs now.
    """
    return PrintedEqn(primitive, invars, outvars, params, source_info or user_source())


def primal_dtype_to_tangent_dtype(primal_dtype: Any) -> np.dtype[Any]:
    """The dtype of tangents: the primal's, or `float0` for integers and booleans."""
    return tangent_type(ShapedArray((), primal_dtype)).dtype


def valid_jaxtype(x: Any) -> bool:
    """Return True if `x` is an array, a number or a tracer."""
    if not is_value(x):
        return False
    try:
        core.typeof(x)
    except TypeError:
        return False
    return True


# Primitives that call the one program among their parameters, `call_jaxpr`.


Values = Sequence[Any]


def create_call_primitive(name: str, inline_jax_late: bool = True) -> Primitive:
    """A new primitive with a parameter `call_jaxpr`, a program, that it applies to its operands.

    Transformations apply it to the transformed program; other parameters are unchanged.

    Arguments:
        name: the name of the primitive, and of the function in compiled programs.
        inline_jax_late: ignored.

    >>> from glassjax.extend.core import create_call_primitive
    >>> call_p = create_call_primitive("my_call")
    >>> program = glassjax.make_jaxpr(lambda x: x * x)(1.0)
    >>> glassjax.grad(lambda x: call_p.bind(x, call_jaxpr=program)[0])(3.0)
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
    """Give a primitive the rules of primitives made by `create_call_primitive`.

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
    def call_impl(*args: Any, call_jaxpr: Any, **params: Any) -> list[Any]:
        if call_jaxpr.constvars:
            args = (*call_jaxpr.consts, *args)
            call_jaxpr = consts_as_invars(call_jaxpr)
        return core.bind(prim, *args, call_jaxpr=call_jaxpr, **params)

    attributes.bind = call_impl

    def bind_program(*args: Any, jaxpr: core.Jaxpr, **params: Any) -> list[Any]:
        return core.bind(prim, *args, call_jaxpr=jaxpr, **params)

    core.declare_program(
        prim,
        evaluate=_renamed(higher_order.program_impl),
        abstract_eval=_renamed(higher_order.program_type),
        lower=_renamed(higher_order.program_lower(name or prim.name)),
        vmap=_renamed(higher_order.program_vmap(bind_program)),
        jvp=_renamed(higher_order.program_jvp(bind_program)),
        transpose=_renamed(higher_order.call_transpose(bind_program)),
        partial_eval=_call_partial_eval,
        dce=dce_call,
        dependence=_dependence,
        order=_order,
        keys=_renamed(higher_order.program_keys),
        steps=_renamed(higher_order.run_program),
    )


def _renamed(rule: Callable[..., Any]) -> Callable[..., Any]:
    """The rule of a primitive whose program is the parameter `jaxpr`, for `call_jaxpr`."""
    return lambda *args, call_jaxpr, **params: rule(*args, jaxpr=call_jaxpr, **params)


def _rename_program(eqn: JaxprEqn, old: str, new: str) -> JaxprEqn:
    params = {new if name == old else name: value for name, value in eqn.params.items()}
    return JaxprEqn(eqn.primitive, eqn.invars, eqn.outvars, params, eqn.source)


_to_ours = partial(_rename_program, old="call_jaxpr", new="jaxpr")
_to_jax = partial(_rename_program, old="jaxpr", new="call_jaxpr")


def _call_partial_eval(unknown_ins: Sequence[bool], eqn: JaxprEqn) -> PartialEqns:
    known, unknown = higher_order.call_partial_eval(unknown_ins, _to_ours(eqn))
    return PartialEqns([*map(_to_jax, known)], unknown and _to_jax(unknown))


def dce_call(used_outs: Sequence[bool], eqn: JaxprEqn) -> tuple[list[bool], JaxprEqn]:
    """The operands that the chosen results of a call need, and the smaller call."""
    used_ins, smaller = higher_order.dce_program(used_outs, _to_ours(eqn))
    return used_ins, _to_jax(smaller)


def _dependence(depends: higher_order.Depends, ins: Flags, params: dict[str, Any]) -> Flags:
    return depends(params["call_jaxpr"], ins)


def _order(with_token: higher_order.WithToken, eqn: JaxprEqn, *tokens: Any) -> list[JaxprEqn]:
    return [*map(_to_jax, higher_order.program_effects(with_token, _to_ours(eqn), *tokens))]


# Primitives for programs that compare or bind them by name.


def _whole(name: str, transforms: tuple[Any, ...]) -> None:
    if transforms:
        raise NotImplementedError(
            f"{name}.bind: only whole references are read and written; ref[index] and ref.get, "
            "ref.swap with an index are of parts"
        )


def _get(ref: Any, *transforms: Any, tree: Any) -> Any:
    _whole("get_p", transforms)
    return references.get(ref)


def _swap(ref: Any, value: Any, *transforms: Any, tree: Any) -> Any:
    _whole("swap_p", transforms)
    return references.swap(ref, None, value)


def _bind_params_with_function(primitive: Primitive, params: dict[str, Any]) -> dict[str, Any]:
    """The parameters; the function with the derivative is the first of `subfuns`."""
    program = read(primitive, params)["jaxpr"]
    return {**params, "subfuns": (wrap_init(jaxpr_as_fun(program)),)}


def _bind_without_function(
    primitive: Primitive, *args: Any, subfuns: Any = (), **params: Any
) -> Any:
    return cast(Any, Primitive).bind(primitive, *args, **params)


for _primitive in (custom_jvp_call_p, custom_vjp_call_p):
    _custom_call: Any = _primitive
    _custom_call.get_bind_params = partial(_bind_params_with_function, _primitive)
    _custom_call.bind = partial(_bind_without_function, _primitive)


# References are resolved while tracing: programs have no equations of these primitives.
get_p = inlined("get", _get)
swap_p = inlined("swap", _swap)

# Programs compare the primitives of equations with them; no equation here has them.
call_p = Primitive("core_call", higher_order=True)
closed_call_p = Primitive("core_closed_call", higher_order=True)

primitives = make_module(
    "glassjax.extend.core.primitives",
    "Primitives by their names in JAX. `add_p` to `while_p` come from `lax`.",
    {
        "glassjax.extend.core": """
            call_p closed_call_p create_call_primitive get_p register_call_primitive_rules swap_p
        """,
        "glassjax.random.keys": "random_bits_p random_fold_in_p random_seed_p random_split_p",
        "glassjax.random.prng": "threefry2x32_p",
        "glassjax.transforms.checkpoint": "checkpoint_p:remat_p name_p",
        "glassjax.transforms.custom_derivatives": """
            custom_jvp_call_p custom_vjp_call_p
        """,
        "glassjax.transforms.linear_call": "custom_linear_p:custom_lin_p",
        "glassjax.lax.elementwise": "add_any_p:add_jaxvals_p",
        "glassjax_stage3.jit": "jit_p",
        "glassjax_stage4.stop_gradient": "stop_gradient_p",
    },
    primitive_named,
)


__all__ = [
    "AbstractToken",
    "ClosedJaxpr",
    "DebugInfo",
    "DropVar",
    "Effect",
    "Effects",
    "InconclusiveDimensionOperation",
    "Jaxpr",
    "JaxprEqn",
    "JaxprTypeError",
    "Literal",
    "Primitive",
    "Token",
    "TraceTag",
    "Var",
    "array_types",
    "check_jaxpr",
    "concrete_or_error",
    "create_call_primitive",
    "find_top_trace",
    "gensym",
    "get_opaque_trace_state",
    "jaxpr_as_fun",
    "jaxprs_in_params",
    "mapped_aval",
    "nested_calls",
    "new_jaxpr_eqn",
    "no_effects",
    "nonempty_axis_env_DO_NOT_USE",
    "primal_dtype_to_tangent_dtype",
    "primitives",
    "register_call_primitive_rules",
    "set_current_trace",
    "subjaxprs",
    "take_current_trace",
    "unmapped_aval",
    "unsafe_am_i_under_a_jit_DO_NOT_USE",
    "unsafe_am_i_under_a_vmap_DO_NOT_USE",
    "unsafe_get_axis_names_DO_NOT_USE",
    "valid_jaxtype",
]
list_public_names(globals())
