"""JAX's trees of a scan's operands and results: constants, carried values, elements.

A scan that a transformation makes groups them further: primals and tangents, results and
residuals, cotangents and what they are computed from. The transformation notes its groups here, by
the body of the scan.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from glassjax.settings.names import later
from glassjax_stage3 import Jaxpr

_tree_structure = later("glassjax.tree_util", "tree_structure")


@dataclass(frozen=True)
class Right:
    """A present leaf: a result of each iteration, or a tangent."""

    value: Any = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.value})"


class Left(Right):
    """An absent leaf: a tangent that is zero."""


class RightsOnly(Right):
    """A leaf of a group whose present leaves are all of the kind `Right`."""


class FTTuple(tuple[Any, ...]):
    """Leaves in groups."""

    @property
    def elts(self) -> tuple[Any, ...]:
        return tuple(self)

    def unpack(self) -> tuple[Any, ...]:
        """The groups."""
        return tuple(self)


class FTPyTree:
    """Leaves in nested groups, given by their numbers of leaves."""

    def __init__(self, sizes: Any):
        self.sizes = sizes

    def unpack(self) -> tuple[Any, ...]:
        """The groups."""
        return tuple(map(FTPyTree, self.sizes))

    def __iter__(self) -> Iterator[None]:
        return iter([None] * number_of_leaves(self))

    def __repr__(self) -> str:
        def leaves(sizes: Any) -> Any:
            return tuple(map(leaves, sizes)) if isinstance(sizes, tuple) else [0] * sizes

        return f"Pytree(vals={[*self]}, tree={_tree_structure(leaves(self.sizes))})"


def number_of_leaves(tree: Any) -> int:
    """The number of present leaves."""
    if isinstance(tree, FTPyTree):
        return number_of_leaves(tree.unpack()) if isinstance(tree.sizes, tuple) else tree.sizes
    if isinstance(tree, tuple):
        return sum(map(number_of_leaves, tree))
    return 1 if tree is None else 0 if type(tree) is Left else number_of_leaves(tree.value)


Trees = tuple[FTTuple | FTPyTree, FTTuple]  # operands, results
_noted: WeakKeyDictionary[Jaxpr, Trees] = WeakKeyDictionary()


def trees_of(body: Jaxpr, consts: int, carry: int) -> Trees:
    """The trees of a scan, from its body and its numbers of constants and carried values."""
    if (noted := _noted.get(body)) is not None:
        return noted
    sizes = consts, carry, len(body.invars) - consts - carry
    ys = (RightsOnly(Right()),) * (len(body.outvars) - carry)
    return FTTuple((None,) * size for size in sizes), FTTuple([(None,) * carry, ys])


def note_tangents(body: Jaxpr, trees: Trees, *flags: Sequence[bool]) -> None:
    """Note the trees of a scan of primals and tangents.

    Arguments:
        body: its body.
        trees: the trees of the scan of the primals.
        flags: for each group of operands, then of results, whether its leaves have tangents.
    """
    groups = [*trees[0].unpack(), *trees[1].unpack()]
    pairs = [
        (group, _tangents(group, iter(which))) for group, which in zip(groups, flags, strict=True)
    ]
    _noted[body] = FTTuple(pairs[:3]), FTTuple(pairs[3:])


def _tangents(tree: Any, flags: Iterator[bool]) -> Any:
    if isinstance(tree, tuple):
        return tuple(_tangents(x, flags) for x in tree)
    if number_of_leaves(tree):
        tree = _with_innermost(tree, Right() if next(flags) else Left())
    return RightsOnly(tree)


def _with_innermost(leaf: Any, innermost: Any) -> Any:
    return innermost if leaf is None else type(leaf)(_with_innermost(leaf.value, innermost))


def note_same(body: Jaxpr, other: Jaxpr) -> None:
    """Note that a scan has the trees of the scan with another body."""
    if (trees := _noted.get(other)) is not None:
        _noted[body] = trees


def note_residuals(body: Jaxpr, consts: int, carry: int, residuals: int) -> None:
    """Note the trees of a scan that also gives residuals, after its results."""
    ft_in, ft_out = trees_of(body, consts, carry)
    _, outs = ft_out
    results = len(outs) - residuals
    _noted[body] = ft_in, FTTuple([(None,) * carry, (outs[:results], (None,) * residuals)])


def note_cotangents(body: Jaxpr, consts: int, sums: int, carry: int, ys: int, xs: int) -> None:
    """Note the trees of a scan over cotangents.

    Arguments:
        body: its body.
        consts: its number of constants.
        sums, carry, ys, xs: the numbers of cotangents of constants, carried values and results, and
            the number of elements that are not cotangents.
    """
    elements = len(body.outvars) - sums - carry
    ft_in = FTPyTree(((consts, 0), (sums, carry), (0, ys, xs)))
    _noted[body] = ft_in, FTTuple([FTPyTree((sums, carry)), (FTPyTree(elements), ())])
