"""Functions with custom derivatives."""

from __future__ import annotations

import functools
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np

import glassjax_stage2 as stage2
from glassjax.errors import TreeMismatchError, UnexpectedTracerError
from glassjax.errors.arguments import require_flags
from glassjax.primitives import higher_order
from glassjax.primitives.axes import map_first, map_flat
from glassjax.primitives.declare import decomposition_of
from glassjax.primitives.loops import stage_body
from glassjax.runtime.array import is_evaluating, to_array, tree_to_arrays
from glassjax.runtime.evaluation import CompileTimeTrace, evaluated_by_library
from glassjax.runtime.refs import Ref, split_refs
from glassjax.settings.names import PickledByName, counted, wraps
from glassjax.settings.number_types import set_number_types
from glassjax.transforms import linear_call
from glassjax.transforms.backward_logs import log
from glassjax.xla import trees
from glassjax_stage1.interpreter import set_interpreter
from glassjax_stage2 import Primitive, ShapedArray, Zero, typeof
from glassjax_stage2.arguments import FlatFunction, flatten_result, require_function
from glassjax_stage2.errors import shown
from glassjax_stage2.functions import ints
from glassjax_stage2.jvp import check_tangent
from glassjax_stage2.promotion import cast
from glassjax_stage2.shaped_array import float0, is_inexact, typeof_named
from glassjax_stage2.source import name_of
from glassjax_stage2.tangent import instantiate, tangent_type
from glassjax_stage2.trace import EvalTrace
from glassjax_stage2.vmap import BatchAxis, BatchDim, BatchTrace, move_batch_dim
from glassjax_stage3 import Jaxpr, eval_jaxpr
from glassjax_stage3.jaxpr import consts_as_invars
from glassjax_stage3.staging import JaxprTrace
from glassjax_stage4.partial_eval import PartialEvalTrace, merge, partition

# The primitives of functions with custom derivatives, and their rules.
#
# Evaluation of such a call simply runs the function. Differentiation runs the rule instead. vmap
# maps both. Staging turns the program of the function into an equation that carries the rule.


custom_jvp_call_p = Primitive("custom_jvp_call", higher_order=True)
custom_vjp_call_p = Primitive("custom_vjp_call", higher_order=True)


class JvpRule:
    """A forward-mode derivative rule.

    Arguments:
        jvp: function of a list of primals and a list of tangents, possibly `Zero`, that returns
            such lists for the results.
        names: the names of the functions, and whether symbolic zeros are passed, for the text of
            jaxprs.
    """

    primitive = custom_jvp_call_p

    def __init__(
        self,
        jvp: Callable[[linear_call.Values, linear_call.Values], tuple[list[Any], list[Any]]],
        names: Mapping[str, Any] = MappingProxyType({}),
    ):
        self.jvp = jvp
        self.names = names

    def __call__(
        self, primals: linear_call.Values, tangents: linear_call.Values
    ) -> tuple[list[Any], list[Any]]:
        return self.jvp(primals, tangents)

    def batched(self, axis: BatchAxis, dims: linear_call.Dims, trace: BatchTrace | None) -> JvpRule:
        """The batched rule, whose results have the batch axis first."""

        def batched_jvp(
            primals: linear_call.Values, tangents: linear_call.Values
        ) -> tuple[list[Any], list[Any]]:
            nonzero = [type(t) is not Zero for t in tangents]
            given_dims = [dim for dim, keep in zip(dims, nonzero, strict=True) if keep]
            out_nonzero: list[bool] = []

            def example_jvp(*primals_and_given: Any) -> list[Any]:
                primals = primals_and_given[: len(nonzero)]
                zeros = [Zero.like(x) for x, keep in zip(primals, nonzero, strict=True) if not keep]
                tangents = merge(nonzero, zeros, primals_and_given[len(nonzero) :])
                outs, out_tangents = self.jvp(primals, tangents)
                out_nonzero[:] = [type(t) is not Zero for t in out_tangents]
                return [*outs, *(t for t in out_tangents if type(t) is not Zero)]

            values = [*primals, *(t for t in tangents if type(t) is not Zero)]
            results = map_first(example_jvp, values, [*dims, *given_dims], axis, trace)
            outs = results[: len(out_nonzero)]
            zeros = [Zero.like(x) for x, keep in zip(outs, out_nonzero, strict=True) if not keep]
            return outs, merge(out_nonzero, zeros, results[len(outs) :])

        return JvpRule(batched_jvp, self.names)


