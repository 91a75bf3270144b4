"""JAX's settings: each can be named, and those that exist here have the same effect."""

import contextlib
import json
import logging
import os
import re
import subprocess
import sys

import jax
import jax.numpy
import numpy as np
import pytest
from shares import IS_NIGHT
from tables import for_each

import glassjax
from glassjax import lax
from glassjax import numpy as jnp
from glassjax.settings.options import WITH_ONE_VALUE, WITHOUT_EFFECT, options_of_jax

pytestmark = pytest.mark.as_for_users


@for_each("name", sorted(options_of_jax()))
def test_the_default_is_jaxs(name):
    option = options_of_jax()[name]
    if option.name in jax.config._value_holders or f"jax_{name}" in jax.config._value_holders:
        theirs = jax.config._value_holders.get(f"jax_{name}", jax.config._value_holders.get(name))
        expected = getattr(theirs.value, "name", theirs.value)
        assert str(option.value or None).lower() == str(expected or None).lower()
    assert getattr(glassjax.config, f"jax_{name}") == option.value
    assert glassjax.config.read(name) == option.value
    glassjax.config.update(f"jax_{name}", option.value)


def test_what_is_of_no_effect_takes_values_of_its_type():
    for names in WITHOUT_EFFECT.values():
        for name in names:
            kind = options_of_jax()[name].kind.described.removesuffix(" or None")
            other = {"true or false": True, "an int": 7, "a string": "other"}[kind]
            with glassjax.config.override(**{name: other}):
                assert glassjax.config.read(name) == other
            with pytest.raises(TypeError, match=name):
                glassjax.config.update(name, 1.5)


def test_what_would_ask_for_more_says_so():
    for names in WITH_ONE_VALUE.values():
        for name, default in names.items():
            other = not default if isinstance(default, bool) else "other"
            with pytest.raises(NotImplementedError, match=f"{name} can only be"):
                glassjax.config.update(f"jax_{name}", other)


@pytest.mark.newest_jax
def test_every_setting_of_jax_can_be_named():
    for name in jax.config._value_holders:
        glassjax.config.read(name)
    for library in (jax, glassjax):
        for value in (True, False):
            with library.enable_x64(value):
                assert library.config.x64_enabled is value


def test_the_settings_of_the_library_are_listed_alone():
    assert "enable_checks" not in glassjax.config.options
    assert "enable_checks" not in repr(glassjax.config)
    with pytest.raises(AttributeError, match="no setting"):
        glassjax.config.update("jax_nonsense_of_mine", True)


# Settings whose defaults are ours, and why.
OWN_DEFAULTS = {
    "jax_compilation_cache_dir": "programs are kept, and XLA's time with them",
    "jax_compilation_cache_max_size": "the same directory does not grow without end",
    "jax_cpu_enable_async_dispatch": "calls wait for their results on a CPU",
    "jax_persistent_cache_min_compile_time_secs": "all programs are kept",
}


DEFAULTS = """
import enum, json, jax
plain = lambda x: x.name.lower() if isinstance(x, enum.Enum) else x
print(json.dumps({name: plain(x) for name, x in jax.config.values.items()}))
"""


def defaults(*command):
    others = {k: v for k, v in os.environ.items() if not k.startswith(("JAX_", "GLASSJAX_", "XLA"))}
    done = subprocess.run(
        [sys.executable, *command], input=DEFAULTS, text=True, stdout=-1, check=True, env=others
    )
    return json.loads(done.stdout)


def test_all_settings_have_jaxs_defaults_and_take_them(tmp_path):
    (tmp_path / "program.py").write_text(DEFAULTS)
    theirs = defaults()
    ours = defaults("-m", "glassjax.as_jax", tmp_path / "program.py")
    assert {*theirs} <= {*ours}
    assert {name for name in theirs if ours[name] != theirs[name]} == {*OWN_DEFAULTS}
    before = dict(glassjax.config.values)
    for name in {*theirs} - {*OWN_DEFAULTS}:
        glassjax.config.update(name, theirs[name])
    for name, value in before.items():  # what a program saved, it restores
        glassjax.config.update(name, value)
    assert glassjax.config.values == before


# Settings that change results or errors.
@contextlib.contextmanager
def setting(j, **values):
    before = {name: j.config.values[f"jax_{name}"] for name in values}
    for name, value in values.items():
        j.config.update(f"jax_{name}", value)
    try:
        yield
    finally:
        for name, value in before.items():
            j.config.update(f"jax_{name}", value)


