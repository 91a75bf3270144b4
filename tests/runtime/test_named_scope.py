"""Scope names in the metadata of compiled programs."""

import re

import jax
import numpy as np
import pytest

import glassjax
import glassjax.numpy as jnp


@pytest.mark.newest_jax
def test_names_that_are_no_text_are_shown_as_far_as_they_are():
    """Files may have such names, too: they come from bytes that are no UTF-8."""
    function = glassjax.jit(glassjax.named_call(jnp.sin, name="a\udcff"))
    assert 'op_name="a?/sin"' in function.lower(1.0).compile().as_text()


X = np.linspace(-1.0, 1.0, 3)


LIBRARIES = [jax, glassjax]


def names_in_hlo(library, function, *args):
    text = library.jit(function).lower(*args).compile().as_text()
    return set(re.findall(r'op_name="([^"]*)"', text))


def test_names_of_scopes_are_in_the_metadata_of_the_compiled_program():
    def scoped(library):
        @library.named_scope("decorated")
        def decorated(x):
            return library.numpy.tan(x)

        @library.jit
        def inner(x):
            with library.named_scope("within"):
                return library.numpy.exp(x)

        def f(x):
            with library.named_scope("outer"):
                x = library.numpy.sin(x)
                with library.named_scope("inner"):
                    x = library.numpy.cos(x)
                x = inner(x)
            x = library.named_call(library.numpy.tanh, name="called")(x)
            return decorated(inner(x))

        return f

    for library in LIBRARIES:
        names = names_in_hlo(library, scoped(library), X)
        for path in (
            "outer/sin",
            "outer/inner/cos",
            r"outer/jit(\(inner\))?/within/exp",
            "called/(jit.tanh./)?tanh",
            r"^(jit\(f\)/jit\(inner\)/)?within/exp",
            "decorated/(jit.tan./)?tan",
        ):
            assert any(re.search(f"{path}$", name) for name in names), (path, names)
    gradient = glassjax.grad(lambda x: jnp.sum(scoped(glassjax)(x)))
    assert {"outer/inner/cos", "decorated/tan"} <= names_in_hlo(glassjax, gradient, X)
    program = str(glassjax.make_jaxpr(scoped(glassjax))(X))
    assert program == str(glassjax.make_jaxpr(scoped(glassjax))(X))
    assert "outer" not in program  # a scope is no step of the program
    lowered = glassjax.jit(scoped(glassjax)).lower(X)
    assert "outer" not in lowered.as_text()
    assert 'loc("outer/inner/cos"(' in lowered.as_text(debug_info=True)


def test_a_name_may_hold_any_character():
    def f(x):
        with glassjax.named_scope('a "b" \\ \n(c)'):
            return jnp.sin(x)

    np.testing.assert_allclose(glassjax.jit(f)(X), np.sin(X))
    assert "loc(" not in glassjax.jit(f).lower(X).as_text()
    with pytest.raises(TypeError, match="named_scope: name must be a string, found 3"):
        glassjax.named_scope(3).__enter__()
