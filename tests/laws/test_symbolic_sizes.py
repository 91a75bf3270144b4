"""Random programs over a batch of symbolic size: one program is right for every size."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from libraries import OURS
from programs import programs, run
from shares import IS_NIGHT

import glassjax
from glassjax import export

SIZES = 1, 2, 5


def gradient(f):
    """The cotangents of a function's arguments for cotangents of ones."""

    def pulled(*xs):
        outs, pull_back = glassjax.vjp(f, *xs)
        return pull_back([0 * out + 1 for out in outs])

    return pulled


def batches(program, size):
    """Arguments of a program, with a leading axis of examples."""
    scales = np.linspace(1.0, -0.5, size)
    return [
        (scales.reshape(-1, *[1] * x.ndim) * x).astype(x.dtype)
        for x in map(np.asarray, program.inputs())
    ]


@settings(max_examples=150 if IS_NIGHT else 15, deadline=None)
@given(program=programs(8), derived=st.booleans())
def test_a_random_program_over_a_symbolic_batch(program, derived):
    f = lambda *xs: run(program, OURS, xs)  # noqa: E731
    f = glassjax.vmap(gradient(f) if derived else f)
    scope = export.SymbolicScope()
    types = [
        glassjax.ShapeDtypeStruct(
            export.symbolic_shape("b, ...", like=(1, *np.shape(x)), scope=scope), x.dtype
        )
        for x in program.inputs()
    ]
    exported = export.export(glassjax.jit(f))(*types)
    general = glassjax.jit(f, symbolic="b, ...")
    for size in SIZES:
        args = batches(program, size)
        expected = glassjax.tree.leaves(glassjax.jit(lambda *xs: f(*xs))(*args))
        for found in (exported.call(*args), general(*args)):
            for x, y in zip(glassjax.tree.leaves(found), expected, strict=True):
                np.testing.assert_allclose(x, y, rtol=2e-4 if program.is_narrow else 1e-9)
