"""Random programs under every pair of transformations, beside JAX.

A transformation here takes a function of arrays that returns a list of arrays, and makes
another one of the same arguments; so any two of them compose.
"""

import zlib

import jax
import numpy as np
import pytest
from hypothesis import given, seed, settings
from libraries import JAX, OURS, assert_same
from programs import OPERATIONS, programs, run
from shares import IS_NIGHT, one_in


def pattern(x):
    """Numbers in the type of `x`, no two alike: a tangent, a cotangent, weights of a sum."""
    count = np.arange(1.0, 1 + np.prod(x.shape)).reshape(x.shape)
    return np.cos(count).astype(x.dtype)[()]


def with_weights(lib, f):
    """The sum of all results, each element with a weight of its own."""

    def scalar(*xs):
        outs = f(*xs)
        return sum(lib.reduce_sum(lib.convert(out * pattern(out), "float64")) for out in outs)

    return scalar


def jit(lib, f):
    return lib.jit(f)


def vmap(lib, f):
    """Of three examples along the first axis of the first argument, the last of the second."""

    def mapped(*xs):
        scales = np.array([1.0, 0.5, -0.25])
        batches, in_axes = [], []
        for x, axis in zip(xs, (0, -1), strict=False):
            aligned = scales.astype(x.dtype).reshape((3,) + (1,) * len(x.shape))
            batch = aligned * x
            if axis == -1:
                batch = lib.transpose(batch, (*range(1, len(batch.shape)), 0))
            batches.append(batch)
            in_axes.append(axis)
        return lib.vmap(f, in_axes=tuple(in_axes))(*batches)

    return mapped


def jvp(lib, f):
    def pushed(*xs):
        outs, tangents = lib.jvp(f, xs, tuple(map(pattern, xs)))
        return [*outs, *tangents]

    return pushed


def linearize(lib, f):
    return lambda *xs: lib.linearize(f, *xs)[1](*map(pattern, xs))


def vjp(lib, f):
    def pulled(*xs):
        outs, f_vjp = lib.vjp(f, *xs)
        return list(f_vjp([pattern(out) for out in outs]))

    return pulled


def grad(lib, f):
    def gradient(*xs):
        return list(lib.grad(with_weights(lib, f), argnums=tuple(range(len(xs))))(*xs))

    return gradient


def tape(lib, f):
    """The gradient by the other road to reverse mode."""

    def gradient(*xs):
        return list(lib.tape_grad(with_weights(lib, f), tuple(range(len(xs))))(*xs))

    return gradient


def jacfwd(lib, f):
    return lambda *xs: lib.jacfwd(f)(*xs)


def jacrev(lib, f):
    return lambda *xs: lib.jacrev(f, argnums=len(xs) - 1)(*xs)


def hessian(lib, f):
    return lambda *xs: [lib.hessian(with_weights(lib, f))(*xs)]


OPERATIONS_OF_STAGE_2 = tuple(operation for operation in OPERATIONS if operation != "cond")
TRANSFORMATIONS = [jit, vmap, jvp, linearize, vjp, grad, jacfwd, jacrev, hessian, tape]
PAIRS = [
    (outer, inner)
    for outer in TRANSFORMATIONS
    for inner in TRANSFORMATIONS
    if not (outer is tape and inner is jit)  # the tape knows no primitive that holds a program
]


def check(tried, *transformations):
    """Programs give what JAX gives, which compiles all of them as one."""

    def transformed(lib, program):
        f = lambda *xs: run(program, lib, xs)  # noqa: E731
        for transformation in reversed(transformations):
            f = transformation(lib, f)
        return f

    def of_jax(inputs):
        return [transformed(JAX, p)(*xs) for p, xs in zip(tried, inputs, strict=True)]

    inputs = [program.inputs() for program in tried]
    for program, xs, theirs in zip(tried, inputs, jax.jit(of_jax)(inputs), strict=True):
        try:
            ours = transformed(OURS, program)(*xs)
            assert_same(ours, theirs, 2e-4 if program.is_narrow else 1e-9)
        except Exception as error:
            error.add_note(repr(program))
            raise


AT_ONCE = 20  # programs of JAX that are compiled as one


def agree(*transformations, count, max_steps):
    """Tries random programs, `count` at night, others for each choice of transformations."""
    names = " of ".join(transformation.__name__ for transformation in transformations)
    operations = OPERATIONS_OF_STAGE_2 if tape in transformations else OPERATIONS
    drawn = []

    def on_each(use):
        @seed(zlib.crc32(names.encode()))
        @settings(max_examples=count if IS_NIGHT else count // 2)
        @given(programs(max_steps, operations))
        def tried(program):
            use(program)

        tried()

    on_each(drawn.append)
    try:
        for i in range(0, len(drawn), AT_ONCE):
            check(drawn[i : i + AT_ONCE], *transformations)
    except Exception:
        on_each(lambda program: check([program], *transformations))  # which finds the smallest
        raise


def test_a_program():
    agree(count=40, max_steps=10)


@pytest.mark.parametrize("transformation", TRANSFORMATIONS, ids=lambda t: t.__name__)
def test_one_transformation(transformation):
    agree(transformation, count=15, max_steps=8)


@pytest.mark.parametrize(
    ("outer", "inner"),
    one_in(12, PAIRS),
    ids=lambda t: t.__name__,
)
def test_two_transformations(outer, inner):
    agree(outer, inner, count=8, max_steps=6)
