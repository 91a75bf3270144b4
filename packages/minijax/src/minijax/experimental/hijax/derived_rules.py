"""Rules of a `HiPrim` that follow from others, to be assigned in the body of a class."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from minijax.experimental.hijax.primitive import HiPrim
from minijax.primitives.axis_names import AxisData, map_flat
from minijax.transforms.transformations import linear_transpose
from minijax_stage2 import Zero, tree_map
from minijax_stage2.tangent import instantiate, tangent_type
from minijax_stage2.tree import broadcast_prefix, tree_flatten, tree_unflatten
from minijax_stage2.vmap import move_batch_dim


class LinearizationRules(NamedTuple):
    """The rules `lin` and `linearized`."""

    lin: Callable[..., Any]
    linearized: Callable[..., Any]


class ReverseRules(NamedTuple):
    """The rules `vjp_fwd` and `vjp_bwd_retval`."""

    vjp_fwd: Callable[..., Any]
    vjp_bwd_retval: Callable[..., Any]


def _lin(self: HiPrim, nzs_in: Any, *primals: Any) -> tuple[Any, Any]:
    return self(*primals), primals


def _linearized(self: HiPrim, residuals: Any, *tangents: Any) -> Any:
    return self.jvp(residuals, tangents)[1]


def jvp_from_lin(self: HiPrim, primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
    """The rule `jvp` of a primitive with `lin` and `linearized`: `jvp = jvp_from_lin`.

    Raises:
        TypeError: these two are `linearize_from_jvp`.
    """
    if type(self).lin is _lin:
        raise TypeError(
            f"{type(self).__name__}: jvp_from_lin and linearize_from_jvp define each by the other; "
            "the class must define jvp, or lin and linearized"
        )
    flat = self.in_tree.flatten_up_to(tangents)
    nzs_in = tree_unflatten(self.in_tree, [type(t) is not Zero for t in flat])
    out, residuals = self.lin(nzs_in, *primals)[:2]
    return out, self.linearized(residuals, *tangents)


def _transposed(
    self: HiPrim, nzs_in: Any, push_forward: Callable[[tuple[Any, ...]], Any], out_ct: Any
) -> tuple[Any, ...]:
    """The cotangents of the arguments, from a linear function of their tangents."""
    nonzero = tree_flatten(nzs_in)[0]
    types = [tangent_type(aval) for aval in self.in_avals_flat]

    def of_nonzero(*given: Any) -> list[Any]:
        rest = iter(given)
        tangents = [
            next(rest) if keep else Zero(aval) for keep, aval in zip(nonzero, types, strict=True)
        ]
        out = push_forward(tuple(tree_unflatten(self.in_tree, tangents)))
        return [_instantiated(t) for t in self.out_tree.flatten_up_to(out)]

    chosen = [aval for aval, keep in zip(types, nonzero, strict=True) if keep]
    cts = [_instantiated(ct) for ct in self.out_tree.flatten_up_to(out_ct)]
    found = iter(linear_transpose(of_nonzero, *chosen)(cts))
    in_cts = [
        next(found) if keep else Zero(aval) for keep, aval in zip(nonzero, types, strict=True)
    ]
    return tuple(tree_unflatten(self.in_tree, in_cts))


def _instantiated(x: Any) -> Any:
    return instantiate(x) if isinstance(x, Zero) else x


def _fwd_of_jvp(self: HiPrim, nzs_in: Any, *primals: Any) -> tuple[Any, Any]:
    return self(*primals), (primals, nzs_in)


def _bwd_of_jvp(self: HiPrim, res: Any, out_ct: Any) -> tuple[Any, ...]:
    primals, nzs_in = res
    return _transposed(self, nzs_in, lambda dots: self.jvp(primals, dots)[1], out_ct)


def _fwd_of_lin(self: HiPrim, nzs_in: Any, *primals: Any) -> tuple[Any, Any]:
    out, residuals = self.lin(nzs_in, *primals)[:2]
    return out, (residuals, nzs_in)


def _bwd_of_lin(self: HiPrim, res: Any, out_ct: Any) -> tuple[Any, ...]:
    residuals, nzs_in = res
    return _transposed(self, nzs_in, lambda dots: self.linearized(residuals, *dots), out_ct)


linearize_from_jvp = LinearizationRules(_lin, _linearized)
vjp_from_jvp = ReverseRules(_fwd_of_jvp, _bwd_of_jvp)
vjp_from_lin = ReverseRules(_fwd_of_lin, _bwd_of_lin)


def unmap_avals(axis_data: AxisData, avals: Any, dims: Any) -> Any:
    """The types of batches of values of these types, a pytree; for the rule `batch`."""
    return tree_map(axis_data.batch, avals, dims)


def bdims_at_front(axis_data: AxisData, args: Any, dims: Any) -> Any:
    """The arrays of a pytree with the batch axis first, broadcast if they have none."""
    return tree_map(lambda x, dim: move_batch_dim(x, axis_data, dim, 0), args, dims)


def vmap_rule(
    axis_data: AxisData, f: Callable[..., Any], in_axes: Any, out_axes: Any
) -> Callable[..., Any]:
    """`f` mapped over the axis of a rule `batch`; arguments and results may be `Zero`.

    Arguments:
        axis_data: the axis.
        f: function of arrays and pytrees of arrays.
        in_axes: the batch axes of the arguments, a pytree prefix of their tuple.
        out_axes: where to put those of the results, a pytree prefix of the result.

    Raises:
        ValueError: when called, a result has a batch axis that must have none.
    """

    def is_none(x: Any) -> bool:
        return x is None

    def mapped_function(*args: Any) -> Any:
        leaves, in_tree = tree_flatten(args)
        dims = broadcast_prefix(in_axes, args, is_leaf=is_none)
        zero = [type(x) is Zero for x in leaves]
        found: list[Any] = []

        def of_one(*given: Any) -> Sequence[Any]:
            rest = iter(given)
            values = [
                Zero(axis_data.example(x.aval, dim)) if is_zero else next(rest)
                for x, dim, is_zero in zip(leaves, dims, zero, strict=True)
            ]
            outs, out_tree = tree_flatten(f(*tree_unflatten(in_tree, values)))
            found[:] = [out_tree, [out if type(out) is Zero else None for out in outs]]
            return [out for out in outs if type(out) is not Zero]

        given = [x for x, is_zero in zip(leaves, zero, strict=True) if not is_zero]
        given_dims = [dim for dim, is_zero in zip(dims, zero, strict=True) if not is_zero]
        results = iter(zip(*map_flat(of_one, given, given_dims, axis_data), strict=True))
        out_tree, zeros = found
        whole = tree_unflatten(out_tree, [False] * len(zeros))
        places = broadcast_prefix(out_axes, whole, is_leaf=is_none)
        outs = [
            placed(*next(results), place) if each is None else of_batch(each, place)
            for each, place in zip(zeros, places, strict=True)
        ]
        return tree_unflatten(out_tree, outs)

    def placed(out: Any, dim: int | None, place: int | None) -> Any:
        if place is not None:
            return move_batch_dim(out, axis_data, dim, place)
        if dim is not None:
            raise ValueError("vmap_rule: out_axes is None for a result that depends on the example")
        return out

    def of_batch(zero: Zero, place: int | None) -> Zero:
        return Zero(axis_data.batch(zero.aval, place))

    return mapped_function


__all__ = [
    "bdims_at_front", "jvp_from_lin", "linearize_from_jvp", "unmap_avals", "vjp_from_jvp",
    "vjp_from_lin", "vmap_rule",
]  # fmt: skip
