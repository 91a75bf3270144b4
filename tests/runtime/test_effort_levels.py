"""Compiler effort levels: names, values and errors, beside JAX."""

import jax
import jax.debug
import jax.errors
import jax.export
import jax.extend
import jax.ffi
import jax.interpreters.batching
import jax.interpreters.mlir
import numpy as np
import pytest
from jax import ad_checkpoint as _jax_ad_checkpoint  # noqa: F401
from tables import for_each

import glassjax
import glassjax.ad_checkpoint
import glassjax.debug
import glassjax.export
import glassjax.extend
import glassjax.extend.core
import glassjax.interpreters.batching
import glassjax.interpreters.mlir

X = np.float32(3)


# Levels of effort.
LEVELS = ["UNKNOWN", "O0", "O1", "O2", "O3"]


def test_levels_of_effort_are_jaxs():
    ours, theirs = glassjax.CompilerEffortLevel, jax.CompilerEffortLevel
    assert [(x.name, x.value) for x in ours] == [(x.name, x.value) for x in theirs]
    assert [ours(name).value for name in LEVELS] == [theirs(name).value for name in LEVELS]


@pytest.mark.parametrize("option", ["optimization_level", "memory_fitting_level"])
def test_programs_are_compiled_with_levels_of_effort(lib, option):
    for level in ("O1", 29, lib.CompilerEffortLevel.O0):
        assert lib.jit(lambda x: x * 2, compiler_options={option: level})(X) == 6
    for wrong in ("O9", 5, "foo"):
        with pytest.raises(ValueError, match="is not a valid CompilerEffortLevel"):
            lib.jit(lambda x: x * 2, compiler_options={option: wrong})(X)
    compiled = lib.jit(lambda x: x + 1).lower(X).compile({option: lib.CompilerEffortLevel.O1})
    assert compiled(X) == 4


@for_each(
    ("setting", "value"),
    [("optimization_level", "O1"), ("memory_fitting_level", "O0"),
     ("disable_most_optimizations", True)],
)  # fmt: skip
def test_settings_say_the_effort_for_all_programs(lib, setting, value):
    before = lib.config.values[f"jax_{setting}"]
    lib.config.update(f"jax_{setting}", value)
    try:
        assert lib.jit(lambda x: x * 3)(X) == 9
    finally:
        lib.config.update(f"jax_{setting}", before)


def test_options_of_a_program_come_before_the_settings():
    chosen = glassjax.jit(lambda x: x, compiler_options={"optimization_level": "O3"})
    with glassjax.config.override(optimization_level="O1", disable_most_optimizations=True):
        plain = glassjax.jit(lambda x: x).lower(X).compiler_options
        assert plain["optimization_level"] == 19
        assert plain["xla_backend_optimization_level"] == 0
        assert chosen.lower(X).compiler_options["optimization_level"] == 39
    with glassjax.config.override(disable_most_optimizations=False):
        assert glassjax.jit(lambda x: x).lower(X).compiler_options == {}


def test_levels_reach_the_options_of_jaxlib():
    from glassjax.xla.clients import options_with

    build = options_with({"optimization_level": 19}).executable_build_options
    assert build.optimization_level == 19
    assert build.memory_fitting_level == 0


def test_results_of_gpus_can_be_the_same_in_every_run(monkeypatch):
    """Every program is compiled by the flag, eager ones too, and has its own entry in the cache."""
    from glassjax.runtime.compilation_cache import cache_key
    from glassjax.xla import clients, executables

    flag = ("xla_gpu_deterministic_ops", True)
    compiled_with = []

    def recorded(options):
        made = options_with(options)
        compiled_with.append(flag in made.env_option_overrides)
        return made

    options_with = clients.options_with
    monkeypatch.setattr(executables.clients, "options_with", recorded)
    jitted = glassjax.jit(lambda x: x * 5 + 2)
    with glassjax.config.override(enable_compilation_cache=False):
        for is_on in (False, True, False, True):
            with glassjax.config.override(gpu_deterministic_ops=is_on):
                assert jitted(X) == 17
                glassjax.lax.nextafter(np.zeros((3, 1, 7), np.float32), X)
                key = cache_key("", {})
                assert (key == cache_key("", {"xla_gpu_deterministic_ops": True})) == is_on
    # both are compiled once without the flag, and then once with it, beside programs known before
    assert compiled_with == sorted(compiled_with)
    assert compiled_with.count(False) >= 2
    assert compiled_with.count(True) >= 2
