"""Convolutions agree with JAX's: values, derivatives in both modes, batches."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from libraries import assert_same

import minijax
import minijax.numpy as mnp
from minijax import lax

NHWC = ("NHWC", "HWIO", "NHWC")

# The shapes of input and kernel, and the arguments.
CASES = {
    "1d": ((2, 3, 9), (4, 3, 3), {"window_strides": (1,), "padding": "SAME"}),
    "leftover": ((2, 3, 10), (4, 3, 3), {"window_strides": (3,), "padding": [(1, 0)]}),
    "same lower": ((2, 3, 10), (4, 3, 4), {"window_strides": (3,), "padding": "SAME_LOWER"}),
    "cut": ((2, 3, 10), (4, 3, 3), {"window_strides": (2,), "padding": [(-1, -2)]}),
    "dilated": (
        (2, 3, 6),
        (4, 3, 3),
        {"window_strides": (2,), "padding": [(3, 1)], "lhs_dilation": (3,), "rhs_dilation": (2,)},
    ),
    "2d": (
        (2, 5, 6, 3),
        (3, 2, 3, 4),
        {"window_strides": (1, 2), "padding": "SAME", "dimension_numbers": NHWC},
    ),
    "mixed letters": (
        (5, 3, 2, 6),
        (4, 2, 3, 3),
        {
            "window_strides": (1, 2),
            "padding": [(1, 2), (0, 1)],
            "rhs_dilation": (2, 1),
            "dimension_numbers": ("HCNW", "OWHI", "WNHC"),
        },
    ),
    "depthwise": (
        (2, 5, 5, 3),
        (2, 2, 1, 6),
        {
            "window_strides": (1, 1),
            "padding": "SAME",
            "dimension_numbers": NHWC,
            "feature_group_count": 3,
        },
    ),
    "feature groups": (
        (2, 6, 7),
        (4, 3, 2),
        {"window_strides": (2,), "padding": [(1, 1)], "feature_group_count": 2},
    ),
    "batch groups": (
        (6, 3, 7),
        (4, 3, 2),
        {"window_strides": (2,), "padding": [(1, 1)], "batch_group_count": 2},
    ),
    "no spatial axes": ((3, 4), (5, 4), {"window_strides": (), "padding": "VALID"}),
}
every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def draw(shape, seed=0, dtype=np.float64):
    return np.random.default_rng([seed, *shape]).normal(size=shape).astype(dtype)


def both(arguments):
    return (
        lambda x, y: lax.conv_general_dilated(x, y, **arguments),
        lambda x, y: jax.lax.conv_general_dilated(x, y, **arguments),
    )


@pytest.fixture(autouse=True)
def _in_64_bits():
    with minijax.enable_x64(True):
        yield


@every_case
def test_values_and_derivatives(case):
    lhs, rhs, arguments = case
    ours, theirs = both(arguments)
    primals, tangents = (draw(lhs), draw(rhs)), (draw(lhs, 1), draw(rhs, 1))

    def everything(lib, f):
        def compute(primals, tangents):
            out, out_tangent = lib.jvp(f, primals, tangents)
            ct = out * 2 + 1
            pull = lib.vjp(f, *primals)[1]
            pulled = pull(ct)
            again = lib.jvp(lambda *xs: lib.vjp(f, *xs)[1](ct), primals, tangents)[1]
            return [out, out_tangent, *pulled, *again]

        return lib.jit(compute)(primals, tangents)

    assert_same(everything(minijax, ours), everything(jax, theirs), 1e-11)


@pytest.mark.parametrize("name", ["mixed letters", "feature groups", "batch groups"])
def test_batches(name):
    lhs, rhs, arguments = CASES[name]
    ours, theirs = both(arguments)
    x, y = draw(lhs), draw(rhs)
    xs, ys = np.stack([x, -x, 2 * x], -1), np.stack([y, 3 * y, -y], 1)

    def batched(lib, f):
        return [
            lib.vmap(f, (-1, None))(xs, y),
            lib.vmap(f, (None, 1))(x, ys),
            lib.vmap(f, (-1, 1))(xs, ys),
            lib.vmap(lib.vmap(f, (None, 1)), (-1, None))(xs, ys),
        ]

    found = minijax.jit(lambda: batched(minijax, ours))()
    assert_same(found, jax.jit(lambda: batched(jax, theirs))(), 1e-11)


def test_gradients_of_a_batch():
    lhs, rhs, arguments = CASES["feature groups"]
    ours, theirs = both(arguments)
    x, y = draw((3, *lhs)), draw((3, *rhs))

    def gradients(lib, np_, f):
        gradient = lib.grad(lambda x, y: np_.sum(f(x, y) ** 2), (0, 1))
        return lib.jit(lib.vmap(gradient))(x, y)

    assert_same(gradients(minijax, mnp, ours), gradients(jax, jnp, theirs), 1e-11)


@pytest.mark.parametrize("dtype", [np.float16, np.int32, np.complex64])
def test_dtypes(dtype):
    lhs, rhs, arguments = CASES["2d"]
    ours, theirs = both(arguments)
    x, y = draw(lhs) * 4, draw(rhs) * 4
    x, y = (x + 1j, y - 2j) if dtype == np.complex64 else (x, y)
    x, y = x.astype(dtype), y.astype(dtype)
    assert_same([ours(x, y)], [theirs(x, y)], 2e-2 if dtype == np.float16 else 1e-5)


def test_options():
    lhs, rhs, arguments = CASES["2d"]
    x, y = draw(lhs, dtype=np.float16), draw(rhs, dtype=np.float16)
    for options in (
        {"precision": "highest"},
        {"precision": ("high", "default")},
        {"preferred_element_type": np.float32},
    ):
        ours, _ = both(arguments | options)
        options = {k: v for k, v in options.items() if v != ("high", "default")}
        _, theirs = both(arguments | options)
        assert_same([ours(x, y)], [theirs(x, y)], 1e-2)
        found = minijax.grad(lambda x, y, f=ours: mnp.sum(f(x, y)))(x, y)
        assert found.dtype == np.float16
    program = minijax.make_jaxpr(
        minijax.grad(lambda x: mnp.sum(both(arguments | {"precision": "highest"})[0](x, y)))
    )(x)
    assert str(program).count("HIGHEST, HIGHEST") == 2


def test_kinds_of_convolution():
    x, y = draw((2, 3, 6, 7)), draw((4, 3, 2, 3))
    assert_same([lax.conv(x, y, (2, 1), "SAME")], [jax.lax.conv(x, y, (2, 1), "SAME")], 1e-12)
    arguments = (x, y, (1, 2), [(1, 2), (0, 1)], (2, 1), (1, 2))
    ours = lax.conv_with_general_padding(*arguments)
    assert_same([ours], [jax.lax.conv_with_general_padding(*arguments)], 1e-12)


@pytest.mark.parametrize(
    ("padding", "strides"), [("SAME", (2, 3)), ("VALID", (2, 3)), ([(1, 2), (0, 3)], (1, 1))]
)
def test_conv_transpose(padding, strides):
    x = draw((2, 4, 5, 3))
    for options in (
        {},
        {"rhs_dilation": (2, 1)},
        {"transpose_kernel": True},
        {"use_consistent_padding": True},
    ):
        y = draw((3, 2, 4, 3) if "transpose_kernel" in options else (3, 2, 3, 4))
        ours = lax.conv_transpose(x, y, strides, padding, **options)
        assert_same([ours], [jax.lax.conv_transpose(x, y, strides, padding, **options)], 1e-12)
    numbers = ("NCHW", "OIHW", "NCHW")
    x, y = draw((2, 3, 4, 5)), draw((4, 3, 3, 2))
    ours = lax.conv_transpose(x, y, strides, padding, dimension_numbers=numbers)
    theirs = jax.lax.conv_transpose(x, y, strides, padding, dimension_numbers=numbers)
    assert_same([ours], [theirs], 1e-12)


def test_patches_and_local_convolutions():
    for numbers, shape in [(None, (2, 3, 5, 6)), (NHWC, (2, 5, 6, 3))]:
        x = draw(shape)
        options = {"window_strides": (2, 1), "padding": "SAME", "dimension_numbers": numbers}
        ours = lax.conv_general_dilated_patches(x, (3, 2), rhs_dilation=(1, 2), **options)
        theirs = jax.lax.conv_general_dilated_patches(x, (3, 2), rhs_dilation=(1, 2), **options)
        assert_same([ours], [theirs], 1e-12)
        y = draw((4, 18, 3, 6) if numbers is None else (3, 6, 18, 4))
        ours = lax.conv_general_dilated_local(x, y, filter_shape=(3, 2), **options)
        theirs = jax.lax.conv_general_dilated_local(x, y, filter_shape=(3, 2), **options)
        assert_same([ours], [theirs], 1e-12)


def test_dimension_numbers():
    for given in (None, NHWC, ("NCHW", "OIHW", "NHWC"), ("CWNH", "WOIH", "HNCW")):
        shapes = (2, 3, 4, 5), (6, 7, 8, 9)
        ours = lax.conv_dimension_numbers(*shapes, given)
        theirs = jax.lax.conv_dimension_numbers(*shapes, given)
        assert all(tuple(x) == tuple(y) for x, y in zip(ours, theirs, strict=True))
        assert lax.conv_dimension_numbers(*shapes, ours) == ours


WRONG = [
    ({"window_strides": (1,)}, ValueError, "window_strides"),
    ({"padding": "FULL"}, ValueError, "padding"),
    ({"padding": [(1, 1)]}, ValueError, "padding"),
    ({"padding": 3}, TypeError, "padding"),
    ({"feature_group_count": 2}, ValueError, "feature"),
    ({"batch_group_count": 3}, ValueError, "groups"),
    ({"dimension_numbers": ("NHWC", "HWIO", "NHW")}, TypeError, "axes"),
    ({"dimension_numbers": "NHWC"}, TypeError, "dimension_numbers"),
    ({"lhs_dilation": (2, 2)}, ValueError, "lhs_dilation"),
]


@pytest.mark.parametrize(("wrong", "error", "match"), WRONG, ids=str)
def test_wrong_arguments(wrong, error, match):
    lhs, rhs, arguments = CASES["2d"]
    ours, theirs = both(arguments | wrong)
    with pytest.raises(error, match=match):
        ours(draw(lhs), draw(rhs))
    with pytest.raises((ValueError, TypeError, AssertionError, KeyError, RuntimeError)):
        theirs(draw(lhs), draw(rhs))


@pytest.mark.parametrize("name", ["convolve", "correlate"])
def test_convolve_and_correlate(name):
    ours, theirs = getattr(mnp, name), getattr(jnp, name)
    for (m, n), mode in zip([(5, 3), (3, 5), (4, 4)], ["full", "same", "valid"], strict=True):
        x, y = draw((m,)), draw((n,))
        assert_same([ours(x, y, mode=mode)], [theirs(x, y, mode=mode)], 1e-12)
    x, y = draw((6,)), draw((3,))
    assert_same([ours(x, y)], [theirs(x, y)], 1e-12)
    z = x + 1j
    assert_same([ours(z, y * 2j)], [theirs(z, y * 2j)], 1e-12)
    whole = np.arange(4)
    assert_same([ours(whole, whole)], [theirs(whole, whole)], 1e-12)
    found = minijax.jit(minijax.jacrev(ours, (0, 1)))(x, y)
    assert_same(found, jax.jit(jax.jacrev(theirs, (0, 1)))(x, y), 1e-12)
