"""Exported programs: results, types and disabled checks, beside JAX."""

import jax
import jax.debug
import jax.errors
import jax.export
import jax.extend
import jax.ffi
import jax.interpreters.batching
import jax.interpreters.mlir
import jax.numpy
import numpy as np
import pytest
from libraries import LIBRARIES

import glassjax
import glassjax.ad_checkpoint
import glassjax.debug
import glassjax.export
import glassjax.extend
import glassjax.extend.core
import glassjax.interpreters.batching
import glassjax.interpreters.mlir
import glassjax.numpy

X = np.arange(3, dtype=np.float32)


def same(program):
    """Runs a program of a library and its numpy with both."""
    ours, theirs = (program(*library) for library in LIBRARIES)
    assert ours == theirs
    return ours


def test_exported_functions_compute_the_same():
    def program(lib, jnp):
        def f(params, x):
            return {"y": jnp.tanh(x @ params["w"])}

        args = {"w": np.ones((3, 2), np.float32)}, lib.ShapeDtypeStruct((3,), jnp.float32)
        exported = lib.export.export(lib.jit(f))(*args)
        if lib is glassjax:  # JAX would need a package that nothing else here needs
            exported = lib.export.deserialize(exported.serialize())
        return (
            exported.fun_name,
            exported.platforms,
            [str(aval.shape) for aval in (*exported.in_avals, *exported.out_avals)],
            np.asarray(lib.jit(lambda x: exported.call(args[0], x))(X)["y"]).tolist(),
        )

    same(program)


THREE = np.float32(3)


# Checks of exports.
@pytest.mark.newest_jax
def test_disabled_checks_of_exports(lib):
    check = lib.export.DisabledSafetyCheck
    assert [str(check.platform()), repr(check.custom_call("a"))] == ["platform", "custom_call:a"]
    assert [check.platform().is_custom_call(), check.custom_call("a").is_custom_call()] == [
        None,
        "a",
    ]
    assert check.custom_call("a") == check.custom_call("a") != check.custom_call("b")
    assert len({check.platform(), check.platform(), check.custom_call("b")}) == 2
    call = lib.ffi.ffi_call("no_function", lib.ShapeDtypeStruct((), "float32"))
    foreign = lib.jit(lambda x: lib.jit(lambda y: call(y) + 1)(x))
    with pytest.raises(ValueError, match=r"custom_call\('"):
        lib.export.export(foreign)(THREE)
    allowed = (check.custom_call("no_function"),)
    exported = lib.export.export(foreign, disabled_checks=allowed)(THREE)
    assert tuple(exported.disabled_safety_checks) == allowed
    with pytest.raises((TypeError, AttributeError)):
        lib.export.export(foreign, disabled_checks=["platform"])(THREE)
    lowest = lib.export.minimum_supported_calling_convention_version
    highest = lib.export.maximum_supported_calling_convention_version
    assert lowest <= exported.calling_convention_version <= highest == 10


def test_programs_for_another_platform_run_where_the_check_is_disabled(lib):
    check = lib.export.DisabledSafetyCheck.platform()
    double = lib.jit(lambda x: x * 2)
    with pytest.raises(ValueError, match="platform"):
        lib.export.export(double, platforms=["cuda"])(THREE).call(THREE)
    exported = lib.export.export(double, platforms=["cuda"], disabled_checks=[check])(THREE)
    assert exported.call(THREE) == 6
    if lib is jax:  # which writes files by a package that need not be there
        return
    loaded = lib.export.deserialize(exported.serialize(vjp_order=1))
    assert loaded.call(THREE) == 6
    assert tuple(loaded.disabled_safety_checks) == (check,)
    assert lib.grad(loaded.call)(THREE) == 2
