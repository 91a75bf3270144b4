"""Programs in JAX's form, which readers see in the place of ours: they compute the same."""

import importlib
import inspect
import pkgutil
from functools import partial

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
from glassjax.jax_programs.derivatives import jvp_rules_of_jax as rules

# For each function of a room, or rule of a primitive, an expression whose program has it.
EXAMPLES = {
    "derivatives.cumlogsumexp": "lax.cumlogsumexp(m, axis=1)",
    "derivatives.cumprod": "lax.cumprod(m, axis=1, reverse=True)",
    "derivatives.div": "nn.softmax(x) / (x + y)",
    "derivatives.pow": "x**y + 2.0**x",
    "derivatives.reduce_prod": "m.prod(0) * lax.reduce_prod(m, (0, 1))",
    "linalg._solutions": "jnp.linalg.solve(m, m @ m + 1)",
    "numpy._share": "jnp.logaddexp(x, y) + jnp.logaddexp2(y, x)",
    "numpy.select": "jnp.select([x < 0.3, x > 0.6], [x, 2 * y], -x)",
}

ROOMS = [
    importlib.import_module(f"{jax_programs.__name__}.{room.name}")
    for room in pkgutil.iter_modules(jax_programs.__path__)
    if room.name != "derivatives"
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
        f"derivatives.{primitive}": (partial(monkeypatch.setitem, rules, primitive), rule)
        for primitive, rule in rules.items()
    } | {
        f"{room.__name__.rpartition('.')[2]}.{name}": (
            partial(monkeypatch.setattr, room, name),
            function,
        )
        for room in ROOMS
        for name, function in inspect.getmembers(room, inspect.isfunction)
        if function.__module__ == room.__name__
    }
    for key, (replace, function) in functions.items():
        replace(noted(key, function))
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
