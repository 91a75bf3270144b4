"""Edge values under every transformation, beside JAX."""

import functools
import operator

import jax
import ml_dtypes
import numpy as np
import pytest
from shares import one_in

import glassjax


def as_numpy(tree, lib):
    leaves = map(np.asarray, lib.tree_util.tree_leaves(tree))
    return [x.astype(np.float64) if x.dtype.kind == "V" else x for x in leaves]


def expect(found, expected, **tolerance):
    for x, y in zip(found, expected, strict=True):
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        np.testing.assert_allclose(x, y, **tolerance)


def agree(program, *args, **tolerance):
    """`program(lib, *args)` is JAX's: by itself, jitted, and mapped in a jitted function."""
    expected = as_numpy(jax.jit(lambda *xs: program(jax, *xs))(*args), jax)

    def ours(*xs):
        return program(glassjax, *xs)

    expect(as_numpy(ours(*map(glassjax.numpy.asarray, args)), glassjax), expected, **tolerance)
    pairs = [np.stack([x, x]) for x in args]
    jitted, mapped = glassjax.jit(lambda xs, pairs: (ours(*xs), glassjax.vmap(ours)(*pairs)))(
        args, pairs
    )
    expect(as_numpy(jitted, glassjax), expected, **tolerance)
    for i in range(2):
        expect([x[i] for x in as_numpy(mapped, glassjax)], expected, **tolerance)


def agree_on(derivatives, program, *args, **tolerance):
    """`derivative(lib, f, *args)`, where `f` is the program, is JAX's for each of them."""

    def everything(lib, *xs):
        return [derivative(lib, lambda *ys: program(lib, *ys), *xs) for derivative in derivatives]

    ours, theirs = (
        as_numpy(lib.jit(functools.partial(everything, lib))(*args), lib) for lib in (glassjax, jax)
    )
    expect(ours, theirs, **tolerance)


def gradient(lib, f, *args):
    return lib.grad(lambda *xs: sum(x.sum() for x in lib.tree_util.tree_leaves(f(*xs))))(*args)


def forward(lib, f, *args):
    return lib.jvp(f, args, tuple(map(lib.numpy.ones_like, args)))


def mapped_over_nothing(lib, f, *args):
    return lib.vmap(f)(*(lib.numpy.zeros((0, *x.shape), x.dtype) for x in args))


# Python's numbers.

OPERATORS = [
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod),
    *(operator.and_, operator.or_, operator.xor, operator.eq, operator.lt, operator.ge),
]


@pytest.mark.parametrize(
    ("dtype", "number"), one_in(2, [("uint8", -1), ("uint32", 300), ("uint8", 300), ("uint32", -1)])
)
def test_python_ints_that_do_not_fit_wrap_around(dtype, number):
    # OverflowError under jit and vmap: JAX, and we by ourselves, wrap around.
    def program(lib, x):
        jnp = lib.numpy
        return [
            *(f(x, number) for f in OPERATORS if f is not operator.truediv),
            *(f(number, x) for f in OPERATORS if f is not operator.truediv),
            jnp.where(x > 1, x, number),
            jnp.maximum(x, number),
            x.at[0].set(number),
            jnp.full_like(x, number),
        ]

    agree(program, np.array([2, 3, 7], dtype))


@pytest.mark.parametrize("dtype", one_in(2, ["uint8", "int8"]))
def test_python_ints_that_functions_of_floats_take(dtype):
    # uint8 / -1 was uint8 / 255.
    def program(lib, x):
        jnp = lib.numpy
        binary = (
            *(operator.truediv, jnp.float_power, jnp.arctan2, jnp.hypot, jnp.copysign),
            *(jnp.logaddexp, jnp.logaddexp2, jnp.isclose, lib.scipy.special.xlogy),
        )
        pairs = [pair for number in (-1, 300) for pair in ((x, number), (number, x))]
        return [f(*pair) for f in binary for pair in pairs] + [jnp.gradient(x, -1)]

    agree(program, np.array([1, 2, 3], dtype), rtol=1e-6)