class VjpRule:
    """A derivative in reverse mode.

    Arguments:
        fwd: function of a list of primals and a list of flags, True where a primal has a tangent.
            It returns a list of results, a list of residuals, and static data for `bwd`.
        bwd: function of that data, the residuals, and the cotangents of the results, possibly
            `Zero`. It returns the cotangent of each primal, or `Zero`.
        forward: the forward-mode rule, if there is one as well.
        names: as of `JvpRule`.
        out_trees: function that returns the structure of the results, known once `fwd` has run.
    """

    primitive = custom_vjp_call_p

    def __init__(
        self,
        fwd: Callable[[linear_call.Values, Sequence[bool]], tuple[list[Any], list[Any], Any]],
        bwd: Callable[[Any, linear_call.Values, linear_call.Values], list[Any]],
        forward: JvpRule | None = None,
        names: Mapping[str, Any] = MappingProxyType({}),
        out_trees: Callable[[], Any] | None = None,
    ):
        self.fwd = fwd
        self.bwd = bwd
        self.forward = forward
        self.names = names
        self.out_trees = out_trees

    def __call__(
        self, primals: linear_call.Values, nonzero: Sequence[bool]
    ) -> tuple[list[Any], list[Any], Any]:
        return self.fwd(primals, nonzero)

    def jvp(
        self, primals: linear_call.Values, tangents: linear_call.Values
    ) -> tuple[list[Any], list[Any]]:
        """A linear map of tangents given by its transpose, and possibly itself."""
        nonzero = [type(t) is not Zero for t in tangents]
        outs, residuals, knowledge = self.fwd(primals, nonzero)
        count = len(residuals)
        out_types = [tangent_type(typeof(x)) for x in outs]
        varies = [is_inexact(aval.dtype) for aval in out_types]

        def pull_back_tangents(known: linear_call.Values, cts: linear_call.Values) -> list[Any]:
            constant, _ = partition(varies, out_types)
            cts = merge(varies, list(map(Zero, constant)), cts)
            return partition(nonzero, self.bwd(knowledge, known[:count], cts))[1]

        expected = partition(varies, out_types)[1]
        known, push_forward = residuals, None
        if self.forward is not None:
            known = [*residuals, *primals]
            push_forward = partial(_push_forward, self.forward, nonzero, varies, expected, count)
        given = [t for t in tangents if type(t) is not Zero]
        out_tangents = linear_call.linear_call_flat(
            pull_back_tangents, push_forward, known, given, expected
        )
        return outs, merge(varies, list(map(Zero, partition(varies, out_types)[0])), out_tangents)

    def batched(self, axis: BatchAxis, dims: linear_call.Dims, trace: BatchTrace | None) -> VjpRule:
        """The batched rule, whose results have the batch axis first."""

        def fwd(
            primals: linear_call.Values, nonzero: Sequence[bool]
        ) -> tuple[list[Any], list[Any], Any]:
            found: list[Any] = []

            def example_fwd(*primals: Any) -> list[Any]:
                outs, residuals, knowledge = self.fwd(primals, nonzero)
                found[:] = [len(outs), knowledge]
                return [*outs, *residuals]

            results, res_dims = map_flat(example_fwd, primals, dims, axis, trace)
            count, knowledge = found
            outs = [
                move_batch_dim(x, axis, dim, 0)
                for x, dim in zip(results[:count], res_dims[:count], strict=True)
            ]
            return outs, results[count:], (knowledge, tuple(res_dims[count:]))

        def bwd(
            knowledge: Any, residuals: linear_call.Values, cts: linear_call.Values
        ) -> list[Any]:
            example_knowledge, res_dims = knowledge
            pull_back = partial(self.bwd, example_knowledge)
            return linear_call.pull_back_batch(
                pull_back, residuals, res_dims, cts, dims, axis, trace
            )

        forward = None if self.forward is None else self.forward.batched(axis, dims, trace)
        return VjpRule(fwd, bwd, forward, self.names, self.out_trees)


def _push_forward(
    rule: JvpRule,
    nonzero: Sequence[bool],
    varies: Sequence[bool],
    expected: Sequence[ShapedArray],
    num_residuals: int,
    *values: Any,
) -> list[Any]:
    """The nonzero tangents of the results, from residuals, primals, and nonzero tangents."""
    primals = values[num_residuals : num_residuals + len(nonzero)]
    zeros = [Zero.like(x) for x, keep in zip(primals, nonzero, strict=True) if not keep]
    tangents = merge(nonzero, zeros, values[num_residuals + len(nonzero) :])
    found = list(map(instantiate, partition(varies, rule.jvp(primals, tangents)[1])[1]))
    types = [typeof(t).strip_weak_type() for t in found]
    if types != [aval.strip_weak_type() for aval in expected]:
        raise TypeError(
            "custom_vjp: the rules given by defvjp and defjvp must return results of the same "
            f"types; their tangents are {list(expected)} and {types}"
        )
    return found


def custom_call(fun: linear_call.Flat, rule: Any, args: linear_call.Values, name: Any) -> list[Any]:
    """Call `fun` with the derivative `rule`."""
    trace = stage2.current_trace()
    # Nothing below differentiates or stages, so the rule is not needed: under vmap, too, the
    # function runs as it is.
    if isinstance(_below_vmap(trace), EvalTrace) or (
        isinstance(trace, CompileTimeTrace) and not any(isinstance(x, stage2.Tracer) for x in args)
    ):
        return fun(*args)
    # A staged call may be differentiated later, so it keeps its rule as a parameter.
    is_staging = isinstance(trace, JaxprTrace) and not isinstance(trace, PartialEvalTrace)
    if is_staging or (isinstance(trace, PartialEvalTrace) and any(map(trace.is_unknown, args))):
        closed = stage_body(fun, [typeof(x) for x in args], "a custom derivative", name)
        return stage2.bind(
            rule.primitive,
            *closed.consts,
            *args,
            jaxpr=consts_as_invars(closed),
            rule=rule,
            num_consts=len(closed.consts),
        )
    if any(isinstance(x, stage2.Tracer) and x.interpreter is trace for x in args):
        params = {"fun": fun, "rule": rule}
        if isinstance(trace, BatchTrace):
            params["trace"] = trace
        return trace.process(rule.primitive, args, params)
    # No argument belongs to this trace.
    with set_interpreter(trace.parent):
        return custom_call(fun, rule, args, name)


