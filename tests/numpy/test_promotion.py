"""Dtype promotion: the whole table, in 32 and 64 bits, beside JAX."""

import itertools

import jax
import jax.numpy as jax_numpy
import jax.scipy.fft
import jax.scipy.special
import jax.scipy.stats
import ml_dtypes
import numpy as np
import pytest

import glassjax
import glassjax.numpy as jnp

NARROW = ["int4", "uint4", "float8_e4m3fn", "float8_e5m2", "bfloat16"]


NAMES = [
    *["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"],
    *["float16", "float32", "float64", "complex64", "complex128"],
]


VALUES = {
    **{name: np.ones((), name) for name in NAMES},
    **{name: np.ones((), getattr(ml_dtypes, name)) for name in NARROW},
    "True": True,
    "1": 1,
    "1.0": 1.0,
    "1j": 1j,
}


PAIRS = list(itertools.product(VALUES, repeat=2))


ON_THE_DEVICE = [name for name in VALUES if name not in ("int4", "uint4")]


both_widths = pytest.mark.parametrize("x64", [False, True], ids=["32 bits", "64 bits"])


def outcomes(library, function, cases):
    """For each case: the dtype and weakness of a result, or the class of the error."""
    found = []

    def trace(values):
        for case in cases:
            try:
                out = function(*(values[name] for name in case))
                found.append((np.dtype(out.dtype), out.weak_type))
            except Exception as error:
                found.append(type(error).__name__)

    library.eval_shape(trace, {name: VALUES[name] for name in ON_THE_DEVICE})
    return found


def assert_same_outcomes(name, cases):
    found = outcomes(glassjax, getattr(jnp, name), cases)
    expected = outcomes(jax, getattr(jax_numpy, name), cases)
    if name == "equal":  # booleans, which have no width to be weak about
        found, expected = ([out[:1] for out in outs] for outs in (found, expected))
    assert dict(zip(cases, found, strict=True)) == dict(zip(cases, expected, strict=True))


@both_widths
def test_result_type(x64):
    with jax.enable_x64(x64), glassjax.enable_x64(x64):
        for pair in PAIRS:
            x, y = (VALUES[name] for name in pair)
            try:
                expected = jax.dtypes.result_type(x, y, return_weak_type_flag=True)
            except jax.dtypes.TypePromotionError:
                with pytest.raises(glassjax.dtypes.TypePromotionError):
                    glassjax.dtypes.result_type(x, y)
                continue
            found = glassjax.dtypes.result_type(x, y, return_weak_type_flag=True)
            assert found == expected, pair


@both_widths
@pytest.mark.parametrize("name", ["add", "multiply", "divide", "maximum", "equal", "arctan2"])
def test_functions_of_two(name, x64):
    with jax.enable_x64(x64), glassjax.enable_x64(x64):
        assert_same_outcomes(name, list(itertools.product(ON_THE_DEVICE, repeat=2)))


@both_widths
def test_functions_of_one(x64):
    with jax.enable_x64(x64), glassjax.enable_x64(x64):
        for name in ["sin", "exp", "sqrt", "abs", "negative", "square", "mean", "sum"]:
            assert_same_outcomes(name, [(value,) for value in ON_THE_DEVICE])


@both_widths
def test_strict_promotion(x64):
    with (
        jax.enable_x64(x64),
        glassjax.enable_x64(x64),
        jax.numpy_dtype_promotion("strict"),
        glassjax.numpy_dtype_promotion("strict"),
    ):
        assert_same_outcomes("add", list(itertools.product(ON_THE_DEVICE, repeat=2)))


def test_strict_promotion_is_asked_for_call_by_call():
    x, y = jnp.arange(3), jnp.ones(3)
    assert (x + y).dtype == np.promote_types(y.dtype, np.float32)
    with glassjax.numpy_dtype_promotion("strict"), pytest.raises(ValueError, match="'strict'"):
        _ = x + y


def test_rank_promotion():
    x, y = jnp.ones(2), jnp.ones((2, 2))
    assert (x + y).shape == (2, 2)
    with glassjax.numpy_rank_promotion("raise"):
        with pytest.raises(ValueError, match=r"\(2,\) and \(2, 2\) have different numbers of axes"):
            _ = x + y
        assert (x + 1).shape == (2,)
    with glassjax.numpy_rank_promotion("warn"), pytest.warns(UserWarning, match="in front"):
        _ = x + y


KINDS = "generic number integer signedinteger unsignedinteger inexact floating complexfloating"


def test_issubdtype():
    for kind, name in itertools.product(KINDS.split(), [*NAMES, *NARROW]):
        theirs, ours = getattr(jax_numpy, kind), getattr(jnp, kind)
        expected = jax_numpy.issubdtype(getattr(jax_numpy, name), theirs)
        assert jnp.issubdtype(getattr(jnp, name), ours) == expected, (kind, name)
        assert jnp.issubdtype(np.dtype(getattr(jnp, name)), ours) == expected, (kind, name)


def test_isdtype():
    kinds = "bool,signed integer,unsigned integer,integral,real floating,complex floating,numeric"
    for name, kind in itertools.product([*NAMES, *NARROW], kinds.split(",")):
        expected = jax_numpy.isdtype(getattr(jax_numpy, name), kind)
        assert jnp.isdtype(getattr(jnp, name), kind) == expected
        assert jnp.isdtype(getattr(jnp, name), (kind, "bool")) == (expected or name == "bool")
    with pytest.raises(ValueError, match="found 'floaty'"):
        jnp.isdtype("int8", "floaty")


def test_limits():
    for name in ("float16", "float32", "float64", "bfloat16", "float8_e4m3fn"):
        ours, theirs = jnp.finfo(getattr(jnp, name)), jax_numpy.finfo(getattr(jax_numpy, name))
        assert (ours.eps, ours.max, ours.tiny) == (theirs.eps, theirs.max, theirs.tiny)
    for name in ("int4", "int8", "uint32"):
        ours, theirs = jnp.iinfo(getattr(jnp, name)), jax_numpy.iinfo(getattr(jax_numpy, name))
        assert (ours.min, ours.max, ours.bits) == (theirs.min, theirs.max, theirs.bits)


@pytest.mark.newest_jax
def test_operands_of_one_dtype_keep_it_where_it_is_not_in_use():
    for dtype in (float, complex, int):
        with glassjax.enable_x64(True), jax.enable_x64(True):
            operands = [lib.numpy.ones((2, 2), dtype) for lib in (glassjax, jax)]
        with glassjax.enable_x64(False), jax.enable_x64(False):
            for program in (
                lambda lib, x: x * x,
                lambda lib, x: lib.jit(lambda x: x + x)(x),
                lambda lib, x: lib.vmap(lambda x: x - x)(x),
                lambda lib, x: lib.numpy.concatenate([x, x]),
                lambda lib, x: lib.lax.scan(lambda c, z: (c + z, c), x[0], x),
            ):
                ours, theirs = (
                    program(*each) for each in zip((glassjax, jax), operands, strict=True)
                )
                for x, y in zip(glassjax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
                    assert x.dtype == y.dtype
