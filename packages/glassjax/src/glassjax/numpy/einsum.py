"""Einstein summation: products of arrays with labeled axes, summed over dropped labels.

Operands are multiplied in pairs, in the order that takes the fewest operations.
"""

from __future__ import annotations

import functools
import inspect
import math
import string
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import glassjax_stage2 as stage2
from glassjax import lax
from glassjax.dimensions.expressions import Size, is_symbolic_dim, surely_at_least
from glassjax.dtypes import DTypeLike, promote_types
from glassjax.errors.tracebacks import hiding_frames
from glassjax.lax.precision import PrecisionLike
from glassjax.numpy.dtypes import dtype
from glassjax.numpy.products import promote_dtypes, weak_like
from glassjax.runtime.array import Array, require_no_out
from glassjax.runtime.evaluation import evaluated_by_library
from glassjax.runtime.operation import operation
from glassjax.settings.names import counted
from glassjax.shardings.types import takes_out_sharding
from glassjax_stage2 import typeof
from glassjax_stage2.errors import shown
from glassjax_stage2.functions import ints
from glassjax_stage2.shaped_array import typeof_named

Path = tuple[tuple[int, ...], ...]

# JAX's strategies for paths: greedy, or optimal if there are few operands.
_GREEDY = "greedy", "eager", "opportunistic", "random-greedy", "random-greedy-128"
_MOST_FOR_BEST = 8
_OPTIMIZERS = (
    *(True, False, None, "auto", "auto-hq", "optimal", "dp", "dynamic-programming"),
    *("branch-all", "branch-2", "branch-1", *_GREEDY),
)

_FIRST_OF_ELLIPSIS = 0xE000  # labels of an ellipsis's axes: private-use Unicode


class Summation(NamedTuple):
    """A parsed einsum: the labels of the axes of each operand and of the result."""

    inputs: tuple[str, ...]
    output: str


@hiding_frames
@takes_out_sharding
def einsum(
    subscripts: Any,
    /,
    *operands: Any,
    out: None = None,
    optimize: Any = "auto",
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    _dot_general: Callable[..., Any] = lax.dot_general,
    out_sharding: Any = None,
) -> Array:
    """The sum of products of operands with labeled axes, as in numpy.

    Arguments:
        subscripts: the labels of each operand's axes, and after `->` the labels of the result's.
            Without `->`, these are the labels that occur once, in alphabetical order. `...` stands
            for axes that broadcast.
        operands: the arrays. Or else, from the first argument on, arrays alternating with lists of
            ints for their labels, and finally a list for the result.
        out: must be None.
        optimize: False to multiply from left to right; the path that `einsum_path` returned;
            "greedy" to take the cheapest product at each step. By default, and with other names
            such as "optimal", the order with the fewest operations, or the greedy one if there are
            more than eight operands.
        precision, preferred_element_type, out_sharding: as in `lax.dot_general`.

    Raises:
        ValueError: the labels do not match the operands, or each other; or `optimize` is invalid.
        NotImplementedError: `out` is given.

    >>> import glassjax.numpy as jnp
    >>> einsum("ij,j->i", jnp.ones((2, 3)), jnp.arange(3.0))
    Array([3., 3.], dtype=float32)
    """
    require_no_out("einsum", out)
    arrays, summation = _parse(subscripts, operands)
    path = _path_of(summation, [typeof(x).shape for x in arrays], optimize)
    product = _einsum if _dot_general is lax.dot_general else inspect.unwrap(_einsum)
    return product(arrays, summation, path, precision, preferred_element_type, _dot_general)


