"""`HiPrim`: classes of primitives with all of their rules as methods."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial
from typing import Any

from minijax.experimental.hijax.accumulators import NullAccum, ValAccum
from minijax.primitives.axis_names import AxisData, axis_data
from minijax.primitives.declare import declare
from minijax.primitives.decomposition import lower_by, types_by
from minijax.runtime.array import Array
from minijax.runtime.conversion import to_array
from minijax.runtime.evaluation import evaluated_by_library, evaluators
from minijax.settings.printed_types import plain
from minijax.shardings.types import Division, division_of
from minijax.transforms.custom_derivatives.rules import JvpRule, VjpRule
from minijax_stage2 import Primitive, ShapedArray, Zero, bind, typeof
from minijax_stage2.errors import shown
from minijax_stage2.tangent import tangent_type
from minijax_stage2.tree import tree_flatten, tree_unflatten
from minijax_stage2.vmap import BatchAxis
from minijax_stage4 import UndefPrimal

Values = Sequence[Any]

call_hi_primitive_p = Primitive("call_hi_primitive")


class HiPrim:
    """The base class of primitives that say by methods what interpreters do with them.

    Objects are primitives with parameters. `__init__` of a subclass sets these attributes and then
    calls this one:

    Attributes:
        in_avals: the tuple of the types of the arguments, which may be pytrees.
        out_aval: the type of the result, which may be a pytree.
        params: the parameters, hashable, by name; they become attributes, too.

    `expand` must be there, other methods where programs need them. Where both a rule for forward
    mode and one for reverse mode are there, each mode uses its own; reverse mode follows from `jvp`
    or `lin`, too.

    Raises:
        AttributeError: an attribute is not set.
        NotImplementedError: there are `effects`; a method is called that the class lacks.

    >>> from minijax.experimental import hijax
    >>> class Cube(hijax.HiPrim):
    ...     def __init__(self, aval):
    ...         self.in_avals, self.out_aval, self.params = (aval,), aval, {}
    ...         super().__init__()
    ...     def expand(self, x):
    ...         return x * x * x
    ...     def jvp(self, primals, tangents):
    ...         (x,), (t,) = primals, tangents
    ...         return self(x), 3 * x * x * t
    >>> cube = lambda x: Cube(minijax.typeof(x))(x)
    >>> minijax.value_and_grad(cube)(jnp.float32(2))
    (Array(8., dtype=float32), Array(12., dtype=float32))
    """

    in_avals: tuple[Any, ...]
    out_aval: Any
    params: dict[str, Hashable]
    effects: frozenset[Any] = frozenset()

    def __init__(self) -> None:
        for name in ("in_avals", "out_aval", "params"):
            if not hasattr(self, name):
                raise AttributeError(
                    f"{type(self).__name__}: __init__ must set self.{name} before it calls that of "
                    "HiPrim"
                )
        if self.effects:
            raise NotImplementedError(
                f"{type(self).__name__}: effects must be empty; io_callback has effects"
            )
        in_avals, self.in_tree = tree_flatten(tuple(self.in_avals))
        out_avals, self.out_tree = tree_flatten(self.out_aval)
        self.in_avals_flat, self.out_avals_flat = [
            [plain(aval) for aval in avals] for avals in (in_avals, out_avals)
        ]
        self.__dict__.update(self.params)
        self.check(*self.in_avals)

    @evaluated_by_library
    def __call__(self, *args: Any) -> Any:
        """Apply the primitive.

        Raises:
            TypeError: the arguments have another tree structure than `in_avals`.
        """
        outs = bind(call_hi_primitive_p, *self._leaves(self.in_tree, args), _prim=self)
        return tree_unflatten(self.out_tree, map(to_array, outs))

    def _leaves(self, expected: Any, given: Any) -> list[Any]:
        leaves, tree = tree_flatten(given)
        if tree != expected:
            raise TypeError(f"{type(self).__name__}: expected {expected}, found {tree}")
        return [to_array(leaf) for leaf in leaves]

    def _lacks(self, method: str, needed_for: str) -> NotImplementedError:
        return NotImplementedError(
            f"{type(self).__name__} must define the method `{method}`, for {needed_for}"
        )

    def expand(self, *args: Any) -> Any:
        """The result, by other operations."""
        raise self._lacks("expand", "evaluation")

    def check(self, *in_avals: Any) -> None:
        """Raise an error if the primitive does not apply to arguments of these types."""

    def jvp(self, primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
        """The result and its tangent; tangents may be `Zero`."""
        raise self._lacks("jvp", "derivatives in forward mode")

    def lin(self, nzs_in: tuple[Any, ...], *primals: Any) -> tuple[Any, ...]:
        """The result, and what `linearized` needs; `nzs_in` says which tangents are not zero."""
        raise self._lacks("lin", "derivatives in forward mode")

    def linearized(self, residuals: Any, *tangents: Any) -> Any:
        """The tangent of the result, linear in the tangents."""
        raise self._lacks("linearized", "derivatives in forward mode")

    def vjp_fwd(self, nzs_in: tuple[Any, ...], /, *args: Any) -> tuple[Any, ...]:
        """The result, and what reverse mode needs; `nzs_in` says which arguments need cotangents.

        Its pytree may have other objects than arrays.
        """
        raise self._lacks("vjp_fwd", "derivatives in reverse mode")

    def vjp_bwd_retval(self, res: Any, outgrad: Any, /) -> tuple[Any, ...]:
        """The cotangents of the arguments; they may be `Zero`, or None for that."""
        raise self._lacks("vjp_bwd_retval", "derivatives in reverse mode")

    def vjp_bwd(self, res: Any, outgrad: Any, /, *arg_accums: Any) -> None:
        """Add the cotangents of the arguments to accumulators, in place of `vjp_bwd_retval`."""
        raise self._lacks("vjp_bwd", "derivatives in reverse mode")

    def transpose(self, out_ct: Any, *maybe_accums: Any) -> None:
        """Add cotangents to those of the arguments that are accumulators, `ValAccum`."""
        raise self._lacks("transpose", "transposition")

    def batch(self, axis_data: AxisData, args: tuple[Any, ...], dims: tuple[Any, ...]) -> Any:
        """The result for a batch, and its batch axes, each None where there is none."""
        raise self._lacks("batch", "vmap")

    def __repr__(self) -> str:
        params = " ".join(f"{name}={value}" for name, value in self.params.items())
        return f"{type(self).__name__}[{params}]"

    def __hash__(self) -> int:
        return hash((type(self).__name__, tuple(self.params.items())))

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.params == other.params


def overrides(prim: HiPrim, method: str) -> bool:
    """Return True if the class of a primitive defines a method."""
    return getattr(type(prim), method) is not getattr(HiPrim, method)


def _results(*args: Any, _prim: HiPrim) -> list[Any]:
    outs = _prim._leaves(_prim.out_tree, _prim.expand(*tree_unflatten(_prim.in_tree, args)))
    for out, aval in zip(outs, _prim.out_avals_flat, strict=True):
        found = typeof(out)
        if (found.shape, found.dtype) != (aval.shape, aval.dtype):
            raise TypeError(
                f"{type(_prim).__name__}: out_aval says {aval}, and expand returns {found}"
            )
    return outs


def _sharding(
    in_avals: Sequence[ShapedArray], out_avals: Any, params: dict[str, Any]
) -> list[Division]:
    return [division_of(out) for out in types_by(_results)(*in_avals, **params)]


def _push_forward(prim: HiPrim, primals: Values, tangents: Values) -> tuple[list[Any], list[Any]]:
    args, dots = (tuple(tree_unflatten(prim.in_tree, xs)) for xs in (primals, tangents))
    if overrides(prim, "jvp") or not overrides(prim, "lin"):
        out, out_dot = prim.jvp(args, dots)
    else:
        nonzero = [type(t) is not Zero for t in tangents]
        out, residuals = prim.lin(tree_unflatten(prim.in_tree, nonzero), *args)[:2]
        out_dot = prim.linearized(residuals, *dots)
    return prim._leaves(prim.out_tree, out), list(prim.out_tree.flatten_up_to(out_dot))


def _is_array(x: Any) -> bool:
    return isinstance(x, Array) or hasattr(x, "dtype")


def _forward_pass(
    prim: HiPrim, primals: Values, nonzero: Sequence[bool]
) -> tuple[list[Any], list[Any], Any]:
    nzs = tree_unflatten(prim.in_tree, nonzero)
    out, residuals, *rest = prim.vjp_fwd(nzs, *tree_unflatten(prim.in_tree, primals))
    if len(rest) > 1:
        raise NotImplementedError(
            f"{type(prim).__name__}: vjp_fwd returns structured residuals, {shown(rest[1])}; they "
            "can be among the other residuals"
        )
    leaves, tree = tree_flatten(residuals)
    others = [None if _is_array(x) else x for x in leaves]
    marks = [_is_array(x) for x in leaves]
    arrays = [x for x, mark in zip(leaves, marks, strict=True) if mark]
    return prim._leaves(prim.out_tree, out), arrays, (tree, marks, others, list(nonzero))


def _backward_pass(prim: HiPrim, knowledge: Any, arrays: Values, cts: Values) -> list[Any]:
    tree, marks, others, nonzero = knowledge
    given = iter(arrays)
    leaves = [next(given) if mark else x for mark, x in zip(marks, others, strict=True)]
    residuals, ct = tree_unflatten(tree, leaves), tree_unflatten(prim.out_tree, cts)
    types = [tangent_type(aval) for aval in prim.in_avals_flat]
    sums = [ValAccum(aval) for aval in types]
    if overrides(prim, "vjp_bwd"):
        accums = [
            each if needed else NullAccum(each.aval)
            for each, needed in zip(sums, nonzero, strict=True)
        ]
        prim.vjp_bwd(residuals, ct, *tree_unflatten(prim.in_tree, accums))
    else:
        found = prim.in_tree.flatten_up_to(tuple(prim.vjp_bwd_retval(residuals, ct)))
        for each, in_ct, needed in zip(sums, found, nonzero, strict=True):
            each.accum(in_ct if needed else None)
    return [each.freeze() for each in sums]


def _jvp(primals: Values, tangents: Values, *, _prim: HiPrim) -> tuple[list[Any], list[Any]]:
    push_forward = partial(_push_forward, _prim)
    if not overrides(_prim, "vjp_fwd"):
        return push_forward(primals, tangents)
    forward = overrides(_prim, "jvp") or overrides(_prim, "lin")
    rule = VjpRule(
        partial(_forward_pass, _prim),
        partial(_backward_pass, _prim),
        JvpRule(push_forward) if forward else None,
    )
    return rule.jvp(primals, tangents)


def _transpose(cts: Values, *operands: Any, _prim: HiPrim) -> list[Any]:
    args = [ValAccum(tangent_type(x.aval)) if isinstance(x, UndefPrimal) else x for x in operands]
    _prim.transpose(tree_unflatten(_prim.out_tree, cts), *tree_unflatten(_prim.in_tree, args))
    return [x.freeze() if isinstance(x, ValAccum) else None for x in args]


def _vmap(
    axis: BatchAxis, values: Values, dims: Values, *, _prim: HiPrim
) -> tuple[list[Any], list[Any]]:
    args, in_dims = (tuple(tree_unflatten(_prim.in_tree, xs)) for xs in (values, dims))
    out, out_dims = _prim.batch(axis_data(axis), args, in_dims)
    return _prim._leaves(_prim.out_tree, out), list(_prim.out_tree.flatten_up_to(out_dims))


declare(
    call_hi_primitive_p,
    abstract_eval=lambda *in_avals, _prim: list(_prim.out_avals_flat),
    lower=lower_by(_results),
    vmap=_vmap,
    sharding=_sharding,
    jvp=_jvp,
    transpose=_transpose,
)
evaluators[call_hi_primitive_p] = _results

__all__ = ["HiPrim"]
