"""Automatic differentiation: `jvp`, `linearize`, `vjp`, `grad`, and the functions they return."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from types import CodeType
from typing import Any, Literal, NamedTuple, ParamSpec, TypeVar, overload

import numpy as np

import glassjax_stage2 as stage2
import glassjax_stage4 as stage4
from glassjax.errors import ComplexGradientError, IntegerGradientError
from glassjax.errors.arguments import require_flags
from glassjax.errors.tracebacks import hiding_frames
from glassjax.primitives.loops import stage_to_jaxpr
from glassjax.runtime import refs as references
from glassjax.runtime.array import to_array, tree_to_arrays, type_of
from glassjax.runtime.evaluation import evaluated_by_library
from glassjax.runtime.jit import jit
from glassjax.runtime.printed_jaxpr import printed_jaxpr
from glassjax.runtime.templates import expanded
from glassjax.settings.config import Switch
from glassjax.settings.names import counted, later, wraps
from glassjax.settings.number_types import as_weak_as
from glassjax.settings.tracers import printed_type
from glassjax.shardings.types import sharded_as
from glassjax.transforms.backward_logs import with_logs
from glassjax.tree_util import Partial, register_pytree_node
from glassjax.xla import trees
from glassjax_stage1.interpreter import leaked_value_error
from glassjax_stage2 import ShapedArray, Zero, current_trace, tree_leaves
from glassjax_stage2.errors import TangentTypeError, shown
from glassjax_stage2.functions import ints
from glassjax_stage2.jvp import JVPTracer, check_tangents
from glassjax_stage2.shaped_array import float0, is_inexact, typeof_named
from glassjax_stage2.source import name_of
from glassjax_stage2.tangent import instantiate, tangent_type
from glassjax_stage2.tracer import PrimalTracer
from glassjax_stage3 import Jaxpr, dce_jaxpr, eval_jaxpr
from glassjax_stage3.jaxpr import consts_as_invars
from glassjax_stage3.staging import abstractify
from glassjax_stage4.grad import pull_back, require_scalar
from glassjax_stage4.linearize import linearize_flat
from glassjax_stage4.partial_eval import merge, partition
from glassjax_stage4.transpose import transpose_linear

Function = Callable[..., Any]
P = ParamSpec("P")
R = TypeVar("R")
Aux = TypeVar("Aux")
Argnums = int | Sequence[int]

# The user's function whose lines reverse mode computes again, if it is measured what that saves.
recomputed_code: ContextVar[CodeType | None] = ContextVar("recomputed_code", default=None)
_with_checkpoints = later("glassjax.transforms.chosen_checkpoints", "with_checkpoints")


def _prepared(fun: Function) -> Function:
    """A function of pytrees of arrays that is to be differentiated in reverse mode."""
    return fun if recomputed_code.get() is None else _with_checkpoints(fun)


# Checks of differentiated values: real numbers by default, complex and integers by option.


def require_differentiable(
    caller: str,
    fun: Callable[..., Any],
    argnums: int | Sequence[int],
    inputs: Any,
    holomorphic: bool,
    allow_int: bool,
) -> None:
    """Raise an error if the chosen arguments are not differentiable.

    With `holomorphic` all of them must be complex; with `allow_int` they may be integers.
    """
    for path, leaf in stage2.tree.tree_flatten_with_path(inputs)[0]:
        role = f"{caller}: argument {argnums}{stage2.tree.keystr(path)} of `{name_of(fun)}`"
        aval = typeof_named(role, leaf)
        if holomorphic:
            _require_complex(role, aval)
    if not allow_int:
        stage2.arguments.check_inexact(caller, f"argument {argnums}", fun, inputs)


def one_like(caller: str, fun: Any, out: Any, holomorphic: bool) -> Any:
    """The cotangent 1 of a real scalar result, or with `holomorphic` a complex one."""
    kind = "complex number, where holomorphic=True" if holomorphic else "real number"
    expected = f"{caller}: the result of `{name_of(fun)}` must be one {kind}"
    aval = require_scalar(
        expected,
        out,
        "To return more than what is differentiated return (out, aux) and give has_aux=True.",
    )
    if not is_inexact(aval.dtype):
        raise IntegerGradientError(f"{expected}, found {aval}. Convert it, or use vjp.")
    if holomorphic and aval.dtype.kind != "c":
        raise ComplexGradientError(f"{expected}, found {aval}. Convert it, or use vjp.")
    if aval.dtype.kind == "c" and not holomorphic:
        raise ComplexGradientError(
            f"{expected}, found {aval}. Return its real part; for a complex derivative give "
            "holomorphic=True to grad."
        )
    return stage2.full_like(out, 1)


def require_results(caller: str, fun: Any, result: Any, holomorphic: bool) -> None:
    """Raise an error if reverse mode cannot differentiate a leaf of the result of `fun`.

    Unless the function is holomorphic, a cotangent 1 gives only half of a complex derivative.
    """
    stage2.arguments.check_inexact(caller, "result", fun, result)
    for path, leaf in stage2.tree.tree_flatten_with_path(result)[0]:
        role, aval = (
            f"{caller}: result{stage2.tree.keystr(path)} of `{name_of(fun)}`",
            stage2.typeof(leaf),
        )
        if holomorphic:
            _require_complex(role, aval)
        elif aval.dtype.kind == "c":
            raise ComplexGradientError(
                f"{role} is complex, {aval}. Use jacfwd, or return its real and imaginary parts, "
                "or give holomorphic=True."
            )


def require_holomorphic(
    caller: str,
    fun: Callable[..., Any],
    argnums: int | Sequence[int],
    args: Sequence[Any],
    holomorphic: bool,
) -> None:
    """Raise an error if complex arguments are differentiated without `holomorphic`."""
    for i in ints("argnums", argnums):
        for x in tree_leaves(args[i]) if -len(args) <= i < len(args) else ():
            role = f"{caller}: argument {i} of `{name_of(fun)}`"
            aval = typeof_named(role, x)
            if holomorphic:
                _require_complex(role, aval)
            elif aval.dtype.kind == "c":
                raise ComplexGradientError(
                    f"{role} is complex, {aval}. Give holomorphic=True where the function has a "
                    "complex derivative, or differentiate with respect to real and imaginary parts."
                )


def _require_complex(role: str, aval: ShapedArray) -> None:
    if aval.dtype.kind != "c":
        raise ComplexGradientError(
            f"{role} must be complex where holomorphic=True, found {aval}. Convert it, or leave "
            "out holomorphic."
        )


# `has_aux=True`: functions with auxiliary results, which are not differentiated.


class WithAux:
    """A function that returns `(out, aux)`, wrapped to return `out` and store `aux`."""

    def __init__(self, fun: Callable[..., Any]):
        self.fun = fun
        self.__name__ = name_of(fun)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        result = self.fun(*args, **kwargs)
        if not isinstance(result, tuple) or len(result) != 2:
            raise TypeError(
                f"`{self.__name__}` with has_aux=True must return a pair (out, aux), found "
                f"{shown(result)} of type {type(result).__name__}"
            )
        out, self.kept = result
        for leaf in tree_leaves(self.kept):
            if isinstance(leaf, stage2.Tracer) and leaf.interpreter.ended:
                raise leaked_value_error(leaf, leaf.interpreter, leaf.source)
        return out

    def aux(self) -> Any:
        """Return the auxiliary results after the transformation, without its tracers."""
        return stage2.tree_map(_opened, self.kept)


def split_aux(caller: str, fun: Function, has_aux: bool) -> WithAux | None:
    stage2.arguments.require_function(caller, fun)
    return WithAux(fun) if has_aux else None


def _opened(x: Any) -> Any:
    while isinstance(x, PrimalTracer) and x.interpreter.ended:
        x = x.primal
    return x


# `in_nzs` and `out_nzs`: the arguments and results with nonzero tangents.


class NonzeroTangents:
    """A function to differentiate once; records which of its results have tangents.

    Arguments:
        caller: the transformation, for messages.
        fun: the function.
        in_nzs: whether each argument has a tangent: True or False, or a tree of these that is a
            prefix of the argument, up to the classes of its nodes; None: all have.
        primals: the arguments.

    Attributes:
        out_nzs: whether each result has a tangent, in a tree where nodes other than tuples, lists
            and dicts are tuples. None before the call.

    Raises:
        TypeError: `in_nzs` holds something other than bools.
        ValueError: it is not such a prefix.
    """

    def __init__(self, caller: str, fun: Callable[..., Any], in_nzs: Any, primals: tuple[Any, ...]):
        self.fun = fun
        self.out_nzs: Any = None
        self._have = None
        if in_nzs is not None:
            self._have = flags_of(f"{caller}: in_nzs", in_nzs, stage2.tree.tree_structure(primals))
        self.__name__, self.__wrapped__ = name_of(fun), fun  # messages show these

    def __call__(self, *args: Any) -> Any:
        if self._have is not None:
            leaves, tree = stage2.tree.tree_flatten(args)
            pairs = zip(leaves, self._have, strict=True)
            args = stage2.tree.tree_unflatten(tree, [x if has else _primal(x) for x, has in pairs])
        out = self.fun(*args)
        results, tree = stage2.tree.tree_flatten(out)
        self.out_nzs = _in_plain_tree(tree, list(map(_has_tangent, results)))
        return out


def flags_of(role: str, given: Any, tree: stage2.tree.PyTreeDef) -> list[bool]:
    """A bool for each leaf of a tree, from a prefix whose nodes have the same number of children.

    Raises:
        TypeError: `given` holds something other than bools.
        ValueError: a node of it has another number of children.
    """
    if type(given) is bool:
        return [given] * tree.num_leaves
    # one level only: classes of nodes may differ, numbers of children may not
    parts, structure = stage2.tree.tree_flatten(given, is_leaf=lambda x: x is not given)
    if trees.is_one_leaf(structure):
        raise TypeError(f"{role} must be True, False or a tree of them, found {shown(given)}")
    below = trees.children(tree)
    if len(parts) != len(below):
        raise ValueError(
            f"{role} must be a prefix of the primals: {shown(given)} has "
            f"{counted(len(parts), 'part')}, and what it is for, {tree}, has {len(below)}"
        )
    pairs = zip(parts, below, strict=True)
    return [flag for part, child in pairs for flag in flags_of(role, part, child)]


def _primal(x: Any) -> Any:
    return x.primal if isinstance(x, JVPTracer) and x.interpreter is current_trace() else x


def _has_tangent(x: Any) -> bool:
    is_own = isinstance(x, JVPTracer) and x.interpreter is current_trace()
    return is_own and type(x.tangent) is not Zero


def _in_plain_tree(tree: stage2.tree.PyTreeDef, flags: Sequence[bool]) -> Any:
    node = trees.node_data(tree)
    if node is None:
        return flags[0]
    parts, begin = [], 0
    for child in trees.children(tree):
        parts.append(_in_plain_tree(child, flags[begin : begin + child.num_leaves]))
        begin += child.num_leaves
    if node[0] is dict:
        return dict(zip(node[1], parts, strict=True))
    return parts if node[0] is list else None if node[0] is type(None) else tuple(parts)


# The function that `vjp` returns: a pytree of its residuals, some of them arguments.


class NotNeeded(NamedTuple):
    """Placeholder for an argument that the function does not need."""

    def __repr__(self) -> str:
        return "NotNeeded()"


class NotSaveable(NamedTuple):
    """Placeholder for a needed argument that the caller of `vjp` puts back."""

    def __repr__(self) -> str:
        return "NotSaveable()"


class GradValue(NamedTuple):
    """Marker for `with_refs`: return the cotangent of this argument."""

    def __repr__(self) -> str:
        return "GradValue()"


class GradRef(NamedTuple):
    """Placeholder for a cotangent that was added to a reference."""

    def __repr__(self) -> str:
        return "GradRef()"


class DontWant(NamedTuple):
    """Marker for `with_refs`: the cotangent of this argument is not needed."""

    def __repr__(self) -> str:
        return "DontWant()"


class DidntWant(NamedTuple):
    """Placeholder for a cotangent that was not requested."""

    def __repr__(self) -> str:
        return "DidntWant()"


class RefArguments(NamedTuple):
    """The references among the arguments of a differentiated function.

    Attributes:
        places: their positions.
        avals: the types of their contents.
    """

    places: references.Places
    avals: tuple[ShapedArray, ...]


class Residual(NamedTuple):
    """The place of a residual, among the leaves of the arguments or among the others."""

    is_argument: bool
    number: int


@dataclass(eq=False)
class VJP:
    """A function from cotangents of results to cotangents of arguments.

    Attributes:
        function: the same, of a list of residuals and the cotangents.
        residuals: where each residual is.
        args_res: for each argument, the residuals that are its leaves; `NotNeeded()` in place of
            other leaves, and `NotSaveable()` in place of leaves that may not be kept.
        opaque_residuals: the residuals that are not arguments.
        out_nzs: whether each result has a tangent, in a tree.
        in_tree: the structure of the tuple of arguments.
        linear_jaxpr: the linear program to transpose, with residuals as its constants.
        refs: the references among the arguments.

    >>> out, f_vjp = glassjax.vjp(lambda x, y: jnp.sin(x) * y, 0.0, 2.0)
    >>> f_vjp.args_res
    [NotNeeded(), Array(2., dtype=float32, weak_type=True)]
    """

    function: Callable[..., Any]
    residuals: tuple[Residual, ...]
    args_res: list[Any]
    opaque_residuals: list[Any]
    out_nzs: Any = None
    in_tree: stage2.tree.PyTreeDef | None = None
    linear_jaxpr: Jaxpr | None = None
    refs: RefArguments | None = None

    @property
    def jaxpr(self) -> Jaxpr:
        """The linear program to transpose, from residuals and tangents to tangents."""
        assert self.linear_jaxpr is not None
        return printed_jaxpr(consts_as_invars(self.linear_jaxpr))

    @hiding_frames
    def __call__(self, *cotangents: Any) -> Any:
        if self.refs is not None:
            raise ValueError(
                "vjp: an argument is a reference, whose cotangent is added to another one: bind it "
                "by f_vjp.with_refs(grad_ref, ...)(cotangent). glassjax.ad.GradValue() is for "
                "other arguments, DontWant() where the cotangent is not needed"
            )
        return self._pull_back(*cotangents)

    @hiding_frames
    def with_refs(self, *targets: Any) -> Partial:
        """The same function, which adds cotangents to references.

        Arguments:
            targets: for each leaf of the arguments, in the same structure, a reference to which its
                cotangent is added, `glassjax.ad.GradValue()` to have it as a result, or
                `glassjax.ad.DontWant()`. For an argument that is itself a reference, the target
                holds the cotangent of its final contents, replaced by the cotangent of its initial
                contents.

        Returns:
            A function of the cotangent of the result. Cotangents that it does not return are
            `GradRef()` or `DidntWant()`.

        Raises:
            ValueError: the structure differs, or a reference holds an array of another type.

        >>> from glassjax import ad
        >>> out, f_vjp = glassjax.vjp(lambda x, y: x * y, 2.0, 3.0)
        >>> total = glassjax.new_ref(jnp.float32(10))
        >>> f_vjp.with_refs(total, ad.GradValue())(1.0)
        (GradRef(), Array(2., dtype=float32, weak_type=True))
        >>> total[...]
        Array(13., dtype=float32)
        """
        found = stage2.tree.tree_structure(targets, is_leaf=_is_target)
        if self.in_tree is not None and found != self.in_tree:
            raise ValueError(
                "with_refs: expected a reference, GradValue() or DontWant() for each leaf of the "
                f"arguments, {self.in_tree}, found {found}"
            )
        return Partial(_pulled_into, self, targets)

    def _pull_back(self, *cotangents: Any) -> Any:
        given = tree_leaves(self.args_res, is_leaf=_is_no_residual)
        found = [
            given[number] if is_argument else self.opaque_residuals[number]
            for is_argument, number in self.residuals
        ]
        if any(isinstance(each, NotSaveable) for each in found):
            paths, _ = stage2.tree.tree_flatten_with_path(self.args_res, is_leaf=_is_no_residual)
            lacking = [stage2.tree.keystr(path) for path, x in paths if isinstance(x, NotSaveable)]
            raise ValueError(
                "vjp: arguments excluded by saveable_args are needed now: put them into "
                f"args_res of the function that vjp returned, at {', '.join(lacking)}"
            )
        return self.function(found, *cotangents)

    @hiding_frames
    def with_logs(self, *cotangents: Any) -> tuple[Any, dict[Any, Any]]:
        """The result of a call, and a dict of the arrays that its backward rules logged, by name.

        Rules in jitted functions may log, and rules in the steps of a `scan`, whose logs are
        stacked. See `custom_vjp.defvjp_with_logs`.

        Raises:
            NotImplementedError: a rule logs in a branch of `cond`, or in another inner program.
            ValueError: a name is logged twice.

        >>> @glassjax.custom_gradient(with_logs=True)
        ... def square(x):
        ...     return x * x, lambda ct: ((2 * x * ct,), {"cotangent": ct})
        >>> glassjax.vjp(lambda x: 5.0 * square(x), 3.0)[1].with_logs(1.0)[1]
        {'cotangent': Array(5., dtype=float32, weak_type=True)}
        """
        return with_logs(self, *cotangents)

    def replace(self, **changes: Any) -> VJP:
        """The same function with other attributes."""
        return replace(self, **changes)


def _is_no_residual(x: Any) -> bool:
    return isinstance(x, NotNeeded | NotSaveable)


def _is_target(x: Any) -> bool:
    return isinstance(x, GradValue | DontWant)


@evaluated_by_library
def _pulled_into(vjp: VJP, targets: Any, cotangent: Any) -> Any:
    """The cotangents of the arguments, some added to references."""
    leaves, tree = stage2.tree.tree_flatten(targets, is_leaf=_is_target)
    wanted = [not isinstance(x, DontWant) for x in leaves]
    if vjp.refs is None:
        are_refs: Sequence[bool] = [False] * len(leaves)
        cts = _wanted_cotangents(wanted, lambda ct: tree_leaves(vjp(ct)), cotangent)
    else:
        places, avals = vjp.refs
        are_refs = places.are_refs
        ref_targets = [x for x, is_ref in zip(leaves, are_refs, strict=True) if is_ref]
        after = [_cotangent_after(*each) for each in zip(ref_targets, avals, strict=True)]

        def all_cotangents(both: Any) -> list[Any]:
            before, *rest = vjp._pull_back(both)
            return tree_leaves(places.join(before, tree_leaves(rest)))

        cts = _wanted_cotangents(wanted, all_cotangents, (after, cotangent))
    return stage2.tree.tree_unflatten(tree, list(map(_put_cotangent, leaves, cts, are_refs)))


def _wanted_cotangents(
    wanted: Sequence[bool], all_cotangents: Callable[[Any], list[Any]], cotangent: Any
) -> list[Any]:
    """The cotangents of the arguments; None, and nothing computed for it, where not wanted."""
    if all(wanted):
        return all_cotangents(cotangent)
    given, tree = stage2.tree.tree_flatten(cotangent)

    def some_cotangents(*given: Any) -> list[Any]:
        return partition(wanted, all_cotangents(stage2.tree.tree_unflatten(tree, given)))[1]

    program, consts = stage_to_jaxpr(some_cotangents, list(map(stage2.typeof, given)), "with_refs")
    smaller, used = dce_jaxpr(program)
    operands = partition(used, [*consts, *given])[1]
    cts = eval_jaxpr(smaller, [], *operands)
    return merge(wanted, [None] * wanted.count(False), list(map(to_array, cts)))


def _cotangent_after(target: Any, aval: ShapedArray) -> Any:
    """The cotangent of a reference's contents after the call."""
    if isinstance(target, DontWant):
        return instantiate(Zero(tangent_type(aval)))
    if not isinstance(target, references.Ref):
        raise ValueError(
            "with_refs: the cotangent of a reference argument needs a target: give a reference, "
            f"or glassjax.ad.DontWant(); found {shown(target)}"
        )
    return target.read()