@evaluated_by_library
def einsum_path(
    subscripts: Any, /, *operands: Any, optimize: Any = "auto"
) -> tuple[list[tuple[int, ...]], str]:
    """The order in which `einsum` multiplies.

    Arguments:
        subscripts, operands, optimize: as in `einsum`.

    Returns:
        The positions of the operands to multiply at each step, which are removed, with their
        product appended; and a description in words.

    Raises:
        ValueError: as in `einsum`.

    >>> x, y, z = jnp.ones((2, 9)), jnp.ones((9, 9)), jnp.ones((9, 3))
    >>> path, text = jnp.einsum_path("ij,jk,kl->il", x, y, z)
    >>> path
    [(0, 1), (0, 1)]
    """
    arrays, summation = _parse(subscripts, operands)
    path = _path_of(summation, [typeof(x).shape for x in arrays], optimize)
    inputs, lines = list(summation.inputs), []
    for step in path:
        taken = [inputs.pop(i) for i in sorted(step, reverse=True)][::-1]
        kept = "".join(dict.fromkeys(c for c in "".join(taken) if c in summation.output))
        kept += "".join(
            dict.fromkeys(
                c for c in "".join(taken) if c in "".join(inputs) and c not in summation.output
            )
        )
        inputs.append(kept if inputs else summation.output)
        lines.append(f"{step}: {','.join(taken)}->{inputs[-1]}")
    return list(path), "\n".join(lines)


@evaluated_by_library
def _parse(subscripts: Any, operands: tuple[Any, ...]) -> tuple[list[Any], Summation]:
    """The operands, and the labels of their axes with every ellipsis written out."""
    if not isinstance(subscripts, str):
        given = (subscripts, *operands)
        labels = list(given[1::2])
        has_output = len(given) % 2 == 1
        operands = given[: 2 * len(labels) : 2]
        subscripts = ",".join(map(_letters, labels))
        if has_output:
            subscripts += f"->{_letters(given[-1])}"
    terms, arrow, output = subscripts.replace(" ", "").partition("->")
    inputs = terms.split(",")
    if len(inputs) != len(operands):
        raise ValueError(
            f"einsum: {subscripts!r} has labels for {counted(len(inputs), 'operand')}, found "
            f"{len(operands)}"
        )
    widths = [
        typeof_named(f"einsum: operand {number}", x).ndim - len(term.replace("...", ""))
        for number, (x, term) in enumerate(zip(operands, inputs, strict=True))
    ]
    for x, term, width in zip(operands, inputs, widths, strict=True):
        if width < 0 or (width and "..." not in term):
            raise ValueError(f"einsum: the labels {term!r} do not fit the axes of {typeof(x)}")
    widest = max(
        [width for width, term in zip(widths, inputs, strict=True) if "..." in term] or [0]
    )
    ellipsis = "".join(chr(_FIRST_OF_ELLIPSIS + i) for i in range(widest))
    written = [
        # as in broadcasting, axes are aligned at the end
        term.replace("...", ellipsis[widest - width :])
        for term, width in zip(inputs, widths, strict=True)
    ]
    if arrow:
        result = output.replace("...", ellipsis)
    else:
        letters = "".join(written)
        result = ellipsis + "".join(
            c for c in sorted(set(letters)) if letters.count(c) == 1 and c not in ellipsis
        )
    for c in result:
        if result.count(c) > 1 or not any(c in term for term in written):
            raise ValueError(
                f"einsum: the label {c!r} of the result in {subscripts!r} must occur "
                "there once, and in an operand"
            )
    return list(operands), Summation(tuple(written), result)


def _letters(labels: Sequence[Any]) -> str:
    """Labels given as ints, and Ellipsis, converted to letters."""
    are_labels = isinstance(labels, Sequence) and not isinstance(labels, str)
    if not are_labels or not all(isinstance(i, int | type(...)) for i in labels):
        raise TypeError(
            "einsum: expected subscripts, such as 'ij,jk->ik', before the operands, or a list of "
            f"ints after each; found {shown(labels)}"
        )
    return "".join("..." if i is Ellipsis else string.ascii_letters[i] for i in labels)


_TYPICAL = 8  # stands for symbolic sizes where orders of multiplication are compared


