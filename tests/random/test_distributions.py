"""Distributions: the same bits as `jax.random` for the same key, dtype and shape."""

import functools

import jax
import ml_dtypes
import numpy as np
import pytest
from libraries import assert_all_same_results
from shares import IS_NIGHT, a_few, one_in

import glassjax

WIDTHS = [False, True]


every_width = pytest.mark.parametrize("x64", WIDTHS, ids=["32", "64"])


SEEDS = [0, 1, -1, 2**31, 2**32 + 5, 2**63 - 1, -(2**63), np.uint64(2**63 + 3), np.int8(-3), True]


def bits_of(x):
    """The bits of an array, in which equal numbers differ that are not the same."""
    x = np.asarray(x)
    return x.view(f"u{x.dtype.itemsize}") if x.dtype.kind in "fV" and x.dtype.itemsize <= 8 else x


def same(ours, theirs, units=0):
    """Compare bits: numbers may differ in as many units of the last place."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    if ours.dtype.kind == "c":
        ours, theirs = (x.view(x.real.dtype) for x in map(np.atleast_1d, (ours, theirs)))
    ours, theirs = (bits_of(x).astype(np.int64) for x in (ours, theirs))
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=units)


def drawn(calls, seeds):
    """What both libraries draw for the key of each seed by each call: a name and arguments.

    One program of a library draws all of them. Arrays are its arguments.
    """
    arrays = [[x for x in args if isinstance(x, np.ndarray)] for _, args in calls]

    def everything(lib, key, arrays):
        out = []
        for (name, args), given in zip(calls, arrays, strict=True):
            given = iter(given)
            args = [next(given) if isinstance(x, np.ndarray) else x for x in args]
            out.append(getattr(lib.random, name)(key, *args))
        return out

    for lib in (glassjax, jax):
        program = lib.jit(functools.partial(everything, lib))
        yield [x for seed in seeds for x in program(lib.random.key(seed), arrays)]


def assert_each(calls, ours, theirs, check):
    """Checks what was drawn by each call; all that differ are listed."""
    wrong = []
    for i, (mine, jaxs) in enumerate(zip(ours, theirs, strict=True)):
        name, args = calls[i % len(calls)]
        try:
            check(name, mine, jaxs)
        except AssertionError as error:
            wrong.append(f"{name}{args}: {error}")
    assert not wrong, "\n".join(wrong)


@every_width
def test_keys_of_seeds(x64):
    with jax.enable_x64(x64), glassjax.enable_x64(x64):
        for seed in SEEDS:
            theirs = jax.random.PRNGKey(seed)
            same(glassjax.random.PRNGKey(seed), theirs)
            same(glassjax.random.key_data(glassjax.random.key(seed)), theirs)


TRIALS = np.float32([5, 30, 100, 1e5, -1, np.nan, np.inf, 7.5, 1000, 0, 40])


SHARES = np.float32([0.3, 0.9, 0.4, 0.51, 0.2, 0.3, 0.4, 0.5, 0.001, 0.5, np.nan])


CASES = [
    ("bits", [((7,),), ((2, 3), "uint8"), ((5,), "uint16"), ((2, 3), "uint32")]),
    ("uniform", [((),), ((7,),), ((2, 3), "float16"), ((200,), ml_dtypes.bfloat16)]),
    (
        "normal",
        [((),), ((500,),), ((2, 3), "float16"), ((200,), ml_dtypes.bfloat16), ((9,), "complex64")],
    ),
    ("rademacher", [((7,),), ((7,), "float32"), ((3, 2), "int8")]),
    ("exponential", [((300,),)]),
    ("laplace", [((300,),)]),
    ("logistic", [((300,),)]),
    ("cauchy", [((300,),)]),
    ("gumbel", [((300,),), ((30,), "float16"), ((300,), None, "high")]),
    ("bernoulli", [(), (0.3, (200,)), (np.float32([0.1, 0.9]),), (0.01, (200,), "high")]),
    (
        "randint",
        [
            ((200,), 0, 10),
            ((200,), -5, 2**31 - 1),
            ((200,), 5, 3),
            ((200,), 0, 256, "uint8"),
            ((200,), 0, 300, "int8"),
            ((200,), 0, 2**31 - 1, "uint32"),
            ((2, 3), np.array([0, 5, 9]), 20),
            ((200,), np.uint32(3), np.uint32(2**32 - 1), "uint32"),
            ((200,), np.int8(-3), np.int8(100)),
            ((200,), 0.0, np.float32(5.5)),
            ((200,), True, 7.0, "uint16"),
        ],
    ),
    (
        "truncated_normal",
        [(-1.0, 2.0, (300,)), (np.float32([-1, 0]), 3.0), (-2.0, 2.0, (30,), "float16")],
    ),
    ("lognormal", [(0.5, (30,)), (), (0.5, (3,), "complex64")]),
    ("pareto", [(np.float32([1.5, 2]),)]),
    ("rayleigh", [(np.float32([1.5, 2]),)]),
    ("weibull_min", [(1.5, 2.0, (30,))]),
    ("triangular", [(0.0, 1.0, 3.0, (30,))]),
    ("wald", [(1.5, (30,))]),
    ("gamma", [(np.float32([[0.5], [20.0]]), (2, 3))]),
    ("loggamma", [(0.01, (50,))]),
    ("beta", [(0.5, 2.0, (30,))]),
    ("dirichlet", [(np.float32([[1, 2], [3, 4]]),)]),
    ("chisquare", [(3.0, (30,))]),
    ("t", [(3.0, (30,))]),
    ("f", [(3.0, 4.0, (30,))]),
    (
        "poisson",
        [(np.float32([0.0, 5.0, 50.0, 1e4, np.nan]),), (30.0, (50,), "int16")],
    ),
    ("binomial", [(TRIALS, SHARES), (1000, 0.3, (40,), "float16")]),
    ("multinomial", [(np.float32([3, 1000]), np.float32([[2, 3, 5, 0], [1, 1, 1, 7]]) / 10)]),
    (
        "permutation",
        [
            (10,),
            (-1,),
            (np.arange(24.0).reshape(4, 6), 1),
            (np.arange(24).reshape(4, 6), 1, True),
            (np.arange(3000),),
        ],
    ),
    (
        "choice",
        [
            (10, (2, 3)),
            (np.arange(24.0).reshape(4, 6), (3, 2), True, None, 1),
            (np.arange(24.0).reshape(4, 6), (3,), False, None, 1),
            (5, (40,), True, np.float32([0.1, 0.2, 0, 0.3, 0.4])),
            (np.arange(5) * 2, (2, 2), False, np.float32([0.1, 0.2, 0.1, 0.2, 0.4])),
        ],
    ),
    (
        "categorical",
        [
            (np.float32([[0, 1, 2], [3, 0, -1]]),),
            (np.float32([[0, 1, 2], [3, 0, -1]]), 0, (5, 3)),
            (np.float32([[0, 1, 2], [3, 0, -1]]), -1, (2, 2), False),
        ],
    ),
    ("geometric", [(0.3, (30,), "int16")]),
]


MEAN = np.float32(np.random.default_rng(0).normal(size=(3, 4)))


ROOTS = np.float32(np.random.default_rng(1).normal(size=(3, 4, 4)))


COV = ROOTS @ ROOTS.swapaxes(-1, -2)


# Sums of squares and powers: which products XLA adds up before it rounds them depends on what else
# is in the program.
NEARLY = [
    ("ball", [(3, 2.0, (10,))]),
    ("maxwell", [((30,),)]),
    ("double_sided_maxwell", [(1.0, 2.0, (30,))]),
    ("generalized_normal", [(1.5, (30,)), (np.float32([1, 2.5]), (3, 2))]),
    ("multivariate_normal", [(MEAN, COV, shape) for shape in (None, (5, 3))]),
    ("multivariate_normal", [(MEAN[0], COV[0], (), None, method) for method in ("eigh", "svd")]),
    ("multivariate_normal", [(MEAN, np.eye(4, dtype=int), None, "float16")]),
    ("orthogonal", [(4,), (3, (2,), None, 5), (5, (), "complex64", 3), (3, (), "complex64", 5)]),
]


def test_nearly_the_same_numbers():
    def check(name, mine, jaxs):
        mine, jaxs = map(np.asarray, (mine, jaxs))
        assert (mine.dtype, mine.shape) == (jaxs.dtype, jaxs.shape)
        eps = np.finfo(mine.dtype).eps
        scale = np.abs(jaxs).max() if name in ("multivariate_normal", "orthogonal") else 0
        np.testing.assert_allclose(mine, jaxs, rtol=20 * eps, atol=20 * eps * scale)

    calls = a_few(each_call(NEARLY))
    with jax.enable_x64(False), glassjax.enable_x64(False):
        assert_each(calls, *drawn(calls, [0]), check)


APPROXIMATE = {
    "gamma": [np.float32([0.01, 0.5, 3, 50, 1e4])],
    "loggamma": [np.float32([0.01, 0.5, 3, 50, 1e4])],
    "beta": [np.float32([0.5, 3]), np.float32([[2.0], [30.0]])],
    "chisquare": [np.float32([0.5, 3, 50])],
    "poisson": [np.float32([0, 0.1, 3, 6.9, 7, 10, 100, 1e5, np.nan])],
}


@pytest.mark.newest_jax
@pytest.mark.parametrize("x64", one_in(2, WIDTHS))
def test_approximate_methods(x64):
    def of(name):
        def program(numpy, lib):
            def draw(key, *args, dtype=None):
                shape = (40, *np.broadcast_shapes(*map(np.shape, args)))
                return getattr(lib.random, name)(key, *args, shape, dtype, method="approximate")

            args, key = APPROXIMATE[name], lib.random.key(3)
            dtypes = {"poisson": "int16", "gamma": "float16", "loggamma": "float16"}
            narrow = draw(key, *args, dtype=dtypes.get(name))
            if name == "poisson":
                return draw(key, *args), narrow
            slope = lib.grad(lambda a: draw(key, a, *args[1:]).sum())(args[0])
            return draw(key, *args), narrow, slope

        return program

    with jax.enable_x64(x64), glassjax.enable_x64(x64):
        names = APPROXIMATE if IS_NIGHT else ("gamma", "poisson")
        assert_all_same_results({name: of(name) for name in names}, rtol=2e-5)


# The others are formulas of these: with 64 bits, one call of each of these shows the types.
WITH_64_BITS = ["bits", "uniform", "normal", "bernoulli", "randint", "gamma", "permutation"]


def each_call(cases):
    return [(name, args) for name, calls in cases for args in calls]


# What these draw, loops reject and draw again; to compile them takes most of the time.
IN_LOOPS = {
    "gamma", "loggamma", "beta", "dirichlet", "chisquare", "t", "f", "poisson", "binomial",
    "multinomial",
}  # fmt: skip


# By day half of the cases of these, and the first of the others.
OF_ARGUMENTS = {
    "bits", "uniform", "normal", "randint", "bernoulli", "permutation", "choice", "categorical",
}  # fmt: skip


def assert_same_bits(cases, x64, units=0):
    if x64:
        cases = [(name, calls[:1]) for name, calls in cases if name in WITH_64_BITS]
    elif not IS_NIGHT:
        cases = [
            (name, a_few(calls) if name in OF_ARGUMENTS else calls[:1]) for name, calls in cases
        ]
    calls = each_call(cases)
    with jax.enable_x64(x64), glassjax.enable_x64(x64):
        assert_each(calls, *drawn(calls, (0, 42)), lambda name, mine, jaxs: same(mine, jaxs, units))


@every_width
def test_the_same_bits(x64):
    assert_same_bits([case for case in CASES if case[0] not in IN_LOOPS], x64)


# At every change none of those that are made of others' numbers.
MADE_OF_GAMMA = ["loggamma", "beta", "dirichlet", "chisquare", "t", "f"]


MADE_OF_OTHERS = {*MADE_OF_GAMMA, "multinomial"}


@every_width
@pytest.mark.parametrize("names", one_in(2, [IN_LOOPS - MADE_OF_OTHERS, MADE_OF_OTHERS]))
def test_the_same_bits_of_what_is_drawn_in_loops(names, x64):
    # A logarithm may be rounded differently in the middle of another program, on some processors.
    units = 4 if names == MADE_OF_OTHERS else 0
    assert_same_bits([case for case in CASES if case[0] in names], x64, units)


def test_the_same_bits_outside_of_programs():
    calls = [
        ("uniform", ((7,),)),
        ("randint", ((2, 3), np.array([0, 5, 9]), 20)),
        ("bernoulli", (np.float32([0.1, 0.9]),)),
        ("permutation", (10,)),
    ]
    with jax.enable_x64(False), glassjax.enable_x64(False):
        for name, args in calls:
            same(*(getattr(lib.random, name)(lib.random.key(1), *args) for lib in (glassjax, jax)))


@pytest.mark.parametrize("x64", one_in(2, [True, False]))
def test_bits_of_xla(x64):
    states = [np.arange(4, dtype=np.uint32)] + [np.arange(2, dtype=np.uint64)] * x64
    widths = ["uint8", "uint16", "uint32"] + ["uint64"] * x64

    def bits_of_all(lax):
        return [
            lax.rng_bit_generator(state, shape, dtype, lax.RandomAlgorithm(algorithm))
            for algorithm in range(3)
            for state in states
            for dtype, shape in zip(widths, [(), (3,), (2, 5), (4,)], strict=False)
        ]

    def mapped(lib):
        keys = np.arange(8, dtype=np.uint32).reshape(2, 4)
        return lib.vmap(lambda key: lib.lax.rng_bit_generator(key, (3,)))(keys)

    with jax.enable_x64(x64), glassjax.enable_x64(x64):
        ours, theirs = (
            jax.tree.leaves(lib.jit(lambda lib=lib: (bits_of_all(lib.lax), mapped(lib)))())
            for lib in (glassjax, jax)
        )
        for mine, jaxs in zip(ours, theirs, strict=True):
            same(mine, jaxs)


# With random keys, and parameters that the gradients are by.
WEIGHTS = np.arange(1, 7, dtype=np.float32).reshape(2, 3)


GRADIENTS = {
    "gamma": lambda draw, key, a: draw(key, a, (2, 3)),
    "loggamma": lambda draw, key, a: draw(key, a, (2, 3)),
    "beta": lambda draw, key, a: draw(key, a, a + 1, (2, 3)),
    "dirichlet": lambda draw, key, a: draw(key, a, (2,)),
    "t": lambda draw, key, a: draw(key, a, (2, 3)),
    "f": lambda draw, key, a: draw(key, a, a + 1),
    "pareto": lambda draw, key, a: draw(key, a, (2, 3)),
    "wald": lambda draw, key, a: draw(key, a, (2, 3)),
    "weibull_min": lambda draw, key, a: draw(key, a, a + 1, (2, 3)),
    "triangular": lambda draw, key, a: draw(key, a, a + 1, a + 3, (2, 3)),
    "double_sided_maxwell": lambda draw, key, a: draw(key, a, a + 1, (2,)),
    "truncated_normal": lambda draw, key, a: draw(key, -a, a, (2, 3)),
    "uniform": lambda draw, key, a: draw(key, (2, 3), minval=a, maxval=a * a + 3),
    "multivariate_normal": lambda draw, key, a: draw(key, a, a[:, None] * a + np.eye(3), (2,)),
}


WITH_GRADIENTS = [
    a_few(name for name in GRADIENTS if name not in MADE_OF_GAMMA),
    [name for name in GRADIENTS if name in MADE_OF_GAMMA],
]


@pytest.mark.parametrize("names", one_in(2, WITH_GRADIENTS))
def test_gradients_by_parameters(names):
    def gradients(lib, key, a):
        def gradient(name):
            draw = getattr(lib.random, name)
            return lib.grad(lambda a: (WEIGHTS * GRADIENTS[name](draw, key, a)).sum())(a)

        return {name: gradient(name) for name in names}

    a = np.float32([0.2, 1.5, 3.0])
    with jax.enable_x64(False), glassjax.enable_x64(False):
        ours, theirs = (
            lib.jit(functools.partial(gradients, lib))(lib.random.key(7), a)
            for lib in (glassjax, jax)
        )
    for name in names:
        assert ours[name].dtype == theirs[name].dtype == np.float32
        # Those of `beta` and the like are small differences of large numbers.
        np.testing.assert_allclose(ours[name], theirs[name], rtol=1e-5, atol=1e-5, err_msg=name)
