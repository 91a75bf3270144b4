"""Primitives written as classes; JAX's user-defined types are unsupported."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any, NamedTuple, NoReturn

import glassjax_stage2 as stage2
from glassjax.primitives.axes import AxisData, axis_data, map_flat
from glassjax.primitives.declare import declare, lower_by, types_by
from glassjax.primitives.methods import is_undefined_primal
from glassjax.primitives.sharding_rules import by_types
from glassjax.runtime.array import Array, to_array
from glassjax.runtime.evaluation import evaluated_by_library, evaluators
from glassjax.runtime.refs import AbstractRef
from glassjax.settings.names import list_public_names
from glassjax.settings.tracers import plain
from glassjax.shardings import types
from glassjax.transforms.autodiff import linear_transpose
from glassjax.transforms.custom_derivatives import JvpRule, VjpRule
from glassjax_stage2 import Primitive, ShapedArray, Zero, typeof
from glassjax_stage2.errors import shown
from glassjax_stage2.shaped_array import aval_rules
from glassjax_stage2.tangent import instantiate, tangent_type
from glassjax_stage2.tree import broadcast_prefix, tree_flatten, tree_unflatten
from glassjax_stage2.vmap import BatchAxis, move_batch_dim
from glassjax_stage4 import UndefPrimal

# Accumulators: a reverse-mode rule may add cotangents to them instead of returning them.


class GradAccum:
    """The base class of accumulators of the cotangents of one value.

    Arguments:
        aval: the type of the cotangents.
    """

    def __init__(self, aval: ShapedArray):
        self.aval = plain(aval)

    def accum(self, x: Any) -> None:
        """Add a cotangent, which may be `Zero`, or None for that."""
        raise NotImplementedError(f"{type(self).__name__}: accum is not defined; use a ValAccum")

    def freeze(self) -> Any:
        """The sum of the cotangents; `Zero` if there were none."""
        raise NotImplementedError(f"{type(self).__name__}: freeze is not defined; use a ValAccum")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.aval})"


class ValAccum(GradAccum):
    """Holds the sum of cotangents.

    Arguments:
        aval: the type of the cotangents.
        val: the first of them.

    Raises:
        ValueError: a cotangent has another shape.

    >>> from glassjax.experimental import hijax
    >>> total = hijax.ValAccum(glassjax.typeof(jnp.zeros(2)))
    >>> total.accum(jnp.ones(2))
    >>> total.accum(None)
    >>> total.accum(jnp.ones(2))
    >>> total.freeze()
    Array([2., 2.], dtype=float32)
    """

    def __init__(self, aval: ShapedArray, val: Any = None):
        super().__init__(aval)
        self.val: Any = Zero(self.aval)
        self.accum(val)

    def accum(self, x: Any) -> None:
        """Add a cotangent, which may be `Zero`, or None for that."""
        if x is None:
            return
        found = x.aval if type(x) is Zero else typeof(x)
        if found.shape != self.aval.shape:
            raise ValueError(f"ValAccum: expected a cotangent of type {self.aval}, found {found}")
        if type(x) is not Zero:
            self.val = x if type(self.val) is Zero else stage2.add(self.val, x)

    def freeze(self) -> Any:
        """The sum of the cotangents; `Zero` if there were none."""
        return self.val


class NullAccum(GradAccum):
    """Ignores cotangents, for a value whose cotangent is unused."""

    def accum(self, x: Any) -> None:
        """Do nothing."""


# `HiPrim`: classes of primitives with all their rules as methods.


Values = Sequence[Any]

call_hi_primitive_p = Primitive("call_hi_primitive")


class HiPrim:
    """The base class of primitives whose rules are methods.

    An instance is a primitive with parameters. `__init__` of a subclass sets these attributes and
    then calls the base class's:

    Attributes:
        in_avals: the tuple of the types of the arguments, which may be pytrees.
        out_aval: the type of the result, which may be a pytree.
        params: the parameters, hashable, by name; they become attributes, too.

    `expand` is required, other methods only where programs need them. If there are rules for
    forward and for reverse mode, each mode uses its own; reverse mode also follows from `jvp` or
    `lin`.

    Raises:
        AttributeError: an attribute is not set.
        NotImplementedError: there are `effects`; a method is called that the class lacks.

    >>> from glassjax.experimental import hijax
    >>> class Cube(hijax.HiPrim):
    ...     def __init__(self, aval):
    ...         self.in_avals, self.out_aval, self.params = (aval,), aval, {}
    ...         super().__init__()
    ...     def expand(self, x):
    ...         return x * x * x
    ...     def jvp(self, primals, tangents):
    ...         (x,), (t,) = primals, tangents
    ...         return self(x), 3 * x * x * t
    >>> cube = lambda x: Cube(glassjax.typeof(x))(x)
    >>> glassjax.value_and_grad(cube)(jnp.float32(2))
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
                    f"{type(self).__name__}: __init__ must set self.{name} before it calls "
                    "HiPrim.__init__"
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
        outs = stage2.bind(call_hi_primitive_p, *self._leaves(self.in_tree, args), _prim=self)
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
        """The result, computed by other operations."""
        raise self._lacks("expand", "evaluation")

    def check(self, *in_avals: Any) -> None:
        """Raise an error if the primitive does not apply to arguments of these types."""

    def jvp(self, primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
        """The result and its tangent; tangents may be `Zero`."""
        raise self._lacks("jvp", "derivatives in forward mode")

    def lin(self, nzs_in: tuple[Any, ...], *primals: Any) -> tuple[Any, ...]:
        """The result, and the residuals of `linearized`; `nzs_in` flags nonzero tangents."""
        raise self._lacks("lin", "derivatives in forward mode")

    def linearized(self, residuals: Any, *tangents: Any) -> Any:
        """The tangent of the result, linear in the tangents."""
        raise self._lacks("linearized", "derivatives in forward mode")

    def vjp_fwd(self, nzs_in: tuple[Any, ...], /, *args: Any) -> tuple[Any, ...]:
        """The result and the residuals; `nzs_in` flags arguments that need cotangents.

        The pytree of residuals may hold objects other than arrays.
        """
        raise self._lacks("vjp_fwd", "derivatives in reverse mode")

    def vjp_bwd_retval(self, res: Any, outgrad: Any, /) -> tuple[Any, ...]:
        """The cotangents of the arguments; they may be `Zero`, or None for that."""
        raise self._lacks("vjp_bwd_retval", "derivatives in reverse mode")

    def vjp_bwd(self, res: Any, outgrad: Any, /, *arg_accums: Any) -> None:
        """Add the cotangents of the arguments to accumulators; replaces `vjp_bwd_retval`."""
        raise self._lacks("vjp_bwd", "derivatives in reverse mode")

    def transpose(self, out_ct: Any, *maybe_accums: Any) -> None:
        """Add cotangents to those arguments that are accumulators, `ValAccum`."""
        raise self._lacks("transpose", "transposition")

    def batch(self, axis_data: AxisData, args: tuple[Any, ...], dims: tuple[Any, ...]) -> Any:
        """The result for a batch, and its batch axes, None for results without one."""
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


def _hi_prim_outputs(*args: Any, _prim: HiPrim) -> list[Any]:
    outs = _prim._leaves(_prim.out_tree, _prim.expand(*tree_unflatten(_prim.in_tree, args)))
    for out, aval in zip(outs, _prim.out_avals_flat, strict=True):
        found = typeof(out)
        if (found.shape, found.dtype) != (aval.shape, aval.dtype):
            raise TypeError(
                f"{type(_prim).__name__}: out_aval says {aval}, and expand returns {found}"
            )
    return outs


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


def _hi_prim_jvp(
    primals: Values, tangents: Values, *, _prim: HiPrim
) -> tuple[list[Any], list[Any]]:
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


def _hi_prim_transpose(cts: Values, *operands: Any, _prim: HiPrim) -> list[Any]:
    args = [ValAccum(tangent_type(x.aval)) if isinstance(x, UndefPrimal) else x for x in operands]
    _prim.transpose(tree_unflatten(_prim.out_tree, cts), *tree_unflatten(_prim.in_tree, args))
    return [x.freeze() if isinstance(x, ValAccum) else None for x in args]


def _hi_prim_vmap(
    axis: BatchAxis, values: Values, dims: Values, *, _prim: HiPrim
) -> tuple[list[Any], list[Any]]:
    args, in_dims = (tuple(tree_unflatten(_prim.in_tree, xs)) for xs in (values, dims))
    out, out_dims = _prim.batch(axis_data(axis), args, in_dims)
    return _prim._leaves(_prim.out_tree, out), list(_prim.out_tree.flatten_up_to(out_dims))


declare(
    call_hi_primitive_p,
    abstract_eval=lambda *in_avals, _prim: list(_prim.out_avals_flat),
    lower=lower_by(_hi_prim_outputs),
    vmap=_hi_prim_vmap,
    sharding=by_types(types_by(_hi_prim_outputs)),
    jvp=_hi_prim_jvp,
    transpose=_hi_prim_transpose,
)
evaluators[call_hi_primitive_p] = _hi_prim_outputs


# Rules of a `HiPrim` derived from others, to assign in the body of a class.


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

    Arguments:
        self: the primitive.
        primals: the arguments.
        tangents: a tangent for each, of the same structure.

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


def _argument_cotangents(
    self: HiPrim, nzs_in: Any, push_forward: Callable[[tuple[Any, ...]], Any], out_ct: Any
) -> tuple[Any, ...]:
    """The cotangents of the arguments, from a linear function of their tangents."""
    nonzero = tree_flatten(nzs_in)[0]
    types = [tangent_type(aval) for aval in self.in_avals_flat]

    def nonzero_push_forward(*given: Any) -> list[Any]:
        rest = iter(given)
        tangents = [
            next(rest) if keep else Zero(aval) for keep, aval in zip(nonzero, types, strict=True)
        ]
        out = push_forward(tuple(tree_unflatten(self.in_tree, tangents)))
        return [_instantiated(t) for t in self.out_tree.flatten_up_to(out)]

    chosen = [aval for aval, keep in zip(types, nonzero, strict=True) if keep]
    cts = [_instantiated(ct) for ct in self.out_tree.flatten_up_to(out_ct)]
    found = iter(linear_transpose(nonzero_push_forward, *chosen)(cts))
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
    return _argument_cotangents(self, nzs_in, lambda dots: self.jvp(primals, dots)[1], out_ct)


def _fwd_of_lin(self: HiPrim, nzs_in: Any, *primals: Any) -> tuple[Any, Any]:
    out, residuals = self.lin(nzs_in, *primals)[:2]
    return out, (residuals, nzs_in)


def _bwd_of_lin(self: HiPrim, res: Any, out_ct: Any) -> tuple[Any, ...]:
    residuals, nzs_in = res
    return _argument_cotangents(
        self, nzs_in, lambda dots: self.linearized(residuals, *dots), out_ct
    )


linearize_from_jvp = LinearizationRules(_lin, _linearized)
vjp_from_jvp = ReverseRules(_fwd_of_jvp, _bwd_of_jvp)
vjp_from_lin = ReverseRules(_fwd_of_lin, _bwd_of_lin)


def unmap_avals(axis_data: AxisData, avals: Any, dims: Any) -> Any:
    """The types of batches of values of these types, for the rule `batch`.

    Arguments:
        axis_data: the batch axis, with its size.
        avals: the types of the values, a pytree.
        dims: the positions of the batch axis, in the same structure.
    """
    return stage2.tree_map(axis_data.batch, avals, dims)


def bdims_at_front(axis_data: AxisData, args: Any, dims: Any) -> Any:
    """The arrays of a pytree with the batch axis first, broadcast if they have none.

    Arguments:
        axis_data: the batch axis, with its size.
        args: a pytree of arrays.
        dims: the positions of their batch axes; None for an array without one.
    """
    return stage2.tree_map(lambda x, dim: move_batch_dim(x, axis_data, dim, 0), args, dims)


def vmap_rule(
    axis_data: AxisData, f: Callable[..., Any], in_axes: Any, out_axes: Any
) -> Callable[..., Any]:
    """`f` mapped over the axis of a rule `batch`; arguments and results may be `Zero`.

    Arguments:
        axis_data: the axis.
        f: function of arrays and pytrees of arrays.
        in_axes: the batch axes of the arguments, a pytree prefix of their tuple.
        out_axes: the batch axes of the results, a pytree prefix of the result.

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

        def example_fun(*given: Any) -> Sequence[Any]:
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
        results = iter(zip(*map_flat(example_fun, given, given_dims, axis_data), strict=True))
        out_tree, zeros = found
        whole = tree_unflatten(out_tree, [False] * len(zeros))
        places = broadcast_prefix(out_axes, whole, is_leaf=is_none)
        outs = [
            move_axis(*next(results), place) if each is None else batched_zero(each, place)
            for each, place in zip(zeros, places, strict=True)
        ]
        return tree_unflatten(out_tree, outs)

    def move_axis(out: Any, dim: int | None, place: int | None) -> Any:
        if place is not None:
            return move_batch_dim(out, axis_data, dim, place)
        if dim is not None:
            raise ValueError("vmap_rule: out_axes is None for a result that depends on the example")
        return out

    def batched_zero(zero: Zero, place: int | None) -> Zero:
        return Zero(axis_data.batch(zero.aval, place))

    return mapped_function


# Primitives as classes, under the names of `jax.experimental.hijax`.
#
# User-defined types, `HiType`, are unsupported: a class can derive from it, but instantiation
# raises an error.


AbstractValue = types.ShapedArray


class aval_method:
    """A method of a type that values of the type have, too.

    >>> from glassjax.experimental import hijax
    >>> hijax.aval_method(len).fun
    <built-in function len>
    """

    def __init__(self, fun: Callable[..., Any]):
        self.fun = fun


class aval_property:
    """A property of a type that values of the type have, too.

    >>> from glassjax.experimental import hijax
    >>> hijax.aval_property(len).fget
    <built-in function len>
    """

    def __init__(self, fget: Callable[[Any], Any]):
        self.fget = fget


def instantiate_zeros(tangent: Any) -> Any:
    """A tangent as an array, if it is a symbolic zero; anything else as it is.

    >>> from glassjax.experimental import hijax
    >>> hijax.instantiate_zeros(2.0)
    2.0
    """
    return instantiate(tangent) if isinstance(tangent, Zero) else tangent


_REMEDY = "types of hijax are not in glassjax. A pytree (tree_util.register_dataclass) may do."


class _Absent:
    """An unsupported class of JAX, from which classes can derive."""

    is_absent = True

    def __init__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(f"{type(self).__name__}: {_REMEDY}")


class HiType(_Absent):
    """A user-defined type, which is unsupported."""


def register_hitype(cls: type, typeof_fn: Callable[[Any], Any]) -> None:
    """Accept a class of values of a `HiType`; functions of arrays reject them.

    Raises:
        NotImplementedError: when a function of arrays is given such a value.
    """

    def refuse(value: Any) -> NoReturn:
        raise NotImplementedError(
            f"a value of type {cls.__name__}, which was registered by register_hitype: {_REMEDY}"
        )

    aval_rules[cls] = refuse


register_hitype.is_absent = True  # type: ignore[attr-defined]


__all__ = [
    "AbstractRef",
    "AbstractValue",
    "GradAccum",
    "HiPrim",
    "HiType",
    "NullAccum",
    "ShapedArray",
    "ValAccum",
    "Zero",
    "aval_method",
    "aval_property",
    "bdims_at_front",
    "instantiate_zeros",
    "is_undefined_primal",
    "jvp_from_lin",
    "linearize_from_jvp",
    "register_hitype",
    "unmap_avals",
    "vjp_from_jvp",
    "vjp_from_lin",
    "vmap_rule",
]
list_public_names(globals())
