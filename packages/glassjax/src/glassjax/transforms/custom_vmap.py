"""Functions and classes with custom rules for `vmap`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Generic, NamedTuple, ParamSpec, TypeVar

import numpy as np

import glassjax_stage2 as stage2
from glassjax.errors import TreeMismatchError
from glassjax.primitives import higher_order
from glassjax.primitives.loops import split_by_sizes, stage_body
from glassjax.runtime.array import tree_to_arrays
from glassjax.runtime.evaluation import evaluated_by_library
from glassjax.settings.names import wraps
from glassjax.transforms.custom_derivatives import by_position
from glassjax_stage1.interpreter import set_interpreter
from glassjax_stage2 import Primitive, Zero, bind, typeof
from glassjax_stage2.arguments import FlatFunction, require_function
from glassjax_stage2.errors import MappedAxisError, shown
from glassjax_stage2.jvp import jvp_flat
from glassjax_stage2.source import name_of
from glassjax_stage2.tangent import instantiate, tangent_type
from glassjax_stage2.trace import EvalTrace
from glassjax_stage2.vmap import BatchAxis, BatchDim, BatchTrace, move_batch_dim
from glassjax_stage3 import JaxprEqn, Var
from glassjax_stage3.jaxpr import consts_as_invars
from glassjax_stage3.jit_rules import jvp_jaxpr
from glassjax_stage4.partial_eval import PartialEqns, merge, partition

Values = Sequence[Any]
Flags = Sequence[bool]
# (batch axis, flags of the operands batched along their first axis, operands) -> (results, flags)
BatchRule = Callable[[BatchAxis, Flags, Values], tuple[list[Any], list[bool]]]

# Parameters: a program, its `BatchRule`, and, if it is a derivative, the call it derives from.
custom_vmap_p = Primitive("custom_vmap_call", higher_order=True)


P = ParamSpec("P")
R = TypeVar("R")
Rule = TypeVar("Rule", bound=Callable[..., Any])


class custom_vmap(Generic[P, R]):
    """Decorator: a function with its own rule for `vmap`.

    All other transformations use the function. The derivative of its `vmap` is the rule's
    derivative; the `vmap` of its gradient uses the gradient of the function.

    Arguments:
        fun: function of arrays and pytrees of arrays.

    Raises:
        AttributeError: when called, no rule is defined.

    >>> import glassjax
    >>> import glassjax.numpy as jnp
    >>> @custom_vmap
    ... def f(x, y):
    ...     return x + y
    >>> @f.def_vmap
    ... def f_vmap(axis_size, in_batched, xs, ys):
    ...     return xs * ys, True
    >>> glassjax.vmap(f)(jnp.arange(3), jnp.arange(1, 4))
    Array([0, 2, 6], dtype=int32)
    """

    vmap_rule: Callable[..., Any] | None = None

    def __init__(self, fun: Callable[P, R]):
        require_function("custom_vmap", fun)
        functools.update_wrapper(self, fun)
        self.fun = fun

    def def_vmap(self, vmap_rule: Rule) -> Rule:
        """Define the rule.

        Arguments:
            vmap_rule: function of the axis size, a list of flags that say for each argument, or
                each array of its pytree, whether it is batched, and the arguments. Batch axes come
                first. It returns the result and, in a pytree of the same structure, flags of its
                batched parts.

        Returns:
            `vmap_rule`, so that this is a decorator.
        """
        self.vmap_rule = vmap_rule
        return vmap_rule

    @evaluated_by_library
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if self.vmap_rule is None:
            raise AttributeError(
                f"no rule is defined for the custom_vmap function `{name_of(self.fun)}`: use its "
                "method def_vmap"
            )
        given = by_position(self.fun, args, kwargs)
        leaves, in_tree = stage2.tree.tree_flatten(tree_to_arrays(given))
        flat = FlatFunction(self.fun, in_tree)
        if isinstance(stage2.current_trace(), EvalTrace):
            outs = flat(*leaves)
            return tree_to_arrays(stage2.tree.tree_unflatten(flat.out_tree, outs))
        closed = stage_body(flat, list(map(typeof, leaves)), "custom_vmap", self.fun)
        rule = partial(
            _custom_vmap_rule,
            self.vmap_rule,
            len(closed.consts),
            in_tree,
            flat.out_tree,
            closed.out_avals,
        )
        outs = bind(
            custom_vmap_p,
            *closed.consts,
            *leaves,
            jaxpr=consts_as_invars(closed),
            rule=rule,
            primal_call=None,
        )
        return stage2.tree.tree_unflatten(flat.out_tree, outs)


def _custom_vmap_rule(
    rule: Callable[..., Any],
    num_consts: int,
    in_tree: stage2.tree.PyTreeDef,
    out_tree: stage2.tree.PyTreeDef,
    out_avals: Sequence[stage2.ShapedArray],
    axis: BatchAxis,
    batched: Flags,
    values: Values,
) -> tuple[list[Any], list[bool]]:
    """The user's rule as a `BatchRule`, with its results checked."""
    role = f"custom_vmap: the rule `{name_of(rule)}`"
    if any(batched[:num_consts]):
        raise TypeError(
            f"{role} is given arguments only, but the function closes over a batched value. "
            "Make the value an argument."
        )
    args = stage2.tree.tree_unflatten(in_tree, values[num_consts:])
    pair = rule(axis.size, list(stage2.tree.tree_unflatten(in_tree, batched[num_consts:])), *args)
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise ValueError(
            f"{role} must return a pair, the result and which parts of it are batches; "
            f"found {shown(pair)}"
        )
    outs, tree = stage2.tree.tree_flatten(tree_to_arrays(pair[0]))
    out_batched, batched_tree = stage2.tree.tree_flatten(pair[1])
    if tree != batched_tree:
        raise TreeMismatchError(
            f"{role} must say in the structure of its result which parts of it are batches: "
            + stage2.explain_mismatch(tree, batched_tree)
        )
    if tree != out_tree:
        raise TreeMismatchError(
            f"{role} must return a result of the structure of the function's: "
            + stage2.explain_mismatch(out_tree, tree, name="result")
        )
    for out, is_batch, aval in zip(outs, out_batched, out_avals, strict=True):
        expected = (axis.size, *aval.shape) if is_batch else aval.shape
        if typeof(out).shape != expected:
            raise ValueError(
                f"{role} returned {typeof(out)} and said that it is {'a' if is_batch else 'no'} "
                f"batch of {axis.size} examples of {aval}"
            )
    return outs, list(map(bool, out_batched))


