"""The function that `vjp` returns: a pytree of its residuals, of which some are the arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from minijax.errors.tracebacks import hiding_frames
from minijax.pytrees.tree_util import register_pytree_node
from minijax.transforms.custom_derivatives.logs import with_logs
from minijax_stage2.shown import shown
from minijax_stage2.tree import (
    broadcast_prefix,
    keystr,
    tree_flatten,
    tree_flatten_with_path,
    tree_leaves,
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

    >>> out, f_vjp = minijax.vjp(lambda x, y: jnp.sin(x) * y, 0.0, 2.0)
    >>> f_vjp.args_res
    [NotNeeded(), Array(2., dtype=float32, weak_type=True)]
    """

    function: Callable[..., Any]
    residuals: tuple[Residual, ...]
    args_res: list[Any]
    opaque_residuals: list[Any]

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


register_pytree_node(
    VJP,
    lambda vjp: ((vjp.args_res, vjp.opaque_residuals), (vjp.function, vjp.residuals)),
    lambda known, children: VJP(*known, *children),
)


def vjp_function(
    function: Callable[..., Any],
    residuals: Sequence[Any],
    primals: Sequence[Any],
    saveable_args: Any,
) -> VJP:
    """The VJP of a function of residuals, of which those that are leaves of `primals` are found.

    Raises:
        TypeError: `saveable_args` holds something else than bools.
        TreeMismatchError: it is no prefix of the primals.
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
    flags = _flags(saveable_args, tuple(primals))
    kept = [
        NotNeeded() if number not in needed else leaf if flag else NotSaveable()
        for number, (leaf, flag) in enumerate(zip(leaves, flags, strict=True))
    ]
    return VJP(function, tuple(found), tree_unflatten(tree, kept), opaque)


def _flags(saveable_args: Any, primals: tuple[Any, ...]) -> list[bool]:
    given = tuple(saveable_args) if isinstance(saveable_args, list) else saveable_args
    try:
        flags = broadcast_prefix(given, primals, name="primals")
    except ValueError as error:
        raise type(error)(f"vjp: saveable_args: {error}") from None
    for flag in flags:
        if type(flag) is not bool:
            raise TypeError(
                f"vjp: saveable_args must be True, False or a tree of them, found {shown(flag)}"
            )
    return flags
