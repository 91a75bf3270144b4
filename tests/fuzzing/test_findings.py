"""Programs found by `fuzzing/fuzz.py` to differ from JAX, and since fixed.

Each with the smallest arguments that showed it, in the order in which they were found.
"""

import functools
import importlib

import jax
import jax.scipy.fft
import jax.scipy.special
import jax.scipy.stats
import numpy as np
import pytest
from libraries import assert_all_same_results, refused
from shares import one_in

import glassjax

pytestmark = pytest.mark.newest_jax


def ravel_pytree(lib, tree):
    return importlib.import_module(f"{lib.__name__}.flatten_util").ravel_pytree(tree)


def with_formula(lib):
    sin = lib.custom_jvp(lib.numpy.sin)
    sin.defjvps(lambda t, out, x: 3 * t * x)
    return sin


class Shape:
    """Ints in a class that is no sequence."""

    def __init__(self, sizes):
        self.sizes = sizes

    def __len__(self):
        return len(self.sizes)

    def __getitem__(self, axis):
        return self.sizes[axis]


def with_tangent_of_weak(lib, function):
    """What a function of a matrix of one number of a weak type gives, with a tangent."""
    x = lib.numpy.full((1, 1), 2.0)
    return lib.jvp(function, (x,), (x,))


def of_shape(n, *shape):
    return n.arange(float(np.prod(shape))).reshape(shape)


def with_partial(lib, kind):
    """Slopes of a function with a rule of its own, some of whose arguments are given before."""
    function = getattr(lib, kind)(functools.partial(lambda x, k: x * k, k=3.0))
    if kind == "custom_jvp":
        function.defjvp(lambda primals, tangents: (function(*primals), 7 * tangents[0]))
    else:
        function.defvjp(lambda x: (function(x), None), lambda _, ct: (5 * ct,))
    return lib.grad(function)(1.0)