def result(call):
    try:
        out = call()
    except (IndexError, ValueError) as error:
        return type(error).__mro__[-3].__name__
    return str(out.dtype), str(np.asarray(out).tolist())


READS = [
    lambda x: x[5], lambda x: x[-4], lambda x: x[0, 5], lambda x: x[..., 5], lambda x: x[2:9],
    lambda x: x.at[5].get(), lambda x: x.at[5].get(mode="clip"), lambda x: x.at[5].set(1),
    lambda x: x.at[5].get(mode="fill", fill_value=3), lambda x: x[np.array([5])],
    lambda x: x[x.astype(int).sum() + 9], lambda x: x[5, x[0].astype(int)],
]  # fmt: skip


@for_each("read", READS)
def test_static_indices_are_checked(read):
    def found(j, jit=lambda f: f):
        with setting(j, check_static_indices=True):
            return result(lambda: jit(read)(j.numpy.ones((3, 3), "float32")))

    assert found(glassjax) == found(glassjax, glassjax.jit) == found(jax)
    with setting(glassjax, check_static_indices=False):
        read(glassjax.numpy.ones((3, 3)))  # is no error


def test_seeds_are_offset():
    def data(j):
        seeds = np.int32(3), np.uint32(2**32 - 1), 0, 2**31 - 1
        with setting(j, random_seed_offset=5):
            keys = [j.random.key_data(j.random.key(seed)).tolist() for seed in seeds]
            return keys, j.random.PRNGKey(1).tolist()

    assert data(glassjax) == data(jax)


SUMS = [
    lambda j, x: j.lax.reduce_sum(x, (0,)), lambda j, x: j.numpy.sum(x),
    lambda j, x: j.lax.reduce_sum(x[:1], (0,)), lambda j, x: j.lax.reduce_max(x, (0,)),
]  # fmt: skip


@for_each(("dtype", "f"), [(dtype, f) for dtype in ("float16", "bfloat16") for f in SUMS])
def test_sums_of_16_bits_can_be_errors(dtype, f):
    def found(j):
        with j.allow_f16_reductions(False):
            return result(lambda: f(j, j.numpy.ones(3, dtype)))

    assert found(glassjax) == found(jax)


# Dtypes of 64 bits where numbers have 32.
X = "j.numpy.asarray([1.0, 2.0], dtype='float64')"


WIDE = [
    "x", "x * x", "x + 1", "x * 0.1", "x + j.numpy.float32(1)", "j.jit(j.numpy.sin)(x)",
    "j.grad(lambda x: (x**2).sum())(x)", "x.sum()", "x.astype('int64')", "x.astype(int)", "x @ x",
    "j.numpy.arange(3, dtype='int64') * 2", "j.numpy.int64(3)", "j.numpy.array(2**40, 'int64')",
    "j.numpy.array(np.ones(2))", "x.astype('complex128')", "x.astype(complex)", "x + 1j",
    "j.numpy.linspace(0, 1, 3, dtype='float64')", "j.vmap(j.numpy.sin)(x)", "x.mean()",
    "j.numpy.zeros_like(x)", "j.numpy.where(x > 0, x, 0)",
    "j.lax.convert_element_type(3, 'float64')",
    "j.numpy.array([1, 2], 'uint64') + j.numpy.array([1], 'int32')", "x + j.numpy.complex64(1)",
    "j.lax.scan(lambda c, y: (c + y, c), j.numpy.float64(0), x)[1]", "x.at[0].set(5)",
    "j.numpy.dot(x, j.numpy.ones(2))", "np.float64(2) * x", "j.device_put(np.ones(2))",
    "j.nn.softmax(x)", "j.numpy.std(x)", "j.numpy.full(2, 0.1, 'float64')",
    "j.random.uniform(j.random.key(0), (2,), dtype='float64')", "j.numpy.ones(2)",
]  # fmt: skip


@for_each("line", WIDE if IS_NIGHT else WIDE[::2])
def test_dtypes_of_64_bits_are_kept_where_they_are_requested(line):
    def found(j):
        with j.enable_x64(False), setting(j, explicit_x64_dtypes="allow"):
            x = eval(X, {"j": j})
            out = eval(line, {"j": j, "x": x, "np": np})
            return str(out.dtype), np.asarray(out)

    (dtype, ours), (wanted, theirs) = found(glassjax), found(jax)
    assert dtype == wanted
    np.testing.assert_allclose(ours, theirs, rtol=1e-14 if "64" in dtype else 1e-6)