def _put_cotangent(target: Any, ct: Any, is_of_ref: bool) -> Any:
    if isinstance(target, DontWant):
        return DidntWant()
    if isinstance(target, GradValue) or not isinstance(target, references.Ref):
        return ct
    aval = stage2.typeof(ct)
    if target.shape != aval.shape or target.dtype != aval.dtype:
        raise ValueError(f"with_refs: {target} cannot hold a cotangent of type {aval}")
    target.write(ct if is_of_ref else stage2.add(target.read(), ct))
    return GradRef()


class _Known:
    """The parts of a VJP that are not arrays; equal if the function is the same."""

    def __init__(self, vjp: VJP):
        self.vjp = vjp.replace(args_res=[], opaque_residuals=[])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Known) and self.vjp.function is other.vjp.function

    def __hash__(self) -> int:
        return hash(self.vjp.function)


register_pytree_node(
    VJP,
    lambda vjp: ((vjp.args_res, vjp.opaque_residuals), _Known(vjp)),
    lambda known, children: known.vjp.replace(args_res=children[0], opaque_residuals=children[1]),
)


def vjp_function(
    function: Callable[..., Any],
    residuals: Sequence[Any],
    primals: Sequence[Any],
    saveable_args: Any,
    out_nzs: Any,
    linear_jaxpr: Jaxpr,
) -> VJP:
    """The VJP of a function of residuals; identifies the residuals that are leaves of `primals`.

    Raises:
        TypeError: `saveable_args` holds something other than bools.
        ValueError: it is not a prefix of the primals.
    """
    leaves, tree = stage2.tree.tree_flatten([*primals])
    # Partial evaluation hands residuals on as the objects that they are.
    places = {id(leaf): number for number, leaf in enumerate(leaves)}
    opaque: list[Any] = []
    found: list[Residual] = []
    for each in residuals:
        number = places.get(id(each))
        found.append(Residual(number is not None, len(opaque) if number is None else number))
        if number is None:
            opaque.append(each)
    needed = {number for is_argument, number in found if is_argument}
    flags = flags_of(
        "vjp: saveable_args", saveable_args, stage2.tree.tree_structure(tuple(primals))
    )
    kept = [
        NotNeeded() if number not in needed else leaf if flag else NotSaveable()
        for number, (leaf, flag) in enumerate(zip(leaves, flags, strict=True))
    ]
    args_res = stage2.tree.tree_unflatten(tree, kept)
    in_tree = stage2.tree.tree_structure(tuple(primals))
    return VJP(function, tuple(found), args_res, opaque, out_nzs, in_tree, linear_jaxpr)


