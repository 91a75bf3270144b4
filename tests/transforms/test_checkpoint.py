"""`checkpoint` changes which residuals are saved, and no result."""

from functools import partial

import jax
import jax.ad_checkpoint
import numpy as np
import pytest
from libraries import LIBRARIES, assert_same
from shares import IS_NIGHT, one_in

import glassjax
import glassjax.numpy

RNG = np.random.default_rng(3)
X, W = RNG.standard_normal((5, 4)), RNG.standard_normal((4, 4))
POLICIES = {
    "none given": lambda policies: None,
    "everything_saveable": lambda policies: policies.everything_saveable,
    "nothing_saveable": lambda policies: policies.nothing_saveable,
    "dots_saveable": lambda policies: policies.dots_saveable,
    "checkpoint_dots": lambda policies: policies.checkpoint_dots,
    "no batch dims": lambda policies: policies.dots_with_no_batch_dims_saveable,
    "names": lambda policies: policies.save_only_these_names("inner"),
    "names but": lambda policies: policies.save_any_names_but_these("inner"),
    "except": lambda policies: policies.save_anything_except_these_names("inner"),
    "both": lambda policies: policies.save_from_both_policies(
        policies.dots_saveable, policies.save_only_these_names("inner")
    ),
}


def layer(lib, jnp, w, x, name="inner"):
    h = lib.ad_checkpoint.checkpoint_name(jnp.dot(jnp.sin(x), w), name)
    return jnp.tanh(h) * jnp.cos(x)


def test_derivatives_are_the_same():
    def everything(lib, jnp, wrap, w, x):
        f = wrap(partial(layer, lib, jnp))

        def loss(w, x):
            x, ys = lib.lax.scan(lambda x, _: (f(w, x), x), x, None, length=3)
            return jnp.sum(lib.jit(f)(w, x)) + jnp.sum(ys)

        gradient = lib.grad(loss, (0, 1))
        if lib is jax:
            return [f(w, x), gradient(w, x)]
        return [
            f(w, x),
            gradient(w, x),
            lib.jvp(f, (w, x), (w, x)),
            lib.vmap(gradient, (0, None))(jnp.stack([w, w.T]), x),
            lib.grad(lambda w: jnp.sum(lib.vmap(loss, (None, 0))(w, jnp.stack([x, -x]))))(w),
            lib.grad(lambda w: jnp.sum(gradient(w, x)[0] ** 2))(w),
            *([lib.jvp(lambda w: gradient(w, x), (w,), (w.T,))] if IS_NIGHT else []),
        ]

    def run(lib, jnp, wrap):
        outs = lib.jit(partial(everything, lib, jnp, wrap))(W, X)
        return [np.asarray(x) for x in lib.tree.leaves(outs)]

    plain = run(glassjax, glassjax.numpy, lambda f: f)
    for name in ("none given", "both") if IS_NIGHT else ("both",):
        policy = POLICIES[name](glassjax.checkpoint_policies)
        ours = run(glassjax, glassjax.numpy, partial(glassjax.checkpoint, policy=policy))
        assert_same(ours, plain, 1e-10)
    policy = POLICIES["both"](jax.checkpoint_policies)
    theirs = run(jax, jax.numpy, partial(jax.checkpoint, policy=policy))
    assert_same(plain[: len(theirs)], theirs, 1e-10)


def test_what_is_kept_is_what_the_policy_says():
    jnp = glassjax.numpy

    def kept(policy):
        f = glassjax.checkpoint(partial(layer, glassjax, jnp), policy=policy)
        jaxpr = glassjax.make_jaxpr(glassjax.grad(lambda w, x: jnp.sum(f(w, x)), 1))(W, X)
        forward, _ = [eqn for eqn in jaxpr.eqns if eqn.primitive.name == "remat2"]
        return len(forward.outvars) - 1

    policies = glassjax.checkpoint_policies
    assert kept(None) == kept(policies.nothing_saveable) == 0
    assert kept(policies.dots_saveable) == kept(policies.save_only_these_names("inner")) == 1
    assert kept(policies.save_only_these_names("other")) == 0
    assert kept(policies.everything_saveable) > 1
    assert {name: kept(make(policies)) > 0 for name, make in POLICIES.items()} == {
        name: name not in ("none given", "nothing_saveable", "names but") for name in POLICIES
    }


