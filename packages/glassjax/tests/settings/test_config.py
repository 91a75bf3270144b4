"""Settings: sources, changes and errors."""

import contextvars
import os
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from rows import for_each

import glassjax
from glassjax.settings.config import Config, _user_cache_directory, config


def in_fresh_process(program, **variables):
    env = {k: v for k, v in os.environ.items() if not k.startswith("GLASSJAX_")} | variables
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=env)
    return done.stdout.strip() if done.returncode == 0 else done.stderr.strip().splitlines()[-1]


SHOW = "import glassjax; print(repr(glassjax.config.{}))"


@pytest.fixture
def settings(monkeypatch):
    """Settings of our own, one of each type."""
    monkeypatch.setenv("GLASSJAX_FROM_ENVIRONMENT", "3")
    monkeypatch.setenv("GLASSJAX_EMPTY", "")
    ours = Config()
    ours.declare("switch", bool, False, "A switch.")
    ours.declare("count", int, 1, "A number.")
    ours.declare("seconds", float, 0.5, "A time.")
    ours.declare("place", os.PathLike, None, "A path.")
    ours.declare("from_environment", int, 1, "A number that the environment knows.")
    ours.declare("empty", int, 1, "A number that the environment leaves open.")
    return ours


def test_glassjax_config_is_there_under_its_name():
    assert glassjax.config is config
    assert config.compilation_cache_max_size == 2**30


@for_each("name", list(config.options))
def test_every_setting_says_what_it_does_and_has_a_default_of_its_type(name):
    option = config.option(name)
    assert option.doc.endswith(".")
    with option.override(option.default):
        assert option.value == option.default


def test_update_and_attributes(settings):
    settings.update("count", 5)
    assert settings.count == 5
    settings.update("seconds", 2)
    assert settings.seconds == 2
    settings.update("place", Path("somewhere"))
    assert settings.place == "somewhere"
    settings.update("place", None)
    assert settings.place is None
    assert "count = 5" in repr(settings).splitlines()
    assert "count" in dir(settings)


def test_the_names_of_jax(settings):
    settings.update("jax_count", 7)
    assert settings.count == settings.jax_count == 7
    with settings.override(jax_count=8):
        assert settings.count == 8


def test_the_environment(settings):
    assert (settings.from_environment, settings.empty) == (3, 1)


@for_each(
    ("text", "value"), [("1", True), ("True", True), ("on", True), ("0", False), ("No", False)]
)
def test_switches_in_the_environment(text, value, monkeypatch):
    monkeypatch.setenv("GLASSJAX_SWITCH", text)
    assert Config().declare("switch", bool, not value, "A switch.").value is value


@for_each(
    ("kind", "text", "expected"),
    [
        (bool, "perhaps", "true or false"),
        (int, "1 GB", "an int"),
        (float, "a while", "a float"),
    ],
)
def test_a_mistake_in_the_environment(kind, text, expected, monkeypatch):
    monkeypatch.setenv("GLASSJAX_SETTING", text)
    message = f"the environment variable GLASSJAX_SETTING has to be {expected}, found {text!r}"
    with pytest.raises(ValueError, match=f"^{message}$"):
        Config().declare("setting", kind, None, "A setting.")


def test_the_settings_of_the_library_are_read_when_it_is_imported():
    names = "enable_compilation_cache", "compilation_cache_max_size"
    variables = {"GLASSJAX_ENABLE_COMPILATION_CACHE": "No"}
    shown = in_fresh_process("; ".join(map(SHOW.format, names)), **variables)
    assert shown.split() == ["False", repr(2**30)]
    message = in_fresh_process("import glassjax", GLASSJAX_COMPILATION_CACHE_MAX_SIZE="1 GB")
    assert message == (
        "ValueError: the environment variable GLASSJAX_COMPILATION_CACHE_MAX_SIZE has to be an "
        "int, found '1 GB'"
    )