def _path_of(summation: Summation, shapes: Sequence[tuple[int, ...]], optimize: Any) -> Path:
    """The order of multiplication; checks sizes on the way."""
    sizes: dict[str, int] = {}
    for labels, shape in zip(summation.inputs, shapes, strict=True):
        for c, size in zip(labels, shape, strict=True):
            if sizes.setdefault(c, size) == 1:
                sizes[c] = size
            if size not in (1, sizes[c]):
                raise ValueError(
                    f"einsum: the label {c!r} stands for axes of sizes {sizes[c]} and {size}"
                )
    if isinstance(optimize, Sequence) and not isinstance(optimize, str):
        return _given_path(optimize, len(shapes))
    if not isinstance(optimize, bool | str | None) or optimize not in _OPTIMIZERS:
        known = ", ".join(map(repr, _OPTIMIZERS))
        raise ValueError(
            f"einsum: optimize must be a path, as einsum_path returns it, or one of {known}; "
            f"found {optimize!r:.60}"
        )
    if optimize is False:
        return _left_to_right(len(shapes))
    is_greedy = optimize in _GREEDY or len(shapes) > _MOST_FOR_BEST
    search = _greedy_path if is_greedy else _best_path
    typical = {c: _TYPICAL if is_symbolic_dim(size) else size for c, size in sizes.items()}
    return search(summation, tuple(typical.items()))


def _given_path(steps: Sequence[Any], count: int) -> Path:
    """The user's contraction path, checked step by step."""
    path = []
    for step in steps:
        positions = ints("einsum: each step of the path in optimize", step)
        if len(set(positions)) < len(positions) or not all(0 <= i < count for i in positions):
            raise ValueError(
                f"einsum: step {step} of the path in optimize must be distinct numbers below "
                f"{count}, how many operands there are then"
            )
        path.append(positions)
        count += 1 - len(positions)
    if count != 1:
        raise ValueError(f"einsum: the path {path} in optimize leaves {count} operands, not 1")
    return tuple(path)


def _left_to_right(count: int) -> Path:
    """Contraction from left to right; each product moves to the end of the list."""
    # (0, n): the next operand, and the product so far, which is last.
    return ((0, 1), *((0, n) for n in range(count - 2, 0, -1))) if count > 1 else ()


@functools.lru_cache(1024)
def _best_path(summation: Summation, sizes: tuple[tuple[str, int], ...]) -> Path:
    """The contraction in pairs with the fewest operations, without outer products if possible.

    An outer product saves few operations, and its other factor has to be transposed. Of several
    paths it is the one with the smallest products, and of these the leftmost pairs first.
    The best way to a product of some operands is best for each of its two factors: so the ways to
    larger products are made of those to smaller ones.
    """
    size_of = dict(sizes)
    inputs, count = list(map(frozenset, summation.inputs)), len(summation.inputs)

    def labels_of(operands: int) -> frozenset[str]:
        """The labels of a product of operands, which are the bits of a number."""
        inside = frozenset().union(*(inputs[i] for i in range(count) if operands >> i & 1))
        outside = (inputs[i] for i in range(count) if not operands >> i & 1)
        return inside & frozenset(summation.output).union(*outside)

    kept = [labels_of(operands) for operands in range(1 << count)]
    # The cost: numbers of outer products, of operations and of elements; whether the factor with
    # the first operand is that operand alone; and this factor.
    best: dict[int, tuple[int, int, int, bool, int]] = {
        1 << i: (0, 0, 0, False, 0) for i in range(count)
    }
    for operands in sorted(range(1, 1 << count), key=int.bit_count):
        if operands in best:
            continue
        room = math.prod([size_of[c] for c in kept[operands]])
        first, found = operands & -operands, []
        # The proper subsets of the bits of `operands`, from the largest to the smallest.
        part = (operands - 1) & operands
        while part:
            if part & first:  # each split once: `part` holds the first operand
                rest = operands ^ part
                both = kept[part] | kept[rest]
                # a sum takes an addition for each multiplication
                work = math.prod([size_of[c] for c in both]) * (2 if both - kept[operands] else 1)
                is_outer = kept[part].isdisjoint(kept[rest])
                one, two = best[part], best[rest]
                outer, work = is_outer + one[0] + two[0], work + one[1] + two[1]
                found.append((outer, work, room + one[2] + two[2], part == first, part))
            part = (part - 1) & operands
        best[operands] = min(found)

    path, places = [], [1 << i for i in range(count)]

    def contract(operands: int) -> None:
        part = best[operands][-1]
        if part:
            for factor in (part, operands ^ part):
                contract(factor)
            step = sorted(places.index(factor) for factor in (part, operands ^ part))
            path.append(tuple(step))
            places[:] = [*(x for i, x in enumerate(places) if i not in step), operands]

    contract((1 << count) - 1)
    return tuple(path)


