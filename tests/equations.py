"""Programs evaluated equation by equation, so that equal ones of many programs compile once.

Functions of numbers are made of a few dozen operations: of a family of them, given arrays of one
shape, most compile nothing, and neither do their derivatives.
"""

import jax
import numpy as np
from libraries import assert_close

import minijax

INLINED = {"jit", "pjit", "closed_call", "custom_jvp_call", "custom_vjp_call"}


def evaluated(library, function, *args):
    """What the function gives, in a list of arrays, and their types, both without its tree."""
    leaves, tree = library.tree.flatten(args)
    program = library.make_jaxpr(lambda *xs: function(*library.tree.unflatten(tree, xs)))(*leaves)
    outs = _values(program, [library.numpy.asarray(x) for x in leaves])
    types = [x.aval for x in program.jaxpr.outvars]
    return outs, [(t.shape, np.dtype(t.dtype), t.weak_type) for t in types]


def _values(program, args):
    jaxpr = program.jaxpr
    values = dict(zip(jaxpr.constvars, program.consts, strict=True))
    values.update(zip(jaxpr.invars, args, strict=True))

    def value(x):
        return x.val if hasattr(x, "val") else values[x]

    for equation in jaxpr.eqns:
        given, primitive = [value(x) for x in equation.invars], equation.primitive
        if primitive.name in INLINED:
            outs = _values(equation.params.get("jaxpr") or equation.params["call_jaxpr"], given)
        else:
            outs = primitive.bind(*given, **equation.params)
            outs = outs if primitive.multiple_results else [outs]
        values.update(zip(equation.outvars, outs, strict=True))
    return [value(x) for x in jaxpr.outvars]


def compiled(library, function, *args):
    """The same, of the compiled program: cheaper where few operations are like others."""
    outs = library.tree.leaves(library.jit(function)(*args))
    return outs, [(x.shape, np.dtype(x.dtype), x.weak_type) for x in outs]


def assert_same_equations(function, *args, tolerance=1e-9, atol=None, of_jax=evaluated):
    """`function`, given a library, makes a program; those of both give the same."""
    ours, theirs = evaluated(minijax, function(minijax), *args), of_jax(jax, function(jax), *args)
    assert ours[1] == theirs[1]
    assert_close(ours[0], theirs[0], tolerance, atol, weak_types=False)