def test_override_holds_for_the_block(settings):
    with settings.override(count=2, switch=True):
        assert (settings.count, settings.switch) == (2, True)
        with settings.override(count=3):
            assert settings.count == 3
        assert settings.count == 2
        settings.update("count", 10)  # elsewhere
        assert settings.count == 2
    assert (settings.count, settings.switch) == (10, False)


def test_override_ends_with_an_exception(settings):
    with pytest.raises(ZeroDivisionError), settings.override(count=2):
        1 / 0  # noqa: B018
    assert settings.count == 1


def test_override_undoes_what_came_before_a_mistake(settings):
    with pytest.raises(TypeError), settings.override(count=2, switch="yes"):
        pass
    assert settings.count == 1


def test_override_holds_for_one_thread(settings):
    seen = []
    with settings.override(count=2):
        thread = threading.Thread(target=lambda: seen.append(settings.count))
        thread.start()
        thread.join()
    assert seen == [1]


def test_update_holds_for_all_threads(settings):
    seen = []
    settings.update("count", 2)
    thread = threading.Thread(target=lambda: seen.append(settings.count))
    thread.start()
    thread.join()
    assert seen == [2]


def test_what_sets_can_be_entered_again(settings):
    """`with setting: ...; with setting: ...` failed: a generator of contextlib ends once."""
    setting = settings.override(count=2)
    for _ in range(2):
        with setting, settings.override(count=3), setting:
            assert settings.count == 2
        assert settings.count == 1


@for_each("name", ["enable_x64", "disable_jit", "debug_nans", "log_compiles"])
def test_public_settings_can_be_entered_again(name):
    outside = config.read(name)
    setting = getattr(glassjax, name)(not outside)
    for _ in range(2):
        with setting:
            assert config.read(name) is not outside
        assert config.read(name) is outside
        assert setting(lambda: config.read(name))() is not outside


def test_threads_may_share_what_sets(settings):
    """The one that enters first ends first; each restores what it found."""
    setting, entered, seen = settings.override(count=2), threading.Barrier(2), []

    def run(outer):
        with settings.override(count=outer):
            setting.__enter__()
            entered.wait()
            if outer == 10:
                setting.__exit__(None, None, None)
            entered.wait()
            if outer == 11:
                setting.__exit__(None, None, None)
            seen.append((outer, settings.count))

    threads = [threading.Thread(target=run, args=(outer,)) for outer in (10, 11)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seen) == [(10, 10), (11, 11)]


def test_blocks_of_one_setting_may_end_in_any_context(settings):
    """A generator that another context closes: a token of a ContextVar would be refused there."""

    def block():
        with settings.override(count=2):
            yield

    generator = block()
    contextvars.copy_context().run(next, generator)
    generator.close()
    assert settings.count == 1


# Settings that are kept together, for speed, with the types of numbers, and other values of them.
KEPT_TOGETHER = {
    "enable_x64": True,
    "numpy_dtype_promotion": "strict",
    "numpy_rank_promotion": "raise",
    "default_matmul_precision": "highest",
    "enable_custom_prng": True,
    "default_prng_impl": "rbg",
    "threefry_partitionable": False,
    "legacy_prng_key": "error",
}


@pytest.fixture
def at_defaults():
    before = {name: config.read(name) for name in KEPT_TOGETHER}
    for name in KEPT_TOGETHER:
        config.update(name, config.option(name).default)
    yield
    for name, value in before.items():
        config.update(name, value)


@for_each("changed", KEPT_TOGETHER)
@for_each("overridden", KEPT_TOGETHER)
def test_settings_are_overridden_one_by_one(overridden, changed, at_defaults):
    """Overriding one of them once pinned all others: `update` did nothing in the block."""
    default = config.option(overridden).default
    config.update(changed, config.option(changed).default)
    with config.override(**{overridden: default}):
        config.update(changed, KEPT_TOGETHER[changed])
        assert config.read(changed) == (
            default if changed == overridden else KEPT_TOGETHER[changed]
        )
    assert config.read(changed) == KEPT_TOGETHER[changed]


