"""Infinities, NaN, and elements that are left out: values and slopes there are JAX's."""

import itertools
import math

import numpy as np
import pytest
from libraries import assert_all_same_results

pytestmark = pytest.mark.bits(32)

PARTS = (0.0, -0.0, 1.0, math.inf, -math.inf, math.nan)
COMPLEX = np.array([complex(a, b) for a, b in itertools.product(PARTS, PARTS)], np.complex64)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_logarithms_and_sizes_of_complex_numbers(dtype):
    functions = ["log2", "log10", "abs", "log", "log1p", "sqrt", "square"]
    z = COMPLEX.astype(dtype)
    assert_all_same_results([lambda n, lib, f=f: getattr(n, f)(z) for f in functions])


def test_waves_on_the_axes():
    """In the quadrants XLA's own values stay, which are NaN where the limit has no direction."""
    imaginary = np.array([complex(0, b) for b in PARTS], np.complex64)
    assert_all_same_results([lambda n, lib: n.sin(imaginary), lambda n, lib: n.cos(imaginary)])
    real = np.array([complex(a, b) for a in (math.inf, -math.inf) for b in (0, 1)], np.complex64)
    assert_all_same_results([lambda n, lib: n.sinc(real)])


LEFT_OUT = [math.inf, -math.inf, math.nan]


@pytest.mark.parametrize("other", LEFT_OUT)
def test_what_is_left_out_has_no_slope(other):
    x = np.array([1.0, 2.0, other], np.float32)
    mask = np.array([True, True, False])
    programs = [
        lambda n, lib: lib.value_and_grad(lambda x: lib.nn.logsumexp(x, where=mask))(x),
        lambda n, lib: lib.value_and_grad(lambda x: lib.nn.softmax(x, where=mask)[0])(x),
        lambda n, lib: lib.value_and_grad(lambda x: n.sum(x, where=mask))(x),
        lambda n, lib: lib.value_and_grad(lambda x: n.mean(x, where=mask))(x),
        lambda n, lib: lib.value_and_grad(lambda x: n.max(x, where=mask, initial=0))(x),
    ]
    assert_all_same_results(programs)


def test_entropies_of_nan_are_nan():
    special = [
        lambda n, lib, f=f, p=p, q=q: getattr(lib.scipy.special, f)(p, q)
        for f in ("rel_entr", "kl_div")
        for p, q in itertools.product((math.nan, 0.0, 1.0, -1.0, 114.0), repeat=2)
    ]
    assert_all_same_results(special)
    rates = np.array([-1.0, 0.0, math.nan, 3.0], np.float32)
    assert_all_same_results([lambda n, lib: lib.scipy.stats.poisson.entropy(rates)], rtol=1e-5)


def test_the_condition_of_singular_matrices_is_infinite():
    zeros, holes = np.zeros((2, 2), np.float32), np.full((2, 2), np.nan, np.float32)
    orders = [None, 1, np.inf, "fro"]
    assert_all_same_results(
        [lambda n, lib, x=x, p=p: n.linalg.cond(x, p) for x in (zeros, holes) for p in orders]
    )


@pytest.mark.parametrize("impl", ["threefry2x32", "rbg"])
def test_keys_out_of_bounds_have_the_fill_value_in_each_word(impl):
    def filled(lib, **value):
        keys = lib.random.split(lib.random.key(0, impl=impl), 3)
        return lib.random.key_data(keys.at[np.array([5, 1])].get(mode="fill", **value))

    assert_all_same_results(
        [
            lambda n, lib: filled(lib),
            lambda n, lib: filled(lib, fill_value=7),
            lambda n, lib: filled(lib, fill_value=np.uint32(2**32 - 2)),
        ]
    )
