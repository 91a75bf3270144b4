"""Settings that JAX has and this library has not: named without an error, or with a good one."""

import jax
import pytest
from tables import for_each

import minijax
from minijax.settings.jax_options import WITH_ONE_VALUE, WITHOUT_EFFECT, options_of_jax


@for_each("name", sorted(options_of_jax()))
def test_the_default_is_jaxs(name):
    option = options_of_jax()[name]
    if option.name in jax.config._value_holders or f"jax_{name}" in jax.config._value_holders:
        theirs = jax.config._value_holders.get(f"jax_{name}", jax.config._value_holders.get(name))
        expected = getattr(theirs.value, "name", theirs.value)
        same = {str(option.value or None).lower()} - {"allow"}  # which None means there
        assert same <= {str(expected or None).lower()}
    assert getattr(minijax.config, f"jax_{name}") == option.value
    assert minijax.config.read(name) == option.value
    minijax.config.update(f"jax_{name}", option.value)


def test_what_is_of_no_effect_takes_values_of_its_type():
    for names in WITHOUT_EFFECT.values():
        for name, default in names.items():
            other = {bool: True, int: 7, str: "other"}[type(default)]
            with minijax.config.override(**{name: other}):
                assert minijax.config.read(name) == other
            with pytest.raises(TypeError, match=name):
                minijax.config.update(name, 1.5)


def test_what_would_ask_for_more_says_so():
    for names in WITH_ONE_VALUE.values():
        for name, default in names.items():
            other = {bool: not default, int: 7, str: "other"}[type(default)]
            with pytest.raises(NotImplementedError, match=f"{name} can only be"):
                minijax.config.update(f"jax_{name}", other)


def test_every_setting_of_jax_can_be_named():
    for name in jax.config._value_holders:
        minijax.config.read(name)
    for library in (jax, minijax):
        for value in (True, False):
            with library.enable_x64(value):
                assert library.config.x64_enabled is value


def test_the_settings_of_the_library_are_listed_alone():
    assert "enable_checks" not in minijax.config.options
    assert "enable_checks" not in repr(minijax.config)
    with pytest.raises(AttributeError, match="no setting"):
        minijax.config.update("jax_nonsense_of_mine", True)