def test_blocks_of_several_settings_need_not_be_nested(at_defaults):
    def block():
        with config.override(numpy_rank_promotion="raise"):
            yield

    generator = block()
    next(generator)
    with config.override(numpy_dtype_promotion="strict"):
        generator.close()  # the end of its block concerns no other setting
        assert (config.numpy_rank_promotion, config.numpy_dtype_promotion) == ("allow", "strict")
    assert config.numpy_dtype_promotion == "standard"


def test_settings_changed_in_a_function_that_is_traced(at_defaults):
    seen = []

    @glassjax.jit
    def f(x):
        seen.append(glassjax.numpy.arange(3.0).dtype.name)
        with config.override(enable_x64=True):
            seen.append(glassjax.numpy.arange(3.0).dtype.name)
            with glassjax.numpy_rank_promotion("raise"):
                config.update("enable_x64", False)
                seen.append(glassjax.numpy.arange(3.0).dtype.name)
        seen.append(glassjax.numpy.arange(3.0).dtype.name)
        config.update("enable_x64", True)
        seen.append(glassjax.numpy.arange(3.0).dtype.name)
        return x

    f(1.0)
    assert seen == ["float32", "float64", "float64", "float32", "float64"]


def test_a_program_is_one_of_its_settings(at_defaults):
    """Threads that change and override settings while they call one function."""
    f = glassjax.jit(lambda x: x + np.float64(1))
    x = np.ones(2)

    def call(names):
        for _ in range(50):
            with glassjax.enable_x64(True):
                names.add(f(x).dtype.name)

    wide = set()
    threads = [threading.Thread(target=call, args=(wide,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for value in [True, False] * 50:
        config.update("enable_x64", value)
        assert f(x).dtype == ("float64" if value else "float32")
    for thread in threads:
        thread.join()
    assert wide == {"float64"}


@for_each(
    ("name", "value", "expected"),
    [
        ("switch", 1, "config: switch is true or false, found 1 of type int"),
        ("switch", "true", "config: switch is true or false, found 'true' of type str"),
        ("count", 1.5, "config: count is an int, found 1.5 of type float"),
        ("count", True, "config: count is an int, found True of type bool"),
        ("seconds", None, "config: seconds is a float, found None of type NoneType"),
        ("place", 3, "config: place is a path or None, found 3 of type int"),
    ],
)
def test_wrong_types(settings, name, value, expected):
    before = getattr(settings, name)
    with pytest.raises(TypeError) as error:
        settings.update(name, value)
    assert str(error.value) == expected
    with pytest.raises(TypeError), settings.override(**{name: value}):
        pass
    assert getattr(settings, name) == before


def test_unknown_names():
    expected = (
        "config has no setting 'jax_compilation_cache_directory'; "
        "did you mean 'compilation_cache_dir'?"
    )
    with pytest.raises(AttributeError) as error:
        config.update("jax_compilation_cache_directory", "here")
    assert str(error.value) == expected
    with pytest.raises(AttributeError, match="no setting 'xyz'; there are: enable_compilation"):
        _ = config.xyz
    with pytest.raises(AttributeError, match="did you mean"), config.override(enable_cache=True):
        pass
    assert not hasattr(config, "xyz")


def test_assigning_is_refused_with_the_remedy(settings):
    with pytest.raises(AttributeError, match=r"changed by config.update\('count', 3\)"):
        settings.count = 3
    assert settings.count == 1


def test_all_values_by_the_names_of_jax(settings):
    assert (
        settings.values.items()
        >= {
            "jax_switch": False,
            "jax_count": 1,
            "jax_seconds": 0.5,
            "jax_place": None,
            "jax_from_environment": 3,
            "jax_empty": 1,
        }.items()
    )
    assert settings.read("jax_count") == settings.read("count") == 1
    with pytest.raises(AttributeError, match="did you mean 'count'"):
        settings.read("jax_cuont")


def test_the_command_line(settings, monkeypatch):
    flags = ["--jax_switch", "-jax_count=7", "--jax_place", "here", "--jax_other=3", "jax_seconds"]
    monkeypatch.setattr(sys, "argv", ["program", *flags, "--", "--jax_count=8"])
    settings.parse_flags_with_absl()
    assert (settings.switch, settings.count, settings.place) == (True, 7, "here")
    assert settings.seconds == 0.5
    monkeypatch.setattr(sys, "argv", ["program", "--nojax_switch", "--jax_empty=5"])
    settings.parse_flags_with_absl()
    assert (settings.switch, settings.empty) == (False, 5)
    monkeypatch.setattr(sys, "argv", ["program", "--jax_count=many"])
    with pytest.raises(ValueError, match="the flag --jax_count has to be an int, found 'many'"):
        settings.parse_flags_with_absl()


def test_absl_may_read_its_flags_after_the_command_line(settings, monkeypatch):
    class Flags(list):
        is_parsed = list.__len__
        __call__ = list.extend

    monkeypatch.setitem(sys.modules, "absl.flags", SimpleNamespace(FLAGS=Flags()))
    monkeypatch.setattr(sys, "argv", ["program", "--other"])
    settings.parse_flags_with_absl()
    settings.parse_flags_with_absl()
    assert sys.modules["absl.flags"].FLAGS == ["program"]


@pytest.mark.cpu_only
@for_each(
    ("name", "value"),
    [
        ("jax_platforms", "cpu"),
        ("jax_platform_name", "cpu"),
        ("jax_default_prng_impl", "rbg"),
        ("jax_threefry_partitionable", False),
        ("jax_default_matmul_precision", "float32"),
        ("jax_default_device", "cpu"),
        ("jax_default_device", glassjax.devices()[0]),
    ],
)
def test_what_programs_for_jax_set(name, value):
    with config.override(**{name: value}):
        assert config.read(name) == config.values[name] == value
        assert float(glassjax.numpy.ones(2).sum()) == 2.0


@for_each(
    ("name", "value", "error", "message"),
    [
        ("platforms", "abacus", ValueError, "platforms is of .*, found 'abacus'"),
        ("platforms", 3, TypeError, "platforms is a string or None, found 3"),
        ("platforms", "cuda,cpu", RuntimeError, "computing has begun, with platforms=.*; choose"),
        (
            "platform_name",
            "tpu",
            ValueError,
            "platform_name is of .* found 'tpu'",
        ),
        ("python_client_mem_fraction", 0.5, RuntimeError, "GLASSJAX_PYTHON_CLIENT_MEM_FRACTION"),
        ("default_device", "tpu", RuntimeError, "Unknown backend 'tpu', there are no devices"),
        ("default_device", 0, ValueError, "one of glassjax.devices.*found 0 of type int"),
        ("default_prng_impl", "fastest", ValueError, "is one of 'threefry2x32', 'rbg'"),
        ("threefry_partitionable", 0, TypeError, "true or false, found 0"),
        ("default_matmul_precision", "exact", ValueError, "is one of None, 'default'.*'exact'"),
    ],
)
def test_what_this_library_has_not(name, value, error, message):
    before = config.read(name)
    with pytest.raises(error, match=message):
        config.update(name, value)
    with pytest.raises(error, match=message), config.override(**{name: value}):
        pass
    assert config.read(name) == before


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="the place is another one there")
@for_each(
    ("home", "cache", "expected"),
    [
        ("/home/me", "", "/home/me/.cache/glassjax"),
        ("/home/me", "/fast/me", "/fast/me/glassjax"),
        ("/home/me", "relative", "/home/me/.cache/glassjax"),
    ],
)
def test_where_the_cache_is_by_default(home, cache, expected, monkeypatch):
    monkeypatch.setenv("HOME", home)
    monkeypatch.setenv("XDG_CACHE_HOME", cache)
    assert _user_cache_directory() == expected
