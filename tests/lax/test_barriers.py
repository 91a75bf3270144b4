"""Tokens, barriers, composites and `stop_gradient`, beside JAX."""

import re

import jax
import jax.extend
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax as jlax
from libraries import LIBRARIES, assert_close, assert_same

import glassjax
import glassjax.extend
import glassjax.extend.core
import glassjax.numpy
from glassjax import lax


def token_of(j):
    return j.lax.create_token()


def test_the_type_of_a_token(lib):
    aval = lib.typeof(token_of(lib))
    assert aval is lib.ffi.abstract_token
    assert isinstance(aval, lib.extend.core.AbstractToken)
    assert (repr(aval), aval.str_short()) == ("AbstractToken()", "Tok")
    assert aval.to_tangent_aval() is aval is aval.to_ct_aval()
    assert type(token_of(lib)) is lib.extend.core.Token
    assert lib.eval_shape(lambda x: lib.lax.create_token(), 1.0) is aval


def test_tokens_wait(lib):
    token = token_of(lib)
    assert token.block_until_ready() is None
    assert lib.extend.core.Token(lib.numpy.arange(3)).block_until_ready() is None
    assert lib.block_until_ready(token) is token is lib.device_get(token)


# Functions of the module, a number and a token.
PROGRAMS = {
    "pass": lambda j, x, t: (t, x),
    "after": lambda j, x, t: (j.lax.after_all(t, t), x * 2),
    "create": lambda j, x, t: (j.lax.create_token(x), x + 1),
    "after_none": lambda j, x, t: (j.lax.after_all(), x + 1),
    "after_mixed": lambda j, x, t: j.lax.after_all(j.lax.create_token(), t, t),
    "jit": lambda j, x, t: j.jit(lambda x, t: (x * 2, j.lax.after_all(t)))(x, t),
    "while": lambda j, x, t: j.lax.while_loop(
        lambda c: c[0] < 3, lambda c: (c[0] + 1, j.lax.after_all(c[1])), (x, t)
    ),
    "barrier": lambda j, x, t: j.lax.optimization_barrier((t, x)),
    "checkpoint": lambda j, x, t: j.checkpoint(lambda x: (j.lax.after_all(t), x * 2)[1])(x),
    "closed_over": lambda j, x, t: j.jit(lambda x: (j.lax.after_all(t), x))(x),
}


def shown(tree, j):
    """Numbers, and the word for each token."""
    leaves = j.tree.leaves(tree)
    is_token = [isinstance(leaf, j.extend.core.Token) for leaf in leaves]
    pairs = zip(leaves, is_token, strict=True)
    return ["token" if t else (float(leaf), np.dtype(leaf.dtype)) for leaf, t in pairs]


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("jitted", [False, True], ids=["eager", "jit"])
def test_programs_of_tokens_agree(name, jitted):
    found = []
    for j in (glassjax, jax):
        f = lambda x, t, j=j: PROGRAMS[name](j, x, t)  # noqa: E731
        if name == "closed_over" and j is jax:  # which JAX cannot
            found.append(["token", (1.0, np.dtype("float32"))])
            continue
        found.append(shown((j.jit(f) if jitted else f)(np.float32(1), token_of(j)), j))
    assert found[0] == found[1]


@pytest.mark.parametrize("name", ["after", "create", "after_none", "after_mixed", "jit"])
def test_jaxprs_of_tokens_agree(name):
    texts = [
        re.sub(r"name=\S+", "", str(j.make_jaxpr(lambda x, t, j=j: PROGRAMS[name](j, x, t))(
            1.0, token_of(j)
        )))
        for j in (glassjax, jax)
    ]  # fmt: skip
    assert texts[0] == texts[1]


def test_programs_are_lowered_to_tokens_of_stablehlo(lib):
    def f(t, x):
        return lib.lax.after_all(t, lib.lax.create_token()), x

    text = lib.jit(f).lower(token_of(lib), 1.0).as_text()
    assert "%arg0: !stablehlo.token" in text
    assert "stablehlo.create_token : !stablehlo.token" in text
    assert re.search(r"stablehlo\.after_all %arg0, %\w+ : !stablehlo\.token", text)


def test_derivatives_pass_by_tokens(lib):
    def f(x):
        token = lib.lax.after_all(lib.lax.create_token())
        y, _ = lib.jit(lambda x, t: (x * x, lib.lax.after_all(t)))(x, token)
        return y

    assert lib.grad(f)(3.0) == 6.0
    assert lib.jvp(f, (3.0,), (1.0,))[1] == 6.0
    np.testing.assert_array_equal(lib.vmap(f)(lib.numpy.arange(3.0)), [0, 1, 4])
    np.testing.assert_array_equal(lib.vmap(lib.grad(f))(lib.numpy.arange(3.0)), [0, 2, 4])


