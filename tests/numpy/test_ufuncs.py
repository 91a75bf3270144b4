"""Methods of ufuncs, beside JAX."""

import itertools

import jax.numpy as jnp
import numpy as np
import pytest
from libraries import assert_all_same_results, refused

import glassjax
import glassjax.numpy as gnp

x = np.array([[3, 0, 5, 6], [1, 2, -4, 0]], np.int8)


f = np.array([[0.5, -1.0, 2.0], [3.0, 0.0, -2.5]], np.float32)


b = np.array([[True, False, True], [True, True, True]])


z = f + 1j * f[::-1]


UFUNCS = [name for name in dir(jnp) if isinstance(getattr(jnp, name), jnp.ufunc)]


OF_TWO = [name for name in UFUNCS if name != "negative"]


OF_BITS = [name for name in OF_TWO if "bitwise" in name]


WITHOUT_IDENTITY = ["maximum", "minimum", "subtract"]


WITH_IDENTITY = [name for name in OF_TWO if name not in WITHOUT_IDENTITY]


OF_FLOATS = [name for name in OF_TWO if name not in OF_BITS]


def of_name(programs, names):
    """Each of the programs, which take a ufunc besides, for each name."""

    def of_one(program, name):
        named = lambda n, lib: program(n, lib, getattr(n, name))  # noqa: E731
        return refused(named) if hasattr(program, "is_refused") else named

    return [of_one(program, name) for name in names for program in programs]


def horner(n):
    return n.frompyfunc(lambda x, y: 2 * x + y, 2, 1)


# Programs of `n`, which is either library's numpy, and of `lib`, which is the library itself.
FAMILIES = {
    "attributes": [
        *of_name([lambda n, lib, u: (u.nin, u.nout, u.nargs)], UFUNCS),
        *of_name([lambda n, lib, u: str(u.identity) + repr(u) + u.__name__ == ""], UFUNCS),
        *of_name([lambda n, lib, u: isinstance(u, n.ufunc)], UFUNCS),
        lambda n, lib: isinstance(n.divide, n.ufunc),
        lambda n, lib: horner(n).identity is None,
    ],
    "reduce": [
        *of_name(
            [
                lambda n, lib, u: u.reduce(x),
                lambda n, lib, u: u.reduce(x, axis=None),
                refused(lambda n, lib, u: u.reduce(x, where=x)),
                refused(lambda n, lib, u: u.reduce(x, out=3)),
                refused(lambda n, lib, u: u.reduce(x, 2)),
            ],
            OF_TWO,
        ),
        *of_name(
            [
                lambda n, lib, u: u.reduce(x, where=x > 0),
                lambda n, lib, u: u.reduce(x[:0]),
            ],
            WITH_IDENTITY,
        ),
        *of_name(
            [
                refused(lambda n, lib, u: u.reduce(x, where=x > 0)),
                refused(lambda n, lib, u: u.reduce(x[:0])),
            ],
            WITHOUT_IDENTITY,
        ),
        *of_name(
            [lambda n, lib, u: u.reduce(x > 0)], [name for name in OF_TWO if name != "subtract"]
        ),
        refused(lambda n, lib: n.subtract.reduce(x > 0)),
        *of_name(
            [
                lambda n, lib, u: u.reduce(x, -1, initial=3),
                lambda n, lib, u: u.reduce(x, 1, where=x[1:] > 0, initial=1),
            ],
            OF_BITS + [name for name in OF_FLOATS if "exp" not in name],
        ),
        *of_name([lambda n, lib, u: u.reduce(f, 1)], OF_FLOATS),
        *of_name([refused(lambda n, lib, u: u.reduce(f))], OF_BITS),
        *of_name(
            [
                lambda n, lib, u: u.reduce(f, keepdims=True),
                lambda n, lib, u: u.reduce(z, keepdims=True),
            ],
            ["add", "maximum", "subtract"],
        ),
        *of_name([lambda n, lib, u: u.reduce(x, 1, np.int32)], ["add", "bitwise_or", "subtract"]),
        lambda n, lib: n.logaddexp.reduce(f, initial=np.float32(1)),
        refused(lambda n, lib: n.negative.reduce(x)),
    ],
    "accumulate": [
        *of_name(
            [
                lambda n, lib, u: u.accumulate(x),
                lambda n, lib, u: u.accumulate(x, -1),
                lambda n, lib, u: u.accumulate(b, axis=1, dtype=np.int32),
                lambda n, lib, u: u.accumulate(x[:0]),
                refused(lambda n, lib, u: u.accumulate(x, out=3)),
            ],
            ["add", "subtract", "logical_xor", "bitwise_or", "maximum"],
        ),
        lambda n, lib: n.logaddexp.accumulate(f, 1),
        lambda n, lib: n.multiply.accumulate(f),
        refused(lambda n, lib: n.subtract.accumulate(x, (0, 1))),
        refused(lambda n, lib: n.negative.accumulate(f)),
    ],
    "at": [
        *of_name(
            [
                lambda n, lib, u: u.at(x, (0, np.array([1, 1, -1, 9])), 3, inplace=False),
                lambda n, lib, u: u.at(x[0], np.array([1, 0, 1, 1]), x[1], inplace=False),
                refused(lambda n, lib, u: u.at(x[0], 1, 2)),
                lambda n, lib, u: u.at(x[0], 1, 2, inplace=False),
            ],
            ["add", "subtract", "multiply", "maximum", "bitwise_xor"],
        ),
        *of_name(
            [lambda n, lib, u: u.at(b, (1, np.array([0, 0])), True, inplace=False)],
            ["add", "multiply", "maximum", "bitwise_xor"],
        ),
        refused(lambda n, lib: n.subtract.at(b, (1, np.array([0, 0])), True, inplace=False)),
        lambda n, lib: n.negative.at(f, (1, np.array([0, 0, 2])), inplace=False),
        lambda n, lib: n.negative.at(f, 1, inplace=False),
        lambda n, lib: n.maximum.at(f, (0, np.array([1, 2])), 0.5, inplace=False),
        lambda n, lib: horner(n).at(x[0], np.array([0, 0, 2]), x[1, :3], inplace=False),
        lambda n, lib: lib.jit(lambda x, i: n.logical_or.at(x, i, 1, inplace=False))(x[0], x[1]),
    ],
    "reduceat and outer": [
        *of_name(
            [
                lambda n, lib, u: u.reduceat(x, np.array([0, 2, 1]), 1),
                lambda n, lib, u: u.reduceat(x[1], np.array([1, 3])),
                refused(lambda n, lib, u: u.reduceat(x, x)),
                refused(lambda n, lib, u: u.reduceat(x, np.array([0]), axis=None)),
                lambda n, lib, u: u.outer(x, x[0]),
                lambda n, lib, u: u.outer(x[0], 2),
            ],
            ["add", "subtract", "logical_and", "minimum"],
        ),
        refused(lambda n, lib: n.negative.outer(x, x)),
        refused(lambda n, lib: n.negative.reduceat(x, x[0])),
    ],
    "frompyfunc": [
        lambda n, lib: horner(n)(x, 3.0),
        lambda n, lib: horner(n)(f[0], f[:, :1]),
        lambda n, lib: horner(n).reduce(x),
        lambda n, lib: horner(n).reduce(x, None, where=x > 0, initial=1),
        refused(lambda n, lib: horner(n).reduce(x, (0, 1))),
        refused(lambda n, lib: horner(n).reduce(x[:0])),
        lambda n, lib: horner(n).accumulate(f, 1),
        lambda n, lib: horner(n).outer(f, x[0]),
        lambda n, lib: horner(n).reduceat(f[0], np.array([0, 1])),
        lambda n, lib: n.frompyfunc(lambda x: (x, -x), 1, 2)(f),
        refused(lambda n, lib: n.frompyfunc(lambda x: (x, -x), 1, 2).reduce(f)),
        lambda n, lib: n.ufunc(lambda x, y: x * y, 2, 1, identity=1).reduce(x[:0]),
        lambda n, lib: n.ufunc(n.multiply, nin=2, nout=1, name="times")(f, x[0, 0]),
    ],
    "transformed": [
        lambda n, lib: lib.jit(n.subtract.reduce)(f),
        lambda n, lib: lib.grad(lambda f: n.subtract.accumulate(f, 1).sum())(f),
        lambda n, lib: lib.grad(lambda f: n.logaddexp.reduce(f, None))(f),
        lambda n, lib: lib.jacfwd(lambda f: horner(n).reduce(f, 1))(f),
        lambda n, lib: lib.vmap(n.maximum.accumulate)(f),
        lambda n, lib: lib.vmap(lambda f, i: n.add.at(f, i, 1.0, inplace=False))(f, x[:, :2]),
        lambda n, lib: lib.grad(lambda f: n.add(f, f).sum() + n.negative(f).sum())(f),
    ],
}