@pytest.mark.parametrize("dtype", one_in(2, ["bool", "int8", "uint32"]))
def test_powers_of_what_is_no_float(dtype):
    # Tracers gave booleans, floats and errors where Arrays give integers.
    x = np.array([3, 1, 2], dtype)
    agree(lambda lib, x: [x**0, x**1, x**2, x**True, x**x, 2**x, True**x, x**2.5], x)
    for power in (lambda x: x**-1, glassjax.jit(lambda x: x**-1), glassjax.vmap(lambda x: x**-1)):
        with pytest.raises(TypeError):
            power(glassjax.numpy.asarray(x))


def test_bounds_of_clip_that_do_not_fit():
    agree(
        lambda lib, x: [lib.numpy.clip(x, -1, x), lib.numpy.clip(x, 1, 2)],
        np.array([2, 3], np.uint32),
    )


@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning:jax")
@pytest.mark.parametrize("number", [1e10, -1e10, 70000])
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_python_numbers_that_are_too_large_are_infinite(dtype, number):
    agree(lambda lib, x: [x + number, x < number], np.array([2, 3], dtype))


# Complex numbers.

COMPLEX = np.array([1 + 2j, 1 - 1j, -2 + 1j, 1 + 2j, 0], np.complex64)


def test_the_order_of_complex_numbers():
    # Operators of tracers refused them.
    def program(lib, x):
        operators = operator.lt, operator.le, operator.gt, operator.ge
        others = x[::-1], 1.0, 1 + 0j, lib.numpy.float32(1), np.arange(-2.0, 3.0, dtype=np.float32)
        pairs = [pair for other in others for pair in ((x, other), (other, x))]
        return [compare(*pair) for compare in operators for pair in pairs]

    agree(program, COMPLEX)
    agree_on([forward], lambda lib, x: lib.numpy.where(x < x[::-1], x, 2 * x), COMPLEX)


def test_the_least_and_the_greatest_of_complex_numbers():
    # reduce_max, clamp and cumlogsumexp refused them.
    def program(lib, x):
        lax = lib.lax
        return [
            *(f(x, (0,)) for f in (lax.reduce_max, lax.reduce_min)),
            *(f(x) for f in (lax.cummax, lax.cummin)),
            *(lax.clamp(x[i], x, x[j]) for i, j in ((0, 1), (2, 0), (1, 1))),
        ]

    agree(program, COMPLEX)


def test_the_least_and_the_greatest_of_no_complex_numbers():
    agree(
        lambda lib, x: [lib.lax.reduce_max(x, (0,)), lib.lax.reduce_min(x, (0,))],
        COMPLEX[:0],
    )


def test_the_forward_derivative_of_the_greatest_complex_number():
    agree_on([forward], lambda lib, x: lib.lax.reduce_max(x, (0,)), COMPLEX[1:])


def test_logarithms_of_sums_of_complex_exponentials():
    agree(lambda lib, x: lib.lax.cumlogsumexp(x), COMPLEX[:3], rtol=1e-5, atol=1e-5)
    agree_on(
        [forward],
        lambda lib, x: lib.lax.cumlogsumexp(x, reverse=True),
        COMPLEX[:3],
        rtol=1e-5,
        atol=1e-5,
    )


# Arrays without elements.


@pytest.mark.parametrize(("shape", "axis"), [((0,), 0), ((2, 0), 0), ((2, 0), 1), ((0, 3), 0)])
def test_derivatives_of_what_orders_and_takes_no_elements(shape, axis):
    # gather: "slices of sizes (1,) do not fit".
    def program(lib, x):
        jnp = lib.numpy
        indices = jnp.zeros(x.shape, int)
        return [
            jnp.sort(x, axis=axis),
            jnp.take_along_axis(x, indices, axis=axis),
            *lib.lax.sort((x, 2 * x), dimension=x.ndim - 1, num_keys=2),
            lib.lax.top_k(x, 0)[0],
        ]

    agree(program, np.zeros(shape, np.float32))
    agree_on([mapped_over_nothing, gradient, forward], program, np.zeros(shape, np.float32))


