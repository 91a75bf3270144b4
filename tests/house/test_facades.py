"""Facades import names lazily, on first use."""

import importlib
import pickle
import pkgutil
import subprocess
import sys
import textwrap
import types

import pytest

import glassjax
from tools import stubs

FACADES = [name for name, _ in stubs.facades()]


def run(program):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_type_checkers_see_what_facades_offer():
    """In a process of its own, without the primitives of other tests."""
    run(
        """
        from tools import stubs

        for name, path in stubs.facades():
            assert path.read_text(encoding="utf-8") == stubs.stub(name), "python -m tools.stubs"
        assert stubs.METHODS.read_text(encoding="utf-8") == stubs.stub_of_methods()
        """
    )


@pytest.mark.parametrize("name", FACADES)
def test_every_name_is_there_and_listed(name):
    facade = importlib.import_module(name)
    offered = facade.__places__
    assert set(facade.__all__) <= set(dir(facade))
    for each in {*offered, *facade.__all__}:
        value = getattr(facade, each)
        assert value is getattr(facade, each) or each.startswith("__version")
        is_module = isinstance(value, types.ModuleType)
        assert not is_module or value.__name__.startswith(("glassjax.", "numpy"))
    with pytest.raises(AttributeError, match=f"module '{name}' has no attribute 'nothing'"):
        facade.nothing  # noqa: B018


def test_a_module_does_not_hide_the_function_of_its_name():
    run(
        """
        import glassjax.numpy.einsum
        import glassjax.numpy as jnp
        import glassjax.numpy.vectorize
        assert callable(jnp.einsum) and callable(jnp.vectorize)
        """
    )


def test_facades_are_pickled_by_name():
    for name in FACADES:
        facade = importlib.import_module(name)
        assert pickle.loads(pickle.dumps(facade)) is facade


def test_what_is_named_is_replaced(monkeypatch):
    monkeypatch.setattr(glassjax.numpy, "sin", abs)
    assert glassjax.numpy.sin is abs


def test_anything_may_be_imported_while_a_function_is_traced():
    run(
        f"""
        import importlib
        import glassjax

        def f(x):
            for facade in {FACADES}:
                for module, _ in importlib.import_module(facade).__places__.values():
                    importlib.import_module(module)
            return x * 2

        with glassjax.checking_leaks():
            assert glassjax.jit(glassjax.grad(f))(3.0) == 2
        assert glassjax.numpy.sum(glassjax.random.uniform(glassjax.random.key(0), (3,))) > 0
        """
    )


@pytest.mark.nightly
def test_any_module_may_be_the_first():
    modules = [
        each.name
        for each in pkgutil.walk_packages(glassjax.__path__, "glassjax.")
        if not each.name.endswith("__main__") and ".as_jax" not in each.name
    ]
    for name in modules:
        run(f"import {name}")
