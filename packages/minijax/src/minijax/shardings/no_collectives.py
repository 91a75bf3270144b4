"""`no_collectives`: mesh axes without communication."""

from collections.abc import Hashable, Iterable, Iterator, Sequence, Set

from minijax.settings.config import reusable_context
from minijax.settings.number_types import NumbersOption
from minijax_stage2.errors import shown

_forbidden = NumbersOption("no_collectives", object, frozenset(), "Axes without collectives.")

Division = Sequence[Sequence[Hashable]]  # for each array axis, the mesh axes it is sharded over


class ForbiddenCollectiveError(Exception):
    """A collective along an axis that `no_collectives` forbids."""


class _NoCollectives:
    """Forbid collectives along axes of a mesh of type `Explicit`, in this thread.

    `with no_collectives({"model"}):` makes it an error to trace a collective along these axes: a
    named one, or an operation on sharded arrays that needs one, because its result is no longer
    sharded over the axis. `value` is the set of these axes.

    Raises:
        TypeError: the axes are not a set.

    >>> mesh = minijax.make_mesh((1,), ("x",))
    >>> with minijax.set_mesh(mesh), minijax.sharding.no_collectives({"x"}):
    ...     try:
    ...         minijax.sharding.reshard(jnp.ones(4), minijax.P("x")).sum()
    ...     except Exception as error:
    ...         print(str(error).partition(", where")[0])
    reduce_sum, whose result is no longer sharded, along the axis 'x'
    """

    __name__ = "no_collectives"  # the name of its only instance

    @property
    def value(self) -> frozenset[Hashable]:
        return frozenset(_forbidden.value)

    def __call__(self, new_val: Set[Hashable]):  # type: ignore[no-untyped-def]
        if not isinstance(new_val, Set):
            raise TypeError(
                f"no_collectives: expected a set of names of mesh axes, found {shown(new_val)} of "
                f"type {type(new_val).__name__}"
            )
        return _forbidding(frozenset(new_val))


@reusable_context
def _forbidding(axes: frozenset[Hashable]) -> Iterator[None]:
    with _forbidden.override(axes):
        yield


no_collectives = _NoCollectives()


def require_allowed(caller: str, names: Iterable[Hashable]) -> None:
    """Raise an error if collectives along one of these axes are forbidden."""
    for name in names:
        if name in _forbidden.value:
            raise ForbiddenCollectiveError(
                f"{caller} along the axis {name!r}, where no_collectives forbids collectives"
            )


def require_kept(caller: str, before: Sequence[Division], after: Sequence[Division]) -> None:
    """Raise an error if operands are sharded over a forbidden axis, and no result is."""
    if _forbidden.value and before and after:
        lost = _axes_of(before) - _axes_of(after)
        require_allowed(f"{caller}, whose result is no longer sharded,", lost)


def require_in_place(caller: str, before: Division, after: Division) -> None:
    """As `require_kept`, for a result that must have the operand's sharding."""
    require_kept(caller, [before], [after])
    for own, wanted in zip(before, after, strict=True):
        require_allowed(f"{caller} moves parts", {*own} - {*wanted} if _forbidden.value else ())


def _axes_of(divisions: Iterable[Division]) -> set[Hashable]:
    return {name for division in divisions for axes in division for name in axes}
