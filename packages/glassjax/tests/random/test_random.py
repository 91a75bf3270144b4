"""`random`: known answers of the cipher, and laws of keys and distributions."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import programs_of_hashes
import pytest
from rows import for_each

import glassjax
import glassjax.numpy as jnp
from glassjax import eval_shape, grad, jit, jvp, lax, random, tree, typeof, vjp, vmap
from glassjax.core import bind, typecheck_jaxpr
from glassjax.dtypes import issubdtype, prng_key
from glassjax.random.prng import threefry2x32_p

KEY = random.key(0)


def words(keys):
    return np.asarray(random.key_data(keys))


def equal(x, y):
    np.testing.assert_array_equal(np.asarray(x), np.asarray(y))


# Random123's file of known answers: counter, key, result, of 20 rounds.
@for_each(
    ("count", "key", "expected"),
    [
        (0x00000000_00000000, (0x00000000, 0x00000000), 0x6B200159_99BA4EFE),
        (0xFFFFFFFF_FFFFFFFF, (0xFFFFFFFF, 0xFFFFFFFF), 0x1CB996FC_BB002BE7),
        (0x243F6A88_85A308D3, (0x13198A2E, 0x03707344), 0xC4923A9C_483DF7A0),
    ],
)
def test_threefry_gives_the_known_answers(count, key, expected):
    words = np.array([*key, count >> 32, count & 0xFFFFFFFF], np.uint32)
    high, low = jit(lambda *operands: bind(threefry2x32_p, *operands))(*words)
    assert (int(high) << 32) + int(low) == expected


def test_keys_are_the_high_and_low_words_of_their_seed():
    equal(random.PRNGKey(5), [0, 5])
    equal(random.PRNGKey(2**40 + 5), [2**8, 5])
    equal(random.PRNGKey(-1), [2**32 - 1] * 2)
    with glassjax.enable_x64(False):
        equal(random.PRNGKey(2**40 + 5), [0, 5])
        equal(random.PRNGKey(-1), [0, 2**32 - 1])


def test_both_kinds_of_keys_make_the_same():
    raw = random.PRNGKey(0)
    equal(words(random.split(KEY, 3)), random.split(raw, 3))
    equal(words(random.fold_in(KEY, 3)), random.fold_in(raw, 3))
    equal(random.bits(KEY, (3,)), random.bits(raw, (3,)))
    equal(words(random.wrap_key_data(raw)), raw)


def test_custom_keys_in_the_place_of_the_older_ones():
    make = glassjax.jit(lambda seed: random.PRNGKey(seed))
    assert make(5).shape == (2,)
    with glassjax.enable_custom_prng():
        for key in (make(5), random.PRNGKey(5)):
            assert key.dtype == random.key(5).dtype
            equal(random.key_data(key), [0, 5])
        with glassjax.enable_custom_prng(False):
            assert random.PRNGKey(5).shape == (2,)
    assert make(5).shape == (2,)


def test_split_and_fold_in_encrypt_numbers():
    keys = words(random.split(KEY, 5))
    assert len({tuple(key) for key in keys}) == 5
    equal(keys[:2], words(random.split(KEY)))  # however many are made
    equal(keys[3], words(random.fold_in(KEY, 3)))
    equal(words(random.split(KEY, (5, 1)))[:, 0], keys)
    assert random.split(KEY, 0).shape == (0,)


def test_keys_are_arrays():
    keys = random.split(KEY, 4)
    assert isinstance(keys, glassjax.Array)
    assert (keys.shape, keys.ndim, keys.size, keys.dtype) == ((4,), 1, 4, KEY.dtype)
    assert issubdtype(keys.dtype, prng_key)
    assert not issubdtype(keys.dtype, np.floating)
    assert not issubdtype(np.uint32, prng_key)
    equal(words(keys.reshape(2, 2)), words(keys).reshape(2, 2, 2))
    equal(words(jnp.concatenate([keys, keys])), np.concatenate([words(keys)] * 2))
    equal(words(jnp.where(True, keys, KEY)), words(keys))
    equal(keys == keys[1], [False, True, False, False])
    equal(words(keys[jnp.array([2, 0])]), words(keys)[[2, 0]])
    for other in (copy.deepcopy(keys), pickle.loads(pickle.dumps(keys)), random.clone(keys)):
        equal(words(other), words(keys))
    assert "key<fry>" in repr(keys)
    assert str(typeof(keys)) == "key<fry>[4]"


def test_keys_pass_through_every_transformation():
    keys = random.split(KEY, 3)
    loop = [words(random.split(key)) for key in keys]
    equal(words(vmap(random.split)(keys)), loop)
    equal(words(jit(vmap(random.split))(keys)), loop)
    equal(vmap(random.split)(random.key_data(keys)), loop)
    equal(words(vmap(random.fold_in, (None, 0))(KEY, jnp.arange(3))), words(keys))
    equal(words(vmap(random.key)(jnp.arange(3))), [[0, 0], [0, 1], [0, 2]])
    last, firsts = lax.scan(lambda key, _: tuple(random.split(key)), KEY, None, length=3)
    assert last.dtype == firsts.dtype == KEY.dtype
    equal(
        words(lax.fori_loop(0, 2, lambda i, key: random.fold_in(key, i), KEY)),
        words(random.fold_in(random.fold_in(KEY, 0), 1)),
    )
    equal(words(lax.cond(True, lambda k: random.fold_in(k, 1), lambda k: k, KEY)), words(keys[1]))
    equal(words(tree.map(lambda k: random.fold_in(k, 1), {"a": KEY})["a"]), words(keys[1]))
    shape = eval_shape(random.split, KEY)
    assert (shape.shape, shape.dtype) == ((2,), KEY.dtype)
    assert eval_shape(vmap(random.split), shape).shape == (2, 2)
    equal(words(jit(lambda: random.split(keys[0]))()), loop[0])  # closed over
    typecheck_jaxpr(glassjax.make_jaxpr(random.normal)(KEY).jaxpr)


def test_keys_have_no_tangent_and_hinder_none():
    def noisy(x, key):
        return x * random.normal(key)

    noise = random.normal(KEY)
    assert grad(noisy)(2.0, KEY) == noise
    dx, dkey = vjp(noisy, 2.0, KEY)[1](jnp.ones(()))
    assert dx == noise
    assert dkey.dtype == glassjax.core.Zero.like(KEY).aval.dtype
    assert jvp(noisy, (2.0, KEY), (1.0, dkey))[1] == noise


def test_distributions_have_derivatives_in_their_parameters():
    u = random.uniform(KEY)
    assert grad(lambda low: random.uniform(KEY, minval=low))(0.0) == pytest.approx(float(1 - u))
    assert grad(lambda high: random.uniform(KEY, maxval=high))(1.0) == pytest.approx(float(u))
    h, f = 1e-6, lambda b: random.pareto(KEY, b)
    assert grad(f)(1.5) == pytest.approx(float(f(1.5 + h) - f(1.5 - h)) / (2 * h), rel=1e-6)


def test_numbers_of_the_gamma_distribution_move_with_its_parameter():
    few = jnp.array([0.3, 2.0, 40.0])
    a = jnp.concatenate([few, jnp.full(2000, 1.5)])

    @jit
    def drawn(a, few, keys):
        of_gamma, of_logs = (
            jvp(lambda a, draw=draw: draw(KEY, a), (a,), (jnp.ones_like(a),))
            for draw in (random.gamma, random.loggamma)
        )
        one_by_one = lax.map(lambda pair: random.gamma(*pair), (keys, few))
        mapped = vmap(random.gamma)(keys, few)
        return of_gamma, lax.random_gamma_grad(a, of_gamma[0]), of_logs, mapped, one_by_one

    (numbers, slopes), expected, (logs, slopes_of_logs), mapped, one_by_one = drawn(
        a, few, random.split(KEY, 3)
    )
    equal(slopes, expected)
    np.testing.assert_allclose(np.exp(logs), numbers, rtol=1e-12)
    np.testing.assert_allclose(slopes_of_logs, slopes / numbers, rtol=1e-10)
    assert abs(slopes[3:].mean() - 1) < 0.1  # as the mean moves
    equal(mapped, one_by_one)


# XLA fused the rounds of one hash into the next, and those of that into its uses, without end.
def compile_in_a_process(programs):
    command = [sys.executable, programs_of_hashes.__file__, *programs]
    subprocess.run(command, check=True, timeout=100)


def test_hashes_of_hashes_compile():
    compile_in_a_process(programs_of_hashes.of_a_day())


@pytest.mark.nightly
@pytest.mark.parametrize("name", programs_of_hashes.PROGRAMS)
def test_hashes_of_hashes_compile_whatever_is_around_them(name):
    compile_in_a_process(programs_of_hashes.PROGRAMS[name])


MOMENTS = [
    (lambda k, s: random.uniform(k, s, minval=-1, maxval=3), 1, 4 / 3),
    (random.normal, 0, 1),
    (random.exponential, 1, 1),
    (random.laplace, 0, 2),
    (random.gumbel, 0.5772, np.pi**2 / 6),
    (lambda k, s: random.bernoulli(k, 0.3, s), 0.3, 0.21),
    (lambda k, s: random.randint(k, s, -3, 4), 0, 4),
    (lambda k, s: random.gamma(k, 2.5, s), 2.5, 2.5),
    (lambda k, s: random.binomial(k, 12, 0.3, s), 3.6, 2.52),
    (lambda k, s: random.binomial(k, 200, 0.7, s), 140, 42),
    (lambda k, s: random.poisson(k, 3.0, s), 3, 3),
    (lambda k, s: random.poisson(k, 30.0, s), 30, 30),
    (lambda k, s: random.geometric(k, 0.5, s), 2, 2),
    (lambda k, s: random.categorical(k, jnp.log(jnp.array([0.5, 0.5])), shape=s), 0.5, 0.25),
    (lambda k, s: random.choice(k, 2, s, p=jnp.array([0.25, 0.75])), 0.75, 0.1875),
]


@pytest.fixture(scope="module")
def drawn():
    """Numbers of each distribution, from one program."""
    draws = [draw for draw, _, _ in MOMENTS]
    numbers = jit(lambda key: [draw(key, (4000,)) for draw in draws])(KEY)
    return dict(zip(draws, numbers, strict=True))


@for_each(("draw", "mean", "variance"), MOMENTS)
def test_moments(draw, mean, variance, drawn):
    numbers = np.asarray(drawn[draw]).astype(float)
    assert abs(numbers.mean() - mean) < 5 * np.sqrt(variance / numbers.size)
    assert numbers.var() == pytest.approx(variance, rel=0.2)


def test_counts_of_a_multinomial_distribution_add_up():
    shares = np.array([[0.5, 0.3, 0.2, 0.0], [0.0, 0.0, 0.0, 1.0]])
    counts = np.asarray(random.multinomial(KEY, np.array([1000.0, 7.0]), shares))
    equal(counts.sum(-1), [1000, 7])
    equal(counts[1], [0, 0, 0, 7])
    assert np.abs(counts[0] - 1000 * shares[0]).max() < 80


def test_random_matrices_are_orthogonal():
    wide = np.asarray(random.orthogonal(KEY, 3, (2,), m=5))
    np.testing.assert_allclose(wide @ wide.swapaxes(-1, -2), [np.eye(3)] * 2, atol=1e-12)
    unitary = np.asarray(random.orthogonal(KEY, 4, dtype=complex))
    np.testing.assert_allclose(unitary.conj().T @ unitary, np.eye(4), atol=1e-12)


def test_normal_vectors_have_the_covariance_they_are_given():
    mean, cov = np.array([1.0, -2.0]), np.array([[2.0, 0.6], [0.6, 0.5]])
    for method in ("cholesky", "eigh", "svd"):
        vectors = np.asarray(random.multivariate_normal(KEY, mean, cov, (4000,), method=method))
        np.testing.assert_allclose(vectors.mean(0), mean, atol=0.12)
        np.testing.assert_allclose(np.cov(vectors.T), cov, atol=0.2)


def test_a_permutation_keeps_what_it_permutes():
    x = np.arange(12).reshape(3, 4)
    equal(np.sort(np.asarray(random.permutation(KEY, 50))), np.arange(50))
    columns = np.asarray(random.permutation(KEY, x, axis=1))
    equal(np.sort(columns, axis=1), x)
    assert len({tuple(row - row[0]) for row in columns}) == 1  # all rows in the same order
    equal(np.sort(np.asarray(random.permutation(KEY, x, 1, independent=True)), axis=1), x)
    assert len(set(np.asarray(random.choice(KEY, 20, (20,), replace=False)).tolist())) == 20


WRONG = [
    (lambda: random.split(0), TypeError, "expected a key"),
    (lambda: random.split(None), TypeError, "expected a key"),
    (lambda: random.normal(np.zeros(2, np.int32)), TypeError, "2 words of uint32"),
    (lambda: random.normal(np.zeros(3, np.uint32)), TypeError, "2 words of uint32"),
    (
        lambda: random.normal((3,), KEY),
        TypeError,
        r"normal: shape must .* found key<fry>\[\] of type Array. Are arguments swapped",
    ),
    (lambda: random.normal(random.split(KEY)), ValueError, "map `normal` over them by vmap"),
    (lambda: random.key(1.5), TypeError, "a seed is an integer"),
    (lambda: random.key([1, 2]), TypeError, "map `key` by vmap"),
    (lambda: random.key(2**63), OverflowError, "64 bits at most"),
    (lambda: random.key(0, impl="dice"), ValueError, "impl is one of 'threefry2x32', 'rbg'"),
    (lambda: random.key(0, impl="rbg", dtype="rbg"), ValueError, "mean the same"),
    (lambda: random.fold_in(KEY, -1), OverflowError, "from 0 to"),
    (lambda: random.bits(KEY, dtype="int32"), ValueError, "unsigned"),
    (lambda: random.uniform(KEY, dtype="int32"), ValueError, "real numbers"),
    (lambda: random.randint(KEY, (), 0, 1, "float32"), TypeError, "of integers"),
    (lambda: random.poisson(KEY, 1.0, (), "float32"), ValueError, "of integers"),
    (lambda: random.binomial(KEY, 2, 0.5, (), "int32"), ValueError, "of real numbers"),
    (
        lambda: random.multivariate_normal(KEY, np.zeros(2), np.eye(3)),
        ValueError,
        r"found \(2,\) and \(3, 3\)",
    ),
    (lambda: random.uniform(KEY, (3,), minval=np.zeros(2)), ValueError, "do not broadcast"),
    (lambda: random.bernoulli(KEY, 0.5, mode="top"), ValueError, "'low' or 'high'"),
    (lambda: random.permutation(KEY, 1.5), TypeError, "an integer"),
    (lambda: random.choice(KEY, 3, (4,), replace=False), ValueError, "without replacement"),
    (lambda: random.choice(KEY, 3, (4,), p=np.ones(2)), ValueError, "p must have shape"),
    (lambda: KEY + 1, TypeError, "not numbers"),
    (lambda: KEY + KEY, TypeError, "expected numbers"),
    (lambda: jnp.exp(KEY), TypeError, "found key<fry>"),
    (lambda: np.asarray(KEY), TypeError, "random.key_data"),
    (lambda: grad(lambda k: 1.0)(KEY), TypeError, "key<fry>"),
]


@for_each(("wrong", "error", "message"), WRONG)
def test_errors(wrong, error, message):
    with pytest.raises(error, match=message):
        wrong()


def test_a_deleted_key():
    key = random.key(1)
    key.delete()
    with pytest.raises(RuntimeError, match="its numbers are gone"):
        random.normal(key)


def test_methods():
    draws = [random.gamma, random.loggamma, random.chisquare, random.poisson]

    def drawn(key):
        for draw in draws:
            exact, approximate = (
                draw(key, 9.0, (20000,), method=method) for method in ("exact", "approximate")
            )
            is_exact = jnp.all(draw(key, 9.0, (20000,)) == exact)
            yield is_exact, jnp.mean(exact), jnp.mean(approximate)

    for is_exact, exact, approximate in jit(lambda key: list(drawn(key)))(KEY):
        assert is_exact
        assert abs(exact - approximate) < 0.1
    for draw in draws:
        with pytest.raises(ValueError, match='method is "exact" or "approximate", found \'fast\''):
            draw(KEY, 2.0, method="fast")


@for_each(
    "draw",
    [
        random.normal,
        lambda key, shape: random.gamma(key, jnp.full(shape, 2.0)),
        lambda key, shape: random.beta(key, jnp.full(shape, 2.0), jnp.full(shape, 3.0)),
        lambda key, shape: jnp.argmax(random.poisson(key, 3.0, shape)),
        lambda key, shape: random.permutation(key, shape[0]),
    ],
)
def test_numbers_that_vary_between_devices_are_those_of_one(draw):
    mesh = glassjax.make_mesh((1,), ("d",), axis_types=(glassjax.sharding.AxisType.Auto,))
    divided = glassjax.sharding.PartitionSpec("d")
    drawn = glassjax.shard_map(
        lambda keys: draw(keys[0], (3,))[None], mesh=mesh, in_specs=divided, out_specs=divided
    )
    np.testing.assert_allclose(drawn(KEY[None])[0], draw(KEY, (3,)), rtol=1e-6)