# The transformations of stages 2 and 4, made to take and return Arrays.
#
# A stage evaluates numpy arrays with numpy. Here arguments to differentiate or map are moved to
# the device first, and results are Arrays, as in JAX.


def value_and_grad(
    fun: Callable[P, R],
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Hashable] = (),
) -> Callable[P, tuple[R, Any]]:
    """Like `grad`, but returns the value of `fun` with the gradient.

    Arguments:
        fun, argnums, has_aux, holomorphic, allow_int, reduce_axes: as in `grad`.

    Returns:
        A function of the same arguments. It returns the pair of the value and the gradient. With
        `has_aux`, the value is the pair that `fun` returns.

    Raises:
        NonScalarGradientError, IntegerGradientError, ComplexGradientError: as in `grad`.

    >>> def loss(w, x):
    ...     prediction = w * x
    ...     return prediction**2, {"prediction": prediction}
    >>> x = jnp.float32(3)
    >>> (value, aux), gradient = glassjax.value_and_grad(loss, has_aux=True)(2.0, x)
    >>> value, aux
    (Array(36., dtype=float32), {'prediction': Array(6., dtype=float32)})
    """
    _require_no_axes("value_and_grad", reduce_axes)
    require_flags("value_and_grad", has_aux=has_aux, holomorphic=holomorphic, allow_int=allow_int)
    value_and_grad_flat = _with_gradient(fun, argnums, has_aux, holomorphic, allow_int)

    @evaluated_by_library
    @wraps(fun, f"The value of `{name_of(fun)}` and its gradient{argnums_phrase(argnums)}.")
    def value_and_gradient(*args: Any, **kwargs: Any) -> Any:
        value, gradient, *aux = value_and_grad_flat(args, kwargs)
        return ((value, *aux) if has_aux else value), gradient

    return value_and_gradient