def _custom_vmap_vmap(
    axis: BatchAxis, values: Values, dims: Sequence[BatchDim], *, rule: BatchRule, **params: Any
) -> tuple[list[Any], list[BatchDim]]:
    values = [
        x if dim is None else move_batch_dim(x, axis, dim, 0)
        for x, dim in zip(values, dims, strict=True)
    ]
    outs, batched = rule(axis, [dim is not None for dim in dims], values)
    return outs, [0 if is_batch else None for is_batch in batched]


def _custom_vmap_jvp(
    primals: Values, tangents: Values, **params: Any
) -> tuple[list[Any], list[Any]]:
    jaxpr = params["jaxpr"]
    nonzero = tuple(type(t) is not Zero for t in tangents)
    program, consts, out_nonzero = jvp_jaxpr(jaxpr, nonzero)
    given = [t for t in tangents if type(t) is not Zero]
    results = bind(
        custom_vmap_p,
        *consts,
        *primals,
        *given,
        jaxpr=program,
        rule=partial(_rule_jvp, params["rule"], len(consts), nonzero, out_nonzero),
        primal_call=(len(consts), len(primals), params),
    )
    count = len(out_nonzero)
    zero_avals, _ = partition(out_nonzero, jaxpr.out_avals)
    zeros = [Zero(tangent_type(aval)) for aval in zero_avals]
    return results[:count], merge(out_nonzero, zeros, results[count:])


def _rule_jvp(
    rule: BatchRule,
    num_consts: int,
    nonzero: Flags,
    out_nonzero: Flags,
    axis: BatchAxis,
    batched: Flags,
    values: Values,
) -> tuple[list[Any], list[bool]]:
    """The `vmap` rule of the derivative: the derivative of the rule."""
    _, primals, tangents = split_by_sizes(values, num_consts, len(nonzero))
    _, primal_batched, given_batched = split_by_sizes(batched, num_consts, len(nonzero))
    # A primal and its tangent must be batched together.
    tangent_batched = merge(nonzero, [False] * nonzero.count(False), given_batched)
    both = [a or b for a, b in zip(primal_batched, tangent_batched, strict=True)]

    def as_batches(xs: Values, flags: Flags, wanted: Flags) -> list[Any]:
        return [
            move_batch_dim(x, axis, None, 0) if want and not flag else x
            for x, flag, want in zip(xs, flags, wanted, strict=True)
        ]

    primals = as_batches(primals, primal_batched, both)
    given = as_batches(tangents, given_batched, partition(nonzero, both)[1])
    zeros = [Zero.like(x) for x in partition(nonzero, primals)[0]]
    out_batched: list[bool] = []

    def apply(*primals: Any) -> list[Any]:
        outs, out_batched[:] = rule(axis, both, primals)
        return outs

    outs, dots = jvp_flat(apply, primals, merge(nonzero, zeros, given), rule)
    _, dots = partition(out_nonzero, dots)
    _, dots_batched = partition(out_nonzero, out_batched)
    return [*outs, *map(instantiate, dots)], [*out_batched, *dots_batched]


