"""Convolutions: values, derivatives in both modes, batches and errors, beside JAX."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from lax_operands import refusing, with_lax
from libraries import assert_all_same_results, assert_same
from tables import for_each

import glassjax
import glassjax.numpy
import glassjax.numpy as gnp
from glassjax import lax
from glassjax.extend.core import nested_calls

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


@every_case
def test_values_and_derivatives(case):
    lhs, rhs, arguments = case
    ours, theirs = both(arguments)
    primals, tangents = (draw(lhs), draw(rhs)), (draw(lhs, 1), draw(rhs, 1))
    ct = draw(jax.eval_shape(theirs, *primals).shape)

    def first(lib, f, primals, ct):
        out, pull = lib.vjp(f, *primals)
        return [out, *pull(ct)]

    @glassjax.jit
    def everything(primals, tangents, ct):
        moved = glassjax.jvp(ours, primals, tangents)[1]
        again = glassjax.jvp(lambda *xs: glassjax.vjp(ours, *xs)[1](ct), primals, tangents)[1]
        # It is linear in each operand, so that these are all that there is in the others.
        x, y = zip(primals, tangents, strict=True)
        parts = ours(x[1], y[0]) + ours(x[0], y[1])
        pulled = glassjax.vjp(ours, *tangents)[1](ct)
        return first(glassjax, ours, primals, ct), [moved, *again], [parts, *pulled]

    found, higher, exact = everything(primals, tangents, ct)
    of_jax = jax.jit(lambda primals, ct: first(jax, theirs, primals, ct))(primals, ct)
    assert_same(found, of_jax, 1e-11)
    assert_same(higher, exact, 1e-11)


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

    found = glassjax.jit(lambda: batched(glassjax, ours))()
    assert_same(found, jax.jit(lambda: batched(jax, theirs))(), 1e-11)


def test_gradients_of_a_batch():
    lhs, rhs, arguments = CASES["feature groups"]
    ours, theirs = both(arguments)
    x, y = draw((3, *lhs)), draw((3, *rhs))

    def gradients(lib, np_, f):
        gradient = lib.grad(lambda x, y: np_.sum(f(x, y) ** 2), (0, 1))
        return lib.jit(lib.vmap(gradient))(x, y)

    assert_same(gradients(glassjax, gnp, ours), gradients(jax, jnp, theirs), 1e-11)


def test_dtypes():
    lhs, rhs, arguments = CASES["2d"]

    def convolved(_, lib, dtype):
        x, y = draw(lhs) * 4, draw(rhs) * 4
        x, y = (x + 1j, y - 2j) if dtype == np.complex64 else (x, y)
        return lib.lax.conv_general_dilated(x.astype(dtype), y.astype(dtype), **arguments)

    for dtypes, tolerance in (([np.float16], 2e-2), ([np.int32, np.complex64], 1e-5)):
        programs = {dtype.__name__: partial(convolved, dtype=dtype) for dtype in dtypes}
        assert_all_same_results(programs, tolerance, 60 * tolerance)


def test_options():
    lhs, rhs, arguments = CASES["2d"]
    x, y = draw(lhs, dtype=np.float16), draw(rhs, dtype=np.float16)
    choices = (
        {"precision": "highest"},
        {"precision": ("high", "default")},
        {"preferred_element_type": np.float32},
    )

    @glassjax.jit
    def of_ours(x, y):
        functions = [both(arguments | options)[0] for options in choices]
        slopes = [glassjax.grad(lambda x, y, f=f: gnp.sum(f(x, y)))(x, y) for f in functions]
        return [f(x, y) for f in functions], slopes

    @jax.jit
    def of_jax(x, y):
        without = [{k: v for k, v in o.items() if v != ("high", "default")} for o in choices]
        return [both(arguments | options)[1](x, y) for options in without]

    found, slopes = of_ours(x, y)
    assert_same(found, of_jax(x, y), 1e-2)
    assert all(slope.dtype == np.float16 for slope in slopes)
    program = glassjax.make_jaxpr(
        glassjax.grad(lambda x: gnp.sum(both(arguments | {"precision": "highest"})[0](x, y)))
    )(x)
    assert str(program).count("HIGHEST, HIGHEST") == 2


def test_kinds_of_convolution():
    x, y = draw((2, 3, 6, 7)), draw((4, 3, 2, 3))
    arguments = (x, y, (1, 2), [(1, 2), (0, 1)], (2, 1), (1, 2))
    programs = {
        "conv": lambda _, lib: lib.lax.conv(x, y, (2, 1), "SAME"),
        "padding": lambda _, lib: lib.lax.conv_with_general_padding(*arguments),
    }
    assert_all_same_results(programs, 1e-12, 1e-11)


def test_conv_transpose():
    def transposed(_, lib, padding, strides, options):
        x = draw((2, 4, 5, 3))
        y = draw((3, 2, 4, 3) if "transpose_kernel" in options else (3, 2, 3, 4))
        if "dimension_numbers" in options:
            x, y = draw((2, 3, 4, 5)), draw((4, 3, 3, 2))
        return lib.lax.conv_transpose(x, y, strides, padding, **options)

    programs = {
        f"{padding} {options}": partial(
            transposed, padding=padding, strides=strides, options=options
        )
        for padding, strides in (
            ("SAME", (2, 3)), ("VALID", (2, 3)), ([(1, 2), (0, 3)], (1, 1)),
        )
        for options in (
            {},
            {"rhs_dilation": (2, 1)},
            {"transpose_kernel": True},
            {"use_consistent_padding": True},
            {"dimension_numbers": ("NCHW", "OIHW", "NCHW")},
        )
    }  # fmt: skip
    assert_all_same_results(programs, 1e-12, 1e-11)


def test_patches_and_local_convolutions():
    def patches(_, lib, numbers, shape):
        options = {"window_strides": (2, 1), "padding": "SAME", "dimension_numbers": numbers}
        dilation = {"rhs_dilation": (1, 2)}
        return lib.lax.conv_general_dilated_patches(draw(shape), (3, 2), **dilation, **options)

    def local(_, lib, numbers, shape):
        options = {"window_strides": (2, 1), "padding": "SAME", "dimension_numbers": numbers}
        y = draw((4, 18, 3, 6) if numbers is None else (3, 6, 18, 4))
        return lib.lax.conv_general_dilated_local(draw(shape), y, filter_shape=(3, 2), **options)

    programs = {
        f"{kind.__name__} {numbers}": partial(kind, numbers=numbers, shape=shape)
        for numbers, shape in [(None, (2, 3, 5, 6)), (NHWC, (2, 5, 6, 3))]
        for kind in (patches, local)
    }
    assert_all_same_results(programs, 1e-12, 1e-11)


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


@for_each(("wrong", "error", "match"), WRONG)
def test_wrong_arguments(wrong, error, match):
    lhs, rhs, arguments = CASES["2d"]
    ours, theirs = both(arguments | wrong)
    with pytest.raises(error, match=match):
        ours(draw(lhs), draw(rhs))
    with pytest.raises((ValueError, TypeError, AssertionError, KeyError, RuntimeError)):
        theirs(draw(lhs), draw(rhs))


PLAIN = [
    lambda lax: lax.padtype_to_pads((5, 6), (2, 3), (2, 1), "SAME"),
    lambda lax: lax.padtype_to_pads((5, 6), (2, 3), (2, 1), "SAME_LOWER"),
    lambda lax: lax.padtype_to_pads([5, 6], [2, 3], [3, 4], "valid"),
    lambda lax: lax.padtype_to_pads((5,), (9,), (4,), "SAME"),
    lambda lax: lax.padtype_to_pads((0,), (2,), (1,), "SAME"),
    lambda lax: lax.conv_general_permutations(("NHWC", "HWIO", "NHWC")),
    lambda lax: lax.conv_general_permutations(("NCHW", "OIHW", "NHCW")),
    lambda lax: tuple(lax.conv_dimension_numbers((1, 2, 3), (4, 2, 1), None)),
    lambda lax: tuple(lax.conv_dimension_numbers((1,) * 4, (1,) * 4, ("NHWC", "HWIO", "NHWC"))),
    lambda lax: tuple(lax.conv_dimension_numbers((1,) * 3, (1,) * 3, ("NCH", "OIH", "NHC"))),
]


NOT_PLAIN = [
    lambda lax: lax.padtype_to_pads((5,), (2,), (1,), "HALF"),
    lambda lax: lax.conv_general_permutations(("NCHH", "OIHH", "NCHH")),
    lambda lax: lax.conv_general_permutations(("NCHW", "OIHD", "NCHW")),
    lambda lax: lax.conv_general_permutations(("NCHW", "OIHW", "CHW")),
    lambda lax: lax.conv_dimension_numbers((1,) * 3, (1,) * 3, (None, "OIW", None)),
    lambda lax: lax.conv_dimension_numbers((1,) * 3, (1,) * 4, None),
    lambda lax: lax.conv_dimension_numbers((1,) * 3, (1,) * 3, ("NCHW", "OIHW", "NCHW")),
    lambda lax: lax.conv_dimension_numbers((1,) * 3, (1,) * 3, ("NCH", "OIH")),
    lambda lax: lax.conv_dimension_numbers((1,) * 3, (1,) * 3, 7),
    lambda lax: lax.conv_dimension_numbers((1,) * 3, (1,) * 3, ("NCH", "OIW", "NCH")),
]


@pytest.mark.bits(32)
def test_plain_dimension_numbers():
    assert_all_same_results([*with_lax(PLAIN), *refusing(NOT_PLAIN)])


def test_the_shape_of_a_transposed_convolution():
    """JAX's function of that name counts one element too many in each direction."""
    x, kernel = np.ones((1, 8, 3), np.float32), np.ones((3, 3, 5), np.float32)
    for padding in ("SAME", "VALID"):
        numbers = ("NHC", "HIO", "NHC")
        shape = glassjax.lax.conv_transpose_shape_tuple(
            x.shape, kernel.shape, (2,), padding, numbers
        )
        result = jax.lax.conv_transpose(x, kernel, (2,), padding, dimension_numbers=numbers)
        assert shape == result.shape


def test_a_mapped_convolution_in_jaxs_form_is_transformed_as_ours():
    """There, one `reshape` also permutes the axes."""
    lhs = np.random.default_rng(0).normal(size=(2, 3, 1, 2, 5, 5)).astype("float32")

    def of_rows(lhs):
        rhs = lhs[:, :, :, :, :2, :2]
        mapped = glassjax.vmap(glassjax.vmap(lambda x, y: glassjax.lax.conv(x, y, (1, 1), "SAME")))
        return (mapped(lhs, rhs) ** 2).sum()

    function = glassjax.vmap(glassjax.grad(lambda x: of_rows(x * lhs)))
    xs = np.arange(1.0, 3.0, dtype="float32")
    with nested_calls():
        program = glassjax.make_jaxpr(function)(xs)
    assert "dimensions=(" in str(program)
    (found,) = glassjax.core.eval_jaxpr(program.jaxpr, program.consts, xs)
    np.testing.assert_allclose(found, function(xs), rtol=1e-5)