@overload
def grad(
    fun: Callable[P, tuple[Any, Aux]],
    argnums: Argnums = ...,
    *,
    has_aux: Literal[True],
    holomorphic: bool = ...,
    allow_int: bool = ...,
    reduce_axes: Sequence[Hashable] = ...,
) -> Callable[P, tuple[Any, Aux]]: ...
@overload
def grad(
    fun: Callable[P, Any],
    argnums: Argnums = ...,
    has_aux: bool = ...,
    holomorphic: bool = ...,
    allow_int: bool = ...,
    reduce_axes: Sequence[Hashable] = ...,
) -> Callable[P, Any]: ...
def grad(
    fun: Callable[P, Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Hashable] = (),
) -> Callable[P, Any]:
    """The gradient of a function whose result is a real scalar.

    The gradient with respect to a complex argument x + iy of a real function f is, as in JAX,
    df/dx - i df/dy, the conjugate of the direction in which f grows.

    Arguments:
        fun: function of arrays and pytrees of arrays.
        argnums: the positional arguments to differentiate with respect to.
        has_aux: whether `fun` returns a pair; only its first part is differentiated.
        holomorphic: whether `fun` is a holomorphic function of complex arguments, whose complex
            derivative is returned.
        allow_int: whether arguments may be integers, whose gradients are zeros of dtype float0.
        reduce_axes: must be empty.

    Returns:
        A function of the same arguments. It returns the gradient, with the structure, shapes
        and dtypes of the argument; a tuple of gradients if `argnums` is a sequence. With `has_aux`,
        a pair of that and the second part of the result of `fun`.

    Raises:
        NonScalarGradientError: the result of `fun` is not a scalar.
        IntegerGradientError: the result, or a leaf of an argument to differentiate, is an integer,
            unless an option allows it.
        ComplexGradientError: the result is complex without `holomorphic`, or not everything is
            complex with it.

    >>> def loss(params, x, y):
    ...     return jnp.mean((params["w"] * x + params["b"] - y) ** 2)
    >>> params = {"w": 2.0, "b": 0.0}
    >>> x, y = jnp.array([1.0, 2.0]), jnp.array([3.0, 5.0])
    >>> glassjax.grad(loss)(params, x, y)
    {'b': Array(-2., dtype=float32, weak_type=True), 'w': Array(-3., dtype=float32, weak_type=True)}
    """
    _require_no_axes("grad", reduce_axes)
    require_flags("grad", has_aux=has_aux, holomorphic=holomorphic, allow_int=allow_int)
    value_and_grad_flat = _with_gradient(fun, argnums, has_aux, holomorphic, allow_int)

    @evaluated_by_library
    @wraps(fun, f"The gradient of `{name_of(fun)}`{argnums_phrase(argnums)}.")
    def gradient_fun(*args: Any, **kwargs: Any) -> Any:
        _, gradient_fun, *aux = value_and_grad_flat(args, kwargs)
        return (gradient_fun, *aux) if has_aux else gradient_fun

    return gradient_fun