def call_of(primitive: Primitive, args: linear_call.Values, params: dict[str, Any]) -> list[Any]:
    """The call of a primitive's program, with the derivative of the primitive.

    As in the rules that users write, no tangent is a symbolic zero, and `add` sums tangents.
    """

    def jvp(
        primals: linear_call.Values, tangents: linear_call.Values
    ) -> tuple[list[Any], list[Any]]:
        tangents = list(map(instantiate, tangents))
        here: Any = stage2.shaped_array.dialect()
        with set_number_types(here.adding_plainly):
            outs, out_tangents = stage2.jvp_rules[primitive](primals, tangents, **params)
        return list(outs), list(out_tangents)

    name, decomposition = primitive.name, decomposition_of(primitive)
    assert decomposition is not None

    def function(*args: Any) -> list[Any]:
        return list(decomposition(*args, **params))

    rule = JvpRule(jvp, {"name": name, "jvp": f"{name}_jvp", "symbolic_zeros": False})
    if not all(typeof(x).weak_type for x in args):  # Python numbers take the type of the others
        args = [
            stage2.shaped_array.dialect().scalar(x, typeof(x).dtype)
            if isinstance(x, stage2.shaped_array.python_scalars)
            else x
            for x in args
        ]
    return custom_call(function, rule, args, name)


def _below_vmap(trace: stage2.Trace) -> stage2.Trace:
    """The first trace other than vmap's, from this one downwards."""
    while isinstance(trace, BatchTrace):
        trace = trace.parent  # type: ignore[assignment]
    return trace


def _custom_call_jvp(
    primals: linear_call.Values,
    tangents: linear_call.Values,
    *,
    rule: Any,
    num_consts: int = 0,
    jaxpr: Jaxpr | None = None,
    fun: linear_call.Flat | None = None,
) -> tuple[list[Any], list[Any]]:
    for x, t in zip(primals[:num_consts], tangents[:num_consts], strict=True):
        if type(t) is not Zero:
            raise TypeError(
                "a function with a custom derivative is differentiated with respect to a value "
                f"that it closes over, of type {typeof(x)}; its rule covers its arguments only. "
                "Make the value an argument, or use stop_gradient, or closure_convert."
            )
    outs, out_tangents = rule.jvp(primals[num_consts:], tangents[num_consts:])
    if jaxpr is not None:
        expected = [aval.strip_weak_type() for aval in jaxpr.out_avals]
        found = [typeof(x).strip_weak_type() for x in outs]
        if found != expected:
            raise TypeError(
                "the rule of a custom derivative must return what the function returns, of types "
                f"{expected}; found {found}"
            )
    return outs, out_tangents


def _custom_call_vmap(
    axis: BatchAxis,
    values: linear_call.Values,
    dims: linear_call.Dims,
    *,
    rule: Any,
    num_consts: int = 0,
    jaxpr: Jaxpr | None = None,
    fun: linear_call.Flat | None = None,
    trace: BatchTrace | None = None,
) -> tuple[list[Any], list[BatchDim]]:
    example_fun: Any = fun if jaxpr is None else partial(eval_jaxpr, jaxpr, [])
    consts = values[:num_consts]

    def batched_fun(*args: Any) -> list[Any]:
        return map_first(example_fun, [*consts, *args], dims, axis, trace)

    batched = rule.batched(axis, dims[num_consts:], trace)
    outs = custom_call(batched_fun, batched, values[num_consts:], None)
    return outs, [0] * len(outs)


for _primitive in (custom_jvp_call_p, custom_vjp_call_p):
    higher_order.declare_program(
        _primitive,
        evaluate=higher_order.program_impl,
        abstract_eval=higher_order.program_type,
        lower=higher_order.program_lower(_primitive.name),
        vmap=_custom_call_vmap,
        jvp=_custom_call_jvp,
        transpose=higher_order.transpose_program,
        partial_eval=None,  # jvp, which comes first, removes the call
        dce=None,
        dependence=None,  # the user's rule decides
        order=higher_order.program_effects,
        keys=higher_order.program_keys,
        steps=higher_order.run_program,
    )


# Shared parts of functions with custom derivatives.


P = ParamSpec("P")
R = TypeVar("R")


class CustomFunction(PickledByName, ABC, Generic[P, R]):
    """Shared parts of `custom_jvp` and `custom_vjp`: a function, its differentiable arguments."""

    decorator = ""
    how_defined = ""

    def __init__(
        self,
        fun: Callable[P, R],
        nondiff_argnums: int | Sequence[int] = (),
        nondiff_argnames: str | Sequence[str] = (),
    ):
        require_function(self.decorator, fun)
        functools.update_wrapper(self, fun)
        self.fun = fun
        names = (nondiff_argnames,) if isinstance(nondiff_argnames, str) else nondiff_argnames
        parameters = _parameters(fun)
        missing = [name for name in names if name not in parameters]
        if missing:
            raise ValueError(
                f"{self.decorator}: nondiff_argnames names {missing[0]!r}, but the parameters of "
                f"`{name_of(fun)}` are {', '.join(parameters)}"
            )
        argnums = ints(f"{self.decorator}: nondiff_argnums", nondiff_argnums)
        self.nondiff_argnums = tuple(sorted({*argnums, *map(parameters.index, names)}))

    @abstractmethod
    def _is_defined(self) -> bool:
        """Return True if the function has a derivative rule."""

    @abstractmethod
    def _rule(self, call: Call) -> Any:
        """The rule for one call."""

    @evaluated_by_library
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        name = name_of(self.fun)
        if not self._is_defined():
            raise AttributeError(
                f"no derivative is defined for the {self.decorator} function `{name}`: "
                f"{self.how_defined}"
            )
        call = Call(self.fun, self.nondiff_argnums, by_position(self.fun, args, kwargs))
        outs = custom_call(call.function, self._rule(call), call.leaves, self.fun)
        result = stage2.tree.tree_unflatten(call.out_tree, outs)
        return result if call.is_plain else tree_to_arrays(result)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)


