"""`program_order`: the same barriers as JAX."""

import re

import jax
import jax.experimental.overlap
import numpy as np
import pytest

import glassjax
import glassjax.experimental.overlap

X = np.arange(3, dtype=np.float32)


def chain(lib, program_order):
    def f(x, y):
        a, b = lib.numpy.sin(x), lib.numpy.cos(y)
        return (a * 2.0 + b).sum(), b

    return program_order(f, enforce=True)


def strict(lib, program_order):
    both = {"enforce": True, "strict_in_out": True}
    return program_order(**both)(lambda x, y: (lib.numpy.sin(x).sum(), lib.numpy.cos(y)))


def nested(lib, program_order):
    @program_order(enforce=False, exclude_argnames="y")
    def inner(x, y):
        return lib.numpy.exp(x) + y

    @program_order(enforce=True, strict_in_out=(True, False))
    def outer(x, y):
        a = lib.numpy.sin(x)
        return inner(x, y).sum(), a

    return outer


TRANSFORMS = {
    "plain": lambda lib, f: f,
    "grad": lambda lib, f: lib.grad(lambda x, y: f(x, y)[0]),
    "jvp": lambda lib, f: lambda x, y: lib.jvp(f, (x, y), (y, x)),
    "vmap": lambda lib, f: lambda x, y: lib.vmap(f, (0, None))(x[None], y),
}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("program", [chain, strict, nested])
def test_barriers_stand_where_those_of_jax_do(program, transform):
    barriers, values = [], []
    for lib in (glassjax, jax):
        f = TRANSFORMS[transform](lib, program(lib, lib.experimental.overlap.program_order))
        lowered = lib.jit(f).lower(X, X + 1)
        # A token among the operands is JAX's; and so is the barrier that makes it.
        found = re.findall(r"optimization_barrier ([^:]*) : (.*)", lowered.as_text())
        barriers.append([len(names.split(", ")) for names, types in found if "token" not in types])
        values.append(lib.tree.leaves(lib.tree.map(np.asarray, lowered.compile()(X, X + 1))))
        eager = lib.tree.leaves(lib.tree.map(np.asarray, f(X, X + 1)))
        for x, y in zip(values[-1], eager, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-5)
    for x, y in zip(*values, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-5)
    if program is not nested and transform == "plain":
        assert barriers[0] == barriers[1]
    assert barriers[0] or program is nested


def test_an_excluded_argument_does_not_wait():
    f = glassjax.jit(nested(glassjax, glassjax.experimental.overlap.program_order))
    text = f.lower(X, X + 1).as_text()
    first, second, *_ = re.findall(r"optimization_barrier ([^:]*) :", text)
    assert first == "%arg0, %arg1"
    assert second == "%1, %0#0"


def test_arguments_that_contradict_each_other(lib):
    program_order = lib.experimental.overlap.program_order
    for options in [
        {"enforce": True, "exclude_argnames": "x"},
        {"enforce": False, "strict_in_out": True},
    ]:
        with pytest.raises(ValueError, match="enforce"):
            program_order(lambda x: x, **options)