def argnums_phrase(argnums: Argnums) -> str:
    """The arguments to differentiate, if they are not the first one alone."""
    is_first = isinstance(argnums, int) and argnums == 0
    return "" if is_first else f" with respect to arguments {argnums}"


def _with_gradient(
    fun: Function, argnums: Argnums, has_aux: bool, holomorphic: bool, allow_int: bool
) -> Callable[[Any, Any], Any]:
    """The function from the arguments of `fun` to its value, gradient and auxiliary results."""
    stage2.arguments.require_function("grad", fun)
    argnums = int_or_ints("grad", argnums)

    def value_and_gradient(args: Any, kwargs: Any) -> Any:
        inputs, restricted = stage2.arguments.split_arguments("grad", fun, argnums, args, kwargs)
        leaves, tree = stage2.tree.tree_flatten((inputs,))
        primals = list(map(to_array, leaves))
        # Checks name the path of each leaf, which takes time; real floats, the usual case, pass
        # them.
        if holomorphic or not all(map(_is_real, primals)):
            (inputs,) = tree.unflatten(primals)
            require_differentiable("grad", fun, argnums, inputs, holomorphic, allow_int)
        with_aux = WithAux(restricted) if has_aux else None
        flat_fun = stage2.arguments.FlatFunction(with_aux or restricted, tree)
        outs, linear, residuals = linearize_flat(_prepared(flat_fun), primals, fun)
        out = stage2.tree.tree_unflatten(flat_fun.out_tree, outs)
        ones = [one_like("grad", fun, out, holomorphic)]
        cts = map(_cotangent, linear.in_avals, pull_back(linear, residuals, ones))
        (gradient,) = tree.unflatten(cts)
        both = tree_to_arrays(out), gradient
        return (*both, with_aux.aux()) if with_aux else both

    return value_and_gradient


def _is_real(x: Any) -> bool:
    return isinstance(getattr(x, "aval", None), ShapedArray) and x.aval.dtype.kind == "f"


def _cotangent(aval: ShapedArray, ct: Any) -> Any:
    """The cotangent of a value of a type, weak if that is: rules may have promoted it."""
    ct = instantiate(ct)
    return to_array(as_weak_as(aval, ct) if is_inexact(aval.dtype) else ct)


