"""Reductions by `lax`: values, dtypes, derivatives and errors, beside JAX."""

import functools

import numpy as np
import pytest
from lax_operands import F32, b, h, i, u, x, z
from libraries import assert_all_same_results, assert_same_program, refused

REDUCTIONS = {
    "reduce_sum": (x, i, z, h, u),
    "reduce_prod": (x, i, z, h, u),
    "reduce_max": (x, i, b, h, u),
    "reduce_min": (x, i, b, h, u),
    "reduce_and": (i, b, u),
    "reduce_or": (i, b, u),
    "reduce_xor": (i, b, u),
}


# Arrays of the dtypes that they refuse.
REFUSED_REDUCTIONS = {
    "reduce_prod": (b,),
    **dict.fromkeys(("reduce_and", "reduce_or", "reduce_xor"), (x, h)),
}


BY_BITS = ("reduce_and", "reduce_or", "reduce_xor")


def axes_of(array):
    return [(), (0,), tuple(range(array.ndim)), (array.ndim - 1,)]


@pytest.mark.bits(32)
def test_reductions():
    programs = {}
    for name, arrays in REDUCTIONS.items():

        def reduction(n, lib, x, axes, name=name):
            return getattr(lib.lax, name)(x, axes)

        for array in (*arrays, np.zeros((0, 2), i.dtype)):
            for axes in axes_of(array):
                programs[name, array.dtype, array.shape, axes] = functools.partial(
                    reduction, x=array, axes=axes
                )
        for axes in [(2,), (0, 0), 0] if name not in BY_BITS else [0]:
            programs[name, axes] = refused(functools.partial(reduction, x=i, axes=axes))
        for array in REFUSED_REDUCTIONS.get(name, ()):
            programs[name, array.dtype] = refused(functools.partial(reduction, x=array, axes=(0,)))
    assert_all_same_results(programs)


# A combination, and the number that it leaves as it is.
COMPUTATIONS = {
    "add": (lambda lax: lax.add, 0.0),
    "mul": (lambda lax: lax.mul, 1.0),
    "max": (lambda lax: lax.max, -np.inf),
    "min": (lambda lax: lax.min, np.inf),
    "add from 2": (lambda lax: lax.add, 2.0),
    "max from 1": (lambda lax: lax.max, 1.0),
    "two steps": (lambda lax: lambda x, y: lax.add(lax.max(x, y), lax.min(x, y)), 0.0),
}


@pytest.mark.bits(32)
def test_reductions_by_any_computation():
    def program(n, lib, name):
        computation, start = COMPUTATIONS[name]
        combine, start_ = computation(lib.lax), F32(start)

        def function(x, dilated=True):
            out = [lib.lax.reduce(x, start_, combine, axes) for axes in [(0,), (1, 0)]]
            windows = [
                ((2, 2), (1, 1), "VALID", None, None),
                ((2, 3), (2, 1), "SAME", None, None),
            ]
            if dilated:
                windows.append(((2, 2), (1, 2), ((1, 0), (0, 2)), None, (2, 1)))
                windows.append(((1, 2), (1, 1), ((0, 0), (1, 1)), (2, 1), None))
            if "from" not in name:  # what stands at the edges has to change nothing
                for shape, strides, padding, base, dilation in windows:
                    out.append(
                        lib.lax.reduce_window(
                            x, start_, combine, shape, strides, padding, base, dilation
                        )
                    )
            return tuple(out)

        differentiable = functools.partial(function, dilated=name not in ("max", "min"))
        out, tangent = lib.jvp(differentiable, (x,), (x * x + 1,))
        batches = lib.vmap(function, -1)(np.stack([x, x + 1], -1))
        if name in ("mul", "two steps"):  # whose windows JAX cannot transpose
            return [*out, *tangent, *batches]
        finite = tuple(n.where(n.isfinite(each), n.cos(each), 0.0) for each in out)
        return [*out, *tangent, *batches, *lib.vjp(differentiable, x)[1](finite)]

    assert_all_same_results({name: functools.partial(program, name=name) for name in COMPUTATIONS})


@pytest.mark.bits(32)
def test_reductions_of_several_arrays():
    def largest(lax):
        def combine(a, b):
            keep = lax.gt(a[0], b[0])
            return [lax.select(keep, p, q) for p, q in zip(a, b, strict=True)]

        return combine

    numbers = np.arange(12, dtype=np.int32).reshape(3, 4)
    starts = [F32(-np.inf), np.int32(-1)]

    def windows(lib, shape, strides, padding):
        return lib.lax.reduce_window(x, F32(0), lib.lax.add, shape, strides, padding)

    assert_all_same_results(
        [
            lambda n, lib: lib.lax.reduce([x, numbers], starts, largest(lib.lax), (0,)),
            lambda n, lib: lib.lax.reduce_window(
                [x, numbers], starts, largest(lib.lax), (2, 2), (1, 1), "SAME"
            ),
            lambda n, lib: lib.lax.reduce(i, 1, lib.lax.bitwise_xor, (1,)),
            lambda n, lib: lib.lax.reduce(b, True, lib.lax.bitwise_and, (0, 1)),
            lambda n, lib: lib.lax.reduce(x, 0, lib.lax.add, (0,)),
            lambda n, lib: lib.lax.reduce(i, 0.0, lib.lax.add, (0,)),
            refused(lambda n, lib: lib.lax.reduce([x], 0.0, lib.lax.add, (0,))),
            refused(lambda n, lib: lib.lax.reduce(x, F32([0, 0]), lib.lax.add, (0,))),
            refused(lambda n, lib: lib.lax.reduce(x, F32(0), lib.lax.add, (2,))),
            refused(lambda n, lib: windows(lib, (2,), (1,), "SAME")),
            refused(lambda n, lib: windows(lib, (2, 2), (0, 1), "SAME")),
            refused(lambda n, lib: windows(lib, (2, 2), (1, 1), "ODD")),
            lambda n, lib: windows(lib, (5, 2), (1, 1), "VALID"),
        ]
    )


def test_arguments_of_the_largest_at_limits_of_dtypes():
    # Indices are floats on the way, for as long as those hold them.
    x = np.zeros((3, 300), np.float32)
    x[0, 299], x[1, 7], x[1, 9], x[2, 5] = 1.0, np.nan, 2.0, -1.0

    def everything(lib, jnp):
        y = jnp.asarray(x)
        found = [f(y, 1, t) for f in (lib.lax.argmax, lib.lax.argmin) for t in (np.int32, np.int16)]
        return [*found, lib.vmap(jnp.argmax)(y), jnp.argmax(y, 0), jnp.argmin(y)]

    assert_same_program(lambda lib: lambda: everything(lib, lib.numpy))