def _known_call(unknown_ins: Flags, params: dict[str, Any]) -> tuple[slice, dict[str, Any]] | None:
    """The operands and parameters of the call differentiated here, if they are known."""
    if params["primal_call"] is None:
        return None
    num_consts, num_primals, primal_params = params["primal_call"]
    end = num_consts + num_primals
    return None if any(unknown_ins[:end]) else (slice(num_consts, end), primal_params)


def _custom_vmap_partial_eval(unknown_ins: Flags, eqn: JaxprEqn) -> PartialEqns:
    """Call at once; the derivative is deferred, and recomputes what it needs."""
    known = _known_call(unknown_ins, eqn.params)
    if known is None:
        return PartialEqns([], eqn)
    operands, primal_params = known
    count = len(primal_params["jaxpr"].outvars)
    outs = eqn.outvars[:count]
    again = [*(Var(out.aval) for out in outs), *eqn.outvars[count:]]
    return PartialEqns(
        [JaxprEqn(custom_vmap_p, eqn.invars[operands], outs, primal_params, eqn.source)],
        JaxprEqn(custom_vmap_p, eqn.invars, again, eqn.params, eqn.source),
    )


higher_order.declare_program(
    custom_vmap_p,
    evaluate=higher_order.program_impl,
    abstract_eval=higher_order.program_type,
    lower=higher_order.program_lower("custom_vmap"),
    vmap=_custom_vmap_vmap,
    jvp=_custom_vmap_jvp,
    transpose=higher_order.transpose_program,
    partial_eval=_custom_vmap_partial_eval,
    dce=None,
    dependence=None,  # the user's rule decides
    order=higher_order.program_effects,
    keys=higher_order.program_keys,
    steps=higher_order.run_program,
)


# Classes that `vmap` maps over by registered functions.


class Vmappable(NamedTuple):
    """The functions of one class; see `register_vmappable`."""

    spec_type: type
    axis_size_type: type
    to_elt: Callable[..., Any]
    from_elt: Callable[..., Any]
    make_iota: Callable[[Any], Any] | None


vmappables: dict[type, Vmappable] = {}


def register_vmappable(
    data_type: type,
    spec_type: type,
    axis_size_type: type,
    to_elt: Callable[..., Any],
    from_elt: Callable[..., Any],
    make_iota: Callable[[Any], Any] | None,
) -> None:
    """Let `vmap` map over the instances of a class, by functions from its library.

    Arguments:
        data_type: the class. Its instances are leaves for `vmap`, also if it is a pytree.
        spec_type: the type of their entries in `in_axes` and `out_axes`, such as int.
        axis_size_type: the type of the size of the mapped axis, such as int.
        to_elt: `to_elt(cont, get_idx, x, spec)` returns one example of `x`. `cont(part, spec)`
            gives one example of a part, an array along an axis; `get_idx()` gives the index of the
            example.
        from_elt: `from_elt(cont, axis_size, element, spec)` returns the examples as one object.
            `cont(axis_size, part, spec)` does the same for a part.
        make_iota: returns the indices of the examples for a size of `axis_size_type`; None: ints.
    """
    vmappables[data_type] = Vmappable(spec_type, axis_size_type, to_elt, from_elt, make_iota)


def unregister_vmappable(data_type: type) -> None:
    """Do nothing, as in JAX: a registered class stays registered."""


def _is_vmappable(x: Any) -> bool:
    return type(x) in vmappables


def _is_spec(x: Any) -> bool:
    return x is None or any(type(x) is each.spec_type for each in vmappables.values())


def _ints(axes: Any) -> Any:
    """`axes` without specs of other types, which belong to instances of registered classes."""
    return stage2.tree.tree_map(lambda x: x if isinstance(x, int) else None, axes, is_leaf=_is_spec)


