"""`minijax.random` against `jax.random`: the same bits for the same key, dtype and shape."""

import jax
import ml_dtypes
import numpy as np
import pytest
from libraries import assert_alike, result_of
from shares import one_in

import minijax

WIDTHS = [False, True]
every_width = pytest.mark.parametrize("x64", WIDTHS, ids=["32", "64"])
SEEDS = [0, 1, -1, 2**31, 2**32 + 5, 2**63 - 1, -(2**63), np.uint64(2**63 + 3), np.int8(-3), True]


def bits_of(x):
    """The bits of an array, in which equal numbers differ that are not the same."""
    x = np.asarray(x)
    return x.view(f"u{x.dtype.itemsize}") if x.dtype.kind in "fV" and x.dtype.itemsize <= 8 else x


def same(ours, theirs):
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    if ours.dtype.kind == "c":
        ours, theirs = (x.view(x.real.dtype) for x in map(np.atleast_1d, (ours, theirs)))
    np.testing.assert_array_equal(bits_of(ours), bits_of(theirs))


def both(name, seed, *args, **kwargs):
    """What the function `name` gives in both libraries, for the key of a seed."""
    ours = getattr(minijax.random, name)(minijax.random.key(seed), *args, **kwargs)
    theirs = getattr(jax.random, name)(jax.random.key(seed), *args, **kwargs)
    return ours, theirs


@every_width
def test_keys_of_seeds(x64):
    with jax.enable_x64(x64), minijax.enable_x64(x64):
        for seed in SEEDS:
            theirs = jax.random.PRNGKey(seed)
            same(minijax.random.PRNGKey(seed), theirs)
            same(minijax.random.key_data(minijax.random.key(seed)), theirs)


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


@pytest.mark.parametrize(("name", "calls"), one_in(2, NEARLY), ids=[name for name, _ in NEARLY])
def test_nearly_the_same_numbers(name, calls):
    with jax.enable_x64(False), minijax.enable_x64(False):
        for args in calls:
            ours, theirs = map(np.asarray, both(name, 0, *args))
            assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
            eps = np.finfo(ours.dtype).eps
            scale = np.abs(theirs).max() if name in ("multivariate_normal", "orthogonal") else 0
            np.testing.assert_allclose(ours, theirs, rtol=20 * eps, atol=20 * eps * scale)


APPROXIMATE = {
    "gamma": [np.float32([0.01, 0.5, 3, 50, 1e4])],
    "loggamma": [np.float32([0.01, 0.5, 3, 50, 1e4])],
    "beta": [np.float32([0.5, 3]), np.float32([[2.0], [30.0]])],
    "chisquare": [np.float32([0.5, 3, 50])],
    "poisson": [np.float32([0, 0.1, 3, 6.9, 7, 10, 100, 1e5, np.nan])],
}


@every_width
@pytest.mark.parametrize("name", one_in(3, APPROXIMATE))
def test_approximate_methods(name, x64):
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

    with jax.enable_x64(x64), minijax.enable_x64(x64):
        assert_alike(*(result_of(program, m.numpy, m) for m in (minijax, jax)), rtol=2e-5)


# The others are formulas of these: with 64 bits, one call of each of these shows the types.
WITH_64_BITS = ["bits", "uniform", "normal", "bernoulli", "randint", "gamma", "permutation"]
RUNS = [(name, calls, False) for name, calls in CASES] + [
    (name, calls[:1], True) for name, calls in CASES if name in WITH_64_BITS
]


@pytest.mark.parametrize(
    ("name", "calls", "x64"),
    one_in(2, RUNS),
    ids=[f"{name}-{64 if x64 else 32}" for name, _, x64 in RUNS],
)
def test_the_same_bits(name, calls, x64):
    with jax.enable_x64(x64), minijax.enable_x64(x64):
        for args in calls:
            for seed in (0, 42):
                same(*both(name, seed, *args))


@every_width
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

    with jax.enable_x64(x64), minijax.enable_x64(x64):
        ours, theirs = (
            jax.tree.leaves((lib.jit(lambda lib=lib: bits_of_all(lib.lax))(), mapped(lib)))
            for lib in (minijax, jax)
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


@pytest.mark.parametrize("name", one_in(2, GRADIENTS))
def test_gradients_by_parameters(name):
    def gradient(lib, key):
        def weighted_sum(a):
            return (WEIGHTS * GRADIENTS[name](getattr(lib.random, name), key, a)).sum()

        return np.asarray(lib.jit(lib.grad(weighted_sum))(np.float32([0.2, 1.5, 3.0])))

    with jax.enable_x64(False), minijax.enable_x64(False):
        ours = gradient(minijax, minijax.random.key(7))
        theirs = gradient(jax, jax.random.key(7))
    assert ours.dtype == theirs.dtype == np.float32
    # Those of `beta` and the like are small differences of large numbers.
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)


INITIALIZERS = [
    ("normal", (0.3,), {}),
    ("uniform", (), {}),
    ("truncated_normal", (), {"lower": -1.0}),
    ("constant", (3.0,), {}),
    ("variance_scaling", (2.0, "fan_geo_avg", "normal"), {}),
    (
        "variance_scaling",
        (2.0, "fan_avg", "uniform"),
        {"in_axis": (0, 1), "out_axis": 2, "batch_axis": 3},
    ),
    ("orthogonal", (2.0,), {"column_axis": 1}),
    *[
        (f"{name}_{kind}", (), {})
        for name in ("lecun", "glorot", "he")
        for kind in ("normal", "uniform")
    ],
]