def test_dtypes_of_64_bits_are_errors_or_truncated(lib):
    with lib.enable_x64(False):
        with setting(lib, explicit_x64_dtypes="error"), pytest.raises(ValueError, match="float64"):
            lib.numpy.zeros(3, "float64")
        with pytest.warns(UserWarning, match="float64"):
            assert lib.numpy.zeros(3, "float64").dtype == np.float32
        with lib.enable_x64(True):
            x = lib.numpy.ones(3)
        assert (x * x).dtype == np.float64  # arrays keep what they have


def test_user_contexts(lib):
    seen = []
    context = lib.make_user_context(default_value=1)

    @lib.jit
    def scaled(x):
        seen.append(context.value)
        return x * context.value

    for _ in range(2):
        assert scaled(2.0) == 2.0
        with context(5):
            assert scaled(2.0) == 10.0
            with context(7):
                assert scaled(2.0) == 14.0
        with context(5):
            assert scaled(2.0) == 10.0
    assert seen == [1, 5, 7]


def test_user_contexts_are_independent():
    a, b = glassjax.make_user_context("a"), glassjax.make_user_context()
    with a("x"), b("y"):
        assert (a.value, b.value) == ("x", "y")
    assert (a.value, b.value) == ("a", None)
    with pytest.raises(TypeError, match="hashable"), a([]):
        pass


@for_each("name", ["allow_f16_reductions", "auto_pcast", "enable_checks"])
def test_contexts_of_settings(name):
    default = glassjax.config.read(name)
    with getattr(glassjax, name)(default):
        assert glassjax.config.read(name) == default
    with (
        pytest.raises((NotImplementedError, TypeError), match=name),
        getattr(glassjax, name)("yes"),
    ):
        pass


POINTS = np.linspace(-1.0, 1.0, 3)


def test_what_is_compiled_is_logged(caplog):
    def f(x):
        return x + 1

    with glassjax.log_compiles(), caplog.at_level(logging.WARNING):
        g = glassjax.jit(f)
        g(POINTS)
        g(POINTS)
    messages = [record.getMessage() for record in caplog.records]
    with jax.log_compiles(), caplog.at_level(logging.WARNING):
        caplog.clear()
        jax.jit(f)(POINTS)
    ours, theirs = (
        [
            re.sub(r"[\d.]+ sec", "_ sec", message)
            for message in found
            if message.startswith("Finished")
        ]
        for found in (messages, [record.getMessage() for record in caplog.records])
    )
    assert ours == theirs
    assert len(ours) == 3
    caplog.clear()
    glassjax.jit(lambda x: x + 2)(POINTS)
    assert not caplog.records


def test_caches_can_be_cleared():
    traced = []

    def f(x):
        traced.append(1)
        return lax.fori_loop(0, 3, lambda i, c: c * 2, x)

    jitted, donating = glassjax.jit(f), glassjax.jit(f, donate_argnums=0)
    for _ in range(2):
        for _ in range(2):
            np.testing.assert_array_equal(jitted(POINTS), POINTS * 8)
            np.testing.assert_array_equal(donating(POINTS), POINTS * 8)
            np.testing.assert_array_equal(f(jnp.asarray(POINTS)), POINTS * 8)
        glassjax.clear_caches()
        assert jitted._cache_size() == 0
        np.testing.assert_array_equal(jnp.sin(POINTS), np.sin(POINTS))
    assert len(traced) == 2 * (1 + 2)  # both jitted functions share what is traced


def test_the_environment_can_be_printed(capsys):
    assert glassjax.print_environment_info() is None
    printed = capsys.readouterr().out
    assert printed == glassjax.print_environment_info(return_string=True) + "\n"
    for version in (np.__version__, sys.version, "cpu:0"):
        assert version in printed


def test_precision_of_products_is_a_setting():
    with glassjax.default_matmul_precision("highest"):
        assert "HIGHEST" in glassjax.jit(jnp.dot).lower(POINTS, POINTS).as_text()
    assert "HIGHEST" not in glassjax.jit(jnp.dot).lower(POINTS, POINTS).as_text()