def weak_vjp(fun: Function, *primals: Any) -> tuple[Any, functools.partial[Any]]:
    """As stage 4's, with weak cotangents of weak arguments: rules may have promoted them."""
    out, f_vjp = stage4.vjp(_prepared(fun), *primals)
    linear = f_vjp.func.linear  # type: ignore[attr-defined]
    if True not in [aval.weak_type for aval in linear.in_avals]:
        return out, f_vjp

    def with_weak(residuals: Sequence[Any], ct: Any) -> Any:
        cts, tree = stage2.tree.tree_flatten(f_vjp.func(residuals, ct))
        return stage2.tree.tree_unflatten(tree, map(_cotangent, linear.in_avals, cts))

    with_weak.linear = linear  # type: ignore[attr-defined]
    return out, functools.partial(with_weak, *f_vjp.args)


def _require_no_axes(caller: str, reduce_axes: Sequence[Hashable]) -> None:
    if not isinstance(reduce_axes, Sequence) or reduce_axes:
        raise NotImplementedError(
            f"{caller}: reduce_axes must be empty, found {reduce_axes!r}: what examples share gets "
            "the sum of their cotangents anyway"
        )


def int_or_ints(caller: str, argnums: Any) -> Argnums:
    """`argnums` as an int, or as a tuple of ints where it is a sequence or an array."""
    chosen = ints(f"{caller}: argnums", argnums)
    is_one = not getattr(argnums, "ndim", isinstance(argnums, Iterable))
    return chosen[0] if is_one else chosen


def chosen_to_arrays(argnums: Argnums, args: tuple[Any, ...]) -> list[Any]:
    """The arguments, with those to differentiate moved to the device."""
    chosen = argnums if isinstance(argnums, tuple) else (argnums,)
    count = len(args)
    return [
        tree_to_arrays(arg) if i in chosen or i - count in chosen else arg
        for i, arg in enumerate(args)
    ]


@overload
def vjp(
    fun: Callable[..., R],
    *primals: Any,
    has_aux: Literal[False] = False,
    reduce_axes: Sequence[Hashable] = (),
    saveable_args: Any = True,
    in_nzs: Any = None,
) -> tuple[R, VJP]: ...
@overload
def vjp(
    fun: Callable[..., tuple[R, Aux]],
    *primals: Any,
    has_aux: Literal[True],
    reduce_axes: Sequence[Hashable] = (),
    saveable_args: Any = True,
    in_nzs: Any = None,
) -> tuple[R, VJP, Aux]: ...
@evaluated_by_library
def vjp(
    fun: Function,
    *primals: Any,
    has_aux: bool = False,
    reduce_axes: Sequence[Hashable] = (),
    saveable_args: Any = True,
    in_nzs: Any = None,
) -> Any:
    """Evaluate `fun` and return the function that pulls cotangents back through it.

    An argument may be a reference, which `fun` reads and writes. `with_refs` of the returned
    function gives its cotangent a target, and may do so for other arguments.

    The returned linear function is a pytree of its residuals, so it can be a result, or an
    argument, of other transformed functions. Its attribute `args_res` holds the residuals that are
    arguments, `opaque_residuals` the others; `out_nzs` flags the results with nonzero derivatives.

    Arguments:
        fun: function of arrays and pytrees of arrays.
        primals: the arguments at which to evaluate.
        has_aux: whether `fun` returns a pair; only its first part is differentiated.
        reduce_axes: must be empty.
        saveable_args: whether arguments may be kept as residuals: True or False for each, or a
            pytree prefix of them. The caller puts the others back into `args_res` of the returned
            function before calling it.
        in_nzs: whether to differentiate with respect to each argument, in the same form; None: all.
            The cotangents of the others are zero.

    Returns:
        The result of `fun`, and a function from a cotangent of the result to the tuple of
        cotangents of the arguments; for integers they have dtype float0. With `has_aux`, the second
        part of the result of `fun` comes third.

    Raises:
        TypeError: a cotangent does not have the structure, shapes and dtypes of the result;
            `saveable_args` or `in_nzs` holds something other than bools.
        ValueError: one of these is not a prefix of the arguments.

    >>> def to_polar(x, y):
    ...     return jnp.hypot(x, y), jnp.arctan2(y, x)
    >>> out, pull_back = glassjax.vjp(to_polar, 0.0, 2.0)
    >>> pull_back((1.0, 0.0))
    (Array(0., dtype=float32, weak_type=True), Array(1., dtype=float32, weak_type=True))
    >>> pull_back((0.0, 1.0))
    (Array(-0.5, dtype=float32, weak_type=True), Array(0., dtype=float32, weak_type=True))
    """
    _require_no_axes("vjp", reduce_axes)
    if Switch.used and any(isinstance(leaf, references.Ref) for leaf in tree_leaves(primals)):
        return _vjp_of_refs(fun, primals, has_aux)
    with_aux = split_aux("vjp", fun, has_aux)
    primals = tree_to_arrays(primals)
    noted = NonzeroTangents("vjp", with_aux or fun, in_nzs, primals)
    out, f_vjp = weak_vjp(noted, *primals)
    on_arrays, residuals = _on_arrays(f_vjp, _without_integers(out))
    jaxpr = expanded(f_vjp.func.linear.jaxpr)  # type: ignore[attr-defined]
    pulled = vjp_function(on_arrays, residuals, primals, saveable_args, noted.out_nzs, jaxpr)
    pair = tree_to_arrays(out), pulled
    return (*pair, with_aux.aux()) if with_aux else pair


def _vjp_of_refs(fun: Function, primals: tuple[Any, ...], has_aux: bool) -> Any:
    """`vjp` of a function with reference arguments, as a function of their initial contents."""
    refs, rest, places = references.split_refs("vjp", primals)

    @wraps(fun)
    def values_fun(values: Sequence[Any], *rest: Any) -> Any:
        aux = []

        def rest_fun(*rest: Any) -> Any:
            out = fun(*places.join(refs, rest))
            if not has_aux:
                return out
            aux.append(out[1])
            return out[0]

        pair = references.passing(refs, rest_fun)(values, *rest)
        return (pair, *aux) if has_aux else pair

    (after, out), pulled, *aux = vjp(  # type: ignore[call-overload]
        values_fun, references.values_of(refs), *rest, has_aux=has_aux
    )
    references.write_all(refs, after)
    ref_arguments = RefArguments(places, tuple(map(stage2.typeof, after)))
    return out, pulled.replace(in_tree=places.structure, refs=ref_arguments), *aux