@every_width
def test_initializers(x64):
    shape = (3, 4, 5, 2)
    with jax.enable_x64(x64), minijax.enable_x64(x64):
        for name, args, kwargs in INITIALIZERS[:4] if x64 else INITIALIZERS:
            ours, theirs = (
                getattr(m.nn.initializers, name)(*args, **kwargs) for m in (minijax, jax)
            )
            drawn = ours(minijax.random.key(3), shape), theirs(jax.random.key(3), shape)
            if "normal" in (name, *args) and jax.__version_info__ < (0, 12):  # scaled after drawing
                np.testing.assert_allclose(*drawn, rtol=2 * np.finfo(drawn[0].dtype).eps)
            else:
                same(*drawn)
            for dtype in ("float16", "complex64") if name.startswith("lecun") else ():
                same(
                    ours(minijax.random.key(3), shape, dtype),
                    theirs(jax.random.key(3), shape, dtype),
                )
        kernel = (4, 3, 2, 5)
        ours, theirs = (m.nn.initializers.delta_orthogonal(2.0, 0) for m in (minijax, jax))
        same(ours(minijax.random.key(3), kernel), theirs(jax.random.key(3), kernel))
        for name in ("zeros", "ones"):
            same(
                getattr(minijax.nn.initializers, name)(None, shape),
                getattr(jax.nn.initializers, name)(None, shape),
            )


AXES = [
    ({}, (3, 4)),
    ({}, (5, 1)),
    ({"in_axis": 0, "out_axis": 1}, (3, 4, 2)),
    ({"in_axis": -1, "out_axis": -2}, (2, 3, 4)),
    ({"in_axis": (0, 1), "out_axis": (2,)}, (2, 3, 4)),
    ({"in_axis": 1, "out_axis": 2, "batch_axis": 0}, (2, 3, 4)),
    ({"in_axis": 1, "out_axis": 2, "batch_axis": (0, -1)}, (2, 3, 4, 2)),
]
SCALED = ["lecun", "glorot", "he", "xavier", "kaiming"]


@pytest.mark.parametrize("kind", ["normal", "uniform"])
def test_initializers_of_axes_and_dtypes(kind):
    with jax.enable_x64(False), minijax.enable_x64(False):
        for i, (name, (axes, shape)) in enumerate((n, a) for n in SCALED for a in AXES):
            if i % 3 and name not in ("he", "lecun"):
                continue
            made = [
                getattr(lib.nn.initializers, f"{name}_{kind}")(**axes) for lib in (minijax, jax)
            ]
            ours, theirs = made
            same(ours(minijax.random.key(i), shape), theirs(jax.random.key(i), shape))
        for dtype in ("float16", "bfloat16", "complex64"):
            for lib_args in [(), (dtype,)]:
                init = {"in_axis": 0, "out_axis": 1, "dtype": dtype}
                ours, theirs = (
                    getattr(lib.nn.initializers, f"he_{kind}")(**init)(
                        lib.random.PRNGKey(5), (4, 3), *lib_args
                    )
                    for lib in (minijax, jax)
                )
                same(ours, theirs)
        staged = [
            lib.jit(
                lambda key, lib=lib: getattr(lib.nn.initializers, f"lecun_{kind}")()(key, (3, 2))
            )(lib.random.key(1))
            for lib in (minijax, jax)
        ]
        same(*staged)
        mapped = [
            lib.vmap(
                lambda key, lib=lib: getattr(lib.nn.initializers, f"he_{kind}")()(key, (3, 2))
            )(lib.random.split(lib.random.key(1), 3))
            for lib in (minijax, jax)
        ]
        # Of many keys it is another program, whose products are rounded as XLA pleases.
        np.testing.assert_allclose(*map(np.asarray, mapped), rtol=2e-6)


NO_INITIALIZERS = {
    "one axis": lambda i, key: i.lecun_normal()(key, (3,)),
    "no axis": lambda i, key: i.he_uniform()(key, ()),
    "no such mode": lambda i, key: i.variance_scaling(1.0, "fan", "normal")(key, (2, 2)),
    "no such distribution": lambda i, key: i.variance_scaling(1.0, "fan_in", "n")(key, (2, 2)),
    "integers": lambda i, key: i.normal()(key, (2, 2), np.int32),
    "scaled integers": lambda i, key: i.he_normal()(key, (2, 2), np.int32),
    "a size below 0": lambda i, key: i.he_normal()(key, (2, -2)),
}


@pytest.mark.parametrize("name", NO_INITIALIZERS)
def test_what_initializers_refuse(name):
    ours, theirs = (
        result_of(
            lambda n, lib: NO_INITIALIZERS[name](lib.nn.initializers, lib.random.key(0)), None, m
        )
        for m in (minijax, jax)
    )
    assert isinstance(theirs, Exception)
    assert_alike(ours, theirs)


def test_initializers_of_numbers():
    for program in [
        lambda i: i.constant(3)(None, (2,), np.int32),
        lambda i: i.constant(3)(None, (2,)),
        lambda i: i.constant(np.arange(3))(None, (2, 3)),
        lambda i: i.constant(True, bool)(None, (2,)),
        lambda i: i.zeros(None, (2, 0), np.int8),
        lambda i: i.ones(None, (), complex),
    ]:
        same(program(minijax.nn.initializers), program(jax.nn.initializers))
