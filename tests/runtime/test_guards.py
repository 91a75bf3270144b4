"""Guards against transfers, tracing and execution, beside JAX."""

import gc
import threading

import jax
import jax.numpy
import numpy as np
import pytest
from tables import for_each

import glassjax
import glassjax.numpy as jnp

ARRAY = np.arange(3, dtype=np.float32)


LEVELS = ["allow", "log", "disallow", "log_explicit", "disallow_explicit"]


MOVES = {
    "operand": lambda library, x: x + ARRAY,
    "argument": lambda library, x: library.jit(lambda x: x + 1)(ARRAY),
    "array": lambda library, x: library.numpy.asarray(ARRAY),
    "list": lambda library, x: library.numpy.array([1.0, 2.0]),
    "device_put": lambda library, x: library.device_put(ARRAY),
    "to the host": lambda library, x: np.asarray(x * 2),
    "device_get": lambda library, x: library.device_get(x * x),
}


def is_refused(function, library, level):
    x = library.numpy.ones(3, "float32")
    function(library, x)
    try:
        with library.transfer_guard(level):
            function(library, x)
    except RuntimeError as error:
        return "Disallowed host-to-device transfer" in str(error)
    return False


@for_each("level", LEVELS)
@for_each("move", MOVES)
def test_transfers_are_refused_as_in_jax(move, level):
    refused = is_refused(MOVES[move], glassjax, level)
    if move not in ("to the host", "device_get"):  # the number in it is a part of our program
        assert refused == is_refused(MOVES[move], jax, level)
    assert refused == (
        move not in ("to the host", "device_get")
        and level in ("disallow", "disallow_explicit")
        and (move != "device_put" or level == "disallow_explicit")
    )


def test_guards_are_of_one_direction_and_one_thread():
    with glassjax.transfer_guard_device_to_host("disallow"):
        jnp.asarray(ARRAY)
    with glassjax.transfer_guard_host_to_device("disallow"):
        with pytest.raises(RuntimeError, match="Disallowed host-to-device"):
            jnp.asarray(ARRAY)
        done = []
        thread = threading.Thread(target=lambda: done.append(jnp.asarray(ARRAY)))
        thread.start()
        thread.join()
        assert done
        with glassjax.transfer_guard_host_to_device("allow"):
            jnp.asarray(ARRAY)
    jnp.asarray(ARRAY)


def test_guards_of_the_process():
    glassjax.config.update("jax_transfer_guard", "disallow")
    try:
        with pytest.raises(RuntimeError, match="Disallowed"):
            jnp.asarray(ARRAY)
        assert glassjax.config.jax_transfer_guard_host_to_device == "disallow"
    finally:
        glassjax.config.update("jax_transfer_guard", "allow")
    jnp.asarray(ARRAY)


@for_each(
    "name",
    [n for n in dir(glassjax) if n.startswith("transfer_guard")]
    + ["array_garbage_collection_guard"],
)
def test_unknown_levels(name):
    with pytest.raises(ValueError, match=name), getattr(glassjax, name)("never"):
        pass


def test_arrays_freed_by_the_garbage_collector(capfd):
    with glassjax.array_garbage_collection_guard("log"):
        cycle = [jnp.ones(5) + 1]
        cycle.append(cycle)
        del cycle
        gc.collect()
    assert "garbage collect" in capfd.readouterr().err.lower()


def test_no_tracing(lib):
    double = lib.jit(lambda x: 2 * x)
    double(ARRAY)
    with lib.no_tracing():
        np.testing.assert_array_equal(double(ARRAY), 2 * ARRAY)
        with pytest.raises(
            RuntimeError, match=r"re-tracing function .* for `jit`, but 'no_tracing'"
        ):
            double(np.ones(4, np.float32))
        with lib.no_tracing(False):
            double(np.ones(4, np.float32))
    double(np.ones(5, np.float32))


def test_no_execution(lib):
    x = lib.numpy.ones(3)
    double = lib.jit(lambda x: 2 * x)
    compiled = double.lower(x).compile()
    double(x)
    with lib.no_execution():
        for call in (lambda: double(x), lambda: x + x, lambda: compiled(x)):
            with pytest.raises(RuntimeError, match="no_execution"):
                call()
        lib.make_jaxpr(lambda x: lib.numpy.sin(x) + double(x))(x)
        lib.jit(lambda x: x + 1).lower(x).compile()
    double(x)
