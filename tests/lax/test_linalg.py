"""The choice among algorithms of decompositions, and the polar decomposition by iteration."""

from functools import partial
from importlib import import_module

import jax
import numpy as np
import pytest

import minijax

RNG = np.random.default_rng(0)
TALL = RNG.normal(size=(5, 3)).astype(np.float32)
CHOICES = [
    ("svd", "algorithm", "SvdAlgorithm", name)
    for name in ("DEFAULT", "QR", "DIVIDE_AND_CONQUER", "JACOBI", "POLAR")
]
CHOICES += [("eigh", "implementation", "EighImplementation", n) for n in ("QR", "JACOBI", "QDWH")]
CHOICES += [
    ("eig", "implementation", "EigImplementation", n) for n in ("LAPACK", "CUSOLVER", "MAGMA")
]


def test_algorithms():
    wrong = []
    for function, argument, enum, name in CHOICES:
        ours, theirs = (by(lib, function, argument, enum, name) for lib in ("minijax", "jax"))
        if isinstance(ours, type) or isinstance(theirs, type):
            agree = ours is theirs
        else:
            agree = all(np.allclose(a, b, atol=1e-5) for a, b in zip(ours, theirs, strict=True))
        if not agree:
            wrong.append(f"{function} by {name}: {ours}, JAX {theirs}")
    assert not wrong, "\n".join(wrong)


def by(library, function, argument, enum, name):
    """What a decomposition by the named algorithm gives, or the class of the error."""
    linalg = import_module(f"{library}.lax.linalg")
    x = TALL if function == "svd" else TALL.T @ TALL
    try:
        out = getattr(linalg, function)(x, **{argument: getattr(linalg, enum)[name]})
    except (NotImplementedError, ValueError) as error:
        return type(error)
    return [np.abs(leaf) for leaf in out]  # vectors have no sign of their own


def test_the_derivative_by_another_algorithm():
    def grad(library):
        lib, linalg = import_module(library), import_module(f"{library}.lax.linalg")
        values = lambda x: linalg.svd(x, compute_uv=False, algorithm=linalg.SvdAlgorithm.QR)  # noqa: E731
        return lib.grad(lambda x: values(x).sum())(TALL)

    np.testing.assert_allclose(grad("minijax"), grad("jax"), atol=1e-5)


def test_an_algorithm_of_another_type():
    with pytest.raises(TypeError, match="must be a SvdAlgorithm"):
        minijax.lax.linalg.svd(TALL, algorithm="QR")


POLAR = [
    ((4, 3), "float32", {}),
    ((4, 3), "float32", {"max_iterations": 3, "dynamic_shape": (3, 1)}),
    ((4, 3), "complex64", {"max_iterations": 3}),
    ((4, 3), "complex64", {"dynamic_shape": (3, 1)}),
    ((1, 1), "float32", {}),
    ((1, 1), "complex64", {"max_iterations": 3}),
]


def test_polar_by_iteration():
    def everything(lib, matrices):
        return [
            lib.lax.linalg.qdwh(x, **how) for x, (_, _, how) in zip(matrices, POLAR, strict=True)
        ]

    matrices = []
    for shape, dtype, _ in POLAR:
        x = RNG.normal(size=shape).astype(dtype)
        if dtype == "complex64":
            x = x + 1j * RNG.normal(size=shape).astype("float32")
        matrices.append(x)
    ours, theirs = (lib.jit(partial(everything, lib))(matrices) for lib in (minijax, jax))
    for case, mine, jaxs in zip(POLAR, ours, theirs, strict=True):
        for a, b in zip(mine, jaxs, strict=True):
            assert a.dtype == b.dtype, case
            np.testing.assert_allclose(a, b, rtol=1e-3, atol=2e-4, err_msg=str(case))


def test_polar_of_a_wide_matrix():
    for lib in (minijax, jax):
        with pytest.raises(ValueError, match=r"M >= N|as many rows as columns"):
            lib.lax.linalg.qdwh(TALL.T)
