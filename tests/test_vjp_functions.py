"""The functions of backward passes: their residuals as trees, and passes that are compiled once."""

import jax
import jax.numpy
import numpy as np
import pytest

import minijax
import minijax.numpy as jnp

BOTH = pytest.mark.parametrize("library", [minijax, jax], ids=["minijax", "jax"])


def test_residuals_that_are_arguments():
    def shown(library):
        f = lambda tree, y: (library.numpy.sin(tree["a"]) * y, tree["b"] + 1)  # noqa: E731
        ones = library.numpy.ones(2)
        _, f_vjp = library.vjp(f, {"a": ones, "b": ones}, 2 * ones)
        return [str(library.tree.map(np.asarray, each)) for each in f_vjp.args_res], [
            np.asarray(each) for each in f_vjp.opaque_residuals
        ]

    ours, theirs = shown(minijax), shown(jax)
    assert ours[0] == theirs[0]
    np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-6)


@BOTH
def test_arguments_that_may_not_be_kept(library):
    x, y = library.numpy.arange(3.0), library.numpy.ones(3)
    _, f_vjp = library.vjp(lambda x, y: library.numpy.sin(x) * y, x, y, saveable_args=(True, False))
    assert repr(f_vjp.args_res[1]) == "NotSaveable()"
    with pytest.raises(ValueError, match="args_res"):
        f_vjp(y)
    f_vjp.args_res[1] = y
    for each, expected in zip(f_vjp(y), (np.cos(x), np.sin(x)), strict=True):
        np.testing.assert_allclose(each, expected, rtol=1e-5, atol=1e-6)


def test_wrong_flags():
    with pytest.raises(TypeError, match="saveable_args must be True, False"):
        minijax.vjp(jnp.sin, 1.0, saveable_args=("no",))
    with pytest.raises(ValueError, match="saveable_args"):
        minijax.vjp(jnp.sin, 1.0, saveable_args=(True, True))


@BOTH
@pytest.mark.parametrize("jitted", [True, False])
@pytest.mark.parametrize("argnums", [1, (0, 1), (1,)])
def test_forward_and_backward(library, argnums, jitted):
    def f(x, w):
        return library.numpy.sum(library.numpy.tanh(w @ x)), {"aux": x[0]}

    fwd, bwd = library.fwd_and_bwd(f, argnums, has_aux=True, jitted=jitted)
    w, x = library.numpy.ones((2, 3)) / 3, library.numpy.arange(3.0)
    for _ in range(2):
        y, residuals, aux = fwd(x, w)
        cotangents = bwd(residuals, 2 * library.numpy.ones_like(y))
    expected = jax.grad(lambda x, w: 2 * jax.numpy.sum(jax.numpy.tanh(w @ x)), argnums)(
        np.asarray(x), np.asarray(w)
    )
    assert library.tree.structure(cotangents).num_leaves == len(jax.tree.leaves(expected))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5), cotangents, expected)
    np.testing.assert_allclose((y, aux["aux"]), (2 * np.tanh(1), 0), rtol=1e-6)
    if jitted:
        assert bwd._cache_size() == 1


def kept_of(library, function, *args):
    """The lines of `print_saved_residuals`, without places in sources, in the alphabet's order."""
    import contextlib
    import io

    with contextlib.redirect_stdout(io.StringIO()) as out:
        library.ad_checkpoint.print_saved_residuals(function(library), *args)
    return sorted(line.partition(" from /")[0] for line in out.getvalue().splitlines())


def loss(library):
    constant = library.numpy.ones((2, 3))

    def of(params, x):
        hidden = library.numpy.sin(params["w"] @ x)
        hidden = library.ad_checkpoint.checkpoint_name(hidden, "hidden")
        return library.numpy.sum(library.numpy.cos(hidden)) + library.numpy.sum(constant @ x)

    return of


POLICIES = {
    "none": lambda library: loss(library),
    "nothing": lambda library: library.checkpoint(loss(library)),
    "names": lambda library: library.checkpoint(
        loss(library), policy=library.checkpoint_policies.save_only_these_names("hidden")
    ),
    "decisions": lambda library: library.checkpoint(
        loss(library),
        policy=lambda prim, *_, **params: (
            library.ad_checkpoint.Saveable
            if str(prim) == "name"
            else library.ad_checkpoint.Recompute
        ),
    ),
}


@pytest.mark.parametrize("policy", POLICIES)
def test_saved_residuals_are_those_of_jax(policy):
    import jax.ad_checkpoint

    args = {"w": np.ones((4, 3), np.float32)}, np.ones(3, np.float32)
    assert kept_of(minijax, POLICIES[policy], *args) == kept_of(jax, POLICIES[policy], *args)