def test_policies_reach_into_calls_branches_and_loops():
    def programs(lib, jnp):
        def twice(x, w):
            return jnp.sin(jnp.sin(x @ w) @ w)

        def branches(x, w):
            return lib.lax.cond(x.sum() > 0, lambda: twice(x, w), lambda: jnp.cos(x @ w))

        def body(w, carry, x):
            return twice(carry, w) + x, jnp.exp(carry @ w)

        def loop(x, w):
            out, ys = lib.lax.scan(partial(body, w), x, x)
            return out + ys[0]

        return [lib.jit(twice), branches, loop, lambda x, w: lib.jit(loop)(branches(x, w), w)]

    def dots(lib, jnp, gradient):
        return str(lib.make_jaxpr(gradient)(X[:4], W)).count("dot_general[")

    def gradients(lib, jnp, policy):
        for f in programs(lib, jnp):
            f = lib.checkpoint(f, policy=policy)
            yield lib.grad(lambda x, w, f=f: jnp.sum(f(x, w)), argnums=(0, 1))

    saved = gradients(glassjax, glassjax.numpy, glassjax.checkpoint_policies.dots_saveable)
    theirs = gradients(jax, jax.numpy, jax.checkpoint_policies.dots_saveable)
    unsaved = gradients(glassjax, glassjax.numpy, None)
    for number, (f, oracle, plain) in enumerate(zip(saved, theirs, unsaved, strict=True)):
        count = dots(glassjax, glassjax.numpy, f)
        assert count == dots(jax, jax.numpy, oracle), number
        assert count < dots(glassjax, glassjax.numpy, plain), number
        assert_same(*(glassjax.jit(gradient)(X[:4], W) for gradient in (f, plain)), 1e-6)


def test_a_deep_network_takes_less_memory():
    jnp = glassjax.numpy
    ws, x = [np.full((32, 32), 0.1, np.float32)] * 12, np.ones((256, 32), np.float32)

    def step(wrap):
        f = wrap(lambda w, x: jnp.sin(jnp.sin(jnp.dot(x, w))))

        def loss(ws, x):
            for w in ws:
                x = f(w, x)
            return jnp.sum(x)

        compiled = glassjax.jit(glassjax.grad(loss)).lower(ws, x).compile()
        return compiled(ws, x), compiled.memory_analysis().temp_size_in_bytes

    (plain, much), (again, little) = step(lambda f: f), step(glassjax.checkpoint)
    np.testing.assert_allclose(plain[0], again[0], rtol=1e-5)
    assert little < 0.65 * much


@pytest.mark.parametrize(
    ("network", "name"),
    one_in(
        3,
        [
            ("scan", "none given"), ("scan", "none"), ("scan", "everything_saveable"),
            ("unrolled", "none given"), ("unrolled", "none"), ("unrolled", "everything_saveable"),
            ("scan", "dots_saveable"), ("unrolled", "dots_saveable"),
        ],
    ),
)  # fmt: skip
def test_a_deep_network_takes_no_more_memory_than_jaxs(network, name):
    ws, x = np.full((8, 32, 128), 0.1, np.float32), np.ones((512, 32), np.float32)
    ws = ws if network == "scan" else list(ws)

    def bytes_of_step(lib, jnp):
        policies = {k: make(lib.checkpoint_policies) for k, make in POLICIES.items()}
        wrap = partial(lib.checkpoint, policy=policies[name]) if name != "none" else lambda f: f
        f = wrap(lambda x, w: x + jnp.sin(jnp.sin(x @ w) @ w.T))

        def loss(ws, x):
            if network == "scan":
                x, _ = lib.lax.scan(lambda x, w: (f(x, w), None), x, ws)
            else:
                for w in ws:
                    x = f(x, w)
            return jnp.sum(x * x)

        compiled = lib.jit(lib.grad(loss)).lower(ws, x).compile()
        return compiled.memory_analysis().temp_size_in_bytes

    ours, theirs = (bytes_of_step(lib, jnp) for lib, jnp in LIBRARIES)
    assert ours < 1.05 * theirs


@pytest.mark.parametrize(("lib", "jnp"), LIBRARIES, ids=["glassjax", "jax"])
def test_arguments_that_are_no_arrays(lib, jnp):
    @partial(lib.checkpoint, static_argnums=(1,))
    def f(x, kind, *, scale=1.0):
        return jnp.sin(x) * scale if kind == "sin" else x

    assert lib.grad(f)(0.0, "sin", scale=3.0) == 3.0
    assert lib.grad(lib.remat(f, static_argnums=1))(0.0, "other") == 1.0


def test_what_escapes_is_an_error():
    """A value of the part that is computed again is of no use outside of it."""
    for lib in (glassjax, jax):
        kept = []

        def part(x, lib=lib, kept=kept):
            kept.append(lib.numpy.sin(x))
            return x

        def whole(x, lib=lib, kept=kept, part=part):
            return lib.checkpoint(part)(x) + kept[0]

        for outer in (lib.jit, lib.grad, lib.checkpoint):
            with pytest.raises(lib.errors.UnexpectedTracerError):
                outer(whole)(1.0)
            kept.clear()
            lib.clear_caches()
        with pytest.raises(Exception, match=r"(?i)leaked trace"), lib.checking_leaks():
            lib.checkpoint(part)(1.0)
