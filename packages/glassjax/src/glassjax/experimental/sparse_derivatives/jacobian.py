"""Sparse Jacobians and Hessians: columns that share no row are computed together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np

import glassjax_stage2 as stage2
from glassjax import numpy as jnp
from glassjax.errors.arguments import require_flags
from glassjax.experimental.sparse.base import BCOO
from glassjax.experimental.sparse_derivatives.pattern import Sparsity, count
from glassjax.primitives.loops import stage_to_jaxpr
from glassjax.primitives.sparsity_analysis import Analysis, Operand
from glassjax.runtime.array import tree_to_arrays
from glassjax.runtime.evaluation import evaluated_by_library
from glassjax.transforms import autodiff
from glassjax.transforms.autodiff import Argnums
from glassjax.transforms.linear_call import has_forward_mode
from glassjax.transforms.vmap import vmap
from glassjax_stage2 import ShapedArray, typeof
from glassjax_stage2.arguments import check_inexact, require_function, split_arguments
from glassjax_stage2.errors import shown
from glassjax_stage2.source import name_of
from glassjax_stage2.tangent import instantiate
from glassjax_stage2.tree import keystr, tree_flatten, tree_flatten_with_path, tree_unflatten
from glassjax_stage3 import Jaxpr, dce_jaxpr

Mode = Literal["fwd", "rev"]


@evaluated_by_library
def sparsity(f: Callable[..., Any], *args: Any, argnums: Argnums = 0) -> Sparsity:
    """The elements of the Jacobian of `f` that may be nonzero, from its program alone.

    The pattern holds for all values of the arguments to differentiate. Each element of the
    derivative's program carries the set of inputs that it depends on. Indices and masks count
    as known if they do not depend on these arguments and are not traced.

    Arguments:
        f: function of arrays and pytrees of arrays.
        args: its arguments; of those to differentiate only the types matter.
        argnums: the positional arguments to differentiate with respect to.

    Raises:
        TypeError: an argument to differentiate, or the result, has a leaf that is not real.

    >>> from glassjax.experimental import sparsity
    >>> pattern = sparsity(lambda x: jnp.cumsum(x) * x[0], jnp.ones(3))
    >>> pattern.todense().astype(int)
    array([[1, 0, 0],
           [1, 1, 0],
           [1, 1, 1]])
    """
    return _Differentiated("sparsity", f, args, argnums).sparsity()


@evaluated_by_library
def sparse_jacobian(
    f: Callable[..., Any],
    *args: Any,
    argnums: Argnums = 0,
    has_aux: bool = False,
    mode: Mode | None = None,
    pattern: Sparsity | None = None,
) -> Any:
    """The Jacobian of `f` at `args`, as sparse arrays.

    Columns that share no row are computed by one jvp, or rows that share no column by one vjp; all
    of them run as one batch. Under `jit` the pattern is found once, when it is traced.

    Arguments:
        f: function of arrays and pytrees of arrays.
        args: the arguments at which to evaluate it.
        argnums: the positional arguments to differentiate with respect to.
        has_aux: whether `f` returns a pair; only its first part is differentiated; the second is
            returned last.
        mode: "fwd" for jvps, "rev" for vjps; None: whichever takes fewer.
        pattern: the pattern, as from `sparsity`, to save the analysis; elements outside it must be
            zero.

    Returns:
        The structure of the result of `f` with, at each leaf, the structure of the argument, as for
        `jacfwd`. Each leaf is a `BCOO` without batch and dense axes; its shape is the shape of the
        result followed by the shape of the argument. With several `argnums`, a tuple of arguments.

    Raises:
        TypeError: an argument to differentiate, or the result, has a leaf that is not real.
        ValueError: `mode` is something else, or `pattern` belongs to other shapes.

    >>> from glassjax.experimental import sparse_jacobian
    >>> jacobian = sparse_jacobian(lambda x: x[1:] * x[:-1], jnp.array([1.0, 2.0, 3.0, 4.0]))
    >>> jacobian
    BCOO(float32[3, 4], nse=6)
    >>> jacobian.todense()
    Array([[2., 1., 0., 0.],
           [0., 3., 2., 0.],
           [0., 0., 4., 3.]], dtype=float32)
    """
    require_flags("sparse_jacobian", has_aux=has_aux)
    if mode not in (None, "fwd", "rev"):
        raise ValueError(f"sparse_jacobian: mode must be 'fwd', 'rev' or None, found {shown(mode)}")
    call = _Differentiated("sparse_jacobian", f, args, argnums, has_aux)
    pattern = call.checked(pattern)
    if mode is None:
        mode = pattern.mode if has_forward_mode(call.program[0]) else "rev"
    if mode == "fwd":
        compressed = call.pushed(pattern.column_colors)
        places = pattern.column_colors[pattern.columns], pattern.rows
    else:
        compressed = call.pulled(pattern.row_colors)
        places = pattern.row_colors[pattern.rows], pattern.columns
    return call.result(_blocks(pattern, compressed, places, mode))


@evaluated_by_library
def sparse_hessian(
    f: Callable[..., Any],
    *args: Any,
    argnums: Argnums = 0,
    has_aux: bool = False,
    pattern: Sparsity | None = None,
) -> Any:
    """The second derivative of `f`, a function with a real scalar result, as sparse arrays.

    It is symmetric, so an element or its mirror image is enough: a star coloring needs fewer
    products than the Jacobian of the gradient, 2 for an arrow of any size.

    Arguments:
        f, args, argnums, has_aux: as for `sparse_jacobian`.
        pattern: the pattern, as from `sparsity(grad(f), ...)`.

    Returns:
        The structure of the argument twice, with `BCOO` leaves, as for `hessian`.

    Raises:
        TypeError: an argument to differentiate is not real, or the result is not a real scalar.
        ValueError: `pattern` belongs to other shapes.

    >>> from glassjax.experimental import sparse_hessian
    >>> sparse_hessian(lambda x: jnp.sum(x[1:] * x[:-1] ** 2), jnp.array([1.0, 2.0, 3.0])).todense()
    Array([[4., 2., 0.],
           [2., 6., 4.],
           [0., 4., 0.]], dtype=float32)
    """
    require_flags("sparse_hessian", has_aux=has_aux)
    require_function("sparse_hessian", f)
    gradient = autodiff.grad(f, argnums, has_aux=has_aux)
    call = _Differentiated("sparse_hessian", gradient, args, argnums, has_aux)
    pattern = call.checked(pattern).symmetrized()
    colors, size = pattern.symmetric_colors, pattern.shape[1]
    # An element stands alone in its row of a color, or its mirror image does.
    keys = colors[pattern.columns] * size + pattern.rows
    alone = np.bincount(keys, minlength=size * count(colors))[keys] == 1
    columns = np.where(alone, pattern.columns, pattern.rows)
    rows = np.where(alone, pattern.rows, pattern.columns)
    compressed = call.pushed(colors)
    return call.result(_blocks(pattern, compressed, (colors[columns], rows), "fwd"))


class _Differentiated:
    """A function, the arguments to differentiate, and their types."""

    def __init__(
        self, caller: str, f: Any, args: Sequence[Any], argnums: Argnums, has_aux: bool = False
    ):
        require_function(caller, f)
        self.caller, self.f = caller, f
        argnums = autodiff.int_or_ints(caller, argnums)
        self.with_aux = autodiff.split_aux(caller, f, has_aux)
        args = tuple(autodiff.chosen_to_arrays(argnums, tuple(args)))
        inputs, self.restricted = split_arguments(caller, self.with_aux or f, argnums, args, {})
        self._require_real("argument", inputs)
        self.inputs, self.in_tree = tree_flatten(inputs)
        self.in_avals = [*map(typeof, self.inputs)]
        outs, _ = stage_to_jaxpr(self._evaluate, self.in_avals, caller)
        self.out_avals = outs.out_avals

    def _evaluate(self, *xs: Any) -> list[Any]:
        out = self.restricted(tree_unflatten(self.in_tree, xs))
        self._require_real("result", out)
        outs, self.out_tree = tree_flatten(out)
        return outs

    def _require_real(self, role: str, tree: Any) -> None:
        check_inexact(self.caller, role, self.f, tree)
        for path, leaf in tree_flatten_with_path(tree)[0]:
            if (aval := typeof(leaf)).dtype.kind == "c":
                raise TypeError(
                    f"{self.caller}: {role}{keystr(path)} of `{name_of(self.f)}` is complex, "
                    f"{aval}. Pass and return real and imaginary parts."
                )

    def push(self, xs: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
        """The jvp, from leaves to leaves."""
        trees = [tree_unflatten(self.in_tree, leaves) for leaves in (xs, tangents)]
        _, out = autodiff.jvp(self.restricted, (trees[0],), (trees[1],))
        return [instantiate(t) for t in stage2.tree_leaves(out)]

    def pull(self, xs: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
        """The vjp, from leaves to leaves."""
        _, f_vjp = autodiff.weak_vjp(self.restricted, tree_unflatten(self.in_tree, xs))
        (cts,) = f_vjp(tree_unflatten(self.out_tree, cotangents))
        return [instantiate(ct) for ct in stage2.tree_leaves(cts)]

    @cached_property
    def program(self) -> tuple[Jaxpr, list[Any]]:
        """The program of the jvp, of its constants, leaves and their tangents; the constants."""
        return stage_to_jaxpr(
            lambda *xs: self.push(xs[: len(self.inputs)], xs[len(self.inputs) :]),
            [*self.in_avals, *self.in_avals],
            self.caller,
        )

    def sparsity(self) -> Sparsity:
        whole, consts = self.program
        jaxpr, used = dce_jaxpr(whole)
        sets, tangents = Operand.inputs(self.in_avals)
        operands = [
            *map(Operand.constant, consts),
            *map(Operand, self.in_avals),
            *tangents,
        ]
        kept = [x for x, is_used in zip(operands, used, strict=True) if is_used]
        outs = Analysis(sets).ids(jaxpr, kept)
        ids = np.concatenate([x.ravel() for x in outs]) if outs else np.zeros(0, np.int64)
        counts, columns = sets.all_members(ids)
        return Sparsity(
            np.repeat(np.arange(len(ids)), counts),
            columns,
            *map(_shapes, (self.out_avals, self.in_avals)),
        )

    def checked(self, pattern: Any) -> Sparsity:
        """The pattern given, or else the one found by analysis."""
        if pattern is None:
            return self.sparsity()
        if not isinstance(pattern, Sparsity):
            raise TypeError(
                f"{self.caller}: pattern must be a Sparsity, as `sparsity` returns, found "
                f"{shown(pattern)}"
            )
        found = [*map(_shapes, (self.out_avals, self.in_avals))]
        if [pattern.out_shapes, pattern.in_shapes] != found:
            raise ValueError(
                f"{self.caller} of `{name_of(self.f)}`: the pattern belongs to a function from "
                f"shapes {pattern.in_shapes} to {pattern.out_shapes}; here they are {found[1]} and "
                f"{found[0]}"
            )
        return pattern

    def pushed(self, colors: Any) -> list[Any]:
        """For each color the sum of its columns, for each leaf of the result."""
        return _compressed(partial(self.push, self.inputs), colors, self.in_avals)

    def pulled(self, colors: Any) -> list[Any]:
        """For each color the sum of its rows, for each leaf of the arguments."""
        return _compressed(partial(self.pull, self.inputs), colors, self.out_avals)

    def result(self, blocks: list[list[Any]]) -> Any:
        rows = [tree_unflatten(self.in_tree, row) for row in blocks]
        result = tree_to_arrays(tree_unflatten(self.out_tree, rows))
        return (result, self.with_aux.aux()) if self.with_aux else result


def _compressed(
    product: Callable[[list[Any]], list[Any]], colors: Any, avals: Sequence[ShapedArray]
) -> list[Any]:
    parts = np.split(colors, np.cumsum([aval.size for aval in avals])[:-1])
    arrays = [
        jnp.asarray(x.reshape(aval.shape), np.int32) for x, aval in zip(parts, avals, strict=True)
    ]

    def product_of_color(color: Any) -> list[Any]:
        return product(
            [stage2.astype(x == color, aval.dtype) for x, aval in zip(arrays, avals, strict=True)]
        )

    outs = vmap(product_of_color)(jnp.arange(max(count(colors), 1), dtype=np.int32))
    return [jnp.reshape(out, (out.shape[0], -1)) for out in outs]


def _blocks(pattern: Sparsity, compressed: list[Any], places: Any, mode: str) -> list[list[Any]]:
    """For each leaf of the result and each leaf of the arguments, their sparse Jacobian."""
    row_ends = np.cumsum([0, *(int(np.prod(shape)) for shape in pattern.out_shapes)])
    column_ends = np.cumsum([0, *(int(np.prod(shape)) for shape in pattern.in_shapes)])
    row_leaf = np.searchsorted(row_ends, pattern.rows, "right") - 1
    column_leaf = np.searchsorted(column_ends, pattern.columns, "right") - 1
    colors, positions = places
    blocks: list[list[Any]] = []
    for i, out_shape in enumerate(pattern.out_shapes):
        blocks.append([])
        for j, in_shape in enumerate(pattern.in_shapes):
            chosen = (row_leaf == i) & (column_leaf == j)
            leaf, ends = (i, row_ends) if mode == "fwd" else (j, column_ends)
            data = compressed[leaf][colors[chosen], positions[chosen] - ends[leaf]]
            indices = np.concatenate(
                [
                    _coordinates(pattern.rows[chosen] - row_ends[i], out_shape),
                    _coordinates(pattern.columns[chosen] - column_ends[j], in_shape),
                ],
                axis=1,
            )
            blocks[-1].append(
                BCOO(
                    (data, indices),
                    shape=(*out_shape, *in_shape),
                    indices_sorted=True,
                    unique_indices=True,
                )
            )
    return blocks


def _coordinates(places: Any, shape: Any) -> Any:
    """The coordinates of places in an array of that shape, along a second axis."""
    return (
        np.array(np.unravel_index(places, shape or (1,))[: len(shape)], np.int32)
        .reshape(len(shape), len(places))
        .T
    )


def _shapes(avals: Sequence[ShapedArray]) -> list[Any]:
    return [aval.shape for aval in avals]
