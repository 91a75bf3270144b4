"""The function that `vjp` returns: a pytree of its residuals, of which some are the arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from minijax.errors.tracebacks import hiding_frames
from minijax.pytrees.tree_util import Partial, register_pytree_node
from minijax.runtime.evaluation import evaluated_by_library
from minijax.runtime.printed_jaxpr import as_printed
from minijax.runtime.refs import Places, Ref
from minijax.transforms.custom_derivatives.logs import with_logs
from minijax.transforms.nonzero_tangents import flags_of
from minijax_stage2 import ShapedArray, Zero, add, typeof
from minijax_stage2.errors import shown
from minijax_stage2.tangent import instantiate, tangent_type
from minijax_stage2.tree import (
    PyTreeDef,
    keystr,
    tree_flatten,
    tree_flatten_with_path,
    tree_leaves,
    tree_structure,
    tree_unflatten,
)
from minijax_stage3 import ClosedJaxpr, Jaxpr
from minijax_stage3.jaxpr import consts_as_invars


class NotNeeded(NamedTuple):
    """In the place of an argument that the function does not need."""

    def __repr__(self) -> str:
        return "NotNeeded()"


class NotSaveable(NamedTuple):
    """In the place of an argument that it needs, and that the caller of `vjp` puts back."""

    def __repr__(self) -> str:
        return "NotSaveable()"


class GradValue(NamedTuple):
    """Asks `with_refs` for the cotangent of an argument as a value."""

    def __repr__(self) -> str:
        return "GradValue()"


class GradRef(NamedTuple):
    """In the place of a cotangent that was added to a reference."""

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
    """The references among the arguments of a function that is differentiated.

    Attributes:
        places: where they are.
        avals: the types of what they hold.
    """

    places: Places
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
        args_res: for each argument, the residuals that are leaves of it; `NotNeeded()` in the
            place of other leaves, and `NotSaveable()` of those that were not to be kept.
        opaque_residuals: the residuals that are no arguments.
        out_nzs: for each result whether it has a tangent, in a tree.
        in_tree: the structure of the tuple of arguments.
        linear_jaxpr: the derivative that is transposed, with residuals as its constants.
        refs: the references among the arguments.

    >>> out, f_vjp = minijax.vjp(lambda x, y: jnp.sin(x) * y, 0.0, 2.0)
    >>> f_vjp.args_res
    [NotNeeded(), Array(2., dtype=float32, weak_type=True)]
    """

    function: Callable[..., Any]
    residuals: tuple[Residual, ...]
    args_res: list[Any]
    opaque_residuals: list[Any]
    out_nzs: Any = None
    in_tree: PyTreeDef | None = None
    linear_jaxpr: Jaxpr | None = None
    refs: RefArguments | None = None

    @property
    def jaxpr(self) -> Jaxpr:
        """The derivative that is transposed, from residuals and tangents to tangents."""
        assert self.linear_jaxpr is not None
        return as_printed(ClosedJaxpr(consts_as_invars(self.linear_jaxpr), [])).jaxpr

    @hiding_frames
    def __call__(self, *cotangents: Any) -> Any:
        if self.refs is not None:
            raise ValueError(
                "vjp: an argument is a reference, whose cotangent is added to another one: bind it "
                "by f_vjp.with_refs(grad_ref, ...)(cotangent). minijax.ad.GradValue() is for other "
                "arguments, DontWant() where the cotangent is not needed"
            )
        return self._pull_back(*cotangents)

    @hiding_frames
    def with_refs(self, *targets: Any) -> Partial:
        """The same function, which adds cotangents to references.

        Arguments:
            targets: for each leaf of the arguments, in the same structure, a reference to which its
                cotangent is added, `minijax.ad.GradValue()` to have it as a result, or
                `minijax.ad.DontWant()`. For an argument that is a reference itself, the reference
                holds the cotangent of what it held after the call, and then of what it held before.

        Returns:
            A function of the cotangent of the result. In the place of what it does not return, it
            has `GradRef()` or `DidntWant()`.

        Raises:
            ValueError: the structure is another one; or a reference holds an array of another type.

        >>> from minijax import ad
        >>> out, f_vjp = minijax.vjp(lambda x, y: x * y, 2.0, 3.0)
        >>> total = minijax.new_ref(jnp.float32(10))
        >>> f_vjp.with_refs(total, ad.GradValue())(1.0)
        (GradRef(), Array(2., dtype=float32, weak_type=True))
        >>> total[...]
        Array(13., dtype=float32)
        """
        found = tree_structure(targets, is_leaf=_is_target)
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
            paths, _ = tree_flatten_with_path(self.args_res, is_leaf=_is_no_residual)
            lacking = [keystr(path) for path, x in paths if isinstance(x, NotSaveable)]
            raise ValueError(
                "vjp: arguments that saveable_args let nobody keep are needed now: put them into "
                f"args_res of the function that vjp returned, at {', '.join(lacking)}"
            )
        return self.function(found, *cotangents)

    @hiding_frames
    def with_logs(self, *cotangents: Any) -> tuple[Any, dict[Any, Any]]:
        """The result of a call, and what backward rules logged in it, a dict by name.

        Logs of rules in jitted functions and in the steps of a `scan`, where they are stacked, are
        among them. See `custom_vjp.defvjp_with_logs`.

        Raises:
            NotImplementedError: a rule in a branch of `cond`, or in another program inside, logs.
            ValueError: a name is logged twice.

        >>> @minijax.custom_gradient(with_logs=True)
        ... def square(x):
        ...     return x * x, lambda ct: ((2 * x * ct,), {"cotangent": ct})
        >>> minijax.vjp(lambda x: 5.0 * square(x), 3.0)[1].with_logs(1.0)[1]
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
    """The cotangents of arguments, of which some are added to references."""
    leaves, tree = tree_flatten(targets, is_leaf=_is_target)
    if vjp.refs is None:
        cts = tree_leaves(vjp(cotangent))
    else:
        places, avals = vjp.refs
        of_refs = [x for x, is_ref in zip(leaves, places.are_refs, strict=True) if is_ref]
        after = [_after(*each) for each in zip(of_refs, avals, strict=True)]
        before, *rest = vjp._pull_back((after, cotangent))
        cts = tree_leaves(places.join(before, tree_leaves(rest)))
    are_refs = [False] * len(leaves) if vjp.refs is None else vjp.refs.places.are_refs
    return tree_unflatten(tree, list(map(_put, leaves, cts, are_refs)))


def _after(target: Any, aval: ShapedArray) -> Any:
    """The cotangent of what a reference holds after the call."""
    if isinstance(target, DontWant):
        return instantiate(Zero(tangent_type(aval)))
    if not isinstance(target, Ref):
        raise ValueError(
            "with_refs: the cotangent of an argument that is a reference is no value: give a "
            f"reference that gets it, or minijax.ad.DontWant(); found {shown(target)}"
        )
    return target.read()


def _put(target: Any, ct: Any, is_of_ref: bool) -> Any:
    if isinstance(target, DontWant):
        return DidntWant()
    if isinstance(target, GradValue) or not isinstance(target, Ref):
        return ct
    aval = typeof(ct)
    if target.shape != aval.shape or target.dtype != aval.dtype:
        raise ValueError(f"with_refs: {target} cannot hold a cotangent of type {aval}")
    target.write(ct if is_of_ref else add(target.read(), ct))
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
    """The VJP of a function of residuals, of which those that are leaves of `primals` are found.

    Raises:
        TypeError: `saveable_args` holds something else than bools.
        ValueError: it is no prefix of the primals.
    """
    leaves, tree = tree_flatten([*primals])
    places = {id(leaf): number for number, leaf in enumerate(leaves)}
    opaque: list[Any] = []
    found: list[Residual] = []
    for each in residuals:
        number = places.get(id(each))
        found.append(Residual(number is not None, len(opaque) if number is None else number))
        if number is None:
            opaque.append(each)
    needed = {number for is_argument, number in found if is_argument}
    flags = flags_of("vjp: saveable_args", saveable_args, tree_structure(tuple(primals)))
    kept = [
        NotNeeded() if number not in needed else leaf if flag else NotSaveable()
        for number, (leaf, flag) in enumerate(zip(leaves, flags, strict=True))
    ]
    args_res = tree_unflatten(tree, kept)
    in_tree = tree_structure(tuple(primals))
    return VJP(function, tuple(found), args_res, opaque, out_nzs, in_tree, linear_jaxpr)