class Call:
    """One call: its differentiable arguments, flat, and their positions among all arguments."""

    def __init__(self, fun: Callable[..., Any], nondiff: Sequence[int], args: Sequence[Any]):
        if nondiff and max(nondiff) >= len(args):
            raise ValueError(
                f"`{name_of(fun)}` is called with {counted(len(args), 'argument')}, but "
                f"nondiff_argnums names number {max(nondiff)}"
            )
        self.fun = fun
        self.args = args
        given = [i for i in range(len(args)) if i not in nondiff]
        self.are_refs = [isinstance(args[i], Ref) for i in given]  # refs have no derivative
        self.varying = [i for i in given if not isinstance(args[i], Ref)]
        self.nondiff = [args[i] for i in nondiff]
        # Outside of transformations the function gets the user's arguments unchanged.
        self.is_plain = is_evaluating()
        primals = tuple([args[i] for i in self.varying])
        self.leaves, self.in_tree = stage2.tree.tree_flatten(
            primals if self.is_plain else tree_to_arrays(primals)
        )
        self.in_avals = [typeof(x) for x in self.leaves]
        self.flat = FlatFunction(lambda *primals: fun(*self.all_args(primals)), self.in_tree)
        self.flat.fun.__name__ = name_of(fun)
        self.rule_tree: stage2.tree.PyTreeDef | None = None

    def function(self, *leaves: Any) -> list[Any]:
        return self.flat(*leaves)

    def without_refs(self, cotangents: Any) -> Any:
        """The tuple that a rule returned, without the entries of references."""
        if not any(self.are_refs) or len(cotangents) != len(self.are_refs):
            return cotangents
        return tuple([x for x, is_ref in zip(cotangents, self.are_refs, strict=True) if not is_ref])

    def all_args(self, primals: Sequence[Any]) -> list[Any]:
        whole = list(self.args)
        for i, x in zip(self.varying, primals, strict=True):
            whole[i] = x
        return whole

    @property
    def out_tree(self) -> stage2.tree.PyTreeDef:
        """The structure of the result, from the function or its rule, whichever has run."""
        return getattr(self.flat, "out_tree", None) or self.rule_tree  # type: ignore[return-value]

    def check_out_tree(self, role: str, tree: stage2.tree.PyTreeDef) -> None:
        expected = getattr(self.flat, "out_tree", tree)
        if tree != expected:
            raise TreeMismatchError(
                f"{role} of `{name_of(self.fun)}` must return a result of the same structure as "
                f"the function: {stage2.explain_mismatch(expected, tree, name='result')}"
            )
        self.rule_tree = tree


def _parameters(fun: Callable[..., Any]) -> list[str]:
    try:
        return list(inspect.signature(fun).parameters)
    except (TypeError, ValueError):  # builtins do not say
        return []


