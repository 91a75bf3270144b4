"""Policies of `checkpoint`: the results of primitives to keep instead of recomputing."""

from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any, NamedTuple

from minijax.primitives.declare import declare
from minijax.primitives.sharding_rules import by_elements
from minijax_stage2 import Primitive, ShapedArray, bind1
from minijax_stage2.primitives import dot_general_p
from minijax_stage2.vmap_rules import elementwise


class _Decision:
    """A result of policies, in the place of True or False."""

    def __init__(self, name: str, keeps: bool):
        self._name = name
        self._keeps = keeps

    def __bool__(self) -> bool:
        return self._keeps

    def __repr__(self) -> str:
        return self._name


Saveable = _Decision("Saveable", True)
Recompute = _Decision("Recompute", False)


class Offloadable(NamedTuple):
    """A result of policies, in the place of True: results are kept, where they are.

    Attributes:
        src, dst: the kinds of memory; of no effect.

    >>> policy = lambda prim, *avals, **params: Offloadable("device", "pinned_host")
    >>> minijax.grad(minijax.checkpoint(jnp.sin, policy=policy))(0.0)
    Array(1., dtype=float32, weak_type=True)
    """

    src: str
    dst: str


# Of a primitive, the types of its operands, and its parameters: whether to keep its results.
Policy = Callable[..., bool | _Decision | Offloadable]

name_p = Primitive("name")
declare(
    name_p,
    abstract_eval=lambda x, *, name: [x],
    lower=lambda b, out_avals, x, *, name: [x],
    vmap=elementwise(name_p),
    sharding=by_elements(name_p),
    jvp=[lambda t, out, x, *, name: bind1(name_p, t, name=name)],
    transpose=[lambda ct, x, *, name: ct],
)


def everything_saveable(prim: Primitive, *in_avals: ShapedArray, **params: Any) -> bool:
    """Keep everything, as without `checkpoint`.

    The numbers of products and sines in the program of a gradient:

    >>> f = lambda w, x: jnp.sum(jnp.sin(w @ x) ** 2)
    >>> g = minijax.checkpoint(f, policy=minijax.checkpoint_policies.everything_saveable)
    >>> program = str(minijax.make_jaxpr(minijax.grad(g))(jnp.ones((2, 2)), jnp.ones(2)))
    >>> program.count("dot_general"), program.count("= sin ")
    (2, 1)
    """
    return True


def nothing_saveable(prim: Primitive, *in_avals: ShapedArray, **params: Any) -> bool:
    """Keep only the arguments, as without a policy.

    The numbers of products and sines in the program of a gradient:

    >>> f = lambda w, x: jnp.sum(jnp.sin(w @ x) ** 2)
    >>> g = minijax.checkpoint(f, policy=minijax.checkpoint_policies.nothing_saveable)
    >>> program = str(minijax.make_jaxpr(minijax.grad(g))(jnp.ones((2, 2)), jnp.ones(2)))
    >>> program.count("dot_general"), program.count("= sin ")
    (3, 2)
    """
    return False


def dots_saveable(prim: Primitive, *in_avals: ShapedArray, **params: Any) -> bool:
    """Keep matrix products, which take most of the time and little of the memory.

    The numbers of products and sines in the program of a gradient:

    >>> f = lambda w, x: jnp.sum(jnp.sin(w @ x) ** 2)
    >>> g = minijax.checkpoint(f, policy=minijax.checkpoint_policies.dots_saveable)
    >>> program = str(minijax.make_jaxpr(minijax.grad(g))(jnp.ones((2, 2)), jnp.ones(2)))
    >>> program.count("dot_general"), program.count("= sin ")
    (2, 2)
    """
    return prim is dot_general_p


def dots_with_no_batch_dims_saveable(
    prim: Primitive, *in_avals: ShapedArray, **params: Any
) -> bool:
    """Keep matrix products without batch axes.

    The numbers of products and sines in the program of a gradient:

    >>> f = lambda w, x: jnp.sum(jnp.sin(minijax.vmap(jnp.dot)(w, x)) ** 2)
    >>> policy = minijax.checkpoint_policies.dots_with_no_batch_dims_saveable
    >>> gradient = minijax.grad(minijax.checkpoint(f, policy=policy))
    >>> program = str(minijax.make_jaxpr(gradient)(jnp.ones((5, 2, 2)), jnp.ones((5, 2))))
    >>> program.count("dot_general"), program.count("= sin ")
    (3, 2)
    """
    if prim is not dot_general_p:
        return False
    _, (x_batch, y_batch) = params["dimension_numbers"]
    return not x_batch and not y_batch


