"""`print_saved_residuals`: what reverse mode keeps of a function until its cotangents arrive."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minijax.runtime.staging import make_jaxpr
from minijax.transforms.checkpoint_policies import name_p
from minijax.transforms.transformations import vjp
from minijax_stage2 import ShapedArray
from minijax_stage2.arguments import argument_names, require_function
from minijax_stage2.tree import tree_flatten, tree_leaves, tree_unflatten
from minijax_stage3.jaxpr import Atom, Jaxpr, Literal


def print_saved_residuals(f: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """Print what reverse mode of `f` keeps: a line with the type and the origin of each array.

    Arguments:
        f: function of arrays and pytrees of arrays.
        args, kwargs: its arguments, or types in their place.

    Raises:
        TypeError: an argument is not an array or a type.

    >>> from minijax.ad_checkpoint import print_saved_residuals
    >>> f = lambda x, y: jnp.sin(x) * y
    >>> print_saved_residuals(minijax.checkpoint(f), jnp.ones(3), 2.0)
    f32[3] from the argument x
    f32[] from the argument y
    """
    require_function("print_saved_residuals", f)
    for aval, origin in saved_residuals(f, *args, **kwargs):
        print(f"{aval} {origin}")


def saved_residuals(
    f: Callable[..., Any], *args: Any, **kwargs: Any
) -> list[tuple[ShapedArray, str]]:
    """The type and the origin of each array that reverse mode of `f` keeps."""
    leaves, tree = tree_flatten((args, kwargs))

    def of_leaves(*leaves: Any) -> Any:
        args, kwargs = tree_unflatten(tree, leaves)
        return f(*args, **kwargs)

    closed, types = make_jaxpr(lambda *leaves: vjp(of_leaves, *leaves), return_shape=True)(*leaves)
    jaxpr = closed.jaxpr
    names = [f"from the argument {name}" for name in argument_names(f, args, kwargs)]
    given = ["from a constant"] * len(jaxpr.constvars) + names
    kept = dict.fromkeys(jaxpr.outvars[len(tree_leaves(types[0])) :])
    return [(each.aval, _origin(jaxpr, each, given.__getitem__)) for each in kept]


def _origin(jaxpr: Jaxpr, atom: Atom, of_input: Callable[[int], str]) -> str:
    """The equation of a program, or of one that it calls, that computes a value; or its origin."""
    if isinstance(atom, Literal):
        return "from a literal"
    inputs = [*jaxpr.constvars, *jaxpr.invars]
    if atom in inputs:
        return of_input(inputs.index(atom))
    eqn = next(eqn for eqn in jaxpr.eqns if atom in eqn.outvars)
    called = eqn.params.get("jaxpr")
    if isinstance(called, Jaxpr) and len(called.outvars) == len(eqn.outvars):
        result = called.outvars[eqn.outvars.index(atom)]
        return _origin(called, result, lambda i: _origin(jaxpr, eqn.invars[i], of_input))
    is_named = eqn.primitive is name_p
    what = f"named {eqn.params['name']!r}" if is_named else f"output of {eqn.primitive}"
    source = eqn.source
    if source is None:
        return what
    return f"{what} from {source.code.co_filename}:{source.line} ({source.code.co_name})"