@functools.lru_cache(1024)
def _greedy_path(summation: Summation, sizes: tuple[tuple[str, int], ...]) -> Path:
    """Greedy contraction: at each step the cheapest pair, ties broken by the smallest result."""
    size_of = dict(sizes)
    inputs = list(map(frozenset, summation.inputs))
    path = []

    def room(labels: frozenset[str]) -> int:
        return math.prod(size_of[c] for c in labels)

    while len(inputs) > 1:
        best: Any = None
        for j in range(len(inputs)):
            for i in range(j):
                rest = [labels for k, labels in enumerate(inputs) if k not in (i, j)]
                both = inputs[i] | inputs[j]
                product = both & frozenset(summation.output).union(*rest)
                cost = room(both), room(product) - room(inputs[i]) - room(inputs[j])
                if best is None or cost < best[0]:
                    best = cost, (i, j), [*rest, product]
        _, pair, inputs = best
        path.append(pair)
    return tuple(path)


@operation(static=("summation", "path", "precision", "preferred_element_type", "dot_general"))
def _einsum(
    operands: Sequence[Any],
    summation: Summation,
    path: Path,
    precision: PrecisionLike,
    preferred_element_type: Any,
    dot_general: Callable[..., Any],
) -> Any:
    operands = promote_dtypes(*operands)
    # A sum of one operand has no product that would take the type, and sums of booleans are `or`.
    if preferred_element_type is not None and (
        len(operands) == 1 or typeof(operands[0]).dtype == np.bool_
    ):
        operands = [
            stage2.astype(x, promote_types(typeof(x).dtype, preferred_element_type))
            for x in operands
        ]
    terms = list(zip(operands, summation[0], strict=True))
    terms = [_without_ones(x, labels, terms) for x, labels in terms]
    output = summation[1]
    for step in path:
        taken = [terms.pop(i) for i in sorted(step, reverse=True)][::-1]
        while len(taken) > 1:
            kept = set(output).union(*(labels for _, labels in [*terms, *taken[2:]]))
            last = not terms and len(taken) == 2
            x, y, *rest = [_sum_unneeded(*taken[0], kept | set(taken[1][1])), *taken[1:]]
            y = _sum_unneeded(*y, kept | set(x[1]))
            product = _pair_product(
                x, y, kept, output if last else "", dot_general, precision, preferred_element_type
            )
            taken = [product, *rest]
        terms.append(taken[0])
    out, labels = _sum_unneeded(*terms[0], set(output))
    out = stage2.transpose(out, [labels.index(c) for c in output])
    if preferred_element_type is not None:
        return lax.convert_element_type(out, dtype(preferred_element_type))
    return weak_like(out, *operands)


def _without_ones(x: Any, labels: str, terms: Sequence[tuple[Any, str]]) -> tuple[Any, str]:
    """The operand without axes of size 1 that broadcast against another operand."""
    larger = {
        c
        for y, others in terms
        for c, size in zip(others, typeof(y).shape, strict=True)
        if size != 1
    }
    shape = typeof(x).shape
    ones = [axis for axis, c in enumerate(labels) if shape[axis] == 1 and c in larger]
    if not ones:
        return x, labels
    return lax.squeeze(x, ones), "".join(c for axis, c in enumerate(labels) if axis not in ones)