def save_only_these_names(*names_which_can_be_saved: str) -> Policy:
    """Keep the values that `checkpoint_name` gave one of these names.

    The numbers of both logarithms in the program of a gradient:

    >>> from minijax.ad_checkpoint import checkpoint_name
    >>> f = lambda x: jnp.exp(checkpoint_name(jnp.log1p(checkpoint_name(jnp.log(x), "a")), "b"))
    >>> policy = minijax.checkpoint_policies.save_only_these_names("b")
    >>> program = str(minijax.make_jaxpr(minijax.grad(minijax.checkpoint(f, policy=policy)))(3.0))
    >>> program.count("= log "), program.count("= log1p ")
    (2, 1)
    """
    names = frozenset(names_which_can_be_saved)
    return lambda prim, *in_avals, **params: prim is name_p and params["name"] in names


def save_any_names_but_these(*names_not_to_save: str) -> Policy:
    """Keep the values with a name other than these.

    The numbers of both logarithms in the program of a gradient:

    >>> from minijax.ad_checkpoint import checkpoint_name
    >>> f = lambda x: jnp.exp(checkpoint_name(jnp.log1p(checkpoint_name(jnp.log(x), "a")), "b"))
    >>> policy = minijax.checkpoint_policies.save_any_names_but_these("b")
    >>> program = str(minijax.make_jaxpr(minijax.grad(minijax.checkpoint(f, policy=policy)))(3.0))
    >>> program.count("= log "), program.count("= log1p ")
    (1, 2)
    """
    names = frozenset(names_not_to_save)
    return lambda prim, *in_avals, **params: prim is name_p and params["name"] not in names


def save_anything_except_these_names(*names_not_to_save: str) -> Policy:
    """Keep all values except those with one of these names.

    The numbers of both logarithms in the program of a gradient:

    >>> from minijax.ad_checkpoint import checkpoint_name
    >>> f = lambda x: jnp.exp(checkpoint_name(jnp.log1p(checkpoint_name(jnp.log(x), "a")), "b"))
    >>> policy = minijax.checkpoint_policies.save_anything_except_these_names("b")
    >>> program = str(minijax.make_jaxpr(minijax.grad(minijax.checkpoint(f, policy=policy)))(3.0))
    >>> program.count("= log "), program.count("= log1p ")
    (1, 1)
    """
    names = frozenset(names_not_to_save)
    return lambda prim, *in_avals, **params: not (prim is name_p and params["name"] in names)


def save_from_both_policies(policy_1: Policy, policy_2: Policy) -> Policy:
    """Keep the values that either policy keeps.

    The numbers of products and sines in the program of a gradient:

    >>> from minijax.ad_checkpoint import checkpoint_name
    >>> policies = minijax.checkpoint_policies
    >>> policy = policies.save_from_both_policies(
    ...     policies.dots_saveable, policies.save_only_these_names("waves")
    ... )
    >>> f = lambda w, x: jnp.sum(checkpoint_name(jnp.sin(w @ x), "waves") ** 2)
    >>> gradient = minijax.grad(minijax.checkpoint(f, policy=policy))
    >>> program = str(minijax.make_jaxpr(gradient)(jnp.ones((2, 2)), jnp.ones(2)))
    >>> program.count("dot_general"), program.count("= sin ")
    (2, 1)
    """
    return lambda prim, *in_avals, **params: (
        policy_1(prim, *in_avals, **params) or policy_2(prim, *in_avals, **params)
    )


def offload_dot_with_no_batch_dims(offload_src: str, offload_dst: str) -> Policy:
    """`dots_with_no_batch_dims_saveable`: values are kept in place instead of offloaded.

    Arguments:
        offload_src, offload_dst: the kinds of memory; of no effect.
    """
    return dots_with_no_batch_dims_saveable


def save_and_offload_only_these_names(
    *,
    names_which_can_be_saved: Iterable[str],
    names_which_can_be_offloaded: Iterable[str],
    offload_src: str,
    offload_dst: str,
) -> Policy:
    """Keep the values with one of these names, including those that would be offloaded.

    Arguments:
        names_which_can_be_saved, names_which_can_be_offloaded: the names.
        offload_src, offload_dst: the kinds of memory; of no effect.
    """
    return save_only_these_names(*names_which_can_be_saved, *names_which_can_be_offloaded)


checkpoint_policies = SimpleNamespace(
    everything_saveable=everything_saveable,
    nothing_saveable=nothing_saveable,
    dots_saveable=dots_saveable,
    checkpoint_dots=dots_saveable,
    dots_with_no_batch_dims_saveable=dots_with_no_batch_dims_saveable,
    checkpoint_dots_with_no_batch_dims=dots_with_no_batch_dims_saveable,
    save_only_these_names=save_only_these_names,
    save_any_names_but_these=save_any_names_but_these,
    save_anything_except_these_names=save_anything_except_these_names,
    save_from_both_policies=save_from_both_policies,
    offload_dot_with_no_batch_dims=offload_dot_with_no_batch_dims,
    save_and_offload_only_these_names=save_and_offload_only_these_names,
)