@pytest.mark.bits(32)
@pytest.mark.parametrize("family", FAMILIES)
def test_methods_give_what_jaxs_give(family):
    assert_all_same_results(FAMILIES[family])


def test_elements_at_any_index_change_as_numpys_do():
    """JAX refuses some of these indices."""
    indices = [np.index_exp[:, 1:3], (0, np.array([1, 1, 2])), x > 0, (..., 0)]
    names = ["add", "multiply", "maximum", "subtract", "bitwise_or"]
    cases = list(itertools.product(names, indices))
    found = glassjax.jit(
        lambda: [getattr(gnp, name).at(x, i, np.int8(3), inplace=False) for name, i in cases]
    )()
    for out, (name, index) in zip(found, cases, strict=True):
        expected = x.copy()
        getattr(np, name).at(expected, index, np.int8(3))
        np.testing.assert_array_equal(out, expected, err_msg=f"{name} {index}")


@pytest.mark.parametrize("name", ["logaddexp", "logaddexp2"])
def test_logarithms_of_sums_keep_axes_and_have_a_dtype(name):
    """JAX overlooks `dtype`, and cannot keep all axes."""
    expected = getattr(np, name).reduce(f, axis=None, keepdims=True)
    found = getattr(gnp, name).reduce(f, axis=None, keepdims=True)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert getattr(gnp, name).reduce(f, dtype=np.float16).dtype == np.float16


@pytest.mark.newest_jax
def test_ufuncs_of_one_function_are_equal():
    made = [gnp.frompyfunc(np.hypot, 2, 1, identity=identity) for identity in (0, 0, None)]
    assert made[0] == made[1] != made[2]
    assert hash(made[0]) == hash(made[1])
