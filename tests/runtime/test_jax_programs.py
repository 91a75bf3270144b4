"""Programs in JAX's form, which readers see in the place of ours: they compute the same."""

import importlib
import inspect
import pkgutil

import jax
import jax.scipy.signal
import jax.scipy.stats
import numpy as np
import pytest
from library_programs import WAYS, transformed

import glassjax
import glassjax.scipy
from glassjax import jax_programs
from glassjax.extend.core import nested_calls

# For each function of a room, an expression whose program has it.
EXAMPLES = {
    "linalg._solutions": "jnp.linalg.solve(m, m @ m + 1)",
    "numpy.select": "jnp.select([x < 0.3, x > 0.6], [x, 2 * y], -x)",
}

ROOMS = [
    importlib.import_module(f"{jax_programs.__name__}.{room.name}")
    for room in pkgutil.iter_modules(jax_programs.__path__)
]


def test_each_function_has_an_example_that_it_writes(monkeypatch):
    glassjax.clear_caches()
    written = set()

    def noted(name, function):
        def note(*args, **kwargs):
            written.add(name)
            return function(*args, **kwargs)

        return note

    functions = {
        f"{room.__name__.rpartition('.')[2]}.{name}": (room, name, function)
        for room in ROOMS
        for name, function in inspect.getmembers(room, inspect.isfunction)
        if function.__module__ == room.__name__
    }
    for key, (room, name, function) in functions.items():
        monkeypatch.setattr(room, name, noted(key, function))
    assert EXAMPLES.keys() == functions.keys()
    for key, expression in EXAMPLES.items():
        written.clear()
        with nested_calls():
            for way in WAYS:
                if (found := transformed(glassjax, expression, way)) is not None:
                    glassjax.make_jaxpr(found[0])(*found[1])
        assert key in written


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", EXAMPLES)
def test_a_program_in_jaxs_form_computes_the_same(name, way):
    ours, theirs = (transformed(library, EXAMPLES[name], way) for library in (glassjax, jax))
    if ours is None:
        return
    function, arguments = ours
    with nested_calls():
        closed = glassjax.make_jaxpr(function)(*arguments)
    found = glassjax.core.eval_jaxpr(closed.jaxpr, closed.consts, *arguments)
    plain, expected = (x[0](*x[1]) for x in (ours, theirs))
    for values in (glassjax.tree.leaves(plain), jax.tree.leaves(expected)):
        for x, y in zip(found, values, strict=True):
            assert (x.shape, x.dtype) == (y.shape, y.dtype)
            np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-6)