def _sum_unneeded(x: Any, labels: str, kept: set[str]) -> tuple[Any, str]:
    """The operand with unique labels, summed over those that are not kept."""
    for c in set(labels):
        while labels.count(c) > 1:
            first, second = labels.index(c), labels.rindex(c)
            shape = typeof(x).shape
            # Selected, not multiplied by zeros: elements off the diagonal may be NaN.
            on_diagonal = lax.broadcasted_iota("int32", shape, first) == lax.broadcasted_iota(
                "int32", shape, second
            )
            x = _sum_axes(lax.select(on_diagonal, x, lax.full_like(x, 0)), [second])
            labels = labels[:second] + labels[second + 1 :]
    gone = [axis for axis, c in enumerate(labels) if c not in kept]
    if not gone:
        return x, labels
    return _sum_axes(x, gone), "".join(c for c in labels if c in kept)


def _sum_axes(x: Any, axes: Sequence[int]) -> Any:
    """The sum along `axes`; for booleans, as in their products, logical or."""
    return (lax.reduce_or if typeof(x).dtype == np.bool_ else lax.reduce_sum)(x, tuple(axes))


class _Pairing(NamedTuple):
    """The labels of a product of two operands, by what becomes of their axes."""

    operands: tuple[tuple[Any, str], tuple[Any, str]]
    batch: str
    contracted: str
    free: tuple[str, str]

    @property
    def output(self) -> str:
        return self.batch + "".join(self.free)

    def transposed(self, wanted: str) -> tuple[int, int]:
        """The number of elements transposed first, and of those transposed while multiplying.

        A device multiplies rows of the first operand by columns of the second.
        """
        (x, x_labels), (y, y_labels) = self.operands
        first = self.batch + self.free[0] + self.contracted
        second = self.batch + self.contracted + self.free[1]
        in_turn, in_product = 0, 0
        for operand, labels, direct in ((x, x_labels, first), (y, y_labels, second)):
            size = typeof(operand).size * (labels != direct)
            if len(labels) > 2:
                in_turn += size
            else:
                in_product += size
        if wanted and wanted != self.output:
            sizes = {**_label_sizes(x, x_labels), **_label_sizes(y, y_labels)}
            in_turn += math.prod(sizes[c] for c in self.output)
        return in_turn, in_product


def _label_sizes(x: Any, labels: str) -> dict[str, int]:
    return dict(zip(labels, typeof(x).shape, strict=True))


def _pairing(x: tuple[Any, str], y: tuple[Any, str], kept: set[str]) -> _Pairing:
    """The axes of a product in the order in which the larger operand has them."""
    is_second_larger = surely_at_least(typeof(y[0]).size, typeof(x[0]).size + 1)
    _, larger = y if is_second_larger else x
    both = [c for c in larger if c in x[1] and c in y[1]]
    batch = "".join(c for c in both if c in kept)
    contracted = "".join(c for c in both if c not in kept)
    free_x, free_y = ("".join(c for c in labels if c not in both) for _, labels in (x, y))
    return _Pairing((x, y), batch, contracted, (free_x, free_y))


def _surely_less(x: tuple[Size, Size], y: tuple[Size, Size]) -> bool:
    """Return True if the pair `x` is less than `y`, False if not or if not known."""
    at = 0 if x[0] != y[0] else 1
    return surely_at_least(y[at], x[at] + 1)


def _pair_product(
    x: tuple[Any, str],
    y: tuple[Any, str],
    kept: set[str],
    wanted: str,
    dot_general: Callable[..., Any],
    precision: PrecisionLike,
    preferred_element_type: Any,
) -> tuple[Any, str]:
    """The product of two operands, summed over the labels that nothing else needs."""
    pairing, swapped = _pairing(x, y, kept), _pairing(y, x, kept)
    if _surely_less(swapped.transposed(wanted), pairing.transposed(wanted)):
        x, y, pairing = y, x, swapped
    numbers = tuple(
        tuple(tuple(labels.index(c) for c in chosen) for _, labels in (x, y))
        for chosen in (pairing.contracted, pairing.batch)
    )
    dtype_x, dtype_y = typeof(x[0]).dtype, typeof(y[0]).dtype
    if preferred_element_type is None and dtype_x == dtype_y and dtype_x.kind != "b":
        preferred_element_type = dtype_x
    out = dot_general(
        x[0],
        y[0],
        numbers,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )
    return out, pairing.output
