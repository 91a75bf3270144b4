# ruff: noqa: E501  # a row of a table is a line
"""`debug_key_reuse` reports keys used twice, and nothing else."""

import pytest
from rows import for_each

import glassjax
import glassjax.numpy as jnp
from glassjax import checkpoint, grad, jit, lax, make_jaxpr, random, vmap
from glassjax.checks import keys_of
from glassjax.errors import KeyReuseError
from glassjax.runtime.jax_params import read_jaxpr
from glassjax_stage3.jaxpr import consts_as_invars


@pytest.fixture(autouse=True)
def _checking():
    with glassjax.debug_key_reuse(True):
        yield


@pytest.fixture
def key():
    return random.key(0)


def both(key):
    return random.normal(key) + random.uniform(key)


def step_with_new_key(key, _):
    key, new = random.split(key)
    return key, random.normal(new)


def times_normal(w, key):
    return jnp.sin(w * random.normal(key))


def grad_of_solution(key):
    def solution(w):
        return lax.custom_linear_solve(
            lambda x: w * x, 1.0, lambda _, b: b * both(key), symmetric=True
        )

    return grad(solution)(2.0)


draw = jit(random.normal)

REUSING = {
    "two draws": both,
    "a key that was split": lambda key: (random.split(key), random.normal(key)),
    "a jitted function": jit(both),
    "a jitted function, then another": lambda key: (draw(key), random.normal(key)),
    "a jitted function twice": lambda key: (draw(key), draw(key)),
    "jitted functions in one": jit(lambda key: draw(key) + draw(key)),
    "a key that is closed over": lambda key: [jit(lambda x: x + random.normal(key))(1.0) for _ in "12"],
    "a used key that is handed back": lambda key: random.normal(jit(lambda k: (both(random.clone(k)), random.normal(k), k)[2])(key)),
    "a used key that goes through": lambda key: (random.normal(key), random.normal(jit(lambda k: k)(key))),
    "a key in another shape": jit(lambda key: (random.normal(key), vmap(random.normal)(key[None]))),
    "mapped twice": lambda key: [vmap(random.normal)(keys) for keys in [random.split(key)] * 2],
    "mapped twice in a jitted function": jit(lambda keys: [vmap(random.normal)(keys) for _ in "12"]),
    "one of many twice": jit(lambda key: [random.normal(keys[0]) for keys in [random.split(key)] * 2]),
    "all, and one of them": jit(lambda key: [(vmap(random.normal)(keys), random.normal(keys[1])) for keys in [random.split(key)]]),
    "each round of a scan": lambda key: lax.scan(lambda c, _: (c + random.normal(key), None), 0.0, length=3),
    "a carry that stays": jit(lambda key: lax.scan(lambda k, _: (k, random.normal(k)), key, length=3)),
    "elements, and then all": jit(lambda key: [(lax.map(random.normal, keys), vmap(random.normal)(keys)) for keys in [random.split(key)]]),
    "each round of a fori_loop": jit(lambda key: lax.fori_loop(0, 3, lambda i, x: x + random.normal(key), 0.0)),
    "each round of a while_loop": jit(lambda key: lax.while_loop(lambda x: x < 3, lambda x: x + 1 + random.normal(key), 0.0)),
    "the map of linear equations": lambda key: lax.custom_linear_solve(lambda x: x * both(key), 1.0, lambda f, b: f(b), symmetric=True),
    "the solver of linear equations": jit(lambda key: lax.custom_linear_solve(lambda x: 2.0 * x, 1.0, lambda _, b: b * both(key), symmetric=True)),
    "a solver that calls the map twice": jit(lambda key: lax.custom_linear_solve(lambda x: x * random.normal(key), 1.0, lambda f, b: f(f(b)), symmetric=True)),
    "the solver, and then another": jit(lambda key: (lax.custom_linear_solve(lambda x: x * random.normal(key), 1.0, lambda f, b: f(b), symmetric=True), random.normal(key))),
    "the gradient of linear equations": grad_of_solution,
    "a reduction": jit(lambda key: lax.reduce(jnp.ones(3), 0.0, lambda x, y: x + y * both(random.key(1)), (0,))),
    "a reduction over windows": lambda key: lax.reduce_window(jnp.ones(3), 0.0, lambda x, y: x + y * both(random.key(1)), (1,), (1,), "VALID"),
    "the condition of a while_loop": jit(lambda key: lax.while_loop(lambda x: x < random.normal(key), lambda x: x + 1, 0.0)),
    "a branch, then again": jit(lambda key: lax.cond(True, random.normal, random.uniform, key) + random.normal(key)),
    "a function that is differentiated": lambda key: grad(lambda w: w * both(key))(1.0),
    "the same, jitted": jit(lambda key: grad(lambda w: w * both(key))(1.0)),
    "functions that share a step": lambda key: (random.permutation(key, 5), random.choice(key, 5)),
}  # fmt: skip