class _Split:
    """A tree, split into instances of registered classes and everything else.

    Attributes:
        rest: the tree, with None in place of the instances.
        specs: the entry of each instance in the axes, which may be given for a prefix of the tree.
    """

    def __init__(self, tree: Any, axes: Any):
        self._leaves, self._tree = stage2.tree.tree_flatten(tree, _is_vmappable)
        self._are_here = [*map(_is_vmappable, self._leaves)]
        marks = [_Mark() if is_here else 0 for is_here in self._are_here]
        found = stage2.tree.broadcast_prefix(axes, self._tree.unflatten(marks), _is_spec)
        self.specs = [spec for spec, is_here in zip(found, self._are_here, strict=True) if is_here]
        self.rest = self._tree.unflatten(
            None if is_here else leaf
            for leaf, is_here in zip(self._leaves, self._are_here, strict=True)
        )

    @property
    def found(self) -> Iterator[tuple[Any, Any]]:
        """The instances, each with its spec."""
        return zip(filter(_is_vmappable, self._leaves), self.specs, strict=True)

    def join(self, instances: list[Any], rest: Any) -> Any:
        """The tree with other parts."""
        first, second = iter(instances), iter(stage2.tree.tree_leaves(rest))
        return self._tree.unflatten(
            next(first if is_here else second) for is_here in self._are_here
        )


class _Mark:
    """A leaf that stands for an instance."""


def map_vmappables(
    mapping: Callable[..., Any],
    fun: Callable[..., Any],
    in_axes: Any,
    out_axes: Any,
    axis_size: Any,
    args: Any,
    kwargs: Any,
) -> Any:
    """The result of `vmap` if arguments or results may be instances of registered classes.

    Arguments:
        mapping: `vmap` of functions of arrays: it takes the function, the axes and the size.
    """
    inputs = _Split((args, kwargs), (in_axes, 0))
    sizes = {_mapped_size(x, spec) for x, spec in inputs.found} - {None}
    if axis_size is None and len(sizes) == 1:
        (axis_size,) = sizes
    outputs: list[Any] = []

    @wraps(fun)
    def elements_fun(*args: Any, **kwargs: Any) -> Any:
        trace: Any = stage2.current_trace()
        with set_interpreter(trace.parent):
            elements = [_example(trace, axis_size, x, spec) for x, spec in inputs.found]
        args, kwargs = inputs.join(elements, (args, kwargs))
        split = _Split(fun(*args, **kwargs), out_axes)
        with set_interpreter(trace.parent):
            found = [
                _examples(trace, axis_size or trace.axis.size, x, spec) for x, spec in split.found
            ]
        outputs[:] = split, found
        return split.rest

    rest_args, rest_kwargs = inputs.rest
    number = None if axis_size is None else int(axis_size)
    result = mapping(elements_fun, _ints(in_axes), _ints(out_axes), number)(
        *rest_args, **rest_kwargs
    )
    split, found = outputs
    return split.join(found, result)


def _mapped_size(x: Any, spec: Any) -> Any:
    """The size of the mapped axis of an instance with a shape; None if it is unknown."""
    shape = getattr(x, "shape", ())
    is_axis = isinstance(spec, int) and -len(shape) <= spec < len(shape)
    return shape[spec] if is_axis else None


def _example(trace: BatchTrace, axis_size: Any, x: Any, spec: Any) -> Any:
    """One example of an instance, or of an array."""

    @functools.cache
    def index() -> Any:
        size = trace.axis.size if axis_size is None else axis_size
        for each in vmappables.values():
            if each.make_iota and type(size) is each.axis_size_type:
                return trace.box(each.make_iota(size), 0)
        return trace.box(np.arange(trace.axis.size, dtype=np.int32), 0)

    def example_leaf(x: Any, spec: Any) -> Any:
        handlers = vmappables.get(type(x))
        if handlers:
            return handlers.to_elt(example_leaf, index, x, spec)
        if spec is None:
            return x
        if not isinstance(spec, int) or not -typeof(x).ndim <= spec < typeof(x).ndim:
            raise MappedAxisError(
                f"vmap: {shown(spec)} is not an axis of {typeof(x)}, a part of an argument that "
                "register_vmappable is about"
            )
        return trace.box(x, spec % typeof(x).ndim)

    return example_leaf(x, spec)


def _examples(trace: BatchTrace, axis_size: Any, x: Any, spec: Any) -> Any:
    """All examples as one instance, or as one array."""

    def examples(axis_size: Any, x: Any, spec: Any) -> Any:
        handlers = vmappables.get(type(x))
        if handlers:
            return handlers.from_elt(examples, axis_size, x, spec)
        (value,), (dim,) = trace.unbox([x])
        if spec is not None:
            return tree_to_arrays(move_batch_dim(value, trace.axis, dim, spec))
        if dim is not None:
            raise MappedAxisError(
                "vmap: out_axes is None for a part of a result, of a class that register_vmappable "
                "is about, that differs between examples. Give it an axis."
            )
        return value

    return examples(axis_size, x, spec)
