"""The deliberate differences from JAX that the docs list still hold."""

import warnings

import jax
import numpy as np
import pytest
from tables import for_each

import glassjax
from fuzzing.result_differences import KEPT

pytestmark = pytest.mark.bits(32)


def with_cotangent(lib, dtype):
    function = lib.custom_vjp(lambda x: 2 * x)
    function.defvjp(lambda x: (2 * x, None), lambda _, ct: (ct.astype(dtype),))
    return function


def traces_of_checkpoint(lib):
    traced = []
    function = lib.checkpoint(lambda x: (traced.append(x), x * x)[1])
    for _ in range(2):
        lib.grad(function)(1.0)
    return len(traced)


def outcome(lib, program):
    names = {
        "jax": lib,
        "jnp": lib.numpy,
        "lax": lib.lax,
        "np": np,
        "with_cotangent": lambda dtype: with_cotangent(lib, dtype),
        "traces_of_checkpoint": lambda _: traces_of_checkpoint(lib),
    }
    try:
        with warnings.catch_warnings(action="ignore"):
            found = eval(program, names)
    except Exception as error:
        return type(error).__name__
    if isinstance(found, tuple):
        return f"({', '.join(str(x) for x in found)})"
    return str(found)


@for_each(("program", "of_jax", "here", "reason"), KEPT)
def test_it_differs(program, of_jax, here, reason):
    assert (outcome(jax, program), outcome(glassjax, program)) == (of_jax, here)