FRESH = {
    "split": lambda key: [f(k) for f, k in zip((random.normal, random.uniform), random.split(key), strict=True)],
    "fold_in": lambda key: [random.normal(random.fold_in(key, i)) for i in range(3)],
    "fold_in in a loop": jit(lambda key: lax.fori_loop(0, 3, lambda i, x: x + random.normal(random.fold_in(key, i)), 0.0)),
    "clone": lambda key: (random.normal(random.clone(key)), random.normal(key)),
    "clone in a jitted function": jit(lambda key: (random.normal(random.clone(key)), random.normal(key))),
    "looking at the words": lambda key: [jit(random.key_data)(key) for _ in "12"],
    "a jitted function that hands on a new key": lambda key: random.normal(jit(step_with_new_key)(*jit(step_with_new_key)(key, 0))[0]),
    "mapped": lambda key: vmap(random.normal)(random.split(key)),
    "one each": jit(lambda key: [random.normal(keys[i]) for keys in [random.split(key)] for i in range(2)]),
    "a carry that changes": lambda key: lax.scan(step_with_new_key, key, length=3),
    "elements": jit(lambda key: lax.map(random.normal, random.split(key))),
    "either branch": jit(lambda key: lax.cond(True, random.normal, random.uniform, key)),
    "a gradient": jit(lambda key: grad(times_normal)(1.0, key)),
    "a gradient of a scan": jit(lambda key: grad(lambda w: lax.scan(lambda c, k: (c * times_normal(w, k), None), 1.0, random.split(key))[0])(1.0)),
    "what is computed twice for a gradient": jit(lambda key: grad(checkpoint(times_normal))(1.0, key)),
    "the map of linear equations": jit(lambda key: lax.custom_linear_solve(lambda x: x * random.normal(key), 1.0, lambda f, b: f(b), symmetric=True)),
    "a reduction": jit(lambda key: lax.reduce(jnp.ones(3), 0.0, lambda x, y: x + y * random.normal(random.key(1)), (0,))),
    "two words": lambda key: [random.normal(random.PRNGKey(0)) for _ in "12"],
}  # fmt: skip


@for_each("name", REUSING)
def test_reuse_is_found(name):
    key = random.key(0)
    argument = random.split(key) if name.startswith("mapped twice in") else key
    with pytest.raises(KeyReuseError, match=r"test_key_reuse.py:\d+.*random\.split"):
        REUSING[name](argument)


@for_each("name", FRESH)
def test_no_reuse_is_no_error(name):
    FRESH[name](random.key(0))


@for_each("name", ["two draws", "a jitted function twice", "a carry that stays"])
def test_nothing_is_checked_unless_asked_for(name):
    with glassjax.debug_key_reuse(False):
        REUSING[name](random.key(0))


def test_what_is_drawn_stays_the_same(key):
    with glassjax.debug_key_reuse(False):
        expected = jit(random.normal)(key)
    assert random.normal(key) == expected


def test_functions_that_were_traced_before_are_checked_too():
    function = jit(both)
    with glassjax.debug_key_reuse(False):
        function(random.key(0))
    with pytest.raises(KeyReuseError):
        function(random.key(0))


def test_no_distribution_uses_its_key_twice(key):
    for draw in (
        lambda k: random.ball(k, 2),
        lambda k: random.bernoulli(k),
        lambda k: random.beta(k, 2.0, 3.0),
        lambda k: random.binomial(k, 5, 0.5),
        lambda k: random.categorical(k, jnp.zeros(3)),
        lambda k: random.choice(k, 5, (2,), replace=False),
        lambda k: random.choice(k, jnp.arange(5), (2,), p=jnp.ones(5) / 5),
        lambda k: random.dirichlet(k, jnp.ones(3)),
        lambda k: random.double_sided_maxwell(k, 0.0, 1.0),
        lambda k: random.f(k, 2.0, 3.0),
        lambda k: random.gamma(k, 2.0),
        lambda k: random.generalized_normal(k, 2.0, (2,)),
        lambda k: random.multivariate_normal(k, jnp.zeros(2), jnp.eye(2)),
        lambda k: random.orthogonal(k, 2),
        lambda k: random.permutation(k, jnp.arange(5)),
        lambda k: random.poisson(k, 3.0),
        lambda k: random.randint(k, (2,), 0, 5),
        lambda k: random.t(k, 3.0),
        lambda k: random.truncated_normal(k, -1.0, 1.0),
        lambda k: random.wald(k, 1.0),
    ):
        used = keys_of(consts_as_invars(read_jaxpr(make_jaxpr(draw)(key).jaxpr))).operands
        assert used[-1] is not None


def test_the_setting_has_the_name_that_jax_gives_it(key):
    assert glassjax.config.jax_debug_key_reuse
    with glassjax.config.override(debug_key_reuse=False):
        both(key)
    with pytest.raises(KeyReuseError):
        both(key)
