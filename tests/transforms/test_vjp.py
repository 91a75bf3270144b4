"""Functions returned by `vjp`: residuals as pytrees, and backward passes compiled once."""

import jax
import jax.numpy
import numpy as np
import pytest

import glassjax
import glassjax.numpy as jnp


@pytest.mark.newest_jax
def test_residuals_that_are_arguments():
    def shown(library):
        f = lambda tree, y: (library.numpy.sin(tree["a"]) * y, tree["b"] + 1)  # noqa: E731
        ones = library.numpy.ones(2)
        _, f_vjp = library.vjp(f, {"a": ones, "b": ones}, 2 * ones)
        return [str(library.tree.map(np.asarray, each)) for each in f_vjp.args_res], [
            np.asarray(each) for each in f_vjp.opaque_residuals
        ]

    ours, theirs = shown(glassjax), shown(jax)
    assert ours[0] == theirs[0]
    np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-6)


def test_arguments_that_may_not_be_kept(lib):
    x, y = lib.numpy.arange(3.0), lib.numpy.ones(3)
    _, f_vjp = lib.vjp(lambda x, y: lib.numpy.sin(x) * y, x, y, saveable_args=(True, False))
    assert repr(f_vjp.args_res[1]) == "NotSaveable()"
    with pytest.raises(ValueError, match="args_res"):
        f_vjp(y)
    f_vjp.args_res[1] = y
    for each, expected in zip(f_vjp(y), (np.cos(x), np.sin(x)), strict=True):
        np.testing.assert_allclose(each, expected, rtol=1e-5, atol=1e-6)


def test_wrong_flags():
    with pytest.raises(TypeError, match="saveable_args must be True, False"):
        glassjax.vjp(jnp.sin, 1.0, saveable_args=("no",))
    with pytest.raises(ValueError, match="saveable_args"):
        glassjax.vjp(jnp.sin, 1.0, saveable_args=(True, True))


@pytest.fixture(scope="module")
def gradients():
    """Those of the function below by each of its arguments."""
    x, w = np.arange(3.0), np.ones((2, 3)) / 3
    slope = 2 * (1 - np.tanh(1.0) ** 2)
    return np.asarray(slope * w.sum(0)), np.asarray(slope * np.stack([x, x]))


@pytest.mark.parametrize("jitted", [True, False])
def test_forward_and_backward(lib, jitted, gradients):
    def f(x, w):
        return lib.numpy.sum(lib.numpy.tanh(w @ x)), {"aux": x[0]}

    w, x = lib.numpy.ones((2, 3)) / 3, lib.numpy.arange(3.0)
    for argnums in (1, (0, 1), (1,)):
        fwd, bwd = lib.fwd_and_bwd(f, argnums, has_aux=True, jitted=jitted)
        for _ in range(2):
            y, residuals, aux = fwd(x, w)
            cotangents = bwd(residuals, 2 * lib.numpy.ones_like(y))
        expected = gradients[1] if argnums == 1 else tuple(gradients[i] for i in argnums)
        assert lib.tree.structure(cotangents).num_leaves == len(jax.tree.leaves(expected))
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


@pytest.mark.newest_jax
@pytest.mark.parametrize("policy", POLICIES)
def test_saved_residuals_are_those_of_jax(policy):
    import jax.ad_checkpoint

    args = {"w": np.ones((4, 3), np.float32)}, np.ones(3, np.float32)
    assert kept_of(glassjax, POLICIES[policy], *args) == kept_of(jax, POLICIES[policy], *args)


def of_two(x, y):
    return x["a"] * 2, (y * x["b"], 3.0), [y], x["a"] > 0


ARGUMENTS = {"a": 1.0, "b": 2.0}, 3.0
CHOICES = [
    None, True, False, (True, False), [False, True], ({"a": True, "b": False}, False),
    ([True, False], True), ((False, True), False),
]  # fmt: skip


@pytest.mark.parametrize("in_nzs", CHOICES, ids=str)
def test_arguments_to_differentiate_by(in_nzs):
    def found(lib):
        ct = 1.0, (1.0, 1.0), [1.0], np.zeros((), jax.float0)
        _, pull_back = lib.vjp(of_two, *ARGUMENTS, in_nzs=in_nzs)
        _, push_forward = lib.linearize(of_two, *ARGUMENTS, in_nzs=in_nzs)
        tangents = push_forward({"a": 1.0, "b": 10.0}, 100.0)[:3]
        both = pull_back.out_nzs, push_forward.out_nzs
        return both, lib.tree.map(float, (pull_back(ct), tangents))

    assert found(glassjax) == found(jax)


def test_results_with_derivatives_within_others():
    """Of several perturbations that of this call counts, also under jit and vmap."""

    def found(lib):
        seen = []

        def f(x):
            _, g = lib.vjp(lambda y, z: (x * y, x, z), x, 1.0, in_nzs=(True, False))
            seen.append(g.out_nzs)
            return g((1.0, 1.0, 1.0))[0]

        lib.grad(f)(2.0), lib.jit(f)(2.0), lib.vmap(f)(np.ones(2))
        return seen

    assert found(glassjax) == found(jax) == [(True, False, False)] * 3


@pytest.mark.parametrize(
    ("in_nzs", "error", "message"),
    [
        ((1, True), TypeError, "vjp: in_nzs must be True, False or a tree of them, found 1"),
        ((True,), ValueError, r"prefix of the primals: \(True,\) has 1 part, .* has 2"),
        (((True, (True, True)), True), ValueError, "has 2 parts"),
    ],
)
def test_what_says_nothing_of_arguments_is_refused(in_nzs, error, message):
    with pytest.raises(error, match=message):
        glassjax.vjp(of_two, *ARGUMENTS, in_nzs=in_nzs)