def by_position(fun: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """All arguments by position, including defaults except of keyword-only parameters."""
    try:
        signature = inspect.signature(fun)
    except (TypeError, ValueError):
        return tuple(args)
    bound = signature.bind(*args, **kwargs)
    by_name = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD
    passed = [name for name in bound.arguments if signature.parameters[name].kind in by_name]
    if passed:
        raise TypeError(
            f"`{name_of(fun)}` has a rule of its own, which takes arguments by "
            f"position: keyword-only arguments cannot be passed, found {', '.join(passed)}"
        )
    bound.apply_defaults()
    return bound.args


# Symbolic zeros as passed to user rules that request them.


class SymbolicZero:
    """A tangent or cotangent known to be zero, for rules that request `symbolic_zeros`.

    Arguments:
        aval: its type, whose shape and dtype it has.

    >>> from functools import partial
    >>> @glassjax.custom_jvp
    ... def product(x, y):
    ...     return x * y
    >>> @partial(product.defjvp, symbolic_zeros=True)
    ... def product_jvp(primals, tangents):
    ...     (x, y), (dx, dy) = primals, tangents
    ...     print(dy)
    ...     is_zero = type(dy) is glassjax.custom_derivatives.SymbolicZero
    ...     return x * y, dx * y if is_zero else dx * y + x * dy
    >>> glassjax.grad(product)(2.0, 3.0)
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
    def from_primal_value(val: Any) -> SymbolicZero:
        return SymbolicZero(tangent_type(typeof(val)))


@dataclass(frozen=True, eq=False)
class CustomVJPPrimal:
    """An argument of a forward rule that requests `symbolic_zeros`; a leaf of pytrees.

    Arguments:
        value: the argument.
        perturbed: whether it is differentiated.

    >>> @glassjax.custom_vjp
    ... def product(x, y):
    ...     return x * y
    >>> def forward(x, y):
    ...     print("y is differentiated:", y.perturbed)
    ...     return x.value * y.value, (x.value, y.value)
    >>> product.defvjp(forward, lambda xy, ct: (ct * xy[1], ct * xy[0]), symbolic_zeros=True)
    >>> glassjax.grad(product)(2.0, 3.0)
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

    >>> from glassjax.custom_derivatives import CustomVJPPrimal, custom_vjp_primal_tree_values
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

    return stage2.tree.tree_map(value_of, tree)


@evaluated_by_library
def zero_from_primal(val: Any, symbolic_zeros: bool = False) -> Any:
    """The zero tangent of each array of a pytree, as `SymbolicZero` if requested.

    Arguments:
        val: an array or a pytree of arrays. The tangent of integers and booleans has dtype float0.
        symbolic_zeros: whether to return `SymbolicZero`s instead of numpy arrays.

    >>> from glassjax.custom_derivatives import zero_from_primal
    >>> zero_from_primal({"a": jnp.ones(2), "b": jnp.arange(3)}, symbolic_zeros=True)
    {'a': SymbolicZero(f32[2]), 'b': SymbolicZero(float0[3])}
    """
    require_flags("zero_from_primal", symbolic_zeros=symbolic_zeros)
    for leaf in stage2.tree_leaves(val):
        typeof_named("zero_from_primal: val", leaf)
    zero = stage2.tree.tree_map(SymbolicZero.from_primal_value, val)
    if symbolic_zeros:
        return zero
    return stage2.tree.tree_map(lambda x: np.zeros(x.shape, x.dtype), zero)


def shown_to_rule(t: Any, symbolic_zeros: bool) -> Any:
    """A tangent or cotangent for a user's rule: an array, or a `SymbolicZero`."""
    if type(t) is Zero and symbolic_zeros:
        return SymbolicZero(t.aval)
    return to_array(instantiate(t))


# `custom_jvp`: functions with a custom derivative, from which all modes follow.


Function = TypeVar("Function", bound=Callable[..., Any])


class custom_jvp(CustomFunction[P, R]):
    """Decorator: a function with a custom derivative, from which all modes follow.

    Arguments:
        fun: function of arrays and pytrees of arrays.
        nondiff_argnums: positions of arguments that are not differentiated, and may be any values.
            The rule gets them first.
        nondiff_argnames: the same, by name.

    Raises:
        AttributeError: when called, no rule is defined.

    >>> import glassjax
    >>> import glassjax.numpy as jnp
    >>> @custom_jvp
    ... def f(x):
    ...     return jnp.sin(x)
    >>> @f.defjvp
    ... def f_jvp(primals, tangents):
    ...     (x,), (t,) = primals, tangents
    ...     return f(x), 100.0 * t
    >>> glassjax.grad(f)(1.0)
    Array(100., dtype=float32, weak_type=True)
    """

    decorator = "custom_jvp"
    how_defined = "use its method defjvp"
    jvp: Callable[..., Any] | None = None
    jvp_symbolic_zeros = False

    def _is_defined(self) -> bool:
        return self.jvp is not None

    def defjvp(self, jvp: Function, symbolic_zeros: bool = False) -> Function:
        """Define the derivative.

        Arguments:
            jvp: function of the primals and the tangents, two tuples, after the arguments that
                are not differentiated. It returns the result and its tangent, linear in the
                tangents.
            symbolic_zeros: whether to pass zero tangents as `SymbolicZero`.

        Returns:
            `jvp`, so that this is a decorator.
        """
        self.jvp = jvp
        self.jvp_symbolic_zeros = symbolic_zeros
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Define the derivative by one formula for each argument; their terms are added.

        Arguments:
            jvps: for each argument a function `(t, out, *primals)` of its tangent, the result and
                the arguments, or None if nothing depends on it.
        """
        if self.nondiff_argnums:
            raise TypeError("defjvps: nondiff_argnums asks for one rule, by defjvp")

        function: Callable[..., Any] = self

        def sum_jvps(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
            out: Any = function(*primals)
            pairs = zip(jvps, tangents, strict=True)
            parts = [formula(t, out, *primals) for formula, t in pairs if formula is not None]
            if not parts:
                return out, zero_from_primal(out)
            return out, functools.reduce(functools.partial(stage2.tree.tree_map, stage2.add), parts)

        self.defjvp(sum_jvps)

    def _rule(self, call: Call) -> JvpRule:
        return jvp_rule_of(self, call)


def jvp_rule_of(function: Any, call: Call) -> JvpRule:
    """The rule given by `defjvp`, for one call."""
    rule, symbolic_zeros = function.jvp, function.jvp_symbolic_zeros

    def flat_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        passed = [shown_to_rule(t, symbolic_zeros) for t in tangents]
        trees = [stage2.tree.tree_unflatten(call.in_tree, leaves) for leaves in (primals, passed)]
        pair = rule(*call.nondiff, *trees)
        role = f"{function.decorator}: the rule `{name_of(rule)}`"
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise TypeError(
                f"{role} of `{name_of(call.fun)}` must return a pair of result and tangent, "
                f"found {shown(pair)}"
            )
        outs, out_tree = flatten_result(rule, pair[0])
        call.check_out_tree(role, out_tree)
        paths, tangents_tree = stage2.tree.tree_flatten_with_path(pair[1])
        if tangents_tree != out_tree:
            raise TreeMismatchError(
                f"{role} of `{name_of(call.fun)}` must return result and tangent of one "
                f"structure: {stage2.explain_mismatch(out_tree, tangents_tree)}"
            )
        found = [Zero(t.aval) if isinstance(t, SymbolicZero) else t for _, t in paths]
        return outs, [
            check_tangent(
                f"{role}: the tangent of the result{stage2.tree.keystr(path)}",
                t,
                tangent_type(typeof(x)),
            )
            for x, (path, _), t in zip(outs, paths, found, strict=True)
        ]

    names = {"name": name_of(call.fun), "jvp": name_of(rule), "symbolic_zeros": symbolic_zeros}
    return JvpRule(flat_jvp, names)


# `custom_vjp`: functions with a custom derivative in reverse mode.


class custom_vjp(CustomFunction[P, R]):
    """Decorator: a function with a custom derivative in reverse mode.

    Arguments:
        fun: function of arrays and pytrees of arrays.
        nondiff_argnums: positions of arguments that are not differentiated, and may be any values.
            The backward rule gets them first.
        nondiff_argnames: the same, by name.

    Raises:
        AttributeError: when called, no rules are defined.
        TypeError: it is differentiated in forward mode without a rule from `defjvp`.

    >>> import glassjax
    >>> import glassjax.numpy as jnp
    >>> @custom_vjp
    ... def clipped(x):
    ...     return x
    >>> clipped.defvjp(lambda x: (x, None), lambda _, ct: (jnp.clip(ct, -1, 1),))
    >>> glassjax.grad(lambda x: 5.0 * clipped(x))(2.0)
    Array(1., dtype=float32, weak_type=True)
    """

    decorator = "custom_vjp"
    how_defined = "use its method defvjp"
    fwd: Callable[..., Any] | None = None
    bwd: Callable[..., Any] | None = None
    symbolic_zeros = False
    logs = False
    jvp: Callable[..., Any] | None = None
    jvp_symbolic_zeros = False

    def _is_defined(self) -> bool:
        return self.fwd is not None

    def defvjp(
        self,
        fwd: Callable[..., Any],
        bwd: Callable[..., Any],
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
    ) -> None:
        """Define the derivative.

        Arguments:
            fwd: function of the same arguments that returns the result, and a pytree of residuals
                for the backward rule.
            bwd: function of the residuals and the cotangent of the result, after the arguments that
                are not differentiated. It returns a tuple with the cotangent of each other
                argument, which is converted to the dtype of the argument; None means zero. One
                array, or None, can stand for a whole pytree.
            symbolic_zeros: whether to pass each leaf to `fwd` as a `CustomVJPPrimal`, and zero
                cotangents to `bwd` as `SymbolicZero`.
            optimize_remat: ignored; under `checkpoint` nothing unused is computed anyway.
        """
        self.fwd, self.bwd = fwd, bwd
        self.symbolic_zeros = symbolic_zeros
        self.logs = False

    def defvjp_with_logs(
        self,
        fwd: Callable[..., Any],
        bwd: Callable[..., Any],
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
    ) -> None:
        """Define the derivative, by a backward rule that logs arrays.

        Arguments:
            fwd: as in `defvjp`.
            bwd: as for `defvjp`, but it returns a pair: the tuple of cotangents, and None or a dict
                of pytrees of arrays. The method `with_logs` of the function that `vjp` returns
                gives these; otherwise they are ignored.
            symbolic_zeros: as in `defvjp`.
            optimize_remat: as in `defvjp`.

        Raises:
            TypeError: when differentiated, `bwd` returns something else.
        """
        self.defvjp(fwd, bwd, symbolic_zeros, optimize_remat)
        self.logs = True

    def defjvp(self, jvp: Function, symbolic_zeros: bool = False) -> Function:
        """Define the derivative in forward mode as well, which JAX does not offer.

        Reverse mode uses the rules of `defvjp`, forward mode this one.

        Arguments:
            jvp: function of the primals and the tangents, as for `custom_jvp.defjvp`. It is staged,
                so its Python `if` cannot depend on values.
            symbolic_zeros: whether to pass zero tangents as `SymbolicZero`.

        Returns:
            `jvp`, so that this is a decorator.

        >>> @glassjax.custom_vjp
        ... def sine(x):
        ...     return jnp.sin(x)
        >>> sine.defvjp(lambda x: (jnp.sin(x), x), lambda x, ct: (jnp.cos(x) * ct,))
        >>> @sine.defjvp
        ... def sine_jvp(primals, tangents):
        ...     (x,), (t,) = primals, tangents
        ...     return sine(x), jnp.cos(x) * t
        >>> glassjax.jvp(sine, (0.0,), (2.0,))[1], glassjax.hessian(sine)(0.0)
        (Array(2., dtype=float32, weak_type=True), Array(-0., dtype=float32, weak_type=True))
        """
        self.jvp, self.jvp_symbolic_zeros = jvp, symbolic_zeros
        return jvp

    def _rule(self, call: Call) -> VjpRule:
        fwd_fun: Any = self.fwd
        bwd_fun: Any = self.bwd
        symbolic_zeros, logs = self.symbolic_zeros, self.logs

        def fwd(
            primals: Sequence[Any], nonzero: Sequence[bool]
        ) -> tuple[list[Any], list[Any], Any]:
            if symbolic_zeros:
                primals = list(map(CustomVJPPrimal, primals, nonzero))
            role = f"custom_vjp: the forward rule `{name_of(fwd_fun)}`"
            with _naming_what_varies(role, call):
                pair = fwd_fun(*call.all_args(stage2.tree.tree_unflatten(call.in_tree, primals)))
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                raise TypeError(
                    f"{role} of `{name_of(call.fun)}` must return a pair of the result and what "
                    f"the backward rule needs, found {shown(pair)}"
                )
            outs, out_tree = flatten_result(fwd_fun, pair[0])
            call.check_out_tree(role, out_tree)
            # References are not arrays, so they reach `bwd` beside the residuals.
            refs, residuals, places = split_refs(role, pair[1])
            return outs, residuals, (out_tree, places, refs)

        def bwd(knowledge: Any, residuals: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
            out_tree, places, refs = knowledge
            shown = [shown_to_rule(ct, symbolic_zeros) for ct in cts]
            role = f"custom_vjp: the backward rule `{name_of(bwd_fun)}`"
            with _naming_what_varies(role, call):
                result = bwd_fun(
                    *call.nondiff,
                    places.join(refs, residuals),
                    stage2.tree.tree_unflatten(out_tree, shown),
                )
                if logs:
                    result = _without_logs(f"{role} of `{name_of(call.fun)}`", result)
            return _check_cotangents(call, bwd_fun, result)

        names = {
            "name": name_of(call.fun),
            "fwd": name_of(fwd_fun),
            "bwd": name_of(bwd_fun),
            "symbolic_zeros": symbolic_zeros,
        }
        forward = None if self.jvp is None else jvp_rule_of(self, call)
        return VjpRule(fwd, bwd, forward, names, lambda: call.out_tree)


@contextmanager
def _naming_what_varies(role: str, call: Call) -> Iterator[None]:
    """Explain why a rule uses a value of another trace: it was not passed as an argument."""
    try:
        yield
    except UnexpectedTracerError as error:
        raise UnexpectedTracerError(
            f"{role} of `{name_of(call.fun)}` uses a traced value that it closes over, or gets by "
            "nondiff_argnums. Make it an argument that is differentiated, and None or zeros its "
            f"cotangent.\n{error}"
        ).with_traceback(error.__traceback__) from None


def _without_logs(role: str, result: Any) -> Any:
    """The cotangents that a backward rule returned, after logging its logs."""
    if not isinstance(result, tuple | list) or len(result) != 2:
        raise TypeError(
            f"{role} must return a pair of the cotangents and a dict of logs, found {shown(result)}"
        )
    cotangents, logs = result
    log(role, logs)
    return cotangents


def _check_cotangents(call: Call, bwd: Any, result: Any) -> list[Any]:
    """The cotangents that a backward rule returned, flat, with `Zero` for None."""
    role = f"custom_vjp: the backward rule `{name_of(bwd)}` of `{name_of(call.fun)}`"
    if isinstance(result, list):
        result = tuple(result)
    if not isinstance(result, tuple):
        raise TypeError(
            f"{role} must return a tuple with a cotangent for each argument, found "
            f"{shown(result)} of type {type(result).__name__}; for a single argument write (ct,)"
        )
    result = call.without_refs(result)
    found: list[Any] = []
    if not _fill(call.in_tree, result, found):
        raise TreeMismatchError(
            f"{role} must return a tuple of the structure of the arguments, None where a "
            "cotangent is zero: "
            + stage2.explain_mismatch(
                call.in_tree, stage2.tree.tree_structure(result), name="cotangents"
            )
        )
    numbered = stage2.tree.tree_unflatten(call.in_tree, range(len(found)))
    in_cts = []
    for path, i in stage2.tree.tree_flatten_with_path(numbered)[0]:
        ct, aval = found[i], tangent_type(call.in_avals[i])
        # float0: the cotangent of an integer is zero, whatever the rule returned for it
        if ct is None or isinstance(ct, SymbolicZero) or aval.dtype == float0:
            in_cts.append(Zero(aval))
            continue
        given = typeof(ct)
        if given.shape == aval.shape and given.dtype != float0:
            ct = cast(ct, aval) if given.dtype != aval.dtype else ct
        else:
            ct = check_tangent(
                f"{role}: the cotangent of argument{stage2.tree.keystr(path)}", ct, aval
            )
        in_cts.append(ct)
    return in_cts


def _fill(tree: stage2.tree.PyTreeDef, result: Any, leaves: list[Any]) -> bool:
    """Append the leaves of a result of this structure.

    One leaf, or None, can stand for any subtree.
    """
    if trees.is_one_leaf(tree):
        leaves.append(result)
        return True
    # Only one level: the recursion compares the children.
    parts, found = stage2.tree.tree_flatten(result, is_leaf=lambda x: x is not result)
    if result is None or trees.is_one_leaf(found):
        leaves += [result] * tree.num_leaves
        return True
    return found.nodes[0] == tree.nodes[0] and all(
        _fill(child, part, leaves) for child, part in zip(trees.children(tree), parts, strict=True)
    )


# `custom_gradient` and `closure_convert`: staged functions and their closed-over values.


class _Closure:
    """A staged function: its program, and the pytree of the values that it closes over."""

    def __init__(
        self, consts: Sequence[Any], jaxpr: Jaxpr, in_tree: stage2.tree.PyTreeDef, out_tree: Any
    ):
        self.consts = consts
        self.jaxpr = jaxpr
        self.in_tree = in_tree
        self.out_tree = out_tree

    def __call__(self, *args: Any) -> Any:
        leaves, tree = stage2.tree.tree_flatten(args)
        if tree != self.in_tree:
            raise TreeMismatchError(
                "a converted closure takes arguments of the structure of its examples: "
                + stage2.explain_mismatch(self.in_tree, tree, name="args")
            )
        return stage2.tree.tree_unflatten(
            self.out_tree, eval_jaxpr(self.jaxpr, [], *self.consts, *leaves)
        )


stage2.tree.register_pytree_node(
    _Closure,
    lambda f: (tuple(f.consts), (f.jaxpr, f.in_tree, f.out_tree)),
    lambda aux, consts: _Closure(consts, *aux),
)


def _stage_closure(caller: str, fun: Callable[..., Any], examples: Sequence[Any]) -> _Closure:
    leaves, in_tree = stage2.tree.tree_flatten(tuple(examples))
    flat = FlatFunction(fun, in_tree)
    avals = [x if isinstance(x, ShapedArray) else typeof(x) for x in leaves]
    closed = stage_body(flat, avals, caller, fun)
    return _Closure(closed.consts, consts_as_invars(closed), in_tree, flat.out_tree)


def custom_gradient(
    fun: Callable[..., Any] | None = None,
    *,
    with_logs: bool = False,
    remat: bool = False,
    with_accums: Any = None,
) -> Callable[..., Any]:
    """Decorator: define a function that returns its result together with its derivative.

    Arguments:
        fun: function of arrays and pytrees of arrays that returns a pair: the result, and a
            function from the cotangent of the result to the cotangents of the arguments, a tuple
            unless there is one.
        with_logs: whether that function returns a pair: the tuple of cotangents, and None or a dict
            of pytrees of arrays to log, as for `custom_vjp.defvjp_with_logs`.
        remat: must be False.
        with_accums: must be None.

    Returns:
        The function of the same arguments that returns the result alone; without `fun`, the
        decorator itself.

    Raises:
        NotImplementedError: `remat` or `with_accums` is given.

    >>> import glassjax
    >>> f = custom_gradient(lambda x: (x * x, lambda ct: ct * x))
    >>> glassjax.grad(f)(3.0)
    Array(3., dtype=float32, weak_type=True)
    """

    if remat or with_accums is not None:
        raise NotImplementedError(
            "custom_gradient: remat must be False and with_accums None here: under checkpoint the "
            "function is computed anew, and derivatives are returned"
        )
    if fun is None:
        return partial(custom_gradient, with_logs=with_logs)

    def value_and_pull_back(*args: Any, **kwargs: Any) -> tuple[Any, Callable[..., Any]]:
        pair = fun(*args, **kwargs)
        if not isinstance(pair, tuple | list) or len(pair) != 2 or not callable(pair[1]):
            raise TypeError(
                f"custom_gradient: `{name_of(fun)}` must return a pair of its result and the "
                f"function that pulls cotangents back, found {shown(pair)}"
            )
        return pair[0], pair[1]

    @wraps(fun)
    def value(*args: Any, **kwargs: Any) -> Any:
        return value_and_pull_back(*args, **kwargs)[0]

    def fwd(*args: Any) -> tuple[Any, Any]:
        out, pull_back = value_and_pull_back(*args)
        # The function closes over values of the forward pass. Staged, it has them as its leaves,
        # and they become residuals.
        return out, _stage_closure(
            "custom_gradient", pull_back, (stage2.tree.tree_map(typeof, out),)
        )

    def bwd(pull_back: _Closure, ct: Any) -> Any:
        in_cts = pull_back(ct)
        if with_logs:
            return in_cts
        return in_cts if isinstance(in_cts, tuple | list) else (in_cts,)

    with_gradient = custom_vjp(value)
    define = with_gradient.defvjp_with_logs if with_logs else with_gradient.defvjp
    define(fwd, bwd)
    return with_gradient


@evaluated_by_library
def closure_convert(fun: Callable[..., Any], *example_args: Any) -> tuple[Any, list[Any]]:
    """Turn the differentiable values that a function closes over into arguments.

    A custom derivative covers only the arguments of a function. A function that takes another
    function as an argument can take these two results instead.

    Arguments:
        fun: function of arrays and pytrees of arrays.
        example_args: arguments; only their types matter.

    Returns:
        A function of the same arguments and then those values, and the list of the values.

    >>> closure_convert(lambda x: 2.0 * x, 1.0)[1]
    []
    """
    require_function("closure_convert", fun)
    closure = _stage_closure("closure_convert", fun, example_args)
    hoisted = [isinstance(x, stage2.Tracer) and is_inexact(x.dtype) for x in closure.consts]
    kept, _ = partition(hoisted, closure.consts)

    @evaluated_by_library
    @wraps(fun)
    def converted(*args_and_consts: Any) -> Any:
        count = len(args_and_consts) - sum(hoisted)
        consts = merge(hoisted, kept, args_and_consts[count:])
        whole = _Closure(consts, closure.jaxpr, closure.in_tree, closure.out_tree)
        return whole(*args_and_consts[:count])

    return converted, [
        x for x, is_hoisted in zip(closure.consts, hoisted, strict=True) if is_hoisted
    ]