@pytest.mark.newest_jax
def test_statistics_of_nothing():
    def program(lib, x):
        jnp = lib.numpy
        return [
            *(jnp.nanmedian(x), jnp.nanmedian(x, axis=1), jnp.nanmedian(x, axis=0)),
            *(jnp.nanquantile(x, 0.3), jnp.nanpercentile(x, 5.0, axis=1, keepdims=True)),
            *(jnp.corrcoef(x[0]), jnp.corrcoef(x), jnp.cov(x[0]), jnp.cov(x)),
        ]

    agree(program, np.zeros((2, 0), np.float32))


def test_what_is_chosen_by_no_booleans():
    # IndexError: JAX and numpy's nonzero take a mask of no elements for any axis.
    def program(lib, x):
        masks = [np.zeros(n, bool) for n in (0, (0, 2), (3, 0))]
        return [
            *(x[mask] for mask in masks),
            *(x.at[mask].set(1.0) for mask in masks),
            *(x.at[:, np.zeros(0, bool)].add(1.0), x.at[np.zeros(0, int)].set(1.0)),
        ]

    agree(program, np.ones((3, 2), np.float32))
    agree_on([gradient], program, np.ones((3, 2), np.float32))


def test_an_empty_axis_has_no_element_to_change(lib):
    with pytest.raises(IndexError, match="out of bounds"):
        lib.numpy.zeros((2, 0)).at[0, 0].set(1.0)


# Narrow floats.


@pytest.mark.parametrize("name", ["i0e", "i1e"])
@pytest.mark.parametrize("dtype", one_in(2, [ml_dtypes.bfloat16, np.float16]))
def test_second_derivatives_of_bessel_functions_of_narrow_floats(dtype, name):
    # numpy's finfo knows no bfloat16.
    def second(lib, f, x):
        return lib.hessian(lambda x: f(x).sum())(x)

    agree_on(
        [second],
        lambda lib, x: getattr(lib.scipy.special, name)(x),
        np.array([0.5, 2.0], dtype),
        rtol=0.1,
        atol=0.05,
    )


# Functions that bring their own derivative.


@pytest.mark.parametrize("decorator", ["custom_jvp", "custom_vjp"])
@pytest.mark.parametrize("arguments", [(1, 2), (1.5, True), (np.arange(3.0), 2)])
def test_a_function_of_its_own_derivative_returns_what_it_returns(decorator, arguments):
    # Called plainly, it gave an Array.
    def classes(lib):
        f = getattr(lib, decorator)(lambda x, y: {"product": x * y, "constant": 3})
        f.defjvp(lambda primals, tangents: None) if decorator == "custom_jvp" else f.defvjp(
            lambda x, y: None, lambda residuals, ct: None
        )
        return {name: type(x).__name__ for name, x in f(*arguments).items()}

    assert classes(glassjax) == classes(jax)


class Unnamed:
    """A callable whose name is not a string."""

    __name__ = 3

    def __call__(self, x):
        return x * x


@pytest.mark.parametrize("transform", ["checkpoint", "jit", "grad", "jacfwd", "jacrev", "hessian"])
def test_a_callable_may_have_no_proper_name(transform):
    # functools.wraps: "__name__ must be set to a string object".
    derivative = getattr(glassjax, transform)(Unnamed())
    assert derivative(1.0) == (1.0 if transform in ("checkpoint", "jit") else 2.0)
    assert glassjax.vmap(derivative)(np.ones(2)).shape == (2,)


def test_cotangents_of_integers_count_as_zero():
    for lib in (glassjax, jax):
        _, pull_back = lib.vjp(lambda x, lib=lib: (2 * x, lib.numpy.int32(3)), 1.0)
        for ct in (np.int32(1), np.float32(2), np.zeros((), jax.dtypes.float0)):
            assert float(pull_back((1.0, ct))[0]) == 2.0