def fwd_and_bwd(
    fun: Function, argnums: Argnums, has_aux: bool = False, jitted: bool = True
) -> tuple[Function, Function]:
    """Make the functions of the forward and the backward pass of `fun`.

    They are the two parts of `vjp`, and the backward pass is compiled once for all calls.

    Arguments:
        fun: function of arrays and pytrees of arrays.
        argnums: the position or positions of the arguments to differentiate with respect to.
        has_aux: whether `fun` returns a pair; only its first part is differentiated.
        jitted: whether to compile both.

    Returns:
        A function of the arguments that returns the result of `fun` and the residuals, and the
        second part of the result third if `has_aux`; and a function of the residuals and a
        cotangent of the result that returns the cotangent of the argument, or a tuple of cotangents
        if `argnums` is a sequence.

    Raises:
        TypeError: `argnums` is not an int or sequence of ints.
        ValueError: there is no such argument.

    >>> fwd, bwd = glassjax.fwd_and_bwd(jnp.dot, argnums=(0, 1))
    >>> y, residuals = fwd(jnp.array([1.0, 2.0]), jnp.array([3.0, 4.0]))
    >>> bwd(residuals, 1.0)
    (Array([3., 4.], dtype=float32), Array([1., 2.], dtype=float32))
    """
    stage2.arguments.require_function("fwd_and_bwd", fun)
    argnums = int_or_ints("fwd_and_bwd", argnums)
    require_flags("fwd_and_bwd", has_aux=has_aux, jitted=jitted)

    @wraps(fun)
    def fwd(*args: Any, **kwargs: Any) -> Any:
        inputs, restricted = stage2.arguments.split_arguments(
            "fwd_and_bwd", fun, argnums, args, kwargs
        )
        return vjp(restricted, inputs, has_aux=has_aux)  # type: ignore[call-overload]

    def bwd(residuals: VJP, cotangent: Any) -> Any:
        return residuals(cotangent)[0]

    return (jit(fwd), jit(bwd)) if jitted else (fwd, bwd)


@overload
def jvp(
    fun: Callable[..., R], primals: Any, tangents: Any, has_aux: Literal[False] = False
) -> tuple[R, R]: ...
@overload
def jvp(
    fun: Callable[..., tuple[R, Aux]], primals: Any, tangents: Any, has_aux: Literal[True]
) -> tuple[R, R, Aux]: ...
@evaluated_by_library
def jvp(fun: Function, primals: Any, tangents: Any, has_aux: bool = False) -> Any:
    """Evaluate `fun` and its derivative along a direction, in one forward pass.

    Arguments:
        fun: function of arrays and pytrees of arrays.
        primals: a tuple or list with the arguments at which to evaluate.
        tangents: the direction, in a tuple or list of the same structure, shapes and dtypes.
            Integer and boolean arguments have tangents of dtype float0.
        has_aux: as in `jacfwd`.

    Returns:
        The result of `fun` and its tangent, two pytrees of one structure.

    Raises:
        TypeError: structure, shape or dtype of `tangents` does not match `primals`.

    >>> f = lambda x, y: x * jnp.exp(y)
    >>> glassjax.jvp(f, (3.0, 0.0), (1.0, 10.0))
    (Array(3., dtype=float32, weak_type=True), Array(31., dtype=float32, weak_type=True))
    """
    with_aux = split_aux("jvp", fun, has_aux)
    primals, tangents = tree_to_arrays(primals), tree_to_arrays(tangents)
    pair = stage2.jvp(with_aux or fun, primals, sharded_as(tangents, primals))
    out, tangent = tree_to_arrays(pair)
    tangent = stage2.tree_map(_as_weak_as_primal, tangent, out)
    return (out, tangent, with_aux.aux()) if with_aux else (out, tangent)


def _as_weak_as_primal(tangent: Any, primal: Any) -> Any:
    """A tangent as weak as its primal; the formula of a rule may have made it weak or strong."""
    aval, found = stage2.typeof(primal), stage2.typeof(tangent)
    if found.weak_type == aval.weak_type or found.dtype != aval.dtype:
        return tangent
    return as_weak_as(aval, tangent) if aval.weak_type else stage2.astype(tangent, aval.dtype)


@overload
def linearize(
    fun: Callable[..., R], *primals: Any, has_aux: Literal[False] = False, in_nzs: Any = None
) -> tuple[R, Callable[..., Any]]: ...
@overload
def linearize(
    fun: Callable[..., tuple[R, Aux]], *primals: Any, has_aux: Literal[True], in_nzs: Any = None
) -> tuple[R, Callable[..., Any], Aux]: ...
@evaluated_by_library
def linearize(fun: Function, *primals: Any, has_aux: bool = False, in_nzs: Any = None) -> Any:
    """Evaluate `fun` once and return its derivative at that point as a linear function.

    Arguments:
        fun: function of arrays and pytrees of arrays.
        primals: the arguments at which to evaluate.
        has_aux: whether `fun` returns a pair; only its first part is differentiated.
        in_nzs: whether each argument has a tangent: True or False, or a pytree prefix of the
            argument; None: all have. Tangents of the others are taken to be zero.

    Returns:
        The result of `fun`, and a function from tangents of the arguments to the tangent of
        the result, which does not evaluate `fun` again. Its attribute `out_nzs` flags the results
        with nonzero tangents.

    Raises:
        TypeError: a leaf of `in_nzs` is not a bool.
        ValueError: it is not a prefix of the arguments.

    With `has_aux`, the second part of the pair that `fun` returns comes last.

    The returned linear function is a pytree of its residuals, so it can be a result, or an
    argument, of other transformed functions.

    >>> out, push_forward = glassjax.linearize(lambda x: x**3, jnp.float32(2))
    >>> out, push_forward(jnp.float32(1)), push_forward(jnp.float32(0.5))
    (Array(8., dtype=float32), Array(12., dtype=float32), Array(6., dtype=float32))
    """
    with_aux = split_aux("linearize", fun, has_aux)
    primals = tree_to_arrays(primals)
    noted = NonzeroTangents("linearize", with_aux or fun, in_nzs, primals)
    out, f_jvp = stage4.linearize(noted, *primals)
    pushed = Partial(*_on_arrays(f_jvp))
    pushed.out_nzs = noted.out_nzs  # type: ignore[attr-defined]
    pair = tree_to_arrays(out), pushed
    return (*pair, with_aux.aux()) if with_aux else pair