# Programs of `n`, which is either library's numpy, and of `lib`, the library itself.
FOUND = {
    "a geometric number of a uniform number that is 0": lambda n, lib: lib.random.geometric(
        lib.random.split(lib.random.key(0), 3)[1], n.full((3, 2), 0.5, "float16")
    ),
    "real numbers from complex ones in geometric progression": lambda n, lib: n.geomspace(
        n.bfloat16(0.5), n.complex64(7.5 + 1j), 4, dtype="float32"
    ),
    "nothing in a vector is of 32 bits": lambda n, lib: ravel_pytree(lib, ())[0],
    "waves have no slope at infinity": lambda n, lib: lib.grad(
        lambda x: lib.scipy.special.fresnel(x)[0]
    )(n.float32(np.inf)),
    "tangents of solutions are as weak as they are": lambda n, lib: with_tangent_of_weak(
        lib, lambda a: n.linalg.solve(a, a)
    ),
    "those of triangular systems": lambda n, lib: with_tangent_of_weak(
        lib, lambda a: lib.scipy.linalg.solve_triangular(a, a)
    ),
    "those of tridiagonal systems": lambda n, lib: with_tangent_of_weak(
        lib, lambda a: lib.lax.linalg.tridiagonal_solve(a[0], a[0], a[0], a)
    ),
    "shapes of a class of their own, as those of TensorFlow": lambda n, lib: [
        n.zeros(Shape([2, 3])),
        n.broadcast_to(1.0, Shape([2])),
        lib.random.normal(lib.random.key(0), Shape([])),
    ],
    "ends of diagonals that are ignored have no slope, not even NaN": lambda n, lib: lib.grad(
        lambda *xs: lib.scipy.special.exp1(lib.lax.linalg.tridiagonal_solve(*xs)).sum(), (0, 2)
    )(*np.float32([[1, 0.1], [1, 3], [0.1, 7]]), np.float32([[-1, 3], [-2, 2]])),
    "those of eigenvalues": lambda n, lib: with_tangent_of_weak(
        lib, lambda a: lib.lax.linalg.eigh(a)[1]
    ),
    "those of functions with formulas for each argument": lambda n, lib: with_tangent_of_weak(
        lib, with_formula(lib)
    ),
    "those of sums with what is not weak": lambda n, lib: with_tangent_of_weak(
        lib, lambda a: a + n.zeros((1, 1))
    ),
    "the slope of the mode is that of the first of equal elements": lambda n, lib: lib.grad(
        lambda x: lib.scipy.stats.mode(x, axis=None)[0]
    )(n.array([1.0, 0.5, 1.0])),
    "a determinant of one number is not weak": lambda n, lib: n.linalg.det(n.full((1, 1), 2.0)),
    "a determinant of many numbers is not weak": lambda n, lib: n.linalg.det(n.full((4, 4), 2.0)),
    "sums of floats that an int takes": lambda n, lib: n.einsum(
        "i->", n.array([1.5, 2.5]), preferred_element_type="int32"
    ),
    "whether a sum of numbers is zero": lambda n, lib: n.einsum(
        "i->", n.array([1, -1]), preferred_element_type=bool
    ),
    "setxor1d is promoted with what fills it up": lambda n, lib: n.setxor1d(
        n.arange(3), n.array([1, 7]), size=6, fill_value=1.5
    ),
    "intersect1d is promoted with what fills it up": lambda n, lib: n.intersect1d(
        n.arange(3), n.array([1, 7]), size=6, fill_value=np.complex64(1j)
    ),
    "setxor1d of nothing filled up": lambda n, lib: n.setxor1d(
        n.zeros(0, "int8"), n.zeros(0, "int8"), size=2, fill_value=1.5
    ),
    "three floats of which two are narrow met in float32": lambda n, lib: n.sum(
        lib.scipy.stats.norm.ppf(
            n.array([0.5], "float64"), n.array(1.0, "float16"), n.array(2.0, "bfloat16")
        )
    ),
    "isf of a wide and a narrow float": lambda n, lib: lib.scipy.stats.norm.isf(
        n.array([0.5], "float64"), n.array([0.75], "float16"), n.array([0.5], "bfloat16")
    ),
    "elu of integers is weak": lambda n, lib: lib.nn.elu(n.array([1, -2])),
    "selu of unsigned integers": lambda n, lib: lib.nn.selu(n.array([5], "uint32")),
    "softplus of booleans": lambda n, lib: lib.nn.softplus(n.array([True, False])),
    "log1mexp of integers": lambda n, lib: lib.nn.log1mexp(n.array([5], "int8")),
    "sparse_plus of unsigned integers": lambda n, lib: lib.nn.sparse_plus(n.array([7], "uint8")),
    "corrcoef of nothing": lambda n, lib: n.corrcoef(n.zeros((0, 0))),
    "corrcoef of two dtypes": lambda n, lib: n.corrcoef(
        n.array([[1.0, 2.0]], "bfloat16"), y=n.array([[1, 2]])
    ),
    "the density of a histogram of narrow floats": lambda n, lib: n.histogram2d(
        n.array([0.75, 1.0], "bfloat16"), n.array([1, 2]), bins=4, density=True
    )[0],
    "quantiles of no rows": lambda n, lib: n.quantile(n.zeros((0, 3)), 0.5, axis=1),
    "quantiles over no axes": lambda n, lib: n.percentile(n.zeros((2, 0)), 50.0, axis=()),
    "quantile by inverted_cdf": lambda n, lib: n.quantile(
        n.array([[1.0, 2.0, 4.0], [3.0, n.nan, 0.5]]),
        n.array([0.0, 0.3, 0.5, 1.0]),
        axis=1,
        method="inverted_cdf",
    ),
    "broadcast_arrays is a tuple": lambda n, lib: n.broadcast_arrays(n.zeros(2), n.zeros(())),
    "meshgrid is a tuple": lambda n, lib: n.meshgrid(n.zeros(2), n.zeros(3)),
    "repeat of nothing": lambda n, lib: n.repeat(
        n.zeros(0), n.zeros(0, int), total_repeat_length=2
    ),
    "unwrap of nothing": lambda n, lib: n.unwrap(n.zeros((0, 2)), axis=0),
    "ravel_multi_index keeps dtypes": lambda n, lib: n.ravel_multi_index(
        (n.array([1], "int8"), n.array([1], "uint8")), (2, 3), mode="clip"
    ),
    "insert at traced indices": lambda n, lib: lib.jit(lambda i: n.insert(n.arange(4), i, 9))(
        n.array([3, 0, -1, 3])
    ),
    "insert at a traced index": lambda n, lib: lib.jit(
        lambda i: n.insert(n.zeros((2, 3)), i, n.ones((2, 2)), axis=1)
    )(1),
    "the step of linspace": lambda n, lib: n.linspace(1, 2, 3, dtype="float16", retstep=True),
    "the real step of linspace": lambda n, lib: n.linspace(1, 2j, 3, dtype="float32", retstep=True),
    "integers between complex ends": lambda n, lib: n.linspace(1 + 2j, 5 + 0j, 3, dtype="int32"),
    "linspace of wider floats than its ends": lambda n, lib: [
        n.linspace(n.array(1, "int8"), n.array(2, "float32"), 5, False, dtype="float64"),
        n.linspace(n.array(1, "float16"), n.array(2, "float16"), 7, retstep=True, dtype="float32"),
    ],
    "vander of narrow integers": lambda n, lib: n.vander(n.array([3, 2], "int8")),
    "irfft of a spectrum of one": lambda n, lib: n.fft.irfft(n.array([[1j], [2]])),
    "hfft of a spectrum of one": lambda n, lib: n.fft.hfft(n.array([1j])),
    "irfft2 of a spectrum of one": lambda n, lib: n.fft.irfft2(n.array([[1j], [2]])),
    "dct of narrow floats": lambda n, lib: lib.scipy.fft.dct(n.array([1.0, 2.0], "bfloat16")),
    "idct of narrow floats": lambda n, lib: lib.scipy.fft.idct(n.array([1.0, 2.0], "float16")),
    "multigammaln of narrow floats": lambda n, lib: lib.scipy.special.multigammaln(
        n.array(7.5, "float16"), 2
    ),
    "the shape of t is that of df": lambda n, lib: lib.random.t(lib.random.key(0), n.ones(2)),
    "uniform of NaN": lambda n, lib: [
        f(n.array([n.nan, 0.5, 2.0]))
        for f in (lib.scipy.stats.uniform.logpdf, lib.scipy.stats.uniform.cdf)
    ],
    "quantiles of no probability": lambda n, lib: [
        f(n.array([-0.5, 0.25, n.inf, n.nan]))
        for f in (lib.scipy.stats.cauchy.ppf, lib.scipy.stats.cauchy.isf)
    ],
    "derivative of a complex sign": lambda n, lib: [
        lib.jvp(f, (n.array([1 + 1j, -2j]),), (n.array([1 + 0j, 2 + 1j]),))[1]
        for f in (n.sign, lambda x: lib.nn.logsumexp(x, return_sign=True)[1])
    ],
    "derivative of acosh on both sides": lambda n, lib: [
        lib.vmap(lib.grad(n.arccosh))(n.array([-2.0, 0.5, 1.5, 1e20], "float32")),
        lib.vmap(lib.grad(lambda z: n.real(n.arccosh(z))))(n.array([-2 + 1j, -2 - 1j, 2 - 1j])),
    ],
    "arange of narrow integers": lambda n, lib: [
        n.arange(np.int8(3)),
        n.arange(np.uint8(1), 4),
        n.arange(np.int16(1), n.array(4, "int8")),
        n.arange(2),
    ],
    "approx_max_k of none": refused(lambda n, lib: lib.lax.approx_max_k(n.ones(3), 0)),
    "approx_min_k of integers": refused(lambda n, lib: lib.lax.approx_min_k(n.arange(3), 1)),
    "correlate of a shorter sequence is reversed": lambda n, lib: n.correlate(
        n.array([1, 2j]), n.array([1.0, 2.0, 4.0, 7.0]), mode="same"
    ),
    "cauchy's quantiles and their derivatives at the edges": lambda n, lib: [
        lib.vmap(lib.value_and_grad(f, (0, 1, 2)), (0, None, None))(
            n.array([-1.0, -0.0, 0.0, 0.1, 0.25, 0.4, 0.75, 1.0, 2.0, n.nan, n.inf], "float32"),
            0.5,
            2.0,
        )
        for f in (lib.scipy.stats.cauchy.ppf, lib.scipy.stats.cauchy.isf)
    ],
    "derivative of laplace.cdf far out": lambda n, lib: lib.vmap(
        lib.grad(lib.scipy.stats.laplace.cdf)
    )(n.array([-n.inf, -200.0, 0.0, 1.0, 200.0, n.inf, n.nan], "float32")),
    "norms of no numbers": lambda n, lib: [
        n.linalg.norm(n.zeros(shape), order)
        for shape, orders in (((0,), [n.inf]), ((1, 0), [1, 2, n.inf]), ((0, 2), [1, 2, n.inf]))
        for order in orders
    ],
    "select by an integer": lambda n, lib: lib.lax.select(
        n.array([0, 1], "int8"), n.array([1, 2]), n.array([3, 4])
    ),
    "Fourier transforms of integers and narrow floats": lambda n, lib: [
        lib.lax.fft(n.ones(4, dtype), kind, (4,))
        for dtype in ("int32", "bool", "float16", "bfloat16")
        for kind in ("fft", "ifft", *(["rfft"] if dtype in ("int32", "bool") else []))
    ],
    "special functions of numbers are not weak": lambda n, lib: [
        [getattr(lib.scipy.special, name)(0.5) for name in ("ndtr", "log_ndtr", "ndtri", "spence")],
        [getattr(lib.scipy.special, name)(0.5) for name in ("erfcx", "exp1", "expi", "fresnel")],
        [
            getattr(lib.scipy.stats.norm, name)(0.5)
            for name in ("cdf", "logcdf", "sf", "ppf", "isf")
        ],
        [lib.scipy.special.poch(2.0, 0.5), lib.scipy.special.expn(2, 0.5)],
    ],
    "results are weak only if all arguments are": lambda n, lib: [
        lib.scipy.stats.uniform.logpdf(0.5, n.zeros(1)),
        lib.scipy.stats.bernoulli.cdf(n.zeros(1), 0.5),
        n.copysign(0.5, n.ones(1)),
        n.heaviside(n.array([1]), 0.5),
        n.logaddexp2(0.5, n.array([1])),
        n.power(0.5, n.array([1])),
        lib.lax.pow(0.5, n.array([1])),
    ],
    "slopes of zeta at its pole and below": lambda n, lib: [
        lib.vmap(slope)(n.array([1.0, 0.1, 7.5]), n.ones(3))
        for slope in (
            lib.grad(lib.scipy.special.zeta),
            lib.grad(lib.scipy.special.zeta, 1),
            lib.grad(lib.grad(lib.scipy.special.zeta)),
            lib.grad(lib.grad(lib.scipy.special.zeta), 1),
        )
    ],
    "the slope of exp1 below zero": lambda n, lib: [
        lib.vmap(lib.grad(lib.scipy.special.exp1))(n.array([-1.0, 0.0, 1.0])),
    ],
    "functions of one number of which some are weak": lambda n, lib: [
        [f(0.5) for f in (n.diagflat, n.log10, n.angle, lib.lax.conj)],
        [f(1) for f in (n.diagflat, n.log10)],
        n.insert(n.asarray(0.5), 0, n.ones(1)),
        lib.lax.complex(1.0, 2.0),
    ],
    "activations of numbers, booleans and integers": lambda n, lib: [
        lib.nn.gelu(0.5),
        lib.nn.squareplus(n.array([True])),
        lib.nn.celu(1, n.array([2])),
        lib.nn.tanh(n.array([2])),
    ],
    "zeros of weak types are weak": lambda n, lib: lib.jvp(
        lambda: lib.nn.celu(n.array([1, 1])), (), ()
    ),
    "uniform at its ends, and of NaN": lambda n, lib: [
        lib.vmap(lib.grad(f, (0, 1, 2)), (0, None, None))(n.array([1.0, 2.5, 3.0, n.nan]), 1.0, 1.5)
        for f in (lib.scipy.stats.uniform.cdf, lib.scipy.stats.uniform.logpdf)
    ],
    "angles of a weak type": lambda n, lib: [
        f(x) for f in (n.radians, n.degrees) for x in (1.0, n.add(n.array([1, 2]), 1.0))
    ],
    "geomspace of few numbers": lambda n, lib: [
        n.geomspace(n.array([5.0, 2.0]), 20.0, num, endpoint)
        for num in (0, 1, 2, 3)
        for endpoint in (True, False)
    ],
    "quantiles of nothing at no probabilities": lambda n, lib: [
        n.quantile(n.zeros(0), n.zeros(0)),
        n.percentile(n.zeros((0, 3)), n.zeros(0), axis=0),
    ],
    "owens_t of narrow floats": lambda n, lib: lib.scipy.special.owens_t(
        n.array([0.5], "float16"), 0.5
    ),
    "the shape of double_sided_maxwell": lambda n, lib: lib.random.double_sided_maxwell(
        lib.random.key(0), n.ones(2), n.ones(2)
    ),
    "choose is never weak": lambda n, lib: [
        n.choose(0, each, mode="clip") for each in ([1.0, n.array(1)], [1.0, 2.0], [True, 1])
    ],
    "nanmax of nothing is its initial, which is constant": lambda n, lib: [
        lib.jvp(lambda x, f=f: f(x, axis=0, initial=1), (x,), (n.ones_like(x),))
        for f in (n.nanmax, n.nanmin)
        for x in (n.zeros((0, 2)), n.array([[n.nan, 2.0], [n.nan, 0.5]]))
    ],
    "the length of a vector of integers": lambda n, lib: [
        n.linalg.vector_norm(n.array([[3, 1], [4, 0]], dtype), axis=0)
        for dtype in ("int8", "int32", "uint16", "bool")
    ],
    "unwrapped integers are of the default float": lambda n, lib: [
        n.unwrap(n.array([0, 5, 10], dtype)) for dtype in ("int8", "uint32", "float16")
    ],
    "sort_complex of integers is complex64": lambda n, lib: [
        n.sort_complex(n.array([3, 1], dtype)) for dtype in ("int32", "uint8", "float32")
    ],
    "several throws of dice": lambda n, lib: [
        lib.scipy.stats.multinomial.logpmf(
            n.array([[1, 1, 1], [2, 1, 1]]), count, n.array([0.25, 0.5, 0.25])
        )
        for count in (3, n.array([3, 4]))
    ],
    "scalars that are made inside are arrays": lambda n, lib: [
        lib.jit(lambda x, make=make: (make(x).at[()].add(x), 0.9 * make(x), make(x) * 300))(x)
        for make in (
            n.zeros_like,
            lambda x: n.ones((), x.dtype),
            lambda x: n.full((), 2.0),
            lambda x: n.full_like(x, 3),
            lambda x: lib.lax.full((), 2, x.dtype),
            lambda x: lib.lax.full_like(x, 2),
            lambda x: lib.lax.convert_element_type(2, x.dtype),
        )
        for x in (n.array(2.0, "bfloat16"), n.array(200, "uint8"))
    ],
    "parts of a Python number that is complex are weak": lambda n, lib: [
        f(1j) for f in (n.real, n.imag, n.conj, n.angle, lib.lax.real, lib.lax.conj, n.round)
    ],
    "sums of segments without rows, by buckets": lambda n, lib: [
        f(n.zeros((0, 3)), n.zeros(0, int), num_segments=2, bucket_size=2)
        for f in (lib.ops.segment_sum, lib.ops.segment_prod)
    ],
    "products of segments without rows have a gradient": lambda n, lib: lib.grad(
        lambda x: lib.ops.segment_prod(x, n.zeros(0, int), num_segments=1).sum()
    )(n.zeros((0, 2))),
    "the remainder of polynomials is as weak as they are, the quotient never": lambda n, lib: [
        n.polydiv(n.add(n.zeros(size, bool), 1.0), n.add(n.zeros(2, bool), 2.0)) for size in (1, 3)
    ],
    "what is computed of True is not weak": lambda n, lib: [
        lib.jit(lambda f=f, args=args: f(*args))()
        for f, *args in (
            (n.sin, True),
            (n.sinc, True),
            (n.reciprocal, False),
            (n.exp, True),
            (n.divide, True, True),
            (n.arctan2, True, True),
            (n.divide, True, 1),
        )
    ],
    "bfloat16 numbers are numbers": lambda n, lib: [
        n.fft.fft(n.ones((2, 2), "bfloat16")),
        lib.lax.top_k(n.array([1.0, 2.0], "bfloat16"), 1),
        lib.lax.bitcast_convert_type(n.ones(2, "bfloat16"), "int16"),
        n.gradient(n.ones(3, "bfloat16")),
        n.nonzero(n.zeros(2, "bfloat16"), size=1, fill_value=n.array(1.0, "bfloat16")),
    ],
    "a positive matrix of narrow floats and a wide vector": lambda n, lib: [
        lib.scipy.linalg.solve(n.eye(2, dtype="bfloat16") * 2, n.ones(2), assume_a="pos")
    ],
    "decompositions are weak where all of their operands are": lambda n, lib: [
        [
            lib.lax.linalg.qr(weak),
            lib.lax.linalg.eigh(weak),
            lib.lax.linalg.lu(weak),
            lib.lax.linalg.hessenberg(weak),
            lib.lax.linalg.triangular_solve(n.eye(2), weak),
            lib.lax.linalg.triangular_solve(weak, weak),
            n.linalg.solve(n.eye(2), weak),
            n.linalg.solve(n.eye(2) + weak, weak),
            lib.scipy.linalg.solve(n.eye(2), weak, assume_a="pos"),
        ]
        for weak in (n.full((2, 2), 1.0),)
    ],
    "solutions are as weak as the right-hand sides": lambda n, lib: [
        lib.lax.custom_linear_solve(lambda x: 2 * x, b, lambda _, b: n.array(0.5) * b)
        for b in (n.ones(2), n.full(2, 1.0))
    ],
    "reductions are weak where their operands and inits are": lambda n, lib: [
        [
            lib.lax.reduce_max(weak, (0,)),
            lib.lax.reduce_prod(weak, (0,)),
            lib.lax.cummax(weak),
            lib.lax.reduce(weak, np.zeros((), weak.dtype), lib.lax.add, (0,)),
            lib.lax.reduce(weak, 0.0, lib.lax.add, (0,)),
            lib.lax.reduce_window(weak, -np.inf, lib.lax.max, (2,), (1,), "VALID"),
            n.max(weak),
            n.ptp(weak),
        ]
        for weak in (n.full((3,), 1.0),)
    ],
    "flat indices are not weak": lambda n, lib: n.ravel_multi_index((1, 2), (2, 3)),
    "what holds indices or parts is not weak": lambda n, lib: [
        n.ravel_multi_index((n.full(2, 1), n.full(2, 1)), (2, 3), mode="clip"),
        n.diagonal(n.full((2, 2), 1.0)),
        n.compress(n.array([True, False]), n.full(2, 1.0), size=1),
    ],
    "pytrees of numbers as a vector that holds all of them": lambda n, lib: [
        ravel_pytree(lib, tree)[0]
        for tree in ((300, n.ones(2, "uint8")), (1.0, n.ones(2, "float16")), (1.0, 2.0), (1, 2.0))
    ],
    "the discrete Fourier transform in 64 bits": lambda n, lib: lib.scipy.linalg.dft(3),
    "a ramp of one number, at what is not a number": lambda n, lib: [
        n.pad(n.array([1.0, n.nan]), width, "linear_ramp", end_values=end)
        for width in (1, 2)
        for end in (0.0, n.inf)
    ],
    "the step between no numbers is a scalar": lambda n, lib: [
        n.linspace(n.ones(2), n.ones(2), num, endpoint, retstep=True)
        for num in (0, 1, 2)
        for endpoint in (True, False)
    ],
    "slogdet of one or two rows of narrow floats": lambda n, lib: [
        n.linalg.slogdet(n.array([[5.0, 1.0], [1.0, -5.0]], "bfloat16")),
        n.linalg.slogdet(n.array([[[5.0]], [[0.0]]], "bfloat16")),
    ],
    "spherical harmonics of orders of a strong type": lambda n, lib: [
        lib.scipy.special.sph_harm_y(
            n.array([2, 5]), m, n.ones(2, "float32"), n.ones(2, "float32"), n_max=5
        )
        for m in (n.array([1, 1], "int32"), n.full((2,), 1))
    ],
    "products and convolutions are weak where both operands are": lambda n, lib: [
        [
            lib.lax.batch_matmul(weak, weak),
            lib.lax.batch_matmul(weak, n.ones((1, 2, 2), "bfloat16")),
            lib.lax.conv(weak, weak, (1,), "SAME"),
            lib.lax.top_k(weak, 1),
            lib.lax.map(lambda x: x * 2, weak),
            lib.lax.dynamic_update_slice(weak, weak[:, :1], (0, 0, 0)),
            lib.lax.fft(weak + 1j, "FFT", (2,)),
            weak.at[0, 0].max(n.zeros(2)),
        ]
        for weak in (n.full((1, 2, 2), 1.0),)
    ],
    "bytes of nothing": lambda n, lib: [
        n.zeros((0, 2)).view("int8"),
        n.zeros((2, 0), "int8").view("float32"),
    ],
    "a convolution of no examples, differentiated": lambda n, lib: lib.grad(
        lambda kernel: lib.lax.conv(n.zeros((0, 1, 1, 1)), kernel, (1, 1), "VALID").sum()
    )(n.ones((1, 1, 2, 1))),
    "one slice of each of no examples": lambda n, lib: lib.lax.gather(
        n.zeros((0, 2, 2)),
        n.zeros((0, 2, 0), int),
        lib.lax.GatherDimensionNumbers((0, 1), (), (), (0,), (0,)),
        (1, 1, 2),
    ),
    "derivatives of entropy": lambda n, lib: lib.grad(
        lambda mu: n.sum(lib.scipy.stats.poisson.entropy(mu))
    )(n.array([0.0, 0.5, 5.0, 20.0, 1e4])),
    "tangents of gradients by numbers are weak": lambda n, lib: [
        lib.jvp(lib.grad(f), (0.5,), (1.0,))
        for f in (
            lambda x: n.sum(n.exp(n.ones(2) - x)),
            lambda x: n.sum(n.ones(2) * x),
            lambda x: lib.scipy.stats.expon.sf(n.zeros(0), x).sum(),
        )
    ],
    "more indices to delete than there are elements": lambda n, lib: lib.jit(
        lambda x, i: n.delete(x, i, assume_unique_indices=True)
    )(n.zeros(0), n.array([0, 0])),
    "the elements of no set are weak": lambda n, lib: [
        n.unique(n.full((0, 2), 1.0), axis=axis) for axis in (None, 0)
    ],
    "what is rounded down has no slope, also by zero": lambda n, lib: [
        lib.jacrev(n.floor_divide, (0, 1))(1.0, y) for y in (0.0, 2.0)
    ],
    "quantiles of the default float": lambda n, lib: [
        f(n.array([0.25], "float32"), n.array([1.0], "float32"))
        for f in (lib.scipy.stats.norm.ppf, lib.scipy.stats.norm.isf)
    ],
    "sort_complex of wide integers": lambda n, lib: [
        n.sort_complex(n.array([3, 1], dtype)) for dtype in ("int64", "uint64", "int32")
    ],
    "what is resized of nothing is weak": lambda n, lib: n.resize(n.full((0, 2), 1.0), (1,)),
    "roots of a traced number": lambda n, lib: [
        lib.jit(n.roots)(x) for x in (n.array(2.0), n.array([2.0]), n.zeros(0))
    ],
    "zeros alone are trimmed away from either end": lambda n, lib: [
        n.trim_zeros(n.zeros(shape), trim, axis)
        for shape in ((2,), (2, 3))
        for trim in ("f", "b", "fb")
        for axis in (None, 0, ())
    ],
    "unwrapped phases have the dtype of phases and period": lambda n, lib: [
        n.unwrap(n.array(phases, dtype), period=period)
        for phases, dtype, period in (
            ([], "int32", 2.5),
            ([10, 5, 0], "uint8", 2.5),
            ([10, 5, 0], "uint8", 3),
            ([0, 100, 27, 3], "int8", 2.5),
            ([True, False], "bool", 4),
            (np.zeros((0, 3)), "int32", 2.5),
            ([0.0, 5.0, 3.0], "float16", 3),
            ([0.0, 5.0, 3.0], "float16", n.array(2.5, "float32")),
        )
    ],
    "a polynomial of roots that are not finite begins with 1": lambda n, lib: [
        n.poly(n.array(roots)) for roots in ([n.nan], [n.inf, 1.0], [0.0, n.inf], [n.nan + 1j, 2])
    ],
    "tangents of asinh of numbers are weak": lambda n, lib: [
        lib.jvp(n.arcsinh, (x,), (x,)) for x in (1.0, 1 + 1j, n.array([0.5, 1e30]), n.array([1j]))
    ],
    "spherical harmonics of polar angles beyond pi, and below 0": lambda n, lib: [
        lib.scipy.special.sph_harm_y(
            n.array([5, 5, 4, 5]), n.array([1, 2, 3, -1]), n.full(4, theta), n.ones(4), n_max=5
        )
        for theta in (4.0, 2.0, -0.5)
    ],
    "bits of a number of Python, read as what it is": lambda n, lib: lib.lax.bitcast_convert_type(
        n.full(3, 1.0), n.result_type(float)
    ),
    "slopes of a probability that is zero": lambda n, lib: lib.jvp(
        lambda x: importlib.import_module(f"{lib.__name__}.scipy.stats").expon.logcdf(x, 1, 2),
        (n.array([-1.0, 3.0]),),
        (n.array([1.0, 1.0]),),
    ),
    "types of numbers that are complex": lambda n, lib: [
        n.iscomplexobj(each) for each in (n.float32, n.complex64, n.bfloat16)
    ],
    "numbers as arguments of a function put inline": lambda n, lib: lib.jit(
        lambda x: lib.jit(lambda a, b: a.astype(b.dtype) * b, inline=True)(2.0, x)
    )(n.ones(2)),
    "a function put inline, of a static argument": lambda n, lib: lib.vmap(
        lambda x: lib.jit(lambda a, k: a**k, static_argnames="k", inline=True)(x, k=3)
    )(n.ones(2)),
    "keys without NaN": lambda n, lib: lib.random.key_data(n.nan_to_num(lib.random.key(3))),
    "matrices with fewer batch axes than vectors": lambda n, lib: [
        n.matvec(n.ones((3, 4)), n.ones((1, 3, 4))),
        n.vecmat(n.ones((1, 3, 4)), n.ones((4, 3))),
        n.vecmat(n.ones(4), n.ones((2, 4, 3))),
    ],
    "products of batches of one": lambda n, lib: [
        n.matmul(of_shape(n, *x), of_shape(n, *y))
        for x, y in [
            ((1, 3, 2), (4, 2, 5)),
            ((4, 3, 2), (1, 2, 5)),
            ((1, 3, 2), (1, 2, 5)),
            ((3, 2), (4, 2, 5)),
            ((2, 1, 3, 2), (4, 2, 5)),
            ((5, 1, 2, 3, 2), (1, 4, 1, 2, 5)),
            ((0, 3, 2), (1, 2, 5)),
            ((1, 3, 0), (4, 0, 5)),
        ]
    ],
    "matrices of no numbers": lambda n, lib: [
        getattr(lib.scipy.linalg, name)(*map(n.zeros, sizes))
        for name in ("hankel", "toeplitz")
        for sizes in ((0,), (0, 3), (3, 0))
    ],
    "a batch of bases of one triangle": lambda n, lib: lib.scipy.linalg.rsf2csf(
        n.eye(3), n.ones((2, 3, 3))
    ),
    "gamma functions of complex numbers": lambda n, lib: [
        f(n.array([1 + 2j, -1.5 + 1j, 0.3 - 4j, 30 + 2j, -20.3 - 3j], "complex64"))
        for f in (lib.scipy.special.gamma, lib.scipy.special.loggamma)
    ],
    "rows times one-hot vectors": lambda n, lib: n.take_along_axis(
        of_shape(n, 2, 3), n.array([[1, -1], [2, 9]]), 1, mode="one_hot"
    ),
    "one-hot vectors of a list": lambda n, lib: lib.nn.one_hot([1, 2], 3),
    "padding with the mean of nothing": lambda n, lib: n.pad(n.zeros(0), (0, 2), mode="mean"),
    "a transform along no axes": lambda n, lib: lib.lax.fft(n.ones(3, complex), "fft", ()),
    "an algorithm of products by its name": lambda n, lib: lib.lax.dot(
        n.ones(2), n.ones(2), precision="F32_F32_F32"
    ),
    "shares of no parts": lambda n, lib: lib.random.dirichlet(lib.random.key(0), n.zeros(0), (3,)),
    "a forward rule and arguments given before": lambda n, lib: with_partial(lib, "custom_jvp"),
    "a backward rule and arguments given before": lambda n, lib: with_partial(lib, "custom_vjp"),
    "zeros of nothing that is mapped over": lambda n, lib: [
        lib.vmap(lambda x: n.trim_zeros(n.nancumsum(x)))(n.zeros((rows, 0))) for rows in (0, 2)
    ],
}


# One program of all of them would be as large as those of a hundred users.
PARTS = 8


# At every change each second part is tried in one width.
@pytest.mark.parametrize(
    ("part", "x64"), one_in(4, [(i, (i // 2 + j) % 2 == 1) for i in range(PARTS) for j in range(2)])
)
def test_found_programs_give_what_jax_gives(part, x64):
    with jax.enable_x64(x64), glassjax.enable_x64(x64), np.errstate(all="ignore"):
        assert_all_same_results({name: FOUND[name] for name in list(FOUND)[part::PARTS]})