def test_tokens_are_not_mapped(lib):
    def f(x, t):
        return x * 2, lib.lax.after_all(t)

    x, token = lib.numpy.arange(3.0), token_of(lib)
    first = lib.vmap(lambda x, t: f(x, t)[0], (0, None))(x, token)
    np.testing.assert_array_equal(first, [0, 2, 4])
    doubled, after = lib.vmap(f, (0, None), (0, None))(x, token)
    assert isinstance(after, lib.extend.core.Token)
    assert doubled.shape == (3,)
    for in_axes, out_axes in (((0, None), 0), ((0, 0), (0, None))):
        with pytest.raises((TypeError, ValueError, AttributeError, KeyError)):
            lib.vmap(f, in_axes, out_axes)(x, token)


def test_what_is_not_a_token_is_an_error(lib):
    with pytest.raises(TypeError, match=r"rguments .*must be tokens"):
        lib.lax.after_all(1.0)
    with pytest.raises(TypeError, match=r"rguments .*must be tokens"):
        lib.jit(lambda t, x: lib.lax.after_all(t, x))(token_of(lib), 1.0)
    with pytest.raises(TypeError):
        lib.numpy.sin(token_of(lib))
    with pytest.raises((TypeError, AttributeError)):  # XLA would end the process
        lib.lax.cond(True, lambda t: t, lambda t: lib.lax.after_all(t), token_of(lib))


def test_foreign_functions_take_and_return_tokens(lib):
    types = (lib.ffi.abstract_token, lib.ShapeDtypeStruct((), "float32"))

    def f(x):
        return lib.ffi.ffi_call("no_function", types)(lib.lax.create_token(), x)[1]

    text = lib.jit(f).lower(np.float32(1)).as_text()
    assert "(!stablehlo.token, tensor<f32>) -> (!stablehlo.token, tensor<f32>)" in text
    assert "operand_layouts = [dense<> : tensor<0xindex>, dense<> : tensor<0xindex>]" in text


def test_primitives_have_jaxs_names():
    for name in ("after_all_p", "create_token_p"):
        mine = getattr(glassjax.lax, name)
        assert mine is getattr(glassjax.extend.core.primitives, name)
        assert mine.name == getattr(jax.lax, name).name
    assert glassjax.lax.create_token_p.bind().aval is glassjax.ffi.abstract_token


def test_tokens_of_programs_on_another_device():
    device = glassjax.devices()[-1]
    x = glassjax.device_put(jnp.arange(3.0).__array__(), device)
    doubled, token = glassjax.jit(lambda x, t: (x * 2, glassjax.lax.after_all(t)))(
        x, token_of(glassjax)
    )
    assert isinstance(token, glassjax.extend.core.Token)
    assert glassjax.jit(lambda t: t)(token).block_until_ready() is None
    np.testing.assert_array_equal(doubled, [0, 2, 4])


@pytest.mark.newest_jax
def test_a_composite_takes_arrays_without_jit():
    with glassjax.disable_jit():
        doubled = glassjax.lax.composite(lambda x: x + x, "test.double")(np.float32(1))
    assert isinstance(doubled, glassjax.Array)
    assert doubled == 2


def test_staging():
    assert_close(lax.stage(2.0), jlax.stage(2.0))
    for tree in (None, {}, [1.0]):
        with pytest.raises(TypeError):
            jlax.stage(tree)
        with pytest.raises(TypeError, match="stage"):
            lax.stage(tree)
    assert lax.dce_sink(1.0) is None
    assert glassjax.jit(lambda x: (lax.dce_sink(x * 2), lax.stage(x))[1])(1.0) == 1


RNG = np.random.default_rng(0)


X = RNG.standard_normal((2, 3, 4))


def leaves(lib, outs):
    return [np.asarray(x) for x in lib.tree.leaves(outs)]


def test_a_barrier_stands_in_the_program():
    text = (
        glassjax.jit(lambda x: glassjax.lax.optimization_barrier((x, x + 1))).lower(1.0).as_text()
    )
    assert len(re.findall(r"stablehlo\.optimization_barrier %\w+, %\w+ : tensor", text)) == 1


def test_functions_with_a_name():
    def everything(lib, jnp):
        def scaled(x, y=2.0, *, by):
            return {"a": x * y * by, "b": [x]}

        f = lib.lax.composite(scaled, name="my.scaled", version=1)
        return f(X, by=2), f(X, 3.0, by=4), lib.jit(lambda x: f(x, x, by=1))(X)

    ours, theirs = (leaves(lib, everything(lib, jnp)) for lib, jnp in LIBRARIES)
    assert_same(ours, theirs, 1e-12)
    tangent = glassjax.lax.composite(lambda x: glassjax.lax.sin(x), name="my.sine")
    np.testing.assert_allclose(glassjax.grad(tangent)(0.0), 1.0)
    assert "my.sine" in glassjax.jit(tangent).lower(1.0).compile().as_text()
    for wrong in ({"name": 3}, {"name": "a", "version": "1"}):
        with pytest.raises(TypeError, match="composite: "):
            glassjax.lax.composite(lambda x: x, **wrong)
    with pytest.raises(TypeError, match="composite"):
        glassjax.lax.composite(3, name="three")
