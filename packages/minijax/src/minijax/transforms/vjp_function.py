"""The function that `vjp` returns: a pytree of its residuals, of which some are the arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from minijax.errors.tracebacks import hiding_frames
from minijax.pytrees.tree_util import register_pytree_node
from minijax.transforms.custom_derivatives.logs import with_logs
from minijax.transforms.nonzero_tangents import flags_of
from minijax_stage2.tree import (
    keystr,
    tree_flatten,
    tree_flatten_with_path,
    tree_leaves,
    tree_structure,
    tree_unflatten,
)


class NotNeeded(NamedTuple):
    """In the place of an argument that the function does not need."""

    def __repr__(self) -> str:
        return "NotNeeded()"


class NotSaveable(NamedTuple):
    """In the place of an argument that it needs, and that the caller of `vjp` puts back."""

    def __repr__(self) -> str:
        return "NotSaveable()"


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

    >>> out, f_vjp = minijax.vjp(lambda x, y: jnp.sin(x) * y, 0.0, 2.0)
    >>> f_vjp.args_res
    [NotNeeded(), Array(2., dtype=float32, weak_type=True)]
    """

    function: Callable[..., Any]
    residuals: tuple[Residual, ...]
    args_res: list[Any]
    opaque_residuals: list[Any]
    out_nzs: Any = None

    @hiding_frames
    def __call__(self, *cotangents: Any) -> Any:
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


class _Known:
    """The parts of a VJP that are not arrays; equal if the function is the same."""

    def __init__(self, vjp: VJP):
        self.function, self.residuals, self.out_nzs = vjp.function, vjp.residuals, vjp.out_nzs

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Known) and self.function is other.function

    def __hash__(self) -> int:
        return hash(self.function)


register_pytree_node(
    VJP,
    lambda vjp: ((vjp.args_res, vjp.opaque_residuals), _Known(vjp)),
    lambda known, children: VJP(
        known.function, known.residuals, children[0], children[1], known.out_nzs
    ),
)


def vjp_function(
    function: Callable[..., Any],
    residuals: Sequence[Any],
    primals: Sequence[Any],
    saveable_args: Any,
    out_nzs: Any,
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
    return VJP(function, tuple(found), tree_unflatten(tree, kept), opaque, out_nzs)
