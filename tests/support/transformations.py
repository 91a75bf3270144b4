"""Lists of functions of one array under transformations, in as few programs as possible.

A function takes a library's numpy and the array. Where it refuses the array, its error is kept in
the place of its result.
"""

import functools

import jax
import numpy as np
from libraries import assert_alike, result_of


def in_one_program(functions, numpy, library, x):
    """What each function gives for `x`, computed by one program of all of them."""
    return _kept(functions, numpy, library, lambda f: f, x)


def types(functions, numpy, library, x):
    """The shape, dtype and weakness of each result, None if it is refused; no program computes."""
    found = []
    for f in functions:
        f = functools.partial(f, numpy)
        out = result_of(lambda n, lib, f=f: lib.eval_shape(f, x), numpy, library)
        leaves = [] if isinstance(out, Exception) else jax.tree.leaves(out)
        found.append([(y.shape, np.dtype(y.dtype), y.weak_type) for y in leaves] or None)
    return found


def along_an_axis(functions, numpy, library, batch):
    """What each function gives for each row of `batch`."""
    return _kept(functions, numpy, library, lambda f: library.vmap(f), batch)


def derivatives(functions, numpy, library, *points):
    """The derivatives of each function in a direction, forward, and of a weighted sum, backward.

    Points of one type take one program.
    """

    def of_one(f):
        def both(x):
            out, tangent = library.jvp(f, (x,), (_weights(x),))
            back = library.vjp(f, x)[1]
            cotangents = [_weights(leaf) for leaf in jax.tree.leaves(out)]
            return tangent, back(jax.tree.unflatten(jax.tree.structure(out), cotangents))

        return both

    return _kept(functions, numpy, library, of_one, *points)


def _weights(x):
    return np.cos(1.0 + np.arange(x.size)).astype(x.dtype).reshape(x.shape)


def _kept(functions, numpy, library, transform, *points):
    errors = {}

    @library.jit
    def program(x):
        outs = []
        for i, f in enumerate(functions):
            f = functools.partial(f, numpy)
            out = result_of(lambda n, lib, f=f: transform(f)(x), numpy, library)
            if isinstance(out, Exception):
                errors[i] = out
            outs.append(() if i in errors else out)
        return outs

    return [errors.get(i, out) for x in points for i, out in enumerate(program(x))]


def assert_alike_all(ours, theirs):
    """Each result agrees with the one in its place."""
    for i, (found, expected) in enumerate(zip(ours, theirs, strict=True)):
        try:
            assert_alike(found, expected)
        except AssertionError as error:
            raise AssertionError(f"function {i}: {error}") from None
