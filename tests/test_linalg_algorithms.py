"""The choice among algorithms of decompositions, and the polar decomposition by iteration."""

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


@pytest.mark.parametrize(("function", "argument", "enum", "name"), CHOICES)
def test_algorithms(function, argument, enum, name):
    def run(library):
        linalg = import_module(f"{library}.lax.linalg")
        x = TALL if function == "svd" else TALL.T @ TALL
        try:
            out = getattr(linalg, function)(x, **{argument: getattr(linalg, enum)[name]})
        except (NotImplementedError, ValueError) as error:
            return type(error)
        return [np.abs(leaf) for leaf in out]  # vectors have no sign of their own

    ours, theirs = run("minijax"), run("jax")
    if isinstance(theirs, type):
        assert ours is theirs
        return
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)


def test_the_derivative_by_another_algorithm():
    def grad(library):
        lib, linalg = import_module(library), import_module(f"{library}.lax.linalg")
        values = lambda x: linalg.svd(x, compute_uv=False, algorithm=linalg.SvdAlgorithm.QR)  # noqa: E731
        return lib.grad(lambda x: values(x).sum())(TALL)

    np.testing.assert_allclose(grad("minijax"), grad("jax"), atol=1e-5)


def test_an_algorithm_of_another_type():
    with pytest.raises(TypeError, match="must be a SvdAlgorithm"):
        minijax.lax.linalg.svd(TALL, algorithm="QR")


@pytest.mark.parametrize("shape", [(4, 3), (1, 1)])
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@pytest.mark.parametrize("how", [{}, {"max_iterations": 3}], ids=str)
def test_polar_by_iteration(shape, dtype, how):
    x = RNG.normal(size=shape).astype(dtype)
    if dtype == "complex64":
        x = x + 1j * RNG.normal(size=shape).astype("float32")
    for given in (
        (how, {**how, "dynamic_shape": (max(shape[0] - 1, 1), 1)}) if shape[0] > 1 else [how]
    ):
        ours, theirs = (lib.lax.linalg.qdwh(x, **given) for lib in (minijax, jax))
        for a, b in zip(ours, theirs, strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_allclose(a, b, rtol=1e-3, atol=2e-4)


def test_polar_of_a_wide_matrix():
    for lib in (minijax, jax):
        with pytest.raises(ValueError, match=r"M >= N|as many rows as columns"):
            lib.lax.linalg.qdwh(TALL.T)