@evaluated_by_library
def linear_transpose(
    fun: Function, *primals: Any, reduce_axes: Sequence[Hashable] = ()
) -> Function:
    """Transpose a function that is known to be linear.

    The returned linear function is a pytree of its residuals, so it can be a result, or an
    argument, of other transformed functions.

    Arguments:
        fun: linear function of arrays and pytrees of arrays.
        primals: arguments; only their types matter; anything with a shape and a dtype may
            replace one. Either all of them and all results are integers, or none is.
        reduce_axes: must be empty.

    Returns:
        A function from a cotangent of the result to the tuple of cotangents of the arguments, which
        are integers if these are.

    Raises:
        NonlinearError: when the result is called, `fun` turns out not to be linear.
        TypeError: a cotangent does not match the result, or some but not all are integers.

    >>> moving_sums = lambda x: x[:-1] + x[1:]
    >>> transposed = glassjax.linear_transpose(moving_sums, jnp.zeros(4))
    >>> transposed(jnp.array([1.0, 10.0, 100.0]))
    (Array([  1.,  11., 110., 100.], dtype=float32),)
    """
    _require_no_axes("linear_transpose", reduce_axes)
    stage2.arguments.require_function("linear_transpose", fun)
    leaves, in_tree = stage2.tree.tree_flatten(primals)
    in_avals = abstractify(
        f"linear_transpose of `{name_of(fun)}`",
        lambda: stage2.arguments.argument_names(fun, primals, {}),
        leaves,
        type_of=type_of,
    )
    flat_fun = stage2.arguments.FlatFunction(fun, in_tree)
    # All arguments are unknown, so all that depends on them is staged; the rest are residuals.
    unknown = list(map(stage4.PartialVal.unknown, in_avals))
    jaxpr, outs, residuals = stage4.partial_eval(flat_fun, unknown, fun)
    kinds = {is_inexact(aval.dtype) for aval in (*in_avals, *(out.aval for out in outs))}
    if len(kinds) == 2:
        raise TypeError(
            f"linear_transpose: arguments and results of `{name_of(fun)}` must all be integers, or "
            f"all real or complex; found arguments {in_avals}, results {[x.aval for x in outs]}"
        )

    def transposed_fun(residuals: Sequence[Any], ct: Any) -> Any:
        caller = f"transpose of `{name_of(fun)}`"
        cts = _flat_cotangents(caller, flat_fun.out_tree, [out.aval for out in outs], ct)
        given = [ct for ct, out in zip(cts, outs, strict=True) if not out.is_known]
        in_cts = transpose_linear(jaxpr, residuals, given)
        zeros = map(stage2.Zero, in_avals)
        pairs = zip(in_cts, zeros, strict=True)
        return stage2.tree.tree_unflatten(
            in_tree,
            [instantiate(zero if type(ct) is stage2.Zero else ct) for ct, zero in pairs],
        )

    return Partial(*_on_arrays(functools.partial(transposed_fun, residuals)))


def _flat_cotangents(caller: str, out_tree: Any, out_avals: Sequence[Any], ct: Any) -> list[Any]:
    """The leaves of a cotangent, integers for integer primals, which stage 4 does not have."""
    leaves, tree = stage2.tree.tree_flatten(ct)
    avals = list(map(stage2.typeof, leaves))
    if tree != out_tree or not avals or any(is_inexact(aval.dtype) for aval in out_avals):
        return check_tangents(f"{caller}: cotangent", out_tree, out_avals, ct)
    for found, expected in zip(avals, out_avals, strict=True):
        if (found.shape, found.dtype) != (expected.shape, expected.dtype):
            raise TangentTypeError(
                f"{caller}: the cotangent must have the types of the result, {out_avals}; found "
                f"{avals}"
            )
    return leaves


def _on_arrays(
    linear: functools.partial[Any], prepared: Callable[..., Any] = lambda *args: args
) -> tuple[Function, Any]:
    """A linear function as one of residuals and arguments, and the residuals."""
    function, (residuals,) = linear.func, linear.args

    @evaluated_by_library
    @wraps(function)
    def on_arrays(residuals: Sequence[Any], *args: Any) -> Any:
        return tree_to_arrays(function(residuals, *tree_to_arrays(prepared(*args))))

    return on_arrays, tree_to_arrays(residuals)


def _without_integers(out: Any) -> Callable[..., Any]:
    """A function of cotangents of `out` that replaces cotangents of integers by zeros."""
    leaves, tree = stage2.tree.tree_flatten(out)
    avals = list(map(stage2.typeof, leaves))

    def prepared(*args: Any) -> Any:
        cts, found = stage2.tree.tree_flatten(args[0] if len(args) == 1 else args)
        if len(args) != 1 or found != tree:
            return args  # the call raises the error
        return (
            stage2.tree.tree_unflatten(
                tree,
                [
                    ct if is_inexact(aval.dtype) else np.zeros(aval.shape, float0)
                    for ct, aval in zip(cts, avals, strict=True)
                ],
            ),
        )

    return prepared


@evaluated_by_library
def typeof(x: Any) -> Any:
    """The type of an array, a number or a reference.

    Raises:
        TypeError: `x` is none of these.

    >>> glassjax.typeof(jnp.ones((2, 3)))
    ShapedArray(float32[2,3])
    """
    return x.aval if isinstance(x, references.Ref) else printed_type(stage2.typeof(x))
