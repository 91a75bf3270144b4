"""Public names: listed, present and documented."""

import importlib
import importlib.metadata
import types

import numpy as np
import pytest
from rows import for_each

import glassjax

MODULES = [
    "glassjax",
    "glassjax.core",
    "glassjax.debug",
    "glassjax.errors",
    "glassjax.lax",
    "glassjax.nn",
    "glassjax.numpy",
    "glassjax.random",
    "glassjax.tree",
    "glassjax.tree_util",
]
# What a module has from elsewhere for its own use.
HELPERS = {
    "TYPE_CHECKING",
    "hide_frames_of",
    "hiding_frames",
    "Any",
    "Axes",
    "Callable",
    "Sequence",
    "Iterator",
    "checking_arguments",
    "contextmanager",
    "device_trace",
    "library_evaluation",
    "nullcontext",
    "evaluated_by_library",
    "operation",
    "canonical_axes",
    "promote",
    "to_inexact",
    "typeof",
}
NAMES = [(module, name) for module in MODULES for name in importlib.import_module(module).__all__]


@for_each("module", MODULES)
def test_a_module_lists_no_name_twice(module):
    names = importlib.import_module(module).__all__
    assert len(set(names)) == len(names)


@for_each("module", MODULES)
def test_what_a_module_imports_for_its_users_is_listed(module):
    """A public name of a facade that is no module and no helper from elsewhere is in `__all__`."""
    namespace = importlib.import_module(module)
    if any(getattr(value, "__module__", None) == module for value in vars(namespace).values()):
        return  # a room, which imports what it needs
    public = {
        name
        for name, value in vars(namespace).items()
        if not name.startswith("_") and not isinstance(value, types.ModuleType)
    }
    assert public - set(namespace.__all__) <= HELPERS


@for_each(("module", "name"), NAMES)
def test_a_name_is_there_and_documented(module, name):
    value = getattr(importlib.import_module(module), name)
    if (
        value is None
        or isinstance(value, float)
        or (module == "glassjax.core" and not callable(value))
    ):
        return  # pi has no docstring; tables are described where they are made
    assert value.__doc__


@for_each("name", sorted({*glassjax.tree.__all__} - {"static"}))
def test_tree_is_tree_util_by_short_names(name):
    assert getattr(glassjax.tree, name) is getattr(glassjax.tree_util, f"tree_{name}")


def test_the_programs_of_a_jax_user_run_after_changing_their_imports():
    import glassjax as jax
    import glassjax.numpy as jnp

    @jax.jit
    def loss(params, x):
        return jnp.mean(jax.nn.relu(jnp.dot(x, params["w"])) ** 2)

    params = {"w": jnp.ones((3, 2), dtype=jnp.float32)}
    x = np.ones((4, 3), np.float32)
    gradient = jax.grad(loss)(params, x)
    assert gradient["w"].dtype == jnp.float32
    assert jax.tree.map(jnp.shape, gradient) == {"w": (3, 2)}
    np.testing.assert_allclose(gradient["w"], np.full((3, 2), 3.0))


def test_the_version_is_that_of_the_distribution():
    assert glassjax.__version__ == importlib.metadata.version("glassjax")
    assert glassjax.version.__version__ == glassjax.__version__
    major, minor, patch = glassjax.__version_info__
    assert glassjax.__version__.startswith(f"{major}.{minor}.{patch}")
    assert glassjax.version.__version_info__ == glassjax.__version_info__
    with pytest.raises(AttributeError, match="module 'glassjax' has no attribute 'versoin'"):
        glassjax.versoin  # noqa: B018
